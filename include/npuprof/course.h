/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COURSE_H
#define NP_COURSE_H

#include "npuprof/buf.h"
#include "npuprof/replay.h"

/*
 * How a rank's excess goes on from step to step
 * =============================================
 *
 * What a rank works more than the median of its peers (the other ranks of its stage in
 * the step), computing or waiting for its host, whichever is more in all. A fault that is
 * always there, one that grows (heat), one that comes every third step and one that comes
 * and goes have different causes.
 */
enum np_course_kind {
	NP_COURSE_UNKNOWN, /* fewer than three steps, no peers, or no excess */
	NP_COURSE_CONSTANT,
	NP_COURSE_GROWING,
	NP_COURSE_PERIODIC,
	NP_COURSE_RANDOM,
};

struct np_course {
	enum np_course_kind kind;
	size_t period;        /* of a periodic one, in steps */
	size_t count;         /* steps that were looked at */
	NP_VEC(np_str) steps; /* those with an excess worth naming */
};

/* "constant", "growing", "periodic", "random"; NULL for an unknown one. */
const char *np_course_name(enum np_course_kind kind);

/* From what a rank, by its index in the run, took more than its peers in each step. */
int np_course_measure(const struct np_replay *replay, uint32_t rank, struct np_course *ret,
		      struct np_err *err) NP_MUST_USE;
void np_course_release(struct np_course *course);

/* Likewise of many ranks, of which any number of threads may ask. The replay must outlive it. */
struct np_courses;
int np_courses_new(const struct np_replay *replay, struct np_courses **ret, struct np_err *err)
	NP_MUST_USE;
void np_courses_free(struct np_courses *courses);
int np_courses_measure(const struct np_courses *courses, uint32_t rank, struct np_course *ret,
		       struct np_err *err) NP_MUST_USE;

/* From excesses of successive steps alone: kind, period and, by number, the steps. */
enum np_course_kind np_course_judge(const double *excess, size_t count, size_t *ret_period,
				    bool *ret_marked);

/* "in 3 of 9 steps, every third"; "growing from step to step"; nothing for an unknown one. */
void np_course_put(struct np_buf *buf, const struct np_course *course);

#endif /* NP_COURSE_H */
