/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_ACCOUNT_H
#define SYN_ACCOUNT_H

#include "intervals.h"
#include "sim/synth/world/stream.h"

/*
 * The times of one step of one rank, by the vendor's definitions: computing is
 * the union C of kernels, communication the union M of operators.
 */
struct syn_totals {
	np_ns computing_ns;
	np_ns communication_ns;
	np_ns exposed_ns; /* M without C */
	np_ns overlapped_ns;
	np_ns free_ns;      /* gaps inside C and M together */
	np_ns bubble_ns;    /* summed length of hcom_receive, overlaps counted twice */
	np_ns begin_ns;     /* first start of C and M; NP_UNKNOWN: there are none */
	np_ns span_ns;      /* last end less first start of C and M */
	np_ns stage_ns;     /* span less bubble */
	np_ns preparing_ns; /* from the step's begin on the host to the first start; 0 without
			       kernels */
};

struct syn_account {
	struct syn_intervals computing;
	struct syn_intervals communication;
	np_ns bubble_ns;
};

int syn_account_task(struct syn_account *account, const struct syn_task *task, struct np_err *err)
	NP_MUST_USE;
int syn_account_comm(struct syn_account *account, const struct syn_comm_event *comm,
		     struct np_err *err) NP_MUST_USE;

/* The totals of what was noted since the last call. */
int syn_account_close(struct syn_account *account, np_ns host_start, struct syn_totals *ret,
		      struct np_err *err) NP_MUST_USE;

void syn_account_release(struct syn_account *account);

#endif /* SYN_ACCOUNT_H */
