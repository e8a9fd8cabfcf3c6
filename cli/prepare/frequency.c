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

/* All ranks while they are read. */
struct reading {
	const struct np_run *run;
	struct np_frequencies *frequencies;
	struct np_err *errors;
	struct np_notes *notes; /* by rank */
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

int prepare_frequency_take(const struct np_rank *rank, const struct np_detail *detail,
			   struct np_frequency_rank *ret, struct np_err *err)
{
	struct np_frequency_rank own = { .rated = detail->device.aic_mhz };

	own.mean = malloc((rank->activity.cells.count + 1) * sizeof(*own.mean));
	if (!own.mean)
		return np_fail_nomem(err, "the clocks");
	for (size_t i = 0; i < detail->frequency.count; i++) {
		if (detail->frequency.item[i].mhz != NP_UNKNOWN &&
		    detail->frequency.item[i].mhz > own.highest)
			own.highest = detail->frequency.item[i].mhz;
	}
	for (size_t i = 0; i < rank->activity.cells.count; i++) {
		const struct np_activity_cell *cell = &rank->activity.cells.item[i];

		own.mean[i] =
			mean_clock(detail, rank->times.item[i].device, cell->begin, cell->end);
	}
	*ret = own;
	return NP_OK;
}

int prepare_frequencies_init(const struct np_run *run, struct np_frequencies *ret,
			     struct np_err *err)
{
	size_t count = run->sources.count;
	struct np_frequency_rank *ranks = calloc(count + 1, sizeof(*ranks));

	if (!ranks)
		return np_fail_nomem(err, "the clocks");
	for (size_t i = 0; i < count; i++)
		ranks[i].rated = NP_UNKNOWN;
	*ret = (struct np_frequencies){ ranks, count };
	return NP_OK;
}

static void read_rank(void *context, size_t index)
{
	struct reading *reading = context;
	const struct np_rank *rank = reading->run->ranks[index];
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	struct np_err *err = &reading->errors[index];

	if (!rank || rank->activity.cells.count == 0 ||
	    np_detail_load(reading->run, index, PREPARE_FREQUENCY, &detail, err) < 0)
		return;
	np_notes_move_untold(&reading->notes[index], &detail->notes, &reading->run->notes);
	(void)!prepare_frequency_take(rank, detail, &reading->frequencies->ranks[index], err);
}

int prepare_frequencies(struct np_run *run, size_t threads, struct np_frequencies *ret,
			struct np_err *err)
{
	struct np_workers workers = { .threads = threads };
	size_t count = run->sources.count;
	struct np_frequencies frequencies = { 0 };
	struct reading reading = { .run = run, .frequencies = &frequencies };
	struct np_details *details;
	int rc = prepare_frequencies_init(run, &frequencies, err);

	reading.errors = calloc(count + 1, sizeof(*reading.errors));
	reading.notes = calloc(count + 1, sizeof(*reading.notes));
	if (rc == NP_OK && (!reading.errors || !reading.notes))
		rc = np_fail_nomem(err, "the clocks");
	if (rc == NP_OK)
		rc = np_details_begin_run(run, PREPARE_FREQUENCY, threads, &details, err);
	if (rc == NP_OK) {
		np_workers_run(&workers, count, read_rank, &reading);
		np_details_end(details);
	}
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		np_notes_move(&run->notes, &reading.notes[i]);
		if (reading.errors[i].code == NP_E_NOMEM)
			rc = np_fail(err, NP_E_NOMEM, "%s", reading.errors[i].text);
	}
	for (size_t i = 0; i < count && reading.notes; i++)
		np_notes_release(&reading.notes[i]);
	free(reading.notes);
	free(reading.errors);
	if (rc == NP_OK)
		*ret = frequencies;
	else if (frequencies.ranks)
		np_frequencies_release(&frequencies);
	return rc;
}
