/* SPDX-License-Identifier: Apache-2.0 */
/* What the members of an instance wait for, and how long it then takes. */
#include "replay_program.h"

#include "npuprof/align.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"

/* Text files have one time in several roundings. */
#define ROUNDED_NS 1000

np_ns np_replay_last_start(const struct np_replay *replay, const struct np_instance *instance)
{
	np_ns last = -NP_NS_MAX;

	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns start = replay->ops[instance->first + i].start;

		last = start > last ? start : last;
	}
	return last;
}

static np_ns first_end(const struct np_replay *replay, const struct np_instance *instance)
{
	np_ns first = NP_NS_MAX;

	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns end = replay->ops[instance->first + i].end;

		first = end < first ? end : first;
	}
	return first;
}

static bool is_receive(const struct np_align *align, uint32_t slot)
{
	const char *type = np_run_text(align->run, np_align_op(align, slot)->type);

	return type && strncmp(type, "hcom_receive", 12) == 0;
}

static enum member_wait wait_by_rule(const struct np_instance *instance, uint32_t slot)
{
	if (instance->root == NP_NO_ROOT)
		return WAIT_LAST;
	if (instance->rule == NP_RULE_TO_ROOT)
		return slot == instance->root ? WAIT_LAST : WAIT_SELF;
	return instance->rule == NP_RULE_FROM_ROOT ? WAIT_ROOT : WAIT_LAST;
}

/* Does a member never end before what it waits for has come, whatever the clocks show? */
static bool must_wait(const struct np_align *align, const struct np_instance *instance,
		      uint32_t slot)
{
	if (instance->flags & NP_INSTANCE_MISMATCH)
		return false;
	switch ((enum np_rule)instance->rule) {
	case NP_RULE_ALL:
		return true;
	case NP_RULE_FROM_ROOT:
	case NP_RULE_TO_ROOT:
		return instance->root != NP_NO_ROOT;
	case NP_RULE_PAIR:
		return is_receive(align, slot);
	case NP_RULE_PAIRWISE:
		break;
	}
	return false;
}

const struct np_replay_settled *replay_settled(const struct np_replay *replay, uint32_t slot)
{
	const struct np_replay_settled *list = replay->settled.item;
	size_t at;

	if (replay->settled.count == 0)
		return NULL;
	at = np_lower_bound(i, (size_t)0, replay->settled.count, list[i].slot >= slot);
	return at < replay->settled.count && list[at].slot == slot ? &list[at] : NULL;
}

/*
 * Members that are gone before the last has come did not wait for it: messages
 * into a buffer, uneven exchanges. They take as long as they did, and so do
 * operators of which no other member was recorded. Where that cannot be it is the
 * clocks that are wrong: the member waited, and the transfer took no time. What the
 * end shows too early is kept, since the clocks show what comes later as much too early.
 */
static enum member_wait wait_as_seen(const struct np_replay *replay,
				     const struct np_instance *instance, uint32_t slot, np_ns last,
				     np_ns *ret_after)
{
	const struct np_replay_op *op = &replay->ops[slot];
	enum member_wait wait = wait_by_rule(instance, slot);
	np_ns from = wait == WAIT_LAST ? last : op->start;

	if (wait == WAIT_ROOT && replay->ops[instance->root].start > from)
		from = replay->ops[instance->root].start;
	if (instance->count < 2 || (op->end < from && !must_wait(replay->align, instance, slot))) {
		wait = WAIT_SELF;
		from = op->start;
	}
	*ret_after = op->end - from;
	return wait;
}

uint32_t replay_receive(const struct np_replay *replay, const struct np_instance *instance)
{
	const struct np_align *align = replay->align;

	if (instance->rule != NP_RULE_PAIR || instance->count != 2 ||
	    (instance->flags & NP_INSTANCE_MISMATCH) || replay_settled(replay, instance->first) ||
	    replay_settled(replay, instance->first + 1))
		return NO_SLOT;
	for (uint32_t slot = instance->first; slot < instance->first + 2; slot++) {
		if (is_receive(align, slot) && !is_receive(align, replay_other_end(instance, slot)))
			return slot;
	}
	return NO_SLOT;
}

enum member_wait replay_wait(const struct np_replay *replay, const struct np_instance *instance,
			     uint32_t slot, np_ns last, np_ns *ret_after)
{
	const struct np_replay_settled *settled = replay_settled(replay, slot);

	if (!settled)
		return wait_as_seen(replay, instance, slot, last, ret_after);
	*ret_after = settled->after;
	return (enum member_wait)settled->wait;
}

np_ns np_replay_transfer(const struct np_replay *replay, const struct np_instance *instance)
{
	np_ns last = np_replay_last_start(replay, instance);
	np_ns sum = 0;

	if (instance->count < 2)
		return NP_UNKNOWN;
	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t slot = instance->first + i;
		const struct np_replay_settled *settled = replay_settled(replay, slot);
		np_ns own = settled ? settled->after : replay->ops[slot].end - last;

		sum += own > 0 ? own : 0;
	}
	return sum / instance->count;
}

