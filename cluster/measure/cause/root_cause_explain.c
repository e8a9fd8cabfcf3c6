/* SPDX-License-Identifier: Apache-2.0 */
#include "cause.h"

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

/* What those who waited did since all were last together, on average by how long they waited. */
static void see_waiters(struct explainer *explainer, const struct seen *seen,
			const struct np_instance *since)
{
	const struct np_align *align = explainer->align;
	uint32_t count = seen->instance->count;
	uint32_t stride = compared_stride(count);
	uint32_t compared = 0;
	double total = 0;

	explainer->since = since;
	explainer->typical_of = seen;
	for (int i = 0; i < SPENT_KINDS; i++)
		explainer->typical[i] = 0;
	/* The first to come waited longest and tell most. */
	for (uint32_t i = 0; i < count && compared < MOST_COMPARED; i += stride) {
		const struct late *late = &seen->members[seen->members[i].arrival];
		uint32_t rank = late->rank;
		double weight = (double)late->wait;
		uint32_t op = since ? instance_op_of(align, since, rank) : UINT32_MAX;
		struct spent_sum spent;

		if (weight <= 0 || (since && op == UINT32_MAX))
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

void explainer_compare(struct explainer *explainer, const struct seen *seen, uint32_t index)
{
	const struct np_align *align = explainer->align;
	struct late *late = &seen->members[index];
	uint32_t rank = late->rank;
	uint32_t op = op_of(align, late);
	uint32_t since = common_before(explainer->common, seen->instance, late, explainer->found);
	const struct np_instance *together = NULL;
	struct spent_sum spent;

	if (since != UINT32_MAX)
		together = np_align_instance(align, np_align_slot(align, rank, since));
	if (explainer->typical_of != seen || together != explainer->since)
		see_waiters(explainer, seen, together);
	spent = progress_between(explainer->progress, rank, since, op);
	keep_shares(explainer, &spent, late->more);
	late->back = back_to(since, op);
}
