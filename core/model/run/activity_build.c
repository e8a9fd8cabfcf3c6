/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks sorted by start are first cut so that none overlaps another of its
 * kind; then one pass over time takes, at every moment, the first layer
 * that has a piece there.
 */
#include "activity_private.h"

#include "npuprof/order.h"

/*
 * Cut sorted tasks so that each keeps what no earlier one has: those that are
 * still running began before it, so all of them together reach without a gap
 * from its start to the last of their ends.
 */
static size_t activity_own(struct activity_layer *layer, struct np_activity_task *tasks,
			   size_t count)
{
	np_ns reached = layer->reached;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct np_activity_task task = tasks[i];

		if (task.start < reached)
			task.start = reached;
		if (task.end <= task.start)
			continue;
		reached = task.end;
		tasks[kept++] = task;
	}
	layer->reached = reached;
	return kept;
}

/* --- spans that are known better than the tasks ---------------------------------------------- */

struct pieces {
	NP_VEC(struct np_activity_task) list;
	uint32_t nobody; /* what it is of where there is no task */
};

static int add_piece(struct pieces *pieces, const struct np_activity_task *from, np_ns start,
		     np_ns end, struct np_err *err)
{
	struct np_activity_task *piece;

	if (start >= end)
		return NP_OK;
	piece = np_vec_add(&pieces->list, err);
	if (!piece)
		return NP_E_NOMEM;
	*piece = *from;
	piece->start = start;
	piece->end = end;
	return NP_OK;
}

/* Writers of text round: what is missing between a span and its tasks is theirs up to this. */
#define ROUNDING_NS 1000

/* [from, to) of a span lies between two of its pieces; either may be NULL. */
static int add_gap(struct pieces *pieces, np_ns from, np_ns to,
		   const struct np_activity_task *before, const struct np_activity_task *after,
		   struct np_err *err)
{
	const struct np_activity_task nobody = { .launched = NP_UNKNOWN, .of = pieces->nobody };

	if (to - from > ROUNDING_NS)
		return add_piece(pieces, &nobody, from, to, err);
	if (before)
		return add_piece(pieces, before, from, to, err);
	return add_piece(pieces, after ? after : &nobody, from, to, err);
}

/* One span, divided among the pieces of the layer; what none of them has is nobody's. */
static int divide_span(struct activity_layer *layer, struct np_span span, struct pieces *pieces,
		       struct np_err *err)
{
	const struct np_activity_task *before = NULL;
	np_ns now = span.begin;
	int rc = NP_OK;

	while (layer->next < layer->count && layer->piece[layer->next].end <= now)
		layer->next++;
	for (size_t i = layer->next; rc == NP_OK && now < span.end; i++) {
		const struct np_activity_task *piece =
			i < layer->count && layer->piece[i].start < span.end ? &layer->piece[i]
									     : NULL;
		np_ns start = piece ? piece->start : span.end;
		np_ns end = piece && piece->end < span.end ? piece->end : span.end;

		if (start < now)
			start = now;
		rc = add_gap(pieces, now, start, before, piece, err);
		if (rc == NP_OK && piece)
			rc = add_piece(pieces, piece, start, end, err);
		before = piece;
		now = end;
	}
	return rc;
}

/*
 * Make the layer's pieces cover these spans and nothing else: what no task has is
 * of `nobody`, but for rounding, which is of the task beside it.
 */
static int activity_use_spans(struct activity_layer *layer, const struct np_spans *spans,
			      uint32_t nobody, struct np_err *err)
{
	struct pieces pieces = { .nobody = nobody };
	int rc = NP_OK;

	for (size_t i = 0; i < np_spans_count(spans) && rc == NP_OK; i++)
		rc = divide_span(layer, np_spans_get(spans, i), &pieces, err);
	np_vec_release(&layer->own);
	layer->own.item = pieces.list.item;
	layer->own.count = pieces.list.count;
	layer->own.capacity = pieces.list.capacity;
	layer->piece = layer->own.item;
	layer->count = layer->own.count;
	layer->next = 0;
	return rc;
}

/* What was found out about a cell, written down: segments, their shares, exposed pieces. */

