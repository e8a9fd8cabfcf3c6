/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/discover.h"

#include "load_private.h"

#include "npuprof/json.h"
#include "npuprof/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

/* Deeper than any layout in the field, shallow enough to end on a mistaken path. */
#define MAX_DEPTH 10

#define OUTPUT_NAME "ASCEND_PROFILER_OUTPUT"

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

/* The names in a directory, sorted: what is found must not depend on the file system's order. */
struct names {
	NP_VEC(char *) list;
};

static void release_names(struct names *names)
{
	for (size_t i = 0; i < names->list.count; i++)
		free(names->list.item[i]);
	np_vec_release(&names->list);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* An unreadable directory is noted: the ranks below it are missing from the result. */
static int read_names(struct walk *walk, const char *path, struct names *ret)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int rc = NP_OK;

	if (!dir) {
		np_note_add(&walk->run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "directory",
			    "cannot read it: %s", strerror(errno));
		return NP_OK;
	}
	while (rc == NP_OK && (entry = readdir(dir))) {
		char **slot;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		slot = np_vec_add(&ret->list, walk->err);
		if (!slot || !(*slot = strdup(entry->d_name)))
			rc = np_fail_nomem(walk->err, path);
	}
	(void)closedir(dir);
	if (ret->list.count)
		qsort(ret->list.item, ret->list.count, sizeof(ret->list.item[0]), by_text);
	return rc;
}

static char *join(const char *dir, const char *name)
{
	size_t length = strlen(dir);
	char *path;

	while (length > 1 && dir[length - 1] == '/')
		length--;
	if (asprintf(&path, "%.*s%s%s", (int)length, dir, dir[length - 1] == '/' ? "" : "/", name) <
	    0)
		return NULL;
	return path;
}

static bool is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The size of a file and the time of its last change in ms; 0 for one that is not there. */
static int64_t file_size(const char *path, int64_t *changed)
{
	struct stat status;

	if (!path || stat(path, &status) < 0)
		return 0;
	if (changed) {
		int64_t when =
			(int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;

		if (when > *changed)
			*changed = when;
	}
	return (int64_t)status.st_size;
}

/* Does `name` read "<prefix>.db" (rank −1) or "<prefix>_<rank>.db"? */
static bool rank_in_name(const char *name, const char *prefix, const char *suffix, int32_t *ret)
{
	size_t prefix_length = strlen(prefix);
	size_t suffix_length = strlen(suffix);
	size_t length = strlen(name);
	int64_t number;

	if (length < prefix_length + suffix_length || strncmp(name, prefix, prefix_length) != 0 ||
	    strcmp(name + length - suffix_length, suffix) != 0)
		return false;
	if (length == prefix_length + suffix_length) {
		*ret = -1;
		return true;
	}
	if (name[prefix_length] != '_' ||
	    !np_text_to_int(name + prefix_length + 1, length - prefix_length - suffix_length - 1,
			    &number) ||
	    number < 0 || number > INT32_MAX)
		return false;
	*ret = (int32_t)number;
	return true;
}

/* `count` digits as a number. */
static int number_of(const char *digits, int count)
{
	int number = 0;

	for (int i = 0; i < count; i++)
		number = number * 10 + (digits[i] - '0');
	return number;
}

/* yyyymmddHHMMSS and up to three digits more as ms since 1970; -1 if there is no such time. */
static int64_t stamp_of(const char *digits, ptrdiff_t count)
{
	struct tm when = { .tm_year = number_of(digits, 4) - 1900,
			   .tm_mon = number_of(digits + 4, 2) - 1,
			   .tm_mday = number_of(digits + 6, 2),
			   .tm_hour = number_of(digits + 8, 2),
			   .tm_min = number_of(digits + 10, 2),
			   .tm_sec = number_of(digits + 12, 2) };
	int64_t milliseconds = 0;

	if (when.tm_mon < 0 || when.tm_mon > 11 || when.tm_mday < 1 || when.tm_mday > 31 ||
	    when.tm_hour > 23 || when.tm_min > 59 || when.tm_sec > 60)
		return -1;
	/* Old names end in seconds, new ones in milliseconds. */
	for (ptrdiff_t i = 14; i < 17; i++)
		milliseconds = milliseconds * 10 + (i < count ? digits[i] - '0' : 0);
	/* The zone is not known: names are compared with each other, and roughly with files. */
	return (int64_t)timegm(&when) * 1000 + milliseconds;
}

/*
 * The time in a directory's name, "<worker>_<yyyymmddHHMMSSmmm>_ascend_pt", in
 * ms since 1970; -1 for a name without one. The worker's name is free.
 */
static int64_t stamp_in_name(const char *dir)
{
	const char *name = strrchr(dir, '/');
	const char *end = NULL;
	const char *begin;

	name = name ? name + 1 : dir;
	for (const char *at = name; (at = strstr(at, "_ascend_")); at++)
		end = at;
	if (!end)
		return -1;
	for (begin = end; begin > name && begin[-1] >= '0' && begin[-1] <= '9';)
		begin--;
	if (end - begin < 14 || end - begin > 17 || (begin > name && begin[-1] != '_'))
		return -1;
	return stamp_of(begin, end - begin);
}

/* profiler_info without a number in its name may still say the rank inside. */
static int32_t rank_in_info(const char *path)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	int64_t rank;

	if (!path || np_json_read_file(path, NP_METADATA_MAX_BYTES, &doc, NULL) < 0 ||
	    !np_json_integer(np_json_member(doc, "rank_id"), &rank) || rank < 0 || rank > INT32_MAX)
		return -1;
	return (int32_t)rank;
}

