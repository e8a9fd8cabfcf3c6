/* SPDX-License-Identifier: Apache-2.0 */
#include "views.h"

#include <math.h>
#include <stdlib.h>

#include "npuprof/idmap.h"

#include "counters.h"

/* Kernels and tasks of the device. */

/* clang-format off */
#define KERNEL_COLUMNS(X) \
	X(rank, NP_INTEGER) X(id, NP_INTEGER) X(step, NP_TEXT) X(in_step, NP_INTEGER) \
	X(device, NP_INTEGER) \
	X(start_ns, NP_INTEGER) X(end_ns, NP_INTEGER) X(dur_ns, NP_INTEGER) \
	X(wait_ns, NP_INTEGER) X(stream, NP_INTEGER) X(task_id, NP_INTEGER) X(name, NP_TEXT) \
	X(op_type, NP_TEXT) X(core, NP_TEXT) X(state, NP_TEXT) X(block_dim, NP_INTEGER) \
	X(mix_block_dim, NP_INTEGER) X(in_shapes, NP_TEXT) X(in_dtypes, NP_TEXT) \
	X(in_formats, NP_TEXT) X(out_shapes, NP_TEXT) X(out_dtypes, NP_TEXT) \
	X(out_formats, NP_TEXT) X(conn_id, NP_INTEGER) X(for_comm, NP_INTEGER) \
	X(busiest, NP_REAL) X(moving_ns, NP_REAL)
/* clang-format on */

#define NUMBER(name, type) KERNEL_##name,
#define COUNTER(name)      KERNEL_##name,
enum {
	KERNEL_COLUMNS(NUMBER) KERNEL_FIRST_COUNTER,
	KERNEL_COUNTERS_BEFORE = KERNEL_FIRST_COUNTER - 1,
	COUNTERS(COUNTER) KERNEL_COUNT
};
#undef NUMBER
#undef COUNTER

#define ENTRY(name, type) { #name, type },
#define COUNTER(name)     { #name, NP_REAL },
static const struct np_column kernel_columns[] = { KERNEL_COLUMNS(ENTRY) COUNTERS(COUNTER) };
#undef COUNTER

const struct view_description view_kernel = {
	.name = "v_kernel",
	.columns = kernel_columns,
	.column_count = KERNEL_COUNT,
	.scope = VIEW_RANK,
	.typical = 20000,
	.what = "kernels of the device, with shapes and counters of the AI cores; busiest is the "
		"largest ratio of a unit (vec, mac, scalar, mte1, mte2, mte3), moving_ns the time in "
		"which data came in (mte2) or went out (fixpipe, mte3)",
	.cure = "profile the NPU (activities=[ProfilerActivity.NPU]) and export the timeline",
};

/* Columns of counters by their place in the view: looked up once. */
struct kernel_state {
	uint32_t counter[KERNEL_COUNT];
	uint32_t units[NP_COUNT(view_unit_ratios)]; /* those that were recorded */
	size_t unit_count;
};

static int open_kernels(struct view *view, struct np_err *err)
{
	const struct view_rank *source = view->data;
	struct kernel_state *state = malloc(sizeof(*state));

	if (!state)
		return np_fail_nomem(err, "kernels");
	for (size_t i = KERNEL_FIRST_COUNTER; i < KERNEL_COUNT; i++)
		state->counter[i] = np_detail_counter(source->detail, kernel_columns[i].name);
	state->unit_count = 0;
	for (size_t i = 0; i < NP_COUNT(view_unit_ratios); i++) {
		uint32_t counter = np_detail_counter(source->detail, view_unit_ratios[i]);

		if (counter != NP_NO_ROW)
			state->units[state->unit_count++] = counter;
	}
	view->state = state;
	view->rows = source->detail->kernels.count;
	return NP_OK;
}

static struct np_cell counter_cell(const struct view *view, size_t row, size_t column)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;
	uint32_t counter = ((const struct kernel_state *)view->state)->counter[column];

	return counter == NP_NO_ROW ? np_cell_null()
				    : np_cell_real(detail->pmu[row * detail->pmu_count + counter]);
}

static struct np_cell busiest_unit(const struct view *view, size_t row)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;
	const struct kernel_state *state = view->state;
	double most = (double)NAN;

	for (size_t i = 0; i < state->unit_count; i++)
		most = fmax(most, detail->pmu[row * detail->pmu_count + state->units[i]]);
	return np_cell_real(most);
}

static double ratio_of(const struct view *view, size_t row, size_t column)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;
	uint32_t counter = ((const struct kernel_state *)view->state)->counter[column];

	return counter == NP_NO_ROW ? (double)NAN : detail->pmu[row * detail->pmu_count + counter];
}

