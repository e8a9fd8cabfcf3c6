/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/modes/common/export_kernels.h"

#include "npuprof/dirs.h"
#include "npuprof/temporary.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * api_statistic.csv and kernel_details.csv of each rank, for people who have
 * databases and want the text files. They are written below the output directory
 * and never into the profile.
 */
#define MODE "export_summary"

struct written {
	size_t calls;
	size_t kernels;
};

/* --- files ----------------------------------------------------------------------------------- */

typedef int producer(struct mode_rank *rank, struct np_sink *sink, size_t *ret_rows);

/* A relation whose rows come from a rank. */
struct csv {
	struct mode_rank *rank;
	producer *produce;
	size_t rows;
};

static int produce(const void *model, struct np_sink *sink, struct np_err *err)
{
	struct csv *const *csv = model;

	(void)err;
	return (*csv)->produce((*csv)->rank, sink, &(*csv)->rows);
}

/* --- calls ----------------------------------------------------------------------------------- */

static const struct np_column api_columns[] = {
	{ "API Name", NP_TEXT },        { "Total Time(ns)", NP_INTEGER },
	{ "Count", NP_INTEGER },        { "Avg Time(ns)", NP_REAL },
	{ "Min Time(ns)", NP_INTEGER }, { "Max Time(ns)", NP_INTEGER },
};

/* The calls of one function. */
struct function {
	np_str name; /* of the detail */
	int64_t count;
	int64_t total;
	int64_t least;
	int64_t most;
};

static void add_call(struct function *function, const struct np_call *call)
{
	int64_t time = call->end - call->start;

	if (function->count == 0 || time < function->least)
		function->least = time;
	if (function->count == 0 || time > function->most)
		function->most = time;
	function->name = call->name;
	function->count++;
	function->total = samples_plus(function->total, time);
}

static int by_total(const void *left, const void *right, void *context)
{
	const struct function *a = left;
	const struct function *b = right;

	if (a->total != b->total)
		return np_order(b->total, a->total);
	return strcmp(np_strtab_text(context, a->name), np_strtab_text(context, b->name));
}

static int put_functions(struct mode_rank *rank, struct np_sink *sink, struct np_strtab *strings,
			 struct function *functions, size_t count)
{
	int rc = NP_OK;

	if (count > 0)
		qsort_r(functions, count, sizeof(*functions), by_total, strings);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const struct function *each = &functions[i];

		rc = np_sink_row(
			sink,
			(const struct np_cell[NP_COUNT(api_columns)]){
				np_cell_text(each->name == NP_STR_NONE
						     ? "N/A"
						     : np_strtab_text(strings, each->name)),
				np_cell_integer(each->total), np_cell_integer(each->count),
				np_cell_real((double)each->total / (double)each->count),
				np_cell_integer(each->least), np_cell_integer(each->most) },
			rank->err);
	}
	return rc;
}

static int put_calls(struct mode_rank *rank, struct np_sink *sink, size_t *ret_rows)
{
	size_t texts = np_strtab_count(rank->detail->strings) + 2;
	struct function *functions = calloc(texts, sizeof(*functions)); /* by id of the name */
	size_t used = 0;
	int rc;

	if (!functions)
		return np_fail_nomem(rank->err, MODE);
	for (size_t i = 0; i < rank->detail->calls.count; i++) {
		const struct np_call *call = &rank->detail->calls.item[i];

		if (mode_takes(rank, call->step))
			add_call(&functions[call->name], call);
	}
	for (size_t i = 0; i < texts; i++) {
		if (functions[i].count > 0)
			functions[used++] = functions[i];
	}
	rc = put_functions(rank, sink, rank->detail->strings, functions, used);
	free(functions);
	*ret_rows = used;
	return rc;
}

static int by_name(const void *left, const void *right)
{
	return np_order(((const struct function *)left)->name,
			((const struct function *)right)->name);
}

/* What the profiler itself has summed up has a row for each level of a function. */
static void add_sum(struct function *function, const struct function *of)
{
	function->count += of->count;
	function->total = samples_plus(function->total, of->total);
	if (of->least < function->least)
		function->least = of->least;
	if (of->most > function->most)
		function->most = of->most;
}

/* Without single calls, what api_statistic.csv of the profile says about them. */
static int put_sums(struct mode_rank *rank, struct np_sink *sink, size_t *ret_rows)
{
	const struct np_rank *from = rank->rank;
	struct function *functions = calloc(from->calls.count + 1, sizeof(*functions));
	size_t count = 0;
	size_t used = 0;
	int rc;

	if (!functions)
		return np_fail_nomem(rank->err, MODE);
	for (size_t i = 0; i < from->calls.count; i++) {
		const struct np_statistic *of = &from->calls.item[i];

		if (of->count > 0)
			functions[count++] = (struct function){ of->name, of->count, of->total,
								of->least, of->most };
	}
	qsort(functions, count, sizeof(*functions), by_name);
	for (size_t i = 0; i < count; i++) {
		if (used > 0 && functions[used - 1].name == functions[i].name)
			add_sum(&functions[used - 1], &functions[i]);
		else
			functions[used++] = functions[i];
	}
	rc = put_functions(rank, sink, rank->run->strings, functions, used);
	free(functions);
	*ret_rows = used;
	return rc;
}

static const struct np_relation api_relation = {
	.name = "api_statistic",
	.columns = api_columns,
	.column_count = NP_COUNT(api_columns),
	.produce = produce,
};

/* --- kernels --------------------------------------------------------------------------------- */

static int put_kernels(struct mode_rank *rank, struct np_sink *sink, size_t *ret_rows)
{
	return export_kernels(rank, (struct np_text_sink *)sink, ret_rows);
}

