/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/links.h"

#include "np_cluster_fixture.h"
#include "np_fault.h"

#include "npuprof/align.h"
#include "npuprof/waits.h"

#define MB 1000000

/* A job of RANKS ranks, all linked with each other; plane p of rank r goes to r + p. */
#define RANKS 6

struct fault {
	int32_t src; /* -1: any */
	int32_t dst;
	int32_t plane;
	int percent; /* how much longer transfers take */
};

static const struct fault none = { -2, -2, -2, 0 };

/* 20 bytes take a nanosecond; no two links are quite alike. */
static np_ns time_of(const struct fault *fault, int32_t src, int32_t dst, int32_t plane,
		     int64_t bytes)
{
	np_ns time = 2000 + bytes / 20 + (src * 7 + dst * 3) % 5 * bytes / 20 / 100;
	bool hit = (fault->src == -1 || fault->src == src) &&
		   (fault->dst == -1 || fault->dst == dst) &&
		   (fault->plane == -1 || fault->plane == plane);

	return hit ? time + time * fault->percent / 100 : time;
}

static struct np_transfer *add_transfer(struct np_run *run, struct np_rank *rank, int32_t dst,
					int32_t plane, int64_t bytes, np_ns time)
{
	struct np_transfer *row = np_vec_add(&rank->transfers, NULL);

	assert_non_null(row);
	*row = (struct np_transfer){ .src = rank->id,
				     .dst = dst,
				     .transport = intern(run, "HCCS"),
				     .plane = (uint32_t)plane,
				     .size_class = np_transfer_class(bytes),
				     .count = 10,
				     .bytes = 10 * bytes,
				     .time = 10 * time,
				     .middle_bytes = bytes,
				     .middle_time = time };
	return row;
}

/* A communicator counts once it has an operator. */
static void use(struct np_rank *rank, uint32_t group)
{
	struct np_comm_op *op = add_op(rank, group, false);

	op->step = NP_NO_STEP;
	op->bytes = NP_UNKNOWN;
}

static void add_mesh_rank(struct np_run *run, int32_t id, const struct fault *fault, int64_t bytes)
{
	struct np_rank *rank = add_rank(run, id, true);
	int32_t members[RANKS];
	uint32_t group;

	for (int32_t i = 0; i < RANKS; i++)
		members[i] = i;
	group = add_group(run, rank, 77, "dp", members, RANKS);
	use(rank, group);
	for (int32_t plane = 1; plane < RANKS; plane++) {
		int32_t dst = (id + plane) % RANKS;

		add_transfer(run, rank, dst, plane, bytes, time_of(fault, id, dst, plane, bytes));
	}
}

static struct np_run *mesh(const struct fault *fault, int64_t bytes)
{
	struct np_run *run = np_run_new();

	assert_non_null(run);
	for (int32_t i = 0; i < RANKS; i++)
		add_mesh_rank(run, i, fault, bytes);
	return run;
}

static int measure(const struct np_run *run, struct np_links *ret, struct np_err *err)
{
	NP_CLEANUP(np_cluster_freep) struct np_cluster *cluster = NULL;
	NP_CLEANUP(np_align_freep) struct np_align *align = NULL;
	struct np_waits waits = { 0 };
	int rc = np_cluster_build(run, &cluster, err);

	if (rc == NP_OK)
		rc = np_align_build(run, 1, &align, err);
	return rc < 0 ? rc : np_links_measure(cluster, align, &waits, ret, err);
}

#define with_links NP_CLEANUP(np_links_release) struct np_links

static struct np_links links_of(const struct np_run *run)
{
	struct np_links links = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(measure(run, &links, &err), err);
	return links;
}

static const struct np_link_speed *link_of(const struct np_links *links, int64_t src, int64_t dst)
{
	for (size_t i = 0; i < links->list.count; i++) {
		if (links->list.item[i].src == src && links->list.item[i].dst == dst)
			return &links->list.item[i];
	}
	fail_msg("no link");
	return NULL;
}

static void sound_links_are_all_ok(void **state)
{
	with_run *run = mesh(&none, MB);
	with_links links = links_of(run);

	(void)state;
	assert_int_equal(links.list.count, RANKS * (RANKS - 1));
	assert_int_equal(links.slow, 0);
	assert_null(np_links_worst(&links));
	for (size_t i = 0; i < links.list.count; i++)
		assert_int_equal(links.list.item[i].verdict, NP_LINK_OK);
}

