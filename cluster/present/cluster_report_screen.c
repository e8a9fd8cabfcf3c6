/* SPDX-License-Identifier: Apache-2.0 */
#include "report_parts.h"
#include "report_screen.h"
#include "verdict.h"

#include "npuprof/ranges.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* One screen: longer lists end with how many more there are and where to see them. */
#define MAX_NOTES 5

/* Directories that were left out for others of the same ranks: many are much alike. */
#define MAX_OTHERS 2

/* --- head ------------------------------------------------------------------------------------ */

static void put_steps(struct np_buf *buf, const struct cluster_report *report)
{
	const struct np_cluster *cluster = report->analysis->cluster;
	int64_t *numbers = malloc((cluster->steps.count + 1) * sizeof(*numbers));
	size_t count = 0;

	for (size_t i = 0; numbers && i < cluster->steps.count; i++) {
		const char *text = np_run_text(report->analysis->run, cluster->steps.item[i]);

		if (text && np_text_to_int(text, strlen(text), &numbers[count]))
			count++;
	}
	if (count == 0 || count < cluster->steps.count) {
		np_buf_printf(buf, ", %s",
			      cluster->steps.count == 1 ? "no steps marked" : "several steps");
	} else {
		np_buf_printf(buf, ", step%s ", count == 1 ? "" : "s");
		np_ranges_format(buf, numbers, count);
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

/* How far the figures across ranks can be trusted, in a line. */
static void put_trust(struct np_section *section, const struct cluster_report *report)
{
	const struct np_align *align = report->analysis->align;
	const struct np_clock *clock = report->analysis->clock;
	const struct np_waits *waits = &report->analysis->waits;
	struct np_buf *text = &section->text;

	np_buf_printf(text, "%" PRIu32 " of %" PRIu32 " communication operators matched over ranks",
		      align->matched, align->op_count);
	if (clock->method != NP_CLOCK_NONE && clock->residual_p90 != NP_UNKNOWN) {
		np_buf_printf(text, "; clocks from %s, off by ",
			      clock->method == NP_CLOCK_MANIFEST ? "the manifest" : "their ends");
		np_text_duration(text, clock->residual_p90);
		np_buf_add(text, " at most in 9 of 10");
	}
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

/* --- what is missing, what is next ----------------------------------------------------------- */

int report_find_withheld(struct cluster_report *report, struct np_err *err)
{
	static const enum np_answer shown[] = { NP_ANALYSIS_COMMUNICATORS, NP_ANALYSIS_EXPOSED,
						NP_ANALYSIS_WAIT, NP_ANALYSIS_LINKS,
						NP_ANALYSIS_PIPELINE };
	struct np_readiness all[NP_ANALYSIS_COUNT];
	int rc = np_readiness_measure(report->analysis->cluster, report->analysis->align, all, err);

	report->withheld_count = 0;
	for (size_t i = 0; i < NP_COUNT(shown) && rc == NP_OK; i++) {
		if (!all[shown[i]].ready)
			report->withheld[report->withheld_count++] = all[shown[i]];
	}
	return rc;
}

static void put_missing(struct np_section *section, const struct cluster_report *report)
{
	for (size_t i = 0; i < report->withheld_count; i++) {
		const struct np_readiness *each = &report->withheld[i];
		const struct np_readiness *next = i + 1 < report->withheld_count ? each + 1 : NULL;

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
	if (report->analysis->charges.total > 0)
		rc = verdict_put_text(&section->text, report, err);
	if (rc == NP_OK)
		rc = report_put_part_lines(&section->text, report, err);
	np_page_drop_empty(page);
	if (rc == NP_OK && report->analysis->charges.total > 0)
		rc = section_put_blame(
			np_page_add(page, "Where the waiting began, and who came late by arrival"),
			report, err);
	if (rc == NP_OK)
		rc = section_put_steps(np_page_add(page, "Steps: least … most over the ranks"),
				       report, err);
	if (rc == NP_OK && report->analysis->cluster->communicators.count > 0)
		rc = section_put_communicators(
			np_page_add(page, "Communicators: sums over profiled ranks and steps"),
			report, err);
	section = np_page_add(page, "Not in the data");
	put_missing(section, report);
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
