/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RUN_PAGE_H
#define NP_RUN_PAGE_H

#include <stdio.h>

#include "npuprof/analysis.h"
#include "npuprof/jsonout.h"
#include "npuprof/vec.h"

/*
 * The page of a run
 * =================
 *
 * One HTML file that needs nothing else, for every command that has one: markup, style, script
 * and, as JSON, what is shown and nothing beyond. A job of several phases has one page, with the
 * data of each.
 *
 *	struct np_run_page page = NP_RUN_PAGE_INIT;
 *
 *	rc = np_run_page_add(&page, analysis, &options, err);
 *	rc = np_write_file(path, np_run_page_write, &page, err);
 *	np_run_page_release(&page);
 */
struct np_run_page_options {
	const char *input; /* what the user called it */
	const char *phase; /* of the job; NULL where there is one */
	const char *
		first; /* the section that stands first: "findings", "difference"; NULL: as usual */
	bool chinese;
	bool anonymous;       /* no names of hosts, paths, jobs */
	const char *base;     /* of a comparison, to be replaced in an anonymous page; NULL: none */
	const char *timeline; /* beside the page: a trace of what shows the verdict; NULL: none */
	const struct np_frequencies *frequencies; /* NULL: were not read */
	size_t threads;                           /* 0: one per processor */
	/* Further members of the data: findings of the advisor, a comparison; may be NULL. */
	int (*put_more)(struct np_jsonout *out, void *context, struct np_err *err);
	void *context;
};

/* Rows of evidence that a finding shows on it. */
#define NP_RUN_PAGE_EVIDENCE 50

struct np_run_page {
	NP_VEC(char *) runs; /* the data of each phase */
	char *title;
	char *phase_ranks; /* JSON: when each rank of a phase was at work; NULL where there is one
			    */
	bool chinese;
};

#define NP_RUN_PAGE_INIT \
	{ \
		.title = NULL \
	}

/* Add the data of a run. The analysis may go then. */
int np_run_page_add(struct np_run_page *page, const struct np_analysis *analysis,
		    const struct np_run_page_options *options, struct np_err *err) NP_MUST_USE;

/* Write the page; an np_file_writer. */
int np_run_page_write(const void *page, FILE *stream, struct np_err *err) NP_MUST_USE;
void np_run_page_release(struct np_run_page *page);

/*
 * Behind the last phase of a command (phases_job.end, whose times and status these are), or behind
 * the only one: print the page, if there is one. The status is NP_EXIT_FAILED if that fails.
 */
struct np_phase_times;
int np_run_page_print(struct np_run_page *page, const struct np_phase_times *times, int status);
/* Let the page say when each rank of the phases was at work; the times may be NULL. */
int np_run_page_set_times(struct np_run_page *page, const struct np_phase_times *times,
			  struct np_err *err) NP_MUST_USE;

#endif /* NP_RUN_PAGE_H */
