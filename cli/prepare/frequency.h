/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PREPARE_FREQUENCY_H
#define NP_PREPARE_FREQUENCY_H

#include "npuprof/whatif.h"

/*
 * The clocks of the AI cores of all ranks in their steps: reads the profiles once
 * more, so it is done only for who asks for the repair. Ranks without samples have
 * none. On so many threads (0: one per processor).
 */
int prepare_frequencies(const struct np_run *run, size_t threads, struct np_frequencies *ret,
			struct np_err *err) NP_MUST_USE;

#endif /* NP_PREPARE_FREQUENCY_H */
