/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the report of a run on one screen, or the same sections on a page of Markdown. */
#include "cluster_report.h"

#include "cli/prepare/trust_json.h"

#include "npuprof/op_times.h"
#include "npuprof/ranges.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

/* One screen: longer lists end with how many more there are and where to see them. */
#define MAX_NOTES         5
#define MAX_STEPS         6
#define MAX_COMMUNICATORS 6
#define MAX_CHARGED       3

/* Directories that were left out for others of the same ranks: many are much alike. */
#define MAX_OTHERS 2

/* A screen narrower than this names the rank of the most only. */
#define WIDE 100

/* --- head ------------------------------------------------------------------------------------ */

static void put_steps(struct np_buf *buf, const struct cluster_report *report)
{
	const struct np_cluster *cluster = report->analysis->cluster;
	enum np_steps_from from = np_run_steps_from(report->analysis->run);
	int64_t *numbers = malloc((cluster->steps.count + 1) * sizeof(*numbers));
	size_t count = 0;

	for (size_t i = 0; numbers && i < cluster->steps.count; i++) {
		const char *text = np_run_text(report->analysis->run, cluster->steps.item[i]);

		if (text && np_text_to_int(text, strlen(text), &numbers[count]))
			count++;
	}
	if (count > 0 && count == cluster->steps.count) {
		np_buf_printf(buf, ", %s ", np_steps_noun(from, count));
		np_ranges_format(buf, numbers, count);
	} else if (cluster->steps.count == 1 && cluster->steps.item[0] == NP_STR_NONE) {
		np_buf_add(buf, ", no steps marked");
	} else {
		np_buf_printf(buf, ", %zu %s", cluster->steps.count,
			      np_steps_noun(from, cluster->steps.count));
	}
	free(numbers);
}

void report_put_head(struct np_buf *buf, const struct cluster_report *report)
{
	size_t used = np_run_used(report->analysis->run);
	int32_t world = np_cluster_world(report->analysis->cluster);
	size_t hosts = np_cluster_hosts(report->analysis->cluster);

	np_text_safe(buf, report->input, strlen(report->input));
	np_buf_printf(buf, ": %zu rank%s", used, used == 1 ? "" : "s");
	if (world > 0)
		np_buf_printf(buf, " of %" PRId32, world);
	else if (used < report->analysis->run->sources.count)
		np_buf_printf(buf, " of %zu found", report->analysis->run->sources.count);
	if (hosts > 0)
		np_buf_printf(buf, ", %zu host%s", hosts, hosts == 1 ? "" : "s");
	put_steps(buf, report);
}

/* What the clocks are wrong by: as ends differ, or as much as they contradict what happened. */
static void put_clock(struct np_buf *text, const struct np_clock *clock)
{
	bool manifest = clock->method == NP_CLOCK_MANIFEST;

	if (clock->method == NP_CLOCK_NONE ||
	    (clock->residual_p90 == NP_UNKNOWN && clock->violations == 0))
		return;
	np_buf_printf(text, "; clocks %s, off by ",
		      clock->recorded ? "as recorded"
		      : manifest      ? "from the manifest"
				      : "from their ends");
	if (clock->violation_max > clock->residual_p90) {
		np_text_duration(text, clock->violation_max);
		np_buf_printf(text, " at least: %zu operator%s before all had started",
			      clock->violations, clock->violations == 1 ? " ends" : "s end");
		return;
	}
	np_text_duration(text, clock->residual_p90);
	np_buf_add(text, " at most in 9 of 10 ends");
}

