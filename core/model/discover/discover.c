/* SPDX-License-Identifier: Apache-2.0 */
/* Walks directories for the ranks of a run. */
#include "npuprof/discover.h"

#include "discover_files.h"

#include "npuprof/map.h"
#include "npuprof/notes.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

#include <errno.h>
#include <sys/stat.h>

/* Deeper than any layout in the field, shallow enough to end on a mistaken path. */
#define MAX_DEPTH 10

/* A depth at which nothing below is looked at. */
#define ALONE (-1)

struct visited {
	dev_t device;
	ino_t inode;
};

struct walk {
	struct np_run *run;
	struct np_err *err;
	const char *root; /* the directory given */
	NP_VEC(struct visited) visited;
	struct np_map places;   /* → visited */
	NP_VEC(char *) results; /* directories of earlier results that were passed by */
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

static uint64_t hash_visited(const struct visited *each)
{
	return np_map_mix(np_map_mix(0, (uint64_t)each->device), (uint64_t)each->inode);
}

/* A directory that is looked for among those visited. */
struct wanted_directory {
	const struct walk *walk;
	struct visited is;
};

static bool is_wanted(const void *what, uint32_t value)
{
	const struct wanted_directory *wanted = what;
	const struct visited *each = &wanted->walk->visited.item[value];

	return each->device == wanted->is.device && each->inode == wanted->is.inode;
}

/* Symbolic links are followed, so a directory may be met again: once is enough. */
static int visit(struct walk *walk, const char *path, bool *ret_new)
{
	struct wanted_directory wanted;
	struct visited *slot;
	struct stat status;

	*ret_new = false;
	if (stat(path, &status) < 0)
		return NP_OK;
	wanted = (struct wanted_directory){ walk, { status.st_dev, status.st_ino } };
	if (np_map_find(&walk->places, hash_visited(&wanted.is), is_wanted, &wanted) != NP_MAP_NONE)
		return NP_OK;
	slot = np_vec_add(&walk->visited, walk->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = wanted.is;
	*ret_new = true;
	return np_map_add(&walk->places, hash_visited(slot), (uint32_t)(walk->visited.count - 1),
			  walk->err);
}

/* Raw data and results hold no ranks, and raw data may hold many thousand files. */
static bool worth_entering(const char *name)
{
	static const char *const not_ranks[] = { CLUSTER_NAME, "FRAMEWORK", "logs", OUTPUT_NAME,
						 MSPROF_OUTPUT };

	for (size_t i = 0; i < NP_COUNT(not_ranks); i++) {
		if (strcmp(name, not_ranks[i]) == 0)
			return false;
	}
	/* Arguments of operators that a debugger has dumped. */
	return name[0] != '.' && !np_text_ends(name, "_op_arg");
}

/* Results of an earlier analysis count where there are no profiles. */
static int pass_by(struct walk *walk, const char *path, const char *name)
{
	char **slot;

	if (strcmp(name, CLUSTER_NAME) != 0)
		return NP_OK;
	slot = np_vec_add(&walk->results, walk->err);
	if (!slot || !(*slot = np_join_path(path, name)))
		return np_fail_nomem(walk->err, path);
	return NP_OK;
}

/* So do those in a directory with another name. */
static int pass_by_files(struct walk *walk, const char *path, const struct np_names *names)
{
	for (size_t i = 0; i < names->list.count; i++) {
		char **slot;

		if (!discover_is_result(names->list.item[i]))
			continue;
		slot = np_vec_add(&walk->results, walk->err);
		if (!slot || !(*slot = strdup(path)))
			return np_fail_nomem(walk->err, path);
		break;
	}
	return NP_OK;
}

static int walk_directory(struct walk *walk, const char *path, int depth);

static int walk_children(struct walk *walk, const char *path, const struct np_names *names,
			 int depth)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		char *child;

		if (!worth_entering(names->list.item[i])) {
			rc = pass_by(walk, path, names->list.item[i]);
			continue;
		}
		child = np_join_path(path, names->list.item[i]);
		if (!child)
			return np_fail_nomem(walk->err, path);
		/* A loop: what was given is below it. */
		if (np_is_directory(child) && np_leads_above(walk->root, child)) {
			free(child);
			continue;
		}
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
	bool is_new = false;
	int rc = np_is_directory(path) ? visit(walk, path, &is_new) : NP_OK;

	if (rc < 0 || !is_new)
		return rc;
	walk->directories++;
	rc = discover_names(walk->run, path, &names, walk->err);
	if (rc == NP_OK)
		rc = discover_take(walk->run, path, &names, &walk->without_data, &enter, walk->err);
	if (rc == NP_OK)
		rc = pass_by_files(walk, path, &names);
	if (rc == NP_OK && enter && depth != ALONE)
		rc = walk_children(walk, path, &names, depth);
	np_names_release(&names);
	return rc;
}

/*
 * People also give the output directory of a rank itself: then its parent is the rank, and what
 * else stands beside it is not asked for.
 */
static char *rank_directory(const char *root, bool *ret_alone)
{
	static const char *const outputs[] = { OUTPUT_NAME, MSPROF_OUTPUT };
	size_t length = without_slashes(root, strlen(root));

	*ret_alone = false;
	for (size_t i = 0; i < NP_COUNT(outputs); i++) {
		size_t name = strlen(outputs[i]);

		if (length < name || strncmp(root + length - name, outputs[i], name) != 0)
			continue;
		if (length == name) {
			*ret_alone = true;
			return strdup(".");
		}
		if (root[length - name - 1] == '/') {
			*ret_alone = true;
			length = without_slashes(root, length - name);
			break;
		}
	}
	return strndup(root, length);
}

/* The directory of a file that was given is what stands for it where a directory is meant. */
static int walk_file(struct walk *walk, const char *root)
{
	char **slot = np_vec_add(&walk->run->roots, walk->err);
	const char *slash = strrchr(root, '/');
	bool is_new;
	int rc;

	if (!slot || !(*slot = slash ? strndup(root, slash == root ? 1 : (size_t)(slash - root))
				     : strdup(".")))
		return np_fail_nomem(walk->err, root);
	rc = visit(walk, root, &is_new);
	return rc == NP_OK && is_new ? discover_take_file(walk->run, root, walk->err) : rc;
}

static int walk_root(struct walk *walk, const char *root)
{
	struct stat status;
	char **slot;
	bool alone;

	if (stat(root, &status) < 0)
		return np_fail(walk->err, NP_E_USAGE, "'%s' is not a directory and no file: %s",
			       root, strerror(errno));
	if (S_ISREG(status.st_mode))
		return walk_file(walk, root);
	slot = np_vec_add(&walk->run->roots, walk->err);
	if (!slot || !(*slot = rank_directory(root, &alone)))
		return np_fail_nomem(walk->err, root);
	if (!np_is_directory(*slot))
		return np_fail(walk->err, NP_E_USAGE, "'%s' is not a directory and no file", root);
	if (strcmp(np_text_last_part(*slot), CLUSTER_NAME) == 0) {
		walk->directories++;
		return discover_take_cluster(walk->run, *slot, &walk->without_data, walk->err);
	}
	walk->root = *slot;
	return walk_directory(walk, *slot, alone ? ALONE : 0);
}

/* No profiles, but what somebody made of some: better than nothing. */
static int take_results(struct walk *walk)
{
	int rc = NP_OK;

	for (size_t i = 0; i < walk->results.count && rc == NP_OK; i++)
		rc = discover_take_cluster(walk->run, walk->results.item[i], &walk->without_data,
					   walk->err);
	return rc;
}

/* Could a directory not be read? Then nobody knows what it has. */
static bool unread(const struct np_notes *notes)
{
	for (size_t i = 0; i < notes->list.count; i++) {
		if (strcmp(notes->list.item[i].what, "directory") == 0)
			return true;
	}
	return false;
}

static int nothing_found(const struct walk *walk, const char *root, struct np_err *err)
{
	const enum np_code code = unread(&walk->run->notes) ? NP_E_IO : NP_E_NOTFOUND;

	if (walk->without_data)
		return np_fail(err, code,
			       "none of the %zu rank directories below '%s' holds a profile; %s",
			       walk->without_data, root,
			       walk->run->notes.list.count ? walk->run->notes.list.item[0].reason
							   : "");
	return np_fail(err, code,
		       "no profiles below '%s': looked in %zu director%s for " OUTPUT_NAME
		       " (of *_ascend_pt or *_ascend_ms), PROF_*, " MSPROF_OUTPUT
		       ", ascend_*_profiler_*.db, msmonitor_*.db and their files%s%s",
		       root, walk->directories, walk->directories == 1 ? "y" : "ies",
		       walk->run->notes.list.count ? "; " : "",
		       walk->run->notes.list.count ? walk->run->notes.list.item[0].reason : "");
}

int np_discover(struct np_run *run, const char *const *roots, size_t root_count,
		const struct np_discover_options *options, struct np_err *err)
{
	struct walk walk = { .run = run, .err = err };
	int rc = NP_OK;

	for (size_t i = 0; i < root_count && rc == NP_OK; i++)
		rc = walk_root(&walk, roots[i]);
	if (rc == NP_OK && run->sources.count == 0)
		rc = take_results(&walk);
	for (size_t i = 0; i < walk.results.count; i++)
		free(walk.results.item[i]);
	np_vec_release(&walk.results);
	np_vec_release(&walk.visited);
	np_map_release(&walk.places);
	if (rc == NP_OK && run->sources.count == 0)
		rc = nothing_found(&walk, roots[0], err);
	if (rc == NP_OK)
		rc = discover_name_ranks(run, options, err);
	return rc == NP_OK ? discover_choose(run, options, err) : rc;
}
