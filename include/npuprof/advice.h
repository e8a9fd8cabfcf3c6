/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVICE_H
#define NP_ADVICE_H

#include "npuprof/analysis.h"
#include "npuprof/jsonout.h"
#include "npuprof/workers.h"

/*
 * What the advisor finds in a run
 * ===============================
 *
 * For commands that show findings among other things. All rules of the packs beside the
 * program are applied; what the command `advisor` can change about that it alone does.
 */
struct np_advice_options {
	bool chinese;
	size_t evidence_rows; /* of a finding, at most; 0: all */
	struct np_workers workers;
	/* Filled from the same reading of the ranks, empty before; NULL: not wanted. */
	struct np_frequencies *frequencies;
};

struct np_advice;

/* What SQL in rules may use. Once, before anything opens a database. */
void np_advice_set_up(void);

/* What of the ranks could not be read for it is noted in the run. */
int np_advice_new(const struct np_analysis *analysis, const struct np_advice_options *options,
		  struct np_advice **ret, struct np_err *err) NP_MUST_USE;
void np_advice_free(struct np_advice *advice);

/* The members "total", "findings" and "rules" of npuprof.advisor/1, in an open object. */
int np_advice_put(struct np_jsonout *out, const struct np_advice *advice, struct np_err *err)
	NP_MUST_USE;

/*
 * What a rule looks for, needs, counts and advises, for people, on lines of this width. NP_E_USAGE
 * for an id that is none, with the one that may be meant; NULL lists all ids.
 */
int np_advice_explain(const char *id, size_t width, struct np_buf *ret, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_ADVICE_H */
