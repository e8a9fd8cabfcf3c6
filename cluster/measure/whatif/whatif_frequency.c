/* SPDX-License-Identifier: Apache-2.0 */
/* What computing would take if the AI cores ran at their rated clock. */
#include "npuprof/whatif.h"

#include "npuprof/activity.h"
#include "npuprof/align.h"
#include "npuprof/rank.h"

#include <math.h>

void np_frequencies_release(struct np_frequencies *frequencies)
{
	for (size_t i = 0; i < frequencies->count; i++)
		free(frequencies->ranks[i].mean);
	free(frequencies->ranks);
	*frequencies = (struct np_frequencies){ 0 };
}

/* Where a rank does not say how fast it should be: as fast as the fastest of all. */
static int64_t rated_clock(const struct np_frequencies *frequencies, uint32_t rank)
{
	int64_t highest = 0;

	if (frequencies->ranks[rank].rated != NP_UNKNOWN && frequencies->ranks[rank].rated > 0)
		return frequencies->ranks[rank].rated;
	for (size_t i = 0; i < frequencies->count; i++)
		highest = frequencies->ranks[i].highest > highest ? frequencies->ranks[i].highest
								  : highest;
	return highest;
}

/* The mean clocks of a rank's cells of the replay, which leaves out some of its activity. */
static void take_means(const struct np_replay *replay, const struct np_rank *rank,
		       const double *from, double *to)
{
	for (size_t i = 0; i < rank->activity.cells.count; i++) {
		if (np_replay_has_cell(replay, rank, i))
			*to++ = from[i];
	}
}

/* By cell of the replay, MHz; NaN where nothing is known. To be freed; NULL without memory. */
static double *list_clocks(const struct np_replay *replay, const struct np_frequencies *frequencies)
{
	const struct np_run *run = replay->align->run;
	double *clocks = malloc((replay->cells.count + 1) * sizeof(*clocks));

	for (size_t i = 0; clocks && i < replay->cells.count; i++)
		clocks[i] = (double)NAN;
	/* The cells of a rank stand together. */
	for (size_t i = 0; clocks && i < replay->cells.count; i++) {
		uint32_t rank = replay->cells.item[i].rank;

		if ((i == 0 || replay->cells.item[i - 1].rank != rank) &&
		    frequencies->ranks[rank].mean)
			take_means(replay, run->ranks[rank], frequencies->ranks[rank].mean,
				   &clocks[i]);
	}
	return clocks;
}

int np_whatif_frequency(const struct np_replay *replay, const struct np_frequencies *frequencies,
			float **ret, struct np_err *err)
{
	float *factors = malloc((replay->cells.count + 1) * sizeof(*factors));
	double *clocks = list_clocks(replay, frequencies);
	size_t known = 0;
	int rc = factors && clocks ? NP_OK : np_fail_nomem(err, "the clocks");

	for (size_t i = 0; i < replay->cells.count && rc == NP_OK; i++) {
		int64_t rated = rated_clock(frequencies, replay->cells.item[i].rank);

		factors[i] = 1;
		if (isnan(clocks[i]) || rated <= 0)
			continue;
		known++;
		if (clocks[i] < (double)rated)
			factors[i] = (float)(clocks[i] / (double)rated);
	}
	if (rc == NP_OK && known == 0)
		rc = np_fail(err, NP_E_USAGE,
			     "no rank has samples of its AI cores' clock to compare with the"
			     " rated clock: profile with export_type=db");
	free(clocks);
	if (rc == NP_OK)
		*ret = NP_STEAL(factors);
	free(factors);
	return rc;
}
