/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SHARED_H
#define NP_SHARED_H

/*
 * A run that several processes have loaded: who has which rank, and the details
 * that are on their way from there (detail_processes.c).
 */
#include "npuprof/comm.h"
#include "npuprof/detail.h"

#include "summary_bytes.h"

struct np_shared {
	const struct np_comm *comm;
	uint32_t *owner;            /* by source: the process that loaded it */
	struct np_details *details; /* NULL while none are on their way */
	uint32_t *asked;            /* by source: its place among them + 1, or 0 */
};

/* Takes `owner` over, also on failure. */
struct np_shared *shared_new(const struct np_comm *comm, uint32_t *owner, size_t sources);
void shared_free(struct np_shared *shared);

/* What the leader tells others to do: the first number of an order. */
enum order {
	ORDER_LOAD = 1,
	ORDER_END = 2,
	ORDER_DETAILS = 3,
};

/* Send what was written, and let go of it. */
int order_send(const struct np_comm *comm, int to, struct summary_writer *writer,
	       struct np_err *err) NP_MUST_USE;

/* Carry out an order for details. */
int details_serve(const struct np_comm *comm, struct summary_reader *reader, struct np_err *err)
	NP_MUST_USE;

/* A detail without anything in it; NULL when out of memory. */
struct np_detail *detail_new(const struct np_rank *rank);

/* Is a rank with these sections on its way? Then it can be waited for, once. */
bool details_come(const struct np_run *run, size_t index, unsigned wants);
int details_take(const struct np_run *run, size_t index, struct np_detail **ret, struct np_err *err)
	NP_MUST_USE;

void detail_put(struct summary_writer *writer, const struct np_detail *detail);
void detail_get(struct summary_reader *reader, struct np_detail *detail);

#endif /* NP_SHARED_H */
