/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the operators of a recording with their communicators and sub-tasks. */
#include "join.h"

#include <stdio.h>
#include <strings.h>

#include "sim/npusim/raw.h"
#include "sim/synth/out/schema.h"

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct syn_group *)a)->name, ((const struct syn_group *)b)->name);
}

static int add_group(struct msp_join *join, const char *name, int64_t size)
{
	struct syn_groups *groups = &join->conversion->groups;
	struct syn_group *group;

	for (size_t i = 0; i < groups->all.count; i++) {
		if (strncmp(groups->all.item[i].name, name, sizeof(group->name) - 1) == 0)
			return NP_OK;
	}
	group = np_vec_add(&groups->all, join->err);
	if (!group)
		return NP_E_NOMEM;
	*group = (struct syn_group){ .role = SYN_ROLE_WORLD,
				     .pg_name = "",
				     .hash = syn_name_hash(name),
				     .size = size == NP_UNKNOWN ? 0 : (int32_t)size,
				     .one_host = true };
	(void)snprintf(group->name, sizeof(group->name), "%s", name);
	return NP_OK;
}

static int join_groups(struct msp_join *join)
{
	struct syn_groups *groups = &join->conversion->groups;
	int rc = NP_OK;

	for (size_t i = 0; i < join->recording->ops.count && rc == NP_OK; i++)
		rc = add_group(join, join->recording->ops.item[i].group,
			       join->recording->ops.item[i].rank_size);
	if (groups->all.count > 0)
		qsort(groups->all.item, groups->all.count, sizeof(groups->all.item[0]), by_name);
	return rc;
}

static const struct syn_group *group_named(const struct msp_join *join, const char *name)
{
	const struct syn_groups *groups = &join->conversion->groups;

	for (size_t i = 0; i < groups->all.count; i++) {
		const struct syn_group *group = &groups->all.item[i];

		if (strncmp(group->name, name, sizeof(group->name) - 1) == 0)
			return group;
	}
	return NULL;
}

/* "hcom_allReduce__428_0_1" is an allReduce. */
static enum syn_op op_named(const char *name)
{
	for (int op = 0; op < SYN_OTHER_OP; op++) {
		const char *word = syn_op_word((enum syn_op)op);
		size_t length = strlen(word);

		if (strncmp(name, "hcom_", 5) == 0 && strncasecmp(name + 5, word, length) == 0 &&
		    name[5 + length] == '_')
			return (enum syn_op)op;
	}
	return SYN_OTHER_OP;
}

/* By the word of HCCL or, where that was not recorded, by the type of the task. */
static enum syn_sub_task_kind sub_task_kind(const struct msp_sub_task *sub_task,
					    const struct msp_task *task)
{
	if (!sub_task->name)
		return strcmp(task->type, "Notify Wait") == 0 ? SYN_NOTIFY_WAIT
		       : strcmp(task->type, "SDMA") == 0      ? SYN_COPY
							      : SYN_NOTIFY_RECORD;
	if (strcmp(sub_task->name, "Notify_Wait") == 0)
		return SYN_NOTIFY_WAIT;
	if (strcmp(sub_task->name, "Memcpy") == 0)
		return SYN_COPY;
	if (strncmp(sub_task->name, "Reduce", 6) == 0)
		return SYN_REDUCE;
	if (strcmp(sub_task->name, "RDMASend") != 0)
		return SYN_NOTIFY_RECORD;
	return sub_task->rdma_type == SYN_ENUM_RDMA_PAYLOAD ? SYN_RDMA_PAYLOAD : SYN_RDMA_NOTIFY;
}

static struct syn_sub_task sub_task_of(const struct msp_sub_task *sub_task,
				       const struct msp_task *task)
{
	bool known = sub_task->plane != NP_UNKNOWN;

	return (struct syn_sub_task){
		.start_ns = task->start,
		.end_ns = task->end,
		.kind = (uint8_t)sub_task_kind(sub_task, task),
		.plane = known ? (uint8_t)sub_task->plane : 0,
		.on_chip = sub_task->link == SYN_ENUM_ON_CHIP,
		.src = known ? (int32_t)sub_task->src : -1,
		.dst = !known || sub_task->dst == NPUSIM_NO_ID ? -1 : (int32_t)sub_task->dst,
		.size = msp_or_zero(sub_task->bytes),
	};
}

