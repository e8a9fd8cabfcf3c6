/* SPDX-License-Identifier: Apache-2.0 */
/* What is strange about a job: warm-up, waits that nobody recorded, pauses. */
#include "npuprof/job_findings.h"

#include "np_replay_fixture.h"

#define REDUCE     "hcom_allReduce_"
#define RANKS_USED 4
#define STEPS_USED 4

static const int32_t all[] = { 0, 1, 2, 3 };

/* What each rank computes and is idle in each step, in ms; then all exchange for 1 ms. */
struct plan {
	np_ns compute[STEPS_USED][RANKS_USED];
	np_ns idle[STEPS_USED][RANKS_USED];
	bool barrier; /* all are idle until the last has computed */
};

static struct np_run *make(const struct plan *plan)
{
	struct np_run *run = np_run_new();
	struct script scripts[RANKS_USED];
	uint32_t groups[RANKS_USED];
	np_ns now = 0;

	for (int32_t id = 0; id < RANKS_USED; id++) {
		scripts[id] = script_begin(run, id);
		groups[id] = add_group(run, scripts[id].rank, 7, "dp", all, RANKS_USED);
	}
	for (int step = 0; step < STEPS_USED; step++) {
		np_ns last = 0;
		np_ns most = 0;
		char name[4];

		for (int id = 0; id < RANKS_USED; id++) {
			np_ns ready = plan->compute[step][id] + plan->idle[step][id] + 2;

			most = plan->compute[step][id] > most ? plan->compute[step][id] : most;
			last = ready > last ? ready : last;
		}
		for (int id = 0; id < RANKS_USED; id++) {
			np_ns computed = now + plan->compute[step][id] * MS;
			np_ns goes_on = plan->barrier ? now + most * MS
						      : computed + plan->idle[step][id] * MS;
			np_ns end = now + ((plan->barrier ? most + 2 : last) + 1) * MS;

			script_kernel(&scripts[id], now, computed, false);
			script_kernel(&scripts[id], goes_on, goes_on + 2 * MS, true);
			script_comm(&scripts[id], groups[id], REDUCE, goes_on + 2 * MS, end);
			(void)snprintf(name, sizeof(name), "%d", step);
			script_end(&scripts[id], name);
		}
		now += ((plan->barrier ? most + 2 : last) + 1) * MS;
	}
	return run;
}

static struct np_job_findings find(const struct plan *plan)
{
	with_run *run = make(plan);
	with_replay it = replayed_build(run);
	struct np_job_findings findings = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_job_findings_measure(it.replay, &findings, &err), err);
	return findings;
}

static const struct plan even = { .compute = { { 10, 10, 10, 10 },
					       { 10, 10, 10, 10 },
					       { 10, 10, 10, 10 },
					       { 10, 10, 10, 10 } } };

static void an_even_job_is_not_strange(void **state)
{
	struct np_job_findings findings = find(&even);

	(void)state;
	assert_int_equal(findings.list.count, 0);
	np_job_findings_release(&findings);
}

/* 30 + 3 ms against 10 + 3. */
static void a_first_step_of_twice_the_median_is_warm_up(void **state)
{
	struct plan plan = even;
	struct np_job_findings findings;

	(void)state;
	for (int id = 0; id < RANKS_USED; id++)
		plan.compute[0][id] = 30;
	findings = find(&plan);
	assert_int_equal(findings.list.count, 1);
	assert_int_equal(findings.list.item[0].kind, NP_JOB_WARM_UP);
	assert_non_null(strstr(findings.list.item[0].detail, "--skip-steps 1"));
	np_job_findings_release(&findings);
}

/*
 * In each step another rank computes 14 ms, and all go on then: three of them are idle
 * for 4 ms. The first step has no operator before it, so of 4 steps 3 are seen: 36 ms.
 */
static void ranks_that_go_on_together_waited_for_what_was_not_recorded(void **state)
{
	struct plan plan = even;
	struct np_job_findings findings;
	const struct np_job_finding *found;

	(void)state;
	plan.barrier = true;
	for (int step = 0; step < STEPS_USED; step++)
		plan.compute[step][step] = 14;
	findings = find(&plan);
	assert_int_equal(findings.list.count, 1);
	found = &findings.list.item[0];
	assert_int_equal(found->kind, NP_JOB_UNRECORDED);
	assert_int_equal(found->ranks.count, RANKS_USED);
	assert_int_equal(found->communicator, 0);
	assert_non_null(strstr(found->detail, "36.0 ms in all"));
	/* By rank and step: 36 / 4 / 4. */
	assert_int_equal(findings.unrecorded, 36 * MS / 16);
	np_job_findings_release(&findings);
}

