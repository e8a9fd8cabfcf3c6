/* SPDX-License-Identifier: Apache-2.0 */
#include "info_report.h"
#include "report_screen.h"

#include "npuprof/grid.h"
#include "npuprof/page.h"
#include "npuprof/ranges.h"
#include "npuprof/text.h"

#include <inttypes.h>

const char *info_form(const struct np_source_files *source)
{
	bool db = source->file[NP_FILE_RANK_DB] || source->file[NP_FILE_ANALYSIS_DB];
	bool text = source->file[NP_FILE_TRACE] || source->file[NP_FILE_KERNELS] ||
		    source->file[NP_FILE_STEP_TRACE] || source->file[NP_FILE_COMM];

	return db && text ? "db+text" : db ? "db" : "text";
}

void info_put_steps(struct np_buf *buf, const struct np_run *run, const struct np_rank *rank)
{
	int64_t *numbers = malloc((rank->steps.count + 1) * sizeof(*numbers));
	size_t count = 0;

	for (size_t i = 0; numbers && i < rank->steps.count; i++) {
		const char *id = np_run_text(run, rank->steps.item[i].id);

		if (id && np_text_to_int(id, strlen(id), &numbers[count]))
			count++;
	}
	if (count > 0 && count == rank->steps.count)
		np_ranges_format(buf, numbers, count);
	else
		np_buf_add(buf, rank->steps.count > 1 ? "several" : "none marked");
	free(numbers);
}

/* What ranks that are alike share; a line of the list is a run of such ranks. */
static void describe(struct np_buf *buf, const struct np_run *run, size_t index)
{
	const struct np_rank *rank = run->ranks[index];
	const char *level = np_run_text(run, rank->level);
	const char *host = np_run_text(run, rank->host_name);

	np_buf_printf(buf, "%s %s\t%s\t%s\t", np_kind_name(run->sources.item[index].kind),
		      info_form(&run->sources.item[index]), level ? level : "?", host ? host : "?");
	info_put_steps(buf, run, rank);
	np_buf_printf(buf, "\t%s\t%s", np_source_name(rank->step_source),
		      np_source_name(rank->comm_source));
}

static void put_line(struct np_grid *grid, const char *description, const int64_t *ranks,
		     size_t count, int64_t bytes)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	np_ranges_format(&text, ranks, count);
	np_grid_cell(grid, text.text);
	for (const char *field = description; field; field = strchr(field, '\t')) {
		field += *field == '\t';
		np_grid_printf(grid, "%.*s", (int)strcspn(field, "\t"), field);
	}
	np_grid_bytes(grid, bytes);
}

/* Ranks that are alike share a line. */
static int put_ranks(const struct np_run *run, struct np_grid *grid, struct np_err *err)
{
	int64_t *ranks = malloc((run->sources.count + 1) * sizeof(*ranks));
	bool *shown = calloc(run->sources.count + 1, sizeof(*shown));

	for (size_t i = 0; ranks && shown && i < run->sources.count; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf first = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf other = NP_BUF_INIT;
		int64_t bytes = 0;
		size_t count = 0;

		if (!run->ranks[i] || shown[i])
			continue;
		describe(&first, run, i);
		for (size_t j = i; j < run->sources.count; j++) {
			if (!run->ranks[j] || shown[j])
				continue;
			np_buf_clear(&other);
			describe(&other, run, j);
			if (strcmp(first.text, other.text) != 0)
				continue;
			shown[j] = true;
			ranks[count++] = run->ranks[j]->id;
			bytes += run->sources.item[j].bytes;
		}
		put_line(grid, first.text, ranks, count, bytes);
	}
	if (!ranks || !shown)
		(void)np_fail_nomem(err, "the list of ranks");
	free(shown);
	free(ranks);
	return ranks && shown ? NP_OK : NP_E_NOMEM;
}

static int put_ranks_section(struct np_page *page, const struct info *info, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "ranks", NP_LEFT, true },          { "format", NP_LEFT, false },
		{ "level", NP_LEFT, false },         { "host", NP_LEFT, true },
		{ "steps", NP_LEFT, true },          { "step times from", NP_LEFT, true },
		{ "operators from", NP_LEFT, true }, { "size", NP_RIGHT, false },
	};
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	if (!grid)
		return np_fail_nomem(err, "the list of ranks");
	np_page_add(page, "Ranks")->grid = grid;
	return put_ranks(info->run, grid, err);
}

