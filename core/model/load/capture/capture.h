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
 *	add operators to rank->ops, measure their sub-tasks,
 *	capture_measure().
 *
 * Tasks stay in memory until the rank is done, but for a reader that asks for it
 * (`in_parts`): it adds and sorts the operators first, then tasks about in the
 * order of their starts, each after the call that launched it, and lets
 * capture_measure_until() take those away about which everything is known.
 * Where the file has another order, `unordered` becomes true sooner or later, and
 * the rank must be read again without.
 */

#include "core/model/vendor/task_types.h"
#include "core/model/vendor/values.h"

#include "npuprof/gz.h"
#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/spans.h"

/* Every task of a rank is one of these for a while: keep it small. */
struct capture_task {
	np_ns start;
	np_ns end;
	union {
		int64_t connection; /* NP_UNKNOWN for none */
		np_ns launched;     /* in parts: when the call that launched it had returned */
	};
	int64_t key;     /* by which other tables of the file name it */
	uint32_t stream; /* UINT32_MAX when not known */
	uint32_t id;     /* on its stream; likewise */
	np_str type;     /* of a kernel that computes; NP_STR_NONE when not known */
	uint16_t device; /* index in capture.devices */
	uint8_t class;   /* enum task_class */
	bool computes : 1;
	bool of_op : 1;  /* a sub-task of a communication operator */
	bool taken : 1;  /* and what else is known of it was read */
	bool memory : 1; /* an asynchronous copy of memory, and nothing else */
};

static inline bool capture_copies(const struct capture_task *task)
{
	return task->class == TASK_COPY || task->class == TASK_SDMA;
}

/* A task as a file has it; NP_UNKNOWN where it does not say. */
struct capture_row {
	np_ns start;
	np_ns end;
	int64_t device;
	int64_t connection;
	int64_t stream;
	int64_t id;
	int64_t key;
	enum task_class class;
	bool memory; /* a copy for np_rank.copies */
};

/* The call that launched the tasks of a connection. */
struct capture_launch {
	int64_t connection;
	np_ns end;      /* NP_UNKNOWN for an impossible time */
	uint32_t step;  /* of a node call, or NP_NO_STEP */
	bool node;      /* or else another one: only copies are launched by such */
	bool has_tasks; /* it launched some that were recorded */
};

struct capture_launches {
	struct np_idmap *index; /* connection → list */
	NP_VEC(struct capture_launch) list;
};

struct capture_spans {
	struct np_span *item;
	size_t count;
	size_t capacity;
};

/* A range that the application marked: a step where it was asked for. */
struct capture_range {
	np_ns begin;
	np_ns end;
	np_str name;
};

struct capture_copies;
struct capture_meter;
struct np_pattern;

/* The first task and operator that is not yet measured; both are sorted. */
struct capture_place {
	size_t task;
	size_t op;
};

/* How far a rank is measured while it is read. */
struct capture_part {
	struct capture_place place;
	uint32_t step;               /* that is measured, or comes next */
	bool begun;                  /* its cell is begun */
	np_ns begin;                 /* of its window */
	np_ns until;                 /* what starts before it is measured */
	NP_VEC(struct np_span) used; /* windows of the steps before it */
};

struct capture {
	struct np_rank *rank;
	struct np_strtab *strings;
	const char *path;   /* of the input, for notes */
	struct np_err *err; /* never NULL */

	struct capture_launches launches[2]; /* the younger ones first */
	NP_VEC(struct capture_task) tasks;
	size_t task_count;              /* all that were added */
	NP_VEC(int64_t) op_connections; /* by the index in rank->ops */
	NP_VEC(int64_t) connections;    /* all of them, sorted; once the operators are */
	struct np_spans *loading;       /* when the host loaded data; NULL while it did not */
	NP_VEC(int32_t) devices;
	struct np_idmap *connection_device; /* NULL while there is one device */
	struct capture_spans computing;     /* if it is given, not known by kernels */
	struct capture_spans communication; /* likewise, not known by operators */
	bool computing_given;
	bool communication_given;
	bool ops_sorted;
	struct np_steps_choice choice;       /* where steps come from */
	NP_VEC(struct capture_range) ranges; /* that match its pattern */
	struct np_pattern *pattern;
	struct np_idmap *shapes; /* of kernels: capture_shape_key() → their hash; NULL: not known */
	struct np_step pseudo;   /* instead of which iterations were found */
	struct capture_meter *meter; /* NULL until something is measured */

