/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture_private.h"

/* What a test gave, over all its ranks. */
struct verdict {
	enum rule_status status;
	struct np_err reason;
	NP_VEC(struct result) results;
	NP_VEC(const struct outcome *) outcomes;
};

/* The status of the rule is the gravest that a rank has. */
static int gravity(enum rule_status status)
{
	switch (status) {
	case STATUS_ERROR:
		return 4;
	case STATUS_FIRED:
		return 3;
	case STATUS_CLEAR:
		return 2;
	default:
		return 1;
	}
}

static int take_result(struct verdict *verdict, struct result *result, struct np_err *err)
{
	struct result *slot = np_vec_add(&verdict->results, err);

	if (!slot) {
		result_release(result);
		return NP_E_NOMEM;
	}
	*slot = *result;
	if (verdict->results.count == 1 || gravity(result->status) > gravity(verdict->status)) {
		verdict->status = result->status;
		verdict->reason = result->reason;
	}
	for (size_t i = 0; i < result->outcomes.count; i++) {
		const struct outcome **outcome = np_vec_add(&verdict->outcomes, err);

		if (!outcome)
			return NP_E_NOMEM;
		*outcome = result->outcomes.item[i];
	}
	return NP_OK;
}

static void release(struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->results.count; i++)
		result_release(&verdict->results.item[i]);
	np_vec_release(&verdict->results);
	np_vec_release(&verdict->outcomes);
}

static int run_all(const struct fixture *fixture, const struct rule *rule,
		   const struct np_json *test, struct verdict *verdict, struct np_err *err)
{
	size_t count = rule->over_cluster ? 1 : fixture->ranks.count;
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		int32_t rank = rule->over_cluster ? NP_NO_RANK : (int32_t)fixture->ranks.item[i];
		struct result result = { .status = STATUS_CLEAR };

		rc = fixture_run(fixture, rule, test, rank, &result, err);
		if (rc == NP_OK)
			rc = take_result(verdict, &result, err);
	}
	return rc;
}

static int differs(const char *key, const char *wanted, const char *got, struct np_err *err)
{
	return np_fail(err, NP_E_FORMAT, "%s is '%s', not '%s'", key, got, wanted);
}

static int expect_text(const char *key, const struct np_json *node, const char *got,
		       struct np_err *err)
{
	const char *wanted = np_json_text(node);

	if (!wanted)
		return np_fail(err, NP_E_FORMAT, "expected '%s' is not a text", key);
	return strcmp(wanted, got) == 0 ? NP_OK : differs(key, wanted, got, err);
}

static int expect_part(const char *key, const struct np_json *node, const char *got,
		       struct np_err *err)
{
	const char *wanted = np_json_text(node);

	if (!wanted)
		return np_fail(err, NP_E_FORMAT, "expected '%s' is not a text", key);
	return got && strstr(got, wanted) ? NP_OK
					  : np_fail(err, NP_E_FORMAT, "%s is '%s', without '%s'",
						    key, got ? got : "nothing", wanted);
}

static int expect_number(const char *key, const struct np_json *node, double got,
			 struct np_err *err)
{
	double wanted;

	if (!np_json_real(node, &wanted))
		return np_fail(err, NP_E_FORMAT, "expected '%s' is not a number", key);
	if (fabs(got - wanted) <= 1e-6 * fmax(1, fabs(wanted)))
		return NP_OK;
	return np_fail(err, NP_E_FORMAT, "%s is %.9g, not %.9g", key, got, wanted);
}

static int expect_cell(const char *key, const struct np_json *node, const struct np_cell *cell,
		       struct np_err *err)
{
	double number;

	if (np_json_type(node) == NP_JSON_NULL)
		return cell->type == NP_CELL_NULL
			       ? NP_OK
			       : np_fail(err, NP_E_FORMAT, "%s is not null", key);
	if (cell->type == NP_CELL_TEXT)
		return expect_text(key, node, cell->text.bytes, err);
	if (cell_number(cell, &number))
		return expect_number(key, node, number, err);
	return np_fail(err, NP_E_FORMAT, "%s is null", key);
}

/* Is a finding on the rank, or does the evidence of one name it? */
static bool is_found_on(const struct verdict *verdict, int64_t rank)
{
	for (size_t o = 0; o < verdict->outcomes.count; o++) {
		const struct outcome *outcome = verdict->outcomes.item[o];
		size_t column = rows_column(&outcome->evidence, "rank");

		if (outcome->rank == rank)
			return true;
		for (size_t i = 0; column != SIZE_MAX && i < rows_count(&outcome->evidence); i++) {
			const struct np_cell *cell = rows_cell(&outcome->evidence, i, column);

			if (cell->type == NP_CELL_INTEGER && cell->integer == rank)
				return true;
		}
	}
	return false;
}

