/* SPDX-License-Identifier: Apache-2.0 */
/* Reads pieces of a file for the tables of it that are read side by side. */
#include "scan_window.h"

#include "core/format/db/db_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * The file is read with pread() into buffers of our own. A mapping would save the
 * copy, but costs more than that in pages that are mapped (doc/performance.md), and a
 * file cut short by somebody else would then end the program.
 */

/* Enough for the cost of a call not to matter, little enough to stay in the cache. */
#define WINDOW_BYTES ((uint32_t)256 * 1024)

/* Tables that are read side by side are at different places of the file. */
#define WINDOWS 12

struct np_windows {
	struct stat status; /* of the file */
	struct np_window_reader *readers;
	uint64_t clock;
	uint32_t page_size;
	struct np_window_piece list[WINDOWS];
};

bool np_windows_is_far(int64_t kind)
{
	static const uint32_t kinds[] = {
		0x6969,     /* NFS */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB2 */
		0x517b,     /* SMB */
		0x0bd00bd0, /* Lustre */
		0x47504653, /* GPFS */
		0x19830326, /* BeeGFS */
		0x00c36400, /* Ceph */
		0x65735546, /* FUSE: gluster, s3fs, sshfs */
		0x01021997, /* 9P */
		0x5346414f, /* AFS */
	};

	for (size_t i = 0; i < NP_COUNT(kinds); i++) {
		if ((uint32_t)kind == kinds[i])
			return true;
	}
	return false;
}

static void windows_free(struct np_windows *windows)
{
	for (size_t i = 0; i < WINDOWS; i++)
		free(windows->list[i].bytes);
	free(windows);
}

static bool is_file(const struct np_windows *windows, const struct np_window_reader *reader,
		    const struct stat *status)
{
	const struct stat *own = &windows->status;

	return windows->page_size == reader->page_size && own->st_dev == status->st_dev &&
	       own->st_ino == status->st_ino && own->st_size == status->st_size &&
	       own->st_mtim.tv_sec == status->st_mtim.tv_sec &&
	       own->st_mtim.tv_nsec == status->st_mtim.tv_nsec;
}

static size_t reader_count(const struct np_windows *windows)
{
	size_t count = 0;

	for (const struct np_window_reader *one = windows->readers; one; one = one->next)
		count++;
	return count;
}

int np_windows_join(struct np_window_reader *reader, const struct stat *status, struct np_err *err)
{
	struct np_windows **shared = np_db_windows(reader->db);
	struct np_windows *windows = *shared;
	struct statfs system;

	/* A file that changed meanwhile is another one; and each reader needs a piece to hold. */
	if (!windows || !is_file(windows, reader, status) || reader_count(windows) == WINDOWS) {
		windows = calloc(1, sizeof(*windows));
		if (!windows)
			return np_fail_nomem(err, "a table");
		windows->status = *status;
		windows->page_size = reader->page_size;
		if (!*shared)
			*shared = windows;
	}
	if (fstatfs(reader->fd, &system) == 0 && np_windows_is_far((int64_t)system.f_type))
		reader->far = true;
	reader->windows = windows;
	reader->next = windows->readers;
	windows->readers = reader;
	return NP_OK;
}

void np_windows_leave(struct np_window_reader *reader)
{
	struct np_windows *windows = reader->windows;
	struct np_windows **shared = np_db_windows(reader->db);
	struct np_window_reader **at;

	if (!windows)
		return;
	for (at = &windows->readers; *at != reader; at = &(*at)->next)
		;
	*at = reader->next;
	reader->windows = NULL;
	if (windows->readers)
		return;
	if (*shared == windows)
		*shared = NULL;
	windows_free(windows);
}

void np_windows_let_go(struct np_window_piece *held)
{
	if (held)
		held->holders--;
}

uint32_t np_windows_most(const struct np_window_reader *reader)
{
	uint32_t pages = WINDOW_BYTES / reader->page_size;

	return pages < reader->page_count ? pages : reader->page_count;
}

