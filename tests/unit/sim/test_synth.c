/* SPDX-License-Identifier: Apache-2.0 */
#include "np_test.h"

/*
 * The generator's own promises: same seed, same run; a plant changes only what
 * it plants; nothing happens in two places, or before its time.
 */
#include "sim/synth/account/account.h"
#include "sim/synth/account/truth.h"
#include "sim/synth/plan/options.h"
#include "sim/synth/plan/plants.h"
#include "sim/synth/plan/rng.h"
#include "sim/synth/world/comm.h"
#include "sim/synth/world/stream.h"

struct job {
	struct syn_config config;
	struct syn_timeline timeline;
};

/* A job from options as one would type them, ended by NULL. */
static struct job *job_of(const char *const *options)
{
	struct job *job = calloc(1, sizeof(*job));
	struct np_err err = NP_ERR_INIT;
	enum syn_action action;
	char *argv[32] = { NULL };
	int argc = 2;

	assert_non_null(job);
	argv[0] = strdup("npuprof-synth");
	argv[1] = strdup("/nowhere");
	while (options[argc - 2]) {
		argv[argc] = strdup(options[argc - 2]);
		argc++;
	}
	syn_config_init(&job->config);
	assert_ok(syn_options_parse(argc, argv, &job->config, &action, &err), err);
	assert_ok(syn_config_complete(&job->config, &err), err);
	/* The texts of plants point into argv, and are not needed beyond this. */
	for (size_t i = 0; i < job->config.plants.count; i++)
		job->config.plants.item[i].argument = "";
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	job->config.out = NULL;
	job->config.omit_text = NULL;
	assert_ok(syn_timeline_run(&job->timeline, &job->config, &err), err);
	return job;
}

static void job_free(struct job **job)
{
	syn_timeline_release(&(*job)->timeline);
	syn_config_release(&(*job)->config);
	free(*job);
	*job = NULL;
}

#define JOB(name, ...) \
	NP_CLEANUP(job_free) struct job *name = job_of((const char *const[]){ __VA_ARGS__, NULL })

static bool same_run(const struct job *a, const struct job *b)
{
	size_t slots = a->timeline.slots_per_step * (size_t)a->config.steps;

	return a->timeline.slots_per_step == b->timeline.slots_per_step &&
	       memcmp(a->timeline.slots, b->timeline.slots, slots * sizeof(struct syn_slot)) == 0;
}

/* Summed kernel time of a rank in a step. */
static np_ns kernel_time(const struct job *job, int32_t rank, int64_t step)
{
	struct syn_program program = { 0 };
	struct np_err err = NP_ERR_INIT;
	np_ns sum = 0;

	assert_ok(
		syn_program_build(&program, &job->config, &job->timeline.groups, rank, step, &err),
		err);
	for (size_t i = 0; i < program.items.count; i++)
		sum += program.items.item[i].duration_ns;
	syn_program_release(&program);
	return sum;
}

static void same_seed_gives_the_same_run(void **state)
{
	JOB(a, "--schedule", "3d", "--ranks", "8", "--seed", "7");
	JOB(b, "--schedule", "3d", "--ranks", "8", "--seed", "7");
	JOB(c, "--schedule", "3d", "--ranks", "8", "--seed", "8");

	(void)state;
	assert_true(same_run(a, b));
	assert_false(same_run(a, c));
}

static void number_of_threads_does_not_matter(void **state)
{
	JOB(a, "--schedule", "3d", "--ranks", "16", "-j", "1");
	JOB(b, "--schedule", "3d", "--ranks", "16", "-j", "5");

	(void)state;
	assert_true(same_run(a, b));
}

static void slow_rank_changes_no_other_draw(void **state)
{
	JOB(plain, "--ranks", "8");
	JOB(slow, "--ranks", "8", "--slow-rank", "3:1.5");

	(void)state;
	for (int32_t rank = 0; rank < 8; rank++) {
		double factor =
			(double)kernel_time(slow, rank, 1) / (double)kernel_time(plain, rank, 1);

		assert_near(factor, rank == 3 ? 1.5 : 1.0, rank == 3 ? 1e-3 : 0.0);
	}
}

