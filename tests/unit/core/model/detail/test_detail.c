/* SPDX-License-Identifier: Apache-2.0 */
#include "np_rank_db.h"
#include "np_synth.h"

#include "np_random.h"

#include "npuprof/detail.h"

/* --- details as text, so that two can be compared and a difference read ----------------------- */

static const char *text(const struct np_detail *detail, np_str id)
{
	return id == NP_STR_NONE ? "-" : np_strtab_text(detail->strings, id);
}

/* Unknown numbers as "-". */
static const char *number(int64_t value)
{
	static char ring[16][32];
	static unsigned at;
	char *slot = ring[at++ % NP_COUNT(ring)];

	if (value == NP_UNKNOWN)
		return "-";
	(void)snprintf(slot, sizeof(ring[0]), "%lld", (long long)value);
	return slot;
}

static void dump_kernels(const struct np_detail *detail, struct np_buf *buf)
{
	for (size_t i = 0; i < detail->kernels.count; i++) {
		const struct np_kernel *k = &detail->kernels.item[i];

		np_buf_printf(buf, "%s %s %s %s %s %s ", number(k->start), number(k->end),
			      number(k->wait), number(k->stream), number(k->task_id),
			      number(k->connection));
		np_buf_printf(buf, "%s %s %s %s %s ", number(k->block_dim),
			      number(k->mix_block_dim), text(detail, k->name),
			      text(detail, k->type), text(detail, k->core));
		np_buf_printf(buf, "%s %s %s %s %s %s %u\n", text(detail, k->in_shapes),
			      text(detail, k->in_dtypes), text(detail, k->in_formats),
			      text(detail, k->out_shapes), text(detail, k->out_dtypes),
			      text(detail, k->out_formats), k->step);
	}
}

static void dump_tasks(const struct np_detail *detail, struct np_buf *buf)
{
	for (size_t i = 0; i < detail->tasks.count; i++) {
		const struct np_device_task *t = &detail->tasks.item[i];

		/* Kernels go by other names in text. */
		np_buf_printf(buf, "%s %s %s %s %s %u %d\n", number(t->start), number(t->end),
			      number(t->stream), number(t->connection),
			      t->role == NP_ROLE_KERNEL ? "kernel" : text(detail, t->type), t->step,
			      t->role);
	}
}

static void dump_calls(const struct np_detail *detail, struct np_buf *buf)
{
	for (size_t i = 0; i < detail->calls.count; i++) {
		const struct np_call *c = &detail->calls.item[i];

		np_buf_printf(buf, "%s %s %s %s %s%s %u\n", number(c->start), number(c->end),
			      number(c->tid), number(c->connection), np_call_level_prefix(c->level),
			      text(detail, c->name), c->step);
	}
}

static void dump_framework(const struct np_detail *detail, struct np_buf *buf)
{
	for (size_t i = 0; i < detail->framework.count; i++) {
		const struct np_framework_call *c = &detail->framework.item[i];

		/* The simulated database has neither the queue nor the rows of steps. */
		if (c->kind == NP_FRAMEWORK_QUEUE || c->kind == NP_FRAMEWORK_STEP)
			continue;
		np_buf_printf(buf, "%s %s %s %s %s %s %d %u %u %d", number(c->start),
			      number(c->end), number(c->tid), text(detail, c->name),
			      text(detail, c->in_shapes), text(detail, c->in_dtypes), c->kind,
			      c->step, c->depth, c->top);
		for (uint32_t j = 0; j < c->link_count; j++)
			np_buf_printf(buf, " %d:%s", detail->links.item[c->first_link + j].kind,
				      number(detail->links.item[c->first_link + j].id));
		np_buf_add_char(buf, '\n');
	}
}

