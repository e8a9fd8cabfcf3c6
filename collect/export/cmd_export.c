/* SPDX-License-Identifier: Apache-2.0 */
/* The command "npuprof export": which ranks, with which options, and what became of them. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/command/progress.h"
#include "export.h"

#include "npuprof/grid.h"
#include "npuprof/lang.h"
#include "npuprof/text.h"
#include "npuprof/vec.h"
#include "npuprof/workers.h"

#include <errno.h>

#define TOOLS_MOST    ((size_t)1 << 20)  /* of a tools.json */
#define MSPROF_MEMORY ((int64_t)4 << 30) /* of one run of msprof, to be on the safe side */

struct command_options {
	struct np_common common;
	uint64_t types;
	bool keep_raw;
	bool force;
	const char *msprof;
	const char *mm_tool;
	int64_t timeout_s;
};

static const char *const type_names[] = { "db", "text", NULL };

static const struct np_opt own_options[] = {
	{
		.name = "export-type",
		.kind = NP_OPT_CHOICES,
		.offset = offsetof(struct command_options, types),
		.value = "TYPE",
		.help = "export as",
		.choices = type_names,
		.preset = "db",
	},
	{
		.name = "ranks",
		.kind = NP_OPT_RANGES,
		.offset = offsetof(struct command_options, common.ranks),
		.value = "LIST",
		.help = "export these ranks only, such as 0-7,64",
		.preset_words = "all",
	},
	{
		.name = "force",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct command_options, force),
		.help = "export again what was exported and has not changed since",
	},
	{
		.name = "keep-raw",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct command_options, keep_raw),
		.help = "keep msprof's own output inside PROF_* as well; raw data are kept in any "
			"case",
	},
	{
		.name = "msprof",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct command_options, msprof),
		.value = "PROGRAM",
		.help = "run this msprof",
		.preset = "msprof",
	},
	{
		.name = "mm-tool",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct command_options, mm_tool),
		.value = "FILE",
		.help = "export the save_path of this tools.json of MindSpeed-MM, where no DIR is "
			"given",
	},
	{
		.name = "timeout",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct command_options, timeout_s),
		.value = "SECONDS",
		.help = "stop a run of msprof that takes longer",
		.preset = "7200",
		.low = 1,
		.high = 1000000,
	},
};

static const struct np_opt running_options[] = {
	{
		.letter = 'j',
		.name = "jobs",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct command_options, common.jobs),
		.value = "N",
		.help = "export N ranks at a time",
		.preset_words = "half of the processors, and one per 4 GiB of free memory",
		.low = 1,
		.high = 1024,
	},
	{
		.letter = 'q',
		.name = "quiet",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct command_options, common.quiet),
		.help = "say nothing on standard error but failures",
	},
	{
		.letter = 'v',
		.name = "verbose",
		.kind = NP_OPT_COUNT,
		.offset = offsetof(struct command_options, common.verbose),
		.help = "say where the logs of failed ranks are",
	},
};

static const struct np_opt_group groups[] = {
	{ "Export", own_options, NP_COUNT(own_options), 0 },
	{ "Running", running_options, NP_COUNT(running_options), 0 },
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand =
	NP_OPERAND_OPTIONAL_DIRS(struct command_options, common);

static int cmd_export(int argc, const char *const *argv);

const struct np_cmd np_cmd_export = {
	.name = "export",
	.topic = "Collecting",
	.synopsis = "[options] DIR...",
	.summary = "turn the raw data of a collection into files that can be analysed",
	.about =
		"Runs the vendor's msprof over the raw data (PROF_*) of every rank directory "
		"*_ascend_pt below DIR, several at a time, and lays the result out as torch_npu does, "
		"in ASCEND_PROFILER_OUTPUT: with rank, host, steps, communicators and clocks that the "
		"collector recorded, and with the tables derived from them. Each rank is checked "
		"before it counts as done; what is done and unchanged is left alone, so that a "
		"stopped export is continued by starting it again. One bad rank costs one rank.",
	.run = cmd_export,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PARTIAL,
};

/* --- running --------------------------------------------------------------------------------- */

/* Memory that a new program could have; NP_UNKNOWN where the kernel does not say. */
static int64_t free_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	long long kilobytes;
	int64_t bytes = NP_UNKNOWN;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1)
			bytes = (int64_t)kilobytes << 10;
	}
	if (file)
		(void)fclose(file);
	return bytes;
}

