/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiler_info_<rank>.json and profiler_metadata.json, in the form in which
 * Python's json module writes them.
 */
#include "backend.h"
#include "sim/synth/out/io.h"
#include "sim/synth/out/out.h"

#include <inttypes.h>

struct metadata {
	struct syn_sink base;
	const struct syn_rank_info *info;
	np_ns end_ns;
};

void syn_distributed_args(const struct syn_rank_info *info, struct np_buf *buf)
{
	const struct syn_config *config = info->config;

	np_buf_printf(buf,
		      "{\"tensor_model_parallel_size\": %" PRId64
		      ", \"pipeline_model_parallel_size\": %" PRId64
		      ", \"data_parallel_size\": %" PRId64 ", \"context_parallel_size\": %" PRId64
		      ", \"expert_model_parallel_size\": %" PRId64
		      ", \"sequence_parallel\": false, \"rank\": %d, \"world_size\": %" PRId64 "}",
		      config->tp, config->pp, config->dp, config->cp, config->ep, info->place.rank,
		      config->ranks);
}

void syn_parallel_group_info(const struct syn_rank_info *info, struct np_buf *buf)
{
	const struct syn_groups *groups = info->groups;
	const char *separator = "";

	np_buf_add(buf, "{");
	for (int role = 0; role < SYN_ROLES; role++) {
		int32_t index = syn_group_of(groups, info->place.rank, (enum syn_role)role);
		const struct syn_group *group;

		if (index < 0)
			continue;
		group = &groups->all.item[index];
		np_buf_printf(
			buf,
			"%s\"%s\": {\"group_name\": \"%s\", \"group_rank\": %d, \"global_ranks\": [",
			separator, group->name, group->pg_name,
			syn_local_rank(group, info->place.rank));
		for (int32_t i = 0; i < group->size; i++)
			np_buf_printf(buf, i ? ", %d" : "%d", group->ranks[i]);
		np_buf_add(buf, "]}");
		separator = ", ";
	}
	np_buf_add(buf, "}");
}

void syn_env_variables(const struct syn_rank_info *info, struct np_buf *buf)
{
	(void)info;
	np_buf_add(buf, "{\"ASCEND_GLOBAL_LOG_LEVEL\": \"3\", \"HCCL_RDMA_TC\": \"\", "
			"\"HCCL_RDMA_SL\": \"\", \"ACLNN_CACHE_LIMIT\": \"\", "
			"\"HOST_CACHE_CAPACITY\": \"\", \"ASCEND_ENHANCE_ENABLE\": \"\", "
			"\"PYTORCH_NPU_ALLOC_CONF\": \"expandable_segments:True\", "
			"\"ASCEND_LAUNCH_BLOCKING\": \"\", \"HCCL_ALGO\": \"\"}");
}

/* A list since 2025, and wherever there is more than one. */
static const char *export_type(const struct metadata *metadata)
{
	const struct syn_form *form = metadata->info->form;

	if (form->db && form->text)
		return "[\n                \"text\",\n                \"db\"\n            ]";
	if (!metadata->info->config->schema)
		return form->db ? "\"db\"" : "\"text\"";
	return form->db ? "[\n                \"db\"\n            ]"
			: "[\n                \"text\"\n            ]";
}