static void slow_link_changes_transfers_of_its_pair_alone(void **state)
{
	JOB(plain, "--schedule", "tp", "--tp", "2", "--ranks", "4");
	JOB(slow, "--schedule", "tp", "--tp", "2", "--ranks", "4", "--slow-link", "2-3:4");
	size_t count = plain->timeline.per_step * (size_t)plain->config.steps;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		const struct syn_instance *a = &plain->timeline.instances[i];
		const struct syn_instance *b = &slow->timeline.instances[i];
		bool pair = plain->timeline.groups.all.item[a->group].ranks[0] == 2;

		if (plain->timeline.groups.all.item[a->group].role != SYN_ROLE_TP)
			continue;
		if (pair)
			assert_true(b->transfer_ns > 2 * a->transfer_ns);
		else
			assert_int_equal(a->transfer_ns, b->transfer_ns);
	}
}

static void everybody_waits_for_the_last_arriver(void **state)
{
	JOB(job, "--schedule", "3d", "--ranks", "16", "--slow-rank", "5:2");
	size_t count = job->timeline.per_step * (size_t)job->config.steps;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		const struct syn_instance *one = &job->timeline.instances[i];
		const struct syn_slot *slots = &job->timeline.slots[one->first_slot];

		assert_int_equal(one->arrived, one->members);
		for (int32_t k = 0; k < one->members; k++) {
			assert_true(slots[k].start_ns <= one->arrival_ns);
			assert_true(slots[k].end_ns >= one->arrival_ns + one->transfer_ns);
		}
	}
}

static void without_noise_all_members_end_together(void **state)
{
	JOB(job, "--schedule", "tp", "--ranks", "4", "--noise", "0");
	const struct syn_instance *one = &job->timeline.instances[0];
	const struct syn_slot *slots = &job->timeline.slots[one->first_slot];

	(void)state;
	for (int32_t k = 1; k < one->members; k++)
		assert_int_equal(slots[k].end_ns, slots[0].end_ns);
}

/* A pipeline that deadlocks, whatever its shape, would fail in job_of(). */
static void every_pipeline_runs_through(void **state)
{
	static const char *const modes[] = { "sendrecv", "batch" };

	(void)state;
	for (int64_t pp = 2; pp <= 5; pp++) {
		for (int64_t micros = 1; micros <= 6; micros++) {
			char stages[8];
			char batches[8];

			(void)snprintf(stages, sizeof(stages), "%d", (int)pp);
			(void)snprintf(batches, sizeof(batches), "%d", (int)micros);
			for (size_t mode = 0; mode < NP_COUNT(modes); mode++) {
				JOB(job, "--schedule", "pp", "--pp", stages, "--layers", stages,
				    "--micro-batches", batches, "--p2p", modes[mode], "--steps",
				    "2");

				assert_int_equal(job->config.ranks, pp);
			}
		}
	}
}

/* Looks at everything a rank shows. */
struct watcher {
	struct syn_sink base;
	struct syn_intervals streams[256];
	np_ns first_start; /* of the present step */
	np_ns last_start;
	np_ns before; /* last start of the step before */
	int64_t ops;
	int64_t steps;
};

static void see(struct watcher *watcher, int32_t stream, np_ns start, np_ns end)
{
	assert_true(end >= start);
	assert_ok(syn_intervals_add(&watcher->streams[stream], start, end, NULL),
		  (struct np_err){ 0 });
}

static void see_start(struct watcher *watcher, np_ns start)
{
	if (start < watcher->first_start)
		watcher->first_start = start;
	if (start > watcher->last_start)
		watcher->last_start = start;
}

