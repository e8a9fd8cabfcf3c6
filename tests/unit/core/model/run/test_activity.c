/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/activity.h"

#include "np_fault.h"
#include "np_random.h"
#include "np_test.h"

/* --- helpers --------------------------------------------------------------------------------- */

#define TYPE_A 11
#define TYPE_B 12

struct sums {
	np_ns kind[NP_LEAF_KINDS];
};

/* What each kind got of a cell; checks that segments and their shares fit together. */
static struct sums sums_of(const struct np_activity *activity, size_t index)
{
	const struct np_activity_cell *cell = &activity->cells.item[index];
	struct sums sums = { 0 };
	np_ns at = cell->begin;

	for (uint32_t i = 0; i < cell->segments; i++) {
		const struct np_segment *segment =
			&activity->segments.item[cell->first_segment + i];
		np_ns end = i + 1 < cell->segments ? segment[1].begin : cell->end;

		assert_int_equal(segment->begin, at);
		for (uint32_t j = segment->first; j < segment[1].first; j++) {
			const struct np_share *share = &activity->shares.item[j];

			assert_true(share->ns > 0);
			if (j > segment->first)
				assert_true(np_leaf_kind(share[-1].leaf) <=
					    np_leaf_kind(share->leaf));
			sums.kind[np_leaf_kind(share->leaf)] += share->ns;
			at += share->ns;
		}
		assert_int_equal(at, end);
	}
	return sums;
}

static np_ns share_of(const struct np_activity *activity, size_t index, np_leaf leaf)
{
	const struct np_activity_cell *cell = &activity->cells.item[index];
	const struct np_segment *segment = &activity->segments.item[cell->first_segment];
	np_ns sum = 0;

	for (uint32_t i = segment->first; i < segment[cell->segments].first; i++) {
		if (activity->shares.item[i].leaf == leaf)
			sum += activity->shares.item[i].ns;
	}
	return sum;
}

static struct np_activity_task task(np_ns start, np_ns end, np_ns launched, uint64_t tie,
				    uint32_t of)
{
	return (struct np_activity_task){ start, end, launched, tie, of };
}

/* --- one device, by hand --------------------------------------------------------------------- */

/*
 * kernels  A 0-10, B 5-20, A 50-60
 * ops      0: 15-40, 1: 30-45
 * copy     44-48
 *
 * A 0-10, B 10-20, op 0 20-40, op 1 40-45, copy 45-48, free 48-50, A 50-60.
 * The kernel at 50 was launched by 49: 48-49 is the host's.
 */
static void each_nanosecond_belongs_to_the_first_that_runs(void **state)
{
	struct np_activity_task kernels[] = { task(50, 60, 49, 0, TYPE_A),
					      task(5, 20, 1, 0, TYPE_B),
					      task(0, 10, 1, 0, TYPE_A) };
	struct np_activity_task ops[] = { task(15, 40, 2, 7, 0), task(30, 45, 2, 3, 1) };
	struct np_activity_task copies[] = { task(44, 48, 2, 0, 0) };
	struct np_activity_input input = { .kernels = kernels,
					   .kernel_count = NP_COUNT(kernels),
					   .ops = ops,
					   .op_count = NP_COUNT(ops),
					   .copies = copies,
					   .copy_count = NP_COUNT(copies) };
	struct np_activity activity = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct sums sums;

	(void)state;
	assert_int_equal(np_activity_add(&activity, &input, &err), NP_OK);
	sums = sums_of(&activity, 0);
	assert_int_equal(activity.cells.item[0].begin, 0);
	assert_int_equal(activity.cells.item[0].end, 60);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMPUTE, TYPE_A)), 20);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMPUTE, TYPE_B)), 10);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMM, 0)), 20);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMM, 1)), 5);
	assert_int_equal(sums.kind[NP_LEAF_MEMCPY], 3);
	assert_int_equal(sums.kind[NP_LEAF_FREE_HOST], 1);
	assert_int_equal(sums.kind[NP_LEAF_FREE_OTHER], 1);
	/* Cuts at 15, 30, 40, 45. */
	assert_int_equal(activity.cells.item[0].segments, 5);
	assert_int_equal(activity.segments.item[2].begin, 30);
	assert_int_equal(activity.cells.item[0].exposed, 2);
	assert_int_equal(activity.exposed.item[0].begin, 20);
	assert_int_equal(activity.exposed.item[0].end, 40);
	assert_int_equal(activity.exposed.item[1].op, 1);
	np_activity_release(&activity);
}

