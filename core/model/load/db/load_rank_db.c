/* SPDX-License-Identifier: Apache-2.0 */
/* The rank database is read as a whole: the order of its tables, and what is odd about them. */
#include "load_rank_db.h"

#include "rank_db.h"

#include "npuprof/arena.h"

#include <strings.h>

static struct rank_db_doubt *doubt_of(struct rank_db *load, const struct vendor_table *table)
{
	for (size_t i = 0; i < load->doubt_count; i++) {
		if (load->doubts[i].table == table)
			return &load->doubts[i];
	}
	if (load->doubt_count == RANK_DB_DOUBTS)
		return NULL;
	load->doubts[load->doubt_count] = (struct rank_db_doubt){ .table = table };
	return &load->doubts[load->doubt_count++];
}

void rank_db_doubt(struct rank_db *load, const struct vendor_table *table)
{
	struct rank_db_doubt *doubt = doubt_of(load, table);

	if (doubt)
		doubt->values++;
}

/* Count what cannot be in the rows that were just read; with none, in the columns of all of them.
 */
void rank_db_look(struct rank_db *load, const struct vendor_pick *pick, const struct np_scan *scan,
		  const struct np_batch *batch)
{
	const struct vendor_table *table = pick->table;
	struct rank_db_doubt *doubt;

	if (!(table->times | table->sizes | table->small | table->ids))
		return;
	doubt = doubt_of(load, table);
	if (!doubt)
		return;
	doubt->rows += batch->rows;
	doubt->values +=
		batch->rows ? vendor_impossible(pick, scan, batch) : vendor_mistyped(pick, scan);
}

int rank_db_each(struct rank_db *load, const struct vendor_pick *pick, rank_db_take *take)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	int rc = vendor_scan_open(load->db, pick, &scan, load->err);

	/* Tables come and go with versions, levels and switches. */
	if (rc == NP_E_NOTFOUND)
		return NP_OK;
	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, load->err);
		if (rc == NP_OK)
			rank_db_look(load, pick, scan, &batch);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < batch.rows && rc == NP_OK; i++)
			rc = take(load, &batch, i);
	}
	return rc;
}

int rank_db_try(struct rank_db *load, const struct vendor_table *table, int rc)
{
	if (rc == NP_OK || rc == NP_E_NOMEM)
		return rc;
	np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id, np_db_path(load->db),
		    table->name, "%s", load->err->text);
	*load->err = NP_ERR_INIT;
	return NP_OK;
}

int rank_db_try_each(struct rank_db *load, const struct vendor_pick *pick, rank_db_take *take)
{
	return rank_db_try(load, pick->table, rank_db_each(load, pick, take));
}

int rank_db_open(struct rank_db *load, const struct vendor_pick *pick, struct rank_db_table *ret)
{
	int rc = vendor_scan_open(load->db, pick, &ret->scan, load->err);

	ret->pick = *pick;
	ret->done = rc < 0;
	return rc == NP_E_NOTFOUND ? NP_OK : rc;
}

int rank_db_fill(struct rank_db *load, struct rank_db_table *table)
{
	int rc;

	if (table->done || table->row < table->batch.rows)
		return NP_OK;
	rc = np_scan_next(table->scan, &table->batch, load->err);
	if (rc == NP_OK)
		rank_db_look(load, &table->pick, table->scan, &table->batch);
	table->row = 0;
	table->done = rc < 0 || table->batch.rows == 0;
	return rc;
}

bool rank_db_is_ahead(const struct rank_db *load, int64_t task)
{
	return load->capture.in_parts && !load->tasks.done && task > load->latest_key;
}

static void note_doubts(struct rank_db *load)
{
	const char *path = np_db_path(load->db);

	for (size_t i = 0; i < load->doubt_count; i++) {
		const struct rank_db_doubt *doubt = &load->doubts[i];

		if (doubt->values > 0)
			np_note_add(
				&load->rank->notes, np_note_of_loss(doubt->values, doubt->rows),
				load->rank->id, path, doubt->table->name,
				"%zu values of its %zu rows are impossible: they count as unknown",
				doubt->values, doubt->rows);
	}
	if (load->nameless_count > 0)
		np_note_add(&load->rank->notes,
			    np_note_of_loss(load->nameless_count, load->texts.count),
			    load->rank->id, path, "STRING_IDS",
			    "%zu names that other tables use are not in it", load->nameless_count);
}