static size_t job_count(const struct command_options *options, size_t ranks)
{
	int64_t memory = free_memory();
	size_t count = np_processors() / 2;

	if (options->common.jobs)
		return (size_t)options->common.jobs;
	if (memory != NP_UNKNOWN && (int64_t)count > memory / MSPROF_MEMORY)
		count = (size_t)(memory / MSPROF_MEMORY);
	count = count < ranks ? count : ranks;
	return count ? count : 1;
}

struct export_batch {
	struct np_export_tree *tree;
	const struct np_export_options *options;
};

static void run_job(void *context, size_t index)
{
	const struct export_batch *batch = context;

	np_export_one(&batch->tree->ranks.item[index], batch->tree, batch->options);
}

static void run_all(struct np_export_tree *tree, const struct np_export_options *how,
		    const struct command_options *options)
{
	struct np_progress progress;
	const struct np_workers workers = { .threads = job_count(options, tree->chosen),
					    .tick = np_progress_tick,
					    .tick_context = &progress };
	struct export_batch batch = { tree, how };

	np_progress_init(&progress, "exporting ranks", options->common.quiet);
	np_workers_run(&workers, tree->chosen, run_job, &batch);
	np_progress_end(&progress);
}

/* --- telling --------------------------------------------------------------------------------- */

static const char *state_name(enum np_export_state state)
{
	static const char *const names[] = {
		[NP_EXPORT_FAILED] = NP_MSG("failed"),
		[NP_EXPORT_EXPORTED] = NP_MSG("exported"),
		[NP_EXPORT_FRESH] = NP_MSG("fresh"),
		[NP_EXPORT_STOPPED] = NP_MSG("stopped"),
	};

	return names[state];
}

/* The directory of a rank below the only one that was given: what distinguishes it from the others.
 */
static const char *short_dir(const char *dir, const struct command_options *options)
{
	const char *root = options->common.dirs.item[0];
	size_t length = strlen(root);

	while (length > 1 && root[length - 1] == '/')
		length--;
	if (options->common.dirs.count > 1 || strncmp(dir, root, length) != 0 || dir[length] != '/')
		return dir;
	return dir + length + strspn(dir + length, "/");
}

static void add_row(struct np_grid *grid, const struct np_export_rank *rank,
		    const struct command_options *options)
{
	bool known = rank->state == NP_EXPORT_EXPORTED;

	if (rank->rank >= 0)
		np_grid_printf(grid, "%d", (int)rank->rank);
	else
		np_grid_cell(grid, "?");
	np_grid_cell(grid, rank->host ? rank->host : "?");
	np_grid_cell(grid, np_lang_text(state_name(rank->state)));
	if (known && rank->step_count > 1)
		np_grid_printf(grid, "%lld-%lld", (long long)rank->first_step,
			       (long long)rank->last_step);
	else if (known && rank->step_count == 1)
		np_grid_printf(grid, "%lld", (long long)rank->first_step);
	else
		np_grid_cell(grid, known ? np_lang_text("none") : "");
	if (known)
		np_grid_printf(grid, "%zu", rank->op_count);
	else
		np_grid_cell(grid, "");
	if (known)
		np_grid_bytes(grid, rank->bytes);
	else
		np_grid_cell(grid, "");
	np_grid_cell(grid, short_dir(rank->dir, options));
}

static int print_table(const struct np_export_tree *tree, const struct command_options *options,
		       struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "rank", NP_RIGHT, false },      { "host", NP_LEFT, true },
		{ "state", NP_LEFT, false },      { "steps", NP_RIGHT, false },
		{ "operators", NP_RIGHT, false }, { "size", NP_RIGHT, false },
		{ "directory", NP_LEFT, true },
	};
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));
	struct np_buf buf = NP_BUF_INIT;
	int rc = grid ? NP_OK : np_fail_nomem(err, "the table");

	for (size_t i = 0; i < tree->chosen && rc == NP_OK; i++)
		add_row(grid, &tree->ranks.item[i], options);
	if (rc == NP_OK)
		rc = np_grid_write(grid, &buf, 0, np_output_width(stdout), false, err);
	if (rc == NP_OK)
		return np_output_release(&buf) == 0 ? NP_OK : NP_E_IO;
	np_buf_release(&buf);
	return rc;
}

