/* SPDX-License-Identifier: Apache-2.0 */
#include "summary_bytes.h"

/*
 * Tables of a rank, column by column
 * ----------------------------------
 *
 * A column is the difference of each value from the one above it, or from
 * another value of its row: ends stand near their starts, and what hardly
 * changes takes a byte. Differences wrap around, so NP_UNKNOWN needs no care.
 */
enum type {
	I64,
	I32,
	I8,
	U64,
	U32,
	U16,
	U8,
	BOOL,
	REAL, /* double, as it is */
	TEXT, /* np_str */
	LEAF, /* np_leaf */
};

/* What a value is checked against when it is read. */
enum limit {
	ANY,
	TIME, /* within ±NP_NS_MAX, or unknown */
	LENGTH,
	STEP,
	STEP_OR_NONE,
	GROUP,
	OP,
	OP_OR_NONE,
	BAND,
	PICK,
	SOURCE,
	CUBE,
};

#define NO_BASE UINT16_MAX

#define LEAF_KIND_BITS (32 - NP_LEAF_BITS)

struct field {
	uint16_t offset;
	uint16_t base; /* offset of the I64 of the same row it is relative to, or NO_BASE */
	uint8_t type;
	uint8_t limit;
};

#define FIELD(row, name, type_, limit_) \
	{ \
		offsetof(struct row, name), NO_BASE, type_, limit_ \
	}
#define AFTER(row, name, base_) \
	{ \
		offsetof(struct row, name), offsetof(struct row, base_), I64, TIME \
	}

struct table {
	size_t offset; /* of the vector in struct np_rank, or in its np_kernel_sums */
	size_t row_bytes;
	const struct field *fields;
	size_t field_count;
	/* Bits of a row that have no address; may be NULL. */
	uint8_t (*flags)(const void *row);
	void (*set_flags)(void *row, uint8_t flags);
};

/*
 * A field that is added to one of these must be added to its list below, or it
 * would be lost without a word; then raise NP_SUMMARY_FORM, change the size here, and
 * make the seeds in tests/fuzz/corpus/summary again: summaries without their 32 bytes of head.
 */
