/* SPDX-License-Identifier: Apache-2.0 */
/* The marks of all ranks in one order, in which nothing comes before what it waits for. */
#include "replay_program.h"

#include "replay_run.h"

#include "npuprof/align.h"
#include "npuprof/order.h"

/* An operator: what has come of it. */
struct underway {
	uint32_t room;  /* NO_ROOM before its start */
	uint32_t ended; /* room of its end, where that waits for nobody else; NO_ROOM before */
	uint32_t ahead; /* slot of the operator that queues behind it, or NO_SLOT */
	uint32_t rank;
	uint32_t looks; /* how often its room is still looked into */
};

/* The marks of all ranks while they are brought into one order. */
struct ordering {
	struct np_replay *replay;
	const rank_marks *ranks;
	uint32_t *next_mark;   /* by rank */
	uint32_t *waiting_for; /* by rank: instance */
	uint32_t *left;        /* by instance: members that have not started */
	struct underway *ops;  /* by slot */
	uint32_t *ready;       /* ranks that can go on */
	size_t ready_count;
	uint32_t *complete; /* instances that all have started, and that are not done yet */
	size_t complete_count;
	struct np_replay_absent **absent; /* that come behind an operator, by its instance */
	size_t absent_count;
	NP_VEC(uint32_t) free_rooms;
	struct replay_state untouched; /* as far as it is known, once a rank had to be forced */
	struct np_err *err;
	int rc;
};

/* --- rooms ----------------------------------------------------------------------------------- */

static uint32_t take_room(struct ordering *all)
{
	if (all->free_rooms.count > 0)
		return all->free_rooms.item[--all->free_rooms.count];
	return all->replay->rooms++;
}

static void free_room(struct ordering *all, uint32_t room)
{
	uint32_t *freed = np_vec_add(&all->free_rooms, all->err);

	if (freed)
		*freed = room;
	else
		all->rc = NP_E_NOMEM;
}

static bool is_done(const struct ordering *all, uint32_t slot)
{
	return all->left[all->replay->ops[slot].instance] == 0;
}

/* Has it ended, as far as its own rank goes? */
static bool has_ended(const struct ordering *all, uint32_t slot)
{
	return all->ops[slot].ended != NO_ROOM || is_done(all, slot);
}

/* The room that has the end of an operator. */
static uint32_t end_room(const struct ordering *all, uint32_t slot)
{
	return all->ops[slot].ended != NO_ROOM ? all->ops[slot].ended : all->ops[slot].room;
}

static void free_unless_needed(struct ordering *all, uint32_t slot)
{
	if (all->ops[slot].looks == 0 && has_ended(all, slot))
		free_room(all, end_room(all, slot));
}

/* The room of an operator was looked into. */
static void look(struct ordering *all, uint32_t slot)
{
	all->ops[slot].looks--;
	free_unless_needed(all, slot);
}

/* --- marks ----------------------------------------------------------------------------------- */

static struct np_replay_mark *add_mark(struct ordering *all, enum mark_kind kind, uint32_t slot)
{
	size_t capacity = all->replay->marks.capacity;
	struct np_replay_mark *mark = np_vec_add(&all->replay->marks, all->err);

	if (mark && all->replay->marks.capacity != capacity) {
		uint32_t *more = realloc(all->replay->mark_slots,
					 all->replay->marks.capacity * sizeof(*more));

		if (more)
			all->replay->mark_slots = more;
		else
			mark = NULL;
	}
	if (!mark) {
		all->rc = np_fail_nomem(all->err, "the replay");
		return NULL;
	}
	mark->kind = kind & 7;
	all->replay->mark_slots[all->replay->marks.count - 1] = slot;
	return mark;
}

/* A mark of a rank comes next. */
static void take_mark(struct ordering *all, const struct np_replay_mark *from, enum mark_kind kind)
{
	struct np_replay_mark *mark = add_mark(all, kind, from->slot);

	if (!mark)
		return;
	memcpy(mark->work, from->work, sizeof(mark->work));
	mark->cell = from->cell;
	if (kind == MARK_BEGIN)
		mark->room = from->slot;
	else if (kind == MARK_BLOCK)
		mark->room = end_room(all, from->slot);
	else
		mark->room = kind == MARK_STEP || kind == MARK_WORK ? 0 : all->ops[from->slot].room;
}

/* An operator starts when another one has ended. */
static void queue(struct ordering *all, uint32_t slot, uint32_t behind)
{
	const struct np_replay_op *ops = all->replay->ops;
	struct np_replay_mark *mark = add_mark(all, MARK_QUEUE, slot);

	if (!mark)
		return;
	mark->cell = QUEUE_START;
	mark->room = all->ops[slot].room;
	mark->behind = end_room(all, behind);
	mark->gap = (uint32_t)(ops[slot].start - ops[behind].end);
	look(all, behind);
}

