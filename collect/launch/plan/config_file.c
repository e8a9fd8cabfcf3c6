/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from a file: ours, MindSpeed-MM's tools.json, MindSpeed-LLM's YAML or torch_npu's
 * profiler_config.json. */
#include "config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/text.h"

/* --- settings -------------------------------------------------------------- */

enum {
	MOST_BYTES = 1 << 20,
	MOST_WHERE = 256,
};

/* A file being read. */
struct config_reading {
	const char *name;
	struct np_plan *plan;
	struct np_buf *notes;
	struct np_err *err;
};

/*
 * What a key means. `field` is the key of the setting it fills; a key without
 * one is taken by `take`, or is known and not served if that is NULL too.
 */
struct config_key {
	const char *key;
	const char *field;
	int (*take)(struct config_reading *reading, const struct np_json *value, const char *where);
};

static void note(struct config_reading *reading, const char *where, const char *why)
{
	np_buf_printf(reading->notes, "%s is ignored: %s\n", where, why);
}

static int unknown_key(const struct config_reading *reading, const char *where, const char *key,
		       const struct config_key *keys, size_t count)
{
	const char *names[64];
	const char *meant;

	for (size_t i = 0; i < count; i++)
		names[i] = keys[i].key;
	meant = np_text_closest(key, names, count);
	if (meant)
		return np_fail(reading->err, NP_E_USAGE, "%s: unknown key; did you mean '%s'?",
			       where, meant);
	return np_fail(reading->err, NP_E_USAGE, "%s: unknown key", where);
}

/* Does the value ask for something: true, a number but 0, a text, a list with elements? */
static bool asks(const struct np_json *value)
{
	bool flag = false;
	int64_t number;

	if (np_json_bool(value, &flag))
		return flag;
	if (np_json_integer(value, &number))
		return number != 0;
	return np_json_type(value) == NP_JSON_TEXT || np_json_count(value) > 0;
}

static int take_entry(struct config_reading *reading, const struct config_key *key,
		      const struct np_json *value, const char *where)
{
	if (key->field)
		return np_plan_set(reading->plan, np_plan_find(key->field), value, where,
				   reading->err);
	if (key->take)
		return key->take(reading, value, where);
	if (asks(value))
		note(reading, where, "this collector cannot record it");
	return NP_OK;
}

/* Keys as they are, or as MindSpeed-LLM has them: with "profile_" in front, with '-' for '_'. */
static bool is_key(const char *known, const char *key)
{
	static const char prefix[] = "profile";

	if (strcmp(known, key) == 0)
		return true;
	if (strncmp(key, prefix, sizeof(prefix) - 1) == 0 &&
	    strchr("-_", key[sizeof(prefix) - 1]) && key[sizeof(prefix) - 1])
		key += sizeof(prefix);
	for (; *known && *key; known++, key++) {
		if (*known != (*key == '-' ? '_' : *key))
			return false;
	}
	return *known == *key;
}

/* Take every member of an object by the table of its keys. */
static int take_object(struct config_reading *reading, const struct np_json *object,
		       const char *path, const struct config_key *keys, size_t count)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	if (np_json_type(object) != NP_JSON_OBJECT)
		return np_fail(reading->err, NP_E_USAGE, "%s: %s must be an object", reading->name,
			       *path ? path : "the content");
	while (rc == NP_OK && np_json_next(object, &entry)) {
		char where[MOST_WHERE];
		size_t i = 0;

		(void)snprintf(where, sizeof(where), "%s: %s%s%s", reading->name, path,
			       *path ? "." : "", entry.key);
		while (i < count && !is_key(keys[i].key, entry.key))
			i++;
		rc = i < count ? take_entry(reading, &keys[i], entry.value, where)
			       : unknown_key(reading, where, entry.key, keys, count);
	}
	return rc;
}

/* What is read with others, elsewhere. */
static int take_later(struct config_reading *reading, const struct np_json *value,
		      const char *where)
{
	(void)reading;
	(void)value;
	(void)where;
	return NP_OK;
}

