/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_private.h"

#include <stdatomic.h>

/*
 * SQLite can limit its memory for the whole process only, where one greedy rule
 * would take it away from the loaders and rules of other threads. So its
 * allocator is wrapped: what a thread allocates while a rule runs on it counts
 * for that rule. What was allocated before and is freed now gives credit, which
 * does no harm: a rule frees what it allocated.
 */
static sqlite3_mem_methods plain;
static _Thread_local bool counting;
static _Thread_local bool exceeded;
static _Thread_local int64_t left;

static bool take(int64_t bytes)
{
	if (!counting)
		return true;
	if (bytes > left) {
		exceeded = true;
		return false;
	}
	left -= bytes;
	return true;
}

static void *counted_malloc(int size)
{
	void *memory = take(size) ? plain.xMalloc(size) : NULL;

	if (memory && counting)
		left -= plain.xSize(memory) - size;
	return memory;
}

static void counted_free(void *memory)
{
	if (counting && memory)
		left += plain.xSize(memory);
	plain.xFree(memory);
}

static void *counted_realloc(void *memory, int size)
{
	int before = memory ? plain.xSize(memory) : 0;
	void *moved;

	if (size > before && !take(size - before))
		return NULL;
	moved = plain.xRealloc(memory, size);
	if (counting && size <= before)
		left += before - size;
	return moved;
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

void sql_memory_begin(int64_t bytes)
{
	left = bytes;
	exceeded = false;
	counting = bytes > 0;
}

bool sql_memory_end(void)
{
	counting = false;
	return exceeded;
}

bool sql_memory_exceeded(void)
{
	return exceeded;
}
