/* SPDX-License-Identifier: Apache-2.0 */
/* Periods of sequences: found with noise and losses, and not found where there are none. */
#include "npuprof/period.h"

#include "np_fault.h"
#include "np_random.h"
#include "np_test.h"

#include "npuprof/vec.h"

/* A made sequence, and where its iterations truly begin. */
struct made {
	NP_VEC(uint32_t) members;
	NP_VEC(size_t) begins;
};

static void release(struct made *made)
{
	np_vec_release(&made->members);
	np_vec_release(&made->begins);
}

static void put(struct made *made, uint32_t signature)
{
	uint32_t *slot = np_vec_add(&made->members, NULL);

	assert_non_null(slot);
	*slot = signature;
}

static void begin_iteration(struct made *made)
{
	size_t *slot = np_vec_add(&made->begins, NULL);

	assert_non_null(slot);
	*slot = made->members.count;
}

/* Layers of the same kernels forward and backward, then gradients and an optimiser of two. */
struct model {
	size_t iterations;
	size_t layers;
	size_t kernels;
	size_t micro_batches;
};

static void make(struct made *made, const struct model *model)
{
	for (size_t i = 0; i < model->iterations; i++) {
		begin_iteration(made);
		for (size_t m = 0; m < model->micro_batches; m++) {
			put(made, 1000);
			for (size_t l = 0; l < model->layers; l++) {
				for (uint32_t k = 0; k < model->kernels; k++)
					put(made, k % 7);
			}
			put(made, 1001);
			for (size_t l = 0; l < model->layers; l++) {
				for (uint32_t k = 0; k < 2 * model->kernels; k++)
					put(made, 100 + k % 9);
			}
		}
		put(made, 2000);
		put(made, 2001);
	}
}

static void drop(struct made *made, uint64_t *state, size_t one_in)
{
	size_t kept = 0;
	size_t next = 0;

	for (size_t i = 0; i < made->members.count; i++) {
		if (next < made->begins.count && made->begins.item[next] == i)
			made->begins.item[next++] = kept;
		if (np_random_below(state, one_in) > 0)
			made->members.item[kept++] = made->members.item[i];
	}
	made->members.count = kept;
}

/* Neighbours change places, as kernels of two streams do. */
static void jostle(struct made *made, uint64_t *state, size_t one_in)
{
	for (size_t i = 1; i < made->members.count; i++) {
		if (np_random_below(state, one_in) == 0) {
			uint32_t other = made->members.item[i - 1];

			made->members.item[i - 1] = made->members.item[i];
			made->members.item[i] = other;
		}
	}
}

static void shuffle(struct made *made, uint64_t *state)
{
	for (size_t i = made->members.count; i > 1; i--) {
		size_t j = np_random_below(state, i);
		uint32_t other = made->members.item[i - 1];

		made->members.item[i - 1] = made->members.item[j];
		made->members.item[j] = other;
	}
}

static struct np_period found(const struct made *made)
{
	struct np_period period;

	assert_int_equal(np_period_find(made->members.item, made->members.count, &period, NULL),
			 NP_OK);
	return period;
}

/* As many as there are, each near where it truly begins. */
static void assert_true_iterations(const struct made *made, size_t reach)
{
	struct np_period period = found(made);

	assert_int_equal(period.count, made->begins.count);
	for (size_t i = 0; i < period.count; i++) {
		size_t is = period.begin[i];
		size_t should = made->begins.item[i];

		assert_true((is > should ? is - should : should - is) <= reach);
	}
	assert_int_equal(period.begin[period.count], made->members.count);
	assert_true(period.confidence > 0.7 && period.confidence <= 1);
	np_period_release(&period);
}

static void iterations_are_found_and_not_their_layers(void **state)
{
	static const struct model models[] = {
		{ 3, 8, 12, 1 },  { 10, 8, 12, 1 }, { 2, 4, 12, 1 },
		{ 5, 96, 10, 1 }, { 6, 6, 14, 4 },  { 40, 2, 9, 3 },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(models); i++) {
		struct made made = { 0 };

		make(&made, &models[i]);
		assert_true_iterations(&made, 0);
		release(&made);
	}
}

static void missing_and_exchanged_members_do_not_hide_them(void **state)
{
	const struct model model = { 8, 8, 12, 2 };

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct made made = { 0 };
		uint64_t random = seed;

		make(&made, &model);
		drop(&made, &random, 100);
		jostle(&made, &random, 100);
		/* No farther off than a layer is long: 12 of about 580. */
		assert_true_iterations(&made, 13);
		release(&made);
	}
}

