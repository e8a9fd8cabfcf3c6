/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of msMonitor: databases, and lines that one process wrote into several files. */
#include "discover_files.h"

#include "core/model/vendor/file_names.h"

#include "npuprof/json.h"
#include "npuprof/text.h"

#include <stdio.h>

/* --- databases ------------------------------------------------------------------------------- */

static int take_database(struct np_run *run, const char *dir, const char *name, int32_t rank,
			 int64_t stamp, struct np_err *err)
{
	struct np_source_files source = { .kind = NP_KIND_MSMONITOR, .rank = rank, .device = -1 };
	int rc = discover_set_file(&source, NP_FILE_RANK_DB, dir, name, err);

	source.dir = rc == NP_OK ? strdup(source.file[NP_FILE_RANK_DB]) : NULL;
	if (!source.dir)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK)
		rc = discover_keep(run, &source, err);
	if (rc == NP_OK && stamp >= 0)
		run->sources.item[run->sources.count - 1].stamp = stamp;
	np_source_files_release(&source);
	return rc;
}

/* --- lines ----------------------------------------------------------------------------------- */

/* So much of the end of a file is looked at. */
#define TAIL_BYTES 65536

/* The rank that a line says, if it is the one that does. */
static int32_t rank_of_line(const char *line, size_t length)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const char *kind;
	int64_t rank;

	if (np_json_parse(line, length, "rank", &doc, NULL) < 0)
		return -1;
	kind = np_json_text(np_json_member(doc, "kind"));
	if (!kind || strcmp(kind, "rank_device_map") != 0 ||
	    !np_json_integer(np_json_member(doc, "rank"), &rank) || rank < 0 || rank > INT32_MAX)
		return -1;
	return (int32_t)rank;
}

/* A monitor that was stopped says its rank in the last lines. */
static int32_t rank_of_tail(const char *path)
{
	FILE *file = fopen(path, "re");
	char *tail = file ? malloc(TAIL_BYTES) : NULL;
	int32_t rank = -1;
	size_t length = 0;

	if (tail) {
		if (fseek(file, -TAIL_BYTES, SEEK_END) < 0)
			rewind(file);
		length = fread(tail, 1, TAIL_BYTES, file);
	}
	for (size_t from = 0, to; from < length && rank < 0; from = to + 1) {
		const char *end = memchr(tail + from, '\n', length - from);

		to = end ? (size_t)(end - tail) : length;
		if (memmem(tail + from, to - from, "rank_device_map", 15))
			rank = rank_of_line(tail + from, to - from);
	}
	free(tail);
	if (file)
		(void)fclose(file);
	return rank;
}

/* The first file of a process stands for all of them; names are sorted, and so are the times. */
static int add_lines(struct np_source_files *source, const char *dir, const char *name,
		     int32_t rank, struct np_err *err)
{
	char **slot;

	if (rank > source->rank)
		source->rank = rank;
	if (!source->file[NP_FILE_TRACE])
		return discover_set_file(source, NP_FILE_TRACE, dir, name, err);
	slot = np_vec_add(&source->more_traces, err);
	if (!slot || !(*slot = np_join_path(dir, name)))
		return np_fail_nomem(err, dir);
	return NP_OK;
}

/* Files of one process stand together, for names are sorted. */
static bool seen_before(const struct np_names *names, size_t index, int64_t process)
{
	int64_t other;
	int64_t stamp;
	int32_t rank;

	return index > 0 &&
	       file_name_is_monitor_lines(names->list.item[index - 1], &other, &stamp, &rank) &&
	       other == process;
}

static int take_lines(struct np_run *run, const char *dir, const struct np_names *names,
		      size_t first, int64_t process, struct np_err *err)
{
	struct np_source_files source = { .kind = NP_KIND_MSMONITOR, .rank = -1, .device = -1 };
	int64_t newest = -1;
	int rc = NP_OK;

	for (size_t i = first; i < names->list.count && rc == NP_OK; i++) {
		int64_t other;
		int64_t stamp;
		int32_t rank;

		if (!file_name_is_monitor_lines(names->list.item[i], &other, &stamp, &rank) ||
		    other != process)
			continue;
		newest = stamp > newest ? stamp : newest;
		rc = add_lines(&source, dir, names->list.item[i], rank, err);
	}
	source.dir = rc == NP_OK ? strdup(source.file[NP_FILE_TRACE]) : NULL;
	if (!source.dir)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK && source.rank < 0)
		source.rank =
			rank_of_tail(source.more_traces.count
					     ? source.more_traces.item[source.more_traces.count - 1]
					     : source.file[NP_FILE_TRACE]);
	if (rc == NP_OK)
		rc = discover_keep(run, &source, err);
	if (rc == NP_OK && newest >= 0)
		run->sources.item[run->sources.count - 1].stamp = newest;
	np_source_files_release(&source);
	return rc;
}

int discover_take_monitor(struct np_run *run, const char *dir, const struct np_names *names,
			  struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		const char *name = names->list.item[i];
		int64_t process;
		int64_t stamp;
		int32_t rank;

		if (file_name_is_msmonitor(name, &stamp, &rank))
			rc = take_database(run, dir, name, rank, stamp, err);
		else if (file_name_is_monitor_lines(name, &process, &stamp, &rank) &&
			 !seen_before(names, i, process))
			rc = take_lines(run, dir, names, i, process, err);
	}
	return rc;
}