/* Exactly these ranks, of those that the test has. */
static int expect_ranks(const struct verdict *verdict, const struct fixture *fixture,
			const struct np_json *node, struct np_err *err)
{
	for (size_t i = 0; i < fixture->ranks.count; i++) {
		int64_t rank = fixture->ranks.item[i];
		bool wanted = false;

		for (size_t n = 0; n < np_json_count(node); n++) {
			int64_t one;

			if (!np_json_integer(np_json_item(node, n), &one))
				return np_fail(err, NP_E_FORMAT, "expected ranks must be numbers");
			wanted = wanted || one == rank;
		}
		if (wanted != is_found_on(verdict, rank))
			return np_fail(err, NP_E_FORMAT, "%s finding on rank %" PRId64,
				       wanted ? "no" : "a", rank);
	}
	return NP_OK;
}

/* One entry of `expect` that is about the first finding. */
static int expect_finding(const struct outcome *outcome, const char *key,
			  const struct np_json *node, struct np_err *err)
{
	const struct np_cell *cell;
	int rc;

	if (strcmp(key, "severity") == 0)
		return expect_text(key, node, severity_name(outcome->severity), err);
	if (strcmp(key, "confidence") == 0)
		return expect_number(key, node, outcome->confidence, err);
	if (strcmp(key, "gain_ns") == 0 && np_json_type(node) == NP_JSON_NULL)
		return outcome->gain == NP_UNKNOWN ? NP_OK
						   : np_fail(err, NP_E_FORMAT, "there is a gain");
	if (strcmp(key, "gain_ns") == 0)
		return expect_number(
			key, node,
			outcome->gain == NP_UNKNOWN ? (double)NAN : (double)outcome->gain, err);
	if (strcmp(key, "message") == 0)
		return expect_part(key, node, outcome->message, err);
	if (strcmp(key, "repair") == 0)
		return expect_text(key, node, outcome->repair ? outcome->repair : "", err);
	if (strcmp(key, "advice") == 0) {
		rc = np_fail(err, NP_E_FORMAT, "no advice has '%s'", np_json_text(node));
		for (size_t i = 0; i < outcome->advice.count && rc < 0; i++)
			rc = expect_part(key, node, outcome->advice.item[i], err);
		return rc;
	}
	cell = values_find(&outcome->summary, key);
	return cell ? expect_cell(key, node, cell, err)
		    : np_fail(err, NP_E_FORMAT, "there is no value '%s' to expect", key);
}

static int expect_one(const struct verdict *verdict, const struct fixture *fixture, const char *key,
		      const struct np_json *node, struct np_err *err)
{
	bool fired;

	if (strcmp(key, "fired") == 0) {
		if (!np_json_bool(node, &fired))
			return np_fail(err, NP_E_FORMAT, "expected 'fired' is not a truth");
		return fired == (verdict->status == STATUS_FIRED)
			       ? NP_OK
			       : np_fail(err, NP_E_FORMAT, "it is %s%s%s",
					 status_name(verdict->status),
					 verdict->reason.text[0] ? ": " : "", verdict->reason.text);
	}
	if (strcmp(key, "status") == 0)
		return expect_text(key, node, status_name(verdict->status), err);
	if (strcmp(key, "reason") == 0)
		return expect_part(key, node, verdict->reason.text, err);
	if (strcmp(key, "findings") == 0)
		return expect_number(key, node, (double)verdict->outcomes.count, err);
	if (strcmp(key, "ranks") == 0)
		return expect_ranks(verdict, fixture, node, err);
	if (verdict->outcomes.count == 0)
		return np_fail(err, NP_E_FORMAT, "there is no finding to have '%s' (%s%s%s)", key,
			       status_name(verdict->status), verdict->reason.text[0] ? ": " : "",
			       verdict->reason.text);
	return expect_finding(verdict->outcomes.item[0], key, node, err);
}

/* One test; its first wrong expectation is told. */
static int run_test(const struct rule *rule, const struct np_json *test, struct np_err *err)
{
	const struct np_json *expect = np_json_member(test, "expect");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	struct fixture fixture = { .views = { 0 } };
	struct verdict verdict = { .status = STATUS_CLEAR };
	int rc = fixture_read(&fixture, rule, test, err);

	if (rc == NP_OK)
		rc = run_all(&fixture, rule, test, &verdict, err);
	while (rc == NP_OK && np_json_next(expect, &entry))
		rc = expect_one(&verdict, &fixture, entry.key, entry.value, err);
	release(&verdict);
	fixture_release(&fixture);
	return rc;
}

void rule_test(const struct rule *rule, struct problems *problems, struct test_counts *counts)
{
	for (size_t i = 0; i < np_json_count(rule->tests); i++) {
		const struct np_json *test = np_json_item(rule->tests, i);
		const char *name = np_json_text(np_json_member(test, "name"));
		struct np_err err = NP_ERR_INIT;
		char path[128];

		if (run_test(rule, test, &err) == NP_OK) {
			counts->passed++;
			continue;
		}
		counts->failed++;
		(void)snprintf(path, sizeof(path), "%s/tests/%zu", rule->path, i);
		problem_add(problems, rule->file, rule->id, path, SIZE_MAX, false,
			    "test %zu%s%s%s: %s", i + 1, name ? " '" : "", name ? name : "",
			    name ? "'" : "", err.text);
	}
}
