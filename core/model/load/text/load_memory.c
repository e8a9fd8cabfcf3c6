/* SPDX-License-Identifier: Apache-2.0 */
/* What components of memory held, from the vendor's text files. */
#include "core/model/load/capture/memory_held.h"
#include "core/model/vendor/text_columns.h"
#include "core/model/vendor/values.h"
#include "text_files.h"

#include "npuprof/csv.h"
#include "npuprof/text.h"

/*
 * memory_record.csv, operator_memory.csv, npu_module_mem.csv: in MB as torch_npu
 * writes them, in KB as msprof does. MB of these are 2^20 bytes.
 */
struct memory_reading {
	struct np_rank *rank;
	struct np_strtab *strings;
	struct np_err *err;
	size_t rows;
	size_t impossible; /* values */
};

typedef int take_row(struct memory_reading *reading, const struct np_slice *cell);

static np_ns time_of(struct memory_reading *reading, struct np_slice cell)
{
	np_ns time;

	if (np_text_to_scaled(cell.bytes, cell.length, 3, &time) && vendor_time_ok(time, time) &&
	    time >= 0)
		return time;
	reading->impossible++;
	return NP_UNKNOWN;
}

/* A component cannot hold less than nothing; an empty cell says nothing. */
static int64_t bytes_of(struct memory_reading *reading, struct np_slice mb, struct np_slice kb)
{
	int64_t bytes = vendor_bytes(vendor_memory_bytes(mb, kb));

	reading->impossible += bytes == NP_UNKNOWN && (!np_csv_missing(mb) || !np_csv_missing(kb));
	return bytes;
}

static int hold(struct memory_reading *reading, const char *name, size_t length,
		struct memory_held *held)
{
	int rc = np_strtab_add(reading->strings, name, length, &held->component, reading->err);

	return rc < 0 ? rc : memory_hold(reading->rank, held, reading->err);
}

/* --- components ------------------------------------------------------------------------------ */

static int take_component(struct memory_reading *reading, const struct np_slice *cell)
{
	struct memory_held held = { .at = time_of(reading, cell[COMPONENT_TIME]),
				    .allocated = bytes_of(reading, cell[COMPONENT_ALLOCATED_MB],
							  cell[COMPONENT_ALLOCATED_KB]),
				    .reserved = bytes_of(reading, cell[COMPONENT_RESERVED_MB],
							 cell[COMPONENT_RESERVED_KB]) };

	return hold(reading, cell[COMPONENT_NAME].bytes, cell[COMPONENT_NAME].length, &held);
}

static int take_module(struct memory_reading *reading, const struct np_slice *cell)
{
	struct memory_held held = { .at = time_of(reading, cell[COMPONENT_TIME]),
				    .allocated = NP_UNKNOWN,
				    .reserved = bytes_of(reading, cell[COMPONENT_RESERVED_MB],
							 cell[COMPONENT_RESERVED_KB]) };
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	int rc;

	np_buf_add(&name, MEMORY_MODULE);
	np_buf_add_bytes(&name, cell[COMPONENT_NAME].bytes, cell[COMPONENT_NAME].length);
	rc = np_buf_check(&name, reading->err);
	return rc < 0 ? rc : hold(reading, name.text, name.length, &held);
}

/* --- operators ------------------------------------------------------------------------------- */

static int take_operator(struct memory_reading *reading, const struct np_slice *cell)
{
	const char *component =
		memory_component_of(cell[OPERATOR_NAME].bytes, cell[OPERATOR_NAME].length);
	struct memory_held held = {
		.at = time_of(reading, cell[OPERATOR_ALLOC]),
		.allocated = bytes_of(reading, cell[OPERATOR_ALLOC_ALLOCATED_MB],
				      cell[OPERATOR_ALLOC_ALLOCATED_KB]),
		.reserved = bytes_of(reading, cell[OPERATOR_ALLOC_RESERVED_MB],
				     cell[OPERATOR_ALLOC_RESERVED_KB]),
	};
	int rc = hold(reading, component, strlen(component), &held);

	if (rc < 0)
		return rc;
	/* Cells of the release are empty while the memory is held: then nothing is known. */
	if (np_csv_missing(cell[OPERATOR_RELEASE]))
		return NP_OK;
	held.at = time_of(reading, cell[OPERATOR_RELEASE]);
	held.allocated = bytes_of(reading, cell[OPERATOR_RELEASE_ALLOCATED_MB],
				  cell[OPERATOR_RELEASE_ALLOCATED_KB]);
	held.reserved = bytes_of(reading, cell[OPERATOR_RELEASE_RESERVED_MB],
				 cell[OPERATOR_RELEASE_RESERVED_KB]);
	return memory_hold(reading->rank, &held, reading->err);
}

