/* SPDX-License-Identifier: Apache-2.0 */
/* The values that a rule gets: its parameters, the user's, and what is known of the run. */
#include "eval_run.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/jsonout.h"

/* Deeper values than anybody writes are cut: the writer has room for so many levels. */
#define DEPTH_LIMIT 24

/* Write a value as JSON, so that SQL can take it apart with json_each(). */
static void write_json(struct np_jsonout *out, const char *key, const struct np_json *node,
		       int depth)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int64_t integer;
	double real;
	bool truth;

	switch (depth < DEPTH_LIMIT ? np_json_type(node) : NP_JSON_NULL) {
	case NP_JSON_OBJECT:
		np_jsonout_object_line(out, key);
		while (np_json_next(node, &entry))
			write_json(out, entry.key, entry.value, depth + 1);
		np_jsonout_end(out);
		break;
	case NP_JSON_ARRAY:
		np_jsonout_array_line(out, key);
		for (size_t i = 0; i < np_json_count(node); i++)
			write_json(out, NULL, np_json_item(node, i), depth + 1);
		np_jsonout_end(out);
		break;
	case NP_JSON_TEXT:
		np_jsonout_text(out, key, np_json_text(node));
		break;
	case NP_JSON_BOOL:
		np_jsonout_bool(out, key, np_json_bool(node, &truth) && truth);
		break;
	case NP_JSON_INTEGER:
		np_jsonout_integer(out, key,
				   np_json_integer(node, &integer) ? integer : NP_UNKNOWN);
		break;
	case NP_JSON_REAL:
		np_jsonout_real(out, key, np_json_real(node, &real) ? real : (double)NAN);
		break;
	default:
		np_jsonout_null(out, key);
		break;
	}
}

static int set_json(struct adv_values *values, const char *name, const struct np_json *node,
		    struct np_err *err)
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, NULL);
	write_json(&out, NULL, node, 0);
	rc = np_jsonout_finish(&out, err);
	if (rc == NP_OK)
		rc = adv_values_set(values, name, np_cell_bytes(out.buf.text, out.buf.length), err);
	np_jsonout_release(&out);
	return rc;
}

static int set_node(struct adv_values *values, const char *name, const struct np_json *node,
		    struct np_err *err)
{
	int64_t integer;
	double real;
	bool truth;

	switch (np_json_type(node)) {
	case NP_JSON_TEXT:
		return adv_values_set(values, name, np_cell_text(np_json_text(node)), err);
	case NP_JSON_INTEGER:
		return adv_values_set(
			values, name,
			np_cell_integer(np_json_integer(node, &integer) ? integer : NP_UNKNOWN),
			err);
	case NP_JSON_REAL:
		return adv_values_set(values, name,
				      np_cell_real(np_json_real(node, &real) ? real : (double)NAN),
				      err);
	case NP_JSON_BOOL:
		return adv_values_set(values, name,
				      np_cell_integer(np_json_bool(node, &truth) && truth), err);
	case NP_JSON_OBJECT:
	case NP_JSON_ARRAY:
		return set_json(values, name, node, err);
	default:
		return adv_values_set(values, name, np_cell_null(), err);
	}
}

/* What the user wrote: a number if it is one. */
static int set_text(struct adv_values *values, const char *name, const char *text,
		    struct np_err *err)
{
	char *end;
	double number = strtod(text, &end);

	if (*end != '\0' || end == text || !isfinite(number))
		return adv_values_set(values, name, np_cell_text(text), err);
	if (trunc(number) == number && fabs(number) < 0x1p53)
		return adv_values_set(values, name, np_cell_integer((int64_t)number), err);
	return adv_values_set(values, name, np_cell_real(number), err);
}

/* The value for this chip: the first key that fits its name, else "*". */
static const struct np_json *value_for_chip(const struct adv_rule_param *param, const char *chip)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	while (chip && np_json_next(param->value, &entry)) {
		if (strcmp(entry.key, "*") != 0 && fnmatch(entry.key, chip, 0) == 0)
			return entry.value;
	}
	return np_json_member(param->value, "*");
}

static int set_params(struct adv_eval *eval, struct adv_values *values, const char *chip,
		      struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < eval->rule->params.count && rc == NP_OK; i++) {
		const struct adv_rule_param *param = &eval->rule->params.item[i];
		const struct np_json *test = np_json_member(eval->in->set, param->name);

		if (test)
			rc = set_node(values, param->name, test, err);
		else if (param->set)
			rc = set_text(values, param->name, param->set, err);
		else
			rc = set_node(values, param->name,
				      param->per_chip ? value_for_chip(param, chip) : param->value,
				      err);
	}
	return rc;
}

