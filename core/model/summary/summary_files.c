/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries as files: where they are kept, and finding those of a run. */
#include "npuprof/summary.h"

#include "summary_part.h"

#include "core/model/discover/discover_files.h"
#include "core/model/vendor/file_names.h"

#include "npuprof/dirs.h"
#include "npuprof/hash.h"
#include "npuprof/manifest.h"
#include "npuprof/order.h"
#include "npuprof/temporary.h"
#include "npuprof/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANK_PREFIX "rank"
#define RUN_PREFIX  "run-"
#define SUFFIX      ".npsum"

/* Far beyond any rank, and small enough to refuse a file that cannot be one. */
#define MOST_FILE_BYTES ((off_t)1 << 32)

/* The same directory gets the same name, so that a new summary replaces the stale one. */
char *np_summary_path(const char *directory, const struct np_source_files *source)
{
	uint64_t hash = np_hash_text(NP_HASH_START, source->dir, strlen(source->dir));
	char *path;

	if (source->rank < 0) {
		if (asprintf(&path, "%s/" RANK_PREFIX "-%016llx" SUFFIX, directory,
			     (unsigned long long)hash) < 0)
			return NULL;
		return path;
	}
	if (asprintf(&path, "%s/" RANK_PREFIX "%06d-%016llx" SUFFIX, directory, source->rank,
		     (unsigned long long)hash) < 0)
		return NULL;
	return path;
}

/* --- a file as a whole --------------------------------------------------------------------------
 */

static int read_all(int file, const char *path, struct np_bytes *ret, struct np_err *err)
{
	while (ret->count < ret->capacity) {
		ssize_t got = read(file, ret->item + ret->count, ret->capacity - ret->count);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return np_fail(err, NP_E_IO, "cannot read '%s': %s", path, strerror(errno));
		if (got == 0)
			break;
		ret->count += (size_t)got;
	}
	return NP_OK;
}

int summary_slurp(const char *path, int64_t at, int64_t size, struct np_bytes *ret,
		  struct np_err *err)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	int rc;

	if (file < 0)
		return np_fail(err, errno == ENOENT ? NP_E_NOTFOUND : NP_E_IO,
			       "cannot read '%s': %s", path, strerror(errno));
	if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode) ||
	    (size == 0 && status.st_size > MOST_FILE_BYTES)) {
		(void)close(file);
		return np_fail(err, NP_E_FORMAT, "'%s' is no summary", path);
	}
	if (size > 0 && (size > MOST_FILE_BYTES || at > status.st_size - size ||
			 lseek(file, at, SEEK_SET) < 0)) {
		(void)close(file);
		return np_fail(err, NP_E_FORMAT, "'%s' has become shorter", path);
	}
	/* One more, so that a file that grows meanwhile is seen to. */
	ret->capacity = size > 0 ? (size_t)size : (size_t)status.st_size + 1;
	ret->item = malloc(ret->capacity);
	rc = ret->item ? read_all(file, path, ret, err) : np_fail_nomem(err, path);
	(void)close(file);
	return rc;
}

static bool write_all(int file, const struct np_bytes *bytes)
{
	size_t done = 0;

	while (done < bytes->count) {
		ssize_t written = write(file, bytes->item + done, bytes->count - done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return false;
		done += (size_t)written;
	}
	return true;
}

/* Under a temporary name first. */
static int spill(const char *path, const struct np_bytes *bytes, struct np_err *err)
{
	char *temporary;
	bool written;
	int file;
	int rc = NP_OK;

	temporary = np_temporary_new(path);
	if (!temporary)
		return np_fail_nomem(err, path);
	file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	written = file >= 0 && write_all(file, bytes);
	if (file >= 0 && close(file) < 0)
		written = false;
	if (!written || np_temporary_place(temporary, path) < 0) {
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerror(errno));
		(void)unlink(temporary);
	}
	np_temporary_free(temporary);
	return rc;
}

int np_summary_read_file(const char *path, struct np_strtab *strings, struct np_summary *ret,
			 struct np_err *err)
{
	NP_CLEANUP(np_bytes_release) struct np_bytes bytes = { 0 };
	int rc = summary_slurp(path, 0, 0, &bytes, err);

	return rc < 0 ? rc : np_summary_decode(bytes.item, bytes.count, path, strings, ret, err);
}

int np_summary_read_source(const struct np_source_files *source, struct np_strtab *strings,
			   struct np_summary *ret, struct np_err *err)
{
	NP_CLEANUP(np_bytes_release) struct np_bytes bytes = { 0 };
	struct np_summary summary = { 0 };
	int rc = summary_slurp(source->summary, source->summary_at, source->summary_size, &bytes,
			       err);

	if (rc == NP_OK)
		rc = summary_decode_rows(bytes.item, bytes.count, source->summary, strings,
					 source->rows == NP_ROWS_COUNTED, &summary, err);
	if (rc < 0)
		return rc;
	if (summary.source.rank != source->rank) {
		rc = np_fail(err, NP_E_FORMAT,
			     "the summary '%s' is damaged: it is of rank %d and not of rank %d",
			     source->summary, summary.source.rank, source->rank);
		np_summary_release(&summary);
		return rc;
	}
	*ret = summary;
	return NP_OK;
}

