/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_details.csv, and op_summary of msprof, which has the same rows under
 * other names: kernels and operators with start, duration and the step they
 * belong to. Nothing here says which call launched them. task_time of msprof has
 * all tasks, and of operators only these.
 */
#include "text_files.h"

#include "core/model/load/capture/capture.h"
#include "core/model/load/capture/expert_kernels.h"
#include "core/model/vendor/text_columns.h"
#include "core/model/vendor/values.h"

#include "npuprof/csv.h"
#include "npuprof/text.h"

/* --- what the table holds --------------------------------------------------------------------- */

/* One device in one step, by the column of the table. */
struct table_cell {
	np_str step;
	int64_t device;
	struct np_spans *computing;
	struct np_spans *communication;
};

/* Sums of the whole table while it is read, to compare it with other files. */
struct table_sums {
	struct np_seen *seen;
	NP_VEC(struct table_cell) cells;
	size_t last; /* the cell of the row before */
};

static int table_sums_begin(struct table_sums *sums, struct np_err *err)
{
	sums->seen = np_seen_new();
	if (!sums->seen)
		return np_fail_nomem(err, "a table of kernels");
	sums->seen->kernels = 0;
	sums->seen->ops = 0;
	sums->seen->kernel_count = 0;
	return NP_OK;
}

static void table_sums_end(struct table_sums *sums)
{
	for (size_t i = 0; i < sums->cells.count; i++) {
		np_spans_free(sums->cells.item[i].computing);
		np_spans_free(sums->cells.item[i].communication);
	}
	np_vec_release(&sums->cells);
	np_seen_free(sums->seen);
}

/* The cell of a step, added if it is new; NULL when out of memory. */
static struct table_cell *cell_of(struct table_sums *sums, np_str step, int64_t device,
				  struct np_err *err)
{
	struct table_cell *cell;

	for (size_t i = 0; i < sums->cells.count; i++) {
		size_t at = (sums->last + i) % sums->cells.count;

		cell = &sums->cells.item[at];
		if (cell->step == step && cell->device == device) {
			sums->last = at;
			return cell;
		}
	}
	cell = np_vec_add(&sums->cells, err);
	if (!cell)
		return NULL;
	sums->last = sums->cells.count - 1;
	cell->step = step;
	cell->device = device;
	cell->computing = np_spans_new();
	cell->communication = np_spans_new();
	if (cell->computing && cell->communication)
		return cell;
	(void)np_fail_nomem(err, "a table of kernels");
	return NULL;
}

/* A row of a table, as far as its sums want it. */
struct table_row {
	struct np_slice core;
	struct np_slice name;
	np_ns start;
	np_ns end;
	int64_t device;
	np_str step;  /* NP_STR_NONE where the table has no steps */
	bool outside; /* it is of no step, though others are */
};

static int table_sums_add(struct table_sums *sums, const struct table_row *row, struct np_err *err)
{
	bool op = vendor_is_operator(row->core, row->name);
	bool serves = vendor_is_communication_kernel(row->name);
	struct table_cell *cell;

	if (!vendor_time_ok(row->start, row->end) || vendor_is_other_task(row->core, row->name))
		return NP_OK;
	sums->seen->kernel_count += !op || serves;
	/* The vendor does not count those that serve communication as computing. */
	if (serves) {
		sums->seen->serving += row->end - row->start;
		return NP_OK;
	}
	*(op ? &sums->seen->ops : &sums->seen->kernels) += row->end - row->start;
	if (!op && np_slice_is(row->core, "AI_CPU"))
		sums->seen->may_be_kernels += row->end - row->start;
	if (row->outside)
		return NP_OK;
	cell = cell_of(sums, row->step, row->device, err);
	if (!cell)
		return NP_E_NOMEM;
	return np_spans_add(op ? cell->communication : cell->computing, row->start, row->end, err);
}

/* The cell of the step before on the same device, or NULL. */
static const struct table_cell *cell_before(const struct table_sums *sums, size_t index)
{
	for (size_t i = index; i-- > 0;) {
		if (sums->cells.item[i].device == sums->cells.item[index].device)
			return &sums->cells.item[i];
	}
	return NULL;
}

/*
 * All rows were there: the sums of all steps. Where the host ran ahead, operators of a step run
 * beside those of the next one: the vendor's step times have such time once.
 */
