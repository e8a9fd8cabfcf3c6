/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* As torch_npu shows the steps it was told of. */
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

struct trace {
	const struct np_export_rank *rank;
	const struct np_names *slices;
};

static int write_trace(const void *context, FILE *stream, struct np_err *err)
{
	const struct trace *trace = context;
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
	const struct trace trace = { rank, &slices };
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
