/* SPDX-License-Identifier: Apache-2.0 */
/* The text of msprof as torch_npu names it: trace_view.json, kernel_details.csv, two tables. */
#include "export.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/rank.h"
#include "npuprof/text.h"

/* --- kernel_details.csv ---------------------------------------------------- */

/*
 * op_summary_<time>.csv as kernel_details.csv: other titles, the same rows, and
 * before each the step it belongs to. Rows are not taken apart further than to
 * find their start, so that columns of any version come through.
 */
struct kernel_rows {
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
static int put_header(struct kernel_rows *kernels, const char *line, FILE *stream,
		      struct np_err *err)
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
static void put_step(const struct kernel_rows *kernels, np_ns start, FILE *stream)
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

static void put_row(const struct kernel_rows *kernels, const char *row, FILE *stream)
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
	struct kernel_rows kernels = *(const struct kernel_rows *)context;
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
	struct kernel_rows kernels = { .rank = rank, .loaded = loaded };
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

/* How far from its end the last bracket of a trace may stand. */
#define TAIL_SIZE 256

/* --- steps ----------------------------------------------------------------------------------- */

static int64_t pid_of(const struct np_export_rank *rank)
{
	int64_t pid = 0;

	(void)np_json_integer(np_json_member(rank->record, "pid"), &pid);
	return pid;
}

/* Nanoseconds as microseconds with three digits. */
static void put_us(FILE *stream, np_ns time)
{
	(void)fprintf(stream, "%" PRId64 ".%03d", time / 1000, (int)(time % 1000));
}

/* As torch_npu shows the steps it knows of. */
static void put_steps(const struct np_export_rank *rank, FILE *stream, bool *begun)
{
	int64_t pid = pid_of(rank);

	for (size_t i = 0; i < rank->steps.count; i++) {
		const struct np_export_step *step = &rank->steps.item[i];

		(void)fprintf(stream,
			      "%s{\"ph\": \"X\", \"name\": \"ProfilerStep#%" PRId64
			      "\", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"ts\": \"",
			      *begun ? ", " : "", step->step, pid, pid);
		put_us(stream, step->begin);
		(void)fputs("\", \"dur\": ", stream);
		put_us(stream, step->end - step->begin);
		(void)fputs(", \"cat\": \"cpu_op\", \"args\": {}}", stream);
		*begun = true;
	}
	if (rank->steps.count)
		(void)fprintf(stream,
			      ", {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %" PRId64
			      ", \"tid\": 0, \"args\": {\"name\": \"Python\"}}",
			      pid);
}

/* --- msprof's traces ------------------------------------------------------------------------- */

/* Where the events of a trace begin and end: behind its bracket and before the last one. */
static int find_events(int fd, const char *path, off_t *first, off_t *end, struct np_err *err)
{
	char text[TAIL_SIZE];
	struct stat status;
	ssize_t got = pread(fd, text, sizeof(text), 0);
	ssize_t at = 0;

	if (got < 0 || fstat(fd, &status) < 0)
		return np_fail(err, NP_E_IO, "cannot read '%s': %s", path, strerror(errno));
	while (at < got && strchr(" \t\r\n", text[at]))
		at++;
	if (at == got || text[at] != '[')
		return np_fail(err, NP_E_FORMAT, "'%s' is not a trace: it does not begin with [",
			       path);
	*first = at + 1;
	*end = status.st_size > TAIL_SIZE ? status.st_size - TAIL_SIZE : 0;
	got = pread(fd, text, sizeof(text), *end);
	while (got > 0 && text[got - 1] != ']')
		got--;
	if (got <= 0)
		return np_fail(err, NP_E_FORMAT, "'%s' was cut short: it does not end with ]",
			       path);
	*end += got - 1;
	return NP_OK;
}

static int copy_range(int fd, const char *path, off_t from, off_t end, FILE *stream,
		      struct np_err *err)
{
	char block[65536];

	while (from < end) {
		size_t wanted =
			end - from < (off_t)sizeof(block) ? (size_t)(end - from) : sizeof(block);
		ssize_t got = pread(fd, block, wanted, from);

		if (got <= 0)
			return np_fail(err, NP_E_IO, "cannot read '%s': %s", path,
				       got < 0 ? strerror(errno) : "it became shorter");
		if (fwrite(block, 1, (size_t)got, stream) != (size_t)got)
			return np_fail(err, NP_E_IO, "cannot write the trace: %s", strerror(errno));
		from += got;
	}
	return NP_OK;
}

static int put_trace(const char *path, FILE *stream, bool *begun, struct np_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t first;
	off_t end;
	int rc;

	if (fd < 0)
		return np_fail(err, NP_E_IO, "cannot read '%s': %s", path, strerror(errno));
	rc = find_events(fd, path, &first, &end, err);
	if (rc == NP_OK && first < end) {
		if (*begun)
			(void)fputs(", ", stream);
		*begun = true;
		rc = copy_range(fd, path, first, end, stream, err);
	}
	(void)close(fd);
	return rc;
}

struct export_trace {
	const struct np_export_rank *rank;
	const struct np_names *slices;
};

static int write_trace(const void *context, FILE *stream, struct np_err *err)
{
	const struct export_trace *trace = context;
	bool begun = false;
	int rc = NP_OK;

	(void)fputs("[", stream);
	put_steps(trace->rank, stream, &begun);
	for (size_t i = 0; i < trace->slices->list.count && rc == NP_OK; i++)
		rc = put_trace(trace->slices->list.item[i], stream, &begun, err);
	(void)fputs("]", stream);
	if (rc == NP_OK && ferror(stream))
		rc = np_fail(err, NP_E_IO, "cannot write the trace: %s", strerror(errno));
	return rc;
}

/* --- tables that are copied ------------------------------------------------------------------ */

static int write_copy(const void *context, FILE *stream, struct np_err *err)
{
	const char *path = context;
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0 || fstat(fd, &status) < 0)
		rc = np_fail(err, NP_E_IO, "cannot read '%s': %s", path, strerror(errno));
	else
		rc = copy_range(fd, path, 0, status.st_size, stream, err);
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

/* These are there from level 1 on. */
static int copy_table(const struct np_export_rank *rank, const char *stem, const char *dir,
		      struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf to = NP_BUF_INIT;
	char *from = np_export_msprof_text(rank->prof, stem, ".csv");
	int rc;

	np_buf_printf(&to, "%s/%s.csv", dir, stem);
	rc = np_buf_check(&to, err);
	if (rc == NP_OK && from)
		rc = np_write_file(to.text, write_copy, from, err);
	free(from);
	return rc;
}

int np_export_trace_text(struct np_export_rank *rank, const char *dir, struct np_err *err)
{
	NP_CLEANUP(np_names_release) struct np_names slices = { 0 };
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	const struct export_trace trace = { rank, &slices };
	int rc = np_export_msprof_trace(rank->prof, &slices, err);

	np_buf_printf(&path, "%s/trace_view.json", dir);
	if (rc == NP_OK)
		rc = np_buf_check(&path, err);
	if (rc == NP_OK && slices.list.count == 0)
		rc = np_fail(err, NP_E_NOTFOUND, "msprof wrote no trace into '%s'", rank->prof);
	if (rc == NP_OK)
		rc = np_write_file(path.text, write_trace, &trace, err);
	if (rc == NP_OK)
		rc = copy_table(rank, "op_statistic", dir, err);
	return rc == NP_OK ? copy_table(rank, "api_statistic", dir, err) : rc;
}
