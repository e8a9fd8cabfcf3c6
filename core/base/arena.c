/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: many small things in large blocks that are freed together. */
#include "npuprof/arena.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define HIDE(address, size) ASAN_POISON_MEMORY_REGION(address, size)
#define SHOW(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#else
#define HIDE(address, size) ((void)(address), (void)(size))
#define SHOW(address, size) ((void)(address), (void)(size))
#endif

#define ALIGNMENT   _Alignof(max_align_t)
#define FIRST_BLOCK ((size_t)4 << 10)
#define LAST_BLOCK  ((size_t)1 << 20)

struct block {
	struct block *next;
	size_t size; /* of data */
	size_t used;
	_Alignas(max_align_t) char data[];
};

struct np_arena {
	struct block *block; /* the first one is filled, the others are full */
	size_t next_size;
	size_t bytes;
};

struct np_arena *np_arena_new(void)
{
	struct np_arena *arena = calloc(1, sizeof(*arena));

	if (arena)
		arena->next_size = FIRST_BLOCK;
	return arena;
}

static void free_blocks(struct np_arena *arena, struct block *block)
{
	while (block) {
		struct block *next = block->next;

		arena->bytes -= block->size + sizeof(*block);
		SHOW(block->data, block->size);
		free(block);
		block = next;
	}
}

void np_arena_free(struct np_arena *arena)
{
	if (!arena)
		return;
	free_blocks(arena, arena->block);
	free(arena);
}

void np_arena_clear(struct np_arena *arena)
{
	struct block *kept = arena->block;

	if (!kept)
		return;
	free_blocks(arena, kept->next);
	kept->next = NULL;
	SHOW(kept->data, kept->used);
	memset(kept->data, 0, kept->used);
	kept->used = 0;
	HIDE(kept->data, kept->size);
}

void np_arena_freep(struct np_arena **arena)
{
	np_arena_free(*arena);
	*arena = NULL;
}

/* Memory of a block is handed out once, so that zeroing it here is enough. */
static struct block *new_block(struct np_arena *arena, size_t size)
{
	struct block *block;
	size_t bytes;

	if (__builtin_add_overflow(size, sizeof(*block), &bytes))
		return NULL;
	block = calloc(1, bytes);
	if (!block)
		return NULL;
	block->size = size;
	arena->bytes += bytes;
	HIDE(block->data, size);
	return block;
}

/* A block for one allocation goes behind the first one, which is still being filled. */
static struct block *add_own_block(struct np_arena *arena, size_t size)
{
	struct block *block = new_block(arena, size);

	if (!block)
		return NULL;
	if (arena->block) {
		block->next = arena->block->next;
		arena->block->next = block;
	} else {
		arena->block = block;
	}
	return block;
}

static struct block *add_shared_block(struct np_arena *arena)
{
	struct block *block = new_block(arena, arena->next_size);

	if (!block)
		return NULL;
	block->next = arena->block;
	arena->block = block;
	if (arena->next_size < LAST_BLOCK)
		arena->next_size *= 2;
	return block;
}

static bool wants_own_block(const struct np_arena *arena, size_t size)
{
#ifdef NP_ARENA_DEBUG
	(void)arena;
	(void)size;
	return true;
#else
	return size > arena->next_size / 4;
#endif
}

static struct block *block_with_room(struct np_arena *arena, size_t size)
{
	if (arena->block && arena->block->size - arena->block->used >= size)
		return arena->block;
	if (wants_own_block(arena, size))
		return add_own_block(arena, size);
	return add_shared_block(arena);
}

void *np_arena_alloc(struct np_arena *arena, size_t size)
{
	struct block *block;
	size_t padded;
	void *memory;

	/* Even nothing has an address of its own. */
	if (size == 0)
		size = 1;
	if (__builtin_add_overflow(size, ALIGNMENT - 1, &padded))
		return NULL;
#ifdef NP_ARENA_DEBUG
	/* Exactly what was asked for, so that valgrind sees one byte too many. */
	padded = size;
#else
	padded -= padded % ALIGNMENT;
#endif

	block = block_with_room(arena, padded);
	if (!block)
		return NULL;
	memory = block->data + block->used;
	block->used += padded;
	SHOW(memory, size);
	return memory;
}

void *np_arena_array(struct np_arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return np_arena_alloc(arena, bytes);
}

char *np_arena_text(struct np_arena *arena, const char *text, size_t length)
{
	size_t bytes;
	char *copy;

	if (__builtin_add_overflow(length, (size_t)1, &bytes))
		return NULL;
	copy = np_arena_alloc(arena, bytes);
	if (copy && length > 0)
		memcpy(copy, text, length);
	return copy;
}

size_t np_arena_bytes(const struct np_arena *arena)
{
	return arena->bytes;
}
