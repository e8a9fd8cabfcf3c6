/* SPDX-License-Identifier: Apache-2.0 */
/* The views of a rank, over a detail that is made by hand. */
#include "np_advisor_fixture.h"

#include "npuprof/align.h"

#include "np_random.h"

#include "advisor/engine/views/view_bulk.h"
#include "advisor/engine/views/view_order.h"
#include "advisor/engine/views/views.h"

/* A run of rank 7 with one step, "50", and its views. */
struct sight {
	struct np_run *run;
	struct np_rank *rank;
	struct np_detail *detail;
	struct adv_view_rank source;
	struct adv_view_set set;
};

static np_str text(struct np_strtab *strings, const char *bytes)
{
	struct np_err err = NP_ERR_INIT;
	np_str id = NP_STR_NONE;

	assert_ok(np_strtab_add(strings, bytes, strlen(bytes), &id, &err), err);
	return id;
}

static void begin(struct sight *sight)
{
	struct np_err err = NP_ERR_INIT;
	struct np_step *step;

	*sight = (struct sight){ .run = np_run_new(), .rank = np_rank_new(7, "rank7") };
	assert_non_null(sight->run);
	assert_non_null(sight->rank);
	assert_non_null(np_vec_add(&sight->run->sources, &err));
	sight->run->ranks = calloc(1, sizeof(struct np_rank *));
	assert_non_null(sight->run->ranks);
	sight->run->ranks[0] = sight->rank;
	step = np_vec_add(&sight->rank->steps, &err);
	assert_non_null(step);
	*step = (struct np_step){ .id = text(sight->run->strings, "50"),
				  .host_begin = 100,
				  .host_end = NP_UNKNOWN,
				  .begin = 1000,
				  .end = 2000 };
	sight->detail = np_detail_new(sight->rank);
	assert_non_null(sight->detail);
	sight->source = (struct adv_view_rank){ .run = sight->run,
						.rank = sight->rank,
						.detail = sight->detail };
}

/* After the rows are there. */
static struct adv_view *open_view(struct sight *sight, const char *name)
{
	struct np_err err = NP_ERR_INIT;
	struct adv_view *view;

	assert_ok(adv_view_set_add_rank(&sight->set, &sight->source, false, &err), err);
	view = adv_view_set_find(&sight->set, name);
	assert_non_null(view);
	assert_ok(adv_view_open(view, &err), err);
	return view;
}

static void end(struct sight *sight)
{
	adv_view_set_release(&sight->set);
	np_detail_free(sight->detail);
	np_run_free(sight->run);
}

static struct np_cell cell(const struct adv_view *view, size_t row, const char *column)
{
	size_t index = adv_view_column(view, column);

	assert_true(index < view->column_count);
	return view->cell(view, row, index);
}

static int64_t number(const struct adv_view *view, size_t row, const char *column)
{
	struct np_cell value = cell(view, row, column);

	assert_int_equal(value.type, NP_CELL_INTEGER);
	return value.integer;
}

static void assert_null_cell(const struct adv_view *view, size_t row, const char *column)
{
	assert_int_equal(cell(view, row, column).type, NP_CELL_NULL);
}

static void assert_text(const struct adv_view *view, size_t row, const char *column,
			const char *expected)
{
	struct np_cell value = cell(view, row, column);

	assert_int_equal(value.type, NP_CELL_TEXT);
	assert_int_equal(value.text.length, strlen(expected));
	assert_memory_equal(value.text.bytes, expected, value.text.length);
}

static struct np_kernel *add_kernel(struct sight *sight, np_ns start, np_ns length)
{
	struct np_err err = NP_ERR_INIT;
	struct np_kernel *kernel = np_vec_add(&sight->detail->kernels, &err);