static void of_kernels_that_start_at_once_the_smaller_stream_then_task_comes_first(void **state)
{
	struct np_activity_task kernels[] = {
		task(0, 10, 0, np_activity_tie(3, 1), TYPE_A),
		task(0, 10, 0, np_activity_tie(2, 9), TYPE_B),
		task(20, 30, 0, np_activity_tie(2, 9), TYPE_A),
		task(20, 30, 0, np_activity_tie(2, 8), TYPE_B),
	};
	struct np_activity_input input = { .kernels = kernels, .kernel_count = NP_COUNT(kernels) };
	struct np_activity activity = { 0 };

	(void)state;
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMPUTE, TYPE_B)), 20);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMPUTE, TYPE_A)), 0);
	np_activity_release(&activity);
}

/* Hashes use all 64 bits: the largest is no negative number. */
static void of_operators_that_start_at_once_the_smaller_hash_comes_first(void **state)
{
	struct np_activity_task ops[] = { task(0, 10, 0, UINT64_MAX, 0), task(0, 10, 0, 5, 1) };
	struct np_activity_input input = { .ops = ops, .op_count = NP_COUNT(ops) };
	struct np_activity activity = { 0 };

	(void)state;
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMM, 1)), 10);
	np_activity_release(&activity);
}

/* Free 10-40 before a kernel launched by 30, while data was loaded 5-12, 15-20 and 28-50. */
static void loading_data_takes_its_part_of_what_the_host_was_late(void **state)
{
	struct np_activity_task kernels[] = { task(0, 10, 0, 0, TYPE_A),
					      task(40, 41, 30, 0, TYPE_A) };
	struct np_spans *loading = np_spans_new();
	struct np_activity_input input = { .kernels = kernels,
					   .kernel_count = NP_COUNT(kernels),
					   .loading = loading };
	struct np_activity activity = { 0 };
	struct sums sums;

	(void)state;
	assert_int_equal(np_spans_add(loading, 5, 12, NULL), NP_OK);
	assert_int_equal(np_spans_add(loading, 15, 20, NULL), NP_OK);
	assert_int_equal(np_spans_add(loading, 28, 50, NULL), NP_OK);
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	sums = sums_of(&activity, 0);
	assert_int_equal(sums.kind[NP_LEAF_FREE_DATALOADER], 2 + 5 + 2);
	assert_int_equal(sums.kind[NP_LEAF_FREE_HOST], 3 + 8);
	assert_int_equal(sums.kind[NP_LEAF_FREE_OTHER], 10);
	np_spans_free(loading);
	np_activity_release(&activity);
}

static void without_a_launch_the_gap_before_a_task_is_unknown(void **state)
{
	struct np_activity_task kernels[] = { task(0, 10, 0, 0, TYPE_A),
					      task(40, 41, NP_UNKNOWN, 0, TYPE_A) };
	struct np_activity_input input = { .kernels = kernels, .kernel_count = NP_COUNT(kernels) };
	struct np_activity activity = { 0 };

	(void)state;
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	assert_int_equal(sums_of(&activity, 0).kind[NP_LEAF_FREE_UNKNOWN], 30);
	np_activity_release(&activity);
}

