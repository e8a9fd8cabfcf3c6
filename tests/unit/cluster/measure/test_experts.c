/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/experts.h"

#include "core/model/load/capture/expert_kernels.h"
#include "np_cluster_fixture.h"

#include "npuprof/align.h"

#define with_align   NP_CLEANUP(np_align_freep) struct np_align
#define with_experts NP_CLEANUP(np_experts_release) struct np_experts

static int64_t tokens(const char *shapes)
{
	int64_t found;

	return expert_tokens(shapes, strlen(shapes), &found) ? found : NP_UNKNOWN;
}

static void tokens_are_the_first_dimensions_but_for_weights_and_groups(void **state)
{
	(void)state;
	assert_int_equal(tokens("\"4096,1024;8,1024,2816;8\""), 4096);
	assert_int_equal(tokens("4096,1024;8,1024,2816;8"), 4096);
	/* Several inputs, and a part that is empty. */
	assert_int_equal(tokens("10,4;20,4;;30,4;8,4,4;8"), 60);
}

static void shapes_that_do_not_tell_have_no_tokens(void **state)
{
	static const char *const shapes[] = {
		"", "N/A", "8,4;8", "x,4;8,4;8", "-3,4;8,4;8", "9999999999999999,4;8,4;8"
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(shapes); i++)
		assert_int_equal(tokens(shapes[i]), NP_UNKNOWN);
}

/* Two ranks, one exchange after the other; a token takes 30 ns, a kernel 5 µs before. */
static struct np_run *run_of(const int64_t (*counts)[2], size_t exchanges)
{
	struct np_run *run = np_run_new();

	for (int32_t i = 0; i < 2; i++) {
		struct np_rank *rank = add_rank(run, i, true);
		uint32_t group = add_group(run, rank, 99, "exp", LIST(0, 1));
		uint32_t step = add_step(run, rank, "7");

		for (size_t k = 0; k < exchanges; k++) {
			struct np_comm_op *op = add_op(rank, group, false);
			struct np_expert_work *work = np_vec_add(&rank->experts, NULL);

			op->type = intern(run, "hcom_alltoallv_");
			op->step = step;
			op->start = (np_ns)k * 1000000;
			op->end = op->start + 1000;
			op->bytes = NP_UNKNOWN;
			*work = (struct np_expert_work){ .op = (uint32_t)k,
							 .step = step,
							 .kernels = 2,
							 .tokens = 2 * counts[k][i],
							 .time = 2 * (5000 + 30 * counts[k][i]) };
		}
	}
	return run;
}

static struct np_experts measured(const struct np_run *run, struct np_align **ret)
{
	struct np_experts experts = { 0 };
	struct np_align *align = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_align_build(run, 1, &align, &err), err);
	*ret = align;
	assert_ok(np_experts_measure(align, &experts, &err), err);
	return experts;
}

/*
 * Three exchanges there and back of two ranks without kernels: there 4096 tokens
 * of 100 bytes each, back those in `counts`; a token takes 30 ns between them.
 */
static struct np_run *run_of_exchanges(const int64_t (*counts)[2], const char *pg_name)
{
	struct np_run *run = np_run_new();

	for (int32_t i = 0; i < 2; i++) {
		struct np_rank *rank = add_rank(run, i, true);
		uint32_t group = add_group(run, rank, 99, pg_name, LIST(0, 1));
		uint32_t step = add_step(run, rank, "7");

		for (int64_t k = 0; k < 6; k++) {
			struct np_comm_op *op = add_op(rank, group, false);
			int64_t tokens = counts[k / 2][i];

			op->type = intern(run, "hcom_alltoallv_");
			op->step = step;
			op->start = k / 2 * 1000000 + (k % 2) * (10000 + 30 * tokens);
			op->end = op->start + 1000;
			op->bytes = 100 * (k % 2 ? tokens : 4096);
		}
	}
	return run;
}

/* The busiest had 2000 and 3000 more: 2000 * 30 = 60 us, 3000 * 30 = 90 us. */
static void without_kernels_the_exchanges_tell_the_tokens(void **state)
{
	const int64_t counts[][2] = { { 1001, 3001 }, { 5000, 2000 }, { 4000, 4000 } };
	with_run *run = run_of_exchanges(counts, "dp");
	with_align *align = NULL;
	with_experts experts = measured(run, &align);

	(void)state;
	assert_string_equal(np_experts_source(&experts), "exchanges");
	assert_int_equal(experts.list.count, 2);
	assert_int_equal(experts.list.item[0].tokens, 1001 + 5000 + 4000);
	assert_int_equal(experts.list.item[1].tokens, 3001 + 2000 + 4000);
	assert_int_equal(experts.list.item[0].lost, 60000);
	assert_int_equal(experts.list.item[1].lost, 90000);
}

