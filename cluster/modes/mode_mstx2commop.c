/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that were known by mstx marks only, as COMMUNICATION_OP would have them. */
#include "registry.h"

#include "npuprof/text.h"

#define MODE "mstx2commop"

static const struct np_column columns[] = {
	{ "rankId", NP_INTEGER },  { "opId", NP_INTEGER },  { "opName", NP_TEXT },
	{ "startNs", NP_INTEGER }, { "endNs", NP_INTEGER }, { "groupName", NP_TEXT },
	{ "dataType", NP_TEXT },   { "bytes", NP_INTEGER }, { "opType", NP_TEXT },
};

static int put_op(struct np_modes *modes, struct np_mode_table *table, const struct np_rank *rank,
		  size_t index, struct np_err *err)
{
	const struct np_comm_op *op = &rank->ops.item[index];

	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(columns)]){
				np_cell_integer(rank->id),
				np_cell_integer((int64_t)index),
				mode_name_cell(modes, op->name),
				np_cell_integer(op->start),
				np_cell_integer(op->end),
				mode_name_cell(modes, rank->groups.item[op->group].name),
				np_cell_text(mode_data_type(op->data_type)),
				np_cell_integer(op->bytes),
				mode_name_cell(modes, op->type),
			},
			err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table = MODE_TABLE(
		modes, MODE, "MstxCommunicationOp",
		"operators by mstx marks, where COMMUNICATION_OP has none", columns, err);
	int rc = table ? NP_OK : NP_E_NOMEM;

	(void)prepared;
	(void)ranks;
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = modes->run->ranks[i];

		for (size_t j = 0; rc == NP_OK && rank && rank->comm_source == NP_FROM_MARKS &&
				   j < rank->ops.count;
		     j++)
			rc = put_op(modes, table, rank, j, err);
	}
	if (rc == NP_OK && table->rows == 0)
		table->empty = "no rank lacks COMMUNICATION_OP and has marks of operators; profiles"
			       " are never rewritten";
	return rc;
}

const struct mode mode_mstx2commop = {
	.name = MODE,
	.summary = "operators by mstx marks, where COMMUNICATION_OP has none",
	.devices = MODE_DEVICES_APART,
	.merge = merge,
};
