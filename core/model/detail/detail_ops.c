/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/vendor/hccl_types.h"
#include "detail_private.h"

/*
 * The operators of a detail are those of the rank, so that the two never
 * disagree about what there was; the files only add columns.
 */
static int copy_text(struct detail_load *load, np_str from, np_str *ret)
{
	*ret = NP_STR_NONE;
	if (from == NP_STR_NONE)
		return NP_OK;
	return np_strtab_add(load->detail->strings, np_strtab_text(load->run_strings, from),
			     np_strtab_length(load->run_strings, from), ret, load->err);
}

static int copy_data_type(struct detail_load *load, uint8_t kept, np_str *ret)
{
	const char *name = hccl_type_name(kept);

	return detail_intern(load, name, strlen(name), ret);
}

static int copy_op(struct detail_load *load, const struct np_comm_op *from)
{
	const struct np_group *group = &load->rank->groups.item[from->group];
	struct np_detail_op *op = np_vec_add(&load->detail->ops, load->err);
	int rc;

	if (!op)
		return NP_E_NOMEM;
	*op = (struct np_detail_op){ .start = from->start,
				     .end = from->end,
				     .op_id = NP_UNKNOWN,
				     .connection = NP_UNKNOWN,
				     .count = NP_UNKNOWN,
				     .bytes = from->bytes,
				     .relay = NP_UNKNOWN,
				     .retry = NP_UNKNOWN,
				     .group_hash = group->hash,
				     .group = from->group,
				     .step = from->step,
				     .device = from->device,
				     .p2p = from->p2p };
	rc = copy_text(load, from->name, &op->name);
	if (rc == NP_OK)
		rc = copy_text(load, from->type, &op->type);
	if (rc == NP_OK)
		rc = copy_text(load, group->name, &op->group_name);
	if (rc == NP_OK)
		rc = copy_data_type(load, from->data_type, &op->data_type);
	return rc;
}

int detail_copy_ops(struct detail_load *load)
{
	int rc = NP_OK;

	/* Tasks are told apart by the operators they belong to. */
	if (!detail_wants(load, NP_DETAIL_OPS | NP_DETAIL_TASKS | NP_DETAIL_SUB_TASKS |
					NP_DETAIL_KERNELS))
		return NP_OK;
	for (size_t i = 0; i < load->rank->ops.count && rc == NP_OK; i++)
		rc = copy_op(load, &load->rank->ops.item[i]);
	if (load->rank->ops.count > 0)
		load->detail->has |= load->asked & NP_DETAIL_OPS;
	return rc;
}

uint32_t detail_find_op(const struct detail_load *load, np_ns start, np_str name)
{
	const struct np_detail *detail = load->detail;
	size_t low = 0;
	size_t high = detail->ops.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (detail->ops.item[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < detail->ops.count && detail->ops.item[low].start == start; low++) {
		if (detail->ops.item[low].name == name)
			return (uint32_t)low;
	}
	return NP_NO_ROW;
}
