/* SPDX-License-Identifier: Apache-2.0 */
/* Who came late to an instance, and what they did more of than those who waited. */
#include "root_cause_explain.h"

#include "npuprof/align.h"
#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

/* The operator of a rank in an instance; UINT32_MAX for none. */
static uint32_t instance_op_of(const struct np_align *align, const struct np_instance *instance,
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

/*
 * The operator from which a member of this instance last went on together with
 * all the others: of a collective of them all, before this one, which it stood
 * still for. UINT32_MAX where there is none. It is quickest to ask for later
 * instances first.
 */
static uint32_t common_before(const struct common *common, const struct np_instance *instance,
			      const struct late *late, struct common_found *found)
{
	uint32_t until = op_of(common->align, late);
	struct common_found *own = &found[late->row];

	if (!still_holds(common, own, late->rank, until, instance->count))
		*own = (struct common_found){ search(common, instance, late, until), until,
					      instance->count };
	return own->op;
}

/* Charges below a microsecond, or a twentieth of the instance's, are not worth an explanation. */
#define WORTH_EXPLAINING_SHARE 20

void explainer_release(struct explainer *explainer)
{
	np_charging_release(&explainer->charging);
	np_vec_release(&explainer->charge);
}

/* The members' places: both they and the rows of the communicator are by rank. */
static void place_members(const struct np_align *align, const struct seen *seen)
{
	const struct np_instance *instance = seen->instance;
	const struct np_align_communicator *communicator =
		&align->communicators.item[instance->communicator];
	uint32_t row = communicator->coverage;
	uint32_t end = row + communicator->observed;

	for (uint32_t i = 0; i < instance->count; i++) {
		const struct np_member *member = &align->members[instance->first + i];

		if (row >= end || align->coverage.item[row].rank != member->rank)
			row = coverage_of(align, instance->communicator, member->rank);
		seen->members[i].rank = member->rank;
		seen->members[i].row = row++;
		seen->members[i].at = align->rank_first[member->rank] + member->op;
	}
}

static int charge_members(struct explainer *explainer, struct seen *seen)
{
	uint32_t count = seen->instance->count;

	while (explainer->charge.count < count) {
		if (!np_vec_add(&explainer->charge, explainer->err))
			return NP_E_NOMEM;
	}
	(void)np_charging_charge(&explainer->charging, count, explainer->charge.item);
	for (uint32_t i = 0; i < count; i++) {
		seen->members[i].charge = explainer->charge.item[i];
		seen->charges += explainer->charge.item[i];
	}
	return NP_OK;
}

int explainer_see(struct explainer *explainer, struct seen *seen)
{
	const struct np_instance *instance = seen->instance;
	const np_ns *wait = &explainer->waits->wait[instance->first];
	np_ns floor = np_charge_floor(explainer->clock, explainer->waits, instance);
	int rc =
		np_charging_see(&explainer->charging, wait, instance->count, floor, explainer->err);

	if (rc < 0)
		return rc;
	seen->known = true;
	seen->charges = 0;
	place_members(explainer->align, seen);
	for (uint32_t i = 0; i < instance->count; i++) {
		struct late *late = &seen->members[i];
		const struct np_arrival *arrival = &explainer->charging.arrivals[i];

		late->charge = 0;
		late->arrival = arrival->member;
		late->more[0] = NOT_COMPARED;
		seen->members[arrival->member].wait = arrival->wait;
		seen->known &= wait[i] != NP_UNKNOWN;
	}
	return seen->known ? charge_members(explainer, seen) : NP_OK;
}

np_ns worth_explaining(const struct seen *seen, np_ns received)
{
	np_ns all = (received + seen->charges) / WORTH_EXPLAINING_SHARE;

	return all < WORTH_EXPLAINING_NS ? WORTH_EXPLAINING_NS : all;
}

/* Of who waited and has no intervals only waits and transfers are known. */
static bool is_timed(const struct np_align *align, const struct late *late)
{
	return late->wait > 0 && align->run->ranks[late->rank]->activity.cells.count > 0;
}

static bool is_anybody_timed(const struct np_align *align, const struct seen *seen)
{
	for (uint32_t i = 0; i < seen->instance->count; i++) {
		if (is_timed(align, &seen->members[i]))
			return true;
	}
	return false;
}

/* What those who waited did since all were last together, on average by how long they waited. */
static void see_waiters(struct explainer *explainer, const struct seen *seen,
			const struct np_instance *since)
{
	const struct np_align *align = explainer->align;
	uint32_t count = seen->instance->count;
	uint32_t stride = compared_stride(count);
	uint32_t compared = 0;
	bool timed = is_anybody_timed(align, seen);
	double total = 0;

	explainer->since = since;
	explainer->typical_of = seen;
	for (int i = 0; i < SPENT_KINDS; i++)
		explainer->typical[i] = 0;
	/* The first to come waited longest and say most. */
	for (uint32_t i = 0; i < count && compared < MOST_COMPARED; i += stride) {
		const struct late *late = &seen->members[seen->members[i].arrival];
		uint32_t rank = late->rank;
		double weight = (double)late->wait;
		uint32_t op = since ? instance_op_of(align, since, rank) : UINT32_MAX;
		struct spent_sum spent;

		if (weight <= 0 || (since && op == UINT32_MAX) || (timed && !is_timed(align, late)))
			continue;
		spent = progress_between(explainer->progress, rank, op, op_of(align, late));
		for (int kind = 0; kind < SPENT_KINDS; kind++)
			explainer->typical[kind] += weight * (double)spent.by[kind];
		total += weight;
		compared++;
	}
	for (int i = 0; i < SPENT_KINDS && total > 0; i++)
		explainer->typical[i] /= total;
}

/* Excesses as shares of 250, which leaves room for the two marks. */
static void keep_shares(const struct explainer *explainer, const struct spent_sum *spent,
			uint8_t ret[SPENT_KINDS])
{
	double excess[SPENT_KINDS];
	double all = 0;

	for (int i = 0; i < SPENT_KINDS; i++) {
		double more = (double)spent->by[i] - explainer->typical[i];

		excess[i] = more > 0 ? more : 0;
		all += excess[i];
	}
	if (all <= 0) {
		ret[0] = NOTHING_MORE;
		return;
	}
	for (int i = 0; i < SPENT_KINDS; i++)
		ret[i] = (uint8_t)(250 * excess[i] / all + 0.5);
}

/* Most were together not long ago. */
static uint16_t back_to(uint32_t since, uint32_t op)
{
	if (since == UINT32_MAX)
		return BACK_NEVER;
	return op - since < BACK_FAR ? (uint16_t)(op - since) : BACK_FAR;
}

uint32_t since_of(struct explainer *explainer, const struct np_instance *instance,
		  const struct late *late)
{
	if (late->back == BACK_FAR)
		return common_before(explainer->common, instance, late, explainer->found);
	return late->back == BACK_NEVER ? UINT32_MAX : op_of(explainer->align, late) - late->back;
}

/*
 * Those who waited may have gone ahead while an earlier operator was still under way: gradients are
 * reduced while the backward pass goes on, and the next operator begins where that one ends, with
 * nothing computed in between. What the late one computed since then they had computed before.
 */
#define HAD_COMPUTED 8 /* of what the late one did, they did less than one part in so many */

static bool had_gone_ahead(const struct explainer *explainer, const struct spent_sum *spent)
{
	return HAD_COMPUTED * explainer->typical[SPENT_COMPUTE] < (double)spent->by[SPENT_COMPUTE];
}

/* So many times the place from which they are compared is looked for further back. */
#define MOST_BACK 64

void explainer_compare(struct explainer *explainer, const struct seen *seen, uint32_t index)
{
	const struct np_align *align = explainer->align;
	struct late *late = &seen->members[index];
	uint32_t rank = late->rank;
	uint32_t op = op_of(align, late);
	uint32_t since = common_before(explainer->common, seen->instance, late, explainer->found);
	struct spent_sum spent;

	for (int tries = 0;; tries++) {
		const struct np_instance *together = NULL;
		uint32_t earlier;

		if (since != UINT32_MAX)
			together = np_align_instance(align, np_align_slot(align, rank, since));
		if (explainer->typical_of != seen || together != explainer->since)
			see_waiters(explainer, seen, together);
		spent = progress_between(explainer->progress, rank, since, op);
		if (since == UINT32_MAX || tries == MOST_BACK || !had_gone_ahead(explainer, &spent))
			break;
		earlier = search(explainer->common, seen->instance, late, since);
		/* From the beginning nothing is compared: captures do not begin together. */
		if (earlier == UINT32_MAX)
			break;
		since = earlier;
	}
	keep_shares(explainer, &spent, late->more);
	late->back = back_to(since, op);
}