/* The metadata files of a rank's directory, and the rank that they name (−1 for none). */
static int find_metadata(struct walk *walk, const char *dir, const struct names *names,
			 struct np_source_files *source)
{
	source->rank = -1;
	for (size_t i = 0; i < names->list.count; i++) {
		const char *name = names->list.item[i];
		int32_t rank;

		if (rank_in_name(name, "profiler_info", ".json", &rank) && !source->info_json) {
			source->rank = rank;
			source->info_json = join(dir, name);
		} else if (strcmp(name, "profiler_metadata.json") == 0) {
			source->metadata_json = join(dir, name);
		}
	}
	if (source->info_json && source->rank < 0)
		source->rank = rank_in_info(source->info_json);
	source->dir = strdup(dir);
	return source->dir ? NP_OK : np_fail_nomem(walk->err, dir);
}

static bool is_rank_db(const char *name, int32_t *ret)
{
	return rank_in_name(name, "ascend_pytorch_profiler", ".db", ret);
}

/* The rank database of an output directory: that of the rank expected here, else the first. */
static const char *choose_rank_db(const struct names *names, int32_t expected)
{
	const char *chosen = NULL;

	for (size_t i = 0; i < names->list.count; i++) {
		int32_t rank;

		if (!is_rank_db(names->list.item[i], &rank))
			continue;
		if (rank == expected && rank >= 0)
			return names->list.item[i];
		if (!chosen)
			chosen = names->list.item[i];
	}
	return chosen;
}

/* The databases of an output directory; the name of the rank database says the rank. */
static void find_databases(struct walk *walk, const char *output, const struct names *names,
			   struct np_source_files *source)
{
	const char *chosen = choose_rank_db(names, source->rank);
	int32_t expected = source->rank;

	for (size_t i = 0; i < names->list.count; i++) {
		const char *name = names->list.item[i];
		int32_t rank;

		if (strcmp(name, "analysis.db") == 0) {
			source->analysis_db = join(output, name);
			continue;
		}
		if (!is_rank_db(name, &rank))
			continue;
		if (name != chosen) {
			np_note_add(&walk->run->notes, NP_NOTE_SKIPPED, rank, output,
				    "rank database",
				    "'%s' stands beside '%s'; one rank per directory is expected",
				    name, chosen);
			continue;
		}
		source->rank_db = join(output, name);
		if (rank >= 0 && expected >= 0 && rank != expected)
			np_note_add(&walk->run->notes, NP_NOTE_WARNING, rank, output, "rank",
				    "the database's name says rank %d and profiler_info says %d;"
				    " the database's name is used",
				    rank, expected);
		if (rank >= 0)
			source->rank = rank;
	}
}

static void measure_source(struct np_source_files *source)
{
	int64_t changed = 0;

	source->bytes = file_size(source->rank_db, &changed) +
			file_size(source->analysis_db, &changed) +
			file_size(source->info_json, NULL) + file_size(source->metadata_json, NULL);
	source->stamp = stamp_in_name(source->dir);
	if (source->stamp < 0)
		source->stamp = changed;
}

