/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SESSION_H
#define NP_SESSION_H

#include "collect/launch/coord/job.h"

/*
 * From the start of the application to its end on every rank
 * ==========================================================
 *
 * Each launcher starts its application, writes down what the library in it says,
 * and watches the others. When an application ends badly, or a launcher is ended
 * by a signal, rank 0 hears of it and asks all to stop:
 *
 *	running ─▶ saving ─────────▶ ending ─▶ killed
 *	           the library        SIGTERM   SIGKILL
 *	           closes the profile
 *
 * Nobody ends before all have saved. Each of these has the grace time of the plan. No call
 * waits for another launcher, so nobody can hang: the session ends when all launchers have said
 * that their application is gone. If a launcher itself is gone, MPI ends the others, and without
 * MPI the others notice the broken connection and stop.
 */
enum {
	NP_SESSION_STATUS_LOST = 1, /* the status of a job that lost a launcher */
};

/*
 * Keep the signals that end a job for the session, which reads them. To be called
 * before MPI starts its threads: one that does not hold them would be ended by them.
 */
void np_session_hold_signals(void);

/* `inject` is the path of the library, or NULL to run the application unprofiled. */
int np_session_run(struct np_job *job, const char *inject, struct np_job_result *ret,
		   struct np_err *err) NP_MUST_USE;

#endif /* NP_SESSION_H */
