/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/vec.h"

#include "np_fault.h"
#include "np_test.h"

struct thing {
	int64_t id;
	char name[9];
};

static void elements_keep_their_order_and_values(void **state)
{
	NP_VEC(struct thing) things = { 0 };

	(void)state;
	for (int64_t i = 0; i < 1000; i++) {
		assert_non_null(np_vec_add(&things, NULL));
		things.item[i].id = i;
	}
	assert_int_equal(things.count, 1000);
	for (int64_t i = 0; i < 1000; i++)
		assert_int_equal(things.item[i].id, i);
	np_vec_release(&things);
}

static void a_new_element_is_zeroed_even_in_used_memory(void **state)
{
	NP_VEC(int64_t) numbers = { 0 };
	int64_t *number = np_vec_add(&numbers, NULL);

	(void)state;
	assert_non_null(number);
	*number = 7;
	numbers.count = 0;
	number = np_vec_add(&numbers, NULL);
	assert_non_null(number);
	assert_int_equal(*number, 0);
	np_vec_release(&numbers);
}

static void a_released_vector_is_empty_and_usable(void **state)
{
	NP_VEC(int) numbers = { 0 };

	(void)state;
	assert_non_null(np_vec_add(&numbers, NULL));
	np_vec_release(&numbers);
	assert_null(numbers.item);
	assert_int_equal(numbers.count, 0);
	assert_non_null(np_vec_add(&numbers, NULL));
	np_vec_release(&numbers);
}

static void elements_that_were_expected_do_not_move(void **state)
{
	NP_VEC(int64_t) numbers = { 0 };
	const int64_t *first;

	(void)state;
	np_vec_expect(&numbers, 1000);
	first = numbers.item;
	for (int64_t i = 0; i < 1000; i++)
		*np_vec_add(&numbers, NULL) = i;
	assert_ptr_equal(numbers.item, first);
	/* More may come, and fewer than there is room for change nothing. */
	assert_non_null(np_vec_add(&numbers, NULL));
	np_vec_expect(&numbers, 10);
	assert_int_equal(numbers.count, 1001);
	assert_int_equal(numbers.item[999], 999);
	np_vec_release(&numbers);
}

static void what_cannot_be_had_is_not_expected(void **state)
{
	NP_VEC(int64_t) numbers = { 0 };

	(void)state;
	np_vec_expect(&numbers, SIZE_MAX);
	assert_null(numbers.item);
	assert_int_equal(numbers.capacity, 0);
	assert_non_null(np_vec_add(&numbers, NULL));
	np_vec_release(&numbers);
}

static void a_size_that_overflows_is_out_of_memory(void **state)
{
	const size_t sizes[] = { SIZE_MAX / 2 + 1, SIZE_MAX / 16 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(sizes); i++) {
		size_t capacity = sizes[i];

		err = NP_ERR_INIT;
		assert_null(np_vec_room(NULL, &capacity, capacity, 16, &err));
		assert_int_equal(err.code, NP_E_NOMEM);
		assert_int_equal(capacity, sizes[i]);
	}
}

static void what_is_reserved_can_be_written_without_asking(void **state)
{
	NP_VEC(int64_t) numbers = { 0 };
	const int64_t *first;

	(void)state;
	*np_vec_add(&numbers, NULL) = 7;
	assert_int_equal(np_vec_reserve(&numbers, 1000, NULL), NP_OK);
	first = numbers.item;
	assert_true(numbers.capacity >= 1001);
	for (int64_t i = 0; i < 1000; i++)
		numbers.item[numbers.count++] = i;
	assert_ptr_equal(numbers.item, first);
	assert_int_equal(numbers.item[0], 7);
	assert_int_equal(numbers.item[1000], 999);
	np_vec_release(&numbers);
}

