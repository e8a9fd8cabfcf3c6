/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The longest gaps between kernels and operators, and why: another task ran, the
 * framework dispatched nothing, or the launch of the next task came late.
 */
#include "registry.h"

#include "cluster/modes/common/launches.h"

#include "npuprof/order.h"

#define MODE "free_analysis"

/* A launch of the next task that waited this much longer than that of the one before is the
 * fault of CANN and not of the framework. */
#define LAUNCH_TOLERANCE_NS 50000

struct longest_gap {
	np_ns begin;
	np_ns end;
	np_ns framework_idle;
	np_ns cann_idle;
	char *reason;
	const struct np_device_task *before; /* while it is explained */
	const struct np_device_task *after;
};

struct longest_gaps {
	NP_VEC(struct longest_gap) list;
};

static void release(void *result)
{
	struct longest_gaps *gaps = result;

	for (size_t i = 0; i < gaps->list.count; i++)
		free(gaps->list.item[i].reason);
	np_vec_release(&gaps->list);
	free(gaps);
}

/* What one rank is searched with. */
struct gap_search {
	struct mode_rank *rank;
	const struct np_detail *detail;
	struct launches launches; /* of the tasks around gaps */
};

/* --- gaps ------------------------------------------------------------------------------------ */

static int by_length(const void *left, const void *right)
{
	const struct longest_gap *a = left;
	const struct longest_gap *b = right;

	if (a->end - a->begin != b->end - b->begin)
		return np_order(b->end - b->begin, a->end - a->begin);
	return np_order(a->begin, b->begin);
}

/* Drop all but the longest. */
static void cut(struct longest_gaps *gaps, size_t top)
{
	if (gaps->list.count)
		qsort(gaps->list.item, gaps->list.count, sizeof(gaps->list.item[0]), by_length);
	if (gaps->list.count > top)
		gaps->list.count = top;
}

/*
 * Where single steps are looked at, what lies between them is no gap if the device
 * was at work on others.
 */
static bool is_worked_in(const struct mode_rank *rank, struct np_span span)
{
	const struct np_detail *detail = rank->detail;
	const size_t count = detail->kernels.count;
	size_t first;

	if (!rank->modes->options.steps_chosen)
		return false;
	first = np_lower_bound(i, (size_t)0, count, detail->kernels.item[i].start >= span.begin);
	while (first < count && (detail->kernels.item[first].schedule ||
				 !mode_on_device(rank->rank, detail->kernels.item[first].device)))
		first++;
	return first < count && detail->kernels.item[first].start < span.end;
}

/* The longest gaps, as many as are shown: never more than twice as many are kept. */
static int find_gaps(struct mode_rank *rank, struct longest_gaps *gaps)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *busy = np_spans_new();
	size_t top = mode_top(rank->modes, 10);
	np_ns least = 0; /* of those that are kept */
	int rc = busy ? mode_busy(rank, NP_NO_STEP, busy) : np_fail_nomem(rank->err, MODE);

	for (size_t i = 1; rc == NP_OK && i < np_spans_count(busy); i++) {
		struct np_span span = { np_spans_get(busy, i - 1).end,
					np_spans_get(busy, i).begin };
		struct longest_gap *gap;

		/* Of equally long ones the earlier are kept. */
		if (span.end - span.begin <= least || is_worked_in(rank, span))
			continue;
		gap = np_vec_add(&gaps->list, rank->err);
		if (!gap)
			return NP_E_NOMEM;
		*gap = (struct longest_gap){ .begin = span.begin,
					     .end = span.end,
					     .framework_idle = NP_UNKNOWN,
					     .cann_idle = NP_UNKNOWN };
		if (gaps->list.count == 2 * top) {
			cut(gaps, top);
			least = gaps->list.item[top - 1].end - gaps->list.item[top - 1].begin;
		}
	}
	cut(gaps, top);
	return rc;
}

/* --- tasks around them ----------------------------------------------------------------------- */

/* The first task in the order of starts that starts at or after `time`. */
static size_t first_from(const struct np_detail *detail, np_ns time)
{
	return np_lower_bound(i, (size_t)0, detail->tasks.count,
			      detail->tasks.item[i].start >= time);
}

/*
 * The task with the last end up to `time`, or NULL; of several the one that starts
 * last. A gap begins where a kernel ends, so that it is nearly always close.
 */
