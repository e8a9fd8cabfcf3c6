/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads tables of a merged database. It is our own output, complete and closed when it
 * got its name, so nothing is locked and nothing appears beside it.
 */
#include "sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql_connection.h"

static int open_file(const char *path, sqlite3 **ret, struct np_err *err)
{
	/* SQLite before 3.39 takes "link/.." for nothing, whatever the link is. */
	char *file = realpath(path, NULL);
	struct np_buf uri = NP_BUF_INIT;
	int rc;

	if (!file)
		return np_fail(err, NP_E_IO, "cannot open '%s': %s", path, strerror(errno));
	np_buf_add(&uri, "file:");
	for (const char *c = file; *c; c++) {
		if (strchr("?#%", *c))
			np_buf_printf(&uri, "%%%02X", (unsigned char)*c);
		else
			np_buf_add_char(&uri, *c);
	}
	free(file);
	np_buf_add(&uri, "?immutable=1");
	rc = uri.failed
		     ? SQLITE_NOMEM
		     : sqlite3_open_v2(uri.text, ret,
				       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
				       NULL);
	if (rc != SQLITE_OK)
		rc = np_fail(err, NP_E_IO, "cannot open '%s': %s", path, sqlite3_errstr(rc));
	np_buf_release(&uri);
	return rc;
}

static int take_rows(sqlite3_stmt *stmt, struct adv_rows *rows, struct np_err *err)
{
	struct np_cell cells[128];
	int rc = NP_OK;
	int code;

	while (rc == NP_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		for (size_t i = 0; i < rows->column_count && i < NP_COUNT(cells); i++)
			cells[i] = adv_sql_value_cell(sqlite3_column_value(stmt, (int)i));
		rc = adv_rows_add(rows, cells, err);
	}
	if (rc == NP_OK && code != SQLITE_DONE)
		rc = np_fail(err, NP_E_FORMAT, "%s", sqlite3_errmsg(sqlite3_db_handle(stmt)));
	return rc;
}

int adv_sql_read_table(const char *path, const char *table, struct adv_rows *rows,
		       struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int rc = open_file(path, &db, err);

	for (size_t i = 0; i < rows->column_count; i++) {
		np_buf_add(&text, i > 0 ? ", " : "SELECT ");
		adv_sql_quote(&text, rows->columns[i].name);
	}
	np_buf_add(&text, " FROM ");
	adv_sql_quote(&text, table);
	if (rc == NP_OK)
		rc = np_buf_check(&text, err);
	if (rc == NP_OK && sqlite3_prepare_v2(db, text.text, -1, &stmt, NULL) != SQLITE_OK)
		rc = np_fail(err, NP_E_NOTFOUND, "'%s': %s", path, sqlite3_errmsg(db));
	if (rc == NP_OK)
		rc = take_rows(stmt, rows, err);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(db);
	np_buf_release(&text);
	return rc;
}
