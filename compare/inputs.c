/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and measures one side of a comparison, whatever kind of input it is (inputs.h). */
#include "inputs.h"

#include "cli/command/progress.h"
#include "cli/prepare/prepare.h"
#include "core/model/vendor/gpu_trace.h"

#include "npuprof/dirs.h"
#include "npuprof/load_run.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

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

static int add_source(struct np_run *run, const char *path, int64_t bytes, struct np_err *err)
{
	const char *slash = strrchr(path, '/');
	struct np_source_files *source = np_vec_add(&run->sources, err);

	if (!source)
		return NP_E_NOMEM;
	source->kind = NP_KIND_PYTORCH;
	source->rank = rank_in_name(slash ? slash + 1 : path);
	source->device = -1;
	source->bytes = bytes;
	source->dir =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	source->file[NP_FILE_GPU_TRACE] = strdup(path);
	if (!source->dir || !source->file[NP_FILE_GPU_TRACE])
		return np_fail_nomem(err, path);
	return NP_OK;
}

static int add_root(struct np_run *run, const char *path, struct np_err *err)
{
	char **root = np_vec_add(&run->roots, err);

	if (!root || !(*root = strdup(path)))
		return np_fail_nomem(err, path);
	return NP_OK;
}

static bool is_trace(const char *path)
{
	return np_text_ends(path, ".json") || np_text_ends(path, ".json.gz");
}

static int by_rank(const void *left, const void *right)
{
	const struct np_source_files *a = left;
	const struct np_source_files *b = right;
	const char *x = a->file[NP_FILE_GPU_TRACE];
	const char *y = b->file[NP_FILE_GPU_TRACE];

	return a->rank != b->rank ? np_order(a->rank, b->rank) : strcmp(x, y);
}

/* Ranks are numbered by the names of the files, or in their order where those do not differ. */
static void number_ranks(struct np_run *run)
{
	bool good = true;

	if (run->sources.count)
		qsort(run->sources.item, run->sources.count, sizeof(*run->sources.item), by_rank);
	for (size_t i = 0; i < run->sources.count; i++)
		good = good && run->sources.item[i].rank >= 0 &&
		       (i == 0 || run->sources.item[i].rank != run->sources.item[i - 1].rank);
	for (size_t i = 0; i < run->sources.count && !good; i++)
		run->sources.item[i].rank = (int32_t)i;
}

/* The traces of GPUs in a directory; those of other things are none. */
static int find_gpu_traces(struct np_run *run, const char *directory, struct np_err *err)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	int rc = dir ? add_root(run, directory, err)
		     : np_fail(err, NP_E_IO, "cannot read '%s': %s", directory, strerror(errno));

	while (rc == NP_OK && (entry = readdir(dir))) {
		struct np_err problem = NP_ERR_INIT;
		struct stat status;
		char *path;
		bool gpu;

		if (!is_trace(entry->d_name))
			continue;
		if (asprintf(&path, "%s/%s", directory, entry->d_name) < 0) {
			rc = np_fail_nomem(err, directory);
			break;
		}
		if (stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
		    gpu_trace_is(path, &gpu, &problem) == NP_OK && gpu)
			rc = add_source(run, path, status.st_size, err);
		free(path);
	}
	if (dir)
		(void)closedir(dir);
	if (rc == NP_OK)
		number_ranks(run);
	return rc;
}

/* Read the sources that were found. */
static int load_sources(struct np_run *run, const struct np_common *common, struct np_err *err)
{
	struct np_progress progress;
	struct np_load_options how = { .procs = &np_procs_serial,
				       .workers = { .threads = (size_t)common->jobs },
				       .watch = prepare_watch,
				       .watch_context = &progress,
				       .kernel_framework_op = common->kernel_framework_op };
	int rc = prepare_steps_from(common, &how.steps, err);

	if (rc < 0)
		return rc;
	np_progress_init(&progress, "reading", common->quiet);
	rc = np_load_run(run, &how, err);
	np_progress_end(&progress);
	return rc < 0 ? rc : prepare_steps(run, common, err);
}

static int load_input(const char *path, const struct np_common *common, struct np_analysis **ret,
		      struct np_err *err)
{
	const struct np_opt_list picks = { 0 };
	struct np_common own = *common;
	struct np_err problem = NP_ERR_INIT;
	struct np_run *run;
	int rc;

	own.dirs = (struct np_opt_list){ &path, 1, 1 };
	rc = prepare_analysis(&own, &picks, ret, &problem);
	if (rc != NP_E_NOTFOUND || !np_is_directory(path))
		return rc < 0 ? np_fail(err, problem.code, "%s", problem.text) : NP_OK;
	run = np_run_new();
	if (!run)
		return np_fail_nomem(err, "the run");
	rc = find_gpu_traces(run, path, err);
	/* Without any, what the search for ranks said stands. */
	if (rc == NP_OK && run->sources.count == 0)
		rc = np_fail(err, problem.code, "%s", problem.text);
	if (rc < 0) {
		np_run_free(run);
		return rc;
	}
	rc = load_sources(run, common, err);
	if (rc < 0) {
		np_run_free(run);
		return rc;
	}
	return np_analysis_build(run, NULL, (size_t)common->jobs, ret, err);
}

int inputs_load(const char *path, const struct np_common *common, struct np_analysis **ret,
		struct np_err *err)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return np_fail(err, NP_E_USAGE, "cannot read '%s': %s", path, strerror(errno));
	return load_input(path, common, ret, err);
}
