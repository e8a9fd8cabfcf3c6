/* SPDX-License-Identifier: Apache-2.0 */
#include "export_kernels.h"

/*
 * The most rows that any mode writes, so they are not taken apart into cells:
 * every text is put into the form of a file once, and copied from then on.
 */
const struct np_column export_kernel_columns[EXPORT_KERNEL_COLUMNS] = {
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

/* A text of the detail as it stands in the file, with the comma behind it. */
struct quoted {
	uint32_t at; /* in the texts below */
	uint32_t length;
};

struct writer {
	struct mode_rank *rank;
	struct np_buf *line;
	struct np_buf texts;
	struct quoted *quoted; /* by id in the detail; of length 0 until it is asked for */
};

static void put_text(struct writer *writer, np_str text)
{
	struct quoted *quoted = &writer->quoted[text];

	if (quoted->length == 0) {
		const char *value = np_detail_text(writer->rank->detail, text);

		quoted->at = (uint32_t)writer->texts.length;
		value = value ? value : "N/A";
		np_csv_text(&writer->texts, value, strlen(value));
		np_buf_add_char(&writer->texts, ',');
		quoted->length = (uint32_t)writer->texts.length - quoted->at;
	}
	np_buf_add_bytes(writer->line, writer->texts.text + quoted->at, quoted->length);
}

static void put_run_text(struct writer *writer, np_str text)
{
	np_csv_text(writer->line, np_strtab_text(writer->rank->run->strings, text),
		    np_strtab_length(writer->rank->run->strings, text));
	np_buf_add_char(writer->line, ',');
}

static void put_integer(struct writer *writer, int64_t value)
{
	if (value != NP_UNKNOWN)
		np_integer_format(writer->line, value);
	np_buf_add_char(writer->line, ',');
}

static void put_time(struct writer *writer, np_ns time)
{
	struct us_text text;
	const char *begin = mode_us_text(time, &text);

	if (time != NP_UNKNOWN)
		np_buf_add_bytes(writer->line, begin,
				 (size_t)(text.bytes + sizeof(text.bytes) - 1 - begin));
	np_buf_add_char(writer->line, ',');
}

static void put_place(struct writer *writer, uint32_t step, int32_t device)
{
	if (step == NP_NO_STEP)
		np_buf_add_char(writer->line, ',');
	else
		put_run_text(writer, writer->rank->rank->steps.item[step].id);
	put_integer(writer, device < 0 ? NP_UNKNOWN : device);
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
		np_real_format(writer->line, detail->pmu[kernel * detail->pmu_count + i]);
		np_buf_add_char(writer->line, ',');
	}
}

static int put_kernel(struct writer *writer, size_t index, struct np_text_sink *sink)
{
	const struct np_kernel *kernel = &writer->rank->detail->kernels.item[index];

	put_place(writer, kernel->step, kernel->device);
	put_integer(writer, kernel->task_id);
	put_integer(writer, kernel->stream);
	put_text(writer, kernel->name);
	put_text(writer, kernel->type);
	put_text(writer, kernel->state);
	put_text(writer, kernel->core);
	put_time(writer, kernel->start);
	put_time(writer, kernel->end - kernel->start);
	put_time(writer, kernel->wait);
	put_integer(writer, kernel->block_dim);
	put_integer(writer, kernel->mix_block_dim);
	put_text(writer, kernel->in_shapes);
	put_text(writer, kernel->in_dtypes);
	put_text(writer, kernel->in_formats);
	put_text(writer, kernel->out_shapes);
	put_text(writer, kernel->out_dtypes);
	put_text(writer, kernel->out_formats);
	put_counters(writer, index);
	return end_line(writer, sink);
}

static int put_op(struct writer *writer, const struct np_comm_op *op, np_ns wait,
		  struct np_text_sink *sink)
{
	put_place(writer, op->step, op->device);
	np_buf_add(writer->line, ",,");
	put_run_text(writer, op->name);
	put_run_text(writer, op->type);
	np_buf_add(writer->line, "N/A,COMMUNICATION,");
	put_time(writer, op->start);
	put_time(writer, op->end - op->start);
	put_time(writer, wait);
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

			rc = put_op(writer, next, wait, sink);
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

int export_kernels(struct mode_rank *rank, struct np_text_sink *sink, size_t *ret_rows)
{
	struct writer writer = { .rank = rank, .line = sink->buf, .texts = NP_BUF_INIT };
	int rc;

	writer.quoted = calloc(np_strtab_count(rank->detail->strings) + 2, sizeof(*writer.quoted));
	if (!writer.quoted)
		return np_fail_nomem(rank->err, "texts");
	rc = put_rows(&writer, sink, ret_rows);
	if (rc == NP_OK)
		rc = np_buf_check(&writer.texts, rank->err);
	free(writer.quoted);
	np_buf_release(&writer.texts);
	return rc;
}
