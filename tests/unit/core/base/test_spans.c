/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/spans.h"

#include "np_fault.h"
#include "np_random.h"
#include "np_test.h"

static struct np_spans *spans_of(size_t pairs, const np_ns pair[][2])
{
	struct np_spans *set = np_spans_new();

	assert_non_null(set);
	for (size_t i = 0; i < pairs; i++)
		assert_int_equal(np_spans_add(set, pair[i][0], pair[i][1], NULL), NP_OK);
	return set;
}

#define SPANS(...) \
	spans_of(sizeof((const np_ns[][2]){ __VA_ARGS__ }) / sizeof(np_ns[2]), \
		 (const np_ns[][2]){ __VA_ARGS__ })

static void assert_span(const struct np_spans *set, size_t i, np_ns begin, np_ns end)
{
	assert_int_equal(np_spans_get(set, i).begin, begin);
	assert_int_equal(np_spans_get(set, i).end, end);
}

static void touching_spans_become_one(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 0, 10 }, { 10, 20 });

	(void)state;
	assert_int_equal(np_spans_count(set), 1);
	assert_int_equal(np_spans_total(set), 20);
}

static void touching_spans_become_one_backwards_too(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 10, 20 }, { 0, 10 });

	(void)state;
	assert_int_equal(np_spans_count(set), 1);
	assert_int_equal(np_spans_total(set), 20);
}

static void concurrent_streams_count_once(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 0, 10 }, { 5, 15 }, { 5, 10 });

	(void)state;
	assert_int_equal(np_spans_total(set), 15);
}

static void order_of_adding_does_not_matter(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 20, 30 }, { 0, 5 }, { 4, 21 });

	(void)state;
	assert_int_equal(np_spans_count(set), 1);
	assert_int_equal(np_spans_total(set), 30);
}

static void spans_are_kept_in_time_order(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 20, 30 }, { 0, 5 }, { 10, 12 });

	(void)state;
	assert_int_equal(np_spans_count(set), 3);
	assert_span(set, 0, 0, 5);
	assert_span(set, 1, 10, 12);
	assert_span(set, 2, 20, 30);
}

static void an_empty_span_adds_nothing(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 0, 10 }, { 20, 20 }, { 5, 5 });

	(void)state;
	assert_int_equal(np_spans_count(set), 1);
	assert_int_equal(np_spans_total(set), 10);
}

static void a_cleared_set_is_empty(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 0, 10 });

	(void)state;
	np_spans_clear(set);
	assert_int_equal(np_spans_count(set), 0);
	assert_int_equal(np_spans_total(set), 0);
	assert_int_equal(np_spans_add(set, -5, -1, NULL), NP_OK);
	assert_span(set, 0, -5, -1);
}

static void overlap_of_disjoint_sets_is_zero(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *compute = SPANS({ 0, 10 }, { 20, 30 });
	NP_CLEANUP(np_spans_freep) struct np_spans *comm = SPANS({ 10, 20 });

	(void)state;
	assert_int_equal(np_spans_overlap(compute, comm), 0);
}

static void overlap_of_few_with_many_is_found_as_well(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *many = np_spans_new();
	NP_CLEANUP(np_spans_freep)
	struct np_spans *few = SPANS({ 2, 9 }, { 295, 321 }, { 505, 509 });
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (np_ns i = 0; i < 100; i++)
		assert_ok(np_spans_add(many, 10 * i, 10 * i + 4, &err), err);
	/* [2, 4), then [300, 304), [310, 314) and [320, 321); the last lies in a gap. */
	assert_int_equal(np_spans_overlap(few, many), 2 + 4 + 4 + 1);
	assert_int_equal(np_spans_overlap(many, few), 2 + 4 + 4 + 1);
}

static void overlap_is_the_same_from_both_sides(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *compute = SPANS({ 0, 10 }, { 20, 30 });
	NP_CLEANUP(np_spans_freep) struct np_spans *comm = SPANS({ 5, 25 });

	(void)state;
	assert_int_equal(np_spans_overlap(compute, comm), 10);
	assert_int_equal(np_spans_overlap(comm, compute), 10);
}

