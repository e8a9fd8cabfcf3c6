/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEM_IMBALANCE_H
#define NP_MEM_IMBALANCE_H

#include "mem_compare.h"

/*
 * Ranks side by side
 * ==================
 *
 * Where the ranks of a job need different amounts of memory: along which dimension, because of
 * what, who runs out first, and what an even split would lower. Ranks have no common clock in
 * snapshots, so that peaks are compared with peaks. Of several captures of one rank the one with
 * the highest peak counts; snapshots before profiles, as they know more.
 */

/* More than this above the median is an imbalance. */
#define MEM_IMBALANCE_LEAST 0.05

/* A dimension names it if it explains so much of the variance. */
#define MEM_EXPLAINED_LEAST 0.5

/* The ranks with one value of a dimension: a stage, a host. */
struct mem_part {
	char *value;
	size_t ranks;
	int64_t least;
	int64_t mean;
	int64_t most;
	int64_t most_rank;
};

struct mem_dimension {
	const char *what; /* "stage", "role", "tp", "cp", "dp", "ep", "host" */
	NP_VEC(struct mem_part) parts;
	double explained; /* of the variance of peaks, 0 to 1 */
};

struct mem_imbalance {
	const char *of; /* "reserved", or "allocated" where only that is known of all */
	size_t count;   /* ranks that were compared; below 2 nothing else is known */
	const struct mem_rank *least;
	const struct mem_rank *median;
	const struct mem_rank *most;
	NP_VEC(struct mem_dimension) dimensions; /* the one that explains most first */
	const struct mem_dimension *along;       /* the one to name; NULL: none explains it */
	mem_differences differences;             /* of the neediest from the median one, by label */
	/* The rank that runs out first, and in how many steps if it grows. */
	const struct mem_rank *first_out;
	int64_t headroom; /* of it, below the limit */
	int64_t growth;   /* of it, per step */
	int64_t steps_left;
	/* If the parts of `along`, else all ranks, needed the same: */
	int64_t even_peak;
	int64_t even_gain;
};

int mem_imbalance_new(const mem_ranks *ranks, struct mem_imbalance **ret, struct np_err *err)
	NP_MUST_USE;
void mem_imbalance_free(struct mem_imbalance *imbalance);

/* Is the neediest rank clearly above the median one? */
bool mem_imbalance_matters(const struct mem_imbalance *imbalance);

int64_t mem_imbalance_peak(const struct mem_imbalance *imbalance, const struct mem_rank *rank);

/* Bytes per step by which a rank grows for good; 0: not that anybody knows. */
int64_t mem_rank_growth(const struct mem_rank *rank);

#endif /* NP_MEM_IMBALANCE_H */
