/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BYTES_H
#define NP_BYTES_H

#include "npuprof/err.h"

/*
 * Packed bytes
 * ============
 *
 * Numbers of variable length and texts, one behind the other, to be kept in a file
 * or sent to another process. A number takes seven bits of each byte, so that small
 * ones take one; a text stands behind its length.
 *
 *	struct np_bytes_writer writer = { 0 };
 *	np_bytes_put_number(&writer, 7);
 *	np_bytes_put_text(&writer, "seven");
 *	rc = np_bytes_written(&writer, "a message", err);
 *	...
 *	np_bytes_release(&writer.bytes);
 *
 * Writer and reader remember the first failure; what follows it does nothing, so
 * that only the end has to be checked. A reader never leaves its bytes.
 */
struct np_bytes {
	uint8_t *item;
	size_t count;
	size_t capacity;
};

void np_bytes_release(struct np_bytes *bytes);

/* --- writing --------------------------------------------------------------------------------- */

struct np_bytes_writer {
	struct np_bytes bytes;
	bool fixed;  /* they are the caller's and do not grow: what is more fails */
	bool failed; /* out of memory, or of the caller's bytes */
};

void np_bytes_put_number(struct np_bytes_writer *writer, uint64_t value);
/* Numbers near zero are short, on either side. */
void np_bytes_put_signed(struct np_bytes_writer *writer, int64_t value);
/* Bytes as they are, without their length. */
void np_bytes_put_raw(struct np_bytes_writer *writer, const void *bytes, size_t length);
/* A text may be NULL. */
void np_bytes_put_text(struct np_bytes_writer *writer, const char *text);

/* NP_OK, or that there was no memory for `what`; of fixed bytes, that there are too few. */
int np_bytes_written(const struct np_bytes_writer *writer, const char *what, struct np_err *err)
	NP_MUST_USE;

/* --- reading --------------------------------------------------------------------------------- */

struct np_bytes_reader {
	const uint8_t *at;
	const uint8_t *end;
	const char *problem; /* NULL while all is well; completes "it is damaged: ..." */
	bool out_of_memory;  /* this is the problem */
};

/* What is read does not hold together, or memory ran out: nothing more comes. */
void np_bytes_refuse(struct np_bytes_reader *reader, const char *problem);
void np_bytes_exhaust(struct np_bytes_reader *reader);

/* Each gives 0 or NULL after a failure. */
uint64_t np_bytes_get_number(struct np_bytes_reader *reader);
int64_t np_bytes_get_signed(struct np_bytes_reader *reader);
/* Pass over so many numbers of either kind, whatever they are. */
void np_bytes_skip_numbers(struct np_bytes_reader *reader, uint64_t count);
int32_t np_bytes_get_int32(struct np_bytes_reader *reader);
/* A number of at most `most`. */
uint64_t np_bytes_get_at_most(struct np_bytes_reader *reader, uint64_t most);
/* The next `count` times `size` bytes, where they stand. */
const void *np_bytes_get_raw(struct np_bytes_reader *reader, uint64_t count, size_t size);
/* Allocated; NULL for no text as well. */
char *np_bytes_get_text(struct np_bytes_reader *reader);
/* Likewise, where there must be one. */
char *np_bytes_get_some_text(struct np_bytes_reader *reader);

/* How many bytes are left: no honest count of what follows is larger. */
static inline uint64_t np_bytes_left(const struct np_bytes_reader *reader)
{
	return (uint64_t)(reader->end - reader->at);
}

#endif /* NP_BYTES_H */
