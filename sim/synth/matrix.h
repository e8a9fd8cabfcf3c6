/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_MATRIX_H
#define SYN_MATRIX_H

#include "npuprof/db.h"
#include "stream.h"

/*
 * CommAnalyzerMatrix: for every class of operators, communicator and link the
 * best, middle and worst operators of a step and their sum, as torch_npu picks
 * them.
 */

/* One transfer as the vendor counts it: a copying task, or a whole RDMA write. */
struct syn_transfer {
	int32_t src;
	int32_t dst;
	bool rdma;
	bool local;
	int64_t size;
	np_ns time_ns;
};

struct syn_transfers {
	NP_VEC(struct syn_transfer) all;
};

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
};

struct syn_matrix {
	NP_VEC(struct syn_link) links;
};

int syn_matrix_note(struct syn_matrix *matrix, const struct syn_comm_event *comm,
		    const struct syn_transfers *transfers, struct np_err *err) NP_MUST_USE;

/* Write the rows of the step and begin the next. */
int syn_matrix_write(struct syn_matrix *matrix, const struct syn_step_event *step,
		     struct np_db_insert *insert, struct np_err *err) NP_MUST_USE;

void syn_matrix_release(struct syn_matrix *matrix);

/* The units and labels of analysis.db. */
struct np_cell syn_milliseconds(np_ns time);
struct np_cell syn_megabytes(int64_t bytes);
double syn_rate(int64_t bytes, np_ns time); /* GB/s, four digits */
void syn_step_label(int64_t step, char *text, size_t size);

#endif /* SYN_MATRIX_H */
