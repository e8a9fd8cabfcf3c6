/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_load.h"

#include "npuprof/text.h"

/* The communicator of an operator: its thread names it, or the number in the operator's name does.
 */
static int group_of(struct trace_load *load, const struct trace_op *op, const char *op_name,
		    uint32_t *ret)
{
	const struct trace_thread *thread = trace_thread_at(&load->lanes, op->pid, op->tid);
	const char *name = thread && thread->group != NP_STR_NONE
				   ? np_strtab_text(load->capture.strings, thread->group)
				   : "";
	int64_t number;
	int rc;

	/* Older traces number the communicators of a process: that says nothing elsewhere. */
	if (*name && !np_text_to_int(name, strlen(name), &number)) {
		rc = np_rank_group(load->rank, np_group_hash(name, strlen(name)), ret,
				   load->capture.err);
		if (rc == NP_OK)
			load->rank->groups.item[*ret].name = thread->group;
		return rc;
	}
	return np_rank_group_of_op(load->rank, op_name, ret, load->capture.err);
}

static int add_op(struct trace_load *load, const struct trace_op *from)
{
	const struct trace_op_rest *rest = &load->op_rests.item[from->row];
	const char *name = np_strtab_text(load->capture.strings, rest->name);
	struct np_comm_op *op;
	uint32_t group = 0;
	int rc = group_of(load, from, name, &group);

	if (rc < 0)
		return rc;
	op = capture_add_op(&load->capture, from->start, from->end, from->connection);
	if (!op)
		return NP_E_NOMEM;
	op->group = group;
	op->name = rest->name;
	op->bytes = rest->bytes;
	op->data_type = rest->data_type & 31U;
	op->p2p = np_op_is_p2p(name);
	op->device = capture_op_device(&load->capture, rest->device, from->connection);
	return np_strtab_add(load->capture.strings, name, vendor_operator_type(name, strlen(name)),
			     &op->type, load->capture.err);
}

/* Operators in the order by which sub-tasks find theirs: rank->ops[i] is load->ops[i]. */
static int add_ops(struct trace_load *load)
{
	int rc = NP_OK;
	size_t kept = 0;

	for (size_t i = 0; i < load->ops.count; i++) {
		if (vendor_time_ok(load->ops.item[i].start, load->ops.item[i].end))
			load->ops.item[kept++] = load->ops.item[i];
		else
			load->capture.impossible_times++;
	}
	load->ops.count = kept;
	trace_ops_sort(load->ops.item, kept);
	for (size_t i = 0; i < kept && rc == NP_OK; i++)
		rc = add_op(load, &load->ops.item[i]);
	return rc;
}

static int by_task_start(const void *left, const void *right)
{
	const struct capture_task *a = left;
	const struct capture_task *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* Does a task of this connection start on the device at `start`? Tasks are sorted by then. */
static bool starts_there(const void *of, np_ns start, int64_t connection)
{
	const struct trace_load *load = of;
	const struct capture_task *tasks = load->capture.tasks.item;
	size_t low = 0;
	size_t high = load->capture.tasks.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tasks[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < load->capture.tasks.count && tasks[low].start == start; low++) {
		if (tasks[low].connection == connection)
			return true;
	}
	return false;
}

static uint32_t op_at(const struct trace_load *load, const struct trace_thread *thread, np_ns start)
{
	return trace_op_at(load->ops.item, load->ops.count,
			   &load->lanes.threads.item[thread->owner], start, starts_there, load);
}

struct sub_task_tasks {
	NP_VEC(struct np_comm_task) list;
	bool has_master;
	size_t orphans;
};

static int place_sub_task(struct trace_load *load, struct sub_task_tasks *sub_task)
{
	if (load->capture.tasks.count)
		qsort(load->capture.tasks.item, load->capture.tasks.count,
		      sizeof(load->capture.tasks.item[0]), by_task_start);
	for (size_t i = 0; i < load->sub_tasks.count; i++) {
		const struct trace_sub_task *from = &load->sub_tasks.item[i];
		const struct trace_thread *thread =
			trace_thread_at(&load->lanes, from->pid, from->tid);
		uint32_t op = thread ? op_at(load, thread, from->task.start) : TRACE_NO_OP;
		struct np_comm_task *task;

		if (op == TRACE_NO_OP || !vendor_time_ok(from->task.start, from->task.end)) {
			sub_task->orphans++;
			continue;
		}
		task = np_vec_add(&sub_task->list, load->capture.err);
		if (!task)
			return NP_E_NOMEM;
		*task = from->task;
		task->op = op;
		np_comm_op_meet(&load->rank->ops.item[op], task->src, task->dst);
		task->plane = thread->plane < 0 ? 0 : (uint32_t)thread->plane;
		sub_task->has_master |= task->master;
	}
	return NP_OK;
}

/* Level0 shows sub-tasks on the device only: the connection leads to their operator. */
static int place_device_tasks(struct trace_load *load, struct sub_task_tasks *sub_task)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *ops = np_idmap_new();
	int rc = NP_OK;

	if (!ops)
		return np_fail_nomem(load->capture.err, "communication tasks");
	for (uint32_t i = 0; i < load->ops.count && rc == NP_OK; i++) {
		if (load->ops.item[i].connection != NP_UNKNOWN)
			rc = np_idmap_set(ops, load->ops.item[i].connection, i, load->capture.err);
	}
	for (size_t i = 0; i < load->capture.tasks.count && rc == NP_OK; i++) {
		const struct capture_task *from = &load->capture.tasks.item[i];
		uint32_t op = np_idmap_get(ops, from->connection);
		struct np_comm_task *task;

		if (op == NP_IDMAP_NONE ||
		    (from->class != TASK_SDMA && from->class != TASK_NOTIFY_WAIT))
			continue;
		task = np_vec_add(&sub_task->list, load->capture.err);
		if (!task)
			return NP_E_NOMEM;
		*task = (struct np_comm_task){ .start = from->start,
					       .end = from->end,
					       .op = op,
					       .bytes = NP_UNKNOWN,
					       .src = NP_NO_PEER,
					       .dst = NP_NO_PEER,
					       .kind = from->class == TASK_SDMA
							       ? NP_TASK_PAYLOAD
							       : NP_TASK_NOTIFY_WAIT };
	}
	return rc;
}

static int measure_sub_task(struct trace_load *load)
{
	struct sub_task_tasks sub_task = { 0 };
	bool has_links = load->sub_tasks.count > 0;
	int rc = has_links ? place_sub_task(load, &sub_task) : place_device_tasks(load, &sub_task);

	if (rc == NP_OK && sub_task.list.count > 0)
		rc = np_comm_tasks_measure(
			load->rank, load->capture.strings, sub_task.list.item, sub_task.list.count,
			(struct np_comm_tasks_form){ sub_task.has_master, has_links },
			load->capture.err);
	load->rank->sizes_known = has_links;
	if (sub_task.orphans)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id, load->capture.path,
			    "trace", "%zu small tasks lie in no operator of their communicator",
			    sub_task.orphans);
	np_vec_release(&sub_task.list);
	return rc;
}

int trace_add_communication(struct trace_load *load)
{
	int rc;

	trace_threads_own(&load->lanes);
	rc = add_ops(load);
	return rc < 0 ? rc : measure_sub_task(load);
}
