/* SPDX-License-Identifier: Apache-2.0 */
#include "eval_private.h"

#include <string.h>

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

static int prepare(struct eval *eval, struct statement *statement)
{
	const struct composed *composed = &statement->composed;
	struct np_err err = NP_ERR_INIT;
	int rc = np_buf_check(&composed->text, &err);
	const struct piece *piece;
	size_t inside = SIZE_MAX;
	int offset;

	if (rc < 0)
		return eval_wrong(eval, NULL, SIZE_MAX, &err);
	rc = sql_prepare(eval->program->sql, composed->text.text, false, &statement->stmt, &err);
	if (rc == NP_OK)
		return NP_OK;
	offset = sql_error_offset(eval->program->sql);
	piece = composed_piece(composed, offset < 0 ? SIZE_MAX : (size_t)offset);
	if (piece && offset >= 0 && (size_t)offset >= piece->offset &&
	    (size_t)offset <= piece->offset + piece->length)
		inside = (size_t)offset - piece->offset;
	return eval_wrong(eval, piece ? piece->sql : NULL, inside, &err);
}

/* A statement that is there gets the values of now. */
static int renew(struct eval *eval, struct statement *statement)
{
	const struct piece *piece = composed_piece(&statement->composed, SIZE_MAX);
	struct np_err err = NP_ERR_INIT;

	return sql_renew(statement->stmt, &err) < 0
		       ? eval_wrong(eval, piece ? piece->sql : NULL, SIZE_MAX, &err)
		       : NP_OK;
}

struct statement *eval_statement(struct eval *eval, const void *key, eval_composer *write)
{
	struct statement *statement = program_find(eval->program, key);
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (statement && statement->stmt)
		return renew(eval, statement) == NP_OK ? statement : NULL;
	if (!statement) {
		statement = program_add(eval->program, key, &err);
		if (!statement) {
			(void)eval_wrong(eval, NULL, SIZE_MAX, &err);
			return NULL;
		}
		write(eval, key, &statement->composed);
	}
	rc = prepare(eval, statement);
	return rc == NP_OK ? statement : NULL;
}

static void write_constant(const struct eval *eval, const void *key, struct composed *composed)
{
	(void)eval;
	compose(composed, key);
}

struct statement *eval_constant(struct eval *eval, const char *text)
{
	return eval_statement(eval, text, write_constant);
}

int eval_step(struct eval *eval, struct statement *statement)
{
	const struct piece *piece = composed_piece(&statement->composed, SIZE_MAX);
	struct np_err err = NP_ERR_INIT;
	int rc = sql_step(statement->stmt, &err);

	return rc < 0 ? eval_wrong(eval, piece ? piece->sql : NULL, SIZE_MAX, &err) : rc;
}

void eval_donep(struct statement **statement)
{
	if (*statement)
		sql_reset((*statement)->stmt);
	*statement = NULL;
}
