/* SPDX-License-Identifier: Apache-2.0 */
/* export_summary: kernel_details.csv and api_statistic.csv of every rank. */
#include "registry.h"

#include "cluster/modes/common/samples.h"

#include "npuprof/arena.h"
#include "npuprof/dirs.h"
#include "npuprof/temporary.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT_KERNEL_COLUMNS 19

/* --- rows of kernel_details.csv: kernels and operators of a rank by start ------------------------
 */

/*
 * The most rows that any mode writes, so they are not taken apart into cells:
 * every text is put into the form of a file once, and copied from then on.
 */
static const struct np_column export_kernel_columns[EXPORT_KERNEL_COLUMNS] = {
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

/* Texts of a kernel, in the order of the columns. */
#define NAMES  4 /* name, type, state, core */
#define SHAPES 6 /* shapes, types and formats of inputs and outputs */

/* Numbers of a kernel, with their commas: none of them has more digits than this. */
#define NUMBERS     7
#define MOST_DIGITS 24

/* A text as it stands in the file, with the comma behind it. */
struct quoted {
	size_t at; /* in the texts below */
	size_t length;
};

struct writer {
	struct mode_rank *rank;
	struct np_buf *line;
	struct np_buf texts;
	struct quoted *quoted; /* by id in the detail; of length 0 until it is asked for */
	/* Step and device, which are those of the row before in most rows. */
	struct np_buf place;
	uint32_t step;
	int32_t device;
	double *units; /* of the counters, by their order */
};

static const struct quoted *quote(struct writer *writer, np_str text)
{
	struct quoted *quoted = &writer->quoted[text];

	if (quoted->length == 0) {
		const char *value = np_detail_text(writer->rank->detail, text);

		value = value ? value : "N/A";
		quoted->at = writer->texts.length;
		np_csv_text(&writer->texts, value, strlen(value));
		np_buf_add_char(&writer->texts, ',');
		quoted->length = writer->texts.length - quoted->at;
	}
	return quoted;
}

static void put_run_text(struct writer *writer, struct np_buf *buf, np_str text)
{
	np_csv_text(buf, np_strtab_text(writer->rank->run->strings, text),
		    np_strtab_length(writer->rank->run->strings, text));
	np_buf_add_char(buf, ',');
}

static void put_place(struct writer *writer, uint32_t step, int32_t device)
{
	if (writer->place.length == 0 || step != writer->step || device != writer->device) {
		np_buf_clear(&writer->place);
		if (step == NP_NO_STEP)
			np_buf_add_char(&writer->place, ',');
		else
			put_run_text(writer, &writer->place,
				     writer->rank->rank->steps.item[step].id);
		if (device >= 0)
			np_integer_format(&writer->place, device);
		np_buf_add_char(&writer->place, ',');
		writer->step = step;
		writer->device = device;
	}
	np_buf_add_bytes(writer->line, writer->place.text, writer->place.length);
}

static char *put_bytes(char *at, const char *bytes, size_t length)
{
	memcpy(at, bytes, length);
	return at + length;
}

static char *put_integer(char *at, int64_t value)
{
	char digits[MOST_DIGITS];
	char *end = digits + sizeof(digits);
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char *begin = end;

	*--begin = ',';
	for (; value != NP_UNKNOWN; rest /= 10) {
		*--begin = (char)('0' + rest % 10);
		if (rest < 10)
			break;
	}
	if (value < 0 && value != NP_UNKNOWN)
		*--begin = '-';
	return put_bytes(at, begin, (size_t)(end - begin));
}

static char *put_time(char *at, np_ns time)
{
	struct us_text text;
	const char *begin;

	if (time != NP_UNKNOWN) {
		begin = mode_us_text(time, &text);
		at = put_bytes(at, begin, (size_t)(text.bytes + sizeof(text.bytes) - 1 - begin));
	}
	*at++ = ',';
	return at;
}

static char *put_texts(const struct writer *writer, char *at, const struct quoted *const *texts,
		       size_t count)
{
	for (size_t i = 0; i < count; i++)
		at = put_bytes(at, writer->texts.text + texts[i]->at, texts[i]->length);
	return at;
}

/* Every cell has put a comma behind itself: the last becomes the end of the line. */
static int end_line(struct writer *writer, struct np_text_sink *sink)
{
	if (writer->line->length > 0)
		writer->line->text[writer->line->length - 1] = '\n';
	return np_text_sink_line(sink, writer->rank->err);
}

static void put_counters(struct writer *writer, size_t kernel)
{
	const struct np_detail *detail = writer->rank->detail;

	for (size_t i = 0; i < detail->pmu_count; i++) {
		np_real_format(writer->line,
			       detail->pmu[kernel * detail->pmu_count + i] / writer->units[i]);
		np_buf_add_char(writer->line, ',');
	}
}

static int put_kernel(struct writer *writer, size_t index, struct np_text_sink *sink)
{
	const struct np_kernel *kernel = &writer->rank->detail->kernels.item[index];
	const struct quoted *texts[NAMES + SHAPES] = {
		quote(writer, kernel->name),       quote(writer, kernel->type),
		quote(writer, kernel->state),      quote(writer, kernel->core),
		quote(writer, kernel->in_shapes),  quote(writer, kernel->in_dtypes),
		quote(writer, kernel->in_formats), quote(writer, kernel->out_shapes),
		quote(writer, kernel->out_dtypes), quote(writer, kernel->out_formats),
	};
	size_t most = NUMBERS * MOST_DIGITS;
	char *begin;
	char *at;

	for (size_t i = 0; i < NP_COUNT(texts); i++)
		most += texts[i]->length;
	put_place(writer, kernel->step, kernel->device);
	begin = np_buf_reserve(writer->line, most);
	if (begin) {
		at = put_integer(begin, kernel->task_id);
		at = put_integer(at, kernel->stream);
		at = put_texts(writer, at, texts, NAMES);
		at = put_time(at, kernel->start);
		at = put_time(at, kernel->end - kernel->start);
		at = put_time(at, kernel->wait);
		at = put_integer(at, kernel->block_dim);
		at = put_integer(at, kernel->mix_block_dim);
		at = put_texts(writer, at, &texts[NAMES], SHAPES);
		np_buf_take(writer->line, (size_t)(at - begin));
	}
	put_counters(writer, index);
	return end_line(writer, sink);
}

static int put_op(struct writer *writer, const struct np_comm_op *op, np_ns wait,
		  struct np_text_sink *sink)
{
	char times[3 * MOST_DIGITS];
	char *end = put_time(put_time(put_time(times, op->start), op->end - op->start), wait);

	put_place(writer, op->step, op->device);
	np_buf_add(writer->line, ",,");
	put_run_text(writer, writer->line, op->name);
	put_run_text(writer, writer->line, op->type);
	np_buf_add(writer->line, "N/A,COMMUNICATION,");
	np_buf_add_bytes(writer->line, times, (size_t)(end - times));
	np_buf_add(writer->line, ",,N/A,N/A,N/A,N/A,N/A,N/A,");
	np_buf_add_repeated(writer->line, ',', writer->rank->detail->pmu_count);
	return end_line(writer, sink);
}

/* Kernels and operators by start. Wait: from the end of the row before to this start. */
static int put_rows(struct writer *writer, struct np_text_sink *sink, size_t *ret_rows)
{
	struct mode_rank *rank = writer->rank;
	const struct np_detail *detail = rank->detail;
	np_ns before = NP_UNKNOWN;
	size_t kernel = 0;
	size_t op = 0;
	int rc = NP_OK;

	while (rc == NP_OK && (kernel < detail->kernels.count || op < rank->rank->ops.count)) {
		const struct np_comm_op *next =
			op < rank->rank->ops.count ? &rank->rank->ops.item[op] : NULL;
		bool is_op = kernel == detail->kernels.count ||
			     (next && next->start < detail->kernels.item[kernel].start);

		if (is_op && mode_takes(rank, next->step)) {
			np_ns wait = before == NP_UNKNOWN || before > next->start
					     ? 0
					     : next->start - before;

			/* Of several devices the row before may be another's, as with kernels. */
			rc = put_op(writer, next, rank->rank->device_count > 1 ? NP_UNKNOWN : wait,
				    sink);
			(*ret_rows)++;
		} else if (!is_op && mode_takes(rank, detail->kernels.item[kernel].step)) {
			rc = put_kernel(writer, kernel, sink);
			(*ret_rows)++;
		}
		before = is_op ? next->end : detail->kernels.item[kernel].end;
		op += is_op;
		kernel += !is_op;
	}
	return rc;
}

static bool export_is_time(const char *counter)
{
	static const char ending[] = "_time";
	size_t length = strlen(counter);

	return length >= strlen(ending) && strcmp(counter + length - strlen(ending), ending) == 0;
}

static int export_kernels(struct mode_rank *rank, struct np_text_sink *sink, size_t *ret_rows)
{
	struct writer writer = {
		.rank = rank, .line = sink->buf, .texts = NP_BUF_INIT, .place = NP_BUF_INIT
	};
	int rc;

	writer.quoted = calloc(np_strtab_count(rank->detail->strings) + 2, sizeof(*writer.quoted));
	writer.units = malloc((rank->detail->pmu_count + 1) * sizeof(*writer.units));
	for (size_t i = 0; writer.units && i < rank->detail->pmu_count; i++)
		writer.units[i] = export_is_time(np_strtab_text(rank->detail->strings,
								rank->detail->pmu_names[i]))
					  ? 1e3
					  : 1;
	rc = writer.quoted && writer.units ? put_rows(&writer, sink, ret_rows)
					   : np_fail_nomem(rank->err, "texts");
	if (rc == NP_OK)
		rc = np_buf_check(&writer.texts, rank->err);
	if (rc == NP_OK)
		rc = np_buf_check(&writer.place, rank->err);
	free(writer.quoted);
	free(writer.units);
	np_buf_release(&writer.texts);
	np_buf_release(&writer.place);
	return rc;
}

/* --- the files -----------------------------------------------------------------------------------
 */

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
