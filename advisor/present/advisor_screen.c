/* SPDX-License-Identifier: Apache-2.0 */
/* The forms for people: terminal and Markdown. */
#include "advisor_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "npuprof/grid.h"
#include "npuprof/lang.h"
#include "npuprof/ranges.h"
#include "npuprof/run.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include "advisor/engine/eval/template.h"
#include "cli/prepare/notes_screen.h"

/* Words in the language of the report. */
static const char *advisor_report_word(const struct advisor_report *report, const char *en,
				       const char *zh)
{
	return report->language == RULE_ZH ? zh : en;
}

/* A whole sentence in the language of the report, with a value where it has "{1}". */
static void put_sentence(const struct advisor_report *report, struct np_buf *buf, const char *en,
			 const char *zh, const char *value)
{
	const char *sentence = advisor_report_word(report, en, zh);
	const char *gap = strstr(sentence, "{1}");

	np_buf_add_bytes(buf, sentence, gap ? (size_t)(gap - sentence) : strlen(sentence));
	if (gap)
		np_buf_printf(buf, "%s%s", value, gap + 3);
}

static void put_number(const struct advisor_report *report, struct np_buf *buf, const char *en,
		       const char *zh, size_t number)
{
	char value[24];

	(void)snprintf(value, sizeof(value), "%zu", number);
	put_sentence(report, buf, en, zh, value);
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

/* Findings that stand for themselves: neither suppressed nor a symptom of another. */
static bool is_head(const struct adv_advice *advice, size_t index)
{
	const struct adv_finding *finding = &advice->findings.item[index];

	return !finding->suppressed && finding->head == index;
}

static void put_heading(const struct advisor_report *report, struct np_buf *buf, const char *en,
			const char *zh)
{
	np_buf_printf(buf, "\n%s%s%s\n", report->color ? "\x1b[1m" : "",
		      advisor_report_word(report, en, zh), report->color ? "\x1b[0m" : "");
}

/* What was read, and how long a step is. */
static void put_input(const struct advisor_report *report, struct np_buf *buf)
{
	const struct adv_advice *advice = report->advice;
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
	np_text_wrap(buf, line.text, 0, report->width);
}

/* What all findings together would gain. */
static void put_total(const struct advisor_report *report, struct np_buf *buf)
{
	const struct adv_advice *advice = report->advice;
	size_t shown = count_shown(advice);
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	np_buf_printf(&line, "%zu %s", shown,
		      advisor_report_word(report, shown == 1 ? "finding" : "findings", "个问题"));
	if (advice->total_gain != NP_UNKNOWN && advice->total_gain > 0) {
		np_buf_add(&line,
			   advisor_report_word(report, ", together at most ", "，合计最多 "));
		np_text_duration(&line, advice->total_gain);
		if (!isnan(advice->total_percent)) {
			np_buf_add(&line, " (");
			put_percent(&line, advice->total_percent);
			np_buf_printf(&line, "%s)",
				      advisor_report_word(report, " of the step", ""));
		}
	} else if (shown > 0) {
		np_buf_add(&line, advisor_report_word(report,
						      shown == 1 ? "; what it gains is not known"
								 : "; what they gain is not known",
						      "；收益未知"));
	}
	np_text_wrap(buf, line.text, 2, report->width);
}

/* What every other command says of the run as well, and the answer of this one. */
static void put_answer(const struct advisor_report *report, struct np_buf *buf)
{
	NP_CLEANUP(np_buf_release) struct np_buf verdict = NP_BUF_INIT;

	put_heading(report, buf, "Verdict", "结论");
	np_buf_add(buf, "  ");
	np_lang_put_parts(&verdict, report->advice->analysis->verdict.text);
	np_text_wrap(buf, verdict.text, 2, report->width);
	buf->failed |= verdict.failed;
	np_buf_add(buf, "  ");
	put_total(report, buf);
}

/* What to do about the findings that matter most. */
#define NEXT_COUNT 3

/* Does a finding say what to do about what the verdict names? */
static bool is_of_verdict(const struct advisor_report *report, const struct adv_finding *finding)
{
	const struct np_verdict *verdict = &report->advice->analysis->verdict;
	char fix[NP_FIX_TEXT + 16];

	if (verdict->kind != NP_VERDICT_REPAIR || !finding->shown->repair)
		return false;
	np_fix_format(&verdict->fix, fix);
	return strcmp(finding->shown->repair, fix) == 0;
}

static void put_to_do(const struct advisor_report *report, const struct adv_finding *finding,
		      size_t number, struct np_buf *buf)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	if (number == 1)
		put_heading(report, buf, "Do next", "下一步");
	np_text_safe(&line, finding->shown->advice.item[0], strlen(finding->shown->advice.item[0]));
	np_buf_printf(&line, " (%s", finding->rule->id);
	if (finding->gain != NP_UNKNOWN) {
		np_buf_add(&line, ": ");
		advisor_report_gain(report, finding, &line);
	}
	np_buf_add(&line, ")");
	np_buf_printf(buf, "  %zu. ", number);
	np_text_wrap(buf, line.text, 5, report->width);
	buf->failed |= line.failed;
}

