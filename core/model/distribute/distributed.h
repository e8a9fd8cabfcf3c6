/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DISTRIBUTED_H
#define NP_DISTRIBUTED_H

/*
 * A run that several processes have loaded: who has which rank, and the details
 * that are on their way from there (details.c).
 */
#include "npuprof/detail.h"
#include "npuprof/procs.h"

#include "core/model/summary/summary_bytes.h"

struct np_distributed {
	const struct np_procs *procs;
	uint32_t *owner;            /* by source: the process that loaded it */
	struct np_details *details; /* NULL while none are on their way */
	uint32_t *asked;            /* by source: its place among them + 1, or 0 */
};

/* Others have loaded ranks of the run. Takes `owner` over, also on failure. */
int distributed_attach(struct np_run *run, const struct np_procs *procs, uint32_t *owner,
		       struct np_err *err) NP_MUST_USE;

/*
 * Orders and answers (orders.c)
 * -----------------------------
 *
 * Each order to load or for details is answered by as many parts as it asks for,
 * or by fewer and then the reason why there are no more. Whoever gets an order to
 * stop or to end leaves what it does, says that it has stopped, and sends nothing
 * of earlier orders any more. So the leader can break off at any point, and both
 * can when they are out of memory: stopping, ending and failing need none, and are
 * short. An order is two messages, its kind and the rest, so that a process without
 * memory for the rest knows what it cannot do.
 */

/* What the leader sends. */
enum order {
	ORDER_LOAD = 1,
	ORDER_END = 2,
	ORDER_DETAILS = 3,
	ORDER_STOP = 4,
};

/* The first number of what the others send. */
enum answer {
	ANSWER_PART = 1,
	ANSWER_FAILED = 2,
	ANSWER_STOPPED = 3,
};

/* The leader: send an order, and let go of what was written. */
int order_send(const struct np_procs *procs, int to, enum order order,
	       struct np_bytes_writer *writer, struct np_err *err) NP_MUST_USE;

/*
 * The leader: wait for the next part that a process owes, which begins with its
 * ANSWER_PART; freed by the caller. After a failure it may owe more, or nothing.
 */
int order_receive(const struct np_procs *procs, int from, void **ret, size_t *ret_length,
		  struct np_err *err) NP_MUST_USE;

/* The leader: nobody owes anything any more. Where that fails, everything later will too. */
void orders_stop(const struct np_procs *procs);

/* The others: wait for the next order; the status is that of ORDER_END. */
int order_await(const struct np_procs *procs, uint64_t *ret_order, int *ret_status,
		struct np_err *err) NP_MUST_USE;

/* The others: send what was written, which began with ANSWER_PART, and let go of it. */
int answer_send(const struct np_procs *procs, struct np_bytes_writer *writer, struct np_err *err)
	NP_MUST_USE;

/* The others: is what was ordered not wanted any more? */
bool order_is_over(const struct np_procs *procs);

/* The others: say that an order was left, or why nothing more comes of it. */
int order_say_stopped(const struct np_procs *procs, struct np_err *err) NP_MUST_USE;
int order_say_failed(const struct np_procs *procs, const struct np_err *why, struct np_err *err)
	NP_MUST_USE;

/* Carry out an order for details. */
int details_serve(const struct np_procs *procs, struct np_bytes_reader *reader, struct np_err *err)
	NP_MUST_USE;

void detail_put(struct np_bytes_writer *writer, const struct np_detail *detail);
void detail_get(struct np_bytes_reader *reader, struct np_detail *detail);

#endif /* NP_DISTRIBUTED_H */
