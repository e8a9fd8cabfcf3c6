/* SPDX-License-Identifier: Apache-2.0 */
#include "eval_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A rule may take this long on one rank, and no rule more than its own limit says. */
#define DEFAULT_TIMEOUT_MS 5000
#define CLUSTER_TIMEOUT_MS 20000
#define ROW_LIMIT          2000000
#define MEMORY_LIMIT       (INT64_C(512) << 20)
#define CELL_LIMIT         8000000
#define COLUMN_LIMIT       200

const char *status_name(enum rule_status status)
{
	static const char *const names[] = { "clear",          "fired",      "skipped",
					     "not-applicable", "suppressed", "error" };

	return names[status];
}

void outcome_free(struct outcome *outcome)
{
	if (!outcome)
		return;
	np_vec_release(&outcome->advice);
	values_release(&outcome->summary);
	rows_release(&outcome->evidence);
	np_arena_free(outcome->arena);
	free(outcome);
}

void result_release(struct result *result)
{
	for (size_t i = 0; i < result->outcomes.count; i++)
		outcome_free(result->outcomes.item[i]);
	np_vec_release(&result->outcomes);
}

void composed_release(struct composed *composed)
{
	np_buf_release(&composed->text);
	np_vec_release(&composed->pieces);
}

void compose(struct composed *composed, const char *words)
{
	np_buf_add(&composed->text, words);
}

void compose_name(struct composed *composed, const char *name)
{
	sql_quote(&composed->text, name);
}

void compose_sql(struct composed *composed, const struct rule_sql *sql)
{
	struct piece *piece = np_vec_add(&composed->pieces, NULL);

	if (piece) {
		piece->sql = sql;
		piece->offset = composed->text.length;
		piece->length = strlen(sql->text);
	}
	np_buf_add(&composed->text, sql->text);
	/* A comment at the end of a piece must not swallow what follows. */
	np_buf_add(&composed->text, "\n");
}

int eval_wrong(struct eval *eval, const struct rule_sql *culprit, size_t inside,
	       const struct np_err *err)
{
	if (eval->problems) {
		problem_add(eval->problems, culprit ? culprit->file : eval->rule->file,
			    eval->rule->id, culprit ? culprit->path : eval->rule->path, inside,
			    false, "%s", err->text);
		return NP_E_FORMAT;
	}
	if (!eval->stop) {
		eval->result->status = STATUS_ERROR;
		eval->result->reason = *err;
		eval->result->culprit = culprit;
		eval->result->inside = inside;
	}
	eval->stop = true;
	return NP_E_FORMAT;
}

/* The piece that holds an offset of the text, or the first one. */
static const struct piece *piece_at(const struct composed *composed, size_t offset)
{
	for (size_t i = 0; i < composed->pieces.count; i++) {
		const struct piece *piece = &composed->pieces.item[i];

		if (offset >= piece->offset && offset <= piece->offset + piece->length)
			return piece;
	}
	return composed->pieces.count > 0 ? &composed->pieces.item[0] : NULL;
}

int eval_prepare(struct eval *eval, const struct composed *composed, struct sql_stmt **ret)
{
	struct np_err err = NP_ERR_INIT;
	int rc = np_buf_check(&composed->text, &err);
	const struct piece *piece;
	size_t inside = SIZE_MAX;
	int offset;

	if (rc < 0)
		return eval_wrong(eval, NULL, SIZE_MAX, &err);
	rc = sql_prepare(eval->sql, composed->text.text, false, ret, &err);
	if (rc == NP_OK)
		return NP_OK;
	offset = sql_error_offset(eval->sql);
	piece = piece_at(composed, offset < 0 ? SIZE_MAX : (size_t)offset);
	if (piece && offset >= 0 && (size_t)offset >= piece->offset &&
	    (size_t)offset <= piece->offset + piece->length)
		inside = (size_t)offset - piece->offset;
	return eval_wrong(eval, piece ? piece->sql : NULL, inside, &err);
}

