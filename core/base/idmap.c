/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/idmap.h"

#include <assert.h>

#define PAGE_BITS   NP_IDMAP_PAGE_BITS
#define PAGE_IDS    NP_IDMAP_PAGE_IDS
#define FIRST_BITS  6U /* of the number of slots */
#define FIRST_PAGES ((size_t)16)

/* Ids have 64 bits and page numbers 58, so no page has this number. */
#define NO_PAGE UINT64_MAX

struct page {
	uint32_t value[PAGE_IDS];
};

struct slot {
	uint64_t number; /* NO_PAGE: empty */
	size_t page;
};

struct np_idmap {
	struct np_idmap_last last; /* first: np_idmap_get() looks here */
	struct page *page;
	size_t count;
	size_t capacity;

	struct slot *slot;
	unsigned bits; /* there are 2^bits slots, at most half of them used */
};

static size_t slots_of(unsigned bits)
{
	return (size_t)1 << bits;
}

static struct slot *new_slots(unsigned bits)
{
	struct slot *slot = calloc(slots_of(bits), sizeof(*slot));

	/* NO_PAGE is all ones. */
	if (slot)
		memset(slot, 0xff, slots_of(bits) * sizeof(*slot));
	return slot;
}

struct np_idmap *np_idmap_new(void)
{
	struct np_idmap *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->last.number = NO_PAGE;
	map->bits = FIRST_BITS;
	map->slot = new_slots(FIRST_BITS);
	if (!map->slot) {
		free(map);
		return NULL;
	}
	return map;
}

void np_idmap_free(struct np_idmap *map)
{
	if (!map)
		return;
	free(map->page);
	free(map->slot);
	free(map);
}

void np_idmap_freep(struct np_idmap **map)
{
	np_idmap_free(*map);
	*map = NULL;
}

/* Unsigned, so that negative ids have pages like all others. */
static uint64_t number_of(int64_t id)
{
	return (uint64_t)id >> PAGE_BITS;
}

static size_t index_of(int64_t id)
{
	return (uint64_t)id & (PAGE_IDS - 1);
}

/* The slot of a page number, or the empty one where it belongs. */
static struct slot *find(struct slot *slot, unsigned bits, uint64_t number)
{
	/* The high bits of the product depend on all bits of the number. */
	size_t i = (number * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits);

	while (slot[i].number != number && slot[i].number != NO_PAGE)
		i = (i + 1) & (slots_of(bits) - 1);
	return &slot[i];
}

static bool reserve_slot(struct np_idmap *map)
{
	unsigned bits = map->bits + 1;
	struct slot *grown;

	if (map->count < slots_of(map->bits) / 2)
		return true;
	grown = new_slots(bits);
	if (!grown)
		return false;

	for (size_t i = 0; i < slots_of(map->bits); i++) {
		if (map->slot[i].number != NO_PAGE)
			*find(grown, bits, map->slot[i].number) = map->slot[i];
	}
	free(map->slot);
	map->slot = grown;
	map->bits = bits;
	return true;
}

static bool reserve_page(struct np_idmap *map)
{
	size_t capacity = map->capacity ? map->capacity * 2 : FIRST_PAGES;
	struct page *grown;

	if (map->count < map->capacity)
		return true;
	if (capacity > SIZE_MAX / sizeof(*grown))
		return false;
	grown = realloc(map->page, capacity * sizeof(*grown));
	if (!grown)
		return false;

	map->page = grown;
	map->capacity = capacity;
	map->last.number = NO_PAGE;
	return true;
}

static struct page *add_page(struct np_idmap *map, uint64_t number)
{
	struct page *page;

	if (!reserve_slot(map) || !reserve_page(map))
		return NULL;

	assert(map->page);
	page = &map->page[map->count];
	/* NP_IDMAP_NONE is all ones. */
	memset(page, 0xff, sizeof(*page));
	*find(map->slot, map->bits, number) = (struct slot){ .number = number, .page = map->count };
	map->count++;
	return page;
}

static void remember(struct np_idmap *map, uint64_t number, struct page *page)
{
	map->last = (struct np_idmap_last){ number, page->value };
}

/* The page of a number, or NULL if there is none yet. */
static struct page *get_page(struct np_idmap *map, uint64_t number)
{
	const struct slot *slot;

	slot = find(map->slot, map->bits, number);
	if (slot->number == NO_PAGE)
		return NULL;
	remember(map, number, &map->page[slot->page]);
	return &map->page[slot->page];
}

/* The values of the page of an id, added if it is new; NULL when out of memory. */
static uint32_t *values_of(struct np_idmap *map, int64_t id)
{
	uint64_t number = number_of(id);
	struct page *page;

	if (number == map->last.number)
		return map->last.value;
	page = get_page(map, number);
	if (!page)
		page = add_page(map, number);
	if (!page)
		return NULL;
	remember(map, number, page);
	return page->value;
}

int np_idmap_set(struct np_idmap *map, int64_t id, uint32_t value, struct np_err *err)
{
	uint32_t *values = values_of(map, id);

	assert(value != NP_IDMAP_NONE);
	if (!values)
		return np_fail_nomem(err, "a map of ids");
	values[index_of(id)] = value;
	return NP_OK;
}

uint32_t np_idmap_find(struct np_idmap *map, int64_t id)
{
	const struct page *page = get_page(map, number_of(id));

	return page ? page->value[index_of(id)] : NP_IDMAP_NONE;
}

void np_idmap_clear(struct np_idmap *map)
{
	memset(map->slot, 0xff, slots_of(map->bits) * sizeof(*map->slot));
	map->count = 0;
	map->last.number = NO_PAGE;
}

/* --- sets ------------------------------------------------------------------------------------ */

/* A set is a map of 32 neighbours to the bits of those that are not in it. */
#define SET_BITS 5
#define SET_IDS  (1U << SET_BITS)

struct np_idset {
	struct np_idmap *bits;
};

static uint32_t bit_of(int64_t id)
{
	return 1U << ((uint64_t)id & (SET_IDS - 1));
}

static int64_t neighbours_of(int64_t id)
{
	return (int64_t)((uint64_t)id >> SET_BITS);
}

struct np_idset *np_idset_new(void)
{
	struct np_idset *set = calloc(1, sizeof(*set));

	if (set)
		set->bits = np_idmap_new();
	if (set && !set->bits)
		free(NP_STEAL(set));
	return set;
}

void np_idset_free(struct np_idset *set)
{
	if (!set)
		return;
	np_idmap_free(set->bits);
	free(set);
}

int np_idset_add(struct np_idset *set, int64_t id, struct np_err *err)
{
	int64_t neighbours = neighbours_of(id);
	uint32_t *values = values_of(set->bits, neighbours);

	if (!values)
		return np_fail_nomem(err, "a set of ids");
	values[index_of(neighbours)] &= ~bit_of(id);
	return NP_OK;
}

bool np_idset_has(struct np_idset *set, int64_t id)
{
	return !(np_idmap_get(set->bits, neighbours_of(id)) & bit_of(id));
}