/* The two cores work at the same time. */
static struct np_cell moving_time(const struct view *view, size_t row)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;
	const struct np_kernel *kernel = &detail->kernels.item[row];
	double in = fmax(ratio_of(view, row, KERNEL_aic_mte2_ratio),
			 ratio_of(view, row, KERNEL_aiv_mte2_ratio));
	double out = fmax(ratio_of(view, row, KERNEL_aic_fixpipe_ratio),
			  ratio_of(view, row, KERNEL_aiv_mte3_ratio));

	if (isnan(in) && isnan(out))
		return np_cell_null();
	return np_cell_real((double)(kernel->end - kernel->start) *
			    ((isnan(in) ? 0 : in) + (isnan(out) ? 0 : out)));
}

static struct np_cell kernel_cell(const struct view *view, size_t row, size_t column)
{
	const struct view_rank *source = view->data;
	const struct np_detail *detail = source->detail;
	const struct np_kernel *kernel = &detail->kernels.item[row];

	switch (column) {
	case KERNEL_rank:
		return np_cell_integer(detail->id);
	case KERNEL_id:
		return np_cell_integer((int64_t)row);
	case KERNEL_step:
		return view_step_id(source, kernel->step);
	case KERNEL_in_step:
		return np_cell_integer(kernel->step != NP_NO_STEP);
	case KERNEL_device:
		return np_cell_integer(kernel->device);
	case KERNEL_start_ns:
		return np_cell_integer(kernel->start);
	case KERNEL_end_ns:
		return np_cell_integer(kernel->end);
	case KERNEL_dur_ns:
		return view_difference(kernel->start, kernel->end);
	case KERNEL_wait_ns:
		return np_cell_integer(kernel->wait);
	case KERNEL_stream:
		return np_cell_integer(kernel->stream);
	case KERNEL_task_id:
		return np_cell_integer(kernel->task_id);
	case KERNEL_name:
		return view_text(detail, kernel->name);
	case KERNEL_op_type:
		return view_text(detail, kernel->type);
	case KERNEL_core:
		return view_text(detail, kernel->core);
	case KERNEL_state:
		return view_text(detail, kernel->state);
	case KERNEL_block_dim:
		return np_cell_integer(kernel->block_dim);
	case KERNEL_mix_block_dim:
		return np_cell_integer(kernel->mix_block_dim);
	case KERNEL_in_shapes:
		return view_text(detail, kernel->in_shapes);
	case KERNEL_in_dtypes:
		return view_text(detail, kernel->in_dtypes);
	case KERNEL_in_formats:
		return view_text(detail, kernel->in_formats);
	case KERNEL_out_shapes:
		return view_text(detail, kernel->out_shapes);
	case KERNEL_out_dtypes:
		return view_text(detail, kernel->out_dtypes);
	case KERNEL_out_formats:
		return view_text(detail, kernel->out_formats);
	case KERNEL_conn_id:
		return np_cell_integer(kernel->connection);
	case KERNEL_for_comm:
		return np_cell_integer(kernel->schedule);
	case KERNEL_busiest:
		return busiest_unit(view, row);
	case KERNEL_moving_ns:
		return moving_time(view, row);
	default:
		return counter_cell(view, row, column);
	}
}

/* Is there a value in the column? Text columns and counters depend on the level. */
static bool kernel_known(const struct view *view, size_t column)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;

	if (column >= KERNEL_FIRST_COUNTER) {
		uint32_t counter = np_detail_counter(detail, kernel_columns[column].name);

		for (size_t i = 0; counter != NP_NO_ROW && i < detail->kernels.count; i++) {
			if (!isnan(detail->pmu[i * detail->pmu_count + counter]))
				return true;
		}
		return false;
	}
	/* Asked before the view is open: there is no state yet. */
	if ((column == KERNEL_busiest || column == KERNEL_moving_ns) && !view->opened)
		return detail->pmu_count > 0;
	for (size_t i = 0; i < detail->kernels.count; i++) {
		if (kernel_cell(view, i, column).type != NP_CELL_NULL)
			return true;
	}
	return detail->kernels.count == 0;
}

void view_make_kernel(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_kernel.name,
			       .columns = kernel_columns,
			       .column_count = KERNEL_COUNT,
			       .present = (source->detail->has & NP_DETAIL_KERNELS) != 0,
			       .data = source,
			       .open = open_kernels,
			       .cell = kernel_cell,
			       .known = kernel_known };
}

/* clang-format off */
#define TASK_COLUMNS(X) \
	X(rank, NP_INTEGER) X(step, NP_TEXT) X(device, NP_INTEGER) X(start_ns, NP_INTEGER) \
	X(end_ns, NP_INTEGER) X(dur_ns, NP_INTEGER) X(stream, NP_INTEGER) \
	X(task_id, NP_INTEGER) X(type, NP_TEXT) X(role, NP_TEXT) X(conn_id, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) TASK_##name,
enum {
	TASK_COLUMNS(NUMBER) TASK_COUNT
};
#undef NUMBER
static const struct np_column task_columns[] = { TASK_COLUMNS(ENTRY) };

const struct view_description view_task = {
	.name = "v_task",
	.columns = task_columns,
	.column_count = TASK_COUNT,
	.scope = VIEW_RANK,
	.typical = 25000,
	.what = "all tasks of the device: kernels, copies, events, small tasks of collectives",
	.cure = "profile the NPU (activities=[ProfilerActivity.NPU]) and export the timeline",
};

