/* SPDX-License-Identifier: Apache-2.0 */
/* The forms for people: terminal and Markdown. */
#include "advisor_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "npuprof/grid.h"
#include "npuprof/ranges.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

#include "advisor/engine/eval/template.h"

/* Words in the language of the report. */
static const char *advisor_report_word(const struct advisor_report *report, const char *en,
				       const char *zh)
{
	return report->language == RULE_ZH ? zh : en;
}

void advisor_report_fingerprint(const struct adv_finding *finding, char ret[17])
{
	(void)snprintf(ret, 17, "%016" PRIx64, finding->fingerprint);
}

void advisor_report_where(const struct advisor_report *report, const struct adv_finding *finding,
			  struct np_buf *buf)
{
	size_t used = np_run_used(report->advice->analysis->run);

	if (finding->ranks.count == 0) {
		np_buf_add(buf, advisor_report_word(report, "cluster", "集群"));
		return;
	}
	np_buf_add(buf, advisor_report_word(report, finding->ranks.count > 1 ? "ranks " : "rank ",
					    "rank "));
	np_ranges_format(buf, finding->ranks.item, finding->ranks.count);
	if (used > 1)
		np_buf_printf(buf, " (%zu/%zu)", finding->ranks.count, used);
}

static void put_percent(struct np_buf *buf, double percent)
{
	if (percent < 0.05)
		np_buf_add(buf, "<0.1 %");
	else
		np_buf_printf(buf, "%.*f %%", percent < 9.95 ? 1 : 0, percent);
}

/* "up to 12.3 ms (9.1 %)": append what a finding would gain. */
static void advisor_report_gain(const struct advisor_report *report,
				const struct adv_finding *finding, struct np_buf *buf)
{
	if (finding->gain == NP_UNKNOWN) {
		np_buf_add(buf, "-");
		return;
	}
	if (finding->bound == BOUND_UPPER && finding->gain > 0)
		np_buf_add(buf, advisor_report_word(report, "up to ", "最多 "));
	np_text_duration(buf, finding->gain);
	if (finding->gain == 0 || isnan(finding->gain_percent))
		return;
	np_buf_add(buf, " (");
	put_percent(buf, finding->gain_percent);
	np_buf_add(buf, ")");
}

static const char *severity_word(const struct advisor_report *report, enum adv_severity severity)
{
	static const char *const en[SEVERITY_COUNT] = { "info", "low", "medium", "high" };
	static const char *const zh[SEVERITY_COUNT] = { "提示", "低", "中", "高" };

	return report->language == RULE_ZH ? zh[severity] : en[severity];
}

static const char *severity_color(enum adv_severity severity)
{
	static const char *const colors[SEVERITY_COUNT] = { "\x1b[2m", "\x1b[32m", "\x1b[33m",
							    "\x1b[1;31m" };

	return colors[severity];
}

/* Foreign text, safe and wrapped, behind a word. */
static void put_text(const struct advisor_report *report, struct np_buf *buf, const char *word,
		     const char *text)
{
	struct np_buf safe = NP_BUF_INIT;
	size_t indent = 6 + np_text_width(word, strlen(word)) + 1;

	np_buf_printf(buf, "      %s ", word);
	np_text_safe(&safe, text, strlen(text));
	np_text_wrap(buf, safe.text, indent, report->width);
	np_buf_release(&safe);
}

static size_t count_shown(const struct adv_advice *advice)
{
	size_t count = 0;

	for (size_t i = 0; i < advice->findings.count; i++)
		count += !advice->findings.item[i].suppressed;
	return count;
}