	assert_non_null(kernel);
	*kernel = (struct np_kernel){ .start = start,
				      .end = start + length,
				      .wait = NP_UNKNOWN,
				      .connection = NP_UNKNOWN,
				      .name = text(sight->detail->strings, "MatMul_3"),
				      .step = 0,
				      .device = -1 };
	return kernel;
}

static void a_column_is_the_member_of_its_row(void **state)
{
	struct adv_view *view;
	struct sight sight;

	(void)state;
	begin(&sight);
	add_kernel(&sight, 1000, 25);
	add_kernel(&sight, 1100, 30)->schedule = true;
	view = open_view(&sight, "v_kernel");
	assert_int_equal(view->rows, 2);
	assert_int_equal(number(view, 1, "rank"), 7);
	assert_int_equal(number(view, 1, "id"), 1);
	assert_int_equal(number(view, 1, "start_ns"), 1100);
	assert_int_equal(number(view, 1, "dur_ns"), 30);
	assert_int_equal(number(view, 1, "device"), -1);
	assert_int_equal(number(view, 0, "for_comm"), 0);
	assert_int_equal(number(view, 1, "for_comm"), 1);
	assert_int_equal(number(view, 0, "in_step"), 1);
	assert_text(view, 0, "name", "MatMul_3");
	assert_text(view, 0, "step", "50");
	end(&sight);
}

static void what_is_not_known_is_null(void **state)
{
	struct adv_view *view;
	struct sight sight;

	(void)state;
	begin(&sight);
	add_kernel(&sight, 1000, 25)->step = NP_NO_STEP;
	view = open_view(&sight, "v_kernel");
	assert_null_cell(view, 0, "wait_ns");
	assert_null_cell(view, 0, "conn_id");
	assert_null_cell(view, 0, "op_type");
	assert_null_cell(view, 0, "step");
	assert_null_cell(view, 0, "busiest");
	assert_null_cell(view, 0, "aic_mac_ratio");
	assert_int_equal(number(view, 0, "in_step"), 0);
	assert_false(view->known(view, adv_view_column(view, "op_type")));
	assert_true(view->known(view, adv_view_column(view, "name")));
	end(&sight);
}

static void a_row_that_points_to_nothing_has_null_there(void **state)
{
	static const uint32_t ops[] = { 0, NP_NO_ROW };
	struct np_err err = NP_ERR_INIT;
	struct np_detail_op *op;
	struct adv_view *view;
	struct sight sight;

	(void)state;
	begin(&sight);
	op = np_vec_add(&sight.detail->ops, &err);
	assert_non_null(op);
	*op = (struct np_detail_op){ .op_id = 11,
				     .name = text(sight.detail->strings, "hcom_allReduce_1"),
				     .step = 0 };
	for (size_t i = 0; i < NP_COUNT(ops); i++) {
		struct np_sub_task *task = np_vec_add(&sight.detail->sub_tasks, &err);

		assert_non_null(task);
		*task = (struct np_sub_task){ .bytes = 5, .bandwidth = 2.5, .op = ops[i] };
	}
	view = open_view(&sight, "v_comm_task");
	assert_int_equal(number(view, 0, "op"), 0);
	assert_int_equal(number(view, 0, "op_id"), 11);
	assert_text(view, 0, "op_name", "hcom_allReduce_1");
	assert_text(view, 0, "step", "50");
	assert_null_cell(view, 1, "op");
	assert_null_cell(view, 1, "op_id");
	assert_null_cell(view, 1, "op_name");
	assert_null_cell(view, 1, "step");
	assert_int_equal(number(view, 1, "size_b"), 5);
	assert_near(cell(view, 1, "bw_gbs").real, 2.5, 0);
	end(&sight);
}