static int open_tasks(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = ((const struct view_rank *)view->data)->detail->tasks.count;
	return NP_OK;
}

static struct np_cell task_cell(const struct view *view, size_t row, size_t column)
{
	static const char *const roles[] = { [NP_ROLE_OTHER] = "other",
					     [NP_ROLE_KERNEL] = "kernel",
					     [NP_ROLE_COMMUNICATION] = "communication" };
	const struct view_rank *source = view->data;
	const struct np_device_task *task = &source->detail->tasks.item[row];

	switch (column) {
	case TASK_rank:
		return np_cell_integer(source->detail->id);
	case TASK_step:
		return view_step_id(source, task->step);
	case TASK_device:
		return np_cell_integer(task->device);
	case TASK_start_ns:
		return np_cell_integer(task->start);
	case TASK_end_ns:
		return np_cell_integer(task->end);
	case TASK_dur_ns:
		return view_difference(task->start, task->end);
	case TASK_stream:
		return np_cell_integer(task->stream);
	case TASK_task_id:
		return np_cell_integer(task->task_id);
	case TASK_type:
		return view_text(source->detail, task->type);
	case TASK_role:
		return np_cell_text(roles[task->role]);
	default:
		return np_cell_integer(task->connection);
	}
}

void view_make_task(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_task.name,
			       .columns = task_columns,
			       .column_count = TASK_COUNT,
			       .present = (source->detail->has & NP_DETAIL_TASKS) != 0,
			       .data = source,
			       .open = open_tasks,
			       .cell = task_cell };
}

/* clang-format off */
#define LINK_COLUMNS(X) \
	X(rank, NP_INTEGER) X(kernel_id, NP_INTEGER) X(api_id, NP_INTEGER) \
	X(api_name, NP_TEXT) X(stack_id, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) LINK_##name,
enum {
	LINK_COLUMNS(NUMBER) LINK_COUNT
};
#undef NUMBER
static const struct np_column link_columns[] = { LINK_COLUMNS(ENTRY) };

const struct view_description view_kernel_stack = {
	.name = "v_kernel_stack",
	.columns = link_columns,
	.column_count = LINK_COUNT,
	.scope = VIEW_RANK,
	.typical = 20000,
	.what = "which call of the framework launched a kernel",
	.cure = "profile the framework too (activities=[ProfilerActivity.CPU, "
		"ProfilerActivity.NPU]), with_stack=True for stacks",
};

struct kernel_link {
	uint32_t kernel;
	uint32_t call;
};

struct kernel_links {
	NP_VEC(struct kernel_link) list;
};

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

static int open_links(struct view *view, struct np_err *err)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;
	NP_CLEANUP(np_idmap_freep) struct np_idmap *calls = map_calls(detail);
	struct kernel_links *links = calloc(1, sizeof(*links));

	view->state = links;
	if (!calls || !links)
		return np_fail_nomem(err, "links of kernels");
	for (size_t i = 0; i < detail->kernels.count; i++) {
		int64_t connection = detail->kernels.item[i].connection;
		uint32_t call =
			connection == NP_UNKNOWN ? NP_IDMAP_NONE : np_idmap_get(calls, connection);
		struct kernel_link *link;

		if (call == NP_IDMAP_NONE)
			continue;
		link = np_vec_add(&links->list, err);
		if (!link)
			return NP_E_NOMEM;
		*link = (struct kernel_link){ (uint32_t)i, call };
	}
	view->rows = links->list.count;
	return NP_OK;
}

static struct np_cell link_cell(const struct view *view, size_t row, size_t column)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;
	const struct kernel_links *links = view->state;
	const struct kernel_link *link = &links->list.item[row];
	const struct np_framework_call *call = &detail->framework.item[link->call];

	switch (column) {
	case LINK_rank:
		return np_cell_integer(detail->id);
	case LINK_kernel_id:
		return np_cell_integer(link->kernel);
	case LINK_api_id:
		return np_cell_integer(link->call);
	case LINK_api_name:
		return view_text(detail, call->name);
	default:
		return call->stack == NP_STR_NONE ? np_cell_null() : np_cell_integer(call->stack);
	}
}

static void close_links(struct view *view)
{
	struct kernel_links *links = view->state;

	if (links)
		np_vec_release(&links->list);
	free(links);
}

static bool link_known(const struct view *view, size_t column)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;

	return column != LINK_stack_id || (detail->has & NP_DETAIL_STACKS) != 0;
}

void view_make_kernel_stack(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_kernel_stack.name,
			       .columns = link_columns,
			       .column_count = LINK_COUNT,
			       .present = (source->detail->has & NP_DETAIL_FRAMEWORK) != 0 &&
					  source->detail->links.count > 0,
			       .data = source,
			       .open = open_links,
			       .close = close_links,
			       .cell = link_cell,
			       .known = link_known };
}
