/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks that contradict the order of what happened are corrected, by as little as will do. */
#include "npuprof/clock.h"

#include "np_cluster_fixture.h"
#include "np_fault.h"
#include "np_random.h"

#include "npuprof/align.h"

#define with_align NP_CLEANUP(np_align_freep) struct np_align
#define with_clock NP_CLEANUP(np_clock_freep) struct np_clock

#define EPOCH  INT64_C(1736410576000000000)
#define SECOND INT64_C(1000000000)
#define MS     INT64_C(1000000)
#define US     INT64_C(1000)

#define MOST 16

/* Ranks whose clocks are ahead by `offset`, and whose collectives end late by `bias`. */
struct team {
	struct np_run *run;
	struct np_rank *ranks[MOST];
	np_ns offset[MOST];
	np_ns bias[MOST];
	size_t count;
	uint64_t random;
};

static void start_team(struct team *team, size_t count, size_t per_host)
{
	team->run = np_run_new();
	team->count = count;
	for (size_t i = 0; i < count; i++) {
		char host[32];

		(void)snprintf(host, sizeof(host), "host%zu", i / per_host);
		team->ranks[i] = add_rank(team->run, (int32_t)i, true);
		team->ranks[i]->host_uid = intern(team->run, host);
	}
}

static uint32_t group_of(struct team *team, size_t rank, uint64_t hash, const int32_t *members,
			 size_t count)
{
	struct np_rank *own = team->ranks[rank];

	for (uint32_t i = 0; i < own->groups.count; i++) {
		if (own->groups.item[i].hash == hash)
			return i;
	}
	return add_group(team->run, own, hash, NULL, members, count);
}

/* An operator of a rank, by the true time. */
static void record(struct team *team, size_t rank, uint32_t group, const char *type, np_ns start,
		   np_ns end)
{
	struct np_comm_op *op =
		add_op(team->ranks[rank], group, strcmp(type, "hcom_allReduce_") != 0);

	op->type = intern(team->run, type);
	op->step = NP_NO_STEP;
	op->start = start + team->offset[rank];
	op->end = end + team->offset[rank];
}

/* All start at `start` and are done `length` later, give or take their bias. */
static void reduce(struct team *team, uint64_t hash, const int32_t *members, size_t count,
		   np_ns start, np_ns length)
{
	for (size_t i = 0; i < count; i++) {
		size_t rank = (size_t)members[i];

		record(team, rank, group_of(team, rank, hash, members, count), "hcom_allReduce_",
		       start, start + length + team->bias[rank]);
	}
}

static void send(struct team *team, size_t from, size_t to, np_ns start, np_ns length)
{
	int32_t members[2] = { (int32_t)(from < to ? from : to), (int32_t)(from < to ? to : from) };
	uint64_t hash = 1000 + (uint64_t)members[0] * MOST + (uint64_t)members[1];

	record(team, from, group_of(team, from, hash, members, 2), "hcom_send_", start,
	       start + 20 * US);
	record(team, to, group_of(team, to, hash, members, 2), "hcom_receive_", start - 100 * US,
	       start + length);
}

static struct np_align *aligned(const struct np_run *run)
{
	struct np_align *align = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_align_build(run, 1, &align, &err), err);
	return align;
}

static struct np_clock *clock_of(const struct np_align *align, size_t threads)
{
	struct np_clock *clock = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_clock_build(align, NULL, threads, &clock, &err), err);
	return clock;
}

/* What the common clock is wrong by for a rank, against rank 0. */
static np_ns error_of(const struct team *team, const struct np_clock *clock, size_t rank)
{
	return np_clock_time(clock, rank, EPOCH + team->offset[rank]) -
	       np_clock_time(clock, 0, EPOCH + team->offset[0]);
}

static void exchange(struct team *team, size_t a, size_t b, np_ns time)
{
	send(team, a, b, time, 300 * US);
	send(team, b, a, time + 2 * MS, 300 * US);
}

/* --- which clocks ----------------------------------------------------------------------------- */

static void recorded_clocks_stand_where_ends_differ_and_messages_say_so(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 2, 2);
	team.bias[1] = 5 * MS;
	for (np_ns k = 0; k < 100; k++) {
		reduce(&team, 1, LIST(0, 1), EPOCH + k * 50 * MS, 10 * MS);
		exchange(&team, 0, 1, EPOCH + k * 50 * MS + 20 * MS);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, 1);

		assert_int_equal(clock->method, NP_CLOCK_COLLECTIVES);
		assert_true(clock->recorded);
		assert_int_equal(clock->violations, 0);
		assert_int_equal(clock->violation_max, 0);
		assert_int_equal(error_of(&team, clock, 1), 0);
		assert_near((double)clock->residual_p90, 2500 * US, US);
	}
}

