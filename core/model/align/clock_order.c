/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must not happen before what
 * --------------------------------
 *
 * A message is not received before it was sent: its receive ends after its send
 * started. An operator of all with all ends nowhere before it started everywhere; one
 * with a root ends on the others after the root started, or on the root after the
 * others. Nothing more is taken for granted: a send may end before its receive starts,
 * a batch may hold sends, receives or both.
 */
#include "clock_order.h"

#include "npuprof/align.h"
#include "npuprof/comm_tasks.h"
#include "npuprof/order.h"

/*
 * A few instances, one in so many of those of a pair or a communicator, may be apart:
 * lower than the others by so many times what the quarter above them is wide, and by
 * half a millisecond at least.
 */
#define APART_SHARE 32
#define APART_LEAST 8 /* instances, of which one may be apart */
#define APART_WIDTH 8
#define APART_NS    500000

enum order_mode {
	COUNT_BREACHES,
	LIST_BROKEN,
	LIST_JOINING,
};

/* The order in one instance: its last start and its first end that must come after it. */
struct clock_order {
	np_ns start;
	np_ns end;
	uint32_t before; /* slots */
	uint32_t after;
};

#define KINDS 16

enum kind {
	KIND_NONE,
	KIND_SEND,
	KIND_RECEIVE,
	KIND_OTHER,
};

/* What is asked of a rank for each of its operators, in one place. */
struct order_rank {
	const struct np_comm_op *ops;
	struct clock_map map;
};

/* Operators are all over memory: so many members ahead they are asked for. */
#define AHEAD 16

/* The instances of one communicator. */
struct order_job {
	const struct clock_pass *pass;
	const struct order_rank *ranks;
	bool bent;
	enum order_mode mode;
	struct clock_breaches breaches;
	NP_VEC(struct clock_bound) bounds;
	NP_VEC(np_ns) rooms; /* of the instances that are compared with each other … */
	NP_VEC(uint32_t) of; /* … and which these are */
	struct {
		np_str type;
		enum kind kind;
	} kinds[KINDS]; /* by type, modulo */
	struct np_err err;
};

struct order_pool {
	const struct clock_pass *pass;
	struct order_rank *ranks;
	bool bent; /* some clock has several knots */
	enum order_mode mode;
	struct order_job *jobs; /* by communicator */
};

/* --- one instance ----------------------------------------------------------------------------- */

static enum kind kind_of(struct order_job *job, np_str type)
{
	enum kind *kind = &job->kinds[type % KINDS].kind;
	char class[64];

	if (*kind != KIND_NONE && job->kinds[type % KINDS].type == type)
		return *kind;
	(void)np_op_class(np_strtab_text(job->pass->align->run->strings, type), class,
			  sizeof(class));
	job->kinds[type % KINDS].type = type;
	*kind = strcmp(class, "send") == 0      ? KIND_SEND
		: strcmp(class, "receive") == 0 ? KIND_RECEIVE
						: KIND_OTHER;
	return *kind;
}

static np_ns time_of(const struct order_job *job, uint32_t rank, np_ns local)
{
	if (job->bent)
		return np_clock_time(job->pass->clock, rank, local);
	return local - clock_map_ahead(&job->ranks[rank].map, local);
}

static const struct np_comm_op *op_in(const struct order_job *job, uint32_t slot)
{
	const struct np_member *member = &job->pass->align->members[slot];

	return &job->ranks[member->rank].ops[member->op];
}

static void see_start(const struct order_job *job, uint32_t slot, struct clock_order *order)
{
	uint32_t rank = job->pass->align->members[slot].rank;
	np_ns start = time_of(job, rank, op_in(job, slot)->start);

	if (start <= order->start)
		return;
	order->start = start;
	order->before = slot;
}

static void see_end(const struct order_job *job, uint32_t slot, struct clock_order *order)
{
	uint32_t rank = job->pass->align->members[slot].rank;
	np_ns end = time_of(job, rank, op_in(job, slot)->end);

	if (end >= order->end)
		return;
	order->end = end;
	order->after = slot;
}

static void see_all(const struct order_job *job, const struct np_instance *instance,
		    struct clock_order *order)
{
	const struct np_align *align = job->pass->align;
	struct clock_order all = *order;

	for (uint32_t i = instance->first; i < instance->first + instance->count; i++) {
		const struct np_comm_op *op = op_in(job, i);
		uint32_t rank = align->members[i].rank;
		np_ns start = time_of(job, rank, op->start);
		np_ns end = time_of(job, rank, op->end);

		if (i + AHEAD < align->op_count)
			__builtin_prefetch(op_in(job, i + AHEAD));
		all.before = start > all.start ? i : all.before;
		all.start = start > all.start ? start : all.start;
		all.after = end < all.end ? i : all.after;
		all.end = end < all.end ? end : all.end;
	}
	*order = all;
}

