/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_DEVICE_MEMORY_H
#define SYN_DEVICE_MEMORY_H

#include "rank.h"

/*
 * Device memory of a rank: weights and optimizer stay, the activations of a
 * layer live from its forward to its backward pass, and a planted leak grows
 * with every step.
 */

/* A piece of device memory. `release_ns` and `total_after` are NP_UNKNOWN if it is never given
 * back. */
struct syn_memory_event {
	const char *name;
	int64_t size;
	np_ns allocate_ns;
	np_ns release_ns;
	int64_t total_before; /* allocated in all, after the allocation */
	int64_t total_after;  /* and after the release */
	int64_t reserved;
};

struct syn_live_layer {
	uint16_t micro;
	uint16_t layer;
	struct syn_memory_event event;
};

struct syn_memory {
	int64_t allocated;
	int64_t leak;
	NP_VEC(struct syn_live_layer) live;
};

/* Gets every piece once, when it has been released or turns out never to be. */
typedef int syn_memory_tell(void *context, const struct syn_memory_event *event,
			    struct np_err *err);

void syn_memory_init(struct syn_memory *memory, const struct syn_config *config, int32_t rank);
void syn_memory_release(struct syn_memory *memory);

/* Go through a step that the rank has completed; times are true ones. */
int syn_memory_step(struct syn_memory *memory, const struct syn_rank *rank, syn_memory_tell *tell,
		    void *context, struct np_err *err) NP_MUST_USE;

#endif /* SYN_DEVICE_MEMORY_H */