/* --- settling -------------------------------------------------------------------------------- */

struct member_settling {
	struct np_replay *replay;
	const struct np_align *align;
	struct np_err *err;
};

static int settle(struct member_settling *all, uint32_t slot, enum member_wait wait, np_ns after)
{
	struct np_replay_settled *settled = np_vec_add(&all->replay->settled, all->err);

	if (!settled)
		return NP_E_NOMEM;
	*settled = (struct np_replay_settled){ .after = after, .slot = slot, .wait = wait };
	return NP_OK;
}

static int by_slot(const void *left, const void *right)
{
	const struct np_replay_settled *a = left;
	const struct np_replay_settled *b = right;

	return (a->slot > b->slot) - (a->slot < b->slot);
}

static void sort_settled(struct np_replay *replay)
{
	if (replay->settled.count > 0)
		qsort(replay->settled.item, replay->settled.count, sizeof(*replay->settled.item),
		      by_slot);
}

/* --- batches of messages --------------------------------------------------------------------- */

/* A message of a batch, as one of its ends shows it. */
struct message {
	uint32_t slot;
	np_ns last;  /* start of both ends */
	np_ns bound; /* it was done by then */
	int64_t bytes;
};

#define MOST_MESSAGES 16

static struct message message_of(const struct np_replay *replay, uint32_t slot)
{
	const struct np_instance *instance =
		&replay->align->instances.item[replay->ops[slot].instance];

	return (struct message){ .slot = slot,
				 .last = np_replay_last_start(replay, instance),
				 .bound = first_end(replay, instance),
				 .bytes = instance->bytes };
}

/* Of messages that may have ended it, the one that began last; else the one that was done last. */
static const struct message *ends_batch(const struct message *list, size_t count, np_ns end)
{
	const struct message *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (list[i].bound >= end - ROUNDED_NS && list[i].last <= end &&
		    (!found || list[i].last > found->last))
			found = &list[i];
	}
	for (size_t i = 0; i < count && (!found || found->bound < end - ROUNDED_NS); i++) {
		if (list[i].last <= end && (!found || list[i].bound > found->bound))
			found = &list[i];
	}
	return found;
}

/*
 * Messages that were given to the library together show one interval, up to the end of the
 * last of them: all others were done by the time that their other ends were, and took no
 * longer than the last did. One whose other end came later went into a buffer.
 */
static int settle_batch(struct member_settling *all, const struct message *list, size_t count)
{
	np_ns end = all->replay->ops[list->slot].end;
	const struct message *last = ends_batch(list, count, end);
	int rc = NP_OK;

	for (size_t i = 0; last && i < count && rc == NP_OK; i++) {
		const struct message *each = &list[i];
		np_ns after = each->bound - each->last;

		if (each == last)
			continue;
		if (each->last > end && !is_receive(all->align, each->slot)) {
			rc = settle(all, each->slot, WAIT_SELF, 0);
			continue;
		}
		if (each->bytes <= last->bytes && after > end - last->last)
			after = end - last->last;
		rc = settle(all, each->slot, WAIT_LAST, after);
	}
	return rc;
}

static bool is_batched(const struct np_comm_op *a, const struct np_comm_op *b)
{
	return b->p2p && a->device == b->device && llabs(b->start - a->start) <= ROUNDED_NS &&
	       llabs(b->end - a->end) <= ROUNDED_NS;
}

static bool is_message(const struct member_settling *all, uint32_t slot)
{
	return all->align->instances.item[all->replay->ops[slot].instance].rule == NP_RULE_PAIR;
}

static int settle_batches(struct member_settling *all, uint32_t index)
{
	const struct np_rank *rank = all->align->run->ranks[index];
	int rc = NP_OK;

	for (uint32_t i = 0; i < rank->ops.count && rc == NP_OK; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct message list[MOST_MESSAGES];
		size_t count = 0;
		uint32_t next = i + 1;

		if (!op->p2p)
			continue;
		/* Sorted by start: the first of a batch meets all others. */
		while (next < rank->ops.count && is_batched(op, &rank->ops.item[next]))
			next++;
		for (uint32_t j = i; next > i + 1 && j < next && count < MOST_MESSAGES; j++) {
			uint32_t slot = np_align_slot(all->align, index, j);

			if (is_message(all, slot))
				list[count++] = message_of(all->replay, slot);
		}
		if (count > 1)
			rc = settle_batch(all, list, count);
		i = next - 1;
	}
	return rc;
}

int replay_settle_members(struct np_replay *replay, struct np_err *err)
{
	struct member_settling all = { .replay = replay, .align = replay->align, .err = err };
	int rc = NP_OK;

	for (uint32_t i = 0; i < replay->align->run->sources.count && rc == NP_OK; i++) {
		if (replay->align->run->ranks[i])
			rc = settle_batches(&all, i);
	}
	sort_settled(replay);
	if (rc == NP_OK)
		rc = replay_settle_buffered(replay, err);
	sort_settled(replay);
	if (rc == NP_OK)
		rc = replay_settle_absent(replay, err);
	sort_settled(replay);
	return rc;
}
