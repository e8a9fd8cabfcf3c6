/* SPDX-License-Identifier: Apache-2.0 */
/* A rank from its trace: steps, computing, operators and sub-tasks of the events that were read. */
#include "load_trace.h"

#include "core/model/load/text/text_files.h"
#include "trace_load.h"

#include "npuprof/steps.h"
#include "npuprof/text.h"

static int begin(struct trace_load *load)
{
	load->first_framework_call = NP_UNKNOWN;
	if (trace_lanes_init(&load->lanes, load->capture.err) < 0)
		return NP_E_NOMEM;
	return capture_begin(&load->capture);
}

/* Forget the events but not the names of lanes, for a second pass. */
static void forget_events(struct trace_load *load)
{
	load->rank->steps.count = 0;
	load->capture.ranges.count = 0;
	load->capture.tasks.count = 0;
	np_spans_free(NP_STEAL(load->capture.loading));
	load->calls.count = 0;
	load->node_calls = 0;
	load->may_be_kernels = 0;
	load->serving = 0;
	load->launches.count = 0;
	load->broken = false;
	load->flows.count = 0;
	load->flow_ends.count = 0;
	load->ops.count = 0;
	load->op_rests.count = 0;
	load->sub_tasks.count = 0;
	load->computing.count = 0;
	load->communication.count = 0;
	load->unknown_lanes = false;
	load->rank->collections = 0;
	load->rank->collection_time = 0;
}

static void end(struct trace_load *load)
{
	capture_end(&load->capture);
	trace_lanes_release(&load->lanes);
	np_vec_release(&load->calls);
	np_vec_release(&load->launches);
	np_vec_release(&load->flows);
	np_vec_release(&load->flow_ends);
	np_vec_release(&load->ops);
	np_vec_release(&load->op_rests);
	np_vec_release(&load->sub_tasks);
	np_vec_release(&load->computing);
	np_vec_release(&load->communication);
}