static void put_total(const struct advisor_report *report, struct np_buf *buf)
{
	const struct adv_advice *advice = report->advice;
	size_t shown = count_shown(advice);
	size_t ranks = np_run_used(advice->analysis->run);
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	np_text_safe(&line, report->input, strlen(report->input));
	np_buf_printf(&line, ": %zu %s", ranks,
		      advisor_report_word(report, ranks == 1 ? "rank" : "ranks", "个 rank"));
	if (advice->step_time != NP_UNKNOWN) {
		bool iteration = advice->basis == NP_BASIS_ITERATION;

		np_buf_add(&line, iteration
					  ? advisor_report_word(report, ", an iteration takes ",
								"，迭代耗时 ")
					  : advisor_report_word(report, ", the span of a step is ",
								"，单步跨度 "));
		np_text_duration(&line, advice->step_time);
	}
	np_buf_printf(&line, "; %zu %s", shown,
		      advisor_report_word(report, shown == 1 ? "finding" : "findings", "个问题"));
	if (advice->total_gain != NP_UNKNOWN && advice->total_gain > 0) {
		np_buf_add(&line,
			   advisor_report_word(report, ", together at most ", "，合计最多 "));
		np_text_duration(&line, advice->total_gain);
		if (!isnan(advice->total_percent)) {
			np_buf_add(&line, " (");
			put_percent(&line, advice->total_percent);
			np_buf_printf(&line, "%s)", advisor_report_word(report, " of it", ""));
		}
	}
	np_text_wrap(buf, line.text, 0, report->width);
}

/* What every other command says of the run as well. */
static void put_verdict(const struct advisor_report *report, struct np_buf *buf)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	np_buf_printf(&line, "%s%s", advisor_report_word(report, "verdict: ", "结论："),
		      report->advice->analysis->verdict.text);
	np_text_wrap(buf, line.text, 0, report->width);
}

/* The first rows of the evidence of the rank with the largest gain. */
static int put_evidence(const struct advisor_report *report, const struct adv_finding *finding,
			struct np_buf *buf, struct np_err *err)
{
	const struct adv_rule *rule = finding->rule;
	const struct adv_rows *evidence = &finding->shown->evidence;
	struct np_grid_column columns[32];
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = NULL;
	size_t rows = adv_rows_count(evidence);

	if (rows == 0 || evidence->column_count > NP_COUNT(columns))
		return NP_OK;
	for (size_t i = 0; i < evidence->column_count; i++) {
		const struct adv_rule_column *column = &rule->evidence.item[i];
		const char *title = adv_rule_text_in(column->title, report->language);

		columns[i] = (struct np_grid_column){
			.title = title ? title : column->column,
			.align = adv_rows_cell(evidence, 0, i)->type == NP_CELL_TEXT ? NP_LEFT
										     : NP_RIGHT,
			.may_shrink = true,
		};
	}
	grid = np_grid_new(columns, evidence->column_count);
	if (!grid)
		return np_fail_nomem(err, "evidence");
	for (size_t r = 0; r < rows && (rule->top_text == 0 || r < (size_t)rule->top_text); r++) {
		for (size_t i = 0; i < evidence->column_count; i++) {
			struct np_buf cell = NP_BUF_INIT;

			adv_template_format(&cell, adv_rows_cell(evidence, r, i),
					    rule->evidence.item[i].format);
			np_grid_cell(grid, cell.text);
			np_buf_release(&cell);
		}
	}
	return np_grid_write(grid, buf, 6, report->width, report->color, err);
}

static int put_finding(const struct advisor_report *report, const struct adv_finding *finding,
		       size_t number, struct np_buf *buf, struct np_err *err)
{
	const struct adv_outcome *shown = finding->shown;
	size_t advice = report->verbose ? shown->advice.count : shown->advice.count > 0;
	const char *known = adv_baseline_name(finding->baseline);

	np_buf_printf(buf, "\n%4zu  %s%s%s  ", number,
		      report->color ? severity_color(finding->severity) : "",
		      severity_word(report, finding->severity), report->color ? "\x1b[0m" : "");
	advisor_report_gain(report, finding, buf);
	np_buf_add(buf, "  ");
	advisor_report_where(report, finding, buf);
	np_buf_printf(buf, "  %s%s%s%s\n", finding->rule->id, known ? " [" : "", known ? known : "",
		      known ? "]" : "");
	put_text(report, buf, advisor_report_word(report, "why:", "原因："), shown->message);
	for (size_t i = 0; i < advice; i++)
		put_text(report, buf, advisor_report_word(report, "do:", "建议："),
			 shown->advice.item[i]);
	if (!report->verbose)
		return NP_OK;
	if (shown->basis && finding->gain != NP_UNKNOWN)
		put_text(report, buf, advisor_report_word(report, "gain:", "收益依据："),
			 shown->basis);
	return put_evidence(report, finding, buf, err);
}

