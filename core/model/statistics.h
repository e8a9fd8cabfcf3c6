/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_STATISTICS_H
#define NP_STATISTICS_H

/* Sums by name over a capture: kernels by type, calls by function, memory by component. */

#include "load_private.h"

/* Add one event of `time` to the entry at `index`. */
void statistics_add(struct np_statistic *entry, np_ns time);

/* What a component of the memory management held at a time; NP_UNKNOWN where not recorded. */
struct statistics_memory {
	np_str component;
	np_ns at; /* on the host */
	int64_t allocated;
	int64_t reserved;
};

/* Raise the component's peak, and note what it held in its step; the steps must be known. */
int statistics_hold(struct np_rank *rank, const struct statistics_memory *held, struct np_err *err)
	NP_MUST_USE;

/* Put the lists into an order that does not depend on that of the input. */
void statistics_sort(struct np_rank *rank, const struct np_strtab *strings);

/* op_statistic.csv, api_statistic.csv and memory_record.csv, for what no other file told. */
int np_load_statistics(struct np_rank *rank, const struct np_source_files *source,
		       struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

#endif /* NP_STATISTICS_H */
