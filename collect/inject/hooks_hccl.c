/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of HCCL: communicators and collectives of the application. */
#include "cadence.h"
#include "hooks.h"

/*
 * HCCL: who belongs to which communicator, and the rhythm of the collectives.
 *
 * Functions that are rare or new (HcclAllGatherV, HcclReduceScatterV, …) have no hook:
 * a hook makes a function appear that this CANN may not have, and frameworks ask.
 * The others are enough to see the rhythm.
 */
/* NOLINTBEGIN(readability-identifier-naming): names of CANN */
NP_HOOK HcclResult HcclCommInitRootInfo(uint32_t count, const HcclRootInfo *root, uint32_t rank,
					HcclComm *comm);
NP_HOOK HcclResult HcclCommInitRootInfoConfig(uint32_t count, const HcclRootInfo *root,
					      uint32_t rank, const HcclCommConfig *config,
					      HcclComm *comm);
NP_HOOK HcclResult HcclCommInitClusterInfo(const char *table, uint32_t rank, HcclComm *comm);
NP_HOOK HcclResult HcclCommInitClusterInfoConfig(const char *table, uint32_t rank,
						 HcclCommConfig *config, HcclComm *comm);
NP_HOOK HcclResult HcclCommInitAll(uint32_t count, int32_t *devices, HcclComm *comms);
NP_HOOK HcclResult HcclCreateSubCommConfig(HcclComm *parent, uint32_t count, uint32_t *ranks,
					   uint64_t id, uint32_t rank, HcclCommConfig *config,
					   HcclComm *comm);

NP_HOOK HcclResult HcclAllReduce(void *send, void *recv, uint64_t count, HcclDataType type,
				 HcclReduceOp op, HcclComm comm, aclrtStream stream);
NP_HOOK HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType type, uint32_t root,
				 HcclComm comm, aclrtStream stream);
NP_HOOK HcclResult HcclAllGather(void *send, void *recv, uint64_t count, HcclDataType type,
				 HcclComm comm, aclrtStream stream);
NP_HOOK HcclResult HcclReduceScatter(void *send, void *recv, uint64_t count, HcclDataType type,
				     HcclReduceOp op, HcclComm comm, aclrtStream stream);
NP_HOOK HcclResult HcclReduce(void *send, void *recv, uint64_t count, HcclDataType type,
			      HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);
NP_HOOK HcclResult HcclScatter(void *send, void *recv, uint64_t count, HcclDataType type,
			       uint32_t root, HcclComm comm, aclrtStream stream);
NP_HOOK HcclResult HcclSend(void *buf, uint64_t count, HcclDataType type, uint32_t peer,
			    HcclComm comm, aclrtStream stream);
NP_HOOK HcclResult HcclRecv(void *buf, uint64_t count, HcclDataType type, uint32_t peer,
			    HcclComm comm, aclrtStream stream);
NP_HOOK HcclResult HcclAlltoAll(const void *send, uint64_t send_count, HcclDataType send_type,
				const void *recv, uint64_t recv_count, HcclDataType recv_type,
				HcclComm comm, aclrtStream stream);
NP_HOOK HcclResult HcclAlltoAllV(const void *send, const void *send_counts, const void *send_places,
				 HcclDataType send_type, const void *recv, const void *recv_counts,
				 const void *recv_places, HcclDataType recv_type, HcclComm comm,
				 aclrtStream stream);
NP_HOOK HcclResult HcclAlltoAllVC(const void *send, const void *send_counts, HcclDataType send_type,
				  const void *recv, HcclDataType recv_type, HcclComm comm,
				  aclrtStream stream);
NP_HOOK HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);
NP_HOOK HcclResult HcclBatchSendRecv(void *items, uint32_t count, HcclComm comm,
				     aclrtStream stream);

/* Found the same way, not hooked. */
HcclResult HcclGetCommName(HcclComm comm, char *name);
HcclResult HcclGetRankSize(HcclComm comm, uint32_t *size);
HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);
/* NOLINTEND(readability-identifier-naming) */

