/* SPDX-License-Identifier: Apache-2.0 */
/* The table of spellings of msprof-analyze and MindSpeed, and what each is here. */
#include "compat.h"

#include "npuprof/buf.h"
#include "npuprof/text.h"
#include "npuprof/vec.h"

#include <stdlib.h>
#include <string.h>

enum command {
	CLUSTER = 1 << 0,
	ADVISOR = 1 << 1,
	COMPARE = 1 << 2,
	EXPORT = 1 << 3,
	VENDOR = CLUSTER | ADVISOR | COMPARE, /* what msprof-analyze has */
};

/* Kinds of comparison that compare was asked for by name. */
enum {
	WANT_OVERALL = 1 << 0,
	WANT_OPERATOR = 1 << 1,
	WANT_COMMUNICATION = 1 << 2,
	WANT_MEMORY = 1 << 3,
	WANT_KERNEL = 1 << 4,
	WANT_API = 1 << 5,
	WANT_ALL = (1 << 6) - 1,
};

/* A command line being rewritten. */
struct rewriting {
	struct compat_line *line;
	enum command command;
	const char *const *argv;
	int argc;
	int next;
	int from;    /* the word that is being read */
	bool named;  /* called as msprof-analyze */
	bool vendor; /* files go where the old tool writes */
	/* Only for compare. */
	const char *fresh;
	const char *base;
	unsigned wanted;
	bool no_module;
	bool kernel_type;
	/* Only for cluster. */
	bool calibrates;
	const char *gpu;
	const char *npu;
	struct np_err *err;
};

struct old_option;
typedef int taking(struct rewriting *rw, const struct old_option *old, const char *value);

struct old_option {
	unsigned commands;
	const char *name; /* with '-' for '_'; one dash: the whole word */
	bool has_value;
	taking *take;
	const char *target; /* what the function makes of it: ours, or the words of a note */
	unsigned bit;
};

/* --- words ----------------------------------------------------------------------------------- */

