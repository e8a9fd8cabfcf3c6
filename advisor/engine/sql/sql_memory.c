/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_private.h"

#include <stdatomic.h>

#include "advisor/engine/data/quota.h"

/*
 * SQLite can limit its memory for the whole process only, where one greedy rule
 * would take it away from the loaders and rules of other threads. So its
 * allocator is wrapped, and what it takes is metered.
 */
static sqlite3_mem_methods plain;

static void *counted_malloc(int size)
{
	void *memory = quota_take(size) ? plain.xMalloc(size) : NULL;

	/* Blocks may be a little larger than was asked for. */
	if (memory)
		quota_give(size - plain.xSize(memory));
	return memory;
}

static void counted_free(void *memory)
{
	if (memory)
		quota_give(plain.xSize(memory));
	plain.xFree(memory);
}

static void *counted_realloc(void *memory, int size)
{
	int before = memory ? plain.xSize(memory) : 0;

	if (size > before && !quota_take(size - before))
		return NULL;
	if (size <= before)
		quota_give(before - size);
	return plain.xRealloc(memory, size);
}

void sql_set_up(void)
{
	static atomic_bool done;
	sqlite3_mem_methods counted;

	if (atomic_exchange(&done, true))
		return;
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain) != SQLITE_OK || !plain.xMalloc)
		return;
	counted = plain;
	counted.xMalloc = counted_malloc;
	counted.xFree = counted_free;
	counted.xRealloc = counted_realloc;
	(void)sqlite3_config(SQLITE_CONFIG_MALLOC, &counted);
}
