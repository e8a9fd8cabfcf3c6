/* SPDX-License-Identifier: Apache-2.0 */
/* Views of the tasks of the device: kernels, groups of kernels that are alike, and all tasks. */
#include "view_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/idmap.h"
#include "npuprof/map.h"

/* Counters of the AI cores under the names of the profiler; times are in ns. */
/* clang-format off */
#define COUNTERS(X) \
	X(aic_total_time) X(aic_total_cycles) X(aic_mac_time) X(aic_mac_ratio) \
	X(aic_scalar_time) X(aic_scalar_ratio) X(aic_mte1_time) X(aic_mte1_ratio) \
	X(aic_mte2_time) X(aic_mte2_ratio) X(aic_mte3_time) X(aic_mte3_ratio) \
	X(aic_fixpipe_time) X(aic_fixpipe_ratio) X(aic_icache_miss_rate) X(aic_vec_time) \
	X(aic_vec_ratio) X(aiv_total_time) X(aiv_total_cycles) X(aiv_vec_time) \
	X(aiv_vec_ratio) X(aiv_scalar_time) X(aiv_scalar_ratio) X(aiv_mte1_time) \
	X(aiv_mte1_ratio) X(aiv_mte2_time) X(aiv_mte2_ratio) X(aiv_mte3_time) \
	X(aiv_mte3_ratio) X(aiv_icache_miss_rate) X(cube_utilization) X(aic_mac_fp16_ratio) \
	X(aic_mac_int8_ratio) X(aic_cube_fops) X(aiv_vec_fp32_ratio) X(aiv_vec_fp16_ratio) \
	X(aiv_vec_int32_ratio) X(aiv_vec_misc_ratio) X(aiv_vector_fops) \
	X(aic_main_mem_read_bw) X(aic_main_mem_write_bw) X(aiv_main_mem_read_bw) \
	X(aiv_main_mem_write_bw) X(aic_l2_read_bw) X(aic_l2_write_bw) X(aiv_l2_read_bw) \
	X(aiv_l2_write_bw) X(aiv_ub_read_bw) X(aiv_ub_write_bw) \
	X(aiv_vec_bankgroup_cflt_ratio) X(aiv_vec_bank_cflt_ratio) \
	X(aiv_vec_resc_cflt_ratio)
/* clang-format on */

const char *const adv_view_unit_ratios[12] = {
	"aic_vec_ratio",    "aiv_vec_ratio",  "aic_mac_ratio",  "aic_scalar_ratio",
	"aiv_scalar_ratio", "aic_mte1_ratio", "aiv_mte1_ratio", "aic_mte2_ratio",
	"aiv_mte2_ratio",   "aic_mte3_ratio", "aiv_mte3_ratio", "aic_fixpipe_ratio",
};

/* Counters have no field: they are not members of a struct. */
#define COUNTER_COLUMN(name) { #name, NP_REAL },
#define COUNTER_NUMBER(name) COUNTER_##name,
enum {
	COUNTERS(COUNTER_NUMBER) COUNTER_COUNT
};

/* Columns of the detail's counters by their number; NP_NO_ROW for those that were not recorded. */
static void find_counters(const struct np_detail *detail, const struct np_column *columns,
			  uint32_t found[COUNTER_COUNT])
{
	for (size_t i = 0; i < COUNTER_COUNT; i++)
		found[i] = np_detail_counter(detail, columns[i].name);
}

/* Looked up once. */
struct kernel_state {
	uint32_t counter[COUNTER_COUNT];
	uint32_t units[NP_COUNT(adv_view_unit_ratios)]; /* those that were recorded */
	size_t unit_count;
};

static double counter_of(const struct adv_view *view, size_t row, size_t number)
{
	const struct np_detail *detail = view_detail(view);
	uint32_t counter = ((const struct kernel_state *)view->state)->counter[number];

	return counter == NP_NO_ROW ? (double)NAN : detail->pmu[row * detail->pmu_count + counter];
}

static struct np_cell busiest_unit(const struct adv_view *view, size_t row, const void *item)
{
	const struct np_detail *detail = view_detail(view);
	const struct kernel_state *state = view->state;
	double most = (double)NAN;

	(void)item;
	for (size_t i = 0; i < state->unit_count; i++)
		most = fmax(most, detail->pmu[row * detail->pmu_count + state->units[i]]);
	return np_cell_real(most);
}

