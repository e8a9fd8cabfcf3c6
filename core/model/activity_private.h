/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ACTIVITY_PRIVATE_H
#define NP_ACTIVITY_PRIVATE_H

/* Tasks of one kind, cut so that none overlaps another: what activity_build.c sweeps over. */

#include "npuprof/activity.h"

struct activity_layer {
	struct np_activity_task *piece; /* sorted, disjoint */
	size_t count;
	size_t next;                     /* the first that does not end before `now` */
	struct np_activity_task *pieces; /* to be freed; NULL where they are the input's */
};

/* Cut sorted tasks so that each nanosecond is that of the first; returns how many are left. */
size_t activity_own(struct np_activity_task *tasks, size_t count);

/*
 * Make the layer's pieces cover these spans and nothing else: what no task has is
 * of `nobody`, but for rounding, which is of the task beside it.
 */
int activity_use_spans(struct activity_layer *layer, const struct np_spans *spans, uint32_t nobody,
		       struct np_err *err) NP_MUST_USE;

#endif /* NP_ACTIVITY_PRIVATE_H */
