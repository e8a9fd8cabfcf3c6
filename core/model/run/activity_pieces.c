/* SPDX-License-Identifier: Apache-2.0 */
#include "activity_private.h"

/*
 * Cut sorted tasks so that each keeps what no earlier one has: those that are
 * still running began before it, so all of them together reach without a gap
 * from its start to the last of their ends.
 */
size_t activity_own(struct activity_layer *layer, struct np_activity_task *tasks, size_t count)
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

int activity_use_spans(struct activity_layer *layer, const struct np_spans *spans, uint32_t nobody,
		       struct np_err *err)
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
