/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/root_cause.h"

#include "cluster/measure/cause/root_cause_progress.h"

#include "np_cluster_fixture.h"
#include "np_random.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/flows.h"

#include <math.h>

#define MS 1000000

/*
 * Ranks 0 and 1 are tensor parallel, so are 2 and 3; ranks 0 and 2 are data
 * parallel, so are 1 and 3. A world operator begins and ends the run.
 */
enum {
	TP,
	DP,
	WORLD,
};

struct measured {
	struct np_align *align;
	struct np_clock *clock;
	struct np_waits waits;
	struct np_charges charges;
	struct np_root_causes causes;
};

static void release(struct measured *all)
{
	np_root_cause_release(&all->causes);
	np_charges_release(&all->charges);
	np_waits_release(&all->waits);
	np_clock_free(all->clock);
	np_align_free(all->align);
}

static struct measured measure_on(const struct np_run *run, size_t threads)
{
	struct measured all = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_align_build(run, threads, &all.align, &err), err);
	assert_ok(np_clock_raw(all.align, &all.clock, &err), err);
	assert_ok(np_waits_measure(all.align, all.clock, threads, &all.waits, &err), err);
	assert_ok(np_charges_measure(all.align, all.clock, &all.waits, 0, threads, &all.charges,
				     &err),
		  err);
	assert_ok(np_root_cause_measure(all.align, all.clock, &all.waits, &all.charges, threads,
					&all.causes, &err),
		  err);
	return all;
}

static struct measured measure(const struct np_run *run)
{
	return measure_on(run, 1);
}

static struct np_comm_op *add_timed(struct np_run *run, struct np_rank *rank, uint32_t group,
				    np_ns start, np_ns end)
{
	struct np_comm_op *op = add_op(rank, group, false);

	op->type = intern(run, "hcom_allReduce_");
	op->name = op->type;
	op->start = start;
	op->end = end;
	op->transfer = NP_LENGTH_UNKNOWN;
	op->bytes = 1024;
	return op;
}

static struct np_rank *add_member(struct np_run *run, int32_t id)
{
	static const int32_t tp[2][2] = { { 0, 1 }, { 2, 3 } };
	static const int32_t dp[2][2] = { { 0, 2 }, { 1, 3 } };
	static const int32_t world[] = { 0, 1, 2, 3 };
	struct np_rank *rank = add_rank(run, id, true);

	assert_int_equal(add_group(run, rank, 10 + (uint64_t)id / 2, "tp", tp[id / 2], 2), TP);
	assert_int_equal(add_group(run, rank, 20 + (uint64_t)id % 2, "dp", dp[id % 2], 2), DP);
	assert_int_equal(add_group(run, rank, 30, "world", world, 4), WORLD);
	add_step(run, rank, "1");
	return rank;
}

/* Rank 0 comes 10 units late to its tensor parallel group, so rank 1 comes late to its data
 * parallel one. */
static struct np_run *chain_run_of(np_ns unit)
{
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 4; id++) {
		struct np_rank *rank = add_member(run, id);
		np_ns ready = id == 0 ? 20 * unit : 10 * unit;
		np_ns done = id < 2 ? 21 * unit : 11 * unit;

		add_timed(run, rank, WORLD, 0, 1 * unit);
		add_timed(run, rank, TP, ready, done);
		add_timed(run, rank, DP, done, 22 * unit);
		add_timed(run, rank, WORLD, 22 * unit, 23 * unit);
	}
	return run;
}

static struct np_run *chain_run(void)
{
	return chain_run_of(MS);
}

static void a_charge_is_passed_on_to_where_it_began(void **state)
{
	with_run *run = chain_run();
	struct measured all = measure(run);

	(void)state;
	/* By arrival rank 0 owes 10 ms to rank 1 and 10 to rank 2, rank 1 owes 10 to rank 3. */
	assert_int_equal(all.charges.ranks[0].charge, 20 * MS);
	assert_int_equal(all.charges.ranks[1].charge, 10 * MS);
	assert_int_equal(all.causes.ranks[0].charge, 30 * MS);
	assert_int_equal(all.causes.ranks[1].charge, 0);
	assert_int_equal(all.causes.ranks[1].passed, 10 * MS);
	assert_int_equal(all.causes.ranks[0].received, 10 * MS);
	release(&all);
}

