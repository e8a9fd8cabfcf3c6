/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/hash.h"

uint64_t np_hash(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	return hash;
}

uint64_t np_hash_text(uint64_t hash, const char *text, size_t length)
{
	return np_hash(np_hash(hash, text, length), "\xff", 1);
}
