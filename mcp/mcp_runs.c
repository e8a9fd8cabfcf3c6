/* SPDX-License-Identifier: Apache-2.0 */
/* Finds runs below the directories that may be read, and keeps what was found in them. */
#include "mcp_runs.h"

#include "cli/command/common.h"
#include "cli/prepare/prepare.h"

#include "npuprof/difference.h"
#include "npuprof/dirs.h"
#include "npuprof/discover.h"
#include "npuprof/lang.h"
#include "npuprof/run.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

/* Runs that are kept; one of a thousand ranks takes some hundred MB. */
#define MOST_KEPT 4

/* How deep, and over how many directories, runs are looked for. */
#define FIND_DEPTH       4
#define FIND_DIRECTORIES 2000

int mcp_runs_init(struct mcp_runs *runs, const struct np_opt_list *roots, size_t threads,
		  struct np_err *err)
{
	int rc = NP_OK;

	*runs = (struct mcp_runs){ .threads = threads };
	for (size_t i = 0; i < roots->count && rc == NP_OK; i++) {
		char *path = realpath(roots->item[i], NULL);
		char **root = path ? np_vec_add(&runs->roots, err) : NULL;

		if (root)
			*root = path;
		else if (path)
			free(path);
		if (!path)
			rc = np_fail(err, NP_E_USAGE, "cannot read '%s': %s", roots->item[i],
				     strerror(errno));
		else if (!root)
			rc = NP_E_NOMEM;
	}
	return rc;
}

static void free_run(struct mcp_run *run)
{
	if (!run)
		return;
	np_advice_free(run->advice);
	np_analysis_free(run->analysis);
	free(run->path);
	free(run->phase);
	free(run);
}

void mcp_runs_release(struct mcp_runs *runs)
{
	for (size_t i = 0; i < runs->roots.count; i++)
		free(runs->roots.item[i]);
	for (size_t i = 0; i < runs->kept.count; i++)
		free_run(runs->kept.item[i]);
	np_vec_release(&runs->roots);
	np_vec_release(&runs->kept);
}

/* --- what may be read ------------------------------------------------------------------------ */

static bool is_inside(const struct mcp_runs *runs, const char *resolved)
{
	for (size_t i = 0; i < runs->roots.count; i++) {
		const char *root = runs->roots.item[i];
		size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

		if (strncmp(resolved, root, length) == 0 &&
		    (resolved[length] == '/' || !resolved[length]))
			return true;
	}
	return false;
}

static char *resolve_below(const char *root, const char *path)
{
	char *joined = np_join_path(root, path);
	char *resolved = joined ? realpath(joined, NULL) : NULL;

	free(joined);
	return resolved;
}

int mcp_runs_resolve(const struct mcp_runs *runs, const char *path, char **ret, struct np_err *err)
{
	char *resolved = NULL;

	if (!path && runs->roots.count != 1)
		return np_fail(err, NP_E_USAGE,
			       "name a run: list_runs lists those that can be asked about");
	if (!path)
		resolved = strdup(runs->roots.item[0]);
	else if (*path == '/')
		resolved = realpath(path, NULL);
	for (size_t i = 0; path && *path && *path != '/' && i < runs->roots.count && !resolved; i++)
		resolved = resolve_below(runs->roots.item[i], path);
	if (!resolved || !is_inside(runs, resolved)) {
		free(resolved);
		return np_fail(err, NP_E_USAGE,
			       "there is no such run below the directories that may be read: "
			       "list_runs lists those that can be asked about");
	}
	*ret = resolved;
	return NP_OK;
}

static int check_path(const struct mcp_runs *runs, const char *path, struct np_err *err)
{
	char *resolved = path ? realpath(path, NULL) : NULL;
	bool inside = !path || (resolved && is_inside(runs, resolved));

	free(resolved);
	return inside ? NP_OK
		      : np_fail(err, NP_E_USAGE,
				"'%s' leads out of the directories that may be read", path);
}

static int check_files(const struct mcp_runs *runs, const struct np_run *run, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_source_files *source = &run->sources.item[i];

		rc = check_path(runs, source->dir, err);
		for (size_t j = 0; j < NP_FILE_COUNT && rc == NP_OK; j++)
			rc = check_path(runs, source->file[j], err);
		for (size_t j = 0; j < source->more_traces.count && rc == NP_OK; j++)
			rc = check_path(runs, source->more_traces.item[j], err);
	}
	return rc;
}

