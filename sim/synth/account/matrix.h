/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_MATRIX_H
#define SYN_MATRIX_H

#include "op_analysis.h"

/*
 * What went over which link. msprof shows every operator; torch_npu shows, for
 * every class of operators, communicator and link, the best, middle and worst
 * operators of a step and their sum.
 */

/* One operator on one link. */
struct syn_link {
	const char *op_class;
	const char *transport;
	char op_name[96];
	char group[24];
	bool p2p;
	int32_t src;
	int32_t dst;
	int64_t size;
	np_ns time_ns;
	size_t number; /* in the order in which they were added */
};

struct syn_matrix {
	NP_VEC(struct syn_link) links;
};

/* Add the links of an operator, each once, behind those that are there. */
int syn_matrix_note(struct syn_matrix *matrix, const struct syn_comm_event *comm,
		    const struct syn_transfers *transfers, struct np_err *err) NP_MUST_USE;

/* Put equal classes, communicators and links together, the fastest operator first. */
void syn_matrix_sort(struct syn_matrix *matrix);

/* Where what belongs together with `first` ends: the same link, or class and communicator. */
size_t syn_matrix_link_end(const struct syn_matrix *matrix, size_t first);
size_t syn_matrix_class_end(const struct syn_matrix *matrix, size_t first);

/* The operators torch_npu picks of those on one link. */
enum syn_pick {
	SYN_PICK_TOP1,
	SYN_PICK_MIDDLE,
	SYN_PICK_BOTTOM1,
	SYN_PICK_BOTTOM2,
	SYN_PICK_BOTTOM3,
	SYN_PICK_TOTAL,
	SYN_PICKS,
};

extern const char *const syn_pick_names[];

/* One of them from the sorted operators [first, end) of a link; false if there are too few. */
bool syn_matrix_pick(const struct syn_matrix *matrix, size_t first, size_t end, enum syn_pick pick,
		     struct syn_link *ret);

void syn_matrix_release(struct syn_matrix *matrix);

#endif /* SYN_MATRIX_H */
