/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMM_TASKS_H
#define NP_COMM_TASKS_H

#include "npuprof/rank.h"
#include "npuprof/spans.h"

/*
 * The sub-tasks of a communication operator
 * ===========================================
 *
 * An operator is carried out by tasks on several planes: notifications, waits
 * for them, copies, reductions, RDMA sends. From them come the vendor's times
 * (on the master plane), the bandwidth by transport and packet size, the links,
 * and our own split of the operator into transfer and wait.
 */
enum np_comm_task_kind {
	NP_TASK_OTHER,
	NP_TASK_NOTIFY_WAIT,
	NP_TASK_PAYLOAD,      /* Memcpy, Reduce_Inline */
	NP_TASK_RDMA_PAYLOAD, /* one send of an RDMA group */
};

/* The vendor's numbers for links and transports; others occur and are kept as they are. */
enum {
	NP_LINK_ON_CHIP = 0,
	NP_LINK_HCCS = 1,
	NP_LINK_PCIE = 2,
	NP_LINK_ROCE = 3,
	NP_LINK_SIO = 4,
	NP_LINK_HCCS_SW = 5,
	NP_LINK_STANDARD_ROCE = 6,
	NP_LINK_UB = 7,
	NP_LINK_UBOE = 8,
	NP_TRANSPORT_SDMA = 0,
	NP_TRANSPORT_RDMA = 1,
	NP_TRANSPORT_LOCAL = 2,
	NP_TRANSPORT_UB = 3,
	NP_TRANSPORT_ROCE = 4,
	NP_RDMA_SEND_PAYLOAD = 1,
};

#define NP_NO_PEER INT32_MIN

/* A rank of a link, local to the communicator; NP_NO_PEER for the marks of "none". */
/* No job has more ranks: a number beyond that is none of a rank. */
#define NP_MOST_RANKS INT64_C(16777215)

static inline int32_t np_peer_of(int64_t rank)
{
	return rank < 0 || rank > NP_MOST_RANKS ? NP_NO_PEER : (int32_t)rank;
}

struct np_comm_task {
	np_ns start;
	np_ns end;
	int64_t bytes; /* of payload; 0 and NP_UNKNOWN are the same: nobody recorded it */
	uint32_t op;   /* index of its operator */
	uint32_t plane;
	int32_t src; /* local to the communicator; NP_NO_PEER when there is none */
	int32_t dst;
	uint16_t link;
	uint8_t transport;
	uint8_t kind; /* enum np_comm_task_kind */
	bool master;
	bool reduces; /* Reduce_Inline */
};

/* What is known about all tasks of a rank. */
struct np_comm_tasks_form {
	bool has_master; /* the tasks say which plane is the master */
	bool has_links;  /* planes, sizes and links were recorded (not so at Level0) */
	bool may_lack;   /* sizes of some were not: nothing is lost that could be known */
};

/*
 * Measure the operators of a rank from their tasks. `tasks` is sorted in place
 * (by operator, plane, time); operators without tasks keep NP_UNKNOWN. Fills
 * transit, wait, sync and transfer of rank->ops and appends rank->bands,
 * rank->links and rank->transfers.
 *
 * At Level0 there are no planes and no links: transit is the union of payload,
 * wait the rest and sync what lies before the first payload; bands and links
 * stay empty.
 */
struct np_comm_tasks;

struct np_comm_tasks *np_comm_tasks_new(struct np_rank *rank, struct np_strtab *strings)
	NP_MUST_USE;
void np_comm_tasks_free(struct np_comm_tasks *walk);

/* All tasks of some operators, which are not in another call; sorted in place. */
int np_comm_tasks_add(struct np_comm_tasks *walk, struct np_comm_task *tasks, size_t count,
		      struct np_comm_tasks_form form, struct np_err *err) NP_MUST_USE;

/*
 * That was all, and the steps of operators are known: appends links and transfers. Transfers
 * of unknown size are in neither, nor in bands; where no size is known, rank->sizes_known is
 * taken back.
 */
int np_comm_tasks_finish(struct np_comm_tasks *walk, struct np_comm_tasks_form form,
			 struct np_err *err) NP_MUST_USE;

/* All three for tasks that are all there. */
int np_comm_tasks_measure(struct np_rank *rank, struct np_strtab *strings,
			  struct np_comm_task *tasks, size_t count, struct np_comm_tasks_form form,
			  struct np_err *err) NP_MUST_USE;

/* "hcom_reduceScatter__097_4_1" → "reducescatter", the class under which links are summed. */
size_t np_op_class(const char *op_name, char *ret, size_t size);

#endif /* NP_COMM_TASKS_H */
