/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TRACE_LANES_H
#define NP_TRACE_LANES_H

/*
 * Whose events are these? A process of a trace is a lane: the host, or one view of a
 * device. In a lane of communication every communicator has a thread, and after it
 * come those of its planes. Events of their own name them, before the others or
 * after.
 */

#include "npuprof/idmap.h"
#include "npuprof/strtab.h"
#include "npuprof/trace.h"
#include "npuprof/vec.h"

enum trace_lane_kind {
	TRACE_LANE_OTHER,
	TRACE_LANE_CANN,
	TRACE_LANE_HARDWARE,
	TRACE_LANE_COMMUNICATION,
	TRACE_LANE_OVERLAP,
	TRACE_LANE_FREQUENCY,
	TRACE_LANE_GC,
	TRACE_LANE_MARKS,
};

struct trace_lane {
	enum trace_lane_kind kind;
	int64_t device; /* NP_UNKNOWN when the label does not say */
};

/* A thread of a communication lane. */
struct trace_thread {
	int64_t pid;
	int64_t tid;
	int64_t order;  /* its place in the lane */
	np_str group;   /* the communicator's name where the reader keeps it; NONE for a plane */
	int64_t plane;  /* NP_UNKNOWN for a communicator's own thread */
	uint32_t owner; /* of a plane: the index of its communicator's thread */
};

struct trace_lanes {
	struct np_idmap *index; /* pid → list */
	NP_VEC(struct trace_lane) list;
	NP_VEC(struct trace_thread) threads;
};

int trace_lanes_init(struct trace_lanes *lanes, struct np_err *err) NP_MUST_USE;
void trace_lanes_release(struct trace_lanes *lanes);

/* An event of phase M: take what it says of a lane, or of the place of a thread that was added. */
int trace_lanes_take(struct trace_lanes *lanes, const struct np_trace_event *event,
		     struct np_err *err) NP_MUST_USE;

/* The lane of a process, or NULL as long as nothing names it. */
const struct trace_lane *trace_lanes_find(const struct trace_lanes *lanes, int64_t pid);

/* Is a file a trace of torch_npu or msprof? Looks at its first events. */
bool trace_is_of_npu(const char *path);

/* The device of the one lane of hardware; NP_UNKNOWN where there is another number of them. */
int64_t trace_lanes_device(const struct trace_lanes *lanes);

/* Is it a collection of garbage? It has a category as all that the host did, whatever its lane. */
bool trace_is_collection(const struct np_trace_event *event);

/* Is a counter the frequency of the AI cores? By its lane, which may be NULL, or by its name. */
bool trace_is_frequency(const struct trace_lane *lane, const struct np_trace_event *event);

/* The thread of an event, added if it is new; NULL when out of memory. */
struct trace_thread *trace_thread_add(struct trace_lanes *lanes, const struct np_trace_event *event,
				      struct np_err *err);

/* The thread that was added for this place, or NULL. */
struct trace_thread *trace_thread_at(const struct trace_lanes *lanes, int64_t pid, int64_t tid);

/* The number in the name of a plane's thread, "Plane 3"; false for another. */
bool trace_plane(struct np_slice name, int64_t *ret);

/* Is it the name of a communicator's thread, "Group … Communication"? */
bool trace_is_group(struct np_slice name);

/* What it calls the communicator: "0", "10.0.0.1%eth0_60000_0_17"; false where it is cut short. */
bool trace_group(struct np_slice name, struct np_slice *ret);

/* All threads were added: sort them and find the owners of planes. */
void trace_threads_own(struct trace_lanes *lanes);

/* --- operators -------------------------------------------------------------------------------
 *
 * To which operator does a sub-task of a trace belong? Only its time and thread are known.
 */

/* An operator on its communicator's thread. */
struct trace_op {
	np_ns start;
	np_ns end;
	int64_t pid;
	int64_t tid;
	int64_t connection;
	uint32_t row; /* where the reader keeps the rest */
};

/* By thread, then start, as trace_op_at() wants them. */
void trace_ops_sort(struct trace_op *ops, size_t count);

/* Does a task of this connection start on the device at `start`? */
typedef bool trace_starts_there(const void *tasks, np_ns start, int64_t connection);

#define TRACE_NO_OP UINT32_MAX

/*
 * The index of the operator of a communicator's thread in which a sub-task lies
 * from `start` to `end`, or TRACE_NO_OP. A send and a receive may run at once; then
 * the connection of the task on the device that starts with it decides, else which
 * of them it begins or ends with, and does not outlast.
 */
uint32_t trace_op_at(const struct trace_op *ops, size_t count, const struct trace_thread *owner,
		     np_ns start, np_ns end, trace_starts_there *starts_there, const void *tasks);

/* --- arguments of events ---------------------------------------------------------------------- */

/* Of a task of the device, in a lane of hardware. */
enum trace_task_key {
	TRACE_TASK_TYPE,
	TRACE_TASK_CONNECTION,
	TRACE_TASK_ID,
	TRACE_TASK_KEYS,
};

extern const char *const trace_task_keys[TRACE_TASK_KEYS];

/* Of a sub-task, in a lane of communication. Operators have no "task type". */
enum trace_sub_task_key {
	TRACE_SUB_TASK_TYPE,
	TRACE_SUB_TASK_SRC,
	TRACE_SUB_TASK_DST,
	TRACE_SUB_TASK_TRANSPORT,
	TRACE_SUB_TASK_SIZE,
	TRACE_SUB_TASK_LINK,
	TRACE_SUB_TASK_RDMA,
	TRACE_SUB_TASK_MASTER,
	TRACE_SUB_TASK_MEASURED, /* the others are for details only */
	TRACE_SUB_TASK_NOTIFY = TRACE_SUB_TASK_MEASURED,
	TRACE_SUB_TASK_STREAM,
	TRACE_SUB_TASK_TASK,
	TRACE_SUB_TASK_DATA_TYPE,
	TRACE_SUB_TASK_BANDWIDTH,
	TRACE_SUB_TASK_KEYS,
};

extern const char *const trace_sub_task_keys[TRACE_SUB_TASK_KEYS];

/* Is it an event of a sub-task, or else of an operator? */
bool trace_is_sub_task(const struct np_trace_event *event);

/* The text of an argument; "" for one of another type, or none. */
static inline struct np_slice trace_value_text(const struct np_trace_value *value)
{
	return value->type == NP_TRACE_TEXT ? value->text : (struct np_slice){ "", 0 };
}

#endif /* NP_TRACE_LANES_H */