static bool is_related(const struct order_job *job, const struct np_instance *instance)
{
	const struct np_member *member = &job->pass->align->members[instance->first];

	for (uint32_t i = 1; i < instance->count; i++) {
		if (!np_clock_related(job->pass->clock, member[0].rank, member[i].rank))
			return false;
	}
	return true;
}

/* Of a message: who sends, who receives. */
static bool see_message(struct order_job *job, const struct np_instance *instance,
			struct clock_order *order)
{
	uint32_t first = instance->first;
	enum kind kind[2];

	if (instance->count != 2)
		return false;
	kind[0] = kind_of(job, op_in(job, first)->type);
	kind[1] = kind_of(job, op_in(job, first + 1)->type);
	if (kind[0] == KIND_SEND && kind[1] == KIND_RECEIVE) {
		see_start(job, first, order);
		see_end(job, first + 1, order);
	} else if (kind[1] == KIND_SEND && kind[0] == KIND_RECEIVE) {
		see_start(job, first + 1, order);
		see_end(job, first, order);
	} else {
		return false;
	}
	return true;
}

/* False where the instance says nothing about order. */
static bool see(struct order_job *job, const struct np_instance *instance,
		struct clock_order *order)
{
	bool root_last = instance->rule == NP_RULE_TO_ROOT;

	*order = (struct clock_order){ .start = -NP_NS_MAX, .end = NP_NS_MAX };
	if (instance->count < 2 || (instance->flags & NP_INSTANCE_MISMATCH))
		return false;
	switch ((enum np_rule)instance->rule) {
	case NP_RULE_PAIR:
		return see_message(job, instance, order);
	case NP_RULE_ALL:
		see_all(job, instance, order);
		return true;
	case NP_RULE_FROM_ROOT:
	case NP_RULE_TO_ROOT:
		if (instance->root == NP_NO_ROOT)
			return false;
		for (uint32_t i = 0; i < instance->count; i++) {
			if ((instance->first + i == instance->root) != root_last)
				see_start(job, instance->first + i, order);
			else
				see_end(job, instance->first + i, order);
		}
		return true;
	case NP_RULE_PAIRWISE:
		break;
	}
	return false;
}

/* --- counting --------------------------------------------------------------------------------- */

static void count_breaches(struct order_job *job, const struct np_align_communicator *communicator)
{
	for (uint32_t i = 0; i < communicator->count; i++) {
		const struct np_instance *instance =
			&job->pass->align->instances.item[communicator->first + i];
		struct clock_order order;

		if (!see(job, instance, &order) || order.end >= order.start ||
		    !is_related(job, instance))
			continue;
		job->breaches.count++;
		if (order.start - order.end > job->breaches.worst)
			job->breaches.worst = order.start - order.end;
	}
}

/* --- bounds ----------------------------------------------------------------------------------- */

static uint32_t rank_of(const struct order_job *job, uint32_t slot)
{
	return job->pass->align->members[slot].rank;
}

static int add_bound(struct order_job *job, uint32_t before, uint32_t after, np_ns room)
{
	struct clock_bound *bound;

	if (rank_of(job, before) == rank_of(job, after))
		return NP_OK;
	bound = np_vec_add(&job->bounds, &job->err);
	if (!bound)
		return NP_E_NOMEM;
	*bound = (struct clock_bound){ .before = rank_of(job, before),
				       .after = rank_of(job, after),
				       .room = room,
				       .support = 1 };
	return NP_OK;
}

/* Everybody who ends too early is bound by the last start, and who starts too late by the first
 * end. */
static int add_bounds(struct order_job *job, const struct np_instance *instance,
		      const struct clock_order *order)
{
	int rc = add_bound(job, order->before, order->after, order->end - order->start);

	for (uint32_t i = 0; i < instance->count && instance->rule != NP_RULE_PAIR && rc == NP_OK;
	     i++) {
		uint32_t slot = instance->first + i;
		const struct np_comm_op *op = op_in(job, slot);
		np_ns start = time_of(job, rank_of(job, slot), op->start);
		np_ns end = time_of(job, rank_of(job, slot), op->end);
		bool ends = instance->rule == NP_RULE_ALL ||
			    (slot == instance->root) == (instance->rule == NP_RULE_TO_ROOT);
		bool starts = instance->rule == NP_RULE_ALL || !ends;

		if (ends && slot != order->after && end < order->start)
			rc = add_bound(job, order->before, slot, end - order->start);
		if (starts && slot != order->before && start > order->end && rc == NP_OK)
			rc = add_bound(job, slot, order->after, order->end - start);
	}
	return rc;
}

