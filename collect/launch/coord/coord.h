/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COORD_H
#define NP_COORD_H

#include "event.h"
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
 * Messages go from and to rank 0, never between others. One that its table (event.h) does not
 * allow is never handed on: over TCP it is the end of the connection, over MPI of the job.
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
 * buffers as there are ranks, initialised by the caller. Others may pass NULL; if rank 0
 * does, having no memory for them, it hears the others all the same, and NP_E_NOMEM says so.
 */
int np_coord_gather(struct np_coord *coord, const void *bytes, size_t length,
		    struct np_buf *ret_all, struct np_err *err) NP_MUST_USE;

/* The largest of all ranks' values. */
int64_t np_coord_max(struct np_coord *coord, int64_t value);

void np_coord_send(struct np_coord *coord, int to, const struct np_event *event);
bool np_coord_poll(struct np_coord *coord, struct np_event *ret);

#define NP_STAMP_ENOUGH INT64_C(-1)

/* A question for the time or its answer: one number goes with the clock's reading. */
struct np_stamp {
	int64_t number; /* of the question, from 0; or NP_STAMP_ENOUGH: there are no more */
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
