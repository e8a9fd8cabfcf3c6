/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the report of a run on one screen, or the same sections on a page of Markdown. */
#include "cluster_report.h"

#include "npuprof/lang.h"
#include "npuprof/op_times.h"
#include "npuprof/ranges.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

/* One screen: longer lists end with how many more there are and where to see them. */
#define MAX_WHO           4
#define MAX_COMMUNICATORS 4

/* Of a larger run more may be worth a row. */
#define MANY_RANKS 64
/* Of those that save nothing, beside who is named; each of them caused so much of the waiting. */
#define MAX_PASSED_ON   1
#define MUCH_OF_WAITING 0.1

#define MAX_WHO_OF_MANY        10
#define MAX_COMMUNICATORS_MANY 8

/* A row is worth this share of the step, or of all waiting. */
#define WORTH_A_ROW 0.005

/* A gain below this share of the step is none. */
#define WORTH_A_GAIN 0.001

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
		np_say(buf, ", {1} ", NP_SAID_TEXT(np_lang_text(np_steps_noun(from, count))));
		np_ranges_format(buf, numbers, count);
	} else if (cluster->steps.count == 1 && cluster->steps.item[0] == NP_STR_NONE) {
		np_say(buf, ", no steps marked");
	} else {
		np_say(buf, ", {1} {2}", NP_SAID_INT(cluster->steps.count),
		       NP_SAID_TEXT(np_lang_text(np_steps_noun(from, cluster->steps.count))));
	}
	free(numbers);
}

/* Of processes that use several devices each. */
static void put_devices(struct np_buf *buf, const struct np_run *run)
{
	size_t devices = 0;

	for (size_t i = 0; i < run->sources.count; i++)
		devices += run->ranks[i] ? run->ranks[i]->device_count : 0;
	if (devices > np_run_used(run))
		np_say(buf, ", {1} devices", NP_SAID_INT(devices));
}

void report_put_head(struct np_buf *buf, const struct cluster_report *report)
{
	size_t used = np_run_used(report->analysis->run);
	int32_t world = np_cluster_world(report->analysis->cluster);
	size_t hosts = np_cluster_hosts(report->analysis->cluster);

	np_text_safe(buf, report->input, strlen(report->input));
	if (world > 0)
		np_say(buf, used == 1 ? ": {1} rank of {2}" : ": {1} ranks of {2}",
		       NP_SAID_INT(used), NP_SAID_INT(world));
	else if (used < report->analysis->run->sources.count)
		np_say(buf, used == 1 ? ": {1} rank of {2} found" : ": {1} ranks of {2} found",
		       NP_SAID_INT(used), NP_SAID_INT(report->analysis->run->sources.count));
	else
		np_say(buf, used == 1 ? ": {1} rank" : ": {1} ranks", NP_SAID_INT(used));
	put_devices(buf, report->analysis->run);
	if (hosts > 0)
		np_say(buf, hosts == 1 ? ", {1} host" : ", {1} hosts", NP_SAID_INT(hosts));
	put_steps(buf, report);
}

/* --- communicators and links ----------------------------------------------------------------- */

