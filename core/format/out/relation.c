/* SPDX-License-Identifier: Apache-2.0 */
/* Relations: typed rows, and the sinks that write them as text. */
#include "npuprof/relation.h"

#include "npuprof/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Large enough that writing costs nothing beside formatting, small enough to stay in cache. */
#define FLUSH_BYTES 65536

struct np_cell np_cell_scaled(int64_t value, double unit)
{
	if (value == NP_UNKNOWN)
		return np_cell_null();
	return np_cell_real((double)value / unit);
}

int np_sink_row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	return sink->row(sink, cells, err);
}

int np_relation_write(const struct np_relation *relation, const void *model, struct np_sink *sink,
		      struct np_err *err)
{
	int rc;

	rc = sink->begin(sink, relation, err);
	if (rc < 0)
		return rc;
	rc = relation->produce(model, sink, err);
	if (rc < 0)
		return rc;
	return sink->end(sink, err);
}

/* Write `value` in decimal so that it ends before `end`; return where it begins. */
static char *digits_before(char *end, uint64_t value)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	return end;
}

void np_integer_format(struct np_buf *buf, int64_t value)
{
	char text[24];
	char *end = text + sizeof(text);
	char *begin = digits_before(end, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);

	if (value < 0)
		*--begin = '-';
	np_buf_add_bytes(buf, begin, (size_t)(end - begin));
}

/*
 * Most reals in our tables are whole nanoseconds or bytes in a larger unit, so
 * they have at most six decimals and do not need the general search. n / unit
 * is rounded exactly as reading the decimal would be, and fifteen digits always
 * survive a double: what passes the test is what "%.15g" would print. Below
 * 0.0001 that would be an exponent.
 */
static bool format_six_decimals(struct np_buf *buf, double value)
{
	char text[32];
	char *end = text + sizeof(text);
	char *begin = end;
	double size = fabs(value);
	uint64_t unit = size < 1e9 ? 1000000 : 1;
	uint64_t n;
	uint64_t fraction;
	int places = 6;

	if (size >= 1e15 || (size < 1e-4 && size > 0))
		return false;
	n = (uint64_t)(size * (double)unit + 0.5);
	if (n >= UINT64_C(1000000000000000) || (double)n / (double)unit != size)
		return false;

	for (fraction = n % unit; places > 1 && fraction % 10 == 0; places--)
		fraction /= 10;
	for (; places > 0; places--, fraction /= 10)
		*--begin = (char)('0' + fraction % 10);
	*--begin = '.';
	begin = digits_before(begin, n / unit);
	if (signbit(value))
		*--begin = '-';
	np_buf_add_bytes(buf, begin, (size_t)(end - begin));
	return true;
}

/*
 * Times of the day in µs have 16 digits before the point. With an exponent they
 * look like what spreadsheets leave of them; up to here decimals are as exact.
 */
#define PLAIN_BELOW 1e17

static bool format_plain(struct np_buf *buf, double value)
{
	char text[40];

	if (fabs(value) < 1e15 || fabs(value) >= PLAIN_BELOW)
		return false;
	for (int decimals = 1; decimals <= 3; decimals++) {
		(void)snprintf(text, sizeof(text), "%.*f", decimals, value);
		if (strtod(text, NULL) == value)
			break;
	}
	np_buf_add(buf, text);
	return true;
}

void np_real_format(struct np_buf *buf, double value)
{
	char text[40];

	if (!isfinite(value) || format_six_decimals(buf, value) || format_plain(buf, value))
		return;
	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	np_buf_add(buf, text);
	if (!strpbrk(text, ".e"))
		np_buf_add(buf, ".0");
}

static bool is_whole(double value)
{
	/* Strictly inside: both bounds of int64_t mean something else or do not fit. */
	return value > -0x1p63 && value < 0x1p63 && trunc(value) == value;
}

