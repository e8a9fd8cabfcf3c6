/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof memory`: what fills the memory of each rank, from snapshots and profiles. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/prepare/prepare.h"
#include "engine/mem_tables.h"
#include "memory_report.h"

#include "npuprof/cluster_tables.h"
#include "npuprof/dirs.h"
#include "npuprof/mem_snapshots.h"
#include "npuprof/ranges.h"
#include "npuprof/run.h"
#include "npuprof/text.h"
#include "npuprof/workers.h"

struct memory_options {
	struct np_common common;
	struct np_opt_list picks; /* none: runs are loaded as discovery finds them */
	const char *at;
	int by;
	const char *step_frame;
	const char *parallel;
	const char *device_memory;
	const char *table;
	int64_t rank;
	int64_t top;
	struct np_opt_list with;
	bool sweep;
	const char *fail_on;
	const char *base;
};

static const char *const bys[] = {
	[MEM_BY_USER] = "stack",        [MEM_BY_INNER] = "inner",
	[MEM_BY_FULL] = "full",         [MEM_BY_OP] = "op",
	[MEM_BY_MODULE] = "module",     [MEM_BY_SIZE] = "size",
	[MEM_BY_LIFETIME] = "lifetime", NULL,
};

const char *memory_by_name(enum mem_by by)
{
	return bys[by];
}

static const struct np_opt own_options[] = {
	{
		.name = "at",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct memory_options, at),
		.value = "MOMENT",
		.help = "what fills the memory at peak, at end, at the peak of step:N, after event:N, "
			"or at time:T, ns of its clock or 1.5s from its beginning on; a number is a "
			"step where steps are known, else an event",
		.preset = "peak",
	},
	{
		.name = "by",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct memory_options, by),
		.value = "WHAT",
		.help = "put blocks together by the innermost frame of the user's code, the innermost "
			"of all, the whole stack, operator, module, size or lifetime; profiles have "
			"no stacks, so theirs are by operator",
		.choices = bys,
		.preset = "stack",
	},
	{
		.name = "step-frame",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct memory_options, step_frame),
		.value = "FRAME",
		.help = "in snapshots, a step begins with the first allocation of this file:line or "
			"function",
		.preset_words = "marks of the profiler, where there are any",
	},
	{
		.name = "parallel",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct memory_options, parallel),
		.value = "SIZES",
		.help = "the parallel dimensions of a job whose snapshots have no profile beside "
			"them, as tp:2,pp:4,dp:2",
		.preset_words = "those of the profiles",
	},
	{
		.name = "device-memory",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct memory_options, device_memory),
		.value = "SIZE",
		.help = "what a device has, such as 64GB or 60GiB",
		.preset_words = "what was there when one ran out",
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
		.name = "base",
		.kind = NP_OPT_TEXT,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct memory_options, base),
		.value = "PATH",
		.help = "tell what was added since this snapshot or run, rank by rank",
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

static const struct np_opt snapshot_options[] = {
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
	{
		.name = "table",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct memory_options, table),
		.value = "NAME",
		.help = "with -f csv, print this table",
		.preset_words = "np_memory_group",
	},
};

static const struct np_opt_group groups[] = {
	{ "Memory", own_options, NP_COUNT(own_options), 0 },
	{ "What if", whatif_options, NP_COUNT(whatif_options), 0 },
	{ "Snapshots and tables", snapshot_options, NP_COUNT(snapshot_options), 0 },
	NP_GROUP_INPUT(struct memory_options, common),
	NP_GROUP_OUTPUT(struct memory_options, common),
	NP_GROUP_RUNNING(struct memory_options, common),
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = NP_OPERAND_DIRS(struct memory_options, common);

static int cmd_memory(int argc, const char *const *argv);

const struct np_cmd np_cmd_memory = {
	.name = "memory",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] DIR...",
	.summary = "what fills the memory of each rank, from snapshots and profiles",
	.about =
		"Reads memory snapshots of torch_npu and torch (*.pickle, *.pkl; as plain data: "
		"nothing in them can run) and the memory tables of profiles below DIR. Tells the "
		"peaks of allocated and reserved memory, what fills them, which ranks need more than "
		"others and why, how much is fragmentation, what was never freed and what grows, and "
		"what other settings of the allocator would do. The inputs are not changed.",
	.run = cmd_memory,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_GATE,
};

/* What is being done. */
struct memory_job {
	const struct memory_options *options;
	struct mem_rank_options how;
	struct np_parallel parallel; /* .known is false: not given */
	const struct np_relation *table;
	uint64_t most;             /* of the gate */
	struct np_names files;     /* snapshots */
	NP_VEC(const char *) runs; /* where profiles may be */
	struct np_notes notes;
	struct memory_report report;
};

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

/* Which inputs are snapshots, and where profiles may be: directories may have both. */
static int find_all(struct memory_job *job, struct np_err *err)
{
	const struct np_opt_list *dirs = &job->options->common.dirs;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < dirs->count; i++) {
		bool directory = np_is_directory(dirs->item[i]);
		const char **run = NULL;
		char *path = NULL;

		if (directory || (!np_mem_snapshots_is(dirs->item[i]) &&
				  !np_mem_snapshots_looks(dirs->item[i]))) {
			run = np_vec_add(&job->runs, err);
			if (!run)
				return NP_E_NOMEM;
			*run = dirs->item[i];
		}
		if (directory)
			rc = np_mem_snapshots_find(dirs->item[i], &job->files, err);
		if (run)
			continue;
		path = strdup(dirs->item[i]);
		rc = path ? add_file(job, path, err) : np_fail_nomem(err, "a path");
	}
	return rc;
}

/* A record that cannot be as it is written lacks something: what is said of it is partial. So it is
 * where the table beside it could not be used. */
static void note_problems(struct memory_job *job, const struct mem_rank *rank)
{
	const struct mem_history *history = rank->history;

	if (!history_is_trusted(history))
		np_note_add(
			&job->notes, NP_NOTE_SKIPPED, NP_NO_RANK, rank->path, "snapshot",
			"%zu of %zu events contradict others: what grows and other settings are "
			"not told",
			history->inconsistent, history->count);
	if (rank->usage_problem)
		np_note_add(&job->notes, NP_NOTE_SKIPPED, NP_NO_RANK, rank->path, "modules", "%s",
			    rank->usage_problem);
}

/* What was found in a file; a failure costs the file, unless it is alone. */
static int take_snapshot(struct memory_job *job, struct mem_snapshot_slot *slot, bool alone,
			 struct np_err *err)
{
	if (slot->rc == NP_E_NOMEM || (slot->rc < 0 && alone))
		return np_fail(err, slot->rc, "%s", slot->err.text);
	if (slot->rc < 0) {
		np_note_add(&job->notes, NP_NOTE_SKIPPED, NP_NO_RANK, slot->path, "snapshot", "%s",
			    slot->err.text);
		return NP_OK;
	}
	for (size_t i = 0; i < slot->ranks.count; i++)
		note_problems(job, &slot->ranks.item[i]);
	if (slot->trailing > 0 && !job->options->common.quiet)
		(void)np_report(0, "'%s': %llu bytes behind the end of the pickle were not read",
				slot->path, (unsigned long long)slot->trailing);
	return mem_snapshot_take(slot, &job->report.ranks, err);
}

/* --- profiles ----------------------------------------------------------------------------------
 */

/* One rank of a run: each on a thread of its own. */
struct profile_slot {
	mem_ranks ranks;
	struct np_notes notes;
	struct np_err err;
	int rc;
};

struct profile_pass {
	const struct memory_job *job;
	const struct np_run *run;
	struct profile_slot *slots;
};

static void read_profile(void *context, size_t index)
{
	const struct profile_pass *pass = context;
	struct profile_slot *slot = &pass->slots[index];

	if (pass->run->ranks[index])
		slot->rc = mem_rank_profile(pass->run, index, &pass->job->how, &slot->ranks,
					    &slot->notes, &slot->err);
}

/* What was found of a rank; a failure costs the rank. */
static int take_slot(struct memory_job *job, const struct np_run *run,
		     const struct np_cluster *cluster, size_t index, struct profile_slot *slot,
		     struct np_err *err)
{
	const struct np_source_files *source = &run->sources.item[index];

	np_notes_move(&job->notes, &slot->notes);
	if (slot->rc == NP_E_NOMEM)
		return np_fail(err, slot->rc, "%s", slot->err.text);
	if (slot->rc < 0)
		np_note_add(&job->notes, NP_NOTE_SKIPPED, source->rank, source->dir, "memory", "%s",
			    slot->err.text);
	for (size_t i = 0; i < slot->ranks.count; i++) {
		struct mem_rank *added = np_vec_add(&job->report.ranks, err);

		if (!added)
			return NP_E_NOMEM;
		*added = slot->ranks.item[i];
		added->place = cluster->coordinates[index];
		if (added->place.pp < 0)
			added->place.pp = np_cluster_stage_at(cluster, index);
		slot->ranks.item[i] = (struct mem_rank){ 0 };
	}
	return NP_OK;
}

/* Snapshots of ranks of this run are where the ranks are. */
static int place_snapshots(struct memory_job *job, const struct np_run *run,
			   const struct np_cluster *cluster, struct np_err *err)
{
	for (size_t i = 0; i < job->report.ranks.count; i++) {
		struct mem_rank *rank = &job->report.ranks.item[i];
		size_t index = rank->rank >= 0 && rank->rank <= INT32_MAX
				       ? np_run_index(run, (int32_t)rank->rank)
				       : SIZE_MAX;

		if (rank->source != MEM_SNAPSHOT || index == SIZE_MAX)
			continue;
		rank->place = cluster->coordinates[index];
		if (rank->place.pp < 0)
			rank->place.pp = np_cluster_stage_at(cluster, index);
		if (rank->host || !run->sources.item[index].host)
			continue;
		rank->host = strdup(run->sources.item[index].host);
		if (!rank->host)
			return np_fail_nomem(err, "a host");
	}
	return NP_OK;
}

static int measure_run(struct memory_job *job, const struct np_run *run, struct np_err *err)
{
	NP_CLEANUP(np_cluster_freep) struct np_cluster *cluster = NULL;
	const struct np_workers workers = { .threads = (size_t)job->options->common.jobs };
	size_t count = run->sources.count;
	struct profile_slot *slots = calloc(count + 1, sizeof(*slots));
	struct profile_pass pass = { job, run, slots };
	int rc = slots ? np_cluster_build(run, &cluster, err) : np_fail_nomem(err, "ranks");

	if (rc == NP_OK)
		np_workers_run(&workers, count, read_profile, &pass);
	for (size_t i = 0; slots && i < count; i++) {
		if (rc == NP_OK)
			rc = take_slot(job, run, cluster, i, &slots[i], err);
		mem_ranks_release(&slots[i].ranks);
		np_notes_release(&slots[i].notes);
	}
	free(slots);
	return rc < 0 ? rc : place_snapshots(job, run, cluster, err);
}

/* Load the run, of one phase if there are several, and add its ranks. */
static int read_run(struct memory_job *job, const char *phase, struct np_run **ret,
		    struct np_err *err)
{
	struct np_common common = job->options->common;
	int rc;

	common.dirs.item = job->runs.item;
	common.dirs.count = job->runs.count;
	common.phase = phase ? phase : common.phase;
	rc = prepare_run(&common, &job->options->picks, ret, err);
	if (rc == NP_OK)
		rc = measure_run(job, *ret, err);
	if (rc == NP_OK)
		np_notes_move(&job->notes, &(*ret)->notes);
	return rc;
}

/* Where there are snapshots, there need not be profiles. */
static int read_runs(struct memory_job *job, struct np_err *err)
{
	NP_CLEANUP(np_run_freep) struct np_run *run = NULL;
	int rc;

	if (job->runs.count == 0)
		return NP_OK;
	rc = read_run(job, NULL, &run, err);
	if (rc == NP_E_NOTFOUND && job->files.list.count > 0)
		return NP_OK;
	if (rc == NP_E_IO && job->files.list.count > 0) {
		np_note_add(&job->notes, NP_NOTE_SKIPPED, NP_NO_RANK, job->runs.item[0], "run",
			    "%s", err->text);
		return NP_OK;
	}
	if (rc == NP_E_NOTFOUND) {
		struct np_err profiles = *err;

		return np_fail(err, rc, "%s; nor is there a memory snapshot (*.pickle, *.pkl)",
			       profiles.text);
	}
	/* The first was of one phase; the others are roles of the same job. */
	for (size_t i = 1; rc == NP_OK && !job->options->common.phase && i < run->phases.count;
	     i++) {
		NP_CLEANUP(np_run_freep) struct np_run *other = NULL;

		rc = read_run(job, run->phases.item[i], &other, err);
	}
	return rc;
}

static int order_ranks(const void *a, const void *b)
{
	const struct mem_rank *rank_a = a;
	const struct mem_rank *rank_b = b;
	/* The unknown last. */
	int64_t number_a = rank_a->rank == NP_UNKNOWN ? INT64_MAX : rank_a->rank;
	int64_t number_b = rank_b->rank == NP_UNKNOWN ? INT64_MAX : rank_b->rank;
	int order = np_order(number_a, number_b);

	if (order == 0)
		order = np_order((int64_t)rank_a->source, (int64_t)rank_b->source);
	if (order == 0)
		order = strcmp(rank_a->path, rank_b->path);
	return order ? order : np_order((int64_t)rank_a->device, (int64_t)rank_b->device);
}

static const struct np_relation *const tables[] = {
	&np_table_memory_group, &np_table_memory_rank,  &np_table_memory_component,
	&np_table_memory_curve, &np_table_memory_leak,  &np_table_memory_whatif,
	&np_table_memory_mark,  &np_table_memory_block,
};

static int print_csv(const struct memory_job *job, struct np_err *err)
{
	NP_CLEANUP(np_memory_freep) struct np_memory *memory = NULL;
	struct np_analysis model = { 0 };
	const char *output = job->options->common.output;
	int rc = mem_tables_new(&job->report.ranks, &memory, err);

	model.memory = memory;
	if (rc == NP_OK && !output)
		return np_csv_write(job->table, &model, stdout, err);
	for (size_t i = 0; rc == NP_OK && i < NP_COUNT(tables); i++)
		rc = np_csv_write_below(tables[i], &model, output, err);
	return rc;
}

static int print(const struct memory_job *job, struct np_err *err)
{
	const struct np_common *common = &job->options->common;
	struct np_buf buf = NP_BUF_INIT;
	int rc;

	if (common->format == NP_OUTPUT_JSON)
		return memory_report_json(&job->report, stdout, err);
	if (common->format == NP_OUTPUT_CSV)
		return print_csv(job, err);
	rc = memory_report_page(&job->report, common->format == NP_OUTPUT_MD, &buf, err);
	if (rc == NP_OK && np_output_release(&buf))
		return np_fail(err, NP_E_IO, "%s", "");
	np_buf_release(&buf);
	return rc;
}

/* What the gate says of all; a rank of which nothing can be foretold cannot pass. */
static int judge(struct memory_job *job, int status)
{
	const struct memory_options *options = job->options;
	size_t tripped = 0;

	for (size_t i = 0; options->fail_on && i < job->report.ranks.count; i++) {
		const struct mem_rank *rank = &job->report.ranks.item[i];

		if (rank->whatif.withheld && options->with.count > 0)
			return np_report(NP_EXIT_FAILED,
					 "--fail-on cannot be judged: '%s': %s; without --with it "
					 "judges what was recorded",
					 rank->path, rank->whatif.withheld);
		if (rank->whatif.with > 0 && rank->whatif.list.item[0].withheld)
			return np_report(NP_EXIT_FAILED, "--fail-on cannot be judged: '%s': %s",
					 rank->path, rank->whatif.list.item[0].withheld);
		if (rank->reserved.bytes == NP_UNKNOWN)
			return np_report(NP_EXIT_FAILED,
					 "--fail-on cannot be judged: '%s': what was reserved is "
					 "not known",
					 rank->path);
		tripped += rank->tripped;
	}
	if (tripped == 0)
		return status;
	return np_report(NP_EXIT_GATE, "%s in %zu of %zu", options->fail_on, tripped,
			 job->report.ranks.count);
}

static void trip(struct memory_job *job)
{
	for (size_t i = 0; job->options->fail_on && i < job->report.ranks.count; i++) {
		struct mem_rank *rank = &job->report.ranks.item[i];
		uint64_t peak = rank->reserved.bytes > 0 ? (uint64_t)rank->reserved.bytes : 0;

		if (rank->history)
			peak = memory_gate_peak(rank->history, &rank->whatif);
		rank->tripped = peak > job->most;
	}
}

/* Where no profile says it, places follow from the sizes that were given. */
static void place_ranks(struct memory_job *job)
{
	for (size_t i = 0; job->parallel.known && i < job->report.ranks.count; i++) {
		struct mem_rank *rank = &job->report.ranks.item[i];

		if (rank->rank >= 0 && rank->rank <= INT32_MAX)
			rank->place = np_coordinates_of(&job->parallel, (int32_t)rank->rank);
	}
}

static int read_snapshots(struct memory_job *job, struct np_err *err)
{
	const struct memory_options *options = job->options;
	const struct np_ranges *chosen = options->common.ranks.set;
	bool alone = job->files.list.count == 1 && job->runs.count == 0;
	struct mem_snapshot_slot *slots = calloc(job->files.list.count + 1, sizeof(*slots));
	size_t count = 0;
	int rc = slots ? NP_OK : np_fail_nomem(err, "snapshots");

	for (size_t i = 0; rc == NP_OK && i < job->files.list.count; i++) {
		const char *path = job->files.list.item[i];
		int64_t rank = options->rank >= 0 ? options->rank : mem_rank_in_name(path);

		if (!chosen || rank == NP_UNKNOWN || np_ranges_has(chosen, rank))
			slots[count++] = (struct mem_snapshot_slot){ .path = path, .rank = rank };
	}
	if (rc == NP_OK)
		mem_snapshots_run(slots, count, &job->how, (size_t)options->common.jobs);
	for (size_t i = 0; rc == NP_OK && i < count; i++)
		rc = take_snapshot(job, &slots[i], alone, err);
	mem_snapshots_release(slots, count);
	return rc;
}

static int say_nothing_found(const struct memory_job *job)
{
	if (job->files.list.count > 0)
		return np_report(NP_EXIT_FAILED, "none of %zu snapshots can be read",
				 job->files.list.count);
	return np_report(
		NP_EXIT_FAILED,
		"no memory was recorded below '%s': no snapshot (*.pickle, *.pkl), and the "
		"profiles have no memory tables; collect with profile_memory=True",
		job->options->common.dirs.item[0]);
}

static int gather(struct memory_job *job, struct np_err *err);

/* The run that is compared with: the same options but for where it is. */
static int read_base(struct memory_job *job, struct memory_job *base, struct np_err *err)
{
	struct memory_options options = *job->options;
	const char *path = options.base;
	int rc;

	options.common.dirs = (struct np_opt_list){ &path, 1, 1 };
	options.rank = -1;
	*base = (struct memory_job){ .options = &options, .how = job->how };
	base->how.with_count = 0;
	base->how.sweep = false;
	rc = gather(base, err);
	np_notes_move(&job->notes, &base->notes);
	if (rc == NP_OK && base->report.ranks.count == 0)
		rc = np_fail(err, NP_E_NOTFOUND, "no memory was recorded below '%s'", path);
	if (rc == NP_OK)
		rc = mem_comparison_new(&base->report.ranks, &job->report.ranks,
					&job->report.comparison, err);
	job->report.base = path;
	base->options = NULL;
	return rc;
}

static void release_job(struct memory_job *job)
{
	mem_comparison_free(job->report.comparison);
	mem_imbalance_free(job->report.imbalance);
	mem_ranks_release(&job->report.ranks);
	np_names_release(&job->files);
	np_vec_release(&job->runs);
	np_notes_release(&job->notes);
}

static int present(struct memory_job *job)
{
	struct memory_job base = { 0 };
	struct np_err err = NP_ERR_INIT;
	int rc = NP_OK;

	place_ranks(job);
	trip(job);
	qsort(job->report.ranks.item, job->report.ranks.count, sizeof(job->report.ranks.item[0]),
	      order_ranks);
	if (job->options->base)
		rc = read_base(job, &base, &err);
	if (rc == NP_OK)
		rc = mem_imbalance_new(&job->report.ranks, &job->report.imbalance, &err);
	if (rc == NP_OK)
		rc = print(job, &err);
	release_job(&base);
	if (rc < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	return judge(job, prepare_is_partial(&job->options->common, &job->notes) ? NP_EXIT_PARTIAL
										 : NP_EXIT_DONE);
}

/* Find and read everything. */
static int gather(struct memory_job *job, struct np_err *err)
{
	int rc = find_all(job, err);

	if (rc == NP_OK)
		rc = read_snapshots(job, err);
	return rc == NP_OK ? read_runs(job, err) : rc;
}

static int run(struct memory_job *job)
{
	const struct memory_options *options = job->options;
	struct np_err err = NP_ERR_INIT;
	int rc = gather(job, &err);

	if (options->rank >= 0 && (job->files.list.count != 1 || job->runs.count > 0))
		return np_cmd_usage(&np_cmd_memory,
				    "--rank is for a single snapshot; there are %zu",
				    job->files.list.count);
	if (rc == NP_E_USAGE)
		return np_cmd_usage(&np_cmd_memory, "%s", err.text);
	if (rc < 0)
		return np_report(rc == NP_E_NOTFOUND ? NP_EXIT_USAGE : NP_EXIT_FAILED, "%s",
				 err.text);
	prepare_say_notes(&options->common, &job->notes, NULL);
	return job->report.ranks.count > 0 ? present(job) : say_nothing_found(job);
}

/* "tp:2,pp:4": what is not named is 1. */
static int read_parallel(const char *text, struct np_parallel *ret, struct np_err *err)
{
	struct np_parallel parallel = {
		.known = true, .tp = 1, .pp = 1, .dp = 1, .cp = 1, .ep = 1
	};
	const struct {
		const char *name;
		int32_t *size;
	} sizes[] = { { "tp", &parallel.tp },
		      { "pp", &parallel.pp },
		      { "dp", &parallel.dp },
		      { "cp", &parallel.cp },
		      { "ep", &parallel.ep } };

	for (const char *at = text; *at;) {
		size_t length = strcspn(at, ",");
		int64_t size = 0;

		for (size_t i = 0; i < NP_COUNT(sizes); i++) {
			if (length > 3 && memcmp(at, sizes[i].name, 2) == 0 && at[2] == ':' &&
			    np_text_to_int(at + 3, length - 3, &size) && size > 0 &&
			    size <= UINT16_MAX)
				*sizes[i].size = (int32_t)size;
			else if (i + 1 == NP_COUNT(sizes) && size <= 0)
				return np_fail(err, NP_E_USAGE,
					       "--parallel takes sizes such as tp:2,pp:4,dp:2, not "
					       "'%s'",
					       text);
		}
		at += length + (at[length] == ',');
	}
	parallel.world = parallel.tp * parallel.pp * parallel.dp * parallel.cp;
	*ret = parallel;
	return NP_OK;
}

static int find_table(struct memory_job *job, struct np_err *err)
{
	const char *name = job->options->table;
	NP_CLEANUP(np_buf_release) struct np_buf names = NP_BUF_INIT;

	job->table = tables[0];
	for (size_t i = 0; name && i < NP_COUNT(tables); i++) {
		np_buf_printf(&names, "%s%s", i > 0 ? ", " : "", tables[i]->name);
		if (strcmp(tables[i]->name, name) != 0)
			continue;
		job->table = tables[i];
		return NP_OK;
	}
	return name ? np_fail(err, NP_E_USAGE, "there is no table '%s': %s", name, names.text)
		    : NP_OK;
}

/* --with and --fail-on, before anything is read. */
static int check_whatif(struct memory_job *job, struct np_err *err)
{
	const struct memory_options *options = job->options;
	int64_t bytes = NP_UNKNOWN;
	int rc = options->parallel ? read_parallel(options->parallel, &job->parallel, err) : NP_OK;

	if (rc == NP_OK)
		rc = find_table(job, err);
	if (rc == NP_OK && options->device_memory &&
	    !memory_read_size(options->device_memory, &bytes))
		rc = np_fail(err, NP_E_USAGE,
			     "--device-memory takes a size such as 64GB or 60GiB, not '%s'",
			     options->device_memory);
	job->how.device_bytes = job->report.device_bytes = bytes;
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

	job.how.by = (enum mem_by)options->by;
	job.how.step_frame = options->step_frame;
	job.how.with = options->with.item;
	job.how.with_count = options->with.count;
	job.how.sweep = options->sweep;
	job.report.moment = options->at;
	job.report.top = (size_t)options->top;
	job.report.notes = &job.notes;
	job.report.width = np_output_width(stdout);
	job.report.color = np_common_color(&options->common, stdout);
	if (check_whatif(&job, &err) < 0)
		status = np_cmd_usage(&np_cmd_memory, "%s", err.text);
	else if (mem_moment_parse(options->at, &job.how.moment))
		status = run(&job);
	else
		status = np_cmd_usage(&np_cmd_memory,
				      "--at %s: neither peak, end, step:N, event:N, time:T nor a "
				      "number",
				      options->at);
	release_job(&job);
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
