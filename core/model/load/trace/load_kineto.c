/* SPDX-License-Identifier: Apache-2.0 */
/* A rank from a trace of Kineto: steps, kernels and operators of the events that were read. */
#include "load_trace.h"

#include "kineto_load.h"

#include "npuprof/steps.h"

/* --- steps ----------------------------------------------------------------------------------- */

static void widen(struct kineto_load *load, int64_t connection, np_ns start, np_ns end)
{
	const struct capture_launch *launch = capture_launch_of(&load->capture, connection);

	if (launch && launch->step != NP_NO_STEP)
		capture_widen_step(&load->capture, launch->step, start, end);
}

static int by_id(const void *left, const void *right)
{
	const int64_t *a = left;
	const int64_t *b = right;

	return (*a > *b) - (*a < *b);
}

/* Of an NPU's operators only those matter that an arrow leads from. */
static int launch_by_operators(struct kineto_load *load)
{
	NP_VEC(int64_t) ids = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < load->capture.tasks.count && rc == NP_OK; i++) {
		int64_t connection = load->capture.tasks.item[i].connection;
		int64_t *id = connection == NP_UNKNOWN ? NULL : np_vec_add(&ids, load->capture.err);

		if (connection != NP_UNKNOWN && !id)
			rc = NP_E_NOMEM;
		else if (id)
			*id = connection;
	}
	if (ids.count)
		qsort(ids.item, ids.count, sizeof(ids.item[0]), by_id);
	for (size_t i = 0; i < load->operators.count && rc == NP_OK; i++) {
		const struct kineto_call *call = &load->operators.item[i];

		/* When in the operator it was launched is not known: not before its start. */
		if (ids.count &&
		    bsearch(&call->connection, ids.item, ids.count, sizeof(ids.item[0]), by_id))
			rc = capture_launch(&load->capture, call->connection, call->start,
					    call->start);
	}
	np_vec_release(&ids);
	np_vec_release(&load->operators);
	return rc;
}

static int launch_by_calls(struct kineto_load *load)
{
	int rc = NP_OK;

	for (size_t i = 0; i < load->calls.count && rc == NP_OK; i++) {
		const struct kineto_call *call = &load->calls.item[i];

		if (call->connection != NP_UNKNOWN)
			rc = capture_launch(&load->capture, call->connection, call->start,
					    call->end);
	}
	return rc;
}

/*
 * Nothing says who launched a collective of HCCL. One that lies between the windows of two
 * steps is of the one that it is nearer to.
 */
static void widen_between(struct kineto_load *load, const struct kineto_op *op)
{
	struct np_rank *rank = load->rank;

	for (size_t i = 0; i + 1 < rank->steps.count; i++) {
		const struct np_step *step = &rank->steps.item[i];
		const struct np_step *next = &rank->steps.item[i + 1];
		np_ns end = step->end > step->host_end ? step->end : step->host_end;

		if (op->start < end || op->start >= next->begin)
			continue;
		capture_widen_step(&load->capture,
				   (uint32_t)(op->start - end <= next->begin - op->end ? i : i + 1),
				   op->start, op->end);
		return;
	}
}

static int by_start(const void *left, const void *right)
{
	const struct kineto_op *a = left;
	const struct kineto_op *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

static int make_steps(struct kineto_load *load)
{
	bool marked;
	int rc = NP_OK;

	if (load->capture.choice.want == NP_WANT_RANGE)
		rc = capture_steps_of_ranges(&load->capture);
	marked = load->rank->steps.count > 0;
	if (rc == NP_OK && !marked)
		rc = capture_add_step(&load->capture, NP_STR_NONE, NP_UNKNOWN, NP_UNKNOWN);
	if (rc == NP_OK)
		rc = capture_sort_steps(&load->capture);
	if (rc == NP_OK)
		rc = load->is_gpu ? launch_by_calls(load) : launch_by_operators(load);
	for (size_t i = 0; i < load->capture.tasks.count && rc == NP_OK; i++)
		widen(load, load->capture.tasks.item[i].connection,
		      load->capture.tasks.item[i].start, load->capture.tasks.item[i].end);
	if (load->ops.count)
		qsort(load->ops.item, load->ops.count, sizeof(load->ops.item[0]), by_start);
	for (size_t i = 0; i < load->ops.count && rc == NP_OK; i++) {
		const struct kineto_op *op = &load->ops.item[i];

		if (op->connection != NP_UNKNOWN)
			widen(load, op->connection, op->start, op->end);
		else if (marked && vendor_time_ok(op->start, op->end))
			widen_between(load, op);
	}
	return rc < 0 ? rc : capture_close_steps(&load->capture);
}

/* --- communication ---------------------------------------------------------------------------- */

/* Older versions link a kernel to its call alone, and the call to who made it. */
static int link_ops(struct kineto_load *load)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *ops = np_idmap_new();
	int rc = ops ? NP_OK : np_fail_nomem(load->capture.err, "operators");

	for (size_t i = 0; i < load->ops.count && rc == NP_OK; i++) {
		const struct kineto_op *op = &load->ops.item[i];

		if (op->external == NP_UNKNOWN && op->connection != NP_UNKNOWN)
			rc = np_idmap_set(ops, op->connection, (uint32_t)i, load->capture.err);
	}
	for (size_t i = 0; i < load->calls.count && rc == NP_OK; i++) {
		uint32_t op = np_idmap_get(ops, load->calls.item[i].connection);

		if (op != NP_IDMAP_NONE)
			load->ops.item[op].external = load->calls.item[i].external;
	}
	return rc;
}

