/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: what the schema says about a table, the row engine, texts and reals of either engine. */
#include "npuprof/scan.h"

#include "core/format/db/db_private.h"
#include "scan_private.h"

#include "npuprof/text.h"

#include <assert.h>
#include <math.h>
#include <strings.h>

/* --- texts of the batch ---------------------------------------------------------------------- */

void np_scan_keep_text(struct np_scan *scan, struct np_scan_slot *slot, size_t row,
		       const char *bytes, size_t length)
{
	slot->texts[row] = bytes ? scan->texts.length + 1 : 0;
	slot->values.text[row].length = bytes ? length : 0;
	if (!bytes)
		return;
	np_buf_add_bytes(&scan->texts, bytes, length);
	np_buf_add_char(&scan->texts, '\0');
}

/*
 * Reals as text: how many digits SQLite writes has changed between its versions,
 * so the page engine lets a statement hand back what it is given.
 */
static int prepare(struct np_scan *scan, struct np_err *err)
{
	sqlite3 *handle = np_db_handle(scan->db);
	int rc;

	if (scan->convert) {
		(void)sqlite3_reset(scan->convert);
		return NP_OK;
	}
	rc = sqlite3_prepare_v2(handle, "SELECT ?1", -1, &scan->convert, NULL);
	return rc == SQLITE_OK ? NP_OK : np_db_fail(handle, rc, np_db_path(scan->db), err);
}

/* Run it after `bound`, the result of binding the value. */
static int run(struct np_scan *scan, int bound, struct np_err *err)
{
	int rc = bound == SQLITE_OK ? sqlite3_step(scan->convert) : bound;

	if (rc == SQLITE_ROW)
		return NP_OK;
	return np_db_fail(np_db_handle(scan->db), rc, np_db_path(scan->db), err);
}

int np_scan_text_of_real(struct np_scan *scan, struct np_scan_slot *slot, size_t row, double value,
			 struct np_err *err)
{
	int rc = prepare(scan, err);

	if (rc == NP_OK)
		rc = run(scan, sqlite3_bind_double(scan->convert, 1, value), err);
	if (rc == NP_OK)
		np_scan_keep_text(scan, slot, row,
				  (const char *)sqlite3_column_text(scan->convert, 0),
				  (size_t)sqlite3_column_bytes(scan->convert, 0));
	return rc;
}

double np_scan_real_of_text(const char *bytes, size_t length)
{
	char text[64];
	char *end;
	double value;

	/* No number is longer, and strtod() needs an end. */
	if (length == 0 || length >= sizeof(text))
		return (double)NAN;
	memcpy(text, bytes, length);
	text[length] = '\0';
	/* What strtod() knows beyond decimal numbers: infinities, NaN, hexadecimal. */
	if (text[strspn(text, "+-.0123456789eE \t\r\n")] != '\0')
		return (double)NAN;
	value = strtod(text, &end);
	if (end == text || end[strspn(end, " \t\r\n")] != '\0')
		return (double)NAN;
	return value;
}

/* --- the row engine: SQLite steps through the table ------------------------------------------ */

/*
 * Rows of a view, and texts that a default or an expression gives, need not be in
 * the file. What a scan gives is bounded by the file's size all the same: a row of
 * a table has some bytes, and its smallest values become texts of twenty.
 */
#define GIVEN_BASE     1000000
#define GIVEN_PER_BYTE 32
#define GIVEN_PER_ROW  8

static int rows_open(struct np_scan *scan, const char *table, bool is_table, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;
	sqlite3 *handle = np_db_handle(scan->db);
	int results = 0;
	int rc;

	np_buf_add(&sql, "SELECT ");
	for (size_t i = 0; i < scan->count; i++) {
		struct np_scan_slot *slot = &scan->slot[i];

		if (!slot->present)
			continue;
		slot->result = results++;
		np_buf_printf(&sql, "%s\"%.*s\"", slot->result ? "," : "", (int)slot->name_length,
			      slot->name);
	}
	/*
	 * With no column at all the rows still count. An index that covers the
	 * columns would be scanned instead of the table, in its own order.
	 */
	np_buf_printf(&sql, "%s FROM \"%s\"%s", results ? "" : "NULL", table,
		      is_table ? " NOT INDEXED" : "");
	rc = np_buf_check(&sql, err);
	if (rc < 0)
		return rc;
	scan->budget = GIVEN_BASE + np_db_size(scan->db) * GIVEN_PER_BYTE;
	rc = sqlite3_prepare_v2(handle, sql.text, -1, &scan->statement, NULL);
	return rc == SQLITE_OK ? NP_OK : np_db_fail(handle, rc, np_db_path(scan->db), err);
}

