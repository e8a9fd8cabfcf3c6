/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_JSONOUT_H
#define NP_JSONOUT_H

#include "npuprof/buf.h"
#include "npuprof/err.h"
#include "npuprof/notes.h"

/*
 * Writing JSON
 * ============
 *
 * A streaming writer: results are written as they are walked, so that the
 * document of a thousand ranks never stands in memory. Two spaces of
 * indentation; objects and arrays opened with the _line variants stay on one
 * line. Invalid UTF-8 is written as U+FFFD, control characters
 * and marks that reorder text as \uNNNN.
 *
 *	np_jsonout_object(&out, NULL);
 *	np_jsonout_text(&out, "schema", "npuprof.cluster/1");
 *	np_jsonout_array(&out, "ranks");
 *	np_jsonout_integer(&out, NULL, 0);
 *	np_jsonout_end(&out);
 *	np_jsonout_end(&out);
 *	rc = np_jsonout_finish(&out, err);
 *
 * `key` is NULL inside arrays and at the top. Misuse (a key in an array, an end
 * too many) is a programming error and asserts.
 */
#define NP_JSONOUT_DEPTH 32

struct np_jsonout {
	void *stream; /* FILE *, or NULL to collect in `buf` */
	struct np_buf buf;
	int depth;
	struct {
		bool array;
		bool line;
		bool used;
	} level[NP_JSONOUT_DEPTH];
	int write_errno; /* of the first write that failed, or 0 */
};

void np_jsonout_init(struct np_jsonout *out, void *stream);
void np_jsonout_release(struct np_jsonout *out);

void np_jsonout_object(struct np_jsonout *out, const char *key);
void np_jsonout_object_line(struct np_jsonout *out, const char *key);
void np_jsonout_array(struct np_jsonout *out, const char *key);
void np_jsonout_array_line(struct np_jsonout *out, const char *key);
void np_jsonout_end(struct np_jsonout *out);

void np_jsonout_null(struct np_jsonout *out, const char *key);
void np_jsonout_bool(struct np_jsonout *out, const char *key, bool value);

/* These write null for NP_UNKNOWN, for what is not finite, and for NULL. */
void np_jsonout_integer(struct np_jsonout *out, const char *key, int64_t value);
void np_jsonout_real(struct np_jsonout *out, const char *key, double value);
void np_jsonout_text(struct np_jsonout *out, const char *key, const char *text);

/* A text that was put together: where memory ran out for it, the document fails. */
void np_jsonout_made(struct np_jsonout *out, const char *key, const struct np_buf *text);

/* In a larger unit: a real number. */
void np_jsonout_scaled(struct np_jsonout *out, const char *key, int64_t value, double unit);

void np_jsonout_bytes(struct np_jsonout *out, const char *key, const char *text, size_t length);

/* A text with its quotes, escaped, for who writes JSON by other means. */
void np_jsonout_quote(struct np_buf *buf, const char *text, size_t length);

/* Write a final newline and what is left; NP_E_IO or NP_E_NOMEM if anything failed on the way. */
int np_jsonout_finish(struct np_jsonout *out, struct np_err *err) NP_MUST_USE;

/* The notes of one kind as objects of an open array: path, rank, what, reason. */
void np_jsonout_notes(struct np_jsonout *out, const struct np_notes *notes, enum np_note_kind kind);

#endif /* NP_JSONOUT_H */
