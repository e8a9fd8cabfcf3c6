/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

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

static int make_directory(const char *path, struct np_err *err)
{
	char *copy = strdup(path);
	int failed = 0;

	if (!copy)
		return np_fail_nomem(err, path);
	for (char *slash = strchr(copy + 1, '/'); slash && !failed;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		failed = mkdir(copy, 0777) < 0 && errno != EEXIST ? errno : 0;
		*slash = '/';
	}
	if (!failed)
		failed = mkdir(copy, 0777) < 0 && errno != EEXIST ? errno : 0;
	free(copy);
	return failed ? np_fail(err, NP_E_IO, "cannot make the directory '%s': %s", path,
				strerror(failed))
		      : NP_OK;
}

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

/* Under a temporary name first, so that a crash leaves no half of a file. */
static int write_csv(struct csv *csv, const struct np_relation *relation, const char *path)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct np_err *err = csv->rank->err;
	struct np_text_sink sink;
	char *temporary;
	FILE *stream;
	int rc;

	if (asprintf(&temporary, "%s.tmp%d", path, (int)getpid()) < 0)
		return np_fail_nomem(err, path);
	stream = fopen(temporary, "we");
	if (!stream) {
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", temporary, strerror(errno));
		free(temporary);
		return rc;
	}
	np_csv_sink_init(&sink, &buf, stream);
	rc = np_relation_write(relation, &csv, &sink.base, err);
	if (fclose(stream) != 0 && rc == NP_OK)
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerror(errno));
	if (rc == NP_OK && rename(temporary, path) < 0)
		rc = np_fail(err, NP_E_IO, "cannot rename '%s': %s", temporary, strerror(errno));
	if (rc < 0)
		(void)unlink(temporary);
	free(temporary);
	return rc;
}

/* --- calls ----------------------------------------------------------------------------------- */

static const struct np_column api_columns[] = {
	{ "API Name", NP_TEXT },        { "Total Time(ns)", NP_INTEGER },
	{ "Count", NP_INTEGER },        { "Avg Time(ns)", NP_REAL },
	{ "Min Time(ns)", NP_INTEGER }, { "Max Time(ns)", NP_INTEGER },
};

static int put_calls(struct mode_rank *rank, struct np_sink *sink, size_t *ret_rows)
{
	struct grouping calls;
	uint32_t *order = NULL;
	int rc = grouping_init(&calls, 1, rank->err);

	for (size_t i = 0; i < rank->detail->calls.count && rc == NP_OK; i++) {
		const struct np_call *call = &rank->detail->calls.item[i];
		struct group *group;
		np_str name;

		if (!mode_takes(rank, call->step))
			continue;
		rc = mode_text(rank, call->name, &name);
		group = rc == NP_OK ? grouping_find(&calls, &name, rank->err) : NULL;
		rc = group ? samples_add(&group->samples, call->end - call->start, rank->err)
			   : NP_E_NOMEM;
	}
	if (rc == NP_OK)
		order = grouping_by_sum(rank->modes, &calls, rank->err);
	if (rc == NP_OK && !order)
		rc = NP_E_NOMEM;
	for (size_t i = 0; i < calls.list.count && rc == NP_OK; i++, (*ret_rows)++) {
		struct group *group = &calls.list.item[order[i]];
		struct summary summary = samples_describe(&group->samples);

		rc = np_sink_row(sink,
				 (const struct np_cell[NP_COUNT(api_columns)]){
					 mode_name_cell(rank->modes, group->key[0]),
					 np_cell_integer(summary.sum),
					 np_cell_integer((int64_t)summary.count),
					 np_cell_real(summary.mean), np_cell_integer(summary.min),
					 np_cell_integer(summary.max) },
				 rank->err);
	}
	free(order);
	grouping_release(&calls);
	return rc;
}

static const struct np_relation api_relation = {
	.name = "api_statistic",
	.columns = api_columns,
	.column_count = NP_COUNT(api_columns),
	.produce = produce,
};

/* --- kernels --------------------------------------------------------------------------------- */

