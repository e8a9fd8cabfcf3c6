/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ngram(source, min, max, least[, breaks]) finds sequences that repeat.
 *
 * Sequences of min … max keys that follow each other at least `least` times.
 * The source is a SELECT that gives, in the order of the rows: a partition, a
 * start, an end, a key, whether the row breaks sequences, and up to four numbers
 * to add up. Instead of one key it may have several columns whose names begin with
 * "key", wherever they stand; and instead of telling of each row whether it breaks,
 * it may leave that to `breaks`, a SELECT of the numbers of such rows. A sequence is given once,
 * with its first row, how often it occurs (without overlaps with itself), the time from its first
 * start to its last end and the sums, over all these occurrences. One that only ever occurs inside
 * of one longer sequence of at most max keys is left out for that one.
 *
 * A sequence of length n + 1 is one of length n and a key: each length is found
 * from the one before in one pass, and only where that occurred often enough.
 */
#include "sql_tables.h"

#include <stdlib.h>
#include <string.h>

#include "npuprof/map.h"
#include "npuprof/strtab.h"

#define SUMS      4U
#define NO_GROUP  UINT32_MAX
#define MAX_KEYS  64
#define KEY_PARTS 4U

struct ngram_row {
	uint32_t part;
	uint32_t key; /* or NO_GROUP for one that breaks */
	np_ns begin;
	np_ns end;
	double sum[SUMS];
};

struct ngram_group {
	uint32_t prefix; /* of the group one shorter */
	uint32_t last;   /* key */
	uint32_t first_row;
	uint32_t windows; /* counting overlaps */
	uint32_t suffix;  /* group one shorter without the first key */
	uint32_t count;
	uint32_t free_from; /* the next row that belongs to no counted occurrence */
	np_ns wall;
	double sum[SUMS];
	bool open; /* a longer one occurs as often */
};

struct group_list {
	struct ngram_group *item;
	size_t count;
	size_t capacity;
};

struct miner {
	struct adv_sql *sql;
	NP_VEC(struct ngram_row) rows;
	struct group_list groups;   /* of the present length */
	struct group_list previous; /* of one shorter */
	uint32_t *of_row;           /* group of the window that begins at a row */
	uint32_t *of_row_before;
	struct np_map by_keys; /* → groups */
	uint32_t least;
};

static void release(struct miner *miner)
{
	np_vec_release(&miner->rows);
	np_vec_release(&miner->groups);
	np_vec_release(&miner->previous);
	free(miner->of_row);
	free(miner->of_row_before);
	np_map_release(&miner->by_keys);
}

/* Reading of the source. */
struct ngram_reader {
	struct adv_sql_source source;
	struct np_strtab *texts;
	struct np_numbers addresses; /* of texts that last: their numbers */
	struct np_numbers pairs;     /* numbers of two parts of a key: number of both */
	size_t key[KEY_PARTS];
	size_t key_count;
	size_t other[3 + SUMS + 1]; /* partition, start, end, break, numbers */
	size_t other_count;
	size_t first_sum; /* in `other` */
	bool has_part;    /* the last row had this number as its partition */
	int64_t part;
	uint32_t part_number;
};

static void reader_release(struct ngram_reader *reader)
{
	adv_sql_source_close(&reader->source);
	np_strtab_free(reader->texts);
	np_numbers_release(&reader->addresses);
	np_numbers_release(&reader->pairs);
}

/* Texts of a view stay where they are, and are mostly the same few. */
static uint32_t intern_text(struct ngram_reader *reader, struct np_cell cell, struct np_err *err)
{
	uint64_t address = (uintptr_t)cell.text.bytes ^ (uint64_t)cell.text.length << 48;
	bool lasting = reader->source.view != NULL;
	np_str id = lasting ? np_numbers_get(&reader->addresses, address) : NO_GROUP;

	if (id != NO_GROUP)
		return id;
	if (np_strtab_add(reader->texts, cell.text.bytes, cell.text.length, &id, err) < 0 ||
	    (lasting && np_numbers_add(&reader->addresses, address, id, err) < 0))
		return NO_GROUP;
	return id;
}

/* A number for a value: the same for the same one; NO_GROUP without memory. */
static uint32_t intern(struct ngram_reader *reader, struct np_cell cell, struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	np_str id = NO_GROUP;
	int rc;

	if (cell.type == NP_CELL_TEXT)
		return intern_text(reader, cell, err);
	adv_cell_format(&text, &cell);
	rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		rc = np_strtab_add(reader->texts, text.text, text.length, &id, err);
	np_buf_release(&text);
	return rc == NP_OK ? id : NO_GROUP;
}

