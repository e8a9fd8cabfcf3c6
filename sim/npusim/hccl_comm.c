/* SPDX-License-Identifier: Apache-2.0 */
/* libhccl.so: making communicators. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hccl.h"
#include "npuprof/buf.h"
#include "npuprof/text.h"

#define SEGMENT_PREFIX "npusim."
#define ROOT_MAGIC     "npusim-root-1"

/* What the root tells the others, inside HcclRootInfo. */
struct root {
	char magic[16];
	char segment_name[128];
	char name[HCCL_COMM_NAME_MAX];
};

_Static_assert(sizeof(struct root) <= sizeof(HcclRootInfo), "the root info has room for it");

/* Left behind by a process that was killed while it waited for others? "npusim.<pid>.…" */
static bool is_stale(int shm, const char *name)
{
	const char *pid_text = name + strlen(SEGMENT_PREFIX);
	struct stat status;
	int64_t pid;

	if (strncmp(name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) != 0 ||
	    !np_text_to_int(pid_text, strcspn(pid_text, "."), &pid) || pid <= 0 ||
	    kill((pid_t)pid, 0) == 0 || errno != ESRCH)
		return false;
	/* Who made the root info may have left before the members come. */
	return fstatat(shm, name, &status, 0) == 0 && status.st_mtim.tv_sec + 600 < time(NULL);
}

static void remove_stale(void)
{
	DIR *dir = opendir("/dev/shm");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char name[300];

		if (!is_stale(dirfd(dir), entry->d_name))
			continue;
		(void)snprintf(name, sizeof(name), "/%s", entry->d_name);
		(void)shm_unlink(name);
	}
	if (dir)
		(void)closedir(dir);
}

HcclResult HcclGetRootInfo(HcclRootInfo *root)
{
	struct root *info = (struct root *)root;
	np_ns now = nsim_true_ns();

	NSIM_MAY_FAIL("HcclGetRootInfo");
	if (!root)
		return HCCL_E_PTR;
	remove_stale();
	memset(root, 0, sizeof(*root));
	(void)snprintf(info->magic, sizeof(info->magic), ROOT_MAGIC);
	(void)snprintf(info->segment_name, sizeof(info->segment_name), "/" SEGMENT_PREFIX "%d.%lld",
		       getpid(), (long long)now);
	(void)snprintf(info->name, sizeof(info->name), "127.0.0.1%%npusim_60000_0_%lld",
		       (long long)(now / 1000));
	return HCCL_SUCCESS;
}

static void free_comm(struct hccl_comm *comm)
{
	hccl_segment_leave(comm);
	free(comm->sends);
	free(comm);
}

static struct hccl_comm *new_comm(uint32_t size, uint32_t rank)
{
	struct hccl_comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->size = size;
	comm->rank = rank;
	comm->sends = calloc((size_t)size * 4, sizeof(*comm->sends));
	if (!comm->sends) {
		free(comm);
		return NULL;
	}
	comm->receives = comm->sends + size;
	comm->sends_done = comm->receives + size;
	comm->receives_done = comm->sends_done + size;
	nsim_lock();
	for (size_t i = 0; i < NP_COUNT(comm->planes); i++)
		comm->planes[i] = nsim_stream_reserve_id();
	nsim_unlock();
	return comm;
}

/* Tell the recorder who is in it. */
static void announce(const struct hccl_comm *comm)
{
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;
	bool known = true;

	for (uint32_t i = 0; i < comm->size; i++) {
		known = known && comm->members[i].world_rank >= 0;
		np_buf_printf(&members, "%s%lld", i ? "," : "",
			      (long long)comm->members[i].world_rank);
	}
	known = known && np_buf_check(&members, NULL) == NP_OK;
	nsim_group_created(comm->name, comm->size, comm->rank, known ? members.text : NULL);
}

/* Join what `comm` names; on success it is the caller's. */
static HcclResult join(struct hccl_comm *comm, const HcclCommConfig *config, HcclComm *ret)
{
	bool named = config && config->size >= offsetof(HcclCommConfig, hcclUdi) &&
		     config->hcclCommName[0];
	HcclResult rc;

	if (named)
		(void)snprintf(comm->name, sizeof(comm->name), "%.*s", HCCL_COMM_NAME_MAX - 1,
			       config->hcclCommName);
	rc = hccl_segment_join(comm);
	if (rc != HCCL_SUCCESS) {
		free_comm(comm);
		return rc;
	}
	announce(comm);
	*ret = comm;
	return HCCL_SUCCESS;
}

