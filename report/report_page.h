/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPORT_PAGE_H
#define NP_REPORT_PAGE_H

/*
 * The page of a run
 * =================
 *
 * One HTML file that needs nothing else: markup (page.html), style (page.css), script
 * (page.js) and, as JSON, what is shown and nothing beyond. The figures are those of the
 * analysis; what a chart needs and no table has (means over steps where there are too
 * many to draw, sums by leaf) is put together in report_page_model.c. The script draws, and
 * computes nothing but lengths and colours.
 */

#include <stdio.h>

#include "npuprof/analysis.h"
#include "npuprof/flows.h"
#include "npuprof/jsonout.h"

/* Columns of the heat map, repairs that can be combined, leaves of a bar, at most. */
#define PAGE_COLUMNS     20
#define PAGE_REPAIRS     5
#define PAGE_TYPES       8
#define PAGE_ROLES       6
#define PAGE_LANES_LINKS 128
#define PAGE_CAUSES      12
#define PAGE_VICTIMS     24

/* A row of the heat map: one device of a rank. */
struct page_lane {
	uint32_t rank; /* index in the run */
	int32_t device;
};

/* What a heat map can show. */
enum page_quantity {
	PAGE_STEP, /* on the basis of the run */
	PAGE_COMPUTING,
	PAGE_CAUSED, /* waiting of others that began here */
	PAGE_WAITED,
	PAGE_IDLE, /* free and between steps */
	PAGE_MEMORY,
	PAGE_QUANTITIES,
};

/* A column of it: one step, or several where there are many. */
struct page_column {
	size_t first; /* in np_cluster.steps */
	size_t count;
};

/* What one rank made another wait: by communicator, each victim's share of its waiting. */
struct page_pair {
	uint32_t cause; /* index in the run */
	uint32_t victim;
	np_ns ns;
};

struct page_model {
	const struct np_analysis *analysis;
	struct page_lane *lanes;
	size_t lane_count;
	struct page_column columns[PAGE_COLUMNS];
	size_t column_count;
	/* By lane, then column; NP_UNKNOWN; of several steps the mean. */
	int64_t *cells[PAGE_QUANTITIES];
	uint8_t *outliers; /* by cell: bits of quantities far above what others have */
	/* Where the time goes: by lane, then leaf, over the steps that have a length. */
	NP_VEC(char *) leaves;
	np_ns *parts;
	size_t *part_steps; /* by lane: how many; 0 without a partition */
	struct np_flows flows;
	NP_VEC(struct page_pair) pairs; /* of those that are charged most, and waited most */
	struct np_strips strips;
	/* The best single repairs, and the step with each subset of them, by its bits. */
	struct np_fix fixes[PAGE_REPAIRS];
	size_t fix_count;
	np_ns subsets[1U << PAGE_REPAIRS];
};

/* On so many threads (0: one per processor). The analysis outlives the model. */
int page_model_build(const struct np_analysis *analysis, size_t threads, struct page_model *ret,
		     struct np_err *err) NP_MUST_USE;
void page_model_release(struct page_model *model);

/* How it is presented. */
struct page_options {
	const char *input; /* what the user called it */
	const char *language;
	bool anonymous; /* no names of hosts, paths, jobs */
	/* Further members of the data: findings of the advisor, a comparison; may be NULL. */
	int (*put_more)(struct np_jsonout *out, void *context, struct np_err *err);
	void *context;
};

/* The data as one JSON object. */
int page_put_data(struct np_jsonout *out, const struct page_model *model,
		  const struct page_options *options, struct np_err *err) NP_MUST_USE;

/* The whole page. */
int page_write(FILE *stream, const struct page_model *model, const struct page_options *options,
	       struct np_err *err) NP_MUST_USE;

#endif /* NP_REPORT_PAGE_H */
