/* SPDX-License-Identifier: Apache-2.0 */
/* What a role and what a machine causes, over runs in which ranks were placed differently. */
#include "history/engine/hist_effects.h"

#include "history/engine/hist_drain.h"
#include "history/engine/middle.h"
#include "history/engine/two_way.h"

#include "np_noise.h"

#define RUNS    30
#define RANKS   64
#define STAGES  4
#define NOISE   0.02
#define DEVICES 8 /* of a host */

#define SLOW_MACHINE 27
#define SLOW_STAGE   2

/* What is planted. */
struct world {
	bool shuffled;
	double machine;
	double stage;
};

static void add_rank(struct hist_store *store, uint32_t run, size_t rank, size_t machine,
		     double computing)
{
	struct np_err err = NP_ERR_INIT;
	struct hist_rank *one = np_vec_add(&store->ranks, &err);
	char host[32];

	assert_non_null(one);
	*one = (struct hist_rank){
		.run = run,
		.rank = (int64_t)rank,
		.device = (int64_t)(machine % DEVICES),
		.stage = (int64_t)(rank / (RANKS / STAGES)),
		.step = 100000000,
		.computing = (np_ns)computing,
		.wait = 0,
		.transfer = 0,
		.idle = 1000000,
		.charge = 0,
	};
	(void)snprintf(host, sizeof(host), "node-%zu", machine / DEVICES);
	assert_ok(hist_intern(store, host, &one->host, &err), err);
}

static void add_run(struct hist_store *store, const struct world *world, uint64_t *seed)
{
	struct np_err err = NP_ERR_INIT;
	uint32_t index = (uint32_t)store->runs.count;
	struct hist_run *run = np_vec_add(&store->runs, &err);
	double level = 1 + 0.05 * noise_normal(seed);
	size_t machines[RANKS];

	assert_non_null(run);
	run->id = index + 1;
	run->captured = index;
	run->ranks = RANKS;
	run->step = 100000000;
	run->first_rank = store->ranks.count;
	run->rank_count = RANKS;
	assert_ok(hist_intern(store, "job", &run->job, &err), err);
	for (size_t i = 0; i < RANKS; i++)
		machines[i] = i;
	for (size_t i = RANKS - 1; i > 0 && world->shuffled; i--) {
		size_t other = np_random_below(seed, i + 1);
		size_t kept = machines[i];

		machines[i] = machines[other];
		machines[other] = kept;
	}
	for (size_t rank = 0; rank < RANKS; rank++) {
		double computing = 8e7 * level * exp(NOISE * noise_student(seed));

		computing *= machines[rank] == SLOW_MACHINE ? 1 + world->machine : 1;
		computing *= rank / (RANKS / STAGES) == SLOW_STAGE ? 1 + world->stage : 1;
		add_rank(store, index, rank, machines[rank], computing);
		if (machines[rank] == SLOW_MACHINE && world->machine > 0) {
			struct hist_repair *repair = np_vec_add(&store->repairs, &err);
			char name[32];

			assert_non_null(repair);
			(void)snprintf(name, sizeof(name), "rank:%zu", rank);
			repair->run = index;
			repair->saved = 4000000;
			assert_ok(hist_intern(store, name, &repair->repair, &err), err);
		}
	}
}

static struct hist_store *make_world(const struct world *world, size_t runs, uint64_t seed)
{
	struct np_err err = NP_ERR_INIT;
	struct hist_store *store = hist_store_new(&err);

	assert_non_null(store);
	for (size_t i = 0; i < runs; i++)
		add_run(store, world, &seed);
	return store;
}

static struct hist_selection choose(const struct hist_store *store)
{
	struct hist_selection selection = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(hist_select(store, &(struct hist_choice){ 0 }, &selection, &err), err);
	return selection;
}

static struct hist_effects measure(const struct hist_store *store)
{
	struct hist_selection selection = choose(store);
	struct hist_effects effects = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(hist_effects_measure(store, &selection, "computing", &effects, &err), err);
	hist_selection_release(&selection);
	return effects;
}

static bool is_planted(const struct hist_store *store, const struct hist_unit_effect *one)
{
	const char *host = hist_text(store, one->host);

	if (one->unit == HIST_STAGE)
		return one->number == SLOW_STAGE;
	return one->unit == HIST_DEVICE && strcmp(host, "node-3") == 0 &&
	       one->number == SLOW_MACHINE % DEVICES;
}

static void a_slow_device_and_a_slow_stage_are_told_apart(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct hist_store *store = make_world(
			&(struct world){ .shuffled = true, .machine = 0.05, .stage = 0.08 }, RUNS,
			seed);
		struct hist_effects effects = measure(store);
		size_t planted = 0;

		assert_int_equal(effects.told, RANKS);
		for (size_t i = 0; i < effects.list.count; i++) {
			const struct hist_unit_effect *one = &effects.list.item[i];

			if (!is_planted(store, one)) {
				assert_false(one->named);
				assert_in_range(fabs(one->share) < 0.02, 1, 1);
				continue;
			}
			planted++;
			assert_true(one->named);
			assert_near(one->share, one->unit == HIST_STAGE ? 0.08 : 0.05, 0.015);
			assert_true(one->margin < 0.015);
		}
		assert_int_equal(planted, 2);
		hist_effects_release(&effects);
		hist_store_free(store);
	}
}