static void the_window_of_a_step_is_that_of_the_step_a_time_belongs_to(void **state)
{
	static const uint32_t steps[] = { 0, NP_NO_STEP };
	struct np_err err = NP_ERR_INIT;
	struct adv_view *view;
	struct sight sight;

	(void)state;
	begin(&sight);
	for (size_t i = 0; i < NP_COUNT(steps); i++) {
		struct np_step_time *time = np_vec_add(&sight.rank->times, &err);

		assert_non_null(time);
		*time = (struct np_step_time){ .step = steps[i], .span = 900 };
	}
	view = open_view(&sight, "v_step");
	assert_int_equal(number(view, 0, "start_ns"), 1000);
	assert_int_equal(number(view, 0, "end_ns"), 2000);
	/* The host's step has no end, so that its length is not known. */
	assert_null_cell(view, 0, "host_step_ns");
	assert_null_cell(view, 1, "start_ns");
	assert_int_equal(number(view, 1, "dur_ns"), 900);
	assert_null_cell(view, 1, "stage");
	end(&sight);
}

static void kernels_that_are_alike_are_one_row(void **state)
{
	struct adv_view *view;
	struct sight sight;

	(void)state;
	begin(&sight);
	add_kernel(&sight, 1000, 25);
	add_kernel(&sight, 1100, 10)->type = text(sight.detail->strings, "Add");
	add_kernel(&sight, 1200, 35);
	view = open_view(&sight, "v_kernel_group");
	assert_int_equal(view->rows, 2);
	assert_int_equal(number(view, 0, "id"), 0);
	assert_int_equal(number(view, 0, "n"), 2);
	assert_int_equal(number(view, 0, "dur_ns"), 60);
	assert_int_equal(number(view, 0, "min_ns"), 25);
	assert_int_equal(number(view, 0, "max_ns"), 35);
	assert_text(view, 0, "name", "MatMul_3");
	assert_int_equal(number(view, 1, "id"), 1);
	assert_text(view, 1, "op_type", "Add");
	end(&sight);
}

static void a_sample_holds_until_the_next_one_of_its_device(void **state)
{
	static const struct np_frequency samples[] = { { 10, 1800, 0 },
						       { 20, 1000, 1 },
						       { 30, 800, 0 } };
	struct np_err err = NP_ERR_INIT;
	struct adv_view *view;
	struct sight sight;

	(void)state;
	begin(&sight);
	for (size_t i = 0; i < NP_COUNT(samples); i++) {
		struct np_frequency *sample = np_vec_add(&sight.detail->frequency, &err);

		assert_non_null(sample);
		*sample = samples[i];
	}
	view = open_view(&sight, "v_freq");
	assert_int_equal(number(view, 0, "end_ns"), 30);
	assert_null_cell(view, 1, "end_ns");
	assert_null_cell(view, 2, "end_ns");
	end(&sight);
}

static void variables_are_settings_under_their_own_names(void **state)
{
	static const char *const names[] = { "ENV_VARIABLES.HCCL_ALGO", "config.level" };
	struct np_err err = NP_ERR_INIT;
	struct adv_view *view;
	struct sight sight;

	(void)state;
	begin(&sight);
	for (size_t i = 0; i < NP_COUNT(names); i++) {
		struct np_setting *setting = np_vec_add(&sight.detail->settings, &err);

		assert_non_null(setting);
		setting->name = text(sight.detail->strings, names[i]);
		setting->value = text(sight.detail->strings, "ring");
	}
	view = open_view(&sight, "v_env");
	assert_int_equal(view->rows, 1);
	assert_text(view, 0, "name", "HCCL_ALGO");
	assert_text(view, 0, "value", "ring");
	view = adv_view_set_find(&sight.set, "v_setting");
	assert_ok(adv_view_open(view, &err), err);
	assert_int_equal(view->rows, 2);
	assert_text(view, 1, "name", "config.level");
	end(&sight);
}

