/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of repair changes of a scenario. */
#include "scenario.h"

#include "npuprof/align.h"
#include "npuprof/elementary.h"
#include "npuprof/rank.h"
#include "npuprof/text.h"

#include <math.h>

/* --- ranks ----------------------------------------------------------------------------------- */

static void lower_to(const struct np_replay *replay, struct scenario_draft *scenario, size_t index,
		     const struct mean *mean, enum np_work kind)
{
	const struct np_replay_cell *cell = &replay->cells.item[index];
	double own = np_replay_own_work(cell, kind);

	if (mean->count == 0 || own <= 0)
		return;
	if (kind == NP_WORK_COMPUTE && cell->beyond > 0)
		scenario_take_off(scenario, replay, index,
				  own - mean->work[kind] / (double)mean->count);
	else
		scenario_lower(&scenario->work[index][kind],
			       mean->work[kind] / (double)mean->count / own);
}

/* Where all are repaired each is measured by the others, as where it is repaired alone. */
static struct mean mean_without(const struct mean *mean, const struct np_replay_cell *cell)
{
	struct mean others = *mean;

	others.count--;
	for (int kind = 0; kind < NP_WORK_KINDS; kind++)
		others.work[kind] -= np_replay_own_work(cell, (enum np_work)kind);
	return others;
}

/* These ranks as the mean of the others of their stage. */
static int repair_ranks(const struct np_whatif_input *input, const bool *these,
			struct scenario_draft *scenario, struct np_err *err)
{
	const struct np_replay *replay = input->replay;
	struct means list = { 0 };
	int rc = scenario_add_means(replay, these, &list, err);

	for (size_t i = 0; i < replay->cells.count && rc == NP_OK; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];
		struct mean *mean;
		struct mean others;

		if (!cell->timed || (these && !these[cell->rank]))
			continue;
		mean = scenario_mean(&list, cell->step, replay->stages[cell->rank], err);
		if (!mean) {
			rc = NP_E_NOMEM;
			break;
		}
		others = these ? *mean : mean_without(mean, cell);
		for (int kind = 0; kind < NP_WORK_KINDS; kind++)
			lower_to(replay, scenario, i, &others, (enum np_work)kind);
	}
	scenario_release_means(&list);
	return rc;
}

static bool is_named(const struct np_whatif_input *input, const struct np_fix *fix, uint32_t index)
{
	const struct np_run *run = input->replay->align->run;
	const struct np_rank *rank = run->ranks[index];
	const char *host;
	int64_t number;

	if (!rank)
		return false;
	if (fix->kind == NP_FIX_RANK)
		return np_text_to_int(fix->what, strlen(fix->what), &number) && number == rank->id;
	host = np_run_text(run, rank->host_name);
	return host && strcmp(host, fix->what) == 0;
}

/* The ranks that rank:R or host:H names. To be freed, also after NP_E_USAGE: there are none. */
static int named_ranks(const struct np_whatif_input *input, const struct np_fix *fix, bool **ret,
		       struct np_err *err)
{
	size_t count = input->replay->align->run->sources.count;
	bool *these = calloc(count + 1, sizeof(*these));
	bool any = false;

	if (!these)
		return np_fail_nomem(err, "a repaired world");
	for (uint32_t i = 0; i < count; i++) {
		these[i] = is_named(input, fix, i);
		any |= these[i];
	}
	*ret = these;
	return any ? NP_OK : scenario_fail_unknown(input->replay, fix, err);
}

static int repair_rank(const struct np_whatif_input *input, const struct np_fix *fix,
		       struct scenario_draft *scenario, struct np_err *err)
{
	bool *these = NULL;
	int rc = named_ranks(input, fix, &these, err);

	if (rc == NP_OK)
		rc = repair_ranks(input, these, scenario, err);
	free(these);
	return rc;
}

/* --- hosts ------------------------------------------------------------------------------------ */

/* The ranks of a host and all others, by step and stage. */
struct host {
	bool *these; /* by rank */
	struct means own;
	struct means others;
};

static void host_release(struct host *host)
{
	free(host->these);
	scenario_release_means(&host->own);
	scenario_release_means(&host->others);
}

static int host_measure(const struct np_whatif_input *input, const struct np_fix *fix,
			struct host *ret, struct np_err *err)
{
	const struct np_replay *replay = input->replay;
	size_t count = replay->align->run->sources.count;
	int rc;

