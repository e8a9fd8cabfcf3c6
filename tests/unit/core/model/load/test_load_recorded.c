/* SPDX-License-Identifier: Apache-2.0 */
#include "np_load_fixture.h"

struct recorded {
	const char *level;
	int rank;
	np_ns computing;
	np_ns not_overlapped;
	np_ns overlapped;
	np_ns communication;
	np_ns free;
	np_ns stage;
	np_ns preparing;
	np_ns wait; /* communication without the union of payload, formats §2.5 */
};

/* formats §2.2 (the two rows not printed there are those of the files) and §2.5. */
static const struct recorded recorded[] = {
	{ "level0", 0, 8843910, 85881122, 3999454, 89880576, 25900158, 120625190, 16681808,
	  85560730 },
	{ "level0", 1, 8831637, 90000781, 3993077, 93993858, 26748231, 125580649, 18002802,
	  89677612 },
	{ "level1", 0, 8903431, 98071947, 4036153, 102108100, 25258144, 132233522, 18055693,
	  97816872 },
	{ "level1", 1, 8915634, 94556050, 4034140, 98590190, 25840499, 129312183, 17512827,
	  94266185 },
};

static void recorded_profiles_have_the_times_of_the_vendor(void **state)
{
	const char *root = recorded_profiles("resnet-2of8/db");

	(void)state;
	if (!root)
		skip();
	for (size_t i = 0; i < NP_COUNT(recorded); i++) {
		const struct recorded *known = &recorded[i];
		const struct np_step_time *time;
		const struct np_rank *rank;
		np_ns elapsed = 0;
		np_ns transfer = 0;
		char path[4200];

		(void)snprintf(path, sizeof(path), "%s/%s", root, known->level);
		{
			with_run *run = load_at(path, 2);

			rank = np_run_rank(run, known->rank);
			time = &rank->times.item[0];
			assert_int_equal(rank->times.count, 1);
			assert_string_equal(np_run_text(run, rank->steps.item[0].id), "50");
			assert_int_equal(time->computing, known->computing);
			assert_int_equal(time->communication_not_overlapped, known->not_overlapped);
			assert_int_equal(time->overlapped, known->overlapped);
			assert_int_equal(time->communication, known->communication);
			assert_int_equal(time->free, known->free);
			assert_int_equal(time->stage, known->stage);
			assert_int_equal(time->bubble, 0);
			assert_int_equal(time->preparing, known->preparing);
			for (size_t j = 0; j < rank->ops.count; j++) {
				elapsed += rank->ops.item[j].end - rank->ops.item[j].start;
				transfer += rank->ops.item[j].transfer;
			}
			assert_int_equal(rank->ops.count, 4);
			assert_int_equal(elapsed - transfer, known->wait);
			/* No disagreement with analysis.db, nothing skipped. */
			assert_no_notes(&run->notes);
		}
	}
}

/* formats §2.5: transfer of the four operators of level1 rank 0, and §2.3 for the first. */
static void recorded_operators_have_the_times_of_the_vendor(void **state)
{
	static const np_ns transfers[] = { 277426, 1370349, 2325967, 317486 };
	static const np_ns elapsed[] = { 88750993, 2180324, 2412628, 8764155 };
	const char *root = recorded_profiles("resnet-2of8/db/level1");

	(void)state;
	if (!root)
		skip();
	{
		with_run *run = load_at(root, 1);
		const struct np_rank *rank = np_run_rank(run, 0);

		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(rank->ops.item[i].transfer, transfers[i]);
			assert_int_equal(rank->ops.item[i].end - rank->ops.item[i].start,
					 elapsed[i]);
		}
		assert_string_equal(np_run_text(run, rank->ops.item[0].name),
				    "hcom_allReduce__210_0_1");
		assert_vendor_times(rank, 0, 228565, 3568890, 3517730);
		assert_true(rank->groups.item[rank->ops.item[0].group].hash ==
			    UINT64_C(17148521525495523210));
		/* 48 rows of the matrix in the file, and as many of ours. */
		assert_int_equal(rank->links.count, 48);
		/* 8 HCCS rows and 4 SDMA rows. */
		assert_int_equal(rank->bands.count, 12);
		assert_int_equal(rank->bands.item[0].bytes, 28647232);
	}
}

static void recorded_analysis_dbs_alone_are_ranks_with_named_communicators(void **state)
{
	const char *root = recorded_profiles("llm-pp2dp2");

	(void)state;
	if (!root)
		skip();
	{
		with_run *run = load_at(root, 2);
		static const int32_t devices[] = { 0, 1, 4, 5 };

		assert_int_equal(np_run_used(run), 4);
		for (int32_t i = 0; i < 4; i++) {
			const struct np_rank *rank = np_run_rank(run, i);

			assert_int_equal(rank->device, devices[i]);
			assert_string_equal(np_run_text(run, rank->steps.item[0].id), "13");
			assert_int_equal(rank->parallel.pp, 2);
			assert_int_equal(rank->parallel.dp, 2);
			assert_int_equal(rank->step_source, NP_FROM_ANALYSIS_DB);
		}
		/* formats §2.2: stage 810022.36 µs of rank 0. */
		assert_int_equal(np_run_rank(run, 0)->times.item[0].stage, 810022360);
	}
}

static void recorded_profiles_are_not_touched(void **state)
{
	const char *root = recorded_profiles("resnet-2of8/db");
	char *before;

	(void)state;
	if (!root)
		skip();
	before = snapshot(root);
	{
		with_run *run = load_at(root, 2);

		assert_int_equal(np_run_used(run), 2);
	}
	assert_untouched(root, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(recorded_profiles_have_the_times_of_the_vendor),
		with_fixture(recorded_operators_have_the_times_of_the_vendor),
		with_fixture(recorded_analysis_dbs_alone_are_ranks_with_named_communicators),
		with_fixture(recorded_profiles_are_not_touched),
	};

	return cmocka_run_group_tests_name("load_recorded", tests, NULL, NULL);
}
