/* SPDX-License-Identifier: Apache-2.0 */
/* Views of what a rank ran on and with: environment, settings, device, versions; and of graphs. */
#include "view_fields.h"

#include "npuprof/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ENVIRONMENT "ENV_VARIABLES."

static bool is_variable(const struct np_detail *detail, size_t row)
{
	const char *name = np_detail_text(detail, detail->settings.item[row].name);

	return name && strncmp(name, ENVIRONMENT, strlen(ENVIRONMENT)) == 0;
}

/* clang-format off */
#define SETTING_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(name, NP_TEXT, VIEW_TEXT(np_setting, name)) \
	X(value, NP_TEXT, VIEW_TEXT(np_setting, value))
/* clang-format on */
VIEW_TABLES(setting, SETTING_COLUMNS);

static void begin_settings(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = source->detail->settings.count > 0;
	view->items[0] = VIEW_ITEMS(source->detail->settings);
}

const struct adv_view_description adv_view_setting = {
	.name = "v_setting",
	VIEW_OF_TABLES(setting),
	.begin = begin_settings,
	.scope = VIEW_RANK,
	.what = "settings of the profiler and metadata, by dotted name",
	.cure = "keep profiler_info_*.json and profiler_metadata.json beside the profile",
};

/* The settings that are variables, under their own names. */
static int open_env(struct adv_view *view, struct np_err *err)
{
	const struct np_detail *detail = view_detail(view);
	NP_VEC(struct variable { uint32_t setting; }) list = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < detail->settings.count && rc == NP_OK; i++) {
		struct variable *slot;

		if (!is_variable(detail, i))
			continue;
		slot = np_vec_add(&list, err);
		if (slot)
			slot->setting = (uint32_t)i;
		else
			rc = NP_E_NOMEM;
	}
	view->state = list.item;
	view->items[0] = VIEW_ITEMS_AT(detail->settings, list.item, setting);
	view->rows = list.count;
	return rc;
}

static struct np_cell env_cell(const struct adv_view *view, size_t row, size_t column)
{
	struct np_cell cell = adv_view_field_cell(view, row, column);

	if (column == 1) {
		cell.text.bytes += strlen(ENVIRONMENT);
		cell.text.length -= strlen(ENVIRONMENT);
	}
	return cell;
}

static void begin_env(struct adv_view *view, const struct adv_view_rank *source)
{
	view->open = open_env;
	view->cell = env_cell;
	for (size_t i = 0; i < source->detail->settings.count && !view->present; i++)
		view->present = is_variable(source->detail, i);
}

const struct adv_view_description adv_view_env = {
	.name = "v_env",
	VIEW_OF_TABLES(setting),
	.begin = begin_env,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "environment variables that the profiler recorded",
	.cure = "keep profiler_metadata.json beside the profile",
};

static struct np_cell device_cell(const struct adv_view *view, size_t row, const void *item)
{
	int32_t device = view_source(view)->rank->device;

	(void)row;
	(void)item;
	return device < 0 ? np_cell_null() : np_cell_integer(device);
}

static struct np_cell host_cell(const struct adv_view *view, size_t row, const void *item)
{
	const struct adv_view_rank *source = view_source(view);
	const struct np_rank *rank = source->rank;

	(void)row;
	(void)item;
	return np_cell_text(np_run_text(
		source->run, rank->host_name != NP_STR_NONE ? rank->host_name : rank->host_uid));
}

/* clang-format off */
#define DEVICE_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(device, NP_INTEGER, VIEW_GET(device_cell)) \
	X(host, NP_TEXT, VIEW_GET(host_cell)) \
	X(chip, NP_TEXT, VIEW_TEXT(np_device_info, chip)) \
	X(ai_core_num, NP_INTEGER, VIEW_NUMBER(np_device_info, ai_cores)) \
	X(aiv_num, NP_INTEGER, VIEW_NUMBER(np_device_info, vector_cores)) \
	X(aic_mhz, NP_INTEGER, VIEW_NUMBER(np_device_info, aic_mhz)) \
	X(aiv_mhz, NP_INTEGER, VIEW_NUMBER(np_device_info, aiv_mhz))
/* clang-format on */
VIEW_TABLES(device, DEVICE_COLUMNS);

static bool device_known(const struct adv_view *view, size_t column)
{
	return adv_view_has_value(view, column, 1);
}

static void begin_device(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = true;
	view->items[0] = (struct adv_view_items){ .first = (const char *)&source->detail->device,
						  .size = sizeof(source->detail->device),
						  .count = 1 };
	view->known = device_known;
}

const struct adv_view_description adv_view_device = {
	.name = "v_device",
	VIEW_OF_TABLES(device),
	.begin = begin_device,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "the device of each rank: chip, cores, rated clock",
	.cure = "keep the PROF_* directory with info.json.*, or a database with NPU_INFO",
};

/* v_run: keys and values, which `when` sees as columns. */
enum run_key {
	RUN_FRAMEWORK,
	RUN_FRAMEWORK_VERSION,
	RUN_TORCH,
	RUN_CANN,
	RUN_LEVEL,
	RUN_WITH_STACK,
	RUN_NRANKS,
	RUN_WORLD_SIZE,
	RUN_STEPS,
	RUN_CHIP,
	RUN_DEVICE_KIND,
	RUN_COUNT,
};

