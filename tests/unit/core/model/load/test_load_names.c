/* SPDX-License-Identifier: Apache-2.0 */
#include "np_load_fixture.h"

static const struct np_group *group_of(const struct np_rank *rank, const char *name)
{
	for (size_t i = 0; i < rank->groups.count; i++) {
		if (rank->groups.item[i].hash == hash_of(name))
			return &rank->groups.item[i];
	}
	fail_msg("no communicator %s", name);
	return NULL;
}

static const char group_json[] =
	"{\"group_a\": {\"group_name\": \"dp\", \"group_rank\": 1, \"global_ranks\": [6, 2, 4]}}";

static const char args_json[] =
	"{\"tensor_model_parallel_size\": 2, \"pipeline_model_parallel_size\": 3,"
	" \"data_parallel_size\": 4, \"context_parallel_size\": 1,"
	" \"expert_model_parallel_size\": 1, \"sequence_parallel\": true, \"world_size\": 24}";

static void assert_known_metadata(const struct np_run *run, const struct np_rank *rank)
{
	const struct np_group *group = group_of(rank, "group_a");

	assert_string_equal(np_run_text(run, group->name), "group_a");
	assert_string_equal(np_run_text(run, group->pg_name), "dp");
	assert_int_equal(group->group_rank, 1);
	assert_int_equal(group->member_count, 3);
	assert_int_equal(group->members[0], 2);
	assert_int_equal(group->members[1], 4);
	assert_int_equal(group->members[2], 6);
	assert_true(rank->parallel.known);
	assert_int_equal(rank->parallel.world, 24);
	assert_int_equal(rank->parallel.tp, 2);
	assert_int_equal(rank->parallel.pp, 3);
	assert_int_equal(rank->parallel.dp, 4);
	assert_true(rank->parallel.sequence_parallel);
}

static void communicators_are_named_by_meta_data(void **state)
{
	char sql[1024];

	(void)state;
	(void)snprintf(sql, sizeof(sql),
		       "INSERT INTO META_DATA VALUES('parallel_group_info', '%s'),"
		       " ('distributed_args', '%s')",
		       group_json, args_json);
	make_rank_db(0, sql);
	{
		with_run *run = load();

		assert_known_metadata(run, np_run_rank(run, 0));
		/* The other is known from its operators alone. */
		assert_string_equal(
			np_run_text(run, group_of(np_run_rank(run, 0), "group_b")->name),
			"group_b");
		assert_null(group_of(np_run_rank(run, 0), "group_b")->members);
	}
}

static void communicators_are_named_by_profiler_metadata(void **state)
{
	char json[1024];

	(void)state;
	make_rank_db(0, NULL);
	(void)snprintf(json, sizeof(json),
		       "{\"parallel_group_info\": %s, \"distributed_args\": %s}", group_json,
		       args_json);
	write_text(below("rank0/profiler_metadata.json"), json);
	{
		with_run *run = load();

		assert_known_metadata(run, np_run_rank(run, 0));
	}
}

static void metadata_names_the_communicators_of_an_analysis_db_alone(void **state)
{
	char json[1024];

	(void)state;
	make_analysis_db(0, NULL);
	(void)snprintf(json, sizeof(json),
		       "{\"parallel_group_info\": %s, \"distributed_args\": %s}", group_json,
		       args_json);
	write_text(below("rank0/profiler_metadata.json"), json);
	{
		with_run *run = load();

		assert_known_metadata(run, np_run_rank(run, 0));
	}
}

static void damaged_metadata_is_listed_and_the_rank_used(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO META_DATA VALUES('distributed_args', '{\"world_size\": ')");
	write_text(below("rank0/profiler_metadata.json"), "{\"parallel_group_info\": [");
	write_text(below("rank0/profiler_info_0.json"), "");
	{
		with_run *run = load();

		assert_known_steps(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "profiler_metadata", "");
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "profiler_info", "");
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "META_DATA distributed_args", "");
	}
}

static void a_list_of_members_without_a_number_is_not_known(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	write_text(below("rank0/profiler_metadata.json"),
		   "{\"parallel_group_info\": {\"group_a\": {\"global_ranks\": [\"x\", null]},"
		   " \"group_b\": {\"global_ranks\": []}}}");
	{
		with_run *run = load();

		assert_null(group_of(np_run_rank(run, 0), "group_a")->members);
		assert_null(group_of(np_run_rank(run, 0), "group_b")->members);
	}
}

static void odd_metadata_is_survived(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO META_DATA VALUES('parallel_group_info', '[1, 2]'),"
			" ('distributed_args', '7'), (NULL, 'x'), ('SCHEMA_VERSION', NULL)");
	write_text(below("rank0/profiler_metadata.json"),
		   "{\"parallel_group_info\": {\"\": 5, \"group_a\": \"text\"},"
		   " \"distributed_args\": {\"world_size\": -3, \"data_parallel_size\": 1e99,"
		   " \"tensor_model_parallel_size\": \"2\"}}");
	{
		with_run *run = load();

		assert_known_steps(run, np_run_rank(run, 0));
		assert_int_equal(np_run_rank(run, 0)->parallel.world, 0);
		assert_int_equal(np_run_rank(run, 0)->parallel.dp, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(communicators_are_named_by_meta_data),
		with_fixture(communicators_are_named_by_profiler_metadata),
		with_fixture(metadata_names_the_communicators_of_an_analysis_db_alone),
		with_fixture(damaged_metadata_is_listed_and_the_rank_used),
		with_fixture(a_list_of_members_without_a_number_is_not_known),
		with_fixture(odd_metadata_is_survived),
	};

	return cmocka_run_group_tests_name("load_names", tests, NULL, NULL);
}
