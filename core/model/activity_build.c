/* SPDX-License-Identifier: Apache-2.0 */
#include "activity_private.h"

/*
 * Tasks sorted by start are first cut so that none overlaps another of its
 * kind (activity_pieces.c); then one pass over time takes, at every moment, the first layer
 * that has a piece there.
 */
enum layer_kind {
	COMPUTING,
	COMMUNICATION,
	COPYING,
	LAYERS,
};

/* Leaves are few in a segment and come again and again: where the last of each is. */
#define KNOWN_LEAVES 256

struct builder {
	struct np_activity *activity;
	struct np_err *err;
	uint32_t known[KNOWN_LEAVES]; /* share, by the leaf's last bits */
	struct activity_layer layer[LAYERS];
	const struct np_spans *loading;
	size_t next_loading;
	np_ns *cuts; /* ascending */
	size_t cut_count;
	size_t next_cut;
	struct np_activity_cell cell;
	np_ns begin; /* of the span */
	np_ns end;
};

static int by_start(const void *left, const void *right)
{
	const struct np_activity_task *a = left;
	const struct np_activity_task *b = right;

	if (a->start != b->start)
		return np_order(a->start, b->start);
	/* Hashes use all 64 bits. */
	if (a->tie != b->tie)
		return a->tie < b->tie ? -1 : 1;
	return np_order(a->end, b->end);
}

void np_activity_sort(struct np_activity_task *tasks, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (by_start(&tasks[i - 1], &tasks[i]) > 0) {
			qsort(tasks, count, sizeof(*tasks), by_start);
			return;
		}
	}
}

/* --- segments -------------------------------------------------------------------------------- */

static int by_time(const void *left, const void *right)
{
	return np_order(*(const np_ns *)left, *(const np_ns *)right);
}

static int find_cuts(struct builder *build, const struct np_activity_input *input)
{
	build->cuts = malloc((2 * input->op_count + 1) * sizeof(*build->cuts));
	if (!build->cuts)
		return np_fail_nomem(build->err, "step times");
	for (size_t i = 0; i < input->op_count; i++) {
		build->cuts[build->cut_count++] = input->ops[i].start;
		build->cuts[build->cut_count++] = input->ops[i].end;
	}
	if (build->cut_count)
		qsort(build->cuts, build->cut_count, sizeof(*build->cuts), by_time);
	return NP_OK;
}

static int by_leaf(const void *left, const void *right)
{
	return np_order(((const struct np_share *)left)->leaf,
			((const struct np_share *)right)->leaf);
}

/* Sort the shares of the last segment and join those of one leaf. */
static void join_shares(struct np_activity *activity, size_t first)
{
	struct np_share *share = &activity->shares.item[first];
	size_t count = activity->shares.count - first;
	size_t kept = 0;

	if (count < 2)
		return;
	qsort(share, count, sizeof(*share), by_leaf);
	for (size_t i = 1; i < count; i++) {
		if (share[kept].leaf == share[i].leaf && share[i].ns <= UINT32_MAX - share[kept].ns)
			share[kept].ns += share[i].ns;
		else
			share[++kept] = share[i];
	}
	activity->shares.count = first + kept + 1;
}

static int begin_segment(struct builder *build, np_ns begin)
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

/* The last segment ends here. */
static void end_segment(struct builder *build)
{
	struct np_activity *activity = build->activity;

	join_shares(activity, activity->segments.item[activity->segments.count - 1].first);
	build->cell.segments++;
}

/* The share of the last segment that can take so much more; NULL when none is known. */
static struct np_share *known_share(struct builder *build, np_leaf leaf, np_ns ns)
{
	struct np_activity *activity = build->activity;
	uint32_t index = build->known[leaf % KNOWN_LEAVES];
	struct np_share *share;

	if (index < activity->segments.item[activity->segments.count - 1].first ||
	    index >= activity->shares.count)
		return NULL;
	share = &activity->shares.item[index];
	return share->leaf == leaf && ns <= UINT32_MAX - share->ns ? share : NULL;
}

