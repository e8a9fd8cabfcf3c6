/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_db.h"

static const char *small_name(enum syn_small_kind kind)
{
	static const char *const names[] = {
		[SYN_NOTIFY_RECORD] = "Notify_Record",
		[SYN_NOTIFY_WAIT] = "Notify_Wait",
		[SYN_COPY] = "Memcpy",
		[SYN_REDUCE] = "Reduce_Inline",
		[SYN_RDMA_PAYLOAD] = "RDMASend",
		[SYN_RDMA_NOTIFY] = "RDMASend",
	};

	return names[kind];
}

static const char *small_task_type(enum syn_small_kind kind)
{
	switch (kind) {
	case SYN_NOTIFY_WAIT:
		return "Notify Wait";
	case SYN_COPY:
	case SYN_REDUCE:
		return "SDMA";
	case SYN_NOTIFY_RECORD:
	case SYN_RDMA_PAYLOAD:
	case SYN_RDMA_NOTIFY:
		break;
	}
	return "Write Value";
}

static int64_t notify_id(const struct syn_small *small)
{
	switch ((enum syn_small_kind)small->kind) {
	case SYN_NOTIFY_RECORD:
	case SYN_RDMA_NOTIFY:
		return (int64_t)small->dst << 32 | (small->plane * 8 + 4);
	case SYN_NOTIFY_WAIT:
		return small->plane * 8 + 4;
	case SYN_COPY:
	case SYN_RDMA_PAYLOAD:
		return INT64_MAX;
	case SYN_REDUCE:
		break;
	}
	return 0;
}

static int64_t transport_of(const struct syn_small *small)
{
	switch ((enum syn_small_kind)small->kind) {
	case SYN_NOTIFY_WAIT:
		return SYN_ENUM_LOCAL;
	case SYN_RDMA_PAYLOAD:
	case SYN_RDMA_NOTIFY:
		return SYN_ENUM_RDMA;
	case SYN_NOTIFY_RECORD:
	case SYN_COPY:
	case SYN_REDUCE:
		break;
	}
	return SYN_ENUM_SDMA;
}

static int64_t link_of(const struct syn_small *small)
{
	switch ((enum syn_small_kind)small->kind) {
	case SYN_COPY:
	case SYN_REDUCE:
		return small->on_chip ? SYN_ENUM_ON_CHIP : SYN_ENUM_HCCS;
	case SYN_RDMA_PAYLOAD:
	case SYN_RDMA_NOTIFY:
		return SYN_ENUM_ROCE;
	case SYN_NOTIFY_RECORD:
	case SYN_NOTIFY_WAIT:
		break;
	}
	return SYN_ENUM_INVALID;
}

static int64_t rdma_of(const struct syn_small *small)
{
	if (small->kind == SYN_RDMA_PAYLOAD)
		return SYN_ENUM_RDMA_PAYLOAD;
	return small->kind == SYN_RDMA_NOTIFY ? SYN_ENUM_RDMA_NOTIFY : SYN_ENUM_INVALID;
}

/* Ids that all tasks of one operator share. */
struct op_ids {
	int64_t name;
	int64_t group;
	int64_t dtype;
	int64_t op_id;
};

/* At level 0 CANN knows of a task that it belongs to the operator, and nothing else. */
static void bare_small(struct np_cell *cells, int64_t none)
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

static int put_small(struct syn_db *db, const struct syn_small *small, const struct op_ids *op,
		     int64_t id, struct np_err *err)
{
	bool bare = db->config->level == 0;
	np_ns time = small->end_ns - small->start_ns;
	bool payload = small->kind == SYN_COPY || small->kind == SYN_REDUCE;
	int64_t dtype = small->kind == SYN_REDUCE ? op->dtype : SYN_ENUM_INVALID;
	int64_t type = 0;
	int rc = syn_strings_id(db->strings, SYN_CANN,
				bare ? "N/A" : small_name((enum syn_small_kind)small->kind), &type,
				err);
	struct np_cell cells[] = {
		syn_number(op->name),
		syn_number(id),
		syn_number(type),
		syn_number(small->plane),
		syn_number(op->group),
		syn_number(notify_id(small)),
		syn_number(rdma_of(small)),
		syn_number(small->src),
		syn_number(small->dst < 0 ? SYN_NO_ID : small->dst),
		syn_number(transport_of(small)),
		syn_number(small->kind == SYN_RDMA_NOTIFY ? 4 : small->size),
		syn_number(dtype),
		syn_number(link_of(small)),
		syn_number(op->op_id),
		syn_number(small->plane == 0 ? 1 : 0),
		np_cell_real(payload && time > 0 ? (double)small->size / (double)time * 1e9 : 0.0),
	};

	if (rc < 0)
		return rc;
	if (bare) {
		bare_small(cells, type);
		cells[14] = syn_number(0);
		cells[15] = syn_number(0);
	}
	return np_db_insert_row(db->insert[SYN_T_SMALL], cells, err);
}

static int put_smalls(struct syn_db *db, const struct syn_comm_event *comm, const struct op_ids *op,
		      struct np_err *err)
{
	for (size_t i = 0; i < comm->task_count; i++) {
		const struct syn_small *small = &comm->tasks[i];
		const struct syn_task task = {
			.start_ns = small->start_ns,
			.end_ns = small->end_ns,
			.stream = comm->stream + small->plane,
			.connection = comm->connection,
			.id = comm->first_id + (int64_t)i,
		};
		int64_t type = 0;
		int rc = syn_strings_id(db->strings, SYN_CANN,
					small_task_type((enum syn_small_kind)small->kind), &type,
					err);

		syn_db_extend_tasks(db, small->start_ns, small->end_ns);
		if (rc == NP_OK)
			rc = syn_db_put_task(db, &task, type, err);
		if (rc == NP_OK)
			rc = put_small(db, small, op, task.id, err);
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
	rc = syn_strings_id(db->strings, SYN_CANN, syn_algorithm(comm->group), &algorithm, err);
	if (rc == NP_OK)
		rc = syn_strings_id(db->strings, SYN_CANN, db->config->level == 0 ? "N/A" : word,
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
		syn_number(op->dtype),
		syn_number(algorithm),
		syn_number(comm->count),
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
		.dtype = comm->fp32 ? SYN_ENUM_FP32 : SYN_ENUM_BFP16,
		.op_id = comm->op_id,
	};
	int rc = syn_strings_id(db->strings, SYN_CANN, comm->name, &op.name, err);

	if (rc == NP_OK)
		rc = syn_strings_id(db->strings, SYN_CANN, comm->group->name, &op.group, err);
	if (rc == NP_OK)
		rc = put_op(db, comm, &op, err);
	if (rc == NP_OK)
		rc = put_smalls(db, comm, &op, err);
	if (rc == NP_OK && db->config->schema)
		rc = syn_intervals_add(&db->communication, comm->start_ns, comm->end_ns, err);
	return rc;
}
