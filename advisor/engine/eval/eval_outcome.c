/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an outcome of a part that fired: its severity, texts, gain and evidence. */
#include "eval_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/hash.h"
#include "npuprof/text.h"

#include "template.h"

/* Rows of evidence that are kept of one outcome. */
#define EVIDENCE_LIMIT 1000

/* A finding that memory ran out for is none, and its rule says so. */
static int out_of_memory(struct adv_eval *eval)
{
	struct np_err err = NP_ERR_INIT;

	(void)np_fail_nomem(&err, "a finding");
	return adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
}

static const char *keep(struct adv_eval *eval, struct adv_outcome *outcome, const char *text,
			size_t length)
{
	const char *copy = np_arena_text(outcome->arena, text, length);

	if (!copy)
		(void)out_of_memory(eval);
	return copy;
}

static const char *fill(struct adv_eval *eval, struct adv_outcome *outcome, const char *text)
{
	struct np_buf buf = NP_BUF_INIT;
	const char *copy = NULL;

	if (!text)
		return NULL;
	adv_template_fill(&buf, text, &eval->shown);
	if (buf.failed)
		(void)out_of_memory(eval);
	else
		copy = keep(eval, outcome, buf.text, buf.length);
	np_buf_release(&buf);
	return copy ? copy : "";
}

/* Complain about names that a text cannot have; only in a check. */
static bool check_one(struct adv_eval *eval, const char *text, const char *field,
		      const char *language)
{
	const struct adv_rule *rule = eval->rule;
	struct np_err err = NP_ERR_INIT;
	size_t offset = 0;
	char path[96];

	if (!text || adv_template_check(text, &eval->shown, &offset, &err) == NP_OK)
		return true;
	(void)snprintf(path, sizeof(path), "%s/%s/%s", rule->path, field, language);
	adv_problem_add(eval->problems, rule->file, rule->id, path, SIZE_MAX, false,
			"in %s '%s': %s", field, text, err.text);
	return false;
}

static void check_text(struct adv_eval *eval, rule_text text, const char *field)
{
	if (text && check_one(eval, adv_rule_text_in(text, RULE_EN), field, "en"))
		(void)check_one(eval, adv_rule_text_in(text, RULE_ZH), field, "zh");
}

static void check_advice(struct adv_eval *eval, size_t index)
{
	char field[32];

	(void)snprintf(field, sizeof(field), "advice/%zu", index);
	check_text(eval, eval->rule->advice.item[index].text, field);
}

static void check_texts(struct adv_eval *eval)
{
	const struct adv_rule *rule = eval->rule;

	check_text(eval, rule->title, "title");
	check_text(eval, rule->message, "message");
	check_text(eval, rule->basis, "gain/basis");
	(void)check_one(eval, rule->repair, "repair", "");
	(void)check_one(eval, rule->cause, "cause", "");
	for (size_t i = 0; i < rule->advice.count; i++)
		check_advice(eval, i);
	for (size_t i = 0; i < rule->evidence.count; i++) {
		const char *format = rule->evidence.item[i].format;

		if (format && !adv_template_knows_format(format, strlen(format)))
			adv_problem_add(eval->problems, rule->file, rule->id, rule->path, SIZE_MAX,
					false, "evidence: there is no format '%s'", format);
	}
}

static enum adv_severity find_severity(struct adv_eval *eval)
{
	for (int i = SEVERITY_COUNT - 1; i >= 0; i--) {
		if (eval->rule->severity[i].text && adv_eval_true(eval, &eval->rule->severity[i]) &&
		    !eval->problems)
			return (enum adv_severity)i;
	}
	return eval->rule->otherwise;
}

static bool per_step(const struct adv_rule *rule)
{
	for (size_t i = 0; i < rule->per.count; i++) {
		if (strcmp(rule->per.item[i], "step") == 0)
			return true;
	}
	return false;
}

/* Of a step: what the sums of a rule may differ from it by. */
#define GAIN_ROUNDING 1.01

/*
 * Nanoseconds of one step, never negative. What is more than the step cannot be had, and how much
 * of it can nobody knows.
 */
static np_ns find_gain(struct adv_eval *eval)
{
	struct np_cell cell = adv_eval_scalar(eval, &eval->rule->gain);
	double gain;

	if (!adv_cell_number(&cell, &gain) || !isfinite(gain))
		return NP_UNKNOWN;
	if (!eval->rule->gain_per_step && !per_step(eval->rule))
		gain /= (double)eval->steps;
	if (gain < 0)
		gain = 0;
	if (eval->step_time == NP_UNKNOWN || gain <= (double)eval->step_time)
		return np_double_to_scaled(gain, 1);
	return gain <= GAIN_ROUNDING * (double)eval->step_time ? eval->step_time : NP_UNKNOWN;
}

