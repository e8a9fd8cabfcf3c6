/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/trace.h"

#include "trace_private.h"

#include "npuprof/buf.h"
#include "npuprof/text.h"

#include <inttypes.h>

/*
 * The reader is always at one of a few places and takes one step at a time. A
 * step that needs more bytes than the window has is taken again from its
 * beginning with a larger window; only walks over values nobody wants go on
 * where they were, because those may be of any size.
 */
enum place {
	AT_BEGIN,
	AT_KEY_OR_END, /* in the object around the events */
	AT_KEY,
	AT_MEMBER,
	AT_AFTER_MEMBER,
	AT_EVENT_OR_END, /* in the array */
	AT_OTHER,        /* at an element that is no event */
	AT_AFTER_EVENT,
	AT_END,  /* behind everything */
	AT_DONE, /* and there is nothing more */
};

/* Members beside the events that are kept. */
enum kept {
	KEPT_UNIT,
	KEPT_BASE,
	KEPT_DISTRIBUTED,
	KEPT_COUNT,
};

static const char *const kept_names[KEPT_COUNT] = {
	[KEPT_UNIT] = "displayTimeUnit",
	[KEPT_BASE] = "baseTimeNanoseconds",
	[KEPT_DISTRIBUTED] = "distributedInfo",
};

#define TOO_LARGE "an event of more than 64 MiB"

struct np_trace {
	struct np_gz *gz;
	struct np_window window;
	size_t at; /* in the window */
	enum place place;
	bool wrapped; /* the events are in an object */
	bool entered; /* there was an array of events */
	bool ready;   /* an event has been read */
	/* The file is damaged here, and remains so however often one asks; NULL: it is not. */
	const char *wrong;
	uint64_t wrong_offset;
	struct np_walk walk;

	enum kept keeping; /* the member being read, or KEPT_COUNT */
	struct np_buf kept[KEPT_COUNT];
	bool known[KEPT_COUNT];

	char *scratch; /* where texts in args are decoded, as large as the largest args */
	size_t scratch_size;
	struct np_token member[NP_MEMBER_COUNT];
	struct np_trace_event event;
	struct np_trace_tally tally;
	struct np_trace_info info;
};

/* The array around the events has ended. */
static void leave_array(struct np_trace *trace)
{
	trace->place = trace->wrapped ? AT_AFTER_MEMBER : AT_END;
}

static enum np_step step_begin(struct np_trace *trace, struct np_cursor *cursor)
{
	char byte = np_cursor_skip_blanks(cursor);

	if (byte != '[' && byte != '{')
		return np_cursor_stop(cursor, "expected an array of events or an object");
	trace->wrapped = byte == '{';
	trace->entered = byte == '[';
	trace->place = trace->wrapped ? AT_KEY_OR_END : AT_EVENT_OR_END;
	cursor->at++;
	return NP_STEP_DONE;
}

/* Behind the name of a member other than the events: keep its value or walk over it. */
static void begin_member(struct np_trace *trace, const struct np_token *key)
{
	trace->walk = NP_WALK_INIT;
	trace->place = AT_MEMBER;
	for (trace->keeping = 0; trace->keeping < KEPT_COUNT; trace->keeping++) {
		if (!trace->known[trace->keeping] && np_key_is(key, kept_names[trace->keeping]))
			return;
	}
}

static enum np_step enter_array(struct np_trace *trace, struct np_cursor *cursor)
{
	if (np_cursor_skip_blanks(cursor) != '[')
		return np_cursor_stop(cursor, "traceEvents is not an array");
	cursor->at++;
	trace->entered = true;
	trace->place = AT_EVENT_OR_END;
	return NP_STEP_DONE;
}

static enum np_step end_object(struct np_trace *trace, struct np_cursor *cursor)
{
	if (!trace->entered)
		return np_cursor_stop(cursor, "the object has no traceEvents");
	cursor->at++;
	trace->place = AT_END;
	return NP_STEP_DONE;
}

