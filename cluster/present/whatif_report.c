/* SPDX-License-Identifier: Apache-2.0 */
/* Presents the replay: which repair gains what, the critical path, and where efficiency is lost. */
#include "whatif_report.h"

#include "cli/prepare/input_json.h"
#include "cli/prepare/notes_screen.h"
#include "cli/prepare/trust_json.h"
#include "cli/prepare/verdict_json.h"

#include "npuprof/lang.h"
#include "npuprof/page.h"
#include "npuprof/relation.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

#define MAX_ROWS 10
#define MAX_PATH 8

/* A piece of the path that rounds to nothing is not listed. */
#define WORTH_A_PIECE 0.005

/* Shares of the slowdown that are named, at most, and from when on. */
#define MAX_SHARES   3
#define WORTH_SAYING 0.1

/* Repairs that save less of the step are not listed. */
#define WORTH_LISTING 0.001

/* Less slack than this is none: a launch takes longer. */
#define SLACK_NS 10000

/* "; 121 ms with … (3.2 % less)" */
static void put_limit(struct np_buf *buf, const struct np_whatif *whatif, enum np_fix_kind kind,
		      const char *what)
{
	for (size_t i = 0; i < whatif->rows.count; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];

		if (row->fix.kind != kind)
			continue;
		np_buf_add(buf, "; ");
		np_text_duration(buf, row->step);
		np_buf_printf(buf, " %s (%.1f %% less)", what,
			      report_percent(row->saved, whatif->step));
	}
}

/* Where most waiting is for ranks that nobody saw, those may be as late after a repair. */
static void put_unseen(struct np_buf *text, const struct np_analysis *analysis)
{
	if (analysis->causes.unprofiled * 2 <= analysis->charges.total)
		return;
	np_buf_add(text, "waiting for ranks that were not profiled, ");
	np_text_duration(text, analysis->causes.unprofiled);
	np_buf_add(text, " in all, is replayed as transfer: repairs gain at most what is shown,"
			 " and nothing where those ranks are as late as before\n");
}

/* What uneven work costs by the published rule, and what of it accounts for most. */
static void put_balance(struct np_buf *text, const struct np_analysis *analysis)
{
	const struct np_balance *balance = &analysis->balance;
	size_t listed = 0;

	if (!balance->known)
		return;
	np_buf_add(text, "by the published rule, without gaps: step ");
	np_text_duration(text, balance->step);
	np_buf_add(text, ", even ");
	np_text_duration(text, balance->ideal);
	np_buf_printf(text, ", slowdown %.2f", report_ratio(balance->step, balance->ideal));
	for (size_t i = 0; i < balance->shares.count && listed < MAX_SHARES; i++) {
		const struct np_balance_share *share = &balance->shares.item[i];

		if (share->recovered < WORTH_SAYING)
			break;
		np_buf_add(text, listed++ == 0 ? "; of that " : ", ");
		np_buf_printf(text, "%s ", np_share_kind_name(share->kind));
		if (share->kind == NP_SHARE_OPTYPE)
			np_buf_printf(text, "%s", np_run_text(analysis->run, share->type));
		else
			np_buf_printf(text, "%" PRId32, share->number);
		np_buf_printf(text, " %.0f %%", 100 * share->recovered);
	}
	np_buf_add(text, "\n");
}

static void put_replay(struct np_buf *text, const struct whatif_report *report)
{
	const struct np_whatif *whatif = report->whatif;
	size_t untimed = np_run_used(report->analysis->run) - report->analysis->replay->timed;

	np_buf_add(text, "step ");
	np_text_duration(text, whatif->observed);
	np_buf_add(text, "; replayed ");
	np_text_duration(text, whatif->step);
	np_buf_printf(text, " (error %.2f %%)", 100 * whatif->fidelity);
	put_limit(text, whatif, NP_FIX_ALL, "if all ranks, stages and links were even");
	put_limit(text, whatif, NP_FIX_HIDE_COMM, "if no transfer showed");
	np_buf_add(text, "\n");
	if (untimed > 0)
		np_buf_printf(text,
			      "of %zu rank%s only operators are known: nothing is taken to run"
			      " beside them, and what happens in between is unknown\n",
			      untimed, untimed == 1 ? "" : "s");
	if (whatif->forced > 0)
		np_buf_printf(text,
			      "%zu times a rank waited for what was never recorded, and went on\n",
			      whatif->forced);
	put_unseen(text, report->analysis);
	put_balance(text, report->analysis);
}

