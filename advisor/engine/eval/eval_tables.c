/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that a rule makes: with, q, its parts and ev. */
#include "eval_run.h"

/* No table of a rule may have more cells, or texts of more bytes, than that. */
#define CELL_LIMIT 8000000
#define TEXT_LIMIT ((size_t)256 << 20)

static int take_rows(struct adv_eval *eval, struct adv_statement *statement, struct adv_rows *rows,
		     struct np_err *err)
{
	struct np_cell *cells = np_arena_array(eval->arena, rows->column_count, sizeof(*cells));
	int rc = cells ? NP_OK : np_fail_nomem(err, "a row");
	int more = 0;

	while (rc == NP_OK && (more = adv_eval_step(eval, statement)) > 0) {
		for (size_t i = 0; i < rows->column_count; i++)
			cells[i] = adv_sql_cell(statement->stmt, i);
		rc = adv_rows_add(rows, cells, err);
		if (rc == NP_OK &&
		    (rows->cells.count > CELL_LIMIT || np_arena_bytes(rows->arena) > TEXT_LIMIT))
			rc = np_fail(err, NP_E_RANGE, "it gives too many rows; aggregate in SQL");
	}
	return rc < 0 ? rc : more;
}

/* The rows of a statement as a table. What was wrong with its SQL has been reported already. */
static int make_table(struct adv_eval *eval, const char *name, const void *key,
		      eval_composer *write)
{
	NP_CLEANUP(adv_eval_donep)
	struct adv_statement *statement = adv_eval_statement(eval, key, write);
	struct adv_made_table *table = adv_program_table(eval->program, name);
	struct np_err err = NP_ERR_INIT;
	const struct adv_piece *piece;
	int rc = NP_OK;

	if (!statement)
		return NP_E_FORMAT;
	if (table)
		adv_made_table_clear(table);
	else
		rc = adv_program_add_table(eval->program, name, statement->stmt, &table, &err);
	if (rc == NP_OK)
		rc = take_rows(eval, statement, &table->rows, &err);
	piece = adv_composed_piece(&statement->composed, SIZE_MAX);
	if (rc < 0 && err.code != NP_OK)
		rc = adv_eval_wrong(eval, piece ? piece->sql : NULL, SIZE_MAX, &err);
	return rc;
}

static void write_simple(const struct adv_eval *eval, const void *key,
			 struct adv_composed *composed)
{
	(void)eval;
	adv_compose_sql(composed, key);
}

int adv_eval_make_tables(struct adv_eval *eval)
{
	const struct adv_rule *rule = eval->rule;
	int rc = NP_OK;

	for (size_t i = 0; i < rule->with.count && !eval->stop; i++)
		rc = make_table(eval, rule->with.item[i].name, &rule->with.item[i].sql,
				write_simple);
	return eval->stop ? rc : make_table(eval, "q", &rule->query, write_simple);
}

void adv_eval_part_name(char *ret, size_t size, size_t index)
{
	(void)snprintf(ret, size, ":_p%zu", index);
}

void adv_eval_compose_part(const struct adv_rule *rule, struct adv_composed *composed)
{
	char name[24];

	adv_compose(composed, " FROM q WHERE 1");
	for (size_t i = 0; i < rule->per.count; i++) {
		adv_eval_part_name(name, sizeof(name), i);
		adv_compose(composed, " AND ");
		adv_compose_name(composed, rule->per.item[i]);
		adv_compose(composed, " IS ");
		adv_compose(composed, name);
	}
}

static void compose_per(const struct adv_rule *rule, struct adv_composed *composed)
{
	for (size_t i = 0; i < rule->per.count; i++) {
		adv_compose(composed, i > 0 ? ", " : "");
		adv_compose_name(composed, rule->per.item[i]);
	}
}

static void write_parts(const struct adv_eval *eval, const void *key, struct adv_composed *composed)
{
	const struct adv_rule *rule = eval->rule;

	(void)key;
	adv_compose(composed, "SELECT DISTINCT ");
	compose_per(rule, composed);
	adv_compose(composed, " FROM q");
	if (rule->focus.text) {
		adv_compose(composed, " WHERE (");
		compose_per(rule, composed);
		adv_compose(composed, ") IN (");
		adv_compose_sql(composed, &rule->focus);
		adv_compose(composed, ")");
	}
	adv_compose(composed, " ORDER BY ");
	compose_per(rule, composed);
}

