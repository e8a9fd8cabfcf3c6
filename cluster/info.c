/* SPDX-License-Identifier: Apache-2.0 */
#include "info.h"
#include "input_json.h"
#include "report_screen.h"

#include "npuprof/grid.h"
#include "npuprof/jsonout.h"
#include "npuprof/ranges.h"
#include "npuprof/readiness.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* "db", "text" or both: which of the two forms the files of a rank have. */
static const char *form_of(const struct np_source_files *source)
{
	bool db = source->file[NP_FILE_RANK_DB] || source->file[NP_FILE_ANALYSIS_DB];
	bool text = source->file[NP_FILE_TRACE] || source->file[NP_FILE_KERNELS] ||
		    source->file[NP_FILE_STEP_TRACE] || source->file[NP_FILE_COMM];

	return db && text ? "db+text" : db ? "db" : "text";
}

/* The ids of a rank's steps, folded where they are numbers. */
static void put_steps(struct np_buf *buf, const struct np_run *run, const struct np_rank *rank)
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

/* --- screen ---------------------------------------------------------------------------------- */

/* What ranks that are alike share; a line of the list is a run of such ranks. */
static void describe(struct np_buf *buf, const struct np_run *run, size_t index)
{
	const struct np_rank *rank = run->ranks[index];
	const char *level = np_run_text(run, rank->level);
	const char *host = np_run_text(run, rank->host_name);

	np_buf_printf(buf, "%s %s\t%s\t%s\t", np_kind_name(run->sources.item[index].kind),
		      form_of(&run->sources.item[index]), level ? level : "?", host ? host : "?");
	put_steps(buf, run, rank);
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

static void put_title(struct np_buf *buf, const char *title, bool color)
{
	np_buf_printf(buf, color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

static int put_ranks_section(const struct info *info, struct np_buf *buf, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "ranks", NP_LEFT, true },          { "format", NP_LEFT, false },
		{ "level", NP_LEFT, false },         { "host", NP_LEFT, true },
		{ "steps", NP_LEFT, true },          { "step times from", NP_LEFT, true },
		{ "operators from", NP_LEFT, true }, { "size", NP_RIGHT, false },
	};
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));
	int rc;

	if (!grid)
		return np_fail_nomem(err, "the list of ranks");
	rc = put_ranks(info->run, grid, err);
	put_title(buf, "Ranks", info->color);
	return rc < 0 ? rc : np_grid_write(grid, buf, 2, info->width, info->color, err);
}

static int put_groups_section(const struct info *info, struct np_buf *buf, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "communicator", NP_LEFT, false },
		{ "kind", NP_LEFT, false },
		{ "ranks", NP_LEFT, true },
		{ "name", NP_LEFT, true },
	};
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));
	const struct np_cluster *cluster = info->cluster;

	if (!grid)
		return np_fail_nomem(err, "the list of communicators");
	if (cluster->communicators.count == 0)
		return NP_OK;
	for (size_t i = 0; i < cluster->communicators.count && i < INFO_MAX_GROUPS; i++) {
		const struct np_communicator *each = &cluster->communicators.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
		const char *pg_name = np_run_text(info->run, each->pg_name);
		const char *name = np_run_text(info->run, each->name);

		report_put_ranks(&ranks, each);
		if (pg_name)
			np_grid_cell(grid, pg_name);
		else
			np_grid_printf(grid, "%" PRIu64, each->hash);
		np_grid_cell(grid, each->collective && each->p2p ? "both"
				   : each->collective            ? "collective"
								 : "p2p");
		np_grid_cell(grid, ranks.text);
		np_grid_cell(grid, name ? name : "?");
	}
	put_title(buf, "Communicators", info->color);
	if (np_grid_write(grid, buf, 2, info->width, info->color, err) < 0)
		return err->code;
	if (cluster->communicators.count > INFO_MAX_GROUPS)
		np_buf_printf(buf, "  … and %zu more: -f json lists all\n",
			      cluster->communicators.count - INFO_MAX_GROUPS);
	return NP_OK;
}

/* What is ready on one line; what is not with its reason and its cure, which must not be cut. */
static void put_analyses_section(const struct info *info, const struct np_readiness *analyses,
				 struct np_buf *buf)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;
	size_t used = np_run_used(info->run);

	put_title(buf, "Analyses", info->color);
	for (size_t i = 0; i < NP_ANALYSIS_COUNT; i++) {
		if (analyses[i].ready)
			np_buf_printf(&line, "%s%s",
				      line.length ? ", " : "ready: ", analyses[i].name);
	}
	np_buf_add(buf, "  ");
	np_text_wrap(buf, line.length ? line.text : "ready: none", 2, info->width);
	for (size_t i = 0; i < NP_ANALYSIS_COUNT; i++) {
		if (analyses[i].ready)
			continue;
		np_buf_clear(&line);
		np_buf_printf(&line, "%s: %s: %s; collect with %s",
			      analyses[i].without < used ? "in part" : "no", analyses[i].name,
			      analyses[i].missing, analyses[i].cure);
		np_buf_add(buf, "  ");
		np_text_wrap(buf, line.text, 4, info->width);
	}
}

static void put_notes(const struct info *info, struct np_buf *buf)
{
	const struct np_notes *notes = &info->run->notes;
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	if (notes->list.count == 0)
		return;
	put_title(buf, "Notes", info->color);
	for (size_t i = 0; i < notes->list.count; i++) {
		np_buf_clear(&line);
		report_put_note(&line, &notes->list.item[i]);
		np_text_lines(buf, line.text, 2, info->width);
	}
}

int info_screen(const struct info *info, const struct np_readiness *analyses, struct np_buf *buf,
		struct np_err *err)
{
	int32_t world = np_cluster_world(info->cluster);
	int64_t bytes = 0;
	int rc;

	for (size_t i = 0; i < info->run->sources.count; i++)
		bytes += info->run->sources.item[i].bytes;
	np_text_safe(buf, info->input, strlen(info->input));
	np_buf_printf(buf, ": %zu ranks", np_run_used(info->run));
	if (world > 0)
		np_buf_printf(buf, " of %" PRId32, world);
	np_buf_add(buf, ", ");
	np_text_bytes(buf, bytes);
	np_buf_add_char(buf, '\n');
	put_notes(info, buf);
	rc = put_ranks_section(info, buf, err);
	if (rc == NP_OK)
		rc = put_groups_section(info, buf, err);
	put_analyses_section(info, analyses, buf);
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

int info_json(const struct info *info, const struct np_readiness *analyses, FILE *stream,
	      struct np_err *err)
{
	const struct np_run *run = info->run;
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.info/1");
	put_input_json(&out, run, info->cluster, info->input, NULL);
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
		np_jsonout_text(&out, "name", analyses[i].name);
		np_jsonout_bool(&out, "ready", analyses[i].ready);
		np_jsonout_text(&out, "missing", analyses[i].ready ? NULL : analyses[i].missing);
		np_jsonout_text(&out, "switch", analyses[i].cure);
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}