int eval_step(struct eval *eval, const struct composed *composed, struct sql_stmt *stmt)
{
	struct np_err err = NP_ERR_INIT;
	const struct piece *piece = piece_at(composed, SIZE_MAX);
	int rc = sql_step(stmt, &err);

	return rc < 0 ? eval_wrong(eval, piece ? piece->sql : NULL, SIZE_MAX, &err) : rc;
}

static int drop_table(struct eval *eval, const char *name, struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	int rc;

	np_buf_add(&text, "DROP TABLE IF EXISTS temp.");
	sql_quote(&text, name);
	rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		rc = sql_run(eval->sql, text.text, err);
	np_buf_release(&text);
	return rc;
}

/* What a column holds in all rows, if that is one kind: no value may change by being stored. */
static const char *kind_of(const struct rows *rows, size_t column)
{
	static const char *const kinds[] = { [NP_CELL_NULL] = "",
					     [NP_CELL_INTEGER] = " INTEGER",
					     [NP_CELL_REAL] = " REAL",
					     [NP_CELL_TEXT] = " TEXT" };
	enum np_cell_type kind = NP_CELL_NULL;

	for (size_t i = 0; i < rows_count(rows); i++) {
		enum np_cell_type type = rows_cell(rows, i, column)->type;

		if (type == NP_CELL_NULL || type == kind)
			continue;
		if (kind != NP_CELL_NULL)
			return "";
		kind = type;
	}
	return kinds[kind];
}

/*
 * SQLite makes an index for a join only if both sides are of one kind, so the
 * columns of a table say what they hold.
 */
static int create_table(struct eval *eval, const char *name, const struct rows *rows,
			struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	int rc = drop_table(eval, name, err);

	np_buf_add(&text, "CREATE TEMP TABLE ");
	sql_quote(&text, name);
	for (size_t i = 0; i < rows->column_count; i++) {
		np_buf_add(&text, i > 0 ? ", " : "(");
		sql_quote(&text, rows->columns[i].name);
		np_buf_add(&text, kind_of(rows, i));
	}
	np_buf_add(&text, ")");
	if (rc == NP_OK)
		rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		rc = sql_run(eval->sql, text.text, err);
	np_buf_release(&text);
	return rc;
}

static int prepare_insert(struct eval *eval, const char *name, size_t columns,
			  struct sql_stmt **ret, struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	int rc;

	np_buf_add(&text, "INSERT INTO temp.");
	sql_quote(&text, name);
	np_buf_add(&text, " VALUES(?");
	for (size_t i = 1; i < columns; i++)
		np_buf_add(&text, ",?");
	np_buf_add(&text, ")");
	rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		rc = sql_prepare(eval->sql, text.text, true, ret, err);
	np_buf_release(&text);
	return rc;
}

static int insert_rows(struct eval *eval, const char *name, const struct rows *rows,
		       struct np_err *err)
{
	NP_CLEANUP(sql_finishp) struct sql_stmt *insert = NULL;
	int rc = prepare_insert(eval, name, rows->column_count, &insert, err);

	for (size_t r = 0; r < rows_count(rows) && rc == NP_OK; r++) {
		for (size_t i = 0; i < rows->column_count && rc == NP_OK; i++)
			rc = sql_bind(insert, i + 1, *rows_cell(rows, r, i), err);
		if (rc == NP_OK)
			rc = sql_step(insert, err);
		sql_reset(insert);
	}
	return rc;
}

/* Begin rows with the columns of a statement. */
static int begin_rows(const struct sql_stmt *from, struct rows *rows, struct np_err *err)
{
	const char *names[COLUMN_LIMIT];
	size_t count = sql_columns(from);

	if (count > COLUMN_LIMIT)
		return np_fail(err, NP_E_FORMAT, "it gives more than %d columns", COLUMN_LIMIT);
	for (size_t i = 0; i < count; i++)
		names[i] = sql_column_name(from, i);
	return rows_init(rows, names, NULL, count, err);
}

/* All rows of what was composed. */
static int collect(struct eval *eval, const struct composed *composed, struct rows *rows,
		   struct np_err *err)
{
	NP_CLEANUP(sql_finishp) struct sql_stmt *from = NULL;
	struct np_cell cells[COLUMN_LIMIT];
	int rc = eval_prepare(eval, composed, &from);
	int more = 1;

