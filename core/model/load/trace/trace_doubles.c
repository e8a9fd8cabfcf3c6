/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces whose events are there more than once, joined from files that overlap: what is the same in
 * all there is to say of it counts once.
 */
#include "trace_load.h"

#include "npuprof/order.h"

/* The first that differs decides. */
#define ORDER_BY(a, b, member) \
	do { \
		if ((a)->member != (b)->member) \
			return np_order((int64_t)(a)->member, (int64_t)(b)->member); \
	} while (0)

static int by_step(const void *left, const void *right)
{
	const struct np_step *a = left;
	const struct np_step *b = right;

	ORDER_BY(a, b, host_begin);
	ORDER_BY(a, b, host_end);
	return np_order(a->id, b->id);
}

static int by_op(const void *left, const void *right)
{
	const struct trace_op *a = left;
	const struct trace_op *b = right;

	ORDER_BY(a, b, start);
	ORDER_BY(a, b, end);
	ORDER_BY(a, b, pid);
	ORDER_BY(a, b, tid);
	return np_order(a->connection, b->connection);
}

/* Kernels have their names in the place of types now. */
static int by_task(const void *left, const void *right)
{
	const struct capture_task *a = left;
	const struct capture_task *b = right;

	ORDER_BY(a, b, start);
	ORDER_BY(a, b, end);
	ORDER_BY(a, b, connection);
	ORDER_BY(a, b, stream);
	ORDER_BY(a, b, id);
	ORDER_BY(a, b, type);
	ORDER_BY(a, b, device);
	return np_order(a->class, b->class);
}

static int by_sub_task(const void *left, const void *right)
{
	const struct trace_sub_task *a = left;
	const struct trace_sub_task *b = right;

	ORDER_BY(a, b, task.start);
	ORDER_BY(a, b, task.end);
	ORDER_BY(a, b, pid);
	ORDER_BY(a, b, tid);
	ORDER_BY(a, b, task.bytes);
	ORDER_BY(a, b, task.src);
	ORDER_BY(a, b, task.dst);
	return np_order(a->task.kind, b->task.kind);
}

/* How many of the sorted rows are the same as the one before. */
static size_t count_doubles(void *rows, size_t count, size_t size,
			    int (*compare)(const void *, const void *))
{
	const char *row = rows;
	size_t doubles = 0;

	if (count == 0)
		return 0;
	qsort(rows, count, size, compare);
	for (size_t i = 1; i < count; i++)
		doubles += compare(row + (i - 1) * size, row + i * size) == 0;
	return doubles;
}

/* The rows that are left, of sorted ones. */
static size_t drop(void *rows, size_t count, size_t size,
		   int (*compare)(const void *, const void *))
{
	char *row = rows;
	size_t kept = count > 0;

	for (size_t i = 1; i < count; i++) {
		if (compare(row + (kept - 1) * size, row + i * size) == 0)
			continue;
		if (kept != i)
			memcpy(row + kept * size, row + i * size, size);
		kept++;
	}
	return kept;
}

/* qsort(), and then rows that follow a row of their own kind are gone. */
#define DROP_DOUBLES(vec, compare, doubles) \
	do { \
		*(doubles) += \
			count_doubles((vec)->item, (vec)->count, sizeof((vec)->item[0]), compare); \
		(vec)->count = drop((vec)->item, (vec)->count, sizeof((vec)->item[0]), compare); \
	} while (0)

/* No thread has two operators, and no process two steps, at one time: a sign of whole copies. */
static bool has_doubles(struct trace_load *load)
{
	return count_doubles(load->ops.item, load->ops.count, sizeof(load->ops.item[0]), by_op) >
		       0 ||
	       count_doubles(load->rank->steps.item, load->rank->steps.count,
			     sizeof(load->rank->steps.item[0]), by_step) > 0;
}

void trace_drop_doubles(struct trace_load *load)
{
	size_t events = load->ops.count + load->rank->steps.count + load->capture.tasks.count +
			load->sub_tasks.count;
	size_t doubles = 0;

	if (!has_doubles(load))
		return;
	DROP_DOUBLES(&load->ops, by_op, &doubles);
	DROP_DOUBLES(&load->rank->steps, by_step, &doubles);
	DROP_DOUBLES(&load->capture.tasks, by_task, &doubles);
	DROP_DOUBLES(&load->sub_tasks, by_sub_task, &doubles);
	np_note_add(&load->rank->notes, np_note_of_loss(doubles, events), load->rank->id,
		    load->capture.path, "events",
		    "%zu of %zu events are there more than once, and count once", doubles, events);
}
