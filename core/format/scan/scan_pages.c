/* SPDX-License-Identifier: Apache-2.0 */
/* The page engine: a walk over the b-tree of a table, leaf by leaf. */
#include "scan_pages.h"

#include "core/format/db/db_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/order.h"

/* §1.3: the database header. */
#define HEADER_SIZE 100

enum page_type {
	PAGE_INTERIOR = 0x05,
	PAGE_LEAF = 0x0d,
};

/* §1.6: sizes of the page header, with and without the right-most child. */
#define LEAF_HEADER     8
#define INTERIOR_HEADER 12

int np_pages_damaged(const struct np_pages *pages, struct np_err *err)
{
	return np_db_fail(NULL, SQLITE_CORRUPT, np_db_path(pages->scan->db), err);
}

static int read_at(const struct np_pages *pages, void *ret, size_t size, off_t offset,
		   struct np_err *err)
{
	uint8_t *to = ret;

	while (size > 0) {
		ssize_t got = pread(pages->reader.fd, to, size, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return np_fail(err, NP_E_IO, "cannot read '%s': %s",
				       np_db_path(pages->scan->db), strerror(errno));
		/* It was longer when the scan began. */
		if (got == 0)
			return np_pages_damaged(pages, err);
		to += got;
		size -= (size_t)got;
		offset += got;
	}
	return NP_OK;
}

static int read_pages(const struct np_pages *pages, void *ret, uint32_t first, uint32_t count,
		      struct np_err *err)
{
	return read_at(pages, ret, (size_t)count * pages->reader.page_size,
		       (off_t)(first - 1) * (off_t)pages->reader.page_size, err);
}

/* Page 1 belongs to the schema, so no table or overflow chain may lead there. */
static int enter_page(struct np_pages *pages, uint32_t number, struct np_err *err)
{
	if (number < 2 || number > pages->reader.page_count || pages->budget == 0)
		return np_pages_damaged(pages, err);
	pages->budget--;
	return NP_OK;
}

/* How many pages the next child begins that follow each other in the file. */
static uint32_t run_of(const struct np_pages_level *level)
{
	uint32_t first = level->child[level->next];
	uint32_t last = first;

	for (size_t i = level->next + 1; i < level->count && level->child[i] == last + 1; i++)
		last++;
	return last - first + 1;
}

/* Pages that the walk will come to, of those below the same page; children are mostly in order. */
static uint32_t wanted_pages(const struct np_window_reader *reader, uint32_t first, uint32_t count)
{
	const struct np_pages *pages = (const struct np_pages *)reader;
	const struct np_pages_level *level;
	uint32_t wanted = 0;
	size_t i;

	if (pages->at.depth == 0)
		return 0;
	level = &pages->at.level[pages->at.depth - 1];
	i = np_lower_bound(at, level->next, level->count, level->child[at] >= first);
	for (; i < level->count && level->child[i] >= first && level->child[i] - first < count; i++)
		wanted++;
	return wanted;
}

/* Hold a page; the walk wants `run` of them from this one on. */
static int hold_page(struct np_pages *pages, uint32_t number, uint32_t run, const uint8_t **ret,
		     struct np_err *err)
{
	int rc;

	if (!np_window_has(pages->window, number)) {
		struct np_window_piece *held = NP_STEAL(pages->window);

		rc = np_windows_hold(&pages->reader, held, number, run, &pages->window, err);
		/* The file was longer when the scan began. */
		if (rc == NP_E_NOTFOUND)
			return np_pages_damaged(pages, err);
		if (rc < 0)
			return rc;
	}
	*ret = np_window_page(&pages->reader, pages->window, number);
	return NP_OK;
}

static int get_child(struct np_pages *pages, const struct np_pages_level *level,
		     const uint8_t **ret, struct np_err *err)
{
	uint32_t number = level->child[level->next];
	int rc = enter_page(pages, number, err);

	return rc < 0 ? rc : hold_page(pages, number, run_of(level), ret, err);
}

int np_pages_overflow(struct np_pages *pages, uint32_t number, const uint8_t **ret,
		      struct np_err *err)
{
	int rc = enter_page(pages, number, err);

