/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one rule and checks it: its statements, its parts, what they say. */
#include "eval.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/pattern.h"
#include "npuprof/realtime.h"

#include "eval_run.h"

int adv_eval_wrong(struct adv_eval *eval, const struct adv_rule_sql *culprit, size_t inside,
		   const struct np_err *err)
{
	if (eval->problems) {
		adv_problem_add(eval->problems, culprit ? culprit->file : eval->rule->file,
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

static int prepare(struct adv_eval *eval, struct adv_statement *statement)
{
	const struct adv_composed *composed = &statement->composed;
	struct np_err err = NP_ERR_INIT;
	int rc = np_buf_check(&composed->text, &err);
	const struct adv_piece *piece;
	size_t inside = SIZE_MAX;
	int offset;

	if (rc < 0)
		return adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
	rc = adv_sql_prepare(eval->program->sql, composed->text.text, false, &statement->stmt,
			     &err);
	if (rc == NP_OK)
		return NP_OK;
	offset = adv_sql_error_offset(eval->program->sql);
	piece = adv_composed_piece(composed, offset < 0 ? SIZE_MAX : (size_t)offset);
	if (piece && offset >= 0 && (size_t)offset >= piece->offset &&
	    (size_t)offset <= piece->offset + piece->length)
		inside = (size_t)offset - piece->offset;
	return adv_eval_wrong(eval, piece ? piece->sql : NULL, inside, &err);
}

/* A statement that is there gets the values of now. */
static int renew(struct adv_eval *eval, struct adv_statement *statement)
{
	const struct adv_piece *piece = adv_composed_piece(&statement->composed, SIZE_MAX);
	struct np_err err = NP_ERR_INIT;

	return adv_sql_renew(statement->stmt, &err) < 0
		       ? adv_eval_wrong(eval, piece ? piece->sql : NULL, SIZE_MAX, &err)
		       : NP_OK;
}

struct adv_statement *adv_eval_statement(struct adv_eval *eval, const void *key,
					 eval_composer *write)
{
	struct adv_statement *statement = adv_program_find(eval->program, key);
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (statement && statement->stmt)
		return renew(eval, statement) == NP_OK ? statement : NULL;
	if (!statement) {
		statement = adv_program_add(eval->program, key, &err);
		if (!statement) {
			(void)adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
			return NULL;
		}
		write(eval, key, &statement->composed);
	}
	rc = prepare(eval, statement);
	return rc == NP_OK ? statement : NULL;
}

static void write_constant(const struct adv_eval *eval, const void *key,
			   struct adv_composed *composed)
{
	(void)eval;
	adv_compose(composed, key);
}

struct adv_statement *adv_eval_constant(struct adv_eval *eval, const char *text)
{
	return adv_eval_statement(eval, text, write_constant);
}

int adv_eval_step(struct adv_eval *eval, struct adv_statement *statement)
{
	const struct adv_piece *piece = adv_composed_piece(&statement->composed, SIZE_MAX);
	struct np_err err = NP_ERR_INIT;
	int rc = adv_sql_step(statement->stmt, &err);

	return rc < 0 ? adv_eval_wrong(eval, piece ? piece->sql : NULL, SIZE_MAX, &err) : rc;
}

void adv_eval_donep(struct adv_statement **statement)
{
	if (*statement)
		adv_sql_reset((*statement)->stmt);
	*statement = NULL;
}

/* A rule may take this long on one rank, and no rule more than its own limit says. */
#define DEFAULT_TIMEOUT_MS 5000
#define CLUSTER_TIMEOUT_MS 20000
#define ROW_LIMIT          2000000
#define MEMORY_LIMIT       (INT64_C(512) << 20)

const char *adv_status_name(enum adv_rule_status status)
{
	static const char *const names[] = { "clear",          "fired",      "skipped",
					     "not-applicable", "suppressed", "error" };

	return names[status];
}

void adv_outcome_free(struct adv_outcome *outcome)
{
	if (!outcome)
		return;
	np_vec_release(&outcome->advice);
	adv_values_release(&outcome->summary);
	adv_rows_release(&outcome->evidence);
	np_arena_free(outcome->arena);
	free(outcome);
}

void adv_result_release(struct adv_result *result)
{
	for (size_t i = 0; i < result->outcomes.count; i++)
		adv_outcome_free(result->outcomes.item[i]);
	np_vec_release(&result->outcomes);
}

static struct np_cell as_real(struct np_cell cell)
{
	return cell.type == NP_CELL_INTEGER ? np_cell_real((double)cell.integer) : cell;
}

/* Aggregates over ev, or over all rows of the part: "SELECT (a), (b) FROM …". */
static void compose_summary(const struct adv_rule *rule, bool over_query,
			    struct adv_composed *composed)
{
	size_t count = 0;

	adv_compose(composed, "SELECT ");
	for (size_t i = 0; i < rule->summary.count; i++) {
		if (rule->summary.item[i].over_query != over_query)
			continue;
		adv_compose(composed, count++ > 0 ? ", (" : "(");
		adv_compose_sql(composed, &rule->summary.item[i].sql);
		adv_compose(composed, ")");
	}
	if (over_query) {
		adv_compose(composed, " FROM (SELECT *");
		adv_eval_compose_part(rule, composed);
		adv_compose(composed, ")");
	} else {
		adv_compose(composed, " FROM ev");
	}
}

static void write_summary(const struct adv_eval *eval, const void *key,
			  struct adv_composed *composed)
{
	compose_summary(eval->rule, ((const struct adv_rule_named *)key)->over_query, composed);
}

/* The first value of the summary of that kind, which stands for all of them; NULL if there is none.
 */
static const struct adv_rule_named *first_summary(const struct adv_rule *rule, bool over_query)
{
	for (size_t i = 0; i < rule->summary.count; i++) {
		if (rule->summary.item[i].over_query == over_query)
			return &rule->summary.item[i];
	}
	return NULL;
}

static int summarize(struct adv_eval *eval, bool over_query)
{
	const struct adv_rule *rule = eval->rule;
	const struct adv_rule_named *first = first_summary(rule, over_query);
	NP_CLEANUP(adv_eval_donep) struct adv_statement *statement = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (!first)
		return NP_OK;
	statement = adv_eval_statement(eval, first, write_summary);
	rc = statement ? adv_eval_step(eval, statement) : NP_E_FORMAT;
	for (size_t i = 0, column = 0; rc > 0 && i < rule->summary.count; i++) {
		const char *name = rule->summary.item[i].name;
		struct np_cell cell;

		if (rule->summary.item[i].over_query != over_query)
			continue;
		cell = adv_sql_cell(statement->stmt, column++);
		if (adv_values_set(&eval->shown, name, cell, &err) < 0 ||
		    adv_values_set(&eval->scalars, name, as_real(cell), &err) < 0)
			rc = adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
	}
	return rc < 0 ? rc : NP_OK;
}

static void write_scalar(const struct adv_eval *eval, const void *key,
			 struct adv_composed *composed)
{
	adv_compose(composed, "SELECT (");
	adv_compose_sql(composed, key);
	adv_compose(composed, ") FROM (SELECT ");
	for (size_t i = 0; i < eval->scalars.list.count; i++) {
		adv_compose(composed, i > 0 ? ", :" : ":");
		adv_compose(composed, eval->scalars.list.item[i].name);
		adv_compose(composed, " AS ");
		adv_compose_name(composed, eval->scalars.list.item[i].name);
	}
	adv_compose(composed, ")");
}

struct np_cell adv_eval_scalar(struct adv_eval *eval, const struct adv_rule_sql *sql)
{
	NP_CLEANUP(adv_eval_donep) struct adv_statement *statement = NULL;
	struct np_cell cell = np_cell_null();
	struct np_err err = NP_ERR_INIT;

	if (!sql->text || eval->stop)
		return cell;
	adv_sql_set_values(eval->program->sql, &eval->scalars);
	statement = adv_eval_statement(eval, sql, write_scalar);
	if (statement && adv_eval_step(eval, statement) > 0 &&
	    adv_cell_copy(eval->arena, adv_sql_cell(statement->stmt, 0), &cell, &err) < 0)
		(void)adv_eval_wrong(eval, sql, SIZE_MAX, &err);
	adv_sql_set_values(eval->program->sql, &eval->params);
	return cell;
}

bool adv_eval_true(struct adv_eval *eval, const struct adv_rule_sql *sql)
{
	struct np_cell cell = adv_eval_scalar(eval, sql);
	double number;

	return adv_cell_number(&cell, &number) && number != 0;
}

/* The values every expression and text may name, before those of the summary. */
static int begin_part(struct adv_eval *eval, const struct np_cell *part, struct np_err *err)
{
	const struct adv_rule *rule = eval->rule;
	int rc = NP_OK;

	eval->scalars.list.count = 0;
	eval->shown.list.count = 0;
	for (size_t i = 0; i < eval->params.list.count && rc == NP_OK; i++) {
		const struct adv_named_value *one = &eval->params.list.item[i];

		if (one->name[0] == '_')
			continue;
		rc = adv_values_share(&eval->scalars, one->name, as_real(one->value), err);
		if (rc == NP_OK)
			rc = adv_values_share(&eval->shown, one->name, one->value, err);
	}
	for (size_t i = 0; i < rule->per.count && rc == NP_OK; i++) {
		char name[24];

		adv_eval_part_name(name, sizeof(name), i);
		rc = adv_values_set(&eval->params, name + 1, part[i], err);
		if (rc == NP_OK)
			rc = adv_values_set(&eval->scalars, rule->per.item[i], as_real(part[i]),
					    err);
		if (rc == NP_OK)
			rc = adv_values_set(&eval->shown, rule->per.item[i], part[i], err);
	}
	return rc;
}

static void run_part(struct adv_eval *eval, const struct np_cell *part)
{
	struct np_err err = NP_ERR_INIT;
	int rc = begin_part(eval, part, &err);

	if (rc < 0) {
		(void)adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
		return;
	}
	if (adv_eval_make_evidence(eval) < 0)
		return;
	rc = summarize(eval, false);
	if (summarize(eval, true) < 0 || rc < 0)
		return;
	if (adv_eval_true(eval, &eval->rule->fire) || eval->problems)
		adv_eval_outcome(eval, part);
}

static void run_parts(struct adv_eval *eval)
{
	struct adv_rows parts = { .arena = NULL };
	struct np_cell nothing[EVAL_PER_LIMIT] = { [0] = { .type = NP_CELL_NULL } };
	bool whole = eval->rule->per.count == 0;
	int rc = whole ? NP_OK : adv_eval_list_parts(eval, &parts);

	/* A check has no rows, and tries one part nevertheless. */
	if (whole || eval->problems)
		run_part(eval, nothing);
	for (size_t i = 0; rc == NP_OK && i < adv_rows_count(&parts) && !eval->stop; i++)
		run_part(eval, adv_rows_cell(&parts, i, 0));
	adv_rows_release(&parts);
}

static void run_rule(struct adv_eval *eval)
{
	struct np_err err = NP_ERR_INIT;

	if (adv_eval_set_params(eval, &err) < 0) {
		if (!eval->stop)
			(void)adv_eval_wrong(eval, NULL, SIZE_MAX, &err);
		return;
	}
	adv_sql_set_values(eval->program->sql, &eval->params);
	if (adv_eval_may_run(eval) && adv_eval_make_tables(eval) == NP_OK)
		run_parts(eval);
}

/* Rows of one run are not the next one's business. */
static void clear_tables(struct adv_program *program)
{
	for (size_t i = 0; i < program->tables.count; i++)
		adv_made_table_clear(program->tables.item[i]);
}

static void evaluate(const struct adv_evaluation *evaluation, struct adv_result *ret,
		     struct adv_problems *problems)
{
	struct adv_program *program = evaluation->program;
	const struct adv_rule *rule = program->rule;
	struct adv_eval eval = { .in = evaluation,
				 .program = program,
				 .rule = rule,
				 .result = ret,
				 .problems = problems,
				 .arena = program->scratch,
				 .params = { .arena = program->scratch },
				 .scalars = { .arena = program->scratch },
				 .shown = { .arena = program->scratch },
				 .step_time = NP_UNKNOWN,
				 .steps = 1 };
	int64_t timeout = rule->timeout_ms     ? rule->timeout_ms
			  : rule->over_cluster ? CLUSTER_TIMEOUT_MS
					       : DEFAULT_TIMEOUT_MS;
	const struct adv_sql_limits limits = { .time = timeout * 1000000,
					       .rows = ROW_LIMIT,
					       .bytes = MEMORY_LIMIT };
	np_ns begin = np_steady_ns();

	*ret = (struct adv_result){ .status = STATUS_CLEAR, .inside = SIZE_MAX };
	adv_sql_begin(program->sql, &limits);
	run_rule(&eval);
	adv_sql_end(program->sql);
	adv_sql_set_values(program->sql, NULL);
	clear_tables(program);
	if (ret->status == STATUS_CLEAR && ret->outcomes.count > 0)
		ret->status = STATUS_FIRED;
	ret->elapsed = np_steady_ns() - begin;
	adv_values_release(&eval.params);
	adv_values_release(&eval.scalars);
	adv_values_release(&eval.shown);
	np_arena_clear(program->scratch);
}

void adv_rule_evaluate(const struct adv_evaluation *evaluation, struct adv_result *ret)
{
	evaluate(evaluation, ret, NULL);
}

/*
 * Patterns that stand in SQL as literals would only be compiled when a row
 * reaches them. They are found here: what follows REGEXP, the first argument of
 * regex_capture() and the second of regex_replace().
 */
struct scan {
	const struct adv_rule *rule;
	struct adv_problems *problems;
	const struct adv_rule_sql *sql;
};

/* Move behind the literal that begins at `at`, and give its text without doubled quotes. */
static size_t read_literal(const char *text, size_t at, struct np_buf *buf)
{
	np_buf_clear(buf);
	for (at++; text[at]; at++) {
		if (text[at] == '\'' && text[at + 1] == '\'')
			at++;
		else if (text[at] == '\'')
			return at + 1;
		np_buf_add_char(buf, text[at]);
	}
	return at;
}

static void check_pattern(const struct scan *scan, const struct np_buf *text, size_t at)
{
	NP_CLEANUP(np_pattern_freep) struct np_pattern *pattern = NULL;
	struct np_err err = NP_ERR_INIT;
	size_t offset = 0;

	if (np_pattern_compile(text->text, text->length, 0, &pattern, &offset, &err) < 0)
		adv_problem_add(scan->problems, scan->sql->file, scan->rule->id, scan->sql->path,
				at + offset, false, "%s", err.text);
}

/* Is the word at `at`, and is it a whole one? */
static bool is_word(const char *text, size_t at, const char *word)
{
	size_t length = strlen(word);

	return strncasecmp(text + at, word, length) == 0 &&
	       (at == 0 || !(isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_')) &&
	       !(isalnum((unsigned char)text[at + length]) || text[at + length] == '_');
}

static size_t skip_space(const char *text, size_t at)
{
	return at + strspn(text + at, " \t\r\n");
}

/* From an opening bracket to behind its first comma at the same depth. */
static size_t second_argument(const char *text, size_t at)
{
	struct np_buf ignored = NP_BUF_INIT;
	int depth = 0;

	while (text[at]) {
		if (text[at] == '\'') {
			at = read_literal(text, at, &ignored);
			continue;
		}
		depth += text[at] == '(';
		depth -= text[at] == ')';
		if (depth == 0 || (depth == 1 && text[at] == ','))
			break;
		at++;
	}
	np_buf_release(&ignored);
	return text[at] == ',' ? at + 1 : at;
}

/* The place of a pattern that a word at `at` announces, or SIZE_MAX. */
static size_t pattern_place(const char *text, size_t at)
{
	size_t position;

	if (is_word(text, at, "REGEXP"))
		position = skip_space(text, at + strlen("REGEXP"));
	else if (is_word(text, at, "regex_capture"))
		position = skip_space(text, at + strlen("regex_capture")) + 1;
	else if (is_word(text, at, "regex_replace"))
		position = second_argument(text, skip_space(text, at + strlen("regex_replace")));
	else
		return SIZE_MAX;
	position = skip_space(text, position);
	return text[position] == '\'' ? position : SIZE_MAX;
}

static void check_sql(struct scan *scan, const struct adv_rule_sql *sql)
{
	struct np_buf literal = NP_BUF_INIT;
	const char *text = sql->text;

	scan->sql = sql;
	for (size_t at = 0; text && text[at];) {
		size_t position = pattern_place(text, at);

		if (position != SIZE_MAX) {
			(void)read_literal(text, position, &literal);
			check_pattern(scan, &literal, position + 1);
		}
		at = text[at] == '\'' ? read_literal(text, at, &literal) : at + 1;
	}
	np_buf_release(&literal);
}

static void patterns_check(const struct adv_rule *rule, struct adv_problems *problems)
{
	struct scan scan = { .rule = rule, .problems = problems };

	for (size_t i = 0; i < rule->matches.count; i++) {
		const struct adv_rule_sql *regex = &rule->matches.item[i].regex;
		struct np_buf text = NP_BUF_INIT;

		scan.sql = regex;
		np_buf_add(&text, regex->text);
		check_pattern(&scan, &text, 0);
		np_buf_release(&text);
	}
	for (size_t i = 0; i < rule->with.count; i++)
		check_sql(&scan, &rule->with.item[i].sql);
	for (size_t i = 0; i < rule->summary.count; i++)
		check_sql(&scan, &rule->summary.item[i].sql);
	for (size_t i = 0; i < rule->fingerprint.count; i++)
		check_sql(&scan, &rule->fingerprint.item[i]);
	check_sql(&scan, &rule->when);
	check_sql(&scan, &rule->query);
	check_sql(&scan, &rule->filter);
	check_sql(&scan, &rule->fire);
}

static int check_with(struct adv_view_slots *slots, const struct adv_view_set *views,
		      const struct adv_rule *rule, struct adv_problems *problems,
		      struct np_err *err)
{
	NP_CLEANUP(adv_program_freep) struct adv_program *program = NULL;
	struct adv_evaluation evaluation = { .rank = rule->over_cluster ? NP_NO_RANK : 0 };
	struct adv_result result = { .status = STATUS_CLEAR };
	int rc = adv_view_slots_init(slots, views, err);

	if (rc == NP_OK)
		rc = adv_program_new(rule, slots, &program, err);
	if (rc < 0)
		return rc;
	evaluation.program = program;
	evaluate(&evaluation, &result, problems);
	patterns_check(rule, problems);
	adv_result_release(&result);
	return NP_OK;
}

void adv_rule_check(const struct adv_rule *rule, struct adv_problems *problems)
{
	struct adv_view_set views = { .list = { 0 } };
	struct adv_view_slots slots = { .arena = NULL };
	struct np_err err = NP_ERR_INIT;
	int rc = adv_view_set_add_absent(&views, rule->over_cluster ? VIEW_CLUSTER : VIEW_RANK,
					 &err);

	if (rc == NP_OK)
		rc = check_with(&slots, &views, rule, problems, &err);
	if (rc < 0)
		adv_problem_add(problems, rule->file, rule->id, rule->path, SIZE_MAX, false, "%s",
				err.text);
	adv_view_slots_release(&slots);
	adv_view_set_release(&views);
}
