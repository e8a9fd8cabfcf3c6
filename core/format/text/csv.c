/* SPDX-License-Identifier: Apache-2.0 */
/* Reading CSV, cell by cell, many bytes at a time. */
#include "npuprof/csv.h"

#include "byte_mask.h"

#include <inttypes.h>

/*
 * A row is first cut into cells, which only needs to know where they end, and
 * then those asked for are taken out of their quotes in place. If the window ends
 * before the row does, more is read and the row is cut again from its beginning:
 * there is no state in between, and as the window doubles, no row is cut often.
 */

#define NO_COLUMN SIZE_MAX

/* A column asked for. */
struct pick {
	size_t column; /* its place in the header or NO_COLUMN */
	size_t twin;   /* the first one that asks for the same: quotes come off only once */
};

struct np_csv {
	struct np_gz *gz;
	struct np_window window;
	size_t at;     /* where the next row begins in the window */
	uint64_t line; /* and in the file */

	size_t columns; /* of the header */
	size_t count;   /* asked for */
	struct pick *pick;
	struct np_slice *cell;
	struct np_csv_row row;
	struct np_csv_tally tally;

	uint32_t end[NP_CSV_COLUMNS_MAX]; /* of each cell of the row, from the row's beginning */
};

/* A row in the making. */
struct cut {
	const char *row;
	const char *cell;  /* where the cell begins */
	const char *quote; /* the last one that closed */
	size_t cells;
	size_t keep;    /* so many cells are wanted */
	uint64_t lines; /* ends of lines inside quotes */
	bool quoted;
	bool inside;
	bool too_long;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void end_cell(struct np_csv *csv, struct cut *cut, const char *end)
{
	if (cut->cells < cut->keep)
		csv->end[cut->cells] = (uint32_t)(end - cut->row);
	cut->cells++;
	cut->too_long |= (size_t)(end - cut->cell) > NP_CSV_CELL_BYTES_MAX;
	cut->cell = end + 1;
	cut->quoted = false;
}

/* A quote opens a cell that has nothing but blanks before it, closes it, or is a character. */
static void meet_quote(struct cut *cut, const char *at)
{
	const char *before = at;

	if (cut->inside) {
		cut->inside = false;
		cut->quote = at;
		return;
	}
	if (cut->quoted) {
		/* Right behind the one that closed it is the second of a doubled one. */
		cut->inside = at == cut->quote + 1;
		return;
	}
	while (before > cut->cell && is_blank(before[-1]))
		before--;
	cut->quoted = before == cut->cell;
	cut->inside = cut->quoted;
}

/* The last cell of a line goes to its end, without the CR of a CRLF. */
static void end_row(struct np_csv *csv, struct cut *cut, const char *end)
{
	while (!cut->inside && end > cut->cell && end[-1] == '\r')
		end--;
	end_cell(csv, cut, end);
}

/* Cut one row; returns what follows its line end, or NULL if the window has none. */
static const char *cut_row(struct np_csv *csv, struct cut *cut, const char *end)
{
	for (const char *block = cut->row; block < end; block += 64) {
		uint64_t mask = np_byte_mask64(block, ',', '\n', '"');

		for (; mask; mask &= mask - 1) {
			const char *at = block + np_byte_first(mask);

			if (*at == '"') {
				meet_quote(cut, at);
			} else if (cut->inside) {
				cut->lines += *at == '\n';
			} else if (*at == ',') {
				end_cell(csv, cut, at);
			} else {
				end_row(csv, cut, at);
				return at + 1;
			}
		}
	}
	return NULL;
}

static int too_large(const struct np_csv *csv, const char *what, size_t limit, struct np_err *err)
{
	return np_fail(err, NP_E_FORMAT, "%s:%" PRIu64 ": a %s of more than %zu bytes",
		       np_gz_path(csv->gz), csv->line, what, limit);
}

static int check_size(const struct np_csv *csv, const struct cut *cut, const char *end,
		      struct np_err *err)
{
	if (cut->too_long || (end > cut->cell && (size_t)(end - cut->cell) > NP_CSV_CELL_BYTES_MAX))
		return too_large(csv, "cell", NP_CSV_CELL_BYTES_MAX, err);
	if ((size_t)(end - cut->row) > NP_CSV_ROW_BYTES_MAX)
		return too_large(csv, "row", NP_CSV_ROW_BYTES_MAX, err);
	return NP_OK;
}

/* The file ends without a line end; what is left is the last row. */
static const char *cut_last(struct np_csv *csv, struct cut *cut, const char *end)
{
	csv->tally.truncated = cut->inside;
	end_row(csv, cut, end);
	return end;
}

/*
 * Cut the next row, wherever the window ends. It begins at csv->at; *ret_next is
 * the place behind it. No cells: the end of the file.
 */
static int next_cut(struct np_csv *csv, struct cut *ret, size_t *ret_next, struct np_err *err)
{
	size_t keep = csv->columns ? csv->columns : NP_CSV_COLUMNS_MAX;

	for (;;) {
		const char *end = csv->window.bytes + csv->window.length;
		const char *row = csv->window.bytes + csv->at;
		const char *next = NULL;
		int rc;

		*ret = (struct cut){ .row = row, .cell = row, .keep = keep };
		next = cut_row(csv, ret, end);
		rc = check_size(csv, ret, next ? next : end, err);
		if (rc < 0)
			return rc;
		if (!next && csv->window.ended)
			next = row < end ? cut_last(csv, ret, end) : row;
		if (next) {
			*ret_next = (size_t)(next - csv->window.bytes);
			return NP_OK;
		}
		rc = np_gz_more(csv->gz, csv->at, &csv->window, err);
		csv->at = 0;
		if (rc < 0)
			return rc;
	}
}

static struct np_slice trim(char *begin, char *end)
{
	while (begin < end && is_blank(*begin))
		begin++;
	while (begin < end && is_blank(end[-1]))
		end--;
	return (struct np_slice){ begin, (size_t)(end - begin) };
}

/* Take the text out of its quotes, where it stands. It begins with one. */
static struct np_slice unquote(char *begin, char *end)
{
	char *from = begin + 1;
	char *to = begin;
	bool inside = true;

