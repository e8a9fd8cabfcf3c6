/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks began their first step later than others, and by whose fault. */
#include "npuprof/late_begin.h"

#include "np_replay_fixture.h"

static const int32_t four[] = { 0, 1, 2, 3 };

/* Ranks that begin so late, in milliseconds, each with this step. */
static struct np_run *begun(const np_ns *begins, const char *const *ids)
{
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 4; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", four, 4);

		script_compute(&script, begins[id] * MS, 50 * MS);
		script_comm(&script, group, "hcom_allReduce_", 50 * MS, 51 * MS);
		script_end(&script, ids[id]);
	}
	return run;
}

static struct np_late_begin *measure(const struct np_run *run, const int32_t *stages)
{
	struct np_late_begin *late = NULL;
	struct np_align *align = NULL;
	struct np_clock *clock = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_align_build(run, 1, &align, &err), err);
	assert_ok(np_clock_raw(align, &clock, &err), err);
	assert_ok(np_late_begin_measure(run, clock, stages, &late, &err), err);
	np_clock_free(clock);
	np_align_free(align);
	return late;
}

static void what_a_rank_begins_later_than_the_first_is_its_hosts(void **state)
{
	with_run *run =
		begun((const np_ns[]){ 3, 0, 10, 0 }, (const char *const[]){ "1", "1", "1", "1" });
	struct np_late_begin *late = measure(run, NULL);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(late[i].begin, 0);
		assert_int_equal(late[i].other, 0);
	}
	assert_int_equal(late[0].host, 3 * MS);
	assert_int_equal(late[1].host, 0);
	assert_int_equal(late[2].host, 10 * MS);
	free(late);
}

static void without_calls_nothing_tells_what_a_rank_was_late_for(void **state)
{
	with_run *run =
		begun((const np_ns[]){ 3, 0, 10, 0 }, (const char *const[]){ "1", "1", "1", "1" });
	struct np_late_begin *late;

	(void)state;
	run->ranks[2]->contents &= ~(uint32_t)NP_HAS_HOST_CALLS;
	late = measure(run, NULL);
	assert_int_equal(late[0].host, 3 * MS);
	assert_int_equal(late[0].unknown, 0);
	assert_int_equal(late[2].host, 0);
	assert_int_equal(late[2].unknown, 10 * MS);
	assert_int_equal(late[2].other, 0);
	free(late);
}

/* The second stage begins 4 ms late as a whole, and rank 3 of it 2 ms more. */
static void what_a_whole_stage_begins_later_is_nobodys(void **state)
{
	with_run *run =
		begun((const np_ns[]){ 0, 1, 4, 6 }, (const char *const[]){ "1", "1", "1", "1" });
	struct np_late_begin *late = measure(run, (const int32_t[]){ 0, 0, 1, 1 });

	(void)state;
	assert_int_equal(late[1].host, 1 * MS);
	assert_int_equal(late[2].host, 0);
	assert_int_equal(late[2].other, 4 * MS);
	assert_int_equal(late[3].host, 2 * MS);
	assert_int_equal(late[3].other, 4 * MS);
	free(late);
}

static void captures_from_another_step_on_are_compared_with_their_like(void **state)
{
	with_run *run =
		begun((const np_ns[]){ 0, 1, 20, 25 }, (const char *const[]){ "1", "1", "2", "2" });
	struct np_late_begin *late = measure(run, NULL);

	(void)state;
	assert_int_equal(late[1].host, 1 * MS);
	assert_int_equal(late[2].begin, 20 * MS);
	assert_int_equal(late[2].host, 0);
	assert_int_equal(late[3].host, 5 * MS);
	free(late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_rank_begins_later_than_the_first_is_its_hosts),
		cmocka_unit_test(without_calls_nothing_tells_what_a_rank_was_late_for),
		cmocka_unit_test(what_a_whole_stage_begins_later_is_nobodys),
		cmocka_unit_test(captures_from_another_step_on_are_compared_with_their_like),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
