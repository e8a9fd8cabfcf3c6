/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_WHATIF_RUN_H
#define NP_WHATIF_RUN_H

/* Trying repairs: many scenarios side by side, and what they say together. */
#include "scenario.h"

typedef NP_VEC(struct np_fix) fix_list;

/*
 * The step with each of `fixes`, on top of `base`: NP_UNKNOWN for what the data do
 * not allow. Scenarios run side by side, on the input's threads.
 */
int whatif_steps(const struct np_whatif_input *input, const struct np_fix *base, size_t base_count,
		 const struct np_fix *fixes, size_t count, np_ns *ret, struct np_err *err)
	NP_MUST_USE;

/* Likewise with everything repaired but the one. */
int whatif_steps_alone(const struct np_whatif_input *input, const struct np_fix *fixes,
		       size_t count, np_ns *ret, struct np_err *err) NP_MUST_USE;

/* Where single repairs leave much of the loss: few that explain it together. */
int whatif_find_team(const struct np_whatif_input *input, struct np_whatif *whatif,
		     struct np_err *err) NP_MUST_USE;

/* Find out which of the ranks and stages that were tried clearly take longer than their peers. */
int whatif_find_evident(const struct np_whatif_input *input, struct np_whatif *whatif,
			struct np_err *err) NP_MUST_USE;

#endif /* NP_WHATIF_RUN_H */
