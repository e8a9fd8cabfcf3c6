/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/trace.h"

#include "np_fixture.h"

#include "np_fault.h"
#include "np_random.h"

#include "npuprof/json.h"

#include <zlib.h>

static struct np_trace *opened(const char *text, size_t length, size_t block)
{
	struct np_err err = NP_ERR_INIT;
	struct np_trace *trace = NULL;

	assert_ok(np_trace_open_bytes(text, length, "test", block, &trace, &err), err);
	return trace;
}

/* The next event, which there must be. */
static const struct np_trace_event *next(struct np_trace *trace)
{
	const struct np_trace_event *event = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_trace_next(trace, &event, &err), err);
	assert_non_null(event);
	return event;
}

static void assert_end(struct np_trace *trace)
{
	const struct np_trace_event *event = NULL;
	struct np_err err = NP_ERR_INIT;

	for (int i = 0; i < 2; i++) {
		assert_ok(np_trace_next(trace, &event, &err), err);
		assert_null(event);
	}
}

/* The one event of a trace is between brackets; the test closes what ONLY() opens. */
#define ONLY(text) opened("[" text "]", sizeof("[" text "]") - 1, 0)

static void assert_slice(struct np_slice slice, const char *expected)
{
	assert_non_null(slice.bytes);
	assert_int_equal(slice.length, strlen(expected));
	assert_memory_equal(slice.bytes, expected, slice.length);
}

static void put_slice(struct np_buf *buf, const char *name, struct np_slice slice)
{
	if (!slice.bytes)
		return;
	np_buf_printf(buf, " %s=", name);
	np_buf_add_bytes(buf, slice.bytes, slice.length);
}

static void put_id(struct np_buf *buf, const char *name, const struct np_trace_id *id)
{
	put_slice(buf, name, id->text);
	if (id->text.bytes)
		np_buf_printf(buf, "%s%lld", id->number ? "#" : "?", (long long)id->value);
}

/* All there is to say about an event, for comparing. */
static void describe_event(struct np_buf *buf, const struct np_trace_event *event)
{
	np_buf_printf(buf, "@%llu %c%c%s", (unsigned long long)event->offset,
		      event->phase ? event->phase : '-',
		      event->bind_point ? event->bind_point : '-', event->bad ? " bad" : "");
	put_slice(buf, "name", event->name);
	put_slice(buf, "cat", event->cat);
	if (event->ts_ns != NP_UNKNOWN)
		np_buf_printf(buf, " ts=%lld", (long long)event->ts_ns);
	if (event->dur_ns != NP_UNKNOWN)
		np_buf_printf(buf, " dur=%lld", (long long)event->dur_ns);
	put_id(buf, "pid", &event->pid);
	put_id(buf, "tid", &event->tid);
	put_id(buf, "id", &event->id);
	put_slice(buf, "args", event->args);
	np_buf_add(buf, "\n");
}

/* All events, how reading ended, and what is known besides. */
static void describe(const char *text, size_t length, size_t block, struct np_buf *buf)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc = np_trace_open_bytes(text, length, "test", block, &trace, &err);

	while (rc == NP_OK) {
		rc = np_trace_next(trace, &event, &err);
		if (rc == NP_OK && !event)
			break;
		if (rc == NP_OK)
			describe_event(buf, event);
	}
	np_buf_printf(buf, "%d %s", rc, err.text);
	if (trace) {
		const struct np_trace_tally *tally = np_trace_tally(trace);
		const struct np_trace_info *info = np_trace_info(trace);

		np_buf_printf(buf, " events=%llu bad=%llu dropped=%llu%s",
			      (unsigned long long)tally->events, (unsigned long long)tally->bad,
			      (unsigned long long)tally->dropped,
			      tally->truncated ? " truncated" : "");
		put_slice(buf, "unit", info->display_time_unit);
		put_slice(buf, "distributed", info->distributed_info);
		np_buf_printf(buf, " base=%lld", (long long)info->base_time_ns);
	}
	assert_int_equal(np_buf_check(buf, NULL), NP_OK);
}

/* The same comes out wherever the window ends. */
static void assert_same_for_all_blocks(const char *text, size_t length)
{
	NP_CLEANUP(np_buf_release) struct np_buf whole = NP_BUF_INIT;

	describe(text, length, 0, &whole);
	for (size_t block = 1; block <= 64; block++) {
		NP_CLEANUP(np_buf_release) struct np_buf parts = NP_BUF_INIT;

		describe(text, length, block, &parts);
		assert_int_equal(parts.length, whole.length);
		assert_memory_equal(parts.text, whole.text, whole.length);
	}
}

static void members_of_an_event_are_read(void **state)
{
	NP_CLEANUP(np_trace_closep)
	struct np_trace *trace =
		ONLY("{\"ph\": \"X\", \"name\": \"aten::empty\", \"pid\": 3096504, \"tid\": 77,"
		     " \"ts\": \"1736408883688177.930\", \"dur\": 145.57, \"cat\": \"cpu_op\","
		     " \"args\": {\"Sequence number\": -1}}");
	const struct np_trace_event *event = next(trace);

	(void)state;
	assert_int_equal(event->phase, 'X');
	assert_slice(event->name, "aten::empty");
	assert_slice(event->cat, "cpu_op");
	assert_int_equal(event->ts_ns, INT64_C(1736408883688177930));
	assert_int_equal(event->dur_ns, 145570);
	assert_true(event->pid.number);
	assert_int_equal(event->pid.value, 3096504);
	assert_int_equal(event->tid.value, 77);
	assert_slice(event->args, "{\"Sequence number\": -1}");
	assert_int_equal(event->offset, 1);
	assert_false(event->bad);
	assert_end(trace);
}