static void put_saved(struct np_grid *grid, const struct whatif_report *report, np_ns saved)
{
	/* What the replay may be wrong by is no gain. */
	if ((double)saved < report->whatif->fidelity * (double)report->whatif->step) {
		np_grid_cell(grid, "-");
		np_grid_cell(grid, "-");
		return;
	}
	np_grid_duration(grid, saved);
	np_grid_printf(grid, "%.1f %%", report_percent(saved, report->whatif->step));
}

static void put_grid_row(struct np_grid *grid, const struct whatif_report *report,
			 const struct np_whatif_row *row)
{
	char fix[NP_FIX_TEXT + 16];

	np_fix_format(&row->fix, fix);
	np_grid_cell(grid, fix);
	np_grid_duration(grid, row->step);
	put_saved(grid, report, row->saved);
	if (row->alone == NP_UNKNOWN)
		np_grid_cell(grid, "");
	else
		np_grid_duration(grid, row->alone > 0 ? row->alone : 0);
}

static int put_rows(struct np_section *section, const struct whatif_report *report,
		    const struct np_whatif_row *rows, size_t count, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "repair", NP_LEFT, false },       { "step with it", NP_RIGHT, false },
		{ "saved", NP_RIGHT, false },       { "share", NP_RIGHT, false },
		{ "costs alone", NP_RIGHT, false },
	};

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	for (size_t i = 0; i < count && section->grid; i++)
		put_grid_row(section->grid, report, &rows[i]);
	return section->grid ? NP_OK : np_fail_nomem(err, "the screen");
}

/* Something that could be repaired, and not a limit of all that could; worth a line. */
static bool is_listed(const struct np_whatif *whatif, const struct np_whatif_row *row)
{
	double least = whatif->fidelity > WORTH_LISTING ? whatif->fidelity : WORTH_LISTING;

	return row->fix.kind != NP_FIX_ALL && row->fix.kind != NP_FIX_HIDE_COMM &&
	       (double)row->saved >= least * (double)whatif->step;
}

static int put_repairs(struct np_section *section, const struct whatif_report *report,
		       struct np_err *err)
{
	struct np_buf *text = &section->text;
	const struct np_whatif *whatif = report->whatif;
	struct np_whatif_row rows[MAX_ROWS];
	size_t listed = 0;
	size_t left = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < whatif->rows.count; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];

		if (is_listed(whatif, row) && listed < MAX_ROWS)
			rows[listed++] = *row;
		else if (row->fix.kind != NP_FIX_ALL && row->fix.kind != NP_FIX_HIDE_COMM)
			left++;
	}
	if (listed > 0)
		rc = put_rows(section, report, rows, listed, err);
	else
		np_buf_add(text, "no single repair would save 0.1 % of the step\n");
	if (left > 0 && listed > 0)
		np_buf_printf(text, "%zu more were tried that would save %s: -f json lists all\n",
			      left, listed < MAX_ROWS ? "next to nothing" : "less");
	return rc;
}

/* Does one contain the other, or might it: a rank and its host, a rank and its stage? */
static bool may_contain(const struct np_fix *a, const struct np_fix *b)
{
	return a->kind != b->kind && a->kind <= NP_FIX_STAGE && b->kind <= NP_FIX_STAGE;
}

/* What to ask next, by the best repairs at hand; what to change is the advisor's to say. */
static int put_next(struct np_section *section, const struct whatif_report *report,
		    struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf fixes = NP_BUF_INIT;
	const struct np_whatif *whatif = report->whatif;
	const struct np_fix *named[2] = { NULL, NULL };
	size_t count = 0;

	section->grid = report_next_grid();
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	for (size_t i = 0; i < whatif->rows.count && count < NP_COUNT(named); i++) {
		const struct np_fix *fix = &whatif->rows.item[i].fix;

		if (is_listed(whatif, &whatif->rows.item[i]) &&
		    (count == 0 || !may_contain(named[0], fix)))
			named[count++] = fix;
	}
	for (size_t i = 0; i < count; i++)
		report_put_fix(&fixes, named[i]);
	report_put_command(section->grid, report->report, "what to change:", "advisor", "");
	if (count > 1 && report->asked.count == 0)
		report_put_command(section->grid, report->report, "several at once:", "whatif",
				   fixes.text);
	if (count > 0 && report->curve.list.count == 0)
		report_put_command(section->grid, report->report,
				   "the ranks to begin with:", "whatif", " --top 3");
	return np_buf_check(&fixes, err);
}

