/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one statement over the merged tables of a run, as rules are run (npuprof/query.h). */
#include "npuprof/query.h"

#include "advisor/engine/sql/sql.h"
#include "advisor/engine/views/views.h"

/* The cells of one row. */
static int give_row(struct adv_sql_stmt *stmt, struct np_cell *cells, size_t count,
		    struct np_sink *sink, struct np_err *err)
{
	for (size_t i = 0; i < count; i++)
		cells[i] = adv_sql_cell(stmt, i);
	return np_sink_row(sink, cells, err);
}

static int give_rows(struct adv_sql_stmt *stmt, struct np_column *columns, struct np_cell *cells,
		     struct np_sink *sink, struct np_err *err)
{
	struct np_relation relation = { .name = "rows",
					.columns = columns,
					.column_count = adv_sql_columns(stmt) };
	int rc;

	for (size_t i = 0; i < relation.column_count; i++)
		columns[i] = (struct np_column){ adv_sql_column_name(stmt, i),
						 adv_sql_column_type(stmt, i) };
	rc = sink->begin(sink, &relation, err);
	while (rc == NP_OK) {
		rc = adv_sql_step(stmt, err);
		if (rc != 1)
			break;
		rc = give_row(stmt, cells, relation.column_count, sink, err);
	}
	return rc == NP_OK ? sink->end(sink, err) : rc;
}

static int run(struct adv_sql *sql, const char *text, struct np_sink *sink, struct np_err *err)
{
	NP_CLEANUP(adv_sql_finishp) struct adv_sql_stmt *stmt = NULL;
	struct np_column *columns = NULL;
	struct np_cell *cells = NULL;
	size_t count;
	int rc = adv_sql_prepare(sql, text, false, &stmt, err);

	if (rc < 0)
		return rc;
	count = adv_sql_columns(stmt);
	columns = calloc(count + 1, sizeof(*columns));
	cells = calloc(count + 1, sizeof(*cells));
	rc = columns && cells ? give_rows(stmt, columns, cells, sink, err)
			      : np_fail_nomem(err, "the columns of a question");
	free(columns);
	free(cells);
	return rc;
}

int np_query_run(const struct np_analysis *analysis, const char *sql,
		 const struct np_query_limits *limits, struct np_sink *sink, struct np_err *err)
{
	const struct adv_view_cluster source = { .analysis = analysis };
	const struct adv_sql_limits most = { limits->time, limits->rows, limits->bytes };
	struct adv_view_set views = { 0 };
	struct adv_sql *connection = NULL;
	int rc = adv_view_set_add_cluster(&views, &source, false, err);

	if (rc == NP_OK)
		rc = adv_sql_open(&connection, err);
	for (size_t i = 0; i < views.list.count && rc == NP_OK; i++)
		rc = adv_sql_add_view(connection, &views.list.item[i], err);
	if (rc == NP_OK) {
		adv_sql_begin(connection, &most);
		rc = run(connection, sql, sink, err);
		adv_sql_end(connection);
	}
	adv_sql_close(connection);
	adv_view_set_release(&views);
	return rc;
}