/* --- analyses -------------------------------------------------------------------------------- */

static struct np_common common_of(const struct mcp_runs *runs, const char **path, const char *phase)
{
	return (struct np_common){ .dirs = { path, 1, 1 },
				   .phase = phase,
				   .jobs = (int64_t)runs->threads,
				   .quiet = true,
				   .kernel_framework_op = np_difference_framework_op };
}

static int find(const struct mcp_runs *runs, const struct np_common *common, struct np_run **ret,
		struct np_err *err)
{
	const struct np_opt_list picks = { 0 };
	int rc = prepare_found(common, &picks, ret, err);

	return rc == NP_OK ? check_files(runs, *ret, err) : rc;
}

int mcp_runs_check(const struct mcp_runs *runs, const char *path, struct np_err *err)
{
	NP_CLEANUP(np_run_freep) struct np_run *run = NULL;
	struct np_common common = common_of(runs, &path, NULL);

	return find(runs, &common, &run, err);
}

static int check_phase(const struct np_run *run, const char *phase, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf names = NP_BUF_INIT;

	if (run->phases.count < 2 || phase)
		return NP_OK;
	for (size_t i = 0; i < run->phases.count; i++)
		np_buf_printf(&names, "%s%s", i > 0 ? ", " : "", run->phases.item[i]);
	return np_fail(err, NP_E_USAGE, "this job has several phases; name one as phase: %s",
		       names.text);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Where what is kept of this run is, else where it may be put: instead of what was asked for least.
 */
static struct mcp_run **place_of(struct mcp_runs *runs, const char *path, const char *phase,
				 struct np_err *err)
{
	struct mcp_run **oldest = NULL;

	for (size_t i = 0; i < runs->kept.count; i++) {
		struct mcp_run **each = &runs->kept.item[i];

		if (*each && strcmp((*each)->path, path) == 0 && same_text((*each)->phase, phase))
			return each;
		if (!oldest || !*each || (*oldest && (*each)->used < (*oldest)->used))
			oldest = each;
	}
	if (oldest && runs->kept.count >= MOST_KEPT)
		return oldest;
	oldest = np_vec_add(&runs->kept, err);
	if (oldest)
		*oldest = NULL;
	return oldest;
}

static int analyse(const struct np_common *common, struct np_run **found, struct mcp_run *run,
		   struct np_err *err)
{
	int rc = prepare_loaded(common, *found, err);

	if (rc == NP_OK)
		rc = prepare_measures(common, NP_STEAL(*found), &run->analysis, err);
	return rc;
}

int mcp_runs_load(struct mcp_runs *runs, const char *path, const char *phase, struct mcp_run **ret,
		  struct np_err *err)
{
	NP_CLEANUP(np_run_freep) struct np_run *found = NULL;
	struct np_common common = common_of(runs, &path, phase);
	struct mcp_run **place;
	char fingerprint[17];
	int rc = find(runs, &common, &found, err);

	if (rc == NP_OK)
		rc = check_phase(found, phase, err);
	if (rc < 0)
		return rc;
	np_run_fingerprint(found, fingerprint);
	place = place_of(runs, path, phase, err);
	if (!place)
		return NP_E_NOMEM;
	if (!*place || strcmp((*place)->path, path) != 0 || !same_text((*place)->phase, phase) ||
	    strcmp((*place)->fingerprint, fingerprint) != 0) {
		free_run(*place);
		*place = calloc(1, sizeof(**place));
		if (!*place)
			return np_fail_nomem(err, "a run");
		(*place)->path = strdup(path);
		(*place)->phase = phase ? strdup(phase) : NULL;
		memcpy((*place)->fingerprint, fingerprint, sizeof(fingerprint));
		rc = (*place)->path && (!phase || (*place)->phase)
			     ? analyse(&common, &found, *place, err)
			     : np_fail_nomem(err, "a run");
		if (rc < 0) {
			free_run(*place);
			*place = NULL;
			return rc;
		}
	}
	(*place)->used = ++runs->clock;
	*ret = *place;
	return NP_OK;
}

int mcp_run_advice(struct mcp_run *run, size_t threads, const struct np_advice **ret,
		   struct np_err *err)
{
	const struct np_advice_options how = { .chinese = np_lang() == NP_LANG_ZH,
					       .evidence_rows = 20,
					       .workers = { .threads = threads } };
	int rc = run->advice ? NP_OK : np_advice_new(run->analysis, &how, &run->advice, err);

	*ret = run->advice;
	return rc;
}

/* --- what there is --------------------------------------------------------------------------- */

static void put_phases(struct np_buf *buf, const struct np_run *run)
{
	np_buf_add_char(buf, '[');
	for (size_t i = 0; i < run->phases.count; i++) {
		np_buf_add(buf, i > 0 ? "," : "");
		np_jsonout_quote(buf, run->phases.item[i], strlen(run->phases.item[i]));
	}
	np_buf_add_char(buf, ']');
}

/* Does a rank lie right below the directory, or is it one? A level further down is another run. */
static bool is_run(const struct np_run *run, const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < run->sources.count; i++) {
		const char *dir = run->sources.item[i].dir;

		if (strncmp(dir, path, length) == 0 &&
		    (!dir[length] || !strchr(dir + length + 1, '/')))
			return true;
	}
	return false;
}

