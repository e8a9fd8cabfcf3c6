/* SPDX-License-Identifier: Apache-2.0 */
/* Databases written as a whole, under their name when they are complete. */
#include "npuprof/db.h"

#include "db_private.h"

#include "npuprof/temporary.h"
#include "npuprof/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct np_db_insert {
	struct np_db_writer *writer;
	sqlite3_stmt *statement;
	size_t columns;
};

struct np_db_writer {
	struct np_sink base; /* first: the sink is the writer */
	sqlite3 *handle;
	char *path;
	char *temporary;
	NP_VEC(struct np_db_insert *) inserts;
	struct np_db_insert *current; /* of the relation being written through the sink */
};

static int write_fail(const struct np_db_writer *writer, struct np_err *err)
{
	return np_fail(err, NP_E_IO, "cannot write '%s': %s", writer->path,
		       sqlite3_errmsg(writer->handle));
}

int np_db_writer_exec(struct np_db_writer *writer, const char *sql, struct np_err *err)
{
	if (sqlite3_exec(writer->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return write_fail(writer, err);
	return NP_OK;
}

/* Identifiers are constants of ours, yet "index" and "count" are words of SQL. */
static void add_name(struct np_buf *sql, const char *name)
{
	np_buf_printf(sql, "\"%s\"", name);
}

int np_db_insert_begin(struct np_db_writer *writer, const char *table, size_t columns,
		       struct np_db_insert **ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;
	struct np_db_insert *insert;
	struct np_db_insert **slot = np_vec_add(&writer->inserts, err);

	if (!slot)
		return NP_E_NOMEM;
	insert = calloc(1, sizeof(*insert));
	if (!insert)
		return np_fail_nomem(err, writer->path);
	*slot = insert;
	insert->writer = writer;
	insert->columns = columns;
	np_buf_add(&sql, "INSERT INTO ");
	add_name(&sql, table);
	np_buf_add(&sql, " VALUES(");
	for (size_t i = 0; i < columns; i++)
		np_buf_add(&sql, i ? ",?" : "?");
	np_buf_add(&sql, ")");
	if (np_buf_check(&sql, err) < 0)
		return NP_E_NOMEM;
	if (sqlite3_prepare_v3(writer->handle, sql.text, -1, SQLITE_PREPARE_PERSISTENT,
			       &insert->statement, NULL) != SQLITE_OK)
		return write_fail(writer, err);
	*ret = insert;
	return NP_OK;
}

static int bind_cell(sqlite3_stmt *statement, int index, const struct np_cell *cell)
{
	switch (cell->type) {
	case NP_CELL_INTEGER:
		return sqlite3_bind_int64(statement, index, cell->integer);
	case NP_CELL_REAL:
		return sqlite3_bind_double(statement, index, cell->real);
	case NP_CELL_TEXT:
		return sqlite3_bind_text64(statement, index, cell->text.bytes, cell->text.length,
					   SQLITE_STATIC, SQLITE_UTF8);
	case NP_CELL_NULL:
		break;
	}
	return sqlite3_bind_null(statement, index);
}

int np_db_insert_row(struct np_db_insert *insert, const struct np_cell *cells, struct np_err *err)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < insert->columns && rc == SQLITE_OK; i++)
		rc = bind_cell(insert->statement, (int)i + 1, &cells[i]);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(insert->statement);
	if (rc != SQLITE_DONE)
		return write_fail(insert->writer, err);
	(void)sqlite3_reset(insert->statement);
	return NP_OK;
}

static const char *declared_type(enum np_column_type type)
{
	switch (type) {
	case NP_INTEGER:
		return "INTEGER";
	case NP_REAL:
		return "REAL";
	case NP_NUMERIC:
		return "NUMERIC";
	case NP_TEXT:
		break;
	}
	return "TEXT";
}

static int begin_relation(struct np_sink *sink, const struct np_relation *relation,
			  struct np_err *err)
{
	struct np_db_writer *writer = (struct np_db_writer *)sink;
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;
	int rc;

	np_buf_add(&sql, "CREATE TABLE ");
	add_name(&sql, relation->name);
	for (size_t i = 0; i < relation->column_count; i++) {
		np_buf_add(&sql, i ? "," : "(");
		add_name(&sql, relation->columns[i].name);
		np_buf_printf(&sql, " %s", declared_type(relation->columns[i].type));
	}
	np_buf_add(&sql, ")");
	rc = np_buf_check(&sql, err);
	if (rc == NP_OK)
		rc = np_db_writer_exec(writer, sql.text, err);
	if (rc == NP_OK)
		rc = np_db_insert_begin(writer, relation->name, relation->column_count,
					&writer->current, err);
	return rc;
}

static int relation_row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	struct np_db_writer *writer = (struct np_db_writer *)sink;

	return np_db_insert_row(writer->current, cells, err);
}

static int end_relation(struct np_sink *sink, struct np_err *err)
{
	(void)err;
	((struct np_db_writer *)sink)->current = NULL;
	return NP_OK;
}

struct np_sink *np_db_writer_sink(struct np_db_writer *writer)
{
	return &writer->base;
}

/* A crash of the machine in the middle loses the temporary file only, so nothing need be synced. */
static const char settings[] = "PRAGMA journal_mode=OFF;"
			       "PRAGMA synchronous=OFF;"
			       "PRAGMA locking_mode=EXCLUSIVE;"
			       "PRAGMA cache_size=-4096;"
			       "BEGIN";