static int read_files(struct trace_load *load, const struct np_source_files *source)
{
	int rc = trace_read(load, source->file[NP_FILE_TRACE]);

	for (size_t i = 0; i < source->more_traces.count && rc == NP_OK; i++)
		rc = trace_read(load, source->more_traces.item[i]);
	return rc;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Operators too: their tasks on the device may be left out, and flows of calls lead to both. */
static int launch_by_calls(struct trace_load *load)
{
	int rc = NP_OK;

	for (size_t i = 0; i < load->calls.count && rc == NP_OK; i++) {
		const struct trace_call *call = &load->calls.item[i];

		rc = call->node ? capture_launch(&load->capture, call->connection, call->start,
						 call->end)
				: capture_call(&load->capture, call->connection, call->start,
					       call->end);
	}
	np_vec_release(&load->calls);
	for (size_t i = 0; i < load->capture.tasks.count && rc == NP_OK; i++) {
		const struct capture_task *task = &load->capture.tasks.item[i];

		capture_widen_by_task(&load->capture, task->connection, task->start, task->end);
	}
	for (size_t i = 0; i < load->ops.count && rc == NP_OK; i++) {
		const struct trace_op *op = &load->ops.item[i];

		capture_widen_by_op(&load->capture, op->connection, op->start, op->end);
	}
	return rc;
}

static int by_device_start(const void *left, const void *right)
{
	const struct trace_flow *a = left;
	const struct trace_flow *b = right;

	if (a->device_start != b->device_start)
		return a->device_start < b->device_start ? -1 : 1;
	return (a->host > b->host) - (a->host < b->host);
}

/* The flow to what starts at `start` on the device, or NULL. */
static const struct trace_flow *flow_to(const struct trace_load *load, np_ns start)
{
	const struct trace_flow key = { .host = INT64_MIN, .device_start = start };
	size_t low = 0;
	size_t high = load->flows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_device_start(&load->flows.item[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < load->flows.count && load->flows.item[low].device_start == start)
		return &load->flows.item[low];
	return NULL;
}

static void widen_by_flow(struct trace_load *load, np_ns start, np_ns finish)
{
	const struct trace_flow *flow = flow_to(load, start);
	uint32_t step =
		flow ? capture_host_step(&load->capture, flow->host, flow->host) : NP_NO_STEP;

	if (step != NP_NO_STEP)
		capture_widen_step(&load->capture, step, start, finish);
}

/* Level0 has no calls of CANN: the framework's flows, whose ids are the starts they lead to. */
static void launch_by_flows(struct trace_load *load)
{
	if (load->flows.count)
		qsort(load->flows.item, load->flows.count, sizeof(load->flows.item[0]),
		      by_device_start);
	for (size_t i = 0; i < load->capture.tasks.count; i++)
		widen_by_flow(load, load->capture.tasks.item[i].start,
			      load->capture.tasks.item[i].end);
	for (size_t i = 0; i < load->ops.count; i++)
		widen_by_flow(load, load->ops.item[i].start, load->ops.item[i].end);
}

static int by_id(const void *left, const void *right)
{
	const struct trace_flow_end *a = left;
	const struct trace_flow_end *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->on_device != b->on_device)
		return a->on_device - b->on_device;
	return np_order(a->time, b->time);
}

/* Flows from calls that are left out: from each start on the host to all of its ends. */
static int join_flow_ends(struct trace_load *load)
{
	const struct trace_flow_end *from = NULL;

	load->flows.count = 0;
	if (load->flow_ends.count)
		qsort(load->flow_ends.item, load->flow_ends.count, sizeof(load->flow_ends.item[0]),
		      by_id);
	for (size_t i = 0; i < load->flow_ends.count; i++) {
		const struct trace_flow_end *end = &load->flow_ends.item[i];
		struct trace_flow *flow;

		if (!end->on_device) {
			from = !from || from->id != end->id ? end : from;
			continue;
		}
		if (!from || from->id != end->id)
			continue;
		flow = np_vec_add(&load->flows, load->capture.err);
		if (!flow)
			return NP_E_NOMEM;
		*flow = (struct trace_flow){ from->time, end->time };
	}
	np_vec_release(&load->flow_ends);
	if (load->flows.count)
		qsort(load->flows.item, load->flows.count, sizeof(load->flows.item[0]),
		      by_device_start);
	return NP_OK;
}

static int launch_by_flow(struct trace_load *load, int64_t connection, np_ns start)
{
	const struct trace_flow *flow = flow_to(load, start);

	if (!flow || capture_launch_of(&load->capture, connection))
		return NP_OK;
	return capture_launch(&load->capture, connection, flow->host, flow->host);
}

/* Level0 leaves out the calls of CANN, but not what leads from their starts to the device. */
static int launch_by_flow_ends(struct trace_load *load)
{
	int rc = join_flow_ends(load);

	load->any_launches = load->flows.count > 0;
	for (size_t i = 0; i < load->capture.tasks.count && rc == NP_OK; i++)
		rc = launch_by_flow(load, load->capture.tasks.item[i].connection,
				    load->capture.tasks.item[i].start);
	for (size_t i = 0; i < load->ops.count && rc == NP_OK; i++)
		rc = launch_by_flow(load, load->ops.item[i].connection, load->ops.item[i].start);
	return rc;
}

static int make_steps(struct trace_load *load)
{
	int rc = NP_OK;

	load->any_calls = load->calls.count > 0;
	load->unplaced = load->node_calls == 0 && load->flows.count == 0;
	if (load->capture.choice.want == NP_WANT_RANGE)
		rc = capture_steps_of_ranges(&load->capture);
	if (rc == NP_OK && load->rank->steps.count == 0)
		rc = capture_add_step(&load->capture, NP_STR_NONE, load->first_framework_call,
				      NP_UNKNOWN);
	if (rc == NP_OK)
		rc = capture_sort_steps(&load->capture);
	if (rc == NP_OK && load->node_calls > 0)
		rc = launch_by_calls(load);
	else if (rc == NP_OK)
		launch_by_flows(load);
	if (rc == NP_OK && load->node_calls == 0)
		rc = launch_by_flow_ends(load);
	return rc < 0 ? rc : capture_close_steps(&load->capture);
}

/* --- computing ------------------------------------------------------------------------------- */

/*
 * The overlap lane is what the vendor sums, to the last digit; but its blocks
 * are joined over the whole trace, and one that reaches over the end of a step
 * cannot be divided. Then the kernels decide.
 */
static bool stays_in_steps(const struct np_rank *rank, const struct capture_spans *spans)
{
	for (size_t i = 0; i < spans->count; i++) {
		const struct np_span *span = &spans->item[i];
		uint32_t step = np_steps_find(rank->steps.item, rank->steps.count, span->begin);

		if (step != NP_NO_STEP && step + 1 < rank->steps.count &&
		    span->end > rank->steps.item[step + 1].begin)
			return false;
	}
	return true;
}

static bool lane_is_usable(const struct trace_load *load)
{
	return load->computing.count > 0 && load->capture.devices.count == 1 &&
	       stays_in_steps(load->rank, &load->computing) &&
	       stays_in_steps(load->rank, &load->communication);
}

static int use_lane(struct trace_load *load)
{
	int rc = NP_OK;

	for (size_t i = 0; i < load->computing.count && rc == NP_OK; i++)
		rc = capture_add_computing(&load->capture, load->computing.item[i].begin,
					   load->computing.item[i].end);
	for (size_t i = 0; i < load->communication.count && rc == NP_OK; i++)
		rc = capture_add_communication(&load->capture, load->communication.item[i].begin,
					       load->communication.item[i].end);
	return rc;
}

/* Kernels have names here and types in the table of kernels, if there is one. */
static int find_types(struct trace_load *load, const char *path)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *types = np_idmap_new();
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (!types)
		return np_fail_nomem(load->capture.err, "a trace");
	/* A damaged table costs the types: it is noted, and the trace is good without. */
	rc = path ? np_load_kernel_types(path, load->capture.strings, types,
					 &load->rank->table_seen, &problem)
		  : NP_OK;
	if (rc == NP_E_NOMEM)
		return np_fail(load->capture.err, rc, "%s", problem.text);
	if (rc < 0)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id, path,
			    "types of kernels", "%s", problem.text);
	for (size_t i = 0; i < load->capture.tasks.count; i++) {
		np_str *type = &load->capture.tasks.item[i].type;
		uint32_t known = np_idmap_get(types, *type);

		*type = known == NP_IDMAP_NONE ? NP_STR_NONE : known;
	}
	return NP_OK;
}

