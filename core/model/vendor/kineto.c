/* SPDX-License-Identifier: Apache-2.0 */
/* What the events of PyTorch's profiler are, by their categories, names and arguments. */
#include "kineto.h"

#include "hccl_types.h"
#include "values.h"

#include "npuprof/order.h"

#include <ctype.h>

/* Events that are looked at where the head of the file does not say who wrote it. */
#define PROBE 50000

static const struct {
	const char *category;
	enum kineto_kind kind;
} categories[] = {
	{ "cpu_op", KINETO_OPERATOR },
	{ "kernel", KINETO_KERNEL },
	{ "cuda_runtime", KINETO_CALL },
	{ "python_function", KINETO_PYTHON },
	{ "gpu_memcpy", KINETO_COPY },
	{ "gpu_memset", KINETO_COPY },
	{ "cuda_driver", KINETO_CALL },
	{ "user_annotation", KINETO_ANNOTATION },
	{ "collective_comm", KINETO_COLLECTIVE },
	{ "privateuse1_runtime", KINETO_SITE },
	{ "privateuse1_driver", KINETO_SITE },
	{ "operator", KINETO_OPERATOR },
	{ "runtime", KINETO_CALL },
	{ "memcpy", KINETO_COPY },
	{ "memset", KINETO_COPY },
};

enum kineto_kind kineto_kind_of(struct np_slice category)
{
	for (size_t i = 0; i < NP_COUNT(categories); i++) {
		if (category.length == strlen(categories[i].category) &&
		    (category.bytes[0] | 0x20) == categories[i].category[0] &&
		    strncasecmp(category.bytes, categories[i].category, category.length) == 0)
			return categories[i].kind;
	}
	return KINETO_OTHER;
}

/* Categories that traces of torch_npu do not have. */
static bool is_of_kineto(const struct np_trace_event *event)
{
	switch (kineto_kind_of(event->cat)) {
	case KINETO_KERNEL:
	case KINETO_COLLECTIVE:
	case KINETO_COPY:
	case KINETO_CALL:
	case KINETO_SITE:
		return event->phase == 'X';
	default:
		return false;
	}
}

int kineto_is(const char *path, bool *ret, struct np_err *err)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event = NULL;
	int rc = np_trace_open(path, &trace, err);

	*ret = rc == NP_OK && np_trace_info(trace)->kineto;
	for (int i = 0; i < PROBE && rc == NP_OK && !*ret; i++) {
		rc = np_trace_next(trace, &event, err);
		if (rc < 0 || !event)
			break;
		*ret = is_of_kineto(event);
	}
	return rc;
}

bool kineto_communicates(struct np_slice kernel)
{
	static const char own[] = "cross_device_reduce";

	return kineto_begins(kernel, "nccl") || kineto_begins(kernel, "rccl") ||
	       (kernel.length > strlen(own) &&
		memmem(kernel.bytes, kernel.length, own, strlen(own)) != NULL);
}

static struct np_slice last_part(struct np_slice name)
{
	for (size_t i = name.length; i > 0; i--) {
		if (name.bytes[i - 1] == '_')
			return i < name.length
				       ? (struct np_slice){ name.bytes + i, name.length - i }
				       : name;
	}
	return name;
}

struct np_slice kineto_kernel_type(struct np_slice name)
{
	size_t length;

	if (kineto_begins(name, "aclnn"))
		return last_part(name);
	if (kineto_begins(name, "void ")) {
		name.bytes += strlen("void ");
		name.length -= strlen("void ");
	}
	for (length = 0; length < name.length; length++) {
		if (name.bytes[length] == '<' || name.bytes[length] == '(')
			break;
	}
	name.length = length;
	return name;
}

const char *kineto_operator(struct np_slice name)
{
	/* The longer ones first: each holds those behind it. */
	static const char *const words[][2] = {
		{ "allreduce", "hcom_allReduce_" },
		{ "crossdevicereduce", "hcom_allReduce_" },
		{ "reducescatter", "hcom_reduceScatter_" },
		{ "allgather", "hcom_allGather_" },
		{ "broadcast", "hcom_broadcast_" },
		{ "alltoallv", "hcom_alltoallv_" },
		{ "alltoall", "hcom_alltoall_" },
		{ "sendrecv", "hcom_batchSendRecv_" },
		{ "barrier", "hcom_barrier_" },
		{ "reduce", "hcom_reduce_" },
		{ "gather", "hcom_gather_" },
		{ "scatter", "hcom_scatter_" },
		{ "receive", "hcom_receive_" },
		{ "recv", "hcom_receive_" },
		{ "send", "hcom_send_" },
	};
	char text[256];
	size_t used = 0;

	for (size_t i = 0; i < name.length && used + 1 < sizeof(text); i++) {
		if (isalnum((unsigned char)name.bytes[i]))
			text[used++] = (char)tolower((unsigned char)name.bytes[i]);
	}
	text[used] = '\0';
	for (size_t i = 0; i < NP_COUNT(words); i++) {
		if (strstr(text, words[i][0]))
			return words[i][1];
	}
	return NULL;
}

