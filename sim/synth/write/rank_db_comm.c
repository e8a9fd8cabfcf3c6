/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_db.h"
#include "sim/synth/account/sub_task.h"

/* Ids that all tasks of one operator share. */
struct op_ids {
	int64_t name;
	int64_t group;
	uint8_t data_type;
	int64_t op_id;
};

/* At level 0 CANN knows of a task that it belongs to the operator, and nothing else. */
static void bare_sub_task(struct np_cell *cells, int64_t none)
{
	cells[2] = syn_number(none);
	cells[3] = syn_number(SYN_NO_ID);
	cells[5] = syn_number(0);
	cells[6] = syn_number(SYN_ENUM_NONE);
	cells[7] = syn_number(SYN_NO_ID);
	cells[8] = syn_number(SYN_NO_ID);
	cells[9] = syn_number(SYN_ENUM_NONE);
	cells[10] = syn_number(-1);
	cells[11] = syn_number(SYN_ENUM_NONE);
	cells[12] = syn_number(SYN_ENUM_NONE);
}

static int put_sub_task(struct syn_db *db, const struct syn_sub_task *sub_task,
			const struct op_ids *op, int64_t id, struct np_err *err)
{
	bool bare = db->config->level == 0;
	int64_t type = 0;
	int rc = syn_strings_id(db->strings, SYN_CANN,
				bare ? "N/A"
				     : syn_sub_task_name((enum syn_sub_task_kind)sub_task->kind),
				&type, err);
	struct np_cell cells[] = {
		syn_number(op->name),
		syn_number(id),
		syn_number(type),
		syn_number(sub_task->plane),
		syn_number(op->group),
		syn_number(syn_sub_task_notify_id(sub_task)),
		syn_number(syn_sub_task_rdma_type(sub_task)),
		syn_number(sub_task->src),
		syn_number(sub_task->dst < 0 ? SYN_NO_ID : sub_task->dst),
		syn_number(syn_sub_task_transport(sub_task)),
		syn_number(syn_sub_task_size(sub_task)),
		syn_number(syn_sub_task_data_type(sub_task, op->data_type)),
		syn_number(syn_sub_task_link(sub_task)),
		syn_number(op->op_id),
		syn_number(sub_task->plane == 0 ? 1 : 0),
		np_cell_real(syn_sub_task_bandwidth(sub_task)),
	};

	if (rc < 0)
		return rc;
	if (bare) {
		bare_sub_task(cells, type);
		cells[14] = syn_number(0);
		cells[15] = syn_number(0);
	}
	return np_db_insert_row(db->insert[SYN_T_SUB_TASK], cells, err);
}

static int put_sub_tasks(struct syn_db *db, const struct syn_comm_event *comm,
			 const struct op_ids *op, struct np_err *err)
{
	for (size_t i = 0; i < comm->task_count; i++) {
		const struct syn_sub_task *sub_task = &comm->tasks[i];
		const struct syn_task task = {
			.start_ns = sub_task->start_ns,
			.end_ns = sub_task->end_ns,
			.stream = comm->streams ? comm->streams[i] : comm->stream + sub_task->plane,
			.connection = comm->connection,
			.id = comm->first_id + (int64_t)i,
		};
		int64_t type = 0;
		int rc = syn_strings_id(
			db->strings, SYN_CANN,
			syn_sub_task_task_type((enum syn_sub_task_kind)sub_task->kind), &type, err);

		if (rc == NP_OK)
			rc = syn_db_put_task(db, &task, type, err);
		if (rc == NP_OK)
			rc = put_sub_task(db, sub_task, op, task.id, err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static int put_op(struct syn_db *db, const struct syn_comm_event *comm, const struct op_ids *op,
		  struct np_err *err)
{
	int64_t algorithm = 0;
	int64_t type = 0;
	char word[48];
	int rc;

	(void)snprintf(word, sizeof(word), "hcom_%s_", syn_op_word(comm->op));
	rc = syn_strings_id(db->strings, SYN_CANN,
			    comm->algorithm ? comm->algorithm : syn_algorithm(comm->group),
			    &algorithm, err);
	if (rc == NP_OK)
		rc = syn_strings_id(db->strings, SYN_CANN,
				    db->config->level == 0 ? "N/A"
				    : comm->type           ? comm->type
							   : word,
				    &type, err);
	if (rc < 0)
		return rc;
	const struct np_cell cells[] = {
		syn_number(op->name),
		syn_number(comm->start_ns),
		syn_number(comm->end_ns),
		syn_number(comm->connection),
		syn_number(op->group),
		syn_number(op->op_id),
		syn_number(0),
		syn_number(0),
		syn_number(comm->count == NP_UNKNOWN ? SYN_ENUM_NONE : op->data_type),
		syn_number(algorithm),
		np_cell_integer(comm->count),
		syn_number(type),
		syn_number(db->info->place.device),
		syn_number(comm->group->size),
	};

	return np_db_insert_row(db->insert[SYN_T_OP], cells, err);
}

int syn_db_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct syn_db *db = (struct syn_db *)sink;
	struct op_ids op = {
		.data_type = comm->data_type,
		.op_id = comm->op_id,
	};
	int rc = syn_strings_id(db->strings, SYN_CANN, comm->name, &op.name, err);

	if (rc == NP_OK)
		rc = syn_strings_id(db->strings, SYN_CANN, comm->group->name, &op.group, err);
	if (rc == NP_OK)
		rc = put_op(db, comm, &op, err);
	if (rc == NP_OK)
		rc = put_sub_tasks(db, comm, &op, err);
	if (rc == NP_OK && db->config->schema)
		rc = syn_overlap_comm(&db->overlap, comm, err);
	return rc;
}