static int activity_add_cuts(struct np_activity_builder *build, const struct np_activity_task *ops,
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

int np_activity_cut(struct np_activity_builder *build, np_ns at, struct np_err *err)
{
	np_ns *cut = np_vec_add(&build->cuts, err);

	if (!cut)
		return NP_E_NOMEM;
	*cut = at;
	return NP_OK;
}

/* Operators begin and end here: segments do too. */
static void activity_forget_cuts(struct np_activity_builder *build)
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

static int activity_begin_segment(struct np_activity_builder *build, np_ns begin)
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

static void activity_end_segment(struct np_activity_builder *build)
{
	struct np_activity *activity = build->activity;

	sort_shares(activity, activity->segments.item[activity->segments.count - 1].first);
	build->cell.segments++;
}

static bool takes(const struct np_share *share, np_leaf leaf, np_ns ns)
{
	return share->leaf == leaf && ns <= UINT32_MAX - share->ns;
}

/* So many are looked through; of more a map knows the first of each leaf. */
#define MANY_SHARES 64

/* The first share of the leaf in the last segment; NP_MAP_NONE where there is none. */
static uint32_t first_share(struct np_activity_builder *build, size_t first, np_leaf leaf)
{
	const struct np_activity *activity = build->activity;

	if (build->placed <= first) {
		np_numbers_release(&build->places);
		build->places = (struct np_numbers){ 0 };
		build->placed = first;
	}
	while (build->placed < activity->shares.count) {
		uint64_t key = activity->shares.item[build->placed].leaf;

		if (np_numbers_get(&build->places, key) == NP_MAP_NONE &&
		    np_numbers_add(&build->places, key, (uint32_t)build->placed, NULL) < 0)
			return NP_MAP_NONE;
		build->placed++;
	}
	return np_numbers_get(&build->places, leaf);
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
	if (activity->shares.count - first > MANY_SHARES) {
		size_t place = first_share(build, first, leaf);

		if (place == NP_MAP_NONE)
			return NULL;
		if (takes(&activity->shares.item[place], leaf, ns)) {
			*known = (uint32_t)place;
			return &activity->shares.item[place];
		}
	}
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

static int give_over_cuts(struct np_activity_builder *build, np_ns from, np_ns to, np_leaf leaf)
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

/* [from, to) belongs to the leaf; calls come in the order of time and leave no gap. */
static inline int activity_give(struct np_activity_builder *build, np_ns from, np_ns to,
				np_leaf leaf)
{
	if (from >= to)
		return NP_OK;
	/* Cuts are far from each other. */
	if (build->next_cut == build->cuts.count || build->cuts.item[build->next_cut] >= to)
		return add_share(build, leaf, to - from);
	return give_over_cuts(build, from, to, leaf);
}

/* The piece of a layer that runs at `now`, or the next one; NULL when none is known. */
static const struct np_activity_task *piece_at(struct activity_layer *layer, np_ns now)
{
	while (layer->next < layer->count && layer->piece[layer->next].end <= now)
		layer->next++;
	return layer->next < layer->count ? &layer->piece[layer->next] : NULL;
}

/* --- operators that nothing hides ------------------------------------------------------------ */

/* Which of NP_EXPOSED_PIECES equal parts of an operator a time lies in. */
static np_ns part_of(const struct np_activity_task *op, np_ns time)
{
	np_ns length = (op->end - op->start + NP_EXPOSED_PIECES - 1) / NP_EXPOSED_PIECES;

	return (time - op->start) / length;
}

/* What comes next of the last exposed piece counts from here on. */
static void reopen(struct np_activity_builder *build, np_ns from)
{
	size_t piece = build->nexts.count - 1;
	struct activity_next *next = &build->nexts.item[piece];

	next->from = from;
	for (size_t i = 0; i < build->stream_count; i++) {
		next->start[i] = NP_NS_MAX;
		if (build->streams[i].open > piece)
			build->streams[i].open = piece;
	}
}

/* The exposed pieces of the cell; NULL while there is none in any cell. */
static struct np_exposed *first_piece(const struct np_activity_builder *build)
{
	struct np_exposed *pieces = build->activity->exposed.item;

	return pieces ? pieces + build->cell.first_exposed : NULL;
}

/*
 * The last gap of a piece: how long had the kernel that comes next still to be launched?
 * Where it is not in this part, that is asked again when it is.
 */
static void ask_host(struct np_activity_builder *build)
{
	struct np_exposed *pieces = first_piece(build);

	for (; build->asked < build->nexts.count; build->asked++) {
		np_ns *asked = &build->nexts.item[build->asked].asked;
		struct np_exposed *piece = &pieces[build->asked];
		const struct np_activity_task *kernel = piece_at(&build->layer[COMPUTING], *asked);
		np_ns host;

		if (!kernel)
			return;
		/* Unknown is the smallest number: there is nothing to subtract from. */
		host = kernel->launched == NP_UNKNOWN
			       ? 0
			       : (kernel->launched < piece->end ? kernel->launched : piece->end) -
					 *asked;
		if (host > 0 && host <= UINT32_MAX - piece->host)
			piece->host += (uint32_t)host;
		*asked = NP_UNKNOWN;
	}
}

/*
 * Join a piece with the last one, which moves up to it, if it is of the same
 * operator and they touch or begin in the same part of it.
 */
static bool join_exposed(struct np_activity_builder *build, np_ns from, np_ns to,
			 const struct np_activity_task *owner)
{
	struct np_activity *activity = build->activity;
	struct activity_next *next;
	struct np_exposed *last;

	if (build->cell.exposed == 0)
		return false;
	last = &activity->exposed.item[activity->exposed.count - 1];
	if (last->op != owner->of || last->begin < owner->start ||
	    (last->end != from && part_of(owner, last->begin) != part_of(owner, from)))
		return false;
	next = &build->nexts.item[build->nexts.count - 1];
	if (next->asked == NP_UNKNOWN || last->end != from)
		next->asked = from;
	if (build->asked == build->nexts.count)
		build->asked--;
	last->begin += from - last->end;
	last->end = to;
	reopen(build, from);
	ask_host(build);
	return true;
}

/* Nothing hides the operator in [from, to). */
static int activity_expose(struct np_activity_builder *build, np_ns from, np_ns to,
			   const struct np_activity_task *owner)
{
	struct np_activity *activity = build->activity;
	struct np_exposed *piece;
	struct activity_next *next;

	if (owner->of == NP_LEAF_NOBODY || join_exposed(build, from, to, owner))
		return NP_OK;
	if (activity->exposed.count == UINT32_MAX)
		return np_fail(build->err, NP_E_RANGE, "more operators than can be counted");
	piece = np_vec_add(&activity->exposed, build->err);
	next = piece ? np_vec_add(&build->nexts, build->err) : NULL;
	if (!next)
		return NP_E_NOMEM;
	*piece = (struct np_exposed){ from, to, owner->of, NP_EXPOSED_LAST, 0 };
	next->from = from;
	next->asked = from;
	for (size_t i = 0; i < ACTIVITY_STREAMS; i++)
		next->start[i] = NP_NS_MAX;
	build->cell.exposed++;
	ask_host(build);
	return NP_OK;
}

/* --- when the main stream goes on ------------------------------------------------------------ */

static uint32_t stream_of(struct np_activity_builder *build, uint32_t stream)
{
	size_t i = 0;

	while (i < build->stream_count && build->streams[i].stream != stream)
		i++;
	if (i == ACTIVITY_STREAMS)
		return ACTIVITY_STREAMS - 1;
	if (i == build->stream_count)
		build->streams[build->stream_count++] = (struct activity_stream){ stream, 0, 0 };
	return (uint32_t)i;
}

/* Kernels are cut to pieces of time when they are divided: before that, when each starts. */
static int see_starts(struct np_activity_builder *build, const struct np_activity_input *input)
{
	uint32_t known = ACTIVITY_STREAMS;
	uint32_t last = 0;

	build->starts.count = 0;
	if (np_vec_reserve(&build->starts, input->kernel_count, build->err) < 0)
		return NP_E_NOMEM;
	for (size_t i = 0; i < input->kernel_count; i++) {
		const struct np_activity_task *kernel = &input->kernels[i];

		if (kernel->end <= kernel->start)
			continue;
		if (known == ACTIVITY_STREAMS || np_activity_stream(kernel) != last) {
			last = np_activity_stream(kernel);
			known = stream_of(build, last);
		}
		build->starts.item[build->starts.count++] =
			(struct activity_start){ kernel->start, known };
		build->streams[known].busy += kernel->end - kernel->start;
	}
	return NP_OK;
}

/* The kernels of this part follow exposed pieces of it, or of earlier ones. */
static void find_nexts(struct np_activity_builder *build)
{
	for (size_t i = 0; i < build->starts.count && build->nexts.count > 0; i++) {
		const struct activity_start *start = &build->starts.item[i];
		size_t *open = &build->streams[start->stream].open;

		while (*open < build->nexts.count && build->nexts.item[*open].from <= start->start)
			build->nexts.item[(*open)++].start[start->stream] = start->start;
	}
}

/* The stream that computes longest; of equal ones that with the smaller number. */
static size_t main_stream(const struct np_activity_builder *build)
{
	size_t main = 0;

	for (size_t i = 1; i < build->stream_count; i++) {
		const struct activity_stream *each = &build->streams[i];
		const struct activity_stream *best = &build->streams[main];

		if (each->busy > best->busy ||
		    (each->busy == best->busy && each->stream < best->stream))
			main = i;
	}
	return main;
}

/* The cell is complete: what follows its exposed pieces. */
static void keep_nexts(struct np_activity_builder *build)
{
	size_t main = main_stream(build);
	struct np_exposed *pieces = first_piece(build);

	for (size_t i = 0; i < build->nexts.count; i++) {
		np_ns next = build->nexts.item[i].start[main];
		np_ns later;

		for (size_t j = 0; next == NP_NS_MAX && j < build->stream_count; j++) {
			np_ns other = build->nexts.item[i].start[j];

			next = other < next ? other : next;
		}
		if (next == NP_NS_MAX)
			continue;
		later = next > pieces[i].end ? next - pieces[i].end : 0;
		pieces[i].later = later < NP_EXPOSED_LAST ? (uint32_t)later : NP_EXPOSED_LAST - 1;
	}
}

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
		if (tasks[i - 1].start >= tasks[i].start &&
		    by_start(&tasks[i - 1], &tasks[i]) > 0) {
			qsort(tasks, count, sizeof(*tasks), by_start);
			return;
		}
	}
}

