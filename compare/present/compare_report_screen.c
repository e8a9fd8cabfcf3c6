/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the screen of a comparison and the same as Markdown. */
#include "compare_report.h"

#include "cli/prepare/notes_screen.h"

#include "npuprof/lang.h"
#include "npuprof/page.h"
#include "npuprof/rank.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

#define BAR_WIDTH    16
#define BARS_FROM    100
#define MOST_CAUSES  5
#define MOST_CHANGES 5

static void put_signed(struct np_buf *buf, np_ns ns)
{
	np_buf_add(buf, ns < 0 ? "-" : ns > 0 ? "+" : "");
	np_text_duration(buf, ns < 0 ? -ns : ns);
}

static void put_share(struct np_buf *buf, np_ns base, np_ns delta)
{
	if (base > 0)
		np_buf_printf(buf, "%+.1f %%", 100 * (double)delta / (double)base);
	else
		np_buf_add(buf, delta ? np_lang_text("new") : "");
}

/* A change below this share of the step is none. */
#define WORTH_SAYING 0.0005

static bool is_nothing(const struct comparison *comparison, np_ns delta)
{
	np_ns step = comparison->step.ns[CMP_BASE];

	return delta != NP_UNKNOWN && step > 0 && fabs((double)delta) < WORTH_SAYING * (double)step;
}

/* --- verdict --------------------------------------------------------------------------------- */

static void put_certainty(struct np_buf *buf, const struct comparison *comparison)
{
	const struct cmp_change *step = &comparison->step;
	NP_CLEANUP(np_buf_release) struct np_buf p = NP_BUF_INIT;

	if (comparison->options.no_stats)
		return;
	if (isnan(step->test.p)) {
		np_say(buf, ", with too few steps to tell it from noise");
		return;
	}
	np_buf_printf(&p, "%.2g", step->test.p);
	np_say(buf, " (p = {1}", NP_SAID_TEXT(p.text));
	buf->failed |= p.failed;
	if (isfinite(step->test.detectable) && step->verdict == CMP_NOISE)
		np_say(buf, "; less than {1} would not show",
		       NP_SAID_TIME(llround(step->test.detectable)));
	if (comparison->by_parts != 0) {
		np_say(buf, "; for certain by its parts: ");
		put_signed(buf, comparison->by_parts);
	}
	np_buf_add(buf, np_lang_text(")"));
}

static const char *headline(const struct comparison *comparison)
{
	switch (comparison->step.verdict) {
	case CMP_REGRESSION:
		return NP_MSG("regression");
	case CMP_IMPROVEMENT:
		return NP_MSG("improvement");
	case CMP_NOISE:
		return comparison->step.delta == 0 ? NP_MSG("no difference")
						   : NP_MSG("no significant difference");
	case CMP_UNTESTED:
	default:
		return comparison->step.delta > 0 ? NP_MSG("slower") : NP_MSG("faster");
	}
}

void compare_put_verdict(struct np_buf *buf, const struct compare_report *report)
{
	const struct comparison *comparison = report->comparison;
	const struct cmp_change *step = &comparison->step;
	NP_CLEANUP(np_buf_release) struct np_buf delta = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf share = NP_BUF_INIT;

	put_signed(&delta, step->delta);
	put_share(&share, step->ns[CMP_BASE], step->delta);
	if (is_nothing(comparison, step->delta))
		np_say(buf, "no difference: the step takes {1} in both runs",
		       NP_SAID_TIME(step->ns[CMP_NEW]));
	else
		np_say(buf, "{1}: the step takes {2} instead of {3}, {4} or {5}",
		       NP_SAID_MSG(headline(comparison)), NP_SAID_TIME(step->ns[CMP_NEW]),
		       NP_SAID_TIME(step->ns[CMP_BASE]), NP_SAID_TEXT(delta.text),
		       NP_SAID_TEXT(share.text));
	buf->failed |= delta.failed || share.failed;
	put_certainty(buf, comparison);
	if (cmp_unmarked(comparison))
		np_say(buf,
		       cmp_unmarked(comparison) == &comparison->sides[CMP_BASE]
			       ? "; this says little: no step is marked in the base, and all of it"
				 " is compared with a step"
			       : "; this says little: no step is marked in the new run, and all of"
				 " it is compared with a step");
	/* Nothing explains a difference that there is not. */
	if (step->verdict != CMP_NOISE && comparison->causes.count > 0 &&
	    !comparison->causes.item[0].against)
		np_say(buf, ". First: {1}", NP_SAID_MSG(comparison->causes.item[0].text));
}

