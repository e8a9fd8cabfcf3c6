/* SPDX-License-Identifier: Apache-2.0 */
/* Members of instances that were not profiled: when they came, as far as others show it. */
#include "replay_program.h"

#include "npuprof/align.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"

/*
 * Where a rank was not profiled an operator of its communicator takes from the last start that
 * is known to its end: the transfer, and perhaps waiting for that rank. A transfer takes as
 * long as those of operators like it of which all members are known, or as its sub-tasks say,
 * so the rest is waiting, and tells when the rank came. What it did before is then known as
 * well: from the end of its last operator on it worked. So it has a place in the program, and
 * comes earlier where its last operator ends earlier; but nobody can repair it.
 */

/* An instance with all that makes it like others, and what it took from the last start on. */
struct absent_alike {
	np_str type;
	uint16_t bytes; /* class */
	bool complete;
	uint32_t expected;
	uint32_t instance;
	np_ns time;
};

/* What an instance with members that were not profiled tells of them. */
struct absent_event {
	np_ns time;
	uint32_t instance;
	bool came; /* false: the instance has ended */
};

struct absence {
	struct np_replay *replay;
	const struct np_align *align;
	NP_VEC(int32_t) profiled; /* ids, ascending */
	NP_VEC(int32_t) absent;   /* likewise, of members of communicators */
	uint32_t *last;           /* by absent rank: slot of the instance that it left last */
	NP_VEC(struct absent_alike) alike; /* by likeness, complete ones first, then time */
	NP_VEC(struct absent_event) events;
	struct np_err *err;
};

/* Of a communicator so many are asked when they left their last operator. */
#define MOST_ABSENT 64

/* Instances that must be like one of which not all members are known, where none is complete. */
#define FEWEST_ALIKE 4

/* Stands for all of a communicator that nothing names: below the ids of ranks. */
static int32_t stranger_of(size_t communicator)
{
	return INT32_MIN + (int32_t)communicator;
}

static int by_id(const void *left, const void *right)
{
	const int32_t *a = left;
	const int32_t *b = right;

	return (*a > *b) - (*a < *b);
}

static size_t find_id(const int32_t *list, size_t count, int32_t id)
{
	size_t at = np_lower_bound(i, (size_t)0, count, list[i] >= id);

	return at < count && list[at] == id ? at : SIZE_MAX;
}

static bool is_profiled(const struct absence *all, int32_t id)
{
	return find_id(all->profiled.item, all->profiled.count, id) != SIZE_MAX;
}

static int find_profiled(struct absence *all)
{
	const struct np_run *run = all->align->run;

	for (size_t i = 0; i < run->sources.count; i++) {
		int32_t *id = run->ranks[i] ? np_vec_add(&all->profiled, all->err) : NULL;

		if (id)
			*id = run->ranks[i]->id;
		else if (run->ranks[i])
			return NP_E_NOMEM;
	}
	if (all->profiled.count > 0)
		qsort(all->profiled.item, all->profiled.count, sizeof(int32_t), by_id);
	return NP_OK;
}

static int add_id(struct absence *all, int32_t id)
{
	int32_t *added = np_vec_add(&all->absent, all->err);

	if (!added)
		return NP_E_NOMEM;
	*added = id;
	return NP_OK;
}

static int find_absent(struct absence *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->align->communicators.count; i++) {
		const struct np_align_communicator *each = &all->align->communicators.item[i];
		size_t found = 0;

		if (!each->members && (!each->size_known || each->observed < each->size) &&
		    add_id(all, stranger_of(i)) < 0)
			return NP_E_NOMEM;
		for (size_t j = 0; each->members && j < each->member_count && found < MOST_ABSENT;
		     j++) {
			if (is_profiled(all, each->members[j]))
				continue;
			if (add_id(all, each->members[j]) < 0)
				return NP_E_NOMEM;
			found++;
		}
	}
	if (all->absent.count > 0)
		qsort(all->absent.item, all->absent.count, sizeof(int32_t), by_id);
	for (size_t i = 0; i < all->absent.count; i++) {
		if (kept == 0 || all->absent.item[i] != all->absent.item[kept - 1])
			all->absent.item[kept++] = all->absent.item[i];
	}
	all->absent.count = kept;
	return NP_OK;
}

