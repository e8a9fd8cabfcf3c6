/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the lines of a recording, one kind of record after the other. */
#include "records.h"

#include <string.h>

#include "npuprof/text.h"
#include "sim/npusim/raw.h"

/* --- fields ---------------------------------------------------------------------------------- */

static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		char c = *from;

		if (c == '\\' && from[1]) {
			from++;
			c = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from == 'r' ? '\r' : *from;
		}
		*to++ = c;
	}
	*to = '\0';
}

/* Unset is looked for before escapes are resolved: "\-" is a text of one hyphen. */
static const char *text_at(struct msp_line *line, size_t index)
{
	char *text = line->field[index];

	if (strcmp(text, NPUSIM_UNSET) == 0)
		return NULL;
	unescape(text);
	return text;
}

static int64_t number_at(struct msp_line *line, size_t index)
{
	const char *text = line->field[index];
	int64_t value;

	if (strcmp(text, NPUSIM_UNSET) == 0)
		return NP_UNKNOWN;
	if (np_text_to_int(text, strlen(text), &value))
		return value;
	line->bad = true;
	return NP_UNKNOWN;
}

/* A moment is never unknown, and no clock shows anything outside these. */
static np_ns time_at(struct msp_line *line, size_t index)
{
	np_ns time = number_at(line, index);

	if (time < 0 || time > NP_NS_MAX)
		line->bad = true;
	else if (!line->recording->complete && time > line->recording->end)
		line->recording->end = time;
	return time;
}

static double real_at(struct msp_line *line, size_t index)
{
	char *end;
	double value = strtod(line->field[index], &end);

	if (end == line->field[index] || *end)
		line->bad = true;
	return value;
}

/* --- records --------------------------------------------------------------------------------- */

#define ADD(line, list) np_vec_add(&(line)->recording->list, (line)->err)

static int take_session(struct msp_line *line)
{
	struct msp_recording *recording = line->recording;

	recording->start = time_at(line, 1);
	recording->mask = number_at(line, 2);
	recording->metric = number_at(line, 3);
	recording->rank = number_at(line, 4);
	/* The host's slice names no device; with one, both name the same rank and host. */
	if (number_at(line, 5) >= 0)
		recording->device = number_at(line, 5);
	recording->pid = number_at(line, 6);
	recording->host = text_at(line, 7);
	recording->host_uid = text_at(line, 8);
	recording->soc = text_at(line, 9);
	return NP_OK;
}

static int take_end(struct msp_line *line)
{
	np_ns end = time_at(line, 1);

	if (end > line->recording->end)
		line->recording->end = end;
	line->recording->complete = true;
	return NP_OK;
}

static int take_api(struct msp_line *line)
{
	struct msp_api *api = ADD(line, apis);

	if (!api)
		return NP_E_NOMEM;
	*api = (struct msp_api){ time_at(line, 1),   time_at(line, 2),   number_at(line, 3),
				 number_at(line, 4), number_at(line, 5), text_at(line, 6) };
	return NP_OK;
}

static int take_mark(struct msp_line *line)
{
	struct msp_mark *mark = ADD(line, marks);

	if (!mark)
		return NP_E_NOMEM;
	*mark = (struct msp_mark){ .start = time_at(line, 1),
				   .end = time_at(line, 2),
				   .type = number_at(line, 3),
				   .range = number_at(line, 4),
				   .category = number_at(line, 5),
				   .thread = number_at(line, 6),
				   .end_thread = number_at(line, 7),
				   .domain = text_at(line, 8),
				   .connection = number_at(line, 9),
				   .message = text_at(line, 10) };
	return NP_OK;
}

static int take_group(struct msp_line *line)
{
	struct msp_group *group = ADD(line, groups);

	if (!group)
		return NP_E_NOMEM;
	*group = (struct msp_group){ .name = text_at(line, 2), .size = number_at(line, 3) };
	return NP_OK;
}

static int take_task(struct msp_line *line)
{
	struct msp_task *task = ADD(line, tasks);

	if (!task)
		return NP_E_NOMEM;
	*task = (struct msp_task){ .id = number_at(line, 1),
				   .start = time_at(line, 2),
				   .end = time_at(line, 3),
				   .stream = number_at(line, 4),
				   .connection = number_at(line, 6),
				   .type = text_at(line, 7) };
	line->bad = line->bad || task->stream < 0 || task->stream > UINT16_MAX || !task->type;
	return NP_OK;
}

static int take_kernel(struct msp_line *line)
{
	struct msp_kernel *kernel = ADD(line, kernels);

	if (!kernel)
		return NP_E_NOMEM;
	*kernel = (struct msp_kernel){ .task = number_at(line, 1),
				       .name = text_at(line, 2),
				       .type = text_at(line, 3),
				       .core = text_at(line, 4),
				       .blocks = number_at(line, 5),
				       .mix_blocks = number_at(line, 6),
				       .input_shapes = text_at(line, 7),
				       .input_types = text_at(line, 8),
				       .input_formats = text_at(line, 9),
				       .output_shapes = text_at(line, 10),
				       .output_types = text_at(line, 11),
				       .output_formats = text_at(line, 12),
				       .state = text_at(line, 13),
				       .hf32 = text_at(line, 14),
				       .attributes = text_at(line, 15) };
	line->bad = line->bad || !kernel->name;
	return NP_OK;
}

