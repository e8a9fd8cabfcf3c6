/* SPDX-License-Identifier: Apache-2.0 */
/* The history for people: what changed when, which machine is slow, which to drain. */
#include "history_report.h"

#include <math.h>
#include <time.h>

#include "npuprof/grid.h"
#include "npuprof/lang.h"
#include "npuprof/page.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

/* Rows of a table that people read. */
#define ROWS 10

void history_time(struct np_buf *buf, np_ns time)
{
	time_t seconds = (time_t)(time / 1000000000);
	struct tm utc;
	char text[32];

	if (time == NP_UNKNOWN || !gmtime_r(&seconds, &utc) ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &utc) == 0)
		(void)snprintf(text, sizeof(text), "?");
	np_buf_add(buf, text);
}

void history_unit(struct np_buf *buf, const struct hist_store *store, enum hist_unit unit,
		  np_str host, int64_t number)
{
	switch (unit) {
	case HIST_HOST:
		np_say(buf, "host {1}", NP_SAID_TEXT(hist_text(store, host)));
		break;
	case HIST_DEVICE:
		np_say(buf, "device {1} of {2}", NP_SAID_INT(number),
		       NP_SAID_TEXT(hist_text(store, host)));
		break;
	case HIST_STAGE:
		np_say(buf, "stage {1}", NP_SAID_INT(number));
		break;
	default:
		np_say(buf, "rank {1}", NP_SAID_INT(number));
		break;
	}
}

/* "+3.0 %" */
static void add_change(struct np_buf *buf, double share)
{
	if (isfinite(share))
		np_buf_printf(buf, "%+.1f %%", 100 * share);
	else
		np_buf_add_char(buf, '?');
}

/* "commit=1f3a phase=train" */
static void add_labels(struct np_buf *buf, const struct hist_store *store, size_t run)
{
	bool any = false;

	for (size_t i = 0; i < store->labels.count; i++) {
		const struct hist_label *label = &store->labels.item[i];

		if (label->run != run)
			continue;
		np_buf_printf(buf, "%s%s=%s", any ? " " : "", hist_text(store, label->name),
			      hist_text(store, label->value));
		any = true;
	}
}

/* Fill a cell of a grid from what a function appends. */
static void labels_cell(struct np_grid *grid, const struct hist_store *store, size_t run)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	add_labels(&text, store, run);
	np_grid_cell(grid, text.text);
}

static void time_cell(struct np_grid *grid, np_ns time)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	history_time(&text, time);
	np_grid_cell(grid, text.text);
}

static void change_cell(struct np_grid *grid, double share)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	add_change(&text, share);
	np_grid_cell(grid, text.text);
}

static int write_page(const struct history_report *report, struct np_page *page, struct np_buf *buf,
		      struct np_err *err)
{
	int rc = np_page_write(page, buf, report->width, report->color, err);

	np_page_release(page);
	return rc;
}

static void say_later(struct np_buf *buf, const struct hist_selection *selection)
{
	if (selection->later > 0)
		np_say(buf, "left out: {1} runs that were captured later\n",
		       NP_SAID_INT(selection->later));
}

/* "60 runs of default on 64 ranks, 2026-01-01 10:00 to 2026-03-01 10:00" */
static void say_runs(struct np_buf *buf, const struct history_report *report)
{
	const struct hist_selection *selection = report->selection;
	NP_CLEANUP(np_buf_release) struct np_buf first = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf last = NP_BUF_INIT;

	history_time(&first, report->store->runs.item[selection->runs.item[0]].captured);
	history_time(
		&last,
		report->store->runs.item[selection->runs.item[selection->runs.count - 1]].captured);
	if (selection->runs.count == 1)
		np_say(buf, "one run of {1} on {2} ranks, {3} (UTC)\n",
		       NP_SAID_TEXT(selection->job), NP_SAID_INT(selection->ranks),
		       NP_SAID_TEXT(last.text));
	else
		np_say(buf, "{1} runs of {2} on {3} ranks, {4} to {5} (UTC)\n",
		       NP_SAID_INT(selection->runs.count), NP_SAID_TEXT(selection->job),
		       NP_SAID_INT(selection->ranks), NP_SAID_TEXT(first.text),
		       NP_SAID_TEXT(last.text));
	if (selection->others > 0)
		np_say(buf, "left out: {1} runs of the job with another number of ranks\n",
		       NP_SAID_INT(selection->others));
	say_later(buf, selection);
	if (selection->elsewhere > 0)
		np_say(buf, "left out: {1} runs of other jobs; --job NAME looks at one of them\n",
		       NP_SAID_INT(selection->elsewhere));
}

/* --- list ------------------------------------------------------------------------------------ */