static void put_together(struct np_buf *buf, const struct whatif_report *report)
{
	np_ns step = report->whatif->step;

	if (report->asked.count > 1)
		np_say(buf,
		       "repaired together, the step takes {1}, {2} ({3}) less; one by one they would"
		       " save {4} in sum\n",
		       NP_SAID_TIME(report->asked_step), NP_SAID_TIME(step - report->asked_step),
		       NP_SAID_SHARE(report_ratio(step - report->asked_step, step)),
		       NP_SAID_TIME(report->asked_singles));
	else
		np_say(buf, "repaired together, the step takes {1}, {2} ({3}) less\n",
		       NP_SAID_TIME(report->asked_step), NP_SAID_TIME(step - report->asked_step),
		       NP_SAID_SHARE(report_ratio(step - report->asked_step, step)));
}

/* What the path is made of, the largest first: rank and leaf, over all steps. */
struct share {
	const struct np_path_piece *piece;
	np_ns ns;
};

static int largest_first(const void *left, const void *right)
{
	const struct share *a = left;
	const struct share *b = right;

	return np_order(b->ns, a->ns);
}

static int put_path_section(struct np_section *section, const struct whatif_report *report,
			    struct np_err *err)
{
	static const struct np_grid_column columns[] = { { "", NP_RIGHT, false },
							 { "", NP_LEFT, false },
							 { "", NP_LEFT, NP_CUT_MIDDLE } };
	const struct np_path *path = &report->analysis->path;
	NP_VEC(struct share) shares = { 0 };
	np_ns total = 0;

	for (size_t i = 0; i < path->pieces.count; i++) {
		const struct np_path_piece *piece = &path->pieces.item[i];
		struct share *share = NULL;

		total += piece->ns;
		for (size_t j = 0; j < shares.count && !share; j++) {
			const struct np_path_piece *other = shares.item[j].piece;

			if (other->rank == piece->rank &&
			    other->communicator == piece->communicator &&
			    (piece->communicator != UINT32_MAX || other->work == piece->work))
				share = &shares.item[j];
		}
		if (!share) {
			share = np_vec_add(&shares, err);
			if (!share) {
				np_vec_release(&shares);
				return NP_E_NOMEM;
			}
			share->piece = piece;
		}
		share->ns += piece->ns;
	}
	if (shares.count > 0)
		qsort(shares.item, shares.count, sizeof(shares.item[0]), largest_first);
	section->grid = np_grid_new(columns, NP_COUNT(columns));
	for (size_t i = 0; i < shares.count && i < MAX_PATH && section->grid &&
			   report_ratio(shares.item[i].ns, total) >= WORTH_A_PIECE;
	     i++) {
		char leaf[256];

		np_path_leaf(report->analysis, shares.item[i].piece, leaf, sizeof(leaf));
		np_grid_printf(section->grid, "%.0f %%", report_percent(shares.item[i].ns, total));
		np_grid_printf(section->grid, "rank %" PRId32,
			       report->analysis->run->ranks[shares.item[i].piece->rank]->id);
		np_grid_cell(section->grid, leaf);
	}
	np_vec_release(&shares);
	return section->grid ? NP_OK : np_fail_nomem(err, "the screen");
}

/* "ranks off it could compute 1.2 ms a step longer" */
static void put_slack_line(struct np_buf *buf, const struct whatif_report *report)
{
	const struct np_replay *replay = report->analysis->replay;
	np_ns least = NP_NS_MAX;
	np_ns most = 0;
	size_t without = 0;
	size_t known = 0;

	for (size_t i = 0; i < replay->cells.count; i++) {
		np_ns slack = report->slack[i];

		if (slack == NP_UNKNOWN)
			continue;
		known++;
		without += slack < SLACK_NS;
		least = slack >= SLACK_NS && slack < least ? slack : least;
		most = slack > most ? slack : most;
	}
	if (known == 0)
		return;
	np_buf_printf(buf, "slack: of %zu steps of ranks %zu have none", known, without);
	if (without < known) {
		np_buf_add(buf, "; the others could compute longer by ");
		np_text_duration(buf, least);
		np_buf_add(buf, " to ");
		np_text_duration(buf, most);
	}
	np_buf_add(buf, "\n");
}

