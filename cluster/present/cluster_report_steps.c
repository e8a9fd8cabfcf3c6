/* SPDX-License-Identifier: Apache-2.0 */
/* Shows step by step how far the ranks are apart. */
#include "cluster_report.h"

#include "npuprof/lang.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* Longer lists end with how many more there are and where to see them. */
#define MAX_STEPS 6

/* A screen narrower than this names the rank of the most only. */
#define WIDE 100

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
	/* The unit is said once where both have the same; a precision below 0 is none. */
	units[0] = strchrnul(least.text, ' ');
	units[1] = strchrnul(most.text, ' ');
	digits = strcmp(units[0], units[1]) == 0 ? (int)(units[0] - least.text) : -1;
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

	np_grid_cell(grid, id ? id : np_lang_text("all"));
	for (size_t i = 0; i < shown->count; i++) {
		/* A step that is known and has no iteration is the last. */
		if (shown->list[i] == NP_Q_STEP && spreads[NP_Q_STEP].ranks == 0 &&
		    spreads[NP_Q_SPAN].ranks > 0)
			np_grid_cell(grid, "-");
		else
			put_spread(grid, &spreads[shown->list[i]], shown->wide);
	}
}

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
	if (count > 1) {
		np_say(text,
		       "an iteration lasts until the next step begins: {1} steps have none, for none"
		       " follows them\n",
		       NP_SAID_INT(count));
		return;
	}
	np_say(text,
	       "an iteration lasts until the next step begins: step {1} has none; its span is {2}"
	       " at most\n",
	       NP_SAID_TEXT(np_run_text(analysis->run, cluster->steps.item[last])),
	       NP_SAID_TIME(analysis->spreads.steps[last][NP_Q_SPAN].most));
}

int report_put_steps(struct np_page *page, const struct cluster_report *report, struct np_err *err)
{
	const struct np_spreads *spreads = &report->analysis->spreads;
	const struct np_cluster *cluster = report->analysis->cluster;
	const struct step_shown shown = choose_columns(report);
	struct np_grid_column columns[NP_Q_COUNT + 1] = { { "step", NP_RIGHT, false } };
	struct np_section *section = np_page_add(page, "Steps: least … most over the ranks");

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
		np_say(&section->text, "… and {1} more steps: --steps N, or -f csv\n",
		       NP_SAID_INT(cluster->steps.count - MAX_STEPS));
	put_last_steps(&section->text, report->analysis);
	return NP_OK;
}