void np_scan_wrong_text(struct np_scan_slot *slot, const char *bytes, size_t length)
{
	static const char *const none[] = { "N/A", "NA", "NULL", "None" };
	bool is_none = length == 0;

	for (size_t i = 0; i < NP_COUNT(none) && !is_none; i++)
		is_none = strlen(none[i]) == length && memcmp(none[i], bytes, length) == 0;
	slot->wrong += !is_none;
}

/* A value that should be an integer: real ones are, some are text, and some are not there. */
static int64_t integer_value(sqlite3_stmt *statement, struct np_scan_slot *slot)
{
	int index = slot->result;
	const char *text;
	int64_t value;

	switch (sqlite3_column_type(statement, index)) {
	case SQLITE_INTEGER:
		return sqlite3_column_int64(statement, index);
	case SQLITE_FLOAT:
		value = np_double_to_scaled(sqlite3_column_double(statement, index), 1.0);
		slot->wrong += value == NP_UNKNOWN;
		return value;
	case SQLITE_TEXT:
		text = (const char *)sqlite3_column_text(statement, index);
		if (np_text_to_scaled(text, (size_t)sqlite3_column_bytes(statement, index), 0,
				      &value))
			return value;
		np_scan_wrong_text(slot, text, (size_t)sqlite3_column_bytes(statement, index));
		return NP_UNKNOWN;
	default:
		slot->wrong += sqlite3_column_type(statement, index) == SQLITE_BLOB;
		return NP_UNKNOWN;
	}
}

static double real_value(sqlite3_stmt *statement, struct np_scan_slot *slot)
{
	int index = slot->result;
	const char *text;
	double value;

	switch (sqlite3_column_type(statement, index)) {
	case SQLITE_INTEGER:
	case SQLITE_FLOAT:
		return sqlite3_column_double(statement, index);
	case SQLITE_TEXT:
		text = (const char *)sqlite3_column_text(statement, index);
		value = np_scan_real_of_text(text, (size_t)sqlite3_column_bytes(statement, index));
		if (isnan(value))
			np_scan_wrong_text(slot, text,
					   (size_t)sqlite3_column_bytes(statement, index));
		return value;
	default:
		slot->wrong += sqlite3_column_type(statement, index) == SQLITE_BLOB;
		return (double)NAN;
	}
}

static void take_text(struct np_scan *scan, struct np_scan_slot *slot, size_t row)
{
	const char *text = (const char *)sqlite3_column_text(scan->statement, slot->result);
	int length = sqlite3_column_bytes(scan->statement, slot->result);

	np_scan_keep_text(scan, slot, row, text, (size_t)length);
	scan->budget -= length;
}

static void take_row(struct np_scan *scan, size_t row)
{
	scan->budget -= GIVEN_PER_ROW;
	for (size_t i = 0; i < scan->count; i++) {
		struct np_scan_slot *slot = &scan->slot[i];

		if (!slot->present)
			continue;
		if (slot->type == NP_SCAN_INTEGER)
			slot->values.integer[row] = integer_value(scan->statement, slot);
		else if (slot->type == NP_SCAN_REAL)
			slot->values.real[row] = real_value(scan->statement, slot);
		else
			take_text(scan, slot, row);
	}
}

static int rows_skip(struct np_scan *scan, size_t rows, struct np_err *err)
{
	int rc = SQLITE_ROW;

	while (rows-- > 0 && rc == SQLITE_ROW)
		rc = sqlite3_step(scan->statement);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return np_db_fail(np_db_handle(scan->db), rc, np_db_path(scan->db), err);
	scan->ended = rc == SQLITE_DONE;
	return NP_OK;
}

