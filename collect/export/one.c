/* SPDX-License-Identifier: Apache-2.0 */
/* The export of one rank: all of its files, verified, then renamed into place. */
#include "export.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/model/vendor/analysis_out.h"
#include "core/model/vendor/communication_out.h"
#include "npuprof/jsonout.h"
#include "npuprof/load.h"
#include "npuprof/run.h"

/* Where files are made until all are good; its name keeps other tools out. */
#define WORK_NAME ".npuprof_export"
#define LOG_NAME  "npuprof_export.log"

/* Profiles are not for everybody. */
#define OUTPUT_MODE 0777

/* --- freshness ------------------------------------------------------------------------------- */

/* analyse.done names the forms that were written, so that asking for another one is work. */
static unsigned types_done(const struct np_json *done)
{
	const struct np_json *types = np_json_member(done, "types");
	unsigned found = 0;

	for (size_t i = 0; i < np_json_count(types); i++) {
		const char *name = np_json_text(np_json_item(types, i));

		if (name && strcmp(name, "db") == 0)
			found |= NP_EXPORT_DB;
		if (name && strcmp(name, "text") == 0)
			found |= NP_EXPORT_TEXT;
	}
	return found;
}

static char *output_path(const struct np_export_rank *rank, const char *name)
{
	char *path;

	return asprintf(&path, "%s/" NP_EXPORT_OUTPUT "/%s", rank->dir, name) < 0 ? NULL : path;
}

/* The forms of an earlier export that the raw data have not outlived. */
static unsigned fresh_types(const struct np_export_rank *rank)
{
	NP_CLEANUP(np_json_freep) struct np_json *done = NULL;
	char *path = output_path(rank, NP_EXPORT_DONE);
	struct stat status;
	unsigned types = 0;

	if (path && stat(path, &status) == 0 &&
	    (np_ns)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec >=
		    np_export_raw_time(rank) &&
	    np_json_read_file(path, 65536, &done, NULL) == NP_OK)
		types = types_done(done);
	free(path);
	return types;
}

static bool has_output(const struct np_export_rank *rank, unsigned types)
{
	char name[64];
	char *db;
	char *trace = output_path(rank, "trace_view.json");
	bool found;

	(void)snprintf(name, sizeof(name), "ascend_pytorch_profiler_%d.db", (int)rank->rank);
	db = output_path(rank, name);
	found = db && trace && (!(types & NP_EXPORT_DB) || np_export_is_file(db)) &&
		(!(types & NP_EXPORT_TEXT) || np_export_is_file(trace));
	free(db);
	free(trace);
	return found;
}

bool np_export_is_fresh(const struct np_export_rank *rank, const struct np_export_options *options)
{
	return !options->force && rank->prof && rank->rank >= 0 &&
	       (fresh_types(rank) & options->types) == options->types &&
	       has_output(rank, options->types);
}

/* --- files of one rank ----------------------------------------------------------------------- */

struct export_work {
	struct np_export_rank *rank;
	const struct np_export_tree *tree;
	const struct np_export_options *options;
	char *dir; /* where files are made */
	int log;
	int lock;
	struct np_strtab *strings;
	struct np_rank *loaded;
};

static char *work_path(const struct export_work *work, const char *name)
{
	return np_join_path(work->dir, name);
}

