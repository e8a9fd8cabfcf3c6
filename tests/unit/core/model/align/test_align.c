/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/align.h"

#include "np_cluster_fixture.h"
#include "np_fault.h"
#include "np_random.h"

#define with_align NP_CLEANUP(np_align_freep) struct np_align

static struct np_align *aligned(const struct np_run *run)
{
	struct np_align *align = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_align_build(run, 1, &align, &err), err);
	return align;
}

/* An operator that ends at `end` and took 10 µs. */
static struct np_comm_op *add_timed(struct np_run *run, struct np_rank *rank, uint32_t group,
				    const char *type, np_ns end)
{
	struct np_comm_op *op = add_op(rank, group, np_op_is_p2p(type));

	op->type = intern(run, type);
	op->start = end - 10000;
	op->end = end;
	op->bytes = 1024;
	op->step = NP_NO_STEP;
	return op;
}

/* Every operator is in exactly one instance, where np_align_slot() says. */
static void assert_whole(const struct np_align *align)
{
	uint32_t slots = 0;

	for (size_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];

		assert_int_equal(instance->first, slots);
		assert_true(instance->count > 0);
		for (uint32_t j = 0; j < instance->count; j++) {
			const struct np_member *member = &align->members[slots];

			if (j > 0)
				assert_true(member[-1].rank < member->rank);
			assert_int_equal(np_align_slot(align, member->rank, member->op), slots);
			assert_ptr_equal(np_align_instance(align, slots), instance);
			slots++;
		}
	}
	assert_int_equal(slots, align->op_count);
}

static const struct np_coverage *coverage(const struct np_align *align, uint32_t rank)
{
	for (size_t i = 0; i < align->coverage.count; i++) {
		if (align->coverage.item[i].rank == rank)
			return &align->coverage.item[i];
	}
	fail_msg("no coverage of rank %u", rank);
	return NULL;
}

/* --- equal orders ----------------------------------------------------------------------------- */

static void equal_orders_are_matched_by_position(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "dp", LIST(0, 1, 2));

		add_timed(run, rank, group, "hcom_allReduce_", 100000);
		add_timed(run, rank, group, "hcom_allGather_", 200000);
	}
	{
		with_align *align = aligned(run);

		assert_whole(align);
		assert_int_equal(align->instances.count, 2);
		for (size_t i = 0; i < 2; i++) {
			const struct np_instance *instance = &align->instances.item[i];

			assert_int_equal(instance->count, 3);
			assert_int_equal(instance->expected, 3);
			assert_true(np_instance_complete(instance));
			assert_int_equal(instance->rule, NP_RULE_ALL);
			assert_int_equal(align->members[instance->first + 2].op, i);
		}
		assert_int_equal(align->matched, 6);
	}
}

/* Two ranks with three steps of two operators, 10 ms apart; those of the second have other ids. */
static struct np_align *two_windows(struct np_run *run, int second, np_ns later)
{
	static const char *const names[] = { "11", "12", "13", "14" };

	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "dp", LIST(0, 1));

		for (int i = 0; i < 3; i++) {
			uint32_t step = add_step(run, rank, names[i + (id ? second : 0)]);
			np_ns end = i * 10000000 + (id ? later : 0);

			add_timed(run, rank, group, "hcom_allReduce_", end + 100000)->step = step;
			add_timed(run, rank, group, "hcom_allGather_", end + 3100000)->step = step;
		}
	}
	return aligned(run);
}

static void equal_orders_of_other_steps_are_matched_by_step(void **state)
{
	with_run *run = np_run_new();
	with_align *align = two_windows(run, 1, 10000000);

	(void)state;
	assert_whole(align);
	assert_int_equal(align->instances.count, 8);
	assert_int_equal(align->matched, 8);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(align->instances.item[i].count, i < 2 || i > 5 ? 1 : 2);
}

/* Ranks may count steps from another one on: their clocks agree. */
static void equal_orders_whose_clocks_agree_are_matched_by_position(void **state)
{
	with_run *run = np_run_new();
	with_align *align = two_windows(run, 1, 20000);

	(void)state;
	assert_whole(align);
	assert_int_equal(align->instances.count, 6);
	assert_int_equal(align->matched, 12);
}

