/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of kernels by type and of calls by function, from the vendor's statistics. */
#include "text_files.h"

#include "core/model/vendor/text_columns.h"

#include "npuprof/csv.h"
#include "npuprof/rank.h"
#include "npuprof/text.h"

static int by_total(const void *left, const void *right, void *context)
{
	const struct np_strtab *strings = context;
	const struct np_statistic *a = left;
	const struct np_statistic *b = right;
	int order;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	order = strcmp(np_strtab_text(strings, a->name), np_strtab_text(strings, b->name));
	if (order)
		return order;
	return strcmp(np_strtab_text(strings, a->kind), np_strtab_text(strings, b->kind));
}

static void statistics_sort(struct np_rank *rank, const struct np_strtab *strings)
{
	void *context = (void *)(uintptr_t)strings;

	if (rank->kernels.count)
		qsort_r(rank->kernels.item, rank->kernels.count, sizeof(rank->kernels.item[0]),
			by_total, context);
	if (rank->calls.count)
		qsort_r(rank->calls.item, rank->calls.count, sizeof(rank->calls.item[0]), by_total,
			context);
}

/* --- text files ------------------------------------------------------------------------------ */

struct statistics {
	struct np_rank *rank;
	struct np_strtab *strings;
	struct np_err *err;
};

typedef int take_row(struct statistics *load, const struct np_slice *cell);

static int each_row(struct statistics *load, const char *path, const struct np_csv_column *columns,
		    size_t count, take_row *take)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row;
	int rc = np_csv_open(path, columns, count, &csv, load->err);

	while (rc == NP_OK) {
		rc = np_csv_next(csv, &row, load->err);
		if (rc < 0 || !row)
			break;
		rc = take(load, row->cell);
	}
	return rc;
}

enum {
	NAME,
	KIND,
	COUNT,
	TOTAL,
	LEAST,
	MOST,
	STATISTIC_COLUMNS
};

static const struct np_csv_column op_columns[STATISTIC_COLUMNS] = {
	[NAME] = { "OP Type", NP_REQUIRED },       [KIND] = { "Core Type", NP_OPTIONAL },
	[COUNT] = { "Count", NP_REQUIRED },        [TOTAL] = { "Total Time(us)", NP_REQUIRED },
	[LEAST] = { "Min Time(us)", NP_OPTIONAL }, [MOST] = { "Max Time(us)", NP_OPTIONAL },
};

static const struct np_csv_column api_columns[STATISTIC_COLUMNS] = {
	[NAME] = { "API Name", NP_REQUIRED }, [KIND] = { "Level", NP_OPTIONAL },
	[COUNT] = { "Count", NP_REQUIRED },   [TOTAL] = { "Time(us)", NP_REQUIRED },
	[LEAST] = { "Min(us)", NP_OPTIONAL }, [MOST] = { "Max(us)", NP_OPTIONAL },
};

static np_ns time_of(struct np_slice cell)
{
	np_ns time;

	return vendor_time_of(cell, &time) ? time : NP_UNKNOWN;
}

/* A row without count or time says nothing. */
static bool read_statistic(const struct np_slice *cell, struct np_statistic *ret)
{
	ret->total = time_of(cell[TOTAL]);
	ret->least = time_of(cell[LEAST]);
	ret->most = time_of(cell[MOST]);
	return ret->total != NP_UNKNOWN &&
	       np_text_to_int(cell[COUNT].bytes, cell[COUNT].length, &ret->count);
}

static int name_statistic(struct statistics *load, const struct np_slice *cell,
			  struct np_statistic *entry)
{
	int rc = np_strtab_add(load->strings, cell[NAME].bytes, cell[NAME].length, &entry->name,
			       load->err);

	/* Files before 2025 call the level of communication by the name of its library. */
	if (rc == NP_OK && np_slice_is(cell[KIND], "hccl"))
		return np_strtab_add(load->strings, "communication", strlen("communication"),
				     &entry->kind, load->err);
	if (rc == NP_OK && cell[KIND].length > 0)
		rc = np_strtab_add(load->strings, cell[KIND].bytes, cell[KIND].length, &entry->kind,
				   load->err);
	return rc;
}

static int take_kernels(struct statistics *load, const struct np_slice *cell)
{
	struct np_statistic entry = { 0 };
	struct np_statistic *slot;

	if (!read_statistic(cell, &entry))
		return NP_OK;
	slot = np_vec_add(&load->rank->kernels, load->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = entry;
	return name_statistic(load, cell, slot);
}

static int take_calls(struct statistics *load, const struct np_slice *cell)
{
	struct np_statistic entry = { 0 };
	struct np_statistic *slot;

	if (!read_statistic(cell, &entry))
		return NP_OK;
	slot = np_vec_add(&load->rank->calls, load->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = entry;
	return name_statistic(load, cell, slot);
}

/* A statistic that cannot be read costs itself alone. */
static int read_file(struct statistics *load, const struct np_source_files *source,
		     enum np_file file, const struct np_csv_column *columns, size_t count,
		     take_row *take, struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (!source->file[file])
		return NP_OK;
	load->err = &problem;
	rc = each_row(load, source->file[file], columns, count, take);
	load->err = err;
	if (rc == NP_E_NOMEM)
		return np_fail(err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id, source->file[file],
			    np_file_name(file), "%s", problem.text);
	return NP_OK;
}

int np_load_statistics(struct np_rank *rank, const struct np_source_files *source,
		       struct np_strtab *strings, struct np_err *err)
{
	struct statistics load = { .rank = rank, .strings = strings };
	int rc = NP_OK;

	if (rank->kernels.count == 0)
		rc = read_file(&load, source, NP_FILE_OP_STATISTIC, op_columns, STATISTIC_COLUMNS,
			       take_kernels, err);
	if (rc == NP_OK && rank->calls.count == 0)
		rc = read_file(&load, source, NP_FILE_API_STATISTIC, api_columns, STATISTIC_COLUMNS,
			       take_calls, err);
	statistics_sort(rank, strings);
	return rc;
}
