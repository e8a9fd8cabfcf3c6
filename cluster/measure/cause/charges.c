/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/charges.h"

const char *np_charge_kind_name(enum np_charge_kind kind)
{
	static const char *const names[] = {
		[NP_CHARGE_HOST] = "host",
		[NP_CHARGE_STAGE] = "stage",
		[NP_CHARGE_ROLE] = "role",
	};

	return names[kind];
}

static struct np_charge *charge_of(struct np_charges *charges, enum np_charge_kind kind,
				   np_str name, int32_t stage, struct np_err *err)
{
	struct np_charge *charge;

	for (size_t i = 0; i < charges->list.count; i++) {
		charge = &charges->list.item[i];
		if (charge->kind == kind && charge->name == name && charge->stage == stage)
			return charge;
	}
	charge = np_vec_add(&charges->list, err);
	if (charge)
		*charge = (struct np_charge){ .kind = kind, .name = name, .stage = stage };
	return charge;
}

static int add_rank(struct np_charges *charges, enum np_charge_kind kind, np_str name,
		    int32_t stage, np_ns cost, np_ns direct, struct np_err *err)
{
	struct np_charge *charge = charge_of(charges, kind, name, stage, err);

	if (!charge)
		return NP_E_NOMEM;
	charge->ranks++;
	charge->cost += cost;
	charge->direct += direct;
	return NP_OK;
}

static int add_ranks(const struct np_cluster *cluster, const struct np_blame *blame,
		     const struct np_origin *origin, struct np_charges *charges, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		if (!rank)
			continue;
		rc = add_rank(charges, NP_CHARGE_HOST, rank->host_name, -1, origin->ranks[i].cost,
			      blame->ranks[i].cost, err);
		if (rc == NP_OK && cluster->stages.count > 0)
			rc = add_rank(charges, NP_CHARGE_STAGE, NP_STR_NONE,
				      np_cluster_stage(cluster, rank->id), origin->ranks[i].cost,
				      blame->ranks[i].cost, err);
	}
	return rc;
}

static int add_roles(const struct np_cluster *cluster, const struct np_align *align,
		     const struct np_blame *blame, struct np_charges *charges, struct np_err *err)
{
	for (size_t i = 0; i < blame->rows.count; i++) {
		const struct np_blame_row *row = &blame->rows.item[i];
		const struct np_communicator *communicator = np_cluster_communicator(
			cluster, align->communicators.item[row->communicator].hash);
		struct np_charge *charge =
			charge_of(charges, NP_CHARGE_ROLE,
				  communicator ? communicator->pg_name : NP_STR_NONE, -1, err);

		if (!charge)
			return NP_E_NOMEM;
		charge->cost = NP_UNKNOWN;
		charge->direct += row->cost;
	}
	return NP_OK;
}

static int largest_first(const void *left, const void *right, void *context)
{
	const struct np_charge *a = left;
	const struct np_charge *b = right;
	const struct np_run *run = context;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost > b->cost ? -1 : 1;
	if (a->direct != b->direct)
		return a->direct > b->direct ? -1 : 1;
	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	return strcmp(np_strtab_text(run->strings, a->name), np_strtab_text(run->strings, b->name));
}

int np_charges_measure(const struct np_cluster *cluster, const struct np_align *align,
		       const struct np_blame *blame, const struct np_origin *origin,
		       struct np_charges *ret, struct np_err *err)
{
	struct np_charges charges = { 0 };
	int rc = add_ranks(cluster, blame, origin, &charges, err);

	if (rc == NP_OK)
		rc = add_roles(cluster, align, blame, &charges, err);
	if (rc < 0) {
		np_charges_release(&charges);
		return rc;
	}
	if (charges.list.count > 0)
		qsort_r(charges.list.item, charges.list.count, sizeof(charges.list.item[0]),
			largest_first, (void *)(uintptr_t)cluster->run);
	*ret = charges;
	return NP_OK;
}

void np_charges_release(struct np_charges *charges)
{
	np_vec_release(&charges->list);
}