int history_show_list(const struct history_report *report, struct np_buf *buf, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "run", NP_RIGHT, NP_UNCUT },     { "when (UTC)", NP_LEFT, NP_UNCUT },
		{ "job", NP_LEFT, NP_CUT_END },    { "ranks", NP_RIGHT, NP_UNCUT },
		{ "step", NP_RIGHT, NP_UNCUT },    { "verdict", NP_LEFT, NP_CUT_END },
		{ "labels", NP_LEFT, NP_CUT_END },
	};
	struct np_page page = { 0 };
	struct np_section *section = np_page_add(&page, "Runs");

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "the list");
	for (size_t i = 0; i < report->listed->runs.count; i++) {
		uint32_t index = report->listed->runs.item[i];
		const struct hist_run *run = &report->store->runs.item[index];
		const char *what = hist_text(report->store, run->what);
		const char *kind = hist_text(report->store, run->verdict);

		np_grid_printf(section->grid, "%lld", (long long)run->id);
		time_cell(section->grid, run->captured);
		np_grid_cell(section->grid, hist_text(report->store, run->job));
		np_grid_printf(section->grid, "%lld", (long long)run->ranks);
		np_grid_duration(section->grid, run->step);
		/* What is said of a withheld one is its reason. */
		if (what && kind && strcmp(kind, "withheld") == 0)
			np_grid_printf(section->grid, "%s: %s", kind, what);
		else
			np_grid_cell(section->grid, what ? what : kind ? kind : "?");
		labels_cell(section->grid, report->store, index);
	}
	return write_page(report, &page, buf, err);
}

/* --- trend ----------------------------------------------------------------------------------- */

/* A figure in its unit. */
static struct np_said said_figure(const char *figure, np_ns value)
{
	return hist_figure_is_bytes(figure) ? NP_SAID_BYTES(value) : NP_SAID_TIME(value);
}

static void figure_cell(struct np_grid *grid, const char *figure, np_ns value)
{
	if (hist_figure_is_bytes(figure))
		np_grid_bytes(grid, value);
	else
		np_grid_duration(grid, value);
}

/* A bar for each run, of the last that fit into a line. */
static void add_sparkline(struct np_buf *buf, const struct history_report *report,
			  const struct hist_series *series)
{
	static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t room = report->width > 4 ? report->width - 2 : 2;
	size_t first = series->list.count > room ? series->list.count - room : 0;
	np_ns least = INT64_MAX;
	np_ns most = INT64_MIN;

	for (size_t i = first; i < series->list.count; i++) {
		np_ns time = series->list.item[i].time;

		least = time < least ? time : least;
		most = time > most ? time : most;
	}
	for (size_t i = first; i < series->list.count; i++) {
		double share = most > least ? (double)(series->list.item[i].time - least) /
						      (double)(most - least)
					    : 0;

		np_buf_add(buf, bars[(size_t)(share * (double)(NP_COUNT(bars) - 1) + 0.5)]);
	}
	np_say(buf, "\n{1} (lowest) to {2} (highest)\n", said_figure(report->figure, least),
	       said_figure(report->figure, most));
}

/* No run of it is to blame, and no label. */
static void say_gradual(struct np_buf *buf, const struct history_report *report,
			const struct hist_series *series, const struct hist_change *change,
			const char *much)
{
	const struct hist_store *store = report->store;

	np_say(buf,
	       change->after > change->before
		       ? "{1} rose gradually by {2} from run {3} to run {4}, from {5} to {6}: no single "
			 "run began it\n"
		       : "{1} fell gradually by {2} from run {3} to run {4}, from {5} to {6}: no single "
			 "run began it\n",
	       NP_SAID_TEXT(report->figure), NP_SAID_TEXT(much),
	       NP_SAID_INT(store->runs.item[series->list.item[change->at].run].id),
	       NP_SAID_INT(store->runs.item[series->list.item[change->until].run].id),
	       said_figure(report->figure, (np_ns)change->before),
	       said_figure(report->figure, (np_ns)change->after));
}

static void say_change(struct np_buf *buf, const struct history_report *report,
		       const struct hist_series *series, const struct hist_change *change)
{
	const struct hist_run *run = &report->store->runs.item[series->list.item[change->at].run];
	NP_CLEANUP(np_buf_release) struct np_buf when = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf much = NP_BUF_INIT;

	history_time(&when, run->captured);
	np_buf_printf(&much, "%.1f %%", 100 * fabs(change->after / change->before - 1));
	if (change->gradual) {
		say_gradual(buf, report, series, change, much.text);
		return;
	}
	np_say(buf,
	       change->after > change->before ? "{1} rose by {2} at run {3} ({4}), from {5} to {6}"
					      : "{1} fell by {2} at run {3} ({4}), from {5} to {6}",
	       NP_SAID_TEXT(report->figure), NP_SAID_TEXT(much.text), NP_SAID_INT(run->id),
	       NP_SAID_TEXT(when.text), said_figure(report->figure, (np_ns)change->before),
	       said_figure(report->figure, (np_ns)change->after));
	np_buf_clear(&when);
	add_labels(&when, report->store, series->list.item[change->at].run);
	if (when.length > 0)
		np_say(buf, "; its labels: {1}", NP_SAID_TEXT(when.text));
	np_buf_add_char(buf, '\n');
}