static void where_nothing_is_planted_nobody_is_named(void **state)
{
	size_t named = 0;

	(void)state;
	for (uint64_t seed = 201; seed <= 220; seed++) {
		struct hist_store *store =
			make_world(&(struct world){ .shuffled = true }, RUNS, seed);
		struct hist_effects effects = measure(store);

		for (size_t i = 0; i < effects.list.count; i++)
			named += effects.list.item[i].named;
		hist_effects_release(&effects);
		hist_store_free(store);
	}
	assert_int_equal(named, 0);
}

static void without_reshuffling_nothing_is_told(void **state)
{
	struct hist_store *store =
		make_world(&(struct world){ .machine = 0.05, .stage = 0.08 }, RUNS, 3);
	struct hist_effects effects = measure(store);

	(void)state;
	assert_int_equal(effects.told, 0);
	assert_int_equal(effects.machines, RANKS);
	for (size_t i = 0; i < effects.list.count; i++) {
		assert_true(isnan(effects.list.item[i].share));
		assert_false(effects.list.item[i].named);
	}
	hist_effects_release(&effects);
	hist_store_free(store);
}

static void few_runs_name_nobody(void **state)
{
	struct hist_store *store =
		make_world(&(struct world){ .shuffled = true, .machine = 0.3, .stage = 0.3 }, 3, 4);
	struct hist_effects effects = measure(store);

	(void)state;
	for (size_t i = 0; i < effects.list.count; i++) {
		assert_false(effects.list.item[i].named);
		assert_true(isnan(effects.list.item[i].margin));
	}
	hist_effects_release(&effects);
	hist_store_free(store);
}

static struct hist_drain plan(const struct hist_store *store)
{
	struct hist_selection selection = choose(store);
	struct hist_drain drain = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(hist_drain_plan(store, &selection, 5, &drain, &err), err);
	hist_selection_release(&selection);
	return drain;
}

static void the_slow_device_is_drained_with_the_gain_of_its_runs(void **state)
{
	struct hist_store *store =
		make_world(&(struct world){ .shuffled = true, .machine = 0.05 }, RUNS, 6);
	struct hist_drain drain = plan(store);

	(void)state;
	assert_int_equal(drain.list.count, 1);
	assert_int_equal(drain.list.item[0].action, HIST_DRAIN);
	assert_int_equal(drain.list.item[0].unit, HIST_DEVICE);
	assert_int_equal(drain.list.item[0].device, SLOW_MACHINE % DEVICES);
	assert_int_equal(drain.list.item[0].runs, RUNS);
	assert_near(drain.list.item[0].mean, 0.04, 1e-9);
	hist_drain_release(&drain);
	hist_store_free(store);
}

static void a_device_that_was_always_in_one_role_is_only_to_be_tested(void **state)
{
	struct hist_store *store = make_world(&(struct world){ .machine = 0.05 }, RUNS, 6);
	struct hist_drain drain = plan(store);

	(void)state;
	assert_int_equal(drain.list.count, 1);
	assert_int_equal(drain.list.item[0].action, HIST_TEST);
	hist_drain_release(&drain);
	hist_store_free(store);
}

static void add_repair(struct hist_store *store, uint32_t run, const char *text, np_ns saved)
{
	struct np_err err = NP_ERR_INIT;
	struct hist_repair *repair = np_vec_add(&store->repairs, &err);

	assert_non_null(repair);
	repair->run = run;
	repair->saved = saved;
	assert_ok(hist_intern(store, text, &repair->repair, &err), err);
}

/* The rank that was on a machine in a run. */
static long long rank_on(const struct hist_store *store, uint32_t run, size_t machine)
{
	char host[32];

	(void)snprintf(host, sizeof(host), "node-%zu", machine / DEVICES);
	for (size_t i = run * RANKS; i < (run + 1) * RANKS; i++) {
		if (store->ranks.item[i].device == (int64_t)(machine % DEVICES) &&
		    strcmp(hist_text(store, store->ranks.item[i].host), host) == 0)
			return (long long)store->ranks.item[i].rank;
	}
	fail();
	return -1;
}