/* --- instances ------------------------------------------------------------------------------- */

/*
 * A message that its sender puts into a buffer: that is done before anybody else has come.
 * Otherwise two ranks whose messages of both directions share a queue would stand for ever.
 */
static bool ends_alone(const struct ordering *all, uint32_t slot, np_ns *ret_after)
{
	const struct np_replay *replay = all->replay;
	const struct np_instance *instance =
		&replay->align->instances.item[replay->ops[slot].instance];

	return all->ops[slot].looks > 0 && instance->rule == NP_RULE_PAIR && instance->count == 2 &&
	       replay_wait(replay, instance, slot, np_replay_last_start(replay, instance),
			   ret_after) == WAIT_SELF &&
	       *ret_after >= 0 && *ret_after <= UINT32_MAX;
}

static void end_alone(struct ordering *all, uint32_t slot, np_ns after)
{
	uint32_t rank = all->ops[slot].rank;
	struct np_replay_mark *mark;

	all->ops[slot].ended = take_room(all);
	mark = add_mark(all, MARK_QUEUE, slot);
	if (!mark)
		return;
	mark->cell = QUEUE_END;
	mark->room = all->ops[slot].ended;
	mark->behind = all->ops[slot].room;
	mark->gap = (uint32_t)after;
	if (all->waiting_for[rank] == all->replay->ops[slot].instance) {
		all->waiting_for[rank] = UINT32_MAX;
		all->ready[all->ready_count++] = rank;
	}
}

/*
 * An operator starts; if it is the last of its instance, that is to be finished. Where it
 * ends alone, what queues behind it starts as well.
 */
static void arrive(struct ordering *all, uint32_t slot)
{
	for (;;) {
		uint32_t instance = all->replay->ops[slot].instance;
		uint32_t ahead = all->ops[slot].ahead;
		np_ns after;

		if (--all->left[instance] == 0)
			all->complete[all->complete_count++] = instance;
		else if (ends_alone(all, slot, &after))
			end_alone(all, slot, after);
		if (all->ops[slot].ended == NO_ROOM || ahead == NO_SLOT ||
		    all->ops[ahead].room == NO_ROOM || all->rc < 0)
			return;
		queue(all, ahead, slot);
		slot = ahead;
	}
}

/* Who was not profiled comes so long after another operator has ended, or after all began. */
static void come(struct ordering *all, struct np_replay_absent *absent, uint32_t behind)
{
	np_ns left = absent->gap;

	absent->room = all->replay->rooms++;
	do {
		struct np_replay_mark *mark = add_mark(all, MARK_QUEUE, NO_SLOT);

		if (!mark)
			return;
		mark->cell = QUEUE_START;
		mark->room = absent->room;
		mark->behind = behind;
		mark->gap = left > UINT32_MAX ? UINT32_MAX : (uint32_t)left;
		left -= mark->gap;
		/* The rest is added to that. */
		behind = absent->room;
	} while (left > 0);
}

/* The instance has ended: those of its members that were not profiled go on. */
static void come_behind(struct ordering *all, uint32_t index)
{
	size_t first = np_lower_bound(i, (size_t)0, all->absent_count,
				      all->replay->ops[all->absent[i]->behind].instance >= index);

	for (size_t i = first; i < all->absent_count && all->rc == NP_OK; i++) {
		struct np_replay_absent *absent = all->absent[i];

		if (all->replay->ops[absent->behind].instance != index)
			break;
		come(all, absent, all->ops[absent->behind].room);
		if (--all->left[absent->instance] == 0)
			all->complete[all->complete_count++] = absent->instance;
	}
}

static struct np_replay_absent *absent_of(struct ordering *all, uint32_t index)
{
	struct np_replay_absent *list = all->replay->absent.item;
	size_t count = all->replay->absent.count;
	size_t at = np_lower_bound(i, (size_t)0, count, list[i].instance >= index);

	return at < count && list[at].instance == index ? &list[at] : NULL;
}

/* It is there: nothing waits for its end. */
static void add_absent(struct ordering *all, const struct np_replay_absent *absent)
{
	struct np_replay_member *member = np_vec_add(&all->replay->members, all->err);

	if (!member) {
		all->rc = NP_E_NOMEM;
		return;
	}
	*member = (struct np_replay_member){ .room = absent->room & 0x3fffffff, .wait = WAIT_SELF };
}