static void absent_members_are_unknown(void **state)
{
	NP_CLEANUP(np_trace_closep)
	struct np_trace *trace = ONLY("{}, {\"ts\": null, \"name\": null}");

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct np_trace_event *event = next(trace);

		assert_int_equal(event->phase, 0);
		assert_int_equal(event->bind_point, 0);
		assert_null(event->name.bytes);
		assert_null(event->cat.bytes);
		assert_null(event->args.bytes);
		assert_null(event->pid.text.bytes);
		assert_int_equal(event->pid.value, NP_UNKNOWN);
		assert_int_equal(event->ts_ns, NP_UNKNOWN);
		assert_int_equal(event->dur_ns, NP_UNKNOWN);
		assert_false(event->bad);
	}
}

static void assert_ts(const char *ts, np_ns expected)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event;

	np_buf_printf(&text, "[{\"ts\": %s}]", ts);
	trace = opened(text.text, text.length, 0);
	event = next(trace);
	if (event->ts_ns != expected || event->bad != (expected == NP_UNKNOWN))
		fail_msg("ts %s is read as %lld%s", ts, (long long)event->ts_ns,
			 event->bad ? ", bad" : "");
	assert_int_equal(np_trace_tally(trace)->bad, expected == NP_UNKNOWN);
}

static void times_are_exact(void **state)
{
	(void)state;
	assert_ts("\"1736408883688177.930\"", INT64_C(1736408883688177930));
	assert_ts("1736408883688177.931", INT64_C(1736408883688177931));
	assert_ts("1736408883688177", INT64_C(1736408883688177000));
	assert_ts("\"1695115378710248\"", INT64_C(1695115378710248000));
	assert_ts("0", 0);
	assert_ts("-0.001", -1);
	assert_ts("5.", 5000);
	/* What a double adds behind the ns is rounded off. */
	assert_ts("2.1500000000000004", 2150);
	assert_ts("0.44999999999999996", 450);
	/* NP_NS_MAX is 4611686018427387903. */
	assert_ts("4611686018427387.903", NP_NS_MAX);
	assert_ts("4611686018427387.904", NP_UNKNOWN);
	assert_ts("-4611686018427387.904", NP_UNKNOWN);
	assert_ts("99999999999999999999999999", NP_UNKNOWN);
}

static void exponents_count_only_if_nothing_is_lost(void **state)
{
	(void)state;
	assert_ts("1.5e3", 1500000);
	assert_ts("1.5E+3", 1500000);
	assert_ts("-25e-1", -2500);
	assert_ts("1e-3", 1);
	assert_ts("1000e-6", 1);
	assert_ts("0e99", 0);
	assert_ts("1.69512E+15", INT64_C(1695120000000000000));
	assert_ts("1e-4", NP_UNKNOWN);
	assert_ts("1.2345e-1", NP_UNKNOWN);
	assert_ts("1e30", NP_UNKNOWN);
	assert_ts("1e99999999999999999999", NP_UNKNOWN);
	/* A text with an exponent is a spreadsheet's and has lost its digits. */
	assert_ts("\"1.69512E+15\"", NP_UNKNOWN);
}

static void what_is_no_time_makes_the_event_bad(void **state)
{
	(void)state;
	assert_ts("\"\"", NP_UNKNOWN);
	assert_ts("\"N/A\"", NP_UNKNOWN);
	assert_ts("true", NP_UNKNOWN);
	assert_ts("[1]", NP_UNKNOWN);
	assert_ts("{\"ts\": 1}", NP_UNKNOWN);
	assert_ts("NaN", NP_UNKNOWN);
	assert_ts("Infinity", NP_UNKNOWN);
	assert_ts("-Infinity", NP_UNKNOWN);
	assert_ts("1-2", NP_UNKNOWN);
	assert_ts("1.2.3", NP_UNKNOWN);
}

static void members_of_the_wrong_type_make_the_event_bad(void **state)
{
	static const char *const members[] = { "\"name\": 5",  "\"cat\": []",   "\"ph\": \"XY\"",
					       "\"ph\": \"\"", "\"bp\": 1",     "\"pid\": true",
					       "\"id\": {}",   "\"dur\": \"x\"" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(members); i++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
		NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
		const struct np_trace_event *event;

		np_buf_printf(&text, "[{%s, \"tid\": 1}]", members[i]);
		trace = opened(text.text, text.length, 0);
		event = next(trace);
		assert_true(event->bad);
		assert_null(event->name.bytes);
		assert_null(event->cat.bytes);
		assert_int_equal(event->phase, 0);
		assert_int_equal(event->tid.value, 1);
	}
}

static void assert_id(const char *id, bool number, int64_t value)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event;

	np_buf_printf(&text, "[{\"id\": %s}]", id);
	trace = opened(text.text, text.length, 0);
	event = next(trace);
	assert_int_equal(event->id.number, number);
	if (number)
		assert_int_equal(event->id.value, value);
	assert_false(event->bad);
}

static void ids_are_numbers_in_quotes_or_not(void **state)
{
	(void)state;
	assert_id("12", true, 12);
	assert_id("\"12\"", true, 12);
	assert_id("-1", true, -1);
	assert_id("1736408883838450626", true, INT64_C(1736408883838450626));
	assert_id("\"9223372036854775807\"", true, INT64_MAX);
	/* Beyond int64_t, modulo 2^64. */
	assert_id("18446744073709551615", true, -1);
	/* Beyond 64 bits: the HostToDevice ids of HCCL in recorded traces. */
	assert_id("\"40004068119343529983\"", false, 0);
	assert_id("\"0x1f\"", false, 0);
	assert_id("1.5", false, 0);
	assert_id("\"\"", false, 0);
	assert_id("\"-\"", false, 0);
	assert_id("\"-9223372036854775808\"", false, 0);
}