/* The newest change took back the one before it. */
static void say_back(struct np_buf *buf, const struct history_report *report,
		     const struct hist_series *series, const struct hist_changes *changes)
{
	size_t count = changes->list.count;
	const struct hist_change *last = &changes->list.item[count - 1];
	const struct hist_change *first = count > 1 ? last - 1 : NULL;

	if (first && !first->gradual && !last->gradual &&
	    fabs(last->after - first->before) < 0.25 * fabs(last->after - last->before))
		np_say(buf, "that is as it was before run {1}\n",
		       NP_SAID_INT(report->store->runs.item[series->list.item[first->at].run].id));
}

/* "rank:5", or "device 3 of node-7". */
static void add_named(struct np_buf *buf, const struct hist_store *store,
		      const struct hist_named *named)
{
	if (named->host != NP_STR_NONE)
		history_unit(buf, store, HIST_DEVICE, named->host, named->device);
	else if (named->what != NP_STR_NONE)
		np_buf_add(buf, hist_text(store, named->what));
}

/* The device under the rank that is named, as "rank:5", in this run; nothing where that is not
 * known. */
static void add_machine(struct np_buf *buf, const struct hist_store *store,
			const struct hist_run *run, np_str named)
{
	const struct hist_rank *rank = hist_named_rank(store, run, named);

	if (rank)
		history_unit(buf, store, HIST_DEVICE, rank->host, rank->device);
}

/* The first change since which all parts of the series name the same; the count: not even the last
 * does, or that was so before all changes. */
static int first_of_same(const struct history_report *report, const struct hist_series *series,
			 const struct hist_changes *changes, struct hist_named *named,
			 struct hist_named *before, size_t *ret, struct np_err *err)
{
	size_t count = changes->list.count;
	int rc = hist_named_in(report->store, series, changes->list.item[count - 1].at,
			       series->list.count, named, err);

	*ret = count;
	for (size_t i = count; i-- > 0 && rc == NP_OK && hist_named_any(named);) {
		rc = hist_named_in(report->store, series, i > 0 ? changes->list.item[i - 1].at : 0,
				   changes->list.item[i].at, before, err);
		if (rc == NP_OK && !hist_named_same(named, before)) {
			*ret = i;
			break;
		}
	}
	return rc;
}

/* What the runs since a change name, and the machine of a rank in the newest. */
static int say_cause(struct np_buf *buf, const struct history_report *report,
		     const struct hist_series *series, const struct hist_changes *changes,
		     struct np_err *err)
{
	const struct hist_store *store = report->store;
	const struct hist_run *newest =
		&store->runs.item[series->list.item[series->list.count - 1].run];
	NP_CLEANUP(np_buf_release) struct np_buf after = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf machine = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf was = NP_BUF_INIT;
	struct hist_named named;
	struct hist_named before;
	size_t first;
	int rc = first_of_same(report, series, changes, &named, &before, &first, err);

	if (rc < 0 || first == changes->list.count)
		return rc;
	add_named(&after, store, &named);
	if (first + 1 == changes->list.count)
		np_say(buf, "since then most runs name {1}", NP_SAID_TEXT(after.text));
	else
		np_say(buf, "since run {1} most runs name {2}",
		       NP_SAID_INT(
			       store->runs.item[series->list.item[changes->list.item[first].at].run]
				       .id),
		       NP_SAID_TEXT(after.text));
	add_machine(&machine, store, newest, named.what);
	if (machine.length > 0)
		np_say(buf, ", in the newest {1}", NP_SAID_TEXT(machine.text));
	if (named.host != NP_STR_NONE)
		np_say(buf, ", whatever rank was on it");
	add_named(&was, store, &before);
	if (was.length > 0)
		np_say(buf, "; before, {1}", NP_SAID_TEXT(was.text));
	np_buf_add_char(buf, '\n');
	return NP_OK;
}

/* The command that takes two runs apart, where it is known where they were. */
static void say_compare(struct np_buf *buf, const char *base, const char *now)
{
	NP_CLEANUP(np_buf_release) struct np_buf command = NP_BUF_INIT;

	if (!base || !*base || !now || !*now || strcmp(base, now) == 0)
		return;
	np_buf_add(&command, "npuprof compare ");
	np_text_quoted(&command, base);
	np_buf_add_char(&command, ' ');
	np_text_quoted(&command, now);
	np_say(buf, "do next: {1} tells where the time went\n", NP_SAID_TEXT(command.text));
	buf->failed |= command.failed;
}

/* What the change is made of is told by the runs on both sides of it. */
static void say_sides(struct np_buf *buf, const struct history_report *report,
		      const struct hist_series *series, const struct hist_change *change)
{
	const struct hist_store *store = report->store;
	size_t base = change->gradual || change->at == 0 ? change->at : change->at - 1;

	if (!hist_figure_is_bytes(report->figure))
		say_compare(buf,
			    hist_text(store, store->runs.item[series->list.item[base].run].dir),
			    hist_text(store,
				      store->runs.item[series->list.item[change->until].run].dir));
}

