/* SPDX-License-Identifier: Apache-2.0 */
/* What a single file is that somebody has given, or that has a name of the user's own. */
#include "discover_files.h"

#include "core/model/vendor/file_names.h"
#include "core/model/vendor/monitor_end.h"
#include "core/model/vendor/nsys.h"
#include "core/model/vendor/tables.h"

#include "npuprof/buf.h"
#include "npuprof/notes.h"
#include "npuprof/text.h"

#include <errno.h>
#include <sys/stat.h>

/* --- archives -------------------------------------------------------------------------------- */

static const struct {
	const char *suffix;
	const char *unpack;
	const char *into; /* what the directory follows */
} archives[] = {
	{ ".tar", "tar -xf", "-C" },     { ".tar.gz", "tar -xzf", "-C" },
	{ ".tgz", "tar -xzf", "-C" },    { ".tar.bz2", "tar -xjf", "-C" },
	{ ".tar.xz", "tar -xJf", "-C" }, { ".tar.zst", "tar --zstd -xf", "-C" },
	{ ".zip", "unzip", "-d" },
};

/* The directory of a file; freed by the caller. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

bool discover_is_archive(const char *path, struct np_buf *buf)
{
	for (size_t i = 0; i < NP_COUNT(archives); i++) {
		char *dir;

		if (!np_text_ends(path, archives[i].suffix))
			continue;
		dir = buf ? directory_of(path) : NULL;
		if (dir)
			np_buf_printf(buf, "%s '%s' %s '%s'", archives[i].unpack, path,
				      archives[i].into, dir);
		free(dir);
		return true;
	}
	return false;
}

/* --- databases ------------------------------------------------------------------------------- */

static bool has_rank_tables(struct np_db *db)
{
	return np_db_has_table(db, "STRING_IDS") &&
	       (np_db_has_table(db, "TASK") || np_db_has_table(db, "COMMUNICATION_OP") ||
		np_db_has_table(db, "CANN_API"));
}

bool discover_is_rank_db(const char *path)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;

	return np_db_open(path, &db, NULL) == NP_OK && has_rank_tables(db);
}

/* The first row of a table; false if there is none. */
static bool first_row(struct np_db *db, const struct vendor_table *table, struct np_scan **scan,
		      struct np_batch *batch)
{
	const struct vendor_pick all = { table, 0, 0 };

	return vendor_scan_open(db, &all, scan, NULL) == NP_OK &&
	       np_scan_next(*scan, batch, NULL) == NP_OK && batch->rows > 0;
}

static void read_map(struct np_source_files *source, struct np_db *db)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	int64_t rank;
	int64_t device;

	if (!first_row(db, &vendor_rank_device_map, &scan, &batch))
		return;
	rank = batch.column[MAP_RANK].integer[0];
	device = batch.column[MAP_DEVICE].integer[0];
	if (source->rank < 0 && rank >= 0 && rank <= INT32_MAX)
		source->rank = (int32_t)rank;
	if (source->device < 0 && device >= 0 && device <= INT32_MAX)
		source->device = (int32_t)device;
}

static void read_host(struct np_source_files *source, struct np_db *db)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	const char *host;

	if (source->host || !first_row(db, &vendor_host_info, &scan, &batch))
		return;
	host = batch.column[HOST_UID].text[0].bytes;
	if (!host)
		host = batch.column[HOST_NAME].text[0].bytes;
	if (host)
		source->host = strdup(host);
}

static void read_device(struct np_source_files *source, struct np_db *db)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	int64_t device;

	if (source->device >= 0 || !first_row(db, &vendor_npu_info, &scan, &batch) ||
	    batch.rows != 1)
		return;
	device = batch.column[NPU_ID].integer[0];
	if (device >= 0 && device <= INT32_MAX)
		source->device = (int32_t)device;
}

