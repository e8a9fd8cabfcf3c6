/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TRACE_FIXTURE_H
#define NP_TRACE_FIXTURE_H

/* What the tests of reading traces share: events of texts, and all that there is to say of them. */

#include "npuprof/trace.h"

#include "np_fixture.h"

static inline struct np_trace *opened(const char *text, size_t length, size_t block)
{
	struct np_err err = NP_ERR_INIT;
	struct np_trace *trace = NULL;

	assert_ok(np_trace_open_bytes(text, length, "test", block, &trace, &err), err);
	return trace;
}

/* The next event, which there must be. */
static inline const struct np_trace_event *next(struct np_trace *trace)
{
	const struct np_trace_event *event = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_trace_next(trace, &event, &err), err);
	assert_non_null(event);
	return event;
}

static inline void assert_end(struct np_trace *trace)
{
	const struct np_trace_event *event = NULL;
	struct np_err err = NP_ERR_INIT;

	for (int i = 0; i < 2; i++) {
		assert_ok(np_trace_next(trace, &event, &err), err);
		assert_null(event);
	}
}

static inline void assert_slice(struct np_slice slice, const char *expected)
{
	assert_non_null(slice.bytes);
	assert_int_equal(slice.length, strlen(expected));
	assert_memory_equal(slice.bytes, expected, slice.length);
}

static inline void put_slice(struct np_buf *buf, const char *name, struct np_slice slice)
{
	if (!slice.bytes)
		return;
	np_buf_printf(buf, " %s=", name);
	np_buf_add_bytes(buf, slice.bytes, slice.length);
}

static inline void put_id(struct np_buf *buf, const char *name, const struct np_trace_id *id)
{
	put_slice(buf, name, id->text);
	if (id->text.bytes)
		np_buf_printf(buf, "%s%lld", id->number ? "#" : "?", (long long)id->value);
}

/* All there is to say about an event, for comparing. */
static inline void describe_event(struct np_buf *buf, const struct np_trace_event *event)
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
static inline void describe(const char *text, size_t length, size_t block, struct np_buf *buf)
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
static inline void assert_same_for_all_blocks(const char *text, size_t length)
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

#endif /* NP_TRACE_FIXTURE_H */