/*
 * Rank 1 is 7 s ahead and ends 5 ms late: by the ends it is 7.005 s ahead, so that what it
 * receives ends 4.7 ms before it was sent. That leaves 7.0003 s at most.
 */
static void clocks_that_were_never_right_go_no_further_than_messages_allow(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 2, 1);
	team.offset[1] = 7 * SECOND;
	team.bias[1] = 5 * MS;
	for (np_ns k = 0; k < 100; k++) {
		reduce(&team, 1, LIST(0, 1), EPOCH + k * 50 * MS, 10 * MS);
		exchange(&team, 0, 1, EPOCH + k * 50 * MS + 20 * MS);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, 1);

		assert_false(clock->recorded);
		assert_int_equal(clock->violations, 0);
		assert_near((double)error_of(&team, clock, 1), -300.0 * US, 2.0 * US);
	}
}

/* The other ranks of its host tell where a rank's clock is whose ends are late. */
static void a_rank_that_ends_late_keeps_the_clock_of_its_host(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 6, 3);
	for (size_t i = 3; i < 6; i++)
		team.offset[i] = -9 * SECOND;
	team.bias[4] = 5 * MS;
	for (np_ns k = 0; k < 100; k++) {
		reduce(&team, 1, LIST(0, 1, 2, 3, 4, 5), EPOCH + k * 50 * MS, 10 * MS);
		for (size_t i = 0; i < 6; i++)
			exchange(&team, i, (i + 1) % 6,
				 EPOCH + k * 50 * MS + (20 + (np_ns)i * 4) * MS);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, 1);

		assert_int_equal(clock->violations, 0);
		for (size_t i = 0; i < 6; i++)
			assert_near((double)error_of(&team, clock, i), 0, 10.0 * US);
	}
}

/* Ends that scatter by milliseconds move nothing that the recorded clocks do as well. */
static void a_fit_that_does_no_better_is_left(void **state)
{
	struct team team = { .random = 5 };

	(void)state;
	start_team(&team, 4, 4);
	for (np_ns k = 0; k < 8; k++) {
		for (size_t i = 0; i < 4; i++)
			team.bias[i] = (np_ns)np_random_below(&team.random, 8000) * US;
		reduce(&team, 1, LIST(0, 1, 2, 3), EPOCH + k * 50 * MS, 10 * MS);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, 1);

		assert_true(clock->recorded);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(error_of(&team, clock, i), 0);
	}
}

/* What ends alone can tell they still do: nothing contradicts it. */
static void a_clock_that_is_off_is_still_found(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 4, 4);
	team.offset[2] = 250 * US;
	for (np_ns k = 0; k < 100; k++)
		reduce(&team, 1, LIST(0, 1, 2, 3), EPOCH + k * 50 * MS, 10 * MS);
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, 1);

		assert_true(clock->ranks[2].off);
		assert_near((double)error_of(&team, clock, 2), 0, 10.0 * US);
		assert_int_equal(clock->violations, 0);
	}
}

/* --- wrong matches ---------------------------------------------------------------------------- */

static void a_few_wrong_matches_move_nothing_and_are_counted(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 2, 2);
	for (np_ns k = 0; k < 100; k++) {
		reduce(&team, 1, LIST(0, 1), EPOCH + k * 50 * MS, 10 * MS);
		exchange(&team, 0, 1, EPOCH + k * 50 * MS + 20 * MS);
	}
	/* Of messages from 0 to 1 the receives are each third operator; two end 15 ms early. */
	for (size_t k = 40; k < 42; k++) {
		struct np_comm_op *op = &team.ranks[1]->ops.item[k * 3 + 1];

		assert_string_equal(np_strtab_text(team.run->strings, op->type), "hcom_receive_");
		op->end -= 15 * MS;
		op->start -= 15 * MS;
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, 1);

		assert_int_equal(error_of(&team, clock, 1), 0);
		assert_int_equal(clock->violations, 2);
		assert_near((double)clock->violation_max, 14700.0 * US, US);
	}
}

