/* SPDX-License-Identifier: Apache-2.0 */
/* libascendcl.so in which nothing happens, and which cannot profile: for measuring hooks. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int aclrtSetDevice(int32_t device);
EXPORT int aclrtSynchronizeStream(void *stream);

int aclrtSetDevice(int32_t device)
{
	return device < 0;
}

int aclrtSynchronizeStream(void *stream)
{
	return stream != 0;
}
