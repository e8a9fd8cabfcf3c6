/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of JSON in a window, and walks over values that nobody wants. */
#include "trace_private.h"

#include "byte_mask.h"

enum np_json_step np_cursor_stop(struct np_cursor *cursor, const char *reason)
{
	if (cursor->at >= cursor->end)
		return NP_STEP_MORE;
	cursor->reason = reason;
	return NP_STEP_WRONG;
}

/* Texts */

static enum np_json_step check_text(struct np_cursor *cursor, const char *end,
				    enum np_json_step step)
{
	if (end - cursor->at <= (ptrdiff_t)NP_TRACE_TEXT_BYTES_MAX)
		return step;
	cursor->reason = "a text of more than 16 MiB";
	return NP_STEP_WRONG;
}

/* The text whose opening quote is at the cursor. */
static enum np_json_step read_text(struct np_cursor *cursor, struct np_token *ret)
{
	const char *at = cursor->at + 1;
	bool escaped = false;

	for (;;) {
		uint64_t mask = np_byte_mask16(at, '"', '\\', '"');

		if (mask) {
			at += np_byte_first(mask);
			if (*at == '"')
				break;
			escaped = true;
			at += 2; /* whatever it is, it does not end the text */
		} else {
			at += 16;
		}
		if (at >= cursor->end)
			return check_text(cursor, cursor->end, NP_STEP_MORE);
	}
	*ret = (struct np_token){ .type = NP_TRACE_TEXT,
				  .escaped = escaped,
				  .begin = cursor->at + 1,
				  .length = (size_t)(at - cursor->at) - 1 };
	if (check_text(cursor, at, NP_STEP_DONE) != NP_STEP_DONE)
		return NP_STEP_WRONG;
	cursor->at = at + 1;
	return NP_STEP_DONE;
}

enum np_json_step np_read_key(struct np_cursor *cursor, struct np_token *ret)
{
	enum np_json_step step;

	if (np_cursor_skip_blanks(cursor) != '"')
		return np_cursor_stop(cursor, "expected the name of a member");
	step = read_text(cursor, ret);
	if (step != NP_STEP_DONE)
		return step;
	if (np_cursor_skip_blanks(cursor) != ':')
		return np_cursor_stop(cursor, "expected a colon");
	cursor->at++;
	return NP_STEP_DONE;
}

static bool read_hex4(const char *text, const char *end, uint32_t *ret)
{
	uint32_t code = 0;

	if (end - text < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = text[i];

		if (c >= '0' && c <= '9')
			code = code << 4 | (uint32_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			code = code << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
		else
			return false;
	}
	*ret = code;
	return true;
}

static char *put_utf8(char *to, uint32_t code)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

/* The character at *from, which is behind a "\u"; false if that is no such escape. */
static bool read_unicode(const char **from, const char *end, uint32_t *ret)
{
	const char *at = *from;
	uint32_t low = 0;

	if (!read_hex4(at, end, ret))
		return false;
	at += 4;
	if (*ret >= 0xd800 && *ret < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
	    read_hex4(at + 2, end, &low) && low >= 0xdc00 && low < 0xe000) {
		*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
		at += 6;
	} else if (*ret >= 0xd800 && *ret < 0xe000) {
		*ret = 0xfffd; /* half a pair has no UTF-8 */
	}
	*from = at;
	return true;
}

/* Decode the escape at `*from`, a backslash and at least one byte, to `to`. */
static char *decode_escape(const char **from, const char *end, char *to)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	char letter = (*from)[1];
	const char *known = letter ? strchr(letters, letter) : NULL;
	uint32_t code = 0;

	*from += 2;
	if (known) {
		*to++ = meanings[known - letters];
		return to;
	}
	if (letter == 'u' && read_unicode(from, end, &code))
		return put_utf8(to, code);
	*to++ = '\\';
	*to++ = letter;
	return to;
}

size_t np_decode_text(const char *from, size_t length, char *to)
{
	const char *end = from + length;
	char *start = to;

	while (from < end) {
		const char *escape = memchr(from, '\\', (size_t)(end - from));
		size_t plain = (size_t)((escape ? escape : end) - from);

		memmove(to, from, plain);
		to += plain;
		from += plain;
		if (escape)
			to = decode_escape(&from, end, to);
	}
	return (size_t)(to - start);
}

/* Most texts differ from a name in their first byte: no call is made to find out. */
static bool is_name(const char *text, size_t length, const char *name)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] != name[i] || name[i] == '\0')
			return false;
	}
	return name[length] == '\0';
}

bool np_key_is(const struct np_token *key, const char *name)
{
	char decoded[256];

	if (!key->escaped)
		return is_name(key->begin, key->length, name);
	/* A name we look for is short, and an escape takes six times its place at most. */
	if (key->length > sizeof(decoded))
		return false;
	return is_name(decoded, np_decode_text(key->begin, key->length, decoded), name);
}

/* Numbers and words */