/* The sub-tasks of all operators, those of one together and in order of time. */
struct piece {
	uint32_t op;
	uint32_t sub_task;
	np_ns start;
	uint32_t task;
};

static int by_op_and_time(const void *a, const void *b)
{
	const struct piece *x = a;
	const struct piece *y = b;

	if (x->op != y->op)
		return np_order(x->op, y->op);
	return x->start != y->start ? np_order(x->start, y->start)
				    : np_order(x->sub_task, y->sub_task);
}

static struct piece *sort_pieces(struct msp_join *join, size_t *ret_count)
{
	const struct msp_recording *recording = join->recording;
	struct piece *pieces = np_arena_array(join->conversion->arena,
					      recording->sub_tasks.count + 1, sizeof(*pieces));
	size_t count = 0;

	for (size_t i = 0; pieces && i < recording->sub_tasks.count; i++) {
		const struct msp_sub_task *sub_task = &recording->sub_tasks.item[i];
		uint32_t task = np_idmap_get(join->task_index, sub_task->task);
		uint32_t op = np_idmap_get(join->op_index, sub_task->op);

		if (task == NP_IDMAP_NONE)
			continue;
		join->in_op[task] = true;
		/* An operator that had not ended when the recording did is not there. */
		if (op != NP_IDMAP_NONE)
			pieces[count++] = (struct piece){ op, (uint32_t)i,
							  recording->tasks.item[task].start, task };
	}
	if (count > 0)
		qsort(pieces, count, sizeof(*pieces), by_op_and_time);
	*ret_count = count;
	return pieces;
}

static int join_op(struct msp_join *join, size_t index, const struct piece *pieces, size_t count)
{
	const struct msp_op *op = &join->recording->ops.item[index];
	struct np_arena *arena = join->conversion->arena;
	struct syn_sub_task *sub_tasks = np_arena_array(arena, count + 1, sizeof(*sub_tasks));
	int32_t *streams = np_arena_array(arena, count + 1, sizeof(*streams));
	struct msp_launch *launch = msp_add_launch(
		join, MSP_LAUNCH_OP, msp_launch_time(join, op->connection, op->start));

	if (!sub_tasks || !streams || !launch)
		return np_fail_nomem(join->err, "operators");
	for (size_t i = 0; i < count; i++) {
		const struct msp_task *task = &join->recording->tasks.item[pieces[i].task];

		sub_tasks[i] =
			sub_task_of(&join->recording->sub_tasks.item[pieces[i].sub_task], task);
		streams[i] = (int32_t)task->stream;
	}
	launch->comm = (struct syn_comm_event){
		.name = op->name,
		.group = group_named(join, op->group),
		.op = op_named(op->name),
		.type = op->type,
		.algorithm = msp_or_none(op->algorithm),
		.step = NP_UNKNOWN,
		.start_ns = op->start,
		.end_ns = op->end,
		.connection = op->connection,
		.op_id = op->id,
		.count = op->count,
		.data_type = op->data_type >= 0 && op->data_type < 128 ? (uint8_t)op->data_type
								       : SYN_ENUM_FP32,
		.streams = streams,
		.tasks = sub_tasks,
		.task_count = count,
	};
	return NP_OK;
}

int msp_join_ops(struct msp_join *join)
{
	size_t count = 0;
	struct piece *pieces = sort_pieces(join, &count);
	int rc = pieces ? join_groups(join) : np_fail_nomem(join->err, "operators");
	size_t at = 0;

	for (size_t i = 0; i < join->recording->ops.count && rc == NP_OK; i++) {
		size_t first = at;

		while (at < count && pieces[at].op == i)
			at++;
		rc = join_op(join, i, &pieces[first], at - first);
	}
	return rc;
}
