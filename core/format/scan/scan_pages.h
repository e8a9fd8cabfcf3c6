/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SCAN_PAGES_H
#define NP_SCAN_PAGES_H

/*
 * The page engine: scan_pages.c walks the b-tree and reads the file, scan_record.c
 * decodes the cells of a leaf, and those that are like others faster.
 *
 * What it knows of the format is published at https://www.sqlite.org/fileformat2.html;
 * numbers of sections in the comments (§1.6) are those of that page. Whatever comes
 * out of the file is checked before it is used as an offset, a size or a page number.
 */

#include "scan_private.h"
#include "scan_window.h"

/* SQLite's own trees are at most this deep: 20 levels hold more pages than a file can. */
#define NP_PAGES_DEPTH 20

/*
 * Records (§2.1): a header of varints, its own size and then one serial type per
 * column, and behind it the values without anything between them. A serial type
 * is the kind of a value and its size.
 */
enum np_serial {
	NP_SERIAL_NULL = 0,
	NP_SERIAL_REAL = 7,
	NP_SERIAL_ZERO = 8,
	NP_SERIAL_ONE = 9,
	NP_SERIAL_RESERVED = 10, /* and 11 */
	NP_SERIAL_BLOB = 12,     /* and any even number above: (type - 12) / 2 bytes */
	NP_SERIAL_TEXT = 13,     /* and any odd number above: (type - 13) / 2 bytes */
};

static inline uint64_t np_serial_size(uint64_t type)
{
	static const uint8_t small[NP_SERIAL_BLOB] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0 };

	return type < NP_SERIAL_BLOB ? small[type] : (type - NP_SERIAL_BLOB) / 2;
}

/* Varints (§1.6): 7 bits per byte, the highest first, all 8 bits of a ninth. */
#define NP_VARINT_MAX 9

/* Layouts know a record by so many of its first bytes. */
#define NP_LAYOUT_WORDS 3
#define NP_LAYOUT_BYTES (8 * NP_LAYOUT_WORDS)

/* How many are remembered, by their hash. */
#define NP_LAYOUT_BITS 6
#define NP_LAYOUTS     (1U << NP_LAYOUT_BITS)

/* Sizes, headers and values are read up to so far behind a page before they are checked. */
#define NP_PAGES_PADDING 64

/* The children of an interior page, from the left to the right. */
struct np_pages_level {
	uint32_t *child;
	size_t capacity;
	size_t count;
	size_t next;
};

/* How a value is got from the 8 bytes where it begins: shift, then mask, then add. */
struct np_layout_value {
	uint32_t offset; /* in the record */
	uint32_t shift;
	int64_t mask;
	int64_t constant;
};

/* A value that takes more than that: a number in words, or an integer where a real is wanted. */
struct np_layout_odd {
	uint32_t column;      /* of those asked for */
	uint32_t text_length; /* 0 for an integer */
};

/* Where the columns asked for are in all records whose headers begin with the same bytes. */
struct np_layout {
	uint64_t header[NP_LAYOUT_WORDS]; /* 0: none yet */
	bool usable;
	uint32_t size; /* of the record up to the last of them */
	uint32_t odd_count;
	struct np_layout_odd odd[NP_SCAN_COLUMNS];
	struct np_layout_value value[NP_SCAN_COLUMNS];
};

/* Where a walk over the tree is. */
struct np_pages_place {
	struct np_pages_level level[NP_PAGES_DEPTH];
	size_t depth;
	uint32_t cells; /* of the leaf */
	uint32_t cell;  /* the next one */
};

struct np_pages {
	struct np_window_reader reader; /* the first: what others want to know of is this */
	struct np_scan *scan;
	uint32_t usable; /* the page without the bytes reserved at its end */
	uint32_t budget; /* pages that may still be visited: a sound tree has none twice */
	struct np_window_piece *window; /* that is held, with the leaf; NULL before the first */

	struct np_pages_place at;
	struct np_pages_place before; /* the last batch */
	const uint8_t *leaf;          /* in the window */

	uint8_t *overflow;   /* a page of a payload that does not fit on its leaf */
	struct np_buf spill; /* such a payload, as far as it has been read */

	/* The columns asked for: those in the record, by position, and those that are the rowid. */
	struct np_scan_slot *stored[NP_SCAN_COLUMNS];
	size_t stored_count;
	struct np_scan_slot *rowid[NP_SCAN_COLUMNS];
	size_t rowid_count;
	uint32_t needed; /* columns of the record up to the last one asked for */

	/* The fast way. */
	bool fast;
	int64_t *target[NP_SCAN_COLUMNS];      /* of the columns in `stored` */
	uint64_t header_mask[NP_LAYOUT_WORDS]; /* bytes of the header that matter */
	size_t header_words;                   /* those that have any */
	struct np_layout layout[NP_LAYOUTS];
};

static inline uint32_t np_be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t np_be32(const uint8_t *p)
{
	return np_be16(p) << 16 | np_be16(p + 2);
}

/* "damaged or cut short", as for what SQLite finds damaged. */
int np_pages_damaged(const struct np_pages *pages, struct np_err *err);

/* Read one overflow page; it stays valid until the next one. */
int np_pages_overflow(struct np_pages *pages, uint32_t number, const uint8_t **ret,
		      struct np_err *err) NP_MUST_USE;

/* Sort the columns of the scan by how they are decoded. */
void np_record_plan(struct np_pages *pages);

/* Decode the next `count` cells of the leaf into the rows from `row` on. */
int np_record_decode(struct np_pages *pages, size_t row, size_t count, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_SCAN_PAGES_H */