	while (from < end) {
		char *quote = inside ? memchr(from, '"', (size_t)(end - from)) : NULL;
		size_t length = (size_t)((quote ? quote : end) - from);

		/* Mostly the text ends with the first quote: then it need not move. */
		if (to == begin && quote && quote + 1 == end)
			return trim(from, quote);
		memmove(to, from, length);
		to += length;
		from += length + 1;
		inside = quote && from < end && *from == '"';
		if (inside) {
			*to++ = '"';
			from++;
		}
	}
	return trim(begin, to);
}

/* The cell in this column of the row that was cut. */
static struct np_slice cell_at(struct np_csv *csv, const struct cut *cut, size_t column)
{
	char *row = csv->window.bytes + csv->at;
	struct np_slice cell;
	char *begin;
	char *end;

	if (column >= cut->cells)
		return (struct np_slice){ NULL, 0 };
	begin = row + (column > 0 ? csv->end[column - 1] + 1 : 0);
	end = row + csv->end[column];
	cell = trim(begin, end);
	if (cell.length == 0 || *cell.bytes != '"')
		return cell;
	begin += cell.bytes - begin;
	return unquote(begin, begin + cell.length);
}

/* A line of blanks is no row. */
static bool is_nothing(const struct np_csv *csv, const struct cut *cut)
{
	size_t length = csv->end[0];

	for (size_t i = 0; cut->cells == 1 && i < length; i++) {
		if (!is_blank(cut->row[i]))
			return false;
	}
	return cut->cells == 1;
}

/* Cut the next row that holds something. No cells: the end of the file. */
static int next_row(struct np_csv *csv, struct cut *ret, size_t *ret_next, struct np_err *err)
{
	for (;;) {
		int rc = next_cut(csv, ret, ret_next, err);

		if (rc < 0 || !is_nothing(csv, ret))
			return rc;
		csv->at = *ret_next;
		csv->line++;
	}
}

/* The place in the header of one of the names "a|b", the first preferred. */
static size_t find_column(const struct np_slice *header, size_t columns, const char *names)
{
	while (*names) {
		size_t length = strcspn(names, "|");

		for (size_t i = 0; i < columns; i++) {
			if (header[i].length == length &&
			    memcmp(header[i].bytes, names, length) == 0)
				return i;
		}
		names += length + (names[length] == '|');
	}
	return NO_COLUMN;
}

static int choose_columns(struct np_csv *csv, const struct np_csv_column *columns,
			  const struct np_slice *header, struct np_err *err)
{
	for (size_t i = 0; i < csv->count; i++) {
		struct pick *pick = &csv->pick[i];

		pick->column = find_column(header, csv->columns, columns[i].names);
		while (csv->pick[pick->twin].column != pick->column)
			pick->twin++;
		if (pick->column == NO_COLUMN && columns[i].need == NP_REQUIRED)
			return np_fail(err, NP_E_FORMAT, "%s:%" PRIu64 ": there is no column %s",
				       np_gz_path(csv->gz), csv->line, columns[i].names);
	}
	return NP_OK;
}

static int read_header(struct np_csv *csv, const struct np_csv_column *columns, struct np_err *err)
{
	struct np_slice *header;
	struct cut cut;
	size_t next = 0;
	int rc;

	rc = next_row(csv, &cut, &next, err);
	if (rc < 0)
		return rc;
	if (cut.cells == 0)
		return np_fail(err, NP_E_NOTFOUND, "'%s' is empty", np_gz_path(csv->gz));
	if (cut.cells > NP_CSV_COLUMNS_MAX)
		return np_fail(err, NP_E_FORMAT, "%s:%" PRIu64 ": more than %d columns",
			       np_gz_path(csv->gz), csv->line, NP_CSV_COLUMNS_MAX);
	header = calloc(cut.cells, sizeof(*header));
	if (!header)
		return np_fail_nomem(err, np_gz_path(csv->gz));
	for (size_t i = 0; i < cut.cells; i++)
		header[i] = cell_at(csv, &cut, i);
	csv->columns = cut.cells;
	rc = choose_columns(csv, columns, header, err);
	free(header);
	csv->at = next;
	csv->line += cut.lines + 1;
	return rc;
}

static int begin(struct np_csv *csv, const struct np_csv_column *columns, size_t count,
		 struct np_err *err)
{
	csv->line = 1;
	csv->count = count;
	/* One more than needed, so that none at all is no special case. */
	csv->pick = calloc(count + 1, sizeof(*csv->pick));
	csv->cell = calloc(count + 1, sizeof(*csv->cell));
	if (!csv->pick || !csv->cell)
		return np_fail_nomem(err, np_gz_path(csv->gz));
	csv->row.cell = csv->cell;
	return read_header(csv, columns, err);
}

int np_csv_open(const char *path, const struct np_csv_column *columns, size_t count,
		struct np_csv **ret, struct np_err *err)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = calloc(1, sizeof(*csv));
	int rc;