void report_put_ranks(struct np_buf *buf, const struct np_communicator *communicator)
{
	int64_t *ranks = malloc((communicator->observed_count + 1) * sizeof(*ranks));

	for (size_t i = 0; ranks && i < communicator->observed_count; i++)
		ranks[i] = communicator->observed[i];
	if (ranks)
		np_ranges_format(buf, ranks, communicator->observed_count);
	free(ranks);
	if (communicator->size > communicator->observed_count)
		np_say(buf, " ({1} of {2})", NP_SAID_INT(communicator->observed_count),
		       NP_SAID_INT(communicator->size));
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
	else if (ratio > 0 && ratio < 0.005)
		np_grid_cell(grid, "<0.01");
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

static bool many(const struct cluster_report *report)
{
	return np_run_used(report->analysis->run) > MANY_RANKS;
}

/* Is a communicator worth a row, by the time of the ranks that are in it? */
static bool is_busy(const struct cluster_report *report, const struct np_comm_sum *total)
{
	double steps = (double)report->analysis->spreads.total[NP_Q_STEP] *
		       (double)total->communicator->observed_count /
		       (double)np_run_used(report->analysis->run);

	return (double)total->elapsed >= WORTH_A_ROW * steps;
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
	size_t most = many(report) ? MAX_COMMUNICATORS_MANY : MAX_COMMUNICATORS;
	size_t shown = 0;

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	/* The longest come first. */
	while (shown < totals->list.count && shown < most &&
	       (shown == 0 || is_busy(report, &totals->list.item[shown])))
		put_communicator(section->grid, report, &totals->list.item[shown++]);
	if (totals->list.count > shown)
		np_say(&section->text, "… and {1} more: -f csv --table np_comm_step lists all\n",
		       NP_SAID_INT(totals->list.count - shown));
	report_put_link(&section->text, report->analysis);
	return NP_OK;
}

/* --- who ------------------------------------------------------------------------------------- */

/* A gain that nobody would notice is shown as none. */
static void put_gain(struct np_grid *grid, const struct np_analysis *analysis, np_ns saved)
{
	if (saved == NP_UNKNOWN)
		np_grid_cell(grid, "?");
	else if ((double)saved < WORTH_A_GAIN * (double)analysis->whatif.step)
		np_grid_cell(grid, "-");
	else
		np_grid_duration(grid, saved);
}

static void put_share(struct np_grid *grid, np_ns part, np_ns whole)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	np_say_share(&text, (double)part / (double)whole);
	np_grid_cell(grid, text.text);
}

static void put_charged(struct np_grid *grid, const struct cluster_report *report, uint32_t index)
{
	const struct np_charges *charges = &report->analysis->charges;
	const struct np_root_causes *causes = &report->analysis->causes;
	const struct np_charge_rank *charged = &charges->ranks[index];
	NP_CLEANUP(np_buf_release) struct np_buf last = NP_BUF_INIT;
	int32_t rank = report->analysis->run->ranks[index]->id;

	np_grid_printf(grid, "rank %" PRId32, rank);
	np_grid_cell(grid, np_lang_text(np_cause_name(np_root_cause_main(causes, index))));
	/* Who is earlier waits longer for those that were not profiled and set the pace. */
	put_gain(grid, report->analysis,
		 report->analysis->verdict.kind == NP_VERDICT_NOT_PROFILED
			 ? NP_UNKNOWN
			 : np_whatif_saved(&report->analysis->whatif, rank));
	np_grid_duration(grid, causes->ranks[index].charge);
	put_share(grid, causes->ranks[index].charge, charges->total);
	np_say(&last, "{1} of {2}", NP_SAID_INT(charged->last_arrivals),
	       NP_SAID_INT(charged->instances));
	np_grid_cell(grid, last.text);
	np_grid_cell(grid, np_lang_text(np_root_cause_kind(&report->analysis->causes, index)));
}

static void put_other(struct np_grid *grid, const char *who, np_ns charge, np_ns total)
{
	if ((double)charge < WORTH_A_ROW * (double)total)
		return;
	np_grid_cell(grid, np_lang_text(who));
	np_grid_cell(grid, "");
	np_grid_cell(grid, "");
	np_grid_duration(grid, charge);
	put_share(grid, charge, total);
	np_grid_cell(grid, "");
	np_grid_cell(grid, "");
}

/* Some of them may have a profile that could not be read. */
static void put_unprofiled(struct np_grid *grid, const struct np_analysis *analysis)
{
	bool unread = np_run_used(analysis->run) < analysis->run->sources.count;

	put_other(grid, unread ? "ranks not profiled or not read" : "ranks not profiled",
		  analysis->causes.unprofiled, analysis->charges.total);
}

/* More than any rank that is there: it comes first, but for what the verdict names. */
static bool is_mostly_unprofiled(const struct np_analysis *analysis)
{
	for (size_t i = 0; i < analysis->order.count; i++) {
		if (analysis->causes.ranks[analysis->order.ranks[i]].charge >=
		    analysis->causes.unprofiled)
			return false;
	}
	return analysis->verdict.kind != NP_VERDICT_REPAIR;
}

