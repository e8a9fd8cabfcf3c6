/* SPDX-License-Identifier: Apache-2.0 */
/* The allocations of a test program, one of which fails when a test says so. */
#include "np_fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

_Thread_local size_t np_fault_left;

#if NP_FAULTS
static bool fails_now(void)
{
	if (np_fault_left == 0 || --np_fault_left > 0)
		return false;
	errno = ENOMEM;
	return true;
}

/* What the name means to everybody else; looked for once. */
static void *real(const char *name, void *_Atomic *known)
{
	void *symbol = atomic_load_explicit(known, memory_order_relaxed);

	if (!symbol) {
		symbol = dlsym(RTLD_NEXT, name);
		atomic_store_explicit(known, symbol, memory_order_relaxed);
	}
	return symbol;
}

void *malloc(size_t size)
{
	static void *_Atomic known;
	void *symbol = real("malloc", &known);
	void *(*call)(size_t);

	memcpy(&call, &symbol, sizeof(call));
	return fails_now() ? NULL : call(size);
}

void *calloc(size_t count, size_t size)
{
	static void *_Atomic known;
	void *symbol = real("calloc", &known);
	void *(*call)(size_t, size_t);

	memcpy(&call, &symbol, sizeof(call));
	return fails_now() ? NULL : call(count, size);
}

void *realloc(void *memory, size_t size)
{
	static void *_Atomic known;
	void *symbol = real("realloc", &known);
	void *(*call)(void *, size_t);

	memcpy(&call, &symbol, sizeof(call));
	return fails_now() ? NULL : call(memory, size);
}
#endif
