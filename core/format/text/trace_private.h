/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TRACE_PRIVATE_H
#define NP_TRACE_PRIVATE_H

/*
 * The parts of the trace reader: tokens of JSON (trace_json.c) and values
 * (trace_value.c). They work on bytes in a window and know nothing of files; trace.c
 * makes events of them, and gives them more when they run out.
 *
 * Zero bytes follow a window (NP_WINDOW_PAD) and no token begins with one, so
 * that only what stops at an unexpected byte has to ask whether it is the end.
 */
#include "npuprof/trace.h"

enum np_json_step {
	NP_STEP_DONE,
	NP_STEP_MORE,  /* the window ends too early */
	NP_STEP_WRONG, /* not JSON, or beyond a limit: see cursor */
};

struct np_cursor {
	const char *at;
	const char *end;
	const char *reason; /* why the step went wrong at `at` */
};

/* A value as it stands in the window; of a text what is between the quotes. */
struct np_token {
	enum np_trace_type type;
	bool escaped; /* there is a backslash in it */
	const char *begin;
	size_t length;
};

/* Where a walk over a value of any depth is; a walk can go on in another window. */
struct np_walk {
	uint64_t objects; /* a bit for each level: is it an object? */
	unsigned depth;
	enum {
		NP_WALK_VALUE,
		NP_WALK_ITEM_OR_END,
		NP_WALK_KEY,
		NP_WALK_KEY_OR_END,
		NP_WALK_AFTER,
		NP_WALK_OVER,
	} next;
	bool escaped;
};

#define NP_WALK_INIT ((struct np_walk){ .next = NP_WALK_VALUE })

/* The byte of the next token, or 0 at the end of the window. */
static inline char np_cursor_skip_blanks(struct np_cursor *cursor)
{
	/* Mostly there is none, or a single space behind a colon or comma. */
	if (*cursor->at == ' ')
		cursor->at++;
	while (*cursor->at == ' ' || *cursor->at == '\n' || *cursor->at == '\r' ||
	       *cursor->at == '\t')
		cursor->at++;
	return *cursor->at;
}

/* What stands at the cursor is not what may: is it wrong, or just not there yet? */
enum np_json_step np_cursor_stop(struct np_cursor *cursor, const char *reason);

/* The text whose opening quote should be at the cursor, and the colon behind it. */
enum np_json_step np_read_key(struct np_cursor *cursor, struct np_token *ret);

/* Any value. Unless it is done, the cursor is anywhere: begin again. */
enum np_json_step np_read_value(struct np_cursor *cursor, struct np_token *ret);

/* Go on over a value. When more is needed, everything before the cursor is done with. */
enum np_json_step np_walk_on(struct np_walk *walk, struct np_cursor *cursor);

/* Decode escapes; `to` may be `from`, the result is never longer. Returns its length. */
size_t np_decode_text(const char *from, size_t length, char *to);

/* Is the key, maybe written with escapes, this name? */
bool np_key_is(const struct np_token *key, const char *name);

#endif /* NP_TRACE_PRIVATE_H */
