/* SPDX-License-Identifier: Apache-2.0 */
/* The forms for programs: JSON (npuprof.advisor/1) and CSV. */
#include "advisor_report.h"
#include "cli/prepare/input_json.h"
#include "cli/prepare/verdict_json.h"

#include "npuprof/ranges.h"
#include "npuprof/run.h"

static void put_cell(struct np_jsonout *out, const struct np_cell *cell)
{
	switch (cell->type) {
	case NP_CELL_INTEGER:
		np_jsonout_integer(out, NULL, cell->integer);
		break;
	case NP_CELL_REAL:
		np_jsonout_real(out, NULL, cell->real);
		break;
	case NP_CELL_TEXT:
		np_jsonout_bytes(out, NULL, cell->text.bytes, cell->text.length);
		break;
	case NP_CELL_NULL:
		np_jsonout_null(out, NULL);
		break;
	}
}

/* Rows of all ranks; those of rules over ranks begin with the rank. */
static void put_rows(struct np_jsonout *out, const struct advisor_report *report,
		     const struct adv_finding *finding, bool with_rank)
{
	size_t limit = finding->rule->top_json > 0 ? (size_t)finding->rule->top_json : SIZE_MAX;
	size_t left = report->evidence_rows > 0 ? report->evidence_rows : SIZE_MAX;

	for (size_t o = 0; o < finding->outcomes.count; o++) {
		const struct adv_outcome *outcome = finding->outcomes.item[o];
		const struct adv_rows *evidence = &outcome->evidence;

		for (size_t r = 0; r < adv_rows_count(evidence) && r < limit && left > 0;
		     r++, left--) {
			np_jsonout_array_line(out, NULL);
			if (with_rank)
				np_jsonout_integer(out, NULL, outcome->rank);
			for (size_t i = 0; i < evidence->column_count; i++)
				put_cell(out, adv_rows_cell(evidence, r, i));
			np_jsonout_end(out);
		}
	}
}

static void put_evidence(struct np_jsonout *out, const struct advisor_report *report,
			 const struct adv_finding *finding)
{
	const struct adv_rows *evidence = &finding->shown->evidence;
	bool with_rank =
		finding->shown->rank != NP_NO_RANK && adv_rows_column(evidence, "rank") == SIZE_MAX;
	size_t total = 0;

	for (size_t o = 0; o < finding->outcomes.count; o++)
		total += finding->outcomes.item[o]->evidence_total;
	np_jsonout_object(out, "evidence");
	np_jsonout_array_line(out, "columns");
	if (with_rank && evidence->column_count > 0)
		np_jsonout_text(out, NULL, "rank");
	for (size_t i = 0; i < evidence->column_count; i++)
		np_jsonout_text(out, NULL, evidence->columns[i].name);
	np_jsonout_end(out);
	np_jsonout_array(out, "rows");
	put_rows(out, report, finding, with_rank);
	np_jsonout_end(out);
	np_jsonout_integer(out, "rows_total", (int64_t)total);
	np_jsonout_end(out);
}

static void put_where(struct np_jsonout *out, const struct advisor_report *report,
		      const struct adv_finding *finding)
{
	const struct np_analysis *analysis = report->advice->analysis;

	np_jsonout_array_line(out, "ranks");
	for (size_t i = 0; i < finding->ranks.count; i++)
		np_jsonout_integer(out, NULL, finding->ranks.item[i]);
	np_jsonout_end(out);
	np_jsonout_array_line(out, "steps");
	for (size_t i = 0; i < finding->steps.count; i++)
		np_jsonout_text(out, NULL, finding->steps.item[i]);
	for (size_t i = 0; finding->steps.count == 0 && i < analysis->cluster->steps.count; i++)
		np_jsonout_text(out, NULL,
				np_run_text(analysis->run, analysis->cluster->steps.item[i]));
	np_jsonout_end(out);
}

/* What it shares with others, and the finding whose symptom it is. */
static void put_cause(struct np_jsonout *out, const struct advisor_report *report,
		      const struct adv_finding *finding)
{
	const struct adv_finding *head = &report->advice->findings.item[finding->head];
	char fingerprint[17];

	advisor_report_fingerprint(head, fingerprint);
	np_jsonout_text(out, "cause", finding->shown->cause);
	np_jsonout_text(out, "symptom_of", head == finding ? NULL : fingerprint);
}