	rc = named_ranks(input, fix, &ret->these, err);
	if (rc < 0)
		return rc;
	rc = scenario_add_means(replay, ret->these, &ret->others, err);
	for (size_t i = 0; i < count; i++)
		ret->these[i] = !ret->these[i];
	if (rc == NP_OK)
		rc = scenario_add_means(replay, ret->these, &ret->own, err);
	for (size_t i = 0; i < count; i++)
		ret->these[i] = !ret->these[i];
	return rc;
}

/* The host as a whole: how its ranks differ stays as it is. */
static int repair_host(const struct np_whatif_input *input, const struct np_fix *fix,
		       struct scenario_draft *scenario, struct np_err *err)
{
	const struct np_replay *replay = input->replay;
	struct host host = { 0 };
	int rc = host_measure(input, fix, &host, err);

	for (size_t i = 0; i < replay->cells.count && rc == NP_OK; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];
		const struct mean *own;
		const struct mean *others;

		if (!cell->timed || !host.these[cell->rank])
			continue;
		own = scenario_mean(&host.own, cell->step, replay->stages[cell->rank], err);
		others = scenario_mean(&host.others, cell->step, replay->stages[cell->rank], err);
		if (!own || !others)
			rc = NP_E_NOMEM;
		for (int kind = 0; rc == NP_OK && others->count > 0 && kind < NP_WORK_KINDS;
		     kind++) {
			if (own->work[kind] > 0)
				scenario_lower(&scenario->work[i][kind],
					       others->work[kind] / (double)others->count *
						       (double)own->count / own->work[kind]);
		}
	}
	host_release(&host);
	return rc;
}

/* Few steps differ by chance alone. */
#define FEWEST_STEPS 3

/* By how many times its spread over the steps a difference must exceed 0 to be lasting. */
#define LASTS 2

/* How many times as long as its peers the host takes in a step; NaN where it has none. */
static double host_ratio(const struct host *host, np_str step)
{
	double own = 0;
	double expected = 0;

	for (const struct mean *each = scenario_first_mean(&host->own, step); each;
	     each = scenario_next_mean(&host->own, each)) {
		for (const struct mean *peers = scenario_first_mean(&host->others, step); peers;
		     peers = scenario_next_mean(&host->others, peers)) {
			if (peers->stage != each->stage || peers->count == 0)
				continue;
			for (int kind = 0; kind < NP_WORK_KINDS; kind++) {
				if (kind == NP_WORK_OTHER || kind == NP_WORK_SURPLUS)
					continue;
				own += each->work[kind];
				expected += peers->work[kind] / (double)peers->count *
					    (double)each->count;
			}
		}
	}
	return own > 0 && expected > 0 ? own / expected : (double)NAN;
}

int scenario_is_lasting(const struct np_whatif_input *input, const struct np_fix *fix, bool *ret,
			struct np_err *err)
{
	const struct np_cluster *cluster = input->replay->cluster;
	struct host host = { 0 };
	double sum = 0;
	double squares = 0;
	double count = 0;
	int rc = host_measure(input, fix, &host, err);

	for (size_t i = 0; i < cluster->steps.count && rc == NP_OK; i++) {
		double ratio = np_log(host_ratio(&host, cluster->steps.item[i]));

		if (isnan(ratio))
			continue;
		sum += ratio;
		squares += ratio * ratio;
		count++;
	}
	if (rc == NP_OK && count >= FEWEST_STEPS) {
		double mean = sum / count;

		*ret = mean > LASTS * sqrt(fmax(squares / count - mean * mean, 0));
	}
	host_release(&host);
	return rc;
}

/* --- stages ---------------------------------------------------------------------------------- */

/* What a rank of a stage computes in the step, on average. */
static double stage_mean(const struct mean *mean)
{
	return mean->count > 0 ? mean->work[NP_WORK_COMPUTE] / (double)mean->count : 0;
}

/* What the ranks of all other stages compute in the step, on average. */
static double other_stages(const struct means *list, np_str step, int32_t stage)
{
	double work = 0;
	double count = 0;

	for (const struct mean *each = scenario_first_mean(list, step); each;
	     each = scenario_next_mean(list, each)) {
		if (each->stage == stage)
			continue;
		work += each->work[NP_WORK_COMPUTE];
		count += (double)each->count;
	}
	return count > 0 ? work / count : 0;
}

/* The stages of a step: their mean, and by how much those below are below it. */
static double even_stages(const struct means *list, np_str step, double *ret_below)
{
	double sum = 0;
	double count = 0;

	for (const struct mean *each = scenario_first_mean(list, step); each;
	     each = scenario_next_mean(list, each)) {
		if (each->stage >= 0) {
			sum += stage_mean(each);
			count++;
		}
	}
	sum = count > 0 ? sum / count : 0;
	*ret_below = 0;
	for (const struct mean *each = scenario_first_mean(list, step); each;
	     each = scenario_next_mean(list, each)) {
		if (each->stage >= 0)
			*ret_below += fmax(sum - stage_mean(each), 0);
	}
	return sum;
}