static void the_same_name_with_other_members_is_another_communicator(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 4; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = id < 2 ? add_group(run, rank, 7, NULL, LIST(0, 1))
					: add_group(run, rank, 7, NULL, LIST(2, 3));

		add_timed(run, rank, group, "hcom_allReduce_", 100000);
	}
	{
		with_align *align = aligned(run);

		assert_int_equal(align->communicators.count, 2);
		assert_int_equal(align->instances.count, 2);
		assert_int_equal(align->instances.item[0].count, 2);
	}
}

static void a_rank_that_does_not_know_the_members_joins_by_name(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);

	(void)state;
	add_timed(run, rank, add_group(run, rank, 7, NULL, NULL, 0), "hcom_allReduce_", 100000);
	rank = add_rank(run, 1, true);
	add_timed(run, rank, add_group(run, rank, 7, NULL, LIST(0, 1, 2)), "hcom_allReduce_",
		  90000);
	{
		with_align *align = aligned(run);

		assert_int_equal(align->instances.count, 1);
		assert_int_equal(align->instances.item[0].count, 2);
		assert_int_equal(align->instances.item[0].expected, 3);
		assert_false(np_instance_complete(&align->instances.item[0]));
		assert_int_equal(align->members[0].rank, 0);
	}
}

static void without_members_and_links_nobody_knows_who_is_missing(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);

		add_timed(run, rank, add_group(run, rank, 7, NULL, NULL, 0), "hcom_allReduce_",
			  100000);
	}
	{
		with_align *align = aligned(run);

		assert_int_equal(align->instances.item[0].count, 2);
		assert_false(np_instance_complete(&align->instances.item[0]));
	}
}

static void an_operator_without_partners_is_an_instance_of_one(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);

	(void)state;
	add_timed(run, rank, add_group(run, rank, 7, NULL, LIST(0, 1)), "hcom_allReduce_", 100000);
	(void)add_rank(run, 1, false);
	{
		with_align *align = aligned(run);

		assert_whole(align);
		assert_int_equal(align->instances.count, 1);
		assert_int_equal(align->instances.item[0].count, 1);
		assert_int_equal(align->instances.item[0].expected, 2);
		assert_int_equal(align->matched, 0);
	}
}

static void a_run_without_operators_has_no_instances(void **state)
{
	with_run *run = np_run_new();
	with_align *align = NULL;

	(void)state;
	(void)add_rank(run, 0, true);
	align = aligned(run);
	assert_int_equal(align->instances.count, 0);
	assert_int_equal(align->op_count, 0);
}

/* --- messages --------------------------------------------------------------------------------- */

static void add_message(struct np_run *run, struct np_rank *rank, uint32_t group, const char *type,
			int peer, np_ns end)
{
	add_timed(run, rank, group, type, end)->peer = (uint16_t)(peer + 1);
}

static void a_send_is_matched_with_the_receive_of_its_peer(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *ranks[3];
	uint32_t group[3];

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		ranks[id] = add_rank(run, id, true);
		group[id] = add_group(run, ranks[id], 7, "pp", LIST(0, 1, 2));
	}
	/* 0 → 1, 1 → 2, 2 → 1, 1 → 0: by their order alone they would be mixed up. */
	add_message(run, ranks[0], group[0], "hcom_send_", 1, 100000);
	add_message(run, ranks[0], group[0], "hcom_receive_", 1, 400000);
	add_message(run, ranks[1], group[1], "hcom_receive_", 0, 100000);
	add_message(run, ranks[1], group[1], "hcom_send_", 2, 200000);
	add_message(run, ranks[1], group[1], "hcom_receive_", 2, 300000);
	add_message(run, ranks[1], group[1], "hcom_send_", 0, 400000);
	add_message(run, ranks[2], group[2], "hcom_receive_", 1, 200000);
	add_message(run, ranks[2], group[2], "hcom_send_", 1, 300000);
	{
		with_align *align = aligned(run);

		assert_whole(align);
		assert_int_equal(align->instances.count, 4);
		for (size_t i = 0; i < 4; i++) {
			const struct np_instance *instance = &align->instances.item[i];

			assert_int_equal(instance->rule, NP_RULE_PAIR);
			assert_int_equal(instance->count, 2);
			assert_int_equal(instance->expected, 2);
			assert_string_equal(np_run_text(run, instance->type), "hcom_send_");
			assert_int_equal(np_align_op(align, instance->first)->end,
					 np_align_op(align, instance->first + 1)->end);
		}
	}
}