/* How far the figures across ranks can be trusted, in a line. */
static void put_trust(struct np_section *section, const struct cluster_report *report)
{
	const struct np_align *align = report->analysis->align;
	const struct np_clock *clock = report->analysis->clock;
	const struct np_waits *waits = &report->analysis->waits;
	struct np_buf *text = &section->text;

	np_buf_printf(text, "%" PRIu32 " of %" PRIu32 " communication operators matched over ranks",
		      align->matched, align->op_count);
	put_clock(text, clock);
	if (waits->agreement_p90 != NP_UNKNOWN) {
		np_buf_add(text, "; estimators of waiting agree within ");
		np_text_duration(text, waits->agreement_p90);
	}
	np_buf_add_char(text, '\n');
	if (clock->components > 1)
		np_buf_printf(text,
			      "%zu sets of ranks share no operator: their clocks are unrelated\n",
			      clock->components);
}

/* --- notes ----------------------------------------------------------------------------------- */

/* A path may hold line ends, which would look like lines of ours. */
static void put_safe(struct np_buf *buf, const char *text)
{
	np_text_safe(buf, text, strlen(text));
}

void report_put_note(struct np_buf *buf, const struct np_note *note)
{
	np_buf_add(buf, note->kind == NP_NOTE_SKIPPED ? "not used: " : "note: ");
	if (note->rank != NP_NO_RANK)
		np_buf_printf(buf, "rank %" PRId32, note->rank);
	if (note->rank == NP_NO_RANK || strcmp(note->what, "rank") != 0)
		np_buf_printf(buf, "%s%s", note->rank == NP_NO_RANK ? "" : " ", note->what);
	if (!strstr(note->reason, note->path)) {
		np_buf_add(buf, " (");
		put_safe(buf, note->path);
		np_buf_add(buf, ")");
	}
	np_buf_add(buf, ": ");
	put_safe(buf, note->reason);
	np_buf_add(buf, "\n");
}

/* Both kinds, what could not be used first. */
void report_put_notes(struct np_page *page, const struct np_notes *notes)
{
	struct np_section *section = np_page_add(page, "Notes");
	size_t others = 0;
	size_t shown = 0;

	for (int kind = NP_NOTE_SKIPPED; kind <= NP_NOTE_WARNING; kind++) {
		for (size_t i = 0; i < notes->list.count && shown < MAX_NOTES; i++) {
			const struct np_note *note = &notes->list.item[i];

			if (note->kind != (enum np_note_kind)kind)
				continue;
			if (note->kind == NP_NOTE_WARNING && strcmp(note->what, "rank") == 0 &&
			    others++ >= MAX_OTHERS)
				continue;
			report_put_note(&section->text, note);
			shown++;
		}
	}
	if (notes->list.count > shown)
		np_buf_printf(
			&section->text,
			"… and %zu more: npuprof cluster -f csv --table np_skipped lists all\n",
			notes->list.count - shown);
	np_page_drop_empty(page);
}

/* --- steps, communicators, charges ------------------------------------------------------------ */

static const char *const quantity_titles[NP_Q_COUNT] = {
	[NP_Q_COMPUTING] = "computing",
	[NP_Q_EXPOSED] = "exposed comm.",
	[NP_Q_FREE] = "free",
	[NP_Q_BUBBLE] = "bubble",
};

/* The quantities that have a column. */
struct step_shown {
	enum np_quantity list[NP_Q_COUNT];
	size_t count;
	bool wide; /* with both ranks of a spread */
};

/* So much takes a column in the short form, and in the long one. */
#define SHORT_COLUMN 18
#define LONG_COLUMN  24
#define STEP_COLUMN  6

/* "0.74…15.8 ms r5": the least in the unit of the most. */
static void put_short_spread(struct np_grid *grid, const struct np_spread *spread)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { " ns", 1 }, { " us", 1e3 }, { " ms", 1e6 }, { " s", 1e9 } };
	NP_CLEANUP(np_buf_release) struct np_buf most = NP_BUF_INIT;
	double least = (double)spread->least;

	np_text_duration(&most, spread->most);
	for (size_t i = 0; i < NP_COUNT(units); i++) {
		if (strcmp(strchrnul(most.text, ' '), units[i].name) == 0)
			least /= units[i].ns;
	}
	np_grid_printf(grid, "%.*f…%s r%" PRId32, least < 9.995 ? 2 : least < 99.95, least,
		       most.text, spread->most_rank);
}

