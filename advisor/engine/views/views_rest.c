/* SPDX-License-Identifier: Apache-2.0 */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "npuprof/spans.h"

/* Steps and their gaps, clocks, memory. */

#define ENTRY(name, type) { #name, type },

static const struct view_rank *source_of(const struct view *view)
{
	return view->data;
}

static const struct np_detail *detail_of(const struct view *view)
{
	return source_of(view)->detail;
}

/* clang-format off */
#define STEP_COLUMNS(X) \
	X(rank, NP_INTEGER) X(step, NP_TEXT) X(device, NP_INTEGER) X(stage, NP_INTEGER) \
	X(dur_ns, NP_INTEGER) X(compute_ns, NP_INTEGER) X(comm_ns, NP_INTEGER) \
	X(comm_total_ns, NP_INTEGER) X(overlap_ns, NP_INTEGER) X(free_ns, NP_INTEGER) \
	X(bubble_ns, NP_INTEGER) X(stage_ns, NP_INTEGER) X(preparing_ns, NP_INTEGER) \
	X(e2e_ns, NP_INTEGER) X(host_step_ns, NP_INTEGER) X(start_ns, NP_INTEGER) \
	X(end_ns, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) STEP_##name,
enum {
	STEP_COLUMNS(NUMBER) STEP_COUNT
};
#undef NUMBER
static const struct np_column step_columns[] = { STEP_COLUMNS(ENTRY) };

const struct view_description view_step = {
	.name = "v_step",
	.columns = step_columns,
	.column_count = STEP_COUNT,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "steps of a rank; dur_ns = compute_ns + comm_ns (not overlapped) + free_ns",
	.cure = "profile the NPU and export step_trace_time.csv or a database",
};

static int open_steps(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = source_of(view)->rank->times.count;
	return NP_OK;
}

/* The pipeline stage of the rank, or nothing without a pipeline. */
static struct np_cell stage_cell(const struct view_rank *source)
{
	const struct np_cluster *cluster = source->cluster;

	for (size_t i = 0; cluster && i < cluster->stages.count; i++) {
		const struct np_stage *stage = &cluster->stages.item[i];

		for (size_t r = 0; r < stage->count; r++) {
			if (stage->ranks[r] == source->rank->id)
				return np_cell_integer((int64_t)i);
		}
	}
	return np_cell_null();
}

static struct np_cell step_cell(const struct view *view, size_t row, size_t column)
{
	const struct view_rank *source = source_of(view);
	const struct np_step_time *time = &source->rank->times.item[row];
	const struct np_step *step = time->step < source->rank->steps.count
					     ? &source->rank->steps.item[time->step]
					     : NULL;

	switch (column) {
	case STEP_rank:
		return np_cell_integer(source->rank->id);
	case STEP_step:
		return view_step_id(source, time->step);
	case STEP_device:
		return np_cell_integer(time->device);
	case STEP_stage:
		return stage_cell(source);
	case STEP_dur_ns:
		return np_cell_integer(time->span);
	case STEP_compute_ns:
		return np_cell_integer(time->computing);
	case STEP_comm_ns:
		return np_cell_integer(time->communication_not_overlapped);
	case STEP_comm_total_ns:
		return np_cell_integer(time->communication);
	case STEP_overlap_ns:
		return np_cell_integer(time->overlapped);
	case STEP_free_ns:
		return np_cell_integer(time->free);
	case STEP_bubble_ns:
		return np_cell_integer(time->bubble);
	case STEP_stage_ns:
		return np_cell_integer(time->stage);
	case STEP_preparing_ns:
		return np_cell_integer(time->preparing);
	case STEP_e2e_ns:
		return np_cell_integer(time->e2e);
	case STEP_host_step_ns:
		return step ? view_difference(step->host_begin, step->host_end) : np_cell_null();
	case STEP_start_ns:
		return np_cell_integer(step ? step->begin : NP_UNKNOWN);
	default:
		return np_cell_integer(step ? step->end : NP_UNKNOWN);
	}
}

void view_make_step(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_step.name,
			       .columns = step_columns,
			       .column_count = STEP_COUNT,
			       .present = source->rank->times.count > 0,
			       .data = source,
			       .open = open_steps,
			       .cell = step_cell };
}

/* clang-format off */
#define FREE_COLUMNS(X) \
	X(rank, NP_INTEGER) X(step, NP_TEXT) X(start_ns, NP_INTEGER) X(end_ns, NP_INTEGER) \
	X(dur_ns, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) FREE_##name,
enum {
	FREE_COLUMNS(NUMBER) FREE_COUNT
};
#undef NUMBER
static const struct np_column free_columns[] = { FREE_COLUMNS(ENTRY) };

const struct view_description view_free = {
	.name = "v_free",
	.columns = free_columns,
	.column_count = FREE_COUNT,
	.scope = VIEW_RANK,
	.what = "gaps of a step in which neither a kernel nor an operator ran",
	.cure = "profile the NPU (activities=[ProfilerActivity.NPU]) and export the timeline",
};