static enum np_step step_key(struct np_trace *trace, struct np_cursor *cursor)
{
	struct np_token key;
	enum np_step step;

	if (np_cursor_skip_blanks(cursor) == '}' && trace->place == AT_KEY_OR_END)
		return end_object(trace, cursor);
	step = np_read_key(cursor, &key);
	if (step != NP_STEP_DONE)
		return step;
	if (np_key_is(&key, "traceEvents"))
		return enter_array(trace, cursor);
	begin_member(trace, &key);
	return NP_STEP_DONE;
}

static enum np_step step_after_member(struct np_trace *trace, struct np_cursor *cursor)
{
	char byte = np_cursor_skip_blanks(cursor);

	if (byte == '}')
		return end_object(trace, cursor);
	if (byte != ',')
		return np_cursor_stop(cursor, "expected a comma or the end of the object");
	cursor->at++;
	trace->place = AT_KEY;
	return NP_STEP_DONE;
}

/* What a kept member says, now that all of it is there. */
static void understand(struct np_trace *trace, enum kept which)
{
	struct np_buf *buf = &trace->kept[which];
	struct np_cursor cursor = { .at = NULL };
	struct np_trace_value value;
	struct np_token token;

	np_buf_add_repeated(buf, '\0', NP_WINDOW_PAD);
	cursor.at = buf->text;
	cursor.end = buf->text + buf->length;
	/* The walk has checked the value, so only memory can be missing. */
	if (buf->failed || np_read_value(&cursor, &token) != NP_STEP_DONE)
		return;
	if (token.type == NP_TRACE_TEXT)
		token.length = np_decode_text(token.begin, token.length,
					      buf->text + (token.begin - buf->text));
	value = (struct np_trace_value){ token.type, { token.begin, token.length } };
	trace->known[which] = true;
	if (which == KEPT_BASE)
		(void)np_trace_value_integer(&value, &trace->info.base_time_ns);
	else if (which == KEPT_DISTRIBUTED)
		trace->info.distributed_info = value.text;
	else if (value.type == NP_TRACE_TEXT)
		trace->info.display_time_unit = value.text;
}

/* Keep a piece of the member being read, unless it gets too large. */
static void keep_piece(struct np_trace *trace, const char *begin, size_t length)
{
	struct np_buf *buf;

	if (trace->keeping == KEPT_COUNT)
		return;
	buf = &trace->kept[trace->keeping];
	if (buf->length + length > NP_TRACE_MEMBER_BYTES_MAX) {
		np_buf_release(buf);
		trace->keeping = KEPT_COUNT;
		return;
	}
	np_buf_add_bytes(buf, begin, length);
}

static enum np_step step_member(struct np_trace *trace, struct np_cursor *cursor)
{
	const char *begin = cursor->at;
	enum np_step step = np_walk_on(&trace->walk, cursor);

	keep_piece(trace, begin, (size_t)(cursor->at - begin));
	if (step == NP_STEP_DONE) {
		if (trace->keeping < KEPT_COUNT)
			understand(trace, trace->keeping);
		trace->place = AT_AFTER_MEMBER;
	}
	return step;
}

static enum np_step take_event(struct np_trace *trace, struct np_cursor *cursor)
{
	const char *begin = cursor->at;
	enum np_step step = np_read_event(cursor, trace->member);

	if (step != NP_STEP_DONE)
		return step;
	if (cursor->at - begin > (ptrdiff_t)NP_TRACE_EVENT_BYTES_MAX) {
		cursor->at = begin;
		return np_cursor_stop(cursor, TOO_LARGE);
	}
	trace->event.offset = trace->window.offset + (uint64_t)(begin - trace->window.bytes);
	trace->ready = true;
	trace->place = AT_AFTER_EVENT;
	return NP_STEP_DONE;
}

static enum np_step step_event(struct np_trace *trace, struct np_cursor *cursor)
{
	char byte = np_cursor_skip_blanks(cursor);