void discover_read_db(struct np_source_files *source)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;

	if (!source->file[NP_FILE_RANK_DB] ||
	    np_db_open(source->file[NP_FILE_RANK_DB], &db, NULL) < 0)
		return;
	read_map(source, db);
	read_host(source, db);
	read_device(source, db);
}

/* --- a file that was given ------------------------------------------------------------------- */

static bool is_json(const char *path)
{
	return np_text_ends(path, ".json") || np_text_ends(path, ".json.gz");
}

/* Lines of msMonitor. */
static bool is_lines(const char *path)
{
	return np_text_ends(path, ".jsonl") || np_text_ends(path, ".jsonl.gz");
}

/* Tables that need others beside them. */
static bool is_part(const char *name)
{
	static const char *const parts[] = {
		"op_statistic",        "api_statistic",
		"memory_record",       "operator_memory",
		"npu_module_mem",      "operator_details",
		"task_time",           "l2_cache",
		"data_preprocess",     "communication_matrix",
		"communication_group", "cluster_communication_matrix"
	};

	for (size_t i = 0; i < NP_COUNT(parts); i++) {
		if (np_text_begins(name, parts[i]))
			return true;
	}
	return false;
}

static int refuse(const char *path, struct np_err *err)
{
	if (is_part(np_text_last_part(path)))
		return np_fail(err, NP_E_USAGE,
			       "'%s' is only a part of a profile: give the directory that it stands"
			       " in",
			       path);
	return np_fail(
		err, NP_E_USAGE,
		"'%s' is no profile: give a directory, a database (.db, or .sqlite of Nsight Systems), a"
		" trace (.json, .json.gz, .jsonl) or a table (kernel_details.csv, op_summary_*.csv,"
		" step_trace_time.csv)",
		path);
}

/* A database by its tables, whatever its name. */
static int kind_of_db(const char *path, enum np_file *ret, struct np_err *err)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct np_err problem = NP_ERR_INIT;

	*ret = NP_FILE_RANK_DB;
	/* What cannot be opened is said when it is read, as of any rank. */
	if (np_db_open(path, &db, &problem) < 0)
		return problem.code == NP_E_NOMEM ? np_fail(err, NP_E_NOMEM, "%s", problem.text)
						  : NP_OK;
	if (has_rank_tables(db))
		return NP_OK;
	if (np_db_has_table(db, "ClusterStepTraceTime") ||
	    np_db_has_table(db, "ClusterCommunicationTime"))
		*ret = NP_FILE_CLUSTER_DB;
	else if (np_db_has_table(db, "StepTraceTime") || np_db_has_table(db, "CommAnalyzerTime"))
		*ret = NP_FILE_ANALYSIS_DB;
	return NP_OK;
}

static int kind_of_trace(const char *path, const char *name, enum np_file *ret, struct np_err *err)
{
	bool kineto = false;
	int rc;

	if (np_text_begins(name, "profiler_info") || np_text_begins(name, "profiler_metadata"))
		return np_fail(err, NP_E_USAGE,
			       "'%s' describes a profile: give the directory that it stands in",
			       path);
	rc = discover_is_kineto(path, &kineto, err);
	*ret = kineto ? NP_FILE_KINETO : NP_FILE_TRACE;
	return rc;
}

static bool is_kernel_table(const char *name)
{
	return np_text_begins(name, "kernel_details") || np_text_begins(name, "op_summary");
}

