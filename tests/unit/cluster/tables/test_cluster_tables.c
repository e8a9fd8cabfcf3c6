/* SPDX-License-Identifier: Apache-2.0 */
/* Names, rows and leaves of the tables of a merged run. */
#include "npuprof/cluster_tables.h"

#include "npuprof/align.h"

#include "np_cluster_fixture.h"

/* --- all tables ------------------------------------------------------------------------------ */

static void every_table_has_a_name_of_its_own_and_a_summary(void **state)
{
	(void)state;
	for (size_t i = 0; i < np_cluster_relation_count; i++) {
		const struct np_relation *relation = np_cluster_relations[i];

		assert_true(*relation->name != '\0');
		assert_true(*relation->summary != '\0');
		assert_non_null(relation->produce);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(relation->name, np_cluster_relations[j]->name);
	}
}

static void columns_of_a_table_have_names_of_their_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < np_cluster_relation_count; i++) {
		const struct np_relation *relation = np_cluster_relations[i];

		assert_true(relation->column_count > 0);
		for (size_t j = 0; j < relation->column_count; j++) {
			for (size_t k = 0; k < j; k++)
				assert_string_not_equal(relation->columns[j].name,
							relation->columns[k].name);
		}
	}
}

/* --- rows ------------------------------------------------------------------------------------ */

static struct np_analysis *analyse(struct np_run *run)
{
	struct np_analysis *analysis = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_analysis_build(run, NULL, 1, &analysis, &err), err);
	return analysis;
}

/* A table as CSV. */
static void assert_table(const struct np_relation *relation, const struct np_analysis *analysis,
			 const char *expected)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_text_sink sink;

	np_csv_sink_init(&sink, &buf, NULL);
	assert_ok(np_relation_write(relation, analysis, &sink.base, &err), err);
	assert_string_equal(buf.text, expected);
}

static size_t count_rows(const struct np_relation *relation, const struct np_analysis *analysis)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_text_sink sink;
	size_t lines = 0;

	np_csv_sink_init(&sink, &buf, NULL);
	assert_ok(np_relation_write(relation, analysis, &sink.base, &err), err);
	for (size_t i = 0; i < buf.length; i++)
		lines += buf.text[i] == '\n';
	return lines - 1;
}

/* Its device, its host, its clock, and what the database was made of. */
static void a_rank_without_anything_has_hardly_any_rows(void **state)
{
	static const struct {
		const char *table;
		size_t rows;
	} expected[] = {
		{ "RankDeviceMap", 1 }, { "np_charge", 1 }, { "np_clock", 1 }, { "np_run_info", 15 }
	};
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct np_run *run = np_run_new();

	(void)state;
	(void)add_rank(run, 0, true);
	analysis = analyse(run);
	for (size_t i = 0; i < np_cluster_relation_count; i++) {
		const struct np_relation *relation = np_cluster_relations[i];
		size_t rows = 0;

		for (size_t j = 0; j < NP_COUNT(expected); j++) {
			if (strcmp(relation->name, expected[j].table) == 0)
				rows = expected[j].rows;
		}
		if (count_rows(relation, analysis) != rows)
			fail_msg("%s has %zu rows", relation->name, count_rows(relation, analysis));
	}
}

static void step_times_are_in_microseconds_with_all_digits(void **state)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct np_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 3, true);
	struct np_step_time *time;

	(void)state;
	(void)add_step(run, rank, "50");
	time = np_vec_add(&rank->times, NULL);
	assert_non_null(time);
	*time = (struct np_step_time){ .computing = 1501,
				       .communication_not_overlapped = 2000,
				       .overlapped = 0,
				       .communication = 2000,
				       .free = 7,
				       .stage = 3508,
				       .bubble = 0,
				       .preparing = NP_UNKNOWN,
				       .span = 3508,
				       .e2e = NP_UNKNOWN };
	analysis = analyse(run);
	assert_table(&np_table_step_trace_time, analysis,
		     "step,type,index,computing,communication_not_overlapped,overlapped,"
		     "communication,free,stage,bubble,"
		     "communication_not_overlapped_and_exclude_receive,preparing,dp_index,"
		     "pp_index,tp_index\n"
		     "50,rank,3,1.501,2,0,2,0.007,3.508,0,2,,,,\n");
}

/* A rank with one step that ends 7 us before the device has something to do again. */
static struct np_rank *add_idle_rank(struct np_run *run, int32_t id, enum np_source source)
{
	struct np_rank *rank = add_rank(run, id, true);
	struct np_step_time *time = np_vec_add(&rank->times, NULL);

	(void)add_step(run, rank, "1");
	assert_non_null(time);
	*time = (struct np_step_time){ .computing = 5000,
				       .stage = 6000,
				       .free = 1000,
				       .span = 6000,
				       .iteration = 13000,
				       .between[NP_BETWEEN_HOST] = 7000,
				       .trailing = 7000 };
	rank->step_source = source;
	return rank;
}

static const char step_trace_head[] =
	"step,type,index,computing,communication_not_overlapped,overlapped,communication,free,stage,"
	"bubble,communication_not_overlapped_and_exclude_receive,preparing,dp_index,pp_index,tp_index\n";