static void report_rank(const struct np_export_rank *rank, const struct command_options *options)
{
	char label[32] = "?";

	if (rank->rank >= 0)
		(void)snprintf(label, sizeof(label), "%d", (int)rank->rank);
	if (rank->state == NP_EXPORT_FAILED)
		(void)np_report(0, "rank %s was not exported: %s", label, rank->err.text);
	if (rank->state == NP_EXPORT_FAILED && rank->prof && options->common.verbose)
		(void)np_report(0, "rank %s: the log is '%s/logs/npuprof_export.log'", label,
				rank->dir);
	for (size_t i = 0; i < rank->notes.list.count && !options->common.quiet; i++)
		(void)np_report(0, "rank %s: %s: %s", label, rank->notes.list.item[i].path,
				rank->notes.list.item[i].reason);
}

/* The one call that exports what torch_npu recorded, as it is to be pasted. */
static void tell_call(const struct np_export_tree *tree, const struct command_options *options)
{
	NP_CLEANUP(np_buf_release) struct np_buf types = NP_BUF_INIT;
	bool any = false;

	for (size_t i = 0; i < tree->chosen; i++)
		any = any || tree->ranks.item[i].framework;
	for (size_t i = 0; type_names[i]; i++) {
		if (options->types >> i & 1)
			np_buf_printf(&types, "%s\"%s\"", types.length ? "," : "", type_names[i]);
	}
	for (size_t i = 0; any && !types.failed && i < options->common.dirs.count; i++)
		(void)np_report(0,
				"run python3 -c 'from torch_npu.profiler.profiler import analyse; "
				"analyse(profiler_path=\"%s\", max_process_number=%zu, "
				"export_type=[%s])'; every command reads what it writes",
				options->common.dirs.item[i], job_count(options, tree->chosen),
				types.text);
}

static size_t count_state(const struct np_export_tree *tree, enum np_export_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < tree->chosen; i++)
		count += tree->ranks.item[i].state == state;
	return count;
}

/* Is there anything in what was exported that is less than it should be? */
static bool is_whole(const struct np_export_tree *tree)
{
	for (size_t i = 0; i < tree->chosen; i++) {
		if (np_notes_count(&tree->ranks.item[i].notes, NP_NOTE_SKIPPED) > 0)
			return false;
	}
	return np_notes_count(&tree->notes, NP_NOTE_SKIPPED) == 0;
}

static int report(const struct np_export_tree *tree, const struct command_options *options)
{
	size_t good = count_state(tree, NP_EXPORT_EXPORTED) + count_state(tree, NP_EXPORT_FRESH);
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; i < tree->chosen; i++)
		report_rank(&tree->ranks.item[i], options);
	for (size_t i = 0; i < tree->notes.list.count; i++)
		(void)np_report(0, "%s", tree->notes.list.item[i].reason);
	if (print_table(tree, options, &err) < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	tell_call(tree, options);
	if (np_export_was_stopped())
		(void)np_report(0, "stopped; start it again to go on where it was");
	if (good == 0)
		return NP_EXIT_FAILED;
	return good < tree->chosen || !is_whole(tree) ? NP_EXIT_PARTIAL : NP_EXIT_DONE;
}

/* --- the command ----------------------------------------------------------------------------- */

static int keep_ranks(struct np_export_tree *tree, const struct np_ranges *ranks,
		      struct np_err *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < tree->ranks.count && ranks; i++) {
		struct np_export_rank *rank = &tree->ranks.item[i];

		if (np_ranges_has(ranks, rank->rank)) {
			struct np_export_rank moved = tree->ranks.item[kept];

			tree->ranks.item[kept++] = *rank;
			*rank = moved;
		}
	}
	if (!ranks)
		return NP_OK;
	if (kept == 0)
		return np_fail(err, NP_E_USAGE, "none of the ranks asked for is there");
	tree->chosen = kept;
	return NP_OK;
}

/* What is fresh needs no msprof, and what torch_npu recorded is not exported here. */
static bool needs_msprof(const struct np_export_tree *tree, const struct np_export_options *how)
{
	for (size_t i = 0; i < tree->chosen; i++) {
		if (!tree->ranks.item[i].framework &&
		    !np_export_is_fresh(&tree->ranks.item[i], how))
			return true;
	}
	return false;
}

