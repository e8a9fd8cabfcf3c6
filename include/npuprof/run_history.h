/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RUN_HISTORY_H
#define NP_RUN_HISTORY_H

/*
 * A run against those of its job before it
 * ========================================
 *
 * What `npuprof history judge` does, for other commands with the same question
 * (compare --baseline history).
 */
#include "npuprof/err.h"

#include <stdio.h>

struct np_analysis;
struct np_common;
struct np_jsonout;
struct np_opt_list;

struct np_history_question {
	const struct np_common *common;  /* its directories are those of the run */
	const struct np_opt_list *picks; /* as for every run */
	const char *store;               /* a file; NULL: NPUPROF_HISTORY of the environment */
	const char *job;                 /* NULL: that of the newest run */
	const char *const *labels;       /* "name=value": only runs that have them */
	size_t label_count;
	const char *fail_on; /* "step>2%,wait>5%"; NULL: no gate */
};

/* Prints the judgement. Returns the exit status: 4 if the gate fails. */
int np_history_judge(const struct np_history_question *question);

/* A look at the store, for other commands. */
struct np_history_look {
	const char *store;  /* a file; NULL: NPUPROF_HISTORY of the environment */
	const char *action; /* list, trend, effects, advise or judge */
	const char *figure; /* of trend and effects; NULL: as the command */
	const char *job;    /* NULL: that of the newest run */
	int64_t last;       /* the newest so many runs; 0: all */
	const char *run;    /* to be judged: its directory, and what it shows */
	const struct np_analysis *analysis;
	const char *fail_on; /* a gate for it; NULL: none */
};

/* The document that the command prints with -f json. NP_E_USAGE for another action, or no store. */
int np_history_write(const struct np_history_look *look, FILE *stream, struct np_err *err)
	NP_MUST_USE;

/*
 * The member "history" of a page: the step of the runs of the newest job in the store, and the runs
 * at which it changed. Labels are not on an anonymous one.
 */
int np_history_put(struct np_jsonout *out, const char *store, bool anonymous, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_RUN_HISTORY_H */