/*
 * Where files contradict each other that comes first, then what the verdict names: an upper
 * bound of something else may be more, but is less sure.
 */
static void put_next(const struct advisor_report *report, struct np_buf *buf)
{
	const struct adv_advice *advice = report->advice;
	size_t count = 0;

	for (int turn = 0; turn < 3; turn++) {
		for (size_t i = 0; i < advice->findings.count && count < NEXT_COUNT; i++) {
			const struct adv_finding *finding = &advice->findings.item[i];
			int of = finding->rule->first ? 0 : is_of_verdict(report, finding) ? 1 : 2;

			if (of == turn && is_head(advice, i) && finding->shown->advice.count > 0 &&
			    finding->severity != SEVERITY_INFO && !adv_finding_is_petty(finding))
				put_to_do(report, finding, ++count, buf);
		}
	}
}

/* Rows of evidence on the screen, as such and with -v. */
#define EVIDENCE_ROWS         5
#define EVIDENCE_ROWS_VERBOSE 50

/* Is this column for people who read another language? */
static bool is_foreign(const struct advisor_report *report, const struct adv_rule_column *column)
{
	return column->language &&
	       strcmp(column->language, report->language == RULE_ZH ? "zh" : "en") != 0;
}

/* Is nothing known of a column in the rows that are shown? */
static bool is_unknown(const struct adv_rows *evidence, size_t column, size_t rows)
{
	for (size_t r = 0; r < rows; r++) {
		if (adv_rows_cell(evidence, r, column)->type != NP_CELL_NULL)
			return false;
	}
	return true;
}

static size_t rows_shown(const struct advisor_report *report, const struct adv_finding *finding)
{
	size_t rows = adv_rows_count(&finding->shown->evidence);
	size_t most = report->verbose ? EVIDENCE_ROWS_VERBOSE : EVIDENCE_ROWS;

	if (!report->verbose && finding->rule->top_text > 0 &&
	    (size_t)finding->rule->top_text < most)
		most = (size_t)finding->rule->top_text;
	return rows < most ? rows : most;
}

/* The first rows of the evidence of the rank that is shown. */
static int put_evidence(const struct advisor_report *report, const struct adv_finding *finding,
			struct np_buf *buf, struct np_err *err)
{
	const struct adv_rule *rule = finding->rule;
	const struct adv_rows *evidence = &finding->shown->evidence;
	struct np_grid_column columns[32];
	size_t picked[32];
	size_t count = 0;
	size_t rows = rows_shown(report, finding);
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = NULL;

	if (rows == 0 || evidence->column_count > NP_COUNT(columns))
		return NP_OK;
	for (size_t i = 0; i < evidence->column_count; i++) {
		const struct adv_rule_column *column = &rule->evidence.item[i];
		const char *title = adv_rule_text_in(column->title, report->language);
		/* Texts, and lists of them; numbers have other formats. */
		bool text = adv_rows_cell(evidence, 0, i)->type == NP_CELL_TEXT &&
			    (!column->format || np_text_begins(column->format, "list"));

		if (is_foreign(report, column) || is_unknown(evidence, i, rows))
			continue;
		picked[count] = i;
		columns[count++] = (struct np_grid_column){
			.title = title ? title : column->column,
			.align = text ? NP_LEFT : NP_RIGHT,
			.may_shrink = NP_CUT_MIDDLE,
		};
	}
	if (count == 0)
		return NP_OK;
	grid = np_grid_new(columns, count);
	if (!grid)
		return np_fail_nomem(err, "evidence");
	for (size_t r = 0; r < rows; r++) {
		for (size_t i = 0; i < count; i++) {
			struct np_buf cell = NP_BUF_INIT;

			adv_template_format(&cell, adv_rows_cell(evidence, r, picked[i]),
					    rule->evidence.item[picked[i]].format);
			np_grid_cell(grid, cell.text);
			np_buf_release(&cell);
		}
	}
	return np_grid_write(grid, buf, 6, report->width, report->color, err);
}