/* A number for two numbers. */
static uint32_t pair(struct ngram_reader *reader, uint32_t a, uint32_t b, struct np_err *err)
{
	uint64_t both = (uint64_t)a << 32 | b;
	uint32_t id = np_numbers_get(&reader->pairs, both);

	if (id != NP_MAP_NONE)
		return id;
	id = (uint32_t)reader->pairs.list.count;
	return np_numbers_add(&reader->pairs, both, id, err) < 0 ? NO_GROUP : id;
}

static uint32_t key_of(struct ngram_reader *reader, struct np_err *err)
{
	uint32_t key = intern(reader, adv_sql_source_cell(&reader->source, reader->key[0]), err);

	for (size_t i = 1; i < reader->key_count && key != NO_GROUP; i++) {
		uint32_t part =
			intern(reader, adv_sql_source_cell(&reader->source, reader->key[i]), err);

		key = part == NO_GROUP ? NO_GROUP : pair(reader, key, part, err);
	}
	return key;
}

/* Rows mostly belong to the partition of the row before. */
static uint32_t part_of(struct ngram_reader *reader, struct np_err *err)
{
	struct np_cell part = adv_sql_source_cell(&reader->source, reader->other[0]);

	if (reader->has_part && part.type == NP_CELL_INTEGER && part.integer == reader->part)
		return reader->part_number;
	reader->has_part = part.type == NP_CELL_INTEGER;
	reader->part = reader->has_part ? part.integer : 0;
	reader->part_number = intern(reader, part, err);
	return reader->part_number;
}

static int read_row(struct ngram_reader *reader, struct ngram_row *row, struct np_err *err)
{
	const struct adv_sql_source *source = &reader->source;
	struct np_cell begin = adv_sql_source_cell(source, reader->other[1]);
	struct np_cell end = adv_sql_source_cell(source, reader->other[2]);

	row->part = part_of(reader, err);
	row->key = key_of(reader, err);
	if (row->part == NO_GROUP || row->key == NO_GROUP)
		return NP_E_NOMEM;
	if (reader->first_sum == 4) {
		struct np_cell breaks = adv_sql_source_cell(source, reader->other[3]);
		double number = 0;

		if (adv_cell_number(&breaks, &number) && number != 0)
			row->key = NO_GROUP;
	}
	row->begin = begin.type == NP_CELL_INTEGER ? begin.integer : 0;
	row->end = end.type == NP_CELL_INTEGER ? end.integer : row->begin;
	for (size_t i = 0; i < SUMS && i + reader->first_sum < reader->other_count; i++) {
		struct np_cell value =
			adv_sql_source_cell(source, reader->other[i + reader->first_sum]);

		(void)adv_cell_number(&value, &row->sum[i]);
	}
	return NP_OK;
}

/* Which columns are the key, and which are the others. */
static int find_columns(struct ngram_reader *reader, bool has_break, struct np_err *err)
{
	const struct adv_sql_source *source = &reader->source;
	bool named = false;

	for (size_t i = 0; i < source->count; i++)
		named = named || strncasecmp(source->name[i], "key", 3) == 0;
	for (size_t i = 0; i < source->count; i++) {
		bool key = named ? strncasecmp(source->name[i], "key", 3) == 0 : i == 3;

		if (key && reader->key_count < KEY_PARTS)
			reader->key[reader->key_count++] = i;
		else if (!key && reader->other_count < NP_COUNT(reader->other))
			reader->other[reader->other_count++] = i;
	}
	reader->first_sum = has_break ? 4 : 3;
	if (reader->key_count == 0 || reader->other_count < reader->first_sum)
		return np_fail(err, NP_E_FORMAT,
			       "the source must give partition, start, end, key%s",
			       has_break ? " and break" : "");
	return NP_OK;
}

static int load(struct miner *miner, const char *text, bool has_break, struct np_err *err)
{
	NP_CLEANUP(reader_release) struct ngram_reader reader = { .texts = np_strtab_new() };
	int rc = reader.texts ? adv_sql_source_open(miner->sql, text, 4, &reader.source, err)
			      : np_fail_nomem(err, "keys");

	if (rc == NP_OK)
		rc = find_columns(&reader, has_break, err);
	while (rc == NP_OK && (rc = adv_sql_source_next(&reader.source, err)) > 0) {
		struct ngram_row *row = np_vec_add(&miner->rows, err);

		rc = row ? read_row(&reader, row, err) : NP_E_NOMEM;
	}
	if (rc == NP_OK && miner->rows.count >= NO_GROUP)
		rc = np_fail(err, NP_E_RANGE, "too many rows");
	return rc;
}