/* Is this rule one that could not be checked, wholly or on some ranks? */
static bool not_checked(const struct adv_rule_report *rule)
{
	return rule->status == STATUS_SKIPPED || rule->status == STATUS_ERROR ||
	       (rule->reason[0] && (rule->status == STATUS_FIRED || rule->status == STATUS_CLEAR));
}

/* Rules with the same reason share a line. */
static void put_not_checked(const struct advisor_report *report, struct np_buf *buf)
{
	const struct adv_advice *advice = report->advice;
	bool first = true;

	for (size_t i = 0; i < advice->rules.count; i++) {
		const struct adv_rule_report *rule = &advice->rules.item[i];
		struct np_buf line = NP_BUF_INIT;
		bool listed = !not_checked(rule);

		for (size_t j = 0; j < i && !listed; j++)
			listed = not_checked(&advice->rules.item[j]) &&
				 strcmp(advice->rules.item[j].reason, rule->reason) == 0;
		if (listed)
			continue;
		if (first)
			np_buf_printf(buf, "\n%s\n",
				      advisor_report_word(report, "not checked:", "未检查："));
		first = false;
		np_buf_add(&line, rule->rule->id);
		for (size_t j = i + 1; j < advice->rules.count; j++) {
			if (not_checked(&advice->rules.item[j]) &&
			    strcmp(advice->rules.item[j].reason, rule->reason) == 0)
				np_buf_printf(&line, ", %s", advice->rules.item[j].rule->id);
		}
		np_buf_add(&line, ": ");
		np_text_safe(&line, rule->reason, strlen(rule->reason));
		np_buf_add(buf, "  ");
		np_text_wrap(buf, line.text, 4, report->width);
		np_buf_release(&line);
	}
}

static void put_notes(const struct advisor_report *report, const struct np_notes *notes,
		      struct np_buf *buf, bool *first)
{
	for (size_t i = 0; i < notes->list.count; i++) {
		const struct np_note *note = &notes->list.item[i];
		struct np_buf line = NP_BUF_INIT;

		if (*first)
			np_buf_printf(buf, "\n%s\n",
				      advisor_report_word(report, "notes:", "说明："));
		*first = false;
		np_text_safe(&line, note->path, strlen(note->path));
		np_buf_add(&line, ": ");
		np_text_safe(&line, note->what, strlen(note->what));
		np_buf_add(&line, ": ");
		np_text_safe(&line, note->reason, strlen(note->reason));
		np_buf_add(buf, "  ");
		np_text_wrap(buf, line.text, 4, report->width);
		np_buf_release(&line);
	}
}

static void put_counts(const struct advisor_report *report, struct np_buf *buf)
{
	const struct adv_advice *advice = report->advice;
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;
	size_t counts[STATUS_ERROR + 1] = { 0 };

	for (size_t i = 0; i < advice->rules.count; i++)
		counts[advice->rules.item[i].status]++;
	const struct {
		size_t count;
		const char *en;
		const char *zh;
	} words[] = {
		{ counts[STATUS_FIRED], "found something", "条命中" },
		{ counts[STATUS_CLEAR], "found nothing", "条未命中" },
		{ counts[STATUS_SKIPPED] + counts[STATUS_ERROR], "not checked", "条未检查" },
		{ counts[STATUS_NOT_APPLICABLE], "not for this run", "条不适用" },
		{ counts[STATUS_SUPPRESSED], "suppressed", "条被抑制" },
	};
	np_buf_printf(&line, "%zu %s:", advice->rules.count,
		      advisor_report_word(report, "rules", "条规则"));
	for (size_t i = 0; i < NP_COUNT(words); i++)
		np_buf_printf(&line, "%s %zu %s", i > 0 ? "," : "", words[i].count,
			      advisor_report_word(report, words[i].en, words[i].zh));
	np_buf_add_char(buf, '\n');
	np_text_wrap(buf, line.text, 0, report->width);
}

int advisor_report_screen(const struct advisor_report *report, struct np_buf *buf,
			  struct np_err *err)
{
	const struct adv_advice *advice = report->advice;
	bool first = true;
	size_t number = 0;
	int rc = NP_OK;

