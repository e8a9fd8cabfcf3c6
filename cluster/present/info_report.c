/* SPDX-License-Identifier: Apache-2.0 */
/* Presents what is in a directory: ranks, communicators, and the analyses that they can feed. */
#include "info_report.h"

#include "info_layers.h"

#include "cli/prepare/input_json.h"
#include "cli/prepare/notes_screen.h"

#include "npuprof/grid.h"
#include "npuprof/jsonout.h"
#include "npuprof/lang.h"
#include "npuprof/page.h"
#include "npuprof/ranges.h"
#include "npuprof/relation.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* More communicators than fit a screen are in the other forms. */
#define MAX_GROUPS 12

/* Which of the two forms the files of a rank have: "db", "text" or "db+text". */
static const char *form_of(const struct np_source_files *source)
{
	bool db = source->file[NP_FILE_RANK_DB] || source->file[NP_FILE_ANALYSIS_DB] ||
		  source->file[NP_FILE_CLUSTER_DB];
	bool text = source->file[NP_FILE_TRACE] || source->file[NP_FILE_KERNELS] ||
		    source->file[NP_FILE_STEP_TRACE] || source->file[NP_FILE_COMM];

	if (source->file[NP_FILE_KINETO])
		return "trace";
	return db && text ? "db+text" : db ? "db" : "text";
}

static const char *in_english(const char *text)
{
	return text;
}

/* The ids of a rank's steps, folded where they are numbers. */
static void put_steps(struct np_buf *buf, const struct np_run *run, const struct np_rank *rank,
		      const char *(*say)(const char *text))
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
	else if (rank->steps.count == 1 && rank->steps.item[0].id == NP_STR_NONE)
		np_buf_add(buf, say("none marked"));
	else
		np_buf_printf(buf, "%zu", rank->steps.count);
	if (np_steps_are_ours(rank->steps_from))
		np_buf_add(buf,
			   say(rank->steps_from == NP_STEPS_PERIOD ? " (found)" : " (ranges)"));
	free(numbers);
}

/* What ranks that are alike share; a line of the list is a run of such ranks. */
static void describe(struct np_buf *buf, const struct np_run *run, size_t index)
{
	const struct np_rank *rank = run->ranks[index];
	const char *level = np_run_text(run, rank->level);
	const char *host = np_run_text(run, rank->host_name);

	const char *from = np_rank_from_name(run->sources.item[index].rank_from);

	if (from)
		np_say(buf, " ({1})", NP_SAID_TEXT(np_lang_text(from)));
	np_buf_add_char(buf, '\t');
	np_buf_printf(buf, "%s %s%s\t%s\t%s\t", np_kind_name(run->sources.item[index].kind),
		      form_of(&run->sources.item[index]),
		      rank->contents & NP_OF_GPU ? np_lang_text(" of a GPU") : "",
		      level ? level : "?", host ? host : "?");
	put_steps(buf, run, rank, np_lang_text);
	np_buf_printf(buf, "\t%s\t%s", np_lang_text(np_source_name(rank->step_source)),
		      np_lang_text(np_source_name(rank->comm_source)));
}

static void put_line(struct np_grid *grid, const char *description, const int64_t *ranks,
		     size_t count, int64_t bytes)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	np_ranges_format(&text, ranks, count);
	np_grid_printf(grid, "%s%.*s", text.text, (int)strcspn(description, "\t"), description);
	for (const char *field = strchr(description, '\t'); field; field = strchr(field, '\t')) {
		field += *field == '\t';
		np_grid_printf(grid, "%.*s", (int)strcspn(field, "\t"), field);
	}
	np_grid_bytes(grid, bytes);
}

/* The description of each rank as a number; 0 for one that is not there. */
static int describe_all(const struct np_run *run, struct np_strtab *texts, np_str *ret,
			struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		ret[i] = NP_STR_NONE;
		if (!run->ranks[i])
			continue;
		np_buf_clear(&text);
		describe(&text, run, i);
		rc = np_buf_check(&text, err);
		if (rc == NP_OK)
			rc = np_strtab_add(texts, text.text, text.length, &ret[i], err);
	}
	return rc;
}