/* What is given as computing decides: 0-31 and 5000-8000; kernels are 1-30 and 40-60. */
static void spans_that_are_given_decide_what_computing_is(void **state)
{
	struct np_activity_task kernels[] = { task(1, 30, 0, 0, TYPE_A),
					      task(40, 60, 0, 0, TYPE_B) };
	struct np_spans *computing = np_spans_new();
	struct np_activity_input input = { .kernels = kernels,
					   .kernel_count = NP_COUNT(kernels),
					   .computing = computing };
	struct np_activity activity = { 0 };

	(void)state;
	assert_int_equal(np_spans_add(computing, 0, 31, NULL), NP_OK);
	assert_int_equal(np_spans_add(computing, 5000, 8000, NULL), NP_OK);
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	/* Rounding is the kernel's; a block without any kernel is nobody's. */
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMPUTE, TYPE_A)), 31);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMPUTE, TYPE_B)), 0);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMPUTE, NP_STR_NONE)), 3000);
	assert_int_equal(sums_of(&activity, 0).kind[NP_LEAF_COMPUTE], 3031);
	np_spans_free(computing);
	np_activity_release(&activity);
}

/*
 * An operator 0-1600 hidden but for the last 2 of every 10: 160 pieces of 2, of
 * which ten begin in each sixteenth, 100 long. The first ten end at 100.
 */
static void small_gaps_in_what_hides_an_operator_are_joined(void **state)
{
	struct np_activity_task kernels[160];
	struct np_activity_task ops[] = { task(0, 1600, 0, 0, 0) };
	struct np_activity_input input = {
		.kernels = kernels, .kernel_count = NP_COUNT(kernels), .ops = ops, .op_count = 1
	};
	struct np_activity activity = { 0 };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(kernels); i++)
		kernels[i] = task((np_ns)i * 10, (np_ns)i * 10 + 8, 0, 0, TYPE_A);
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	assert_int_equal(activity.exposed.count, NP_EXPOSED_PIECES);
	for (size_t i = 0; i < activity.exposed.count; i++) {
		assert_int_equal(activity.exposed.item[i].begin, 100 * i + 80);
		assert_int_equal(activity.exposed.item[i].end, 100 * i + 100);
	}
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMM, 0)), 320);
	np_activity_release(&activity);
}

/* Ten seconds do not fit 32 bits of nanoseconds. */
static void long_shares_are_divided(void **state)
{
	const np_ns second = 1000000000;
	struct np_activity_task kernels[] = { task(0, 10 * second, 0, 0, TYPE_A),
					      task(20 * second, 21 * second, 0, 0, TYPE_A) };
	struct np_activity_input input = { .kernels = kernels, .kernel_count = NP_COUNT(kernels) };
	struct np_activity activity = { 0 };

	(void)state;
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMPUTE, TYPE_A)),
			 11 * second);
	assert_int_equal(sums_of(&activity, 0).kind[NP_LEAF_FREE_OTHER], 10 * second);
	np_activity_release(&activity);
}

static void a_step_without_tasks_is_an_empty_cell(void **state)
{
	struct np_activity_task copies[] = { task(0, 10, 0, 0, 0) };
	struct np_activity_input input = { .copies = copies, .copy_count = 1 };
	struct np_activity activity = { 0 };

	(void)state;
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	assert_int_equal(activity.cells.count, 1);
	assert_int_equal(activity.cells.item[0].segments, 0);
	assert_int_equal(activity.cells.item[0].end - activity.cells.item[0].begin, 0);
	np_activity_release(&activity);
}

/* --- against a painter ----------------------------------------------------------------------- */

#define PAINTED 200 /* nanoseconds */
#define MOST    12  /* tasks of a kind */
#define TIMES   20000

struct scene {
	struct np_activity_task kernels[MOST];
	struct np_activity_task ops[MOST];
	struct np_activity_task copies[MOST];
	size_t kernel_count;
	size_t op_count;
	size_t copy_count;
	struct np_spans *loading;
};

