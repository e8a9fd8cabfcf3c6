/* SPDX-License-Identifier: Apache-2.0 */
/* Views of a rank's steps and their gaps, of the frequency and of memory. */
#include "view_fields.h"

#include <stdlib.h>
#include <string.h>

#include "npuprof/order.h"
#include "npuprof/spans.h"

/* The pipeline stage of the rank, or nothing without a pipeline. */
static struct np_cell stage_cell(const struct adv_view *view, size_t row, const void *item)
{
	const struct adv_view_rank *source = view_source(view);
	const struct np_cluster *cluster = source->cluster;

	(void)row;
	(void)item;
	for (size_t i = 0; cluster && i < cluster->stages.count; i++) {
		const struct np_stage *stage = &cluster->stages.item[i];

		for (size_t r = 0; r < stage->count; r++) {
			if (stage->ranks[r] == source->rank->id)
				return np_cell_integer((int64_t)i);
		}
	}
	return np_cell_null();
}

/* NULL of the last step, which has none. */
static struct np_cell iteration_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)view;
	(void)row;
	return np_cell_integer(np_step_iteration(item));
}

/* What lies between the span of a step and the next one: NULL without an iteration, not 0. */
static struct np_cell between_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)view;
	(void)row;
	return np_cell_integer(np_step_between(item));
}

static struct np_cell between_part(const struct np_step_time *time, enum np_between kind)
{
	return np_cell_integer(np_step_iteration(time) == NP_UNKNOWN ? NP_UNKNOWN
								     : time->between[kind]);
}

#define BETWEEN_PART(name, kind) \
	static struct np_cell name(const struct adv_view *view, size_t row, const void *item) \
	{ \
		(void)view; \
		(void)row; \
		return between_part(item, kind); \
	}

BETWEEN_PART(between_dataloader, NP_BETWEEN_DATALOADER)
BETWEEN_PART(between_host, NP_BETWEEN_HOST)
BETWEEN_PART(between_other, NP_BETWEEN_OTHER)
BETWEEN_PART(between_unknown, NP_BETWEEN_UNKNOWN)

/* clang-format off */
#define STEP_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(step, NP_TEXT, VIEW_STEP(np_step_time, step)) \
	X(device, NP_INTEGER, VIEW_NUMBER(np_step_time, device)) \
	X(stage, NP_INTEGER, VIEW_GET(stage_cell)) \
	X(dur_ns, NP_INTEGER, VIEW_NUMBER(np_step_time, span)) \
	X(compute_ns, NP_INTEGER, VIEW_NUMBER(np_step_time, computing)) \
	X(comm_ns, NP_INTEGER, VIEW_NUMBER(np_step_time, communication_not_overlapped)) \
	X(comm_total_ns, NP_INTEGER, VIEW_NUMBER(np_step_time, communication)) \
	X(overlap_ns, NP_INTEGER, VIEW_NUMBER(np_step_time, overlapped)) \
	X(free_ns, NP_INTEGER, VIEW_NUMBER(np_step_time, free)) \
	X(bubble_ns, NP_INTEGER, VIEW_NUMBER(np_step_time, bubble)) \
	X(stage_ns, NP_INTEGER, VIEW_NUMBER(np_step_time, stage)) \
	X(preparing_ns, NP_INTEGER, VIEW_NUMBER(np_step_time, preparing)) \
	X(e2e_ns, NP_INTEGER, VIEW_NUMBER(np_step_time, e2e)) \
	X(host_step_ns, NP_INTEGER, VIEW_LENGTH_1(np_step, host_begin, host_end)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER_1(np_step, begin)) \
	X(end_ns, NP_INTEGER, VIEW_NUMBER_1(np_step, end)) \
	X(iteration_ns, NP_INTEGER, VIEW_GET(iteration_cell)) \
	X(between_ns, NP_INTEGER, VIEW_GET(between_cell)) \
	X(between_dataloader_ns, NP_INTEGER, VIEW_GET(between_dataloader)) \
	X(between_host_ns, NP_INTEGER, VIEW_GET(between_host)) \
	X(between_other_ns, NP_INTEGER, VIEW_GET(between_other)) \
	X(between_unknown_ns, NP_INTEGER, VIEW_GET(between_unknown))
/* clang-format on */
VIEW_TABLES(step, STEP_COLUMNS);

static bool step_known(const struct adv_view *view, size_t column)
{
	return adv_view_has_value(view, column, view->items[0].count);
}

static void begin_step(struct adv_view *view, const struct adv_view_rank *source)
{
	const struct np_rank *rank = source->rank;

	view->present = rank->times.count > 0;
	view->items[0] = VIEW_ITEMS(rank->times);
	view->items[1] = VIEW_ITEMS_AT(rank->steps, rank->times.item, step);
	view->known = step_known;
}