static void the_longest_span_allowed_does_not_overflow(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ -NP_NS_MAX, NP_NS_MAX });

	(void)state;
	assert_int_equal(np_spans_total(set), 2 * NP_NS_MAX);
	assert_int_equal(np_spans_overlap(set, set), 2 * NP_NS_MAX);
}

static void backwards_span_is_refused_and_leaves_the_set_alone(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 0, 10 });
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_spans_add(set, 9, 5, &err), NP_E_RANGE);
	assert_string_equal(err.text, "bad span [9, 5)");
	assert_int_equal(np_spans_total(set), 10);
}

static void a_bound_out_of_range_is_refused(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 0, 10 });

	(void)state;
	assert_int_equal(np_spans_add(set, -NP_NS_MAX - 1, 0, NULL), NP_E_RANGE);
	assert_int_equal(np_spans_add(set, 0, NP_NS_MAX + 1, NULL), NP_E_RANGE);
	assert_int_equal(np_spans_add(set, NP_NS_MAX + 1, NP_NS_MAX + 2, NULL), NP_E_RANGE);
	assert_int_equal(np_spans_add(set, NP_UNKNOWN, NP_UNKNOWN, NULL), NP_E_RANGE);
	assert_int_equal(np_spans_total(set), 10);
}

static void one_bad_span_among_many_leaves_the_set_alone(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 0, 10 });
	struct np_span many[] = { { 30, 40 }, { 50, 45 }, { 11, 12 } };

	(void)state;
	assert_int_equal(np_spans_add_all(set, many, NP_COUNT(many), NULL), NP_E_RANGE);
	assert_int_equal(np_spans_count(set), 1);
	assert_int_equal(np_spans_total(set), 10);
}

static void adding_many_joins_them_with_what_is_there(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 10, 20 }, { 30, 40 });
	struct np_span many[] = { { 50, 60 }, { 15, 32 }, { 0, 5 }, { 7, 7 }, { 55, 58 } };

	(void)state;
	assert_int_equal(np_spans_add_all(set, many, NP_COUNT(many), NULL), NP_OK);
	assert_int_equal(np_spans_count(set), 3);
	assert_span(set, 0, 0, 5);
	assert_span(set, 1, 10, 40);
	assert_span(set, 2, 50, 60);
}

static void adding_none_is_allowed(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 10, 20 });

	(void)state;
	assert_int_equal(np_spans_add_all(set, NULL, 0, NULL), NP_OK);
	assert_int_equal(np_spans_count(set), 1);
}

static void a_number_that_overflows_is_out_of_memory(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = SPANS({ 10, 20 });
	struct np_span one = { 1, 2 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_spans_add_all(set, &one, SIZE_MAX / 2, &err), NP_E_NOMEM);
	assert_int_equal(err.code, NP_E_NOMEM);
	assert_int_equal(np_spans_count(set), 1);
}

static void extent_reaches_over_both_sets(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *a = SPANS({ 5, 6 }, { 20, 30 });
	NP_CLEANUP(np_spans_freep) struct np_spans *b = SPANS({ -3, 10 });
	struct np_span extent;

	(void)state;
	assert_true(np_spans_extent(a, b, &extent));
	assert_int_equal(extent.begin, -3);
	assert_int_equal(extent.end, 30);
	assert_true(np_spans_extent(a, NULL, &extent));
	assert_int_equal(extent.begin, 5);
}

static void extent_of_nothing_is_not_there(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *a = np_spans_new();
	NP_CLEANUP(np_spans_freep) struct np_spans *b = np_spans_new();
	struct np_span extent = { 7, 8 };

	(void)state;
	assert_false(np_spans_extent(a, NULL, &extent));
	assert_false(np_spans_extent(a, b, &extent));
	assert_int_equal(extent.begin, 7);
	assert_int_equal(np_spans_add(b, 1, 2, NULL), NP_OK);
	assert_true(np_spans_extent(a, b, &extent));
	assert_int_equal(extent.begin, 1);
}

/* The sets of the property test live in [0, TIME): one flag for each nanosecond. */
enum {
	TIME = 400
};

struct bitmap {
	bool covered[TIME];
};

