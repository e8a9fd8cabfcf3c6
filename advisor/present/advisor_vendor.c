/* SPDX-License-Identifier: Apache-2.0 */
/* What scripts of msprof-analyze look for: its page, its workbook, and the line of --agent. */
#include "advisor_vendor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/module.h"
#include "cli/prepare/agent.h"

#include "npuprof/dirs.h"
#include "npuprof/lock.h"
#include "npuprof/run.h"
#include "npuprof/temporary.h"
#include "npuprof/text.h"
#include "npuprof/workbook.h"

/* The most characters of the name of a sheet, and those that none may have. */
#define SHEET_MOST 31
#define SHEET_NOT  "[]:*?/\\"

/* --- sheets ---------------------------------------------------------------------------------- */

/* The sheets of the old tool, in its order, and the rules that say what it says there. */
static const struct {
	const char *sheet;
	const char *rule;
} vendor_names[] = {
	{ "Environment Variable Issues", "env.variables" },
	{ "Overall Summary", "overall.breakdown" },
	{ "slow rank", "cluster.uneven-ranks" },
	{ "slow link", "cluster.rank-bandwidth" },
	{ "Byte Alignment Analysis", "comm.byte-alignment" },
	{ "Communication Retransmission An", "comm.retransmission" },
	{ "Packet Analysis", "comm.small-packets" },
	{ "Cube Operator Perf Analysis", "compute.cube" },
	{ "FA Operator Perf Analysis", "compute.flash-attention" },
	{ "Vector Operator Perf Analysis", "compute.vector" },
	{ "AI Core Frequency Issues", "compute.frequency" },
	{ "Block Dim Issues", "compute.block-dim" },
	{ "Operator No Bound Issues", "compute.no-bound" },
	{ "AICPU Issues", "compute.aicpu" },
	{ "GC Analysis", "host.gc" },
	{ "ConjecturedGcAnalysis", "host.gc-conjectured" },
	{ "Affinity API Issues", "host.affinity-api" },
	{ "Operator Dispatch Issues", "host.compile" },
	{ "OPERATOR SEQUENCE ANALYSIS BASE", "host.fusible-operators" },
	{ "Api compare of Target and Bench", "compare.apis" },
	{ "Kernel compare of Target and Be", "compare.kernels" },
};

static const char *vendor_name(const char *rule)
{
	for (size_t i = 0; i < NP_COUNT(vendor_names); i++) {
		if (strcmp(vendor_names[i].rule, rule) == 0)
			return vendor_names[i].sheet;
	}
	return NULL;
}

/* What a finding is filed under: the old name, or the title of the rule. */
static const char *category_of(const struct adv_finding *finding)
{
	const char *known = vendor_name(finding->rule->id);

	return known ? known : finding->shown->title;
}

/* The name of its sheet: as much of that as fits, in whole characters. */
static void name_sheet(const struct adv_finding *finding, struct np_buf *ret)
{
	const char *title = category_of(finding);
	size_t length = strlen(title);

	if (length > SHEET_MOST) {
		length = SHEET_MOST;
		while (length > 0 && ((unsigned char)title[length] & 0xc0) == 0x80)
			length--;
	}
	for (size_t i = 0; i < length; i++)
		np_buf_add_char(ret, strchr(SHEET_NOT, title[i]) ? ' ' : title[i]);
}

static const struct np_column problem_columns[] = {
	{ "category", NP_TEXT },       { "description", NP_TEXT },
	{ "suggestion", NP_TEXT },     { "problem count", NP_INTEGER },
	{ "total_time(us)", NP_REAL }, { "time ratio", NP_REAL },
	{ "income(us)", NP_REAL },     { "income ratio", NP_REAL },
	{ "severity", NP_TEXT },       { "ranks", NP_TEXT },
	{ "rule", NP_TEXT },
};

static size_t evidence_count(const struct adv_finding *finding)
{
	size_t total = 0;

	for (size_t i = 0; i < finding->outcomes.count; i++)
		total += finding->outcomes.item[i]->evidence_total;
	return total;
}

