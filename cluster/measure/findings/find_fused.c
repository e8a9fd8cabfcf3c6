/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that communicate while they compute: what is waiting in them nobody can tell. */
#include "findings_parts.h"

#include "npuprof/activity.h"
#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

/* Less of the steps is passed over. */
#define FUSED_WORTH 0.03

/* Types that are named. */
#define MOST_NAMED 3

struct fused_type {
	np_str type;
	np_ns ns;
};

struct fused {
	const struct np_run *run;
	struct np_idmap
		*types; /* np_str of a type → index + 1 of the sums; 0: it is none of them */
	NP_VEC(struct fused_type) sums;
	np_ns all;
	np_ns steps; /* Σ of all steps of all ranks */
};

/* Parts of the names of such types, whatever the case: fused multiplications, and exchanges of
 * tokens. */
static bool is_fused(const char *type)
{
	static const char *const parts[] = { "matmulallreduce",
					     "allgathermatmul",
					     "matmulreducescatter",
					     "matmulalltoall",
					     "alltoallvgroupedmatmul",
					     "alltoallallgatherbatch",
					     "matmulreducescatteralltoall",
					     "moedistributedispatch",
					     "moedistributecombine",
					     "dispatchffncombine" };

	for (size_t i = 0; type && i < NP_COUNT(parts); i++) {
		if (strcasestr(type, parts[i]))
			return true;
	}
	return false;
}

static int sum_of(struct fused *all, np_str type, np_ns **ret, struct np_err *err)
{
	uint32_t index = np_idmap_get(all->types, type);

	*ret = NULL;
	if (index == NP_IDMAP_NONE) {
		index = 0;
		if (is_fused(np_run_text(all->run, type))) {
			struct fused_type *added = np_vec_add(&all->sums, err);

			if (!added)
				return NP_E_NOMEM;
			*added = (struct fused_type){ .type = type };
			index = (uint32_t)all->sums.count;
		}
		if (np_idmap_set(all->types, type, index, err) < 0)
			return NP_E_NOMEM;
	}
	if (index > 0)
		*ret = &all->sums.item[index - 1].ns;
	return NP_OK;
}

static int see_rank(struct fused *all, const struct np_rank *rank, struct np_err *err)
{
	const struct np_activity *activity = &rank->activity;
	int rc = NP_OK;

	for (size_t i = 0; i < activity->cells.count; i++)
		all->steps += activity->cells.item[i].end - activity->cells.item[i].begin;
	for (size_t i = 0; i < activity->shares.count && rc == NP_OK; i++) {
		const struct np_share *share = &activity->shares.item[i];
		np_ns *sum;

		if (np_leaf_kind(share->leaf) != NP_LEAF_COMPUTE ||
		    np_leaf_of(share->leaf) == NP_LEAF_NOBODY)
			continue;
		rc = sum_of(all, np_leaf_of(share->leaf), &sum, err);
		if (rc == NP_OK && sum) {
			*sum += share->ns;
			all->all += share->ns;
		}
	}
	return rc;
}

/* The types that take the most, the longest first. */
static void name_types(const struct fused *all, struct np_buf *names)
{
	np_ns last = NP_NS_MAX;

	for (size_t named = 0; named < MOST_NAMED; named++) {
		const char *next = NULL;
		np_ns most = 0;

		for (size_t i = 0; i < all->sums.count; i++) {
			if (all->sums.item[i].ns > most && all->sums.item[i].ns < last) {
				most = all->sums.item[i].ns;
				next = np_run_text(all->run, all->sums.item[i].type);
			}
		}
		if (!next)
			return;
		np_buf_printf(names, "%s%s", named > 0 ? ", " : "", next);
		last = most;
	}
}

static int tell(const struct fused *all, struct np_job_findings *findings, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf names = NP_BUF_INIT;

	name_types(all, &names);
	if (np_buf_check(&names, err) < 0)
		return NP_E_NOMEM;
	return findings_add(findings, NP_JOB_FUSED, err,
			    "kernels that communicate while they compute take %.0f %% of the steps"
			    " (%s): what ranks wait for each other in them shows as computing, so"
			    " that a slow rank may gain more than is said, or not be named",
			    100 * (double)all->all / (double)all->steps, names.text)
		       ? NP_OK
		       : NP_E_NOMEM;
}

int np_fused_find(const struct np_run *run, struct np_job_findings *ret, struct np_err *err)
{
	struct fused all = { .run = run, .types = np_idmap_new() };
	size_t ranks = 0;
	int rc = all.types ? NP_OK : np_fail_nomem(err, "what is strange about a job");

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (!run->ranks[i])
			continue;
		ranks++;
		rc = see_rank(&all, run->ranks[i], err);
	}
	if (rc == NP_OK && ranks > 1 && all.steps > 0 &&
	    (double)all.all >= FUSED_WORTH * (double)all.steps)
		rc = tell(&all, ret, err);
	np_idmap_free(all.types);
	np_vec_release(&all.sums);
	return rc;
}
