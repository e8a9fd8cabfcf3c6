/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DIFFERENCE_H
#define NP_DIFFERENCE_H

#include "npuprof/analysis.h"
#include "npuprof/jsonout.h"

/*
 * Where the difference between two runs comes from
 * ================================================
 *
 * For commands that have a run at hand and show what changed among other things: the base is
 * loaded and both are compared as `compare` does by default. The run at hand is only borrowed,
 * and has to be loaded with np_difference_framework_op, so that its kernels are summed. A
 * difference belongs to one thread at a time.
 */

struct np_common;
struct np_difference;

struct np_difference_options {
	const char *base;               /* the directory */
	const char *input;              /* that of the run at hand, as shown */
	const char *fail_on;            /* conditions of `compare --fail-on`; NULL: no gate */
	const struct np_common *common; /* threads, quietness, what is chosen of the base too */
};

/* np_common.kernel_framework_op of the run at hand. */
bool np_difference_framework_op(const char *name);

/* NP_E_USAGE for conditions that are none: asked before anything is read. */
int np_difference_check(const char *fail_on, struct np_err *err) NP_MUST_USE;

/* NP_E_USAGE for a base that is not there. `analysis` has to live longer. */
int np_difference_new(struct np_analysis *analysis, const struct np_difference_options *options,
		      struct np_difference **ret, struct np_err *err) NP_MUST_USE;
void np_difference_free(struct np_difference *difference);

/* The base, for what could not be used of it. */
const struct np_run *np_difference_base(const struct np_difference *difference);

/* Did the gate trip? */
bool np_difference_trips(const struct np_difference *difference);

/*
 * The member "difference": base, warnings, verdict, causes, step, waterfall, ranks and, where
 * there is one, gate of npuprof.compare/1.
 */
void np_difference_put(struct np_jsonout *out, const struct np_difference *difference);

#endif /* NP_DIFFERENCE_H */