/*
 * The name that the profiler's file has for a counter: times are in µs there, and the
 * two that are of all pipes have names of their own.
 */
static const char *counter_title(struct mode_rank *rank, np_str name, struct np_arena *arena)
{
	const char *text = np_strtab_text(rank->detail->strings, name);
	NP_CLEANUP(np_buf_release) struct np_buf title = NP_BUF_INIT;

	if (!export_is_time(text))
		return text;
	if (strcmp(text, "aic_total_time") == 0)
		text = "aicore_time";
	if (strcmp(text, "aiv_total_time") == 0)
		text = "aiv_time";
	np_buf_printf(&title, "%s(us)", text);
	return title.failed ? NULL : np_arena_text(arena, title.text, title.length);
}

/* The columns depend on the counters that were recorded. */
static int write_kernels(struct csv *csv, const char *path)
{
	const struct np_detail *detail = csv->rank->detail;
	struct np_column *columns =
		calloc(EXPORT_KERNEL_COLUMNS + detail->pmu_count, sizeof(*columns));
	NP_CLEANUP(np_arena_freep) struct np_arena *arena = np_arena_new();
	struct np_relation relation = { .name = "kernel_details",
					.columns = columns,
					.column_count = EXPORT_KERNEL_COLUMNS + detail->pmu_count,
					.produce = produce };
	bool whole = columns && arena;
	int rc;

	if (columns)
		memcpy(columns, export_kernel_columns, sizeof(export_kernel_columns));
	for (size_t i = 0; i < detail->pmu_count && whole; i++) {
		const char *title = counter_title(csv->rank, detail->pmu_names[i], arena);

		columns[EXPORT_KERNEL_COLUMNS + i] = (struct np_column){ title, NP_REAL };
		whole = title != NULL;
	}
	rc = whole ? np_csv_write_file(&relation, &csv, path, csv->rank->err)
		   : np_fail_nomem(csv->rank->err, path);
	free(columns);
	return rc;
}

/* --- a rank ---------------------------------------------------------------------------------- */

/* Sums are those of all steps. */
static bool has_sums(const struct mode_rank *rank)
{
	return rank->rank->calls.count > 0 && !rank->modes->options.steps_chosen;
}

static int write_rank(struct mode_rank *rank, const char *directory, struct written *written)
{
	bool single = (rank->detail->has & NP_DETAIL_CALLS) != 0;
	struct csv calls = { rank, single ? put_calls : put_sums, 0 };
	struct csv kernels = { rank, put_kernels, 0 };
	char *path;
	int rc = np_make_dirs(directory, rank->err);

	if (rc == NP_OK && (single || has_sums(rank))) {
		if (asprintf(&path, "%s/api_statistic.csv", directory) < 0)
			return np_fail_nomem(rank->err, MODE);
		rc = np_csv_write_file(&api_relation, &(struct csv *){ &calls }, path, rank->err);
		free(path);
	}
	if (rc == NP_OK) {
		if (asprintf(&path, "%s/kernel_details.csv", directory) < 0)
			return np_fail_nomem(rank->err, MODE);
		rc = write_kernels(&kernels, path);
		free(path);
	}
	*written = (struct written){ calls.rows, kernels.rows };
	return rc;
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct written *written = calloc(1, sizeof(*written));
	char *directory;
	int rc;

	(void)prepared;
	if (!written)
		return np_fail_nomem(rank->err, MODE);
	if (asprintf(&directory, "%s/" MODE "/rank_%d", rank->modes->options.directory,
		     rank->rank->id) < 0) {
		free(written);
		return np_fail_nomem(rank->err, MODE);
	}
	rc = write_rank(rank, directory, written);
	free(directory);
	/* Files that could not be written are not listed. */
	if (rc == NP_OK)
		*ret = written;
	else
		free(written);
	return rc;
}

static const struct np_column columns[] = {
	{ "rankId", NP_INTEGER },
	{ "file", NP_TEXT },
	{ "rows", NP_INTEGER },
};

static int put_file(struct np_modes *modes, struct np_mode_table *table, size_t index,
		    const char *name, size_t rows, struct np_err *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), MODE "/rank_%d/%s", mode_rank_id(modes, index), name);
	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(columns)]){
				np_cell_integer(mode_rank_id(modes, index)), np_cell_text(path),
				np_cell_integer((int64_t)rows) },
			err);
}

static bool has_no_calls(const void *result)
{
	return ((const struct written *)result)->calls == 0;
}

static int note_calls(struct np_modes *modes, void *const *ranks, struct np_err *err)
{
	return mode_note_results(modes, MODE, ranks, has_no_calls,
				 "no api_statistic.csv, for there are no calls of CANN (collect a"
				 " database, or a trace at Level1)",
				 err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table = MODE_TABLE(
		modes, MODE, "ExportSummary",
		"files written beside the database, and how many rows they have", columns, err);
	int rc = table ? note_calls(modes, ranks, err) : NP_E_NOMEM;

	(void)prepared;
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct written *written = ranks[i];

		if (!written)
			continue;
		if (written->calls > 0)
			rc = put_file(modes, table, i, "api_statistic.csv", written->calls, err);
		if (rc == NP_OK)
			rc = put_file(modes, table, i, "kernel_details.csv", written->kernels, err);
	}
	return rc;
}

const struct mode mode_export_summary = {
	.name = MODE,
	.summary = "api_statistic.csv and kernel_details.csv of each rank",
	.devices = MODE_DEVICES_APART,
	.wants = NP_DETAIL_KERNELS | NP_DETAIL_PMU | NP_DETAIL_CALLS,
	.needs = NP_DETAIL_KERNELS,
	.reduce = reduce,
	.merge = merge,
	.release = free,
};
