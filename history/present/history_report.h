/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_REPORT_H
#define HISTORY_REPORT_H

#include "history/engine/change_points.h"
#include "history/engine/hist_drain.h"
#include "history/engine/hist_effects.h"
#include "history/engine/hist_judge.h"
#include "history/engine/hist_named.h"
#include "history/engine/hist_series.h"

#include "npuprof/buf.h"
#include "npuprof/jsonout.h"

/*
 * What `npuprof history` shows: for people as lines and tables, for programs as JSON
 * (npuprof.history/1) and CSV. Times of runs are those of the calendar, in UTC.
 */
struct history_report {
	const char *store_path;
	const struct hist_store *store;
	const struct hist_selection *selection;
	const struct hist_selection *listed; /* runs of a list or an export */
	const char *figure;
	size_t width;
	bool color;
	bool anonymous; /* a page without labels and names of jobs */
};

/* "2026-01-31 10:00" */
void history_time(struct np_buf *buf, np_ns time);

/* "device 3 of node-7", "host node-7", "stage 1", "rank 5" */
void history_unit(struct np_buf *buf, const struct hist_store *store, enum hist_unit unit,
		  np_str host, int64_t number);

int history_show_list(const struct history_report *report, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;
int history_show_trend(const struct history_report *report, const struct hist_series *series,
		       const struct hist_changes *changes, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;
int history_show_effects(const struct history_report *report, const struct hist_effects *effects,
			 struct np_buf *buf, struct np_err *err) NP_MUST_USE;
int history_show_drain(const struct history_report *report, const struct hist_drain *drain,
		       size_t most, struct np_buf *buf, struct np_err *err) NP_MUST_USE;

/* `run` is what is judged, as the user calls it; `entry` has it alone. */
int history_show_judgement(const struct history_report *report, const struct hist_store *entry,
			   const char *run, const struct hist_judgement *judgement,
			   struct np_buf *buf, struct np_err *err) NP_MUST_USE;

/* JSON to a FILE *. */
int history_json_judgement(const struct history_report *report, const char *run,
			   const struct hist_judgement *judgement, void *stream, struct np_err *err)
	NP_MUST_USE;
int history_json_list(const struct history_report *report, bool whole, void *stream,
		      struct np_err *err) NP_MUST_USE;
int history_json_trend(const struct history_report *report, const struct hist_series *series,
		       const struct hist_changes *changes, void *stream, struct np_err *err)
	NP_MUST_USE;
int history_json_effects(const struct history_report *report, const struct hist_effects *effects,
			 void *stream, struct np_err *err) NP_MUST_USE;
int history_json_drain(const struct history_report *report, const struct hist_drain *drain,
		       size_t most, void *stream, struct np_err *err) NP_MUST_USE;

/* The member "history" of a page. */
void history_put_page(struct np_jsonout *out, const struct history_report *report,
		      const struct hist_series *series, const struct hist_changes *changes);

/* One row for each figure of each run. */
int history_csv_figures(const struct history_report *report, void *stream, struct np_err *err)
	NP_MUST_USE;
/* One row for each rank of each run. */
int history_csv_ranks(const struct history_report *report, void *stream, struct np_err *err)
	NP_MUST_USE;

#endif /* HISTORY_REPORT_H */
