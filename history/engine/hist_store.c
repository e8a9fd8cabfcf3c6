/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the store of runs. */
#include "hist_store.h"

#include <errno.h>
#include <unistd.h>

#include "npuprof/buf.h"
#include "npuprof/db.h"
#include "npuprof/idmap.h"
#include "npuprof/lock.h"
#include "npuprof/scan.h"

/* 2 has TRUST and WATCHED, and more columns of STEP; 3 has charges of iterations. */
#define FORMAT 3

/* A run is added in well under a second, so who waits longer than this waits for something else. */
#define WAIT_NS INT64_C(60000000000)

#define TABLES_OF_2 \
	"CREATE TABLE TRUST(run INTEGER NOT NULL, ops INTEGER, ops_matched INTEGER," \
	" clock_error_ns INTEGER, left_out INTEGER, partial INTEGER, cann TEXT, framework TEXT);" \
	"CREATE TABLE WATCHED(job TEXT NOT NULL, name TEXT NOT NULL, fingerprint TEXT NOT NULL," \
	" run INTEGER NOT NULL);"

static const char declarations[] =
	"CREATE TABLE NPUPROF_HISTORY(format INTEGER NOT NULL);"
	"INSERT INTO NPUPROF_HISTORY VALUES(3);"
	"CREATE TABLE RUN(id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, job TEXT NOT NULL,"
	" dir TEXT, captured INTEGER, added INTEGER, program TEXT, device TEXT, world INTEGER,"
	" ranks INTEGER, steps INTEGER, step_ns INTEGER, basis TEXT, verdict TEXT, what TEXT,"
	" sentence TEXT);"
	"CREATE TABLE LABEL(run INTEGER NOT NULL, name TEXT NOT NULL, value TEXT);"
	"CREATE TABLE FIGURE(run INTEGER NOT NULL, name TEXT NOT NULL, ns INTEGER);"
	"CREATE TABLE RANK(run INTEGER NOT NULL, rank INTEGER NOT NULL, host TEXT, device INTEGER,"
	" stage INTEGER, tp INTEGER, dp INTEGER, ep INTEGER, step_ns INTEGER, computing_ns INTEGER,"
	" wait_ns INTEGER, transfer_ns INTEGER, idle_ns INTEGER, charge_ns INTEGER, mhz REAL);"
	"CREATE TABLE STEP(run INTEGER NOT NULL, rank INTEGER NOT NULL, step TEXT, length_ns INTEGER,"
	" computing_ns INTEGER, wait_ns INTEGER, transfer_ns INTEGER, idle_ns INTEGER,"
	" blame_ns INTEGER);"
	"CREATE TABLE LINK(run INTEGER NOT NULL, src INTEGER, dst INTEGER, transport TEXT, gb_s REAL,"
	" peers_gb_s REAL, slow INTEGER);"
	"CREATE TABLE REPAIR(run INTEGER NOT NULL, repair TEXT NOT NULL, saved_ns INTEGER);" TABLES_OF_2;

/* A store of an older version becomes one of this when something is added. */
static const char upgrade_from_1[] =
	"ALTER TABLE STEP ADD COLUMN wait_ns INTEGER;"
	"ALTER TABLE STEP ADD COLUMN transfer_ns INTEGER;"
	"ALTER TABLE STEP ADD COLUMN idle_ns INTEGER;" TABLES_OF_2
	"INSERT INTO WATCHED SELECT RUN.job, LABEL.value, RUN.fingerprint, RUN.id FROM RUN JOIN LABEL"
	" ON LABEL.run = RUN.id WHERE LABEL.name = 'window' ORDER BY RUN.id;";
static const char upgrade_from_2[] = "UPDATE NPUPROF_HISTORY SET format = 3;"
				     "ALTER TABLE STEP ADD COLUMN blame_ns INTEGER;";

const char *hist_store_path(const char *given)
{
	const char *path = given && *given ? given : getenv("NPUPROF_HISTORY");

	return path && *path ? path : NULL;
}

bool hist_figure_is_bytes(const char *name)
{
	return strncmp(name, HIST_MEMORY, strlen(HIST_MEMORY)) == 0;
}

/* --- in memory ------------------------------------------------------------------------------- */

struct hist_store *hist_store_new(struct np_err *err)
{
	struct hist_store *store = calloc(1, sizeof(*store));

	if (store)
		store->strings = np_strtab_new();
	if (!store || !store->strings) {
		free(store);
		(void)np_fail_nomem(err, "the history");
		return NULL;
	}
	return store;
}

void hist_store_free(struct hist_store *store)
{
	if (!store)
		return;
	np_strtab_free(store->strings);
	np_vec_release(&store->runs);
	np_vec_release(&store->ranks);
	np_vec_release(&store->labels);
	np_vec_release(&store->figures);
	np_vec_release(&store->steps);
	np_vec_release(&store->links);
	np_vec_release(&store->repairs);
	np_vec_release(&store->trusts);
	np_vec_release(&store->windows);
	free(store);
}

void hist_store_freep(struct hist_store **store)
{
	hist_store_free(*store);
	*store = NULL;
}

const char *hist_text(const struct hist_store *store, np_str id)
{
	return id == NP_STR_NONE ? NULL : np_strtab_text(store->strings, id);
}