/* Is a rank named by the verdict, first or together with others? */
static bool is_named(const struct np_analysis *analysis, uint32_t index)
{
	const struct np_verdict *verdict = &analysis->verdict;
	int64_t rank;

	if (verdict->kind != NP_VERDICT_REPAIR)
		return false;
	for (size_t i = 0; i < verdict->with_count; i++) {
		const struct np_fix *fix = &verdict->with[i];

		if (fix->kind == NP_FIX_RANK &&
		    np_text_to_int(fix->what, strlen(fix->what), &rank) &&
		    rank == analysis->run->ranks[index]->id)
			return true;
	}
	return index == verdict->named;
}

static bool is_worth_a_row(const struct np_analysis *analysis, uint32_t index)
{
	np_ns saved = np_whatif_saved(&analysis->whatif, analysis->run->ranks[index]->id);

	return (saved != NP_UNKNOWN &&
		(double)saved >= WORTH_A_ROW * (double)analysis->whatif.step) ||
	       (double)analysis->causes.ranks[index].charge >=
		       WORTH_A_ROW * (double)analysis->charges.total;
}

/* Where next to nothing is waiting, nobody is worth a row but who is named. */
static bool is_waiting(const struct np_breakdown *where)
{
	return where->cells == 0 || where->parts[NP_WHERE_WAIT].share >= WORTH_A_ROW ||
	       where->parts[NP_WHERE_COMMUNICATION].share >= WORTH_A_ROW;
}

/* Is it counted already in the row of the host or stage that the verdict names? */
static bool is_member(const struct np_analysis *analysis, uint32_t index)
{
	const struct np_verdict *verdict = &analysis->verdict;

	return verdict->kind == NP_VERDICT_REPAIR && verdict->with_count == 0 &&
	       (verdict->fix.kind == NP_FIX_HOST || verdict->fix.kind == NP_FIX_STAGE) &&
	       np_verdict_changes_rank(analysis, &verdict->fix, index);
}

/* Who is not named, and whose repair gains next to nothing. */
static bool saves_nothing(const struct np_analysis *analysis, uint32_t index)
{
	np_ns saved = np_whatif_saved(&analysis->whatif, analysis->run->ranks[index]->id);

	return !is_named(analysis, index) && saved != NP_UNKNOWN &&
	       (double)saved < WORTH_A_GAIN * (double)analysis->whatif.step;
}

/* Beside who is named, one that saves nothing and caused little is none of it. */
static bool is_beside(const struct np_analysis *analysis, uint32_t index)
{
	return analysis->verdict.kind == NP_VERDICT_REPAIR && saves_nothing(analysis, index) &&
	       (double)analysis->causes.ranks[index].charge <
		       MUCH_OF_WAITING * (double)analysis->charges.total;
}

static bool is_listed(const struct np_analysis *analysis, uint32_t index)
{
	return is_named(analysis, index) ||
	       (is_waiting(&analysis->breakdown) && is_worth_a_row(analysis, index) &&
		!is_member(analysis, index) && !is_beside(analysis, index));
}

/* Does a row come before another: those that are named, then by gain, then by what they caused? */
static bool comes_before(const struct np_analysis *analysis, uint32_t a, uint32_t b)
{
	np_ns gain_a = np_whatif_saved(&analysis->whatif, analysis->run->ranks[a]->id);
	np_ns gain_b = np_whatif_saved(&analysis->whatif, analysis->run->ranks[b]->id);
	double least = WORTH_A_GAIN * (double)analysis->whatif.step;
	np_ns cost_a = analysis->causes.ranks[a].charge;
	np_ns cost_b = analysis->causes.ranks[b].charge;

	if (is_named(analysis, a) != is_named(analysis, b))
		return is_named(analysis, a);
	/* A gain of nearly nothing is no reason to be first. */
	gain_a = (double)gain_a < least ? 0 : gain_a;
	gain_b = (double)gain_b < least ? 0 : gain_b;
	if (gain_a != gain_b)
		return gain_a > gain_b;
	return cost_a != cost_b ? cost_a > cost_b : a < b;
}

