/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of aclprof: an application that profiles itself, and its own step marks. */
#include "hooks.h"

/*
 * The profiler itself: if the application uses it, it is the application's. Our own
 * calls go to the real functions directly.
 */
/* NOLINTBEGIN(readability-identifier-naming): names of CANN */
NP_HOOK aclError aclprofInit(const char *path, size_t length);
NP_HOOK aclError aclprofStart(const aclprofConfig *config);
NP_HOOK aclError aclprofStop(const aclprofConfig *config);
NP_HOOK aclError aclprofFinalize(void);
NP_HOOK aclError aclprofGetStepTimestamp(aclprofStepInfo *info, aclprofStepTag tag,
					 aclrtStream stream);
/* NOLINTEND(readability-identifier-naming) */

static void profiles(const char *call)
{
	if (np_hook_active())
		np_inject_self_profiling(&np_inject, call);
}

aclError aclprofInit(const char *path, size_t length)
{
	NP_REAL(NP_LIBRARY_PROFILER, aclprofInit);

	profiles("aclprofInit");
	return real ? real(path, length) : ACL_ERROR_API_NOT_SUPPORT;
}

aclError aclprofStart(const aclprofConfig *config)
{
	NP_REAL(NP_LIBRARY_PROFILER, aclprofStart);

	profiles("aclprofStart");
	return real ? real(config) : ACL_ERROR_API_NOT_SUPPORT;
}

aclError aclprofStop(const aclprofConfig *config)
{
	NP_REAL(NP_LIBRARY_PROFILER, aclprofStop);

	profiles("aclprofStop");
	return real ? real(config) : ACL_ERROR_API_NOT_SUPPORT;
}

aclError aclprofFinalize(void)
{
	NP_REAL(NP_LIBRARY_PROFILER, aclprofFinalize);

	profiles("aclprofFinalize");
	return real ? real() : ACL_ERROR_API_NOT_SUPPORT;
}

/* Frameworks that stamp their steps do so whether or not somebody profiles. */
aclError aclprofGetStepTimestamp(aclprofStepInfo *info, aclprofStepTag tag, aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_PROFILER, aclprofGetStepTimestamp);

	if (tag == ACL_STEP_START && np_hook_active())
		np_inject_step(&np_inject, NP_STEP_STAMP, NP_UNKNOWN, "aclprofGetStepTimestamp");
	return real ? real(info, tag, stream) : ACL_ERROR_API_NOT_SUPPORT;
}
