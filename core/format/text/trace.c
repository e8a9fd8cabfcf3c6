/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a trace: the members of an event, and the places that the reader is at between them. */
#include "npuprof/trace.h"

#include "trace_private.h"

#include "npuprof/buf.h"
#include "npuprof/hash.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* --- events ---------------------------------------------------------------------------------- */

/*
 * Members of an event, before anyone knows what they are good for: taken apart
 * only once the event is complete.
 */
enum member {
	MEMBER_PH,
	MEMBER_BP,
	MEMBER_NAME,
	MEMBER_CAT,
	MEMBER_TS,
	MEMBER_DUR,
	MEMBER_PID,
	MEMBER_TID,
	MEMBER_ID,
	MEMBER_ARGS,
	MEMBER_COUNT,
};

/* The longest name there is, and with every character escaped. */
#define NAME_MAX_LENGTH  4
#define NAME_MAX_ESCAPED (NAME_MAX_LENGTH * 6)

/* Up to four characters as a number that a switch can use. */
#define NAME2(a, b)       ((uint32_t)(a) << 8 | (uint32_t)(b))
#define NAME3(a, b, c)    (NAME2(a, b) << 8 | (uint32_t)(c))
#define NAME4(a, b, c, d) (NAME3(a, b, c) << 8 | (uint32_t)(d))

/* Four bytes are there, even if the name is shorter. */
static uint32_t pack_name(const char *text, size_t length)
{
	const unsigned char *byte = (const unsigned char *)text;
	uint32_t packed = NAME4(byte[0], byte[1], byte[2], byte[3]);

	return length > 0 ? packed >> (NAME_MAX_LENGTH - length) * 8 : 0;
}

/* The name of a member, or 0 if it is too long for one we need. */
static uint32_t name_of(const struct np_token *key)
{
	char decoded[NAME_MAX_ESCAPED] = "";
	const char *text = key->begin;
	size_t length = key->length;

	if (key->escaped && length <= sizeof(decoded)) {
		length = np_decode_text(text, length, decoded);
		text = decoded;
	}
	return length <= NAME_MAX_LENGTH ? pack_name(text, length) : 0;
}

/* Which member of an event is this? MEMBER_COUNT: one we do not need. */
static enum member member_of(const struct np_token *key)
{
	switch (name_of(key)) {
	case NAME2('p', 'h'):
		return MEMBER_PH;
	case NAME2('b', 'p'):
		return MEMBER_BP;
	case NAME2('t', 's'):
		return MEMBER_TS;
	case NAME2('i', 'd'):
		return MEMBER_ID;
	case NAME3('c', 'a', 't'):
		return MEMBER_CAT;
	case NAME3('d', 'u', 'r'):
		return MEMBER_DUR;
	case NAME3('p', 'i', 'd'):
		return MEMBER_PID;
	case NAME3('t', 'i', 'd'):
		return MEMBER_TID;
	case NAME4('n', 'a', 'm', 'e'):
		return MEMBER_NAME;
	case NAME4('a', 'r', 'g', 's'):
		return MEMBER_ARGS;
	default:
		return MEMBER_COUNT;
	}
}

static enum np_json_step read_member(struct np_cursor *cursor, struct np_token member[MEMBER_COUNT])
{
	struct np_token key;
	struct np_token value;
	enum member which;
	enum np_json_step step;

	step = np_read_key(cursor, &key);
	if (step != NP_STEP_DONE)
		return step;
	step = np_read_value(cursor, &value);
	if (step != NP_STEP_DONE)
		return step;
	which = member_of(&key);
	if (which < MEMBER_COUNT && member[which].type == NP_TRACE_NONE)
		member[which] = value;
	return NP_STEP_DONE;
}

static enum np_json_step read_event(struct np_cursor *cursor, struct np_token member[MEMBER_COUNT])
{
	enum np_json_step step;
	char byte;

	for (int i = 0; i < MEMBER_COUNT; i++)
		member[i].type = NP_TRACE_NONE;
	cursor->at++;
	if (np_cursor_skip_blanks(cursor) == '}') {
		cursor->at++;
		return NP_STEP_DONE;
	}
	for (;;) {
		step = read_member(cursor, member);
		if (step != NP_STEP_DONE)
			return step;
		byte = np_cursor_skip_blanks(cursor);
		if (byte != ',' && byte != '}')
			return np_cursor_stop(cursor, "expected a comma or the end of the event");
		cursor->at++;
		if (byte == '}')
			return NP_STEP_DONE;
	}
}

static bool is_absent(const struct np_token *token)
{
	return token->type == NP_TRACE_NONE || token->type == NP_TRACE_NULL;
}

/* The characters of a text; of anything else nothing, and the event is bad. */
static struct np_slice text_of(const struct np_token *token, bool *bad)
{
	if (token->type == NP_TRACE_TEXT)
		return (struct np_slice){ token->begin, token->length };
	*bad |= !is_absent(token);
	return (struct np_slice){ NULL, 0 };
}

