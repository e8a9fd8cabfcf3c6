/* SPDX-License-Identifier: Apache-2.0 */
/* Walks directories for the ranks of a run and chooses one directory for each. */
#include "npuprof/discover.h"

#include "discover_files.h"

#include "npuprof/buf.h"
#include "npuprof/notes.h"
#include "npuprof/ranges.h"
#include "npuprof/run.h"

#include <errno.h>
#include <sys/stat.h>

/* Deeper than any layout in the field, shallow enough to end on a mistaken path. */
#define MAX_DEPTH 10

struct visited {
	dev_t device;
	ino_t inode;
};

struct walk {
	struct np_run *run;
	struct np_err *err;
	NP_VEC(struct visited) visited;
	size_t directories;
	size_t without_data; /* rank directories without a database */
};

/* The length of a path without the slashes at its end; the root keeps its own. */
static size_t without_slashes(const char *path, size_t length)
{
	while (length > 1 && path[length - 1] == '/')
		length--;
	return length;
}

/* An unreadable directory is noted: the ranks below it are missing from the result. */
int discover_names(struct np_run *run, const char *path, struct np_names *ret, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = np_names_read(path, ret, &why);

	if (rc == NP_E_NOMEM)
		return np_fail_nomem(err, path);
	if (rc < 0)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "directory",
			    "cannot read it: %s", strerror(errno));
	return NP_OK;
}

/* Symbolic links are followed, so a directory may be met again: once is enough. */
static int visit(struct walk *walk, const char *path, bool *ret_new)
{
	struct visited *slot;
	struct stat status;

	*ret_new = false;
	if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode))
		return NP_OK;
	for (size_t i = 0; i < walk->visited.count; i++) {
		if (walk->visited.item[i].device == status.st_dev &&
		    walk->visited.item[i].inode == status.st_ino)
			return NP_OK;
	}
	slot = np_vec_add(&walk->visited, walk->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = (struct visited){ status.st_dev, status.st_ino };
	*ret_new = true;
	return NP_OK;
}

/* Raw data and results of ours hold no ranks, and raw data may hold many thousand files. */
static bool worth_entering(const char *name)
{
	static const char *const not_ranks[] = { "cluster_analysis_output", "FRAMEWORK", "logs",
						 OUTPUT_NAME };

	for (size_t i = 0; i < NP_COUNT(not_ranks); i++) {
		if (strcmp(name, not_ranks[i]) == 0)
			return false;
	}
	return name[0] != '.';
}

static int walk_directory(struct walk *walk, const char *path, int depth);

static int walk_children(struct walk *walk, const char *path, const struct np_names *names,
			 int depth)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		char *child;

		if (!worth_entering(names->list.item[i]))
			continue;
		child = np_join_path(path, names->list.item[i]);
		if (!child)
			return np_fail_nomem(walk->err, path);
		if (np_is_directory(child) && depth < MAX_DEPTH)
			rc = walk_directory(walk, child, depth + 1);
		else if (np_is_directory(child))
			np_note_add(&walk->run->notes, NP_NOTE_WARNING, NP_NO_RANK, child,
				    "directory",
				    "not searched: more than %d levels below the directory given",
				    MAX_DEPTH);
		free(child);
	}
	return rc;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by MAX_DEPTH */
static int walk_directory(struct walk *walk, const char *path, int depth)
{
	struct np_names names = { 0 };
	bool enter = false;
	bool is_new;
	int rc = visit(walk, path, &is_new);

	if (rc < 0 || !is_new)
		return rc;
	walk->directories++;
	rc = discover_names(walk->run, path, &names, walk->err);
	if (rc == NP_OK)
		rc = discover_take(walk->run, path, &names, &walk->without_data, &enter, walk->err);
	if (rc == NP_OK && enter)
		rc = walk_children(walk, path, &names, depth);
	np_names_release(&names);
	return rc;
}