static void put_finding(struct np_jsonout *out, const struct advisor_report *report,
			const struct adv_finding *finding)
{
	const struct adv_outcome *shown = finding->shown;
	char fingerprint[17];

	advisor_report_fingerprint(finding, fingerprint);
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "rule", finding->rule->id);
	np_jsonout_text(out, "severity", adv_severity_name(finding->severity));
	np_jsonout_real(out, "confidence", shown->confidence);
	np_jsonout_text(out, "title", shown->title);
	np_jsonout_text(out, "message", shown->message);
	np_jsonout_array(out, "advice");
	for (size_t i = 0; i < shown->advice.count; i++)
		np_jsonout_text(out, NULL, shown->advice.item[i]);
	np_jsonout_end(out);
	np_jsonout_integer(out, "gain_ns", finding->gain);
	np_jsonout_real(out, "gain_pct", finding->gain_percent);
	np_jsonout_text(out, "gain_basis", shown->basis);
	np_jsonout_text(out, "gain_bound", adv_bound_name(finding->bound));
	np_jsonout_integer(out, "gain_least_ns",
			   finding->least ? finding->least->gain : NP_UNKNOWN);
	np_jsonout_integer(out, "gain_withheld_ns", finding->withheld);
	np_jsonout_integer(out, "shown_rank", shown->rank == NP_NO_RANK ? NP_UNKNOWN : shown->rank);
	np_jsonout_text(out, "repair", shown->repair);
	np_jsonout_text(out, "group", finding->rule->group);
	put_cause(out, report, finding);
	put_where(out, report, finding);
	put_evidence(out, report, finding);
	np_jsonout_array(out, "docs");
	for (size_t i = 0; i < finding->rule->docs.count; i++)
		np_jsonout_text(out, NULL, finding->rule->docs.item[i]);
	np_jsonout_end(out);
	np_jsonout_text(out, "fingerprint", fingerprint);
	np_jsonout_text(out, "baseline", adv_baseline_name(finding->baseline));
	np_jsonout_end(out);
}

/* Members that are tables: what was left out, what became of each rule, and wrong rules. */

static int produce_suppressed(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct adv_advice *advice = ((const struct advisor_report *)model)->advice;
	int rc = NP_OK;

	for (size_t i = 0; i < advice->findings.count && rc == NP_OK; i++) {
		const struct adv_finding *finding = &advice->findings.item[i];
		char fingerprint[17];

		if (!finding->suppressed)
			continue;
		advisor_report_fingerprint(finding, fingerprint);
		rc = np_sink_row(sink,
				 (struct np_cell[]){ np_cell_text(finding->rule->id),
						     np_cell_text(finding->suppressed),
						     np_cell_text(fingerprint) },
				 err);
	}
	return rc;
}

static int produce_rules(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct advisor_report *report = model;
	int rc = NP_OK;

	for (size_t i = 0; i < report->advice->rules.count && rc == NP_OK; i++) {
		const struct adv_rule_report *rule = &report->advice->rules.item[i];

		/* The time is never the same twice, so only for those who ask for it. */
		rc = np_sink_row(
			sink,
			(struct np_cell[]){
				np_cell_text(rule->rule->id),
				np_cell_text(adv_status_name(rule->status)),
				np_cell_text(rule->reason[0] ? rule->reason : NULL),
				np_cell_integer(report->verbose ? rule->elapsed : NP_UNKNOWN) },
			err);
	}
	return rc;
}

static int produce_rule_errors(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct adv_problems *problems =
		&((const struct advisor_report *)model)->library->problems;
	int rc = NP_OK;

	for (size_t i = 0; i < problems->list.count && rc == NP_OK; i++) {
		const struct adv_problem *problem = &problems->list.item[i];
		bool known = problem->line > 0;

		rc = np_sink_row(
			sink,
			(struct np_cell[]){
				np_cell_text(problem->file),
				np_cell_integer(known ? (int64_t)problem->line : NP_UNKNOWN),
				np_cell_integer(known ? (int64_t)problem->column : NP_UNKNOWN),
				np_cell_text(problem->rule), np_cell_text(problem->text) },
			err);
	}
	return rc;
}

static const struct np_column suppressed_columns[] = {
	{ "rule", NP_TEXT },
	{ "reason", NP_TEXT },
	{ "fingerprint", NP_TEXT },
};

static const struct np_column rule_columns[] = {
	{ "id", NP_TEXT },
	{ "status", NP_TEXT },
	{ "reason", NP_TEXT },
	{ "elapsed_ns", NP_INTEGER },
};

static const struct np_column error_columns[] = {
	{ "file", NP_TEXT }, { "line", NP_INTEGER }, { "column", NP_INTEGER },
	{ "id", NP_TEXT },   { "reason", NP_TEXT },
};

static const struct np_relation tables[] = {
	{ "suppressed", "findings that are left out", suppressed_columns,
	  NP_COUNT(suppressed_columns), produce_suppressed },
	{ "rules", "what became of each rule", rule_columns, NP_COUNT(rule_columns),
	  produce_rules },
	{ "rule_errors", "what is wrong with rules", error_columns, NP_COUNT(error_columns),
	  produce_rule_errors },
};

