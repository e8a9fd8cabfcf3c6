/* SPDX-License-Identifier: Apache-2.0 */
#include "eval_private.h"

/* Whether a rule may run: `when`, `level`, `requires`. */

static void write_when(const struct eval *eval, const void *key, struct composed *composed)
{
	(void)key;
	compose(composed, "SELECT (");
	compose_sql(composed, &eval->rule->when);
	compose(composed, ") FROM (SELECT ");
	for (size_t i = 0; i < view_run_key_count; i++)
		np_buf_printf(&composed->text, "%smax(CASE key WHEN '%s' THEN value END) AS %s",
			      i > 0 ? ", " : "", view_run_keys[i], view_run_keys[i]);
	compose(composed, " FROM v_run)");
}

/* Does the rule apply to this run? */
static bool applies(struct eval *eval)
{
	NP_CLEANUP(eval_donep) struct statement *statement = NULL;
	struct np_cell cell = np_cell_null();
	double number;

	if (!eval->rule->when.text)
		return true;
	statement = eval_statement(eval, &eval->rule->when, write_when);
	if (statement && eval_step(eval, statement) > 0)
		cell = sql_cell(statement->stmt, 0);
	return cell_number(&cell, &number) && number != 0;
}

/* The level of the profile, where it is known, must be high enough. */
static bool has_level(struct eval *eval, struct np_err *why)
{
	NP_CLEANUP(eval_donep) struct statement *statement = NULL;
	struct np_cell cell = np_cell_null();
	double level;

	if (eval->rule->level == 0)
		return true;
	statement = eval_constant(eval, "SELECT max(value) FROM v_run WHERE key = 'level'");
	if (statement && eval_step(eval, statement) > 0)
		cell = sql_cell(statement->stmt, 0);
	if (!cell_number(&cell, &level) || level >= (double)eval->rule->level)
		return true;
	(void)np_fail(why, NP_E_NOTFOUND, "the profile is of Level%d; profiler_level=Level%d",
		      (int)level, (int)eval->rule->level);
	return false;
}

static bool has_input(struct eval *eval, const struct rule_need *need, struct np_err *why)
{
	struct view *view = view_slots_find(eval->program->slots, need->view);
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
	return true;
}

bool eval_may_run(struct eval *eval)
{
	const struct rule *rule = eval->rule;
	struct np_err *why = &eval->result->reason;
	bool may = applies(eval);

	/* A check tries everything, and a mistake has been told. */
	if (eval->problems || eval->stop)
		return !eval->stop;
	if (!may) {
		eval->result->status = STATUS_NOT_APPLICABLE;
		(void)np_fail(why, NP_E_NOTFOUND, "not for this kind of run (%s)", rule->when.text);
		return false;
	}
	may = has_level(eval, why);
	for (size_t i = 0; i < rule->needs.count && may; i++)
		may = has_input(eval, &rule->needs.item[i], why);
	if (!may && !eval->stop)
		eval->result->status = STATUS_SKIPPED;
	return may;
}
