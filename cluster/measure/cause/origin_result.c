/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/origin.h"

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

void np_origin_release(struct np_origin *origin)
{
	free(origin->ranks);
	free(origin->rows);
	np_vec_release(&origin->edges);
	origin->ranks = NULL;
	origin->rows = NULL;
}

enum np_cause np_origin_cause(const struct np_origin *origin, uint32_t rank)
{
	const np_ns *by_cause = origin->ranks[rank].by_cause;
	enum np_cause most = NP_CAUSE_UNKNOWN;

	for (int i = 0; i < NP_CAUSES; i++) {
		if (by_cause[i] > by_cause[most])
			most = (enum np_cause)i;
	}
	return most;
}

bool np_origin_stands_out(const struct np_origin *origin, uint32_t rank, np_ns available)
{
	const char *kind = np_origin_kind(origin, rank);
	double cost = (double)origin->ranks[rank].cost;
	double total = 0;

	for (size_t i = 0; i < origin->rank_count; i++)
		total += (double)origin->ranks[i].cost;
	return (!kind || strcmp(kind, "chronic") == 0) &&
	       cost * (double)origin->ranks_seen >= 2 * total && available > 0 &&
	       cost >= 0.005 * (double)available;
}

const struct np_origin_edge *np_origin_edge_to(const struct np_origin *origin, uint32_t rank)
{
	const struct np_origin_edge *most = NULL;

	for (size_t i = 0; i < origin->edges.count; i++) {
		const struct np_origin_edge *edge = &origin->edges.item[i];

		if (edge->rank == rank && (!most || edge->cost > most->cost))
			most = edge;
	}
	return most;
}

static int by_cost(const void *left, const void *right, void *context)
{
	const struct np_origin *origin = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (origin->ranks[a].cost != origin->ranks[b].cost)
		return origin->ranks[a].cost > origin->ranks[b].cost ? -1 : 1;
	return (a > b) - (a < b);
}

int np_origin_sort(const struct np_origin *origin, struct np_blame_order *ret, struct np_err *err)
{
	uint32_t *ranks = malloc((origin->rank_count + 1) * sizeof(*ranks));
	size_t count = 0;

	if (!ranks)
		return np_fail_nomem(err, "origins of waiting");
	for (uint32_t i = 0; i < origin->rank_count; i++) {
		if (origin->ranks[i].cost > 0)
			ranks[count++] = i;
	}
	qsort_r(ranks, count, sizeof(ranks[0]), by_cost, (void *)(uintptr_t)origin);
	*ret = (struct np_blame_order){ ranks, count };
	return NP_OK;
}