/* Iterations are found by the shapes of kernels too; without them by types alone. */
static int find_shapes(struct trace_load *load, const char *path)
{
	struct np_err problem = NP_ERR_INIT;
	int rc = NP_OK;

	if (path && np_steps_may_find(&load->capture.choice) &&
	    load->rank->steps.item[0].id == NP_STR_NONE)
		rc = np_load_kernel_shapes(path, &load->capture, &problem);
	/* What is wrong with the table was noted with the types. */
	return rc == NP_E_NOMEM ? np_fail(load->capture.err, rc, "%s", problem.text) : NP_OK;
}

/* --- communication ---------------------------------------------------------------------------- */

/* The communicator of an operator: its thread names it, or the number in the operator's name does.
 */
static int group_of(struct trace_load *load, const struct trace_op *op, const char *op_name,
		    uint32_t *ret)
{
	const struct trace_thread *thread = trace_thread_at(&load->lanes, op->pid, op->tid);
	const char *name = thread && thread->group != NP_STR_NONE
				   ? np_strtab_text(load->capture.strings, thread->group)
				   : "";
	uint64_t number;
	int rc;

	/* Older traces number the communicators of a process: that says nothing elsewhere. */
	if (strlen(name) >= NP_GROUP_HASH_DIGITS ||
	    (*name && !np_group_number(name, strlen(name), &number))) {
		rc = np_rank_group(load->rank, np_group_hash(name, strlen(name)), ret,
				   load->capture.err);
		if (rc == NP_OK)
			load->rank->groups.item[*ret].name = thread->group;
		return rc;
	}
	return np_rank_group_of_op(load->rank, op_name, ret, load->capture.err);
}

static int add_op(struct trace_load *load, const struct trace_op *from)
{
	const struct trace_op_rest *rest = &load->op_rests.item[from->row];
	const char *name = np_strtab_text(load->capture.strings, rest->name);
	struct np_comm_op *op;
	uint32_t group = 0;
	int rc = group_of(load, from, name, &group);

	if (rc < 0)
		return rc;
	op = capture_add_op(&load->capture, from->start, from->end, from->connection);
	if (!op)
		return NP_E_NOMEM;
	op->group = group;
	op->name = rest->name;
	op->bytes = rest->bytes;
	op->data_type = rest->data_type & 31U;
	op->p2p = np_op_is_p2p(name);
	op->device = capture_op_device(&load->capture, rest->device, from->connection);
	return np_strtab_add(load->capture.strings, name, vendor_operator_type(name, strlen(name)),
			     &op->type, load->capture.err);
}