static void names_for_ids_are_equal_when_their_texts_are(void **state)
{
	NP_CLEANUP(np_trace_closep)
	struct np_trace *trace =
		ONLY("{\"pid\": \"Spans\", \"tid\": \"Spans\", \"id\": \"Traces\"}");
	const struct np_trace_event *event = next(trace);

	(void)state;
	assert_false(event->pid.number);
	assert_slice(event->pid.text, "Spans");
	assert_true(event->pid.value == event->tid.value);
	assert_true(event->pid.value != event->id.value);
}

static void escapes_are_decoded(void **state)
{
	NP_CLEANUP(np_trace_closep)
	struct np_trace *trace = ONLY("{\"name\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t|\","
				      " \"cat\": \"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\","
				      " \"pid\": \"\\u0031\\u0032\"}");
	const struct np_trace_event *event = next(trace);

	(void)state;
	assert_slice(event->name, "\"\\/\b\f\n\r\t|");
	assert_slice(event->cat, "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	assert_int_equal(event->pid.value, 12);
}

static void wrong_escapes_stay_and_half_pairs_are_replaced(void **state)
{
	NP_CLEANUP(np_trace_closep)
	struct np_trace *trace = ONLY("{\"name\": \"C:\\home \\u12g4 \\u\","
				      " \"cat\": \"\\ud83d|\\ude00|\\ud83d\\u0041|\\ud83d\"}");
	const struct np_trace_event *event = next(trace);

	(void)state;
	assert_slice(event->name, "C:\\home \\u12g4 \\u");
	assert_slice(event->cat, "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd"
				 "A|\xef\xbf\xbd");
}

static void nul_control_characters_and_invalid_utf8_are_data(void **state)
{
	static const char text[] = "[{\"name\": \"a\\u0000b\", \"cat\": \"x\0\n\xff\xc3\"}]";
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = opened(text, sizeof(text) - 1, 0);
	const struct np_trace_event *event = next(trace);

	(void)state;
	assert_int_equal(event->name.length, 3);
	assert_memory_equal(event->name.bytes, "a\0b", 3);
	assert_int_equal(event->cat.length, 5);
	assert_memory_equal(event->cat.bytes, "x\0\n\xff\xc3", 5);
}

static void names_of_members_may_be_escaped(void **state)
{
	NP_CLEANUP(np_trace_closep)
	struct np_trace *trace = ONLY("{\"\\u006e\\u0061\\u006d\\u0065\": \"x\","
				      " \"\\u0074s\": 1, \"arg\\u0073\": {\"\\u006b\": 7}}");
	const struct np_trace_event *event = next(trace);
	int64_t value = 0;

	(void)state;
	assert_slice(event->name, "x");
	assert_int_equal(event->ts_ns, 1000);
	assert_true(np_trace_arg_integer(event, "k", &value));
	assert_int_equal(value, 7);
}

static void first_of_equal_members_counts(void **state)
{
	NP_CLEANUP(np_trace_closep)
	struct np_trace *trace = ONLY("{\"ts\": 1, \"ts\": 2, \"args\": {\"k\": 3, \"k\": 4}}");
	const struct np_trace_event *event = next(trace);
	int64_t value = 0;

	(void)state;
	assert_int_equal(event->ts_ns, 1000);
	assert_true(np_trace_arg_integer(event, "k", &value));
	assert_int_equal(value, 3);
}

/* Around the events */

static void object_around_the_events_is_opened(void **state)
{
	static const char text[] =
		"{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}],"
		" \"distributedInfo\": {\"rank\": 3, \"pg\": [ {} ]},"
		" \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": 1725000000000000000,\n"
		" \"traceEvents\": [{\"ts\": 1}, {\"ts\": 2}], \"traceName\": \"x.json\" } \n";
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = opened(text, sizeof(text) - 1, 0);
	const struct np_trace_info *info = np_trace_info(trace);

	(void)state;
	assert_slice(info->display_time_unit, "ms");
	assert_int_equal(info->base_time_ns, INT64_C(1725000000000000000));
	assert_slice(info->distributed_info, "{\"rank\": 3, \"pg\": [ {} ]}");
	assert_int_equal(next(trace)->ts_ns, 1000);
	assert_int_equal(next(trace)->ts_ns, 2000);
	assert_end(trace);
	assert_false(np_trace_tally(trace)->truncated);
	assert_same_for_all_blocks(text, sizeof(text) - 1);
}

static void members_behind_the_events_are_known_in_the_end(void **state)
{
	static const char text[] = "{\"traceEvents\": [{}], \"displayTimeUnit\": \"n\\u0073\"}";
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = opened(text, sizeof(text) - 1, 0);

	(void)state;
	assert_null(np_trace_info(trace)->display_time_unit.bytes);
	assert_int_equal(np_trace_info(trace)->base_time_ns, NP_UNKNOWN);
	(void)next(trace);
	assert_end(trace);
	assert_slice(np_trace_info(trace)->display_time_unit, "ns");
}

static void members_kept_may_be_large_but_not_too_large(void **state)
{
	for (size_t more = 0; more < 2; more++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
		NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;

		(void)state;
		np_buf_add(&text, "{\"distributedInfo\":\"");
		np_buf_add_repeated(&text, 'x', NP_TRACE_MEMBER_BYTES_MAX - 2 + more);
		np_buf_add(&text, "\",\"traceEvents\":[{}]}");
		trace = opened(text.text, text.length, 0);
		assert_int_equal(np_trace_info(trace)->distributed_info.length,
				 more ? 0 : NP_TRACE_MEMBER_BYTES_MAX - 2);
		(void)next(trace);
		assert_end(trace);
	}
}

static void members_nobody_wants_may_have_any_size(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;

	(void)state;
	np_buf_add(&text, "{\"samples\":[");
	for (int i = 0; i < 200000; i++)
		np_buf_add(&text, "{\"a\" : [ 1, \"two\" ] }, ");
	np_buf_add(&text, "0],\"traceEvents\":[{\"ts\":5}]}");
	/* A window that begins with 64 bytes would show it if it had to grow: this is quick. */
	trace = opened(text.text, text.length, 64);
	assert_int_equal(next(trace)->ts_ns, 5000);
	assert_end(trace);
}

static void blanks_may_be_many(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;

	(void)state;
	np_buf_add(&text, "\t[\r\n");
	np_buf_add_repeated(&text, ' ', 5000000);
	np_buf_add(&text, "{ \"ts\"\t:\n7 }");
	np_buf_add_repeated(&text, '\n', 5000000);
	np_buf_add(&text, "] ");
	trace = opened(text.text, text.length, 64);
	assert_int_equal(next(trace)->ts_ns, 7000);
	assert_end(trace);
	assert_false(np_trace_tally(trace)->truncated);
}

static void comma_behind_the_last_event_is_accepted(void **state)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = ONLY("{\"ts\": 1},\n");

	(void)state;
	assert_int_equal(next(trace)->ts_ns, 1000);
	assert_end(trace);
	assert_false(np_trace_tally(trace)->truncated);
}