/* "41.2 r3 … 54.1 ms r5", or the one value that all have. */
static void put_spread(struct np_grid *grid, const struct np_spread *spread, bool wide)
{
	NP_CLEANUP(np_buf_release) struct np_buf least = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf most = NP_BUF_INIT;
	const char *units[2];
	int digits;

	if (spread->ranks == 0) {
		np_grid_cell(grid, "?");
		return;
	}
	np_text_duration(&least, spread->least);
	np_text_duration(&most, spread->most);
	if (spread->least == spread->most) {
		np_grid_cell(grid, least.text);
		return;
	}
	if (!wide) {
		put_short_spread(grid, spread);
		return;
	}
	/* The unit is said once where both have the same. */
	units[0] = strchrnul(least.text, ' ');
	units[1] = strchrnul(most.text, ' ');
	digits = strcmp(units[0], units[1]) == 0 ? (int)(units[0] - least.text) : INT_MAX;
	np_grid_printf(grid, "%.*s r%" PRId32 " … %s r%" PRId32, digits, least.text,
		       spread->least_rank, most.text, spread->most_rank);
}

/* A bubble that is zero everywhere says nothing. */
static bool has_bubble(const struct np_cluster *cluster)
{
	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			if (rank->times.item[j].bubble > 0)
				return true;
		}
	}
	return false;
}

/* The step itself is always there; what is free has no column where a bubble takes its room. */
static struct step_shown choose_columns(const struct cluster_report *report)
{
	bool bubble = has_bubble(report->analysis->cluster);
	bool room = !bubble || report->width >= STEP_COLUMN + 5 * SHORT_COLUMN;
	struct step_shown shown = { .list = { NP_Q_COMPUTING, NP_Q_EXPOSED }, .count = 2 };

	if (room)
		shown.list[shown.count++] = NP_Q_FREE;
	if (bubble)
		shown.list[shown.count++] = NP_Q_BUBBLE;
	shown.list[shown.count++] = NP_Q_STEP;
	shown.wide = report->width >= WIDE &&
		     report->width >= STEP_COLUMN + shown.count * LONG_COLUMN - LONG_COLUMN / 2;
	return shown;
}

static void put_step_row(struct np_grid *grid, const struct cluster_report *report, size_t step,
			 const struct step_shown *shown)
{
	const struct np_spread *spreads = report->analysis->spreads.steps[step];
	const char *id =
		np_run_text(report->analysis->run, report->analysis->cluster->steps.item[step]);

	np_grid_cell(grid, id ? id : "all");
	for (size_t i = 0; i < shown->count; i++) {
		/* A step that is known and has no iteration is the last. */
		if (shown->list[i] == NP_Q_STEP && spreads[NP_Q_STEP].ranks == 0 &&
		    spreads[NP_Q_SPAN].ranks > 0)
			np_grid_cell(grid, "-");
		else
			put_spread(grid, &spreads[shown->list[i]], shown->wide);
	}
}

/* Below a percent it says nothing. */
#define WORTH_A_LINE 0.01

/* Steps without an iteration: what they have instead. */
static void put_last_steps(struct np_buf *text, const struct np_analysis *analysis)
{
	const struct np_cluster *cluster = analysis->cluster;
	size_t last = 0;
	size_t count = 0;

	for (size_t i = 0; i < cluster->steps.count; i++) {
		const struct np_spread *spreads = analysis->spreads.steps[i];

		if (spreads[NP_Q_STEP].ranks > 0 || spreads[NP_Q_SPAN].ranks == 0)
			continue;
		last = i;
		count++;
	}
	if (count == 0)
		return;
	np_buf_add(text, "an iteration lasts until the next step begins: ");
	if (count > 1) {
		np_buf_printf(text, "%zu steps have none, for none follows them\n", count);
		return;
	}
	np_buf_printf(text, "step %s has none; its span is ",
		      np_run_text(analysis->run, cluster->steps.item[last]));
	np_text_duration(text, analysis->spreads.steps[last][NP_Q_SPAN].most);
	np_buf_add(text, " at most\n");
}

