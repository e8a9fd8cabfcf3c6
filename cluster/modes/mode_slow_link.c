/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of equal size between equally many ranks should take equally long.
 * The transfer of a collective is the shortest of its operators (that rank waited
 * least); kinds of collectives with a transfer beyond three standard deviations
 * are listed.
 */
#include "registry.h"

#include "cluster/modes/common/members.h"
#include "cluster/modes/common/samples.h"

#include <math.h>

#define MODE "slow_link"

/* A collective. */
struct link_transfer {
	const struct np_member *members;
	uint32_t count;
	np_str type;
	int64_t bytes;
	np_ns time;
	const struct np_member *fastest; /* whose time it is */
};

struct transfers {
	struct np_modes *modes;
	NP_VEC(struct link_transfer) list;
};

/* As the incumbent distinguishes messages from collectives; batchSendRecv is none of them. */
static bool is_message(const char *name)
{
	return strstr(name, "send") || strstr(name, "receive");
}

/* Not all ranks need have recorded the size. */
static int64_t bytes_of(const struct np_modes *modes, const struct np_instance *instance)
{
	const struct np_member *members = mode_members(modes, instance);
	int64_t bytes = NP_UNKNOWN;

	for (uint32_t i = 0; i < instance->count && bytes == NP_UNKNOWN; i++)
		bytes = member_op(modes, &members[i])->bytes;
	return bytes;
}

static int add_transfer(struct transfers *transfers, const struct np_instance *instance,
			struct np_err *err)
{
	const struct np_member *members = mode_members(transfers->modes, instance);
	int64_t bytes = bytes_of(transfers->modes, instance);
	struct link_transfer *transfer;

	if (bytes == NP_UNKNOWN)
		return NP_OK;
	transfer = np_vec_add(&transfers->list, err);
	if (!transfer)
		return NP_E_NOMEM;
	*transfer = (struct link_transfer){ .members = members,
					    .count = instance->count,
					    .type = member_op(transfers->modes, members)->type,
					    .bytes = bytes,
					    .time = member_time(transfers->modes, members),
					    .fastest = members };
	for (uint32_t i = 1; i < instance->count; i++) {
		np_ns time = member_time(transfers->modes, &members[i]);

		if (time < transfer->time) {
			transfer->time = time;
			transfer->fastest = &members[i];
		}
	}
	return NP_OK;
}

static int by_kind(const void *left, const void *right, void *context)
{
	const struct transfers *transfers = context;
	const struct link_transfer *a = left;
	const struct link_transfer *b = right;
	int difference;

	if (a->type != b->type) {
		difference = strcmp(mode_name(transfers->modes, a->type),
				    mode_name(transfers->modes, b->type));
		if (difference)
			return difference;
	}
	if (a->bytes != b->bytes)
		return np_order(a->bytes, b->bytes);
	if (a->count != b->count)
		return np_order(a->count, b->count);
	/* Within a kind, by time of the first operator. */
	difference = np_order(member_op(transfers->modes, a->members)->start,
			      member_op(transfers->modes, b->members)->start);
	return difference ? difference : (a->members < b->members ? -1 : 1);
}

static int find_transfers(struct transfers *transfers, struct np_err *err)
{
	const struct np_align *align = transfers->modes->align;
	int rc = NP_OK;

	for (uint32_t i = 0; i < align->instances.count && rc == NP_OK; i++) {
		const struct np_instance *instance = &align->instances.item[i];
		const struct np_comm_op *op = np_align_op(align, instance->first);

		if (!is_message(mode_name(transfers->modes, op->name)))
			rc = add_transfer(transfers, instance, err);
	}
	if (rc == NP_OK && transfers->list.count)
		qsort_r(transfers->list.item, transfers->list.count,
			sizeof(transfers->list.item[0]), by_kind, transfers);
	return rc;
}

/* --- kinds ----------------------------------------------------------------------------------- */

struct link_kind {
	size_t first; /* in the transfers */
	size_t end;
	struct summary summary; /* each transfer counts once per rank, as the incumbent has it */
	double offset;
	int32_t most_of;
	int32_t least_of;
};

static bool same_kind(const struct link_transfer *a, const struct link_transfer *b)
{
	return a->type == b->type && a->bytes == b->bytes && a->count == b->count;
}

/* Does a value lie beyond three standard deviations? */
static bool has_outlier(const struct summary *summary)
{
	double limit = 3 * summary->population_std;

	return summary->population_std > 0 && ((double)summary->max > summary->mean + limit ||
					       (double)summary->min < summary->mean - limit);
}

static int measure_kind(const struct transfers *transfers, struct link_kind *kind,
			struct np_err *err)
{
	const struct link_transfer *most = &transfers->list.item[kind->first];
	const struct link_transfer *least = most;
	struct value_samples times = { 0 };
	int rc = NP_OK;

	for (size_t i = kind->first; i < kind->end; i++) {
		const struct link_transfer *transfer = &transfers->list.item[i];

		for (uint32_t j = 0; j < transfer->count && rc == NP_OK; j++)
			rc = samples_add(&times, transfer->time, err);
		most = transfer->time > most->time ? transfer : most;
		least = transfer->time < least->time ? transfer : least;
	}
	kind->summary = samples_describe(&times);
	kind->offset = fmax((double)kind->summary.max - kind->summary.mean,
			    kind->summary.mean - (double)kind->summary.min) /
		       kind->summary.std;
	kind->most_of = mode_rank_id(transfers->modes, most->fastest->rank);
	kind->least_of = mode_rank_id(transfers->modes, least->fastest->rank);
	samples_release(&times);
	return rc;
}

struct kinds {
	NP_VEC(struct link_kind) list;
};

