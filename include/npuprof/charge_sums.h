/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CHARGE_SUMS_H
#define NP_CHARGE_SUMS_H

#include "npuprof/root_cause.h"

/*
 * Charges by host, stage and role
 * ===============================
 *
 * The same charges as those of the ranks, seen from where a fault may sit: a host
 * and a stage have the sum of their ranks'; a role ("tp", "dp") has what was
 * waited for in its communicators. Each kind sums to the charges of all ranks.
 */
enum np_charge_kind {
	NP_CHARGE_HOST,
	NP_CHARGE_STAGE,
	NP_CHARGE_ROLE,
	NP_CHARGE_KINDS,
};

/* "host", "stage", "role" */
const char *np_charge_kind_name(enum np_charge_kind kind);

struct np_charge_sum {
	enum np_charge_kind kind;
	np_str name;   /* of the host or the role; NONE where it is not known */
	int32_t stage; /* number; -1 for ranks in none, and for hosts and roles */
	uint32_t ranks;
	np_ns charge; /* that began there; NP_UNKNOWN for roles */
	np_ns direct; /* by arrival */
};

struct np_charge_sums {
	NP_VEC(struct np_charge_sum) list; /* by kind, then the largest first */
};

int np_charge_sums_measure(const struct np_cluster *cluster, const struct np_align *align,
			   const struct np_charges *charges, const struct np_root_causes *causes,
			   struct np_charge_sums *ret, struct np_err *err) NP_MUST_USE;
void np_charge_sums_release(struct np_charge_sums *charge_sums);

#endif /* NP_CHARGE_SUMS_H */