/* Does the caller's configuration reach as far as the end of this field? */
#define HAS_FIELD(config, field) \
	((config) && (config)->magic == HCCL_CONFIG_MAGIC && \
	 (config)->size >= \
		 offsetof(HcclCommConfig, field) + sizeof(((HcclCommConfig *)NULL)->field))

static bool ask_name(HcclComm comm, char *name)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclGetCommName);

	return real && real(comm, name) == HCCL_SUCCESS;
}

static uint32_t ask_size(HcclComm comm)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclGetRankSize);
	uint32_t size = 0;

	return real && real(comm, &size) == HCCL_SUCCESS ? size : 0;
}

static uint32_t ask_rank(HcclComm comm)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclGetRankId);
	uint32_t rank = 0;

	return real && real(comm, &rank) == HCCL_SUCCESS ? rank : 0;
}

/* A text of the configuration, which need not end. */
static void take_text(char *to, const char *from)
{
	memcpy(to, from, HCCL_COMM_NAME_BYTES - 1);
	to[HCCL_COMM_NAME_BYTES - 1] = '\0';
}

/* A communicator was made. `ranks`: its members as ranks of `parent`, or NULL. */
static void made(HcclComm comm, const HcclCommConfig *config, HcclComm parent,
		 const uint32_t *ranks)
{
	struct np_comm_info info = { .handle = comm };

	if (!comm || !np_hook_active())
		return;
	np_inside++;
	if (HAS_FIELD(config, hcclCommName))
		take_text(info.given_name, config->hcclCommName);
	if (!ask_name(comm, info.name))
		take_text(info.name, info.given_name);
	info.name[sizeof(info.name) - 1] = '\0';
	info.size = ask_size(comm);
	info.group_rank = ask_rank(comm);
	if (HAS_FIELD(config, hcclUdi))
		take_text(info.pg_name, config->hcclUdi);
	np_inside--;
	if (info.name[0] && info.size > 0)
		np_inject_communicator(&np_inject, &info, parent, ranks);
}

/* HCCL may use one of these functions to carry out another: what it makes inside is not reported.
 */
#define MAKE(...) \
	__extension__({ \
		HcclResult code_ = HCCL_E_NOT_SUPPORT; \
		if (real) { \
			np_inside++; \
			code_ = real(__VA_ARGS__); \
			np_inside--; \
		} \
		code_; \
	})

HcclResult HcclCommInitRootInfo(uint32_t count, const HcclRootInfo *root, uint32_t rank,
				HcclComm *comm)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclCommInitRootInfo);
	HcclResult code = MAKE(count, root, rank, comm);

	if (code == HCCL_SUCCESS)
		made(*comm, NULL, NULL, NULL);
	return code;
}

HcclResult HcclCommInitRootInfoConfig(uint32_t count, const HcclRootInfo *root, uint32_t rank,
				      const HcclCommConfig *config, HcclComm *comm)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclCommInitRootInfoConfig);
	HcclResult code = MAKE(count, root, rank, config, comm);

	if (code == HCCL_SUCCESS)
		made(*comm, config, NULL, NULL);
	return code;
}

HcclResult HcclCommInitClusterInfo(const char *table, uint32_t rank, HcclComm *comm)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclCommInitClusterInfo);
	HcclResult code = MAKE(table, rank, comm);

	if (code == HCCL_SUCCESS)
		made(*comm, NULL, NULL, NULL);
	return code;
}

HcclResult HcclCommInitClusterInfoConfig(const char *table, uint32_t rank, HcclCommConfig *config,
					 HcclComm *comm)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclCommInitClusterInfoConfig);
	HcclResult code = MAKE(table, rank, config, comm);

	if (code == HCCL_SUCCESS)
		made(*comm, config, NULL, NULL);
	return code;
}

