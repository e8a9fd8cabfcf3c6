/* SPDX-License-Identifier: Apache-2.0 */
/* Puts an answer together that has no more bytes than it may have (mcp_answer.h). */
#include "mcp_answer.h"

#include "npuprof/relation.h"

#include <inttypes.h>

/* Kept for what follows the list: how many there are, the cursor, brackets. */
#define TAIL 120

/* Of the text for what has no room. */
#define CUT 96

/* Documents that commands write are flat; whatever is deeper is not theirs. */
#define NODE_DEPTH 20

void mcp_answer_init(struct mcp_answer *answer, struct np_buf *buf, size_t most, size_t first)
{
	*answer = (struct mcp_answer){ .buf = buf, .most = most, .first = first };
	np_buf_add_char(buf, '{');
}

/* What bytes of JSON take within a text: quotes and backslashes are escaped once more. */
static size_t room_of(const char *json, size_t length)
{
	size_t room = length;

	for (size_t i = 0; i < length; i++)
		room += json[i] == '"' || json[i] == '\\';
	return room;
}

static void add(struct mcp_answer *answer, const char *json, size_t length)
{
	np_buf_add_bytes(answer->buf, json, length);
	answer->used += room_of(json, length);
}

static void begin_member(struct mcp_answer *answer, const char *key)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	if (answer->buf->length > 1)
		np_buf_add_char(&text, ',');
	np_jsonout_quote(&text, key, strlen(key));
	np_buf_add_char(&text, ':');
	add(answer, text.text, text.length);
}

/* What stands for a part of so many bytes that has no room. */
static int left_out(char *text, size_t size, size_t length)
{
	return snprintf(text, size,
			"{\"left_out\":\"%zu bytes: ask again with a larger max_bytes\"}", length);
}

/* A member that takes no more than `room`. */
static void add_member(struct mcp_answer *answer, const char *key, const char *json, size_t room)
{
	const char *text = json ? json : "null";
	char cut[CUT];

	begin_member(answer, key);
	if (room_of(text, strlen(text)) > room) {
		(void)left_out(cut, sizeof(cut), strlen(text));
		text = cut;
	}
	add(answer, text, strlen(text));
}

static size_t room_left(const struct mcp_answer *answer)
{
	return answer->used + TAIL < answer->most ? answer->most - answer->used - TAIL : 0;
}

void mcp_answer_raw(struct mcp_answer *answer, const char *key, const char *json)
{
	add_member(answer, key, json, room_left(answer));
}

void mcp_answer_beside(struct mcp_answer *answer, const char *key, const char *json)
{
	add_member(answer, key, json, room_left(answer) / 2);
}

void mcp_answer_text(struct mcp_answer *answer, const char *key, const char *text)
{
	NP_CLEANUP(np_buf_release) struct np_buf quoted = NP_BUF_INIT;

	if (text)
		np_jsonout_quote(&quoted, text, strlen(text));
	mcp_answer_raw(answer, key, text ? quoted.text : NULL);
}

void mcp_answer_integer(struct mcp_answer *answer, const char *key, int64_t value)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	if (value != NP_UNKNOWN)
		np_integer_format(&text, value);
	mcp_answer_raw(answer, key, value == NP_UNKNOWN ? NULL : text.text);
}

void mcp_answer_list(struct mcp_answer *answer, const char *key)
{
	begin_member(answer, key);
	add(answer, "[", 1);
	answer->listing = true;
}

bool mcp_answer_wants(const struct mcp_answer *answer)
{
	return answer->seen >= answer->first && !answer->full;
}

static bool fits(const struct mcp_answer *answer, const char *json, size_t length)
{
	return answer->used + room_of(json, length) + TAIL <= answer->most;
}

void mcp_answer_item(struct mcp_answer *answer, const char *json, size_t length)
{
	char cut[CUT];

	if (!mcp_answer_wants(answer)) {
		answer->seen++;
		return;
	}
	/* One that never has room must not be asked for again and again. */
	if (answer->shown == 0 && !fits(answer, json, length)) {
		length = (size_t)left_out(cut, sizeof(cut), length);
		json = cut;
	} else if (!fits(answer, json, length)) {
		answer->full = true;
		answer->seen++;
		return;
	}
	if (answer->shown++ > 0)
		add(answer, ",", 1);
	add(answer, json, length);
	answer->seen++;
}

int mcp_answer_end(struct mcp_answer *answer, struct np_err *err)
{
	char tail[TAIL];

	if (answer->listing) {
		if (answer->first > answer->seen)
			return np_fail(err, NP_E_USAGE,
				       "the cursor lies behind the list, which has %zu elements",
				       answer->seen);
		add(answer, "]", 1);
		(void)snprintf(tail, sizeof(tail), ",\"shown\":%zu,\"total\":%zu", answer->shown,
			       answer->seen);
		np_buf_add(answer->buf, tail);
		if (answer->first + answer->shown < answer->seen)
			np_buf_printf(answer->buf, ",\"next_cursor\":\"%zu\"",
				      answer->first + answer->shown);
	}
	np_buf_add_char(answer->buf, '}');
	return np_buf_check(answer->buf, err);
}

/* --- documents ------------------------------------------------------------------------------- */

static void put_node(struct np_jsonout *out, const char *key, const struct np_json *node,
		     size_t most, int depth);

static void put_members(struct np_jsonout *out, const struct np_json *object, size_t most,
			int depth)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	while (np_json_next(object, &entry)) {
		size_t count =
			np_json_type(entry.value) == NP_JSON_ARRAY ? np_json_count(entry.value) : 0;

		put_node(out, entry.key, entry.value, most, depth + 1);
		if (most > 0 && count > most) {
			NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

			np_buf_printf(&name, "%s_total", entry.key);
			np_jsonout_integer(out, name.text, (int64_t)count);
		}
	}
}

static void put_node(struct np_jsonout *out, const char *key, const struct np_json *node,
		     size_t most, int depth)
{
	enum np_json_type type = depth > NODE_DEPTH ? NP_JSON_NULL : np_json_type(node);
	size_t count = np_json_count(node);
	int64_t integer = NP_UNKNOWN;
	double real = 0;
	bool truth = false;

	switch (type) {
	case NP_JSON_OBJECT:
		np_jsonout_object_line(out, key);
		put_members(out, node, most, depth);
		np_jsonout_end(out);
		break;
	case NP_JSON_ARRAY:
		np_jsonout_array_line(out, key);
		for (size_t i = 0; i < count && (most == 0 || i < most); i++)
			put_node(out, NULL, np_json_item(node, i), most, depth + 1);
		np_jsonout_end(out);
		break;
	case NP_JSON_BOOL:
		(void)np_json_bool(node, &truth);
		np_jsonout_bool(out, key, truth);
		break;
	case NP_JSON_INTEGER:
		(void)np_json_integer(node, &integer);
		np_jsonout_integer(out, key, integer);
		break;
	case NP_JSON_REAL:
		(void)np_json_real(node, &real);
		np_jsonout_real(out, key, real);
		break;
	case NP_JSON_TEXT:
		np_jsonout_text(out, key, np_json_text(node));
		break;
	default:
		np_jsonout_null(out, key);
		break;
	}
}

void mcp_put_node(struct np_jsonout *out, const char *key, const struct np_json *node, size_t most)
{
	put_node(out, key, node, most, 0);
}