/* Read what was made as an analysis will. `trace`: from the trace rather than the database. */
static int load_rank(struct export_work *work, bool trace, struct np_err *err)
{
	struct np_source_files source = { .kind = NP_KIND_PYTORCH,
					  .rank = work->rank->rank,
					  .dir = work->rank->dir,
					  .device = work->rank->device };
	char name[64];
	int rc;

	(void)snprintf(name, sizeof(name), "ascend_pytorch_profiler_%d.db", (int)work->rank->rank);
	if (trace) {
		source.file[NP_FILE_TRACE] = work_path(work, "trace_view.json");
		source.file[NP_FILE_KERNELS] = work_path(work, "kernel_details.csv");
		if (source.file[NP_FILE_KERNELS] &&
		    !np_export_is_file(source.file[NP_FILE_KERNELS])) {
			free(source.file[NP_FILE_KERNELS]);
			source.file[NP_FILE_KERNELS] = NULL;
		}
	} else {
		source.file[NP_FILE_RANK_DB] = work_path(work, name);
	}
	source.file[NP_FILE_METADATA] = np_join_path(work->rank->dir, "profiler_metadata.json");
	if (source.file[NP_FILE_METADATA] && !np_export_is_file(source.file[NP_FILE_METADATA])) {
		free(source.file[NP_FILE_METADATA]);
		source.file[NP_FILE_METADATA] = NULL;
	}
	np_rank_freep(&work->loaded);
	rc = np_load_rank(&source, work->strings, &work->loaded, err);
	for (int i = 0; i < NP_FILE_COUNT; i++)
		free(source.file[i]);
	return rc;
}

static int make_db(struct export_work *work, struct np_err *err)
{
	char name[64];
	char *path;
	int rc;

	rc = np_export_msprof(work->rank, work->options, NP_EXPORT_DB, work->log, err);
	if (rc < 0)
		return rc;
	(void)snprintf(name, sizeof(name), "ascend_pytorch_profiler_%d.db", (int)work->rank->rank);
	path = work_path(work, name);
	rc = path ? np_export_rank_db(work->rank, path, err) : np_fail_nomem(err, name);
	free(path);
	if (rc == NP_OK)
		rc = load_rank(work, false, err);
	if (rc < 0)
		return rc;
	path = work_path(work, NP_ANALYSIS_FILE);
	rc = path ? np_analysis_db_write(work->loaded, work->strings, path, err)
		  : np_fail_nomem(err, NP_ANALYSIS_FILE);
	free(path);
	return rc;
}

static int write_step_csv(const void *context, FILE *stream, struct np_err *err)
{
	const struct export_work *work = context;

	return np_step_trace_write(work->loaded, work->strings, stream, err);
}

static int write_communication(const void *context, FILE *stream, struct np_err *err)
{
	const struct export_work *work = context;

	return np_communication_write(work->loaded, work->strings, stream, err);
}

static int write_matrix(const void *context, FILE *stream, struct np_err *err)
{
	const struct export_work *work = context;

	return np_matrix_write(work->loaded, work->strings, stream, err);
}

static int write_derived(const struct export_work *work, struct np_err *err)
{
	static const struct {
		const char *name;
		np_file_writer *write;
		bool communication;
	} files[] = {
		{ NP_STEP_TRACE_FILE, write_step_csv, false },
		{ NP_COMMUNICATION_FILE, write_communication, true },
		{ NP_MATRIX_FILE, write_matrix, true },
	};
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(files) && rc == NP_OK; i++) {
		char *path;

		if (files[i].communication && !np_analysis_has_communication(work->loaded))
			continue;
		path = work_path(work, files[i].name);
		rc = path ? np_write_file(path, files[i].write, work, err)
			  : np_fail_nomem(err, files[i].name);
		free(path);
	}
	return rc;
}

/*
 * The steps of kernels come from the trace where it shows what launched them,
 * and without that (level 0) the trace needs the steps of kernels.
 */
static int make_kernels(struct export_work *work, struct np_err *err)
{
	char *path = work_path(work, "kernel_details.csv");
	int rc = path ? np_export_kernels_csv(work->rank, NULL, path, err)
		      : np_fail_nomem(err, "kernel_details.csv");

	if (rc == NP_OK && !work->loaded)
		rc = load_rank(work, true, err);
	if (rc == NP_OK)
		rc = np_export_kernels_csv(
			work->rank, &(struct np_export_loaded){ work->loaded, work->strings }, path,
			err);
	free(path);
	return rc;
}

static int make_text(struct export_work *work, struct np_err *err)
{
	int rc = np_export_msprof(work->rank, work->options, NP_EXPORT_TEXT, work->log, err);

	if (rc == NP_OK)
		rc = np_export_trace_text(work->rank, work->dir, err);
	if (rc == NP_OK)
		rc = make_kernels(work, err);
	if (rc < 0)
		return rc;
	return write_derived(work, err);
}

