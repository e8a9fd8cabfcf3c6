/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/waits.h"

const char *np_estimator_name(enum np_estimator estimator)
{
	static const char *const names[] = {
		[NP_WAIT_NONE] = "none",
		[NP_WAIT_ALIGNED] = "aligned",
		[NP_WAIT_CLOCK_FREE] = "clock-free",
		[NP_WAIT_TASKS] = "tasks",
	};

	return names[estimator];
}

void np_waits_release(struct np_waits *waits)
{
	free(waits->wait);
	free(waits->estimator);
	free(waits->came);
	np_vec_release(&waits->sums);
	waits->came = NULL;
	waits->wait = NULL;
	waits->estimator = NULL;
}

np_ns np_waits_transit(const struct np_align *align, const struct np_waits *waits, uint32_t slot)
{
	const struct np_comm_op *op = np_align_op(align, slot);

	if (waits->wait[slot] == NP_UNKNOWN)
		return NP_UNKNOWN;
	return op->end - op->start - waits->wait[slot];
}