static int put_problem(const struct advisor_report *report, const struct adv_finding *finding,
		       struct np_sink *sink, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf advice = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf where = NP_BUF_INIT;
	const struct adv_outcome *shown = finding->shown;
	struct np_cell gain = np_cell_scaled(finding->gain, 1e3);
	struct np_cell share = np_cell_real(finding->gain_percent / 100);

	for (size_t i = 0; i < shown->advice.count; i++)
		np_buf_printf(&advice, "%s%s", i ? "\n" : "", shown->advice.item[i]);
	advisor_report_where(report, finding, &where);
	if (np_buf_check(&advice, err) < 0 || np_buf_check(&where, err) < 0)
		return NP_E_NOMEM;
	return np_sink_row(sink,
			   (const struct np_cell[]){
				   np_cell_text(category_of(finding)),
				   np_cell_text(shown->message),
				   np_cell_text(advice.text),
				   np_cell_integer((int64_t)evidence_count(finding)),
				   np_cell_null(), /* how long it took is not what it costs */
				   share,
				   gain,
				   share,
				   np_cell_text(adv_severity_name(finding->severity)),
				   np_cell_text(where.text),
				   np_cell_text(finding->rule->id),
			   },
			   err);
}

static int put_problems(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct advisor_report *report = model;
	const struct adv_advice *advice = report->advice;
	int rc = NP_OK;

	for (size_t i = 0; i < advice->findings.count && rc == NP_OK; i++) {
		if (!advice->findings.item[i].suppressed)
			rc = put_problem(report, &advice->findings.item[i], sink, err);
	}
	return rc;
}

static struct np_relation problems_of(const struct advisor_report *report)
{
	return (struct np_relation){ report->language == RULE_ZH ? "问题综述" : "problems",
				     "what was found", problem_columns, NP_COUNT(problem_columns),
				     put_problems };
}

/* The evidence of a finding, all ranks of it; rules over ranks have the rank in front. */
static bool has_rank_column(const struct adv_finding *finding)
{
	return finding->shown->rank != NP_NO_RANK &&
	       adv_rows_column(&finding->shown->evidence, "rank") == SIZE_MAX;
}

static int put_evidence(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct adv_finding *finding = model;
	size_t extra = has_rank_column(finding) ? 1 : 0;
	size_t columns = finding->shown->evidence.column_count;
	struct np_cell *cells = calloc(columns + extra + 1, sizeof(*cells));
	int rc = cells ? NP_OK : np_fail_nomem(err, "evidence");

	for (size_t o = 0; o < finding->outcomes.count && rc == NP_OK; o++) {
		const struct adv_outcome *outcome = finding->outcomes.item[o];

		/* Those of one rule have the same columns; who has not, has no rows. */
		for (size_t r = 0; rc == NP_OK && outcome->evidence.column_count == columns &&
				   r < adv_rows_count(&outcome->evidence);
		     r++) {
			if (extra)
				cells[0] = np_cell_integer(outcome->rank);
			for (size_t i = 0; i < columns; i++)
				cells[extra + i] = *adv_rows_cell(&outcome->evidence, r, i);
			rc = np_sink_row(sink, cells, err);
		}
	}
	free(cells);
	return rc;
}

static int with_evidence(const struct adv_finding *finding, const char *name,
			 int (*use)(void *context, const struct np_relation *relation,
				    const void *model, struct np_err *err),
			 void *context, struct np_err *err)
{
	size_t extra = has_rank_column(finding) ? 1 : 0;
	size_t columns = finding->shown->evidence.column_count;
	struct np_column *header = calloc(columns + extra + 1, sizeof(*header));
	const struct np_relation relation = { name, "evidence", header, columns + extra,
					      put_evidence };
	int rc;

	if (!header)
		return np_fail_nomem(err, "evidence");
	if (extra)
		header[0] = (struct np_column){ "rank", NP_INTEGER };
	for (size_t i = 0; i < columns; i++)
		header[extra + i] = finding->shown->evidence.columns[i];
	rc = use(context, &relation, finding, err);
	free(header);
	return rc;
}

/* --- files ----------------------------------------------------------------------------------- */

/* Every sheet of the workbook, or file instead of it, by one function. */
typedef int sheet_use(void *context, const struct np_relation *relation, const void *model,
		      struct np_err *err);

static bool name_is_used(const struct adv_advice *advice, size_t before, const char *name)
{
	for (size_t i = 0; i < before; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf other = NP_BUF_INIT;

		if (advice->findings.item[i].suppressed)
			continue;
		name_sheet(&advice->findings.item[i], &other);
		if (!other.failed && strcasecmp(other.text, name) == 0)
			return true;
	}
	return false;
}

static int each_sheet(const struct advisor_report *report, sheet_use *use, void *context,
		      struct np_err *err)
{
	const struct np_relation problems = problems_of(report);
	const struct adv_advice *advice = report->advice;
	int rc = use(context, &problems, report, err);

