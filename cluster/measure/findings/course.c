/* SPDX-License-Identifier: Apache-2.0 */
/* How what a rank takes longer than its peers goes on from step to step. */
#include "npuprof/course.h"

#include "npuprof/align.h"
#include "npuprof/order.h"
#include "npuprof/robust.h"

#include <math.h>

/* Fewer steps have no course. */
#define FEWEST 3

/* A straight line explains so much of what grows, and it grows by so much of its mean. */
#define STRAIGHT 0.7
#define GROWS    0.6

/* A constant excess is never below this part of its mean; a step with one is not below that of the
 * largest. */
#define CONSTANT 0.5
#define MARKED   0.5

/* So many times make a period. */
#define TIMES 3

const char *np_course_name(enum np_course_kind kind)
{
	static const char *const names[] = { NULL, "constant", "growing", "periodic", "random" };

	return names[kind];
}

void np_course_release(struct np_course *course)
{
	np_vec_release(&course->steps);
}

/* --- what a series is --------------------------------------------------------------------------
 */

static bool is_growing(const double *excess, size_t count, double mean)
{
	double middle = (double)(count - 1) / 2;
	double xx = 0;
	double xy = 0;
	double yy = 0;

	for (size_t i = 0; i < count; i++) {
		double x = (double)i - middle;
		double y = excess[i] - mean;

		xx += x * x;
		xy += x * y;
		yy += y * y;
	}
	return count > FEWEST && xy > 0 && xy * xy >= STRAIGHT * xx * yy &&
	       xy / xx * (double)(count - 1) >= GROWS * mean;
}

/* The distance of the steps that are marked, if it is one and they go on all the time; or 0. */
static size_t find_period(const bool *marked, size_t count)
{
	size_t period = 0;
	size_t times = 0;
	size_t last = 0;

	for (size_t i = 0; i < count; i++) {
		if (!marked[i])
			continue;
		if (times == 1)
			period = i - last;
		else if (times > 1 && i - last != period)
			return 0;
		if (times == 0)
			last = i;
		times++;
		last = i;
	}
	if (times < TIMES || period < 2 || count - 1 - last >= period)
		return 0;
	return last - (times - 1) * period < period ? period : 0;
}

enum np_course_kind np_course_judge(const double *excess, size_t count, size_t *ret_period,
				    bool *ret_marked)
{
	double sum = 0;
	double most = 0;
	double least = (double)INFINITY;

	*ret_period = 0;
	for (size_t i = 0; i < count; i++) {
		sum += excess[i];
		most = fmax(most, excess[i]);
		least = fmin(least, excess[i]);
	}
	for (size_t i = 0; i < count; i++)
		ret_marked[i] = most > 0 && excess[i] >= MARKED * most;
	if (count < FEWEST || !(sum > 0))
		return NP_COURSE_UNKNOWN;
	if (is_growing(excess, count, sum / (double)count)) {
		for (size_t i = 0; i < count; i++)
			ret_marked[i] = excess[i] > 0;
		return NP_COURSE_GROWING;
	}
	if (least >= CONSTANT * sum / (double)count) {
		for (size_t i = 0; i < count; i++)
			ret_marked[i] = true;
		return NP_COURSE_CONSTANT;
	}
	*ret_period = find_period(ret_marked, count);
	return *ret_period > 0 ? NP_COURSE_PERIODIC : NP_COURSE_RANDOM;
}

/* --- of a rank ---------------------------------------------------------------------------------
 */

/* A rank in its steps. */
struct series {
	const struct np_replay *replay;
	NP_VEC(uint32_t) cells;
	double *excess[2]; /* by cell: computing, host */
	double *relative;  /* likewise: of computing, by what the peers compute */
	double *values;    /* of peers */
	uint32_t *by_step; /* all cells */
};

static void series_release(struct series *series)
{
	np_vec_release(&series->cells);
	free(series->excess[0]);
	free(series->excess[1]);
	free(series->relative);
	free(series->values);
	free(series->by_step);
}

/* qsort_r's context: the cells. */
static int by_step(const void *left, const void *right, void *context)
{
	const struct np_replay_cell *cells = context;
	uint32_t i = *(const uint32_t *)left;
	uint32_t j = *(const uint32_t *)right;
	int order = np_order(cells[i].step, cells[j].step);

	return order ? order : np_order(i, j);
}

static double work_of(const struct np_replay_cell *cell, int kind)
{
	if (kind == 0)
		return (double)cell->work[NP_WORK_COMPUTE];
	return (double)(cell->work[NP_WORK_HOST] + cell->work[NP_WORK_BETWEEN]);
}

