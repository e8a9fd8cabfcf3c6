/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The detail of a trace of Kineto. Operators, Python and the arrows from forward to
 * backward operators are written as torch_npu does; kernels, what launches them
 * and what allocates memory are not. Launches on a GPU and allocations belong to the
 * innermost operator of their thread; arrows lead to the kernels of an NPU.
 */
#include "detail_trace.h"

static int take_kernel(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct np_slice type = kineto_kernel_type(event->name);
	struct kineto_place place;
	struct np_kernel *kernel;
	int rc;

	kineto_place(event, &place);
	if (!detail_trace_reads(trace, NP_DETAIL_KERNELS) || kineto_communicates(event->name) ||
	    (place.core.length > 0 && vendor_is_communication_kernel(event->name)))
		return NP_OK;
	kernel = detail_add_kernel(trace->load);
	if (!kernel)
		return NP_E_NOMEM;
	kernel->start = event->ts_ns;
	kernel->end = event->ts_ns + event->dur_ns;
	kernel->stream = vendor_known(place.stream);
	kernel->connection = vendor_known(place.correlation);
	kernel->device = vendor_device(place.device);
	rc = detail_intern(trace->load, event->name.bytes, event->name.length, &kernel->name);
	if (rc == NP_OK)
		rc = detail_intern(trace->load, type.bytes, type.length, &kernel->type);
	if (place.core.length == 0)
		place.core = (struct np_slice){ NP_CORE_GPU, strlen(NP_CORE_GPU) };
	return rc < 0 ? rc
		      : detail_intern(trace->load, place.core.bytes, place.core.length,
				      &kernel->core);
}

static int add_event(struct detail_trace *trace, const struct np_trace_event *event, bool launch,
		     int64_t id)
{
	struct detail_kineto_event *added = np_vec_add(&trace->kineto->events, trace->err);

	if (!added)
		return NP_E_NOMEM;
	*added = (struct detail_kineto_event){ event->ts_ns, event->tid.value, id, launch };
	return NP_OK;
}

static int take_launch(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct kineto_place place;

	/* Only GPUs have them: there nobody need follow arrows. */
	trace->kineto->calls = true;
	if (!detail_trace_reads(trace, NP_DETAIL_FRAMEWORK))
		return NP_OK;
	kineto_place(event, &place);
	return vendor_known(place.correlation) == NP_UNKNOWN
		       ? NP_OK
		       : add_event(trace, event, true, place.correlation);
}

/* --- memory ---------------------------------------------------------------------------------- */

static void release_memory(struct detail_trace *trace, const struct np_trace_event *event,
			   const struct kineto_memory *memory)
{
	uint32_t held = np_idmap_get(trace->kineto->held, memory->address);
	struct np_memory_op *op;

	if (held == NP_IDMAP_NONE)
		return;
	op = &trace->detail->memory_ops.item[held];
	/* One address is given out again and again. */
	if (op->release != NP_UNKNOWN || op->bytes != -memory->bytes || op->alloc > event->ts_ns)
		return;
	op->release = event->ts_ns;
	op->allocated_at_release = memory->allocated;
	op->reserved_at_release = memory->reserved;
}

static int take_memory(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct kineto_memory memory;
	struct np_memory_op *op;
	uint32_t index = (uint32_t)trace->detail->memory_ops.count;
	int rc;

	if (!detail_trace_reads(trace, NP_DETAIL_MEMORY_OPS) || !kineto_memory(event, &memory) ||
	    memory.bytes == NP_UNKNOWN || !detail_time_ok(trace->load, event->ts_ns, event->ts_ns))
		return NP_OK;
	if (memory.bytes < 0) {
		release_memory(trace, event, &memory);
		return NP_OK;
	}
	op = np_vec_add(&trace->detail->memory_ops, trace->err);
	if (!op)
		return NP_E_NOMEM;
	*op = (struct np_memory_op){ .alloc = event->ts_ns,
				     .release = NP_UNKNOWN,
				     .active_release = NP_UNKNOWN,
				     .bytes = memory.bytes,
				     .allocated_at_alloc = memory.allocated,
				     .reserved_at_alloc = memory.reserved,
				     .active_at_alloc = NP_UNKNOWN,
				     .allocated_at_release = NP_UNKNOWN,
				     .reserved_at_release = NP_UNKNOWN,
				     .active_at_release = NP_UNKNOWN,
				     .device = vendor_device(memory.device) };
	rc = np_idmap_set(trace->kineto->held, memory.address, index, trace->err);
	return rc < 0 ? rc : add_event(trace, event, false, index);
}

int detail_kineto_take(struct detail_trace *trace, const struct np_trace_event *event)
{
	if (event->phase == 'i' || event->phase == 'I')
		return take_memory(trace, event);
	if (event->phase != 'X' || event->ts_ns == NP_UNKNOWN || event->dur_ns == NP_UNKNOWN ||
	    event->dur_ns < 0)
		return NP_OK;
	if (!detail_time_ok(trace->load, event->ts_ns, event->ts_ns + event->dur_ns))
		return NP_OK;
	switch (kineto_kind_of(event->cat)) {
	case KINETO_KERNEL:
		return take_kernel(trace, event);
	case KINETO_CALL:
		return take_launch(trace, event);
	default:
		return NP_OK;
	}
}

/* --- what launched the kernels of an NPU ------------------------------------------------------ */

int detail_kineto_take_arrow(struct detail_trace *trace, const struct np_trace_event *event)
{
	return trace->kineto->calls ? NP_OK
				    : kineto_arrows_take(&trace->kineto->arrows, event, trace->err);
}

