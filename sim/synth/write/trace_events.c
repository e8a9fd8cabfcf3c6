/* SPDX-License-Identifier: Apache-2.0 */
/* Writes single events of a trace, those of the device and those of the host. */
#include "sim/synth/account/sub_task.h"
#include "sim/synth/out/schema.h"
#include "trace.h"

static void put_place(struct syn_out *out, int64_t pid, int64_t thread, np_ns start)
{
	SYN_PUT(out, "\"pid\": ");
	syn_put_int(out, pid);
	SYN_PUT(out, ", \"tid\": ");
	syn_put_int(out, thread);
	SYN_PUT(out, ", \"ts\": \"");
	syn_put_us(out, start);
	SYN_PUT(out, "\"");
}

/* "{"name": …, "dur": …" */
static void begin_slice(struct syn_trace *trace, const char *prefix, const char *name, int lane,
			int64_t thread, const struct syn_trace_event *event)
{
	struct syn_out *out = &trace->out;

	syn_trace_next(out, &trace->begun);
	SYN_PUT(out, "{\"name\": \"");
	syn_put(out, prefix);
	syn_put(out, name);
	SYN_PUT(out, "\", ");
	put_place(out, syn_trace_pid(trace, lane), thread, event->start_ns);
	SYN_PUT(out, ", \"dur\": ");
	if (event->length_ns == 0)
		SYN_PUT(out, "0");
	else
		syn_put_us_float(out, event->length_ns);
}

static void end_slice(struct syn_trace *trace)
{
	SYN_PUT(&trace->out, ", \"ph\": \"X\"}");
}

/*
 * Numbers of arrows. Since late 2025 they follow from the connection alone.
 * Before, one to a kernel had its stream, task, batch and context side by side,
 * which is more than 64 bits; one to a copy the connection as it is.
 */
static void put_arrow_id(struct syn_trace *trace, const struct syn_trace_event *event)
{
	__extension__ typedef unsigned __int128 wide;
	bool to_kernel = event->kind != SYN_TRACE_OP && event->detail == SYN_TASK_KERNEL;
	wide id = (wide)(uint64_t)event->connection << 32;
	char text[40];
	char *start = text + sizeof(text);

	if (!trace->config->schema && to_kernel)
		id = (wide)(uint64_t)event->place << 64 | (wide)(event->id & 0xffff) << 48 |
		     UINT32_MAX;
	else if (!trace->config->schema && event->detail == SYN_TASK_MEMCPY)
		id = (wide)(uint64_t)event->connection;
	else if (!trace->config->schema)
		id--;
	do {
		*--start = (char)('0' + (int)(id % 10));
		id /= 10;
	} while (id > 0);
	syn_put_bytes(&trace->out, start, (size_t)(text + sizeof(text) - start));
}

static void put_arrow_start(struct syn_trace *trace, const struct syn_trace_event *event)
{
	struct syn_out *out = &trace->out;

	syn_trace_next(out, &trace->begun);
	SYN_PUT(out, "{\"name\": \"HostToDevice");
	put_arrow_id(trace, event);
	SYN_PUT(out, "\", \"ph\": \"s\", \"cat\": \"HostToDevice\", \"id\": \"");
	put_arrow_id(trace, event);
	SYN_PUT(out, "\", ");
	put_place(out, syn_trace_pid(trace, SYN_LANE_CANN), syn_trace_queue_thread(trace),
		  event->start_ns);
	SYN_PUT(out, "}");
}

static void put_arrow_end(struct syn_trace *trace, const struct syn_trace_event *event, int lane,
			  int64_t thread)
{
	struct syn_out *out = &trace->out;

	syn_trace_next(out, &trace->begun);
	SYN_PUT(out, "{\"name\": \"HostToDevice");
	put_arrow_id(trace, event);
	SYN_PUT(out, "\", \"ph\": \"f\", \"id\": \"");
	put_arrow_id(trace, event);
	SYN_PUT(out, "\", \"ts\": \"");
	syn_put_us(out, event->start_ns);
	SYN_PUT(out, "\", \"cat\": \"HostToDevice\", \"pid\": ");
	syn_put_int(out, syn_trace_pid(trace, lane));
	SYN_PUT(out, ", \"tid\": ");
	syn_put_int(out, thread);
	SYN_PUT(out, ", \"bp\": \"e\"}");
}

