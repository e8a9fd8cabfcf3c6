/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BENCH_SUITE_H
#define NP_BENCH_SUITE_H

/*
 * The benchmark suite
 * ===================
 *
 * An input is made, every case over it is run in turn, again and again, so that
 * a noisy machine is noisy for all of them, and the input is removed: at most
 * 2 GB stand on the disk at a time. See README.md.
 */
#include "npuprof/base.h"

#include <stdio.h>

#define SUITE_ARGUMENTS   24
#define SUITE_REPETITIONS 101
#define SUITE_BUILDS      2

/* What is measured over. */
struct suite_input {
	const char *name;
	int ranks;
	double rank_megabytes; /* 0: whatever two small steps take */
	bool text;
	bool modes;         /* every mode is measured alone */
	bool commands;      /* every command is measured on two threads, however large it is */
	bool small;         /* also part of the short suite */
	const char *growth; /* "ranks" or "size": a point of that curve; else NULL */
	const char *shape[SUITE_ARGUMENTS]; /* for npuprof-synth, instead of four steps */
};

extern const struct suite_input suite_inputs[];
extern const size_t suite_input_count;

/* One command over an input. `@in`, `@out` and `@cache` in arguments stand for directories. */
struct suite_case {
	const char *name;
	const char *arguments[SUITE_ARGUMENTS]; /* of npuprof; the first may be "mpirun" */
	int processes;                          /* 0: without mpirun */
	int threads;                            /* for the ratio to the scan */
	bool scan;                              /* the bare scan itself */
	bool any_input;                         /* else not for the largest inputs */
	const char *shell; /* a line for sh instead, with $IN and $OUT; NULL: npuprof */
	bool other;        /* that of --against */
};

/* With --against: what is run in turn, the line that was given last. */
#define SUITE_AGAINST 4
extern struct suite_case suite_against[SUITE_AGAINST];

extern const struct suite_case suite_cases[];
extern const size_t suite_case_count;

/* Modes, alone and together. */
struct suite_mode {
	const char *name;
	const char *modes;
};

extern const struct suite_mode suite_modes[]; /* ends with NULL */

struct suite_result {
	const struct suite_input *input;
	char name[64];
	int build;
	double seconds[SUITE_REPETITIONS]; /* in the order of time */
	double cpu[SUITE_REPETITIONS];
	double peak[SUITE_REPETITIONS]; /* MB */
	size_t count;
	double megabytes;
	double rows;      /* 0 when not known */
	double cpu_ratio; /* likewise of the time of processors, which other work disturbs less */
	double ratio; /* to the scan with as many threads, median of those of a repetition; 0 for
			 none */
	int status;
	bool silent; /* it succeeded, but neither printed nor wrote anything */
};

struct suite {
	const char *builds[SUITE_BUILDS];
	int build_count;
	size_t repetitions;
	bool small;
	const char *against; /* a line for sh that does the same as npuprof cluster; NULL: none */
	const char *only;    /* inputs whose names begin so; NULL: all */
	const char *directory;
	struct suite_result *results;
	size_t result_count;
	double load_before;
	double load_after;
};

double suite_median(const double *values, size_t count);
/* The value below which a share of them lies. */
double suite_quantile(const double *values, size_t count, double share);

/* How long the other program takes beside npuprof, by input; false if one of them did not answer.
 */
bool suite_print_against(const struct suite *suite);

void suite_print(const struct suite *suite);
bool suite_write_json(const struct suite *suite, const char *path);
bool suite_write_svg(const struct suite *suite, const char *path);

#endif /* NP_BENCH_SUITE_H */
