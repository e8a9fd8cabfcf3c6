/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_EVAL_H
#define NP_ADVISOR_EVAL_H

#include "npuprof/notes.h"

#include "program.h"

/*
 * Running one rule
 * ================
 *
 *	with     temporary tables, in order
 *	query    becomes the table q
 *	per      q is cut by the values of these columns; each part goes on alone
 *	filter   rows of the part that satisfy it, and `match`, become the table ev
 *	summary  aggregates over ev (or q) become one row of named scalars
 *	fire … advice.if  expressions over these scalars and the parameters
 *
 * Every part that fires is an outcome: its texts are finished, so that nothing of
 * the connection has to stay.
 */
enum adv_rule_status {
	STATUS_CLEAR,
	STATUS_FIRED,
	STATUS_SKIPPED,
	STATUS_NOT_APPLICABLE,
	STATUS_SUPPRESSED,
	STATUS_ERROR,
};

const char *adv_status_name(enum adv_rule_status status);

struct adv_outcome {
	const struct adv_rule *rule;
	int32_t rank;     /* NP_NO_RANK for one of a rule over the cluster */
	const char *step; /* where `per` has it, else NULL */
	enum adv_severity severity;
	double confidence; /* NaN without one */
	np_ns gain;        /* per step; NP_UNKNOWN without one */
	np_ns step_time;   /* of the rank or of the mean rank; NP_UNKNOWN if not known */
	const char *title;
	const char *message;
	const char *basis;
	const char *repair;
	const char *cause; /* what findings of one cause share; NULL if it has none of its own */
	const char *op;    /* of the first row of the evidence */
	const char *stack; /* likewise */
	struct adv_rule_texts advice;
	uint64_t fingerprint;
	struct adv_values summary;
	struct adv_rows evidence;
	size_t evidence_total; /* rows there were before the limit */
	struct np_arena *arena;
};

struct adv_result {
	enum adv_rule_status status;
	struct np_err reason;               /* of being skipped or in error; "" otherwise */
	const struct adv_rule_sql *culprit; /* whose SQL failed, if one did */
	size_t inside;                      /* where in it; SIZE_MAX when not known */
	np_ns elapsed;
	NP_VEC(struct adv_outcome *) outcomes;
};

void adv_outcome_free(struct adv_outcome *outcome);
void adv_result_release(struct adv_result *result);

struct adv_evaluation {
	struct adv_program *program; /* of the rule, with views in its slots */
	enum adv_rule_language language;
	int32_t rank;              /* NP_NO_RANK for the cluster */
	const struct np_json *set; /* parameters of a test: name → value; NULL if none */
};

/* Run a rule on the views that are in the slots. What goes wrong with it is its status, never a
 * failure of the caller's. */
void adv_rule_evaluate(const struct adv_evaluation *evaluation, struct adv_result *ret);

/* Sections of the detail (bits of enum np_detail_section) that a rule reads. */
unsigned adv_rule_sections(const struct adv_rule *rule);

/* Prepare and run everything over empty views, and check texts and patterns. */
void adv_rule_check(const struct adv_rule *rule, struct adv_problems *problems);

#endif /* NP_ADVISOR_EVAL_H */
