/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: which one a thread uses, and the memory they have. */
#include <unistd.h>

#include "npuprof/text.h"
#include "nsim.h"

#define MAX_DEVICES 1024

static _Thread_local int32_t current = -1;
static int32_t uses[MAX_DEVICES]; /* by logical id: how often it was set and not reset */
static _Atomic int64_t memory_used;
static int64_t memory_reserved;

/* Number `which` of ASCEND_RT_VISIBLE_DEVICES, and how many there are; count -1 without the
 * variable. */
static int32_t visible(int64_t which, int64_t *count)
{
	const char *list = getenv("ASCEND_RT_VISIBLE_DEVICES");
	int32_t found = -1;

	*count = -1;
	if (!list || !*list)
		return -1;
	*count = 0;
	while (*list) {
		size_t length = strcspn(list, ",");
		int64_t id;

		/* As in CANN, the list ends at the first entry that is no device. */
		if (!np_text_to_int(list, length, &id) || id < 0 || id >= nsim_knobs()->devices)
			break;
		if ((*count)++ == which)
			found = (int32_t)id;
		list += length + (list[length] == ',');
	}
	return found;
}

uint32_t nsim_device_count(void)
{
	int64_t count;

	(void)visible(-1, &count);
	return count < 0 ? nsim_knobs()->devices : (uint32_t)count;
}

int32_t nsim_device_physical(int64_t logical)
{
	int64_t count;
	int32_t id = visible(logical, &count);

	if (count >= 0)
		return id;
	return logical >= 0 && logical < nsim_knobs()->devices ? (int32_t)logical : -1;
}

int32_t nsim_device_current(void)
{
	return current;
}

void nsim_device_use(int32_t logical)
{
	current = logical;
	nsim_lock();
	uses[logical]++;
	nsim_unlock();
}

void nsim_device_release(int32_t logical)
{
	nsim_lock();
	uses[logical] = 0;
	nsim_unlock();
	if (current == logical)
		current = -1;
}

uint32_t nsim_device_active(uint32_t *ids, uint32_t max)
{
	uint32_t count = 0;

	for (uint32_t id = 0; id < MAX_DEVICES && count < max; id++) {
		if (uses[id] > 0)
			ids[count++] = id;
	}
	return count;
}

int64_t nsim_memory_used(void)
{
	return memory_used;
}

int64_t nsim_memory_total(void)
{
	return INT64_C(64) << 30;
}

/* Reserved memory never shrinks, as with an allocator that caches. */
void nsim_memory_change(const void *address, int64_t bytes, const char *name)
{
	np_ns now = nsim_true_ns();
	int32_t device = nsim_device_physical(nsim_device_current());

	nsim_lock();
	memory_used += bytes;
	if (memory_used > memory_reserved)
		memory_reserved = memory_used;
	if (nsim_records(ACL_PROF_TASK_MEMORY))
		nsim_record(device, now, now, "OPMEM\t%lld\t%d\t%s\t%llu\t%lld\t%lld\t%lld",
			    (long long)np_realtime_at(now), gettid(), nsim_text(name),
			    (unsigned long long)(uintptr_t)address, (long long)bytes,
			    (long long)memory_used, (long long)memory_reserved);
	nsim_record_memory(device, now);
	nsim_unlock();
}