	if (rc < 0)
		return rc;
	rc = begin_rows(from, rows, err);
	while (rc == NP_OK && (more = eval_step(eval, composed, from)) > 0) {
		for (size_t i = 0; i < rows->column_count; i++)
			cells[i] = sql_cell(from, i);
		rc = rows_add(rows, cells, err);
		if (rc == NP_OK && rows->cells.count > CELL_LIMIT)
			rc = np_fail(err, NP_E_RANGE, "it gives too many rows; aggregate in SQL");
	}
	return more < 0 ? more : rc;
}

/*
 * A temporary table of what a rule's SELECT gives. The rows are collected first:
 * a schema cannot change under a statement that reads it.
 */
static int make_table(struct eval *eval, const char *name, const struct composed *composed)
{
	const struct piece *piece = piece_at(composed, SIZE_MAX);
	struct rows rows = { .arena = NULL };
	struct np_err err = NP_ERR_INIT;
	int rc = collect(eval, composed, &rows, &err);

	if (rc == NP_OK)
		rc = create_table(eval, name, &rows, &err);
	if (rc == NP_OK)
		rc = insert_rows(eval, name, &rows, &err);
	rows_release(&rows);
	/* What was wrong with the SQL has been told already. */
	if (rc < 0 && err.code != NP_OK)
		rc = eval_wrong(eval, piece ? piece->sql : NULL, SIZE_MAX, &err);
	return rc;
}

static int make_simple_table(struct eval *eval, const char *name, const struct rule_sql *sql)
{
	struct composed composed = COMPOSED_INIT;
	int rc;

	compose_sql(&composed, sql);
	rc = make_table(eval, name, &composed);
	composed_release(&composed);
	return rc;
}

static void part_name(char *ret, size_t size, size_t index)
{
	(void)snprintf(ret, size, ":_p%zu", index);
}

/* "rank IS :_p0 AND …": the rows of q that belong to the part. */
static void compose_part(struct composed *composed, const struct rule *rule)
{
	char name[24];

	compose(composed, "SELECT * FROM temp.q WHERE 1");
	for (size_t i = 0; i < rule->per.count; i++) {
		part_name(name, sizeof(name), i);
		compose(composed, " AND ");
		compose_name(composed, rule->per.item[i]);
		compose(composed, " IS ");
		compose(composed, name);
	}
}

/* " FROM (…)": put in what was composed before, and release it; its pieces move along. */
static void compose_inner(struct composed *composed, struct composed *inner)
{
	size_t moved;

	compose(composed, " FROM (");
	moved = composed->text.length;
	compose(composed, inner->text.text);
	compose(composed, ")");
	for (size_t i = 0; i < inner->pieces.count; i++) {
		struct piece *piece = np_vec_add(&composed->pieces, NULL);

		if (!piece)
			break;
		*piece = inner->pieces.item[i];
		piece->offset += moved;
	}
	composed_release(inner);
}

/* Wrap what was composed so far: columns of captures, rows that match. */
static void compose_match(struct composed *composed, const struct rule_match *match, size_t index)
{
	struct composed inner = *composed;

	*composed = COMPOSED_INIT;
	compose(composed, "SELECT *");
	for (size_t i = 0; i < match->captures.count; i++) {
		np_buf_printf(&composed->text, ", regex_capture(:_m%zu, ", index);
		compose_name(composed, match->column);
		np_buf_printf(&composed->text, ", %d) AS ", (int)match->captures.item[i].group);
		compose_name(composed, match->captures.item[i].name);
	}
	compose_inner(composed, &inner);
	compose(composed, " WHERE ");
	compose_name(composed, match->column);
	np_buf_printf(&composed->text, " REGEXP :_m%zu", index);
}