int hist_intern(struct hist_store *store, const char *text, np_str *ret, struct np_err *err)
{
	*ret = NP_STR_NONE;
	return text ? np_strtab_add(store->strings, text, strlen(text), ret, err) : NP_OK;
}

const char *hist_label_of(const struct hist_store *store, size_t run, const char *name)
{
	for (size_t i = 0; i < store->labels.count; i++) {
		const struct hist_label *label = &store->labels.item[i];

		if (label->run == run && strcmp(hist_text(store, label->name), name) == 0)
			return hist_text(store, label->value);
	}
	return NULL;
}

/* --- reading --------------------------------------------------------------------------------- */

#define COLUMNS_MOST 16

/* One row of a table that is being read. */
struct row {
	const struct np_batch *batch;
	size_t at;
	struct hist_store *store;
	int rc;
	struct np_err *err;
};

static int64_t integer_at(const struct row *row, size_t column)
{
	return row->batch->column[column].integer[row->at];
}

static double real_at(const struct row *row, size_t column)
{
	return row->batch->column[column].real[row->at];
}

static np_str text_at(struct row *row, size_t column)
{
	const struct np_scan_text *text = &row->batch->column[column].text[row->at];
	np_str id = NP_STR_NONE;

	if (text->bytes && row->rc == NP_OK)
		row->rc = np_strtab_add(row->store->strings, text->bytes, text->length, &id,
					row->err);
	return id;
}

/* Where a place is not known the table has NULL. */
static int64_t place_at(const struct row *row, size_t column)
{
	int64_t value = integer_at(row, column);

	return value == NP_UNKNOWN ? -1 : value;
}

struct store_table {
	const char *name;
	/* "i", "r" and "t" for what the columns hold */
	const char *types;
	const char *columns[COLUMNS_MOST];
	/* Take a row over; the first column is the number of its run but in RUN itself. */
	void (*take)(struct row *row, uint32_t run);
};

static void take_run(struct row *row, uint32_t index)
{
	struct hist_run *run = np_vec_add(&row->store->runs, row->err);

	(void)index;
	if (!run) {
		row->rc = NP_E_NOMEM;
		return;
	}
	*run = (struct hist_run){
		.id = integer_at(row, 0),
		.fingerprint = text_at(row, 1),
		.job = text_at(row, 2),
		.dir = text_at(row, 3),
		.captured = integer_at(row, 4),
		.added = integer_at(row, 5),
		.program = text_at(row, 6),
		.device = text_at(row, 7),
		.world = integer_at(row, 8),
		.ranks = integer_at(row, 9),
		.steps = integer_at(row, 10),
		.step = integer_at(row, 11),
		.basis = text_at(row, 12),
		.verdict = text_at(row, 13),
		.what = text_at(row, 14),
		.sentence = text_at(row, 15),
	};
	if (row->rc == NP_OK && (run->fingerprint == NP_STR_NONE || run->job == NP_STR_NONE))
		row->rc = NP_E_FORMAT; /* say_damaged() has the words */
}

/* A row of `list`, or its return from the function that takes it. */
#define NEW_ROW(list) \
	__typeof__((list)->item) one = np_vec_add(list, row->err); \
	if (!one) { \
		row->rc = NP_E_NOMEM; \
		return; \
	}

static void take_rank(struct row *row, uint32_t run)
{
	NEW_ROW(&row->store->ranks)
	*one = (struct hist_rank){
		.run = run,
		.rank = integer_at(row, 1),
		.host = text_at(row, 2),
		.device = place_at(row, 3),
		.stage = place_at(row, 4),
		.tp = place_at(row, 5),
		.dp = place_at(row, 6),
		.ep = place_at(row, 7),
		.step = integer_at(row, 8),
		.computing = integer_at(row, 9),
		.wait = integer_at(row, 10),
		.transfer = integer_at(row, 11),
		.idle = integer_at(row, 12),
		.charge = integer_at(row, 13),
		.mhz = real_at(row, 14),
	};
}

/* What nobody writes without a name is left out where a file that was tampered with has it. */
static void drop_unless(const struct row *row, bool whole, size_t *count)
{
	*count -= row->rc == NP_OK && !whole;
}

static void take_label(struct row *row, uint32_t run)
{
	NEW_ROW(&row->store->labels)
	*one = (struct hist_label){ run, text_at(row, 1), text_at(row, 2) };
	drop_unless(row, one->name != NP_STR_NONE, &row->store->labels.count);
}

static void take_figure(struct row *row, uint32_t run)
{
	NEW_ROW(&row->store->figures)
	*one = (struct hist_figure){ run, text_at(row, 1), integer_at(row, 2) };
	drop_unless(row, one->name != NP_STR_NONE, &row->store->figures.count);
}

static void take_step(struct row *row, uint32_t run)
{
	NEW_ROW(&row->store->steps)
	*one = (struct hist_step){ run,
				   integer_at(row, 1),
				   text_at(row, 2),
				   integer_at(row, 3),
				   integer_at(row, 4),
				   integer_at(row, 5),
				   integer_at(row, 6),
				   integer_at(row, 7),
				   integer_at(row, 8) };
}

static void take_link(struct row *row, uint32_t run)
{
	NEW_ROW(&row->store->links)
	*one = (struct hist_link){ run,
				   integer_at(row, 1),
				   integer_at(row, 2),
				   text_at(row, 3),
				   real_at(row, 4),
				   real_at(row, 5),
				   integer_at(row, 6) };
}

