/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include "npuprof/steps.h"

/*
 * Measuring while reading
 * -----------------------
 *
 * A task belongs to the step in whose window it starts, and windows are known
 * for certain only when all tasks are: those launched in a step widen it. But
 * if tasks come in the order of time, a step that has begun has its begin, and
 * what starts before the end that its window has so far will stay in it. What
 * starts later waits until the window grows over it or the next step begins.
 *
 * At the end the windows that were used are compared with what all tasks made
 * of them: where they differ, as with tasks of a step that come long after the
 * next began, the rank is unordered.
 */

/* The end that the window of a step has so far. */
static np_ns end_so_far(const struct np_step *step)
{
	if (step->id == NP_STR_NONE)
		return NP_NS_MAX;
	return step->end < step->host_end ? step->host_end : step->end;
}

static np_ns begin_of_next(const struct capture *capture)
{
	const struct np_rank *rank = capture->rank;
	uint32_t next = capture->part.step + 1;

	if (next >= rank->steps.count || rank->steps.item[next].begin == NP_UNKNOWN)
		return NP_NS_MAX;
	return rank->steps.item[next].begin;
}

static int begin_step(struct capture *capture)
{
	capture->part.begun = true;
	capture->part.begin = capture->rank->steps.item[capture->part.step].begin;
	return capture_meter_begin(capture, 0, capture->part.step);
}

/* The next step has begun: this one is complete. */
static int end_step(struct capture *capture, struct np_span window)
{
	struct np_span *used = np_vec_add(&capture->part.used, capture->err);

	if (!used)
		return NP_E_NOMEM;
	*used = window;
	capture->part.begun = false;
	capture->part.step++;
	return capture_meter_end(capture);
}

/* Measure what is certain of one step; *ret_more if it is complete and another has begun. */
static int measure_step(struct capture *capture, np_ns until, bool *ret_more)
{
	const struct np_step *step = &capture->rank->steps.item[capture->part.step];
	np_ns next = begin_of_next(capture);
	struct np_span window = { step->begin, end_so_far(step) };
	int rc = capture->part.begun ? NP_OK : begin_step(capture);

	*ret_more = next <= until;
	if (window.end > next)
		window.end = next;
	if (next < window.begin)
		capture->unordered = true;
	capture->part.until = window.end < until ? window.end : until;
	if (rc == NP_OK)
		rc = capture_meter_take(capture, &capture->part.place, 0,
					(struct np_span){ window.begin, capture->part.until });
	if (rc == NP_OK)
		rc = *ret_more ? end_step(capture, window)
			       : capture_meter_go(capture, capture->part.until);
	return rc;
}

/* Those before `place` are done with. */
static void forget_tasks(struct capture *capture)
{
	struct capture_place *place = &capture->part.place;
	size_t left = capture->tasks.count - place->task;

	if (left && place->task)
		memmove(capture->tasks.item, &capture->tasks.item[place->task],
			left * sizeof(*capture->tasks.item));
	capture->tasks.count = left;
	place->task = 0;
}

int capture_measure_until(struct capture *capture, np_ns until)
{
	bool more = true;
	int rc = NP_OK;

	capture_sort_tasks(capture);
	while (more && rc == NP_OK && !capture->unordered) {
		const struct np_step *step = &capture->rank->steps.item[capture->part.step];

		/* What came before the first step may yet be in it: its begin is not known. */
		if (step->begin == NP_UNKNOWN || step->begin >= until)
			break;
		rc = measure_step(capture, until, &more);
	}
	forget_tasks(capture);
	return rc;
}

bool capture_windows_hold(const struct capture *capture)
{
	const struct np_step *steps = capture->rank->steps.item;
	size_t count = capture->part.used.count;

	for (size_t i = 0; i < count; i++) {
		const struct np_span *used = &capture->part.used.item[i];

		if (steps[i].begin != used->begin || steps[i].end != used->end)
			return false;
	}
	return !capture->part.begun || (steps[count].begin == capture->part.begin &&
					steps[count].end >= capture->part.until);
}
