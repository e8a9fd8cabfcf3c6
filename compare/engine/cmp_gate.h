/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_GATE_H
#define CMP_GATE_H

#include "cmp_comparison.h"

/*
 * Conditions under which a comparison fails
 * =========================================
 *
 *	step>2%,comm>5%,kernel:MatMul*>3%,mem>1%,leaf:comm*>0.5ms
 *
 * A condition names what it is about, and by how much that may grow: a share of
 * the base, or a time. It fails only if the growth is significant over the steps
 * (or without statistics: whenever it is exceeded); exceeded but not significant,
 * or with too few steps to tell, is inconclusive. Memory has one peak per rank and
 * no spread over steps: the plain threshold counts.
 */
enum cmp_gate_result {
	CMP_GATE_PASS,
	CMP_GATE_INCONCLUSIVE,
	CMP_GATE_FAIL,
};

const char *cmp_gate_result_name(enum cmp_gate_result result);

struct cmp_condition {
	const char *text; /* as the user wrote it; kept in the arena of the gate */
	const char *what; /* "step", "kernel" … */
	const char *glob; /* NULL for none */
	double limit;
	bool relative;            /* the limit is a share, else ns */
	bool bytes;               /* it is about memory */
	int64_t value[CMP_SIDES]; /* ns or bytes; NP_UNKNOWN */
	double p;
	enum cmp_gate_result result;
	const char *reason; /* of inconclusive; else NULL */
};

struct cmp_gate {
	NP_VEC(struct cmp_condition) conditions;
	enum cmp_gate_result result;
	struct np_arena *arena;
};

/* NP_E_USAGE, quoting the part that is wrong. */
int cmp_gate_parse(const char *text, struct cmp_gate *ret, struct np_err *err) NP_MUST_USE;
int cmp_gate_judge(struct cmp_gate *gate, const struct comparison *comparison, struct np_err *err)
	NP_MUST_USE;
void cmp_gate_release(struct cmp_gate *gate);

#endif /* CMP_GATE_H */
