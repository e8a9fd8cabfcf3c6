/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "trace.h"

int64_t syn_trace_pid(const struct syn_trace *trace, int lane)
{
	return trace->info->pid << 10 | (int64_t)lane << 5 | trace->info->place.device;
}

int64_t syn_trace_queue_thread(const struct syn_trace *trace)
{
	return trace->info->pid + 7;
}

static void put_name(struct syn_trace *trace, const char *kind, int lane, int64_t thread,
		     const char *args)
{
	struct syn_out *out = &trace->out;

	syn_trace_next(out, &trace->begun);
	SYN_PUT(out, "{\"name\": \"");
	syn_put(out, kind);
	SYN_PUT(out, "\", \"pid\": ");
	syn_put_int(out, syn_trace_pid(trace, lane));
	SYN_PUT(out, ", \"tid\": ");
	syn_put_int(out, thread);
	SYN_PUT(out, ", \"args\": {");
	syn_put(out, args);
	SYN_PUT(out, "}, \"ph\": \"M\"}");
}

static void put_thread_name(struct syn_trace *trace, int lane, int64_t thread, const char *name)
{
	char args[256]; /* the longest name is that of put_group() */

	(void)snprintf(args, sizeof(args), "\"name\": \"%s\"", name);
	put_name(trace, "thread_name", lane, thread, args);
}

static void put_thread_order(struct syn_trace *trace, int lane, int64_t thread)
{
	char args[64];

	(void)snprintf(args, sizeof(args), "\"sort_index\": %" PRId64, thread);
	put_name(trace, "thread_sort_index", lane, thread, args);
}

static void put_process_name(struct syn_trace *trace, int lane, const char *name)
{
	char args[64];

	(void)snprintf(args, sizeof(args), "\"name\": \"%s\"", name);
	put_name(trace, "process_name", lane, 0, args);
}

/* Newer tools say which device it is. */
static void put_process_end(struct syn_trace *trace, int lane)
{
	char args[64];

	if (lane == SYN_LANE_CANN)
		(void)snprintf(args, sizeof(args), "\"labels\": \"CPU\"");
	else if (trace->config->schema)
		(void)snprintf(args, sizeof(args), "\"labels\": \"NPU %d\"",
			       trace->info->place.device);
	else
		(void)snprintf(args, sizeof(args), "\"labels\": \"NPU\"");
	put_name(trace, "process_labels", lane, 0, args);
	(void)snprintf(args, sizeof(args), "\"sort_index\": %d", lane);
	put_name(trace, "process_sort_index", lane, 0, args);
}

static void put_hardware(struct syn_trace *trace)
{
	put_process_name(trace, SYN_LANE_HARDWARE, "Ascend Hardware");
	for (int stream = 0; stream < (int)NP_COUNT(trace->streams); stream++) {
		char name[32];

		if (!trace->streams[stream])
			continue;
		(void)snprintf(name, sizeof(name), "Stream %d", stream);
		put_thread_name(trace, SYN_LANE_HARDWARE, stream, name);
		put_thread_order(trace, SYN_LANE_HARDWARE, stream);
	}
	put_process_end(trace, SYN_LANE_HARDWARE);
}

/* Numbered before, by the communicator's name since late 2025. */
static void put_group(struct syn_trace *trace, size_t index)
{
	const struct syn_trace_group *group = &trace->groups.item[index];
	char name[192];

	if (trace->config->schema)
		(void)snprintf(name, sizeof(name), "Group %s Communication", group->group->name);
	else
		(void)snprintf(name, sizeof(name), "Group %zu Communication", index);
	put_thread_name(trace, SYN_LANE_HCCL, group->thread, name);
	put_thread_order(trace, SYN_LANE_HCCL, group->thread);
	for (int plane = 0; plane < group->planes; plane++) {
		(void)snprintf(name, sizeof(name), "Plane %d", plane);
		put_thread_name(trace, SYN_LANE_HCCL, group->thread + 1 + plane, name);
	}
	for (int plane = 0; plane < group->planes; plane++)
		put_thread_order(trace, SYN_LANE_HCCL, group->thread + 1 + plane);
}

static void put_hccl(struct syn_trace *trace)
{
	if (trace->groups.count == 0)
		return;
	put_process_name(trace, SYN_LANE_HCCL, trace->config->schema ? "Communication" : "HCCL");
	for (size_t i = 0; i < trace->groups.count; i++)
		put_group(trace, i);
	put_process_end(trace, SYN_LANE_HCCL);
}

/* At level 0 the calls are taken out again, and with them the lane's name but not the rest. */
static void put_cann(struct syn_trace *trace)
{
	int64_t thread = syn_trace_queue_thread(trace);
	char name[48];

	if (trace->config->level > 0)
		put_process_name(trace, SYN_LANE_CANN, "CANN");
	(void)snprintf(name, sizeof(name), "Thread %" PRId64, thread);
	put_thread_name(trace, SYN_LANE_CANN, thread, name);
	put_thread_order(trace, SYN_LANE_CANN, thread);
	put_process_end(trace, SYN_LANE_CANN);
}

static void put_overlap(struct syn_trace *trace)
{
	put_process_name(trace, SYN_LANE_OVERLAP, "Overlap Analysis");
	put_thread_name(trace, SYN_LANE_OVERLAP, 0, "Computing");
	put_thread_name(trace, SYN_LANE_OVERLAP, 1, "Communication");
	put_thread_name(trace, SYN_LANE_OVERLAP, 2, "Communication(Not Overlapped)");
	put_thread_name(trace, SYN_LANE_OVERLAP, 3, "Free");
	put_process_end(trace, SYN_LANE_OVERLAP);
}

void syn_trace_lanes(struct syn_trace *trace)
{
	put_hardware(trace);
	put_hccl(trace);
	put_cann(trace);
	put_overlap(trace);
	put_process_name(trace, SYN_LANE_FREQUENCY, "AI Core Freq");
	put_process_end(trace, SYN_LANE_FREQUENCY);
}