const struct adv_view_description adv_view_step = {
	.name = "v_step",
	VIEW_OF_TABLES(step),
	.begin = begin_step,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "steps of a rank; dur_ns, its span, = compute_ns + comm_ns (not overlapped) + "
		"free_ns; iteration_ns = dur_ns + between_ns, up to the next step: NULL of the last",
	.data = NP_DATA_STEP_TIMES,
};

static struct np_cell counter_kind(const struct adv_view *view, size_t row, const void *item)
{
	(void)view;
	(void)row;
	return np_cell_text(((const struct np_counter *)item)->level ? "level" : "count");
}

static struct np_cell counter_device(const struct adv_view *view, size_t row, const void *item)
{
	int32_t device = ((const struct np_counter *)item)->device;

	(void)view;
	(void)row;
	return device < 0 ? np_cell_null() : np_cell_integer(device);
}

static struct np_cell counter_total(const struct adv_view *view, size_t row, const void *item)
{
	(void)view;
	(void)row;
	return np_cell_real(((const struct np_counter *)item)->total);
}

static struct np_cell counter_mean(const struct adv_view *view, size_t row, const void *item)
{
	const struct np_counter *counter = item;

	(void)view;
	(void)row;
	return np_cell_real(counter->total / (double)counter->samples);
}

static struct np_cell counter_most(const struct adv_view *view, size_t row, const void *item)
{
	(void)view;
	(void)row;
	return np_cell_real(((const struct np_counter *)item)->most);
}

/* clang-format off */
#define COUNTER_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(device, NP_INTEGER, VIEW_GET(counter_device)) \
	X(source, NP_TEXT, VIEW_RUN_TEXT(np_counter, table)) \
	X(name, NP_TEXT, VIEW_RUN_TEXT(np_counter, name)) \
	X(kind, NP_TEXT, VIEW_GET(counter_kind)) \
	X(samples, NP_INTEGER, VIEW_NUMBER(np_counter, samples)) \
	X(total, NP_REAL, VIEW_GET(counter_total)) \
	X(mean, NP_REAL, VIEW_GET(counter_mean)) \
	X(most, NP_REAL, VIEW_GET(counter_most))
/* clang-format on */
VIEW_TABLES(counter, COUNTER_COLUMNS);

static void begin_counter(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = source->rank->counters.count > 0;
	view->items[0] = VIEW_ITEMS(source->rank->counters);
}

const struct adv_view_description adv_view_counter = {
	.name = "v_counter",
	VIEW_OF_TABLES(counter),
	.begin = begin_counter,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "quantities sampled over the whole capture: ports (NETDEV_STATS, ROCE, NIC), the "
		"host (CPU_USAGE, HOST_*: device is NULL), links and memories; of a count the total "
		"matters, of a level the mean",
	.cure = "sys_io, sys_interconnection and host_sys of the profiler, and export a database",
};

struct free_gap {
	uint32_t step;
	np_ns begin;
	np_ns end;
	bool between;
};

struct free_gaps {
	NP_VEC(struct free_gap) list;
};

/* clang-format off */
#define FREE_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(step, NP_TEXT, VIEW_STEP(free_gap, step)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(free_gap, begin)) \
	X(end_ns, NP_INTEGER, VIEW_NUMBER(free_gap, end)) \
	X(dur_ns, NP_INTEGER, VIEW_LENGTH(free_gap, begin, end)) \
	X(is_between, NP_INTEGER, VIEW_NUMBER(free_gap, between))
/* clang-format on */
VIEW_TABLES(free, FREE_COLUMNS);

/* What ran on the device, by step; what is of none is behind the last. */
struct busy {
	size_t *first; /* by step, and one more */
	struct np_span *span;
};

static void busy_release(struct busy *busy)
{
	free(busy->first);
	free(busy->span);
}

/* Where spans of a step go. */
static size_t bucket(const struct np_rank *rank, uint32_t step)
{
	return step < rank->steps.count ? step : rank->steps.count;
}

