/* SPDX-License-Identifier: Apache-2.0 */
#include "summary_bytes.h"

#include "npuprof/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A number takes seven bits of each byte. */
#define MOST_BYTES 10

/* Not text, so that nobody takes it for one: the byte after the name is no UTF-8. */
static const uint8_t magic[8] = { 'n', 'p', 's', 'u', 'm', 0xff, '\r', '\n' };

enum {
	FORM_AT = 8,
	LENGTH_AT = 16,
	CHECKSUM_AT = 24,
	HEAD_BYTES = 32
};

/* Far beyond any rank, and small enough to refuse a file that cannot be one. */
#define MOST_FILE_BYTES ((off_t)1 << 32)

void np_bytes_release(struct np_bytes *bytes)
{
	np_vec_release(bytes);
}

bool summary_room(struct summary_writer *writer, size_t count)
{
	struct np_bytes *bytes = &writer->bytes;
	size_t capacity = bytes->capacity ? bytes->capacity : 4096;
	uint8_t *item;

	if (writer->failed)
		return false;
	if (bytes->capacity - bytes->count >= count)
		return true;
	while (capacity - bytes->count < count)
		capacity *= 2;
	item = realloc(bytes->item, capacity);
	writer->failed = !item;
	if (!item)
		return false;
	bytes->item = item;
	bytes->capacity = capacity;
	return true;
}

void summary_put_number(struct summary_writer *writer, uint64_t value)
{
	struct np_bytes *bytes = &writer->bytes;

	if (!summary_room(writer, MOST_BYTES))
		return;
	while (value >= 0x80) {
		bytes->item[bytes->count++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes->item[bytes->count++] = (uint8_t)value;
}

void summary_put_signed(struct summary_writer *writer, int64_t value)
{
	/* Small negative numbers are short too: the sign is the lowest bit. */
	summary_put_number(writer, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void summary_put_bytes(struct summary_writer *writer, const void *bytes, size_t length)
{
	if (length == 0 || !summary_room(writer, length))
		return;
	memcpy(writer->bytes.item + writer->bytes.count, bytes, length);
	writer->bytes.count += length;
}

void summary_put_text(struct summary_writer *writer, const char *text)
{
	size_t length = text ? strlen(text) : 0;

	summary_put_number(writer, text ? length + 1 : 0);
	summary_put_bytes(writer, text, length);
}

uint32_t summary_number(struct summary_writer *writer, np_str string)
{
	uint32_t number;
	np_str *slot;

	if (string == NP_STR_NONE || writer->failed)
		return 0;
	number = np_idmap_get(writer->numbers, string);
	if (number != NP_IDMAP_NONE)
		return number;
	slot = np_vec_add(&writer->used, NULL);
	if (!slot) {
		writer->failed = true;
		return 0;
	}
	*slot = string;
	number = (uint32_t)writer->used.count;
	if (np_idmap_set(writer->numbers, string, number, NULL) < 0)
		writer->failed = true;
	return number;
}

int summary_written(const struct summary_writer *writer, struct np_err *err)
{
	return writer->failed ? np_fail_nomem(err, "a summary") : NP_OK;
}

void summary_refuse(struct summary_reader *reader, const char *problem)
{
	if (!reader->problem)
		reader->problem = problem;
	reader->at = reader->end;
}

void summary_exhaust(struct summary_reader *reader)
{
	reader->out_of_memory = true;
	summary_refuse(reader, "out of memory");
}

uint64_t summary_get_number(struct summary_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (reader->at == reader->end) {
			summary_refuse(reader, "it ends too early");
			return 0;
		}
		byte = *reader->at++;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	summary_refuse(reader, "a number in it is too long");
	return 0;
}

int64_t summary_get_signed(struct summary_reader *reader)
{
	uint64_t value = summary_get_number(reader);

	return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

uint64_t summary_get_at_most(struct summary_reader *reader, uint64_t most)
{
	uint64_t value = summary_get_number(reader);

	if (value <= most)
		return value;
	summary_refuse(reader, "a value in it is out of range");
	return 0;
}

char *summary_get_text(struct summary_reader *reader)
{
	uint64_t length = summary_get_number(reader);
	char *text;

	if (length == 0)
		return NULL;
	length--;
	if (length > (uint64_t)(reader->end - reader->at) ||
	    memchr(reader->at, '\0', (size_t)length)) {
		summary_refuse(reader, "a text in it is damaged");
		return NULL;
	}
	text = malloc((size_t)length + 1);
	if (!text) {
		summary_exhaust(reader);
		return NULL;
	}
	memcpy(text, reader->at, (size_t)length);
	text[length] = '\0';
	reader->at += length;
	return text;
}

char *summary_get_some_text(struct summary_reader *reader)
{
	char *text = summary_get_text(reader);

	if (!text)
		summary_refuse(reader, "a text is missing in it");
	return text;
}

int summary_read(const struct summary_reader *reader, const char *name, struct np_err *err)
{
	if (reader->out_of_memory)
		return np_fail_nomem(err, name);
	if (reader->problem)
		return np_fail(err, NP_E_FORMAT, "the summary '%s' is damaged: %s", name,
			       reader->problem);
	return NP_OK;
}

/* --- the head -----------------------------------------------------------------------------------
 */

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

int summary_open(const uint8_t *bytes, size_t length, const char *name, struct summary_reader *ret,
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
	*ret = (struct summary_reader){ .at = bytes + HEAD_BYTES, .end = bytes + length };
	return NP_OK;
}

/* --- files --------------------------------------------------------------------------------------
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

int summary_slurp(const char *path, struct np_bytes *ret, struct np_err *err)
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

int summary_spill(const char *path, const struct np_bytes *bytes, struct np_err *err)
{
	char *temporary;
	bool written;
	int file;
	int rc = NP_OK;

	temporary = np_temporary_new(path);
	if (!temporary)
		return np_fail_nomem(err, path);
	file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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
