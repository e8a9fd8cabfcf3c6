/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_STATISTICS_H
#define NP_STATISTICS_H

/* Sums by name over a capture: kernels by type, calls by function. */

#include "core/model/load/load_private.h"

/* Add one event of `time` to the entry at `index`. */
void statistics_add(struct np_statistic *entry, np_ns time);

/* Put the lists into an order that does not depend on that of the input. */
void statistics_sort(struct np_rank *rank, const struct np_strtab *strings);

/* op_statistic.csv and api_statistic.csv, for what no other file told. */
int np_load_statistics(struct np_rank *rank, const struct np_source_files *source,
		       struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

#endif /* NP_STATISTICS_H */
