/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/vec.h"

/* Most vectors of a run stay short, so the first allocation is small. */
#define FIRST_CAPACITY ((size_t)8)

static void *grow(void *items, size_t *capacity, size_t item_size, struct np_err *err)
{
	size_t wanted;
	size_t bytes;
	void *grown;

	if (__builtin_mul_overflow(*capacity, (size_t)2, &wanted))
		goto nomem;
	if (wanted < FIRST_CAPACITY)
		wanted = FIRST_CAPACITY;
	if (__builtin_mul_overflow(wanted, item_size, &bytes))
		goto nomem;

	grown = realloc(items, bytes);
	if (!grown)
		goto nomem;
	*capacity = wanted;
	return grown;

nomem:
	np_fail_nomem(err, "a longer list");
	return NULL;
}

void *np_vec_room(void *items, size_t *capacity, size_t count, size_t item_size, struct np_err *err)
{
	void *room = items;

	if (count >= *capacity)
		room = grow(items, capacity, item_size, err);
	if (room)
		memset((char *)room + count * item_size, 0, item_size);
	return room;
}

void *np_vec_expect_room(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
	size_t bytes;
	void *grown;

	if (wanted <= *capacity || __builtin_mul_overflow(wanted, item_size, &bytes))
		return items;
	grown = realloc(items, bytes);
	if (!grown)
		return items;
	*capacity = wanted;
	return grown;
}