/* Idle time between steps is in no span: how much of the iterations it is, and whose. */
static void put_between(struct np_buf *text, const struct np_spreads *spreads)
{
	np_ns between = spreads->total[NP_Q_BETWEEN];
	bool first = true;

	if (between <= 0 || (double)between < WORTH_A_LINE * (double)spreads->total[NP_Q_STEP])
		return;
	np_buf_add(text, "between steps: ");
	np_text_duration(text, between);
	np_buf_printf(text, " over all ranks, %.0f %% of their time; ",
		      100 * (double)between / (double)spreads->total[NP_Q_STEP]);
	for (int i = 0; i < NP_BETWEEN_KINDS; i++) {
		double share = (double)spreads->between[i] / (double)between;

		if (share < WORTH_A_LINE)
			continue;
		np_buf_printf(text, "%s%s %.0f %%", first ? "" : ", ",
			      strchr(np_between_leaf((enum np_between)i), '/') + 1, 100 * share);
		first = false;
	}
	np_buf_add(text, "\n");
}

/*
 * What the host did of a step before the device began with it. It matters where
 * the device may have waited for it: between steps, or before the only one.
 */
static void put_preparing(struct np_buf *text, const struct np_spreads *spreads, size_t steps)
{
	np_ns preparing = spreads->total[NP_Q_PREPARING];
	const struct np_spread *most = NULL;
	np_ns idle =
		spreads->basis == NP_BASIS_ITERATION ? spreads->total[NP_Q_BETWEEN] : preparing;

	for (size_t i = 0; i < steps; i++) {
		const struct np_spread *each = &spreads->steps[i][NP_Q_PREPARING];

		if (each->ranks > 0 && (!most || each->most > most->most))
			most = each;
	}
	if (!most || (double)preparing < WORTH_A_LINE * (double)spreads->total[NP_Q_STEP] ||
	    (double)idle < WORTH_A_LINE * (double)spreads->total[NP_Q_STEP])
		return;
	np_buf_add(text, "preparing, from the host's begin of a step to the device's: ");
	np_text_duration(text, most->most);
	if (most->most_rank < 0)
		np_buf_add(text, " at most\n");
	else
		np_buf_printf(text, " at most, on rank %" PRId32 "\n", most->most_rank);
}

static int put_step_spreads(struct np_section *section, const struct cluster_report *report,
			    struct np_err *err)
{
	const struct np_spreads *spreads = &report->analysis->spreads;
	const struct np_cluster *cluster = report->analysis->cluster;
	const struct step_shown shown = choose_columns(report);
	struct np_grid_column columns[NP_Q_COUNT + 1] = { { "step", NP_RIGHT, false } };
	const struct np_longest *longest = &spreads->longest;

	for (size_t i = 0; i < shown.count; i++)
		columns[i + 1] = (struct np_grid_column){ shown.list[i] == NP_Q_STEP
								  ? np_basis_words(spreads->basis)
								  : quantity_titles[shown.list[i]],
							  NP_LEFT, false };
	section->grid = np_grid_new(columns, shown.count + 1);
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	for (size_t i = 0; i < cluster->steps.count && i < MAX_STEPS; i++)
		put_step_row(section->grid, report, i, &shown);
	if (cluster->steps.count > MAX_STEPS)
		np_buf_printf(&section->text, "… and %zu more steps: --steps N, or -f csv\n",
			      cluster->steps.count - MAX_STEPS);
	put_last_steps(&section->text, report->analysis);
	put_between(&section->text, spreads);
	put_preparing(&section->text, spreads, cluster->steps.count);
	/* Below a percent somebody is always longest. */
	if (longest->steps > 0 && longest->over >= 0.01)
		np_buf_printf(&section->text,
			      "rank %" PRId32 " computed longest in %zu of %zu steps, on average"
			      " %.0f %% over the middle rank\n",
			      longest->rank, longest->steps, cluster->steps.count,
			      100 * longest->over);
	return NP_OK;
}

