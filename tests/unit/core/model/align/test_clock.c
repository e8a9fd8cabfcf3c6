/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/clock.h"

#include "np_cluster_fixture.h"
#include "np_fault.h"
#include "np_fixture.h"
#include "np_random.h"

#include "npuprof/align.h"

#define with_align    NP_CLEANUP(np_align_freep) struct np_align
#define with_clock    NP_CLEANUP(np_clock_freep) struct np_clock
#define with_manifest NP_CLEANUP(np_manifest_freep) struct np_manifest

#define EPOCH  INT64_C(1736410576000000000)
#define SECOND INT64_C(1000000000)

static struct np_align *aligned(const struct np_run *run)
{
	struct np_align *align = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_align_build(run, 1, &align, &err), err);
	return align;
}

static struct np_clock *clock_of(const struct np_align *align, const struct np_manifest *manifest)
{
	struct np_clock *clock = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_clock_build(align, manifest, 1, &clock, &err), err);
	return clock;
}

/* How a rank's clock is set: local = true + offset + drift × (true − EPOCH). */
struct setting {
	np_ns offset;
	double drift;
};

static np_ns local_time(const struct setting *setting, np_ns time)
{
	return time + setting->offset + (np_ns)(setting->drift * (double)(time - EPOCH));
}

/* About exponential, with a mean of `mean`. */
static np_ns noise(uint64_t *random, double mean)
{
	double uniform = ((double)np_random_below(random, 1000000) + 1) / 1000001;

	return (np_ns)(-mean * log(uniform));
}

struct team {
	struct np_run *run;
	struct np_rank *ranks[32];
	struct setting settings[32];
	size_t count;
	uint64_t random;
	double noise_ns;
};

static void start_team(struct team *team, size_t count, size_t per_host)
{
	team->run = np_run_new();
	team->count = count;
	team->random = 11;
	team->noise_ns = 10000;
	for (size_t i = 0; i < count; i++) {
		char host[32];

		(void)snprintf(host, sizeof(host), "host%zu", i / per_host);
		team->ranks[i] = add_rank(team->run, (int32_t)i, true);
		team->ranks[i]->host_uid = intern(team->run, host);
		team->ranks[i]->host_name = team->ranks[i]->host_uid;
	}
}

/* The ranks first, first + stride … reduce together so that it ends at about `time`. */
static void reduce(struct team *team, uint64_t hash, size_t first, size_t stride, size_t count,
		   np_ns time)
{
	int32_t members[32];

	for (size_t i = 0; i < count; i++)
		members[i] = (int32_t)(first + i * stride);
	for (size_t i = 0; i < count; i++) {
		size_t id = first + i * stride;
		struct np_rank *rank = team->ranks[id];
		struct np_comm_op *op;
		uint32_t group = UINT32_MAX;

		for (uint32_t j = 0; j < rank->groups.count; j++) {
			if (rank->groups.item[j].hash == hash)
				group = j;
		}
		if (group == UINT32_MAX)
			group = add_group(team->run, rank, hash, NULL, members, count);
		op = add_op(rank, group, false);
		op->type = intern(team->run, "hcom_allReduce_");
		op->step = NP_NO_STEP;
		op->end = local_time(&team->settings[id],
				     time + noise(&team->random, team->noise_ns));
		op->start = op->end - 50000;
	}
}

/* Errors of the common clock at 11 times over the run, against that of rank 0, sorted. */
static size_t errors_of(const struct team *team, const struct np_clock *clock, np_ns length,
			double *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < team->count; i++) {
		for (np_ns k = 0; k <= 10; k++) {
			np_ns time = EPOCH + length / 10 * k;
			np_ns own = np_clock_time(clock, i, local_time(&team->settings[i], time));
			np_ns zero = np_clock_time(clock, 0, local_time(&team->settings[0], time));

			ret[count++] = fabs((double)(own - zero));
		}
	}
	for (size_t i = 1; i < count; i++) {
		for (size_t j = i; j > 0 && ret[j] < ret[j - 1]; j--) {
			double swapped = ret[j];

			ret[j] = ret[j - 1];
			ret[j - 1] = swapped;
		}
	}
	return count;
}

