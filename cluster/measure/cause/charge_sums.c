/* SPDX-License-Identifier: Apache-2.0 */
/* The charges of ranks, summed by host, stage and role. */
#include "npuprof/charge_sums.h"

#include "npuprof/align.h"
#include "npuprof/rank.h"

const char *np_charge_kind_name(enum np_charge_kind kind)
{
	static const char *const names[] = {
		[NP_CHARGE_HOST] = "host",
		[NP_CHARGE_STAGE] = "stage",
		[NP_CHARGE_ROLE] = "role",
	};

	return names[kind];
}

static struct np_charge_sum *charge_of(struct np_charge_sums *charge_sums, enum np_charge_kind kind,
				       np_str name, int32_t stage, struct np_err *err)
{
	struct np_charge_sum *sum;

	for (size_t i = 0; i < charge_sums->list.count; i++) {
		sum = &charge_sums->list.item[i];
		if (sum->kind == kind && sum->name == name && sum->stage == stage)
			return sum;
	}
	sum = np_vec_add(&charge_sums->list, err);
	if (sum)
		*sum = (struct np_charge_sum){ .kind = kind, .name = name, .stage = stage };
	return sum;
}

static int add_rank(struct np_charge_sums *charge_sums, enum np_charge_kind kind, np_str name,
		    int32_t stage, np_ns charge, np_ns direct, struct np_err *err)
{
	struct np_charge_sum *sum = charge_of(charge_sums, kind, name, stage, err);

	if (!sum)
		return NP_E_NOMEM;
	sum->ranks++;
	sum->charge += charge;
	sum->direct += direct;
	return NP_OK;
}

static int add_ranks(const struct np_cluster *cluster, const struct np_charges *charges,
		     const struct np_root_causes *causes, struct np_charge_sums *charge_sums,
		     struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		if (!rank)
			continue;
		rc = add_rank(charge_sums, NP_CHARGE_HOST, rank->host_name, -1,
			      causes->ranks[i].charge, charges->ranks[i].charge, err);
		if (rc == NP_OK && cluster->stages.count > 0)
			rc = add_rank(charge_sums, NP_CHARGE_STAGE, NP_STR_NONE,
				      np_cluster_stage(cluster, rank->id), causes->ranks[i].charge,
				      charges->ranks[i].charge, err);
	}
	return rc;
}

static int add_roles(const struct np_cluster *cluster, const struct np_align *align,
		     const struct np_charges *charges, struct np_charge_sums *charge_sums,
		     struct np_err *err)
{
	for (size_t i = 0; i < charges->rows.count; i++) {
		const struct np_charge_row *row = &charges->rows.item[i];
		const struct np_communicator *communicator = np_cluster_communicator(
			cluster, align->communicators.item[row->communicator].hash);
		struct np_charge_sum *sum =
			charge_of(charge_sums, NP_CHARGE_ROLE,
				  communicator ? communicator->pg_name : NP_STR_NONE, -1, err);

		if (!sum)
			return NP_E_NOMEM;
		sum->charge = NP_UNKNOWN;
		sum->direct += row->charge;
	}
	return NP_OK;
}

static int largest_first(const void *left, const void *right, void *context)
{
	const struct np_charge_sum *a = left;
	const struct np_charge_sum *b = right;
	const struct np_run *run = context;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->charge != b->charge)
		return a->charge > b->charge ? -1 : 1;
	if (a->direct != b->direct)
		return a->direct > b->direct ? -1 : 1;
	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	return strcmp(np_strtab_text(run->strings, a->name), np_strtab_text(run->strings, b->name));
}

int np_charge_sums_measure(const struct np_cluster *cluster, const struct np_align *align,
			   const struct np_charges *charges, const struct np_root_causes *causes,
			   struct np_charge_sums *ret, struct np_err *err)
{
	struct np_charge_sums charge_sums = { 0 };
	int rc = add_ranks(cluster, charges, causes, &charge_sums, err);

	if (rc == NP_OK)
		rc = add_roles(cluster, align, charges, &charge_sums, err);
	if (rc < 0) {
		np_charge_sums_release(&charge_sums);
		return rc;
	}
	if (charge_sums.list.count > 0)
		qsort_r(charge_sums.list.item, charge_sums.list.count,
			sizeof(charge_sums.list.item[0]), largest_first,
			(void *)(uintptr_t)cluster->run);
	*ret = charge_sums;
	return NP_OK;
}

void np_charge_sums_release(struct np_charge_sums *charge_sums)
{
	np_vec_release(&charge_sums->list);
}
