/* SPDX-License-Identifier: Apache-2.0 */
#include "bottleneck.h"

#include "npuprof/idmap.h"

/* A task that waits this much longer on the device than its launch did on the host was held up
 * by the device. */
#define DEVICE_BOUND_NS 100000

void history_release(struct history *history)
{
	np_vec_release(&history->device.list);
	np_vec_release(&history->host.list);
	np_vec_release(&history->launches);
}

/* --- what is looked at ----------------------------------------------------------------------- */

struct extent {
	np_ns until;                  /* events that start before */
	NP_VEC(struct np_span) waits; /* launches of kernels that start within */
};

struct np_span suspect_wait(const struct np_modes *modes, const struct suspect *suspect)
{
	np_ns end = member_op(modes, &suspect->slow)->end;

	return (struct np_span){ end - member_time(modes, &suspect->fast), end };
}

static int find_extent(const struct mode_rank *rank, const struct suspects *suspects,
		       struct extent *ret)
{
	ret->until = -NP_NS_MAX;
	for (size_t i = 0; i < suspects->list.count; i++) {
		const struct suspect *suspect = &suspects->list.item[i];
		bool slow = suspect->slow.rank == rank->index;
		const struct np_comm_op *op =
			member_op(rank->modes, slow ? &suspect->slow : &suspect->fast);
		struct np_span *wait;

		if (suspect->even || suspect->message || suspect->ranks < 2 ||
		    (!slow && suspect->fast.rank != rank->index))
			continue;
		ret->until = op->start > ret->until ? op->start : ret->until;
		if (!slow)
			continue;
		wait = np_vec_add(&ret->waits, rank->err);
		if (!wait)
			return NP_E_NOMEM;
		*wait = suspect_wait(rank->modes, suspect);
	}
	return NP_OK;
}

static bool is_within(const struct extent *extent, np_ns time)
{
	for (size_t i = 0; i < extent->waits.count; i++) {
		if (time > extent->waits.item[i].begin && time < extent->waits.item[i].end)
			return true;
	}
	return false;
}

/* --- events ---------------------------------------------------------------------------------- */

static int by_end(const void *left, const void *right)
{
	return np_order(((const struct event *)left)->end, ((const struct event *)right)->end);
}

/* Of those that start at once the first to end is first. */
static void order_ends(struct events *events)
{
	struct event *list = events->list.item;

	for (size_t from = 0, to = 0; from < events->list.count; from = to) {
		bool sorted = true;

		for (to = from + 1; to < events->list.count && list[to].start == list[from].start;
		     to++)
			sorted = sorted && list[to - 1].end <= list[to].end;
		if (!sorted)
			qsort(&list[from], to - from, sizeof(*list), by_end);
	}
}

static int add_event(struct mode_rank *rank, struct events *events, np_ns start, np_ns end,
		     np_str text)
{
	struct event *event = np_vec_add(&events->list, rank->err);

	if (!event)
		return NP_E_NOMEM;
	event->start = start;
	event->end = end;
	return mode_text(rank, text, &event->name);
}

static int add_op(struct mode_rank *rank, struct events *events, const struct np_comm_op *op)
{
	struct event *event = np_vec_add(&events->list, rank->err);

	if (!event)
		return NP_E_NOMEM;
	*event = (struct event){ op->start, op->end, op->name };
	return NP_OK;
}

