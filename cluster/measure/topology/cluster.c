/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a run seen together: steps, communicators, hosts. */
#include "npuprof/cluster.h"

#include "npuprof/arena.h"
#include "npuprof/comm_tasks.h"
#include "npuprof/communicators.h"
#include "npuprof/order.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

#include <inttypes.h>

void np_cluster_free(struct np_cluster *cluster)
{
	if (!cluster)
		return;
	np_vec_release(&cluster->steps);
	np_vec_release(&cluster->communicators);
	np_numbers_release(&cluster->by_step);
	np_numbers_release(&cluster->by_hash);
	np_vec_release(&cluster->stages);
	np_arena_free(cluster->arena);
	free(cluster);
}

void np_cluster_freep(struct np_cluster **cluster)
{
	np_cluster_free(*cluster);
	*cluster = NULL;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Numbers in numeric order, then other texts; the pseudo step first. */
static int compare_steps(const struct np_run *run, np_str a, np_str b)
{
	const char *left = np_run_text(run, a);
	const char *right = np_run_text(run, b);
	int64_t numbers[2];
	bool numeric[2];

	if (!left || !right)
		return (left != NULL) - (right != NULL);
	numeric[0] = np_text_to_int(left, strlen(left), &numbers[0]);
	numeric[1] = np_text_to_int(right, strlen(right), &numbers[1]);
	if (numeric[0] && numeric[1] && numbers[0] != numbers[1])
		return numbers[0] < numbers[1] ? -1 : 1;
	if (numeric[0] != numeric[1])
		return numeric[0] ? -1 : 1;
	return strcmp(left, right);
}

static int by_step(const void *left, const void *right, void *context)
{
	return compare_steps(context, *(const np_str *)left, *(const np_str *)right);
}

static int add_step(struct np_cluster *cluster, np_str id, struct np_err *err)
{
	np_str *slot;

	if (np_numbers_get(&cluster->by_step, id) != NP_MAP_NONE)
		return NP_OK;
	slot = np_vec_add(&cluster->steps, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = id;
	return np_numbers_add(&cluster->by_step, id, 0, err);
}

static int collect_steps(struct np_cluster *cluster, struct np_err *err)
{
	const struct np_run *run = cluster->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->steps.count && rc == NP_OK; j++)
			rc = add_step(cluster, rank->steps.item[j].id, err);
	}
	if (cluster->steps.count)
		qsort_r(cluster->steps.item, cluster->steps.count, sizeof(np_str), by_step,
			(void *)(uintptr_t)run);
	np_numbers_release(&cluster->by_step);
	for (size_t i = 0; i < cluster->steps.count && rc == NP_OK; i++)
		rc = np_numbers_add(&cluster->by_step, cluster->steps.item[i], (uint32_t)i, err);
	return rc;
}

size_t np_cluster_step(const struct np_cluster *cluster, np_str step)
{
	uint32_t index = np_numbers_get(&cluster->by_step, step);

	return index == NP_MAP_NONE ? SIZE_MAX : index;
}

/* --- communicators --------------------------------------------------------------------------- */

static struct np_communicator *find(const struct np_cluster *cluster, uint64_t hash)
{
	uint32_t index = np_numbers_get(&cluster->by_hash, hash);

	return index == NP_MAP_NONE ? NULL : &cluster->communicators.item[index];
}

static struct np_communicator *find_or_add(struct np_cluster *cluster, uint64_t hash,
					   struct np_err *err)
{
	struct np_communicator *communicator = find(cluster, hash);

	if (communicator)
		return communicator;
	communicator = np_vec_add(&cluster->communicators, err);
	if (!communicator)
		return NULL;
	communicator->hash = hash;
	if (np_numbers_add(&cluster->by_hash, hash, (uint32_t)(cluster->communicators.count - 1),
			   err) < 0)
		return NULL;
	return communicator;
}

/* Where those of the run are among those of the cluster, which are one for each hash. */
static int add_communicators(struct np_cluster *cluster, const struct np_communicators *merged,
			     uint32_t *places, struct np_err *err)
{
	for (size_t i = 0; i < merged->list.count; i++) {
		struct np_communicator *communicator =
			find_or_add(cluster, merged->list.item[i].hash, err);

		if (!communicator)
			return NP_E_NOMEM;
		/* Only one whose members nobody knows stays as large as this. */
		communicator->size = merged->list.item[i].size;
		/* Room for so many; they are counted again as they are seen. */
		communicator->observed_count += merged->list.item[i].observed;
		places[i] = (uint32_t)(communicator - cluster->communicators.item);
	}
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		struct np_communicator *each = &cluster->communicators.item[i];

		each->observed =
			np_arena_array(cluster->arena, each->observed_count, sizeof(int32_t));
		if (!each->observed)
			return np_fail_nomem(err, "communicators");
		each->observed_count = 0;
	}
	return NP_OK;
}

