/* SPDX-License-Identifier: Apache-2.0 */
/* The waiting in each communicator by root cause, and by who waited. */
#include "npuprof/flows.h"

#include "npuprof/align.h"
#include "npuprof/apportion.h"
#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

/* What is left to pass on after so many times, or of so little, stays where it is. */
#define MOST_PASSES 32
#define LEAST_PART  1e-6

/* A part of what a rank is charged with goes on to another. */
struct flow_pass {
	uint32_t to; /* index in the run; `rank_count` for ranks that were not profiled */
	double part;
};

/* Of every rank, to whom its charges go on. */
struct flow_passes {
	struct flow_pass *list;
	size_t *first; /* by rank; one more than there are ranks */
	size_t rank_count;
};

/* Room for one communicator: by rank, then for those not profiled and for nobody. */
struct flow_sums {
	double *at;      /* charged so far */
	double *next;    /* passed on, for the next round */
	double *stays;   /* root causes */
	int64_t *waited; /* of each rank */
	int64_t *whole;
};

void np_flows_release(struct np_flows *flows)
{
	np_vec_release(&flows->causes);
	np_vec_release(&flows->waits);
	np_vec_release(&flows->steps);
}

static void release_sums(struct flow_sums *sums)
{
	free(sums->at);
	free(sums->next);
	free(sums->stays);
	free(sums->waited);
	free(sums->whole);
}

static int make_sums(struct flow_sums *sums, size_t ranks, struct np_err *err)
{
	size_t count = ranks + 2;

	sums->at = calloc(count, sizeof(*sums->at));
	sums->next = calloc(count, sizeof(*sums->next));
	sums->stays = calloc(count, sizeof(*sums->stays));
	sums->waited = calloc(count, sizeof(*sums->waited));
	sums->whole = calloc(count, sizeof(*sums->whole));
	return sums->at && sums->next && sums->stays && sums->waited && sums->whole
		       ? NP_OK
		       : np_fail_nomem(err, "the flow of waiting");
}

static void release_passes(struct flow_passes *passes)
{
	free(passes->list);
	free(passes->first);
}

/* What a rank had to answer for: its own charges and what came through others. */
static double charged(const struct np_charges *charges, const struct np_root_causes *causes,
		      size_t rank)
{
	return (double)charges->ranks[rank].charge + (double)causes->ranks[rank].received;
}

static int find_passes(const struct np_charges *charges, const struct np_root_causes *causes,
		       struct flow_passes *ret, struct np_err *err)
{
	size_t count = causes->rank_count;

	ret->rank_count = count;
	ret->list = calloc(causes->edges.count + 1, sizeof(*ret->list));
	ret->first = calloc(count + 1, sizeof(*ret->first));
	if (!ret->list || !ret->first)
		return np_fail_nomem(err, "the flow of waiting");
	for (size_t i = 0; i < causes->edges.count; i++)
		ret->first[causes->edges.item[i].victim]++;
	for (size_t i = 1; i <= count; i++)
		ret->first[i] += ret->first[i - 1];
	/* So far these are the ends of each rank's; filled from there they become the begins. */
	for (size_t i = 0; i < causes->edges.count; i++) {
		const struct np_root_cause_edge *edge = &causes->edges.item[i];
		double all = charged(charges, causes, edge->victim);

		ret->list[--ret->first[edge->victim]] = (struct flow_pass){
			.to = edge->rank == NP_ROOT_CAUSE_UNPROFILED ? (uint32_t)count
			      : edge->rank == NP_ROOT_CAUSE_NOBODY   ? (uint32_t)count + 1
								     : edge->rank,
			.part = all > 0 ? (double)edge->charge / all : 0
		};
	}
	return NP_OK;
}