/* --- sections -------------------------------------------------------------------------------- */

/* As wide as the other, so that what follows is below each other. */
static const char *side_name(enum cmp_which which)
{
	return which == CMP_BASE ? NP_MSG("base") : NP_MSG("new ");
}

static void put_side(struct np_buf *buf, const struct compare_report *report, enum cmp_which which)
{
	const struct comparison *comparison = report->comparison;
	const struct cmp_side *side = &comparison->sides[which];

	np_say(buf,
	       comparison->pairs.count == 1 ? "{1}: {2}, {3} rank, {4} {5}\n"
					    : "{1}: {2}, {3} ranks, {4} {5}\n",
	       NP_SAID_MSG(side_name(which)), NP_SAID_TEXT(report->input[which]),
	       NP_SAID_INT(comparison->pairs.count), NP_SAID_INT(side->steps.count),
	       NP_SAID_MSG(
		       np_steps_noun(np_run_steps_from(side->analysis->run), side->steps.count)));
}

/* What a step is measured by. */
static void put_basis(struct np_buf *buf, const struct comparison *comparison)
{
	np_say(buf, comparison->basis == NP_BASIS_ITERATION
			    ? "step: the iteration, from a first start to that of the next step\n"
			    : "step: its span; iterations are not known on both sides\n");
}

/* A bar to the right for what got slower, to the left for what got faster. */
static void put_bar(struct np_grid *grid, np_ns delta, np_ns most)
{
	NP_CLEANUP(np_buf_release) struct np_buf bar = NP_BUF_INIT;
	double size = most ? fabs((double)delta) / (double)most * BAR_WIDTH / 2 : 0;
	int length = (int)lround(size);

	if (length == 0 && delta != 0)
		length = 1;
	for (int i = 0; i < BAR_WIDTH / 2 - (delta < 0 ? length : 0); i++)
		np_buf_add_char(&bar, ' ');
	for (int i = 0; i < length && delta < 0; i++)
		np_buf_add(&bar, "◄");
	np_buf_add(&bar, "│");
	for (int i = 0; i < length && delta > 0; i++)
		np_buf_add(&bar, "█");
	np_grid_cell(grid, bar.text);
}

/* The rows of the waterfall. */
struct waterfall {
	struct np_grid *grid;
	np_ns most; /* the longest bar */
	bool bars;
};

static void put_change(const struct waterfall *fall, const char *name, const np_ns ns[CMP_SIDES],
		       const char *verdict)
{
	struct np_grid *grid = fall->grid;
	np_ns base = ns[CMP_BASE];
	np_ns new_ = ns[CMP_NEW];

	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	np_grid_cell(grid, name);
	np_grid_duration(grid, base);
	np_grid_duration(grid, new_);
	put_signed(&text, new_ - base);
	np_grid_cell(grid, text.text);
	np_buf_clear(&text);
	put_share(&text, base, new_ - base);
	np_grid_cell(grid, text.text);
	if (fall->bars)
		put_bar(grid, new_ - base, fall->most);
	np_grid_cell(grid, np_lang_text(verdict));
}