/* Columns that look others up. */
static void compose_lookups(struct composed *composed, const struct rule_match *match, size_t index)
{
	struct composed inner = *composed;

	if (match->lookups.count == 0)
		return;
	*composed = COMPOSED_INIT;
	compose(composed, "SELECT *");
	for (size_t i = 0; i < match->lookups.count; i++) {
		np_buf_printf(&composed->text,
			      ", (SELECT value FROM json_each(:_l%zu_%zu) WHERE key = ", index, i);
		compose_name(composed, match->lookups.item[i].from);
		compose(composed, ") AS ");
		compose_name(composed, match->lookups.item[i].name);
	}
	compose_inner(composed, &inner);
}

/* The table ev: rows of the part that are kept. */
static int make_evidence(struct eval *eval)
{
	const struct rule *rule = eval->rule;
	struct composed composed = COMPOSED_INIT;
	int rc;

	compose_part(&composed, rule);
	if (rule->filter.text) {
		compose(&composed, " AND (");
		compose_sql(&composed, &rule->filter);
		compose(&composed, ")");
	}
	for (size_t i = 0; i < rule->matches.count; i++) {
		compose_match(&composed, &rule->matches.item[i], i);
		compose_lookups(&composed, &rule->matches.item[i], i);
	}
	rc = make_table(eval, "ev", &composed);
	composed_release(&composed);
	return rc;
}

static struct np_cell as_real(struct np_cell cell)
{
	return cell.type == NP_CELL_INTEGER ? np_cell_real((double)cell.integer) : cell;
}

/* Aggregates over ev, or over all rows of the part. */
static int summarize(struct eval *eval, bool over_query)
{
	const struct rule *rule = eval->rule;
	NP_CLEANUP(sql_finishp) struct sql_stmt *stmt = NULL;
	struct composed composed = COMPOSED_INIT;
	struct np_err err = NP_ERR_INIT;
	size_t count = 0;
	int rc = NP_OK;

	compose(&composed, "SELECT ");
	for (size_t i = 0; i < rule->summary.count; i++) {
		if (rule->summary.item[i].over_query != over_query)
			continue;
		compose(&composed, count++ > 0 ? ", (" : "(");
		compose_sql(&composed, &rule->summary.item[i].sql);
		compose(&composed, ")");
	}
	compose(&composed, " FROM ");
	if (over_query) {
		compose(&composed, "(");
		compose_part(&composed, rule);
		compose(&composed, ")");
	} else {
		compose(&composed, "temp.ev");
	}
	if (count > 0)
		rc = eval_prepare(eval, &composed, &stmt);
	if (rc == NP_OK && count > 0)
		rc = eval_step(eval, &composed, stmt);
	for (size_t i = 0, column = 0; rc > 0 && i < rule->summary.count; i++) {
		const char *name = rule->summary.item[i].name;

		if (rule->summary.item[i].over_query != over_query)
			continue;
		if (values_set(&eval->shown, name, sql_cell(stmt, column), &err) < 0 ||
		    values_set(&eval->scalars, name, as_real(sql_cell(stmt, column)), &err) < 0)
			rc = eval_wrong(eval, NULL, SIZE_MAX, &err);
		column++;
	}
	composed_release(&composed);
	return rc < 0 ? rc : NP_OK;
}

struct np_cell eval_scalar(struct eval *eval, const struct rule_sql *sql)
{
	NP_CLEANUP(sql_finishp) struct sql_stmt *stmt = NULL;
	struct composed composed = COMPOSED_INIT;
	struct np_cell cell = np_cell_null();
	struct np_err err = NP_ERR_INIT;

	if (!sql->text || eval->stop)
		return cell;
	compose(&composed, "SELECT (");
	compose_sql(&composed, sql);
	compose(&composed, ") FROM (SELECT ");
	for (size_t i = 0; i < eval->scalars.list.count; i++) {
		compose(&composed, i > 0 ? ", :" : ":");
		compose(&composed, eval->scalars.list.item[i].name);
		compose(&composed, " AS ");
		compose_name(&composed, eval->scalars.list.item[i].name);
	}
	compose(&composed, ")");
	sql_set_values(eval->sql, &eval->scalars);
	if (eval_prepare(eval, &composed, &stmt) == NP_OK && eval_step(eval, &composed, stmt) > 0 &&
	    cell_copy(eval->arena, sql_cell(stmt, 0), &cell, &err) < 0)
		(void)eval_wrong(eval, sql, SIZE_MAX, &err);
	sql_set_values(eval->sql, &eval->params);
	composed_release(&composed);
	return cell;
}

