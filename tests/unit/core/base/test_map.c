/* SPDX-License-Identifier: Apache-2.0 */
/* The hash map: what was put is found, also when it grows or memory runs out. */
#include "npuprof/map.h"

#include "np_fault.h"
#include "np_random.h"
#include "np_test.h"

static void add(struct np_numbers *numbers, uint64_t key, uint32_t value)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_numbers_add(numbers, key, value, &err), err);
}

static void an_empty_map_has_nothing(void **state)
{
	struct np_numbers numbers = { 0 };

	(void)state;
	assert_int_equal(np_numbers_get(&numbers, 0), NP_MAP_NONE);
	assert_int_equal(np_numbers_get(&numbers, UINT64_MAX), NP_MAP_NONE);
	np_map_clear(&numbers.map);
	np_numbers_release(&numbers);
}

static void every_number_can_be_a_key(void **state)
{
	const uint64_t keys[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63 };
	struct np_numbers map = { 0 };

	(void)state;
	for (uint32_t i = 0; i < NP_COUNT(keys); i++) {
		assert_int_equal(np_numbers_get(&map, keys[i]), NP_MAP_NONE);
		add(&map, keys[i], i);
	}
	for (uint32_t i = 0; i < NP_COUNT(keys); i++)
		assert_int_equal(np_numbers_get(&map, keys[i]), i);
	np_numbers_release(&map);
}

/* Dense ones, ones with a distance, and ones from anywhere. */
static void a_map_that_grew_finds_what_was_added_and_nothing_else(void **state)
{
	struct np_numbers map = { 0 };
	uint64_t seed = 3;
	uint32_t count = 0;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++) {
		add(&map, i, count++);
		add(&map, (i + 1) << 32, count++);
		add(&map, np_random(&seed) | 1ULL << 63, count++);
	}
	assert_int_equal(map.list.count, count);
	seed = 3;
	count = 0;
	for (uint64_t i = 0; i < 10000; i++) {
		assert_int_equal(np_numbers_get(&map, i), count++);
		assert_int_equal(np_numbers_get(&map, (i + 1) << 32), count++);
		assert_int_equal(np_numbers_get(&map, np_random(&seed) | 1ULL << 63), count++);
		assert_int_equal(np_numbers_get(&map, 10000 + i), NP_MAP_NONE);
	}
	np_numbers_release(&map);
}

struct text {
	const char *const *texts;
	const char *text;
};

static bool is_text(const void *what, uint32_t value)
{
	const struct text *text = what;

	return strcmp(text->texts[value], text->text) == 0;
}

static void things_with_one_hash_are_told_apart(void **state)
{
	const char *const texts[] = { "a", "b", "c" };
	struct np_map map = { 0 };

	(void)state;
	assert_int_equal(np_map_find(&map, 7, is_text, NULL), NP_MAP_NONE);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(np_map_add(&map, 7, i, NULL), NP_OK);
	assert_int_equal(np_map_add(&map, 8, 2, NULL), NP_OK);
	for (uint32_t i = 0; i < 2; i++) {
		struct text text = { texts, texts[i] };

		assert_int_equal(np_map_find(&map, 7, is_text, &text), i);
		assert_int_equal(np_map_find(&map, 8, is_text, &text), NP_MAP_NONE);
	}
	assert_int_equal(np_map_find(&map, 8, is_text, &(struct text){ texts, "c" }), 2);
	np_map_release(&map);
}

static bool is_number(const void *what, uint32_t value)
{
	return *(const uint32_t *)what == value;
}

static void many_things_with_one_hash_are_found(void **state)
{
	struct np_map map = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(np_map_add(&map, 5, i, NULL), NP_OK);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(np_map_find(&map, 5, is_number, &i), i);
	np_map_release(&map);
}

static void clearing_forgets_all_and_keeps_the_room(void **state)
{
	struct np_map map = { 0 };
	const struct np_map_slot *slots;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(np_map_add(&map, i, i, NULL), NP_OK);
	slots = map.slot;
	np_map_clear(&map);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(np_map_find(&map, i, is_number, &i), NP_MAP_NONE);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(np_map_add(&map, i, i, NULL), NP_OK);
	assert_ptr_equal(map.slot, slots);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(np_map_find(&map, i, is_number, &i), i);
	np_map_release(&map);
}

/* "a", "bc" is not "ab", "c", and none is the other way round. */
static void a_mix_depends_on_all_words_and_their_order(void **state)
{
	uint64_t one = np_map_mix(np_map_mix(0, 1), 2);

	(void)state;
	assert_true(one != np_map_mix(np_map_mix(0, 2), 1));
	assert_true(one != np_map_mix(0, 2));
	assert_true(np_map_mix(1, 0) != np_map_mix(2, 0));
}

static int fill(struct np_err *err)
{
	struct np_numbers map = { 0 };
	int rc = NP_OK;
	uint32_t i;

	for (i = 0; i < 1000 && rc == NP_OK; i++)
		rc = np_numbers_add(&map, (uint64_t)i << 40, i, err);
	if (rc < 0) {
		i--;
		assert_int_equal(np_numbers_get(&map, (uint64_t)i << 40), NP_MAP_NONE);
	}
	assert_int_equal(map.list.count, i);
	while (i-- > 0)
		assert_int_equal(np_numbers_get(&map, (uint64_t)i << 40), i);
	np_numbers_release(&map);
	return rc;
}

static void running_out_of_memory_keeps_what_was_added(void **state)
{
	(void)state;
	assert_survives_faults(fill);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(every_number_can_be_a_key),
		cmocka_unit_test(a_map_that_grew_finds_what_was_added_and_nothing_else),
		cmocka_unit_test(things_with_one_hash_are_told_apart),
		cmocka_unit_test(many_things_with_one_hash_are_found),
		cmocka_unit_test(clearing_forgets_all_and_keeps_the_room),
		cmocka_unit_test(a_mix_depends_on_all_words_and_their_order),
		cmocka_unit_test(running_out_of_memory_keeps_what_was_added),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
