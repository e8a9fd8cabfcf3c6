/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_MIDDLE_H
#define HIST_MIDDLE_H

#include <math.h>

#include "npuprof/base.h"

/*
 * Middle values of series of runs
 * ===============================
 *
 * Between two middle values lies their mean: what is fitted must not lean to one side, as the
 * lower median of npuprof/robust.h does. Values are put into another order; NaN without any.
 */
double hist_middle(double *values, size_t count);

/* The value below which this share of sorted values lies, between two of them in proportion. */
double hist_quantile(const double *sorted, size_t count, double share);

void hist_sort(double *values, size_t count);

/* The quantile of Student's distribution for this chance of being above it. */
double hist_student(double above, size_t freedom);

#endif /* HIST_MIDDLE_H */
