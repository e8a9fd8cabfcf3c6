/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_TIMELINE_H
#define SYN_TIMELINE_H

#include "comm.h"
#include "rank.h"

/*
 * The simulated run
 * =================
 *
 * All ranks are run together, step by step, until every operator has met its
 * last arriver. What is kept is the operators alone: when each member began and
 * ended each of them. Everything else on a rank follows from that and from the
 * configuration, so that a rank is generated again when it is written, and the
 * memory needed does not grow with the number of kernels.
 */
struct syn_timeline {
	const struct syn_config *config;
	struct syn_groups groups;
	size_t per_step; /* instances, used or not */
	size_t slots_per_step;
	size_t *group_first; /* per group: its first instance within a step */
	struct syn_instance *instances;
	struct syn_slot *slots;
};

void syn_timeline_release(struct syn_timeline *timeline);

/* Simulate the whole run. */
int syn_timeline_run(struct syn_timeline *timeline, const struct syn_config *config,
		     struct np_err *err) NP_MUST_USE;

struct syn_instance *syn_timeline_instance(const struct syn_timeline *timeline, int64_t step,
					   const struct syn_item *item);

/* Global rank of member `index` of an instance. */
int32_t syn_member_rank(const struct syn_timeline *timeline, const struct syn_instance *instance,
			int32_t index);

/* An end_of() that looks the answer up in a finished timeline; the context is a view of it. */
struct syn_timeline_view {
	const struct syn_timeline *timeline;
};

bool syn_timeline_end_of(void *context, struct syn_rank *rank, struct syn_item *item);

#endif /* SYN_TIMELINE_H */
