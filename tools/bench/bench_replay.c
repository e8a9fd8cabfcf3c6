/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a run is replayed:
 *
 *	npuprof-bench-replay [-r ranks] [-o operators] [-j threads] [-n scenarios]
 *
 * Of the ranks only operators are known, so that each stands still for each of
 * them: the most that a replay can have to do. Printed are seconds and megabytes
 * to build the replay, of one untouched scenario, and of many scenarios, in each of
 * which another rank is faster.
 */
#include "bench_run.h"

#include "npuprof/clock.h"
#include "npuprof/replay.h"
#include "npuprof/workers.h"

struct scenarios {
	const struct np_replay *replay;
	size_t count;
	np_ns *steps;
};

typedef float factors[NP_WORK_KINDS];

/* All as it was, but one rank in half the time. */
static factors *make_scenario(const struct np_replay *replay, size_t rank)
{
	factors *work = malloc((replay->cells.count + 1) * sizeof(*work));

	if (!work)
		die("out of memory");
	for (size_t i = 0; i < replay->cells.count; i++) {
		for (int kind = 0; kind < NP_WORK_KINDS; kind++)
			work[i][kind] = replay->cells.item[i].rank == rank ? 0.5F : 1.0F;
	}
	return work;
}

/* As many scenarios as run side by side. */
static void run_few(void *context, size_t index)
{
	struct scenarios *all = context;
	size_t ranks = all->replay->align->run->sources.count;
	size_t first = index * NP_REPLAY_LANES;
	size_t count = all->count - first < NP_REPLAY_LANES ? all->count - first : NP_REPLAY_LANES;
	struct np_scenario scenarios[NP_REPLAY_LANES] = { 0 };
	struct np_replay_result results[NP_REPLAY_LANES];
	factors *work[NP_REPLAY_LANES];
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; i < count; i++) {
		work[i] = make_scenario(all->replay, (first + i) % ranks);
		scenarios[i].work = (const float(*)[NP_WORK_KINDS])work[i];
	}
	if (np_replay_run_many(all->replay, scenarios, count, results, &err) < 0)
		die(err.text);
	for (size_t i = 0; i < count; i++) {
		all->steps[first + i] = results[i].step;
		free(work[i]);
	}
}

/* Seconds by the clock and of processors since the last call. */
static void print_lap(const char *what)
{
	static double last;
	static double busy;
	double time = now(CLOCK_MONOTONIC);
	double used = now(CLOCK_PROCESS_CPUTIME_ID);

	if (last > 0)
		(void)printf("%s: %.3f s (%.3f s of processors), %.0f MB resident\n", what,
			     time - last, used - busy, resident());
	last = time;
	busy = used;
}

static void run_scenarios(const struct np_replay *replay, const struct bench_options *options)
{
	struct scenarios scenarios = { .replay = replay, .count = options->repetitions };
	struct np_workers workers = { .threads = options->threads };
	struct np_replay_result result;
	struct np_err err = NP_ERR_INIT;
	char what[64];

	scenarios.steps = calloc(options->repetitions + 1, sizeof(*scenarios.steps));
	if (!scenarios.steps)
		die("out of memory");
	if (np_replay_run(replay, NULL, &result, &err) < 0)
		die(err.text);
	print_lap("one world");
	(void)printf("%zu marks; observed %lld ns, replayed %lld ns, %zu forced\n",
		     replay->marks.count, (long long)replay->observed, (long long)result.total,
		     result.forced);
	np_workers_run(&workers, (scenarios.count + NP_REPLAY_LANES - 1) / NP_REPLAY_LANES, run_few,
		       &scenarios);
	(void)snprintf(what, sizeof(what), "%zu worlds on %zu threads", options->repetitions,
		       options->threads);
	print_lap(what);
	free(scenarios.steps);
}

int main(int argc, char **argv)
{
	struct bench_options options = parse_options(argc, argv, 100);
	struct np_run *run = make_run(&options);
	struct np_align *align = NULL;
	struct np_clock *clock = NULL;
	struct np_cluster *cluster = NULL;
	struct np_replay *replay = NULL;
	struct np_err err = NP_ERR_INIT;
	double before;

	if (np_cluster_build(run, &cluster, &err) < 0 ||
	    np_align_build(run, options.threads, &align, &err) < 0 ||
	    np_clock_build(align, NULL, options.threads, &clock, &err) < 0)
		die(err.text);
	before = resident();
	(void)printf("the run: %zu ranks x %zu operators, matched, %.0f MB\n", options.ranks,
		     options.ops, before);
	print_lap("");
	if (np_replay_build(cluster, align, clock, NULL, options.threads, &replay, &err) < 0)
		die(err.text);
	print_lap("build");
	run_scenarios(replay, &options);
	(void)printf("peak %.0f MB, %.0f MB of it for the replay\n", peak(), peak() - before);
	np_replay_free(replay);
	np_clock_free(clock);
	np_align_free(align);
	np_cluster_free(cluster);
	np_run_free(run);
	return 0;
}