/* --- MindSpeed-MM's tools.json ------------------------------------------- */

/* Parse on the spot, or leave the raw data for later. */
static int take_analyse(struct config_reading *reading, const struct np_json *value,
			const char *where)
{
	bool on;

	if (!np_json_bool(value, &on))
		return np_fail(reading->err, NP_E_USAGE, "%s must be true or false", where);
	reading->plan->export = on ? NP_EXPORT_AFTER : NP_EXPORT_NONE;
	return NP_OK;
}

static int take_profile_type(struct config_reading *reading, const struct np_json *value,
			     const char *where)
{
	const char *type = np_json_text(value);

	reading->plan->dynamic = type && strcmp(type, "dynamic") == 0;
	if (reading->plan->dynamic || (type && strcmp(type, "static") == 0))
		return NP_OK;
	return np_fail(reading->err, NP_E_USAGE, "%s must be 'static' or 'dynamic'", where);
}

/* MindSpeed watches a file for requests; here they come through 'npuprof ctl'. */
static int take_dynamic_param(struct config_reading *reading, const struct np_json *value,
			      const char *where)
{
	(void)value;
	note(reading, where, "windows are asked for with 'npuprof ctl start'");
	return NP_OK;
}

static int take_static_param(struct config_reading *reading, const struct np_json *value,
			     const char *where)
{
	static const struct config_key keys[] = {
		{ "level", "level", NULL },
		{ "with_stack", "with_stack", NULL },
		{ "with_memory", "with_memory", NULL },
		{ "record_shapes", "record_shapes", NULL },
		{ "with_cpu", "with_cpu", NULL },
		{ "save_path", "save_path", NULL },
		{ "start_step", "step_start", NULL },
		{ "end_step", "step_end", NULL },
		{ "data_simplification", "data_simplification", NULL },
		{ "aic_metrics_type", "aic_metrics", NULL },
		{ "analyse_flag", NULL, take_analyse },
	};

	(void)where;
	return take_object(reading, value, "profile.static_param", keys, NP_COUNT(keys));
}

/*
 * Its counter is 0 while the model is built and 1 in the first iteration, so that its step n is our
 * n - 1. Where its first iteration begins cannot be seen from outside: building is recorded with
 * it.
 */
static int take_memory_step(struct config_reading *reading, const struct np_json *value,
			    const char *where, int64_t least, int64_t *ret)
{
	int64_t step;

	if (np_json_type(value) == NP_JSON_TEXT || !np_json_integer(value, &step) || step < 0 ||
	    step > NP_PLAN_LAST_STEP)
		return np_fail(reading->err, NP_E_USAGE, "%s must be a step", where);
	*ret = step - 1 < least ? least : step - 1;
	return NP_OK;
}

static int take_memory_start(struct config_reading *reading, const struct np_json *value,
			     const char *where)
{
	return take_memory_step(reading, value, where, 0, &reading->plan->memory_start);
}

static int take_memory_end(struct config_reading *reading, const struct np_json *value,
			   const char *where)
{
	return take_memory_step(reading, value, where, 1, &reading->plan->memory_end);
}

/* null: all of them. */
static int take_unless_null(struct config_reading *reading, const struct np_json *value,
			    const char *where, const char *field)
{
	if (np_json_type(value) == NP_JSON_NULL)
		return NP_OK;
	return np_plan_set(reading->plan, np_plan_find(field), value, where, reading->err);
}

static int take_memory_ranks(struct config_reading *reading, const struct np_json *value,
			     const char *where)
{
	return take_unless_null(reading, value, where, "memory_ranks");
}

static int take_memory_entries(struct config_reading *reading, const struct np_json *value,
			       const char *where)
{
	return take_unless_null(reading, value, where, "memory_entries");
}

static int take_memory_path(struct config_reading *reading, const struct np_json *value,
			    const char *where)
{
	(void)value;
	note(reading, where, "snapshots are kept in the directory of the job");
	return NP_OK;
}