static void gaps_lie_between_what_ran_in_a_step(void **state)
{
	struct adv_view *view;
	struct sight sight;

	(void)state;
	begin(&sight);
	add_kernel(&sight, 1000, 25);
	add_kernel(&sight, 1020, 15);
	add_kernel(&sight, 1100, 10);
	view = open_view(&sight, "v_free");
	/* 1000…1035 and 1100…1110 are busy. */
	assert_int_equal(view->rows, 1);
	assert_int_equal(number(view, 0, "start_ns"), 1035);
	assert_int_equal(number(view, 0, "end_ns"), 1100);
	assert_int_equal(number(view, 0, "dur_ns"), 65);
	assert_text(view, 0, "step", "50");
	end(&sight);
}

/*
 * Two steps: the first is busy 1000…1100, the second from 1500 on. A kernel of no step runs
 * 1200…1250 in between.
 */
static void gaps_between_steps_are_marked_as_such(void **state)
{
	const struct np_step_time time = {
		.step = 0,
		.begin = 1000,
		.span = 100,
		.iteration = 500,
		.between = { [NP_BETWEEN_HOST] = 350, [NP_BETWEEN_OTHER] = 50 }
	};
	struct np_err err = NP_ERR_INIT;
	struct np_step_time *slot;
	struct adv_view *view;
	struct sight sight;

	(void)state;
	begin(&sight);
	add_kernel(&sight, 1000, 100);
	add_kernel(&sight, 1200, 50);
	sight.detail->kernels.item[1].step = NP_NO_STEP;
	slot = np_vec_add(&sight.rank->times, &err);
	assert_non_null(slot);
	*slot = time;
	view = open_view(&sight, "v_free");
	assert_int_equal(view->rows, 2);
	assert_int_equal(number(view, 0, "start_ns"), 1100);
	assert_int_equal(number(view, 0, "end_ns"), 1200);
	assert_int_equal(number(view, 1, "start_ns"), 1250);
	assert_int_equal(number(view, 1, "end_ns"), 1500);
	assert_int_equal(number(view, 1, "is_between"), 1);
	view = adv_view_set_find(&sight.set, "v_step");
	assert_ok(adv_view_open(view, &err), err);
	assert_int_equal(number(view, 0, "iteration_ns"), 500);
	assert_int_equal(number(view, 0, "between_ns"), 400);
	assert_int_equal(number(view, 0, "between_host_ns"), 350);
	assert_int_equal(number(view, 0, "between_other_ns"), 50);
	end(&sight);
}

/* What is not known is NULL and not 0. */
static void a_step_without_an_iteration_has_nothing_between(void **state)
{
	const struct np_step_time time = {
		.step = 0, .begin = NP_UNKNOWN, .span = 100, .iteration = NP_UNKNOWN
	};
	static const char *const columns[] = { "iteration_ns",          "between_ns",
					       "between_dataloader_ns", "between_host_ns",
					       "between_other_ns",      "between_unknown_ns" };
	struct np_err err = NP_ERR_INIT;
	struct np_step_time *slot;
	struct adv_view *view;
	struct sight sight;

	(void)state;
	begin(&sight);
	slot = np_vec_add(&sight.rank->times, &err);
	assert_non_null(slot);
	*slot = time;
	view = open_view(&sight, "v_step");
	for (size_t i = 0; i < NP_COUNT(columns); i++) {
		struct np_cell cell = view->cell(view, 0, adv_view_column(view, columns[i]));

		assert_int_equal(cell.type, NP_CELL_NULL);
	}
	end(&sight);
}

static void a_view_without_rows_can_be_opened(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct sight sight;

	(void)state;
	begin(&sight);
	(void)open_view(&sight, "v_kernel");
	for (size_t i = 0; i < sight.set.list.count; i++) {
		struct adv_view *view = &sight.set.list.item[i];

		assert_ok(adv_view_open(view, &err), err);
		for (size_t row = 0; row < view->rows; row++) {
			for (size_t c = 0; c < view->column_count; c++)
				(void)view->cell(view, row, c);
		}
	}
	end(&sight);
}