/* The rows that break sequences, by their numbers in the source. */
static int load_breaks(struct miner *miner, const char *text, struct np_err *err)
{
	NP_CLEANUP(adv_sql_source_close) struct adv_sql_source source = { .stmt = NULL };
	int rc = adv_sql_source_open(miner->sql, text, 1, &source, err);

	while (rc == NP_OK && (rc = adv_sql_source_next(&source, err)) > 0) {
		struct np_cell row = adv_sql_source_cell(&source, 0);

		rc = NP_OK;
		if (row.type == NP_CELL_INTEGER && row.integer >= 0 &&
		    (uint64_t)row.integer < miner->rows.count)
			miner->rows.item[row.integer].key = NO_GROUP;
	}
	return rc;
}

static int set_up(struct miner *miner, struct np_err *err)
{
	size_t count = miner->rows.count + 1;

	miner->of_row = malloc(count * sizeof(uint32_t));
	miner->of_row_before = malloc(count * sizeof(uint32_t));
	if (!miner->of_row || !miner->of_row_before)
		return np_fail_nomem(err, "sequences");
	return NP_OK;
}

/* A group that is looked for. */
struct ngram_wanted {
	const struct ngram_group *groups;
	uint32_t prefix;
	uint32_t last;
};

static bool is_wanted(const void *what, uint32_t index)
{
	const struct ngram_wanted *wanted = what;

	return wanted->groups[index].prefix == wanted->prefix &&
	       wanted->groups[index].last == wanted->last;
}

/* The group that is `prefix` and then `last`, added if it is new. */
static struct ngram_group *find_group(struct miner *miner, uint32_t prefix, uint32_t last,
				      uint32_t suffix, size_t row, struct np_err *err)
{
	const struct ngram_wanted wanted = { miner->groups.item, prefix, last };
	uint64_t hash = (uint64_t)prefix << 32 | last;
	uint32_t found = np_map_find(&miner->by_keys, hash, is_wanted, &wanted);
	struct ngram_group *group;

	if (found != NP_MAP_NONE)
		return &miner->groups.item[found];
	group = np_vec_add(&miner->groups, err);
	if (!group ||
	    np_map_add(&miner->by_keys, hash, (uint32_t)(miner->groups.count - 1), err) < 0)
		return NULL;
	*group = (struct ngram_group){
		.prefix = prefix, .last = last, .first_row = (uint32_t)row, .suffix = suffix
	};
	return group;
}

/* One more window of the group begins at `row`. */
static void count_window(const struct miner *miner, struct ngram_group *group, size_t row,
			 size_t length)
{
	const struct ngram_row *rows = &miner->rows.item[row];

	group->windows++;
	if (row < group->free_from)
		return;
	group->free_from = (uint32_t)(row + length);
	group->count++;
	group->wall += rows[length - 1].end - rows[0].begin;
	for (size_t i = 0; i < length; i++) {
		for (size_t s = 0; s < SUMS; s++)
			group->sum[s] += rows[i].sum[s];
	}
}

/* Windows that may not be counted: they break, leave the partition, or began as too rare ones. */
static bool possible(const struct miner *miner, size_t row, size_t length)
{
	const struct ngram_row *first = &miner->rows.item[row];
	const struct ngram_row *last;

	if (row + length > miner->rows.count)
		return false;
	last = first + length - 1;
	if (last->part != first->part || last->key == NO_GROUP)
		return false;
	if (length == 1)
		return true;
	for (size_t i = 0; i < 2; i++) {
		uint32_t shorter = miner->of_row_before[row + i];

		if (shorter == NO_GROUP || miner->previous.item[shorter].windows < miner->least)
			return false;
	}
	return true;
}

