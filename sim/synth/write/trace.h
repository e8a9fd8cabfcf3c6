/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_TRACE_H
#define SYN_TRACE_H

#include "backend.h"
#include "npuprof/strtab.h"
#include "sim/synth/account/overlap.h"
#include "sim/synth/out/out.h"
#include "sim/synth/out/sorter.h"

/*
 * trace_view.json, and msprof_<time>.json, while they are written
 * ===============================================================
 *
 * torch_npu puts its own events first and what msprof exported behind them:
 *
 *	calls of the framework, Enqueue, Dequeue, names of its threads,   trace_framework.c
 *	names of the other lanes, all their events in order of time,      trace_lanes.c,
 *trace_events.c arrows from the framework to the device
 *
 * Calls are written as they come. What belongs behind them waits: text in
 * spools, events of other lanes as small records in a sorter. So the whole is
 * never in memory.
 */
enum syn_trace_kind {
	/* In this order if they begin at the same time. */
	SYN_TRACE_COUNTER,
	SYN_TRACE_CALL,
	SYN_TRACE_ARROW, /* from a call to the device */
	SYN_TRACE_TASK,
	SYN_TRACE_SUB_TASK_ON_DEVICE,
	SYN_TRACE_SUB_TASK,
	SYN_TRACE_OP,
	SYN_TRACE_OVERLAP,
};

struct syn_trace_event {
	np_ns start_ns;
	np_ns length_ns;
	uint32_t number; /* in the order of arrival */
	uint8_t kind;
	uint8_t detail; /* enum syn_api_level, syn_task_kind, syn_sub_task_kind or syn_lane */
	union {
		uint8_t plane;
		uint8_t core; /* of a kernel */
	};
	uint8_t data_type : 7;
	bool on_chip : 1;
	int32_t place; /* stream, or index in `groups` */
	int32_t src;
	int32_t dst;
	union {
		int64_t connection;
		int64_t stream; /* of a sub-task in its communicator's lane */
	};
	union {
		int64_t id;
		int64_t count; /* of an operator */
	};
	union {
		int64_t size;
		np_ns host_ns;    /* of the call of the framework, or NP_UNKNOWN */
		const char *item; /* of a call */
	};
	const char *name;
};

/* A communicator's thread, and its planes behind it. */
struct syn_trace_group {
	const struct syn_group *group;
	int64_t thread;
	int planes;
};

struct syn_trace {
	struct syn_sink base;
	const struct syn_rank_info *info;
	const struct syn_config *config;
	bool framework;

	struct syn_out out;
	bool begun; /* something stands behind the bracket */
	struct syn_out enqueues;
	struct syn_out dequeues;
	struct syn_out arrows;
	bool arrows_begun;

	struct syn_sorter events;
	uint32_t numbers;
	struct np_strtab *names;
	struct syn_overlap overlap;
	NP_VEC(struct syn_trace_group) groups;
	bool streams[65536];
	np_ns first_ns;
	np_ns last_ns;

	/* Of the present launch. */
	np_ns torch_ns;
	bool is_queued; /* the torch operator waits for its call */
	const char *item;
	np_ns call_ns[SYN_API_RUNTIME + 1]; /* begin of the last call of each level */
	int64_t comm_connection;            /* of the last call of HCCL */
	int64_t correlation;
};

/* Lanes are processes of the trace, numbered as torch_npu does. */
enum {
	SYN_LANE_CANN = 7,
	SYN_LANE_HARDWARE = 13,
	SYN_LANE_FREQUENCY = 14,
	SYN_LANE_HCCL = 15,
	SYN_LANE_OVERLAP = 23,
};

int64_t syn_trace_pid(const struct syn_trace *trace, int lane);

/* The thread that takes from the queue and launches. */
int64_t syn_trace_queue_thread(const struct syn_trace *trace);

/* The comma between two events. */
static inline void syn_trace_next(struct syn_out *out, bool *begun)
{
	if (*begun)
		SYN_PUT(out, ", ");
	*begun = true;
}

/* Of the framework. */
void syn_trace_torch(struct syn_trace *trace, const struct syn_api *api);
void syn_trace_dequeue(struct syn_trace *trace, const struct syn_api *api);
void syn_trace_step(struct syn_trace *trace, const struct syn_step_event *step);
int syn_trace_end_framework(struct syn_trace *trace, struct np_err *err) NP_MUST_USE;

/* One event of the lanes of msprof. */
void syn_trace_event(struct syn_trace *trace, const struct syn_trace_event *event);

#endif /* SYN_TRACE_H */
