/* SPDX-License-Identifier: Apache-2.0 */
/* Says how far a report can be trusted: what was matched, what is missing, what was left out. */
#include "cluster_report.h"

#include "cli/prepare/notes_screen.h"
#include "cli/prepare/trust_json.h"

#include "npuprof/align.h"
#include "npuprof/lang.h"
#include "npuprof/ranges.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* What the clocks are wrong by: as ends differ, or as much as they contradict what happened. */
static void put_clock(struct np_buf *text, const struct np_clock *clock)
{
	const char *how = clock->recorded                      ? "as recorded"
			  : clock->method == NP_CLOCK_MANIFEST ? "from the manifest"
							       : "from the ends of operators";

	if (clock->method == NP_CLOCK_NONE ||
	    (clock->residual_p90 == NP_UNKNOWN && clock->violations == 0))
		return;
	if (clock->violation_max > clock->residual_p90)
		np_say(text,
		       "; clocks {1}, error ≥ {2}: operators that end before all had started: {3}",
		       NP_SAID_TEXT(np_lang_text(how)), NP_SAID_TIME(clock->violation_max),
		       NP_SAID_INT(clock->violations));
	else
		np_say(text, "; clocks {1}, error ≤ {2} (p90)", NP_SAID_TEXT(np_lang_text(how)),
		       NP_SAID_TIME(clock->residual_p90));
}

/* How far the figures across ranks can be trusted, in a line. */
static void put_matched(struct np_buf *text, const struct cluster_report *report)
{
	const struct np_align *align = report->analysis->align;
	const struct np_clock *clock = report->analysis->clock;
	const struct np_waits *waits = &report->analysis->waits;

	if (align->op_count == 0)
		return;
	np_say(text, "{1} of {2} communication operators matched over ranks",
	       NP_SAID_INT(align->matched), NP_SAID_INT(align->op_count));
	put_clock(text, clock);
	if (waits->agreement_p90 != NP_UNKNOWN)
		np_say(text, "; two ways to measure waiting agree within {1} (p90)",
		       NP_SAID_TIME(waits->agreement_p90));
	np_buf_add_char(text, '\n');
	if (clock->components > 1)
		np_say(text, "{1} sets of ranks share no operator: their clocks are unrelated\n",
		       NP_SAID_INT(clock->components));
}

/* --- what is missing ------------------------------------------------------------------------- */

/* Everything that one switch would have collected, from the first of it on: names of the same
 * reason together. */
static void put_missing_group(struct np_buf *text, const struct np_readiness *const *withheld,
			      size_t count)
{
	const char *missing = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct np_readiness *each = withheld[i];

		if (strcmp(each->cure, withheld[0]->cure) != 0)
			continue;
		if (!missing)
			np_say(text, "not known: ");
		else if (strcmp(missing, each->missing) == 0)
			np_say(text, ", ");
		else
			np_say(text, ": {1}; ", NP_SAID_MSG(missing));
		np_buf_add(text, np_lang_text(each->name));
		missing = each->missing;
	}
	np_say(text, ": {1}; collect with {2}\n", NP_SAID_MSG(missing),
	       NP_SAID_MSG(withheld[0]->cure));
}

static void put_missing(struct np_buf *text, const struct np_analysis *analysis)
{
	const struct np_readiness *withheld[NP_ANALYSIS_COUNT];
	size_t count = trust_withheld(analysis, withheld);

	for (size_t i = 0; i < count; i++) {
		bool said = false;

		for (size_t j = 0; j < i && !said; j++)
			said = strcmp(withheld[j]->cure, withheld[i]->cure) == 0;
		if (!said)
			put_missing_group(text, withheld + i, count - i);
	}
}

/* --- files ------------------------------------------------------------------------------------ */

/* Rows of ranks that were read alike, at most. */
#define MAX_SOURCES 8

/* What a rank was read from, and what from which of that: the same text for ranks that are alike.
 */
static void put_source(struct np_buf *buf, const struct np_run *run, size_t index)
{
	const struct np_source_files *source = &run->sources.item[index];
	const struct np_rank *rank = run->ranks[index];
	const char *between = "";

	for (int i = 0; i < NP_FILE_COUNT; i++) {
		if (!source->file[i])
			continue;
		np_buf_printf(buf, "%s%s", between, np_lang_text(np_file_name((enum np_file)i)));
		between = np_lang_text(", ");
	}
	np_say(buf, "; step times from {1}, operators from {2}, exposed communication from {3}",
	       NP_SAID_MSG(np_source_name(rank->step_source)),
	       NP_SAID_MSG(np_source_name(rank->comm_source)),
	       NP_SAID_MSG(np_source_name(rank->exposed_source)));
}

/* Was a rank before this one read alike? If not, the ranks from it on that were. */
static bool ranks_alike(const struct np_run *run, size_t index, const char *like,
			struct np_buf *ret)
{
	int64_t *ranks = malloc((run->sources.count + 1) * sizeof(*ranks));
	size_t count = 0;
	bool first = true;

	for (size_t i = 0; ranks && i < run->sources.count && first; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf other = NP_BUF_INIT;

		if (!run->ranks[i])
			continue;
		put_source(&other, run, i);
		if (strcmp(other.text, like) != 0)
			continue;
		first = i >= index;
		ranks[count++] = run->ranks[i]->id;
	}
	if (ranks && first)
		np_ranges_format(ret, ranks, count);
	ret->failed |= !ranks;
	free(ranks);
	return first;
}

void report_put_sources(struct np_page *page, const struct np_run *run)
{
	struct np_section *section = np_page_add(page, "Files read, and what from which");
	size_t shown = 0;

	section->hang = 2;
	for (size_t i = 0; i < run->sources.count && shown < MAX_SOURCES; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf source = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;

		if (!run->ranks[i])
			continue;
		put_source(&source, run, i);
		if (!ranks_alike(run, i, source.text, &ranks))
			continue;
		np_say(&section->text, "rank {1}: {2}\n", NP_SAID_TEXT(ranks.text),
		       NP_SAID_TEXT(source.text));
		shown++;
	}
	np_page_drop_empty(page);
}

int report_put_trust_section(struct np_page *page, const struct cluster_report *report,
			     struct np_err *err)
{
	struct np_section *section = np_page_add(page, "Trust");
	int rc;

	section->hang = 2;
	section->cut = !report->verbose;
	put_matched(&section->text, report);
	/* A single card talks to nobody: that is nothing to miss. */
	if (report->verbose || np_run_used(report->analysis->run) > 1 ||
	    np_cluster_world(report->analysis->cluster) > 1)
		put_missing(&section->text, report->analysis);
	rc = notes_put(&section->text, &report->analysis->run->notes, "", err);
	np_page_drop_empty(page);
	return rc;
}
