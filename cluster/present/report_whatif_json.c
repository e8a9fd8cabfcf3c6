/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prepare/input_json.h"
#include "verdict.h"
#include "whatif_report.h"

static void put_row(struct np_jsonout *out, const struct np_whatif_row *row, np_ns step)
{
	char fix[NP_FIX_TEXT + 16];

	np_fix_format(&row->fix, fix);
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "fix", fix);
	np_jsonout_integer(out, "step_ns", row->step);
	np_jsonout_integer(out, "saved_ns", row->saved);
	np_jsonout_real(out, "saved_pct", report_percent(row->saved, step));
	np_jsonout_integer(out, "alone_ns", row->alone);
	np_jsonout_end(out);
}

static void put_path(struct np_jsonout *out, const struct np_analysis *analysis)
{
	const struct np_run *run = analysis->run;

	np_jsonout_array(out, "critical_path");
	for (size_t i = 0; i < analysis->path.pieces.count; i++) {
		const struct np_path_piece *piece = &analysis->path.pieces.item[i];
		char leaf[256];

		np_path_leaf(analysis->cluster, analysis->align, piece, leaf, sizeof(leaf));
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "step", np_run_text(run, piece->step));
		np_jsonout_integer(out, "rank", run->ranks[piece->rank]->id);
		np_jsonout_text(out, "leaf", leaf);
		np_jsonout_integer(out, "ns", piece->ns);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
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
	np_jsonout_object_line(out, "efficiency");
	put_factors(out, efficiency);
	np_jsonout_end(out);
}

static void put_replay(struct np_jsonout *out, const struct np_whatif *whatif)
{
	np_jsonout_object_line(out, "replay");
	np_jsonout_integer(out, "observed_ns", whatif->observed);
	np_jsonout_integer(out, "step_ns", whatif->step);
	np_jsonout_real(out, "fidelity", whatif->fidelity);
	np_jsonout_integer(out, "ideal_ns", whatif->ideal);
	np_jsonout_real(out, "slowdown", report_ratio(whatif->step, whatif->ideal));
	np_jsonout_end(out);
}

static void put_rows(struct np_jsonout *out, const struct np_whatif *whatif)
{
	np_jsonout_array(out, "whatif");
	for (size_t i = 0; i < whatif->rows.count; i++)
		put_row(out, &whatif->rows.item[i], whatif->step);
	np_jsonout_end(out);
}

void whatif_put_json(struct np_jsonout *out, const struct cluster_report *report,
		     const struct np_whatif *whatif)
{
	bool replayed = whatif->rows.count > 0;

	if (replayed)
		put_replay(out, whatif);
	else
		np_jsonout_null(out, "replay");
	put_rows(out, whatif);
	put_path(out, report->analysis);
	if (replayed)
		put_efficiency(out, &report->analysis->efficiency);
	else
		np_jsonout_null(out, "efficiency");
}

static void put_summary(struct np_jsonout *out, const struct whatif_report *report)
{
	np_jsonout_array(out, "critical_path_summary");
	for (size_t i = 0; i < report->summary.list.count; i++) {
		const struct np_path_part *part = &report->summary.list.item[i];
		char leaf[256];

		np_path_leaf(report->analysis->cluster, report->analysis->align, &part->piece, leaf,
			     sizeof(leaf));
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
		np_jsonout_real(out, "saved_pct", report_percent(step - report->asked_step, step));
		np_jsonout_integer(out, "sum_of_singles_ns", report->asked_singles);
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
	put_input_json(&out, report->analysis->run, report->analysis->cluster,
		       report->report->input, NULL);
	rc = report_put_trust(&out, report->report, err);
	if (rc == NP_OK)
		rc = verdict_put_json(&out, report->report, err);
	put_replay(&out, report->whatif);
	put_rows(&out, report->whatif);
	put_path(&out, report->analysis);
	put_summary(&out, report);
	put_slack(&out, report);
	put_efficiency(&out, &report->analysis->efficiency);
	put_efficiency_parts(&out, report);
	put_asked(&out, report);
	np_jsonout_end(&out);
	if (rc == NP_OK)
		rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}