static int add_found(struct mcp_found_list *ret, const char *path, const struct np_run *run,
		     struct np_err *err)
{
	struct mcp_found *found = np_vec_add(&ret->list, err);
	struct np_buf phases = NP_BUF_INIT;

	if (!found)
		return NP_E_NOMEM;
	*found = (struct mcp_found){ .path = strdup(path), .ranks = run->sources.count };
	for (size_t i = 0; i < run->sources.count; i++)
		found->bytes += run->sources.item[i].bytes;
	put_phases(&phases, run);
	found->phases = phases.failed ? NULL : phases.text;
	return found->path && found->phases ? NP_OK : np_fail_nomem(err, "a list of runs");
}

static int keep_directory(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strcmp(entry->d_name, "cluster_analysis_output") != 0;
}

static int find_below(const struct mcp_runs *runs, const char *path, int depth, size_t *seen,
		      struct mcp_found_list *ret, struct np_err *err);

static int descend(const struct mcp_runs *runs, const char *path, int depth, size_t *seen,
		   struct mcp_found_list *ret, struct np_err *err)
{
	struct dirent **names = NULL;
	int count = scandir(path, &names, keep_directory, alphasort);
	int rc = NP_OK;

	for (int i = 0; i < count; i++) {
		char *child = rc == NP_OK ? np_join_path(path, names[i]->d_name) : NULL;
		struct stat status;

		/* A link is not followed: what it leads to is found where it is. */
		if (child && lstat(child, &status) == 0 && S_ISDIR(status.st_mode))
			rc = find_below(runs, child, depth + 1, seen, ret, err);
		free(child);
		free(names[i]);
	}
	free(names);
	return rc;
}

static int find_below(const struct mcp_runs *runs, const char *path, int depth, size_t *seen,
		      struct mcp_found_list *ret, struct np_err *err)
{
	NP_CLEANUP(np_run_freep) struct np_run *run = NULL;
	struct np_common common = common_of(runs, &path, NULL);
	struct np_err problem = NP_ERR_INIT;
	size_t before = ret->list.count;
	int rc;

	if (depth > FIND_DEPTH || ++*seen > FIND_DIRECTORIES)
		return NP_OK;
	if (find(runs, &common, &run, &problem) < 0) {
		if (problem.code == NP_E_NOMEM)
			return np_fail_nomem(err, "a list of runs");
		/* One that leads outside does not hide those beside it. */
		return problem.code == NP_E_NOTFOUND ? NP_OK
						     : descend(runs, path, depth, seen, ret, err);
	}
	if (is_run(run, path))
		return add_found(ret, path, run, err);
	/* Runs side by side look like phases of one job: those found below are given. */
	rc = descend(runs, path, depth, seen, ret, err);
	return rc == NP_OK && ret->list.count == before ? add_found(ret, path, run, err) : rc;
}

int mcp_runs_find(const struct mcp_runs *runs, struct mcp_found_list *ret, struct np_err *err)
{
	size_t seen = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < runs->roots.count && rc == NP_OK; i++)
		rc = find_below(runs, runs->roots.item[i], 0, &seen, ret, err);
	return rc;
}

void mcp_found_release(struct mcp_found_list *found)
{
	for (size_t i = 0; i < found->list.count; i++) {
		free(found->list.item[i].path);
		free(found->list.item[i].phases);
	}
	np_vec_release(&found->list);
}
