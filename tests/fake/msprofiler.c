/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmsprofiler.so as it might be: of an older CANN, with the mandatory functions only
 * (FAKE_OLD), or of a damaged one that lacks two of those as well (FAKE_BROKEN).
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int aclprofInit(const char *path, size_t length);
EXPORT int aclprofStop(const void *config);
EXPORT int aclprofFinalize(void);
EXPORT void *aclprofCreateConfig(uint32_t *devices, uint32_t count, int metrics, const void *events,
				 uint64_t mask);

int aclprofInit(const char *path, size_t length)
{
	return path && length > 0 ? 0 : 100000;
}

int aclprofStop(const void *config)
{
	return config ? 0 : 100010;
}

int aclprofFinalize(void)
{
	return 0;
}

void *aclprofCreateConfig(uint32_t *devices, uint32_t count, int metrics, const void *events,
			  uint64_t mask)
{
	(void)metrics;
	(void)mask;
	return events || count == 0 ? NULL : devices;
}

#ifdef FAKE_OLD
EXPORT int aclprofStart(const void *config);
EXPORT int aclprofDestroyConfig(const void *config);

int aclprofStart(const void *config)
{
	return config ? 0 : 100000;
}

int aclprofDestroyConfig(const void *config)
{
	return config ? 0 : 100000;
}
#endif