/* Operators in the order by which sub-tasks find theirs: rank->ops[i] is load->ops[i]. */
static int add_ops(struct trace_load *load)
{
	int rc = NP_OK;
	size_t kept = 0;

	for (size_t i = 0; i < load->ops.count; i++) {
		if (vendor_time_ok(load->ops.item[i].start, load->ops.item[i].end))
			load->ops.item[kept++] = load->ops.item[i];
		else
			load->capture.impossible_times++;
	}
	load->ops.count = kept;
	trace_ops_sort(load->ops.item, kept);
	for (size_t i = 0; i < kept && rc == NP_OK; i++)
		rc = add_op(load, &load->ops.item[i]);
	return rc;
}

static int by_task_start(const void *left, const void *right)
{
	const struct capture_task *a = left;
	const struct capture_task *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* Does a task of this connection start on the device at `start`? Tasks are sorted by then. */
static bool starts_there(const void *of, np_ns start, int64_t connection)
{
	const struct trace_load *load = of;
	const struct capture_task *tasks = load->capture.tasks.item;
	size_t low = 0;
	size_t high = load->capture.tasks.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tasks[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < load->capture.tasks.count && tasks[low].start == start; low++) {
		if (tasks[low].connection == connection)
			return true;
	}
	return false;
}

static uint32_t op_at(const struct trace_load *load, const struct trace_thread *thread,
		      const struct np_comm_task *task)
{
	return trace_op_at(load->ops.item, load->ops.count,
			   &load->lanes.threads.item[thread->owner], task->start, task->end,
			   starts_there, load);
}

struct sub_task_tasks {
	NP_VEC(struct np_comm_task) list;
	bool has_master;
	size_t orphans;
};

static int place_sub_task(struct trace_load *load, struct sub_task_tasks *sub_task)
{
	if (load->capture.tasks.count)
		qsort(load->capture.tasks.item, load->capture.tasks.count,
		      sizeof(load->capture.tasks.item[0]), by_task_start);
	for (size_t i = 0; i < load->sub_tasks.count; i++) {
		const struct trace_sub_task *from = &load->sub_tasks.item[i];
		const struct trace_thread *thread =
			trace_thread_at(&load->lanes, from->pid, from->tid);
		uint32_t op = thread ? op_at(load, thread, &from->task) : TRACE_NO_OP;
		struct np_comm_task *task;

		if (op == TRACE_NO_OP || !vendor_time_ok(from->task.start, from->task.end)) {
			sub_task->orphans++;
			continue;
		}
		task = np_vec_add(&sub_task->list, load->capture.err);
		if (!task)
			return NP_E_NOMEM;
		*task = from->task;
		task->op = op;
		np_rank_meet(load->rank, op, task->src, task->dst);
		task->plane = thread->plane < 0 ? 0 : (uint32_t)thread->plane;
		sub_task->has_master |= task->master;
	}
	return NP_OK;
}

/* Level0 shows sub-tasks on the device only: the connection leads to their operator. */
static int place_device_tasks(struct trace_load *load, struct sub_task_tasks *sub_task)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *ops = np_idmap_new();
	int rc = NP_OK;

	if (!ops)
		return np_fail_nomem(load->capture.err, "communication tasks");
	for (uint32_t i = 0; i < load->ops.count && rc == NP_OK; i++) {
		if (load->ops.item[i].connection != NP_UNKNOWN)
			rc = np_idmap_set(ops, load->ops.item[i].connection, i, load->capture.err);
	}
	for (size_t i = 0; i < load->capture.tasks.count && rc == NP_OK; i++) {
		const struct capture_task *from = &load->capture.tasks.item[i];
		uint32_t op = np_idmap_get(ops, from->connection);
		struct np_comm_task *task;

		if (op == NP_IDMAP_NONE ||
		    (from->class != TASK_SDMA && from->class != TASK_NOTIFY_WAIT))
			continue;
		task = np_vec_add(&sub_task->list, load->capture.err);
		if (!task)
			return NP_E_NOMEM;
		*task = (struct np_comm_task){ .start = from->start,
					       .end = from->end,
					       .op = op,
					       .bytes = NP_UNKNOWN,
					       .src = NP_NO_PEER,
					       .dst = NP_NO_PEER,
					       .kind = from->class == TASK_SDMA
							       ? NP_TASK_PAYLOAD
							       : NP_TASK_NOTIFY_WAIT };
	}
	return rc;
}