static int add_advice(struct adv_eval *eval, struct adv_outcome *outcome)
{
	const struct adv_rule *rule = eval->rule;

	for (size_t i = 0; i < rule->advice.count; i++) {
		const struct adv_rule_advice *advice = &rule->advice.item[i];
		const char **slot;

		if (advice->condition.text && !adv_eval_true(eval, &advice->condition))
			continue;
		slot = np_vec_add(&outcome->advice, NULL);
		if (!slot)
			return NP_E_NOMEM;
		*slot = fill(eval, outcome, adv_rule_text_in(advice->text, eval->in->language));
	}
	return NP_OK;
}

/* " FROM ev" in the order of the rule. */
static void compose_evidence(struct adv_composed *composed, const struct adv_rule *rule)
{
	adv_compose(composed, " FROM ev");
	if (rule->order) {
		adv_compose(composed, " ORDER BY ");
		adv_compose(composed, rule->order);
		adv_compose(composed, "\n");
	}
}

static void write_columns(const struct adv_eval *eval, const void *key,
			  struct adv_composed *composed)
{
	const struct adv_rule *rule = eval->rule;

	(void)key;
	for (size_t i = 0; i < rule->evidence.count; i++) {
		adv_compose(composed, i > 0 ? ", " : "SELECT ");
		adv_compose_name(composed, rule->evidence.item[i].column);
	}
	compose_evidence(composed, rule);
}

static int collect_evidence(struct adv_eval *eval, struct adv_outcome *outcome)
{
	const struct adv_rule *rule = eval->rule;
	NP_CLEANUP(adv_eval_donep)
	struct adv_statement *statement = adv_eval_statement(eval, &rule->evidence, write_columns);
	const char *names[EVAL_EVIDENCE_LIMIT];
	struct np_cell cells[EVAL_EVIDENCE_LIMIT];
	struct np_err err = NP_ERR_INIT;
	size_t count = rule->evidence.count;
	int rc;

	if (!statement)
		return NP_E_FORMAT;
	for (size_t i = 0; i < count; i++)
		names[i] = rule->evidence.item[i].column;
	rc = adv_rows_init(&outcome->evidence, names, NULL, count, &err);
	outcome->evidence.limited = true;
	while (rc == NP_OK && (rc = adv_eval_step(eval, statement)) > 0) {
		rc = NP_OK;
		if (outcome->evidence_total++ >= EVIDENCE_LIMIT)
			continue;
		for (size_t i = 0; i < count; i++)
			cells[i] = adv_sql_cell(statement->stmt, i);
		rc = adv_rows_add(&outcome->evidence, cells, &err);
	}
	/* What a question failed of is said already. */
	return rc < 0 ? adv_eval_wrong(eval, NULL, SIZE_MAX, &err) : rc;
}

/* Of the first row of the evidence: one column. */
static void write_first(const struct adv_eval *eval, const void *key, struct adv_composed *composed)
{
	adv_compose(composed, "SELECT ");
	adv_compose_name(composed, *(const char *const *)key);
	compose_evidence(composed, eval->rule);
	adv_compose(composed, " LIMIT 1");
}

/* The first row's operator and call stack. */
static int find_location(struct adv_eval *eval, struct adv_outcome *outcome)
{
	const struct adv_rule *rule = eval->rule;
	const char *const *const columns[] = { &rule->op, &rule->stack };
	const char **const found[] = { &outcome->op, &outcome->stack };
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(columns) && rc >= 0; i++) {
		NP_CLEANUP(adv_eval_donep) struct adv_statement *statement = NULL;
		struct np_cell cell;

		if (!*columns[i])
			continue;
		statement = adv_eval_statement(eval, columns[i], write_first);
		rc = statement ? adv_eval_step(eval, statement) : NP_E_FORMAT;
		cell = rc > 0 ? adv_sql_cell(statement->stmt, 0) : np_cell_null();
		if (cell.type == NP_CELL_TEXT)
			*found[i] = keep(eval, outcome, cell.text.bytes, cell.text.length);
	}
	return rc;
}

static void mix_cell(struct adv_eval *eval, uint64_t *hash, const struct np_cell *cell)
{
	struct np_buf text = NP_BUF_INIT;

	adv_cell_format(&text, cell);
	if (text.failed)
		(void)out_of_memory(eval);
	*hash = np_hash_text(*hash, text.text, text.length);
	np_buf_release(&text);
}

static void write_distinct(const struct adv_eval *eval, const void *key,
			   struct adv_composed *composed)
{
	(void)eval;
	adv_compose(composed, "SELECT DISTINCT (");
	adv_compose_sql(composed, key);
	adv_compose(composed, ") FROM ev ORDER BY 1");
}

