/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the step of a window against those of the windows before it. */
#include "watch_course.h"

#include "hist_judge.h"

#include <math.h>

/* So many windows of one size say what is usual; the newest. */
#define MOST 100

/* Windows that are kept. */
#define KEPT 1000

/* What differs by less than this part of the step is nothing to be called for. */
#define WORTH 0.01

/* So many windows in a row are believed. */
#define IN_A_ROW 2

static void drop(struct watch_course *course, int64_t run)
{
	size_t kept = 0;

	for (size_t i = 0; i < course->list.count; i++) {
		if (course->list.item[i].run != run)
			course->list.item[kept++] = course->list.item[i];
	}
	course->list.count = kept;
}

/* What windows of the size of this one took before; how many there are, up to MOST. */
static size_t gather(const struct watch_course *course, const struct hist_run *run, double *past)
{
	size_t count = 0;

	for (size_t i = course->list.count; i-- > 0 && count < MOST;) {
		const struct watch_past *one = &course->list.item[i];

		if (one->world == run->world && one->ranks == run->ranks && !one->beyond)
			past[count++] = (double)one->step;
	}
	return count;
}

static enum watch_step step_of(np_ns step, const struct hist_usual *usual)
{
	double least = WORTH * usual->middle;

	if (!isfinite(usual->low))
		return WATCH_STEP_UNKNOWN;
	if ((double)step > usual->high && (double)step > usual->middle + least)
		return WATCH_STEP_LONGER;
	if ((double)step < usual->low && (double)step < usual->middle - least)
		return WATCH_STEP_SHORTER;
	return WATCH_STEP_USUAL;
}

/* It is how the job is: windows before it say nothing of that any more. */
static void take_as_usual(struct watch_course *course)
{
	size_t first = course->list.count - WATCH_LASTING;

	for (size_t i = 0; i < course->list.count; i++)
		course->list.item[i].beyond = i < first;
}

static void note_episode(struct watch_course *course, struct watch_usual *usual)
{
	bool lasts = course->lasting > 0;
	bool against = lasts ? usual->step != WATCH_STEP_LONGER : usual->step == WATCH_STEP_LONGER;

	course->in_a_row = against ? course->in_a_row + 1 : 0;
	course->lasting += lasts;
	if (course->in_a_row >= IN_A_ROW) {
		usual->began = !lasts;
		usual->ended = lasts;
		course->lasting = lasts ? 0 : IN_A_ROW;
		course->in_a_row = 0;
	} else if (course->lasting >= WATCH_LASTING && course->list.count >= WATCH_LASTING) {
		take_as_usual(course);
		usual->ended = true;
		course->lasting = 0;
	}
	usual->longer = course->lasting > 0;
}

int watch_course_add(struct watch_course *course, const struct hist_run *run, int64_t id,
		     int64_t replaces, struct watch_usual *ret, struct np_err *err)
{
	struct watch_past *one;
	struct hist_usual usual;
	double past[MOST];

	if (replaces != NP_UNKNOWN)
		drop(course, replaces);
	*ret = (struct watch_usual){ .low = (double)NAN,
				     .high = (double)NAN,
				     .longer = course->lasting > 0 };
	if (run->step == NP_UNKNOWN)
		return NP_OK;
	hist_usual_of(past, gather(course, run, past), &usual);
	if (course->list.count >= KEPT)
		drop(course, course->list.item[0].run);
	one = np_vec_add(&course->list, err);
	if (!one)
		return NP_E_NOMEM;
	ret->step = step_of(run->step, &usual);
	ret->low = usual.low;
	ret->high = usual.high;
	*one = (struct watch_past){ .run = id,
				    .world = run->world,
				    .ranks = run->ranks,
				    .step = run->step,
				    .beyond = ret->step == WATCH_STEP_LONGER ||
					      ret->step == WATCH_STEP_SHORTER };
	note_episode(course, ret);
	return NP_OK;
}

void watch_course_release(struct watch_course *course)
{
	np_vec_release(&course->list);
	*course = (struct watch_course){ 0 };
}
