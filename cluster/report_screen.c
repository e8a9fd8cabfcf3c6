/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"
#include "report_parts.h"
#include "verdict.h"

#include "npuprof/grid.h"
#include "npuprof/ranges.h"
#include "npuprof/spread.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

/* One screen: longer lists end with how many more there are and where to see them. */
#define MAX_NOTES         5
#define MAX_STEPS         6
#define MAX_COMMUNICATORS 6
#define MAX_CHARGED       3

/* What the screen and the Markdown page consist of; `grid` and `text` may be missing. */
struct section {
	const char *title;
	struct np_grid *grid;
	struct np_buf text; /* lines after the grid */
};

struct page {
	struct np_buf head; /* one line */
	struct section sections[8];
	size_t count;
};

static struct section *add_section(struct page *page, const char *title)
{
	struct section *section = &page->sections[page->count++];

	*section = (struct section){ .title = title, .text = NP_BUF_INIT };
	return section;
}

static void release_page(struct page *page)
{
	np_buf_release(&page->head);
	for (size_t i = 0; i < page->count; i++) {
		np_grid_free(page->sections[i].grid);
		np_buf_release(&page->sections[i].text);
	}
}

/* --- head ------------------------------------------------------------------------------------ */

static void put_steps(struct np_buf *buf, const struct report *report)
{
	const struct np_cluster *cluster = report->cluster;
	int64_t *numbers = malloc((cluster->steps.count + 1) * sizeof(*numbers));
	size_t count = 0;

	for (size_t i = 0; numbers && i < cluster->steps.count; i++) {
		const char *text = np_run_text(report->run, cluster->steps.item[i]);

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

void report_put_head(struct np_buf *buf, const struct report *report)
{
	size_t used = np_run_used(report->run);
	int32_t world = np_cluster_world(report->cluster);
	size_t hosts = np_cluster_hosts(report->cluster);

	np_text_safe(buf, report->input, strlen(report->input));
	np_buf_printf(buf, ": %zu rank%s", used, used == 1 ? "" : "s");
	if (world > 0)
		np_buf_printf(buf, " of %" PRId32, world);
	else if (used < report->run->sources.count)
		np_buf_printf(buf, " of %zu found", report->run->sources.count);
	if (hosts > 0)
		np_buf_printf(buf, ", %zu host%s", hosts, hosts == 1 ? "" : "s");
	put_steps(buf, report);
}

/* How far the figures across ranks can be trusted, in a line. */
static void put_trust(struct section *section, const struct report *report)
{
	const struct np_align *align = report->tables->align;
	const struct np_clock *clock = report->tables->clock;
	const struct np_waits *waits = report->tables->waits;
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

/* "rank 2 analysis.db: …", with the path unless the reason names it. */
static void put_note(struct np_buf *buf, const struct np_note *note)
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
static void put_notes(struct section *section, const struct np_notes *notes)
{
	size_t shown = 0;

	for (int kind = NP_NOTE_SKIPPED; kind <= NP_NOTE_WARNING; kind++) {
		for (size_t i = 0; i < notes->list.count && shown < MAX_NOTES; i++) {
			if (notes->list.item[i].kind != (enum np_note_kind)kind)
				continue;
			put_note(&section->text, &notes->list.item[i]);
			shown++;
		}
	}
	if (notes->list.count > shown)
		np_buf_printf(&section->text,
			      "… and %zu more: -f csv --table np_skipped lists all\n",
			      notes->list.count - shown);
}

/* --- steps ----------------------------------------------------------------------------------- */

static const char *const quantity_titles[NP_Q_COUNT] = {
	[NP_Q_COMPUTING] = "computing", [NP_Q_EXPOSED] = "exposed comm.", [NP_Q_FREE] = "free",
	[NP_Q_BUBBLE] = "bubble",       [NP_Q_SPAN] = "step span",
};

/* "41.2 r3 … 54.1 ms r5", or the one value that all have. */
static void put_spread(struct np_grid *grid, const struct np_spread *spread)
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
	/* The unit is said once where both have the same. */
	units[0] = strchrnul(least.text, ' ');
	units[1] = strchrnul(most.text, ' ');
	digits = strcmp(units[0], units[1]) == 0 ? (int)(units[0] - least.text) : INT_MAX;
	np_grid_printf(grid, "%.*s r%" PRId32 " … %s r%" PRId32, digits, least.text,
		       spread->least_rank, most.text, spread->most_rank);
}

/* A bubble that is zero everywhere says nothing; the span takes its column. */
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

static int put_step_row(struct np_grid *grid, const struct report *report, np_str step, bool bubble,
			struct np_err *err)
{
	const char *id = np_run_text(report->run, step);

	np_grid_cell(grid, id ? id : "all");
	for (int quantity = 0; quantity < NP_Q_COUNT; quantity++) {
		struct np_spread spread;
		int rc;

		if (quantity == (bubble ? NP_Q_SPAN : NP_Q_BUBBLE))
			continue;
		rc = np_spread_measure(report->cluster, step, (enum np_quantity)quantity, &spread,
				       err);
		if (rc < 0)
			return rc;
		put_spread(grid, &spread);
	}
	return NP_OK;
}

static int put_steps_section(struct section *section, const struct report *report,
			     struct np_err *err)
{
	const struct np_cluster *cluster = report->cluster;
	bool bubble = has_bubble(cluster);
	struct np_grid_column columns[NP_Q_COUNT + 1] = { { "step", NP_RIGHT, false } };
	struct np_longest longest = { 0 };
	size_t count = 1;
	int rc = NP_OK;

	for (int quantity = 0; quantity < NP_Q_COUNT; quantity++) {
		if (quantity != (bubble ? NP_Q_SPAN : NP_Q_BUBBLE))
			columns[count++] = (struct np_grid_column){ quantity_titles[quantity],
								    NP_LEFT, false };
	}
	section->grid = np_grid_new(columns, count);
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	for (size_t i = 0; i < cluster->steps.count && i < MAX_STEPS && rc == NP_OK; i++)
		rc = put_step_row(section->grid, report, cluster->steps.item[i], bubble, err);
	if (cluster->steps.count > MAX_STEPS)
		np_buf_printf(&section->text, "… and %zu more steps: --steps N, or -f csv\n",
			      cluster->steps.count - MAX_STEPS);
	if (rc == NP_OK)
		rc = np_longest_measure(cluster, NP_Q_COMPUTING, &longest, err);
	/* Below a percent somebody is always longest. */
	if (rc == NP_OK && longest.steps > 0 && longest.over >= 0.01)
		np_buf_printf(&section->text,
			      "rank %" PRId32 " computed longest in %zu of %zu steps, on average"
			      " %.0f %% over the middle rank\n",
			      longest.rank, longest.steps, cluster->steps.count,
			      100 * longest.over);
	return rc;
}

/* --- communicators --------------------------------------------------------------------------- */

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

static void put_communicator(struct np_grid *grid, const struct report *report,
			     const struct np_comm_sum *total)
{
	const struct np_communicator *each = total->communicator;
	const char *name = np_run_text(report->run, each->pg_name);

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

static int put_communicators_section(struct section *section, const struct report *report,
				     struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "communicator", NP_LEFT, false }, { "ranks", NP_LEFT, true },
		{ "ops", NP_RIGHT, false },         { "elapsed", NP_RIGHT, false },
		{ "wait", NP_RIGHT, false },        { "transit", NP_RIGHT, false },
		{ "exposed", NP_RIGHT, false },     { "GB/s", NP_RIGHT, false },
		{ "comm/comp", NP_RIGHT, false },
	};
	struct np_comm_sums totals = { 0 };
	int rc = np_comm_sums_total(report->sums, &totals, err);

	if (rc < 0)
		return rc;
	section->grid = np_grid_new(columns, NP_COUNT(columns));
	for (size_t i = 0; section->grid && i < totals.list.count && i < MAX_COMMUNICATORS; i++)
		put_communicator(section->grid, report, &totals.list.item[i]);
	if (totals.list.count > MAX_COMMUNICATORS)
		np_buf_printf(&section->text,
			      "… and %zu more: -f csv --table np_comm_step lists all\n",
			      totals.list.count - MAX_COMMUNICATORS);
	np_comm_sums_release(&totals);
	return section->grid ? NP_OK : np_fail_nomem(err, "the screen");
}

/* --- who is charged -------------------------------------------------------------------------- */

static void put_charged(struct np_grid *grid, const struct report *report, uint32_t index)
{
	const struct np_blame *blame = report->tables->blame;
	const struct np_origin *origin = report->tables->origin;
	const struct np_blame_rank *charged = &blame->ranks[index];

	np_grid_printf(grid, "rank %" PRId32, report->run->ranks[index]->id);
	np_grid_duration(grid,
			 np_whatif_saved(report->tables->whatif, report->run->ranks[index]->id));
	np_grid_duration(grid, origin->ranks[index].cost);
	np_grid_printf(grid, "%.0f %%",
		       100 * (double)origin->ranks[index].cost / (double)blame->total);
	np_grid_cell(grid, np_cause_name(np_origin_cause(origin, index)));
	np_grid_duration(grid, charged->cost);
	np_grid_printf(grid, "%" PRIu32 " of %" PRIu32, charged->last_arrivals, charged->instances);
	np_grid_cell(grid, np_origin_kind(report->tables->origin, index));
}

static void put_other(struct np_grid *grid, const char *who, np_ns cost, np_ns direct, np_ns total)
{
	if (cost == 0)
		return;
	np_grid_cell(grid, who);
	np_grid_cell(grid, "");
	np_grid_duration(grid, cost);
	np_grid_printf(grid, "%.0f %%", 100 * (double)cost / (double)total);
	np_grid_cell(grid, "");
	np_grid_duration(grid, direct);
	np_grid_cell(grid, "");
	np_grid_cell(grid, "");
}

/* A large share of little is little, and waiting that computing hides costs nothing. */
static void put_total_wait(struct np_buf *text, const struct report *report)
{
	np_buf_add(text, "all waiting: ");
	np_text_duration(text, report->tables->blame->total);
	np_buf_add(text, ", partly hidden by computing; exposed communication: ");
	np_text_duration(text, np_quantity_total(report->cluster, NP_Q_EXPOSED));
	np_buf_add(text, " of ");
	np_text_duration(text, np_quantity_total(report->cluster, NP_Q_SPAN));
	np_buf_add(text, " of steps\n");
}

/* The last to come is often a victim itself: beside what began with a rank stands what it was
 * charged. */
static int put_blame_section(struct section *section, const struct report *report,
			     struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "began with", NP_LEFT, false },
		{ "repair saves", NP_RIGHT, false },
		{ "waiting of others", NP_RIGHT, false },
		{ "share", NP_RIGHT, false },
		{ "cause", NP_LEFT, false },
		{ "by arrival", NP_RIGHT, false },
		{ "came last", NP_RIGHT, false },
		{ "", NP_LEFT, false },
	};
	const struct np_blame *blame = report->tables->blame;
	const struct np_origin *origin = report->tables->origin;
	struct np_blame_order order = { 0 };
	int rc = np_whatif_sort(report->tables->whatif, report->run, origin, &order, err);

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (rc == NP_OK && !section->grid)
		rc = np_fail_nomem(err, "the screen");
	for (size_t i = 0; i < order.count && i < MAX_CHARGED && rc == NP_OK; i++)
		put_charged(section->grid, report, order.ranks[i]);
	if (rc == NP_OK) {
		put_other(section->grid, "ranks not profiled", origin->unprofiled,
			  blame->unprofiled, blame->total);
		put_other(section->grid, "nobody", blame->unattributed, blame->unattributed,
			  blame->total);
		put_total_wait(&section->text, report);
	}
	np_blame_order_release(&order);
	return rc;
}