HcclResult HcclCommInitAll(uint32_t count, int32_t *devices, HcclComm *comms)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclCommInitAll);
	HcclResult code = MAKE(count, devices, comms);

	for (uint32_t i = 0; code == HCCL_SUCCESS && i < count; i++)
		made(comms[i], NULL, NULL, NULL);
	return code;
}

HcclResult HcclCreateSubCommConfig(HcclComm *parent, uint32_t count, uint32_t *ranks, uint64_t id,
				   uint32_t rank, HcclCommConfig *config, HcclComm *comm)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclCreateSubCommConfig);
	HcclResult code = MAKE(parent, count, ranks, id, rank, config, comm);

	/* A rank that is not a member gets no communicator. */
	if (code == HCCL_SUCCESS && ranks)
		made(*comm, config, *parent, ranks);
	return code;
}

/*
 * Collectives
 */
enum call_kind {
	CALL_ALL_REDUCE = 1,
	CALL_BROADCAST,
	CALL_ALL_GATHER,
	CALL_REDUCE_SCATTER,
	CALL_REDUCE,
	CALL_SCATTER,
	CALL_SEND,
	CALL_RECV,
	CALL_ALL_TO_ALL,
	CALL_ALL_TO_ALL_V,
	CALL_ALL_TO_ALL_VC,
	CALL_BARRIER,
	CALL_BATCH,
};

#define DETAIL 160

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static struct np_cadence cadence;

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* What is known about the period, for people; made once for each. */
static const char *describe(void)
{
	static uint64_t period;
	static uint64_t origin;
	static char text[DETAIL];

	if (period == cadence.period && origin == cadence.origin)
		return text;
	period = cadence.period;
	origin = cadence.origin;
	(void)snprintf(text, sizeof(text),
		       "%llu collectives repeat from call %llu on; other periods before: %llu; "
		       "confidence %s",
		       (unsigned long long)period, (unsigned long long)origin,
		       (unsigned long long)cadence.breaks,
		       cadence.breaks == 0   ? "high"
		       : cadence.breaks <= 2 ? "medium"
					     : "low");
	return text;
}

static void count_call(uint64_t call)
{
	uint32_t waits = atomic_load_explicit(&np_inject.waits, memory_order_relaxed);
	char detail[DETAIL];
	uint64_t breaks;
	int64_t step;
	bool begins;
	bool lost;

	(void)pthread_mutex_lock(&counting);
	if (cadence.calls == 0)
		np_cadence_init(&cadence);
	breaks = cadence.breaks;
	begins = np_cadence_call(&cadence, call, waits, &step);
	lost = cadence.breaks != breaks;
	if (begins)
		memcpy(detail, describe(), sizeof(detail));
	(void)pthread_mutex_unlock(&counting);
	if (lost)
		np_inject_cadence_lost(&np_inject);
	if (begins)
		np_inject_step(&np_inject, NP_STEP_HCCL, step, detail);
}

static void attend(unsigned attention, enum call_kind kind, uint64_t count, uint64_t detail,
		   HcclComm comm)
{
	if (!np_hook_active())
		return;
	if (attention & NP_ATTENTION_CADENCE)
		count_call(mix(mix(mix(kind, count), detail), (uintptr_t)comm));
	if (attention & NP_ATTENTION_DUE)
		np_inject_attend(&np_inject, false);
}

/* Before a collective: what is counted begins with it. */
static inline void before(enum call_kind kind, uint64_t count, uint64_t detail, HcclComm comm)
{
	unsigned attention = np_hook_attention();

	if (__builtin_expect(attention != 0, 0))
		attend(attention, kind, count, detail, comm);
}

/* Type and root or peer in one number. */
static uint64_t both(HcclDataType type, uint32_t rank)
{
	return (uint64_t)(uint32_t)type << 32 | rank;
}

