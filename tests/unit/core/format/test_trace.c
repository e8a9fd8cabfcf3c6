/* SPDX-License-Identifier: Apache-2.0 */
#include "np_trace_fixture.h"

#include <zlib.h>

/* The one event of a trace is between brackets; the test closes what ONLY() opens. */
#define ONLY(text) opened("[" text "]", sizeof("[" text "]") - 1, 0)

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

/* --- Around the events ---------------------------------------------------------------------- */

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
	assert_true(info->kineto);
	assert_false(info->cuda);
	/* Times count from the base. */
	assert_int_equal(next(trace)->ts_ns, INT64_C(1725000000000001000));
	assert_int_equal(next(trace)->ts_ns, INT64_C(1725000000000002000));
	assert_end(trace);
	assert_false(np_trace_tally(trace)->truncated);
	assert_same_for_all_blocks(text, sizeof(text) - 1);
}

static void times_beyond_the_base_do_not_count_from_it(void **state)
{
	static const char text[] =
		"{\"baseTimeNanoseconds\": 1725000000000000000, \"cuda_runtime_version\": 12080,"
		" \"traceEvents\": [{\"ts\": 1725000000000000.001},"
		" {\"ts\": 7784641055223.123}, {\"ts\": -1.5}]}";
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = opened(text, sizeof(text) - 1, 0);

	(void)state;
	assert_true(np_trace_info(trace)->cuda);
	assert_int_equal(next(trace)->ts_ns, INT64_C(1725000000000000001));
	/* To the digit: a double would give …000 or …128. */
	assert_int_equal(next(trace)->ts_ns, INT64_C(1732784641055223123));
	assert_int_equal(next(trace)->ts_ns, INT64_C(1724999999999998500));
	assert_end(trace);
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

/* --- Arguments ------------------------------------------------------------------------------ */

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
	struct np_trace_value value;
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
	assert_true(np_trace_arg(event, "size", &value));
	assert_true(np_trace_value_us(&value, &time));
	assert_int_equal(time, 1500);
	assert_true(np_trace_value_real(&value, &real));
	assert_near(real, 1.5, 0);
	assert_true(np_trace_arg(event, "text", &value));
	assert_true(np_trace_value_real(&value, &real));
	assert_near(real, 17, 0);
}

static void what_is_no_number_leaves_the_answer_alone(void **state)
{
	static const char *const keys[] = {
		"Task Type", "nested", "list", "yes", "none", "missing"
	};
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = ONLY(ARGS);
	const struct np_trace_event *event = next(trace);
	struct np_trace_value value;
	int64_t integer = 7;
	double real = 7;
	np_ns time = 7;
	struct np_slice text = { "seven", 5 };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(keys); i++) {
		assert_false(np_trace_arg_integer(event, keys[i], &integer));
		if (!np_trace_arg(event, keys[i], &value))
			continue;
		assert_false(np_trace_value_real(&value, &real));
		assert_false(np_trace_value_us(&value, &time));
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
		cmocka_unit_test(times_beyond_the_base_do_not_count_from_it),
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

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