/* Lines by their first rank; `next` leads from a rank to the next of its line, itself at the end.
 */
static void link_lines(const np_str *like, size_t count, size_t *last, size_t *next)
{
	for (size_t i = 0; i < count; i++) {
		next[i] = i;
		if (like[i] == NP_STR_NONE)
			continue;
		if (last[like[i]] != SIZE_MAX)
			next[last[like[i]]] = i;
		last[like[i]] = i;
	}
}

static void put_lines(const struct np_run *run, const struct np_strtab *texts, np_str *like,
		      const size_t *next, int64_t *ranks, struct np_grid *grid)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const char *text = np_strtab_text(texts, like[i]);
		int64_t bytes = 0;
		size_t count = 0;

		if (like[i] == NP_STR_NONE)
			continue;
		for (size_t j = i;; j = next[j]) {
			ranks[count++] = run->ranks[j]->id;
			bytes += run->sources.item[j].bytes;
			like[j] = NP_STR_NONE;
			if (next[j] == j)
				break;
		}
		put_line(grid, text, ranks, count, bytes);
	}
}

/* Ranks that are alike share a line. */
static int put_ranks(const struct np_run *run, struct np_grid *grid, struct np_err *err)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *texts = np_strtab_new();
	size_t room = run->sources.count + 1;
	int64_t *ranks = malloc(room * sizeof(*ranks));
	np_str *like = malloc(room * sizeof(*like));
	size_t *last = malloc(room * sizeof(*last));
	size_t *next = malloc(room * sizeof(*next));
	int rc = texts && ranks && like && last && next ? describe_all(run, texts, like, err)
							: np_fail_nomem(err, "the list of ranks");

	if (rc == NP_OK) {
		/* There are at most as many texts as ranks. */
		memset(last, 0xff, room * sizeof(*last));
		link_lines(like, run->sources.count, last, next);
		put_lines(run, texts, like, next, ranks, grid);
	}
	free(next);
	free(last);
	free(like);
	free(ranks);
	return rc;
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
		return NP_MSG("both");
	return each->collective ? NP_MSG("collective") : "p2p";
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
	np_grid_cell(grid, np_lang_text(name_of_kind(each)));
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
	for (size_t i = 0; i < count && i < MAX_GROUPS; i++)
		put_group(section->grid, info->run, &info->cluster->communicators.item[i]);
	if (count > MAX_GROUPS)
		np_say(&section->text, "… and {1} more: -f json lists all\n",
		       NP_SAID_INT(count - MAX_GROUPS));
	return NP_OK;
}

/* Do two analyses miss the same, on the same ranks? */
static bool is_alike(const struct np_readiness *a, const struct np_readiness *b)
{
	return !a->ready && !b->ready && a->without == b->without &&
	       strcmp(a->missing, b->missing) == 0 && strcmp(a->cure, b->cure) == 0;
}

/* Was it said with one before it? */
static bool is_said(const struct info *info, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (is_alike(&info->analyses[i], &info->analyses[index]))
			return true;
	}
	return false;
}

/* What is ready on one line; what is not with its reason and its cure, which must not be cut. */
static void put_analyses(struct np_buf *text, const struct info *info)
{
	size_t used = np_run_used(info->run);
	size_t ready = 0;

	np_say(text, "ready: ");
	for (size_t i = 0; i < NP_ANALYSIS_COUNT; i++) {
		if (info->analyses[i].ready)
			np_buf_printf(text, "%s%s", ready++ > 0 ? np_lang_text(", ") : "",
				      np_lang_text(info->analyses[i].name));
	}
	np_buf_add(text, ready > 0 ? "\n" : np_lang_text("none\n"));
	for (size_t i = 0; i < NP_ANALYSIS_COUNT; i++) {
		const struct np_readiness *each = &info->analyses[i];

		if (each->ready || is_said(info, i))
			continue;
		np_say(text, each->without < used ? "in part: " : "no: ");
		for (size_t j = i; j < NP_ANALYSIS_COUNT; j++) {
			if (is_alike(each, &info->analyses[j]))
				np_buf_printf(text, "%s%s", j > i ? np_lang_text(", ") : "",
					      np_lang_text(info->analyses[j].name));
		}
		np_say(text, ": {1}; collect with {2}\n", NP_SAID_MSG(each->missing),
		       NP_SAID_MSG(each->cure));
	}
}

