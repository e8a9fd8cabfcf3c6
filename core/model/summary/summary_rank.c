/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the tables of a rank into bytes column by column, and reads them back. */
#include "summary_schema.h"

#include "npuprof/activity.h"
#include "npuprof/kernel_sums.h"
#include "npuprof/rank.h"

#include <assert.h>

/*
 * Tables of a rank, column by column
 * ----------------------------------
 *
 * A column is the difference of each value from the one above it, or from
 * another value of its row: ends stand near their starts, and what hardly
 * changes takes a byte. Differences wrap around, so NP_UNKNOWN needs no care.
 */

#define LEAF_KIND_BITS (32 - NP_LEAF_BITS)

static struct summary_vector vector_of(const void *base, const struct summary_table *table)
{
	struct summary_vector vector;

	memcpy(&vector, (const char *)base + table->offset, sizeof(vector));
	return vector;
}

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

/* The number of a string within the summary. */
static uint32_t summary_number(struct summary_writer *writer, np_str string)
{
	uint32_t number;
	np_str *slot;

	if (string == NP_STR_NONE || writer->out.failed)
		return 0;
	number = np_idmap_get(writer->numbers, string);
	if (number != NP_IDMAP_NONE)
		return number;
	slot = np_vec_add(&writer->used, NULL);
	if (!slot) {
		writer->out.failed = true;
		return 0;
	}
	*slot = string;
	number = (uint32_t)writer->used.count;
	if (np_idmap_set(writer->numbers, string, number, NULL) < 0)
		writer->out.failed = true;
	return number;
}

/* The types of a leaf are strings. Its kind goes into the lowest bits: neighbours are alike. */
static uint64_t portable_leaf(struct summary_writer *writer, np_leaf leaf)
{
	uint32_t of = np_leaf_of(leaf);

	if (np_leaf_kind(leaf) == NP_LEAF_COMPUTE && of != NP_LEAF_NOBODY)
		of = summary_number(writer, of);
	return (uint64_t)of << LEAF_KIND_BITS | np_leaf_kind(leaf);
}

static uint64_t value_of(struct summary_writer *writer, const struct summary_field *field,
			 const char *at)
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

static void put_column(struct summary_writer *writer, const struct summary_field *field,
		       const char *rows, size_t count, size_t row_bytes)
{
	uint64_t before = 0;

	for (size_t i = 0; i < count; i++) {
		const char *row = rows + i * row_bytes;
		uint64_t value = value_of(writer, field, row + field->offset);

		if (field->base != NO_BASE)
			before = (uint64_t)get_i64(row + field->base);
		np_bytes_put_signed(&writer->out, (int64_t)(value - before));
		before = value;
	}
}

static void put_table(struct summary_writer *writer, const struct summary_table *table,
		      const void *base)
{
	struct summary_vector rows = vector_of(base, table);

	np_bytes_put_number(&writer->out, rows.count);
	for (size_t i = 0; i < table->field_count; i++)
		put_column(writer, &table->fields[i], rows.item, rows.count, table->row_bytes);
	for (size_t i = 0; table->flags && i < rows.count; i++)
		np_bytes_put_number(&writer->out,
				    table->flags((const char *)rows.item + i * table->row_bytes));
}

/* As runs of equal steps: every rank names all members of all its communicators. */
static void put_members(struct summary_writer *writer, const struct np_group *group)
{
	struct np_member_runs *runs = &writer->runs;
	int64_t before = 0;

	np_bytes_put_number(&writer->out, group->members != NULL);
	if (!group->members)
		return;
	if (members_to_runs(group->members, group->member_count, runs, NULL) < 0) {
		writer->out.failed = true;
		return;
	}
	np_bytes_put_number(&writer->out, runs->list.count);
	for (size_t i = 0; i < runs->list.count; i++) {
		const struct np_list_run *run = &runs->list.item[i];

		np_bytes_put_signed(&writer->out, run->first - before);
		np_bytes_put_number(&writer->out, (uint64_t)run->step);
		np_bytes_put_number(&writer->out, run->count);
		before = run->first;
	}
}

static void put_sums(struct summary_writer *writer, const struct np_kernel_sums *sums)
{
	const struct summary_schema *schema = &summary_of_sums;

	np_bytes_put_number(&writer->out, sums != NULL);
	for (size_t i = 0; sums && i < schema->table_count; i++)
		put_table(writer, &schema->tables[i], sums);
	for (size_t i = 0; sums && i < schema->field_count; i++)
		put_column(writer, &schema->fields[i], (const char *)sums, 1, sizeof(*sums));
}