void report_put_ranks(struct np_buf *buf, const struct np_communicator *communicator)
{
	int64_t *ranks = malloc((communicator->observed_count + 1) * sizeof(*ranks));

	for (size_t i = 0; ranks && i < communicator->observed_count; i++)
		ranks[i] = communicator->observed[i];
	if (ranks)
		np_ranges_format(buf, ranks, communicator->observed_count);
	free(ranks);
	if (communicator->size > communicator->observed_count)
		np_buf_printf(buf, " (%zu of %zu)", communicator->observed_count,
			      communicator->size);
}

static void put_members(struct np_grid *grid, const struct np_communicator *communicator)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	report_put_ranks(&text, communicator);
	np_grid_cell(grid, text.text);
}

static void put_ratio(struct np_grid *grid, double ratio, const char *format_unknown)
{
	if (isnan(ratio))
		np_grid_cell(grid, format_unknown);
	else
		np_grid_printf(grid, "%.2f", ratio);
}

static void put_communicator(struct np_grid *grid, const struct cluster_report *report,
			     const struct np_comm_sum *total)
{
	const struct np_communicator *each = total->communicator;
	const char *name = np_run_text(report->analysis->run, each->pg_name);

	if (name)
		np_grid_printf(grid, "%s …%03" PRIu64, name, each->hash % 1000);
	else
		np_grid_printf(grid, "%" PRIu64, each->hash);
	put_members(grid, each);
	np_grid_printf(grid, "%zu", total->ops);
	np_grid_duration(grid, total->elapsed);
	np_grid_duration(grid, total->wait);
	np_grid_duration(grid, total->transit);
	np_grid_duration(grid, total->exposed);
	put_ratio(grid, np_gb_per_s(total->moved_bytes, total->moved_time), "?");
	put_ratio(grid, np_comm_compute_ratio(total), "?");
}

static int put_communicators(struct np_section *section, const struct cluster_report *report,
			     struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "communicator", NP_LEFT, NP_CUT_MIDDLE },
		{ "ranks", NP_LEFT, true },
		{ "ops", NP_RIGHT, false },
		{ "elapsed", NP_RIGHT, false },
		{ "wait", NP_RIGHT, false },
		{ "transit", NP_RIGHT, false },
		{ "exposed", NP_RIGHT, false },
		{ "GB/s", NP_RIGHT, false },
		{ "comm/comp", NP_RIGHT, false },
	};
	const struct np_comm_sums *totals = &report->analysis->totals;

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	for (size_t i = 0; i < totals->list.count && i < MAX_COMMUNICATORS; i++)
		put_communicator(section->grid, report, &totals->list.item[i]);
	if (totals->list.count > MAX_COMMUNICATORS)
		np_buf_printf(&section->text,
			      "… and %zu more: -f csv --table np_comm_step lists all\n",
			      totals->list.count - MAX_COMMUNICATORS);
	return NP_OK;
}

static void put_charged(struct np_grid *grid, const struct cluster_report *report, uint32_t index)
{
	const struct np_charges *charges = &report->analysis->charges;
	const struct np_root_causes *causes = &report->analysis->causes;
	const struct np_charge_rank *charged = &charges->ranks[index];

	np_grid_printf(grid, "rank %" PRId32, report->analysis->run->ranks[index]->id);
	np_grid_duration(grid, np_whatif_saved(&report->analysis->whatif,
					       report->analysis->run->ranks[index]->id));
	np_grid_duration(grid, causes->ranks[index].charge);
	np_grid_printf(grid, "%.0f %%",
		       100 * (double)causes->ranks[index].charge / (double)charges->total);
	np_grid_cell(grid, np_cause_name(np_root_cause_main(causes, index)));
	np_grid_duration(grid, charged->charge);
	np_grid_printf(grid, "%" PRIu32 " of %" PRIu32, charged->last_arrivals, charged->instances);
	np_grid_cell(grid, np_root_cause_kind(&report->analysis->causes, index));
}

