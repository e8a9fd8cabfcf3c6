/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_STRTAB_H
#define NP_STRTAB_H

#include "npuprof/err.h"

/*
 * Interned strings
 * ================
 *
 * Equal text has an equal id: operator names occur on every rank and are kept
 * once. One table serves a whole run; all functions may be called from several
 * threads at once, and a text, once returned, stays where it is.
 *
 * Ids are numbered from 1 on as texts are added, and so depend on which thread
 * came first. Never sort by them and never show them: output must be the same for
 * any number of threads.
 */
typedef uint32_t np_str;

/* The id of "no text". np_strtab_text() gives "" for it. */
#define NP_STR_NONE ((np_str)0)

struct np_strtab;

struct np_strtab *np_strtab_new(void) NP_MUST_USE;
void np_strtab_free(struct np_strtab *table);
void np_strtab_freep(struct np_strtab **table);

/* Give the id of `length` bytes of text. The empty text has an id of its own, not NONE. */
int np_strtab_add(struct np_strtab *table, const char *text, size_t length, np_str *ret,
		  struct np_err *err) NP_MUST_USE;

const char *np_strtab_text(const struct np_strtab *table, np_str id);
size_t np_strtab_length(const struct np_strtab *table, np_str id);

/*
 * Lists of whole numbers are kept once as well, such as the members of a communicator, which
 * every one of them names. They are told by the runs they consist of: few, where members are
 * evenly spaced.
 */
struct np_list_run {
	int32_t first;
	int32_t step;
	uint32_t count;
};

/* More numbers than that are no list but damage. */
#define NP_LIST_MOST ((uint32_t)1 << 20)

/* The list of these runs, whose numbers the caller has checked to fit. */
int np_strtab_list(struct np_strtab *table, const struct np_list_run *runs, size_t count,
		   const int32_t **ret, size_t *ret_count, struct np_err *err) NP_MUST_USE;

/* Number of distinct texts; lists are among them. */
size_t np_strtab_count(const struct np_strtab *table);

#endif /* NP_STRTAB_H */