static int kind_of_file(const char *path, enum np_file *ret, struct np_err *err)
{
	const char *name = np_text_last_part(path);
	bool csv = np_text_ends(path, ".csv") || np_text_ends(path, ".csv.gz");
	struct renamed_file renamed;

	*ret = discover_fixed_file(name);
	if (*ret == NP_FILE_COUNT)
		*ret = discover_stamped_file(name);
	if (*ret == NP_FILE_COUNT && discover_renamed(name, &renamed))
		*ret = renamed.file;
	if (np_text_ends(name, ".sqlite")) {
		*ret = NP_FILE_KINETO; /* of Nsight Systems; what is none is said when it is read */
		return nsys_is(path) ? NP_OK : refuse(path, err);
	}
	if (np_text_ends(name, ".db"))
		return kind_of_db(path, ret, err);
	if (is_lines(path)) {
		*ret = NP_FILE_TRACE;
		return NP_OK;
	}
	if (*ret == NP_FILE_TRACE || (*ret == NP_FILE_COUNT && is_json(path)))
		return kind_of_trace(path, name, ret, err);
	if (*ret == NP_FILE_COUNT && csv && is_kernel_table(name))
		*ret = NP_FILE_KERNELS;
	else if (*ret == NP_FILE_COUNT && csv && np_text_begins(name, "step_trace_time"))
		*ret = NP_FILE_STEP_TRACE;
	switch (*ret) {
	case NP_FILE_KERNELS:
	case NP_FILE_STEP_TRACE:
	case NP_FILE_COMM:
		return NP_OK;
	default:
		return refuse(path, err);
	}
}

/* profiler_info and profiler_metadata, where a profiler puts them: above the output directory. */
static int find_above(struct np_run *run, const char *dir, struct np_source_files *source,
		      struct np_err *err)
{
	char *above = strcmp(np_text_last_part(dir), OUTPUT_NAME) == 0 ? np_join_path(dir, "..")
								       : strdup(dir);
	struct np_names names = { 0 };
	int rc = above ? discover_names(run, above, &names, err) : np_fail_nomem(err, dir);

	if (rc == NP_OK)
		rc = discover_metadata(above, &names, source, err);
	np_names_release(&names);
	free(above);
	return rc;
}

/* Are the words around the names of two files the same, or are there none? */
static bool same_words(const char *a, const char *b)
{
	struct renamed_file words[2];
	bool renamed = discover_renamed(np_text_last_part(a), &words[0]);

	if (discover_renamed(np_text_last_part(b), &words[1]) != renamed)
		return false;
	return !renamed || discover_same_renamed(&words[0], &words[1]);
}

/* A file of the same directory that was given before: both are of one rank. */
static struct np_source_files *find_sibling(struct np_run *run, const char *path, enum np_file file)
{
	size_t length = (size_t)(np_text_last_part(path) - path);

	for (size_t i = 0; i < run->sources.count; i++) {
		struct np_source_files *each = &run->sources.item[i];

		if (!each->file[file] && each->kind != NP_KIND_MSMONITOR &&
		    each->kind != NP_KIND_CLUSTER && !np_is_directory(each->dir) &&
		    (size_t)(np_text_last_part(each->dir) - each->dir) == length &&
		    strncmp(each->dir, path, length) == 0 && same_words(each->dir, path))
			return each;
	}
	return NULL;
}

/* How many databases of ranks were given in the directory of this file? */
static size_t count_given(const struct np_run *run, const char *path)
{
	size_t length = (size_t)(np_text_last_part(path) - path);
	size_t count = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		const char *db = run->sources.item[i].file[NP_FILE_RANK_DB];

		count += db && (size_t)(np_text_last_part(db) - db) == length &&
			 strncmp(db, path, length) == 0;
	}
	return count;
}

static int add_to_sibling(struct np_source_files *sibling, const char *path, enum np_file file,
			  struct np_err *err)
{
	struct stat status;

	sibling->file[file] = strdup(path);
	if (!sibling->file[file])
		return np_fail_nomem(err, path);
	if (stat(path, &status) == 0)
		sibling->bytes += (int64_t)status.st_size;
	return NP_OK;
}

/* What the same process of msMonitor has written before this file, given in this order. */
static struct np_source_files *find_process(struct np_run *run, const char *path)
{
	size_t length = (size_t)(np_text_last_part(path) - path);
	int64_t process;
	int64_t other;
	int64_t stamp;
	int32_t rank;
	int32_t other_rank;