static const struct np_column kernel_columns[] = {
	{ "Step Id", NP_TEXT },
	{ "Device_id", NP_INTEGER },
	{ "Task ID", NP_INTEGER },
	{ "Stream ID", NP_INTEGER },
	{ "Name", NP_TEXT },
	{ "Type", NP_TEXT },
	{ "OP State", NP_TEXT },
	{ "Accelerator Core", NP_TEXT },
	{ "Start Time(us)", NP_TEXT },
	{ "Duration(us)", NP_TEXT },
	{ "Wait Time(us)", NP_TEXT },
	{ "Block Num", NP_INTEGER },
	{ "Mix Block Num", NP_INTEGER },
	{ "Input Shapes", NP_TEXT },
	{ "Input Data Types", NP_TEXT },
	{ "Input Formats", NP_TEXT },
	{ "Output Shapes", NP_TEXT },
	{ "Output Data Types", NP_TEXT },
	{ "Output Formats", NP_TEXT },
};

#define KERNEL_COLUMNS NP_COUNT(kernel_columns)

/* µs with all digits. */
struct us {
	char text[32];
};

static struct np_cell us_cell(struct us *us, np_ns time)
{
	if (time == NP_UNKNOWN)
		return np_cell_null();
	return np_cell_text(mode_us_text(time, us->text, sizeof(us->text)));
}

static struct np_cell text_cell(const struct np_detail *detail, np_str text)
{
	const char *value = np_detail_text(detail, text);

	return np_cell_text(value ? value : "N/A");
}

static struct np_cell step_cell(const struct mode_rank *rank, uint32_t step)
{
	return step == NP_NO_STEP
		       ? np_cell_null()
		       : np_cell_text(np_run_text(rank->run, rank->rank->steps.item[step].id));
}

static struct np_cell device_cell(int32_t device)
{
	return device < 0 ? np_cell_null() : np_cell_integer(device);
}

static int put_kernel(struct mode_rank *rank, struct np_sink *sink, size_t index,
		      struct np_cell *cells)
{
	const struct np_detail *detail = rank->detail;
	const struct np_kernel *kernel = &detail->kernels.item[index];
	struct us start;
	struct us time;
	struct us wait;
	const struct np_cell row[KERNEL_COLUMNS] = {
		step_cell(rank, kernel->step),          device_cell(kernel->device),
		np_cell_integer(kernel->task_id),       np_cell_integer(kernel->stream),
		text_cell(detail, kernel->name),        text_cell(detail, kernel->type),
		text_cell(detail, kernel->state),       text_cell(detail, kernel->core),
		us_cell(&start, kernel->start),         us_cell(&time, kernel->end - kernel->start),
		us_cell(&wait, kernel->wait),           np_cell_integer(kernel->block_dim),
		np_cell_integer(kernel->mix_block_dim), text_cell(detail, kernel->in_shapes),
		text_cell(detail, kernel->in_dtypes),   text_cell(detail, kernel->in_formats),
		text_cell(detail, kernel->out_shapes),  text_cell(detail, kernel->out_dtypes),
		text_cell(detail, kernel->out_formats),
	};

	memcpy(cells, row, sizeof(row));
	for (size_t i = 0; i < detail->pmu_count; i++)
		cells[KERNEL_COLUMNS + i] =
			np_cell_real(detail->pmu[index * detail->pmu_count + i]);
	return np_sink_row(sink, cells, rank->err);
}

static int put_op(struct mode_rank *rank, struct np_sink *sink, const struct np_comm_op *op,
		  np_ns wait_time, struct np_cell *cells)
{
	struct us start;
	struct us time;
	struct us wait;

	for (size_t i = 0; i < KERNEL_COLUMNS + rank->detail->pmu_count; i++)
		cells[i] = i >= 13 && i < KERNEL_COLUMNS ? np_cell_text("N/A") : np_cell_null();
	cells[0] = step_cell(rank, op->step);
	cells[1] = device_cell(op->device);
	cells[4] = np_cell_text(np_run_text(rank->run, op->name));
	cells[5] = np_cell_text(np_run_text(rank->run, op->type));
	cells[6] = np_cell_text("N/A");
	cells[7] = np_cell_text("COMMUNICATION");
	cells[8] = us_cell(&start, op->start);
	cells[9] = us_cell(&time, op->end - op->start);
	cells[10] = us_cell(&wait, wait_time);
	return np_sink_row(sink, cells, rank->err);
}

