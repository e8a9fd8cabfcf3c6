/* SPDX-License-Identifier: Apache-2.0 */
/* libascendcl.so: memory. */
#include <pthread.h>
#include <sys/mman.h>

#include "nsim.h"
#include "raw.h"

/*
 * libascendcl.so: memory. Device memory is address space of the process that takes
 * no memory until it is touched.
 */
struct acl_memory_block {
	void *address;
	size_t size;
	struct acl_memory_block *next;
};

static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct acl_memory_block *blocks;

aclError aclrtMalloc(void **address, size_t size, int policy)
{
	np_ns start = nsim_true_ns();
	struct acl_memory_block *block;

	(void)policy;
	NSIM_MAY_FAIL("aclrtMalloc");
	if (!address || size == 0)
		return ACL_ERROR_INVALID_PARAM;
	if (nsim_memory_used() + (int64_t)size > nsim_memory_total())
		return ACL_ERROR_BAD_ALLOC;
	block = calloc(1, sizeof(*block));
	if (!block)
		return ACL_ERROR_BAD_ALLOC;
	block->size = size;
	block->address = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block->address == MAP_FAILED) {
		free(block);
		return ACL_ERROR_BAD_ALLOC;
	}
	*address = block->address;
	(void)pthread_mutex_lock(&blocks_lock);
	block->next = blocks;
	blocks = block;
	(void)pthread_mutex_unlock(&blocks_lock);
	nsim_memory_change(*address, (int64_t)size, "aclrtMalloc");
	nsim_record_call(NPUSIM_API_ACL, start, nsim_connection(), "aclrtMalloc");
	return ACL_SUCCESS;
}

aclError aclrtFree(void *address)
{
	np_ns start = nsim_true_ns();
	struct acl_memory_block **link = &blocks;
	struct acl_memory_block *block;

	NSIM_MAY_FAIL("aclrtFree");
	(void)pthread_mutex_lock(&blocks_lock);
	while (*link && (*link)->address != address)
		link = &(*link)->next;
	block = *link;
	if (block)
		*link = block->next;
	(void)pthread_mutex_unlock(&blocks_lock);
	if (!block)
		return ACL_ERROR_INVALID_PARAM;
	nsim_memory_change(address, -(int64_t)block->size, "aclrtFree");
	(void)munmap(block->address, block->size);
	free(block);
	nsim_record_call(NPUSIM_API_ACL, start, nsim_connection(), "aclrtFree");
	return ACL_SUCCESS;
}

aclError aclrtMallocHost(void **address, size_t size)
{
	NSIM_MAY_FAIL("aclrtMallocHost");
	if (!address || size == 0)
		return ACL_ERROR_INVALID_PARAM;
	*address = malloc(size);
	return *address ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}

aclError aclrtFreeHost(void *address)
{
	NSIM_MAY_FAIL("aclrtFreeHost");
	if (!address)
		return ACL_ERROR_INVALID_PARAM;
	free(address);
	return ACL_SUCCESS;
}

struct copy {
	struct nsim_op op;
	size_t bytes;
	int kind;
	uint32_t connection;
};

static void release_copy(struct nsim_op *op)
{
	free(op);
}

/* 20 GB/s over PCIe, 400 GB/s within the device, and 3 µs to begin with. */
static np_ns copy_time(const struct copy *copy)
{
	double per_byte = copy->kind == ACL_MEMCPY_DEVICE_TO_DEVICE ? 1.0 / 400 : 1.0 / 20;

	return 3000 + (np_ns)((double)copy->bytes * per_byte);
}