static int table_sums_take(struct table_sums *sums, struct np_seen **ret, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < sums->cells.count && rc == NP_OK; i++) {
		const struct table_cell *cell = &sums->cells.item[i];
		const struct table_cell *before = cell_before(sums, i);
		np_ns computing = np_spans_total(cell->computing);
		np_ns communication = np_spans_total(cell->communication);

		if (before) {
			computing -= np_spans_overlap(before->computing, cell->computing);
			communication -=
				np_spans_overlap(before->communication, cell->communication);
		}
		rc = np_seen_add(sums->seen, cell->step, computing, communication, err);
	}
	if (rc == NP_OK)
		*ret = NP_STEAL(sums->seen);
	return rc;
}

/* --- kernels and operators -------------------------------------------------------------------- */

struct kernel_table {
	struct capture capture;
	struct np_rank *rank;
	struct table_sums sums;
	/* Operators wait until the windows of the steps are known. */
	NP_VEC(struct np_comm_op) ops;
	size_t rows;
	size_t bad_times;
	bool has_steps;
};

/* The index of the row's step, added if it is new; NP_NO_STEP for a row of no step. */
static int step_of(struct kernel_table *load, struct np_slice cell, uint32_t *ret)
{
	struct np_rank *rank = load->rank;
	np_str id;
	int rc;

	*ret = 0;
	if (!load->has_steps)
		return NP_OK;
	*ret = NP_NO_STEP;
	if (np_csv_missing(cell))
		return NP_OK;
	rc = np_strtab_add(load->capture.strings, cell.bytes, cell.length, &id, load->capture.err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < rank->steps.count; i++) {
		if (rank->steps.item[i].id == id) {
			*ret = (uint32_t)i;
			return NP_OK;
		}
	}
	*ret = (uint32_t)rank->steps.count;
	return capture_add_step(&load->capture, id, NP_UNKNOWN, NP_UNKNOWN);
}

static int keep_op(struct kernel_table *load, struct np_slice name, np_ns start, np_ns end,
		   int64_t device)
{
	struct np_comm_op *op = np_vec_add(&load->ops, load->capture.err);

	if (!op)
		return NP_E_NOMEM;
	op->start = start;
	op->end = end;
	op->device = np_device_of(device);
	return np_strtab_add(load->capture.strings, name.bytes, name.length, &op->name,
			     load->capture.err);
}

static int keep_kernel(struct kernel_table *load, struct np_slice type, struct capture_task *task)
{
	task->computes = true;
	if (!vendor_is_type(type.bytes, type.length))
		return NP_OK;
	return np_strtab_add(load->capture.strings, type.bytes, type.length, &task->type,
			     load->capture.err);
}

static int64_t number_of(struct np_slice cell)
{
	int64_t number = NP_UNKNOWN;

	(void)np_text_to_int(cell.bytes, cell.length, &number);
	return number;
}

static int sum_row(struct kernel_table *load, const struct np_slice *cell,
		   const struct capture_row *task, uint32_t step)
{
	const struct table_row row = { .core = cell[KERNELS_CORE],
				       .name = cell[KERNELS_NAME],
				       .start = task->start,
				       .end = task->end,
				       .device = task->device,
				       .step = step == NP_NO_STEP ? NP_STR_NONE
								  : load->rank->steps.item[step].id,
				       .outside = step == NP_NO_STEP };

	return table_sums_add(&load->sums, &row, load->capture.err);
}

static int take_row(struct kernel_table *load, const struct np_slice *cell)
{
	struct capture_row task = { .device = number_of(cell[KERNELS_DEVICE]),
				    .connection = NP_UNKNOWN,
				    .stream = number_of(cell[KERNELS_STREAM]),
				    .id = number_of(cell[KERNELS_TASK]),
				    .class = TASK_OTHER };
	bool other = vendor_is_other_task(cell[KERNELS_CORE], cell[KERNELS_NAME]);
	np_ns duration;
	uint32_t index;
	uint32_t step = 0;
	int rc;

	load->rows++;
	if (!vendor_time_of(cell[KERNELS_START], &task.start) ||
	    !vendor_time_of(cell[KERNELS_DURATION], &duration) || task.start < 0 || duration < 0 ||
	    __builtin_add_overflow(task.start, duration, &task.end)) {
		load->bad_times++;
		return NP_OK;
	}
	rc = step_of(load, cell[KERNELS_STEP], &step);
	if (rc == NP_OK)
		rc = sum_row(load, cell, &task, step);
	if (rc < 0 || step == NP_NO_STEP)
		return rc;
	if (other)
		task.class = vendor_task_class(cell[KERNELS_CORE].bytes, cell[KERNELS_CORE].length);
	rc = capture_add_task(&load->capture, &task, &index);
	if (rc < 0 || index == NP_IDMAP_NONE || other)
		return rc;
	capture_widen_step(&load->capture, step, task.start, task.end);
	if (vendor_is_communication_kernel(cell[KERNELS_NAME]))
		return NP_OK;
	if (vendor_is_operator(cell[KERNELS_CORE], cell[KERNELS_NAME]))
		return keep_op(load, cell[KERNELS_NAME], task.start, task.end, task.device);
	rc = keep_kernel(load, cell[KERNELS_TYPE], &load->capture.tasks.item[index]);
	if (rc < 0 || load->has_steps || !np_steps_may_find(&load->capture.choice))
		return rc;
	return capture_add_shape(&load->capture, task.start, load->capture.tasks.item[index].type,
				 cell[KERNELS_IN_SHAPES].bytes, cell[KERNELS_IN_SHAPES].length);
}