/* As above; none of these numbers of nanoseconds fits into 32 bits. */
static void charges_of_any_size_are_passed_on(void **state)
{
	const np_ns hour = INT64_C(3600000) * MS;
	with_run *run = chain_run_of(hour);
	struct measured all = measure(run);

	(void)state;
	assert_int_equal(all.causes.ranks[0].charge, 30 * hour);
	assert_int_equal(all.causes.ranks[1].charge, 0);
	assert_int_equal(all.causes.ranks[1].passed, 10 * hour);
	assert_int_equal(all.causes.ranks[0].received, 10 * hour);
	release(&all);
}

static void the_chain_tells_through_whom_it_went(void **state)
{
	with_run *run = chain_run();
	struct measured all = measure(run);
	struct np_root_cause_link chain[NP_ROOT_CAUSE_CHAIN];
	struct np_root_cause_waiters waiters = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_root_cause_chain(&all.causes, &all.charges, 0, chain), 2);
	assert_int_equal(chain[0].rank, 0);
	assert_int_equal(chain[1].rank, 1);
	assert_int_equal(chain[1].waited_for, 0);
	assert_int_equal(all.align->communicators.item[chain[1].via].hash, 10);
	assert_int_equal(all.align->communicators.item[chain[1].communicator].hash, 21);
	assert_ok(np_root_cause_waiters(all.align, all.clock, &all.waits, 1, chain[1].communicator,
					&waiters, &err),
		  err);
	assert_int_equal(waiters.list.count, 1);
	assert_int_equal(waiters.list.item[0].rank, 3);
	assert_int_equal(waiters.list.item[0].wait, 10 * MS);
	np_vec_release(&waiters.list);
	release(&all);
}

static void rows_name_the_communicator_that_kept_the_rank_waiting(void **state)
{
	with_run *run = chain_run();
	struct measured all = measure(run);
	size_t seen = 0;

	(void)state;
	for (size_t i = 0; i < all.charges.rows.count; i++) {
		const struct np_charge_row *row = &all.charges.rows.item[i];

		if (row->rank != 1)
			continue;
		assert_int_equal(all.causes.rows[i].cause, NP_CAUSE_COMMUNICATION);
		assert_int_equal(all.align->communicators.item[all.causes.rows[i].via].hash, 10);
		seen++;
	}
	assert_int_equal(seen, 1);
	release(&all);
}

/* What each rank did before the second world operator: one cell, cut at its operators. */
static void add_activity(struct np_rank *rank, np_ns computing, np_ns host, np_str type)
{
	struct np_activity *activity = &rank->activity;
	const struct np_share shares[] = {
		{ np_leaf_make(NP_LEAF_COMM, 0), MS },
		{ np_leaf_make(NP_LEAF_COMPUTE, type), (uint32_t)computing },
		{ np_leaf_make(NP_LEAF_FREE_HOST, 0), (uint32_t)host },
		{ np_leaf_make(NP_LEAF_COMM, 1), (uint32_t)(23 * MS - computing - host) },
	};
	const struct np_segment segments[] = {
		{ 0, 0 }, { 1 * MS, 1 }, { 1 * MS + computing + host, 3 }, { 24 * MS, 4 }
	};
	const struct np_exposed exposed[] = { { 0, MS, 0, 0, 0 },
					      { MS + computing + host, 24 * MS, 1, 0, 0 } };
	struct np_activity_cell *cell = np_vec_add(&activity->cells, NULL);
	struct np_step_time *time = np_vec_add(&rank->times, NULL);

	assert_non_null(cell);
	assert_non_null(time);
	*cell = (struct np_activity_cell){
		.begin = 0, .end = 24 * MS, .segments = 3, .exposed = 2
	};
	for (size_t i = 0; i < NP_COUNT(shares); i++)
		*(struct np_share *)np_vec_add(&activity->shares, NULL) = shares[i];
	for (size_t i = 0; i < NP_COUNT(segments); i++)
		*(struct np_segment *)np_vec_add(&activity->segments, NULL) = segments[i];
	for (size_t i = 0; i < NP_COUNT(exposed); i++)
		*(struct np_exposed *)np_vec_add(&activity->exposed, NULL) = exposed[i];
}