static void a_part_of_an_iteration_at_the_end_is_left_out(void **state)
{
	struct made made = { 0 };
	struct np_period period;

	(void)state;
	make(&made, &(struct model){ 6, 4, 10, 1 });
	made.members.count -= 60;
	period = found(&made);
	assert_int_equal(period.count, 5);
	assert_int_equal(period.begin[5], made.begins.item[5]);
	np_period_release(&period);
	release(&made);
}

static void what_comes_once_before_the_first_is_no_part_of_it(void **state)
{
	struct made made = { 0 };
	struct np_period period;

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		put(&made, 5000 + i);
	make(&made, &(struct model){ 8, 4, 10, 1 });
	period = found(&made);
	assert_int_equal(period.count, 8);
	assert_in_range(period.begin[0], 16, 20);
	np_period_release(&period);
	release(&made);
}

static void shuffled_sequences_have_no_period(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		const struct model model = { 2 + seed % 9, 1 + seed % 7, 8, 1 + seed % 2 };
		struct made made = { 0 };
		struct np_period period;
		uint64_t random = seed;

		make(&made, &model);
		shuffle(&made, &random);
		period = found(&made);
		assert_int_equal(period.count, 0);
		assert_true(period.confidence < NP_PERIOD_CONFIDENCE);
		np_period_release(&period);
		release(&made);
	}
}

static void sequences_with_one_frequent_signature_have_no_period_by_chance(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct made made = { 0 };
		struct np_period period;
		uint64_t random = seed;

		for (size_t i = 0; i < 400; i++)
			put(&made, np_random_below(&random, 30)
					   ? 0
					   : (uint32_t)np_random_below(&random, 5));
		period = found(&made);
		assert_true(period.confidence < NP_PERIOD_CONFIDENCE);
		np_period_release(&period);
		release(&made);
	}
}

static void the_same_over_and_over_is_no_period(void **state)
{
	static const uint32_t same[64] = { 0 };
	struct np_period period;

	(void)state;
	for (size_t count = 0; count <= NP_COUNT(same); count++) {
		assert_int_equal(np_period_find(same, count, &period, NULL), NP_OK);
		assert_int_equal(period.count, 0);
		np_period_release(&period);
	}
}

/* A step of a server: embedding, layers with one attention or another, head and sampling. */
static void serve(struct made *made, size_t layers, bool prompt)
{
	begin_iteration(made);
	put(made, 3000);
	for (size_t l = 0; l < layers; l++) {
		for (uint32_t k = 0; k < 14; k++)
			put(made, 200 + k);
		put(made, prompt ? 300 : 301);
		/* A prompt takes a few kernels more. */
		for (uint32_t k = 0; prompt && k < 5; k++)
			put(made, 310 + k);
	}
	for (uint32_t k = 0; k < 6; k++)
		put(made, 3001 + k);
}

static void steps_of_a_server_alternate_irregularly(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct made made = { 0 };
		struct np_period period;
		uint64_t random = seed;

		for (size_t i = 0; i < 80; i++)
			serve(&made, 16, np_random_below(&random, 4) == 0);
		period = found(&made);
		assert_in_range(period.count, 79, 80);
		for (size_t i = 0; i < period.count; i++)
			assert_int_equal(period.begin[i], made.begins.item[i]);
		np_period_release(&period);
		release(&made);
	}
}

static void steps_without_a_pattern_are_not_cut_into_layers(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct made made = { 0 };
		struct np_period period;
		uint64_t random = seed;

		/* What follows the layers is different each time, and long. */
		for (size_t i = 0; i < 30; i++) {
			size_t more = 50 + np_random_below(&random, 200);

			serve(&made, 16, false);
			for (size_t j = 0; j < more; j++)
				put(&made, 4000 + (uint32_t)np_random_below(&random, 50));
		}
		period = found(&made);
		assert_true(period.count == 0);
		np_period_release(&period);
		release(&made);
	}
}

static void distinct_signatures_have_no_period(void **state)
{
	struct made made = { 0 };
	struct np_period period;

	(void)state;
	for (uint32_t i = 0; i < 1000000; i++)
		put(&made, i);
	period = found(&made);
	assert_int_equal(period.count, 0);
	np_period_release(&period);
	release(&made);
}

/*
 * 5 forward layers of 4 (the first of which follows an embedding), a loss, 5 backward layers of 6,
 * an optimiser: both kinds are found, and nothing else.
 */