static void dump_ops(const struct np_detail *detail, struct np_buf *buf)
{
	for (size_t i = 0; i < detail->ops.count; i++) {
		const struct np_detail_op *o = &detail->ops.item[i];

		np_buf_printf(buf, "%s %s %s %s %s %s %s %s %s %llu %u %d\n", number(o->start),
			      number(o->end), number(o->connection), number(o->count),
			      number(o->bytes), text(detail, o->name), text(detail, o->type),
			      text(detail, o->data_type), text(detail, o->alg_type),
			      (unsigned long long)o->group_hash, o->step, o->p2p);
	}
}

static void dump_sub_task(const struct np_detail *detail, struct np_buf *buf)
{
	for (size_t i = 0; i < detail->sub_tasks.count; i++) {
		const struct np_sub_task *s = &detail->sub_tasks.item[i];

		np_buf_printf(buf, "%u %s %s %s %s %s %s %s ", s->op, number(s->plane),
			      number(s->start), number(s->end), number(s->bytes), number(s->src),
			      number(s->dst), number(s->stream));
		np_buf_printf(buf, "%s %s %s %s\n", text(detail, s->type),
			      text(detail, s->transport), text(detail, s->link),
			      text(detail, s->rdma_type));
	}
}

static void dump_samples(const struct np_detail *detail, struct np_buf *buf)
{
	/* The simulated trace takes its samples at other times. */
	for (size_t i = 0; i < detail->frequency.count; i++)
		np_buf_printf(buf, "%s\n", number(detail->frequency.item[i].mhz));
}

static void dump_memory(const struct np_detail *detail, struct np_buf *buf)
{
	for (size_t i = 0; i < detail->memory_ops.count; i++) {
		const struct np_memory_op *m = &detail->memory_ops.item[i];

		np_buf_printf(buf, "%s %s %s %s %s %s %s %s %d\n", number(m->alloc),
			      number(m->release), number(m->active_release), number(m->bytes),
			      number(m->allocated_at_alloc), number(m->reserved_at_alloc),
			      number(m->allocated_at_release), text(detail, m->name), m->device);
	}
	for (size_t i = 0; i < detail->memory_curve.count; i++) {
		const struct np_memory_point *m = &detail->memory_curve.item[i];

		if (m->module)
			continue;
		np_buf_printf(buf, "%s %s %s %s %s\n", number(m->time), number(m->allocated),
			      number(m->reserved), number(m->active), text(detail, m->component));
	}
}

static const struct {
	const char *name;
	unsigned sections;
	void (*dump)(const struct np_detail *detail, struct np_buf *buf);
} dumps[] = {
	{ "kernels", NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES, dump_kernels },
	{ "tasks", NP_DETAIL_TASKS, dump_tasks },
	{ "calls", NP_DETAIL_CALLS, dump_calls },
	{ "framework", NP_DETAIL_FRAMEWORK | NP_DETAIL_INPUTS | NP_DETAIL_DEPTH, dump_framework },
	{ "ops", NP_DETAIL_OPS, dump_ops },
	{ "small", NP_DETAIL_SUB_TASKS, dump_sub_task },
	{ "samples", NP_DETAIL_FREQUENCY, dump_samples },
	{ "memory", NP_DETAIL_MEMORY_OPS | NP_DETAIL_MEMORY_CURVE, dump_memory },
};

/* Where two texts begin to differ, as lines. */
static void assert_same_lines(const char *what, const char *a, const char *b)
{
	size_t line = 1;

	while (*a || *b) {
		size_t length_a = strcspn(a, "\n");
		size_t length_b = strcspn(b, "\n");

		if (length_a != length_b || memcmp(a, b, length_a) != 0)
			fail_msg("%s, line %zu:\n%.*s\n%.*s", what, line, (int)length_a, a,
				 (int)length_b, b);
		a += length_a + (a[length_a] != '\0');
		b += length_b + (b[length_b] != '\0');
		line++;
	}
}

static struct np_detail *load_detail(const struct np_run *run, size_t index, unsigned wants)
{
	struct np_err err = NP_ERR_INIT;
	struct np_detail *detail = NULL;