static size_t random_tasks(uint64_t *random, struct np_activity_task *tasks, bool is_op)
{
	size_t count = np_random_below(random, MOST + 1);

	for (size_t i = 0; i < count; i++) {
		np_ns start = (np_ns)np_random_below(random, PAINTED - 30);

		tasks[i] = task(start, start + (np_ns)np_random_below(random, 30),
				np_random_below(random, 4) == 0
					? NP_UNKNOWN
					: start - 20 + (np_ns)np_random_below(random, 25),
				/* Each tie once, or else nobody could tell who comes first. */
				np_random(random) << 4 | i,
				is_op ? (uint32_t)i : 1 + (uint32_t)np_random_below(random, 5));
	}
	return count;
}

/* The one that runs at `now` and comes first, by comparing all of them; -1 for none. */
static int runs_at(const struct np_activity_task *tasks, size_t count, np_ns now)
{
	int first = -1;

	for (size_t i = 0; i < count; i++) {
		if (tasks[i].start > now || tasks[i].end <= now)
			continue;
		if (first < 0 || tasks[i].start < tasks[first].start ||
		    (tasks[i].start == tasks[first].start && tasks[i].tie < tasks[first].tie))
			first = (int)i;
	}
	return first;
}

/* Whose a moment is; *launched is that of a task that runs. */
static np_leaf busy_leaf(const struct scene *scene, np_ns now, bool *busy, np_ns *launched)
{
	int i = runs_at(scene->kernels, scene->kernel_count, now);

	*busy = true;
	if (i >= 0) {
		*launched = scene->kernels[i].launched;
		return np_leaf_make(NP_LEAF_COMPUTE, scene->kernels[i].of);
	}
	i = runs_at(scene->ops, scene->op_count, now);
	if (i >= 0) {
		*launched = scene->ops[i].launched;
		return np_leaf_make(NP_LEAF_COMM, scene->ops[i].of);
	}
	i = runs_at(scene->copies, scene->copy_count, now);
	if (i >= 0) {
		*launched = scene->copies[i].launched;
		return np_leaf_make(NP_LEAF_MEMCPY, 0);
	}
	*busy = false;
	return 0;
}

static bool is_loading(const struct scene *scene, np_ns now)
{
	for (size_t i = 0; i < np_spans_count(scene->loading); i++) {
		struct np_span span = np_spans_get(scene->loading, i);

		if (span.begin <= now && now < span.end)
			return true;
	}
	return false;
}

static np_leaf free_leaf(const struct scene *scene, np_ns now)
{
	np_ns launched = NP_UNKNOWN;
	bool busy = false;

	for (np_ns next = now + 1; !busy && next < PAINTED; next++)
		(void)busy_leaf(scene, next, &busy, &launched);
	if (launched == NP_UNKNOWN)
		return np_leaf_make(NP_LEAF_FREE_UNKNOWN, 0);
	if (now >= launched)
		return np_leaf_make(NP_LEAF_FREE_OTHER, 0);
	return np_leaf_make(is_loading(scene, now) ? NP_LEAF_FREE_DATALOADER : NP_LEAF_FREE_HOST,
			    0);
}

/* The leaf of every nanosecond; the span is [*begin, *end). */
static void paint(const struct scene *scene, np_leaf *leaves, np_ns *begin, np_ns *end)
{
	*begin = PAINTED;
	*end = 0;
	for (np_ns now = 0; now < PAINTED; now++) {
		np_ns launched;
		bool busy;

		leaves[now] = busy_leaf(scene, now, &busy, &launched);
		if (!busy)
			leaves[now] = free_leaf(scene, now);
		if (busy && np_leaf_kind(leaves[now]) != NP_LEAF_MEMCPY) {
			*begin = now < *begin ? now : *begin;
			*end = now + 1;
		}
	}
}

static bool is_cut(const struct scene *scene, np_ns now)
{
	for (size_t i = 0; i < scene->op_count; i++) {
		if (scene->ops[i].start == now || scene->ops[i].end == now)
			return true;
	}
	return false;
}

