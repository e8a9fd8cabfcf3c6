/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_STATISTICS_H
#define NP_STATISTICS_H

/* Sums by name over a capture: kernels by type, calls by function, memory by component. */

#include "load_private.h"

/* Add one event of `time` to the entry at `index`. */
void statistics_add(struct np_statistic *entry, np_ns time);

/* A higher water mark; NP_UNKNOWN changes nothing. */
void statistics_raise(int64_t *mark, int64_t value);

/* The component's entry, added if it is new; NULL when out of memory. */
struct np_memory_peak *statistics_component(struct np_rank *rank, np_str component,
					    struct np_err *err);

/* Put the lists into an order that does not depend on that of the input. */
void statistics_sort(struct np_rank *rank, const struct np_strtab *strings);

/* op_statistic.csv, api_statistic.csv and memory_record.csv, for what no other file told. */
int np_load_statistics(struct np_rank *rank, const struct np_source_files *source,
		       struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

#endif /* NP_STATISTICS_H */