static void note_oddities(struct rank_db *load)
{
	struct np_notes *notes = &load->rank->notes;
	struct np_err problem = NP_ERR_INIT;
	const char *path = np_db_path(load->db);

	capture_note_oddities(&load->capture);
	note_doubts(load);
	if (np_db_answered(load->db, &problem) < 0)
		np_note_add(notes, NP_NOTE_SKIPPED, load->rank->id, path, "database", "%s",
			    problem.text);
	if (load->kernels_without_task)
		np_note_add(notes,
			    np_note_of_loss(load->kernels_without_task,
					    load->kernels_taken + load->kernels_without_task),
			    load->rank->id, path, "COMPUTE_TASK_INFO",
			    "%zu kernels have no row in TASK and so no times",
			    load->kernels_without_task);
	if (load->rank->ops.count == 0 && np_db_has_rows(load->db, vendor_communication_task.name))
		np_note_add(notes, NP_NOTE_WARNING, load->rank->id, path, "COMMUNICATION_OP",
			    "it has no operator, though COMMUNICATION_TASK_INFO has tasks of some:"
			    " communication is not in the step times of this database");
	if (np_db_had_sidecar(load->db))
		np_note_add(notes, NP_NOTE_WARNING, load->rank->id, path, "database",
			    "rows not yet merged by their writer (-wal or -journal file) were"
			    " read through a temporary copy");
}

static int start(struct rank_db *load)
{
	load->arena = np_arena_new();
	load->text_index = np_idmap_new();
	load->interned = np_idmap_new();
	load->classes = np_idmap_new();
	load->types = np_idmap_new();
	load->task_index = np_idmap_new();
	load->op_index = np_idmap_new();
	load->kernel_index = np_idmap_new();
	load->call_index = np_idmap_new();
	if (!load->arena || !load->text_index || !load->interned || !load->classes ||
	    !load->types || !load->task_index || !load->op_index || !load->kernel_index ||
	    !load->call_index)
		return np_fail_nomem(load->err, "a rank");
	load->latest_key = INT64_MIN;
	load->last_call = -NP_NS_MAX;
	load->latest = -NP_NS_MAX;
	load->last_connection = INT64_MIN;
	load->seen = load->capture.in_parts ? np_idset_new() : NULL;
	if (load->capture.in_parts && !load->seen)
		return np_fail_nomem(load->err, "a rank");
	if (expert_kernels_begin(&load->experts, load->strings, load->err) < 0 ||
	    rank_db_begin_sums(load) < 0)
		return NP_E_NOMEM;
	return capture_begin(&load->capture);
}

static void finish(struct rank_db *load)
{
	rank_db_end_sub_task(load);
	np_scan_close(load->calls.scan);
	np_scan_close(load->tasks.scan);
	np_scan_close(load->kernels.scan);
	np_vec_release(&load->waiting);
	np_vec_release(&load->op_ids);
	np_idset_free(load->seen);
	np_idset_free(load->nameless);
	capture_end(&load->capture);
	expert_kernels_end(&load->experts);
	rank_db_end_sums(load);
	np_vec_release(&load->texts);
	np_idmap_free(load->text_index);
	np_idmap_free(load->interned);
	np_idmap_free(load->classes);
	np_idmap_free(load->types);
	np_idmap_free(load->loaders);
	np_idset_free(load->serving);
	np_idmap_free(load->ranges);
	np_idset_free(load->step_marks);
	np_idmap_free(load->task_index);
	np_idmap_free(load->op_index);
	np_idmap_free(load->kernel_index);
	np_idmap_free(load->call_index);
	np_arena_free(load->arena);
}

static int check_tables(struct rank_db *load)
{
	static const struct vendor_table *const enough[] = { &vendor_task, &vendor_communication_op,
							     &vendor_overlap };

	for (size_t i = 0; i < NP_COUNT(enough); i++) {
		if (np_db_has_table(load->db, enough[i]->name))
			return NP_OK;
	}
	return np_fail(load->err, NP_E_NOTFOUND,
		       "'%s' holds no profiler tables (TASK is not among its %zu tables)",
		       np_db_path(load->db), np_db_table_count(load->db));
}