static int add_share(struct builder *build, np_leaf leaf, np_ns ns)
{
	struct np_share *share = known_share(build, leaf, ns);

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

/* [from, to) belongs to the leaf; calls come in the order of time and leave no gap. */
static int give(struct builder *build, np_ns from, np_ns to, np_leaf leaf)
{
	int rc = NP_OK;

	while (from < to && rc == NP_OK) {
		np_ns until = to;

		while (build->next_cut < build->cut_count && build->cuts[build->next_cut] <= from)
			build->next_cut++;
		if (build->next_cut < build->cut_count && build->cuts[build->next_cut] <= to)
			until = build->cuts[build->next_cut];
		rc = add_share(build, leaf, until - from);
		from = until;
		if (rc == NP_OK && build->next_cut < build->cut_count && until < build->end &&
		    until == build->cuts[build->next_cut]) {
			end_segment(build);
			rc = begin_segment(build, until);
		}
	}
	return rc;
}

/* --- layers ---------------------------------------------------------------------------------- */

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
static bool join_exposed(struct builder *build, np_ns from, np_ns to,
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

static int expose(struct builder *build, np_ns from, np_ns to, const struct np_activity_task *owner)
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

static int give_owned(struct builder *build, np_ns from, np_ns to, enum layer_kind kind,
		      const struct np_activity_task *owner)
{
	int rc = NP_OK;

	switch (kind) {
	case COMPUTING:
		return give(build, from, to, np_leaf_make(NP_LEAF_COMPUTE, owner->of));
	case COMMUNICATION:
		rc = expose(build, from, to, owner);
		return rc < 0 ? rc : give(build, from, to, np_leaf_make(NP_LEAF_COMM, owner->of));
	case COPYING:
	case LAYERS:
		break;
	}
	return give(build, from, to, np_leaf_make(NP_LEAF_MEMCPY, 0));
}

/* The first time of loading that ends after `at`: a rank may have as many as steps. */
static size_t first_loading(const struct np_spans *loading, np_ns at)
{
	size_t low = 0;
	size_t high = loading ? np_spans_count(loading) : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (np_spans_get(loading, middle).end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The host had not yet launched what comes next; part of that it may have loaded data. */
static int give_host(struct builder *build, np_ns from, np_ns to)
{
	const np_leaf host = np_leaf_make(NP_LEAF_FREE_HOST, 0);
	size_t count = build->loading ? np_spans_count(build->loading) : 0;
	int rc = NP_OK;

	while (from < to && rc == NP_OK) {
		struct np_span loading = { to, to };

		while (build->next_loading < count &&
		       np_spans_get(build->loading, build->next_loading).end <= from)
			build->next_loading++;
		if (build->next_loading < count)
			loading = np_spans_get(build->loading, build->next_loading);
		if (loading.begin > to)
			loading.begin = to;
		if (loading.end > to)
			loading.end = to;
		if (loading.begin > from) {
			rc = give(build, from, loading.begin, host);
			from = loading.begin;
		} else {
			rc = give(build, from, loading.end,
				  np_leaf_make(NP_LEAF_FREE_DATALOADER, 0));
			from = loading.end;
		}
	}
	return rc;
}

/* Nothing ran until `next`, which may be NULL, began. */
static int give_free(struct builder *build, np_ns from, np_ns to,
		     const struct np_activity_task *next)
{
	np_ns launched = next ? next->launched : NP_UNKNOWN;
	int rc;

	if (launched == NP_UNKNOWN)
		return give(build, from, to, np_leaf_make(NP_LEAF_FREE_UNKNOWN, 0));
	if (launched < from)
		launched = from;
	if (launched > to)
		launched = to;
	rc = give_host(build, from, launched);
	return rc < 0 ? rc : give(build, launched, to, np_leaf_make(NP_LEAF_FREE_OTHER, 0));
}

/* The piece of a layer that runs at `now`, or the next one; NULL when there is no more. */
static const struct np_activity_task *piece_at(struct activity_layer *layer, np_ns now)
{
	while (layer->next < layer->count && layer->piece[layer->next].end <= now)
		layer->next++;
	return layer->next < layer->count ? &layer->piece[layer->next] : NULL;
}

/* When the next piece of another layer than computing runs, at the earliest. */
static np_ns others_begin(struct builder *build, np_ns now)
{
	np_ns begin = build->end;

	for (int kind = COMMUNICATION; kind < LAYERS; kind++) {
		const struct np_activity_task *piece = piece_at(&build->layer[kind], now);

		if (piece && piece->start < begin)
			begin = piece->start;
	}
	return begin;
}

/* The common case: kernels and the gaps between them, with nothing else around, up to `until`. */
static int sweep_kernels(struct builder *build, np_ns *now, np_ns until)
{
	struct activity_layer *kernels = &build->layer[COMPUTING];
	int rc = NP_OK;

	while (*now < until && rc == NP_OK) {
		const struct np_activity_task *piece = piece_at(kernels, *now);

		if (!piece || piece->start >= until)
			break;
		if (piece->start > *now)
			rc = give_free(build, *now, piece->start, piece);
		if (rc == NP_OK)
			rc = give(build, piece->start > *now ? piece->start : *now, piece->end,
				  np_leaf_make(NP_LEAF_COMPUTE, piece->of));
		*now = piece->end;
	}
	return rc;
}

/* What a moment belongs to, and until when; `now` moves there. */
static int sweep_layers(struct builder *build, np_ns *now)
{
	const struct np_activity_task *owner = NULL;
	const struct np_activity_task *next = NULL;
	np_ns until = build->end;
	np_ns from = *now;
	int kind;

	for (kind = 0; kind < LAYERS && !owner; kind++) {
		const struct np_activity_task *piece = piece_at(&build->layer[kind], from);

		if (!piece)
			continue;
		if (piece->start <= from) {
			owner = piece;
			until = piece->end < until ? piece->end : until;
		} else if (piece->start < until) {
			next = piece;
			until = piece->start;
		}
	}
	*now = until;
	if (owner)
		return give_owned(build, from, until, (enum layer_kind)(kind - 1), owner);
	return give_free(build, from, until, next);
}

static int sweep(struct builder *build)
{
	np_ns now = build->begin;
	int rc = NP_OK;

	while (now < build->end && rc == NP_OK) {
		rc = sweep_kernels(build, &now, others_begin(build, now));
		if (rc == NP_OK && now < build->end)
			rc = sweep_layers(build, &now);
	}
	return rc;
}

/* First start and last end of computing and communication; false when there was neither. */
static bool find_span(struct builder *build)
{
	build->begin = NP_NS_MAX;
	build->end = -NP_NS_MAX;
	for (int kind = COMPUTING; kind <= COMMUNICATION; kind++) {
		const struct activity_layer *layer = &build->layer[kind];

		if (layer->count == 0)
			continue;
		if (layer->piece[0].start < build->begin)
			build->begin = layer->piece[0].start;
		if (layer->piece[layer->count - 1].end > build->end)
			build->end = layer->piece[layer->count - 1].end;
	}
	return build->begin < build->end;
}

static int prepare(struct builder *build, struct np_activity_input *input)
{
	const struct {
		struct np_activity_task *tasks;
		size_t count;
		const struct np_spans *spans;
		uint32_t nobody;
	} kinds[LAYERS] = {
		[COMPUTING] = { input->kernels, input->kernel_count, input->computing,
				NP_STR_NONE },
		[COMMUNICATION] = { input->ops, input->op_count, input->communication,
				    NP_LEAF_NOBODY },
		[COPYING] = { input->copies, input->copy_count, NULL, 0 },
	};
	int rc = find_cuts(build, input);

	for (int i = 0; i < LAYERS && rc == NP_OK; i++) {
		struct activity_layer *layer = &build->layer[i];

		np_activity_sort(kinds[i].tasks, kinds[i].count);
		layer->piece = kinds[i].tasks;
		layer->count = activity_own(kinds[i].tasks, kinds[i].count);
		if (kinds[i].spans)
			rc = activity_use_spans(layer, kinds[i].spans, kinds[i].nobody, build->err);
	}
	return rc;
}

static int fill_cell(struct builder *build)
{
	int rc;

	if (!find_span(build))
		return NP_OK;
	build->next_loading = first_loading(build->loading, build->begin);
	build->cell.begin = build->begin;
	build->cell.end = build->end;
	rc = begin_segment(build, build->begin);
	if (rc == NP_OK)
		rc = sweep(build);
	if (rc == NP_OK)
		end_segment(build);
	return rc;
}

static int append_cell(struct builder *build)
{
	struct np_activity_cell *cell = np_vec_add(&build->activity->cells, build->err);

	if (!cell)
		return NP_E_NOMEM;
	*cell = build->cell;
	return begin_segment(build, build->cell.end);
}

int np_activity_add(struct np_activity *activity, struct np_activity_input *input,
		    struct np_err *err)
{
	struct builder build = { .activity = activity, .err = err, .loading = input->loading };
	int rc;

	/* The segment that ends the last becomes the first of this cell. */
	if (activity->segments.count > 0)
		activity->segments.count--;
	build.cell.first_segment = (uint32_t)activity->segments.count;
	build.cell.first_exposed = (uint32_t)activity->exposed.count;
	rc = prepare(&build, input);
	if (rc == NP_OK)
		rc = fill_cell(&build);
	if (rc == NP_OK)
		rc = append_cell(&build);
	for (int i = 0; i < LAYERS; i++)
		free(build.layer[i].pieces);
	free(build.cuts);
	return rc;
}
