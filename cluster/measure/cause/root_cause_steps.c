/* SPDX-License-Identifier: Apache-2.0 */
#include "cause.h"

#include <math.h>

int steps_enter(struct tracer *tracer, np_str step)
{
	struct step_charges *steps = &tracer->steps;
	uint32_t known;
	np_ns **row;

	if (steps->now && steps->step == step)
		return NP_OK;
	known = np_idmap_get(steps->index, step);
	if (known == NP_IDMAP_NONE) {
		known = (uint32_t)steps->rows.count;
		row = np_vec_add(&steps->rows, tracer->err);
		if (!row)
			return NP_E_NOMEM;
		*row = calloc(tracer->causes->rank_count + 1, sizeof(**row));
		if (!*row)
			return np_fail_nomem(tracer->err, "origins of waiting");
		if (np_idmap_set(steps->index, step, known, tracer->err) < 0)
			return NP_E_NOMEM;
	}
	steps->now = steps->rows.item[known];
	steps->step = step;
	return NP_OK;
}

void steps_release(struct step_charges *steps)
{
	for (size_t i = 0; i < steps->rows.count; i++)
		free(steps->rows.item[i]);
	np_vec_release(&steps->rows);
	np_idmap_free(steps->index);
}

/* So many times the mean is much: half of the ranks, such as a stage of two, can have no more than
 * twice. */
#define MUCH (4.0 / 3)

static void count_step(const np_ns *charges, struct np_root_causes *causes)
{
	double total = 0;

	for (size_t i = 0; i < causes->rank_count; i++)
		total += (double)charges[i];
	if (total <= 0)
		return;
	causes->steps++;
	for (size_t i = 0; i < causes->rank_count; i++)
		causes->ranks[i].steps_heavy +=
			(double)charges[i] * (double)causes->ranks_seen > MUCH * total;
}

void steps_count_heavy(const struct step_charges *steps, struct np_root_causes *causes)
{
	for (size_t i = 0; i < steps->rows.count; i++)
		count_step(steps->rows.item[i], causes);
}

/* --- chance ----------------------------------------------------------------------------------- */

/* The chance of `least` or more hits in `tries` of probability `p`. */
static double binomial_tail(size_t tries, size_t least, double p)
{
	double all = (double)tries;
	double tail = 0;

	for (size_t i = least; i <= tries; i++) {
		double hits = (double)i;

		tail += exp(lgamma(all + 1) - lgamma(hits + 1) - lgamma(all - hits + 1) +
			    hits * log(p) + (all - hits) * log1p(-p));
	}
	return tail;
}

/*
 * Does a rank cost others much in more steps than chance brings to any of so many
 * ranks? Operators of one step are late together, so steps are what is counted;
 * how often the other ranks do tells what chance does. Those that do in every step,
 * such as the rest of a slow stage, do not tell of chance.
 */
static bool heavy_beyond_chance(const struct np_root_causes *causes, uint32_t rank)
{
	double seen = (double)causes->ranks_seen;
	double ranks = seen - 1;
	double hits = 0;
	double p;

	for (size_t i = 0; i < causes->rank_count; i++) {
		if (i == rank)
			continue;
		if (causes->ranks[i].steps_heavy < causes->steps)
			hits += causes->ranks[i].steps_heavy;
		else
			ranks--;
	}
	/* One more than was seen: nothing has no chance at all. */
	p = (hits + 1) / (ranks * (double)causes->steps + 2);
	return p < 1 &&
	       seen * binomial_tail(causes->steps, causes->ranks[rank].steps_heavy, p) < 0.05;
}

const char *np_root_cause_kind(const struct np_root_causes *causes, uint32_t rank)
{
	if (causes->steps < 2)
		return NULL;
	return (size_t)causes->ranks[rank].steps_heavy * 2 > causes->steps &&
			       heavy_beyond_chance(causes, rank)
		       ? "chronic"
		       : "one-off";
}