static void take_repair(struct row *row, uint32_t run)
{
	NEW_ROW(&row->store->repairs)
	*one = (struct hist_repair){ run, text_at(row, 1), integer_at(row, 2) };
	drop_unless(row, one->repair != NP_STR_NONE, &row->store->repairs.count);
}

static void take_trust(struct row *row, uint32_t run)
{
	NEW_ROW(&row->store->trusts)
	*one = (struct hist_trust){ run,
				    integer_at(row, 1),
				    integer_at(row, 2),
				    integer_at(row, 3),
				    integer_at(row, 4),
				    integer_at(row, 5),
				    text_at(row, 6),
				    text_at(row, 7) };
}

static void take_window(struct row *row, uint32_t run)
{
	NEW_ROW(&row->store->windows)
	(void)run;
	*one = (struct hist_window){ text_at(row, 1), text_at(row, 2), text_at(row, 3),
				     integer_at(row, 0) };
	drop_unless(row,
		    one->job != NP_STR_NONE && one->name != NP_STR_NONE &&
			    one->fingerprint != NP_STR_NONE,
		    &row->store->windows.count);
}

/* WATCHED is the last: what is left of a run goes with it, and these do not. */
static const struct store_table tables[] = {
	{ "RUN",
	  "ittt iitt iiii tttt",
	  { "id", "fingerprint", "job", "dir", "captured", "added", "program", "device", "world",
	    "ranks", "steps", "step_ns", "basis", "verdict", "what", "sentence" },
	  take_run },
	{ "RANK",
	  "iiti iiii iiii iir",
	  { "run", "rank", "host", "device", "stage", "tp", "dp", "ep", "step_ns", "computing_ns",
	    "wait_ns", "transfer_ns", "idle_ns", "charge_ns", "mhz" },
	  take_rank },
	{ "LABEL", "itt", { "run", "name", "value" }, take_label },
	{ "FIGURE", "iti", { "run", "name", "ns" }, take_figure },
	{ "STEP",
	  "iitii iiii",
	  { "run", "rank", "step", "length_ns", "computing_ns", "wait_ns", "transfer_ns", "idle_ns",
	    "blame_ns" },
	  take_step },
	{ "LINK",
	  "iiitrri",
	  { "run", "src", "dst", "transport", "gb_s", "peers_gb_s", "slow" },
	  take_link },
	{ "REPAIR", "iti", { "run", "repair", "saved_ns" }, take_repair },
	{ "TRUST",
	  "iiiiii tt",
	  { "run", "ops", "ops_matched", "clock_error_ns", "left_out", "partial", "cann",
	    "framework" },
	  take_trust },
	{ "WATCHED", "ittt", { "run", "job", "name", "fingerprint" }, take_window },
};

static size_t column_count(const struct store_table *table)
{
	size_t count = 0;

	while (count < COLUMNS_MOST && table->columns[count])
		count++;
	return count;
}

static enum np_scan_type type_of(char letter)
{
	return letter == 'i' ? NP_SCAN_INTEGER : letter == 'r' ? NP_SCAN_REAL : NP_SCAN_TEXT;
}

