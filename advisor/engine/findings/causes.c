/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of one cause: what another rule explains better, and which is the symptom of which. */
#include "causes.h"

#include <stdlib.h>
#include <string.h>

#include "npuprof/run.h"

static bool yields_to(const struct adv_rule *rule, const struct adv_rule *other)
{
	for (size_t i = 0; i < rule->yields.count; i++) {
		if (strcmp(rule->yields.item[i], other->id) == 0)
			return true;
	}
	return false;
}

static bool has_rank(const struct adv_finding *finding, int64_t rank)
{
	for (size_t i = 0; i < finding->ranks.count; i++) {
		if (finding->ranks.item[i] == rank)
			return true;
	}
	return false;
}

/* Is this outcome where the other finding is? One without ranks is everywhere. */
static bool is_beside(const struct adv_outcome *outcome, const struct adv_finding *finding,
		      const struct adv_finding *other)
{
	if (other->ranks.count == 0 || finding->ranks.count == 0)
		return true;
	if (outcome->rank != NP_NO_RANK)
		return has_rank(other, outcome->rank);
	for (size_t i = 0; i < finding->ranks.count; i++) {
		if (has_rank(other, finding->ranks.item[i]))
			return true;
	}
	return false;
}

/* The rule that explains an outcome better; NULL for none. */
static const struct adv_rule *find_better(const struct adv_advice *advice,
					  const struct adv_finding *finding,
					  const struct adv_outcome *outcome)
{
	for (size_t i = 0; i < advice->findings.count; i++) {
		const struct adv_finding *other = &advice->findings.item[i];

		if (yields_to(finding->rule, other->rule) && is_beside(outcome, finding, other))
			return other->rule;
	}
	return NULL;
}

static void say_explained(struct adv_advice *advice, const struct adv_rule *rule,
			  const struct adv_rule *better)
{
	for (size_t i = 0; i < advice->rules.count; i++) {
		struct adv_rule_report *report = &advice->rules.item[i];

		if (report->rule != rule)
			continue;
		report->status = STATUS_CLEAR;
		report->yielded = true;
		(void)snprintf(report->reason, sizeof(report->reason), "explained by %s",
			       better->id);
	}
}

static bool is_left(const struct adv_finding *finding, const struct adv_outcome *outcome)
{
	for (size_t i = 0; i < finding->outcomes.count; i++) {
		if (finding->outcomes.item[i] == outcome)
			return true;
	}
	return false;
}

/* Ranks of outcomes that are gone are gone as well. */
static void drop_ranks(struct adv_finding *finding)
{
	size_t kept = 0;

	for (size_t r = 0; r < finding->ranks.count; r++) {
		bool seen = false;

		for (size_t i = 0; i < finding->outcomes.count; i++)
			seen = seen || finding->outcomes.item[i]->rank == finding->ranks.item[r];
		if (seen)
			finding->ranks.item[kept++] = finding->ranks.item[r];
	}
	finding->ranks.count = kept;
}

static void yield_outcomes(struct adv_advice *advice, struct adv_finding *finding)
{
	const struct adv_rule *better = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < finding->outcomes.count; i++) {
		const struct adv_outcome *outcome = finding->outcomes.item[i];
		const struct adv_rule *rule = find_better(advice, finding, outcome);

		better = rule ? rule : better;
		if (!rule)
			finding->outcomes.item[kept++] = outcome;
	}
	if (!better)
		return;
	finding->outcomes.count = kept;
	if (kept == 0) {
		say_explained(advice, finding->rule, better);
		return;
	}
	if (!finding->rule->over_cluster)
		drop_ranks(finding);
	if (!is_left(finding, finding->shown))
		finding->shown = finding->outcomes.item[0];
}

void adv_causes_yield(struct adv_advice *advice)
{
	size_t kept = 0;

	for (size_t i = 0; i < advice->findings.count; i++) {
		if (advice->findings.item[i].rule->yields.count > 0)
			yield_outcomes(advice, &advice->findings.item[i]);
	}
	for (size_t i = 0; i < advice->findings.count; i++) {
		struct adv_finding *finding = &advice->findings.item[i];

		if (finding->outcomes.count > 0)
			advice->findings.item[kept++] = *finding;
		else
			adv_finding_release(finding);
	}
	advice->findings.count = kept;
}

static const char *cause_of(const struct adv_finding *finding)
{
	const char *cause = finding->shown->cause;

	return cause && cause[0] ? cause : NULL;
}

/* The finding that a cause goes by: one that is more than a symptom, else the first. */
static size_t find_head(const struct adv_advice *advice, const char *cause)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < advice->findings.count; i++) {
		const struct adv_finding *finding = &advice->findings.item[i];
		const char *own = cause_of(finding);

		if (!own || strcmp(own, cause) != 0 || finding->suppressed)
			continue;
		if (!finding->rule->symptom)
			return i;
		first = first == SIZE_MAX ? i : first;
	}
	return first;
}

/* "rank:5", "link:1-6", "link:1-*": does the cause name this rank? */
static bool names_rank(const char *cause, int64_t rank)
{
	const char *at = strchr(cause, ':');

	if (!at || (strncmp(cause, "rank:", 5) != 0 && strncmp(cause, "link:", 5) != 0))
		return false;
	while (*at) {
		char *end;
		long long number;

		at++;
		number = strtoll(at, &end, 10);
		if (end != at && number == rank)
			return true;
		at = end + strcspn(end, "-");
	}
	return false;
}

/* Is the finding only on ranks that this cause names, and are there others? */
static bool is_only_there(const struct adv_advice *advice, const struct adv_finding *finding,
			  const char *cause)
{
	if (finding->ranks.count == 0 || finding->ranks.count >= np_run_used(advice->analysis->run))
		return false;
	for (size_t i = 0; i < finding->ranks.count; i++) {
		if (!names_rank(cause, finding->ranks.item[i]))
			return false;
	}
	return true;
}

/* A finding without a cause of its own, on the ranks of one that others have. */
static size_t find_beside(const struct adv_advice *advice, const struct adv_finding *finding)
{
	for (size_t i = 0; i < advice->findings.count; i++) {
		const struct adv_finding *other = &advice->findings.item[i];
		const char *cause = cause_of(other);

		if (cause && other != finding && !other->suppressed &&
		    is_only_there(advice, finding, cause))
			return find_head(advice, cause);
	}
	return SIZE_MAX;
}

void adv_causes_join(struct adv_advice *advice)
{
	for (size_t i = 0; i < advice->findings.count; i++) {
		struct adv_finding *finding = &advice->findings.item[i];
		const char *cause = cause_of(finding);
		size_t head = cause ? find_head(advice, cause) : find_beside(advice, finding);

		finding->head = head == SIZE_MAX || finding->suppressed ? i : head;
	}
}