	for (size_t i = 0; i < advice->findings.count && rc == NP_OK; i++) {
		const struct adv_finding *finding = &advice->findings.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

		name_sheet(finding, &name);
		rc = np_buf_check(&name, err);
		/* A rule may have several findings: the first has the sheet. */
		if (rc == NP_OK && !finding->suppressed &&
		    finding->shown->evidence.column_count > 0 &&
		    !name_is_used(advice, i, name.text))
			rc = with_evidence(finding, name.text, use, context, err);
	}
	return rc;
}

static int add_sheet(void *context, const struct np_relation *relation, const void *model,
		     struct np_err *err)
{
	struct np_workbook *book = context;

	return np_relation_write(relation, model, &book->sink, err);
}

static int write_book(const struct advisor_report *report, const char *path, struct np_err *err)
{
	static const struct np_sheet plain = { .header_row = 0 };
	const struct np_workbook_style style = { .title = "", .bad = "high", .good = "" };
	struct np_workbook *book;
	np_workbook_opener *open;
	int rc = np_module_find(NP_WORKBOOK_LIBRARY, NP_WORKBOOK_OPEN, (void **)&open, err);

	if (rc == NP_OK)
		rc = open(path, &style, &book, err);
	if (rc < 0)
		return rc;
	book->sheet = &plain;
	rc = each_sheet(report, add_sheet, book, err);
	return book->finish(book, rc, err);
}

static int write_workbook(const struct advisor_report *report, const char *path, struct np_err *err)
{
	char *temporary = np_temporary_new(path);
	int rc = temporary ? write_book(report, temporary, err) : np_fail_nomem(err, path);

	if (rc == NP_OK && np_temporary_place(temporary, path) < 0)
		rc = np_fail(err, NP_E_IO, "cannot rename '%s': %s", temporary, strerror(errno));
	if (rc < 0 && temporary)
		(void)unlink(temporary);
	np_temporary_free(temporary);
	return rc;
}

static int write_csv(void *context, const struct np_relation *relation, const void *model,
		     struct np_err *err)
{
	return np_csv_write_below(relation, model, context, err);
}

static size_t findings_shown(const struct adv_advice *advice)
{
	size_t count = 0;

	for (size_t i = 0; i < advice->findings.count; i++)
		count += !advice->findings.item[i].suppressed;
	return count;
}

/* log/mstt_advisor_<time>.xlsx; nothing where nothing was found. */
static int write_log(const struct advisor_report *report, const char *directory, const char *stamp,
		     char **ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf log = NP_BUF_INIT;
	struct np_err why = NP_ERR_INIT;
	char *path;
	int rc;

	np_buf_printf(&log, "%s/log", directory);
	rc = np_buf_check(&log, err);
	if (rc == NP_OK)
		rc = np_make_dirs(log.text, err);
	if (rc < 0)
		return rc;
	if (asprintf(&path, "%s/mstt_advisor_%s.xlsx", log.text, stamp) < 0)
		return np_fail_nomem(err, directory);
	rc = write_workbook(report, path, &why);
	if (rc == NP_E_NOTFOUND) {
		path[strlen(path) - strlen(".xlsx")] = '\0';
		rc = each_sheet(report, write_csv, path, err);
		if (rc == NP_OK)
			rc = np_fail(err, NP_E_NOTFOUND,
				     "workbooks cannot be written (%s): the sheets are csv files "
				     "in '%s'",
				     why.text, path);
	} else if (rc < 0) {
		*err = why;
	}
	*ret = path;
	return rc;
}

int advisor_vendor_files(const struct advisor_report *report, const struct np_run_page *page,
			 const char *directory, struct advisor_vendor_paths *ret,
			 struct np_err *err)
{
	time_t now = time(NULL);
	struct tm local;
	char stamp[32];
	int rc = np_make_output(directory, err);

	if (rc < 0)
		return rc;
	(void)strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", localtime_r(&now, &local));
	if (asprintf(&ret->html, "%s/mstt_advisor_%s.html", directory, stamp) < 0) {
		ret->html = NULL;
		return np_fail_nomem(err, directory);
	}
	rc = np_write_file(ret->html, np_run_page_write, page, err);
	if (rc < 0 || findings_shown(report->advice) == 0)
		return rc;
	return write_log(report, directory, stamp, &ret->xlsx, err);
}

void advisor_vendor_paths_release(struct advisor_vendor_paths *paths)
{
	free(paths->html);
	free(paths->xlsx);
}

/* --- the line of --agent --------------------------------------------------------------------- */