/* "compute 61.2 ms a step, p95 62.0 ms, 7.40 ms more than on average" */
static void put_summary_line(struct np_buf *buf, const struct whatif_report *report)
{
	const struct np_path_part *part = NULL;

	for (size_t i = 0; i < report->summary.list.count && !part; i++) {
		const struct np_path_part *each = &report->summary.list.item[i];

		if (each->piece.communicator == UINT32_MAX && each->piece.work == NP_WORK_COMPUTE)
			part = each;
	}
	if (!part)
		return;
	np_buf_add(buf, "computing on it: p50 ");
	np_text_duration(buf, part->p50);
	np_buf_add(buf, ", p95 ");
	np_text_duration(buf, part->p95);
	np_buf_add(buf, " a step");
	if (part->imbalance != NP_UNKNOWN && part->imbalance > 0) {
		np_buf_add(buf, ", ");
		np_text_duration(buf, part->imbalance);
		np_buf_add(buf, " more than ranks compute on average");
	}
	np_buf_add(buf, "\n");
}

/* Without intervals of kernels nobody computes in the replay: then the factors are not known. */
static bool knows_efficiency(const struct np_efficiency *each)
{
	return each->most > 0;
}

static void put_efficiency_section(struct np_buf *buf, const struct np_efficiency *each)
{
	if (!knows_efficiency(each)) {
		np_buf_add(buf, "how much of the step computes is not known here: there are no"
				" intervals of kernels\n");
		return;
	}
	np_buf_printf(
		buf,
		"%.0f %% of the step computes = load balance %.0f %% x serialisation %.0f %% x"
		" transfer %.0f %% x host %.0f %%\n",
		100 * report_ratio(each->mean, each->step),
		100 * report_ratio(each->mean, each->most),
		100 * report_ratio(each->most, each->without_both),
		100 * report_ratio(each->without_both, each->without_host),
		100 * report_ratio(each->without_host, each->step));
}

/* Sentences that were put together of pieces, line by line in the language of the screen. */
static void translate(struct np_section *section)
{
	NP_CLEANUP(np_buf_release) struct np_buf english = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	np_buf_add_bytes(&english, section->text.text, section->text.length);
	np_buf_clear(&section->text);
	for (const char *text = english.text; *text;) {
		size_t length = strcspn(text, "\n");

		np_buf_clear(&line);
		np_buf_add_bytes(&line, text, length);
		np_lang_put_parts(&section->text, line.text);
		np_buf_add(&section->text, text[length] ? "\n" : "");
		text += length + (text[length] == '\n');
	}
	section->text.failed |= english.failed || line.failed;
}

/* The answer, what to do next, what it rests on, and how far that can be trusted. */
static int build(struct np_page *page, const struct whatif_report *report, struct np_err *err)
{
	struct np_section *section = np_page_add(page, "Verdict");
	int rc;

	if (report->asked.count > 0)
		put_together(&section->text, report);
	np_verdict_say(&section->text, report->analysis);
	np_buf_add_char(&section->text, '\n');
	rc = put_next(np_page_add(page, "Do next"), report, err);
	section = np_page_add(page, "Repairs, one at a time");
	if (rc == NP_OK)
		rc = put_repairs(section, report, err);
	if (rc == NP_OK && report->curve.list.count > 0)
		rc = put_rows(np_page_add(page, "One after the other, each the best on top of those"
						" before"),
			      report, report->curve.list.item, report->curve.list.count, err);
	section = np_page_add(page, "Critical path: what only itself could shorten");
	if (rc == NP_OK)
		rc = put_path_section(section, report, err);
	put_summary_line(&section->text, report);
	put_slack_line(&section->text, report);
	section = np_page_add(page, "Efficiency");
	put_efficiency_section(&section->text, &report->analysis->efficiency);
	section = np_page_add(page, "Replay and trust");
	section->cut = true;
	put_replay(&section->text, report);
	for (size_t i = 2; i < page->count; i++)
		translate(&page->sections[i]);
	if (rc == NP_OK)
		rc = notes_put(&section->text, &report->analysis->run->notes, "", err);
	return rc;
}

