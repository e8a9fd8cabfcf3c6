/* SPDX-License-Identifier: Apache-2.0 */
/* Which repair explains the loss, which few do together, and what is evident beside. */
#include "whatif_run.h"

#include "npuprof/align.h"
#include "npuprof/robust.h"
#include "npuprof/text.h"

#include <math.h>

/*
 * A rank is evidently slow that takes so many times as long as the median of its
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
struct peer_place {
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
	const struct peer_place *a = left;
	const struct peer_place *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	if (a->work != b->work)
		return a->work < b->work ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Peers are sorted by their work: the median of all but one of them. */
static double median_without(const struct peer_place *peers, size_t count, size_t without)
{
	size_t median = (count - 2) / 2;

	return peers[median < without ? median : median + 1].work;
}

static void see_peers(const struct peer_place *peers, size_t count, struct excess *excess)
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
	struct peer_place *places = malloc((replay->cells.count + 1) * sizeof(*places));
	size_t count = 0;

	if (!places)
		return np_fail_nomem(err, "repairs");
	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];

		if (cell->timed)
			places[count++] = (struct peer_place){
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

/*
 * A gain below this share of the step is no verdict, nor one that the replay may
 * be wrong by. Stages differ by the first and the last layers of a model.
 */
#define WORTH_NAMING       0.01
#define WORTH_NAMING_STAGE 0.04

/* What evidently takes longer than its peers is named for less. */
#define EVIDENT       0.0005
#define EVIDENT_STAGE 0.01

/* A more specific repair is preferred if it gains this much of what the best one does. */
#define NEARLY_AS_MUCH 0.75

/*
 * Where two or three causes hide each other none gains by itself. Of the ranks
 * and links that would cost most if all else were ideal so many are tried; together
 * they must gain this much of what repairing everything would, and that must be
 * worth it.
 */
#define TEAM_CANDIDATES 6
#define TEAM_GAINS      0.6
#define TEAM_WORTH      0.03

/* From the most specific to the least; what changes the whole program is no single cause. */
static int specificity(enum np_fix_kind kind)
{
	static const int places[NP_FIX_KINDS] = {
		[NP_FIX_RANK] = 6,  [NP_FIX_LINK] = 6,      [NP_FIX_HOST] = 5,
		[NP_FIX_STAGE] = 4, [NP_FIX_EXPERTS] = 3,   [NP_FIX_OPTYPE] = 2,
		[NP_FIX_GROUP] = 2, [NP_FIX_HOST_GAPS] = 1,
	};

	return places[kind];
}

static bool is_worth(const struct np_whatif *whatif, const struct np_whatif_row *row, bool evident)
{
	bool stage = row->fix.kind == NP_FIX_STAGE;
	double least = stage ? WORTH_NAMING_STAGE : WORTH_NAMING;

	if (evident && row->evident)
		least = stage ? EVIDENT_STAGE : EVIDENT;
	if (least < whatif->fidelity)
		least = whatif->fidelity;
	return row->lasting && specificity(row->fix.kind) > 0 &&
	       (double)row->saved >= least * (double)whatif->step;
}

/* Of those that are worth it for what they gain; or also for what is evident. */
static struct np_whatif_verdict best_single(const struct np_whatif *whatif, bool evident)
{
	struct np_whatif_verdict verdict = { .found = false };
	np_ns best = 0;

	for (size_t i = 0; i < whatif->rows.count; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];

		if (is_worth(whatif, row, evident) && row->saved > best)
			best = row->saved;
	}
	/* Rows are by gain: of equally specific ones the first is taken. */
	for (size_t i = 0; i < whatif->rows.count; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];

		if ((double)row->saved < NEARLY_AS_MUCH * (double)best ||
		    !is_worth(whatif, row, evident))
			continue;
		if (!verdict.found || specificity(row->fix.kind) > specificity(verdict.fix.kind))
			verdict = (struct np_whatif_verdict){ .found = true,
							      .fix = row->fix,
							      .saved = row->saved };
	}
	return verdict;
}

struct np_whatif_verdict np_whatif_verdict(const struct np_whatif *whatif)
{
	struct np_whatif_verdict verdict = best_single(whatif, false);

	if (!verdict.found && whatif->team_count == 0)
		return best_single(whatif, true);
	if (!verdict.found)
		verdict = (struct np_whatif_verdict){ .found = true,
						      .fix = whatif->team[0],
						      .saved = whatif->step - whatif->team_step,
						      .with = &whatif->team[1],
						      .with_count = whatif->team_count - 1 };
	return verdict;
}

/* --- several at once ---------------------------------------------------------------------------
 */

