/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how what the vendor derives of a rank is written. */
#include "core/model/vendor/analysis_out.h"

#include <stdlib.h>

#include "np_test.h"

/* The titles of a file, separated by commas. */
static void titles(const struct np_column *columns, size_t count, struct np_buf *ret)
{
	for (size_t i = 0; i < count; i++)
		np_buf_printf(ret, "%s%s", i ? "," : "", columns[i].name);
}

/* What is written of a rank with one step: 4 µs of computing, 1 µs of which is hidden. */
static char *step_trace(struct np_rank *rank, struct np_strtab *strings)
{
	struct np_err err = NP_ERR_INIT;
	struct np_step *step = np_vec_add(&rank->steps, &err);
	struct np_step_time *time = np_vec_add(&rank->times, &err);
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(step);
	assert_non_null(time);
	assert_non_null(stream);
	assert_ok(np_strtab_add(strings, "7", 1, &step->id, &err), err);
	*time = (struct np_step_time){ .device = 3,
				       .computing = 4000,
				       .communication_not_overlapped = 1500,
				       .overlapped = 1000,
				       .communication = 2500,
				       .free = 0,
				       .stage = 5500,
				       .bubble = 500,
				       .preparing = NP_UNKNOWN };
	assert_ok(np_step_trace_write(rank, strings, stream, &err), err);
	assert_int_equal(fclose(stream), 0);
	return text;
}

static void a_step_of_a_rank_is_a_row_of_microseconds(void **state)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(0, "/somewhere");
	struct np_strtab *strings = np_strtab_new();
	char *text;

	(void)state;
	assert_non_null(rank);
	assert_non_null(strings);
	text = step_trace(rank, strings);
	assert_string_equal(text,
			    "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,"
			    "Communication,Free,Stage,Bubble,"
			    "Communication(Not Overlapped and Exclude Receive),Preparing\n"
			    "3,7,4.0,1.5,1.0,2.5,0.0,5.5,0.5,1.0,\n");
	free(text);
	np_strtab_free(strings);
}

static void the_file_of_a_cluster_has_the_figures_of_a_rank_under_the_same_titles(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	(void)state;
	titles(np_cluster_step_columns, NP_CLUSTER_STEP_COLUMNS, &text);
	assert_string_equal(text.text,
			    "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,"
			    "Communication,Free,Stage,Bubble,"
			    "Communication(Not Overlapped and Exclude Receive),Preparing,"
			    "DP Index,PP Index,TP Index");
}

static void communication_is_written_where_sizes_are_known(void **state)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(0, "/somewhere");

	(void)state;
	assert_non_null(rank);
	rank->sizes_known = true;
	assert_false(np_analysis_has_communication(rank));
	assert_non_null(np_vec_add(&rank->ops, NULL));
	assert_true(np_analysis_has_communication(rank));
	rank->sizes_known = false;
	assert_false(np_analysis_has_communication(rank));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_of_a_rank_is_a_row_of_microseconds),
		cmocka_unit_test(
			the_file_of_a_cluster_has_the_figures_of_a_rank_under_the_same_titles),
		cmocka_unit_test(communication_is_written_where_sizes_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