static const char *name_of_kind(const struct np_communicator *each)
{
	if (each->collective && each->p2p)
		return "both";
	return each->collective ? "collective" : "p2p";
}

static void put_group(struct np_grid *grid, const struct np_run *run,
		      const struct np_communicator *each)
{
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	const char *pg_name = np_run_text(run, each->pg_name);
	const char *name = np_run_text(run, each->name);

	report_put_ranks(&ranks, each);
	if (pg_name)
		np_grid_cell(grid, pg_name);
	else
		np_grid_printf(grid, "%" PRIu64, each->hash);
	np_grid_cell(grid, name_of_kind(each));
	np_grid_cell(grid, ranks.text);
	np_grid_cell(grid, name ? name : "?");
}

static int put_groups_section(struct np_page *page, const struct info *info, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "communicator", NP_LEFT, false },
		{ "kind", NP_LEFT, false },
		{ "ranks", NP_LEFT, true },
		{ "name", NP_LEFT, true },
	};
	size_t count = info->cluster->communicators.count;
	struct np_section *section;

	if (count == 0)
		return NP_OK;
	section = np_page_add(page, "Communicators");
	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (!section->grid)
		return np_fail_nomem(err, "the list of communicators");
	for (size_t i = 0; i < count && i < INFO_MAX_GROUPS; i++)
		put_group(section->grid, info->run, &info->cluster->communicators.item[i]);
	if (count > INFO_MAX_GROUPS)
		np_buf_printf(&section->text, "… and %zu more: -f json lists all\n",
			      count - INFO_MAX_GROUPS);
	return NP_OK;
}

/* What is ready on one line; what is not with its reason and its cure, which must not be cut. */
static void put_analyses(struct np_buf *text, const struct info *info)
{
	size_t used = np_run_used(info->run);
	size_t ready = 0;

	np_buf_add(text, "ready: ");
	for (size_t i = 0; i < NP_ANALYSIS_COUNT; i++) {
		if (info->analyses[i].ready)
			np_buf_printf(text, "%s%s", ready++ > 0 ? ", " : "",
				      info->analyses[i].name);
	}
	np_buf_add(text, ready > 0 ? "\n" : "none\n");
	for (size_t i = 0; i < NP_ANALYSIS_COUNT; i++) {
		const struct np_readiness *each = &info->analyses[i];

		if (!each->ready)
			np_buf_printf(text, "%s: %s: %s; collect with %s\n",
				      each->without < used ? "in part" : "no", each->name,
				      each->missing, each->cure);
	}
}

static void put_notes(struct np_page *page, const struct np_notes *notes)
{
	struct np_section *section = np_page_add(page, "Notes");

	for (size_t i = 0; i < notes->list.count; i++)
		report_put_note(&section->text, &notes->list.item[i]);
	np_page_drop_empty(page);
}

static int build(struct np_page *page, const struct info *info, struct np_err *err)
{
	struct np_section *section;
	int rc;

	put_notes(page, &info->run->notes);
	rc = put_ranks_section(page, info, err);
	if (rc == NP_OK)
		rc = put_groups_section(page, info, err);
	section = np_page_add(page, "Analyses");
	section->hang = 2;
	put_analyses(&section->text, info);
	return rc;
}

static void put_head(struct np_buf *buf, const struct info *info)
{
	int32_t world = np_cluster_world(info->cluster);
	int64_t bytes = 0;

	for (size_t i = 0; i < info->run->sources.count; i++)
		bytes += info->run->sources.item[i].bytes;
	np_text_safe(buf, info->input, strlen(info->input));
	np_buf_printf(buf, ": %zu ranks", np_run_used(info->run));
	if (world > 0)
		np_buf_printf(buf, " of %" PRId32, world);
	np_buf_add(buf, ", ");
	np_text_bytes(buf, bytes);
}

int info_page(const struct info *info, bool markdown, struct np_buf *buf, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf head = NP_BUF_INIT;
	struct np_page page = { 0 };
	int rc = build(&page, info, err);

	put_head(&head, info);
	if (markdown)
		np_buf_add(buf, "# ");
	if (markdown)
		np_grid_add_markdown(buf, head.text, head.length);
	else
		np_buf_add(buf, head.text);
	np_buf_add_char(buf, '\n');
	if (rc == NP_OK)
		rc = markdown ? np_page_write_markdown(&page, buf, err)
			      : np_page_write(&page, buf, info->width, info->color, err);
	np_page_release(&page);
	return rc < 0 ? rc : np_buf_check(buf, err);
}
