/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SCAN_PAGES_H
#define NP_SCAN_PAGES_H

/*
 * The page engine: scan_pages.c walks the b-tree and reads the file,
 * scan_record.c decodes the cells of a leaf.
 *
 * What it knows of the format is published at https://www.sqlite.org/fileformat2.html;
 * numbers of sections in the comments (§1.6) are those of that page. Whatever comes
 * out of the file is checked before it is used as an offset, a size or a page number.
 */

#include "scan_private.h"

/* SQLite's own trees are at most this deep: 20 levels hold more pages than a file can. */
#define NP_PAGES_DEPTH 20

/* A record may be decoded the fast way if the columns asked for are among its first ones. */
#define NP_PAGES_FAST_COLUMNS 64

/* It reads up to 8 bytes per column behind the end of the page before it checks. */
#define NP_PAGES_PADDING (8 * NP_PAGES_FAST_COLUMNS + 64)

/* The children of an interior page, from the left to the right. */
struct np_pages_level {
	uint32_t *child;
	size_t capacity;
	size_t count;
	size_t next;
};

/* How the fast way decodes a value of a serial type: shift, then mask, then add the constant. */
struct np_pages_type {
	int64_t mask;
	int64_t constant;
	uint32_t shift;
	uint16_t size;
	uint16_t odd; /* it does not: bits of enum np_pages_odd */
};

enum np_pages_odd {
	NP_PAGES_ODD_VALUE = 1, /* no integer: matters where it is asked for */
	NP_PAGES_ODD_SIZE = 2,  /* what is behind it cannot be found */
};

struct np_pages {
	struct np_scan *scan;
	int fd;
	uint32_t page_size;
	uint32_t usable; /* the page without the bytes reserved at its end */
	uint32_t page_count;
	uint32_t budget; /* pages that may still be visited: a sound tree has none twice */

	uint8_t *window; /* pages [window_first, window_first + window_count) of the file */
	uint32_t window_first;
	uint32_t window_count;
	uint32_t window_capacity;

	struct np_pages_level level[NP_PAGES_DEPTH];
	size_t depth;

	const uint8_t *leaf; /* in the window */
	uint32_t cells;
	uint32_t cell; /* the next one */

	uint8_t *overflow;   /* a page of a payload that does not fit on its leaf */
	struct np_buf spill; /* such a payload, as far as it has been read */

	/* The columns asked for: those in the record, by position, and those that are the rowid. */
	struct np_scan_slot *stored[NP_SCAN_COLUMNS];
	size_t stored_count;
	struct np_scan_slot *rowid[NP_SCAN_COLUMNS];
	size_t rowid_count;
	uint32_t needed; /* columns of the record up to the last one asked for */

	/* The fast way of scan_record.c; `nowhere` takes what nobody has asked for. */
	bool fast;
	struct np_pages_type type[256];
	int64_t *target[NP_PAGES_FAST_COLUMNS];
	uint32_t minded[NP_PAGES_FAST_COLUMNS]; /* oddities that matter there */
	struct np_scan_slot *real[NP_SCAN_COLUMNS];
	size_t real_count;
	int64_t *rowid_target;
	int64_t nowhere[NP_SCAN_ROWS];
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
