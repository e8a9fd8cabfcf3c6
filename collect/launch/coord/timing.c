/* SPDX-License-Identifier: Apache-2.0 */
#include "timing.h"

int np_timing_init(struct np_timing *timing, int host_count, struct np_err *err)
{
	*timing = (struct np_timing){
		.host_count = host_count,
		.hosts = calloc((size_t)host_count, sizeof(*timing->hosts)),
	};
	return timing->hosts ? NP_OK : np_fail_nomem(err, "the clocks");
}

void np_timing_release(struct np_timing *timing)
{
	for (int i = 0; timing->hosts && i < timing->host_count; i++)
		np_vec_release(&timing->hosts[i].samples);
	free(timing->hosts);
	*timing = (struct np_timing){ 0 };
}

struct np_timing_sample np_timing_best(const struct np_timing_trip *trips, size_t count)
{
	const struct np_timing_trip *best = &trips[0];
	np_ns length;
	np_ns middle;

	for (size_t i = 1; i < count; i++) {
		if (trips[i].returned - trips[i].asked < best->returned - best->asked)
			best = &trips[i];
	}
	length = best->returned - best->asked;
	middle = best->asked + length / 2;
	return (struct np_timing_sample){ middle, best->answered - middle, (length + 1) / 2 };
}

bool np_timing_drift(const struct np_timing_host *host, double *ret_ppm, double *ret_error)
{
	const struct np_timing_sample *first = host->samples.item;
	const struct np_timing_sample *last;
	double time;
	double change;
	double error;

	if (host->samples.count < 2)
		return false;
	last = &first[host->samples.count - 1];
	time = (double)(last->at - first->at);
	change = (double)(last->offset - first->offset);
	error = (double)(last->uncertainty + first->uncertainty);
	if (time <= 0 || (change <= error && change >= -error))
		return false;
	*ret_ppm = change / time * 1e6;
	*ret_error = error / time * 1e6;
	return true;
}