static int add_op(struct kernel_table *load, const struct np_comm_op *from)
{
	const char *name = np_strtab_text(load->capture.strings, from->name);
	struct np_comm_op *op;
	uint32_t group = 0;
	int rc = np_rank_group_of_op(load->rank, name, &group, load->capture.err);

	if (rc < 0)
		return rc;
	op = capture_add_op(&load->capture, from->start, from->end, NP_UNKNOWN);
	if (!op)
		return NP_E_NOMEM;
	op->name = from->name;
	op->group = group;
	op->p2p = np_op_is_p2p(name);
	op->device = capture_op_device(&load->capture, from->device, NP_UNKNOWN);
	return np_strtab_add(load->capture.strings, name, vendor_operator_type(name, strlen(name)),
			     &op->type, load->capture.err);
}

static int derive(struct kernel_table *load)
{
	int rc = capture_close_steps(&load->capture);

	for (size_t i = 0; i < load->ops.count && rc == NP_OK; i++)
		rc = add_op(load, &load->ops.item[i]);
	if (rc == NP_OK)
		rc = capture_find_steps(&load->capture);
	return rc < 0 ? rc : capture_measure(&load->capture);
}

/* A spreadsheet writes 1.69512E+15 for a time: its digits are gone for good. */
static int check_times(struct kernel_table *load)
{
	if (load->bad_times == 0)
		return NP_OK;
	if (load->bad_times == load->rows)
		return np_fail(load->capture.err, NP_E_FORMAT,
			       "'%s': no row has a usable time (was it saved by a spreadsheet?)",
			       load->capture.path);
	np_note_add(&load->rank->notes, np_note_of_loss(load->bad_times, load->rows),
		    load->rank->id, load->capture.path, "kernels",
		    "%zu of %zu rows have no usable time and were left out", load->bad_times,
		    load->rows);
	return NP_OK;
}

static int read_rows(struct kernel_table *load)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row;
	int rc = np_csv_open(load->capture.path, vendor_kernels, KERNELS_LOADED, &csv,
			     load->capture.err);

	if (rc < 0)
		return rc;
	load->has_steps =
		np_csv_has(csv, KERNELS_STEP) && np_steps_read_marks(&load->capture.choice);
	if (!load->has_steps)
		rc = capture_add_step(&load->capture, NP_STR_NONE, NP_UNKNOWN, NP_UNKNOWN);
	while (rc == NP_OK) {
		rc = np_csv_next(csv, &row, load->capture.err);
		if (rc < 0 || !row)
			break;
		rc = take_row(load, row->cell);
	}
	if (rc == NP_OK && load->bad_times == 0 && np_csv_tally(csv)->short_rows > 0)
		np_note_add(&load->rank->notes,
			    np_note_of_loss(np_csv_tally(csv)->short_rows, load->rows),
			    load->rank->id, load->capture.path, "kernels",
			    "%zu values of its %zu rows are impossible: they count as unknown",
			    (size_t)np_csv_tally(csv)->short_rows, load->rows);
	if (rc == NP_OK && load->rows == 0)
		rc = np_fail(load->capture.err, NP_E_NOTFOUND, "'%s' has no rows: it was cut short",
			     load->capture.path);
	return rc;
}

int np_load_kernels(struct np_rank *rank, const char *path, const struct np_steps_choice *steps,
		    struct np_strtab *strings, struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	struct kernel_table load = {
		.rank = rank,
		.capture = { .rank = rank,
			     .strings = strings,
			     .path = path,
			     .err = err ? err : &own,
			     .choice = *steps },
	};
	int rc = capture_begin(&load.capture);

	if (rc == NP_OK)
		rc = table_sums_begin(&load.sums, load.capture.err);
	if (rc == NP_OK)
		rc = read_rows(&load);
	if (rc == NP_OK)
		rc = check_times(&load);
	if (rc == NP_OK)
		rc = derive(&load);
	if (rc == NP_OK)
		rc = table_sums_take(&load.sums, &rank->seen, load.capture.err);
	if (rc == NP_OK) {
		rank->device_count = load.capture.devices.count;
		rank->device = rank->device_count ? load.capture.devices.item[0] : -1;
		rank->step_source = NP_FROM_KERNELS;
		rank->comm_source = rank->ops.count ? NP_FROM_KERNELS : NP_FROM_NOTHING;
		rank->exposed_source = rank->comm_source;
		capture_note_oddities(&load.capture);
	}
	capture_end(&load.capture);
	table_sums_end(&load.sums);
	np_vec_release(&load.ops);
	return rc;
}