static void elements_that_are_no_events_are_counted_and_skipped(void **state)
{
	NP_CLEANUP(np_trace_closep)
	struct np_trace *trace = ONLY("null, {\"ts\": 1}, [[{\"ts\": 9}]], \"x\", 5, {\"ts\": 2}");

	(void)state;
	assert_int_equal(next(trace)->ts_ns, 1000);
	assert_int_equal(next(trace)->ts_ns, 2000);
	assert_end(trace);
	assert_int_equal(np_trace_tally(trace)->events, 2);
	assert_int_equal(np_trace_tally(trace)->bad, 4);
}

static void compressed_trace_is_read(void **state)
{
	static const char text[] = "[{\"ts\": 1}, {\"ts\": 2}]";
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	struct np_err err = NP_ERR_INIT;
	gzFile file;

	(void)state;
	file = gzopen(below("trace.json.gz"), "wb");
	assert_int_equal(gzwrite(file, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(gzclose(file), Z_OK);
	assert_ok(np_trace_open(below("trace.json.gz"), &trace, &err), err);
	assert_int_equal(next(trace)->ts_ns, 1000);
	assert_int_equal(next(trace)->ts_ns, 2000);
	assert_end(trace);
}

/* Arguments */

#define ARGS \
	"{\"args\": {\"connection_id\": 42, \"Task Type\": \"AI_CORE\", \"text\": \"17\"," \
	" \"Call stack\": \"a.py(1): f;\\r\\nb.py(2): g\", \"nested\": {\"connection_id\": 1}," \
	" \"list\": [1, 2], \"yes\": true, \"none\": null, \"size\": 1.50, \"whole\": 3.0," \
	" \"power\": 2e3, \"big\": 9223372036854775808, \"nan\": NaN, \"\": 6}}"

static void arguments_are_found_by_name(void **state)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = ONLY(ARGS);
	const struct np_trace_event *event = next(trace);
	struct np_trace_value value;

	(void)state;
	assert_true(np_trace_arg(event, "connection_id", &value));
	assert_int_equal(value.type, NP_TRACE_NUMBER);
	assert_slice(value.text, "42");
	assert_true(np_trace_arg(event, "Call stack", &value));
	assert_int_equal(value.type, NP_TRACE_TEXT);
	assert_slice(value.text, "a.py(1): f;\r\nb.py(2): g");
	assert_true(np_trace_arg(event, "nested", &value));
	assert_int_equal(value.type, NP_TRACE_OBJECT);
	assert_slice(value.text, "{\"connection_id\": 1}");
	assert_true(np_trace_arg(event, "list", &value));
	assert_int_equal(value.type, NP_TRACE_ARRAY);
	assert_true(np_trace_arg(event, "yes", &value));
	assert_int_equal(value.type, NP_TRACE_BOOL);
	assert_true(np_trace_arg(event, "none", &value));
	assert_int_equal(value.type, NP_TRACE_NULL);
	assert_true(np_trace_arg(event, "", &value));
	assert_slice(value.text, "6");
	assert_false(np_trace_arg(event, "connection", &value));
	assert_int_equal(value.type, NP_TRACE_NONE);
	assert_false(np_trace_arg(event, "connection_id2", &value));
}

static void several_arguments_are_found_at_once(void **state)
{
	static const char *const keys[] = { "Call stack", "missing", "connection_id", "Call stack",
					    "Task Type" };
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = ONLY(ARGS);
	struct np_trace_value values[NP_COUNT(keys)];

	(void)state;
	assert_int_equal(np_trace_args(next(trace), keys, NP_COUNT(keys), values), 4);
	assert_slice(values[0].text, "a.py(1): f;\r\nb.py(2): g");
	assert_int_equal(values[1].type, NP_TRACE_NONE);
	assert_slice(values[2].text, "42");
	assert_slice(values[3].text, "a.py(1): f;\r\nb.py(2): g");
	assert_slice(values[4].text, "AI_CORE");
}

static void decoded_arguments_stay_until_the_next_event(void **state)
{
	NP_CLEANUP(np_trace_closep)
	struct np_trace *trace = ONLY(
		"{\"args\": {\"a\": \"\\u0041;\\r\\n\", \"b\": \"\\n\\n\\\"\", \"c\": \"\\\\\"}}");
	const struct np_trace_event *event = next(trace);
	struct np_slice texts[3];

	(void)state;
	for (int again = 0; again < 2; again++) {
		assert_true(np_trace_arg_text(event, "c", &texts[2]));
		assert_true(np_trace_arg_text(event, "a", &texts[0]));
		assert_true(np_trace_arg_text(event, "b", &texts[1]));
	}
	assert_slice(texts[0], "A;\r\n");
	assert_slice(texts[1], "\n\n\"");
	assert_slice(texts[2], "\\");
}

static void arguments_are_numbers_in_quotes_or_not(void **state)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = ONLY(ARGS);
	const struct np_trace_event *event = next(trace);
	int64_t integer = 7;
	double real = 7;
	np_ns time = 7;

	(void)state;
	assert_true(np_trace_arg_integer(event, "text", &integer));
	assert_int_equal(integer, 17);
	assert_true(np_trace_arg_integer(event, "whole", &integer));
	assert_int_equal(integer, 3);
	assert_true(np_trace_arg_integer(event, "power", &integer));
	assert_int_equal(integer, 2000);
	assert_true(np_trace_arg_us(event, "size", &time));
	assert_int_equal(time, 1500);
	assert_true(np_trace_arg_real(event, "size", &real));
	assert_near(real, 1.5, 0);
	assert_true(np_trace_arg_real(event, "text", &real));
	assert_near(real, 17, 0);
}

