/* SPDX-License-Identifier: Apache-2.0 */
/* Which repair explains the loss, which few do together, and what is evident beside. */
#include "whatif_run.h"

#include "npuprof/align.h"
#include "npuprof/elementary.h"
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

/*
 * One that may be one of several causes takes longer by less than that, but in most
 * steps: work that is spread another way in each of them makes nobody a cause.
 */
#define STEADILY_LONGER 1.02
#define LONGER_IN_STEP  1.01

/* A stage that takes so many times as long as others for most kinds of kernels. */
#define STAGE_LONGER 1.1

/* A link that takes so many times as long as comparable ones. */
#define LINK_LONGER 1.5

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
	double longer; /* steps */
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
		double more = others > 0 && peers[i].work > 0 ? np_log(peers[i].work / others) : 0;

		own->sum += more;
		own->squares += more * more;
		own->longer += more > np_log(LONGER_IN_STEP);
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
				np_replay_own_work(cell, NP_WORK_COMPUTE) +
					(double)(cell->work[NP_WORK_HOST] +
						 cell->work[NP_WORK_BETWEEN])
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

	return mean > np_log(RANK_LONGER) && mean > RANK_DIFFERS * noise &&
	       mean > STEPS_DIFFER * spread_of(excess);
}

static bool is_steady(const struct excess *excess, double noise)
{
	double mean = mean_of(excess);

	return mean > np_log(STEADILY_LONGER) && mean > RANK_DIFFERS * noise &&
	       excess->longer * 2 > excess->count;
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
			if (!run->ranks[j] || run->ranks[j]->id != id)
				continue;
			row->evident = is_evident(&excess[j], noise);
			row->steady = is_steady(&excess[j], noise);
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
		struct stage_kernels kernels = { 0 };
		int64_t stage;

		if (row->fix.kind != NP_FIX_STAGE ||
		    !np_text_to_int(row->fix.what, strlen(row->fix.what), &stage))
			continue;
		row->evident = ratios[stage] > STAGE_LONGER;
		rc = scenario_stage_kernels(replay, (int32_t)stage, &kernels, err);
		row->split = kernels.split;
	}
	free(ratios);
	return rc;
}

/*
 * Members of a collective may end apart by a third of its transfer, the same way each time, and
 * the link of one that always ends last looks slower by that.
 */
static void find_links(const struct np_links *links, struct np_whatif *whatif)
{
	for (size_t i = 0; links && i < links->list.count; i++) {
		const struct np_link_speed *link = &links->list.item[i];
		struct np_fix fix = { .kind = NP_FIX_LINK };

		if (link->verdict != NP_LINK_SLOW || link->expected == NP_UNKNOWN ||
		    (double)link->time < LINK_LONGER * (double)link->expected)
			continue;
		whatif_name_link(link, &fix);
		for (size_t j = 0; j < whatif->rows.count; j++) {
			if (whatif->rows.item[j].fix.kind == NP_FIX_LINK &&
			    strcmp(whatif->rows.item[j].fix.what, fix.what) == 0)
				whatif->rows.item[j].evident = true;
		}
	}
}

int whatif_find_evident(const struct np_whatif_input *input, struct np_whatif *whatif,
			struct np_err *err)
{
	int rc = find_ranks(input->replay, whatif, err);