static int measure_sub_task(struct trace_load *load)
{
	struct sub_task_tasks sub_task = { 0 };
	bool has_links = load->sub_tasks.count > 0;
	int rc = has_links ? place_sub_task(load, &sub_task) : place_device_tasks(load, &sub_task);

	load->rank->sizes_known = has_links;
	if (rc == NP_OK && sub_task.list.count > 0)
		rc = np_comm_tasks_measure(
			load->rank, load->capture.strings, sub_task.list.item, sub_task.list.count,
			(struct np_comm_tasks_form){ .has_master = sub_task.has_master,
						     .has_links = has_links },
			load->capture.err);
	if (load->too_fast)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id, load->capture.path,
			    "trace",
			    "%zu transfers are too large for the time they took: their sizes count"
			    " as unknown",
			    load->too_fast);
	if (sub_task.orphans)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id, load->capture.path,
			    "trace", "%zu small tasks lie in no operator of their communicator",
			    sub_task.orphans);
	np_vec_release(&sub_task.list);
	return rc;
}

/* trace_communication.c: operators with their communicators, and the sub-tasks in them. */
static int trace_add_communication(struct trace_load *load)
{
	int rc;

	trace_threads_own(&load->lanes);
	rc = add_ops(load);
	if (rc == NP_OK)
		rc = capture_find_steps(&load->capture);
	return rc < 0 ? rc : measure_sub_task(load);
}

/* --- what the trace holds --------------------------------------------------------------------- */

/* Union of intervals that come in the order of their starts, step by step. */
struct step_union {
	uint32_t step;
	np_ns reached;
	np_ns sum;
};

static int end_step(struct trace_load *load, struct step_union *of, bool computing)
{
	const struct step_union done = *of;

	*of = (struct step_union){ .step = NP_NO_STEP, .reached = -NP_NS_MAX };
	if (done.step == NP_NO_STEP)
		return NP_OK;
	return np_seen_add(load->rank->seen, load->rank->steps.item[done.step].id,
			   computing ? done.sum : 0, computing ? 0 : done.sum, load->capture.err);
}

/* An interval of a step, or of none. */
static int add_to_step(struct trace_load *load, struct step_union *of, np_ns start, np_ns end,
		       bool computing)
{
	const struct np_rank *rank = load->rank;
	uint32_t step = np_steps_find(rank->steps.item, rank->steps.count, start);
	int rc = step != of->step ? end_step(load, of, computing) : NP_OK;

	if (rc < 0 || step == NP_NO_STEP)
		return rc;
	of->step = step;
	if (end > of->reached) {
		of->sum += end - (start > of->reached ? start : of->reached);
		of->reached = end;
	}
	return NP_OK;
}

/* Of the calls that launch: of how many there is anything on the device? */
static int see_launches(struct trace_load *load)
{
	struct np_seen *seen = load->rank->seen;
	struct np_idset *there = np_idset_new();
	size_t launched = 0;
	size_t computing = 0;
	size_t known = 0;
	int rc = there ? NP_OK : np_fail_nomem(load->capture.err, "a trace");

	for (size_t i = 0; i < load->capture.tasks.count && rc == NP_OK; i++)
		rc = np_idset_add(there, load->capture.tasks.item[i].connection, load->capture.err);
	for (size_t i = 0; i < load->ops.count && rc == NP_OK; i++)
		rc = np_idset_add(there, load->ops.item[i].connection, load->capture.err);
	for (size_t i = 0; i < load->launches.count && rc == NP_OK; i++)
		launched += np_idset_has(there, load->launches.item[i]);
	/* Where connections lead nowhere they are no evidence. */
	for (size_t i = 0; i < load->capture.tasks.count && rc == NP_OK; i++) {
		const struct capture_task *task = &load->capture.tasks.item[i];

		computing += task->computes;
		known += task->computes && capture_launch_of(&load->capture, task->connection);
	}
	np_idset_free(there);
	seen->launches = load->launches.count;
	if (rc < 0 || launched == load->launches.count || known * 2 < computing)
		return rc;
	seen->launched = (double)launched / (double)load->launches.count;
	seen->linked = seen->launched;
	seen->linked_by = "its calls";
	return NP_OK;
}

