/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_GZ_H
#define NP_GZ_H

#include "npuprof/bytes.h"
#include "npuprof/err.h"

/*
 * Text files, plain or compressed, through a window
 * =================================================
 *
 * What csv.h and trace.h read from: a window slides over a file of any size. It
 * is as large as the largest piece its user must see at once, a row or an event,
 * and at least one block.
 *
 * A file that begins with the magic of gzip is decompressed on the way, all its
 * members one after the other; its name does not matter. A UTF-8 byte order mark
 * in front of the text is skipped.
 *
 * A source belongs to one thread at a time.
 */
struct np_gz;

/* Bytes that belong to somebody else, not NUL-terminated. bytes is NULL: there is nothing. */
struct np_slice {
	const char *bytes;
	size_t length;
};

/* Is the slice this text? */
static inline bool np_slice_is(struct np_slice slice, const char *text)
{
	size_t length = strlen(text);

	return slice.length == length && (length == 0 || memcmp(slice.bytes, text, length) == 0);
}

/* Does the slice begin with this text? */
static inline bool np_slice_begins(struct np_slice slice, const char *text)
{
	size_t length = strlen(text);

	return slice.length >= length && memcmp(slice.bytes, text, length) == 0;
}

/* This many zero bytes may be read behind a window: a scan needs no check for its end. */
#define NP_WINDOW_PAD 64

struct np_window {
	char *bytes;     /* the user may change them: they are read once */
	size_t length;   /* NP_WINDOW_PAD zero bytes follow */
	uint64_t offset; /* of the first byte in the (decompressed) file */
	bool ended;      /* the file has no bytes behind these */
};

/*
 * Open a file and fill the window for the first time. NP_E_NOTFOUND if it is
 * missing or has no content, NP_E_FORMAT if it is not a regular file.
 */
int np_gz_open(const char *path, struct np_gz **ret, struct np_window *window, struct np_err *err)
	NP_MUST_USE;

/*
 * The same for bytes in memory, which must live as long as the source. `what`
 * takes the place of the path. The window begins with `block` bytes, so that
 * tests can put its edge anywhere; 0 is the usual size.
 */
int np_gz_open_bytes(const void *bytes, size_t length, const char *what, size_t block,
		     struct np_gz **ret, struct np_window *window, struct np_err *err) NP_MUST_USE;

void np_gz_close(struct np_gz *gz);
void np_gz_closep(struct np_gz **gz);

/* The path, or what stands for it, for messages. */
const char *np_gz_path(const struct np_gz *gz);

/*
 * Forget the first `used` bytes and read until the window is full again; one that
 * is full and of which nothing is forgotten doubles. The bytes that stay may
 * move. Compressed data that is damaged or cut short is NP_E_FORMAT, reported when
 * everything in front of the damage has been given.
 */
int np_gz_more(struct np_gz *gz, size_t used, struct np_window *window, struct np_err *err)
	NP_MUST_USE;

/*
 * Writing
 * -------
 *
 * Compressed bytes to a FILE *, as they come. What cannot be written is found at the end.
 */
struct np_gz_writer;

struct np_gz_writer *np_gz_writer_new(void *stream) NP_MUST_USE;
int np_gz_write(struct np_gz_writer *writer, const void *bytes, size_t length, struct np_err *err)
	NP_MUST_USE;

/* Write the end of the file. */
int np_gz_writer_end(struct np_gz_writer *writer, struct np_err *err) NP_MUST_USE;

/* NULL is allowed. */
void np_gz_writer_free(struct np_gz_writer *writer);

/*
 * Bytes that are there as a whole as one stream of zlib (RFC 1950, not gzip), appended to *ret:
 * for formats that have compressed parts.
 */
int np_gz_pack(const void *bytes, size_t length, struct np_bytes *ret, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_GZ_H */
