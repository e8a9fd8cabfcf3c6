/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_EVAL_PRIVATE_H
#define NP_ADVISOR_EVAL_PRIVATE_H

#include "eval.h"

/* One rule while it runs. */
struct eval {
	const struct evaluation *in;
	const struct rule *rule;
	struct sql *sql;
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

/* SQL put together from pieces of a rule and words of the engine's. */
struct piece {
	const struct rule_sql *sql;
	size_t offset;
	size_t length;
};

struct composed {
	struct np_buf text;
	NP_VEC(struct piece) pieces;
};

#define COMPOSED_INIT ((struct composed){ .text = NP_BUF_INIT })

void composed_release(struct composed *composed);
void compose(struct composed *composed, const char *words);
void compose_name(struct composed *composed, const char *name);
void compose_sql(struct composed *composed, const struct rule_sql *sql);

/* Something is wrong with a piece: remember it. Always negative. */
int eval_wrong(struct eval *eval, const struct rule_sql *culprit, size_t inside,
	       const struct np_err *err);

/* Prepare what was composed, blaming the piece that fails. */
int eval_prepare(struct eval *eval, const struct composed *composed, struct sql_stmt **ret)
	NP_MUST_USE;

/* Step, blaming the first piece. 1, 0 or negative. */
int eval_step(struct eval *eval, const struct composed *composed, struct sql_stmt *stmt)
	NP_MUST_USE;

/* Fill eval->params from the rule's parameters, the user's and the run. */
int eval_set_params(struct eval *eval, struct np_err *err) NP_MUST_USE;

/* The value of one expression over the scalars; NULL when it is not given or fails. */
struct np_cell eval_scalar(struct eval *eval, const struct rule_sql *sql);
bool eval_true(struct eval *eval, const struct rule_sql *sql);

/* Make an outcome of the part that fired, or in a check, try all of its parts. */
void eval_outcome(struct eval *eval, const struct np_cell *part);

#endif /* NP_ADVISOR_EVAL_PRIVATE_H */