/* --- sampled counters, and what nobody knows ------------------------------------------------- */

/* A counter over all ranks and devices. */
struct counted {
	const struct np_counter *first;
	int64_t samples;
	double total;
	double worst; /* the mean, or the sum, of the rank that has most */
	int32_t worst_rank;
};

/* What counts of a counter: the mean of a level, the sum of what was counted. */
static double counted_value(const struct np_counter *counter)
{
	return counter->level && counter->samples > 0 ? counter->total / (double)counter->samples
						      : counter->total;
}

static void count_over_ranks(const struct np_run *run, struct counted *counted)
{
	const struct np_counter *like = counted->first;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->counters.count; j++) {
			const struct np_counter *each = &rank->counters.item[j];

			if (each->table != like->table || each->name != like->name)
				continue;
			counted->samples += each->samples;
			counted->total += each->total;
			if (counted->worst_rank == NP_NO_RANK ||
			    counted_value(each) > counted->worst) {
				counted->worst = counted_value(each);
				counted->worst_rank = rank->id;
			}
		}
	}
}

/* Is there a counter of the same table and name before this one? */
static bool counted_before(const struct np_run *run, size_t index, size_t at)
{
	const struct np_counter *like = &run->ranks[index]->counters.item[at];

	for (size_t i = 0; i <= index; i++) {
		const struct np_rank *rank = run->ranks[i];
		size_t end = !rank ? 0 : i < index ? rank->counters.count : at;

		for (size_t j = 0; j < end; j++) {
			if (rank->counters.item[j].table == like->table &&
			    rank->counters.item[j].name == like->name)
				return true;
		}
	}
	return false;
}

/* Sizes have their unit; other numbers as many digits as say something, and no exponent. */
static void put_quantity(struct np_grid *grid, const char *name, double value)
{
	if (name && np_text_begins(name, "size"))
		np_grid_bytes(grid, np_double_to_scaled(value, 1));
	else if (value >= 10000 || value <= -10000)
		np_grid_printf(grid, "%.0f", value);
	else
		np_grid_printf(grid, "%.4g", value);
}

static void put_counter(struct np_grid *grid, const struct np_run *run, const struct counted *each)
{
	bool level = each->first->level;
	double value =
		level && each->samples > 0 ? each->total / (double)each->samples : each->total;

	np_grid_cell(grid, np_run_text(run, each->first->table));
	np_grid_cell(grid, np_run_text(run, each->first->name));
	np_grid_cell(grid, np_lang_text(level ? "mean" : "sum"));
	put_quantity(grid, np_run_text(run, each->first->name), value);
	put_quantity(grid, np_run_text(run, each->first->name), each->worst);
	np_grid_printf(grid, "%" PRId32, each->worst_rank);
}

/* Counters of ports and the host's load first: they are so in each rank. */
static int put_counters_section(struct np_page *page, const struct info *info, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "sampled in", NP_LEFT, false }, { "quantity", NP_LEFT, true },
		{ "as", NP_LEFT, false },         { "all ranks", NP_RIGHT, false },
		{ "most", NP_RIGHT, false },      { "on rank", NP_RIGHT, false },
	};
	const struct np_run *run = info->run;
	struct np_grid *grid = NULL;

	for (size_t i = 0; i < run->sources.count; i++) {
		for (size_t j = 0; run->ranks[i] && j < run->ranks[i]->counters.count; j++) {
			struct counted counted = { .first = &run->ranks[i]->counters.item[j],
						   .worst_rank = NP_NO_RANK };

			if (counted_before(run, i, j))
				continue;
			count_over_ranks(run, &counted);
			/* Nothing of what should not be is no news. */
			if (!info->verbose && !(counted.total > 0))
				continue;
			if (!grid)
				grid = np_grid_new(columns, NP_COUNT(columns));
			if (!grid)
				return np_fail_nomem(err, "the list of counters");
			put_counter(grid, run, &counted);
		}
	}
	if (grid)
		np_page_add(page, "Sampled counters")->grid = grid;
	return NP_OK;
}