/* Names of leaves tell more than bars: a narrow screen goes without. */
static struct np_grid *new_waterfall(bool bars)
{
	static const struct np_grid_column with[] = {
		{ "leaf", NP_LEFT, NP_CUT_MIDDLE },
		{ "base", NP_RIGHT, false },
		{ "new", NP_RIGHT, false },
		{ "change", NP_RIGHT, false },
		{ "", NP_RIGHT, false },
		{ "", NP_LEFT, false },
		{ "verdict", NP_LEFT, false },
	};
	static const struct np_grid_column without[] = {
		{ "leaf", NP_LEFT, NP_CUT_MIDDLE },
		{ "base", NP_RIGHT, false },
		{ "new", NP_RIGHT, false },
		{ "change", NP_RIGHT, false },
		{ "", NP_RIGHT, false },
		{ "verdict", NP_LEFT, false },
	};

	return bars ? np_grid_new(with, NP_COUNT(with)) : np_grid_new(without, NP_COUNT(without));
}

static np_ns largest_change(const struct comparison *comparison)
{
	np_ns most = llabs(comparison->step.delta);

	for (size_t i = 0; i < comparison->leaves.count; i++) {
		np_ns size = llabs(comparison->leaves.item[i].change.delta);

		most = size > most ? size : most;
	}
	return most;
}

/* Those that changed, by more than nobody would notice; the largest come first. */
static size_t count_changed(const struct comparison *comparison, size_t most)
{
	size_t count = 0;

	while (count < comparison->leaves.count && count < most &&
	       !is_nothing(comparison, comparison->leaves.item[count].change.delta))
		count++;
	return count;
}

static int put_waterfall(struct np_section *section, const struct compare_report *report,
			 struct np_err *err)
{
	const struct comparison *comparison = report->comparison;
	struct waterfall fall = { .most = largest_change(comparison),
				  .bars = report->width >= BARS_FROM };
	np_ns rest[CMP_SIDES] = { 0, 0 };
	size_t shown = count_changed(comparison, report->top);

	fall.grid = section->grid = new_waterfall(fall.bars);
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	for (size_t i = 0; i < comparison->leaves.count; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];

		if (i < shown) {
			put_change(&fall, leaf->path, leaf->change.ns,
				   cmp_verdict_name(leaf->change.verdict));
			continue;
		}
		rest[0] += leaf->change.ns[0];
		rest[1] += leaf->change.ns[1];
	}
	if (shown < comparison->leaves.count)
		put_change(&fall, np_lang_text("rest"), rest, "");
	put_change(&fall, np_lang_text("step"), comparison->step.ns,
		   cmp_verdict_name(comparison->step.verdict));
	if (comparison->overlapped.delta != NP_UNKNOWN) {
		np_say(&section->text,
		       "beside it, communication hidden under computing: {1} instead of {2}\n",
		       NP_SAID_TIME(comparison->overlapped.ns[1]),
		       NP_SAID_TIME(comparison->overlapped.ns[0]));
	}
	return NP_OK;
}

static void put_causes(struct np_section *section, const struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->causes.count && i < MOST_CAUSES; i++) {
		const struct cmp_cause *cause = &comparison->causes.item[i];

		np_say(&section->text, cause->against ? "{1}. against it: {2}\n" : "{1}. {2}\n",
		       NP_SAID_INT(i + 1), NP_SAID_MSG(cause->text));
	}
}

static void put_structure(struct np_section *section, const struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->structure.count && i < MOST_CHANGES; i++) {
		const struct cmp_structure *each = &comparison->structure.item[i];

		np_say(&section->text, "{1} × {2}: {3}", NP_SAID_INT(each->count),
		       NP_SAID_MSG(each->kind), NP_SAID_TEXT(each->what));
		if (each->from && each->to)
			np_say(&section->text, ", {1} → {2}", NP_SAID_TEXT(each->from),
			       NP_SAID_TEXT(each->to));
		np_buf_add(&section->text, "\n");
	}
	if (comparison->structure.count > MOST_CHANGES)
		np_say(&section->text, "… and {1} more: -f csv --table structure\n",
		       NP_SAID_INT(comparison->structure.count - MOST_CHANGES));
}

