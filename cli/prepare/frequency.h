/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PREPARE_FREQUENCY_H
#define NP_PREPARE_FREQUENCY_H

#include "npuprof/detail.h"
#include "npuprof/whatif.h"

/*
 * The clocks of the AI cores of all ranks in their steps: reads the profiles once
 * more, so it is done only for who asks for the repair. Ranks without samples have
 * none. On so many threads (0: one per processor). What could not be read is noted in the run.
 */
int prepare_frequencies(struct np_run *run, size_t threads, struct np_frequencies *ret,
			struct np_err *err) NP_MUST_USE;

/*
 * The same for who reads the details of the ranks anyway: no rank has clocks at first, and those
 * of one are taken from the sections of its detail that are named here.
 */
#define PREPARE_FREQUENCY (NP_DETAIL_FREQUENCY | NP_DETAIL_DEVICE)
struct np_rank;
int prepare_frequencies_init(const struct np_run *run, struct np_frequencies *ret,
			     struct np_err *err) NP_MUST_USE;
int prepare_frequency_take(const struct np_rank *rank, const struct np_detail *detail,
			   struct np_frequency_rank *ret, struct np_err *err) NP_MUST_USE;

#endif /* NP_PREPARE_FREQUENCY_H */
