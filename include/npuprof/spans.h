/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SPANS_H
#define NP_SPANS_H

#include "npuprof/err.h"

/*
 * Span sets
 * =========
 *
 * A span set answers "for how long was at least one of these things running?",
 * the question behind busy, idle and overlap figures. Adding the durations of
 * events would count the same wall time once per concurrent stream.
 *
 * Spans are half open, [begin, end): two events that touch neither overlap nor
 * leave a gap. Stored spans are sorted, disjoint and never touch; every
 * function below keeps that so.
 *
 * A set is not locked. Give each thread its own and merge them afterwards.
 */
struct np_span {
	np_ns begin;
	np_ns end;
};

struct np_spans;

/* Return an empty set, or NULL when out of memory. */
struct np_spans *np_spans_new(void) NP_MUST_USE;

/* Release the set. NULL is allowed. */
void np_spans_free(struct np_spans *set);

/* For NP_CLEANUP(np_spans_freep). */
void np_spans_freep(struct np_spans **set);

/* Make the set empty but keep its memory. */
void np_spans_clear(struct np_spans *set);

/*
 * Add [begin, end), joining it with what it touches. Adding in order of begin
 * costs amortised O(1), which is how loaders read; any order is accepted.
 * An empty span adds nothing. Fails with NP_E_RANGE, leaving the set as it was,
 * if end < begin or a bound lies outside ±NP_NS_MAX.
 */
int np_spans_add(struct np_spans *set, np_ns begin, np_ns end, struct np_err *err) NP_MUST_USE;

/*
 * Add many spans in any order in O(n log n); `spans` is sorted in place. Use it
 * where the order of the input is not known: single adds far out of order cost
 * a move of everything behind them. Spans are checked as np_spans_add() does.
 */
int np_spans_add_all(struct np_spans *set, struct np_span *spans, size_t count, struct np_err *err)
	NP_MUST_USE;

/* Add all that another set covers, in one pass over both. */
int np_spans_join(struct np_spans *set, const struct np_spans *other, struct np_err *err)
	NP_MUST_USE;

/* Number of disjoint spans. */
size_t np_spans_count(const struct np_spans *set);

/* The i-th span in time order, 0 <= i < count. */
struct np_span np_spans_get(const struct np_spans *set, size_t i);

/* Time covered by the set. */
np_ns np_spans_total(const struct np_spans *set);

/* Time covered by both sets, found in one pass over each. */
np_ns np_spans_overlap(const struct np_spans *a, const struct np_spans *b);

/* Time that the set covers of [begin, end). */
np_ns np_spans_within(const struct np_spans *set, np_ns begin, np_ns end);

/*
 * Keep what lies before `at`, where all spans begin before it. What was cut off
 * comes back; it is empty where nothing was.
 */
struct np_span np_spans_cut(struct np_spans *set, np_ns at);

/*
 * First begin and last end over both sets; false, with nothing written, when
 * both are empty. `b` may be NULL.
 */
bool np_spans_extent(const struct np_spans *a, const struct np_spans *b, struct np_span *ret);

#endif /* NP_SPANS_H */