	assert_ok(np_detail_load(run, index, wants, &detail, &err), err);
	return detail;
}

static void assert_same_details(const struct np_run *a, const struct np_run *b, size_t index)
{
	for (size_t i = 0; i < NP_COUNT(dumps); i++) {
		NP_CLEANUP(np_detail_freep)
		struct np_detail *left = load_detail(a, index, dumps[i].sections);
		NP_CLEANUP(np_detail_freep)
		struct np_detail *right = load_detail(b, index, dumps[i].sections);
		NP_CLEANUP(np_buf_release) struct np_buf of_left = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf of_right = NP_BUF_INIT;

		dumps[i].dump(left, &of_left);
		dumps[i].dump(right, &of_right);
		assert_true(of_left.length > 0);
		assert_int_equal(left->has & dumps[i].sections, dumps[i].sections);
		assert_same_lines(dumps[i].name, of_left.text, of_right.text);
	}
}

static void compare_forms(const char *schema, const char *schedule)
{
	const char *const forms[] = { "db", "text" };
	struct np_run *runs[2];

	for (size_t i = 0; i < 2; i++) {
		const char *dir = below("%s", forms[i]);

		synth_write(dir, (const char *const[]){ "--ranks", "4", "--schedule", schedule,
							"--steps", "2", "--layers", "2", "--pmu",
							"--memory", "--schema", schema, "--format",
							forms[i], NULL });
		runs[i] = synth_load(dir);
	}
	for (size_t rank = 0; rank < 4; rank++)
		assert_same_details(runs[0], runs[1], rank);
	np_run_free(runs[0]);
	np_run_free(runs[1]);
}

static void text_tells_the_same_as_the_database_of_schema_1_0(void **state)
{
	(void)state;
	compare_forms("1.0", "3d");
}

static void text_tells_the_same_as_the_database_of_schema_1_2(void **state)
{
	(void)state;
	compare_forms("1.2", "3d");
}

static int by_connection(const void *left, const void *right)
{
	const struct np_dispatch *a = left;
	const struct np_dispatch *b = right;

	return a->connection != b->connection ? np_order(a->connection, b->connection)
					      : np_order(a->end, b->end);
}

/* Their connections and ends, whatever their order. */
static void dump_dispatches(const struct np_detail *detail, struct np_buf *buf)
{
	size_t count = detail->dispatches.count;
	struct np_dispatch *sorted = malloc((count + 1) * sizeof(*sorted));

	assert_non_null(sorted);
	memcpy(sorted, detail->dispatches.item, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_connection);
	for (size_t i = 0; i < count; i++)
		np_buf_printf(buf, "%s %s\n", number(sorted[i].connection), number(sorted[i].end));
	free(sorted);
}

static void assert_dispatches_follow_from_the_calls(struct np_run *run)
{
	NP_CLEANUP(np_detail_freep)
	struct np_detail *alone = load_detail(run, 0, NP_DETAIL_DISPATCHES);
	NP_CLEANUP(np_detail_freep)
	struct np_detail *both =
		load_detail(run, 0, NP_DETAIL_DISPATCHES | NP_DETAIL_FRAMEWORK | NP_DETAIL_TASKS);
	NP_CLEANUP(np_buf_release) struct np_buf of_alone = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf of_both = NP_BUF_INIT;

	assert_int_equal(alone->framework.count, 0);
	assert_int_equal(alone->has & NP_DETAIL_DISPATCHES, NP_DETAIL_DISPATCHES);
	assert_int_equal(both->has & NP_DETAIL_DISPATCHES, NP_DETAIL_DISPATCHES);
	assert_true(both->dispatches.count > 10);
	dump_dispatches(alone, &of_alone);
	dump_dispatches(both, &of_both);
	assert_same_lines("dispatches", of_alone.text, of_both.text);
	np_run_free(run);
}