	find_links(input->links, whatif);
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

/*
 * Ranks begin and are held up by chance: one that is late now and then must cost more, and
 * so must the gaps that all of them have, and a link that is not much slower than others.
 */
#define WORTH_NAMING_ONCE 0.03

/*
 * Where other ranks are late in other steps, as with sequences of different lengths, nobody
 * is the cause: who is late now and then must explain so much of the loss.
 */
#define EXPLAINS_ONCE 0.4

/* What evidently takes longer than its peers is named for less. */
#define EVIDENT       0.0005
#define EVIDENT_STAGE 0.01

/* A more specific repair is preferred if it gains this much of what the best one does. */
#define NEARLY_AS_MUCH 0.75

/*
 * Causes hide each other: of two ranks that are late neither gains by itself. Where no
 * single repair recovers so much of the loss, those that would cost most if all else were
 * ideal are tried together.
 */
#define EXPLAINS 0.6

/* A loss of less than this share of the step is not searched for teams. */
#define TEAM_WORTH 0.03

/* Each of a team must add so much of the loss, and of the step, to what the others gain. */
#define MEMBER_ADDS  0.15
#define MEMBER_WORTH 0.02

#define TEAM_CANDIDATES 8

/* Of causes of different kinds so many are searched for. */
#define TEAM_SEARCHED 3

/* A whole host, or stage, is blamed only if it gains so much of what a few ranks do. */
#define AS_A_WHOLE 0.85

/* From the most specific to the least; what changes the whole program is no single cause. */
static int specificity(enum np_fix_kind kind)
{
	static const int places[NP_FIX_KINDS] = {
		[NP_FIX_RANK] = 6,  [NP_FIX_LINK] = 6,      [NP_FIX_HOST] = 5,
		[NP_FIX_STAGE] = 4, [NP_FIX_EXPERTS] = 3,   [NP_FIX_OPTYPE] = 2,
		[NP_FIX_GROUP] = 2, [NP_FIX_HOST_GAPS] = 1, [NP_FIX_BETWEEN] = 1,
	};

	return places[kind];
}

static bool is_worth(const struct np_whatif *whatif, const struct np_whatif_row *row, bool evident)
{
	bool stage = row->fix.kind == NP_FIX_STAGE;
	double least = stage ? WORTH_NAMING_STAGE : WORTH_NAMING;

	if (row->fix.kind == NP_FIX_RANK && !row->steady) {
		least = WORTH_NAMING_ONCE;
		if (whatif->ideal != NP_UNKNOWN)
			least = fmax(least, EXPLAINS_ONCE * (double)(whatif->step - whatif->ideal) /
						    (double)whatif->step);
	} else if (row->fix.kind == NP_FIX_HOST_GAPS ||
		   (row->fix.kind == NP_FIX_LINK && !row->evident)) {
		least = WORTH_NAMING_ONCE;
	}
	if (evident && row->evident && row->fix.kind != NP_FIX_LINK)
		least = stage ? EVIDENT_STAGE : EVIDENT;
	if (least < whatif->fidelity)
		least = whatif->fidelity;
	return row->lasting && specificity(row->fix.kind) > 0 &&
	       (double)row->saved >= least * (double)whatif->step;
}

/* A host of which one rank gains nearly as much is not slow: that rank is. */
static void prefer_rank(const struct np_whatif *whatif, bool evident,
			struct np_whatif_verdict *verdict)
{
	for (size_t i = 0; i < whatif->rows.count && verdict->fix.kind == NP_FIX_HOST; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];

		if (row->fix.kind == NP_FIX_RANK && is_worth(whatif, row, evident) &&
		    (double)row->saved >= NEARLY_AS_MUCH * (double)verdict->saved)
			*verdict = (struct np_whatif_verdict){ .found = true,
							       .fix = row->fix,
							       .saved = row->saved };
	}
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
	if (verdict.found)
		prefer_rank(whatif, evident, &verdict);
	return verdict;
}

/* What a team gains together; 0 without one. */
static np_ns team_gain(const struct np_whatif *whatif)
{
	return whatif->team_count > 0 ? whatif->step - whatif->team_step : 0;
}

/* Most specific wins, unless what is less so explains more. */
static bool is_beaten(const struct np_whatif *whatif, const struct np_whatif_verdict *single)
{
	double gain = (double)team_gain(whatif);

	switch (single->fix.kind) {
	case NP_FIX_RANK:
	case NP_FIX_LINK:
		/* It is one of the team, or gains less. */
		return (double)single->saved < gain;
	case NP_FIX_HOST:
		if (whatif->team_slow)
			return gain >= NEARLY_AS_MUCH * (double)single->saved;
		return (double)single->saved < AS_A_WHOLE * gain;
	case NP_FIX_STAGE:
		return (double)single->saved < AS_A_WHOLE * gain;
	default:
		return gain >= NEARLY_AS_MUCH * (double)single->saved;
	}
}

struct np_whatif_verdict np_whatif_verdict(const struct np_whatif *whatif)
{
	struct np_whatif_verdict verdict = best_single(whatif, false);

	if (whatif->team_count == 0)
		return verdict.found ? verdict : best_single(whatif, true);
	if (!verdict.found || is_beaten(whatif, &verdict))
		verdict = (struct np_whatif_verdict){ .found = true,
						      .fix = whatif->team[0],
						      .saved = team_gain(whatif),
						      .with = &whatif->team[1],
						      .with_count = whatif->team_count - 1 };
	return verdict;
}

/* --- several at once ---------------------------------------------------------------------------
 */

/* A repair, what it gains and what it costs by itself. */
struct team_candidate {
	struct np_fix fix;
	np_ns saved;
	np_ns alone;
};

