/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TRACE_OPS_H
#define NP_TRACE_OPS_H

/* To which operator does a sub-task of a trace belong? Nothing but its time and thread tells. */

#include "core/model/vendor/trace_lanes.h"

/* An operator on its communicator's thread. */
struct trace_op {
	np_ns start;
	np_ns end;
	int64_t pid;
	int64_t tid;
	int64_t connection;
	uint32_t row; /* where the reader keeps the rest */
};

/* By thread, then start, as trace_op_at() wants them. */
void trace_ops_sort(struct trace_op *ops, size_t count);

/* Does a task of this connection start on the device at `start`? */
typedef bool trace_starts_there(const void *tasks, np_ns start, int64_t connection);

#define TRACE_NO_OP UINT32_MAX

/*
 * The index of the operator of a communicator's thread in which a sub-task lies
 * that starts at `start`, or TRACE_NO_OP. A send and a receive may run at once; then
 * the task on the device that starts with the small one tells by its connection.
 */
uint32_t trace_op_at(const struct trace_op *ops, size_t count, const struct trace_thread *owner,
		     np_ns start, trace_starts_there *starts_there, const void *tasks);

#endif /* NP_TRACE_OPS_H */
