/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of the AI cores, read from the profiles of all ranks. */
#include "frequency.h"

#include "npuprof/activity.h"
#include "npuprof/detail.h"
#include "npuprof/details.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/workers.h"

#include <math.h>

#define WANTS (NP_DETAIL_FREQUENCY | NP_DETAIL_DEVICE)

/* All ranks while they are read. */
struct reading {
	const struct np_run *run;
	struct np_frequencies *frequencies;
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
	const struct np_run *run = reading->run;
	const struct np_rank *rank = run->ranks[index];
	struct np_frequency_rank *own = &reading->frequencies->ranks[index];
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;

	own->rated = NP_UNKNOWN;
	if (!rank || rank->activity.cells.count == 0)
		return;
	if (np_detail_load(run, index, WANTS, &detail, &reading->errors[index]) < 0)
		return;
	own->rated = detail->device.aic_mhz;
	own->mean = malloc(rank->activity.cells.count * sizeof(*own->mean));
	if (!own->mean) {
		(void)!np_fail_nomem(&reading->errors[index], "the clocks");
		return;
	}
	for (size_t i = 0; i < detail->frequency.count; i++) {
		if (detail->frequency.item[i].mhz != NP_UNKNOWN &&
		    detail->frequency.item[i].mhz > own->highest)
			own->highest = detail->frequency.item[i].mhz;
	}
	for (size_t i = 0; i < rank->activity.cells.count; i++) {
		const struct np_activity_cell *cell = &rank->activity.cells.item[i];

		own->mean[i] =
			mean_clock(detail, rank->times.item[i].device, cell->begin, cell->end);
	}
}

int prepare_frequencies(const struct np_run *run, size_t threads, struct np_frequencies *ret,
			struct np_err *err)
{
	struct np_workers workers = { .threads = threads };
	size_t count = run->sources.count;
	struct np_frequencies frequencies = { .count = count };
	struct reading reading = { .run = run, .frequencies = &frequencies };
	struct np_details *details;
	int rc;

	frequencies.ranks = calloc(count + 1, sizeof(*frequencies.ranks));
	reading.errors = calloc(count + 1, sizeof(*reading.errors));
	rc = frequencies.ranks && reading.errors ? NP_OK : np_fail_nomem(err, "the clocks");
	if (rc == NP_OK)
		rc = np_details_begin_run(run, WANTS, threads, &details, err);
	if (rc == NP_OK) {
		np_workers_run(&workers, count, read_rank, &reading);
		np_details_end(details);
	}
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		if (reading.errors[i].code == NP_E_NOMEM)
			rc = np_fail(err, NP_E_NOMEM, "%s", reading.errors[i].text);
	}
	free(reading.errors);
	if (rc == NP_OK)
		*ret = frequencies;
	else if (frequencies.ranks)
		np_frequencies_release(&frequencies);
	return rc;
}