/* Both are 5 % slow, so that alone neither gains; the replay of most runs had both repaired. */
static void devices_that_hide_each_other_are_drained_together(void **state)
{
	struct hist_store *store =
		make_world(&(struct world){ .shuffled = true, .machine = 0.05 }, RUNS, 6);
	struct hist_drain drain;

	(void)state;
	store->repairs.count = 0;
	for (uint32_t run = 0; run < RUNS; run++) {
		long long one = rank_on(store, run, SLOW_MACHINE);
		long long other = rank_on(store, run, SLOW_MACHINE + 1);
		char text[64];

		for (size_t i = run * RANKS; i < (run + 1) * RANKS; i++) {
			if (store->ranks.item[i].rank == other)
				store->ranks.item[i].computing +=
					store->ranks.item[i].computing / 20;
		}
		(void)snprintf(text, sizeof(text), "rank:%lld", one);
		add_repair(store, run, text, run < 3 ? 1000000 : 50000);
		(void)snprintf(text, sizeof(text), "rank:%lld", other);
		add_repair(store, run, text, run < 3 ? 1000000 : 40000);
		(void)snprintf(text, sizeof(text), "rank:%lld+rank:%lld", one, other);
		/* As by a version that did not try several. */
		if (run >= 3)
			add_repair(store, run, text, 4000000);
	}
	drain = plan(store);
	assert_int_equal(drain.list.count, 2);
	assert_int_equal(drain.together.machines, 2);
	assert_int_equal(drain.together.runs, RUNS);
	assert_int_equal(drain.together.exact, RUNS - 3);
	/* 3 runs of 1 % at least, 27 of 4 % */
	assert_near(drain.together.mean, (3 * 0.01 + 27 * 0.04) / 30, 1e-9);
	hist_drain_release(&drain);
	hist_store_free(store);
}

/* Two pairs of devices, of which one is 10 % slow; ranks changed from pair to pair in one run only.
 */
static void what_hangs_on_one_run_is_uncertain(void **state)
{
	struct hist_observation list[20 * 4];
	struct hist_two_way fit;
	struct np_err err = NP_ERR_INIT;
	uint64_t seed = 3;

	(void)state;
	for (uint32_t run = 0; run < 20; run++) {
		for (uint32_t role = 0; role < 4; role++) {
			uint32_t machine = run == 7 ? (role + 2) % 4 : role ^ (run & 1);

			list[4 * run + role] =
				(struct hist_observation){ run, role, machine,
							   18 + (machine >= 2 ? log(1.1) : 0) +
								   0.002 * noise_normal(&seed) };
		}
	}
	assert_ok(hist_two_way_fit(list, 80, &(struct hist_two_way_sizes){ 20, 4, 4 }, &fit, &err),
		  err);
	assert_true(fit.machines[3].told);
	assert_true(fabs(fit.machines[3].share - 0.05) < 0.01);
	assert_true(fit.machines[3].error > 0.03);
	hist_two_way_release(&fit);
}

static void the_middle_is_that_of_the_sorted_values(void **state)
{
	double values[40];
	double sorted[40];
	uint64_t seed = 5;

	(void)state;
	for (size_t count = 1; count <= 40; count++) {
		for (int kinds = 1; kinds <= 30; kinds += 7) {
			for (size_t i = 0; i < count; i++)
				values[i] = sorted[i] =
					(double)np_random_below(&seed, (size_t)kinds);
			hist_sort(sorted, count);
			assert_true(fabs(hist_middle(values, count) -
					 hist_quantile(sorted, count, 0.5)) < 1e-9);
		}
	}
	assert_true(isnan(hist_middle(values, 0)));
}

static void a_host_all_of_whose_devices_are_slow_is_named_instead_of_them(void **state)
{
	uint64_t seed = 11;
	struct hist_store *store = make_world(&(struct world){ .shuffled = true }, RUNS, seed);
	struct hist_effects effects;

	(void)state;
	for (size_t i = 0; i < store->ranks.count; i++) {
		if (strcmp(hist_text(store, store->ranks.item[i].host), "node-5") == 0)
			store->ranks.item[i].computing += store->ranks.item[i].computing / 10;
	}
	effects = measure(store);
	for (size_t i = 0; i < effects.list.count; i++) {
		const struct hist_unit_effect *one = &effects.list.item[i];
		bool is_host = one->unit == HIST_HOST &&
			       strcmp(hist_text(store, one->host), "node-5") == 0;

		assert_int_equal(one->named, is_host);
		if (is_host)
			assert_near(one->share, 0.10, 0.015);
	}
	hist_effects_release(&effects);
	hist_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_device_and_a_slow_stage_are_told_apart),
		cmocka_unit_test(where_nothing_is_planted_nobody_is_named),
		cmocka_unit_test(without_reshuffling_nothing_is_told),
		cmocka_unit_test(few_runs_name_nobody),
		cmocka_unit_test(the_slow_device_is_drained_with_the_gain_of_its_runs),
		cmocka_unit_test(devices_that_hide_each_other_are_drained_together),
		cmocka_unit_test(what_hangs_on_one_run_is_uncertain),
		cmocka_unit_test(the_middle_is_that_of_the_sorted_values),
		cmocka_unit_test(a_device_that_was_always_in_one_role_is_only_to_be_tested),
		cmocka_unit_test(a_host_all_of_whose_devices_are_slow_is_named_instead_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
