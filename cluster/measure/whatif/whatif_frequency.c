/* SPDX-License-Identifier: Apache-2.0 */
#include "whatif_private.h"

#include "npuprof/detail.h"
#include "npuprof/details.h"
#include "npuprof/workers.h"

#include <math.h>

#define WANTS (NP_DETAIL_FREQUENCY | NP_DETAIL_DEVICE)

/* The clocks of all ranks while they are read. */
struct reading {
	const struct np_replay *replay;
	double *mean;       /* by cell, MHz; NaN where there are no samples */
	int64_t *rated;     /* by rank; NP_UNKNOWN */
	int64_t *highest;   /* by rank: of all samples */
	size_t *first_cell; /* by rank */
	struct np_err *errors;
};

/* The mean clock of a device from `begin` to `end`: a sample holds until the next. */
static double mean_clock(const struct np_detail *detail, int32_t device, np_ns begin, np_ns end)
{
	const struct np_frequency *last = NULL;
	double sum = 0;
	double time = 0;

	for (size_t i = 0; i <= detail->frequency.count; i++) {
		const struct np_frequency *next =
			i < detail->frequency.count ? &detail->frequency.item[i] : NULL;
		np_ns to = next && next->time < end ? next->time : end;

		if (next && (next->device != device || next->mhz == NP_UNKNOWN))
			continue;
		/* What was before the first sample is taken to be as it. */
		if (!last)
			last = next;
		if (last && to > begin) {
			sum += (double)last->mhz * (double)(to - begin);
			time += (double)(to - begin);
			begin = to;
		}
		last = next;
	}
	return time > 0 ? sum / time : (double)NAN;
}

static void read_rank(void *context, size_t index)
{
	struct reading *reading = context;
	const struct np_run *run = reading->replay->align->run;
	const struct np_rank *rank = run->ranks[index];
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	size_t cell = reading->first_cell[index];

	if (!rank || rank->activity.cells.count == 0)
		return;
	if (np_detail_load(run, index, WANTS, &detail, &reading->errors[index]) < 0)
		return;
	reading->rated[index] = detail->device.aic_mhz;
	for (size_t i = 0; i < detail->frequency.count; i++) {
		if (detail->frequency.item[i].mhz != NP_UNKNOWN &&
		    detail->frequency.item[i].mhz > reading->highest[index])
			reading->highest[index] = detail->frequency.item[i].mhz;
	}
	for (size_t i = 0; i < rank->activity.cells.count; i++) {
		const struct np_activity_cell *each = &rank->activity.cells.item[i];

		/* As the draft of the replay leaves them out. */
		if (rank->times.item[i].device != rank->times.item[0].device ||
		    each->end <= each->begin)
			continue;
		reading->mean[cell++] =
			mean_clock(detail, rank->times.item[i].device, each->begin, each->end);
	}
}

/* Where a rank does not say how fast it should be: as fast as the fastest of all. */
static int64_t rated_clock(const struct reading *reading, uint32_t rank)
{
	int64_t highest = 0;

	if (reading->rated[rank] != NP_UNKNOWN && reading->rated[rank] > 0)
		return reading->rated[rank];
	for (size_t i = 0; i < reading->replay->align->run->sources.count; i++)
		highest = reading->highest[i] > highest ? reading->highest[i] : highest;
	return highest;
}

static int finish(const struct reading *reading, float *ret, struct np_err *err)
{
	const struct np_replay *replay = reading->replay;
	size_t known = 0;

	for (size_t i = 0; i < replay->align->run->sources.count; i++) {
		if (reading->errors[i].code == NP_E_NOMEM)
			return np_fail(err, NP_E_NOMEM, "%s", reading->errors[i].text);
	}
	for (size_t i = 0; i < replay->cells.count; i++) {
		int64_t rated = rated_clock(reading, replay->cells.item[i].rank);

		ret[i] = 1;
		if (isnan(reading->mean[i]) || rated <= 0)
			continue;
		known++;
		if (reading->mean[i] < (double)rated)
			ret[i] = (float)(reading->mean[i] / (double)rated);
	}
	return known > 0 ? NP_OK
			 : np_fail(err, NP_E_USAGE,
				   "no rank has samples of its AI cores' clock to compare with the"
				   " rated clock: profile with export_type=db");
}

int np_whatif_read_frequency(const struct np_replay *replay, size_t threads, float **ret,
			     struct np_err *err)
{
	struct np_workers workers = { .threads = threads };
	size_t ranks = replay->align->run->sources.count;
	struct reading reading = { .replay = replay };
	struct np_details *details;
	float *factors = malloc((replay->cells.count + 1) * sizeof(*factors));
	int rc = NP_OK;

	reading.mean = malloc((replay->cells.count + 1) * sizeof(*reading.mean));
	reading.rated = malloc((ranks + 1) * sizeof(*reading.rated));
	reading.highest = calloc(ranks + 1, sizeof(*reading.highest));
	reading.first_cell = calloc(ranks + 1, sizeof(*reading.first_cell));
	reading.errors = calloc(ranks + 1, sizeof(*reading.errors));
	if (!factors || !reading.mean || !reading.rated || !reading.highest ||
	    !reading.first_cell || !reading.errors)
		rc = np_fail_nomem(err, "the clocks");
	if (rc == NP_OK) {
		for (size_t i = 0; i < ranks; i++)
			reading.rated[i] = NP_UNKNOWN;
		for (size_t i = replay->cells.count; i-- > 0;) {
			reading.mean[i] = (double)NAN;
			reading.first_cell[replay->cells.item[i].rank] = i;
		}
		rc = np_details_begin_run(replay->align->run, WANTS, threads, &details, err);
	}
	if (rc == NP_OK) {
		np_workers_run(&workers, ranks, read_rank, &reading);
		np_details_end(details);
		rc = finish(&reading, factors, err);
	}
	free(reading.mean);
	free(reading.rated);
	free(reading.highest);
	free(reading.first_cell);
	free(reading.errors);
	if (rc == NP_OK)
		*ret = NP_STEAL(factors);
	free(factors);
	return rc;
}