static void look_for_contents(struct rank_db *load)
{
	static const struct {
		const struct vendor_table *table;
		enum np_contents bit;
	} tables[] = {
		{ &vendor_memory_record, NP_HAS_MEMORY },
		{ &vendor_npu_mem, NP_HAS_MEMORY },
		{ &vendor_npu_op_mem, NP_HAS_MEMORY },
		{ &vendor_op_memory, NP_HAS_MEMORY },
		{ &vendor_npu_module_mem, NP_HAS_MEMORY },
		{ &vendor_aicore_freq, NP_HAS_FREQUENCY },
		{ &vendor_cann_api, NP_HAS_HOST_CALLS },
		{ &vendor_pytorch_api, NP_HAS_FRAMEWORK_CALLS },
		{ &vendor_task_pmu, NP_HAS_COUNTERS },
		{ &vendor_mstx_events, NP_HAS_MARKS },
	};

	for (size_t i = 0; i < NP_COUNT(tables); i++) {
		if (np_db_has_rows(load->db, tables[i].table->name))
			load->rank->contents |= tables[i].bit;
	}
	for (size_t i = 0; i < VENDOR_COMPARED; i++) {
		if (np_db_has_rows(load->db, vendor_compared[i]->name))
			load->rank->contents |= 1U << (NP_CONTENTS_TABLES + i);
	}
}

/* So many tasks are read before those before them are measured. */
#define PART_ROWS 4096

/*
 * Measure what started before all of the last part: a single row may be far
 * ahead, but hardly one so far behind.
 */
static int measure_part(struct rank_db *load)
{
	int rc = capture_measure_until(&load->capture, load->earliest);

	if (rc == NP_OK)
		rc = rank_db_reindex_tasks(load);
	if (rc == NP_OK)
		rc = rank_db_measure_sub_task_until(load, load->capture.part.until);
	return rc;
}

static int read_device(struct rank_db *load)
{
	bool in_parts = load->capture.in_parts;
	int rc = rank_db_open_tasks(load);

	if (rc == NP_OK)
		rc = rank_db_begin_sub_task(load);
	while (rc == NP_OK && !load->tasks.done && !load->capture.unordered) {
		rc = rank_db_read_tasks(load, in_parts ? PART_ROWS : SIZE_MAX);
		if (rc == NP_OK)
			rc = rank_db_read_kernels(load);
		if (rc == NP_OK)
			rc = rank_db_read_sub_task(load);
		if (rc == NP_OK && !load->tasks.done && !load->capture.unordered)
			rc = measure_part(load);
	}
	if (rc == NP_OK && load->overlap_alone)
		rc = rank_db_read_overlap_alone(load);
	if (rc == NP_OK)
		rc = capture_close_steps(&load->capture);
	if (rc == NP_OK && load->capture.unordered && in_parts)
		rc = np_fail(load->err, NP_E_RANGE, "'%s': tables are not in the order of time",
			     np_db_path(load->db));
	return rc;
}

static int read_tables(struct rank_db *load)
{
	int rc = check_tables(load);

	if (rc == NP_OK)
		rc = start(load);
	if (rc == NP_OK)
		rc = rank_db_read_strings(load);
	if (rc == NP_OK)
		rc = rank_db_read_metadata(load);
	if (rc == NP_OK)
		rc = rank_db_read_steps(load);
	if (rc == NP_OK)
		rc = rank_db_read_ops(load);
	if (rc == NP_OK)
		rc = read_device(load);
	return rc;
}

static const char no_kernel[] = "tells of no kernel, though TASK has kernels";

/* Is there nothing that says which tasks were kernels? */
static bool knows_no_kernel(const struct rank_db *load)
{
	return load->ran_kernels && !load->has_kernels && !load->computing_given;
}

/* Whether kernels are known is known only at the end, when in parts much is measured already. */
static int read_overlap(struct rank_db *load)
{
	bool give = knows_no_kernel(load);

	if (give && load->capture.in_parts && np_db_has_rows(load->db, vendor_overlap.name))
		return np_fail(load->err, NP_E_RANGE,
			       "'%s': computing is known by OVERLAP_ANALYSIS",
			       np_db_path(load->db));
	return rank_db_read_overlap(load, give);
}

/* What step times do not need. */
static int read_beside(struct rank_db *load)
{
	int rc = rank_db_read_memory(load);

	if (rc == NP_OK)
		rc = rank_db_read_samples(load);
	return rc < 0 ? rc : rank_db_list_unknown(load);
}