/* The two cores work at the same time. */
static struct np_cell moving_time(const struct adv_view *view, size_t row, const void *item)
{
	const struct np_kernel *kernel = item;
	double in = fmax(counter_of(view, row, COUNTER_aic_mte2_ratio),
			 counter_of(view, row, COUNTER_aiv_mte2_ratio));
	double out = fmax(counter_of(view, row, COUNTER_aic_fixpipe_ratio),
			  counter_of(view, row, COUNTER_aiv_mte3_ratio));

	if (isnan(in) && isnan(out))
		return np_cell_null();
	return np_cell_real((double)(kernel->end - kernel->start) *
			    ((isnan(in) ? 0 : in) + (isnan(out) ? 0 : out)));
}

/* clang-format off */
#define KERNEL_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(id, NP_INTEGER, VIEW_ROW) \
	X(step, NP_TEXT, VIEW_STEP(np_kernel, step)) \
	X(in_step, NP_INTEGER, VIEW_IN_STEP(np_kernel, step)) \
	X(device, NP_INTEGER, VIEW_NUMBER(np_kernel, device)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(np_kernel, start)) \
	X(end_ns, NP_INTEGER, VIEW_NUMBER(np_kernel, end)) \
	X(dur_ns, NP_INTEGER, VIEW_LENGTH(np_kernel, start, end)) \
	X(wait_ns, NP_INTEGER, VIEW_NUMBER(np_kernel, wait)) \
	X(stream, NP_INTEGER, VIEW_NUMBER(np_kernel, stream)) \
	X(task_id, NP_INTEGER, VIEW_NUMBER(np_kernel, task_id)) \
	X(name, NP_TEXT, VIEW_TEXT(np_kernel, name)) \
	X(op_type, NP_TEXT, VIEW_TEXT(np_kernel, type)) \
	X(core, NP_TEXT, VIEW_TEXT(np_kernel, core)) \
	X(state, NP_TEXT, VIEW_TEXT(np_kernel, state)) \
	X(block_dim, NP_INTEGER, VIEW_NUMBER(np_kernel, block_dim)) \
	X(mix_block_dim, NP_INTEGER, VIEW_NUMBER(np_kernel, mix_block_dim)) \
	X(in_shapes, NP_TEXT, VIEW_TEXT(np_kernel, in_shapes)) \
	X(in_dtypes, NP_TEXT, VIEW_TEXT(np_kernel, in_dtypes)) \
	X(in_formats, NP_TEXT, VIEW_TEXT(np_kernel, in_formats)) \
	X(out_shapes, NP_TEXT, VIEW_TEXT(np_kernel, out_shapes)) \
	X(out_dtypes, NP_TEXT, VIEW_TEXT(np_kernel, out_dtypes)) \
	X(out_formats, NP_TEXT, VIEW_TEXT(np_kernel, out_formats)) \
	X(conn_id, NP_INTEGER, VIEW_NUMBER(np_kernel, connection)) \
	X(for_comm, NP_INTEGER, VIEW_NUMBER(np_kernel, schedule)) \
	X(busiest, NP_REAL, VIEW_GET(busiest_unit)) \
	X(moving_ns, NP_REAL, VIEW_GET(moving_time))
/* clang-format on */

static const struct np_column kernel_columns[] = { KERNEL_COLUMNS(VIEW_COLUMN)
							   COUNTERS(COUNTER_COLUMN) };
static const struct adv_view_field kernel_fields[] = { KERNEL_COLUMNS(VIEW_MEMBER) };

/* The first counter among the columns. */
#define KERNEL_COUNTERS NP_COUNT(kernel_fields)

static int open_kernels(struct adv_view *view, struct np_err *err)
{
	const struct np_detail *detail = view_detail(view);
	struct kernel_state *state = malloc(sizeof(*state));

	if (!state)
		return np_fail_nomem(err, "kernels");
	find_counters(detail, kernel_columns + KERNEL_COUNTERS, state->counter);
	state->unit_count = 0;
	for (size_t i = 0; i < NP_COUNT(adv_view_unit_ratios); i++) {
		uint32_t counter = np_detail_counter(detail, adv_view_unit_ratios[i]);

		if (counter != NP_NO_ROW)
			state->units[state->unit_count++] = counter;
	}
	view->state = state;
	view->rows = detail->kernels.count;
	return NP_OK;
}