static enum nsim_progress run_copy(struct nsim_op *op, struct nsim_stream *stream, np_ns start,
				   np_ns *end)
{
	const struct copy *copy = (const struct copy *)op;
	struct nsim_task task = {
		.device = nsim_stream_device(stream),
		.stream = nsim_stream_id(stream),
		.task_id = nsim_stream_next_task(stream),
		.connection = copy->connection,
		.start = start,
		.end = start + copy_time(copy),
		.type = "MEMCPY_ASYNC",
		.whole_start = start,
		.whole_end = start + copy_time(copy),
	};
	int64_t id;

	*end = task.end;
	if (!nsim_records(ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0))
		return NSIM_DONE;
	id = nsim_record_task(&task);
	if (nsim_records(ACL_PROF_RUNTIME_API))
		nsim_record(task.device, task.start, task.end, "MEMCPY\t%lld\t%zu\t%d",
			    (long long)id, copy->bytes, copy->kind);
	return NSIM_DONE;
}

static aclError push_copy(size_t n, int kind, uint32_t connection, aclrtStream handle)
{
	struct nsim_stream *stream = nsim_stream_of(handle);
	struct copy *copy = stream ? calloc(1, sizeof(*copy)) : NULL;

	if (!copy)
		return stream ? ACL_ERROR_BAD_ALLOC : ACL_ERROR_INVALID_PARAM;
	copy->op = (struct nsim_op){ .launched = nsim_true_ns() + 5000,
				     .run = run_copy,
				     .release = release_copy };
	copy->bytes = n;
	copy->kind = kind;
	copy->connection = connection;
	return nsim_stream_push(stream, &copy->op);
}

/* The bytes move at once, which no one may rely on; the task takes its time. */
static aclError copy_async(void *dst, size_t max, const void *src, size_t n, int kind,
			   aclrtStream stream, const char *name)
{
	np_ns start = nsim_true_ns();
	uint32_t connection = nsim_connection();
	aclError rc;

	if (!dst || !src || n > max || kind < 0 || kind > ACL_MEMCPY_DEVICE_TO_DEVICE)
		return ACL_ERROR_INVALID_PARAM;
	(void)memmove(dst, src, n);
	nsim_lock();
	rc = push_copy(n, kind, connection, stream);
	nsim_unlock();
	nsim_record_call(NPUSIM_API_RUNTIME, start, nsim_connection(), "MemcopyAsync");
	nsim_record_call(NPUSIM_API_NODE, start, connection, "launch");
	nsim_record_call(NPUSIM_API_ACL, start, nsim_connection(), name);
	return rc;
}

aclError aclrtMemcpyAsync(void *dst, size_t max, const void *src, size_t n, int kind,
			  aclrtStream stream)
{
	NSIM_MAY_FAIL("aclrtMemcpyAsync");
	return copy_async(dst, max, src, n, kind, stream, "aclrtMemcpyAsync");
}

aclError aclrtMemcpy(void *dst, size_t max, const void *src, size_t n, int kind)
{
	aclError rc;
	struct nsim_stream *stream;

	NSIM_MAY_FAIL("aclrtMemcpy");
	rc = copy_async(dst, max, src, n, kind, NULL, "aclrtMemcpy");
	if (rc != ACL_SUCCESS)
		return rc;
	nsim_lock();
	stream = nsim_stream_of(NULL);
	nsim_unlock();
	return nsim_stream_wait(stream, -1, -1);
}

aclError aclrtMemset(void *address, size_t max, int32_t value, size_t n)
{
	NSIM_MAY_FAIL("aclrtMemset");
	if (!address || n > max)
		return ACL_ERROR_INVALID_PARAM;
	(void)memset(address, value, n);
	return ACL_SUCCESS;
}

aclError aclrtGetMemInfo(int attribute, size_t *free_bytes, size_t *total_bytes)
{
	(void)attribute;
	NSIM_MAY_FAIL("aclrtGetMemInfo");
	if (!free_bytes || !total_bytes)
		return ACL_ERROR_INVALID_PARAM;
	*total_bytes = (size_t)nsim_memory_total();
	*free_bytes = (size_t)(nsim_memory_total() - nsim_memory_used());
	return ACL_SUCCESS;
}