static int rows_next(struct np_scan *scan, size_t *rows, struct np_err *err)
{
	int rc = SQLITE_ROW;

	*rows = 0;
	while (*rows < NP_SCAN_ROWS) {
		rc = sqlite3_step(scan->statement);
		if (rc != SQLITE_ROW)
			break;
		take_row(scan, (*rows)++);
		if (scan->budget < 0)
			return np_fail(err, NP_E_FORMAT,
				       "'%s': a table or view gives more than the file can hold",
				       np_db_path(scan->db));
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return np_db_fail(np_db_handle(scan->db), rc, np_db_path(scan->db), err);
	/* Stepping a finished statement would start it again. */
	scan->ended = rc == SQLITE_DONE;
	return NP_OK;
}

/* --- opening and reading ---------------------------------------------------------------------- */

/* What the schema says about the table. */
struct table {
	const char *name;
	bool is_table;  /* not a view */
	bool plain;     /* nothing seen yet that is not for the page engine */
	uint32_t root;  /* first page of its b-tree */
	int key_parts;  /* columns of its primary key */
	int64_t key_at; /* position of the last INTEGER column of it, or -1 */
};

static int fail(struct np_scan *scan, int code, struct np_err *err)
{
	return np_db_fail(np_db_handle(scan->db), code, np_db_path(scan->db), err);
}

/* A statement about the table. */
static int ask(struct np_scan *scan, enum np_db_question question, const struct table *table,
	       sqlite3_stmt **ret, struct np_err *err)
{
	int rc = np_db_ask(scan->db, question, table->name, ret);

	return rc == SQLITE_OK ? NP_OK : fail(scan, rc, err);
}

static int find_table(struct np_scan *scan, struct table *table, struct np_err *err)
{
	NP_CLEANUP(np_db_let_go) sqlite3_stmt *statement = NULL;
	int64_t root;
	int rc = ask(scan, NP_DB_IS_TABLE, table, &statement, err);

	if (rc < 0)
		return rc;
	rc = sqlite3_step(statement);
	if (rc == SQLITE_DONE)
		return np_fail(err, NP_E_NOTFOUND, "'%s' has no table %s", np_db_path(scan->db),
			       table->name);
	if (rc != SQLITE_ROW)
		return fail(scan, rc, err);
	table->is_table = sqlite3_column_int(statement, 0) != 0;
	/* A virtual table has none. */
	root = sqlite3_column_int64(statement, 1);
	table->plain = table->is_table && root > 0 && root <= UINT32_MAX;
	table->root = table->plain ? (uint32_t)root : 0;
	return NP_OK;
}

/* Columns of NP_DB_COLUMNS. */
enum {
	INFO_CID,
	INFO_NAME,
	INFO_TYPE,
	INFO_DEFAULT,
	INFO_KEY,
	INFO_HIDDEN,
};

/*
 * How SQLite derives REAL affinity from a declared type: "INT" anywhere makes it
 * INTEGER, "CHAR", "CLOB" or "TEXT" make it TEXT and "BLOB" none, in this order.
 */
static bool is_real_type(const char *type)
{
	static const char *const others[] = { "INT", "CHAR", "CLOB", "TEXT", "BLOB" };

	for (size_t i = 0; i < NP_COUNT(others); i++) {
		if (strcasestr(type, others[i]))
			return false;
	}
	return strcasestr(type, "REAL") || strcasestr(type, "FLOA") || strcasestr(type, "DOUB");
}

/* The place of `name` among `names` ("a|b"), or -1. */
static int rank_of(const char *names, const char *name, size_t length)
{
	int rank = 0;

	while (*names) {
		size_t size = strcspn(names, "|");

		if (size == length && memcmp(names, name, length) == 0)
			return rank;
		names += size + (names[size] == '|');
		rank++;
	}
	return -1;
}

static const char *text_of(sqlite3_stmt *statement, int index)
{
	const char *text = (const char *)sqlite3_column_text(statement, index);

	return text ? text : "";
}

static void note_column(struct table *table, sqlite3_stmt *info)
{
	/* Generated columns are not in the record, or not where their number says. */
	if (sqlite3_column_int(info, INFO_HIDDEN) != 0)
		table->plain = false;
	if (sqlite3_column_int(info, INFO_KEY) == 0)
		return;
	table->key_parts++;
	if (strcasecmp(text_of(info, INFO_TYPE), "INTEGER") == 0)
		table->key_at = sqlite3_column_int64(info, INFO_CID);
}

/* Take the column for the slot if it is asked for, unless a preferred one has been found. */
static void offer_column(struct np_scan_slot *slot, int *best, const char *names,
			 struct table *table, sqlite3_stmt *info)
{
	const char *name = text_of(info, INFO_NAME);
	size_t length = (size_t)sqlite3_column_bytes(info, INFO_NAME);
	int rank = rank_of(names, name, length);
	const char *otherwise;

	if (rank < 0 || (slot->present && *best <= rank))
		return;
	*best = rank;
	for (; rank > 0; rank--)
		names = strchr(names, '|') + 1;
	slot->present = true;
	slot->name = names;
	slot->name_length = length;
	slot->position = (uint32_t)sqlite3_column_int(info, INFO_CID);
	slot->is_real = is_real_type(text_of(info, INFO_TYPE));
	/* Rows from before ALTER TABLE ADD COLUMN do not have it and read as the default. */
	otherwise = text_of(info, INFO_DEFAULT);
	if (*otherwise && strcasecmp(otherwise, "NULL") != 0)
		table->plain = false;
}

static int find_columns(struct np_scan *scan, struct table *table,
			const struct np_scan_column *columns, struct np_err *err)
{
	NP_CLEANUP(np_db_let_go) sqlite3_stmt *info = NULL;
	int best[NP_SCAN_COLUMNS];
	int rc = ask(scan, NP_DB_COLUMNS, table, &info, err);

	if (rc < 0)
		return rc;
	while ((rc = sqlite3_step(info)) == SQLITE_ROW) {
		note_column(table, info);
		if (sqlite3_column_int(info, INFO_HIDDEN) != 0)
			continue;
		for (size_t i = 0; i < scan->count; i++)
			offer_column(&scan->slot[i], &best[i], columns[i].names, table, info);
	}
	if (rc != SQLITE_DONE)
		return fail(scan, rc, err);
	for (size_t i = 0; i < scan->count; i++) {
		if (!scan->slot[i].present && columns[i].need == NP_REQUIRED)
			return np_fail(err, NP_E_FORMAT, "'%s': table %s has no column %s",
				       np_db_path(scan->db), table->name, columns[i].names);
	}
	return NP_OK;
}

/*
 * An INTEGER PRIMARY KEY is the rowid itself. The declaration does not always
 * tell ("INTEGER PRIMARY KEY DESC" is none, for a historical reason), but any
 * other key has an index.
 */
static int find_rowid(struct np_scan *scan, struct table *table, struct np_err *err)
{
	NP_CLEANUP(np_db_let_go) sqlite3_stmt *statement = NULL;
	int rc;

	if (!table->plain || table->key_parts == 0)
		return NP_OK;
	rc = ask(scan, NP_DB_KEYS, table, &statement, err);
	if (rc < 0)
		return rc;
	rc = sqlite3_step(statement);
	if (rc != SQLITE_ROW)
		return fail(scan, rc, err);
	if (sqlite3_column_int(statement, 0) > 0)
		return NP_OK;
	if (table->key_parts > 1 || table->key_at < 0)
		table->plain = false;
	for (size_t i = 0; i < scan->count; i++)
		scan->slot[i].is_rowid =
			scan->slot[i].present && (int64_t)scan->slot[i].position == table->key_at;
	return NP_OK;
}

static int allocate(struct np_scan_slot *slot, struct np_err *err)
{
	bool is_text = slot->type == NP_SCAN_TEXT;

	/* Of a batch only what was written is read. */
	slot->values.integer = is_text ? calloc(NP_SCAN_ROWS, sizeof(struct np_scan_text))
				       : malloc(NP_SCAN_ROWS * sizeof(int64_t));
	if (is_text)
		slot->texts = calloc(NP_SCAN_ROWS, sizeof(size_t));
	if (!slot->values.integer || (is_text && !slot->texts))
		return np_fail_nomem(err, "a batch of rows");
	if (slot->present)
		return NP_OK;
	/* An absent column is unknown in every row; written once, never touched again. */
	for (size_t i = 0; i < NP_SCAN_ROWS; i++) {
		if (slot->type == NP_SCAN_INTEGER)
			slot->values.integer[i] = NP_UNKNOWN;
		else if (slot->type == NP_SCAN_REAL)
			slot->values.real[i] = (double)NAN;
	}
	return NP_OK;
}

static int open_engine(struct np_scan *scan, const struct table *table, struct np_err *err)
{
	int rc = NP_E_NOTFOUND;

	if (table->plain)
		rc = np_pages_open(scan, table->root, &scan->pages, err);
	return rc == NP_E_NOTFOUND ? rows_open(scan, table->name, table->is_table, err) : rc;
}

int np_scan_open_with(struct np_db *db, const char *table_name,
		      const struct np_scan_column *columns, size_t count,
		      enum np_scan_engine engine, struct np_scan **ret, struct np_err *err)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = calloc(1, sizeof(*scan));
	struct table table = { .name = table_name, .key_at = -1 };
	int rc;

	if (!scan)
		return np_fail_nomem(err, table_name);
	scan->db = db;
	scan->count = count;
	scan->texts = NP_BUF_INIT;
	for (size_t i = 0; i < count; i++)
		scan->slot[i].type = columns[i].type;
	rc = find_table(scan, &table, err);
	if (rc == NP_OK)
		rc = find_columns(scan, &table, columns, err);
	if (rc == NP_OK)
		rc = find_rowid(scan, &table, err);
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = *columns[i].names ? allocate(&scan->slot[i], err) : NP_OK;
	if (engine == NP_SCAN_BY_SQLITE)
		table.plain = false;
	if (rc == NP_OK)
		rc = open_engine(scan, &table, err);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(scan);
	return NP_OK;
}

