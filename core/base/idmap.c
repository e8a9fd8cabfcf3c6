/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/idmap.h"

#include <assert.h>

#define PAGE_BITS   6
#define PAGE_IDS    ((size_t)1 << PAGE_BITS)
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
	/* The page used last, where the next id most likely is too. */
	uint64_t last_number;
	struct page *last;

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
	map->last_number = NO_PAGE;
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
	map->last_number = NO_PAGE;
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

/* The page of an id, or NULL if there is none yet. */
static struct page *get_page(struct np_idmap *map, uint64_t number)
{
	const struct slot *slot;

	if (number == map->last_number)
		return map->last;
	slot = find(map->slot, map->bits, number);
	if (slot->number == NO_PAGE)
		return NULL;
	map->last_number = number;
	map->last = &map->page[slot->page];
	return map->last;
}

int np_idmap_set(struct np_idmap *map, int64_t id, uint32_t value, struct np_err *err)
{
	uint64_t number = number_of(id);
	struct page *page = get_page(map, number);

	assert(value != NP_IDMAP_NONE);
	if (!page)
		page = add_page(map, number);
	if (!page)
		return np_fail_nomem(err, "a map of ids");
	page->value[index_of(id)] = value;
	map->last_number = number;
	map->last = page;
	return NP_OK;
}

uint32_t np_idmap_get(struct np_idmap *map, int64_t id)
{
	const struct page *page = get_page(map, number_of(id));

	return page ? page->value[index_of(id)] : NP_IDMAP_NONE;
}

void np_idmap_clear(struct np_idmap *map)
{
	memset(map->slot, 0xff, slots_of(map->bits) * sizeof(*map->slot));
	map->count = 0;
	map->last_number = NO_PAGE;
}
