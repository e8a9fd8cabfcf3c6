/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_MATCHER_H
#define NP_ADVISOR_MATCHER_H

#include "npuprof/buf.h"
#include "npuprof/pattern.h"
#include "npuprof/vec.h"

/*
 * Patterns over tokens
 * ====================
 *
 * Each token becomes one character, and a pattern, translated alike, is matched
 * over the text by PCRE2. All characters are four bytes long, so that a place in the
 * text is the number of a token. Tokens that no pattern names share one character.
 *
 * A pattern is tokens joined by '-'. ( ) groups, | separates alternatives, ?, *, +
 * and {m,n} repeat what stands before them, a single '.' is any token; a
 * backslash makes any of these part of a token. Several patterns are given as a
 * JSON array, or as an object of name: pattern or name: [patterns].
 */
#define MATCHER_WIDTH 4U

/* Of tokens that no pattern names. */
#define MATCHER_OTHER 0x10000U

struct sequence {
	char *name; /* of the rule */
	struct np_pattern *pattern;
};

struct matcher {
	char *source; /* what was given as patterns */
	NP_VEC(char *)
	tokens; /* sorted after all patterns are read; code = MATCHER_OTHER + 1 + index */
	NP_VEC(char *) texts; /* patterns */
	NP_VEC(struct sequence) list;
};

int matcher_new(const char *text, struct matcher **ret, struct np_err *err) NP_MUST_USE;
void matcher_free(struct matcher *matcher);
void matcher_freep(struct matcher **matcher);

/* The character that stands for a token. */
uint32_t matcher_code(const struct matcher *matcher, const char *token);

/* Append it. */
void matcher_add_code(struct np_buf *buf, uint32_t code);

#endif /* NP_ADVISOR_MATCHER_H */
