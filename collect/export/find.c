/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank directories there are, and what is known about each of them. */
#include "export.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/text.h"

#define MAX_DEPTH     6
#define MAX_JSON      ((size_t)256 << 20)
#define MANIFEST_NAME "npuprof_manifest.json"
#define RECORD_NAME   "npuprof_rank.json"
#define RANK_SUFFIX   "_ascend_pt"

/* --- names and paths ------------------------------------------------------------------------- */

bool np_export_is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

int np_export_list(const char *dir, struct np_names *ret, struct np_err *err)
{
	int rc = np_names_read(dir, ret, err);

	return rc == NP_E_IO && access(dir, F_OK) < 0 ? NP_OK : rc;
}

/* --- what is known about a rank -------------------------------------------------------------- */

/* The first of two members of an object that is there: names differ between writers. */
static const struct np_json *either(const struct np_json *object, const char *one, const char *two)
{
	const struct np_json *node = np_json_member(object, one);

	return node ? node : np_json_member(object, two);
}

static void take_number(int32_t *field, const struct np_json *node)
{
	int64_t value;

	if (*field < 0 && np_json_integer(node, &value) && value >= 0 && value <= INT32_MAX)
		*field = (int32_t)value;
}

static int take_text(char **field, const struct np_json *node, struct np_err *err)
{
	const char *text = np_json_text(node);

	if (*field || !text || !*text)
		return NP_OK;
	*field = strdup(text);
	return *field ? NP_OK : np_fail_nomem(err, "a rank");
}

static int take_place(struct np_export_rank *rank, const struct np_json *object, struct np_err *err)
{
	int rc = take_text(&rank->host, either(object, "host", "hostname"), err);

	if (rc == NP_OK)
		rc = take_text(&rank->host_uid, either(object, "host_uid", "hostUid"), err);
	take_number(&rank->rank, np_json_member(object, "rank"));
	take_number(&rank->device, np_json_member(object, "device"));
	return rc;
}

static int by_begin(const void *left, const void *right)
{
	const struct np_export_step *a = left;
	const struct np_export_step *b = right;

	return np_order(a->begin, b->begin);
}

