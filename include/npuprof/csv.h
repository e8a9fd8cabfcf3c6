/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CSV_H
#define NP_CSV_H

#include "npuprof/gz.h"

/*
 * Reading CSV
 * ===========
 *
 * Columns by name in, rows of cells out, in memory that does not depend on the
 * size of the file. The text is RFC 4180 as profilers and their users write it:
 *
 *  - lines end with LF or CRLF, mixed; lines with nothing in them do not count;
 *  - a cell in quotes may hold commas, line ends and doubled quotes; a quote
 *    elsewhere in a cell is a character like any other;
 *  - blanks (space, TAB) around a cell are dropped, also those inside quotes:
 *    times are written as "1736405443881410.320\t";
 *  - a byte order mark is skipped, NUL is data, text need not be valid UTF-8.
 *
 * Every version of a profiler has other columns in another order, so they are
 * asked for by name, possibly by several names, as in scan.h:
 *
 *	static const struct np_csv_column columns[] = {
 *		{ "Start Time(us)", NP_REQUIRED },
 *		{ "Block Num|Block Dim", NP_OPTIONAL },
 *	};
 *
 *	while ((rc = np_csv_next(csv, &row, err)) == NP_OK && row)
 *		use(row->cell[0], row->line);
 *
 * A reader belongs to one thread at a time.
 */

/* What a file may have; beyond it is damaged or hostile, NP_E_FORMAT. */
#define NP_CSV_COLUMNS_MAX    1024
#define NP_CSV_CELL_BYTES_MAX ((size_t)16 << 20)
#define NP_CSV_ROW_BYTES_MAX  ((size_t)64 << 20)

struct np_csv_column {
	const char *names; /* "name" or "preferred|older"; case counts */
	enum np_need need;
};

struct np_csv_row {
	/*
	 * One per column asked for, valid until the next row. Of an optional
	 * column that is missing in the file, and a cell missing in the row, it has no bytes.
	 */
	const struct np_slice *cell;
	uint64_t line; /* where the row begins, counted from 1 */
};

/* What has been seen so far. */
struct np_csv_tally {
	uint64_t rows;       /* without the header */
	uint64_t short_rows; /* of these, with fewer cells than the header has, or with bytes 0 */
	uint64_t long_rows;  /* with more; the cells too many are ignored */
	bool truncated;      /* the file ends inside quotes: its last row is not all there */
};

struct np_csv;

/*
 * Open a file, plain or gzip, and read its header. NP_E_NOTFOUND if it is missing
 * or has no content, NP_E_FORMAT if a required column is missing. A file with
 * nothing but a header opens and has no rows.
 */
int np_csv_open(const char *path, const struct np_csv_column *columns, size_t count,
		struct np_csv **ret, struct np_err *err) NP_MUST_USE;

/* The same for bytes in memory; `what` and `block` are those of np_gz_open_bytes(). */
int np_csv_open_bytes(const void *bytes, size_t length, const char *what, size_t block,
		      const struct np_csv_column *columns, size_t count, struct np_csv **ret,
		      struct np_err *err) NP_MUST_USE;

void np_csv_close(struct np_csv *csv);
void np_csv_closep(struct np_csv **csv);

/* Is the optional column there? */
bool np_csv_has(const struct np_csv *csv, size_t column);

/* The next row, or NULL at the end. Failures are reported as "path:line: reason". */
int np_csv_next(struct np_csv *csv, const struct np_csv_row **ret, struct np_err *err) NP_MUST_USE;

const struct np_csv_tally *np_csv_tally(const struct np_csv *csv);

/* Does the cell say that there is no value: empty, N/A or NA? */
bool np_csv_missing(struct np_slice cell);

#endif /* NP_CSV_H */