static const struct np_device_task *last_until(const struct np_detail *detail, np_ns time)
{
	const struct np_device_task *tasks = detail->tasks.item;
	const struct np_device_task *last = NULL;

	for (size_t i = first_from(detail, time + 1); i-- > 0 && (!last || last->end < time);) {
		if (tasks[i].end <= time && (!last || tasks[i].end > last->end) &&
		    mode_on_device(detail->rank, tasks[i].device))
			last = &tasks[i];
	}
	return last;
}

/* The first that starts at or after `time`, or NULL. */
static const struct np_device_task *next_from(const struct np_detail *detail, np_ns time)
{
	for (size_t i = first_from(detail, time); i < detail->tasks.count; i++) {
		if (mode_on_device(detail->rank, detail->tasks.item[i].device))
			return &detail->tasks.item[i];
	}
	return NULL;
}

static int find_neighbours(struct gap_search *search, struct longest_gaps *gaps)
{
	const struct np_detail *detail = search->detail;
	int rc = NP_OK;

	for (size_t i = 0; i < gaps->list.count && rc == NP_OK; i++) {
		struct longest_gap *gap = &gaps->list.item[i];

		gap->before = last_until(detail, gap->begin);
		gap->after = next_from(detail, gap->end);
		if (!gap->before || !gap->after)
			continue;
		rc = launches_want(&search->launches, gap->before->connection, search->rank->err);
		if (rc == NP_OK)
			rc = launches_want(&search->launches, gap->after->connection,
					   search->rank->err);
	}
	return rc;
}

/* --- reasons --------------------------------------------------------------------------------- */

static double us(np_ns time)
{
	return (double)time / 1e3;
}

static int say(struct gap_search *search, struct longest_gap *gap, struct np_buf *buf)
{
	int rc = np_buf_check(buf, search->rank->err);

	gap->reason = rc == NP_OK ? strdup(buf->text) : NULL;
	return gap->reason ? NP_OK : np_fail_nomem(search->rank->err, MODE);
}

struct inside {
	const char *type;
	size_t count;
};

#define TYPES_SHOWN 16

/* Tasks of other kinds ran in the gap: how many of which type, and the longest rest. */
static size_t tasks_inside(const struct gap_search *search, struct longest_gap *gap,
			   struct inside *types, size_t *ret_types, np_ns *ret_rest)
{
	const struct np_detail *detail = search->detail;
	np_ns covered = gap->begin;
	size_t total = 0;

	*ret_types = 0;
	*ret_rest = 0;
	for (size_t i = first_from(detail, gap->begin); i < detail->tasks.count; i++) {
		const struct np_device_task *task = &detail->tasks.item[i];
		const char *type = np_detail_text(detail, task->type);
		size_t at = 0;

		if (task->start >= gap->end)
			break;
		if (task->start <= gap->begin || task->end >= gap->end ||
		    !mode_on_device(detail->rank, task->device))
			continue;
		total++;
		if (task->start - covered > *ret_rest)
			*ret_rest = task->start - covered;
		covered = task->end > covered ? task->end : covered;
		type = type ? type : "N/A";
		while (at < *ret_types && strcmp(types[at].type, type) != 0)
			at++;
		if (at == *ret_types && at < TYPES_SHOWN)
			types[(*ret_types)++] = (struct inside){ type, 0 };
		if (at < TYPES_SHOWN)
			types[at].count++;
	}
	if (gap->end - covered > *ret_rest)
		*ret_rest = gap->end - covered;
	return total;
}

static int by_type(const void *left, const void *right)
{
	return strcmp(((const struct inside *)left)->type, ((const struct inside *)right)->type);
}

static void explain_tasks(struct np_buf *buf, struct inside *types, size_t count, np_ns rest)
{
	qsort(types, count, sizeof(*types), by_type);
	np_buf_add(buf, "Device task running: ");
	for (size_t i = 0; i < count; i++)
		np_buf_printf(buf, "%zu %s tasks, ", types[i].count, types[i].type);
	np_buf_printf(buf, "max remaining free %.3f us", us(rest));
}

static void explain_launch(struct np_buf *buf, const struct launch *before,
			   const struct launch *after)
{
	np_ns launch_before = before->call->end - before->call->start;
	np_ns launch_after = after->call->end - after->call->start;
	np_ns launch = launch_before > launch_after ? launch_before : launch_after;
	np_ns idle = after->call->start - before->call->end;

	if (idle >= launch)
		np_buf_printf(buf, "Abnormal CANN layer: long time between two node@launch %.3f us",
			      us(idle));
	else
		np_buf_printf(buf, "Abnormal CANN layer: long node@launch %.3f us", us(launch));
}

