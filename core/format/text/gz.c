/* SPDX-License-Identifier: Apache-2.0 */
/* A window that moves over a file, plain or gzip; and a writer of gzip. */
#include "npuprof/gz.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* zlib promises to leave its input alone if asked to. */
#define ZLIB_CONST
#include <zlib.h>

/* Small enough to stay in a core's second cache, large enough to make calls cheap. */
#define BLOCK ((size_t)256 << 10)

/* What zlib calls a window of 32 KiB, and that the gzip header is wanted. */
#define GZIP_ONLY (MAX_WBITS + 16)

struct np_gz {
	char *path;
	int fd; /* -1: the bytes below */
	const char *memory;
	size_t memory_left;

	/* Compressed bytes on their way; `input` is NULL for a plain file. */
	char *input;
	size_t input_size;
	z_stream stream;
	bool between; /* a member has ended and none has begun */

	size_t capacity; /* of the window, without its padding */
	struct np_window window;
	struct np_err failure; /* reading has failed, behind the bytes of the window */
};

/* Reading gives a number of bytes. None is the end, unless gz->failure says otherwise. */

/* Bytes as they are in the file. */
static size_t read_raw(struct np_gz *gz, char *to, size_t size)
{
	ssize_t got;

	if (gz->fd < 0) {
		size = size < gz->memory_left ? size : gz->memory_left;
		if (size > 0)
			memcpy(to, gz->memory, size);
		gz->memory += size;
		gz->memory_left -= size;
		return size;
	}
	do
		got = read(gz->fd, to, size);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		(void)np_fail_errno(&gz->failure, "read", gz->path);
	return got < 0 ? 0 : (size_t)got;
}

/* Give zlib compressed bytes, unless it has some; false if there are none. */
static bool feed(struct np_gz *gz)
{
	if (gz->stream.avail_in > 0)
		return true;
	gz->stream.next_in = (Bytef *)gz->input;
	gz->stream.avail_in = (uInt)read_raw(gz, gz->input, gz->input_size);
	if (gz->stream.avail_in > 0)
		return true;
	if (!gz->between && gz->failure.code == NP_OK)
		(void)np_fail(&gz->failure, NP_E_FORMAT,
			      "'%s' is cut short: its compressed data has no end", gz->path);
	return false;
}

/* Behind a member comes another one, or zeros that fill up a tape or a block. */
static void begin_member(struct np_gz *gz)
{
	while (gz->stream.avail_in > 0 && *gz->stream.next_in == 0) {
		gz->stream.next_in++;
		gz->stream.avail_in--;
	}
	if (gz->stream.avail_in == 0)
		return;
	(void)inflateReset(&gz->stream); /* fails only for a stream that was never set up */
	gz->between = false;
}

static void inflate_some(struct np_gz *gz)
{
	int rc = inflate(&gz->stream, Z_NO_FLUSH);

	if (rc == Z_STREAM_END)
		gz->between = true;
	else if (rc == Z_MEM_ERROR)
		(void)np_fail_nomem(&gz->failure, gz->path);
	else if (rc != Z_OK && rc != Z_BUF_ERROR)
		(void)np_fail(&gz->failure, NP_E_FORMAT, "'%s': damaged gzip data: %s", gz->path,
			      gz->stream.msg ? gz->stream.msg : "unknown reason");
}

/* Decompressed bytes; a failure may come along with the last ones before it. */
static size_t read_inflated(struct np_gz *gz, char *to, size_t size)
{
	uInt room = size < UINT_MAX ? (uInt)size : UINT_MAX;

	gz->stream.next_out = (Bytef *)to;
	gz->stream.avail_out = room;
	while (gz->stream.avail_out == room && gz->failure.code == NP_OK) {
		/* zlib may hold text back for lack of room: ask it before the file. */
		if (!gz->between)
			inflate_some(gz);
		if (gz->stream.avail_out < room || gz->failure.code != NP_OK || !feed(gz))
			break;
		if (gz->between)
			begin_member(gz);
	}
	return room - gz->stream.avail_out;
}

/* Read until the window is full, or reading ends or fails. */
static void fill(struct np_gz *gz)
{
	struct np_window *window = &gz->window;

	assert(window->bytes);
	while (gz->failure.code == NP_OK && !window->ended && window->length < gz->capacity) {
		char *to = window->bytes + window->length;
		size_t room = gz->capacity - window->length;
		size_t got = gz->input ? read_inflated(gz, to, room) : read_raw(gz, to, room);

		window->length += got;
		window->ended = got == 0 && gz->failure.code == NP_OK;
	}
	memset(window->bytes + window->length, 0, NP_WINDOW_PAD);
}

