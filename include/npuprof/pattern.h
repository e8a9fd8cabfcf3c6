/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PATTERN_H
#define NP_PATTERN_H

#include "npuprof/buf.h"
#include "npuprof/err.h"

/*
 * Patterns (Perl-compatible regular expressions)
 * ==============================================
 *
 * Patterns come from rule files and command lines, and texts from profiles:
 * neither is trusted. Every match has a limit on the work and on the memory it
 * may take, so that a pattern which backtracks without end is an error rather
 * than a hang. Pattern and text are UTF-8; a text that is not is matched as it
 * would be with U+FFFD in place of its invalid bytes.
 *
 * A pattern belongs to one thread: matching writes into it.
 */
struct np_pattern;

enum np_pattern_flags {
	NP_PATTERN_NOCASE = 1 << 0, /* letters match in either case */
	NP_PATTERN_WHOLE = 1 << 1,  /* the whole text must match */
};

/*
 * Compile a pattern. NP_E_FORMAT when it is wrong, with what and where in `err`
 * and the byte offset of the place in `ret_offset`, which may be NULL.
 */
int np_pattern_compile(const char *text, size_t length, unsigned flags, struct np_pattern **ret,
		       size_t *ret_offset, struct np_err *err) NP_MUST_USE;
void np_pattern_free(struct np_pattern *pattern);
void np_pattern_freep(struct np_pattern **pattern);

/* Number of groups that capture. */
size_t np_pattern_groups(const struct np_pattern *pattern);

/* A part of the text that was matched. */
struct np_capture {
	size_t begin; /* byte offset; SIZE_MAX for a group that took no part */
	size_t end;
};

/*
 * Find the first match at or behind byte `from`. True and false come back in
 * `ret`; NP_E_RANGE when a limit was reached, NP_E_NOMEM without memory. The
 * captures are those of this match until the next one.
 */
int np_pattern_match(struct np_pattern *pattern, const char *text, size_t length, size_t from,
		     bool *ret, struct np_err *err) NP_MUST_USE;

/* Group `group` of the last match (0 is all of it); false when it took no part or does not exist.
 */
bool np_pattern_capture(const struct np_pattern *pattern, size_t group, struct np_capture *ret);

/*
 * Append `text` with every match replaced. In the replacement $1 … $9 and
 * ${10} are groups, $0 is the match and $$ a dollar sign. NP_E_RANGE as soon as the
 * result has more than `limit` bytes.
 */
int np_pattern_replace(struct np_pattern *pattern, const char *text, size_t length,
		       const char *replacement, size_t replacement_length, size_t limit,
		       struct np_buf *buf, struct np_err *err) NP_MUST_USE;

#endif /* NP_PATTERN_H */