/* All pages of `source`, if there is one, as the beginning of the new database. */
static int copy_pages(struct np_db_writer *writer, struct np_db *source, struct np_err *err)
{
	sqlite3_backup *backup;
	int code;

	if (!source)
		return NP_OK;
	backup = sqlite3_backup_init(writer->handle, "main", np_db_handle(source), "main");
	if (!backup)
		return write_fail(writer, err);
	code = sqlite3_backup_step(backup, -1);
	(void)sqlite3_backup_finish(backup);
	if (code != SQLITE_DONE)
		return np_fail(err, NP_E_IO, "cannot copy '%s' to '%s': %s", np_db_path(source),
			       writer->path, sqlite3_errstr(code));
	/* A header that asks for a write-ahead log would have one made beside the file. */
	return np_db_writer_exec(writer, "PRAGMA journal_mode=DELETE", err);
}

/* SQLite would follow a link that somebody has put there: the file is made before it is opened. */
static bool make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	return fd >= 0 && close(fd) == 0;
}

static int open_writer(struct np_db *source, const char *path, struct np_db_writer **ret,
		       struct np_err *err)
{
	NP_CLEANUP(np_db_writer_abortp) struct np_db_writer *writer = calloc(1, sizeof(*writer));
	char *file;
	int rc;

	if (!writer || !(writer->path = strdup(path)))
		return np_fail_nomem(err, path);
	writer->base = (struct np_sink){ .begin = begin_relation,
					 .row = relation_row,
					 .end = end_relation };
	writer->temporary = np_temporary_new(path);
	if (!writer->temporary)
		return np_fail_nomem(err, path);
	if (!make_file(writer->temporary))
		return np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerror(errno));
	/* SQLite before 3.39 takes "link/.." for nothing, whatever the link is. */
	file = realpath(writer->temporary, NULL);
	if (!file)
		return np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerror(errno));
	rc = sqlite3_open_v2(file, &writer->handle,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			     NULL);
	free(file);
	if (rc != SQLITE_OK)
		return write_fail(writer, err);
	rc = copy_pages(writer, source, err);
	if (rc == NP_OK)
		rc = np_db_writer_exec(writer, settings, err);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(writer);
	return NP_OK;
}

int np_db_writer_open(const char *path, struct np_db_writer **ret, struct np_err *err)
{
	return open_writer(NULL, path, ret, err);
}

int np_db_writer_open_copy(struct np_db *source, const char *path, struct np_db_writer **ret,
			   struct np_err *err)
{
	return open_writer(source, path, ret, err);
}

static int close_handle(struct np_db_writer *writer)
{
	int rc;

	for (size_t i = 0; i < writer->inserts.count; i++) {
		if (!writer->inserts.item[i])
			continue;
		(void)sqlite3_finalize(writer->inserts.item[i]->statement);
		free(writer->inserts.item[i]);
	}
	np_vec_release(&writer->inserts);
	rc = sqlite3_close(writer->handle);
	writer->handle = NULL;
	return rc;
}

void np_db_writer_abort(struct np_db_writer *writer)
{
	if (!writer)
		return;
	(void)close_handle(writer);
	if (writer->temporary)
		(void)unlink(writer->temporary);
	np_temporary_free(writer->temporary);
	free(writer->path);
	free(writer);
}

void np_db_writer_abortp(struct np_db_writer **writer)
{
	np_db_writer_abort(*writer);
	*writer = NULL;
}

/* Some file systems know no fsync(): they are left to what they do. */
static int sync_path(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);
	int rc = fd >= 0 ? fsync(fd) : 0;
	bool failed = rc != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT);

	if (fd >= 0)
		(void)close(fd);
	return failed ? NP_E_IO : NP_OK;
}

/* The name is on the disk when its directory is. */
static void sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory = !slash ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);

	if (directory)
		(void)sync_path(directory, O_RDONLY | O_DIRECTORY);
	free(directory);
}

static int commit(struct np_db_writer *writer, bool lasting, struct np_err *err)
{
	NP_CLEANUP(np_db_writer_abortp) struct np_db_writer *owned = writer;
	int rc = np_db_writer_exec(owned, "COMMIT", err);

	if (rc < 0)
		return rc;
	if (close_handle(owned) != SQLITE_OK)
		return np_fail(err, NP_E_IO, "cannot close '%s'", owned->path);
	if (lasting && sync_path(owned->temporary, O_WRONLY) < 0)
		return np_fail(err, NP_E_IO, "cannot write '%s': %s", owned->path, strerror(errno));
	/*
	 * A -wal left by a viewer belongs to the old database. Beside the new one
	 * it would be replayed into it, so it goes before the rename.
	 */
	np_db_remove_sidecars(owned->path);
	if (np_temporary_place(owned->temporary, owned->path) < 0)
		return np_fail(err, NP_E_IO, "cannot rename '%s' to '%s': %s", owned->temporary,
			       owned->path, strerror(errno));
	if (lasting)
		sync_directory(owned->path);
	np_temporary_free(owned->temporary);
	owned->temporary = NULL;
	return NP_OK;
}

int np_db_writer_commit(struct np_db_writer *writer, struct np_err *err)
{
	return commit(writer, false, err);
}

int np_db_writer_commit_lasting(struct np_db_writer *writer, struct np_err *err)
{
	return commit(writer, true, err);
}