static void what_is_no_number_leaves_the_answer_alone(void **state)
{
	static const char *const keys[] = {
		"Task Type", "nested", "list", "yes", "none", "missing"
	};
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = ONLY(ARGS);
	const struct np_trace_event *event = next(trace);
	int64_t integer = 7;
	double real = 7;
	np_ns time = 7;
	struct np_slice text = { "seven", 5 };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(keys); i++) {
		assert_false(np_trace_arg_integer(event, keys[i], &integer));
		assert_false(np_trace_arg_real(event, keys[i], &real));
		assert_false(np_trace_arg_us(event, keys[i], &time));
	}
	assert_false(np_trace_arg_integer(event, "size", &integer));
	assert_false(np_trace_arg_integer(event, "big", &integer));
	assert_false(np_trace_arg_integer(event, "nan", &integer));
	assert_false(np_trace_arg_text(event, "connection_id", &text));
	assert_int_equal(integer, 7);
	assert_int_equal(time, 7);
	assert_near(real, 7, 0);
	assert_slice(text, "seven");
}

static void args_that_are_no_object_have_no_members(void **state)
{
	NP_CLEANUP(np_trace_closep)
	struct np_trace *trace =
		ONLY("{\"args\": [\"a\", 1]}, {\"args\": \"a\"}, {\"args\": {}}, {},"
		     " {\"args\": \"{\", \":7}\": 1}");
	struct np_trace_value value;

	(void)state;
	for (int i = 0; i < 5; i++) {
		const struct np_trace_event *event = next(trace);

		assert_false(np_trace_arg(event, "a", &value));
		/* What follows the text in the last event must not look like its member. */
		assert_false(np_trace_arg(event, ", ", &value));
		assert_false(event->bad);
	}
}

/* Damaged input */

static void assert_refused(const char *text, size_t length, uint64_t events, const char *expected)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc = np_trace_open_bytes(text, length, "test", 0, &trace, &err);

	while (rc == NP_OK) {
		rc = np_trace_next(trace, &event, &err);
		assert_true(rc < 0 || event);
	}
	assert_int_equal(rc, NP_E_FORMAT);
	assert_string_equal(err.text, expected);
	assert_int_equal(trace ? np_trace_tally(trace)->events : 0, events);
	if (trace) {
		err = NP_ERR_INIT;
		assert_int_equal(np_trace_next(trace, &event, &err), NP_E_FORMAT);
		assert_string_equal(err.text, expected);
	}
}

#define ASSERT_REFUSED(text, events, expected) \
	assert_refused(text, sizeof(text) - 1, events, expected)

static void file_without_content_is_not_found(void **state)
{
	struct np_trace *trace = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_trace_open(below("none.json"), &trace, &err), NP_E_NOTFOUND);
	write_text(below("empty.json"), "");
	assert_int_equal(np_trace_open(below("empty.json"), &trace, &err), NP_E_NOTFOUND);
	assert_holds(err.text, "/empty.json' is empty");
}

static void what_is_no_trace_is_refused(void **state)
{
	(void)state;
	ASSERT_REFUSED(" \n", 0, "test: byte 2: the file ends before its events");
	ASSERT_REFUSED("5", 0, "test: byte 0: expected an array of events or an object");
	ASSERT_REFUSED("Name,Type\n", 0, "test: byte 0: expected an array of events or an object");
	ASSERT_REFUSED("{}", 0, "test: byte 1: the object has no traceEvents");
	ASSERT_REFUSED("{\"a\": 1}", 0, "test: byte 7: the object has no traceEvents");
	ASSERT_REFUSED("{\"a\": 1, \"b", 0, "test: byte 11: the file ends before its events");
	ASSERT_REFUSED("{\"traceEvents\": 7}", 0, "test: byte 16: traceEvents is not an array");
	ASSERT_REFUSED("{\"a\": 1 \"b\": 2}", 0,
		       "test: byte 8: expected a comma or the end of the object");
}

