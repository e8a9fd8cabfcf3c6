/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the longest operators of a rank are long: the rank that waited least was
 * slow. Its tasks before the operator are compared with those of the rank that
 * waited longest, back to where both were level.
 */
#include "registry.h"

#include "cluster/modes/common/bottleneck.h"
#include "cluster/modes/common/members.h"

#include "npuprof/ranges.h"

#include <math.h>

#define MODE "communication_bottleneck"

/* Operators whose ranks differ by less than this are even. */
#define EVEN_SHARE 0.05

/* Ranks that started something within this time were level. */
#define LEVEL_NS 1000000

static void unprepare(void *prepared)
{
	struct bottleneck_suspects *suspects = prepared;

	np_vec_release(&suspects->list);
	free(suspects->wanted);
	free(suspects);
}

/* --- which operators, which ranks ------------------------------------------------------------ */

static int unknown_rank(const struct np_modes *modes, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	int64_t *ids = malloc((modes->run->sources.count + 1) * sizeof(*ids));
	size_t count = 0;

	for (size_t i = 0; ids && i < modes->run->sources.count; i++) {
		if (modes->run->ranks[i])
			ids[count++] = modes->run->ranks[i]->id;
	}
	np_ranges_format(&list, ids, count);
	free(ids);
	return np_fail(err, NP_E_USAGE, "no rank %lld in this run; there are ranks %s",
		       (long long)modes->options.rank, list.text);
}

static int target_rank(const struct np_modes *modes, uint32_t *ret, struct np_err *err)
{
	for (uint32_t i = 0; i < modes->run->sources.count; i++) {
		const struct np_rank *rank = modes->run->ranks[i];

		if (rank &&
		    (modes->options.rank == NP_UNKNOWN || rank->id == modes->options.rank)) {
			*ret = i;
			return NP_OK;
		}
	}
	return unknown_rank(modes, err);
}

static void compare_members(const struct np_modes *modes, const struct np_instance *instance,
			    struct suspect *suspect)
{
	const struct np_member *members = mode_members(modes, instance);
	np_ns longest;
	np_ns shortest;

	suspect->slow = suspect->fast = members[0];
	for (uint32_t i = 1; i < instance->count; i++) {
		if (member_time(modes, &members[i]) < member_time(modes, &suspect->slow))
			suspect->slow = members[i];
		if (member_time(modes, &members[i]) > member_time(modes, &suspect->fast))
			suspect->fast = members[i];
	}
	longest = member_time(modes, &suspect->fast);
	shortest = member_time(modes, &suspect->slow);
	suspect->ranks = instance->count;
	suspect->message = mode_is_message(modes, instance);
	suspect->even = (double)(longest - shortest) < EVEN_SHARE * (double)longest;
}

struct by_time {
	const struct np_modes *modes;
};

static int by_time(const void *left, const void *right, void *context)
{
	const struct by_time *order = context;
	const struct suspect *a = left;
	const struct suspect *b = right;
	np_ns time_a = member_time(order->modes, &a->target);
	np_ns time_b = member_time(order->modes, &b->target);

	if (time_a != time_b)
		return np_order(time_b, time_a);
	return np_order(a->target.op, b->target.op);
}

static int find_suspects(const struct np_modes *modes, struct bottleneck_suspects *suspects,
			 uint32_t target, struct np_err *err)
{
	const struct np_align *align = modes->align;
	struct by_time order = { modes };
	size_t top = mode_top(modes, 10);
	size_t count = modes->run->ranks[target]->ops.count;

	for (uint32_t i = 0; i < count; i++) {
		const struct np_instance *instance =
			np_align_instance(align, np_align_slot(align, target, i));
		struct suspect *suspect = np_vec_add(&suspects->list, err);

		if (!suspect)
			return NP_E_NOMEM;
		suspect->target = (struct np_member){ target, i };
		compare_members(modes, instance, suspect);
	}
	if (suspects->list.count)
		qsort_r(suspects->list.item, suspects->list.count, sizeof(suspects->list.item[0]),
			by_time, &order);
	if (suspects->list.count > top)
		suspects->list.count = top;
	return NP_OK;
}