static int see_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	struct watcher *watcher = (struct watcher *)sink;

	(void)err;
	see(watcher, task->stream, task->start_ns, task->end_ns);
	if (task->kind == SYN_TASK_KERNEL)
		see_start(watcher, task->start_ns);
	return NP_OK;
}

static int see_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct watcher *watcher = (struct watcher *)sink;
	np_ns first = INT64_MAX;
	np_ns last = INT64_MIN;

	(void)err;
	for (size_t i = 0; i < comm->task_count; i++) {
		const struct syn_sub_task *task = &comm->tasks[i];
		bool payload = (task->kind == SYN_COPY || task->kind == SYN_REDUCE ||
				task->kind == SYN_RDMA_PAYLOAD) &&
			       !task->on_chip;

		see(watcher, comm->stream + task->plane, task->start_ns, task->end_ns);
		first = task->start_ns < first ? task->start_ns : first;
		last = task->end_ns > last ? task->end_ns : last;
		if (payload)
			assert_true(task->start_ns >= comm->instance->arrival_ns);
	}
	assert_int_equal(first, comm->start_ns);
	assert_int_equal(last, comm->end_ns);
	see_start(watcher, comm->start_ns);
	watcher->ops++;
	return NP_OK;
}

static int see_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct watcher *watcher = (struct watcher *)sink;

	(void)err;
	(void)step;
	assert_true(watcher->first_start > watcher->before);
	watcher->before = watcher->last_start;
	watcher->first_start = INT64_MAX;
	watcher->steps++;
	return NP_OK;
}

static void watch(const struct job *job, int32_t rank, struct watcher *watcher)
{
	struct syn_sink *sinks[] = { &watcher->base };
	struct np_err err = NP_ERR_INIT;

	*watcher = (struct watcher){ .before = INT64_MIN,
				     .first_start = INT64_MAX,
				     .last_start = INT64_MIN };
	watcher->base.task = see_task;
	watcher->base.comm = see_comm;
	watcher->base.step = see_step;
	assert_ok(syn_stream_rank(&job->timeline, rank, sinks, 1, &err), err);
}

static void unwatch(struct watcher *watcher)
{
	for (size_t i = 0; i < NP_COUNT(watcher->streams); i++)
		syn_intervals_release(&watcher->streams[i]);
}

