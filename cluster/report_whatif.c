/* SPDX-License-Identifier: Apache-2.0 */
#include "report_whatif.h"
#include "verdict.h"

#include "npuprof/grid.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

#define MAX_ROWS 12
#define MAX_PATH 8

/* --- JSON ------------------------------------------------------------------------------------- */

static double percent(np_ns part, np_ns whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : (double)NAN;
}

static void put_row(struct np_jsonout *out, const struct np_whatif_row *row, np_ns step)
{
	char fix[NP_FIX_TEXT + 16];

	np_fix_format(&row->fix, fix);
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "fix", fix);
	np_jsonout_integer(out, "step_ns", row->step);
	np_jsonout_integer(out, "saved_ns", row->saved);
	np_jsonout_real(out, "saved_pct", percent(row->saved, step));
	np_jsonout_integer(out, "alone_ns", row->alone);
	np_jsonout_end(out);
}

static void put_path(struct np_jsonout *out, const struct np_cluster_tables *tables)
{
	const struct np_run *run = tables->cluster->run;

	np_jsonout_array(out, "critical_path");
	for (size_t i = 0; i < tables->path->pieces.count; i++) {
		const struct np_path_piece *piece = &tables->path->pieces.item[i];
		char leaf[256];

		np_path_leaf(tables->cluster, tables->align, piece, leaf, sizeof(leaf));
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "step", np_run_text(run, piece->step));
		np_jsonout_integer(out, "rank", run->ranks[piece->rank]->id);
		np_jsonout_text(out, "leaf", leaf);
		np_jsonout_integer(out, "ns", piece->ns);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static double ratio(np_ns part, np_ns whole)
{
	return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

static void put_efficiency(struct np_jsonout *out, const struct np_efficiency *efficiency)
{
	np_jsonout_object_line(out, "efficiency");
	np_jsonout_real(out, "product", ratio(efficiency->mean, efficiency->step));
	np_jsonout_real(out, "load_balance", ratio(efficiency->mean, efficiency->most));
	np_jsonout_integer(out, "load_balance_ns", efficiency->most - efficiency->mean);
	np_jsonout_real(out, "serialisation", ratio(efficiency->most, efficiency->without_both));
	np_jsonout_integer(out, "serialisation_ns", efficiency->without_both - efficiency->most);
	np_jsonout_real(out, "transfer", ratio(efficiency->without_both, efficiency->without_host));
	np_jsonout_integer(out, "transfer_ns", efficiency->without_host - efficiency->without_both);
	np_jsonout_real(out, "host", ratio(efficiency->without_host, efficiency->step));
	np_jsonout_integer(out, "host_ns", efficiency->step - efficiency->without_host);
	np_jsonout_integer(out, "computing_ns", efficiency->mean);
	np_jsonout_integer(out, "step_ns", efficiency->step);
	np_jsonout_end(out);
}

void whatif_put_json(struct np_jsonout *out, const struct report *report,
		     const struct np_whatif *whatif)
{
	bool replayed = whatif->rows.count > 0;

	if (replayed) {
		np_jsonout_object_line(out, "replay");
		np_jsonout_integer(out, "observed_ns", whatif->observed);
		np_jsonout_integer(out, "step_ns", whatif->step);
		np_jsonout_real(out, "fidelity", whatif->fidelity);
		np_jsonout_integer(out, "ideal_ns", whatif->ideal);
		np_jsonout_real(out, "slowdown", ratio(whatif->step, whatif->ideal));
		np_jsonout_end(out);
	} else {
		np_jsonout_null(out, "replay");
	}
	np_jsonout_array(out, "whatif");
	for (size_t i = 0; i < whatif->rows.count; i++)
		put_row(out, &whatif->rows.item[i], whatif->step);
	np_jsonout_end(out);
	put_path(out, report->tables);
	if (replayed)
		put_efficiency(out, report->tables->efficiency);
	else
		np_jsonout_null(out, "efficiency");
}

static void put_asked(struct np_jsonout *out, const struct whatif_report *report)
{
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
		np_jsonout_real(out, "saved_pct", percent(step - report->asked_step, step));
		np_jsonout_end(out);
	}
	np_jsonout_array(out, "curve");
	for (size_t i = 0; i < report->curve.list.count; i++)
		put_row(out, &report->curve.list.item[i], step);
	np_jsonout_end(out);
}

int whatif_json(const struct whatif_report *report, FILE *stream, struct np_err *err)
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.whatif/1");
	report_put_input(&out, report->report->run, report->report->cluster, report->report->input);
	rc = report_put_trust(&out, report->report, err);
	if (rc == NP_OK)
		rc = verdict_put_json(&out, report->report, err);
	whatif_put_json(&out, report->report, report->whatif);
	put_asked(&out, report);
	np_jsonout_end(&out);
	if (rc == NP_OK)
		rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}

/* --- screen ----------------------------------------------------------------------------------- */

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
	np_buf_printf(buf, ": slowdown %.2f\n", ratio(whatif->step, whatif->ideal));
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
	np_grid_printf(grid, "%.1f %%", percent(saved, report->whatif->step));
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
	np_ns sum = 0;

	np_buf_add(buf, "  repaired together, the step takes ");
	np_text_duration(buf, report->asked_step);
	np_buf_add(buf, ", ");
	np_text_duration(buf, step - report->asked_step);
	np_buf_printf(buf, " (%.1f %%) less", percent(step - report->asked_step, step));
	for (size_t i = 0; i < report->asked.count; i++) {
		for (size_t j = 0; j < report->whatif->rows.count; j++) {
			const struct np_whatif_row *row = &report->whatif->rows.item[j];

			if (row->fix.kind == report->asked.item[i].kind &&
			    strcmp(row->fix.what, report->asked.item[i].what) == 0)
				sum += row->saved;
		}
	}
	if (report->asked.count > 1) {
		np_buf_add(buf, "; one by one they would save ");
		np_text_duration(buf, sum);
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
			      percent(shares.item[i].ns, total),
			      report->analysis->run->ranks[shares.item[i].piece->rank]->id);
		np_text_safe(buf, leaf, strlen(leaf));
		np_buf_add(buf, "\n");
	}
	np_vec_release(&shares);
	return NP_OK;
}

static void put_efficiency_section(struct np_buf *buf, const struct np_efficiency *each)
{
	np_buf_printf(
		buf,
		"  %.0f %% of the step computes = load balance %.0f %% x serialisation %.0f %% x"
		" transfer %.0f %% x host %.0f %%\n",
		100 * ratio(each->mean, each->step), 100 * ratio(each->mean, each->most),
		100 * ratio(each->most, each->without_both),
		100 * ratio(each->without_both, each->without_host),
		100 * ratio(each->without_host, each->step));
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
	put_title(buf, report, "Efficiency");
	put_efficiency_section(buf, &report->analysis->efficiency);
	return rc < 0 ? rc : np_buf_check(buf, err);
}