/* The first of those that are listed and come behind `last`; UINT32_MAX for none. */
static uint32_t next_listed(const struct np_analysis *analysis, uint32_t last)
{
	const struct np_charge_order *order = &analysis->order;
	uint32_t next = UINT32_MAX;

	for (size_t i = 0; i < order->count; i++) {
		uint32_t index = order->ranks[i];

		if (is_listed(analysis, index) &&
		    (last == UINT32_MAX || comes_before(analysis, last, index)) &&
		    (next == UINT32_MAX || comes_before(analysis, index, next)))
			next = index;
	}
	return next;
}

static void put_who_rows(struct np_section *section, const struct cluster_report *report)
{
	const struct np_analysis *analysis = report->analysis;
	size_t most = many(report) ? MAX_WHO_OF_MANY : MAX_WHO;
	uint32_t last = UINT32_MAX;
	size_t passed = 0;
	size_t left = 0;

	for (size_t i = 0; i < analysis->order.count; i++)
		left += is_listed(analysis, analysis->order.ranks[i]);
	while (left > 0 && most > 0) {
		last = next_listed(analysis, last);
		/* Beside who is named those who only pass it on are worth little room. */
		if (analysis->verdict.kind == NP_VERDICT_REPAIR && saves_nothing(analysis, last) &&
		    ++passed > MAX_PASSED_ON)
			break;
		put_charged(section->grid, report, last);
		left--;
		most--;
	}
	if (left > 0)
		np_say(&section->text, "… and {1} more: -f json lists all\n", NP_SAID_INT(left));
}

/* Does a repair of who comes late save more than ranks wait on average, those that are late
 * included?
 */
static bool saves_more(const struct np_analysis *analysis)
{
	const struct np_verdict *verdict = &analysis->verdict;

	return verdict->kind == NP_VERDICT_REPAIR && verdict->recovered != NP_UNKNOWN &&
	       (verdict->fix.kind == NP_FIX_RANK || verdict->fix.kind == NP_FIX_HOST ||
		verdict->fix.kind == NP_FIX_STAGE) &&
	       analysis->breakdown.cells > 0 &&
	       verdict->recovered > analysis->breakdown.parts[NP_WHERE_WAIT].mean;
}

/* A large share of little is little, and waiting that computing hides costs nothing. */
static void put_total_wait(struct np_buf *text, const struct np_analysis *analysis)
{
	np_say(text,
	       saves_more(analysis)
		       ? "all waiting: {1} over ranks and steps; saves exceed the mean (w): who is"
			 " late does not wait\n"
		       : "all waiting: {1}, summed over ranks and steps, partly hidden by computing\n",
	       NP_SAID_TIME(analysis->charges.total));
}

/* Those that are late alike hide each other: alone neither gains what all do. */
static void put_hidden_gain(struct np_buf *text, const struct np_analysis *analysis)
{
	const struct np_verdict *verdict = &analysis->verdict;
	np_ns alone = 0;

	if (verdict->kind != NP_VERDICT_REPAIR || verdict->with_count == 0)
		return;
	for (size_t i = 0; i < analysis->order.count; i++) {
		uint32_t index = analysis->order.ranks[i];
		np_ns saved = np_whatif_saved(&analysis->whatif, analysis->run->ranks[index]->id);

		if (is_named(analysis, index) && saved != NP_UNKNOWN && saved > 0)
			alone += saved;
	}
	if (2 * alone < verdict->recovered)
		np_say(text,
		       "each of them alone saves little: all then wait for the next of them, which is as late\n");
}

/* Rows of ranks that pass on what others cause. */
static void put_nothing_saved(struct np_buf *text, const struct np_analysis *analysis)
{
	for (size_t i = 0; i < analysis->order.count; i++) {
		if (!is_listed(analysis, analysis->order.ranks[i]) ||
		    !saves_nothing(analysis, analysis->order.ranks[i]))
			continue;
		np_say(text,
		       "- saves nothing: who has it is late where others are as late, or by what they cause\n");
		return;
	}
}

/* What is repaired: as --fix has it, with the ranks it is about; in words if the kind names
 * nothing. */
