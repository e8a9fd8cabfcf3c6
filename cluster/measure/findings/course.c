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

/* Peers: the cells of one stage in one step, and what each kind of work of them is. */
struct peers {
	np_str step;
	int32_t stage;
	size_t first;
	size_t count;
};

struct np_courses {
	const struct np_replay *replay;
	NP_VEC(struct peers) peers; /* by step, then stage */
	double *work[2];            /* of each of them, ascending: computing, host */
};

/* A rank in its steps. */
struct series {
	const struct np_courses *courses;
	uint32_t from; /* cells of the rank */
	uint32_t to;
	NP_VEC(uint32_t) cells; /* those that have peers */
	double *excess[2];      /* by cell: computing, host */
	double *relative;       /* likewise: of computing, by what the peers compute */
	double *own;            /* work in one step */
};

static void series_release(struct series *series)
{
	np_vec_release(&series->cells);
	free(series->excess[0]);
	free(series->excess[1]);
	free(series->relative);
	free(series->own);
}

struct course_place {
	np_str step;
	int32_t stage;
	uint32_t cell;
};

static int by_step_and_stage(const void *left, const void *right)
{
	const struct course_place *a = left;
	const struct course_place *b = right;
	int order = np_order(a->step, b->step);

	if (!order)
		order = np_order(a->stage, b->stage);
	return order ? order : np_order(a->cell, b->cell);
}

static double work_of(const struct np_replay_cell *cell, int kind)
{
	if (kind == 0)
		return (double)cell->work[NP_WORK_COMPUTE];
	return (double)(cell->work[NP_WORK_HOST] + cell->work[NP_WORK_BETWEEN]);
}

void np_courses_free(struct np_courses *courses)
{
	if (!courses)
		return;
	np_vec_release(&courses->peers);
	free(courses->work[0]);
	free(courses->work[1]);
	free(courses);
}

/* One group behind the other, each kind of work in order. */
static int group_peers(struct np_courses *courses, const struct course_place *placed, size_t count,
		       struct np_err *err)
{
	const struct np_replay_cell *cells = courses->replay->cells.item;

	for (size_t from = 0, to = 0; from < count; from = to) {
		struct peers *peers = np_vec_add(&courses->peers, err);

		if (!peers)
			return NP_E_NOMEM;
		for (; to < count && placed[to].step == placed[from].step &&
		       placed[to].stage == placed[from].stage;
		     to++) {
			courses->work[0][to] = work_of(&cells[placed[to].cell], 0);
			courses->work[1][to] = work_of(&cells[placed[to].cell], 1);
		}
		*peers = (struct peers){ placed[from].step, placed[from].stage, from, to - from };
		for (int i = 0; i < 2; i++)
			qsort(&courses->work[i][from], to - from, sizeof(double), np_by_double);
	}
	return NP_OK;
}

int np_courses_new(const struct np_replay *replay, struct np_courses **ret, struct np_err *err)
{
	size_t count = replay->cells.count;
	struct np_courses *courses = calloc(1, sizeof(*courses));
	struct course_place *placed = malloc((count + 1) * sizeof(*placed));
	size_t timed = 0;
	int rc = NP_E_NOMEM;

	if (courses) {
		courses->replay = replay;
		courses->work[0] = malloc((count + 1) * sizeof(double));
		courses->work[1] = malloc((count + 1) * sizeof(double));
	}
	for (uint32_t i = 0; i < count && placed; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];

		if (cell->timed)
			placed[timed++] =
				(struct course_place){ cell->step, replay->stages[cell->rank], i };
	}
	if (!courses || !placed || !courses->work[0] || !courses->work[1]) {
		rc = np_fail_nomem(err, "the course of a rank");
	} else {
		if (timed > 0)
			qsort(placed, timed, sizeof(*placed), by_step_and_stage);
		rc = group_peers(courses, placed, timed, err);
	}
	free(placed);
	if (rc < 0) {
		np_courses_free(courses);
		return rc;
	}
	*ret = courses;
	return NP_OK;
}

/* The median of the peers of a cell, among which its rank is not; NaN without any. */
static double peers_of(const struct series *series, uint32_t index, int kind)
{
	const struct np_courses *courses = series->courses;
	const struct np_replay_cell *cells = courses->replay->cells.item;
	const struct np_replay_cell *cell = &cells[index];
	int32_t stage = courses->replay->stages[cell->rank];
	const struct peers *peers = courses->peers.item;
	size_t at = np_lower_bound(i, (size_t)0, courses->peers.count,
				   peers[i].step > cell->step || (peers[i].step == cell->step &&
								  peers[i].stage >= stage));
	const double *work = &courses->work[kind][peers[at].first];
	size_t count = 0;
	size_t same = 0;
	size_t median;

	for (uint32_t i = series->from; i < series->to; i++) {
		if (cells[i].timed && cells[i].step == cell->step)
			series->own[count++] = work_of(&cells[i], kind);
	}
	if (peers[at].count <= count)
		return (double)NAN;
	qsort(series->own, count, sizeof(*series->own), np_by_double);
	median = (peers[at].count - count - 1) / 2;
	/* Its own are passed over. */
	for (size_t i = 0; i < count; i++) {
		double own = series->own[i];
		size_t place = np_lower_bound(j, (size_t)0, peers[at].count, work[j] >= own);

		same = i > 0 && !(own > series->own[i - 1]) ? same + 1 : 0;
		median += place + same <= median;
	}
	return work[median];
}

static int series_begin(struct series *series, uint32_t rank, struct np_err *err)
{
	const struct np_replay_cell *cells = series->courses->replay->cells.item;
	uint32_t all = (uint32_t)series->courses->replay->cells.count;
	size_t count;

	series->from = np_lower_bound(i, (uint32_t)0, all, cells[i].rank >= rank);
	series->to = np_lower_bound(i, series->from, all, cells[i].rank > rank);
	count = series->to - series->from;
	series->excess[0] = malloc((count + 1) * sizeof(double));
	series->excess[1] = malloc((count + 1) * sizeof(double));
	series->relative = malloc((count + 1) * sizeof(double));
	series->own = malloc((count + 1) * sizeof(double));
	if (!series->excess[0] || !series->excess[1] || !series->relative || !series->own)
		return np_fail_nomem(err, "the course of a rank");
	return NP_OK;
}

static int series_measure(struct series *series, uint32_t rank, struct np_err *err)
{
	const struct np_replay *replay = series->courses->replay;
	int rc = series_begin(series, rank, err);

	for (uint32_t i = series->from; i < series->to && rc == NP_OK; i++) {
		const struct np_replay_cell *own = &replay->cells.item[i];
		size_t at = series->cells.count;
		double peers;
		uint32_t *cell;

		if (!own->timed)
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
			*step = series->courses->replay->cells.item[series->cells.item[i]].step;
		else if (marked[i])
			rc = NP_E_NOMEM;
	}
	free(marked);
	return rc;
}

int np_courses_measure(const struct np_courses *courses, uint32_t rank, struct np_course *ret,
		       struct np_err *err)
{
	struct series series = { .courses = courses };
	int rc = series_measure(&series, rank, err);

	if (rc == NP_OK)
		rc = judge(&series, ret, err);
	series_release(&series);
	return rc;
}

int np_course_measure(const struct np_replay *replay, uint32_t rank, struct np_course *ret,
		      struct np_err *err)
{
	struct np_courses *courses = NULL;
	int rc = np_courses_new(replay, &courses, err);

	if (rc == NP_OK)
		rc = np_courses_measure(courses, rank, ret, err);
	np_courses_free(courses);
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
