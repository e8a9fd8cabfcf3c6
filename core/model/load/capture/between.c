/* SPDX-License-Identifier: Apache-2.0 */
/* What lies between the span of a step and the next step, and so how long its iteration is. */
#include "between.h"

#include "npuprof/order.h"
#include "npuprof/text.h"

void between_init(struct between *between)
{
	between->time = SIZE_MAX;
	between->reached = -NP_NS_MAX;
	between->work.count = 0;
}

void between_release(struct between *between)
{
	np_vec_release(&between->work);
}

int between_add(struct between *between, const struct np_activity_task *task, bool copies,
		struct np_err *err)
{
	struct between_work *work;

	if (task->end <= task->start)
		return NP_OK;
	work = np_vec_add(&between->work, err);
	if (!work)
		return NP_E_NOMEM;
	*work = (struct between_work){ task->start, task->end, task->launched, copies };
	return NP_OK;
}

void between_forget(struct between *between, np_ns end)
{
	size_t kept = 0;

	for (size_t i = 0; i < between->work.count; i++) {
		if (between->work.item[i].end > end)
			between->work.item[kept++] = between->work.item[i];
	}
	between->work.count = kept;
}

void between_open(struct between *between, size_t time, np_ns end)
{
	between->time = time;
	between->end = end;
	if (end > between->reached)
		between->reached = end;
	between_forget(between, between->reached);
}

static int by_start(const void *left, const void *right)
{
	const struct between_work *a = left;
	const struct between_work *b = right;

	return a->start != b->start ? np_order(a->start, b->start) : np_order(a->end, b->end);
}

static void sort_work(struct between *between)
{
	if (between->work.count)
		qsort(between->work.item, between->work.count, sizeof(*between->work.item),
		      by_start);
}

/* Nothing ran in [from, to), which a task ended whose launch had returned at `launched`. */
static void divide_gap(struct np_step_time *time, const struct np_spans *loading, np_ns from,
		       np_ns to, np_ns launched)
{
	np_ns loaded;

	if (from >= to)
		return;
	if (launched == NP_UNKNOWN) {
		time->between[NP_BETWEEN_UNKNOWN] += to - from;
		return;
	}
	if (launched < from)
		launched = from;
	if (launched > to)
		launched = to;
	loaded = loading ? np_spans_within(loading, from, launched) : 0;
	time->between[NP_BETWEEN_DATALOADER] += loaded;
	time->between[NP_BETWEEN_HOST] += launched - from - loaded;
	time->between[NP_BETWEEN_OTHER] += to - launched;
}

static void divide(struct between *between, struct np_step_time *time,
		   const struct np_spans *loading, np_ns begin, np_ns launched)
{
	np_ns now = between->reached < begin ? between->reached : begin;

	/* Up to there it is work of an earlier step. */
	if (now > between->end)
		time->between[NP_BETWEEN_OTHER] += now - between->end;
	for (size_t i = 0; i < between->work.count && now < begin; i++) {
		const struct between_work *work = &between->work.item[i];
		np_ns start = work->start < begin ? work->start : begin;
		np_ns end = work->end < begin ? work->end : begin;

		if (end <= now)
			continue;
		if (start > now) {
			divide_gap(time, loading, now, start,
				   work->start < begin ? work->launched : launched);
			now = start;
		}
		time->between[NP_BETWEEN_OTHER] += end - now;
		now = end;
	}
	divide_gap(time, loading, now, begin, launched);
}

/* Is the second of two steps that follow each other the one after the first? */
static bool follows(const struct np_rank *rank, const struct np_strtab *strings, uint32_t first,
		    uint32_t second)
{
	np_str a = rank->steps.item[first].id;
	np_str b = rank->steps.item[second].id;
	int64_t from;
	int64_t to;

	/* Ranges have names. */
	if (second == first + 1 && rank->steps_from == NP_STEPS_RANGE)
		return true;
	return second == first + 1 && a != NP_STR_NONE && b != NP_STR_NONE &&
	       np_text_to_int(np_strtab_text(strings, a), np_strtab_length(strings, a), &from) &&
	       np_text_to_int(np_strtab_text(strings, b), np_strtab_length(strings, b), &to) &&
	       from < INT64_MAX && to == from + 1;
}

/* The gap that begins with the end of the span is the vendor's if it begins in the window. */
static void measure_trailing(const struct between *between, struct np_rank *rank, np_ns begin)
{
	struct np_step_time *time = &rank->times.item[between->time];
	const struct np_step *step = &rank->steps.item[time->step];

	for (size_t i = 0; i < between->work.count; i++) {
		const struct between_work *work = &between->work.item[i];

		if (!work->copies && work->start < begin)
			begin = work->start;
	}
	if (begin == NP_NS_MAX || begin <= between->reached)
		return;
	if (between->reached < step->end ||
	    (step->host_end != NP_UNKNOWN && between->reached < step->host_end))
		time->trailing = begin - between->reached;
}

void between_close(struct between *between, struct np_rank *rank, const struct np_strtab *strings,
		   const struct np_spans *loading, uint32_t step,
		   const struct np_activity_task *first)
{
	struct np_step_time *time;

	if (between->time != SIZE_MAX) {
		time = &rank->times.item[between->time];
		sort_work(between);
		measure_trailing(between, rank, first->start);
		if (follows(rank, strings, time->step, step)) {
			time->iteration = first->start - time->begin;
			divide(between, time, loading, first->start, first->launched);
		}
	}
	/* What runs on may reach over the end of this cell, too. */
	between->time = SIZE_MAX;
}

void between_finish(struct between *between, struct np_rank *rank)
{
	if (between->time != SIZE_MAX)
		measure_trailing(between, rank, NP_NS_MAX);
	between_init(between);
}