/* People also give a rank's output directory itself. */
static char *rank_directory(const char *root)
{
	size_t length = without_slashes(root, strlen(root));
	size_t name = strlen(OUTPUT_NAME);

	if (length >= name && strncmp(root + length - name, OUTPUT_NAME, name) == 0) {
		if (length == name)
			return strdup(".");
		if (root[length - name - 1] == '/')
			length = without_slashes(root, length - name);
	}
	return strndup(root, length);
}

static int walk_root(struct walk *walk, const char *root)
{
	char **slot = np_vec_add(&walk->run->roots, walk->err);
	int rc;

	if (!slot || !(*slot = rank_directory(root)))
		return np_fail_nomem(walk->err, root);
	if (!np_is_directory(*slot))
		return np_fail(walk->err, NP_E_USAGE, "'%s' is not a directory", root);
	rc = walk_directory(walk, *slot, 0);
	return rc;
}

/* --- which of the found directories are used ------------------------------------------------- */

static int by_rank_newest_first(const void *left, const void *right)
{
	const struct np_source_files *a = left;
	const struct np_source_files *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->stamp != b->stamp)
		return a->stamp > b->stamp ? -1 : 1;
	return strcmp(a->dir, b->dir);
}

/* Is `path` the directory `dir`, or above it? Both are resolved, for people give either form. */
static bool holds(const char *path, const char *dir)
{
	char *above = realpath(path, NULL);
	char *below = realpath(dir, NULL);
	size_t length = above ? strlen(above) : 0;
	bool found = above && below && strncmp(above, below, length) == 0 &&
		     (below[length] == '\0' || below[length] == '/');

	free(above);
	free(below);
	return found;
}

static bool is_picked(const struct np_source_files *source,
		      const struct np_discover_options *options)
{
	for (size_t i = 0; i < options->pick_count; i++) {
		if (holds(options->picks[i], source->dir))
			return true;
	}
	return false;
}

/* The candidate of one rank that is used; candidates are sorted, the newest first. */
static size_t choose(const struct np_source_files *candidates, size_t count,
		     const struct np_discover_options *options)
{
	for (size_t i = 0; i < count && count > 1; i++) {
		if (is_picked(&candidates[i], options))
			return i;
	}
	return 0;
}

static void note_duplicates(struct np_run *run, const struct np_source_files *candidates,
			    size_t count, size_t chosen)
{
	for (size_t i = 0; i < count; i++) {
		if (i == chosen)
			continue;
		np_note_add(&run->notes, NP_NOTE_WARNING, candidates[i].rank, candidates[i].dir,
			    "rank", "not used: '%s' holds the same rank and is %s%s",
			    candidates[chosen].dir,
			    chosen == 0 ? "newer (--pick chooses another)" : "picked", "");
	}
}

/* Keep one directory for each rank. */
static void drop_duplicates(struct np_run *run, const struct np_discover_options *options)
{
	struct np_source_files *list = run->sources.item;
	size_t count = run->sources.count;
	size_t kept = 0;

	for (size_t from = 0, to = 0; from < count; from = to) {
		size_t chosen;
		struct np_source_files winner;

		while (to < count && list[to].rank == list[from].rank)
			to++;
		chosen = choose(&list[from], to - from, options);
		note_duplicates(run, &list[from], to - from, chosen);
		winner = list[from + chosen];
		for (size_t i = from; i < to; i++) {
			if (i != from + chosen)
				np_source_files_release(&list[i]);
		}
		list[kept++] = winner;
	}
	run->sources.count = kept;
}

/* Forget the source at `index`, keeping the order of the others. */
static void drop_source(struct np_run *run, size_t index)
{
	np_source_files_release(&run->sources.item[index]);
	memmove(&run->sources.item[index], &run->sources.item[index + 1],
		(run->sources.count - index - 1) * sizeof(run->sources.item[0]));
	run->sources.count--;
}

static int by_host_and_device(const void *left, const void *right)
{
	const struct np_source_files *a = left;
	const struct np_source_files *b = right;
	int order;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	order = strcmp(a->host ? a->host : "", b->host ? b->host : "");
	if (order)
		return order;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return by_rank_newest_first(left, right);
}

