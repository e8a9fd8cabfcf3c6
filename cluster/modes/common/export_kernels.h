/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_EXPORT_KERNELS_H
#define NP_EXPORT_KERNELS_H

#include "mode.h"

/* The rows of kernel_details.csv: kernels and operators of a rank by start. */

#define EXPORT_KERNEL_COLUMNS 19

/* The columns of every file; a counter of the AI cores adds one behind them. */
extern const struct np_column export_kernel_columns[EXPORT_KERNEL_COLUMNS];

/* Is a counter of this name a time? The detail has ns, the file µs. */
bool export_is_time(const char *counter);

/* Write them; `sink` is one of CSV that has begun with the columns. */
int export_kernels(struct mode_rank *rank, struct np_text_sink *sink, size_t *ret_rows) NP_MUST_USE;

#endif /* NP_EXPORT_KERNELS_H */