/* A third one was not profiled. */
static void exchanges_need_not_have_all_members(void **state)
{
	const int64_t counts[][2] = { { 1001, 3001 }, { 5000, 2000 }, { 4000, 4000 } };
	with_run *run = run_of_exchanges(counts, "exp");
	with_align *align = NULL;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		(void)add_group(run, run->ranks[i], 99, "exp", LIST(0, 1, 2));
	with_experts experts = measured(run, &align);
	assert_int_equal(experts.list.count, 2);
	assert_int_equal(experts.list.item[0].tokens, 1001 + 5000 + 4000);
	assert_int_equal(experts.list.item[0].lost, 60000);
	assert_int_equal(experts.list.item[1].lost, 90000);
}

static void even_exchanges_are_those_of_experts_if_they_are_named_so(void **state)
{
	const int64_t counts[][2] = { { 4096, 4096 }, { 4096, 4096 }, { 4096, 4096 } };
	static const char *const names[] = { "cp", "exp" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(names); i++) {
		with_run *run = run_of_exchanges(counts, names[i]);
		with_align *align = NULL;
		with_experts experts = measured(run, &align);

		assert_int_equal(experts.list.count, 2 * i);
		for (size_t j = 0; j < experts.list.count; j++)
			assert_int_equal(experts.list.item[j].lost, 0);
	}
}

static void sizes_that_are_not_known_tell_no_tokens(void **state)
{
	const int64_t counts[][2] = { { 1001, 3001 }, { 5000, 2000 }, { 4000, 4000 } };
	with_run *run = run_of_exchanges(counts, "exp");
	with_align *align = NULL;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		run->ranks[1]->ops.item[i].bytes = NP_UNKNOWN;
	with_experts experts = measured(run, &align);
	assert_int_equal(experts.list.count, 0);
}

static void each_loses_what_the_busiest_of_each_exchange_had_more(void **state)
{
	const int64_t counts[][2] = { { 1000, 3000 }, { 5000, 2000 }, { 4000, 4000 } };
	with_run *run = run_of(counts, 3);
	with_align *align = NULL;
	with_experts experts = measured(run, &align);

	(void)state;
	assert_int_equal(experts.list.count, 2);
	/* Two kernels of 2000 tokens at 30 ns, and two of 3000. */
	assert_int_equal(experts.list.item[0].lost, 120000);
	assert_int_equal(experts.list.item[1].lost, 180000);
	assert_int_equal(experts.list.item[0].tokens, 20000);
	assert_int_equal(experts.list.item[1].tokens, 18000);
	assert_int_equal(experts.total.lost, 300000);
	assert_int_equal(experts.total.ranks, 2);
	assert_int_equal(experts.total.steps, 1);
	assert_int_equal(experts.total.busiest, 0);
	/* Of 1000 and 3000 the second had 1000 more than the mean. */
	assert_int_equal(experts.exchanges.count, 6);
	assert_int_equal(experts.exchanges.item[0].surplus, -60000);
	assert_int_equal(experts.exchanges.item[1].surplus, 60000);
	assert_int_equal(experts.exchanges.item[1].rank, 1);
	assert_float_equal(experts.exchanges.item[1].even, 2.0 / 3, 1e-6);
	assert_int_equal(experts.exchanges.item[1].back, experts.exchanges.item[2].instance);
	assert_int_equal(experts.exchanges.item[2].surplus, 90000);
	assert_int_equal(experts.exchanges.item[5].back, UINT32_MAX);
}

static void leave_out(struct np_rank *rank, size_t index)
{
	for (size_t i = index; i + 1 < rank->experts.count; i++)
		rank->experts.item[i] = rank->experts.item[i + 1];
	rank->experts.count--;
}

