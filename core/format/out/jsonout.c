/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: values with their places, relations as arrays of objects, notes. */
#include "npuprof/jsonout.h"

#include "npuprof/relation.h"
#include "npuprof/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FLUSH_BYTES 65536

void np_jsonout_init(struct np_jsonout *out, void *stream)
{
	*out = (struct np_jsonout){ .stream = stream, .buf = NP_BUF_INIT };
}

void np_jsonout_release(struct np_jsonout *out)
{
	np_buf_release(&out->buf);
}

/* After a failure the rest is dropped: a document with a hole is worse than half of one. */
static void write_out(struct np_jsonout *out)
{
	if (out->buf.failed)
		return;
	if (out->write_errno == 0 &&
	    fwrite(out->buf.text, 1, out->buf.length, out->stream) != out->buf.length)
		out->write_errno = errno != 0 ? errno : EIO;
	np_buf_clear(&out->buf);
}

static void value_done(struct np_jsonout *out)
{
	if (out->stream && out->buf.length >= FLUSH_BYTES)
		write_out(out);
}

static bool is_plain(char c)
{
	return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/* U+200E, U+200F, U+2028 to U+202E and U+2066 to U+2069: what np_text_safe() escapes too. */
static bool is_mark(unsigned char a, unsigned char b, unsigned char c)
{
	if (a != 0xe2)
		return false;
	return b == 0x80 ? c == 0x8e || c == 0x8f || (c >= 0xa8 && c <= 0xae)
			 : b == 0x81 && c >= 0xa6 && c <= 0xa9;
}

/*
 * Append what stands for the character at `text`, which is not plain, and
 * return its length. The controls U+007F to U+009F, and the marks of U+2000 to
 * U+207F that reorder the text around them or end a line, would be legal JSON
 * but not harmless on a terminal.
 */
static size_t escape_one(struct np_buf *buf, const char *text, size_t length)
{
	unsigned char c = (unsigned char)text[0];
	size_t size;

	if (c == '"' || c == '\\') {
		np_buf_add_char(buf, '\\');
		np_buf_add_char(buf, text[0]);
		return 1;
	}
	if (c < ' ' || c == 0x7f) {
		np_buf_printf(buf, "\\u%04x", c);
		return 1;
	}
	size = np_utf8_length(text, length);
	if (size == 0) {
		np_buf_add(buf, "\xef\xbf\xbd");
		return 1;
	}
	if (size == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0)
		np_buf_printf(buf, "\\u%04x", (unsigned char)text[1]);
	else if (size == 3 &&
		 is_mark((unsigned char)text[0], (unsigned char)text[1], (unsigned char)text[2]))
		np_buf_printf(buf, "\\u20%02x",
			      ((unsigned char)text[1] & 1U) << 6 |
				      ((unsigned char)text[2] & 0x3fU));
	else
		np_buf_add_bytes(buf, text, size);
	return size;
}

void np_jsonout_quote(struct np_buf *buf, const char *text, size_t length)
{
	size_t i = 0;

	np_buf_add_char(buf, '"');
	while (i < length) {
		size_t begin = i;

		while (i < length && is_plain(text[i]))
			i++;
		np_buf_add_bytes(buf, text + begin, i - begin);
		if (i < length)
			i += escape_one(buf, text + i, length - i);
	}
	np_buf_add_char(buf, '"');
}

static void new_line(struct np_jsonout *out)
{
	np_buf_add_char(&out->buf, '\n');
	np_buf_add_repeated(&out->buf, ' ', 2 * (size_t)out->depth);
}

/* Everything that comes before a value: the comma after the last one, white space, the key. */
static void begin_value(struct np_jsonout *out, const char *key)
{
	bool in_object = out->depth > 0 && !out->level[out->depth - 1].array;

	assert(in_object == (key != NULL));
	if (out->depth > 0) {
		bool line = out->level[out->depth - 1].line;
		bool used = out->level[out->depth - 1].used;

		if (used)
			np_buf_add_char(&out->buf, ',');
		if (!line)
			new_line(out);
		else if (used || in_object)
			np_buf_add_char(&out->buf, ' ');
		out->level[out->depth - 1].used = true;
	}
	if (key) {
		np_jsonout_quote(&out->buf, key, strlen(key));
		np_buf_add_bytes(&out->buf, ": ", 2);
	}
}

static void open_level(struct np_jsonout *out, const char *key, bool array, bool line)
{
	assert(out->depth < NP_JSONOUT_DEPTH);
	begin_value(out, key);
	np_buf_add_char(&out->buf, array ? '[' : '{');
	out->level[out->depth].array = array;
	out->level[out->depth].line = line || (out->depth > 0 && out->level[out->depth - 1].line);
	out->level[out->depth].used = false;
	out->depth++;
}

void np_jsonout_object(struct np_jsonout *out, const char *key)
{
	open_level(out, key, false, false);
}

void np_jsonout_object_line(struct np_jsonout *out, const char *key)
{
	open_level(out, key, false, true);
}

void np_jsonout_array(struct np_jsonout *out, const char *key)
{
	open_level(out, key, true, false);
}

void np_jsonout_array_line(struct np_jsonout *out, const char *key)
{
	open_level(out, key, true, true);
}

void np_jsonout_end(struct np_jsonout *out)
{
	bool array;
	bool line;
	bool used;

	assert(out->depth > 0);
	out->depth--;
	array = out->level[out->depth].array;
	line = out->level[out->depth].line;
	used = out->level[out->depth].used;
	if (used && !line)
		new_line(out);
	else if (used && !array)
		np_buf_add_char(&out->buf, ' ');
	np_buf_add_char(&out->buf, array ? ']' : '}');
	value_done(out);
}

void np_jsonout_null(struct np_jsonout *out, const char *key)
{
	begin_value(out, key);
	np_buf_add(&out->buf, "null");
	value_done(out);
}

void np_jsonout_bool(struct np_jsonout *out, const char *key, bool value)
{
	begin_value(out, key);
	np_buf_add(&out->buf, value ? "true" : "false");
	value_done(out);
}

void np_jsonout_integer(struct np_jsonout *out, const char *key, int64_t value)
{
	if (value == NP_UNKNOWN) {
		np_jsonout_null(out, key);
		return;
	}
	begin_value(out, key);
	np_integer_format(&out->buf, value);
	value_done(out);
}

void np_jsonout_real(struct np_jsonout *out, const char *key, double value)
{
	if (!isfinite(value)) {
		np_jsonout_null(out, key);
		return;
	}
	begin_value(out, key);
	np_real_format(&out->buf, value);
	value_done(out);
}

void np_jsonout_scaled(struct np_jsonout *out, const char *key, int64_t value, double unit)
{
	if (value == NP_UNKNOWN)
		np_jsonout_null(out, key);
	else
		np_jsonout_real(out, key, (double)value / unit);
}

void np_jsonout_text(struct np_jsonout *out, const char *key, const char *text)
{
	if (!text)
		np_jsonout_null(out, key);
	else
		np_jsonout_bytes(out, key, text, strlen(text));
}

void np_jsonout_made(struct np_jsonout *out, const char *key, const struct np_buf *text)
{
	np_jsonout_text(out, key, text->text);
	out->buf.failed |= text->failed;
}

void np_jsonout_bytes(struct np_jsonout *out, const char *key, const char *text, size_t length)
{
	begin_value(out, key);
	np_jsonout_quote(&out->buf, text, length);
	value_done(out);
}

int np_jsonout_finish(struct np_jsonout *out, struct np_err *err)
{
	char reason[128];
	int rc;

	assert(out->depth == 0);
	np_buf_add_char(&out->buf, '\n');
	rc = np_buf_check(&out->buf, err);
	if (rc < 0 || !out->stream)
		return rc;

	write_out(out);
	/* A full disk is often noticed only here. */
	if (out->write_errno == 0 && fflush(out->stream) != 0)
		out->write_errno = errno;
	if (out->write_errno != 0)
		return np_fail(err, NP_E_IO, "cannot write JSON: %s",
			       strerror_r(out->write_errno, reason, sizeof(reason)));
	return NP_OK;
}

/* --- relations ------------------------------------------------------------------------------- */

static void put_cell(struct np_jsonout *out, const char *key, const struct np_cell *cell)
{
	switch (cell->type) {
	case NP_CELL_NULL:
		np_jsonout_null(out, key);
		break;
	case NP_CELL_INTEGER:
		np_jsonout_integer(out, key, cell->integer);
		break;
	case NP_CELL_REAL:
		np_jsonout_real(out, key, cell->real);
		break;
	case NP_CELL_TEXT:
		np_jsonout_bytes(out, key, cell->text.bytes, cell->text.length);
		break;
	}
}

static int begin(struct np_sink *base, const struct np_relation *relation, struct np_err *err)
{
	struct np_jsonout_sink *sink = (struct np_jsonout_sink *)base;

	(void)err;
	sink->relation = relation;
	np_jsonout_array(sink->out, sink->name ? sink->name : relation->name);
	return NP_OK;
}

static size_t column_of(const struct np_relation *relation, const char *name)
{
	size_t i = 0;

	while (i < relation->column_count && strcmp(relation->columns[i].name, name) != 0)
		i++;
	assert(i < relation->column_count);
	return i;
}

static void put_fields(const struct np_jsonout_sink *sink, const struct np_cell *cells)
{
	for (size_t i = 0; i < sink->field_count; i++) {
		const struct np_json_field *field = &sink->fields[i];

		put_cell(sink->out, field->key ? field->key : field->column,
			 &cells[column_of(sink->relation, field->column)]);
	}
}

static int put_row(struct np_sink *base, const struct np_cell *cells, struct np_err *err)
{
	const struct np_jsonout_sink *sink = (const struct np_jsonout_sink *)base;

	(void)err;
	np_jsonout_object_line(sink->out, NULL);
	put_fields(sink, cells);
	for (size_t i = 0; i < sink->relation->column_count && sink->field_count == 0; i++)
		put_cell(sink->out, sink->relation->columns[i].name, &cells[i]);
	np_jsonout_end(sink->out);
	return NP_OK;
}

static int end(struct np_sink *base, struct np_err *err)
{
	(void)err;
	np_jsonout_end(((struct np_jsonout_sink *)base)->out);
	return NP_OK;
}

void np_jsonout_sink_init(struct np_jsonout_sink *sink, struct np_jsonout *out)
{
	*sink = (struct np_jsonout_sink){ .base = { begin, put_row, end }, .out = out };
}

int np_jsonout_relation(struct np_jsonout *out, const char *name,
			const struct np_relation *relation, const void *model,
			const struct np_json_field *fields, size_t count, struct np_err *err)
{
	struct np_jsonout_sink sink = { .base = { begin, put_row, end },
					.out = out,
					.name = name,
					.fields = fields,
					.field_count = count };

	return np_relation_write(relation, model, &sink.base, err);
}

/* --- notes ----------------------------------------------------------------------------------- */

void np_jsonout_notes(struct np_jsonout *out, const struct np_notes *notes, enum np_note_kind kind)
{
	for (size_t i = 0; i < notes->list.count; i++) {
		const struct np_note *note = &notes->list.item[i];

		if (note->kind != kind)
			continue;
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "path", *note->path ? note->path : NULL);
		np_jsonout_integer(out, "rank", note->rank == NP_NO_RANK ? NP_UNKNOWN : note->rank);
		np_jsonout_text(out, "what", note->what);
		np_jsonout_text(out, "reason", note->reason);
		np_jsonout_end(out);
	}
}
