/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of disjoint intervals of time. */
#include "npuprof/spans.h"

#include "npuprof/order.h"
#include "npuprof/vec.h"

#include <assert.h>
#include <inttypes.h>

struct np_spans {
	struct np_span *item;
	size_t count;
	size_t capacity;
};

struct np_spans *np_spans_new(void)
{
	return calloc(1, sizeof(struct np_spans));
}

void np_spans_free(struct np_spans *set)
{
	if (!set)
		return;
	free(set->item);
	free(set);
}

void np_spans_freep(struct np_spans **set)
{
	np_spans_free(*set);
	*set = NULL;
}

void np_spans_clear(struct np_spans *set)
{
	set->count = 0;
}

/* Make room for `more` spans behind those of the set. */
static int reserve(struct np_spans *set, size_t more, struct np_err *err)
{
	return np_vec_reserve(set, more, NULL) < 0 ? np_fail_nomem(err, "spans of time") : NP_OK;
}

/* Index of the first span that ends at or after `t`, or count if none does. */
static size_t first_reaching(const struct np_spans *set, np_ns t)
{
	return np_lower_bound(i, (size_t)0, set->count, set->item[i].end >= t);
}

/* Replace the spans [from, to) with `joined`. There must be room for one. */
static void splice(struct np_spans *set, size_t from, size_t to, struct np_span joined)
{
	memmove(&set->item[from + 1], &set->item[to], (set->count - to) * sizeof(set->item[0]));
	set->item[from] = joined;
	set->count = set->count - (to - from) + 1;
}

/* Add a span that may reach, or begin before, the last one. There must be room for one. */
static void insert(struct np_spans *set, struct np_span joined)
{
	size_t from = first_reaching(set, joined.begin);
	size_t to;

	for (to = from; to < set->count && set->item[to].begin <= joined.end; to++) {
		if (set->item[to].begin < joined.begin)
			joined.begin = set->item[to].begin;
		if (set->item[to].end > joined.end)
			joined.end = set->item[to].end;
	}
	splice(set, from, to, joined);
}

/* Add a span that begins no earlier than the last one of `count`; return the new count. */
static inline size_t append(struct np_span *spans, size_t count, struct np_span span)
{
	if (count == 0 || spans[count - 1].end < span.begin)
		spans[count++] = span;
	else if (spans[count - 1].end < span.end)
		spans[count - 1].end = span.end;
	return count;
}

static bool is_in_order(const struct np_spans *set, np_ns begin)
{
	return set->count == 0 || set->item[set->count - 1].begin <= begin;
}

static int check(np_ns begin, np_ns end, struct np_err *err)
{
	if (begin < -NP_NS_MAX || end > NP_NS_MAX || end < begin)
		return np_fail(err, NP_E_RANGE, "bad span [%" PRId64 ", %" PRId64 ")", begin, end);
	return NP_OK;
}

int np_spans_add(struct np_spans *set, np_ns begin, np_ns end, struct np_err *err)
{
	struct np_span span = { .begin = begin, .end = end };
	int rc;

	/* Most come in order, each behind the one before or reaching over its end. */
	if (set->count > 0 && set->count < set->capacity && end > begin && end <= NP_NS_MAX &&
	    is_in_order(set, begin)) {
		set->count = append(set->item, set->count, span);
		return NP_OK;
	}
	rc = check(begin, end, err);
	if (rc < 0 || end == begin)
		return rc;
	if (set->count == set->capacity) {
		rc = reserve(set, 1, err);
		if (rc < 0)
			return rc;
	}

	/* Loaders read in order of begin. */
	if (is_in_order(set, begin))
		set->count = append(set->item, set->count, span);
	else
		insert(set, span);
	return NP_OK;
}

