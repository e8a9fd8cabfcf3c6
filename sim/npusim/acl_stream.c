/* SPDX-License-Identifier: Apache-2.0 */
/* libascendcl.so: streams and kernels. */
#include <unistd.h>

#include "nsim.h"
#include "raw.h"

/* A kernel cannot start before the host's launch has reached the device. */
#define LAUNCH_NS 8000

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
	(void)priority;
	(void)flag;
	NSIM_MAY_FAIL("aclrtCreateStreamWithConfig");
	if (!stream)
		return ACL_ERROR_INVALID_PARAM;
	if (nsim_device_current() < 0)
		return ACL_ERROR_INVALID_DEVICE;
	*stream = nsim_stream_new(nsim_device_current());
	return *stream ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}

aclError aclrtCreateStream(aclrtStream *stream)
{
	NSIM_MAY_FAIL("aclrtCreateStream");
	return aclrtCreateStreamWithConfig(stream, 0, 0);
}

aclError aclrtDestroyStream(aclrtStream stream)
{
	NSIM_MAY_FAIL("aclrtDestroyStream");
	return stream && nsim_stream_free(stream) ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

static struct nsim_stream *find(aclrtStream handle)
{
	struct nsim_stream *stream;

	nsim_lock();
	stream = nsim_stream_of(handle);
	nsim_unlock();
	return stream;
}

/* Wait for one stream, or with `device` >= 0 for all of that device, as the call `name`. */
static aclError synchronize(struct nsim_stream *stream, int32_t device, int32_t ms,
			    const char *name)
{
	np_ns start = nsim_true_ns();
	aclError rc = nsim_stream_wait(stream, device, ms < 0 ? -1 : (np_ns)ms * 1000000);

	nsim_record_call(NPUSIM_API_RUNTIME, start, nsim_connection(),
			 stream ? "StreamSynchronize" : "DeviceSynchronize");
	nsim_record_call(NPUSIM_API_ACL, start, nsim_connection(), name);
	return rc;
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
	struct nsim_stream *found = find(stream);

	NSIM_MAY_FAIL("aclrtSynchronizeStream");
	return found ? synchronize(found, -1, -1, "aclrtSynchronizeStream")
		     : ACL_ERROR_INVALID_PARAM;
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t ms)
{
	struct nsim_stream *found = find(stream);

	NSIM_MAY_FAIL("aclrtSynchronizeStreamWithTimeout");
	return found ? synchronize(found, -1, ms, "aclrtSynchronizeStreamWithTimeout")
		     : ACL_ERROR_INVALID_PARAM;
}

aclError aclrtSynchronizeDevice(void)
{
	NSIM_MAY_FAIL("aclrtSynchronizeDevice");
	if (nsim_device_current() < 0)
		return ACL_ERROR_INVALID_DEVICE;
	return synchronize(NULL, nsim_device_current(), -1, "aclrtSynchronizeDevice");
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t ms)
{
	NSIM_MAY_FAIL("aclrtSynchronizeDeviceWithTimeout");
	if (nsim_device_current() < 0)
		return ACL_ERROR_INVALID_DEVICE;
	return synchronize(NULL, nsim_device_current(), ms, "aclrtSynchronizeDeviceWithTimeout");
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t *id)
{
	struct nsim_stream *found = find(stream);

	NSIM_MAY_FAIL("aclrtStreamGetId");
	if (!found || !id)
		return ACL_ERROR_INVALID_PARAM;
	*id = nsim_stream_id(found);
	return ACL_SUCCESS;
}

aclError aclrtStreamQuery(aclrtStream stream, int *status)
{
	struct nsim_stream *found = find(stream);

	NSIM_MAY_FAIL("aclrtStreamQuery");
	if (!found || !status)
		return ACL_ERROR_INVALID_PARAM;
	*status = nsim_stream_idle(found) ? 0 : 1;
	return ACL_SUCCESS;
}

/* --- Kernels ------------------------------------------------------------------------------ */

#define KERNEL_MAGIC 0x6e707573696d6b31

struct handle {
	uint64_t magic;
	struct handle *next;
	uint64_t number;
	struct npusim_kernel kernel;
};

struct acl_stream_launch {
	struct nsim_op op;
	const struct handle *handle;
	uint32_t blocks;
	uint32_t connection;
	uint64_t number;
};

static struct handle *handles; /* never freed: a handle is valid until the process ends */
static uint64_t launches;

aclrtFuncHandle npusim_kernel_handle(const struct npusim_kernel *kernel)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	nsim_lock();
	handle->magic = KERNEL_MAGIC;
	handle->kernel = *kernel;
	handle->number = handles ? handles->number + 1 : 0;
	handle->next = handles;
	handles = handle;
	nsim_unlock();
	return handle;
}

static const struct handle *find_handle(aclrtFuncHandle func)
{
	const struct handle *handle = handles;

	while (handle && handle != func)
		handle = handle->next;
	return handle;
}

static void release_launch(struct nsim_op *op)
{
	free(op);
}

static np_ns kernel_time(const struct acl_stream_launch *launch)
{
	const struct nsim_knobs *knobs = nsim_knobs();
	double spread =
		(2 * nsim_chance(launch->handle->number + 1, launch->number) - 1) * knobs->jitter;
	double time =
		(double)launch->handle->kernel.duration_ns * knobs->slow_factor * (1 + spread);

	return time < 1 ? 1 : (np_ns)time;
}

