/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLUSTER_FIXTURE_H
#define NP_CLUSTER_FIXTURE_H

/* Runs built by hand, as np_load_run() would leave them, for tests of what is measured over ranks.
 */

#include "np_test.h"

#include "npuprof/arena.h"
#include "npuprof/cluster.h"
#include "npuprof/comm_tasks.h"
#include "npuprof/run.h"

static inline np_str intern(struct np_run *run, const char *text)
{
	np_str id = NP_STR_NONE;

	if (text)
		assert_int_equal(np_strtab_add(run->strings, text, strlen(text), &id, NULL), NP_OK);
	return id;
}

/* Add ranks in ascending order; `loaded` false is one that could not be read. */
static inline struct np_rank *add_rank(struct np_run *run, int32_t id, bool loaded)
{
	struct np_source_files *source = np_vec_add(&run->sources, NULL);
	size_t count = run->sources.count;
	struct np_rank **ranks = realloc(run->ranks, count * sizeof(*ranks));

	assert_non_null(source);
	assert_non_null(ranks);
	source->rank = id;
	run->ranks = ranks;
	ranks[count - 1] = loaded ? np_rank_new(id, "/rank") : NULL;
	return ranks[count - 1];
}

/* A communicator of a rank; `members` may be NULL. */
static inline uint32_t add_group(struct np_run *run, struct np_rank *rank, uint64_t hash,
				 const char *pg_name, const int32_t *members, size_t count)
{
	struct np_group *group;
	uint32_t index;

	assert_int_equal(np_rank_group(rank, hash, &index, NULL), NP_OK);
	group = &rank->groups.item[index];
	group->pg_name = intern(run, pg_name);
	if (members) {
		int32_t *copy = np_arena_array(rank->arena, count, sizeof(*members));

		assert_non_null(copy);
		memcpy(copy, members, count * sizeof(*members));
		group->members = copy;
		group->member_count = count;
	}
	return index;
}

static inline uint32_t add_step(struct np_run *run, struct np_rank *rank, const char *id)
{
	struct np_step *step = np_vec_add(&rank->steps, NULL);

	assert_non_null(step);
	step->id = intern(run, id);
	return (uint32_t)(rank->steps.count - 1);
}

static inline struct np_comm_op *add_op(struct np_rank *rank, uint32_t group, bool p2p)
{
	struct np_comm_op *op = np_vec_add(&rank->ops, NULL);

	assert_non_null(op);
	op->group = group;
	op->step = rank->steps.count ? 0 : NP_NO_STEP;
	op->p2p = p2p;
	return op;
}

static inline void add_link(struct np_rank *rank, uint32_t group, int32_t src, int32_t dst)
{
	struct np_link *link = np_vec_add(&rank->links, NULL);

	assert_non_null(link);
	link->group = group;
	link->pick = NP_LINK_TOTAL;
	link->src = src;
	link->dst = dst;
}

static inline struct np_cluster *build(const struct np_run *run)
{
	struct np_cluster *cluster = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_cluster_build(run, &cluster, &err), err);
	return cluster;
}

#define LIST(...) \
	(const int32_t[]){ __VA_ARGS__ }, sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)

static inline void assert_list(const int32_t *actual, size_t actual_count, const int32_t *expected,
			       size_t count)
{
	assert_int_equal(actual_count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(actual[i], expected[i]);
}

#define with_run     NP_CLEANUP(np_run_freep) struct np_run
#define with_cluster NP_CLEANUP(np_cluster_freep) struct np_cluster

#endif /* NP_CLUSTER_FIXTURE_H */
