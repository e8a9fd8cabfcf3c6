/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMM_TRANSFERS_H
#define NP_COMM_TRANSFERS_H

#include "npuprof/comm_tasks.h"
#include "npuprof/rank.h"

/*
 * Transfers of single tasks, gathered while the tasks of operators are walked,
 * and their reduction to one row for each link, plane, size and step
 * (np_rank.transfers). The single ones are gone when the rank is loaded.
 */
struct np_transfers;

struct np_transfers *np_transfers_new(void) NP_MUST_USE;
void np_transfers_free(struct np_transfers *transfers);

/*
 * Add a transfer: a task of `op`, or the first task of a group that together
 * moved `bytes` until `end`. What stays on its device is none. `transport` is a
 * constant.
 */
int np_transfers_add(struct np_transfers *transfers, uint32_t op, const struct np_comm_task *task,
		     const char *transport, int64_t bytes, np_ns end, struct np_err *err)
	NP_MUST_USE;

/* Reduce them to rank->transfers. */
int np_transfers_reduce(struct np_transfers *transfers, struct np_rank *rank,
			struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

#endif /* NP_COMM_TRANSFERS_H */