static void release_source(struct np_source_files *source)
{
	free(source->dir);
	free(source->rank_db);
	free(source->analysis_db);
	free(source->info_json);
	free(source->metadata_json);
}

/* A directory with an output directory in it is a rank; with no database it is noted. */
static int take_rank(struct walk *walk, const char *dir, const struct names *names,
		     const char *output)
{
	struct np_source_files source = { 0 };
	struct np_source_files *slot;
	struct names files = { 0 };
	int rc = find_metadata(walk, dir, names, &source);

	if (rc == NP_OK)
		rc = read_names(walk, output, &files);
	if (rc == NP_OK)
		find_databases(walk, output, &files, &source);
	release_names(&files);
	if (rc == NP_OK && (source.rank_db || source.analysis_db)) {
		measure_source(&source);
		slot = np_vec_add(&walk->run->sources, walk->err);
		if (slot) {
			*slot = source;
			return NP_OK;
		}
		rc = NP_E_NOMEM;
	} else if (rc == NP_OK) {
		walk->without_data++;
		np_note_add(&walk->run->notes, NP_NOTE_SKIPPED,
			    source.rank < 0 ? NP_NO_RANK : source.rank, dir, "rank",
			    "no ascend_pytorch_profiler*.db and no analysis.db in " OUTPUT_NAME
			    "; export it with export_type=db");
	}
	release_source(&source);
	return rc;
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

static int walk_children(struct walk *walk, const char *path, const struct names *names, int depth)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		char *child;

		if (!worth_entering(names->list.item[i]))
			continue;
		child = join(path, names->list.item[i]);
		if (!child)
			return np_fail_nomem(walk->err, path);
		if (is_directory(child) && depth < MAX_DEPTH)
			rc = walk_directory(walk, child, depth + 1);
		else if (is_directory(child))
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
	struct names names = { 0 };
	char *output;
	bool is_new;
	int rc = visit(walk, path, &is_new);

	if (rc < 0 || !is_new)
		return rc;
	walk->directories++;
	rc = read_names(walk, path, &names);
	output = join(path, OUTPUT_NAME);
	if (rc == NP_OK && !output)
		rc = np_fail_nomem(walk->err, path);
	if (rc == NP_OK && is_directory(output))
		rc = take_rank(walk, path, &names, output);
	if (rc == NP_OK)
		rc = walk_children(walk, path, &names, depth);
	free(output);
	release_names(&names);
	return rc;
}

static size_t without_slashes(const char *path, size_t length)
{
	while (length > 1 && path[length - 1] == '/')
		length--;
	return length;
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
	if (!is_directory(*slot))
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
				release_source(&list[i]);
		}
		list[kept++] = winner;
	}
	run->sources.count = kept;
}

/* Forget the source at `index`, keeping the order of the others. */
static void drop_source(struct np_run *run, size_t index)
{
	release_source(&run->sources.item[index]);
	memmove(&run->sources.item[index], &run->sources.item[index + 1],
		(run->sources.count - index - 1) * sizeof(run->sources.item[0]));
	run->sources.count--;
}

/* A profile of a single card has no rank; beside numbered ranks it cannot be placed. */
static void drop_unnumbered(struct np_run *run)
{
	while (run->sources.count > 1 && run->sources.item[0].rank < 0) {
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, run->sources.item[0].dir,
			    "rank",
			    "nothing names its rank (profiler_info_N.json, "
			    "ascend_pytorch_profiler_N.db), and other ranks are numbered");
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
			       "no database in any of the %zu rank directories below '%s'; export"
			       " them with export_type=db",
			       walk->without_data, root);
	return np_fail(err, NP_E_NOTFOUND,
		       "no profiles below '%s': looked in %zu directories for " OUTPUT_NAME
		       " with ascend_pytorch_profiler*.db or analysis.db in it",
		       root, walk->directories);
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
	qsort(run->sources.item, run->sources.count, sizeof(run->sources.item[0]),
	      by_rank_newest_first);
	drop_duplicates(run, options);
	drop_unnumbered(run);
	return keep_ranks(run, options->ranks, err);
}