const char *const adv_view_run_keys[] = {
	[RUN_FRAMEWORK] = "framework",
	[RUN_FRAMEWORK_VERSION] = "framework_version",
	[RUN_TORCH] = "torch",
	[RUN_CANN] = "cann",
	[RUN_LEVEL] = "level",
	[RUN_WITH_STACK] = "with_stack",
	[RUN_NRANKS] = "nranks",
	[RUN_WORLD_SIZE] = "world_size",
	[RUN_STEPS] = "steps",
	[RUN_CHIP] = "chip",
	[RUN_DEVICE_KIND] = "device_kind",
};

const size_t adv_view_run_key_count = RUN_COUNT;

static struct np_cell framework_cell(const struct adv_view_rank *source)
{
	static const char *const names[] = {
		[NP_KIND_PYTORCH] = "pytorch", [NP_KIND_MINDSPORE] = "mindspore",
		[NP_KIND_MSPROF] = "msprof",   [NP_KIND_MSMONITOR] = "msmonitor",
		[NP_KIND_CLUSTER] = "cluster", [NP_KIND_KINETO] = "pytorch"
	};

	return np_cell_text(names[source->run->sources.item[source->index].kind]);
}

/* "Level1", "1" and "level_1" are all level 1. */
static struct np_cell level_cell(const struct adv_view_rank *source)
{
	const char *text = np_run_text(source->run, source->rank->level);
	size_t length = text ? strlen(text) : 0;
	char last = length ? text[length - 1] : '\0';

	return last >= '0' && last <= '9' ? np_cell_integer(last - '0') : np_cell_null();
}

/* A setting by the last part of its dotted name, as true or false. */
static struct np_cell flag_cell(const struct np_detail *detail, const char *name)
{
	for (size_t i = 0; i < detail->settings.count; i++) {
		const char *full = np_detail_text(detail, detail->settings.item[i].name);
		const char *value = np_detail_text(detail, detail->settings.item[i].value);
		const char *last = full ? strrchr(full, '.') : NULL;

		if (full && value && strcmp(last ? last + 1 : full, name) == 0)
			return np_cell_integer(strcasecmp(value, "true") == 0 ||
					       strcmp(value, "1") == 0);
	}
	return np_cell_null();
}

static struct np_cell run_value(const struct adv_view_rank *source, enum run_key key)
{
	const struct np_rank *rank = source->rank;
	int32_t world = source->cluster ? np_cluster_world(source->cluster) : 0;
	bool torch = source->run->sources.item[source->index].kind == NP_KIND_PYTORCH;

	switch (key) {
	case RUN_FRAMEWORK:
		return framework_cell(source);
	case RUN_FRAMEWORK_VERSION:
		return np_cell_text(np_run_text(source->run, rank->framework_version));
	case RUN_TORCH:
		return torch ? np_cell_text(np_run_text(source->run, rank->framework_version))
			     : np_cell_null();
	case RUN_CANN:
		return np_cell_text(np_run_text(source->run, rank->cann_version));
	case RUN_LEVEL:
		return level_cell(source);
	case RUN_WITH_STACK:
		return flag_cell(source->detail, "with_stack");
	case RUN_NRANKS:
		return np_cell_integer((int64_t)np_run_used(source->run));
	case RUN_WORLD_SIZE:
		return world > 0 ? np_cell_integer(world) : np_cell_null();
	case RUN_DEVICE_KIND:
		return np_cell_text(source->rank->contents & NP_OF_GPU ? "gpu" : "npu");
	case RUN_STEPS:
		return np_cell_integer((int64_t)rank->steps.count);
	default:
		return np_cell_text(np_detail_text(source->detail, source->detail->device.chip));
	}
}

static struct np_cell run_cell(const struct adv_view *view, size_t row, size_t column)
{
	const struct adv_view_rank *source = view_source(view);

	if (column == 0)
		return np_cell_integer(source->rank->id);
	return column == 1 ? np_cell_text(adv_view_run_keys[row])
			   : run_value(source, (enum run_key)row);
}

static int open_run(struct adv_view *view, struct np_err *err)
{
	(void)err;
	view->rows = RUN_COUNT;
	return NP_OK;
}

static void begin_run(struct adv_view *view, const struct adv_view_rank *source)
{
	(void)source;
	view->present = true;
	view->open = open_run;
	view->cell = run_cell;
}

static const struct np_column run_columns[] = {
	{ "rank", NP_INTEGER },
	{ "key", NP_TEXT },
	{ "value", NP_NUMERIC },
};

const struct adv_view_description adv_view_run = {
	.name = "v_run",
	.columns = run_columns,
	.column_count = NP_COUNT(run_columns),
	.begin = begin_run,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "framework, framework_version, torch, cann, level, with_stack, nranks, world_size, "
		"steps, chip, device_kind (npu, gpu)",
	.cure = NULL,
};

static const struct np_column node_columns[] = {
	{ "graph", NP_TEXT },
	{ "id", NP_TEXT },
	{ "name", NP_TEXT },
	{ "op_type", NP_TEXT },
};

static const struct np_column edge_columns[] = {
	{ "graph", NP_TEXT },
	{ "src", NP_TEXT },
	{ "dst", NP_TEXT },
};

const struct adv_view_description adv_view_graph_node = {
	.name = "v_graph_node",
	.columns = node_columns,
	.column_count = NP_COUNT(node_columns),
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "operators of the graphs given with --graph",
	.cure = "give the graph with --graph FILE (DUMP_GE_GRAPH=2 writes ge_proto_*_Build.txt)",
};

const struct adv_view_description adv_view_graph_edge = {
	.name = "v_graph_edge",
	.columns = edge_columns,
	.column_count = NP_COUNT(edge_columns),
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "which operator of a graph feeds which",
	.cure = "give the graph with --graph FILE (DUMP_GE_GRAPH=2 writes ge_proto_*_Build.txt)",
};
