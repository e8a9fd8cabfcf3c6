/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random captures against a second way to say how long steps are and what lies
 * between them, nanosecond by nanosecond; and the parts of each sum to it.
 */
#include "np_load_fixture.h"

#include "npuprof/align.h"
#include "npuprof/iteration.h"
#include "npuprof/partition.h"
#include "npuprof/waits.h"

#include <stdlib.h>

#define ROUNDS 60
#define LENGTH 6000 /* of a capture, in ns */
#define TASKS  60

enum kind {
	KERNEL,
	OPERATOR,
	COPY,
	KINDS
};

struct task {
	enum kind kind;
	np_ns start;
	np_ns end;
	np_ns launched; /* NP_UNKNOWN when nobody launched it */
};

struct scene {
	struct task tasks[TASKS];
	size_t count;
	struct np_span loading;
};

static uint64_t seed;

static np_ns draw(np_ns most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (np_ns)(seed % (uint64_t)(most + 1));
}

/* No two start at once: which of them ended a gap would be a matter of taste. */
static bool starts_alone(const struct scene *scene, np_ns start)
{
	for (size_t i = 0; i < scene->count; i++) {
		if (scene->tasks[i].start == start)
			return false;
	}
	return true;
}

static void put_task(struct np_buf *sql, struct scene *scene, np_ns from, np_ns to)
{
	struct task task = { .kind = (enum kind)draw(KINDS - 1) };
	size_t id = scene->count + 1;

	task.launched = from + draw(to - from);
	task.start = task.launched + draw(400) - 20;
	if (task.start < 1)
		task.start = 1;
	while (!starts_alone(scene, task.start))
		task.start++;
	task.end = task.start + 1 + draw(draw(3) == 0 ? 1500 : 150);
	np_buf_printf(sql,
		      "INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId,"
		      " taskType) VALUES(%" PRId64 ", %" PRId64 ", 4, %zu, %zu, %d);",
		      task.start, task.end, id, id, task.kind == COPY ? 21 : 1);
	if (task.kind == KERNEL)
		np_buf_printf(sql, "INSERT INTO COMPUTE_TASK_INFO VALUES(2, %zu, 8, 0, 1, 2);", id);
	if (task.kind == OPERATOR)
		np_buf_printf(sql,
			      "INSERT INTO COMMUNICATION_OP VALUES(3, %" PRId64 ", %" PRId64
			      ", %zu, 4, %zu, 0, 0, 4, 0, 10, 7);",
			      task.start, task.end, id, id);
	if (draw(7) == 0)
		task.launched = NP_UNKNOWN;
	else
		np_buf_printf(sql,
			      "INSERT INTO CANN_API VALUES(%" PRId64 ", %" PRId64
			      ", %d, 1, %zu, 2);",
			      task.launched > 3 ? task.launched - 3 : 0, task.launched,
			      task.kind == COPY ? 20000 : 10000, id);
	scene->tasks[scene->count++] = task;
}

static void make_scene(struct scene *scene)
{
	struct np_buf sql = NP_BUF_INIT;
	np_ns steps = 2 + draw(3);
	np_ns length = LENGTH / steps;
	int64_t id = 10;

	*scene = (struct scene){ 0 };
	np_buf_add(&sql, "DELETE FROM STEP_TIME; DELETE FROM CANN_API; DELETE FROM TASK;"
			 "DELETE FROM COMPUTE_TASK_INFO; DELETE FROM COMMUNICATION_OP;"
			 "DELETE FROM COMMUNICATION_TASK_INFO;"
			 "INSERT INTO STRING_IDS VALUES(20, 'dataloader'), (21, 'MEMCPY_ASYNC');"
			 "CREATE TABLE PYTORCH_API(startNs TEXT, endNs TEXT, name INTEGER);");
	for (np_ns i = 0; i < steps; i++) {
		np_ns begin = 100 + i * length;
		np_ns end = begin + length - draw(length / 2);

		np_buf_printf(&sql,
			      "INSERT INTO STEP_TIME VALUES(%" PRId64 ", %" PRId64 ", %" PRId64
			      ");",
			      id, begin, end);
		id += draw(5) == 0 ? 2 : 1;
		/* Most are launched in the step, some by nobody's, and some steps do nothing. */
		for (np_ns n = draw(9) == 0 ? 0 : 3 + draw(6); n > 0; n--)
			put_task(&sql, scene, begin + 3, end);
		if (draw(2) == 0)
			put_task(&sql, scene, end, begin + length);
	}
	if (scene->count == 0)
		put_task(&sql, scene, 103, length);
	scene->loading.begin = draw(LENGTH);
	scene->loading.end = scene->loading.begin + 1 + draw(LENGTH / 3);
	np_buf_printf(&sql, "INSERT INTO PYTORCH_API VALUES('%" PRId64 "', '%" PRId64 "', 20);",
		      scene->loading.begin, scene->loading.end);
	make_rank_db(0, sql.text);
	np_buf_release(&sql);
}

/* --- the other way --------------------------------------------------------------------------- */

static bool in_window(const struct np_step *step, const struct task *task)
{
	return task->start >= step->begin && task->start < step->end;
}

/* First start and last end of what computes or communicates; begin > end for nothing. */
static struct np_span span_of(const struct scene *scene, const struct np_step *step)
{
	struct np_span span = { NP_NS_MAX, -NP_NS_MAX };

