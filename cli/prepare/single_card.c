/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of single cards, read again for where the time of a device goes. */
#include "single_card.h"

#include "npuprof/detail.h"
#include "npuprof/details.h"
#include "npuprof/device_time.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#include <math.h>

#define WANTS (NP_DETAIL_KERNELS | NP_DETAIL_PMU)

/* With more ranks, none of which talks to another, they are not looked at one by one. */
#define MOST_RANKS 16

/* The counters of a unit; of a kernel that uses both cores the busier one counts. */
static const char *const counters[NP_UNITS][2] = {
	[NP_UNIT_CUBE] = { "aic_mac_ratio", NULL },
	[NP_UNIT_VECTOR] = { "aiv_vec_ratio", "aic_vec_ratio" },
	[NP_UNIT_SCALAR] = { "aic_scalar_ratio", "aiv_scalar_ratio" },
	[NP_UNIT_MTE1] = { "aic_mte1_ratio", "aiv_mte1_ratio" },
	[NP_UNIT_MTE2] = { "aic_mte2_ratio", "aiv_mte2_ratio" },
	[NP_UNIT_MTE3] = { "aic_mte3_ratio", "aiv_mte3_ratio" },
	[NP_UNIT_FIXPIPE] = { "aic_fixpipe_ratio", NULL },
};

static double busy_of(const struct np_detail *detail, size_t kernel, enum np_unit unit)
{
	double busy = (double)NAN;

	for (size_t i = 0; i < NP_COUNT(counters[unit]); i++) {
		uint32_t column = counters[unit][i] ? np_detail_counter(detail, counters[unit][i])
						    : NP_NO_ROW;

		if (column != NP_NO_ROW)
			busy = fmax(busy, detail->pmu[kernel * detail->pmu_count + column]);
	}
	return busy;
}

/* Kernels of steps that were not chosen, and such as carry out collectives, are left out. */
static int add_kernels(const struct np_detail *detail, struct np_device_time *time,
		       struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *each = &detail->kernels.item[i];
		struct np_device_kernel kernel = {
			.type = np_detail_text(detail, each->type),
			.shapes = np_detail_text(detail, each->in_shapes),
			.core = np_detail_text(detail, each->core),
			.duration = each->end - each->start,
		};

		if (each->step == NP_NO_STEP || each->schedule)
			continue;
		if (!kernel.type)
			kernel.type = np_detail_text(detail, each->name);
		for (int unit = 0; unit < NP_UNITS; unit++)
			kernel.busy[unit] = busy_of(detail, i, (enum np_unit)unit);
		rc = np_device_time_add(time, &kernel, err);
	}
	return rc;
}

int prepare_device_time(struct np_analysis *analysis, size_t threads, struct np_err *err)
{
	NP_CLEANUP(np_device_time_freep) struct np_device_time *time = np_device_time_new();
	NP_CLEANUP(np_details_endp) struct np_details *details = NULL;
	struct np_run *run = analysis->run;
	size_t cells = 0;
	int rc;

	if (!time)
		return np_fail_nomem(err, "the time of devices");
	if (np_run_used(run) > MOST_RANKS ||
	    (np_run_used(run) > 1 && analysis->cluster->communicators.count > 0))
		return NP_OK;
	rc = np_details_begin_run(run, WANTS, threads, &details, err);
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
		struct np_err problem = NP_ERR_INIT;

		/* Part of a file says nothing of the whole. */
		if (!run->ranks[i] || np_rank_withheld(run->ranks[i]))
			continue;
		/* What could be read is measured already: this is only less of it. */
		if (np_detail_load(run, i, WANTS, &detail, &problem) < 0) {
			np_note_add(&run->notes, NP_NOTE_WARNING, run->ranks[i]->id,
				    run->ranks[i]->path, "kernels", "%s", problem.text);
			continue;
		}
		np_notes_move_untold(&run->notes, &detail->notes, &run->notes);
		cells += run->ranks[i]->times.count;
		rc = add_kernels(detail, time, err);
	}
	if (rc < 0 || time->list.count == 0)
		return rc;
	np_device_time_finish(time, cells);
	analysis->device_time = NP_STEAL(time);
	return NP_OK;
}