static int read_everything(struct rank_db *load)
{
	int rc = read_tables(load);

	if (rc == NP_OK)
		rc = read_overlap(load);
	/* Empty tables are no better than missing ones. */
	if (rc == NP_OK && load->capture.task_count == 0 && load->rank->ops.count == 0)
		rc = np_fail(load->err, NP_E_NOTFOUND, "'%s' holds no tasks", np_db_path(load->db));
	if (rc == NP_OK && knows_no_kernel(load) && load->rank->ops.count == 0)
		rc = np_fail(load->err, NP_E_NOTFOUND, "'%s': COMPUTE_TASK_INFO %s",
			     np_db_path(load->db), no_kernel);
	if (rc == NP_OK && !load->capture.times_only)
		rc = read_beside(load);
	if (rc == NP_OK) {
		rank_db_place_ops(load);
		rc = capture_find_steps(&load->capture);
	}
	if (rc == NP_OK)
		rc = rank_db_read_engines(load);
	if (rc == NP_OK)
		rc = rank_db_measure_sub_task(load);
	if (rc == NP_OK)
		rc = capture_measure(&load->capture);
	if (rc == NP_OK && load->capture.unordered && load->capture.in_parts)
		rc = np_fail(load->err, NP_E_RANGE, "'%s': tables are not in the order of time",
			     np_db_path(load->db));
	if (rc == NP_OK)
		rc = expert_kernels_reduce(&load->experts, load->rank, load->strings, load->err);
	if (rc == NP_OK && load->gather)
		rc = rank_db_sum_kernels(load);
	return rc;
}

/* Computing is not known, and neither is what is left of a step or hidden by it: another file may
 * know. */
static void forget_computing(struct rank_db *load)
{
	struct np_rank *rank = load->rank;

	np_vec_release(&rank->times);
	np_activity_release(&rank->activity);
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		rank->comm_steps.item[i].exposed = NP_UNKNOWN;
		rank->comm_steps.item[i].overlapped = NP_UNKNOWN;
	}
	rank->step_source = NP_FROM_NOTHING;
	rank->exposed_source = NP_FROM_NOTHING;
	np_note_add(&rank->notes, NP_NOTE_SKIPPED, rank->id, np_db_path(load->db),
		    "COMPUTE_TASK_INFO",
		    "%s: step times are not taken from this database; export the profile again",
		    no_kernel);
}

/* A share that is less than those before. */
static void see_share(struct np_seen *seen, size_t there, size_t named, const char *by)
{
	double share = named > 0 ? (double)there / (double)named : 1;

	if (share >= seen->linked)
		return;
	seen->linked = share;
	seen->linked_by = by;
}

/* Calls of this name launch a kernel or an operator each. */
static size_t count_launches(const struct rank_db *load)
{
	const struct np_rank *rank = load->rank;
	size_t count = 0;

	for (size_t i = 0; i < rank->calls.count; i++) {
		const struct np_statistic *call = &rank->calls.item[i];
		const char *level = np_strtab_text(load->strings, call->kind);

		if (strcmp(level, vendor_api_name(VENDOR_API_NODE)) == 0 &&
		    strcasecmp(np_strtab_text(load->strings, call->name), "launch") == 0)
			count += (size_t)call->count;
	}
	return count;
}

/* Rows that other tables of the database name, and how many of them there are. */
static int see(struct rank_db *load)
{
	struct np_rank *rank = load->rank;
	size_t kernels = load->kernels_taken;
	size_t sub_tasks = load->sub_task.taken;
	size_t launches = count_launches(load);

	rank->seen = np_seen_new();
	if (!rank->seen)
		return np_fail_nomem(load->err, "a rank");
	rank->seen->kernels = load->kernel_time;
	rank->seen->serving = load->serving_time;
	/* Tasks with impossible times are there, and noted. */
	if (load->kernels_without_task > load->capture.impossible_times)
		see_share(rank->seen, kernels,
			  kernels + load->kernels_without_task - load->capture.impossible_times,
			  "COMPUTE_TASK_INFO");
	/* Where no operator was recorded nobody knows how many calls launched one. */
	rank->seen->launches = rank->ops.count > 0 || kernels * 2 < launches ? launches : 0;
	if (kernels + rank->ops.count < launches)
		rank->seen->launched = (double)(kernels + rank->ops.count) / (double)launches;
	/* What the exporter found cannot be more than all kernels together took. */
	if (kernels > 0 &&
	    (double)load->kernel_time < NP_COVERAGE_WHOLE * (double)load->overlap_computing)
		see_share(rank->seen, (size_t)load->kernel_time, (size_t)load->overlap_computing,
			  "OVERLAP_ANALYSIS");
	/* Without any operator there is no communication to look at, which is noted. */
	if (rank->ops.count > 0)
		see_share(rank->seen, sub_tasks, sub_tasks + load->sub_task.orphans,
			  "COMMUNICATION_TASK_INFO");
	return NP_OK;
}

