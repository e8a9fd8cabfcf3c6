/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of ids: pages of neighbours, found by their number, and those used lately. */
#include "npuprof/idmap.h"

#include "npuprof/map.h"
#include "npuprof/vec.h"

#define PAGE_BITS NP_IDMAP_PAGE_BITS
#define PAGE_IDS  NP_IDMAP_PAGE_IDS

/* Ids have 64 bits and page numbers 58, so no page has this number. */
#define NO_PAGE UINT64_MAX

struct page {
	uint32_t value[PAGE_IDS];
};

struct np_idmap {
	struct np_idmap_recent recent[NP_IDMAP_RECENT]; /* first: np_idmap_get() looks here */
	NP_VEC(struct page) pages;
	NP_VEC(uint64_t) numbers; /* of the pages */
	struct np_map map;        /* number of a page → pages */
};

/* Pages have moved, or are gone. */
static void forget(struct np_idmap *map)
{
	for (size_t i = 0; i < NP_IDMAP_RECENT; i++)
		map->recent[i].number = NO_PAGE;
}

struct np_idmap *np_idmap_new(void)
{
	struct np_idmap *map = calloc(1, sizeof(*map));

	if (map)
		forget(map);
	return map;
}

void np_idmap_free(struct np_idmap *map)
{
	if (!map)
		return;
	np_vec_release(&map->pages);
	np_vec_release(&map->numbers);
	np_map_release(&map->map);
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

/* A page in which no id is set; NULL when out of memory. */
static struct page *add_page(struct np_idmap *map, uint64_t number)
{
	size_t capacity = map->pages.capacity;
	struct page *page;

	if (np_vec_reserve(&map->pages, 1, NULL) < 0)
		return NULL;
	if (map->pages.capacity != capacity)
		forget(map);
	if (np_vec_reserve(&map->numbers, 1, NULL) < 0 ||
	    np_map_add(&map->map, number, (uint32_t)map->pages.count, NULL) < 0)
		return NULL;

	map->numbers.item[map->numbers.count++] = number;
	page = &map->pages.item[map->pages.count++];
	/* NP_IDMAP_NONE is all ones. */
	memset(page, 0xff, sizeof(*page));
	return page;
}

static void remember(struct np_idmap *map, uint64_t number, struct page *page)
{
	map->recent[number % NP_IDMAP_RECENT] = (struct np_idmap_recent){ number, page->value };
}

/* A page that is looked for. */
struct wanted_page {
	const uint64_t *numbers;
	uint64_t number;
};

static bool is_page(const void *what, uint32_t index)
{
	const struct wanted_page *wanted = what;

	return wanted->numbers[index] == wanted->number;
}

/* The page of a number, or NULL if there is none yet. */
static struct page *get_page(struct np_idmap *map, uint64_t number)
{
	const struct wanted_page wanted = { map->numbers.item, number };
	uint32_t index = np_map_find(&map->map, number, is_page, &wanted);

	if (index == NP_MAP_NONE)
		return NULL;
	remember(map, number, &map->pages.item[index]);
	return &map->pages.item[index];
}

uint32_t *np_idmap_page(struct np_idmap *map, int64_t id)
{
	uint64_t number = number_of(id);
	struct page *page = get_page(map, number);

	if (!page)
		page = add_page(map, number);
	if (!page)
		return NULL;
	remember(map, number, page);
	return page->value;
}

uint32_t np_idmap_find(struct np_idmap *map, int64_t id)
{
	const struct page *page = get_page(map, number_of(id));

	return page ? page->value[index_of(id)] : NP_IDMAP_NONE;
}

void np_idmap_clear(struct np_idmap *map)
{
	np_map_clear(&map->map);
	map->numbers.count = 0;
	map->pages.count = 0;
	forget(map);
}

/* --- sets ------------------------------------------------------------------------------------ */

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