/* "3 more rows, 2 more hints: -v" */
static void put_more(const struct advisor_report *report, const struct adv_finding *finding,
		     size_t hints, struct np_buf *buf)
{
	size_t rows = finding->shown->evidence_total - rows_shown(report, finding);
	const char *how = report->verbose ? "-f json" : "-v";

	if (rows > 0)
		put_number(report, buf, rows == 1 ? "      {1} more row" : "      {1} more rows",
			   "      另有 {1} 行", rows);
	if (hints > 0)
		np_buf_add(buf, rows > 0 ? ", " : "      ");
	if (hints > 0)
		put_number(report, buf, hints == 1 ? "{1} more hint" : "{1} more hints",
			   "另有 {1} 条建议", hints);
	if (rows > 0 || hints > 0)
		np_buf_add(buf, advisor_report_word(report, ": ", "："));
	if (rows > 0 || hints > 0)
		np_buf_printf(buf, "%s\n", how);
}

/* Does it say something else of another rank? */
static bool differs_by_rank(const struct adv_finding *finding)
{
	for (size_t i = 0; i < finding->outcomes.count; i++) {
		const struct adv_outcome *outcome = finding->outcomes.item[i];

		if (outcome->rank != finding->shown->rank &&
		    strcmp(outcome->message, finding->shown->message) != 0)
			return true;
	}
	return false;
}

/* "rank 2, which loses most (21.0 ms); least: rank 0, 1.29 ms" */
static void put_shown(const struct advisor_report *report, const struct adv_finding *finding,
		      struct np_buf *buf)
{
	const struct adv_outcome *shown = finding->shown;
	const struct adv_outcome *least = finding->least;
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	if (!differs_by_rank(finding))
		return;
	put_number(report, &line, "rank {1}", "rank {1}", (size_t)shown->rank);
	if (least && least != shown && least->gain < shown->gain) {
		np_buf_add(&line,
			   advisor_report_word(report, ", which loses most (", "，损失最大（"));
		np_text_duration(&line, shown->gain);
		put_number(report, &line, "); least: rank {1}, ", "）；损失最小：rank {1}，",
			   (size_t)least->rank);
		np_text_duration(&line, least->gain);
	}
	put_text(report, buf, advisor_report_word(report, "of:", "所示："), line.text);
}

/* Why nobody knows what it gains, or what the gain assumes. */
static void put_basis(const struct advisor_report *report, const struct adv_finding *finding,
		      struct np_buf *buf)
{
	const char *word = advisor_report_word(report, "gain:", "收益依据：");
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	if (finding->withheld != NP_UNKNOWN) {
		np_buf_add(&line, advisor_report_word(report, "not known: up to ", "未知：最多 "));
		np_text_duration(&line, finding->withheld);
		np_buf_add(&line,
			   advisor_report_word(report,
					       " less on these ranks, which would then wait "
					       "longer for ranks that were not profiled",
					       "，但这些 rank 省下的时间会变成等待未采集的 rank"));
		put_text(report, buf, word, line.text);
	} else if (report->verbose && finding->shown->basis && finding->gain != NP_UNKNOWN) {
		put_text(report, buf, word, finding->shown->basis);
	}
}

/* Other findings of the same cause, a paragraph for each. */
static void put_symptoms(const struct advisor_report *report, size_t head, struct np_buf *buf)
{
	const struct adv_advice *advice = report->advice;
	size_t count = 0;

	for (size_t i = 0; i < advice->findings.count; i++) {
		const struct adv_finding *finding = &advice->findings.item[i];
		struct np_buf line = NP_BUF_INIT;

		if (i == head || finding->head != head || finding->suppressed)
			continue;
		if (count++ >= EVIDENCE_ROWS && !report->verbose)
			continue;
		np_buf_add(&line, finding->rule->id);
		if (finding->gain != NP_UNKNOWN && finding->gain > 0 &&
		    finding->gain != advice->findings.item[head].gain) {
			np_buf_add(&line, ", ");
			advisor_report_gain(report, finding, &line);
		}
		np_buf_printf(&line, ": %s", finding->shown->message);
		put_text(report, buf, advisor_report_word(report, "symptom:", "表现："), line.text);
		np_buf_release(&line);
	}
	if (count > EVIDENCE_ROWS && !report->verbose)
		put_number(report, buf, "      {1} more symptoms: -v\n",
			   "      另有 {1} 个表现：-v\n", count - EVIDENCE_ROWS);
}