bool eval_true(struct eval *eval, const struct rule_sql *sql)
{
	struct np_cell cell = eval_scalar(eval, sql);
	double number;

	return cell_number(&cell, &number) && number != 0;
}

/* The values every expression and text may name, before those of the summary. */
static int begin_part(struct eval *eval, const struct np_cell *part, struct np_err *err)
{
	const struct rule *rule = eval->rule;
	int rc = NP_OK;

	eval->scalars.list.count = 0;
	eval->shown.list.count = 0;
	for (size_t i = 0; i < eval->params.list.count && rc == NP_OK; i++) {
		const struct named_value *one = &eval->params.list.item[i];

		if (one->name[0] == '_')
			continue;
		rc = values_set(&eval->scalars, one->name, as_real(one->value), err);
		if (rc == NP_OK)
			rc = values_set(&eval->shown, one->name, one->value, err);
	}
	for (size_t i = 0; i < rule->per.count && rc == NP_OK; i++) {
		char name[24];

		part_name(name, sizeof(name), i);
		rc = values_set(&eval->params, name + 1, part[i], err);
		if (rc == NP_OK)
			rc = values_set(&eval->scalars, rule->per.item[i], as_real(part[i]), err);
		if (rc == NP_OK)
			rc = values_set(&eval->shown, rule->per.item[i], part[i], err);
	}
	return rc;
}

static void run_part(struct eval *eval, const struct np_cell *part)
{
	struct np_err err = NP_ERR_INIT;
	int rc = begin_part(eval, part, &err);

	if (rc < 0) {
		(void)eval_wrong(eval, NULL, SIZE_MAX, &err);
		return;
	}
	if (make_evidence(eval) < 0)
		return;
	rc = summarize(eval, false);
	if (summarize(eval, true) < 0 || rc < 0)
		return;
	if (eval_true(eval, &eval->rule->fire) || eval->problems)
		eval_outcome(eval, part);
}

/* The parts there are in q, in order. */
static int list_parts(struct eval *eval, struct rows *parts)
{
	const struct rule *rule = eval->rule;
	NP_CLEANUP(sql_finishp) struct sql_stmt *stmt = NULL;
	struct composed composed = COMPOSED_INIT;
	struct np_cell cells[16];
	struct np_err err = NP_ERR_INIT;
	struct composed columns = COMPOSED_INIT;
	int rc;

	for (size_t i = 0; i < rule->per.count; i++) {
		compose(&columns, i > 0 ? ", " : "");
		compose_name(&columns, rule->per.item[i]);
	}
	np_buf_printf(&composed.text, "SELECT DISTINCT %s FROM temp.q", columns.text.text);
	if (rule->focus.text) {
		np_buf_printf(&composed.text, " WHERE (%s) IN (", columns.text.text);
		compose_sql(&composed, &rule->focus);
		compose(&composed, ")");
	}
	np_buf_printf(&composed.text, " ORDER BY %s", columns.text.text);
	composed_release(&columns);
	rc = eval_prepare(eval, &composed, &stmt);
	if (rc == NP_OK && rows_init(parts, rule->per.item, NULL, rule->per.count, &err) < 0)
		rc = eval_wrong(eval, NULL, SIZE_MAX, &err);
	while (rc == NP_OK && (rc = eval_step(eval, &composed, stmt)) > 0) {
		for (size_t i = 0; i < rule->per.count && i < NP_COUNT(cells); i++)
			cells[i] = sql_cell(stmt, i);
		rc = rows_add(parts, cells, &err);
	}
	composed_release(&composed);
	return rc;
}