static void assert_step_trace(const struct np_analysis *analysis, const char *rows)
{
	NP_CLEANUP(np_buf_release) struct np_buf expected = NP_BUF_INIT;

	np_buf_printf(&expected, "%s%s", step_trace_head, rows);
	assert_table(&np_table_step_trace_time, analysis, expected.text);
}

static void the_vendor_counts_idle_time_behind_a_step_in_text_and_not_in_databases(void **state)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *text = NULL;
	NP_CLEANUP(np_analysis_freep) struct np_analysis *db = NULL;
	struct np_run *run = np_run_new();

	(void)state;
	(void)add_idle_rank(run, 0, NP_FROM_TRACE);
	text = analyse(run);
	assert_step_trace(text, "1,rank,0,5,0,0,0,8,13,0,0,0,,,\n");
	run = np_run_new();
	(void)add_idle_rank(run, 0, NP_FROM_RANK_DB);
	db = analyse(run);
	assert_step_trace(db, "1,rank,0,5,0,0,0,1,6,0,0,0,,,\n");
}

static void a_run_of_both_forms_has_that_of_databases_for_all(void **state)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct np_run *run = np_run_new();

	(void)state;
	(void)add_idle_rank(run, 0, NP_FROM_TRACE);
	(void)add_idle_rank(run, 1, NP_FROM_RANK_DB);
	analysis = analyse(run);
	assert_step_trace(analysis, "1,rank,0,5,0,0,0,1,6,0,0,0,,,\n"
				    "1,rank,1,5,0,0,0,1,6,0,0,0,,,\n");
}

static void our_own_table_follows_no_form(void **state)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct np_run *run = np_run_new();
	struct np_rank *rank;

	(void)state;
	(void)add_idle_rank(run, 0, NP_FROM_TRACE);
	rank = add_idle_rank(run, 1, NP_FROM_TEXT);
	rank->times.item[0].iteration = NP_UNKNOWN;
	analysis = analyse(run);
	assert_table(&np_table_step, analysis,
		     "rank,device,step,computing_ns,communication_not_overlapped_ns,free_ns,"
		     "preparing_ns,span_ns,iteration_ns,between_ns,source\n"
		     "0,0,1,5000,0,1000,0,6000,13000,7000,intervals\n"
		     "1,0,1,5000,0,1000,0,6000,,,vendor\n");
}

static void the_base_info_applies_where_every_size_is_known(void **state)
{
	static const char name[] = "ClusterBaseInfo";
	with_run *run = np_run_new();
	with_cluster *cluster = NULL;
	struct np_analysis analysis = { 0 };
	const struct np_relation *base = NULL;

	(void)state;
	(void)add_rank(run, 0, true);
	cluster = build(run);
	analysis.cluster = cluster;
	for (size_t i = 0; i < np_cluster_relation_count; i++) {
		const struct np_relation *relation = np_cluster_relations[i];

		if (strcmp(relation->name, name) == 0)
			base = relation;
		else if (strncmp(relation->name, "np_memory_", 10) == 0)
			assert_false(np_cluster_relation_applies(relation, &analysis));
		else
			assert_true(np_cluster_relation_applies(relation, &analysis));
	}
	assert_non_null(base);
	cluster->parallel = (struct np_parallel){
		.known = true, .world = 8, .tp = 2, .pp = 2, .dp = 2, .cp = 1
	};
	assert_false(np_cluster_relation_applies(base, &analysis));
	cluster->parallel.ep = 1;
	assert_true(np_cluster_relation_applies(base, &analysis));
}

/* --- the critical path ----------------------------------------------------------------------- */

static void a_piece_of_the_path_is_named_by_communicator_and_role(void **state)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct np_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);
	struct np_path_piece piece = { .rank = 0, .work = NP_WORK_COMPUTE };
	char leaf[64];

	(void)state;
	(void)add_op(rank, add_group(run, rank, 7, "tp", LIST(0)), false);
	(void)add_op(rank, add_group(run, rank, 9, NULL, LIST(0)), false);
	analysis = analyse(run);
	assert_int_equal(analysis->align->communicators.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		bool named = analysis->align->communicators.item[i].hash == 7;

		piece.communicator = i;
		np_path_leaf(analysis, &piece, leaf, sizeof(leaf));
		assert_string_equal(leaf, named ? "comm/tp/transfer" : "comm/9/transfer");
	}
	/* Of a rank without intervals nothing is known between operators. */
	piece.communicator = UINT32_MAX;
	np_path_leaf(analysis, &piece, leaf, sizeof(leaf));
	assert_string_equal(leaf, "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_has_a_name_of_its_own_and_a_summary),
		cmocka_unit_test(columns_of_a_table_have_names_of_their_own),
		cmocka_unit_test(a_rank_without_anything_has_hardly_any_rows),
		cmocka_unit_test(step_times_are_in_microseconds_with_all_digits),
		cmocka_unit_test(
			the_vendor_counts_idle_time_behind_a_step_in_text_and_not_in_databases),
		cmocka_unit_test(a_run_of_both_forms_has_that_of_databases_for_all),
		cmocka_unit_test(our_own_table_follows_no_form),
		cmocka_unit_test(the_base_info_applies_where_every_size_is_known),
		cmocka_unit_test(a_piece_of_the_path_is_named_by_communicator_and_role),
	};

	return cmocka_run_group_tests_name("cluster_tables", tests, NULL, NULL);
}
