/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast operators are matched, put on one clock, split into wait and transit,
 * and their waiting is charged and traced to its root cause:
 *
 *	npuprof-bench-align [-r ranks] [-o operators] [-j threads] [-d ranks] [-n repetitions]
 *
 * -d lets so many ranks lose one operator in a hundred. Printed are seconds of
 * the clock and of all processors and what is resident more after each stage, and
 * what the run itself takes.
 */
#include "bench_run.h"

#include "npuprof/clock.h"
#include "npuprof/root_cause.h"

enum stage {
	MATCH,
	CLOCK,
	WAITS,
	BLAME,
	ORIGIN,
	STAGES,
};

/* The time and the memory when a stage is done; the first is the beginning. */
struct lap {
	double time;
	double busy; /* of all processors */
	double memory;
};

static struct lap lap_now(void)
{
	return (struct lap){ now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID), resident() };
}

static void print_lap(const char *name, const struct lap *from, const struct lap *to)
{
	(void)printf("%-6s %6.3f s, %6.3f s of processors, %4.0f MB\n", name, to->time - from->time,
		     to->busy - from->busy, to->memory - from->memory);
}

static void print_laps(const struct lap *laps)
{
	static const char *const names[] = { "match", "clock", "waits", "blame", "origin" };

	for (int i = 0; i < STAGES; i++)
		print_lap(names[i], &laps[i], &laps[i + 1]);
	print_lap("all", &laps[0], &laps[STAGES]);
}

static void run_once(const struct np_run *run, const struct bench_options *options)
{
	struct np_align *align = NULL;
	struct np_clock *clock = NULL;
	struct np_waits waits = { 0 };
	struct np_charges charges = { 0 };
	struct np_root_causes causes = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct lap laps[STAGES + 1];

	laps[0] = lap_now();
	if (np_align_build(run, options->threads, &align, &err) < 0)
		die(err.text);
	laps[MATCH + 1] = lap_now();
	if (np_clock_build(align, NULL, options->threads, &clock, &err) < 0)
		die(err.text);
	laps[CLOCK + 1] = lap_now();
	if (np_waits_measure(align, clock, options->threads, &waits, &err) < 0)
		die(err.text);
	laps[WAITS + 1] = lap_now();
	if (np_charges_measure(align, clock, &waits, 0, options->threads, &charges, &err) < 0)
		die(err.text);
	laps[BLAME + 1] = lap_now();
	if (np_root_cause_measure(align, clock, &waits, &charges, options->threads, &causes, &err) <
	    0)
		die(err.text);
	laps[ORIGIN + 1] = lap_now();
	print_laps(laps);
	(void)printf(
		"%u operators in %zu instances of %zu communicators, %u matched; clock p90 %lld"
		" ns, %zu components; %zu aligned\n",
		align->op_count, align->instances.count, align->communicators.count, align->matched,
		(long long)clock->residual_p90, clock->components, waits.ops[NP_WAIT_ALIGNED]);
	np_root_cause_release(&causes);
	np_charges_release(&charges);
	np_waits_release(&waits);
	np_clock_free(clock);
	np_align_free(align);
}

int main(int argc, char **argv)
{
	struct bench_options options = parse_options(argc, argv, 3);
	struct np_run *run;

	run = make_run(&options);
	(void)printf("the run: %zu ranks x %zu operators, %.0f MB\n", options.ranks, options.ops,
		     resident());
	for (size_t i = 0; i < options.repetitions; i++)
		run_once(run, &options);
	(void)printf("peak %.0f MB, of it beside the run as above\n", peak());
	np_run_free(run);
	return 0;
}
