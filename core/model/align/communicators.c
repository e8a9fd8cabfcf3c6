/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the groups that ranks know into the communicators of a run. */
#include "npuprof/communicators.h"

#include "align_job.h"

#include "npuprof/idmap.h"
#include "npuprof/map.h"
#include "npuprof/workers.h"

struct merging {
	const struct np_run *run;
	struct np_communicators *communicators;
	struct np_idmap *known; /* index in the list by name, and by name and members */
	/* The same by name and the address of a list that ranks share: found without reading it. */
	struct np_numbers *shared;
	struct np_err *err;
};

void np_communicators_release(struct np_communicators *communicators)
{
	np_vec_release(&communicators->list);
	free(communicators->uses);
	free(communicators->first);
	communicators->uses = NULL;
	communicators->first = NULL;
}

/* --- uses ------------------------------------------------------------------------------------- */

static void count_uses(void *context, size_t index)
{
	const struct merging *merging = context;
	const struct np_rank *rank = merging->run->ranks[index];
	struct np_group_use *uses = np_communicators_of(merging->communicators, index);

	for (size_t i = 0; rank && i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct np_group_use *use = &uses[op->group];

		use->ops++;
		use->sizes |= op->bytes != NP_UNKNOWN;
		use->p2p |= op->p2p;
		use->collective |= !op->p2p;
	}
}

static int add_uses(struct merging *merging)
{
	struct np_communicators *communicators = merging->communicators;
	const struct np_run *run = merging->run;
	size_t total = 0;

	communicators->first = malloc((run->sources.count + 1) * sizeof(*communicators->first));
	if (!communicators->first)
		return np_fail_nomem(merging->err, "communicators");
	for (size_t i = 0; i < run->sources.count; i++) {
		communicators->first[i] = total;
		total += run->ranks[i] ? run->ranks[i]->groups.count : 0;
	}
	communicators->first[run->sources.count] = total;
	communicators->uses = calloc(total + 1, sizeof(*communicators->uses));
	return communicators->uses ? NP_OK : np_fail_nomem(merging->err, "communicators");
}

/* --- merging ---------------------------------------------------------------------------------- */

static uint64_t key_of(const struct np_group *group)
{
	uint64_t key = align_mix(group->hash, 0);

	for (size_t i = 0; group->members && i < group->member_count; i++)
		key = align_mix(key, (uint64_t)group->members[i] + 1);
	return key;
}

static int add_communicator(const struct merging *merging, const struct np_group *group,
			    uint32_t *ret)
{
	struct np_merged_group *merged = np_vec_add(&merging->communicators->list, merging->err);

	if (!merged)
		return NP_E_NOMEM;
	merged->hash = group->hash;
	merged->members = group->members;
	merged->member_count = group->members ? group->member_count : 0;
	merged->size = (uint32_t)merged->member_count;
	merged->sizes = true;
	*ret = (uint32_t)(merging->communicators->list.count - 1);
	return NP_OK;
}

/*
 * The communicator of a group. One whose members this rank does not know is the
 * first of that name, so ranks that know them come first.
 */
static int find_communicator(const struct merging *merging, const struct np_group *group,
			     uint32_t *ret)
{
	int64_t by_name = (int64_t)align_mix(group->hash, 0);
	int64_t key = (int64_t)key_of(group);
	int rc;

	*ret = np_idmap_get(merging->known, key);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	rc = add_communicator(merging, group, ret);
	if (rc == NP_OK)
		rc = np_idmap_set(merging->known, key, *ret, merging->err);
	if (rc == NP_OK && np_idmap_get(merging->known, by_name) == NP_IDMAP_NONE)
		rc = np_idmap_set(merging->known, by_name, *ret, merging->err);
	return rc;
}

static int communicator_of(const struct merging *merging, const struct np_group *group,
			   uint32_t *ret)
{
	uint64_t key = np_map_mix(np_map_mix(0, group->hash), (uintptr_t)group->members);
	int rc;

	*ret = np_numbers_get(merging->shared, key);
	if (*ret != NP_MAP_NONE && merging->communicators->list.item[*ret].hash == group->hash &&
	    merging->communicators->list.item[*ret].members == group->members)
		return NP_OK;
	rc = find_communicator(merging, group, ret);
	if (rc == NP_OK && np_numbers_get(merging->shared, key) == NP_MAP_NONE)
		rc = np_numbers_add(merging->shared, key, *ret, merging->err);
	return rc;
}

static int merge_rank(const struct merging *merging, size_t index, bool members_known)
{
	const struct np_rank *rank = merging->run->ranks[index];
	int rc = NP_OK;

	for (size_t i = 0; rank && i < rank->groups.count && rc == NP_OK; i++) {
		struct np_group_use *use = &np_communicators_of(merging->communicators, index)[i];
		struct np_merged_group *merged;

		if (use->ops == 0 || (rank->groups.item[i].members != NULL) != members_known)
			continue;
		rc = communicator_of(merging, &rank->groups.item[i], &use->communicator);
		if (rc < 0)
			break;
		merged = &merging->communicators->list.item[use->communicator];
		merged->observed++;
		merged->ops += use->ops;
		merged->sizes &= use->sizes;
	}
	return rc;
}

/* --- sizes ------------------------------------------------------------------------------------ */

static void widen(struct np_merged_group *merged, int32_t local)
{
	if (!merged->members && np_members_by_link(local) > merged->size)
		merged->size = np_members_by_link(local);
}

/* Without a list of members the links say how many there are at least. */
static void find_sizes(const struct merging *merging)
{
	const struct np_run *run = merging->run;
	struct np_communicators *communicators = merging->communicators;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->links.count; j++) {
			const struct np_link *link = &rank->links.item[j];
			const struct np_group_use *use =
				&np_communicators_of(communicators, i)[link->group];

			if (use->ops == 0)
				continue;
			widen(&communicators->list.item[use->communicator], link->src);
			widen(&communicators->list.item[use->communicator], link->dst);
		}
	}
	for (size_t i = 0; i < communicators->list.count; i++) {
		struct np_merged_group *merged = &communicators->list.item[i];

		merged->size_known = merged->size > 0;
		if (merged->size < merged->observed)
			merged->size = merged->observed;
	}
}

int np_communicators_merge(const struct np_run *run, size_t threads, struct np_communicators *ret,
			   struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *known = np_idmap_new();
	struct np_communicators found = { 0 };
	struct np_numbers shared = { 0 };
	struct merging merging = {
		.run = run, .communicators = &found, .known = known, .shared = &shared, .err = err
	};
	const struct np_workers workers = { .threads = threads };
	int rc = known ? add_uses(&merging) : np_fail_nomem(err, "communicators");

	if (rc == NP_OK)
		np_workers_run(&workers, run->sources.count, count_uses, &merging);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++)
			rc = merge_rank(&merging, i, pass == 0);
	}
	np_numbers_release(&shared);
	if (rc < 0) {
		np_communicators_release(&found);
		return rc;
	}
	find_sizes(&merging);
	*ret = found;
	return NP_OK;
}