static void damage_in_the_middle_is_told_by_its_place(void **state)
{
	(void)state;
	ASSERT_REFUSED("[{\"ts\": 1}, {\"ts\": x}, {}]", 1, "test: byte 19: expected a value");
	ASSERT_REFUSED("[{\"ts\": 1} {}]", 1,
		       "test: byte 11: expected a comma or the end of the events");
	ASSERT_REFUSED("[{},,{}]", 1, "test: byte 4: expected a value");
	ASSERT_REFUSED("[{\"a\" 1}]", 0, "test: byte 6: expected a colon");
	ASSERT_REFUSED("[{\"a\": 1,}]", 0, "test: byte 9: expected the name of a member");
	ASSERT_REFUSED("[{5: 1}]", 0, "test: byte 2: expected the name of a member");
	ASSERT_REFUSED("[{\"a\": 1 \"b\"}]", 0,
		       "test: byte 9: expected a comma or the end of the event");
	ASSERT_REFUSED("[{\"args\": {\"a\": [1, 2}}]", 0,
		       "test: byte 21: expected a comma or the end of the array");
	ASSERT_REFUSED("[{\"args\": {\"a\": 1]}]", 0,
		       "test: byte 17: expected a comma or the end of the object");
	ASSERT_REFUSED("[{\"args\": [1,]}]", 0, "test: byte 13: expected a value");
	ASSERT_REFUSED("[{}] x", 1, "test: byte 5: expected nothing more");
	ASSERT_REFUSED("[{}][{}]", 1, "test: byte 4: expected nothing more");
	ASSERT_REFUSED("[{},\0\0\0\0]", 1, "test: byte 4: expected a value");
	ASSERT_REFUSED("[{\"a\": nul}]", 0, "test: byte 7: expected a value");
	ASSERT_REFUSED("[{\"a\": -}]", 0, "test: byte 7: expected a value");
}

static void nesting_has_a_limit(void **state)
{
	for (size_t more = 0; more < 2; more++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

		(void)state;
		np_buf_add(&text, "[{\"args\":");
		np_buf_add_repeated(&text, '[', NP_TRACE_DEPTH_MAX + more);
		np_buf_add_repeated(&text, ']', NP_TRACE_DEPTH_MAX + more);
		np_buf_add(&text, "}]");
		if (more) {
			assert_refused(text.text, text.length, 0,
				       "test: byte 73: values more than 64 levels deep");
		} else {
			struct np_trace *trace = opened(text.text, text.length, 0);

			(void)next(trace);
			assert_end(trace);
			np_trace_close(trace);
		}
	}
}

static void levels_are_kept_apart(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	(void)state;
	np_buf_add(&text, "[{\"args\":");
	for (int i = 0; i < 32; i++)
		np_buf_add(&text, "{\"a\":[");
	for (int i = 0; i < 32; i++)
		np_buf_add(&text, "]}");
	np_buf_add(&text, "}]");
	assert_same_for_all_blocks(text.text, text.length);
	*strchr(text.text, ']') = '}';
	assert_refused(text.text, text.length, 0, "test: byte 201: expected a value");
}

static void texts_have_a_limit(void **state)
{
	for (size_t more = 0; more < 2; more++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

		(void)state;
		np_buf_add(&text, "[{},{\"name\":\"");
		np_buf_add_repeated(&text, 'x', NP_TRACE_TEXT_BYTES_MAX - 1 + more);
		np_buf_add(&text, "\"}]");
		if (more) {
			assert_refused(text.text, text.length, 1,
				       "test: byte 12: a text of more than 16 MiB");
		} else {
			struct np_trace *trace = opened(text.text, text.length, 0);

			(void)next(trace);
			assert_int_equal(next(trace)->name.length, NP_TRACE_TEXT_BYTES_MAX - 1);
			np_trace_close(trace);
		}
	}
}

static void events_have_a_limit(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	(void)state;
	np_buf_add(&text, "[{}, {\"args\": [");
	while (text.length < NP_TRACE_EVENT_BYTES_MAX + 100)
		np_buf_add(&text, "1234567890123456789012345678901234567890,");
	assert_refused(text.text, text.length, 1, "test: byte 5: an event of more than 64 MiB");
	np_buf_add(&text, "0]}, {}]");
	assert_refused(text.text, text.length, 1, "test: byte 5: an event of more than 64 MiB");
}