static int by_start(const void *a, const void *b)
{
	const struct syn_interval *x = a;
	const struct syn_interval *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns > y->start_ns ? 1 : -1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static void check_streams(const struct job *job)
{
	static struct watcher watcher;

	for (int32_t rank = 0; rank < job->config.ranks; rank++) {
		watch(job, rank, &watcher);
		assert_int_equal(watcher.steps, job->config.steps);
		for (size_t i = 0; i < NP_COUNT(watcher.streams); i++) {
			struct syn_intervals *stream = &watcher.streams[i];

			if (stream->all.count > 0)
				qsort(stream->all.item, stream->all.count,
				      sizeof(*stream->all.item), by_start);
			for (size_t k = 1; k < stream->all.count; k++)
				assert_true(stream->all.item[k].start_ns >=
					    stream->all.item[k - 1].end_ns);
		}
		unwatch(&watcher);
	}
}

static void tasks_of_a_stream_do_not_overlap(void **state)
{
	JOB(mesh, "--schedule", "3d", "--ranks", "8");
	JOB(ring, "--schedule", "3d", "--ranks", "16", "--hosts", "8", "--p2p", "batch", "--grads",
	    "scatter");
	JOB(experts, "--schedule", "ep", "--ranks", "16", "--expert-skew", "0.6");

	(void)state;
	check_streams(mesh);
	check_streams(ring);
	check_streams(experts);
}

static void dropped_operators_are_as_many_as_asked(void **state)
{
	JOB(plain, "--ranks", "4");
	JOB(lossy, "--ranks", "4", "--drop-ops", "1:5", "--drop-ops", "2:0.4");
	static struct watcher watcher;
	int64_t all;

	(void)state;
	watch(plain, 1, &watcher);
	all = watcher.ops;
	unwatch(&watcher);
	watch(lossy, 1, &watcher);
	assert_int_equal(watcher.ops, all - 5);
	unwatch(&watcher);
	watch(lossy, 2, &watcher);
	assert_int_equal(watcher.ops, all - (int64_t)(0.4 * (double)all + 0.5));
	unwatch(&watcher);
	watch(lossy, 3, &watcher);
	assert_int_equal(watcher.ops, all);
	unwatch(&watcher);
}

static void assert_bubble_is_whole(const struct syn_bubble *bubble, const struct syn_totals *sum)
{
	assert_int_equal(bubble->useful_ns, sum->computing_ns);
	assert_int_equal(bubble->host_ns, sum->free_ns);
	assert_int_equal(bubble->other_comm_ns + bubble->warmup_ns + bubble->imbalance_ns +
				 bubble->transfer_ns + bubble->tail_ns,
			 sum->exposed_ns);
	assert_true(bubble->warmup_ns > 0 && bubble->transfer_ns > 0);
}

static void parts_of_a_step_sum_to_its_span(void **state)
{
	JOB(job, "--schedule", "3d", "--ranks", "8", "--clock-skew", "2:3ms:40");
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (int32_t rank = 0; rank < 8; rank++) {
		struct syn_truth truth;
		struct syn_sink *sinks[] = { &truth.base };

		syn_truth_init(&truth, job->timeline.config, rank);
		assert_ok(syn_stream_rank(&job->timeline, rank, sinks, 1, &err), err);
		assert_int_equal(truth.steps.count, 3);
		for (size_t i = 0; i < truth.steps.count; i++) {
			const struct syn_totals *sum = &truth.steps.item[i].totals;

			assert_int_equal(sum->computing_ns + sum->exposed_ns + sum->free_ns,
					 sum->span_ns);
			assert_int_equal(sum->stage_ns + sum->bubble_ns, sum->span_ns);
			assert_int_equal(sum->exposed_ns + sum->overlapped_ns,
					 sum->communication_ns);
			assert_true(sum->free_ns >= 0);
			assert_bubble_is_whole(&truth.steps.item[i].bubble, sum);
			assert_true(sum->preparing_ns > 0);
		}
		syn_truth_release(&truth);
	}
}

static void skewed_clock_keeps_the_order_of_times(void **state)
{
	struct syn_clock clock = { .offset_ns = -120000000000, .drift_ppm = -37.5 };
	np_ns before = syn_clock_read(&clock, SYN_EPOCH_NS - 5000);

	(void)state;
	/* At the epoch there is the offset alone; a second later 37.5 us less. */
	assert_int_equal(syn_clock_read(&clock, SYN_EPOCH_NS), SYN_EPOCH_NS - 120000000000);
	assert_int_equal(syn_clock_read(&clock, SYN_EPOCH_NS + 1000000000),
			 SYN_EPOCH_NS + 1000000000 - 120000000000 - 37500);
	for (np_ns t = SYN_EPOCH_NS - 4999; t < SYN_EPOCH_NS + 100000; t++) {
		np_ns now = syn_clock_read(&clock, t);

		assert_true(now >= before);
		before = now;
	}
}

static void communicator_has_the_hash_of_the_vendor(void **state)
{
	(void)state;
	assert_true(syn_name_hash("90.91.105.46%enp189s0f0_60000_0_1736410538306028") ==
		    UINT64_C(17148521525495523210));
	assert_true(syn_name_hash("group_name_0") == UINT64_C(5862276093215481612));
}

static void draws_have_the_moments_they_should(void **state)
{
	double uniform = 0.0;
	double normal = 0.0;
	double square = 0.0;
	double exponential = 0.0;
	const int count = 100000;

	(void)state;
	for (int i = 0; i < count; i++) {
		struct syn_key key = { 1, SYN_FOR_KERNEL, 3, 4, (uint64_t)i };
		double z = syn_normal(&key);

		uniform += syn_uniform(&key) / count;
		normal += z / count;
		square += z * z / count;
		exponential += syn_exponential(&key) / count;
	}
	/* Four standard errors of each mean. */
	assert_near(uniform, 0.5, 0.0037);
	assert_near(normal, 0.0, 0.0127);
	assert_near(square, 1.0, 0.018);
	assert_near(exponential, 1.0, 0.0127);
}

static void wrong_plants_are_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "slow-rank", "3" },     { "slow-rank", "3:0" },       { "slow-rank", "3:1.5x" },
		{ "slow-link", "1:2" },   { "clock-skew", "host1:5" },  { "clock-skew", "1:5h" },
		{ "truncate", "1:1.5" },  { "shift-ordinals", "1:.5" }, { "host-gap", "1:-3" },
		{ "clock-skew", "x:1s" }, { "between", "-1" },          { "between", "1:2" },
		{ "dataloader", "5" },    { "dataloader", "any:5" },    { "dataloader", "all:5:0" },
		{ "dataloader", "1:5:" },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(bad); i++) {
		struct np_err err = NP_ERR_INIT;
		struct syn_config config;
		int rc = NP_OK;

		syn_config_init(&config);
		for (size_t k = 0; k < syn_plant_kind_count; k++) {
			if (strcmp(syn_plant_kinds[k].name, bad[i][0]) == 0)
				rc = syn_plants_add(&config, &syn_plant_kinds[k], bad[i][1], &err);
		}
		assert_int_equal(rc, NP_E_USAGE);
		syn_config_release(&config);
	}
}