int whatif_screen(const struct whatif_report *report, struct np_buf *buf, struct np_err *err)
{
	struct np_page page = { 0 };
	int rc = build(&page, report, err);

	report_put_head(buf, report->report);
	np_buf_add(buf, "\n");
	if (rc == NP_OK)
		rc = np_page_write(&page, buf, report->report->width, report->report->color, err);
	np_page_release(&page);
	return rc < 0 ? rc : np_buf_check(buf, err);
}

int whatif_markdown(const struct whatif_report *report, struct np_buf *buf, struct np_err *err)
{
	struct np_page page = { 0 };
	int rc = build(&page, report, err);

	report_put_markdown_head(buf, report->report);
	if (rc == NP_OK)
		rc = np_page_write_markdown(&page, buf, err);
	np_page_release(&page);
	return rc < 0 ? rc : np_buf_check(buf, err);
}

/* --- rows of repairs ------------------------------------------------------------------------- */

/* Repairs with what they leave of a step. */
struct repair_rows {
	const struct np_whatif_row *rows;
	size_t count;
	np_ns step;
};

static int put_repair(const char *fix, const struct np_whatif_row *row, np_ns step,
		      struct np_sink *sink, struct np_err *err)
{
	const struct np_cell cells[] = {
		np_cell_text(fix),           np_cell_integer(row->step),
		np_cell_integer(row->saved), np_cell_real(report_percent(row->saved, step)),
		np_cell_integer(row->alone),
	};

	return np_sink_row(sink, cells, err);
}

static int produce_rows(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct repair_rows *repairs = model;
	int rc = NP_OK;

	for (size_t i = 0; i < repairs->count && rc == NP_OK; i++) {
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&repairs->rows[i].fix, fix);
		rc = put_repair(fix, &repairs->rows[i], repairs->step, sink, err);
	}
	return rc;
}

/* All repairs that were asked for together come first, joined by plus signs. */
static int produce_together(const struct whatif_report *report, struct np_sink *sink,
			    struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	struct np_whatif_row row = { .step = report->asked_step,
				     .saved = report->whatif->step - report->asked_step,
				     .alone = NP_UNKNOWN };
	int rc;

	for (size_t i = 0; i < report->asked.count; i++) {
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&report->asked.item[i], fix);
		np_buf_printf(&name, "%s%s", i > 0 ? "+" : "", fix);
	}
	rc = np_buf_check(&name, err);
	return rc < 0 ? rc : put_repair(name.text, &row, report->whatif->step, sink, err);
}

static struct repair_rows rows_of(const struct np_whatif *whatif)
{
	return (struct repair_rows){ whatif->rows.item, whatif->rows.count, whatif->step };
}

static int produce_repairs(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct whatif_report *report = model;
	const struct repair_rows rows = rows_of(report->whatif);
	int rc = report->asked.count > 0 ? produce_together(report, sink, err) : NP_OK;

	return rc < 0 ? rc : produce_rows(&rows, sink, err);
}

static const struct np_column repair_columns[] = {
	{ "fix", NP_TEXT },       { "step_ns", NP_INTEGER },  { "saved_ns", NP_INTEGER },
	{ "saved_pct", NP_REAL }, { "alone_ns", NP_INTEGER },
};

const struct np_relation whatif_repairs = { .name = "whatif",
					    .summary = "repairs",
					    .columns = repair_columns,
					    .column_count = NP_COUNT(repair_columns),
					    .produce = produce_repairs };

/* Those that were tried by themselves, or one after the other. */
static const struct np_relation repair_table = { .name = "repairs",
						 .summary = "repairs",
						 .columns = repair_columns,
						 .column_count = NP_COUNT(repair_columns),
						 .produce = produce_rows };

/* --- JSON ------------------------------------------------------------------------------------ */