/* --- from collectives ------------------------------------------------------------------------- */

static void clocks_two_minutes_apart_that_drift_are_repaired(void **state)
{
	struct team team = { 0 };
	double errors[32 * 11];
	size_t count;

	(void)state;
	start_team(&team, 16, 4);
	for (size_t i = 0; i < 16; i++) {
		static const struct setting hosts[] = { { 0, 0 },
							{ 120 * SECOND, 20e-6 },
							{ -120 * SECOND, -20e-6 },
							{ 77 * SECOND, 13e-6 } };

		team.settings[i] = hosts[i / 4];
	}
	team.settings[6].offset += 250000;
	/* 20 s: 1,000 rounds of tp within a host, dp across hosts in four rows. */
	for (np_ns k = 0; k < 1000; k++) {
		for (size_t i = 0; i < 4; i++)
			reduce(&team, 100 + i, i * 4, 1, 4, EPOCH + k * SECOND / 50);
		for (size_t i = 0; i < 4; i++)
			reduce(&team, 200 + i, i, 4, 4, EPOCH + k * SECOND / 50 + 10000000);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, NULL);

		assert_int_equal(clock->method, NP_CLOCK_COLLECTIVES);
		assert_int_equal(clock->components, 1);
		count = errors_of(&team, clock, 20 * SECOND, errors);
		assert_true(errors[count * 9 / 10] < 10000);
		assert_true(errors[count - 1] < 20000);
		for (size_t i = 0; i < 16; i++)
			assert_int_equal(clock->ranks[i].off, i == 6);
		assert_near((double)clock->ranks[6].deviation, 250000, 10000);
		assert_int_equal(clock->hosts.count, 4);
		assert_int_equal(clock->hosts.item[1].ranks_off, 1);
		assert_near(clock->hosts.item[1].drift * 1e6, 20, 0.5);
		assert_near((double)clock->hosts.item[1].offset / 1e9, 120, 0.001);
		assert_true(clock->residual_p90 < 40000);
	}
}

static void chains_of_hosts_are_repaired_as_well(void **state)
{
	struct team team = { 0 };
	double errors[32 * 11];
	size_t count;

	(void)state;
	start_team(&team, 8, 1);
	for (size_t i = 0; i < 8; i++)
		team.settings[i] = (struct setting){ (np_ns)i * SECOND, (double)i * 1e-6 };
	for (np_ns k = 0; k < 1000; k++) {
		for (size_t i = 0; i + 1 < 8; i++)
			reduce(&team, 100 + i, i, 1, 2,
			       EPOCH + k * SECOND / 100 + (np_ns)i * 1000000);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, NULL);

		count = errors_of(&team, clock, 10 * SECOND, errors);
		assert_true(errors[count * 9 / 10] < 10000);
	}
}

static void the_first_rank_is_the_reference(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 2, 1);
	team.settings[0].offset = 3 * SECOND;
	team.noise_ns = 0.001;
	for (np_ns k = 0; k < 10; k++)
		reduce(&team, 1, 0, 1, 2, EPOCH + k * 1000000);
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, NULL);

		assert_int_equal(np_clock_time(clock, 0, EPOCH), EPOCH);
		assert_int_equal(np_clock_time(clock, 1, EPOCH), EPOCH + 3 * SECOND);
		assert_int_equal(clock->residual_p90, 0);
	}
}

static void ranks_that_share_nothing_are_unrelated(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 4, 2);
	for (np_ns k = 0; k < 10; k++) {
		reduce(&team, 1, 0, 1, 2, EPOCH + k * 1000000);
		reduce(&team, 2, 2, 1, 2, EPOCH + k * 1000000);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, NULL);

		assert_int_equal(clock->components, 2);
		assert_true(np_clock_related(clock, 0, 1));
		assert_true(np_clock_related(clock, 2, 3));
		assert_false(np_clock_related(clock, 1, 2));
	}
}

