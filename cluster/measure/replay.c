/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_private.h"

void np_replay_free(struct np_replay *replay)
{
	if (!replay)
		return;
	np_vec_release(&replay->cells);
	np_vec_release(&replay->marks);
	free(replay->ranks);
	free(replay->ops);
	free(replay->mark_slots);
	np_vec_release(&replay->members);
	np_vec_release(&replay->alone);
	free(replay->cell_ranks);
	free(replay);
}

void np_replay_freep(struct np_replay **replay)
{
	np_replay_free(*replay);
}

static void see_ops(struct np_replay *replay, const struct np_clock *clock)
{
	const struct np_align *align = replay->align;

	for (uint32_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];

		for (uint32_t j = 0; j < instance->count; j++) {
			uint32_t slot = instance->first + j;
			const struct np_comm_op *op = np_align_op(align, slot);
			uint32_t rank = align->members[slot].rank;

			replay->ops[slot] = (struct np_replay_op){
				.start = np_clock_time(clock, rank, op->start),
				.end = np_clock_time(clock, rank, op->end),
				.behind = NO_SLOT,
				.instance = i,
			};
		}
	}
}

typedef NP_VEC(struct np_replay_mark) marks;

/* Work that is longer than a mark can hold goes into marks before it. */
static int add_mark(marks *list, const struct draft *draft, np_ns work[NP_WORK_KINDS],
		    struct np_err *err)
{
	struct np_replay_mark *mark;
	bool more;

	do {
		mark = np_vec_add(list, err);
		if (!mark)
			return NP_E_NOMEM;
		mark->cell = draft->cell & 0x1fffffff;
		mark->kind = MARK_WORK;
		more = false;
		for (int i = 0; i < NP_WORK_KINDS; i++) {
			np_ns part = work[i] > UINT32_MAX ? UINT32_MAX : work[i];

			mark->work[i] = part < 0 ? 0 : (uint32_t)part;
			work[i] -= part;
			more |= work[i] > 0;
		}
	} while (more);
	mark->kind = draft->kind & 7;
	mark->slot = draft->slot;
	return NP_OK;
}

static int keep_rank(struct np_replay_rank *rank, const drafts *from, marks *list,
		     struct np_err *err)
{
	np_ns done[NP_WORK_OTHER] = { 0 };
	np_ns place = 0;
	int rc = NP_OK;

	rank->first_mark = (uint32_t)list->count;
	for (size_t i = 0; i < from->count && rc == NP_OK; i++) {
		const struct draft *draft = &from->item[i];
		np_ns work[NP_WORK_KINDS];

		work[NP_WORK_OTHER] = draft->place - place;
		place = draft->place;
		for (int kind = 0; kind < NP_WORK_OTHER; kind++) {
			work[kind] = draft->at[kind] - done[kind];
			work[NP_WORK_OTHER] -= work[kind];
			done[kind] = draft->at[kind];
		}
		rc = add_mark(list, draft, work, err);
	}
	rank->marks = (uint32_t)list->count - rank->first_mark;
	return rc;
}

static int draft_all(struct np_replay *replay, const struct np_clock *clock, drafts *all,
		     struct np_err *err)
{
	const struct np_run *run = replay->align->run;
	np_ns first = NP_NS_MAX;
	np_ns last = -NP_NS_MAX;
	int rc = NP_OK;

	for (uint32_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		struct np_replay_rank *rank = &replay->ranks[i];

		if (!run->ranks[i])
			continue;
		rc = replay_draft(replay, i, &all[i], err);
		if (rc < 0 || rank->begin == NP_UNKNOWN)
			continue;
		rank->begin = np_clock_time(clock, i, rank->begin);
		rank->end = np_clock_time(clock, i, rank->end);
		first = rank->begin < first ? rank->begin : first;
		last = rank->end > last ? rank->end : last;
	}
	replay->first = first == NP_NS_MAX ? 0 : first;
	replay->observed = last > first ? last - first : 0;
	return rc;
}

/* The drafts of all ranks as marks; they are given up, one rank after the other. */
static int keep_ranks(struct np_replay *replay, drafts *all, marks *ret, struct np_err *err)
{
	size_t ranks = replay->align->run->sources.count;
	size_t count = 0;
	int rc = NP_OK;

	/* Marks are many: space for them once, and not twice while it grows. */
	for (size_t i = 0; i < ranks; i++)
		count += all[i].count;
	ret->item = malloc((count + 1) * sizeof(*ret->item));
	if (!ret->item)
		return np_fail_nomem(err, "the replay");
	ret->capacity = count + 1;
	for (uint32_t i = 0; i < ranks && rc == NP_OK; i++) {
		rc = keep_rank(&replay->ranks[i], &all[i], ret, err);
		np_vec_release(&all[i]);
	}
	return rc;
}

static int build(struct np_replay *replay, const struct np_clock *clock, struct np_err *err)
{
	size_t ranks = replay->align->run->sources.count;
	drafts *all = calloc(ranks + 1, sizeof(*all));
	marks by_rank = { 0 };
	int rc = all ? NP_OK : np_fail_nomem(err, "the replay");

	if (rc == NP_OK) {
		see_ops(replay, clock);
		rc = draft_all(replay, clock, all, err);
	}
	if (rc == NP_OK)
		rc = replay_advance_starts(replay, all, err);
	if (rc == NP_OK)
		rc = keep_ranks(replay, all, &by_rank, err);
	for (size_t i = 0; all && i < ranks; i++)
		np_vec_release(&all[i]);
	free(all);
	if (rc == NP_OK)
		rc = replay_order(replay, by_rank.item, by_rank.count, err);
	np_vec_release(&by_rank);
	return rc;
}

int np_replay_build(const struct np_cluster *cluster, const struct np_align *align,
		    const struct np_clock *clock, struct np_replay **ret, struct np_err *err)
{
	NP_CLEANUP(np_replay_freep) struct np_replay *replay = calloc(1, sizeof(*replay));
	size_t slots = (size_t)align->op_count + 1;
	int rc;

	if (!replay)
		return np_fail_nomem(err, "the replay");
	replay->cluster = cluster;
	replay->align = align;
	replay->steps = cluster->steps.count;
	replay->ranks = calloc(align->run->sources.count + 1, sizeof(*replay->ranks));
	replay->ops = malloc(slots * sizeof(*replay->ops));
	if (!replay->ranks || !replay->ops)
		return np_fail_nomem(err, "the replay");
	rc = build(replay, clock, err);
	if (rc == NP_OK)
		*ret = NP_STEAL(replay);
	return rc;
}
