/* SPDX-License-Identifier: Apache-2.0 */
/* The period of a sequence of events: steps, where the application marks none. */
#include "cadence.h"

/* Look for a period not before this many new calls, and then at intervals that grow. */
#define CHECK_LEAST 3

void np_cadence_init(struct np_cadence *cadence)
{
	cadence->calls = 0;
	cadence->next_check = CHECK_LEAST;
	cadence->period = 0;
	cadence->origin = 0;
	cadence->shortest = 1;
	cadence->search_end = UINT64_MAX;
	cadence->breaks = 0;
}

/* The call `back` places before the newest, which is 0. */
static uint64_t recent(const struct np_cadence *cadence, uint64_t back)
{
	return cadence->history[(cadence->calls - 1 - back) % NP_CADENCE_HISTORY];
}

/*
 * The Z function of the history read backwards: match[p] calls repeat what came p
 * calls later. A suffix has period p as long as match[p] + p calls.
 */
static void match_backwards(struct np_cadence *cadence, uint64_t count)
{
	uint64_t left = 0;
	uint64_t right = 0;

	for (uint64_t i = 1; i < count; i++) {
		uint64_t length = 0;

		if (i < right) {
			length = cadence->match[i - left];
			if (length > right - i)
				length = right - i;
		}
		while (i + length < count && recent(cadence, length) == recent(cadence, i + length))
			length++;
		cadence->match[i] = (uint32_t)length;
		if (i + length > right) {
			left = i;
			right = i + length;
		}
	}
}

/* Did the host wait for the device in each of the last repetitions? */
static bool has_waits(const struct np_cadence *cadence, uint64_t period)
{
	for (uint64_t i = 0; i < NP_CADENCE_REPEATS - 1; i++) {
		uint64_t newer = cadence->calls - 1 - i * period;
		uint64_t older = newer - period;

		if (cadence->waits[newer % NP_CADENCE_HISTORY] ==
		    cadence->waits[older % NP_CADENCE_HISTORY])
			return false;
	}
	return true;
}

static bool is_believed(const struct np_cadence *cadence, uint64_t period, uint64_t length)
{
	if (length < period * NP_CADENCE_REPEATS)
		return false;
	return length >= period * NP_CADENCE_UNSURE || length == NP_CADENCE_HISTORY ||
	       has_waits(cadence, period);
}

static void look_for_period(struct np_cadence *cadence)
{
	uint64_t count = cadence->calls < NP_CADENCE_HISTORY ? cadence->calls : NP_CADENCE_HISTORY;

	match_backwards(cadence, count);
	for (uint64_t p = cadence->shortest; p * NP_CADENCE_REPEATS <= count; p++) {
		uint64_t length = cadence->match[p] + p;

		if (!is_believed(cadence, p, length))
			continue;
		cadence->period = p;
		cadence->origin = cadence->calls - length;
		return;
	}
	/* The search costs a pass over the history: a fixed share of the calls since the last. */
	cadence->next_check = cadence->calls + CHECK_LEAST + count / 8;
}

/* The period no longer holds. */
static void lose_period(struct np_cadence *cadence)
{
	uint64_t length = cadence->calls - cadence->origin;

	cadence->breaks++;
	cadence->shortest = length < NP_CADENCE_PERIOD_MAX ? length : NP_CADENCE_PERIOD_MAX;
	cadence->search_end = cadence->calls + NP_CADENCE_HISTORY;
	cadence->period = 0;
	cadence->next_check = cadence->calls + CHECK_LEAST;
}

bool np_cadence_call(struct np_cadence *cadence, uint64_t call, uint32_t waits, int64_t *ret_step)
{
	uint64_t position;

	if (cadence->period > 0 && recent(cadence, cadence->period - 1) != call)
		lose_period(cadence);
	cadence->history[cadence->calls % NP_CADENCE_HISTORY] = call;
	cadence->waits[cadence->calls % NP_CADENCE_HISTORY] = waits;
	cadence->calls++;
	if (cadence->period == 0) {
		if (cadence->calls >= cadence->search_end) {
			cadence->shortest = 1;
			cadence->search_end = UINT64_MAX;
		}
		if (cadence->calls >= cadence->next_check)
			look_for_period(cadence);
		return false;
	}
	position = cadence->calls - 1 - cadence->origin;
	if (position % cadence->period != 0)
		return false;
	*ret_step = (int64_t)(position / cadence->period);
	return true;
}