static struct np_cell kernel_cell(const struct adv_view *view, size_t row, size_t column)
{
	return column < KERNEL_COUNTERS
		       ? adv_view_field_cell(view, row, column)
		       : np_cell_real(counter_of(view, row, column - KERNEL_COUNTERS));
}

/* Is there a value in the column? Text columns and counters depend on the level. */
static bool kernel_known(const struct adv_view *view, size_t column)
{
	const struct np_detail *detail = view_detail(view);

	if (column >= KERNEL_COUNTERS) {
		uint32_t counter = np_detail_counter(detail, kernel_columns[column].name);

		for (size_t i = 0; counter != NP_NO_ROW && i < detail->kernels.count; i++) {
			if (!isnan(detail->pmu[i * detail->pmu_count + counter]))
				return true;
		}
		return false;
	}
	/* Asked before the view is open: there is no state yet. */
	if ((kernel_fields[column].read == busiest_unit ||
	     kernel_fields[column].read == moving_time) &&
	    !view->opened)
		return detail->pmu_count > 0;
	return detail->kernels.count == 0 ||
	       adv_view_has_value(view, column, detail->kernels.count);
}

static void begin_kernels(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_KERNELS) != 0;
	view->items[0] = VIEW_ITEMS(source->detail->kernels);
	view->open = open_kernels;
	view->cell = kernel_cell;
	view->known = kernel_known;
}

const struct adv_view_description adv_view_kernel = {
	.name = "v_kernel",
	.kernels = true,
	VIEW_OF_TABLES(kernel),
	.begin = begin_kernels,
	.scope = VIEW_RANK,
	.typical = 20000,
	.what = "kernels of the device, with shapes and counters of the AI cores; busiest is the "
		"largest ratio of a unit (vec, mac, scalar, mte1, mte2, mte3, fixpipe), moving_ns the "
		"time in which data came in (mte2) or went out (fixpipe, mte3)",
	.cure = "profile the NPU (activities=[ProfilerActivity.NPU]) and export the timeline",
};

/*
 * Kernels that are alike, as one row. Most rules about kernels ask for sums over
 * kernels of one type and shape; there are hundreds of these where there are
 * tens of thousands of kernels, and they are found once for all rules.
 */
#define KEY_PARTS 14

struct kernel_group {
	uint32_t first; /* kernel */
	bool in_step;
	int64_t count;
	np_ns sum;
	np_ns least;
	np_ns most;
	np_ns wait;
};

struct kernel_groups {
	NP_VEC(struct kernel_group) list;
	struct np_map by_key; /* → list */
	double *sums;         /* of counters, by group */
	uint32_t *known;      /* kernels that have a value, by group and counter */
	size_t capacity;      /* groups there is room for in both */
	size_t counters;
	uint32_t counter[COUNTER_COUNT]; /* of the detail's */
};

static void close_groups(struct adv_view *view)
{
	struct kernel_groups *groups = view->state;

	if (!groups)
		return;
	np_vec_release(&groups->list);
	np_map_release(&groups->by_key);
	free(groups->sums);
	free(groups->known);
	free(groups);
}

/* The texts and numbers that must be equal, in one array. */
static void key_of(const struct np_kernel *kernel, int64_t key[KEY_PARTS])
{
	const int64_t values[KEY_PARTS] = {
		kernel->name,       kernel->type,
		kernel->core,       kernel->state,
		kernel->block_dim,  kernel->mix_block_dim,
		kernel->in_shapes,  kernel->in_dtypes,
		kernel->in_formats, kernel->out_shapes,
		kernel->out_dtypes, kernel->out_formats,
		kernel->schedule,   kernel->step != NP_NO_STEP,
	};

	memcpy(key, values, sizeof(values));
}

static bool equal(const struct np_kernel *a, const struct np_kernel *b)
{
	int64_t x[KEY_PARTS];
	int64_t y[KEY_PARTS];

	key_of(a, x);
	key_of(b, y);
	return memcmp(x, y, sizeof(x)) == 0;
}

/* A kernel whose group is looked for. */
struct kernel_wanted {
	const struct kernel_group *groups;
	const struct np_kernel *kernels;
	const struct np_kernel *kernel;
};

