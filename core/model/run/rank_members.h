/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RANK_MEMBERS_H
#define NP_RANK_MEMBERS_H

#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * Members of a communicator as runs of equal steps: those of a job that was laid out by rule are
 * one or two, whatever its size.
 */
struct np_member_runs {
	NP_VEC(struct np_list_run) list;
};

/* Replace the runs by those of `members`; equal lists have equal runs. */
int members_to_runs(const int32_t *members, size_t count, struct np_member_runs *runs,
		    struct np_err *err) NP_MUST_USE;

#endif /* NP_RANK_MEMBERS_H */