/* Index of a run by its number; UINT32_MAX for one that is gone. */
static uint32_t index_of(const struct hist_store *store, int64_t id)
{
	for (size_t i = 0; i < store->runs.count; i++) {
		if (store->runs.item[i].id == id)
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

static int read_table(struct np_db *db, const struct store_table *table, enum np_need need,
		      struct hist_store *store, struct np_err *err)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_scan_column columns[COLUMNS_MOST];
	struct np_batch batch;
	struct row row = { .batch = &batch, .store = store, .err = err };
	size_t count = column_count(table);
	/* Rows of others belong to a run that is there. */
	bool is_free = table->take == take_run || table->take == take_window;
	int64_t last_id = NP_UNKNOWN;
	uint32_t last = UINT32_MAX;
	const char *letter = table->types;

	for (size_t i = 0; i < count; i++, letter++) {
		letter += *letter == ' ';
		columns[i] = (struct np_scan_column){ table->columns[i], type_of(*letter), need };
	}
	row.rc = np_scan_open(db, table->name, columns, count, &scan, err);
	while (row.rc == NP_OK && (row.rc = np_scan_next(scan, &batch, err)) == NP_OK &&
	       batch.rows > 0) {
		for (row.at = 0; row.at < batch.rows && row.rc == NP_OK; row.at++) {
			int64_t id = integer_at(&row, 0);

			/* Rows of a run stand together. */
			if (!is_free && id != last_id) {
				last = index_of(store, id);
				last_id = id;
			}
			if (is_free || last != UINT32_MAX)
				table->take(&row, last);
		}
	}
	return row.rc;
}

static int by_time(const void *left, const void *right)
{
	const struct hist_run *a = left;
	const struct hist_run *b = right;

	if (a->captured != b->captured)
		return a->captured < b->captured ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int by_run(const void *left, const void *right)
{
	const struct hist_rank *a = left;
	const struct hist_rank *b = right;

	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static void place_ranks(struct hist_store *store)
{
	if (store->ranks.count > 0)
		qsort(store->ranks.item, store->ranks.count, sizeof(*store->ranks.item), by_run);
	for (size_t i = 0; i < store->ranks.count; i++) {
		struct hist_run *run = &store->runs.item[store->ranks.item[i].run];

		if (run->rank_count++ == 0)
			run->first_rank = i;
	}
}

/* A file that somebody else made, or a newer version, is neither read nor written. */
static int check_format(struct np_db *db, int64_t *ret, struct np_err *err)
{
	static const struct np_scan_column column = { "format", NP_SCAN_INTEGER, NP_REQUIRED };
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	int rc;

	if (!np_db_has_table(db, "NPUPROF_HISTORY"))
		return np_fail(err, NP_E_FORMAT,
			       "'%s' is no history of npuprof: give another --store",
			       np_db_path(db));
	rc = np_scan_open(db, "NPUPROF_HISTORY", &column, 1, &scan, err);
	if (rc == NP_OK)
		rc = np_scan_next(scan, &batch, err);
	*ret = rc == NP_OK && batch.rows == 1 ? batch.column[0].integer[0] : 0;
	if (rc == NP_OK && (*ret < 1 || *ret > FORMAT))
		rc = np_fail(err, NP_E_FORMAT,
			     "'%s' was made by a newer version of npuprof: use that one",
			     np_db_path(db));
	return rc;
}

static int by_number(const void *left, const void *right)
{
	const struct hist_window *a = left;
	const struct hist_window *b = right;

	return (a->run > b->run) - (a->run < b->run);
}

/* In a store of an older version the label of a run says which window it was. */
static int windows_of_labels(struct hist_store *store, struct np_err *err)
{
	for (size_t i = 0; i < store->labels.count; i++) {
		const struct hist_label *label = &store->labels.item[i];
		const struct hist_run *run = &store->runs.item[label->run];
		struct hist_window *window;

		if (strcmp(hist_text(store, label->name), "window") != 0)
			continue;
		window = np_vec_add(&store->windows, err);
		if (!window)
			return NP_E_NOMEM;
		*window = (struct hist_window){ run->job, label->value, run->fingerprint, run->id };
	}
	if (store->windows.count > 0)
		qsort(store->windows.item, store->windows.count, sizeof(*store->windows.item),
		      by_number);
	return NP_OK;
}

/* What is said of a database that is damaged is of those of ranks, and advises what helps them. */
static int say_damaged(const char *path, int rc, struct np_err *err)
{
	if (rc != NP_E_FORMAT || strstr(err->text, "npuprof") ||
	    strstr(err->text, "not an SQLite database"))
		return rc;
	return np_fail(
		err, NP_E_FORMAT,
		"the history '%s' is damaged: put a copy of it in its place, or give another "
		"--store",
		path);
}

static int read_open(struct np_db *db, struct hist_store **ret, struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = hist_store_new(err);
	int64_t format = 0;
	int rc = store ? check_format(db, &format, err) : NP_E_NOMEM;

	for (size_t i = 0; i < NP_COUNT(tables) && rc == NP_OK; i++) {
		if (format == FORMAT || np_db_has_table(db, tables[i].name))
			rc = read_table(db, &tables[i],
					format == FORMAT ? NP_REQUIRED : NP_OPTIONAL, store, err);
		if (i == 0 && rc == NP_OK && store->runs.count > 0)
			qsort(store->runs.item, store->runs.count, sizeof(*store->runs.item),
			      by_time);
	}
	if (rc < 0)
		return rc;
	place_ranks(store);
	rc = format > 1 ? NP_OK : windows_of_labels(store, err);
	if (rc < 0)
		return rc;
	*ret = store;
	store = NULL;
	return NP_OK;
}

int hist_store_read(const char *path, struct hist_store **ret, struct np_err *err)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	int rc = np_db_open(path, &db, err);

	if (rc == NP_OK)
		rc = read_open(db, ret, err);
	return say_damaged(path, rc, err);
}

/* --- writing --------------------------------------------------------------------------------- */

/* The numbers of the runs in a store, for who adds one; NULL where there is no store yet. */
struct known {
	struct np_db *db;
	int64_t format;
	int64_t last; /* the largest that was ever given */
	int64_t same; /* the one with the fingerprint; NP_UNKNOWN */
};

/* Numbers of windows are not used again, whether their runs are there or not. */
static int look_at_windows(struct known *known, struct np_err *err)
{
	static const struct np_scan_column column = { "run", NP_SCAN_INTEGER, NP_REQUIRED };
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	int rc = np_scan_open(known->db, "WATCHED", &column, 1, &scan, err);

	while (rc == NP_OK && (rc = np_scan_next(scan, &batch, err)) == NP_OK && batch.rows > 0) {
		for (size_t i = 0; i < batch.rows; i++) {
			int64_t id = batch.column[0].integer[i];

			known->last = id > known->last ? id : known->last;
		}
	}
	return rc;
}

static int look(const char *path, const char *fingerprint, struct known *ret, struct np_err *err)
{
	static const struct np_scan_column columns[] = {
		{ "id", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "fingerprint", NP_SCAN_TEXT, NP_REQUIRED },
	};
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	int rc = np_db_open(path, &ret->db, err);

	ret->last = 0;
	ret->same = NP_UNKNOWN;
	/* A file of no length is a store that has no run yet. */
	if (rc == NP_E_NOTFOUND)
		return NP_OK;
	if (rc == NP_OK)
		rc = check_format(ret->db, &ret->format, err);
	if (rc == NP_OK)
		rc = np_scan_open(ret->db, "RUN", columns, NP_COUNT(columns), &scan, err);
	while (rc == NP_OK && (rc = np_scan_next(scan, &batch, err)) == NP_OK && batch.rows > 0) {
		for (size_t i = 0; i < batch.rows; i++) {
			int64_t id = batch.column[0].integer[i];
			const char *text = batch.column[1].text[i].bytes;

			ret->last = id > ret->last ? id : ret->last;
			if (text && fingerprint && strcmp(text, fingerprint) == 0)
				ret->same = id;
		}
	}
	if (rc == NP_OK && ret->format > 1)
		rc = look_at_windows(ret, err);
	return say_damaged(path, rc, err);
}

int hist_store_find(const char *path, const char *fingerprint, int64_t *ret, struct np_err *err)
{
	struct known known = { 0 };
	int rc = look(path, fingerprint, &known, err);

	np_db_close(known.db);
	if (rc == NP_OK)
		*ret = known.same;
	return rc;
}

static struct np_cell text_cell(const struct hist_store *entry, np_str id)
{
	return np_cell_text(hist_text(entry, id));
}

static struct np_cell place_cell(int64_t place)
{
	return place < 0 ? np_cell_null() : np_cell_integer(place);
}

struct inserting {
	struct np_db_writer *writer;
	const struct hist_store *entry;
	struct np_cell id;
	struct np_db_insert *insert;
	struct np_err *err;
};

static int begin_table(struct inserting *into, const char *table)
{
	size_t i = 0;

	/* The name is one of them. */
	while (strcmp(tables[i].name, table) != 0)
		i++;
	return np_db_insert_begin(into->writer, table, column_count(&tables[i]), &into->insert,
				  into->err);
}

static int insert_run(struct inserting *into)
{
	const struct hist_store *entry = into->entry;
	const struct hist_run *run = &entry->runs.item[0];
	const struct np_cell cells[] = {
		into->id,
		text_cell(entry, run->fingerprint),
		text_cell(entry, run->job),
		text_cell(entry, run->dir),
		np_cell_integer(run->captured),
		np_cell_integer(run->added),
		text_cell(entry, run->program),
		text_cell(entry, run->device),
		np_cell_integer(run->world),
		np_cell_integer(run->ranks),
		np_cell_integer(run->steps),
		np_cell_integer(run->step),
		text_cell(entry, run->basis),
		text_cell(entry, run->verdict),
		text_cell(entry, run->what),
		text_cell(entry, run->sentence),
	};
	int rc = begin_table(into, "RUN");

	return rc == NP_OK ? np_db_insert_row(into->insert, cells, into->err) : rc;
}

static int insert_ranks(struct inserting *into)
{
	int rc = begin_table(into, "RANK");

	for (size_t i = 0; i < into->entry->ranks.count && rc == NP_OK; i++) {
		const struct hist_rank *one = &into->entry->ranks.item[i];
		const struct np_cell cells[] = {
			into->id,
			np_cell_integer(one->rank),
			text_cell(into->entry, one->host),
			place_cell(one->device),
			place_cell(one->stage),
			place_cell(one->tp),
			place_cell(one->dp),
			place_cell(one->ep),
			np_cell_integer(one->step),
			np_cell_integer(one->computing),
			np_cell_integer(one->wait),
			np_cell_integer(one->transfer),
			np_cell_integer(one->idle),
			np_cell_integer(one->charge),
			np_cell_real(one->mhz),
		};

		rc = np_db_insert_row(into->insert, cells, into->err);
	}
	return rc;
}

static int insert_names(struct inserting *into)
{
	const struct hist_store *entry = into->entry;
	int rc = begin_table(into, "LABEL");

	for (size_t i = 0; i < entry->labels.count && rc == NP_OK; i++) {
		const struct np_cell cells[] = { into->id,
						 text_cell(entry, entry->labels.item[i].name),
						 text_cell(entry, entry->labels.item[i].value) };

		rc = np_db_insert_row(into->insert, cells, into->err);
	}
	if (rc == NP_OK)
		rc = begin_table(into, "FIGURE");
	for (size_t i = 0; i < entry->figures.count && rc == NP_OK; i++) {
		const struct np_cell cells[] = { into->id,
						 text_cell(entry, entry->figures.item[i].name),
						 np_cell_integer(entry->figures.item[i].time) };

		rc = np_db_insert_row(into->insert, cells, into->err);
	}
	return rc;
}

static int insert_rest(struct inserting *into)
{
	const struct hist_store *entry = into->entry;
	int rc = begin_table(into, "STEP");

	for (size_t i = 0; i < entry->steps.count && rc == NP_OK; i++) {
		const struct hist_step *one = &entry->steps.item[i];
		const struct np_cell cells[] = { into->id,
						 np_cell_integer(one->rank),
						 text_cell(entry, one->step),
						 np_cell_integer(one->length),
						 np_cell_integer(one->computing),
						 np_cell_integer(one->wait),
						 np_cell_integer(one->transfer),
						 np_cell_integer(one->idle),
						 np_cell_integer(one->blame) };

		rc = np_db_insert_row(into->insert, cells, into->err);
	}
	if (rc == NP_OK)
		rc = begin_table(into, "LINK");
	for (size_t i = 0; i < entry->links.count && rc == NP_OK; i++) {
		const struct hist_link *one = &entry->links.item[i];
		const struct np_cell cells[] = {
			into->id,
			np_cell_integer(one->src),
			np_cell_integer(one->dst),
			text_cell(entry, one->transport),
			np_cell_real(one->gb_s),
			np_cell_real(one->peers_gb_s),
			np_cell_integer(one->slow),
		};

		rc = np_db_insert_row(into->insert, cells, into->err);
	}
	if (rc == NP_OK)
		rc = begin_table(into, "REPAIR");
	for (size_t i = 0; i < entry->repairs.count && rc == NP_OK; i++) {
		const struct np_cell cells[] = { into->id,
						 text_cell(entry, entry->repairs.item[i].repair),
						 np_cell_integer(entry->repairs.item[i].saved) };

		rc = np_db_insert_row(into->insert, cells, into->err);
	}
	return rc;
}

static int insert_trust(struct inserting *into)
{
	const struct hist_store *entry = into->entry;
	int rc = begin_table(into, "TRUST");

	for (size_t i = 0; i < entry->trusts.count && rc == NP_OK; i++) {
		const struct hist_trust *one = &entry->trusts.item[i];
		const struct np_cell cells[] = {
			into->id,
			np_cell_integer(one->ops),
			np_cell_integer(one->ops_matched),
			np_cell_integer(one->clock_error),
			np_cell_integer(one->left_out),
			np_cell_integer(one->partial),
			text_cell(entry, one->cann),
			text_cell(entry, one->framework),
		};

		rc = np_db_insert_row(into->insert, cells, into->err);
	}
	return rc;
}

static int insert_window(struct inserting *into, const struct hist_arrival *arrival)
{
	const struct hist_store *entry = into->entry;
	/* As in the declaration, which has the number last. */
	const struct np_cell cells[] = {
		text_cell(entry, entry->runs.item[0].job),
		np_cell_text(arrival->name),
		text_cell(entry, entry->runs.item[0].fingerprint),
		into->id,
	};
	int rc = begin_table(into, "WATCHED");

	return rc == NP_OK ? np_db_insert_row(into->insert, cells, into->err) : rc;
}

/* A copy of the store, or an empty one. */
static int begin_writing(const char *path, const struct known *known, struct np_db_writer **ret,
			 struct np_err *err)
{
	int rc = known->db ? np_db_writer_open_copy(known->db, path, ret, err)
			   : np_db_writer_open(path, ret, err);

	if (rc == NP_OK && !known->db)
		rc = np_db_writer_exec(*ret, declarations, err);
	if (rc == NP_OK && known->db && known->format < 2)
		rc = np_db_writer_exec(*ret, upgrade_from_1, err);
	if (rc == NP_OK && known->db && known->format < 3)
		rc = np_db_writer_exec(*ret, upgrade_from_2, err);
	return rc;
}

static int lock_of(const char *path, struct np_err *err)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash == path ? strdup("/")
		    : slash       ? strndup(path, (size_t)(slash - path))
				  : strdup(".");
	int rc = dir ? np_lock_shared(dir, WAIT_NS, err) : np_fail_nomem(err, "the history");

	free(dir);
	return rc;
}

/* Steps are kept of the newest runs. */
static int drop_old_steps(struct np_db_writer *writer, struct np_err *err)
{
	char sql[160];

	(void)snprintf(sql, sizeof(sql),
		       "DELETE FROM STEP WHERE run NOT IN (SELECT id FROM RUN "
		       "ORDER BY captured DESC, id DESC LIMIT %d)",
		       HIST_STEPS_OF_RUNS);
	return np_db_writer_exec(writer, sql, err);
}

/* Remove the runs that the table `gone` lists; windows stay known. */
static int remove_gone(struct np_db_writer *writer, struct np_err *err)
{
	char sql[128];
	int rc = NP_OK;

	for (size_t i = 0; i + 1 < NP_COUNT(tables) && rc == NP_OK; i++) {
		(void)snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s IN (SELECT id FROM gone)",
			       tables[i].name, i == 0 ? "id" : "run");
		rc = np_db_writer_exec(writer, sql, err);
	}
	return rc == NP_OK ? np_db_writer_exec(writer, "DROP TABLE gone", err) : rc;
}

