/* SPDX-License-Identifier: Apache-2.0 */
/* A caching allocator as PyTorch has it: segments, cut into blocks that are kept (caching.h). */
#include "caching.h"

#include <assert.h>

#define MIB   (INT64_C(1) << 20)
#define FIRST INT64_C(0x12c040000000)

void syn_caching_release(struct syn_caching *caching)
{
	np_vec_release(&caching->blocks);
	np_vec_release(&caching->segments);
	np_vec_release(&caching->events);
}

static int64_t up(int64_t value, int64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static int note(struct syn_caching *caching, const struct syn_caching_event *event,
		struct np_err *err)
{
	struct syn_caching_event *added = np_vec_add(&caching->events, err);

	if (!added)
		return NP_E_NOMEM;
	*added = *event;
	if (caching->allocated > caching->most_allocated)
		caching->most_allocated = caching->allocated;
	if (caching->reserved > caching->most_reserved)
		caching->most_reserved = caching->reserved;
	return NP_OK;
}

/* Put a block behind the one at `at`, or first for SIZE_MAX. */
static int insert(struct syn_caching *caching, size_t at, const struct syn_caching_block *block,
		  struct np_err *err)
{
	if (!np_vec_add(&caching->blocks, err))
		return NP_E_NOMEM;
	memmove(&caching->blocks.item[at + 2], &caching->blocks.item[at + 1],
		(caching->blocks.count - at - 2) * sizeof(*block));
	caching->blocks.item[at + 1] = *block;
	return NP_OK;
}

/* Segments follow each other with a hole between, so that their blocks are by address as well. */
static int add_segment(struct syn_caching *caching, int64_t size, bool small, enum syn_asker asker,
		       struct np_err *err)
{
	size_t count = caching->segments.count;
	struct syn_caching_segment *segment = np_vec_add(&caching->segments, err);
	struct syn_caching_block block = { .size = size, .segment = count };
	struct syn_caching_event event = { SYN_CACHING_SEGMENT, asker, 0, size };

	if (!segment)
		return NP_E_NOMEM;
	block.address =
		count > 0 ? segment[-1].address + up(segment[-1].size, 2 * MIB) + 2 * MIB : FIRST;
	*segment = (struct syn_caching_segment){ block.address, size, small };
	event.address = block.address;
	caching->reserved += size;
	if (insert(caching, caching->blocks.count - 1, &block, err) < 0)
		return NP_E_NOMEM;
	return note(caching, &event, err);
}

/* The smallest that is large enough, of those the first; SIZE_MAX for none. */
static size_t find_best(const struct syn_caching *caching, int64_t size, bool small)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < caching->blocks.count; i++) {
		const struct syn_caching_block *block = &caching->blocks.item[i];

		if (block->wanted == 0 && block->size >= size &&
		    caching->segments.item[block->segment].small == small &&
		    (best == SIZE_MAX || block->size < caching->blocks.item[best].size))
			best = i;
	}
	return best;
}

static int64_t segment_size(int64_t size)
{
	if (size <= MIB)
		return 2 * MIB;
	return size < 10 * MIB ? 20 * MIB : up(size, 2 * MIB);
}

int syn_caching_take(struct syn_caching *caching, int64_t bytes, enum syn_asker asker,
		     int64_t *ret_address, int64_t *ret_size, struct np_err *err)
{
	int64_t size = up(bytes + 32 < 512 ? 512 : bytes + 32, 512);
	bool small = size <= MIB;
	size_t best = find_best(caching, size, small);
	struct syn_caching_block *block;
	int64_t rest;

	assert(bytes > 0);
	if (best == SIZE_MAX) {
		if (add_segment(caching, segment_size(size), small, asker, err) < 0)
			return NP_E_NOMEM;
		best = caching->blocks.count - 1;
	}
	rest = caching->blocks.item[best].size - size;
	if (small ? rest >= 512 : rest > MIB) {
		struct syn_caching_block behind = caching->blocks.item[best];

		behind.address += size;
		behind.size = rest;
		caching->blocks.item[best].size = size;
		if (insert(caching, best, &behind, err) < 0)
			return NP_E_NOMEM;
	}
	block = &caching->blocks.item[best];
	block->wanted = bytes;
	block->asker = asker;
	block->recorded = true;
	caching->allocated += block->size;
	*ret_address = block->address;
	*ret_size = block->size;
	return note(caching,
		    &(struct syn_caching_event){ SYN_CACHING_TAKE, asker, block->address, bytes },
		    err);
}

/* Make a free block one with the one behind it if that is free too. */
static void join(struct syn_caching *caching, size_t at)
{
	struct syn_caching_block *block = &caching->blocks.item[at];

	if (at + 1 >= caching->blocks.count || block[0].wanted || block[1].wanted ||
	    block[0].segment != block[1].segment)
		return;
	block->size += block[1].size;
	memmove(&block[1], &block[2], (caching->blocks.count - at - 2) * sizeof(*block));
	caching->blocks.count--;
}

int syn_caching_return(struct syn_caching *caching, int64_t address, struct np_err *err)
{
	for (size_t i = 0; i < caching->blocks.count; i++) {
		struct syn_caching_block *block = &caching->blocks.item[i];
		struct syn_caching_event event = { SYN_CACHING_RETURN, SYN_BY_NOBODY, address,
						   block->wanted };

		if (block->address != address || block->wanted == 0)
			continue;
		caching->allocated -= block->size;
		block->wanted = 0;
		join(caching, i);
		if (i > 0)
			join(caching, i - 1);
		return note(caching, &event, err);
	}
	assert(false);
	return NP_OK;
}

void syn_caching_record(struct syn_caching *caching)
{
	caching->events.count = 0;
	caching->most_allocated = caching->allocated;
	caching->most_reserved = caching->reserved;
	for (size_t i = 0; i < caching->blocks.count; i++)
		caching->blocks.item[i].recorded = false;
}