/* Every segment has what was painted in it, and begins where an operator begins or ends. */
static void compare_segments(const struct np_activity *activity, const struct scene *scene,
			     const np_leaf *leaves)
{
	const struct np_activity_cell *cell = &activity->cells.item[activity->cells.count - 1];

	for (uint32_t i = 0; i < cell->segments; i++) {
		const struct np_segment *segment =
			&activity->segments.item[cell->first_segment + i];
		np_ns end = i + 1 < cell->segments ? segment[1].begin : cell->end;

		if (i > 0)
			assert_true(is_cut(scene, segment->begin));
		for (np_ns now = segment->begin + 1; now < end; now++)
			assert_false(is_cut(scene, now));
		for (uint32_t j = segment->first; j < segment[1].first; j++) {
			np_ns painted = 0;

			for (np_ns now = segment->begin; now < end; now++)
				painted += leaves[now] == activity->shares.item[j].leaf;
			assert_int_equal(activity->shares.item[j].ns, painted);
		}
	}
}

static void compare_exposed(const struct np_activity *activity, np_leaf *leaves)
{
	const struct np_activity_cell *cell = &activity->cells.item[activity->cells.count - 1];

	for (uint32_t i = 0; i < cell->exposed; i++) {
		const struct np_exposed *piece = &activity->exposed.item[cell->first_exposed + i];

		for (np_ns now = piece->begin; now < piece->end; now++) {
			assert_int_equal(leaves[now], np_leaf_make(NP_LEAF_COMM, piece->op));
			leaves[now] = np_leaf_make(NP_LEAF_MEMCPY, 0);
		}
	}
	for (np_ns now = cell->begin; now < cell->end; now++)
		assert_int_not_equal(np_leaf_kind(leaves[now]), NP_LEAF_COMM);
}

static void random_scene(uint64_t *random, struct scene *scene)
{
	scene->kernel_count = random_tasks(random, scene->kernels, false);
	scene->op_count = random_tasks(random, scene->ops, true);
	scene->copy_count = random_tasks(random, scene->copies, false);
	np_spans_clear(scene->loading);
	for (size_t i = np_random_below(random, 4); i > 0; i--) {
		np_ns start = (np_ns)np_random_below(random, PAINTED);

		assert_int_equal(np_spans_add(scene->loading, start,
					      start + (np_ns)np_random_below(random, 40), NULL),
				 NP_OK);
	}
}

static int add_scene(struct np_activity *activity, const struct scene *scene)
{
	struct scene copy = *scene;
	struct np_activity_input input = { .kernels = copy.kernels,
					   .kernel_count = copy.kernel_count,
					   .ops = copy.ops,
					   .op_count = copy.op_count,
					   .copies = copy.copies,
					   .copy_count = copy.copy_count,
					   .loading = scene->loading };

	return np_activity_add(activity, &input, NULL);
}

static void random_timelines_are_as_if_painted_nanosecond_by_nanosecond(void **state)
{
	struct scene scene = { .loading = np_spans_new() };
	struct np_activity activity = { 0 };
	uint64_t random = 42;

	(void)state;
	for (int i = 0; i < TIMES; i++) {
		np_leaf leaves[PAINTED];
		np_ns begin;
		np_ns end;

		random_scene(&random, &scene);
		assert_int_equal(add_scene(&activity, &scene), NP_OK);
		paint(&scene, leaves, &begin, &end);
		if (begin < end) {
			assert_int_equal(activity.cells.item[activity.cells.count - 1].begin,
					 begin);
			assert_int_equal(activity.cells.item[activity.cells.count - 1].end, end);
		}
		(void)sums_of(&activity, activity.cells.count - 1);
		compare_segments(&activity, &scene, leaves);
		compare_exposed(&activity, leaves);
		if (i % 50 == 49)
			np_activity_release(&activity);
	}
	np_spans_free(scene.loading);
	np_activity_release(&activity);
}