	put_total(report, buf);
	put_verdict(report, buf);
	for (size_t i = 0; i < advice->findings.count && rc == NP_OK; i++) {
		if (!advice->findings.item[i].suppressed)
			rc = put_finding(report, &advice->findings.item[i], ++number, buf, err);
	}
	put_not_checked(report, buf);
	put_notes(report, &advice->analysis->run->notes, buf, &first);
	put_notes(report, &advice->notes, buf, &first);
	put_counts(report, buf);
	return rc == NP_OK ? np_buf_check(buf, err) : rc;
}

/* Foreign text that cannot become markup. */
static void put_markdown(struct np_buf *buf, const char *text)
{
	struct np_buf safe = NP_BUF_INIT;

	np_text_safe(&safe, text, strlen(text));
	np_grid_add_markdown(buf, safe.text, safe.length);
	np_buf_release(&safe);
}

static int markdown_findings(const struct advisor_report *report, struct np_buf *buf,
			     struct np_err *err)
{
	const struct np_grid_column columns[] = {
		{ "#", NP_RIGHT, false },
		{ advisor_report_word(report, "severity", "级别"), NP_LEFT, false },
		{ advisor_report_word(report, "gain per step", "每步收益"), NP_LEFT, false },
		{ advisor_report_word(report, "where", "位置"), NP_LEFT, false },
		{ advisor_report_word(report, "rule", "规则"), NP_LEFT, false },
		{ advisor_report_word(report, "why", "原因"), NP_LEFT, false },
		{ advisor_report_word(report, "what to do", "建议"), NP_LEFT, false },
	};
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));
	size_t number = 0;

	if (!grid)
		return np_fail_nomem(err, "a table");
	for (size_t i = 0; i < report->advice->findings.count; i++) {
		const struct adv_finding *finding = &report->advice->findings.item[i];
		struct np_buf text = NP_BUF_INIT;

		if (finding->suppressed)
			continue;
		np_grid_printf(grid, "%zu", ++number);
		np_grid_cell(grid, severity_word(report, finding->severity));
		advisor_report_gain(report, finding, &text);
		np_grid_cell(grid, text.text);
		np_buf_clear(&text);
		advisor_report_where(report, finding, &text);
		np_grid_cell(grid, text.text);
		np_grid_cell(grid, finding->rule->id);
		np_grid_cell(grid, finding->shown->message);
		np_buf_clear(&text);
		for (size_t a = 0; a < finding->shown->advice.count; a++)
			np_buf_printf(&text, "%s%s", a > 0 ? " " : "",
				      finding->shown->advice.item[a]);
		np_grid_cell(grid, text.text);
		np_buf_release(&text);
	}
	return np_grid_write_markdown(grid, buf, err);
}

static void markdown_not_checked(const struct advisor_report *report, struct np_buf *buf)
{
	bool first = true;

	for (size_t i = 0; i < report->advice->rules.count; i++) {
		const struct adv_rule_report *rule = &report->advice->rules.item[i];

		if (!not_checked(rule))
			continue;
		if (first)
			np_buf_printf(buf, "\n## %s\n\n",
				      advisor_report_word(report, "Not checked", "未检查"));
		first = false;
		np_buf_printf(buf, "* `%s`: ", rule->rule->id);
		put_markdown(buf, rule->reason);
		np_buf_add(buf, "\n");
	}
}

int advisor_report_markdown(const struct advisor_report *report, struct np_buf *buf,
			    struct np_err *err)
{
	struct np_buf total = NP_BUF_INIT;
	struct np_buf notes = NP_BUF_INIT;
	bool first = true;
	int rc = NP_OK;

	np_buf_add(buf, "# npuprof advisor\n\n");
	put_total(report, &total);
	np_buf_add(&total, "\n");
	put_verdict(report, &total);
	np_grid_add_markdown(buf, total.text, total.length);
	np_buf_release(&total);
	np_buf_add(buf, "\n");
	if (count_shown(report->advice) > 0)
		rc = markdown_findings(report, buf, err);
	markdown_not_checked(report, buf);
	put_notes(report, &report->advice->analysis->run->notes, &notes, &first);
	put_notes(report, &report->advice->notes, &notes, &first);
	np_grid_add_markdown(buf, notes.text, notes.length);
	np_buf_release(&notes);
	return rc == NP_OK ? np_buf_check(buf, err) : rc;
}
