/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/summary.h"

#include "npuprof/hash.h"

#include "core/base/summary_bytes.h"

#include <sys/stat.h>

void np_summary_release(struct np_summary *summary)
{
	free(summary->program);
	free(summary->failure_text);
	np_source_files_release(&summary->source);
	np_rank_free(summary->rank);
	*summary = (struct np_summary){ 0 };
}

/* --- key ----------------------------------------------------------------------------------------
 */

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return text ? np_hash(hash, text, strlen(text) + 1) : np_hash(hash, "\xff", 1);
}

static uint64_t mix_file(uint64_t hash, const char *path)
{
	struct stat status;
	int64_t facts[3] = { -1, 0, 0 };

	if (path && stat(path, &status) == 0) {
		facts[0] = (int64_t)status.st_size;
		facts[1] = (int64_t)status.st_mtim.tv_sec;
		facts[2] = (int64_t)status.st_mtim.tv_nsec;
	}
	return mix_text(np_hash(hash, facts, sizeof(facts)), path);
}

uint64_t np_summary_key(const struct np_source_files *source, const char *program)
{
	uint64_t hash = mix_text(NP_HASH_START, program);
	const int32_t numbers[] = { NP_SUMMARY_FORM, (int32_t)source->kind, source->rank,
				    source->device };

	hash = np_hash(hash, numbers, sizeof(numbers));
	hash = mix_text(mix_text(hash, source->dir), source->host);
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		hash = mix_file(hash, source->file[i]);
	for (size_t i = 0; i < source->more_traces.count; i++)
		hash = mix_file(hash, source->more_traces.item[i]);
	return hash;
}

/* --- sources and notes --------------------------------------------------------------------------
 */

void summary_put_source(struct summary_writer *writer, const struct np_source_files *source)
{
	summary_put_number(writer, source->kind);
	summary_put_signed(writer, source->rank);
	summary_put_signed(writer, source->device);
	summary_put_signed(writer, source->stamp);
	summary_put_signed(writer, source->bytes);
	summary_put_number(writer, source->fingerprint);
	summary_put_text(writer, source->dir);
	summary_put_text(writer, source->host);
	summary_put_text(writer, source->summary);
	summary_put_number(writer, NP_FILE_COUNT);
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		summary_put_text(writer, source->file[i]);
	summary_put_number(writer, source->more_traces.count);
	for (size_t i = 0; i < source->more_traces.count; i++)
		summary_put_text(writer, source->more_traces.item[i]);
}

static int32_t get_sub_task(struct summary_reader *reader)
{
	int64_t value = summary_get_signed(reader);

	if (value >= INT32_MIN && value <= INT32_MAX)
		return (int32_t)value;
	summary_refuse(reader, "a value in it is out of range");
	return 0;
}

void summary_get_source(struct summary_reader *reader, struct np_source_files *source)
{
	uint64_t more;

	source->kind = (enum np_kind)summary_get_at_most(reader, NP_KIND_MSMONITOR);
	source->rank = get_sub_task(reader);
	source->device = get_sub_task(reader);
	source->stamp = summary_get_signed(reader);
	source->bytes = summary_get_signed(reader);
	source->fingerprint = summary_get_number(reader);
	source->dir = summary_get_some_text(reader);
	source->host = summary_get_text(reader);
	source->summary = summary_get_text(reader);
	if (summary_get_number(reader) != NP_FILE_COUNT)
		summary_refuse(reader, "it knows other kinds of files");
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		source->file[i] = summary_get_text(reader);
	more = summary_get_number(reader);
	for (uint64_t i = 0; i < more && !reader->problem; i++) {
		char **slot = np_vec_add(&source->more_traces, NULL);

		reader->out_of_memory = reader->out_of_memory || !slot;
		if (!slot)
			summary_refuse(reader, "out of memory");
		else
			*slot = summary_get_some_text(reader);
	}
}

void summary_put_notes(struct summary_writer *writer, const struct np_notes *notes)
{
	summary_put_number(writer, notes->lost);
	summary_put_number(writer, notes->list.count);
	for (size_t i = 0; i < notes->list.count; i++) {
		const struct np_note *note = &notes->list.item[i];

		summary_put_number(writer, note->kind);
		summary_put_signed(writer, note->rank);
		summary_put_text(writer, note->path);
		summary_put_text(writer, note->what);
		summary_put_text(writer, note->reason);
	}
}

void summary_get_notes(struct summary_reader *reader, struct np_notes *notes)
{
	uint64_t count;

	notes->lost = summary_get_at_most(reader, 1) != 0;
	count = summary_get_number(reader);
	for (uint64_t i = 0; i < count && !reader->problem; i++) {
		enum np_note_kind kind =
			(enum np_note_kind)summary_get_at_most(reader, NP_NOTE_WARNING);
		int32_t rank = get_sub_task(reader);
		char *path = summary_get_some_text(reader);
		char *what = summary_get_some_text(reader);
		char *reason = summary_get_some_text(reader);

		if (!reader->problem)
			np_note_add(notes, kind, rank, path, what, "%s", reason);
		free(path);
		free(what);
		free(reason);
	}
}