static int add_changes(struct np_page *page, const struct history_report *report,
		       const struct hist_series *series, const struct hist_changes *changes,
		       struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "run", NP_RIGHT, NP_UNCUT },     { "when (UTC)", NP_LEFT, NP_UNCUT },
		{ "before", NP_RIGHT, NP_UNCUT },  { "after", NP_RIGHT, NP_UNCUT },
		{ "change", NP_RIGHT, NP_UNCUT },  { "by chance", NP_RIGHT, NP_UNCUT },
		{ "labels", NP_LEFT, NP_CUT_END },
	};
	struct np_section *section = np_page_add(page, "Changes");

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "changes");
	for (size_t i = 0; i < changes->list.count; i++) {
		const struct hist_change *change = &changes->list.item[i];
		uint32_t index = series->list.item[change->at].run;
		const struct hist_run *run = &report->store->runs.item[index];

		if (change->gradual)
			np_grid_printf(section->grid, "%lld-%lld", (long long)run->id,
				       (long long)report->store->runs
					       .item[series->list.item[change->until].run]
					       .id);
		else
			np_grid_printf(section->grid, "%lld", (long long)run->id);
		time_cell(section->grid, run->captured);
		figure_cell(section->grid, report->figure, (np_ns)change->before);
		figure_cell(section->grid, report->figure, (np_ns)change->after);
		change_cell(section->grid, change->after / change->before - 1);
		np_grid_printf(section->grid, "%.2f %%", 100 * change->chance);
		if (change->gradual)
			np_grid_cell(section->grid, "");
		else
			labels_cell(section->grid, report->store, index);
	}
	return NP_OK;
}

int history_show_trend(const struct history_report *report, const struct hist_series *series,
		       const struct hist_changes *changes, struct np_buf *buf, struct np_err *err)
{
	struct np_page page = { 0 };
	struct np_section *section = np_page_add(&page, "Answer");
	const struct hist_point *newest = &series->list.item[series->list.count - 1];
	int rc = NP_OK;

	if (changes->list.count == 0 && series->list.count < HIST_CHANGE_RUNS)
		np_say(&section->text,
		       "too few runs to tell a change: {1}, and {2} are needed; the newest has {3}\n",
		       NP_SAID_INT(series->list.count), NP_SAID_INT(HIST_CHANGE_RUNS),
		       said_figure(report->figure, newest->time));
	else if (changes->list.count == 0)
		np_say(&section->text, "{1} did not change; the newest run has {2}\n",
		       NP_SAID_TEXT(report->figure), said_figure(report->figure, newest->time));
	else {
		say_change(&section->text, report, series,
			   &changes->list.item[changes->list.count - 1]);
		say_back(&section->text, report, series, changes);
		if (!changes->list.item[changes->list.count - 1].gradual)
			rc = say_cause(&section->text, report, series, changes, err);
		say_sides(&section->text, report, series,
			  &changes->list.item[changes->list.count - 1]);
	}
	say_runs(&section->text, report);
	section = np_page_add(&page, "Course");
	add_sparkline(&section->text, report, series);
	if (changes->list.count > 0 && rc == NP_OK)
		rc = add_changes(&page, report, series, changes, err);
	section = np_page_add(&page, "Trust");
	np_say(&section->text,
	       "of series in which nothing changes {1} are said to have a change, more where every run "
	       "is like the run before it; a change of the last {2} runs is not known yet\n",
	       NP_SAID_SHARE(HIST_CHANGE_ERROR), NP_SAID_INT(HIST_CHANGE_LEAST - 1));
	if (series->list.count < report->selection->runs.count)
		np_say(&section->text, "{1} runs do not have this figure\n",
		       NP_SAID_INT(report->selection->runs.count - series->list.count));
	if (rc < 0) {
		np_page_release(&page);
		return rc;
	}
	return write_page(report, &page, buf, err);
}

/* --- roles and machines ---------------------------------------------------------------------- */

static void add_margin(struct np_buf *buf, double margin)
{
	if (isfinite(margin))
		np_buf_printf(buf, "± %.1f %%", 100 * margin);
	else
		np_buf_add_char(buf, '?');
}

static bool is_machine(enum hist_unit unit)
{
	return unit == HIST_HOST || unit == HIST_DEVICE;
}