static void put_part(struct np_buf *buf, const char *what, np_ns sum, size_t cells)
{
	np_say(buf, ", {1} ", NP_SAID_MSG(what));
	if (sum == NP_UNKNOWN)
		np_say(buf, "unknown");
	else
		np_text_duration(buf, llround((double)sum / (double)cells));
}

/* Kernels that communicate too: what of their time is what, on both sides. */
static void put_mc2(struct np_section *section, const struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->mc2.count; i++) {
		const struct cmp_mc2 *mc2 = &comparison->mc2.item[i];
		const char *type = cmp_text(comparison, mc2->type);

		np_buf_add(&section->text, type ? type : np_lang_text("unknown"));
		for (int j = 0; j < CMP_SIDES; j++) {
			size_t cells = comparison->sides[j].cells;

			np_say(&section->text, j ? "; new " : ": base ");
			np_text_duration(&section->text,
					 llround((double)mc2->total[j] / (double)cells));
			put_part(&section->text, "computing", mc2->computing[j], cells);
			put_part(&section->text, "communication", mc2->communication[j], cells);
		}
		np_buf_add(&section->text, "\n");
	}
}

/* What every other command says of each run as well. */
static void put_verdicts(struct np_section *section, const struct comparison *comparison)
{
	for (int i = 0; i < CMP_SIDES; i++) {
		np_say(&section->text, "{1}: ", NP_SAID_MSG(side_name((enum cmp_which)i)));
		np_verdict_say(&section->text, comparison->sides[i].analysis);
		np_buf_add_char(&section->text, '\n');
	}
}

static void put_memory(struct np_section *section, const struct cmp_memory *memory)
{
	for (size_t i = 0; i < memory->list.count; i++) {
		const struct cmp_memory_peak *peak = &memory->list.item[i];

		/* What did not change needs no line. */
		if (peak->bytes[0] == peak->bytes[1])
			continue;
		np_say(&section->text, "{1}: {2} instead of {3}\n", NP_SAID_TEXT(peak->component),
		       NP_SAID_BYTES(peak->bytes[1]), NP_SAID_BYTES(peak->bytes[0]));
	}
}

static void put_gate(struct np_section *section, const struct cmp_gate *gate)
{
	np_say(&section->text, "{1}\n", NP_SAID_MSG(cmp_gate_result_name(gate->result)));
	for (size_t i = 0; i < gate->conditions.count; i++) {
		const struct cmp_condition *each = &gate->conditions.item[i];
		bool known = each->value[0] != NP_UNKNOWN && each->value[0] > 0;

		np_say(&section->text, "{1}: {2}", NP_SAID_TEXT(each->text),
		       NP_SAID_MSG(cmp_gate_result_name(each->result)));
		if (known)
			np_buf_printf(&section->text, ", %+.2f %%",
				      100 * ((double)each->value[1] / (double)each->value[0] - 1));
		if (isfinite(each->p))
			np_buf_printf(&section->text, ", p = %.2g", each->p);
		if (each->reason)
			np_say(&section->text, " ({1})", NP_SAID_MSG(each->reason));
		np_buf_add(&section->text, "\n");
	}
}

static int put_notes(struct np_section *section, const struct compare_report *report,
		     struct np_err *err)
{
	static const char *const sides[] = { NP_MSG("base: "), NP_MSG("new: ") };
	const struct comparison *comparison = report->comparison;
	int rc;

	rc = notes_put(&section->text, &comparison->warnings, "", err);
	for (int i = 0; i < 2 && rc == NP_OK; i++)
		rc = notes_put(&section->text, &comparison->sides[i].analysis->run->notes, sides[i],
			       err);
	return rc;
}

