/* SPDX-License-Identifier: Apache-2.0 */
/* Parts: the summaries of many ranks in one file, written and found. */
#include "summary_part.h"

#include "npuprof/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

/* Not text either. */
static const uint8_t head_magic[8] = { 'n', 'p', 'p', 'a', 'r', 't', 0xff, '\n' };
static const uint8_t tail_magic[8] = { 'n', 'p', 'p', 'e', 'n', 'd', 0xff, '\n' };

enum {
	PART_HEAD_BYTES = 16, /* magic, form */
	PART_TAIL_BYTES = 24, /* where the index begins, its length, magic */
};

static void put_fixed(uint8_t *at, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_fixed(const uint8_t *at)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

/* --- writing ------------------------------------------------------------------------------------
 */

struct part_writer {
	FILE *stream;
	int64_t at; /* bytes written */
	struct np_err *err;
};

static int write_bytes(struct part_writer *writer, const void *bytes, size_t length)
{
	if (length > 0 && fwrite(bytes, 1, length, writer->stream) != length)
		return np_fail(writer->err, NP_E_IO, "cannot write: %s", strerror(errno));
	writer->at += (int64_t)length;
	return NP_OK;
}

static int write_head(struct part_writer *writer)
{
	uint8_t head[PART_HEAD_BYTES];

	memcpy(head, head_magic, sizeof(head_magic));
	put_fixed(head + 8, NP_SUMMARY_FORM);
	return write_bytes(writer, head, sizeof(head));
}

/* Copy one summary, if it is whole; false and why where it is not. */
static int copy_summary(struct part_writer *writer, const struct np_source_files *source,
			bool *ret_whole, struct np_err *problem)
{
	NP_CLEANUP(np_bytes_release) struct np_bytes bytes = { 0 };
	struct np_summary summary = { 0 };
	int rc = summary_slurp(source->summary, source->summary_at, source->summary_size, &bytes,
			       problem);

	if (rc == NP_OK)
		rc = np_summary_decode(bytes.item, bytes.count, source->summary, NULL, &summary,
				       problem);
	if (rc == NP_OK && summary.source.rank != source->rank)
		rc = np_fail(problem, NP_E_FORMAT,
			     "the summary '%s' is damaged: it is of rank %d and not of rank %d",
			     source->summary, summary.source.rank, source->rank);
	*ret_whole = rc == NP_OK;
	np_summary_release(&summary);
	if (rc == NP_E_NOMEM)
		return np_fail_nomem(writer->err, source->summary);
	return rc < 0 ? NP_OK : write_bytes(writer, bytes.item, bytes.count);
}

/* The source as it stands in the index: its summary is in this file. */
static void put_entry(struct np_bytes_writer *index, const struct np_source_files *source,
		      int64_t at, int64_t size)
{
	struct np_source_files entry = *source;

	entry.summary = NULL;
	entry.summary_at = at;
	entry.summary_size = size;
	summary_put_source(index, &entry);
}

static int write_summaries(struct part_writer *writer, const struct np_part_job *job,
			   struct np_bytes_writer *entries)
{
	struct np_run *run = job->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_source_files *source = &run->sources.item[i];
		struct np_err problem = NP_ERR_INIT;
		int64_t at = writer->at;
		bool whole = false;

		rc = copy_summary(writer, source, &whole, &problem);
		if (rc == NP_OK && whole) {
			put_entry(entries, source, at, writer->at - at);
			++*job->ranks;
		} else if (rc == NP_OK) {
			np_note_add(&run->notes, NP_NOTE_SKIPPED, source->rank, source->summary,
				    "summary", "%s", problem.text);
		}
	}
	return rc;
}

static int write_index(struct part_writer *writer, const struct np_part_job *job,
		       const struct np_bytes_writer *entries)
{
	NP_CLEANUP(np_bytes_release) struct np_bytes sealed = { 0 };
	struct np_bytes_writer index = { 0 };
	const struct np_run *run = job->run;
	uint8_t tail[PART_TAIL_BYTES];
	int rc;

	summary_put_run(&index, run, run->given, run->manifest);
	np_bytes_put_number(&index, *job->ranks);
	np_bytes_put_raw(&index, entries->bytes.item, entries->bytes.count);
	rc = np_bytes_written(entries, "the index of a part", writer->err);
	if (rc == NP_OK)
		rc = np_bytes_written(&index, "the index of a part", writer->err);
	if (rc == NP_OK)
		rc = np_summary_seal(index.bytes.item, index.bytes.count, &sealed, writer->err);
	np_bytes_release(&index.bytes);
	put_fixed(tail, (uint64_t)writer->at);
	put_fixed(tail + 8, sealed.count);
	memcpy(tail + 16, tail_magic, sizeof(tail_magic));
	if (rc == NP_OK)
		rc = write_bytes(writer, sealed.item, sealed.count);
	return rc < 0 ? rc : write_bytes(writer, tail, sizeof(tail));
}

int np_part_write(const void *context, FILE *stream, struct np_err *err)
{
	const struct np_part_job *job = context;
	struct part_writer writer = { .stream = stream, .err = err };
	struct np_bytes_writer entries = { 0 };
	int rc;

	*job->ranks = 0;
	rc = write_head(&writer);
	if (rc == NP_OK)
		rc = write_summaries(&writer, job, &entries);
	if (rc == NP_OK && *job->ranks == 0)
		rc = np_fail(err, NP_E_FORMAT, "none of the %zu summaries could be read",
			     job->run->sources.count);
	if (rc == NP_OK)
		rc = write_index(&writer, job, &entries);
	np_bytes_release(&entries.bytes);
	*job->bytes = writer.at;
	return rc;
}

