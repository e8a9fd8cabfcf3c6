/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SCAN_H
#define NP_SCAN_H

#include "npuprof/db.h"

/*
 * Table scans
 * ===========
 *
 * Columns by name in, batches of rows in arrays out. This is the only way the
 * project reads rows of a profile, and it promises nothing about how: a faster
 * reader of the same pages can take SQLite's place behind it.
 *
 * Every version of the schema adds, renames or drops columns, so a column is
 * asked for by name, possibly by several names, and may be optional:
 *
 *	static const struct np_scan_column columns[] = {
 *		{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
 *		{ "blockNum|blockDim", NP_SCAN_INTEGER, NP_OPTIONAL },
 *	};
 *
 * Rows come in rowid order. Integer columns accept integers stored as text or
 * as reals (PYTORCH_API holds its times as text), real columns numbers stored
 * as text; NULL, an absent column, and anything that is not a number read as
 * NP_UNKNOWN and NaN. Text columns read NULL as a NULL pointer.
 */
enum np_scan_type {
	NP_SCAN_INTEGER,
	NP_SCAN_REAL,
	NP_SCAN_TEXT,
};

struct np_scan_column {
	const char *names; /* "name" or "preferred|older"; "" is not read and has no values */
	enum np_scan_type type;
	enum np_need need;
};

#define NP_SCAN_ROWS    1024
#define NP_SCAN_COLUMNS 16

struct np_scan_text {
	const char *bytes; /* NUL-terminated, valid until the next batch; NULL for NULL */
	size_t length;
};

/* The values of one column for the rows of a batch; which member is valid follows from its type. */
union np_scan_values {
	const int64_t *integer;
	const double *real;
	const struct np_scan_text *text;
};

struct np_batch {
	size_t rows; /* 0: the end of the table */
	union np_scan_values column[NP_SCAN_COLUMNS];
};

struct np_scan;

/*
 * Begin a scan. NP_E_NOTFOUND if there is no such table, NP_E_FORMAT if a
 * required column is missing; both name the file.
 */
int np_scan_open(struct np_db *db, const char *table, const struct np_scan_column *columns,
		 size_t count, struct np_scan **ret, struct np_err *err) NP_MUST_USE;
void np_scan_close(struct np_scan *scan);
void np_scan_closep(struct np_scan **scan);

/* Is the optional column there? */
bool np_scan_has(const struct np_scan *scan, size_t column);

/* How many values of the column, of the rows read so far, are there and are not of its type: text,
 * blobs, infinite. */
size_t np_scan_wrong(const struct np_scan *scan, size_t column);

/*
 * About how many rows the table has, judged by the pages of the last batch; 0 where
 * nothing is known. Nobody has counted: there may be fewer or more.
 */
size_t np_scan_about(const struct np_scan *scan);

/* Read the next rows, NP_SCAN_ROWS but for the last. NP_E_FORMAT on a damaged page. */
int np_scan_next(struct np_scan *scan, struct np_batch *ret, struct np_err *err) NP_MUST_USE;

/*
 * Where one column says which rows are wanted, read it alone and let a second scan
 * of the others follow it: its next rows are those of the last batch of `leader`,
 * another scan of the same table that is not behind it. What lies between is not read.
 */
int np_scan_follow(struct np_scan *scan, const struct np_scan *leader, struct np_err *err)
	NP_MUST_USE;

/* Leave out the next rows, or all that there are. */
int np_scan_skip(struct np_scan *scan, size_t rows, struct np_err *err) NP_MUST_USE;

#endif /* NP_SCAN_H */
