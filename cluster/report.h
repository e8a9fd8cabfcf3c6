/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPORT_H
#define NP_REPORT_H

/*
 * Presenting a merged run: the screen, Markdown, JSON, CSV and the database.
 * The only writers of the command; they compute nothing.
 */

#include "npuprof/cluster_tables.h"

#include <stdio.h>

struct report {
	const struct np_run *run;
	const struct np_cluster *cluster;
	const struct np_comm_sums *sums;
	const struct np_cluster_tables *tables;
	const char *input;    /* the directory, as the user gave it */
	const char *database; /* the merged database; NULL if it could not be written */
	size_t width;
	bool color;
};

/* What a missing part is called, why it is missing and what would have collected it. */
struct withheld {
	const char *what;
	const char *reason;
	const char *cure;
};

/* What cannot be told from this data; returns how many of `list` were filled. */
size_t report_withheld(const struct report *report, struct withheld list[4]);

int report_screen(const struct report *report, struct np_buf *buf, struct np_err *err) NP_MUST_USE;
int report_markdown(const struct report *report, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;
int report_json(const struct report *report, FILE *stream, struct np_err *err) NP_MUST_USE;

/* Write `<directory>/cluster_analysis.db`, making the directory if need be. */
int report_database(const struct np_cluster_tables *tables, const char *directory, char **ret_path,
		    struct np_err *err) NP_MUST_USE;

/* Print one table as CSV; NULL for the first. NP_E_USAGE, listing them, if there is no such one. */
int report_csv(const struct np_cluster_tables *tables, const char *table, FILE *stream,
	       struct np_err *err) NP_MUST_USE;

/* Write every table as `<directory>/<table>.csv`. */
int report_csv_files(const struct np_cluster_tables *tables, const char *directory,
		     struct np_err *err) NP_MUST_USE;

/* Make a directory and those above it. */
int report_make_directory(const char *path, struct np_err *err) NP_MUST_USE;

#endif /* NP_REPORT_H */