/* --- finding ------------------------------------------------------------------------------------
 */

static bool read_at(int file, void *to, size_t length, int64_t at)
{
	ssize_t got;

	do
		got = pread(file, to, length, at);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)length;
}

bool part_is_one(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t head[sizeof(head_magic)];
	bool is = file >= 0 && read_at(file, head, sizeof(head), 0) &&
		  memcmp(head, head_magic, sizeof(head)) == 0;

	if (file >= 0)
		(void)close(file);
	return is;
}

/* Where the index of a part is. */
static int find_index(const char *path, int64_t *ret_at, int64_t *ret_size, struct np_err *err)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t head[PART_HEAD_BYTES] = { 0 };
	uint8_t tail[PART_TAIL_BYTES] = { 0 };
	struct stat status = { 0 };
	uint64_t at;
	uint64_t size;

	if (file < 0)
		return np_fail(err, NP_E_IO, "cannot read '%s': %s", path, strerror(errno));
	if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_size < PART_HEAD_BYTES || !read_at(file, head, sizeof(head), 0) ||
	    memcmp(head, head_magic, sizeof(head_magic)) != 0) {
		(void)close(file);
		return np_fail(err, NP_E_FORMAT, "'%s' is no part of summaries", path);
	}
	if (status.st_size >= PART_HEAD_BYTES + PART_TAIL_BYTES)
		(void)read_at(file, tail, sizeof(tail), status.st_size - PART_TAIL_BYTES);
	(void)close(file);
	if (get_fixed(head + 8) != NP_SUMMARY_FORM)
		return np_fail(err, NP_E_FORMAT,
			       "the part '%s' is of form %llu, and this program knows form %d; "
			       "merge it again from summaries of this version",
			       path, (unsigned long long)get_fixed(head + 8), NP_SUMMARY_FORM);
	at = get_fixed(tail);
	size = get_fixed(tail + 8);
	if (memcmp(tail + 16, tail_magic, sizeof(tail_magic)) != 0 || at < PART_HEAD_BYTES ||
	    at > (uint64_t)status.st_size || size == 0 ||
	    size != (uint64_t)status.st_size - PART_TAIL_BYTES - at)
		return np_fail(err, NP_E_FORMAT,
			       "the part '%s' is damaged: it ends before its index; merge it again",
			       path);
	*ret_at = (int64_t)at;
	*ret_size = (int64_t)size;
	return NP_OK;
}

/* Summaries lie one behind the other, before the index. */
static void get_entries(struct np_bytes_reader *reader, int64_t end, const char *path,
			struct np_run *run)
{
	uint64_t count = np_bytes_get_number(reader);
	int64_t at = PART_HEAD_BYTES;

	for (uint64_t i = 0; i < count && !reader->problem; i++) {
		struct np_source_files *source = np_vec_add(&run->sources, NULL);

		if (!source) {
			np_bytes_exhaust(reader);
			return;
		}
		summary_get_source(reader, source);
		if (source->summary || source->summary_at != at || source->summary_size <= 0 ||
		    source->summary_size > end - at)
			np_bytes_refuse(reader, "a summary in it is not where it says");
		at += source->summary_size;
		free(source->summary);
		source->summary = strdup(path);
		if (!source->summary)
			np_bytes_exhaust(reader);
	}
	if (!reader->problem && (reader->at != reader->end || at != end))
		np_bytes_refuse(reader, "something follows its end");
}

/* Nothing of a damaged part is taken: it is read into a run of its own. */
static int move_to(struct np_run *run, struct np_run *from, struct np_err *err)
{
	for (size_t i = 0; i < from->roots.count; i++) {
		char **slot = np_vec_add(&run->roots, err);

		if (!slot)
			return NP_E_NOMEM;
		*slot = NP_STEAL(from->roots.item[i]);
	}
	for (size_t i = 0; i < from->sources.count; i++) {
		struct np_source_files *slot = np_vec_add(&run->sources, err);

		if (!slot)
			return NP_E_NOMEM;
		*slot = from->sources.item[i];
		from->sources.item[i] = (struct np_source_files){ 0 };
	}
	np_notes_move(&run->notes, &from->notes);
	if (!run->given)
		run->given = NP_STEAL(from->given);
	if (!run->manifest)
		run->manifest = NP_STEAL(from->manifest);
	return NP_OK;
}

int part_discover(struct np_run *run, const char *path, struct np_err *err)
{
	NP_CLEANUP(np_bytes_release) struct np_bytes bytes = { 0 };
	NP_CLEANUP(np_run_freep) struct np_run *part = np_run_new();
	struct np_bytes_reader reader;
	int64_t at = 0;
	int64_t size = 0;
	int rc = part ? find_index(path, &at, &size, err) : np_fail_nomem(err, path);

	if (rc == NP_OK)
		rc = summary_slurp(path, at, size, &bytes, err);
	if (rc == NP_OK)
		rc = summary_open(bytes.item, bytes.count, path, &reader, err);
	if (rc < 0)
		return rc;
	summary_get_run(&reader, part);
	if (!reader.problem)
		get_entries(&reader, at, path, part);
	rc = summary_read(&reader, path, err);
	return rc < 0 ? rc : move_to(run, part, err);
}
