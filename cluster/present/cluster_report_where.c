/* SPDX-License-Identifier: Apache-2.0 */
/* Shows where the step goes: a bar, its parts, why devices are idle, and what the model did. */
#include "cluster_report.h"

#include "npuprof/device_time.h"
#include "npuprof/lang.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* The bar is no longer than this, however wide the screen is. */
#define MAX_BAR 76

/* Below this share of the step it says nothing. */
#define WORTH_A_LINE 0.01

/* Less than this share of the steps' time is no news. */
#define WORTH_SAYING 0.02

/* A part of the step: its letter in the bar and its words. */
static const struct {
	char letter;
	const char *words; /* time, share */
} parts[NP_WHERE_KINDS] = {
	[NP_WHERE_COMPUTING] = { '#', "computing (#) {1} ({2})" },
	[NP_WHERE_WAIT] = { 'w', "waiting for other ranks (w) {1} ({2})" },
	[NP_WHERE_TRANSFER] = { '=', "transfer (=) {1} ({2})" },
	[NP_WHERE_COMMUNICATION] = { 'c', "exposed communication (c) {1} ({2})" },
	[NP_WHERE_COPY] = { 'm', "copies (m) {1} ({2})" },
	[NP_WHERE_IDLE] = { '.', "idle (.) {1} ({2})" },
};

static const char *const idle_words[NP_BETWEEN_KINDS] = {
	[NP_BETWEEN_DATALOADER] = "the data loader {1} ({2})",
	[NP_BETWEEN_HOST] = "the host had not launched {1} ({2})",
	[NP_BETWEEN_OTHER] = "launched, not started {1} ({2})",
	[NP_BETWEEN_UNKNOWN] = "unknown {1} ({2})",
};

/* So many letters for each part as is its share, all together as wide as the bar. */
static void put_bar(struct np_buf *text, const struct np_breakdown *where, size_t width)
{
	size_t length = width < MAX_BAR + 4 ? (width > 14 ? width - 4 : 10) : MAX_BAR;
	double share = 0;
	size_t put = 0;

	np_buf_add_char(text, '[');
	for (int i = 0; i < NP_WHERE_KINDS; i++) {
		size_t to;

		share += where->parts[i].share;
		to = (size_t)(share * (double)length + 0.5);
		to = to > length ? length : to;
		np_buf_add_repeated(text, parts[i].letter, to > put ? to - put : 0);
		put = to > put ? to : put;
	}
	np_buf_add_repeated(text, ' ', length - put);
	np_buf_add(text, "]\n");
}

/* A part that rounds to nothing has no words. */
static void put_parts_line(struct np_buf *text, const struct np_breakdown *where)
{
	const char *between = "";

	for (int i = 0; i < NP_WHERE_KINDS; i++) {
		const struct np_where_part *part = &where->parts[i];

		if (part->share < WORTH_A_LINE / 2 && i != NP_WHERE_COMPUTING)
			continue;
		np_buf_add(text, between);
		np_say(text, parts[i].words, NP_SAID_TIME(part->mean), NP_SAID_SHARE(part->share));
		between = np_lang_text(", ");
	}
	np_buf_add_char(text, '\n');
}

/* Waiting that computing hides is in no part, and yet it is where somebody is late. */
static void put_hidden_wait(struct np_buf *text, const struct np_analysis *analysis)
{
	const struct np_breakdown *where = &analysis->breakdown;
	size_t cells = np_run_used(analysis->run) * analysis->cluster->steps.count;
	np_ns wait = cells > 0 ? analysis->charges.total / (np_ns)cells : 0;

	if (where->parts[NP_WHERE_WAIT].share < WORTH_A_LINE / 2 &&
	    (double)wait >= WORTH_A_LINE * (double)where->mean)
		np_say(text,
		       "ranks wait for others for {1} of a step ({2}), nearly all of it hidden by"
		       " computing\n",
		       NP_SAID_TIME(wait), NP_SAID_SHARE((double)wait / (double)where->mean));
}

/* Why devices are idle, and how much of that is between steps, where no span has it. */
static void put_idle(struct np_buf *text, const struct np_breakdown *where)
{
	const char *between = "";

	if (where->parts[NP_WHERE_IDLE].share < WORTH_A_LINE)
		return;
	np_say(text, "idle because: ");
	for (int i = 0; i < NP_BETWEEN_KINDS; i++) {
		const struct np_where_part *part = &where->idle[i];

		if (part->share < WORTH_A_LINE / 2)
			continue;
		np_buf_add(text, between);
		np_say(text, idle_words[i], NP_SAID_TIME(part->mean), NP_SAID_SHARE(part->share));
		between = np_lang_text(", ");
	}
	if (where->between.share >= WORTH_A_LINE / 2)
		np_say(text, "; between steps: {1} ({2})", NP_SAID_TIME(where->between.mean),
		       NP_SAID_SHARE(where->between.share));
	np_buf_add_char(text, '\n');
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
	if (most->most_rank < 0)
		np_say(text,
		       "preparing, from the host's begin of a step to the device's: {1} at most\n",
		       NP_SAID_TIME(most->most));
	else
		np_say(text,
		       "preparing, from the host's begin of a step to the device's: {1} at most, on"
		       " rank {2}\n",
		       NP_SAID_TIME(most->most), NP_SAID_INT(most->most_rank));
}

