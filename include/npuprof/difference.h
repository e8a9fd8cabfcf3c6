/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DIFFERENCE_H
#define NP_DIFFERENCE_H

#include "npuprof/jsonout.h"

/*
 * Where the difference between two runs comes from
 * ================================================
 *
 * For commands that show it among other things: both runs are loaded and compared as
 * `compare` does by default.
 */

struct np_common;

/*
 * The member "difference": base, warnings, verdict, causes, step, waterfall and ranks of
 * npuprof.compare/1. `common` gives threads and quietness. NP_E_USAGE for what is not there.
 */
int np_difference_put(struct np_jsonout *out, const char *base, const char *path,
		      const struct np_common *common, struct np_err *err) NP_MUST_USE;

#endif /* NP_DIFFERENCE_H */