/*
 * Profiles of msprof name a rank only if the job had set RANK_ID. When none of
 * them does, they are numbered by host and device, as other tools do.
 */
static void number_by_device(struct np_run *run)
{
	struct np_source_files *list = run->sources.item;
	int32_t next = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		if (list[i].rank >= 0 || list[i].kind != NP_KIND_MSPROF)
			return;
	}
	qsort(list, run->sources.count, sizeof(list[0]), by_host_and_device);
	for (size_t i = 0; i < run->sources.count; i++) {
		bool again = i > 0 && list[i].device == list[i - 1].device &&
			     strcmp(list[i].host ? list[i].host : "",
				    list[i - 1].host ? list[i - 1].host : "") == 0;

		/* Two captures of one device are duplicates of one rank. */
		list[i].rank = again ? next - 1 : next++;
	}
	np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, run->roots.item[0], "ranks",
		    "no profile names its rank (RANK_ID was not set): numbered by host and device");
}

/* A profile of a single card has no rank; beside numbered ranks it cannot be placed. */
static void drop_unnumbered(struct np_run *run)
{
	while (run->sources.count > 1 && run->sources.item[0].rank < 0) {
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, run->sources.item[0].dir,
			    "rank",
			    "nothing names its rank (profiler_info_N.json, the number in the"
			    " database's name, RANK_ID), and other ranks are numbered");
		drop_source(run, 0);
	}
}

static int keep_ranks(struct np_run *run, const struct np_ranges *ranks, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	int64_t *known;
	int64_t unknown = 0;
	bool bad;

	if (!ranks)
		return NP_OK;
	known = malloc((run->sources.count + 1) * sizeof(*known));
	if (!known)
		return np_fail_nomem(err, "ranks");
	for (size_t i = 0; i < run->sources.count; i++)
		known[i] = run->sources.item[i].rank;
	bad = np_ranges_first_unknown(ranks, known, run->sources.count, &unknown);
	np_ranges_format(&list, known, run->sources.count);
	free(known);
	if (bad)
		return np_fail(err, NP_E_USAGE, "no rank %lld in this run; there are ranks %s",
			       (long long)unknown, list.text);
	for (size_t i = run->sources.count; i-- > 0;) {
		if (!np_ranges_has(ranks, run->sources.item[i].rank))
			drop_source(run, i);
	}
	return NP_OK;
}

static int nothing_found(const struct walk *walk, const char *root, struct np_err *err)
{
	if (walk->without_data)
		return np_fail(err, NP_E_NOTFOUND,
			       "none of the %zu rank directories below '%s' holds a profile; %s",
			       walk->without_data, root,
			       walk->run->notes.list.count ? walk->run->notes.list.item[0].reason
							   : "");
	return np_fail(err, NP_E_NOTFOUND,
		       "no profiles below '%s': looked in %zu director%s for " OUTPUT_NAME
		       " (of *_ascend_pt or *_ascend_ms), PROF_* and msmonitor_*.db",
		       root, walk->directories, walk->directories == 1 ? "y" : "ies");
}

int np_discover(struct np_run *run, const char *const *roots, size_t root_count,
		const struct np_discover_options *options, struct np_err *err)
{
	struct walk walk = { .run = run, .err = err };
	int rc = NP_OK;

	for (size_t i = 0; i < root_count && rc == NP_OK; i++)
		rc = walk_root(&walk, roots[i]);
	np_vec_release(&walk.visited);
	if (rc == NP_OK && run->sources.count == 0)
		rc = nothing_found(&walk, roots[0], err);
	if (rc < 0)
		return rc;
	number_by_device(run);
	return discover_choose(run, options, err);
}

int discover_choose(struct np_run *run, const struct np_discover_options *options,
		    struct np_err *err)
{
	qsort(run->sources.item, run->sources.count, sizeof(run->sources.item[0]),
	      by_rank_newest_first);
	drop_duplicates(run, options);
	drop_unnumbered(run);
	return keep_ranks(run, options->ranks, err);
}
