/* SPDX-License-Identifier: Apache-2.0 */
/* The library of rules: finding and reading their files, and what is wrong with them. */
#include "rule.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/lang.h"
#include "npuprof/text.h"

#include "position.h"
#include "rule_packs.h"

void adv_problems_release(struct adv_problems *problems)
{
	for (size_t i = 0; i < problems->list.count; i++) {
		free(problems->list.item[i].file);
		free(problems->list.item[i].rule);
		free(problems->list.item[i].text);
	}
	np_vec_release(&problems->list);
}

void adv_problem_add(struct adv_problems *problems, const struct adv_rule_file *file,
		     const char *rule, const char *path, size_t inside, bool warning,
		     const char *fmt, ...)
{
	struct adv_problem *problem = np_vec_add(&problems->list, NULL);
	va_list args;

	problems->errors += !warning;
	if (!problem) {
		problems->lost = true;
		return;
	}
	problem->warning = warning;
	problem->file = strdup(file->path);
	problem->rule = rule ? strdup(rule) : NULL;
	va_start(args, fmt);
	if (vasprintf(&problem->text, fmt, args) < 0)
		problem->text = NULL;
	va_end(args);
	if (file->text && path) {
		size_t offset = inside == SIZE_MAX
					? adv_position_offset(file->text, file->length, path)
					: adv_position_offset_inside(file->text, file->length, path,
								     inside);
		struct adv_position position = adv_position_of(file->text, offset);

		problem->line = position.line;
		problem->column = position.column;
	}
}

void adv_problem_format(struct np_buf *buf, const struct adv_problem *problem)
{
	np_buf_add(buf, problem->file ? problem->file : "?");
	if (problem->line > 0)
		np_buf_printf(buf, ":%zu:%zu", problem->line, problem->column);
	np_buf_add(buf, ": ");
	if (problem->rule)
		np_buf_printf(buf, "%s: ", problem->rule);
	np_buf_printf(buf, "%s%s", problem->warning ? "warning: " : "",
		      problem->text ? problem->text : "out of memory");
}

/* A rule file larger than this is none. */
#define FILE_LIMIT (4U << 20)

#define SCHEMA "npuprof.rules/1"

const char *adv_severity_name(enum adv_severity severity)
{
	static const char *const names[SEVERITY_COUNT] = { "info", NP_MSG("low"), NP_MSG("medium"),
							   NP_MSG("high") };

	return names[severity];
}

const char *adv_bound_name(enum adv_rule_bound bound)
{
	static const char *const names[] = { "estimate", "upper", "replay" };

	return names[bound];
}

const char *adv_rule_text_in(rule_text text, enum adv_rule_language language)
{
	const char *found = np_json_text(text);

	if (!found && language == RULE_ZH)
		found = np_json_text(np_json_member(text, "zh"));
	return found ? found : np_json_text(np_json_member(text, "en"));
}

struct adv_rule_library *adv_rule_library_new(void)
{
	struct adv_rule_library *library = calloc(1, sizeof(*library));

	if (library)
		library->arena = np_arena_new();
	if (library && !library->arena) {
		free(library);
		library = NULL;
	}
	return library;
}

static void file_free(struct adv_rule_file *file)
{
	np_json_free(file->doc);
	free(file->path);
	free(file->text);
	free(file);
}

static void rule_free(struct adv_rule *rule)
{
	for (size_t i = 0; i < rule->needs.count; i++)
		np_vec_release(&rule->needs.item[i].columns);
	for (size_t i = 0; i < rule->matches.count; i++) {
		np_vec_release(&rule->matches.item[i].captures);
		np_vec_release(&rule->matches.item[i].lookups);
	}
	np_vec_release(&rule->tags);
	np_vec_release(&rule->yields);
	np_vec_release(&rule->needs);
	np_vec_release(&rule->per);
	np_vec_release(&rule->params);
	np_vec_release(&rule->with);
	np_vec_release(&rule->matches);
	np_vec_release(&rule->summary);
	np_vec_release(&rule->advice);
	np_vec_release(&rule->docs);
	np_vec_release(&rule->evidence);
	np_vec_release(&rule->fingerprint);
	free(rule);
}