static void explain_host(const struct gap_search *search, struct longest_gap *gap,
			 struct np_buf *buf)
{
	struct launch before;
	struct launch after;
	double longer; /* of damaged times the difference of differences may not fit */

	if (!gap->before || !gap->after) {
		np_buf_add(buf, "Skip: no task before or after the gap");
		return;
	}
	before = launches_get(&search->launches, gap->before->connection);
	after = launches_get(&search->launches, gap->after->connection);
	if (!before.call || !after.call) {
		np_buf_add(buf, "Skip: nothing says which call launched the tasks around the gap");
		return;
	}
	gap->cann_idle = after.call->end - before.call->end;
	if (before.dispatched == NP_UNKNOWN || after.dispatched == NP_UNKNOWN) {
		np_buf_add(buf, "Skip: no pytorch dispatch time of the tasks around the gap");
		return;
	}
	gap->framework_idle = after.dispatched - before.dispatched;
	longer = (double)(after.call->start - after.dispatched) -
		 (double)(before.call->start - before.dispatched);
	if (longer < LAUNCH_TOLERANCE_NS)
		np_buf_printf(buf, "Idle Pytorch layer: no task dispatched in %.3f us",
			      us(gap->framework_idle));
	else
		explain_launch(buf, &before, &after);
}

static int explain(struct gap_search *search, struct longest_gap *gap)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct inside types[TYPES_SHOWN];
	size_t type_count;
	np_ns rest;

	if (tasks_inside(search, gap, types, &type_count, &rest) > 0)
		explain_tasks(&buf, types, type_count, rest);
	else
		explain_host(search, gap, &buf);
	return say(search, gap, &buf);
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct gap_search search = { .rank = rank, .detail = rank->detail };
	struct longest_gaps *gaps = calloc(1, sizeof(*gaps));
	int rc;

	(void)prepared;
	if (!gaps)
		return np_fail_nomem(rank->err, MODE);
	*ret = gaps;
	rc = launches_init(&search.launches, rank->err);
	if (rc == NP_OK)
		rc = find_gaps(rank, gaps);
	if (rc == NP_OK)
		rc = find_neighbours(&search, gaps);
	if (rc == NP_OK)
		launches_find(&search.launches, search.detail);
	for (size_t i = 0; i < gaps->list.count && rc == NP_OK; i++)
		rc = explain(&search, &gaps->list.item[i]);
	launches_release(&search.launches);
	return rc;
}

/* --- table ----------------------------------------------------------------------------------- */

static const struct np_column columns[] = {
	{ "rankId", NP_INTEGER },
	{ "startTime(us)", NP_TEXT },
	{ "endTime(us)", NP_TEXT },
	{ "duration(us)", NP_REAL },
	{ "pytorchIdleTime(us)", NP_REAL },
	{ "cannIdleTime(us)", NP_REAL },
	{ "reason", NP_TEXT },
};

static int put_gap(struct np_modes *modes, struct np_mode_table *table, int32_t rank,
		   const struct longest_gap *gap, struct np_err *err)
{
	struct us_text begin;
	struct us_text end;

	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(columns)]){
				np_cell_integer(rank),
				np_cell_text(mode_us_text(gap->begin, &begin)),
				np_cell_text(mode_us_text(gap->end, &end)),
				np_cell_scaled(gap->end - gap->begin, 1e3),
				np_cell_scaled(gap->framework_idle, 1e3),
				np_cell_scaled(gap->cann_idle, 1e3),
				np_cell_text(gap->reason),
			},
			err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "FreeAnalysis",
			   "the longest gaps of each rank and their reasons", columns, err);
	int rc = table ? NP_OK : NP_E_NOMEM;

	(void)prepared;
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct longest_gaps *gaps = ranks[i];

		for (size_t j = 0; gaps && j < gaps->list.count && rc == NP_OK; j++)
			rc = put_gap(modes, table, mode_rank_id(modes, i), &gaps->list.item[j],
				     err);
	}
	return rc;
}

const struct mode mode_free_analysis = {
	.name = MODE,
	.summary = "the longest gaps on the device and their reasons",
	.devices = MODE_DEVICES_FIRST,
	.wants = NP_DETAIL_KERNELS | NP_DETAIL_TASKS | NP_DETAIL_CALLS | NP_DETAIL_DISPATCHES,
	.needs = NP_DETAIL_KERNELS | NP_DETAIL_TASKS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
