/* SPDX-License-Identifier: Apache-2.0 */
#include "whatif_private.h"

#include "npuprof/robust.h"
#include "npuprof/text.h"

#include <math.h>

/*
 * A rank is evidently slow that takes so many times as long as the middle of its
 * peers, by so many times what ranks differ by, and what it differs by from step to
 * step: even where that costs little, because others hide it.
 */
#define RANK_LONGER   1.05
#define RANK_DIFFERS  6
#define STEPS_DIFFER  3
#define LEAST_DIFFERS 0.002

/* A stage that takes so many times as long as others for most kinds of kernels. */
#define STAGE_LONGER 1.1

/* What a rank does in one step, among its peers: the ranks of its stage. */
struct place {
	np_str step;
	int32_t stage;
	uint32_t rank;
	double work;
};

/* log of how many times as long as its peers a rank takes, over the steps. */
struct excess {
	double sum;
	double squares;
	double count;
};

static double mean_of(const struct excess *excess)
{
	return excess->count > 0 ? excess->sum / excess->count : 0;
}

static double spread_of(const struct excess *excess)
{
	double mean = mean_of(excess);

	return excess->count > 0 ? sqrt(fmax(excess->squares / excess->count - mean * mean, 0)) : 0;
}

static int by_peers(const void *left, const void *right)
{
	const struct place *a = left;
	const struct place *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	if (a->work != b->work)
		return a->work < b->work ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Peers are sorted by their work: the middle of all but one of them. */
static double median_without(const struct place *peers, size_t count, size_t without)
{
	size_t middle = (count - 2) / 2;

	return peers[middle < without ? middle : middle + 1].work;
}

static void see_peers(const struct place *peers, size_t count, struct excess *excess)
{
	for (size_t i = 0; i < count && count > 1; i++) {
		struct excess *own = &excess[peers[i].rank];
		double others = median_without(peers, count, i);
		double more = others > 0 && peers[i].work > 0 ? log(peers[i].work / others) : 0;

		own->sum += more;
		own->squares += more * more;
		own->count++;
	}
}

static int measure_excess(const struct np_replay *replay, struct excess *ret, struct np_err *err)
{
	struct place *places = malloc((replay->cells.count + 1) * sizeof(*places));
	size_t count = 0;

	if (!places)
		return np_fail_nomem(err, "repairs");
	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];

		if (cell->timed)
			places[count++] = (struct place){
				cell->step, replay->stages[cell->rank], cell->rank,
				(double)(cell->work[NP_WORK_COMPUTE] + cell->work[NP_WORK_HOST])
			};
	}
	qsort(places, count, sizeof(*places), by_peers);
	for (size_t from = 0, to = 0; from < count; from = to) {
		while (to < count && places[to].step == places[from].step &&
		       places[to].stage == places[from].stage)
			to++;
		see_peers(&places[from], to - from, ret);
	}
	free(places);
	return NP_OK;
}

/* What the means of ranks differ by. */
static int measure_noise(const struct excess *excess, size_t ranks, double *ret, struct np_err *err)
{
	double *values = malloc((ranks + 1) * sizeof(*values));
	size_t count = 0;

	if (!values)
		return np_fail_nomem(err, "repairs");
	for (size_t i = 0; i < ranks; i++) {
		if (excess[i].count > 0)
			values[count++] = mean_of(&excess[i]);
	}
	*ret = count > 0 ? fmax(np_deviation(values, count, 0), LEAST_DIFFERS) : LEAST_DIFFERS;
	free(values);
	return NP_OK;
}

static bool is_evident(const struct excess *excess, double noise)
{
	double mean = mean_of(excess);

	return mean > log(RANK_LONGER) && mean > RANK_DIFFERS * noise &&
	       mean > STEPS_DIFFER * spread_of(excess);
}

static void tell_ranks(const struct np_run *run, const struct excess *excess, double noise,
		       struct np_whatif *whatif)
{
	for (size_t i = 0; i < whatif->rows.count; i++) {
		struct np_whatif_row *row = &whatif->rows.item[i];
		int64_t id;

		if (row->fix.kind != NP_FIX_RANK ||
		    !np_text_to_int(row->fix.what, strlen(row->fix.what), &id))
			continue;
		for (size_t j = 0; j < run->sources.count; j++) {
			if (run->ranks[j] && run->ranks[j]->id == id)
				row->evident = is_evident(&excess[j], noise);
		}
	}
}

static int find_ranks(const struct np_replay *replay, struct np_whatif *whatif, struct np_err *err)
{
	const struct np_run *run = replay->align->run;
	struct excess *excess = calloc(run->sources.count + 1, sizeof(*excess));
	double noise = 0;
	int rc = excess ? measure_excess(replay, excess, err) : np_fail_nomem(err, "repairs");

	if (rc == NP_OK)
		rc = measure_noise(excess, run->sources.count, &noise, err);
	if (rc == NP_OK)
		tell_ranks(run, excess, noise, whatif);
	free(excess);
	return rc;
}

static int find_stages(const struct np_replay *replay, struct np_whatif *whatif, struct np_err *err)
{
	double *ratios = calloc(replay->stage_count + 1, sizeof(*ratios));
	int rc =
		ratios ? scenario_stage_ratios(replay, ratios, err) : np_fail_nomem(err, "repairs");

	for (size_t i = 0; i < whatif->rows.count && rc == NP_OK; i++) {
		struct np_whatif_row *row = &whatif->rows.item[i];
		int64_t stage;

		if (row->fix.kind == NP_FIX_STAGE &&
		    np_text_to_int(row->fix.what, strlen(row->fix.what), &stage))
			row->evident = ratios[stage] > STAGE_LONGER;
	}
	free(ratios);
	return rc;
}

int whatif_find_evident(const struct np_whatif_input *input, struct np_whatif *whatif,
			struct np_err *err)
{
	int rc = find_ranks(input->replay, whatif, err);

	if (rc == NP_OK && input->replay->stage_count > 0)
		rc = find_stages(input->replay, whatif, err);
	return rc;
}