/* Move tasks that start before `until` to `part`; returns how many. */
static size_t take_part(struct np_activity_task *tasks, size_t *count, np_ns until,
			struct np_activity_task *part)
{
	size_t taken = 0;
	size_t left = 0;

	for (size_t i = 0; i < *count; i++) {
		if (tasks[i].start < until)
			part[taken++] = tasks[i];
		else
			tasks[left++] = tasks[i];
	}
	*count = left;
	return taken;
}

static void add_scene_in_parts(struct np_activity_builder *build, struct np_activity *activity,
			       const struct scene *scene, uint64_t *random)
{
	struct scene left = *scene;
	struct scene part;
	np_ns until = 0;

	np_activity_begin(build, activity, scene->loading);
	while (until < PAINTED) {
		struct np_activity_input input = { .kernels = part.kernels,
						   .ops = part.ops,
						   .copies = part.copies };

		until += 1 + (np_ns)np_random_below(random, PAINTED / 2);
		input.kernel_count =
			take_part(left.kernels, &left.kernel_count, until, part.kernels);
		input.op_count = take_part(left.ops, &left.op_count, until, part.ops);
		input.copy_count = take_part(left.copies, &left.copy_count, until, part.copies);
		assert_int_equal(np_activity_feed(build, &input, until, NULL), NP_OK);
	}
	assert_int_equal(np_activity_end(build, NULL), NP_OK);
}

#define ASSERT_SAME(a, b) \
	do { \
		assert_int_equal((a).count, (b).count); \
		if ((a).count > 0) \
			assert_memory_equal((a).item, (b).item, (a).count * sizeof(*(a).item)); \
	} while (0)

/* Field by field: there may be holes between them. */
static void assert_same_exposed(const struct np_activity *a, const struct np_activity *b)
{
	assert_int_equal(a->exposed.count, b->exposed.count);
	for (size_t i = 0; i < a->exposed.count; i++) {
		assert_int_equal(a->exposed.item[i].begin, b->exposed.item[i].begin);
		assert_int_equal(a->exposed.item[i].end, b->exposed.item[i].end);
		assert_int_equal(a->exposed.item[i].op, b->exposed.item[i].op);
		assert_int_equal(a->exposed.item[i].later, b->exposed.item[i].later);
		assert_int_equal(a->exposed.item[i].host, b->exposed.item[i].host);
	}
}

static void a_cell_in_parts_is_that_in_one(void **state)
{
	struct np_activity_builder *build = np_activity_builder_new();
	struct scene scene = { .loading = np_spans_new() };
	struct np_activity whole = { 0 };
	struct np_activity parts = { 0 };
	uint64_t random = 43;

	(void)state;
	for (int i = 0; i < TIMES; i++) {
		random_scene(&random, &scene);
		assert_int_equal(add_scene(&whole, &scene), NP_OK);
		add_scene_in_parts(build, &parts, &scene, &random);
		ASSERT_SAME(whole.cells, parts.cells);
		ASSERT_SAME(whole.segments, parts.segments);
		ASSERT_SAME(whole.shares, parts.shares);
		assert_same_exposed(&whole, &parts);
		if (i % 50 == 49) {
			np_activity_release(&whole);
			np_activity_release(&parts);
		}
	}
	np_activity_builder_free(build);
	np_spans_free(scene.loading);
}

/*
 * main     0-10,                        48-90
 * side            15-20,         42-44
 * op          10-40
 *
 * Pieces 10-15 and 20-40: the main stream, which computes longest, goes on at 48.
 */