static void add_profiler_info(const struct metadata *metadata, struct np_buf *buf)
{
	const struct syn_config *config = metadata->info->config;
	int rank = metadata->info->place.rank;

	np_buf_add(buf, "{\n    \"config\": {\n        \"common_config\": {\n"
			"            \"activities\": [\n                \"ProfilerActivity.CPU\",\n"
			"                \"ProfilerActivity.NPU\"\n            ],\n");
	if (config->no_steps)
		np_buf_add(buf, "            \"schedule\": null,\n");
	else
		np_buf_printf(
			buf,
			"            \"schedule\": {\n                \"wait\": 0,\n"
			"                \"active\": %" PRId64 ",\n                \"warmup\": 1,\n"
			"                \"repeat\": 1,\n                \"skip_first\": %" PRId64
			"\n            },\n",
			config->steps, config->first_step > 0 ? config->first_step - 1 : 0);
	np_buf_printf(
		buf,
		"            \"record_shapes\": true,\n            \"profile_memory\": %s,\n"
		"            \"with_stack\": false,\n            \"with_flops\": false,\n"
		"            \"with_modules\": false\n        },\n"
		"        \"experimental_config\": {\n"
		"            \"_profiler_level\": \"Level%" PRId64 "\",\n"
		"            \"_aic_metrics\": \"%s\",\n            \"_l2_cache\": false,\n"
		"            \"_msprof_tx\": false,\n            \"_data_simplification\": true,\n"
		"            \"record_op_args\": false,\n            \"_export_type\": %s,\n"
		"            \"_op_attr\": false,\n            \"_gc_detect_threshold\": null\n"
		"        }\n    },\n",
		config->memory ? "true" : "false", config->level,
		config->pmu ? "ACL_AICORE_PIPE_UTILIZATION" : "ACL_AICORE_NONE",
		export_type(metadata));
	np_buf_printf(
		buf,
		"    \"start_info\": {\n        \"syscnt_enable\": true,\n        \"freq\": 100,\n"
		"        \"start_cnt\": 17407461266005,\n"
		"        \"start_monotonic\": 173856218206460\n    },\n"
		"    \"end_info\": {\n        \"collectionTimeEnd\": %" PRId64
		",\n        \"MonotonicTimeEnd\": 173856955012430\n    },\n",
		metadata->end_ns);
	if (config->schema)
		np_buf_printf(buf,
			      "    \"torch_npu_version\": \"2.7.1\",\n"
			      "    \"cann_version\": \"8.3.RC1\",\n    \"rank_id\": \"%d\"\n}",
			      rank);
	else
		np_buf_printf(buf, "    \"rank_id\": %d\n}", rank);
}

static void add_profiler_metadata(const struct metadata *metadata, struct np_buf *buf)
{
	np_buf_add(buf, "{\"distributed_args\": ");
	syn_distributed_args(metadata->info, buf);
	np_buf_add(buf, ", \"ENV_VARIABLES\": ");
	syn_env_variables(metadata->info, buf);
	np_buf_add(buf, ", \"parallel_group_info\": ");
	syn_parallel_group_info(metadata->info, buf);
	np_buf_add(buf, "}");
}

static int write_text(const char *path, const struct np_buf *text, struct np_err *err)
{
	FILE *file = fopen(path, "w");
	bool good;

	if (!file)
		return syn_io_fail(err, "write", path);
	good = fwrite(text->text, 1, text->length, file) == text->length;
	if (fclose(file) != 0 || !good)
		return syn_io_fail(err, "write", path);
	return NP_OK;
}

static int note_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct metadata *metadata = (struct metadata *)sink;

	(void)err;
	metadata->end_ns = step->end_ns;
	return NP_OK;
}

static int open_metadata(const struct syn_rank_info *info, struct syn_sink **ret,
			 struct np_err *err)
{
	struct metadata *metadata = calloc(1, sizeof(*metadata));

	if (!metadata)
		return np_fail_nomem(err, "metadata");
	metadata->base.step = note_step;
	metadata->info = info;
	*ret = &metadata->base;
	return NP_OK;
}

static int close_metadata(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct metadata *metadata = (struct metadata *)sink;
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	if (rc == NP_OK) {
		np_buf_printf(&path, "%s/profiler_info_%d.json", metadata->info->dir,
			      metadata->info->place.rank);
		add_profiler_info(metadata, &text);
		rc = np_buf_check(&text, err);
	}
	if (rc == NP_OK)
		rc = write_text(path.text, &text, err);
	if (rc == NP_OK) {
		np_buf_clear(&path);
		np_buf_clear(&text);
		np_buf_printf(&path, "%s/profiler_metadata.json", metadata->info->dir);
		add_profiler_metadata(metadata, &text);
		rc = np_buf_check(&text, err);
	}
	if (rc == NP_OK)
		rc = write_text(path.text, &text, err);
	free(metadata);
	return rc;
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return syn_has_framework(info->form) && syn_has_metadata(info->config);
}

