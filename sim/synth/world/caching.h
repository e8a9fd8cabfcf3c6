/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_CACHING_H
#define SYN_CACHING_H

#include "npuprof/vec.h"

/*
 * A caching allocator with the default settings of torch_npu, and the history that it keeps.
 *
 * It is written from the rules alone, with other means than the one that analyses use, so that
 * each checks the other.
 */
enum syn_caching_action {
	SYN_CACHING_SEGMENT,
	SYN_CACHING_TAKE,
	SYN_CACHING_RETURN, /* becomes free_requested and free_completed */
};

/* Which code asked; SYN_BY_NOBODY has no stack. */
enum syn_asker {
	SYN_BY_NOBODY,
	SYN_BY_LAYER,
	SYN_BY_LEAK,
	SYN_BY_BUFFER,
	SYN_BY_TABLE,
	SYN_ASKERS,
};

struct syn_caching_event {
	enum syn_caching_action action;
	enum syn_asker asker;
	int64_t address;
	int64_t bytes; /* that were asked for, or of the segment */
};

struct syn_caching_block {
	int64_t address;
	int64_t size;
	int64_t wanted; /* 0: free */
	size_t segment;
	enum syn_asker asker;
	bool recorded; /* it was taken since recording began */
};

struct syn_caching_segment {
	int64_t address;
	int64_t size;
	bool small;
};

struct syn_caching {
	NP_VEC(struct syn_caching_block) blocks; /* by address */
	NP_VEC(struct syn_caching_segment) segments;
	NP_VEC(struct syn_caching_event) events;
	int64_t allocated;
	int64_t reserved;
	int64_t most_allocated; /* since recording began */
	int64_t most_reserved;
};

void syn_caching_release(struct syn_caching *caching);

/* *ret_size: of the block. */
int syn_caching_take(struct syn_caching *caching, int64_t bytes, enum syn_asker asker,
		     int64_t *ret_address, int64_t *ret_size, struct np_err *err) NP_MUST_USE;
int syn_caching_return(struct syn_caching *caching, int64_t address, struct np_err *err)
	NP_MUST_USE;

/* Recording begins: what happened so far is forgotten. */
void syn_caching_record(struct syn_caching *caching);

#endif /* SYN_CACHING_H */
