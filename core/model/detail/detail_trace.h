/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DETAIL_TRACE_H
#define NP_DETAIL_TRACE_H

/*
 * A trace read into a detail: detail_trace_read.c says what to read of it,
 * detail_trace.c and detail_trace_device.c walk over the events and keep what the joins of
 * detail_trace_join.c and detail_trace_marks.c need, because the order of lanes in a
 * file is nobody's promise. The trace of a GPU is walked over likewise, with
 * detail_kineto.c for what is written otherwise in it.
 */

#include "core/model/vendor/kineto.h"
#include "core/model/vendor/trace_lanes.h"
#include "detail_load.h"

/* An arrow's end at a call of the framework. */
struct detail_flow {
	np_ns time;
	int64_t tid;
	int64_t id;
	enum np_lead_kind kind;
};

/* An end of the arrow from a mark to the task that it left on the device. */
struct detail_mark_flow {
	np_ns time;
	int64_t tid; /* the thread of the mark, the stream of the task */
	int64_t id;
	bool at_task;
};

struct detail_place {
	int64_t pid;
	int64_t tid;
};

/* In a trace of Kineto: a launch, or an allocation, that some operator made. */
struct detail_kineto_event {
	np_ns time;
	int64_t tid;
	int64_t id; /* connection, or row of detail->memory_ops */
	bool launch;
};

/* An operator that arrows may lead from. */
struct detail_kineto_site {
	int64_t external;
	uint32_t call; /* in detail->framework */
};

struct detail_kineto {
	NP_VEC(struct detail_kineto_event) events;
	NP_VEC(struct detail_kineto_site) sites;
	struct kineto_arrows arrows;
	bool calls;            /* of CUDA: then the two above are not needed */
	struct np_idmap *held; /* address → row of detail->memory_ops */
};

struct detail_trace {
	struct detail_load *load;
	struct detail_kineto *kineto; /* NULL: a trace of torch_npu or msprof */
	struct np_detail *detail;
	struct np_err *err;
	struct trace_lanes lanes;    /* of an NPU */
	NP_VEC(struct trace_op) ops; /* row: in detail->ops; NP_NO_ROW where the rank lists none */
	NP_VEC(struct detail_flow) flows;
	NP_VEC(struct detail_mark_flow) mark_flows;
	NP_VEC(np_str) task_names;             /* of detail->tasks */
	NP_VEC(np_str) task_cores;             /* likewise: what the trace calls their type */
	NP_VEC(struct detail_place) sub_tasks; /* of detail->sub_tasks */
	bool unknown_lanes;                    /* events came before the name of their lane */
	unsigned reads;                        /* sections taken from this trace */
};

/* Does the reader need this section of the trace? */
static inline bool detail_trace_reads(const struct detail_trace *trace, unsigned sections)
{
	return (trace->reads & sections) != 0;
}

/* --- events ---------------------------------------------------------------------------------- */

static inline int detail_trace_intern(struct detail_trace *trace, struct np_slice text, np_str *ret)
{
	return detail_intern(trace->load, text.bytes, text.length, ret);
}

static inline int64_t detail_value_integer(const struct np_trace_value *value)
{
	int64_t number;

	return np_trace_value_integer(value, &number) ? vendor_known(number) : NP_UNKNOWN;
}

/* --- files ----------------------------------------------------------------------------------- */

/* Tasks by start, found by binary search. */
struct detail_task_order {
	const struct np_detail *detail;
	uint32_t *item;
	size_t count;
};

/* All events are in: who belongs to whom. */
int detail_trace_join(struct detail_trace *trace) NP_MUST_USE;

/* Likewise for what arrows alone show of the calls of the framework. */
int detail_trace_link_calls(struct detail_trace *trace) NP_MUST_USE;

/* detail_kineto.c: what a trace of Kineto has and others have not; who launched, who allocated. */
int detail_kineto_take(struct detail_trace *trace, const struct np_trace_event *event) NP_MUST_USE;
int detail_kineto_take_arrow(struct detail_trace *trace, const struct np_trace_event *event)
	NP_MUST_USE;
/* The operator that was read last. */
int detail_kineto_take_site(struct detail_trace *trace, const struct np_trace_event *event)
	NP_MUST_USE;
int detail_kineto_place(struct detail_trace *trace) NP_MUST_USE;
void detail_kineto_release(struct detail_kineto *kineto);

#endif /* NP_DETAIL_TRACE_H */