const struct syn_backend syn_metadata = {
	.name = "metadata",
	.is_wanted = is_wanted,
	.open = open_metadata,
	.close = close_metadata,
};

/*
 * device_<n>/info.json.<n> and host/info.json of a PROF directory, from which
 * readers learn the rank, the host and the device.
 */
static void put_info(const struct syn_rank_info *info, struct syn_out *out)
{
	int64_t rank = info->config->no_rank_id ? -1 : info->place.rank;

	SYN_PUT(out,
		"{\"version\":\"1.0\",\"jobInfo\":\"NA\",\"OS\":\"Linux-5.10.0\",\"hostname\":\"");
	syn_put(out, info->host);
	SYN_PUT(out, "\",\"hostUid\":\"");
	syn_put(out, info->host_uid);
	SYN_PUT(out, "\",\"hwtype\":\"aarch64\",\"devices\":\"");
	syn_put_int(out, info->place.device);
	SYN_PUT(out, "\",\"platform\":\"\",\"platform_version\":\"5\",\"pid\":\"");
	syn_put_int(out, info->pid);
	SYN_PUT(out,
		"\",\"pid_name\":\"python3\",\"upTime\":\"173856.21\",\"memoryTotal\":1583000000,"
		"\"cpuNums\":192,\"sysClockFreq\":100,\"cpuCores\":1,\"netCardNums\":2,"
		"\"rank_id\":");
	syn_put_int(out, rank);
	SYN_PUT(out,
		",\"drvVersion\":\"24.1.rc3\",\"cannVersion\":\"8.3.RC1\",\"DeviceInfo\":[{\"id\":");
	syn_put_int(out, info->place.device);
	SYN_PUT(out,
		",\"aic_frequency\":\"1800\",\"aiv_frequency\":\"1800\",\"ai_core_num\":20,"
		"\"aiv_num\":40,\"hwts_frequency\":\"100.000000\"}],\"netCard\":[],\"CPU\":[]}");
}

static int write_info(const struct syn_rank_info *info, const char *path, struct np_err *err)
{
	struct syn_out out;
	int rc = syn_out_open(&out, path, false, err);

	if (rc < 0)
		return rc;
	put_info(info, &out);
	return syn_out_close(&out, NP_OK, err);
}

struct prof_info {
	struct syn_sink base;
	const struct syn_rank_info *info;
};

static int open_info(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	struct prof_info *prof = calloc(1, sizeof(*prof));

	if (!prof)
		return np_fail_nomem(err, "a directory of msprof");
	prof->info = info;
	*ret = &prof->base;
	return NP_OK;
}

static int close_info(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct prof_info *prof = (struct prof_info *)sink;
	const struct syn_rank_info *info = prof->info;
	NP_CLEANUP(np_buf_release) struct np_buf device = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf host = NP_BUF_INIT;

	free(prof);
	if (rc < 0)
		return rc;
	np_buf_printf(&device, "%s/device_%d/info.json.%d", info->dir, info->place.device,
		      info->place.device);
	np_buf_printf(&host, "%s/host/info.json", info->dir);
	rc = np_buf_check(&device, err);
	if (rc == NP_OK)
		rc = np_buf_check(&host, err);
	if (rc == NP_OK)
		rc = write_info(info, device.text, err);
	return rc == NP_OK ? write_info(info, host.text, err) : rc;
}

static bool wants_prof_info(const struct syn_rank_info *info)
{
	return info->form->maker == SYN_MSPROF && syn_has_metadata(info->config);
}

const struct syn_backend syn_prof_info = {
	.name = "prof",
	.is_wanted = wants_prof_info,
	.open = open_info,
	.close = close_info,
};
