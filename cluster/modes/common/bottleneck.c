/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what a rank did, packed, so that operators that took long can be explained by it. */
#include "bottleneck.h"

#include "launches.h"
#include "members.h"

#include "npuprof/idmap.h"

/* --- trails --------------------------------------------------------------------------------------
 */

/*
 * An event is a word: how much later it started than the one before, how long it
 * took, and its name. One that does not fit is written out in three words before
 * a word that no other event has. Differences are those of unsigned numbers, for
 * those of damaged times may not fit otherwise.
 */
#define TIME_BITS 22 /* 4 ms */
#define NAME_BITS 20
#define TIME_MOST ((UINT64_C(1) << TIME_BITS) - 1)
#define NAME_MOST ((UINT64_C(1) << NAME_BITS) - 1)

#define WRITTEN_OUT UINT64_MAX
#define EVENT_MOST  4

int trail_begin(struct trail *trail, size_t events, struct np_err *err)
{
	trail->capacity = events + EVENT_MOST;
	trail->words = malloc(trail->capacity * sizeof(*trail->words));
	return trail->words ? NP_OK : np_fail_nomem(err, "events");
}

static int grow(struct trail *trail, struct np_err *err)
{
	size_t wanted = trail->capacity + trail->capacity / 2 + EVENT_MOST;
	uint64_t *words = realloc(trail->words, wanted * sizeof(*words));

	if (!words)
		return np_fail_nomem(err, "events");
	trail->words = words;
	trail->capacity = wanted;
	return NP_OK;
}

int trail_add(struct trail *trail, const struct event *event, struct np_err *err)
{
	uint64_t later = (uint64_t)event->start - (uint64_t)trail->last;
	uint64_t time = (uint64_t)event->end - (uint64_t)event->start;

	if (trail->capacity - trail->length < EVENT_MOST && grow(trail, err) < 0)
		return NP_E_NOMEM;
	/* The largest name is not used, so that no event is all ones. */
	if (later <= TIME_MOST && time <= TIME_MOST && event->name < NAME_MOST) {
		trail->words[trail->length++] =
			later << (TIME_BITS + NAME_BITS) | time << NAME_BITS | event->name;
	} else {
		trail->words[trail->length++] = later;
		trail->words[trail->length++] = time;
		trail->words[trail->length++] = event->name;
		trail->words[trail->length++] = WRITTEN_OUT;
	}
	trail->last = event->start;
	return NP_OK;
}

void trail_end(struct trail *trail)
{
	uint64_t *fitting = realloc(trail->words, (trail->length + 1) * sizeof(*fitting));

	if (fitting)
		trail->words = fitting;
}

void trail_release(struct trail *trail)
{
	free(trail->words);
}

struct trail_position trail_place(const struct trail *trail)
{
	return (struct trail_position){ trail, trail->length, trail->last };
}

bool trail_back(struct trail_position *place, struct event *ret)
{
	const uint64_t *end = place->trail->words + place->length;
	uint64_t later;
	uint64_t time;

	if (place->length == 0)
		return false;
	if (end[-1] != WRITTEN_OUT) {
		later = end[-1] >> (TIME_BITS + NAME_BITS);
		time = end[-1] >> NAME_BITS & TIME_MOST;
		ret->name = (np_str)(end[-1] & NAME_MOST);
		place->length--;
	} else {
		later = end[-4];
		time = end[-3];
		ret->name = (np_str)end[-2];
		place->length -= EVENT_MOST;
	}
	ret->start = place->start;
	ret->end = (np_ns)((uint64_t)place->start + time);
	place->start = (np_ns)((uint64_t)place->start - later);
	return true;
}

/* --- histories -----------------------------------------------------------------------------------
 */

/* A task that waits this much longer on the device than its launch did on the host was held up
 * by the device. */
#define DEVICE_BOUND_NS 100000

void history_release(struct history *history)
{
	for (size_t i = 0; i < TRAILS; i++)
		trail_release(&history->trail[i]);
	np_vec_release(&history->moments);
}

