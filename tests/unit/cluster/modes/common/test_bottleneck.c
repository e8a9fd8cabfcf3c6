/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/modes/common/bottleneck.h"

#include "np_test.h"

static void assert_event_before(struct trail_position *place, struct event expected)
{
	struct event event;

	assert_true(trail_back(place, &event));
	assert_int_equal(event.start, expected.start);
	assert_int_equal(event.end, expected.end);
	assert_int_equal(event.name, expected.name);
}

/* Those that fit into a word, those at its limits, and those that do not fit by far. */
static const struct event events[] = {
	{ -NP_NS_MAX, NP_NS_MAX, 1 },
	{ -5, -5, NP_STR_NONE },
	{ 0, 1234, 127 },
	{ (1 << 22) - 1, (2 << 22) - 2, (1 << 20) - 1 },
	{ (2 << 22) - 2, (3 << 22) - 3, (1 << 20) - 2 },
	{ (3 << 22) - 2, (4 << 22) - 3, 2 },
	{ (3 << 22) - 2, (4 << 22) - 2, 2 },
	{ 1736410576000000000, NP_NS_MAX, UINT32_MAX },
	{ NP_NS_MAX, NP_NS_MAX, 16384 },
};

static struct trail trail_of_events(struct trail_position places[NP_COUNT(events)])
{
	struct trail trail = { 0 };
	struct np_err err = NP_ERR_INIT;

	/* More come than were expected. */
	assert_ok(trail_begin(&trail, 0, &err), err);
	for (size_t i = 0; i < NP_COUNT(events); i++) {
		places[i] = trail_place(&trail);
		assert_ok(trail_add(&trail, &events[i], &err), err);
	}
	trail_end(&trail);
	return trail;
}

static void events_come_back_from_the_last_to_the_first(void **state)
{
	struct trail_position places[NP_COUNT(events)];
	struct trail trail = trail_of_events(places);
	struct trail_position place = trail_place(&trail);
	struct event event;

	(void)state;
	for (size_t i = NP_COUNT(events); i-- > 0;)
		assert_event_before(&place, events[i]);
	assert_false(trail_back(&place, &event));
	trail_release(&trail);
}

static void a_place_between_events_has_those_before_it(void **state)
{
	struct trail_position places[NP_COUNT(events)];
	struct trail trail = trail_of_events(places);
	struct event event;

	(void)state;
	for (size_t i = 1; i < NP_COUNT(events); i++) {
		places[i].trail = &trail;
		assert_event_before(&places[i], events[i - 1]);
	}
	places[0].trail = &trail;
	assert_false(trail_back(&places[0], &event));
	trail_release(&trail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_back_from_the_last_to_the_first),
		cmocka_unit_test(a_place_between_events_has_those_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
