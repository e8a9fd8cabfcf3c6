/* SPDX-License-Identifier: Apache-2.0 */
#include "experts_private.h"

#include <strings.h>

/*
 * Experts that got no tokens
 * --------------------------
 *
 * A rank without tokens launches no kernel for them, and yet it is the one that
 * loses most. It took part in an exchange behind which others computed, and of
 * their kernels in the step it lacks as many as they ran there: kernels that came
 * a little later, behind another exchange, are not missing.
 */

struct idle {
	const struct np_align *align;
	const struct expert_work *works; /* of one communicator and step, by exchange */
	size_t count;
	/* By rank: */
	uint64_t *kernels;
	uint64_t *lacking; /* that others ran behind exchanges behind which it ran none */
	size_t *seen;      /* the last exchange with a work of it, counted from 1 */
	struct expert_works found;
};

/* Does the rank say which kernels it ran, and has it none of experts that do not tell tokens? */
static bool tells_kernels(const struct np_align *align, uint32_t rank)
{
	const struct np_rank *own = align->run->ranks[rank];
	bool known = false;

	if (own->experts.count > 0)
		return true;
	for (size_t i = 0; i < own->kernels.count; i++) {
		const char *type = np_strtab_text(align->run->strings, own->kernels.item[i].name);

		if (strncasecmp(type, NP_EXPERT_TYPE, strlen(NP_EXPERT_TYPE)) == 0)
			return false;
		known = known || (*type && strcasecmp(type, "N/A") != 0);
	}
	return known;
}

/* The end of the works from `from` on that follow the same exchange; marks their ranks. */
static size_t same_exchange(struct idle *idle, size_t from, uint32_t *ret_most)
{
	size_t to = from;

	*ret_most = 0;
	while (to < idle->count && idle->works[to].instance == idle->works[from].instance) {
		idle->seen[idle->works[to].rank] = from + 1;
		if (idle->works[to].kernels > *ret_most)
			*ret_most = idle->works[to].kernels;
		to++;
	}
	return to;
}

/* The kernels of each rank, and those that it lacks; returns the most that one has. */
static uint64_t count_kernels(struct idle *idle)
{
	const struct np_align *align = idle->align;
	const struct np_align_communicator *communicator =
		&align->communicators.item[idle->works->communicator];
	uint64_t most = 0;

	for (uint32_t i = 0; i < communicator->observed; i++) {
		uint32_t rank = align->coverage.item[communicator->coverage + i].rank;

		idle->kernels[rank] = 0;
		idle->lacking[rank] = 0;
		idle->seen[rank] = 0;
	}
	for (size_t i = 0; i < idle->count; i++) {
		uint64_t *kernels = &idle->kernels[idle->works[i].rank];

		*kernels += idle->works[i].kernels;
		most = *kernels > most ? *kernels : most;
	}
	for (size_t from = 0, to = 0; from < idle->count; from = to) {
		const struct np_instance *instance =
			&align->instances.item[idle->works[from].instance];
		uint32_t there;

		to = same_exchange(idle, from, &there);
		for (uint32_t i = 0; i < instance->count; i++) {
			uint32_t rank = align->members[instance->first + i].rank;

			if (idle->seen[rank] != from + 1)
				idle->lacking[rank] += there;
		}
	}
	return most;
}

static int add_idle(struct idle *idle, const struct expert_work *like,
		    const struct np_member *member, struct np_err *err)
{
	struct expert_work *work = np_vec_add(&idle->found.list, err);

	if (!work)
		return NP_E_NOMEM;
	*work = *like;
	work->rank = member->rank;
	work->op = member->op;
	work->kernels = 0;
	work->tokens = 0;
	work->time = 0;
	return NP_OK;
}

/* The works of one communicator and step. */
static int find_idle(struct idle *idle, struct np_err *err)
{
	const struct np_align *align = idle->align;
	uint64_t most = count_kernels(idle);
	int rc = NP_OK;

	for (size_t from = 0, to = 0; from < idle->count; from = to) {
		const struct expert_work *like = &idle->works[from];
		const struct np_instance *instance = &align->instances.item[like->instance];
		uint32_t there;

		to = same_exchange(idle, from, &there);
		for (uint32_t i = 0; i < instance->count && rc == NP_OK; i++) {
			const struct np_member *member = &align->members[instance->first + i];
			uint32_t rank = member->rank;

			if (idle->seen[rank] != from + 1 &&
			    idle->kernels[rank] + idle->lacking[rank] <= most &&
			    tells_kernels(align, rank))
				rc = add_idle(idle, like, member, err);
		}
	}
	return rc;
}

static int take_found(const struct idle *idle, struct expert_works *works, struct np_err *err)
{
	for (size_t i = 0; i < idle->found.list.count; i++) {
		struct expert_work *work = np_vec_add(&works->list, err);

		if (!work)
			return NP_E_NOMEM;
		*work = idle->found.list.item[i];
	}
	return NP_OK;
}

int experts_add_idle(const struct np_align *align, struct expert_works *works, struct np_err *err)
{
	size_t ranks = align->run->sources.count + 1;
	struct idle idle = { .align = align,
			     .kernels = calloc(ranks, sizeof(*idle.kernels)),
			     .lacking = calloc(ranks, sizeof(*idle.lacking)),
			     .seen = calloc(ranks, sizeof(*idle.seen)) };
	bool whole = idle.kernels && idle.lacking && idle.seen;
	int rc = whole ? NP_OK : np_fail_nomem(err, "experts");

	for (size_t from = 0, to = 0; from < works->list.count && rc == NP_OK; from = to) {
		const struct expert_work *first = &works->list.item[from];

		while (to < works->list.count && works->list.item[to].step == first->step &&
		       works->list.item[to].communicator == first->communicator)
			to++;
		if (first->communicator == UINT32_MAX)
			continue;
		idle.works = first;
		idle.count = to - from;
		rc = find_idle(&idle, err);
	}
	if (rc == NP_OK)
		rc = take_found(&idle, works, err);
	np_vec_release(&idle.found.list);
	free(idle.kernels);
	free(idle.lacking);
	free(idle.seen);
	return rc;
}