static void uneven_sequences_move_work_and_make_none(void **state)
{
	JOB(job, "--dp", "4", "--seq-imbalance", "0.3", "--steps", "3");

	(void)state;
	for (int64_t step = 0; step < 3; step++) {
		double sum = 0.0;
		double most = 0.0;

		for (int32_t dp = 0; dp < 4; dp++) {
			struct syn_place place = { .rank = dp, .dp = dp };
			double work = syn_kernel_factor(&job->config, &place, step);

			sum += work;
			most = work > most ? work : most;
		}
		assert_true(sum > 3.999999 && sum < 4.000001);
		assert_true(most > 1.05);
	}
}

/* First start and span of each step of a rank, on its own clock. */
struct step_times {
	np_ns begin[8];
	np_ns span[8];
	size_t count;
};

static struct step_times step_times_of(const struct job *job, int32_t rank)
{
	struct step_times times = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct syn_truth truth;
	struct syn_sink *sinks[] = { &truth.base };

	syn_truth_init(&truth, job->timeline.config, rank);
	assert_ok(syn_stream_rank(&job->timeline, rank, sinks, 1, &err), err);
	times.count = truth.steps.count;
	assert_true(times.count <= NP_COUNT(times.begin));
	for (size_t i = 0; i < times.count; i++) {
		times.begin[i] = truth.steps.item[i].totals.begin_ns;
		times.span[i] = truth.steps.item[i].totals.span_ns;
	}
	syn_truth_release(&truth);
	return times;
}

/* Without noise the steps are equal, and what is longer is the time between them alone. */
static void pause_between_steps_lengthens_iterations_and_no_span(void **state)
{
	JOB(plain, "--ranks", "4", "--steps", "4", "--noise", "0");
	JOB(pause, "--ranks", "4", "--steps", "4", "--noise", "0", "--between", "3000");

	(void)state;
	for (int32_t rank = 0; rank < 4; rank++) {
		struct step_times before = step_times_of(plain, rank);
		struct step_times after = step_times_of(pause, rank);

		for (size_t i = 0; i + 1 < after.count; i++) {
			np_ns longer = (after.begin[i + 1] - after.begin[i]) -
				       (before.begin[i + 1] - before.begin[i]);

			assert_int_equal(after.span[i], before.span[i]);
			/* 3 ms, and what the host has to wait for the device before. */
			assert_true(longer >= 3000000 && longer < 4000000);
		}
		assert_int_equal(after.span[3], before.span[3]);
	}
}

