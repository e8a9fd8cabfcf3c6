/* SPDX-License-Identifier: Apache-2.0 */
#include "report_whatif.h"
#include "verdict.h"

#include "npuprof/grid.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

#define MAX_ROWS 12
#define MAX_PATH 8

/* Less slack than this is none: a launch takes longer. */
#define SLACK_NS 10000

static void put_title(struct np_buf *buf, const struct whatif_report *report, const char *title)
{
	np_buf_printf(buf, report->report->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

static void put_replay(struct np_buf *buf, const struct whatif_report *report)
{
	const struct np_whatif *whatif = report->whatif;

	np_buf_add(buf, "  step ");
	np_text_duration(buf, whatif->observed);
	np_buf_add(buf, "; replayed ");
	np_text_duration(buf, whatif->step);
	np_buf_printf(buf, " (%.2f %% off); with everything repaired ", 100 * whatif->fidelity);
	np_text_duration(buf, whatif->ideal);
	np_buf_printf(buf, ": slowdown %.2f\n", report_ratio(whatif->step, whatif->ideal));
	if (report->analysis->replay->timed < np_run_used(report->analysis->run))
		np_buf_printf(
			buf,
			"  of %zu ranks only operators are known: they are taken to stand still"
			" for each\n",
			np_run_used(report->analysis->run) - report->analysis->replay->timed);
	if (whatif->forced > 0)
		np_buf_printf(
			buf, "  %zu times a rank waited for what was never recorded, and went on\n",
			whatif->forced);
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

static int put_rows(struct np_buf *buf, const struct whatif_report *report,
		    const struct np_whatif_row *rows, size_t count, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "repair", NP_LEFT, false },       { "step with it", NP_RIGHT, false },
		{ "saved", NP_RIGHT, false },       { "share", NP_RIGHT, false },
		{ "costs alone", NP_RIGHT, false },
	};
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));
	int rc = grid ? NP_OK : np_fail_nomem(err, "the screen");

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		put_grid_row(grid, report, &rows[i]);
	if (rc == NP_OK)
		rc = np_grid_write(grid, buf, 2, report->report->width, report->report->color, err);
	np_grid_free(grid);
	return rc;
}

static void put_together(struct np_buf *buf, const struct whatif_report *report)
{
	np_ns step = report->whatif->step;

	np_buf_add(buf, "  repaired together, the step takes ");
	np_text_duration(buf, report->asked_step);
	np_buf_add(buf, ", ");
	np_text_duration(buf, step - report->asked_step);
	np_buf_printf(buf, " (%.1f %%) less", report_percent(step - report->asked_step, step));
	if (report->asked.count > 1) {
		np_buf_add(buf, "; one by one they would save ");
		np_text_duration(buf, report->asked_singles);
		np_buf_add(buf, " in sum");
	}
	np_buf_add(buf, "\n");
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

static int put_path_section(struct np_buf *buf, const struct whatif_report *report,
			    struct np_err *err)
{
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
	for (size_t i = 0; i < shares.count && i < MAX_PATH; i++) {
		char leaf[256];

		np_path_leaf(report->analysis->cluster, report->analysis->align,
			     shares.item[i].piece, leaf, sizeof(leaf));
		np_buf_printf(buf, "  %4.0f %%  rank %" PRId32 "  ",
			      report_percent(shares.item[i].ns, total),
			      report->analysis->run->ranks[shares.item[i].piece->rank]->id);
		np_text_safe(buf, leaf, strlen(leaf));
		np_buf_add(buf, "\n");
	}
	np_vec_release(&shares);
	return NP_OK;
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
	np_buf_printf(buf, "  slack: of %zu steps of ranks %zu have none", known, without);
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
	np_buf_add(buf, "  computing on it: p50 ");
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

static void put_efficiency_section(struct np_buf *buf, const struct np_efficiency *each)
{
	np_buf_printf(
		buf,
		"  %.0f %% of the step computes = load balance %.0f %% x serialisation %.0f %% x"
		" transfer %.0f %% x host %.0f %%\n",
		100 * report_ratio(each->mean, each->step),
		100 * report_ratio(each->mean, each->most),
		100 * report_ratio(each->most, each->without_both),
		100 * report_ratio(each->without_both, each->without_host),
		100 * report_ratio(each->without_host, each->step));
}

int whatif_screen(const struct whatif_report *report, struct np_buf *buf, struct np_err *err)
{
	const struct np_whatif *whatif = report->whatif;
	size_t shown = whatif->rows.count < MAX_ROWS ? whatif->rows.count : MAX_ROWS;
	NP_CLEANUP(np_buf_release) struct np_buf verdict = NP_BUF_INIT;
	int rc;

	report_put_head(buf, report->report);
	np_buf_add(buf, "\n");
	put_title(buf, report, "Replay");
	put_replay(buf, report);
	put_title(buf, report, "Verdict");
	rc = verdict_put_text(&verdict, report->report, err);
	report_put_lines(buf, verdict.text, 2, report->report->width);
	put_title(buf, report, "Repairs, one at a time");
	if (rc == NP_OK)
		rc = put_rows(buf, report, whatif->rows.item, shown, err);
	if (whatif->rows.count > shown)
		np_buf_printf(buf, "  … and %zu more: -f json lists all\n",
			      whatif->rows.count - shown);
	if (report->asked.count > 0)
		put_together(buf, report);
	if (report->curve.list.count > 0) {
		put_title(buf, report, "One after the other, each the best on top of those before");
		if (rc == NP_OK)
			rc = put_rows(buf, report, report->curve.list.item,
				      report->curve.list.count, err);
	}
	put_title(buf, report, "Critical path: what only itself could shorten");
	if (rc == NP_OK)
		rc = put_path_section(buf, report, err);
	put_summary_line(buf, report);
	put_slack_line(buf, report);
	put_title(buf, report, "Efficiency");
	put_efficiency_section(buf, &report->analysis->efficiency);
	return rc < 0 ? rc : np_buf_check(buf, err);
}