HcclResult HcclAllReduce(void *send, void *recv, uint64_t count, HcclDataType type, HcclReduceOp op,
			 HcclComm comm, aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclAllReduce);

	before(CALL_ALL_REDUCE, count, both(type, (uint32_t)op), comm);
	return real ? real(send, recv, count, type, op, comm, stream) : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType type, uint32_t root, HcclComm comm,
			 aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclBroadcast);

	before(CALL_BROADCAST, count, both(type, root), comm);
	return real ? real(buf, count, type, root, comm, stream) : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclAllGather(void *send, void *recv, uint64_t count, HcclDataType type, HcclComm comm,
			 aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclAllGather);

	before(CALL_ALL_GATHER, count, both(type, 0), comm);
	return real ? real(send, recv, count, type, comm, stream) : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclReduceScatter(void *send, void *recv, uint64_t count, HcclDataType type,
			     HcclReduceOp op, HcclComm comm, aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclReduceScatter);

	before(CALL_REDUCE_SCATTER, count, both(type, (uint32_t)op), comm);
	return real ? real(send, recv, count, type, op, comm, stream) : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclReduce(void *send, void *recv, uint64_t count, HcclDataType type, HcclReduceOp op,
		      uint32_t root, HcclComm comm, aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclReduce);

	before(CALL_REDUCE, count, both(type, root), comm);
	return real ? real(send, recv, count, type, op, root, comm, stream) : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclScatter(void *send, void *recv, uint64_t count, HcclDataType type, uint32_t root,
		       HcclComm comm, aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclScatter);

	before(CALL_SCATTER, count, both(type, root), comm);
	return real ? real(send, recv, count, type, root, comm, stream) : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclSend(void *buf, uint64_t count, HcclDataType type, uint32_t peer, HcclComm comm,
		    aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclSend);

	before(CALL_SEND, count, both(type, peer), comm);
	return real ? real(buf, count, type, peer, comm, stream) : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclRecv(void *buf, uint64_t count, HcclDataType type, uint32_t peer, HcclComm comm,
		    aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclRecv);

	before(CALL_RECV, count, both(type, peer), comm);
	return real ? real(buf, count, type, peer, comm, stream) : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclAlltoAll(const void *send, uint64_t send_count, HcclDataType send_type,
			const void *recv, uint64_t recv_count, HcclDataType recv_type,
			HcclComm comm, aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclAlltoAll);

	before(CALL_ALL_TO_ALL, send_count, both(send_type, 0), comm);
	return real ? real(send, send_count, send_type, recv, recv_count, recv_type, comm, stream)
		    : HCCL_E_NOT_SUPPORT;
}

/* Counts of the variable ones change from step to step: that there is one is what repeats. */
HcclResult HcclAlltoAllV(const void *send, const void *send_counts, const void *send_places,
			 HcclDataType send_type, const void *recv, const void *recv_counts,
			 const void *recv_places, HcclDataType recv_type, HcclComm comm,
			 aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclAlltoAllV);

	before(CALL_ALL_TO_ALL_V, 0, both(send_type, 0), comm);
	return real ? real(send, send_counts, send_places, send_type, recv, recv_counts,
			   recv_places, recv_type, comm, stream)
		    : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclAlltoAllVC(const void *send, const void *send_counts, HcclDataType send_type,
			  const void *recv, HcclDataType recv_type, HcclComm comm,
			  aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclAlltoAllVC);

	before(CALL_ALL_TO_ALL_VC, 0, both(send_type, 0), comm);
	return real ? real(send, send_counts, send_type, recv, recv_type, comm, stream)
		    : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclBarrier);

	before(CALL_BARRIER, 0, 0, comm);
	return real ? real(comm, stream) : HCCL_E_NOT_SUPPORT;
}

HcclResult HcclBatchSendRecv(void *items, uint32_t count, HcclComm comm, aclrtStream stream)
{
	NP_REAL(NP_LIBRARY_HCCL, HcclBatchSendRecv);

	before(CALL_BATCH, count, 0, comm);
	return real ? real(items, count, comm, stream) : HCCL_E_NOT_SUPPORT;
}