static void layers_are_found_within_an_iteration(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_inner list[4];
	uint32_t members[64];
	size_t count = 0;
	size_t found;

	(void)state;
	members[count++] = 100;
	for (uint32_t i = 0; i < 5 * 4; i++)
		members[count++] = i % 4;
	members[count++] = 101;
	for (uint32_t i = 0; i < 5 * 6; i++)
		members[count++] = 10 + i % 6;
	members[count++] = 102;
	assert_ok(np_period_inner(members, count, list, NP_COUNT(list), &found, &err), err);
	assert_int_equal(found, 2);
	assert_int_equal(list[0].begin, 1);
	assert_int_equal(list[0].members, 4);
	assert_int_equal(list[0].repeats, 5);
	assert_int_equal(list[0].stretches, 1);
	assert_int_equal(list[1].begin, 22);
	assert_int_equal(list[1].members, 6);
	assert_int_equal(list[1].repeats, 5);
}

/* 3 layers of 4, something else, and 4 of them again: one kind, 7 times in two stretches. */
static void stretches_of_the_same_layers_are_one_kind(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_inner list[4];
	uint32_t members[64];
	size_t count = 0;
	size_t found;

	(void)state;
	for (uint32_t i = 0; i < 3 * 4; i++)
		members[count++] = i % 4;
	members[count++] = 100;
	members[count++] = 101;
	for (uint32_t i = 0; i < 4 * 4; i++)
		members[count++] = i % 4;
	assert_ok(np_period_inner(members, count, list, NP_COUNT(list), &found, &err), err);
	assert_int_equal(found, 1);
	assert_int_equal(list[0].members, 4);
	assert_int_equal(list[0].repeats, 7);
	assert_int_equal(list[0].stretches, 2);
}

/* Two of a kind are no layers, pairs of kernels are none, and neither is a short sequence. */
static void what_hardly_repeats_has_no_layers(void **state)
{
	static const uint32_t twice[] = { 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 9, 8, 7 };
	static const uint32_t pairs[] = { 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 9, 8, 7 };
	struct np_err err = NP_ERR_INIT;
	struct np_inner list[4];
	size_t found;

	(void)state;
	assert_ok(np_period_inner(twice, NP_COUNT(twice), list, 4, &found, &err), err);
	assert_int_equal(found, 0);
	assert_ok(np_period_inner(pairs, 4, list, 4, &found, &err), err);
	assert_int_equal(found, 0);
	assert_ok(np_period_inner(twice, 0, list, 4, &found, &err), err);
	assert_int_equal(found, 0);
}

static int inner_one(struct np_err *err)
{
	uint32_t members[40];
	struct np_inner list[4];
	size_t found;

	for (uint32_t i = 0; i < NP_COUNT(members); i++)
		members[i] = i % 5;
	return np_period_inner(members, NP_COUNT(members), list, NP_COUNT(list), &found, err);
}

static int find_one(struct np_err *err)
{
	struct np_period period;
	static uint32_t members[400];
	int rc;

	for (size_t i = 0; i < NP_COUNT(members); i++)
		members[i] = (uint32_t)(i % 40);
	rc = np_period_find(members, NP_COUNT(members), &period, err);
	if (rc == NP_OK)
		np_period_release(&period);
	return rc;
}

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	assert_survives_faults(find_one);
	assert_survives_faults(inner_one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iterations_are_found_and_not_their_layers),
		cmocka_unit_test(missing_and_exchanged_members_do_not_hide_them),
		cmocka_unit_test(a_part_of_an_iteration_at_the_end_is_left_out),
		cmocka_unit_test(what_comes_once_before_the_first_is_no_part_of_it),
		cmocka_unit_test(shuffled_sequences_have_no_period),
		cmocka_unit_test(sequences_with_one_frequent_signature_have_no_period_by_chance),
		cmocka_unit_test(the_same_over_and_over_is_no_period),
		cmocka_unit_test(steps_of_a_server_alternate_irregularly),
		cmocka_unit_test(steps_without_a_pattern_are_not_cut_into_layers),
		cmocka_unit_test(distinct_signatures_have_no_period),
		cmocka_unit_test(layers_are_found_within_an_iteration),
		cmocka_unit_test(stretches_of_the_same_layers_are_one_kind),
		cmocka_unit_test(what_hardly_repeats_has_no_layers),
		cmocka_unit_test(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("period", tests, NULL, NULL);
}
