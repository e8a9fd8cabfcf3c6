/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/load/capture/capture.h"
#include "core/model/vendor/text_columns.h"
#include "text_files.h"

#include "npuprof/csv.h"
#include "npuprof/text.h"

/*
 * kernel_details.csv, and op_summary of msprof, which has the same rows under
 * other names: kernels and operators with start, duration and the step they
 * belong to. Nothing here says which call launched them.
 */
struct kernels {
	struct capture capture;
	struct np_rank *rank;
	/* Operators wait until the windows of the steps are known. */
	NP_VEC(struct np_comm_op) ops;
	size_t rows;
	size_t bad_times;
	bool has_steps;
};

/* The index of the row's step, added if it is new; NP_NO_STEP for a row of no step. */
static int step_of(struct kernels *load, struct np_slice cell, uint32_t *ret)
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

static int keep_op(struct kernels *load, struct np_slice name, np_ns start, np_ns end,
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

static int keep_kernel(struct kernels *load, struct np_slice type, struct capture_task *task)
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

static int take_row(struct kernels *load, const struct np_slice *cell)
{
	struct capture_row task = { .device = number_of(cell[KERNELS_DEVICE]),
				    .connection = NP_UNKNOWN,
				    .stream = number_of(cell[KERNELS_STREAM]),
				    .id = number_of(cell[KERNELS_TASK]),
				    .class = TASK_OTHER };
	np_ns duration;
	uint32_t index;
	uint32_t step = 0;
	int rc;

	load->rows++;
	if (!np_text_to_scaled(cell[KERNELS_START].bytes, cell[KERNELS_START].length, 3,
			       &task.start) ||
	    !np_text_to_scaled(cell[KERNELS_DURATION].bytes, cell[KERNELS_DURATION].length, 3,
			       &duration) ||
	    duration < 0 || __builtin_add_overflow(task.start, duration, &task.end)) {
		load->bad_times++;
		return NP_OK;
	}
	rc = step_of(load, cell[KERNELS_STEP], &step);
	if (rc < 0 || step == NP_NO_STEP)
		return rc;
	rc = capture_add_task(&load->capture, &task, &index);
	if (rc < 0 || index == NP_IDMAP_NONE)
		return rc;
	capture_widen_step(&load->capture, step, task.start, task.end);
	if (vendor_is_operator(cell[KERNELS_CORE], cell[KERNELS_NAME]))
		return keep_op(load, cell[KERNELS_NAME], task.start, task.end, task.device);
	return keep_kernel(load, cell[KERNELS_TYPE], &load->capture.tasks.item[index]);
}

static int add_op(struct kernels *load, const struct np_comm_op *from)
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

static int derive(struct kernels *load)
{
	int rc = capture_close_steps(&load->capture);

	for (size_t i = 0; i < load->ops.count && rc == NP_OK; i++)
		rc = add_op(load, &load->ops.item[i]);
	return rc < 0 ? rc : capture_measure(&load->capture);
}

/* A spreadsheet writes 1.69512E+15 for a time: its digits are gone for good. */
static int check_times(struct kernels *load)
{
	if (load->bad_times == 0)
		return NP_OK;
	if (load->bad_times == load->rows)
		return np_fail(load->capture.err, NP_E_FORMAT,
			       "'%s': no row has a usable time (was it saved by a spreadsheet?)",
			       load->capture.path);
	np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id, load->capture.path,
		    "kernels", "%zu of %zu rows have no usable time and were left out",
		    load->bad_times, load->rows);
	return NP_OK;
}

static int read_rows(struct kernels *load)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row;
	int rc = np_csv_open(load->capture.path, vendor_kernels, KERNELS_LOADED, &csv,
			     load->capture.err);

	if (rc < 0)
		return rc;
	load->has_steps = np_csv_has(csv, KERNELS_STEP);
	if (!load->has_steps)
		rc = capture_add_step(&load->capture, NP_STR_NONE, NP_UNKNOWN, NP_UNKNOWN);
	while (rc == NP_OK) {
		rc = np_csv_next(csv, &row, load->capture.err);
		if (rc < 0 || !row)
			break;
		rc = take_row(load, row->cell);
	}
	if (rc == NP_OK && load->rows == 0)
		rc = np_fail(load->capture.err, NP_E_NOTFOUND, "'%s' has no rows: it was cut short",
			     load->capture.path);
	return rc;
}

int np_load_kernels(struct np_rank *rank, const char *path, struct np_strtab *strings,
		    struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	struct kernels load = {
		.rank = rank,
		.capture = { .rank = rank,
			     .strings = strings,
			     .path = path,
			     .err = err ? err : &own },
	};
	int rc = capture_begin(&load.capture);

	if (rc == NP_OK)
		rc = read_rows(&load);
	if (rc == NP_OK)
		rc = check_times(&load);
	if (rc == NP_OK)
		rc = derive(&load);
	if (rc == NP_OK) {
		rank->device_count = load.capture.devices.count;
		rank->device = rank->device_count ? load.capture.devices.item[0] : -1;
		rank->step_source = NP_FROM_KERNELS;
		rank->comm_source = rank->ops.count ? NP_FROM_KERNELS : NP_FROM_NOTHING;
		rank->exposed_source = rank->comm_source;
		capture_note_oddities(&load.capture);
	}
	capture_end(&load.capture);
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

int np_load_kernel_types(const char *path, struct np_strtab *strings, struct np_idmap *types,
			 struct np_err *err)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row;
	const struct np_csv_column wanted[] = { vendor_kernels[KERNELS_NAME],
						vendor_kernels[KERNELS_TYPE] };
	int rc = np_csv_open(path, wanted, NP_COUNT(wanted), &csv, err);

	while (rc == NP_OK && np_csv_has(csv, 1)) {
		rc = np_csv_next(csv, &row, err);
		if (rc < 0 || !row)
			break;
		rc = take_type(row->cell[0], row->cell[1], strings, types, err);
	}
	return rc;
}