/* --- types alone ----------------------------------------------------------------------------- */

static int take_type(struct np_slice name, struct np_slice type, struct np_strtab *strings,
		     struct np_idmap *types, struct np_err *err)
{
	np_str name_id;
	np_str type_id;
	int rc = np_strtab_add(strings, name.bytes, name.length, &name_id, err);

	if (rc < 0 || np_idmap_get(types, name_id) != NP_IDMAP_NONE ||
	    !vendor_is_type(type.bytes, type.length))
		return rc;
	rc = np_strtab_add(strings, type.bytes, type.length, &type_id, err);
	return rc < 0 ? rc : np_idmap_set(types, name_id, type_id, err);
}

enum {
	TYPES_NAME,
	TYPES_TYPE,
	TYPES_STEP,
	TYPES_DEVICE,
	TYPES_CORE,
	TYPES_START,
	TYPES_DURATION,
	TYPES_COLUMNS,
};

/* Beside the types: what the table holds, for it may be partial though nothing else is read. */
static int sum_typed(struct table_sums *sums, const struct np_csv *csv, const struct np_slice *cell,
		     struct np_strtab *strings, struct np_err *err)
{
	bool steps = np_csv_has(csv, TYPES_STEP);
	struct table_row row = { .core = cell[TYPES_CORE],
				 .name = cell[TYPES_NAME],
				 .device = number_of(cell[TYPES_DEVICE]),
				 .step = NP_STR_NONE,
				 .outside = steps && np_csv_missing(cell[TYPES_STEP]) };
	np_ns duration;
	int rc = NP_OK;

	if (!vendor_time_of(cell[TYPES_START], &row.start) ||
	    !vendor_time_of(cell[TYPES_DURATION], &duration) || duration < 0 ||
	    __builtin_add_overflow(row.start, duration, &row.end))
		return NP_OK;
	if (steps && !row.outside)
		rc = np_strtab_add(strings, cell[TYPES_STEP].bytes, cell[TYPES_STEP].length,
				   &row.step, err);
	return rc < 0 ? rc : table_sums_add(sums, &row, err);
}

int np_load_kernel_types(const char *path, struct np_strtab *strings, struct np_idmap *types,
			 struct np_seen **ret_seen, struct np_err *err)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	struct table_sums sums = { 0 };
	const struct np_csv_row *row;
	struct np_csv_column wanted[TYPES_COLUMNS] = {
		[TYPES_NAME] = vendor_kernels[KERNELS_NAME],
		[TYPES_TYPE] = vendor_kernels[KERNELS_TYPE],
		[TYPES_STEP] = vendor_kernels[KERNELS_STEP],
		[TYPES_DEVICE] = vendor_kernels[KERNELS_DEVICE],
		[TYPES_CORE] = vendor_kernels[KERNELS_CORE],
		[TYPES_START] = vendor_kernels[KERNELS_START],
		[TYPES_DURATION] = vendor_kernels[KERNELS_DURATION],
	};
	int rc;

	/* Types are found without times. */
	wanted[TYPES_START].need = NP_OPTIONAL;
	wanted[TYPES_DURATION].need = NP_OPTIONAL;
	rc = np_csv_open(path, wanted, TYPES_COLUMNS, &csv, err);
	if (rc == NP_OK)
		rc = table_sums_begin(&sums, err);
	while (rc == NP_OK) {
		rc = np_csv_next(csv, &row, err);
		if (rc < 0 || !row)
			break;
		if (np_csv_has(csv, TYPES_TYPE))
			rc = take_type(row->cell[TYPES_NAME], row->cell[TYPES_TYPE], strings, types,
				       err);
		if (rc == NP_OK)
			rc = sum_typed(&sums, csv, row->cell, strings, err);
	}
	if (rc == NP_OK && np_csv_has(csv, TYPES_START) && np_csv_has(csv, TYPES_DURATION))
		rc = table_sums_take(&sums, ret_seen, err);
	table_sums_end(&sums);
	return rc;
}

