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

struct np_workbook {
	struct np_sink sink;
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
