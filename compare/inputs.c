/* SPDX-License-Identifier: Apache-2.0 */
#include "inputs.h"

#include "prepare.h"
#include "progress.h"

#include "npuprof/load.h"
#include "npuprof/text.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length > strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* The number before the suffix: ascend_pytorch_profiler_3.db, trace_rank3.json; −1 for none. */
static int32_t rank_in_name(const char *name)
{
	const char *end = strchr(name, '.');
	const char *from = end ? end : name + strlen(name);
	int64_t rank;

	end = from;
	while (from > name && from[-1] >= '0' && from[-1] <= '9')
		from--;
	if (from == end || end - from > 6 || !np_text_to_int(from, (size_t)(end - from), &rank))
		return -1;
	return (int32_t)rank;
}

/* Metadata that lies where the profiler puts it, beside the directory of the file. */
static void find_metadata(struct np_source_files *source)
{
	char *path;

	if (asprintf(&path, "%s/../profiler_metadata.json", source->dir) < 0)
		return;
	if (access(path, R_OK) == 0)
		source->file[NP_FILE_METADATA] = path;
	else
		free(path);
}

static int add_source(struct np_run *run, const char *path, const struct stat *status,
		      struct np_err *err)
{
	const char *slash = strrchr(path, '/');
	struct np_source_files *source = np_vec_add(&run->sources, err);
	char **root = np_vec_add(&run->roots, err);
	enum np_file file = ends_with(path, ".db") ? NP_FILE_RANK_DB : NP_FILE_TRACE;

	if (!source || !root)
		return NP_E_NOMEM;
	source->kind = NP_KIND_PYTORCH;
	source->rank = rank_in_name(slash ? slash + 1 : path);
	source->device = -1;
	source->bytes = status->st_size;
	source->dir =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	source->file[file] = strdup(path);
	*root = strdup(path);
	if (!source->dir || !source->file[file] || !*root)
		return np_fail_nomem(err, path);
	find_metadata(source);
	return NP_OK;
}

static int load_file(const char *path, const struct stat *status, const struct np_common *common,
		     struct np_run *run, struct np_err *err)
{
	struct np_progress progress;
	const struct np_workers workers = { .threads = 1,
					    .tick = np_progress_tick,
					    .tick_context = &progress };
	int rc = add_source(run, path, status, err);

	if (rc < 0)
		return rc;
	np_progress_init(&progress, "reading", common->quiet);
	rc = np_load(run, &np_comm_serial, &workers, err);
	np_progress_end(&progress);
	if (rc == NP_OK && common->steps.set)
		rc = np_run_keep_steps(run, common->steps.set, err);
	return rc;
}

int inputs_load(const char *path, const struct np_common *common, struct np_analysis **ret,
		struct np_err *err)
{
	const struct np_opt_list picks = { 0 };
	struct np_run *run;
	struct stat status;
	int rc;

	if (stat(path, &status) < 0)
		return np_fail(err, NP_E_USAGE, "cannot read '%s': %s", path, strerror(errno));
	if (S_ISDIR(status.st_mode)) {
		struct np_common own = *common;

		own.dirs = (struct np_opt_list){ &path, 1, 1 };
		return prepare_analysis(&own, &picks, ret, err);
	}
	if (!ends_with(path, ".db") && !ends_with(path, ".json") && !ends_with(path, ".json.gz"))
		return np_fail(err, NP_E_USAGE,
			       "'%s' is no profile: give a directory, a database (.db) or a trace "
			       "(.json, .json.gz)",
			       path);
	run = np_run_new();
	if (!run)
		return np_fail_nomem(err, "the run");
	rc = load_file(path, &status, common, run, err);
	if (rc < 0) {
		np_run_free(run);
		return rc;
	}
	return np_analysis_build(run, NULL, (size_t)common->jobs, ret, err);
}
