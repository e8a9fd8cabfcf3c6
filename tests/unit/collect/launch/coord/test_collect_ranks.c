/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/launch/coord/job_layout.h"
#include "collect/rank_list.h"

#include "np_test.h"

/* Eight ranks, four to a host. */
static const bool leader[8] = { [0] = true, [4] = true };

/* The chosen ranks as "x..x": one character for each. */
static void expect_chosen(const char *text, const char *marks)
{
	struct np_err err = NP_ERR_INIT;
	bool chosen[8];

	assert_ok(np_rank_list_check(text, &err), err);
	assert_ok(np_rank_list_choose(text, leader, 8, chosen, &err), err);
	for (size_t i = 0; i < 8; i++) {
		if (chosen[i] != (marks[i] == 'x'))
			fail_msg("rank %zu of '%s'", i, text);
	}
}

static void expect_refused(const char *text, const char *why)
{
	struct np_err err = NP_ERR_INIT;
	bool chosen[8];

	assert_int_equal(np_rank_list_choose(text, leader, 8, chosen, &err), NP_E_USAGE);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
}

static void every_way_to_write_ranks_chooses_them(void **state)
{
	(void)state;
	expect_chosen("0", "x.......");
	expect_chosen("0,2", "x.x.....");
	expect_chosen("0 1 2 3", "xxxx....");
	expect_chosen("2-4, 7", "..xxx..x");
	expect_chosen("all", "xxxxxxxx");
	expect_chosen("-1", "xxxxxxxx");
	expect_chosen("every:3", "x..x..x.");
	expect_chosen("every:100", "x.......");
	expect_chosen("node-leaders", "x...x...");
	expect_chosen("node-leaders,1", "xx..x...");
}

static void what_names_no_ranks_is_quoted(void **state)
{
	(void)state;
	expect_refused("", "is empty");
	expect_refused(" , ", "is empty");
	expect_refused("0,x", "'x' names no ranks");
	expect_refused("3-1", "'3-1' names no ranks");
	expect_refused("-2", "'-2' names no ranks");
	expect_refused("every:0", "'every:0' names no ranks");
	expect_refused("every:", "'every:' names no ranks");
	expect_refused("leaders", "'leaders' names no ranks");
	expect_refused("0000000000000000000000000000000000000000000000000000000000000000000",
		       "names");
}

static void a_rank_the_job_does_not_have_is_refused(void **state)
{
	(void)state;
	expect_refused("8", "there is no rank 8: the job has 0-7");
	expect_refused("6-9", "there is no rank 6-9: the job has 0-7");
}

static void only_words_of_a_list_are_taken_from_a_command_line(void **state)
{
	(void)state;
	assert_true(np_rank_list_is_word("0"));
	assert_true(np_rank_list_is_word("0-3,8"));
	assert_true(np_rank_list_is_word("-1"));
	assert_true(np_rank_list_is_word("all"));
	assert_true(np_rank_list_is_word("every:2"));
	assert_true(np_rank_list_is_word("0-x"));
	assert_false(np_rank_list_is_word("--level"));
	assert_false(np_rank_list_is_word("-o"));
	assert_false(np_rank_list_is_word("python"));
}

static void hosts_are_numbered_by_their_first_rank(void **state)
{
	const struct np_job_layout_word words[] = {
		{ "b", "1", "machine", true },
		{ "a", "2", "machine", true },
		{ "b", "1", "machine", true },
		{ "a", "2", "machine", true },
	};
	struct np_err err = NP_ERR_INIT;
	struct np_job_layout layout;

	(void)state;
	assert_ok(np_job_layout_number(&layout, words, 4, &err), err);
	assert_int_equal(layout.host_count, 2);
	assert_string_equal(layout.hosts[0].name, "b");
	assert_string_equal(layout.hosts[1].uid, "2");
	assert_int_equal(layout.hosts[1].leader, 1);
	assert_int_equal(layout.hosts[1].ranks, 2);
	assert_int_equal(layout.ranks[2].host, 0);
	assert_int_equal(layout.ranks[2].local, 1);
	assert_int_equal(layout.ranks[3].local, 1);
	assert_true(layout.simulated);
	assert_string_equal(layout.first_address, "127.0.0.1");
	np_job_layout_release(&layout);
}

static void on_several_machines_rank_0_is_reached_by_name(void **state)
{
	const struct np_job_layout_word words[] = {
		{ "one", "1", "one", false },
		{ "two", "2", "two", false },
	};
	struct np_err err = NP_ERR_INIT;
	struct np_job_layout layout;

	(void)state;
	assert_ok(np_job_layout_number(&layout, words, 2, &err), err);
	assert_string_equal(layout.first_address, "one");
	assert_false(layout.simulated);
	np_job_layout_release(&layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_to_write_ranks_chooses_them),
		cmocka_unit_test(what_names_no_ranks_is_quoted),
		cmocka_unit_test(a_rank_the_job_does_not_have_is_refused),
		cmocka_unit_test(only_words_of_a_list_are_taken_from_a_command_line),
		cmocka_unit_test(hosts_are_numbered_by_their_first_rank),
		cmocka_unit_test(on_several_machines_rank_0_is_reached_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