/* --- layers ---------------------------------------------------------------------------------- */

static int give_owned(struct np_activity_builder *build, np_ns from, np_ns to,
		      enum activity_kind kind, const struct np_activity_task *owner)
{
	int rc = NP_OK;

	switch (kind) {
	case COMPUTING:
		return activity_give(build, from, to, np_leaf_make(NP_LEAF_COMPUTE, owner->of));
	case COMMUNICATION:
		rc = activity_expose(build, from, to, owner);
		return rc < 0 ? rc
			      : activity_give(build, from, to,
					      np_leaf_make(NP_LEAF_COMM, owner->of));
	case COPYING:
	case LAYERS:
		break;
	}
	return activity_give(build, from, to, np_leaf_make(NP_LEAF_MEMCPY, 0));
}

/* The first time of loading that ends after `at`: a rank may have as many as steps. */
static size_t first_loading(const struct np_spans *loading, np_ns at)
{
	return np_lower_bound(i, (size_t)0, loading ? np_spans_count(loading) : 0,
			      np_spans_get(loading, i).end > at);
}

/* The host had not yet launched what comes next; part of that it may have loaded data. */
static int give_host(struct np_activity_builder *build, np_ns from, np_ns to)
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
			rc = activity_give(build, from, loading.begin, host);
			from = loading.begin;
		} else {
			rc = activity_give(build, from, loading.end,
					   np_leaf_make(NP_LEAF_FREE_DATALOADER, 0));
			from = loading.end;
		}
	}
	return rc;
}