static bool has_unknown(const struct np_rank *rank, const struct np_unknown *like)
{
	for (size_t i = 0; rank && i < rank->unknowns.count; i++) {
		if (rank->unknowns.item[i].table == like->table &&
		    rank->unknowns.item[i].column == like->column)
			return true;
	}
	return false;
}

/* The ranks whose databases have it, as in "0-3"; false where one before `index` has it. */
static bool ranks_of_unknown(const struct np_run *run, size_t index, const struct np_unknown *like,
			     struct np_buf *ret)
{
	int64_t *ranks = malloc((run->sources.count + 1) * sizeof(*ranks));
	size_t count = 0;
	bool first = true;

	for (size_t i = 0; ranks && i < run->sources.count && first; i++) {
		if (!has_unknown(run->ranks[i], like))
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

/* Give each table or column that nobody knows to `take`, once, with its ranks. */
static void each_unknown(const struct np_run *run,
			 void (*take)(void *context, const char *table, const char *column,
				      const char *ranks),
			 void *context)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->unknowns.count; j++) {
			const struct np_unknown *each = &rank->unknowns.item[j];
			NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;

			if (ranks_of_unknown(run, i, each, &ranks) && ranks.text)
				take(context, np_run_text(run, each->table),
				     np_run_text(run, each->column), ranks.text);
		}
	}
}

static void put_unknown(void *context, const char *table, const char *column, const char *ranks)
{
	struct np_buf *text = context;

	np_say(text, column ? "column " : "table ");
	np_text_safe(text, table, strlen(table));
	if (column) {
		np_buf_add_char(text, '.');
		np_text_safe(text, column, strlen(column));
	}
	np_say(text, ": rank {1}\n", NP_SAID_TEXT(ranks));
}

static void count_unknown(void *context, const char *table, const char *column, const char *ranks)
{
	(void)table;
	(void)column;
	(void)ranks;
	++*(size_t *)context;
}

static void put_unknown_section(struct np_page *page, const struct info *info)
{
	struct np_section *section;
	size_t count = 0;

	each_unknown(info->run, count_unknown, &count);
	if (count == 0)
		return;
	section = np_page_add(page, "Not known");
	section->hang = 2;
	if (count == 1)
		np_say(&section->text, "1 table or column of a newer version is not read");
	else
		np_say(&section->text, "{1} tables or columns of a newer version are not read",
		       NP_SAID_INT(count));
	np_buf_add(&section->text,
		   info->verbose ? np_lang_text(":\n") : np_lang_text("; -v names them\n"));
	if (info->verbose)
		each_unknown(info->run, put_unknown, &section->text);
}

static void put_notes(struct np_page *page, const struct np_notes *notes)
{
	struct np_section *section = np_page_add(page, "Notes");

	for (size_t i = 0; i < notes->list.count; i++)
		notes_put_one(&section->text, &notes->list.item[i]);
	np_page_drop_empty(page);
}

/* A run without operators between ranks has no verdict, but steps and kernels. */
static int put_next(struct np_section *section, const struct info *info, struct np_err *err)
{
	section->grid = report_next_grid();
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	report_put_command(section->grid, info->report, "where the time goes:", "cluster", "");
	report_put_command(section->grid, info->report, "what to change:", "advisor", "");
	return NP_OK;
}