/* Little by little, and yet at most twice what is needed: no more than 20 moves to a million. */
static void reserving_one_by_one_moves_seldom(void **state)
{
	NP_VEC(char) bytes = { 0 };
	int moves = 0;

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		size_t capacity = bytes.capacity;

		assert_int_equal(np_vec_reserve(&bytes, 1, NULL), NP_OK);
		moves += bytes.capacity != capacity;
		bytes.count++;
	}
	assert_true(moves <= 20);
	np_vec_release(&bytes);
}

static void a_fitting_vector_has_no_room_left_and_its_elements(void **state)
{
	NP_VEC(int64_t) numbers = { 0 };

	(void)state;
	assert_true(np_vec_fit(&numbers));
	assert_null(numbers.item);
	for (int64_t i = 0; i < 100; i++)
		*np_vec_add(&numbers, NULL) = i;
	assert_true(np_vec_fit(&numbers));
	assert_int_equal(numbers.capacity, 100);
	for (int64_t i = 0; i < 100; i++)
		assert_int_equal(numbers.item[i], i);
	assert_non_null(np_vec_add(&numbers, NULL));
	np_vec_release(&numbers);
}

static void more_than_can_be_counted_is_out_of_memory(void **state)
{
	NP_VEC(int64_t) numbers = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_vec_reserve(&numbers, SIZE_MAX, &err), NP_E_NOMEM);
	assert_int_equal(err.code, NP_E_NOMEM);
	assert_non_null(np_vec_add(&numbers, NULL));
	assert_int_equal(np_vec_reserve(&numbers, SIZE_MAX, &err), NP_E_NOMEM);
	assert_int_equal(numbers.count, 1);
	np_vec_release(&numbers);
}

static int add_a_hundred(struct np_err *err)
{
	NP_VEC(int) numbers = { 0 };
	int rc = NP_OK;

	for (int i = 0; i < 100 && rc == NP_OK; i++) {
		int *number = np_vec_add(&numbers, err);

		if (number)
			*number = i;
		else
			rc = err->code;
	}
	for (size_t i = 0; i < numbers.count; i++)
		assert_int_equal(numbers.item[i], i);
	np_vec_release(&numbers);
	return rc;
}

static int reserve_and_fit(struct np_err *err)
{
	NP_VEC(int) numbers = { 0 };
	int rc = np_vec_reserve(&numbers, 50, err);

	for (int i = 0; i < 50 && rc == NP_OK; i++)
		numbers.item[numbers.count++] = i;
	if (rc == NP_OK)
		rc = np_vec_reserve(&numbers, 1000, err);
	if (rc == NP_OK && !np_vec_fit(&numbers))
		rc = np_fail_nomem(err, "numbers");
	for (size_t i = 0; i < numbers.count; i++)
		assert_int_equal(numbers.item[i], i);
	np_vec_release(&numbers);
	return rc;
}

static void running_out_of_memory_for_another_size_leaves_the_elements(void **state)
{
	(void)state;
	assert_survives_faults(reserve_and_fit);
}

static void running_out_of_memory_leaves_the_elements(void **state)
{
	(void)state;
	assert_survives_faults(add_a_hundred);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_keep_their_order_and_values),
		cmocka_unit_test(a_new_element_is_zeroed_even_in_used_memory),
		cmocka_unit_test(a_released_vector_is_empty_and_usable),
		cmocka_unit_test(elements_that_were_expected_do_not_move),
		cmocka_unit_test(what_cannot_be_had_is_not_expected),
		cmocka_unit_test(a_size_that_overflows_is_out_of_memory),
		cmocka_unit_test(what_is_reserved_can_be_written_without_asking),
		cmocka_unit_test(reserving_one_by_one_moves_seldom),
		cmocka_unit_test(a_fitting_vector_has_no_room_left_and_its_elements),
		cmocka_unit_test(more_than_can_be_counted_is_out_of_memory),
		cmocka_unit_test(running_out_of_memory_for_another_size_leaves_the_elements),
		cmocka_unit_test(running_out_of_memory_leaves_the_elements),
	};

	return cmocka_run_group_tests_name("vec", tests, NULL, NULL);
}