/* Patterns and tables of `match` are bound, too. */
static int set_matches(const struct adv_rule *rule, struct adv_values *values, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < rule->matches.count && rc == NP_OK; i++) {
		const struct adv_rule_match *match = &rule->matches.item[i];
		char name[64];

		(void)snprintf(name, sizeof(name), "_m%zu", i);
		rc = adv_values_set(values, name, np_cell_text(match->regex.text), err);
		for (size_t j = 0; j < match->lookups.count && rc == NP_OK; j++) {
			(void)snprintf(name, sizeof(name), "_l%zu_%zu", i, j);
			rc = set_json(values, name, match->lookups.item[j].values, err);
		}
	}
	return rc;
}

/* What depends on the rule and the chip alone is kept from rank to rank. */
static int keep_params(struct adv_eval *eval, const char *chip, struct np_err *err)
{
	struct adv_program *program = eval->program;
	int rc;

	if (program->has_params && strcmp(program->params_chip, chip ? chip : "") == 0)
		return NP_OK;
	program->has_params = false;
	program->params.list.count = 0;
	np_arena_clear(program->params_arena);
	free(program->params_chip);
	program->params_chip = strdup(chip ? chip : "");
	if (!program->params_chip)
		return np_fail_nomem(err, "a parameter");
	rc = set_params(eval, &program->params, chip, err);
	if (rc == NP_OK)
		rc = set_matches(eval->rule, &program->params, err);
	program->has_params = rc == NP_OK;
	return rc;
}

/* One row of constant SQL into values of these names. */
static int ask(struct adv_eval *eval, const char *text, const char *const *names, size_t count,
	       struct np_err *err)
{
	NP_CLEANUP(adv_eval_donep) struct adv_statement *statement = adv_eval_constant(eval, text);
	int rc = statement ? adv_eval_step(eval, statement) : NP_E_FORMAT;

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		struct np_cell cell = rc > 0 ? adv_sql_cell(statement->stmt, i) : np_cell_null();

		if (adv_values_set(&eval->params, names[i], cell, err) < 0)
			return NP_E_NOMEM;
	}
	return NP_OK;
}

/*
 * What is known of the run. The step of a rank with several devices is that of
 * the slowest of them; its length is the iteration where any is known, else the
 * span (npuprof/iteration.h).
 */
static int set_run(struct adv_eval *eval, struct np_err *err)
{
	static const char steps[] =
		"SELECT CAST(coalesce(avg(i), avg(d)) AS INTEGER), count(DISTINCT coalesce(step, '')),"
		" count(DISTINCT rank) FROM (SELECT rank, step, max(dur_ns) AS d,"
		" max(iteration_ns) AS i FROM v_step GROUP BY rank, step)";
	static const char *const names[] = { "step_ns", "steps", "ranks" };
	const struct np_cell *cell;
	double number;
	int rc = ask(eval, steps, names, NP_COUNT(names), err);

	if (rc < 0)
		return rc;
	cell = adv_values_find(&eval->params, "step_ns");
	eval->step_time = cell->type == NP_CELL_INTEGER ? cell->integer : NP_UNKNOWN;
	cell = adv_values_find(&eval->params, "steps");
	eval->steps = adv_cell_number(cell, &number) && number > 0 ? (int64_t)number : 1;
	return adv_values_set(&eval->params, "rank",
			      eval->in->rank == NP_NO_RANK ? np_cell_null()
							   : np_cell_integer(eval->in->rank),
			      err);
}

int adv_eval_set_params(struct adv_eval *eval, struct np_err *err)
{
	static const char chips[] = "SELECT max(chip) FROM v_device";
	static const char *const names[] = { "chip" };
	const struct adv_program *program = eval->program;
	const struct np_cell *chip;
	int rc = ask(eval, chips, names, 1, err);

	if (rc < 0)
		return rc;
	chip = adv_values_find(&eval->params, "chip");
	rc = keep_params(eval, chip->type == NP_CELL_TEXT ? chip->text.bytes : NULL, err);
	for (size_t i = 0; i < program->params.list.count && rc == NP_OK; i++)
		rc = adv_values_share(&eval->params, program->params.list.item[i].name,
				      program->params.list.item[i].value, err);
	return rc == NP_OK ? set_run(eval, err) : rc;
}
