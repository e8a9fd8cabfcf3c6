/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEM_ORDER_H
#define NP_MEM_ORDER_H

#include "npuprof/vec.h"

/*
 * Free blocks of the allocator, by key, size and address. There may be many thousands, and two of
 * each three events change them: they are kept in short runs.
 */
struct mem_free {
	uint64_t size;
	uint64_t address;
	uint32_t key;
	uint32_t block;
};

struct mem_run;

struct mem_order {
	NP_VEC(struct mem_run *) runs; /* none is empty */
	size_t count;
};

/* Where an entry stands, until the next change. */
struct mem_place {
	size_t run;
	size_t at;
};

void mem_order_release(struct mem_order *order);

int mem_order_add(struct mem_order *order, struct mem_free entry, struct np_err *err) NP_MUST_USE;

/* Take an entry out that is there. */
void mem_order_remove(struct mem_order *order, const struct mem_free *entry);

/* The first place whose entry is not less. */
struct mem_place mem_order_find(const struct mem_order *order, const struct mem_free *what);

/* The last entry that is less; NULL for none. */
const struct mem_free *mem_order_before(const struct mem_order *order, const struct mem_free *what);

/* What stands there; NULL behind the last. */
const struct mem_free *mem_order_at(const struct mem_order *order, struct mem_place place);
struct mem_place mem_order_next(const struct mem_order *order, struct mem_place place);

#endif /* NP_MEM_ORDER_H */