static void put_other(struct np_grid *grid, const char *who, np_ns charge, np_ns direct,
		      np_ns total)
{
	if (charge == 0)
		return;
	np_grid_cell(grid, who);
	np_grid_cell(grid, "");
	np_grid_duration(grid, charge);
	np_grid_printf(grid, "%.0f %%", 100 * (double)charge / (double)total);
	np_grid_cell(grid, "");
	np_grid_duration(grid, direct);
	np_grid_cell(grid, "");
	np_grid_cell(grid, "");
}

/* A large share of little is little, and waiting that computing hides costs nothing. */
static void put_total_wait(struct np_buf *text, const struct cluster_report *report)
{
	np_buf_add(text, "all waiting: ");
	np_text_duration(text, report->analysis->charges.total);
	np_buf_add(text, ", partly hidden by computing; exposed communication: ");
	np_text_duration(text, report->analysis->spreads.total[NP_Q_EXPOSED]);
	np_buf_add(text, " of ");
	np_text_duration(text, report->analysis->spreads.total[NP_Q_STEP]);
	np_buf_add(text, " of steps\n");
}

/* The last to come is often a victim itself: beside what a rank caused stands what it was
 * charged. */
static int put_charges(struct np_section *section, const struct cluster_report *report,
		       struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "began with", NP_LEFT, true },
		{ "repair saves", NP_RIGHT, false },
		{ "waiting of others", NP_RIGHT, false },
		{ "share", NP_RIGHT, false },
		{ "cause", NP_LEFT, true },
		{ "by arrival", NP_RIGHT, false },
		{ "came last", NP_RIGHT, false },
		{ "", NP_LEFT, false },
	};
	const struct np_charges *charges = &report->analysis->charges;
	const struct np_root_causes *causes = &report->analysis->causes;
	const struct np_charge_order *order = &report->analysis->order;

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	for (size_t i = 0; i < order->count && i < MAX_CHARGED; i++)
		put_charged(section->grid, report, order->ranks[i]);
	put_other(section->grid, "ranks not profiled", causes->unprofiled, charges->unprofiled,
		  charges->total);
	put_other(section->grid, "nobody", charges->unattributed, charges->unattributed,
		  charges->total);
	put_total_wait(&section->text, report);
	return NP_OK;
}

/* --- what is missing, what is next ----------------------------------------------------------- */

static void put_missing(struct np_section *section, const struct np_analysis *analysis)
{
	const struct np_readiness *withheld[NP_ANALYSIS_COUNT];
	size_t count = trust_withheld(analysis, withheld);

	for (size_t i = 0; i < count; i++) {
		const struct np_readiness *each = withheld[i];
		const struct np_readiness *next = i + 1 < count ? withheld[i + 1] : NULL;

		np_buf_add(&section->text, each->name);
		if (next && strcmp(each->missing, next->missing) == 0 &&
		    strcmp(each->cure, next->cure) == 0)
			np_buf_add(&section->text, ", ");
		else
			np_buf_printf(&section->text, ": %s; collect with %s\n", each->missing,
				      each->cure);
	}
}

/* A path so that it can be pasted into a shell: in quotes if it is not plain. */
static void put_quoted(struct np_buf *buf, const char *path)
{
	bool plain =
		*path && path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789/._-+,:@%")] == '\0';

	np_buf_add(buf, plain ? "" : "'");
	for (const char *quote; (quote = strchr(path, '\'')); path = quote + 1) {
		np_text_safe(buf, path, (size_t)(quote - path));
		np_buf_add(buf, "'\\''");
	}
	put_safe(buf, path);
	np_buf_add(buf, plain ? "" : "'");
}