struct gap {
	uint32_t step;
	np_ns begin;
	np_ns end;
};

struct gaps {
	NP_VEC(struct gap) list;
};

static void close_gaps(struct view *view)
{
	struct gaps *gaps = view->state;

	if (gaps)
		np_vec_release(&gaps->list);
	free(gaps);
}

/* Spans of what ran on the device in a step. */
static int busy_in(const struct view_rank *source, uint32_t step, struct np_spans *busy,
		   struct np_err *err)
{
	const struct np_detail *detail = source->detail;
	const struct np_rank *rank = source->rank;
	int rc = NP_OK;

	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		if (detail->kernels.item[i].step == step)
			rc = np_spans_add(busy, detail->kernels.item[i].start,
					  detail->kernels.item[i].end, err);
	}
	for (size_t i = 0; i < rank->ops.count && rc == NP_OK; i++) {
		if (rank->ops.item[i].step == step)
			rc = np_spans_add(busy, rank->ops.item[i].start, rank->ops.item[i].end,
					  err);
	}
	return rc;
}

static int add_gaps(struct gaps *gaps, const struct np_spans *busy, uint32_t step,
		    struct np_err *err)
{
	for (size_t i = 1; i < np_spans_count(busy); i++) {
		struct gap *gap = np_vec_add(&gaps->list, err);

		if (!gap)
			return NP_E_NOMEM;
		gap->step = step;
		gap->begin = np_spans_get(busy, i - 1).end;
		gap->end = np_spans_get(busy, i).begin;
	}
	return NP_OK;
}

static int open_gaps(struct view *view, struct np_err *err)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *busy = np_spans_new();
	struct gaps *gaps = calloc(1, sizeof(*gaps));
	int rc = NP_OK;

	view->state = gaps;
	if (!busy || !gaps)
		return np_fail_nomem(err, "gaps");
	for (uint32_t step = 0; step < source_of(view)->rank->steps.count && rc == NP_OK; step++) {
		np_spans_clear(busy);
		rc = busy_in(source_of(view), step, busy, err);
		if (rc == NP_OK)
			rc = add_gaps(gaps, busy, step, err);
	}
	view->rows = gaps->list.count;
	return rc;
}

static struct np_cell gap_cell(const struct view *view, size_t row, size_t column)
{
	const struct gaps *gaps = view->state;
	const struct gap *gap = &gaps->list.item[row];

	switch (column) {
	case FREE_rank:
		return np_cell_integer(source_of(view)->rank->id);
	case FREE_step:
		return view_step_id(source_of(view), gap->step);
	case FREE_start_ns:
		return np_cell_integer(gap->begin);
	case FREE_end_ns:
		return np_cell_integer(gap->end);
	default:
		return view_difference(gap->begin, gap->end);
	}
}

void view_make_free(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_free.name,
			       .columns = free_columns,
			       .column_count = FREE_COUNT,
			       .present = (source->detail->has & NP_DETAIL_KERNELS) != 0,
			       .data = source,
			       .open = open_gaps,
			       .close = close_gaps,
			       .cell = gap_cell };
}

/* clang-format off */
#define FREQ_COLUMNS(X) \
	X(rank, NP_INTEGER) X(device, NP_INTEGER) X(start_ns, NP_INTEGER) \
	X(end_ns, NP_INTEGER) X(mhz, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) FREQ_##name,
enum {
	FREQ_COLUMNS(NUMBER) FREQ_COUNT
};
#undef NUMBER
static const struct np_column freq_columns[] = { FREQ_COLUMNS(ENTRY) };

const struct view_description view_freq = {
	.name = "v_freq",
	.columns = freq_columns,
	.column_count = FREQ_COUNT,
	.scope = VIEW_RANK,
	.what = "clock of the AI cores; a sample holds until the next one of its device",
	.cure = "profiler_level=Level1 with aic_metrics on a chip that reports its clock",
};

static int open_freq(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = detail_of(view)->frequency.count;
	return NP_OK;
}

/* The time of the next sample of the same device. */
static np_ns next_sample(const struct np_detail *detail, size_t row)
{
	for (size_t i = row + 1; i < detail->frequency.count; i++) {
		if (detail->frequency.item[i].device == detail->frequency.item[row].device)
			return detail->frequency.item[i].time;
	}
	return NP_UNKNOWN;
}

static struct np_cell freq_cell(const struct view *view, size_t row, size_t column)
{
	const struct np_detail *detail = detail_of(view);
	const struct np_frequency *sample = &detail->frequency.item[row];

	switch (column) {
	case FREQ_rank:
		return np_cell_integer(detail->id);
	case FREQ_device:
		return np_cell_integer(sample->device);
	case FREQ_start_ns:
		return np_cell_integer(sample->time);
	case FREQ_end_ns:
		return np_cell_integer(next_sample(detail, row));
	default:
		return np_cell_integer(sample->mhz);
	}
}