/* No tokens, no kernels: behind the second exchange the rank waits for all of 5000. */
static void a_rank_without_kernels_behind_an_exchange_had_no_tokens(void **state)
{
	const int64_t counts[][2] = { { 1000, 3000 }, { 2000, 5000 }, { 4000, 4000 } };
	with_run *run = run_of(counts, 3);
	with_align *align = NULL;

	(void)state;
	leave_out(run->ranks[0], 1);
	with_experts experts = measured(run, &align);
	assert_int_equal(experts.list.count, 2);
	assert_int_equal(experts.list.item[0].tokens, 2 * 5000);
	assert_int_equal(experts.list.item[0].lost, 2 * (2000 + 5000) * 30);
	assert_int_equal(experts.list.item[1].lost, 0);
	assert_int_equal(experts.exchanges.count, 6);
	/* The mean is 2500. */
	assert_int_equal(experts.exchanges.item[3].surplus, 2 * 2500 * 30);
}

static void a_rank_without_any_such_kernel_has_a_row_if_its_kernels_are_known(void **state)
{
	const int64_t counts[][2] = { { 1000, 3000 }, { 2000, 5000 }, { 4000, 4000 } };
	static const char *const types[] = { NULL, "N/A", "GroupedMatmul", "MatMulV2" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(types); i++) {
		with_run *run = run_of(counts, 3);
		bool known = i == 3;
		with_align *align = NULL;

		run->ranks[0]->experts.count = 0;
		if (types[i]) {
			struct np_statistic *kernel = np_vec_add(&run->ranks[0]->kernels, NULL);

			assert_non_null(kernel);
			*kernel =
				(struct np_statistic){ .name = intern(run, types[i]), .count = 1 };
		}
		with_experts experts = measured(run, &align);
		assert_int_equal(experts.list.count, known ? 2 : 1);
		assert_int_equal(experts.total.busiest, 1);
		assert_int_equal(experts.total.ranks, known ? 2 : 1);
		assert_float_equal(experts.total.over, (known ? 1.0 : 0.0), 1e-9);
		assert_int_equal(experts.list.item[0].tokens, known ? 0 : 24000);
		assert_int_equal(experts.list.item[0].lost, known ? 24000 * 30 : NP_UNKNOWN);
	}
}

/* All four kernels ran, though two of them before the second exchange. */
static void kernels_behind_another_exchange_are_not_missing(void **state)
{
	const int64_t counts[][2] = { { 1000, 3000 }, { 2000, 2000 } };
	with_run *run = run_of(counts, 2);
	with_align *align = NULL;

	(void)state;
	leave_out(run->ranks[0], 1);
	run->ranks[0]->experts.item[0].kernels = 4;
	run->ranks[0]->experts.item[0].tokens = 6000;
	with_experts experts = measured(run, &align);
	assert_int_equal(experts.list.item[0].tokens, 6000);
	assert_int_equal(experts.list.item[0].lost, 0);
	assert_int_equal(experts.list.item[1].lost, 0);
}

/* Behind the second exchange a token takes twice as long as behind the first, on all four ranks. */
static void passes_with_other_kernels_have_their_own_time_for_a_token(void **state)
{
	static const int64_t tokens[] = { 1000, 1100, 1200, 2000 };
	with_run *run = np_run_new();
	with_align *align = NULL;

	(void)state;
	for (int32_t i = 0; i < 4; i++) {
		struct np_rank *rank = add_rank(run, i, true);
		uint32_t group = add_group(run, rank, 99, "exp", LIST(0, 1, 2, 3));
		uint32_t step = add_step(run, rank, "7");

		for (uint32_t k = 0; k < 2; k++) {
			struct np_comm_op *op = add_op(rank, group, false);
			struct np_expert_work *work = np_vec_add(&rank->experts, NULL);

			op->type = intern(run, "hcom_alltoallv_");
			op->step = step;
			op->start = (np_ns)k * 1000000;
			op->end = op->start + 1000;
			op->bytes = NP_UNKNOWN;
			*work = (struct np_expert_work){ .op = k,
							 .step = step,
							 .kernels = 1,
							 .tokens = tokens[i],
							 .time = 30 * (k + 1) * tokens[i] };
		}
	}
	with_experts experts = measured(run, &align);
	assert_int_equal(experts.list.count, 4);
	assert_int_equal(experts.list.item[0].lost, 30000 + 60000);
	assert_int_equal(experts.list.item[3].lost, 0);
	assert_int_equal(experts.exchanges.item[3].surplus, 675 * 30);
	assert_int_equal(experts.exchanges.item[7].surplus, 675 * 60);
}

static void a_rank_that_is_slow_at_equal_tokens_loses_nothing(void **state)
{
	const int64_t counts[][2] = { { 1000, 1000 }, { 2000, 2000 } };
	with_run *run = run_of(counts, 2);
	with_align *align = NULL;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		run->ranks[1]->experts.item[i].time *= 3;
	with_experts experts = measured(run, &align);
	assert_int_equal(experts.list.item[0].lost, 0);
	assert_int_equal(experts.list.item[1].lost, 0);
}

