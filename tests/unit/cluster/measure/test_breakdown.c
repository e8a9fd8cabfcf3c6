/* SPDX-License-Identifier: Apache-2.0 */
/* The mean step of a device: a mean over devices and steps, never a sum. */
#include "npuprof/breakdown.h"

#include "np_synth.h"

#include "npuprof/analysis.h"

static struct np_analysis *analyse(const char *const *options)
{
	struct np_analysis *analysis = NULL;
	struct np_err err = NP_ERR_INIT;

	synth_write(below("run"), options);
	assert_ok(np_analysis_build(synth_load(below("run")), NULL, 1, &analysis, &err), err);
	return analysis;
}

static np_ns sum_of_parts(const struct np_breakdown *where)
{
	np_ns sum = 0;

	for (int i = 0; i < NP_WHERE_KINDS; i++)
		sum += where->parts[i].mean;
	return sum;
}

static np_ns sum_of_idle(const struct np_breakdown *where)
{
	np_ns sum = 0;

	for (int i = 0; i < NP_BETWEEN_KINDS; i++)
		sum += where->idle[i].mean;
	return sum;
}

/* Means are rounded down: each part by less than 1 ns. */
static void the_parts_sum_to_the_mean_step(void **state)
{
	NP_CLEANUP(np_analysis_freep)
	struct np_analysis *analysis =
		analyse((const char *const[]){ "--ranks", "4", "--steps", "3", "--layers", "2",
					       "--dataloader", "all:3000", NULL });
	const struct np_breakdown *where = &analysis->breakdown;

	(void)state;
	assert_int_equal(where->basis, NP_BASIS_ITERATION);
	assert_int_equal(where->devices, 4);
	assert_int_equal(where->steps, 2);
	assert_int_equal(where->cells, 8);
	assert_in_range(where->mean - sum_of_parts(where), 0, NP_WHERE_KINDS);
	assert_in_range(where->parts[NP_WHERE_IDLE].mean - sum_of_idle(where), 0, NP_BETWEEN_KINDS);
	assert_true(where->idle[NP_BETWEEN_DATALOADER].mean > 1000000);
	assert_true(where->between.mean >= where->idle[NP_BETWEEN_DATALOADER].mean);
}

/* 8 ranks take as long as 1: it is no sum. */
static void more_ranks_make_no_longer_step(void **state)
{
	NP_CLEANUP(np_analysis_freep)
	struct np_analysis *one = analyse(
		(const char *const[]){ "--ranks", "1", "--steps", "2", "--layers", "2", NULL });
	NP_CLEANUP(np_analysis_freep) struct np_analysis *eight = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	synth_write(below("eight"),
		    (const char *const[]){ "--ranks", "8", "--steps", "2", "--layers", "2", NULL });
	assert_ok(np_analysis_build(synth_load(below("eight")), NULL, 1, &eight, &err), err);
	assert_int_equal(eight->breakdown.devices, 8);
	assert_true(eight->breakdown.mean < 2 * one->breakdown.mean);
}

#define ON_FILES(test) cmocka_unit_test_setup_teardown(test, np_fixture_setup, np_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_FILES(the_parts_sum_to_the_mean_step),
		ON_FILES(more_ranks_make_no_longer_step),
	};

	return cmocka_run_group_tests_name("breakdown", tests, NULL, NULL);
}