static void a_few_close_ends_do_not_make_a_drift(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 2, 2);
	team.noise_ns = 50000;
	for (np_ns k = 0; k < 3; k++)
		reduce(&team, 1, 0, 1, 2, EPOCH + k * 1000000);
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, NULL);

		assert_near(clock->ranks[1].drift, 0, 1e-6);
	}
}

static void a_late_end_now_and_then_does_not_move_a_clock(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 4, 4);
	for (np_ns k = 0; k < 1000; k++)
		reduce(&team, 1, 0, 1, 4, EPOCH + k * 10000000);
	for (size_t k = 0; k < 1000; k += 50)
		team.ranks[2]->ops.item[k].end += 3000000;
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, NULL);
		double errors[32 * 11];
		size_t count = errors_of(&team, clock, 10 * SECOND, errors);

		assert_true(errors[count - 1] < 5000);
	}
}

static void without_collectives_there_is_no_common_clock(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		struct np_comm_op *op =
			add_op(rank, add_group(run, rank, 7, "pp", LIST(0, 1)), true);

		op->type = intern(run, "hcom_batchSendRecv_");
		op->step = NP_NO_STEP;
	}
	{
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, NULL);

		assert_int_equal(clock->method, NP_CLOCK_NONE);
		assert_false(np_clock_related(clock, 0, 1));
		assert_int_equal(clock->residual_p90, NP_UNKNOWN);
		assert_int_equal(np_clock_time(clock, 1, EPOCH), EPOCH);
	}
}

static void raw_clocks_show_by_how_much_they_are_wrong(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 2, 2);
	team.settings[1].offset = 4000000;
	for (np_ns k = 0; k < 100; k++)
		reduce(&team, 1, 0, 1, 2, EPOCH + k * 10000000);
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = NULL;
		struct np_err err = NP_ERR_INIT;

		assert_ok(np_clock_raw(align, &clock, &err), err);
		assert_true(np_clock_related(clock, 0, 1));
		assert_int_equal(np_clock_time(clock, 1, EPOCH), EPOCH);
		assert_near((double)clock->residual_p50, 2000000, 50000);
	}
}

/* --- from the manifest ------------------------------------------------------------------------ */

static void root_at_fixture(struct np_run *run)
{
	char **root = np_vec_add(&run->roots, NULL);

	assert_non_null(root);
	*root = strdup(np_fixture_root);
	assert_non_null(*root);
}

static const char manifest_text[] =
	"{\"schema\": \"npuprof.manifest/1\", \"world_size\": 3, \"hosts\": ["
	"{\"host\": \"a\", \"clock\": [{\"at_ns\": 1736410576000000000, \"offset_ns\": 0,"
	" \"uncertainty_ns\": 0}], \"drift_ppm\": 0.0},"
	"{\"host\": \"b\", \"clock\": ["
	"{\"at_ns\": 1736410586000000000, \"offset_ns\": 120000300000, \"uncertainty_ns\": 900},"
	"{\"at_ns\": 1736410576000000000, \"offset_ns\": 120000000000, \"uncertainty_ns\": 700},"
	"{\"at_ns\": 1736410596000000000, \"offset_ns\": 120000400000, \"uncertainty_ns\": 0}],"
	" \"drift_ppm\": 20.0}], \"ranks\": ["
	"{\"rank\": 0, \"host\": \"a\"}, {\"rank\": 1, \"host\": \"b\"},"
	" {\"rank\": 2, \"host\": \"c\"}]}";

static void the_manifest_is_interpolated_between_its_samples(void **state)
{
	/* At 0, 5, 10, 15, 20 and 30 s of the reference; behind the last by the mean drift. */
	static const np_ns ahead[][2] = { { 0, 120000000000 },  { 5, 120000150000 },
					  { 10, 120000300000 }, { 15, 120000350000 },
					  { 20, 120000400000 }, { 30, 120000600000 } };
	struct team team = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("npuprof_manifest.json"), manifest_text);
	start_team(&team, 2, 1);
	root_at_fixture(team.run);
	reduce(&team, 1, 0, 1, 2, EPOCH);
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_manifest *manifest = NULL;
		with_clock *clock = NULL;

		assert_ok(np_load_manifest(run, &manifest, &err), err);
		assert_int_equal(manifest->world, 3);
		clock = clock_of(align, manifest);
		assert_int_equal(clock->method, NP_CLOCK_MANIFEST);
		assert_int_equal(clock->components, 1);
		assert_int_equal(clock->uncertainty, 900);
		for (size_t i = 0; i < NP_COUNT(ahead); i++) {
			np_ns time = EPOCH + ahead[i][0] * SECOND;
			np_ns found = np_clock_time(clock, 1, time + ahead[i][1]);

			assert_int_equal(np_clock_time(clock, 0, time), time);
			assert_near((double)(found - time), 0, 10);
		}
	}
}

