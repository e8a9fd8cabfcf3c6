/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries as files: where they are kept, and finding those of a run. */
#include "npuprof/summary.h"

#include "summary_bytes.h"

#include "core/model/discover/discover_files.h"
#include "core/model/vendor/file_names.h"

#include "npuprof/dirs.h"
#include "npuprof/hash.h"
#include "npuprof/manifest.h"
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

static int slurp(const char *path, struct np_bytes *ret, struct np_err *err)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	int rc;

	if (file < 0)
		return np_fail(err, errno == ENOENT ? NP_E_NOTFOUND : NP_E_IO,
			       "cannot read '%s': %s", path, strerror(errno));
	if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_size > MOST_FILE_BYTES) {
		(void)close(file);
		return np_fail(err, NP_E_FORMAT, "'%s' is no summary", path);
	}
	ret->capacity = (size_t)status.st_size + 1;
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
	if (!written || rename(temporary, path) < 0) {
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
	int rc = slurp(path, &bytes, err);

	return rc < 0 ? rc : np_summary_decode(bytes.item, bytes.count, path, strings, ret, err);
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
		rc = slurp(path, &bytes, NULL);
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

int np_summary_keep_run(const struct np_run *run, const char *directory, struct np_err *err)
{
	NP_CLEANUP(np_bytes_release) struct np_bytes bytes = { 0 };
	struct np_bytes_writer writer = { 0 };
	char *manifest = manifest_text(run);
	char *path = run_path(run, directory);
	int rc = path ? np_make_dirs(directory, err) : np_fail_nomem(err, directory);

	np_bytes_put_text(&writer, run->given ? run->given : run->roots.item[0]);
	np_bytes_put_text(&writer, manifest);
	np_bytes_put_number(&writer, run->roots.count);
	for (size_t i = 0; i < run->roots.count; i++)
		np_bytes_put_text(&writer, run->roots.item[i]);
	summary_put_notes(&writer, &run->notes);
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

/* Several runs may be merged, of a node each: the first names the input. */
static int read_run(struct np_run *run, const char *path, struct np_err *err)
{
	NP_CLEANUP(np_bytes_release) struct np_bytes bytes = { 0 };
	struct np_bytes_reader reader;
	char *given;
	char *manifest;
	int rc = slurp(path, &bytes, err);

	if (rc == NP_OK)
		rc = summary_open(bytes.item, bytes.count, path, &reader, err);
	if (rc < 0)
		return rc;
	given = np_bytes_get_some_text(&reader);
	manifest = np_bytes_get_text(&reader);
	get_roots(&reader, run);
	summary_get_notes(&reader, &run->notes);
	rc = summary_read(&reader, path, err);
	if (rc == NP_OK && !run->given)
		run->given = NP_STEAL(given);
	if (rc == NP_OK && !run->manifest)
		run->manifest = NP_STEAL(manifest);
	free(given);
	free(manifest);
	return rc;
}

/* --- finding ------------------------------------------------------------------------------------
 */

static bool is_summary(const char *name)
{
	size_t length = strlen(name);

	return length > strlen(SUFFIX) && strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
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

static int take_file(struct np_run *run, const char *directory, const char *name,
		     struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	char *path;
	int rc;

	if (!is_summary(name))
		return NP_OK;
	path = np_join_path(directory, name);
	if (!path)
		return np_fail_nomem(err, name);
	rc = np_text_begins(name, RUN_PREFIX) ? read_run(run, path, &problem)
					      : take_rank(run, path, &problem);
	if (rc == NP_E_NOMEM)
		*err = problem;
	else if (rc < 0)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "summary", "%s",
			    problem.text);
	free(path);
	return rc == NP_E_NOMEM ? rc : NP_OK;
}

static int search(struct np_run *run, const char *directory, struct np_err *err)
{
	struct np_names names = { 0 };
	int rc;

	if (!np_is_directory(directory))
		return np_fail(err, NP_E_USAGE, "'%s' is not a directory", directory);
	rc = discover_names(run, directory, &names, err);
	for (size_t i = 0; i < names.list.count && rc == NP_OK; i++)
		rc = take_file(run, directory, names.list.item[i], err);
	np_names_release(&names);
	return rc;
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
			       "no summaries in '%s' (rank*" SUFFIX
			       "); --cache writes them beside an analysis",
			       directories[0]);
	/* Somebody has copied the summaries of ranks alone. */
	if (run->roots.count == 0) {
		char **slot = np_vec_add(&run->roots, err);

		if (!slot || !(*slot = strdup(directories[0])))
			return np_fail_nomem(err, directories[0]);
	}
	return discover_choose(run, options, err);
}
