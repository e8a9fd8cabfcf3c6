/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the sub-tasks of operators that engines beside the NPU carry out: CCU and DPU_TASK. */
#include "rank_db.h"

#include "sim/synth/account/sub_task.h"

#include "npuprof/buf.h"

#include <inttypes.h>

/* Keys and values in turn, as the exporter writes them. */
static void add_number(struct np_buf *buf, const char *key, int64_t value)
{
	np_buf_printf(buf, "%s\"%s\", %" PRId64, buf->length > 1 ? ", " : "", key, value);
}

static void add_text(struct np_buf *buf, const char *key, const char *value)
{
	np_buf_printf(buf, "%s\"%s\", \"%s\"", buf->length > 1 ? ", " : "", key, value);
}

static int arguments_id(struct syn_db *db, struct np_buf *buf, int64_t *ret, struct np_err *err)
{
	int rc;

	np_buf_add_char(buf, ']');
	rc = np_buf_check(buf, err);
	return rc < 0 ? rc : syn_strings_id(db->strings, SYN_CANN, buf->text, ret, err);
}

/* Notifications that are sent take no time of their own there. */
static int put_ccu(struct syn_db *db, const struct syn_sub_task *task, int64_t id,
		   struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	bool waits = task->kind == SYN_NOTIFY_WAIT;
	int64_t arguments = 0;
	int64_t name = 0;
	int rc;

	if (task->kind == SYN_NOTIFY_RECORD || task->kind == SYN_RDMA_NOTIFY)
		return NP_OK;
	np_buf_add_char(&buf, '[');
	add_number(&buf, "Physic Stream Id", task->plane);
	add_number(&buf, "Task Id", id & INT32_MAX);
	add_number(&buf, waits ? "Notify Instruction ID" : "Instruction ID", 1);
	if (waits)
		add_number(&buf, "Notify Rank ID", task->dst);
	add_number(&buf, "Die Id", 0);
	if (!waits && !task->on_chip)
		add_number(&buf, "Data Size", task->size);
	rc = arguments_id(db, &buf, &arguments, err);
	if (rc == NP_OK)
		rc = syn_strings_id(db->strings, SYN_CANN, waits ? "Wait" : "LoopGroup", &name,
				    err);
	if (rc < 0)
		return rc;
	const struct np_cell cells[] = {
		syn_number(db->info->place.device), syn_number(id),           syn_number(name),
		syn_number(task->start_ns),         syn_number(task->end_ns), syn_number(arguments),
	};

	return np_db_insert_row(db->insert[SYN_T_CCU], cells, err);
}

static int put_dpu(struct syn_db *db, const struct syn_comm_event *comm,
		   const struct syn_sub_task *task, int64_t id, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf group = NP_BUF_INIT;
	const char *type = syn_sub_task_name((enum syn_sub_task_kind)task->kind);
	int64_t arguments = 0;
	int64_t name = 0;
	int rc;

	np_buf_printf(&group, "%s(%d)", comm->group->name, 1);
	rc = np_buf_check(&group, err);
	if (rc < 0)
		return rc;
	np_buf_add_char(&buf, '[');
	add_number(&buf, "Thread Id", 1);
	add_number(&buf, "Physic Stream Id", comm->stream + task->plane);
	add_number(&buf, "Task Id", id & INT32_MAX);
	add_text(&buf, "OP Type", type);
	add_text(&buf, "Group Name", group.text);
	add_number(&buf, "Plane Id", task->plane);
	add_number(&buf, "Rank Size", comm->group->size);
	add_number(&buf, "Src Rank", task->src);
	add_number(&buf, "Dst Rank", task->dst < 0 ? SYN_NO_ID : task->dst);
	add_text(&buf, "Transport Type", syn_transport_text(syn_sub_task_transport(task)));
	add_number(&buf, "Size(Byte)", syn_sub_task_size(task));
	add_text(&buf, "Link Type", syn_link_text(syn_sub_task_link(task)));
	add_text(&buf, "Rdma Type", syn_rdma_text(syn_sub_task_rdma_type(task)));
	rc = arguments_id(db, &buf, &arguments, err);
	if (rc == NP_OK)
		rc = syn_strings_id(db->strings, SYN_CANN, comm->name, &name, err);
	if (rc < 0)
		return rc;
	const struct np_cell cells[] = {
		syn_number(0),
		syn_number(1),
		syn_number(task->start_ns),
		syn_number(task->end_ns),
		syn_number(id),
		syn_number(comm->stream + task->plane),
		syn_number(id & INT32_MAX),
		syn_number(name),
		syn_number(arguments),
	};

	return np_db_insert_row(db->insert[SYN_T_DPU], cells, err);
}

int syn_db_engine(struct syn_db *db, const struct syn_comm_event *comm, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < comm->task_count && rc == NP_OK; i++) {
		int64_t id = comm->first_id + (int64_t)i;

		rc = db->config->engine == SYN_ENGINE_CCU
			     ? put_ccu(db, &comm->tasks[i], id, err)
			     : put_dpu(db, comm, &comm->tasks[i], id, err);
	}
	return rc;
}