static void dispatches_are_those_of_the_frameworks_calls(void **state)
{
	static const char *const forms[] = { "db", "text" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(forms); i++) {
		const char *dir = below("%s", forms[i]);

		synth_write(dir, (const char *const[]){ "--ranks", "2", "--steps", "2", "--layers",
							"2", "--format", forms[i], NULL });
		assert_dispatches_follow_from_the_calls(synth_load(dir));
	}
}

static void dump_operator(struct np_buf *buf, const struct np_detail *detail, np_ns start,
			  np_ns end, np_str name)
{
	const char *text = np_detail_text(detail, name);

	np_buf_printf(buf, "%s ", number(start));
	np_buf_printf(buf, "%s %s\n", number(end), text ? text : "-");
}

static void dump_operators(const struct np_detail *detail, struct np_buf *buf)
{
	for (size_t i = 0; i < detail->operators.count; i++)
		dump_operator(buf, detail, detail->operators.item[i].start,
			      detail->operators.item[i].end, detail->operators.item[i].name);
}

static void assert_operators_are_those_calls(struct np_run *run)
{
	NP_CLEANUP(np_detail_freep)
	struct np_detail *alone = load_detail(run, 0, NP_DETAIL_OPERATORS | NP_DETAIL_DISPATCHES);
	NP_CLEANUP(np_detail_freep)
	struct np_detail *both = load_detail(run, 0, NP_DETAIL_OPERATORS | NP_DETAIL_FRAMEWORK);
	NP_CLEANUP(np_buf_release) struct np_buf of_alone = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf of_both = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf of_calls = NP_BUF_INIT;

	assert_int_equal(alone->framework.count, 0);
	assert_true(alone->operators.count > 10);
	assert_true(alone->dispatches.count > 10);
	assert_int_equal(alone->has & NP_DETAIL_OPERATORS, NP_DETAIL_OPERATORS);
	assert_int_equal(both->has & NP_DETAIL_OPERATORS, NP_DETAIL_OPERATORS);
	dump_operators(alone, &of_alone);
	dump_operators(both, &of_both);
	for (size_t i = 0; i < both->framework.count; i++) {
		const struct np_framework_call *call = &both->framework.item[i];

		if (call->kind == NP_FRAMEWORK_OP)
			dump_operator(&of_calls, both, call->start, call->end, call->name);
	}
	assert_same_lines("operators", of_alone.text, of_both.text);
	assert_same_lines("operators", of_calls.text, of_both.text);
	np_run_free(run);
}

static void operators_are_those_of_the_frameworks_calls(void **state)
{
	static const char *const forms[] = { "db", "text" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(forms); i++) {
		const char *dir = below("%s", forms[i]);

		synth_write(dir, (const char *const[]){ "--ranks", "2", "--steps", "2", "--layers",
							"2", "--format", forms[i], NULL });
		assert_operators_are_those_calls(synth_load(dir));
	}
}

/* What is asked for costs, and nothing else is there. */
static void inputs_and_depth_are_there_for_who_asks(void **state)
{
	const char *dir = below("db");
	struct np_run *run;

	(void)state;
	synth_write(dir,
		    (const char *const[]){ "--ranks", "1", "--steps", "1", "--layers", "1", NULL });
	run = synth_load(dir);
	for (unsigned asked = 0; asked < 2; asked++) {
		NP_CLEANUP(np_detail_freep)
		struct np_detail *detail = load_detail(
			run, 0,
			NP_DETAIL_FRAMEWORK | (asked ? NP_DETAIL_INPUTS | NP_DETAIL_DEPTH : 0));
		size_t shapes = 0;
		size_t tops = 0;

		for (size_t i = 0; i < detail->framework.count; i++) {
			shapes += detail->framework.item[i].in_shapes != NP_STR_NONE;
			tops += detail->framework.item[i].top;
		}
		assert_int_equal(shapes > 0, asked);
		assert_int_equal(tops > 0, asked);
	}
	np_run_free(run);
}

/* --- recorded profiles ------------------------------------------------------------------------ */

