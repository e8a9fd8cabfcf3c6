/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of msMonitor: databases, and lines that one process wrote into several files. */
#include "discover_files.h"

#include "core/model/vendor/file_names.h"
#include "core/model/vendor/monitor_end.h"

#include "npuprof/text.h"

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

/*
 * Hosts number their processes alike, so that two of one number may be of two ranks. One that does
 * not know its rank yet is the same as the one that does.
 */
bool discover_same_monitor(int64_t process, int32_t rank, int64_t other, int32_t other_rank)
{
	return process == other && (rank == other_rank || rank < 0 || other_rank < 0);
}

/* Files of processes of one number stand together, for names are sorted. */
static bool seen_before(const struct np_names *names, size_t index, int64_t process, int32_t rank)
{
	int64_t other;
	int64_t stamp;
	int32_t other_rank;

	while (index-- > 0 &&
	       file_name_is_monitor_lines(names->list.item[index], &other, &stamp, &other_rank) &&
	       other == process) {
		if (discover_same_monitor(process, rank, other, other_rank))
			return true;
	}
	return false;
}

static int take_lines(struct np_run *run, const char *dir, const struct np_names *names,
		      size_t first, int64_t process, int32_t own, struct np_err *err)
{
	struct np_source_files source = { .kind = NP_KIND_MSMONITOR, .rank = -1, .device = -1 };
	int64_t newest = -1;
	int rc = NP_OK;

	for (size_t i = first; i < names->list.count && rc == NP_OK; i++) {
		int64_t other;
		int64_t stamp;
		int32_t rank;

		if (!file_name_is_monitor_lines(names->list.item[i], &other, &stamp, &rank) ||
		    !discover_same_monitor(process, own, other, rank))
			continue;
		newest = stamp > newest ? stamp : newest;
		rc = add_lines(&source, dir, names->list.item[i], rank, err);
	}
	source.dir = rc == NP_OK ? strdup(source.file[NP_FILE_TRACE]) : NULL;
	if (!source.dir)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK && source.rank < 0)
		source.rank = monitor_end_rank(
			source.more_traces.count
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
			 !seen_before(names, i, process, rank))
			rc = take_lines(run, dir, names, i, process, rank, err);
	}
	return rc;
}