struct team_candidates {
	struct team_candidate list[TEAM_CANDIDATES];
	size_t count;
};

/* Repairs of a team, by candidate, and what they gain. */
struct team {
	size_t members[NP_WHATIF_TEAM];
	size_t count;
	np_ns step;
};

/* What may be one of several causes: it lasts, or is evident. */
static bool is_cause(const struct np_whatif_row *row)
{
	switch (row->fix.kind) {
	case NP_FIX_RANK:
		return row->steady;
	case NP_FIX_STAGE:
		return row->evident;
	case NP_FIX_HOST:
		return row->lasting;
	default:
		return specificity(row->fix.kind) > 0;
	}
}

/* What all ranks have in common is no candidate for what is lost by their differences. */
static bool is_common(enum np_fix_kind kind)
{
	return specificity(kind) <= specificity(NP_FIX_EXPERTS);
}

/* Keep the costliest, those first that cost most. */
static void see_candidate(struct team_candidates *all, const struct team_candidate *candidate)
{
	size_t i = all->count;

	while (i > 0 && all->list[i - 1].alone < candidate->alone)
		i--;
	if (i >= TEAM_CANDIDATES)
		return;
	if (all->count < TEAM_CANDIDATES)
		all->count++;
	memmove(&all->list[i + 1], &all->list[i], (all->count - i - 1) * sizeof(all->list[0]));
	all->list[i] = *candidate;
}

/* The causes that were tried, and what they cost by themselves where that is known. */
static int list_causes(const struct np_whatif *whatif, fix_list *ret,
		       struct team_candidate *candidates, struct np_err *err)
{
	for (size_t i = 0; i < whatif->rows.count; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];
		struct np_fix *added;

		if (!is_cause(row))
			continue;
		candidates[ret->count] =
			(struct team_candidate){ row->fix, row->saved, row->alone };
		added = np_vec_add(ret, err);
		if (!added)
			return NP_E_NOMEM;
		*added = row->fix;
	}
	return NP_OK;
}

static int measure_alone(const struct np_whatif_input *input, const fix_list *causes, np_ns ideal,
			 struct team_candidate *candidates, struct np_err *err)
{
	np_ns *alone = calloc(causes->count + 1, sizeof(*alone));
	int rc = alone ? whatif_steps_alone(input, causes->item, causes->count, alone, err)
		       : np_fail_nomem(err, "repairs");

	for (size_t i = 0; i < causes->count && rc == NP_OK; i++)
		candidates[i].alone = alone[i] == NP_UNKNOWN ? 0 : alone[i] - ideal;
	free(alone);
	return rc;
}

static int find_candidates(const struct np_whatif_input *input, const struct np_whatif *whatif,
			   struct team_candidates *ret, struct np_err *err)
{
	fix_list causes = { 0 };
	struct team_candidate *list = calloc(whatif->rows.count + 1, sizeof(*list));
	int rc = list ? list_causes(whatif, &causes, list, err) : np_fail_nomem(err, "repairs");

	if (rc == NP_OK && !input->both)
		rc = measure_alone(input, &causes, whatif->ideal, list, err);
	for (size_t i = 0; i < causes.count && rc == NP_OK; i++) {
		/* What all have in common is not in the ideal. */
		if (list[i].alone < list[i].saved)
			list[i].alone = list[i].saved;
		if ((double)list[i].alone >= WORTH_NAMING * (double)whatif->step)
			see_candidate(ret, &list[i]);
	}
	free(list);
	np_vec_release(&causes);
	return rc;
}

/* What a repair must add to others. */
static double least_added(const struct np_whatif *whatif)
{
	double of_loss = MEMBER_ADDS * (double)(whatif->step - whatif->ideal);
	double of_step = fmax(MEMBER_WORTH, whatif->fidelity) * (double)whatif->step;

	return fmax(of_loss, of_step);
}

static bool is_enough(const struct np_whatif *whatif, np_ns step)
{
	return (double)(whatif->step - step) >= EXPLAINS * (double)(whatif->step - whatif->ideal);
}

/* The step with each candidate on top of a team. */
static int try_members(const struct np_whatif_input *input, const struct team_candidates *all,
		       const struct team *team, np_ns ret[TEAM_CANDIDATES], struct np_err *err)
{
	struct np_fix base[NP_WHATIF_TEAM];
	struct np_fix fixes[TEAM_CANDIDATES];

	for (size_t i = 0; i < team->count; i++)
		base[i] = all->list[team->members[i]].fix;
	for (size_t i = 0; i < all->count; i++)
		fixes[i] = all->list[i].fix;
	return whatif_steps(input, base, team->count, fixes, all->count, ret, err);
}

