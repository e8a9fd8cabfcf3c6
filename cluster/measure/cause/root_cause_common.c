/* SPDX-License-Identifier: Apache-2.0 */
#include "cause.h"

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

uint32_t coverage_of(const struct np_align *align, uint32_t communicator, uint32_t rank)
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

/* --- who holds whom ----------------------------------------------------------------------------
 */

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

/* The member of a communicator that is in the fewest of them. */
static const struct np_rank *narrowest(const struct np_align *align, uint32_t communicator)
{
	const struct np_align_communicator *each = &align->communicators.item[communicator];
	const struct np_rank *found = NULL;

	for (uint32_t i = 0; i < each->observed; i++) {
		const struct np_rank *rank =
			align->run->ranks[align->coverage.item[each->coverage + i].rank];

		if (!found || rank->groups.count < found->groups.count)
			found = rank;
	}
	return found;
}

/* The communicators that hold all ranks of one, at most COMMON_GROUPS, itself first. */
static uint32_t find_outer(const struct np_align *align, struct np_idmap *by_hash, uint32_t inner,
			   uint32_t ret[COMMON_GROUPS])
{
	const struct np_rank *rank = narrowest(align, inner);
	uint32_t count = 1;

	ret[0] = inner;
	for (size_t i = 0; rank && i < rank->groups.count && count < COMMON_GROUPS; i++) {
		uint32_t outer = np_idmap_get(by_hash, (int64_t)rank->groups.item[i].hash);

		if (outer != NP_IDMAP_NONE && outer != inner && holds(align, outer, inner))
			ret[count++] = outer;
	}
	return count;
}

static int by_hash_then_number(const void *left, const void *right, void *context)
{
	const struct np_rank *rank = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (rank->groups.item[a].hash != rank->groups.item[b].hash)
		return rank->groups.item[a].hash < rank->groups.item[b].hash ? -1 : 1;
	return (a > b) - (a < b);
}

/* The groups of all ranks, each rank's by hash. */
struct hashed {
	uint32_t *groups;
	size_t *first; /* of a rank; one more than there are ranks */
};

static int sort_groups(struct hashed *hashed, const struct np_run *run, struct np_err *err)
{
	size_t count = 0;

	hashed->first = malloc((run->sources.count + 1) * sizeof(*hashed->first));
	if (!hashed->first)
		return np_fail_nomem(err, "communicators");
	for (size_t i = 0; i < run->sources.count; i++) {
		hashed->first[i] = count;
		count += run->ranks[i] ? run->ranks[i]->groups.count : 0;
	}
	hashed->first[run->sources.count] = count;
	hashed->groups = malloc((count + 1) * sizeof(*hashed->groups));
	if (!hashed->groups)
		return np_fail_nomem(err, "communicators");
	for (size_t i = 0; i < run->sources.count; i++) {
		uint32_t *groups = &hashed->groups[hashed->first[i]];
		size_t own = hashed->first[i + 1] - hashed->first[i];

		for (uint32_t j = 0; j < own; j++)
			groups[j] = j;
		if (own > 1)
			qsort_r(groups, own, sizeof(*groups), by_hash_then_number, run->ranks[i]);
	}
	return NP_OK;
}

/* Add a rank's numbers of the communicator with this hash. */
static void add_groups(struct common_groups *groups, const struct hashed *hashed,
		       const struct np_run *run, uint32_t rank, uint64_t hash)
{
	const struct np_group *own = run->ranks[rank]->groups.item;
	size_t low = hashed->first[rank];
	size_t end = hashed->first[rank + 1];
	size_t high = end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (own[hashed->groups[middle]].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < end && own[hashed->groups[low]].hash == hash; low++) {
		if (groups->count < COMMON_GROUPS)
			groups->group[groups->count++] = hashed->groups[low];
	}
}

static void find_groups(struct common *common, const struct hashed *hashed,
			struct np_idmap *by_hash)
{
	const struct np_align *align = common->align;

	for (uint32_t i = 0; i < align->communicators.count; i++) {
		const struct np_align_communicator *each = &align->communicators.item[i];
		uint32_t outer[COMMON_GROUPS];
		uint32_t count = find_outer(align, by_hash, i, outer);

		for (uint32_t row = each->coverage; row < each->coverage + each->observed; row++) {
			for (uint32_t j = 0; j < count; j++)
				add_groups(&common->groups[row], hashed, align->run,
					   align->coverage.item[row].rank,
					   align->communicators.item[outer[j]].hash);
		}
	}
}

int common_init(struct common *common, const struct np_align *align,
		const struct progress *progress, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *by_hash = np_idmap_new();
	struct hashed hashed = { 0 };
	int rc = NP_OK;

	*common = (struct common){ .align = align, .progress = progress };
	common->groups = calloc(align->coverage.count + 1, sizeof(*common->groups));
	if (!by_hash || !common->groups)
		return np_fail_nomem(err, "communicators");
	for (uint32_t i = 0; i < align->communicators.count && rc == NP_OK; i++)
		rc = np_idmap_set(by_hash, (int64_t)align->communicators.item[i].hash, i, err);
	if (rc == NP_OK)
		rc = sort_groups(&hashed, align->run, err);
	if (rc == NP_OK)
		find_groups(common, &hashed, by_hash);
	free(hashed.groups);
	free(hashed.first);
	return rc;
}

void common_release(struct common *common)
{
	free(common->groups);
}

/* --- where they were last together -------------------------------------------------------------
 */

struct common_found *common_found_new(const struct np_align *align)
{
	/* Nothing lies before the first operator. */
	struct common_found *found = calloc(align->coverage.count + 1, sizeof(*found));

	for (size_t i = 0; found && i < align->coverage.count; i++)
		found[i].op = UINT32_MAX;
	return found;
}

static bool is_among(const struct common_groups *groups, uint32_t group)
{
	for (uint32_t i = 0; i < groups->count; i++) {
		if (groups->group[i] == group)
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
		       const struct late *late, uint32_t until)
{
	const struct np_align *align = common->align;
	const struct np_comm_op *ops = align->run->ranks[late->rank]->ops.item;
	const struct common_groups *groups = &common->groups[late->row];
	bool clear = progress_is_clear(common->progress, late->rank, until);

	for (uint32_t i = until; i-- > 0;) {
		const struct np_instance *before;

		if ((!clear && ops[i].end > ops[until].start) || !is_among(groups, ops[i].group))
			continue;
		before = np_align_instance(align, np_align_slot(align, late->rank, i));
		if (before != instance && brings_together(before, instance->count) &&
		    progress_blocked(common->progress, late->rank, i))
			return i;
	}
	return UINT32_MAX;
}

/* Nothing lies between what a later search found and where it began. */
static bool still_holds(const struct common *common, const struct common_found *found,
			uint32_t rank, uint32_t until, uint32_t count)
{
	const struct np_comm_op *ops = common->align->run->ranks[rank]->ops.item;

	if (until > found->until)
		return false;
	if (found->op == UINT32_MAX)
		return count >= found->count;
	if (count != found->count)
		return false;
	return (found->op < until && progress_is_clear(common->progress, rank, until)) ||
	       ops[found->op].end <= ops[until].start;
}

uint32_t common_before(const struct common *common, const struct np_instance *instance,
		       const struct late *late, struct common_found *found)
{
	uint32_t until = op_of(common->align, late);
	struct common_found *own = &found[late->row];

	if (!still_holds(common, own, late->rank, until, instance->count))
		*own = (struct common_found){ search(common, instance, late, until), until,
					      instance->count };
	return own->op;
}
