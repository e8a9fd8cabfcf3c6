/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a pipeline, found from its communicators. */
#include "npuprof/cluster.h"

#include "npuprof/arena.h"
#include "npuprof/idmap.h"
#include "npuprof/order.h"
#include "npuprof/run.h"

#include <strings.h>

/*
 * Stages of a pipeline
 * --------------------
 *
 * Ranks joined by point-to-point communicators of the pipeline form a chain,
 * one rank in each stage. A communicator that meets every chain in at most one
 * rank lies inside a stage; those that share a rank are parts of the same one.
 *
 * Sets are joined by union-find over dense indexes of ranks, which makes the
 * result independent of the order of the communicators.
 */
struct ranks {
	struct np_idmap *index; /* global rank → 0, 1, … */
	NP_VEC(int32_t) ids;
	NP_VEC(uint32_t) chain; /* parents */
	NP_VEC(uint32_t) stage;
	NP_VEC(uint8_t) in_stage;
};

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

static void unite(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = root_of(parent, a);
	b = root_of(parent, b);
	if (a < b)
		parent[b] = a;
	else
		parent[a] = b;
}

static int index_of(struct ranks *ranks, int32_t id, uint32_t *ret, struct np_err *err)
{
	uint32_t known = np_idmap_get(ranks->index, id);
	int32_t *slot;
	uint32_t *chain;
	uint32_t *stage;

	if (known != NP_IDMAP_NONE) {
		*ret = known;
		return NP_OK;
	}
	known = (uint32_t)ranks->ids.count;
	slot = np_vec_add(&ranks->ids, err);
	chain = np_vec_add(&ranks->chain, err);
	stage = np_vec_add(&ranks->stage, err);
	if (!slot || !chain || !stage || !np_vec_add(&ranks->in_stage, err))
		return NP_E_NOMEM;
	*slot = id;
	*chain = known;
	*stage = known;
	*ret = known;
	return np_idmap_set(ranks->index, id, known, err);
}

static const int32_t *members_of(const struct np_communicator *communicator, size_t *ret_count)
{
	*ret_count =
		communicator->members ? communicator->member_count : communicator->observed_count;
	return communicator->members ? communicator->members : communicator->observed;
}

static int index_all(struct ranks *ranks, const struct np_cluster *cluster, struct np_err *err)
{
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		size_t count;
		const int32_t *members = members_of(&cluster->communicators.item[i], &count);

		for (size_t j = 0; j < count; j++) {
			uint32_t index;
			int rc = index_of(ranks, members[j], &index, err);

			if (rc < 0)
				return rc;
		}
	}
	return NP_OK;
}

static bool is_pipeline(const struct np_cluster *cluster,
			const struct np_communicator *communicator)
{
	const char *name = np_run_text(cluster->run, communicator->pg_name);

	return communicator->p2p && name && strncasecmp(name, "pp", 2) == 0;
}

static void join(struct ranks *ranks, uint32_t *parent, const struct np_communicator *communicator)
{
	size_t count;
	const int32_t *members = members_of(communicator, &count);

	for (size_t i = 1; i < count; i++)
		unite(parent, np_idmap_get(ranks->index, members[0]),
		      np_idmap_get(ranks->index, members[i]));
}

static bool join_chains(struct ranks *ranks, const struct np_cluster *cluster)
{
	bool found = false;

	for (size_t i = 0; i < cluster->communicators.count; i++) {
		if (!is_pipeline(cluster, &cluster->communicators.item[i]))
			continue;
		join(ranks, ranks->chain.item, &cluster->communicators.item[i]);
		found = true;
	}
	return found;
}

/* Does it meet every chain in at most one rank? */
static int inside_a_stage(struct ranks *ranks, const struct np_communicator *communicator,
			  bool *ret, struct np_err *err)
{
	size_t count;
	const int32_t *members = members_of(communicator, &count);
	NP_CLEANUP(np_idmap_freep) struct np_idmap *met = np_idmap_new();

	if (!met)
		return np_fail_nomem(err, "stages");
	*ret = false;
	for (size_t i = 0; i < count; i++) {
		uint32_t chain = root_of(ranks->chain.item, np_idmap_get(ranks->index, members[i]));
		int rc;

		if (np_idmap_get(met, chain) != NP_IDMAP_NONE)
			return NP_OK;
		rc = np_idmap_set(met, chain, 1, err);
		if (rc < 0)
			return rc;
	}
	*ret = true;
	return NP_OK;
}

static int join_stages(struct ranks *ranks, const struct np_cluster *cluster, struct np_err *err)
{
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		const struct np_communicator *communicator = &cluster->communicators.item[i];
		size_t count;
		const int32_t *members = members_of(communicator, &count);
		bool inside = false;
		int rc = NP_OK;

		if (communicator->collective)
			rc = inside_a_stage(ranks, communicator, &inside, err);
		if (rc < 0)
			return rc;
		if (!inside)
			continue;
		join(ranks, ranks->stage.item, communicator);
		for (size_t j = 0; j < count; j++)
			ranks->in_stage.item[np_idmap_get(ranks->index, members[j])] = 1;
	}
	return NP_OK;
}

static int by_first_rank(const void *left, const void *right)
{
	const struct np_stage *a = left;
	const struct np_stage *b = right;

	return np_by_int32(a->ranks, b->ranks);
}

/* One stage: the ranks whose root is `root`. */
static int add_stage(struct np_cluster *cluster, struct ranks *ranks, uint32_t root,
		     struct np_err *err)
{
	struct np_stage stage = { 0 };
	struct np_stage *slot;

	stage.ranks = np_arena_array(cluster->arena, ranks->ids.count, sizeof(int32_t));
	if (!stage.ranks)
		return np_fail_nomem(err, "stages");
	for (uint32_t i = 0; i < ranks->ids.count; i++) {
		if (ranks->in_stage.item[i] && root_of(ranks->stage.item, i) == root)
			stage.ranks[stage.count++] = ranks->ids.item[i];
	}
	qsort(stage.ranks, stage.count, sizeof(int32_t), np_by_int32);
	slot = np_vec_add(&cluster->stages, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = stage;
	return NP_OK;
}

static int collect_stages(struct np_cluster *cluster, struct ranks *ranks, struct np_err *err)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < ranks->ids.count && rc == NP_OK; i++) {
		if (ranks->in_stage.item[i] && root_of(ranks->stage.item, i) == i)
			rc = add_stage(cluster, ranks, i, err);
	}
	if (cluster->stages.count)
		qsort(cluster->stages.item, cluster->stages.count, sizeof(struct np_stage),
		      by_first_rank);
	return rc;
}

int np_cluster_find_stages(struct np_cluster *cluster, struct np_err *err)
{
	struct ranks ranks = { .index = np_idmap_new() };
	int rc;

	if (!ranks.index)
		return np_fail_nomem(err, "stages");
	rc = index_all(&ranks, cluster, err);
	if (rc == NP_OK && join_chains(&ranks, cluster)) {
		rc = join_stages(&ranks, cluster, err);
		if (rc == NP_OK)
			rc = collect_stages(cluster, &ranks, err);
	}
	np_vec_release(&ranks.ids);
	np_vec_release(&ranks.chain);
	np_vec_release(&ranks.stage);
	np_vec_release(&ranks.in_stage);
	np_idmap_free(ranks.index);
	return rc;
}
