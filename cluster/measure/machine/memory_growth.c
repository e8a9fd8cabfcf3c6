/* SPDX-License-Identifier: Apache-2.0 */
/* The slope of what a component holds from step to step. */
#include "npuprof/memory_growth.h"

#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/run.h"

#include <math.h>

static const struct np_memory_step *held_in(const struct np_rank *rank, np_str component,
					    np_str step)
{
	for (size_t i = 0; i < rank->memory_steps.count; i++) {
		const struct np_memory_step *held = &rank->memory_steps.item[i];

		if (held->component == component && held->step == step)
			return held;
	}
	return NULL;
}

/* Take one more slope in: of slopes of the same sign the least steep one. */
static int agree(const struct np_point *points, size_t count, double *slope, struct np_err *err)
{
	struct np_line line = { 0 };
	int rc = np_line_fit(points, count, &line, err);

	if (rc < 0)
		return rc;
	if (*slope > 0 && line.slope > 0)
		*slope = fmin(*slope, line.slope);
	else if (*slope < 0 && line.slope < 0)
		*slope = fmax(*slope, line.slope);
	else
		*slope = 0;
	return NP_OK;
}

/* Over all steps, their first half and their last: what rises once and stays is no growth. */
static int agree_over_halves(const struct np_point *points, size_t count, double *slope,
			     struct np_err *err)
{
	size_t half = (count + 1) / 2;
	int rc = agree(points, count, slope, err);

	if (rc == NP_OK)
		rc = agree(points, half, slope, err);
	return rc < 0 ? rc : agree(points + count - half, half, slope, err);
}

int np_memory_growth_measure(const struct np_rank *rank, np_str component,
			     struct np_memory_growth *ret, struct np_err *err)
{
	struct np_point *most = calloc(rank->steps.count + 1, sizeof(*most));
	struct np_point *least = calloc(rank->steps.count + 1, sizeof(*least));
	size_t count = 0;
	double slope;
	int rc = NP_OK;

	if (!most || !least) {
		free(most);
		free(least);
		return np_fail_nomem(err, "growth of memory");
	}
	for (size_t i = 0; i < rank->steps.count; i++) {
		const struct np_memory_step *held =
			held_in(rank, component, rank->steps.item[i].id);

		if (!held)
			continue;
		most[count] = (struct np_point){ (double)i, (double)held->most };
		least[count++] = (struct np_point){ (double)i, (double)held->least };
	}
	*ret = (struct np_memory_growth){ .per_step = NP_UNKNOWN, .steps = count };
	if (count >= NP_GROWTH_STEPS) {
		slope = most[count - 1].y > most[0].y ? (double)INFINITY : -(double)INFINITY;
		rc = agree_over_halves(most, count, &slope, err);
		if (rc == NP_OK)
			rc = agree_over_halves(least, count, &slope, err);
		ret->per_step = llround(slope);
	}
	free(most);
	free(least);
	return rc;
}

static int measure_rank(const struct np_rank *rank, struct np_memory_growth **ret,
			struct np_err *err)
{
	struct np_memory_growth *growths = calloc(rank->memory.count, sizeof(*growths));
	int rc = growths ? NP_OK : np_fail_nomem(err, "growth of memory");

	for (size_t i = 0; i < rank->memory.count && rc == NP_OK; i++)
		rc = np_memory_growth_measure(rank, rank->memory.item[i].component, &growths[i],
					      err);
	*ret = growths;
	return rc;
}

int np_memory_growths_measure(const struct np_run *run, struct np_memory_growths *ret,
			      struct np_err *err)
{
	struct np_memory_growths growths = { .rank_count = run->sources.count };
	int rc = NP_OK;

	growths.of_rank = calloc(run->sources.count + 1, sizeof(*growths.of_rank));
	if (!growths.of_rank)
		return np_fail_nomem(err, "growth of memory");
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (run->ranks[i] && run->ranks[i]->memory.count > 0)
			rc = measure_rank(run->ranks[i], &growths.of_rank[i], err);
	}
	if (rc < 0) {
		np_memory_growths_release(&growths);
		return rc;
	}
	*ret = growths;
	return NP_OK;
}

void np_memory_growths_release(struct np_memory_growths *growths)
{
	for (size_t i = 0; growths->of_rank && i < growths->rank_count; i++)
		free(growths->of_rank[i]);
	free(growths->of_rank);
	growths->of_rank = NULL;
}
