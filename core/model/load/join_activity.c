/* SPDX-License-Identifier: Apache-2.0 */
#include "load_private.h"

/*
 * Intervals may come from another file than the times and the operators that
 * are used. They are kept if they tell the same.
 */

/* --- operators ------------------------------------------------------------------------------- */

/* qsort_r's context: indexes of operators by name, then time. */
static int by_name(const void *left, const void *right, void *context)
{
	const struct np_comm_op *ops = context;
	const struct np_comm_op *a = &ops[*(const uint32_t *)left];
	const struct np_comm_op *b = &ops[*(const uint32_t *)right];

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->start != b->start ? np_order(a->start, b->start)
				    : np_order(*(const uint32_t *)left, *(const uint32_t *)right);
}

static uint32_t *sorted_by_name(const struct np_rank *rank)
{
	uint32_t *order = malloc((rank->ops.count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < rank->ops.count; i++)
		order[i] = i;
	if (order && rank->ops.count)
		qsort_r(order, rank->ops.count, sizeof(*order), by_name, rank->ops.item);
	return order;
}

/* The operators of `from` among those of `to`: equal names, in the order of time. */
static void pair_ops(const struct np_rank *from, const uint32_t *from_order,
		     const struct np_rank *to, const uint32_t *to_order, uint32_t *place)
{
	size_t j = 0;

	for (size_t i = 0; i < from->ops.count; i++) {
		np_str name = from->ops.item[from_order[i]].name;

		while (j < to->ops.count && to->ops.item[to_order[j]].name < name)
			j++;
		place[from_order[i]] = NP_LEAF_NOBODY;
		if (j < to->ops.count && to->ops.item[to_order[j]].name == name)
			place[from_order[i]] = to_order[j++];
	}
}

/* `activity` names operators of `from`; make it name those of `to`. */
static int move_to_ops(struct np_activity *activity, const struct np_rank *from,
		       const struct np_rank *to, struct np_err *err)
{
	uint32_t *place = malloc((from->ops.count + 1) * sizeof(*place));
	uint32_t *from_order = sorted_by_name(from);
	uint32_t *to_order = sorted_by_name(to);
	int rc = NP_OK;

	if (place && from_order && to_order) {
		pair_ops(from, from_order, to, to_order, place);
		np_activity_move_ops(activity, place);
	} else {
		rc = np_fail_nomem(err, "communication operators");
	}
	free(place);
	free(from_order);
	free(to_order);
	return rc;
}

/* --- times ----------------------------------------------------------------------------------- */

/* The cell of `from` for a time of `rank`, or its number of cells. */
static uint32_t find_cell(const struct np_rank *rank, const struct np_step_time *time,
			  const struct np_rank *from)
{
	uint32_t i;

	for (i = 0; i < from->times.count; i++) {
		const struct np_step_time *other = &from->times.item[i];

		if (from->steps.item[other->step].id == rank->steps.item[time->step].id &&
		    (other->device == time->device || other->device < 0 || time->device < 0))
			break;
	}
	return i;
}

static bool about(np_ns a, np_ns b)
{
	return a - b <= NP_ROUNDING_NS && b - a <= NP_ROUNDING_NS;
}

static bool tells_the_same(const struct np_step_time *a, const struct np_step_time *b)
{
	return about(a->computing, b->computing) && about(a->span, b->span) &&
	       about(a->communication, b->communication) && about(a->overlapped, b->overlapped);
}

/* What rounding took away comes back, so that the parts sum to the time. */
static void use_time(struct np_step_time *time, const struct np_step_time *exact)
{
	time->computing = exact->computing;
	time->communication = exact->communication;
	time->communication_not_overlapped = exact->communication_not_overlapped;
	time->overlapped = exact->overlapped;
	time->free = exact->free;
	time->span = exact->span;
	time->stage = exact->span - time->bubble;
}

static int adopt(struct np_rank *rank, struct np_rank *fresh, struct np_err *err)
{
	uint32_t *cells = malloc((rank->times.count + 1) * sizeof(*cells));
	size_t same = 0;
	int rc = NP_OK;

	if (!cells)
		return np_fail_nomem(err, "step times");
	for (; same < rank->times.count; same++) {
		const struct np_step_time *time = &rank->times.item[same];

		cells[same] = find_cell(rank, time, fresh);
		if (cells[same] == fresh->times.count ||
		    !tells_the_same(time, &fresh->times.item[cells[same]]))
			break;
	}
	if (same == rank->times.count) {
		for (size_t i = 0; i < same; i++)
			use_time(&rank->times.item[i], &fresh->times.item[cells[i]]);
		rc = np_activity_pick(&fresh->activity, cells, same, err);
		rank->activity = fresh->activity;
		fresh->activity = (struct np_activity){ 0 };
	}
	free(cells);
	return rc;
}

int np_load_join_activity(struct np_rank *rank, struct np_rank *fresh, bool take_times,
			  bool take_ops, struct np_err *err)
{
	int rc = NP_OK;

	if (rank->activity.cells.count > 0)
		return take_ops ? move_to_ops(&rank->activity, rank, fresh, err) : NP_OK;
	if (fresh->activity.cells.count == 0)
		return NP_OK;
	if (!take_ops)
		rc = move_to_ops(&fresh->activity, fresh, rank, err);
	if (rc < 0)
		return rc;
	if (!take_times)
		return adopt(rank, fresh, err);
	rank->activity = fresh->activity;
	fresh->activity = (struct np_activity){ 0 };
	return NP_OK;
}
