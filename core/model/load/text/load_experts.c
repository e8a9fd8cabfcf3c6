/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/load/capture/expert_kernels.h"
#include "core/model/vendor/text_columns.h"
#include "core/model/vendor/values.h"
#include "text_files.h"

#include "npuprof/csv.h"
#include "npuprof/text.h"

#include <strings.h>

/*
 * Traces do not say the shapes of kernels; the table of kernels does. It is read
 * for ranks that exchange tokens only.
 */
enum {
	TYPE,
	SHAPES,
	START,
	DURATION,
	COLUMNS,
};

static bool exchanges_tokens(const struct np_rank *rank, const struct np_strtab *strings)
{
	for (size_t i = 0; i < rank->ops.count; i++) {
		if (strcasestr(np_strtab_text(strings, rank->ops.item[i].type), "alltoall"))
			return true;
	}
	return false;
}

static int take_row(struct expert_kernels *kernels, const char *type, const struct np_slice *cell,
		    struct np_err *err)
{
	np_ns start;
	np_ns time;

	if (!np_slice_is(cell[TYPE], type) ||
	    !np_text_to_scaled(cell[START].bytes, cell[START].length, 3, &start) ||
	    !np_text_to_scaled(cell[DURATION].bytes, cell[DURATION].length, 3, &time) || time < 0 ||
	    time > NP_LONGEST_NS)
		return NP_OK;
	return expert_kernels_add(kernels, cell[SHAPES].bytes, cell[SHAPES].length, start, time,
				  err);
}

static int read_rows(struct expert_kernels *kernels, const char *path,
		     const struct np_strtab *strings, struct np_err *err)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const char *type = np_strtab_text(strings, kernels->type);
	const struct np_csv_column columns[COLUMNS] = {
		[TYPE] = vendor_kernels[KERNELS_TYPE],
		[SHAPES] = vendor_kernels[KERNELS_IN_SHAPES],
		[START] = vendor_kernels[KERNELS_START],
		[DURATION] = vendor_kernels[KERNELS_DURATION],
	};
	const struct np_csv_row *row;
	int rc = np_csv_open(path, columns, COLUMNS, &csv, err);

	while (rc == NP_OK) {
		rc = np_csv_next(csv, &row, err);
		if (rc < 0 || !row)
			break;
		rc = take_row(kernels, type, row->cell, err);
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
		rc = read_rows(&kernels, path, strings, &problem);
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