/* They have been sorted. */
static int find_again(struct np_cluster *cluster, struct np_err *err)
{
	int rc = NP_OK;

	np_numbers_release(&cluster->by_hash);
	for (size_t i = 0; i < cluster->communicators.count && rc == NP_OK; i++)
		rc = np_numbers_add(&cluster->by_hash, cluster->communicators.item[i].hash,
				    (uint32_t)i, err);
	return rc;
}

/* Names and members from the first rank that knows them: ranks are sorted. */
static void adopt(struct np_communicator *communicator, const struct np_group *group)
{
	if (communicator->name == NP_STR_NONE)
		communicator->name = group->name;
	if (communicator->pg_name == NP_STR_NONE)
		communicator->pg_name = group->pg_name;
	if (!communicator->members && group->members) {
		communicator->members = group->members;
		communicator->member_count = group->member_count;
	}
}

static void observe(struct np_cluster *cluster, const struct np_communicators *merged,
		    const uint32_t *places, size_t index)
{
	const struct np_rank *rank = cluster->run->ranks[index];

	for (size_t i = 0; rank && i < rank->groups.count; i++) {
		const struct np_group_use *use = &np_communicators_of(merged, index)[i];
		struct np_communicator *communicator;

		if (use->ops == 0)
			continue;
		communicator = &cluster->communicators.item[places[use->communicator]];
		adopt(communicator, &rank->groups.item[i]);
		communicator->observed[communicator->observed_count++] = rank->id;
		communicator->collective |= use->collective;
		communicator->p2p |= use->p2p;
	}
}

static int by_type_and_hash(const void *left, const void *right)
{
	const struct np_communicator *a = left;
	const struct np_communicator *b = right;
	char texts[2][24];

	if (a->collective != b->collective)
		return a->collective ? -1 : 1;
	(void)snprintf(texts[0], sizeof(texts[0]), "%" PRIu64, a->hash);
	(void)snprintf(texts[1], sizeof(texts[1]), "%" PRIu64, b->hash);
	return strcmp(texts[0], texts[1]);
}

static void widen_size(struct np_communicator *communicator, int32_t local)
{
	if (np_members_by_link(local) > communicator->size)
		communicator->size = np_members_by_link(local);
}

/* Sizes count the links of ranks with operators; those of ranks without any are good as well. */
static void size_communicators(struct np_cluster *cluster, const struct np_communicators *merged)
{
	const struct np_run *run = cluster->run;

	for (size_t i = 0; i < cluster->communicators.count; i++) {
		struct np_communicator *communicator = &cluster->communicators.item[i];

		if (communicator->members)
			communicator->size = communicator->member_count;
	}
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->links.count; j++) {
			const struct np_link *link = &rank->links.item[j];
			struct np_communicator *communicator;

			if (np_communicators_of(merged, i)[link->group].ops > 0)
				continue;
			communicator = find(cluster, rank->groups.item[link->group].hash);
			if (!communicator || communicator->members)
				continue;
			widen_size(communicator, link->src);
			widen_size(communicator, link->dst);
		}
	}
}

static int merge_communicators(struct np_cluster *cluster, struct np_err *err)
{
	const struct np_run *run = cluster->run;
	struct np_communicators merged = { 0 };
	uint32_t *places;
	int rc = np_communicators_merge(run, 1, &merged, err);

	if (rc < 0)
		return rc;
	places = malloc((merged.list.count + 1) * sizeof(*places));
	rc = places ? add_communicators(cluster, &merged, places, err)
		    : np_fail_nomem(err, "communicators");
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++)
		observe(cluster, &merged, places, i);
	if (rc == NP_OK)
		size_communicators(cluster, &merged);
	if (cluster->communicators.count)
		qsort(cluster->communicators.item, cluster->communicators.count,
		      sizeof(cluster->communicators.item[0]), by_type_and_hash);
	if (rc == NP_OK)
		rc = find_again(cluster, err);
	free(places);
	np_communicators_release(&merged);
	return rc;
}

const struct np_communicator *np_cluster_communicator(const struct np_cluster *cluster,
						      uint64_t hash)
{
	return find(cluster, hash);
}

/* --- local ranks ----------------------------------------------------------------------------- */

static int allocate_maps(struct np_cluster *cluster, struct np_err *err)
{
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		struct np_communicator *communicator = &cluster->communicators.item[i];

		communicator->global_count = communicator->size;
		communicator->global =
			np_arena_array(cluster->arena, communicator->size, sizeof(int32_t));
		if (!communicator->global && communicator->size > 0)
			return np_fail_nomem(err, "communicators");
		for (size_t j = 0; j < communicator->size; j++)
			communicator->global[j] =
				communicator->members ? communicator->members[j] : NP_NO_RANK;
	}
	return NP_OK;
}