/* Kernels and calls of all kinds, in no order. */
static void add_many(struct sight *sight, uint64_t *random, size_t count)
{
	static const char *const names[] = { "MatMul", "Add", "aten::add", "aten::mul",
					     "Optimizer" };
	struct np_strtab *strings = sight->detail->strings;
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; i < count; i++) {
		np_ns start = 900 + (np_ns)np_random_below(random, 1000);
		np_str name = text(strings, names[np_random_below(random, NP_COUNT(names))]);
		struct np_kernel *kernel =
			add_kernel(sight, start, (np_ns)np_random_below(random, 40));
		struct np_framework_call *call = np_vec_add(&sight->detail->framework, &err);
		struct np_call *api = np_vec_add(&sight->detail->calls, &err);

		assert_non_null(call);
		assert_non_null(api);
		kernel->step = np_random_below(random, 3) ? 0 : NP_NO_STEP;
		kernel->name = name;
		kernel->type = np_random_below(random, 4) ? name : NP_STR_NONE;
		kernel->stream = np_random_below(random, 5) ? (int64_t)np_random_below(random, 9)
							    : NP_UNKNOWN;
		*call = (struct np_framework_call){ .start = start,
						    .end = start + 5,
						    .name = name,
						    .tid = (int64_t)np_random_below(random, 3),
						    .top = np_random_below(random, 2) == 0,
						    .step = kernel->step };
		*api = (struct np_call){ .start = start,
					 .end = start + 1,
					 .name = name,
					 .tid = INT64_C(1) << np_random_below(random, 60),
					 .level = NP_CALL_NODE,
					 .connection = kernel->stream,
					 .step = kernel->step };
	}
	sight->detail->has = NP_DETAIL_KERNELS | NP_DETAIL_FRAMEWORK | NP_DETAIL_CALLS;
}

static void assert_same(struct np_cell a, struct np_cell b)
{
	assert_int_equal(a.type, b.type);
	assert_int_equal(adv_cell_compare(&a, &b), 0);
}

static void assert_bulk(const struct adv_view *view, size_t column)
{
	int64_t *numbers = calloc(view->rows + 1, sizeof(*numbers));
	struct adv_view_ids ids;

	assert_non_null(numbers);
	if (adv_view_numbers(view, column, NULL, view->rows, numbers)) {
		for (size_t row = 0; row < view->rows; row++)
			assert_same(view->cell(view, row, column), np_cell_integer(numbers[row]));
		for (uint32_t row = 0; row < view->rows; row++) {
			int64_t one;

			assert_true(adv_view_numbers(view, column, &row, 1, &one));
			assert_true(one == numbers[row]);
		}
	}
	if (adv_view_text_ids(view, column, &ids)) {
		for (size_t row = 0; row < view->rows; row++) {
			np_str id = adv_view_id(&ids, row);

			assert_same(view->cell(view, row, column),
				    id == NP_STR_NONE
					    ? np_cell_null()
					    : np_cell_text(np_strtab_text(ids.texts, id)));
		}
	}
	free(numbers);
}

static void assert_order(struct adv_view *view, size_t column)
{
	const struct adv_view_order *order;
	struct np_err err = NP_ERR_INIT;

	assert_ok(adv_view_order(view, column, &order, &err), err);
	for (size_t i = 1; i < view->rows; i++) {
		struct np_cell a = view->cell(view, order->row[i - 1], column);
		struct np_cell b = view->cell(view, order->row[i], column);
		int side = adv_cell_compare(&a, &b);

		assert_true(side <= 0);
		assert_int_equal(order->code[order->row[i]],
				 order->code[order->row[i - 1]] + (side < 0));
		if (side == 0)
			assert_true(order->row[i - 1] < order->row[i]);
	}
}

