/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_BUBBLE_H
#define SYN_BUBBLE_H

#include "intervals.h"
#include "sim/synth/world/stream.h"

/*
 * Where the span of a rank of a pipeline went in a step, every nanosecond once:
 * kernels, else the operator that began first, else nothing. Messages between
 * stages are divided into waiting for the other stage and the rest; the schedule
 * says which waiting belongs to filling and draining the pipeline.
 */
struct syn_bubble {
	np_ns useful_ns;     /* kernels */
	np_ns other_comm_ns; /* collectives, but for the tail */
	np_ns warmup_ns;     /* waiting in messages until the first gradient is there, and from the
				first gradient on whose micro-batch the stage had taken in ahead */
	np_ns imbalance_ns;  /* waiting in messages in between */
	np_ns transfer_ns;   /* the rest of messages */
	np_ns host_ns;       /* nothing, or copies */
	np_ns tail_ns;       /* waiting in collectives behind the last message */
};

struct syn_bubble_op {
	np_ns start_ns;
	np_ns end_ns;
	np_ns wait_ns;
	bool message;
	bool fills;  /* brings what ends the filling */
	bool drains; /* brings what begins the draining */
};

/* Of one rank in one step. */
struct syn_bubble_account {
	NP_VEC(struct syn_bubble_op) ops;
};

void syn_bubble_release(struct syn_bubble_account *account);

int syn_bubble_comm(struct syn_bubble_account *account, const struct syn_config *config,
		    const struct syn_place *place, const struct syn_comm_event *comm,
		    struct np_err *err) NP_MUST_USE;

/* The parts of what was noted since the last call; `computing` is joined. */
void syn_bubble_close(struct syn_bubble_account *account, const struct syn_intervals *computing,
		      struct syn_bubble *ret);

#endif /* SYN_BUBBLE_H */