static struct np_run *recorded(const char *name)
{
	const char *dir = recorded_profiles(name);

	if (!dir)
		skip();
	return synth_load(dir);
}

static size_t connected(const struct np_detail *detail)
{
	size_t count = 0;

	for (size_t i = 0; i < detail->kernels.count; i++)
		count += detail->kernels.item[i].connection != NP_UNKNOWN;
	return count;
}

static void a_recorded_database_gives_all_of_its_rows(void **state)
{
	struct np_run *run = recorded("resnet-2of8/db/level1");
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = load_detail(run, 0, NP_DETAIL_ALL);
	uint32_t ratio = np_detail_counter(detail, "aic_mac_ratio");

	(void)state;
	assert_int_equal(detail->kernels.count, 187);
	assert_int_equal(connected(detail), 187);
	assert_int_equal(detail->tasks.count, 552);
	assert_int_equal(detail->calls.count, 710);
	assert_int_equal(detail->framework.count, 2460);
	assert_int_equal(detail->links.count, 563);
	assert_int_equal(detail->ops.count, 4);
	assert_int_equal(detail->sub_tasks.count, 296);
	assert_int_equal(detail->frequency.count, 3);
	assert_int_equal(detail->memory_ops.count, 184);
	/* 990 rows, 14 of the process, 1078 of modules. */
	assert_int_equal(detail->memory_curve.count, 990 + 14 + 1078);
	assert_int_equal(detail->memory_events.count, 114);
	assert_string_equal(np_detail_text(detail, detail->device.chip), "Ascend910B");
	assert_string_equal(np_detail_setting(detail, "experimental_config._profiler_level"),
			    "Level1");
	assert_true(ratio != NP_NO_ROW);
	/* The first operator: 4097000 × 4 bytes by a ring within a mesh. */
	assert_int_equal(detail->ops.item[0].count, 4097000);
	assert_string_equal(np_detail_text(detail, detail->ops.item[0].alg_type), "MESH-RING");
	assert_string_equal(np_detail_text(detail, detail->ops.item[0].data_type), "FP32");
	np_run_free(run);
}

static void a_recorded_text_profile_gives_all_of_its_rows(void **state)
{
	struct np_run *run = recorded("resnet-2of8/text/level1");
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = load_detail(run, 0, NP_DETAIL_ALL);
	uint32_t total = np_detail_counter(detail, "aiv_total_time");

	(void)state;
	assert_int_equal(detail->kernels.count, 187);
	assert_int_equal(connected(detail), 187);
	assert_int_equal(detail->tasks.count, 535);
	assert_int_equal(detail->calls.count, 707);
	/* 860 operators and the step among them, 318 of the queue, 1282 of Python. */
	assert_int_equal(detail->framework.count, 860 + 318 + 1282);
	assert_int_equal(detail->ops.count, 4);
	assert_int_equal(detail->sub_tasks.count, 296);
	assert_int_equal(detail->frequency.count, 2);
	assert_int_equal(detail->memory_ops.count, 184);
	/* 50.522 µs in the file. */
	assert_near(detail->pmu[total], 50522.0, 1e-6);
	assert_string_equal(np_detail_text(detail, detail->kernels.item[0].in_shapes),
			    "32,3,224,224");
	np_run_free(run);
}

static void exporters_that_swap_shapes_and_types_are_understood(void **state)
{
	struct np_run *run = recorded("resnet-2of8/db/level1");
	NP_CLEANUP(np_detail_freep)
	struct np_detail *detail = load_detail(run, 0, NP_DETAIL_INPUTS);
	bool found = false;

	(void)state;
	for (size_t i = 0; i < detail->framework.count && !found; i++) {
		const struct np_framework_call *call = &detail->framework.item[i];

		if (strcmp(text(detail, call->in_shapes), "32,3,224,224;;;;;;;") != 0)
			continue;
		found = true;
		assert_string_equal(text(detail, call->in_dtypes),
				    "float;Scalar;Scalar;None;None;Scalar;Scalar;None");
	}
	assert_true(found);
	np_run_free(run);
}