int np_load_rank_db(struct np_rank *rank, const char *path, enum np_rank_db_way way,
		    const struct np_steps_choice *steps, np_kernel_framework_op *framework_op,
		    struct np_strtab *strings, struct np_err *err)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct np_err own = NP_ERR_INIT;
	struct rank_db load = { .rank = rank,
				.strings = strings,
				.err = err ? err : &own,
				.framework_op = framework_op };
	bool in_parts = way != NP_RANK_DB_AT_ONCE;
	int rc = np_db_open(path, &db, load.err);

	if (rc < 0)
		return rc;
	load.db = db;
	load.overlap_alone =
		!np_db_has_rows(db, vendor_task.name) && np_db_has_rows(db, vendor_overlap.name);
	/* Iterations are found in all of the sequence, and the vendor's one step needs all tasks.
	 */
	in_parts = in_parts && !load.overlap_alone && !rank_db_has_engines(db) &&
		   (steps->want == NP_WANT_MARKS || steps->want == NP_WANT_NONE ||
		    (steps->want == NP_WANT_ANY && np_db_has_rows(db, vendor_step_time.name)));
	load.capture = (struct capture){ .rank = rank,
					 .strings = strings,
					 .path = path,
					 .err = load.err,
					 .in_parts = in_parts,
					 .times_only = in_parts && way == NP_RANK_DB_TIMES,
					 .choice = *steps };
	rc = read_everything(&load);
	if (rc == NP_OK)
		rc = see(&load);
	if (rc == NP_OK) {
		rank->device_count = load.capture.devices.count;
		rank->device = rank->device_count ? load.capture.devices.item[0] : -1;
		rank->step_source = NP_FROM_RANK_DB;
		rank->comm_source = load.ops_marked   ? NP_FROM_MARKS
				    : rank->ops.count ? NP_FROM_RANK_DB
						      : NP_FROM_NOTHING;
		rank->exposed_source = rank->comm_source;
		if (knows_no_kernel(&load))
			forget_computing(&load);
		look_for_contents(&load);
		note_oddities(&load);
	}
	finish(&load);
	return rc;
}

/* --- operators alone ------------------------------------------------------------------------- */

static int take_device(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	load->rank->device_count++;
	load->rank->device = np_device_of(batch->column[MAP_DEVICE].integer[row]);
	return NP_OK;
}

static int read_operators(struct rank_db *load)
{
	static const struct vendor_pick devices = { &vendor_rank_device_map, 0, 0 };
	int rc = NP_OK;

	if (!np_db_has_rows(load->db, vendor_communication_op.name))
		return np_fail(load->err, NP_E_NOTFOUND, "no operators");
	load->rank->device_count = 0;
	rc = rank_db_each(load, &devices, take_device);
	if (rc == NP_OK && (load->rank->device_count != 1 || load->rank->device < 0))
		rc = np_fail(load->err, NP_E_NOTFOUND, "no single device");
	if (rc == NP_OK)
		rc = start(load);
	if (rc == NP_OK)
		rc = rank_db_read_strings(load);
	if (rc == NP_OK)
		rc = rank_db_read_metadata(load);
	if (rc == NP_OK)
		rc = rank_db_read_ops(load);
	if (rc == NP_OK && load->rank->ops.count == 0)
		rc = np_fail(load->err, NP_E_NOTFOUND, "no operators");
	return rc;
}

int np_load_rank_db_operators(struct np_rank *rank, const char *path, struct np_strtab *strings,
			      struct np_err *err)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct np_err own = NP_ERR_INIT;
	struct rank_db load = { .rank = rank, .strings = strings, .err = err ? err : &own };
	int rc = np_db_open(path, &db, load.err);

	if (rc < 0)
		return rc;
	load.db = db;
	load.capture = (struct capture){ .rank = rank,
					 .strings = strings,
					 .path = path,
					 .err = load.err,
					 .choice = { .want = NP_WANT_NONE } };
	rc = read_operators(&load);
	if (rc == NP_OK) {
		rank_db_place_ops(&load);
		rank->comm_source = NP_FROM_RANK_DB;
		look_for_contents(&load);
		note_oddities(&load);
	}
	finish(&load);
	return rc;
}