void adv_rule_library_free(struct adv_rule_library *library)
{
	if (!library)
		return;
	for (size_t i = 0; i < library->rules.count; i++)
		rule_free(library->rules.item[i]);
	for (size_t i = 0; i < library->files.count; i++)
		file_free(library->files.item[i]);
	np_vec_release(&library->rules);
	np_vec_release(&library->files);
	adv_problems_release(&library->problems);
	np_arena_free(library->arena);
	free(library);
}

void adv_rule_library_freep(struct adv_rule_library **library)
{
	adv_rule_library_free(*library);
	*library = NULL;
}

static int read_text(struct adv_rule_file *file, struct np_err *err)
{
	char reason[128];
	struct stat status;
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *stream = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (!stream) {
		int rc = np_fail(err, errno == ENOENT ? NP_E_NOTFOUND : NP_E_IO,
				 "cannot open '%s': %s", file->path,
				 strerror_r(errno, reason, sizeof(reason)));

		if (fd >= 0)
			(void)close(fd);
		return rc;
	}
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > FILE_LIMIT) {
		(void)fclose(stream);
		return np_fail(err, NP_E_FORMAT, "'%s' is no rule file of at most %u MB",
			       file->path, FILE_LIMIT >> 20);
	}
	file->text = malloc((size_t)status.st_size + 1);
	if (file->text) {
		file->length = fread(file->text, 1, (size_t)status.st_size, stream);
		file->text[file->length] = '\0';
	}
	(void)fclose(stream);
	return file->text ? NP_OK : np_fail_nomem(err, file->path);
}

static int copy_text(struct adv_rule_file *file, const struct adv_rule_pack *pack,
		     struct np_err *err)
{
	file->text = strndup(pack->text, pack->length);
	file->length = pack->length;
	return file->text ? NP_OK : np_fail_nomem(err, file->path);
}

static char *rule_path(struct adv_rule_library *library, size_t index)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "/rules/%zu", index);
	return np_arena_text(library->arena, text, strlen(text));
}

/* An id is dotted words: it stands in file names, globs and SARIF. */
static bool is_id(const char *text)
{
	return text && *text && *text != '.' &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-_")] == '\0';
}

static int add_rule(struct adv_rule_library *library, const struct adv_rule_file *file,
		    const struct np_json *json, size_t index, struct np_err *err)
{
	const char *id = np_json_text(np_json_member(json, "id"));
	char *path = rule_path(library, index);
	struct adv_rule **slot;

	if (!path)
		return np_fail_nomem(err, "a rule");
	if (!is_id(id)) {
		adv_problem_add(&library->problems, file, NULL, path, SIZE_MAX, false,
				"a rule needs an 'id' of small letters, digits, '.', '-' and '_'");
		return NP_OK;
	}
	slot = np_vec_add(&library->rules, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot) {
		library->rules.count--;
		return np_fail_nomem(err, "a rule");
	}
	**slot = (struct adv_rule){ .id = id, .file = file, .path = path, .json = json };
	return NP_OK;
}

/* Members of all objects; a key that was written twice is one. */
static size_t count_members(const struct np_json *node)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	size_t count = 0;

	if (np_json_type(node) == NP_JSON_ARRAY) {
		for (size_t i = 0; i < np_json_count(node); i++)
			count += count_members(np_json_item(node, i));
	}
	while (np_json_type(node) == NP_JSON_OBJECT && np_json_next(node, &entry))
		count += 1 + count_members(entry.value);
	return count;
}

static void check_pack(struct adv_rule_library *library, struct adv_rule_file *file)
{
	static const char *const keys[] = { "$schema", "schema", "pack", "version", "rules" };
	const char *schema = np_json_text(np_json_member(file->doc, "schema"));
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	file->pack = np_json_text(np_json_member(file->doc, "pack"));
	file->doubled =
		adv_position_count_all_keys(file->text, file->length) != count_members(file->doc);
	if (!schema || strcmp(schema, SCHEMA) != 0)
		adv_problem_add(&library->problems, file, NULL, "/schema", SIZE_MAX, false,
				"'schema' must be \"%s\"", SCHEMA);
	if (np_json_type(np_json_member(file->doc, "rules")) != NP_JSON_ARRAY)
		adv_problem_add(&library->problems, file, NULL, "/rules", SIZE_MAX, false,
				"'rules' must be an array");
	while (np_json_next(file->doc, &entry)) {
		const char *meant = np_text_closest(entry.key, keys, NP_COUNT(keys));
		char path[128];
		size_t i = 0;

		while (i < NP_COUNT(keys) && strcmp(keys[i], entry.key) != 0)
			i++;
		if (i < NP_COUNT(keys))
			continue;
		(void)snprintf(path, sizeof(path), "/%s", entry.key);
		adv_problem_add(&library->problems, file, NULL, path, SIZE_MAX, false,
				"unknown field '%s'%s%s%s", entry.key,
				meant ? "; did you mean '" : "", meant ? meant : "",
				meant ? "'?" : "");
	}
}