static void put_framework_arrow(struct syn_trace *trace, char phase, np_ns id, int64_t pid,
				int64_t thread, np_ns at)
{
	struct syn_out *out = &trace->arrows;
	bool torch = trace->info->form->maker == SYN_TORCH;

	syn_trace_next(out, &trace->arrows_begun);
	SYN_PUT(out, "{\"ph\": \"");
	syn_put_char(out, phase);
	SYN_PUT(out, "\", \"bp\": \"e\", \"name\": \"");
	syn_put(out, torch ? "torch_to_npu" : "mindspore_to_npu");
	SYN_PUT(out, "\", \"id\": ");
	syn_put_int(out, id);
	SYN_PUT(out, ", ");
	put_place(out, pid, thread, at);
	SYN_PUT(out, ", \"cat\": \"async_npu\"}");
}

/* From the call of the framework to what it led to. They wait for the end of the file. */
static void put_framework_arrows(struct syn_trace *trace, const struct syn_trace_event *event,
				 int lane, int64_t thread)
{
	if (!trace->framework || event->host_ns == NP_UNKNOWN)
		return;
	put_framework_arrow(trace, 's', event->start_ns, trace->info->pid, trace->info->pid,
			    event->host_ns);
	put_framework_arrow(trace, 'f', event->start_ns, syn_trace_pid(trace, lane), thread,
			    event->start_ns);
}

static void put_counter(struct syn_trace *trace, const struct syn_trace_event *event)
{
	struct syn_out *out = &trace->out;

	syn_trace_next(out, &trace->begun);
	SYN_PUT(out, "{\"name\": \"AI Core Freq\", \"ts\": \"");
	syn_put_us(out, event->start_ns);
	SYN_PUT(out, "\", \"pid\": ");
	syn_put_int(out, syn_trace_pid(trace, SYN_LANE_FREQUENCY));
	SYN_PUT(out, ", \"tid\": 0, \"args\": {\"MHz\": ");
	syn_put_int(out, event->size);
	SYN_PUT(out, "}, \"ph\": \"C\"}");
}

/* How each level of calls is shown; the words for communication changed with the schema. */
struct call_words {
	const char *prefix;
	const char *level;
	const char *mode;
};

static struct call_words words_of(const struct syn_trace *trace,
				  const struct syn_trace_event *event)
{
	bool modern = trace->config->schema != 0;

	switch ((enum syn_api_level)event->detail) {
	case SYN_API_NODE:
		return (struct call_words){ "Node@", "node", "launch" };
	case SYN_API_COMM:
		return (struct call_words){ modern ? "Communication@" : "Hccl@",
					    modern ? "communication" : "hccl", "master" };
	case SYN_API_RUNTIME:
		return (struct call_words){ "Runtime@", "runtime", "0" };
	case SYN_API_TORCH:
	case SYN_API_ACL:
		break;
	}
	if (strncmp(event->name, "hcom_", 5) == 0)
		return (struct call_words){ "AscendCL@", "acl", "HOST_HCCL" };
	return (struct call_words){ "AscendCL@", "acl",
				    strncmp(event->name, "aclrt", 5) == 0 ? "ACL_RTS" : "ACL_NN" };
}