static HcclResult init_root(uint32_t n, const HcclRootInfo *root, uint32_t rank,
			    const HcclCommConfig *config, HcclComm *ret)
{
	const struct root *info = (const struct root *)root;
	struct hccl_comm *comm;

	if (!root || !ret)
		return HCCL_E_PTR;
	if (n == 0 || n > 1024 || rank >= n || strcmp(info->magic, ROOT_MAGIC) != 0)
		return HCCL_E_PARA;
	comm = new_comm(n, rank);
	if (!comm)
		return HCCL_E_MEMORY;
	(void)snprintf(comm->segment_name, sizeof(comm->segment_name), "%s", info->segment_name);
	(void)snprintf(comm->name, sizeof(comm->name), "%s", info->name);
	return join(comm, config, ret);
}

HcclResult HcclCommInitRootInfo(uint32_t n, const HcclRootInfo *root, uint32_t rank, HcclComm *comm)
{
	NSIM_MAY_FAIL("HcclCommInitRootInfo");
	return init_root(n, root, rank, NULL, comm);
}

HcclResult HcclCommInitRootInfoConfig(uint32_t n, const HcclRootInfo *root, uint32_t rank,
				      const HcclCommConfig *config, HcclComm *comm)
{
	NSIM_MAY_FAIL("HcclCommInitRootInfoConfig");
	return init_root(n, root, rank, config, comm);
}

HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t n, uint32_t *rankIds, uint64_t id,
				   uint32_t subRank, HcclCommConfig *config, HcclComm *subComm)
{
	struct hccl_comm *parent;
	struct hccl_comm *child;

	NSIM_MAY_FAIL("HcclCreateSubCommConfig");
	if (!comm || !*comm || !rankIds || !subComm)
		return HCCL_E_PTR;
	parent = *comm;
	if (n == 0 || n > parent->size || subRank >= n || rankIds[subRank] != parent->rank)
		return HCCL_E_PARA;
	child = new_comm(n, subRank);
	if (!child)
		return HCCL_E_MEMORY;
	/* An id is used once by the members of a group; groups of other members may use it too. */
	(void)snprintf(child->segment_name, sizeof(child->segment_name), "%.160s.%llu.%u",
		       parent->segment_name, (unsigned long long)id, rankIds[0]);
	(void)snprintf(child->name, sizeof(child->name), "%.80s_sub_%llu_%u", parent->name,
		       (unsigned long long)id, rankIds[0]);
	return join(child, config, subComm);
}

HcclResult HcclCommInitClusterInfo(const char *rankTable, uint32_t rank, HcclComm *comm)
{
	(void)rankTable;
	(void)rank;
	(void)comm;
	NSIM_MAY_FAIL("HcclCommInitClusterInfo");
	return HCCL_E_NOT_SUPPORT;
}

HcclResult HcclCommInitClusterInfoConfig(const char *rankTable, uint32_t rank,
					 HcclCommConfig *config, HcclComm *comm)
{
	(void)rankTable;
	(void)rank;
	(void)config;
	(void)comm;
	NSIM_MAY_FAIL("HcclCommInitClusterInfoConfig");
	return HCCL_E_NOT_SUPPORT;
}

HcclResult HcclCommInitAll(uint32_t n, int32_t *devices, HcclComm *comms)
{
	(void)n;
	(void)devices;
	(void)comms;
	NSIM_MAY_FAIL("HcclCommInitAll");
	return HCCL_E_NOT_SUPPORT;
}

/* Operators that never end keep it alive. */
HcclResult HcclCommDestroy(HcclComm comm)
{
	NSIM_MAY_FAIL("HcclCommDestroy");
	if (!comm)
		return HCCL_E_PTR;
	if (nsim_device_current() >= 0)
		(void)nsim_stream_wait(NULL, nsim_device_current(), nsim_knobs()->hccl_timeout);
	nsim_lock();
	if (((struct hccl_comm *)comm)->in_flight == 0)
		free_comm(comm);
	nsim_unlock();
	return HCCL_SUCCESS;
}

HcclResult HcclGetCommName(HcclComm comm, char *name)
{
	NSIM_MAY_FAIL("HcclGetCommName");
	if (!comm || !name)
		return HCCL_E_PTR;
	(void)snprintf(name, HCCL_COMM_NAME_MAX, "%s", ((const struct hccl_comm *)comm)->name);
	return HCCL_SUCCESS;
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *size)
{
	NSIM_MAY_FAIL("HcclGetRankSize");
	if (!comm || !size)
		return HCCL_E_PTR;
	*size = ((const struct hccl_comm *)comm)->size;
	return HCCL_SUCCESS;
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank)
{
	NSIM_MAY_FAIL("HcclGetRankId");
	if (!comm || !rank)
		return HCCL_E_PTR;
	*rank = ((const struct hccl_comm *)comm)->rank;
	return HCCL_SUCCESS;
}