	for (size_t i = 0; i < scene->count; i++) {
		const struct task *task = &scene->tasks[i];

		if (task->kind == COPY || !in_window(step, task))
			continue;
		if (task->start < span.begin)
			span.begin = task->start;
		if (task->end > span.end)
			span.end = task->end;
	}
	return span;
}

/* Between two steps: with a copy, with work of no step, or of one that outlived this. */
static bool is_busy(const struct scene *scene, np_ns at)
{
	for (size_t i = 0; i < scene->count; i++) {
		if (scene->tasks[i].start <= at && at < scene->tasks[i].end)
			return true;
	}
	return false;
}

static enum np_between cause_of(const struct scene *scene, np_ns at)
{
	const struct task *next = NULL;

	for (size_t i = 0; i < scene->count; i++) {
		const struct task *task = &scene->tasks[i];

		if (task->start > at && (!next || task->start < next->start))
			next = task;
	}
	assert_non_null(next);
	if (next->launched == NP_UNKNOWN)
		return NP_BETWEEN_UNKNOWN;
	if (at >= next->launched)
		return NP_BETWEEN_OTHER;
	return at >= scene->loading.begin && at < scene->loading.end ? NP_BETWEEN_DATALOADER
								     : NP_BETWEEN_HOST;
}

static int64_t number_of(const struct np_run *run, const struct np_step *step)
{
	return strtoll(np_run_text(run, step->id), NULL, 10);
}

/* Is the iteration of this step known? Then compare; returns whether it is. */
static bool check_step(const struct scene *scene, const struct np_run *run, size_t index)
{
	const struct np_rank *rank = run->ranks[0];
	const struct np_step *step = &rank->steps.item[index];
	const struct np_step_time *time = &rank->times.item[index];
	struct np_span span = span_of(scene, step);
	np_ns between[NP_BETWEEN_KINDS] = { 0 };
	struct np_span next = { 0 };

	assert_int_equal(time->begin, span.begin < span.end ? span.begin : NP_UNKNOWN);
	if (index + 1 < rank->steps.count && number_of(run, &step[1]) == number_of(run, step) + 1)
		next = span_of(scene, &step[1]);
	if (span.begin >= span.end || next.begin >= next.end) {
		assert_int_equal(np_step_iteration(time), NP_UNKNOWN);
		return false;
	}
	assert_int_equal(np_step_iteration(time), next.begin - span.begin);
	for (np_ns at = span.end; at < next.begin; at++)
		between[is_busy(scene, at) ? NP_BETWEEN_OTHER : cause_of(scene, at)]++;
	for (int i = 0; i < NP_BETWEEN_KINDS; i++)
		assert_int_equal(time->between[i], between[i]);
	return true;
}

/* --- the parts ------------------------------------------------------------------------------- */

static np_ns sum_of_parts(const struct np_partition *partition, size_t time)
{
	const struct np_partition_cell *cell = np_partition_of(partition, 0, time);
	np_ns sum = 0;

	assert_non_null(cell);
	for (size_t i = 0; i < cell->count; i++)
		sum += partition->parts.item[cell->first + i].ns;
	return sum;
}

/* Every operator waits for a third of its time. */
static void check_parts(const struct np_run *run)
{
	const struct np_rank *rank = run->ranks[0];
	struct np_waits waits = { .wait = calloc(rank->ops.count + 1, sizeof(np_ns)) };
	struct np_partition partition = { 0 };
	struct np_cluster *cluster = NULL;
	struct np_align *align = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_non_null(waits.wait);
	assert_ok(np_cluster_build(run, &cluster, &err), err);
	assert_ok(np_align_build(run, 1, &align, &err), err);
	for (size_t i = 0; i < rank->ops.count; i++)
		waits.wait[np_align_slot(align, 0, (uint32_t)i)] =
			(rank->ops.item[i].end - rank->ops.item[i].start) / 3;
	assert_ok(np_partition_measure(cluster, align, &waits, &partition, &err), err);
	for (size_t i = 0; i < rank->times.count; i++) {
		const struct np_step_time *time = &rank->times.item[i];
		np_ns iteration = np_step_iteration(time);

		assert_int_equal(sum_of_parts(&partition, i),
				 iteration == NP_UNKNOWN ? time->span : iteration);
		if (iteration >= time->span)
			assert_int_equal(iteration, time->span + np_step_between(time));
		else if (iteration != NP_UNKNOWN)
			assert_int_equal(np_step_between(time), 0);
	}
	np_partition_release(&partition);
	np_align_free(align);
	np_cluster_free(cluster);
	free(waits.wait);
}

static void random_captures_have_the_iterations_that_counting_gives(void **state)
{
	size_t known = 0;
	size_t outlived = 0;

	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		struct scene scene;

		seed = round * UINT64_C(0x9e3779b97f4a7c15);
		make_scene(&scene);
		{
			with_run *run = load();
			const struct np_rank *rank = np_run_rank(run, 0);

			for (size_t i = 0; i < rank->times.count; i++) {
				const struct np_step_time *time = &rank->times.item[i];

				known += check_step(&scene, run, i);
				outlived += np_step_iteration(time) != NP_UNKNOWN &&
					    np_step_iteration(time) < time->span;
			}
			check_parts(run);
		}
		assert_int_equal(unlink(rank_db(0)), 0);
	}
	/* They are no trivial ones. */
	assert_true(known > ROUNDS);
	assert_true(outlived > ROUNDS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(random_captures_have_the_iterations_that_counting_gives),
	};

	return cmocka_run_group_tests_name("iteration_random", tests, NULL, NULL);
}
