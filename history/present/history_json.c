/* SPDX-License-Identifier: Apache-2.0 */
/* The history for programs: JSON and CSV. */
#include "history_report.h"

#include <math.h>

#include "npuprof/jsonout.h"
#include "npuprof/lang.h"
#include "npuprof/relation.h"

static void begin(struct np_jsonout *out, const struct history_report *report, const char *action,
		  void *stream)
{
	np_jsonout_init(out, stream);
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "schema", "npuprof.history/1");
	np_jsonout_text(out, "action", action);
	np_jsonout_text(out, "store", report->store_path);
	if (!report->selection)
		return;
	np_jsonout_text(out, "job", report->selection->job);
	np_jsonout_integer(out, "ranks", report->selection->ranks);
	np_jsonout_integer(out, "runs_used", (int64_t)report->selection->runs.count);
	np_jsonout_integer(out, "runs_left_out", (int64_t)report->selection->others);
	np_jsonout_integer(out, "runs_of_other_jobs", (int64_t)report->selection->elsewhere);
}

static int finish(struct np_jsonout *out, struct np_err *err)
{
	int rc;

	np_jsonout_end(out);
	rc = np_jsonout_finish(out, err);
	np_jsonout_release(out);
	return rc;
}

static void put_labels(struct np_jsonout *out, const struct hist_store *store, size_t run)
{
	np_jsonout_object_line(out, "labels");
	for (size_t i = 0; i < store->labels.count; i++) {
		const struct hist_label *label = &store->labels.item[i];

		if (label->run == run)
			np_jsonout_text(out, hist_text(store, label->name),
					hist_text(store, label->value));
	}
	np_jsonout_end(out);
}

static void put_run(struct np_jsonout *out, const struct history_report *report, size_t index)
{
	const struct hist_run *run = &report->store->runs.item[index];

	np_jsonout_integer(out, "run", run->id);
	np_jsonout_integer(out, "captured_ns", run->captured);
	if (!report->anonymous)
		put_labels(out, report->store, index);
}

/* --- list and export ------------------------------------------------------------------------- */

static void put_figures(struct np_jsonout *out, const struct hist_store *store, size_t run)
{
	for (int bytes = 0; bytes < 2; bytes++) {
		np_jsonout_object(out, bytes ? "figures_bytes" : "figures_ns");
		for (size_t i = 0; i < store->figures.count; i++) {
			const struct hist_figure *figure = &store->figures.item[i];
			const char *name = hist_text(store, figure->name);

			if (figure->run == run && hist_figure_is_bytes(name) == (bytes == 1))
				np_jsonout_integer(out, name, figure->time);
		}
		np_jsonout_end(out);
	}
}

static void put_place(struct np_jsonout *out, const char *key, int64_t place)
{
	np_jsonout_integer(out, key, place < 0 ? NP_UNKNOWN : place);
}