static void a_manifest_that_does_not_know_every_rank_is_not_used(void **state)
{
	struct team team = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("npuprof_manifest.json"), manifest_text);
	start_team(&team, 3, 1);
	root_at_fixture(team.run);
	reduce(&team, 1, 0, 1, 3, EPOCH);
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_manifest *manifest = NULL;
		with_clock *clock = NULL;

		assert_ok(np_load_manifest(run, &manifest, &err), err);
		clock = clock_of(align, manifest);
		assert_int_equal(clock->method, NP_CLOCK_COLLECTIVES);
	}
}

static void a_rank_off_its_host_is_named_under_a_manifest_too(void **state)
{
	static const char one_host[] =
		"{\"schema\": \"npuprof.manifest/1\", \"hosts\": [{\"host\": \"a\", \"clock\":"
		" [{\"at_ns\": 1736410576000000000, \"offset_ns\": 0}]}], \"ranks\": ["
		"{\"rank\": 0, \"host\": \"a\"}, {\"rank\": 1, \"host\": \"a\"},"
		" {\"rank\": 2, \"host\": \"a\"}]}";
	struct team team = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("npuprof_manifest.json"), one_host);
	start_team(&team, 3, 3);
	root_at_fixture(team.run);
	team.settings[2].offset = 250000;
	for (np_ns k = 0; k < 100; k++)
		reduce(&team, 1, 0, 1, 3, EPOCH + k * 1000000);
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_manifest *manifest = NULL;
		with_clock *clock = NULL;

		assert_ok(np_load_manifest(run, &manifest, &err), err);
		clock = clock_of(align, manifest);
		assert_int_equal(clock->method, NP_CLOCK_MANIFEST);
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(clock->ranks[i].off, i == 2);
	}
}

static void damaged_manifests_are_refused(void **state)
{
	static const char *const bad[] = { "{", "[]", "{\"schema\": \"npuprof.cluster/1\"}" };
	with_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;

	(void)state;
	root_at_fixture(run);
	for (size_t i = 0; i < NP_COUNT(bad); i++) {
		struct np_manifest *manifest = NULL;

		write_text(below("npuprof_manifest.json"), bad[i]);
		assert_int_equal(np_load_manifest(run, &manifest, &err), NP_E_FORMAT);
		assert_null(manifest);
		assert_one_line(&err);
	}
}

static void no_manifest_is_not_found(void **state)
{
	with_run *run = np_run_new();
	struct np_manifest *manifest = NULL;

	(void)state;
	root_at_fixture(run);
	assert_int_equal(np_load_manifest(run, &manifest, NULL), NP_E_NOTFOUND);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void assert_same_rank(const struct np_clock_rank *a, const struct np_clock_rank *b)
{
	assert_int_equal(a->knots->local, b->knots->local);
	assert_int_equal(a->knots->offset, b->knots->offset);
	assert_memory_equal(&a->drift, &b->drift, sizeof(a->drift));
	assert_int_equal(a->component, b->component);
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->residual_p50, b->residual_p50);
	assert_int_equal(a->residual_p90, b->residual_p90);
	assert_int_equal(a->deviation, b->deviation);
	assert_int_equal(a->off, b->off);
}

static void assert_same_host(const struct np_clock_host *a, const struct np_clock_host *b)
{
	assert_int_equal(a->offset, b->offset);
	assert_memory_equal(&a->drift, &b->drift, sizeof(a->drift));
	assert_int_equal(a->residual_p50, b->residual_p50);
	assert_int_equal(a->residual_p90, b->residual_p90);
	assert_int_equal(a->ranks_off, b->ranks_off);
}

