/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPARE_REPORT_H
#define COMPARE_REPORT_H

/* What `compare` prints: one screen, JSON, tables as CSV, Markdown and a workbook. */

#include "compare/engine/cmp_gate.h"
#include "compare/engine/cmp_memory.h"
#include "compare/engine/cmp_views.h"

#include "npuprof/relation.h"

#include <stdio.h>

struct compare_report {
	const struct comparison *comparison;
	const struct cmp_gate *gate; /* NULL without conditions */
	const struct cmp_memory *memory;
	const struct cmp_views *views; /* what --view asked for */
	const char *input[CMP_SIDES];
	const char *phase; /* that was read of several; or NULL */
	bool no_details;   /* tables call by call are not wanted */
	size_t top;
	size_t width;
	bool color;
};

int compare_screen(const struct compare_report *report, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;
int compare_markdown(const struct compare_report *report, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;
/* The member "difference": what is most asked of it, for the page of another command. */
void compare_put_difference(struct np_jsonout *out, const struct compare_report *report);
int compare_json(const struct compare_report *report, FILE *stream, struct np_err *err) NP_MUST_USE;

/* The tables of --view, for the screen or as Markdown. */
int compare_put_views(const struct compare_report *report, struct np_buf *buf, bool markdown,
		      struct np_err *err) NP_MUST_USE;

/* The verdict in a sentence or two, on one line. */
void compare_put_verdict(struct np_buf *buf, const struct compare_report *report);

/* Fill the line of --agent, where one is asked for; `workbook` is what was written, or NULL. */
void compare_answer(const struct compare_report *report, const char *workbook, const char *phase);

/* --- tables ---------------------------------------------------------------------------------- */

/* All tables; those of views are empty unless asked for. Ends with NULL. */
extern const struct np_relation *const compare_relations[];

/* The table of this name; NULL name: the first. NP_E_USAGE with the closest one. */
int compare_find_relation(const char *name, const struct np_relation **ret, struct np_err *err)
	NP_MUST_USE;

/* The view that a table belongs to, or CMP_VIEWS. */
enum cmp_view compare_view_of(const char *table);

/* Has the table something to say for this comparison? */
bool compare_relation_applies(const struct np_relation *relation,
			      const struct compare_report *report);

int compare_csv(const struct compare_report *report, const char *table, FILE *stream,
		struct np_err *err) NP_MUST_USE;
/* One table, all of its rows, for the screen. */
int compare_table(const struct compare_report *report, const char *table, struct np_buf *buf,
		  struct np_err *err) NP_MUST_USE;
/* One file for each table, in `directory`, which is made. */
int compare_csv_files(const struct compare_report *report, const char *directory,
		      struct np_err *err) NP_MUST_USE;

/*
 * The workbook of msprof-analyze in `directory`, which is made: its sheets, then ours. The path is
 * the caller's to free. Without workbooks there is a directory with a CSV file for each of its
 * sheets, and NP_E_NOTFOUND.
 */
int compare_vendor_files(const struct compare_report *report, const char *directory,
			 char **ret_path, struct np_err *err) NP_MUST_USE;

/* A sheet for each table. NP_E_NOTFOUND where the program was built without workbooks. */
int compare_xlsx(const struct compare_report *report, const char *path, struct np_err *err)
	NP_MUST_USE;

#endif /* COMPARE_REPORT_H */
