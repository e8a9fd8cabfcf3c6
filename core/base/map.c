/* SPDX-License-Identifier: Apache-2.0 */
/* Growing the hash map, which is searched inline, and the numbers of numbers on top of it. */
#include "npuprof/map.h"

#include <assert.h>

#define FIRST_BITS 6U
/* No more bits are kept of a hash. */
#define MOST_BITS 32U

static size_t slots_of(unsigned bits)
{
	return (size_t)1 << bits;
}

void np_map_release(struct np_map *map)
{
	free(map->slot);
	*map = (struct np_map){ 0 };
}

void np_map_clear(struct np_map *map)
{
	/* NP_MAP_NONE is all ones. */
	if (map->slot)
		memset(map->slot, 0xff, slots_of(map->bits) * sizeof(*map->slot));
	map->count = 0;
}

/* Put a slot into the empty one nearest to where it belongs: there always is one. */
static void put(struct np_map *map, struct np_map_slot slot)
{
	size_t mask = slots_of(map->bits) - 1;
	size_t i = np_map_begin(map, slot.hash);

	while (map->slot[i].value != NP_MAP_NONE)
		i = (i + 1) & mask;
	map->slot[i] = slot;
}

static bool grow(struct np_map *map)
{
	struct np_map larger = { .bits = map->slot ? map->bits + 1 : FIRST_BITS };

	if (larger.bits > MOST_BITS)
		return false;
	larger.slot = malloc(slots_of(larger.bits) * sizeof(*larger.slot));
	if (!larger.slot)
		return false;
	np_map_clear(&larger);
	for (size_t i = 0; map->slot && i < slots_of(map->bits); i++) {
		if (map->slot[i].value != NP_MAP_NONE)
			put(&larger, map->slot[i]);
	}
	larger.count = map->count;
	free(map->slot);
	*map = larger;
	return true;
}

int np_map_add(struct np_map *map, uint64_t hash, uint32_t value, struct np_err *err)
{
	assert(value != NP_MAP_NONE);
	if ((!map->slot || map->count >= slots_of(map->bits) / 4 * 3) && !grow(map))
		return np_fail_nomem(err, "a map");
	put(map, (struct np_map_slot){ .hash = np_map_kept(hash), .value = value });
	map->count++;
	return NP_OK;
}

/* --- numbers of numbers ---------------------------------------------------------------------- */

void np_numbers_release(struct np_numbers *numbers)
{
	np_map_release(&numbers->map);
	np_vec_release(&numbers->list);
}

/* A key that is looked for. */
struct wanted_key {
	const struct np_number *list;
	uint64_t key;
};

static bool has_key(const void *what, uint32_t value)
{
	const struct wanted_key *wanted = what;

	return wanted->list[value].key == wanted->key;
}

uint32_t np_numbers_get(const struct np_numbers *numbers, uint64_t key)
{
	struct wanted_key wanted = { numbers->list.item, key };
	uint32_t found = np_map_find(&numbers->map, key, has_key, &wanted);

	return found == NP_MAP_NONE ? NP_MAP_NONE : numbers->list.item[found].value;
}

int np_numbers_add(struct np_numbers *numbers, uint64_t key, uint32_t value, struct np_err *err)
{
	if (np_vec_reserve(&numbers->list, 1, NULL) < 0 ||
	    np_map_add(&numbers->map, key, (uint32_t)numbers->list.count, NULL) < 0)
		return np_fail_nomem(err, "numbers");
	numbers->list.item[numbers->list.count++] = (struct np_number){ key, value };
	return NP_OK;
}