static int all_busy(const struct adv_view_rank *source, struct busy *ret, struct np_err *err)
{
	const struct np_detail *detail = source->detail;
	const struct np_rank *rank = source->rank;
	size_t steps = rank->steps.count + 1;

	*ret = (struct busy){
		.first = calloc(steps + 2, sizeof(*ret->first)),
		.span = malloc((detail->kernels.count + rank->ops.count + 1) * sizeof(*ret->span)),
	};
	if (!ret->first || !ret->span)
		return np_fail_nomem(err, "gaps");
	/* Counted one place further on: filling moves each begin to where it belongs. */
	for (size_t i = 0; i < detail->kernels.count; i++)
		ret->first[bucket(rank, detail->kernels.item[i].step) + 2]++;
	for (size_t i = 0; i < rank->ops.count; i++)
		ret->first[bucket(rank, rank->ops.item[i].step) + 2]++;
	for (size_t i = 2; i < steps + 2; i++)
		ret->first[i] += ret->first[i - 1];
	for (size_t i = 0; i < detail->kernels.count; i++)
		ret->span[ret->first[bucket(rank, detail->kernels.item[i].step) + 1]++] =
			(struct np_span){ detail->kernels.item[i].start,
					  detail->kernels.item[i].end };
	for (size_t i = 0; i < rank->ops.count; i++)
		ret->span[ret->first[bucket(rank, rank->ops.item[i].step) + 1]++] =
			(struct np_span){ rank->ops.item[i].start, rank->ops.item[i].end };
	return NP_OK;
}

/* Spans of what ran on the device in a step. */
static int busy_in(const struct busy *all, size_t step, struct np_spans *busy, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = all->first[step]; i < all->first[step + 1] && rc == NP_OK; i++)
		rc = np_spans_add(busy, all->span[i].begin, all->span[i].end, err);
	return rc;
}

static int add_gap(struct free_gaps *gaps, struct free_gap one, struct np_err *err)
{
	struct free_gap *gap = np_vec_add(&gaps->list, err);

	if (!gap)
		return NP_E_NOMEM;
	*gap = one;
	return NP_OK;
}

static int add_gaps(struct free_gaps *gaps, const struct np_spans *busy, uint32_t step,
		    struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 1; i < np_spans_count(busy) && rc == NP_OK; i++)
		rc = add_gap(gaps,
			     (struct free_gap){ step, np_spans_get(busy, i - 1).end,
						np_spans_get(busy, i).begin, false },
			     err);
	return rc;
}

/* The first time of each step, by index of the step; to be freed. */
static const struct np_step_time **first_times(const struct np_rank *rank)
{
	const struct np_step_time **list = calloc(rank->steps.count + 1, sizeof(*list));

	for (size_t i = rank->times.count; list && i > 0; i--)
		list[rank->times.item[i - 1].step] = &rank->times.item[i - 1];
	return list;
}

/* From the end of a step's span to the next step, without what ran there and is of no step. */
static int add_between(struct free_gaps *gaps, const struct np_spans *outside,
		       const struct np_step_time *time, struct np_err *err)
{
	np_ns end = time->begin + time->iteration;
	struct free_gap gap = { time->step, time->begin + time->span, end, true };
	int rc = NP_OK;

	/* They are in order and apart from each other. */
	for (size_t i = np_lower_bound(j, (size_t)0, np_spans_count(outside),
				       np_spans_get(outside, j).end > gap.begin);
	     i < np_spans_count(outside) && rc == NP_OK; i++) {
		struct np_span span = np_spans_get(outside, i);

		if (span.begin >= end)
			break;
		gap.end = span.begin;
		if (gap.end > gap.begin)
			rc = add_gap(gaps, gap, err);
		gap.begin = span.end;
	}
	gap.end = end;
	return rc == NP_OK && gap.end > gap.begin ? add_gap(gaps, gap, err) : rc;
}

static int open_gaps(struct adv_view *view, struct np_err *err)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *busy = np_spans_new();
	NP_CLEANUP(np_spans_freep) struct np_spans *outside = np_spans_new();
	const struct adv_view_rank *source = view_source(view);
	struct free_gaps gaps = { .list = { 0 } };
	const struct np_step_time **times = first_times(source->rank);
	struct busy all = { 0 };
	int rc =
		busy && outside && times ? all_busy(source, &all, err) : np_fail_nomem(err, "gaps");

	if (rc == NP_OK)
		rc = busy_in(&all, source->rank->steps.count, outside, err);

	for (uint32_t step = 0; step < source->rank->steps.count && rc == NP_OK; step++) {
		const struct np_step_time *time = times[step];

		np_spans_clear(busy);
		rc = busy_in(&all, step, busy, err);

		if (rc == NP_OK)
			rc = add_gaps(&gaps, busy, step, err);
		if (rc == NP_OK && time && np_step_iteration(time) != NP_UNKNOWN)
			rc = add_between(&gaps, outside, time, err);
	}
	busy_release(&all);
	free(times);
	view->state = gaps.list.item;
	view->items[0] = VIEW_ITEMS(gaps.list);
	view->rows = gaps.list.count;
	return rc;
}

