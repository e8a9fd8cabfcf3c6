/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as people keep it: comments and last commas become blanks. */
#include "npuprof/json.h"

#include <string.h>

/* Index after the text that begins at `at`. */
static size_t skip_text(const char *text, size_t length, size_t at)
{
	for (at++; at < length && text[at] != '"'; at++) {
		if (text[at] == '\\')
			at++;
	}
	return at < length ? at + 1 : length;
}

static void blank(char *text, size_t from, size_t to)
{
	for (; from < to; from++) {
		if (text[from] != '\n')
			text[from] = ' ';
	}
}

/* Index after the comment that begins at `at`, or `at` if none does. */
static size_t comment_end(const char *text, size_t length, size_t at)
{
	const char *end;

	if (at + 1 >= length || text[at] != '/')
		return at;
	if (text[at + 1] == '/') {
		end = memchr(text + at, '\n', length - at);
		return end ? (size_t)(end - text) : length;
	}
	if (text[at + 1] == '*' && at + 2 < length) {
		end = memmem(text + at + 2, length - at - 2, "*/", 2);
		return end ? (size_t)(end - text) + 2 : at;
	}
	return at;
}

static void blank_comments(char *text, size_t length)
{
	for (size_t at = 0; at < length;) {
		size_t end = comment_end(text, length, at);

		if (end > at) {
			blank(text, at, end);
			at = end;
		} else {
			at = text[at] == '"' ? skip_text(text, length, at) : at + 1;
		}
	}
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void blank_last_commas(char *text, size_t length)
{
	for (size_t at = 0; at < length;) {
		size_t next = at + 1;

		if (text[at] == '"') {
			at = skip_text(text, length, at);
			continue;
		}
		while (text[at] == ',' && next < length && is_space(text[next]))
			next++;
		if (text[at] == ',' && next < length && (text[next] == '}' || text[next] == ']'))
			text[at] = ' ';
		at = next;
	}
}

void np_json_relax(char *text, size_t length)
{
	blank_comments(text, length);
	blank_last_commas(text, length);
}