/* Kernels, copies and operators are each by start: they are merged. */
static int take_device(struct mode_rank *rank, struct events *events, np_ns until)
{
	const struct np_detail *detail = rank->detail;
	const struct np_comm_op *ops = rank->rank->ops.item;
	size_t kernel = 0;
	size_t copy = mode_next_copy(detail, 0);
	size_t op = 0;
	int rc = NP_OK;

	while (rc == NP_OK) {
		np_ns kernel_start = kernel < detail->kernels.count
					     ? detail->kernels.item[kernel].start
					     : NP_NS_MAX;
		np_ns copy_start =
			copy < detail->tasks.count ? detail->tasks.item[copy].start : NP_NS_MAX;
		np_ns op_start = op < rank->rank->ops.count ? ops[op].start : NP_NS_MAX;

		if (kernel_start >= until && copy_start >= until && op_start >= until)
			break;
		if (kernel_start <= copy_start && kernel_start <= op_start) {
			rc = add_event(rank, events, kernel_start, detail->kernels.item[kernel].end,
				       detail->kernels.item[kernel].name);
			kernel++;
		} else if (copy_start <= op_start) {
			rc = add_event(rank, events, copy_start, detail->tasks.item[copy].end,
				       detail->tasks.item[copy].type);
			copy = mode_next_copy(detail, copy + 1);
		} else {
			rc = add_op(rank, events, &ops[op++]);
		}
	}
	order_ends(events);
	return rc;
}

/* The next operator of the framework proper, which has a name space: aten::mul. */
static size_t next_framework_op(const struct np_detail *detail, size_t from)
{
	for (; from < detail->framework.count; from++) {
		const struct np_framework_call *call = &detail->framework.item[from];
		const char *name = np_detail_text(detail, call->name);

		if (call->kind == NP_FRAMEWORK_OP && name && strstr(name, "::"))
			break;
	}
	return from;
}

static int take_host(struct mode_rank *rank, struct events *events, np_ns until)
{
	const struct np_detail *detail = rank->detail;
	size_t op = next_framework_op(detail, 0);
	size_t call = 0;
	int rc = NP_OK;

	while (rc == NP_OK) {
		np_ns op_start =
			op < detail->framework.count ? detail->framework.item[op].start : NP_NS_MAX;
		np_ns call_start =
			call < detail->calls.count ? detail->calls.item[call].start : NP_NS_MAX;

		if (op_start >= until && call_start >= until)
			break;
		if (op_start <= call_start) {
			rc = add_event(rank, events, op_start, detail->framework.item[op].end,
				       detail->framework.item[op].name);
			op = next_framework_op(detail, op + 1);
		} else {
			rc = add_event(rank, events, call_start, detail->calls.item[call].end,
				       detail->calls.item[call].name);
			call++;
		}
	}
	order_ends(events);
	return rc;
}

/* --- launches -------------------------------------------------------------------------------- */

static int add_launch(struct mode_rank *rank, struct history *history, np_ns device,
		      const struct origin *origin)
{
	struct launch *launch;

	if (origin->dispatched == NP_UNKNOWN || !origin->call ||
	    origin->call->level != NP_CALL_NODE)
		return NP_OK;
	launch = np_vec_add(&history->launches, rank->err);
	if (!launch)
		return NP_E_NOMEM;
	launch->device = device;
	/* In doubles: of damaged times the difference of differences may not fit. */
	launch->late = (double)(device - origin->call->end) -
			       (double)(origin->call->start - origin->dispatched) >
		       DEVICE_BOUND_NS;
	return NP_OK;
}

static int take_launches(struct mode_rank *rank, const struct extent *extent,
			 struct history *history)
{
	const struct np_detail *detail = rank->detail;
	struct origins origins;
	int rc = origins_init(&origins, rank->err);

	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];

		if (is_within(extent, kernel->start))
			rc = origins_want(&origins, kernel->connection, rank->err);
	}
	if (rc == NP_OK)
		origins_find(&origins, detail);
	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];
		struct origin origin;

		if (!is_within(extent, kernel->start))
			continue;
		origin = origins_get(&origins, kernel->connection);
		rc = add_launch(rank, history, kernel->start, &origin);
	}
	origins_release(&origins);
	return rc;
}

int history_take(struct mode_rank *rank, const struct suspects *suspects, struct history *ret)
{
	struct extent extent = { 0 };
	int rc = find_extent(rank, suspects, &extent);

	if (rc == NP_OK)
		rc = take_device(rank, &ret->device, extent.until);
	if (rc == NP_OK)
		rc = take_host(rank, &ret->host, extent.until);
	if (rc == NP_OK && extent.waits.count > 0)
		rc = take_launches(rank, &extent, ret);
	np_vec_release(&extent.waits);
	return rc;
}