static int count_length(struct miner *miner, size_t length, struct np_err *err)
{
	np_map_clear(&miner->by_keys);
	miner->groups.count = 0;
	for (size_t row = 0; row < miner->rows.count; row++) {
		bool first = length == 1;
		struct ngram_group *group;

		miner->of_row[row] = NO_GROUP;
		if (!possible(miner, row, length))
			continue;
		group = find_group(miner, first ? 0 : miner->of_row_before[row],
				   miner->rows.item[row + length - 1].key,
				   first ? 0 : miner->of_row_before[row + 1], row, err);
		if (!group)
			return NP_E_NOMEM;
		miner->of_row[row] = (uint32_t)(group - miner->groups.item);
		count_window(miner, group, row, length);
		if ((row & 0xfff) == 0 && adv_sql_late(miner->sql))
			return np_fail(err, NP_E_RANGE, "out of time");
	}
	/* What occurs only inside of something longer says nothing of its own. */
	for (size_t i = 0; length > 1 && i < miner->groups.count; i++) {
		const struct ngram_group *longer = &miner->groups.item[i];

		if (longer->windows == miner->previous.item[longer->prefix].windows)
			miner->previous.item[longer->prefix].open = true;
		if (longer->windows == miner->previous.item[longer->suffix].windows)
			miner->previous.item[longer->suffix].open = true;
	}
	return NP_OK;
}

static int give_groups(const struct miner *miner, size_t length, struct adv_rows *rows,
		       struct np_err *err)
{
	for (size_t i = 0; i < miner->previous.count; i++) {
		const struct ngram_group *group = &miner->previous.item[i];
		int rc;

		if (group->open || group->count < miner->least)
			continue;
		rc = adv_rows_add(
			rows,
			(struct np_cell[]){
				np_cell_integer(group->first_row), np_cell_integer((int64_t)length),
				np_cell_integer(group->count), np_cell_integer(group->wall),
				np_cell_real(group->sum[0]), np_cell_real(group->sum[1]),
				np_cell_real(group->sum[2]), np_cell_real(group->sum[3]) },
			err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static void keep_as_previous(struct miner *miner)
{
	struct group_list groups = miner->groups;
	uint32_t *of_row = miner->of_row;

	miner->groups = miner->previous;
	miner->previous = groups;
	miner->of_row = miner->of_row_before;
	miner->of_row_before = of_row;
}

static int mine(struct miner *miner, size_t min, size_t max, struct adv_rows *rows,
		struct np_err *err)
{
	int rc = NP_OK;

	for (size_t length = 1; length <= max && rc == NP_OK; length++) {
		rc = count_length(miner, length, err);
		if (rc == NP_OK && length > min)
			rc = give_groups(miner, length - 1, rows, err);
		keep_as_previous(miner);
	}
	/* Those of the largest length stand for anything longer that they are inside of. */
	return rc == NP_OK ? give_groups(miner, max, rows, err) : rc;
}

static int compute(struct adv_sql *sql, sqlite3_value **arguments, struct adv_rows *rows,
		   struct np_err *err)
{
	struct miner miner = { .sql = sql };
	const char *source = NULL;
	const char *breaks = NULL;
	sqlite3_int64 min = sqlite3_value_int64(arguments[1]);
	sqlite3_int64 max = sqlite3_value_int64(arguments[2]);
	sqlite3_int64 least = sqlite3_value_int64(arguments[3]);
	int rc = adv_sql_text_argument(arguments[0], "source", &source, err);

	if (rc == NP_OK &&
	    (min < 1 || max < min || max > MAX_KEYS || least < 2 || least > INT32_MAX))
		rc = np_fail(err, NP_E_FORMAT,
			     "the lengths must be from 1 to %d and the least count at least 2",
			     MAX_KEYS);
	if (rc == NP_OK && arguments[4])
		rc = adv_sql_text_argument(arguments[4], "breaks", &breaks, err);
	if (rc == NP_OK) {
		miner.least = (uint32_t)least;
		rc = load(&miner, source, !breaks, err);
	}
	if (rc == NP_OK && breaks)
		rc = load_breaks(&miner, breaks, err);
	if (rc == NP_OK)
		rc = set_up(&miner, err);
	if (rc == NP_OK)
		rc = mine(&miner, (size_t)min, (size_t)max, rows, err);
	release(&miner);
	return rc;
}

int adv_sql_add_ngrams(struct adv_sql *sql)
{
	static const char *const names[] = { "first_row", "length", "count", "wall_ns",
					     "s1",        "s2",     "s3",    "s4" };
	static const struct adv_sql_table table = {
		.name = "ngram",
		.declaration =
			"CREATE TABLE x(first_row, length, count, wall_ns, s1, s2, s3, s4,"
			" source HIDDEN, min HIDDEN, max HIDDEN, least HIDDEN, breaks HIDDEN)",
		.result_columns = NP_COUNT(names),
		.arguments = 5,
		.needed = 4,
		.compute = compute,
		.result_names = names,
	};

	return adv_sql_add_table(sql, &table);
}