static void operators_of_two_that_send_and_receive_are_no_samples(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 2, 2);
	for (np_ns k = 0; k < 20; k++) {
		for (size_t i = 0; i < 2; i++)
			record(&team, i, group_of(&team, i, 9, LIST(0, 1)), "hcom_sendRecv_",
			       EPOCH + k * MS, EPOCH + k * MS + (np_ns)(i + 1) * 100 * US);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, 1);

		assert_int_equal(clock->method, NP_CLOCK_NONE);
		assert_int_equal(clock->ranks[0].samples, 0);
	}
}

/* --- counting --------------------------------------------------------------------------------- */

/* Rank 1 is 2 ms behind: what takes 300 µs seems to end 1.7 ms before; a reduction of 1 ms 1 ms. */
static void what_contradicts_recorded_clocks_is_counted(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 2, 2);
	team.offset[1] = -2 * MS;
	for (np_ns k = 0; k < 10; k++) {
		reduce(&team, 1, LIST(0, 1), EPOCH + k * 50 * MS, MS);
		exchange(&team, 0, 1, EPOCH + k * 50 * MS + 20 * MS);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = NULL;
		struct np_err err = NP_ERR_INIT;

		assert_ok(np_clock_raw(align, &clock, &err), err);
		assert_int_equal(clock->violations, 20);
		assert_int_equal(clock->violation_max, 1700 * US);
	}
}

/* --- ranks that only messages relate ---------------------------------------------------------- */

static void messages_in_both_directions_relate_clocks(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 4, 2);
	team.offset[2] = team.offset[3] = 3 * SECOND;
	for (np_ns k = 0; k < 50; k++) {
		reduce(&team, 1, LIST(0, 1), EPOCH + k * 50 * MS, 10 * MS);
		reduce(&team, 2, LIST(2, 3), EPOCH + k * 50 * MS, 10 * MS);
		exchange(&team, 1, 2, EPOCH + k * 50 * MS + 20 * MS);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, 1);

		assert_int_equal(clock->components, 1);
		assert_true(np_clock_related(clock, 0, 3));
		assert_int_equal(clock->ranks[2].room, 300 * US);
		assert_int_equal(clock->ranks[1].room, 0);
		assert_near((double)error_of(&team, clock, 3), 0, 2.0 * US);
		assert_int_equal(clock->violations, 0);
	}
}

static void messages_in_one_direction_relate_nothing(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 2, 1);
	for (np_ns k = 0; k < 50; k++)
		send(&team, 0, 1, EPOCH + k * MS, 300 * US);
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, 1);

		assert_false(np_clock_related(clock, 0, 1));
		assert_int_equal(clock->method, NP_CLOCK_NONE);
		assert_int_equal(clock->violations, 0);
	}
}

/* --- pipelines -------------------------------------------------------------------------------- */

#define STAGES  4
#define BATCHES 6

/* One micro-batch of a stage while 1F1B runs: forwards first, then in turn. */
struct stage {
	size_t next; /* of its 2 × BATCHES pieces */
	np_ns free;
	np_ns forward[BATCHES]; /* when what it sent is there */
	np_ns backward[BATCHES];
};

/* The k-th piece of a stage: which micro-batch, and whether it is a forward. */
static bool piece(size_t stage, size_t k, size_t *ret)
{
	size_t ahead = STAGES - 1 - stage;

	if (k < ahead) {
		*ret = k;
		return true;
	}
	if (k < ahead + 2 * (BATCHES - ahead)) {
		*ret = (k - ahead) % 2 == 0 ? ahead + (k - ahead) / 2 : (k - ahead) / 2;
		return (k - ahead) % 2 == 0;
	}
	*ret = k - BATCHES;
	return false;
}

/* Run the next piece of a stage of a pipeline whose ranks are `first`, first + `stride` …, if it
 * can. */
