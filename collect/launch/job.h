/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_JOB_H
#define NP_JOB_H

#include "coord.h"
#include "layout.h"
#include "plan.h"
#include "record.h"
#include "timing.h"

/*
 * What a launcher knows of the job it is part of. The same on every rank but for
 * `rank`, `app` and `record`.
 */
struct np_job {
	struct np_coord *coord;
	int rank;
	int world;
	struct np_layout layout;
	struct np_plan plan;
	bool *chosen;                          /* [world]: is it profiled? */
	char *const *app;                      /* ends with NULL */
	char root[NP_PLAN_PATH + NP_PLAN_JOB]; /* <save_path>/<job> */
	bool quiet;
	bool simulated;          /* a stand-in of the NPU's libraries, or of hosts, is in use */
	bool shared;             /* this rank sees the files of rank 0 */
	struct np_timing timing; /* rank 0 */
	struct np_record record;
};

/*
 * Say "npuprof-collect: …" on stderr. np_job_say() is for rank 0 to inform, and silent
 * with --quiet; np_job_warn() is heard from any rank.
 */
void np_job_say(const struct np_job *job, const char *fmt, ...) NP_PRINTF(2, 3);
void np_job_warn(const char *fmt, ...) NP_PRINTF(1, 2);

/* Number of ranks that are profiled. */
int np_job_chosen(const struct np_job *job);

/* Append the ranks that are profiled as "0-3,8". */
void np_job_add_chosen(const struct np_job *job, struct np_buf *buf);

/* What the plan will take on disk, a guess: for one rank and step, in bytes. */
int64_t np_job_guess(const struct np_plan *plan);

/* Write the resolved plan for people. */
void np_job_describe(const struct np_job *job, struct np_buf *buf);

#endif /* NP_JOB_H */