/* Sends 2 ms after each other at first and then every 10 ms; whoever receives is slow. */
static void sends_into_buffers_are_matched_by_their_order_in_the_step(void **state)
{
	static const char *const steps[] = { "3", "4", "5" };
	static const np_ns sent[] = { 6400000, 8800000, 20900000, 31500000, 42000000, 52500000 };
	static const np_ns got[] = { 6600000, 17200000, 27700000, 38300000, 48800000, 59300000 };
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "pp", LIST(0, 1));

		for (uint32_t i = 0; i < NP_COUNT(steps); i++) {
			uint32_t step = add_step(run, rank, steps[i]);

			for (size_t j = 0; j < NP_COUNT(sent); j++) {
				np_ns end = (id == 0 ? sent[j] : got[j]) + 85000000 * (np_ns)i;

				add_timed(run, rank, group,
					  id == 0 ? "hcom_send_" : "hcom_receive_", end)
					->step = step;
			}
		}
	}
	{
		with_align *align = aligned(run);

		assert_whole(align);
		assert_int_equal(align->instances.count, 18);
		for (size_t i = 0; i < 18; i++) {
			uint32_t first = align->instances.item[i].first;

			assert_int_equal(align->instances.item[i].count, 2);
			assert_int_equal(np_align_op(align, first)->end,
					 sent[i % 6] + 85000000 * (np_ns)(i / 6));
			assert_int_equal(np_align_op(align, first + 1)->end,
					 got[i % 6] + 85000000 * (np_ns)(i / 6));
		}
	}
}

static void of_two_members_the_other_one_is_the_peer(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id * 2, true);
		uint32_t group = add_group(run, rank, 7, "pp", LIST(0, 2));

		add_timed(run, rank, group, "hcom_batchSendRecv_", 100000)->bytes = id + 1;
	}
	{
		with_align *align = aligned(run);

		assert_int_equal(align->instances.count, 1);
		assert_int_equal(align->instances.item[0].count, 2);
		/* What each sends in a batch is its own affair. */
		assert_int_equal(align->findings.count, 0);
	}
}

static void batches_with_several_ranks_are_matched_by_position(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "cp", LIST(0, 1, 2));

		add_timed(run, rank, group, "hcom_batchSendRecv_", 100000)->peer = NP_PEERS;
	}
	{
		with_align *align = aligned(run);

		assert_int_equal(align->instances.count, 1);
		assert_int_equal(align->instances.item[0].count, 3);
		assert_int_equal(align->instances.item[0].rule, NP_RULE_PAIRWISE);
	}
}

static void a_message_to_nobody_in_particular_stays_alone(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "pp", LIST(0, 1, 2));

		add_timed(run, rank, group, "hcom_send_", 100000);
	}
	{
		with_align *align = aligned(run);

		assert_whole(align);
		assert_int_equal(align->instances.count, 3);
		assert_int_equal(align->matched, 0);
	}
}

/* Some write what a receive gets as from the other rank to this one. */
static void a_sub_task_may_be_seen_from_the_other_end(void **state)
{
	struct np_comm_op known = { 0 };
	struct np_comm_op unknown = { 0 };

	(void)state;
	np_comm_op_meet(&known, 2, 1, 2);
	np_comm_op_meet(&known, 2, 2, 1);
	assert_int_equal(known.peer, 2);
	np_comm_op_meet(&unknown, -1, 2, 1);
	np_comm_op_meet(&unknown, -1, 1, 2);
	assert_int_equal(unknown.peer, 2);
}

static void sub_tasks_name_the_peer(void **state)
{
	struct np_comm_op op = { 0 };

	(void)state;
	np_comm_op_meet(&op, 2, 2, 2);
	np_comm_op_meet(&op, 2, 2, -1);
	np_comm_op_meet(&op, 2, INT32_MIN, 3);
	assert_int_equal(op.peer, 0);
	np_comm_op_meet(&op, 2, 2, 0);
	np_comm_op_meet(&op, 2, 2, 0);
	assert_int_equal(op.peer, 1);
	np_comm_op_meet(&op, 2, 2, 1);
	np_comm_op_meet(&op, 2, 2, 0);
	assert_int_equal(op.peer, NP_PEERS);
}