/* --- into place ------------------------------------------------------------------------------ */

struct export_mark {
	unsigned types;
	const struct np_export_rank *rank;
};

static int write_done(const void *context, FILE *stream, struct np_err *err)
{
	const struct export_mark *done = context;
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.export/1");
	np_jsonout_integer(&out, "rank", done->rank->rank);
	np_jsonout_array_line(&out, "types");
	if (done->types & NP_EXPORT_DB)
		np_jsonout_text(&out, NULL, "db");
	if (done->types & NP_EXPORT_TEXT)
		np_jsonout_text(&out, NULL, "text");
	np_jsonout_end(&out);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}

static int move_file(const char *from_dir, const char *to_dir, const char *name, int64_t *bytes,
		     struct np_err *err)
{
	char *from = np_join_path(from_dir, name);
	char *to = np_join_path(to_dir, name);
	struct stat status;
	int rc = from && to ? NP_OK : np_fail_nomem(err, name);

	if (rc == NP_OK && stat(from, &status) == 0)
		*bytes += status.st_size;
	if (rc == NP_OK && rename(from, to) < 0)
		rc = np_fail(err, NP_E_IO, "cannot rename '%s' to '%s': %s", from, to,
			     strerror(errno));
	free(from);
	free(to);
	return rc;
}

/* Old results go first, so that new and old ones are never mixed under one mark. */
static int put_in_place(const struct export_work *work, struct np_err *err)
{
	NP_CLEANUP(np_names_release) struct np_names names = { 0 };
	struct export_mark done = { .types = work->options->types, .rank = work->rank };
	char *output = np_join_path(work->rank->dir, NP_EXPORT_OUTPUT);
	char *mark = output_path(work->rank, NP_EXPORT_DONE);
	int rc = output && mark ? NP_OK : np_fail_nomem(err, NP_EXPORT_OUTPUT);

	/* Forms of an earlier export that are still good are kept. */
	done.types |= fresh_types(work->rank);
	if (rc == NP_OK)
		rc = np_make_dirs_as(output, OUTPUT_MODE, err);
	if (rc == NP_OK && unlink(mark) < 0 && errno != ENOENT)
		rc = np_fail(err, NP_E_IO, "cannot remove '%s': %s", mark, strerror(errno));
	if (rc == NP_OK)
		rc = np_export_list(work->dir, &names, err);
	work->rank->bytes = 0;
	for (size_t i = 0; i < names.list.count && rc == NP_OK; i++)
		rc = move_file(work->dir, output, names.list.item[i], &work->rank->bytes, err);
	if (rc == NP_OK)
		rc = np_write_file(mark, write_done, &done, err);
	free(output);
	free(mark);
	return rc;
}

/* --- one rank -------------------------------------------------------------------------------- */

/* Two exports of one rank would spoil each other's files. The lock ends with this process. */
static int lock_log(const char *path, const char *dir, int *ret, struct np_err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);

	if (fd < 0)
		return np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		*ret = fd;
		return NP_OK;
	}
	(void)close(fd);
	return np_fail(err, NP_E_BUSY, "another export is at work on '%s'", dir);
}

/*
 * The log is opened again for writing: msprof inherits that, and what it starts
 * may live on and must not hold the lock.
 */
static int open_log(struct export_work *work, struct np_err *err)
{
	const struct np_export_rank *rank = work->rank;
	char *dir = np_join_path(rank->dir, "logs");
	char *path = dir ? np_join_path(dir, LOG_NAME) : NULL;
	int rc = path ? np_make_dirs_as(dir, OUTPUT_MODE, err) : np_fail_nomem(err, rank->dir);

	if (rc == NP_OK)
		rc = lock_log(path, rank->dir, &work->lock, err);
	if (rc == NP_OK) {
		work->log = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
		if (work->log < 0)
			rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerror(errno));
	}
	free(path);
	free(dir);
	return rc;
}

