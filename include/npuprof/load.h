/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LOAD_H
#define NP_LOAD_H

#include "npuprof/comm.h"
#include "npuprof/run.h"
#include "npuprof/workers.h"

/*
 * Loading ranks
 * =============
 *
 * The only reader of profiles: one job per rank on a pool of threads. A rank
 * that cannot be read is noted and stays NULL; the others are not touched by
 * it. A rank is streamed table by table, reduced to a struct np_rank and let go.
 */
int np_load(struct np_run *run, const struct np_comm *comm, const struct np_workers *workers,
	    struct np_err *err) NP_MUST_USE;

/* Load one rank; fills `ret` or fails with what makes it unusable. */
int np_load_rank(const struct np_source_files *source, struct np_strtab *strings,
		 struct np_rank **ret, struct np_err *err) NP_MUST_USE;

/*
 * Keep only the steps in `steps`. NP_E_USAGE, listing those there are, when a
 * step asked for exists on no rank.
 */
int np_run_keep_steps(struct np_run *run, const struct np_ranges *steps, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_LOAD_H */
