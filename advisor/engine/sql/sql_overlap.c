/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions over the intervals of two sources.
 *
 * overlap(a, b): the pairs of rows that run at the same time, and for how long.
 * covered(a, b): for each row of a, how much of it is covered by rows of b.
 * shared(a, b): one row, how long there were both rows of a and rows of b.
 *
 * Each source is a SELECT whose first three columns are an id, a start and an
 * end. Intervals are half open; what has no length overlaps nothing.
 */
#include "sql_tables.h"

#include <stdlib.h>

#include "npuprof/spans.h"

#include "advisor/engine/views/view_bulk.h"

struct overlap_interval {
	np_ns begin;
	np_ns end;
	struct np_cell id;
	size_t row;
};

struct intervals {
	NP_VEC(struct overlap_interval) list;
	struct np_arena *arena;
};

static void release(struct intervals *intervals)
{
	np_vec_release(&intervals->list);
	np_arena_free(intervals->arena);
}

static int compare(const void *a, const void *b)
{
	const struct overlap_interval *x = a;
	const struct overlap_interval *y = b;

	if (x->begin != y->begin)
		return np_order(x->begin, y->begin);
	return np_order((int64_t)x->row, (int64_t)y->row);
}

static bool in_range(struct np_cell cell)
{
	return cell.type == NP_CELL_INTEGER && cell.integer >= -NP_NS_MAX &&
	       cell.integer <= NP_NS_MAX;
}

/* The same of a view whose times are numbers, without asking for each cell; ids stay its own. */
static int read_columns(struct adv_sql_source *source, struct intervals *intervals,
			bool *ret_sorted, bool *ret_done, struct np_err *err)
{
	size_t count = adv_sql_source_count(source);
	np_ns *begin = malloc((count + 1) * sizeof(*begin));
	np_ns *end = malloc((count + 1) * sizeof(*end));
	int rc = NP_OK;

	if (!begin || !end)
		rc = np_fail_nomem(err, "intervals");
	*ret_done = rc == NP_OK && adv_sql_source_numbers(source, 1, begin) &&
		    adv_sql_source_numbers(source, 2, end);
	if (*ret_done && np_vec_reserve(&intervals->list, count, err) < 0)
		rc = NP_E_NOMEM;
	for (size_t i = 0; *ret_done && rc == NP_OK && i < count; i++) {
		struct overlap_interval *interval;

		source->row = source->some ? source->rows.item[i] : i;
		if (begin[i] < -NP_NS_MAX || end[i] < begin[i] || end[i] > NP_NS_MAX)
			continue;
		interval = &intervals->list.item[intervals->list.count++];
		*ret_sorted = *ret_sorted &&
			      (intervals->list.count < 2 || begin[i] >= interval[-1].begin);
		*interval = (struct overlap_interval){
			.begin = begin[i],
			.end = end[i],
			.id = adv_sql_source_cell(source, 0),
			.row = intervals->list.count,
		};
	}
	free(begin);
	free(end);
	return rc;
}

static int read_all(struct adv_sql_source *source, struct intervals *intervals, bool *ret_sorted,
		    struct np_err *err)
{
	np_ns before = INT64_MIN;
	int rc;