/* Runs of each job from the newest on; of windows alone where `windows` are asked for. */
static int remove_runs(struct np_db_writer *writer, int64_t keep, bool windows, struct np_err *err)
{
	char sql[320];
	int rc;

	(void)snprintf(sql, sizeof(sql),
		       "CREATE TEMP TABLE gone AS SELECT id FROM (SELECT id, row_number() OVER "
		       "(PARTITION BY job ORDER BY captured DESC, id DESC) AS place FROM RUN %s) "
		       "WHERE place > %lld",
		       windows ? "WHERE id IN (SELECT run FROM WATCHED)" : "", (long long)keep);
	rc = np_db_writer_exec(writer, sql, err);
	return rc == NP_OK ? remove_gone(writer, err) : rc;
}

static int remove_one(struct np_db_writer *writer, int64_t id, struct np_err *err)
{
	char sql[160];
	int rc;

	(void)snprintf(
		sql, sizeof(sql),
		"CREATE TEMP TABLE gone AS SELECT %lld AS id; DELETE FROM WATCHED WHERE run = %lld",
		(long long)id, (long long)id);
	rc = np_db_writer_exec(writer, sql, err);
	return rc == NP_OK ? remove_gone(writer, err) : rc;
}

static int insert_all(struct inserting *into, const struct hist_arrival *arrival)
{
	int rc = NP_OK;

	if (arrival && arrival->replaces != NP_UNKNOWN)
		rc = remove_one(into->writer, arrival->replaces, into->err);
	if (rc == NP_OK)
		rc = insert_run(into);
	if (rc == NP_OK)
		rc = insert_ranks(into);
	if (rc == NP_OK)
		rc = insert_names(into);
	if (rc == NP_OK)
		rc = insert_rest(into);
	if (rc == NP_OK)
		rc = insert_trust(into);
	if (rc == NP_OK && arrival)
		rc = insert_window(into, arrival);
	if (rc == NP_OK && arrival && arrival->keep > 0)
		rc = remove_runs(into->writer, arrival->keep, true, into->err);
	return rc == NP_OK ? drop_old_steps(into->writer, into->err) : rc;
}

