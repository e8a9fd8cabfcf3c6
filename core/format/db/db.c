/* SPDX-License-Identifier: Apache-2.0 */
/* Databases opened for reading, without a trace beside them. */
#include "npuprof/db.h"

#include "db_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a lock of somebody else's is waited for before the file is given up. */
#define BUSY_WAIT_MS 2000

/* Bytes of the file on which SQLite takes its locks: pending, reserved, then the shared range. */
#define LOCK_PENDING      0x40000000
#define LOCK_SHARED_FIRST (LOCK_PENDING + 2)
#define LOCK_SHARED_SIZE  510

/*
 * A schema may hold views and expressions, which a hostile one can make endless:
 * what SQLite does for a file is bounded by its size. Reading every row of it
 * takes less than one operation for each byte.
 */
#define STEPS_BASE     20000000
#define STEPS_PER_BYTE 200
#define STEPS_AT_ONCE  100000
#define VALUE_BASE     1000000

struct np_db {
	sqlite3 *handle;
	int64_t steps_left;
	sqlite3_stmt *has_table;                  /* asked many times: prepared once, or NULL */
	sqlite3_stmt *questions[NP_DB_QUESTIONS]; /* likewise */
	char *path;                               /* as the user knows it */
	char *file; /* the file behind it: SQLite keeps sidecars beside that, not beside a link */
	struct db_copy copy;        /* made because of a sidecar */
	struct np_windows *windows; /* of the tables that are being read: scan_window.h */
	int trouble; /* SQLite's code where somebody asked what is there and got no answer */
};

static int configured = SQLITE_OK;

static void configure_once(void)
{
	/*
	 * Handles belong to one thread each, and the statistics of the allocator
	 * are a lock that all threads would meet at on every allocation.
	 */
	configured = sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
	if (configured == SQLITE_OK)
		configured = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static void configure_sqlite(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	/* A failure leaves SQLite slower, not wrong. */
	(void)pthread_once(&once, configure_once);
}

sqlite3 *np_db_handle(struct np_db *db)
{
	return db->handle;
}

const char *np_db_file(const struct np_db *db)
{
	return db->copy.file ? db->copy.file : db->path;
}

struct np_windows **np_db_windows(struct np_db *db)
{
	return &db->windows;
}

const char *np_db_path(const struct np_db *db)
{
	return db->path;
}

bool np_db_had_sidecar(const struct np_db *db)
{
	return db->copy.file != NULL;
}

int np_db_fail(sqlite3 *handle, int sqlite_code, const char *path, struct np_err *err)
{
	switch (sqlite_code & 0xff) {
	case SQLITE_NOMEM:
		return np_fail_nomem(err, path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return np_fail(
			err, NP_E_BUSY,
			"'%s' is being written by another program; try again when it is done",
			path);
	case SQLITE_CORRUPT:
		return np_fail(err, NP_E_FORMAT,
			       "'%s' is damaged or cut short; export this rank again", path);
	case SQLITE_INTERRUPT:
		return np_fail(err, NP_E_FORMAT,
			       "'%s' takes longer to read than any file of its size does; a view in"
			       " it may have no end",
			       path);
	case SQLITE_NOTADB:
		return np_fail(err, NP_E_FORMAT, "'%s' is not an SQLite database", path);
	default:
		return np_fail(err, NP_E_IO, "cannot read '%s': %s", path,
			       handle ? sqlite3_errmsg(handle) : sqlite3_errstr(sqlite_code));
	}
}

int64_t np_db_size(const struct np_db *db)
{
	int64_t size = np_db_size_beside(np_db_file(db), "");

	return size < 0 ? 0 : size;
}

/* Does another process hold a lock under which it may be changing the pages? */
static bool writer_at_work(int fd)
{
	const off_t range[][2] = { { LOCK_PENDING, 1 }, { LOCK_SHARED_FIRST, LOCK_SHARED_SIZE } };

	for (size_t i = 0; i < NP_COUNT(range); i++) {
		struct flock lock = { .l_type = F_RDLCK,
				      .l_whence = SEEK_SET,
				      .l_start = range[i][0],
				      .l_len = range[i][1] };

		if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
			return true;
	}
	return false;
}

/*
 * Immutable connections take no locks, so look for a writer's lock ourselves.
 * Asking takes no lock and leaves no trace on the file.
 */
static int wait_for_writer(const char *path, struct np_err *err)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int waited_ms = 0;
	bool locked;

	if (fd < 0)
		return np_fail(err, NP_E_IO, "cannot open '%s': %s", path, strerror(errno));
	while ((locked = writer_at_work(fd)) && waited_ms < BUSY_WAIT_MS) {
		(void)nanosleep(&pause, NULL);
		waited_ms += 20;
	}
	(void)close(fd);
	return locked ? np_db_fail(NULL, SQLITE_BUSY, path, err) : NP_OK;
}

/* "file:" URIs give %, ? and # a meaning that they do not have in a path. */
static char *immutable_uri(const char *path)
{
	size_t length = strlen(path);
	char *uri = malloc(length * 3 + sizeof("file:?immutable=1"));
	char *end = uri;

	if (!uri)
		return NULL;
	end = stpcpy(end, "file:");
	/* "file://x" would name a host. */
	while (path[0] == '/' && path[1] == '/')
		path++;
	for (; *path; path++) {
		if (strchr("%?#", *path))
			end += snprintf(end, 4, "%%%02X", (unsigned)(unsigned char)*path);
		else
			*end++ = *path;
	}
	(void)stpcpy(end, "?immutable=1");
	return uri;
}

static int count_steps(void *context)
{
	struct np_db *db = context;

	db->steps_left -= STEPS_AT_ONCE;
	return db->steps_left < 0;
}

/* No value of a file is longer than the file, either. */
static void limit_work(struct np_db *db)
{
	int64_t size = np_db_size(db);
	int64_t longest = size + VALUE_BASE;

	db->steps_left = STEPS_BASE + size * STEPS_PER_BYTE;
	sqlite3_progress_handler(db->handle, STEPS_AT_ONCE, count_steps, db);
	(void)sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH,
			    longest < INT32_MAX ? (int)longest : INT32_MAX);
}