/* Nothing ran until `next`, which may be NULL, began. */
static int give_free(struct np_activity_builder *build, np_ns from, np_ns to,
		     const struct np_activity_task *next)
{
	np_ns launched = next ? next->launched : NP_UNKNOWN;
	int rc;

	if (launched == NP_UNKNOWN)
		return activity_give(build, from, to, np_leaf_make(NP_LEAF_FREE_UNKNOWN, 0));
	if (launched > to)
		launched = to;
	if (launched <= from)
		return activity_give(build, from, to, np_leaf_make(NP_LEAF_FREE_OTHER, 0));
	rc = give_host(build, from, launched);
	return rc < 0 ? rc
		      : activity_give(build, launched, to, np_leaf_make(NP_LEAF_FREE_OTHER, 0));
}

/* When the next piece of another layer than computing runs, at the earliest. */
static np_ns others_begin(struct np_activity_builder *build, np_ns now)
{
	np_ns begin = build->limit;

	for (int kind = COMMUNICATION; kind < LAYERS; kind++) {
		const struct np_activity_task *piece = piece_at(&build->layer[kind], now);

		if (piece && piece->start < begin)
			begin = piece->start;
	}
	return begin;
}

/* The common case: kernels and the gaps between them, with nothing else around, up to `until`. */
static int sweep_kernels(struct np_activity_builder *build, np_ns until)
{
	struct activity_layer *kernels = &build->layer[COMPUTING];
	int rc = NP_OK;

	while (build->now < until && rc == NP_OK) {
		const struct np_activity_task *piece = piece_at(kernels, build->now);
		np_ns start;
		np_ns end;

		if (!piece || piece->start >= until)
			break;
		start = piece->start > build->now ? piece->start : build->now;
		end = piece->end < build->limit ? piece->end : build->limit;
		if (start > build->now)
			rc = give_free(build, build->now, start, piece);
		if (rc == NP_OK)
			rc = activity_give(build, start, end,
					   np_leaf_make(NP_LEAF_COMPUTE, piece->of));
		build->now = end;
	}
	return rc;
}