static struct np_span some_span(uint64_t *seed)
{
	np_ns begin = (np_ns)np_random_below(seed, TIME);
	np_ns longest = np_random_below(seed, 4) == 0 ? 60 : 8;
	np_ns end = begin + (np_ns)np_random_below(seed, (size_t)longest);

	return (struct np_span){ .begin = begin, .end = end < TIME ? end : TIME };
}

static void mark(struct bitmap *bitmap, struct np_span span)
{
	for (np_ns t = span.begin; t < span.end; t++)
		bitmap->covered[t] = true;
}

/* The set is exactly the runs of the bitmap, from the first to the last. */
static void assert_same(const struct np_spans *set, const struct bitmap *bitmap)
{
	size_t runs = 0;
	np_ns total = 0;

	for (np_ns t = 0; t < TIME; t++) {
		total += bitmap->covered[t];
		if (!bitmap->covered[t])
			continue;
		if (t == 0 || !bitmap->covered[t - 1]) {
			assert_true(runs < np_spans_count(set));
			assert_int_equal(np_spans_get(set, runs).begin, t);
		}
		if (t + 1 == TIME || !bitmap->covered[t + 1])
			assert_int_equal(np_spans_get(set, runs++).end, t + 1);
	}
	assert_int_equal(np_spans_count(set), runs);
	assert_int_equal(np_spans_total(set), total);
}

static void add_some(struct np_spans *set, struct bitmap *bitmap, uint64_t *seed)
{
	struct np_span many[40];
	size_t count = np_random_below(seed, NP_COUNT(many));

	for (size_t i = 0; i < count; i++) {
		many[i] = some_span(seed);
		mark(bitmap, many[i]);
	}
	if (np_random_below(seed, 2) == 0) {
		assert_int_equal(np_spans_add_all(set, many, count, NULL), NP_OK);
		return;
	}
	for (size_t i = 0; i < count; i++)
		assert_int_equal(np_spans_add(set, many[i].begin, many[i].end, NULL), NP_OK);
}

static np_ns overlap_of(const struct bitmap *a, const struct bitmap *b)
{
	np_ns total = 0;

	for (size_t t = 0; t < TIME; t++)
		total += a->covered[t] && b->covered[t];
	return total;
}

static void assert_same_extent(const struct np_spans *a, const struct bitmap *in_a,
			       const struct np_spans *b, const struct bitmap *in_b)
{
	struct np_span extent = { 0, 0 };
	np_ns first = 0;
	np_ns last = TIME;

	while (first < TIME && !in_a->covered[first] && !in_b->covered[first])
		first++;
	while (last > 0 && !in_a->covered[last - 1] && !in_b->covered[last - 1])
		last--;
	assert_int_equal(np_spans_extent(a, b, &extent), first < TIME);
	if (first < TIME) {
		assert_int_equal(extent.begin, first);
		assert_int_equal(extent.end, last);
	}
}

/* [0, 10) and [20, 30): of [5, 25) five at each end are covered. */
static void a_part_of_the_time_is_covered_so_far(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = np_spans_new();

	(void)state;
	assert_int_equal(np_spans_add(set, 0, 10, NULL), NP_OK);
	assert_int_equal(np_spans_add(set, 20, 30, NULL), NP_OK);
	assert_int_equal(np_spans_within(set, 5, 25), 10);
	assert_int_equal(np_spans_within(set, 10, 20), 0);
	assert_int_equal(np_spans_within(set, -5, 100), 20);
}

static void what_is_cut_off_comes_back(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = np_spans_new();
	struct np_span rest;

	(void)state;
	assert_int_equal(np_spans_add(set, 0, 10, NULL), NP_OK);
	assert_int_equal(np_spans_add(set, 20, 30, NULL), NP_OK);
	rest = np_spans_cut(set, 22);
	assert_int_equal(rest.begin, 22);
	assert_int_equal(rest.end, 30);
	assert_int_equal(np_spans_total(set), 12);
	rest = np_spans_cut(set, 22);
	assert_int_equal(rest.begin, rest.end);
	assert_int_equal(np_spans_total(set), 12);
}

