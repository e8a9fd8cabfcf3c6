/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SCAN_PRIVATE_H
#define NP_SCAN_PRIVATE_H

/*
 * Two engines fill the batches of a scan:
 *
 *  - the page engine reads the table's b-tree pages itself: several times faster;
 *  - the row engine steps an SQLite statement, and does whatever the other does not.
 *
 * scan.c finds the columns, owns the arrays, chooses the engine and is the second one
 * itself. Which one it is shows in nothing but the time taken, and a test holds them
 * to that.
 */

#include "npuprof/buf.h"
#include "npuprof/scan.h"

/* One column of the batch, and where it comes from. */
struct np_scan_slot {
	enum np_scan_type type;
	bool present;
	bool is_rowid;     /* INTEGER PRIMARY KEY: the key of the row, NULL in its record */
	bool is_real;      /* REAL affinity: an integer in the record stands for a real */
	uint32_t position; /* in the record */
	int result;        /* in the row engine's statement */
	const char *name;  /* the one found, a piece of the caller's list: only while opening */
	size_t name_length;
	union {
		int64_t *integer;
		double *real;
		struct np_scan_text *text;
	} values;
	size_t wrong;  /* values so far that are there and are no numbers */
	size_t *texts; /* offset + 1 of each text in np_scan.texts, 0 for NULL */
};

struct sqlite3_stmt;
struct np_pages;

struct np_scan {
	struct np_db *db;
	size_t count;
	bool ended;
	size_t passed; /* rows that were read or left out */
	size_t before; /* of them before those of the last batch */
	struct np_scan_slot slot[NP_SCAN_COLUMNS];
	/* Texts of the batch: the buffer moves as it grows, so pointers are set at its end. */
	struct np_buf texts;
	struct np_pages *pages;         /* the page engine, or NULL */
	struct sqlite3_stmt *statement; /* the row engine, or NULL */
	int64_t budget;                 /* bytes that it may still give */
	struct sqlite3_stmt *convert;   /* for np_scan_text_of_real() */
};

enum np_scan_engine {
	NP_SCAN_BY_ANY,    /* pages if possible */
	NP_SCAN_BY_SQLITE, /* for comparison */
};

/* np_scan_open(), with a say in how. */
int np_scan_open_with(struct np_db *db, const char *table, const struct np_scan_column *columns,
		      size_t count, enum np_scan_engine engine, struct np_scan **ret,
		      struct np_err *err) NP_MUST_USE;
bool np_scan_reads_pages(const struct np_scan *scan);

/* Keep a text of the batch; running out of memory is remembered by scan->texts. */
void np_scan_keep_text(struct np_scan *scan, struct np_scan_slot *slot, size_t row,
		       const char *bytes, size_t length);

/* A text that should be a number and is none is wrong, unless it says that there is no value. */
void np_scan_wrong_text(struct np_scan_slot *slot, const char *bytes, size_t length);

/* How SQLite writes a real, which only it knows exactly. */
int np_scan_text_of_real(struct np_scan *scan, struct np_scan_slot *slot, size_t row, double value,
			 struct np_err *err) NP_MUST_USE;

/* The number that a text is, NaN if it is none: "N/A" is no 0. */
double np_scan_real_of_text(const char *bytes, size_t length);

/*
 * The page engine, for the rowid table whose b-tree begins at page `root`.
 * NP_E_NOTFOUND, without a text, if it does not handle this file or table.
 */
int np_pages_open(struct np_scan *scan, uint32_t root, struct np_pages **ret, struct np_err *err)
	NP_MUST_USE;
void np_pages_close(struct np_pages *pages);
int np_pages_next(struct np_pages *pages, size_t *rows, struct np_err *err) NP_MUST_USE;
size_t np_pages_about(const struct np_pages *pages);
int np_pages_skip(struct np_pages *pages, size_t rows, struct np_err *err) NP_MUST_USE;

/* Go to where the last batch of `leader` begins. */
int np_pages_follow(struct np_pages *pages, const struct np_pages *leader, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_SCAN_PRIVATE_H */
