/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_STATISTICS_H
#define NP_STATISTICS_H

/* Sums by name over a capture: kernels by type, calls by function. */

#include "npuprof/rank.h"

/* Add one event of `time` to an entry. */
static inline void statistics_add(struct np_statistic *entry, np_ns time)
{
	if (entry->count == 0 || time < entry->least)
		entry->least = time;
	if (entry->count == 0 || time > entry->most)
		entry->most = time;
	entry->count++;
	entry->total += time;
}

#endif /* NP_STATISTICS_H */
