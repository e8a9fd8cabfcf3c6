/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind our hooks, found in the libraries that are loaded after ours. */
#include <dlfcn.h>

#include "hooks.h"

static const char *const names[][2] = {
	[NP_LIBRARY_ACL] = { "libascendcl.so", "libacl_rt.so" },
	[NP_LIBRARY_PROFILER] = { "libmsprofiler.so", "libascendcl.so" },
	[NP_LIBRARY_HCCL] = { "libhccl.so", NULL },
	[NP_LIBRARY_MSTX] = { "libprofapi.so", NULL },
};

/*
 * RTLD_NEXT sees what was loaded for everybody. Python loads its extensions, and AscendCL
 * with them, for themselves only: such a library is found by its name, and nothing is
 * loaded that was not there.
 */
void *np_real_find(_Atomic(void *) *cache, enum np_library library, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	for (size_t i = 0; !found && i < NP_COUNT(names[library]) && names[library][i]; i++) {
		void *handle = dlopen(names[library][i], RTLD_LAZY | RTLD_NOLOAD);

		if (handle)
			found = dlsym(handle, name);
	}
	atomic_store_explicit(cache, found, memory_order_relaxed);
	return found;
}