/* What was read, by another command or in another form. */
static void put_again(struct np_buf *buf, const struct cluster_report *report, const char *command,
		      const char *options)
{
	np_buf_printf(buf, "npuprof %s%s", command,
		      report->from_summaries ? " --from-summaries" : "");
	for (size_t i = 0; i < report->dir_count; i++) {
		np_buf_add(buf, " -d ");
		put_quoted(buf, report->dirs[i]);
	}
	np_buf_printf(buf, "%s\n", options);
}

/* What to change is the advisor's to say. */
static void put_next(struct np_section *section, const struct cluster_report *report)
{
	put_again(&section->text, report, "advisor", "");
	put_again(&section->text, report, "cluster", " -f csv --table np_comm_step");
	put_again(&section->text, report, "cluster", " -f json");
	if (report->database) {
		np_buf_add(&section->text, "MindStudio Insight opens ");
		put_safe(&section->text, report->database);
		np_buf_add(&section->text, "\n");
	}
}

/* --- rendering ------------------------------------------------------------------------------- */

static int build(struct np_page *page, const struct cluster_report *report, struct np_err *err)
{
	struct np_section *section;
	int rc = NP_OK;

	report_put_notes(page, &report->analysis->run->notes);
	if (report->analysis->align->op_count > 0)
		put_trust(np_page_add(page, "Trust"), report);
	section = np_page_add(page, "Verdict");
	np_buf_printf(&section->text, "%s\n", report->analysis->verdict.text);
	for (size_t i = 0; i < report->analysis->findings.list.count; i++)
		np_buf_printf(&section->text, "%s\n",
			      report->analysis->findings.list.item[i].detail);
	report_put_path(&section->text, report->analysis);
	report_put_parts(&section->text, report->analysis);
	np_page_drop_empty(page);
	if (report->analysis->charges.total > 0)
		rc = put_charges(
			np_page_add(page, "Where the waiting began, and who came late by arrival"),
			report, err);
	if (rc == NP_OK)
		rc = put_step_spreads(np_page_add(page, "Steps: least … most over the ranks"),
				      report, err);
	if (rc == NP_OK && report->analysis->cluster->communicators.count > 0)
		rc = put_communicators(
			np_page_add(page, "Communicators: sums over profiled ranks and steps"),
			report, err);
	section = np_page_add(page, "Not in the data");
	put_missing(section, report->analysis);
	np_page_drop_empty(page);
	put_next(np_page_add(page, "Next"), report);
	return rc;
}

int report_screen(const struct cluster_report *report, struct np_buf *buf, struct np_err *err)
{
	struct np_page page = { 0 };
	int rc = build(&page, report, err);

	report_put_head(buf, report);
	np_buf_add(buf, "\n");
	if (rc == NP_OK)
		rc = np_page_write(&page, buf, report->width, report->color, err);
	np_page_release(&page);
	return rc < 0 ? rc : np_buf_check(buf, err);
}

void report_put_markdown_head(struct np_buf *buf, const struct cluster_report *report)
{
	NP_CLEANUP(np_buf_release) struct np_buf head = NP_BUF_INIT;

	report_put_head(&head, report);
	np_buf_add(buf, "# ");
	np_grid_add_markdown(buf, head.text, head.length);
	np_buf_add(buf, "\n");
	buf->failed |= head.failed;
}

int report_markdown(const struct cluster_report *report, struct np_buf *buf, struct np_err *err)
{
	struct np_page page = { 0 };
	int rc = build(&page, report, err);

	report_put_markdown_head(buf, report);
	if (rc == NP_OK)
		rc = np_page_write_markdown(&page, buf, err);
	np_page_release(&page);
	return rc < 0 ? rc : np_buf_check(buf, err);
}
