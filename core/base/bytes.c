/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts packed into bytes, and read from them again with every length checked. */
#include "npuprof/bytes.h"

#include "npuprof/vec.h"

/* A number takes seven bits of each byte. */
#define MOST_BYTES 10

/* What is made at least. */
#define ROOM ((size_t)4096)

void np_bytes_release(struct np_bytes *bytes)
{
	np_vec_release(bytes);
}

/* --- writing --------------------------------------------------------------------------------- */

/* Room for so many more bytes; false when there is none. */
static bool reserve(struct np_bytes_writer *writer, size_t count)
{
	struct np_bytes *bytes = &writer->bytes;

	if (!writer->failed && bytes->capacity - bytes->count < count)
		writer->failed = writer->fixed ||
				 np_vec_reserve(bytes, count < ROOM ? ROOM : count, NULL) < 0;
	return !writer->failed;
}

void np_bytes_put_number(struct np_bytes_writer *writer, uint64_t value)
{
	struct np_bytes *bytes = &writer->bytes;

	if (!reserve(writer, MOST_BYTES))
		return;
	while (value >= 0x80) {
		bytes->item[bytes->count++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes->item[bytes->count++] = (uint8_t)value;
}

void np_bytes_put_signed(struct np_bytes_writer *writer, int64_t value)
{
	/* Small negative numbers are short too: the sign is the lowest bit. */
	np_bytes_put_number(writer, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void np_bytes_put_raw(struct np_bytes_writer *writer, const void *bytes, size_t length)
{
	if (length == 0 || !reserve(writer, length))
		return;
	memcpy(writer->bytes.item + writer->bytes.count, bytes, length);
	writer->bytes.count += length;
}

void np_bytes_put_text(struct np_bytes_writer *writer, const char *text)
{
	size_t length = text ? strlen(text) : 0;

	np_bytes_put_number(writer, text ? length + 1 : 0);
	np_bytes_put_raw(writer, text, length);
}

int np_bytes_written(const struct np_bytes_writer *writer, const char *what, struct np_err *err)
{
	if (writer->failed && writer->fixed)
		return np_fail(err, NP_E_RANGE, "%s takes more than %zu bytes", what,
			       writer->bytes.capacity);
	return writer->failed ? np_fail_nomem(err, what) : NP_OK;
}

/* --- reading --------------------------------------------------------------------------------- */

void np_bytes_refuse(struct np_bytes_reader *reader, const char *problem)
{
	if (!reader->problem)
		reader->problem = problem;
	reader->at = reader->end;
}

void np_bytes_exhaust(struct np_bytes_reader *reader)
{
	reader->out_of_memory = true;
	np_bytes_refuse(reader, "out of memory");
}

uint64_t np_bytes_get_number(struct np_bytes_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (reader->at == reader->end) {
			np_bytes_refuse(reader, "it ends too early");
			return 0;
		}
		byte = *reader->at++;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	np_bytes_refuse(reader, "a number in it is too long");
	return 0;
}

void np_bytes_skip_numbers(struct np_bytes_reader *reader, uint64_t count)
{
	const uint8_t *at = reader->at;

	/* A number ends with the byte that has not the highest bit: eight of them at a time. */
	while (count > 8 && reader->end - at >= 8) {
		uint64_t eight;

		memcpy(&eight, at, sizeof(eight));
		count -= (unsigned)__builtin_popcountll(~eight & UINT64_C(0x8080808080808080));
		at += 8;
	}
	while (count > 0 && at < reader->end)
		count -= *at++ < 0x80;
	if (count > 0)
		np_bytes_refuse(reader, "it ends too early");
	else
		reader->at = at;
}

int64_t np_bytes_get_signed(struct np_bytes_reader *reader)
{
	uint64_t value = np_bytes_get_number(reader);

	return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

uint64_t np_bytes_get_at_most(struct np_bytes_reader *reader, uint64_t most)
{
	uint64_t value = np_bytes_get_number(reader);

	if (value <= most)
		return value;
	np_bytes_refuse(reader, "a value in it is out of range");
	return 0;
}

int32_t np_bytes_get_int32(struct np_bytes_reader *reader)
{
	int64_t value = np_bytes_get_signed(reader);

	if (value >= INT32_MIN && value <= INT32_MAX)
		return (int32_t)value;
	np_bytes_refuse(reader, "a value in it is out of range");
	return 0;
}

const void *np_bytes_get_raw(struct np_bytes_reader *reader, uint64_t count, size_t size)
{
	const uint8_t *at = reader->at;

	if (count > np_bytes_left(reader) / size) {
		np_bytes_refuse(reader, "it ends too early");
		return NULL;
	}
	reader->at += count * size;
	return at;
}

char *np_bytes_get_text(struct np_bytes_reader *reader)
{
	uint64_t length = np_bytes_get_number(reader);
	char *text;

	if (length == 0)
		return NULL;
	length--;
	if (length > np_bytes_left(reader) || memchr(reader->at, '\0', (size_t)length)) {
		np_bytes_refuse(reader, "a text in it is damaged");
		return NULL;
	}
	text = malloc((size_t)length + 1);
	if (!text) {
		np_bytes_exhaust(reader);
		return NULL;
	}
	memcpy(text, reader->at, (size_t)length);
	text[length] = '\0';
	reader->at += length;
	return text;
}

char *np_bytes_get_some_text(struct np_bytes_reader *reader)
{
	char *text = np_bytes_get_text(reader);

	if (!text)
		np_bytes_refuse(reader, "a text is missing in it");
	return text;
}
