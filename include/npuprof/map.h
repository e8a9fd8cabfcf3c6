/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MAP_H
#define NP_MAP_H

#include "npuprof/vec.h"

/*
 * The hash map
 * ============
 *
 * Finds the elements of an array by what they are. The array is the caller's and
 * grows as it likes; the map knows the hashes and numbers of its elements, and asks
 * which of those with the same hash is meant:
 *
 *	struct np_map map = { 0 };
 *	uint64_t hash = np_map_mix(np_map_mix(0, name), type);
 *	uint32_t row = np_map_find(&map, hash, is_this, &what);
 *	if (row == NP_MAP_NONE) {
 *		...
 *		rc = np_map_add(&map, hash, row, err);
 *	}
 *
 * Slots are searched one after the other from where the hash belongs, and are never
 * more than three quarters full. A map cannot be walked, so that no output can
 * depend on the order of its slots. It is not locked; several threads may read.
 *
 * Ids of files, mostly neighbours, have a map of their own: npuprof/idmap.h.
 */
struct np_map_slot {
	uint32_t hash;
	uint32_t value; /* NP_MAP_NONE: empty */
};

struct np_map {
	struct np_map_slot *slot; /* 2^bits, or NULL */
	size_t count;
	unsigned bits;
};

/* What no element has as its number. */
#define NP_MAP_NONE UINT32_MAX

void np_map_release(struct np_map *map);

/* Forget all but keep the memory. */
void np_map_clear(struct np_map *map);

/*
 * Add the number of an element that the map does not have; it must not be NP_MAP_NONE.
 * On failure nothing has changed.
 */
int np_map_add(struct np_map *map, uint64_t hash, uint32_t value, struct np_err *err) NP_MUST_USE;

/* What slots keep of a hash: the high bits of the product depend on all bits. */
static inline uint32_t np_map_kept(uint64_t hash)
{
	return (uint32_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

/* The slot where a search begins: numbers in a row come to slots far from each other. */
static inline size_t np_map_begin(const struct np_map *map, uint32_t kept)
{
	return kept >> (32 - map->bits);
}

/* The number with this hash that `is` the one meant, or NP_MAP_NONE. Inline, and so is `is`. */
__attribute__((always_inline)) static inline uint32_t
np_map_find(const struct np_map *map, uint64_t hash, bool (*is)(const void *what, uint32_t value),
	    const void *what)
{
	uint32_t kept = np_map_kept(hash);
	size_t mask = ((size_t)1 << map->bits) - 1;
	size_t i;

	if (!map->slot)
		return NP_MAP_NONE;
	for (i = np_map_begin(map, kept); map->slot[i].value != NP_MAP_NONE; i = (i + 1) & mask) {
		if (map->slot[i].hash == kept && is(what, map->slot[i].value))
			break;
	}
	return map->slot[i].value;
}

/* The hash of what was hashed before and one more word. Begin with 0, or with a length. */
static inline uint64_t np_map_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ (hash >> 29);
}

/*
 * Numbers of numbers
 * ------------------
 *
 * Where the elements are any 64 bits, spread all over: addresses, pairs of numbers.
 */
struct np_number {
	uint64_t key;
	uint32_t value;
};

struct np_numbers {
	struct np_map map; /* → list */
	NP_VEC(struct np_number) list;
};

void np_numbers_release(struct np_numbers *numbers);

/* The value of a key, or NP_MAP_NONE. */
uint32_t np_numbers_get(const struct np_numbers *numbers, uint64_t key);

/* Give a key its value. It has none so far; on failure it still has none. */
int np_numbers_add(struct np_numbers *numbers, uint64_t key, uint32_t value, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_MAP_H */