/* The cell as SQLite would store it in a column of that type, so that all forms agree. */
static struct np_cell as_stored(const struct np_cell *cell, enum np_column_type type)
{
	switch (type) {
	case NP_INTEGER:
	case NP_NUMERIC:
		if (cell->type == NP_CELL_REAL && is_whole(cell->real))
			return np_cell_integer((int64_t)cell->real);
		break;
	case NP_REAL:
		if (cell->type == NP_CELL_INTEGER)
			return np_cell_real((double)cell->integer);
		break;
	case NP_TEXT:
		break;
	}
	return *cell;
}

typedef void (*add_text_fn)(struct np_buf *buf, const char *text, size_t length);

static void add_cell(struct np_buf *buf, const struct np_cell *cell, enum np_column_type type,
		     add_text_fn add_text)
{
	struct np_cell stored = as_stored(cell, type);

	switch (stored.type) {
	case NP_CELL_NULL:
		break;
	case NP_CELL_INTEGER:
		np_integer_format(buf, stored.integer);
		break;
	case NP_CELL_REAL:
		np_real_format(buf, stored.real);
		break;
	case NP_CELL_TEXT:
		add_text(buf, stored.text.bytes, stored.text.length);
		break;
	}
}

static int write_failed(const struct np_text_sink *sink, struct np_err *err)
{
	char reason[128];

	return np_fail(err, NP_E_IO, "cannot write table '%s': %s", sink->relation->name,
		       strerror_r(errno, reason, sizeof(reason)));
}

static int write_out(struct np_text_sink *sink, struct np_err *err)
{
	size_t length = sink->buf->length;

	if (fwrite(sink->buf->text, 1, length, sink->stream) != length)
		return write_failed(sink, err);
	np_buf_clear(sink->buf);
	return NP_OK;
}

int np_text_sink_line(struct np_text_sink *sink, struct np_err *err)
{
	int rc = np_buf_check(sink->buf, err);

	if (rc < 0)
		return rc;
	if (sink->stream && sink->buf->length >= FLUSH_BYTES)
		return write_out(sink, err);
	return NP_OK;
}

static int text_end(struct np_sink *base, struct np_err *err)
{
	struct np_text_sink *sink = (struct np_text_sink *)base;
	int rc;

	if (!sink->stream)
		return NP_OK;
	rc = write_out(sink, err);
	if (rc < 0)
		return rc;
	/* A full disk is often noticed only here. */
	if (fflush(sink->stream) != 0)
		return write_failed(sink, err);
	return NP_OK;
}

/* Remember the relation and keep it apart from the one before it. */
static void start_table(struct np_text_sink *sink, const struct np_relation *relation)
{
	sink->relation = relation;
	if (sink->header_written)
		np_buf_add_char(sink->buf, '\n');
	sink->header_written = true;
}

static bool csv_is_plain(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c > '~' || c == ',' || c == '"')
			return false;
	}
	return true;
}

/* Length of the part of `text` before the first character of `special`. */
static size_t span_without(const char *text, size_t length, const char *special, size_t count)
{
	size_t i = 0;

	while (i < length && !memchr(special, text[i], count))
		i++;
	return i;
}

static bool csv_needs_quotes(const char *text, size_t length)
{
	return span_without(text, length, ",\"\r\n", 4) < length;
}

void np_csv_text(struct np_buf *buf, const char *text, size_t length)
{
	bool quoted;

	if (csv_is_plain(text, length)) {
		np_buf_add_bytes(buf, text, length);
		return;
	}

	quoted = csv_needs_quotes(text, length);
	if (quoted)
		np_buf_add_char(buf, '"');
	while (length > 0) {
		/* Line ends are kept: inside quotes they are RFC 4180's own way to carry them. */
		size_t safe = span_without(text, length, "\"\r\n", 3);

		np_text_safe(buf, text, safe);
		if (safe == length)
			break;
		if (text[safe] == '"')
			np_buf_add_char(buf, '"');
		np_buf_add_char(buf, text[safe]);
		text += safe + 1;
		length -= safe + 1;
	}
	if (quoted)
		np_buf_add_char(buf, '"');
}