/*
 * A stage that has more kernels than others: what it has above the mean is done by those
 * that are below it.
 */
static int even_out(const struct np_replay *replay, struct means *list, int32_t stage,
		    struct scenario_draft *scenario, struct np_err *err)
{
	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];
		float *factor = &scenario->work[i][NP_WORK_COMPUTE];
		struct mean *own;
		struct mean *long_one;
		double below;
		double even = even_stages(list, cell->step, &below);
		double moved;

		if (!cell->timed || replay->stages[cell->rank] < 0)
			continue;
		own = scenario_mean(list, cell->step, replay->stages[cell->rank], err);
		if (!own)
			return NP_E_NOMEM;
		long_one = scenario_mean(list, cell->step, stage, err);
		/* The list may have moved. */
		own = scenario_mean(list, cell->step, replay->stages[cell->rank], err);
		if (!long_one || !own)
			return NP_E_NOMEM;
		moved = stage_mean(long_one) - even;
		if (stage_mean(own) <= 0 || moved <= 0)
			continue;
		if (replay->stages[cell->rank] == stage)
			scenario_lower(factor, even / stage_mean(own));
		else if (below > 0 && stage_mean(own) < even && *factor >= 1 &&
			 scenario->work[i][NP_WORK_SURPLUS] >= 1)
			*factor *= (float)(1 + moved * (even - stage_mean(own)) / below /
						       stage_mean(own));
	}
	return NP_OK;
}

/* The stage as a whole: how its ranks differ stays as it is. */
static int speed_up(const struct np_replay *replay, struct means *list, int32_t stage,
		    double slower, struct scenario_draft *scenario, struct np_err *err)
{
	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];
		struct mean *own;
		double others;

		if (!cell->timed || replay->stages[cell->rank] != stage)
			continue;
		own = scenario_mean(list, cell->step, stage, err);
		if (!own)
			return NP_E_NOMEM;
		others = other_stages(list, cell->step, stage);
		if (!isnan(slower))
			scenario_lower(&scenario->work[i][NP_WORK_COMPUTE], 1 / slower);
		else if (own->work[NP_WORK_COMPUTE] > 0 && others > 0)
			scenario_lower(&scenario->work[i][NP_WORK_COMPUTE],
				       others / stage_mean(own));
	}
	return NP_OK;
}

static int repair_stage(const struct np_whatif_input *input, const struct np_fix *fix,
			struct scenario_draft *scenario, struct np_err *err)
{
	const struct np_replay *replay = input->replay;
	struct stage_kernels kernels = { 0 };
	struct means list = { 0 };
	int64_t stage;
	int rc;

	if (!np_text_to_int(fix->what, strlen(fix->what), &stage) || stage < 0 ||
	    (size_t)stage >= replay->stage_count)
		return np_fail(err, NP_E_USAGE, "there is no stage '%s': this run has %zu stages",
			       fix->what, replay->stage_count);
	rc = scenario_stage_kernels(replay, (int32_t)stage, &kernels, err);
	if (rc == NP_OK)
		rc = scenario_add_means(replay, NULL, &list, err);
	if (rc == NP_OK && kernels.longer)
		rc = kernels.split ? even_out(replay, &list, (int32_t)stage, scenario, err)
				   : speed_up(replay, &list, (int32_t)stage, kernels.slower,
					      scenario, err);
	scenario_release_means(&list);
	return rc;
}

/* --- experts, gaps --------------------------------------------------------------------------- */

static int repair_experts(const struct np_whatif_input *input, struct scenario_draft *scenario,
			  struct np_err *err)
{
	const struct np_experts *experts = input->experts;

	if (!experts || experts->exchanges.count == 0)
		return np_fail(err, NP_E_USAGE, "no rank of this run has experts");
	for (size_t i = 0; i < input->replay->cells.count; i++)
		scenario->work[i][NP_WORK_SURPLUS] = 0;
	for (size_t i = 0; i < experts->exchanges.count; i++) {
		const struct np_expert_exchange *each = &experts->exchanges.item[i];

		scenario_lower(&scenario->transfer[each->instance], (double)each->even);
		if (each->back != UINT32_MAX)
			scenario_lower(&scenario->transfer[each->back], (double)each->even);
	}
	return NP_OK;
}