static void assert_same_on_threads(const struct np_align *align, const struct np_clock *clock,
				   size_t threads)
{
	struct np_err err = NP_ERR_INIT;
	with_clock *other = NULL;

	assert_ok(np_clock_build(align, NULL, threads, &other, &err), err);
	assert_int_equal(other->components, clock->components);
	assert_int_equal(other->residual_p50, clock->residual_p50);
	assert_int_equal(other->residual_p90, clock->residual_p90);
	for (size_t i = 0; i < clock->rank_count; i++)
		assert_same_rank(&other->ranks[i], &clock->ranks[i]);
	for (size_t i = 0; i < clock->hosts.count; i++)
		assert_same_host(&other->hosts.item[i], &clock->hosts.item[i]);
}

static void the_number_of_threads_does_not_change_a_bit(void **state)
{
	static const size_t threads[] = { 2, 3, 7, 64 };
	struct team team = { 0 };

	(void)state;
	start_team(&team, 32, 4);
	for (size_t i = 0; i < 32; i++)
		team.settings[i] =
			(struct setting){ (np_ns)(i / 4) * SECOND, (double)(i / 4) * 3e-6 };
	/*
	 * 511 operators each of all ranks, within hosts, and seven times across them:
	 * 32 × 9 × 511 ends are more than one round takes.
	 */
	for (np_ns k = 0; k < 511; k++) {
		np_ns time = EPOCH + k * SECOND / 50;

		reduce(&team, 1, 0, 1, 32, time);
		for (size_t i = 0; i < 8; i++)
			reduce(&team, 100 + i, i * 4, 1, 4, time + 1000000);
		for (size_t i = 0; i < 28; i++)
			reduce(&team, 200 + i, i % 4, 4, 8, time + 2000000 + (np_ns)i * 100000);
	}
	{
		with_run *run = team.run;
		with_align *align = aligned(run);
		with_clock *clock = clock_of(align, NULL);

		assert_int_equal(clock->ranks[31].samples, 9 * 511);
		for (size_t i = 0; i < NP_COUNT(threads); i++)
			assert_same_on_threads(align, clock, threads[i]);
	}
}

/* --- memory ----------------------------------------------------------------------------------- */

static const struct np_align *faulty_align;

static int fit_faulty(struct np_err *err)
{
	struct np_clock *clock = NULL;
	int rc = np_clock_build(faulty_align, NULL, 1, &clock, err);

	np_clock_free(clock);
	return rc;
}

static void running_out_of_memory_is_an_ordinary_failure(void **state)
{
	struct team team = { 0 };

	(void)state;
	start_team(&team, 3, 1);
	for (np_ns k = 0; k < 10; k++)
		reduce(&team, 1, 0, 1, 3, EPOCH + k * 1000000);
	{
		with_run *run = team.run;
		with_align *align = aligned(run);

		faulty_align = align;
		assert_survives_faults(fit_faulty);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_two_minutes_apart_that_drift_are_repaired),
		cmocka_unit_test(chains_of_hosts_are_repaired_as_well),
		cmocka_unit_test(the_first_rank_is_the_reference),
		cmocka_unit_test(ranks_that_share_nothing_are_unrelated),
		cmocka_unit_test(a_few_close_ends_do_not_make_a_drift),
		cmocka_unit_test(a_late_end_now_and_then_does_not_move_a_clock),
		cmocka_unit_test(without_collectives_there_is_no_common_clock),
		cmocka_unit_test(raw_clocks_show_by_how_much_they_are_wrong),
		with_fixture(the_manifest_is_interpolated_between_its_samples),
		with_fixture(a_manifest_that_does_not_know_every_rank_is_not_used),
		with_fixture(a_rank_off_its_host_is_named_under_a_manifest_too),
		with_fixture(damaged_manifests_are_refused),
		with_fixture(no_manifest_is_not_found),
		cmocka_unit_test(the_number_of_threads_does_not_change_a_bit),
		cmocka_unit_test(running_out_of_memory_is_an_ordinary_failure),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
