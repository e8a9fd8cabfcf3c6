/* SPDX-License-Identifier: Apache-2.0 */
#include "views.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a rank ran on and with: environment, settings, device, versions. */

#define ENTRY(name, type) { #name, type },
#define ENVIRONMENT       "ENV_VARIABLES."

static const struct np_column setting_columns[] = {
	{ "rank", NP_INTEGER },
	{ "name", NP_TEXT },
	{ "value", NP_TEXT },
};

const struct view_description view_setting = {
	.name = "v_setting",
	.columns = setting_columns,
	.column_count = NP_COUNT(setting_columns),
	.scope = VIEW_RANK,
	.what = "settings of the profiler and metadata, by dotted name",
	.cure = "keep profiler_info_*.json and profiler_metadata.json beside the profile",
};

const struct view_description view_env = {
	.name = "v_env",
	.columns = setting_columns,
	.column_count = NP_COUNT(setting_columns),
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "environment variables that the profiler recorded",
	.cure = "keep profiler_metadata.json beside the profile",
};

/* Rows of settings; of the environment only those that are variables. */
struct settings {
	NP_VEC(uint32_t) list;
};

static const struct np_detail *detail_of(const struct view *view)
{
	return ((const struct view_rank *)view->data)->detail;
}

static void close_settings(struct view *view)
{
	struct settings *settings = view->state;

	if (settings)
		np_vec_release(&settings->list);
	free(settings);
}

static bool is_variable(const struct np_detail *detail, size_t row)
{
	const char *name = np_detail_text(detail, detail->settings.item[row].name);

	return name && strncmp(name, ENVIRONMENT, strlen(ENVIRONMENT)) == 0;
}

static int open_some(struct view *view, bool variables, struct np_err *err)
{
	const struct np_detail *detail = detail_of(view);
	struct settings *settings = calloc(1, sizeof(*settings));

	view->state = settings;
	if (!settings)
		return np_fail_nomem(err, "settings");
	for (size_t i = 0; i < detail->settings.count; i++) {
		uint32_t *slot;

		if (variables && !is_variable(detail, i))
			continue;
		slot = np_vec_add(&settings->list, err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = (uint32_t)i;
	}
	view->rows = settings->list.count;
	return NP_OK;
}

static int open_settings(struct view *view, struct np_err *err)
{
	return open_some(view, false, err);
}

static int open_env(struct view *view, struct np_err *err)
{
	return open_some(view, true, err);
}

static struct np_cell setting_cell(const struct view *view, size_t row, size_t column)
{
	const struct np_detail *detail = detail_of(view);
	const struct settings *settings = view->state;
	const struct np_setting *setting = &detail->settings.item[settings->list.item[row]];

	if (column == 0)
		return np_cell_integer(detail->id);
	return view_text(detail, column == 1 ? setting->name : setting->value);
}

static struct np_cell env_cell(const struct view *view, size_t row, size_t column)
{
	struct np_cell cell = setting_cell(view, row, column);

	if (column == 1) {
		cell.text.bytes += strlen(ENVIRONMENT);
		cell.text.length -= strlen(ENVIRONMENT);
	}
	return cell;
}

void view_make_setting(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_setting.name,
			       .columns = setting_columns,
			       .column_count = NP_COUNT(setting_columns),
			       .present = source->detail->settings.count > 0,
			       .data = source,
			       .open = open_settings,
			       .close = close_settings,
			       .cell = setting_cell };
}

void view_make_env(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_env.name,
			       .columns = setting_columns,
			       .column_count = NP_COUNT(setting_columns),
			       .data = source,
			       .open = open_env,
			       .close = close_settings,
			       .cell = env_cell };
	for (size_t i = 0; i < source->detail->settings.count && !view->present; i++)
		view->present = is_variable(source->detail, i);
}

/* clang-format off */
#define DEVICE_COLUMNS(X) \
	X(rank, NP_INTEGER) X(device, NP_INTEGER) X(host, NP_TEXT) X(chip, NP_TEXT) \
	X(ai_core_num, NP_INTEGER) X(aiv_num, NP_INTEGER) X(aic_mhz, NP_INTEGER) \
	X(aiv_mhz, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) DEVICE_##name,
enum {
	DEVICE_COLUMNS(NUMBER) DEVICE_COUNT
};
#undef NUMBER
static const struct np_column device_columns[] = { DEVICE_COLUMNS(ENTRY) };

const struct view_description view_device = {
	.name = "v_device",
	.columns = device_columns,
	.column_count = DEVICE_COUNT,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "the device of each rank: chip, cores, rated clock",
	.cure = "keep the PROF_* directory with info.json.*, or a database with NPU_INFO",
};

