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

/* Set the value of an id, replacing an earlier one. `value` must not be NP_IDMAP_NONE. */
int np_idmap_set(struct np_idmap *map, int64_t id, uint32_t value, struct np_err *err) NP_MUST_USE;

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

static inline uint32_t np_idmap_get(struct np_idmap *map, int64_t id)
{
	/* The first thing in a map. */
	const struct np_idmap_recent *recent = (const struct np_idmap_recent *)(const void *)map;
	uint64_t number = (uint64_t)id >> NP_IDMAP_PAGE_BITS;

	recent += number % NP_IDMAP_RECENT;
	if (recent->number != number)
		return np_idmap_find(map, id);
	return recent->value[(uint64_t)id & (NP_IDMAP_PAGE_IDS - 1)];
}

/* Forget all ids but keep the memory. */
void np_idmap_clear(struct np_idmap *map);

/*
 * Sets of ids
 * -----------
 *
 * Of all tasks of a rank, in an eighth of a byte each where ids are dense.
 */
struct np_idset;

struct np_idset *np_idset_new(void) NP_MUST_USE;
void np_idset_free(struct np_idset *set);

int np_idset_add(struct np_idset *set, int64_t id, struct np_err *err) NP_MUST_USE;
bool np_idset_has(struct np_idset *set, int64_t id);

#endif /* NP_IDMAP_H */