/* The least room of the instances that are not apart from the others; sorts them. */
static np_ns least_usual(np_ns *room, size_t count)
{
	size_t most = count < APART_LEAST ? 0 : count / APART_SHARE + 1;

	qsort(room, count, sizeof(*room), np_by_int64);
	for (size_t i = most; i > 0; i--) {
		np_ns width = room[i + (count - i - 1) / 4] - room[i];
		np_ns gap = room[i] - room[i - 1];

		if (gap > APART_NS && gap / APART_WIDTH > width)
			return room[i];
	}
	return count > 0 ? room[0] : 0;
}

/* Would any of the clocks that might be right have it in order? */
static bool may_be_in_order(const struct order_job *job, const struct clock_order *order)
{
	const struct np_comm_op *before = op_in(job, order->before);
	const struct np_comm_op *after = op_in(job, order->after);

	for (size_t i = 0; i < job->pass->map_count; i++) {
		const struct clock_map *maps = job->pass->maps[i];
		np_ns start = before->start -
			      clock_map_ahead(&maps[rank_of(job, order->before)], before->start);
		np_ns end =
			after->end - clock_map_ahead(&maps[rank_of(job, order->after)], after->end);

		if (end >= start)
			return true;
	}
	return false;
}

/* Go over the instances listed: bounds that are broken, or the tightest one of a pair. */
static int bind_above(struct order_job *job, np_ns least)
{
	struct clock_order tightest = { .end = NP_NS_MAX };
	int rc = NP_OK;

	for (size_t i = 0; i < job->of.count && rc == NP_OK; i++) {
		const struct np_instance *instance =
			&job->pass->align->instances.item[job->of.item[i]];
		struct clock_order order;
		np_ns room;

		(void)see(job, instance, &order);
		room = order.end - order.start;
		if ((room >= 0 && job->mode == LIST_BROKEN) ||
		    (room < least && !may_be_in_order(job, &order)))
			continue;
		if (job->mode == LIST_BROKEN)
			rc = add_bounds(job, instance, &order);
		else if (room < tightest.end - tightest.start)
			tightest = order;
	}
	if (job->mode == LIST_JOINING && tightest.end < NP_NS_MAX)
		rc = add_bound(job, tightest.before, tightest.after, tightest.end - tightest.start);
	return rc;
}

/* What the instances listed, of one pair or of a communicator, say together. */
static int bind_listed(struct order_job *job)
{
	bool broken = job->mode == LIST_JOINING;
	int rc = NP_OK;

	for (size_t i = 0; i < job->rooms.count; i++)
		broken |= job->rooms.item[i] < 0;
	if (broken && job->rooms.count > 0)
		rc = bind_above(job, least_usual(job->rooms.item, job->rooms.count));
	job->rooms.count = 0;
	job->of.count = 0;
	return rc;
}

static int list_instance(struct order_job *job, uint32_t index, const struct clock_order *order)
{
	np_ns *room = np_vec_add(&job->rooms, &job->err);
	uint32_t *of = room ? np_vec_add(&job->of, &job->err) : NULL;

	if (!of)
		return NP_E_NOMEM;
	*room = order->end - order->start;
	*of = index;
	return NP_OK;
}

/* Messages of one pair and direction lie beside each other, behind all collectives. */
static int list_bounds(struct order_job *job, const struct np_align_communicator *communicator)
{
	uint32_t before = UINT32_MAX;
	uint32_t after = UINT32_MAX;
	int rc = NP_OK;

	for (uint32_t i = 0; i < communicator->count && rc == NP_OK; i++) {
		uint32_t index = communicator->first + i;
		const struct np_instance *instance = &job->pass->align->instances.item[index];
		bool message = instance->rule == NP_RULE_PAIR;
		struct clock_order order;

		if ((job->mode == LIST_JOINING && !message) || !see(job, instance, &order) ||
		    is_related(job, instance) == (job->mode == LIST_JOINING))
			continue;
		if (message &&
		    (rank_of(job, order.before) != before || rank_of(job, order.after) != after)) {
			rc = bind_listed(job);
			before = rank_of(job, order.before);
			after = rank_of(job, order.after);
		}
		if (rc == NP_OK)
			rc = list_instance(job, index, &order);
	}
	return rc == NP_OK ? bind_listed(job) : rc;
}

/* --- all communicators ------------------------------------------------------------------------ */