static void one_slow_cable_is_named_with_both_ends(void **state)
{
	const struct fault fault = { 1, 4, -1, 60 };
	with_run *run = mesh(&fault, MB);
	with_links links = links_of(run);
	const struct np_link_speed *link = link_of(&links, 1, 4);

	(void)state;
	assert_int_equal(links.slow, 1);
	assert_ptr_equal(np_links_worst(&links), link);
	assert_int_equal(link->fault, NP_FAULT_LINK);
	assert_int_equal(link->bytes, 10 * MB);
	/* 10 × (2 + 50 µs and a little) and 60 % more: about 12 GB/s, where others have 19. */
	assert_true(np_link_gb_per_s(link) > 11.5 && np_link_gb_per_s(link) < 12.5);
	assert_true(np_link_peers_gb_per_s(link) > 18.5 && np_link_peers_gb_per_s(link) < 20);
}

static void a_bad_sender_a_bad_receiver_and_a_bad_plane_are_told_apart(void **state)
{
	static const struct {
		struct fault fault;
		enum np_link_fault kind;
		size_t slow;
	} cases[] = {
		{ { 2, -1, -1, 100 }, NP_FAULT_SENDER, RANKS - 1 },
		{ { -1, 2, -1, 100 }, NP_FAULT_RECEIVER, RANKS - 1 },
		{ { -1, -1, 3, 100 }, NP_FAULT_PLANE, RANKS },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		with_run *run = mesh(&cases[i].fault, MB);
		with_links links = links_of(run);

		assert_int_equal(links.slow, cases[i].slow);
		for (size_t j = 0; j < links.list.count; j++) {
			if (links.list.item[j].verdict == NP_LINK_SLOW)
				assert_int_equal(links.list.item[j].fault, cases[i].kind);
		}
	}
}

static void a_tenth_more_is_not_slow_unless_operators_were_retried(void **state)
{
	const struct fault fault = { 1, 4, -1, 15 };
	with_run *run = mesh(&fault, MB);
	with_links links = links_of(run);

	(void)state;
	assert_int_equal(links.slow, 0);
	/* Rank 1 to 4 is the third of its planes. */
	run->ranks[1]->transfers.item[2].troubled = 1;
	with_links again = links_of(run);
	assert_int_equal(link_of(&again, 1, 4)->verdict, NP_LINK_SLOW);
	assert_int_equal(link_of(&again, 1, 4)->troubled, 1);
}

static void transfers_under_other_contention_are_not_compared(void **state)
{
	with_run *run = mesh(&none, MB);

	(void)state;
	/* Rank 0 moved everything while seven others ran, at half the speed. */
	for (size_t i = 0; i < run->ranks[0]->transfers.count; i++) {
		run->ranks[0]->transfers.item[i].concurrency = 3;
		run->ranks[0]->transfers.item[i].middle_time *= 2;
		run->ranks[0]->transfers.item[i].time *= 2;
	}
	with_links links = links_of(run);
	assert_int_equal(links.slow, 0);
}

/* The link is still busy when the next transfer begins, which no other link is, and both ways. */
static void a_slow_link_is_not_compared_with_its_way_back_where_others_tell(void **state)
{
	const struct fault both[] = { { 1, 4, -1, 700 }, { 4, 1, -1, 700 } };
	with_run *run = mesh(&both[0], MB);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct np_rank *rank = run->ranks[both[i].src];
		int32_t dst = both[i].dst;
		np_ns time = time_of(&both[i], rank->id, dst, 3, MB);

		rank->transfers.item[2].middle_time = time;
		rank->transfers.item[2].time = 10 * time;
		add_transfer(run, rank, dst, 3, MB, 2 * time)->concurrency =
			1 << NP_CONCURRENCY_LINK_SHIFT;
	}
	with_links links = links_of(run);
	assert_int_equal(links.slow, 2);
	assert_int_equal(link_of(&links, 1, 4)->verdict, NP_LINK_SLOW);
	assert_int_equal(link_of(&links, 4, 1)->verdict, NP_LINK_SLOW);
	assert_true(np_link_peers_gb_per_s(link_of(&links, 1, 4)) >
		    7.5 * np_link_gb_per_s(link_of(&links, 1, 4)));
}

