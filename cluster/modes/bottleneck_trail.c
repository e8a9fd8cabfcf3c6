/* SPDX-License-Identifier: Apache-2.0 */
#include "bottleneck.h"

/*
 * An event is three numbers: its name, how long it took, and how much later it
 * started than the one before. A number has seven bits in each byte, the highest
 * first and without the mark that all others have, so that it can be read from its
 * end. Differences are those of unsigned numbers, for those of damaged times may
 * not fit otherwise.
 */
#define NUMBER_MOST 10
#define EVENT_MOST  (3 * NUMBER_MOST)

int trail_begin(struct trail *trail, size_t most, struct np_err *err)
{
	/* Most of it is never touched, and is given back in the end. */
	trail->bytes = malloc((most + 1) * EVENT_MOST);
	return trail->bytes ? NP_OK : np_fail_nomem(err, "events");
}

static inline size_t put_number(uint8_t *bytes, uint64_t number)
{
	unsigned bits = 63 - (unsigned)__builtin_clzll(number | 1);
	size_t more = bits / 7;

	bytes[0] = (uint8_t)(number >> 7 * more);
	for (size_t i = 1; i <= more; i++)
		bytes[i] = (uint8_t)(0x80 | (number >> 7 * (more - i) & 0x7f));
	return more + 1;
}

void trail_add(struct trail *trail, const struct event *event)
{
	uint8_t *at = trail->bytes + trail->length;

	at += put_number(at, event->name);
	at += put_number(at, (uint64_t)event->end - (uint64_t)event->start);
	at += put_number(at, (uint64_t)event->start - (uint64_t)trail->last);
	trail->last = event->start;
	trail->length = (size_t)(at - trail->bytes);
}

void trail_end(struct trail *trail)
{
	uint8_t *fitting = realloc(trail->bytes, trail->length + 1);

	if (fitting)
		trail->bytes = fitting;
}

void trail_release(struct trail *trail)
{
	free(trail->bytes);
}

struct place trail_place(const struct trail *trail)
{
	return (struct place){ trail, trail->length, trail->last };
}

static inline uint64_t number_before(const uint8_t **at)
{
	uint64_t number = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = *--*at;
		number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return number;
}

bool trail_back(struct place *place, struct event *ret)
{
	const uint8_t *at = place->trail->bytes + place->length;
	uint64_t later;

	if (place->length == 0)
		return false;
	later = number_before(&at);
	ret->start = place->start;
	ret->end = (np_ns)((uint64_t)place->start + number_before(&at));
	ret->name = (np_str)number_before(&at);
	place->start = (np_ns)((uint64_t)place->start - later);
	place->length = (size_t)(at - place->trail->bytes);
	return true;
}
