/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the Markdown that our pages are into HTML, in which text from profiles stays text. */
#include "npuprof/html.h"

#include <string.h>

static const char style[] =
	"body{font:15px/1.45 sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#222}"
	"table{border-collapse:collapse;margin:1em 0}"
	"th,td{border:1px solid #ccc;padding:.3em .6em;text-align:left;vertical-align:top}"
	"th{background:#eef}code{background:#f4f4f4;padding:0 .2em}"
	"pre{background:#f4f4f4;padding:.6em;overflow:auto}";

void np_html_text(struct np_buf *buf, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '<')
			np_buf_add(buf, "&lt;");
		else if (c == '>')
			np_buf_add(buf, "&gt;");
		else if (c == '&')
			np_buf_add(buf, "&amp;");
		else if (c == '"')
			np_buf_add(buf, "&quot;");
		else if (c == '\'')
			np_buf_add(buf, "&#39;");
		else if (c >= ' ' || c == '\t')
			np_buf_add_char(buf, text[i]);
	}
}

/* The end of what stands between two of these marks, behind the first; NULL without a second. */
static const char *closing(const char *from, const char *end, const char *mark)
{
	return from < end ? memmem(from, (size_t)(end - from), mark, strlen(mark)) : NULL;
}

/* Text with `code`, **bold** and characters behind a backslash. */
static void put_inline(struct np_buf *buf, const char *at, const char *end)
{
	while (at < end) {
		const char *close = NULL;

		if (*at == '\\' && at + 1 < end) {
			np_html_text(buf, at + 1, 1);
			at += 2;
		} else if (*at == '`' && (close = closing(at + 1, end, "`"))) {
			np_buf_add(buf, "<code>");
			np_html_text(buf, at + 1, (size_t)(close - at - 1));
			np_buf_add(buf, "</code>");
			at = close + 1;
		} else if (end - at > 2 && at[0] == '*' && at[1] == '*' &&
			   (close = closing(at + 2, end, "**"))) {
			np_buf_add(buf, "<b>");
			np_html_text(buf, at + 2, (size_t)(close - at - 2));
			np_buf_add(buf, "</b>");
			at = close + 2;
		} else {
			np_html_text(buf, at, 1);
			at++;
		}
	}
}

enum html_block {
	BLOCK_NONE,
	BLOCK_TEXT,
	BLOCK_LIST,
	BLOCK_TABLE,
	BLOCK_CODE,
};

struct page_state {
	struct np_buf *buf;
	enum html_block block;
	bool header; /* the next row of the table is its header */
};

static void turn_to(struct page_state *state, enum html_block block)
{
	static const char *const opening[] = { [BLOCK_NONE] = "",
					       [BLOCK_TEXT] = "<p>",
					       [BLOCK_LIST] = "<ul>\n",
					       [BLOCK_TABLE] = "<table>\n",
					       [BLOCK_CODE] = "<pre>" };
	static const char *const ending[] = { [BLOCK_NONE] = "",
					      [BLOCK_TEXT] = "</p>\n",
					      [BLOCK_LIST] = "</ul>\n",
					      [BLOCK_TABLE] = "</table>\n",
					      [BLOCK_CODE] = "</pre>\n" };

	if (state->block == block)
		return;
	np_buf_add(state->buf, ending[state->block]);
	np_buf_add(state->buf, opening[block]);
	state->header = block == BLOCK_TABLE;
	state->block = block;
}

/* "|---:|---|": below the header. */
static bool is_rule(const char *line, const char *end)
{
	return strspn(line, "|-: ") >= (size_t)(end - line);
}

/* The next bar that separates cells. */
static const char *next_bar(const char *at, const char *end)
{
	for (; at < end && *at != '|'; at++) {
		if (*at == '\\' && at + 1 < end)
			at++;
	}
	return at;
}

static void put_row(struct page_state *state, const char *line, const char *end)
{
	const char *tag = state->header ? "th" : "td";

	if (is_rule(line, end))
		return;
	np_buf_add(state->buf, "<tr>");
	for (const char *at = line + 1; at < end;) {
		const char *bar = next_bar(at, end);
		const char *last = bar;

		while (at < last && *at == ' ')
			at++;
		while (last > at && last[-1] == ' ')
			last--;
		np_buf_printf(state->buf, "<%s>", tag);
		put_inline(state->buf, at, last);
		np_buf_printf(state->buf, "</%s>", tag);
		at = bar + 1;
	}
	np_buf_add(state->buf, "</tr>\n");
	state->header = false;
}

static void put_heading(struct page_state *state, const char *line, const char *end)
{
	size_t level = strspn(line, "#");

	turn_to(state, BLOCK_NONE);
	level = level > 6 ? 6 : level;
	np_buf_printf(state->buf, "<h%zu>", level);
	put_inline(state->buf, line + level + strspn(line + level, " "), end);
	np_buf_printf(state->buf, "</h%zu>\n", level);
}

static void put_line(struct page_state *state, const char *line, const char *end)
{
	size_t blanks = strspn(line, " ");
	const char *text = line + blanks < end ? line + blanks : end;

	if (strncmp(line, "```", 3) == 0) {
		turn_to(state, state->block == BLOCK_CODE ? BLOCK_NONE : BLOCK_CODE);
	} else if (state->block == BLOCK_CODE) {
		np_html_text(state->buf, line, (size_t)(end - line));
		np_buf_add_char(state->buf, '\n');
	} else if (text == end) {
		turn_to(state, BLOCK_NONE);
	} else if (*line == '#') {
		put_heading(state, line, end);
	} else if (*line == '|') {
		turn_to(state, BLOCK_TABLE);
		put_row(state, line, end);
	} else if (end - text > 1 && (text[0] == '*' || text[0] == '-') && text[1] == ' ') {
		turn_to(state, BLOCK_LIST);
		np_buf_add(state->buf, "<li>");
		put_inline(state->buf, text + 2, end);
		np_buf_add(state->buf, "</li>\n");
	} else {
		turn_to(state, BLOCK_TEXT);
		put_inline(state->buf, text, end);
		np_buf_add_char(state->buf, '\n');
	}
}

void np_html_from_markdown(struct np_buf *buf, const char *title, const char *markdown)
{
	struct page_state state = { .buf = buf };

	np_buf_add(buf, "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">\n<title>");
	np_html_text(buf, title, strlen(title));
	np_buf_printf(buf, "</title>\n<style>%s</style></head>\n<body>\n", style);
	while (*markdown) {
		const char *end = markdown + strcspn(markdown, "\n");

		put_line(&state, markdown, end);
		markdown = *end ? end + 1 : end;
	}
	turn_to(&state, BLOCK_NONE);
	np_buf_add(buf, "</body></html>\n");
}