static size_t say_named(struct np_buf *buf, const struct history_report *report,
			const struct hist_effects *effects)
{
	size_t named = 0;

	for (size_t i = 0; i < effects->list.count; i++) {
		const struct hist_unit_effect *one = &effects->list.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf who = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf much = NP_BUF_INIT;

		if (!one->named)
			continue;
		named++;
		history_unit(&who, report->store, one->unit, one->host, one->number);
		np_buf_printf(&much, "%.1f %% ± %.1f %%", 100 * fabs(one->share),
			      100 * one->margin);
		if (is_machine(one->unit))
			np_say(buf,
			       one->share > 0 ? "{1} takes {2} longer ({3}), in whatever role\n"
					      : "{1} takes {2} less ({3}), in whatever role\n",
			       NP_SAID_TEXT(who.text), NP_SAID_TEXT(much.text),
			       NP_SAID_TEXT(report->figure));
		else
			np_say(buf,
			       one->share > 0 ? "{1} takes {2} longer ({3}), on whatever machine\n"
					      : "{1} takes {2} less ({3}), on whatever machine\n",
			       NP_SAID_TEXT(who.text), NP_SAID_TEXT(much.text),
			       NP_SAID_TEXT(report->figure));
	}
	return named;
}

static void say_untold(struct np_buf *buf, const struct hist_effects *effects)
{
	if (effects->machines == 0)
		np_say(buf, "cannot tell: no run says on which host and device its ranks were\n");
	else if (effects->told == 0)
		np_say(buf,
		       "cannot tell roles from machines: every rank was on the same device in all "
		       "{1} runs; place ranks on other hosts in a few runs, and add those\n",
		       NP_SAID_INT(effects->runs));
	else
		np_say(buf, "no machine and no role stands out: {1} devices in {2} runs\n",
		       NP_SAID_INT(effects->machines), NP_SAID_INT(effects->runs));
}

static int add_effects(struct np_page *page, const struct history_report *report,
		       const struct hist_effects *effects, bool machines, struct np_err *err)
{
	static const struct np_grid_column of_machines[] = {
		{ "machine", NP_LEFT, NP_CUT_MIDDLE },
		{ "takes longer", NP_RIGHT, NP_UNCUT },
		{ "95 %", NP_RIGHT, NP_UNCUT },
		{ "observations", NP_RIGHT, NP_UNCUT },
		{ "", NP_LEFT, NP_UNCUT },
	};
	static const struct np_grid_column of_roles[] = {
		{ "role", NP_LEFT, NP_CUT_MIDDLE }, { "takes longer", NP_RIGHT, NP_UNCUT },
		{ "95 %", NP_RIGHT, NP_UNCUT },     { "observations", NP_RIGHT, NP_UNCUT },
		{ "", NP_LEFT, NP_UNCUT },
	};
	struct np_section *section = np_page_add(page, machines ? "Machines" : "Roles");
	size_t rows[HIST_UNITS] = { 0 };

	section->grid = np_grid_new(machines ? of_machines : of_roles, NP_COUNT(of_machines));
	if (!section->grid)
		return np_fail_nomem(err, "effects");
	for (size_t i = 0; i < effects->list.count; i++) {
		const struct hist_unit_effect *one = &effects->list.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf who = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf margin = NP_BUF_INIT;

		if (is_machine(one->unit) != machines || !isfinite(one->share) ||
		    (rows[one->unit]++ >= ROWS / 2 && !one->named))
			continue;
		history_unit(&who, report->store, one->unit, one->host, one->number);
		add_margin(&margin, one->margin);
		np_grid_cell(section->grid, who.text);
		change_cell(section->grid, one->share);
		np_grid_cell(section->grid, margin.text);
		np_grid_printf(section->grid, "%zu", one->runs);
		np_grid_cell(section->grid, one->named ? "*" : "");
	}
	np_page_drop_empty(page);
	return NP_OK;
}

int history_show_effects(const struct history_report *report, const struct hist_effects *effects,
			 struct np_buf *buf, struct np_err *err)
{
	struct np_page page = { 0 };
	struct np_section *section = np_page_add(&page, "Answer");
	int rc;

	if (say_named(&section->text, report, effects) == 0)
		say_untold(&section->text, effects);
	say_runs(&section->text, report);
	rc = effects->told > 0 ? add_effects(&page, report, effects, true, err) : NP_OK;
	if (rc == NP_OK && effects->told > 0)
		rc = add_effects(&page, report, effects, false, err);
	section = np_page_add(&page, "Trust");
	if (effects->told > 0)
		np_say(&section->text,
		       "* is more than chance makes of one among so many; what is said of a host or a "
		       "stage is taken off its devices and ranks; what is left scatters by {1}\n",
		       NP_SAID_SHARE(effects->spread));
	if (effects->told > 0 && effects->told < effects->machines)
		np_say(&section->text,
		       "{1} of {2} devices were always under the same rank: of them nothing is said\n",
		       NP_SAID_INT(effects->machines - effects->told),
		       NP_SAID_INT(effects->machines));
	np_page_drop_empty(&page);
	if (rc < 0) {
		np_page_release(&page);
		return rc;
	}
	return write_page(report, &page, buf, err);
}

/* --- what to drain --------------------------------------------------------------------------- */

