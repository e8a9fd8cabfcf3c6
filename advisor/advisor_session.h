/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_SESSION_H
#define NP_ADVISOR_SESSION_H

#include "cli/command/common.h"

#include "advisor/engine/advise.h"
#include "advisor/engine/data/graph.h"
#include "advisor/engine/findings/policy.h"

/*
 * What `npuprof advisor` was asked to do, and everything between the options and
 * the output: rules, the run, findings, what counts.
 */
struct advisor_options {
	struct np_common common;
	struct np_opt_list picks;
	struct np_opt_list rules;      /* --rules */
	struct np_opt_list wanted;     /* --rule */
	struct np_opt_list dimensions; /* --dimension */
	struct np_opt_list sets;
	struct np_opt_list graphs;
	const char *base;
	const char *fail_on;
	const char *baseline;
	const char *suppress;
	const char *explain;
	int language;
};

struct session {
	struct advisor_options *options;
	struct rule_library *library;
	struct np_analysis *analysis;
	char *merged; /* the fresh merged database that is used, or NULL */
	struct np_analysis *base;
	struct graphs graphs;
	struct advice *advice;
	struct suppressions suppressions;
	struct gate gate;
};

/* Does the user want this rule? `context` is the struct advisor_options. */
bool session_wants(void *context, const struct rule *rule);

/* Read the rules and what the user sets in them; one at least must be wanted. */
int session_read_rules(struct session *session, struct np_err *err) NP_MUST_USE;

/* Load the run, or a fresh merged database of it, the other run and the graphs. */
int session_load(struct session *session, struct np_err *err) NP_MUST_USE;

int session_run_rules(struct session *session, struct np_err *err) NP_MUST_USE;

/* Suppressions and the baseline. */
int session_apply_policies(struct session *session, struct np_err *err) NP_MUST_USE;

/* Was there something that could not be used: ranks, parts of them, or rules? */
bool session_is_partial(const struct session *session);

void session_release(struct session *session);

#endif /* NP_ADVISOR_SESSION_H */