static int add_to(struct compat_words *words, const char *word, struct np_err *err)
{
	const char **slot = np_vec_add(words, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = word;
	return NP_OK;
}

static int put(struct rewriting *rw, const char *word)
{
	return add_to(&rw->line->words, word, rw->err);
}

/* A text that lives as long as the line. */
static const char *keep(struct rewriting *rw, struct np_buf *buf)
{
	const char *text = NULL;

	if (np_buf_check(buf, rw->err) == NP_OK)
		text = np_arena_text(rw->line->arena, buf->text, buf->length);
	if (!text)
		(void)!np_fail_nomem(rw->err, "the command line");
	np_buf_release(buf);
	return text;
}

/* An option with its value in one word, so that any value can be one. */
static int put_value(struct rewriting *rw, const char *name, const char *value)
{
	struct np_buf buf = NP_BUF_INIT;
	const char *word;

	np_buf_printf(&buf, "%s=%s", name, value);
	word = keep(rw, &buf);
	return word ? put(rw, word) : NP_E_NOMEM;
}

/* The words that are being read, as they are: they are ours as well. */
static int pass(struct rewriting *rw)
{
	int rc = NP_OK;

	for (int i = rw->from; i < rw->next && rc == NP_OK; i++)
		rc = put(rw, rw->argv[i]);
	return rc;
}

static int note(struct rewriting *rw, const char *name, const char *why)
{
	struct np_buf buf = NP_BUF_INIT;
	const char *text;

	np_buf_printf(&buf, "%s%s is ignored: %s", name[0] == '-' ? "" : "--", name, why);
	text = keep(rw, &buf);
	return text ? add_to(&rw->line->notes, text, rw->err) : NP_E_NOMEM;
}

/* --- what becomes of an option --------------------------------------------------------------- */

static int alias(struct rewriting *rw, const struct old_option *old, const char *value)
{
	return value ? put_value(rw, old->target, value) : put(rw, old->target);
}

static int operand(struct rewriting *rw, const struct old_option *old, const char *value)
{
	(void)old;
	return put(rw, value);
}

static int ignored(struct rewriting *rw, const struct old_option *old, const char *value)
{
	(void)value;
	return note(rw, old->name, old->target);
}

/* The old tool wrote files for it. */
static int output(struct rewriting *rw, const struct old_option *old, const char *value)
{
	rw->vendor = true;
	return alias(rw, old, value);
}

static int export_type(struct rewriting *rw, const struct old_option *old, const char *value)
{
	int rc = NP_OK;

	if (rw->command == CLUSTER && strcmp(value, "notebook") == 0) {
		rc = note(rw, "--export-type notebook",
			  "the csv files that it is about are written");
		value = "text";
	}
	/* The old spelling is of scripts that look for the old files. */
	if (rw->command == CLUSTER && strchr(rw->argv[rw->from], '_'))
		rw->vendor = true;
	return rc == NP_OK ? put_value(rw, old->target, value) : rc;
}

/* One step; -1 is all of them. */
static int step_id(struct rewriting *rw, const struct old_option *old, const char *value)
{
	return strcmp(value, "-1") == 0 ? NP_OK : put_value(rw, old->target, value);
}

/* "edp,dp;dp" are the rows edp+dp and dp; without ';' all of it is one row. */
static int parallel_types(struct rewriting *rw, const struct old_option *old, const char *value)
{
	const char *word = rw->argv[rw->from];
	bool underscore = memchr(word, '_', strcspn(word, "="));
	struct np_buf buf = NP_BUF_INIT;
	const char *text;
	size_t row = 1;

	if (!underscore && !strchr(value, ';'))
		return pass(rw);
	for (const char *part = value;; row++) {
		size_t length = strcspn(part, ";");

		if (length == 0)
			return np_buf_release(&buf),
			       np_fail(rw->err, NP_E_USAGE,
				       "group %zu of --parallel_types '%s' is empty; groups are "
				       "separated by ';'",
				       row, value);
		for (size_t i = 0; i < length; i++)
			np_buf_add_char(&buf, (char)(part[i] == ',' ? '+' : part[i]));
		if (part[length] == '\0')
			break;
		np_buf_add_char(&buf, ',');
		part += length + 1;
	}
	text = keep(rw, &buf);
	return text ? put_value(rw, old->target, text) : NP_E_NOMEM;
}

static int mode(struct rewriting *rw, const struct old_option *old, const char *value)
{
	if (strcmp(value, "calibrate_npu_gpu") == 0) {
		rw->calibrates = true;
		return NP_OK;
	}
	(void)old;
	return pass(rw);
}

static int gpu_profile(struct rewriting *rw, const struct old_option *old, const char *value)
{
	(void)old;
	rw->gpu = value;
	return NP_OK;
}

/* The input of cluster and advisor; remembered for the mode that is a comparison. */
static int input(struct rewriting *rw, const struct old_option *old, const char *value)
{
	rw->npu = value;
	return old->target ? put_value(rw, old->target, value) : pass(rw);
}

static int language(struct rewriting *rw, const struct old_option *old, const char *value)
{
	return put_value(rw, old->target, strcmp(value, "cn") == 0 ? "zh" : value);
}

/* The order of the old tool: -d is the new run, -bp the base. */
static int new_run(struct rewriting *rw, const struct old_option *old, const char *value)
{
	(void)old;
	rw->fresh = value;
	return NP_OK;
}

static int base_run(struct rewriting *rw, const struct old_option *old, const char *value)
{
	(void)old;
	rw->base = value;
	return NP_OK;
}

static int want(struct rewriting *rw, const struct old_option *old, const char *value)
{
	(void)value;
	rw->wanted |= old->bit;
	return NP_OK;
}

static int no_module(struct rewriting *rw, const struct old_option *old, const char *value)
{
	(void)old;
	(void)value;
	rw->no_module = true;
	return NP_OK;
}

static int kernel_type(struct rewriting *rw, const struct old_option *old, const char *value)
{
	(void)old;
	(void)value;
	rw->kernel_type = true;
	return NP_OK;
}

static int max_kernels(struct rewriting *rw, const struct old_option *old, const char *value)
{
	int64_t number;

	if (!np_text_to_int(value, strlen(value), &number) || number <= 3)
		return np_fail(rw->err, NP_E_USAGE,
			       "--max_kernel_num takes a number above 3, not '%s'", value);
	return note(rw, old->name, old->target);
}

static int agent(struct rewriting *rw, const struct old_option *old, const char *value)
{
	(void)value;
	rw->line->agent = true;
	rw->line->quiet = true;
	if (put(rw, "-q") < 0)
		return NP_E_NOMEM;
	return put(rw, old->target);
}

static int quiet(struct rewriting *rw, const struct old_option *old, const char *value)
{
	(void)value;
	rw->line->quiet = true;
	return put(rw, old->target);
}

#define NO_CHECKS "owners, permissions and sizes of files are not checked"

/* --- the table ------------------------------------------------------------------------------- */

static const struct old_option table[] = {
	/* msprof-analyze, all commands */
	{ CLUSTER | ADVISOR, "-d", true, input, NULL, 0 },
	{ CLUSTER | ADVISOR, "dir", true, input, NULL, 0 },
	{ CLUSTER | ADVISOR, "profiling-path", true, input, "--dir", 0 },
	{ CLUSTER | ADVISOR, "output-path", true, alias, "--output", 0 },
	{ VENDOR, "force", false, ignored, NO_CHECKS, 0 },
	{ VENDOR, "debug", false, alias, "-v", 0 },
	{ VENDOR, "agent", false, agent, "--agent", 0 },
	{ VENDOR, "-q", false, quiet, "-q", 0 },
	{ VENDOR, "quiet", false, quiet, "-q", 0 },
	/* cluster */
	{ CLUSTER, "-m", true, mode, NULL, 0 },
	{ CLUSTER, "mode", true, mode, NULL, 0 },
	{ CLUSTER, "parallel-mode", true, ignored, "ranks are read side by side; -j says how many",
	  0 },
	{ CLUSTER, "export", true, export_type, "--export-type", 0 },
	{ CLUSTER, "type", true, export_type, "--export-type", 0 },
	{ CLUSTER, "export-type", true, export_type, "--export-type", 0 },
	{ CLUSTER, "rank-list", true, alias, "--ranks", 0 },
	{ CLUSTER, "step-id", true, step_id, "--steps", 0 },
	{ CLUSTER, "data-simplification", false, ignored,
	  "the database always has the short form of the tables", 0 },
	{ CLUSTER, "parallel-types", true, parallel_types, "--parallel-types", 0 },
	{ CLUSTER, "bp", true, alias, "--base", 0 },
	{ CLUSTER, "-bp", true, alias, "--base", 0 },
	{ CLUSTER, "baseline-profiling-path", true, gpu_profile, NULL, 0 },
	{ CLUSTER, "fuzzy-threshold", true, ignored,
	  "modules are compared by their names without a prefix of the vendor", 0 },
	{ CLUSTER, "dump-intermediate-results", false, ignored,
	  "there are none; -o with -f csv writes every table", 0 },
	/* advisor */
	{ ADVISOR, "-bp", true, alias, "--base", 0 },
	{ ADVISOR, "benchmark-profiling-path", true, alias, "--base", 0 },
	{ ADVISOR, "-cv", true, alias, "--cann-version", 0 },
	{ ADVISOR, "-tv", true, alias, "--torch-version", 0 },
	{ ADVISOR, "-pt", true, ignored, "the kind of each profile is recognised", 0 },
	{ ADVISOR, "profiling-type", true, ignored, "the kind of each profile is recognised", 0 },
	{ ADVISOR, "-l", true, language, "--lang", 0 },
	{ ADVISOR, "language", true, language, "--lang", 0 },
	/* compare */
	{ COMPARE, "-d", true, new_run, NULL, 0 },
	{ COMPARE, "profiling-path", true, new_run, NULL, 0 },
	{ COMPARE, "-bp", true, base_run, NULL, 0 },
	{ COMPARE, "benchmark-profiling-path", true, base_run, NULL, 0 },
	{ COMPARE, "output-path", true, output, "--output", 0 },
	{ COMPARE, "enable-profiling-compare", false, want, NULL, WANT_OVERALL },
	{ COMPARE, "enable-operator-compare", false, want, NULL, WANT_OPERATOR },
	{ COMPARE, "enable-communication-compare", false, want, NULL, WANT_COMMUNICATION },
	{ COMPARE, "enable-memory-compare", false, want, NULL, WANT_MEMORY },
	{ COMPARE, "enable-kernel-compare", false, want, NULL, WANT_KERNEL },
	{ COMPARE, "enable-api-compare", false, want, NULL, WANT_API },
	{ COMPARE, "disable-details", false, alias, "--no-details", 0 },
	{ COMPARE, "disable-module", false, no_module, NULL, 0 },
	{ COMPARE, "use-kernel-type", false, kernel_type, NULL, 0 },
	{ COMPARE, "max-kernel-num", true, max_kernels,
	  "operators are matched call by call, however many kernels they launch", 0 },
	{ COMPARE, "gpu-flow-cat", true, ignored,
	  "a kernel of a GPU is found by the id of its launch, whatever the category", 0 },
	{ COMPARE, "base-step", true, alias, "--base-steps", 0 },
	{ COMPARE, "comparison-step", true, alias, "--new-steps", 0 },
	/* MindSpeed-MM's profiler.py */
	{ EXPORT, "profiler-path", true, operand, NULL, 0 },
	{ EXPORT, "max-process-number", true, alias, "--jobs", 0 },
	{ EXPORT, "export", true, export_type, "--export-type", 0 },
	{ EXPORT, "type", true, export_type, "--export-type", 0 },
};

/* Words in the place of a command. */
static const struct {
	const char *word;
	const char *ours;    /* the command, or */
	const char *instead; /* the way to go */
} words[] = {
	{ "auto-completion", "completion", NULL },
	{ "version", "--version", NULL },
	{ "cluster_analysis.py", NULL, "'npuprof cluster' takes the same options" },
	{ "performance_compare.py", NULL, "'npuprof compare BASE NEW' takes the same options" },
	{ "profiler.py", NULL, "'npuprof export' takes the same options" },
};

/* --- reading --------------------------------------------------------------------------------- */

static bool same(const char *known, const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (known[i] == '\0' || known[i] != (word[i] == '_' ? '-' : word[i]))
			return false;
	}
	return known[length] == '\0';
}