static void put_named_fix(struct np_grid *grid, const struct np_analysis *analysis)
{
	const struct np_verdict *verdict = &analysis->verdict;
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	char fix[NP_FIX_TEXT + 16];

	np_fix_format(&verdict->fix, fix);
	if (verdict->with_count > 0) {
		np_grid_cell(grid, np_lang_text("all named, together"));
	} else if (np_fix_words(verdict->fix.kind)) {
		np_grid_cell(grid, np_lang_text(np_fix_words(verdict->fix.kind)));
	} else if (verdict->fix.kind == NP_FIX_HOST || verdict->fix.kind == NP_FIX_STAGE) {
		np_verdict_put_ranks(&ranks, analysis, &verdict->fix);
		np_grid_printf(grid, "%s (%s)", fix, ranks.text ? ranks.text : "?");
	} else {
		np_grid_cell(grid, fix);
	}
}

/* What the verdict names where that is no single rank: a host, a stage, a link, several. */
static void put_named(struct np_grid *grid, const struct np_analysis *analysis)
{
	const struct np_verdict *verdict = &analysis->verdict;
	const struct np_charge_sums *sums = &analysis->charge_sums;
	np_ns charge = NP_UNKNOWN;

	if (verdict->kind != NP_VERDICT_REPAIR ||
	    (verdict->fix.kind == NP_FIX_RANK && verdict->with_count == 0))
		return;
	for (size_t i = 0; i < sums->list.count; i++) {
		const struct np_charge_sum *sum = &sums->list.item[i];
		const char *name = np_run_text(analysis->run, sum->name);
		int64_t stage;

		if ((verdict->fix.kind == NP_FIX_HOST && sum->kind == NP_CHARGE_HOST && name &&
		     strcmp(name, verdict->fix.what) == 0) ||
		    (verdict->fix.kind == NP_FIX_STAGE && sum->kind == NP_CHARGE_STAGE &&
		     np_text_to_int(verdict->fix.what, strlen(verdict->fix.what), &stage) &&
		     stage == sum->stage))
			charge = sum->charge;
	}
	put_named_fix(grid, analysis);
	np_grid_cell(grid, "");
	put_gain(grid, analysis, verdict->recovered);
	if (charge == NP_UNKNOWN) {
		np_grid_cell(grid, "");
		np_grid_cell(grid, "");
	} else {
		np_grid_duration(grid, charge);
		put_share(grid, charge, analysis->charges.total);
	}
	np_grid_cell(grid, "");
	np_grid_cell(grid, "");
}

/* The last to come is often a victim itself: what counts is where the waiting was caused. */
static int put_who(struct np_section *section, const struct cluster_report *report,
		   struct np_err *err)
{
	const struct np_charges *charges = &report->analysis->charges;
	/* Those that were not profiled came, too, and nobody saw when. */
	const char *last = charges->unprofiled > 0 ? "last of those seen" : "came last";
	const struct np_grid_column columns[] = {
		{ "caused by", NP_LEFT, true },
		{ "why", NP_LEFT, true },
		{ "saves per step", NP_RIGHT, false },
		{ "others waited in all", NP_RIGHT, false },
		{ "share", NP_RIGHT, false },
		{ last, NP_RIGHT, false },
		{ "", NP_LEFT, false },
	};

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	put_named(section->grid, report->analysis);
	if (is_mostly_unprofiled(report->analysis))
		put_unprofiled(section->grid, report->analysis);
	put_who_rows(section, report);
	if (!is_mostly_unprofiled(report->analysis))
		put_unprofiled(section->grid, report->analysis);
	if (is_waiting(&report->analysis->breakdown))
		put_other(section->grid, "nobody", report->analysis->causes.unattributed,
			  charges->total);
	if (np_grid_rows(section->grid) > 0) {
		put_hidden_gain(&section->text, report->analysis);
		put_nothing_saved(&section->text, report->analysis);
	}
	report_put_path(&section->text, report->analysis);
	put_total_wait(&section->text, report->analysis);
	/* Without a row, a line is enough. */
	if (np_grid_rows(section->grid) == 0) {
		np_grid_free(section->grid);
		section->grid = NULL;
		np_say(&section->text,
		       "nobody is worth a row: waiting that shows is {1} of the step\n",
		       NP_SAID_SHARE(report->analysis->breakdown.parts[NP_WHERE_WAIT].share));
	}
	return NP_OK;
}