/* --- files ----------------------------------------------------------------------------------- */

static const struct {
	enum np_file file;
	const struct np_csv_column *columns;
	size_t count;
	take_row *take;
	const char *known[3]; /* it is not read if one of these is known */
} files[] = {
	{ NP_FILE_MEMORY_RECORD,
	  vendor_memory_components,
	  COMPONENT_LOADED,
	  take_component,
	  { MEMORY_PTA, MEMORY_GE, MEMORY_PROCESS } },
	{ NP_FILE_OPERATOR_MEMORY,
	  vendor_memory_operators,
	  OPERATOR_LOADED,
	  take_operator,
	  { MEMORY_PTA, MEMORY_GE } },
	{ NP_FILE_MODULE_MEMORY,
	  vendor_memory_components,
	  COMPONENT_LOADED,
	  take_module,
	  { MEMORY_MODULE } },
};

static int each_row(struct memory_reading *reading, const char *path, size_t file)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row;
	int rc = np_csv_open(path, files[file].columns, files[file].count, &csv, reading->err);

	while (rc == NP_OK) {
		uint64_t whole = np_csv_tally(csv)->short_rows;

		rc = np_csv_next(csv, &row, reading->err);
		if (rc < 0 || !row)
			break;
		reading->rows++;
		/* Which cells are missing nobody knows. */
		if (np_csv_tally(csv)->short_rows > whole)
			reading->impossible++;
		else
			rc = files[file].take(reading, row->cell);
	}
	return rc;
}

/* A file that cannot be read costs itself alone. */
static int read_file(struct memory_reading *reading, const char *path, size_t file,
		     struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	int rc;

	reading->err = &problem;
	reading->rows = 0;
	reading->impossible = 0;
	rc = each_row(reading, path, file);
	reading->err = err;
	if (rc == NP_E_NOMEM)
		return np_fail(err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		np_note_add(&reading->rank->notes, NP_NOTE_SKIPPED, reading->rank->id, path,
			    np_file_name(files[file].file), "%s", problem.text);
	else if (reading->rows == 0)
		np_note_add(&reading->rank->notes, NP_NOTE_SKIPPED, reading->rank->id, path,
			    np_file_name(files[file].file), "'%s' has no rows: it was cut short",
			    path);
	if (reading->impossible > 0)
		np_note_add(&reading->rank->notes,
			    np_note_of_loss(reading->impossible, reading->rows), reading->rank->id,
			    path, np_file_name(files[file].file),
			    "%zu values of its %zu rows are impossible: they count as unknown",
			    reading->impossible, reading->rows);
	return NP_OK;
}

static bool is_known(const struct memory_reading *reading, size_t file)
{
	for (size_t i = 0; i < NP_COUNT(files[file].known) && files[file].known[i]; i++) {
		if (memory_knows(reading->rank, reading->strings, files[file].known[i]))
			return true;
	}
	return false;
}

int np_load_memory(struct np_rank *rank, const struct np_source_files *source,
		   struct np_strtab *strings, struct np_err *err)
{
	struct memory_reading reading = { .rank = rank, .strings = strings };
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(files) && rc == NP_OK; i++) {
		const char *path = source->file[files[i].file];

		if (path && !is_known(&reading, i))
			rc = read_file(&reading, path, i, err);
	}
	memory_drop_idle_modules(rank, strings);
	memory_sort(rank, strings);
	return rc;
}
