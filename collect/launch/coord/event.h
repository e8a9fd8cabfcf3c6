/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_EVENT_H
#define NP_EVENT_H

#include "npuprof/err.h"

/*
 * What launchers send each other while applications run
 * =====================================================
 *
 * One table (event.c) says of every event in which direction it goes, which members travel and
 * what they may be. Packing and checking follow from it, and so do the tests: nothing that
 * comes from another launcher is used before np_event_unpack() has looked at it.
 */
enum np_event_type {
	NP_EVENT_FAILED = 1, /* to rank 0: my application ended badly. value: exit status */
	NP_EVENT_SIGNAL,     /* to rank 0: I got a signal to end. value: the signal */
	NP_EVENT_STOP,       /* from rank 0: stop. rank and value: whose failure it was */
	NP_EVENT_SAVED,      /* to rank 0: my profile is saved, or there is none */
	NP_EVENT_END,        /* from rank 0: all profiles are saved; end the applications */
	NP_EVENT_OPENED,     /* to rank 0: my window opened */
	NP_EVENT_CLOSED,     /* to rank 0: my window closed */
	NP_EVENT_CLOCK,      /* from rank 0 to the first rank of a host: answer stamps now */
	NP_EVENT_HOST,       /* to rank 0, mode inapp: I have come. text: "<host>\n<its uid>" */
	NP_EVENT_LOST,       /* from the back-end: the connection to `rank` is no more */
	NP_EVENT_BYTES, /* to rank 0: value: all bytes so far; step: bytes of a step, 0: unknown */
	NP_EVENT_USER,  /* to rank 0: I got SIGUSR2 */
	/* Windows on request (control.h); `window` is their number. */
	NP_EVENT_READY,    /* to rank 0: all ranks here are there and can be asked for windows */
	NP_EVENT_ASK,      /* from rank 0: where are you? window: number of the question; value:
			      enum np_ctl_verb that wants to know */
	NP_EVENT_STEP,     /* to rank 0: step: the latest; value: steps a second × 1000, or -1 */
	NP_EVENT_START,    /* from rank 0: window at `step` for `value` steps; level; text: ranks;
			      wait_ms: when that step is expected */
	NP_EVENT_ACCEPTED, /* to rank 0: value: how many of my applications will open it */
	NP_EVENT_TOO_LATE, /* to rank 0: step: it has begun already; value: as above */
	NP_EVENT_REFUSED,  /* to rank 0: text: why an application of mine will not */
	NP_EVENT_CANCEL,   /* from rank 0: forget the window, end it if it is open */
	NP_EVENT_HALT,     /* from rank 0: open windows end before `step`, -1: now */
	NP_EVENT_CTL,      /* to rank 0: a request (ctl.h) that came to another launcher. window:
			      verb; value: steps; step: at; level; text: ranks */
	NP_EVENT_ANSWER,   /* from rank 0: a part of the answer to it. value: enum np_answer_part */
	NP_EVENT_TYPES,
};

/* What a user may ask of a running job. */
enum np_ctl_verb {
	NP_CTL_START,
	NP_CTL_STOP,
	NP_CTL_STATUS,
};

enum np_answer_part {
	NP_ANSWER_FAILED = 1,
	NP_ANSWER_MORE = 2, /* another part follows */
};

struct np_event {
	int32_t type; /* enum np_event_type */
	int32_t rank;
	int64_t value;
	int64_t step;
	int32_t window;
	int32_t level; /* enum np_plan_level, -1: that of the plan */
	int64_t wait_ms;
	char text[512];
};

enum {
	NP_EVENT_MOST_BYTES = 640, /* of a packed event */
};

/* Pack into `bytes`, of NP_EVENT_MOST_BYTES, what travels of an event. Returns how many there are.
 */
size_t np_event_pack(const struct np_event *event, char *bytes);

/*
 * The event that launcher `from` of `size` sent to launcher `to`; false for anything that it
 * could not have sent. What does not travel is 0, or "".
 */
bool np_event_unpack(const char *bytes, size_t length, int size, int from, int to,
		     struct np_event *ret);

#endif /* NP_EVENT_H */
