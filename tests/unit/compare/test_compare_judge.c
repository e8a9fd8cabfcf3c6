/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/engine/cmp_comparison.h"

#include "npuprof/arena.h"

#include "np_test.h"

/* Verdicts on made-up steps: ten on each side, of a leaf that matters and of a restless rest. */

#define STEPS 10

static const double noise[STEPS] = { -300, 250, -200, 310, -150, 120, -280, 200, 60, -10 };

/* Two leaves, and the step that is their sum. */
struct made {
	struct comparison comparison;
	struct cmp_leaf leaves[2];
	double values[2][CMP_SIDES][STEPS]; /* by leaf */
	double steps[CMP_SIDES][STEPS];
};

/*
 * The steady leaf has 2000 ns and `steady` more in the new run, the restless one
 * 8000 ns with a noise of hundreds and `restless` more; noise is the other way round
 * in the new run.
 */
static void make(struct made *made, double steady, double restless)
{
	struct comparison *comparison = &made->comparison;
	np_ns total[2][CMP_SIDES] = { 0 };

	memset(made, 0, sizeof(*made));
	comparison->options.min_share = 0.01;
	comparison->overlapped.delta = NP_UNKNOWN;
	for (int which = 0; which < CMP_SIDES; which++) {
		struct cmp_side *side = &comparison->sides[which];

		side->steps.count = STEPS;
		side->step_length = made->steps[which];
		for (int i = 0; i < STEPS; i++) {
			made->values[0][which][i] = 2000 + i + which * steady;
			made->values[1][which][i] =
				8000 + noise[which ? STEPS - 1 - i : i] + which * restless;
			made->steps[which][i] =
				made->values[0][which][i] + made->values[1][which][i];
			total[0][which] += (np_ns)made->values[0][which][i];
			total[1][which] += (np_ns)made->values[1][which][i];
		}
	}
	comparison->leaves.item = made->leaves;
	comparison->leaves.count = 2;
	for (int leaf = 0; leaf < 2; leaf++) {
		struct cmp_change *change = &made->leaves[leaf].change;

		for (int which = 0; which < CMP_SIDES; which++) {
			made->leaves[leaf].steps[which] = made->values[leaf][which];
			change->ns[which] = total[leaf][which] / STEPS;
			comparison->step.ns[which] += change->ns[which];
		}
		change->delta = change->ns[CMP_NEW] - change->ns[CMP_BASE];
		comparison->step.delta += change->delta;
	}
}

static void judge(struct made *made)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(cmp_test_changes(&made->comparison, &err), err);
}

/* +150 of 10,000 is beyond doubt in the leaf and not in the step, whose steps differ by 600. */
static void a_step_regresses_with_a_part_that_does_for_certain(void **state)
{
	struct made made;

	(void)state;
	make(&made, 150, 0);
	judge(&made);
	assert_true(made.comparison.step.test.p > 0.05);
	assert_int_equal(made.leaves[0].change.verdict, CMP_REGRESSION);
	assert_int_equal(made.leaves[1].change.verdict, CMP_NOISE);
	assert_int_equal(made.comparison.step.verdict, CMP_REGRESSION);
	assert_int_equal(made.comparison.by_parts, 150);
}

static void it_improves_likewise(void **state)
{
	struct made made;

	(void)state;
	make(&made, -150, 0);
	judge(&made);
	assert_int_equal(made.comparison.step.verdict, CMP_IMPROVEMENT);
	assert_int_equal(made.comparison.by_parts, -150);
}

/* +50 is half a percent of the step: nobody asked for that. */
static void a_part_too_small_for_the_step_leaves_it_alone(void **state)
{
	struct made made;

	(void)state;
	make(&made, 50, 0);
	judge(&made);
	assert_int_equal(made.leaves[0].change.verdict, CMP_REGRESSION);
	assert_int_equal(made.comparison.step.verdict, CMP_NOISE);
	assert_int_equal(made.comparison.by_parts, 0);
}

/* The rest made up for it: the step is no longer than it was. */
static void a_part_that_the_rest_makes_up_for_is_no_regression_of_the_step(void **state)
{
	struct made made;

	(void)state;
	make(&made, 150, -160);
	judge(&made);
	assert_int_equal(made.leaves[0].change.verdict, CMP_REGRESSION);
	assert_int_equal(made.comparison.step.verdict, CMP_NOISE);
}

static void a_step_that_tells_by_itself_needs_no_parts(void **state)
{
	struct made made;

	(void)state;
	make(&made, 1000, 0);
	judge(&made);
	assert_true(made.comparison.step.test.p < 0.05);
	assert_int_equal(made.comparison.step.verdict, CMP_REGRESSION);
	assert_int_equal(made.comparison.by_parts, 0);
}

