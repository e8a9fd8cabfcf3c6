/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_load.h"

#include "npuprof/text.h"

static enum lane_kind kind_of(struct np_slice name)
{
	static const struct {
		const char *name;
		enum lane_kind kind;
	} kinds[] = {
		{ "CANN", LANE_CANN },
		{ "Ascend Hardware", LANE_HARDWARE },
		{ "HCCL", LANE_COMMUNICATION },
		{ "Communication", LANE_COMMUNICATION },
		{ "Overlap Analysis", LANE_OVERLAP },
	};

	for (size_t i = 0; i < NP_COUNT(kinds); i++) {
		if (np_slice_is(name, kinds[i].name))
			return kinds[i].kind;
	}
	return LANE_OTHER;
}

struct lane *trace_lane(struct trace_load *load, int64_t pid)
{
	uint32_t index = np_idmap_get(load->lane_index, pid);

	return index == NP_IDMAP_NONE ? NULL : &load->lanes.item[index];
}

static struct lane *add_lane(struct trace_load *load, int64_t pid)
{
	struct lane *lane = trace_lane(load, pid);

	if (lane)
		return lane;
	lane = np_vec_add(&load->lanes, load->capture.err);
	if (!lane)
		return NULL;
	lane->device = NP_UNKNOWN;
	if (np_idmap_set(load->lane_index, pid, (uint32_t)(load->lanes.count - 1),
			 load->capture.err) < 0)
		return NULL;
	return lane;
}

static struct comm_thread *add_thread(struct trace_load *load, int64_t pid, int64_t tid)
{
	struct comm_thread *thread;

	for (size_t i = 0; i < load->threads.count; i++) {
		thread = &load->threads.item[i];
		if (thread->pid == pid && thread->tid == tid)
			return thread;
	}
	thread = np_vec_add(&load->threads, load->capture.err);
	if (thread)
		*thread = (struct comm_thread){
			.pid = pid, .tid = tid, .order = tid, .plane = NP_UNKNOWN
		};
	return thread;
}

/* "Group 0 Communication", "Group 10.0.0.1%eth0_60000_0_17 Communication", "Plane 3". */
static int name_thread(struct trace_load *load, const struct np_trace_event *event,
		       struct np_slice name)
{
	static const char group[] = "Group ";
	static const char suffix[] = " Communication";
	struct comm_thread *thread;
	int64_t plane;

	if (np_slice_begins(name, "Plane ") &&
	    np_text_to_int(name.bytes + 6, name.length - 6, &plane)) {
		thread = add_thread(load, event->pid.value, event->tid.value);
		if (thread)
			thread->plane = plane;
		return thread ? NP_OK : NP_E_NOMEM;
	}
	if (!np_slice_begins(name, group) || name.length < strlen(group) + strlen(suffix))
		return NP_OK;
	thread = add_thread(load, event->pid.value, event->tid.value);
	if (!thread)
		return NP_E_NOMEM;
	return np_strtab_add(load->capture.strings, name.bytes + strlen(group),
			     name.length - strlen(group) - strlen(suffix), &thread->group,
			     load->capture.err);
}

/* "NPU 4" names a device, "NPU" the only one. */
static void label_lane(struct lane *lane, struct np_slice label)
{
	int64_t device;

	if (np_slice_begins(label, "NPU ") &&
	    np_text_to_int(label.bytes + 4, label.length - 4, &device))
		lane->device = device;
}

int trace_name_lane(struct trace_load *load, const struct np_trace_event *event)
{
	struct np_slice text;
	struct lane *lane;
	int64_t order;

	if (np_slice_is(event->name, "process_name") ||
	    np_slice_is(event->name, "process_labels")) {
		lane = add_lane(load, event->pid.value);
		if (!lane)
			return NP_E_NOMEM;
		if (np_trace_arg_text(event, "name", &text))
			lane->kind = kind_of(text);
		if (np_trace_arg_text(event, "labels", &text))
			label_lane(lane, text);
		return NP_OK;
	}
	if (np_slice_is(event->name, "thread_name") && np_trace_arg_text(event, "name", &text))
		return name_thread(load, event, text);
	if (np_slice_is(event->name, "thread_sort_index") &&
	    np_trace_arg_integer(event, "sort_index", &order)) {
		for (size_t i = 0; i < load->threads.count; i++) {
			struct comm_thread *thread = &load->threads.item[i];

			if (thread->pid == event->pid.value && thread->tid == event->tid.value)
				thread->order = order;
		}
	}
	return NP_OK;
}