static bool is_number_byte(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

struct word {
	const char *text;
	size_t length;
	enum np_trace_type type;
};

static const struct word words[] = {
	{ "true", 4, NP_TRACE_BOOL },
	{ "false", 5, NP_TRACE_BOOL },
	{ "null", 4, NP_TRACE_NULL },
	{ "NaN", 3, NP_TRACE_NUMBER },
	/* Python writes those for a float that is none. */
	{ "Infinity", 8, NP_TRACE_NUMBER },
	{ "-Infinity", 9, NP_TRACE_NUMBER },
};

static enum np_json_step read_word(struct np_cursor *cursor, struct np_token *ret)
{
	size_t left = (size_t)(cursor->end - cursor->at);

	for (size_t i = 0; i < NP_COUNT(words); i++) {
		size_t length = words[i].length < left ? words[i].length : left;

		if (memcmp(cursor->at, words[i].text, length) != 0)
			continue;
		if (length < words[i].length)
			return NP_STEP_MORE;
		*ret = (struct np_token){ .type = words[i].type,
					  .begin = cursor->at,
					  .length = length };
		cursor->at += length;
		return NP_STEP_DONE;
	}
	return np_cursor_stop(cursor, "expected a value");
}

static enum np_json_step read_scalar(struct np_cursor *cursor, struct np_token *ret)
{
	const char *at = cursor->at;

	/* A word may begin with a minus, but not be followed by a digit. */
	if ((*at < '0' || *at > '9') && (*at != '-' || at[1] < '0' || at[1] > '9'))
		return read_word(cursor, ret);
	do
		at++;
	while (is_number_byte(*at));
	/* There might be another digit. */
	if (at >= cursor->end)
		return NP_STEP_MORE;
	*ret = (struct np_token){ .type = NP_TRACE_NUMBER,
				  .begin = cursor->at,
				  .length = (size_t)(at - cursor->at) };
	cursor->at = at;
	return NP_STEP_DONE;
}

/* Values inside values */

static void after_value(struct np_walk *walk)
{
	walk->next = walk->depth > 0 ? NP_WALK_AFTER : NP_WALK_OVER;
}

static enum np_json_step go_in(struct np_walk *walk, struct np_cursor *cursor, bool object)
{
	if (walk->depth == NP_TRACE_DEPTH_MAX)
		return np_cursor_stop(cursor, "values more than 64 levels deep");
	walk->objects = walk->objects << 1 | object;
	walk->depth++;
	walk->next = object ? NP_WALK_KEY_OR_END : NP_WALK_ITEM_OR_END;
	cursor->at++;
	return NP_STEP_DONE;
}

static enum np_json_step go_out(struct np_walk *walk, struct np_cursor *cursor)
{
	walk->objects >>= 1;
	walk->depth--;
	after_value(walk);
	cursor->at++;
	return NP_STEP_DONE;
}

static enum np_json_step walk_value(struct np_walk *walk, struct np_cursor *cursor, char byte)
{
	struct np_token token;
	enum np_json_step step;

	if (byte == '{' || byte == '[')
		return go_in(walk, cursor, byte == '{');
	if (byte == '"') {
		step = read_text(cursor, &token);
		walk->escaped |= step == NP_STEP_DONE && token.escaped;
	} else {
		step = read_scalar(cursor, &token);
	}
	if (step == NP_STEP_DONE)
		after_value(walk);
	return step;
}

static enum np_json_step walk_key(struct np_walk *walk, struct np_cursor *cursor)
{
	struct np_token key;
	const char *start = cursor->at;
	enum np_json_step step = np_read_key(cursor, &key);

	if (step == NP_STEP_DONE) {
		walk->escaped |= key.escaped;
		walk->next = NP_WALK_VALUE;
	} else if (step == NP_STEP_MORE) {
		cursor->at = start;
	}
	return step;
}

static enum np_json_step walk_after(struct np_walk *walk, struct np_cursor *cursor, char byte)
{
	bool object = walk->objects & 1;

	if (byte == ',') {
		walk->next = object ? NP_WALK_KEY : NP_WALK_VALUE;
		cursor->at++;
		return NP_STEP_DONE;
	}
	if (byte == (object ? '}' : ']'))
		return go_out(walk, cursor);
	return np_cursor_stop(cursor, object ? "expected a comma or the end of the object"
					     : "expected a comma or the end of the array");
}

static enum np_json_step walk_token(struct np_walk *walk, struct np_cursor *cursor)
{
	char byte = np_cursor_skip_blanks(cursor);

	switch (walk->next) {
	case NP_WALK_KEY_OR_END:
		if (byte == '}')
			return go_out(walk, cursor);
		return walk_key(walk, cursor);
	case NP_WALK_KEY:
		return walk_key(walk, cursor);
	case NP_WALK_AFTER:
		return walk_after(walk, cursor, byte);
	case NP_WALK_ITEM_OR_END:
		if (byte == ']')
			return go_out(walk, cursor);
		return walk_value(walk, cursor, byte);
	case NP_WALK_VALUE:
		return walk_value(walk, cursor, byte);
	case NP_WALK_OVER:
		break;
	}
	return NP_STEP_DONE;
}

enum np_json_step np_walk_on(struct np_walk *walk, struct np_cursor *cursor)
{
	enum np_json_step step = NP_STEP_DONE;

	while (step == NP_STEP_DONE && walk->next != NP_WALK_OVER)
		step = walk_token(walk, cursor);
	return step;
}

static enum np_json_step read_nested(struct np_cursor *cursor, struct np_token *ret)
{
	struct np_walk walk = NP_WALK_INIT;
	const char *begin = cursor->at;
	enum np_json_step step = np_walk_on(&walk, cursor);

	if (step == NP_STEP_DONE)
		*ret = (struct np_token){ .type = *begin == '{' ? NP_TRACE_OBJECT : NP_TRACE_ARRAY,
					  .escaped = walk.escaped,
					  .begin = begin,
					  .length = (size_t)(cursor->at - begin) };
	return step;
}

enum np_json_step np_read_value(struct np_cursor *cursor, struct np_token *ret)
{
	switch (np_cursor_skip_blanks(cursor)) {
	case '"':
		return read_text(cursor, ret);
	case '{':
	case '[':
		return read_nested(cursor, ret);
	default:
		return read_scalar(cursor, ret);
	}
}