/* --- what is missing, what is next ----------------------------------------------------------- */

int report_find_withheld(struct report *report, struct np_err *err)
{
	static const enum np_answer shown[] = { NP_ANALYSIS_COMMUNICATORS, NP_ANALYSIS_EXPOSED,
						NP_ANALYSIS_WAIT, NP_ANALYSIS_LINKS,
						NP_ANALYSIS_PIPELINE };
	struct np_readiness all[NP_ANALYSIS_COUNT];
	int rc = np_readiness_measure(report->cluster, all, err);

	report->withheld_count = 0;
	for (size_t i = 0; i < NP_COUNT(shown) && rc == NP_OK; i++) {
		if (!all[shown[i]].ready)
			report->withheld[report->withheld_count++] = all[shown[i]];
	}
	return rc;
}

static void put_missing(struct section *section, const struct report *report)
{
	for (size_t i = 0; i < report->withheld_count; i++)
		np_buf_printf(&section->text, "%s: %s; collect with %s\n", report->withheld[i].name,
			      report->withheld[i].missing, report->withheld[i].cure);
}

/* A path so that it can be pasted into a shell: in quotes if it is not plain. */
static void put_quoted(struct np_buf *buf, const char *path)
{
	bool plain =
		*path && path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789/._-+,:@%")] == '\0';

	np_buf_add(buf, plain ? "" : "'");
	put_safe(buf, path);
	np_buf_add(buf, plain ? "" : "'");
}