/* --- the same capture, from other files ------------------------------------------------------ */

/* The rank of a run with this number; NULL: it has none. */
static const struct hist_rank *rank_of(const struct hist_store *store, const struct hist_run *run,
				       int64_t number)
{
	for (size_t i = run->first_rank; i < run->first_rank + run->rank_count; i++) {
		if (store->ranks.item[i].rank == number)
			return &store->ranks.item[i];
	}
	return NULL;
}

/* Ranks that both have took the same time, all of them; how many there are, or 0. */
static size_t ranks_in_common(const struct hist_store *store, const struct hist_run *run,
			      const struct hist_store *entry)
{
	size_t common = 0;

	for (size_t i = 0; i < entry->ranks.count; i++) {
		const struct hist_rank *one = &entry->ranks.item[i];
		const struct hist_rank *other = rank_of(store, run, one->rank);

		if (other && (other->step != one->step || other->computing != one->computing))
			return 0;
		common += other && one->step != NP_UNKNOWN;
	}
	return common;
}

/* The rank that began first may be one of those that came later. */
#define TOGETHER_NS INT64_C(60000000000)

static bool began_together(np_ns one, np_ns other)
{
	return one != NP_UNKNOWN && other != NP_UNKNOWN && llabs(one - other) < TOGETHER_NS;
}