static int csv_begin(struct np_sink *base, const struct np_relation *relation, struct np_err *err)
{
	struct np_text_sink *sink = (struct np_text_sink *)base;

	start_table(sink, relation);
	for (size_t i = 0; i < relation->column_count; i++) {
		const char *name = relation->columns[i].name;

		if (i > 0)
			np_buf_add_char(sink->buf, ',');
		np_csv_text(sink->buf, name, strlen(name));
	}
	np_buf_add_char(sink->buf, '\n');
	return np_text_sink_line(sink, err);
}

static int csv_row(struct np_sink *base, const struct np_cell *cells, struct np_err *err)
{
	struct np_text_sink *sink = (struct np_text_sink *)base;

	for (size_t i = 0; i < sink->relation->column_count; i++) {
		if (i > 0)
			np_buf_add_char(sink->buf, ',');
		add_cell(sink->buf, &cells[i], sink->relation->columns[i].type, np_csv_text);
	}
	np_buf_add_char(sink->buf, '\n');
	return np_text_sink_line(sink, err);
}

void np_csv_sink_init(struct np_text_sink *sink, struct np_buf *buf, void *stream)
{
	*sink = (struct np_text_sink){
		.base = { .begin = csv_begin, .row = csv_row, .end = text_end },
		.buf = buf,
		.stream = stream,
	};
}

static void md_special(struct np_buf *buf, char c)
{
	if (c == '<') {
		np_buf_add(buf, "&lt;");
	} else if (c == '&') {
		np_buf_add(buf, "&amp;");
	} else {
		np_buf_add_char(buf, '\\');
		np_buf_add_char(buf, c);
	}
}

/*
 * Besides what would end the cell, disarm what a name from a profile could turn
 * into markup of its own: tags, entities, links and pictures, emphasis, code.
 * Inside code nothing else would be unescaped.
 */
static void md_text(struct np_buf *buf, const char *text, size_t length)
{
	static const char special[] = { '|', '\\', '<', '&', '[', '*', '`' };

	while (length > 0) {
		size_t safe = span_without(text, length, special, sizeof(special));

		np_text_safe(buf, text, safe);
		if (safe == length)
			break;
		md_special(buf, text[safe]);
		text += safe + 1;
		length -= safe + 1;
	}
}

static int md_begin(struct np_sink *base, const struct np_relation *relation, struct np_err *err)
{
	struct np_text_sink *sink = (struct np_text_sink *)base;

	start_table(sink, relation);
	for (size_t i = 0; i < relation->column_count; i++) {
		const char *name = relation->columns[i].name;

		np_buf_add(sink->buf, "| ");
		md_text(sink->buf, name, strlen(name));
		np_buf_add_char(sink->buf, ' ');
	}
	np_buf_add(sink->buf, "|\n");
	for (size_t i = 0; i < relation->column_count; i++) {
		bool text = relation->columns[i].type == NP_TEXT;

		np_buf_add(sink->buf, text ? "| --- " : "| ---: ");
	}
	np_buf_add(sink->buf, "|\n");
	return np_text_sink_line(sink, err);
}

static int md_row(struct np_sink *base, const struct np_cell *cells, struct np_err *err)
{
	struct np_text_sink *sink = (struct np_text_sink *)base;

	for (size_t i = 0; i < sink->relation->column_count; i++) {
		np_buf_add(sink->buf, "| ");
		add_cell(sink->buf, &cells[i], sink->relation->columns[i].type, md_text);
		np_buf_add_char(sink->buf, ' ');
	}
	np_buf_add(sink->buf, "|\n");
	return np_text_sink_line(sink, err);
}

void np_md_sink_init(struct np_text_sink *sink, struct np_buf *buf, void *stream)
{
	*sink = (struct np_text_sink){
		.base = { .begin = md_begin, .row = md_row, .end = text_end },
		.buf = buf,
		.stream = stream,
	};
}
