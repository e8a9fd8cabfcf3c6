/* SPDX-License-Identifier: Apache-2.0 */
#include "align_private.h"

#include "npuprof/idmap.h"

/* The same name with other members is another communicator: jobs may share names. */
static uint64_t key_of(const struct np_group *group)
{
	uint64_t key = align_mix(group->hash, 0);

	for (size_t i = 0; group->members && i < group->member_count; i++)
		key = align_mix(key, (uint64_t)group->members[i] + 1);
	return key;
}

static int new_communicator(struct align_build *build, const struct np_group *group, uint32_t *ret)
{
	struct np_align_communicator *communicator =
		np_vec_add(&build->align->communicators, build->err);

	if (!communicator)
		return NP_E_NOMEM;
	communicator->hash = group->hash;
	communicator->members = group->members;
	communicator->member_count = group->members ? group->member_count : 0;
	communicator->size = (uint32_t)communicator->member_count;
	communicator->sizes = true;
	*ret = (uint32_t)(build->align->communicators.count - 1);
	return NP_OK;
}

/*
 * The communicator of a group. One whose members this rank does not know is the
 * first of that name, so ranks that know them come first.
 */
static int communicator_of(struct align_build *build, struct np_idmap *known,
			   const struct np_group *group, uint32_t *ret)
{
	int64_t by_name = (int64_t)align_mix(group->hash, 0);
	int64_t key = (int64_t)key_of(group);
	int rc;

	*ret = np_idmap_get(known, key);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	rc = new_communicator(build, group, ret);
	if (rc == NP_OK)
		rc = np_idmap_set(known, key, *ret, build->err);
	if (rc == NP_OK && np_idmap_get(known, by_name) == NP_IDMAP_NONE)
		rc = np_idmap_set(known, by_name, *ret, build->err);
	return rc;
}

static int find_of_rank(struct align_build *build, struct np_idmap *known, size_t index,
			bool members_known)
{
	const struct np_rank *rank = build->run->ranks[index];
	int rc = NP_OK;

	for (size_t i = 0; rank && i < rank->groups.count && rc == NP_OK; i++) {
		struct align_groups *groups = &build->ranks[index];
		struct np_align_communicator *communicator;

		if (groups->ops[i] == 0 || (rank->groups.item[i].members != NULL) != members_known)
			continue;
		rc = communicator_of(build, known, &rank->groups.item[i], &groups->row[i]);
		if (rc < 0)
			break;
		communicator = &build->align->communicators.item[groups->row[i]];
		communicator->observed++;
		communicator->ops += groups->ops[i];
		communicator->sizes &= groups->sizes[i];
	}
	return rc;
}

/* A local rank beyond any cluster is damage, not a peer. */
#define MOST_LOCAL (1 << 24)

static void widen(struct np_align_communicator *communicator, int32_t local)
{
	if (!communicator->members && local >= 0 && local < MOST_LOCAL &&
	    (uint32_t)local >= communicator->size)
		communicator->size = (uint32_t)local + 1;
}

/* Without a list of members the links tell how many there are at least. */
static void size_by_links(struct align_build *build)
{
	for (size_t i = 0; i < build->run->sources.count; i++) {
		const struct np_rank *rank = build->run->ranks[i];

		for (size_t j = 0; rank && j < rank->links.count; j++) {
			const struct np_link *link = &rank->links.item[j];
			uint32_t row = build->ranks[i].row[link->group];

			if (build->ranks[i].ops[link->group] == 0)
				continue;
			widen(&build->align->communicators.item[row], link->src);
			widen(&build->align->communicators.item[row], link->dst);
		}
	}
	for (size_t i = 0; i < build->align->communicators.count; i++) {
		struct np_align_communicator *communicator = &build->align->communicators.item[i];

		communicator->size_known = communicator->size > 0;
		if (communicator->size < communicator->observed)
			communicator->size = communicator->observed;
	}
}

int align_find_communicators(struct align_build *build)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *known = np_idmap_new();
	int rc = NP_OK;

	if (!known)
		return np_fail_nomem(build->err, "communicators");
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < build->run->sources.count && rc == NP_OK; i++)
			rc = find_of_rank(build, known, i, pass == 0);
	}
	if (rc == NP_OK)
		size_by_links(build);
	return rc;
}
/* --- rows ------------------------------------------------------------------------------------- */

int align_add_rows(struct align_build *build)
{
	struct np_align *align = build->align;
	uint32_t rows = 0;
	uint32_t slots = 0;

	for (size_t i = 0; i < align->communicators.count; i++) {
		struct np_align_communicator *communicator = &align->communicators.item[i];

		communicator->coverage = rows;
		communicator->first_slot = slots;
		for (uint32_t j = 0; j < communicator->observed; j++) {
			if (!np_vec_add(&align->coverage, build->err))
				return NP_E_NOMEM;
		}
		rows += communicator->observed;
		slots += communicator->ops;
		communicator->observed = 0;
	}
	for (size_t i = 0; i < build->run->sources.count; i++) {
		const struct np_rank *rank = build->run->ranks[i];

		for (size_t j = 0; rank && j < rank->groups.count; j++) {
			uint32_t *row = &build->ranks[i].row[j];
			struct np_align_communicator *communicator;

			if (build->ranks[i].ops[j] == 0)
				continue;
			communicator = &align->communicators.item[*row];
			rows = communicator->coverage + communicator->observed++;
			align->coverage.item[rows].communicator = *row;
			align->coverage.item[rows].rank = (uint32_t)i;
			/* Until it is matched, the total is that of the lists. */
			align->coverage.item[rows].total = build->ranks[i].ops[j];
			*row = rows;
		}
	}
	return NP_OK;
}

int align_index_rows(struct align_build *build)
{
	struct np_align *align = build->align;
	uint32_t first = 0;

	build->row_ops = malloc((align->coverage.count + 1) * sizeof(uint32_t));
	build->ops = malloc(((size_t)align->op_count + 1) * sizeof(uint32_t));
	if (!build->row_ops || !build->ops)
		return np_fail_nomem(build->err, "matching of operators");
	for (size_t i = 0; i < align->coverage.count; i++) {
		build->row_ops[i] = first;
		first += align->coverage.item[i].total;
	}
	build->row_ops[align->coverage.count] = first;
	return NP_OK;
}

void align_list_ops(void *context, size_t index)
{
	struct align_build *build = context;
	const struct np_rank *rank = build->run->ranks[index];
	struct align_groups *groups = &build->ranks[index];

	for (size_t i = 0; rank && i < rank->groups.count; i++)
		groups->ops[i] = groups->ops[i] ? build->row_ops[groups->row[i]] : 0;
	for (size_t i = 0; rank && i < rank->ops.count; i++)
		build->ops[groups->ops[rank->ops.item[i].group]++] = (uint32_t)i;
}
