/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations and curves of memory from text files: operator_memory.csv, memory_record.csv and
 * npu_module_mem.csv; what compiled graphs plan from static_op_mem.csv.
 */
#include "core/model/vendor/text_columns.h"
#include "detail_load.h"

#include "npuprof/dirs.h"
#include "npuprof/run.h"

typedef int take_cells(struct detail_load *load, const struct np_slice *cell);

struct memory_file {
	enum np_file kind;
	unsigned section; /* that it fills */
	const struct np_csv_column *columns;
	size_t count;
	uint32_t required;
	take_cells *take;
};

static int each_row(struct detail_load *load, const char *path, const struct memory_file *file,
		    const char *what, struct np_err *problem)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row;
	uint64_t broken = 0;
	int rc = vendor_csv_open(path, file->columns, file->count, file->required, &csv, problem);

	while (rc == NP_OK) {
		rc = np_csv_next(csv, &row, problem);
		if (rc < 0 || !row)
			break;
		/* Which cells are missing nobody knows. */
		if (np_csv_tally(csv)->short_rows > broken)
			broken = np_csv_tally(csv)->short_rows;
		else if (file->take(load, row->cell) < 0)
			rc = np_fail(problem, NP_E_NOMEM, "%s", load->err->text);
	}
	if (rc == NP_OK)
		detail_note_impossible(load, path, what, load->impossible_values + broken,
				       np_csv_tally(csv)->rows);
	load->impossible_values = 0;
	return rc;
}

