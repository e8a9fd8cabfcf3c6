/* SPDX-License-Identifier: Apache-2.0 */
/* Communication operators of a rank database, with their communicators. */
#include "core/model/vendor/hccl_types.h"
#include "rank_db.h"

#include "npuprof/steps.h"

static int op_group(struct rank_db *load, int64_t name_id, uint32_t *ret)
{
	struct rank_db_text name = rank_db_text(load, name_id);
	struct np_group *group;
	int rc = np_rank_group(load->rank, np_group_hash(name.bytes, name.length), ret, load->err);

	if (rc < 0)
		return rc;
	group = &load->rank->groups.item[*ret];
	if (group->name == NP_STR_NONE && name.length > 0)
		rc = rank_db_intern(load, name_id, &group->name);
	return rc;
}

/* Old databases have no opType column, and at Level0 it is N/A: the name up to its number counts.
 */
static int op_type(struct rank_db *load, int64_t type_id, int64_t name_id, np_str *ret)
{
	struct rank_db_text type = rank_db_text(load, type_id);
	struct rank_db_text name = rank_db_text(load, name_id);
	const char *end;

	if (vendor_is_type(type.bytes, type.length))
		return rank_db_intern(load, type_id, ret);
	end = strstr(name.bytes, "__");
	return np_strtab_add(load->strings, name.bytes,
			     end ? (size_t)(end + 1 - name.bytes) : name.length, ret, load->err);
}

/* A flag that newer versions count in; larger numbers say that nobody knows. */
static bool is_set(int64_t flag)
{
	return flag > 0 && flag < VENDOR_NO_ENUM;
}

static int take_op(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[OP_START].integer[row];
	np_ns end = batch->column[OP_END].integer[row];
	struct np_comm_op *op;
	int64_t *id;
	int rc;

	if (!rank_db_time_ok(load, start, end)) {
		load->capture.impossible_times++;
		return NP_OK;
	}
	op = capture_add_op(&load->capture, start, end, batch->column[OP_CONNECTION].integer[row]);
	if (!op)
		return NP_E_NOMEM;
	op->device = np_device_of(batch->column[OP_DEVICE].integer[row]);
	op->bytes = hccl_bytes(batch->column[OP_COUNT].integer[row],
			       batch->column[OP_DATA_TYPE].integer[row]);
	if (hccl_element_bytes(batch->column[OP_DATA_TYPE].integer[row]) > 0)
		op->data_type = (uint8_t)(batch->column[OP_DATA_TYPE].integer[row] + 1) & 31U;
	op->relayed = is_set(batch->column[OP_RELAY].integer[row]);
	op->retried = is_set(batch->column[OP_RETRY].integer[row]);
	op->p2p = np_op_is_p2p(rank_db_text(load, batch->column[OP_NAME].integer[row]).bytes);
	rc = rank_db_intern(load, batch->column[OP_NAME].integer[row], &op->name);
	if (rc == NP_OK)
		rc = op_type(load, batch->column[OP_TYPE].integer[row],
			     batch->column[OP_NAME].integer[row], &op->type);
	if (rc == NP_OK)
		rc = op_group(load, batch->column[OP_GROUP].integer[row], &op->group);
	id = rc == NP_OK ? np_vec_add(&load->op_ids, load->err) : NULL;
	if (!id)
		return rc < 0 ? rc : NP_E_NOMEM;
	*id = batch->column[OP_ID].integer[row];
	return NP_OK;
}

/* An operator of the first that is the same, or `count`. A communicator does nothing twice at once.
 */
static size_t same_op(const struct np_comm_op *ops, size_t count, const struct np_comm_op *op)
{
	for (size_t i = count; i-- > 0 && ops[i].start == op->start && op->start < op->end;) {
		if (ops[i].end == op->end && ops[i].group == op->group && ops[i].name == op->name &&
		    ops[i].bytes == op->bytes)
			return i;
	}
	return count;
}

/* What the file has twice counts once; `ret_place` says where each row of it is now. */
static void keep_once(struct rank_db *load, const uint32_t *order, uint32_t *ret_place)
{
	struct np_comm_op *ops = load->rank->ops.item;
	size_t count = load->rank->ops.count;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		size_t place = same_op(ops, kept, &ops[i]);

		ret_place[order[i]] = (uint32_t)place;
		if (place < kept)
			continue;
		ops[kept] = ops[i];
		load->capture.op_connections.item[kept++] = load->capture.op_connections.item[i];
	}
	load->rank->ops.count = kept;
	load->capture.op_connections.count = kept;
	if (kept < count)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), vendor_communication_op.name,
			    "%zu operators are there twice: they count once", count - kept);
}

/* Where the operator of an id is, once they are sorted: of those with one id, that of the last. */
static int index_ops(struct rank_db *load, const uint32_t *order)
{
	size_t count = load->op_ids.count;
	uint32_t *place = malloc((count + 1) * sizeof(*place));
	int rc = place ? NP_OK : np_fail_nomem(load->err, "communication operators");

	/* Those that marks say have no ids. */
	if (rc == NP_OK && count > 0)
		keep_once(load, order, place);
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = np_idmap_set(load->op_index, load->op_ids.item[i], place[i], load->err);
	free(place);
	np_vec_release(&load->op_ids);
	return rc;
}

int rank_db_read_ops(struct rank_db *load)
{
	static const struct vendor_pick ops = {
		&vendor_communication_op,
		VENDOR_BIT(OP_NAME) | VENDOR_BIT(OP_START) | VENDOR_BIT(OP_END) |
			VENDOR_BIT(OP_CONNECTION) | VENDOR_BIT(OP_GROUP) | VENDOR_BIT(OP_ID) |
			VENDOR_BIT(OP_DATA_TYPE) | VENDOR_BIT(OP_COUNT) | VENDOR_BIT(OP_RELAY) |
			VENDOR_BIT(OP_RETRY) | VENDOR_BIT(OP_TYPE) | VENDOR_BIT(OP_DEVICE),
		VENDOR_BIT(OP_END) | VENDOR_BIT(OP_GROUP) | VENDOR_BIT(OP_ID),
	};
	uint32_t *order = NULL;
	int rc = rank_db_each(load, &ops, take_op);

	if (rc == NP_OK && load->rank->ops.count == 0 &&
	    np_db_has_rows(load->db, vendor_mstx_events.name))
		rc = rank_db_read_marked_ops(load);
	if (rc == NP_OK)
		rc = capture_sort_ops(&load->capture, &order);
	if (rc == NP_OK)
		rc = index_ops(load, order);
	free(order);
	return rc;
}

void rank_db_place_ops(struct rank_db *load)
{
	struct np_rank *rank = load->rank;

	for (size_t i = 0; i < rank->ops.count; i++) {
		struct np_comm_op *op = &rank->ops.item[i];

		op->device = capture_op_device(&load->capture, op->device,
					       load->capture.op_connections.item[i]);
		op->step = np_steps_find(rank->steps.item, rank->steps.count, op->start);
	}
}