/* --- order ----------------------------------------------------------------------------------- */

/* By start and then by end, also where rows lie far apart and far from their place. */
static void calls_are_in_order_whatever_the_order_of_rows(void **state)
{
	static const struct {
		long long start;
		long long end;
	} rows[] = { { 9000000000000, 9000000000007 },
		     { 1000, 1500 },
		     { 3000000, 3000100 },
		     { 1000, 1200 },
		     { 2000, 2100 } };
	static const int order[] = { 3, 1, 4, 2, 0 };
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	struct np_run *run;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 2000, "MatMul");
	for (int i = 0; i < (int)NP_COUNT(rows); i++)
		rank_sql(0, "INSERT INTO CANN_API VALUES(%lld,%lld,10000,9,%d,T('launch'))",
			 rows[i].start, rows[i].end, i + 1);
	run = synth_load(below("run"));
	detail = load_detail(run, 0, NP_DETAIL_CALLS);
	assert_int_equal(detail->calls.count, NP_COUNT(rows));
	for (size_t i = 0; i < NP_COUNT(order); i++) {
		assert_int_equal(detail->calls.item[i].start, rows[order[i]].start);
		assert_int_equal(detail->calls.item[i].end, rows[order[i]].end);
		assert_int_equal(detail->calls.item[i].connection, order[i] + 1);
	}
	np_run_free(run);
}

/* --- units ----------------------------------------------------------------------------------- */

/* msprof writes KB where torch_npu writes MB: 1.5 MB = 1536 KB, 3 MB = 3072 KB. */
static void memory_in_kilobytes_is_that_in_megabytes(void **state)
{
	static const char *const curve[] = {
		"Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device\n"
		"GE,1.0,1.5,3.0,NPU:0\n",
		"Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n"
		"0,GE,1.0,1536.0,3072.0,NPU:0\n",
	};
	static const char *const ops[] = {
		"Name,Size(KB),Allocation Time(us),Release Time(us),Allocation Total "
		"Allocated(MB),Release Total Reserved(MB)\na,512.0,1.0,2.0,1.5,3.0\n",
		"Device_id,Name,Size(KB),Allocation Time(us),Release Time(us),Allocation Total "
		"Allocated(KB),Release Total Reserved(KB)\n0,a,512.0,1.0,2.0,1536.0,3072.0\n",
	};
	const char *dir = below("text");
	struct np_run *run;

	(void)state;
	synth_write(dir, (const char *const[]){ "--ranks", "1", "--steps", "1", "--layers", "1",
						"--memory", "--format", "text", NULL });
	run = synth_load(dir);
	for (size_t i = 0; i < NP_COUNT(curve); i++) {
		NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;

		write_bytes(run->sources.item[0].file[NP_FILE_MEMORY_RECORD], curve[i],
			    strlen(curve[i]));
		write_bytes(run->sources.item[0].file[NP_FILE_OPERATOR_MEMORY], ops[i],
			    strlen(ops[i]));
		write_bytes(run->sources.item[0].file[NP_FILE_MODULE_MEMORY], "", 0);
		detail = load_detail(run, 0, NP_DETAIL_MEMORY_OPS | NP_DETAIL_MEMORY_CURVE);
		assert_int_equal(detail->memory_curve.count, 1);
		assert_int_equal(detail->memory_curve.item[0].allocated, 1536 * 1024);
		assert_int_equal(detail->memory_curve.item[0].reserved, 3072 * 1024);
		assert_int_equal(detail->memory_ops.count, 1);
		assert_int_equal(detail->memory_ops.item[0].bytes, 512 * 1024);
		assert_int_equal(detail->memory_ops.item[0].allocated_at_alloc, 1536 * 1024);
		assert_int_equal(detail->memory_ops.item[0].reserved_at_release, 3072 * 1024);
	}
	np_run_free(run);
}

