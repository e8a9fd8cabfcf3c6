/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof history`: runs over time, what changed when, and which machine to blame. */
#include <stdlib.h>

#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/prepare/frequency.h"
#include "cli/prepare/phases.h"
#include "cli/prepare/prepare.h"
#include "engine/hist_entry.h"
#include "present/history_report.h"

#include "npuprof/jsonout.h"
#include "npuprof/run.h"
#include "npuprof/run_history.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

/* What the history has unless somebody names the job. */
#define JOB "default"

struct history_options {
	struct np_common common;
	struct np_opt_list words;
	struct np_opt_list picks;
	const char *store;
	const char *job;
	struct np_opt_list labels;
	const char *figure;
	int64_t last;
	int64_t hosts;
	int64_t keep;
	bool frequency;
	const char *fail_on;
};

static const char *const formats[] = { "table", "json", "csv", NULL };

static const struct np_opt own_options[] = {
	{
		.name = "store",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct history_options, store),
		.value = "FILE",
		.help = "the SQLite file that holds the runs; add makes it",
		.preset_words = "NPUPROF_HISTORY of the environment",
	},
	{
		.name = "job",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct history_options, job),
		.value = "NAME",
		.help = "the job that the run belongs to; without it, add takes 'default', others the "
			"job of the newest run",
	},
	{
		.name = "label",
		.kind = NP_OPT_LIST,
		.offset = offsetof(struct history_options, labels),
		.value = "NAME=VALUE",
		.help = "add: say this of the run, as commit=1f3a; others: only runs that have it; may "
			"be repeated",
	},
	{
		.name = "figure",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct history_options, figure),
		.value = "FIGURE",
		.help = "trend: step, computing, wait, comm/NAME/wait, rank:R/computing, host:NAME/idle "
			"and the like, memory/reserved; effects: step, computing, idle, own ...",
		.preset_words = "step of trend, computing of effects",
	},
	{
		.name = "last",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct history_options, last),
		.value = "N",
		.help = "look at the newest N runs",
		.preset_words = "all",
		.low = 1,
		.high = INT32_MAX,
	},
	{
		.name = "hosts",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct history_options, hosts),
		.value = "N",
		.help = "advise: name at most N hosts or devices, and what draining them together gains",
		.preset = "5",
		.low = 1,
		.high = INT32_MAX,
	},
	{
		.name = "keep",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct history_options, keep),
		.value = "N",
		.help = "prune: keep the newest N runs of each job",
		.preset_words = "none: it must be given",
		.low = 1,
		.high = INT32_MAX,
	},
	{
		.name = "frequency",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct history_options, frequency),
		.help = "add: read how fast the AI cores were clocked, too; the profiles are read once "
			"more for it",
	},
	{
		.name = "fail-on",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct history_options, fail_on),
		.value = "CONDITIONS",
		.help = "judge: exit with 4 if a figure is more than so much above the middle of the "
			"earlier runs, and beyond what they scatter by: step>2%,comm/tp/wait>5%",
	},
	{
		.letter = 'f',
		.name = "format",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct history_options, common.format),
		.value = "FORMAT",
		.help = "print the result as",
		.choices = formats,
		.preset = "table",
	},
	{
		.name = "no-color",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct history_options, common.no_color),
		.help = "print without colours, as with NO_COLOR in the environment",
	},
};

static const struct np_opt_group groups[] = {
	{ "History", own_options, NP_COUNT(own_options), 0 },
	NP_GROUP_INPUT(struct history_options, common),
	NP_GROUP_RUNNING(struct history_options, common),
	NP_GROUP_GENERAL,
};

static void offer_actions(struct np_buf *words)
{
	np_buf_add(words, " add list trend effects advise judge remove prune export");
}

static const struct np_opt_operand operand = {
	.option = { .kind = NP_OPT_LIST,
		    .fill = NP_FILL_DIRECTORY,
		    .offer = offer_actions,
		    .value = "add|list|trend|effects|advise|judge|remove|prune|export",
		    .offset = offsetof(struct history_options, words) },
	.least = 1,
	.most = NP_OPERANDS_ANY,
};

static int cmd_history(int argc, const char *const *argv);

const struct np_cmd np_cmd_history = {
	.name = "history",
	.topic = "Analysing a run",
	.synopsis = "[options] add|list|trend|effects|advise|judge|remove|prune|export [DIR...]",
	.summary = "runs over time: what changed when, which machine is slow in whatever role",
	.about =
		"add analyses the run in DIR... and keeps what is left of it in a store; a run is in it "
		"once, and adding it again with --job or --label says something else of it. list shows the runs, trend the course of a figure and when it changed, effects "
		"what roles and what machines cause, over runs in which ranks were placed differently; "
		"advise says which hosts or devices to drain first. judge tells whether the run in DIR... "
		"is as usual, and gates on it. remove takes runs out by their numbers, prune removes old ones, "
		"export prints all that is kept as JSON, or CSV of the ranks.",
	.run = cmd_history,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_GATE,
};

static int failed(const struct np_err *err)
{
	return err->code == NP_E_USAGE ? np_cmd_usage(&np_cmd_history, "%s", err->text)
				       : np_report(NP_EXIT_FAILED, "%s", err->text);
}

/* --- add ------------------------------------------------------------------------------------- */

static int put_added(const struct history_options *options, const struct hist_added *added)
{
	struct np_jsonout out;
	struct np_err err = NP_ERR_INIT;
	int rc;

	np_jsonout_init(&out, np_output_stream());
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.history/1");
	np_jsonout_text(&out, "action", "add");
	np_jsonout_text(&out, "store", options->store);
	np_jsonout_integer(&out, "run", added->id);
	np_jsonout_bool(&out, "known", added->known);
	np_jsonout_integer(&out, "replaces_run", added->replaces);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, &err);
	np_jsonout_release(&out);
	return rc == NP_OK ? 0 : failed(&err);
}

static int say_added(const struct history_options *options, const struct hist_store *entry,
		     const struct hist_added *added)
{
	struct np_buf buf = NP_BUF_INIT;

	if (options->common.format == NP_OUTPUT_JSON)
		return put_added(options, added);
	if (added->same)
		np_say(&buf, "run {1}: this capture is in {2} already, from other files\n",
		       NP_SAID_INT(added->id), NP_SAID_TEXT(options->store));
	else if (added->known)
		np_say(&buf, "run {1}: it is in {2} already\n", NP_SAID_INT(added->id),
		       NP_SAID_TEXT(options->store));
	else
		np_say(&buf, "run {1}: {2} ranks, step {3}, added to {4}\n", NP_SAID_INT(added->id),
		       NP_SAID_INT(entry->runs.item[0].ranks),
		       NP_SAID_TIME(entry->runs.item[0].step), NP_SAID_TEXT(options->store));
	if (added->replaces != NP_UNKNOWN)
		np_say(&buf, "  in place of run {1}, which lacked ranks of this capture\n",
		       NP_SAID_INT(added->replaces));
	if (added->known && options->job)
		np_say(&buf, "  its job is {1}\n", NP_SAID_TEXT(options->job));
	if (added->known && options->labels.count > 0)
		np_say(&buf, "  its labels are changed\n");
	return np_output_release(&buf);
}

/* Of a run that is there, what is said with it this time holds. */
static int rename_known(const struct history_options *options, const struct hist_added *added,
			struct np_err *err)
{
	return added->known && (options->job || options->labels.count > 0)
		       ? hist_store_rename(options->store, added->id, options->job,
					   options->labels.item, options->labels.count, err)
		       : NP_OK;
}

static int make_entry(const struct history_options *options, const struct np_analysis *analysis,
		      struct hist_store **ret, struct np_err *err)
{
	struct np_frequencies frequencies = { 0 };
	const struct hist_entry_words words = {
		.job = options->job ? options->job : JOB,
		.dir = prepare_input(&options->common, analysis->run),
		.phase = options->common.phase_part,
		.labels = options->labels.item,
		.label_count = options->labels.count,
		.now = hist_now(),
	};
	int rc = options->frequency
			 ? prepare_frequencies(analysis->run, (size_t)options->common.jobs,
					       &frequencies, err)
			 : NP_OK;

	if (rc == NP_OK)
		rc = hist_entry_make(analysis, options->frequency ? &frequencies : NULL, &words,
				     ret, err);
	np_frequencies_release(&frequencies);
	return rc;
}

/* Find the ranks; a run that is there already is not read. */
static int add(void *context)
{
	const struct history_options *options = context;
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	NP_CLEANUP(hist_store_freep) struct hist_store *entry = NULL;
	struct np_run *run = NULL;
	struct np_err err = NP_ERR_INIT;
	struct hist_added added = { .id = NP_UNKNOWN, .replaces = NP_UNKNOWN };
	char fingerprint[17] = "";
	int status;
	int rc = prepare_found(&options->common, &options->picks, &run, &err);

	if (rc == NP_OK) {
		np_run_fingerprint(run, fingerprint);
		rc = hist_store_find(options->store, fingerprint, &added.id, &err);
	}
	if (rc == NP_OK && added.id != NP_UNKNOWN) {
		np_run_free(run);
		added.known = true;
		rc = rename_known(options, &added, &err);
		return rc == NP_OK ? say_added(options, NULL, &added) : failed(&err);
	}
	if (rc == NP_OK)
		rc = prepare_loaded(&options->common, run, &err);
	if (rc == NP_OK)
		rc = prepare_measures(&options->common, run, &analysis, &err);
	else
		np_run_free(run);
	if (rc == NP_OK)
		rc = make_entry(options, analysis, &entry, &err);
	if (rc == NP_OK)
		rc = hist_store_add(options->store, entry, &added, &err);
	if (rc == NP_OK)
		rc = rename_known(options, &added, &err);
	if (rc < 0)
		return failed(&err);
	prepare_say_notes(&options->common, &analysis->run->notes, NULL);
	status = say_added(options, entry, &added);
	return status != 0 ? status : prepare_status(&options->common, analysis->run);
}

static int run_phases(struct history_options *options, int (*run)(void *options))
{
	return phases_run(&(struct phases_job){ .command = &np_cmd_history,
						.schema = "npuprof.history/1",
						.common = &options->common,
						.picks = &options->picks,
						.run = run,
						.options = options });
}

static int run_add(struct history_options *options)
{
	for (size_t i = 0; i < options->labels.count; i++) {
		const char *equals = strchr(options->labels.item[i], '=');

		if (!equals || equals == options->labels.item[i])
			return np_cmd_usage(&np_cmd_history,
					    "--label '%s' is not NAME=VALUE, as in commit=1f3a",
					    options->labels.item[i]);
	}
	return run_phases(options, add);
}

/* Print what a function has put into a buffer. */
static int print(struct np_buf *buf, int rc)
{
	if (rc == NP_OK)
		return np_output_release(buf);
	np_buf_release(buf);
	return rc;
}

/* --- judge ----------------------------------------------------------------------------------- */

/* The job that the store knows a run by; NULL: it is not in it. */
static const char *job_of(const struct hist_store *store, const char *fingerprint)
{
	for (size_t i = 0; i < store->runs.count; i++) {
		const struct hist_run *run = &store->runs.item[i];

		if (strcmp(hist_text(store, run->fingerprint), fingerprint) == 0)
			return hist_text(store, run->job);
	}
	return NULL;
}

/* Captures that began within so long of each other are of one time. */
#define SAME_TIME INT64_C(60000000000)

static bool is_later(const struct hist_run *run, const struct hist_run *than)
{
	return run->captured != NP_UNKNOWN && than->captured != NP_UNKNOWN &&
	       run->captured > than->captured + SAME_TIME;
}

/* Earlier runs of the job, its own where none is named; the run itself is not one of them. */
static int select_earlier(const struct hist_store *store,
			  const struct np_history_question *question,
			  const struct hist_store *entry, struct hist_selection *ret,
			  struct np_err *err)
{
	const char *itself = hist_text(entry, entry->runs.item[0].fingerprint);
	const struct hist_choice choice = { .job = question->job ? question->job
								 : job_of(store, itself),
					    .labels = question->labels,
					    .label_count = question->label_count,
					    .like = &entry->runs.item[0] };
	size_t kept = 0;
	int rc = hist_select(store, &choice, ret, err);

	for (size_t i = 0; rc == NP_OK && i < ret->runs.count; i++) {
		const struct hist_run *run = &store->runs.item[ret->runs.item[i]];

		if (strcmp(hist_text(store, run->fingerprint), itself) == 0)
			continue;
		if (is_later(run, &entry->runs.item[0]))
			ret->later++;
		else
			ret->runs.item[kept++] = ret->runs.item[i];
	}
	if (rc == NP_OK)
		ret->runs.count = kept;
	return rc;
}

static int show_judgement(const struct np_history_question *question,
			  const struct history_report *report, const struct hist_store *entry,
			  const char *run, const struct hist_judgement *judgement,
			  struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;

	if (question->common->format == NP_OUTPUT_JSON)
		return history_json_judgement(report, run, judgement, np_output_stream(), err);
	return print(&buf, history_show_judgement(report, entry, run, judgement, &buf, err));
}

/* Judge a run that has been analysed; gives the exit status, or a failure. */
static int judge_analysis(const struct np_history_question *question,
			  const struct np_analysis *analysis, struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = NULL;
	NP_CLEANUP(hist_store_freep) struct hist_store *entry = NULL;
	const struct np_common *common = question->common;
	struct hist_selection selection = { 0 };
	struct hist_judgement judgement = { 0 };
	struct history_report report = { .store_path = hist_store_path(question->store),
					 .selection = &selection,
					 .width = np_output_width(stdout),
					 .color = np_common_color(common, stdout) };
	const char *run = prepare_input(common, analysis->run);
	const struct hist_entry_words words = { .job = "", .dir = run, .now = hist_now() };
	int rc = hist_store_read(report.store_path, &store, err);

	report.store = store;
	if (rc == NP_OK)
		rc = hist_entry_make(analysis, NULL, &words, &entry, err);
	if (rc == NP_OK)
		rc = select_earlier(store, question, entry, &selection, err);
	if (rc == NP_OK)
		rc = hist_judge(store, &selection, entry, question->fail_on, &judgement, err);
	if (rc == NP_OK)
		rc = show_judgement(question, &report, entry, run, &judgement, err);
	if (rc == NP_OK && judgement.failed)
		rc = NP_EXIT_GATE;
	else if (rc == NP_OK && judgement.withheld)
		rc = NP_EXIT_PARTIAL;
	hist_selection_release(&selection);
	hist_judgement_release(&judgement);
	return rc;
}

int np_history_judge(const struct np_history_question *question)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (!hist_store_path(question->store))
		return np_cmd_usage(&np_cmd_history,
				    "which store? give --store FILE, or set NPUPROF_HISTORY");
	rc = prepare_analysis(question->common, question->picks, &analysis, &err);
	if (rc == NP_OK)
		rc = judge_analysis(question, analysis, &err);
	if (rc < 0)
		return failed(&err);
	prepare_say_notes(question->common, &analysis->run->notes, NULL);
	return rc == NP_OK ? prepare_status(question->common, analysis->run) : rc;
}

static int judge(void *context)
{
	const struct history_options *options = context;

	return np_history_judge(&(struct np_history_question){ .common = &options->common,
							       .picks = &options->picks,
							       .store = options->store,
							       .job = options->job,
							       .labels = options->labels.item,
							       .label_count = options->labels.count,
							       .fail_on = options->fail_on });
}

/* --- looking --------------------------------------------------------------------------------- */

static bool is_json(const struct history_options *options)
{
	return options->common.format == NP_OUTPUT_JSON;
}

/* The series of a figure, and where it changed; both are the caller's. */
static int find_changes(const struct hist_store *store, const struct hist_selection *selection,
			const char *figure, struct hist_series *series,
			struct hist_changes *changes, struct np_err *err)
{
	double *values = NULL;
	int rc = hist_series_make(store, selection, figure, series, err);

	if (rc == NP_OK) {
		values = calloc(series->list.count + 1, sizeof(*values));
		rc = values ? NP_OK : np_fail_nomem(err, "a series");
	}
	for (size_t i = 0; rc == NP_OK && i < series->list.count; i++)
		values[i] = (double)series->list.item[i].time;
	if (rc == NP_OK)
		rc = hist_changes_find(values, series->list.count, changes, err);
	free(values);
	return rc;
}

int np_history_put(struct np_jsonout *out, const char *path, bool anonymous, struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = NULL;
	struct hist_selection selection = { 0 };
	struct hist_series series = { 0 };
	struct hist_changes changes = { 0 };
	int rc = hist_store_read(path, &store, err);

	if (rc == NP_OK)
		rc = hist_select(store, &(struct hist_choice){ 0 }, &selection, err);
	if (rc == NP_OK)
		rc = find_changes(store, &selection, "step", &series, &changes, err);
	if (rc == NP_OK) {
		const struct history_report report = { .store = store,
						       .selection = &selection,
						       .figure = "step",
						       .anonymous = anonymous };

		history_put_page(out, &report, &series, &changes);
	}
	hist_selection_release(&selection);
	hist_series_release(&series);
	hist_changes_release(&changes);
	return rc;
}

static int trend(const struct history_options *options, struct history_report *report,
		 struct np_err *err)
{
	struct hist_series series = { 0 };
	struct hist_changes changes = { 0 };
	struct np_buf buf = NP_BUF_INIT;
	int rc = find_changes(report->store, report->selection, report->figure, &series, &changes,
			      err);

	if (rc == NP_OK && is_json(options))
		rc = history_json_trend(report, &series, &changes, np_output_stream(), err);
	else if (rc == NP_OK)
		rc = print(&buf, history_show_trend(report, &series, &changes, &buf, err));
	hist_series_release(&series);
	hist_changes_release(&changes);
	return rc;
}

static int effects(const struct history_options *options, struct history_report *report,
		   struct np_err *err)
{
	struct hist_effects found = { 0 };
	struct np_buf buf = NP_BUF_INIT;
	int rc =
		hist_effects_measure(report->store, report->selection, report->figure, &found, err);

	if (rc == NP_OK && is_json(options))
		rc = history_json_effects(report, &found, np_output_stream(), err);
	else if (rc == NP_OK)
		rc = print(&buf, history_show_effects(report, &found, &buf, err));
	hist_effects_release(&found);
	return rc;
}

static int advise(const struct history_options *options, struct history_report *report,
		  struct np_err *err)
{
	struct hist_drain drain = { 0 };
	struct np_buf buf = NP_BUF_INIT;
	size_t most = (size_t)options->hosts;
	int rc = hist_drain_plan(report->store, report->selection, most, &drain, err);

	if (rc == NP_OK && is_json(options))
		rc = history_json_drain(report, &drain, most, np_output_stream(), err);
	else if (rc == NP_OK)
		rc = print(&buf, history_show_drain(report, &drain, most, &buf, err));
	hist_drain_release(&drain);
	return rc;
}

static int list(const struct history_options *options, struct history_report *report,
		struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;

	if (is_json(options))
		return history_json_list(report, false, np_output_stream(), err);
	if (options->common.format == NP_OUTPUT_CSV)
		return history_csv_figures(report, np_output_stream(), err);
	return print(&buf, history_show_list(report, &buf, err));
}

static int export(const struct history_options *options, struct history_report *report,
		  struct np_err *err)
{
	return options->common.format == NP_OUTPUT_CSV
		       ? history_csv_ranks(report, np_output_stream(), err)
		       : history_json_list(report, true, np_output_stream(), err);
}

static int prune(const struct history_options *options)
{
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;
	int64_t removed = 0;

	if (options->keep == 0)
		return np_cmd_usage(&np_cmd_history,
				    "prune needs --keep N, the number of runs of each job to keep");
	if (hist_store_prune(options->store, options->keep, &removed, &err) < 0)
		return failed(&err);
	np_say(&buf, "{1} runs were removed from {2}\n", NP_SAID_INT(removed),
	       NP_SAID_TEXT(options->store));
	return np_output_release(&buf);
}

/* Runs by their numbers, as `list` shows them. */
static int remove_runs(const struct history_options *options)
{
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;
	size_t count = options->words.count - 1;
	int64_t *ids = calloc(count + 1, sizeof(*ids));
	int rc = ids ? NP_OK : np_fail_nomem(&err, "options");

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const char *word = options->words.item[i + 1];

		if (!np_text_to_int(word, strlen(word), &ids[i]))
			rc = np_fail(
				&err, NP_E_USAGE,
				"remove takes the numbers of runs, as list shows them, not '%s'",
				word);
	}
	if (rc == NP_OK && count == 0)
		rc = np_fail(&err, NP_E_USAGE, "%s",
			     "remove takes the numbers of runs, as list shows them");
	if (rc == NP_OK)
		rc = hist_store_remove(options->store, ids, count, &err);
	free(ids);
	if (rc < 0)
		return failed(&err);
	np_say(&buf, "{1} runs were removed from {2}\n", NP_SAID_INT((int64_t)count),
	       NP_SAID_TEXT(options->store));
	return np_output_release(&buf);
}

struct action {
	const char *name;
	int (*show)(const struct history_options *options, struct history_report *report,
		    struct np_err *err);
	const char *figure; /* that it is about by default; NULL: about none */
	bool selects;       /* only runs of one job and one size */
};

static const struct action actions[] = {
	{ "list", list, NULL, false },     { "export", export, NULL, false },
	{ "trend", trend, "step", true },  { "effects", effects, "computing", true },
	{ "advise", advise, "own", true },
};

static int look(const struct history_options *options, const struct action *action,
		struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = NULL;
	const struct hist_choice choice = { .job = options->job,
					    .labels = options->labels.item,
					    .label_count = options->labels.count,
					    .last = options->last,
					    .all = !action->selects };
	struct hist_selection selection = { 0 };
	struct history_report report = { .store_path = options->store,
					 .listed = &selection,
					 .figure =
						 options->figure ? options->figure : action->figure,
					 .width = np_output_width(stdout),
					 .color = np_common_color(&options->common, stdout) };
	int rc = hist_store_read(options->store, &store, err);

	report.store = store;
	/* A store without runs is an empty list. */
	if (rc == NP_OK && (action->selects || store->runs.count > 0))
		rc = hist_select(store, &choice, &selection, err);
	if (action->selects)
		report.selection = &selection;
	if (rc == NP_OK)
		rc = action->show(options, &report, err);
	hist_selection_release(&selection);
	return rc;
}

/* Advise names as many as the command does. */
#define LOOK_HOSTS 5

static int write_judgement(const struct np_history_look *question, struct np_err *err)
{
	const char *run = question->run;
	const struct np_common common = { .format = NP_OUTPUT_JSON, .dirs = { &run, 1, 1 } };
	int rc = judge_analysis(&(struct np_history_question){ .common = &common,
							       .store = question->store,
							       .job = question->job,
							       .fail_on = question->fail_on },
				question->analysis, err);

	/* What it ends with as a command is in the document. */
	return rc < 0 ? rc : NP_OK;
}

int np_history_write(const struct np_history_look *question, FILE *stream, struct np_err *err)
{
	const struct history_options options = { .common = { .format = NP_OUTPUT_JSON,
							     .no_color = true },
						 .store = hist_store_path(question->store),
						 .figure = question->figure,
						 .job = question->job,
						 .last = question->last,
						 .hosts = LOOK_HOSTS };
	const struct action *action = NULL;
	FILE *before;
	int rc;

	for (size_t i = 0; i < NP_COUNT(actions) && !action; i++) {
		if (strcmp(actions[i].name, question->action) == 0)
			action = &actions[i];
	}
	if (!options.store || !*options.store)
		return np_fail(err, NP_E_USAGE,
			       "which store? give --store FILE, or set NPUPROF_HISTORY");
	if (!action && !question->analysis)
		return np_fail(err, NP_E_USAGE, "unknown action '%s'", question->action);
	before = np_output_divert(stream);
	rc = action ? look(&options, action, err) : write_judgement(question, err);
	(void)np_output_divert(before);
	return rc;
}

static int run_look(const struct history_options *options, const struct action *action)
{
	struct np_err err = NP_ERR_INIT;
	int rc = look(options, action, &err);

	return rc < 0 ? failed(&err) : rc;
}

/* --- the command ----------------------------------------------------------------------------- */

/* Directories behind the action are those of the run. */
static int take_dirs(struct history_options *options)
{
	bool reads = strcmp(options->words.item[0], "add") == 0 ||
		     strcmp(options->words.item[0], "judge") == 0;

	if (strcmp(options->words.item[0], "remove") == 0)
		return 0;
	if (!reads && options->words.count > 1)
		return np_cmd_usage(&np_cmd_history,
				    "only add and judge take a directory, not '%s'",
				    options->words.item[1]);
	for (size_t i = 1; i < options->words.count; i++) {
		const char **slot = np_vec_add(&options->common.dirs, NULL);

		if (!slot)
			return np_report(NP_EXIT_FAILED, "out of memory for %s", "options");
		*slot = options->words.item[i];
	}
	return reads && options->common.dirs.count == 0
		       ? np_cmd_usage(&np_cmd_history, "%s needs the directory of a run",
				      options->words.item[0])
		       : 0;
}

/* Is a name among words, each between spaces? */
static bool is_among(const char *name, const char *words)
{
	size_t length = strlen(name);

	for (const char *at = words; (at = strstr(at, name)) != NULL; at += length) {
		if (at[-1] == ' ' && at[length] == ' ')
			return true;
	}
	return false;
}

/* What an action would not heed is no option of it: who prunes one job must not lose the others. */
static int check_options(const struct history_options *options)
{
	const char *name = options->words.item[0];
	const struct {
		const char *option;
		bool given;
		const char *actions;
	} rows[] = {
		{ "--figure", options->figure != NULL, " trend effects " },
		{ "--fail-on", options->fail_on != NULL, " judge " },
		{ "--keep", options->keep != 0, " prune " },
		{ "--frequency", options->frequency, " add " },
		{ "--last", options->last != 0, " list trend effects advise export " },
		{ "--job", options->job != NULL, " add list trend effects advise judge export " },
		{ "--label", options->labels.count > 0,
		  " add list trend effects advise judge export " },
	};

	if (!is_among(name, " add list trend effects advise judge remove prune export "))
		return np_cmd_usage(&np_cmd_history,
				    "unknown action '%s'; it is one of add, list, trend, effects, "
				    "advise, judge, remove, prune or export",
				    name);
	for (size_t i = 0; i < NP_COUNT(rows); i++) {
		if (rows[i].given && !is_among(name, rows[i].actions))
			return np_cmd_usage(&np_cmd_history, "history %s does not take %s", name,
					    rows[i].option);
	}
	return 0;
}

static int history(struct history_options *options)
{
	const char *name = options->words.item[0];
	const struct action *action = actions;
	int status = check_options(options);

	if (status == 0)
		status = take_dirs(options);
	if (status != 0)
		return status;
	options->store = hist_store_path(options->store);
	if (!options->store)
		return np_cmd_usage(&np_cmd_history,
				    "which store? give --store FILE, or set NPUPROF_HISTORY");
	if (options->common.format == NP_OUTPUT_CSV && strcmp(name, "list") != 0 &&
	    strcmp(name, "export") != 0)
		return np_cmd_usage(&np_cmd_history, "only list and export have -f csv");
	if (strcmp(name, "add") == 0)
		return run_add(options);
	if (strcmp(name, "judge") == 0)
		return run_phases(options, judge);
	if (strcmp(name, "prune") == 0)
		return prune(options);
	if (strcmp(name, "remove") == 0)
		return remove_runs(options);
	/* It is one of them: check_options() knows all. */
	while (strcmp(action->name, name) != 0)
		action++;
	return run_look(options, action);
}

static int cmd_history(int argc, const char *const *argv)
{
	struct history_options options = { 0 };
	int status;

	if (np_cmd_options(&np_cmd_history, argc, argv, &options, &status)) {
		/* Peaks of memory are figures too. */
		options.common.snapshots = true;
		status = history(&options);
	}
	np_opt_release(&np_cmd_history.options, &options);
	return status;
}
