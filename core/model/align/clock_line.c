/* SPDX-License-Identifier: Apache-2.0 */
#include "clock_private.h"

/*
 * What is taken for granted before any data: ends vary by 20 µs, clocks drift by
 * no more than some 50 ppm. A line through a few close points would run anywhere.
 */
#define PRIOR_NOISE_NS 2e4
#define PRIOR_DRIFT    5e-5

/* The ranks of a host drift alike, give or take 1 ppm, until many ends say otherwise. */
#define PRIOR_HOST_DRIFT 1e-6

void clock_clear_line(struct clock_line *line)
{
	line->n = 0;
	line->sx = 0;
	line->sy = 0;
	line->sxx = 0;
	line->sxy = 0;
	line->off = 0;
}

void clock_solve(struct clock_line *line)
{
	double prior = (PRIOR_NOISE_NS / line->give) * (PRIOR_NOISE_NS / line->give);
	double sxx = line->sxx - line->sx * line->sx / line->n;
	double sxy = line->sxy - line->sx * line->sy / line->n;
	double at_zero;

	line->drift = (sxy + prior * line->expected) / (sxx + prior);
	at_zero = (line->sy - line->drift * line->sx) / line->n;
	line->offset = line->y0 + (np_ns)(at_zero < 0 ? at_zero - 0.5 : at_zero + 0.5);
}

void clock_set_limit(struct clock_line *line)
{
	line->limit = line->n > 0 ? CLOCK_TRIM * line->off / line->n : (double)NP_NS_MAX;
	if (line->limit < CLOCK_TRIM_LEAST)
		line->limit = CLOCK_TRIM_LEAST;
}

void clock_expect_drifts(const struct clock_fit *fit)
{
	const struct np_clock_rank *ranks = fit->clock->ranks;
	size_t count = fit->clock->rank_count;

	memset(fit->hosts, 0, (fit->clock->hosts.count + 1) * sizeof(*fit->hosts));
	for (size_t i = 0; i < count; i++) {
		if (!fit->lines[i].placed || ranks[i].host == UINT32_MAX)
			continue;
		fit->hosts[ranks[i].host].sum += fit->lines[i].drift;
		fit->hosts[ranks[i].host].count++;
	}
	for (size_t i = 0; i < count; i++) {
		struct clock_line *line = &fit->lines[i];
		const struct clock_mean *host =
			ranks[i].host == UINT32_MAX ? NULL : &fit->hosts[ranks[i].host];
		/* A rank alone on its host would be held where it happens to be. */
		bool others = host && host->count > (line->placed ? 1 : 0);

		line->expected = others ? host->sum / host->count : 0;
		line->give = others ? PRIOR_HOST_DRIFT : PRIOR_DRIFT;
	}
}