struct answer_sink {
	struct np_sink base;
	struct np_jsonout *out;
	size_t columns;
};

static int answer_begin(struct np_sink *sink, const struct np_relation *relation,
			struct np_err *err)
{
	struct answer_sink *own = (struct answer_sink *)sink;

	(void)err;
	own->columns = relation->column_count;
	np_jsonout_object_line(own->out, relation->name);
	np_jsonout_array_line(own->out, "headers");
	for (size_t i = 0; i < relation->column_count; i++)
		np_jsonout_text(own->out, NULL, relation->columns[i].name);
	np_jsonout_end(own->out);
	np_jsonout_array_line(own->out, "data");
	return NP_OK;
}

static void put_cell(struct np_jsonout *out, const struct np_cell *cell)
{
	if (cell->type == NP_CELL_INTEGER)
		np_jsonout_integer(out, NULL, cell->integer);
	else if (cell->type == NP_CELL_REAL)
		np_jsonout_real(out, NULL, cell->real);
	else if (cell->type == NP_CELL_TEXT)
		np_jsonout_bytes(out, NULL, cell->text.bytes, cell->text.length);
	else
		np_jsonout_null(out, NULL);
}

static int answer_row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	struct answer_sink *own = (struct answer_sink *)sink;

	(void)err;
	np_jsonout_array_line(own->out, NULL);
	for (size_t i = 0; i < own->columns; i++)
		put_cell(own->out, &cells[i]);
	np_jsonout_end(own->out);
	return NP_OK;
}

static int answer_end(struct np_sink *sink, struct np_err *err)
{
	struct answer_sink *own = (struct answer_sink *)sink;

	(void)err;
	np_jsonout_end(own->out);
	np_jsonout_end(own->out);
	return NP_OK;
}

static int put_sheet(void *context, const struct np_relation *relation, const void *model,
		     struct np_err *err)
{
	struct answer_sink *sink = context;

	return np_relation_write(relation, model, &sink->base, err);
}

/* The sheets that the old tool puts into its line. */
static const struct {
	const char *rule;
	const char *english;
	const char *chinese;
} answered[] = {
	{ "overall.breakdown", "Overall Summary", "整网耗时分析" },
	{ "cluster.uneven-ranks", "slow rank", "慢卡分析" },
	{ "cluster.rank-bandwidth", "slow link", "慢链路分析" },
};

static int put_sheets(const struct advisor_report *report, struct answer_sink *sink,
		      struct np_err *err)
{
	const struct np_relation problems = problems_of(report);
	const struct adv_advice *advice = report->advice;
	int rc = put_sheet(sink, &problems, report, err);

	for (size_t i = 0; i < NP_COUNT(answered); i++) {
		bool done = false;

		for (size_t j = 0; j < advice->findings.count && rc == NP_OK && !done; j++) {
			const struct adv_finding *finding = &advice->findings.item[j];

			if (finding->suppressed || strcmp(finding->rule->id, answered[i].rule) != 0)
				continue;
			rc = with_evidence(finding,
					   report->language == RULE_ZH ? answered[i].chinese
								       : answered[i].english,
					   put_sheet, sink, err);
			done = true;
		}
	}
	return rc;
}

static void put_findings(const struct advisor_report *report, struct np_jsonout *out)
{
	const struct adv_advice *advice = report->advice;

	np_jsonout_array_line(out, "findings");
	for (size_t i = 0; i < advice->findings.count; i++) {
		const struct adv_finding *finding = &advice->findings.item[i];

		if (finding->suppressed)
			continue;
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "rule", finding->rule->id);
		np_jsonout_text(out, "severity", adv_severity_name(finding->severity));
		np_jsonout_text(out, "message", finding->shown->message);
		np_jsonout_integer(out, "gain_ns", finding->gain);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

int advisor_answer(const struct advisor_report *report, const char *phase, struct np_err *err)
{
	const struct adv_advice *advice = report->advice;
	struct answer_sink sink = { .base = { answer_begin, answer_row, answer_end },
				    .out = agent_open(phase) };
	int rc = NP_OK;

	if (!sink.out)
		return NP_OK;
	if (findings_shown(advice) > 0) {
		rc = put_sheets(report, &sink, err);
		put_findings(report, sink.out);
	}
	agent_close(phase);
	agent_suggest(findings_shown(advice) > 0 ? advice->analysis->verdict.text
						 : "nothing was found");
	agent_note(&advice->analysis->run->notes);
	agent_note(&advice->notes);
	return rc;
}