/* The median of the peers of a cell; NaN without any. */
static double peers_of(const struct series *series, uint32_t index, int kind)
{
	const struct np_replay *replay = series->replay;
	const struct np_replay_cell *cells = replay->cells.item;
	const struct np_replay_cell *cell = &cells[index];
	size_t all = replay->cells.count;
	size_t at = np_lower_bound(i, (size_t)0, all, cells[series->by_step[i]].step >= cell->step);
	size_t count = 0;

	for (; at < all && cells[series->by_step[at]].step == cell->step; at++) {
		const struct np_replay_cell *peer = &cells[series->by_step[at]];

		if (peer->timed && peer->rank != cell->rank &&
		    replay->stages[peer->rank] == replay->stages[cell->rank])
			series->values[count++] = work_of(peer, kind);
	}
	return count > 0 ? np_median(series->values, count) : (double)NAN;
}

static int series_begin(struct series *series, struct np_err *err)
{
	size_t count = series->replay->cells.count;

	series->values = malloc((count + 1) * sizeof(double));
	series->excess[0] = malloc((count + 1) * sizeof(double));
	series->excess[1] = malloc((count + 1) * sizeof(double));
	series->relative = malloc((count + 1) * sizeof(double));
	series->by_step = malloc((count + 1) * sizeof(*series->by_step));
	if (!series->values || !series->excess[0] || !series->excess[1] || !series->relative ||
	    !series->by_step)
		return np_fail_nomem(err, "the course of a rank");
	for (uint32_t i = 0; i < count; i++)
		series->by_step[i] = i;
	if (count)
		qsort_r(series->by_step, count, sizeof(*series->by_step), by_step,
			series->replay->cells.item);
	return NP_OK;
}

static int series_measure(struct series *series, uint32_t rank, struct np_err *err)
{
	const struct np_replay *replay = series->replay;
	int rc = series_begin(series, err);

	for (uint32_t i = 0; i < replay->cells.count && rc == NP_OK; i++) {
		const struct np_replay_cell *own = &replay->cells.item[i];
		size_t at = series->cells.count;
		double peers;
		uint32_t *cell;

		if (own->rank != rank || !own->timed)
			continue;
		peers = peers_of(series, i, 0);
		if (isnan(peers))
			continue;
		series->excess[0][at] = work_of(own, 0) - peers;
		series->excess[1][at] = work_of(own, 1) - peers_of(series, i, 1);
		series->relative[at] = peers > 0 ? series->excess[0][at] / peers : 0;
		cell = np_vec_add(&series->cells, err);
		if (!cell)
			return NP_E_NOMEM;
		*cell = i;
	}
	return rc;
}

static double sum_of(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum;
}

static int judge(const struct series *series, struct np_course *ret, struct np_err *err)
{
	size_t count = series->cells.count;
	int which = sum_of(series->excess[1], count) > sum_of(series->excess[0], count);
	bool *marked = calloc(count + 1, sizeof(*marked));
	int rc = marked ? NP_OK : np_fail_nomem(err, "the course of a rank");

	ret->count = count;
	/* Who computes slowly does so by the more the more there is to do; a host is late by a
	 * time. */
	if (rc == NP_OK)
		ret->kind = np_course_judge(which ? series->excess[1] : series->relative, count,
					    &ret->period, marked);
	for (size_t i = 0; i < count && rc == NP_OK && ret->kind != NP_COURSE_UNKNOWN; i++) {
		np_str *step = marked[i] ? np_vec_add(&ret->steps, err) : NULL;

		if (step)
			*step = series->replay->cells.item[series->cells.item[i]].step;
		else if (marked[i])
			rc = NP_E_NOMEM;
	}
	free(marked);
	return rc;
}

int np_course_measure(const struct np_replay *replay, uint32_t rank, struct np_course *ret,
		      struct np_err *err)
{
	struct series series = { .replay = replay };
	int rc = series_measure(&series, rank, err);

	if (rc == NP_OK)
		rc = judge(&series, ret, err);
	series_release(&series);
	return rc;
}

/* --- in words ----------------------------------------------------------------------------------
 */

static const char *ordinal(size_t number)
{
	static const char *const names[] = { "", "", "second", "third", "fourth", "fifth" };

	return number < NP_COUNT(names) ? names[number] : NULL;
}

void np_course_put(struct np_buf *buf, const struct np_course *course)
{
	switch (course->kind) {
	case NP_COURSE_UNKNOWN:
		break;
	case NP_COURSE_CONSTANT:
		np_buf_add(buf, "in every step");
		break;
	case NP_COURSE_GROWING:
		np_buf_add(buf, "growing from step to step, as with heat");
		break;
	case NP_COURSE_PERIODIC:
		np_buf_printf(buf, "in %zu of %zu steps, every ", course->steps.count,
			      course->count);
		if (ordinal(course->period))
			np_buf_add(buf, ordinal(course->period));
		else
			np_buf_printf(buf, "%zu steps", course->period);
		break;
	case NP_COURSE_RANDOM:
		np_buf_printf(buf, "in %zu of %zu steps, at random", course->steps.count,
			      course->count);
		break;
	}
}
