/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries as bytes: the frame, the source, the notes and the texts around a rank. */
#include "npuprof/summary.h"

#include "summary_bytes.h"

#include "npuprof/hash.h"
#include "npuprof/rank.h"

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
				    source->device, (int32_t)source->steps.want };

	hash = np_hash(hash, numbers, sizeof(numbers));
	hash = mix_text(mix_text(hash, source->dir), source->host);
	if (source->steps.pattern)
		hash = mix_text(hash, source->steps.pattern);
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		hash = mix_file(hash, source->file[i]);
	for (size_t i = 0; i < source->more_traces.count; i++)
		hash = mix_file(hash, source->more_traces.item[i]);
	return hash;
}

/* --- the head -----------------------------------------------------------------------------------
 */

/* Not text, so that nobody takes it for one: the byte after the name is no UTF-8. */
static const uint8_t magic[8] = { 'n', 'p', 's', 'u', 'm', 0xff, '\r', '\n' };

enum {
	FORM_AT = 8,
	LENGTH_AT = 16,
	CHECKSUM_AT = 24,
	HEAD_BYTES = 32
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

/* Guards against damage, not against malice. Each step can be undone: no single change is lost. */
static uint64_t checksum(const uint8_t *bytes, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ length;
	uint8_t rest[8] = { 0 };

	for (; length >= 8; bytes += 8, length -= 8) {
		hash = (hash ^ get_fixed(bytes)) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	if (length > 0)
		memcpy(rest, bytes, length);
	hash = (hash ^ get_fixed(rest)) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

int np_summary_seal(const uint8_t *payload, size_t payload_length, struct np_bytes *ret,
		    struct np_err *err)
{
	size_t length = ret->count + HEAD_BYTES + payload_length;
	uint8_t *at = realloc(ret->item, length);

	if (!at)
		return np_fail_nomem(err, "a summary");
	ret->item = at;
	ret->capacity = length;
	at += ret->count;
	ret->count = length;
	memcpy(at, magic, sizeof(magic));
	put_fixed(at + FORM_AT, NP_SUMMARY_FORM);
	put_fixed(at + LENGTH_AT, payload_length);
	put_fixed(at + CHECKSUM_AT, checksum(payload, payload_length));
	if (payload_length > 0)
		memcpy(at + HEAD_BYTES, payload, payload_length);
	return NP_OK;
}

int summary_open(const uint8_t *bytes, size_t length, const char *name, struct np_bytes_reader *ret,
		 struct np_err *err)
{
	if (length < HEAD_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0)
		return np_fail(err, NP_E_FORMAT, "'%s' is no summary", name);
	if (get_fixed(bytes + FORM_AT) != NP_SUMMARY_FORM)
		return np_fail(err, NP_E_FORMAT,
			       "the summary '%s' is of form %llu, and this program knows form %d; "
			       "make it again from the profiles",
			       name, (unsigned long long)get_fixed(bytes + FORM_AT),
			       NP_SUMMARY_FORM);
	if (get_fixed(bytes + LENGTH_AT) != length - HEAD_BYTES)
		return np_fail(err, NP_E_FORMAT,
			       "the summary '%s' is damaged: %zu bytes instead of %llu", name,
			       length - HEAD_BYTES,
			       (unsigned long long)get_fixed(bytes + LENGTH_AT));
	if (get_fixed(bytes + CHECKSUM_AT) != checksum(bytes + HEAD_BYTES, length - HEAD_BYTES))
		return np_fail(err, NP_E_FORMAT,
			       "the summary '%s' is damaged: its checksum is wrong", name);
	*ret = (struct np_bytes_reader){ .at = bytes + HEAD_BYTES, .end = bytes + length };
	return NP_OK;
}

/* --- sources and notes --------------------------------------------------------------------------
 */

void summary_put_source(struct np_bytes_writer *writer, const struct np_source_files *source)
{
	np_bytes_put_number(writer, source->kind);
	np_bytes_put_signed(writer, source->rank);
	np_bytes_put_number(writer, source->rank_from);
	np_bytes_put_number(writer, source->place.known);
	np_bytes_put_signed(writer, source->place.dp);
	np_bytes_put_signed(writer, source->place.pp);
	np_bytes_put_signed(writer, source->place.tp);
	np_bytes_put_signed(writer, source->place.cp);
	np_bytes_put_signed(writer, source->place.ep);
	np_bytes_put_signed(writer, source->device);
	np_bytes_put_signed(writer, source->stamp);
	np_bytes_put_signed(writer, source->bytes);
	np_bytes_put_number(writer, source->fingerprint);
	np_bytes_put_text(writer, source->dir);
	np_bytes_put_text(writer, source->phase);
	np_bytes_put_text(writer, source->host);
	np_bytes_put_text(writer, source->summary);
	np_bytes_put_signed(writer, source->summary_at);
	np_bytes_put_signed(writer, source->summary_size);
	np_bytes_put_number(writer, NP_FILE_COUNT);
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		np_bytes_put_text(writer, source->file[i]);
	np_bytes_put_number(writer, source->more_traces.count);
	for (size_t i = 0; i < source->more_traces.count; i++)
		np_bytes_put_text(writer, source->more_traces.item[i]);
}

void summary_get_source(struct np_bytes_reader *reader, struct np_source_files *source)
{
	uint64_t more;

	source->kind = (enum np_kind)np_bytes_get_at_most(reader, NP_KIND_COUNT - 1);
	source->rank = np_bytes_get_int32(reader);
	source->rank_from = (enum np_rank_from)np_bytes_get_at_most(reader, NP_RANK_FROM_COUNT - 1);
	source->place.known = np_bytes_get_at_most(reader, 1) != 0;
	source->place.dp = np_bytes_get_int32(reader);
	source->place.pp = np_bytes_get_int32(reader);
	source->place.tp = np_bytes_get_int32(reader);
	source->place.cp = np_bytes_get_int32(reader);
	source->place.ep = np_bytes_get_int32(reader);
	source->device = np_bytes_get_int32(reader);
	source->stamp = np_bytes_get_signed(reader);
	source->bytes = np_bytes_get_signed(reader);
	source->fingerprint = np_bytes_get_number(reader);
	source->dir = np_bytes_get_some_text(reader);
	source->phase = np_bytes_get_text(reader);
	source->host = np_bytes_get_text(reader);
	source->summary = np_bytes_get_text(reader);
	source->summary_at = np_bytes_get_signed(reader);
	source->summary_size = np_bytes_get_signed(reader);
	if (source->summary_at < 0 || source->summary_size < 0)
		np_bytes_refuse(reader, "a place in it is out of range");
	if (np_bytes_get_number(reader) != NP_FILE_COUNT)
		np_bytes_refuse(reader, "it knows other kinds of files");
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		source->file[i] = np_bytes_get_text(reader);
	more = np_bytes_get_number(reader);
	for (uint64_t i = 0; i < more && !reader->problem; i++) {
		char **slot = np_vec_add(&source->more_traces, NULL);

		if (!slot)
			np_bytes_exhaust(reader);
		else
			*slot = np_bytes_get_some_text(reader);
	}
}

void summary_put_notes(struct np_bytes_writer *writer, const struct np_notes *notes)
{
	np_bytes_put_number(writer, notes->lost);
	np_bytes_put_number(writer, notes->list.count);
	for (size_t i = 0; i < notes->list.count; i++) {
		const struct np_note *note = &notes->list.item[i];

		np_bytes_put_number(writer, note->kind);
		np_bytes_put_signed(writer, note->rank);
		np_bytes_put_text(writer, note->path);
		np_bytes_put_text(writer, note->what);
		np_bytes_put_text(writer, note->reason);
	}
}

void summary_get_notes(struct np_bytes_reader *reader, struct np_notes *notes)
{
	uint64_t count;

	notes->lost = np_bytes_get_at_most(reader, 1) != 0;
	count = np_bytes_get_number(reader);
	for (uint64_t i = 0; i < count && !reader->problem; i++) {
		enum np_note_kind kind =
			(enum np_note_kind)np_bytes_get_at_most(reader, NP_NOTE_WARNING);
		int32_t rank = np_bytes_get_int32(reader);
		char *path = np_bytes_get_some_text(reader);
		char *what = np_bytes_get_some_text(reader);
		char *reason = np_bytes_get_some_text(reader);

		if (!reader->problem)
			np_note_add(notes, kind, rank, path, what, "%s", reason);
		free(path);
		free(what);
		free(reason);
	}
}

int summary_read(const struct np_bytes_reader *reader, const char *name, struct np_err *err)
{
	if (reader->out_of_memory)
		return np_fail_nomem(err, name);
	if (reader->problem)
		return np_fail(err, NP_E_FORMAT, "the summary '%s' is damaged: %s", name,
			       reader->problem);
	return NP_OK;
}

/* --- all of it ----------------------------------------------------------------------------------
 */

/* Texts stand before the rank, which tells which they are. */
static void put_rank(struct np_bytes_writer *writer, const struct np_rank *rank,
		     const struct np_strtab *strings)
{
	struct summary_writer body = { .strings = strings, .numbers = np_idmap_new() };

	body.out.failed = !body.numbers;
	summary_put_rank(&body, rank);
	np_bytes_put_text(&body.out, rank->path);
	summary_put_notes(&body.out, &rank->notes);
	np_bytes_put_number(writer, body.used.count);
	for (size_t i = 0; i < body.used.count; i++) {
		np_str string = body.used.item[i];
		size_t length = np_strtab_length(strings, string);

		np_bytes_put_number(writer, length);
		np_bytes_put_raw(writer, np_strtab_text(strings, string), length);
	}
	np_bytes_put_raw(writer, body.out.bytes.item, body.out.bytes.count);
	writer->failed = writer->failed || body.out.failed;
	np_bytes_release(&body.out.bytes);
	np_vec_release(&body.used);
	np_vec_release(&body.runs.list);
	np_idmap_free(body.numbers);
}

int np_summary_encode(const struct np_summary *summary, const struct np_strtab *strings,
		      struct np_bytes *ret, struct np_err *err)
{
	struct np_bytes_writer writer = { 0 };
	int rc;

	np_bytes_put_text(&writer, summary->program ? summary->program : "");
	np_bytes_put_number(&writer, summary->key);
	summary_put_source(&writer, &summary->source);
	np_bytes_put_signed(&writer, summary->failure);
	np_bytes_put_text(&writer, summary->failure_text);
	np_bytes_put_number(&writer, summary->rank != NULL);
	if (summary->rank)
		put_rank(&writer, summary->rank, strings);
	rc = np_bytes_written(&writer, "a summary", err);
	if (rc == NP_OK)
		rc = np_summary_seal(writer.bytes.item, writer.bytes.count, ret, err);
	np_bytes_release(&writer.bytes);
	return rc;
}

static void get_texts(struct summary_reader *reader, struct np_strtab *strings)
{
	uint64_t count = np_bytes_get_number(&reader->in);

	if (count > np_bytes_left(&reader->in)) {
		np_bytes_refuse(&reader->in, "it has fewer texts than it says");
		return;
	}
	reader->texts = calloc((size_t)count + 1, sizeof(*reader->texts));
	if (!reader->texts) {
		reader->in.out_of_memory = true;
		return;
	}
	reader->text_count = (size_t)count + 1;
	for (size_t i = 1; i <= count && !reader->in.problem; i++) {
		uint64_t length = np_bytes_get_number(&reader->in);

		if (length > np_bytes_left(&reader->in)) {
			np_bytes_refuse(&reader->in, "a text in it is damaged");
			return;
		}
		if (np_strtab_add(strings, (const char *)reader->in.at, (size_t)length,
				  &reader->texts[i], NULL) < 0) {
			reader->in.out_of_memory = true;
			return;
		}
		reader->in.at += length;
	}
}

static struct np_rank *get_rank(struct summary_reader *reader, struct np_strtab *strings)
{
	struct np_rank *rank = np_rank_new(0, "");

	get_texts(reader, strings);
	if (!rank || reader->in.out_of_memory) {
		reader->in.out_of_memory = true;
		return rank;
	}
	summary_get_rank(reader, rank);
	free(rank->path);
	rank->path = np_bytes_get_some_text(&reader->in);
	summary_get_notes(&reader->in, &rank->notes);
	if (!reader->in.problem && reader->in.at != reader->in.end)
		np_bytes_refuse(&reader->in, "something follows its end");
	return rank;
}

/* A failure has a text and no rank. */
static void get_failure(struct np_bytes_reader *reader, struct np_summary *summary)
{
	int64_t code = np_bytes_get_signed(reader);

	summary->failure_text = np_bytes_get_text(reader);
	summary->failure = (enum np_code)code;
	if (code > NP_OK || code < NP_E_BUSY || (code == NP_OK) != !summary->failure_text)
		np_bytes_refuse(reader, "it says neither what the rank is nor why there is none");
}

int np_summary_decode(const uint8_t *bytes, size_t length, const char *name,
		      struct np_strtab *strings, struct np_summary *ret, struct np_err *err)
{
	return summary_decode_rows(bytes, length, name, strings, false, ret, err);
}

int summary_decode_rows(const uint8_t *bytes, size_t length, const char *name,
			struct np_strtab *strings, bool count_rows, struct np_summary *ret,
			struct np_err *err)
{
	struct np_summary summary = { 0 };
	struct summary_reader reader = { .strings = strings, .count_rows = count_rows };
	int rc = summary_open(bytes, length, name, &reader.in, err);

	if (rc < 0)
		return rc;
	summary.program = np_bytes_get_some_text(&reader.in);
	summary.key = np_bytes_get_number(&reader.in);
	summary_get_source(&reader.in, &summary.source);
	get_failure(&reader.in, &summary);
	if (np_bytes_get_at_most(&reader.in, 1) != (summary.failure == NP_OK))
		np_bytes_refuse(&reader.in, "it holds no rank");
	if (strings && !reader.in.problem && summary.failure == NP_OK)
		summary.rank = get_rank(&reader, strings);
	if (summary.rank && !reader.in.problem && summary.rank->id != summary.source.rank)
		np_bytes_refuse(&reader.in, "its rank is not the one that it names");
	free(reader.texts);
	np_vec_release(&reader.runs.list);
	rc = summary_read(&reader.in, name, err);
	if (rc < 0)
		np_summary_release(&summary);
	else
		*ret = summary;
	return rc;
}