static int take_memory(struct config_reading *reading, const struct np_json *value)
{
	static const struct config_key keys[] = {
		{ "enable", NULL, take_later },
		{ "start_step", NULL, take_memory_start },
		{ "end_step", NULL, take_memory_end },
		{ "save_path", NULL, take_memory_path },
		{ "dump_ranks", NULL, take_memory_ranks },
		{ "stacks", "memory_stacks", NULL },
		{ "max_entries", NULL, take_memory_entries },
		{ "mem_info", NULL, NULL },
	};
	bool on = false;

	(void)np_json_bool(np_json_member(value, "enable"), &on);
	if (!on)
		return NP_OK;
	reading->plan->memory_start = 0;
	return take_object(reading, value, "memory_profile", keys, NP_COUNT(keys));
}

static int read_tools(struct config_reading *reading, const struct np_json *doc)
{
	static const struct config_key keys[] = {
		{ "enable", "enable", NULL },
		{ "profile_type", NULL, take_profile_type },
		{ "ranks", "ranks", NULL },
		{ "static_param", NULL, take_static_param },
		{ "dynamic_param", NULL, take_dynamic_param },
	};
	const struct np_json *memory = np_json_member(doc, "memory_profile");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc;

	while (np_json_next(doc, &entry)) {
		char where[MOST_WHERE];

		if (strcmp(entry.key, "profile") == 0 || entry.value == memory)
			continue;
		(void)snprintf(where, sizeof(where), "%s: %s", reading->name, entry.key);
		note(reading, where, "it is not about profiling");
	}
	rc = take_object(reading, np_json_member(doc, "profile"), "profile", keys, NP_COUNT(keys));
	if (rc == NP_OK && memory)
		rc = take_memory(reading, memory);
	/* Each has a switch of its own there: nothing but memory is a job whose windows nobody asks
	 * for. */
	if (rc == NP_OK && reading->plan->memory_start >= 0 && !reading->plan->enable) {
		reading->plan->enable = true;
		reading->plan->dynamic = true;
	}
	return rc;
}

/* --- torch_npu's profiler_config.json ------------------------------------ */

static int take_activities(struct config_reading *reading, const struct np_json *value,
			   const char *where)
{
	reading->plan->with_cpu = false;
	for (size_t i = 0; i < np_json_count(value); i++) {
		const char *activity = np_json_text(np_json_item(value, i));

		if (activity && strcmp(activity, "CPU") == 0)
			reading->plan->with_cpu = true;
		else if (!activity || strcmp(activity, "NPU") != 0)
			return np_fail(reading->err, NP_E_USAGE, "%s: it is a list of CPU and NPU",
				       where);
	}
	return NP_OK;
}

static int take_export_types(struct config_reading *reading, const struct np_json *value,
			     const char *where)
{
	const struct np_json *first = value;

	if (np_json_type(value) == NP_JSON_ARRAY)
		first = np_json_item(value, 0);
	if (np_json_count(value) > 1)
		note(reading, where, "only the first is used");
	return np_plan_set(reading->plan, np_plan_find("export_type"), first, where, reading->err);
}

static int take_experimental(struct config_reading *reading, const struct np_json *value,
			     const char *where)
{
	static const struct config_key keys[] = {
		{ "profiler_level", "level", NULL },
		{ "aic_metrics", "aic_metrics", NULL },
		{ "l2_cache", NULL, NULL },
		{ "op_attr", NULL, NULL },
		{ "gc_detect_threshold", NULL, NULL },
		{ "data_simplification", "data_simplification", NULL },
		{ "record_op_args", NULL, NULL },
		{ "export_type", NULL, take_export_types },
		{ "msprof_tx", NULL, NULL },
		{ "mstx", NULL, NULL },
		{ "host_sys", NULL, NULL },
		{ "mstx_domain_include", NULL, NULL },
		{ "mstx_domain_exclude", NULL, NULL },
		{ "sys_io", NULL, NULL },
		{ "sys_interconnection", NULL, NULL },
	};

	(void)where;
	return take_object(reading, value, "experimental_config", keys, NP_COUNT(keys));
}

