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
	free(replay->rules);
	replay_rooms_free(replay->rooms);
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

/* Work that is longer than a mark can hold goes into marks before it. */
static int add_mark(struct np_replay *replay, const struct draft *draft, np_ns work[NP_WORK_KINDS],
		    struct np_err *err)
{
	struct np_replay_mark *mark;
	bool more;

	do {
		mark = np_vec_add(&replay->marks, err);
		if (!mark)
			return NP_E_NOMEM;
		*mark = (struct np_replay_mark){ .cell = draft->cell & 0x3fffffff,
						 .kind = MARK_WORK };
		more = false;
		for (int i = 0; i < NP_WORK_KINDS; i++) {
			np_ns part = work[i] > UINT32_MAX ? UINT32_MAX : work[i];

			mark->work[i] = part < 0 ? 0 : (uint32_t)part;
			work[i] -= part;
			more |= work[i] > 0;
		}
	} while (more);
	mark->kind = draft->kind & 3;
	mark->slot = draft->slot;
	if (draft->slot != NO_SLOT)
		mark->instance = replay->ops[draft->slot].instance;
	return NP_OK;
}

static int keep_rank(struct np_replay *replay, uint32_t rank, const drafts *marks,
		     struct np_err *err)
{
	np_ns done[NP_WORK_OTHER] = { 0 };
	np_ns place = 0;
	int rc = NP_OK;

	replay->ranks[rank].first_mark = (uint32_t)replay->marks.count;
	for (size_t i = 0; i < marks->count && rc == NP_OK; i++) {
		const struct draft *draft = &marks->item[i];
		np_ns work[NP_WORK_KINDS];

		work[NP_WORK_OTHER] = draft->place - place;
		place = draft->place;
		for (int kind = 0; kind < NP_WORK_OTHER; kind++) {
			work[kind] = draft->at[kind] - done[kind];
			work[NP_WORK_OTHER] -= work[kind];
			done[kind] = draft->at[kind];
		}
		rc = add_mark(replay, draft, work, err);
	}
	replay->ranks[rank].marks = (uint32_t)replay->marks.count - replay->ranks[rank].first_mark;
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

/* Marks are many: room for them once, and not twice while it grows. */
static int make_room(struct np_replay *replay, const drafts *all, struct np_err *err)
{
	size_t count = 0;

	for (size_t i = 0; i < replay->align->run->sources.count; i++)
		count += all[i].count;
	replay->marks.item = malloc((count + 1) * sizeof(*replay->marks.item));
	if (!replay->marks.item)
		return np_fail_nomem(err, "the replay");
	replay->marks.capacity = count + 1;
	return NP_OK;
}

static int build(struct np_replay *replay, const struct np_clock *clock, struct np_err *err)
{
	size_t ranks = replay->align->run->sources.count;
	drafts *all = calloc(ranks + 1, sizeof(*all));
	int rc = all ? NP_OK : np_fail_nomem(err, "the replay");

	if (rc == NP_OK) {
		see_ops(replay, clock);
		rc = draft_all(replay, clock, all, err);
	}
	if (rc == NP_OK)
		rc = replay_advance_starts(replay, all, err);
	if (rc == NP_OK)
		rc = make_room(replay, all, err);
	for (uint32_t i = 0; i < ranks && rc == NP_OK; i++) {
		rc = keep_rank(replay, i, &all[i], err);
		np_vec_release(&all[i]);
	}
	if (rc == NP_OK)
		replay_find_rules(replay);
	for (size_t i = 0; all && i < ranks; i++)
		np_vec_release(&all[i]);
	free(all);
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
	replay->rules = calloc(slots, sizeof(*replay->rules));
	replay->rooms = replay_rooms_new();
	if (!replay->ranks || !replay->ops || !replay->rules || !replay->rooms)
		return np_fail_nomem(err, "the replay");
	rc = build(replay, clock, err);
	if (rc == NP_OK)
		*ret = NP_STEAL(replay);
	return rc;
}
