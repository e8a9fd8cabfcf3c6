/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RELATION_H
#define NP_RELATION_H

#include "npuprof/buf.h"
#include "npuprof/err.h"

/*
 * Relations and sinks
 * ===================
 *
 * A relation is a table of results described once: its name, its columns, and
 * a function that produces its rows from a model. Every form of output is a
 * sink that takes those rows: a database table, CSV, Markdown, terminal text.
 * Rows are produced one at a time, so that a table of millions of rows never
 * stands in memory.
 */
enum np_column_type {
	NP_INTEGER,
	NP_REAL,
	NP_TEXT,
	/*
	 * A number that the vendor's table declares NUMERIC: written as INTEGER
	 * when it is whole and as REAL otherwise, as SQLite itself would store it.
	 */
	NP_NUMERIC,
};

struct np_column {
	const char *name;
	enum np_column_type type;
};

enum np_cell_type {
	NP_CELL_NULL,
	NP_CELL_INTEGER,
	NP_CELL_REAL,
	NP_CELL_TEXT,
};

/* One value. Texts are borrowed until np_sink_row() returns. */
struct np_cell {
	enum np_cell_type type;
	union {
		int64_t integer;
		double real;
		struct {
			const char *bytes;
			size_t length;
		} text;
	};
};

static inline struct np_cell np_cell_null(void)
{
	return (struct np_cell){ .type = NP_CELL_NULL };
}

/* NULL when it is not finite. */
static inline struct np_cell np_cell_real(double value)
{
	if (!__builtin_isfinite(value))
		return np_cell_null();
	return (struct np_cell){ .type = NP_CELL_REAL, .real = value };
}

/* NULL for NP_UNKNOWN. */
static inline struct np_cell np_cell_integer(int64_t value)
{
	if (value == NP_UNKNOWN)
		return np_cell_null();
	return (struct np_cell){ .type = NP_CELL_INTEGER, .integer = value };
}

static inline struct np_cell np_cell_bytes(const char *text, size_t length)
{
	return (struct np_cell){ .type = NP_CELL_TEXT, .text = { text, length } };
}

/* NULL for a NULL pointer. */
static inline struct np_cell np_cell_text(const char *text)
{
	return text ? np_cell_bytes(text, __builtin_strlen(text)) : np_cell_null();
}

/* `value` / `unit` as a real, for the vendor's µs, ms and MB columns; NULL for NP_UNKNOWN. */
struct np_cell np_cell_scaled(int64_t value, double unit);

struct np_sink;

struct np_relation {
	const char *name;
	const char *summary; /* one line for the list of tables */
	const struct np_column *columns;
	size_t column_count;
	/* Give every row to the sink, in an order that depends on the model alone. */
	int (*produce)(const void *model, struct np_sink *sink, struct np_err *err);
};

/*
 * What a form of output implements. begin() is called once per relation, before
 * its rows; row() gets exactly column_count cells; end() is called even when
 * there were no rows.
 */
struct np_sink {
	int (*begin)(struct np_sink *sink, const struct np_relation *relation, struct np_err *err);
	int (*row)(struct np_sink *sink, const struct np_cell *cells, struct np_err *err);
	int (*end)(struct np_sink *sink, struct np_err *err);
};

/* For producers. */
int np_sink_row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err) NP_MUST_USE;

/* Run one relation into a sink: begin, produce, end. The first failure stops it, without end. */
int np_relation_write(const struct np_relation *relation, const void *model, struct np_sink *sink,
		      struct np_err *err) NP_MUST_USE;

/*
 * Text forms. They append to `buf`; with `stream` set they write there instead
 * and keep the buffer small. All three begin with a member `base` so that
 * &x.base is the sink. Text from inputs is escaped as the form needs.
 */
struct np_text_sink {
	struct np_sink base;
	struct np_buf *buf;
	void *stream; /* FILE *, or NULL */
	const struct np_relation *relation;
	bool header_written;
};

/*
 * RFC 4180, LF line ends, a header line; NULL is an empty field; control
 * characters as \xNN, except that CR and LF stay in a quoted field. Scripts look
 * for exact names, so that a text that begins with = + - or @ is not altered for
 * spreadsheets, which take it for a formula.
 */
void np_csv_sink_init(struct np_text_sink *sink, struct np_buf *buf, void *stream);

/* The whole table as CSV, to a FILE * or to a file. */
int np_csv_write(const struct np_relation *relation, const void *model, void *stream,
		 struct np_err *err) NP_MUST_USE;
int np_csv_write_file(const struct np_relation *relation, const void *model, const char *path,
		      struct np_err *err) NP_MUST_USE;

/* Likewise to <directory>/<name of the relation>.csv; the directory is made. */
int np_csv_write_below(const struct np_relation *relation, const void *model, const char *directory,
		       struct np_err *err) NP_MUST_USE;

/* The whole table as a grid for the screen; what is unknown is "?". */
int np_relation_screen(const struct np_relation *relation, const void *model, struct np_buf *buf,
		       size_t width, bool color, struct np_err *err) NP_MUST_USE;

/* A text as it stands in a field of CSV. */
void np_csv_text(struct np_buf *buf, const char *text, size_t length);

/* Tables as members of an open JSON object: arrays of objects, each row on a line. */
struct np_jsonout;
struct np_jsonout_sink {
	struct np_sink base;
	struct np_jsonout *out;
	const struct np_relation *relation;
	const char *name; /* of the member; NULL: that of the relation */
	const struct np_json_field *fields;
	size_t field_count; /* 0: all columns by their names */
};
void np_jsonout_sink_init(struct np_jsonout_sink *sink, struct np_jsonout *out);

/* A member of each object: a column of the relation, by its name or under another one. */
struct np_json_field {
	const char *column;
	const char *key; /* NULL: the name of the column */
};

/* One table as a member of this name, only these of its columns, in this order. */
int np_jsonout_relation(struct np_jsonout *out, const char *name,
			const struct np_relation *relation, const void *model,
			const struct np_json_field *fields, size_t count, struct np_err *err)
	NP_MUST_USE;

/*
 * A producer of very many rows may know faster ways to write a line than cell by
 * cell: it puts it into the buffer of a text sink and calls this after each, which
 * notices what went wrong and keeps the buffer small.
 */
int np_text_sink_line(struct np_text_sink *sink, struct np_err *err) NP_MUST_USE;

/* A GitHub table; NULL is an empty cell; '|' and line ends are escaped. */
void np_md_sink_init(struct np_text_sink *sink, struct np_buf *buf, void *stream);

/*
 * A double as the shortest decimal that reads back as the same double, always
 * with a '.' or an exponent so that it stays a real; for CSV and JSON. Nothing
 * when it is not finite.
 */
void np_real_format(struct np_buf *buf, double value);

/* An integer in decimal, without the cost of a format string. */
void np_integer_format(struct np_buf *buf, int64_t value);

#endif /* NP_RELATION_H */