static int by_begin(const void *left, const void *right)
{
	const struct np_span *a = left;
	const struct np_span *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

static int check_and_sort(struct np_span *spans, size_t count, struct np_err *err)
{
	bool sorted = true;

	for (size_t i = 0; i < count; i++) {
		int rc = check(spans[i].begin, spans[i].end, err);

		if (rc < 0)
			return rc;
		if (i > 0 && by_begin(&spans[i - 1], &spans[i]) > 0)
			sorted = false;
	}
	if (!sorted)
		qsort(spans, count, sizeof(*spans), by_begin);
	return NP_OK;
}

static int append_all(struct np_spans *set, const struct np_span *spans, size_t count,
		      struct np_err *err)
{
	int rc = reserve(set, count, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		if (spans[i].begin < spans[i].end)
			set->count = append(set->item, set->count, spans[i]);
	}
	return NP_OK;
}

/* Both sides are sorted by begin: one pass over them into new memory. */
static int merge_all(struct np_spans *set, const struct np_span *spans, size_t count,
		     struct np_err *err)
{
	size_t capacity = set->count + count;
	struct np_span *merged = malloc(capacity * sizeof(*merged));
	size_t length = 0;
	size_t i = 0;
	size_t j = 0;

	if (!merged)
		return np_fail_nomem(err, "spans of time");
	while (i < set->count || j < count) {
		if (j == count || (i < set->count && set->item[i].begin <= spans[j].begin))
			length = append(merged, length, set->item[i++]);
		else if (spans[j].begin == spans[j].end)
			j++;
		else
			length = append(merged, length, spans[j++]);
	}
	free(set->item);
	set->item = merged;
	set->count = length;
	set->capacity = capacity;
	return NP_OK;
}

int np_spans_add_all(struct np_spans *set, struct np_span *spans, size_t count, struct np_err *err)
{
	int rc;

	if (count == 0)
		return NP_OK;
	if (count > PTRDIFF_MAX / sizeof(*spans) - set->count)
		return np_fail_nomem(err, "spans of time");
	rc = check_and_sort(spans, count, err);
	if (rc < 0)
		return rc;
	if (is_in_order(set, spans[0].begin))
		return append_all(set, spans, count, err);
	return merge_all(set, spans, count, err);
}

int np_spans_join(struct np_spans *set, const struct np_spans *other, struct np_err *err)
{
	if (other->count == 0)
		return NP_OK;
	if (is_in_order(set, other->item[0].begin))
		return append_all(set, other->item, other->count, err);
	return merge_all(set, other->item, other->count, err);
}

size_t np_spans_count(const struct np_spans *set)
{
	return set->count;
}

struct np_span np_spans_get(const struct np_spans *set, size_t i)
{
	assert(i < set->count);
	return set->item[i];
}

np_ns np_spans_total(const struct np_spans *set)
{
	np_ns total = 0;

	for (size_t i = 0; i < set->count; i++)
		total += set->item[i].end - set->item[i].begin;
	return total;
}

/* So many times as many spans are rather searched than passed by. */
#define MANY_TIMES 16

static np_ns overlap_of_few(const struct np_spans *few, const struct np_spans *many)
{
	np_ns total = 0;

	for (size_t i = 0; i < few->count; i++)
		total += np_spans_within(many, few->item[i].begin, few->item[i].end);
	return total;
}

np_ns np_spans_overlap(const struct np_spans *a, const struct np_spans *b)
{
	np_ns total = 0;
	size_t i = 0;
	size_t j = 0;

	if (a->count < b->count / MANY_TIMES)
		return overlap_of_few(a, b);
	if (b->count < a->count / MANY_TIMES)
		return overlap_of_few(b, a);
	while (i < a->count && j < b->count) {
		const struct np_span *x = &a->item[i];
		const struct np_span *y = &b->item[j];
		np_ns begin = x->begin > y->begin ? x->begin : y->begin;
		np_ns end = x->end < y->end ? x->end : y->end;

		if (begin < end)
			total += end - begin;

		/* Whichever ends first cannot meet anything later in the other set. */
		if (x->end < y->end)
			i++;
		else
			j++;
	}
	return total;
}

np_ns np_spans_within(const struct np_spans *set, np_ns begin, np_ns end)
{
	np_ns total = 0;

	for (size_t i = first_reaching(set, begin); i < set->count && set->item[i].begin < end;
	     i++) {
		np_ns from = set->item[i].begin > begin ? set->item[i].begin : begin;
		np_ns to = set->item[i].end < end ? set->item[i].end : end;

		if (from < to)
			total += to - from;
	}
	return total;
}

struct np_span np_spans_cut(struct np_spans *set, np_ns at)
{
	struct np_span rest = { at, at };
	struct np_span *last = set->count ? &set->item[set->count - 1] : NULL;

	if (!last || last->end <= at)
		return rest;
	assert(last->begin < at);
	rest.end = last->end;
	last->end = at;
	return rest;
}

bool np_spans_extent(const struct np_spans *a, const struct np_spans *b, struct np_span *ret)
{
	const struct np_spans *set[] = { a, b };
	struct np_span extent = { .begin = INT64_MAX, .end = INT64_MIN };

	for (size_t i = 0; i < NP_COUNT(set); i++) {
		if (!set[i] || set[i]->count == 0)
			continue;
		if (set[i]->item[0].begin < extent.begin)
			extent.begin = set[i]->item[0].begin;
		if (set[i]->item[set[i]->count - 1].end > extent.end)
			extent.end = set[i]->item[set[i]->count - 1].end;
	}
	if (extent.end < extent.begin)
		return false;
	*ret = extent;
	return true;
}