/* --- rules ------------------------------------------------------------------------------------ */

static void types_have_rules(void **state)
{
	static const struct {
		const char *type;
		enum np_rule rule;
	} expected[] = {
		{ "hcom_allReduce_", NP_RULE_ALL },
		{ "hcom_reduceScatter_", NP_RULE_ALL },
		{ "hcom_alltoall_", NP_RULE_ALL },
		{ "hcom_alltoallv_", NP_RULE_PAIRWISE },
		{ "hcom_alltoallvc_", NP_RULE_PAIRWISE },
		{ "hcom_broadcast__123_4_1", NP_RULE_FROM_ROOT },
		{ "hcom_scatter_", NP_RULE_FROM_ROOT },
		{ "hcom_reduce_", NP_RULE_TO_ROOT },
		{ "hcom_gather_", NP_RULE_TO_ROOT },
		{ "hcom_send_", NP_RULE_PAIR },
		{ "hcom_receive_", NP_RULE_PAIR },
		{ "hcom_batchSendRecv_", NP_RULE_PAIR },
		{ "hcom_sendRecv_", NP_RULE_PAIR },
		{ "", NP_RULE_ALL },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(expected); i++)
		assert_int_equal(np_rule_of(expected[i].type), expected[i].rule);
}

static void whom_all_others_deal_with_is_the_root(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "tp", LIST(0, 1, 2));

		add_timed(run, rank, group, "hcom_broadcast_", 100000)->peer =
			id == 1 ? NP_PEERS : 2;
		/* A ring: nobody stands out. */
		add_timed(run, rank, group, "hcom_broadcast_", 200000)->peer = NP_PEERS;
	}
	{
		with_align *align = aligned(run);

		assert_int_equal(align->instances.item[0].rule, NP_RULE_FROM_ROOT);
		assert_int_equal(align->members[align->instances.item[0].root].rank, 1);
		assert_int_equal(align->instances.item[1].root, NP_NO_ROOT);
	}
}

/* --- disagreement ----------------------------------------------------------------------------- */

static void members_that_disagree_about_the_size_are_a_finding(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "dp", LIST(0, 1));

		for (int i = 0; i < 10; i++)
			add_timed(run, rank, group, "hcom_allReduce_", 100000 + i * 1000000)
				->bytes = i == 4 && id == 1 ? 2048 : 1024;
	}
	{
		with_align *align = aligned(run);

		assert_int_equal(align->instances.count, 10);
		assert_int_equal(align->findings.count, 1);
		assert_int_equal(align->findings.item[0].instance, 4);
		assert_int_equal(align->findings.item[0].count, 1);
		assert_int_equal(align->instances.item[4].flags & NP_INSTANCE_MISMATCH,
				 NP_INSTANCE_MISMATCH);
		assert_int_equal(align->instances.item[4].count, 2);
		assert_int_equal(align->matched, 20);
	}
}

static void sizes_of_alltoallv_may_differ(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "ep", LIST(0, 1));

		add_timed(run, rank, group, "hcom_alltoallv_", 100000)->bytes = id;
	}
	{
		with_align *align = aligned(run);

		assert_int_equal(align->instances.count, 1);
		assert_int_equal(align->findings.count, 0);
	}
}

static void sizes_that_one_rank_does_not_know_do_not_count(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "dp", LIST(0, 1));

		add_timed(run, rank, group, "hcom_allReduce_", 100000)->bytes =
			id == 0 ? NP_UNKNOWN : 1024;
	}
	{
		with_align *align = aligned(run);

		assert_int_equal(align->instances.count, 1);
		assert_int_equal(align->findings.count, 0);
		assert_false(align->communicators.item[0].sizes);
	}
}

/* --- orders that differ ----------------------------------------------------------------------- */

#define STEP_OPS 12

/* The k-th operator of the job: a step's pattern, with a run of equal ones. */
static const char *job_type(size_t k)
{
	size_t place = k % STEP_OPS;

	return place < 8    ? "hcom_allReduce_"
	       : place < 11 ? "hcom_allGather_"
			    : "hcom_reduceScatter_";
}