static void run_parts(struct eval *eval)
{
	struct rows parts = { .arena = NULL };
	struct np_cell nothing[16] = { [0] = { .type = NP_CELL_NULL } };

	if (eval->rule->per.count == 0 || eval->problems) {
		if (eval->rule->per.count > 0)
			(void)list_parts(eval, &parts);
		run_part(eval, nothing);
	} else if (list_parts(eval, &parts) == NP_OK) {
		for (size_t i = 0; i < rows_count(&parts) && !eval->stop; i++)
			run_part(eval, rows_cell(&parts, i, 0));
	}
	rows_release(&parts);
}

/* Does the rule apply to this run? */
static bool applies(struct eval *eval)
{
	NP_CLEANUP(sql_finishp) struct sql_stmt *stmt = NULL;
	struct composed composed = COMPOSED_INIT;
	struct np_cell cell = np_cell_null();
	double number;

	if (!eval->rule->when.text)
		return true;
	compose(&composed, "SELECT (");
	compose_sql(&composed, &eval->rule->when);
	compose(&composed, ") FROM (SELECT ");
	for (size_t i = 0; i < view_run_key_count; i++)
		np_buf_printf(&composed.text, "%smax(CASE key WHEN '%s' THEN value END) AS %s",
			      i > 0 ? ", " : "", view_run_keys[i], view_run_keys[i]);
	compose(&composed, " FROM v_run)");
	if (eval_prepare(eval, &composed, &stmt) == NP_OK && eval_step(eval, &composed, stmt) > 0)
		cell = sql_cell(stmt, 0);
	composed_release(&composed);
	return cell_number(&cell, &number) && number != 0;
}

/* Why the rule cannot run on what was recorded; true when it can. */
static bool has_inputs(struct eval *eval, struct np_err *why)
{
	const struct rule *rule = eval->rule;

	for (size_t i = 0; i < rule->needs.count; i++) {
		const struct rule_need *need = &rule->needs.item[i];
		struct view *view = view_set_find(eval->in->views, need->view);
		struct np_err err = NP_ERR_INIT;

		if (!view || !view->present) {
			(void)np_fail(why, NP_E_NOTFOUND, "no %s; %s", need->view,
				      view_cure(need->view, NULL));
			return false;
		}
		if (view_open(view, &err) < 0) {
			*why = err;
			return false;
		}
		for (size_t c = 0; c < need->columns.count; c++) {
			size_t column = view_column(view, need->columns.item[c]);

			if (column != SIZE_MAX && view_knows(view, column))
				continue;
			(void)np_fail(why, NP_E_NOTFOUND, "no %s in %s; %s", need->columns.item[c],
				      need->view, view_cure(need->view, need->columns.item[c]));
			return false;
		}
	}
	return true;
}

/* The level of the profile, where it is known, must be high enough. */
static bool has_level(struct eval *eval, struct np_err *why)
{
	NP_CLEANUP(sql_finishp) struct sql_stmt *stmt = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_cell cell = np_cell_null();
	double level;

	if (eval->rule->level == 0)
		return true;
	if (sql_prepare(eval->sql, "SELECT max(value) FROM v_run WHERE key = 'level'", false, &stmt,
			&err) == NP_OK &&
	    sql_step(stmt, &err) > 0)
		cell = sql_cell(stmt, 0);
	if (!cell_number(&cell, &level) || level >= (double)eval->rule->level)
		return true;
	(void)np_fail(why, NP_E_NOTFOUND, "the profile is of Level%d; profiler_level=Level%d",
		      (int)level, (int)eval->rule->level);
	return false;
}

static void run_rule(struct eval *eval)
{
	const struct rule *rule = eval->rule;
	struct np_err err = NP_ERR_INIT;

	if (eval_set_params(eval, &err) < 0) {
		(void)eval_wrong(eval, NULL, SIZE_MAX, &err);
		return;
	}
	sql_set_values(eval->sql, &eval->params);
	if (!applies(eval) && !eval->problems && !eval->stop) {
		eval->result->status = STATUS_NOT_APPLICABLE;
		(void)np_fail(&eval->result->reason, NP_E_NOTFOUND, "not for this kind of run (%s)",
			      rule->when.text);
		return;
	}
	if (!eval->problems &&
	    (!has_level(eval, &eval->result->reason) || !has_inputs(eval, &eval->result->reason))) {
		eval->result->status = STATUS_SKIPPED;
		return;
	}
	for (size_t i = 0; i < rule->with.count && !eval->stop; i++)
		(void)make_simple_table(eval, rule->with.item[i].name, &rule->with.item[i].sql);
	if (!eval->stop && make_simple_table(eval, "q", &rule->query) == NP_OK)
		run_parts(eval);
}