static void begin_free(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_KERNELS) != 0;
	view->open = open_gaps;
}

const struct adv_view_description adv_view_free = {
	.name = "v_free",
	.kernels = true,
	VIEW_OF_TABLES(free),
	.begin = begin_free,
	.scope = VIEW_RANK,
	.what = "gaps of a step in which neither a kernel nor an operator ran, and those between it "
		"and the next step (is_between)",
	.cure = "profile the NPU (activities=[ProfilerActivity.NPU]) and export the timeline",
};

/* The time of the next sample of the same device. */
static struct np_cell next_sample(const struct adv_view *view, size_t row, const void *item)
{
	const struct np_detail *detail = view_detail(view);
	const struct np_frequency *sample = item;

	for (size_t i = row + 1; i < detail->frequency.count; i++) {
		if (detail->frequency.item[i].device == sample->device)
			return np_cell_integer(detail->frequency.item[i].time);
	}
	return np_cell_null();
}

/* clang-format off */
#define FREQ_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(device, NP_INTEGER, VIEW_NUMBER(np_frequency, device)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(np_frequency, time)) \
	X(end_ns, NP_INTEGER, VIEW_GET(next_sample)) \
	X(mhz, NP_INTEGER, VIEW_NUMBER(np_frequency, mhz))
/* clang-format on */
VIEW_TABLES(freq, FREQ_COLUMNS);

static void begin_freq(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_FREQUENCY) != 0 &&
			source->detail->frequency.count > 0;
	view->items[0] = VIEW_ITEMS(source->detail->frequency);
}

const struct adv_view_description adv_view_freq = {
	.name = "v_freq",
	VIEW_OF_TABLES(freq),
	.begin = begin_freq,
	.scope = VIEW_RANK,
	.what = "clock of the AI cores; a sample holds until the next one of its device",
	.data = NP_DATA_FREQUENCY,
};

/* clang-format off */
#define MEMOP_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(device, NP_INTEGER, VIEW_NUMBER(np_memory_op, device)) \
	X(name, NP_TEXT, VIEW_TEXT(np_memory_op, name)) \
	X(alloc_ns, NP_INTEGER, VIEW_NUMBER(np_memory_op, alloc)) \
	X(release_ns, NP_INTEGER, VIEW_NUMBER(np_memory_op, release)) \
	X(active_release_ns, NP_INTEGER, VIEW_NUMBER(np_memory_op, active_release)) \
	X(size_b, NP_INTEGER, VIEW_NUMBER(np_memory_op, bytes)) \
	X(allocated_b, NP_INTEGER, VIEW_NUMBER(np_memory_op, allocated_at_alloc)) \
	X(reserved_b, NP_INTEGER, VIEW_NUMBER(np_memory_op, reserved_at_alloc)) \
	X(active_b, NP_INTEGER, VIEW_NUMBER(np_memory_op, active_at_alloc))
/* clang-format on */
VIEW_TABLES(memop, MEMOP_COLUMNS);

static void begin_memop(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_MEMORY_OPS) != 0;
	view->items[0] = VIEW_ITEMS(source->detail->memory_ops);
}

const struct adv_view_description adv_view_mem_op = {
	.name = "v_mem_op",
	VIEW_OF_TABLES(memop),
	.begin = begin_memop,
	.scope = VIEW_RANK,
	.what = "memory that operators took and gave back; sums are those when it was taken",
	.cure = "profile_memory=True",
};

/* clang-format off */
#define CURVE_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(device, NP_INTEGER, VIEW_NUMBER(np_memory_point, device)) \
	X(component, NP_TEXT, VIEW_TEXT(np_memory_point, component)) \
	X(is_module, NP_INTEGER, VIEW_NUMBER(np_memory_point, module)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(np_memory_point, time)) \
	X(allocated_b, NP_INTEGER, VIEW_NUMBER(np_memory_point, allocated)) \
	X(reserved_b, NP_INTEGER, VIEW_NUMBER(np_memory_point, reserved)) \
	X(active_b, NP_INTEGER, VIEW_NUMBER(np_memory_point, active))
/* clang-format on */
VIEW_TABLES(curve, CURVE_COLUMNS);

static void begin_curve(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_MEMORY_CURVE) != 0;
	view->items[0] = VIEW_ITEMS(source->detail->memory_curve);
}

const struct adv_view_description adv_view_mem_curve = {
	.name = "v_mem_curve",
	VIEW_OF_TABLES(curve),
	.begin = begin_curve,
	.scope = VIEW_RANK,
	.what = "memory that components held from a time on",
	.cure = "profile_memory=True",
};