static void sets_agree_with_a_flag_for_each_nanosecond(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *a = np_spans_new();
	NP_CLEANUP(np_spans_freep) struct np_spans *b = np_spans_new();
	uint64_t seed = 1;

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	for (int round = 0; round < 2000; round++) {
		struct bitmap in_a = { 0 };
		struct bitmap in_b = { 0 };

		np_spans_clear(a);
		np_spans_clear(b);
		for (int i = 0; i < 3; i++) {
			add_some(a, &in_a, &seed);
			add_some(b, &in_b, &seed);
			assert_same(a, &in_a);
			assert_same(b, &in_b);
			assert_int_equal(np_spans_overlap(a, b), overlap_of(&in_a, &in_b));
			assert_same_extent(a, &in_a, b, &in_b);
		}
	}
}

static void joined_sets_cover_what_either_did(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *a = np_spans_new();
	NP_CLEANUP(np_spans_freep) struct np_spans *b = np_spans_new();
	uint64_t seed = 2;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct bitmap in_a = { 0 };
		struct bitmap in_b = { 0 };

		np_spans_clear(a);
		np_spans_clear(b);
		/* Also where one is empty. */
		if (round % 5 > 0)
			add_some(a, &in_a, &seed);
		if (round % 7 > 0)
			add_some(b, &in_b, &seed);
		assert_int_equal(np_spans_join(a, b, NULL), NP_OK);
		assert_same(b, &in_b);
		for (size_t t = 0; t < TIME; t++)
			in_a.covered[t] |= in_b.covered[t];
		assert_same(a, &in_a);
	}
}

static int add_all_after_some(struct np_spans *set, struct np_err *err)
{
	struct np_span many[] = { { 1, 2 }, { 2501, 2502 }, { 5001, 5002 } };
	np_ns before = np_spans_total(set);
	int rc = np_spans_add_all(set, many, NP_COUNT(many), err);

	assert_int_equal(np_spans_total(set), before + (rc < 0 ? 0 : 3));
	return rc;
}

static int fill_set(struct np_err *err)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = np_spans_new();

	if (!set)
		return np_fail_nomem(err, "a set");
	for (np_ns t = 0; t < 500; t++) {
		int rc = np_spans_add(set, 10 * t, 10 * t + 1, err);

		if (rc < 0) {
			assert_int_equal(np_spans_count(set), t);
			assert_int_equal(np_spans_total(set), t);
			return rc;
		}
	}
	return add_all_after_some(set, err);
}

static void running_out_of_memory_leaves_the_set_as_it_was(void **state)
{
	(void)state;
	assert_survives_faults(fill_set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(touching_spans_become_one),
		cmocka_unit_test(touching_spans_become_one_backwards_too),
		cmocka_unit_test(concurrent_streams_count_once),
		cmocka_unit_test(order_of_adding_does_not_matter),
		cmocka_unit_test(spans_are_kept_in_time_order),
		cmocka_unit_test(an_empty_span_adds_nothing),
		cmocka_unit_test(a_cleared_set_is_empty),
		cmocka_unit_test(overlap_of_disjoint_sets_is_zero),
		cmocka_unit_test(overlap_of_few_with_many_is_found_as_well),
		cmocka_unit_test(overlap_is_the_same_from_both_sides),
		cmocka_unit_test(the_longest_span_allowed_does_not_overflow),
		cmocka_unit_test(backwards_span_is_refused_and_leaves_the_set_alone),
		cmocka_unit_test(a_bound_out_of_range_is_refused),
		cmocka_unit_test(one_bad_span_among_many_leaves_the_set_alone),
		cmocka_unit_test(adding_many_joins_them_with_what_is_there),
		cmocka_unit_test(adding_none_is_allowed),
		cmocka_unit_test(a_number_that_overflows_is_out_of_memory),
		cmocka_unit_test(extent_reaches_over_both_sets),
		cmocka_unit_test(extent_of_nothing_is_not_there),
		cmocka_unit_test(a_part_of_the_time_is_covered_so_far),
		cmocka_unit_test(what_is_cut_off_comes_back),
		cmocka_unit_test(sets_agree_with_a_flag_for_each_nanosecond),
		cmocka_unit_test(joined_sets_cover_what_either_did),
		cmocka_unit_test(running_out_of_memory_leaves_the_set_as_it_was),
	};

	return cmocka_run_group_tests_name("spans", tests, NULL, NULL);
}
