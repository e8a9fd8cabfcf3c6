/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the overlap lane of a trace: computing, communication, free (overlap.h). */
#include "overlap.h"

void syn_overlap_init(struct syn_overlap *overlap)
{
	*overlap = (struct syn_overlap){ .first_ns = INT64_MAX, .last_ns = INT64_MIN };
}

void syn_overlap_release(struct syn_overlap *overlap)
{
	syn_intervals_release(&overlap->computing);
	syn_intervals_release(&overlap->communication);
}

static void extend(struct syn_interval *range, np_ns start, np_ns end)
{
	if (start < range->start_ns)
		range->start_ns = start;
	if (end > range->end_ns)
		range->end_ns = end;
}

static void extend_tasks(struct syn_overlap *overlap, np_ns start, np_ns end)
{
	if (start < overlap->first_ns)
		overlap->first_ns = start;
	if (end > overlap->last_ns)
		overlap->last_ns = end;
}

int syn_overlap_task(struct syn_overlap *overlap, const struct syn_task *task, struct np_err *err)
{
	if (task->kind == SYN_TASK_KERNEL)
		return syn_intervals_add(&overlap->computing, task->start_ns, task->end_ns, err);
	extend_tasks(overlap, task->start_ns, task->end_ns);
	return NP_OK;
}

int syn_overlap_comm(struct syn_overlap *overlap, const struct syn_comm_event *comm,
		     struct np_err *err)
{
	for (size_t i = 0; i < comm->task_count; i++)
		extend_tasks(overlap, comm->tasks[i].start_ns, comm->tasks[i].end_ns);
	return syn_intervals_add(&overlap->communication, comm->start_ns, comm->end_ns, err);
}

static int add_all(struct syn_intervals *to, const struct syn_intervals *from, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < from->all.count && rc == NP_OK; i++)
		rc = syn_intervals_add(to, from->all.item[i].start_ns, from->all.item[i].end_ns,
				       err);
	return rc;
}

static int find_gaps(const struct syn_overlap *overlap, const struct syn_config *config,
		     struct syn_intervals *ret, struct np_err *err)
{
	struct syn_intervals busy = { 0 };
	struct syn_intervals whole = { 0 };
	struct syn_interval range = { INT64_MAX, INT64_MIN };
	int rc = add_all(&busy, &overlap->computing, err);

	if (rc == NP_OK)
		rc = add_all(&busy, &overlap->communication, err);
	syn_intervals_join(&busy);
	if (busy.all.count > 0)
		extend(&range, busy.all.item[0].start_ns, busy.all.item[busy.all.count - 1].end_ns);
	if (config->schema)
		extend(&range, overlap->first_ns, overlap->last_ns);
	if (rc == NP_OK && range.end_ns > range.start_ns)
		rc = syn_intervals_add(&whole, range.start_ns, range.end_ns, err);
	if (rc == NP_OK)
		rc = syn_intervals_subtract(&whole, &busy, ret, err);
	syn_intervals_release(&busy);
	syn_intervals_release(&whole);
	return rc;
}

int syn_overlap_lane(struct syn_overlap *overlap, const struct syn_config *config,
		     enum syn_lane lane, struct syn_intervals *ret, struct np_err *err)
{
	syn_intervals_join(&overlap->computing);
	syn_intervals_join(&overlap->communication);
	ret->all.count = 0;
	switch (lane) {
	case SYN_LANE_COMPUTING:
		return add_all(ret, &overlap->computing, err);
	case SYN_LANE_COMMUNICATION:
		return add_all(ret, &overlap->communication, err);
	case SYN_LANE_EXPOSED:
		return syn_intervals_subtract(&overlap->communication, &overlap->computing, ret,
					      err);
	case SYN_LANE_FREE:
	case SYN_LANES:
		break;
	}
	return find_gaps(overlap, config, ret, err);
}