static void add_members(struct ordering *all, const struct np_instance *instance)
{
	struct np_replay *replay = all->replay;
	np_ns last = np_replay_last_start(replay, instance);

	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t slot = instance->first + i;
		struct np_replay_member *member = np_vec_add(&replay->members, all->err);
		np_ns after;

		if (!member) {
			all->rc = NP_E_NOMEM;
			return;
		}
		member->wait = replay_wait(replay, instance, slot, last, &after) & 3;
		member->room = all->ops[slot].room & 0x3fffffff;
		member->after_low = (uint32_t)after;
		member->after_high = (int32_t)(after >> 32);
		if (member->wait == WAIT_BUFFER) {
			const struct np_replay_settled *settled = replay_settled(replay, slot);

			member->after_low = (uint32_t)settled->own;
			member->after_high = settled->sent;
		}
	}
}

/* The instance is done at its member `slot`: whoever stands still for that, or queues, can go on.
 */
static void release_member(struct ordering *all, uint32_t index, uint32_t slot)
{
	uint32_t ahead = all->ops[slot].ahead;
	uint32_t rank = all->ops[slot].rank;

	if (all->waiting_for[rank] == index) {
		all->waiting_for[rank] = UINT32_MAX;
		all->ready[all->ready_count++] = rank;
	}
	if (all->ops[slot].ended != NO_ROOM) {
		/* Its rank has gone on long ago: the end is in another room. */
		free_room(all, all->ops[slot].room);
	} else if (ahead != NO_SLOT && all->ops[ahead].room != NO_ROOM) {
		queue(all, ahead, slot);
		arrive(all, ahead);
	} else {
		free_unless_needed(all, slot);
	}
}

/* All have started: the instance ends. */
static void finish_instance(struct ordering *all, uint32_t index)
{
	const struct np_instance *instance = &all->replay->align->instances.item[index];
	struct np_replay_absent *absent = absent_of(all, index);
	struct np_replay_mark *mark;

	if (absent && absent->behind == NO_SLOT)
		come(all, absent, all->replay->rooms);
	mark = add_mark(all, MARK_DONE, NO_SLOT);
	if (!mark)
		return;
	mark->instance = index;
	mark->count = instance->count + (absent ? 1 : 0);
	mark->root = NO_ROOM;
	if (instance->root != NP_NO_ROOT)
		mark->root = all->ops[instance->root].room;
	for (uint32_t i = instance->first;
	     instance->rule == NP_RULE_PAIR && i < instance->first + instance->count; i++) {
		const struct np_replay_settled *settled = replay_settled(all->replay, i);

		if (settled && settled->wait == WAIT_BUFFER)
			mark->root = all->ops[replay_other_end(instance, i)].room;
	}
	add_members(all, instance);
	if (absent)
		add_absent(all, absent);
	come_behind(all, index);
	for (uint32_t i = 0; i < instance->count && all->rc == NP_OK; i++)
		release_member(all, index, instance->first + i);
}

/* --- ranks ----------------------------------------------------------------------------------- */

/* An operator starts later than its rank has come there. */
static void start_later(struct ordering *all, uint32_t slot, uint32_t gap)
{
	struct np_replay_mark *mark = add_mark(all, MARK_QUEUE, slot);

	if (!mark)
		return;
	mark->cell = QUEUE_START;
	mark->room = all->ops[slot].room;
	mark->behind = mark->room;
	mark->gap = gap;
}

/*
 * A rank has come to the start of an operator, `lag` before it. One that is held up by
 * another still under way starts when that is over; the rank goes on.
 */
static void start_op(struct ordering *all, const struct np_replay_mark *mark, uint32_t lag)
{
	uint32_t behind = all->replay->ops[mark->slot].behind;

	all->ops[mark->slot].room = take_room(all);
	take_mark(all, mark, MARK_START);
	if (lag > 0)
		start_later(all, mark->slot, lag);
	if (behind != NO_SLOT) {
		if (!has_ended(all, behind))
			return;
		queue(all, mark->slot, behind);
	}
	arrive(all, mark->slot);
	while (all->complete_count > 0 && all->rc == NP_OK)
		finish_instance(all, all->complete[--all->complete_count]);
}

/*
 * Others come before this rank goes on at `mark`: meanwhile what it needs then can
 * come from memory.
 */
static void prefetch(const struct ordering *all, const struct np_replay_mark *mark,
		     const struct np_replay_mark *last)
{
	const struct np_replay_mark *next = mark < last ? mark + 1 : mark;

	__builtin_prefetch(mark + 4);
	if (next->kind == MARK_START) {
		__builtin_prefetch(&all->replay->ops[next->slot]);
		__builtin_prefetch(&all->ops[next->slot], 1);
	}
}

