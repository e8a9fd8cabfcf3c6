/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/arena.h"

#include "np_fault.h"
#include "np_test.h"

#if defined(__SANITIZE_ADDRESS__)
#define TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#endif
#endif
#ifdef TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

static struct np_arena *some_arena(void)
{
	struct np_arena *arena = np_arena_new();

	assert_non_null(arena);
	return arena;
}

static void memory_is_zeroed_and_aligned(void **state)
{
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = some_arena();

	(void)state;
	for (size_t size = 0; size < 2000; size++) {
		char *memory = np_arena_alloc(arena, size);

		assert_non_null(memory);
		assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(memory[i], 0);
		memset(memory, 0xa5, size);
	}
}

static void a_cleared_arena_gives_zeroed_memory_again(void **state)
{
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = some_arena();

	(void)state;
	np_arena_clear(arena);
	for (int round = 0; round < 3; round++) {
		for (size_t size = 1; size < 3000; size += 7) {
			char *memory = np_arena_alloc(arena, size);

			assert_non_null(memory);
			for (size_t i = 0; i < size; i++)
				assert_int_equal(memory[i], 0);
			memset(memory, 0xa5, size);
		}
		assert_true(np_arena_bytes(arena) > 600000);
		np_arena_clear(arena);
	}
}

static void objects_do_not_share_bytes(void **state)
{
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = some_arena();
	unsigned char *object[300];

	(void)state;
	for (size_t i = 0; i < NP_COUNT(object); i++) {
		object[i] = np_arena_alloc(arena, i * 37);
		assert_non_null(object[i]);
		memset(object[i], (int)(i % 251), i * 37);
	}
	for (size_t i = 0; i < NP_COUNT(object); i++) {
		for (size_t j = 0; j < i * 37; j++)
			assert_int_equal(object[i][j], i % 251);
	}
}

static void nothing_has_an_address_too(void **state)
{
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = some_arena();
	const void *first = np_arena_alloc(arena, 0);
	const void *second = np_arena_alloc(arena, 0);

	(void)state;
	assert_non_null(first);
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
}

static void a_large_object_does_not_waste_the_block_in_use(void **state)
{
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = some_arena();
	size_t large = (size_t)10 << 20;
	size_t before;

	(void)state;
	assert_non_null(np_arena_alloc(arena, 16));
	before = np_arena_bytes(arena);
	assert_non_null(np_arena_alloc(arena, large));
	assert_in_range(np_arena_bytes(arena) - before, large, large + 256);

	before = np_arena_bytes(arena);
	assert_non_null(np_arena_alloc(arena, 16));
	assert_in_range(np_arena_bytes(arena) - before, 0, 256);
}

static void few_blocks_hold_many_objects(void **state)
{
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = some_arena();

	(void)state;
#ifdef NP_ARENA_DEBUG
	skip();
#endif
	for (size_t i = 0; i < 100000; i++)
		assert_non_null(np_arena_alloc(arena, 48));
	/* 4.8 MB of objects in blocks of at most 1 MiB. */
	assert_in_range(np_arena_bytes(arena), 4800000, 4800000 + (2 << 20));
}

static void a_size_that_overflows_gives_nothing(void **state)
{
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = some_arena();

	(void)state;
	assert_null(np_arena_alloc(arena, SIZE_MAX));
	assert_null(np_arena_alloc(arena, SIZE_MAX - 16));
	assert_null(np_arena_array(arena, SIZE_MAX / 2, 3));
	assert_null(np_arena_text(arena, "", SIZE_MAX));
	assert_non_null(np_arena_alloc(arena, 1));
}

static void text_is_copied_and_terminated(void **state)
{
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = some_arena();
	const char *copy = np_arena_text(arena, "MatMul_12", 6);

	(void)state;
	assert_string_equal(copy, "MatMul");
	assert_string_equal(np_arena_text(arena, NULL, 0), "");
}

static void an_array_has_room_for_all_its_elements(void **state)
{
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = some_arena();
	int64_t *numbers = np_arena_array(arena, 1000, sizeof(*numbers));

	(void)state;
	assert_non_null(numbers);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(numbers[i], 0);
}

static void the_sanitizer_sees_a_byte_too_many(void **state)
{
	(void)state;
#ifdef TEST_ASAN
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = some_arena();
	char *memory = np_arena_alloc(arena, 5);

	assert_non_null(memory);
	assert_false(__asan_address_is_poisoned(memory + 4));
	assert_true(__asan_address_is_poisoned(memory + 5));
	assert_true(__asan_address_is_poisoned(memory + 16));
#else
	skip();
#endif
}

static int fill_blocks(struct np_err *err)
{
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = np_arena_new();

	if (!arena)
		return np_fail_nomem(err, "an arena");
	for (size_t i = 0; i < 100; i++) {
		if (!np_arena_alloc(arena, i % 10 == 0 ? 100000 : 5000))
			return np_fail_nomem(err, "an object");
	}
	return NP_OK;
}

static void running_out_of_memory_leaves_an_arena_to_free(void **state)
{
	(void)state;
	assert_survives_faults(fill_blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_and_aligned),
		cmocka_unit_test(a_cleared_arena_gives_zeroed_memory_again),
		cmocka_unit_test(objects_do_not_share_bytes),
		cmocka_unit_test(nothing_has_an_address_too),
		cmocka_unit_test(a_large_object_does_not_waste_the_block_in_use),
		cmocka_unit_test(few_blocks_hold_many_objects),
		cmocka_unit_test(a_size_that_overflows_gives_nothing),
		cmocka_unit_test(text_is_copied_and_terminated),
		cmocka_unit_test(an_array_has_room_for_all_its_elements),
		cmocka_unit_test(the_sanitizer_sees_a_byte_too_many),
		cmocka_unit_test(running_out_of_memory_leaves_an_arena_to_free),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