/* What a moment belongs to, and until when. */
static int sweep_layers(struct np_activity_builder *build)
{
	const struct np_activity_task *owner = NULL;
	const struct np_activity_task *next = NULL;
	np_ns until = build->limit;
	np_ns from = build->now;
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
	build->now = until;
	if (owner)
		return give_owned(build, from, until, (enum activity_kind)(kind - 1), owner);
	return give_free(build, from, until, next);
}

static int sweep(struct np_activity_builder *build)
{
	int rc = NP_OK;

	while (build->now < build->limit && rc == NP_OK) {
		rc = sweep_kernels(build, others_begin(build, build->now));
		if (rc == NP_OK && build->now < build->limit)
			rc = sweep_layers(build);
	}
	return rc;
}

/* --- parts ----------------------------------------------------------------------------------- */

/* Pieces of this part, behind those that an earlier one left over. */
static int fill_layer(struct np_activity_builder *build, struct activity_layer *layer,
		      struct np_activity_task *tasks, size_t count)
{
	np_activity_sort(tasks, count);
	count = activity_own(layer, tasks, count);
	layer->piece = tasks;
	layer->count = count;
	layer->next = 0;
	if (layer->own.count == 0)
		return NP_OK;
	for (size_t i = 0; i < count; i++) {
		struct np_activity_task *piece = np_vec_add(&layer->own, build->err);

		if (!piece)
			return NP_E_NOMEM;
		*piece = tasks[i];
	}
	layer->piece = layer->own.item;
	layer->count = layer->own.count;
	return NP_OK;
}

static int fill_layers(struct np_activity_builder *build, const struct np_activity_input *input)
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
	int rc = activity_add_cuts(build, input->ops, input->op_count);

	for (int i = 0; i < LAYERS && rc == NP_OK; i++) {
		struct activity_layer *layer = &build->layer[i];

		rc = fill_layer(build, layer, kinds[i].tasks, kinds[i].count);
		if (rc == NP_OK && kinds[i].spans)
			rc = activity_use_spans(layer, kinds[i].spans, kinds[i].nobody, build->err);
	}
	return rc;
}

/* What does not lie behind `now` is needed again: the input is not ours. */
static int keep_rest(struct np_activity_builder *build, struct activity_layer *layer)
{
	size_t count = layer->count - layer->next;
	const struct np_activity_task *rest = count ? &layer->piece[layer->next] : NULL;

	if (!rest || layer->piece == layer->own.item) {
		if (rest)
			memmove(layer->own.item, rest, count * sizeof(*rest));
		layer->own.count = count;
		return NP_OK;
	}
	for (size_t i = 0; i < count; i++) {
		struct np_activity_task *piece = np_vec_add(&layer->own, build->err);

		if (!piece)
			return NP_E_NOMEM;
		*piece = rest[i];
	}
	return NP_OK;
}

