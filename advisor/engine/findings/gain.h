/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_GAIN_H
#define NP_ADVISOR_GAIN_H

#include "npuprof/analysis.h"

/*
 * What repairs gain, by the replay
 * ================================
 *
 * A finding that names a repair takes its gain from the replay of the run, where
 * that has tried it: from the analysis, or from np_whatif of a merged database.
 */
struct adv_gain {
	char fix[NP_FIX_TEXT + 16];
	np_ns saved; /* of a step */
};

struct adv_gains {
	NP_VEC(struct adv_gain) list;
	np_ns step; /* as replayed; 0 without a replay */
	np_ns all;  /* what everything together would save; NP_UNKNOWN */
	/*
	 * Most waiting is not for ranks that were profiled: the replay takes it for
	 * transfers, and those that nobody saw may be as late after a repair.
	 */
	bool upper;
	np_ns unseen; /* that waiting, of all ranks and steps */
};

/* `merged` is a database with np_whatif, or NULL for the analysis itself. */
int adv_gains_find(const struct np_analysis *analysis, const char *merged, struct adv_gains *ret,
		   struct np_err *err) NP_MUST_USE;
void adv_gains_release(struct adv_gains *gains);

/* What a repair saves; NP_UNKNOWN if it was not tried, or NULL. */
np_ns adv_gains_of(const struct adv_gains *gains, const char *repair);

#endif /* NP_ADVISOR_GAIN_H */