/* When it ends: operators are 0.3 to 1.3 ms apart. */
static void job_times(uint64_t *random, np_ns *ends, size_t count)
{
	np_ns time = INT64_C(1736410576000000000);

	for (size_t k = 0; k < count; k++) {
		time += 300000 + (np_ns)np_random_below(random, 1000000);
		ends[k] = time;
	}
}

/* Or they follow each other like clockwork, give or take 40 µs. */
static void regular_times(uint64_t *random, np_ns *ends, size_t count)
{
	for (size_t k = 0; k < count; k++)
		ends[k] = INT64_C(1736410576000000000) + (np_ns)k * 200000 +
			  (np_ns)np_random_below(random, 40000);
}

struct plan {
	size_t from; /* capture */
	size_t to;
	size_t lost_every; /* one in so many; 0 for none */
	np_ns offset;
	bool steps;
	bool regular; /* one operator is like another */
};

/* A rank's profile of the job; op->transfer keeps which operator it is. */
static void record(struct np_run *run, struct np_rank *rank, const np_ns *ends,
		   const struct plan *plan, uint64_t *random)
{
	uint32_t group = add_group(run, rank, 7, "dp", LIST(0, 1, 2, 3));
	char id[24];

	for (size_t k = plan->from; k < plan->to; k++) {
		struct np_comm_op *op;

		if (plan->lost_every && np_random_below(random, plan->lost_every) == 0)
			continue;
		op = add_timed(run, rank, group, plan->regular ? "hcom_allReduce_" : job_type(k),
			       ends[k] + plan->offset + (np_ns)np_random_below(random, 20000));
		op->transfer = (np_length)k;
		if (!plan->steps)
			continue;
		(void)snprintf(id, sizeof(id), "%zu", k / STEP_OPS);
		if (rank->steps.count == 0 ||
		    rank->steps.item[rank->steps.count - 1].id != intern(run, id))
			add_step(run, rank, id);
		op->step = (uint32_t)(rank->steps.count - 1);
	}
}

/* What was recorded of each operator of the job is in one instance, and nothing else is in it. */
static void assert_true_instances(const struct np_align *align, size_t jobs)
{
	uint32_t *recorded = calloc(jobs, sizeof(*recorded));

	assert_non_null(recorded);
	for (uint32_t i = 0; i < align->op_count; i++)
		recorded[np_align_op(align, i)->transfer]++;
	for (size_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];
		np_ns which = np_align_op(align, instance->first)->transfer;

		for (uint32_t j = 1; j < instance->count; j++)
			assert_int_equal(np_align_op(align, instance->first + j)->transfer, which);
		assert_int_equal(instance->count, recorded[which]);
	}
	free(recorded);
}

static void planned(const struct plan *plans, size_t ranks, size_t jobs, uint64_t seed)
{
	with_run *run = np_run_new();
	np_ns *ends = malloc(jobs * sizeof(*ends));

	assert_non_null(ends);
	if (plans->regular)
		regular_times(&seed, ends, jobs);
	else
		job_times(&seed, ends, jobs);
	for (size_t i = 0; i < ranks; i++)
		record(run, add_rank(run, (int32_t)i, true), ends, &plans[i], &seed);
	free(ends);
	{
		with_align *align = aligned(run);

		assert_whole(align);
		assert_true_instances(align, jobs);
	}
}

static void a_later_start_is_a_shift(void **state)
{
	static const struct plan plans[] = { { 0, 120, 0, 0, true, false },
					     { 31, 120, 0, INT64_C(-120000000000), true, false } };

	(void)state;
	planned(plans, 2, 120, 1);
}

static void captures_may_be_cut_off_at_both_ends(void **state)
{
	static const struct plan plans[] = { { 0, 600, 0, 0, true, false },
					     { 100, 600, 0, INT64_C(9000000000), true, false },
					     { 0, 511, 0, INT64_C(-9000000000), true, false },
					     { 60, 560, 0, INT64_C(-120000000000), true, false } };

	(void)state;
	planned(plans, 4, 600, 4);
}

static void a_shift_by_a_whole_step_is_found_by_the_times(void **state)
{
	static const struct plan plans[] = { { 0, 120, 0, 0, false, false },
					     { 24, 120, 0, INT64_C(7000000000), false, false },
					     { 0, 96, 0, INT64_C(-9000000000), false, false } };

	(void)state;
	planned(plans, 3, 120, 2);
}

