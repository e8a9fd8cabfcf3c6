/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_APPORTION_H
#define NP_APPORTION_H

#include "npuprof/base.h"

/*
 * Divide a whole number in proportion to weights
 * ==============================================
 *
 * The parts are whole numbers too and sum to the total exactly; each differs
 * from its exact share by less than one. Weights are finite and not negative;
 * where all are zero, the first part takes everything. Equal input gives equal
 * output, on every machine: weights become whole numbers of up to 62 bits, and the rest is exact.
 * `count` is at least 1; `ret` may not overlap `weights`.
 */
void np_apportion(int64_t total, const double *weights, size_t count, int64_t *ret);

#endif /* NP_APPORTION_H */
