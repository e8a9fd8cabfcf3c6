/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CAPTURE_BETWEEN_H
#define NP_CAPTURE_BETWEEN_H

/*
 * What lies between the span of a step and the next step
 * ======================================================
 *
 * While the cells of a device are measured one after the other: of the last one
 * that did something its end, and what has run since without being in the span
 * of a step, copies of its window and of the next one, and tasks and operators
 * of no step. When the next cell begins the times of the last are completed.
 */

#include "npuprof/activity.h"
#include "npuprof/rank.h"

struct between_work {
	np_ns start;
	np_ns end;
	np_ns launched; /* as np_activity_task has it */
	bool copies;    /* or else computes or communicates */
};

struct between {
	size_t time; /* of the last cell that did something, in np_rank.times; SIZE_MAX for none */
	np_ns end;   /* of its span */
	np_ns reached; /* the last end of all cells so far: one may outlive the next */
	NP_VEC(struct between_work) work;
};

void between_init(struct between *between);
void between_release(struct between *between);

int between_add(struct between *between, const struct np_activity_task *task, bool copies,
		struct np_err *err) NP_MUST_USE;

/* A cell has got as far as `end`: what ended before it lies in its span. */
void between_forget(struct between *between, np_ns end);

/* The next cell that does something, in `step`, begins with a task so launched. */
void between_close(struct between *between, struct np_rank *rank, const struct np_strtab *strings,
		   const struct np_spans *loading, uint32_t step,
		   const struct np_activity_task *first);

/* The cell with these times is complete. */
void between_open(struct between *between, size_t time, np_ns end);

/* No step follows on this device. */
void between_finish(struct between *between, struct np_rank *rank);

#endif /* NP_CAPTURE_BETWEEN_H */
