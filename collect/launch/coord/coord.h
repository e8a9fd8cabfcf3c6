/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COORD_H
#define NP_COORD_H

#include "npuprof/buf.h"
#include "npuprof/err.h"

/*
 * The launchers of one job talking to each other
 * ==============================================
 *
 * There is one launcher for every rank; rank 0 is the coordinator. Two kinds of
 * calls:
 *
 *	together       open, bcast, gather, max, close: every rank calls them in the
 *	               same order, and they wait. Never while an application runs.
 *	by themselves  send, poll, stamps, leave, all_left: they never wait, so that a
 *	               launcher can go on watching its application.
 *
 * A back-end is one source: coord_mpi.c for launchers that are MPI processes,
 * coord_tcp.c (coord_tcp.h) for those that are not. With MPI a failure of the transport
 * ends the job; with TCP a launcher that is gone is an event (NP_EVENT_LOST) and from then on
 * nobody waits for it. In both cases the guards of the applications (child.h) see to it that
 * nothing is left behind. One thread.
 *
 * Messages go from and to rank 0, never between others.
 */
struct np_coord;

/*
 * What our library for MPI (launcher.h) exports under NP_COORD_OPEN: MPI_Init; rank and size are
 * those of MPI_COMM_WORLD, `ret_library` which MPI it is, for people.
 */
typedef int np_coord_opener(struct np_coord **ret, const char **ret_library, struct np_err *err);
#define NP_COORD_OPEN "np_coord_mpi_open"
void np_coord_close(struct np_coord *coord);

int np_coord_rank(const struct np_coord *coord);
int np_coord_size(const struct np_coord *coord);

/* Is this launcher gone? Always false with MPI, where one that is gone takes all with it. */
bool np_coord_lost(const struct np_coord *coord, int rank);

/* Everybody's `text` becomes that of rank 0. */
int np_coord_bcast(struct np_coord *coord, struct np_buf *text, struct np_err *err) NP_MUST_USE;

/*
 * Rank 0 gets what every rank gives: `ret_all[rank]`, an array of as many
 * buffers as there are ranks, initialised by the caller. Others may pass NULL.
 */
int np_coord_gather(struct np_coord *coord, const void *bytes, size_t length,
		    struct np_buf *ret_all, struct np_err *err) NP_MUST_USE;

/* The largest of all ranks' values. */
int64_t np_coord_max(struct np_coord *coord, int64_t value);

/* What launchers send each other while applications run. */
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

void np_coord_send(struct np_coord *coord, int to, const struct np_event *event);
bool np_coord_poll(struct np_coord *coord, struct np_event *ret);

/* A question for the time or its answer: one number goes with the clock's reading. */
struct np_stamp {
	int64_t number;
	np_ns time;
};

void np_coord_send_stamp(struct np_coord *coord, int to, const struct np_stamp *stamp);
bool np_coord_take_stamp(struct np_coord *coord, int from, struct np_stamp *ret);

/* Say that this rank's application is done, and ask whether all have said so. */
void np_coord_leave(struct np_coord *coord);
bool np_coord_all_left(struct np_coord *coord);

/* Wait for everybody without using the processor: for work that takes minutes. */
void np_coord_wait(struct np_coord *coord);

#endif /* NP_COORD_H */