/* Anything that a later query could only fail with is found out here: damage of the first pages. */
static int probe_schema(struct np_db *db, struct np_err *err)
{
	int rc = sqlite3_exec(db->handle, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);

	return rc == SQLITE_OK ? NP_OK : np_db_fail(db->handle, rc, db->path, err);
}

/* The copy is ours: let SQLite apply the sidecar, so that the file holds every row. */
static int open_copy(struct np_db *db, struct np_err *err)
{
	int rc = sqlite3_open_v2(db->copy.file, &db->handle,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db->handle, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
	return rc == SQLITE_OK ? NP_OK : np_db_fail(db->handle, rc, db->path, err);
}

/*
 * SQLite fills up a last page that was cut short with zeros, which read as rows
 * of NULLs, and takes a single byte for an empty database. Whether a longer file
 * is a database at all is for SQLite to find.
 */
static bool whole_pages(const char *path)
{
	unsigned char header[18] = { 0 };
	struct stat status = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned page_size;

	if (fd < 0)
		return true;
	if (fstat(fd, &status) < 0 || pread(fd, header, sizeof(header), 0) < 0)
		status.st_size = 0;
	(void)close(fd);
	if (status.st_size < (off_t)sizeof(header))
		return false;
	if (memcmp(header, "SQLite format 3", 16) != 0)
		return true;
	page_size = (unsigned)header[16] << 8 | header[17];
	/* 65536 does not fit into 16 bits and is written as 1. */
	if (page_size == 1)
		page_size = 65536;
	return page_size == 0 || status.st_size % page_size == 0;
}

static int open_in_place(struct np_db *db, struct np_err *err)
{
	char *uri;
	int rc;

	if (!whole_pages(db->path))
		return np_db_fail(NULL, SQLITE_CORRUPT, db->path, err);
	/* SQLite before 3.39 takes "link/.." for nothing, whatever the link is. */
	uri = immutable_uri(db->file);
	if (!uri)
		return np_fail_nomem(err, db->path);
	rc = sqlite3_open_v2(uri, &db->handle,
			     SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
	free(uri);
	return rc == SQLITE_OK ? NP_OK : np_db_fail(db->handle, rc, db->path, err);
}

/* SQLite takes an empty file for an empty database, and a directory for an I/O error. */
static int check_file(const char *path, const char *file, struct np_err *err)
{
	struct stat status;

	if (!file || stat(path, &status) < 0)
		return np_fail(err, errno == ENOENT ? NP_E_NOTFOUND : NP_E_IO,
			       "cannot open '%s': %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return np_fail(err, NP_E_FORMAT, "'%s' is not a file", path);
	if (status.st_size == 0 && !np_db_has_sidecar(file))
		return np_fail(err, NP_E_NOTFOUND, "'%s' is empty (0 bytes)", path);
	return NP_OK;
}

int np_db_open(const char *path, struct np_db **ret, struct np_err *err)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	int rc;

	configure_sqlite();
	db = calloc(1, sizeof(*db));
	if (!db || !(db->path = strdup(path)))
		return np_fail_nomem(err, path);
	db->file = realpath(path, NULL);
	rc = check_file(path, db->file, err);
	if (rc == NP_OK)
		rc = wait_for_writer(path, err);
	if (rc == NP_OK && np_db_has_sidecar(db->file))
		rc = np_db_copy(db->file, &db->copy, err);
	if (rc == NP_OK)
		rc = db->copy.file ? open_copy(db, err) : open_in_place(db, err);
	if (rc < 0)
		return rc;
	limit_work(db);
	rc = probe_schema(db, err);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(db);
	return NP_OK;
}

void np_db_close(struct np_db *db)
{
	if (!db)
		return;
	(void)sqlite3_finalize(db->has_table);
	for (size_t i = 0; i < NP_COUNT(db->questions); i++)
		(void)sqlite3_finalize(db->questions[i]);
	(void)sqlite3_close(db->handle);
	np_db_copy_remove(&db->copy);
	free(db->file);
	free(db->path);
	free(db);
}

void np_db_closep(struct np_db **db)
{
	np_db_close(*db);
	*db = NULL;
}

/* Run a query about `name` (may be NULL) whose answer is one whole number; 0 when it gives none. */
/* "No" and no answer are two things: who asks for a bool learns the latter in the end. */
static bool answered(struct np_db *db, int rc)
{
	if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
		return true;
	db->trouble = rc;
	return false;
}

int np_db_answered(const struct np_db *db, struct np_err *err)
{
	return db->trouble ? np_db_fail(db->handle, db->trouble, db->path, err) : NP_OK;
}

static int64_t query_integer(struct np_db *db, const char *sql, const char *name)
{
	sqlite3_stmt *statement = NULL;
	int64_t value = 0;
	int rc;

	if (!answered(db, sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL)))
		return 0;
	if (name)
		(void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	rc = sqlite3_step(statement);
	if (answered(db, rc) && rc == SQLITE_ROW)
		value = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return value;
}

bool np_db_has_table(struct np_db *db, const char *table)
{
	static const char sql[] =
		"SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND name = ?1";
	bool found;
	int rc;

	if (!db->has_table &&
	    !answered(db, sqlite3_prepare_v2(db->handle, sql, -1, &db->has_table, NULL)))
		return false;
	(void)sqlite3_bind_text(db->has_table, 1, table, -1, SQLITE_STATIC);
	rc = sqlite3_step(db->has_table);
	found = answered(db, rc) && rc == SQLITE_ROW;
	(void)sqlite3_reset(db->has_table);
	(void)sqlite3_clear_bindings(db->has_table);
	return found;
}

int np_db_ask(struct np_db *db, enum np_db_question question, const char *table, sqlite3_stmt **ret)
{
	static const char *const sql[NP_DB_QUESTIONS] = {
		[NP_DB_IS_TABLE] = "SELECT type = 'table', rootpage FROM sqlite_master"
				   " WHERE type IN ('table', 'view') AND name = ?1",
		[NP_DB_COLUMNS] = "SELECT cid, name, type, dflt_value, pk, hidden"
				  " FROM pragma_table_xinfo(?1)",
		[NP_DB_KEYS] = "SELECT count(*) FROM pragma_index_list(?1) WHERE origin = 'pk'",
	};
	sqlite3_stmt **statement = &db->questions[question];
	int rc = *statement ? SQLITE_OK
			    : sqlite3_prepare_v2(db->handle, sql[question], -1, statement, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(*statement, 1, table, -1, SQLITE_STATIC);
	*ret = *statement;
	return rc;
}

void np_db_let_go(sqlite3_stmt **statement)
{
	if (!*statement)
		return;
	(void)sqlite3_reset(*statement);
	(void)sqlite3_clear_bindings(*statement);
}

bool np_db_has_rows(struct np_db *db, const char *table)
{
	char *sql;
	bool found;

	if (!np_db_has_table(db, table))
		return false;
	/* A name cannot be bound; %w doubles the quotes in it. */
	sql = sqlite3_mprintf("SELECT 1 FROM \"%w\" LIMIT 1", table);
	found = sql && query_integer(db, sql, NULL) == 1;
	sqlite3_free(sql);
	return found;
}

size_t np_db_table_count(struct np_db *db)
{
	return (size_t)query_integer(db,
				     "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
				     " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
				     NULL);
}

int np_db_columns(struct np_db *db, np_db_take_column *take, void *context, struct np_err *err)
{
	static const char sql[] =
		"SELECT m.name, p.name FROM sqlite_master AS m, pragma_table_info(m.name) AS p"
		" WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
		" ORDER BY m.name, p.cid";
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL);
	int rc = NP_OK;

	while (code == SQLITE_OK || code == SQLITE_ROW) {
		const char *table;
		const char *column;

		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		table = (const char *)sqlite3_column_text(statement, 0);
		column = (const char *)sqlite3_column_text(statement, 1);
		if (table && column)
			rc = take(context, table, column, err);
		if (rc < 0)
			break;
	}
	if (rc == NP_OK && code != SQLITE_DONE)
		rc = np_fail(err, code == SQLITE_NOMEM ? NP_E_NOMEM : NP_E_FORMAT,
			     "'%s': its tables cannot be listed: %s", db->path,
			     sqlite3_errmsg(db->handle));
	(void)sqlite3_finalize(statement);
	return rc;
}

/* What was found stands below a heading. */
static const char *last_line(const char *text)
{
	const char *end = strrchr(text, '\n');

	return end && end[1] ? end + 1 : text;
}

int np_db_check(struct np_db *db, struct np_err *err)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(db->handle, "PRAGMA quick_check(1)", -1, &statement, NULL);
	const char *answer = NULL;
	int rc = NP_OK;

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		answer = (const char *)sqlite3_column_text(statement, 0);
	if (code != SQLITE_ROW)
		rc = np_db_fail(db->handle, code, db->path, err);
	else if (!answer || strcmp(answer, "ok") != 0)
		rc = np_fail(err, NP_E_FORMAT, "'%s' is damaged: %.200s", db->path,
			     answer ? last_line(answer) : "out of memory");
	(void)sqlite3_finalize(statement);
	return rc;
}