/* The other end of a message; -1 when it is not known. */
static int32_t other_end(const struct absence *all, const struct np_instance *instance)
{
	const struct np_member *member = &all->align->members[instance->first];
	const struct np_align_communicator *each =
		&all->align->communicators.item[instance->communicator];
	uint16_t peer = np_align_peer(all->align, member->rank, member->op);

	if (peer == 0 || peer == NP_PEERS || !each->members || peer > each->member_count)
		return -1;
	return each->members[peer - 1];
}

/*
 * The absent members of an instance, as indexes of `absent`. None where all are known. Where
 * nothing tells who the others are, they are one.
 */
static size_t absent_of(const struct absence *all, const struct np_instance *instance,
			size_t ret[MOST_ABSENT])
{
	const struct np_align_communicator *each =
		&all->align->communicators.item[instance->communicator];
	size_t count = 0;

	if (np_instance_complete(instance))
		return 0;
	if (!each->members) {
		ret[0] = instance->rule != NP_RULE_ALL
				 ? SIZE_MAX
				 : find_id(all->absent.item, all->absent.count,
					   stranger_of(instance->communicator));
		return ret[0] != SIZE_MAX;
	}
	if (instance->rule == NP_RULE_PAIR) {
		int32_t id = instance->count == 1 ? other_end(all, instance) : -1;

		ret[0] = id < 0 ? SIZE_MAX : find_id(all->absent.item, all->absent.count, id);
		return ret[0] != SIZE_MAX;
	}
	for (size_t i = 0; i < each->member_count && count < MOST_ABSENT; i++) {
		size_t at = find_id(all->absent.item, all->absent.count, each->members[i]);

		if (at != SIZE_MAX)
			ret[count++] = at;
	}
	return count;
}

/* --- transfers ------------------------------------------------------------------------------- */

static int order_alike(const struct absent_alike *a, const struct absent_alike *b)
{
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->expected != b->expected)
		return a->expected < b->expected ? -1 : 1;
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int by_likeness(const void *left, const void *right)
{
	const struct absent_alike *a = left;
	const struct absent_alike *b = right;
	int order = order_alike(a, b);

	if (order == 0)
		order = b->complete - a->complete;
	if (order == 0)
		order = np_order(a->time, b->time);
	return order != 0 ? order : np_order(a->instance, b->instance);
}

static np_ns last_end(const struct np_replay *replay, const struct np_instance *instance,
		      uint32_t *ret_slot)
{
	np_ns last = -NP_NS_MAX;

	for (uint32_t i = instance->first; i < instance->first + instance->count; i++) {
		if (replay->ops[i].end <= last)
			continue;
		last = replay->ops[i].end;
		*ret_slot = i;
	}
	return last;
}

static bool is_measured(const struct np_align *align, const struct np_instance *instance)
{
	if (instance->flags & NP_INSTANCE_MISMATCH)
		return false;
	if (instance->flags & NP_INSTANCE_OPEN)
		return np_align_transfer(align, instance) != NP_UNKNOWN;
	return instance->rule == NP_RULE_ALL || instance->rule == NP_RULE_PAIR ||
	       instance->rule == NP_RULE_PAIRWISE;
}

static int list_alike(struct absence *all)
{
	for (uint32_t i = 0; i < all->align->instances.count; i++) {
		const struct np_instance *instance = &all->align->instances.item[i];
		struct absent_alike *each;
		uint32_t slot;

		if (!is_measured(all->align, instance))
			continue;
		each = np_vec_add(&all->alike, all->err);
		if (!each)
			return NP_E_NOMEM;
		*each = (struct absent_alike){
			.type = instance->type,
			.bytes = instance->bytes > 0 ? np_transfer_class(instance->bytes) : 0,
			.complete = np_instance_complete(instance),
			.expected = instance->expected,
			.instance = i,
			.time = last_end(all->replay, instance, &slot) -
				np_replay_last_start(all->replay, instance),
		};
	}
	if (all->alike.count > 0)
		qsort(all->alike.item, all->alike.count, sizeof(*all->alike.item), by_likeness);
	return NP_OK;
}