/* Rank 3 is late for a second world operator, for one of two reasons. */
static struct np_run *late_run(np_ns more_computing, np_ns more_host)
{
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 4; id++) {
		struct np_rank *rank = add_member(run, id);
		np_ns computing = 10 * MS + (id == 3 ? more_computing : 0);
		np_ns host = 1 * MS + (id == 3 ? more_host : 0);

		add_timed(run, rank, WORLD, 0, 1 * MS);
		add_timed(run, rank, WORLD, 1 * MS + computing + host, 24 * MS);
		add_activity(rank, computing, host, intern(run, "MatMul"));
	}
	return run;
}

static void a_rank_that_computes_longer_is_late_by_computing(void **state)
{
	with_run *run = late_run(5 * MS, 0);
	struct measured all = measure(run);

	(void)state;
	assert_int_equal(all.causes.ranks[3].charge, 15 * MS);
	assert_int_equal(all.causes.ranks[3].by_cause[NP_CAUSE_COMPUTE], 15 * MS);
	assert_int_equal(np_root_cause_main(&all.causes, 3), NP_CAUSE_COMPUTE);
	release(&all);
}

/* Of rank 0 nobody knows what it did: that is not less of everything. */
static void who_has_no_intervals_is_no_peer_to_compare_with(void **state)
{
	with_run *run = late_run(5 * MS, 0);
	struct measured all;

	(void)state;
	run->ranks[0]->activity.cells.count = 0;
	all = measure(run);
	assert_int_equal(all.causes.ranks[3].by_cause[NP_CAUSE_COMPUTE], 15 * MS);
	assert_int_equal(all.causes.ranks[3].by_cause[NP_CAUSE_HOST], 0);
	release(&all);
}

static void a_rank_whose_host_is_behind_is_late_by_its_host(void **state)
{
	with_run *run = late_run(0, 5 * MS);
	struct measured all = measure(run);

	(void)state;
	assert_int_equal(all.causes.ranks[3].by_cause[NP_CAUSE_HOST], 15 * MS);
	assert_int_equal(np_root_cause_main(&all.causes, 3), NP_CAUSE_HOST);
	release(&all);
}

static void causes_share_in_proportion(void **state)
{
	with_run *run = late_run(4 * MS, 1 * MS);
	struct measured all = measure(run);

	(void)state;
	assert_int_equal(all.causes.ranks[3].by_cause[NP_CAUSE_COMPUTE], 12 * MS);
	assert_int_equal(all.causes.ranks[3].by_cause[NP_CAUSE_HOST], 3 * MS);
	release(&all);
}

static void the_types_that_take_longer_are_named(void **state)
{
	with_run *run = late_run(5 * MS, 0);
	with_cluster *cluster = build(run);
	struct np_root_cause_type types[2];
	struct np_err err = NP_ERR_INIT;
	size_t count;

	(void)state;
	assert_ok(np_root_cause_types(cluster, 3, types, 2, &count, &err), err);
	assert_int_equal(count, 1);
	assert_string_equal(np_run_text(run, types[0].type), "MatMul");
	assert_int_equal(types[0].excess, 5 * MS);
	assert_true(types[0].ratio > 1.49 && types[0].ratio < 1.51);
	assert_ok(np_root_cause_types(cluster, 0, types, 2, &count, &err), err);
	assert_int_equal(count, 0);
}

/* What peers do not run has no ratio to what they do. */
static void a_type_that_peers_do_not_run_is_named(void **state)
{
	with_run *run = late_run(0, 0);
	struct np_activity *activity = &run->ranks[3]->activity;
	struct np_root_cause_type types[2];
	struct np_err err = NP_ERR_INIT;
	size_t count;

	(void)state;
	for (size_t i = 0; i < activity->shares.count; i++) {
		if (np_leaf_kind(activity->shares.item[i].leaf) == NP_LEAF_COMPUTE)
			activity->shares.item[i].leaf =
				np_leaf_make(NP_LEAF_COMPUTE, intern(run, "Unique"));
	}
	with_cluster *cluster = build(run);

	assert_ok(np_root_cause_types(cluster, 3, types, 2, &count, &err), err);
	assert_int_equal(count, 1);
	assert_string_equal(np_run_text(run, types[0].type), "Unique");
	assert_true(isinf(types[0].ratio));
}

