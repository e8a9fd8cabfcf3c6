/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_EVAL_RUN_H
#define NP_ADVISOR_EVAL_RUN_H

#include "eval.h"

/*
 * One rule while it runs
 * ======================
 *
 * What the steps of an evaluation share: eval.c leads, eval_needs.c, eval_params.c,
 * eval_tables.c and eval_outcome.c each do one of them.
 */
struct eval {
	const struct evaluation *in;
	struct program *program;
	const struct rule *rule;
	struct result *result;
	struct problems *problems; /* of a check; NULL when the rule runs for its result */
	struct np_arena *arena;
	struct values params;  /* :name in queries: parameters and what is known of the run */
	struct values scalars; /* the same and the summary, as reals, in expressions */
	struct values shown;   /* what texts may name */
	np_ns step_time;
	int64_t steps;
	bool stop; /* something is wrong and the rule runs for its result */
};

/* A rule may have as many columns in `per`, and in its evidence. */
#define EVAL_PER_LIMIT      16
#define EVAL_EVIDENCE_LIMIT 64

/* Something is wrong with a piece: remember it. Always negative. */
int eval_wrong(struct eval *eval, const struct rule_sql *culprit, size_t inside,
	       const struct np_err *err);

/*
 * The statement that `key` stands for, ready to be stepped with the values of now. It
 * is composed by `write` and prepared when it is first wanted; if that fails, the
 * piece at fault is reported, and the result is NULL.
 */
typedef void eval_composer(const struct eval *eval, const void *key, struct composed *composed);
struct statement *eval_statement(struct eval *eval, const void *key, eval_composer *write);

/* The same of constant SQL of the engine's, which is its own key. */
struct statement *eval_constant(struct eval *eval, const char *text);

/* Step; a failure is reported at the first piece. 1, 0 or negative. */
int eval_step(struct eval *eval, struct statement *statement) NP_MUST_USE;

/* A statement that was stepped lets go of the views. */
void eval_donep(struct statement **statement);

/* Fill eval->params from the rule's parameters, the user's and the run. */
int eval_set_params(struct eval *eval, struct np_err *err) NP_MUST_USE;

/* May the rule run on this run? If not, the result says why. */
bool eval_may_run(struct eval *eval);

/* Make the tables of `with`, and q. */
int eval_make_tables(struct eval *eval) NP_MUST_USE;

/* The parts there are in q, in order. */
int eval_list_parts(struct eval *eval, struct rows *parts) NP_MUST_USE;

/* The table ev: rows of the part that are kept. */
int eval_make_evidence(struct eval *eval) NP_MUST_USE;

/* Name of the parameter that holds column `index` of the part, with its colon. */
void eval_part_name(char *ret, size_t size, size_t index);

/* " FROM …": the rows of the part. */
void eval_compose_part(const struct rule *rule, struct composed *composed);

/* The value of one expression over the scalars; NULL when it is not given or fails. */
struct np_cell eval_scalar(struct eval *eval, const struct rule_sql *sql);
bool eval_true(struct eval *eval, const struct rule_sql *sql);

/* Make an outcome of the part that fired, or in a check, try all of its parts. */
void eval_outcome(struct eval *eval, const struct np_cell *part);

#endif /* NP_ADVISOR_EVAL_RUN_H */
