/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a communication operator, or the sums of many, as the vendor's tables show them. */
#include "npuprof/op_times.h"

#include "npuprof/rank.h"
#include "npuprof/text.h"

#include <math.h>

void np_op_times_add(struct np_op_times *sum, const struct np_rank *rank, size_t index)
{
	const struct np_comm_op *op = &rank->ops.item[index];
	struct np_vendor_times times = np_rank_vendor_times(rank, index);

	sum->ops++;
	np_add_known(&sum->elapsed, op->end - op->start);
	np_add_known(&sum->transit, np_rank_length(rank, times.transit));
	np_add_known(&sum->wait, np_rank_length(rank, times.wait));
	np_add_known(&sum->sync, np_rank_length(rank, times.sync));
}

np_ns np_op_times_idle(const struct np_op_times *times)
{
	if (times->transit == NP_UNKNOWN || times->wait == NP_UNKNOWN)
		return NP_UNKNOWN;
	return times->elapsed - times->transit - times->wait;
}

double np_op_ratio(np_ns part, np_ns transit)
{
	if (part == NP_UNKNOWN || transit == NP_UNKNOWN)
		return (double)NAN;
	return part + transit == 0 ? 0 : np_round((double)part / (double)(part + transit), 4);
}

double np_gb_per_s(int64_t bytes, np_ns time)
{
	if (bytes == NP_UNKNOWN || time == NP_UNKNOWN || time <= 0)
		return (double)NAN;
	return (double)bytes / (double)time;
}

double np_band_gb_per_s(int64_t bytes, np_ns time)
{
	return time > 0 ? np_round((double)bytes / (double)time, 4) : 0;
}
