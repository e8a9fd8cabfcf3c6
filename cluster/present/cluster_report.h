/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLUSTER_REPORT_H
#define NP_CLUSTER_REPORT_H

/*
 * Presenting a merged run: the screen, Markdown, JSON, CSV, the database and text files.
 * The only writers of the command; they compute nothing.
 */

#include "npuprof/cluster_tables.h"
#include "npuprof/jsonout.h"
#include "npuprof/modes.h"
#include "npuprof/page.h"
#include "npuprof/readiness.h"

#include <stdio.h>

struct cluster_report {
	const struct np_analysis *analysis;
	const struct np_modes *modes; /* what was asked for, and its tables; NULL in whatif */
	const char *input;            /* the directory, as the user gave it */
	const char *const *dirs;      /* all of them */
	size_t dir_count;
	const char *phase; /* that was read of several; or NULL */
	bool from_summaries;
	const char *database; /* the merged database; NULL if it could not be written */
	size_t width;
	bool color;
	bool verbose;
};

/* "DIR: 8 ranks of 8, 2 hosts, steps 10-13" */
void report_put_head(struct np_buf *buf, const struct cluster_report *report);

/* The same as the title of a page. */
void report_put_markdown_head(struct np_buf *buf, const struct cluster_report *report);

/* "0-1 (2 of 8)": the profiled ranks of a communicator, and its size if there are more. */
void report_put_ranks(struct np_buf *buf, const struct np_communicator *communicator);

/* How the waiting for the rank that the verdict names spread, as a line; nothing without one. */
void report_put_path(struct np_buf *buf, const struct np_analysis *analysis);

/* A line for the slowest link, and for memory that grows; nothing where there is none. */
void report_put_link(struct np_buf *buf, const struct np_analysis *analysis);
void report_put_memory(struct np_buf *buf, const struct np_analysis *analysis);

/* " --fix rank:5", quoted as a shell wants it. */
void report_put_fix(struct np_buf *buf, const struct np_fix *fix);

/* Rows of what to do next: what a line is good for, and "npuprof COMMAND -d DIR OPTIONS" to paste.
 */
struct np_grid *report_next_grid(void) NP_MUST_USE;
void report_put_command(struct np_grid *grid, const struct cluster_report *report, const char *why,
			const char *command, const char *options);

/* Sections: where the step goes, which kernels take it, how ranks differ, what to trust. */
void report_put_where(struct np_page *page, const struct cluster_report *report);
int report_put_device(struct np_page *page, const struct cluster_report *report, struct np_err *err)
	NP_MUST_USE;
int report_put_steps(struct np_page *page, const struct cluster_report *report, struct np_err *err)
	NP_MUST_USE;
void report_put_sources(struct np_page *page, const struct np_run *run);
int report_put_trust_section(struct np_page *page, const struct cluster_report *report,
			     struct np_err *err) NP_MUST_USE;

int report_screen(const struct cluster_report *report, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;
int report_markdown(const struct cluster_report *report, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;
int report_json(const struct cluster_report *report, FILE *stream, struct np_err *err) NP_MUST_USE;

/* The tables of the modes on the screen, as Markdown, and as a member of the JSON. */
int report_modes_screen(const struct cluster_report *report, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;
int report_modes_markdown(const struct cluster_report *report, struct np_buf *buf,
			  struct np_err *err) NP_MUST_USE;
int report_put_modes(struct np_jsonout *out, const struct cluster_report *report,
		     struct np_err *err) NP_MUST_USE;

/* A table, what its rows come from, and why it has none where something is known of that. */
struct report_table {
	const struct np_relation *relation;
	const void *model;
	const char *empty; /* may be NULL */
	bool left_out;     /* it is there, but nobody asked for its rows */
};

struct report_list {
	NP_VEC(struct report_table) list;
};

int report_list_add(struct report_list *list, const struct report_table *table, struct np_err *err)
	NP_MUST_USE;

/* The tables that modes ask for: of the merged run, and then their own. */
int report_list_shown(const struct cluster_report *report, struct report_list *ret,
		      struct np_err *err) NP_MUST_USE;

/* All tables of the merged database, those first. */
int report_list_all(const struct cluster_report *report, struct report_list *ret,
		    struct np_err *err) NP_MUST_USE;

/* The relation of a table as it is written: without rows, if they are left out. */
struct np_relation report_written(const struct report_table *table);

/* NP_E_USAGE, listing those there are, if no run has such a table, whatever its modes. */
int report_check_table(const char *name, uint64_t modes, struct np_err *err) NP_MUST_USE;

/*
 * Print one table as CSV; NULL for the first, of the modes if there are any.
 * NP_E_USAGE, listing them, if this run has no such one.
 */
int report_csv(const struct cluster_report *report, const char *table, FILE *stream,
	       struct np_err *err) NP_MUST_USE;

/* One table, all of its rows, for the screen or as Markdown. */
int report_table(const struct cluster_report *report, const char *table, bool markdown,
		 struct np_buf *buf, struct np_err *err) NP_MUST_USE;

/* Write every table as `<directory>/<table>.csv`. */
int report_csv_files(const struct cluster_report *report, const char *directory, struct np_err *err)
	NP_MUST_USE;

/*
 * Write the files that scripts and viewers of text profiles read beside the
 * database, from the same tables. One that has nothing to say is not written,
 * and an older one of its name is removed: it would be of another run.
 */
int report_text_files(const struct cluster_report *report, const char *directory,
		      struct np_err *err) NP_MUST_USE;

/* Make a directory and those above it. */
int report_make_directory(const char *path, struct np_err *err) NP_MUST_USE;

/* Remove a file that may not be there. */
int report_remove_file(const char *path, struct np_err *err) NP_MUST_USE;

#endif /* NP_CLUSTER_REPORT_H */