/* Is there a run of the same capture, and is it the one to keep? */
static void find_same(const struct hist_store *store, const struct hist_store *entry,
		      struct hist_added *ret)
{
	const char *job = hist_text(entry, entry->runs.item[0].job);

	for (size_t i = 0; i < store->runs.count; i++) {
		const struct hist_run *run = &store->runs.item[i];
		size_t common;

		if (!began_together(run->captured, entry->runs.item[0].captured) ||
		    strcmp(hist_text(store, run->job), job) != 0)
			continue;
		common = ranks_in_common(store, run, entry);
		if (common > 0 && common == entry->ranks.count) {
			ret->id = run->id;
			ret->known = ret->same = true;
		} else if (common > 0 && common == run->rank_count) {
			ret->replaces = run->id;
		}
	}
}

static int begin_gone(struct np_db_writer *writer, int64_t id, struct np_err *err)
{
	char sql[80];

	(void)snprintf(sql, sizeof(sql), "CREATE TEMP TABLE gone AS SELECT %lld AS id",
		       (long long)id);
	return np_db_writer_exec(writer, sql, err);
}

/* The run with fewer ranks gives its labels to that which takes its place. */
static int take_place(struct np_db_writer *writer, int64_t old, int64_t new, struct np_err *err)
{
	char sql[200];
	int rc;

	(void)snprintf(sql, sizeof(sql),
		       "UPDATE LABEL SET run = %lld WHERE run = %lld AND name NOT IN "
		       "(SELECT name FROM LABEL WHERE run = %lld)",
		       (long long)new, (long long)old, (long long)new);
	rc = np_db_writer_exec(writer, sql, err);
	if (rc == NP_OK)
		rc = begin_gone(writer, old, err);
	return rc == NP_OK ? remove_gone(writer, err) : rc;
}

static int add_run(const char *path, const struct hist_store *entry,
		   const struct hist_arrival *arrival, const struct known *known,
		   struct hist_added *ret, struct np_err *err)
{
	struct inserting into = { .entry = entry, .err = err };
	int rc;

	ret->id = known->last + 1;
	into.id = np_cell_integer(ret->id);
	rc = begin_writing(path, known, &into.writer, err);
	if (rc == NP_OK)
		rc = insert_all(&into, arrival);
	if (rc == NP_OK && ret->replaces != NP_UNKNOWN)
		rc = take_place(into.writer, ret->replaces, ret->id, err);
	if (rc == NP_OK)
		return np_db_writer_commit_lasting(into.writer, err);
	np_db_writer_abort(into.writer);
	return rc;
}