static void of_an_exposed_piece_it_is_kept_when_the_main_stream_goes_on(void **state)
{
	struct np_activity_task kernels[] = { task(0, 10, 1, np_activity_tie(7, 1), TYPE_A),
					      task(15, 20, 1, np_activity_tie(3, 2), TYPE_B),
					      task(42, 44, 1, np_activity_tie(3, 3), TYPE_B),
					      task(48, 90, 1, np_activity_tie(7, 4), TYPE_A) };
	struct np_activity_task ops[] = { task(10, 40, 2, 7, 0) };
	struct np_activity_input input = { .kernels = kernels,
					   .kernel_count = NP_COUNT(kernels),
					   .ops = ops,
					   .op_count = NP_COUNT(ops) };
	struct np_activity activity = { 0 };

	(void)state;
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	assert_int_equal(activity.exposed.count, 2);
	assert_int_equal(activity.exposed.item[0].end, 15);
	assert_int_equal(activity.exposed.item[0].later, 48 - 15);
	assert_int_equal(activity.exposed.item[1].end, 40);
	assert_int_equal(activity.exposed.item[1].later, 48 - 40);
	np_activity_release(&activity);
}

/*
 * kernels  0-10,        18-25 (launched 16),       42-50 (launched 41)
 * ops         10-30                         30-38
 *
 * 10-18: until 16 nothing was launched; 25-30 and 30-38: nothing was before 41, so all of them.
 */
static void of_an_exposed_piece_it_is_kept_how_long_the_host_launched_nothing(void **state)
{
	struct np_activity_task kernels[] = { task(0, 10, 1, np_activity_tie(7, 1), TYPE_A),
					      task(18, 25, 16, np_activity_tie(7, 2), TYPE_B),
					      task(42, 50, 41, np_activity_tie(7, 3), TYPE_A) };
	struct np_activity_task ops[] = { task(10, 30, 2, 7, 0), task(30, 38, 2, 7, 1) };
	struct np_activity_input input = { .kernels = kernels,
					   .kernel_count = NP_COUNT(kernels),
					   .ops = ops,
					   .op_count = NP_COUNT(ops) };
	struct np_activity activity = { 0 };

	(void)state;
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	assert_int_equal(activity.exposed.count, 3);
	assert_int_equal(activity.exposed.item[0].host, 6);
	assert_int_equal(activity.exposed.item[1].host, 5);
	assert_int_equal(activity.exposed.item[2].host, 8);
	np_activity_release(&activity);
}

/* Behind the last kernel of the main stream those of others count, and behind them nothing. */
static void behind_the_main_stream_any_kernel_comes_next(void **state)
{
	struct np_activity_task kernels[] = { task(0, 50, 1, np_activity_tie(7, 1), TYPE_A),
					      task(65, 70, 1, np_activity_tie(3, 2), TYPE_B) };
	struct np_activity_task ops[] = { task(50, 60, 2, 7, 0), task(75, 80, 2, 7, 1) };
	struct np_activity_input input = { .kernels = kernels,
					   .kernel_count = NP_COUNT(kernels),
					   .ops = ops,
					   .op_count = NP_COUNT(ops) };
	struct np_activity activity = { 0 };

	(void)state;
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	assert_int_equal(activity.exposed.count, 2);
	assert_int_equal(activity.exposed.item[0].later, 5);
	assert_int_equal(activity.exposed.item[1].later, NP_EXPOSED_LAST);
	np_activity_release(&activity);
}

/* --- changing -------------------------------------------------------------------------------- */

static void cells_can_be_picked_and_keep_what_they_are_made_of(void **state)
{
	struct scene scene = { .loading = np_spans_new() };
	struct np_activity activity = { 0 };
	const uint32_t cells[] = { 3, 0, 2 };
	struct sums before[4];
	uint32_t exposed[4];
	uint64_t random = 7;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(before); i++) {
		random_scene(&random, &scene);
		assert_int_equal(add_scene(&activity, &scene), NP_OK);
		before[i] = sums_of(&activity, i);
		exposed[i] = activity.cells.item[i].exposed;
	}
	assert_int_equal(np_activity_pick(&activity, cells, NP_COUNT(cells), NULL), NP_OK);
	assert_int_equal(activity.cells.count, NP_COUNT(cells));
	for (size_t i = 0; i < NP_COUNT(cells); i++) {
		struct sums after = sums_of(&activity, i);

		assert_memory_equal(&after, &before[cells[i]], sizeof(after));
		assert_int_equal(activity.cells.item[i].exposed, exposed[cells[i]]);
	}
	assert_int_equal(np_activity_pick(&activity, NULL, 0, NULL), NP_OK);
	assert_int_equal(activity.cells.count, 0);
	assert_int_equal(activity.shares.count, 0);
	np_spans_free(scene.loading);
	np_activity_release(&activity);
}

