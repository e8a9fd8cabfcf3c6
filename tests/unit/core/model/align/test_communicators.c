/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators of all ranks, merged by name and members. */
#include "npuprof/communicators.h"

#include "np_cluster_fixture.h"
#include "np_fault.h"

#define with_communicators NP_CLEANUP(np_communicators_release) struct np_communicators

static void merge(const struct np_run *run, struct np_communicators *ret)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_communicators_merge(run, 2, ret, &err), err);
}

static void groups_of_one_hash_are_one_communicator(void **state)
{
	with_run *run = np_run_new();
	with_communicators all = { 0 };

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, NULL, LIST(0, 1, 2));

		add_op(rank, group, false);
		add_op(rank, group, id == 1);
	}
	merge(run, &all);
	assert_int_equal(all.list.count, 1);
	assert_int_equal(all.list.item[0].observed, 3);
	assert_int_equal(all.list.item[0].ops, 6);
	assert_int_equal(all.list.item[0].size, 3);
	assert_true(all.list.item[0].size_known);
	assert_false(np_communicators_of(&all, 0)->p2p);
	assert_true(np_communicators_of(&all, 1)->p2p);
	assert_true(np_communicators_of(&all, 1)->collective);
}

static void groups_without_operators_are_none(void **state)
{
	with_run *run = np_run_new();
	with_communicators all = { 0 };
	struct np_rank *rank = add_rank(run, 0, true);

	(void)state;
	(void)add_group(run, rank, 6, NULL, LIST(0, 1));
	add_op(rank, add_group(run, rank, 7, NULL, LIST(0, 1)), false);
	merge(run, &all);
	assert_int_equal(all.list.count, 1);
	assert_int_equal(all.list.item[0].hash, 7);
	assert_int_equal(np_communicators_of(&all, 0)[0].ops, 0);
	assert_int_equal(np_communicators_of(&all, 0)[1].ops, 1);
}

/* Ranks 0 and 1 know other members than 2 and 3; rank 4 knows none, and joins the first. */
static void the_same_name_with_other_members_is_another_communicator(void **state)
{
	with_run *run = np_run_new();
	with_communicators all = { 0 };

	(void)state;
	for (int32_t id = 0; id < 5; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = id == 4  ? add_group(run, rank, 7, NULL, NULL, 0)
				 : id < 2 ? add_group(run, rank, 7, NULL, LIST(0, 1))
					  : add_group(run, rank, 7, NULL, LIST(2, 3));

		add_op(rank, group, false);
	}
	merge(run, &all);
	assert_int_equal(all.list.count, 2);
	assert_int_equal(np_communicators_of(&all, 1)->communicator, 0);
	assert_int_equal(np_communicators_of(&all, 2)->communicator, 1);
	assert_int_equal(np_communicators_of(&all, 4)->communicator, 0);
	assert_int_equal(all.list.item[0].observed, 3);
}

static void without_members_links_give_the_size_away(void **state)
{
	with_run *run = np_run_new();
	with_communicators all = { 0 };
	struct np_rank *rank = add_rank(run, 0, true);
	uint32_t group = add_group(run, rank, 7, NULL, NULL, 0);
	uint32_t other = add_group(run, rank, 8, NULL, NULL, 0);

	(void)state;
	add_op(rank, group, false);
	add_op(rank, other, false);
	add_link(rank, group, 0, 5);
	add_link(rank, group, 1 << 24, -1);
	merge(run, &all);
	assert_int_equal(all.list.item[0].size, 6);
	assert_true(all.list.item[0].size_known);
	assert_int_equal(all.list.item[1].size, 1);
	assert_false(all.list.item[1].size_known);
}

static void ranks_that_were_not_loaded_have_no_uses(void **state)
{
	with_run *run = np_run_new();
	with_communicators all = { 0 };
	struct np_rank *rank;

	(void)state;
	(void)add_rank(run, 0, false);
	rank = add_rank(run, 1, true);
	add_op(rank, add_group(run, rank, 7, NULL, NULL, 0), false);
	merge(run, &all);
	assert_int_equal(all.first[0], 0);
	assert_int_equal(all.first[1], 0);
	assert_int_equal(all.first[2], 1);
}

static struct np_run *faulty_run;

static int merge_faulty(struct np_err *err)
{
	struct np_communicators all = { 0 };
	int rc = np_communicators_merge(faulty_run, 1, &all, err);

	np_communicators_release(&all);
	return rc;
}

static void running_out_of_memory_is_an_ordinary_failure(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);

	(void)state;
	add_op(rank, add_group(run, rank, 7, NULL, LIST(0, 1)), false);
	faulty_run = run;
	assert_survives_faults(merge_faulty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_of_one_hash_are_one_communicator),
		cmocka_unit_test(groups_without_operators_are_none),
		cmocka_unit_test(the_same_name_with_other_members_is_another_communicator),
		cmocka_unit_test(without_members_links_give_the_size_away),
		cmocka_unit_test(ranks_that_were_not_loaded_have_no_uses),
		cmocka_unit_test(running_out_of_memory_is_an_ordinary_failure),
	};

	return cmocka_run_group_tests_name("communicators", tests, NULL, NULL);
}
