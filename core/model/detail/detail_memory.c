/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_private.h"

/* operator_memory.csv, memory_record.csv, npu_module_mem.csv. KB and MB of these are powers of 2.
 */

typedef int take_cells(struct detail_load *load, const struct np_slice *cell);

static int each_row(struct detail_load *load, const char *path, const struct np_csv_column *columns,
		    size_t count, take_cells *take, struct np_err *problem)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row;
	int rc = np_csv_open(path, columns, count, &csv, problem);

	while (rc == NP_OK) {
		rc = np_csv_next(csv, &row, problem);
		if (rc < 0 || !row)
			break;
		if (take(load, row->cell) < 0)
			rc = np_fail(problem, NP_E_NOMEM, "%s", load->err->text);
	}
	return rc;
}

/* A file that cannot be read costs what only it tells. */
static int read_file(struct detail_load *load, enum np_file file, unsigned section,
		     const struct np_csv_column *columns, size_t count, take_cells *take)
{
	const char *path = load->source->file[file];
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (!path || !detail_wants(load, section))
		return NP_OK;
	rc = each_row(load, path, columns, count, take, &problem);
	if (rc == NP_E_NOMEM)
		return np_fail(load->err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		detail_note(load, path, np_file_name(file), problem.text);
	else
		load->detail->has |= section;
	return NP_OK;
}

static np_ns time_of(struct np_slice cell)
{
	np_ns time;

	if (!np_text_to_scaled(cell.bytes, cell.length, 3, &time) || time < -NP_NS_MAX ||
	    time > NP_NS_MAX)
		return NP_UNKNOWN;
	return time;
}

/* Decimals beyond a millionth of the unit say nothing about whole bytes. */
static int64_t bytes_of(struct np_slice cell, int64_t unit)
{
	int64_t millionths;
	int64_t product;

	if (!np_text_to_scaled(cell.bytes, cell.length, 6, &millionths) ||
	    __builtin_mul_overflow(millionths, unit, &product))
		return NP_UNKNOWN;
	return (product + (product < 0 ? -500000 : 500000)) / 1000000;
}

/* "NPU:4" */
static int32_t device_of(struct np_slice cell)
{
	int64_t device;

	if (cell.length > 4 && memcmp(cell.bytes, "NPU:", 4) == 0 &&
	    np_text_to_int(cell.bytes + 4, cell.length - 4, &device))
		return vendor_device(device);
	return -1;
}

enum {
	OP_NAME,
	OP_SIZE,
	OP_ALLOC,
	OP_RELEASE,
	OP_ACTIVE_RELEASE,
	OP_ALLOC_ALLOCATED,
	OP_ALLOC_RESERVED,
	OP_ALLOC_ACTIVE,
	OP_RELEASE_ALLOCATED,
	OP_RELEASE_RESERVED,
	OP_RELEASE_ACTIVE,
	OP_DEVICE,
	OP_COLUMNS,
};

static const struct np_csv_column op_columns[OP_COLUMNS] = {
	[OP_NAME] = { "Name", NP_REQUIRED },
	[OP_SIZE] = { "Size(KB)", NP_REQUIRED },
	[OP_ALLOC] = { "Allocation Time(us)", NP_REQUIRED },
	[OP_RELEASE] = { "Release Time(us)", NP_OPTIONAL },
	[OP_ACTIVE_RELEASE] = { "Active Release Time(us)", NP_OPTIONAL },
	[OP_ALLOC_ALLOCATED] = { "Allocation Total Allocated(MB)", NP_OPTIONAL },
	[OP_ALLOC_RESERVED] = { "Allocation Total Reserved(MB)", NP_OPTIONAL },
	[OP_ALLOC_ACTIVE] = { "Allocation Total Active(MB)", NP_OPTIONAL },
	[OP_RELEASE_ALLOCATED] = { "Release Total Allocated(MB)", NP_OPTIONAL },
	[OP_RELEASE_RESERVED] = { "Release Total Reserved(MB)", NP_OPTIONAL },
	[OP_RELEASE_ACTIVE] = { "Release Total Active(MB)", NP_OPTIONAL },
	[OP_DEVICE] = { "Device Type", NP_OPTIONAL },
};

static int take_op(struct detail_load *load, const struct np_slice *cell)
{
	struct np_memory_op *op = np_vec_add(&load->detail->memory_ops, load->err);

	if (!op)
		return NP_E_NOMEM;
	*op = (struct np_memory_op){
		.alloc = time_of(cell[OP_ALLOC]),
		.release = time_of(cell[OP_RELEASE]),
		.active_release = time_of(cell[OP_ACTIVE_RELEASE]),
		.bytes = bytes_of(cell[OP_SIZE], VENDOR_KB),
		.allocated_at_alloc = bytes_of(cell[OP_ALLOC_ALLOCATED], VENDOR_MB),
		.reserved_at_alloc = bytes_of(cell[OP_ALLOC_RESERVED], VENDOR_MB),
		.active_at_alloc = bytes_of(cell[OP_ALLOC_ACTIVE], VENDOR_MB),
		.allocated_at_release = bytes_of(cell[OP_RELEASE_ALLOCATED], VENDOR_MB),
		.reserved_at_release = bytes_of(cell[OP_RELEASE_RESERVED], VENDOR_MB),
		.active_at_release = bytes_of(cell[OP_RELEASE_ACTIVE], VENDOR_MB),
		.device = device_of(cell[OP_DEVICE]),
	};
	return detail_intern(load, cell[OP_NAME].bytes, cell[OP_NAME].length, &op->name);
}

enum {
	CURVE_COMPONENT,
	CURVE_TIME,
	CURVE_ALLOCATED,
	CURVE_RESERVED,
	CURVE_ACTIVE,
	CURVE_DEVICE,
	CURVE_COLUMNS,
};

static const struct np_csv_column curve_columns[CURVE_COLUMNS] = {
	[CURVE_COMPONENT] = { "Component", NP_REQUIRED },
	[CURVE_TIME] = { "Timestamp(us)", NP_REQUIRED },
	[CURVE_ALLOCATED] = { "Total Allocated(MB)", NP_OPTIONAL },
	[CURVE_RESERVED] = { "Total Reserved(MB)", NP_OPTIONAL },
	[CURVE_ACTIVE] = { "Total Active(MB)", NP_OPTIONAL },
	[CURVE_DEVICE] = { "Device Type|Device", NP_OPTIONAL },
};

static int add_point(struct detail_load *load, const struct np_slice *cell, bool module)
{
	np_ns time = time_of(cell[CURVE_TIME]);
	struct np_memory_point *point;

	if (time == NP_UNKNOWN) {
		load->impossible_times++;
		return NP_OK;
	}
	point = np_vec_add(&load->detail->memory_curve, load->err);
	if (!point)
		return NP_E_NOMEM;
	*point = (struct np_memory_point){ .time = time,
					   .allocated = bytes_of(cell[CURVE_ALLOCATED], VENDOR_MB),
					   .reserved = bytes_of(cell[CURVE_RESERVED], VENDOR_MB),
					   .active = bytes_of(cell[CURVE_ACTIVE], VENDOR_MB),
					   .device = device_of(cell[CURVE_DEVICE]),
					   .module = module };
	return detail_intern(load, cell[CURVE_COMPONENT].bytes, cell[CURVE_COMPONENT].length,
			     &point->component);
}

static int take_component(struct detail_load *load, const struct np_slice *cell)
{
	return add_point(load, cell, false);
}

static int take_module(struct detail_load *load, const struct np_slice *cell)
{
	return add_point(load, cell, true);
}

int detail_read_memory(struct detail_load *load)
{
	int rc = read_file(load, NP_FILE_OPERATOR_MEMORY, NP_DETAIL_MEMORY_OPS, op_columns,
			   OP_COLUMNS, take_op);

	if (rc == NP_OK)
		rc = read_file(load, NP_FILE_MEMORY_RECORD, NP_DETAIL_MEMORY_CURVE, curve_columns,
			       CURVE_COLUMNS, take_component);
	if (rc == NP_OK)
		rc = read_file(load, NP_FILE_MODULE_MEMORY, NP_DETAIL_MEMORY_CURVE, curve_columns,
			       CURVE_COLUMNS, take_module);
	return rc;
}