/* --- what is looked at ----------------------------------------------------------------------- */

bool suspect_is_compared(const struct suspect *suspect)
{
	return !suspect->even && !suspect->message && suspect->ranks >= 2;
}

static struct np_span wait_for(const struct np_modes *modes, const struct suspect *suspect)
{
	np_ns end = member_op(modes, &suspect->slow)->end;

	return (struct np_span){ end - member_time(modes, &suspect->fast), end };
}

static int by_op(const void *left, const void *right)
{
	return np_order(((const struct moment *)left)->op, ((const struct moment *)right)->op);
}

static int find_moments(const struct mode_rank *rank, const struct bottleneck_suspects *suspects,
			struct history *history)
{
	for (size_t i = 0; i < suspects->list.count; i++) {
		const struct suspect *suspect = &suspects->list.item[i];
		bool slow = suspect->slow.rank == rank->index;
		const struct np_member *member = slow ? &suspect->slow : &suspect->fast;
		struct moment *moment;

		if (!suspect_is_compared(suspect) || member->rank != rank->index)
			continue;
		moment = np_vec_add(&history->moments, rank->err);
		if (!moment)
			return NP_E_NOMEM;
		moment->op = member->op;
		moment->start = member_op(rank->modes, member)->start;
		moment->slow = slow;
		if (slow)
			moment->wait = wait_for(rank->modes, suspect);
	}
	qsort(history->moments.item, history->moments.count, sizeof(struct moment), by_op);
	return NP_OK;
}

const struct moment *history_moment(const struct history *history, uint32_t op)
{
	const struct moment key = { .op = op };

	return bsearch(&key, history->moments.item, history->moments.count, sizeof(key), by_op);
}

/* --- events ---------------------------------------------------------------------------------- */

/* Events on their way to a trail. Those that start at once wait for each other. */
struct trail_taking {
	struct mode_rank *rank;
	struct history *history;
	enum trails which;
	size_t next;     /* moment that is not yet reached */
	np_ns next_time; /* its start, NP_NS_MAX if there is none */
	NP_VEC(struct event) together;
};

static int by_end(const void *left, const void *right)
{
	return np_order(((const struct event *)left)->end, ((const struct event *)right)->end);
}

/* Moments up to this time come before what starts then. */
static void reach(struct trail_taking *taking, np_ns time)
{
	struct history *history = taking->history;

	for (; taking->next < history->moments.count &&
	       history->moments.item[taking->next].start <= time;
	     taking->next++)
		history->moments.item[taking->next].before[taking->which] =
			trail_place(&history->trail[taking->which]);
	taking->next_time = taking->next < history->moments.count
				    ? history->moments.item[taking->next].start
				    : NP_NS_MAX;
}

static inline int put(struct trail_taking *taking, const struct event *event)
{
	if (taking->next_time <= event->start)
		reach(taking, event->start);
	return trail_add(&taking->history->trail[taking->which], event, taking->rank->err);
}

/* Of those that start at once the first to end is first. */
static int put_together(struct trail_taking *taking)
{
	struct event *list = taking->together.item;
	size_t count = taking->together.count;
	bool sorted = true;
	int rc = NP_OK;

	for (size_t i = 1; i < count; i++)
		sorted = sorted && list[i - 1].end <= list[i].end;
	if (!sorted)
		qsort(list, count, sizeof(*list), by_end);
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = put(taking, &list[i]);
	taking->together.count = 0;
	return rc;
}

static inline int put_event(struct trail_taking *taking, struct event new)
{
	struct event *event = taking->together.item;
	int rc = NP_OK;

	if (taking->together.count == 1 && event->start != new.start) {
		rc = put(taking, event);
		*event = new;
		return rc;
	}
	if (taking->together.count > 0 && event->start != new.start)
		rc = put_together(taking);
	if (rc < 0)
		return rc;
	event = np_vec_add(&taking->together, taking->rank->err);
	if (!event)
		return NP_E_NOMEM;
	*event = new;
	return NP_OK;
}

