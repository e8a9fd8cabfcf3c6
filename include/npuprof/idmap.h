/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_IDMAP_H
#define NP_IDMAP_H

#include "npuprof/err.h"

/*
 * Maps from ids to small numbers
 * ==============================
 *
 * The joins of this project: ids of tasks, connections and strings to array
 * indexes. Ids of real files are mostly dense, but some are large and sparse
 * (string ids of three kinds start 2^28 apart), so the map keeps pages of 64
 * neighbours behind a hash of the page number and remembers those used lately:
 * dense ids cost an array access, sparse ones a hash probe.
 *
 * A map is not locked, and reading it moves the remembered pages: one thread only.
 */
struct np_idmap;

/* What np_idmap_get() gives for an id that was never set. */
#define NP_IDMAP_NONE UINT32_MAX

struct np_idmap *np_idmap_new(void) NP_MUST_USE;
void np_idmap_free(struct np_idmap *map);
void np_idmap_freep(struct np_idmap **map);

/* A page used lately, where the next id most likely is too. */
struct np_idmap_recent {
	uint64_t number; /* of the page; none has UINT64_MAX */
	uint32_t *value;
};

#define NP_IDMAP_PAGE_BITS 6
#define NP_IDMAP_PAGE_IDS  (1U << NP_IDMAP_PAGE_BITS)

/*
 * Pages remembered, each at the place of its number's last bits: several streams and
 * threads number their tasks side by side, and one page would be forgotten at every turn.
 */
#define NP_IDMAP_RECENT 8U

/* The value of an id of another page. */
uint32_t np_idmap_find(struct np_idmap *map, int64_t id);

/* The values of the page of an id, added if it is new; NULL when out of memory. */
uint32_t *np_idmap_page(struct np_idmap *map, int64_t id);

/* Where the page of an id is if it was used lately. */
static inline struct np_idmap_recent *np_idmap_recently(struct np_idmap *map, int64_t id)
{
	/* The first thing in a map. */
	struct np_idmap_recent *recent = (struct np_idmap_recent *)(void *)map;

	return &recent[((uint64_t)id >> NP_IDMAP_PAGE_BITS) % NP_IDMAP_RECENT];
}

/* The value of an id, or NP_IDMAP_NONE. */
static inline uint32_t np_idmap_get(struct np_idmap *map, int64_t id)
{
	const struct np_idmap_recent *recent = np_idmap_recently(map, id);

	if (recent->number != (uint64_t)id >> NP_IDMAP_PAGE_BITS)
		return np_idmap_find(map, id);
	return recent->value[(uint64_t)id & (NP_IDMAP_PAGE_IDS - 1)];
}

/* The place of the value of an id, which is NP_IDMAP_NONE if it is new; NULL when out of memory. */
static inline uint32_t *np_idmap_at(struct np_idmap *map, int64_t id)
{
	const struct np_idmap_recent *recent = np_idmap_recently(map, id);
	uint32_t *values = recent->number == (uint64_t)id >> NP_IDMAP_PAGE_BITS
				   ? recent->value
				   : np_idmap_page(map, id);

	return values ? &values[(uint64_t)id & (NP_IDMAP_PAGE_IDS - 1)] : NULL;
}

/* Set the value of an id, replacing an earlier one. `value` must not be NP_IDMAP_NONE. */
NP_MUST_USE static inline int np_idmap_set(struct np_idmap *map, int64_t id, uint32_t value,
					   struct np_err *err)
{
	uint32_t *place = np_idmap_at(map, id);

	if (!place)
		return np_fail_nomem(err, "a map of ids");
	*place = value;
	return NP_OK;
}

/* Forget all ids but keep the memory. */
void np_idmap_clear(struct np_idmap *map);

/*
 * Sets of ids
 * -----------
 *
 * Of all tasks of a rank, in an eighth of a byte each where ids are dense.
 */
struct np_idset {
	struct np_idmap *bits; /* of 32 neighbours: those of ids that are not in the set */
};

#define NP_IDSET_BITS 5

struct np_idset *np_idset_new(void) NP_MUST_USE;
void np_idset_free(struct np_idset *set);

static inline uint32_t np_idset_bit(int64_t id)
{
	return UINT32_C(1) << ((uint64_t)id % (1U << NP_IDSET_BITS));
}

static inline int64_t np_idset_neighbours(int64_t id)
{
	return (int64_t)((uint64_t)id >> NP_IDSET_BITS);
}

NP_MUST_USE static inline int np_idset_add(struct np_idset *set, int64_t id, struct np_err *err)
{
	uint32_t *missing = np_idmap_at(set->bits, np_idset_neighbours(id));

	if (!missing)
		return np_fail_nomem(err, "a set of ids");
	*missing &= ~np_idset_bit(id);
	return NP_OK;
}

static inline bool np_idset_has(struct np_idset *set, int64_t id)
{
	return !(np_idmap_get(set->bits, np_idset_neighbours(id)) & np_idset_bit(id));
}

#endif /* NP_IDMAP_H */
