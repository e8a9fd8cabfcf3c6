/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the outcomes of rules to findings and ranks them by what they gain. */
#include "findings.h"

#include "causes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/iteration.h"
#include "npuprof/order.h"
#include "npuprof/ranges.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

/* Of a step: how severe a gain is. */
#define HIGH_PERCENT    5.0
#define MEDIUM_PERCENT  1.0
#define NOTICED_PERCENT 0.1

const char *adv_baseline_name(enum adv_baseline_state state)
{
	static const char *const names[] = { NULL, "new", "worse", "known" };

	return names[state];
}

void adv_finding_release(struct adv_finding *finding)
{
	np_vec_release(&finding->outcomes);
	np_vec_release(&finding->ranks);
	np_vec_release(&finding->steps);
}

void adv_advice_free(struct adv_advice *advice)
{
	if (!advice)
		return;
	for (size_t i = 0; i < advice->findings.count; i++)
		adv_finding_release(&advice->findings.item[i]);
	np_vec_release(&advice->findings);
	np_vec_release(&advice->rules);
	np_notes_release(&advice->notes);
	adv_gains_release(&advice->gains);
	for (size_t i = 0; i < advice->result_count; i++)
		adv_result_release(&advice->results[i]);
	free(advice->results);
	free(advice);
}

void adv_advice_freep(struct adv_advice **advice)
{
	adv_advice_free(*advice);
	*advice = NULL;
}

/* The mean over ranks and steps, as rules see it in step_ns: of iterations where any is known. */
static void measure_step(struct adv_advice *advice)
{
	const struct np_run *run = advice->analysis->run;
	double sum = 0;
	size_t count = 0;

	advice->basis = np_run_basis(run);
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t t = 0; rank && t < rank->times.count; t++) {
			np_ns length = np_step_length(&rank->times.item[t], advice->basis);

			if (length == NP_UNKNOWN)
				continue;
			sum += (double)length;
			count++;
		}
	}
	advice->step_time = count > 0 ? np_double_to_scaled(sum / (double)count, 1) : NP_UNKNOWN;
	advice->unseen_wait =
		advice->gains.upper && count > 0 ? advice->gains.unseen / (np_ns)count : 0;
}

static struct adv_finding *find_finding(struct adv_advice *advice,
					const struct adv_outcome *outcome, struct np_err *err)
{
	struct adv_finding *finding;

	for (size_t i = 0; i < advice->findings.count; i++) {
		finding = &advice->findings.item[i];
		if (finding->rule == outcome->rule && finding->fingerprint == outcome->fingerprint)
			return finding;
	}
	finding = np_vec_add(&advice->findings, err);
	if (finding) {
		finding->rule = outcome->rule;
		finding->fingerprint = outcome->fingerprint;
		finding->shown = outcome;
	}
	return finding;
}

