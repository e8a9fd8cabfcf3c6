/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PAGE_MODEL_H
#define NP_PAGE_MODEL_H

/*
 * What the charts of the page show
 * ================================
 *
 * The figures are those of the analysis; what a chart needs and no table has (means over steps
 * where there are too many to draw, sums by leaf, subsets of repairs) is put together here. The
 * script of the page draws, and computes nothing but lengths and colours.
 */

#include "npuprof/flows.h"
#include "npuprof/run_page.h"

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
	PAGE_IDLE,      /* free and between steps */
	PAGE_FREQUENCY, /* MHz, mean of the AI cores */
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

#define PAGE_CAUSE  1U
#define PAGE_VICTIM 2U

struct page_model {
	const struct np_analysis *analysis;
	struct page_lane *lanes;
	size_t lane_count;
	struct page_column columns[PAGE_COLUMNS];
	size_t column_count;
	/* By lane, then column; NP_UNKNOWN; of several steps the mean. */
	int64_t *cells[PAGE_QUANTITIES];
	/* By cell: bits of quantities far above what others have; of the frequency, far below. */
	uint8_t *outliers;
	/* Where the time goes: by lane, then leaf, over the steps that have a length. */
	NP_VEC(char *) leaves;
	np_ns *parts;
	size_t *part_steps; /* by lane: how many; 0 without a partition */
	struct np_flows flows;
	NP_VEC(struct page_pair) pairs; /* of those that are charged most, and waited most */
	uint8_t *kept;                  /* by rank: bits PAGE_CAUSE and PAGE_VICTIM of these */
	struct np_strips strips;
	const struct np_frequencies *frequencies; /* NULL: were not read */
	/* The best single repairs, and the step with each subset of them, by its bits. */
	struct np_fix fixes[PAGE_REPAIRS];
	size_t fix_count;
	np_ns subsets[1U << PAGE_REPAIRS];
};

/* The analysis and what the options name outlive the model. */
int page_model_build(const struct np_analysis *analysis, const struct np_run_page_options *options,
		     struct page_model *ret, struct np_err *err) NP_MUST_USE;
void page_model_release(struct page_model *model);

/* What memory snapshots beside the profiles have; nothing without any. */
int page_put_snapshots(struct np_jsonout *out, const struct np_memory *memory, bool anonymous,
		       struct np_err *err) NP_MUST_USE;

/* The data as one JSON object. */
int page_put_data(struct np_jsonout *out, const struct page_model *model,
		  const struct np_run_page_options *options, struct np_err *err) NP_MUST_USE;

#endif /* NP_PAGE_MODEL_H */
