/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_OP_ANALYSIS_H
#define SYN_OP_ANALYSIS_H

#include "sim/synth/world/stream.h"

/*
 * What the vendor's tools derive from the sub-tasks of one operator: times of
 * the master plane, transfers, and bandwidth per kind of link and package size.
 * analysis.db and communication.json show the same numbers.
 */

/* Times of the master plane. */
struct syn_op_times {
	np_ns transit_ns;
	np_ns wait_ns;
	np_ns sync_ns;
};

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

enum syn_bucket_kind {
	SYN_BUCKET_RDMA,
	SYN_BUCKET_HCCS,
	SYN_BUCKETS,
};

/* Packages of one size. */
struct syn_package {
	int64_t size;
	int64_t count;
	np_ns time_ns;
};

/* All transfers over one kind of link. */
struct syn_bucket {
	int64_t size;
	np_ns time_ns;
	double large_ratio;
	NP_VEC(struct syn_package) packages; /* in the order of their first */
};

struct syn_op_analysis {
	NP_VEC(struct syn_sub_task) tasks; /* by plane and time */
	struct syn_op_times times;
	struct syn_transfers transfers;
	struct syn_bucket buckets[SYN_BUCKETS];
};

/* Analyse an operator, replacing what `analysis` held. */
int syn_op_analyse(struct syn_op_analysis *analysis, const struct syn_config *config,
		   const struct syn_comm_event *comm, struct np_err *err) NP_MUST_USE;

void syn_op_analysis_release(struct syn_op_analysis *analysis);

/* GB/s, four digits. */
double syn_rate(int64_t bytes, np_ns time);

/* "step13", or "step" without marks. */
void syn_step_label(int64_t step, char *text, size_t size);

#endif /* SYN_OP_ANALYSIS_H */
