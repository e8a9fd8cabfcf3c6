/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prepare/input_json.h"
#include "info_report.h"

#include "npuprof/jsonout.h"
#include "npuprof/ranges.h"
#include "npuprof/relation.h"

#include <inttypes.h>

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
	np_jsonout_text(out, "format", info_form(source));
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

int info_json(const struct info *info, FILE *stream, struct np_err *err)
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
		np_jsonout_text(&out, "name", info->analyses[i].name);
		np_jsonout_bool(&out, "ready", info->analyses[i].ready);
		np_jsonout_text(&out, "missing",
				info->analyses[i].ready ? NULL : info->analyses[i].missing);
		np_jsonout_text(&out, "switch", info->analyses[i].cure);
		np_jsonout_end(&out);
	}
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

	info_put_steps(&steps, run, rank);
	if (np_buf_check(&steps, err) < 0)
		return err->code;
	return np_sink_row(sink,
			   (const struct np_cell[]){
				   np_cell_integer(rank->id),
				   np_cell_text(np_run_text(run, rank->host_name)),
				   np_cell_integer(rank->device < 0 ? NP_UNKNOWN : rank->device),
				   np_cell_text(np_kind_name(source->kind)),
				   np_cell_text(info_form(source)),
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
