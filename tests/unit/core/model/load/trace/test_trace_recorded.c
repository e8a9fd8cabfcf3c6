/* SPDX-License-Identifier: Apache-2.0 */
#include "np_trace_fixture.h"

struct sums {
	uint64_t phases[128];
	int64_t starts; /* since 1736408880 s */
	int64_t lengths;
	size_t names;
	uint64_t ids;
	size_t long_ids;
	uint64_t stacks;
	size_t stack_bytes;
	uint64_t connections;
	int64_t connection_sum;
};

static void add_sums(struct sums *sums, const struct np_trace_event *event)
{
	struct np_slice stack;
	int64_t connection;

	sums->phases[event->phase & 127]++;
	if (event->ts_ns != NP_UNKNOWN)
		sums->starts += event->ts_ns - INT64_C(1736408880000000000);
	if (event->dur_ns != NP_UNKNOWN)
		sums->lengths += event->dur_ns;
	sums->names += event->name.length;
	if (event->id.number)
		sums->ids += (uint64_t)event->id.value;
	sums->long_ids += event->id.text.bytes && !event->id.number;
	if (np_trace_arg_text(event, "Call stack", &stack)) {
		sums->stacks++;
		sums->stack_bytes += stack.length;
	}
	if (np_trace_arg_integer(event, "connection_id", &connection)) {
		sums->connections++;
		sums->connection_sum += connection;
	}
}

static void sum_up(const char *rank, struct sums *ret, struct np_trace_tally *ret_tally)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event = NULL;
	struct np_err err = NP_ERR_INIT;
	char path[8192];
	const char *dir = recorded_profiles("resnet-2of8/text");

	if (!dir)
		skip();
	(void)snprintf(path, sizeof(path), "%s/%s/ASCEND_PROFILER_OUTPUT/trace_view.json", dir,
		       rank);
	assert_ok(np_trace_open(path, &trace, &err), err);
	for (;;) {
		assert_ok(np_trace_next(trace, &event, &err), err);
		if (!event)
			break;
		add_sums(ret, event);
	}
	*ret_tally = *np_trace_tally(trace);
}

static void recorded_trace_gives_exact_sums(void **state)
{
	struct np_trace_tally tally = { 0 };
	struct sums sums = { .starts = 0 };

	(void)state;
	sum_up("level1/rank0_ascend_pt", &sums, &tally);
	assert_int_equal(tally.events, 10112);
	assert_int_equal(tally.bad, 0);
	assert_false(tally.truncated);
	assert_int_equal(sums.phases['X'], 4384);
	assert_int_equal(sums.phases['C'], 4431);
	assert_int_equal(sums.phases['s'], 606);
	assert_int_equal(sums.phases['f'], 611);
	assert_int_equal(sums.phases['M'], 80);
	assert_int_equal(sums.starts, INT64_C(37714401481344));
	assert_int_equal(sums.lengths, INT64_C(3623631093));
	assert_int_equal(sums.names, 182745);
	assert_true(sums.ids == UINT64_C(9868757024106061598));
	assert_int_equal(sums.long_ids, 374);
	assert_int_equal(sums.stacks, 316);
	assert_int_equal(sums.stack_bytes, 383889);
	assert_int_equal(sums.connections, 1246);
	assert_int_equal(sums.connection_sum, 1615292);
}

static void recorded_traces_have_all_their_events(void **state)
{
	static const struct {
		const char *rank;
		uint64_t events;
		int64_t lengths;
	} cases[] = {
		{ "level0/rank0_ascend_pt", 8375, 2928194025 },
		{ "level0/rank1_ascend_pt", 8394, 2560837650 },
		{ "level1/rank1_ascend_pt", 9969, 3529502329 },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		struct np_trace_tally tally = { 0 };
		struct sums sums = { .starts = 0 };

		sum_up(cases[i].rank, &sums, &tally);
		assert_int_equal(tally.events, cases[i].events);
		assert_int_equal(tally.bad + tally.dropped + tally.truncated, 0);
		assert_int_equal(sums.lengths, cases[i].lengths);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_trace_gives_exact_sums),
		cmocka_unit_test(recorded_traces_have_all_their_events),
	};

	return cmocka_run_group_tests_name("trace_recorded", tests, NULL, NULL);
}