static struct np_window_piece *window_with(struct np_windows *windows, uint32_t page)
{
	for (size_t i = 0; i < WINDOWS; i++) {
		if (np_window_has(&windows->list[i], page))
			return &windows->list[i];
	}
	return NULL;
}

/* The piece that makes room: each reader holds at most one, and this one none. */
static struct np_window_piece *window_to_fill(struct np_windows *windows)
{
	struct np_window_piece *oldest = NULL;

	for (size_t i = 0; i < WINDOWS; i++) {
		struct np_window_piece *one = &windows->list[i];

		if (one->holders == 0 && (!oldest || one->used < oldest->used))
			oldest = one;
	}
	assert(oldest);
	return oldest;
}

/* Of a file on another machine, where a call waits: one page in so many must be wanted. */
#define WANTED_FAR 32

/*
 * Pages of a piece from this one on. Nearby, to copy pages that nobody wants costs more than
 * calls do, even where only half of them are (doc/performance.md).
 */
static uint32_t plan(const struct np_window_reader *reader, uint32_t page, uint32_t run)
{
	uint32_t most = np_windows_most(reader);
	uint32_t count = reader->page_count - page + 1;
	uint32_t wanted = 0;

	count = count < most ? count : most;
	run = run < most ? run : most;
	if (!reader->far)
		return run;
	for (const struct np_window_reader *one = reader->windows->readers; one; one = one->next)
		wanted += one->wanted(one, page, count);
	return wanted > run && wanted > count / WANTED_FAR ? count : run;
}

/* As much as there is, whole pages only. */
static int read_window(const struct np_window_reader *reader, struct np_window_piece *window,
		       uint32_t page, uint32_t count, struct np_err *err)
{
	size_t size = (size_t)count * reader->page_size;
	size_t done = 0;

	window->count = 0;
	while (done < size) {
		ssize_t got = pread(reader->fd, window->bytes + done, size - done,
				    (off_t)(page - 1) * (off_t)reader->page_size + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return np_fail(err, NP_E_IO, "cannot read '%s': %s", np_db_path(reader->db),
				       strerror(errno));
		if (got == 0)
			break;
		done += (size_t)got;
	}
	window->first = page;
	window->count = (uint32_t)(done / reader->page_size);
	memset(window->bytes + (size_t)window->count * reader->page_size, 0, reader->padding);
	return NP_OK;
}

static int fill(struct np_window_reader *reader, struct np_window_piece *window, uint32_t page,
		uint32_t run, struct np_err *err)
{
	uint32_t count = plan(reader, page, run);

	if (!window->bytes)
		window->bytes = malloc((size_t)np_windows_most(reader) * reader->page_size +
				       reader->padding);
	if (!window->bytes)
		return np_fail_nomem(err, "a table");
	return read_window(reader, window, page, count, err);
}

/* Where a page comes from: a piece that has it, or one that is to be filled. */
static struct np_window_piece *choose(const struct np_window_reader *reader,
				      struct np_window_piece *held, uint32_t page)
{
	struct np_window_piece *window;

	/* Nearby, readers do not share, and each goes on in its own piece. */
	if (!reader->far)
		return held ? held : window_to_fill(reader->windows);
	window = window_with(reader->windows, page);
	return window ? window : window_to_fill(reader->windows);
}

int np_windows_hold(struct np_window_reader *reader, struct np_window_piece *held, uint32_t page,
		    uint32_t run, struct np_window_piece **ret, struct np_err *err)
{
	struct np_window_piece *window;
	int rc = NP_OK;

	np_windows_let_go(held);
	*ret = NULL;
	window = choose(reader, held, page);
	if (!np_window_has(window, page))
		rc = fill(reader, window, page, run, err);
	if (rc < 0)
		return rc;
	if (!np_window_has(window, page))
		return NP_E_NOTFOUND;
	window->used = ++reader->windows->clock;
	window->holders++;
	*ret = window;
	return NP_OK;
}