static void array_without_end_is_accepted(void **state)
{
	static const struct {
		const char *text;
		uint64_t events;
		uint64_t dropped;
	} cases[] = {
		{ "[", 0, 0 },
		{ "[\n", 0, 0 },
		{ "[{\"ts\": 1}", 1, 0 },
		{ "[{\"ts\": 1}, ", 1, 0 },
		{ "[{\"ts\": 1}, {", 1, 1 },
		{ "[{\"ts\": 1}, {\"name\": \"unfin\\", 1, 1 },
		{ "[{\"ts\": 1}, {\"ts\": 12", 1, 1 },
		{ "[{\"ts\": 1}, nul", 1, 1 },
		{ "{\"traceEvents\": [{\"ts\": 1}, {\"a", 1, 1 },
		{ "{\"traceEvents\": [{\"ts\": 1}]", 1, 0 },
		{ "{\"traceEvents\": [{\"ts\": 1}], \"x", 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		size_t length = strlen(cases[i].text);
		NP_CLEANUP(np_trace_closep)
		struct np_trace *trace = opened(cases[i].text, length, 0);

		for (uint64_t j = 0; j < cases[i].events; j++)
			assert_int_equal(next(trace)->ts_ns, 1000);
		assert_end(trace);
		assert_true(np_trace_tally(trace)->truncated);
		assert_int_equal(np_trace_tally(trace)->dropped, cases[i].dropped);
		assert_same_for_all_blocks(cases[i].text, length);
	}
}

static const char small[] =
	"[{\"ph\": \"X\", \"name\": \"k\\u00e9\\\"\", \"ts\": \"1.5\", \"dur\": 2.25, \"pid\": 1,"
	" \"args\": {\"a\": [1, {\"b\": null}], \"c\": \"\\\\\"}},\n"
	"{\"ph\": \"f\", \"bp\": \"e\", \"id\": \"7\", \"tid\": \"x\", \"ts\": 3e0}]\n";

static void file_may_be_cut_at_any_byte(void **state)
{
	/* Where the first and the second event are complete, and the array. */
	size_t first = (size_t)(strstr(small, ",\n{") - small);
	size_t second = sizeof(small) - 3;

	(void)state;
	for (size_t length = 1; length < sizeof(small); length++) {
		NP_CLEANUP(np_trace_closep) struct np_trace *trace = opened(small, length, 0);
		bool in_first = length > 1 && length < first;
		bool in_second = length > first + 2 && length < second;

		if (length >= first)
			assert_int_equal(next(trace)->ts_ns, 1500);
		if (length >= second)
			assert_int_equal(next(trace)->ts_ns, 3000);
		assert_end(trace);
		assert_int_equal(np_trace_tally(trace)->dropped, in_first || in_second);
		assert_int_equal(np_trace_tally(trace)->truncated, length <= second);
		assert_same_for_all_blocks(small, length);
	}
}

static void any_damage_is_the_same_for_all_blocks(void **state)
{
	static const char bytes[] = "{}[]\",:\\ 0e\0\xffn";
	uint64_t seed = 6;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		char copy[sizeof(small)];

		memcpy(copy, small, sizeof(small));
		for (size_t n = 1 + np_random_below(&seed, 3); n > 0; n--)
			copy[np_random_below(&seed, sizeof(small) - 1)] =
				bytes[np_random_below(&seed, sizeof(bytes) - 1)];
		(void)snprintf(np_fixture_doing, sizeof(np_fixture_doing), "damage %d", i);
		assert_same_for_all_blocks(copy, sizeof(small) - 1);
	}
	*np_fixture_doing = '\0';
}

/* Found by fuzz_trace: blanks at the edge of the window were lost from a member that is kept. */
static void member_that_is_kept_keeps_its_blanks(void **state)
{
	static const char text[] = "{\"distributedInfo\": { \"rank\" :  0 , \"x\": [ ] }, "
				   "\"traceEvents\": []}";
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = opened(text, sizeof(text) - 1, 0);

	(void)state;
	assert_slice(np_trace_info(trace)->distributed_info, "{ \"rank\" :  0 , \"x\": [ ] }");
	assert_same_for_all_blocks(text, sizeof(text) - 1);
}

static int read_with_faults(struct np_err *err)
{
	static const char text[] = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [{\"ts\": 1,"
				   " \"args\": {\"a\": \"\\n\"}}, {}], \"distributedInfo\": {}}";
	const struct np_trace_event *event = NULL;
	struct np_trace *trace = NULL;
	int rc = np_trace_open_bytes(text, sizeof(text) - 1, "test", 8, &trace, err);

	do {
		if (rc == NP_OK)
			rc = np_trace_next(trace, &event, err);
	} while (rc == NP_OK && event);
	np_trace_close(trace);
	return rc;
}

static void running_out_of_memory_is_an_ordinary_failure(void **state)
{
	(void)state;
	assert_survives_faults(read_with_faults);
}

/* Properties */

/* A random text, as JSON writes it. */
static void add_text(struct np_buf *buf, uint64_t *seed)
{
	static const char *const pieces[] = { "a",        "kernel",  "\\n",     "\\\"",
					      "\\\\",     "\\u0041", "\\u20ac", "\\ud83d\\ude00",
					      "\xc3\xa9", "/" };

	np_buf_add(buf, "\"");
	for (size_t n = np_random_below(seed, 8); n > 0; n--)
		np_buf_add(buf, pieces[np_random_below(seed, NP_COUNT(pieces))]);
	np_buf_add(buf, "\"");
}

static void add_blanks(struct np_buf *buf, uint64_t *seed)
{
	static const char *const blanks[] = { "", "", " ", "\n", "\r\n\t " };

	np_buf_add(buf, blanks[np_random_below(seed, NP_COUNT(blanks))]);
}

static void add_scalar(struct np_buf *buf, uint64_t *seed)
{
	static const char *const scalars[] = { "0", "-1", "12.5", "1e3", "true", "false", "null" };

	if (np_random_below(seed, 2))
		add_text(buf, seed);
	else
		np_buf_add(buf, scalars[np_random_below(seed, NP_COUNT(scalars))]);
}

/* A random value, at most `depth` levels deep. */
/* NOLINTNEXTLINE(misc-no-recursion): three levels */
static void add_value(struct np_buf *buf, uint64_t *seed, unsigned depth)
{
	bool object = np_random_below(seed, 2);

	add_blanks(buf, seed);
	if (depth == 0 || np_random_below(seed, 3) == 0) {
		add_scalar(buf, seed);
		add_blanks(buf, seed);
		return;
	}
	np_buf_add(buf, object ? "{" : "[");
	for (size_t i = 0, n = np_random_below(seed, 4); i < n; i++) {
		np_buf_add(buf, i ? "," : "");
		add_blanks(buf, seed);
		if (object)
			np_buf_printf(buf, "\"k%zu\" :", i);
		add_value(buf, seed, depth - 1);
	}
	add_blanks(buf, seed);
	np_buf_add(buf, object ? "}" : "]");
	add_blanks(buf, seed);
}

static void add_event(struct np_buf *buf, uint64_t *seed)
{
	const char *comma = "";

	np_buf_add(buf, "{");
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = { "name", "cat", "args", "other" };

		if (np_random_below(seed, 4) == 0)
			continue;
		np_buf_printf(buf, "%s\"%s\":", comma, names[i]);
		if (i < 2)
			add_text(buf, seed);
		else
			add_value(buf, seed, 3);
		comma = ", ";
	}
	np_buf_printf(buf, "%s\"ts\": %zu.%03zu}", comma, np_random_below(seed, 1000000),
		      np_random_below(seed, 1000));
}

static void assert_text_equal(struct np_slice slice, const struct np_json *node)
{
	const char *text = np_json_text(node);

	if (text)
		assert_slice(slice, text);
	else
		assert_null(slice.bytes);
}

/* The event says what jansson says. */
static void assert_event_equal(const struct np_trace_event *event, const struct np_json *node)
{
	const struct np_json *args = np_json_member(node, "args");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	double ts = 0;

	assert_text_equal(event->name, np_json_member(node, "name"));
	assert_text_equal(event->cat, np_json_member(node, "cat"));
	assert_true(np_json_real(np_json_member(node, "ts"), &ts));
	assert_near((double)event->ts_ns, ts * 1000, 0.01);
	while (np_json_type(args) == NP_JSON_OBJECT && np_json_next(args, &entry)) {
		struct np_trace_value value;

		assert_true(np_trace_arg(event, entry.key, &value));
		if (value.type == NP_TRACE_TEXT)
			assert_text_equal(value.text, entry.value);
		else
			assert_null(np_json_text(entry.value));
	}
}

static void events_are_those_that_jansson_sees(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
		NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
		NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
		struct np_err err = NP_ERR_INIT;

		(void)snprintf(np_fixture_doing, sizeof(np_fixture_doing), "trace %d", i);
		for (size_t j = 0, n = np_random_below(&seed, 4); j < n; j++) {
			np_buf_add(&text, j ? "," : "[");
			add_blanks(&text, &seed);
			add_event(&text, &seed);
		}
		np_buf_add(&text, text.length ? "]" : "[]");
		assert_ok(np_json_parse(text.text, text.length, "test", &doc, &err), err);
		trace = opened(text.text, text.length, np_random_below(&seed, 65));
		for (size_t j = 0; j < np_json_count(doc); j++)
			assert_event_equal(next(trace), np_json_item(doc, j));
		assert_end(trace);
		assert_false(np_trace_tally(trace)->truncated);
		assert_int_equal(np_trace_tally(trace)->bad, 0);
	}
	*np_fixture_doing = '\0';
}