/* What it can answer, what to do next, what is there, and what was left out. */
static int build(struct np_page *page, const struct info *info, struct np_err *err)
{
	struct np_section *section;
	int rc;

	section = np_page_add(page, "Analyses");
	section->hang = 2;
	put_analyses(&section->text, info);
	rc = put_next(np_page_add(page, "Do next"), info, err);
	if (rc == NP_OK)
		rc = put_ranks_section(page, info, err);
	if (rc == NP_OK)
		rc = put_groups_section(page, info, err);
	if (rc == NP_OK && info->verbose)
		rc = info_put_layers(page, info->run, err);
	if (rc == NP_OK)
		rc = put_counters_section(page, info, err);
	put_unknown_section(page, info);
	put_notes(page, &info->run->notes);
	return rc;
}

static void put_head(struct np_buf *buf, const struct info *info)
{
	int32_t world = np_cluster_world(info->cluster);
	size_t used = np_run_used(info->run);
	int64_t bytes = 0;

	for (size_t i = 0; i < info->run->sources.count; i++)
		bytes += info->run->sources.item[i].bytes;
	np_text_safe(buf, info->input, strlen(info->input));
	if (world > 0)
		np_say(buf, used == 1 ? ": {1} rank of {2}, {3}" : ": {1} ranks of {2}, {3}",
		       NP_SAID_INT(used), NP_SAID_INT(world), NP_SAID_BYTES(bytes));
	else
		np_say(buf, used == 1 ? ": {1} rank, {2}" : ": {1} ranks, {2}", NP_SAID_INT(used),
		       NP_SAID_BYTES(bytes));
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

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_json_rank(struct np_jsonout *out, const struct np_run *run, size_t index)
{
	const struct np_source_files *source = &run->sources.item[index];
	const struct np_rank *rank = run->ranks[index];

	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "rank", rank->id);
	np_jsonout_text(out, "host", np_run_text(run, rank->host_name));
	np_jsonout_integer(out, "device", rank->device < 0 ? NP_UNKNOWN : rank->device);
	np_jsonout_text(out, "device_kind", np_rank_device_kind(rank));
	np_jsonout_text(out, "kind", np_kind_name(source->kind));
	np_jsonout_text(out, "format", form_of(source));
	np_jsonout_text(out, "level", np_run_text(run, rank->level));
	np_jsonout_object(out, "versions");
	np_jsonout_text(out, "cann", np_run_text(run, rank->cann_version));
	np_jsonout_text(out, "framework", np_run_text(run, rank->framework_version));
	np_jsonout_text(out, "schema", np_run_text(run, rank->schema_version));
	np_jsonout_end(out);
	np_jsonout_array(out, "steps");
	for (size_t i = 0; i < rank->steps.count; i++)
		np_jsonout_text(out, NULL, np_run_text(run, rank->steps.item[i].id));
	np_jsonout_end(out);
	np_jsonout_integer(out, "bytes", source->bytes);
	np_jsonout_object(out, "sources");
	np_jsonout_text(out, "step_times", np_source_name(rank->step_source));
	np_jsonout_text(out, "operators", np_source_name(rank->comm_source));
	np_jsonout_text(out, "exposed", np_source_name(rank->exposed_source));
	np_jsonout_end(out);
	np_jsonout_text(out, "path", rank->path);
	np_jsonout_text(out, "rank_from",
			np_rank_from_name(source->rank_from) ? np_rank_from_name(source->rank_from)
							     : "file");
	info_put_layers_json(out, rank);
	np_jsonout_end(out);
}

static void put_json_group(struct np_jsonout *out, const struct np_run *run,
			   const struct np_communicator *each)
{
	char hash[24];

	(void)snprintf(hash, sizeof(hash), "%" PRIu64, each->hash);
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "group", hash);
	np_jsonout_text(out, "name", np_run_text(run, each->name));
	np_jsonout_text(out, "pg_name", np_run_text(run, each->pg_name));
	np_jsonout_text(out, "type", each->collective ? "collective" : "p2p");
	if (each->members) {
		np_jsonout_array(out, "ranks");
		for (size_t i = 0; i < each->member_count; i++)
			np_jsonout_integer(out, NULL, each->members[i]);
		np_jsonout_end(out);
	} else {
		np_jsonout_null(out, "ranks");
	}
	np_jsonout_array(out, "observed");
	for (size_t i = 0; i < each->observed_count; i++)
		np_jsonout_integer(out, NULL, each->observed[i]);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_json_unknown(void *context, const char *table, const char *column,
			     const char *ranks)
{
	struct np_jsonout *out = context;

	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "table", table);
	np_jsonout_text(out, "column", column);
	np_jsonout_text(out, "ranks", ranks);
	np_jsonout_end(out);
}

