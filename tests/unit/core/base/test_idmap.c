/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/idmap.h"

#include "np_fault.h"
#include "np_random.h"
#include "np_test.h"

static struct np_idmap *some_map(void)
{
	struct np_idmap *map = np_idmap_new();

	assert_non_null(map);
	return map;
}

static void set(struct np_idmap *map, int64_t id, uint32_t value)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_idmap_set(map, id, value, &err), err);
}

static void an_id_never_set_gives_none(void **state)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *map = some_map();

	(void)state;
	assert_int_equal(np_idmap_get(map, 0), NP_IDMAP_NONE);
	assert_int_equal(np_idmap_get(map, -1), NP_IDMAP_NONE);
	assert_int_equal(np_idmap_get(map, INT64_MIN), NP_IDMAP_NONE);
	set(map, 5, 50);
	assert_int_equal(np_idmap_get(map, 4), NP_IDMAP_NONE);
	assert_int_equal(np_idmap_get(map, 6), NP_IDMAP_NONE);
}

static void a_later_value_replaces_an_earlier_one(void **state)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *map = some_map();

	(void)state;
	set(map, 5, 50);
	set(map, 5, 0);
	assert_int_equal(np_idmap_get(map, 5), 0);
}

static void ids_at_the_ends_of_the_range_are_ids(void **state)
{
	const int64_t id[] = { INT64_MIN, INT64_MIN + 1, -65, -64, -1, 0, 63, 64, INT64_MAX };
	NP_CLEANUP(np_idmap_freep) struct np_idmap *map = some_map();

	(void)state;
	for (uint32_t i = 0; i < NP_COUNT(id); i++)
		set(map, id[i], i);
	for (uint32_t i = 0; i < NP_COUNT(id); i++)
		assert_int_equal(np_idmap_get(map, id[i]), i);
}

/* Pages whose numbers end alike are remembered at one place, and pages move as their number grows.
 */
static void pages_remembered_at_one_place_are_told_apart(void **state)
{
	const int64_t apart = (int64_t)NP_IDMAP_RECENT * NP_IDMAP_PAGE_IDS;
	NP_CLEANUP(np_idmap_freep) struct np_idmap *map = some_map();

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		set(map, (int64_t)i * apart + 7, i);
		assert_int_equal(np_idmap_get(map, 7), 0);
		assert_int_equal(np_idmap_get(map, (int64_t)i * apart + 7), i);
		assert_int_equal(np_idmap_get(map, (int64_t)(i + 1) * apart + 7), NP_IDMAP_NONE);
		assert_int_equal(np_idmap_get(map, (int64_t)(i / 2) * apart + 7), i / 2);
	}
}

static void clearing_forgets_everything(void **state)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *map = some_map();

	(void)state;
	for (int64_t id = 0; id < 10000; id += 3)
		set(map, id, (uint32_t)id);
	np_idmap_clear(map);
	for (int64_t id = 0; id < 10000; id++)
		assert_int_equal(np_idmap_get(map, id), NP_IDMAP_NONE);
	set(map, 1, 10);
	assert_int_equal(np_idmap_get(map, 1), 10);
	assert_int_equal(np_idmap_get(map, 0), NP_IDMAP_NONE);
	assert_int_equal(np_idmap_get(map, 3), NP_IDMAP_NONE);
}

enum {
	PAIRS = 600
};

struct pair {
	int64_t id;
	uint32_t value;
};

/* What the map must agree with: a list searched from the front. */
struct list {
	struct pair pair[PAIRS];
	size_t count;
};

static uint32_t list_get(const struct list *list, int64_t id)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->pair[i].id == id)
			return list->pair[i].value;
	}
	return NP_IDMAP_NONE;
}

static void list_set(struct list *list, int64_t id, uint32_t value)
{
	size_t i = 0;

	while (i < list->count && list->pair[i].id != id)
		i++;
	if (i == list->count)
		list->count++;
	list->pair[i] = (struct pair){ .id = id, .value = value };
}

/* Dense, negative, of the three kinds 2^28 apart, and anywhere. */
static int64_t some_id(uint64_t *seed)
{
	int64_t small = (int64_t)np_random_below(seed, 200);

	switch (np_random_below(seed, 4)) {
	case 0:
		return small;
	case 1:
		return -small;
	case 2:
		return small + ((int64_t)np_random_below(seed, 3) << 28);
	default:
		return (int64_t)np_random(seed);
	}
}

static void a_map_agrees_with_a_list_of_pairs(void **state)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *map = some_map();
	struct list list = { 0 };
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < PAIRS; i++) {
			int64_t id = some_id(&seed);
			uint32_t value = (uint32_t)np_random(&seed) >> 1;

			set(map, id, value);
			list_set(&list, id, value);
			id = some_id(&seed);
			assert_int_equal(np_idmap_get(map, id), list_get(&list, id));
		}
		for (size_t i = 0; i < list.count; i++)
			assert_int_equal(np_idmap_get(map, list.pair[i].id), list.pair[i].value);
		np_idmap_clear(map);
		list.count = 0;
	}
}

static void a_set_has_what_was_added_and_nothing_else(void **state)
{
	struct np_idset *set = np_idset_new();
	struct list list = { 0 };
	uint64_t seed = 2;

	(void)state;
	assert_non_null(set);
	for (int i = 0; i < PAIRS; i++) {
		int64_t id = some_id(&seed);

		assert_int_equal(np_idset_add(set, id, NULL), NP_OK);
		list_set(&list, id, 1);
		id = some_id(&seed);
		assert_int_equal(np_idset_has(set, id), list_get(&list, id) == 1);
	}
	for (size_t i = 0; i < list.count; i++)
		assert_true(np_idset_has(set, list.pair[i].id));
	np_idset_free(set);
}

static int fill_map(struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *map = np_idmap_new();
	int rc = NP_OK;
	uint32_t i;

	if (!map)
		return np_fail_nomem(err, "a map");
	for (i = 0; i < 1000 && rc == NP_OK; i++)
		rc = np_idmap_set(map, (int64_t)i << 20, i, err);
	if (rc < 0) {
		i--;
		assert_int_equal(np_idmap_get(map, (int64_t)i << 20), NP_IDMAP_NONE);
	}
	while (i-- > 0)
		assert_int_equal(np_idmap_get(map, (int64_t)i << 20), i);
	return rc;
}

static void running_out_of_memory_keeps_what_was_set(void **state)
{
	(void)state;
	assert_survives_faults(fill_map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_never_set_gives_none),
		cmocka_unit_test(a_later_value_replaces_an_earlier_one),
		cmocka_unit_test(ids_at_the_ends_of_the_range_are_ids),
		cmocka_unit_test(pages_remembered_at_one_place_are_told_apart),
		cmocka_unit_test(clearing_forgets_everything),
		cmocka_unit_test(a_map_agrees_with_a_list_of_pairs),
		cmocka_unit_test(a_set_has_what_was_added_and_nothing_else),
		cmocka_unit_test(running_out_of_memory_keeps_what_was_set),
	};

	return cmocka_run_group_tests_name("idmap", tests, NULL, NULL);
}