/* Recorded profiles; the numbers are those of Python's json and decimal modules. */

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
		cmocka_unit_test(members_of_an_event_are_read),
		cmocka_unit_test(absent_members_are_unknown),
		cmocka_unit_test(times_are_exact),
		cmocka_unit_test(exponents_count_only_if_nothing_is_lost),
		cmocka_unit_test(what_is_no_time_makes_the_event_bad),
		cmocka_unit_test(members_of_the_wrong_type_make_the_event_bad),
		cmocka_unit_test(ids_are_numbers_in_quotes_or_not),
		cmocka_unit_test(names_for_ids_are_equal_when_their_texts_are),
		cmocka_unit_test(escapes_are_decoded),
		cmocka_unit_test(wrong_escapes_stay_and_half_pairs_are_replaced),
		cmocka_unit_test(nul_control_characters_and_invalid_utf8_are_data),
		cmocka_unit_test(names_of_members_may_be_escaped),
		cmocka_unit_test(first_of_equal_members_counts),
		cmocka_unit_test(object_around_the_events_is_opened),
		cmocka_unit_test(members_behind_the_events_are_known_in_the_end),
		cmocka_unit_test(members_kept_may_be_large_but_not_too_large),
		cmocka_unit_test(members_nobody_wants_may_have_any_size),
		cmocka_unit_test(blanks_may_be_many),
		cmocka_unit_test(comma_behind_the_last_event_is_accepted),
		cmocka_unit_test(elements_that_are_no_events_are_counted_and_skipped),
		with_fixture(compressed_trace_is_read),
		cmocka_unit_test(arguments_are_found_by_name),
		cmocka_unit_test(several_arguments_are_found_at_once),
		cmocka_unit_test(decoded_arguments_stay_until_the_next_event),
		cmocka_unit_test(arguments_are_numbers_in_quotes_or_not),
		cmocka_unit_test(what_is_no_number_leaves_the_answer_alone),
		cmocka_unit_test(args_that_are_no_object_have_no_members),
	};
	const struct CMUnitTest damaged[] = {
		with_fixture(file_without_content_is_not_found),
		cmocka_unit_test(what_is_no_trace_is_refused),
		cmocka_unit_test(damage_in_the_middle_is_told_by_its_place),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(levels_are_kept_apart),
		cmocka_unit_test(texts_have_a_limit),
		cmocka_unit_test(events_have_a_limit),
		cmocka_unit_test(array_without_end_is_accepted),
		cmocka_unit_test(file_may_be_cut_at_any_byte),
		with_fixture(any_damage_is_the_same_for_all_blocks),
		cmocka_unit_test(member_that_is_kept_keeps_its_blanks),
		cmocka_unit_test(running_out_of_memory_is_an_ordinary_failure),
	};
	const struct CMUnitTest properties[] = {
		with_fixture(events_are_those_that_jansson_sees),
	};
	const struct CMUnitTest recorded[] = {
		cmocka_unit_test(recorded_trace_gives_exact_sums),
		cmocka_unit_test(recorded_traces_have_all_their_events),
	};
	int failed = cmocka_run_group_tests_name("trace", tests, NULL, NULL);

	failed += cmocka_run_group_tests_name("trace: damaged input", damaged, NULL, NULL);
	failed += cmocka_run_group_tests_name("trace: properties", properties, NULL, NULL);
	return failed + cmocka_run_group_tests_name("trace: recorded", recorded, NULL, NULL);
}
