/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the conditions of --fail-on and judges a comparison by them (cmp_gate.h). */
#include "cmp_gate.h"
#include "cmp_memory.h"

#include "npuprof/arena.h"
#include "npuprof/lang.h"
#include "npuprof/text.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>

#define SIGNIFICANT 0.05

const char *cmp_gate_result_name(enum cmp_gate_result result)
{
	static const char *const names[] = { [CMP_GATE_PASS] = NP_MSG("pass"),
					     [CMP_GATE_INCONCLUSIVE] = NP_MSG("inconclusive"),
					     [CMP_GATE_FAIL] = NP_MSG("fail") };

	return names[result];
}

static const char *const metrics[] = { "step", "compute", "comm",    "wait",   "free",
				       "mem",  "host",    "between", "kernel", "leaf" };

void cmp_gate_release(struct cmp_gate *gate)
{
	np_vec_release(&gate->conditions);
	np_arena_free(gate->arena);
	*gate = (struct cmp_gate){ 0 };
}

/* --- reading --------------------------------------------------------------------------------- */

static bool read_limit(const char *text, struct cmp_condition *condition)
{
	static const struct {
		const char *name;
		double scale;
		bool relative;
	} units[] = { { "%", 0.01, true },
		      { "ms", 1e6, false },
		      { "us", 1e3, false },
		      { "ns", 1, false },
		      { "s", 1e9, false } };
	char *end;

	errno = 0;
	condition->limit = strtod(text, &end);
	if (end == text || errno || !isfinite(condition->limit) || condition->limit < 0)
		return false;
	for (size_t i = 0; i < NP_COUNT(units); i++) {
		if (strcmp(end, units[i].name) == 0) {
			condition->limit *= units[i].scale;
			condition->relative = units[i].relative;
			return true;
		}
	}
	return false;
}

static int bad(const struct cmp_condition *condition, struct np_err *err)
{
	return np_fail(err, NP_E_USAGE,
		       "--fail-on takes conditions such as step>2%%, comm>5%%, kernel:MatMul*>3%% "
		       "or mem>1%%, not '%s'",
		       condition->text);
}