	while ((rc = adv_sql_source_next(source, err)) > 0) {
		struct np_cell begin = adv_sql_source_cell(source, 1);
		struct np_cell end = adv_sql_source_cell(source, 2);
		struct overlap_interval *interval;

		if (!in_range(begin) || !in_range(end) || end.integer < begin.integer)
			continue;
		interval = np_vec_add(&intervals->list, err);
		if (!interval)
			return NP_E_NOMEM;
		interval->begin = begin.integer;
		interval->end = end.integer;
		interval->row = intervals->list.count;
		*ret_sorted = *ret_sorted && begin.integer >= before;
		before = begin.integer;
		rc = adv_cell_copy(intervals->arena, adv_sql_source_cell(source, 0), &interval->id,
				   err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* The intervals of a source that is open, in the order of their begin. */
static int take_source(struct adv_sql_source *source, struct intervals *intervals,
		       struct np_err *err)
{
	bool sorted = true;
	bool done = false;
	int rc = NP_OK;

	intervals->arena = np_arena_new();
	if (!intervals->arena)
		return np_fail_nomem(err, "intervals");
	if (source->view)
		rc = read_columns(source, intervals, &sorted, &done, err);
	if (rc == NP_OK && !done)
		rc = read_all(source, intervals, &sorted, err);
	if (rc == NP_OK && !sorted)
		qsort(intervals->list.item, intervals->list.count, sizeof(struct overlap_interval),
		      compare);
	return rc;
}

static int open_source(struct adv_sql *sql, sqlite3_value *argument, const char *name,
		       struct adv_sql_source *ret, struct np_err *err)
{
	const char *text = NULL;
	int rc = adv_sql_text_argument(argument, name, &text, err);

	return rc == NP_OK ? adv_sql_source_open(sql, text, 3, ret, err) : rc;
}

static int load(struct adv_sql *sql, sqlite3_value *argument, const char *name,
		struct intervals *intervals, struct np_err *err)
{
	NP_CLEANUP(adv_sql_source_close) struct adv_sql_source source = { .stmt = NULL };
	int rc = open_source(sql, argument, name, &source, err);

	return rc == NP_OK ? take_source(&source, intervals, err) : rc;
}

/* The time that a source covers, and how many intervals: views know it of all their rows. */
struct covering {
	struct intervals intervals;
	struct np_spans *own;
	const struct np_spans *spans;
	size_t count;
};

static int unite(const struct intervals *intervals, struct np_spans *spans, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < intervals->list.count && rc == NP_OK; i++)
		rc = np_spans_add(spans, intervals->list.item[i].begin, intervals->list.item[i].end,
				  err);
	return rc;
}

static void covering_release(struct covering *covering)
{
	np_spans_free(covering->own);
	release(&covering->intervals);
}

/* Ask the view of a source that takes all of its rows. */
static int ask_view(const struct adv_sql_source *source, struct covering *ret, struct np_err *err)
{
	const struct adv_view_cover *cover = NULL;
	int rc = NP_OK;

	if (source->view && !source->some && source->column[1] != SIZE_MAX &&
	    source->column[2] != SIZE_MAX)
		rc = adv_view_cover(source->view, source->column[1], source->column[2], &cover,
				    err);
	if (cover) {
		ret->spans = cover->spans;
		ret->count = cover->count;
	}
	return rc;
}

static int load_covering(struct adv_sql *sql, sqlite3_value *argument, const char *name,
			 struct covering *ret, struct np_err *err)
{
	NP_CLEANUP(adv_sql_source_close) struct adv_sql_source source = { .stmt = NULL };
	int rc = open_source(sql, argument, name, &source, err);

	if (rc == NP_OK)
		rc = ask_view(&source, ret, err);
	if (rc < 0 || ret->spans)
		return rc;
	ret->own = np_spans_new();
	rc = ret->own ? take_source(&source, &ret->intervals, err) : np_fail_nomem(err, "spans");
	if (rc == NP_OK)
		rc = unite(&ret->intervals, ret->own, err);
	ret->spans = ret->own;
	ret->count = ret->intervals.list.count;
	return rc;
}

/* Read both sources; the second one is not needed where the first has nothing. */
static int load_both(struct adv_sql *sql, sqlite3_value **arguments, struct intervals *a,
		     struct intervals *b, struct np_err *err)
{
	int rc = load(sql, arguments[0], "a", a, err);

	return rc == NP_OK && a->list.count > 0 ? load(sql, arguments[1], "b", b, err) : rc;
}

/* Those that have begun and may not have ended. */
struct active {
	NP_VEC(const struct overlap_interval *) list;
};

/* `new` has begun: pair it with all of the other side that still run, and drop those that ended. */
static int meet(struct adv_sql *sql, const struct overlap_interval *new, struct active *others,
		bool new_is_a, struct adv_rows *rows, struct np_err *err)
{
	size_t kept = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < others->list.count; i++) {
		const struct overlap_interval *other = others->list.item[i];
		np_ns end = other->end < new->end ? other->end : new->end;

		if (other->end <= new->begin)
			continue;
		others->list.item[kept++] = other;
		if (rc < 0 || end <= new->begin)
			continue;
		rc = adv_rows_add(rows,
				  (struct np_cell[]){ new_is_a ? new->id : other->id,
						      new_is_a ? other->id : new->id,
						      np_cell_integer(new->begin),
						      np_cell_integer(end),
						      np_cell_integer(end - new->begin) },
				  err);
		if (rc == NP_OK && sql->limits.rows > 0 &&
		    adv_rows_count(rows) > (size_t)sql->limits.rows)
			rc = np_fail(err, NP_E_RANGE, "too many pairs");
		if (rc == NP_OK && adv_sql_late(sql))
			rc = np_fail(err, NP_E_RANGE, "out of time");
	}
	others->list.count = kept;
	return rc;
}

static int sweep(struct adv_sql *sql, const struct intervals *a, const struct intervals *b,
		 struct adv_rows *rows, struct np_err *err)
{
	struct active as = { .list = { 0 } };
	struct active bs = { .list = { 0 } };
	size_t i = 0;
	size_t j = 0;
	int rc = NP_OK;

	while (rc == NP_OK && (i < a->list.count || j < b->list.count)) {
		bool from_a = j >= b->list.count ||
			      (i < a->list.count && a->list.item[i].begin <= b->list.item[j].begin);
		const struct overlap_interval *new =
			from_a ? &a->list.item[i++] : &b->list.item[j++];
		struct active *own = from_a ? &as : &bs;
		const struct overlap_interval **slot;

		rc = meet(sql, new, from_a ? &bs : &as, from_a, rows, err);
		if (rc < 0)
			break;
		slot = np_vec_add(&own->list, err);
		if (slot)
			*slot = new;
		else
			rc = NP_E_NOMEM;
	}
	np_vec_release(&as.list);
	np_vec_release(&bs.list);
	return rc;
}

static int compute_overlap(struct adv_sql *sql, sqlite3_value **arguments, struct adv_rows *rows,
			   struct np_err *err)
{
	struct intervals a = { .list = { 0 } };
	struct intervals b = { .list = { 0 } };
	int rc = load_both(sql, arguments, &a, &b, err);