/* A link from a rank to itself says which local rank it is; the first one wins. */
static void map_by_self_links(struct np_cluster *cluster)
{
	const struct np_run *run = cluster->run;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->links.count; j++) {
			const struct np_link *link = &rank->links.item[j];
			const struct np_communicator *communicator;

			if (link->src != link->dst || link->src == NP_NO_PEER)
				continue;
			communicator = np_cluster_communicator(cluster,
							       rank->groups.item[link->group].hash);
			if (communicator && (size_t)link->src < communicator->global_count &&
			    communicator->global[link->src] == NP_NO_RANK)
				communicator->global[link->src] = rank->id;
		}
	}
}

/* How many members the links of each communicator name; 0 without links. */
static void count_by_links(const struct np_cluster *cluster, size_t *ret)
{
	const struct np_run *run = cluster->run;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->links.count; j++) {
			const struct np_link *link = &rank->links.item[j];
			uint32_t index = np_numbers_get(&cluster->by_hash,
							rank->groups.item[link->group].hash);
			size_t src = np_members_by_link(link->src);
			size_t dst = np_members_by_link(link->dst);

			if (index == NP_MAP_NONE)
				continue;
			ret[index] = src > ret[index] ? src : ret[index];
			ret[index] = dst > ret[index] ? dst : ret[index];
		}
	}
}

/* `observed` is sorted. */
static void map_in_order(struct np_communicator *communicator)
{
	for (size_t i = 0; i < communicator->global_count; i++) {
		int32_t known = communicator->global[i];

		if (communicator->observed[i] < 0 ||
		    (known != NP_NO_RANK && known != communicator->observed[i]))
			return;
	}
	for (size_t i = 0; i < communicator->global_count; i++)
		communicator->global[i] = communicator->observed[i];
}

/*
 * Where the links name as many members as were profiled, local ranks are the order of
 * their ids, as in lists of members, unless a link from a rank to itself says otherwise.
 */
static int map_by_order(const struct np_cluster *cluster, struct np_err *err)
{
	const struct np_run *run = cluster->run;
	size_t *named = calloc(cluster->communicators.count + 1, sizeof(*named));

	if (!named)
		return np_fail_nomem(err, "communicators");
	count_by_links(cluster, named);
	for (size_t i = 0; i < run->sources.count; i++) {
		/* Numbers that were given here have no order. */
		if (run->ranks[i] && run->sources.item[i].rank_from >= NP_RANK_ASSUMED)
			memset(named, 0, cluster->communicators.count * sizeof(*named));
	}
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		struct np_communicator *each = &cluster->communicators.item[i];

		if (!each->members && named[i] > 0 && named[i] == each->global_count &&
		    named[i] == each->observed_count)
			map_in_order(each);
	}
	free(named);
	return NP_OK;
}

/* --- the communicator of the world ----------------------------------------------------------- */

/* Ranks of the job as its metadata say, or those of its default group; 0 when nothing does. */
static size_t find_world(const struct np_cluster *cluster)
{
	if (cluster->parallel.world > 0)
		return (size_t)cluster->parallel.world;
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		const struct np_communicator *each = &cluster->communicators.item[i];
		const char *name = np_run_text(cluster->run, each->pg_name);

		if (each->members && name && strcmp(name, "default_group") == 0)
			return each->member_count;
	}
	return 0;
}

/* Is no rank known to have another number in it than it has in the job? */
static bool may_be_world(const struct np_communicator *communicator)
{
	for (size_t i = 0; i < communicator->global_count; i++) {
		if (communicator->global[i] != NP_NO_RANK && communicator->global[i] != (int32_t)i)
			return false;
	}
	for (size_t i = 0; i < communicator->observed_count; i++) {
		if (communicator->observed[i] < 0 ||
		    (size_t)communicator->observed[i] >= communicator->global_count)
			return false;
	}
	return true;
}

/* Is every rank of the run known to have the same number in it as in the job? */
static bool seems_world(const struct np_cluster *cluster,
			const struct np_communicator *communicator)
{
	const struct np_run *run = cluster->run;

	if (!may_be_world(communicator))
		return false;
	for (size_t i = 0; i < run->sources.count; i++) {
		int32_t id = run->ranks[i] ? run->ranks[i]->id : -1;

		/* Numbers that were given here say nothing. */
		if (run->sources.item[i].rank_from >= NP_RANK_ASSUMED)
			return false;
		if (run->ranks[i] && (id < 0 || (size_t)id >= communicator->global_count ||
				      communicator->global[id] != id))
			return false;
	}
	return true;
}