static void put_json_counters(struct np_jsonout *out, const struct np_run *run)
{
	np_jsonout_array(out, "counters");
	for (size_t i = 0; i < run->sources.count; i++) {
		for (size_t j = 0; run->ranks[i] && j < run->ranks[i]->counters.count; j++) {
			const struct np_counter *each = &run->ranks[i]->counters.item[j];

			np_jsonout_object_line(out, NULL);
			np_jsonout_integer(out, "rank", run->ranks[i]->id);
			np_jsonout_integer(out, "device",
					   each->device < 0 ? NP_UNKNOWN : each->device);
			np_jsonout_text(out, "table", np_run_text(run, each->table));
			np_jsonout_text(out, "name", np_run_text(run, each->name));
			np_jsonout_integer(out, "samples", each->samples);
			np_jsonout_real(out, each->level ? "mean" : "sum", counted_value(each));
			np_jsonout_real(out, "most", each->most);
			np_jsonout_end(out);
		}
	}
	np_jsonout_end(out);
}

int info_json(const struct info *info, FILE *stream, struct np_err *err)
{
	const struct np_run *run = info->run;
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.info/1");
	put_input_json(&out, run, info->cluster, info->input, NULL);
	put_steps_from_json(&out, run);
	np_jsonout_array(&out, "ranks");
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i])
			put_json_rank(&out, run, i);
	}
	np_jsonout_end(&out);
	np_jsonout_array(&out, "groups");
	for (size_t i = 0; i < info->cluster->communicators.count; i++)
		put_json_group(&out, run, &info->cluster->communicators.item[i]);
	np_jsonout_end(&out);
	np_jsonout_array(&out, "analyses");
	for (size_t i = 0; i < NP_ANALYSIS_COUNT; i++) {
		np_jsonout_object_line(&out, NULL);
		np_jsonout_text(&out, "name", info->analyses[i].name);
		np_jsonout_bool(&out, "ready", info->analyses[i].ready);
		np_jsonout_text(&out, "missing",
				info->analyses[i].ready ? NULL : info->analyses[i].missing);
		np_jsonout_text(&out, "switch", info->analyses[i].cure);
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	put_json_counters(&out, run);
	np_jsonout_array(&out, "unknown");
	each_unknown(run, put_json_unknown, &out);
	np_jsonout_end(&out);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}

/* --- CSV ------------------------------------------------------------------------------------- */

static int put_rank_row(const struct np_run *run, size_t index, struct np_sink *sink,
			struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf steps = NP_BUF_INIT;
	const struct np_source_files *source = &run->sources.item[index];
	const struct np_rank *rank = run->ranks[index];

	put_steps(&steps, run, rank, in_english);
	if (np_buf_check(&steps, err) < 0)
		return err->code;
	return np_sink_row(sink,
			   (const struct np_cell[]){
				   np_cell_integer(rank->id),
				   np_cell_text(np_run_text(run, rank->host_name)),
				   np_cell_integer(rank->device < 0 ? NP_UNKNOWN : rank->device),
				   np_cell_text(np_kind_name(source->kind)),
				   np_cell_text(form_of(source)),
				   np_cell_text(np_run_text(run, rank->level)),
				   np_cell_text(np_run_text(run, rank->cann_version)),
				   np_cell_text(np_run_text(run, rank->framework_version)),
				   np_cell_text(np_run_text(run, rank->schema_version)),
				   np_cell_text(steps.text),
				   np_cell_integer(source->bytes),
				   np_cell_text(np_source_name(rank->step_source)),
				   np_cell_text(np_source_name(rank->comm_source)),
				   np_cell_text(np_source_name(rank->exposed_source)),
				   np_cell_text(rank->path),
			   },
			   err);
}