static void put_next(struct section *section, const struct report *report)
{
	static const char *const further[] = { "csv --table np_comm_step", "json" };

	if (report->database) {
		np_buf_add(&section->text, "MindStudio Insight opens ");
		put_safe(&section->text, report->database);
		np_buf_add(&section->text, "\n");
	}
	for (size_t i = 0; i < NP_COUNT(further); i++) {
		np_buf_add(&section->text, "npuprof cluster -d ");
		put_quoted(&section->text, report->input);
		np_buf_printf(&section->text, " -f %s\n", further[i]);
	}
}

/* --- rendering ------------------------------------------------------------------------------- */

static int build(struct page *page, const struct report *report, struct np_err *err)
{
	struct section *section;
	int rc = NP_OK;

	page->head = NP_BUF_INIT;
	report_put_head(&page->head, report);
	if (report->run->notes.list.count > 0)
		put_notes(add_section(page, "Notes"), &report->run->notes);
	if (report->tables->align->op_count > 0)
		put_trust(add_section(page, "Trust"), report);
	section = add_section(page, "Verdict");
	if (report->tables->blame->total > 0)
		rc = verdict_put_text(&section->text, report, err);
	if (rc == NP_OK)
		rc = report_put_part_lines(&section->text, report, err);
	if (section->text.length == 0)
		page->count--;
	if (rc == NP_OK && report->tables->blame->total > 0)
		rc = put_blame_section(
			add_section(page, "Where the waiting began, and who came late by arrival"),
			report, err);
	if (rc == NP_OK)
		rc = put_steps_section(add_section(page, "Steps: least … most over the ranks"),
				       report, err);
	if (rc == NP_OK && report->cluster->communicators.count > 0)
		rc = put_communicators_section(
			add_section(page, "Communicators: sums over profiled ranks and steps"),
			report, err);
	section = add_section(page, "Not in the data");
	put_missing(section, report);
	if (section->text.length == 0)
		page->count--;
	put_next(add_section(page, "Next"), report);
	return rc < 0 ? rc : np_buf_check(&page->head, err);
}

