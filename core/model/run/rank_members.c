/* SPDX-License-Identifier: Apache-2.0 */
/* Members of communicators as runs of equal steps, and shared by all ranks of a run. */
#include "rank_members.h"

#include "npuprof/arena.h"
#include "npuprof/rank.h"

int members_to_runs(const int32_t *members, size_t count, struct np_member_runs *runs,
		    struct np_err *err)
{
	runs->list.count = 0;
	for (size_t i = 0; i < count;) {
		struct np_list_run *run = np_vec_add(&runs->list, err);
		int64_t step = i + 1 < count ? (int64_t)members[i + 1] - members[i] : 0;
		size_t end = i + 1;

		if (!run)
			return NP_E_NOMEM;
		/* Out of order, or across all numbers there are: one by one. */
		if (step < 0 || step > INT32_MAX)
			step = 0;
		else
			while (end < count && (int64_t)members[end] - members[end - 1] == step)
				end++;
		*run = (struct np_list_run){ members[i], end > i + 1 ? (int32_t)step : 0,
					     (uint32_t)(end - i) };
		i = end;
	}
	return NP_OK;
}

static int share(struct np_group *group, struct np_strtab *strings, struct np_member_runs *runs,
		 struct np_err *err)
{
	int rc = members_to_runs(group->members, group->member_count, runs, err);

	return rc < 0 ? rc
		      : np_strtab_list(strings, runs->list.item, runs->list.count, &group->members,
				       &group->member_count, err);
}

int np_rank_share_members(struct np_rank *rank, struct np_strtab *strings, struct np_err *err)
{
	struct np_member_runs runs = { 0 };
	struct np_arena *empty = np_arena_new();
	int rc = empty ? NP_OK : np_fail_nomem(err, "members of a communicator");

	for (size_t i = 0; i < rank->groups.count && rc == NP_OK; i++) {
		if (rank->groups.item[i].members)
			rc = share(&rank->groups.item[i], strings, &runs, err);
	}
	/* Nothing else is in it. */
	if (rc == NP_OK) {
		np_arena_free(rank->arena);
		rank->arena = empty;
	} else {
		np_arena_free(empty);
	}
	np_vec_release(&runs.list);
	return rc;
}
