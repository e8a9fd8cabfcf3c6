/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_trace.h"

/* What of the trace must be read: sections wanted, and those they are joined with. */
static unsigned sections_to_read(const struct detail_load *load)
{
	unsigned reads = load->wants;

	if (reads & (DETAIL_OF_FRAMEWORK_IN_BRIEF | NP_DETAIL_MARKS))
		reads |= NP_DETAIL_FRAMEWORK;
	if (reads & (NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES | NP_DETAIL_FRAMEWORK |
		     NP_DETAIL_SUB_TASKS | NP_DETAIL_MARKS))
		reads |= NP_DETAIL_TASKS;
	if (reads & (NP_DETAIL_TASKS | NP_DETAIL_SUB_TASKS))
		reads |= NP_DETAIL_OPS;
	return reads;
}

/* For a second pass, where events came before the names of their lanes. */
static void forget_events(struct detail_trace *trace)
{
	struct np_detail *detail = trace->detail;

	detail->tasks.count = 0;
	detail->calls.count = 0;
	detail->framework.count = 0;
	detail->marks.count = 0;
	detail->sub_tasks.count = 0;
	detail->frequency.count = 0;
	detail->gc.count = 0;
	trace->ops.count = 0;
	trace->flows.count = 0;
	trace->mark_flows.count = 0;
	trace->task_names.count = 0;
	trace->task_cores.count = 0;
	trace->sub_tasks.count = 0;
	trace->unknown_lanes = false;
	trace->load->impossible_times = 0;
}

static int read_files(struct detail_trace *trace, struct np_err *problem)
{
	const struct np_source_files *source = trace->load->source;
	int rc = detail_trace_pass(trace, source->file[NP_FILE_TRACE], problem);

	for (size_t i = 0; i < source->more_traces.count && rc == NP_OK; i++)
		rc = detail_trace_pass(trace, source->more_traces.item[i], problem);
	return rc;
}

/* Which sections a trace can tell: those of which it has rows. */
static void tell(struct detail_trace *trace)
{
	const struct np_detail *detail = trace->detail;
	const struct {
		size_t count;
		unsigned sections;
	} lists[] = {
		{ detail->tasks.count, NP_DETAIL_TASKS },
		{ detail->calls.count, NP_DETAIL_CALLS },
		{ detail->framework.count, DETAIL_OF_FRAMEWORK | DETAIL_OF_FRAMEWORK_IN_BRIEF },
		{ detail->marks.count, NP_DETAIL_MARKS },
		{ trace->gpu ? detail->ops.count : trace->ops.count, NP_DETAIL_OPS },
		{ detail->sub_tasks.count, NP_DETAIL_SUB_TASKS },
		{ detail->frequency.count, NP_DETAIL_FREQUENCY },
		{ detail->gc.count, NP_DETAIL_GC },
		{ detail->kernels.count, NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES },
		{ trace->gpu ? detail->memory_ops.count : 0, NP_DETAIL_MEMORY_OPS },
	};

	for (size_t i = 0; i < NP_COUNT(lists); i++) {
		if (lists[i].count > 0)
			detail_told(trace->load, lists[i].sections);
	}
}

static void release(struct detail_trace *trace)
{
	trace_lanes_release(&trace->lanes);
	np_vec_release(&trace->ops);
	np_vec_release(&trace->flows);
	np_vec_release(&trace->mark_flows);
	np_vec_release(&trace->task_names);
	np_vec_release(&trace->task_cores);
	np_vec_release(&trace->sub_tasks);
}

static int read_trace(struct detail_trace *trace)
{
	struct detail_load *load = trace->load;
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (trace_lanes_init(&trace->lanes, load->err) < 0)
		return NP_E_NOMEM;
	rc = read_files(trace, &problem);
	if (rc == NP_OK && trace->unknown_lanes) {
		forget_events(trace);
		rc = read_files(trace, &problem);
	}
	if (rc == NP_E_NOMEM)
		return np_fail(load->err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		detail_note(load, load->source->file[NP_FILE_TRACE], np_file_name(NP_FILE_TRACE),
			    problem.text);
	rc = detail_trace_join(trace);
	if (rc == NP_OK)
		tell(trace);
	return rc;
}

/* Sections that a trace has nothing of. */
#define NOT_IN_TRACE \
	(NP_DETAIL_PMU | NP_DETAIL_MEMORY_OPS | NP_DETAIL_MEMORY_CURVE | NP_DETAIL_MEMORY_EVENTS | \
	 NP_DETAIL_DEVICE | NP_DETAIL_ENVIRONMENT)

int detail_read_trace(struct detail_load *load)
{
	struct detail_trace trace = { .load = load, .detail = load->detail, .err = load->err };
	int rc;

	if (!detail_wants(load, ~(unsigned)NOT_IN_TRACE))
		return NP_OK;
	trace.reads = sections_to_read(load);
	rc = read_trace(&trace);
	release(&trace);
	return rc;
}

static int read_gpu_trace(struct detail_trace *trace)
{
	struct detail_load *load = trace->load;
	const char *path = load->source->file[NP_FILE_GPU_TRACE];
	struct np_err problem = NP_ERR_INIT;
	int rc;

	trace->gpu->held = np_idmap_new();
	if (!trace->gpu->held)
		return np_fail_nomem(load->err, "a trace");
	rc = detail_trace_pass(trace, path, &problem);
	if (rc == NP_E_NOMEM)
		return np_fail(load->err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		detail_note(load, path, np_file_name(NP_FILE_GPU_TRACE), problem.text);
	rc = detail_trace_link_calls(trace);
	if (rc == NP_OK)
		rc = detail_gpu_place(trace);
	if (rc == NP_OK)
		tell(trace);
	return rc;
}

int detail_read_gpu_trace(struct detail_load *load)
{
	struct detail_gpu gpu = { 0 };
	struct detail_trace trace = {
		.load = load, .gpu = &gpu, .detail = load->detail, .err = load->err
	};
	int rc;

	trace.reads = load->wants;
	/* Operators are those who dispatch, and who allocate. */
	if (detail_trace_reads(&trace, DETAIL_OF_FRAMEWORK_IN_BRIEF | NP_DETAIL_MEMORY_OPS))
		trace.reads |= NP_DETAIL_FRAMEWORK;
	rc = read_gpu_trace(&trace);
	np_vec_release(&gpu.events);
	np_idmap_free(gpu.held);
	release(&trace);
	return rc;
}