/*
 * By the kernels and operators themselves, whatever the overlap lane says: that may be
 * there where they are not.
 */
static int see(struct trace_load *load)
{
	struct np_rank *rank = load->rank;
	struct step_union of = { .step = NP_NO_STEP, .reached = -NP_NS_MAX };
	int rc = NP_OK;

	rank->seen = np_seen_new();
	if (!rank->seen)
		return np_fail_nomem(load->capture.err, "a trace");
	rank->seen->unplaced = load->unplaced;
	rank->seen->may_be_kernels = load->may_be_kernels;
	rank->seen->serving = load->serving;
	rank->seen->broken = load->broken;
	rank->seen->kernels = 0;
	rank->seen->ops = 0;
	for (size_t i = 0; i < load->capture.tasks.count && rc == NP_OK; i++) {
		const struct capture_task *task = &load->capture.tasks.item[i];

		if (!task->computes)
			continue;
		if (i > 0 && task->device != task[-1].device)
			rc = end_step(load, &of, true);
		rank->seen->kernels += task->end - task->start;
		if (rc == NP_OK)
			rc = add_to_step(load, &of, task->start, task->end, true);
	}
	if (rc == NP_OK)
		rc = end_step(load, &of, true);
	for (size_t i = 0; i < rank->ops.count && rc == NP_OK; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		rank->seen->ops += op->end - op->start;
		rc = add_to_step(load, &of, op->start, op->end, false);
	}
	if (rc == NP_OK)
		rc = end_step(load, &of, false);
	return rc < 0 ? rc : see_launches(load);
}

/* --- everything ------------------------------------------------------------------------------ */

static int read_trace(struct trace_load *load, const struct np_source_files *source)
{
	int rc = begin(load);

	if (rc == NP_OK)
		rc = read_files(load, source);
	if (rc == NP_OK && load->unknown_lanes && load->lanes.list.count > 0) {
		forget_events(load);
		rc = read_files(load, source);
	}
	if (rc == NP_OK && load->capture.tasks.count == 0 && load->ops.count == 0)
		rc = np_fail(load->capture.err, NP_E_NOTFOUND,
			     "'%s' shows nothing that ran on a device", load->capture.path);
	return rc;
}

static int derive(struct trace_load *load, const struct np_source_files *source)
{
	int rc;

	trace_drop_doubles(load);
	rc = make_steps(load);
	if (rc == NP_OK)
		rc = find_types(load, source->file[NP_FILE_KERNELS]);
	if (rc == NP_OK)
		rc = find_shapes(load, source->file[NP_FILE_KERNELS]);
	if (rc == NP_OK)
		rc = trace_add_communication(load);
	if (rc == NP_OK && lane_is_usable(load))
		rc = use_lane(load);
	if (rc == NP_OK)
		rc = capture_measure(&load->capture);
	return rc < 0 ? rc : see(load);
}

int np_load_trace(struct np_rank *rank, const struct np_source_files *source,
		  struct np_strtab *strings, struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	struct trace_load load = { .rank = rank,
				   .capture = { .rank = rank,
						.strings = strings,
						.path = source->file[NP_FILE_TRACE],
						.err = err ? err : &own,
						.choice = source->steps } };
	int rc = read_trace(&load, source);

	if (rc == NP_OK)
		rc = derive(&load, source);
	if (rc == NP_OK) {
		rank->device_count = load.capture.devices.count;
		rank->device = rank->device_count ? load.capture.devices.item[0] : -1;
		rank->step_source = NP_FROM_TRACE;
		rank->comm_source = rank->ops.count ? NP_FROM_TRACE : NP_FROM_NOTHING;
		rank->exposed_source = rank->comm_source;
		if (load.any_calls)
			rank->contents |= NP_HAS_HOST_CALLS;
		if (load.any_launches)
			rank->contents |= NP_HAS_LAUNCHES;
		if (load.first_framework_call != NP_UNKNOWN)
			rank->contents |= NP_HAS_FRAMEWORK_CALLS;
		capture_note_oddities(&load.capture);
	}
	end(&load);
	return rc;
}