static bool is_wanted(const void *what, uint32_t group)
{
	const struct kernel_wanted *wanted = what;

	return equal(&wanted->kernels[wanted->groups[group].first], wanted->kernel);
}

static uint64_t hash_of(const struct np_kernel *kernel)
{
	uint64_t hash = 0;
	int64_t key[KEY_PARTS];

	key_of(kernel, key);
	for (size_t i = 0; i < NP_COUNT(key); i++)
		hash = np_map_mix(hash, (uint64_t)key[i]);
	return hash;
}

static bool grow(struct kernel_groups *groups)
{
	size_t capacity = groups->capacity ? 2 * groups->capacity : 64;
	size_t values = capacity * (groups->counters + 1);
	double *sums = realloc(groups->sums, values * sizeof(*sums));
	uint32_t *known;

	if (!sums)
		return false;
	groups->sums = sums;
	known = realloc(groups->known, values * sizeof(*known));
	if (!known)
		return false;
	groups->known = known;
	groups->capacity = capacity;
	return true;
}

static struct kernel_group *find_group(struct kernel_groups *groups, const struct np_detail *detail,
				       uint32_t kernel, struct np_err *err)
{
	const struct np_kernel *kernels = detail->kernels.item;
	const struct kernel_wanted wanted = { groups->list.item, kernels, &kernels[kernel] };
	uint64_t hash = hash_of(&kernels[kernel]);
	uint32_t found = np_map_find(&groups->by_key, hash, is_wanted, &wanted);
	struct kernel_group *group;

	if (found != NP_MAP_NONE)
		return &groups->list.item[found];
	if (groups->list.count == groups->capacity && !grow(groups)) {
		(void)np_fail_nomem(err, "kernels");
		return NULL;
	}
	group = np_vec_add(&groups->list, err);
	if (!group ||
	    np_map_add(&groups->by_key, hash, (uint32_t)(groups->list.count - 1), err) < 0)
		return NULL;
	*group = (struct kernel_group){ .first = kernel,
					.in_step = kernels[kernel].step != NP_NO_STEP,
					.least = NP_NS_MAX };
	memset(&groups->sums[(groups->list.count - 1) * groups->counters], 0,
	       groups->counters * sizeof(*groups->sums));
	memset(&groups->known[(groups->list.count - 1) * groups->counters], 0,
	       groups->counters * sizeof(*groups->known));
	return group;
}

static void add_kernel(struct kernel_groups *groups, const struct np_detail *detail,
		       struct kernel_group *group, size_t index)
{
	const struct np_kernel *kernel = &detail->kernels.item[index];
	size_t base = (size_t)(group - groups->list.item) * groups->counters;
	np_ns length = kernel->end - kernel->start;

	group->count++;
	group->sum += length;
	group->least = length < group->least ? length : group->least;
	group->most = length > group->most ? length : group->most;
	group->wait = np_plus(group->wait, kernel->wait);
	for (size_t i = 0; i < groups->counters; i++) {
		double value = detail->pmu[index * groups->counters + i];

		if (isnan(value))
			continue;
		groups->sums[base + i] += value;
		groups->known[base + i]++;
	}
}

/* clang-format off */
#define GROUP_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(id, NP_INTEGER, VIEW_NUMBER_1(kernel_group, first)) \
	X(in_step, NP_INTEGER, VIEW_NUMBER_1(kernel_group, in_step)) \
	X(name, NP_TEXT, VIEW_TEXT(np_kernel, name)) \
	X(op_type, NP_TEXT, VIEW_TEXT(np_kernel, type)) \
	X(core, NP_TEXT, VIEW_TEXT(np_kernel, core)) \
	X(state, NP_TEXT, VIEW_TEXT(np_kernel, state)) \
	X(block_dim, NP_INTEGER, VIEW_NUMBER(np_kernel, block_dim)) \
	X(mix_block_dim, NP_INTEGER, VIEW_NUMBER(np_kernel, mix_block_dim)) \
	X(in_shapes, NP_TEXT, VIEW_TEXT(np_kernel, in_shapes)) \
	X(in_dtypes, NP_TEXT, VIEW_TEXT(np_kernel, in_dtypes)) \
	X(in_formats, NP_TEXT, VIEW_TEXT(np_kernel, in_formats)) \
	X(out_shapes, NP_TEXT, VIEW_TEXT(np_kernel, out_shapes)) \
	X(out_dtypes, NP_TEXT, VIEW_TEXT(np_kernel, out_dtypes)) \
	X(out_formats, NP_TEXT, VIEW_TEXT(np_kernel, out_formats)) \
	X(for_comm, NP_INTEGER, VIEW_NUMBER(np_kernel, schedule)) \
	X(n, NP_INTEGER, VIEW_NUMBER_1(kernel_group, count)) \
	X(dur_ns, NP_INTEGER, VIEW_NUMBER_1(kernel_group, sum)) \
	X(min_ns, NP_INTEGER, VIEW_NUMBER_1(kernel_group, least)) \
	X(max_ns, NP_INTEGER, VIEW_NUMBER_1(kernel_group, most)) \
	X(wait_ns, NP_INTEGER, VIEW_NUMBER_1(kernel_group, wait))