static const char *task_type(const char *core)
{
	if (strcmp(core, "AI_VECTOR_CORE") == 0)
		return "KERNEL_AIVEC";
	return strcmp(core, "AI_CORE") == 0 ? "KERNEL_AICORE" : core;
}

static enum nsim_progress run_kernel(struct nsim_op *op, struct nsim_stream *stream, np_ns start,
				     np_ns *end)
{
	const struct acl_stream_launch *launch = (const struct acl_stream_launch *)op;
	struct nsim_task task = {
		.device = nsim_stream_device(stream),
		.stream = nsim_stream_id(stream),
		.task_id = nsim_stream_next_task(stream),
		.connection = launch->connection,
		.start = start,
		.end = start + kernel_time(launch),
		.type = task_type(launch->handle->kernel.core),
	};

	task.whole_start = task.start;
	task.whole_end = task.end;
	/* The scheduler needs a moment between two tasks. */
	*end = task.end + 300;
	if (nsim_records(ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0))
		nsim_record_kernel(nsim_record_task(&task), &task, &launch->handle->kernel,
				   launch->blocks);
	return NSIM_DONE;
}

static aclError push_kernel(const struct handle *handle, uint32_t blocks, aclrtStream stream,
			    uint32_t connection)
{
	struct nsim_stream *found = nsim_stream_of(stream);
	struct acl_stream_launch *launch = found ? calloc(1, sizeof(*launch)) : NULL;

	if (!found)
		return ACL_ERROR_INVALID_PARAM;
	if (!launch)
		return ACL_ERROR_BAD_ALLOC;
	launch->op = (struct nsim_op){ .launched = nsim_true_ns() + LAUNCH_NS,
				       .run = run_kernel,
				       .release = release_launch };
	launch->handle = handle;
	launch->blocks = blocks;
	launch->connection = connection;
	launch->number = launches++;
	return nsim_stream_push(found, &launch->op);
}

static aclError launch_kernel(aclrtFuncHandle func, uint32_t blocks, aclrtStream stream)
{
	np_ns start = nsim_true_ns();
	uint32_t connection = nsim_connection();
	const struct handle *handle;
	aclError rc;

	nsim_lock();
	handle = find_handle(func);
	rc = handle && blocks > 0 ? push_kernel(handle, blocks, stream, connection)
				  : ACL_ERROR_INVALID_PARAM;
	nsim_unlock();
	if (rc != ACL_SUCCESS)
		return rc;
	nsim_record_call(NPUSIM_API_RUNTIME, start, nsim_connection(), "KernelLaunch");
	nsim_record_call(NPUSIM_API_NODE, start, connection, "launch");
	nsim_record_call(NPUSIM_API_ACL, start, nsim_connection(),
			 handle->kernel.api ? handle->kernel.api : "aclrtLaunchKernel");
	return ACL_SUCCESS;
}

aclError aclrtLaunchKernel(aclrtFuncHandle func, uint32_t blocks, const void *args, size_t size,
			   aclrtStream stream)
{
	(void)args;
	(void)size;
	NSIM_MAY_FAIL("aclrtLaunchKernel");
	return launch_kernel(func, blocks, stream);
}

aclError aclrtLaunchKernelV2(aclrtFuncHandle func, uint32_t blocks, const void *args, size_t size,
			     void *config, aclrtStream stream)
{
	(void)args;
	(void)size;
	(void)config;
	NSIM_MAY_FAIL("aclrtLaunchKernelV2");
	return launch_kernel(func, blocks, stream);
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle func, uint32_t blocks, aclrtStream stream,
				     void *config, void *args, void *reserve)
{
	(void)config;
	(void)args;
	(void)reserve;
	NSIM_MAY_FAIL("aclrtLaunchKernelWithConfig");
	return launch_kernel(func, blocks, stream);
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle func, uint32_t blocks, aclrtStream stream,
				       void *config, void *hostArgs, size_t size,
				       void *placeHolders, size_t count)
{
	(void)config;
	(void)hostArgs;
	(void)size;
	(void)placeHolders;
	(void)count;
	NSIM_MAY_FAIL("aclrtLaunchKernelWithHostArgs");
	return launch_kernel(func, blocks, stream);
}

/* --- Host functions ----------------------------------------------------------------------- */

static enum nsim_progress run_host_function(struct nsim_op *op, struct nsim_stream *stream,
					    np_ns start, np_ns *end)
{
	(void)op;
	(void)stream;
	*end = start;
	return nsim_true_ns() >= start ? NSIM_DONE : NSIM_WAITING;
}

static aclError push_host_function(aclrtCallback fn, void *args, aclrtStream stream)
{
	struct nsim_stream *found;
	struct nsim_op *op = fn ? calloc(1, sizeof(*op)) : NULL;
	aclError rc = ACL_ERROR_INVALID_PARAM;

	if (!op)
		return fn ? ACL_ERROR_BAD_ALLOC : ACL_ERROR_INVALID_PARAM;
	*op = (struct nsim_op){ .launched = nsim_true_ns(),
				.run = run_host_function,
				.release = release_launch,
				.callback = fn,
				.callback_args = args };
	nsim_lock();
	found = nsim_stream_of(stream);
	if (found)
		rc = nsim_stream_push(found, op);
	else
		free(op);
	nsim_unlock();
	return rc;
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, int blockType, aclrtStream stream)
{
	(void)blockType;
	NSIM_MAY_FAIL("aclrtLaunchCallback");
	return push_host_function(fn, userData, stream);
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtCallback fn, void *args)
{
	NSIM_MAY_FAIL("aclrtLaunchHostFunc");
	return push_host_function(fn, args, stream);
}
