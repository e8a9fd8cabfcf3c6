/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_JOIN_RANK_H
#define NP_JOIN_RANK_H

/*
 * Several files say the same of a rank: how what a further file says is joined to what is known,
 * and compared with it.
 */

#include "core/model/vendor/values.h"
#include "npuprof/rank.h"
#include "npuprof/strtab.h"

/*
 * Compare what was derived with what the vendor's file says, and note on `rank`
 * where they disagree. What only one of them has is no disagreement.
 */
void np_load_check(struct np_rank *rank, const struct np_rank *file, const char *path,
		   const struct np_strtab *strings);

/*
 * Take what a further file has, `fresh`, into the rank where it has nothing or
 * less, and compare the rest. `fresh` is what is left over.
 */
int np_load_join(struct np_rank *rank, struct np_rank *fresh, const char *path,
		 const struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

#endif /* NP_JOIN_RANK_H */