static void put_call(struct syn_trace *trace, const struct syn_trace_event *event)
{
	struct syn_out *out = &trace->out;
	struct call_words words = words_of(trace, event);
	int64_t thread = syn_trace_queue_thread(trace);
	bool named = event->detail == SYN_API_ACL || event->detail == SYN_API_RUNTIME;

	if (trace->config->level == 0)
		return;
	begin_slice(trace, words.prefix, event->name, SYN_LANE_CANN, thread, event);
	SYN_PUT(out, ", \"args\": {\"Thread Id\": ");
	syn_put_int(out, thread);
	SYN_PUT(out, ", \"Mode\": \"");
	syn_put(out, words.mode);
	SYN_PUT(out, "\", \"level\": \"");
	syn_put(out, words.level);
	SYN_PUT(out, "\", \"id\": \"");
	syn_put(out, named ? event->name : "0");
	SYN_PUT(out, "\", \"item_id\": \"");
	syn_put(out, event->item);
	SYN_PUT(out, "\", \"connection_id\": ");
	syn_put_int(out, event->connection);
	SYN_PUT(out, "}");
	end_slice(trace);
}

static void put_hardware(struct syn_trace *trace, const struct syn_trace_event *event,
			 const char *name, const char *type)
{
	struct syn_out *out = &trace->out;

	begin_slice(trace, "", name, SYN_LANE_HARDWARE, event->place, event);
	SYN_PUT(out, ", \"args\": {\"Model Id\": 4294967295, \"Task Type\": \"");
	syn_put(out, type);
	SYN_PUT(out, "\", \"Physic Stream Id\": ");
	syn_put_int(out, event->place);
	SYN_PUT(out, ", \"Task Id\": ");
	syn_put_int(out, event->id & 0xffff);
	SYN_PUT(out, ", \"Batch Id\": 0, \"Subtask Id\": 4294967295, \"connection_id\": ");
	syn_put_int(out, event->connection);
	SYN_PUT(out, "}");
	end_slice(trace);
}

/* Before late 2025 vector kernels were shown as AI_CORE here. */
static const char *kernel_type(const struct syn_trace *trace, enum syn_core core)
{
	if (core == SYN_VECTOR && !trace->config->schema)
		return "AI_CORE";
	return syn_core_name(core);
}

static void put_task(struct syn_trace *trace, const struct syn_trace_event *event)
{
	static const struct {
		const char *name;
		const char *type;
	} words[] = {
		[SYN_TASK_MEMCPY] = { "MEMCPY_ASYNC", "PCIE_DMA_SQE" },
		[SYN_TASK_EVENT_RECORD] = { "EVENT_RECORD", "EVENT_RECORD_SQE" },
		[SYN_TASK_EVENT_WAIT] = { "EVENT_WAIT", "EVENT_WAIT_SQE" },
		[SYN_TASK_MARKER] = { "STARS_COMMON", "STARS_COMMON" },
	};

	if (event->detail == SYN_TASK_KERNEL)
		put_hardware(trace, event, event->name,
			     kernel_type(trace, (enum syn_core)event->core));
	else
		put_hardware(trace, event, words[event->detail].name, words[event->detail].type);
	if (event->detail != SYN_TASK_KERNEL && event->detail != SYN_TASK_MEMCPY)
		return;
	put_arrow_end(trace, event, SYN_LANE_HARDWARE, event->place);
	put_framework_arrows(trace, event, SYN_LANE_HARDWARE, event->place);
}

static void put_op(struct syn_trace *trace, const struct syn_trace_event *event)
{
	const struct syn_trace_group *group = &trace->groups.item[event->place];
	struct syn_out *out = &trace->out;

	begin_slice(trace, "", event->name, SYN_LANE_HCCL, group->thread, event);
	SYN_PUT(out, ", \"args\": {\"connection_id\": ");
	syn_put_int(out, event->connection);
	SYN_PUT(out, ", \"model id\": 4294967295, \"data_type\": \"");
	syn_put(out, syn_data_type_text(event->data_type));
	SYN_PUT(out, "\", \"alg_type\": \"");
	syn_put(out, syn_algorithm(group->group));
	SYN_PUT(out, "\", \"count\": ");
	if (event->count == NP_UNKNOWN)
		SYN_PUT(out, "\"N/A\"");
	else
		syn_put_int(out, event->count);
	SYN_PUT(out, "}");
	end_slice(trace);
	put_arrow_end(trace, event, SYN_LANE_HCCL, group->thread);
	put_framework_arrows(trace, event, SYN_LANE_HCCL, group->thread);
}