static int take_steps(struct np_export_rank *rank, const struct np_json *steps, struct np_err *err)
{
	for (size_t i = 0; i < np_json_count(steps); i++) {
		const struct np_json *node = np_json_item(steps, i);
		struct np_export_step step;
		struct np_export_step *slot;

		if (!np_json_integer(np_json_member(node, "step"), &step.step) ||
		    !np_json_integer(np_json_member(node, "begin_ns"), &step.begin) ||
		    !np_json_integer(np_json_member(node, "end_ns"), &step.end) ||
		    step.begin <= 0 || step.end <= step.begin || step.end > NP_NS_MAX)
			continue;
		slot = np_vec_add(&rank->steps, err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = step;
	}
	if (rank->steps.count)
		qsort(rank->steps.item, rank->steps.count, sizeof(rank->steps.item[0]), by_begin);
	return NP_OK;
}

/* What the library inside the process recorded. A damaged file is said, and done without. */
static int take_record(struct np_export_rank *rank, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	struct np_err problem = NP_ERR_INIT;
	int rc;

	np_buf_printf(&path, "%s/" RECORD_NAME, rank->dir);
	rc = np_buf_check(&path, err);
	if (rc < 0)
		return rc;
	rc = np_json_read_file(path.text, MAX_JSON, &rank->record, &problem);
	if (rc < 0 && rc != NP_E_NOTFOUND)
		np_note_add(&rank->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path.text, RECORD_NAME,
			    "%s; steps are not known", problem.text);
	if (rc < 0)
		return rc == NP_E_NOMEM ? np_fail_nomem(err, path.text) : NP_OK;
	rc = take_place(rank, rank->record, err);
	return rc == NP_OK ? take_steps(rank, np_json_member(rank->record, "steps"), err) : rc;
}

/* The entry of the manifest about this directory, or NULL. */
static const struct np_json *manifest_entry(const struct np_export_rank *rank)
{
	const struct np_json *ranks =
		rank->job ? np_json_member(rank->job->manifest, "ranks") : NULL;

	for (size_t i = 0; i < np_json_count(ranks); i++) {
		const struct np_json *entry = np_json_item(ranks, i);
		const char *dir = np_json_text(np_json_member(entry, "dir"));

		if (dir && strcmp(np_text_last_part(dir), np_text_last_part(rank->dir)) == 0)
			return entry;
	}
	return NULL;
}

/* profiler_info_<rank>.json names the rank too. */
static void take_info_name(struct np_export_rank *rank, const char *name)
{
	static const char prefix[] = "profiler_info_";
	static const char suffix[] = ".json";
	const char *digits = name + sizeof(prefix) - 1;
	int64_t number;

	if (rank->rank < 0 && np_text_begins(name, prefix) && np_text_ends(name, suffix) &&
	    np_text_to_int(digits, strlen(digits) - (sizeof(suffix) - 1), &number) && number >= 0 &&
	    number <= INT32_MAX)
		rank->rank = (int32_t)number;
}

/* Is it raw data, rather than what an operator profiler leaves under a similar name? */
static bool is_prof(const char *name)
{
	return np_text_begins(name, "PROF_") && name[5] >= '0' && name[5] <= '9';
}

static int take_names(struct np_export_rank *rank, const struct np_names *names, struct np_err *err)
{
	for (size_t i = 0; i < names->list.count; i++) {
		const char *name = names->list.item[i];

		take_info_name(rank, name);
		rank->framework = rank->framework || strcmp(name, "FRAMEWORK") == 0;
		if (!is_prof(name))
			continue;
		/* Names are sorted by the number of the capture. */
		if (rank->prof)
			np_note_add(&rank->notes, NP_NOTE_WARNING, NP_NO_RANK, rank->prof,
				    "capture", "not exported: '%s' beside it is newer", name);
		free(rank->prof);
		rank->prof = np_join_path(rank->dir, name);
		if (!rank->prof)
			return np_fail_nomem(err, rank->dir);
	}
	return NP_OK;
}

/* A capture that was cut short stays so when it is exported. */
static void note_fault(struct np_export_rank *rank, const struct np_json *entry)
{
	const char *reason = np_json_text(np_json_member(entry, "reason"));

	if (reason && *reason)
		np_note_add(&rank->notes, NP_NOTE_SKIPPED, NP_NO_RANK, rank->dir, "capture",
			    "the capture is incomplete: %s", reason);
}

static int add_rank(struct np_export_tree *tree, const struct np_export_job *job, const char *dir,
		    const struct np_names *names, struct np_err *err)
{
	struct np_export_rank *rank = np_vec_add(&tree->ranks, err);
	int rc;

	if (!rank)
		return NP_E_NOMEM;
	rank->rank = -1;
	rank->device = -1;
	rank->job = job;
	rank->dir = strdup(dir);
	if (!rank->dir)
		return np_fail_nomem(err, dir);
	rc = take_record(rank, err);
	if (rc == NP_OK)
		rc = take_place(rank, manifest_entry(rank), err);
	note_fault(rank, manifest_entry(rank));
	return rc == NP_OK ? take_names(rank, names, err) : rc;
}

/* --- walking --------------------------------------------------------------------------------- */

static bool has_name(const struct np_names *names, const char *name)
{
	for (size_t i = 0; i < names->list.count; i++) {
		if (strcmp(names->list.item[i], name) == 0)
			return true;
	}
	return false;
}

static int add_job(struct np_export_tree *tree, const char *dir, const struct np_export_job **ret,
		   struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	struct np_export_job **slot = np_vec_add(&tree->jobs, err);
	struct np_export_job *job;

	np_buf_printf(&path, "%s/" MANIFEST_NAME, dir);
	if (!slot || !(job = *slot = calloc(1, sizeof(*job))) || !(job->dir = strdup(dir)))
		return np_fail_nomem(err, dir);
	*ret = job;
	return np_json_read_file(path.text, MAX_JSON, &job->manifest, err);
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by MAX_DEPTH */
static int walk(struct np_export_tree *tree, const struct np_export_job *job, const char *dir,
		int depth, struct np_err *err)
{
	NP_CLEANUP(np_names_release) struct np_names names = { 0 };
	struct np_err problem = NP_ERR_INIT;
	int rc = np_export_list(dir, &names, &problem);

	if (rc == NP_E_NOMEM)
		return np_fail_nomem(err, dir);
	/* Nobody knows what else is below it. */
	if (rc < 0)
		np_note_add(&tree->notes, NP_NOTE_SKIPPED, NP_NO_RANK, dir, "directory", "%s",
			    problem.text);
	rc = NP_OK;
	if (has_name(&names, MANIFEST_NAME))
		rc = add_job(tree, dir, &job, err);
	if (rc < 0)
		return rc;
	if (np_text_ends(np_text_last_part(dir), RANK_SUFFIX))
		return add_rank(tree, job, dir, &names, err);
	for (size_t i = 0; i < names.list.count && rc == NP_OK && depth < MAX_DEPTH; i++) {
		const char *name = names.list.item[i];
		char *child;

		if (name[0] == '.' || is_prof(name))
			continue;
		child = np_join_path(dir, name);
		if (!child)
			return np_fail_nomem(err, dir);
		if (np_is_directory(child))
			rc = walk(tree, job, child, depth + 1, err);
		free(child);
	}
	return rc;
}

static int by_rank(const void *left, const void *right)
{
	const struct np_export_rank *a = left;
	const struct np_export_rank *b = right;

	return a->rank != b->rank ? np_order(a->rank, b->rank) : strcmp(a->dir, b->dir);
}

/* Somebody may give one rank directory of a job, whose manifest is above. */
static int find_job_above(struct np_export_tree *tree, const char *dir,
			  const struct np_export_job **ret, struct np_err *err)
{
	char *above = np_join_path(dir, "..");
	char *manifest = above ? np_join_path(above, MANIFEST_NAME) : NULL;
	int rc = manifest ? NP_OK : np_fail_nomem(err, dir);

	if (rc == NP_OK && np_export_is_file(manifest))
		rc = add_job(tree, above, ret, err);
	free(manifest);
	free(above);
	return rc;
}

int np_export_find(struct np_export_tree *tree, const char *root, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	const struct np_export_job *job = NULL;
	size_t length = strlen(root);
	int rc;

	if (!np_is_directory(root))
		return np_fail(err, NP_E_USAGE, "'%s' is not a directory", root);
	while (length > 1 && root[length - 1] == '/')
		length--;
	np_buf_add_bytes(&path, root, length);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK && np_text_ends(path.text, RANK_SUFFIX))
		rc = find_job_above(tree, path.text, &job, err);
	if (rc == NP_OK)
		rc = walk(tree, job, path.text, 0, err);
	if (rc == NP_OK && tree->ranks.count == 0 && tree->notes.list.count > 0)
		rc = np_fail(err, NP_E_IO, "%s", tree->notes.list.item[0].reason);
	else if (rc == NP_OK && tree->ranks.count == 0)
		rc = np_fail(err, NP_E_NOTFOUND,
			     "nothing to export below '%s': looked for directories *_ascend_pt"
			     " with raw data in PROF_*",
			     root);
	if (tree->ranks.count)
		qsort(tree->ranks.item, tree->ranks.count, sizeof(tree->ranks.item[0]), by_rank);
	tree->chosen = tree->ranks.count;
	return rc;
}

static void release_rank(struct np_export_rank *rank)
{
	free(rank->prof);
	np_vec_release(&rank->steps);
	np_notes_release(&rank->notes);
	np_json_free(rank->record);
	free(rank->host);
	free(rank->host_uid);
	free(rank->dir);
}

void np_export_tree_release(struct np_export_tree *tree)
{
	np_notes_release(&tree->notes);
	for (size_t i = 0; i < tree->ranks.count; i++)
		release_rank(&tree->ranks.item[i]);
	np_vec_release(&tree->ranks);
	for (size_t i = 0; i < tree->jobs.count; i++) {
		if (tree->jobs.item[i]) {
			np_json_free(tree->jobs.item[i]->manifest);
			free(tree->jobs.item[i]->dir);
		}
		free(tree->jobs.item[i]);
	}
	np_vec_release(&tree->jobs);
}
