/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the events that launchers send each other: how each is packed and checked. */
#include "event.h"

#include <stddef.h>

/* Members that travel. The type and the rank always do. */
enum event_part {
	VALUE = 1,
	STEP = 2,
	WINDOW = 4,
	LEVEL = 8,
	WAIT = 16,
	TEXT = 32,
};

enum direction {
	NOWHERE, /* made by the back-end itself */
	UP,      /* to launcher 0; `rank` is who sends it */
	DOWN,    /* from launcher 0 */
};

struct event_rule {
	enum direction direction;
	unsigned parts;
	int64_t least; /* of value */
	int64_t most;
};

/* No counter of a job comes near these; what is added to them does not overflow. */
#define MANY       (INT64_C(1) << 53)
#define MANY_BYTES (INT64_C(1) << 60)

static const struct event_rule rules[NP_EVENT_TYPES] = {
	[NP_EVENT_FAILED] = { UP, VALUE, 0, 255 },
	[NP_EVENT_SIGNAL] = { UP, VALUE, 1, 64 },
	[NP_EVENT_STOP] = { DOWN, VALUE, -64, 255 },
	[NP_EVENT_SAVED] = { UP, 0, 0, 0 },
	[NP_EVENT_END] = { DOWN, 0, 0, 0 },
	[NP_EVENT_OPENED] = { UP, 0, 0, 0 },
	[NP_EVENT_CLOSED] = { UP, 0, 0, 0 },
	[NP_EVENT_CLOCK] = { DOWN, 0, 0, 0 },
	[NP_EVENT_HOST] = { UP, TEXT, 0, 0 },
	[NP_EVENT_LOST] = { NOWHERE, 0, 0, 0 },
	[NP_EVENT_BYTES] = { UP, VALUE | STEP, 0, MANY_BYTES },
	[NP_EVENT_USER] = { UP, 0, 0, 0 },
	[NP_EVENT_READY] = { UP, 0, 0, 0 },
	[NP_EVENT_ASK] = { DOWN, VALUE | WINDOW, NP_CTL_START, NP_CTL_STATUS },
	[NP_EVENT_STEP] = { UP, VALUE | STEP | WINDOW, -1, MANY },
	[NP_EVENT_START] = { DOWN, VALUE | STEP | WINDOW | LEVEL | WAIT | TEXT, -1, MANY },
	[NP_EVENT_ACCEPTED] = { UP, VALUE | WINDOW, 0, INT32_MAX },
	[NP_EVENT_TOO_LATE] = { UP, VALUE | STEP | WINDOW, 0, INT32_MAX },
	[NP_EVENT_REFUSED] = { UP, WINDOW | TEXT, 0, 0 },
	[NP_EVENT_CANCEL] = { DOWN, WINDOW, 0, 0 },
	[NP_EVENT_HALT] = { DOWN, VALUE | STEP, 0, 1 },
	[NP_EVENT_CTL] = { UP, VALUE | STEP | WINDOW | LEVEL | TEXT, -1, MANY },
	[NP_EVENT_ANSWER] = { DOWN, VALUE | TEXT, 0, NP_ANSWER_FAILED | NP_ANSWER_MORE },
};

/* The numbers of an event, in the order in which they travel. */
struct event_member {
	unsigned part; /* 0: always */
	size_t offset;
	size_t size;
	int64_t least;
	int64_t most;
};

#define MEMBER(part, name, least, most) \
	{ \
		part, offsetof(struct np_event, name), sizeof(((struct np_event *)0)->name), \
			least, most \
	}

static const struct event_member members[] = {
	MEMBER(0, type, 1, NP_EVENT_TYPES - 1),
	MEMBER(0, rank, 0, INT32_MAX),
	MEMBER(VALUE, value, INT64_MIN, INT64_MAX), /* the rule has its limits */
	MEMBER(STEP, step, -1, MANY_BYTES),
	MEMBER(WINDOW, window, 0, INT32_MAX - 1),
	MEMBER(LEVEL, level, -1, 2),
	MEMBER(WAIT, wait_ms, 0, MANY),
};

static const struct event_rule *rule_of(int32_t type)
{
	return type >= 1 && type < NP_EVENT_TYPES ? &rules[type] : NULL;
}

size_t np_event_pack(const struct np_event *event, char *bytes)
{
	const struct event_rule *rule = rule_of(event->type);
	char *at = bytes;
	size_t length;

	for (size_t i = 0; i < NP_COUNT(members); i++) {
		const struct event_member *member = &members[i];

		if (member->part && !(rule && (rule->parts & member->part)))
			continue;
		memcpy(at, (const char *)event + member->offset, member->size);
		at += member->size;
	}
	if (rule && (rule->parts & TEXT)) {
		length = strnlen(event->text, sizeof(event->text) - 1);
		memcpy(at, event->text, length);
		at += length;
	}
	return (size_t)(at - bytes);
}

static bool is_within(const struct np_event *event, const struct event_member *member)
{
	int64_t wide;
	int32_t narrow;

	if (member->size == sizeof(wide)) {
		memcpy(&wide, (const char *)event + member->offset, sizeof(wide));
	} else {
		memcpy(&narrow, (const char *)event + member->offset, sizeof(narrow));
		wide = narrow;
	}
	return wide >= member->least && wide <= member->most;
}

/* Read the numbers that travel, as long as there are bytes for them. */
static bool take_numbers(const char **at, const char *end, struct np_event *ret)
{
	for (size_t i = 0; i < NP_COUNT(members); i++) {
		const struct event_member *member = &members[i];
		const struct event_rule *rule = i > 0 ? rule_of(ret->type) : NULL;

		if (member->part && !(rule && (rule->parts & member->part)))
			continue;
		if ((size_t)(end - *at) < member->size)
			return false;
		memcpy((char *)ret + member->offset, *at, member->size);
		if (!is_within(ret, member))
			return false;
		*at += member->size;
	}
	return true;
}

/* May `from` send this to `to`, in its own name? */
static bool is_allowed(const struct np_event *event, int size, int from, int to)
{
	const struct event_rule *rule = rule_of(event->type);

	if (event->rank >= size)
		return false;
	if ((rule->parts & VALUE) && (event->value < rule->least || event->value > rule->most))
		return false;
	/* A request that another launcher passes on: its verb travels as the window. */
	if (event->type == NP_EVENT_CTL && event->window > NP_CTL_STATUS)
		return false;
	if (rule->direction == UP)
		return to == 0 && from != 0 && event->rank == from;
	return rule->direction == DOWN && from == 0 && to != 0;
}

bool np_event_unpack(const char *bytes, size_t length, int size, int from, int to,
		     struct np_event *ret)
{
	struct np_event event = { 0 };
	const char *end = bytes + length;
	const char *at = bytes;
	size_t rest;

	if (!take_numbers(&at, end, &event) || !is_allowed(&event, size, from, to))
		return false;
	rest = (size_t)(end - at);
	if (!(rules[event.type].parts & TEXT) && rest > 0)
		return false;
	/* A text is what is left; it has no end of its own inside. */
	if (rest >= sizeof(event.text) || memchr(at, '\0', rest))
		return false;
	memcpy(event.text, at, rest);
	*ret = event;
	return true;
}