/* --- damage ---------------------------------------------------------------------------------- */

/* Files that change after the rank was loaded: the detail reads them again. */
static void damage_file(const char *path, uint64_t *state, bool cut)
{
	size_t length;
	char *bytes = read_bytes(path, &length);

	if (cut)
		length = np_random(state) % (length + 1);
	for (int i = 0; i < 20 && length > 0 && !cut; i++)
		bytes[np_random(state) % length] = (char)np_random(state);
	write_bytes(path, bytes, length);
	free(bytes);
}

static void load_damaged(const struct np_run *run, enum np_file file, uint64_t seed, bool cut)
{
	const char *path = run->sources.item[0].file[file];
	uint64_t state = seed;
	struct np_err err = NP_ERR_INIT;
	struct np_detail *detail = NULL;
	size_t length;
	char *whole = read_bytes(path, &length);

	(void)snprintf(np_fixture_doing, sizeof(np_fixture_doing), "file %d, seed %llu", file,
		       (unsigned long long)seed);
	damage_file(path, &state, cut);
	assert_ok(np_detail_load(run, 0, NP_DETAIL_ALL, &detail, &err), err);
	np_detail_free(detail);
	write_bytes(path, whole, length);
	free(whole);
	*np_fixture_doing = '\0';
}

static void damaged_files_cost_what_only_they_tell(void **state)
{
	static const enum np_file files[] = { NP_FILE_RANK_DB,         NP_FILE_TRACE,
					      NP_FILE_KERNELS,         NP_FILE_MEMORY_RECORD,
					      NP_FILE_OPERATOR_MEMORY, NP_FILE_MODULE_MEMORY,
					      NP_FILE_METADATA,        NP_FILE_INFO };
	static const char *const forms[] = { "db", "text" };

	(void)state;
	for (size_t form = 0; form < 2; form++) {
		const char *dir = below("%s", forms[form]);
		struct np_run *run;

		synth_write(dir, (const char *const[]){ "--ranks", "2", "--steps", "1", "--layers",
							"1", "--pmu", "--memory", "--format",
							forms[form], NULL });
		run = synth_load(dir);
		for (size_t i = 0; i < NP_COUNT(files); i++) {
			for (uint64_t seed = 1; run->sources.item[0].file[files[i]] && seed <= 12;
			     seed++)
				load_damaged(run, files[i], seed, seed % 3 == 0);
		}
		np_run_free(run);
	}
}

static void a_file_that_vanished_is_noted_and_the_rest_is_told(void **state)
{
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	const char *dir = below("text");
	struct np_run *run;

	(void)state;
	synth_write(dir, (const char *const[]){ "--ranks", "2", "--steps", "1", "--layers", "1",
						"--format", "text", NULL });
	run = synth_load(dir);
	assert_int_equal(unlink(run->sources.item[0].file[NP_FILE_TRACE]), 0);
	detail = load_detail(run, 0, NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES | NP_DETAIL_CALLS);
	assert_true(detail->kernels.count > 0);
	assert_int_equal(connected(detail), 0);
	assert_int_equal(detail->calls.count, 0);
	assert_int_equal(detail->has & NP_DETAIL_CALLS, 0);
	assert_noted(&detail->notes, NP_NOTE_SKIPPED, "trace_view.json", "");
	np_run_free(run);
}

/* Without a table of kernels the trace tells what it can. */
static void a_trace_alone_gives_kernels_without_types(void **state)
{
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	const char *dir = below("text");
	struct np_run *run;
	char *kernels;

	(void)state;
	synth_write(dir, (const char *const[]){ "--ranks", "2", "--steps", "1", "--layers", "1",
						"--format", "text", NULL });
	run = synth_load(dir);
	kernels = run->sources.item[0].file[NP_FILE_KERNELS];
	run->sources.item[0].file[NP_FILE_KERNELS] = NULL;
	detail = load_detail(run, 0, NP_DETAIL_KERNELS);
	assert_true(detail->kernels.count > 0);
	assert_int_equal(connected(detail), detail->kernels.count);
	assert_int_equal(detail->kernels.item[0].type, NP_STR_NONE);
	run->sources.item[0].file[NP_FILE_KERNELS] = kernels;
	np_run_free(run);
}