/* Let a rank go as far as it can. */
static void advance(struct ordering *all, uint32_t rank)
{
	const rank_marks *own = &all->ranks[rank];
	uint32_t i = all->next_mark[rank];

	for (; i < own->count && all->rc == NP_OK; i++) {
		const struct np_replay_mark *mark = &own->item[i];

		if (mark->kind == MARK_START) {
			bool later = i + 1 < own->count && mark[1].kind == MARK_QUEUE;

			start_op(all, mark, later ? mark[1].gap : 0);
			i += later;
			continue;
		}
		if (mark->kind == MARK_BLOCK) {
			if (!has_ended(all, mark->slot)) {
				all->waiting_for[rank] = all->replay->ops[mark->slot].instance;
				prefetch(all, mark, mark + (own->count - i - 1));
				break;
			}
		}
		take_mark(all, mark, (enum mark_kind)mark->kind);
		if (mark->kind == MARK_BLOCK)
			look(all, mark->slot);
	}
	all->next_mark[rank] = i;
}

/* A rank goes on as if the operator that it stands still for had taken as long as it did. */
static void go_on(struct ordering *all, uint32_t rank)
{
	struct np_replay *replay = all->replay;
	const struct np_replay_mark *mark = &all->ranks[rank].item[all->next_mark[rank]++];
	np_ns *alone;

	all->waiting_for[rank] = UINT32_MAX;
	all->ready[all->ready_count++] = rank;
	replay->forced++;
	if (all->ops[mark->slot].room == NO_ROOM) {
		take_mark(all, mark, MARK_WORK);
		return;
	}
	take_mark(all, mark, MARK_FORCE);
	look(all, mark->slot);
	alone = np_vec_add(&replay->alone, all->err);
	if (alone)
		*alone = replay->ops[mark->slot].end - replay->ops[mark->slot].start;
	else
		all->rc = NP_E_NOMEM;
}

/*
 * Records that got lost, or matched wrongly, can leave ranks standing. The one
 * that has stood longest, in the scenario as it was, goes on.
 */
static bool force_one(struct ordering *all)
{
	const struct np_replay *replay = all->replay;
	const np_ns *time;
	uint32_t first = UINT32_MAX;
	bool any = false;

	for (uint32_t i = 0; i < replay->align->run->sources.count; i++)
		any |= all->next_mark[i] < all->ranks[i].count;
	if (!any || all->rc < 0)
		return false;
	all->rc = all->untouched.replay ? replay_run_on(&all->untouched, all->err)
					: replay_run(&all->untouched, replay, NULL, all->err);
	if (all->rc < 0)
		return false;
	time = all->untouched.time;
	for (uint32_t i = 0; i < replay->align->run->sources.count; i++) {
		if (all->next_mark[i] < all->ranks[i].count &&
		    (first == UINT32_MAX || time[i] < time[first]))
			first = i;
	}
	go_on(all, first);
	return all->rc == NP_OK;
}

/* --- space ----------------------------------------------------------------------------------- */

/* How often each room will be looked into. Returns how many marks there are. */
static size_t count_looks(struct ordering *all)
{
	size_t count = 0;

	for (size_t i = 0; i < all->replay->align->run->sources.count; i++) {
		const rank_marks *own = &all->ranks[i];

		count += own->count;
		for (size_t j = 0; j < own->count; j++) {
			if (own->item[j].kind == MARK_BLOCK)
				all->ops[own->item[j].slot].looks++;
		}
	}
	return count;
}

/* Who queues behind whom. Returns how many do. */
static size_t see_ops(struct ordering *all)
{
	const struct np_replay *replay = all->replay;
	size_t queued = 0;

	for (uint32_t i = 0; i < replay->align->op_count; i++)
		all->ops[i] = (struct underway){ .room = NO_ROOM,
						 .ended = NO_ROOM,
						 .ahead = NO_SLOT,
						 .rank = replay->align->members[i].rank };
	for (uint32_t i = 0; i < replay->align->op_count; i++) {
		uint32_t behind = replay->ops[i].behind;

		if (behind == NO_SLOT)
			continue;
		all->ops[behind].ahead = i;
		all->ops[behind].looks++;
		queued++;
	}
	return queued;
}

static int find_cell_ranks(struct np_replay *replay, struct np_err *err)
{
	replay->cell_ranks = malloc((replay->cells.count + 1) * sizeof(*replay->cell_ranks));
	if (!replay->cell_ranks)
		return np_fail_nomem(err, "the replay");
	for (size_t i = 0; i < replay->cells.count; i++)
		replay->cell_ranks[i] = replay->cells.item[i].rank;
	return NP_OK;
}