/* Random operators, matched or not: nothing is added and nothing is lost. */
static struct np_run *random_run(uint64_t *random)
{
	struct np_run *run = np_run_new();
	np_ns times[4] = { 0 };
	size_t count = 2 + np_random_below(random, 40);

	for (int32_t id = 0; id < 4; id++)
		(void)add_member(run, id);
	for (size_t i = 0; i < count; i++) {
		uint32_t group = (uint32_t)np_random_below(random, 3);
		np_ns last = 0;

		for (int id = 0; id < 4; id++) {
			times[id] += (np_ns)np_random_below(random, 5 * MS);
			last = times[id] > last ? times[id] : last;
		}
		for (int32_t id = 0; id < 4; id++) {
			np_ns end = last + 1000 + (np_ns)np_random_below(random, 2000);

			/* Some records get lost. */
			if (np_random_below(random, 20) > 0)
				add_timed(run, run->ranks[id], group, times[id], end);
			times[id] = end;
		}
	}
	return run;
}

static void passing_on_neither_adds_nor_loses(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (int round = 0; round < 300; round++) {
		with_run *run = random_run(&random);
		struct measured all = measure(run);
		np_ns direct = all.charges.unprofiled;
		np_ns charge = all.causes.unprofiled;

		for (int i = 0; i < 4; i++) {
			np_ns causes = 0;

			for (int cause = 0; cause < NP_CAUSES; cause++)
				causes += all.causes.ranks[i].by_cause[cause];
			assert_int_equal(causes, all.causes.ranks[i].charge);
			assert_true(all.causes.ranks[i].charge >= 0);
			direct += all.charges.ranks[i].charge;
			charge += all.causes.ranks[i].charge;
		}
		assert_int_equal(charge, direct);
		assert_int_equal(direct + all.charges.unattributed, all.charges.total);
		release(&all);
	}
}

static void add_message(struct np_run *run, struct np_rank *rank, const char *type, int peer,
			np_ns start, np_ns end)
{
	struct np_comm_op *op = add_timed(run, rank, 0, start * MS, end * MS);

	op->type = intern(run, type);
	op->p2p = true;
	op->peer = (uint16_t)(peer + 1);
}

/*
 * Before the second of three world operators rank 1 makes rank 2 wait for 1 ms,
 * and rank 2 then makes rank 1 wait for 40. After it rank 1 makes rank 0 wait
 * for 10. Messages are stored by pair, so these are not in the order of time.
 */
static struct np_run *messages_run(void)
{
	static const int32_t all[] = { 0, 1, 2 };
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, true);

		assert_int_equal(add_group(run, rank, 10, "pp", all, 3), 0);
		assert_int_equal(add_group(run, rank, 30, "world", all, 3), 1);
		add_step(run, rank, "1");
		add_timed(run, rank, 1, 0, 1 * MS);
		if (id == 1) {
			add_message(run, rank, "hcom_send_", 2, 3, 4);
			add_message(run, rank, "hcom_receive_", 2, 5, 46);
		} else if (id == 2) {
			add_message(run, rank, "hcom_receive_", 1, 2, 4);
			add_message(run, rank, "hcom_send_", 1, 45, 46);
		}
		add_timed(run, rank, 1, 46 * MS, 47 * MS);
		if (id == 0)
			add_message(run, rank, "hcom_send_", 1, 50, 61);
		else if (id == 1)
			add_message(run, rank, "hcom_receive_", 0, 60, 61);
		add_timed(run, rank, 1, 61 * MS, 62 * MS);
	}
	return run;
}

static void waiting_before_all_were_together_explains_nothing_after_it(void **state)
{
	with_run *run = messages_run();
	struct measured all = measure(run);

	(void)state;
	assert_int_equal(all.charges.ranks[1].charge, 11 * MS);
	assert_int_equal(all.charges.ranks[2].charge, 40 * MS);
	assert_int_equal(all.causes.ranks[1].passed, 0);
	/* Of rank 2's 40 ms, 1 was waiting for rank 1. */
	assert_true(all.causes.ranks[2].passed > 0 && all.causes.ranks[2].passed < 1 * MS);
	assert_int_equal(all.causes.ranks[1].charge, 11 * MS + all.causes.ranks[2].passed);
	/* Not by its transfers either: it had none since then. */
	assert_int_equal(all.causes.ranks[1].by_cause[NP_CAUSE_UNKNOWN],
			 all.causes.ranks[1].charge);
	release(&all);
}