static void lost_operators_cost_only_themselves(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct plan plans[4] = { { 0, 240, 0, 0, true, false },
					 { 0, 240, 20, 250000, true, false },
					 { 0, 240, 0, INT64_C(120000000000), true, false },
					 { 0, 240, 50, INT64_C(-120000000000), true, false } };

		planned(plans, 4, 240, seed);
	}
}

static void both_of_two_ranks_may_lose_operators(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct plan plans[2] = { { 0, 300, 30, 0, seed % 2 == 0, false },
					 { seed % 7, 300 - seed % 5, 30, (np_ns)seed * 1000000000,
					   seed % 2 == 0, false } };

		planned(plans, 2, 300, seed);
	}
}

static void of_equal_operators_in_a_row_every_rank_may_lose_some(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct plan plans[8];

		for (size_t i = 0; i < NP_COUNT(plans); i++)
			plans[i] = (struct plan){ i % 3, 1000 - i % 2 * 40,
						  100,   (np_ns)i * 1000000000,
						  true,  true };
		planned(plans, NP_COUNT(plans), 1000, seed);
	}
}

/* All but a twelfth would agree about the steps if the second were the first. */
static void a_first_operator_that_is_lost_is_a_shift_by_one(void **state)
{
	static const struct plan plans[] = { { 0, 240, 0, 0, true, true },
					     { 1, 240, 0, 0, true, true } };

	(void)state;
	planned(plans, 2, 240, 3);
}

static void equal_orders_that_lost_different_operators_are_told_by_their_times(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "tp", LIST(0, 1));

		for (int k = 0; k < 40; k++) {
			if (k == (id == 0 ? 10 : 30))
				continue;
			add_timed(run, rank, group, "hcom_allReduce_",
				  1000000 + k * 1000000 + k % 7 * 90000)
				->transfer = (np_length)k;
		}
	}
	{
		with_align *align = aligned(run);

		assert_true_instances(align, 40);
		assert_int_equal(align->instances.count, 40);
		assert_int_equal(coverage(align, 0)->missing, 1);
		assert_int_equal(coverage(align, 1)->missing, 1);
		assert_int_equal(coverage(align, 0)->matched, 38);
	}
}

static void coverage_tells_missing_extra_and_edge(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "dp", LIST(0, 1, 2));

		for (int k = 0; k < 30; k++) {
			/* Rank 1 lost one and has one of its own; rank 2 stopped early. */
			if ((id == 1 && k == 10) || (id == 2 && k >= 27))
				continue;
			add_timed(run, rank, group, "hcom_allReduce_",
				  1000000 + k * 1000000 + k % 5 * 50000);
			if (id == 1 && k == 20)
				add_timed(run, rank, group, "hcom_allGather_", 21500000);
		}
	}
	{
		with_align *align = aligned(run);

		assert_whole(align);
		assert_int_equal(align->instances.count, 31);
		assert_int_equal(coverage(align, 0)->matched, 30);
		assert_int_equal(coverage(align, 0)->missing, 0);
		assert_int_equal(coverage(align, 1)->total, 30);
		assert_int_equal(coverage(align, 1)->missing, 1);
		assert_int_equal(coverage(align, 1)->extra, 1);
		assert_int_equal(coverage(align, 2)->edge, 3);
		assert_int_equal(coverage(align, 2)->missing, 0);
		assert_int_equal(align->matched, 30 + 29 + 27);
	}
}

/* --- the rest --------------------------------------------------------------------------------- */

static void the_number_of_threads_does_not_matter(void **state)
{
	with_run *run = np_run_new();
	uint64_t random = 5;
	np_ns ends[240];

	(void)state;
	job_times(&random, ends, NP_COUNT(ends));
	for (int32_t id = 0; id < 4; id++) {
		struct plan plan = { (size_t)id, 240, 40, id * INT64_C(1000000000), true, false };

		record(run, add_rank(run, id, true), ends, &plan, &random);
	}
	{
		with_align *one = aligned(run);
		with_align *four = NULL;
		struct np_err err = NP_ERR_INIT;

		assert_ok(np_align_build(run, 4, &four, &err), err);
		assert_int_equal(one->instances.count, four->instances.count);
		assert_memory_equal(one->members, four->members,
				    one->op_count * sizeof(*one->members));
		assert_memory_equal(one->coverage.item, four->coverage.item,
				    one->coverage.count * sizeof(*one->coverage.item));
	}
}