static struct syn_sub_task sub_task_of(const struct syn_trace_event *event)
{
	return (struct syn_sub_task){
		.start_ns = event->start_ns,
		.end_ns = event->start_ns + event->length_ns,
		.kind = event->detail,
		.plane = event->plane,
		.on_chip = event->on_chip,
		.src = event->src,
		.dst = event->dst,
		.size = event->size,
	};
}

static void put_key(struct syn_out *out, const char *key, const char *value)
{
	SYN_PUT(out, ", \"");
	syn_put(out, key);
	SYN_PUT(out, "\": \"");
	syn_put(out, value);
	SYN_PUT(out, "\"");
}

static void put_key_int(struct syn_out *out, const char *key, int64_t value)
{
	SYN_PUT(out, ", \"");
	syn_put(out, key);
	SYN_PUT(out, "\": ");
	syn_put_int(out, value);
}

/* With three digits: more are slow to write, and of the size and the time nobody is in doubt. */
static void put_bandwidth(struct syn_out *out, const struct syn_sub_task *sub_task)
{
	SYN_PUT(out, ", \"bandwidth(GB/s)\": ");
	syn_put_us_float(out, (np_ns)(syn_sub_task_bandwidth(sub_task) / 1e6 + 0.5));
}

static void put_sub_task_args(struct syn_trace *trace, const struct syn_trace_event *event)
{
	struct syn_sub_task sub_task = sub_task_of(event);
	int64_t notify = syn_sub_task_notify_id(&sub_task);
	int64_t rdma = syn_sub_task_rdma_type(&sub_task);
	int64_t link = syn_sub_task_link(&sub_task);
	struct syn_out *out = &trace->out;

	SYN_PUT(out, ", \"args\": {\"notify_id\": \"");
	if (notify == INT64_MAX)
		SYN_PUT(out, "18446744073709551615");
	else
		syn_put_int(out, notify);
	SYN_PUT(out, "\", \"duration estimated(us)\": ");
	syn_put_us_float(out, event->length_ns);
	put_key_int(out, "stream id", event->stream);
	put_key_int(out, "task id", event->id & 0xffff);
	put_key_int(out, "context id", SYN_NO_ID);
	put_key(out, "task type", syn_sub_task_name((enum syn_sub_task_kind)sub_task.kind));
	put_key_int(out, "src rank", sub_task.src);
	put_key_int(out, "dst rank", sub_task.dst < 0 ? SYN_NO_ID : sub_task.dst);
	put_key(out, "transport type", syn_transport_text(syn_sub_task_transport(&sub_task)));
	put_key_int(out, "size(Byte)", syn_sub_task_size(&sub_task));
	put_key(out, "data type",
		syn_data_type_text(syn_sub_task_data_type(&sub_task, event->data_type)));
	put_key(out, "link type", syn_link_text(link));
	put_bandwidth(out, &sub_task);
	put_key_int(out, "model id", SYN_NO_ID);
	if (rdma != SYN_ENUM_INVALID)
		put_key(out, "rdma type", syn_rdma_text(rdma));
	if (trace->config->schema)
		put_key_int(out, "is_master", sub_task.plane == 0 ? 1 : 0);
	SYN_PUT(out, "}");
}

static void put_sub_task(struct syn_trace *trace, const struct syn_trace_event *event)
{
	const struct syn_trace_group *group = &trace->groups.item[event->place];

	begin_slice(trace, "", syn_sub_task_name((enum syn_sub_task_kind)event->detail),
		    SYN_LANE_HCCL, group->thread + 1 + event->plane, event);
	put_sub_task_args(trace, event);
	end_slice(trace);
}