static const struct old_option *find(enum command command, const char *word)
{
	bool is_long = word[0] == '-' && word[1] == '-';
	const char *name = is_long ? word + 2 : word;
	size_t length = strcspn(name, "=");

	for (size_t i = 0; i < NP_COUNT(table); i++) {
		if ((table[i].commands & command) && (table[i].name[0] != '-') == is_long &&
		    same(table[i].name, name, length))
			return &table[i];
	}
	return NULL;
}

/*
 * A value of its own word may be a negative number, and nothing else that begins
 * with '-': an option that was forgotten to be given one does not take the next.
 */
static bool is_value(const char *word)
{
	return word[0] != '-' || word[1] == '\0' || (word[1] >= '0' && word[1] <= '9');
}

static int read_value(struct rewriting *rw, const char *word, const char **ret)
{
	const char *equals = strchr(word, '=');

	*ret = NULL;
	if (equals) {
		*ret = equals + 1;
	} else if (rw->next < rw->argc && is_value(rw->argv[rw->next])) {
		*ret = rw->argv[rw->next++];
	} else {
		return np_fail(rw->err, NP_E_USAGE, "'%s' needs a value", word);
	}
	if (**ret == '\0')
		return np_fail(rw->err, NP_E_USAGE, "the value of '%.*s' is empty",
			       (int)strcspn(word, "="), word);
	return NP_OK;
}