	if (!file_name_is_monitor_lines(np_text_last_part(path), &process, &stamp, &rank))
		return NULL;
	for (size_t i = 0; i < run->sources.count; i++) {
		const char *first = run->sources.item[i].file[NP_FILE_TRACE];

		if (run->sources.item[i].kind == NP_KIND_MSMONITOR && first &&
		    strncmp(first, path, length) == 0 && strcmp(first, path) < 0 &&
		    file_name_is_monitor_lines(first + length, &other, &stamp, &other_rank) &&
		    discover_same_monitor(process, rank, other, other_rank))
			return &run->sources.item[i];
	}
	return NULL;
}

static int add_lines(struct np_source_files *source, const char *path, struct np_err *err)
{
	char **slot = np_vec_add(&source->more_traces, err);
	struct stat status;

	if (!slot || !(*slot = strdup(path)))
		return np_fail_nomem(err, path);
	if (source->rank < 0)
		source->rank = monitor_end_rank(path);
	if (stat(path, &status) == 0)
		source->bytes += (int64_t)status.st_size;
	return NP_OK;
}

static int take_single(struct np_run *run, const char *path, enum np_file file, struct np_err *err)
{
	struct np_source_files source = { .kind = NP_KIND_PYTORCH, .rank = -1, .device = -1 };
	const char *name = np_text_last_part(path);
	char *dir = directory_of(path);
	int32_t rank = -1;
	int64_t process = -1;
	int64_t stamp = -1;
	int rc = NP_OK;

	if (!dir)
		rc = np_fail_nomem(err, path);
	else if (file != NP_FILE_KINETO)
		rc = find_above(run, dir, &source, err);
	if (file == NP_FILE_KINETO)
		source.kind = NP_KIND_KINETO;
	else if (file_name_is_msmonitor(name, &stamp, &rank) ||
		 file_name_is_monitor_lines(name, &process, &stamp, &rank) || is_lines(name))
		source.kind = NP_KIND_MSMONITOR;
	else if (!file_name_is_rank_db(name, &source.kind, &rank) &&
		 discover_stamped_file(name) != NP_FILE_COUNT)
		source.kind = NP_KIND_MSPROF;
	if (rank >= 0)
		source.rank = rank;
	source.dir = strdup(path);
	source.file[file] = strdup(path);
	if (!source.dir || !source.file[file])
		rc = np_fail_nomem(err, path);
	if (rc == NP_OK)
		rc = discover_keep(run, &source, err);
	np_source_files_release(&source);
	free(dir);
	return rc;
}

/* A file of the text form of a result stands for all of it. */
static int take_result_of(struct np_run *run, const char *path, struct np_err *err)
{
	char *dir = directory_of(path);
	size_t none = 0;
	int rc = dir ? discover_take_cluster(run, dir, &none, err) : np_fail_nomem(err, path);

	free(dir);
	return rc;
}

int discover_take_file(struct np_run *run, const char *path, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;
	struct np_source_files *sibling;
	enum np_file file;
	size_t none = 0;
	int rc;

	if (discover_is_archive(path, &line))
		return np_fail(err, NP_E_USAGE, "'%s' is an archive; unpack it first: %s", path,
			       line.text);
	if (discover_is_result(np_text_last_part(path)) && !np_text_ends(path, ".db"))
		return take_result_of(run, path, err);
	rc = kind_of_file(path, &file, err);
	if (rc < 0)
		return rc;
	if (file == NP_FILE_CLUSTER_DB)
		return discover_take_cluster_db(run, path, &none, err);
	sibling = find_process(run, path);
	if (sibling)
		return add_lines(sibling, path, err);
	sibling = count_given(run, path) < 2 && file != NP_FILE_RANK_DB && file != NP_FILE_KINETO
			  ? find_sibling(run, path, file)
			  : NULL;
	return sibling ? add_to_sibling(sibling, path, file, err)
		       : take_single(run, path, file, err);
}
