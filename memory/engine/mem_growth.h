/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEM_GROWTH_H
#define NP_MEM_GROWTH_H

#include "history.h"

/*
 * Births that are so much of the record apart are different occasions; a leak has three. Of a long
 * record, of many short steps, so many events with so many frees are enough.
 */
#define MEM_OCCASION_PART  50
#define MEM_APART_EVENTS   48
#define MEM_APART_FREES    16
#define MEM_LEAK_OCCASIONS 3

/* They cover so much of the record, as what sets up at its beginning is no leak, and behind the
 * last of them is no more than that. */
#define MEM_SPAN_PART 3

/* The last occasions of who keeps what he allocates. */
struct mem_occasions {
	size_t count;
	/* Before each of them: what was alive, and what of it survives. */
	uint64_t live[MEM_LEAK_OCCASIONS];
	uint64_t kept[MEM_LEAK_OCCASIONS];
};

void mem_occasions_add(struct mem_occasions *occasions, uint64_t live, uint64_t kept);

/* Is there more each time, or something new in the place of something old, as in a full cache? */
bool mem_occasions_grow(const struct mem_occasions *occasions);

/* From `first` to `last` of a record that ends at `end`: long enough, and to its end? */
bool mem_occasions_last(const struct mem_occasions *occasions, int64_t first, int64_t last,
			int64_t begin, int64_t end);

/* Survivors of one stack that were born on several occasions, and of which there are ever more. */
struct mem_growth {
	uint32_t stack; /* 0: without one */
	size_t occasions;
	size_t blocks;
	uint64_t bytes;
};

typedef NP_VEC(struct mem_growth) mem_growths;

/*
 * Which stacks keep what they allocate, again and again. What a single pass through a model leaves
 * until its way back, what is made once with it and what takes the place of something older is
 * none of that, also where the older was there before the record. Blocks without a stack are of
 * anyone: unless steps are known it is not known whether those that stay belong together, and they
 * are told as such by their stack, 0.
 * What calls of a model keep while none of them goes back is told as *ret_forward, in bytes: who
 * trains gets it back, who does not should not have kept it.
 */
int mem_growth_find(const struct mem_history *history, mem_growths *ret, uint64_t *ret_forward,
		    struct np_err *err) NP_MUST_USE;

#endif /* NP_MEM_GROWTH_H */