/* Parts that swing against each other: the step tells, none of them does, and the longer one is
 * named.
 */
static void a_step_that_changed_for_certain_is_explained_by_its_likeliest_part(void **state)
{
	struct made made;
	struct np_analysis empty[CMP_SIDES] = { 0 };
	struct cmp_pair pair = { .rank = { 0, 0 } };
	double ranks[2][CMP_SIDES] = { { 2000, 2150 }, { 8000, 8010 } };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	make(&made, 150, 10);
	made.comparison.arena = np_arena_new();
	made.comparison.pairs.item = &pair;
	made.comparison.pairs.count = 1;
	made.comparison.step.verdict = CMP_REGRESSION;
	for (int i = 0; i < 2; i++) {
		made.leaves[i].path = i ? "between/other" : "between/host";
		made.leaves[i].kind = i ? CMP_LEAF_BETWEEN : CMP_LEAF_HOST;
		made.leaves[i].comm = SIZE_MAX;
		made.leaves[i].change.verdict = CMP_NOISE;
		made.comparison.sides[i].analysis = &empty[i];
		for (int which = 0; which < CMP_SIDES; which++)
			made.leaves[i].ranks[which] = &ranks[i][which];
	}
	assert_ok(cmp_find_causes(&made.comparison, &err), err);
	assert_int_equal(made.comparison.causes.count, 1);
	assert_int_equal(made.comparison.causes.item[0].kind, CMP_CAUSE_BETWEEN);
	assert_string_equal(made.comparison.causes.item[0].what, "between/host");
	/* Of a step that is noise nothing is named. */
	made.comparison.causes.count = 0;
	made.comparison.step.verdict = CMP_NOISE;
	assert_ok(cmp_find_causes(&made.comparison, &err), err);
	assert_int_equal(made.comparison.causes.count, 0);
	np_vec_release(&made.comparison.causes);
	np_arena_free(made.comparison.arena);
}

/* The step takes 7000 more although a part takes 1200 less: what takes 600 more comes first. */
static void what_changed_against_the_step_explains_it_last(void **state)
{
	struct made made;
	struct np_analysis empty[CMP_SIDES] = { 0 };
	struct cmp_pair pair = { .rank = { 0, 0 } };
	double ranks[2][CMP_SIDES] = { { 5000, 3800 }, { 5000, 5600 } };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	make(&made, -1200, 600);
	made.comparison.arena = np_arena_new();
	made.comparison.pairs.item = &pair;
	made.comparison.pairs.count = 1;
	made.comparison.step.verdict = CMP_UNTESTED;
	made.comparison.step.delta = 7000;
	for (int i = 0; i < 2; i++) {
		made.leaves[i].path = i ? "free/other" : "free/host";
		made.leaves[i].kind = CMP_LEAF_HOST;
		made.leaves[i].comm = SIZE_MAX;
		made.leaves[i].change.verdict = CMP_UNTESTED;
		made.comparison.sides[i].analysis = &empty[i];
		for (int which = 0; which < CMP_SIDES; which++)
			made.leaves[i].ranks[which] = &ranks[i][which];
	}
	assert_ok(cmp_find_causes(&made.comparison, &err), err);
	assert_int_equal(made.comparison.causes.count, 2);
	assert_string_equal(made.comparison.causes.item[0].what, "free/other");
	assert_false(made.comparison.causes.item[0].against);
	assert_string_equal(made.comparison.causes.item[1].what, "free/host");
	assert_true(made.comparison.causes.item[1].against);
	np_vec_release(&made.comparison.causes);
	np_arena_free(made.comparison.arena);
}

/* Plain thresholds are plain: +150 exceeds one percent. */
static void without_statistics_the_threshold_decides(void **state)
{
	struct made made;

	(void)state;
	make(&made, 150, -160);
	made.comparison.options.no_stats = true;
	judge(&made);
	assert_int_equal(made.comparison.step.verdict, CMP_NOISE);
	make(&made, 150, 0);
	made.comparison.options.no_stats = true;
	judge(&made);
	assert_int_equal(made.comparison.step.verdict, CMP_REGRESSION);
	assert_int_equal(made.comparison.by_parts, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_regresses_with_a_part_that_does_for_certain),
		cmocka_unit_test(it_improves_likewise),
		cmocka_unit_test(a_part_too_small_for_the_step_leaves_it_alone),
		cmocka_unit_test(a_part_that_the_rest_makes_up_for_is_no_regression_of_the_step),
		cmocka_unit_test(a_step_that_tells_by_itself_needs_no_parts),
		cmocka_unit_test(
			a_step_that_changed_for_certain_is_explained_by_its_likeliest_part),
		cmocka_unit_test(what_changed_against_the_step_explains_it_last),
		cmocka_unit_test(without_statistics_the_threshold_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