/* --- all of it ----------------------------------------------------------------------------------
 */

static void release_writer(struct summary_writer *writer)
{
	np_bytes_release(&writer->bytes);
	np_vec_release(&writer->used);
	np_idmap_free(writer->numbers);
}

/* Texts stand before the rank, which tells which they are. */
static void put_rank(struct summary_writer *writer, const struct np_rank *rank)
{
	struct summary_writer body = { .strings = writer->strings, .numbers = np_idmap_new() };

	body.failed = !body.numbers;
	summary_put_rank(&body, rank);
	summary_put_text(&body, rank->path);
	summary_put_notes(&body, &rank->notes);
	summary_put_number(writer, body.used.count);
	for (size_t i = 0; i < body.used.count; i++) {
		np_str string = body.used.item[i];
		size_t length = np_strtab_length(writer->strings, string);

		summary_put_number(writer, length);
		summary_put_bytes(writer, np_strtab_text(writer->strings, string), length);
	}
	summary_put_bytes(writer, body.bytes.item, body.bytes.count);
	writer->failed = writer->failed || body.failed;
	release_writer(&body);
}

int np_summary_encode(const struct np_summary *summary, const struct np_strtab *strings,
		      struct np_bytes *ret, struct np_err *err)
{
	struct summary_writer writer = { .strings = strings };
	int rc;

	summary_put_text(&writer, summary->program ? summary->program : "");
	summary_put_number(&writer, summary->key);
	summary_put_source(&writer, &summary->source);
	summary_put_signed(&writer, summary->failure);
	summary_put_text(&writer, summary->failure_text);
	summary_put_number(&writer, summary->rank != NULL);
	if (summary->rank)
		put_rank(&writer, summary->rank);
	rc = summary_written(&writer, err);
	if (rc == NP_OK)
		rc = np_summary_seal(writer.bytes.item, writer.bytes.count, ret, err);
	release_writer(&writer);
	return rc;
}

static void get_texts(struct summary_reader *reader, struct np_strtab *strings)
{
	uint64_t count = summary_get_number(reader);

	if (count > (uint64_t)(reader->end - reader->at)) {
		summary_refuse(reader, "it has fewer texts than it says");
		return;
	}
	reader->texts = calloc((size_t)count + 1, sizeof(*reader->texts));
	if (!reader->texts) {
		reader->out_of_memory = true;
		return;
	}
	reader->text_count = (size_t)count + 1;
	for (size_t i = 1; i <= count && !reader->problem; i++) {
		uint64_t length = summary_get_number(reader);

		if (length > (uint64_t)(reader->end - reader->at)) {
			summary_refuse(reader, "a text in it is damaged");
			return;
		}
		if (np_strtab_add(strings, (const char *)reader->at, (size_t)length,
				  &reader->texts[i], NULL) < 0) {
			reader->out_of_memory = true;
			return;
		}
		reader->at += length;
	}
}

static struct np_rank *get_rank(struct summary_reader *reader, struct np_strtab *strings)
{
	struct np_rank *rank = np_rank_new(0, "");

	get_texts(reader, strings);
	if (!rank || reader->out_of_memory) {
		reader->out_of_memory = true;
		return rank;
	}
	summary_get_rank(reader, rank);
	free(rank->path);
	rank->path = summary_get_some_text(reader);
	summary_get_notes(reader, &rank->notes);
	if (!reader->problem && reader->at != reader->end)
		summary_refuse(reader, "something follows its end");
	return rank;
}

/* A failure has a text and no rank. */
static void get_failure(struct summary_reader *reader, struct np_summary *summary)
{
	int64_t code = summary_get_signed(reader);

	summary->failure_text = summary_get_text(reader);
	summary->failure = (enum np_code)code;
	if (code > NP_OK || code < NP_E_BUSY || (code == NP_OK) != !summary->failure_text)
		summary_refuse(reader, "it says neither what the rank is nor why there is none");
}

int np_summary_decode(const uint8_t *bytes, size_t length, const char *name,
		      struct np_strtab *strings, struct np_summary *ret, struct np_err *err)
{
	struct np_summary summary = { 0 };
	struct summary_reader reader;
	int rc = summary_open(bytes, length, name, &reader, err);

	if (rc < 0)
		return rc;
	summary.program = summary_get_some_text(&reader);
	summary.key = summary_get_number(&reader);
	summary_get_source(&reader, &summary.source);
	get_failure(&reader, &summary);
	if (summary_get_at_most(&reader, 1) != (summary.failure == NP_OK))
		summary_refuse(&reader, "it holds no rank");
	if (strings && !reader.problem && summary.failure == NP_OK)
		summary.rank = get_rank(&reader, strings);
	if (summary.rank && !reader.problem && summary.rank->id != summary.source.rank)
		summary_refuse(&reader, "its rank is not the one that it names");
	free(reader.texts);
	rc = summary_read(&reader, name, err);
	if (rc < 0)
		np_summary_release(&summary);
	else
		*ret = summary;
	return rc;
}