/* One round: what each rank is charged stays with it or goes on. Gives what goes on in all. */
static double pass_on(const struct flow_passes *passes, struct flow_sums *sums, double least)
{
	double moved = 0;

	for (size_t i = 0; i < passes->rank_count; i++) {
		double here = sums->at[i];
		double left = here;

		sums->at[i] = 0;
		if (here <= least) {
			sums->stays[i] += here;
			continue;
		}
		for (size_t j = passes->first[i]; j < passes->first[i + 1]; j++) {
			double part = here * passes->list[j].part;

			sums->next[passes->list[j].to] += part;
			left -= part;
		}
		sums->stays[i] += left > 0 ? left : 0;
		moved += here - left;
	}
	/* Who was not profiled passes nothing on, nor does nobody. */
	for (size_t i = passes->rank_count; i < passes->rank_count + 2; i++) {
		sums->stays[i] += sums->next[i];
		sums->next[i] = 0;
	}
	return moved;
}

static void find_root_causes(const struct flow_passes *passes, struct flow_sums *sums, double total)
{
	double least = total * LEAST_PART;

	for (size_t round = 0; round < MOST_PASSES; round++) {
		double *next = sums->next;

		if (pass_on(passes, sums, least) <= least)
			break;
		sums->next = sums->at;
		sums->at = next;
	}
	for (size_t i = 0; i < passes->rank_count; i++) {
		sums->stays[i] += sums->at[i] + sums->next[i];
		sums->at[i] = 0;
		sums->next[i] = 0;
	}
}

/* What the operators of a communicator waited, by rank; the sum of it. */
static np_ns add_waits(const struct np_align *align, const struct np_waits *waits, size_t index,
		       np_ns *waited)
{
	const struct np_align_communicator *each = &align->communicators.item[index];
	np_ns total = 0;

	for (uint32_t slot = each->first_slot; slot < each->first_slot + each->ops; slot++) {
		np_ns wait = waits->wait[slot];

		if (wait == NP_UNKNOWN || wait <= 0)
			continue;
		waited[align->members[slot].rank] += wait;
		total += wait;
	}
	return total;
}

/* The rows of `sums` that are not 0; it is zeroed. */
static int keep(uint32_t of, int64_t *sums, size_t count, size_t ranks, np_flow_list *list,
		struct np_err *err)
{
	for (size_t i = 0; i < count; i++) {
		struct np_flow *flow;

		if (sums[i] == 0)
			continue;
		flow = np_vec_add(list, err);
		if (!flow)
			return NP_E_NOMEM;
		*flow = (struct np_flow){ of, (uint32_t)i, sums[i] };
		if (i >= ranks)
			flow->rank = i == ranks ? NP_FLOW_UNPROFILED : NP_FLOW_UNATTRIBUTED;
		sums[i] = 0;
	}
	return NP_OK;
}

/* The charges by arrival of one communicator, of which `row` is the first; the next row. */
static size_t add_charges(const struct np_charges *charges, uint32_t communicator, size_t row,
			  struct flow_sums *sums, np_ns *ret_total)
{
	for (; row < charges->rows.count; row++) {
		const struct np_charge_row *each = &charges->rows.item[row];

		if (each->communicator != communicator)
			break;
		sums->at[each->rank] += (double)each->charge;
		*ret_total += each->charge;
	}
	return row;
}

/* What is charged to nobody is not passed on. */
static int add_communicator(const struct flow_passes *passes, uint32_t communicator, np_ns waited,
			    np_ns by_rank, np_ns unprofiled, struct flow_sums *sums,
			    struct np_flows *flows, struct np_err *err)
{
	size_t ranks = passes->rank_count;
	np_ns nobody = waited - by_rank - unprofiled;
	int rc;

	if (waited <= 0)
		return NP_OK;
	find_root_causes(passes, sums, (double)by_rank);
	sums->stays[ranks] += (double)unprofiled;
	sums->stays[ranks + 1] += nobody > 0 ? (double)nobody : 0;
	np_apportion(waited, sums->stays, ranks + 2, sums->whole);
	memset(sums->stays, 0, (ranks + 2) * sizeof(*sums->stays));
	rc = keep(communicator, sums->whole, ranks + 2, ranks, &flows->causes, err);
	if (rc == NP_OK)
		rc = keep(communicator, sums->waited, ranks, ranks, &flows->waits, err);
	return rc;
}

