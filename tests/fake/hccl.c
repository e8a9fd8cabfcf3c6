/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhccl.so in which nothing happens: communicators have a name and a size, collectives
 * return at once. For tests of what stands before HCCL.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct comm {
	char name[128];
	uint32_t size;
	uint32_t rank;
};

static struct comm comms[8];
static uint32_t used;

EXPORT int HcclCommInitRootInfo(uint32_t size, const void *root, uint32_t rank, void **comm);
EXPORT int HcclCreateSubCommConfig(void **parent, uint32_t count, uint32_t *ranks, uint64_t id,
				   uint32_t rank, void *config, void **comm);
EXPORT int HcclGetCommName(void *comm, char *name);
EXPORT int HcclGetRankSize(void *comm, uint32_t *size);
EXPORT int HcclGetRankId(void *comm, uint32_t *rank);
EXPORT int HcclAllReduce(void *send, void *recv, uint64_t count, int type, int op, void *comm,
			 void *stream);
EXPORT int HcclAllGather(void *send, void *recv, uint64_t count, int type, void *comm,
			 void *stream);

int HcclCommInitRootInfo(uint32_t size, const void *root, uint32_t rank, void **comm)
{
	(void)root;
	if (used == sizeof(comms) / sizeof(comms[0]))
		return 4;
	comms[used] = (struct comm){ .size = size, .rank = rank };
	(void)snprintf(comms[used].name, sizeof(comms[used].name), "127.0.0.1%%lo_60000_%u", used);
	*comm = &comms[used++];
	return 0;
}

int HcclCreateSubCommConfig(void **parent, uint32_t count, uint32_t *ranks, uint64_t id,
			    uint32_t rank, void *config, void **comm)
{
	(void)parent;
	(void)id;
	(void)config;
	return ranks ? HcclCommInitRootInfo(count, NULL, rank, comm) : 0;
}

int HcclGetCommName(void *comm, char *name)
{
	memcpy(name, ((struct comm *)comm)->name, 128);
	return 0;
}

int HcclGetRankSize(void *comm, uint32_t *size)
{
	*size = ((struct comm *)comm)->size;
	return 0;
}

int HcclGetRankId(void *comm, uint32_t *rank)
{
	*rank = ((struct comm *)comm)->rank;
	return 0;
}

int HcclAllReduce(void *send, void *recv, uint64_t count, int type, int op, void *comm,
		  void *stream)
{
	(void)send;
	(void)recv;
	(void)count;
	(void)type;
	(void)op;
	(void)stream;
	return comm ? 0 : 2;
}

int HcclAllGather(void *send, void *recv, uint64_t count, int type, void *comm, void *stream)
{
	(void)send;
	(void)recv;
	(void)count;
	(void)type;
	(void)stream;
	return comm ? 0 : 2;
}
