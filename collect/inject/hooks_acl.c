/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of AscendCL: the first device, streams that are waited for, and the end. */
#include "cadence.h"
#include "hooks.h"
#include "preload.h"

/*
 * The runtime: which device is used, when it goes away, and when the host waits for it.
 */
/* NOLINTBEGIN(readability-identifier-naming): names of CANN */
NP_HOOK aclError aclInit(const char *config);
NP_HOOK aclError aclFinalize(void);
NP_HOOK aclError aclrtSetDevice(int32_t device);
NP_HOOK aclError aclrtResetDevice(int32_t device);
NP_HOOK aclError aclrtResetDeviceForce(int32_t device);
NP_HOOK aclError aclrtSynchronizeStream(aclrtStream stream);
NP_HOOK aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t milliseconds);
NP_HOOK aclError aclrtSynchronizeDevice(void);
NP_HOOK aclError aclrtSynchronizeDeviceWithTimeout(int32_t milliseconds);
/* NOLINTEND(readability-identifier-naming) */

/* What AscendCL calls while it carries out one of these is not the application's doing. */
#define PASS_ON(...) \
	__extension__({ \
		aclError code_ = ACL_ERROR_API_NOT_SUPPORT; \
		if (real) { \
			np_inside++; \
			code_ = real(__VA_ARGS__); \
			np_inside--; \
		} \
		code_; \
	})

aclError aclInit(const char *config)
{
	NP_REAL(NP_LIBRARY_ACL, aclInit);

	return PASS_ON(config);
}

aclError aclFinalize(void)
{
	NP_REAL(NP_LIBRARY_ACL, aclFinalize);

	if (np_hook_active())
		np_inject_ending(&np_inject, -1, "aclFinalize");
	return PASS_ON();
}

aclError aclrtSetDevice(int32_t device)
{
	NP_REAL(NP_LIBRARY_ACL, aclrtSetDevice);
	aclError code = PASS_ON(device);

	if (code == ACL_SUCCESS && np_hook_active()) {
		np_inject_device_set(&np_inject, device);
		np_preload_watch_exit();
	}
	return code;
}

/* Profiling a device that is reset would be cut off. */
static void resetting(int32_t device)
{
	if (np_hook_active() && device >= 0)
		np_inject_ending(&np_inject, device, "aclrtResetDevice");
}

aclError aclrtResetDevice(int32_t device)
{
	NP_REAL(NP_LIBRARY_ACL, aclrtResetDevice);

	resetting(device);
	return PASS_ON(device);
}

/* Where an older CANN misses a variant, the application must not notice that we have it. */
aclError aclrtResetDeviceForce(int32_t device)
{
	NP_REAL(NP_LIBRARY_ACL, aclrtResetDeviceForce);

	resetting(device);
	return real ? PASS_ON(device) : aclrtResetDevice(device);
}

/*
 * Steps that are nothing but the rhythm of the host's waiting, for jobs without collectives:
 * a wait is distinguished by what it waits for.
 */
static void count_wait(const void *what)
{
	static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
	static struct np_cadence cadence;
	static uint32_t count;
	char detail[100];
	uint64_t breaks;
	int64_t step;
	bool begins;
	bool lost;

	(void)pthread_mutex_lock(&counting);
	if (cadence.calls == 0)
		np_cadence_init(&cadence);
	breaks = cadence.breaks;
	begins = np_cadence_call(&cadence, (uint64_t)(uintptr_t)what, count++, &step);
	lost = cadence.breaks != breaks;
	(void)snprintf(detail, sizeof(detail), "%llu waits of the host repeat; confidence low",
		       (unsigned long long)cadence.period);
	(void)pthread_mutex_unlock(&counting);
	if (lost)
		np_inject_cadence_lost(&np_inject);
	if (begins)
		np_inject_step(&np_inject, NP_STEP_SYNC, step, detail);
}

/* The host has waited: the cadence wants to know, and a time window may be due. */
static inline void waited(const void *what)
{
	unsigned attention = np_hook_attention();

	if (__builtin_expect(attention == 0, 1) || !np_hook_active())
		return;
	if (attention & NP_ATTENTION_CADENCE)
		atomic_fetch_add_explicit(&np_inject.waits, 1, memory_order_relaxed);
	if (attention & NP_ATTENTION_DUE)
		np_inject_attend(&np_inject, false);
	if (attention & NP_ATTENTION_SYNC)
		count_wait(what);
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_ACL, aclrtSynchronizeStream);
	aclError code = real ? real(stream) : ACL_ERROR_API_NOT_SUPPORT;

	waited(stream);
	return code;
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t milliseconds)
{
	NP_REAL(NP_LIBRARY_ACL, aclrtSynchronizeStreamWithTimeout);
	aclError code;

	if (!real)
		return aclrtSynchronizeStream(stream);
	code = real(stream, milliseconds);
	waited(stream);
	return code;
}

aclError aclrtSynchronizeDevice(void)
{
	NP_REAL(NP_LIBRARY_ACL, aclrtSynchronizeDevice);
	aclError code = real ? real() : ACL_ERROR_API_NOT_SUPPORT;

	waited(NULL);
	return code;
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t milliseconds)
{
	NP_REAL(NP_LIBRARY_ACL, aclrtSynchronizeDeviceWithTimeout);
	aclError code;

	if (!real)
		return aclrtSynchronizeDevice();
	code = real(milliseconds);
	waited(NULL);
	return code;
}