static void put_pipeline(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_pipeline *pipeline = &analysis->pipeline;
	struct np_pipeline_time sum = { 0 };
	bool marked = false;
	double span;

	for (size_t i = 0; i < pipeline->list.count; i++) {
		const struct np_pipeline_time *time = &pipeline->list.item[i];

		sum.span += time->span;
		sum.ideal += time->ideal;
		sum.excess += time->excess;
		sum.imbalance += time->imbalance;
		sum.transfer += time->transfer;
		sum.host += time->host;
		/* Of several steps in one, each has a warm-up that looks like waiting in between.
		 */
		marked = marked || time->step != NP_STR_NONE;
	}
	span = (double)sum.span;
	if (sum.span == 0 || (double)sum.excess < WORTH_SAYING * (double)sum.span)
		return;
	np_say(buf,
	       marked ? "pipeline of {1} stages: they do not compute for {2} of the step, {3} if even; in the steady phase waiting"
			" {4}, transfer {5}, host {6}\n"
		      : "pipeline of {1} stages: they do not compute for {2} of the step, {3} if even; in the steady phase waiting"
			" {4}, transfer {5}, host {6}, if all of it is one step: none is marked\n",
	       NP_SAID_INT(pipeline->stages),
	       NP_SAID_SHARE((double)(sum.ideal + sum.excess) / span),
	       NP_SAID_SHARE((double)sum.ideal / span), NP_SAID_SHARE((double)sum.imbalance / span),
	       NP_SAID_SHARE((double)sum.transfer / span), NP_SAID_SHARE((double)sum.host / span));
}

static void put_experts(struct np_buf *buf, const struct np_analysis *analysis)
{
	np_ns span = analysis->spreads.total[NP_Q_STEP];
	const struct np_expert_total *total = &analysis->experts.total;

	if (total->ranks == 0 || total->lost == NP_UNKNOWN || span == NP_UNKNOWN ||
	    (double)total->lost < WORTH_SAYING * (double)span)
		return;
	np_say(buf,
	       "uneven experts cost {1} of a rank's step ({2}); rank {3} got {4} more tokens than the"
	       " mean\n",
	       NP_SAID_TIME(total->lost / (np_ns)(total->ranks * total->steps)),
	       NP_SAID_SHARE((double)total->lost / (double)span),
	       NP_SAID_INT(analysis->run->ranks[total->busiest]->id), NP_SAID_SHARE(total->over));
}

/*
 * Below a percent of the step, or now and then, somebody is always longest. Stages of a pipeline
 * do other work and are not compared.
 */
static void put_longest(struct np_buf *text, const struct np_analysis *analysis)
{
	const struct np_longest *longest = &analysis->spreads.longest;
	const struct np_breakdown *where = &analysis->breakdown;
	double computing = where->cells > 0 ? where->parts[NP_WHERE_COMPUTING].share : 1;

	if (np_run_used(analysis->run) > 1 && longest->steps > 0 &&
	    longest->steps * 2 >= analysis->cluster->steps.count &&
	    longest->over * computing >= WORTH_A_LINE && analysis->pipeline.stages < 2)
		np_say(text,
		       "rank {1} computed longest in {2} of {3} steps, on average {4} over the median"
		       " rank\n",
		       NP_SAID_INT(longest->rank), NP_SAID_INT(longest->steps),
		       NP_SAID_INT(analysis->cluster->steps.count), NP_SAID_SHARE(longest->over));
}

/* Whose mean it is. */
static void put_mean(struct np_buf *text, const struct np_analysis *analysis)
{
	const struct np_breakdown *where = &analysis->breakdown;
	size_t used = np_run_used(analysis->run);
	bool marked = analysis->cluster->steps.count > 1 ||
		      (analysis->cluster->steps.count == 1 &&
		       np_run_text(analysis->run, analysis->cluster->steps.item[0]));
	const char *sentence = "{1}, the mean of {2} devices and {3} steps: ";

	if (!marked)
		sentence =
			where->devices == 1
				? "{1} from the first task to the last, no step is marked: "
				: "{1} from the first task to the last, the mean of {2} devices, no"
				  " step is marked: ";
	else if (where->devices == 1)
		sentence = where->steps == 1 ? "{1} in one step: " : "{1}, the mean of {3} steps: ";
	else if (where->devices == used)
		sentence = where->steps == 1 ? "{1}, the mean of {2} ranks in one step: "
					     : "{1}, the mean of {2} ranks and {3} steps: ";
	/* An iteration ends where the next begins. */
	if (marked && where->basis == NP_BASIS_ITERATION && where->devices == used &&
	    where->devices > 1 && where->steps > 1 &&
	    where->steps + 1 == analysis->cluster->steps.count)
		sentence =
			"{1}, the mean of {2} ranks and {3} of {4} steps (the last has no end): ";
	np_say(text, sentence, NP_SAID_TIME(where->mean), NP_SAID_INT(where->devices),
	       NP_SAID_INT(where->steps), NP_SAID_INT(analysis->cluster->steps.count));
}

