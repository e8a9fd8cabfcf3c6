/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a run is as usual: seldom wrong of one that is, never silent of one that is not. */
#include "history/engine/hist_judge.h"

#include "np_noise.h"

#define STEP 1e8

static void add_run(struct hist_store *store, double step)
{
	struct np_err err = NP_ERR_INIT;
	uint32_t index = (uint32_t)store->runs.count;
	struct hist_run *run = np_vec_add(&store->runs, &err);
	struct hist_figure *figure = np_vec_add(&store->figures, &err);

	assert_non_null(run);
	assert_non_null(figure);
	run->id = index + 1;
	run->captured = index;
	run->ranks = 1;
	run->step = (np_ns)step;
	figure->run = index;
	figure->time = (np_ns)step;
	assert_ok(hist_intern(store, "job", &run->job, &err), err);
	assert_ok(hist_intern(store, "step", &figure->name, &err), err);
}

/* One run of `step` after so many that scatter by 1 %. */
static struct hist_judgement judge(size_t runs, double step, const char *fail_on, uint64_t seed)
{
	struct np_err err = NP_ERR_INIT;
	struct hist_store *store = hist_store_new(&err);
	struct hist_store *entry = hist_store_new(&err);
	struct hist_selection selection = { 0 };
	struct hist_judgement judgement = { 0 };

	assert_non_null(store);
	assert_non_null(entry);
	for (size_t i = 0; i < runs; i++)
		add_run(store, STEP * (1 + 0.01 * noise_student(&seed)));
	add_run(entry, step > 0 ? step : STEP * (1 + 0.01 * noise_student(&seed)));
	assert_ok(hist_select(store, &(struct hist_choice){ 0 }, &selection, &err), err);
	assert_ok(hist_judge(store, &selection, entry, fail_on, &judgement, &err), err);
	/* The name is of the entry, which is gone now. */
	for (size_t i = 0; i < judgement.list.count; i++)
		judgement.list.item[i].figure = "step";
	hist_selection_release(&selection);
	hist_store_free(store);
	hist_store_free(entry);
	return judgement;
}

static void a_run_that_is_as_usual_is_seldom_called_unusual(void **state)
{
	static const size_t sizes[] = { 5, 8, 20, 60 };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(sizes); i++) {
		size_t unusual = 0;

		for (uint64_t seed = 1; seed <= 1000; seed++) {
			struct hist_judgement judgement = judge(sizes[i], 0, NULL, seed);

			assert_false(judgement.failed);
			unusual += judgement.list.item[0].unusual;
			hist_judgement_release(&judgement);
		}
		/* 1 % is stated for normal noise; tails of runs are heavier. */
		assert_in_range(unusual, 0, 30);
	}
}

/* Ten of 30 runs take 5 % longer, as on other machines; a run like these is nothing new, one that
 * takes longer than all of them is. */
static void what_a_third_of_the_runs_had_is_as_usual(void **state)
{
	struct np_err err = NP_ERR_INIT;
	static const double factors[] = { 1.05, 1.20, 0.80 };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(factors); i++) {
		struct hist_store *store = hist_store_new(&err);
		struct hist_store *entry = hist_store_new(&err);
		struct hist_selection selection = { 0 };
		struct hist_judgement judgement = { 0 };
		uint64_t seed = 9;

		for (size_t run = 0; run < 30; run++)
			add_run(store, STEP * (run % 3 == 0 ? 1.05 : 1) *
					       (1 + 0.002 * noise_normal(&seed)));
		add_run(entry, STEP * factors[i]);
		assert_ok(hist_select(store, &(struct hist_choice){ 0 }, &selection, &err), err);
		assert_ok(hist_judge(store, &selection, entry, "step>2%", &judgement, &err), err);
		/* It lies beyond what most scatter by all the same. */
		assert_int_equal(judgement.list.item[0].unusual, i > 0);
		assert_true((double)judgement.list.item[0].time > judgement.list.item[0].high ||
			    factors[i] < 1);
		assert_int_equal(judgement.failed, i == 1);
		hist_judgement_release(&judgement);
		hist_selection_release(&selection);
		hist_store_free(store);
		hist_store_free(entry);
	}
}

static void a_run_that_is_slower_fails_the_gate(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct hist_judgement judgement = judge(20, STEP * 1.10, "step>2%", seed);

		assert_true(judgement.failed);
		assert_near(judgement.list.item[0].below, 1, 0);
		hist_judgement_release(&judgement);
	}
}

static void more_than_allowed_but_usual_passes(void **state)
{
	struct hist_judgement judgement = judge(20, STEP * 1.012, "step>1%", 3);

	(void)state;
	assert_false(judgement.failed);
	assert_false(judgement.list.item[0].unusual);
	hist_judgement_release(&judgement);
}