static void update_manifests(const struct np_export_tree *tree)
{
	for (size_t i = 0; i < tree->jobs.count; i++) {
		struct np_err err = NP_ERR_INIT;

		if (np_export_update_manifest(tree->jobs.item[i], tree, &err) < 0)
			(void)np_report(0, "the manifest keeps its old states: %s", err.text);
	}
}

static int work_on(struct np_export_tree *tree, const struct command_options *options)
{
	struct np_export_options how = { .types = (unsigned)options->types,
					 .timeout_s = options->timeout_s,
					 .keep_raw = options->keep_raw,
					 .force = options->force };
	char *program = np_export_find_program(options->msprof);
	int status;

	if (!program && needs_msprof(tree, &how))
		return np_report(NP_EXIT_FAILED,
				 "no program '%s': it comes with the CANN toolkit; source its "
				 "set_env.sh so that it is in PATH, or name it with --msprof",
				 options->msprof);
	how.msprof = program;
	np_export_catch_signals();
	run_all(tree, &how, options);
	update_manifests(tree);
	status = report(tree, options);
	free(program);
	return status;
}

static int run(const struct command_options *options)
{
	struct np_export_tree tree = { 0 };
	struct np_err err = NP_ERR_INIT;
	int status;
	int rc = NP_OK;

	for (size_t i = 0; i < options->common.dirs.count && rc == NP_OK; i++)
		rc = np_export_find(&tree, options->common.dirs.item[i], &err);
	if (rc == NP_OK)
		rc = keep_ranks(&tree, options->common.ranks.set, &err);
	if (rc == NP_OK)
		status = work_on(&tree, options);
	else if (rc == NP_E_USAGE)
		status = np_cmd_usage(&np_cmd_export, "%s", err.text);
	else
		status = np_report(NP_EXIT_FAILED, "%s", err.text);
	np_export_tree_release(&tree);
	return status;
}

/* Where a tools.json says that profiles go; relative to the current directory, as there. */
static int read_save_path(const char *path, char **ret, struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	const char *save_path;
	FILE *file = fopen(path, "re");
	char block[4096];
	size_t got;
	int rc;

	if (!file)
		return np_fail(err, NP_E_USAGE, "cannot read '%s': %s", path,
			       strerrordesc_np(errno));
	while ((got = fread(block, 1, sizeof(block), file)) > 0 && text.length < TOOLS_MOST)
		np_buf_add_bytes(&text, block, got);
	(void)fclose(file);
	rc = np_buf_check(&text, err);
	if (rc < 0)
		return rc;
	if (text.length == 0)
		return np_fail(err, NP_E_USAGE, "'%s' is no tools.json: it is empty", path);
	np_json_relax(text.text, text.length);
	rc = np_json_parse(text.text, text.length, path, &doc, err);
	if (rc < 0)
		return rc == NP_E_NOMEM ? rc : np_fail(err, NP_E_USAGE, "%s", err->text);
	save_path = np_json_text(np_json_member(
		np_json_member(np_json_member(doc, "profile"), "static_param"), "save_path"));
	if (!save_path || !*save_path)
		return np_fail(err, NP_E_USAGE,
			       "'%s' names no profile.static_param.save_path; name the directory "
			       "instead",
			       path);
	*ret = strdup(save_path);
	return *ret ? NP_OK : np_fail_nomem(err, path);
}

/* The directories: those given, else that of the file. */
static int find_dirs(struct command_options *options, char **ret_kept, struct np_err *err)
{
	const char **slot;
	int rc;

	if (options->common.dirs.count > 0)
		return NP_OK;
	if (!options->mm_tool)
		return np_fail(err, NP_E_USAGE, "export needs an argument DIR");
	rc = read_save_path(options->mm_tool, ret_kept, err);
	slot = rc == NP_OK ? np_vec_add(&options->common.dirs, err) : NULL;
	if (!slot)
		return rc < 0 ? rc : NP_E_NOMEM;
	*slot = *ret_kept;
	return NP_OK;
}

static int cmd_export(int argc, const char *const *argv)
{
	struct command_options options = { 0 };
	struct np_err err = NP_ERR_INIT;
	char *kept = NULL;
	int status;

	if (np_cmd_options(&np_cmd_export, argc, argv, &options, &status))
		status = find_dirs(&options, &kept, &err) < 0
				 ? np_cmd_usage(&np_cmd_export, "%s", err.text)
				 : run(&options);
	free(kept);
	np_opt_release(&np_cmd_export.options, &options);
	return status;
}