static void links_of_a_ring_cannot_be_told_from_their_ends(void **state)
{
	with_run *run = np_run_new();
	static const int32_t members[] = { 0, 1, 2, 3, 4 };

	(void)state;
	for (int32_t i = 0; i < 5; i++) {
		struct np_rank *rank = add_rank(run, i, true);

		use(rank, add_group(run, rank, 77, "dp", members, 5));
		add_transfer(run, rank, (i + 1) % 5, 1, MB, i == 3 ? 100000 : 50000 + i);
	}
	with_links links = links_of(run);
	assert_int_equal(links.slow, 1);
	assert_int_equal(link_of(&links, 3, 4)->verdict, NP_LINK_SLOW);
	assert_int_equal(link_of(&links, 3, 4)->fault, NP_FAULT_LINK);
}

static void a_link_without_its_like_is_unknown(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);

	(void)state;
	use(rank, add_group(run, rank, 77, "dp", LIST(0, 1)));
	add_transfer(run, rank, 1, 1, MB, 50000);
	with_links links = links_of(run);
	assert_int_equal(links.list.count, 1);
	assert_int_equal(links.list.item[0].verdict, NP_LINK_UNKNOWN);
	assert_int_equal(links.list.item[0].expected, NP_UNKNOWN);
	assert_true(isnan(np_link_peers_gb_per_s(&links.list.item[0])));
}

/* Of two ranks alone: 0 to 1 takes 50 µs, 1 to 0 this long. */
static struct np_run *two_ranks(np_ns back)
{
	struct np_run *run = np_run_new();

	for (int32_t i = 0; i < 2; i++) {
		struct np_rank *rank = add_rank(run, i, true);

		use(rank, add_group(run, rank, 77, "dp", LIST(0, 1)));
		add_transfer(run, rank, 1 - i, 1, MB, i ? back : 50000);
	}
	return run;
}

static void a_link_is_not_sound_because_its_way_back_is_as_slow(void **state)
{
	with_run *run = two_ranks(51000);
	with_links links = links_of(run);

	(void)state;
	assert_int_equal(links.list.count, 2);
	for (size_t i = 0; i < links.list.count; i++)
		assert_int_equal(links.list.item[i].verdict, NP_LINK_UNKNOWN);
}

static void a_link_is_slow_if_its_way_back_is_not(void **state)
{
	with_run *run = two_ranks(200000);
	with_links links = links_of(run);

	(void)state;
	assert_int_equal(links.slow, 1);
	assert_int_equal(link_of(&links, 1, 0)->verdict, NP_LINK_SLOW);
	assert_int_equal(link_of(&links, 1, 0)->fault, NP_FAULT_LINK);
	assert_int_equal(link_of(&links, 0, 1)->verdict, NP_LINK_UNKNOWN);
}

static void large_transfers_decide_where_there_are_any(void **state)
{
	with_run *run = mesh(&none, MB);

	(void)state;
	/* The start of a small transfer was slow once: that says nothing about the link. */
	for (int32_t i = 0; i < RANKS; i++)
		for (int32_t plane = 1; plane < RANKS; plane++)
			add_transfer(run, run->ranks[i], (i + plane) % RANKS, plane, 64,
				     i == 2 && plane == 1 ? 9000 : 2000);
	with_links links = links_of(run);
	assert_int_equal(links.slow, 0);
}

static void sums_by_class_are_compared_where_there_is_nothing_finer(void **state)
{
	with_run *run = mesh(&none, MB);

	(void)state;
	for (int32_t i = 0; i < RANKS; i++) {
		struct np_rank *rank = run->ranks[i];

		rank->transfers.count = 0;
		for (int32_t dst = 0; dst < RANKS; dst++) {
			add_link(rank, 0, i, dst);
			rank->links.item[dst].transport = intern(run, "HCCS");
			rank->links.item[dst].bytes = 10 * MB;
			rank->links.item[dst].time = i == 5 && dst == 0 ? 1000000 : 500000 + dst;
		}
	}
	with_links links = links_of(run);
	/* A rank's link to itself is none. */
	assert_int_equal(links.list.count, RANKS * (RANKS - 1));
	assert_int_equal(links.slow, 1);
	assert_int_equal(link_of(&links, 5, 0)->fault, NP_FAULT_LINK);
	assert_int_equal(link_of(&links, 5, 0)->plane, NP_UNKNOWN);
}

/* Eight ranks in pairs of neighbours (0,1), (2,3) … and in pairs (0,2), (1,3), (4,6) …: no sizes
 * of transfers, only operators, those of one pair taking `slow` ns instead of 1000. */
static struct np_run *pairs(int32_t slow_low, int32_t slow_high, np_ns slow)
{
	struct np_run *run = np_run_new();