static bool advance(struct team *team, struct stage *stages, size_t stage, size_t first,
		    size_t stride)
{
	struct stage *own = &stages[stage];
	size_t batch;
	bool forward;
	bool receives;
	size_t peer;
	size_t rank = first + stage * stride;
	np_ns there;

	if (own->next == 2 * BATCHES)
		return false;
	forward = piece(stage, own->next, &batch);
	receives = forward ? stage > 0 : stage + 1 < STAGES;
	peer = forward ? stage - 1 : stage + 1;
	if (receives) {
		int32_t members[2] = { (int32_t)(first + (forward ? peer : stage) * stride),
				       (int32_t)(first + (forward ? stage : peer) * stride) };

		there = forward ? stages[peer].forward[batch] : stages[peer].backward[batch];
		if (there == 0)
			return false;
		if (there < own->free)
			there = own->free + 10 * US;
		record(team, rank,
		       group_of(team, rank,
				1000 + (uint64_t)members[0] * MOST + (uint64_t)members[1], members,
				2),
		       "hcom_receive_", own->free, there);
		own->free = there;
	}
	own->free += (forward ? 3 : 6) * MS + (np_ns)np_random_below(&team->random, 400) * US;
	if (forward ? stage + 1 < STAGES : stage > 0) {
		size_t to = forward ? stage + 1 : stage - 1;
		int32_t members[2] = { (int32_t)(first + (forward ? stage : to) * stride),
				       (int32_t)(first + (forward ? to : stage) * stride) };

		record(team, rank,
		       group_of(team, rank,
				1000 + (uint64_t)members[0] * MOST + (uint64_t)members[1], members,
				2),
		       "hcom_send_", own->free, own->free + 30 * US);
	}
	*(forward ? &own->forward[batch] : &own->backward[batch]) =
		own->free + 200 * US + (np_ns)np_random_below(&team->random, 100) * US;
	own->next++;
	return true;
}

/* Two pipelines beside each other, whose stages reduce gradients at the end of each step. */
static void train(struct team *team, np_ns *bias)
{
	np_ns time = EPOCH;

	for (int step = 0; step < 4; step++) {
		np_ns done = 0;

		for (size_t dp = 0; dp < 2; dp++) {
			struct stage stages[STAGES] = { 0 };
			bool moved = true;

			for (size_t i = 0; i < STAGES; i++)
				stages[i].free = time;
			while (moved) {
				moved = false;
				for (size_t i = 0; i < STAGES; i++)
					moved |= advance(team, stages, i, dp, 2);
			}
			for (size_t i = 0; i < STAGES; i++) {
				assert_int_equal(stages[i].next, 2 * BATCHES);
				done = stages[i].free > done ? stages[i].free : done;
			}
		}
		memcpy(team->bias, bias, sizeof(team->bias));
		for (int32_t i = 0; i < STAGES; i++)
			reduce(team, 50 + (uint64_t)i, LIST(i * 2, i * 2 + 1), done, 30 * MS);
		time = done + 45 * MS;
	}
}

static void published_pipelines_keep_their_clocks(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct team team = { .random = seed };
		np_ns bias[MOST];

		(void)state;
		start_team(&team, 2 * STAGES, 4);
		for (size_t i = 0; i < MOST; i++)
			bias[i] = (np_ns)np_random_below(&team.random, 10000) * US;
		train(&team, bias);
		{
			with_run *run = team.run;
			with_align *align = aligned(run);
			with_clock *clock = clock_of(align, 1);

			assert_int_equal(clock->components, 1);
			assert_int_equal(clock->violations, 0);
			for (size_t i = 0; i < 2 * STAGES; i++)
				assert_int_equal(error_of(&team, clock, i), 0);
		}
	}
}

/* Clocks that are nearly right need little, and get no more than that. */
static void published_pipelines_with_clocks_a_little_off_stay_near_them(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct team team = { .random = seed };
		np_ns bias[MOST];

		start_team(&team, 2 * STAGES, 4);
		for (size_t i = 0; i < MOST; i++) {
			bias[i] = (np_ns)np_random_below(&team.random, 10000) * US;
			team.offset[i] = (np_ns)np_random_below(&team.random, 800) * US;
		}
		train(&team, bias);
		{
			with_run *run = team.run;
			with_align *align = aligned(run);
			with_clock *clock = clock_of(align, 1);

			assert_int_equal(clock->violations, 0);
			for (size_t i = 0; i < 2 * STAGES; i++)
				assert_near((double)error_of(&team, clock, i), 0, 1000.0 * US);
		}
	}
}

/* Stages 0 and 1 are on one host, 2 and 3 on another, seconds apart: only messages join them. */
static void published_pipelines_on_hosts_apart_find_the_clocks_of_the_hosts(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct team team = { .random = seed };
		np_ns bias[MOST];

		start_team(&team, 2 * STAGES, 4);
		for (size_t i = 0; i < MOST; i++) {
			bias[i] = (np_ns)np_random_below(&team.random, 10000) * US;
			team.offset[i] = i < 4 ? 0 : -4 * SECOND;
		}
		train(&team, bias);
		{
			with_run *run = team.run;
			with_align *align = aligned(run);
			with_clock *clock = clock_of(align, 1);

			assert_int_equal(clock->components, 1);
			assert_int_equal(clock->violations, 0);
			for (size_t i = 0; i < 2 * STAGES; i++)
				assert_near((double)error_of(&team, clock, i), 0, 300.0 * US);
		}
	}
}