/* clang-format on */

static const struct np_column group_columns[] = { GROUP_COLUMNS(VIEW_COLUMN)
							  COUNTERS(COUNTER_COLUMN) };
static const struct adv_view_field group_fields[] = { GROUP_COLUMNS(VIEW_MEMBER) };

#define GROUP_COUNTERS NP_COUNT(group_fields)

static int open_groups(struct adv_view *view, struct np_err *err)
{
	const struct np_detail *detail = view_detail(view);
	struct kernel_groups *groups = calloc(1, sizeof(*groups));

	view->state = groups;
	if (!groups)
		return np_fail_nomem(err, "kernels");
	groups->counters = detail->pmu ? detail->pmu_count : 0;
	find_counters(detail, group_columns + GROUP_COUNTERS, groups->counter);
	for (size_t i = 0; i < detail->kernels.count; i++) {
		struct kernel_group *group = find_group(groups, detail, (uint32_t)i, err);

		if (!group)
			return NP_E_NOMEM;
		add_kernel(groups, detail, group, i);
	}
	view->items[0] = VIEW_ITEMS_AT(detail->kernels, groups->list.item, first);
	view->items[1] = VIEW_ITEMS(groups->list);
	view->rows = groups->list.count;
	return NP_OK;
}

/* The mean of a counter over the kernels of a group that have it. */
static struct np_cell mean_cell(const struct kernel_groups *groups, size_t row, size_t number)
{
	uint32_t counter = groups->counter[number];
	size_t at = row * groups->counters + counter;

	if (counter == NP_NO_ROW || groups->counters == 0 || groups->known[at] == 0)
		return np_cell_null();
	return np_cell_real(groups->sums[at] / groups->known[at]);
}

static struct np_cell group_cell(const struct adv_view *view, size_t row, size_t column)
{
	return column < GROUP_COUNTERS ? adv_view_field_cell(view, row, column)
				       : mean_cell(view->state, row, column - GROUP_COUNTERS);
}

static bool group_known(const struct adv_view *view, size_t column)
{
	return !view->opened || view->rows == 0 || adv_view_has_value(view, column, view->rows);
}

static void begin_groups(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_KERNELS) != 0;
	view->open = open_groups;
	view->close = close_groups;
	view->cell = group_cell;
	view->known = group_known;
}

const struct adv_view_description adv_view_kernel_group = {
	.name = "v_kernel_group",
	.kernels = true,
	VIEW_OF_TABLES(group),
	.begin = begin_groups,
	.scope = VIEW_RANK,
	.typical = 2000,
	.what = "kernels of one name, type, core, state, block numbers, shapes, types and formats "
		"as one row: their number n, sums, means of counters; id is of the first",
	.cure = "profile the NPU (activities=[ProfilerActivity.NPU]) and export the timeline",
};

static struct np_cell role_cell(const struct adv_view *view, size_t row, const void *item)
{
	static const char *const roles[] = { [NP_ROLE_OTHER] = "other",
					     [NP_ROLE_KERNEL] = "kernel",
					     [NP_ROLE_COMMUNICATION] = "communication" };

	(void)view;
	(void)row;
	return np_cell_text(roles[((const struct np_device_task *)item)->role]);
}

