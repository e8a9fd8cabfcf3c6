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

bool export_is_time(const char *counter)
{
	static const char ending[] = "_time";
	size_t length = strlen(counter);

	return length >= strlen(ending) && strcmp(counter + length - strlen(ending), ending) == 0;
}

int export_kernels(struct mode_rank *rank, struct np_text_sink *sink, size_t *ret_rows)
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
