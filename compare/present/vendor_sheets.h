/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPARE_VENDOR_SHEETS_H
#define COMPARE_VENDOR_SHEETS_H

/*
 * The sheets that users of msprof-analyze look for: its names, columns and order, with figures of
 * ours (per step, doc/differences.md). Most are a choice of columns of a table of --view.
 */

#include "compare_report.h"

#include "npuprof/workbook.h"

/* The columns of a sheet come from a relation of ours; those without a source stay empty. */
struct vendor_column {
	const char *header;
	const char *source;
};

enum {
	VENDOR_COLUMNS_MOST = 24
};

struct vendor_sheet {
	const char *name;
	const struct np_relation *from;
	enum cmp_view view; /* that measures it; CMP_VIEWS: always there */
	bool detail;        /* not with --no-details */
	bool outline;
	size_t side_from[CMP_SIDES]; /* columns below the title of each side */
	size_t side_count;
	void (*adapt)(struct np_cell *cells); /* what the choice of columns leaves to do, or NULL */
	struct vendor_column columns[VENDOR_COLUMNS_MOST]; /* ends with NULL */
};

extern const struct vendor_sheet vendor_sheets[];
extern const size_t vendor_sheet_count;

/* Is the sheet wanted, and has it rows? */
int vendor_sheet_applies(const struct vendor_sheet *sheet, const struct compare_report *report,
			 bool *ret, struct np_err *err) NP_MUST_USE;

/* Give the rows of a sheet to a sink. */
int vendor_sheet_write(const struct vendor_sheet *sheet, const struct compare_report *report,
		       struct np_sink *sink, struct np_err *err) NP_MUST_USE;

#endif /* COMPARE_VENDOR_SHEETS_H */
