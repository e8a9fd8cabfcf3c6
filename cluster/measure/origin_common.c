/* SPDX-License-Identifier: Apache-2.0 */
#include "origin_private.h"

#include "npuprof/idmap.h"

uint32_t instance_op_of(const struct np_align *align, const struct np_instance *instance,
			uint32_t rank)
{
	uint32_t low = instance->first;
	uint32_t high = low + instance->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (align->members[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == instance->first + instance->count || align->members[low].rank != rank)
		return UINT32_MAX;
	return align->members[low].op;
}

/* The row of a rank in the coverage of a communicator, which is by rank; UINT32_MAX for none. */
static uint32_t coverage_of(const struct np_align *align, uint32_t communicator, uint32_t rank)
{
	const struct np_align_communicator *each = &align->communicators.item[communicator];
	uint32_t low = each->coverage;
	uint32_t high = low + each->observed;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (align->coverage.item[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == each->coverage + each->observed || align->coverage.item[low].rank != rank)
		return UINT32_MAX;
	return low;
}

static bool holds(const struct np_align *align, uint32_t outer, uint32_t inner)
{
	const struct np_align_communicator *a = &align->communicators.item[outer];
	const struct np_align_communicator *b = &align->communicators.item[inner];

	if (a->observed < b->observed)
		return false;
	for (uint32_t i = 0; i < b->observed; i++) {
		if (coverage_of(align, outer, align->coverage.item[b->coverage + i].rank) ==
		    UINT32_MAX)
			return false;
	}
	return true;
}

/* Add to `within` the communicators that hold all ranks of one: the candidates are its first
 * rank's. */
static int find_outer(struct common *common, struct np_idmap *by_hash, uint32_t inner,
		      struct np_err *err)
{
	const struct np_align *align = common->align;
	const struct np_align_communicator *each = &align->communicators.item[inner];
	const struct np_rank *rank;

	if (each->observed == 0)
		return NP_OK;
	rank = align->run->ranks[align->coverage.item[each->coverage].rank];
	for (size_t i = 0; i < rank->groups.count; i++) {
		uint32_t outer = np_idmap_get(by_hash, (int64_t)rank->groups.item[i].hash);
		uint32_t *added;

		if (outer == NP_IDMAP_NONE || !holds(align, outer, inner))
			continue;
		added = np_vec_add(&common->outer, err);
		if (!added)
			return NP_E_NOMEM;
		*added = outer;
	}
	return NP_OK;
}

void common_restart(const struct common *common)
{
	for (size_t i = 0; i < common->align->coverage.count; i++)
		common->found[i] = COMMON_NOT_YET;
}

int common_init(struct common *common, const struct np_align *align,
		const struct progress *progress, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *by_hash = np_idmap_new();
	uint32_t count = (uint32_t)align->communicators.count;
	int rc = NP_OK;

	*common = (struct common){ .align = align, .progress = progress };
	common->first = calloc((size_t)count + 1, sizeof(*common->first));
	common->found = malloc((align->coverage.count + 1) * sizeof(*common->found));
	common->instance = malloc(((size_t)align->op_count + 1) * sizeof(*common->instance));
	if (!by_hash || !common->first || !common->found || !common->instance)
		return np_fail_nomem(err, "communicators");
	for (uint32_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *each = &align->instances.item[i];

		for (uint32_t j = 0; j < each->count; j++)
			common->instance[each->first + j] = i;
	}
	common_restart(common);
	for (uint32_t i = 0; i < count && rc == NP_OK; i++)
		rc = np_idmap_set(by_hash, (int64_t)align->communicators.item[i].hash, i, err);
	for (uint32_t i = 0; i < count && rc == NP_OK; i++) {
		rc = find_outer(common, by_hash, i, err);
		common->first[i + 1] = (uint32_t)common->outer.count;
	}
	return rc;
}

void common_release(struct common *common)
{
	free(common->first);
	free(common->found);
	free(common->instance);
	np_vec_release(&common->outer);
}

/* The rank's own numbers of the communicators that hold all of one. */
struct local {
	uint32_t group[16];
	size_t count;
};

static struct local local_groups(const struct common *common, const struct np_rank *rank,
				 uint32_t communicator)
{
	const struct np_align *align = common->align;
	struct local local = { .count = 0 };

	for (uint32_t i = common->first[communicator]; i < common->first[communicator + 1]; i++) {
		uint64_t hash = align->communicators.item[common->outer.item[i]].hash;

		for (uint32_t j = 0; j < rank->groups.count; j++) {
			if (rank->groups.item[j].hash == hash &&
			    local.count < NP_COUNT(local.group))
				local.group[local.count++] = j;
		}
	}
	return local;
}

static bool is_local(const struct local *local, uint32_t group)
{
	for (size_t i = 0; i < local->count; i++) {
		if (local->group[i] == group)
			return true;
	}
	return false;
}

/* Nobody leaves such an instance before all have come. */
static bool brings_together(const struct np_instance *instance, uint32_t observed)
{
	return instance->rule == NP_RULE_ALL && instance->count >= observed && instance->count > 1;
}

static uint32_t search(const struct common *common, const struct np_instance *instance,
		       const struct np_member *member)
{
	const struct np_align *align = common->align;
	const struct np_rank *rank = align->run->ranks[member->rank];
	struct local local = local_groups(common, rank, instance->communicator);
	np_ns start = rank->ops.item[member->op].start;

	for (uint32_t i = member->op; i-- > 0;) {
		const struct np_comm_op *op = &rank->ops.item[i];
		const struct np_instance *before;

		if (op->end > start || !is_local(&local, op->group))
			continue;
		before = instance_of(common, np_align_slot(align, member->rank, i));
		if (before != instance && brings_together(before, instance->count) &&
		    progress_blocked(common->progress, member->rank, i))
			return i;
	}
	return UINT32_MAX;
}

uint32_t common_before(const struct common *common, const struct np_instance *instance,
		       const struct np_member *member)
{
	const struct np_align *align = common->align;
	uint32_t row = coverage_of(align, instance->communicator, member->rank);
	const struct np_rank *rank = align->run->ranks[member->rank];
	uint32_t *found = &common->found[row];

	/* Nothing lies between what a later search found and where it began. */
	if (*found == COMMON_NOT_YET ||
	    (*found != UINT32_MAX && rank->ops.item[*found].end > rank->ops.item[member->op].start))
		*found = search(common, instance, member);
	return *found;
}