static void clear_host_gaps(const struct np_replay *replay, struct scenario_draft *scenario)
{
	for (size_t i = 0; i < replay->cells.count; i++)
		scenario->work[i][NP_WORK_HOST] = 0;
}

/* Of what is not known nothing but that the device had nothing to do can be said either. */
static void clear_between(const struct np_replay *replay, struct scenario_draft *scenario)
{
	for (size_t i = 0; i < replay->cells.count; i++)
		scenario->work[i][NP_WORK_BETWEEN] = 0;
}

static int repair_frequency(const struct np_whatif_input *input, struct scenario_draft *scenario,
			    struct np_err *err)
{
	if (!input->frequency)
		return np_fail(err, NP_E_USAGE, "the clocks of the AI cores were not read");
	for (size_t i = 0; i < input->replay->cells.count; i++)
		scenario_lower(&scenario->work[i][NP_WORK_COMPUTE], (double)input->frequency[i]);
	return NP_OK;
}

static void hide_transfers(const struct np_replay *replay, struct scenario_draft *scenario)
{
	for (size_t i = 0; i < replay->align->instances.count; i++)
		scenario->transfer[i] = 0;
}

/* --- all ------------------------------------------------------------------------------------- */

static int repair_all(const struct np_whatif_input *input, struct scenario_draft *scenario,
		      struct np_err *err)
{
	const struct np_links *links = input->links;
	size_t repaired;
	int rc = repair_ranks(input, NULL, scenario, err);

	if (rc == NP_OK)
		rc = scenario_repair_transfers(input->replay, NULL, false, scenario, &repaired,
					       err);
	for (size_t i = 0; links && i < links->list.count && rc == NP_OK; i++) {
		const struct np_link_speed *link = &links->list.item[i];
		struct np_fix fix;

		if (link->verdict != NP_LINK_SLOW || link->src < 0 || link->dst < 0)
			continue;
		whatif_name_link(link, &fix);
		rc = scenario_repair_link(input, &fix, scenario, err);
	}
	for (size_t i = 0; i < input->replay->stage_count && rc == NP_OK; i++) {
		struct np_fix fix = { .kind = NP_FIX_STAGE };

		(void)snprintf(fix.what, sizeof(fix.what), "%zu", i);
		rc = repair_stage(input, &fix, scenario, err);
	}
	if (rc == NP_OK && input->experts && input->experts->exchanges.count > 0)
		rc = repair_experts(input, scenario, err);
	return rc;
}

static int repair(const struct np_whatif_input *input, const struct np_fix *fix,
		  struct scenario_draft *scenario, struct np_err *err)
{
	switch (fix->kind) {
	case NP_FIX_RANK:
		return repair_rank(input, fix, scenario, err);
	case NP_FIX_HOST:
		return repair_host(input, fix, scenario, err);
	case NP_FIX_STAGE:
		return repair_stage(input, fix, scenario, err);
	case NP_FIX_ROLE:
	case NP_FIX_GROUP:
		return scenario_repair_communicators(input, fix, scenario, err);
	case NP_FIX_LINK:
		return scenario_repair_link(input, fix, scenario, err);
	case NP_FIX_HOST_GAPS:
		clear_host_gaps(input->replay, scenario);
		return NP_OK;
	case NP_FIX_BETWEEN:
		clear_between(input->replay, scenario);
		return NP_OK;
	case NP_FIX_EXPERTS:
		return repair_experts(input, scenario, err);
	case NP_FIX_HIDE_COMM:
		hide_transfers(input->replay, scenario);
		return NP_OK;
	case NP_FIX_ALL:
		return repair_all(input, scenario, err);
	case NP_FIX_FREQUENCY:
		return repair_frequency(input, scenario, err);
	case NP_FIX_OPTYPE: /* All of them together: see below. */
	case NP_FIX_KINDS:
		break;
	}
	return NP_OK;
}

int scenario_repair(const struct np_whatif_input *input, const struct np_fix *fixes, size_t count,
		    struct scenario_draft *scenario, struct np_err *err)
{
	bool all = false;
	int rc = NP_OK;

	for (size_t i = 0; i < count; i++)
		all |= fixes[i].kind == NP_FIX_ALL;
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		/* What is moved from a stage to others is moved once. */
		if (!all || fixes[i].kind != NP_FIX_STAGE)
			rc = repair(input, &fixes[i], scenario, err);
	}
	return rc < 0 ? rc : scenario_repair_types(input->replay, fixes, count, scenario, err);
}