	/* What a nanosecond went to is not asked for, but copies are: np_rank.copies. */
	bool times_only;
	struct capture_copies *copies; /* then */

	bool in_parts;
	bool unordered;
	struct capture_part part;
	NP_VEC(np_ns) op_launched; /* by the index in rank->ops, as far as they were reached */
	struct np_idset *asked;    /* connections of tasks and operators */
	struct np_idset *let_go;   /* connections whose launch is forgotten */
	int64_t highest;           /* connection of all calls */
	int64_t highest_asked;     /* likewise of `asked` */
	size_t near_step;          /* of the last call that was looked for */

	/* Oddities, reported once at the end. */
	size_t impossible_times;
	bool too_long; /* a step lasts over a day: it is not divided */
	size_t ops_outside;
	size_t ops_without_device;
};

int capture_begin(struct capture *capture) NP_MUST_USE;
void capture_end(struct capture *capture);

/* Add a step; NP_STR_NONE is the pseudo step of a run without steps. */
int capture_add_step(struct capture *capture, np_str id, np_ns host_begin, np_ns host_end)
	NP_MUST_USE;

/*
 * Sort the steps by the host's time: the order in which launches look for them. Marks that
 * contradict each other are noted.
 */
int capture_sort_steps(struct capture *capture) NP_MUST_USE;

/* A node call launched the tasks of `connection`; their step is the one that holds it all. */
int capture_launch(struct capture *capture, int64_t connection, np_ns start, np_ns end) NP_MUST_USE;

/* Another call has this connection; it may have launched a copy. */
int capture_call(struct capture *capture, int64_t connection, np_ns start, np_ns end) NP_MUST_USE;

/* The node call that launched the tasks of a connection, or NULL. */
const struct capture_launch *capture_launch_of(struct capture *capture, int64_t connection);

/* All that is known of the calls of a connection; NULL for nothing. */
const struct capture_launch *capture_calls_of(struct capture *capture, int64_t connection);

/* When the node call, or for a copy any call, that launched it had returned; or NP_UNKNOWN. */
static inline np_ns capture_launched(const struct capture_launch *launch)
{
	return launch && launch->node ? launch->end : NP_UNKNOWN;
}

static inline np_ns capture_copy_launched(const struct capture_launch *launch)
{
	if (!launch)
		return NP_UNKNOWN;
	return launch->end;
}

/* In parts: the calls of the next operator's connection are known. */
int capture_reach_op(struct capture *capture) NP_MUST_USE;

/*
 * What a connection launched is of the step of its call. An operator without a recorded task whose
 * call lies between steps is of the step in whose time on the host it starts: nothing else says
 * where that begins.
 */
void capture_widen_by_task(struct capture *capture, int64_t connection, np_ns start, np_ns end);
void capture_widen_by_op(struct capture *capture, int64_t connection, np_ns start, np_ns end);

/* Is a copy over this connection part of an operator? */
bool capture_is_of_op(const struct capture *capture, int64_t connection);

static inline int64_t capture_shape_key(np_ns start, np_str type)
{
	return (int64_t)((uint64_t)start * 64 + type % 64);
}

/*
 * Tasks, kernels and operators are all there, and no step mark: make steps of the
 * iterations that are found in their sequence, if they are to be found.
 */
int capture_find_steps(struct capture *capture) NP_MUST_USE;

/* Does a name match the pattern of ranges that are steps? false where none was asked for. */
int capture_is_range(struct capture *capture, const char *name, size_t length, bool *ret)
	NP_MUST_USE;

/* The application marked [begin, end], and its name matches. */
int capture_add_range(struct capture *capture, const char *name, size_t length, np_ns begin,
		      np_ns end) NP_MUST_USE;

/*
 * All ranges are there: make steps of them. One that lies in another is left
 * out; where two overlap, the earlier ends at the begin of the later. A step is
 * called as its range if all are called differently, else by its number.
 */
int capture_steps_of_ranges(struct capture *capture) NP_MUST_USE;

