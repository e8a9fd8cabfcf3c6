/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_WATCH_COURSE_H
#define HIST_WATCH_COURSE_H

#include "hist_store.h"

/*
 * Is the step of the windows as usual?
 * ====================================
 *
 * A job can get slower as a whole, and then nobody is to blame for it: each window is held against
 * those of its size before it. Two in a row that are longer than usual begin an episode, two in a
 * row that are not end it. What is beyond the usual is not among what later windows are held
 * against, unless it lasts: after WATCH_LASTING windows it is how the job is.
 */
#define WATCH_LASTING 100

enum watch_step {
	WATCH_STEP_UNKNOWN, /* too few windows before it */
	WATCH_STEP_USUAL,
	WATCH_STEP_LONGER,
	WATCH_STEP_SHORTER,
};

/* A window against those before it. */
struct watch_usual {
	enum watch_step step;
	double low; /* what is usual lies between; NaN: unknown */
	double high;
	bool longer; /* an episode lasts */
	bool began;  /* with this window */
	bool ended;
};

struct watch_past {
	int64_t run;
	int64_t world;
	int64_t ranks;
	np_ns step;
	bool beyond; /* the usual */
};

struct watch_course {
	NP_VEC(struct watch_past) list; /* as they came */
	size_t in_a_row;                /* windows that speak against how it is */
	size_t lasting;                 /* windows of the episode; 0: there is none */
};

/* The run takes the place of another, or of none (NP_UNKNOWN). */
int watch_course_add(struct watch_course *course, const struct hist_run *run, int64_t id,
		     int64_t replaces, struct watch_usual *ret, struct np_err *err) NP_MUST_USE;
void watch_course_release(struct watch_course *course);

#endif /* HIST_WATCH_COURSE_H */