static int specificity_of(const struct team_candidates *all, size_t a, size_t b)
{
	return specificity(all->list[a].fix.kind) + specificity(all->list[b].fix.kind);
}

/* The pair that gains most; of those that gain nearly as much, the most specific. */
static int find_pair(const struct np_whatif_input *input, const struct team_candidates *all,
		     const struct np_whatif *whatif, struct team *ret, struct np_err *err)
{
	np_ns steps[TEAM_CANDIDATES][TEAM_CANDIDATES];
	np_ns best = whatif->step;
	int rc = NP_OK;

	for (size_t i = 0; i < all->count && rc == NP_OK; i++) {
		const struct team first = { { i }, 1, 0 };

		rc = try_members(input, all, &first, steps[i], err);
		for (size_t j = i + 1; j < all->count && rc == NP_OK; j++) {
			if (steps[i][j] != NP_UNKNOWN && steps[i][j] < best)
				best = steps[i][j];
		}
	}
	ret->step = whatif->step;
	for (size_t i = 0; i < all->count && rc == NP_OK; i++) {
		for (size_t j = i + 1; j < all->count; j++) {
			np_ns step = steps[i][j];
			int more;

			if (step == NP_UNKNOWN ||
			    (double)(whatif->step - step) <=
				    AS_A_WHOLE * (double)(whatif->step - best))
				continue;
			more = ret->count == 0 ? 1
					       : specificity_of(all, i, j) -
							 specificity_of(all, ret->members[0],
									ret->members[1]);
			if (more > 0 || (more == 0 && step < ret->step))
				*ret = (struct team){ { i, j }, 2, step };
		}
	}
	return rc;
}

/* Add who gains most on top of the team; nobody where that is too little. */
static int add_member(const struct np_whatif_input *input, const struct team_candidates *all,
		      const struct np_whatif *whatif, struct team *team, bool *ret_added,
		      struct np_err *err)
{
	np_ns steps[TEAM_CANDIDATES];
	size_t best = SIZE_MAX;
	int rc = try_members(input, all, team, steps, err);

	for (size_t i = 0; i < all->count && rc == NP_OK; i++) {
		if (is_common(all->list[i].fix.kind) && is_enough(whatif, team->step))
			continue;
		if (steps[i] != NP_UNKNOWN && (best == SIZE_MAX || steps[i] < steps[best]))
			best = i;
	}
	*ret_added = best != SIZE_MAX && (double)(team->step - steps[best]) >= least_added(whatif);
	if (*ret_added) {
		team->members[team->count++] = best;
		team->step = steps[best];
	}
	return rc;
}

/* Leave out who adds too little to what the others gain. */
static int drop_members(const struct np_whatif_input *input, const struct team_candidates *all,
			const struct np_whatif *whatif, struct team *team, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = team->count; i-- > 0 && team->count > 1 && rc == NP_OK;) {
		struct np_fix others[NP_WHATIF_TEAM];
		np_ns step = NP_UNKNOWN;
		size_t count = 0;

		for (size_t j = 0; j < team->count; j++) {
			if (j != i)
				others[count++] = all->list[team->members[j]].fix;
		}
		rc = np_whatif_together(input, others, count, &step, err);
		if (rc == NP_OK && (double)(step - team->step) < least_added(whatif)) {
			memmove(&team->members[i], &team->members[i + 1],
				(team->count - i - 1) * sizeof(team->members[0]));
			team->count--;
			team->step = step;
		}
	}
	return rc;
}

/* The most specific first, then the costliest; few of them. */
static void keep_team(const struct team_candidates *all, const struct team *team,
		      struct np_whatif *whatif)
{
	size_t order[NP_WHATIF_TEAM];

	for (size_t i = 0; i < team->count; i++) {
		size_t at = i;

		/* Candidates are by their cost. */
		while (at > 0 && (specificity_of(all, order[at - 1], order[at - 1]) <
					  specificity_of(all, team->members[i], team->members[i]) ||
				  (all->list[order[at - 1]].fix.kind ==
					   all->list[team->members[i]].fix.kind &&
				   order[at - 1] > team->members[i]))) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = team->members[i];
	}
	for (size_t i = 0; i < team->count; i++)
		whatif->team[i] = all->list[order[i]].fix;
	whatif->team_count = team->count;
	whatif->team_step = team->step;
}

