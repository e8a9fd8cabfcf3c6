/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule needs: whether it may run, and which sections of a detail it reads. */
#include "eval_run.h"

#include <string.h>

/* Whether a rule may run: `when`, `level`, `requires`. */

static void write_when(const struct adv_eval *eval, const void *key, struct adv_composed *composed)
{
	(void)key;
	adv_compose(composed, "SELECT (");
	adv_compose_sql(composed, &eval->rule->when);
	adv_compose(composed, ") FROM (SELECT ");
	for (size_t i = 0; i < adv_view_run_key_count; i++)
		np_buf_printf(&composed->text, "%smax(CASE key WHEN '%s' THEN value END) AS %s",
			      i > 0 ? ", " : "", adv_view_run_keys[i], adv_view_run_keys[i]);
	adv_compose(composed, " FROM v_run)");
}

/* Does the rule apply to this run? */
static bool applies(struct adv_eval *eval)
{
	NP_CLEANUP(adv_eval_donep) struct adv_statement *statement = NULL;
	struct np_cell cell = np_cell_null();
	double number;

	if (!eval->rule->when.text)
		return true;
	statement = adv_eval_statement(eval, &eval->rule->when, write_when);
	if (statement && adv_eval_step(eval, statement) > 0)
		cell = adv_sql_cell(statement->stmt, 0);
	return adv_cell_number(&cell, &number) && number != 0;
}

/* The level of the profile; negative where it is not known. */
static int level_of(struct adv_eval *eval)
{
	NP_CLEANUP(adv_eval_donep) struct adv_statement *statement = NULL;
	struct np_cell cell = np_cell_null();
	double level;

	statement = adv_eval_constant(eval, "SELECT max(value) FROM v_run WHERE key = 'level'");
	if (statement && adv_eval_step(eval, statement) > 0)
		cell = adv_sql_cell(statement->stmt, 0);
	return adv_cell_number(&cell, &level) ? (int)level : -1;
}

/* Is the level of the profile known, and too low? Then that is why something is missing. */
static bool has_level(struct adv_eval *eval, struct np_err *why)
{
	int level = eval->rule->level > 0 ? level_of(eval) : -1;

	if (level < 0 || level >= eval->rule->level)
		return true;
	(void)np_fail(why, NP_E_NOTFOUND, "the profile is of Level%d; profiler_level=Level%d",
		      level, (int)eval->rule->level);
	return false;
}

/* What is missing though the level would have recorded it was not kept, or not exported. */
static void say_missing(struct adv_eval *eval, const char *what, const char *cure,
			struct np_err *why)
{
	static const char one[] = "profiler_level=Level1";

	if (strcmp(cure, one) == 0 && level_of(eval) >= 1)
		(void)np_fail(why, NP_E_NOTFOUND,
			      "%s: the profile is of Level%d; keep trace_view.json, "
			      "communication.json or the database (%s records it)",
			      what, level_of(eval), one);
	else
		(void)np_fail(why, NP_E_NOTFOUND, "%s; %s", what, cure);
}

static bool has_input(struct adv_eval *eval, const struct adv_rule_need *need, struct np_err *why)
{
	struct adv_view *view = adv_view_slots_find(eval->program->slots, need->view);
	struct np_err err = NP_ERR_INIT;
	char what[128];
	int rc;

	if (view && !view->present && view->why) {
		(void)np_fail(why, NP_E_NOTFOUND, "no %s: %s", need->view, view->why);
		return false;
	}
	if (!view || !view->present) {
		(void)snprintf(what, sizeof(what), "no %s", need->view);
		say_missing(eval, what, adv_view_cure(need->view, NULL), why);
		return false;
	}
	rc = adv_view_open(view, &err);
	if (rc == NP_E_NOMEM)
		(void)adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
	if (rc < 0) {
		*why = err;
		return false;
	}
	for (size_t c = 0; c < need->columns.count; c++) {
		size_t column = adv_view_column(view, need->columns.item[c]);

		if (column != SIZE_MAX && adv_view_knows(view, column))
			continue;
		(void)snprintf(what, sizeof(what), "no %s in %s", need->columns.item[c],
			       need->view);
		say_missing(eval, what, adv_view_cure(need->view, need->columns.item[c]), why);
		return false;
	}
	return true;
}