static int name_members(struct np_cluster *cluster, struct np_communicator *communicator,
			struct np_err *err)
{
	int32_t *members = np_arena_array(cluster->arena, communicator->size, sizeof(*members));

	if (!members)
		return np_fail_nomem(err, "communicators");
	for (size_t i = 0; i < communicator->size; i++)
		members[i] = (int32_t)i;
	communicator->members = members;
	communicator->member_count = communicator->size;
	return NP_OK;
}

int np_cluster_name_world(struct np_cluster *cluster, struct np_err *err)
{
	size_t world = find_world(cluster);
	size_t largest = 0;
	int rc = NP_OK;

	cluster->assumed_world = 0;
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		if (cluster->communicators.item[i].size > largest)
			largest = cluster->communicators.item[i].size;
	}
	for (size_t i = 0; i < cluster->communicators.count && rc == NP_OK; i++) {
		struct np_communicator *each = &cluster->communicators.item[i];

		if (each->members || each->size != (world > 0 ? world : largest) ||
		    !(world > 0 ? may_be_world(each) : seems_world(cluster, each)))
			continue;
		each->assumed = world == 0;
		if (each->assumed)
			cluster->assumed_world = (int32_t)each->size;
		for (size_t j = 0; j < each->global_count; j++)
			each->global[j] = (int32_t)j;
		if (world > 0)
			rc = name_members(cluster, each, err);
	}
	return rc;
}

/* --- everything ------------------------------------------------------------------------------ */

static void find_parallel(struct np_cluster *cluster)
{
	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		if (rank && rank->parallel.known) {
			cluster->parallel = rank->parallel;
			return;
		}
		/* Of some jobs only the size is known. */
		if (rank && cluster->parallel.world < rank->parallel.world)
			cluster->parallel.world = rank->parallel.world;
	}
}

int64_t np_communicator_rank(const struct np_communicator *communicator, int32_t local)
{
	if (local == NP_NO_PEER)
		return NP_UNKNOWN;
	if ((size_t)local < communicator->global_count && communicator->global[local] != NP_NO_RANK)
		return communicator->global[local];
	return -1 - (int64_t)local;
}

int32_t np_cluster_world(const struct np_cluster *cluster)
{
	return cluster->parallel.world > 0 ? cluster->parallel.world : cluster->assumed_world;
}

int32_t np_cluster_stage(const struct np_cluster *cluster, int32_t rank)
{
	for (size_t i = 0; i < cluster->stages.count; i++) {
		if (bsearch(&rank, cluster->stages.item[i].ranks, cluster->stages.item[i].count,
			    sizeof(rank), np_by_int32))
			return (int32_t)i;
	}
	return -1;
}

int32_t np_cluster_stage_at(const struct np_cluster *cluster, size_t index)
{
	const struct np_rank *rank = cluster->run->ranks[index];

	if (cluster->coordinates[index].pp >= 0)
		return cluster->coordinates[index].pp;
	return rank ? np_cluster_stage(cluster, rank->id) : -1;
}

size_t np_cluster_hosts(const struct np_cluster *cluster)
{
	const struct np_run *run = cluster->run;
	struct np_numbers hosts = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		np_str host = run->ranks[i] ? run->ranks[i]->host_uid : NP_STR_NONE;

		/* Ranks of a host are mostly neighbours. */
		if (host == NP_STR_NONE ||
		    (i > 0 && run->ranks[i - 1] && run->ranks[i - 1]->host_uid == host) ||
		    np_numbers_get(&hosts, host) != NP_MAP_NONE)
			continue;
		count++;
		/* Without memory for it a host that comes back would be counted twice. */
		if (np_numbers_add(&hosts, host, 0, NULL) < 0) {
			count = 0;
			break;
		}
	}
	np_numbers_release(&hosts);
	return count;
}

int np_cluster_build(const struct np_run *run, struct np_cluster **ret, struct np_err *err)
{
	NP_CLEANUP(np_cluster_freep) struct np_cluster *cluster = calloc(1, sizeof(*cluster));
	int rc;

	if (!cluster || !(cluster->arena = np_arena_new()))
		return np_fail_nomem(err, "the cluster");
	cluster->run = run;
	find_parallel(cluster);
	rc = collect_steps(cluster, err);
	if (rc == NP_OK)
		rc = merge_communicators(cluster, err);
	if (rc == NP_OK)
		rc = allocate_maps(cluster, err);
	if (rc == NP_OK) {
		map_by_self_links(cluster);
		rc = map_by_order(cluster, err);
	}
	if (rc == NP_OK)
		rc = np_cluster_name_world(cluster, err);
	if (rc == NP_OK)
		rc = np_cluster_find_places(cluster, err);
	if (rc == NP_OK)
		rc = np_cluster_find_stages(cluster, err);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(cluster);
	return NP_OK;
}