/* The shapes of a kernel's inputs. */
int capture_add_shape(struct capture *capture, np_ns start, np_str type, const char *shapes,
		      size_t length) NP_MUST_USE;

/* The step whose host window holds [start, end]; NP_NO_STEP for none. */
uint32_t capture_host_step(struct capture *capture, np_ns start, np_ns end);

/*
 * Add a task; times that are impossible are counted and the task is left out,
 * with *ret_index NP_IDMAP_NONE.
 */
int capture_add_task(struct capture *capture, const struct capture_row *row, uint32_t *ret_index)
	NP_MUST_USE;

/* The host collected garbage; impossible times are left out. */
void capture_add_collection(struct np_rank *rank, np_ns start, np_ns end);

/* The host loaded data. */
int capture_add_loading(struct capture *capture, np_ns start, np_ns end) NP_MUST_USE;

/* A task that a step launched widens the step's window on the device. */
void capture_widen_step(struct capture *capture, uint32_t step, np_ns start, np_ns end);

/* All tasks are known: finish the windows of the steps. */
int capture_close_steps(struct capture *capture) NP_MUST_USE;

/*
 * The device of an operator: newer databases say it, one device leaves no
 * doubt, else the tasks of its connection decide, unless they ran on several (-1).
 */
int8_t capture_op_device(struct capture *capture, int64_t device, int64_t connection);

/*
 * An operator of rank->ops with everything about it unknown but its times, which
 * must be in order, and the connection over which it was launched (NP_UNKNOWN).
 */
struct np_comm_op *capture_add_op(struct capture *capture, np_ns start, np_ns end,
				  int64_t connection) NP_MUST_USE;

/*
 * Add a span of computing of the only device. Without any such span the union of
 * the kernels is what computes.
 */
int capture_add_computing(struct capture *capture, np_ns start, np_ns end) NP_MUST_USE;

/*
 * Likewise for communication. Without any such span the union of the operators
 * is what communicates.
 */
int capture_add_communication(struct capture *capture, np_ns start, np_ns end) NP_MUST_USE;

/* Sort rank->ops, and with them what launched them; ret_order as np_load_sort_ops() has it. */
int capture_sort_ops(struct capture *capture, uint32_t **ret_order) NP_MUST_USE;

/*
 * In parts: measure the tasks that start before `until`, as far as it is certain
 * which step they belong to, and forget them; part.until is how far it got. All
 * tasks that start before it must be known, with all that is to be known about them.
 */
int capture_measure_until(struct capture *capture, np_ns until) NP_MUST_USE;

/* All steps have their windows: are they those by which tasks were measured in parts? */
bool capture_windows_hold(const struct capture *capture);

/* From what was gathered to rank->times, ->activity and ->comm_steps; sorts rank->ops. */
int capture_measure(struct capture *capture) NP_MUST_USE;

/* Note what was odd about the input. */
void capture_note_oddities(struct capture *capture);

/* --- capture_meter.c: one device in one step after another ------------------------------------ */

void capture_meter_free(struct capture_meter *meter);

int capture_meter_begin(struct capture *capture, uint16_t device, uint32_t step) NP_MUST_USE;

/* Tasks and operators of the cell, in any order between two capture_meter_go(). */
int capture_meter_task(struct capture *capture, const struct capture_task *task) NP_MUST_USE;
int capture_meter_op(struct capture *capture, uint32_t index) NP_MUST_USE;

/* Likewise those that start before the cell, in no step. */
int capture_meter_task_outside(struct capture *capture, const struct capture_task *task)
	NP_MUST_USE;
int capture_meter_op_outside(struct capture *capture, uint32_t index) NP_MUST_USE;

/* All that start before `until` are there. Where spans are given, a cell is of one part. */
int capture_meter_go(struct capture *capture, np_ns until) NP_MUST_USE;

/* The cell is complete: add its entry of rank->times and ->activity. */
int capture_meter_end(struct capture *capture) NP_MUST_USE;

/* The cells of a device are complete, and what started behind them is told. */
void capture_meter_end_device(struct capture *capture);

/* All cells are complete: how much of each communicator's time computing hid. */
int capture_meter_finish(struct capture *capture) NP_MUST_USE;

#endif /* NP_CAPTURE_H */