	assert_non_null(run);
	for (int32_t i = 0; i < 8; i++) {
		struct np_rank *rank = add_rank(run, i, true);

		for (int32_t distance = 1; distance <= 2; distance++) {
			int32_t low = i & distance ? i - distance : i;
			int32_t members[] = { low, low + distance };
			bool hit = members[0] == slow_low && members[1] == slow_high;
			uint64_t hash = (uint64_t)(100 * distance + low);
			struct np_comm_op *op =
				add_op(rank, add_group(run, rank, hash, "x", members, 2), false);

			op->type = intern(run, "hcom_allReduce_");
			op->step = NP_NO_STEP;
			op->bytes = 4096;
			op->start = 10000 * distance;
			op->end = op->start + (hit ? slow : 1000 + low);
		}
	}
	return run;
}

static struct np_links tested(const struct np_run *run)
{
	NP_CLEANUP(np_cluster_freep) struct np_cluster *cluster = build(run);
	NP_CLEANUP(np_align_freep) struct np_align *align = NULL;
	struct np_links links = { 0 };
	struct np_err err = NP_ERR_INIT;
	np_ns nobody_waited[16] = { 0 };
	struct np_waits waits = { .wait = nobody_waited };

	assert_ok(np_align_build(run, 1, &align, &err), err);
	assert_ok(np_links_measure(cluster, align, &waits, &links, &err), err);
	return links;
}

static void a_pair_that_only_a_slow_communicator_has_is_named(void **state)
{
	with_run *run = pairs(4, 6, 2000);
	with_links links = tested(run);

	(void)state;
	assert_int_equal(links.list.count, 1);
	assert_int_equal(links.list.item[0].src, 4);
	assert_int_equal(links.list.item[0].dst, 6);
	assert_int_equal(links.list.item[0].fault, NP_FAULT_LINK);
	assert_int_equal(links.list.item[0].bytes, NP_UNKNOWN);
	assert_true(isnan(np_link_gb_per_s(&links.list.item[0])));
}

static void a_rank_whose_communicators_are_all_slow_is_named_alone(void **state)
{
	with_run *run = pairs(0, 1, 2000);

	(void)state;
	/* The other pair of rank 0 too. */
	run->ranks[0]->ops.item[1].end += 1000;
	run->ranks[2]->ops.item[1].end += 1000;
	with_links links = tested(run);
	assert_int_equal(links.list.count, 1);
	assert_int_equal(links.list.item[0].src, 0);
	assert_int_equal(links.list.item[0].dst, NP_UNKNOWN);
	assert_int_equal(links.list.item[0].fault, NP_FAULT_NONE);
}

static void communicators_that_take_alike_name_nobody(void **state)
{
	with_run *run = pairs(0, 1, 1100);
	with_links links = tested(run);

	(void)state;
	assert_int_equal(links.list.count, 0);
}

static int measure_a_mesh(struct np_err *err)
{
	static struct np_run *run;
	struct np_links links = { 0 };
	size_t left = np_fault_left;
	int rc;

	np_fault_left = 0;
	if (!run)
		run = mesh(&none, MB);
	np_fault_left = left;
	rc = measure(run, &links, err);
	np_links_release(&links);
	if (rc == NP_OK) {
		np_run_free(run);
		run = NULL;
	}
	return rc;
}

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	assert_survives_faults(measure_a_mesh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_links_are_all_ok),
		cmocka_unit_test(one_slow_cable_is_named_with_both_ends),
		cmocka_unit_test(a_bad_sender_a_bad_receiver_and_a_bad_plane_are_told_apart),
		cmocka_unit_test(a_tenth_more_is_not_slow_unless_operators_were_retried),
		cmocka_unit_test(transfers_under_other_contention_are_not_compared),
		cmocka_unit_test(a_slow_link_is_not_compared_with_its_way_back_where_others_tell),
		cmocka_unit_test(links_of_a_ring_cannot_be_told_from_their_ends),
		cmocka_unit_test(a_link_without_its_like_is_unknown),
		cmocka_unit_test(a_link_is_not_sound_because_its_way_back_is_as_slow),
		cmocka_unit_test(a_link_is_slow_if_its_way_back_is_not),
		cmocka_unit_test(large_transfers_decide_where_there_are_any),
		cmocka_unit_test(sums_by_class_are_compared_where_there_is_nothing_finer),
		cmocka_unit_test(a_pair_that_only_a_slow_communicator_has_is_named),
		cmocka_unit_test(a_rank_whose_communicators_are_all_slow_is_named_alone),
		cmocka_unit_test(communicators_that_take_alike_name_nobody),
		cmocka_unit_test(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