static int put_path(struct np_jsonout *out, const struct np_analysis *analysis, struct np_err *err)
{
	static const struct np_json_field fields[] = {
		{ "step", NULL }, { "rank", NULL }, { "leaf", NULL }, { "ns", NULL }
	};

	return np_jsonout_relation(out, "critical_path", &np_table_critical_path, analysis, fields,
				   NP_COUNT(fields), err);
}

static void put_factors(struct np_jsonout *out, const struct np_efficiency *efficiency)
{
	np_jsonout_real(out, "product", report_ratio(efficiency->mean, efficiency->step));
	np_jsonout_real(out, "load_balance", report_ratio(efficiency->mean, efficiency->most));
	np_jsonout_integer(out, "load_balance_ns", efficiency->most - efficiency->mean);
	np_jsonout_real(out, "serialisation",
			report_ratio(efficiency->most, efficiency->without_both));
	np_jsonout_integer(out, "serialisation_ns", efficiency->without_both - efficiency->most);
	np_jsonout_real(out, "transfer",
			report_ratio(efficiency->without_both, efficiency->without_host));
	np_jsonout_integer(out, "transfer_ns", efficiency->without_host - efficiency->without_both);
	np_jsonout_real(out, "host", report_ratio(efficiency->without_host, efficiency->step));
	np_jsonout_integer(out, "host_ns", efficiency->step - efficiency->without_host);
	np_jsonout_integer(out, "computing_ns", efficiency->mean);
	np_jsonout_integer(out, "step_ns", efficiency->step);
}

static void put_efficiency(struct np_jsonout *out, const struct np_efficiency *efficiency)
{
	if (!knows_efficiency(efficiency)) {
		np_jsonout_null(out, "efficiency");
		return;
	}
	np_jsonout_object_line(out, "efficiency");
	put_factors(out, efficiency);
	np_jsonout_end(out);
}

static void put_share_json(struct np_jsonout *out, const struct np_run *run,
			   const struct np_balance_share *share)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%" PRId32, share->number);
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "kind", np_share_kind_name(share->kind));
	np_jsonout_text(out, "what",
			share->kind == NP_SHARE_OPTYPE ? np_run_text(run, share->type) : number);
	np_jsonout_real(out, "recovered", share->recovered);
	np_jsonout_end(out);
}