/* torch_npu collects every rank unless is_rank says that there is a list. */
static int take_torch_ranks(struct config_reading *reading, const struct np_json *doc)
{
	struct np_plan *plan = reading->plan;
	char where[MOST_WHERE];
	bool listed = false;

	(void)np_json_bool(np_json_member(doc, "is_rank"), &listed);
	(void)snprintf(where, sizeof(where), "%s: rank_list", reading->name);
	if (listed)
		return np_plan_set(plan, np_plan_find("ranks"), np_json_member(doc, "rank_list"),
				   where, reading->err);
	return np_plan_set_text(plan->ranks, sizeof(plan->ranks), "all", where, reading->err);
}

/* start_step -1 is "the next step", which for a job that starts now is the first. */
static int take_torch_steps(struct config_reading *reading, const struct np_json *doc)
{
	struct np_plan *plan = reading->plan;
	int64_t start = 0;
	int64_t active = 1;

	(void)np_json_integer(np_json_member(doc, "start_step"), &start);
	(void)np_json_integer(np_json_member(doc, "active"), &active);
	if (start < -1 || start > NP_PLAN_LAST_STEP || active < 1 || active > NP_PLAN_LAST_STEP)
		return np_fail(reading->err, NP_E_USAGE,
			       "%s: start_step %" PRId64 " with active %" PRId64 " is no window",
			       reading->name, start, active);
	plan->step_start = start < 0 ? 0 : start;
	plan->step_end = plan->step_start + active;
	return NP_OK;
}

static int read_torch(struct config_reading *reading, const struct np_json *doc)
{
	static const struct config_key keys[] = {
		{ "activities", NULL, take_activities },
		{ "prof_dir", "save_path", NULL },
		{ "analyse", NULL, take_analyse },
		{ "async_mode", NULL, NULL },
		{ "record_shapes", "record_shapes", NULL },
		{ "profile_memory", "with_memory", NULL },
		{ "with_stack", "with_stack", NULL },
		{ "with_flops", NULL, NULL },
		{ "with_modules", NULL, NULL },
		{ "active", NULL, take_later },
		{ "warmup", NULL, NULL },
		{ "start_step", NULL, take_later },
		{ "is_rank", NULL, take_later },
		{ "rank_list", NULL, take_later },
		{ "metadata", NULL, NULL },
		{ "experimental_config", NULL, take_experimental },
	};
	int rc = take_object(reading, doc, "", keys, NP_COUNT(keys));

	if (rc == NP_OK)
		rc = take_torch_ranks(reading, doc);
	return rc == NP_OK ? take_torch_steps(reading, doc) : rc;
}

/* --- ours ----------------------------------------------------------------- */

/* A preset comes before what stands beside it, wherever in the file it is. */
static int read_preset(struct config_reading *reading, const struct np_json *doc)
{
	const char *name = np_json_text(np_json_member(doc, "preset"));

	if (!np_json_member(doc, "preset"))
		return NP_OK;
	for (size_t i = 0; np_plan_presets[i]; i++) {
		if (name && strcmp(name, np_plan_presets[i]) == 0) {
			np_plan_preset(reading->plan, (enum np_plan_preset)i);
			return NP_OK;
		}
	}
	return np_fail(reading->err, NP_E_USAGE,
		       "%s: preset must be 'light', 'comm', 'kernel' or 'memory'", reading->name);
}