void view_make_freq(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_freq.name,
			       .columns = freq_columns,
			       .column_count = FREQ_COUNT,
			       .present = (source->detail->has & NP_DETAIL_FREQUENCY) != 0 &&
					  source->detail->frequency.count > 0,
			       .data = source,
			       .open = open_freq,
			       .cell = freq_cell };
}

/* clang-format off */
#define MEMOP_COLUMNS(X) \
	X(rank, NP_INTEGER) X(device, NP_INTEGER) X(name, NP_TEXT) X(alloc_ns, NP_INTEGER) \
	X(release_ns, NP_INTEGER) X(active_release_ns, NP_INTEGER) X(size_b, NP_INTEGER) \
	X(allocated_b, NP_INTEGER) X(reserved_b, NP_INTEGER) X(active_b, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) MEMOP_##name,
enum {
	MEMOP_COLUMNS(NUMBER) MEMOP_COUNT
};
#undef NUMBER
static const struct np_column memop_columns[] = { MEMOP_COLUMNS(ENTRY) };

const struct view_description view_mem_op = {
	.name = "v_mem_op",
	.columns = memop_columns,
	.column_count = MEMOP_COUNT,
	.scope = VIEW_RANK,
	.what = "memory that operators took and gave back; sums are those when it was taken",
	.cure = "profile_memory=True",
};

static int open_memops(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = detail_of(view)->memory_ops.count;
	return NP_OK;
}

static struct np_cell memop_cell(const struct view *view, size_t row, size_t column)
{
	const struct np_detail *detail = detail_of(view);
	const struct np_memory_op *op = &detail->memory_ops.item[row];

	switch (column) {
	case MEMOP_rank:
		return np_cell_integer(detail->id);
	case MEMOP_device:
		return np_cell_integer(op->device);
	case MEMOP_name:
		return view_text(detail, op->name);
	case MEMOP_alloc_ns:
		return np_cell_integer(op->alloc);
	case MEMOP_release_ns:
		return np_cell_integer(op->release);
	case MEMOP_active_release_ns:
		return np_cell_integer(op->active_release);
	case MEMOP_size_b:
		return np_cell_integer(op->bytes);
	case MEMOP_allocated_b:
		return np_cell_integer(op->allocated_at_alloc);
	case MEMOP_reserved_b:
		return np_cell_integer(op->reserved_at_alloc);
	default:
		return np_cell_integer(op->active_at_alloc);
	}
}

void view_make_mem_op(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_mem_op.name,
			       .columns = memop_columns,
			       .column_count = MEMOP_COUNT,
			       .present = (source->detail->has & NP_DETAIL_MEMORY_OPS) != 0,
			       .data = source,
			       .open = open_memops,
			       .cell = memop_cell };
}

/* clang-format off */
#define CURVE_COLUMNS(X) \
	X(rank, NP_INTEGER) X(device, NP_INTEGER) X(component, NP_TEXT) \
	X(is_module, NP_INTEGER) X(start_ns, NP_INTEGER) X(allocated_b, NP_INTEGER) \
	X(reserved_b, NP_INTEGER) X(active_b, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) CURVE_##name,
enum {
	CURVE_COLUMNS(NUMBER) CURVE_COUNT
};
#undef NUMBER
static const struct np_column curve_columns[] = { CURVE_COLUMNS(ENTRY) };

const struct view_description view_mem_curve = {
	.name = "v_mem_curve",
	.columns = curve_columns,
	.column_count = CURVE_COUNT,
	.scope = VIEW_RANK,
	.what = "memory that components held from a time on",
	.cure = "profile_memory=True",
};

static int open_curve(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = detail_of(view)->memory_curve.count;
	return NP_OK;
}

static struct np_cell curve_cell(const struct view *view, size_t row, size_t column)
{
	const struct np_detail *detail = detail_of(view);
	const struct np_memory_point *point = &detail->memory_curve.item[row];

	switch (column) {
	case CURVE_rank:
		return np_cell_integer(detail->id);
	case CURVE_device:
		return np_cell_integer(point->device);
	case CURVE_component:
		return view_text(detail, point->component);
	case CURVE_is_module:
		return np_cell_integer(point->module);
	case CURVE_start_ns:
		return np_cell_integer(point->time);
	case CURVE_allocated_b:
		return np_cell_integer(point->allocated);
	case CURVE_reserved_b:
		return np_cell_integer(point->reserved);
	default:
		return np_cell_integer(point->active);
	}
}

void view_make_mem_curve(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_mem_curve.name,
			       .columns = curve_columns,
			       .column_count = CURVE_COUNT,
			       .present = (source->detail->has & NP_DETAIL_MEMORY_CURVE) != 0,
			       .data = source,
			       .open = open_curve,
			       .cell = curve_cell };
}