/* A file that cannot be read costs what only it holds. */
static int read_file(struct detail_load *load, const struct memory_file *file, const char *path,
		     const char *what)
{
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (!path || !detail_wants(load, file->section))
		return NP_OK;
	rc = each_row(load, path, file, what, &problem);
	if (rc == NP_E_NOMEM)
		return np_fail(load->err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		detail_note(load, path, what, problem.text);
	else
		load->detail->has |= file->section;
	return NP_OK;
}

/* An empty cell says nothing; another that is no time is damage. */
static np_ns time_of(struct detail_load *load, struct np_slice cell)
{
	np_ns time;

	if (np_text_to_scaled(cell.bytes, cell.length, 3, &time) && time >= 0 && time <= NP_NS_MAX)
		return time;
	load->impossible_values += !np_csv_missing(cell);
	return NP_UNKNOWN;
}

/* Likewise of bytes that a component held. */
static int64_t bytes_of(struct detail_load *load, struct np_slice mb, struct np_slice kb)
{
	int64_t bytes = vendor_bytes(vendor_memory_bytes(mb, kb));

	load->impossible_values +=
		bytes == NP_UNKNOWN && (!np_csv_missing(mb) || !np_csv_missing(kb));
	return bytes;
}

/* What an operator took: some rows say of a release how much it gave back. */
static int64_t size_of(struct detail_load *load, struct np_slice kb)
{
	int64_t bytes = vendor_memory_bytes((struct np_slice){ 0 }, kb);

	if (bytes != NP_UNKNOWN && bytes >= -NP_MOST_BYTES && bytes <= NP_MOST_BYTES)
		return bytes;
	load->impossible_values += !np_csv_missing(kb);
	return NP_UNKNOWN;
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

static int take_op(struct detail_load *load, const struct np_slice *cell)
{
	struct np_memory_op *op = np_vec_add(&load->detail->memory_ops, load->err);

	if (!op)
		return NP_E_NOMEM;
	*op = (struct np_memory_op){
		.alloc = time_of(load, cell[OPERATOR_ALLOC]),
		.release = time_of(load, cell[OPERATOR_RELEASE]),
		.active_release = time_of(load, cell[OPERATOR_ACTIVE_RELEASE]),
		.bytes = size_of(load, cell[OPERATOR_SIZE_KB]),
		.allocated_at_alloc = bytes_of(load, cell[OPERATOR_ALLOC_ALLOCATED_MB],
					       cell[OPERATOR_ALLOC_ALLOCATED_KB]),
		.reserved_at_alloc = bytes_of(load, cell[OPERATOR_ALLOC_RESERVED_MB],
					      cell[OPERATOR_ALLOC_RESERVED_KB]),
		.active_at_alloc = bytes_of(load, cell[OPERATOR_ALLOC_ACTIVE_MB],
					    cell[OPERATOR_ALLOC_ACTIVE_KB]),
		.allocated_at_release = bytes_of(load, cell[OPERATOR_RELEASE_ALLOCATED_MB],
						 cell[OPERATOR_RELEASE_ALLOCATED_KB]),
		.reserved_at_release = bytes_of(load, cell[OPERATOR_RELEASE_RESERVED_MB],
						cell[OPERATOR_RELEASE_RESERVED_KB]),
		.active_at_release = bytes_of(load, cell[OPERATOR_RELEASE_ACTIVE_MB],
					      cell[OPERATOR_RELEASE_ACTIVE_KB]),
		.device = device_of(cell[OPERATOR_DEVICE]),
	};
	return detail_intern(load, cell[OPERATOR_NAME].bytes, cell[OPERATOR_NAME].length,
			     &op->name);
}

static int add_point(struct detail_load *load, const struct np_slice *cell, bool module)
{
	np_ns time = time_of(load, cell[COMPONENT_TIME]);
	struct np_memory_point *point;

	if (time == NP_UNKNOWN) {
		load->impossible_times++;
		return NP_OK;
	}
	point = np_vec_add(&load->detail->memory_curve, load->err);
	if (!point)
		return NP_E_NOMEM;
	*point = (struct np_memory_point){ .time = time,
					   .allocated = bytes_of(load, cell[COMPONENT_ALLOCATED_MB],
								 cell[COMPONENT_ALLOCATED_KB]),
					   .reserved = bytes_of(load, cell[COMPONENT_RESERVED_MB],
								cell[COMPONENT_RESERVED_KB]),
					   .active = bytes_of(load, cell[COMPONENT_ACTIVE_MB],
							      cell[COMPONENT_ACTIVE_KB]),
					   .device = device_of(cell[COMPONENT_DEVICE]),
					   .module = module };
	return detail_intern(load, cell[COMPONENT_NAME].bytes, cell[COMPONENT_NAME].length,
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

static int64_t number_of(struct np_slice cell)
{
	int64_t number;

	return np_text_to_int(cell.bytes, cell.length, &number) ? number : NP_UNKNOWN;
}

static int take_static(struct detail_load *load, const struct np_slice *cell)
{
	static const char total[] = "TOTAL";
	const struct np_slice name = cell[STATIC_NAME];
	int64_t device = number_of(cell[STATIC_DEVICE]);
	struct np_static_memory row = { .graph = number_of(cell[STATIC_GRAPH]),
					.begin = number_of(cell[STATIC_BEGIN]),
					.end = number_of(cell[STATIC_END]),
					.bytes = size_of(load, cell[STATIC_SIZE_KB]),
					.device =
						device == NP_UNKNOWN ? -1 : vendor_device(device) };
	struct np_static_memory *added;

	/* The sum of the others. */
	if (name.length == strlen(total) && memcmp(name.bytes, total, name.length) == 0)
		return NP_OK;
	if (row.begin == NP_UNKNOWN || row.end == NP_UNKNOWN) {
		load->impossible_times++;
		return NP_OK;
	}
	if (detail_intern(load, name.bytes, name.length, &row.name) < 0 ||
	    detail_intern(load, cell[STATIC_MODEL].bytes, cell[STATIC_MODEL].length, &row.model) <
		    0)
		return NP_E_NOMEM;
	added = np_vec_add(&load->detail->static_memory, load->err);
	if (!added)
		return NP_E_NOMEM;
	*added = row;
	return NP_OK;
}

#define STATIC_NAME "static_op_mem.csv"

/* static_op_mem.csv, static_op_mem_20260801103000.csv in a directory; NULL: none. */
static int find_static(struct detail_load *load, const char *dir, char **ret)
{
	NP_CLEANUP(np_names_release) struct np_names names = { 0 };
	struct np_err problem = NP_ERR_INIT;
	int rc = np_names_read(dir, &names, &problem);

	if (rc == NP_E_NOMEM)
		return np_fail_nomem(load->err, dir);
	if (rc < 0)
		detail_note(load, dir, STATIC_NAME, problem.text);
	for (size_t i = 0; !*ret && i < names.list.count; i++) {
		const char *name = names.list.item[i];

		if (!np_text_begins(name, "static_op_mem") || !np_text_ends(name, ".csv"))
			continue;
		*ret = np_join_path(dir, name);
		if (!*ret)
			return np_fail_nomem(load->err, dir);
	}
	return NP_OK;
}

/* Nobody else has use for this file, so it is looked for beside those of the rank. */
static int read_static(struct detail_load *load)
{
	static const struct memory_file file = { .section = NP_DETAIL_STATIC_MEMORY,
						 .columns = vendor_static_memory,
						 .count = STATIC_COLUMNS,
						 .take = take_static };
	char *path = NULL;
	int rc = NP_OK;

	if (!detail_wants(load, NP_DETAIL_STATIC_MEMORY))
		return NP_OK;
	for (size_t i = 0; rc == NP_OK && !path && i < NP_FILE_COUNT; i++) {
		const char *beside = load->source->file[i];
		char *dir = beside ? strndup(beside, (size_t)(np_text_last_part(beside) - beside))
				   : NULL;

		if (beside && !dir)
			rc = np_fail_nomem(load->err, beside);
		if (dir && *dir)
			rc = find_static(load, dir, &path);
		free(dir);
	}
	if (rc == NP_OK)
		rc = read_file(load, &file, path, STATIC_NAME);
	free(path);
	return rc;
}

int detail_read_memory(struct detail_load *load)
{
	static const struct memory_file files[] = {
		{ NP_FILE_OPERATOR_MEMORY, NP_DETAIL_MEMORY_OPS, vendor_memory_operators,
		  OPERATOR_COLUMNS,
		  VENDOR_COLUMN_BIT(OPERATOR_SIZE_KB) | VENDOR_COLUMN_BIT(OPERATOR_ALLOC),
		  take_op },
		{ NP_FILE_MEMORY_RECORD, NP_DETAIL_MEMORY_CURVE, vendor_memory_components,
		  COMPONENT_COLUMNS, VENDOR_COLUMN_BIT(COMPONENT_TIME), take_component },
		{ NP_FILE_MODULE_MEMORY, NP_DETAIL_MEMORY_CURVE, vendor_memory_components,
		  COMPONENT_COLUMNS, VENDOR_COLUMN_BIT(COMPONENT_TIME), take_module },
	};
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(files) && rc == NP_OK; i++)
		rc = read_file(load, &files[i], load->source->file[files[i].kind],
			       np_file_name(files[i].kind));
	return rc < 0 ? rc : read_static(load);
}