static int add_op(struct kineto_load *load, const struct kineto_op *from)
{
	struct np_comm_op *op;
	uint32_t group = 0;
	int rc = kineto_group(load, from, &group);

	if (rc < 0)
		return rc;
	op = capture_add_op(&load->capture, from->start, from->end, from->connection);
	if (!op)
		return NP_E_NOMEM;
	op->group = group;
	op->device = capture_op_device(&load->capture, from->device, from->connection);
	return kineto_describe(load, from, (uint32_t)(load->rank->ops.count - 1));
}

static int add_ops(struct kineto_load *load)
{
	int rc = link_ops(load);

	for (size_t i = 0; i < load->ops.count && rc == NP_OK; i++) {
		if (vendor_time_ok(load->ops.item[i].start, load->ops.item[i].end))
			rc = add_op(load, &load->ops.item[i]);
		else
			load->capture.impossible_times++;
	}
	return rc;
}

/* --- everything ------------------------------------------------------------------------------ */

static int derive(struct kineto_load *load)
{
	int rc;

	if (load->capture.tasks.count == 0 && load->ops.count == 0)
		return np_fail(load->capture.err, NP_E_NOTFOUND,
			       "'%s' has no kernels: profile the activity of the device too"
			       " (activities=[CPU, CUDA], of an NPU [CPU, PrivateUse1])",
			       load->capture.path);
	rc = make_steps(load);
	if (rc == NP_OK)
		rc = add_ops(load);
	if (rc == NP_OK)
		rc = capture_find_steps(&load->capture);
	for (size_t i = 0; i < load->memory.count && rc == NP_OK; i++)
		rc = memory_hold(load->rank, &load->memory.item[i], load->capture.err);
	return rc < 0 ? rc : capture_measure(&load->capture);
}

/* Where a trace was cut, what a step has none of may stand in the rest: nothing was measured. */
static void doubt_nothing(struct np_step_time *time)
{
	if (time->communication == 0) {
		time->communication = NP_UNKNOWN;
		time->communication_not_overlapped = NP_UNKNOWN;
		time->overlapped = NP_UNKNOWN;
		time->free = NP_UNKNOWN;
	}
	if (time->computing == 0) {
		time->computing = NP_UNKNOWN;
		time->free = NP_UNKNOWN;
	}
	if (time->computing != NP_UNKNOWN || time->communication != NP_UNKNOWN)
		return;
	time->stage = NP_UNKNOWN;
	time->bubble = NP_UNKNOWN;
	time->preparing = NP_UNKNOWN;
	time->span = NP_UNKNOWN;
	time->e2e = NP_UNKNOWN;
	time->iteration = NP_UNKNOWN;
}

/* A trace that was cut does not say how much of it is missing. */
static int see(struct kineto_load *load)
{
	load->rank->seen = np_seen_new();
	if (!load->rank->seen)
		return np_fail_nomem(load->capture.err, "a trace");
	load->rank->seen->broken = load->truncated;
	for (size_t i = 0; load->truncated && i < load->rank->times.count; i++)
		doubt_nothing(&load->rank->times.item[i]);
	return NP_OK;
}

static void describe_rank(struct kineto_load *load)
{
	struct np_rank *rank = load->rank;

	rank->device_count = load->capture.devices.count;
	rank->device = rank->device_count ? load->capture.devices.item[0] : -1;
	rank->step_source = NP_FROM_TRACE;
	rank->comm_source = rank->ops.count ? NP_FROM_TRACE : NP_FROM_NOTHING;
	rank->exposed_source = rank->comm_source;
	if (load->is_gpu)
		rank->contents |= NP_OF_GPU;
	if (load->calls.count)
		rank->contents |= NP_HAS_HOST_CALLS;
	if (load->any_operators)
		rank->contents |= NP_HAS_FRAMEWORK_CALLS;
	if (load->memory.count)
		rank->contents |= NP_HAS_MEMORY;
}

static void release(struct kineto_load *load)
{
	capture_end(&load->capture);
	np_vec_release(&load->calls);
	np_vec_release(&load->operators);
	np_vec_release(&load->ops);
	np_vec_release(&load->records);
	kineto_arrows_release(&load->arrows);
	np_vec_release(&load->memory);
	np_idmap_free(load->record_of);
	np_idmap_free(load->step_ids);
	np_idmap_free(load->kernel_of);
}

int np_load_kineto(struct np_rank *rank, const struct np_source_files *source,
		   struct np_strtab *strings, struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	struct kineto_load load = { .rank = rank,
				    .capture = { .rank = rank,
						 .strings = strings,
						 .path = source->file[NP_FILE_KINETO],
						 .err = err ? err : &own,
						 .choice = source->steps } };
	int rc = capture_begin(&load.capture);

	load.step_ids = np_idmap_new();
	load.record_of = np_idmap_new();
	load.kernel_of = np_idmap_new();
	if (rc == NP_OK && (!load.step_ids || !load.record_of || !load.kernel_of))
		rc = np_fail_nomem(load.capture.err, "a trace");
	if (rc == NP_OK)
		rc = kineto_read(&load);
	/* What has neither calls of CUDA nor anything of an NPU was read as a GPU's before. */
	load.is_gpu |= !load.is_npu;
	if (rc == NP_OK)
		rc = derive(&load);
	if (rc == NP_OK)
		rc = see(&load);
	if (rc == NP_OK) {
		describe_rank(&load);
		capture_note_oddities(&load.capture);
	}
	release(&load);
	return rc;
}