static int open_device(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = 1;
	return NP_OK;
}

static struct np_cell device_cell(const struct view *view, size_t row, size_t column)
{
	const struct view_rank *source = view->data;
	const struct np_device_info *device = &source->detail->device;
	const struct np_rank *rank = source->rank;

	(void)row;
	switch (column) {
	case DEVICE_rank:
		return np_cell_integer(rank->id);
	case DEVICE_device:
		return rank->device < 0 ? np_cell_null() : np_cell_integer(rank->device);
	case DEVICE_host:
		return np_cell_text(np_run_text(source->run, rank->host_name != NP_STR_NONE
								     ? rank->host_name
								     : rank->host_uid));
	case DEVICE_chip:
		return view_text(source->detail, device->chip);
	case DEVICE_ai_core_num:
		return np_cell_integer(device->ai_cores);
	case DEVICE_aiv_num:
		return np_cell_integer(device->vector_cores);
	case DEVICE_aic_mhz:
		return np_cell_integer(device->aic_mhz);
	default:
		return np_cell_integer(device->aiv_mhz);
	}
}

static bool device_known(const struct view *view, size_t column)
{
	return device_cell(view, 0, column).type != NP_CELL_NULL;
}

void view_make_device(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_device.name,
			       .columns = device_columns,
			       .column_count = DEVICE_COUNT,
			       .present = true,
			       .data = source,
			       .open = open_device,
			       .cell = device_cell,
			       .known = device_known };
}

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
	RUN_COUNT,
};

const char *const view_run_keys[] = {
	[RUN_FRAMEWORK] = "framework", [RUN_FRAMEWORK_VERSION] = "framework_version",
	[RUN_TORCH] = "torch",         [RUN_CANN] = "cann",
	[RUN_LEVEL] = "level",         [RUN_WITH_STACK] = "with_stack",
	[RUN_NRANKS] = "nranks",       [RUN_WORLD_SIZE] = "world_size",
	[RUN_STEPS] = "steps",         [RUN_CHIP] = "chip",
};

const size_t view_run_key_count = RUN_COUNT;

static const struct np_column run_columns[] = {
	{ "rank", NP_INTEGER },
	{ "key", NP_TEXT },
	{ "value", NP_NUMERIC },
};

const struct view_description view_run = {
	.name = "v_run",
	.columns = run_columns,
	.column_count = NP_COUNT(run_columns),
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "framework, framework_version, torch, cann, level, with_stack, nranks, world_size, "
		"steps, chip",
	.cure = NULL,
};

static int open_run(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = RUN_COUNT;
	return NP_OK;
}

static struct np_cell framework_cell(const struct view_rank *source)
{
	static const char *const names[] = { [NP_KIND_PYTORCH] = "pytorch",
					     [NP_KIND_MINDSPORE] = "mindspore",
					     [NP_KIND_MSPROF] = "msprof",
					     [NP_KIND_MSMONITOR] = "msmonitor" };

	return np_cell_text(names[source->run->sources.item[source->index].kind]);
}

/* "Level1", "1" and "level_1" are all level 1. */
static struct np_cell level_cell(const struct view_rank *source)
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

static struct np_cell run_value(const struct view_rank *source, enum run_key key)
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
	case RUN_STEPS:
		return np_cell_integer((int64_t)rank->steps.count);
	default:
		return view_text(source->detail, source->detail->device.chip);
	}
}

static struct np_cell run_cell(const struct view *view, size_t row, size_t column)
{
	const struct view_rank *source = view->data;

	if (column == 0)
		return np_cell_integer(source->rank->id);
	return column == 1 ? np_cell_text(view_run_keys[row])
			   : run_value(source, (enum run_key)row);
}

void view_make_run(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_run.name,
			       .columns = run_columns,
			       .column_count = NP_COUNT(run_columns),
			       .present = true,
			       .data = source,
			       .open = open_run,
			       .cell = run_cell };
}

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

const struct view_description view_graph_node = {
	.name = "v_graph_node",
	.columns = node_columns,
	.column_count = NP_COUNT(node_columns),
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "operators of the graphs given with --graph",
	.cure = "give the graph with --graph FILE (DUMP_GE_GRAPH=2 writes ge_proto_*_Build.txt)",
};

const struct view_description view_graph_edge = {
	.name = "v_graph_edge",
	.columns = edge_columns,
	.column_count = NP_COUNT(edge_columns),
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "which operator of a graph feeds which",
	.cure = "give the graph with --graph FILE (DUMP_GE_GRAPH=2 writes ge_proto_*_Build.txt)",
};
