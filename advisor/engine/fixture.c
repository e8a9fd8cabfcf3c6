/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fixture_private.h"

/* Filling of fixtures takes no longer than this. */
static const struct sql_limits filling_limits = { .time = INT64_C(5000000000),
						  .rows = 1000000,
						  .bytes = INT64_C(256) << 20 };

void fixture_release(struct fixture *fixture)
{
	for (size_t i = 0; i < fixture->views.count; i++)
		rows_release(&fixture->views.item[i].rows);
	np_vec_release(&fixture->views);
	np_vec_release(&fixture->ranks);
}

struct fixture_view *fixture_view(struct fixture *fixture, const char *name)
{
	for (size_t i = 0; i < fixture->views.count; i++) {
		if (strcmp(fixture->views.item[i].name, name) == 0)
			return &fixture->views.item[i];
	}
	return NULL;
}

int fixture_begin_view(struct fixture *fixture, const char *name, struct fixture_view **ret,
		       struct np_err *err)
{
	struct view_description what;
	const char *names[FIXTURE_COLUMNS];
	enum np_column_type types[FIXTURE_COLUMNS];
	struct fixture_view *view = fixture_view(fixture, name);

	*ret = view;
	if (view)
		return NP_OK;
	if (!view_describe(name, &what) || what.column_count > NP_COUNT(names))
		return np_fail(err, NP_E_FORMAT, "there is no view '%s'", name);
	view = np_vec_add(&fixture->views, err);
	if (!view)
		return NP_E_NOMEM;
	for (size_t i = 0; i < what.column_count; i++) {
		names[i] = what.columns[i].name;
		types[i] = what.columns[i].type;
	}
	view->name = name;
	*ret = view;
	return rows_init(&view->rows, names, types, what.column_count, err);
}

static int add_rank(struct fixture *fixture, int64_t rank, struct np_err *err)
{
	int64_t *slot;

	for (size_t i = 0; i < fixture->ranks.count; i++) {
		if (fixture->ranks.item[i] == rank)
			return NP_OK;
	}
	slot = np_vec_add(&fixture->ranks, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = rank;
	return NP_OK;
}

static struct np_cell cell_of_json(const struct np_json *node)
{
	int64_t integer;
	double real;
	bool truth;

	switch (np_json_type(node)) {
	case NP_JSON_TEXT:
		return np_cell_text(np_json_text(node));
	case NP_JSON_INTEGER:
		return np_json_integer(node, &integer) ? np_cell_integer(integer) : np_cell_null();
	case NP_JSON_REAL:
		return np_json_real(node, &real) ? np_cell_real(real) : np_cell_null();
	case NP_JSON_BOOL:
		return np_cell_integer(np_json_bool(node, &truth) && truth);
	default:
		return np_cell_null();
	}
}

/* A row without a rank is of rank 0. */
static void set_defaults(const struct rows *rows, struct np_cell *cells)
{
	size_t rank = rows_column(rows, "rank");
	size_t start = rows_column(rows, "start_ns");
	size_t end = rows_column(rows, "end_ns");
	size_t length = rows_column(rows, "dur_ns");

	if (rank != SIZE_MAX && cells[rank].type == NP_CELL_NULL)
		cells[rank] = np_cell_integer(0);
	/* Of start, end and duration two tell the third. */
	if (start == SIZE_MAX || end == SIZE_MAX || length == SIZE_MAX)
		return;
	if (cells[start].type != NP_CELL_INTEGER)
		return;
	if (cells[end].type == NP_CELL_NULL && cells[length].type == NP_CELL_INTEGER)
		cells[end] = np_cell_integer(cells[start].integer + cells[length].integer);
	if (cells[length].type == NP_CELL_NULL && cells[end].type == NP_CELL_INTEGER)
		cells[length] = np_cell_integer(cells[end].integer - cells[start].integer);
}

static int add_json_row(struct fixture *fixture, struct fixture_view *view,
			const struct np_json *node, struct np_err *err)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	struct np_cell cells[FIXTURE_COLUMNS];
	size_t rank = rows_column(&view->rows, "rank");
	int rc = NP_OK;

	for (size_t i = 0; i < view->rows.column_count; i++)
		cells[i] = np_cell_null();
	while (np_json_next(node, &entry)) {
		size_t column = rows_column(&view->rows, entry.key);

		if (column == SIZE_MAX)
			return np_fail(err, NP_E_FORMAT, "%s has no column '%s'", view->name,
				       entry.key);
		cells[column] = cell_of_json(entry.value);
	}
	set_defaults(&view->rows, cells);
	if (rank != SIZE_MAX && cells[rank].type == NP_CELL_INTEGER)
		rc = add_rank(fixture, cells[rank].integer, err);
	return rc == NP_OK ? rows_add(&view->rows, cells, err) : rc;
}