static void put_finding_head(const struct advisor_report *report, const struct adv_finding *finding,
			     size_t number, struct np_buf *buf)
{
	const char *known = adv_baseline_name(finding->baseline);

	np_buf_printf(buf, "%s%4zu  %s%s%s  ", number > 1 ? "\n" : "", number,
		      report->color ? severity_color(finding->severity) : "",
		      severity_word(report, finding->severity), report->color ? "\x1b[0m" : "");
	advisor_report_gain(report, finding, buf);
	np_buf_add(buf, "  ");
	advisor_report_where(report, finding, buf);
	np_buf_printf(buf, "  %s%s%s%s\n", finding->rule->id, known ? " [" : "", known ? known : "",
		      known ? "]" : "");
}

static int put_finding(const struct advisor_report *report, size_t index, size_t number,
		       struct np_buf *buf, struct np_err *err)
{
	const struct adv_finding *finding = &report->advice->findings.item[index];
	const struct adv_outcome *shown = finding->shown;
	size_t hints = report->verbose ? shown->advice.count : shown->advice.count > 0;
	int rc;

	put_finding_head(report, finding, number, buf);
	put_text(report, buf, advisor_report_word(report, "why:", "原因："), shown->message);
	put_shown(report, finding, buf);
	for (size_t i = 0; i < hints; i++)
		put_text(report, buf, advisor_report_word(report, "do:", "建议："),
			 shown->advice.item[i]);
	put_basis(report, finding, buf);
	rc = put_evidence(report, finding, buf, err);
	put_more(report, finding, shown->advice.count - hints, buf);
	put_symptoms(report, index, buf);
	for (size_t i = 0; i < finding->rule->docs.count && (report->verbose || i == 0); i++)
		put_text(report, buf, advisor_report_word(report, "see:", "参考："),
			 finding->rule->docs.item[i]);
	return rc;
}

static int put_findings(const struct advisor_report *report, struct np_buf *buf, struct np_err *err)
{
	const struct adv_advice *advice = report->advice;
	size_t number = 0;
	size_t petty = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < advice->findings.count && rc == NP_OK; i++) {
		if (!is_head(advice, i))
			continue;
		if (adv_finding_is_petty(&advice->findings.item[i]) && !report->verbose) {
			petty++;
			continue;
		}
		if (number++ == 0)
			put_heading(report, buf, "Findings", "发现的问题");
		rc = put_finding(report, i, number, buf, err);
	}
	if (petty > 0)
		put_number(report, buf, "\n  {1} more, each under 0.1 % of the step: -v\n",
			   "\n  另有 {1} 个，均低于单步的 0.1 %：-v\n", petty);
	return rc;
}

/* Is this rule one that could not be checked, wholly or on some ranks? */
static bool not_checked(const struct adv_rule_report *rule)
{
	return rule->status == STATUS_SKIPPED || rule->status == STATUS_ERROR ||
	       (rule->reason[0] && !rule->yielded &&
		(rule->status == STATUS_FIRED || rule->status == STATUS_CLEAR));
}

/*
 * What would let a rule be checked: the reason without what is missing, unless -v asks for that
 * or nothing else is known.
 */
static const char *cure_of(const struct advisor_report *report, const struct adv_rule_report *rule)
{
	const char *cure = strstr(rule->reason, "; ");

	return report->verbose || rule->status == STATUS_ERROR || !cure ? rule->reason : cure + 2;
}

static bool same_cure(const struct advisor_report *report, const struct adv_rule_report *a,
		      const struct adv_rule_report *b)
{
	return not_checked(a) && not_checked(b) &&
	       strcmp(cure_of(report, a), cure_of(report, b)) == 0;
}

/* Rules that the same would let be checked share a line; their names are for those who ask. */
#define CURE_LINES 4

static void put_cure(const struct advisor_report *report, size_t first, struct np_buf *buf)
{
	const struct adv_advice *advice = report->advice;
	const struct adv_rule_report *rule = &advice->rules.item[first];
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;
	size_t count = 0;

	for (size_t j = first; j < advice->rules.count; j++) {
		if (!same_cure(report, rule, &advice->rules.item[j]))
			continue;
		if (count++ < 2 || report->verbose)
			np_buf_printf(&line, "%s%s", count > 1 ? ", " : "",
				      advice->rules.item[j].rule->id);
	}
	if (count > 2 && !report->verbose)
		put_number(report, &line, " and {1} more", " 等，另有 {1} 条", count - 2);
	np_say(&line, ": ");
	np_say(&line, "{1}", NP_SAID_MSG(cure_of(report, rule)));
	np_buf_add(buf, "    ");
	np_text_wrap(buf, line.text, 6, report->width);
}

