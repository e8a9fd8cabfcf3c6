/* SPDX-License-Identifier: Apache-2.0 */
/* Which step it is, by the best source that has shown itself. */
#include "steps.h"

void np_steps_init(struct np_steps *steps, enum np_step_source wanted)
{
	*steps = (struct np_steps){ .wanted = wanted, .chosen = wanted, .current = NP_UNKNOWN };
}

bool np_steps_listens(const struct np_steps *steps, enum np_step_source source)
{
	if (steps->wanted != NP_STEP_AUTO)
		return source == steps->wanted;
	/* A time window, and steps that are only waits, exist when asked for. */
	if (source == NP_STEP_TIME || source == NP_STEP_SYNC)
		return false;
	return steps->chosen == NP_STEP_AUTO || source == steps->chosen ||
	       (source < steps->chosen && !steps->settled);
}

bool np_steps_begin(struct np_steps *steps, enum np_step_source source, int64_t number)
{
	bool named = number != NP_UNKNOWN;

	if (!np_steps_listens(steps, source))
		return false;
	if (!named)
		number = steps->counted[source];
	steps->counted[source]++;
	if (steps->chosen != source) {
		if (!named && steps->counted[source] < 2)
			return false;
		steps->chosen = source;
		steps->current = NP_UNKNOWN;
	}
	/* A step may be marked more than once: by a mark and a range, or by several threads. */
	if (number == steps->current)
		return false;
	steps->current = number;
	return true;
}