int hist_store_add_window(const char *path, const struct hist_store *entry,
			  const struct hist_arrival *arrival, struct hist_added *ret,
			  struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = NULL;
	struct known known = { 0 };
	int rc = lock_of(path, err);

	*ret = (struct hist_added){ .replaces = NP_UNKNOWN };
	if (rc == NP_OK)
		rc = look(path, hist_text(entry, entry->runs.item[0].fingerprint), &known, err);
	/* What cannot be read is not written either: nobody would see what is added. */
	if (rc == NP_OK && known.db)
		rc = hist_store_read(path, &store, err);
	if (rc == NP_OK && known.same != NP_UNKNOWN) {
		ret->id = known.same;
		ret->known = true;
	}
	if (rc == NP_OK && store && !ret->known && !arrival)
		find_same(store, entry, ret);
	if (rc == NP_OK && !ret->known)
		rc = add_run(path, entry, arrival, &known, ret, err);
	np_db_close(known.db);
	return rc;
}

int hist_store_add(const char *path, const struct hist_store *entry, struct hist_added *ret,
		   struct np_err *err)
{
	return hist_store_add_window(path, entry, NULL, ret, err);
}

/* --- what is there already ------------------------------------------------------------------- */

/* Change a store that is there by SQL. */
static int change_store(const char *path, const char *sql, struct np_err *err)
{
	struct known known = { 0 };
	struct np_db_writer *writer = NULL;
	int rc = look(path, NULL, &known, err);

	if (rc == NP_OK)
		rc = begin_writing(path, &known, &writer, err);
	if (rc == NP_OK)
		rc = np_db_writer_exec(writer, sql, err);
	if (rc == NP_OK)
		rc = np_db_writer_commit_lasting(writer, err);
	else
		np_db_writer_abort(writer);
	np_db_close(known.db);
	return rc;
}

static void add_text(struct np_buf *sql, const char *text, size_t length)
{
	np_buf_add_char(sql, '\'');
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\'')
			np_buf_add_char(sql, '\'');
		np_buf_add_char(sql, text[i]);
	}
	np_buf_add_char(sql, '\'');
}

int hist_store_rename(const char *path, int64_t id, const char *job, const char *const *labels,
		      size_t label_count, struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = NULL;
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;
	int rc = lock_of(path, err);

	if (job) {
		np_buf_add(&sql, "UPDATE RUN SET job = ");
		add_text(&sql, job, strlen(job));
		np_buf_printf(&sql, " WHERE id = %lld;", (long long)id);
	}
	for (size_t i = 0; i < label_count; i++) {
		size_t length = strcspn(labels[i], "=");
		const char *value = labels[i] + length + (labels[i][length] == '=');

		np_buf_printf(&sql,
			      "DELETE FROM LABEL WHERE run = %lld AND name = ", (long long)id);
		add_text(&sql, labels[i], length);
		np_buf_printf(&sql, ";INSERT INTO LABEL VALUES(%lld,", (long long)id);
		add_text(&sql, labels[i], length);
		np_buf_add_char(&sql, ',');
		add_text(&sql, value, strlen(value));
		np_buf_add(&sql, ");");
	}
	if (rc == NP_OK)
		rc = np_buf_check(&sql, err);
	if (rc == NP_OK)
		rc = hist_store_read(path, &store, err);
	return rc == NP_OK && sql.length > 0 ? change_store(path, sql.text, err) : rc;
}

int hist_store_remove(const char *path, const int64_t *ids, size_t count, struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = NULL;
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;
	int rc = lock_of(path, err);

	if (rc == NP_OK)
		rc = hist_store_read(path, &store, err);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		if (index_of(store, ids[i]) == UINT32_MAX)
			rc = np_fail(err, NP_E_USAGE, "'%s' has no run %lld", path,
				     (long long)ids[i]);
		np_buf_printf(&list, "%s%lld", i > 0 ? "," : "", (long long)ids[i]);
	}
	for (size_t i = 0; i + 1 < NP_COUNT(tables); i++)
		np_buf_printf(&sql, "DELETE FROM %s WHERE %s IN (%s);", tables[i].name,
			      i == 0 ? "id" : "run", list.length > 0 ? list.text : "");
	if (rc == NP_OK)
		rc = np_buf_check(&sql, err);
	return rc == NP_OK ? change_store(path, sql.text, err) : rc;
}

/* How many runs a store has. */
static int count_runs(const char *path, int64_t *ret, struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = NULL;
	int rc = hist_store_read(path, &store, err);

	if (rc == NP_OK)
		*ret = (int64_t)store->runs.count;
	return rc;
}

int hist_store_prune(const char *path, int64_t keep, int64_t *ret, struct np_err *err)
{
	struct known known = { 0 };
	struct np_db_writer *writer = NULL;
	int64_t before = 0;
	int64_t after = 0;
	int rc = lock_of(path, err);

	/* Without a store there is nothing to remove, which counting says. */
	if (rc == NP_OK)
		rc = count_runs(path, &before, err);
	if (rc == NP_OK)
		rc = look(path, NULL, &known, err);
	if (rc == NP_OK)
		rc = begin_writing(path, &known, &writer, err);
	if (rc == NP_OK)
		rc = remove_runs(writer, keep, false, err);
	if (rc == NP_OK)
		rc = np_db_writer_commit_lasting(writer, err);
	else
		np_db_writer_abort(writer);
	np_db_close(known.db);
	if (rc == NP_OK)
		rc = count_runs(path, &after, err);
	if (rc == NP_OK)
		*ret = before - after;
	return rc;
}
