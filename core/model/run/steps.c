/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of steps on the device, and what a device did in one of them. */
#include "npuprof/steps.h"

#include "npuprof/rank.h"
#include "npuprof/strtab.h"

static int by_begin(const void *left, const void *right)
{
	const struct np_step *a = left;
	const struct np_step *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->host_begin != b->host_begin)
		return a->host_begin < b->host_begin ? -1 : 1;
	return 0;
}

static void set_window(struct np_step *step)
{
	/* Without steps there is one that holds everything from the first launched task on. */
	if (step->id == NP_STR_NONE) {
		if (step->begin == NP_UNKNOWN)
			step->begin = 0;
		step->end = NP_NS_MAX;
		return;
	}
	if (step->begin == NP_UNKNOWN)
		step->begin = step->host_begin;
	if (step->end < step->host_end)
		step->end = step->host_end;
}

void np_steps_finish(struct np_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		set_window(&steps[i]);
	if (count)
		qsort(steps, count, sizeof(steps[0]), by_begin);
	for (size_t i = 0; i + 1 < count; i++) {
		if (steps[i].end <= steps[i + 1].begin)
			continue;
		steps[i].past = steps[i].end - steps[i + 1].begin;
		steps[i].end = steps[i + 1].begin;
		steps[i].cut = true;
		steps[i + 1].cut = true;
	}
}

bool np_steps_have_windows(const struct np_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (steps[i].begin == NP_UNKNOWN || steps[i].end == NP_UNKNOWN ||
		    steps[i].begin >= steps[i].end)
			return false;
	}
	return count > 0;
}

uint32_t np_steps_find(const struct np_step *steps, size_t count, np_ns start)
{
	size_t low = 0;
	size_t high = count;

	/* The last step that begins at or before `start` is the only one that can hold it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps[middle].begin <= start)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || start >= steps[low - 1].end)
		return NP_NO_STEP;
	return (uint32_t)(low - 1);
}

/* The vendor gives 0 to a step without computing, even if it communicated. */
static np_ns preparing_time(const struct np_step *step, const struct np_busy *busy)
{
	if (busy->computing == 0)
		return 0;
	if (step->host_begin == NP_UNKNOWN)
		return NP_UNKNOWN;
	return busy->span.begin - step->host_begin;
}

void np_busy_add(struct np_busy *busy, const struct np_spans *computing,
		 const struct np_spans *communication)
{
	struct np_span span;

	busy->computing += np_spans_total(computing);
	busy->communication += np_spans_total(communication);
	busy->overlapped += np_spans_overlap(computing, communication);
	if (!np_spans_extent(computing, communication, &span))
		return;
	if (busy->span.begin == busy->span.end)
		busy->span = span;
	if (span.begin < busy->span.begin)
		busy->span.begin = span.begin;
	if (span.end > busy->span.end)
		busy->span.end = span.end;
}

void np_step_time_measure(const struct np_step *step, const struct np_busy *busy, np_ns receive,
			  struct np_span tasks, struct np_step_time *ret)
{
	ret->computing = busy->computing;
	ret->communication = busy->communication;
	ret->overlapped = busy->overlapped;
	ret->communication_not_overlapped = ret->communication - ret->overlapped;
	ret->bubble = receive;
	ret->span = busy->span.end - busy->span.begin;
	ret->free = ret->span - ret->computing - ret->communication_not_overlapped;
	ret->stage = ret->span - receive;
	ret->preparing = preparing_time(step, busy);
	if (ret->span > 0 && busy->span.begin < tasks.begin)
		tasks.begin = busy->span.begin;
	if (ret->span > 0 && busy->span.end > tasks.end)
		tasks.end = busy->span.end;
	ret->e2e = tasks.end > tasks.begin ? tasks.end - tasks.begin : 0;
	ret->begin = ret->span > 0 ? busy->span.begin : NP_UNKNOWN;
	ret->iteration = NP_UNKNOWN;
}
