/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing numbers, and the first of a sorted list that is not less. */
#include "npuprof/order.h"

#include "np_random.h"
#include "np_test.h"

static void a_lower_bound_is_where_a_walk_from_the_front_ends(void **state)
{
	int32_t values[40];
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		size_t count = np_random_below(&seed, NP_COUNT(values));
		int32_t wanted = (int32_t)np_random_below(&seed, 20);
		size_t walked = 0;

		for (size_t j = 0; j < count; j++)
			values[j] = (int32_t)np_random_below(&seed, 20);
		qsort(values, count, sizeof(*values), np_by_int32);
		while (walked < count && values[walked] < wanted)
			walked++;
		assert_int_equal(np_lower_bound(i, (size_t)0, count, values[i] >= wanted), walked);
	}
}

static void nothing_is_found_in_nothing(void **state)
{
	(void)state;
	assert_int_equal(np_lower_bound(i, 3, 3, i >= 0), 3);
	assert_int_equal(np_lower_bound(i, 5, 3, i >= 0), 5);
}

/* The first step would be at (2^31 - 2 + 2^31 - 1) / 2, whose sum does not fit. */
static void the_end_of_the_range_does_not_overflow(void **state)
{
	int32_t found = np_lower_bound(i, INT32_MAX - 1, INT32_MAX, i >= INT32_MAX);

	(void)state;
	assert_int_equal(found, INT32_MAX);
	assert_true(np_lower_bound(i, (uint64_t)0, UINT64_MAX, i >= UINT64_MAX - 5) ==
		    UINT64_MAX - 5);
}

static void numbers_are_ordered_without_subtracting_them(void **state)
{
	int64_t wide[] = { INT64_MAX, INT64_MIN, 0 };
	int32_t narrow[] = { INT32_MAX, INT32_MIN, 0 };
	uint32_t plain[] = { UINT32_MAX, 0, 5 };
	double real[] = { 1e300, -1e300, 0.5 };

	(void)state;
	qsort(wide, NP_COUNT(wide), sizeof(*wide), np_by_int64);
	assert_true(wide[0] == INT64_MIN && wide[1] == 0 && wide[2] == INT64_MAX);
	qsort(narrow, NP_COUNT(narrow), sizeof(*narrow), np_by_int32);
	assert_true(narrow[0] == INT32_MIN && narrow[1] == 0 && narrow[2] == INT32_MAX);
	qsort(plain, NP_COUNT(plain), sizeof(*plain), np_by_uint32);
	assert_true(plain[0] == 0 && plain[1] == 5 && plain[2] == UINT32_MAX);
	qsort(real, NP_COUNT(real), sizeof(*real), np_by_double);
	assert_true(real[0] < 0 && real[1] < 1 && real[2] > 1);
}

static void texts_are_ordered_by_their_bytes(void **state)
{
	const char *texts[] = { "b", "", "a\xff", "a" };

	(void)state;
	qsort(texts, NP_COUNT(texts), sizeof(*texts), np_by_text);
	assert_string_equal(texts[0], "");
	assert_string_equal(texts[1], "a");
	assert_string_equal(texts[2], "a\xff");
	assert_string_equal(texts[3], "b");
}

/* Few, many, those in order already, spans of one digit and of all 64 bits. */
static void times_are_sorted_as_qsort_does(void **state)
{
	static const unsigned bits[] = { 1, 7, 8, 9, 31, 33, 56, 57, 63, 64 };
	static const size_t sizes[] = { 0, 1, 2, 47, 48, 49, 300, 5000 };
	static np_ns times[5000];
	static np_ns scratch[5000];
	static np_ns expected[5000];
	uint64_t seed = 7;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(sizes) * NP_COUNT(bits); i++) {
		size_t count = sizes[i % NP_COUNT(sizes)];
		unsigned width = bits[i / NP_COUNT(sizes)];

		for (size_t j = 0; j < count; j++)
			times[j] = (np_ns)((np_random(&seed) >> (64 - width)) +
					   (width < 64 ? UINT64_C(1) << 62 : 0));
		memcpy(expected, times, sizeof(expected));
		qsort(expected, count, sizeof(*expected), np_by_int64);
		np_sort_times(times, scratch, count);
		assert_memory_equal(times, expected, count * sizeof(*times));
		np_sort_times(times, scratch, count);
		assert_memory_equal(times, expected, count * sizeof(*times));
	}
}

static int by_key_then_index(const void *left, const void *right)
{
	const struct np_keyed *a = left;
	const struct np_keyed *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return np_order(a->index, b->index);
}

/* Few and many, of some bits and of all, with gaps between them: equal keys stay as they were. */
static void keys_are_sorted_and_equal_ones_stay(void **state)
{
	static const uint64_t masks[] = { 0, 1, 0x7ff, 0xfff, 0xff000000ff, UINT64_MAX };
	static const size_t sizes[] = { 0, 1, 2, 48, 49, 3000 };
	static struct np_keyed items[3000];
	static struct np_keyed other[3000];
	static struct np_keyed expected[3000];
	uint64_t seed = 11;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(masks) * NP_COUNT(sizes); i++) {
		size_t count = sizes[i % NP_COUNT(sizes)];
		const struct np_keyed *sorted;

		for (uint32_t j = 0; j < count; j++)
			items[j] = (struct np_keyed){ np_random(&seed) & masks[i / NP_COUNT(sizes)],
						      j };
		memcpy(expected, items, sizeof(expected));
		qsort(expected, count, sizeof(*expected), by_key_then_index);
		sorted = np_sort_keyed(items, other, count);
		for (size_t j = 0; j < count; j++)
			assert_true(sorted[j].key == expected[j].key &&
				    sorted[j].index == expected[j].index);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lower_bound_is_where_a_walk_from_the_front_ends),
		cmocka_unit_test(nothing_is_found_in_nothing),
		cmocka_unit_test(the_end_of_the_range_does_not_overflow),
		cmocka_unit_test(numbers_are_ordered_without_subtracting_them),
		cmocka_unit_test(texts_are_ordered_by_their_bytes),
		cmocka_unit_test(times_are_sorted_as_qsort_does),
		cmocka_unit_test(keys_are_sorted_and_equal_ones_stay),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