int np_summary_write_file(const char *path, const struct np_summary *summary,
			  const struct np_strtab *strings, struct np_err *err)
{
	NP_CLEANUP(np_bytes_release) struct np_bytes bytes = { 0 };
	int rc = np_summary_encode(summary, strings, &bytes, err);

	return rc < 0 ? rc : spill(path, &bytes, err);
}

/* --- what belongs to no rank ---------------------------------------------------------------------
 */

/* Of a manifest the text is kept as it is, so that damage is told the same way. */
static char *manifest_text(const struct np_run *run)
{
	for (size_t i = 0; i < run->roots.count; i++) {
		NP_CLEANUP(np_bytes_release) struct np_bytes bytes = { 0 };
		char *path;
		int rc;

		if (asprintf(&path, "%s/" NP_MANIFEST_NAME, run->roots.item[i]) < 0)
			return NULL;
		rc = summary_slurp(path, 0, 0, &bytes, NULL);
		free(path);
		if (rc == NP_OK && bytes.count <= NP_METADATA_MAX_BYTES)
			return strndup((const char *)bytes.item, bytes.count);
	}
	return NULL;
}

static char *run_path(const struct np_run *run, const char *directory)
{
	uint64_t hash = NP_HASH_START;
	char *path;

	for (size_t i = 0; i < run->roots.count; i++)
		hash = np_hash_text(hash, run->roots.item[i], strlen(run->roots.item[i]));
	if (asprintf(&path, "%s/" RUN_PREFIX "%016llx" SUFFIX, directory,
		     (unsigned long long)hash) < 0)
		return NULL;
	return path;
}

void summary_put_run(struct np_bytes_writer *writer, const struct np_run *run, const char *given,
		     const char *manifest)
{
	size_t roots = given ? run->roots.count : 0;

	np_bytes_put_text(writer, given);
	np_bytes_put_text(writer, manifest);
	np_bytes_put_number(writer, roots);
	for (size_t i = 0; i < roots; i++)
		np_bytes_put_text(writer, run->roots.item[i]);
	summary_put_notes(writer, &run->notes);
}

int np_summary_keep_run(const struct np_run *run, const char *directory, struct np_err *err)
{
	NP_CLEANUP(np_bytes_release) struct np_bytes bytes = { 0 };
	struct np_bytes_writer writer = { 0 };
	char *manifest = manifest_text(run);
	char *path = run_path(run, directory);
	int rc = path ? np_make_dirs(directory, err) : np_fail_nomem(err, directory);

	summary_put_run(&writer, run, run->given ? run->given : run->roots.item[0], manifest);
	if (rc == NP_OK)
		rc = np_bytes_written(&writer, "a summary", err);
	if (rc == NP_OK)
		rc = np_summary_seal(writer.bytes.item, writer.bytes.count, &bytes, err);
	if (rc == NP_OK)
		rc = spill(path, &bytes, err);
	np_bytes_release(&writer.bytes);
	free(manifest);
	free(path);
	return rc;
}

static void get_roots(struct np_bytes_reader *reader, struct np_run *run)
{
	uint64_t count = np_bytes_get_number(reader);

	for (uint64_t i = 0; i < count && !reader->problem; i++) {
		char *root = np_bytes_get_some_text(reader);
		char **slot = root ? np_vec_add(&run->roots, NULL) : NULL;

		if (slot) {
			*slot = root;
			continue;
		}
		reader->out_of_memory = reader->out_of_memory || root;
		free(root);
		np_bytes_refuse(reader, "out of memory");
	}
}

void summary_get_run(struct np_bytes_reader *reader, struct np_run *run)
{
	char *given = np_bytes_get_text(reader);
	char *manifest = np_bytes_get_text(reader);

	get_roots(reader, run);
	summary_get_notes(reader, &run->notes);
	if (!reader->problem && !run->given)
		run->given = NP_STEAL(given);
	if (!reader->problem && !run->manifest)
		run->manifest = NP_STEAL(manifest);
	free(given);
	free(manifest);
}

static int read_run(struct np_run *run, const char *path, struct np_err *err)
{
	NP_CLEANUP(np_bytes_release) struct np_bytes bytes = { 0 };
	struct np_bytes_reader reader;
	int rc = summary_slurp(path, 0, 0, &bytes, err);

	if (rc == NP_OK)
		rc = summary_open(bytes.item, bytes.count, path, &reader, err);
	if (rc < 0)
		return rc;
	summary_get_run(&reader, run);
	return summary_read(&reader, path, err);
}

/* --- finding ------------------------------------------------------------------------------------
 */

static bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name);

	return length > strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0;
}