/* Whoever reads our options says what is wrong with those that are ours as well. */
static bool is_ours(const struct old_option *old)
{
	return !old->target && (old->take == input || old->take == mode);
}

static int read_option(struct rewriting *rw, const char *word)
{
	const struct old_option *old = find(rw->command, word);
	const char *value = NULL;
	int rc = NP_OK;

	if (!old)
		return put(rw, word);
	if (old->has_value)
		rc = read_value(rw, word, &value);
	if (rc < 0 && is_ours(old))
		return pass(rw);
	if (rc < 0)
		return rc;
	if (!old->has_value && strchr(word, '='))
		return np_fail(rw->err, NP_E_USAGE, "'%.*s' takes no value",
			       (int)strcspn(word, "="), word);
	return old->take(rw, old, value);
}

/* All options, up to "--" and what follows it. */
static int read_options(struct rewriting *rw)
{
	int rc = NP_OK;

	while (rc == NP_OK && rw->next < rw->argc) {
		const char *word = rw->argv[rw->next];

		rw->from = rw->next++;
		if (strcmp(word, "--") == 0) {
			rw->next = rw->argc;
			rc = pass(rw);
		} else {
			rc = word[0] == '-' ? read_option(rw, word) : put(rw, word);
		}
	}
	return rc;
}