/* Report the failure, if there was one: when the bytes before it are used up. */
static int report_failure(const struct np_gz *gz, struct np_err *err)
{
	if (gz->failure.code == NP_OK)
		return NP_OK;
	return np_fail(err, gz->failure.code, "%s", gz->failure.text);
}

static int resize(struct np_gz *gz, size_t capacity, struct np_err *err)
{
	char *bytes = realloc(gz->window.bytes, capacity + NP_WINDOW_PAD);

	if (!bytes)
		return np_fail_nomem(err, gz->path);
	gz->window.bytes = bytes;
	gz->capacity = capacity;
	return NP_OK;
}

static void slide(struct np_gz *gz, size_t used)
{
	gz->window.length -= used;
	gz->window.offset += used;
	memmove(gz->window.bytes, gz->window.bytes + used, gz->window.length);
}

int np_gz_more(struct np_gz *gz, size_t used, struct np_window *window, struct np_err *err)
{
	size_t kept;
	int rc = NP_OK;

	if (used > 0)
		slide(gz, used);
	else if (gz->window.length == gz->capacity)
		rc = resize(gz, gz->capacity * 2, err);
	kept = gz->window.length;
	if (rc == NP_OK) {
		fill(gz);
		rc = gz->window.length == kept ? report_failure(gz, err) : NP_OK;
	}
	*window = gz->window;
	return rc;
}

/* Have at least `length` bytes in the window, unless there are fewer. */
static int fill_to(struct np_gz *gz, size_t length, struct np_err *err)
{
	int rc = NP_OK;

	if (gz->capacity < length)
		rc = resize(gz, length, err);
	if (rc == NP_OK)
		fill(gz);
	return rc;
}

static bool begins_with(const struct np_gz *gz, const char *bytes, size_t length)
{
	return gz->window.length >= length && memcmp(gz->window.bytes, bytes, length) == 0;
}

/* What is in the window turned out to be compressed: it becomes zlib's input. */
static int decompress(struct np_gz *gz, struct np_err *err)
{
	size_t capacity = gz->capacity;
	int rc;

	gz->input = gz->window.bytes;
	gz->input_size = capacity;
	gz->stream.next_in = (Bytef *)gz->input;
	gz->stream.avail_in = (uInt)gz->window.length;
	gz->window = (struct np_window){ .bytes = NULL };
	rc = resize(gz, capacity, err);
	if (rc < 0)
		return rc;
	if (inflateInit2(&gz->stream, GZIP_ONLY) != Z_OK)
		return np_fail_nomem(err, gz->path);
	return NP_OK;
}

static int begin(struct np_gz *gz, size_t block, struct np_err *err)
{
	static const char magic[] = { '\x1f', '\x8b' };
	static const char mark[] = { '\xef', '\xbb', '\xbf' };
	int rc = resize(gz, block ? block : BLOCK, err);

	if (rc == NP_OK)
		rc = fill_to(gz, sizeof(magic), err);
	if (rc == NP_OK && begins_with(gz, magic, sizeof(magic)))
		rc = decompress(gz, err);
	if (rc == NP_OK)
		rc = fill_to(gz, sizeof(mark), err);
	if (rc < 0)
		return rc;
	if (begins_with(gz, mark, sizeof(mark))) {
		slide(gz, sizeof(mark));
		fill(gz);
	}
	if (gz->window.length > 0)
		return NP_OK;
	rc = report_failure(gz, err);
	return rc < 0 ? rc : np_fail(err, NP_E_NOTFOUND, "'%s' is empty", gz->path);
}

static int check_file(int fd, const char *path, struct np_err *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return np_fail_errno(err, "read", path);
	if (!S_ISREG(status.st_mode))
		return np_fail(err, NP_E_FORMAT, "'%s' is not a regular file", path);
	return NP_OK;
}

static struct np_gz *gz_new(const char *path, struct np_err *err)
{
	struct np_gz *gz = calloc(1, sizeof(*gz));

	if (gz)
		gz->path = strdup(path);
	if (!gz || !gz->path) {
		(void)np_fail_nomem(err, path);
		free(gz);
		return NULL;
	}
	gz->fd = -1;
	return gz;
}