/* Repairs, and what each costs by itself. */
struct team_candidates {
	struct np_fix fixes[TEAM_CANDIDATES];
	np_ns alone[TEAM_CANDIDATES];
	size_t count;
};

/* Keep the costliest, those first that cost most. */
static void see_candidate(struct team_candidates *all, const struct np_fix *fix, np_ns alone)
{
	size_t i = all->count;
	size_t behind;

	while (i > 0 && all->alone[i - 1] < alone)
		i--;
	if (i >= TEAM_CANDIDATES)
		return;
	if (all->count < TEAM_CANDIDATES)
		all->count++;
	behind = all->count - i - 1;
	memmove(&all->fixes[i + 1], &all->fixes[i], behind * sizeof(all->fixes[0]));
	memmove(&all->alone[i + 1], &all->alone[i], behind * sizeof(all->alone[0]));
	all->fixes[i] = *fix;
	all->alone[i] = alone;
}

/* The ranks and links that were tried, and what they cost by themselves where that is known. */
static int list_causes(const struct np_whatif *whatif, fix_list *ret, np_ns *alone,
		       struct np_err *err)
{
	for (size_t i = 0; i < whatif->rows.count; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];
		struct np_fix *added;

		if (row->fix.kind != NP_FIX_RANK && row->fix.kind != NP_FIX_LINK)
			continue;
		alone[ret->count] = row->alone;
		added = np_vec_add(ret, err);
		if (!added)
			return NP_E_NOMEM;
		*added = row->fix;
	}
	return NP_OK;
}

static int measure_alone(const struct np_whatif_input *input, const fix_list *causes, np_ns ideal,
			 np_ns *ret, struct np_err *err)
{
	int rc = whatif_steps_alone(input, causes->item, causes->count, ret, err);

	for (size_t i = 0; i < causes->count && rc == NP_OK; i++)
		ret[i] = ret[i] == NP_UNKNOWN ? 0 : ret[i] - ideal;
	return rc;
}

static int find_candidates(const struct np_whatif_input *input, const struct np_whatif *whatif,
			   struct team_candidates *ret, struct np_err *err)
{
	fix_list causes = { 0 };
	np_ns *alone = calloc(whatif->rows.count + 1, sizeof(*alone));
	int rc = alone ? list_causes(whatif, &causes, alone, err) : np_fail_nomem(err, "repairs");

	if (rc == NP_OK && !input->both)
		rc = measure_alone(input, &causes, whatif->ideal, alone, err);
	for (size_t i = 0; i < causes.count && rc == NP_OK; i++) {
		if ((double)alone[i] >= WORTH_NAMING * (double)whatif->step)
			see_candidate(ret, &causes.item[i], alone[i]);
	}
	free(alone);
	np_vec_release(&causes);
	return rc;
}

/* Add the one that gains most on top of the team; false if none gains. */
static int add_member(const struct np_whatif_input *input, const struct team_candidates *all,
		      struct np_whatif *whatif, bool *ret_added, struct np_err *err)
{
	const struct np_fix *best = NULL;
	np_ns steps[TEAM_CANDIDATES];
	int rc = whatif_steps(input, whatif->team, whatif->team_count, all->fixes, all->count,
			      steps, err);

	for (size_t i = 0; i < all->count && rc == NP_OK; i++) {
		if (steps[i] != NP_UNKNOWN && steps[i] < whatif->team_step) {
			whatif->team_step = steps[i];
			best = &all->fixes[i];
		}
	}
	*ret_added = rc == NP_OK && best;
	if (*ret_added)
		whatif->team[whatif->team_count++] = *best;
	return rc;
}

static bool is_enough(const struct np_whatif *whatif)
{
	return (double)(whatif->step - whatif->team_step) >=
	       TEAM_GAINS * (double)(whatif->step - whatif->ideal);
}

int whatif_find_team(const struct np_whatif_input *input, struct np_whatif *whatif,
		     struct np_err *err)
{
	struct team_candidates all = { 0 };
	double least = whatif->fidelity > TEAM_WORTH ? whatif->fidelity : TEAM_WORTH;
	bool added = true;
	int rc;

	if (best_single(whatif, false).found || whatif->ideal == NP_UNKNOWN ||
	    (double)(whatif->step - whatif->ideal) < least * (double)whatif->step)
		return NP_OK;
	rc = find_candidates(input, whatif, &all, err);
	if (rc < 0 || all.count < 2)
		return rc;
	whatif->team[0] = all.fixes[0];
	whatif->team_count = 1;
	whatif->team_step = whatif->step;
	while (rc == NP_OK && added && whatif->team_count < NP_WHATIF_TEAM && !is_enough(whatif))
		rc = add_member(input, &all, whatif, &added, err);
	if (!is_enough(whatif))
		whatif->team_count = 0;
	return rc;
}
