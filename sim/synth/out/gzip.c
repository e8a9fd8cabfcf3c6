/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses text as gzip, fast and without another library (gzip.h). */
#include "gzip.h"

#define HASH_BITS 13
#define SHORTEST  4 /* a reference to fewer bytes costs more than it saves */
#define LONGEST   258
#define FARTHEST  32768

struct syn_gzip {
	uint32_t crc_table[256];
	uint32_t crc;
	uint32_t size;
	uint64_t bits; /* that do not fill a byte yet, the first in the lowest place */
	unsigned bit_count;
	uint16_t seen[1 << HASH_BITS]; /* place of four bytes in the piece, plus one; 0: none */
	size_t length;
	/* A literal takes at most nine bits; the rest is for the ends of the file. */
	char ready[SYN_GZIP_PIECE + SYN_GZIP_PIECE / 8 + 64];
};

static void put_byte(struct syn_gzip *gzip, uint32_t byte)
{
	gzip->ready[gzip->length++] = (char)(byte & 0xff);
}

static void put_bits(struct syn_gzip *gzip, uint32_t value, unsigned count)
{
	gzip->bits |= (uint64_t)value << gzip->bit_count;
	gzip->bit_count += count;
	while (gzip->bit_count >= 8) {
		put_byte(gzip, (uint32_t)gzip->bits);
		gzip->bits >>= 8;
		gzip->bit_count -= 8;
	}
}

/* Codes are packed beginning with their highest bit, everything else with its lowest. */
static void put_code(struct syn_gzip *gzip, uint32_t code, unsigned count)
{
	uint32_t turned = 0;

	for (unsigned i = 0; i < count; i++)
		turned |= (code >> i & 1) << (count - 1 - i);
	put_bits(gzip, turned, count);
}

/* A symbol of the literal and length alphabet in the fixed code. */
static void put_symbol(struct syn_gzip *gzip, uint32_t symbol)
{
	if (symbol < 144)
		put_code(gzip, 0x30 + symbol, 8);
	else if (symbol < 256)
		put_code(gzip, 0x190 + symbol - 144, 9);
	else if (symbol < 280)
		put_code(gzip, symbol - 256, 7);
	else
		put_code(gzip, 0xc0 + symbol - 280, 8);
}

static void put_length(struct syn_gzip *gzip, uint32_t length)
{
	uint32_t rest = length - 3;
	uint32_t extra = 0;

	if (length == LONGEST) {
		put_symbol(gzip, 285);
		return;
	}
	while (rest >> extra >= 8)
		extra++;
	put_symbol(gzip, 257 + 4 * extra + (rest >> extra));
	put_bits(gzip, rest & ((1U << extra) - 1), extra);
}

static void put_distance(struct syn_gzip *gzip, uint32_t distance)
{
	uint32_t rest = distance - 1;
	uint32_t extra = 0;

	while (rest >> extra >= 4)
		extra++;
	put_code(gzip, 2 * extra + (rest >> extra), 5);
	put_bits(gzip, rest & ((1U << extra) - 1), extra);
}

struct syn_gzip *syn_gzip_new(void)
{
	static const unsigned char header[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };
	struct syn_gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return NULL;
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t value = i;

		for (int bit = 0; bit < 8; bit++)
			value = value & 1 ? 0xedb88320U ^ value >> 1 : value >> 1;
		gzip->crc_table[i] = value;
	}
	gzip->crc = UINT32_MAX;
	for (size_t i = 0; i < sizeof(header); i++)
		put_byte(gzip, header[i]);
	/* The one block, the last, with fixed codes. */
	put_bits(gzip, 1, 1);
	put_bits(gzip, 1, 2);
	return gzip;
}

void syn_gzip_free(struct syn_gzip *gzip)
{
	free(gzip);
}

static uint32_t hash_of(const char *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word * UINT32_C(2654435761) >> (32 - HASH_BITS);
}

static size_t match_length(const char *a, const char *b, size_t limit)
{
	size_t length = 0;

	while (length < limit && a[length] == b[length])
		length++;
	return length;
}

/* The bytes at `at` stood before: how far back and how many, or 0. */
static size_t find_match(struct syn_gzip *gzip, const char *bytes, size_t at, size_t left,
			 size_t *distance)
{
	uint32_t hash = hash_of(bytes + at);
	size_t before = gzip->seen[hash];
	size_t length;

	gzip->seen[hash] = (uint16_t)(at + 1);
	if (before == 0 || at + 1 - before > FARTHEST)
		return 0;
	length = match_length(bytes + before - 1, bytes + at, left < LONGEST ? left : LONGEST);
	*distance = at + 1 - before;
	return length >= SHORTEST ? length : 0;
}

void syn_gzip_add(struct syn_gzip *gzip, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		gzip->crc = gzip->crc_table[(gzip->crc ^ (unsigned char)bytes[i]) & 0xff] ^
			    gzip->crc >> 8;
	gzip->size += (uint32_t)length;
	memset(gzip->seen, 0, sizeof(gzip->seen));
	for (size_t at = 0; at < length;) {
		size_t distance = 0;
		size_t match = 0;

		if (length - at >= SHORTEST)
			match = find_match(gzip, bytes, at, length - at, &distance);
		if (match > 0) {
			put_length(gzip, (uint32_t)match);
			put_distance(gzip, (uint32_t)distance);
			at += match;
		} else {
			put_symbol(gzip, (unsigned char)bytes[at++]);
		}
	}
}

void syn_gzip_end(struct syn_gzip *gzip)
{
	put_symbol(gzip, 256);
	put_bits(gzip, 0, (8 - gzip->bit_count) & 7);
	for (unsigned i = 0; i < 32; i += 8)
		put_byte(gzip, ~gzip->crc >> i);
	for (unsigned i = 0; i < 32; i += 8)
		put_byte(gzip, gzip->size >> i);
}

const char *syn_gzip_bytes(const struct syn_gzip *gzip)
{
	return gzip->ready;
}

size_t syn_gzip_length(const struct syn_gzip *gzip)
{
	return gzip->length;
}

void syn_gzip_taken(struct syn_gzip *gzip)
{
	gzip->length = 0;
}