/*
 * Steps 2 and 4 of rank 1 begin 5 ms later, less what its device still had to do; the others wait
 * for it inside the step.
 */
static void stalled_loader_delays_the_rank_in_every_other_step(void **state)
{
	JOB(plain, "--ranks", "4", "--steps", "4", "--noise", "0");
	JOB(stall, "--ranks", "4", "--steps", "4", "--noise", "0", "--dataloader", "1:5000:2");
	struct step_times before = step_times_of(plain, 1);
	struct step_times after = step_times_of(stall, 1);
	struct step_times other = step_times_of(stall, 2);

	(void)state;
	assert_int_equal(after.begin[0], before.begin[0]);
	for (size_t i = 1; i < 4; i++) {
		np_ns late = (after.begin[i] - after.begin[i - 1]) -
			     (before.begin[i] - before.begin[i - 1]);

		assert_true(late <= 5000000);
		assert_true(i == 2 ? late < 1000000 : late > 3000000);
	}
	assert_int_equal(other.begin[1], before.begin[1]);
	assert_true(other.span[1] > before.span[1] + 3000000);
}

/* What the sink shows of the loader. */
struct loader_watcher {
	struct syn_sink base;
	np_ns longest;
	int64_t count;
};

static int see_loader(struct syn_sink *sink, const struct syn_api *api, struct np_err *err)
{
	struct loader_watcher *watcher = (struct loader_watcher *)sink;
	np_ns length = api->end_ns - api->start_ns;

	(void)err;
	if (!strstr(api->name, "enumerate(DataLoader)#"))
		return NP_OK;
	watcher->count++;
	watcher->longest = length > watcher->longest ? length : watcher->longest;
	return NP_OK;
}

static void stalled_loader_is_recorded_as_torch_does(void **state)
{
	JOB(stall, "--ranks", "2", "--steps", "4", "--noise", "0", "--dataloader", "all:5000");
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (int32_t rank = 0; rank < 2; rank++) {
		struct loader_watcher watcher = { .base = { .api = see_loader } };
		struct syn_sink *sinks[] = { &watcher.base };

		assert_ok(syn_stream_rank(&stall->timeline, rank, sinks, 1, &err), err);
		assert_int_equal(watcher.count, 4);
		assert_true(watcher.longest >= 5000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_seed_gives_the_same_run),
		cmocka_unit_test(number_of_threads_does_not_matter),
		cmocka_unit_test(slow_rank_changes_no_other_draw),
		cmocka_unit_test(uneven_sequences_move_work_and_make_none),
		cmocka_unit_test(slow_link_changes_transfers_of_its_pair_alone),
		cmocka_unit_test(everybody_waits_for_the_last_arriver),
		cmocka_unit_test(without_noise_all_members_end_together),
		cmocka_unit_test(every_pipeline_runs_through),
		cmocka_unit_test(tasks_of_a_stream_do_not_overlap),
		cmocka_unit_test(dropped_operators_are_as_many_as_asked),
		cmocka_unit_test(parts_of_a_step_sum_to_its_span),
		cmocka_unit_test(skewed_clock_keeps_the_order_of_times),
		cmocka_unit_test(communicator_has_the_hash_of_the_vendor),
		cmocka_unit_test(draws_have_the_moments_they_should),
		cmocka_unit_test(wrong_plants_are_refused),
		cmocka_unit_test(pause_between_steps_lengthens_iterations_and_no_span),
		cmocka_unit_test(stalled_loader_delays_the_rank_in_every_other_step),
		cmocka_unit_test(stalled_loader_is_recorded_as_torch_does),
	};

	return cmocka_run_group_tests_name("synth", tests, NULL, NULL);
}
