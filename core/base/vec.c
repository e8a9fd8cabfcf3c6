/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays: the part of adding to them that is not inline. */
#include "npuprof/vec.h"

/* Most vectors of a run stay short, so the first allocation is small. */
#define FIRST_CAPACITY ((size_t)8)

/* With room for exactly so many elements; NULL, and nothing changed, when out of memory. */
static void *resize(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
	size_t bytes;
	void *moved;

	if (__builtin_mul_overflow(wanted, item_size, &bytes))
		return NULL;
	moved = realloc(items, bytes);
	if (moved)
		*capacity = wanted;
	return moved;
}

void *np_vec_reserve_room(void *items, size_t *capacity, size_t count, size_t more,
			  size_t item_size, struct np_err *err)
{
	void *grown = NULL;
	size_t wanted;
	size_t doubled;

	if (!__builtin_add_overflow(count, more, &wanted) &&
	    !__builtin_mul_overflow(*capacity, (size_t)2, &doubled)) {
		if (wanted < doubled)
			wanted = doubled;
		if (wanted < FIRST_CAPACITY)
			wanted = FIRST_CAPACITY;
		grown = resize(items, capacity, wanted, item_size);
	}
	if (!grown)
		np_fail_nomem(err, "a longer list");
	return grown;
}

void *np_vec_room(void *items, size_t *capacity, size_t count, size_t item_size, struct np_err *err)
{
	void *room = items;

	if (count >= *capacity)
		room = np_vec_reserve_room(items, capacity, count, 1, item_size, err);
	if (room)
		memset((char *)room + count * item_size, 0, item_size);
	return room;
}

void *np_vec_expect_room(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
	void *grown = wanted > *capacity ? resize(items, capacity, wanted, item_size) : NULL;

	return grown ? grown : items;
}

void *np_vec_fit_room(void *items, size_t *capacity, size_t count, size_t item_size)
{
	return count > 0 && count < *capacity ? resize(items, capacity, count, item_size) : items;
}