/* A rank that computes longer, and for which the others wait in the operator, hides nothing. */
static void a_slow_rank_is_no_unrecorded_wait(void **state)
{
	struct plan plan = even;
	struct np_job_findings findings;

	(void)state;
	for (int step = 0; step < STEPS_USED; step++)
		plan.compute[step][2] = 14;
	findings = find(&plan);
	assert_int_equal(findings.list.count, 0);
	assert_int_equal(findings.unrecorded, 0);
	np_job_findings_release(&findings);
}

/* Three hosts pause for 5 ms, each in a step of its own. */
static void pauses_in_different_steps_are_not_aligned(void **state)
{
	struct plan plan = even;
	struct np_job_findings findings;

	(void)state;
	for (int step = 0; step < 3; step++)
		plan.idle[step][step] = 5;
	findings = find(&plan);
	assert_int_equal(findings.list.count, 1);
	assert_int_equal(findings.list.item[0].kind, NP_JOB_PAUSES);
	assert_int_equal(findings.list.item[0].ranks.count, 3);
	assert_non_null(strstr(findings.list.item[0].detail, "garbage collection"));
	np_job_findings_release(&findings);
}

/* What was recorded of collections is said, of the ranks that paused alone. */
static void collections_are_evidence_of_pauses(void **state)
{
	struct plan plan = even;
	struct np_job_findings findings = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (int step = 0; step < 3; step++)
		plan.idle[step][step] = 5;
	with_run *run = make(&plan);
	for (int id = 0; id < RANKS_USED; id++) {
		run->ranks[id]->collections = id == 1 ? 0 : 2;
		run->ranks[id]->collection_time = id == 1 ? 0 : 5 * MS;
	}
	with_replay it = replayed_build(run);
	assert_ok(np_job_findings_measure(it.replay, &findings, &err), err);
	assert_int_equal(findings.list.count, 1);
	assert_non_null(strstr(findings.list.item[0].detail,
			       "garbage collection recorded: 4 slices, 10.0 ms on ranks 0,2"));
	np_job_findings_release(&findings);
}

/* One host that pauses in every step is late, and no habit of all. */
static void one_late_host_is_no_habit(void **state)
{
	struct plan plan = even;
	struct np_job_findings findings;

	(void)state;
	for (int step = 0; step < STEPS_USED; step++)
		plan.idle[step][1] = 5;
	findings = find(&plan);
	assert_int_equal(findings.list.count, 0);
	np_job_findings_release(&findings);
}

/* --- fused kernels -----------------------------------------------------------------------------
 */

/* Ranks compute 8 ms and then 2 ms in a kernel of this type. */
static struct np_job_findings find_fused(const char *type, int32_t ranks)
{
	with_run *run = np_run_new();
	struct np_job_findings findings = { 0 };
	struct np_err err = NP_ERR_INIT;

	for (int32_t id = 0; id < ranks; id++) {
		struct script script = script_begin(run, id);

		script_compute(&script, 0, 8 * MS);
		script_compute(&script, 8 * MS, 10 * MS);
		script.kernels[1].of = intern(run, type);
		script_end(&script, "1");
	}
	assert_ok(np_fused_find(run, &findings, &err), err);
	return findings;
}

static void waiting_in_kernels_that_communicate_is_not_known(void **state)
{
	struct np_job_findings findings = find_fused("MatmulAllReduceAddRmsNorm", 2);

	(void)state;
	assert_int_equal(findings.list.count, 1);
	assert_int_equal(findings.list.item[0].kind, NP_JOB_FUSED);
	assert_non_null(strstr(findings.list.item[0].detail, "take 20 % of the steps"));
	np_job_findings_release(&findings);
	findings = find_fused("MatMulV3", 2);
	assert_int_equal(findings.list.count, 0);
	np_job_findings_release(&findings);
	/* One rank alone is compared with nobody. */
	findings = find_fused("MatmulAllReduce", 1);
	assert_int_equal(findings.list.count, 0);
	np_job_findings_release(&findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_even_job_is_not_strange),
		cmocka_unit_test(a_first_step_of_twice_the_median_is_warm_up),
		cmocka_unit_test(ranks_that_go_on_together_waited_for_what_was_not_recorded),
		cmocka_unit_test(a_slow_rank_is_no_unrecorded_wait),
		cmocka_unit_test(pauses_in_different_steps_are_not_aligned),
		cmocka_unit_test(collections_are_evidence_of_pauses),
		cmocka_unit_test(one_late_host_is_no_habit),
		cmocka_unit_test(waiting_in_kernels_that_communicate_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