/* --- commands -------------------------------------------------------------------------------- */

/* "advisor all|computation|schedule": the word in front says which dimensions. */
static int begin_advisor(struct rewriting *rw)
{
	static const struct {
		const char *word;
		const char *dimensions;
	} parts[] = {
		{ "all", NULL },
		{ "computation", "computation,overall,comparison" },
		{ "schedule", "schedule,overall,comparison" },
	};
	const char *word = rw->argc > 0 ? rw->argv[0] : NULL;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment */
	const char *rules = getenv("ADVISOR_RULE_PATH");
	int rc = NP_OK;

	if (!word && rw->named)
		return put(rw, "-h");
	for (size_t i = 0; word && i < NP_COUNT(parts); i++) {
		if (strcmp(word, parts[i].word) != 0)
			continue;
		rw->next++;
		rw->vendor = true;
		if (parts[i].dimensions)
			rc = put_value(rw, "--dimension", parts[i].dimensions);
	}
	if (rc == NP_OK && rw->vendor && rules && *rules)
		rc = note(rw, "ADVISOR_RULE_PATH",
			  "rules of this program are read with --rules DIR");
	return rc;
}

/* The views that the old switches ask for; all of them where none was given. */
static int put_views(struct rewriting *rw)
{
	unsigned wanted = rw->wanted ? rw->wanted : WANT_ALL;
	struct np_buf buf = NP_BUF_INIT;
	const char *views;

	if (wanted & WANT_OPERATOR)
		np_buf_add(&buf, rw->no_module ? ",operator" : ",operator,module");
	if (wanted & WANT_COMMUNICATION)
		np_buf_add(&buf, ",communication");
	if (wanted & WANT_MEMORY)
		np_buf_add(&buf, ",memory");
	if (wanted & WANT_KERNEL)
		np_buf_add(&buf, rw->kernel_type ? ",kernel-type" : ",kernel");
	if (wanted & WANT_API)
		np_buf_add(&buf, ",api");
	if (buf.length == 0)
		return NP_OK;
	views = keep(rw, &buf);
	return views ? put_value(rw, "--view", views + 1) : NP_E_NOMEM;
}

