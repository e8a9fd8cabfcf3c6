/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MSP_JOIN_H
#define MSP_JOIN_H

/*
 * Records of different kinds that tell of one thing are joined by their ids:
 * a task and its kernel, copy and counters (join_tasks.c), an operator and its
 * sub-tasks (join_ops.c). Lines may be missing where a recording was cut.
 */
#include "convert.h"
#include "npuprof/idmap.h"

enum msp_launch_kind {
	/* In this order if their turns are at the same time. */
	MSP_LAUNCH_TASK,
	MSP_LAUNCH_OP,
	MSP_LAUNCH_CALL,
};

/* What counters say of one task. */
struct msp_pmu {
	struct syn_pmu summary;
	const struct syn_counter *counters;
	size_t count;
};

struct msp_join {
	struct msp_conversion *conversion;
	struct msp_recording *recording;
	struct np_idmap *task_index;   /* id of a task: index in the recording */
	struct np_idmap *kernel_model; /* id of a task: index of its model */
	struct np_idmap *call_index;   /* connection: index of the call */
	struct np_idmap *op_index;     /* id of an operator: index in the recording */
	struct np_idmap *copy_index;   /* id of a task: index of the copy */
	struct np_idmap *pmu_index;    /* id of a task: index in `pmus` */
	struct msp_pmu *pmus;          /* in the arena, one for each task at most */
	struct syn_counter *counters;  /* likewise, one for each recorded */
	size_t pmu_count;
	bool *in_op; /* by index of the task: it is a part of an operator */
	struct np_err *err;
};

/* A new entry in the order of launching, `at` being when its turn is; NULL without memory. */
struct msp_launch *msp_add_launch(struct msp_join *join, enum msp_launch_kind kind, np_ns at);

/* When the call that launched something had ended, or when it began to run. */
np_ns msp_launch_time(struct msp_join *join, int64_t connection, np_ns start);

/* Operators first: what is a part of one is no task of its own. */
int msp_join_ops(struct msp_join *join) NP_MUST_USE;
int msp_join_tasks(struct msp_join *join) NP_MUST_USE;

/* "N/A" for what was not recorded. */
static inline const char *msp_or_none(const char *text)
{
	return text ? text : "N/A";
}

static inline int64_t msp_or_zero(int64_t value)
{
	return value == NP_UNKNOWN ? 0 : value;
}

#endif /* MSP_JOIN_H */