/*
 * What the transfers of like instances take: the median where all members are known, else
 * little more than the shortest, in which nobody was waited for; NP_UNKNOWN for too few.
 */
struct usual {
	np_ns complete;
	np_ns shortest;
};

static struct usual usual_transfer(const struct absent_alike *list, size_t count)
{
	size_t complete = 0;

	while (complete < count && list[complete].complete)
		complete++;
	return (struct usual){
		.complete = complete > 0 ? list[(complete - 1) / 2].time : NP_UNKNOWN,
		.shortest = count < FEWEST_ALIKE ? NP_UNKNOWN : list[count / 10].time,
	};
}

/* Of one instance. How many members an open one has is not known: it may be like no other. */
static np_ns transfer_of(const struct absence *all, uint32_t index, const struct usual *usual)
{
	const struct np_instance *instance = &all->align->instances.item[index];
	np_ns recorded = np_align_transfer(all->align, instance);

	if (instance->flags & NP_INSTANCE_OPEN)
		return recorded;
	if (usual->complete != NP_UNKNOWN)
		return usual->complete;
	return recorded != NP_UNKNOWN ? recorded : usual->shortest;
}

/* --- when they came -------------------------------------------------------------------------- */

/* What an operator takes longer than usual is waiting from here on: a quarter, or 10 us. */
static np_ns unusual(np_ns transfer)
{
	return transfer / 4 > 10000 ? transfer / 4 : 10000;
}

static int add_event(struct absence *all, np_ns time, uint32_t instance, bool came)
{
	struct absent_event *event = np_vec_add(&all->events, all->err);

	if (!event)
		return NP_E_NOMEM;
	*event = (struct absent_event){ time, instance, came };
	return NP_OK;
}

static int settle(struct absence *all, const struct np_instance *instance, np_ns came)
{
	for (uint32_t i = instance->first; i < instance->first + instance->count; i++) {
		struct np_replay_settled *settled = np_vec_add(&all->replay->settled, all->err);

		if (!settled)
			return NP_E_NOMEM;
		*settled = (struct np_replay_settled){ .after = all->replay->ops[i].end - came,
						       .slot = i,
						       .wait = WAIT_LAST };
	}
	return NP_OK;
}

/* Of a batch it is known already what it waits for. */
static bool is_settled(const struct np_replay *replay, size_t known,
		       const struct np_instance *instance)
{
	const struct np_replay_settled *list = replay->settled.item;
	size_t at = np_lower_bound(i, (size_t)0, known, list[i].slot >= instance->first);

	return at < known && list[at].slot - instance->first < instance->count;
}

/* One instance: when it ended, and when those came that it waited for. */
static int see_instance(struct absence *all, uint32_t index, np_ns transfer, size_t known)
{
	const struct np_instance *instance = &all->align->instances.item[index];
	size_t absent[MOST_ABSENT];
	np_ns first = NP_NS_MAX;
	np_ns came;
	uint32_t slot = 0;
	int rc;

	if (absent_of(all, instance, absent) == 0 ||
	    !np_replay_has_step(all->replay, instance->step))
		return NP_OK;
	rc = add_event(all, last_end(all->replay, instance, &slot), index, false);
	if (rc < 0 || transfer == NP_UNKNOWN || is_settled(all->replay, known, instance))
		return rc;
	for (uint32_t i = instance->first; i < instance->first + instance->count; i++)
		first = all->replay->ops[i].end < first ? all->replay->ops[i].end : first;
	came = first - transfer;
	if (came - np_replay_last_start(all->replay, instance) <= unusual(transfer))
		return NP_OK;
	rc = add_event(all, came, index, true);
	return rc < 0 ? rc : settle(all, instance, came);
}

