/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BYTE_MASK_H
#define NP_BYTE_MASK_H

/*
 * Finding the bytes that matter among those that do not, many at a time. Each
 * function reads whole blocks: the bytes behind the last one asked about must be
 * readable, which NP_WINDOW_PAD sees to. Bit i of a mask is byte i.
 *
 * The portable form works on any machine; it is what others are tested against.
 */
#include "npuprof/base.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* A byte in every byte of a word. */
static inline uint64_t np_byte_spread(char byte)
{
	return UINT64_C(0x0101010101010101) * (unsigned char)byte;
}

/* The top bit of every byte that is zero, exactly: no carry runs into the next byte. */
static inline uint64_t np_byte_zero(uint64_t word)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);

	return ~(((word & low) + low) | word | low);
}

static inline uint64_t np_byte_load(const char *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

/* Which of `count` <= 64 bytes, a multiple of 8, are one of the three? */
static inline uint64_t np_byte_mask_portable(const char *bytes, unsigned count, char a, char b,
					     char c)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < count; i += 8) {
		uint64_t word = np_byte_load(bytes + i);
		uint64_t hits = np_byte_zero(word ^ np_byte_spread(a)) |
				np_byte_zero(word ^ np_byte_spread(b)) |
				np_byte_zero(word ^ np_byte_spread(c));

		/* The multiplication gathers the eight bits in the top byte. */
		mask |= (((hits >> 7) * UINT64_C(0x0102040810204080)) >> 56) << i;
	}
	return mask;
}

#if defined(__SSE2__)
static inline uint64_t np_byte_mask16(const char *bytes, char a, char b, char c)
{
	__m128i block = _mm_loadu_si128((const __m128i *)(const void *)bytes);
	__m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8(a)),
						 _mm_cmpeq_epi8(block, _mm_set1_epi8(b))),
				    _mm_cmpeq_epi8(block, _mm_set1_epi8(c)));

	return (uint64_t)(unsigned)_mm_movemask_epi8(hits);
}

static inline uint64_t np_byte_mask64(const char *bytes, char a, char b, char c)
{
	return np_byte_mask16(bytes, a, b, c) | np_byte_mask16(bytes + 16, a, b, c) << 16 |
	       np_byte_mask16(bytes + 32, a, b, c) << 32 |
	       np_byte_mask16(bytes + 48, a, b, c) << 48;
}
#else
static inline uint64_t np_byte_mask16(const char *bytes, char a, char b, char c)
{
	return np_byte_mask_portable(bytes, 16, a, b, c);
}

static inline uint64_t np_byte_mask64(const char *bytes, char a, char b, char c)
{
	return np_byte_mask_portable(bytes, 64, a, b, c);
}
#endif

/* The place of the lowest bit of a mask that is not 0. */
static inline unsigned np_byte_first(uint64_t mask)
{
	return (unsigned)__builtin_ctzll(mask);
}

#endif /* NP_BYTE_MASK_H */