static void without_an_exchange_tokens_are_counted_and_the_loss_is_unknown(void **state)
{
	const int64_t counts[][2] = { { 1000, 3000 } };
	with_run *run = run_of(counts, 1);
	with_align *align = NULL;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		run->ranks[i]->experts.item[0].op = NP_NO_OP;
	with_experts experts = measured(run, &align);
	assert_int_equal(experts.list.count, 2);
	assert_int_equal(experts.list.item[1].tokens, 6000);
	assert_int_equal(experts.list.item[1].lost, NP_UNKNOWN);
	assert_int_equal(experts.list.item[1].communicator, UINT32_MAX);
}

static void a_run_without_experts_has_none(void **state)
{
	with_run *run = np_run_new();
	with_align *align = NULL;

	(void)state;
	(void)add_rank(run, 0, true);
	with_experts experts = measured(run, &align);
	assert_int_equal(experts.list.count, 0);
	assert_int_equal(experts.total.ranks, 0);
}

static void kernels_belong_to_the_exchange_before_them(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);
	uint32_t group = add_group(run, rank, 99, "exp", LIST(0, 1));
	struct expert_kernels kernels = { 0 };
	struct np_err err = NP_ERR_INIT;
	static const np_ns exchanges[] = { 100, 300, 500 };

	(void)state;
	(void)add_step(run, rank, "7");
	rank->steps.item[0].begin = 0;
	rank->steps.item[0].end = 1000;
	for (size_t i = 0; i < NP_COUNT(exchanges); i++) {
		struct np_comm_op *op = add_op(rank, group, false);

		op->type = intern(run, i == 1 ? "hcom_allReduce_" : "hcom_alltoallv_");
		op->start = exchanges[i];
		op->end = exchanges[i] + 10;
	}
	/* Out of order; one before all, two behind the first, one behind the last. */
	assert_ok(expert_kernels_add(&kernels, "8,1;2;2", 7, 600, 5, &err), err);
	assert_ok(expert_kernels_add(&kernels, "4,1;2;2", 7, 350, 5, &err), err);
	assert_ok(expert_kernels_add(&kernels, "2,1;2;2", 7, 150, 5, &err), err);
	assert_ok(expert_kernels_add(&kernels, "1,1;2;2", 7, 50, 5, &err), err);
	assert_ok(expert_kernels_reduce(&kernels, rank, run->strings, &err), err);
	assert_int_equal(rank->experts.count, 3);
	assert_int_equal(rank->experts.item[0].op, NP_NO_OP);
	assert_int_equal(rank->experts.item[1].op, 0);
	assert_int_equal(rank->experts.item[1].tokens, 6);
	assert_int_equal(rank->experts.item[1].kernels, 2);
	assert_int_equal(rank->experts.item[2].op, 2);
	assert_int_equal(rank->experts.item[2].tokens, 8);
	expert_kernels_end(&kernels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_are_the_first_dimensions_but_for_weights_and_groups),
		cmocka_unit_test(shapes_that_do_not_tell_have_no_tokens),
		cmocka_unit_test(without_kernels_the_exchanges_tell_the_tokens),
		cmocka_unit_test(exchanges_need_not_have_all_members),
		cmocka_unit_test(even_exchanges_are_those_of_experts_if_they_are_named_so),
		cmocka_unit_test(sizes_that_are_not_known_tell_no_tokens),
		cmocka_unit_test(each_loses_what_the_busiest_of_each_exchange_had_more),
		cmocka_unit_test(a_rank_without_kernels_behind_an_exchange_had_no_tokens),
		cmocka_unit_test(a_rank_without_any_such_kernel_has_a_row_if_its_kernels_are_known),
		cmocka_unit_test(kernels_behind_another_exchange_are_not_missing),
		cmocka_unit_test(passes_with_other_kernels_have_their_own_time_for_a_token),
		cmocka_unit_test(a_rank_that_is_slow_at_equal_tokens_loses_nothing),
		cmocka_unit_test(without_an_exchange_tokens_are_counted_and_the_loss_is_unknown),
		cmocka_unit_test(a_run_without_experts_has_none),
		cmocka_unit_test(kernels_belong_to_the_exchange_before_them),
	};

	return cmocka_run_group_tests_name("experts", tests, NULL, NULL);
}