static int put_tables(struct np_jsonout *out, const struct advisor_report *report,
		      struct np_err *err)
{
	struct np_jsonout_sink sink;
	int rc = NP_OK;

	np_jsonout_sink_init(&sink, out);
	for (size_t i = 0; i < NP_COUNT(tables) && rc == NP_OK; i++)
		rc = np_relation_write(&tables[i], report, &sink.base, err);
	return rc;
}

int advisor_put_findings(struct np_jsonout *out, const struct advisor_report *report,
			 struct np_err *err)
{
	const struct adv_advice *advice = report->advice;

	np_jsonout_object_line(out, "total");
	np_jsonout_integer(out, "gain_ns", advice->total_gain);
	np_jsonout_real(out, "gain_pct", advice->total_percent);
	np_jsonout_end(out);
	np_jsonout_array(out, "findings");
	for (size_t i = 0; i < advice->findings.count; i++) {
		if (!advice->findings.item[i].suppressed)
			put_finding(out, report, &advice->findings.item[i]);
	}
	np_jsonout_end(out);
	return put_tables(out, report, err);
}

int advisor_report_json(const struct advisor_report *report, FILE *stream, struct np_err *err)
{
	const struct adv_advice *advice = report->advice;
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.advisor/1");
	put_input_json(&out, advice->analysis->run, advice->analysis->cluster, report->input,
		       &advice->notes);
	put_verdict_json(&out, &advice->analysis->verdict);
	np_jsonout_integer(&out, "step_ns", advice->step_time);
	np_jsonout_text(&out, "step_basis", np_basis_name(advice->basis));
	put_steps_from_json(&out, advice->analysis->run);
	rc = advisor_put_findings(&out, report, err);
	np_jsonout_end(&out);
	if (rc == NP_OK)
		rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}

/* CSV: findings as a table. */
static const struct np_column csv_columns[] = {
	{ "rule", NP_TEXT },       { "severity", NP_TEXT },    { "confidence", NP_REAL },
	{ "gain_ns", NP_INTEGER }, { "gain_pct", NP_REAL },    { "gain_bound", NP_TEXT },
	{ "group", NP_TEXT },      { "ranks", NP_TEXT },       { "title", NP_TEXT },
	{ "message", NP_TEXT },    { "advice", NP_TEXT },      { "repair", NP_TEXT },
	{ "baseline", NP_TEXT },   { "fingerprint", NP_TEXT },
};

static int produce_finding(const struct adv_finding *finding, struct np_sink *sink,
			   struct np_err *err)
{
	const struct adv_outcome *shown = finding->shown;
	struct np_buf where = NP_BUF_INIT;
	struct np_buf todo = NP_BUF_INIT;
	char fingerprint[17];
	int rc;

	advisor_report_fingerprint(finding, fingerprint);
	np_ranges_format(&where, finding->ranks.item, finding->ranks.count);
	for (size_t i = 0; i < shown->advice.count; i++)
		np_buf_printf(&todo, "%s%s", i > 0 ? " " : "", shown->advice.item[i]);
	rc = np_sink_row(
		sink,
		(struct np_cell[]){ np_cell_text(finding->rule->id),
				    np_cell_text(adv_severity_name(finding->severity)),
				    np_cell_real(shown->confidence), np_cell_integer(finding->gain),
				    np_cell_real(finding->gain_percent),
				    np_cell_text(adv_bound_name(finding->bound)),
				    np_cell_text(finding->rule->group), np_cell_text(where.text),
				    np_cell_text(shown->title), np_cell_text(shown->message),
				    np_cell_text(todo.text), np_cell_text(shown->repair),
				    np_cell_text(adv_baseline_name(finding->baseline)),
				    np_cell_text(fingerprint) },
		err);
	np_buf_release(&where);
	np_buf_release(&todo);
	return rc;
}

static int produce_findings(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct advisor_report *report = model;
	int rc = NP_OK;

	for (size_t i = 0; i < report->advice->findings.count && rc == NP_OK; i++) {
		if (!report->advice->findings.item[i].suppressed)
			rc = produce_finding(&report->advice->findings.item[i], sink, err);
	}
	return rc;
}

int advisor_report_csv(const struct advisor_report *report, FILE *stream, struct np_err *err)
{
	static const struct np_relation findings = { .name = "findings",
						     .summary = "what the advisor found",
						     .columns = csv_columns,
						     .column_count = NP_COUNT(csv_columns),
						     .produce = produce_findings };

	return np_csv_write(&findings, report, stream, err);
}