#define KNOWS(row, bytes) \
	_Static_assert(sizeof(void *) != 8 || sizeof(struct row) == (bytes), \
		       "a summary does not know all of struct " #row)
KNOWS(np_step, 48);
KNOWS(np_step_time, 88);
KNOWS(np_group, 40);
KNOWS(np_comm_op, 48);
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
KNOWS(np_exposed, 24);
KNOWS(np_rank, 616);
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

static const struct field step_fields[] = {
	FIELD(np_step, id, TEXT, ANY),       FIELD(np_step, host_begin, I64, TIME),
	FIELD(np_step, host_end, I64, TIME), FIELD(np_step, begin, I64, TIME),
	FIELD(np_step, end, I64, TIME),      FIELD(np_step, cut, BOOL, ANY),
};

static const struct field time_fields[] = {
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
};

static const struct field group_fields[] = {
	FIELD(np_group, hash, U64, ANY),
	FIELD(np_group, name, TEXT, ANY),
	FIELD(np_group, pg_name, TEXT, ANY),
	FIELD(np_group, group_rank, I32, ANY),
};

static const struct field op_fields[] = {
	FIELD(np_comm_op, start, I64, TIME),      AFTER(np_comm_op, end, start),
	FIELD(np_comm_op, transfer, U32, LENGTH), FIELD(np_comm_op, bytes, I64, ANY),
	FIELD(np_comm_op, name, TEXT, ANY),       FIELD(np_comm_op, type, TEXT, ANY),
	FIELD(np_comm_op, group, U32, GROUP),     FIELD(np_comm_op, step, U32, STEP_OR_NONE),
	FIELD(np_comm_op, device, I8, ANY),       FIELD(np_comm_op, peer, U16, ANY),
};

static const struct field long_time_fields[] = {
	{ 0, NO_BASE, I64, TIME },
};

static const struct field vendor_time_fields[] = {
	FIELD(np_vendor_times, transit, U32, LENGTH),
	FIELD(np_vendor_times, wait, U32, LENGTH),
	FIELD(np_vendor_times, sync, U32, LENGTH),
};

static const struct field band_fields[] = {
	FIELD(np_band, op, U32, OP),
	FIELD(np_band, type, U32, BAND),
	FIELD(np_band, bytes, I64, ANY),
	FIELD(np_band, time, I64, TIME),
	FIELD(np_band, large_packet_ratio, REAL, ANY),
	FIELD(np_band, package_bytes, I64, ANY),
	FIELD(np_band, package_count, I64, ANY),
	FIELD(np_band, package_time, I64, TIME),
};

static const struct field link_fields[] = {
	FIELD(np_link, group, U32, GROUP),    FIELD(np_link, step, U32, STEP_OR_NONE),
	FIELD(np_link, op_class, TEXT, ANY),  FIELD(np_link, pick, U32, PICK),
	FIELD(np_link, src, I32, ANY),        FIELD(np_link, dst, I32, ANY),
	FIELD(np_link, transport, TEXT, ANY), FIELD(np_link, bytes, I64, ANY),
	FIELD(np_link, time, I64, TIME),      FIELD(np_link, op_name, TEXT, ANY),
	FIELD(np_link, p2p, BOOL, ANY),
};

static const struct field transfer_fields[] = {
	FIELD(np_transfer, group, U32, GROUP),      FIELD(np_transfer, step, U32, STEP_OR_NONE),
	FIELD(np_transfer, src, I32, ANY),          FIELD(np_transfer, dst, I32, ANY),
	FIELD(np_transfer, transport, TEXT, ANY),   FIELD(np_transfer, plane, U32, ANY),
	FIELD(np_transfer, size_class, U16, ANY),   FIELD(np_transfer, crowd, U8, ANY),
	FIELD(np_transfer, count, U32, ANY),        FIELD(np_transfer, troubled, U32, ANY),
	FIELD(np_transfer, bytes, I64, ANY),        FIELD(np_transfer, time, I64, TIME),
	FIELD(np_transfer, middle_bytes, I64, ANY), FIELD(np_transfer, middle_time, I64, TIME),
};

static const struct field comm_step_fields[] = {
	FIELD(np_comm_step, group, U32, GROUP),     FIELD(np_comm_step, step, U32, STEP_OR_NONE),
	FIELD(np_comm_step, device, I32, ANY),      FIELD(np_comm_step, ops, U64, ANY),
	FIELD(np_comm_step, bytes, I64, ANY),       FIELD(np_comm_step, moved_bytes, I64, ANY),
	FIELD(np_comm_step, moved_time, I64, TIME), FIELD(np_comm_step, elapsed, I64, TIME),
	FIELD(np_comm_step, transfer, I64, TIME),   FIELD(np_comm_step, exposed, I64, TIME),
	FIELD(np_comm_step, overlapped, I64, TIME),
};

static const struct field statistic_fields[] = {
	FIELD(np_statistic, name, TEXT, ANY),  FIELD(np_statistic, kind, TEXT, ANY),
	FIELD(np_statistic, count, I64, ANY),  FIELD(np_statistic, total, I64, TIME),
	FIELD(np_statistic, least, I64, TIME), FIELD(np_statistic, most, I64, TIME),
};

static const struct field memory_fields[] = {
	FIELD(np_memory_peak, component, TEXT, ANY),
	FIELD(np_memory_peak, allocated, I64, ANY),
	FIELD(np_memory_peak, reserved, I64, ANY),
};

static const struct field memory_step_fields[] = {
	FIELD(np_memory_step, component, TEXT, ANY),
	FIELD(np_memory_step, step, TEXT, ANY),
	FIELD(np_memory_step, most, I64, ANY),
	FIELD(np_memory_step, least, I64, ANY),
};

static const struct field expert_fields[] = {
	FIELD(np_expert_work, op, U32, OP_OR_NONE), FIELD(np_expert_work, step, U32, STEP_OR_NONE),
	FIELD(np_expert_work, kernels, U32, ANY),   FIELD(np_expert_work, tokens, I64, ANY),
	FIELD(np_expert_work, time, I64, TIME),
};

static const struct field cell_fields[] = {
	FIELD(np_activity_cell, begin, I64, TIME),
	AFTER(np_activity_cell, end, begin),
	FIELD(np_activity_cell, first_segment, U32, ANY),
	FIELD(np_activity_cell, segments, U32, ANY),
	FIELD(np_activity_cell, first_exposed, U32, ANY),
	FIELD(np_activity_cell, exposed, U32, ANY),
};

static const struct field segment_fields[] = {
	FIELD(np_segment, begin, I64, TIME),
	FIELD(np_segment, first, U32, ANY),
};

static const struct field share_fields[] = {
	FIELD(np_share, leaf, LEAF, ANY),
	FIELD(np_share, ns, U32, ANY),
};

static const struct field exposed_fields[] = {
	FIELD(np_exposed, begin, I64, TIME),
	AFTER(np_exposed, end, begin),
	FIELD(np_exposed, op, U32, OP),
};

/* The rank's own values are a table of one row. */
static const struct field rank_fields[] = {
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
	FIELD(np_rank, step_source, U32, SOURCE),
	FIELD(np_rank, comm_source, U32, SOURCE),
	FIELD(np_rank, exposed_source, U32, SOURCE),
	FIELD(np_rank, sizes_known, BOOL, ANY),
};

#define TABLE(member, row, fields_) \
	{ \
		.offset = offsetof(struct np_rank, member), .row_bytes = sizeof(struct row), \
		.fields = (fields_), .field_count = NP_COUNT(fields_) \
	}
#define TABLE_FLAGS(member, row, fields_, get, set) \
	{ \
		.offset = offsetof(struct np_rank, member), .row_bytes = sizeof(struct row), \
		.fields = (fields_), .field_count = NP_COUNT(fields_), .flags = (get), \
		.set_flags = (set) \
	}

/* What indexes of others are checked with comes first. */
static const struct table tables[] = {
	TABLE(steps, np_step, step_fields),
	TABLE(groups, np_group, group_fields),
	{ .offset = offsetof(struct np_rank, long_times),
	  .row_bytes = sizeof(np_ns),
	  .fields = long_time_fields,
	  .field_count = NP_COUNT(long_time_fields) },
	TABLE_FLAGS(ops, np_comm_op, op_fields, op_flags, set_op_flags),
	TABLE(vendor_times, np_vendor_times, vendor_time_fields),
	TABLE(times, np_step_time, time_fields),
	TABLE(bands, np_band, band_fields),
	TABLE(links, np_link, link_fields),
	TABLE_FLAGS(transfers, np_transfer, transfer_fields, transfer_flags, set_transfer_flags),
	TABLE(comm_steps, np_comm_step, comm_step_fields),
	TABLE(kernels, np_statistic, statistic_fields),
	TABLE(calls, np_statistic, statistic_fields),
	TABLE(memory, np_memory_peak, memory_fields),
	TABLE(memory_steps, np_memory_step, memory_step_fields),
	TABLE(experts, np_expert_work, expert_fields),
	TABLE(activity.cells, np_activity_cell, cell_fields),
	TABLE(activity.segments, np_segment, segment_fields),
	TABLE(activity.shares, np_share, share_fields),
	TABLE(activity.exposed, np_exposed, exposed_fields),
};

static struct summary_vector vector_of(const void *base, const struct table *table)
{
	struct summary_vector vector;

	memcpy(&vector, (const char *)base + table->offset, sizeof(vector));
	return vector;
}

static const struct field sort_fields[] = {
	FIELD(np_kernel_sort, name, TEXT, ANY),
	FIELD(np_kernel_sort, type, TEXT, ANY),
	FIELD(np_kernel_sort, core, TEXT, ANY),
	FIELD(np_kernel_sort, in_shapes, TEXT, ANY),
	FIELD(np_kernel_sort, in_dtypes, TEXT, ANY),
	FIELD(np_kernel_sort, in_formats, TEXT, ANY),
	FIELD(np_kernel_sort, origin, TEXT, ANY),
	FIELD(np_kernel_sort, origin_backward, BOOL, ANY),
	FIELD(np_kernel_sort, cube, U32, CUBE),
};

static const struct field sum_fields[] = {
	FIELD(np_kernel_sum, sort, U32, ANY),       FIELD(np_kernel_sum, step, TEXT, ANY),
	FIELD(np_kernel_sum, device, I32, ANY),     FIELD(np_kernel_sum, count, I64, ANY),
	FIELD(np_kernel_sum, total, I64, TIME),     FIELD(np_kernel_sum, owned, I64, TIME),
	FIELD(np_kernel_sum, least, I64, TIME),     FIELD(np_kernel_sum, most, I64, TIME),
	FIELD(np_kernel_sum, computing, I64, TIME),
};

/* Of the sums as a whole: a table of one row. */
static const struct field sums_fields[] = {
	FIELD(np_kernel_sums, chip, TEXT, ANY),
	FIELD(np_kernel_sums, mhz, I64, ANY),
};

static const struct table sum_tables[] = {
	{ .offset = offsetof(struct np_kernel_sums, sorts),
	  .row_bytes = sizeof(struct np_kernel_sort),
	  .fields = sort_fields,
	  .field_count = NP_COUNT(sort_fields) },
	{ .offset = offsetof(struct np_kernel_sums, sums),
	  .row_bytes = sizeof(struct np_kernel_sum),
	  .fields = sum_fields,
	  .field_count = NP_COUNT(sum_fields) },
};

/* --- writing ------------------------------------------------------------------------------------
 */

static int64_t get_i64(const char *at)
{
	int64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t get_u32(const char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint16_t get_u16(const char *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The types of a leaf are strings. Its kind goes into the lowest bits: neighbours are alike. */
static uint64_t portable_leaf(struct summary_writer *writer, np_leaf leaf)
{
	uint32_t of = np_leaf_of(leaf);

	if (np_leaf_kind(leaf) == NP_LEAF_COMPUTE && of != NP_LEAF_NOBODY)
		of = summary_number(writer, of);
	return (uint64_t)of << LEAF_KIND_BITS | np_leaf_kind(leaf);
}

static uint64_t value_of(struct summary_writer *writer, const struct field *field, const char *at)
{
	switch ((enum type)field->type) {
	case I32:
		return (uint64_t)(int64_t)(int32_t)get_u32(at);
	case I8:
		return (uint64_t)(int64_t)(int8_t)*at;
	case U32:
		return get_u32(at);
	case U16:
		return get_u16(at);
	case U8:
	case BOOL:
		return (uint8_t)*at;
	case TEXT:
		return summary_number(writer, get_u32(at));
	case LEAF:
		return portable_leaf(writer, get_u32(at));
	case I64:
	case U64:
	case REAL:
	default:
		return (uint64_t)get_i64(at);
	}
}

static void put_column(struct summary_writer *writer, const struct field *field, const char *rows,
		       size_t count, size_t row_bytes)
{
	uint64_t before = 0;

	for (size_t i = 0; i < count; i++) {
		const char *row = rows + i * row_bytes;
		uint64_t value = value_of(writer, field, row + field->offset);

		if (field->base != NO_BASE)
			before = (uint64_t)get_i64(row + field->base);
		summary_put_signed(writer, (int64_t)(value - before));
		before = value;
	}
}

static void put_table(struct summary_writer *writer, const struct table *table, const void *base)
{
	struct summary_vector rows = vector_of(base, table);

	summary_put_number(writer, rows.count);
	for (size_t i = 0; i < table->field_count; i++)
		put_column(writer, &table->fields[i], rows.item, rows.count, table->row_bytes);
	for (size_t i = 0; table->flags && i < rows.count; i++)
		summary_put_number(writer,
				   table->flags((const char *)rows.item + i * table->row_bytes));
}

static void put_members(struct summary_writer *writer, const struct np_group *group)
{
	int64_t before = 0;

	summary_put_number(writer, group->members ? group->member_count + 1 : 0);
	for (size_t i = 0; group->members && i < group->member_count; i++) {
		summary_put_signed(writer, group->members[i] - before);
		before = group->members[i];
	}
}

static void put_sums(struct summary_writer *writer, const struct np_kernel_sums *sums)
{
	summary_put_number(writer, sums != NULL);
	for (size_t i = 0; sums && i < NP_COUNT(sum_tables); i++)
		put_table(writer, &sum_tables[i], sums);
	for (size_t i = 0; sums && i < NP_COUNT(sums_fields); i++)
		put_column(writer, &sums_fields[i], (const char *)sums, 1, sizeof(*sums));
}

void summary_put_rank(struct summary_writer *writer, const struct np_rank *rank)
{
	for (size_t i = 0; i < NP_COUNT(rank_fields); i++)
		put_column(writer, &rank_fields[i], (const char *)rank, 1, sizeof(*rank));
	for (size_t i = 0; i < NP_COUNT(tables); i++)
		put_table(writer, &tables[i], rank);
	for (size_t i = 0; i < rank->groups.count; i++)
		put_members(writer, &rank->groups.item[i]);
	put_sums(writer, rank->kernel_sums);
}

/* --- reading ------------------------------------------------------------------------------------
 */

static bool is_below(uint64_t value, size_t count, uint32_t none)
{
	return value < count || (none && value == none);
}

static bool is_within(enum limit limit, uint64_t value, const struct np_rank *rank)
{
	switch (limit) {
	case TIME:
		return (int64_t)value == NP_UNKNOWN ||
		       ((int64_t)value >= -NP_NS_MAX && (int64_t)value <= NP_NS_MAX);
	case LENGTH:
		return value < NP_LENGTH_LONG || value == NP_LENGTH_UNKNOWN ||
		       value - NP_LENGTH_LONG < rank->long_times.count;
	case STEP:
		return is_below(value, rank->steps.count, 0);
	case STEP_OR_NONE:
		return is_below(value, rank->steps.count, NP_NO_STEP);
	case GROUP:
		return is_below(value, rank->groups.count, 0);
	case OP:
		return is_below(value, rank->ops.count, 0);
	case OP_OR_NONE:
		return is_below(value, rank->ops.count, NP_NO_OP);
	case BAND:
		return value < NP_BAND_COUNT;
	case PICK:
		return value < NP_LINK_PICKS;
	case SOURCE:
		return value <= NP_FROM_TEXT;
	case CUBE:
		return value <= NP_CUBE_YES;
	case ANY:
	default:
		return true;
	}
}

static np_leaf own_leaf(struct summary_reader *reader, const struct np_rank *rank, uint64_t value)
{
	uint32_t of = (uint32_t)value >> LEAF_KIND_BITS;
	enum np_leaf_kind kind = (enum np_leaf_kind)(value & ((1U << LEAF_KIND_BITS) - 1));
	bool good = value <= UINT32_MAX && kind < NP_LEAF_KINDS;

	if (good && of != NP_LEAF_NOBODY && kind == NP_LEAF_COMM)
		good = of < rank->ops.count;
	if (good && of != NP_LEAF_NOBODY && kind == NP_LEAF_COMPUTE) {
		good = of < reader->text_count;
		of = good ? reader->texts[of] : of;
	}
	if (!good)
		summary_refuse(reader, "a leaf in it is of nothing");
	return np_leaf_make(kind, of);
}

static np_str own_text(struct summary_reader *reader, uint64_t number)
{
	if (number < reader->text_count)
		return reader->texts[number];
	summary_refuse(reader, "a text in it is not there");
	return NP_STR_NONE;
}

/* Does a value fit into its field? */
static bool fits(enum type type, uint64_t value)
{
	switch (type) {
	case I32:
		return (int64_t)value >= INT32_MIN && (int64_t)value <= INT32_MAX;
	case I8:
		return (int64_t)value >= INT8_MIN && (int64_t)value <= INT8_MAX;
	case U32:
		return value <= UINT32_MAX;
	case U16:
		return value <= UINT16_MAX;
	case U8:
		return value <= UINT8_MAX;
	case BOOL:
		return value <= 1;
	case I64:
	case U64:
	case REAL:
	case TEXT:
	case LEAF:
	default:
		return true;
	}
}

static void set_value(struct summary_reader *reader, const struct field *field, char *at,
		      uint64_t value, const struct np_rank *rank)
{
	enum type type = field->type;
	uint32_t small = (uint32_t)value;
	uint16_t smaller = (uint16_t)value;

	if (!fits(type, value) || !is_within(field->limit, value, rank)) {
		summary_refuse(reader, "a value in it is out of range");
		return;
	}
	if (type == TEXT)
		small = own_text(reader, value);
	if (type == LEAF)
		small = own_leaf(reader, rank, value);
	if (type == I64 || type == U64 || type == REAL)
		memcpy(at, &value, sizeof(value));
	else if (type == U16)
		memcpy(at, &smaller, sizeof(smaller));
	else if (type == I8 || type == U8 || type == BOOL)
		*at = (char)value;
	else
		memcpy(at, &small, sizeof(small));
}

static void get_column(struct summary_reader *reader, const struct field *field, char *rows,
		       size_t count, size_t row_bytes, const struct np_rank *rank)
{
	uint64_t before = 0;

	for (size_t i = 0; i < count && !reader->problem; i++) {
		char *row = rows + i * row_bytes;
		uint64_t value;

		if (field->base != NO_BASE)
			before = (uint64_t)get_i64(row + field->base);
		value = before + (uint64_t)summary_get_signed(reader);
		set_value(reader, field, row + field->offset, value, rank);
		before = value;
	}
}

static void get_flags(struct summary_reader *reader, const struct table *table, char *rows,
		      size_t count)
{
	for (size_t i = 0; i < count && !reader->problem; i++)
		table->set_flags(rows + i * table->row_bytes,
				 (uint8_t)summary_get_at_most(reader, UINT8_MAX));
}

static void get_table(struct summary_reader *reader, const struct table *table, void *base,
		      const struct np_rank *rank)
{
	uint64_t count = summary_get_number(reader);
	struct summary_vector rows = { 0 };

	/* Every value takes a byte: a count that lies cannot take more memory than that. */
	if (count > (uint64_t)(reader->end - reader->at) / table->field_count) {
		summary_refuse(reader, "it has fewer rows than it says");
		return;
	}
	if (count == 0)
		return;
	rows.item = calloc((size_t)count, table->row_bytes);
	if (!rows.item) {
		summary_exhaust(reader);
		return;
	}
	rows.count = rows.capacity = (size_t)count;
	/* Its own count too: it is released whatever happens. */
	memcpy((char *)base + table->offset, &rows, sizeof(rows));
	for (size_t i = 0; i < table->field_count; i++)
		get_column(reader, &table->fields[i], rows.item, rows.count, table->row_bytes,
			   rank);
	if (table->flags)
		get_flags(reader, table, rows.item, rows.count);
}

static void get_members(struct summary_reader *reader, struct np_rank *rank, struct np_group *group)
{
	uint64_t count = summary_get_number(reader);
	int64_t before = 0;

	if (count == 0)
		return;
	if (--count > (uint64_t)(reader->end - reader->at)) {
		summary_refuse(reader, "a communicator has fewer members than it says");
		return;
	}
	group->members = np_arena_array(rank->arena, (size_t)count + 1, sizeof(int32_t));
	if (!group->members) {
		summary_exhaust(reader);
		return;
	}
	group->member_count = (size_t)count;
	for (size_t i = 0; i < count && !reader->problem; i++) {
		uint64_t member = (uint64_t)before + (uint64_t)summary_get_signed(reader);

		if (!fits(I32, member) || (i > 0 && (int64_t)member < before)) {
			summary_refuse(reader, "members of a communicator are out of order");
			return;
		}
		before = (int64_t)member;
		group->members[i] = (int32_t)before;
	}
}

static void get_sums(struct summary_reader *reader, struct np_rank *rank)
{
	bool there = summary_get_at_most(reader, 1) != 0;
	struct np_kernel_sums *sums = there ? calloc(1, sizeof(*sums)) : NULL;

	if (there && !sums)
		summary_exhaust(reader);
	if (!sums)
		return;
	rank->kernel_sums = sums;
	for (size_t i = 0; i < NP_COUNT(sum_tables) && !reader->problem; i++)
		get_table(reader, &sum_tables[i], sums, rank);
	for (size_t i = 0; i < NP_COUNT(sums_fields) && !reader->problem; i++)
		get_column(reader, &sums_fields[i], (char *)sums, 1, sizeof(*sums), rank);
	for (size_t i = 0; i < sums->sums.count && !reader->problem; i++) {
		if (sums->sums.item[i].sort >= sums->sorts.count)
			summary_refuse(reader, "kernels in it are of no sort");
	}
}

/* --- does it hold together? ----------------------------------------------------------------------
 */

static bool ops_are_sorted(const struct np_rank *rank)
{
	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		if (i > 0 && op->start < op[-1].start)
			return false;
		if (op->start != NP_UNKNOWN && op->end != NP_UNKNOWN && op->end < op->start)
			return false;
	}
	if (rank->vendor_times.count > rank->ops.count)
		return false;
	for (size_t i = 1; i < rank->bands.count; i++) {
		if (rank->bands.item[i].op < rank->bands.item[i - 1].op)
			return false;
	}
	return true;
}

/* Segments and exposed pieces lie in their cells; one segment more ends the last cell. */
static bool cell_is_whole(const struct np_activity *activity, const struct np_activity_cell *cell)
{
	if ((uint64_t)cell->first_segment + cell->segments > activity->segments.count ||
	    (uint64_t)cell->first_exposed + cell->exposed > activity->exposed.count)
		return false;
	return cell->segments == 0 ||
	       (uint64_t)cell->first_segment + cell->segments < activity->segments.count;
}

static bool activity_is_whole(const struct np_rank *rank)
{
	const struct np_activity *activity = &rank->activity;

	if (activity->cells.count > 0 && activity->cells.count != rank->times.count)
		return false;
	for (size_t i = 0; i < activity->cells.count; i++) {
		if (!cell_is_whole(activity, &activity->cells.item[i]))
			return false;
	}
	for (size_t i = 0; i < activity->segments.count; i++) {
		uint32_t first = activity->segments.item[i].first;

		if (first > activity->shares.count ||
		    (i > 0 && first < activity->segments.item[i - 1].first))
			return false;
	}
	return true;
}

void summary_get_rank(struct summary_reader *reader, struct np_rank *rank)
{
	for (size_t i = 0; i < NP_COUNT(rank_fields); i++)
		get_column(reader, &rank_fields[i], (char *)rank, 1, sizeof(*rank), rank);
	for (size_t i = 0; i < NP_COUNT(tables) && !reader->problem; i++)
		get_table(reader, &tables[i], rank, rank);
	for (size_t i = 0; i < rank->groups.count && !reader->problem; i++)
		get_members(reader, rank, &rank->groups.item[i]);
	get_sums(reader, rank);
	if (reader->problem)
		return;
	if (!ops_are_sorted(rank))
		summary_refuse(reader, "operators in it are out of order");
	else if (!activity_is_whole(rank))
		summary_refuse(reader, "its intervals do not fit its steps");
}
