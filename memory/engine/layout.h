/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMORY_LAYOUT_H
#define NP_MEMORY_LAYOUT_H

#include "mem_order.h"

/*
 * The caching allocator of one device: its segments, cut into blocks
 * ==================================================================
 *
 * It either follows a record, which says where blocks and segments are, or decides by itself by
 * the rules of the allocator under some settings. Blocks are known by the address that the record
 * has for them, wherever they are here.
 */
#define MEM_NO_SPLIT_LIMIT  UINT64_MAX
#define MEM_GRANULE         UINT64_C(512)
#define MEM_MIB             (UINT64_C(1) << 20)
#define MEM_SMALL_MOST      MEM_MIB /* of a block of the small pool */
#define MEM_SMALL_SEGMENT   (2 * MEM_MIB)
#define MEM_LARGE_FROM      (10 * MEM_MIB) /* such a request has a segment of its own */
#define MEM_LARGE_SEGMENT   (20 * MEM_MIB) /* those that other requests share */
#define MEM_LARGE_PAGE_MOST (512 * MEM_MIB)
#define MEM_NON_SPLIT_ROOM  (20 * MEM_MIB)
#define MEM_NPU_ALIGN       UINT64_C(16384)
#define MEM_GIB             (UINT64_C(1) << 30)
#define MEM_NONE            UINT32_MAX

struct mem_settings {
	bool expandable;
	uint64_t pad;                /* added to each request: 32 on NPUs, 0 on GPUs */
	uint64_t align;              /* of large blocks of expandable segments; 0: none */
	uint64_t max_split;          /* bytes, or MEM_NO_SPLIT_LIMIT */
	uint64_t non_split_rounding; /* bytes */
	uint64_t large_segment;      /* bytes */
	uint64_t page;               /* of large expandable segments; 0: as large_segment */
	bool page_1g;                /* the large pool grows by whole GiB */
	uint64_t divisions;          /* of powers of two; 0: off */
	uint64_t cap;                /* bytes that it may reserve; 0: any */
	double fraction;             /* of the device that the cap is; 0: all of it */
	double collect_from;         /* garbage collection above this part of the cap; 0: none */
};

enum mem_state {
	MEM_FREE,
	MEM_ALLOCATED,
	MEM_PENDING,
	MEM_UNMAPPED,
	MEM_SPARE, /* no block */
};

struct mem_block {
	uint64_t address;
	uint64_t size;
	uint64_t requested;
	uint64_t base;     /* pages of its segment are counted from here */
	uint32_t previous; /* in its segment; MEM_NONE: it is the first */
	uint32_t next;
	uint32_t life;  /* of the user */
	uint32_t key;   /* pool, small or large, stream: free blocks of another are not used */
	uint32_t since; /* searches when it became free */
	uint8_t state;
};

struct mem_slot {
	uint64_t address;
	uint32_t block; /* MEM_NONE: empty */
};

/* Address → block. */
struct mem_table {
	struct mem_slot *slot;
	size_t count;
	unsigned bits;
};

/* A call of the driver that was made. */
struct mem_call {
	uint64_t address;
	uint64_t size;
	bool grows;
};

struct mem_layout {
	struct mem_settings settings;
	NP_VEC(struct mem_block) blocks;
	uint32_t spare;            /* first of the unused, linked by `next` */
	struct mem_table live;     /* recorded address → allocated or pending block */
	struct mem_table vacant;   /* address → free block */
	struct mem_order free;     /* by key, size, address */
	struct mem_order unmapped; /* by key, address; size is not used */
	struct mem_order heads;    /* first blocks of segments, by address alone */
	uint64_t reserved;
	uint64_t allocated;
	uint64_t active;
	uint64_t requested;    /* of what is allocated */
	uint64_t place;        /* where the record has the next segment; 0: it has none */
	bool fresh;            /* the next request is not served from what is cached */
	uint64_t next_address; /* of segments that the record has not */
	size_t grown;          /* calls of the driver for more */
	uint32_t searches;     /* in large blocks of the pool that garbage is collected in */
	/* By pool of somebody's own, as that of a graph: what it has cached is given back too. */
	bool given_up[UINT8_MAX + 1];
	size_t refused; /* requests that the cap leaves no room for; they got it all the same */
	/* Calls since the user last emptied it, if he wants them. */
	bool keep_calls;
	NP_VEC(struct mem_call) calls;
};

void layout_init(struct mem_layout *layout, const struct mem_settings *settings);
void layout_release(struct mem_layout *layout);

uint32_t layout_key(uint8_t pool, bool small, uint16_t stream);
bool layout_key_small(uint32_t key);
uint8_t layout_key_pool(uint32_t key);
uint16_t layout_key_stream(uint32_t key);

/* Large expandable segments grow by these. */
uint64_t layout_page(const struct mem_settings *settings, bool small);

/* The size of the block that a request needs. */
uint64_t layout_round(const struct mem_settings *settings, uint64_t requested);

/* Segments as recorded. False: that cannot be. */
int layout_add_segment(struct mem_layout *layout, uint64_t address, uint64_t size, uint32_t key,
		       bool join, bool *ret_fits, struct np_err *err) NP_MUST_USE;
/* Expandable segments of a record get back the unmapped bytes between and behind them. */
int layout_add_unmapped(struct mem_layout *layout, struct np_err *err) NP_MUST_USE;
int layout_remove_segment(struct mem_layout *layout, uint64_t address, uint64_t size,
			  bool *ret_fits, struct np_err *err) NP_MUST_USE;

/* A block where the record has it, of this size (0: as the allocator would cut it). */
int layout_follow(struct mem_layout *layout, uint64_t address, uint64_t requested, uint64_t size,
		  uint32_t life, bool *ret_fits, uint32_t *ret_block, struct np_err *err)
	NP_MUST_USE;

/* A block where the allocator would put it; it is known by `recorded`. */
int layout_allocate(struct mem_layout *layout, uint64_t recorded, uint64_t requested, uint8_t pool,
		    uint16_t stream, uint32_t life, uint32_t *ret_block, struct np_err *err)
	NP_MUST_USE;

/* The block of a recorded address, or MEM_NONE. */
uint32_t layout_find(const struct mem_layout *layout, uint64_t recorded);

void layout_free_requested(struct mem_layout *layout, uint32_t block);
int layout_free_completed(struct mem_layout *layout, uint64_t recorded, uint32_t block,
			  struct np_err *err) NP_MUST_USE;

/* Give back all that is cached, of pools of somebody's own only once they were given up. */
int layout_release_cached(struct mem_layout *layout, struct np_err *err) NP_MUST_USE;

/*
 * With a limit of splitting, before that: give back the smallest whole block of the stream that is
 * enough, else the largest first. Tells by *ret whether that was enough.
 */
int layout_release_some(struct mem_layout *layout, uint64_t size, uint32_t key, bool *ret,
			struct np_err *err) NP_MUST_USE;

/* What is free: all of it, the largest block, in the small pool, stuck in segments in use. */
struct layout_gaps {
	uint64_t free;
	uint64_t largest;
	uint64_t small;
	uint64_t stuck;
	size_t stuck_blocks;
	size_t segments;
};
void layout_gaps(const struct mem_layout *layout, struct layout_gaps *ret);

#endif /* NP_MEMORY_LAYOUT_H */