/* Machines that are slow in whatever role, where none of them gains when it is drained. */
static void say_slow(struct np_buf *buf, const struct history_report *report,
		     const struct hist_drain *drain)
{
	for (size_t i = 0; i < drain->effects.list.count; i++) {
		const struct hist_unit_effect *one = &drain->effects.list.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf who = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf much = NP_BUF_INIT;

		if (!one->named || one->share <= 0 || !is_machine(one->unit))
			continue;
		history_unit(&who, report->store, one->unit, one->host, one->number);
		np_buf_printf(&much, "%.1f %% ± %.1f %%", 100 * one->share, 100 * one->margin);
		np_say(buf,
		       drain->replayed > 0
			       ? "{1} takes {2} longer in whatever role: test it; others set the pace, so "
				 "that draining it alone gains less than that\n"
			       : "{1} takes {2} longer in whatever role: test it\n",
		       NP_SAID_TEXT(who.text), NP_SAID_TEXT(much.text));
	}
}

static void say_first(struct np_buf *buf, const struct history_report *report,
		      const struct hist_drain *drain)
{
	const struct hist_candidate *first = &drain->list.item[0];
	NP_CLEANUP(np_buf_release) struct np_buf who = NP_BUF_INIT;

	if (drain->list.count == 0) {
		if (drain->replayed > 0)
			np_say(buf,
			       "nothing to drain: no repair of a host or device gains 0.1 % of the step\n");
		else
			np_say(buf,
			       "what draining gains is not known: none of the runs could be replayed\n");
		say_slow(buf, report, drain);
		return;
	}
	history_unit(&who, report->store, first->unit, first->host, first->device);
	np_say(buf,
	       first->action == HIST_DRAIN
		       ? "drain {1} first: {2} of the step ({3}) are expected, {4} to {5}\n"
		       : "test {1} first: its repair would have gained {2} of the step ({3}), {4} to {5}; "
			 "that it is the machine and not its role is not known\n",
	       NP_SAID_TEXT(who.text), NP_SAID_SHARE(first->mean),
	       NP_SAID_TIME(drain->step == NP_UNKNOWN ? NP_UNKNOWN
						      : (np_ns)(first->mean * (double)drain->step)),
	       NP_SAID_SHARE(first->low), NP_SAID_SHARE(first->high));
}

static void say_together(struct np_buf *buf, const struct hist_drain *drain)
{
	const struct hist_together *together = &drain->together;
	np_ns step = drain->step == NP_UNKNOWN ? NP_UNKNOWN
					       : (np_ns)(together->mean * (double)drain->step);

	if (together->machines == 0)
		return;
	if (together->exact == together->runs)
		np_say(buf,
		       "the {1} to drain together: {2} of the step ({3}) are expected, {4} to {5}\n",
		       NP_SAID_INT((int64_t)together->machines), NP_SAID_SHARE(together->mean),
		       NP_SAID_TIME(step), NP_SAID_SHARE(together->low),
		       NP_SAID_SHARE(together->high));
	else
		np_say(buf,
		       "the {1} to drain together: at least {2} of the step ({3}) are expected, {4} to "
		       "{5}; all at once were replayed in {6} of {7} runs\n",
		       NP_SAID_INT((int64_t)together->machines), NP_SAID_SHARE(together->mean),
		       NP_SAID_TIME(step), NP_SAID_SHARE(together->low),
		       NP_SAID_SHARE(together->high), NP_SAID_INT((int64_t)together->exact),
		       NP_SAID_INT((int64_t)together->runs));
}

static const char *why(const struct hist_candidate *one)
{
	if (one->action == HIST_DRAIN)
		return NP_MSG("slow in whatever role");
	if (!one->effect || !isfinite(one->effect->share))
		return NP_MSG("was always in the same role");
	return NP_MSG("not slower in other roles, as far as is known");
}

static int add_candidates(struct np_page *page, const struct history_report *report,
			  const struct hist_drain *drain, size_t most, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "do", NP_LEFT, NP_UNCUT },
		{ "machine", NP_LEFT, NP_CUT_MIDDLE },
		{ "gain per step", NP_RIGHT, NP_UNCUT },
		{ "80 % of runs", NP_RIGHT, NP_UNCUT },
		{ "runs", NP_RIGHT, NP_UNCUT },
		{ "takes longer", NP_RIGHT, NP_UNCUT },
		{ "why", NP_LEFT, NP_CUT_END },
	};
	struct np_section *section = np_page_add(page, "Machines");

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "the plan");
	for (size_t i = 0; i < drain->list.count && i < most; i++) {
		const struct hist_candidate *one = &drain->list.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf who = NP_BUF_INIT;

		history_unit(&who, report->store, one->unit, one->host, one->device);
		np_grid_cell(
			section->grid,
			np_lang_text(one->action == HIST_DRAIN ? NP_MSG("drain") : NP_MSG("test")));
		np_grid_cell(section->grid, who.text);
		np_grid_printf(section->grid, "%.1f %%", 100 * one->mean);
		np_grid_printf(section->grid, "%.1f ... %.1f %%", 100 * one->low, 100 * one->high);
		np_grid_printf(section->grid, "%zu", one->runs);
		change_cell(section->grid, one->effect ? one->effect->share : (double)NAN);
		np_grid_cell(section->grid, np_lang_text(why(one)));
	}
	np_page_drop_empty(page);
	return NP_OK;
}

