/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_HASH_H
#define NP_HASH_H

#include "npuprof/base.h"

/*
 * FNV-1a, for fingerprints and names of files: they are written, so that it must
 * stay what it is. It guards against mistakes, not against malice.
 */
#define NP_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t np_hash(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* A text and its end, so that "a", "bc" is not "ab", "c". */
static inline uint64_t np_hash_text(uint64_t hash, const char *text, size_t length)
{
	return np_hash(np_hash(hash, text, length), "\xff", 1);
}

#endif /* NP_HASH_H */
