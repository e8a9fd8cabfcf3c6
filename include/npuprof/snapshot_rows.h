/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SNAPSHOT_ROWS_H
#define NP_SNAPSHOT_ROWS_H

#include "npuprof/err.h"
#include "npuprof/vec.h"

/*
 * What is known of the memory of ranks, as plain rows
 * ===================================================
 *
 * Made of snapshots of allocators (and by `npuprof memory` of profiles too), for tables, pages and
 * rules. Texts are in the arena; what is not known is NP_UNKNOWN, or NULL.
 */
struct np_arena;

struct np_memory_rank_row {
	const char *file;
	int64_t rank;
	int64_t device;
	const char *source; /* "snapshot", "profile" */
	const char *role;
	const char *host;
	int64_t pp, tp, cp, dp, ep;
	int64_t peak_allocated;
	int64_t peak_reserved;
	int64_t peak_requested;
	int64_t largest_gap;
	int64_t free; /* within reserved at the moment that was looked at */
	int64_t largest_free;
	int64_t stuck;
	int64_t never_freed;
	int64_t workspace;
	int64_t outside;
	int64_t limit;
	int64_t ooms;
	int64_t events;    /* of its record */
	int64_t allocated; /* at the moment that was looked at */
	int64_t reserved;
	const char *out_of_memory; /* who asked last in vain */
	int64_t wanted;
};

/* Those below are of the rank with this number in np_memory.ranks. */
struct np_memory_group_row {
	size_t of;
	int64_t event;
	const char *what;
	int64_t bytes;
	int64_t requested;
	int64_t blocks;
};

struct np_memory_component_row {
	size_t of;
	const char *component;
	bool module;
	int64_t peak_allocated;
	int64_t peak_reserved;
	int64_t allocated;
	int64_t reserved;
	int64_t growth;
};

struct np_memory_curve_row {
	size_t of;
	int64_t event;
	np_ns time;
	int64_t allocated;
	int64_t reserved;
};

struct np_memory_leak_row {
	size_t of;
	const char *what;
	int64_t times;
	int64_t blocks;
	int64_t bytes;
	int64_t bytes_each_time;
};

struct np_memory_whatif_row {
	size_t of;
	const char *settings;
	int64_t peak_reserved;
	int64_t error;
	int64_t gain; /* NP_UNKNOWN: within the error */
	int64_t driver_calls;
};

/* Something that happened at a moment of a curve. */
struct np_memory_mark_row {
	size_t of;
	int64_t event;
	const char *kind;
	int64_t bytes;
};

/* A piece of a segment at the moment that was looked at. */
struct np_memory_block_row {
	size_t of;
	int64_t segment; /* address */
	int64_t address;
	int64_t bytes;
	const char *state;
	const char *what; /* NULL of what is free */
	int64_t blocks;
};

/* One of the largest blocks, from event to event; NP_UNKNOWN before the record and at its end. */
struct np_memory_largest_row {
	size_t of;
	int64_t birth;
	int64_t freed;
	int64_t bytes;
	const char *what;
};

struct np_memory {
	struct np_arena *arena;
	NP_VEC(struct np_memory_rank_row) ranks;
	NP_VEC(struct np_memory_group_row) groups;
	NP_VEC(struct np_memory_component_row) components;
	NP_VEC(struct np_memory_curve_row) curve;
	NP_VEC(struct np_memory_leak_row) leaks;
	NP_VEC(struct np_memory_whatif_row) whatif;
	NP_VEC(struct np_memory_mark_row) marks;
	NP_VEC(struct np_memory_block_row) blocks;
	NP_VEC(struct np_memory_largest_row) largest;
};

void np_memory_free(struct np_memory *memory);
void np_memory_freep(struct np_memory **memory);

#endif /* NP_SNAPSHOT_ROWS_H */
