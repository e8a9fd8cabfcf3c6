/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

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

static void put_call(struct syn_trace *trace, np_ns start, np_ns end)
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
	put_call(trace, api->start_ns, api->end_ns);
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
	put_call(trace, step->start_ns, step->end_ns);
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