	if (rc == NP_OK)
		rc = sweep(sql, &a, &b, rows, err);
	release(&a);
	release(&b);
	return rc;
}

/* Time of [begin, end) inside of the spans from number `first` on. */
static np_ns covered_by(const struct np_spans *spans, size_t first, np_ns begin, np_ns end)
{
	np_ns total = 0;

	for (size_t i = first; i < np_spans_count(spans); i++) {
		struct np_span span = np_spans_get(spans, i);
		np_ns from = span.begin > begin ? span.begin : begin;
		np_ns to = span.end < end ? span.end : end;

		if (span.begin >= end)
			break;
		if (to > from)
			total += to - from;
	}
	return total;
}

static int measure(struct adv_sql *sql, const struct intervals *a, const struct np_spans *spans,
		   struct adv_rows *rows, struct np_err *err)
{
	size_t first = 0;

	for (size_t i = 0; i < a->list.count; i++) {
		const struct overlap_interval *one = &a->list.item[i];
		np_ns covered;
		int rc;

		/* Rows are in order of their begin: spans that ended before are done with. */
		while (first < np_spans_count(spans) &&
		       np_spans_get(spans, first).end <= one->begin)
			first++;
		covered = covered_by(spans, first, one->begin, one->end);
		rc = adv_rows_add(
			rows,
			(struct np_cell[]){ one->id, np_cell_integer(one->end - one->begin),
					    np_cell_integer(covered),
					    np_cell_integer(one->end - one->begin - covered) },
			err);
		if (rc == NP_OK && adv_sql_late(sql))
			rc = np_fail(err, NP_E_RANGE, "out of time");
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static int compute_covered(struct adv_sql *sql, sqlite3_value **arguments, struct adv_rows *rows,
			   struct np_err *err)
{
	struct intervals a = { .list = { 0 } };
	struct covering b = { .count = 0 };
	int rc = load(sql, arguments[0], "a", &a, err);

	if (rc == NP_OK && a.list.count > 0)
		rc = load_covering(sql, arguments[1], "b", &b, err);
	if (rc == NP_OK && a.list.count > 0)
		rc = measure(sql, &a, b.spans, rows, err);
	release(&a);
	covering_release(&b);
	return rc;
}

/* Where b has no rows, nothing is known of it, and of what is shared neither. */
static int compute_shared(struct adv_sql *sql, sqlite3_value **arguments, struct adv_rows *rows,
			  struct np_err *err)
{
	struct covering a = { .count = 0 };
	struct covering b = { .count = 0 };
	struct np_cell shared = np_cell_null();
	int rc = load_covering(sql, arguments[0], "a", &a, err);

	if (rc == NP_OK && a.count > 0)
		rc = load_covering(sql, arguments[1], "b", &b, err);
	if (rc == NP_OK && b.count > 0)
		shared = np_cell_integer(np_spans_overlap(a.spans, b.spans));
	if (rc == NP_OK)
		rc = adv_rows_add(
			rows,
			(struct np_cell[]){ shared, np_cell_integer(np_spans_total(a.spans)) },
			err);
	covering_release(&a);
	covering_release(&b);
	return rc;
}

int adv_sql_add_overlap(struct adv_sql *sql)
{
	static const char *const pair_names[] = { "a_id", "b_id", "start_ns", "end_ns",
						  "overlap_ns" };
	static const char *const shared_names[] = { "shared_ns", "a_ns" };
	static const char *const cover_names[] = { "a_id", "dur_ns", "covered_ns", "uncovered_ns" };
	static const struct adv_sql_table pairs = {
		.name = "overlap",
		.declaration = "CREATE TABLE x(a_id, b_id, start_ns, end_ns, overlap_ns, a HIDDEN,"
			       " b HIDDEN)",
		.result_columns = NP_COUNT(pair_names),
		.arguments = 2,
		.needed = 2,
		.compute = compute_overlap,
		.result_names = pair_names,
	};
	static const struct adv_sql_table cover = {
		.name = "covered",
		.declaration = "CREATE TABLE x(a_id, dur_ns, covered_ns, uncovered_ns, a HIDDEN,"
			       " b HIDDEN)",
		.result_columns = NP_COUNT(cover_names),
		.arguments = 2,
		.needed = 2,
		.compute = compute_covered,
		.result_names = cover_names,
	};
	static const struct adv_sql_table shared = {
		.name = "shared",
		.declaration = "CREATE TABLE x(shared_ns, a_ns, a HIDDEN, b HIDDEN)",
		.result_columns = NP_COUNT(shared_names),
		.arguments = 2,
		.needed = 2,
		.compute = compute_shared,
		.result_names = shared_names,
	};
	int rc = adv_sql_add_table(sql, &pairs);

	if (rc == SQLITE_OK)
		rc = adv_sql_add_table(sql, &cover);
	return rc == SQLITE_OK ? adv_sql_add_table(sql, &shared) : rc;
}