static int find_kinds(const struct transfers *transfers, struct kinds *kinds, struct np_err *err)
{
	for (size_t first = 0, end; first < transfers->list.count; first = end) {
		struct link_kind kind = { .first = first };
		struct link_kind *slot;

		for (end = first + 1;
		     end < transfers->list.count &&
		     same_kind(&transfers->list.item[first], &transfers->list.item[end]);
		     end++)
			;
		kind.end = end;
		if (measure_kind(transfers, &kind, err) < 0)
			return NP_E_NOMEM;
		if (!has_outlier(&kind.summary))
			continue;
		slot = np_vec_add(&kinds->list, err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = kind;
	}
	return NP_OK;
}

/* --- tables ---------------------------------------------------------------------------------- */

static const struct np_column sum_columns[] = {
	{ "opTypeRelatedRanksDataSize", NP_TEXT },
	DESCRIBE_COLUMNS,
	{ "offsetRatio", NP_REAL },
	{ "maxRank", NP_INTEGER },
	{ "minRank", NP_INTEGER },
};

static const struct np_column op_columns[] = {
	{ "rankId", NP_INTEGER },
	{ "groupName", NP_TEXT },
	{ "communicationTime", NP_INTEGER },
	{ "opName", NP_TEXT },
	{ "opType", NP_TEXT },
	{ "dataType", NP_TEXT },
	{ "dataSize", NP_INTEGER },
	{ "transmitTime", NP_INTEGER },
	{ "relatedRanks", NP_INTEGER },
};

static int by_offset(const void *left, const void *right)
{
	const struct link_kind *a = left;
	const struct link_kind *b = right;

	if (a->offset != b->offset)
		return a->offset > b->offset ? -1 : 1;
	return np_order((int64_t)a->first, (int64_t)b->first);
}

static int put_sum(const struct transfers *transfers, struct np_mode_table *table,
		   const struct link_kind *kind, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf label = NP_BUF_INIT;
	const struct link_transfer *first = &transfers->list.item[kind->first];
	struct np_cell cells[NP_COUNT(sum_columns)];

	np_buf_printf(&label, "%s%u_%lld", mode_name(transfers->modes, first->type), first->count,
		      (long long)first->bytes);
	cells[0] = np_cell_text(label.text);
	describe_cells(&kind->summary, &cells[1]);
	cells[1 + DESCRIBE_CELLS] = np_cell_real(kind->offset);
	cells[2 + DESCRIBE_CELLS] = np_cell_integer(kind->most_of);
	cells[3 + DESCRIBE_CELLS] = np_cell_integer(kind->least_of);
	return mode_row(transfers->modes, table, cells, err);
}

static int put_transfer(const struct transfers *transfers, struct np_mode_table *table,
			const struct link_transfer *transfer, struct np_err *err)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < transfer->count && rc == NP_OK; i++) {
		const struct np_member *member = &transfer->members[i];
		const struct np_comm_op *op = member_op(transfers->modes, member);
		char hash[24];

		rc = mode_row(transfers->modes, table,
			      (const struct np_cell[NP_COUNT(op_columns)]){
				      np_cell_integer(mode_rank_id(transfers->modes, member->rank)),
				      mode_group_cell(transfers->modes,
						      member_hash(transfers->modes, member), hash,
						      sizeof(hash)),
				      np_cell_integer(op->end - op->start),
				      mode_name_cell(transfers->modes, op->name),
				      mode_name_cell(transfers->modes, op->type),
				      np_cell_text(mode_data_type(op->data_type)),
				      np_cell_integer(op->bytes),
				      np_cell_integer(transfer->time),
				      np_cell_integer(transfer->count),
			      },
			      err);
	}
	return rc;
}

static int put(const struct transfers *transfers, struct kinds *kinds, struct np_err *err)
{
	struct np_mode_table *sums = MODE_TABLE(
		transfers->modes, MODE, "SlowLinkSum",
		"kinds of collectives of which one transfer is out of line", sum_columns, err);
	struct np_mode_table *ops = MODE_TABLE(transfers->modes, MODE, "SlowLinkOps",
					       "the operators of these kinds", op_columns, err);
	size_t top = mode_top(transfers->modes, 15);
	int rc = sums && ops ? NP_OK : NP_E_NOMEM;

	if (rc == NP_OK)
		sums->empty = ops->empty =
			transfers->list.count
				? "no transfer is out of line (3 standard deviations); np_link"
				  " compares single links"
				: "the size of no collective is known";
	for (size_t i = 0; i < kinds->list.count && rc == NP_OK; i++) {
		for (size_t j = kinds->list.item[i].first;
		     j < kinds->list.item[i].end && rc == NP_OK; j++)
			rc = put_transfer(transfers, ops, &transfers->list.item[j], err);
	}
	if (kinds->list.count)
		qsort(kinds->list.item, kinds->list.count, sizeof(kinds->list.item[0]), by_offset);
	for (size_t i = 0; i < kinds->list.count && i < top && rc == NP_OK; i++)
		rc = put_sum(transfers, sums, &kinds->list.item[i], err);
	return rc;
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct transfers transfers = { .modes = modes };
	struct kinds kinds = { 0 };
	int rc = find_transfers(&transfers, err);

	(void)prepared;
	(void)ranks;
	if (rc == NP_OK)
		rc = find_kinds(&transfers, &kinds, err);
	if (rc == NP_OK)
		rc = put(&transfers, &kinds, err);
	np_vec_release(&kinds.list);
	np_vec_release(&transfers.list);
	return rc;
}

const struct mode mode_slow_link = {
	.name = MODE,
	.summary = "collectives whose transfer takes longer than others of their size",
	.needs = NP_DETAIL_OPS,
	.merge = merge,
};
