/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libms_tools_ext.so: mstx as an application sees it. Every function goes through a
 * slot that InitInjectionMstx fills on first use: the one of MSTX_INJECTION_PATH or,
 * without that or if it cannot be loaded, the first in the global scope.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "acl_api.h"

static struct {
	void (*mark)(const char *, aclrtStream);
	mstxRangeId (*range_start)(const char *, aclrtStream);
	void (*range_end)(mstxRangeId);
	void (*tool_id)(uint64_t *);
	mstxDomainHandle_t (*domain_create)(const char *);
	void (*domain_destroy)(mstxDomainHandle_t);
	void (*domain_mark)(mstxDomainHandle_t, const char *, aclrtStream);
	mstxRangeId (*domain_range_start)(mstxDomainHandle_t, const char *, aclrtStream);
	void (*domain_range_end)(mstxDomainHandle_t, mstxRangeId);
} slots;

/* Slot 0 is unused. The tables are longer than they need be, with empty slots, as those of CANN. */
static mstxFunction *core_table[8] = {
	[MSTX_CORE_MARK] = (mstxFunction *)&slots.mark,
	[MSTX_CORE_RANGE_START] = (mstxFunction *)&slots.range_start,
	[MSTX_CORE_RANGE_END] = (mstxFunction *)&slots.range_end,
	[MSTX_CORE_TOOL_ID] = (mstxFunction *)&slots.tool_id,
};

static mstxFunction *domain_table[16] = {
	[MSTX_DOMAIN_CREATE] = (mstxFunction *)&slots.domain_create,
	[MSTX_DOMAIN_DESTROY] = (mstxFunction *)&slots.domain_destroy,
	[MSTX_DOMAIN_MARK] = (mstxFunction *)&slots.domain_mark,
	[MSTX_DOMAIN_RANGE_START] = (mstxFunction *)&slots.domain_range_start,
	[MSTX_DOMAIN_RANGE_END] = (mstxFunction *)&slots.domain_range_end,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static int get_table(int module, mstxFunctionTable *table, unsigned *size)
{
	if (!table || !size)
		return 1;
	switch (module) {
	case MSTX_MODULE_CORE:
		*table = core_table;
		*size = MSTX_CORE_TOOL_ID;
		return 0;
	case MSTX_MODULE_CORE_DOMAIN:
		*table = domain_table;
		*size = MSTX_DOMAIN_RANGE_END + 3; /* too large, as in CANN */
		return 0;
	default:
		return 1;
	}
}

static void inject(void)
{
	const char *path = getenv("MSTX_INJECTION_PATH");
	void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*init)(mstxGetModuleTable);

	*(void **)&init = dlsym(library ? library : RTLD_DEFAULT, "InitInjectionMstx");
	if (init && init(get_table) == 0)
		return;
	for (size_t i = 0; i < sizeof(core_table) / sizeof(core_table[0]); i++) {
		if (core_table[i])
			*core_table[i] = NULL;
	}
	for (size_t i = 0; i < sizeof(domain_table) / sizeof(domain_table[0]); i++) {
		if (domain_table[i])
			*domain_table[i] = NULL;
	}
}

static void ready(void)
{
	(void)pthread_once(&once, inject);
}

void mstxMarkA(const char *message, aclrtStream stream)
{
	ready();
	if (slots.mark)
		slots.mark(message, stream);
}

mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream)
{
	ready();
	return slots.range_start ? slots.range_start(message, stream) : 0;
}

void mstxRangeEnd(mstxRangeId id)
{
	ready();
	if (slots.range_end)
		slots.range_end(id);
}

mstxDomainHandle_t mstxDomainCreateA(const char *name)
{
	ready();
	return slots.domain_create ? slots.domain_create(name) : NULL;
}

void mstxDomainDestroy(mstxDomainHandle_t domain)
{
	ready();
	if (slots.domain_destroy)
		slots.domain_destroy(domain);
}

void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message, aclrtStream stream)
{
	ready();
	if (slots.domain_mark)
		slots.domain_mark(domain, message, stream);
}

mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char *message,
				  aclrtStream stream)
{
	ready();
	return slots.domain_range_start ? slots.domain_range_start(domain, message, stream) : 0;
}

void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id)
{
	ready();
	if (slots.domain_range_end)
		slots.domain_range_end(domain, id);
}