/* Kernels and operators by start. Wait: from the end of the row before to this start. */
static int put_kernels(struct mode_rank *rank, struct np_sink *sink, size_t *ret_rows)
{
	const struct np_detail *detail = rank->detail;
	struct np_cell *cells = calloc(KERNEL_COLUMNS + detail->pmu_count, sizeof(*cells));
	np_ns before = NP_UNKNOWN;
	size_t kernel = 0;
	size_t op = 0;
	int rc = cells ? NP_OK : np_fail_nomem(rank->err, MODE);

	while (rc == NP_OK && (kernel < detail->kernels.count || op < rank->rank->ops.count)) {
		const struct np_comm_op *next =
			op < rank->rank->ops.count ? &rank->rank->ops.item[op] : NULL;
		bool is_op = kernel == detail->kernels.count ||
			     (next && next->start < detail->kernels.item[kernel].start);

		if (is_op && mode_takes(rank, next->step)) {
			np_ns wait = before == NP_UNKNOWN || before > next->start
					     ? 0
					     : next->start - before;

			rc = put_op(rank, sink, next, wait, cells);
			(*ret_rows)++;
		} else if (!is_op && mode_takes(rank, detail->kernels.item[kernel].step)) {
			rc = put_kernel(rank, sink, kernel, cells);
			(*ret_rows)++;
		}
		before = is_op ? next->end : detail->kernels.item[kernel].end;
		op += is_op;
		kernel += !is_op;
	}
	free(cells);
	return rc;
}

/* The columns depend on the counters that were recorded. */
static int write_kernels(struct csv *csv, const char *path)
{
	const struct np_detail *detail = csv->rank->detail;
	struct np_column *columns = calloc(KERNEL_COLUMNS + detail->pmu_count, sizeof(*columns));
	struct np_relation relation = { .name = "kernel_details",
					.columns = columns,
					.column_count = KERNEL_COLUMNS + detail->pmu_count,
					.produce = produce };
	int rc;

	if (!columns)
		return np_fail_nomem(csv->rank->err, path);
	memcpy(columns, kernel_columns, sizeof(kernel_columns));
	for (size_t i = 0; i < detail->pmu_count; i++)
		columns[KERNEL_COLUMNS + i] =
			(struct np_column){ np_strtab_text(detail->strings, detail->pmu_names[i]),
					    NP_REAL };
	rc = write_csv(csv, &relation, path);
	free(columns);
	return rc;
}

/* --- a rank ---------------------------------------------------------------------------------- */

static int write_rank(struct mode_rank *rank, const char *directory, struct written *written)
{
	struct csv calls = { rank, put_calls, 0 };
	struct csv kernels = { rank, put_kernels, 0 };
	char *path;
	int rc = make_directory(directory, rank->err);

	if (rc == NP_OK && (rank->detail->has & NP_DETAIL_CALLS)) {
		if (asprintf(&path, "%s/api_statistic.csv", directory) < 0)
			return np_fail_nomem(rank->err, MODE);
		rc = write_csv(&calls, &api_relation, path);
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
	*ret = written;
	if (asprintf(&directory, "%s/" MODE "/rank_%d", rank->modes->options.directory,
		     rank->rank->id) < 0)
		return np_fail_nomem(rank->err, MODE);
	rc = write_rank(rank, directory, written);
	free(directory);
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

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table = MODE_TABLE(
		modes, MODE, "ExportSummary",
		"files written beside the database, and how many rows they have", columns, err);
	int rc = table ? NP_OK : NP_E_NOMEM;

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
	.wants = NP_DETAIL_KERNELS | NP_DETAIL_PMU | NP_DETAIL_CALLS,
	.needs = NP_DETAIL_KERNELS,
	.reduce = reduce,
	.merge = merge,
	.release = free,
};
