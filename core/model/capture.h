/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CAPTURE_H
#define NP_CAPTURE_H

/*
 * A rank while it is being read
 * =============================
 *
 * What the readers of tasks and operators (the database, the trace, the kernel
 * table) gather in one form, and the way from there to step times and
 * communicators, which is the same for all of them:
 *
 *	add steps, then say which step launched which connection,
 *	add tasks (they widen the windows of the steps), mark those that compute,
 *	capture_close_steps(),
 *	add operators to rank->ops, measure their small tasks,
 *	capture_measure().
 *
 * Tasks stay in memory until the rank is done.
 */

#include "load_private.h"

#include "npuprof/idmap.h"
#include "npuprof/spans.h"

enum task_class {
	TASK_OTHER,
	TASK_SDMA,
	TASK_COPY, /* asynchronous copies, and those over PCIe */
	TASK_NOTIFY_WAIT,
	TASK_NOT_IN_EXTENT, /* markers and host views of kernels: no part of the step's extent */
};

/* Every task of a rank is one of these for a while: keep it small. */
struct capture_task {
	np_ns start;
	np_ns end;
	int64_t connection; /* NP_UNKNOWN for none */
	uint32_t stream;    /* UINT32_MAX when not known */
	uint32_t id;        /* on its stream; likewise */
	np_str type;        /* of a kernel that computes; NP_STR_NONE when not known */
	uint16_t device;    /* index in capture.devices */
	uint8_t class;      /* enum task_class */
	bool computes : 1;
	bool of_op : 1; /* a small task of a communication operator */
};

/* A task as a file has it; NP_UNKNOWN where it does not say. */
struct capture_row {
	np_ns start;
	np_ns end;
	int64_t device;
	int64_t connection;
	int64_t stream;
	int64_t id;
	enum task_class class;
};

/* The node call that launched the tasks of a connection. */
struct capture_launch {
	np_ns end;     /* NP_UNKNOWN for an impossible time */
	uint32_t step; /* or NP_NO_STEP */
};

/* Another call with a connection: copies are launched by such. */
struct capture_call {
	int64_t connection;
	np_ns end;
};

struct capture_spans {
	struct np_span *item;
	size_t count;
	size_t capacity;
};

struct capture_list {
	uint32_t *item;
	size_t count;
	size_t capacity;
};

/* What is gathered for one device in one step. */
struct capture_cell {
	struct capture_list kernels;        /* indexes in capture.tasks */
	struct capture_list copies;         /* likewise */
	struct capture_list ops;            /* indexes in rank->ops */
	struct capture_spans computing;     /* if computing_given */
	struct capture_spans communication; /* if communication_given */
	np_ns receive;
	struct np_span tasks;
	struct np_spans *compute_union;
};

struct capture {
	struct np_rank *rank;
	struct np_strtab *strings;
	const char *path;   /* of the input, for notes */
	struct np_err *err; /* never NULL */

	struct np_idmap *launched; /* connection → launches */
	NP_VEC(struct capture_launch) launches;
	NP_VEC(struct capture_call) calls;
	NP_VEC(struct capture_task) tasks;
	NP_VEC(int64_t) op_connections; /* by the index in rank->ops */
	struct np_spans *loading;       /* when the host loaded data; NULL while it did not */
	NP_VEC(int32_t) devices;
	struct np_idmap *connection_device; /* NULL while there is one device */
	struct capture_cell *cells;         /* devices × steps, from capture_close_steps() on */
	bool calls_sorted;
	bool computing_given;     /* by capture_add_computing(), not by kernels */
	bool communication_given; /* by capture_add_communication(), not by operators */

	/* Oddities, told once at the end. */
	size_t impossible_times;
	bool too_long; /* a step lasts over a day: it is not divided */
	size_t ops_outside;
	size_t ops_without_device;
};

int capture_begin(struct capture *capture) NP_MUST_USE;
void capture_end(struct capture *capture);

/* Is it a time that can be computed with, and does it not run backwards? */
bool capture_time_ok(np_ns start, np_ns end);

/* Add a step; NP_STR_NONE is the pseudo step of a run without steps. */
int capture_add_step(struct capture *capture, np_str id, np_ns host_begin, np_ns host_end)
	NP_MUST_USE;

/* Sort the steps by the host's time: the order in which launches look for them. */
void capture_sort_steps(struct capture *capture);

/* A node call launched the tasks of `connection`; their step is the one that holds it all. */
int capture_launch(struct capture *capture, int64_t connection, np_ns start, np_ns end) NP_MUST_USE;

/* Another call has this connection; it may have launched a copy. */
int capture_call(struct capture *capture, int64_t connection, np_ns start, np_ns end) NP_MUST_USE;

/* When the call that launched a copy had returned; NP_UNKNOWN when none is known. */
np_ns capture_copy_launched(struct capture *capture, int64_t connection);

/* The node call that launched the tasks of a connection, or NULL. */
const struct capture_launch *capture_launch_of(const struct capture *capture, int64_t connection);

/* The step whose host window holds [start, end]; NP_NO_STEP for none. */
uint32_t capture_host_step(const struct capture *capture, np_ns start, np_ns end);

/*
 * Add a task; times that are impossible are counted and the task is left out,
 * with *ret_index NP_IDMAP_NONE.
 */
int capture_add_task(struct capture *capture, const struct capture_row *row, uint32_t *ret_index)
	NP_MUST_USE;

/* The host loaded data. */
int capture_add_loading(struct capture *capture, np_ns start, np_ns end) NP_MUST_USE;

/* Is it the name of a host event that loads data? (*dataloader*, in any case) */
bool capture_loads_data(const char *name, size_t length);

/* Is it the name of a type, or does it say that none was recorded? */
bool capture_is_type(const char *type, size_t length);

/* A task that a step launched widens the step's window on the device. */
void capture_widen_step(struct capture *capture, uint32_t step, np_ns start, np_ns end);

/* The class of a task by the text of its type. */
enum task_class capture_task_class(const char *type, size_t length);

/* "SDMA_SQE", "Notify Wait" and "NOTIFY_WAIT" differ by version: letters and digits tell. */
void capture_plain_type(const char *type, size_t length, char *ret, size_t size);

/* All tasks are known: finish the windows of the steps. */
int capture_close_steps(struct capture *capture) NP_MUST_USE;

/*
 * The device of an operator: newer databases say it, one device leaves no
 * doubt, else the tasks of its connection tell, unless they ran on several (-1).
 */
int8_t capture_op_device(struct capture *capture, int64_t device, int64_t connection);

/*
 * An operator of rank->ops with everything about it unknown but its times, which
 * must be in order, and the connection over which it was launched (NP_UNKNOWN).
 */
struct np_comm_op *capture_add_op(struct capture *capture, np_ns start, np_ns end,
				  int64_t connection) NP_MUST_USE;

/*
 * Add a span of computing to the step that holds its start. Without any such
 * span the union of the kernels is what computes.
 */
int capture_add_computing(struct capture *capture, uint16_t device, np_ns start, np_ns end)
	NP_MUST_USE;

/*
 * Likewise for communication. Without any such span the union of the operators
 * is what communicates.
 */
int capture_add_communication(struct capture *capture, uint16_t device, np_ns start, np_ns end)
	NP_MUST_USE;

/* From what was gathered to rank->times, ->activity and ->comm_steps; sorts rank->ops. */
int capture_measure(struct capture *capture) NP_MUST_USE;

/* Note what was odd about the input. */
void capture_note_oddities(struct capture *capture);

#endif /* NP_CAPTURE_H */