static int produce_ranks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_run *run = ((const struct info *)model)->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++)
		rc = run->ranks[i] ? put_rank_row(run, i, sink, err) : NP_OK;
	return rc;
}

/* Ranks as in "0-3,7"; not known: no cell. */
static struct np_cell rank_cell(struct np_buf *buf, const int32_t *ranks, size_t count)
{
	int64_t *wide = malloc((count + 1) * sizeof(*wide));

	for (size_t i = 0; wide && i < count; i++)
		wide[i] = ranks[i];
	buf->failed |= !wide;
	if (wide && ranks)
		np_ranges_format(buf, wide, count);
	free(wide);
	return ranks && buf->text ? np_cell_text(buf->text) : np_cell_null();
}

static int put_group_row(const struct np_run *run, const struct np_communicator *each,
			 struct np_sink *sink, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf observed = NP_BUF_INIT;
	char hash[24];
	const struct np_cell cells[] = {
		np_cell_bytes(hash, (size_t)snprintf(hash, sizeof(hash), "%" PRIu64, each->hash)),
		np_cell_text(np_run_text(run, each->name)),
		np_cell_text(np_run_text(run, each->pg_name)),
		np_cell_text(each->collective ? "collective" : "p2p"),
		rank_cell(&members, each->members, each->member_count),
		rank_cell(&observed, each->observed, each->observed_count),
	};

	if (np_buf_check(&members, err) < 0 || np_buf_check(&observed, err) < 0)
		return err->code;
	return np_sink_row(sink, cells, err);
}

static int produce_groups(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct info *info = model;
	int rc = NP_OK;

	for (size_t i = 0; i < info->cluster->communicators.count && rc == NP_OK; i++)
		rc = put_group_row(info->run, &info->cluster->communicators.item[i], sink, err);
	return rc;
}

static int produce_analyses(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct info *info = model;
	int rc = NP_OK;

	for (size_t i = 0; i < NP_ANALYSIS_COUNT && rc == NP_OK; i++) {
		const struct np_readiness *each = &info->analyses[i];
		const struct np_cell cells[] = {
			np_cell_text(each->name),
			np_cell_integer(each->ready),
			np_cell_text(each->ready ? NULL : each->missing),
			np_cell_text(each->cure),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column rank_columns[] = {
	{ "rank", NP_INTEGER },   { "host", NP_TEXT },      { "device", NP_INTEGER },
	{ "kind", NP_TEXT },      { "format", NP_TEXT },    { "level", NP_TEXT },
	{ "cann", NP_TEXT },      { "framework", NP_TEXT }, { "schema", NP_TEXT },
	{ "steps", NP_TEXT },     { "bytes", NP_INTEGER },  { "step_times", NP_TEXT },
	{ "operators", NP_TEXT }, { "exposed", NP_TEXT },   { "path", NP_TEXT },
};
static const struct np_column group_columns[] = {
	{ "group", NP_TEXT }, { "name", NP_TEXT },  { "pg_name", NP_TEXT },
	{ "type", NP_TEXT },  { "ranks", NP_TEXT }, { "observed", NP_TEXT },
};
static const struct np_column analysis_columns[] = {
	{ "name", NP_TEXT },
	{ "ready", NP_INTEGER },
	{ "missing", NP_TEXT },
	{ "switch", NP_TEXT },
};

const struct np_relation info_tables[INFO_TABLES] = {
	[INFO_RANKS] = { .name = "ranks",
			 .summary = "the ranks and where their figures come from",
			 .columns = rank_columns,
			 .column_count = NP_COUNT(rank_columns),
			 .produce = produce_ranks },
	[INFO_GROUPS] = { .name = "groups",
			  .summary = "the communicators",
			  .columns = group_columns,
			  .column_count = NP_COUNT(group_columns),
			  .produce = produce_groups },
	[INFO_ANALYSES] = { .name = "analyses",
			    .summary = "what the data can feed, and what is missing",
			    .columns = analysis_columns,
			    .column_count = NP_COUNT(analysis_columns),
			    .produce = produce_analyses },
};
