/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SESSION_STATE_H
#define NP_SESSION_STATE_H

#include "collect/launch/backend/backend.h"
#include "collect/launch/backend/child.h"
#include "control.h"
#include "session.h"

/* The run of one launcher, as session.c and control*.c know it. */
enum np_phase {
	NP_PHASE_RUNNING,
	NP_PHASE_SAVING,
	NP_PHASE_ENDING,
	NP_PHASE_KILLED,
};

struct np_session {
	struct np_job *job;
	struct np_child child;
	int signals;
	enum np_phase phase;
	np_ns deadline; /* of the phase */
	bool left;      /* this launcher's application is gone */
	bool reported;  /* rank 0 knows of this launcher's failure */
	bool saved;     /* rank 0 knows that there is nothing to save here */
	int saved_all;  /* rank 0: launchers that have said so */
	bool stopping;  /* rank 0: all were asked to stop */
	bool clock_due; /* rank 0: measure the clocks when there is time */
	np_ns ahead;    /* by so much the clock of the day is ahead of one that nobody sets */
	bool joined;    /* mode inapp: the way to rank 0 is known */
	bool met;       /* rank 0: it is known which launcher is on which host */
	int come;       /* rank 0, mode inapp: launchers that have said where they are */
	struct np_job_layout_word *words; /* rank 0, mode inapp: what they said */
	bool window; /* rank 0: the clocks were measured for a window that opened */
	struct np_control control;
	struct np_backend backend;
	struct np_job_result result;
};

/* An event for rank 0: handled at once if that is this launcher. */
void np_session_send_first(struct np_session *session, const struct np_event *event);

/* Rank 0: an event for everybody, this launcher included. */
void np_session_send_all(struct np_session *session, const struct np_event *event);

#endif /* NP_SESSION_STATE_H */