static void unusual_but_allowed_passes(void **state)
{
	struct hist_judgement judgement = judge(20, STEP * 1.10, "step>20%", 3);

	(void)state;
	assert_true(judgement.list.item[0].unusual);
	assert_false(judgement.failed);
	hist_judgement_release(&judgement);
}

static void add_idle(struct hist_store *store, size_t run, np_ns time)
{
	struct np_err err = NP_ERR_INIT;
	struct hist_figure *figure = np_vec_add(&store->figures, &err);

	assert_non_null(figure);
	*figure = (struct hist_figure){ .run = (uint32_t)run, .time = time };
	assert_ok(hist_intern(store, "idle", &figure->name, &err), err);
}

/* 1 % of the step that is always the same to 100 ns, and 1 us more this time. */
static void what_hardly_changes_the_step_is_as_usual_unless_a_gate_names_it(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct hist_store *store = hist_store_new(&err);
	struct hist_store *entry = hist_store_new(&err);
	struct hist_selection selection = { 0 };

	(void)state;
	for (size_t i = 0; i < 20; i++) {
		add_run(store, STEP);
		store->runs.item[i].step = (np_ns)STEP;
		add_idle(store, i, 1000000 + (np_ns)(i % 2) * 100);
	}
	add_run(entry, STEP);
	entry->runs.item[0].step = (np_ns)STEP;
	add_idle(entry, 0, 1010000);
	assert_ok(hist_select(store, &(struct hist_choice){ 0 }, &selection, &err), err);
	for (int gated = 0; gated < 2; gated++) {
		struct hist_judgement judgement = { 0 };
		bool unusual = false;

		assert_ok(hist_judge(store, &selection, entry, gated ? "idle>0.5%" : NULL,
				     &judgement, &err),
			  err);
		for (size_t i = 0; i < judgement.list.count; i++)
			unusual |= judgement.list.item[i].unusual;
		assert_int_equal(unusual, gated);
		hist_judgement_release(&judgement);
	}
	hist_selection_release(&selection);
	hist_store_free(store);
	hist_store_free(entry);
}

static void too_few_runs_withhold_the_judgement(void **state)
{
	struct hist_judgement judgement = judge(HIST_JUDGE_LEAST - 1, STEP * 2, "step>2%", 3);

	(void)state;
	assert_true(judgement.withheld);
	assert_false(judgement.failed);
	hist_judgement_release(&judgement);
}

static void conditions_that_mean_nothing_are_refused(void **state)
{
	static const char *const wrong[] = { "step",     ">2%",      "step>2",       "step>x%",
					     "step>-1%", "other>1%", "step>2%,wait", "step>nan%" };
	struct np_err err = NP_ERR_INIT;
	struct hist_store *store = hist_store_new(&err);
	struct hist_selection selection = { 0 };
	struct hist_judgement judgement;

	(void)state;
	assert_non_null(store);
	add_run(store, STEP);
	assert_ok(hist_select(store, &(struct hist_choice){ 0 }, &selection, &err), err);
	for (size_t i = 0; i < NP_COUNT(wrong); i++)
		assert_int_equal(hist_judge(store, &selection, store, wrong[i], &judgement, &err),
				 NP_E_USAGE);
	hist_selection_release(&selection);
	hist_store_free(store);
}

static void a_run_with_impossible_ranks_is_chosen_by_itself(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct hist_store *store = hist_store_new(&err);
	struct hist_selection selection = { 0 };

	(void)state;
	assert_non_null(store);
	add_run(store, STEP);
	store->runs.item[0].ranks = -5;
	store->runs.item[0].world = 8;
	assert_ok(hist_select(store, &(struct hist_choice){ 0 }, &selection, &err), err);
	assert_int_equal(selection.runs.count, 1);
	hist_selection_release(&selection);
	hist_store_free(store);
}

static void of_no_run_there_is_no_figure(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct hist_store *store = hist_store_new(&err);
	struct hist_selection none = { 0 };
	struct hist_series series = { 0 };

	(void)state;
	assert_non_null(store);
	add_run(store, STEP);
	assert_int_equal(hist_series_make(store, &none, "step", &series, &err), NP_E_USAGE);
	assert_non_null(strstr(err.text, "no run has the figure 'step'"));
	hist_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_that_is_as_usual_is_seldom_called_unusual),
		cmocka_unit_test(what_a_third_of_the_runs_had_is_as_usual),
		cmocka_unit_test(a_run_that_is_slower_fails_the_gate),
		cmocka_unit_test(more_than_allowed_but_usual_passes),
		cmocka_unit_test(unusual_but_allowed_passes),
		cmocka_unit_test(what_hardly_changes_the_step_is_as_usual_unless_a_gate_names_it),
		cmocka_unit_test(too_few_runs_withhold_the_judgement),
		cmocka_unit_test(conditions_that_mean_nothing_are_refused),
		cmocka_unit_test(a_run_with_impossible_ranks_is_chosen_by_itself),
		cmocka_unit_test(of_no_run_there_is_no_figure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
