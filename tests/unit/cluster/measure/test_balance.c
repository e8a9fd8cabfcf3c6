/* SPDX-License-Identifier: Apache-2.0 */
/* The published rule for stragglers, on pipelines whose times are worked out by hand. */
#include "npuprof/balance.h"

#include "np_replay_fixture.h"

#include <limits.h>
#include <math.h>

#define SEND    "hcom_send_"
#define RECEIVE "hcom_receive_"
#define REDUCE  "hcom_allReduce_"

/* Two stages of two replicas: ranks 0 and 1 are the first stage, 2 and 3 the second. */
static const int32_t chains[2][2] = { { 0, 2 }, { 1, 3 } };
static const int32_t replicas[2][2] = { { 0, 1 }, { 2, 3 } };
static const int32_t stages[] = { 0, 0, 1, 1 };

struct pipe_rank {
	struct script script;
	uint32_t chain;
	uint32_t replica;
};

static struct pipe_rank pipe_begin(struct np_run *run, int32_t id)
{
	struct pipe_rank rank = { .script = script_begin(run, id) };

	rank.chain =
		add_group(run, rank.script.rank, 10 + (uint64_t)id % 2, "pp", chains[id % 2], 2);
	rank.replica =
		add_group(run, rank.script.rank, 20 + (uint64_t)id / 2, "dp", replicas[id / 2], 2);
	return rank;
}

static void message(struct pipe_rank *rank, const char *type, np_ns start, np_ns end)
{
	bool first = rank->script.rank->id < 2;

	script_comm(&rank->script, rank->chain, type, start, end)->peer = first ? 2 : 1;
}

/*
 * One micro-batch in ms. Forward takes stage 0 10, backward 20; stage 1 does both in
 * `last[replica]`; messages take 1, the gradients 2. `gap` is what the host of rank 1
 * is late by before its backward pass.
 */
static struct np_run *pipeline(const np_ns last[2], np_ns gap)
{
	struct np_run *run = np_run_new();
	np_ns back[2];
	np_ns until[2];

	for (int i = 0; i < 2; i++) {
		back[i] = (12 + last[i]) * MS;
		until[i] = back[i] + (i == 1 ? gap : 0) + 20 * MS;
	}
	for (int32_t id = 0; id < 4; id++) {
		struct pipe_rank rank = pipe_begin(run, id);
		int i = id % 2;
		np_ns done = id < 2 ? until[i] : (11 + last[i]) * MS;
		np_ns latest = id < 2 ? (until[0] > until[1] ? until[0] : until[1])
				      : (11 + (last[0] > last[1] ? last[0] : last[1])) * MS;

		if (id < 2) {
			script_compute(&rank.script, 0, 10 * MS);
			message(&rank, SEND, 10 * MS, 11 * MS);
			message(&rank, RECEIVE, 10 * MS, back[i]);
			script_compute(&rank.script, until[i] - 20 * MS, until[i]);
		} else {
			message(&rank, RECEIVE, 0, 11 * MS);
			script_compute(&rank.script, 11 * MS, done);
			message(&rank, SEND, done, done + 1 * MS);
		}
		script_comm(&rank.script, rank.replica, REDUCE, done, latest + 2 * MS);
		script_end(&rank.script, "1");
	}
	return run;
}

static struct np_balance measure(const struct replayed *it)
{
	struct np_balance balance = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_balance_measure(it->align, it->clock, it->cluster, stages, 1, &balance, &err),
		  err);
	assert_true(balance.known);
	assert_int_equal(balance.forced, 0);
	return balance;
}

/* In thousandths; LONG_MIN where there is no row. */
static long recovered(const struct np_balance *balance, enum np_share_kind kind, int32_t number)
{
	for (size_t i = 0; i < balance->shares.count; i++) {
		const struct np_balance_share *share = &balance->shares.item[i];

		if (share->kind == kind && (kind == NP_SHARE_OPTYPE || share->number == number))
			return lround(1000 * share->recovered);
	}
	return LONG_MIN;
}

static void an_even_pipeline_has_no_slowdown(void **state)
{
	static const np_ns last[2] = { 30, 30 };
	with_run *run = pipeline(last, 0);
	with_replay it = replayed_build(run);
	struct np_balance balance = measure(&it);

	(void)state;
	/* 10 forward, 1, 30, 1, 20 backward, 2 */
	assert_int_equal(balance.step, 64 * MS);
	assert_int_equal(balance.ideal, 64 * MS);
	assert_int_equal(balance.shares.count, 0);
	np_balance_release(&balance);
}

/*
 * Rank 3 takes 60 for 30. As it was: 10 + 1 + 60 + 1 + 20 + 2 = 94. Computing of a rank
 * is 30, 30, 30, 60, on average 37.5: if all are even, stage 0 takes 12.5 and 25, stage 1
 * 37.5, and it is 12.5 + 1 + 37.5 + 1 + 25 + 2 = 79.
 */
