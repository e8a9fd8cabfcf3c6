/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEM_PICTURE_H
#define NP_MEM_PICTURE_H

#include "history.h"

/*
 * What pictures of the memory of one device need beside its curves: what happened when, which
 * blocks lie where at a moment, and which are the largest. All of it is bounded.
 */
#define MEM_MARKS_MOST 200
#define MEM_MAP_MOST   4000
#define MEM_LARGEST    256

struct mem_mark {
	size_t event;
	const char
		*kind; /* "peak allocated", "peak reserved", "out of memory", "released", "step" */
	uint64_t bytes;
};

/* A piece of a segment at the moment, in the order of addresses. */
struct mem_map_piece {
	uint64_t segment; /* where it begins */
	uint64_t address;
	uint64_t size;
	const char *state; /* "allocated", "pending", "free" */
	np_str what;       /* of `labels`; NP_STR_NONE of what is free */
	size_t blocks;     /* more than one where a segment has too many */
};

struct mem_picture_life {
	uint64_t size;
	uint32_t birth; /* MEM_NONE: before the record */
	uint32_t freed; /* MEM_NONE: alive at the end */
	np_str what;
};

struct mem_picture {
	struct np_strtab *labels;
	NP_VEC(struct mem_mark) marks;
	NP_VEC(struct mem_map_piece) map;
	NP_VEC(struct mem_picture_life) largest; /* in the order of birth */
	size_t marks_left_out;
};

/* `layout`: the allocator at the moment. */
int mem_picture_new(const struct mem_history *history, const struct mem_layout *layout,
		    struct mem_picture **ret, struct np_err *err) NP_MUST_USE;
void mem_picture_free(struct mem_picture *picture);
void mem_picture_freep(struct mem_picture **picture);

#endif /* NP_MEM_PICTURE_H */
