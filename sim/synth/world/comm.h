/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_COMM_H
#define SYN_COMM_H

#include "program.h"

/*
 * How an operator is carried out
 * ==============================
 *
 * Within a host every member copies to and from every other at once, a plane
 * each (mesh). Beyond it the members form a ring, except for all-to-all, which
 * stays a mesh of at most seven planes. A message is a copy by the receiver, or
 * between hosts an RDMA write by the sender.
 *
 * Nothing is copied before the last member has arrived. The slowest link
 * decides when a phase ends, for all members. Then each ends with a small delay
 * of its own.
 */
#define SYN_PLANES 7

struct syn_slot {
	np_ns start_ns;
	np_ns end_ns;
};

/* One operator of one group: what all members do together. */
struct syn_instance {
	int64_t step;
	int32_t group;
	uint32_t index; /* among the group's operators of the step */
	uint8_t op;
	bool combine;
	bool fp32;
	uint16_t layer;
	uint16_t micro;
	int32_t members; /* 0: not used */
	int32_t arrived;
	int32_t low;        /* of a message: local rank of the lower stage */
	int64_t bytes;      /* collective: of the first member to arrive */
	int64_t up_bytes;   /* message: from the lower to the upper stage */
	int64_t down_bytes; /* message: the other way */
	size_t first_slot;  /* of its members; a message has two, the lower stage first */
	np_ns arrival_ns;   /* of the last member */
	np_ns phase_ns[2];  /* the slowest link in each */
	np_ns transfer_ns;  /* from the last arrival to the end, before the delay of each rank */
};

enum syn_sub_task_kind {
	SYN_NOTIFY_RECORD,
	SYN_NOTIFY_WAIT,
	SYN_COPY,
	SYN_REDUCE,
	SYN_RDMA_PAYLOAD,
	SYN_RDMA_NOTIFY,
};

/* A task of an operator on one of its planes. */
struct syn_sub_task {
	np_ns start_ns;
	np_ns end_ns;
	uint8_t kind;
	uint8_t plane;
	bool on_chip;
	int32_t src; /* local ranks */
	int32_t dst; /* -1: none */
	int64_t size;
};

struct syn_sub_tasks {
	NP_VEC(struct syn_sub_task) all;
};

struct syn_comm {
	const struct syn_config *config;
	const struct syn_groups *groups;
	NP_VEC(double) weights; /* of experts, kept between calls */
};

void syn_comm_release(struct syn_comm *comm);

/* Fill phase_ns and transfer_ns of an instance that all its members have reached. */
int syn_comm_transfer(struct syn_comm *comm, struct syn_instance *instance, struct np_err *err)
	NP_MUST_USE;

/* How long after the common end the operator ends on a rank. */
np_ns syn_comm_end_noise(const struct syn_config *config, const struct syn_instance *instance,
			 int32_t rank);

/*
 * The tasks of `rank` in an instance, replacing what `sub_tasks` held. `slots` are
 * those of the instance's members. The first begins when the operator does and
 * the last ends with it.
 */
int syn_comm_tasks(struct syn_comm *comm, const struct syn_instance *instance,
		   const struct syn_slot *slots, int32_t rank, struct syn_sub_tasks *sub_tasks,
		   struct np_err *err) NP_MUST_USE;

const char *syn_algorithm(const struct syn_group *group);

#endif /* SYN_COMM_H */
