/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DETAILS_H
#define NP_DETAILS_H

#include "npuprof/err.h"

/*
 * Details of many ranks
 * =====================
 *
 * Where several processes have loaded a run, each reads the details of its ranks
 * too: say before a pass over ranks which are about to be asked for, in about this
 * order, and np_detail_load() waits for those of other processes, once for each,
 * until the pass is ended. Ranks that were not loaded and wants of 0 are left out.
 * For one process alone it does nothing and gives NULL.
 */

struct np_run;

struct np_detail_want {
	const struct np_run *run;
	size_t index;
	unsigned wants;
};

struct np_details;
int np_details_begin(const struct np_detail_want *list, size_t count, size_t threads,
		     struct np_details **ret, struct np_err *err) NP_MUST_USE;
/* NULL is allowed. */
void np_details_end(struct np_details *details);
void np_details_endp(struct np_details **details);

/* All ranks of a run with the same wants. */
int np_details_begin_run(const struct np_run *run, unsigned wants, size_t threads,
			 struct np_details **ret, struct np_err *err) NP_MUST_USE;

#endif /* NP_DETAILS_H */