static int prepare(struct np_modes *modes, void **ret, struct np_err *err)
{
	struct bottleneck_suspects *suspects = calloc(1, sizeof(*suspects));
	uint32_t target = 0;
	int rc;

	if (!suspects)
		return np_fail_nomem(err, MODE);
	*ret = suspects;
	suspects->wanted = calloc(modes->run->sources.count + 1, sizeof(*suspects->wanted));
	if (!suspects->wanted)
		return np_fail_nomem(err, MODE);
	rc = target_rank(modes, &target, err);
	if (rc == NP_OK)
		rc = find_suspects(modes, suspects, target, err);
	for (size_t i = 0; i < suspects->list.count; i++) {
		const struct suspect *suspect = &suspects->list.item[i];

		if (!suspect_is_compared(suspect))
			continue;
		suspects->wanted[suspect->slow.rank] = true;
		suspects->wanted[suspect->fast.rank] = true;
	}
	return rc;
}

/* --- a rank ---------------------------------------------------------------------------------- */

static bool skips(const void *prepared, size_t index)
{
	return !((const struct bottleneck_suspects *)prepared)->wanted[index];
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history)
		return np_fail_nomem(rank->err, MODE);
	*ret = history;
	return history_take(rank, prepared, history);
}

static void release(void *result)
{
	history_release(result);
	free(result);
}

/* --- comparing two ranks --------------------------------------------------------------------- */

/* How far back the other rank is searched for the same name. */
#define SEARCH_MOST 64

/* Events of the fast rank that were passed on the way back and may yet be asked for. */
struct bottleneck_search {
	struct trail_position place;
	struct event seen[SEARCH_MOST]; /* by their number, modulo the size */
	size_t first;
	size_t end;
};

/* The most that was found while walking back. */
struct findings {
	bool any;
	np_str longer;
	double longer_by; /* ns */
	np_str later;
	double later_by;
	bool level; /* the ranks were level somewhere */
};

/* The last event of this name; those behind it are not looked at again. NULL for none near. */
static const struct event *find_back(struct bottleneck_search *search, np_str name)
{
	for (size_t i = search->first; i < search->first + SEARCH_MOST; i++) {
		struct event *event = &search->seen[i % SEARCH_MOST];

		if (i == search->end) {
			if (!trail_back(&search->place, event))
				break;
			search->end++;
		}
		if (event->name == name) {
			search->first = i + 1;
			return event;
		}
	}
	return NULL;
}

/* `shift`: clock of the fast rank − that of the slow one. */
static struct findings walk_back(struct trail_position slow, struct trail_position fast,
				 np_ns shift)
{
	struct findings found = { .longer_by = -(double)INFINITY, .later_by = -(double)INFINITY };
	struct bottleneck_search search = { .place = fast };
	struct event event;

	while (!found.level && trail_back(&slow, &event)) {
		const struct event *other = find_back(&search, event.name);
		double longer;
		double later;

		if (!other)
			continue;
		found.any = true;
		longer = (double)(event.end - event.start) - (double)(other->end - other->start);
		later = (double)(event.start - other->start) + (double)shift;
		if (longer > found.longer_by) {
			found.longer_by = longer;
			found.longer = event.name;
		}
		if (later > found.later_by) {
			found.later_by = later;
			found.later = event.name;
		}
		found.level = later < LEVEL_NS;
	}
	return found;
}

static void explain(struct np_modes *modes, const struct suspect *suspect,
		    const struct history *slow, const struct history *fast, struct np_buf *buf)
{
	const struct moment *slowest = history_moment(slow, suspect->slow.op);
	const struct moment *fastest = history_moment(fast, suspect->fast.op);
	np_ns shift = member_op(modes, &suspect->fast)->end - member_op(modes, &suspect->slow)->end;
	/* Were the kernels of the slow rank held up by the host or by the device? */
	enum trails held = 2 * slowest->late > slowest->launched ? ON_DEVICE : ON_HOST;
	struct findings found;

	if (slowest->launched == 0) {
		np_buf_add(buf, "[Failed] Insufficient data: nothing says how the tasks before"
				" this operator were launched");
		return;
	}
	found = walk_back(slowest->before[held], fastest->before[held], shift);
	if (!found.any) {
		np_buf_add(buf, "[Failed] The ranks have no task in common before this operator");
		return;
	}
	np_buf_printf(buf, "[Completed] %s bottleneck%s: ", held == ON_DEVICE ? "Device" : "Host",
		      found.level ? "" : " (the ranks were never level)");
	if (found.longer_by > 0)
		np_buf_printf(buf, "%s takes %.3f us longer, ", mode_name(modes, found.longer),
			      found.longer_by / 1e3);
	else
		np_buf_add(buf, "no task takes longer, ");
	np_buf_printf(buf, "%s starts %.3f us later than on rank %d", mode_name(modes, found.later),
		      found.later_by / 1e3, mode_rank_id(modes, suspect->fast.rank));
}