/* The same problem has the same fingerprint in another run, on another rank, in another step. */
static int find_fingerprint(struct adv_eval *eval, const struct np_cell *part,
			    struct adv_outcome *outcome)
{
	const struct adv_rule *rule = eval->rule;
	uint64_t hash = NP_HASH_START;
	int rc = NP_OK;

	hash = np_hash_text(hash, rule->id, strlen(rule->id));
	for (size_t i = 0; i < rule->per.count; i++) {
		if (strcmp(rule->per.item[i], "step") != 0 &&
		    strcmp(rule->per.item[i], "rank") != 0)
			mix_cell(eval, &hash, &part[i]);
	}
	for (size_t i = 0; i < rule->fingerprint.count && rc >= 0; i++) {
		NP_CLEANUP(adv_eval_donep)
		struct adv_statement *statement =
			adv_eval_statement(eval, &rule->fingerprint.item[i], write_distinct);

		rc = statement ? NP_OK : NP_E_FORMAT;
		while (rc >= 0 && (rc = adv_eval_step(eval, statement)) > 0) {
			struct np_cell cell = adv_sql_cell(statement->stmt, 0);

			mix_cell(eval, &hash, &cell);
		}
	}
	outcome->fingerprint = hash;
	return rc;
}

static int copy_summary(struct adv_eval *eval, struct adv_outcome *outcome, struct np_err *err)
{
	int rc = NP_OK;

	outcome->summary.arena = outcome->arena;
	for (size_t i = 0; i < eval->shown.list.count && rc == NP_OK; i++)
		rc = adv_values_set(&outcome->summary, eval->shown.list.item[i].name,
				    eval->shown.list.item[i].value, err);
	return rc;
}

static void find_partition(struct adv_eval *eval, const struct np_cell *part,
			   struct adv_outcome *outcome)
{
	const struct adv_rule *rule = eval->rule;

	outcome->rank = eval->in->rank;
	for (size_t i = 0; i < rule->per.count; i++) {
		if (strcmp(rule->per.item[i], "rank") == 0 && part[i].type == NP_CELL_INTEGER)
			outcome->rank = (int32_t)part[i].integer;
		if (strcmp(rule->per.item[i], "step") == 0 && part[i].type == NP_CELL_TEXT)
			outcome->step =
				keep(eval, outcome, part[i].text.bytes, part[i].text.length);
	}
}

static int fill_outcome(struct adv_eval *eval, const struct np_cell *part,
			struct adv_outcome *outcome)
{
	const struct adv_rule *rule = eval->rule;
	struct np_cell confidence = adv_eval_scalar(eval, &rule->confidence);
	enum adv_rule_language language = eval->in->language;
	struct np_err err = NP_ERR_INIT;

	find_partition(eval, part, outcome);
	outcome->severity = find_severity(eval);
	if (!adv_cell_number(&confidence, &outcome->confidence))
		outcome->confidence = (double)NAN;
	outcome->gain = find_gain(eval);
	outcome->step_time = eval->step_time;
	outcome->title = fill(eval, outcome, adv_rule_text_in(rule->title, language));
	outcome->message = fill(eval, outcome, adv_rule_text_in(rule->message, language));
	outcome->basis = fill(eval, outcome, adv_rule_text_in(rule->basis, language));
	if (rule->repair && adv_template_is_known(rule->repair, &eval->shown))
		outcome->repair = fill(eval, outcome, rule->repair);
	outcome->cause = outcome->repair;
	if (rule->cause)
		outcome->cause = adv_template_is_known(rule->cause, &eval->shown)
					 ? fill(eval, outcome, rule->cause)
					 : NULL;
	if (add_advice(eval, outcome) < 0 || copy_summary(eval, outcome, &err) < 0)
		return out_of_memory(eval);
	if (rule->evidence.count > 0 && collect_evidence(eval, outcome) < 0)
		return NP_E_FORMAT;
	if (find_location(eval, outcome) < 0 || find_fingerprint(eval, part, outcome) < 0)
		return NP_E_FORMAT;
	return eval->stop ? NP_E_FORMAT : NP_OK;
}

void adv_eval_outcome(struct adv_eval *eval, const struct np_cell *part)
{
	struct adv_outcome *outcome = calloc(1, sizeof(*outcome));
	struct np_err err = NP_ERR_INIT;
	struct adv_outcome **slot;

	if (outcome)
		outcome->arena = np_arena_new();
	if (!outcome || !outcome->arena) {
		(void)out_of_memory(eval);
		adv_outcome_free(outcome);
		return;
	}
	outcome->rule = eval->rule;
	if (eval->problems)
		check_texts(eval);
	if (fill_outcome(eval, part, outcome) < 0 || eval->problems) {
		adv_outcome_free(outcome);
		return;
	}
	slot = np_vec_add(&eval->result->outcomes, &err);
	if (slot) {
		*slot = outcome;
	} else {
		adv_outcome_free(outcome);
		(void)adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
	}
}