/*
 * Rank 1 of three sends to 2 and then receives from 0, nobody says from whom; all
 * three take part in a collective before and after, and in another communicator.
 */
static void add_silent_messages(struct np_run *run)
{
	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 100, "first", (int32_t[]){ 0, 1, 2 }, 3);
		uint32_t other = add_group(run, rank, 200, "other", (int32_t[]){ 0, 1, 2 }, 3);

		add_timed(run, rank, group, "hcom_allReduce_", 100000);
		add_timed(run, rank, group, id == 2 ? "hcom_receive_" : "hcom_send_",
			  id == 0 ? 300000 : 200000);
		if (id == 1)
			add_timed(run, rank, group, "hcom_receive_", 300000);
		add_timed(run, rank, group, "hcom_allReduce_", 400000);
		/* Their sizes differ, which is a finding. */
		add_timed(run, rank, other, "hcom_allGather_", 500000)->bytes = 100 + id;
	}
}

/* The operators of the messages above: by rank, the operator and its peer. */
static struct np_peers *silent_peers(const struct np_run *run, struct np_err *err)
{
	static const struct {
		size_t rank;
		size_t op;
		uint16_t peer;
	} found[] = { { 0, 1, 2 }, { 1, 1, 3 }, { 1, 2, 1 }, { 2, 1, 2 } };
	NP_CLEANUP(np_peers_freep) struct np_peers *peers = np_peers_new(run);

	if (!peers) {
		(void)np_fail_nomem(err, "peers");
		return NULL;
	}
	for (size_t i = 0; i < NP_COUNT(found); i++) {
		if (np_peers_set(peers, found[i].rank, found[i].op, found[i].peer, err) < 0)
			return NULL;
	}
	return NP_STEAL(peers);
}

static void peers_that_were_found_match_as_if_they_had_been_recorded(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add_silent_messages(run);
	{
		with_align *align = aligned(run);
		struct np_err err = NP_ERR_INIT;
		struct np_peers *peers = silent_peers(run, &err);

		assert_non_null(peers);
		assert_int_equal(align->instances.count, 2 + 4 + 1);
		assert_int_equal(np_align_peer(align, 1, 1), 0);
		assert_ok(np_align_set_peers(align, peers, 2, &err), err);
		assert_int_equal(np_align_peer(align, 1, 1), 3);
		assert_whole(align);
		for (size_t i = 0; i < run->sources.count; i++) {
			for (size_t j = 0; j < run->ranks[i]->ops.count; j++)
				run->ranks[i]->ops.item[j].peer = np_align_peer(align, i, j);
		}
		{
			with_align *recorded = aligned(run);

			assert_int_equal(recorded->instances.count, 2 + 2 + 1);
			assert_int_equal(align->instances.count, recorded->instances.count);
			assert_int_equal(align->matched, recorded->matched);
			for (size_t i = 0; i < recorded->instances.count; i++) {
				const struct np_instance *own = &align->instances.item[i];
				const struct np_instance *its = &recorded->instances.item[i];

				assert_int_equal(own->first, its->first);
				assert_int_equal(own->count, its->count);
				assert_int_equal(own->rule, its->rule);
				assert_int_equal(own->communicator, its->communicator);
			}
			assert_memory_equal(align->members, recorded->members,
					    align->op_count * sizeof(*align->members));
			assert_memory_equal(align->coverage.item, recorded->coverage.item,
					    align->coverage.count * sizeof(*align->coverage.item));
			assert_int_equal(align->findings.count, 1);
			assert_int_equal(align->findings.item[0].instance,
					 recorded->findings.item[0].instance);
		}
	}
}

static void peers_of_nobody_leave_the_instances_as_they_are(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add_silent_messages(run);
	{
		with_align *align = aligned(run);
		const struct np_instance *before = align->instances.item;
		struct np_err err = NP_ERR_INIT;
		struct np_peers *peers = np_peers_new(run);

		assert_non_null(peers);
		assert_ok(np_align_set_peers(align, peers, 1, &err), err);
		assert_ptr_equal(align->instances.item, before);
		assert_int_equal(np_align_peer(align, 2, 1), 0);
	}
}

static struct np_run *faulty_run;