/* --- table ----------------------------------------------------------------------------------- */

static const struct np_column columns[] = {
	{ "startTime(us)", NP_TEXT },   { "endTime(us)", NP_TEXT },   { "duration(us)", NP_REAL },
	{ "communicationOp", NP_TEXT }, { "slowRankId", NP_INTEGER }, { "fastRankId", NP_INTEGER },
	{ "reason", NP_TEXT },
};

static int put(struct np_modes *modes, struct np_mode_table *table, const struct suspect *suspect,
	       void *const *ranks, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;
	const struct np_comm_op *op = member_op(modes, &suspect->target);
	const struct history *slow = ranks[suspect->slow.rank];
	const struct history *fast = ranks[suspect->fast.rank];
	bool alone = suspect->ranks < 2;
	struct us_text begin;
	struct us_text end;

	if (alone)
		np_buf_add(&reason, "[Failed] No other profiled rank has this operator");
	else if (suspect->even)
		np_buf_printf(&reason,
			      "[Completed] No slow NPU detected: the ranks differ by less"
			      " than %g%%",
			      100 * EVEN_SHARE);
	else if (suspect->message)
		np_buf_printf(&reason,
			      "[Completed] Message: rank %d comes %.3f us later than rank %d;"
			      " np_pipeline says why its stage does",
			      mode_rank_id(modes, suspect->slow.rank),
			      (double)(member_time(modes, &suspect->fast) -
				       member_time(modes, &suspect->slow)) /
				      1e3,
			      mode_rank_id(modes, suspect->fast.rank));
	else if (!slow || !fast)
		np_buf_add(&reason, "[Failed] Insufficient data: the ranks' tasks cannot be read");
	else
		explain(modes, suspect, slow, fast, &reason);
	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(columns)]){
				np_cell_text(mode_us_text(op->start, &begin)),
				np_cell_text(mode_us_text(op->end, &end)),
				np_cell_scaled(op->end - op->start, 1e3),
				mode_name_cell(modes, op->name),
				alone ? np_cell_null()
				      : np_cell_integer(mode_rank_id(modes, suspect->slow.rank)),
				alone ? np_cell_null()
				      : np_cell_integer(mode_rank_id(modes, suspect->fast.rank)),
				np_cell_text(reason.text),
			},
			err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	const struct bottleneck_suspects *suspects = prepared;
	struct np_mode_table *table = MODE_TABLE(
		modes, MODE, "CommunicationBottleneck",
		"the longest operators of one rank, and what held up the slowest", columns, err);
	int rc = table ? NP_OK : NP_E_NOMEM;

	if (rc == NP_OK)
		table->empty = "the rank has no communication operators";
	for (size_t i = 0; i < suspects->list.count && rc == NP_OK; i++)
		rc = put(modes, table, &suspects->list.item[i], ranks, err);
	return rc;
}

const struct mode mode_communication_bottleneck = {
	.name = MODE,
	.summary = "why the longest operators of a rank are long",
	.wants = NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES | NP_DETAIL_TASKS | NP_DETAIL_CALLS |
		 NP_DETAIL_OPERATORS | NP_DETAIL_DISPATCHES,
	.needs = NP_DETAIL_KERNELS,
	.prepare = prepare,
	.skips = skips,
	.reduce = reduce,
	.merge = merge,
	.release = release,
	.unprepare = unprepare,
};