static void put_overlap(struct syn_trace *trace, const struct syn_trace_event *event)
{
	static const char *const names[] = {
		[SYN_LANE_COMPUTING] = "Computing",
		[SYN_LANE_COMMUNICATION] = "Communication",
		[SYN_LANE_EXPOSED] = "Communication(Not Overlapped)",
		[SYN_LANE_FREE] = "Free",
	};

	begin_slice(trace, "", names[event->detail], SYN_LANE_OVERLAP, event->detail, event);
	end_slice(trace);
}

void syn_trace_event(struct syn_trace *trace, const struct syn_trace_event *event)
{
	const char *type;

	switch ((enum syn_trace_kind)event->kind) {
	case SYN_TRACE_COUNTER:
		put_counter(trace, event);
		break;
	case SYN_TRACE_CALL:
		put_call(trace, event);
		break;
	case SYN_TRACE_ARROW:
		put_arrow_start(trace, event);
		break;
	case SYN_TRACE_TASK:
		put_task(trace, event);
		break;
	case SYN_TRACE_SUB_TASK_ON_DEVICE:
		type = syn_sub_task_task_type((enum syn_sub_task_kind)event->detail);
		put_hardware(trace, event, type, type);
		break;
	case SYN_TRACE_SUB_TASK:
		put_sub_task(trace, event);
		break;
	case SYN_TRACE_OP:
		put_op(trace, event);
		break;
	case SYN_TRACE_OVERLAP:
		put_overlap(trace, event);
		break;
	}
}

/* Parts of a launch that the simulation does not know: inside, or just outside, what it knows. */
#define ENQUEUE_NS 800
#define DEQUEUE_NS 200

static int64_t main_thread(const struct syn_trace *trace)
{
	return trace->info->pid;
}

static void put_head(struct syn_trace *trace, struct syn_out *out, int64_t thread, np_ns start)
{
	SYN_PUT(out, "\", \"pid\": ");
	syn_put_int(out, trace->info->pid);
	SYN_PUT(out, ", \"tid\": ");
	syn_put_int(out, thread);
	SYN_PUT(out, ", \"ts\": \"");
	syn_put_us(out, start);
	SYN_PUT(out, "\"");
}

static void put_length(struct syn_out *out, np_ns length)
{
	SYN_PUT(out, ", \"dur\": ");
	syn_put_us_float(out, length);
}

/* "4096,1024;1024" in quotes as torch shows it: one line for each input. */
static void put_list(struct syn_out *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == ';')
			SYN_PUT(out, ";\\r\\n");
		else if (*c != '"')
			syn_put_char(out, *c);
	}
}

static void begin_call(struct syn_trace *trace, const char *name)
{
	syn_trace_next(&trace->out, &trace->begun);
	SYN_PUT(&trace->out, "{\"ph\": \"X\", \"name\": \"");
	syn_put(&trace->out, name);
}

static void put_framework_call(struct syn_trace *trace, np_ns start, np_ns end)
{
	put_head(trace, &trace->out, main_thread(trace), start);
	put_length(&trace->out, end - start);
	SYN_PUT(&trace->out, ", \"cat\": \"cpu_op\", \"args\": {\"Sequence number\": -1, "
			     "\"Fwd thread id\": 0");
}

/* The arrow between Enqueue and Dequeue begins and ends with them. */
static void put_queue_event(struct syn_trace *trace, struct syn_out *out, const char *category,
			    char phase, int64_t thread, np_ns start)
{
	SYN_PUT(out, ", \"cat\": \"");
	syn_put(out, category);
	SYN_PUT(out, "\", \"args\": {\"correlation_id\": ");
	syn_put_int(out, trace->correlation);
	SYN_PUT(out, "}}, {\"ph\": \"");
	syn_put_char(out, phase);
	SYN_PUT(out, "\", \"bp\": \"e\", \"name\": \"enqueue_to_dequeue\", \"id\": ");
	syn_put_int(out, trace->correlation);
	SYN_PUT(out, ", \"pid\": ");
	syn_put_int(out, trace->info->pid);
	SYN_PUT(out, ", \"tid\": ");
	syn_put_int(out, thread);
	SYN_PUT(out, ", \"ts\": \"");
	syn_put_us(out, start);
	SYN_PUT(out, "\", \"cat\": \"async_task_queue\"}");
}