static int end_compare(struct rewriting *rw)
{
	int rc;

	if (!rw->fresh != !rw->base)
		return np_fail(rw->err, NP_E_USAGE,
			       rw->fresh ? "-d is the new run, and -bp, the base, is missing; or "
					   "write 'npuprof compare BASE NEW'"
					 : "-bp is the base, and -d, the new run, is missing; or "
					   "write 'npuprof compare BASE NEW'");
	rw->vendor = rw->vendor || rw->fresh;
	rc = rw->vendor || rw->wanted || rw->kernel_type ? put_views(rw) : NP_OK;
	if (rc == NP_OK && rw->fresh)
		rc = put(rw, "--");
	if (rc == NP_OK && rw->fresh)
		rc = put(rw, rw->base);
	return rc == NP_OK && rw->fresh ? put(rw, rw->fresh) : rc;
}

/* The mode that compares a GPU with an NPU is a comparison: only where it writes is the same. */
static int end_cluster(struct rewriting *rw)
{
	const char *output = NULL;
	int rc;

	if (!rw->calibrates) {
		return rw->gpu ? np_fail(rw->err, NP_E_USAGE,
					 "--baseline_profiling_path is for -m calibrate_npu_gpu")
			       : NP_OK;
	}
	if (!rw->gpu || !rw->npu)
		return np_fail(rw->err, NP_E_USAGE,
			       "mode 'calibrate_npu_gpu' compares -d NPU with "
			       "--baseline_profiling_path GPU; 'npuprof compare GPU NPU --view "
			       "module' does so too");
	for (size_t i = 0; i < rw->line->words.count; i++) {
		const char *word = rw->line->words.item[i];

		if (strncmp(word, "--output=", 9) == 0)
			output = word;
		else if (strcmp(word, "-o") == 0 && i + 1 < rw->line->words.count)
			output = rw->line->words.item[i + 1];
	}
	rw->line->words.count = 0;
	rw->command = COMPARE;
	rw->vendor = true;
	rc = put(rw, "compare");
	if (rc == NP_OK && output)
		rc = strncmp(output, "--", 2) == 0 ? put(rw, output)
						   : put_value(rw, "--output", output);
	if (rc == NP_OK && rw->line->agent)
		rc = put(rw, "--agent");
	if (rc == NP_OK)
		rc = put(rw, "--view=module");
	if (rc == NP_OK)
		rc = put(rw, "--");
	if (rc == NP_OK)
		rc = put(rw, rw->gpu);
	return rc < 0 ? rc : put(rw, rw->npu);
}

static int rewrite(struct rewriting *rw)
{
	size_t after_command = rw->line->words.count;
	int rc = rw->command == ADVISOR ? begin_advisor(rw) : NP_OK;

	if (rc == NP_OK)
		rc = read_options(rw);
	if (rc == NP_OK && rw->command == COMPARE)
		rc = end_compare(rw);
	if (rc == NP_OK && rw->command == CLUSTER)
		rc = end_cluster(rw);
	/* In front, so that it is no operand behind "--". */
	if (rc == NP_OK && rw->vendor && (rw->command & VENDOR)) {
		rc = put(rw, NULL);
		for (size_t i = rw->line->words.count - 1; rc == NP_OK && i > after_command; i--)
			rw->line->words.item[i] = rw->line->words.item[i - 1];
		if (rc == NP_OK)
			rw->line->words.item[after_command] = "--vendor-files";
	}
	return rc;
}

static enum command command_of(const char *word)
{
	static const struct {
		const char *word;
		enum command command;
	} commands[] = {
		{ "cluster", CLUSTER },
		{ "advisor", ADVISOR },
		{ "compare", COMPARE },
		{ "export", EXPORT },
	};

	for (size_t i = 0; i < NP_COUNT(commands); i++) {
		if (strcmp(commands[i].word, word) == 0)
			return commands[i].command;
	}
	return 0;
}

/* Options that mean something without a command. */
static bool is_front(const char *word, bool alone)
{
	static const char *const front[] = { "-h", "-H", "--help", "-V", "--version" };

	for (size_t i = 0; i < NP_COUNT(front); i++) {
		if (strcmp(word, front[i]) == 0)
			return true;
	}
	return alone && strcmp(word, "-v") == 0;
}