void summary_put_rank(struct summary_writer *writer, const struct np_rank *rank)
{
	const struct summary_schema *schema = &summary_of_rank;

	for (size_t i = 0; i < schema->field_count; i++)
		put_column(writer, &schema->fields[i], (const char *)rank, 1, sizeof(*rank));
	for (size_t i = 0; i < schema->table_count; i++)
		put_table(writer, &schema->tables[i], rank);
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
		return value <= NP_FROM_MARKS;
	case STEPS_FROM:
		return value < NP_STEPS_FROM_COUNT;
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
		np_bytes_refuse(&reader->in, "a leaf in it is of nothing");
	return np_leaf_make(kind, of);
}

static np_str own_text(struct summary_reader *reader, uint64_t number)
{
	if (number < reader->text_count)
		return reader->texts[number];
	np_bytes_refuse(&reader->in, "a text in it is not there");
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

static void set_value(struct summary_reader *reader, const struct summary_field *field, char *at,
		      uint64_t value, const struct np_rank *rank)
{
	enum type type = field->type;
	uint32_t word = (uint32_t)value;
	uint16_t half = (uint16_t)value;

	if (!fits(type, value) || !is_within(field->limit, value, rank)) {
		np_bytes_refuse(&reader->in, "a value in it is out of range");
		return;
	}
	if (type == TEXT)
		word = own_text(reader, value);
	if (type == LEAF)
		word = own_leaf(reader, rank, value);
	if (type == I64 || type == U64 || type == REAL)
		memcpy(at, &value, sizeof(value));
	else if (type == U16)
		memcpy(at, &half, sizeof(half));
	else if (type == I8 || type == U8 || type == BOOL)
		*at = (char)value;
	else
		memcpy(at, &word, sizeof(word));
}

static void get_column(struct summary_reader *reader, const struct summary_field *field, char *rows,
		       size_t count, size_t row_bytes, const struct np_rank *rank)
{
	uint64_t before = 0;

	for (size_t i = 0; i < count && !reader->in.problem; i++) {
		char *row = rows + i * row_bytes;
		uint64_t value;

		if (field->base != NO_BASE)
			before = (uint64_t)get_i64(row + field->base);
		value = before + (uint64_t)np_bytes_get_signed(&reader->in);
		set_value(reader, field, row + field->offset, value, rank);
		before = value;
	}
}

static void get_flags(struct summary_reader *reader, const struct summary_table *table, char *rows,
		      size_t count)
{
	for (size_t i = 0; i < count && !reader->in.problem; i++)
		table->set_flags(rows + i * table->row_bytes,
				 (uint8_t)np_bytes_get_at_most(&reader->in, UINT8_MAX));
}

static void get_table(struct summary_reader *reader, const struct summary_table *table, void *base,
		      const struct np_rank *rank)
{
	uint64_t count = np_bytes_get_number(&reader->in);
	struct summary_vector rows = { 0 };

	/* Every value takes a byte: a count that lies cannot take more memory than that. */
	if (count > np_bytes_left(&reader->in) / table->field_count) {
		np_bytes_refuse(&reader->in, "it has fewer rows than it says");
		return;
	}
	if (count == 0)
		return;
	rows.item = calloc((size_t)count, table->row_bytes);
	if (!rows.item) {
		np_bytes_exhaust(&reader->in);
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

/* --- what only tables show -----------------------------------------------------------------------
 */

/* Vectors that were passed over, in their order. */
struct summary_passed {
	const struct summary_table *table;
	const uint8_t *at;
	uint64_t rows;
};

#define MOST_PASSED 3

struct summary_pass {
	struct summary_passed list[MOST_PASSED];
	size_t count;
};

static void pass_table(struct summary_reader *reader, const struct summary_table *table,
		       struct summary_pass *pass)
{
	struct summary_passed *passed = &pass->list[pass->count++];

	assert(pass->count <= MOST_PASSED && !table->flags);
	*passed = (struct summary_passed){ .table = table, .at = reader->in.at };
	passed->rows = np_bytes_get_number(&reader->in);
	if (passed->rows > np_bytes_left(&reader->in) / table->field_count)
		np_bytes_refuse(&reader->in, "it has fewer rows than it says");
	np_bytes_skip_numbers(&reader->in, passed->rows * table->field_count);
}

/* Now that all else is there: what was passed over is only counted, unless it is needed. */
static void settle_passed(struct summary_reader *reader, struct np_rank *rank,
			  const struct summary_pass *pass)
{
	const uint8_t *at = reader->in.at;
	size_t bands = 0;

	if (np_rank_only_shows_rows(rank)) {
		for (size_t i = 0; i < pass->count; i++) {
			if (pass->list[i].table->offset == offsetof(struct np_rank, bands))
				bands = (size_t)pass->list[i].rows;
		}
		if (np_rank_count_rows(rank, bands, NULL) < 0)
			np_bytes_exhaust(&reader->in);
		return;
	}
	for (size_t i = 0; i < pass->count && !reader->in.problem; i++) {
		reader->in.at = pass->list[i].at;
		get_table(reader, pass->list[i].table, rank, rank);
	}
	if (!reader->in.problem)
		reader->in.at = at;
}

/* The next run, behind the one that ends at `last`. */
static bool get_run(struct summary_reader *reader, int64_t before, int64_t last,
		    struct np_list_run *ret)
{
	uint64_t first = (uint64_t)before + (uint64_t)np_bytes_get_signed(&reader->in);
	uint64_t step = np_bytes_get_at_most(&reader->in, INT32_MAX);
	uint64_t count = np_bytes_get_at_most(&reader->in, NP_LIST_MOST);

	if (reader->in.problem || count == 0 || !fits(I32, first) || (int64_t)first < last ||
	    !fits(I32, first + step * (count - 1))) {
		np_bytes_refuse(&reader->in, "members of a communicator are out of order");
		return false;
	}
	*ret = (struct np_list_run){ (int32_t)first, (int32_t)step, (uint32_t)count };
	return true;
}

static void get_members(struct summary_reader *reader, struct np_group *group)
{
	bool known = np_bytes_get_at_most(&reader->in, 1) != 0;
	uint64_t count = known ? np_bytes_get_number(&reader->in) : 0;
	int64_t before = 0;
	int64_t last = INT32_MIN;
	uint64_t members = 0;

	if (!known || reader->in.problem)
		return;
	if (count > np_bytes_left(&reader->in)) {
		np_bytes_refuse(&reader->in, "a communicator has fewer members than it says");
		return;
	}
	reader->runs.list.count = 0;
	for (uint64_t i = 0; i < count; i++) {
		struct np_list_run *run = np_vec_add(&reader->runs.list, NULL);

		if (!run) {
			np_bytes_exhaust(&reader->in);
			return;
		}
		if (!get_run(reader, before, last, run))
			return;
		before = run->first;
		last = run->first + (int64_t)run->step * (run->count - 1);
		members += run->count;
	}
	if (members > NP_LIST_MOST)
		np_bytes_refuse(&reader->in, "a communicator has more members than a job can have");
	else if (np_strtab_list(reader->strings, reader->runs.list.item, reader->runs.list.count,
				&group->members, &group->member_count, NULL) < 0)
		np_bytes_exhaust(&reader->in);
}

static void get_sums(struct summary_reader *reader, struct np_rank *rank)
{
	const struct summary_schema *schema = &summary_of_sums;
	bool there = np_bytes_get_at_most(&reader->in, 1) != 0;
	struct np_kernel_sums *sums = there ? calloc(1, sizeof(*sums)) : NULL;

	if (there && !sums)
		np_bytes_exhaust(&reader->in);
	if (!sums)
		return;
	rank->kernel_sums = sums;
	for (size_t i = 0; i < schema->table_count && !reader->in.problem; i++)
		get_table(reader, &schema->tables[i], sums, rank);
	for (size_t i = 0; i < schema->field_count && !reader->in.problem; i++)
		get_column(reader, &schema->fields[i], (char *)sums, 1, sizeof(*sums), rank);
	for (size_t i = 0; i < sums->sums.count && !reader->in.problem; i++) {
		if (sums->sums.item[i].sort >= sums->sorts.count)
			np_bytes_refuse(&reader->in, "kernels in it are of no sort");
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
	const struct summary_schema *schema = &summary_of_rank;
	struct summary_pass pass = { 0 };

	for (size_t i = 0; i < schema->field_count; i++)
		get_column(reader, &schema->fields[i], (char *)rank, 1, sizeof(*rank), rank);
	for (size_t i = 0; i < schema->table_count && !reader->in.problem; i++) {
		if (reader->count_rows && schema->tables[i].shown)
			pass_table(reader, &schema->tables[i], &pass);
		else
			get_table(reader, &schema->tables[i], rank, rank);
	}
	for (size_t i = 0; i < rank->groups.count && !reader->in.problem; i++)
		get_members(reader, &rank->groups.item[i]);
	get_sums(reader, rank);
	if (!reader->in.problem && pass.count > 0)
		settle_passed(reader, rank, &pass);
	if (reader->in.problem)
		return;
	if (!ops_are_sorted(rank))
		np_bytes_refuse(&reader->in, "operators in it are out of order");
	else if (!activity_is_whole(rank))
		np_bytes_refuse(&reader->in, "its intervals do not fit its steps");
}