/* Is what is missing something that users give, and did not: another run, or a graph? */
static bool is_optional(const struct adv_eval *eval)
{
	for (size_t i = 0; i < eval->rule->needs.count; i++) {
		const char *name = eval->rule->needs.item[i].view;
		const struct adv_view *view = adv_view_slots_find(eval->program->slots, name);

		if ((!view || !view->present) &&
		    (strncmp(name, VIEW_BASE_PREFIX, strlen(VIEW_BASE_PREFIX)) == 0 ||
		     strncmp(name, "v_graph_", strlen("v_graph_")) == 0))
			return true;
	}
	return false;
}

bool adv_eval_may_run(struct adv_eval *eval)
{
	const struct adv_rule *rule = eval->rule;
	struct np_err *why = &eval->result->reason;
	bool may = applies(eval);

	/* A check tries everything, and a mistake has been reported. */
	if (eval->problems || eval->stop)
		return !eval->stop;
	if (!may) {
		eval->result->status = STATUS_NOT_APPLICABLE;
		(void)np_fail(why, NP_E_NOTFOUND, "not for this kind of run (%s)", rule->when.text);
		return false;
	}
	for (size_t i = 0; i < rule->needs.count && may; i++)
		may = has_input(eval, &rule->needs.item[i], why);
	/* What has values can be judged, whatever the level is called. */
	if (!may || rule->needs.count == 0)
		may = has_level(eval, why) && may;
	if (!may && !eval->stop)
		eval->result->status = is_optional(eval) ? STATUS_NOT_APPLICABLE : STATUS_SKIPPED;
	return may;
}

/*
 * Which sections of a rank's detail a rule reads, from the names of views in its
 * SQL. A name that stands there without being read costs time and nothing else.
 */
static const struct {
	const char *word;
	unsigned sections;
} words[] = {
	{ "kernel", NP_DETAIL_KERNELS },
	{ "aic_", NP_DETAIL_PMU | NP_DETAIL_KERNELS },
	{ "aiv_", NP_DETAIL_PMU | NP_DETAIL_KERNELS },
	{ "cube_utilization", NP_DETAIL_PMU | NP_DETAIL_KERNELS },
	{ "busiest", NP_DETAIL_PMU | NP_DETAIL_KERNELS },
	{ "moving_ns", NP_DETAIL_PMU | NP_DETAIL_KERNELS },
	{ "kernel_stack", NP_DETAIL_FRAMEWORK | NP_DETAIL_STACKS },
	{ "_task", NP_DETAIL_TASKS },
	{ "_free", NP_DETAIL_KERNELS },
	{ "comm_op", NP_DETAIL_OPS },
	{ "comm_task", NP_DETAIL_SUB_TASKS | NP_DETAIL_OPS },
	{ "host_api", NP_DETAIL_FRAMEWORK | NP_DETAIL_INPUTS | NP_DETAIL_DEPTH },
	{ "stack", NP_DETAIL_FRAMEWORK | NP_DETAIL_STACKS },
	{ "python", NP_DETAIL_FRAMEWORK | NP_DETAIL_PYTHON },
	{ "cann_api", NP_DETAIL_CALLS },
	{ "_mark", NP_DETAIL_MARKS },
	{ "_gc", NP_DETAIL_GC },
	{ "_freq", NP_DETAIL_FREQUENCY },
	{ "mem_op", NP_DETAIL_MEMORY_OPS },
	{ "mem_curve", NP_DETAIL_MEMORY_CURVE },
};

static unsigned sections_of(const char *text)
{
	unsigned sections = 0;

	for (size_t i = 0; text && i < NP_COUNT(words); i++) {
		if (strstr(text, words[i].word))
			sections |= words[i].sections;
	}
	/* "v_comm_task" is no v_task. */
	if (text && !strstr(text, "v_task") && !strstr(text, "base_task"))
		sections &= ~(unsigned)NP_DETAIL_TASKS;
	return sections;
}

unsigned adv_rule_sections(const struct adv_rule *rule)
{
	/* Cheap, and needed for parameters, `when` and texts. */
	unsigned sections = NP_DETAIL_DEVICE | NP_DETAIL_ENVIRONMENT;

	for (size_t i = 0; i < rule->with.count; i++)
		sections |= sections_of(rule->with.item[i].sql.text);
	for (size_t i = 0; i < rule->summary.count; i++)
		sections |= sections_of(rule->summary.item[i].sql.text);
	for (size_t i = 0; i < rule->needs.count; i++) {
		sections |= sections_of(rule->needs.item[i].view);
		for (size_t c = 0; c < rule->needs.item[i].columns.count; c++)
			sections |= sections_of(rule->needs.item[i].columns.item[c]);
	}
	return sections | sections_of(rule->query.text) | sections_of(rule->filter.text) |
	       sections_of(rule->focus.text);
}