/* "path:line:column: reason" of the reader of JSON as a problem. */
static void add_syntax_problem(struct adv_rule_library *library, const struct adv_rule_file *file,
			       const struct np_err *why)
{
	size_t prefix = strlen(file->path);
	const char *text = why->text;
	struct adv_problem *problem;
	size_t line = 0;
	size_t column = 0;
	int used = 0;

	if (strncmp(text, file->path, prefix) == 0 &&
	    sscanf(text + prefix, ":%zu:%zu: %n", &line, &column, &used) == 2)
		text += prefix + (size_t)used;
	adv_problem_add(&library->problems, file, NULL, NULL, SIZE_MAX, false, "%s", text);
	if (library->problems.lost)
		return;
	problem = &library->problems.list.item[library->problems.list.count - 1];
	/* Of a file without anything the reader of JSON has no column. */
	problem->line = line > 0 ? line : 1;
	problem->column = column > 0 ? column : 1;
}

/* Of a file, or of a pack in the program. */
static int read_pack(struct adv_rule_library *library, const char *path,
		     const struct adv_rule_pack *pack, struct np_err *err)
{
	struct adv_rule_file **slot = np_vec_add(&library->files, err);
	struct np_err why = NP_ERR_INIT;
	struct adv_rule_file *file;
	const struct np_json *rules;
	int rc;

	if (!slot)
		return NP_E_NOMEM;
	file = *slot = calloc(1, sizeof(**slot));
	if (!file) {
		library->files.count--;
		return np_fail_nomem(err, path);
	}
	file->path = strdup(path);
	if (!file->path)
		return np_fail_nomem(err, path);
	rc = pack ? copy_text(file, pack, err) : read_text(file, err);
	if (rc < 0)
		return rc;
	rc = np_json_parse(file->text, file->length, file->path, &file->doc, &why);
	if (rc == NP_E_NOMEM)
		return np_fail_nomem(err, path);
	if (rc < 0) {
		add_syntax_problem(library, file, &why);
		return NP_OK;
	}
	check_pack(library, file);
	rules = np_json_member(file->doc, "rules");
	for (size_t i = 0; rc == NP_OK && i < np_json_count(rules); i++)
		rc = add_rule(library, file, np_json_item(rules, i), i, err);
	return rc;
}

static int read_file(struct adv_rule_library *library, const char *path, struct np_err *err)
{
	return read_pack(library, path, NULL, err);
}

/* The rules that are a part of the program; their names are those of the files they were. */
static int read_inside(struct adv_rule_library *library, struct np_err *err)
{
	int rc = NP_OK;

	for (const struct adv_rule_pack *pack = adv_rule_packs; pack->name && rc == NP_OK; pack++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "<program>/%s", pack->name);
		rc = read_pack(library, path, pack, err);
	}
	return rc;
}