int np_scan_open(struct np_db *db, const char *table, const struct np_scan_column *columns,
		 size_t count, struct np_scan **ret, struct np_err *err)
{
	return np_scan_open_with(db, table, columns, count, NP_SCAN_BY_ANY, ret, err);
}

void np_scan_close(struct np_scan *scan)
{
	if (!scan)
		return;
	np_pages_close(scan->pages);
	(void)sqlite3_finalize(scan->statement);
	(void)sqlite3_finalize(scan->convert);
	for (size_t i = 0; i < scan->count; i++) {
		free(scan->slot[i].values.integer);
		free(scan->slot[i].texts);
	}
	np_buf_release(&scan->texts);
	free(scan);
}

void np_scan_closep(struct np_scan **scan)
{
	np_scan_close(*scan);
	*scan = NULL;
}

bool np_scan_has(const struct np_scan *scan, size_t column)
{
	return scan->slot[column].present;
}

size_t np_scan_wrong(const struct np_scan *scan, size_t column)
{
	return scan->slot[column].wrong;
}

bool np_scan_reads_pages(const struct np_scan *scan)
{
	return scan->pages != NULL;
}

/* The buffer stays where it is now: say where the texts are. */
static void point_to_texts(const struct np_scan *scan, struct np_scan_slot *slot, size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		size_t offset = slot->texts[i];

		slot->values.text[i].bytes = offset ? scan->texts.text + (offset - 1) : NULL;
	}
}

