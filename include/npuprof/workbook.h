/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_WORKBOOK_H
#define NP_WORKBOOK_H

#include "npuprof/relation.h"

/*
 * Workbooks
 * =========
 *
 * A file for spreadsheets with a sheet for each relation that its sink is given: a
 * title in the first row, a header that stays in sight, one format for each sort of
 * number, and colors for the words that mean good and bad.
 */
struct np_workbook_style {
	const char *title; /* of every sheet */
	const char *bad;   /* cells with this text are red, */
	const char *good;  /* with this green */
};

/*
 * A sheet as users of another tool know it: a title over the columns of each side, which have
 * its color, a note below, then the header. Columns with "Ratio" in their name are percentages.
 */
struct np_sheet {
	size_t header_row;
	const char *note; /* in the row above the header; NULL for none */
	struct {
		const char *title; /* NULL for none */
		size_t from;       /* its columns */
		size_t count;
	} side[2];
	bool outline; /* two blanks in front of the first column are a level, and become a tab */
};

struct np_workbook {
	struct np_sink sink;
	/* Of the relations that follow; NULL: the title of the style, and the header below it. */
	const struct np_sheet *sheet;
	/*
	 * The end, also where something failed (`rc` < 0): only now the file is
	 * written. Returns `rc`, or why it could not be.
	 */
	int (*finish)(struct np_workbook *workbook, int rc, struct np_err *err);
};

/*
 * What the library NP_WORKBOOK_LIBRARY exports under NP_WORKBOOK_OPEN. It is
 * loaded only where a workbook is asked for. Texts of the style stay the caller's.
 */
typedef int np_workbook_opener(const char *path, const struct np_workbook_style *style,
			       struct np_workbook **ret, struct np_err *err);
#define NP_WORKBOOK_LIBRARY "libnpuprof_xlsx.so"
#define NP_WORKBOOK_OPEN    "np_workbook_xlsx_open"

#endif /* NP_WORKBOOK_H */
