/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SCAN_WINDOW_H
#define NP_SCAN_WINDOW_H

#include "npuprof/db.h"

#include <sys/stat.h>

/*
 * Pages of a file in large pieces
 * ===============================
 *
 * Writers of profiles fill several tables in turn, so that their pages alternate: to read
 * each table by itself takes a call for every page. On this machine that is what costs least.
 * Where the file is on another one, a call waits; tables that are read side by side then
 * share a few large pieces of the file: what one of them reads the others find there, so that
 * reads are few, large and mostly in order.
 *
 * A database has the pieces, for one thread, as long as any of its tables is being read.
 * Whoever holds a piece keeps it; pieces that nobody holds make room for others, the one that
 * was not used for the longest time first.
 */
struct np_window_piece {
	uint32_t first; /* page, from 1 */
	uint32_t count; /* 0: nothing was read yet, or could be */
	uint32_t holders;
	uint64_t used;
	uint8_t *bytes;
};

struct np_windows;

/* Who reads, and what it will want: how many of the pages [first, first + count). */
struct np_window_reader {
	struct np_db *db;
	int fd;
	uint32_t page_size;
	uint32_t page_count;
	size_t padding; /* bytes that may be looked at behind a piece */
	bool far;       /* the file is on another machine: found out, if it is not set before */
	uint32_t (*wanted)(const struct np_window_reader *reader, uint32_t first, uint32_t count);
	struct np_windows *windows;
	struct np_window_reader *next; /* of the same pieces */
};

/* Is a file system of this kind (statfs.f_type) one of another machine, or may it be? */
bool np_windows_is_far(int64_t kind);

/* Begin to read a file that is open; of the same file as others of this database, if `status` says
 * so. */
int np_windows_join(struct np_window_reader *reader, const struct stat *status, struct np_err *err)
	NP_MUST_USE;

/* Give up the pieces, with the last reader; nothing of them may be held. */
void np_windows_leave(struct np_window_reader *reader);

/*
 * Hold a piece that has this page, and let go of `held` (may be NULL) first. `run` is how
 * many pages from it on the reader itself wants without a gap. A file that ends before the
 * page was cut short: NP_E_NOTFOUND, without a text.
 */
int np_windows_hold(struct np_window_reader *reader, struct np_window_piece *held, uint32_t page,
		    uint32_t run, struct np_window_piece **ret, struct np_err *err) NP_MUST_USE;

void np_windows_let_go(struct np_window_piece *held);

/* Pages that a piece may have. */
uint32_t np_windows_most(const struct np_window_reader *reader);

static inline bool np_window_has(const struct np_window_piece *window, uint32_t page)
{
	return window && page >= window->first && page - window->first < window->count;
}

static inline const uint8_t *np_window_page(const struct np_window_reader *reader,
					    const struct np_window_piece *window, uint32_t page)
{
	return window->bytes + (size_t)(page - window->first) * reader->page_size;
}

#endif /* NP_SCAN_WINDOW_H */