static int read_json_rows(struct fixture *fixture, const struct np_json *rows, struct np_err *err)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	while (rc == NP_OK && np_json_next(rows, &entry)) {
		struct fixture_view *view;

		rc = fixture_begin_view(fixture, entry.key, &view, err);
		for (size_t i = 0; rc == NP_OK && i < np_json_count(entry.value); i++)
			rc = add_json_row(fixture, view, np_json_item(entry.value, i), err);
	}
	return rc;
}

/* What v_run says where the test says nothing of it: an ordinary run of PyTorch. */
static int read_run(struct fixture *fixture, const struct np_json *run, struct np_err *err)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	struct fixture_view *view;
	int rc = fixture_begin_view(fixture, "v_run", &view, err);

	if (rc == NP_OK && !np_json_member(run, "framework"))
		rc = rows_add(&view->rows,
			      (struct np_cell[]){ np_cell_null(), np_cell_text("framework"),
						  np_cell_text("pytorch") },
			      err);
	while (rc == NP_OK && np_json_next(run, &entry))
		rc = rows_add(&view->rows,
			      (struct np_cell[]){ np_cell_null(), np_cell_text(entry.key),
						  cell_of_json(entry.value) },
			      err);
	return rc;
}

/* Tables in place of the views, for SQL to fill. */
static int create_tables(struct sql *sql, unsigned scope, struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	int rc;

	for (size_t i = 0; i < view_catalog_count(); i++) {
		struct view_description what = view_catalog(i);

		if (!(what.scope & scope))
			continue;
		np_buf_add(&text, "CREATE TABLE ");
		sql_quote(&text, what.name);
		for (size_t c = 0; c < what.column_count; c++) {
			np_buf_add(&text, c > 0 ? ", " : "(");
			sql_quote(&text, what.columns[c].name);
			np_buf_add(&text,
				   strcmp(what.columns[c].name, "rank") == 0 ? " DEFAULT 0" : "");
		}
		np_buf_add(&text, ");");
	}
	rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		rc = sql_run(sql, text.text, err);
	np_buf_release(&text);
	return rc;
}

static int take_row(struct fixture *fixture, const char *name, struct sql_stmt *stmt,
		    struct np_err *err)
{
	struct fixture_view *view;
	struct np_cell cells[FIXTURE_COLUMNS];
	size_t rank;
	int rc = fixture_begin_view(fixture, name, &view, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < view->rows.column_count; i++)
		cells[i] = sql_cell(stmt, i);
	set_defaults(&view->rows, cells);
	rank = rows_column(&view->rows, "rank");
	if (rank != SIZE_MAX && cells[rank].type == NP_CELL_INTEGER)
		rc = add_rank(fixture, cells[rank].integer, err);
	return rc == NP_OK ? rows_add(&view->rows, cells, err) : rc;
}

static int take_tables(struct fixture *fixture, struct sql *sql, unsigned scope, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < view_catalog_count() && rc >= 0; i++) {
		struct view_description what = view_catalog(i);
		NP_CLEANUP(sql_finishp) struct sql_stmt *stmt = NULL;
		char text[FIXTURE_COLUMNS];

		if (!(what.scope & scope))
			continue;
		(void)snprintf(text, sizeof(text), "SELECT * FROM \"%s\"", what.name);
		rc = sql_prepare(sql, text, true, &stmt, err);
		while (rc >= 0 && (rc = sql_step(stmt, err)) > 0)
			rc = take_row(fixture, what.name, stmt, err);
	}
	return rc;
}

static int read_sql_rows(struct fixture *fixture, const char *text, unsigned scope,
			 struct np_err *err)
{
	NP_CLEANUP(sql_closep) struct sql *sql = NULL;
	int rc = sql_open(&sql, err);

	if (rc == NP_OK)
		rc = create_tables(sql, scope, err);
	if (rc < 0)
		return rc;
	sql_begin(sql, &filling_limits);
	rc = sql_run_fixture(sql, text, err);
	sql_end(sql);
	return rc == NP_OK ? take_tables(fixture, sql, scope, err) : rc;
}

/* The text of a file beside the rule file. */
static int read_beside(const struct rule_file *file, const char *name, struct np_buf *buf,
		       struct np_err *err)
{
	const char *slash = strrchr(file->path, '/');
	int folder = slash ? (int)(slash - file->path) + 1 : 0;
	char block[4096];
	char *path = NULL;
	FILE *stream;
	size_t got;

	if (name[0] == '/' || strstr(name, ".."))
		return np_fail(err, NP_E_FORMAT, "'%s' does not lie beside the rule", name);
	if (asprintf(&path, "%.*s%s", folder, file->path, name) < 0)
		return np_fail_nomem(err, name);
	stream = fopen(path, "re");
	free(path);
	if (!stream)
		return np_fail(err, NP_E_NOTFOUND, "cannot open '%s': %s", name,
			       strerrordesc_np(errno));
	while ((got = fread(block, 1, sizeof(block), stream)) > 0 && buf->length < 1U << 20)
		np_buf_add_bytes(buf, block, got);
	(void)fclose(stream);
	return np_buf_check(buf, err);
}

