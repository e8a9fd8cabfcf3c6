/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/root_cause.h"

const char *np_cause_name(enum np_cause cause)
{
	static const char *const names[] = {
		[NP_CAUSE_COMPUTE] = "compute",
		[NP_CAUSE_HOST] = "host",
		[NP_CAUSE_COMMUNICATION] = "communication",
		[NP_CAUSE_UNKNOWN] = "unknown",
	};

	return names[cause];
}

void np_root_cause_release(struct np_root_causes *causes)
{
	free(causes->ranks);
	free(causes->rows);
	np_vec_release(&causes->edges);
	causes->ranks = NULL;
	causes->rows = NULL;
}

enum np_cause np_root_cause_main(const struct np_root_causes *causes, uint32_t rank)
{
	const np_ns *by_cause = causes->ranks[rank].by_cause;
	enum np_cause most = NP_CAUSE_UNKNOWN;

	for (int i = 0; i < NP_CAUSES; i++) {
		if (by_cause[i] > by_cause[most])
			most = (enum np_cause)i;
	}
	return most;
}

bool np_root_cause_stands_out(const struct np_root_causes *causes, uint32_t rank, np_ns available)
{
	const char *kind = np_root_cause_kind(causes, rank);
	double charge = (double)causes->ranks[rank].charge;
	double total = 0;

	for (size_t i = 0; i < causes->rank_count; i++)
		total += (double)causes->ranks[i].charge;
	return (!kind || strcmp(kind, "chronic") == 0) &&
	       charge * (double)causes->ranks_seen >= 2 * total && available > 0 &&
	       charge >= 0.005 * (double)available;
}

const struct np_root_cause_edge *np_root_cause_edge_to(const struct np_root_causes *causes,
						       uint32_t rank)
{
	const struct np_root_cause_edge *most = NULL;

	for (size_t i = 0; i < causes->edges.count; i++) {
		const struct np_root_cause_edge *edge = &causes->edges.item[i];

		if (edge->rank == rank && (!most || edge->charge > most->charge))
			most = edge;
	}
	return most;
}

static int by_charge(const void *left, const void *right, void *context)
{
	const struct np_root_causes *causes = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (causes->ranks[a].charge != causes->ranks[b].charge)
		return causes->ranks[a].charge > causes->ranks[b].charge ? -1 : 1;
	return (a > b) - (a < b);
}

int np_root_cause_sort(const struct np_root_causes *causes, struct np_charge_order *ret,
		       struct np_err *err)
{
	uint32_t *ranks = malloc((causes->rank_count + 1) * sizeof(*ranks));
	size_t count = 0;

	if (!ranks)
		return np_fail_nomem(err, "origins of waiting");
	for (uint32_t i = 0; i < causes->rank_count; i++) {
		if (causes->ranks[i].charge > 0)
			ranks[count++] = i;
	}
	qsort_r(ranks, count, sizeof(ranks[0]), by_charge, (void *)(uintptr_t)causes);
	*ret = (struct np_charge_order){ ranks, count };
	return NP_OK;
}