/* A trace with these events in front of its own. */
static void prepend_events(const char *path, const char *events)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	FILE *file = fopen(path, "r");
	int c;

	assert_non_null(file);
	while ((c = fgetc(file)) != EOF)
		np_buf_add_char(&text, (char)c);
	(void)fclose(file);
	assert_int_equal(text.text[0], '[');
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fprintf(file, "[%s%s", events, text.text + 1) > 0);
	assert_int_equal(fclose(file), 0);
}

/*
 * As torch_npu writes them, with a category; one whose lane nobody named, one in small letters, and
 * a framework's operator of that name, which is none.
 */
static void garbage_collections_of_a_trace_are_known_by_their_category(void **state)
{
	static const char events[] =
		"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 204800032, \"tid\": 0, "
		"\"args\": {\"name\": \"Python GC\"}},"
		"{\"ph\": \"X\", \"name\": \"GC\", \"pid\": 204800032, \"tid\": 200000, "
		"\"ts\": \"1736410576000100.000\", \"dur\": 1500.5, \"cat\": \"GC\", \"args\": {}},"
		"{\"ph\": \"X\", \"name\": \"GC\", \"pid\": 7, \"tid\": 8, "
		"\"ts\": \"1736410576002000.000\", \"dur\": 2, \"cat\": \"gc\", \"args\": {}},"
		"{\"ph\": \"X\", \"name\": \"GC\", \"pid\": 7, \"tid\": 8, "
		"\"ts\": \"1736410576003000.000\", \"dur\": 2, \"cat\": \"cpu_op\", \"args\": {}},";
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	const char *dir = below("text");
	struct np_run *run;

	(void)state;
	synth_write(dir, (const char *const[]){ "--ranks", "2", "--steps", "1", "--layers", "1",
						"--format", "text", NULL });
	run = synth_load(dir);
	prepend_events(run->sources.item[0].file[NP_FILE_TRACE], events);
	detail = load_detail(run, 0, NP_DETAIL_GC);
	assert_int_equal(detail->gc.count, 2);
	assert_true(detail->has & NP_DETAIL_GC);
	assert_int_equal(detail->gc.item[0].start, 1736410576000100000);
	assert_int_equal(detail->gc.item[0].end - detail->gc.item[0].start, 1500500);
	assert_int_equal(detail->gc.item[0].tid, 200000);
	assert_int_equal(detail->gc.item[1].tid, 8);
	np_run_free(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(text_tells_the_same_as_the_database_of_schema_1_0),
		with_fixture(text_tells_the_same_as_the_database_of_schema_1_2),
		with_fixture(dispatches_are_those_of_the_frameworks_calls),
		with_fixture(operators_are_those_of_the_frameworks_calls),
		with_fixture(inputs_and_depth_are_there_for_who_asks),
		with_fixture(a_recorded_database_gives_all_of_its_rows),
		with_fixture(a_recorded_text_profile_gives_all_of_its_rows),
		with_fixture(exporters_that_swap_shapes_and_types_are_understood),
		with_fixture(calls_are_in_order_whatever_the_order_of_rows),
		with_fixture(memory_in_kilobytes_is_that_in_megabytes),
		with_fixture(damaged_files_cost_what_only_they_tell),
		with_fixture(a_file_that_vanished_is_noted_and_the_rest_is_told),
		with_fixture(a_trace_alone_gives_kernels_without_types),
		with_fixture(garbage_collections_of_a_trace_are_known_by_their_category),
	};

	return cmocka_run_group_tests_name("detail", tests, NULL, NULL);
}