static int by_behind(const void *left, const void *right, void *context)
{
	const struct np_replay *replay = context;
	const struct np_replay_absent *a = *(struct np_replay_absent *const *)left;
	const struct np_replay_absent *b = *(struct np_replay_absent *const *)right;
	uint32_t first = replay->ops[a->behind].instance;
	uint32_t second = replay->ops[b->behind].instance;

	return first != second ? np_order(first, second) : np_order(a->instance, b->instance);
}

/* Instances are waited for also by who was not profiled. */
static int find_absent(struct ordering *all, struct np_err *err)
{
	struct np_replay *replay = all->replay;

	all->absent = malloc((replay->absent.count + 1) * sizeof(struct np_replay_absent *));
	if (!all->absent)
		return np_fail_nomem(err, "the replay");
	for (size_t i = 0; i < replay->absent.count; i++) {
		struct np_replay_absent *each = &replay->absent.item[i];

		if (each->behind == NO_SLOT)
			continue;
		all->absent[all->absent_count++] = each;
		all->left[each->instance]++;
	}
	if (all->absent_count > 0)
		qsort_r(all->absent, all->absent_count, sizeof(struct np_replay_absent *),
			by_behind, replay);
	return NP_OK;
}

static int make_space(struct ordering *all, struct np_err *err)
{
	struct np_replay *replay = all->replay;
	size_t ranks = replay->align->run->sources.count + 1;
	size_t slots = (size_t)replay->align->op_count + 1;
	size_t instances = replay->align->instances.count + 1;

	all->next_mark = calloc(ranks, sizeof(*all->next_mark));
	all->waiting_for = malloc(ranks * sizeof(*all->waiting_for));
	all->left = malloc(instances * sizeof(*all->left));
	all->ops = malloc(slots * sizeof(*all->ops));
	all->ready = malloc(ranks * sizeof(*all->ready));
	all->complete = malloc(instances * sizeof(*all->complete));
	if (!all->next_mark || !all->waiting_for || !all->left || !all->ops || !all->ready ||
	    !all->complete)
		return np_fail_nomem(err, "the replay");
	memset(all->waiting_for, 0xff, ranks * sizeof(*all->waiting_for));
	for (size_t i = 0; i + 1 < instances; i++)
		all->left[i] = replay->align->instances.item[i].count;
	return find_absent(all, err);
}

/* Marks and members are many: space for them once, and not twice while it grows. */
static int make_program(struct ordering *all, size_t of_ranks, size_t queued, struct np_err *err)
{
	struct np_replay *replay = all->replay;
	size_t marks = of_ranks + replay->align->instances.count + queued + 1;
	size_t slots = (size_t)replay->align->op_count + 1;

	replay->marks.item = malloc(marks * sizeof(*replay->marks.item));
	replay->mark_slots = malloc(marks * sizeof(*replay->mark_slots));
	replay->members.item = malloc(slots * sizeof(*replay->members.item));
	if (!replay->marks.item || !replay->mark_slots || !replay->members.item)
		return np_fail_nomem(err, "the replay");
	replay->marks.capacity = marks;
	replay->members.capacity = slots;
	return NP_OK;
}

static void ordering_release(struct ordering *all)
{
	free(all->next_mark);
	free(all->waiting_for);
	free(all->left);
	free(all->ops);
	free(all->ready);
	free(all->complete);
	free(all->absent);
	np_vec_release(&all->free_rooms);
	replay_release(&all->untouched);
}

static void order_all(struct ordering *all)
{
	/* The first rank is on top. */
	for (uint32_t i = (uint32_t)all->replay->align->run->sources.count; i-- > 0;)
		all->ready[all->ready_count++] = i;
	do {
		while (all->ready_count > 0 && all->rc == NP_OK)
			advance(all, all->ready[--all->ready_count]);
	} while (force_one(all));
}

int replay_order(struct np_replay *replay, const rank_marks *ranks, struct np_err *err)
{
	struct ordering all = { .replay = replay, .ranks = ranks, .err = err };

	all.rc = find_cell_ranks(replay, err);
	if (all.rc == NP_OK)
		all.rc = make_space(&all, err);
	if (all.rc == NP_OK) {
		size_t queued = see_ops(&all);

		all.rc = make_program(&all, count_looks(&all), queued, err);
	}
	if (all.rc == NP_OK)
		order_all(&all);
	ordering_release(&all);
	return all.rc;
}