/* --- what is next ---------------------------------------------------------------------------- */

/* What was read, by another command or in another form, after what that is good for. */
void report_put_command(struct np_grid *grid, const struct cluster_report *report, const char *why,
			const char *command, const char *options)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	np_buf_printf(&line, "npuprof %s%s", command,
		      report->from_summaries ? " --from-summaries" : "");
	for (size_t i = 0; i < report->dir_count; i++) {
		np_buf_add(&line, " -d ");
		np_text_quoted(&line, report->dirs[i]);
	}
	if (report->phase) {
		np_buf_add(&line, " --phase ");
		np_text_quoted(&line, report->phase);
	}
	np_buf_add(&line, options);
	np_grid_cell(grid, np_lang_text(why));
	np_grid_cell(grid, line.text);
}

struct np_grid *report_next_grid(void)
{
	static const struct np_grid_column columns[] = { { "", NP_LEFT, false },
							 { "", NP_LEFT, false } };

	return np_grid_new(columns, NP_COUNT(columns));
}

/* As an argument: what a shell would expand is quoted. */
void report_put_fix(struct np_buf *buf, const struct np_fix *fix)
{
	const char *quote = strpbrk(fix->what, "*?[ ") ? "'" : "";
	char text[NP_FIX_TEXT + 16];

	np_fix_format(fix, text);
	np_buf_printf(buf, " --fix %s", quote);
	np_text_safe(buf, text, strlen(text));
	np_buf_add(buf, quote);
}

/* The repairs that the verdict names, as arguments. */
static void put_repairs(struct np_buf *buf, const struct np_verdict *verdict)
{
	report_put_fix(buf, &verdict->fix);
	for (size_t i = 0; i < verdict->with_count; i++)
		report_put_fix(buf, &verdict->with[i]);
}

/* How to profile the ranks that are missing. */
static void put_collect(struct np_grid *grid, const struct np_analysis *analysis)
{
	int32_t world = np_cluster_world(analysis->cluster);

	np_grid_cell(grid, np_lang_text("profile all ranks:"));
	if (world > 0)
		np_grid_printf(grid,
			       "mpirun -n %" PRId32 " npuprof-collect --ranks all -- APPLICATION",
			       world);
	else
		np_grid_cell(grid, "mpirun -n N npuprof-collect --ranks all -- APPLICATION");
}

/* Lines to paste; what to change is the advisor's to say. */
static int put_next(struct np_section *section, const struct cluster_report *report,
		    struct np_err *err)
{
	const struct np_analysis *analysis = report->analysis;
	NP_CLEANUP(np_buf_release) struct np_buf repairs = NP_BUF_INIT;

	section->grid = report_next_grid();
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	switch (analysis->verdict.kind) {
	case NP_VERDICT_REPAIR:
		put_repairs(&repairs, &analysis->verdict);
		report_put_command(section->grid, report, "what to change:", "advisor", "");
		report_put_command(section->grid, report, "what that gains:", "whatif",
				   repairs.text);
		if (np_verdict_has_larger(analysis))
			report_put_command(section->grid, report, "the larger transfer:", "whatif",
					   " --fix hide-comm");
		break;
	case NP_VERDICT_NOT_PROFILED:
		put_collect(section->grid, analysis);
		report_put_command(section->grid, report, "what is known:", "advisor", "");
		break;
	case NP_VERDICT_WITHHELD:
		report_put_command(section->grid, report, "what is missing:", "info", "");
		report_put_command(section->grid, report, "what is known:", "advisor", "");
		break;
	case NP_VERDICT_NONE:
		report_put_command(section->grid, report, "what to change:", "advisor", "");
		if (np_run_used(analysis->run) > 1 && analysis->breakdown.cells > 0 &&
		    analysis->breakdown.parts[NP_WHERE_COMPUTING].share > 0.5)
			report_put_command(section->grid, report, "the longest kernels:", "cluster",
					   " -m compute_op_sum");
		break;
	}
	if (analysis->verdict.kind != NP_VERDICT_WITHHELD &&
	    np_notes_count(&analysis->run->notes, NP_NOTE_SKIPPED) > 0)
		report_put_command(section->grid, report, "what was not read:", "info", "");
	if (report->database) {
		np_grid_cell(section->grid, "MindStudio Insight:");
		np_grid_cell(section->grid, report->database);
	}
	return np_buf_check(&repairs, err);
}

