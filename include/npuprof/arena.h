/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ARENA_H
#define NP_ARENA_H

#include "npuprof/err.h"

/*
 * Arenas
 * ======
 *
 * Many small things of one lifetime: allocated one by one, freed all at once.
 * Under AddressSanitizer the unused tail of each block is poisoned, and with
 * NP_ARENA_DEBUG defined every allocation is a malloc of its own so that
 * valgrind sees each object. An arena is not locked.
 */
struct np_arena;

struct np_arena *np_arena_new(void) NP_MUST_USE;
void np_arena_free(struct np_arena *arena);
void np_arena_freep(struct np_arena **arena);

/* `size` zeroed bytes aligned for any type, or NULL when out of memory. */
void *np_arena_alloc(struct np_arena *arena, size_t size) NP_MUST_USE;

/* `count * size` bytes as above; NULL when the product overflows. */
void *np_arena_array(struct np_arena *arena, size_t count, size_t size) NP_MUST_USE;

/* A copy of `length` bytes of `text` with a terminating NUL, or NULL. */
char *np_arena_text(struct np_arena *arena, const char *text, size_t length) NP_MUST_USE;

/* Forget all that was allocated, and keep some of the memory for what comes next. */
void np_arena_clear(struct np_arena *arena);

/* Bytes taken from the system, for reports about memory. */
size_t np_arena_bytes(const struct np_arena *arena);

#endif /* NP_ARENA_H */