	if (rc < 0)
		return rc;
	/* The chain is often right behind its leaf. */
	if (np_window_has(pages->window, number)) {
		*ret = np_window_page(&pages->reader, pages->window, number);
		return NP_OK;
	}
	if (!pages->overflow) {
		pages->overflow = malloc(pages->reader.page_size);
		if (!pages->overflow)
			return np_fail_nomem(err, np_db_path(pages->scan->db));
	}
	*ret = pages->overflow;
	return read_pages(pages, pages->overflow, number, 1, err);
}

/* Number of cells; a cell takes 2 bytes in the array of pointers and at least 4 of content. */
static bool cell_count(const struct np_pages *pages, const uint8_t *page, uint32_t *ret)
{
	*ret = np_be16(page + 3);
	return *ret <= (pages->usable - LEAF_HEADER) / 6;
}

static int reserve_children(struct np_pages_level *level, size_t count, struct np_err *err)
{
	uint32_t *child;

	if (count <= level->capacity)
		return NP_OK;
	child = realloc(level->child, count * sizeof(*child));
	if (!child)
		return np_fail_nomem(err, "a table");
	level->child = child;
	level->capacity = count;
	return NP_OK;
}

/* §1.6: a cell of an interior page is the number of its left child and a key. */
static int push_level(struct np_pages *pages, const uint8_t *page, struct np_err *err)
{
	struct np_pages_level *level;
	uint32_t cells;
	int rc;

	if (pages->at.depth == NP_PAGES_DEPTH || !cell_count(pages, page, &cells))
		return np_pages_damaged(pages, err);
	level = &pages->at.level[pages->at.depth];
	rc = reserve_children(level, (size_t)cells + 1, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < cells; i++) {
		uint32_t at = np_be16(page + INTERIOR_HEADER + 2 * (size_t)i);

		if (at < INTERIOR_HEADER + 2 * cells || at > pages->usable - 5)
			return np_pages_damaged(pages, err);
		level->child[i] = np_be32(page + at);
	}
	level->child[cells] = np_be32(page + 8);
	level->count = (size_t)cells + 1;
	level->next = 0;
	pages->at.depth++;
	return NP_OK;
}

static int enter_leaf(struct np_pages *pages, const uint8_t *page, struct np_err *err)
{
	uint32_t cells;

	if (!cell_count(pages, page, &cells))
		return np_pages_damaged(pages, err);
	pages->leaf = page;
	pages->at.cells = cells;
	pages->at.cell = 0;
	return NP_OK;
}

static int enter_child(struct np_pages *pages, struct np_pages_level *level, struct np_err *err)
{
	const uint8_t *page = NULL;
	int rc = get_child(pages, level, &page, err);

	if (rc < 0)
		return rc;
	if (page[0] == PAGE_LEAF)
		rc = enter_leaf(pages, page, err);
	else if (page[0] == PAGE_INTERIOR)
		rc = push_level(pages, page, err);
	else
		rc = np_pages_damaged(pages, err);
	/* Whoever asks again after a failure fails again instead of missing rows. */
	if (rc == NP_OK)
		level->next++;
	return rc;
}

/* Go on to a leaf that has cells left, or to the end, where there is no level left. */
static int advance(struct np_pages *pages, struct np_err *err)
{
	while (pages->at.depth > 0 && pages->at.cell == pages->at.cells) {
		struct np_pages_level *level = &pages->at.level[pages->at.depth - 1];
		int rc;

		if (level->next == level->count) {
			pages->at.depth--;
			continue;
		}
		rc = enter_child(pages, level, err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

/* How many cells come next on one page, `most` at the most; 0 after the last. */
static int cells_ahead(struct np_pages *pages, size_t most, size_t *ret, struct np_err *err)
{
	int rc = advance(pages, err);
	size_t count;

	if (rc < 0)
		return rc;
	count = pages->at.cells - pages->at.cell;
	if (count == 0)
		pages->scan->ended = true;
	*ret = count < most ? count : most;
	return NP_OK;
}

static int copy_place(struct np_pages_place *to, const struct np_pages_place *from,
		      struct np_err *err)
{
	for (size_t i = 0; i < from->depth; i++) {
		const struct np_pages_level *level = &from->level[i];
		int rc = reserve_children(&to->level[i], level->count, err);

		if (rc < 0)
			return rc;
		memcpy(to->level[i].child, level->child, level->count * sizeof(*level->child));
		to->level[i].count = level->count;
		to->level[i].next = level->next;
	}
	to->depth = from->depth;
	to->cells = from->cells;
	to->cell = from->cell;
	return NP_OK;
}

int np_pages_follow(struct np_pages *pages, const struct np_pages *leader, struct np_err *err)
{
	const struct np_pages_level *level;
	int rc = copy_place(&pages->at, &leader->before, err);

	if (rc < 0 || pages->at.cell == pages->at.cells)
		return rc;
	/* In the middle of a leaf, which counts as visited only where the walk comes to it. */
	level = &pages->at.level[pages->at.depth - 1];
	return hold_page(pages, level->child[level->next - 1], 1, &pages->leaf, err);
}

int np_pages_next(struct np_pages *pages, size_t *rows, struct np_err *err)
{
	int rc = copy_place(&pages->before, &pages->at, err);

	*rows = 0;
	if (rc < 0)
		return rc;
	while (*rows < NP_SCAN_ROWS) {
		size_t count;

		rc = cells_ahead(pages, NP_SCAN_ROWS - *rows, &count, err);
		if (rc < 0)
			return rc;
		if (count == 0)
			break;
		rc = np_record_decode(pages, *rows, count, err);
		if (rc < 0)
			return rc;
		*rows += count;
	}
	return NP_OK;
}

/* As if all pages had as many children, or cells, as those on the way to this leaf. */
size_t np_pages_about(const struct np_pages *pages)
{
	uint64_t leaves = 1;

	for (size_t i = 0; i < pages->at.depth && leaves < pages->reader.page_count; i++)
		leaves *= pages->at.level[i].count;
	return (leaves < pages->reader.page_count ? leaves : pages->reader.page_count) *
	       pages->at.cells;
}

int np_pages_skip(struct np_pages *pages, size_t rows, struct np_err *err)
{
	while (rows > 0) {
		size_t count;
		int rc = cells_ahead(pages, rows, &count, err);

		if (rc < 0)
			return rc;
		if (count == 0)
			break;
		pages->at.cell += (uint32_t)count;
		rows -= count;
	}
	return NP_OK;
}

/* §1.3.2: a power of two; 65536 does not fit the field and is written as 1. */
static uint32_t page_size_of(const uint8_t *header)
{
	uint32_t size = np_be16(header + 16);

	if (size == 1)
		return 65536;
	return size >= 512 && (size & (size - 1)) == 0 ? size : 0;
}

/* §1.3: is this a database whose pages we can read? If not, SQLite will say what it is. */
static bool read_header(struct np_pages *pages, const uint8_t *header, uint64_t file_size)
{
	static const char magic[16] = "SQLite format 3";
	uint64_t count;

	pages->reader.page_size = page_size_of(header);
	if (memcmp(header, magic, sizeof(magic)) != 0 || pages->reader.page_size == 0)
		return false;
	pages->usable = pages->reader.page_size - header[20];
	count = file_size / pages->reader.page_size;
	pages->reader.page_count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX - 1;
	pages->budget = pages->reader.page_count;
	/* Rollback journal or WAL; both are in the file by now. */
	return header[18] >= 1 && header[18] <= 2 && header[19] >= 1 && header[19] <= 2 &&
	       pages->usable >= 480 &&
	       /* Payload fractions, which have never been anything else. */
	       header[21] == 64 && header[22] == 32 && header[23] == 32 &&
	       /* Schema formats so far. */
	       np_be32(header + 44) >= 1 && np_be32(header + 44) <= 4 &&
	       /* Texts are UTF-8. */
	       np_be32(header + 56) == 1;
}

/* WITHOUT ROWID tables are index b-trees, which SQLite reads, as it does pages of no known type. */
static int enter_root(struct np_pages *pages, uint32_t root, struct np_err *err)
{
	uint8_t type;
	int rc;

	if (root < 2 || root > pages->reader.page_count)
		return NP_E_NOTFOUND;
	rc = read_at(pages, &type, 1, (off_t)(root - 1) * (off_t)pages->reader.page_size, err);
	if (rc < 0)
		return rc;
	if (type != PAGE_LEAF && type != PAGE_INTERIOR)
		return NP_E_NOTFOUND;
	pages->at.level[0].child[0] = root;
	pages->at.level[0].count = 1;
	pages->at.depth = 1;
	return NP_OK;
}

static int open_file(struct np_pages *pages, struct np_err *err)
{
	uint8_t header[HEADER_SIZE];
	struct stat status;
	int rc;

	pages->reader.fd = open(np_db_file(pages->scan->db), O_RDONLY | O_CLOEXEC);
	/* SQLite still has the file if its name is gone. */
	if (pages->reader.fd < 0 || fstat(pages->reader.fd, &status) < 0 ||
	    status.st_size < HEADER_SIZE)
		return NP_E_NOTFOUND;
	rc = read_at(pages, header, sizeof(header), 0, err);
	if (rc < 0)
		return rc;
	if (!read_header(pages, header, (uint64_t)status.st_size))
		return NP_E_NOTFOUND;
	return np_windows_join(&pages->reader, &status, err);
}

static void close_pages(struct np_pages **pages)
{
	np_pages_close(*pages);
}

int np_pages_open(struct np_scan *scan, uint32_t root, struct np_pages **ret, struct np_err *err)
{
	NP_CLEANUP(close_pages) struct np_pages *pages = calloc(1, sizeof(*pages));
	int rc;

	if (!pages)
		return np_fail_nomem(err, "a table");
	pages->scan = scan;
	pages->reader = (struct np_window_reader){
		.db = scan->db, .fd = -1, .padding = NP_PAGES_PADDING, .wanted = wanted_pages
	};
	pages->spill = NP_BUF_INIT;
	rc = open_file(pages, err);
	if (rc == NP_OK)
		rc = reserve_children(&pages->at.level[0], 1, err);
	if (rc == NP_OK)
		rc = enter_root(pages, root, err);
	if (rc < 0)
		return rc;
	np_record_plan(pages);
	*ret = NP_STEAL(pages);
	return NP_OK;
}

void np_pages_close(struct np_pages *pages)
{
	if (!pages)
		return;
	np_windows_let_go(pages->window);
	np_windows_leave(&pages->reader);
	if (pages->reader.fd >= 0)
		(void)close(pages->reader.fd);
	for (size_t i = 0; i < NP_PAGES_DEPTH; i++) {
		free(pages->at.level[i].child);
		free(pages->before.level[i].child);
	}
	free(pages->overflow);
	np_buf_release(&pages->spill);
	free(pages);
}