void report_put_where(struct np_page *page, const struct cluster_report *report)
{
	const struct np_analysis *analysis = report->analysis;
	const struct np_breakdown *where = &analysis->breakdown;
	struct np_section *section;

	section = np_page_add(page, where->basis == NP_BASIS_ITERATION ? "Where the iteration goes"
								       : "Where the step goes");
	if (where->cells > 0) {
		put_bar(&section->text, where, report->width);
		put_mean(&section->text, analysis);
		put_parts_line(&section->text, where);
		put_hidden_wait(&section->text, analysis);
		put_idle(&section->text, where);
	}
	put_preparing(&section->text, &analysis->spreads, analysis->cluster->steps.count);
	put_longest(&section->text, analysis);
	put_pipeline(&section->text, analysis);
	put_experts(&section->text, analysis);
	np_page_drop_empty(page);
}

/* --- kernels of a single card ----------------------------------------------------------------- */

/* Longer lists end with how many more there are. */
#define MAX_KERNELS 10

/* A row is worth this share of the time of all kernels. */
#define WORTH_A_ROW 0.005

/* What a unit does, for those who do not know the names of units. */
static const char *const unit_words[NP_UNITS] = {
	[NP_UNIT_CUBE] = "cube {1}",
	[NP_UNIT_VECTOR] = "vector {1}",
	[NP_UNIT_SCALAR] = "scalar {1}",
	[NP_UNIT_MTE1] = "mte1 {1}: L1 to L0",
	[NP_UNIT_MTE2] = "mte2 {1}: reads memory",
	[NP_UNIT_MTE3] = "mte3 {1}: writes memory",
	[NP_UNIT_FIXPIPE] = "fixpipe {1}: results",
};

/* The unit that is busy longest; of kernels that run elsewhere, where. */
static void put_bound(struct np_grid *grid, const struct np_device_time *time,
		      const struct np_device_sort *sort)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	enum np_unit unit = np_device_sort_bound(sort);
	const char *core = np_strtab_text(time->strings, sort->core);

	if (unit == NP_UNITS) {
		np_grid_cell(grid, np_core_is_counted(core) ? "?" : core);
		return;
	}
	if (sort->busy[unit] >= NP_UNIT_BUSY)
		np_say(&text, unit_words[unit], NP_SAID_SHARE(sort->busy[unit]));
	else
		np_say(&text, "none ({1} {2})", NP_SAID_TEXT(np_unit_name(unit)),
		       NP_SAID_SHARE(sort->busy[unit]));
	np_grid_cell(grid, text.text);
}

static void put_kernel_sort(struct np_grid *grid, const struct np_device_time *time,
			    const struct np_device_sort *sort)
{
	NP_CLEANUP(np_buf_release) struct np_buf share = NP_BUF_INIT;
	const char *type = np_strtab_text(time->strings, sort->type);
	const char *shapes = np_strtab_text(time->strings, sort->shapes);

	np_say_share(&share, sort->share);
	np_grid_cell(grid, *type ? type : "?");
	np_grid_cell(grid, *shapes ? shapes : "?");
	np_grid_printf(grid, "%" PRId64, sort->count);
	np_grid_duration(grid, sort->total / sort->count);
	np_grid_duration(grid, sort->per_step);
	np_grid_cell(grid, share.text);
	put_bound(grid, time, sort);
}

int report_put_device(struct np_page *page, const struct cluster_report *report, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "operator type", NP_LEFT, NP_CUT_MIDDLE },
		{ "input shapes", NP_LEFT, NP_CUT_MIDDLE },
		{ "calls", NP_RIGHT, false },
		{ "mean", NP_RIGHT, false },
		{ "per step", NP_RIGHT, false },
		{ "share", NP_RIGHT, false },
		{ "bound by", NP_LEFT, false },
	};
	const struct np_device_time *time = report->analysis->device_time;
	struct np_section *section;
	size_t shown = 0;

	if (!time)
		return NP_OK;
	section = np_page_add(page, "Where the device time goes: kernels by type and shape");
	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	/* The longest come first. */
	while (shown < time->list.count && shown < MAX_KERNELS &&
	       (shown == 0 || time->list.item[shown].share >= WORTH_A_ROW))
		put_kernel_sort(section->grid, time, &time->list.item[shown++]);
	if (shown < time->list.count)
		np_say(&section->text, "… and {1} more: -f json lists all\n",
		       NP_SAID_INT(time->list.count - shown));
	np_say(&section->text,
	       "all kernels: {1} calls; per device and step {2}, their sum is {3}\n",
	       NP_SAID_INT(time->count), NP_SAID_TIME(time->per_step), NP_SAID_TIME(time->total));
	if (time->counted == 0)
		np_say(&section->text, "which unit bounds them is not known: collect with"
				       " aic_metrics=PipeUtilization, at Level1 or higher\n");
	return NP_OK;
}