int detail_kineto_take_site(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct detail_kineto_site *site;
	int64_t external;

	if (trace->kineto->calls || !np_trace_arg_integer(event, "External id", &external))
		return NP_OK;
	site = np_vec_add(&trace->kineto->sites, trace->err);
	if (!site)
		return NP_E_NOMEM;
	*site = (struct detail_kineto_site){ external,
					     (uint32_t)(trace->detail->framework.count - 1) };
	return NP_OK;
}

/* Kernels get the ids of their arrows, operators a link to each id that they launched by. */
static int follow_arrows(struct detail_trace *trace)
{
	struct detail_kineto *kineto = trace->kineto;
	struct np_idset *launched = np_idset_new();
	int rc = launched ? NP_OK : np_fail_nomem(trace->err, "a trace");

	kineto_arrows_sort(&kineto->arrows);
	for (size_t i = 0; i < trace->detail->kernels.count && rc == NP_OK; i++) {
		struct np_kernel *kernel = &trace->detail->kernels.item[i];

		if (kernel->connection != NP_UNKNOWN)
			continue;
		kernel->connection =
			kineto_arrows_find(&kineto->arrows, kernel->start, kernel->stream);
		if (kernel->connection != NP_UNKNOWN)
			rc = np_idset_add(launched, kernel->connection, trace->err);
	}
	for (size_t i = 0; i < kineto->sites.count && rc == NP_OK; i++) {
		const struct detail_kineto_site *site = &kineto->sites.item[i];
		struct np_framework_link *link;

		if (!np_idset_has(launched, site->external))
			continue;
		link = np_vec_add(&trace->detail->links, trace->err);
		if (!link)
			rc = NP_E_NOMEM;
		else
			*link = (struct np_framework_link){ site->external, site->call,
							    NP_LEADS_TO_TASK };
	}
	np_idset_free(launched);
	return rc;
}

void detail_kineto_release(struct detail_kineto *kineto)
{
	np_vec_release(&kineto->events);
	np_vec_release(&kineto->sites);
	kineto_arrows_release(&kineto->arrows);
	np_idmap_free(kineto->held);
}

/* --- operators around launches and allocations ------------------------------------------------ */

static int by_thread(const void *left, const void *right)
{
	const struct detail_kineto_event *a = left;
	const struct detail_kineto_event *b = right;

	if (a->tid != b->tid)
		return np_order(a->tid, b->tid);
	if (a->time != b->time)
		return np_order(a->time, b->time);
	return a->launch != b->launch ? a->launch - b->launch : np_order(a->id, b->id);
}

/* Operators of one thread that are running, the innermost last. */
struct running_calls {
	const struct np_framework_call *calls;
	const uint32_t *order;
	size_t count;
	size_t next; /* in `order` */
	int64_t tid;
	NP_VEC(uint32_t) open;
};

static void end_before(struct running_calls *running, np_ns time)
{
	while (running->open.count > 0 &&
	       running->calls[running->open.item[running->open.count - 1]].end <= time)
		running->open.count--;
}

/* Go on to a time of a thread; events come by thread and time, and so do the calls. */
static int advance(struct running_calls *running, int64_t tid, np_ns time, struct np_err *err)
{
	if (running->tid != tid)
		running->open.count = 0;
	running->tid = tid;
	for (; running->next < running->count; running->next++) {
		uint32_t index = running->order[running->next];
		const struct np_framework_call *call = &running->calls[index];
		uint32_t *slot;

		if (call->tid > tid || (call->tid == tid && call->start > time))
			break;
		if (call->tid < tid || call->kind != NP_FRAMEWORK_OP)
			continue;
		end_before(running, call->start);
		slot = np_vec_add(&running->open, err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = index;
	}
	end_before(running, time);
	return NP_OK;
}

static int belongs_to(struct detail_trace *trace, const struct detail_kineto_event *event,
		      uint32_t call)
{
	struct np_detail *detail = trace->detail;
	struct np_framework_link *link;

	if (!event->launch) {
		detail->memory_ops.item[event->id].name = detail->framework.item[call].name;
		return NP_OK;
	}
	link = np_vec_add(&detail->links, trace->err);
	if (!link)
		return NP_E_NOMEM;
	*link = (struct np_framework_link){ event->id, call, NP_LEADS_TO_TASK };
	return NP_OK;
}

int detail_kineto_place(struct detail_trace *trace)
{
	const struct np_detail *detail = trace->detail;
	struct running_calls running = { .calls = detail->framework.item,
					 .count = detail->framework.count,
					 .tid = INT64_MIN };
	uint32_t *order;
	int rc = NP_OK;

	if (!trace->kineto->calls)
		rc = follow_arrows(trace);
	if (rc < 0 || trace->kineto->events.count == 0)
		return rc;
	qsort(trace->kineto->events.item, trace->kineto->events.count,
	      sizeof(struct detail_kineto_event), by_thread);
	order = detail_order_calls(detail);
	if (!order)
		return np_fail_nomem(trace->err, "calls");
	running.order = order;
	for (size_t i = 0; i < trace->kineto->events.count && rc == NP_OK; i++) {
		const struct detail_kineto_event *event = &trace->kineto->events.item[i];

		rc = advance(&running, event->tid, event->time, trace->err);
		if (rc == NP_OK && running.open.count > 0)
			rc = belongs_to(trace, event, running.open.item[running.open.count - 1]);
	}
	np_vec_release(&running.open);
	free(order);
	return rc;
}