static void say_links(struct np_page *page, const struct history_report *report,
		      const struct hist_drain *drain)
{
	struct np_section *section;

	if (drain->links.count == 0)
		return;
	section = np_page_add(page, "Links");
	for (size_t i = 0; i < drain->links.count && i < ROWS; i++) {
		const struct hist_slow_link *link = &drain->links.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf src = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf dst = NP_BUF_INIT;

		history_unit(&src, report->store, HIST_DEVICE, link->src_host, link->src_device);
		history_unit(&dst, report->store, HIST_DEVICE, link->dst_host, link->dst_device);
		np_say(&section->text,
		       "test the link from {1} to {2}: slow in {3} of {4} runs, at {5} of the speed of "
		       "comparable links\n",
		       NP_SAID_TEXT(src.text), NP_SAID_TEXT(dst.text), NP_SAID_INT(link->slow),
		       NP_SAID_INT(link->runs), NP_SAID_SHARE(link->share));
	}
}

int history_show_drain(const struct history_report *report, const struct hist_drain *drain,
		       size_t most, struct np_buf *buf, struct np_err *err)
{
	struct np_page page = { 0 };
	struct np_section *section = np_page_add(&page, "Answer");
	int rc;

	say_first(&section->text, report, drain);
	say_together(&section->text, drain);
	say_runs(&section->text, report);
	rc = drain->list.count > 0 ? add_candidates(&page, report, drain, most, err) : NP_OK;
	say_links(&page, report, drain);
	if (rc < 0) {
		np_page_release(&page);
		return rc;
	}
	return write_page(report, &page, buf, err);
}

/* --- judging a run --------------------------------------------------------------------------- */

/* One figure, beside the same of earlier runs. */
static void say_figure(struct np_buf *buf, const struct hist_judged *one)
{
	NP_CLEANUP(np_buf_release) struct np_buf much = NP_BUF_INIT;

	add_change(&much, (double)one->time / one->middle - 1);
	if (one->failed)
		np_say(buf, "fails: ");
	np_say(buf,
	       one->unusual ? "{1} is {2}, {3} against the middle of {4} runs; "
			    : "{1} is as usual: {2}, {3} against the middle of {4} runs; ",
	       NP_SAID_TEXT(one->figure), said_figure(one->figure, one->time),
	       NP_SAID_TEXT(much.text), NP_SAID_INT(one->runs));
	if ((double)one->time > one->middle)
		np_say(buf, "{1} of them had less\n", NP_SAID_SHARE(one->below));
	else
		np_say(buf, "{1} of them had as much or more\n", NP_SAID_SHARE(1 - one->below));
}

/* What comes first: what fails, the step, what is more than usual, and each by how much it is. */
static int judged_rank(const struct hist_judged *one)
{
	if (one->failed)
		return 0;
	if (strcmp(one->figure, "step") == 0)
		return 1;
	return (double)one->time > one->middle ? 2 : 3;
}

static int order_judged(const void *a, const void *b)
{
	const struct hist_judged *one_a = *(const struct hist_judged *const *)a;
	const struct hist_judged *one_b = *(const struct hist_judged *const *)b;
	int order = np_order(judged_rank(one_a), judged_rank(one_b));

	if (order == 0)
		order = np_order((int64_t)fabs((double)one_b->time - one_b->middle),
				 (int64_t)fabs((double)one_a->time - one_a->middle));
	return order ? order : strcmp(one_a->figure, one_b->figure);
}

/* The step, and what is unusual; how many are more than usual. */
static int say_unusual(struct np_buf *buf, const struct hist_judgement *judgement, size_t *ret_more,
		       struct np_err *err)
{
	const struct hist_judged **list = calloc(judgement->list.count + 1, sizeof(*list));
	size_t count = 0;

	if (!list)
		return np_fail_nomem(err, "figures");
	for (size_t i = 0; i < judgement->list.count; i++) {
		const struct hist_judged *one = &judgement->list.item[i];

		if (one->unusual || (strcmp(one->figure, "step") == 0 && isfinite(one->low)))
			list[count++] = one;
		*ret_more += one->unusual && (double)one->time > one->middle;
	}
	qsort(list, count, sizeof(*list), order_judged);
	for (size_t i = 0; i < count; i++)
		say_figure(buf, list[i]);
	free(list);
	return NP_OK;
}

/* Whom the run names, and the run to hold beside it: the one whose step is nearest to the middle.
 */
