/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where in a JSON text a value stands. */
#include "position.h"

#include <string.h>

#include "npuprof/text.h"

struct cursor {
	const char *at;
	const char *end;
};

static void skip_space(struct cursor *cursor)
{
	while (cursor->at < cursor->end && strchr(" \t\r\n", *cursor->at))
		cursor->at++;
}

static char peek(const struct cursor *cursor)
{
	return cursor->at < cursor->end ? *cursor->at : '\0';
}

/* Move behind the string that begins here. */
static void skip_string(struct cursor *cursor)
{
	for (cursor->at++; cursor->at < cursor->end && *cursor->at != '"'; cursor->at++) {
		if (*cursor->at == '\\')
			cursor->at++;
	}
	if (cursor->at < cursor->end)
		cursor->at++;
}

/* Move behind the value that begins here. */
static void skip_value(struct cursor *cursor)
{
	int depth = 0;

	do {
		skip_space(cursor);
		switch (peek(cursor)) {
		case '\0':
			return;
		case '"':
			skip_string(cursor);
			break;
		case '{':
		case '[':
			depth++;
			cursor->at++;
			break;
		case '}':
		case ']':
			depth--;
			cursor->at++;
			break;
		case ',':
		case ':':
			if (depth == 0)
				return;
			cursor->at++;
			break;
		default:
			while (cursor->at < cursor->end && !strchr(",]} \t\r\n", *cursor->at))
				cursor->at++;
			break;
		}
	} while (depth > 0);
}

/* At the first byte of an object or array: go to its member; false if there is none. */
static bool enter(struct cursor *cursor, const char *key, size_t key_length)
{
	char opening = peek(cursor);
	int64_t index = -1;

	if (opening != '{' && opening != '[')
		return false;
	if (opening == '[' && !np_text_to_int(key, key_length, &index))
		return false;
	cursor->at++;
	for (skip_space(cursor); peek(cursor) && !strchr("}]", peek(cursor)); skip_space(cursor)) {
		bool found = index == 0;

		if (opening == '{') {
			const char *name = cursor->at + 1;

			skip_string(cursor);
			found = (size_t)(cursor->at - name) == key_length + 1 &&
				memcmp(name, key, key_length) == 0;
			skip_space(cursor);
			if (peek(cursor) == ':')
				cursor->at++;
			skip_space(cursor);
		}
		if (found)
			return true;
		index--;
		skip_value(cursor);
		skip_space(cursor);
		if (peek(cursor) == ',')
			cursor->at++;
	}
	return false;
}

static struct cursor walk(const char *text, size_t length, const char *path)
{
	struct cursor cursor = { .at = text, .end = text + length };

	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		cursor.at += 3;
	skip_space(&cursor);
	while (*path == '/') {
		size_t key_length = strcspn(path + 1, "/");
		struct cursor inner = cursor;

		if (!enter(&inner, path + 1, key_length))
			break;
		cursor = inner;
		path += key_length + 1;
	}
	return cursor;
}

size_t adv_position_offset(const char *text, size_t length, const char *path)
{
	return (size_t)(walk(text, length, path).at - text);
}

/* Bytes that the escape at `at` stands for, and its own length. */
static size_t escape_bytes(const char *at, size_t *ret_length)
{
	if (at[1] != 'u') {
		*ret_length = 2;
		return 1;
	}
	*ret_length = 6;
	return 3; /* at most; close enough for a place */
}

/* Move `inside` bytes of meaning into the string; what is left over when it ends before. */
static size_t move_into(struct cursor *cursor, size_t inside)
{
	cursor->at++;
	while (inside > 0 && cursor->at < cursor->end && *cursor->at != '"') {
		size_t own = 1;
		size_t bytes = *cursor->at == '\\' ? escape_bytes(cursor->at, &own) : 1;

		cursor->at += own;
		inside -= bytes < inside ? bytes : inside;
	}
	return inside;
}

size_t adv_position_offset_inside(const char *text, size_t length, const char *path, size_t inside)
{
	struct cursor cursor = walk(text, length, path);

	if (peek(&cursor) == '"') {
		(void)move_into(&cursor, inside);
		return (size_t)(cursor.at - text);
	}
	if (peek(&cursor) != '[')
		return (size_t)(cursor.at - text);
	cursor.at++;
	for (skip_space(&cursor); peek(&cursor) == '"'; skip_space(&cursor)) {
		struct cursor inner = cursor;

		inside = move_into(&inner, inside);
		if (inside == 0)
			return (size_t)(inner.at - text);
		inside--; /* the line end that joins */
		skip_string(&cursor);
		skip_space(&cursor);
		if (peek(&cursor) == ',')
			cursor.at++;
	}
	return (size_t)(cursor.at - text);
}

struct adv_position adv_position_of(const char *text, size_t offset)
{
	struct adv_position position = { 1, 1 };

	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			position.line++;
			position.column = 1;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			position.column++;
		}
	}
	return position;
}

size_t adv_position_count_all_keys(const char *text, size_t length)
{
	struct cursor cursor = { .at = text, .end = text + length };
	size_t count = 0;

	while (cursor.at < cursor.end) {
		if (*cursor.at == '"') {
			skip_string(&cursor);
			continue;
		}
		count += *cursor.at == ':';
		cursor.at++;
	}
	return count;
}

size_t adv_position_count_keys(const char *text, size_t length, const char *path)
{
	struct cursor cursor = walk(text, length, path);
	size_t count = 0;

	if (peek(&cursor) != '{')
		return 0;
	cursor.at++;
	for (skip_space(&cursor); peek(&cursor) == '"'; skip_space(&cursor)) {
		count++;
		skip_string(&cursor);
		skip_space(&cursor);
		if (peek(&cursor) == ':')
			cursor.at++;
		skip_value(&cursor);
		skip_space(&cursor);
		if (peek(&cursor) == ',')
			cursor.at++;
	}
	return count;
}