static int take_shape(struct capture *capture, const struct np_slice *cell, struct np_err *err)
{
	struct np_slice type = cell[0];
	struct np_slice shapes = cell[1];
	np_str id = NP_STR_NONE;
	np_ns start;
	int rc = NP_OK;

	if (!vendor_time_of(cell[2], &start))
		return NP_OK;
	if (vendor_is_type(type.bytes, type.length))
		rc = np_strtab_add(capture->strings, type.bytes, type.length, &id, err);
	return rc < 0 ? rc : capture_add_shape(capture, start, id, shapes.bytes, shapes.length);
}

int np_load_kernel_shapes(const char *path, struct capture *capture, struct np_err *err)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row;
	const struct np_csv_column wanted[] = { vendor_kernels[KERNELS_TYPE],
						vendor_kernels[KERNELS_IN_SHAPES],
						vendor_kernels[KERNELS_START] };
	int rc = np_csv_open(path, wanted, NP_COUNT(wanted), &csv, err);

	while (rc == NP_OK && np_csv_has(csv, 1)) {
		rc = np_csv_next(csv, &row, err);
		if (rc < 0 || !row)
			break;
		rc = take_shape(capture, row->cell, err);
	}
	return rc;
}

/* --- experts ---------------------------------------------------------------------------------- */

/*
 * Traces do not say the shapes of kernels; the table of kernels does. It is read
 * for ranks that exchange tokens only.
 */
enum {
	EXPERT_TYPE,
	EXPERT_SHAPES,
	EXPERT_START,
	EXPERT_DURATION,
	EXPERT_COLUMNS,
};

static bool exchanges_tokens(const struct np_rank *rank, const struct np_strtab *strings)
{
	for (size_t i = 0; i < rank->ops.count; i++) {
		if (strcasestr(np_strtab_text(strings, rank->ops.item[i].type), "alltoall"))
			return true;
	}
	return false;
}

static int take_expert_row(struct expert_kernels *kernels, const char *type,
			   const struct np_slice *cell, struct np_err *err)
{
	np_ns start;
	np_ns time;

	if (!np_slice_is(cell[EXPERT_TYPE], type) || !vendor_time_of(cell[EXPERT_START], &start) ||
	    !vendor_time_of(cell[EXPERT_DURATION], &time) || time < 0 || time > NP_LONGEST_NS)
		return NP_OK;
	return expert_kernels_add(kernels, cell[EXPERT_SHAPES].bytes, cell[EXPERT_SHAPES].length,
				  start, time, err);
}

static int read_expert_rows(struct expert_kernels *kernels, const char *path,
			    const struct np_strtab *strings, struct np_err *err)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const char *type = np_strtab_text(strings, kernels->type);
	const struct np_csv_column columns[EXPERT_COLUMNS] = {
		[EXPERT_TYPE] = vendor_kernels[KERNELS_TYPE],
		[EXPERT_SHAPES] = vendor_kernels[KERNELS_IN_SHAPES],
		[EXPERT_START] = vendor_kernels[KERNELS_START],
		[EXPERT_DURATION] = vendor_kernels[KERNELS_DURATION],
	};
	const struct np_csv_row *row;
	int rc = np_csv_open(path, columns, EXPERT_COLUMNS, &csv, err);

	while (rc == NP_OK) {
		rc = np_csv_next(csv, &row, err);
		if (rc < 0 || !row)
			break;
		rc = take_expert_row(kernels, type, row->cell, err);
	}
	return rc;
}

int np_load_experts(struct np_rank *rank, const struct np_source_files *source,
		    struct np_strtab *strings, struct np_err *err)
{
	struct expert_kernels kernels = { 0 };
	struct np_err problem = NP_ERR_INIT;
	const char *path = source->file[NP_FILE_KERNELS];
	int rc;

	if (!path || rank->experts.count > 0 || rank->comm_source == NP_FROM_RANK_DB ||
	    !exchanges_tokens(rank, strings))
		return NP_OK;
	rc = expert_kernels_begin(&kernels, strings, err);
	if (rc == NP_OK)
		rc = read_expert_rows(&kernels, path, strings, &problem);
	if (rc == NP_OK)
		rc = expert_kernels_reduce(&kernels, rank, strings, err);
	expert_kernels_end(&kernels);
	if (rc < 0 && rc != NP_E_NOMEM) {
		/* A table that cannot be read costs itself alone. */
		np_note_add(&rank->notes, NP_NOTE_SKIPPED, rank->id, path,
			    np_file_name(NP_FILE_KERNELS), "%s", problem.text);
		return NP_OK;
	}
	return rc < 0 ? np_fail(err, NP_E_NOMEM, "out of memory for experts") : NP_OK;
}