uint8_t kineto_data_type(struct np_slice name)
{
	static const char *const names[][2] = {
		{ "Float", "FP32" },          { "BFloat16", "BFP16" },
		{ "Half", "FP16" },           { "Double", "FP64" },
		{ "Int", "INT32" },           { "Long", "INT64" },
		{ "Short", "INT16" },         { "Char", "INT8" },
		{ "Byte", "UINT8" },          { "Bool", "UINT8" },
		{ "Float32", "FP32" },        { "Float16", "FP16" },
		{ "Float64", "FP64" },        { "Int32", "INT32" },
		{ "Int64", "INT64" },         { "Int16", "INT16" },
		{ "Int8", "INT8" },           { "UInt8", "UINT8" },
		{ "UInt16", "UINT16" },       { "UInt32", "UINT32" },
		{ "UInt64", "UINT64" },       { "Float8_e4m3fn", "FP8E4M3" },
		{ "Float8_e5m2", "FP8E5M2" },
	};
	static const char space[] = "c10::";

	if (kineto_begins(name, space)) {
		name.bytes += strlen(space);
		name.length -= strlen(space);
	}
	for (size_t i = 0; i < NP_COUNT(names); i++) {
		if (name.length == strlen(names[i][0]) && kineto_begins(name, names[i][0]))
			return hccl_type_kept(
				(struct np_slice){ names[i][1], strlen(names[i][1]) });
	}
	return 0;
}

bool kineto_memory(const struct np_trace_event *event, struct kineto_memory *ret)
{
	static const char *const keys[] = { "Device Id", "Addr", "Bytes", "Total Allocated",
					    "Total Reserved" };
	struct np_trace_value values[NP_COUNT(keys)];
	int64_t numbers[NP_COUNT(keys)];

	if (event->ts_ns == NP_UNKNOWN || !np_slice_is(event->name, "[memory]"))
		return false;
	(void)np_trace_args(event, keys, NP_COUNT(keys), values);
	for (size_t i = 0; i < NP_COUNT(keys); i++) {
		if (!np_trace_value_integer(&values[i], &numbers[i]))
			numbers[i] = NP_UNKNOWN;
	}
	*ret = (struct kineto_memory){ numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] };
	/* -1 is the host. */
	return ret->device >= 0;
}

void kineto_place(const struct np_trace_event *event, struct kineto_place *ret)
{
	enum {
		DEVICE,
		STREAM,
		STREAM_ID,
		CORRELATION,
		EXTERNAL,
		TYPE,
		COUNT
	};
	static const char *const keys[COUNT] = { "device",      "stream",      "streamId",
						 "correlation", "External id", "type" };
	struct np_trace_value values[COUNT];

	*ret = (struct kineto_place){ NP_UNKNOWN, NP_UNKNOWN, NP_UNKNOWN, NP_UNKNOWN, { NULL, 0 } };
	(void)np_trace_args(event, keys, COUNT, values);
	if (!np_trace_value_integer(&values[DEVICE], &ret->device) && event->pid.number)
		ret->device = event->pid.value;
	if (!np_trace_value_integer(&values[STREAM], &ret->stream) &&
	    !np_trace_value_integer(&values[STREAM_ID], &ret->stream) && event->tid.number)
		ret->stream = event->tid.value;
	(void)np_trace_value_integer(&values[CORRELATION], &ret->correlation);
	(void)np_trace_value_integer(&values[EXTERNAL], &ret->external);
	if (values[TYPE].type == NP_TRACE_TEXT)
		ret->core = values[TYPE].text;
}

/* --- arrows ---------------------------------------------------------------------------------- */

int kineto_arrows_take(struct kineto_arrows *arrows, const struct np_trace_event *event,
		       struct np_err *err)
{
	struct kineto_arrow *arrow;

	if (event->phase != 'f' || !np_slice_is(event->cat, "ac2g") || !event->id.number ||
	    !event->tid.number || event->ts_ns == NP_UNKNOWN)
		return NP_OK;
	arrow = np_vec_add(arrows, err);
	if (!arrow)
		return NP_E_NOMEM;
	*arrow = (struct kineto_arrow){ event->ts_ns, event->tid.value, event->id.value };
	return NP_OK;
}

static int by_end(const void *left, const void *right)
{
	const struct kineto_arrow *a = left;
	const struct kineto_arrow *b = right;

	if (a->at != b->at)
		return np_order(a->at, b->at);
	return a->stream != b->stream ? np_order(a->stream, b->stream) : np_order(a->id, b->id);
}

void kineto_arrows_sort(struct kineto_arrows *arrows)
{
	if (arrows->count)
		qsort(arrows->item, arrows->count, sizeof(arrows->item[0]), by_end);
}

int64_t kineto_arrows_find(const struct kineto_arrows *arrows, np_ns at, int64_t stream)
{
	const struct kineto_arrow key = { at, stream, INT64_MIN };
	size_t low = 0;
	size_t high = arrows->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_end(&arrows->item[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < arrows->count && arrows->item[low].at == at &&
			       arrows->item[low].stream == stream
		       ? arrows->item[low].id
		       : NP_UNKNOWN;
}

void kineto_arrows_release(struct kineto_arrows *arrows)
{
	np_vec_release(arrows);
}
