/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_STEPS_H
#define NP_STEPS_H

#include "npuprof/spans.h"

/*
 * Steps on the device
 * ===================
 *
 * The framework marks steps on the host; what the device did for a step starts
 * later and may end after the next one began. The window of a step runs from
 * the first start of a task that the step launched to the last end of one, and
 * at least to the end of the host's step.
 */

struct np_step;
struct np_step_time;

/*
 * Turn the extents found while reading (begin, end of launched tasks;
 * NP_UNKNOWN where there were none) into windows: apply the rule above, sort
 * by begin, cut each at the start of the next.
 */
void np_steps_finish(struct np_step *steps, size_t count);

/* The step in whose window `start` lies, or NP_NO_STEP. Steps are sorted. */
uint32_t np_steps_find(const struct np_step *steps, size_t count, np_ns start);

/* Are there steps, and is the window of each of them known and not empty? */
bool np_steps_have_windows(const struct np_step *steps, size_t count);

/* What one device did in one step; all zero for nothing. */
struct np_busy {
	np_ns computing;
	np_ns communication;
	np_ns overlapped;
	struct np_span span; /* from the first start to the last end of both */
};

/* Add the unions of computing and communication of a further part of the time. */
void np_busy_add(struct np_busy *busy, const struct np_spans *computing,
		 const struct np_spans *communication);

/*
 * The times of one device in one step from what it did and the sum of its
 * receive operators. `tasks` is the extent of all its tasks, with begin > end for
 * none.
 */
void np_step_time_measure(const struct np_step *step, const struct np_busy *busy, np_ns receive,
			  struct np_span tasks, struct np_step_time *ret);

#endif /* NP_STEPS_H */