void report_put_lines(struct np_buf *buf, const char *text, size_t indent, size_t width)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	while (*text) {
		size_t length = strcspn(text, "\n");

		np_buf_clear(&line);
		np_text_safe(&line, text, length);
		np_buf_add_repeated(buf, ' ', indent);
		np_text_wrap(buf, line.text, indent, width);
		text += length + (text[length] == '\n');
	}
}

int report_screen(const struct report *report, struct np_buf *buf, struct np_err *err)
{
	struct page page = { 0 };
	int rc = build(&page, report, err);

	np_buf_printf(buf, "%s\n", page.head.text);
	for (size_t i = 0; i < page.count && rc == NP_OK; i++) {
		struct section *section = &page.sections[i];

		np_buf_printf(buf, report->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n",
			      section->title);
		if (section->grid)
			rc = np_grid_write(section->grid, buf, 2, report->width, report->color,
					   err);
		report_put_lines(buf, section->text.text, 2, report->width);
	}
	release_page(&page);
	return rc < 0 ? rc : np_buf_check(buf, err);
}

int report_markdown(const struct report *report, struct np_buf *buf, struct np_err *err)
{
	struct page page = { 0 };
	int rc = build(&page, report, err);

	np_buf_add(buf, "# ");
	np_grid_add_markdown(buf, page.head.text, page.head.length);
	np_buf_add(buf, "\n");
	for (size_t i = 0; i < page.count && rc == NP_OK; i++) {
		struct section *section = &page.sections[i];

		np_buf_printf(buf, "\n## %s\n\n", section->title);
		if (section->grid)
			rc = np_grid_write_markdown(section->grid, buf, err);
		if (section->text.length > 0) {
			np_buf_add(buf, section->grid ? "\n" : "");
			report_put_lines(buf, section->text.text, 4, SIZE_MAX);
		}
	}
	release_page(&page);
	return rc < 0 ? rc : np_buf_check(buf, err);
}