static int take_counter(struct msp_line *line)
{
	struct msp_counter *counter = ADD(line, counters);

	if (!counter)
		return NP_E_NOMEM;
	*counter = (struct msp_counter){ number_at(line, 1), text_at(line, 2), real_at(line, 3) };
	line->bad = line->bad || !counter->name;
	return NP_OK;
}

static int take_op(struct msp_line *line)
{
	struct msp_op *op = ADD(line, ops);

	if (!op)
		return NP_E_NOMEM;
	*op = (struct msp_op){ .id = number_at(line, 1),
			       .start = time_at(line, 2),
			       .end = time_at(line, 3),
			       .connection = number_at(line, 4),
			       .group = text_at(line, 5),
			       .name = text_at(line, 6),
			       .type = text_at(line, 7),
			       .count = number_at(line, 8),
			       .data_type = number_at(line, 9),
			       .algorithm = text_at(line, 10),
			       .rank_size = number_at(line, 11) };
	line->bad = line->bad || !op->group || !op->name;
	return NP_OK;
}

static int take_sub_task(struct msp_line *line)
{
	struct msp_sub_task *sub_task = ADD(line, sub_tasks);

	if (!sub_task)
		return NP_E_NOMEM;
	*sub_task = (struct msp_sub_task){ .task = number_at(line, 1),
					   .op = number_at(line, 2),
					   .name = text_at(line, 3),
					   .plane = number_at(line, 4),
					   .rdma_type = number_at(line, 6),
					   .src = number_at(line, 7),
					   .dst = number_at(line, 8),
					   .bytes = number_at(line, 10),
					   .link = number_at(line, 12) };
	return NP_OK;
}

static int take_memcpy(struct msp_line *line)
{
	struct msp_memcpy *copy = ADD(line, copies);

	if (!copy)
		return NP_E_NOMEM;
	*copy = (struct msp_memcpy){ number_at(line, 1), number_at(line, 2), number_at(line, 3) };
	return NP_OK;
}

static int take_frequency(struct msp_line *line)
{
	struct msp_frequency *frequency = ADD(line, frequencies);

	if (!frequency)
		return NP_E_NOMEM;
	*frequency =
		(struct msp_frequency){ time_at(line, 1), number_at(line, 2), number_at(line, 3) };
	return NP_OK;
}

static int take_memory(struct msp_line *line)
{
	struct msp_sample *sample = ADD(line, samples);

	if (!sample)
		return NP_E_NOMEM;
	*sample = (struct msp_sample){ .kind = MSP_SAMPLE_DEVICE,
				       .at = time_at(line, 1),
				       .bytes = number_at(line, 2) };
	return NP_OK;
}

static int take_module_memory(struct msp_line *line)
{
	struct msp_sample *sample = ADD(line, samples);

	if (!sample)
		return NP_E_NOMEM;
	*sample = (struct msp_sample){ .kind = MSP_SAMPLE_MODULE,
				       .at = time_at(line, 1),
				       .module = number_at(line, 2),
				       .bytes = number_at(line, 3) };
	return NP_OK;
}

static int take_op_memory(struct msp_line *line)
{
	struct msp_sample *sample = ADD(line, samples);

	if (!sample)
		return NP_E_NOMEM;
	*sample = (struct msp_sample){ .kind = MSP_SAMPLE_OP,
				       .at = time_at(line, 1),
				       .thread = number_at(line, 2),
				       .name = text_at(line, 3),
				       .address = number_at(line, 4),
				       .bytes = number_at(line, 5),
				       .total = number_at(line, 6),
				       .reserved = number_at(line, 7) };
	return NP_OK;
}

static const struct {
	const char *name;
	size_t fields; /* at least, the name included */
	int (*take)(struct msp_line *line);
} kinds[] = {
	{ "SESSION", 10, take_session }, { "END", 2, take_end },
	{ "API", 7, take_api },          { "MSTX", 11, take_mark },
	{ "GROUP", 6, take_group },      { "TASK", 10, take_task },
	{ "KERNEL", 16, take_kernel },   { "PMU", 4, take_counter },
	{ "COMM", 14, take_op },         { "COMMTASK", 15, take_sub_task },
	{ "MEMCPY", 4, take_memcpy },    { "FREQ", 4, take_frequency },
	{ "MEM", 4, take_memory },       { "MODMEM", 4, take_module_memory },
	{ "OPMEM", 8, take_op_memory },
};

static int damaged(const struct msp_line *line, const char *what)
{
	return np_fail(line->err, NP_E_FORMAT, "%s:%zu: %s; the raw data are damaged", line->path,
		       line->number, what);
}

int msp_take_line(struct msp_line *line, char *text)
{
	char *rest = text;

	line->count = 0;
	line->bad = false;
	while (rest && line->count < MSP_MAX_FIELDS)
		line->field[line->count++] = strsep(&rest, "\t");
	for (size_t i = 0; i < NP_COUNT(kinds); i++) {
		int rc;

		if (strcmp(line->field[0], kinds[i].name) != 0)
			continue;
		if (line->count < kinds[i].fields)
			return damaged(line, "a record is too short");
		rc = kinds[i].take(line);
		if (rc < 0)
			return rc;
		return line->bad ? damaged(line, "a field is out of range") : NP_OK;
	}
	return NP_OK;
}
