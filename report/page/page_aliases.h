/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PAGE_ALIASES_H
#define NP_PAGE_ALIASES_H

/*
 * What stands for names in files that leave the house: those of hosts, of the run and of captures
 * become host-0 and the like, and of any other path the last part stays.
 */

#include "npuprof/buf.h"
#include "npuprof/vec.h"

struct np_memory;
struct np_run;

/* A text and what stands for it. */
struct page_alias {
	const char *name;
	char instead[32];
};

struct page_aliases {
	NP_VEC(struct page_alias) list; /* the longest first */
};

/*
 * Of a run, its memory snapshots, what the user called it and, if not NULL, the base of a
 * comparison; they outlive it.
 */
int page_aliases_find(const struct np_run *run, const struct np_memory *memory, const char *input,
		      const char *base, struct page_aliases *ret, struct np_err *err) NP_MUST_USE;

/* Append a text, which begins a word, without what names somebody. */
void page_aliases_put(struct np_buf *buf, const struct page_aliases *aliases, const char *text,
		      size_t length);
void page_aliases_release(struct page_aliases *aliases);

#endif /* NP_PAGE_ALIASES_H */