static void a_whole_column_is_that_of_its_cells(void **state)
{
	static const char *const names[] = { "v_kernel", "v_kernel_group", "v_host_api",
					     "v_cann_api", "v_step" };
	struct np_err err = NP_ERR_INIT;
	uint64_t random = 5;
	struct sight sight;

	(void)state;
	begin(&sight);
	add_many(&sight, &random, 150);
	(void)open_view(&sight, "v_kernel");
	for (size_t i = 0; i < NP_COUNT(names); i++) {
		struct adv_view *view = adv_view_set_find(&sight.set, names[i]);

		assert_non_null(view);
		assert_ok(adv_view_open(view, &err), err);
		for (size_t c = 0; c < view->column_count; c++) {
			assert_bulk(view, c);
			assert_order(view, c);
		}
	}
	end(&sight);
}

/* A source that SQLite does not look at, and the same with a condition that only it can. */
static void plain_conditions_are_those_of_sql(void **state)
{
	static const char *const conditions[][2] = {
		{ "in_step = 1", "+in_step = 1" },
		{ "start_ns >= 1200 AND start_ns<1500", "+start_ns BETWEEN 1200 AND 1499" },
		{ "name LIKE 'ATEN::%' and in_step=1",
		  "name || '' LIKE 'aten::%' AND +in_step = 1" },
		{ "name GLOB 'M*'", "substr(name, 1, 1) = 'M'" },
		{ "name REGEXP '(?i)^mat' AND stream > 3",
		  "name || '' = 'MatMul' AND +stream > 3" },
		{ "op_type = 'Add'", "op_type || '' = 'Add'" },
		{ "op_type = 'it''s'", "0" },
		{ "name = 'nobody'", "0" },
		{ "stream <= 4", "+stream <= 4" },
	};
	struct np_err err = NP_ERR_INIT;
	uint64_t random = 6;
	struct adv_sql *sql;
	struct sight sight;

	(void)state;
	begin(&sight);
	add_many(&sight, &random, 200);
	sql = open_sql();
	assert_ok(adv_sql_add_view(sql, open_view(&sight, "v_kernel"), &err), err);
	for (size_t i = 0; i < NP_COUNT(conditions); i++) {
		struct np_buf text[2] = { NP_BUF_INIT, NP_BUF_INIT };
		struct np_buf quoted = NP_BUF_INIT;
		char *expected;

		for (size_t j = 0; j < 2; j++) {
			np_buf_clear(&quoted);
			for (const char *c = conditions[i][j]; *c; c++)
				np_buf_printf(&quoted, *c == '\'' ? "''" : "%c", *c);
			np_buf_printf(
				&text[j],
				"SELECT count(*), sum(o.a_id * (b_id + overlap_ns)), max(covered_ns) FROM overlap("
				"'SELECT id, start_ns, end_ns FROM v_kernel WHERE %s', "
				"'SELECT id, start_ns, end_ns FROM v_kernel') AS o, (SELECT * FROM "
				"covered('SELECT id, start_ns, end_ns FROM v_kernel WHERE %s', "
				"'SELECT rowid, start_ns, end_ns FROM v_kernel') LIMIT 1)",
				quoted.text, quoted.text);
		}
		expected = answer(sql, text[1].text);
		if (strstr(expected, "error"))
			fail_msg("%s", expected);
		assert_answer(sql, text[0].text, expected);
		free(expected);
		np_buf_release(&text[0]);
		np_buf_release(&text[1]);
		np_buf_release(&quoted);
	}
	adv_sql_close(sql);
	end(&sight);
}