/* The shell in small letters, and bash where none is named. */
static int put_shell(struct rewriting *rw)
{
	struct np_buf buf = NP_BUF_INIT;
	const char *word;

	if (rw->argc > 0 && rw->argv[0][0] == '-')
		return read_options(rw);
	np_buf_add(&buf, rw->argc > 0 ? rw->argv[0] : "bash");
	for (char *c = buf.text; c && *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
	word = keep(rw, &buf);
	rw->next++;
	if (!word || put(rw, word) < 0)
		return NP_E_NOMEM;
	return read_options(rw);
}

static int begin(struct rewriting *rw, const char *first)
{
	for (size_t i = 0; i < NP_COUNT(words); i++) {
		if (strcmp(first, words[i].word) != 0)
			continue;
		if (words[i].instead)
			return np_fail(rw->err, NP_E_USAGE, "'%s' is no command here: %s", first,
				       words[i].instead);
		if (put(rw, words[i].ours) < 0)
			return NP_E_NOMEM;
		return strcmp(words[i].ours, "completion") == 0 ? put_shell(rw) : NP_OK;
	}
	if (put(rw, first) < 0)
		return NP_E_NOMEM;
	rw->command = command_of(first);
	if (rw->command)
		return rewrite(rw);
	return strcmp(first, "completion") == 0 && rw->argc > 0 ? put_shell(rw) : read_options(rw);
}

static bool is_vendor_name(const char *program)
{
	const char *slash = strrchr(program, '/');

	return strcmp(slash ? slash + 1 : program, "msprof-analyze") == 0;
}

static int translate(struct rewriting *rw)
{
	const char *first = rw->argc > 0 ? rw->argv[0] : NULL;

	if (!first)
		return NP_OK;
	if (is_front(first, rw->argc == 1))
		return put(rw, strcmp(first, "-v") == 0   ? "-V"
			       : strcmp(first, "-H") == 0 ? "-h"
							  : first);
	if (first[0] == '-')
		return begin(rw, "cluster");
	rw->argv++;
	rw->argc--;
	return begin(rw, first);
}

/* How many words before the command say which language is spoken: 0, 1 or 2. */
static int count_lang(int argc, const char *const *argv)
{
	if (argc > 0 && np_text_begins(argv[0], "--lang="))
		return 1;
	return argc > 1 && strcmp(argv[0], "--lang") == 0 ? 2 : 0;
}

/* The language is the same before the command as behind it. */
static int put_lang(struct rewriting *rw, const char *const *argv, int count)
{
	size_t at = rw->line->words.count > 0 && rw->line->words.item[0][0] != '-';

	for (int i = 0; i < count; i++) {
		if (put(rw, NULL) < 0)
			return NP_E_NOMEM;
		for (size_t j = rw->line->words.count - 1; j > at; j--)
			rw->line->words.item[j] = rw->line->words.item[j - 1];
		rw->line->words.item[at++] = argv[i];
	}
	return NP_OK;
}

int compat_translate(const char *program, int argc, const char *const *argv,
		     struct compat_line *ret, struct np_err *err)
{
	int lang = count_lang(argc, argv);
	struct rewriting rw = { .line = ret, .argv = argv + lang, .argc = argc - lang, .err = err };
	int rc;

	*ret = (struct compat_line){ .arena = np_arena_new() };
	if (!ret->arena)
		return np_fail_nomem(err, "the command line");
	rw.named = is_vendor_name(program);
	rw.vendor = rw.named;
	rc = translate(&rw);
	return rc == NP_OK ? put_lang(&rw, argv, lang) : rc;
}

void compat_release(struct compat_line *line)
{
	np_vec_release(&line->words);
	np_vec_release(&line->notes);
	np_arena_freep(&line->arena);
}
