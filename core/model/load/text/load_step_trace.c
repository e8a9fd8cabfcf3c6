/* SPDX-License-Identifier: Apache-2.0 */
/* Step times that the vendor derived, from step_trace_time.csv. */
#include "derived.h"
#include "text_files.h"

#include "core/model/vendor/text_columns.h"

#include "npuprof/csv.h"
#include "npuprof/text.h"

enum {
	STEP,
	DEVICE,
	COMPUTING,
	NOT_OVERLAPPED,
	OVERLAPPED,
	COMMUNICATION,
	FREE,
	STAGE,
	BUBBLE,
	PREPARING,
	TYPE,  /* of the merged file: "rank" or "stage" */
	INDEX, /* and which */
	COLUMNS,
};

static const struct np_csv_column columns[COLUMNS] = {
	[STEP] = { "Step", NP_OPTIONAL },
	[DEVICE] = { "Device_id", NP_OPTIONAL },
	[COMPUTING] = { "Computing", NP_REQUIRED },
	[NOT_OVERLAPPED] = { "Communication(Not Overlapped)", NP_REQUIRED },
	[OVERLAPPED] = { "Overlapped", NP_OPTIONAL },
	[COMMUNICATION] = { "Communication", NP_OPTIONAL },
	[FREE] = { "Free", NP_REQUIRED },
	[STAGE] = { "Stage", NP_OPTIONAL },
	[BUBBLE] = { "Bubble", NP_OPTIONAL },
	[PREPARING] = { "Preparing", NP_OPTIONAL },
	[TYPE] = { "Type", NP_OPTIONAL },
	[INDEX] = { "Index", NP_OPTIONAL },
};

/* µs as printed: a double with up to 17 digits, so more than three decimals are its noise. */
static np_ns printed(struct np_slice cell)
{
	np_ns time;

	return vendor_time_of(cell, &time) ? time : NP_UNKNOWN;
}

static np_ns time_of(struct derived *load, struct np_slice cell)
{
	return np_csv_missing(cell) ? NP_UNKNOWN : derived_possible(load, printed(cell));
}

/* A column that every table of steps has: a cell without a value is one that is gone. */
static np_ns needed_time(struct derived *load, struct np_slice cell)
{
	load->impossible += np_csv_missing(cell);
	return time_of(load, cell);
}

static int take_row(struct derived *load, const struct np_slice *cell)
{
	struct np_step_time *time;
	uint32_t step = 0;
	int64_t device;
	int rc = np_csv_missing(cell[STEP])
			 ? derived_step(load, NULL, 0, &step)
			 : derived_step(load, cell[STEP].bytes, cell[STEP].length, &step);

	if (rc < 0)
		return rc;
	time = np_vec_add(&load->rank->times, load->err);
	if (!time)
		return NP_E_NOMEM;
	load->rows++;
	time->step = step;
	time->device = -1;
	if (np_text_to_int(cell[DEVICE].bytes, cell[DEVICE].length, &device))
		time->device = np_device_of(device);
	time->computing = needed_time(load, cell[COMPUTING]);
	time->communication_not_overlapped = needed_time(load, cell[NOT_OVERLAPPED]);
	time->overlapped = time_of(load, cell[OVERLAPPED]);
	time->communication = time_of(load, cell[COMMUNICATION]);
	time->free = needed_time(load, cell[FREE]);
	time->bubble = time_of(load, cell[BUBBLE]);
	time->stage = np_csv_missing(cell[STAGE])
			      ? NP_UNKNOWN
			      : derived_stage(load, printed(cell[STAGE]), time->bubble);
	time->preparing = derived_preparing(load, printed(cell[PREPARING]));
	time->span = derived_span(time);
	derived_without_intervals(time);
	return NP_OK;
}

/* Is the row of a merged file another's? */
static bool is_foreign(const struct np_csv *csv, const struct np_slice *cell, int32_t rank)
{
	int64_t index;

	if (!np_csv_has(csv, TYPE) || !np_csv_has(csv, INDEX))
		return false;
	return !np_slice_is(cell[TYPE], "rank") ||
	       !np_text_to_int(cell[INDEX].bytes, cell[INDEX].length, &index) || index != rank;
}

int np_load_step_trace(struct np_rank *rank, const char *path, struct np_strtab *strings,
		       struct np_err *err)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	struct derived load = { .rank = rank, .strings = strings, .err = err };
	const struct np_csv_row *row;
	int rc = np_csv_open(path, columns, COLUMNS, &csv, err);

	while (rc == NP_OK) {
		rc = np_csv_next(csv, &row, err);
		if (rc < 0 || !row)
			break;
		if (!is_foreign(csv, row->cell, rank->id))
			rc = take_row(&load, row->cell);
	}
	if (rc == NP_OK && rank->times.count == 0)
		rc = np_fail(err, NP_E_NOTFOUND, "'%s' has no rows: it was cut short", path);
	if (rc < 0)
		return rc;
	derived_note_oddities(&load, path, np_file_name(NP_FILE_STEP_TRACE));
	rank->step_source = NP_FROM_TEXT;
	rank->device = rank->times.item[0].device;
	return NP_OK;
}
