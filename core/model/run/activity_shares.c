/* SPDX-License-Identifier: Apache-2.0 */
#include "activity_private.h"

#include "npuprof/order.h"

/* What was found out about a cell, written down: segments, their shares, exposed pieces. */

int activity_add_cuts(struct np_activity_builder *build, const struct np_activity_task *ops,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		np_ns *start = np_vec_add(&build->cuts, build->err);
		np_ns *end = np_vec_add(&build->cuts, build->err);

		if (!start || !end)
			return NP_E_NOMEM;
		/* The second may have moved the first. */
		end[-1] = ops[i].start;
		*end = ops[i].end;
	}
	if (build->cuts.count)
		qsort(build->cuts.item, build->cuts.count, sizeof(*build->cuts.item), np_by_int64);
	return NP_OK;
}

void activity_forget_cuts(struct np_activity_builder *build)
{
	size_t left = build->cuts.count - build->next_cut;

	if (left && build->next_cut)
		memmove(build->cuts.item, &build->cuts.item[build->next_cut],
			left * sizeof(*build->cuts.item));
	build->cuts.count = left;
	build->next_cut = 0;
}

/*
 * Sort the shares of the last segment by kind, and leave those of one kind in the
 * order of time: numbers of texts are not the same in every run.
 */
static void sort_shares(struct np_activity *activity, size_t first)
{
	struct np_share *shares = activity->shares.item;

	for (size_t i = first + 1; i < activity->shares.count; i++) {
		struct np_share share = shares[i];
		size_t to = i;

		for (; to > first && np_leaf_kind(shares[to - 1].leaf) > np_leaf_kind(share.leaf);
		     to--)
			shares[to] = shares[to - 1];
		shares[to] = share;
	}
}

int activity_begin_segment(struct np_activity_builder *build, np_ns begin)
{
	struct np_activity *activity = build->activity;
	struct np_segment *segment;

	if (activity->shares.count > UINT32_MAX)
		return np_fail(build->err, NP_E_RANGE, "more operators than can be counted");
	segment = np_vec_add(&activity->segments, build->err);
	if (!segment)
		return NP_E_NOMEM;
	*segment = (struct np_segment){ begin, (uint32_t)activity->shares.count };
	return NP_OK;
}

void activity_end_segment(struct np_activity_builder *build)
{
	struct np_activity *activity = build->activity;

	sort_shares(activity, activity->segments.item[activity->segments.count - 1].first);
	build->cell.segments++;
}

static bool takes(const struct np_share *share, np_leaf leaf, np_ns ns)
{
	return share->leaf == leaf && ns <= UINT32_MAX - share->ns;
}

/* The share of the last segment that can take so much more; NULL when there is none. */
static struct np_share *find_share(struct np_activity_builder *build, np_leaf leaf, np_ns ns)
{
	struct np_activity *activity = build->activity;
	uint32_t first = activity->segments.item[activity->segments.count - 1].first;
	uint32_t *known = &build->known[leaf % KNOWN_LEAVES];

	if (*known >= first && *known < activity->shares.count &&
	    takes(&activity->shares.item[*known], leaf, ns))
		return &activity->shares.item[*known];
	for (size_t i = activity->shares.count; i > first; i--) {
		if (!takes(&activity->shares.item[i - 1], leaf, ns))
			continue;
		*known = (uint32_t)(i - 1);
		return &activity->shares.item[i - 1];
	}
	return NULL;
}

static int add_share(struct np_activity_builder *build, np_leaf leaf, np_ns ns)
{
	struct np_share *share = find_share(build, leaf, ns);

	if (share) {
		share->ns += (uint32_t)ns;
		return NP_OK;
	}
	while (ns > 0) {
		share = np_vec_add(&build->activity->shares, build->err);
		if (!share)
			return NP_E_NOMEM;
		*share = (struct np_share){ leaf, ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns };
		ns -= share->ns;
	}
	build->known[leaf % KNOWN_LEAVES] = (uint32_t)(build->activity->shares.count - 1);
	return NP_OK;
}

/* Where an operator begins or ends a segment ends, but for the last one of the cell. */
static int cut_segment(struct np_activity_builder *build, np_ns at)
{
	activity_end_segment(build);
	return activity_begin_segment(build, at);
}

/* Cuts that lie behind; the last may be where the known time ended when it was reached. */
static int pass_cuts(struct np_activity_builder *build, np_ns now)
{
	const struct np_activity *activity = build->activity;
	np_ns begin = activity->segments.item[activity->segments.count - 1].begin;
	np_ns last = begin;

	while (build->next_cut < build->cuts.count && build->cuts.item[build->next_cut] <= now)
		last = build->cuts.item[build->next_cut++];
	return last > begin ? cut_segment(build, last) : NP_OK;
}

int activity_give(struct np_activity_builder *build, np_ns from, np_ns to, np_leaf leaf)
{
	int rc = NP_OK;

	while (from < to && rc == NP_OK) {
		np_ns until = to;

		rc = pass_cuts(build, from);
		if (build->next_cut < build->cuts.count && build->cuts.item[build->next_cut] < to)
			until = build->cuts.item[build->next_cut];
		if (rc == NP_OK)
			rc = add_share(build, leaf, until - from);
		from = until;
	}
	return rc;
}

/* --- operators that nothing hides ------------------------------------------------------------ */

/* Which of NP_EXPOSED_PIECES equal parts of an operator a time lies in. */
static np_ns part_of(const struct np_activity_task *op, np_ns time)
{
	np_ns length = (op->end - op->start + NP_EXPOSED_PIECES - 1) / NP_EXPOSED_PIECES;

	return (time - op->start) / length;
}

/*
 * Join a piece with the last one, which moves up to it, if it is of the same
 * operator and they touch or begin in the same part of it.
 */
static bool join_exposed(struct np_activity_builder *build, np_ns from, np_ns to,
			 const struct np_activity_task *owner)
{
	struct np_activity *activity = build->activity;
	struct np_exposed *last;

	if (build->cell.exposed == 0)
		return false;
	last = &activity->exposed.item[activity->exposed.count - 1];
	if (last->op != owner->of || last->begin < owner->start ||
	    (last->end != from && part_of(owner, last->begin) != part_of(owner, from)))
		return false;
	last->begin += from - last->end;
	last->end = to;
	return true;
}

int activity_expose(struct np_activity_builder *build, np_ns from, np_ns to,
		    const struct np_activity_task *owner)
{
	struct np_activity *activity = build->activity;
	struct np_exposed *piece;

	if (owner->of == NP_LEAF_NOBODY || join_exposed(build, from, to, owner))
		return NP_OK;
	if (activity->exposed.count == UINT32_MAX)
		return np_fail(build->err, NP_E_RANGE, "more operators than can be counted");
	piece = np_vec_add(&activity->exposed, build->err);
	if (!piece)
		return NP_E_NOMEM;
	*piece = (struct np_exposed){ from, to, owner->of };
	build->cell.exposed++;
	return NP_OK;
}