static inline int put_row(struct trail_taking *taking, np_ns start, np_ns end, np_str text)
{
	struct event event = { .start = start, .end = end };
	int rc = mode_text(taking->rank, text, &event.name);

	return rc < 0 ? rc : put_event(taking, event);
}

static int begin_taking(struct trail_taking *taking, size_t events)
{
	taking->next_time = -NP_NS_MAX; /* the first event will ask */
	return trail_begin(&taking->history->trail[taking->which], events, taking->rank->err);
}

static int end_taking(struct trail_taking *taking, int rc)
{
	if (rc == NP_OK)
		rc = put_together(taking);
	if (rc == NP_OK) {
		reach(taking, NP_NS_MAX);
		trail_end(&taking->history->trail[taking->which]);
	}
	np_vec_release(&taking->together);
	return rc;
}

/* How many of these rows, which are by start, start before `time`. */
#define COUNT_BEFORE(list, time) \
	count_before((list).item, (list).count, sizeof((list).item[0]), time)

_Static_assert(offsetof(struct np_kernel, start) == 0, "count_before() looks there");
_Static_assert(offsetof(struct np_call, start) == 0, "count_before() looks there");
_Static_assert(offsetof(struct np_operator, start) == 0, "count_before() looks there");

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

static int take_few(struct trail_taking *taking, struct few *few, np_ns before, np_ns until)
{
	const struct np_detail *detail = taking->rank->detail;
	const struct np_comm_op *ops = taking->rank->rank->ops.item;
	int rc = NP_OK;

	while (rc == NP_OK) {
		np_ns copy =
			few->copy == SIZE_MAX ? NP_NS_MAX : detail->tasks.item[few->copy].start;
		np_ns op = few->op < few->ops ? ops[few->op].start : NP_NS_MAX;

		if (copy >= before && op >= before)
			break;
		if (copy <= op) {
			rc = put_row(taking, copy, detail->tasks.item[few->copy].end,
				     detail->tasks.item[few->copy].type);
			few->copy = next_copy(detail, few->copy + 1, until);
		} else {
			rc = put_event(taking,
				       (struct event){ op, ops[few->op].end, ops[few->op].name });
			few->op++;
		}
	}
	return rc;
}

/* Kernels, copies and operators are each by start: they are merged. */
static int take_device(struct mode_rank *rank, struct history *history, np_ns until)
{
	const struct np_detail *detail = rank->detail;
	struct trail_taking taking = { .rank = rank, .history = history, .which = ON_DEVICE };
	size_t kernels = COUNT_BEFORE(detail->kernels, until);
	struct few few = { .copy = next_copy(detail, 0, until) };
	int rc;

	while (few.ops < rank->rank->ops.count && rank->rank->ops.item[few.ops].start < until)
		few.ops++;
	rc = begin_taking(&taking, kernels + count_copies(detail, until) + few.ops);
	for (size_t i = 0; i < kernels && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];

		rc = take_few(&taking, &few, kernel->start, until);
		if (rc == NP_OK)
			rc = put_row(&taking, kernel->start, kernel->end, kernel->name);
	}
	if (rc == NP_OK)
		rc = take_few(&taking, &few, NP_NS_MAX, until);
	return end_taking(&taking, rc);
}

/* Is it an operator of the framework proper, which has a name space: aten::mul? */
static bool is_framework_op(const struct np_detail *detail, np_str op, signed char *known)
{
	const char *name = np_detail_text(detail, op);

	if (name && known[op] == 0)
		known[op] = strstr(name, "::") ? 1 : -1;
	return name && known[op] > 0;
}

