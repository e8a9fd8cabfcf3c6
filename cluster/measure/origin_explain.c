/* SPDX-License-Identifier: Apache-2.0 */
#include "origin_private.h"

/* Waiters that a late rank is compared with, at most: more change the mean little. */
#define MOST_COMPARED 4

/* Charges below a microsecond, or a twentieth of the instance's, are not worth an explanation. */
#define WORTH_EXPLAINING_SHARE 20

void explainer_release(struct explainer *explainer)
{
	np_vec_release(&explainer->members);
	np_vec_release(&explainer->wait);
	np_vec_release(&explainer->charge);
	np_vec_release(&explainer->by_arrival);
}

static int by_wait(const void *left, const void *right, void *context)
{
	const struct late *members = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (members[a].wait != members[b].wait)
		return members[a].wait > members[b].wait ? -1 : 1;
	return (a > b) - (a < b);
}

static int add_member(struct explainer *explainer, np_ns wait, np_ns floor)
{
	struct late *late = np_vec_add(&explainer->members, explainer->err);
	np_ns *given = np_vec_add(&explainer->wait, explainer->err);
	uint32_t *order = np_vec_add(&explainer->by_arrival, explainer->err);

	if (!late || !given || !order || !np_vec_add(&explainer->charge, explainer->err))
		return NP_E_NOMEM;
	*given = wait;
	*order = (uint32_t)explainer->members.count - 1;
	late->wait = wait == NP_UNKNOWN || wait < floor ? 0 : wait;
	return NP_OK;
}

static int charge_members(struct explainer *explainer, np_ns floor)
{
	np_ns below = 0;
	np_ns alike = np_blame_charge(explainer->wait.item, explainer->wait.count, floor,
				      explainer->charge.item, &below, explainer->err);

	if (alike == NP_UNKNOWN)
		return NP_E_NOMEM;
	for (size_t i = 0; i < explainer->members.count; i++)
		explainer->members.item[i].charge = explainer->charge.item[i];
	return NP_OK;
}

int explainer_see(struct explainer *explainer, const struct np_instance *instance, bool *ret_known)
{
	np_ns floor = np_blame_floor(explainer->clock, explainer->waits, instance);
	int rc = NP_OK;

	explainer->members.count = 0;
	explainer->wait.count = 0;
	explainer->charge.count = 0;
	explainer->by_arrival.count = 0;
	explainer->typical_known = false;
	*ret_known = true;
	for (uint32_t i = 0; i < instance->count && rc == NP_OK; i++) {
		np_ns wait = explainer->waits->wait[instance->first + i];

		*ret_known &= wait != NP_UNKNOWN;
		rc = add_member(explainer, wait, floor);
	}
	if (rc == NP_OK && *ret_known)
		rc = charge_members(explainer, floor);
	if (rc == NP_OK)
		qsort_r(explainer->by_arrival.item, instance->count, sizeof(uint32_t), by_wait,
			explainer->members.item);
	return rc;
}

np_ns worth_explaining(const struct explainer *explainer, const struct np_instance *instance,
		       np_ns received)
{
	np_ns all = received;

	for (uint32_t i = 0; i < instance->count; i++)
		all += explainer->members.item[i].charge;
	all /= WORTH_EXPLAINING_SHARE;
	return all < WORTH_EXPLAINING_NS ? WORTH_EXPLAINING_NS : all;
}

/* What those who waited did since all were last together, on average by how long they waited. */
static void see_waiters(struct explainer *explainer, const struct np_instance *instance,
			const struct np_instance *since)
{
	double total = 0;
	uint32_t compared = 0;
	uint32_t stride = (instance->count + MOST_COMPARED - 1) / MOST_COMPARED;

	explainer->since = since;
	explainer->typical_known = true;
	for (int i = 0; i < SPENT_KINDS; i++)
		explainer->typical[i] = 0;
	/* The first to come waited longest and tell most. */
	for (uint32_t i = 0; i < instance->count && compared < MOST_COMPARED; i += stride) {
		uint32_t index = explainer->by_arrival.item[i];
		const struct np_member *member =
			&explainer->align->members[instance->first + index];
		double weight = (double)explainer->members.item[index].wait;
		uint32_t op =
			since ? instance_op_of(explainer->align, since, member->rank) : UINT32_MAX;
		struct spent_sum spent;

		if (weight <= 0 || (since && op == UINT32_MAX))
			continue;
		spent = progress_between(explainer->progress, member->rank, op, member->op);
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

void explainer_compare(struct explainer *explainer, const struct np_instance *instance,
		       uint32_t index, uint8_t ret[SPENT_KINDS])
{
	const struct np_member *member = &explainer->align->members[instance->first + index];
	uint32_t since = common_before(explainer->common, instance, member);
	const struct np_instance *together = NULL;
	struct spent_sum spent;

	if (since != UINT32_MAX)
		together = instance_of(explainer->common,
				       np_align_slot(explainer->align, member->rank, since));
	if (!explainer->typical_known || together != explainer->since)
		see_waiters(explainer, instance, together);
	spent = progress_between(explainer->progress, member->rank, since, member->op);
	keep_shares(explainer, &spent, ret);
}