static int check_metric(const struct cmp_condition *condition, struct np_err *err)
{
	const char *meant;

	for (size_t i = 0; i < NP_COUNT(metrics); i++) {
		bool wants = i >= NP_COUNT(metrics) - 2;

		if (strcmp(condition->what, metrics[i]) == 0)
			return wants == (condition->glob != NULL) &&
					       (strcmp(metrics[i], "mem") != 0 ||
						condition->relative)
				       ? NP_OK
				       : bad(condition, err);
	}
	meant = np_text_closest(condition->what, metrics, NP_COUNT(metrics));
	return np_fail(err, NP_E_USAGE, "--fail-on: nothing is called '%s'%s%s%s", condition->what,
		       meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

static int parse_one(struct cmp_gate *gate, const char *text, size_t length, struct np_err *err)
{
	struct cmp_condition *condition = np_vec_add(&gate->conditions, err);
	char *copy = np_arena_text(gate->arena, text, length);
	char *what = np_arena_text(gate->arena, text, length);
	char *sign = what ? strchr(what, '>') : NULL;
	char *colon;

	if (!condition || !copy || !what)
		return np_fail_nomem(err, "the gate");
	condition->text = copy;
	condition->what = what;
	condition->p = (double)NAN;
	if (!sign)
		return bad(condition, err);
	*sign = '\0';
	colon = strchr(what, ':');
	if (colon) {
		*colon = '\0';
		condition->glob = colon + 1;
	}
	if (!read_limit(sign + 1, condition))
		return bad(condition, err);
	condition->bytes = strcmp(what, "mem") == 0;
	return check_metric(condition, err);
}

int cmp_gate_parse(const char *text, struct cmp_gate *ret, struct np_err *err)
{
	struct cmp_gate gate = { .arena = np_arena_new() };
	int rc = gate.arena ? NP_OK : np_fail_nomem(err, "the gate");

	while (rc == NP_OK) {
		size_t length = strcspn(text, ",");

		rc = parse_one(&gate, text, length, err);
		if (text[length] == '\0')
			break;
		text += length + 1;
	}
	if (rc < 0) {
		cmp_gate_release(&gate);
		return rc;
	}
	*ret = gate;
	return NP_OK;
}

/* --- judging --------------------------------------------------------------------------------- */

static bool is_comm(const struct cmp_leaf *leaf)
{
	return leaf->kind == CMP_LEAF_WAIT || leaf->kind == CMP_LEAF_TRANSFER ||
	       leaf->kind == CMP_LEAF_COMM;
}

static bool applies(const struct cmp_condition *condition, const struct comparison *comparison,
		    const struct cmp_leaf *leaf)
{
	const char *type = cmp_text(comparison, leaf->type);
	const char *what = condition->what;

	if (strcmp(what, "step") == 0)
		return true;
	if (strcmp(what, "compute") == 0)
		return leaf->kind == CMP_LEAF_COMPUTE;
	if (strcmp(what, "comm") == 0)
		return is_comm(leaf);
	if (strcmp(what, "wait") == 0)
		return leaf->kind == CMP_LEAF_WAIT;
	if (strcmp(what, "free") == 0)
		return (leaf->kind == CMP_LEAF_FREE || leaf->kind == CMP_LEAF_HOST) &&
		       !cmp_is_between(leaf->path);
	if (strcmp(what, "between") == 0)
		return cmp_is_between(leaf->path);
	if (strcmp(what, "host") == 0)
		return leaf->kind == CMP_LEAF_HOST;
	if (strcmp(what, "kernel") == 0)
		return leaf->kind == CMP_LEAF_COMPUTE &&
		       fnmatch(condition->glob, type ? type : "unknown", 0) == 0;
	return fnmatch(condition->glob, leaf->path, 0) == 0;
}

static bool is_measured_unlike(const struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->comms.count; i++) {
		if (comparison->comms.item[i].unlike)
			return true;
	}
	return false;
}

/* The leaves that a condition is about, summed, step by step. */
static int sum_leaves(struct cmp_condition *condition, const struct comparison *comparison,
		      struct np_err *err)
{
	struct cmp_test test = { .p = (double)NAN };
	double *steps[CMP_SIDES] = { 0 };
	size_t leaves = 0;
	int rc = NP_OK;

	for (int i = 0; i < CMP_SIDES; i++) {
		size_t count = comparison->sides[i].steps.count;

		condition->value[i] = 0;
		steps[i] = calloc(count + 1, sizeof(**steps));
		if (!steps[i])
			rc = np_fail_nomem(err, "the gate");
		for (size_t j = 0; j < comparison->leaves.count && rc == NP_OK; j++) {
			const struct cmp_leaf *leaf = &comparison->leaves.item[j];

			if (!applies(condition, comparison, leaf))
				continue;
			leaves++;
			condition->value[i] += leaf->change.ns[i];
			for (size_t k = 0; k < count; k++)
				steps[i][k] += leaf->steps[i][k];
		}
	}
	if (rc == NP_OK)
		rc = cmp_test((struct cmp_values){ steps[0], comparison->sides[0].steps.count },
			      (struct cmp_values){ steps[1], comparison->sides[1].steps.count },
			      &test, err);
	condition->p = test.p;
	if (strcmp(condition->what, "wait") == 0 && is_measured_unlike(comparison))
		condition->reason = NP_MSG("waiting was not measured alike in both runs");
	else if (leaves == 0)
		condition->reason = NP_MSG("neither run has anything of that name");
	free(steps[0]);
	free(steps[1]);
	return rc;
}

/* The component that grew most. */
static int take_memory(struct cmp_condition *condition, const struct comparison *comparison,
		       struct np_err *err)
{
	struct cmp_memory memory = { 0 };
	double most = -(double)INFINITY;
	int rc = cmp_memory_measure(comparison, &memory, err);

	condition->value[0] = condition->value[1] = NP_UNKNOWN;
	for (size_t i = 0; i < memory.list.count; i++) {
		const struct cmp_memory_peak *peak = &memory.list.item[i];
		double growth;

		if (peak->bytes[0] == NP_UNKNOWN || peak->bytes[1] == NP_UNKNOWN ||
		    peak->bytes[0] <= 0)
			continue;
		growth = (double)peak->bytes[1] / (double)peak->bytes[0];
		if (growth > most) {
			most = growth;
			condition->value[0] = peak->bytes[0];
			condition->value[1] = peak->bytes[1];
		}
	}
	if (condition->value[0] == NP_UNKNOWN)
		condition->reason = NP_MSG("memory was not recorded on both sides");
	cmp_memory_release(&memory);
	return rc;
}

static bool exceeded(const struct cmp_condition *condition)
{
	double base = (double)condition->value[CMP_BASE];
	double grown = (double)condition->value[CMP_NEW] - base;

	return grown > 0 &&
	       grown > (condition->relative ? condition->limit * base : condition->limit);
}

/* The step may be told to have regressed by its parts, whatever its own test says. */
static bool is_certain(const struct cmp_condition *condition, const struct comparison *comparison)
{
	return condition->p < SIGNIFICANT ||
	       (strcmp(condition->what, "step") == 0 && comparison->step.verdict == CMP_REGRESSION);
}

static void decide(struct cmp_condition *condition, const struct comparison *comparison)
{
	if (condition->reason) {
		condition->result = CMP_GATE_INCONCLUSIVE;
		return;
	}
	if (!exceeded(condition))
		return;
	condition->result = CMP_GATE_FAIL;
	if (condition->bytes || comparison->options.no_stats)
		return;
	if (isnan(condition->p))
		condition->reason = NP_MSG("exceeded, with too few steps to tell it from noise");
	else if (!is_certain(condition, comparison))
		condition->reason = NP_MSG("exceeded, yet not more than noise explains");
	if (condition->reason)
		condition->result = CMP_GATE_INCONCLUSIVE;
}

int cmp_gate_judge(struct cmp_gate *gate, const struct comparison *comparison, struct np_err *err)
{
	int rc = NP_OK;

	gate->result = CMP_GATE_PASS;
	for (size_t i = 0; i < gate->conditions.count && rc == NP_OK; i++) {
		struct cmp_condition *condition = &gate->conditions.item[i];

		rc = condition->bytes ? take_memory(condition, comparison, err)
				      : sum_leaves(condition, comparison, err);
		if (rc == NP_OK)
			decide(condition, comparison);
		if (condition->result > gate->result)
			gate->result = condition->result;
	}
	return rc;
}
