/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the table of events: what may travel does, unchanged, and nothing else. */
#include "collect/launch/coord/event.h"

#include "np_test.h"

enum {
	SIZE = 4,
};

/* Does it come from `from` to `to` as it was sent? */
static bool travels(const struct np_event *event, int from, int to, struct np_event *ret)
{
	char bytes[NP_EVENT_MOST_BYTES];
	size_t length = np_event_pack(event, bytes);

	assert_true(length <= sizeof(bytes));
	return np_event_unpack(bytes, length, SIZE, from, to, ret);
}

static void a_request_for_a_window_travels_with_all_its_members(void **state)
{
	const struct np_event start = { .type = NP_EVENT_START,
					.value = 5,
					.step = 17,
					.window = 2,
					.level = 1,
					.wait_ms = 900,
					.text = "0-3" };
	struct np_event got;

	(void)state;
	assert_true(travels(&start, 0, 3, &got));
	assert_memory_equal(&got, &start, sizeof(got));
}

static void members_that_are_not_of_its_type_stay_behind(void **state)
{
	const struct np_event saved = {
		.type = NP_EVENT_SAVED, .rank = 2, .value = 9, .step = 9, .text = "no"
	};
	struct np_event got;

	(void)state;
	assert_true(travels(&saved, 2, 0, &got));
	assert_int_equal(got.value, 0);
	assert_int_equal(got.step, 0);
	assert_string_equal(got.text, "");
}

static void the_longest_text_comes_whole(void **state)
{
	struct np_event host = { .type = NP_EVENT_HOST, .rank = 1 };
	struct np_event got;

	(void)state;
	memset(host.text, 'h', sizeof(host.text) - 1);
	assert_true(travels(&host, 1, 0, &got));
	assert_string_equal(got.text, host.text);
}

static void nobody_speaks_for_another_rank(void **state)
{
	const struct np_event failed = { .type = NP_EVENT_FAILED, .rank = 2, .value = 1 };
	struct np_event got;

	(void)state;
	assert_true(travels(&failed, 2, 0, &got));
	assert_false(travels(&failed, 3, 0, &got));
}

static void ranks_that_do_not_exist_are_refused(void **state)
{
	static const int32_t ranks[] = { -1, SIZE, 1000000, INT32_MAX, INT32_MIN };
	struct np_event got;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(ranks); i++) {
		const struct np_event bytes = { .type = NP_EVENT_BYTES, .rank = ranks[i] };
		const struct np_event stop = { .type = NP_EVENT_STOP, .rank = ranks[i] };

		assert_false(travels(&bytes, ranks[i], 0, &got));
		assert_false(travels(&stop, 0, 1, &got));
	}
}

static void directions_are_kept(void **state)
{
	const struct np_event stop = { .type = NP_EVENT_STOP };
	const struct np_event saved = { .type = NP_EVENT_SAVED, .rank = 1 };
	const struct np_event lost = { .type = NP_EVENT_LOST, .rank = 1 };
	struct np_event got;

	(void)state;
	assert_false(travels(&stop, 1, 0, &got));
	assert_false(travels(&saved, 1, 2, &got));
	assert_false(travels(&lost, 0, 1, &got));
	assert_false(travels(&lost, 1, 0, &got));
}

static void numbers_out_of_range_are_refused(void **state)
{
	const struct np_event bad[] = {
		{ .type = NP_EVENT_FAILED, .rank = 1, .value = 256 },
		{ .type = NP_EVENT_FAILED, .rank = 1, .value = -1 },
		{ .type = NP_EVENT_SIGNAL, .rank = 1, .value = 65 },
		{ .type = NP_EVENT_BYTES, .rank = 1, .value = -1 },
		{ .type = NP_EVENT_BYTES, .rank = 1, .value = INT64_MAX },
		{ .type = NP_EVENT_STEP, .rank = 1, .step = INT64_MAX },
		{ .type = NP_EVENT_STEP, .rank = 1, .step = INT64_MIN },
		{ .type = NP_EVENT_ACCEPTED, .rank = 1, .value = -5 },
		{ .type = NP_EVENT_CTL, .rank = 1, .window = 3 },
		{ .type = NP_EVENT_CTL, .rank = 1, .level = 3 },
		{ .type = 0, .rank = 1 },
		{ .type = NP_EVENT_TYPES, .rank = 1 },
		{ .type = -7, .rank = 1 },
	};
	struct np_event got;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(bad); i++)
		assert_false(travels(&bad[i], 1, 0, &got));
}

static void cut_and_lengthened_bytes_are_no_event(void **state)
{
	const struct np_event step = {
		.type = NP_EVENT_STEP, .rank = 1, .step = 4, .value = 3, .window = 1
	};
	const struct np_event refused = { .type = NP_EVENT_REFUSED, .rank = 1, .text = "no" };
	char bytes[NP_EVENT_MOST_BYTES + 1] = { 0 };
	size_t length = np_event_pack(&step, bytes);
	struct np_event got;

	(void)state;
	for (size_t cut = 0; cut < length; cut++)
		assert_false(np_event_unpack(bytes, cut, SIZE, 1, 0, &got));
	assert_true(np_event_unpack(bytes, length, SIZE, 1, 0, &got));
	assert_false(np_event_unpack(bytes, length + 1, SIZE, 1, 0, &got));
	/* A text ends where the bytes do, and nowhere before. */
	length = np_event_pack(&refused, bytes);
	bytes[length - 1] = '\0';
	assert_false(np_event_unpack(bytes, length, SIZE, 1, 0, &got));
	memset(bytes + length - 2, 'x', sizeof(bytes) - length);
	assert_false(np_event_unpack(bytes, NP_EVENT_MOST_BYTES, SIZE, 1, 0, &got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_for_a_window_travels_with_all_its_members),
		cmocka_unit_test(members_that_are_not_of_its_type_stay_behind),
		cmocka_unit_test(the_longest_text_comes_whole),
		cmocka_unit_test(nobody_speaks_for_another_rank),
		cmocka_unit_test(ranks_that_do_not_exist_are_refused),
		cmocka_unit_test(directions_are_kept),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(cut_and_lengthened_bytes_are_no_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