/* clang-format off */
#define TASK_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(step, NP_TEXT, VIEW_STEP(np_device_task, step)) \
	X(device, NP_INTEGER, VIEW_NUMBER(np_device_task, device)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(np_device_task, start)) \
	X(end_ns, NP_INTEGER, VIEW_NUMBER(np_device_task, end)) \
	X(dur_ns, NP_INTEGER, VIEW_LENGTH(np_device_task, start, end)) \
	X(stream, NP_INTEGER, VIEW_NUMBER(np_device_task, stream)) \
	X(task_id, NP_INTEGER, VIEW_NUMBER(np_device_task, task_id)) \
	X(type, NP_TEXT, VIEW_TEXT(np_device_task, type)) \
	X(role, NP_TEXT, VIEW_GET(role_cell)) \
	X(conn_id, NP_INTEGER, VIEW_NUMBER(np_device_task, connection))
/* clang-format on */
VIEW_TABLES(task, TASK_COLUMNS);

static void begin_tasks(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_TASKS) != 0;
	view->items[0] = VIEW_ITEMS(source->detail->tasks);
}

const struct adv_view_description adv_view_task = {
	.name = "v_task",
	.kernels = true,
	VIEW_OF_TABLES(task),
	.begin = begin_tasks,
	.scope = VIEW_RANK,
	.typical = 25000,
	.what = "all tasks of the device: kernels, copies, events, small tasks of collectives",
	.cure = "profile the NPU (activities=[ProfilerActivity.NPU]) and export the timeline",
};

struct kernel_link {
	uint32_t kernel;
	uint32_t call;
};

/* clang-format off */
#define LINK_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(kernel_id, NP_INTEGER, VIEW_NUMBER(kernel_link, kernel)) \
	X(api_id, NP_INTEGER, VIEW_NUMBER(kernel_link, call)) \
	X(api_name, NP_TEXT, VIEW_TEXT_1(np_framework_call, name)) \
	X(stack_id, NP_INTEGER, VIEW_TEXT_ID_1(np_framework_call, stack))
/* clang-format on */
VIEW_TABLES(link, LINK_COLUMNS);

/* Connections of the calls; the innermost call is the one that starts last. */
static struct np_idmap *map_calls(const struct np_detail *detail)
{
	struct np_idmap *map = np_idmap_new();

	for (size_t i = 0; map && i < detail->links.count; i++) {
		const struct np_framework_link *link = &detail->links.item[i];

		if (link->kind == NP_LEADS_TO_TASK &&
		    np_idmap_set(map, link->id, link->call, NULL) < 0) {
			np_idmap_free(map);
			return NULL;
		}
	}
	return map;
}

static int open_links(struct adv_view *view, struct np_err *err)
{
	const struct np_detail *detail = view_detail(view);
	NP_CLEANUP(np_idmap_freep) struct np_idmap *calls = map_calls(detail);
	NP_VEC(struct kernel_link) list = { 0 };
	int rc = calls ? NP_OK : np_fail_nomem(err, "links of kernels");

	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		int64_t connection = detail->kernels.item[i].connection;
		uint32_t call =
			connection == NP_UNKNOWN ? NP_IDMAP_NONE : np_idmap_get(calls, connection);
		struct kernel_link *link;

		if (call == NP_IDMAP_NONE)
			continue;
		link = np_vec_add(&list, err);
		if (link)
			*link = (struct kernel_link){ (uint32_t)i, call };
		else
			rc = NP_E_NOMEM;
	}
	view->state = list.item;
	view->items[0] = VIEW_ITEMS(list);
	view->items[1] = VIEW_ITEMS_AT(detail->framework, list.item, call);
	view->rows = list.count;
	return rc;
}

static bool link_known(const struct adv_view *view, size_t column)
{
	return link_fields[column].read != adv_view_read_text_id ||
	       (view_detail(view)->has & NP_DETAIL_STACKS) != 0;
}

static void begin_links(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present =
		(source->detail->has & NP_DETAIL_FRAMEWORK) != 0 && source->detail->links.count > 0;
	view->open = open_links;
	view->known = link_known;
}

const struct adv_view_description adv_view_kernel_stack = {
	.name = "v_kernel_stack",
	.kernels = true,
	VIEW_OF_TABLES(link),
	.begin = begin_links,
	.scope = VIEW_RANK,
	.typical = 20000,
	.what = "which call of the framework launched a kernel",
	.cure = "profile the framework too (activities=[ProfilerActivity.CPU, "
		"ProfilerActivity.NPU]), with_stack=True for stacks",
};