static int is_json_name(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	/* The description of the format lies beside the rules. */
	return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0 &&
	       entry->d_name[0] != '.' && strcmp(entry->d_name, "schema.json") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int adv_rule_library_read(struct adv_rule_library *library, const char *path, struct np_err *err)
{
	struct dirent **entries = NULL;
	struct stat status;
	char reason[128];
	int rc = NP_OK;
	int count;

	if (stat(path, &status) < 0)
		return np_fail(err, NP_E_NOTFOUND, "cannot open '%s': %s", path,
			       strerror_r(errno, reason, sizeof(reason)));
	if (!S_ISDIR(status.st_mode))
		return read_file(library, path, err);
	count = scandir(path, &entries, is_json_name, by_name);
	if (count < 0)
		return np_fail(err, NP_E_IO, "cannot read '%s': %s", path,
			       strerror_r(errno, reason, sizeof(reason)));
	for (int i = 0; i < count; i++) {
		char *name = NULL;

		if (rc == NP_OK && asprintf(&name, "%s/%s", path, entries[i]->d_name) < 0)
			rc = np_fail_nomem(err, path);
		if (rc == NP_OK)
			rc = read_file(library, name, err);
		free(name);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

static int by_id(const void *a, const void *b)
{
	const struct adv_rule *x = *(struct adv_rule *const *)a;
	const struct adv_rule *y = *(struct adv_rule *const *)b;

	return strcmp(x->id, y->id);
}

/* Drop rule number `index`. */
static void drop(struct adv_rule_library *library, size_t index)
{
	rule_free(library->rules.item[index]);
	memmove(&library->rules.item[index], &library->rules.item[index + 1],
		(library->rules.count - index - 1) * sizeof(*library->rules.item));
	library->rules.count--;
}

/* The first one of an id in order of reading is kept. */
static void refuse_doubles(struct adv_rule_library *library)
{
	for (size_t i = 0; i < library->rules.count; i++) {
		const struct adv_rule *first = library->rules.item[i];

		for (size_t j = i + 1; j < library->rules.count;) {
			const struct adv_rule *other = library->rules.item[j];

			if (strcmp(first->id, other->id) != 0) {
				j++;
				continue;
			}
			adv_problem_add(&library->problems, other->file, other->id, other->path,
					SIZE_MAX, false, "the id is taken by a rule in '%s'",
					first->file->path);
			drop(library, j);
		}
	}
}

/* Follow `extends`; false when it leads nowhere or in a circle. */
static bool find_base(struct adv_rule_library *library, struct adv_rule *rule)
{
	const char *name = np_json_text(np_json_member(rule->json, "extends"));
	const struct adv_rule *base;
	const struct adv_rule *at;

	if (!np_json_member(rule->json, "extends"))
		return true;
	base = name ? adv_rule_library_find(library, name) : NULL;
	for (at = base; at && at != rule; at = at->base)
		;
	if (!base || at == rule) {
		adv_problem_add(&library->problems, rule->file, rule->id, rule->path, SIZE_MAX,
				false, "it extends '%s', which %s", name ? name : "?",
				base ? "extends it" : "is no rule");
		return false;
	}
	rule->base = base;
	return true;
}

/* Rules that another extends must stay, also when something is wrong with them: parsed last. */
int adv_rule_library_finish(struct adv_rule_library *library, struct np_err *err)
{
	bool *bad = calloc(library->rules.count + 1, sizeof(*bad));
	int rc = NP_OK;

	if (!bad)
		return np_fail_nomem(err, "rules");
	refuse_doubles(library);
	if (library->rules.count > 0)
		qsort(library->rules.item, library->rules.count, sizeof(struct adv_rule *), by_id);
	for (size_t i = 0; i < library->rules.count; i++)
		bad[i] = !find_base(library, library->rules.item[i]);
	for (size_t i = 0; i < library->rules.count && rc == NP_OK; i++) {
		size_t errors = library->problems.errors;

		if (bad[i])
			continue;
		bad[i] = !adv_rule_parse(library, library->rules.item[i]);
		/* A mistake in a rule is said; where none was, memory ran out. */
		if (bad[i] && library->problems.errors == errors)
			rc = np_fail_nomem(err, "rules");
	}
	for (size_t i = library->rules.count; i-- > 0;) {
		if (bad[i])
			drop(library, i);
	}
	free(bad);
	return rc;
}

const struct adv_rule *adv_rule_library_find(const struct adv_rule_library *library, const char *id)
{
	for (size_t i = 0; i < library->rules.count; i++) {
		if (strcmp(library->rules.item[i]->id, id) == 0)
			return library->rules.item[i];
	}
	return NULL;
}

int adv_rule_library_missing(const struct adv_rule_library *library, const char *id,
			     struct np_err *err)
{
	NP_VEC(const char *) ids = { 0 };
	const char *meant;

	for (size_t i = 0; i < library->rules.count; i++) {
		const char **slot = np_vec_add(&ids, NULL);

		if (slot)
			*slot = library->rules.item[i]->id;
	}
	meant = np_text_closest(id, ids.item, ids.count);
	np_vec_release(&ids);
	return np_fail(err, NP_E_USAGE, "there is no rule '%s'%s%s%s", id,
		       meant ? "; did you mean '" : "; see npuprof rules list", meant ? meant : "",
		       meant ? "'?" : "");
}

static int check_range(const struct adv_rule_param *param, const char *value, struct np_err *err)
{
	char *end;
	double number = strtod(value, &end);

	if (*end != '\0' || end == value)
		return np_json_type(param->value) == NP_JSON_TEXT
			       ? NP_OK
			       : np_fail(err, NP_E_USAGE, "'%s' must be a number, not '%s'",
					 param->name, value);
	if (number < param->low || number > param->high)
		return np_fail(err, NP_E_USAGE, "'%s' must be from %g to %g", param->name,
			       param->low, param->high);
	return NP_OK;
}

int adv_rule_library_set(struct adv_rule_library *library, const char *assignment,
			 struct np_err *err)
{
	const char *equals = strchr(assignment, '=');
	const char *dot = equals ? memrchr(assignment, '.', (size_t)(equals - assignment)) : NULL;
	char *id =
		dot ? np_arena_text(library->arena, assignment, (size_t)(dot - assignment)) : NULL;
	char *name = id ? np_arena_text(library->arena, dot + 1, (size_t)(equals - dot) - 1) : NULL;
	const struct adv_rule *found;

	if (!dot)
		return np_fail(err, NP_E_USAGE, "'%s' is not id.parameter=value", assignment);
	if (!name)
		return np_fail_nomem(err, "a parameter");
	found = adv_rule_library_find(library, id);
	if (!found)
		return adv_rule_library_missing(library, id, err);
	for (size_t i = 0; i < found->params.count; i++) {
		struct adv_rule_param *param = &found->params.item[i];
		int rc;

		if (strcmp(param->name, name) != 0)
			continue;
		rc = check_range(param, equals + 1, err);
		if (rc == NP_OK)
			param->set = equals + 1;
		return rc;
	}
	return np_fail(err, NP_E_USAGE, "rule '%s' has no parameter '%s'", id, name);
}

static const char *const beside[] = { "rules", "../share/npuprof/rules" };

/* The directory of the running program, without a final slash. */
static bool program_directory(char *ret, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", ret, size - 1);
	char *slash;

	if (length <= 0)
		return false;
	ret[length] = '\0';
	slash = strrchr(ret, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

static int read_own(struct adv_rule_library *library, struct np_err *err)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment */
	const char *chosen = getenv("NPUPROF_RULES");
	char directory[PATH_MAX];

	if (chosen && *chosen)
		return adv_rule_library_read(library, chosen, err);
	if (!program_directory(directory, sizeof(directory)))
		return read_inside(library, err);
	for (size_t i = 0; i < NP_COUNT(beside); i++) {
		char *path = NULL;
		int rc = NP_OK;
		bool found;

		if (asprintf(&path, "%s/%s", directory, beside[i]) < 0)
			return np_fail_nomem(err, "rules");
		found = access(path, R_OK) == 0;
		if (found)
			rc = adv_rule_library_read(library, path, err);
		free(path);
		if (found)
			return rc;
	}
	return read_inside(library, err);
}

int adv_rules_read_all(struct adv_rule_library *library, const char *const *more, size_t count,
		       struct np_err *err)
{
	int rc = read_own(library, err);

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = adv_rule_library_read(library, more[i], err);
	return rc == NP_OK ? adv_rule_library_finish(library, err) : rc;
}

void adv_rules_offer(struct np_buf *words)
{
	NP_CLEANUP(adv_rule_library_freep)
	struct adv_rule_library *library = adv_rule_library_new();
	struct np_err err = NP_ERR_INIT;

	if (!library || adv_rules_read_all(library, NULL, 0, &err) < 0)
		return;
	for (size_t i = 0; i < library->rules.count; i++)
		np_buf_printf(words, " %s", library->rules.item[i]->id);
}
