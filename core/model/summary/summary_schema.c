/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns the tables of a rank have, and what limits their values. */
#include "summary_schema.h"

#include "npuprof/activity.h"
#include "npuprof/kernel_sums.h"
#include "npuprof/rank.h"

#define FIELD(row, name, type_, limit_) \
	{ \
		offsetof(struct row, name), NO_BASE, type_, limit_ \
	}
#define AFTER(row, name, base_) \
	{ \
		offsetof(struct row, name), offsetof(struct row, base_), I64, TIME \
	}

/*
 * A field that is added to one of these must be added to its list below, or it
 * would be lost without a word; then raise NP_SUMMARY_FORM, change the size here, and
 * make the seeds in tests/fuzz/corpus/summary again: summaries without their 32 bytes of head.
 */
#define KNOWS(row, bytes) \
	_Static_assert(sizeof(void *) != 8 || sizeof(struct row) == (bytes), \
		       "a summary does not know all of struct " #row)
KNOWS(np_step, 56);
KNOWS(np_step_time, 144);
KNOWS(np_group, 40);
KNOWS(np_comm_op, 48);
KNOWS(np_file_coverage, 24);
KNOWS(np_vendor_times, 12);
KNOWS(np_band, 56);
KNOWS(np_link, 56);
KNOWS(np_transfer, 72);
KNOWS(np_comm_step, 80);
KNOWS(np_statistic, 40);
KNOWS(np_memory_peak, 24);
KNOWS(np_memory_step, 24);
KNOWS(np_expert_work, 32);
KNOWS(np_activity_cell, 32);
KNOWS(np_segment, 16);
KNOWS(np_share, 8);
KNOWS(np_exposed, 32);
KNOWS(np_counter, 40);
KNOWS(np_unknown, 8);
KNOWS(np_layer, 32);
KNOWS(np_step_copies, 32);
KNOWS(np_rank, 832);
KNOWS(np_kernel_sort, 36);
KNOWS(np_kernel_sum, 64);
KNOWS(np_kernel_sums, 64);
KNOWS(np_note, 32);

static uint8_t op_flags(const void *row)
{
	const struct np_comm_op *op = row;

	return (uint8_t)(op->p2p | op->retried << 1 | op->relayed << 2 | op->data_type << 3);
}

static void set_op_flags(void *row, uint8_t flags)
{
	struct np_comm_op *op = row;

	op->p2p = flags & 1;
	op->retried = (flags >> 1) & 1;
	op->relayed = (flags >> 2) & 1;
	op->data_type = (unsigned)flags >> 3 & 31;
}

static uint8_t transfer_flags(const void *row)
{
	const struct np_transfer *transfer = row;

	return (uint8_t)(transfer->p2p | transfer->reduces << 1);
}

static void set_transfer_flags(void *row, uint8_t flags)
{
	struct np_transfer *transfer = row;

	transfer->p2p = flags & 1;
	transfer->reduces = (flags >> 1) & 1;
}

static const struct summary_field step_fields[] = {
	FIELD(np_step, id, TEXT, ANY),       FIELD(np_step, host_begin, I64, TIME),
	FIELD(np_step, host_end, I64, TIME), FIELD(np_step, begin, I64, TIME),
	FIELD(np_step, end, I64, TIME),      FIELD(np_step, past, I64, TIME),
	FIELD(np_step, cut, BOOL, ANY),
};

static const struct summary_field coverage_fields[] = {
	FIELD(np_file_coverage, file, TEXT, ANY),
	FIELD(np_file_coverage, against, TEXT, ANY),
	FIELD(np_file_coverage, share, REAL, ANY),
	FIELD(np_file_coverage, withholds, BOOL, ANY),
};

static const struct summary_field time_fields[] = {
	FIELD(np_step_time, step, U32, STEP),
	FIELD(np_step_time, device, I32, ANY),
	FIELD(np_step_time, computing, I64, TIME),
	FIELD(np_step_time, communication, I64, TIME),
	FIELD(np_step_time, communication_not_overlapped, I64, TIME),
	FIELD(np_step_time, overlapped, I64, TIME),
	FIELD(np_step_time, free, I64, TIME),
	FIELD(np_step_time, bubble, I64, TIME),
	FIELD(np_step_time, stage, I64, TIME),
	FIELD(np_step_time, preparing, I64, TIME),
	FIELD(np_step_time, span, I64, TIME),
	FIELD(np_step_time, e2e, I64, TIME),
	FIELD(np_step_time, begin, I64, TIME),
	FIELD(np_step_time, iteration, I64, TIME),
	FIELD(np_step_time, between[NP_BETWEEN_DATALOADER], I64, TIME),
	FIELD(np_step_time, between[NP_BETWEEN_HOST], I64, TIME),
	FIELD(np_step_time, between[NP_BETWEEN_OTHER], I64, TIME),
	FIELD(np_step_time, between[NP_BETWEEN_UNKNOWN], I64, TIME),
	FIELD(np_step_time, trailing, I64, TIME),
};

static const struct summary_field group_fields[] = {
	FIELD(np_group, hash, U64, ANY),
	FIELD(np_group, name, TEXT, ANY),
	FIELD(np_group, pg_name, TEXT, ANY),
	FIELD(np_group, group_rank, I32, ANY),
};

static const struct summary_field op_fields[] = {
	FIELD(np_comm_op, start, I64, TIME),      AFTER(np_comm_op, end, start),
	FIELD(np_comm_op, transfer, U32, LENGTH), FIELD(np_comm_op, bytes, I64, ANY),
	FIELD(np_comm_op, name, TEXT, ANY),       FIELD(np_comm_op, type, TEXT, ANY),
	FIELD(np_comm_op, group, U32, GROUP),     FIELD(np_comm_op, step, U32, STEP_OR_NONE),
	FIELD(np_comm_op, device, I8, ANY),       FIELD(np_comm_op, peer, U16, ANY),
};

static const struct summary_field long_time_fields[] = {
	{ 0, NO_BASE, I64, TIME },
};

static const struct summary_field vendor_time_fields[] = {
	FIELD(np_vendor_times, transit, U32, LENGTH),
	FIELD(np_vendor_times, wait, U32, LENGTH),
	FIELD(np_vendor_times, sync, U32, LENGTH),
};

static const struct summary_field band_fields[] = {
	FIELD(np_band, op, U32, OP),
	FIELD(np_band, type, U32, BAND),
	FIELD(np_band, bytes, I64, ANY),
	FIELD(np_band, time, I64, TIME),
	FIELD(np_band, large_packet_ratio, REAL, ANY),
	FIELD(np_band, package_bytes, I64, ANY),
	FIELD(np_band, package_count, I64, ANY),
	FIELD(np_band, package_time, I64, TIME),
};

static const struct summary_field link_fields[] = {
	FIELD(np_link, group, U32, GROUP),    FIELD(np_link, step, U32, STEP_OR_NONE),
	FIELD(np_link, op_class, TEXT, ANY),  FIELD(np_link, pick, U32, PICK),
	FIELD(np_link, src, I32, ANY),        FIELD(np_link, dst, I32, ANY),
	FIELD(np_link, transport, TEXT, ANY), FIELD(np_link, bytes, I64, ANY),
	FIELD(np_link, time, I64, TIME),      FIELD(np_link, op_name, TEXT, ANY),
	FIELD(np_link, p2p, BOOL, ANY),
};

static const struct summary_field transfer_fields[] = {
	FIELD(np_transfer, group, U32, GROUP),      FIELD(np_transfer, step, U32, STEP_OR_NONE),
	FIELD(np_transfer, src, I32, ANY),          FIELD(np_transfer, dst, I32, ANY),
	FIELD(np_transfer, transport, TEXT, ANY),   FIELD(np_transfer, plane, U32, ANY),
	FIELD(np_transfer, size_class, U16, ANY),   FIELD(np_transfer, concurrency, U8, ANY),
	FIELD(np_transfer, count, U32, ANY),        FIELD(np_transfer, troubled, U32, ANY),
	FIELD(np_transfer, bytes, I64, ANY),        FIELD(np_transfer, time, I64, TIME),
	FIELD(np_transfer, middle_bytes, I64, ANY), FIELD(np_transfer, middle_time, I64, TIME),
};

static const struct summary_field comm_step_fields[] = {
	FIELD(np_comm_step, group, U32, GROUP),     FIELD(np_comm_step, step, U32, STEP_OR_NONE),
	FIELD(np_comm_step, device, I32, ANY),      FIELD(np_comm_step, ops, U64, ANY),
	FIELD(np_comm_step, bytes, I64, ANY),       FIELD(np_comm_step, moved_bytes, I64, ANY),
	FIELD(np_comm_step, moved_time, I64, TIME), FIELD(np_comm_step, elapsed, I64, TIME),
	FIELD(np_comm_step, transfer, I64, TIME),   FIELD(np_comm_step, exposed, I64, TIME),
	FIELD(np_comm_step, overlapped, I64, TIME),
};

static const struct summary_field statistic_fields[] = {
	FIELD(np_statistic, name, TEXT, ANY),  FIELD(np_statistic, kind, TEXT, ANY),
	FIELD(np_statistic, count, I64, ANY),  FIELD(np_statistic, total, I64, TIME),
	FIELD(np_statistic, least, I64, TIME), FIELD(np_statistic, most, I64, TIME),
};

static const struct summary_field memory_fields[] = {
	FIELD(np_memory_peak, component, TEXT, ANY),
	FIELD(np_memory_peak, allocated, I64, ANY),
	FIELD(np_memory_peak, reserved, I64, ANY),
};

static const struct summary_field memory_step_fields[] = {
	FIELD(np_memory_step, component, TEXT, ANY),
	FIELD(np_memory_step, step, TEXT, ANY),
	FIELD(np_memory_step, most, I64, ANY),
	FIELD(np_memory_step, least, I64, ANY),
};

static const struct summary_field expert_fields[] = {
	FIELD(np_expert_work, op, U32, OP_OR_NONE), FIELD(np_expert_work, step, U32, STEP_OR_NONE),
	FIELD(np_expert_work, kernels, U32, ANY),   FIELD(np_expert_work, tokens, I64, ANY),
	FIELD(np_expert_work, time, I64, TIME),
};

static const struct summary_field counter_fields[] = {
	FIELD(np_counter, table, TEXT, ANY),  FIELD(np_counter, name, TEXT, ANY),
	FIELD(np_counter, device, I32, ANY),  FIELD(np_counter, level, BOOL, ANY),
	FIELD(np_counter, samples, I64, ANY), FIELD(np_counter, total, REAL, ANY),
	FIELD(np_counter, most, REAL, ANY),
};

static const struct summary_field unknown_fields[] = {
	FIELD(np_unknown, table, TEXT, ANY),
	FIELD(np_unknown, column, TEXT, ANY),
};

static const struct summary_field layer_fields[] = {
	FIELD(np_layer, time, I64, TIME),   FIELD(np_layer, members, U32, ANY),
	FIELD(np_layer, repeats, U32, ANY), FIELD(np_layer, stretches, U32, ANY),
	FIELD(np_layer, of, U32, ANY),      FIELD(np_layer, depth, U32, ANY),
};

static const struct summary_field copies_fields[] = {
	FIELD(np_step_copies, time, I64, TIME),
	FIELD(np_step_copies, exposed, I64, TIME),
	FIELD(np_step_copies, inside, I64, TIME),
	FIELD(np_step_copies, again, I64, TIME),
};

static const struct summary_field cell_fields[] = {
	FIELD(np_activity_cell, begin, I64, TIME),
	AFTER(np_activity_cell, end, begin),
	FIELD(np_activity_cell, first_segment, U32, ANY),
	FIELD(np_activity_cell, segments, U32, ANY),
	FIELD(np_activity_cell, first_exposed, U32, ANY),
	FIELD(np_activity_cell, exposed, U32, ANY),
};

static const struct summary_field segment_fields[] = {
	FIELD(np_segment, begin, I64, TIME),
	FIELD(np_segment, first, U32, ANY),
};

static const struct summary_field share_fields[] = {
	FIELD(np_share, leaf, LEAF, ANY),
	FIELD(np_share, ns, U32, ANY),
};

static const struct summary_field exposed_fields[] = {
	FIELD(np_exposed, begin, I64, TIME), AFTER(np_exposed, end, begin),
	FIELD(np_exposed, op, U32, OP),      FIELD(np_exposed, later, U32, ANY),
	FIELD(np_exposed, host, U32, ANY),
};

/* The rank's own values are a table of one row. */
static const struct summary_field rank_fields[] = {
	FIELD(np_rank, id, I32, ANY),
	FIELD(np_rank, device, I32, ANY),
	FIELD(np_rank, device_count, U64, ANY),
	FIELD(np_rank, host_uid, TEXT, ANY),
	FIELD(np_rank, host_name, TEXT, ANY),
	FIELD(np_rank, level, TEXT, ANY),
	FIELD(np_rank, schema_version, TEXT, ANY),
	FIELD(np_rank, cann_version, TEXT, ANY),
	FIELD(np_rank, framework_version, TEXT, ANY),
	FIELD(np_rank, parallel.known, BOOL, ANY),
	FIELD(np_rank, parallel.world, I32, ANY),
	FIELD(np_rank, parallel.tp, I32, ANY),
	FIELD(np_rank, parallel.pp, I32, ANY),
	FIELD(np_rank, parallel.dp, I32, ANY),
	FIELD(np_rank, parallel.cp, I32, ANY),
	FIELD(np_rank, parallel.ep, I32, ANY),
	FIELD(np_rank, parallel.sequence_parallel, BOOL, ANY),
	FIELD(np_rank, contents, U32, ANY),
	FIELD(np_rank, steps_from, U32, STEPS_FROM),
	FIELD(np_rank, steps_confidence, U32, ANY),
	FIELD(np_rank, step_source, U32, SOURCE),
	FIELD(np_rank, comm_source, U32, SOURCE),
	FIELD(np_rank, exposed_source, U32, SOURCE),
	FIELD(np_rank, sizes_known, BOOL, ANY),
	FIELD(np_rank, collections, I64, ANY),
	FIELD(np_rank, collection_time, I64, TIME),
};

#define TABLE(member, row, fields_) \
	{ \
		.offset = offsetof(struct np_rank, member), .row_bytes = sizeof(struct row), \
		.fields = (fields_), .field_count = NP_COUNT(fields_) \
	}
#define TABLE_SHOWN(member, row, fields_) \
	{ \
		.offset = offsetof(struct np_rank, member), .row_bytes = sizeof(struct row), \
		.fields = (fields_), .field_count = NP_COUNT(fields_), .shown = true \
	}
#define TABLE_FLAGS(member, row, fields_, get, set) \
	{ \
		.offset = offsetof(struct np_rank, member), .row_bytes = sizeof(struct row), \
		.fields = (fields_), .field_count = NP_COUNT(fields_), .flags = (get), \
		.set_flags = (set) \
	}

/* What indexes of others are checked with comes first. */
static const struct summary_table tables[] = {
	TABLE(steps, np_step, step_fields),
	TABLE(groups, np_group, group_fields),
	{ .offset = offsetof(struct np_rank, long_times),
	  .row_bytes = sizeof(np_ns),
	  .fields = long_time_fields,
	  .field_count = NP_COUNT(long_time_fields) },
	TABLE_FLAGS(ops, np_comm_op, op_fields, op_flags, set_op_flags),
	TABLE_SHOWN(vendor_times, np_vendor_times, vendor_time_fields),
	TABLE(times, np_step_time, time_fields),
	TABLE(whole, np_step_time, time_fields),
	TABLE_SHOWN(bands, np_band, band_fields),
	TABLE_SHOWN(links, np_link, link_fields),
	TABLE_FLAGS(transfers, np_transfer, transfer_fields, transfer_flags, set_transfer_flags),
	TABLE(comm_steps, np_comm_step, comm_step_fields),
	TABLE(kernels, np_statistic, statistic_fields),
	TABLE(calls, np_statistic, statistic_fields),
	TABLE(memory, np_memory_peak, memory_fields),
	TABLE(memory_steps, np_memory_step, memory_step_fields),
	TABLE(experts, np_expert_work, expert_fields),
	TABLE(counters, np_counter, counter_fields),
	TABLE(unknowns, np_unknown, unknown_fields),
	TABLE(copies, np_step_copies, copies_fields),
	TABLE(layers, np_layer, layer_fields),
	TABLE(coverage, np_file_coverage, coverage_fields),
	TABLE(activity.cells, np_activity_cell, cell_fields),
	TABLE(activity.segments, np_segment, segment_fields),
	TABLE(activity.shares, np_share, share_fields),
	TABLE(activity.exposed, np_exposed, exposed_fields),
};

static const struct summary_field sort_fields[] = {
	FIELD(np_kernel_sort, name, TEXT, ANY),
	FIELD(np_kernel_sort, type, TEXT, ANY),
	FIELD(np_kernel_sort, core, TEXT, ANY),
	FIELD(np_kernel_sort, in_shapes, TEXT, ANY),
	FIELD(np_kernel_sort, in_dtypes, TEXT, ANY),
	FIELD(np_kernel_sort, in_formats, TEXT, ANY),
	FIELD(np_kernel_sort, framework_op, TEXT, ANY),
	FIELD(np_kernel_sort, framework_op_backward, BOOL, ANY),
	FIELD(np_kernel_sort, cube, U32, CUBE),
};

static const struct summary_field sum_fields[] = {
	FIELD(np_kernel_sum, sort, U32, ANY),       FIELD(np_kernel_sum, step, TEXT, ANY),
	FIELD(np_kernel_sum, device, I32, ANY),     FIELD(np_kernel_sum, count, I64, ANY),
	FIELD(np_kernel_sum, total, I64, TIME),     FIELD(np_kernel_sum, owned, I64, TIME),
	FIELD(np_kernel_sum, least, I64, TIME),     FIELD(np_kernel_sum, most, I64, TIME),
	FIELD(np_kernel_sum, computing, I64, TIME),
};

/* Of the sums as a whole: a table of one row. */
static const struct summary_field sums_fields[] = {
	FIELD(np_kernel_sums, chip, TEXT, ANY),
	FIELD(np_kernel_sums, mhz, I64, ANY),
};

static const struct summary_table sum_tables[] = {
	{ .offset = offsetof(struct np_kernel_sums, sorts),
	  .row_bytes = sizeof(struct np_kernel_sort),
	  .fields = sort_fields,
	  .field_count = NP_COUNT(sort_fields) },
	{ .offset = offsetof(struct np_kernel_sums, sums),
	  .row_bytes = sizeof(struct np_kernel_sum),
	  .fields = sum_fields,
	  .field_count = NP_COUNT(sum_fields) },
};

const struct summary_schema summary_of_rank = { rank_fields, NP_COUNT(rank_fields), tables,
						NP_COUNT(tables) };
const struct summary_schema summary_of_sums = { sums_fields, NP_COUNT(sums_fields), sum_tables,
						NP_COUNT(sum_tables) };
