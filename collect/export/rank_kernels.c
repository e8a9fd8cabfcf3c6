/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include <errno.h>

#include "npuprof/text.h"

/*
 * op_summary_<time>.csv as kernel_details.csv: other titles, the same rows, and
 * before each the step it belongs to. Rows are not taken apart further than to
 * find their start, so that columns of any version come through.
 */
struct kernels {
	const struct np_export_rank *rank;
	const struct np_export_loaded *loaded;
	const char *path;
	FILE *from;
	size_t start; /* index of the column with the start */
};

static const char *title_of(const char *title, size_t length)
{
	static const char *const titles[][2] = {
		{ "Op Name", "Name" },
		{ "OP Type", "Type" },
		{ "Task Type", "Accelerator Core" },
		{ "Task Start Time(us)", "Start Time(us)" },
		{ "Task Duration(us)", "Duration(us)" },
		{ "Task Wait Time(us)", "Wait Time(us)" },
	};

	for (size_t i = 0; i < NP_COUNT(titles); i++) {
		if (strlen(titles[i][0]) == length && strncmp(titles[i][0], title, length) == 0)
			return titles[i][1];
	}
	return NULL;
}

/* Titles hold no quotes. */
static int put_header(struct kernels *kernels, const char *line, FILE *stream, struct np_err *err)
{
	static const char start[] = "Task Start Time(us)";
	const char *at = line;
	bool found = false;

	if (kernels->rank->steps.count)
		(void)fputs("Step Id,", stream);
	for (size_t column = 0;; column++) {
		size_t length = strcspn(at, ",\r\n");
		const char *title = title_of(at, length);

		if (length == sizeof(start) - 1 && strncmp(at, start, length) == 0) {
			kernels->start = column;
			found = true;
		}
		(void)fprintf(stream, "%s%.*s", column ? "," : "",
			      title ? (int)strlen(title) : (int)length, title ? title : at);
		at += length;
		if (*at != ',')
			break;
		at++;
	}
	(void)fputs("\n", stream);
	if (!found)
		return np_fail(err, NP_E_FORMAT, "'%s' has no column '%s'", kernels->path, start);
	return NP_OK;
}

/* The text of one cell of a row, without quotes. */
static bool find_cell(const char *row, size_t column, const char **ret, size_t *ret_length)
{
	bool quoted = false;
	const char *begin = row;

	for (const char *at = row;; at++) {
		if (*at == '"')
			quoted = !quoted;
		if (*at && (quoted || *at != ','))
			continue;
		if (column == 0) {
			*ret = begin;
			*ret_length = (size_t)(at - begin);
			return true;
		}
		if (!*at)
			return false;
		column--;
		begin = at + 1;
	}
}

static bool is_open(const char *row)
{
	bool quoted = false;

	for (; *row; row++)
		quoted = quoted != (*row == '"');
	return quoted;
}

/* By the windows on the device, which know what each step launched; else by the host's. */
static void put_step(const struct kernels *kernels, np_ns start, FILE *stream)
{
	const struct np_rank *rank = kernels->loaded ? kernels->loaded->rank : NULL;

	for (size_t i = 0; rank && i < rank->steps.count; i++) {
		const struct np_step *step = &rank->steps.item[i];

		if (step->id != NP_STR_NONE && start >= step->begin && start < step->end) {
			(void)fputs(np_strtab_text(kernels->loaded->strings, step->id), stream);
			return;
		}
	}
	for (size_t i = 0; !rank && i < kernels->rank->steps.count; i++) {
		const struct np_export_step *step = &kernels->rank->steps.item[i];

		if (start >= step->begin && start < step->end) {
			(void)fprintf(stream, "%lld", (long long)step->step);
			return;
		}
	}
}

static void put_row(const struct kernels *kernels, const char *row, FILE *stream)
{
	const char *cell;
	size_t length;
	np_ns start;

	if (kernels->rank->steps.count) {
		if (find_cell(row, kernels->start, &cell, &length) &&
		    np_text_to_scaled(cell, length, 3, &start))
			put_step(kernels, start, stream);
		(void)fputc(',', stream);
	}
	(void)fputs(row, stream);
}

/* The next row, which may be several lines where quotes hold line ends. */
static bool next_row(FILE *from, char **line, size_t *size, struct np_buf *row)
{
	np_buf_clear(row);
	while (getline(line, size, from) >= 0) {
		np_buf_add(row, *line);
		if (!is_open(row->text))
			return true;
	}
	/* What ends inside quotes was cut. */
	return false;
}

static int write_kernels(const void *context, FILE *stream, struct np_err *err)
{
	struct kernels kernels = *(const struct kernels *)context;
	struct np_buf row = NP_BUF_INIT;
	char *line = NULL;
	size_t size = 0;
	int rc = NP_OK;

	if (next_row(kernels.from, &line, &size, &row))
		rc = put_header(&kernels, row.text, stream, err);
	while (rc == NP_OK && next_row(kernels.from, &line, &size, &row))
		put_row(&kernels, row.text, stream);
	if (rc == NP_OK && (ferror(kernels.from) || ferror(stream)))
		rc = np_fail(err, NP_E_IO, "cannot copy '%s': %s", kernels.path, strerror(errno));
	if (rc == NP_OK)
		rc = np_buf_check(&row, err);
	np_buf_release(&row);
	free(line);
	return rc;
}

int np_export_kernels_csv(const struct np_export_rank *rank, const struct np_export_loaded *loaded,
			  const char *path, struct np_err *err)
{
	struct kernels kernels = { .rank = rank, .loaded = loaded };
	char *from = np_export_msprof_text(rank->prof, "op_summary", ".csv");
	int rc;

	if (!from)
		return np_fail(err, NP_E_NOTFOUND, "msprof wrote no op_summary into '%s'",
			       rank->prof);
	kernels.path = from;
	kernels.from = fopen(from, "re");
	if (!kernels.from) {
		rc = np_fail(err, NP_E_IO, "cannot read '%s': %s", from, strerror(errno));
	} else {
		rc = np_write_file(path, write_kernels, &kernels, err);
		(void)fclose(kernels.from);
	}
	free(from);
	return rc;
}