/* --- any cluster ------------------------------------------------------------------------------ */

/* Clocks anywhere, ends late by anything, transfers of any length: there are clocks that fit. */
static void make_any(struct team *team)
{
	size_t count = 2 + np_random_below(&team->random, 9);

	start_team(team, count, 1 + np_random_below(&team->random, 4));
	for (size_t i = 0; i < count; i++) {
		np_ns apart = (np_ns)np_random_below(&team->random, 4) * SECOND;

		team->offset[i] = apart + (np_ns)np_random_below(&team->random, 2000) * US;
		team->bias[i] = (np_ns)np_random_below(&team->random, 10000) * US;
	}
	for (np_ns k = 0; k < 40; k++) {
		np_ns time = EPOCH + k * 200 * MS;
		int32_t members[MOST];
		size_t used = 0;

		for (size_t i = 0; i < count; i++) {
			if (i < 2 || i % 3 != 0)
				members[used++] = (int32_t)i;
		}
		reduce(team, 1, members, used, time,
		       MS + (np_ns)np_random_below(&team->random, 5000) * US);
		for (size_t i = 0; i + 1 < count; i++) {
			np_ns at = time + 40 * MS + (np_ns)i * 10 * MS;

			send(team, i, i + 1, at,
			     100 * US + (np_ns)np_random_below(&team->random, 3000) * US);
			send(team, i + 1, i, at + 5 * MS,
			     20 * US + (np_ns)np_random_below(&team->random, 900) * US);
		}
	}
}

static void where_clocks_can_agree_with_what_happened_they_do(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct team team = { .random = seed };

		make_any(&team);
		{
			with_run *run = team.run;
			with_align *align = aligned(run);
			with_clock *clock = clock_of(align, 1);
			with_clock *other = clock_of(align, 5);

			assert_int_equal(clock->violations, 0);
			assert_int_equal(clock->components, 1);
			for (size_t i = 0; i < team.count; i++) {
				assert_int_equal(other->ranks[i].knots->offset,
						 clock->ranks[i].knots->offset);
				assert_memory_equal(&other->ranks[i].drift, &clock->ranks[i].drift,
						    sizeof(double));
			}
		}
	}
}

/* --- memory ----------------------------------------------------------------------------------- */

static const struct np_align *faulty_align;

static int settle_faulty(struct np_err *err)
{
	struct np_clock *clock = NULL;
	int rc = np_clock_build(faulty_align, NULL, 1, &clock, err);

	np_clock_free(clock);
	return rc;
}

static void running_out_of_memory_is_an_ordinary_failure(void **state)
{
	struct team team = { .random = 3 };

	(void)state;
	make_any(&team);
	{
		with_run *run = team.run;
		with_align *align = aligned(run);

		faulty_align = align;
		assert_survives_faults(settle_faulty);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_clocks_stand_where_ends_differ_and_messages_say_so),
		cmocka_unit_test(clocks_that_were_never_right_go_no_further_than_messages_allow),
		cmocka_unit_test(a_rank_that_ends_late_keeps_the_clock_of_its_host),
		cmocka_unit_test(a_fit_that_does_no_better_is_left),
		cmocka_unit_test(a_clock_that_is_off_is_still_found),
		cmocka_unit_test(a_few_wrong_matches_move_nothing_and_are_counted),
		cmocka_unit_test(operators_of_two_that_send_and_receive_are_no_samples),
		cmocka_unit_test(what_contradicts_recorded_clocks_is_counted),
		cmocka_unit_test(messages_in_both_directions_relate_clocks),
		cmocka_unit_test(messages_in_one_direction_relate_nothing),
		cmocka_unit_test(published_pipelines_keep_their_clocks),
		cmocka_unit_test(published_pipelines_with_clocks_a_little_off_stay_near_them),
		cmocka_unit_test(published_pipelines_on_hosts_apart_find_the_clocks_of_the_hosts),
		cmocka_unit_test(where_clocks_can_agree_with_what_happened_they_do),
		cmocka_unit_test(running_out_of_memory_is_an_ordinary_failure),
	};

	return cmocka_run_group_tests_name("clock_order", tests, NULL, NULL);
}
