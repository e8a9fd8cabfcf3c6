/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that the members of a communicator share. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hccl.h"

static size_t segment_bytes(uint32_t size)
{
	return sizeof(struct hccl_segment) + size * sizeof(struct hccl_member) +
	       (size_t)HCCL_SLOTS * size * sizeof(struct hccl_post) +
	       (size_t)size * size * sizeof(struct hccl_channel);
}

static void lay_out(struct hccl_comm *comm)
{
	comm->members = (struct hccl_member *)(comm->segment + 1);
	comm->posts = (struct hccl_post *)(comm->members + comm->size);
	comm->channels = (struct hccl_channel *)(comm->posts + (size_t)HCCL_SLOTS * comm->size);
}

static void introduce(struct hccl_comm *comm)
{
	struct hccl_member *me = &comm->members[comm->rank];

	me->world_rank = nsim_knobs()->rank;
	(void)snprintf(me->host, sizeof(me->host), "%s",
		       np_realtime_host() ? np_realtime_host() : "");
	atomic_fetch_add(&comm->segment->joined, 1);
}

/* The name goes away as soon as all are there, or nobody waits any longer: nothing stays behind. */
static HcclResult await_members(struct hccl_comm *comm)
{
	np_ns until = nsim_true_ns() + nsim_knobs()->join_timeout;
	HcclResult rc = HCCL_SUCCESS;

	while (atomic_load(&comm->segment->joined) < comm->size) {
		if (nsim_true_ns() > until) {
			rc = HCCL_E_TIMEOUT;
			break;
		}
		nsim_sleep_until(nsim_true_ns() + 500000);
	}
	(void)shm_unlink(comm->segment_name);
	return rc;
}

/* Whoever comes first makes it; all give it the same length, and a new one is full of zeros. */
static void *map_segment(const char *name, size_t bytes)
{
	int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
	void *address = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		(void)close(fd);
	return address;
}

HcclResult hccl_segment_join(struct hccl_comm *comm)
{
	void *address;

	comm->segment_bytes = segment_bytes(comm->size);
	address = map_segment(comm->segment_name, comm->segment_bytes);
	if (address == MAP_FAILED)
		return HCCL_E_MEMORY;
	comm->segment = address;
	lay_out(comm);
	introduce(comm);
	return await_members(comm);
}

void hccl_segment_leave(struct hccl_comm *comm)
{
	if (comm->segment)
		(void)munmap(comm->segment, comm->segment_bytes);
	comm->segment = NULL;
}
