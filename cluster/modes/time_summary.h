/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TIME_SUMMARY_H
#define NP_TIME_SUMMARY_H

/* The rows of ClusterTimeSummary, for who shows them and for who compares them with another run. */

#include "cluster/modes/common/mode.h"

enum {
	TIME_SUMMARY_COLUMNS = 12,
	TIME_SUMMARY_FIRST = 2, /* behind rank and step: times in µs */
};

extern const struct np_column time_summary_columns[TIME_SUMMARY_COLUMNS];

/* How a mode reduces a rank to what the rows need, and lets go of it. */
#define TIME_SUMMARY_WANTS (NP_DETAIL_KERNELS | NP_DETAIL_TASKS)
/* What a rank that was loaded for its times need not be read for again. */
unsigned time_summary_knows(const struct np_rank *rank);
int time_summary_reduce(struct mode_rank *rank, const void *prepared, void **ret) NP_MUST_USE;
void time_summary_release(void *result);

/* Add the rows of all ranks to a table with these columns, and note for `mode` what is missing. */
int time_summary_fill(struct np_modes *modes, const char *mode, struct np_mode_table *table,
		      void *const *ranks, struct np_err *err) NP_MUST_USE;

#endif /* NP_TIME_SUMMARY_H */
