/* SPDX-License-Identifier: Apache-2.0 */
/* libascendcl.so: the life of a process and its devices. */
#include <pthread.h>

#include "nsim.h"
#include "raw.h"

#define MAX_CALLBACKS 16

static struct {
	aclrtDeviceStateCallback fn;
	void *args;
} device_callbacks[MAX_CALLBACKS];

static struct {
	aclFinalizeCallback fn;
	void *args;
} finalize_callbacks[MAX_CALLBACKS];

static size_t device_callback_count;
static size_t finalize_callback_count;
static bool initialised;

aclError aclInit(const char *configPath)
{
	np_ns start = nsim_true_ns();

	NSIM_MAY_FAIL("aclInit");
	if (initialised)
		return ACL_ERROR_REPEAT_INITIALIZE;
	initialised = true;
	if (configPath && *configPath && nsim_hooks.config_file)
		nsim_hooks.config_file(configPath);
	nsim_record_call(NPUSIM_API_ACL, start, nsim_connection(), "aclInit");
	return ACL_SUCCESS;
}

aclError aclFinalize(void)
{
	NSIM_MAY_FAIL("aclFinalize");
	if (!initialised)
		return ACL_ERROR_REPEAT_FINALIZE;
	for (size_t i = 0; i < finalize_callback_count; i++)
		(void)finalize_callbacks[i].fn(finalize_callbacks[i].args);
	if (nsim_hooks.finalize)
		nsim_hooks.finalize();
	initialised = false;
	return ACL_SUCCESS;
}

aclError aclFinalizeCallbackRegister(int type, aclFinalizeCallback fn, void *args)
{
	(void)type;
	NSIM_MAY_FAIL("aclFinalizeCallbackRegister");
	if (!fn || finalize_callback_count == MAX_CALLBACKS)
		return ACL_ERROR_INVALID_PARAM;
	finalize_callbacks[finalize_callback_count].fn = fn;
	finalize_callbacks[finalize_callback_count++].args = args;
	return ACL_SUCCESS;
}

aclError aclrtRegDeviceStateCallback(const char *name, aclrtDeviceStateCallback fn, void *args)
{
	NSIM_MAY_FAIL("aclrtRegDeviceStateCallback");
	if (!name || !fn || device_callback_count == MAX_CALLBACKS)
		return ACL_ERROR_INVALID_PARAM;
	device_callbacks[device_callback_count].fn = fn;
	device_callbacks[device_callback_count++].args = args;
	return ACL_SUCCESS;
}

static void tell(int32_t device, int state)
{
	for (size_t i = 0; i < device_callback_count; i++)
		device_callbacks[i].fn(device, state, device_callbacks[i].args);
}

aclError aclrtSetDevice(int32_t deviceId)
{
	np_ns start = nsim_true_ns();

	NSIM_MAY_FAIL("aclrtSetDevice");
	if (nsim_device_physical(deviceId) < 0)
		return ACL_ERROR_INVALID_DEVICE;
	tell(deviceId, ACL_RT_DEVICE_STATE_SET_PRE);
	nsim_device_use(deviceId);
	tell(deviceId, ACL_RT_DEVICE_STATE_SET_POST);
	if (nsim_hooks.device_set)
		nsim_hooks.device_set();
	nsim_record_call(NPUSIM_API_ACL, start, nsim_connection(), "aclrtSetDevice");
	return ACL_SUCCESS;
}

static aclError reset(int32_t device)
{
	if (nsim_device_physical(device) < 0)
		return ACL_ERROR_INVALID_DEVICE;
	tell(device, ACL_RT_DEVICE_STATE_RESET_PRE);
	nsim_device_release(device);
	tell(device, ACL_RT_DEVICE_STATE_RESET_POST);
	return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t deviceId)
{
	NSIM_MAY_FAIL("aclrtResetDevice");
	return reset(deviceId);
}

aclError aclrtResetDeviceForce(int32_t deviceId)
{
	NSIM_MAY_FAIL("aclrtResetDeviceForce");
	return reset(deviceId);
}

aclError aclrtGetDevice(int32_t *deviceId)
{
	NSIM_MAY_FAIL("aclrtGetDevice");
	if (!deviceId)
		return ACL_ERROR_INVALID_PARAM;
	if (nsim_device_current() < 0)
		return ACL_ERROR_INVALID_DEVICE;
	*deviceId = nsim_device_current();
	return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t *count)
{
	NSIM_MAY_FAIL("aclrtGetDeviceCount");
	if (!count)
		return ACL_ERROR_INVALID_PARAM;
	*count = nsim_device_count();
	return ACL_SUCCESS;
}

const char *aclrtGetSocName(void)
{
	return nsim_knobs()->soc;
}

aclError aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch)
{
	NSIM_MAY_FAIL("aclrtGetVersion");
	if (!major || !minor || !patch)
		return ACL_ERROR_INVALID_PARAM;
	*major = 1;
	*minor = nsim_knobs()->old_cann ? 10 : 17;
	*patch = 0;
	return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char *package, char *version)
{
	NSIM_MAY_FAIL("aclsysGetVersionStr");
	if (!package || !version)
		return ACL_ERROR_INVALID_PARAM;
	(void)snprintf(version, 128, "%s", nsim_knobs()->old_cann ? "8.0.RC1" : "8.3.RC1");
	return ACL_SUCCESS;
}

const char *aclGetRecentErrMsg(void)
{
	return NULL;
}