static void put_enqueue(struct syn_trace *trace, const struct syn_api *api)
{
	struct syn_out *out = &trace->enqueues;
	np_ns start = api->end_ns - ENQUEUE_NS;

	trace->correlation++;
	SYN_PUT(out, ", {\"ph\": \"X\", \"name\": \"Enqueue");
	put_head(trace, out, main_thread(trace), start);
	put_length(out, ENQUEUE_NS);
	put_queue_event(trace, out, "enqueue", 's', main_thread(trace), start);
}

void syn_trace_torch(struct syn_trace *trace, const struct syn_api *api)
{
	const struct syn_kernel_model *model = api->model;

	if (!trace->framework)
		return;
	begin_call(trace, api->name);
	put_framework_call(trace, api->start_ns, api->end_ns);
	if (model && !model->experts) {
		SYN_PUT(&trace->out, ", \"Input Dims\": \"");
		put_list(&trace->out, model->input_shapes);
		SYN_PUT(&trace->out, "\", \"Input type\": \"");
		put_list(&trace->out, model->dtypes);
		SYN_PUT(&trace->out, "\"");
	}
	SYN_PUT(&trace->out, "}}");
	if (api->connection >= 0)
		put_enqueue(trace, api);
}

void syn_trace_dequeue(struct syn_trace *trace, const struct syn_api *api)
{
	struct syn_out *out = &trace->dequeues;
	np_ns start = api->start_ns - DEQUEUE_NS;

	if (!trace->framework)
		return;
	SYN_PUT(out, ", {\"ph\": \"X\", \"name\": \"Dequeue@");
	syn_put(out, api->name);
	put_head(trace, out, syn_trace_queue_thread(trace), start);
	put_length(out, api->end_ns - start);
	put_queue_event(trace, out, "dequeue", 'f', syn_trace_queue_thread(trace), start);
}

void syn_trace_step(struct syn_trace *trace, const struct syn_step_event *step)
{
	if (!trace->framework || step->id == NP_UNKNOWN)
		return;
	begin_call(trace, "ProfilerStep#");
	syn_put_int(&trace->out, step->id);
	put_framework_call(trace, step->start_ns, step->end_ns);
	SYN_PUT(&trace->out, "}}");
}

static void put_name(struct syn_trace *trace, const char *kind, int64_t thread, const char *text)
{
	struct syn_out *out = &trace->out;

	SYN_PUT(out, ", {\"ph\": \"M\", \"name\": \"");
	syn_put(out, kind);
	SYN_PUT(out, "\", \"pid\": ");
	syn_put_int(out, trace->info->pid);
	SYN_PUT(out, ", \"tid\": ");
	syn_put_int(out, thread);
	SYN_PUT(out, ", \"args\": {");
	syn_put(out, text);
	SYN_PUT(out, "}}");
}

static void put_thread(struct syn_trace *trace, int64_t thread)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "\"name\": \"Thread %lld\"", (long long)thread);
	put_name(trace, "thread_name", thread, text);
	(void)snprintf(text, sizeof(text), "\"sort_index\": %lld", (long long)thread);
	put_name(trace, "thread_sort_index", thread, text);
}

int syn_trace_end_framework(struct syn_trace *trace, struct np_err *err)
{
	bool torch = trace->info->form->maker == SYN_TORCH;
	int rc = syn_out_move(&trace->out, &trace->enqueues, err);

	if (rc == NP_OK)
		rc = syn_out_move(&trace->out, &trace->dequeues, err);
	put_name(trace, "process_name", 0,
		 torch ? "\"name\": \"Python\"" : "\"name\": \"MindSpore\"");
	put_name(trace, "process_labels", 0, "\"labels\": \"CPU\"");
	put_name(trace, "process_sort_index", 0, "\"sort_index\": 0");
	put_thread(trace, main_thread(trace));
	put_thread(trace, syn_trace_queue_thread(trace));
	return rc;
}