/* Operators of the framework and calls are each by start: they are merged. */
static int take_host_rows(struct trail_taking *taking, np_ns until, signed char *known)
{
	const struct np_detail *detail = taking->rank->detail;
	size_t ops = COUNT_BEFORE(detail->operators, until);
	size_t calls = COUNT_BEFORE(detail->calls, until);
	size_t op = 0;
	int rc = begin_taking(taking, ops + calls);

	for (size_t i = 0; i <= calls && rc == NP_OK; i++) {
		const struct np_call *call = i < calls ? &detail->calls.item[i] : NULL;

		for (; op < ops && rc == NP_OK &&
		       (!call || detail->operators.item[op].start <= call->start);
		     op++) {
			const struct np_operator *at = &detail->operators.item[op];

			if (is_framework_op(detail, at->name, known))
				rc = put_row(taking, at->start, at->end, at->name);
		}
		if (call && rc == NP_OK)
			rc = put_row(taking, call->start, call->end, call->name);
	}
	return end_taking(taking, rc);
}

static int take_host(struct mode_rank *rank, struct history *history, np_ns until)
{
	struct trail_taking taking = { .rank = rank, .history = history, .which = ON_HOST };
	signed char *known = calloc(np_strtab_count(rank->detail->strings) + 2, sizeof(*known));
	int rc = known ? take_host_rows(&taking, until, known) : np_fail_nomem(rank->err, "events");

	free(known);
	return rc;
}

/* --- launches -------------------------------------------------------------------------------- */

/* Kernels that start while others wait for the rank; none where it is the fast one. */
struct kernel_range {
	size_t first;
	size_t end;
};

static struct kernel_range kernels_during(const struct np_detail *detail,
					  const struct moment *moment)
{
	if (!moment->slow)
		return (struct kernel_range){ 0 };
	return (struct kernel_range){ COUNT_BEFORE(detail->kernels, moment->wait.begin + 1),
				      COUNT_BEFORE(detail->kernels, moment->wait.end) };
}

static int want_launches(struct mode_rank *rank, struct launches *launches,
			 const struct moment *moment)
{
	struct kernel_range kernels = kernels_during(rank->detail, moment);
	int rc = NP_OK;

	for (size_t i = kernels.first; i < kernels.end && rc == NP_OK; i++)
		rc = launches_want(launches, rank->detail->kernels.item[i].connection, rank->err);
	return rc;
}

static void count_launches(const struct np_detail *detail, const struct launches *launches,
			   struct moment *moment)
{
	struct kernel_range kernels = kernels_during(detail, moment);

	for (size_t i = kernels.first; i < kernels.end; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];
		struct launch launch = launches_get(launches, kernel->connection);

		if (launch.dispatched == NP_UNKNOWN || !launch.call ||
		    launch.call->level != NP_CALL_NODE)
			continue;
		moment->launched++;
		/* In doubles: of damaged times the difference of differences may not fit. */
		moment->late += (double)(kernel->start - launch.call->end) -
					(double)(launch.call->start - launch.dispatched) >
				DEVICE_BOUND_NS;
	}
}

static int take_launches(struct mode_rank *rank, struct history *history)
{
	struct launches launches;
	int rc = launches_init(&launches, rank->err);

	for (size_t i = 0; i < history->moments.count && rc == NP_OK; i++)
		rc = want_launches(rank, &launches, &history->moments.item[i]);
	if (rc == NP_OK && launches.list.count > 0) {
		launches_find(&launches, rank->detail);
		for (size_t i = 0; i < history->moments.count; i++)
			count_launches(rank->detail, &launches, &history->moments.item[i]);
	}
	launches_release(&launches);
	return rc;
}

int history_take(struct mode_rank *rank, const struct bottleneck_suspects *suspects,
		 struct history *ret)
{
	int rc = find_moments(rank, suspects, ret);
	np_ns until;

	if (rc < 0)
		return rc;
	until = ret->moments.item[ret->moments.count - 1].start;
	rc = take_device(rank, ret, until);
	if (rc == NP_OK)
		rc = take_host(rank, ret, until);
	return rc < 0 ? rc : take_launches(rank, ret);
}
