/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_DEVICE_MEMORY_H
#define SYN_DEVICE_MEMORY_H

#include "caching.h"
#include "rank.h"

/*
 * Device memory of a rank: weights and optimizer stay, the activations of a
 * layer live from its forward to its backward pass. Planted are a leak that
 * grows with every step, a table that only one stage has, and buffers that are
 * larger in every step, for which what was kept is too small.
 */

/* A piece of device memory. `release_ns`, `total_after` and `reserved_after` are NP_UNKNOWN if it
 * is never given back. */
struct syn_memory_event {
	const char *name;
	int64_t size;
	np_ns allocate_ns;
	np_ns release_ns;
	int64_t total_before; /* allocated in all, after the allocation */
	int64_t total_after;  /* and after the release */
	int64_t reserved;
	int64_t reserved_after;
};

struct syn_live_piece {
	uint16_t micro;
	uint16_t layer;
	int64_t address; /* of the caching allocator, if there is one */
	struct syn_memory_event event;
};

/* Buffers that are taken at the beginning of a step. */
#define SYN_MEMORY_BUFFERS 4

struct syn_memory {
	const struct syn_config *config;
	int32_t rank;
	int64_t allocated;
	int64_t leak;
	int64_t fragment;
	int64_t table;
	size_t steps; /* that are over */
	np_ns last;   /* time that was used; with a snapshot no two events are at once */
	NP_VEC(struct syn_live_piece) live;
	/* With --snapshot: what is reserved is what this one has. */
	struct syn_caching caching;
};

/* Gets every piece once, when it has been released or turns out never to be. */
typedef int syn_memory_tell(void *context, const struct syn_memory_event *event,
			    struct np_err *err);

int syn_memory_init(struct syn_memory *memory, const struct syn_config *config, int32_t rank,
		    struct np_err *err) NP_MUST_USE;
void syn_memory_release(struct syn_memory *memory);

/* Go through a step that the rank has completed; times are true ones. */
int syn_memory_step(struct syn_memory *memory, const struct syn_rank *rank, syn_memory_tell *tell,
		    void *context, struct np_err *err) NP_MUST_USE;

#endif /* SYN_DEVICE_MEMORY_H */
