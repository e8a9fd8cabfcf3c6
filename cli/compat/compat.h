/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMPAT_H
#define NP_COMPAT_H

/*
 * Command lines of other tools
 * ============================
 *
 * People who come from msprof-analyze or MindSpeed keep their scripts. This module
 * rewrites such a command line into ours before anything reads it: words come in,
 * words go out. compat.c has the one table of old spellings; each is another
 * spelling of ours, is ignored with a note, or is refused with the way to go.
 * Nothing is swallowed silently.
 *
 *	msprof-analyze -m hccl_sum -d D --top_num 5	cluster -m hccl_sum -d D --top-num 5
 *	compare -d NEW -bp BASE				compare --vendor-files --view … BASE NEW
 *	advisor computation -d D -l cn			advisor --vendor-files --dimension …
 *
 * A spelling that made the old tool write files gives --vendor-files, which does so
 * here; without it files go where ours go.
 */

#include "npuprof/arena.h"
#include "npuprof/err.h"

struct compat_words {
	const char **item;
	size_t count;
	size_t capacity;
};

struct compat_line {
	struct compat_words words; /* ours, the command first */
	struct compat_words notes; /* of what is ignored, one line each */
	bool quiet;                /* -q: notes are not wanted */
	bool agent;                /* --agent: the answer is one line of JSON */
	struct np_arena *arena;    /* of both, as far as they are not of argv */
};

/*
 * Rewrite `argv`, which follows the name of the program; `program` is that name as
 * it was called. NP_E_USAGE with the way to go for what has no equivalent. In every
 * case compat_release() is due.
 */
int compat_translate(const char *program, int argc, const char *const *argv,
		     struct compat_line *ret, struct np_err *err) NP_MUST_USE;
void compat_release(struct compat_line *line);

#endif /* NP_COMPAT_H */
