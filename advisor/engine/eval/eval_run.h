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
struct adv_eval {
	const struct adv_evaluation *in;
	struct adv_program *program;
	const struct adv_rule *rule;
	struct adv_result *result;
	struct adv_problems *problems; /* of a check; NULL when the rule runs for its result */
	struct np_arena *arena;
	struct adv_values params;  /* :name in queries: parameters and what is known of the run */
	struct adv_values scalars; /* the same and the summary, as reals, in expressions */
	struct adv_values shown;   /* what texts may name */
	np_ns step_time;
	int64_t steps;
	bool stop; /* something is wrong and the rule runs for its result */
};

/* A rule may have as many columns in `per`, and in its evidence. */
#define EVAL_PER_LIMIT      16
#define EVAL_EVIDENCE_LIMIT 64

/* Something is wrong with a piece: remember it. Always negative. */
int adv_eval_wrong(struct adv_eval *eval, const struct adv_rule_sql *culprit, size_t inside,
		   const struct np_err *err);

/*
 * The statement that `key` stands for, ready to be stepped with the values of now. It
 * is composed by `write` and prepared when it is first wanted; if that fails, the
 * piece at fault is reported, and the result is NULL.
 */
typedef void eval_composer(const struct adv_eval *eval, const void *key,
			   struct adv_composed *composed);
struct adv_statement *adv_eval_statement(struct adv_eval *eval, const void *key,
					 eval_composer *write);

/* The same of constant SQL of the engine's, which is its own key. */
struct adv_statement *adv_eval_constant(struct adv_eval *eval, const char *text);

/* Step; a failure is reported at the first piece. 1, 0 or negative. */
int adv_eval_step(struct adv_eval *eval, struct adv_statement *statement) NP_MUST_USE;

/* A statement that was stepped lets go of the views. */
void adv_eval_donep(struct adv_statement **statement);

/* Fill eval->params from the rule's parameters, the user's and the run. */
int adv_eval_set_params(struct adv_eval *eval, struct np_err *err) NP_MUST_USE;

/* May the rule run on this run? If not, the result says why. */
bool adv_eval_may_run(struct adv_eval *eval);

/* Make the tables of `with`, and q. */
int adv_eval_make_tables(struct adv_eval *eval) NP_MUST_USE;

/* The parts there are in q, in order. */
int adv_eval_list_parts(struct adv_eval *eval, struct adv_rows *parts) NP_MUST_USE;

/* The table ev: rows of the part that are kept. */
int adv_eval_make_evidence(struct adv_eval *eval) NP_MUST_USE;

/* Name of the parameter that holds column `index` of the part, with its colon. */
void adv_eval_part_name(char *ret, size_t size, size_t index);

/* " FROM …": the rows of the part. */
void adv_eval_compose_part(const struct adv_rule *rule, struct adv_composed *composed);

/* The value of one expression over the scalars; NULL when it is not given or fails. */
struct np_cell adv_eval_scalar(struct adv_eval *eval, const struct adv_rule_sql *sql);
bool adv_eval_true(struct adv_eval *eval, const struct adv_rule_sql *sql);

/* Make an outcome of the part that fired, or in a check, try all of its parts. */
void adv_eval_outcome(struct adv_eval *eval, const struct np_cell *part);

#endif /* NP_ADVISOR_EVAL_RUN_H */