/* A line to paste for the new run by itself, and where the tables are. */
static int put_next(struct np_section *section, const struct compare_report *report,
		    struct np_err *err)
{
	static const struct np_grid_column columns[] = { { "", NP_LEFT, false },
							 { "", NP_LEFT, false } };
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	np_buf_add(&line, "npuprof advisor -d ");
	np_text_quoted(&line, report->input[CMP_NEW]);
	if (report->phase) {
		np_buf_add(&line, " --phase ");
		np_text_quoted(&line, report->phase);
	}
	np_grid_cell(section->grid, np_lang_text("what to change in the new run:"));
	np_grid_cell(section->grid, line.text);
	np_say(&section->text, "every table as a file: the same with -o DIR; one of them here: with"
			       " --table NAME\n");
	return np_buf_check(&line, err);
}

/* --- the page -------------------------------------------------------------------------------- */

static int build(struct np_page *page, const struct compare_report *report, struct np_err *err)
{
	const struct comparison *comparison = report->comparison;
	struct np_section *section = np_page_add(page, "Verdict");
	int rc;

	compare_put_verdict(&section->text, report);
	np_buf_add(&section->text, "\n");
	rc = put_next(np_page_add(page, "Do next"), report, err);
	if (report->gate)
		put_gate(np_page_add(page, "Gate"), report->gate);
	if (rc == NP_OK)
		rc = put_waterfall(np_page_add(page, "Where the step changed"), report, err);
	put_causes(np_page_add(page, "What explains it, the most first"), comparison);
	np_page_drop_empty(page);
	put_structure(np_page_add(page, "Kernels of one step, in order"), comparison);
	np_page_drop_empty(page);
	put_mc2(np_page_add(page, "Kernels that compute and communicate"), comparison);
	np_page_drop_empty(page);
	put_verdicts(np_page_add(page, "Each run by itself"), comparison);
	put_memory(np_page_add(page, "Memory peaks"), report->memory);
	np_page_drop_empty(page);
	if (rc == NP_OK)
		rc = put_notes(np_page_add(page, "Notes"), report, err);
	np_page_drop_empty(page);
	return rc;
}

int compare_screen(const struct compare_report *report, struct np_buf *buf, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf head = NP_BUF_INIT;
	struct np_page page = { 0 };
	int rc = build(&page, report, err);

	put_side(&head, report, CMP_BASE);
	put_side(&head, report, CMP_NEW);
	put_basis(&head, report->comparison);
	np_text_lines(buf, head.text, 0, 0, report->width, false);
	if (rc == NP_OK)
		rc = np_page_write(&page, buf, report->width, report->color, err);
	np_page_release(&page);
	if (rc == NP_OK)
		rc = compare_put_views(report, buf, false, err);
	return rc < 0 ? rc : np_buf_check(buf, err);
}

/* Lines of a list, so that a comment of a pull request shows them as such. */
static void put_items(struct np_buf *buf, const char *text, bool list)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	while (*text) {
		size_t length = strcspn(text, "\n");

		np_buf_clear(&line);
		np_text_safe(&line, text, length);
		np_buf_add(buf, list ? "- " : "");
		np_grid_add_markdown(buf, line.text, line.length);
		np_buf_add(buf, "\n");
		text += length + (text[length] == '\n');
	}
}

int compare_markdown(const struct compare_report *report, struct np_buf *buf, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf head = NP_BUF_INIT;
	struct np_page page = { 0 };
	int rc = build(&page, report, err);

	put_side(&head, report, CMP_BASE);
	put_side(&head, report, CMP_NEW);
	put_basis(&head, report->comparison);
	np_buf_add(buf, "# npuprof compare\n\n");
	put_items(buf, head.text, true);
	for (size_t i = 0; i < page.count && rc == NP_OK; i++) {
		struct np_section *section = &page.sections[i];

		np_buf_printf(buf, "\n## %s\n\n", section->title);
		if (section->grid)
			rc = np_grid_write_markdown(section->grid, buf, err);
		if (section->text.length > 0) {
			np_buf_add(buf, section->grid ? "\n" : "");
			put_items(buf, section->text.text, i > 0 && !section->grid);
		}
	}
	np_page_release(&page);
	if (rc == NP_OK)
		rc = compare_put_views(report, buf, true, err);
	return rc < 0 ? rc : np_buf_check(buf, err);
}
