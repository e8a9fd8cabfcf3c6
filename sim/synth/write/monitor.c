/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the lines of msMonitor: an object for each event, its keys in the order of the alphabet.
 */
#include "backend.h"

#include "sim/synth/account/sub_task.h"
#include "sim/synth/out/out.h"

struct monitor_lines {
	struct syn_sink base;
	const struct syn_rank_info *info;
	struct syn_out out;
};

static void put_number(struct syn_out *out, const char *key, int64_t value)
{
	SYN_PUT(out, ", \"");
	syn_put(out, key);
	SYN_PUT(out, "\": ");
	syn_put_int(out, value);
}

static void put_text(struct syn_out *out, const char *key, const char *value)
{
	SYN_PUT(out, ", \"");
	syn_put(out, key);
	SYN_PUT(out, "\": \"");
	syn_put(out, value);
	SYN_PUT(out, "\"");
}

static int on_api(struct syn_sink *sink, const struct syn_api *api, struct np_err *err)
{
	static const char *const kinds[] = { [SYN_API_ACL] = "AclAPI",
					     [SYN_API_NODE] = "NodeAPI",
					     [SYN_API_RUNTIME] = "RuntimeAPI" };
	struct monitor_lines *lines = (struct monitor_lines *)sink;
	struct syn_out *out = &lines->out;

	(void)err;
	if ((size_t)api->level >= NP_COUNT(kinds) || !kinds[api->level])
		return NP_OK;
	SYN_PUT(out, "{\"correlationId\": ");
	syn_put_int(out, api->connection);
	put_number(out, "endNs", api->end_ns);
	put_text(out, "kind", kinds[api->level]);
	put_text(out, "name", api->name);
	put_number(out, "processId", lines->info->pid);
	put_number(out, "startNs", api->start_ns);
	put_number(out, "threadId", lines->info->pid + 7);
	SYN_PUT(out, "}\n");
	return NP_OK;
}

static int on_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	struct monitor_lines *lines = (struct monitor_lines *)sink;
	struct syn_out *out = &lines->out;

	(void)err;
	if (task->kind != SYN_TASK_KERNEL)
		return NP_OK;
	SYN_PUT(out, "{\"correlationId\": ");
	syn_put_int(out, task->connection);
	put_number(out, "deviceId", lines->info->place.device);
	put_number(out, "endNs", task->end_ns);
	put_text(out, "kind", "Kernel");
	put_text(out, "name", task->model->name);
	put_number(out, "startNs", task->start_ns);
	put_number(out, "streamId", task->stream);
	put_text(out, "type", "KERNEL_AICORE");
	SYN_PUT(out, "}\n");
	return NP_OK;
}

static int on_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct monitor_lines *lines = (struct monitor_lines *)sink;
	struct syn_out *out = &lines->out;
	char name[64];

	(void)err;
	(void)snprintf(name, sizeof(name), "hcom_%s_", syn_op_word(comm->op));
	SYN_PUT(out, "{\"algType\": \"MESH-RING\", \"commName\": \"");
	syn_put(out, comm->group->name);
	SYN_PUT(out, "\"");
	put_number(out, "correlationId", comm->connection);
	put_number(out, "count", comm->count);
	put_text(out, "dataType", syn_data_type_text(comm->data_type));
	put_number(out, "deviceId", lines->info->place.device);
	put_number(out, "endNs", comm->end_ns);
	put_text(out, "kind", "Communication");
	put_text(out, "name", name);
	put_number(out, "startNs", comm->start_ns);
	put_number(out, "streamId", comm->stream);
	SYN_PUT(out, "}\n");
	return NP_OK;
}

/* torch_npu's dynamic profiler marks steps. */
static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct monitor_lines *lines = (struct monitor_lines *)sink;
	struct syn_out *out = &lines->out;

	(void)err;
	if (step->id == NP_UNKNOWN)
		return NP_OK;
	SYN_PUT(out, "{\"domain\": \"default\", \"endNs\": ");
	syn_put_int(out, step->end_ns);
	put_number(out, "id", step->index);
	put_text(out, "kind", "Marker");
	SYN_PUT(out, ", \"name\": \"step ");
	syn_put_int(out, step->id);
	SYN_PUT(out, "\"");
	put_number(out, "processId", lines->info->pid);
	put_text(out, "sourceKind", "Host");
	put_number(out, "startNs", step->start_ns);
	put_number(out, "threadId", lines->info->pid);
	SYN_PUT(out, "}\n");
	return NP_OK;
}

/* What a monitor says that is stopped: JSON in a text, and the rank. */
static int put_end(struct monitor_lines *lines, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf groups = NP_BUF_INIT;
	struct syn_out *out = &lines->out;
	int rc;

	syn_parallel_group_info(lines->info, &groups);
	rc = np_buf_check(&groups, err);
	if (rc < 0)
		return rc;
	SYN_PUT(out, "{\"kind\": \"parallel_group_info\", \"value\": \"");
	for (const char *c = groups.text; *c; c++) {
		if (*c == '"' || *c == '\\')
			syn_put_char(out, '\\');
		syn_put_char(out, *c);
	}
	SYN_PUT(out, "\"}\n{\"device\": [");
	syn_put_int(out, lines->info->place.device);
	SYN_PUT(out, "], \"kind\": \"rank_device_map\"");
	put_number(out, "rank", lines->info->place.rank);
	SYN_PUT(out, "}\n");
	return NP_OK;
}

static int open_lines(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	struct monitor_lines *lines = calloc(1, sizeof(*lines));
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	if (!lines)
		return np_fail_nomem(err, "lines");
	lines->base = (struct syn_sink){
		.api = on_api, .task = on_task, .comm = on_comm, .step = on_step
	};
	lines->info = info;
	lines->out = SYN_OUT_INIT;
	syn_rank_db_path(info, &path);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = syn_out_open(&lines->out, path.text, false, err);
	if (rc < 0) {
		free(lines);
		return rc;
	}
	*ret = &lines->base;
	return NP_OK;
}

static int close_lines(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct monitor_lines *lines = (struct monitor_lines *)sink;

	if (rc == NP_OK)
		rc = put_end(lines, err);
	rc = syn_out_close(&lines->out, rc, err);
	free(lines);
	return rc;
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return info->form->lines;
}

const struct syn_backend syn_monitor = {
	.name = "lines",
	.is_wanted = is_wanted,
	.open = open_lines,
	.close = close_lines,
};