static void put_balance_json(struct np_jsonout *out, const struct np_analysis *analysis)
{
	const struct np_balance *balance = &analysis->balance;

	if (!balance->known) {
		np_jsonout_null(out, "balance");
		return;
	}
	np_jsonout_object(out, "balance");
	np_jsonout_integer(out, "step_ns", balance->step);
	np_jsonout_integer(out, "ideal_ns", balance->ideal);
	np_jsonout_real(out, "slowdown", report_ratio(balance->step, balance->ideal));
	np_jsonout_array(out, "shares");
	for (size_t i = 0; i < balance->shares.count; i++)
		put_share_json(out, analysis->run, &balance->shares.item[i]);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_replay_json(struct np_jsonout *out, const struct np_analysis *analysis,
			    const struct np_whatif *whatif)
{
	np_jsonout_object_line(out, "replay");
	np_jsonout_integer(out, "observed_ns", whatif->observed);
	np_jsonout_integer(out, "step_ns", whatif->step);
	np_jsonout_real(out, "fidelity", whatif->fidelity);
	np_jsonout_integer(out, "ideal_ns", whatif->ideal);
	np_jsonout_real(out, "slowdown", report_ratio(whatif->step, whatif->ideal));
	put_balance_json(out, analysis);
	np_jsonout_end(out);
}

static int put_tried(struct np_jsonout *out, const struct np_whatif *whatif, struct np_err *err)
{
	const struct repair_rows rows = rows_of(whatif);

	return np_jsonout_relation(out, "whatif", &repair_table, &rows, NULL, 0, err);
}

int whatif_put_json(struct np_jsonout *out, const struct np_analysis *analysis, struct np_err *err)
{
	const struct np_whatif *whatif = &analysis->whatif;
	bool replayed = whatif->rows.count > 0;
	int rc;

	if (replayed)
		put_replay_json(out, analysis, whatif);
	else
		np_jsonout_null(out, "replay");
	rc = put_tried(out, whatif, err);
	if (rc == NP_OK)
		rc = put_path(out, analysis, err);
	if (replayed)
		put_efficiency(out, &analysis->efficiency);
	else
		np_jsonout_null(out, "efficiency");
	return rc;
}

static void put_summary(struct np_jsonout *out, const struct whatif_report *report)
{
	np_jsonout_array(out, "critical_path_summary");
	for (size_t i = 0; i < report->summary.list.count; i++) {
		const struct np_path_part *part = &report->summary.list.item[i];
		char leaf[256];

		np_path_leaf(report->analysis, &part->piece, leaf, sizeof(leaf));
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "leaf", leaf);
		np_jsonout_integer(out, "step_ns", part->step);
		np_jsonout_integer(out, "p50_ns", part->p50);
		np_jsonout_integer(out, "p95_ns", part->p95);
		np_jsonout_integer(out, "imbalance_ns", part->imbalance);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_slack(struct np_jsonout *out, const struct whatif_report *report)
{
	const struct np_replay *replay = report->analysis->replay;
	const struct np_run *run = report->analysis->run;

	np_jsonout_array(out, "slack");
	for (size_t i = 0; i < replay->cells.count; i++) {
		if (report->slack[i] == NP_UNKNOWN)
			continue;
		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "rank", run->ranks[replay->cells.item[i].rank]->id);
		np_jsonout_text(out, "step", np_run_text(run, replay->cells.item[i].step));
		np_jsonout_integer(out, "slack_ns", report->slack[i]);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_efficiency_parts(struct np_jsonout *out, const struct whatif_report *report)
{
	const struct np_cluster *cluster = report->analysis->cluster;

	np_jsonout_array(out, "efficiency_steps");
	for (size_t i = 0; i < cluster->steps.count; i++) {
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "step", np_run_text(cluster->run, cluster->steps.item[i]));
		put_factors(out, &report->steps[i]);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_array(out, "efficiency_roles");
	for (size_t i = 0; i < report->roles.list.count; i++) {
		const struct np_role_transfer *role = &report->roles.list.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "role", np_run_text(cluster->run, role->role));
		np_jsonout_real(out, "transfer", report_ratio(role->without, role->with));
		np_jsonout_integer(out, "transfer_ns", role->with - role->without);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static int put_asked(struct np_jsonout *out, const struct whatif_report *report, struct np_err *err)
{
	const struct repair_rows curve = { report->curve.list.item, report->curve.list.count,
					   report->whatif->step };
	np_ns step = report->whatif->step;

	if (report->asked.count == 0) {
		np_jsonout_null(out, "together");
	} else {
		np_jsonout_object(out, "together");
		np_jsonout_array(out, "fixes");
		for (size_t i = 0; i < report->asked.count; i++) {
			char fix[NP_FIX_TEXT + 16];

			np_fix_format(&report->asked.item[i], fix);
			np_jsonout_text(out, NULL, fix);
		}
		np_jsonout_end(out);
		np_jsonout_integer(out, "step_ns", report->asked_step);
		np_jsonout_integer(out, "saved_ns", step - report->asked_step);
		np_jsonout_real(out, "saved_pct", report_percent(step - report->asked_step, step));
		np_jsonout_integer(out, "sum_of_singles_ns", report->asked_singles);
		np_jsonout_end(out);
	}
	return np_jsonout_relation(out, "curve", &repair_table, &curve, NULL, 0, err);
}

int whatif_json(const struct whatif_report *report, FILE *stream, struct np_err *err)
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.whatif/1");
	put_input_json(&out, report->analysis->run, report->analysis->cluster,
		       report->report->input, NULL);
	np_jsonout_text(&out, "step_basis", np_basis_name(report->analysis->spreads.basis));
	put_steps_from_json(&out, report->analysis->run);
	put_trust_json(&out, report->analysis);
	put_verdict_json(&out, &report->analysis->verdict);
	put_replay_json(&out, report->analysis, report->whatif);
	rc = put_tried(&out, report->whatif, err);
	if (rc == NP_OK)
		rc = put_path(&out, report->analysis, err);
	put_summary(&out, report);
	put_slack(&out, report);
	put_efficiency(&out, &report->analysis->efficiency);
	put_efficiency_parts(&out, report);
	if (rc == NP_OK)
		rc = put_asked(&out, report, err);
	np_jsonout_end(&out);
	if (rc == NP_OK)
		rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}
