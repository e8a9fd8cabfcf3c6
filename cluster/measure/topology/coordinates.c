/* SPDX-License-Identifier: Apache-2.0 */
/* The place of each rank in the parallel dimensions. */
#include "npuprof/cluster.h"

#include "npuprof/arena.h"
#include "npuprof/parallel.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#include <strings.h>

static const struct np_coordinates nowhere = { -1, -1, -1, -1, -1 };

static int32_t size_or_one(int32_t size)
{
	return size > 0 ? size : 1;
}

/* Sizes are at most 2^31 each, so four of them do not fit into 64 bits: stop at overflow. */
static int64_t product(int32_t a, int32_t b, int32_t c, int32_t d)
{
	int64_t result = a;

	if (__builtin_mul_overflow(result, b, &result) ||
	    __builtin_mul_overflow(result, c, &result) ||
	    __builtin_mul_overflow(result, d, &result))
		return -1;
	return result;
}

struct np_coordinates np_coordinates_of(const struct np_parallel *parallel, int32_t rank)
{
	int32_t tp = size_or_one(parallel->tp);
	int32_t cp = size_or_one(parallel->cp);
	int32_t dp = size_or_one(parallel->dp);
	int32_t pp = size_or_one(parallel->pp);
	struct np_coordinates at = nowhere;

	if (!parallel->known || rank < 0 || rank >= parallel->world)
		return nowhere;
	if (product(tp, cp, dp, pp) != parallel->world) {
		/* Some frameworks count context parallelism into data parallelism. */
		cp = 1;
		if (product(tp, 1, dp, pp) != parallel->world)
			return nowhere;
	}
	at.tp = rank % tp;
	at.cp = rank / tp % cp;
	at.dp = rank / (tp * cp) % dp;
	at.pp = rank / (tp * cp * dp);
	if (cp == 1 && parallel->cp > 1)
		at.cp = -1;
	if (size_or_one(parallel->ep) == 1)
		at.ep = 0;
	return at;
}

/* The rank's position among the members of its communicator of this name; -1 without one. */
static int32_t position(const struct np_run *run, const struct np_rank *rank, const char *pg_name)
{
	for (size_t i = 0; i < rank->groups.count; i++) {
		const struct np_group *group = &rank->groups.item[i];
		const char *name = np_run_text(run, group->pg_name);

		if (!name || strcasecmp(name, pg_name) != 0)
			continue;
		for (size_t j = 0; j < group->member_count; j++) {
			if (group->members[j] == rank->id)
				return (int32_t)j;
		}
	}
	return -1;
}

static bool same_members(const struct np_group *a, const struct np_group *b)
{
	return a->member_count == b->member_count &&
	       memcmp(a->members, b->members, a->member_count * sizeof(*a->members)) == 0;
}

static bool has_pieces(const struct np_run *run, const struct np_rank *rank, const char *pg_name)
{
	const struct np_group *first = NULL;

	for (size_t i = 0; i < rank->groups.count; i++) {
		const struct np_group *group = &rank->groups.item[i];
		const char *name = np_run_text(run, group->pg_name);

		if (!name || strcasecmp(name, pg_name) != 0 || group->member_count == 0)
			continue;
		if (first && !same_members(first, group))
			return true;
		first = group;
	}
	return false;
}

/* Are pipelines in pieces, as of a communicator for each two stages? Their members say no stage. */
static bool any_pieces(const struct np_run *run)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i] && has_pieces(run, run->ranks[i], "pp"))
			return true;
	}
	return false;
}

static void prefer(int32_t *place, int32_t listed)
{
	if (listed >= 0)
		*place = listed;
}

/*
 * The lists of members were made by the job itself; the formula assumes its default order. What
 * the name of the capture says is the last source.
 */
static struct np_coordinates place(const struct np_run *run, size_t index,
				   const struct np_parallel *parallel, bool pieces)
{
	const struct np_named_place *named = &run->sources.item[index].place;
	const struct np_rank *rank = run->ranks[index];
	struct np_coordinates at = np_coordinates_of(parallel, rank->id);

	if (!parallel->known && named->known)
		at = (struct np_coordinates){ .dp = named->dp,
					      .pp = named->pp,
					      .tp = named->tp,
					      .cp = named->cp,
					      .ep = named->ep };

	prefer(&at.tp, position(run, rank, "tp"));
	prefer(&at.cp, position(run, rank, "cp"));
	prefer(&at.dp, position(run, rank, "dp"));
	if (!pieces)
		prefer(&at.pp, position(run, rank, "pp"));
	prefer(&at.ep, position(run, rank, "ep"));
	prefer(&at.ep, position(run, rank, "exp"));
	return at;
}

int np_cluster_find_places(struct np_cluster *cluster, struct np_err *err)
{
	const struct np_run *run = cluster->run;
	bool pieces = any_pieces(run);

	cluster->coordinates =
		np_arena_array(cluster->arena, run->sources.count, sizeof(*cluster->coordinates));
	if (!cluster->coordinates && run->sources.count > 0)
		return np_fail_nomem(err, "places of ranks");
	for (size_t i = 0; i < run->sources.count; i++) {
		cluster->coordinates[i] =
			run->ranks[i] ? place(run, i, &cluster->parallel, pieces) : nowhere;
	}
	return NP_OK;
}
