/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PARALLEL_H
#define NP_PARALLEL_H

#include "npuprof/base.h"

/* Sizes of the parallel dimensions, as the framework recorded them; 0 where it did not. */
struct np_parallel {
	bool known;
	int32_t world;
	int32_t tp;
	int32_t pp;
	int32_t dp;
	int32_t cp;
	int32_t ep;
	bool sequence_parallel;
};

#endif /* NP_PARALLEL_H */
