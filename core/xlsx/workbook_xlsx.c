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
#define LEVELS      3
#define GREEN       0x00FF00
#define YELLOW      0xFFFF00

struct formats {
	lxw_format *title;
	lxw_format *header;
	lxw_format *integer;
	lxw_format *real;
	lxw_format *bad;
	lxw_format *good;
	/* Of sheets that another tool is known for. */
	lxw_format *side_title[2];
	lxw_format *side_header[2];
	lxw_format *two_digits;
	lxw_format *percent;
	lxw_format *level[LEVELS];
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

static size_t header_row(const struct xlsx_sink *sink)
{
	return sink->base.sheet ? sink->base.sheet->header_row : HEADER_ROW;
}

static bool is_of_side(const struct np_sheet *sheet, size_t column, size_t side)
{
	return sheet && column >= sheet->side[side].from &&
	       column < sheet->side[side].from + sheet->side[side].count;
}

/* What stands above the header. */
static void put_titles(struct xlsx_sink *sink)
{
	const struct np_sheet *sheet = sink->base.sheet;

	if (!sheet)
		(void)worksheet_write_string(sink->sheet, 0, 0, sink->style.title,
					     sink->formats.title);
	for (size_t i = 0; sheet && i < 2; i++) {
		lxw_col_t from = (lxw_col_t)sheet->side[i].from;
		lxw_col_t to = (lxw_col_t)(from + sheet->side[i].count - 1);

		if (sheet->side[i].title && to > from)
			(void)worksheet_merge_range(sink->sheet, 0, from, 0, to,
						    sheet->side[i].title,
						    sink->formats.side_title[i]);
	}
	if (sheet && sheet->note && sheet->header_row > 0)
		(void)worksheet_write_string(sink->sheet, (lxw_row_t)sheet->header_row - 1, 0,
					     sheet->note, sink->formats.title);
}

static void put_header(struct xlsx_sink *sink, size_t at)
{
	const struct np_column *column = &sink->relation->columns[at];
	lxw_format *format = sink->formats.header;

	if (sink->base.sheet && sink->base.sheet->side[0].title)
		format = sink->formats.side_header[is_of_side(sink->base.sheet, at, 1)];
	(void)worksheet_set_column(sink->sheet, (lxw_col_t)at, (lxw_col_t)at,
				   column->type == NP_TEXT ? WIDTH_TEXT : WIDTH_PLAIN, NULL);
	(void)worksheet_write_string(sink->sheet, (lxw_row_t)header_row(sink), (lxw_col_t)at,
				     column->name, format);
}

static int begin(struct np_sink *sink, const struct np_relation *relation, struct np_err *err)
{
	struct xlsx_sink *own = (struct xlsx_sink *)sink;

	own->relation = relation;
	own->sheet = workbook_add_worksheet(own->book, relation->name);
	if (!own->sheet)
		return np_fail(err, NP_E_IO, "cannot add a sheet '%s'", relation->name);
	put_titles(own);
	for (size_t i = 0; i < relation->column_count; i++)
		put_header(own, i);
	own->row = (lxw_row_t)header_row(own) + 1;
	worksheet_freeze_panes(own->sheet, own->row, 0);
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
	bool outline = column == 0 && sink->base.sheet && sink->base.sheet->outline;
	size_t tabs = 0;
	int rc;

	while (outline && 2 * tabs + 1 < length && cell->text.bytes[2 * tabs] == ' ' &&
	       cell->text.bytes[2 * tabs + 1] == ' ')
		tabs++;
	np_buf_add_repeated(&text, '\t', tabs);
	np_text_safe(&text, cell->text.bytes + 2 * tabs,
		     (length < CELL_MOST / 4 ? length : CELL_MOST / 4) - 2 * tabs);
	if (length >= CELL_MOST / 4)
		np_buf_add(&text, "…");
	rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		(void)worksheet_write_string(
			sink->sheet, sink->row, column, text.text,
			outline ? sink->formats.level[tabs < LEVELS ? tabs : LEVELS - 1]
				: format_of_text(sink, text.text));
	return rc;
}

static lxw_format *format_of_real(const struct xlsx_sink *sink, size_t column)
{
	if (!sink->base.sheet)
		return sink->formats.real;
	return strstr(sink->relation->columns[column].name, "Ratio") ? sink->formats.percent
								     : sink->formats.two_digits;
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
						     format_of_real(own, i));
		else if (cells[i].type == NP_CELL_TEXT)
			rc = put_text(own, column, &cells[i], err);
	}
	own->row++;
	return rc;
}

static int end(struct np_sink *sink, struct np_err *err)
{
	const struct xlsx_sink *own = (struct xlsx_sink *)sink;
	lxw_row_t header = (lxw_row_t)header_row(own);

	(void)err;
	if (own->row > header + 1)
		(void)worksheet_autofilter(own->sheet, header, 0, own->row - 1,
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

static lxw_format *add_filled(lxw_workbook *book, lxw_color_t color, bool header)
{
	lxw_format *format = add_format(book, NULL);

	if (!format)
		return NULL;
	format_set_bg_color(format, color);
	format_set_border(format, LXW_BORDER_THIN);
	if (header)
		format_set_bold(format);
	return format;
}

/* Levels of an outline: the colors of the two upper ones, and how far each is indented. */
static lxw_format *add_level(lxw_workbook *book, size_t level)
{
	static const lxw_color_t colors[LEVELS] = { 0x00BFFF, 0x87CEFA, 0 };
	lxw_format *format =
		colors[level] ? add_filled(book, colors[level], false) : add_format(book, NULL);

	if (format && level > 0)
		format_set_indent(format, (uint8_t)level);
	return format;
}

static bool add_side_formats(struct xlsx_sink *sink)
{
	static const lxw_color_t colors[2] = { GREEN, YELLOW };
	struct formats *formats = &sink->formats;
	bool good = true;

	for (size_t i = 0; i < 2; i++) {
		formats->side_title[i] = add_filled(sink->book, colors[i], false);
		formats->side_header[i] = add_filled(sink->book, colors[i], true);
		good = good && formats->side_title[i] && formats->side_header[i];
	}
	for (size_t i = 0; i < LEVELS; i++) {
		formats->level[i] = add_level(sink->book, i);
		good = good && formats->level[i];
	}
	formats->two_digits = add_format(sink->book, "#,##0.00");
	formats->percent = add_format(sink->book, "0.00%");
	return good && formats->two_digits && formats->percent;
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
	sink->base = (struct np_workbook){ { begin, row, end }, NULL, finish };
	sink->style = *style;
	sink->path = strdup(path);
	sink->book = sink->path ? workbook_new(path) : NULL;
	if (!sink->book || !add_formats(sink) || !add_side_formats(sink))
		return finish(&sink->base, np_fail_nomem(err, "the workbook"), err);
	*ret = &sink->base;
	return NP_OK;
}
