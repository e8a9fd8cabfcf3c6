/* SPDX-License-Identifier: Apache-2.0 */
#include "bottleneck.h"

/*
 * An event is a word: how much later it started than the one before, how long it
 * took, and its name. One that does not fit is written out in three words before
 * a word that no other event has. Differences are those of unsigned numbers, for
 * those of damaged times may not fit otherwise.
 */
#define TIME_BITS 22 /* 4 ms */
#define NAME_BITS 20
#define TIME_MOST ((UINT64_C(1) << TIME_BITS) - 1)
#define NAME_MOST ((UINT64_C(1) << NAME_BITS) - 1)

#define WRITTEN_OUT UINT64_MAX
#define EVENT_MOST  4

int trail_begin(struct trail *trail, size_t events, struct np_err *err)
{
	trail->capacity = events + EVENT_MOST;
	trail->words = malloc(trail->capacity * sizeof(*trail->words));
	return trail->words ? NP_OK : np_fail_nomem(err, "events");
}

static int grow(struct trail *trail, struct np_err *err)
{
	size_t wanted = trail->capacity + trail->capacity / 2 + EVENT_MOST;
	uint64_t *words = realloc(trail->words, wanted * sizeof(*words));

	if (!words)
		return np_fail_nomem(err, "events");
	trail->words = words;
	trail->capacity = wanted;
	return NP_OK;
}

int trail_add(struct trail *trail, const struct event *event, struct np_err *err)
{
	uint64_t later = (uint64_t)event->start - (uint64_t)trail->last;
	uint64_t time = (uint64_t)event->end - (uint64_t)event->start;

	if (trail->capacity - trail->length < EVENT_MOST && grow(trail, err) < 0)
		return NP_E_NOMEM;
	/* The largest name is not used, so that no event is all ones. */
	if (later <= TIME_MOST && time <= TIME_MOST && event->name < NAME_MOST) {
		trail->words[trail->length++] =
			later << (TIME_BITS + NAME_BITS) | time << NAME_BITS | event->name;
	} else {
		trail->words[trail->length++] = later;
		trail->words[trail->length++] = time;
		trail->words[trail->length++] = event->name;
		trail->words[trail->length++] = WRITTEN_OUT;
	}
	trail->last = event->start;
	return NP_OK;
}

void trail_end(struct trail *trail)
{
	uint64_t *fitting = realloc(trail->words, (trail->length + 1) * sizeof(*fitting));

	if (fitting)
		trail->words = fitting;
}

void trail_release(struct trail *trail)
{
	free(trail->words);
}

struct place trail_place(const struct trail *trail)
{
	return (struct place){ trail, trail->length, trail->last };
}

bool trail_back(struct place *place, struct event *ret)
{
	const uint64_t *end = place->trail->words + place->length;
	uint64_t later;
	uint64_t time;

	if (place->length == 0)
		return false;
	if (end[-1] != WRITTEN_OUT) {
		later = end[-1] >> (TIME_BITS + NAME_BITS);
		time = end[-1] >> NAME_BITS & TIME_MOST;
		ret->name = (np_str)(end[-1] & NAME_MOST);
		place->length--;
	} else {
		later = end[-4];
		time = end[-3];
		ret->name = (np_str)end[-2];
		place->length -= EVENT_MOST;
	}
	ret->start = place->start;
	ret->end = (np_ns)((uint64_t)place->start + time);
	place->start = (np_ns)((uint64_t)place->start - later);
	return true;
}