/* The rows of charges by step, in the order of cluster->steps; to be freed. */
struct flow_rows {
	const struct np_charge_row **list;
	size_t *first; /* by step; one more than there are steps */
};

static int sort_rows(const struct np_cluster *cluster, const struct np_charges *charges,
		     struct flow_rows *ret, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *places = np_idmap_new();
	size_t steps = cluster->steps.count;
	int rc = NP_OK;

	ret->list = calloc(charges->rows.count + 1, sizeof(*ret->list));
	ret->first = calloc(steps + 1, sizeof(*ret->first));
	if (!places || !ret->list || !ret->first)
		return np_fail_nomem(err, "the flow of waiting");
	for (size_t i = 0; i < steps && rc == NP_OK; i++)
		rc = np_idmap_set(places, cluster->steps.item[i], (uint32_t)i, err);
	for (int pass = 0; pass < 2 && rc == NP_OK; pass++) {
		for (size_t i = 0; i < charges->rows.count; i++) {
			uint32_t step = np_idmap_get(places, charges->rows.item[i].step);

			if (step == NP_IDMAP_NONE)
				continue;
			if (pass == 0)
				ret->first[step]++;
			else
				ret->list[--ret->first[step]] = &charges->rows.item[i];
		}
		for (size_t i = 1; i <= steps && pass == 0; i++)
			ret->first[i] += ret->first[i - 1];
	}
	return rc;
}

static int add_steps(const struct flow_passes *passes, const struct flow_rows *rows, size_t steps,
		     struct flow_sums *sums, struct np_flows *flows, struct np_err *err)
{
	size_t ranks = passes->rank_count;
	int rc = NP_OK;

	for (size_t step = 0; step < steps && rc == NP_OK; step++) {
		np_ns total = 0;

		for (size_t i = rows->first[step]; i < rows->first[step + 1]; i++) {
			sums->at[rows->list[i]->rank] += (double)rows->list[i]->charge;
			total += rows->list[i]->charge;
		}
		if (total == 0)
			continue;
		find_root_causes(passes, sums, (double)total);
		np_apportion(total, sums->stays, ranks + 1, sums->whole);
		memset(sums->stays, 0, (ranks + 2) * sizeof(*sums->stays));
		rc = keep((uint32_t)step, sums->whole, ranks + 1, ranks, &flows->steps, err);
	}
	return rc;
}

static int measure_steps(const struct np_cluster *cluster, const struct np_charges *charges,
			 const struct flow_passes *passes, struct flow_sums *sums,
			 struct np_flows *flows, struct np_err *err)
{
	struct flow_rows rows = { 0 };
	int rc = sort_rows(cluster, charges, &rows, err);

	if (rc == NP_OK)
		rc = add_steps(passes, &rows, cluster->steps.count, sums, flows, err);
	free(rows.list);
	free(rows.first);
	return rc;
}

int np_flows_measure(const struct np_cluster *cluster, const struct np_align *align,
		     const struct np_waits *waits, const struct np_charges *charges,
		     const struct np_root_causes *causes, struct np_flows *ret, struct np_err *err)
{
	struct flow_passes passes = { 0 };
	struct flow_sums sums = { 0 };
	struct np_flows flows = { 0 };
	size_t row = 0;
	int rc = find_passes(charges, causes, &passes, err);

	if (rc == NP_OK)
		rc = make_sums(&sums, causes->rank_count, err);
	for (uint32_t i = 0; i < align->communicators.count && rc == NP_OK; i++) {
		np_ns by_rank = 0;
		np_ns waited = add_waits(align, waits, i, sums.waited);

		row = add_charges(charges, i, row, &sums, &by_rank);
		rc = add_communicator(&passes, i, waited, by_rank, charges->unprofiled_in[i], &sums,
				      &flows, err);
	}
	if (rc == NP_OK)
		rc = measure_steps(cluster, charges, &passes, &sums, &flows, err);
	release_sums(&sums);
	release_passes(&passes);
	if (rc == NP_OK)
		*ret = flows;
	else
		np_flows_release(&flows);
	return rc;
}
