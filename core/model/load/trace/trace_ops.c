/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_ops.h"

static int by_thread_and_time(const void *left, const void *right)
{
	const struct trace_op *a = left;
	const struct trace_op *b = right;

	if (a->pid != b->pid)
		return np_order(a->pid, b->pid);
	if (a->tid != b->tid)
		return np_order(a->tid, b->tid);
	return np_order(a->start, b->start);
}

void trace_ops_sort(struct trace_op *ops, size_t count)
{
	if (count)
		qsort(ops, count, sizeof(*ops), by_thread_and_time);
}

/* Index after the last operator of a communicator's thread that starts at or before `start`. */
static size_t ops_begun(const struct trace_op *ops, size_t count, const struct trace_thread *owner,
			np_ns start)
{
	const struct trace_op key = { .pid = owner->pid, .tid = owner->tid, .start = start };
	size_t low = 0;
	size_t high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_thread_and_time(&ops[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How far back to look for operators that are still running: a few run at once. */
#define OPS_AT_ONCE 64

uint32_t trace_op_at(const struct trace_op *ops, size_t count, const struct trace_thread *owner,
		     np_ns start, trace_starts_there *starts_there, const void *tasks)
{
	size_t begun = ops_begun(ops, count, owner, start);
	uint32_t found = TRACE_NO_OP;

	for (size_t i = begun; i-- > 0 && begun - i <= OPS_AT_ONCE;) {
		const struct trace_op *op = &ops[i];

		if (op->pid != owner->pid || op->tid != owner->tid)
			break;
		if (start > op->end)
			continue;
		if (found == TRACE_NO_OP)
			found = (uint32_t)i;
		else if (starts_there(tasks, start, ops[found].connection))
			break;
		else if (starts_there(tasks, start, op->connection))
			found = (uint32_t)i;
	}
	return found;
}
