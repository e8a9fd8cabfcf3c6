/* SPDX-License-Identifier: Apache-2.0 */
/* Free blocks in their order, against an array that is searched from the front. */
#include "memory/engine/mem_order.h"

#include "np_random.h"
#include "np_test.h"

#define ENTRIES 1500

static int order_entries(const struct mem_free *a, const struct mem_free *b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

/* The first of the array that is not less; NULL for none. */
static const struct mem_free *walk(const struct mem_free *entries, size_t count,
				   const struct mem_free *what)
{
	const struct mem_free *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (order_entries(&entries[i], what) >= 0 &&
		    (!found || order_entries(&entries[i], found) < 0))
			found = &entries[i];
	}
	return found;
}

static void what_is_found_is_what_a_walk_through_all_finds(void **state)
{
	uint64_t seed = 11;
	struct mem_free entries[ENTRIES];
	struct mem_order order = { 0 };
	struct np_err err = NP_ERR_INIT;
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < 6000; i++) {
		/* It grows, shrinks to nothing, and grows again. */
		const bool adds =
			count < ENTRIES && np_random_below(&seed, 100) < (i / 1500 % 2 ? 30 : 75);
		const struct mem_free what = { .key = (uint32_t)np_random_below(&seed, 3),
					       .size = np_random_below(&seed, 20),
					       .address = i };
		const struct mem_free *found;

		if (adds) {
			entries[count++] = what;
			assert_int_equal(mem_order_add(&order, what, &err), NP_OK);
		} else if (count > 0) {
			size_t gone = np_random_below(&seed, count);

			mem_order_remove(&order, &entries[gone]);
			entries[gone] = entries[--count];
		}
		assert_int_equal(order.count, count);
		found = mem_order_at(&order, mem_order_find(&order, &what));
		if (walk(entries, count, &what))
			assert_memory_equal(found, walk(entries, count, &what), sizeof(*found));
		else
			assert_null(found);
	}
	mem_order_release(&order);
}

static void a_walk_from_the_front_meets_each_once_in_order(void **state)
{
	struct mem_order order = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct mem_place place = { 0, 0 };
	size_t count = 0;

	(void)state;
	assert_null(mem_order_at(&order, place));
	for (uint64_t i = 0; i < 500; i++)
		assert_int_equal(mem_order_add(&order,
					       (struct mem_free){ .size = i * 7 % 500,
								  .block = (uint32_t)i },
					       &err),
				 NP_OK);
	for (; mem_order_at(&order, place); place = mem_order_next(&order, place))
		assert_int_equal(mem_order_at(&order, place)->size, count++);
	assert_int_equal(count, 500);
	mem_order_release(&order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_found_is_what_a_walk_through_all_finds),
		cmocka_unit_test(a_walk_from_the_front_meets_each_once_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
