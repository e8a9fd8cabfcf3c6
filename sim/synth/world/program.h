/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_PROGRAM_H
#define SYN_PROGRAM_H

#include "sim/synth/plan/group.h"
#include "sim/synth/plan/model.h"

/*
 * What one rank does in one step
 * ==============================
 *
 * A program is the list of things the host launches, in the order of launching.
 * Each goes to a stream, where it runs after its predecessor there and after
 * the items it waits for. How long anything takes is not decided here except
 * for kernels, whose time depends on nobody else.
 *
 * A program is a function of the configuration, the rank and the step: it can
 * be built again at any time and is then the same.
 */
enum syn_kind {
	SYN_KERNEL,
	SYN_COMM,
	SYN_MEMCPY,
};

enum syn_op {
	SYN_ALL_REDUCE,
	SYN_REDUCE_SCATTER,
	SYN_ALL_GATHER,
	SYN_ALL_TO_ALL_V,
	SYN_SEND,
	SYN_RECEIVE,
	SYN_BATCH_SEND_RECV,
	/* These the generator never uses. */
	SYN_BROADCAST,
	SYN_REDUCE_TO_ROOT,
	SYN_SCATTER,
	SYN_ALL_TO_ALL,
	SYN_OTHER_OP,
	SYN_OPS,
};

/* "allReduce": the word between hcom_ and __ in the operator's name. */
const char *syn_op_word(enum syn_op op);
bool syn_op_is_p2p(enum syn_op op);

enum syn_stream {
	SYN_STREAM_COMPUTE,
	SYN_STREAM_WORLD,
	SYN_STREAM_TP,
	SYN_STREAM_CP,
	SYN_STREAM_DP,
	SYN_STREAM_EXP,
	SYN_STREAM_PP, /* four: every kind of message has its own, so that none blocks another */
	SYN_STREAM_PP_LAST = SYN_STREAM_PP + 3,
	SYN_STREAMS,
};

#define SYN_NO_ITEM UINT32_MAX

struct syn_item {
	uint8_t kind;
	uint8_t stream;
	uint8_t pass;
	uint8_t op;
	bool combine; /* of SYN_ALL_TO_ALL_V: tokens come back from the experts */
	bool fp32;
	bool recorded; /* for whoever shows the events between streams */
	uint16_t model;
	uint16_t layer;
	uint16_t micro;
	uint16_t after_count; /* items it waits for: program->after[after_first...] */
	uint32_t after_first;
	uint32_t next;       /* on the same stream */
	uint32_t host_after; /* the host launches it only when that item has ended */

	/* Communication: the `instance`-th operator of the group in this step. */
	int32_t group;
	uint32_t instance;
	int32_t peer;          /* of a message: local rank; -1 in a collective */
	int64_t bytes;         /* count × element size; of a message, what goes out */
	int64_t receive_bytes; /* of a message, what comes in */
	int32_t tokens;        /* of an expert kernel; or a first dimension */

	np_ns delay_ns;    /* the host stops for this long before it */
	np_ns duration_ns; /* kernel or copy */

	np_ns host_ns;     /* the torch operator begins */
	np_ns torch_ns;    /* and ends */
	np_ns launch_ns;   /* the CANN call begins */
	np_ns launched_ns; /* and ends */
	np_ns start_ns;
	np_ns end_ns; /* NP_UNKNOWN until it is known */
};

struct syn_program {
	int32_t rank;
	int64_t step; /* index from 0 */
	NP_VEC(struct syn_item) items;
	NP_VEC(uint32_t) after;
	uint32_t first[SYN_STREAMS]; /* item per stream, or SYN_NO_ITEM */
	uint32_t last[SYN_STREAMS];
	uint32_t ops[SYN_ROLES]; /* collectives launched per role of group */
};

void syn_program_release(struct syn_program *program);

/* Build the program of a rank in a step, with kernel times; an old content is replaced. */
int syn_program_build(struct syn_program *program, const struct syn_config *config,
		      const struct syn_groups *groups, int32_t rank, int64_t step,
		      struct np_err *err) NP_MUST_USE;

/* How many times longer than usual all kernels of a rank take in a step. */
double syn_work_factor(const struct syn_config *config, const struct syn_place *place,
		       int64_t step);

/*
 * The share of a micro-batch that the experts of each member of group `group`
 * attract in a layer: `count` weights whose sum is 1.
 */
struct syn_routing {
	const struct syn_config *config;
	int32_t group;
	int64_t step;
	uint16_t layer;
	uint16_t micro;
};

void syn_expert_weights(const struct syn_routing *routing, int32_t count, double *weights);

#endif /* SYN_PROGRAM_H */