static void say_judged_cause(struct np_buf *buf, const struct history_report *report,
			     const struct hist_store *entry, const char *run,
			     const struct hist_judgement *judgement)
{
	const char *named = hist_text(entry, entry->runs.item[0].what);
	const struct hist_run *nearest = NULL;
	NP_CLEANUP(np_buf_release) struct np_buf machine = NP_BUF_INIT;
	double middle = (double)NAN;

	if (named && strchr(named, ':') && !strchr(named, ' ')) {
		add_machine(&machine, entry, &entry->runs.item[0], entry->runs.item[0].what);
		np_say(buf, "it names {1}", NP_SAID_TEXT(named));
		if (machine.length > 0)
			np_say(buf, ", {1}", NP_SAID_TEXT(machine.text));
		np_buf_add_char(buf, '\n');
	}
	for (size_t i = 0; i < judgement->list.count; i++) {
		if (strcmp(judgement->list.item[i].figure, "step") == 0)
			middle = judgement->list.item[i].middle;
	}
	for (size_t i = 0; isfinite(middle) && i < report->selection->runs.count; i++) {
		const struct hist_run *one =
			&report->store->runs.item[report->selection->runs.item[i]];

		if (!nearest ||
		    fabs((double)one->step - middle) < fabs((double)nearest->step - middle))
			nearest = one;
	}
	if (nearest)
		say_compare(buf, hist_text(report->store, nearest->dir), run);
}

static int say_judged(struct np_buf *buf, const struct history_report *report,
		      const struct hist_store *entry, const char *run,
		      const struct hist_judgement *judgement, struct np_err *err)
{
	size_t unusual = 0;
	size_t more = 0;
	int rc;

	if (judgement->withheld) {
		np_say(buf,
		       "{1} cannot be judged: {2} earlier runs of {3} are known, and {4} are needed that "
		       "have all figures asked for\n",
		       NP_SAID_TEXT(run), NP_SAID_INT(judgement->runs),
		       NP_SAID_TEXT(report->selection->job), NP_SAID_INT(HIST_JUDGE_LEAST));
		return NP_OK;
	}
	for (size_t i = 0; i < judgement->list.count; i++)
		unusual += judgement->list.item[i].unusual;
	if (unusual == 0)
		np_say(buf,
		       "{1} is as usual: no figure is beyond what {2} earlier runs scatter by\n",
		       NP_SAID_TEXT(run), NP_SAID_INT(judgement->runs));
	rc = say_unusual(buf, judgement, &more, err);
	if (rc == NP_OK && more > 0)
		say_judged_cause(buf, report, entry, run, judgement);
	return rc;
}

static int add_judged(struct np_page *page, const struct hist_judgement *judgement,
		      struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "figure", NP_LEFT, NP_CUT_MIDDLE }, { "run", NP_RIGHT, NP_UNCUT },
		{ "middle", NP_RIGHT, NP_UNCUT },     { "change", NP_RIGHT, NP_UNCUT },
		{ "usual from", NP_RIGHT, NP_UNCUT }, { "usual to", NP_RIGHT, NP_UNCUT },
		{ "quantile", NP_RIGHT, NP_UNCUT },   { "", NP_LEFT, NP_UNCUT },
	};
	struct np_section *section = np_page_add(page, "Figures");

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "figures");
	for (size_t i = 0; i < judgement->list.count; i++) {
		const struct hist_judged *one = &judgement->list.item[i];
		bool known = isfinite(one->low);

		np_grid_cell(section->grid, one->figure);
		figure_cell(section->grid, one->figure, one->time);
		figure_cell(section->grid, one->figure,
			    isfinite(one->middle) ? (np_ns)one->middle : NP_UNKNOWN);
		change_cell(section->grid, (double)one->time / one->middle - 1);
		figure_cell(section->grid, one->figure, known ? (np_ns)one->low : NP_UNKNOWN);
		figure_cell(section->grid, one->figure, known ? (np_ns)one->high : NP_UNKNOWN);
		if (isfinite(one->below))
			np_grid_printf(section->grid, "%.0f %%", 100 * one->below);
		else
			np_grid_cell(section->grid, "?");
		np_grid_cell(section->grid, one->failed ? "!" : one->unusual ? "*" : "");
	}
	return NP_OK;
}

int history_show_judgement(const struct history_report *report, const struct hist_store *entry,
			   const char *run, const struct hist_judgement *judgement,
			   struct np_buf *buf, struct np_err *err)
{
	struct np_page page = { 0 };
	struct np_section *section = np_page_add(&page, "Answer");
	int rc;

	rc = say_judged(&section->text, report, entry, run, judgement, err);
	if (judgement->runs > 0)
		say_runs(&section->text, report);
	else
		say_later(&section->text, report->selection);
	if (rc == NP_OK)
		rc = add_judged(&page, judgement, err);
	section = np_page_add(&page, "Trust");
	np_say(&section->text,
	       "of runs that are as usual {1} are called unusual in a figure (*); ! fails the gate; the "
	       "quantile is the share of earlier runs that had less\n",
	       NP_SAID_SHARE(HIST_JUDGE_ERROR));
	if (rc < 0) {
		np_page_release(&page);
		return rc;
	}
	return write_page(report, &page, buf, err);
}