static int read_sql(struct fixture *fixture, const struct rule *rule, const struct np_json *node,
		    unsigned scope, struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	const char *single = np_json_text(node);
	size_t length = single ? strlen(single) : 0;
	int rc = NP_OK;

	if (length > 4 && strcmp(single + length - 4, ".sql") == 0)
		rc = read_beside(rule->file, single, &text, err);
	else if (single)
		np_buf_add(&text, single);
	for (size_t i = 0; !single && i < np_json_count(node); i++) {
		const char *line = np_json_text(np_json_item(node, i));

		np_buf_add(&text, line ? line : "");
		np_buf_add(&text, "\n");
	}
	if (rc == NP_OK)
		rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		rc = read_sql_rows(fixture, text.text, scope, err);
	np_buf_release(&text);
	return rc;
}

int fixture_read(struct fixture *fixture, const struct rule *rule, const struct np_json *test,
		 struct np_err *err)
{
	static const char *const keys[] = { "name", "rows", "sql", "run", "set", "expect" };
	unsigned scope = rule->over_cluster ? VIEW_CLUSTER : VIEW_RANK;
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	while (np_json_next(test, &entry)) {
		size_t i = 0;

		while (i < NP_COUNT(keys) && strcmp(keys[i], entry.key) != 0)
			i++;
		if (i == NP_COUNT(keys))
			return np_fail(err, NP_E_FORMAT, "unknown field '%s' of a test", entry.key);
	}
	if (np_json_type(np_json_member(test, "expect")) != NP_JSON_OBJECT)
		return np_fail(err, NP_E_FORMAT, "a test has no 'expect'");
	if (np_json_member(test, "sql"))
		rc = read_sql(fixture, rule, np_json_member(test, "sql"), scope, err);
	if (rc == NP_OK)
		rc = read_json_rows(fixture, np_json_member(test, "rows"), err);
	if (rc == NP_OK)
		rc = read_run(fixture, np_json_member(test, "run"), err);
	if (rc == NP_OK)
		rc = fixture_derive(fixture, err);
	if (rc == NP_OK && fixture->ranks.count == 0)
		rc = add_rank(fixture, 0, err);
	return rc;
}

/* The rows of one rank; those without a rank belong to all. */
static int rows_of_rank(const struct rows *all, int64_t rank, struct rows *ret, struct np_err *err)
{
	size_t column = rows_column(all, "rank");
	const char *names[FIXTURE_COLUMNS];
	enum np_column_type types[FIXTURE_COLUMNS];
	int rc;

	for (size_t i = 0; i < all->column_count; i++) {
		names[i] = all->columns[i].name;
		types[i] = all->columns[i].type;
	}
	rc = rows_init(ret, names, types, all->column_count, err);
	for (size_t i = 0; rc == NP_OK && i < rows_count(all); i++) {
		const struct np_cell *of = column == SIZE_MAX ? NULL : rows_cell(all, i, column);

		if (!of || of->type == NP_CELL_NULL ||
		    (of->type == NP_CELL_INTEGER && of->integer == rank))
			rc = rows_add(ret, rows_cell(all, i, 0), err);
	}
	return rc;
}

static int add_views(struct view_set *set, const struct fixture *fixture, bool one_rank,
		     int64_t rank, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < fixture->views.count && rc == NP_OK; i++) {
		const struct rows *rows = &fixture->views.item[i].rows;

		if (one_rank) {
			struct rows **slot = np_vec_add(&set->kept, err);

			if (!slot)
				return NP_E_NOMEM;
			*slot = calloc(1, sizeof(**slot));
			if (!*slot) {
				set->kept.count--;
				return np_fail_nomem(err, "a fixture");
			}
			rc = rows_of_rank(rows, rank, *slot, err);
			rows = *slot;
		}
		if (rc == NP_OK)
			rc = view_set_add_rows(set, fixture->views.item[i].name, rows, err);
	}
	return rc;
}

int fixture_run(const struct fixture *fixture, const struct rule *rule, const struct np_json *test,
		int32_t rank, struct result *ret, struct np_err *err)
{
	struct program *program = NULL;
	struct view_set views = { .list = { 0 } };
	struct view_slots slots = { .arena = NULL };
	int rc = add_views(&views, fixture, rank != NP_NO_RANK, rank, err);

	if (rc == NP_OK)
		rc = view_set_add_absent(&views, rank == NP_NO_RANK ? VIEW_CLUSTER : VIEW_RANK,
					 err);
	if (rc == NP_OK)
		rc = view_slots_init(&slots, &views, err);
	if (rc == NP_OK)
		rc = program_new(rule, &slots, &program, err);
	if (rc == NP_OK)
		rule_evaluate(&(struct evaluation){ .program = program,
						    .rank = rank,
						    .set = np_json_member(test, "set") },
			      ret);
	program_free(program);
	view_slots_release(&slots);
	view_set_release(&views);
	return rc;
}
