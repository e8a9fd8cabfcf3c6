/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_SERIES_H
#define HIST_SERIES_H

#include "hist_store.h"

/*
 * Which runs are looked at, and one figure of each of them.
 */
struct hist_choice {
	const char *job;           /* NULL: that of the newest run */
	const char *const *labels; /* "name=value": runs that have all of them */
	size_t label_count;
	int64_t last;                /* the newest so many; 0: all */
	const struct hist_run *like; /* runs of the size of this one; NULL: of the newest */
	bool all;                    /* of every size, and of every job where none is named */
};

/*
 * Runs of one job and one size, by time. Of jobs that are as large as each other, those of which a
 * few ranks more or fewer were used are of one size, too.
 */
struct hist_selection {
	NP_VEC(uint32_t) runs; /* index in the store */
	const char *job;
	int64_t ranks;    /* of the newest, or of the run that they are to be like */
	size_t others;    /* of the job, with another number of ranks */
	size_t later;     /* captured after the run that is judged */
	size_t elsewhere; /* of other jobs, where none was named */
};

/* NP_E_NOTFOUND, with what there is, if no run fits; NP_E_USAGE for a label without a value. */
int hist_select(const struct hist_store *store, const struct hist_choice *choice,
		struct hist_selection *ret, struct np_err *err) NP_MUST_USE;
void hist_selection_release(struct hist_selection *selection);

struct hist_point {
	uint32_t run;
	np_ns time;
};

struct hist_series {
	NP_VEC(struct hist_point) list; /* runs that have the figure */
};

/*
 * A figure of the runs: "step", a leaf of the partition ("comm/tp/wait"), or that of one rank or
 * host, "rank:5", "rank:5/computing", "host:node-7/idle"; a host has the mean of its ranks.
 * NP_E_USAGE, with what there is, for one that no run has.
 */
int hist_series_make(const struct hist_store *store, const struct hist_selection *selection,
		     const char *figure, struct hist_series *ret, struct np_err *err) NP_MUST_USE;
void hist_series_release(struct hist_series *series);

/*
 * "step", "computing", "wait", "transfer", "idle", "charge", and "own", which is computing and idle
 * time together: what a rank does by itself. NP_UNKNOWN where it is not known; false for another
 * name.
 */
bool hist_rank_figure(const struct hist_rank *rank, const char *name, np_ns *ret);

#endif /* HIST_SERIES_H */