int adv_eval_list_parts(struct adv_eval *eval, struct adv_rows *parts)
{
	const struct adv_rule *rule = eval->rule;
	NP_CLEANUP(adv_eval_donep)
	struct adv_statement *statement = adv_eval_statement(eval, &rule->focus, write_parts);
	struct np_cell cells[EVAL_PER_LIMIT];
	struct np_err err = NP_ERR_INIT;
	int rc = NP_OK;

	if (!statement)
		return NP_E_FORMAT;
	if (adv_rows_init(parts, rule->per.item, NULL, rule->per.count, &err) < 0)
		return adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
	parts->limited = true;
	while (rc == NP_OK && (rc = adv_eval_step(eval, statement)) > 0) {
		for (size_t i = 0; i < rule->per.count && i < NP_COUNT(cells); i++)
			cells[i] = adv_sql_cell(statement->stmt, i);
		rc = adv_rows_add(parts, cells, &err);
		if (rc < 0)
			(void)adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
	}
	return rc;
}

/* Wrap what was composed so far: columns of captures, rows that match. */
static void compose_match(struct adv_composed *composed, const struct adv_rule_match *match,
			  size_t index)
{
	struct adv_composed inner = *composed;

	*composed = COMPOSED_INIT;
	adv_compose(composed, "SELECT *");
	for (size_t i = 0; i < match->captures.count; i++) {
		np_buf_printf(&composed->text, ", regex_capture(:_m%zu, ", index);
		adv_compose_name(composed, match->column);
		np_buf_printf(&composed->text, ", %d) AS ", (int)match->captures.item[i].group);
		adv_compose_name(composed, match->captures.item[i].name);
	}
	adv_compose_inner(composed, &inner);
	adv_compose(composed, " WHERE ");
	adv_compose_name(composed, match->column);
	np_buf_printf(&composed->text, " REGEXP :_m%zu", index);
}

/* Columns that look others up. */
static void compose_lookups(struct adv_composed *composed, const struct adv_rule_match *match,
			    size_t index)
{
	struct adv_composed inner = *composed;

	if (match->lookups.count == 0)
		return;
	*composed = COMPOSED_INIT;
	adv_compose(composed, "SELECT *");
	for (size_t i = 0; i < match->lookups.count; i++) {
		np_buf_printf(&composed->text,
			      ", (SELECT value FROM json_each(:_l%zu_%zu) WHERE key = ", index, i);
		adv_compose_name(composed, match->lookups.item[i].from);
		adv_compose(composed, ") AS ");
		adv_compose_name(composed, match->lookups.item[i].name);
	}
	adv_compose_inner(composed, &inner);
}

/* The rows of the part that the filter keeps: all columns if more are added, else their numbers. */
static void write_evidence(const struct adv_eval *eval, const void *key,
			   struct adv_composed *composed)
{
	const struct adv_rule *rule = eval->rule;

	(void)key;
	adv_compose(composed, rule->matches.count > 0 ? "SELECT *" : "SELECT rowid");
	adv_eval_compose_part(rule, composed);
	if (rule->filter.text) {
		adv_compose(composed, " AND (");
		adv_compose_sql(composed, &rule->filter);
		adv_compose(composed, ")");
	}
	for (size_t i = 0; i < rule->matches.count; i++) {
		compose_match(composed, &rule->matches.item[i], i);
		compose_lookups(composed, &rule->matches.item[i], i);
	}
}

static int pick_rows(struct adv_eval *eval, struct adv_statement *statement,
		     struct adv_made_table *table, struct np_err *err)
{
	int rc;

	while ((rc = adv_eval_step(eval, statement)) > 0) {
		uint32_t *position = np_vec_add(&table->picked, err);

		if (!position)
			return NP_E_NOMEM;
		*position = (uint32_t)adv_sql_cell(statement->stmt, 0).integer;
	}
	return rc;
}

/* Rows of q by their numbers: nothing is copied. */
static int pick_evidence(struct adv_eval *eval)
{
	NP_CLEANUP(adv_eval_donep)
	struct adv_statement *statement =
		adv_eval_statement(eval, &eval->rule->filter, write_evidence);
	struct adv_made_table *table = adv_program_table(eval->program, "ev");
	const struct adv_made_table *query = adv_program_table(eval->program, "q");
	struct np_err err = NP_ERR_INIT;
	int rc = NP_OK;

	if (!statement || !query)
		return NP_E_FORMAT;
	if (table)
		adv_made_table_clear(table);
	else
		rc = adv_program_add_picked(eval->program, "ev", query, &table, &err);
	if (rc == NP_OK)
		rc = pick_rows(eval, statement, table, &err);
	if (rc < 0 && err.code != NP_OK)
		rc = adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
	return rc;
}

int adv_eval_make_evidence(struct adv_eval *eval)
{
	return eval->rule->matches.count > 0
		       ? make_table(eval, "ev", &eval->rule->filter, write_evidence)
		       : pick_evidence(eval);
}