/* --- rendering ------------------------------------------------------------------------------- */

/* "rank 2 is device 2 of node-7": where to go with what is named. */
static void put_machine(struct np_buf *text, const struct np_analysis *analysis, int64_t id,
			size_t *said)
{
	for (size_t i = 0; i < analysis->run->sources.count; i++) {
		const struct np_rank *rank = analysis->run->ranks[i];
		const char *host = rank ? np_run_text(analysis->run, rank->host_name) : NULL;

		if (!rank || rank->id != id || !host || rank->device < 0)
			continue;
		np_say(text,
		       (*said)++ > 0 ? "; rank {1} is device {2} of {3}"
				     : "rank {1} is device {2} of {3}",
		       NP_SAID_INT(id), NP_SAID_INT(rank->device), NP_SAID_TEXT(host));
	}
}

static void put_machines(struct np_buf *text, const struct np_analysis *analysis)
{
	const struct np_verdict *verdict = &analysis->verdict;
	size_t said = 0;

	for (size_t i = 0; verdict->kind == NP_VERDICT_REPAIR && i <= verdict->with_count; i++) {
		const struct np_fix *fix = i == 0 ? &verdict->fix : &verdict->with[i - 1];
		const char *dash = fix->kind == NP_FIX_LINK ? strchr(fix->what, '-') : NULL;
		size_t first = dash ? (size_t)(dash - fix->what) : strlen(fix->what);
		int64_t id;

		if ((fix->kind == NP_FIX_RANK || dash) && np_text_to_int(fix->what, first, &id))
			put_machine(text, analysis, id, &said);
		if (dash && np_text_to_int(dash + 1, strlen(dash + 1), &id))
			put_machine(text, analysis, id, &said);
	}
	if (said > 0)
		np_buf_add_char(text, '\n');
}

static void put_verdict(struct np_section *section, const struct np_analysis *analysis)
{
	np_verdict_say(&section->text, analysis);
	np_buf_add_char(&section->text, '\n');
	put_machines(&section->text, analysis);
	for (size_t i = 0; i < analysis->findings.list.count; i++) {
		np_lang_put(&section->text, analysis->findings.list.item[i].detail);
		np_buf_add_char(&section->text, '\n');
	}
	report_put_memory(&section->text, analysis);
}

/* The answer first, what to do about it, what it rests on, and how far that can be trusted. */
static int build(struct np_page *page, const struct cluster_report *report, bool steps,
		 struct np_err *err)
{
	const struct np_analysis *analysis = report->analysis;
	int rc;

	put_verdict(np_page_add(page, "Verdict"), analysis);
	rc = put_next(np_page_add(page, "Do next"), report, err);
	report_put_where(page, report);
	if (rc == NP_OK)
		rc = report_put_device(page, report, err);
	if (rc == NP_OK && steps)
		rc = report_put_steps(page, report, err);
	if (rc == NP_OK && analysis->charges.total > 0)
		rc = put_who(np_page_add(page, "Who made others wait"), report, err);
	if (rc == NP_OK && analysis->cluster->communicators.count > 0)
		rc = put_communicators(np_page_add(page, "Communicators and links: sums over"
							 " profiled ranks and steps"),
				       report, err);
	if (rc == NP_OK)
		rc = report_put_trust_section(page, report, err);
	if (report->verbose)
		report_put_sources(page, analysis->run);
	return rc;
}

int report_screen(const struct cluster_report *report, struct np_buf *buf, struct np_err *err)
{
	struct np_page page = { 0 };
	int rc = build(&page, report, report->verbose, err);

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
	int rc = build(&page, report, true, err);

	report_put_markdown_head(buf, report);
	if (rc == NP_OK)
		rc = np_page_write_markdown(&page, buf, err);
	np_page_release(&page);
	return rc < 0 ? rc : np_buf_check(buf, err);
}
