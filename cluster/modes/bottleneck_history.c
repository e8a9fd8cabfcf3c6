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

/* From the first to the last of them. */
static struct np_span waits_extent(const struct extent *extent)
{
	struct np_span all = extent->waits.item[0];

	for (size_t i = 1; i < extent->waits.count; i++) {
		struct np_span wait = extent->waits.item[i];

		all.begin = wait.begin < all.begin ? wait.begin : all.begin;
		all.end = wait.end > all.end ? wait.end : all.end;
	}
	return all;
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

/* They are many, and how many at most is known. */
static int make_room(struct events *events, size_t count, struct np_err *err)
{
	events->list.item = malloc((count + 1) * sizeof(*events->list.item));
	events->list.capacity = count + 1;
	return events->list.item ? NP_OK : np_fail_nomem(err, "events");
}

static inline int add_event(struct mode_rank *rank, struct events *events, np_ns start, np_ns end,
			    np_str text)
{
	struct event *event = &events->list.item[events->list.count++];

	event->start = start;
	event->end = end;
	return mode_text(rank, text, &event->name);
}

/* How many of these rows, which are by start, start before `time`. */
#define COUNT_BEFORE(list, time) \
	count_before((list).item, (list).count, sizeof((list).item[0]), time)

_Static_assert(offsetof(struct np_kernel, start) == 0, "count_before() looks there");
_Static_assert(offsetof(struct np_call, start) == 0, "count_before() looks there");
_Static_assert(offsetof(struct np_framework_call, start) == 0, "count_before() looks there");

static size_t count_before(const void *rows, size_t count, size_t size, np_ns time)
{
	size_t low = 0;
	size_t high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		np_ns start;

		memcpy(&start, (const char *)rows + middle * size, sizeof(start));
		if (start < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t next_copy(const struct np_detail *detail, size_t from, np_ns until)
{
	size_t copy = mode_next_copy(detail, from);

	return copy < detail->tasks.count && detail->tasks.item[copy].start < until ? copy
										    : SIZE_MAX;
}

static size_t count_copies(const struct np_detail *detail, np_ns until)
{
	size_t count = 0;

	for (size_t i = next_copy(detail, 0, until); i != SIZE_MAX;
	     i = next_copy(detail, i + 1, until))
		count++;
	return count;
}

/* Copies and operators are few: those that start before the next kernel go first. */
struct few {
	size_t copy; /* the next one, SIZE_MAX for none */
	size_t op;
	size_t ops;
};

static int take_few(struct mode_rank *rank, struct events *events, struct few *few, np_ns before,
		    np_ns until)
{
	const struct np_detail *detail = rank->detail;
	const struct np_comm_op *ops = rank->rank->ops.item;
	int rc = NP_OK;

	while (rc == NP_OK) {
		np_ns copy =
			few->copy == SIZE_MAX ? NP_NS_MAX : detail->tasks.item[few->copy].start;
		np_ns op = few->op < few->ops ? ops[few->op].start : NP_NS_MAX;

		if (copy >= before && op >= before)
			break;
		if (copy <= op) {
			rc = add_event(rank, events, copy, detail->tasks.item[few->copy].end,
				       detail->tasks.item[few->copy].type);
			few->copy = next_copy(detail, few->copy + 1, until);
		} else {
			events->list.item[events->list.count++] =
				(struct event){ op, ops[few->op].end, ops[few->op].name };
			few->op++;
		}
	}
	return rc;
}

/* Kernels, copies and operators are each by start: they are merged. */
static int take_device(struct mode_rank *rank, struct events *events, np_ns until)
{
	const struct np_detail *detail = rank->detail;
	size_t kernels = COUNT_BEFORE(detail->kernels, until);
	struct few few = { .copy = next_copy(detail, 0, until) };
	int rc;

	while (few.ops < rank->rank->ops.count && rank->rank->ops.item[few.ops].start < until)
		few.ops++;
	rc = make_room(events, kernels + count_copies(detail, until) + few.ops, rank->err);
	for (size_t i = 0; i < kernels && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];

		rc = take_few(rank, events, &few, kernel->start, until);
		if (rc == NP_OK)
			rc = add_event(rank, events, kernel->start, kernel->end, kernel->name);
	}
	if (rc == NP_OK)
		rc = take_few(rank, events, &few, NP_NS_MAX, until);
	order_ends(events);
	return rc;
}

/* Is it an operator of the framework proper, which has a name space: aten::mul? */
static bool is_framework_op(const struct np_detail *detail, const struct np_framework_call *call,
			    signed char *known)
{
	const char *name = np_detail_text(detail, call->name);

	if (call->kind != NP_FRAMEWORK_OP || !name)
		return false;
	if (known[call->name] == 0)
		known[call->name] = strstr(name, "::") ? 1 : -1;
	return known[call->name] > 0;
}

/* Operators of the framework and calls are each by start: they are merged. */
static int take_host_rows(struct mode_rank *rank, struct events *events, np_ns until,
			  signed char *known)
{
	const struct np_detail *detail = rank->detail;
	size_t ops = COUNT_BEFORE(detail->framework, until);
	size_t calls = COUNT_BEFORE(detail->calls, until);
	size_t op = 0;
	int rc = make_room(events, ops + calls, rank->err);

	for (size_t i = 0; i <= calls && rc == NP_OK; i++) {
		const struct np_call *call = i < calls ? &detail->calls.item[i] : NULL;

		for (; op < ops && rc == NP_OK &&
		       (!call || detail->framework.item[op].start <= call->start);
		     op++) {
			const struct np_framework_call *at = &detail->framework.item[op];

			if (is_framework_op(detail, at, known))
				rc = add_event(rank, events, at->start, at->end, at->name);
		}
		if (call && rc == NP_OK)
			rc = add_event(rank, events, call->start, call->end, call->name);
	}
	order_ends(events);
	return rc;
}

static int take_host(struct mode_rank *rank, struct events *events, np_ns until)
{
	signed char *known = calloc(np_strtab_count(rank->detail->strings) + 2, sizeof(*known));
	int rc = known ? take_host_rows(rank, events, until, known)
		       : np_fail_nomem(rank->err, "events");

	free(known);
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
	struct np_span all = waits_extent(extent);
	size_t first = COUNT_BEFORE(detail->kernels, all.begin);
	size_t end = COUNT_BEFORE(detail->kernels, all.end);
	struct origins origins;
	int rc = origins_init(&origins, rank->err);

	for (size_t i = first; i < end && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];

		if (is_within(extent, kernel->start))
			rc = origins_want(&origins, kernel->connection, rank->err);
	}
	if (rc == NP_OK)
		origins_find(&origins, detail);
	for (size_t i = first; i < end && rc == NP_OK; i++) {
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