/* Temporary tables of one rule are not the next one's business. */
static void drop_tables(struct eval *eval)
{
	struct np_buf text = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;

	np_buf_add(&text, "DROP TABLE IF EXISTS temp.ev; DROP TABLE IF EXISTS temp.q;");
	for (size_t i = 0; i < eval->rule->with.count; i++) {
		np_buf_add(&text, "DROP TABLE IF EXISTS temp.");
		sql_quote(&text, eval->rule->with.item[i].name);
		np_buf_add(&text, ";");
	}
	/* Left behind they take memory, and the next rule drops those in its way. */
	if (text.failed || sql_run(eval->sql, text.text, &err) < 0)
		eval->stop = true;
	np_buf_release(&text);
}

static np_ns now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (np_ns)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void evaluate(const struct evaluation *evaluation, struct result *ret,
		     struct problems *problems)
{
	struct eval eval = { .in = evaluation,
			     .rule = evaluation->rule,
			     .sql = evaluation->sql,
			     .result = ret,
			     .problems = problems,
			     .arena = np_arena_new(),
			     .step_time = NP_UNKNOWN,
			     .steps = 1 };
	int64_t timeout = eval.rule->timeout_ms     ? eval.rule->timeout_ms
			  : eval.rule->over_cluster ? CLUSTER_TIMEOUT_MS
						    : DEFAULT_TIMEOUT_MS;
	const struct sql_limits limits = { .time = timeout * 1000000,
					   .rows = ROW_LIMIT,
					   .bytes = MEMORY_LIMIT };
	np_ns begin = now();

	*ret = (struct result){ .status = STATUS_CLEAR, .inside = SIZE_MAX };
	eval.params.arena = eval.scalars.arena = eval.shown.arena = eval.arena;
	if (!eval.arena) {
		(void)np_fail_nomem(&ret->reason, "a rule");
		ret->status = STATUS_ERROR;
		return;
	}
	sql_begin(eval.sql, &limits);
	run_rule(&eval);
	sql_end(eval.sql);
	sql_set_values(eval.sql, NULL);
	drop_tables(&eval);
	if (ret->status == STATUS_CLEAR && ret->outcomes.count > 0)
		ret->status = STATUS_FIRED;
	ret->elapsed = now() - begin;
	values_release(&eval.params);
	values_release(&eval.scalars);
	values_release(&eval.shown);
	np_arena_free(eval.arena);
}

void rule_evaluate(const struct evaluation *evaluation, struct result *ret)
{
	evaluate(evaluation, ret, NULL);
}

void rule_check(const struct rule *rule, struct problems *problems)
{
	struct evaluation evaluation = { .rule = rule,
					 .rank = rule->over_cluster ? NP_NO_RANK : 0 };
	struct view_set views = { .list = { 0 } };
	NP_CLEANUP(sql_closep) struct sql *sql = NULL;
	struct result result = { .status = STATUS_CLEAR };
	struct np_err err = NP_ERR_INIT;
	int rc = sql_open(&sql, &err);

	if (rc == NP_OK)
		rc = view_set_add_absent(&views, rule->over_cluster ? VIEW_CLUSTER : VIEW_RANK,
					 &err);
	for (size_t i = 0; i < views.list.count && rc == NP_OK; i++)
		rc = sql_add_view(sql, &views.list.item[i], &err);
	if (rc == NP_OK) {
		evaluation.sql = sql;
		evaluation.views = &views;
		evaluate(&evaluation, &result, problems);
		patterns_check(rule, problems);
	} else {
		problem_add(problems, rule->file, rule->id, rule->path, SIZE_MAX, false, "%s",
			    err.text);
	}
	result_release(&result);
	sql_closep(&sql);
	view_set_release(&views);
}