static int read_ours(struct config_reading *reading, const struct np_json *doc)
{
	struct config_key keys[32] = { { "preset", NULL, take_later } };
	int rc = read_preset(reading, doc);

	for (size_t i = 0; i < np_plan_field_count; i++)
		keys[i + 1] =
			(struct config_key){ np_plan_fields[i].key, np_plan_fields[i].key, NULL };
	return rc == NP_OK ? take_object(reading, doc, "", keys, np_plan_field_count + 1) : rc;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* --- MindSpeed-LLM's YAML ------------------------------------------------- */

/* A value of YAML as JSON: numbers, truth and lists are the same there, texts get quotes. */
static void put_yaml_value(struct np_buf *buf, const char *value, size_t length)
{
	bool plain = length > 0 && (strchr("-[0123456789", value[0]) ||
				    (length == 4 && memcmp(value, "true", 4) == 0) ||
				    (length == 5 && memcmp(value, "false", 5) == 0));

	if (length > 1 && (value[0] == '"' || value[0] == '\'') && value[length - 1] == value[0]) {
		value++;
		length -= 2;
	}
	np_buf_printf(buf, plain ? "%.*s" : "\"%.*s\"", (int)length, value);
}

/* "  profile_step_start: 5": lines about profiling become members of ours; others are not ours. */
static void put_yaml_line(struct np_buf *buf, const char *line, size_t length)
{
	static const char prefix[] = "profile";
	const char *end = line + length;
	const char *colon;
	const char *value;
	const char *comment;

	while (line < end && is_space(*line))
		line++;
	colon = memchr(line, ':', (size_t)(end - line));
	if (!colon || strncmp(line, prefix, sizeof(prefix) - 1) != 0)
		return;
	value = colon + 1;
	comment = memmem(value, (size_t)(end - value), " #", 2);
	end = comment ? comment : end;
	while (value < end && is_space(*value))
		value++;
	while (end > value && is_space(end[-1]))
		end--;
	line += sizeof(prefix) - 1;
	if (value == end || (*line != '_' && line != colon))
		return;
	line += *line == '_';
	np_buf_printf(buf, "%s\"%.*s\": ", buf->length > 1 ? ", " : "",
		      colon > line ? (int)(colon - line) : 6, colon > line ? line : "enable");
	put_yaml_value(buf, value, (size_t)(end - value));
}

static void put_yaml(struct np_buf *buf, const char *text, size_t length)
{
	np_buf_add_char(buf, '{');
	for (size_t at = 0; at < length;) {
		const char *newline = memchr(text + at, '\n', length - at);
		size_t line = newline ? (size_t)(newline - text) - at : length - at;

		put_yaml_line(buf, text + at, line);
		at += line + 1;
	}
	np_buf_add_char(buf, '}');
}

int np_config_text_read(const char *text, size_t length, const char *name, struct np_plan *plan,
			struct np_buf *notes, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf plain = NP_BUF_INIT;
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct config_reading reading = { name, plan, notes, err };
	bool yaml = np_text_ends(name, ".yaml") || np_text_ends(name, ".yml");
	int rc;

	if (yaml)
		put_yaml(&plain, text, length);
	else
		np_buf_add_bytes(&plain, text, length);
	rc = np_buf_check(&plain, err);
	if (rc < 0)
		return rc;
	np_json_relax(plain.text, plain.length);
	rc = np_json_parse(plain.text, plain.length, name, &doc, err);
	if (rc < 0)
		return rc;
	if (np_json_member(doc, "profile") && !yaml)
		return read_tools(&reading, doc);
	if (np_json_member(doc, "prof_dir") || np_json_member(doc, "experimental_config") ||
	    np_json_member(doc, "is_rank"))
		return read_torch(&reading, doc);
	return read_ours(&reading, doc);
}

int np_config_file_read(const char *path, struct np_plan *plan, struct np_buf *notes,
			struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	char block[4096];
	ssize_t got = 0;

	if (fd < 0)
		return np_fail(err, NP_E_USAGE, "cannot read '%s': %s", path,
			       strerrordesc_np(errno));
	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size > MOST_BYTES) {
		(void)close(fd);
		return np_fail(err, NP_E_USAGE,
			       "'%s' is no configuration: it is no plain file of at most 1 MiB",
			       path);
	}
	while ((got = read(fd, block, sizeof(block))) > 0)
		np_buf_add_bytes(&text, block, (size_t)got);
	(void)close(fd);
	if (got < 0)
		return np_fail(err, NP_E_IO, "cannot read '%s'", path);
	if (np_buf_check(&text, err) < 0)
		return NP_E_NOMEM;
	return np_config_text_read(text.text, text.length, path, plan, notes, err);
}