size_t np_scan_about(const struct np_scan *scan)
{
	return scan->pages ? np_pages_about(scan->pages) : 0;
}

int np_scan_next(struct np_scan *scan, struct np_batch *ret, struct np_err *err)
{
	size_t rows = 0;
	int rc = NP_OK;

	np_buf_clear(&scan->texts);
	if (!scan->ended)
		rc = scan->pages ? np_pages_next(scan->pages, &rows, err)
				 : rows_next(scan, &rows, err);
	if (rc == NP_OK)
		rc = np_buf_check(&scan->texts, err);
	if (rc < 0)
		return rc;
	scan->before = scan->passed;
	scan->passed += rows;
	ret->rows = rows;
	for (size_t i = 0; i < scan->count; i++) {
		if (scan->slot[i].texts)
			point_to_texts(scan, &scan->slot[i], rows);
		ret->column[i].integer = scan->slot[i].values.integer;
	}
	return NP_OK;
}

int np_scan_skip(struct np_scan *scan, size_t rows, struct np_err *err)
{
	if (scan->ended)
		return NP_OK;
	scan->passed += rows;
	return scan->pages ? np_pages_skip(scan->pages, rows, err) : rows_skip(scan, rows, err);
}

int np_scan_follow(struct np_scan *scan, const struct np_scan *leader, struct np_err *err)
{
	assert(scan->passed <= leader->before);
	if (scan->passed == leader->before)
		return NP_OK;
	/* Which engine reads a table may depend on the columns. */
	if (!scan->pages || !leader->pages)
		return np_scan_skip(scan, leader->before - scan->passed, err);
	scan->passed = leader->before;
	return np_pages_follow(scan->pages, leader->pages, err);
}
