/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_STRING_IDS_H
#define SYN_STRING_IDS_H

#include "npuprof/db.h"

/*
 * The strings of one database
 * ===========================
 *
 * CANN numbers its strings from 0; torch_npu adds its own from 1 << 28 and
 * those of memory files from 2 << 28 without looking at what is there, so that
 * one text may have several ids.
 */
enum syn_space {
	SYN_CANN,
	SYN_FRAMEWORK,
	SYN_MEMORY,
	SYN_SPACES,
};

struct syn_strings;

struct syn_strings *syn_strings_new(void) NP_MUST_USE;
void syn_strings_free(struct syn_strings *strings);

/* The id of a text in a space; the same for the same text. */
int syn_strings_id(struct syn_strings *strings, enum syn_space space, const char *text,
		   int64_t *ret, struct np_err *err) NP_MUST_USE;

/* Fill the table STRING_IDS. */
int syn_strings_write(const struct syn_strings *strings, struct np_db_writer *writer,
		      struct np_err *err) NP_MUST_USE;

#endif /* SYN_STRING_IDS_H */
