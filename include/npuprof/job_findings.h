/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_JOB_FINDINGS_H
#define NP_JOB_FINDINGS_H

#include "npuprof/replay.h"

/*
 * What is strange about a job and nobody's fault
 * ==============================================
 *
 * warm-up           The first step is longer than 1.5 times the median.
 * unrecorded wait   Ranks leave off far apart and go on together, out of gaps that look
 *                   like those of hosts: between two operators of a communicator what each
 *                   computes differs, and what it is idle makes up for it. They probably
 *                   waited for each other in an operator that nobody recorded.
 * unaligned pauses  Hosts stop, each in steps of its own: as garbage collections do that
 *                   every process begins when it likes.
 *
 * longest by totals Where nobody has intervals and so nobody a verdict: the rank whose own time,
 *                   computing and idle, is the longest, if others wait for about as much
 *                   more in communication as it is longer.
 *
 * fused             Kernels that communicate while they compute take much of the steps: waiting
 *                   in them cannot be told from computing.
 *
 * None of it is a verdict.
 */
enum np_job_finding_kind {
	NP_JOB_WARM_UP,
	NP_JOB_UNRECORDED,
	NP_JOB_PAUSES,
	NP_JOB_TOTALS,
	NP_JOB_FUSED,
};

struct np_job_finding {
	enum np_job_finding_kind kind;
	uint32_t communicator; /* index in np_align.communicators; UINT32_MAX for none */
	NP_VEC(int32_t) ranks; /* ids, ascending; empty: all */
	char *detail;          /* one sentence */
};

struct np_job_findings {
	NP_VEC(struct np_job_finding) list;
	np_ns unrecorded; /* what ranks waited so in a step, on average */
};

/* "warm-up", "unrecorded wait", "unaligned pauses", "longest by totals",
 * "fused communication" */
const char *np_job_finding_name(enum np_job_finding_kind kind);

int np_job_findings_measure(const struct np_replay *replay, struct np_job_findings *ret,
			    struct np_err *err) NP_MUST_USE;

/* The rank that is longest by totals: nothing where one has intervals, or stages do other work. */
int np_totals_find(const struct np_cluster *cluster, struct np_job_findings *ret,
		   struct np_err *err) NP_MUST_USE;

/* Kernels that communicate: nothing of one rank alone, or where types were not recorded. */
int np_fused_find(const struct np_run *run, struct np_job_findings *ret, struct np_err *err)
	NP_MUST_USE;

void np_job_findings_release(struct np_job_findings *findings);

#endif /* NP_JOB_FINDINGS_H */