static void close_log(const struct export_work *work)
{
	if (work->log >= 0)
		(void)close(work->log);
	if (work->lock >= 0)
		(void)close(work->lock);
}

static int check(const struct np_export_rank *rank, struct np_err *err)
{
	if (rank->framework)
		return np_fail(err, NP_E_USAGE,
			       "torch_npu itself recorded '%s' (there is FRAMEWORK), and has an"
			       " exporter of its own",
			       rank->dir);
	if (!rank->prof)
		return np_fail(err, NP_E_NOTFOUND, "no PROF_* with raw data in '%s'", rank->dir);
	if (rank->rank < 0)
		return np_fail(err, NP_E_FORMAT,
			       "nothing names the rank of '%s' (npuprof_rank.json,"
			       " profiler_info_N.json, npuprof_manifest.json)",
			       rank->dir);
	return NP_OK;
}

static int make_files(struct export_work *work, struct np_err *err)
{
	int rc = np_export_complete_metadata(work->rank, work->tree, err);

	np_remove_tree(work->dir);
	if (rc == NP_OK)
		rc = np_make_dirs_as(work->dir, OUTPUT_MODE, err);
	if (rc == NP_OK && (work->options->types & NP_EXPORT_DB))
		rc = make_db(work, err);
	if (rc == NP_OK && (work->options->types & NP_EXPORT_TEXT))
		rc = make_text(work, err);
	if (rc == NP_OK)
		rc = put_in_place(work, err);
	return rc;
}

/* What is worth reporting of the result. */
static void take_facts(struct export_work *work)
{
	const struct np_rank *loaded = work->loaded;
	struct np_export_rank *rank = work->rank;

	rank->op_count = loaded->ops.count;
	rank->step_count = 0;
	for (size_t i = 0; i < loaded->steps.count; i++) {
		const char *id = loaded->steps.item[i].id == NP_STR_NONE
					 ? NULL
					 : np_strtab_text(work->strings, loaded->steps.item[i].id);
		long long number;

		if (!id || sscanf(id, "%lld", &number) != 1)
			continue;
		if (rank->step_count == 0 || number < rank->first_step)
			rank->first_step = number;
		if (rank->step_count == 0 || number > rank->last_step)
			rank->last_step = number;
		rank->step_count++;
	}
	np_notes_move(&rank->notes, &work->loaded->notes);
}

static int make_all(struct export_work *work, struct np_err *err)
{
	int rc;

	work->dir = np_join_path(work->rank->dir, WORK_NAME);
	work->strings = np_strtab_new();
	rc = work->dir && work->strings ? make_files(work, err)
					: np_fail_nomem(err, work->rank->dir);
	if (rc == NP_OK) {
		take_facts(work);
		if (!work->options->keep_raw)
			np_export_remove_msprof(work->rank);
	}
	if (work->dir)
		np_remove_tree(work->dir);
	np_rank_free(work->loaded);
	np_strtab_free(work->strings);
	free(work->dir);
	return rc;
}

void np_export_one(struct np_export_rank *rank, const struct np_export_tree *tree,
		   const struct np_export_options *options)
{
	struct export_work work = {
		.rank = rank, .tree = tree, .options = options, .log = -1, .lock = -1
	};
	int rc = check(rank, &rank->err);

	rank->state = NP_EXPORT_FAILED;
	if (np_export_was_stopped()) {
		rank->state = NP_EXPORT_STOPPED;
		return;
	}
	if (rc == NP_OK && np_export_is_fresh(rank, options)) {
		rank->state = NP_EXPORT_FRESH;
		return;
	}
	if (rc == NP_OK)
		rc = open_log(&work, &rank->err);
	if (rc == NP_OK)
		rc = make_all(&work, &rank->err);
	if (rc == NP_OK)
		rank->state = NP_EXPORT_EXPORTED;
	else if (np_export_was_stopped())
		rank->state = NP_EXPORT_STOPPED;
	else if (work.log >= 0)
		(void)dprintf(work.log, "npuprof export: %s\n", rank->err.text);
	close_log(&work);
}