	if (byte == '{')
		return take_event(trace, cursor);
	if (byte == ']') {
		/* Also behind a comma: some writers end every event with one. */
		cursor->at++;
		leave_array(trace);
		return NP_STEP_DONE;
	}
	if (cursor->at >= cursor->end)
		return NP_STEP_MORE;
	trace->walk = NP_WALK_INIT;
	trace->place = AT_OTHER;
	return NP_STEP_DONE;
}

static enum np_step step_other(struct np_trace *trace, struct np_cursor *cursor)
{
	enum np_step step = np_walk_on(&trace->walk, cursor);

	if (step == NP_STEP_DONE) {
		trace->tally.bad++;
		trace->place = AT_AFTER_EVENT;
	}
	return step;
}

static enum np_step step_after_event(struct np_trace *trace, struct np_cursor *cursor)
{
	char byte = np_cursor_skip_blanks(cursor);

	if (byte != ',' && byte != ']')
		return np_cursor_stop(cursor, "expected a comma or the end of the events");
	cursor->at++;
	if (byte == ',')
		trace->place = AT_EVENT_OR_END;
	else
		leave_array(trace);
	return NP_STEP_DONE;
}

static enum np_step step_end(struct np_cursor *cursor)
{
	(void)np_cursor_skip_blanks(cursor);
	return np_cursor_stop(cursor, "expected nothing more");
}

static enum np_step take_step(struct np_trace *trace, struct np_cursor *cursor)
{
	switch (trace->place) {
	case AT_BEGIN:
		return step_begin(trace, cursor);
	case AT_KEY_OR_END:
	case AT_KEY:
		return step_key(trace, cursor);
	case AT_MEMBER:
		return step_member(trace, cursor);
	case AT_AFTER_MEMBER:
		return step_after_member(trace, cursor);
	case AT_EVENT_OR_END:
		return step_event(trace, cursor);
	case AT_OTHER:
		return step_other(trace, cursor);
	case AT_AFTER_EVENT:
		return step_after_event(trace, cursor);
	case AT_END:
		return step_end(cursor);
	case AT_DONE:
		break;
	}
	return NP_STEP_DONE;
}

static int fail(const struct np_trace *trace, struct np_err *err)
{
	return np_fail(err, NP_E_FORMAT, "%s: byte %" PRIu64 ": %s", np_gz_path(trace->gz),
		       trace->wrong_offset, trace->wrong);
}

static int fail_at(struct np_trace *trace, size_t at, const char *reason, struct np_err *err)
{
	trace->wrong = reason;
	trace->wrong_offset = trace->window.offset + at;
	return fail(trace, err);
}

/* The file ends where a step would need more. */
static int end_file(struct np_trace *trace, struct np_err *err)
{
	bool in_event = trace->place == AT_EVENT_OR_END && trace->at < trace->window.length;

	if (!trace->entered)
		return fail_at(trace, trace->window.length, "the file ends before its events", err);
	if (trace->place != AT_END)
		trace->tally.truncated = true;
	if (in_event || trace->place == AT_OTHER)
		trace->tally.dropped++;
	trace->place = AT_DONE;
	return NP_OK;
}

static int more(struct np_trace *trace, struct np_err *err)
{
	int rc;

	if (trace->window.length - trace->at > NP_TRACE_EVENT_BYTES_MAX)
		return fail_at(trace, trace->at, TOO_LARGE, err);
	if (trace->window.ended)
		return end_file(trace, err);
	rc = np_gz_more(trace->gz, trace->at, &trace->window, err);
	trace->at = 0;
	return rc;
}

/* Take one step, or make it possible. */
static int go_on(struct np_trace *trace, struct np_err *err)
{
	const char *bytes = trace->window.bytes;
	struct np_cursor cursor = { .at = bytes + trace->at, .end = bytes + trace->window.length };
	enum np_step step;

	/* Blanks before a step do not belong to it, however many there are; inside a member they
	 * do. */
	if (trace->place != AT_MEMBER)
		(void)np_cursor_skip_blanks(&cursor);
	trace->at = (size_t)(cursor.at - bytes);
	step = take_step(trace, &cursor);
	if (step == NP_STEP_WRONG)
		return fail_at(trace, (size_t)(cursor.at - bytes), cursor.reason, err);
	if (step == NP_STEP_DONE || trace->place == AT_MEMBER || trace->place == AT_OTHER)
		trace->at = (size_t)(cursor.at - bytes);
	if (step == NP_STEP_MORE)
		return more(trace, err);
	return trace->keeping < KEPT_COUNT ? np_buf_check(&trace->kept[trace->keeping], err)
					   : NP_OK;
}