static int take_rank(struct np_run *run, const char *path, struct np_err *err)
{
	struct np_summary summary = { 0 };
	struct np_source_files *slot;
	int rc = np_summary_read_file(path, NULL, &summary, err);

	if (rc < 0)
		return rc;
	slot = np_vec_add(&run->sources, err);
	if (!slot) {
		np_summary_release(&summary);
		return NP_E_NOMEM;
	}
	*slot = summary.source;
	summary.source = (struct np_source_files){ 0 };
	np_summary_release(&summary);
	free(slot->summary);
	slot->summary = strdup(path);
	return slot->summary ? NP_OK : np_fail_nomem(err, path);
}

/* A file that cannot be used costs what is in it, and is noted. */
static int take_path(struct np_run *run, const char *path,
		     int (*take)(struct np_run *run, const char *path, struct np_err *err),
		     struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	int rc = take(run, path, &problem);

	if (rc == NP_E_NOMEM)
		*err = problem;
	else if (rc < 0)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "summary", "%s",
			    problem.text);
	return rc == NP_E_NOMEM ? rc : NP_OK;
}

static int take_file(struct np_run *run, const char *directory, const char *name,
		     struct np_err *err)
{
	char *path;
	int rc;

	if (!has_suffix(name, SUFFIX) && !has_suffix(name, NP_PART_SUFFIX))
		return NP_OK;
	path = np_join_path(directory, name);
	if (!path)
		return np_fail_nomem(err, name);
	if (has_suffix(name, NP_PART_SUFFIX))
		rc = take_path(run, path, part_discover, err);
	else
		rc = take_path(run, path, np_text_begins(name, RUN_PREFIX) ? read_run : take_rank,
			       err);
	free(path);
	return rc;
}

static int search(struct np_run *run, const char *directory, struct np_err *err)
{
	struct np_names names = { 0 };
	int rc;

	if (!np_is_directory(directory)) {
		if (part_is_one(directory) ||
		    (has_suffix(directory, NP_PART_SUFFIX) && access(directory, F_OK) == 0))
			return take_path(run, directory, part_discover, err);
		return np_fail(err, NP_E_USAGE,
			       "'%s' is neither a directory nor a part of "
			       "summaries (npuprof merge)",
			       directory);
	}
	rc = discover_names(run, directory, &names, err);
	for (size_t i = 0; i < names.list.count && rc == NP_OK; i++)
		rc = take_file(run, directory, names.list.item[i], err);
	np_names_release(&names);
	return rc;
}

/* --- the same twice -----------------------------------------------------------------------------
 */

static int by_rank_and_stamp(const void *left, const void *right)
{
	const struct np_source_files *a = left;
	const struct np_source_files *b = right;
	int order = np_order(a->rank, b->rank);

	if (order == 0)
		order = np_order(a->stamp, b->stamp);
	if (order == 0)
		order = strcmp(a->dir, b->dir);
	return order ? order : strcmp(a->summary, b->summary);
}

/* Was it made of the same files? Then they are one rank, whatever brought them here. */
static bool same_source(const struct np_source_files *a, const struct np_source_files *b)
{
	return a->rank == b->rank && a->rank >= 0 && a->stamp == b->stamp && a->bytes == b->bytes &&
	       a->fingerprint == b->fingerprint && strcmp(a->dir, b->dir) == 0;
}

/* A part that is given twice, or beside what it was merged from, is taken once and said once. */
static void drop_same(struct np_run *run)
{
	struct np_source_files *list = run->sources.item;
	const char *first_path = NULL;
	char *dropped_path = NULL;
	size_t kept = 0;
	size_t dropped = 0;

	qsort(list, run->sources.count, sizeof(list[0]), by_rank_and_stamp);
	for (size_t i = 0; i < run->sources.count; i++) {
		if (kept == 0 || !same_source(&list[kept - 1], &list[i])) {
			list[kept++] = list[i];
			continue;
		}
		if (dropped++ == 0) {
			first_path = list[kept - 1].summary;
			dropped_path = NP_STEAL(list[i].summary);
		}
		np_source_files_release(&list[i]);
	}
	run->sources.count = kept;
	if (dropped > 0)
		np_note_add(
			&run->notes, NP_NOTE_WARNING, NP_NO_RANK, dropped_path ? dropped_path : "",
			"summary",
			"%zu rank%s here are in '%s' as well, or in files like it: each is taken "
			"once",
			dropped, dropped == 1 ? "" : "s", first_path ? first_path : "");
	free(dropped_path);
}

int np_summary_discover(struct np_run *run, const char *const *directories, size_t count,
			const struct np_discover_options *options, struct np_err *err)
{
	int rc = NP_OK;

	run->summarised = true;
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = search(run, directories[i], err);
	if (rc < 0)
		return rc;
	if (run->sources.count == 0)
		return np_fail(err, NP_E_NOTFOUND,
			       "no summaries in '%s' (rank*" SUFFIX ", *" NP_PART_SUFFIX
			       "); --cache writes them beside an analysis",
			       directories[0]);
	/* Somebody has copied the summaries of ranks alone. */
	if (run->roots.count == 0) {
		char **slot = np_vec_add(&run->roots, err);

		if (!slot || !(*slot = strdup(directories[0])))
			return np_fail_nomem(err, directories[0]);
	}
	drop_same(run);
	return discover_choose(run, options, err);
}