/* Is there a loss that single repairs leave? */
static bool is_searched(const struct np_whatif *whatif)
{
	const struct np_whatif_verdict single = best_single(whatif, false);
	np_ns left;

	if (whatif->ideal == NP_UNKNOWN)
		return false;
	left = whatif->step - whatif->ideal;
	if ((double)left < fmax(TEAM_WORTH, whatif->fidelity) * (double)whatif->step)
		return false;
	if (single.found && single.saved > 0 && !is_common(single.fix.kind))
		left -= single.saved;
	return (double)left >= least_added(whatif);
}

/* Ranks of a host that were profiled; 0 if the repair is none of a host. */
static size_t host_ranks(const struct np_run *run, const struct np_fix *fix)
{
	size_t count = 0;

	for (size_t i = 0; i < run->sources.count && fix->kind == NP_FIX_HOST; i++) {
		const char *host =
			run->ranks[i] ? np_run_text(run, run->ranks[i]->host_name) : NULL;

		count += host && strcmp(host, fix->what) == 0;
	}
	return count;
}

static int64_t rank_number(const struct np_fix *fix)
{
	int64_t number = -1;

	(void)np_text_to_int(fix->what, strlen(fix->what), &number);
	return number;
}

/* Keep ranks in their order. */
static void add_rank(struct np_fix *fixes, size_t count, const struct np_fix *fix)
{
	while (count > 0 && rank_number(&fixes[count - 1]) > rank_number(fix)) {
		fixes[count] = fixes[count - 1];
		count--;
	}
	fixes[count] = *fix;
}

/*
 * Ranks that evidently take longer, and as long as each other, hide each other one by one: those of
 * a tensor parallel group. They are a team, unless they are most of a host.
 */
#define MOST_OF_HOST 0.75

static int find_slow_ranks(const struct np_whatif_input *input, struct np_whatif *whatif,
			   struct np_err *err)
{
	const struct np_whatif_verdict single = best_single(whatif, false);
	size_t of_host = single.found ? host_ranks(input->replay->align->run, &single.fix) : 0;
	struct np_fix fixes[NP_WHATIF_TEAM];
	size_t count = 0;
	np_ns step = NP_UNKNOWN;
	int rc;

	for (size_t i = 0; i < whatif->rows.count; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];

		if (row->fix.kind != NP_FIX_RANK || !row->evident || !row->steady)
			continue;
		if (count == NP_WHATIF_TEAM)
			return NP_OK;
		add_rank(fixes, count++, &row->fix);
	}
	if (count < 2 || (of_host > 0 && (double)count > MOST_OF_HOST * (double)of_host))
		return NP_OK;
	rc = np_whatif_together(input, fixes, count, &step, err);
	if (rc == NP_OK && is_enough(whatif, step)) {
		memcpy(whatif->team, fixes, count * sizeof(fixes[0]));
		whatif->team_count = count;
		whatif->team_step = step;
		whatif->team_slow = true;
	}
	return rc;
}

/* Causes of all kinds, one added to the other. */
static int search_team(const struct np_whatif_input *input, struct np_whatif *whatif,
		       struct np_err *err)
{
	struct team_candidates all = { 0 };
	struct team team = { 0 };
	bool added = true;
	int rc = find_candidates(input, whatif, &all, err);

	if (rc < 0 || all.count < 2)
		return rc;
	rc = find_pair(input, &all, whatif, &team, err);
	while (rc == NP_OK && added && team.count > 0 && team.count < TEAM_SEARCHED)
		rc = add_member(input, &all, whatif, &team, &added, err);
	if (rc == NP_OK)
		rc = drop_members(input, &all, whatif, &team, err);
	if (rc == NP_OK && team.count > 1 && is_enough(whatif, team.step))
		keep_team(&all, &team, whatif);
	return rc;
}

int whatif_find_team(const struct np_whatif_input *input, struct np_whatif *whatif,
		     struct np_err *err)
{
	const struct np_whatif_verdict single = best_single(whatif, false);
	bool searched = is_searched(whatif);
	int rc = searched ? search_team(input, whatif, err) : NP_OK;

	searched |= single.found && single.fix.kind == NP_FIX_HOST && whatif->ideal != NP_UNKNOWN;
	if (rc == NP_OK && searched && whatif->team_count == 0)
		rc = find_slow_ranks(input, whatif, err);
	return rc;
}