static void run_job(void *context, size_t index)
{
	const struct order_pool *pool = context;
	struct order_job *job = &pool->jobs[index];
	const struct np_align_communicator *communicator =
		&pool->pass->align->communicators.item[index];

	job->pass = pool->pass;
	job->ranks = pool->ranks;
	job->bent = pool->bent;
	job->mode = pool->mode;
	if (pool->mode == COUNT_BREACHES)
		count_breaches(job, communicator);
	else
		(void)!list_bounds(job, communicator); /* a failure stays in job->err */
	np_vec_release(&job->rooms);
	np_vec_release(&job->of);
}

static int by_pair(const void *left, const void *right)
{
	const struct clock_bound *a = left;
	const struct clock_bound *b = right;

	if (a->before != b->before)
		return a->before < b->before ? -1 : 1;
	if (a->after != b->after)
		return a->after < b->after ? -1 : 1;
	return (a->room > b->room) - (a->room < b->room);
}

void clock_merge_bounds(struct clock_bounds *bounds)
{
	size_t kept = 0;

	if (bounds->list.count > 0)
		qsort(bounds->list.item, bounds->list.count, sizeof(*bounds->list.item), by_pair);
	for (size_t i = 0; i < bounds->list.count; i++) {
		const struct clock_bound *bound = &bounds->list.item[i];
		struct clock_bound *last = kept > 0 ? &bounds->list.item[kept - 1] : NULL;

		if (last && last->before == bound->before && last->after == bound->after)
			last->support += bound->support;
		else
			bounds->list.item[kept++] = *bound;
	}
	bounds->list.count = kept;
}

static int join_job(const struct order_job *job, struct clock_breaches *breaches,
		    struct clock_bounds *bounds, struct np_err *err)
{
	if (job->err.code != NP_OK)
		return np_fail(err, job->err.code, "%s", job->err.text);
	breaches->count += job->breaches.count;
	if (job->breaches.worst > breaches->worst)
		breaches->worst = job->breaches.worst;
	for (size_t i = 0; i < job->bounds.count; i++) {
		struct clock_bound *bound = np_vec_add(&bounds->list, err);

		if (!bound)
			return NP_E_NOMEM;
		*bound = job->bounds.item[i];
	}
	return NP_OK;
}

static void fill_ranks(struct order_pool *pool)
{
	for (size_t i = 0; i < pool->pass->clock->rank_count; i++) {
		const struct np_rank *rank = pool->pass->align->run->ranks[i];
		const struct np_clock_rank *clock = &pool->pass->clock->ranks[i];

		pool->bent |= clock->knot_count > 1;
		pool->ranks[i].ops = rank ? rank->ops.item : NULL;
		pool->ranks[i].map = (struct clock_map){ clock->knots->local, clock->knots->offset,
							 clock->drift };
	}
}

static int run(const struct clock_pass *pass, enum order_mode mode, struct clock_breaches *breaches,
	       struct clock_bounds *bounds, struct np_err *err)
{
	size_t count = pass->align->communicators.count;
	struct np_workers workers = { .threads = pass->threads };
	struct order_pool pool = { .pass = pass, .mode = mode };
	int rc = NP_OK;

	pool.jobs = calloc(count + 1, sizeof(*pool.jobs));
	pool.ranks = calloc(pass->clock->rank_count + 1, sizeof(*pool.ranks));
	if (!pool.jobs || !pool.ranks) {
		free(pool.jobs);
		free(pool.ranks);
		return np_fail_nomem(err, "clocks");
	}
	fill_ranks(&pool);
	np_workers_run(&workers, count, run_job, &pool);
	for (size_t i = 0; i < count; i++) {
		if (rc == NP_OK)
			rc = join_job(&pool.jobs[i], breaches, bounds, err);
		np_vec_release(&pool.jobs[i].bounds);
	}
	free(pool.jobs);
	free(pool.ranks);
	if (rc == NP_OK)
		clock_merge_bounds(bounds);
	return rc;
}

int clock_count_breaches(const struct clock_pass *pass, struct clock_breaches *ret,
			 struct np_err *err)
{
	struct clock_bounds none = { 0 };

	*ret = (struct clock_breaches){ 0 };
	return run(pass, COUNT_BREACHES, ret, &none, err);
}

int clock_broken_bounds(const struct clock_pass *pass, struct clock_bounds *ret, struct np_err *err)
{
	struct clock_breaches none = { 0 };

	ret->list.count = 0;
	return run(pass, LIST_BROKEN, &none, ret, err);
}

int clock_joining_bounds(const struct clock_pass *pass, struct clock_bounds *ret,
			 struct np_err *err)
{
	struct clock_breaches none = { 0 };

	ret->list.count = 0;
	return run(pass, LIST_JOINING, &none, ret, err);
}