static void computing_takes_the_mean_of_all_ranks(void **state)
{
	static const np_ns last[2] = { 30, 60 };
	with_run *run = pipeline(last, 0);
	with_replay it = replayed_build(run);
	struct np_balance balance = measure(&it);

	(void)state;
	assert_int_equal(balance.step, 94 * MS);
	assert_int_equal(balance.ideal, 79 * MS);
	np_balance_release(&balance);
}

/* The gap delays what was recorded, and nothing here. */
static void gaps_are_dropped(void **state)
{
	static const np_ns last[2] = { 30, 60 };
	with_run *run = pipeline(last, 5 * MS);
	with_replay it = replayed_build(run);
	struct np_balance balance = measure(&it);

	(void)state;
	assert_int_equal(balance.step, 94 * MS);
	assert_int_equal(balance.ideal, 79 * MS);
	np_balance_release(&balance);
}

/*
 * Of a loss of 15: rank 3, or its stage, at 37.5 makes it 10 + 1 + 37.5 + 1 + 20 + 2 =
 * 71.5, so 22.5 are gone. Stage 0, or rank 1, with more to do than it had: 12.5 + 1 + 60
 * + 1 + 25 + 2 = 101.5, which is 7.5 more. All computing is all of the loss.
 */
static void the_share_of_a_rank_a_stage_and_a_type_is_what_is_gone_with_it_even(void **state)
{
	static const np_ns last[2] = { 30, 60 };
	with_run *run = pipeline(last, 0);
	with_replay it = replayed_build(run);
	struct np_balance balance = measure(&it);

	(void)state;
	assert_int_equal(recovered(&balance, NP_SHARE_RANK, 3), 1500);
	assert_int_equal(recovered(&balance, NP_SHARE_STAGE, 1), 1500);
	assert_int_equal(recovered(&balance, NP_SHARE_STAGE, 0), -500);
	assert_int_equal(recovered(&balance, NP_SHARE_OPTYPE, 0), 1000);
	assert_int_equal(recovered(&balance, NP_SHARE_RANK, 1), LONG_MIN);
	np_balance_release(&balance);
}

/* Both replicas of stage 1 take 60: as it was 94, and even (30 + 60) / 2 = 45 each: 15 + 45 + 30.
 */
static void a_stage_with_more_work_shares_it_with_the_others(void **state)
{
	static const np_ns last[2] = { 60, 60 };
	with_run *run = pipeline(last, 0);
	with_replay it = replayed_build(run);
	struct np_balance balance = measure(&it);

	(void)state;
	assert_int_equal(balance.step, 94 * MS);
	assert_int_equal(balance.ideal, 94 * MS);
	np_balance_release(&balance);
}

/*
 * Four steps of one rank pair; in one of them a transfer takes 9 instead of 1: as it was
 * 10 + 3 on average, and 10 + 1 with the median.
 */
static void transfers_take_the_median(void **state)
{
	with_run *run = np_run_new();
	struct np_balance balance;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", replicas[0], 2);

		for (int step = 0; step < 4; step++) {
			np_ns begin = step * 100 * MS;
			np_ns transfer = step == 2 ? 9 * MS : 1 * MS;
			char name[4];

			script_compute(&script, begin, begin + 10 * MS);
			script_comm(&script, group, REDUCE, begin + 10 * MS,
				    begin + 10 * MS + transfer);
			(void)snprintf(name, sizeof(name), "%d", step);
			script_end(&script, name);
		}
	}
	{
		with_replay it = replayed_build(run);

		balance = measure(&it);
	}
	assert_int_equal(balance.steps, 4);
	assert_int_equal(balance.step, 13 * MS);
	assert_int_equal(balance.ideal, 11 * MS);
	assert_int_equal(recovered(&balance, NP_SHARE_OPTYPE, 0), 1000);
	np_balance_release(&balance);
}

/* Ranks of which only operators are known have no work that could be even. */
static void without_intervals_there_is_no_balance(void **state)
{
	with_run *run = np_run_new();
	struct np_balance balance = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", replicas[0], 2);

		script_comm(&script, group, REDUCE, 10 * MS, 11 * MS)->step = NP_NO_STEP;
	}
	{
		with_replay it = replayed_build(run);

		assert_ok(np_balance_measure(it.align, it.clock, it.cluster, stages, 1, &balance,
					     &err),
			  err);
	}
	assert_false(balance.known);
	np_balance_release(&balance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_even_pipeline_has_no_slowdown),
		cmocka_unit_test(computing_takes_the_mean_of_all_ranks),
		cmocka_unit_test(gaps_are_dropped),
		cmocka_unit_test(
			the_share_of_a_rank_a_stage_and_a_type_is_what_is_gone_with_it_even),
		cmocka_unit_test(a_stage_with_more_work_shares_it_with_the_others),
		cmocka_unit_test(transfers_take_the_median),
		cmocka_unit_test(without_intervals_there_is_no_balance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