static void put_not_checked(const struct advisor_report *report, struct np_buf *buf)
{
	const struct adv_advice *advice = report->advice;
	size_t lines = 0;

	for (size_t i = 0; i < advice->rules.count; i++) {
		const struct adv_rule_report *rule = &advice->rules.item[i];
		bool listed = !not_checked(rule);

		for (size_t j = 0; j < i && !listed; j++)
			listed = same_cure(report, &advice->rules.item[j], rule);
		if (listed)
			continue;
		if (lines == 0)
			np_buf_printf(buf, "  %s\n",
				      advisor_report_word(report, "not checked, and what it takes:",
							  "未检查的规则及所需条件："));
		/* What went wrong is never left out. */
		if (lines++ < CURE_LINES || report->verbose || rule->status == STATUS_ERROR)
			put_cure(report, i, buf);
	}
	if (lines > CURE_LINES && !report->verbose)
		put_number(report, buf, "    {1} more: -v\n", "    另有 {1} 项：-v\n",
			   lines - CURE_LINES);
}

/* Notes of the run and of its details, together. */
static int put_notes(const struct advisor_report *report, struct np_buf *buf, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf lines = NP_BUF_INIT;
	int rc = notes_put(&lines, &report->advice->analysis->run->notes, "", err);

	if (rc == NP_OK)
		rc = notes_put(&lines, &report->advice->notes, "", err);
	if (lines.length > 0)
		np_text_lines(buf, lines.text, 2, 2, report->width, true);
	buf->failed |= lines.failed;
	return rc;
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
	np_buf_add(buf, "  ");
	np_text_wrap(buf, line.text, 4, report->width);
}

int advisor_report_screen(const struct advisor_report *report, struct np_buf *buf,
			  struct np_err *err)
{
	int rc;

	put_input(report, buf);
	put_answer(report, buf);
	put_next(report, buf);
	rc = put_findings(report, buf, err);
	put_heading(report, buf, "Trust", "可信度");
	put_counts(report, buf);
	put_not_checked(report, buf);
	if (rc == NP_OK)
		rc = put_notes(report, buf, err);
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
		{ advisor_report_word(report, "see", "参考"), NP_LEFT, false },
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
		np_buf_clear(&text);
		np_buf_add(&text, finding->rule->id);
		if (finding->head != i)
			put_sentence(report, &text, " (symptom of {1})", "（{1} 的表现）",
				     report->advice->findings.item[finding->head].rule->id);
		np_grid_cell(grid, text.text);
		np_grid_cell(grid, finding->shown->message);
		np_buf_clear(&text);
		for (size_t a = 0; a < finding->shown->advice.count; a++)
			np_buf_printf(&text, "%s%s", a > 0 ? " " : "",
				      finding->shown->advice.item[a]);
		np_grid_cell(grid, text.text ? text.text : "");
		np_buf_clear(&text);
		for (size_t d = 0; d < finding->rule->docs.count; d++)
			np_buf_printf(&text, "%s%s", d > 0 ? " " : "", finding->rule->docs.item[d]);
		np_grid_cell(grid, text.text ? text.text : "");
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
	struct np_buf text = NP_BUF_INIT;
	int rc = NP_OK;

	np_buf_add(buf, "# npuprof advisor\n\n");
	put_input(report, &text);
	np_buf_printf(&text, "\n%s", advisor_report_word(report, "verdict: ", "结论："));
	np_lang_put_parts(&text, report->advice->analysis->verdict.text);
	np_buf_add(&text, "\n\n");
	put_total(report, &text);
	np_grid_add_markdown(buf, text.text, text.length);
	np_buf_add(buf, "\n");
	if (count_shown(report->advice) > 0)
		rc = markdown_findings(report, buf, err);
	markdown_not_checked(report, buf);
	np_buf_clear(&text);
	if (rc == NP_OK)
		rc = put_notes(report, &text, err);
	if (text.length > 0)
		np_buf_printf(buf, "\n## %s\n\n", advisor_report_word(report, "Notes", "说明"));
	np_grid_add_markdown(buf, text.text ? text.text : "", text.length);
	np_buf_release(&text);
	return rc == NP_OK ? np_buf_check(buf, err) : rc;
}