/* The one character of a text. */
static char letter_of(const struct np_token *token, bool *bad)
{
	struct np_slice text = text_of(token, bad);

	if (text.bytes && text.length == 1)
		return *text.bytes;
	*bad |= text.bytes != NULL;
	return '\0';
}

static np_ns time_of(const struct np_token *token, bool *bad)
{
	struct np_trace_value value = { token->type, { token->begin, token->length } };
	np_ns time = NP_UNKNOWN;

	if (!is_absent(token))
		*bad |= !np_trace_value_us(&value, &time);
	return time;
}

/* A whole number up to 2^64 - 1; false for anything else. */
static bool parse_id(struct np_slice text, int64_t *ret)
{
	bool negative = text.length > 0 && *text.bytes == '-';
	uint64_t number = 0;

	for (size_t i = negative; i < text.length; i++) {
		uint64_t digit = (unsigned char)text.bytes[i] - (uint64_t)'0';

		if (digit > 9 || __builtin_mul_overflow(number, (uint64_t)10, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return false;
	}
	if (text.length == negative || (negative && number > INT64_MAX))
		return false;
	*ret = (int64_t)(negative ? -number : number);
	return true;
}

/* Ids that are names are few and short. */
static int64_t hash(struct np_slice text)
{
	return (int64_t)np_hash(NP_HASH_START, text.bytes, text.length);
}

static struct np_trace_id id_of(const struct np_token *token, bool *bad)
{
	struct np_trace_id id = { .value = NP_UNKNOWN };

	if (token->type != NP_TRACE_TEXT && token->type != NP_TRACE_NUMBER) {
		*bad |= !is_absent(token);
		return id;
	}
	id.text = (struct np_slice){ token->begin, token->length };
	id.number = parse_id(id.text, &id.value);
	if (!id.number)
		id.value = hash(id.text);
	return id;
}

/* A value as it is written, a text with its quotes: nobody shall take "{" for an object. */
static struct np_slice json_of(const struct np_token *token)
{
	if (token->type == NP_TRACE_NONE)
		return (struct np_slice){ NULL, 0 };
	if (token->type == NP_TRACE_TEXT)
		return (struct np_slice){ token->begin - 1, token->length + 2 };
	return (struct np_slice){ token->begin, token->length };
}

static void decode(struct np_token *token, const struct np_window *window)
{
	if (token->type == NP_TRACE_TEXT && token->escaped)
		token->length = np_decode_text(token->begin, token->length,
					       window->bytes + (token->begin - window->bytes));
}

static void make_event(struct np_token member[MEMBER_COUNT], const struct np_window *window,
		       struct np_trace_event *ret)
{
	bool bad = false;

	for (int i = 0; i < MEMBER_ARGS; i++)
		decode(&member[i], window);
	ret->phase = letter_of(&member[MEMBER_PH], &bad);
	ret->bind_point = letter_of(&member[MEMBER_BP], &bad);
	ret->name = text_of(&member[MEMBER_NAME], &bad);
	ret->cat = text_of(&member[MEMBER_CAT], &bad);
	ret->ts_ns = time_of(&member[MEMBER_TS], &bad);
	ret->dur_ns = time_of(&member[MEMBER_DUR], &bad);
	ret->pid = id_of(&member[MEMBER_PID], &bad);
	ret->tid = id_of(&member[MEMBER_TID], &bad);
	ret->id = id_of(&member[MEMBER_ID], &bad);
	ret->args = json_of(&member[MEMBER_ARGS]);
	ret->bad = bad;
}

/* --- the reader ------------------------------------------------------------------------------ */

/*
 * The reader is always at one of a few places and takes one step at a time. A
 * step that needs more bytes than the window has is taken again from its
 * beginning with a larger window; only walks over values nobody wants go on
 * where they were, because those may be of any size.
 */
enum trace_place {
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
	enum trace_place place;
	bool wrapped; /* the events are in an object */
	bool entered; /* there was an array of events */
	bool ready;   /* an event has been read */
	/* The file is damaged here, and remains so however often one asks; NULL: it is not. */
	const char *wrong;
	uint64_t wrong_offset;
	struct np_walk walk;
	np_ns base; /* that times count from; NP_UNKNOWN: none is known */

	enum kept keeping; /* the member being read, or KEPT_COUNT */
	struct np_buf kept[KEPT_COUNT];
	bool known[KEPT_COUNT];

	char *scratch; /* where texts in args are decoded, as large as the largest args */
	size_t scratch_size;
	struct np_token member[MEMBER_COUNT];
	struct np_trace_event event;
	struct np_trace_tally tally;
	struct np_trace_info info;
};

/* The array around the events has ended. */
static void leave_array(struct np_trace *trace)
{
	trace->place = trace->wrapped ? AT_AFTER_MEMBER : AT_END;
}

static enum np_json_step step_begin(struct np_trace *trace, struct np_cursor *cursor)
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

/* Members whose name alone says who wrote the file. */
static void see_writer(struct np_trace *trace, const struct np_token *key)
{
	static const char *const kineto[] = { "schemaVersion", "deviceProperties" };
	static const char *const cuda[] = { "cupti_version", "cuda_runtime_version",
					    "cuda_driver_version", "hip_runtime_version",
					    "hip_driver_version" };

	for (size_t i = 0; i < NP_COUNT(kineto); i++)
		trace->info.kineto |= np_key_is(key, kineto[i]);
	for (size_t i = 0; i < NP_COUNT(cuda); i++)
		trace->info.cuda |= np_key_is(key, cuda[i]);
}

/* Behind the name of a member other than the events: keep its value or walk over it. */
static void begin_member(struct np_trace *trace, const struct np_token *key)
{
	see_writer(trace, key);
	trace->walk = NP_WALK_INIT;
	trace->place = AT_MEMBER;
	for (trace->keeping = 0; trace->keeping < KEPT_COUNT; trace->keeping++) {
		if (!trace->known[trace->keeping] && np_key_is(key, kept_names[trace->keeping]))
			return;
	}
}

static enum np_json_step enter_array(struct np_trace *trace, struct np_cursor *cursor)
{
	if (np_cursor_skip_blanks(cursor) != '[')
		return np_cursor_stop(cursor, "traceEvents is not an array");
	cursor->at++;
	trace->entered = true;
	trace->place = AT_EVENT_OR_END;
	return NP_STEP_DONE;
}

static enum np_json_step end_object(struct np_trace *trace, struct np_cursor *cursor)
{
	if (!trace->entered)
		return np_cursor_stop(cursor, "the object has no traceEvents");
	cursor->at++;
	trace->place = AT_END;
	return NP_STEP_DONE;
}

static enum np_json_step step_key(struct np_trace *trace, struct np_cursor *cursor)
{
	struct np_token key;
	enum np_json_step step;

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

static enum np_json_step step_after_member(struct np_trace *trace, struct np_cursor *cursor)
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

static enum np_json_step step_member(struct np_trace *trace, struct np_cursor *cursor)
{
	const char *begin = cursor->at;
	enum np_json_step step = np_walk_on(&trace->walk, cursor);

	keep_piece(trace, begin, (size_t)(cursor->at - begin));
	if (step == NP_STEP_DONE) {
		if (trace->keeping < KEPT_COUNT)
			understand(trace, trace->keeping);
		trace->place = AT_AFTER_MEMBER;
	}
	return step;
}

static enum np_json_step take_event(struct np_trace *trace, struct np_cursor *cursor)
{
	const char *begin = cursor->at;
	enum np_json_step step = read_event(cursor, trace->member);

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

static enum np_json_step step_event(struct np_trace *trace, struct np_cursor *cursor)
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

static enum np_json_step step_other(struct np_trace *trace, struct np_cursor *cursor)
{
	enum np_json_step step = np_walk_on(&trace->walk, cursor);

	if (step == NP_STEP_DONE) {
		trace->tally.bad++;
		trace->place = AT_AFTER_EVENT;
	}
	return step;
}

static enum np_json_step step_after_event(struct np_trace *trace, struct np_cursor *cursor)
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

static enum np_json_step step_end(struct np_cursor *cursor)
{
	(void)np_cursor_skip_blanks(cursor);
	return np_cursor_stop(cursor, "expected nothing more");
}

static enum np_json_step take_step(struct np_trace *trace, struct np_cursor *cursor)
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
	enum np_json_step step;

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

/* Times that are not less than the base are none that count from it: older files have such. */
static void count_from_base(struct np_trace *trace)
{
	np_ns *at = &trace->event.ts_ns;

	if (trace->base == NP_UNKNOWN || *at == NP_UNKNOWN || *at >= trace->base)
		return;
	if (__builtin_add_overflow(*at, trace->base, at)) {
		*at = NP_UNKNOWN;
		trace->event.bad = true;
	}
}

int np_trace_next(struct np_trace *trace, const struct np_trace_event **ret, struct np_err *err)
{
	int rc = trace->wrong ? fail(trace, err) : NP_OK;

	trace->ready = false;
	while (rc == NP_OK && !trace->ready && trace->place != AT_DONE)
		rc = go_on(trace, err);
	if (rc == NP_OK && trace->ready)
		rc = reserve_scratch(trace, &trace->member[MEMBER_ARGS], err);
	if (rc < 0)
		return rc;
	*ret = NULL;
	if (trace->ready) {
		make_event(trace->member, &trace->window, &trace->event);
		count_from_base(trace);
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
	trace->base = trace->info.base_time_ns > 0 ? trace->info.base_time_ns : NP_UNKNOWN;
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
