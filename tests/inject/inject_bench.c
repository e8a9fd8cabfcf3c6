/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hook costs: calls that do nothing, many of them.
 *
 *	inject_bench CALLS [allreduce|synchronize|step|mixed]
 *
 * prints the wall time of the loop in nanoseconds.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "npuprof_step.h"

extern int aclrtSetDevice(int32_t device);
extern int aclrtSynchronizeStream(void *stream);
extern int HcclCommInitRootInfo(uint32_t size, const void *root, uint32_t rank, void **comm);
extern int HcclAllReduce(void *send, void *recv, uint64_t count, int type, int op, void *comm,
			 void *stream);

static void *comm;

static void all_reduce(long i)
{
	(void)HcclAllReduce(NULL, NULL, 1024 + (uint64_t)i % 7, 4, 0, comm, NULL);
}

static void synchronize(long i)
{
	(void)i;
	(void)aclrtSynchronizeStream(NULL);
}

/* Ten collectives, one wait. */
static void mixed(long i)
{
	if (i % 11 == 10)
		synchronize(i);
	else
		all_reduce(i % 11);
}

static void step(long i)
{
	npuprof_mark_step(i);
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	const char *what = argc > 2 ? argv[2] : "mixed";
	void (*call)(long) = strcmp(what, "allreduce") == 0     ? all_reduce
			     : strcmp(what, "synchronize") == 0 ? synchronize
			     : strcmp(what, "step") == 0        ? step
								: mixed;
	struct timespec begin;
	struct timespec end;

	(void)aclrtSetDevice(0);
	(void)HcclCommInitRootInfo(1, NULL, 0, &comm);
	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long i = 0; i < calls; i++)
		call(i);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%" PRId64 "\n",
	       (int64_t)(end.tv_sec - begin.tv_sec) * 1000000000 + (end.tv_nsec - begin.tv_nsec));
	return 0;
}