/* First start and last end of computing and communication, as far as they are known. */
static void find_span(struct np_activity_builder *build)
{
	np_ns begin = NP_NS_MAX;

	for (int kind = COMPUTING; kind <= COMMUNICATION; kind++) {
		const struct activity_layer *layer = &build->layer[kind];

		if (layer->count == 0)
			continue;
		if (layer->piece[0].start < begin)
			begin = layer->piece[0].start;
		if (layer->piece[layer->count - 1].end > build->end)
			build->end = layer->piece[layer->count - 1].end;
	}
	if (!build->begun)
		build->now = begin;
}

static int begin_span(struct np_activity_builder *build)
{
	build->begun = true;
	build->cell.begin = build->now;
	build->next_loading = first_loading(build->loading, build->now);
	return activity_begin_segment(build, build->now);
}

int np_activity_feed(struct np_activity_builder *build, struct np_activity_input *input,
		     np_ns until, struct np_err *err)
{
	int rc;

	build->err = err;
	np_activity_sort(input->kernels, input->kernel_count);
	rc = see_starts(build, input);
	if (rc == NP_OK)
		rc = fill_layers(build, input);
	if (rc < 0)
		return rc;
	ask_host(build);
	find_span(build);
	build->limit = build->end < until ? build->end : until;
	if (build->now < build->limit) {
		if (!build->begun)
			rc = begin_span(build);
		if (rc == NP_OK)
			rc = sweep(build);
	}
	find_nexts(build);
	for (int i = 0; i < LAYERS && rc == NP_OK; i++)
		rc = keep_rest(build, &build->layer[i]);
	activity_forget_cuts(build);
	return rc;
}

/* --- cells ----------------------------------------------------------------------------------- */

struct np_activity_builder *np_activity_builder_new(void)
{
	return calloc(1, sizeof(struct np_activity_builder));
}

void np_activity_builder_free(struct np_activity_builder *build)
{
	if (!build)
		return;
	for (int i = 0; i < LAYERS; i++)
		np_vec_release(&build->layer[i].own);
	np_numbers_release(&build->places);
	np_vec_release(&build->cuts);
	np_vec_release(&build->nexts);
	np_vec_release(&build->starts);
	free(build);
}

void np_activity_begin(struct np_activity_builder *build, struct np_activity *activity,
		       const struct np_spans *loading)
{
	/* The segment that ends the last becomes the first of this cell. */
	if (activity->segments.count > 0)
		activity->segments.count--;
	build->activity = activity;
	build->loading = loading;
	build->cell = (struct np_activity_cell){
		.first_segment = (uint32_t)activity->segments.count,
		.first_exposed = (uint32_t)activity->exposed.count,
	};
	build->begun = false;
	build->end = -NP_NS_MAX;
	build->cuts.count = 0;
	build->next_cut = 0;
	build->stream_count = 0;
	build->nexts.count = 0;
	build->asked = 0;
	memset(build->known, 0, sizeof(build->known));
	for (int i = 0; i < LAYERS; i++) {
		build->layer[i].own.count = 0;
		build->layer[i].reached = -NP_NS_MAX;
	}
}

int np_activity_end(struct np_activity_builder *build, struct np_err *err)
{
	struct np_activity_cell *cell;
	int rc = np_activity_feed(build, &(struct np_activity_input){ 0 }, NP_NS_MAX, err);

	if (rc < 0)
		return rc;
	if (build->begun) {
		activity_end_segment(build);
		build->cell.end = build->end;
	}
	keep_nexts(build);
	cell = np_vec_add(&build->activity->cells, err);
	if (!cell)
		return NP_E_NOMEM;
	*cell = build->cell;
	return activity_begin_segment(build, build->cell.end);
}

int np_activity_add(struct np_activity *activity, struct np_activity_input *input,
		    struct np_err *err)
{
	struct np_activity_builder *build = np_activity_builder_new();
	int rc;

	if (!build)
		return np_fail_nomem(err, "step times");
	np_activity_begin(build, activity, input->loading);
	rc = np_activity_feed(build, input, NP_NS_MAX, err);
	if (rc == NP_OK)
		rc = np_activity_end(build, err);
	np_activity_builder_free(build);
	return rc;
}
