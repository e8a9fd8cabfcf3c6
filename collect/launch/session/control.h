/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CONTROL_H
#define NP_CONTROL_H

#include "collect/launch/coord/coord.h"
#include "collect/launch/plan/record.h"
#include "ctl.h"
#include "npuprof/buf.h"
#include "npuprof/vec.h"

/*
 * Windows on request, and the size of windows
 * ===========================================
 *
 * Launcher 0 is asked (ctl.h, or SIGUSR2). It asks all launchers how far their ranks are,
 * chooses a step that lies a second and at least two steps ahead of the fastest, and asks
 * all to open a window there. A rank that has passed the step says so; then the window is
 * cancelled everywhere and tried again twice as far ahead. So all ranks cover the same steps
 * or none does.
 *
 *	idle ─ask─▶ asking ─all known─▶ starting ─all accepted─▶ idle, answered
 *	              ▲                   │ one too late: cancel, further ahead
 *	              └───────────────────┘
 *
 * Launcher 0 also adds up the bytes that all ranks have written. After the first step it says
 * what a step takes; beyond the limit of the plan it ends the window at a step agreed in the
 * same way.
 */
struct np_session;

enum np_control_state {
	NP_CONTROL_IDLE,
	NP_CONTROL_ASKING,
	NP_CONTROL_STARTING,
};

struct np_control_relayed {
	int from; /* launcher */
	struct np_ctl_request request;
};

struct np_control {
	/* Every launcher: a window that launcher 0 wants, and the answers of our ranks. */
	int32_t wanted;  /* its number, 0: none */
	int32_t asked;   /* windows that were asked for so far, taken or not */
	int awaited;     /* ranks that have not answered */
	int accepted;    /* ranks that have agreed */
	np_ns step_time; /* when a step was last heard of, and which: for the rate */
	int64_t step_seen;
	int64_t rate; /* steps a second × 1000, -1: unknown */

	/* Launchers that speak for a host: who asked here and waits for what launcher 0 answers. */
	struct np_ctl_door door;
	int guest; /* -1: nobody */
	struct np_buf guest_text;

	/* Launcher 0 */
	NP_VEC(struct np_control_relayed) relayed; /* requests that came to others, and wait */
	int relay; /* the launcher that relayed the present one, 0: none */
	enum np_control_state state;
	struct np_ctl_request request;
	int client;          /* who asked; -1: nobody waits for an answer */
	bool for_size;       /* the request is that the window is too large */
	bool limited;        /* that was done for this window */
	np_ns deadline;      /* of the state */
	np_ns ask_at;        /* ask once more then; 0: no */
	np_ns patient_until; /* for the rate of the steps to be known */
	int waiting;         /* launchers that have not answered */
	int attempt;
	int32_t question;
	int32_t windows; /* that there are, the one of the plan included */
	int ready;       /* launchers that have said so */
	int64_t slowest; /* step */
	int64_t fastest;
	int64_t fastest_rate;
	int64_t step;   /* the window begins here */
	int64_t agreed; /* ranks */
	bool late;
	char refusal[200];
	int64_t *bytes; /* [launchers] of open windows and those before */
	bool rate_said;
	np_ns signal_deaf; /* until then a signal is one of those that came already */
};

#define NP_CONTROL_INIT \
	((struct np_control){ .door = { .listener = -1 }, \
			      .guest = -1, \
			      .guest_text = NP_BUF_INIT, \
			      .client = -1, \
			      .rate = -1, \
			      .step_seen = -1 })

/*
 * Listen for requests, on the first launcher of every host: those that come to others than
 * launcher 0 are passed on to it (control_requests.c).
 */
int np_control_open(struct np_session *session, struct np_err *err) NP_MUST_USE;
void np_control_close(struct np_session *session);

/* Take requests; launcher 0 also gives up those that take too long. */
void np_control_attend(struct np_session *session);

/* What is said about windows by launchers, by the library in a rank, and by SIGUSR2. */
void np_control_hear(struct np_session *session, const struct np_event *event);
void np_control_hear_application(struct np_session *session, const struct np_message *message);
void np_control_hear_signal(struct np_session *session);

/* Launcher 0: what the others answer. */
void np_control_decide(struct np_session *session, const struct np_event *event);

#endif /* NP_CONTROL_H */
