/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LATE_BEGIN_H
#define NP_LATE_BEGIN_H

#include "npuprof/clock.h"
#include "npuprof/run.h"

/*
 * Who began late
 * ==============
 *
 * Ranks that were captured from the same step on, and whose clocks are related, would
 * begin it together. What one of them begins later than the first of its stage is
 * time of its host: a stall of its loader in the first step that was profiled is
 * nowhere else. Without steps nothing tells where a capture begins, and without calls of
 * the host nothing tells what it was late for: the device may have been busy before.
 */
struct np_late_begin {
	np_ns begin;   /* of the first of them, on the common clock; NP_UNKNOWN without anything */
	np_ns host;    /* from the first of its stage to its own, where calls were recorded */
	np_ns unknown; /* the same, where none were */
	np_ns other; /* from the first of all to the first of its stage; all of it without steps */
};

/* By index in the run, to be freed. `stages`, likewise, may be NULL: all are of one. */
int np_late_begin_measure(const struct np_run *run, const struct np_clock *clock,
			  const int32_t *stages, struct np_late_begin **ret, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_LATE_BEGIN_H */
