/* SPDX-License-Identifier: Apache-2.0 */
/* Before ours: it defines macros with names that npuprof/banned.h poisons. */
#include <xlsxwriter.h>

#include "npuprof/text.h"
#include "npuprof/workbook.h"

#include <stdio.h>

/*
 * Workbooks by libxlsxwriter: a library of its own, since that one needs a whole
 * library of cryptography, whose start takes longer than that of npuprof. A cell holds 32767
 * characters: longer texts end with "…", so that nobody takes them for whole.
 */
#define CELL_MOST   32767
#define HEADER_ROW  2
#define WIDTH_TEXT  36
#define WIDTH_PLAIN 18

struct formats {
	lxw_format *title;
	lxw_format *header;
	lxw_format *integer;
	lxw_format *real;
	lxw_format *bad;
	lxw_format *good;
};

struct xlsx_sink {
	struct np_workbook base;
	struct np_workbook_style style;
	char *path;
	lxw_workbook *book;
	const struct np_relation *relation;
	lxw_worksheet *sheet;
	struct formats formats;
	lxw_row_t row;
};

static int begin(struct np_sink *sink, const struct np_relation *relation, struct np_err *err)
{
	struct xlsx_sink *own = (struct xlsx_sink *)sink;

	own->relation = relation;
	own->sheet = workbook_add_worksheet(own->book, relation->name);
	if (!own->sheet)
		return np_fail(err, NP_E_IO, "cannot add a sheet '%s'", relation->name);
	(void)worksheet_write_string(own->sheet, 0, 0, own->style.title, own->formats.title);
	for (size_t i = 0; i < relation->column_count; i++) {
		lxw_col_t column = (lxw_col_t)i;
		bool text = relation->columns[i].type == NP_TEXT;

		(void)worksheet_set_column(own->sheet, column, column,
					   text ? WIDTH_TEXT : WIDTH_PLAIN, NULL);
		(void)worksheet_write_string(own->sheet, HEADER_ROW, column,
					     relation->columns[i].name, own->formats.header);
	}
	worksheet_freeze_panes(own->sheet, HEADER_ROW + 1, 0);
	own->row = HEADER_ROW + 1;
	return NP_OK;
}

static lxw_format *format_of_text(const struct xlsx_sink *sink, const char *text)
{
	if (strcmp(text, sink->style.bad) == 0)
		return sink->formats.bad;
	return strcmp(text, sink->style.good) == 0 ? sink->formats.good : NULL;
}

static int put_text(struct xlsx_sink *sink, lxw_col_t column, const struct np_cell *cell,
		    struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	size_t length = cell->text.length;
	int rc;

	np_text_safe(&text, cell->text.bytes, length < CELL_MOST / 4 ? length : CELL_MOST / 4);
	if (length >= CELL_MOST / 4)
		np_buf_add(&text, "…");
	rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		(void)worksheet_write_string(sink->sheet, sink->row, column, text.text,
					     format_of_text(sink, text.text));
	return rc;
}

static int row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	struct xlsx_sink *own = (struct xlsx_sink *)sink;
	int rc = NP_OK;

	for (size_t i = 0; i < own->relation->column_count && rc == NP_OK; i++) {
		lxw_col_t column = (lxw_col_t)i;

		if (cells[i].type == NP_CELL_INTEGER)
			(void)worksheet_write_number(own->sheet, own->row, column,
						     (double)cells[i].integer,
						     own->formats.integer);
		else if (cells[i].type == NP_CELL_REAL)
			(void)worksheet_write_number(own->sheet, own->row, column, cells[i].real,
						     own->formats.real);
		else if (cells[i].type == NP_CELL_TEXT)
			rc = put_text(own, column, &cells[i], err);
	}
	own->row++;
	return rc;
}

static int end(struct np_sink *sink, struct np_err *err)
{
	const struct xlsx_sink *own = (struct xlsx_sink *)sink;

	(void)err;
	if (own->row > HEADER_ROW + 1)
		(void)worksheet_autofilter(own->sheet, HEADER_ROW, 0, own->row - 1,
					   (lxw_col_t)(own->relation->column_count - 1));
	return NP_OK;
}

static lxw_format *add_format(lxw_workbook *book, const char *number)
{
	lxw_format *format = workbook_add_format(book);

	if (format && number)
		format_set_num_format(format, number);
	return format;
}

static bool add_formats(struct xlsx_sink *sink)
{
	struct formats *formats = &sink->formats;

	formats->title = add_format(sink->book, NULL);
	formats->header = add_format(sink->book, NULL);
	formats->integer = add_format(sink->book, "#,##0");
	formats->real = add_format(sink->book, "#,##0.0000");
	formats->bad = add_format(sink->book, NULL);
	formats->good = add_format(sink->book, NULL);
	if (!formats->title || !formats->header || !formats->integer || !formats->real ||
	    !formats->bad || !formats->good)
		return false;
	format_set_italic(formats->title);
	format_set_bold(formats->header);
	format_set_border(formats->header, LXW_BORDER_THIN);
	format_set_bg_color(formats->bad, 0xF4B6B6);
	format_set_bg_color(formats->good, 0xBFE3C0);
	return true;
}

static int finish(struct np_workbook *workbook, int rc, struct np_err *err)
{
	struct xlsx_sink *sink = (struct xlsx_sink *)workbook;
	lxw_error failed = sink->book ? workbook_close(sink->book) : LXW_NO_ERROR;

	if (rc == NP_OK && failed != LXW_NO_ERROR)
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", sink->path,
			     lxw_strerror(failed));
	free(sink->path);
	free(sink);
	return rc;
}

__attribute__((visibility("default"))) np_workbook_opener np_workbook_xlsx_open;

int np_workbook_xlsx_open(const char *path, const struct np_workbook_style *style,
			  struct np_workbook **ret, struct np_err *err)
{
	struct xlsx_sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return np_fail_nomem(err, "the workbook");
	sink->base = (struct np_workbook){ { begin, row, end }, finish };
	sink->style = *style;
	sink->path = strdup(path);
	sink->book = sink->path ? workbook_new(path) : NULL;
	if (!sink->book || !add_formats(sink))
		return finish(&sink->base, np_fail_nomem(err, "the workbook"), err);
	*ret = &sink->base;
	return NP_OK;
}