/* Room for what texts in the args decode to. */
static int reserve_scratch(struct np_trace *trace, const struct np_token *args, struct np_err *err)
{
	trace->event.scratch = NULL;
	if (!args->escaped || args->type == NP_TRACE_NONE)
		return NP_OK;
	if (args->length > trace->scratch_size) {
		char *scratch = realloc(trace->scratch, args->length);

		if (!scratch)
			return np_fail_nomem(err, np_gz_path(trace->gz));
		trace->scratch = scratch;
		trace->scratch_size = args->length;
	}
	trace->event.scratch = trace->scratch;
	return NP_OK;
}

int np_trace_next(struct np_trace *trace, const struct np_trace_event **ret, struct np_err *err)
{
	int rc = trace->wrong ? fail(trace, err) : NP_OK;

	trace->ready = false;
	while (rc == NP_OK && !trace->ready && trace->place != AT_DONE)
		rc = go_on(trace, err);
	if (rc == NP_OK && trace->ready)
		rc = reserve_scratch(trace, &trace->member[NP_MEMBER_ARGS], err);
	if (rc < 0)
		return rc;
	*ret = NULL;
	if (trace->ready) {
		np_make_event(trace->member, &trace->window, &trace->event);
		trace->tally.events++;
		trace->tally.bad += trace->event.bad;
		*ret = &trace->event;
	}
	return NP_OK;
}

/* Get to the events. */
static int begin(struct np_trace *trace, struct np_err *err)
{
	int rc = NP_OK;

	while (rc == NP_OK && !trace->entered)
		rc = go_on(trace, err);
	return rc;
}

static struct np_trace *trace_new(const char *what, struct np_err *err)
{
	struct np_trace *trace = calloc(1, sizeof(*trace));

	if (!trace) {
		(void)np_fail_nomem(err, what);
		return NULL;
	}
	for (int i = 0; i < KEPT_COUNT; i++)
		trace->kept[i] = NP_BUF_INIT;
	trace->info.base_time_ns = NP_UNKNOWN;
	return trace;
}

int np_trace_open(const char *path, struct np_trace **ret, struct np_err *err)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = trace_new(path, err);
	int rc;

	if (!trace)
		return NP_E_NOMEM;
	rc = np_gz_open(path, &trace->gz, &trace->window, err);
	if (rc == NP_OK)
		rc = begin(trace, err);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(trace);
	return NP_OK;
}

int np_trace_open_bytes(const void *bytes, size_t length, const char *what, size_t block,
			struct np_trace **ret, struct np_err *err)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = trace_new(what, err);
	int rc;

	if (!trace)
		return NP_E_NOMEM;
	rc = np_gz_open_bytes(bytes, length, what, block, &trace->gz, &trace->window, err);
	if (rc == NP_OK)
		rc = begin(trace, err);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(trace);
	return NP_OK;
}

void np_trace_close(struct np_trace *trace)
{
	if (!trace)
		return;
	np_gz_close(trace->gz);
	for (int i = 0; i < KEPT_COUNT; i++)
		np_buf_release(&trace->kept[i]);
	free(trace->scratch);
	free(trace);
}

void np_trace_closep(struct np_trace **trace)
{
	np_trace_close(*trace);
	*trace = NULL;
}

const struct np_trace_tally *np_trace_tally(const struct np_trace *trace)
{
	return &trace->tally;
}

const struct np_trace_info *np_trace_info(const struct np_trace *trace)
{
	return &trace->info;
}