static int see_instances(struct absence *all)
{
	size_t known = all->replay->settled.count;
	size_t count = all->alike.count;
	int rc = NP_OK;

	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		struct usual usual;

		while (to < count && order_alike(&all->alike.item[from], &all->alike.item[to]) == 0)
			to++;
		usual = usual_transfer(&all->alike.item[from], to - from);
		for (size_t i = from; i < to && rc == NP_OK; i++) {
			uint32_t index = all->alike.item[i].instance;

			if (!all->alike.item[i].complete)
				rc = see_instance(all, index, transfer_of(all, index, &usual),
						  known);
		}
	}
	return rc;
}

/* --- where they came from -------------------------------------------------------------------- */

/* What has ended at a time has ended when somebody comes then. */
static int by_time(const void *left, const void *right)
{
	const struct absent_event *a = left;
	const struct absent_event *b = right;

	if (a->time != b->time)
		return np_order(a->time, b->time);
	if (a->came != b->came)
		return a->came - b->came;
	return np_order(a->instance, b->instance);
}

static int by_instance(const void *left, const void *right)
{
	const struct np_replay_absent *a = left;
	const struct np_replay_absent *b = right;

	return np_order(a->instance, b->instance);
}

/* Behind the last instance that any of them left. */
static int add_absent(struct absence *all, const struct absent_event *event, const size_t *absent,
		      size_t count)
{
	struct np_replay_absent *added = np_vec_add(&all->replay->absent, all->err);
	uint32_t behind = NO_SLOT;
	np_ns left = all->replay->first - 1; /* when all began */

	if (!added)
		return NP_E_NOMEM;
	for (size_t i = 0; i < count; i++) {
		uint32_t slot = all->last[absent[i]];

		if (slot != NO_SLOT && (behind == NO_SLOT || all->replay->ops[slot].end > left)) {
			behind = slot;
			left = all->replay->ops[slot].end;
		}
	}
	*added = (struct np_replay_absent){
		.gap = event->time > left ? event->time - left : 0,
		.instance = event->instance,
		.behind = behind,
	};
	return NP_OK;
}

static int place_all(struct absence *all)
{
	struct np_replay *replay = all->replay;
	int rc = NP_OK;

	if (all->events.count > 0)
		qsort(all->events.item, all->events.count, sizeof(*all->events.item), by_time);
	for (size_t i = 0; i < all->events.count && rc == NP_OK; i++) {
		const struct absent_event *event = &all->events.item[i];
		const struct np_instance *instance = &all->align->instances.item[event->instance];
		size_t absent[MOST_ABSENT];
		size_t count = absent_of(all, instance, absent);
		uint32_t slot = NO_SLOT;

		if (event->came) {
			rc = add_absent(all, event, absent, count);
			continue;
		}
		(void)last_end(replay, instance, &slot);
		for (size_t j = 0; j < count; j++)
			all->last[absent[j]] = slot;
	}
	if (replay->absent.count > 0)
		qsort(replay->absent.item, replay->absent.count, sizeof(*replay->absent.item),
		      by_instance);
	return rc;
}

int replay_settle_absent(struct np_replay *replay, struct np_err *err)
{
	struct absence all = { .replay = replay, .align = replay->align, .err = err };
	int rc = find_profiled(&all);

	if (rc == NP_OK)
		rc = find_absent(&all);
	if (rc == NP_OK && all.absent.count > 0) {
		all.last = malloc(all.absent.count * sizeof(*all.last));
		rc = all.last ? list_alike(&all) : np_fail_nomem(err, "the replay");
		for (size_t i = 0; rc == NP_OK && i < all.absent.count; i++)
			all.last[i] = NO_SLOT;
		if (rc == NP_OK)
			rc = see_instances(&all);
		if (rc == NP_OK)
			rc = place_all(&all);
	}
	np_vec_release(&all.profiled);
	np_vec_release(&all.absent);
	np_vec_release(&all.alike);
	np_vec_release(&all.events);
	free(all.last);
	return rc;
}
