/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_NAMED_H
#define HIST_NAMED_H

#include "hist_series.h"

/*
 * Whom the verdicts of several runs name
 * ======================================
 *
 * A rank that is placed on another machine every day is not the culprit, the machine is: where more
 * runs name one device than one rank, that is who they name.
 */
struct hist_named {
	np_str what;    /* "rank:5", "stage:1"; NP_STR_NONE: they name nothing, or not the same */
	np_str host;    /* of a device, which is named whatever rank was on it; NP_STR_NONE */
	int64_t device; /* of that host */
};

/* More than half of the runs [begin, end) of a series. */
int hist_named_in(const struct hist_store *store, const struct hist_series *series, size_t begin,
		  size_t end, struct hist_named *ret, struct np_err *err) NP_MUST_USE;

bool hist_named_any(const struct hist_named *named);
bool hist_named_same(const struct hist_named *a, const struct hist_named *b);

/* The machine of the rank that `what` names in a run; NULL: of none, or it is not known. */
const struct hist_rank *hist_named_rank(const struct hist_store *store, const struct hist_run *run,
					np_str what);

#endif /* HIST_NAMED_H */
