/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PREPARE_SINGLE_CARD_H
#define NP_PREPARE_SINGLE_CARD_H

#include "npuprof/analysis.h"

/*
 * Read the kernels of a run whose ranks share no operator, of one card or one process,
 * and sum them by type and shape into analysis->device_time; of other runs it stays NULL.
 * What cannot be read is noted in the run.
 */
int prepare_device_time(struct np_analysis *analysis, size_t threads, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_PREPARE_SINGLE_CARD_H */