static int set_peers_faulty(struct np_err *err)
{
	struct np_align *align = NULL;
	struct np_peers *peers = NULL;
	int rc = np_align_build(faulty_run, 1, &align, err);

	if (rc == NP_OK && !(peers = silent_peers(faulty_run, err)))
		rc = NP_E_NOMEM;
	if (rc == NP_OK)
		rc = np_align_set_peers(align, peers, 1, err);
	np_align_free(align);
	return rc;
}

static void running_out_of_memory_while_peers_are_set_is_an_ordinary_failure(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add_silent_messages(run);
	faulty_run = run;
	assert_survives_faults(set_peers_faulty);
}

static int align_faulty(struct np_err *err)
{
	struct np_align *align = NULL;
	int rc = np_align_build(faulty_run, 1, &align, err);

	np_align_free(align);
	return rc;
}

static void running_out_of_memory_is_an_ordinary_failure(void **state)
{
	with_run *run = np_run_new();
	uint64_t random = 3;
	np_ns ends[48];

	(void)state;
	job_times(&random, ends, NP_COUNT(ends));
	for (int32_t id = 0; id < 3; id++) {
		struct plan plan = { (size_t)id, 48, 10, 0, false, false };
		struct np_rank *rank = add_rank(run, id, true);

		record(run, rank, ends, &plan, &random);
		add_message(run, rank, 0, "hcom_send_", (id + 1) % 3, ends[47] + 1000000);
	}
	faulty_run = run;
	assert_survives_faults(align_faulty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_orders_are_matched_by_position),
		cmocka_unit_test(equal_orders_of_other_steps_are_matched_by_step),
		cmocka_unit_test(equal_orders_whose_clocks_agree_are_matched_by_position),
		cmocka_unit_test(the_same_name_with_other_members_is_another_communicator),
		cmocka_unit_test(a_rank_that_does_not_know_the_members_joins_by_name),
		cmocka_unit_test(without_members_and_links_nobody_knows_who_is_missing),
		cmocka_unit_test(an_operator_without_partners_is_an_instance_of_one),
		cmocka_unit_test(a_run_without_operators_has_no_instances),
		cmocka_unit_test(a_send_is_matched_with_the_receive_of_its_peer),
		cmocka_unit_test(sends_into_buffers_are_matched_by_their_order_in_the_step),
		cmocka_unit_test(of_two_members_the_other_one_is_the_peer),
		cmocka_unit_test(batches_with_several_ranks_are_matched_by_position),
		cmocka_unit_test(a_message_to_nobody_in_particular_stays_alone),
		cmocka_unit_test(sub_tasks_name_the_peer),
		cmocka_unit_test(a_sub_task_may_be_seen_from_the_other_end),
		cmocka_unit_test(peers_that_were_found_match_as_if_they_had_been_recorded),
		cmocka_unit_test(peers_of_nobody_leave_the_instances_as_they_are),
		cmocka_unit_test(running_out_of_memory_while_peers_are_set_is_an_ordinary_failure),
		cmocka_unit_test(types_have_rules),
		cmocka_unit_test(whom_all_others_deal_with_is_the_root),
		cmocka_unit_test(members_that_disagree_about_the_size_are_a_finding),
		cmocka_unit_test(sizes_of_alltoallv_may_differ),
		cmocka_unit_test(sizes_that_one_rank_does_not_know_do_not_count),
		cmocka_unit_test(a_later_start_is_a_shift),
		cmocka_unit_test(captures_may_be_cut_off_at_both_ends),
		cmocka_unit_test(a_shift_by_a_whole_step_is_found_by_the_times),
		cmocka_unit_test(lost_operators_cost_only_themselves),
		cmocka_unit_test(both_of_two_ranks_may_lose_operators),
		cmocka_unit_test(of_equal_operators_in_a_row_every_rank_may_lose_some),
		cmocka_unit_test(a_first_operator_that_is_lost_is_a_shift_by_one),
		cmocka_unit_test(
			equal_orders_that_lost_different_operators_are_told_by_their_times),
		cmocka_unit_test(coverage_tells_missing_extra_and_edge),
		cmocka_unit_test(the_number_of_threads_does_not_matter),
		cmocka_unit_test(running_out_of_memory_is_an_ordinary_failure),
	};

	return cmocka_run_group_tests_name("align", tests, NULL, NULL);
}