static int open_file(struct np_gz *gz, struct np_err *err)
{
	/* Without O_NONBLOCK a pipe of that name would make us wait for its writer. */
	gz->fd = open(gz->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (gz->fd < 0)
		return np_fail_errno(err, "open", gz->path);
	return check_file(gz->fd, gz->path, err);
}

/* Hand the source over, unless opening it failed. */
static int deliver(struct np_gz *gz, int rc, struct np_gz **ret, struct np_window *window)
{
	if (rc < 0) {
		np_gz_close(gz);
		return rc;
	}
	*window = gz->window;
	*ret = gz;
	return NP_OK;
}

int np_gz_open(const char *path, struct np_gz **ret, struct np_window *window, struct np_err *err)
{
	struct np_gz *gz = gz_new(path, err);
	int rc;

	if (!gz)
		return NP_E_NOMEM;
	rc = open_file(gz, err);
	if (rc == NP_OK)
		rc = begin(gz, 0, err);
	return deliver(gz, rc, ret, window);
}

int np_gz_open_bytes(const void *bytes, size_t length, const char *what, size_t block,
		     struct np_gz **ret, struct np_window *window, struct np_err *err)
{
	struct np_gz *gz = gz_new(what, err);

	if (!gz)
		return NP_E_NOMEM;
	gz->memory = bytes;
	gz->memory_left = length;
	return deliver(gz, begin(gz, block, err), ret, window);
}

void np_gz_close(struct np_gz *gz)
{
	if (!gz)
		return;
	if (gz->fd >= 0)
		(void)close(gz->fd);
	if (gz->input)
		(void)inflateEnd(&gz->stream); /* does nothing for one that was not set up */
	free(gz->input);
	free(gz->window.bytes);
	free(gz->path);
	free(gz);
}

void np_gz_closep(struct np_gz **gz)
{
	np_gz_close(*gz);
	*gz = NULL;
}

const char *np_gz_path(const struct np_gz *gz)
{
	return gz->path;
}

/* --- writing --------------------------------------------------------------------------------- */

struct np_gz_writer {
	FILE *stream;
	z_stream zip;
	unsigned char room[65536];
};

struct np_gz_writer *np_gz_writer_new(void *stream)
{
	struct np_gz_writer *writer = calloc(1, sizeof(*writer));

	/* The time in the header would make equal inputs differ: zlib leaves it 0. */
	if (writer && deflateInit2(&writer->zip, Z_BEST_SPEED, Z_DEFLATED, GZIP_ONLY, 8,
				   Z_DEFAULT_STRATEGY) != Z_OK) {
		free(writer);
		return NULL;
	}
	if (writer)
		writer->stream = stream;
	return writer;
}

/* Compress what there is, and what zlib holds back where `flush` says so. */
static int deflate_all(struct np_gz_writer *writer, int flush, struct np_err *err)
{
	do {
		size_t made;

		writer->zip.next_out = writer->room;
		writer->zip.avail_out = sizeof(writer->room);
		(void)deflate(&writer->zip, flush);
		made = sizeof(writer->room) - writer->zip.avail_out;
		if (fwrite(writer->room, 1, made, writer->stream) != made)
			return np_fail(err, NP_E_IO, "cannot write: %s", strerror(errno));
	} while (writer->zip.avail_out == 0);
	return NP_OK;
}

int np_gz_write(struct np_gz_writer *writer, const void *bytes, size_t length, struct np_err *err)
{
	int rc = NP_OK;

	while (length > 0 && rc == NP_OK) {
		size_t part = length < UINT_MAX ? length : UINT_MAX;

		writer->zip.next_in = bytes;
		writer->zip.avail_in = (uInt)part;
		rc = deflate_all(writer, Z_NO_FLUSH, err);
		bytes = (const char *)bytes + part;
		length -= part;
	}
	return rc;
}

int np_gz_writer_end(struct np_gz_writer *writer, struct np_err *err)
{
	writer->zip.avail_in = 0;
	return deflate_all(writer, Z_FINISH, err);
}

void np_gz_writer_free(struct np_gz_writer *writer)
{
	if (!writer)
		return;
	(void)deflateEnd(&writer->zip);
	free(writer);
}

int np_gz_pack(const void *bytes, size_t length, struct np_bytes *ret, struct np_err *err)
{
	uLongf made = compressBound((uLong)length);
	uint8_t *room = malloc(made);
	struct np_bytes_writer writer = { .bytes = *ret };
	int rc = room ? compress2(room, &made, bytes, (uLong)length, Z_BEST_SPEED) : Z_MEM_ERROR;

	if (rc == Z_OK)
		np_bytes_put_raw(&writer, room, made);
	free(room);
	*ret = writer.bytes;
	return rc == Z_OK ? np_bytes_written(&writer, "compressed bytes", err)
			  : np_fail_nomem(err, "compressed bytes");
}
