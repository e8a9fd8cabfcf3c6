/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include <inttypes.h>

#include "sim/synth/out/io.h"

/*
 * profiler_info_<rank>.json and profiler_metadata.json, in the form in which
 * Python's json module writes them.
 */
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
	return syn_has_framework(info->form);
}

const struct syn_backend syn_metadata = {
	.name = "metadata",
	.is_wanted = is_wanted,
	.open = open_metadata,
	.close = close_metadata,
};
