/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof memory`: what fills the memory of each rank, from snapshots of its allocator. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "memory_report.h"

#include "npuprof/dirs.h"
#include "npuprof/text.h"

/* Directories below directories; deeper ones are not looked into. */
#define DEPTH_MOST 8

struct memory_options {
	struct np_common common;
	const char *at;
	int by;
	int64_t rank;
	int64_t top;
	struct np_opt_list with;
	bool sweep;
	const char *fail_on;
};

static const char *const bys[] = {
	[MEM_BY_USER] = "stack", [MEM_BY_INNER] = "inner",       [MEM_BY_FULL] = "full",
	[MEM_BY_SIZE] = "size",  [MEM_BY_LIFETIME] = "lifetime", NULL,
};
static const char *const formats[] = { "table", "json", "csv", "md", NULL };

static const struct np_opt own_options[] = {
	{
		.name = "at",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct memory_options, at),
		.value = "MOMENT",
		.help = "what fills the memory at peak, at the end, or after the event of this number",
		.preset = "peak",
	},
	{
		.name = "by",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct memory_options, by),
		.value = "WHAT",
		.help = "put blocks together by the innermost frame of the user's code, the innermost "
			"of all, the whole stack, size or lifetime",
		.choices = bys,
		.preset = "stack",
	},
	{
		.name = "top",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct memory_options, top),
		.value = "N",
		.help = "show the N largest",
		.preset = "10",
		.low = 1,
		.high = INT32_MAX,
	},
};

static const struct np_opt whatif_options[] = {
	{
		.name = "with",
		.kind = NP_OPT_LIST,
		.offset = offsetof(struct memory_options, with),
		.value = "SETTINGS",
		.help = "foretell the peak under these settings of the allocator, as "
			"expandable_segments:True,large_segment_size_mb:64; may be repeated",
	},
	{
		.name = "sweep",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct memory_options, sweep),
		.help = "foretell it under each of the settings that are worth trying",
	},
	{
		.name = "fail-on",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct memory_options, fail_on),
		.value = "CONDITION",
		.help = "exit with 4 if the peak of a rank, with --with the foretold one, is more: "
			"reserved>60GB",
	},
};

static const struct np_opt input_options[] = {
	{
		.letter = 'd',
		.name = "dir",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct memory_options, common.dirs),
		.value = "PATH",
		.help = "read this snapshot, or those below this directory (*.pickle, *.pkl); may be "
			"repeated; a bare argument means the same",
	},
	{
		.name = "rank",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct memory_options, rank),
		.value = "N",
		.help = "the rank of a single snapshot whose name does not tell",
		.preset = "-1",
		.preset_words = "from the name",
		.low = -1,
		.high = INT32_MAX,
	},
};

static const struct np_opt output_options[] = {
	{
		.letter = 'f',
		.name = "format",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct memory_options, common.format),
		.value = "FORMAT",
		.help = "print the result as",
		.choices = formats,
		.preset = "table",
	},
	{
		.name = "no-color",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct memory_options, common.no_color),
		.help = "print without colours, as with NO_COLOR in the environment",
	},
	{
		.letter = 'q',
		.name = "quiet",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct memory_options, common.quiet),
		.help = "say nothing on standard error but failures",
	},
};

static const struct np_opt_group groups[] = {
	{ "Memory", own_options, NP_COUNT(own_options), 0 },
	{ "What if", whatif_options, NP_COUNT(whatif_options), 0 },
	{ "Input", input_options, NP_COUNT(input_options), 0 },
	{ "Output", output_options, NP_COUNT(output_options), 0 },
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = {
	.option = { .kind = NP_OPT_LIST,
		    .fill = NP_FILL_DIRECTORY,
		    .value = "PATH",
		    .offset = offsetof(struct memory_options, common.dirs) },
	.least = 1,
	.most = NP_OPERANDS_ANY,
};

static int cmd_memory(int argc, const char *const *argv);

const struct np_cmd np_cmd_memory = {
	.name = "memory",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] PATH...",
	.summary = "what fills the memory of each rank, from snapshots of its allocator",
	.about =
		"Reads memory snapshots of torch_npu and torch, as plain data: nothing in them can "
		"run. Tells the peaks of allocated and reserved memory, what fills them, how much "
		"is fragmentation, what was never freed and what grows, and what other settings of "
		"the allocator would do. The inputs are not changed.",
	.run = cmd_memory,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_GATE,
};

/* What is being done. */
struct memory_job {
	const struct memory_options *options;
	size_t at; /* event, if `at_event` */
	bool at_event;
	bool at_end;
	uint64_t most; /* of the gate */
	struct np_names files;
	struct np_notes notes;
	struct memory_report report;
};

static bool is_snapshot(const char *name)
{
	return np_text_ends(name, ".pickle") || np_text_ends(name, ".pkl") ||
	       np_text_ends(name, ".pickle.gz") || np_text_ends(name, ".pkl.gz");
}

static int add_file(struct memory_job *job, char *path, struct np_err *err)
{
	char **added = np_vec_add(&job->files.list, err);

	if (!added) {
		free(path);
		return NP_E_NOMEM;
	}
	*added = path;
	return NP_OK;
}

static int find_files(struct memory_job *job, const char *dir, unsigned depth, struct np_err *err)
{
	struct np_names names = { 0 };
	int rc = np_names_read(dir, &names, err);

	for (size_t i = 0; rc == NP_OK && i < names.list.count; i++) {
		char *path = np_join_path(dir, names.list.item[i]);

		if (!path) {
			rc = np_fail_nomem(err, "the name of a snapshot");
		} else if (np_is_directory(path)) {
			if (depth < DEPTH_MOST)
				rc = find_files(job, path, depth + 1, err);
			free(path);
		} else if (is_snapshot(path)) {
			rc = add_file(job, path, err);
		} else {
			free(path);
		}
	}
	np_names_release(&names);
	return rc;
}

static int find_all(struct memory_job *job, struct np_err *err)
{
	const struct np_opt_list *dirs = &job->options->common.dirs;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < dirs->count; i++) {
		size_t before = job->files.list.count;
		char *path;

		if (np_is_directory(dirs->item[i])) {
			rc = find_files(job, dirs->item[i], 0, err);
			if (rc == NP_OK && job->files.list.count == before)
				rc = np_fail(err, NP_E_NOTFOUND,
					     "no memory snapshot (*.pickle, *.pkl) below '%s'",
					     dirs->item[i]);
			continue;
		}
		path = strdup(dirs->item[i]);
		rc = path ? add_file(job, path, err) : np_fail_nomem(err, "a path");
	}
	return rc;
}

/* rank3, rank_3, rank-3 in a name. */
static bool rank_in(const char *name, int64_t *ret)
{
	for (const char *at = strstr(name, "rank"); at; at = strstr(at + 1, "rank")) {
		const char *digits = at + 4 + (at[4] == '_' || at[4] == '-');
		size_t length = strspn(digits, "0123456789");

		/* Eight digits and more are a time. */
		if (length > 0 && length < 8 && np_text_to_int(digits, length, ret))
			return true;
	}
	return false;
}

/* snapshot_<Y-m-d-H-M>_<rank>.pickle */
static bool rank_of_mindspeed(const char *name, int64_t *ret)
{
	const char *at = name + strlen("snapshot_");
	size_t stamp;
	size_t dashes = 0;

	if (!np_text_begins(name, "snapshot_"))
		return false;
	stamp = strspn(at, "0123456789-");
	for (size_t i = 0; i < stamp; i++)
		dashes += at[i] == '-';
	if (dashes != 4 || at[stamp] != '_')
		return false;
	at += stamp + 1;
	stamp = strspn(at, "0123456789");
	return stamp > 0 && stamp < 8 && at[stamp] == '.' && np_text_to_int(at, stamp, ret);
}

static int64_t find_rank(const struct memory_job *job, const char *path)
{
	const char *name = np_text_last_part(path);
	char *above = strndup(path, (size_t)(name - path));
	int64_t rank = NP_UNKNOWN;
	bool found = rank_in(name, &rank) || rank_of_mindspeed(name, &rank);

	/* Only the directory of the file itself: those above may be of anything. */
	if (!found && above && strlen(above) > 1) {
		above[strlen(above) - 1] = '\0';
		found = rank_in(np_text_last_part(above), &rank);
	}
	free(above);
	if (!found)
		rank = NP_UNKNOWN;
	if (job->options->rank >= 0 && job->files.list.count == 1)
		rank = job->options->rank;
	return rank;
}

/* What the process could have: reserved and what the device still had, when it ran out. */
static int find_limit(struct memory_result *result, struct np_err *err)
{
	const struct mem_history *history = result->history;

	result->limit = NP_UNKNOWN;
	for (size_t i = history->count; i > 0; i--) {
		struct mem_layout layout;
		int rc;

		if (history->events[i - 1].action != SNAP_OOM)
			continue;
		rc = history_state(history, i - 1, &layout, err);
		result->limit = (int64_t)(layout.reserved + history->events[i - 1].address);
		layout_release(&layout);
		return rc;
	}
	return NP_OK;
}

static int measure(struct memory_job *job, struct memory_result *result, struct np_err *err)
{
	struct mem_history *history = result->history;
	struct mem_layout layout;
	int rc;

	result->at = history->allocated.at;
	if (job->at_end)
		result->at = history->count > 0 ? history->count - 1 : 0;
	if (job->at_event)
		result->at = job->at;
	if (result->at >= history->count && history->count > 0)
		return np_fail(err, NP_E_RANGE, "there are only %zu events", history->count);
	rc = history_state(history, result->at, &layout, err);
	result->at_allocated = layout.allocated;
	result->at_requested = layout.requested;
	result->at_reserved = layout.reserved;
	layout_gaps(&layout, &result->gaps);
	layout_release(&layout);
	if (rc == NP_OK)
		rc = composition_new(history, result->at, (enum mem_by)job->options->by,
				     &result->composition, err);
	for (size_t i = 0; rc == NP_OK && i < result->composition->groups.count; i++)
		result->peak_blocks += result->composition->groups.item[i].blocks;
	if (rc == NP_OK)
		rc = memory_whatif_run(history, job->options->with.item, job->options->with.count,
				       job->options->sweep, &result->whatif, err);
	result->tripped =
		job->options->fail_on && memory_gate_peak(history, &result->whatif) > job->most;
	return rc == NP_OK ? find_limit(result, err) : rc;
}

static int add_device(struct memory_job *job, const char *path, const struct snapshot *snapshot,
		      size_t device, struct np_err *err)
{
	struct memory_result result = { .device = device };
	struct memory_result *added;
	int rc = history_new(snapshot, device, &result.history, err);

	result.rank = find_rank(job, path);
	if (device < snapshot->devices.count)
		result.workspace = snapshot->devices.item[device].workspace;
	if (rc == NP_OK)
		rc = measure(job, &result, err);
	result.path = strdup(path);
	added = rc == NP_OK && result.path ? np_vec_add(&job->report.results, err) : NULL;
	if (added) {
		/* The snapshot goes; what was needed of it is in the result. */
		result.history->snapshot = NULL;
		result.history->events = NULL;
		*added = result;
		return NP_OK;
	}
	free(result.path);
	history_free(result.history);
	composition_free(result.composition);
	memory_whatif_release(&result.whatif);
	return rc < 0 ? rc : np_fail_nomem(err, "a result");
}

/* Has anything happened on this device? */
static bool is_used(const struct snapshot *snapshot, size_t device)
{
	if (device < snapshot->devices.count && snapshot->devices.item[device].count > 0)
		return true;
	for (size_t i = 0; i < snapshot->segments.count; i++) {
		if (snapshot->segments.item[i].device == (int64_t)device)
			return true;
	}
	return false;
}

static int read_file(struct memory_job *job, const char *path, struct np_err *err)
{
	NP_CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	size_t devices = 0;
	size_t used = 0;
	int rc = snapshot_read(path, &snapshot, err);

	if (rc < 0)
		return rc;
	devices = snapshot->devices.count;
	for (size_t i = 0; i < snapshot->segments.count; i++) {
		int64_t device = snapshot->segments.item[i].device;

		if (device >= 0 && device < UINT16_MAX && (size_t)device >= devices)
			devices = (size_t)device + 1;
	}
	for (size_t i = 0; rc == NP_OK && i < devices; i++) {
		if (!is_used(snapshot, i))
			continue;
		used++;
		rc = add_device(job, path, snapshot, i, err);
	}
	if (rc == NP_OK && used == 0)
		return np_fail(err, NP_E_FORMAT, "'%s' has no memory and no events", path);
	if (rc == NP_OK && snapshot->trailing > 0 && !job->options->common.quiet)
		(void)np_report(0, "'%s': %llu bytes behind the end of the pickle were not read",
				path, (unsigned long long)snapshot->trailing);
	return rc;
}

static int order_results(const void *a, const void *b)
{
	const struct memory_result *result_a = a;
	const struct memory_result *result_b = b;
	/* The unknown last. */
	int64_t rank_a = result_a->rank == NP_UNKNOWN ? INT64_MAX : result_a->rank;
	int64_t rank_b = result_b->rank == NP_UNKNOWN ? INT64_MAX : result_b->rank;
	int order = np_order(rank_a, rank_b);

	if (order == 0)
		order = strcmp(result_a->path, result_b->path);
	return order ? order : np_order((int64_t)result_a->device, (int64_t)result_b->device);
}

static int print(const struct memory_job *job, struct np_err *err)
{
	const struct np_common *common = &job->options->common;
	struct np_buf buf = NP_BUF_INIT;
	int rc;

	if (common->format == NP_OUTPUT_JSON)
		return memory_report_json(&job->report, stdout, err);
	if (common->format == NP_OUTPUT_CSV)
		return memory_report_csv(&job->report, stdout, err);
	rc = memory_report_page(&job->report, common->format == NP_OUTPUT_MD, &buf, err);
	if (rc == NP_OK && np_output_release(&buf))
		return np_fail(err, NP_E_IO, "%s", "");
	np_buf_release(&buf);
	return rc;
}

/* What the gate says of all; a rank of which nothing can be foretold cannot pass. */
static int judge(const struct memory_job *job, int status)
{
	const struct memory_options *options = job->options;
	size_t tripped = 0;

	for (size_t i = 0; options->fail_on && i < job->report.results.count; i++) {
		const struct memory_result *result = &job->report.results.item[i];

		if (result->whatif.withheld && options->with.count > 0)
			return np_report(NP_EXIT_FAILED,
					 "--fail-on cannot be judged: '%s': %s; without --with it "
					 "judges what was recorded",
					 result->path, result->whatif.withheld);
		tripped += result->tripped;
	}
	if (tripped == 0)
		return status;
	return np_report(NP_EXIT_GATE, "%s in %zu of %zu", options->fail_on, tripped,
			 job->report.results.count);
}

static int run(struct memory_job *job)
{
	const struct memory_options *options = job->options;
	struct np_err err = NP_ERR_INIT;
	int rc = find_all(job, &err);

	if (rc < 0)
		return np_report(rc == NP_E_NOTFOUND ? NP_EXIT_USAGE : NP_EXIT_FAILED, "%s",
				 err.text);
	if (options->rank >= 0 && job->files.list.count > 1)
		return np_cmd_usage(&np_cmd_memory,
				    "--rank is for a single snapshot; there are %zu",
				    job->files.list.count);
	for (size_t i = 0; i < job->files.list.count; i++) {
		const char *path = job->files.list.item[i];

		rc = read_file(job, path, &err);
		if (rc == NP_E_NOMEM)
			return np_report(NP_EXIT_FAILED, "%s", err.text);
		if (rc < 0 && job->files.list.count == 1)
			return np_report(rc == NP_E_NOTFOUND ? NP_EXIT_USAGE : NP_EXIT_FAILED, "%s",
					 err.text);
		if (rc < 0) {
			np_note_add(&job->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "snapshot",
				    "%s", err.text);
			(void)np_report(0, "skipped: %s", err.text);
		}
	}
	if (job->report.results.count == 0)
		return np_report(NP_EXIT_FAILED, "none of %zu snapshots can be read",
				 job->files.list.count);
	qsort(job->report.results.item, job->report.results.count,
	      sizeof(job->report.results.item[0]), order_results);
	rc = print(job, &err);
	if (rc < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	return judge(job,
		     np_notes_count(&job->notes, NP_NOTE_SKIPPED) ? NP_EXIT_PARTIAL : NP_EXIT_DONE);
}

/* What --at says. */
static bool read_moment(struct memory_job *job)
{
	const char *at = job->options->at;
	int64_t event;

	job->report.moment = at;
	job->at_end = strcmp(at, "end") == 0;
	if (job->at_end || strcmp(at, "peak") == 0)
		return true;
	job->at_event = np_text_to_int(at, strlen(at), &event) && event >= 0;
	job->at = job->at_event ? (size_t)event : 0;
	return job->at_event;
}

/* --with and --fail-on, before anything is read. */
static int check_whatif(struct memory_job *job, struct np_err *err)
{
	const struct memory_options *options = job->options;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < options->with.count; i++) {
		struct mem_settings settings = { .max_split = MEM_NO_SPLIT_LIMIT };

		rc = mem_replay_parse(options->with.item[i], &settings, err);
	}
	if (rc < 0 || !options->fail_on)
		return rc;
	if (options->with.count > 1)
		return np_fail(err, NP_E_USAGE, "--fail-on judges one --with; there are %zu",
			       options->with.count);
	job->report.gate = options->fail_on;
	return memory_gate_parse(options->fail_on, &job->most, err);
}

static int memory(const struct memory_options *options)
{
	struct memory_job job = { .options = options };
	struct np_err err = NP_ERR_INIT;
	int status;

	job.report.by = bys[options->by];
	job.report.top = (size_t)options->top;
	job.report.notes = &job.notes;
	job.report.width = np_output_width(stdout);
	job.report.color = np_common_color(&options->common, stdout);
	if (check_whatif(&job, &err) < 0)
		status = np_cmd_usage(&np_cmd_memory, "%s", err.text);
	else if (read_moment(&job))
		status = run(&job);
	else
		status = np_cmd_usage(&np_cmd_memory,
				      "--at %s: neither peak, end nor the number of an event",
				      options->at);
	memory_report_release(&job.report);
	np_names_release(&job.files);
	np_notes_release(&job.notes);
	return status;
}

static int cmd_memory(int argc, const char *const *argv)
{
	struct memory_options options = { 0 };
	int status;

	if (np_cmd_options(&np_cmd_memory, argc, argv, &options, &status))
		status = memory(&options);
	np_opt_release(&np_cmd_memory.options, &options);
	return status;
}
