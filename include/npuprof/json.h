/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_JSON_H
#define NP_JSON_H

#include "npuprof/err.h"

/*
 * Reading JSON
 * ============
 *
 * For small files that are wanted as a whole: profiler_info_N.json,
 * profiler_metadata.json, the values of META_DATA, rules. Traces are far too
 * large for this; they are scanned (scan.h).
 *
 * A document is a tree of nodes. The caller owns the document and frees it;
 * every other node is borrowed from it and lives as long as it does. A document
 * that is only read may be shared between threads.
 *
 * Getters take any node, also NULL, and say "no" for one of the wrong type, so
 * that a path through optional members needs one check at its end:
 *
 *	if (!np_json_integer(np_json_member(np_json_member(doc, "a"), "b"), &b))
 *		b = NP_UNKNOWN;
 *
 * Keys that occur twice keep the first one's place and the last one's value.
 * Refused are: nesting deeper than 2048, NaN and Infinity, integers beyond
 * int64_t and reals beyond double, invalid UTF-8, NUL in a text, and anything
 * after the document. A byte order mark in front of it is skipped.
 */
struct np_json;

enum np_json_type {
	NP_JSON_NONE, /* there is no such node */
	NP_JSON_NULL,
	NP_JSON_BOOL,
	NP_JSON_INTEGER,
	NP_JSON_REAL,
	NP_JSON_TEXT,
	NP_JSON_ARRAY,
	NP_JSON_OBJECT,
};

/*
 * Read a file, which may be compressed with gzip. NP_E_NOTFOUND if it is missing or has no content,
 * NP_E_FORMAT if it is damaged, larger than `max_bytes` or not a regular file; what is wrong with
 * its text is reported as "path:line:column: reason".
 */
int np_json_read_file(const char *path, size_t max_bytes, struct np_json **ret, struct np_err *err)
	NP_MUST_USE;

/*
 * Read a text; any kind of value may stand at the top. `what` takes the place of
 * the path in the description of a failure.
 */
int np_json_parse(const char *text, size_t length, const char *what, struct np_json **ret,
		  struct np_err *err) NP_MUST_USE;

/* Free a document, never a borrowed node. NULL is allowed. */
/*
 * JSON as people keep it: with comments and with a comma after the last element
 *
 * Both are replaced by blanks in place, so that what is left is plain JSON and a
 * complaint about it still names the right line and column. Comments run from
 * two slashes to the end of the line or between slash-star and star-slash; a
 * comment that never ends is left alone, for the parser to refuse.
 */
void np_json_relax(char *text, size_t length);

void np_json_free(struct np_json *doc);
void np_json_freep(struct np_json **doc);

enum np_json_type np_json_type(const struct np_json *node);

/* The value of a member of an object, or NULL. */
const struct np_json *np_json_member(const struct np_json *object, const char *key);

/* The `index`th element of an array, counted from 0, or NULL. */
const struct np_json *np_json_item(const struct np_json *array, size_t index);

/* Number of elements of an array or of members of an object; 0 for anything else. */
size_t np_json_count(const struct np_json *node);

/*
 * Walk over the members of an object in the order of the file:
 *
 *	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
 *
 *	while (np_json_next(object, &entry))
 *		use(entry.key, entry.value);
 */
struct np_json_entry {
	const char *key;
	const struct np_json *value;
	void *position; /* private */
};

#define NP_JSON_ENTRY_INIT ((struct np_json_entry){ .key = NULL })

bool np_json_next(const struct np_json *object, struct np_json_entry *entry);

/* The text of a string, or NULL. */
const char *np_json_text(const struct np_json *node);

/*
 * A number that is whole, written as integer, as real or as decimal text: old
 * profilers write rank ids as numbers and new ones as strings. False, with `ret`
 * untouched, for anything else and for what int64_t or NP_UNKNOWN has no room for.
 */
bool np_json_integer(const struct np_json *node, int64_t *ret);

/* Any number, but no text. */
bool np_json_real(const struct np_json *node, double *ret);

/* True or false, but no number. */
bool np_json_bool(const struct np_json *node, bool *ret);

#endif /* NP_JSON_H */
