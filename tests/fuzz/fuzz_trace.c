/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace reader: where the window ends must not make a difference. Every input
 * is read once in one piece and once through a window that begins with few bytes,
 * and both must give the same. Times are within bounds whatever the file says.
 */
#include "npuprof/trace.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const keys[] = { "a", "connection_id", "Call stack" };

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void compare_slices(struct np_slice a, struct np_slice b)
{
	must(a.length == b.length && !a.bytes == !b.bytes);
	if (a.bytes && b.bytes && a.length > 0)
		must(memcmp(a.bytes, b.bytes, a.length) == 0);
}

static void compare_ids(const struct np_trace_id *a, const struct np_trace_id *b)
{
	compare_slices(a->text, b->text);
	must(a->value == b->value && a->number == b->number);
}

static void compare_args(const struct np_trace_event *a, const struct np_trace_event *b)
{
	struct np_trace_value values_a[NP_COUNT(keys)];
	struct np_trace_value values_b[NP_COUNT(keys)];
	size_t found = np_trace_args(a, keys, NP_COUNT(keys), values_a);

	must(np_trace_args(b, keys, NP_COUNT(keys), values_b) == found);
	for (size_t i = 0; i < NP_COUNT(keys); i++) {
		struct np_trace_value alone;
		int64_t integer = 0;
		np_ns time = 0;
		double real = 0;

		must(values_a[i].type == values_b[i].type);
		compare_slices(values_a[i].text, values_b[i].text);
		/* Looking again, and for one alone, finds the same. */
		must(np_trace_arg(a, keys[i], &alone) == (values_a[i].type != NP_TRACE_NONE));
		compare_slices(values_a[i].text, alone.text);
		(void)np_trace_value_integer(&alone, &integer);
		(void)np_trace_value_us(&alone, &time);
		(void)np_trace_value_real(&alone, &real);
		must(time >= -NP_NS_MAX && time <= NP_NS_MAX);
	}
}

static void check_time(np_ns time)
{
	must(time == NP_UNKNOWN || (time >= -NP_NS_MAX && time <= NP_NS_MAX));
}

static void compare_events(const struct np_trace_event *a, const struct np_trace_event *b)
{
	check_time(a->ts_ns);
	check_time(a->dur_ns);
	must(a->phase == b->phase && a->bind_point == b->bind_point && a->bad == b->bad);
	must(a->ts_ns == b->ts_ns && a->dur_ns == b->dur_ns && a->offset == b->offset);
	compare_slices(a->name, b->name);
	compare_slices(a->cat, b->cat);
	compare_slices(a->args, b->args);
	compare_ids(&a->pid, &b->pid);
	compare_ids(&a->tid, &b->tid);
	compare_ids(&a->id, &b->id);
	compare_args(a, b);
}

static void compare_info(const struct np_trace_info *a, const struct np_trace_info *b)
{
	compare_slices(a->display_time_unit, b->display_time_unit);
	compare_slices(a->distributed_info, b->distributed_info);
	must(a->base_time_ns == b->base_time_ns);
}

static void compare_tallies(const struct np_trace_tally *a, const struct np_trace_tally *b)
{
	must(a->events == b->events && a->bad == b->bad && a->dropped == b->dropped &&
	     a->truncated == b->truncated);
	must(a->dropped == 0 || a->truncated);
}

static void compare(struct np_trace *a, struct np_trace *b)
{
	const struct np_trace_event *event_a = NULL;
	const struct np_trace_event *event_b = NULL;
	struct np_err err_a = NP_ERR_INIT;
	struct np_err err_b = NP_ERR_INIT;

	do {
		int rc = np_trace_next(a, &event_a, &err_a);

		must(np_trace_next(b, &event_b, &err_b) == rc);
		if (rc < 0) {
			must(strcmp(err_a.text, err_b.text) == 0);
			/* Damage stays where it is. */
			must(np_trace_next(a, &event_a, &err_b) == rc);
			must(strcmp(err_a.text, err_b.text) == 0);
			break;
		}
		must(!event_a == !event_b);
		if (event_a)
			compare_events(event_a, event_b);
	} while (event_a);
	compare_info(np_trace_info(a), np_trace_info(b));
	compare_tallies(np_trace_tally(a), np_trace_tally(b));
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *a = NULL;
	NP_CLEANUP(np_trace_closep) struct np_trace *b = NULL;
	struct np_err err_a = NP_ERR_INIT;
	struct np_err err_b = NP_ERR_INIT;
	size_t block = size > 0 ? 1U + data[size - 1] % 64U : 1U;
	int rc = np_trace_open_bytes(data, size, "fuzz", 0, &a, &err_a);

	must(np_trace_open_bytes(data, size, "fuzz", block, &b, &err_b) == rc);
	if (rc < 0)
		must(strcmp(err_a.text, err_b.text) == 0);
	else
		compare(a, b);
	return 0;
}