/* More operators than one look ahead takes. */
static void origins_do_not_depend_on_the_number_of_threads(void **state)
{
	struct np_run *run = np_run_new();
	struct measured one;
	struct measured three;
	uint64_t random = 3;

	(void)state;
	for (int32_t id = 0; id < 4; id++) {
		struct np_rank *rank = add_member(run, id);

		for (np_ns i = 0; i < 36000; i++) {
			np_ns end = (i + 1) * MS;

			add_timed(run, rank, i % 20 ? (uint32_t)(i % 3 == 0) : WORLD,
				  end - 100000 - (np_ns)np_random_below(&random, 700000), end);
		}
	}
	one = measure_on(run, 1);
	three = measure_on(run, 3);
	assert_memory_equal(one.causes.ranks, three.causes.ranks, 4 * sizeof(*one.causes.ranks));
	assert_int_equal(one.causes.edges.count, three.causes.edges.count);
	for (size_t i = 0; i < one.causes.edges.count; i++)
		assert_int_equal(one.causes.edges.item[i].charge,
				 three.causes.edges.item[i].charge);
	assert_int_equal(one.charges.rows.count, three.charges.rows.count);
	for (size_t i = 0; i < one.charges.rows.count; i++) {
		assert_int_equal(one.charges.rows.item[i].charge,
				 three.charges.rows.item[i].charge);
		assert_int_equal(one.causes.rows[i].cause, three.causes.rows[i].cause);
		assert_int_equal(one.causes.rows[i].via, three.causes.rows[i].via);
	}
	assert_true(one.causes.ranks[0].passed > 0);
	release(&one);
	release(&three);
	np_run_free(run);
}

static np_ns flow_of(const np_flow_list *list, const struct np_align *align, uint64_t hash,
		     uint32_t rank)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct np_flow *each = &list->item[i];

		if (align->communicators.item[each->of].hash == hash && each->rank == rank)
			return each->ns;
	}
	return 0;
}

static struct np_flows flows_of(const struct np_run *run, const struct measured *all)
{
	with_cluster *cluster = build(run);
	struct np_flows flows = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_flows_measure(cluster, all->align, &all->waits, &all->charges, &all->causes,
				   &flows, &err),
		  err);
	return flows;
}

/* Rank 3 waits for rank 1 in their data parallel group: the cause is rank 0 all the same. */
static void a_flow_leads_from_the_root_cause_through_a_communicator_to_who_waited(void **state)
{
	with_run *run = chain_run();
	struct measured all = measure(run);
	struct np_flows flows = flows_of(run, &all);

	(void)state;
	assert_int_equal(flow_of(&flows.causes, all.align, 21, 0), 10 * MS);
	assert_int_equal(flow_of(&flows.causes, all.align, 21, 1), 0);
	assert_int_equal(flow_of(&flows.waits, all.align, 21, 3), 10 * MS);
	assert_int_equal(flow_of(&flows.causes, all.align, 10, 0), 10 * MS);
	assert_int_equal(flow_of(&flows.waits, all.align, 10, 1), 10 * MS);
	assert_int_equal(flows.steps.count, 1);
	assert_int_equal(flows.steps.item[0].rank, 0);
	assert_int_equal(flows.steps.item[0].ns, 30 * MS);
	np_flows_release(&flows);
	release(&all);
}

