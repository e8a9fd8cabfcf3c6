/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_private.h"

#include "npuprof/hash.h"
#include "npuprof/text.h"

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

/* Which member of an event is this? NP_MEMBER_COUNT: one we do not need. */
static enum np_member member_of(const struct np_token *key)
{
	switch (name_of(key)) {
	case NAME2('p', 'h'):
		return NP_MEMBER_PH;
	case NAME2('b', 'p'):
		return NP_MEMBER_BP;
	case NAME2('t', 's'):
		return NP_MEMBER_TS;
	case NAME2('i', 'd'):
		return NP_MEMBER_ID;
	case NAME3('c', 'a', 't'):
		return NP_MEMBER_CAT;
	case NAME3('d', 'u', 'r'):
		return NP_MEMBER_DUR;
	case NAME3('p', 'i', 'd'):
		return NP_MEMBER_PID;
	case NAME3('t', 'i', 'd'):
		return NP_MEMBER_TID;
	case NAME4('n', 'a', 'm', 'e'):
		return NP_MEMBER_NAME;
	case NAME4('a', 'r', 'g', 's'):
		return NP_MEMBER_ARGS;
	default:
		return NP_MEMBER_COUNT;
	}
}

static enum np_step read_member(struct np_cursor *cursor, struct np_token member[NP_MEMBER_COUNT])
{
	struct np_token key;
	struct np_token value;
	enum np_member which;
	enum np_step step;

	step = np_read_key(cursor, &key);
	if (step != NP_STEP_DONE)
		return step;
	step = np_read_value(cursor, &value);
	if (step != NP_STEP_DONE)
		return step;
	which = member_of(&key);
	if (which < NP_MEMBER_COUNT && member[which].type == NP_TRACE_NONE)
		member[which] = value;
	return NP_STEP_DONE;
}

enum np_step np_read_event(struct np_cursor *cursor, struct np_token member[NP_MEMBER_COUNT])
{
	enum np_step step;
	char byte;

	for (int i = 0; i < NP_MEMBER_COUNT; i++)
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

void np_make_event(struct np_token member[NP_MEMBER_COUNT], const struct np_window *window,
		   struct np_trace_event *ret)
{
	bool bad = false;

	for (int i = 0; i < NP_MEMBER_ARGS; i++)
		decode(&member[i], window);
	ret->phase = letter_of(&member[NP_MEMBER_PH], &bad);
	ret->bind_point = letter_of(&member[NP_MEMBER_BP], &bad);
	ret->name = text_of(&member[NP_MEMBER_NAME], &bad);
	ret->cat = text_of(&member[NP_MEMBER_CAT], &bad);
	ret->ts_ns = time_of(&member[NP_MEMBER_TS], &bad);
	ret->dur_ns = time_of(&member[NP_MEMBER_DUR], &bad);
	ret->pid = id_of(&member[NP_MEMBER_PID], &bad);
	ret->tid = id_of(&member[NP_MEMBER_TID], &bad);
	ret->id = id_of(&member[NP_MEMBER_ID], &bad);
	ret->args = json_of(&member[NP_MEMBER_ARGS]);
	ret->bad = bad;
}