	if (!csv)
		return np_fail_nomem(err, path);
	rc = np_gz_open(path, &csv->gz, &csv->window, err);
	if (rc == NP_OK)
		rc = begin(csv, columns, count, err);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(csv);
	return NP_OK;
}

int np_csv_open_bytes(const void *bytes, size_t length, const char *what, size_t block,
		      const struct np_csv_column *columns, size_t count, struct np_csv **ret,
		      struct np_err *err)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = calloc(1, sizeof(*csv));
	int rc;

	if (!csv)
		return np_fail_nomem(err, what);
	rc = np_gz_open_bytes(bytes, length, what, block, &csv->gz, &csv->window, err);
	if (rc == NP_OK)
		rc = begin(csv, columns, count, err);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(csv);
	return NP_OK;
}

void np_csv_close(struct np_csv *csv)
{
	if (!csv)
		return;
	np_gz_close(csv->gz);
	free(csv->pick);
	free(csv->cell);
	free(csv);
}

void np_csv_closep(struct np_csv **csv)
{
	np_csv_close(*csv);
	*csv = NULL;
}

bool np_csv_has(const struct np_csv *csv, size_t column)
{
	return csv->pick[column].column != NO_COLUMN;
}

static void count_row(struct np_csv_tally *tally, size_t cells, size_t columns, bool zeros)
{
	tally->rows++;
	tally->short_rows += cells < columns || zeros;
	tally->long_rows += cells > columns;
}

int np_csv_next(struct np_csv *csv, const struct np_csv_row **ret, struct np_err *err)
{
	struct cut cut;
	size_t next = 0;
	int rc;

	rc = next_row(csv, &cut, &next, err);
	if (rc < 0)
		return rc;
	if (cut.cells == 0) {
		*ret = NULL;
		return NP_OK;
	}
	for (size_t i = 0; i < csv->count; i++) {
		const struct pick *pick = &csv->pick[i];

		csv->cell[i] =
			pick->twin < i ? csv->cell[pick->twin] : cell_at(csv, &cut, pick->column);
	}
	count_row(&csv->tally, cut.cells, csv->columns,
		  memchr(csv->window.bytes + csv->at, 0, next - csv->at) != NULL);
	csv->row.line = csv->line;
	csv->at = next;
	csv->line += cut.lines + 1;
	*ret = &csv->row;
	return NP_OK;
}

const struct np_csv_tally *np_csv_tally(const struct np_csv *csv)
{
	return &csv->tally;
}

bool np_csv_missing(struct np_slice cell)
{
	return cell.length == 0 || np_slice_is(cell, "N/A") || np_slice_is(cell, "NA");
}