static void what_a_view_covers_is_found_once(void **state)
{
	const struct adv_view_cover *cover;
	const struct adv_view_cover *again;
	struct np_err err = NP_ERR_INIT;
	struct adv_view *view;
	struct sight sight;
	size_t begin_column;
	size_t end_column;

	(void)state;
	begin(&sight);
	add_kernel(&sight, 1000, 10);
	add_kernel(&sight, 1005, 10);
	add_kernel(&sight, 1100, 5);
	sight.detail->has = NP_DETAIL_KERNELS;
	view = open_view(&sight, "v_kernel");
	begin_column = adv_view_column(view, "start_ns");
	end_column = adv_view_column(view, "end_ns");
	assert_ok(adv_view_cover(view, begin_column, end_column, &cover, &err), err);
	assert_non_null(cover);
	assert_int_equal(cover->count, 3);
	assert_int_equal(np_spans_total(cover->spans), 20);
	assert_ok(adv_view_cover(view, begin_column, end_column, &again, &err), err);
	assert_ptr_equal(cover, again);
	assert_ok(adv_view_cover(view, end_column, end_column, &again, &err), err);
	assert_null(again);
	end(&sight);
}

static void kernels_of_one_type_are_one_row(void **state)
{
	struct adv_view *view;
	struct sight sight;
	struct np_kernel *other;

	(void)state;
	begin(&sight);
	add_kernel(&sight, 1000, 25)->type = text(sight.detail->strings, "MatMul");
	other = add_kernel(&sight, 1100, 10);
	other->type = text(sight.detail->strings, "MatMul");
	other->name = text(sight.detail->strings, "MatMul_1");
	other->in_shapes = text(sight.detail->strings, "4,8;8,16");
	other->out_shapes = text(sight.detail->strings, "4,16");
	other->in_dtypes = text(sight.detail->strings, "DT_BF16;DT_BF16");
	other->out_dtypes = text(sight.detail->strings, "DT_BF16");
	other->step = NP_NO_STEP;
	other = add_kernel(&sight, 1200, 35);
	other->core = text(sight.detail->strings, "HCCL");
	sight.detail->has = NP_DETAIL_KERNELS;
	view = open_view(&sight, "v_kernel_type");
	assert_int_equal(view->rows, 2);
	assert_text(view, 0, "kind", "MatMul");
	assert_text(view, 0, "name", "MatMul_1");
	assert_int_equal(number(view, 0, "n"), 2);
	assert_int_equal(number(view, 0, "dur_ns"), 35);
	assert_int_equal(number(view, 0, "device_ns"), 35);
	assert_int_equal(number(view, 0, "device_step_ns"), 25);
	/* Only the second has shapes: 1,024 operations in 10 ns; (32 + 128 + 64) numbers of 2
	 * bytes. */
	assert_true(cell(view, 0, "ops_per_ns").real == 102.4);
	assert_true(cell(view, 0, "rated_ops_per_ns").real == 102.4);
	assert_true(cell(view, 0, "bytes_per_ns").real == 44.8);
	assert_null_cell(view, 0, "aic_mac_ratio");
	/* Without a type it is its name; communication is no time of the device. */
	assert_text(view, 1, "kind", "MatMul_3");
	assert_text(view, 1, "core", "HCCL");
	assert_null_cell(view, 1, "device_ns");
	end(&sight);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_column_is_the_member_of_its_row),
		cmocka_unit_test(what_is_not_known_is_null),
		cmocka_unit_test(a_row_that_points_to_nothing_has_null_there),
		cmocka_unit_test(the_window_of_a_step_is_that_of_the_step_a_time_belongs_to),
		cmocka_unit_test(kernels_that_are_alike_are_one_row),
		cmocka_unit_test(a_sample_holds_until_the_next_one_of_its_device),
		cmocka_unit_test(variables_are_settings_under_their_own_names),
		cmocka_unit_test(gaps_lie_between_what_ran_in_a_step),
		cmocka_unit_test(gaps_between_steps_are_marked_as_such),
		cmocka_unit_test(a_step_without_an_iteration_has_nothing_between),
		cmocka_unit_test(a_view_without_rows_can_be_opened),
		cmocka_unit_test(a_whole_column_is_that_of_its_cells),
		cmocka_unit_test(plain_conditions_are_those_of_sql),
		cmocka_unit_test(what_a_view_covers_is_found_once),
		cmocka_unit_test(kernels_of_one_type_are_one_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
