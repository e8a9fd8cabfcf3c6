/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MODULES_PRIVATE_H
#define NP_MODULES_PRIVATE_H

/* What modules.c (which run of a module an operator belongs to) and modules_sum.c share. */

#include "modules.h"

#define MODULES_NONE  UINT32_MAX
#define MODULES_DEPTH 20

/* One run of a module. */
struct module {
	np_ns start;
	np_ns end;
	int64_t tid;
	np_str name; /* of the run */
	uint32_t parent;
	bool backward;
};

/* A kernel or an operator by the connection that launched it. */
struct launched {
	int64_t connection;
	np_ns start;
	np_ns time;
	np_str name;
	uint32_t kernel; /* in the detail; MODULES_NONE for a communication operator */
};

struct modules_work {
	struct mode_rank *rank;
	const struct np_detail *detail;
	NP_VEC(struct module) modules;
	NP_VEC(struct launched) launched; /* by connection, then start */
	uint32_t *module_of;              /* by call of the framework */
	const double *figures;
};

/* modules_sum.c: the kernels by the connection that launched them; rows by way of running. */
int modules_read_launched(struct modules_work *work) NP_MUST_USE;
int modules_sum(struct modules_work *work, struct module_rows *rows) NP_MUST_USE;

#endif /* NP_MODULES_PRIVATE_H */