static void put_ranks(struct np_jsonout *out, const struct hist_store *store,
		      const struct hist_run *run)
{
	np_jsonout_array(out, "ranks");
	for (size_t i = run->first_rank; i < run->first_rank + run->rank_count; i++) {
		const struct hist_rank *rank = &store->ranks.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "rank", rank->rank);
		np_jsonout_text(out, "host", hist_text(store, rank->host));
		put_place(out, "device", rank->device);
		put_place(out, "stage", rank->stage);
		np_jsonout_integer(out, "step_ns", rank->step);
		np_jsonout_integer(out, "computing_ns", rank->computing);
		np_jsonout_integer(out, "wait_ns", rank->wait);
		np_jsonout_integer(out, "transfer_ns", rank->transfer);
		np_jsonout_integer(out, "idle_ns", rank->idle);
		np_jsonout_integer(out, "charge_ns", rank->charge);
		np_jsonout_real(out, "mhz", rank->mhz);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_trust(struct np_jsonout *out, const struct hist_store *store, size_t run)
{
	for (size_t i = 0; i < store->trusts.count; i++) {
		const struct hist_trust *trust = &store->trusts.item[i];

		if (trust->run != run)
			continue;
		np_jsonout_object_line(out, "trust");
		np_jsonout_integer(out, "ops_total", trust->ops);
		np_jsonout_integer(out, "ops_matched", trust->ops_matched);
		np_jsonout_integer(out, "clock_error_ns", trust->clock_error);
		np_jsonout_integer(out, "ranks_left_out", trust->left_out);
		np_jsonout_integer(out, "ranks_partial", trust->partial);
		np_jsonout_text(out, "cann_version", hist_text(store, trust->cann));
		np_jsonout_text(out, "framework_version", hist_text(store, trust->framework));
		np_jsonout_end(out);
	}
}

int history_json_list(const struct history_report *report, bool whole, void *stream,
		      struct np_err *err)
{
	const struct hist_store *store = report->store;
	struct np_jsonout out;

	begin(&out, report, whole ? "export" : "list", stream);
	np_jsonout_array(&out, "runs");
	for (size_t i = 0; i < report->listed->runs.count; i++) {
		uint32_t index = report->listed->runs.item[i];
		const struct hist_run *run = &store->runs.item[index];

		np_jsonout_object(&out, NULL);
		put_run(&out, report, index);
		np_jsonout_text(&out, "fingerprint", hist_text(store, run->fingerprint));
		np_jsonout_text(&out, "job", hist_text(store, run->job));
		np_jsonout_text(&out, "dir", hist_text(store, run->dir));
		np_jsonout_integer(&out, "added_ns", run->added);
		np_jsonout_text(&out, "version", hist_text(store, run->program));
		np_jsonout_text(&out, "device_kind", hist_text(store, run->device));
		np_jsonout_integer(&out, "world_size", run->world);
		np_jsonout_integer(&out, "ranks_used", run->ranks);
		np_jsonout_integer(&out, "steps", run->steps);
		np_jsonout_integer(&out, "step_ns", run->step);
		np_jsonout_text(&out, "step_basis", hist_text(store, run->basis));
		np_jsonout_text(&out, "verdict", hist_text(store, run->verdict));
		np_jsonout_text(&out, "verdict_what", hist_text(store, run->what));
		np_jsonout_text(&out, "verdict_text", hist_text(store, run->sentence));
		if (whole) {
			put_trust(&out, store, index);
			put_figures(&out, store, index);
			put_ranks(&out, store, run);
		}
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	return finish(&out, err);
}

/* --- trend, effects, plan -------------------------------------------------------------------- */

static void put_named(struct np_jsonout *out, const struct hist_store *store,
		      const struct hist_named *named)
{
	np_jsonout_text(out, "named", hist_text(store, named->what));
	np_jsonout_text(out, "named_host", hist_text(store, named->host));
	np_jsonout_integer(out, "named_device", named->device < 0 ? NP_UNKNOWN : named->device);
}

/* Members that a trend and a page have in common; `named` by change, or NULL. */
static void put_series(struct np_jsonout *out, const struct history_report *report,
		       const struct hist_series *series, const struct hist_changes *changes,
		       const struct hist_named *named)
{
	bool bytes = report->figure && hist_figure_is_bytes(report->figure);

	np_jsonout_real(out, "error_rate", HIST_CHANGE_ERROR);
	np_jsonout_array(out, "series");
	for (size_t i = 0; i < series->list.count; i++) {
		np_jsonout_object_line(out, NULL);
		put_run(out, report, series->list.item[i].run);
		np_jsonout_integer(out, bytes ? "bytes" : "ns", series->list.item[i].time);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_array(out, "changes");
	for (size_t i = 0; i < changes->list.count; i++) {
		const struct hist_change *change = &changes->list.item[i];

		np_jsonout_object_line(out, NULL);
		put_run(out, report, series->list.item[change->at].run);
		np_jsonout_text(out, "kind", change->gradual ? "gradual" : "step");
		np_jsonout_integer(
			out, "until_run",
			report->store->runs.item[series->list.item[change->until].run].id);
		np_jsonout_integer(out, bytes ? "before_bytes" : "before_ns",
				   (np_ns)change->before);
		np_jsonout_integer(out, bytes ? "after_bytes" : "after_ns", (np_ns)change->after);
		np_jsonout_real(out, "ratio", change->after / change->before);
		np_jsonout_real(out, "chance", change->chance);
		if (named)
			put_named(out, report->store, &named[i]);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

void history_put_page(struct np_jsonout *out, const struct history_report *report,
		      const struct hist_series *series, const struct hist_changes *changes)
{
	np_jsonout_object(out, "history");
	np_jsonout_text(out, "job", report->anonymous ? NULL : report->selection->job);
	put_series(out, report, series, changes, NULL);
	np_jsonout_end(out);
}

int history_json_trend(const struct history_report *report, const struct hist_series *series,
		       const struct hist_changes *changes, void *stream, struct np_err *err)
{
	const size_t count = changes->list.count;
	struct hist_named *named = calloc(count + 1, sizeof(*named));
	struct np_jsonout out;
	int rc = named ? NP_OK : np_fail_nomem(err, "what runs name");

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = hist_named_in(report->store, series, changes->list.item[i].at,
				   i + 1 < count ? changes->list.item[i + 1].at
						 : series->list.count,
				   &named[i], err);
	if (rc == NP_OK) {
		begin(&out, report, "trend", stream);
		np_jsonout_text(&out, "figure", report->figure);
		put_series(&out, report, series, changes, named);
		rc = finish(&out, err);
	}
	free(named);
	return rc;
}

/* Members that say which host, device, stage or rank is meant. */
static void put_unit(struct np_jsonout *out, const struct hist_store *store, enum hist_unit unit,
		     np_str host, int64_t number)
{
	np_jsonout_text(out, "unit", hist_unit_name(unit));
	np_jsonout_text(out, "host", hist_text(store, host));
	np_jsonout_integer(out, "number", unit == HIST_HOST ? NP_UNKNOWN : number);
}

int history_json_effects(const struct history_report *report, const struct hist_effects *effects,
			 void *stream, struct np_err *err)
{
	struct np_jsonout out;

	begin(&out, report, "effects", stream);
	np_jsonout_text(&out, "figure", report->figure);
	np_jsonout_integer(&out, "devices", (int64_t)effects->machines);
	np_jsonout_integer(&out, "devices_told", (int64_t)effects->told);
	np_jsonout_real(&out, "spread", effects->machines > 0 ? effects->spread : (double)NAN);
	np_jsonout_array(&out, "effects");
	for (size_t i = 0; i < effects->list.count; i++) {
		const struct hist_unit_effect *one = &effects->list.item[i];

		np_jsonout_object_line(&out, NULL);
		put_unit(&out, report->store, one->unit, one->host, one->number);
		np_jsonout_real(&out, "share", one->share);
		np_jsonout_real(&out, "margin", one->margin);
		np_jsonout_integer(&out, "observations", (int64_t)one->runs);
		np_jsonout_bool(&out, "named", one->named);
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	return finish(&out, err);
}

int history_json_drain(const struct history_report *report, const struct hist_drain *drain,
		       size_t most, void *stream, struct np_err *err)
{
	struct np_jsonout out;

	begin(&out, report, "advise", stream);
	np_jsonout_integer(&out, "step_ns", drain->step);
	np_jsonout_integer(&out, "runs_replayed", (int64_t)drain->replayed);
	np_jsonout_array(&out, "machines");
	for (size_t i = 0; i < drain->list.count && i < most; i++) {
		const struct hist_candidate *one = &drain->list.item[i];

		np_jsonout_object_line(&out, NULL);
		np_jsonout_text(&out, "do", one->action == HIST_DRAIN ? "drain" : "test");
		put_unit(&out, report->store, one->unit, one->host, one->device);
		np_jsonout_real(&out, "gain_share", one->mean);
		np_jsonout_real(&out, "gain_low", one->low);
		np_jsonout_real(&out, "gain_high", one->high);
		np_jsonout_integer(&out, "runs", (int64_t)one->runs);
		np_jsonout_real(&out, "share", one->effect ? one->effect->share : (double)NAN);
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	if (drain->together.machines > 0) {
		np_jsonout_object_line(&out, "together");
		np_jsonout_integer(&out, "machines", (int64_t)drain->together.machines);
		np_jsonout_real(&out, "gain_share", drain->together.mean);
		np_jsonout_real(&out, "gain_low", drain->together.low);
		np_jsonout_real(&out, "gain_high", drain->together.high);
		np_jsonout_integer(&out, "runs", (int64_t)drain->together.runs);
		np_jsonout_integer(&out, "runs_exact", (int64_t)drain->together.exact);
		np_jsonout_end(&out);
	} else {
		np_jsonout_null(&out, "together");
	}
	np_jsonout_array(&out, "links");
	for (size_t i = 0; i < drain->links.count; i++) {
		const struct hist_slow_link *link = &drain->links.item[i];

		np_jsonout_object_line(&out, NULL);
		np_jsonout_text(&out, "src_host", hist_text(report->store, link->src_host));
		np_jsonout_integer(&out, "src_device", link->src_device);
		np_jsonout_text(&out, "dst_host", hist_text(report->store, link->dst_host));
		np_jsonout_integer(&out, "dst_device", link->dst_device);
		np_jsonout_integer(&out, "runs", (int64_t)link->runs);
		np_jsonout_integer(&out, "slow_runs", (int64_t)link->slow);
		np_jsonout_real(&out, "speed_share", link->share);
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	return finish(&out, err);
}

/* As the watch says it; NULL where it cannot be judged. */
static const char *step_is(const struct hist_judgement *judgement)
{
	for (size_t i = 0; i < judgement->list.count; i++) {
		const struct hist_judged *one = &judgement->list.item[i];

		if (strcmp(one->figure, "step") != 0)
			continue;
		if (!isfinite(one->low))
			return NULL;
		return !one->unusual                     ? "usual"
		       : (double)one->time > one->middle ? "longer"
							 : "shorter";
	}
	return NULL;
}

/* Without a condition every run passes. */
static bool is_gated(const struct hist_judgement *judgement)
{
	for (size_t i = 0; i < judgement->list.count; i++) {
		if (isfinite(judgement->list.item[i].allowed))
			return true;
	}
	return false;
}

int history_json_judgement(const struct history_report *report, const char *run,
			   const struct hist_judgement *judgement, void *stream, struct np_err *err)
{
	struct np_jsonout out;

	begin(&out, report, "judge", stream);
	np_jsonout_text(&out, "input", run);
	np_jsonout_text(&out, "result",
			judgement->failed     ? "fail"
			: judgement->withheld ? "withheld"
					      : "pass");
	np_jsonout_integer(&out, "runs_later", (int64_t)report->selection->later);
	np_jsonout_text(&out, "step_is", step_is(judgement));
	np_jsonout_bool(&out, "gated", is_gated(judgement));
	np_jsonout_array(&out, "figures");
	for (size_t i = 0; i < judgement->list.count; i++) {
		const struct hist_judged *one = &judgement->list.item[i];
		bool bytes;

		np_jsonout_object_line(&out, NULL);
		np_jsonout_text(&out, "figure", one->figure);
		bytes = hist_figure_is_bytes(one->figure);
		np_jsonout_integer(&out, bytes ? "bytes" : "ns", one->time);
		np_jsonout_real(&out, bytes ? "middle_bytes" : "middle_ns", one->middle);
		np_jsonout_real(&out, bytes ? "usual_low_bytes" : "usual_low_ns", one->low);
		np_jsonout_real(&out, bytes ? "usual_high_bytes" : "usual_high_ns", one->high);
		np_jsonout_real(&out, "quantile", one->below);
		np_jsonout_integer(&out, "runs", (int64_t)one->runs);
		np_jsonout_bool(&out, "unusual", one->unusual);
		np_jsonout_real(&out, "allowed", one->allowed);
		np_jsonout_bool(&out, "failed", one->failed);
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	return finish(&out, err);
}

/* --- CSV ------------------------------------------------------------------------------------- */

static bool is_listed(const struct history_report *report, uint32_t run)
{
	for (size_t i = 0; i < report->listed->runs.count; i++) {
		if (report->listed->runs.item[i] == run)
			return true;
	}
	return false;
}

static int produce_figures(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct history_report *report = model;
	const struct hist_store *store = report->store;
	int rc = NP_OK;

	for (size_t i = 0; i < store->figures.count && rc == NP_OK; i++) {
		const struct hist_figure *one = &store->figures.item[i];
		const struct hist_run *run = &store->runs.item[one->run];
		const struct np_cell cells[] = {
			np_cell_integer(run->id),
			np_cell_integer(run->captured),
			np_cell_text(hist_text(store, run->job)),
			np_cell_text(hist_text(store, one->name)),
			np_cell_integer(one->time),
		};

		if (is_listed(report, one->run))
			rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static int produce_ranks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct history_report *report = model;
	const struct hist_store *store = report->store;
	int rc = NP_OK;

	for (size_t i = 0; i < store->ranks.count && rc == NP_OK; i++) {
		const struct hist_rank *one = &store->ranks.item[i];
		const struct hist_run *run = &store->runs.item[one->run];
		const struct np_cell cells[] = {
			np_cell_integer(run->id),
			np_cell_integer(run->captured),
			np_cell_text(hist_text(store, run->job)),
			np_cell_integer(one->rank),
			np_cell_text(hist_text(store, one->host)),
			one->device < 0 ? np_cell_null() : np_cell_integer(one->device),
			one->stage < 0 ? np_cell_null() : np_cell_integer(one->stage),
			np_cell_integer(one->step),
			np_cell_integer(one->computing),
			np_cell_integer(one->wait),
			np_cell_integer(one->transfer),
			np_cell_integer(one->idle),
			np_cell_integer(one->charge),
			np_cell_real(one->mhz),
		};

		if (is_listed(report, one->run))
			rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column figure_columns[] = {
	{ "run", NP_INTEGER }, { "captured_ns", NP_INTEGER }, { "job", NP_TEXT },
	{ "figure", NP_TEXT }, { "ns", NP_INTEGER },
};

static const struct np_column rank_columns[] = {
	{ "run", NP_INTEGER },
	{ "captured_ns", NP_INTEGER },
	{ "job", NP_TEXT },
	{ "rank", NP_INTEGER },
	{ "host", NP_TEXT },
	{ "device", NP_INTEGER },
	{ "stage", NP_INTEGER },
	{ "step_ns", NP_INTEGER },
	{ "computing_ns", NP_INTEGER },
	{ "wait_ns", NP_INTEGER },
	{ "transfer_ns", NP_INTEGER },
	{ "idle_ns", NP_INTEGER },
	{ "charge_ns", NP_INTEGER },
	{ "mhz", NP_REAL },
};

static const struct np_relation figures_relation = {
	.name = "history_figures",
	.summary = NP_MSG("figures of the runs of a history"),
	.columns = figure_columns,
	.column_count = NP_COUNT(figure_columns),
	.produce = produce_figures,
};

static const struct np_relation ranks_relation = {
	.name = "history_ranks",
	.summary = NP_MSG("ranks of the runs of a history"),
	.columns = rank_columns,
	.column_count = NP_COUNT(rank_columns),
	.produce = produce_ranks,
};

int history_csv_figures(const struct history_report *report, void *stream, struct np_err *err)
{
	return np_csv_write(&figures_relation, report, stream, err);
}

int history_csv_ranks(const struct history_report *report, void *stream, struct np_err *err)
{
	return np_csv_write(&ranks_relation, report, stream, err);
}