static void operators_that_move_take_their_pieces_along(void **state)
{
	struct np_activity_task ops[] = { task(0, 10, 0, 0, 0), task(20, 30, 0, 0, 1) };
	struct np_activity_input input = { .ops = ops, .op_count = NP_COUNT(ops) };
	const uint32_t place[] = { NP_LEAF_NOBODY, 5 };
	struct np_activity activity = { 0 };

	(void)state;
	assert_int_equal(np_activity_add(&activity, &input, NULL), NP_OK);
	np_activity_move_ops(&activity, place);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMM, 5)), 10);
	assert_int_equal(share_of(&activity, 0, np_leaf_make(NP_LEAF_COMM, NP_LEAF_NOBODY)), 10);
	assert_int_equal(activity.cells.item[0].exposed, 1);
	assert_int_equal(activity.exposed.item[0].op, 5);
	assert_int_equal(activity.exposed.item[0].begin, 20);
	np_activity_release(&activity);
}

static int add_and_pick(struct np_err *err)
{
	struct np_activity_task kernels[] = { task(0, 10, 0, 0, TYPE_A),
					      task(40, 60, 30, 0, TYPE_B) };
	struct np_activity_task ops[] = { task(5, 20, 0, 0, 0), task(30, 35, 0, 0, 1) };
	struct np_activity_input input = {
		.kernels = kernels, .kernel_count = 2, .ops = ops, .op_count = 2
	};
	struct np_activity activity = { 0 };
	int rc = np_activity_add(&activity, &input, err);

	if (rc == NP_OK)
		rc = np_activity_pick(&activity, (const uint32_t[]){ 0 }, 1, err);
	np_activity_release(&activity);
	return rc;
}

static void running_out_of_memory_is_an_ordinary_failure(void **state)
{
	(void)state;
	assert_survives_faults(add_and_pick);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_nanosecond_belongs_to_the_first_that_runs),
		cmocka_unit_test(
			of_kernels_that_start_at_once_the_smaller_stream_then_task_comes_first),
		cmocka_unit_test(of_operators_that_start_at_once_the_smaller_hash_comes_first),
		cmocka_unit_test(loading_data_takes_its_part_of_what_the_host_was_late),
		cmocka_unit_test(without_a_launch_the_gap_before_a_task_is_unknown),
		cmocka_unit_test(spans_that_are_given_decide_what_computing_is),
		cmocka_unit_test(small_gaps_in_what_hides_an_operator_are_joined),
		cmocka_unit_test(long_shares_are_divided),
		cmocka_unit_test(a_step_without_tasks_is_an_empty_cell),
		cmocka_unit_test(a_cell_in_parts_is_that_in_one),
		cmocka_unit_test(of_an_exposed_piece_it_is_kept_when_the_main_stream_goes_on),
		cmocka_unit_test(behind_the_main_stream_any_kernel_comes_next),
		cmocka_unit_test(of_an_exposed_piece_it_is_kept_how_long_the_host_launched_nothing),
		cmocka_unit_test(random_timelines_are_as_if_painted_nanosecond_by_nanosecond),
		cmocka_unit_test(cells_can_be_picked_and_keep_what_they_are_made_of),
		cmocka_unit_test(operators_that_move_take_their_pieces_along),
		cmocka_unit_test(running_out_of_memory_is_an_ordinary_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