static void causes_of_a_communicator_sum_to_its_waiting(void **state)
{
	uint64_t random = 77;

	(void)state;
	for (int round = 0; round < 200; round++) {
		with_run *run = random_run(&random);
		struct measured all = measure(run);
		struct np_flows flows = flows_of(run, &all);
		np_ns total = 0;
		np_ns by_step = 0;

		for (uint32_t c = 0; c < all.align->communicators.count; c++) {
			np_ns causes = 0;
			np_ns waits = 0;

			for (size_t i = 0; i < flows.causes.count; i++)
				causes +=
					flows.causes.item[i].of == c ? flows.causes.item[i].ns : 0;
			for (size_t i = 0; i < flows.waits.count; i++)
				waits += flows.waits.item[i].of == c ? flows.waits.item[i].ns : 0;
			assert_int_equal(causes, waits);
			total += waits;
		}
		assert_int_equal(total, all.charges.total);
		for (size_t i = 0; i < flows.steps.count; i++)
			by_step += flows.steps.item[i].ns;
		for (size_t i = 0; i < all.charges.rows.count; i++)
			by_step -= all.charges.rows.item[i].charge;
		assert_int_equal(by_step, 0);
		np_flows_release(&flows);
		release(&all);
	}
}

/*
 * Rank 0 shows nothing but two operators: the first, until 10 ms, then the second, which
 * started at `second`. Did it stand still for the first?
 */
static bool stood_still(np_ns second)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_member(run, 0);
	const struct np_exposed exposed[] = { { 0, 10 * MS, 0, 0, 0 },
					      { 10 * MS, 20 * MS, 1, 0, 0 } };
	const struct np_share shares[] = { { np_leaf_make(NP_LEAF_COMM, 0), 10 * MS },
					   { np_leaf_make(NP_LEAF_COMM, 1), 10 * MS } };
	const struct np_segment segments[] = { { 0, 0 }, { 10 * MS, 1 }, { 20 * MS, 2 } };
	struct np_activity_cell *cell = np_vec_add(&rank->activity.cells, NULL);
	struct np_step_time *time = np_vec_add(&rank->times, NULL);
	struct progress progress = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct measured all;
	bool blocked;

	assert_non_null(cell);
	assert_non_null(time);
	add_timed(run, rank, DP, 0, 10 * MS);
	add_timed(run, rank, TP, second, 20 * MS);
	*cell = (struct np_activity_cell){ .end = 20 * MS, .segments = 2, .exposed = 2 };
	for (size_t i = 0; i < NP_COUNT(exposed); i++)
		*(struct np_exposed *)np_vec_add(&rank->activity.exposed, NULL) = exposed[i];
	for (size_t i = 0; i < NP_COUNT(shares); i++)
		*(struct np_share *)np_vec_add(&rank->activity.shares, NULL) = shares[i];
	for (size_t i = 0; i < NP_COUNT(segments); i++)
		*(struct np_segment *)np_vec_add(&rank->activity.segments, NULL) = segments[i];
	all = measure(run);
	assert_ok(progress_init(&progress, all.align, all.clock, &all.waits, 1, &err), err);
	blocked = progress_blocked(&progress, 0, 0);
	progress_release(&progress);
	release(&all);
	return blocked;
}

static void who_stands_still_for_another_operator_is_not_blocked_by_the_first(void **state)
{
	(void)state;
	assert_true(stood_still(10 * MS));
	assert_false(stood_still(5 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_charge_is_passed_on_to_where_it_began),
		cmocka_unit_test(charges_of_any_size_are_passed_on),
		cmocka_unit_test(the_chain_tells_through_whom_it_went),
		cmocka_unit_test(rows_name_the_communicator_that_kept_the_rank_waiting),
		cmocka_unit_test(a_rank_that_computes_longer_is_late_by_computing),
		cmocka_unit_test(who_has_no_intervals_is_no_peer_to_compare_with),
		cmocka_unit_test(a_rank_whose_host_is_behind_is_late_by_its_host),
		cmocka_unit_test(causes_share_in_proportion),
		cmocka_unit_test(the_types_that_take_longer_are_named),
		cmocka_unit_test(a_type_that_peers_do_not_run_is_named),
		cmocka_unit_test(passing_on_neither_adds_nor_loses),
		cmocka_unit_test(who_stands_still_for_another_operator_is_not_blocked_by_the_first),
		cmocka_unit_test(
			a_flow_leads_from_the_root_cause_through_a_communicator_to_who_waited),
		cmocka_unit_test(causes_of_a_communicator_sum_to_its_waiting),
		cmocka_unit_test(waiting_before_all_were_together_explains_nothing_after_it),
		cmocka_unit_test(origins_do_not_depend_on_the_number_of_threads),
	};

	return cmocka_run_group_tests_name("root_cause", tests, NULL, NULL);
}
