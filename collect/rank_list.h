/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RANK_LIST_H
#define NP_RANK_LIST_H

#include "npuprof/err.h"

/*
 * Which ranks: a list as users of MindSpeed write it, and some ways more
 * =====================================================================
 *
 * Words separated by commas or white space, each one of
 *
 *	7, 0-7         a rank, a range
 *	all, -1        every rank
 *	every:8        ranks 0, 8, 16 …
 *	node-leaders   the first rank of every host
 *
 * The list is the union of its words.
 */

/* Is it a list? NP_E_USAGE, quoting the word that is wrong, if not. */
int np_rank_list_check(const char *text, struct np_err *err) NP_MUST_USE;

/*
 * Mark the ranks of the list in `ret_chosen[world]`. `leader[r]` says whether r
 * is the first of its host. A rank the job does not have fails with NP_E_USAGE.
 */
int np_rank_list_choose(const char *text, const bool *leader, int64_t world, bool *ret_chosen,
			struct np_err *err) NP_MUST_USE;

/*
 * Is this rank in the list? `world` -1: not known, and then ranks it does not have are not
 * noticed. What is no list has no ranks.
 */
bool np_rank_list_has(const char *text, int64_t rank, int64_t world, bool is_leader);

/* Could this word of a command line be a part of such a list? */
bool np_rank_list_is_word(const char *word);

#endif /* NP_RANK_LIST_H */
