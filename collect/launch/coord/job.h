/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_JOB_H
#define NP_JOB_H

#include "collect/launch/plan/mode.h"
#include "collect/launch/plan/plan.h"
#include "collect/launch/plan/record.h"
#include "coord.h"
#include "job_layout.h"
#include "timing.h"

/*
 * What a launcher knows of the job it is part of. The same on every launcher but for
 * `rank`, `app` and `records`.
 *
 * A launcher watches one rank of the application, which has its number; or, in the mode
 * "tcp", all ranks of a node, which it learns of when they start (`job->finds_ranks`).
 */
struct np_job {
	enum np_mode mode;
	struct np_coord *coord;
	int rank;  /* of this launcher */
	int world; /* launchers */
	bool finds_ranks;
	int ranks;                   /* of the application; with finds_ranks 0 until the end */
	struct np_job_layout layout; /* of the launchers */
	struct np_plan plan;
	bool *chosen;     /* [ranks]: is it profiled? */
	char *const *app; /* ends with NULL */
	const char *pids; /* of processes that run already, which `app` waits for; or NULL */
	char root[NP_PLAN_PATH + NP_PLAN_JOB]; /* <save_path>/<job> */
	char mpi_address[1200];                /* mode inapp: for the library in the application */
	char mpi_library[4096];                /* likewise: its path */
	bool quiet;
	bool simulated;          /* a stand-in of the NPU's libraries, or of hosts, is in use */
	bool shared;             /* this launcher sees the files of rank 0 */
	struct np_timing timing; /* rank 0 */
	NP_VEC(struct np_record) records; /* of the ranks this launcher watches */
};

/* How the applications of a job ended. */
struct np_job_result {
	int status; /* of the application, agreed: that of the rank that failed first, else 0 */
	int failed; /* the rank that failed first, or -1 */
	int signal; /* that ended the job, or 0 */
};

/* The record of a rank of this launcher, which is made if ranks are found; else NULL. */
struct np_record *np_job_record(struct np_job *job, int64_t rank);

/* Is a rank in the list of ranks of the plan? */
bool np_job_selects(const struct np_job *job, int64_t rank);

/*
 * Say "npuprof-collect: …" on stderr. np_job_say() is for rank 0 to inform, and silent
 * with --quiet; np_job_warn() is heard from any rank.
 */
void np_job_say(const struct np_job *job, const char *fmt, ...) NP_PRINTF(2, 3);
void np_job_warn(const char *fmt, ...) NP_PRINTF(1, 2);

/* Is the rank in this list, or if that is "" one of the plan? */
bool np_job_concerns(const struct np_job *job, int32_t rank, const char *ranks);

/* Where the window of this number is. */
void np_job_name_window(const struct np_job *job, int32_t number, char *text, size_t size);

/* Number of ranks that are profiled; with finds_ranks, before the end, 1 stands for them. */
int np_job_chosen(const struct np_job *job);

/* What the plan will take on disk, a guess: for one rank and step, in bytes. */
int64_t np_job_guess(const struct np_plan *plan);

/* Write the resolved plan for people. */
void np_job_describe(const struct np_job *job, struct np_buf *buf);

#endif /* NP_JOB_H */