static int add_rank(struct adv_finding *finding, int64_t rank, struct np_err *err)
{
	int64_t *slot;

	for (size_t i = 0; i < finding->ranks.count; i++) {
		if (finding->ranks.item[i] == rank)
			return NP_OK;
	}
	slot = np_vec_add(&finding->ranks, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = rank;
	return NP_OK;
}

static int add_step(struct adv_finding *finding, const char *step, struct np_err *err)
{
	const char **slot;

	for (size_t i = 0; i < finding->steps.count; i++) {
		if (strcmp(finding->steps.item[i], step) == 0)
			return NP_OK;
	}
	slot = np_vec_add(&finding->steps, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = step;
	return NP_OK;
}

/* Ranks that a rule over the cluster names in its evidence are where it is. */
static int add_evidence_ranks(struct adv_finding *finding, const struct adv_outcome *outcome,
			      struct np_err *err)
{
	static const char *const names[] = { "rank", "src", "dst" };
	int rc = NP_OK;

	for (size_t n = 0; n < NP_COUNT(names); n++) {
		size_t column = adv_rows_column(&outcome->evidence, names[n]);

		for (size_t i = 0;
		     column != SIZE_MAX && i < adv_rows_count(&outcome->evidence) && rc == NP_OK;
		     i++) {
			const struct np_cell *cell = adv_rows_cell(&outcome->evidence, i, column);

			/* Below 0: an end of a link whose rank is not known. */
			if (cell->type == NP_CELL_INTEGER && cell->integer >= 0)
				rc = add_rank(finding, cell->integer, err);
		}
	}
	return rc;
}

static int take_outcome(struct adv_advice *advice, const struct adv_outcome *outcome,
			struct np_err *err)
{
	struct adv_finding *finding = find_finding(advice, outcome, err);
	const struct adv_outcome **slot = finding ? np_vec_add(&finding->outcomes, err) : NULL;
	int rc;

	if (!slot)
		return NP_E_NOMEM;
	*slot = outcome;
	if (outcome->severity > finding->severity)
		finding->severity = outcome->severity;
	rc = outcome->rank == NP_NO_RANK ? add_evidence_ranks(finding, outcome, err)
					 : add_rank(finding, outcome->rank, err);
	if (rc == NP_OK && outcome->step)
		rc = add_step(finding, outcome->step, err);
	return rc;
}

/*
 * The outcome with the largest gain is shown, and that is the gain: what is lost on one rank of
 * two, or in one step, is lost. Without gains it is the first of the most severe.
 */
static void choose_shown(struct adv_finding *finding)
{
	const struct adv_outcome *most = NULL;

	finding->gain = NP_UNKNOWN;
	for (size_t i = 0; i < finding->outcomes.count; i++) {
		const struct adv_outcome *outcome = finding->outcomes.item[i];

		if (!most || outcome->gain > most->gain ||
		    (outcome->gain == most->gain && outcome->severity > most->severity))
			most = outcome;
		if (outcome->gain != NP_UNKNOWN &&
		    (!finding->least || outcome->gain < finding->least->gain))
			finding->least = outcome;
	}
	if (most) {
		finding->shown = most;
		finding->gain = most->gain;
	}
}

static double percent_of(const struct adv_advice *advice, np_ns gain)
{
	return 100.0 * (double)gain / (double)advice->step_time;
}

static enum adv_severity severity_of(double percent)
{
	return percent >= HIGH_PERCENT     ? SEVERITY_HIGH
	       : percent >= MEDIUM_PERCENT ? SEVERITY_MEDIUM
					   : SEVERITY_LOW;
}

/* Is it time of the ranks themselves, which those that wait for others have to spare? */
static bool is_own_work(const struct adv_finding *finding)
{
	static const char *const own[] = { "computation", "schedule", "memory", "comparison" };

	for (size_t i = 0; i < NP_COUNT(own); i++) {
		if (strcmp(finding->rule->dimension, own[i]) == 0)
			return true;
	}
	return false;
}

/* May all that it gains be spent waiting for ranks that were not profiled? */
static bool is_unseen(const struct adv_advice *advice, const struct adv_finding *finding)
{
	return finding->gain != NP_UNKNOWN && finding->gain != 0 &&
	       finding->gain <= advice->unseen_wait && is_own_work(finding);
}

/* A repair that the replay has tried gains what it gained there, and not what the rule guesses. */
static void find_gain(const struct adv_advice *advice, struct adv_finding *finding)
{
	np_ns saved = adv_gains_of(&advice->gains, finding->shown->repair);

	if (saved == NP_UNKNOWN)
		return;
	finding->bound = advice->gains.upper ? BOUND_UPPER : BOUND_REPLAY;
	/* To the replay who was not profiled comes when he came, however early the others are. */
	if (is_unseen(advice, finding))
		return;
	saved = saved < 0 ? 0 : saved;
	/* A replay that takes waiting for others for transfers says no more than the rule knows. */
	if (!advice->gains.upper || finding->gain == NP_UNKNOWN || saved < finding->gain)
		finding->gain = saved;
}

/*
 * Ranks that are done earlier wait longer for those that nobody saw. Whether those would be
 * earlier as well is not known, and neither is the gain.
 */
static void withhold_gain(const struct adv_advice *advice, struct adv_finding *finding)
{
	enum adv_severity severity;

	finding->withheld = NP_UNKNOWN;
	if (!is_unseen(advice, finding))
		return;
	finding->withheld = finding->gain;
	finding->gain = NP_UNKNOWN;
	severity = severity_of(percent_of(advice, finding->withheld));
	if (severity < finding->severity)
		finding->severity = severity;
}

/* A gain that is more than the step cannot be had, and how much of it can nobody knows. */
static void bound_gain(const struct adv_advice *advice, struct adv_finding *finding)
{
	finding->gain_percent = (double)NAN;
	if (finding->gain == NP_UNKNOWN || advice->step_time <= 0)
		return;
	/* Steps of ranks differ, and so does what their rules compare with. */
	if (finding->gain > advice->step_time && finding->bound == BOUND_REPLAY) {
		finding->gain = NP_UNKNOWN;
		return;
	}
	if (finding->gain > advice->step_time)
		finding->gain = advice->step_time;
	finding->gain_percent = percent_of(advice, finding->gain);
	finding->severity = severity_of(finding->gain_percent);
}

static void finish_finding(struct adv_advice *advice, struct adv_finding *finding)
{
	choose_shown(finding);
	finding->bound = finding->rule->bound;
	find_gain(advice, finding);
	withhold_gain(advice, finding);
	bound_gain(advice, finding);
	if (finding->ranks.count > 0)
		qsort(finding->ranks.item, finding->ranks.count, sizeof(int64_t), np_by_int64);
}

bool adv_finding_is_petty(const struct adv_finding *finding)
{
	return finding->gain != NP_UNKNOWN && finding->gain_percent < NOTICED_PERCENT;
}

/* A gain that nobody would notice comes behind one that nobody knows. */
static int gain_class(const struct adv_finding *finding)
{
	if (finding->gain == NP_UNKNOWN)
		return 1;
	return adv_finding_is_petty(finding) ? 2 : 0;
}

static int compare_findings(const void *a, const void *b)
{
	const struct adv_finding *x = a;
	const struct adv_finding *y = b;

	if (x->rule->first != y->rule->first)
		return x->rule->first ? -1 : 1;
	if (x->severity != y->severity)
		return (int)y->severity - (int)x->severity;
	if (gain_class(x) != gain_class(y))
		return gain_class(x) - gain_class(y);
	if (x->gain != y->gain)
		return np_order(y->gain, x->gain);
	/* Of rules that name the same repair, the one whose own worth is known.
	 */
	if (x->rule->bound != y->rule->bound)
		return (int)x->rule->bound - (int)y->rule->bound;
	if (x->rule != y->rule)
		return strcmp(x->rule->id, y->rule->id);
	if (x->ranks.count > 0 && y->ranks.count > 0 && x->ranks.item[0] != y->ranks.item[0])
		return np_order(x->ranks.item[0], y->ranks.item[0]);
	return (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

/* The ranks on which a rule has a status, folded. */
static void list_ranks(const struct adv_advice *advice, const struct adv_result *results,
		       enum adv_rule_status status, struct np_buf *buf)
{
	const struct np_run *run = advice->analysis->run;
	NP_VEC(int64_t) ranks = { 0 };

	for (size_t i = 0; i < advice->rank_count; i++) {
		int64_t *slot;

		if (!run->ranks[i] || results[i].status != status)
			continue;
		slot = np_vec_add(&ranks, NULL);
		if (slot)
			*slot = run->ranks[i]->id;
	}
	np_ranges_format(buf, ranks.item, ranks.count);
	np_vec_release(&ranks);
}

/* The first result with a status; of errors one that knows where it happened. */
static const struct adv_result *first_with(const struct adv_advice *advice,
					   const struct adv_result *results,
					   enum adv_rule_status status)
{
	const struct adv_result *first = NULL;

	for (size_t i = 0; i < advice->rank_count; i++) {
		if (!advice->analysis->run->ranks[i] || results[i].status != status)
			continue;
		if (results[i].culprit)
			return &results[i];
		first = first ? first : &results[i];
	}
	return first;
}

/*
 * The status of a rule over ranks: what it found anywhere counts most. Where it
 * could not be checked is in the reason, also when it was elsewhere.
 */
static void report_ranks(struct adv_advice *advice, const struct adv_result *results,
			 struct adv_rule_report *report)
{
	static const enum adv_rule_status order[] = { STATUS_FIRED, STATUS_ERROR, STATUS_CLEAR,
						      STATUS_SKIPPED, STATUS_NOT_APPLICABLE };
	static const enum adv_rule_status reported[] = { STATUS_ERROR, STATUS_SKIPPED };
	struct np_buf reason = NP_BUF_INIT;
	size_t i = 0;

	while (i + 1 < NP_COUNT(order) && !first_with(advice, results, order[i]))
		i++;
	report->status = order[i];
	if (report->status == STATUS_NOT_APPLICABLE && first_with(advice, results, order[i]))
		np_buf_add(&reason, first_with(advice, results, order[i])->reason.text);
	for (size_t t = 0; t < NP_COUNT(reported); t++) {
		const struct adv_result *first = first_with(advice, results, reported[t]);

		if (!first)
			continue;
		np_buf_add(&reason, reason.length ? "; " : "");
		np_buf_add(&reason, first->reason.text);
		if (report->status != reported[t]) {
			np_buf_add(&reason, reported[t] == STATUS_ERROR ? " (error on rank "
									: " (not checked on rank ");
			list_ranks(advice, results, reported[t], &reason);
			np_buf_add(&reason, ")");
		}
	}
	(void)snprintf(report->reason, sizeof(report->reason), "%s", reason.text);
	np_buf_release(&reason);
	for (size_t r = 0; r < advice->rank_count; r++)
		report->elapsed += results[r].elapsed;
}

/* Where in its file the SQL is that failed, in front of the reason. */
static void add_place(const struct adv_result *result, struct adv_rule_report *report)
{
	struct adv_problems one = { .errors = 0 };
	struct np_buf line = NP_BUF_INIT;

	if (result->status != STATUS_ERROR || !result->culprit)
		return;
	adv_problem_add(&one, result->culprit->file, NULL, result->culprit->path, result->inside,
			false, "%s", report->reason);
	if (one.list.count > 0) {
		adv_problem_format(&line, &one.list.item[0]);
		(void)snprintf(report->reason, sizeof(report->reason), "%s", line.text);
	}
	np_buf_release(&line);
	adv_problems_release(&one);
}

static int report_rule(struct adv_advice *advice, const struct adv_rule_library *library,
		       struct adv_rule_report *report, struct np_err *err)
{
	size_t index = 0;
	const struct adv_result *results;
	const struct adv_result *failed;
	int rc = NP_OK;

	while (library->rules.item[index] != report->rule)
		index++;
	results = &advice->results[index * (advice->rank_count + 1)];
	if (report->rule->over_cluster) {
		failed = &results[advice->rank_count];
		report->status = failed->status;
		report->elapsed = failed->elapsed;
		(void)snprintf(report->reason, sizeof(report->reason), "%s", failed->reason.text);
	} else {
		report_ranks(advice, results, report);
		failed = first_with(advice, results, STATUS_ERROR);
	}
	if (failed)
		add_place(failed, report);
	for (size_t r = 0; r <= advice->rank_count && rc == NP_OK; r++) {
		for (size_t i = 0; i < results[r].outcomes.count && rc == NP_OK; i++)
			rc = take_outcome(advice, results[r].outcomes.item[i], err);
	}
	return rc;
}

/* Findings of one group count once, with the largest gain that is left. */
static bool counts(const struct adv_advice *advice, size_t index)
{
	const struct adv_finding *finding = &advice->findings.item[index];

	if (finding->suppressed || finding->gain == NP_UNKNOWN)
		return false;
	for (size_t i = 0; i < advice->findings.count && finding->rule->group; i++) {
		const struct adv_finding *other = &advice->findings.item[i];

		if (i == index || other->suppressed || other->gain == NP_UNKNOWN ||
		    !other->rule->group || strcmp(other->rule->group, finding->rule->group) != 0)
			continue;
		if (other->gain > finding->gain || (other->gain == finding->gain && i < index))
			return false;
	}
	return true;
}

/* The first finding of a repair is counted; repairs together gain no more than all of them. */
static bool is_repeated(const struct adv_advice *advice, size_t index)
{
	const struct adv_finding *finding = &advice->findings.item[index];

	for (size_t i = 0; i < index; i++) {
		const struct adv_finding *larger = &advice->findings.item[i];

		if (larger->bound == BOUND_REPLAY && !larger->suppressed &&
		    strcmp(larger->shown->repair, finding->shown->repair) == 0)
			return true;
	}
	return false;
}

/* What the ideal of the replay leaves as it is comes on top of it. */
static bool is_beyond_all(const struct adv_finding *finding)
{
	struct np_err err = NP_ERR_INIT;
	struct np_fix fix;

	return np_fix_parse(finding->shown->repair, &fix, &err) == NP_OK &&
	       (fix.kind == NP_FIX_HOST_GAPS || fix.kind == NP_FIX_BETWEEN ||
		fix.kind == NP_FIX_FREQUENCY || fix.kind == NP_FIX_HIDE_COMM);
}

static bool is_replayed(const struct adv_advice *advice, size_t index)
{
	return advice->findings.item[index].bound == BOUND_REPLAY && !is_repeated(advice, index);
}

/* The gain of all repairs that the replay has tried: of those up to its ideal, and beyond it. */
static np_ns total_replayed(const struct adv_advice *advice)
{
	np_ns within = 0;
	np_ns beyond = 0;
	bool found = false;

	for (size_t i = 0; i < advice->findings.count; i++) {
		const struct adv_finding *finding = &advice->findings.item[i];

		if (!counts(advice, i) || !is_replayed(advice, i))
			continue;
		found = true;
		*(is_beyond_all(finding) ? &beyond : &within) += finding->gain;
	}
	if (advice->gains.all != NP_UNKNOWN && within > advice->gains.all)
		within = advice->gains.all;
	return found ? within + beyond : NP_UNKNOWN;
}

static np_ns total_guessed(const struct adv_advice *advice)
{
	np_ns total = NP_UNKNOWN;

	for (size_t i = 0; i < advice->findings.count; i++) {
		const struct adv_finding *finding = &advice->findings.item[i];

		if (finding->bound != BOUND_REPLAY && counts(advice, i))
			total = (total == NP_UNKNOWN ? 0 : total) + finding->gain;
	}
	return total;
}

void adv_advice_total(struct adv_advice *advice)
{
	np_ns replayed = total_replayed(advice);
	np_ns guessed = total_guessed(advice);
	np_ns total = replayed == NP_UNKNOWN ? guessed : replayed;

	adv_causes_join(advice);
	if (replayed != NP_UNKNOWN && guessed != NP_UNKNOWN)
		total = replayed + guessed;
	if (total != NP_UNKNOWN && advice->step_time != NP_UNKNOWN && total > advice->step_time)
		total = advice->step_time;
	advice->total_gain = total;
	advice->total_percent = total == NP_UNKNOWN || advice->step_time <= 0
					? (double)NAN
					: 100.0 * (double)total / (double)advice->step_time;
}

int adv_advice_join(struct adv_advice *advice, const struct adv_rule_library *library,
		    struct np_err *err)
{
	int rc = NP_OK;

	measure_step(advice);
	for (size_t i = 0; i < advice->rules.count && rc == NP_OK; i++)
		rc = report_rule(advice, library, &advice->rules.item[i], err);
	adv_causes_yield(advice);
	for (size_t i = 0; i < advice->findings.count; i++)
		finish_finding(advice, &advice->findings.item[i]);
	if (rc == NP_OK && advice->findings.count > 0)
		qsort(advice->findings.item, advice->findings.count, sizeof(struct adv_finding),
		      compare_findings);
	adv_advice_total(advice);
	return rc;
}
