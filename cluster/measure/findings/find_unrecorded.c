/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that waited for each other in an operator that nobody recorded. */
#include "findings_parts.h"

#include "npuprof/activity.h"
#include "npuprof/align.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

/*
 * Between two operators of a communicator a rank computes, and is idle for the rest. All
 * lengths are by its own clock. If the ranks compute differently and yet take equally
 * long, something made the others wait for the one that computes most. Hosts that all
 * launch at one pace do so too, but then that one is idle as well.
 */

/* Ranks, and times, that it takes. */
#define RANKS 3
#define TIMES 2

/* Computing differs by so much, and by so much of what is computed, … */
#define APART_NS   200000
#define APART_PART 0.02

/* … what ranks take in all differs by this part of that, and they do nothing else for longer, … */
#define TOGETHER 0.3

/* … and who computes most is idle for no longer than this part. */
#define IDLE 0.75

/* What a rank had done up to the begin of each segment. */
struct work_sums {
	NP_VEC(np_ns) begins;
	NP_VEC(double) computed;
	NP_VEC(double) other; /* communication that shows, and copies */
};

struct looking {
	const struct np_replay *replay;
	struct work_sums *ranks; /* by index in the run */
	struct np_err *err;
};

static int add_sum(struct work_sums *sums, np_ns begin, double computed, double other,
		   struct np_err *err)
{
	np_ns *at = np_vec_add(&sums->begins, err);
	double *first = at ? np_vec_add(&sums->computed, err) : NULL;
	double *second = first ? np_vec_add(&sums->other, err) : NULL;

	if (!second)
		return NP_E_NOMEM;
	*at = begin;
	*first = computed;
	*second = other;
	return NP_OK;
}

static int sum_rank(const struct np_rank *rank, struct work_sums *sums, struct np_err *err)
{
	const struct np_activity *activity = &rank->activity;
	double computed = 0;
	double other = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < activity->cells.count && rc == NP_OK; i++) {
		const struct np_activity_cell *cell = &activity->cells.item[i];

		if (rank->times.item[i].device != rank->times.item[0].device)
			continue;
		for (uint32_t j = cell->first_segment;
		     j < cell->first_segment + cell->segments && rc == NP_OK; j++) {
			rc = add_sum(sums, activity->segments.item[j].begin, computed, other, err);
			for (uint32_t k = activity->segments.item[j].first;
			     k < activity->segments.item[j + 1].first; k++) {
				const struct np_share *share = &activity->shares.item[k];

				if (np_leaf_kind(share->leaf) == NP_LEAF_COMPUTE)
					computed += share->ns;
				else if (np_leaf_kind(share->leaf) <= NP_LEAF_MEMCPY)
					other += share->ns;
			}
		}
		if (rc == NP_OK && cell->segments > 0)
			rc = add_sum(sums, cell->end, computed, other, err);
	}
	return rc;
}

/* Up to a time that lies on a cut: operators start and end there. */
static size_t sum_at(const struct work_sums *sums, np_ns time)
{
	size_t behind = np_lower_bound(i, (size_t)0, sums->begins.count,
				       sums->begins.item[i] > time + 1000);

	return behind > 0 ? behind - 1 : 0;
}

/* From one operator to the next, on one rank. */
struct work_way {
	double computed;
	double other;
	double all;
};

static bool see_way(const struct looking *looking, uint32_t from, uint32_t to, struct work_way *ret)
{
	const struct np_align *align = looking->replay->align;
	uint32_t rank = align->members[from].rank;
	const struct work_sums *sums = &looking->ranks[rank];
	np_ns begin = np_align_op(align, from)->end;
	np_ns end = np_align_op(align, to)->start;
	size_t first;
	size_t last;

	if (align->members[to].rank != rank || end <= begin || sums->begins.count == 0)
		return false;
	first = sum_at(sums, begin);
	last = sum_at(sums, end);
	*ret = (struct work_way){ sums->computed.item[last] - sums->computed.item[first],
				  sums->other.item[last] - sums->other.item[first],
				  (double)(end - begin) };
	return true;
}

/* What the ranks of a communicator did between two of its operators. */
struct work_ways {
	struct work_way least;
	struct work_way most;
	double idle;      /* Σ */
	double last_idle; /* of the one that computes most */
	double count;
};

static void widen(struct work_ways *ways, const struct work_way *way)
{
	double idle = way->all - way->computed - way->other;

	if (ways->count == 0 || way->computed > ways->most.computed)
		ways->last_idle = idle;
	if (ways->count == 0) {
		ways->least = ways->most = *way;
	} else {
		ways->least.computed = fmin(ways->least.computed, way->computed);
		ways->most.computed = fmax(ways->most.computed, way->computed);
		ways->least.all = fmin(ways->least.all, way->all);
		ways->most.all = fmax(ways->most.all, way->all);
		ways->most.other = fmax(ways->most.other, way->other);
	}
	ways->idle += idle;
	ways->count++;
}

/* What the ranks waited for each other, in all; 0 where they did not. */
static double waited(const struct work_ways *ways)
{
	double apart = ways->most.computed - ways->least.computed;

	if (ways->count < RANKS || apart < APART_NS || apart < APART_PART * ways->most.computed ||
	    ways->most.all - ways->least.all > TOGETHER * apart ||
	    ways->most.other > TOGETHER * apart || ways->last_idle > IDLE * apart)
		return 0;
	return ways->idle - ways->count * ways->last_idle;
}

static bool is_whole(const struct np_instance *instance)
{
	return instance->rule == NP_RULE_ALL && np_instance_complete(instance);
}

/* The waiting between two operators; 0 where there is none. */
static double look_between(const struct looking *looking, const struct np_instance *from,
			   const struct np_instance *to)
{
	struct work_ways ways = { 0 };

	if (!is_whole(from) || !is_whole(to) || from->count != to->count || from->count < RANKS)
		return 0;
	for (uint32_t i = 0; i < from->count; i++) {
		struct work_way way;

		if (!see_way(looking, from->first + i, to->first + i, &way))
			return 0;
		widen(&ways, &way);
	}
	return waited(&ways);
}

/* Of one communicator. */
struct unrecorded {
	size_t times;
	double sum;
	double longest;
	uint32_t first; /* instance behind the first of them */
};

static struct unrecorded look_at(const struct looking *looking,
				 const struct np_align_communicator *each)
{
	const struct np_instance *instances = looking->replay->align->instances.item;
	struct unrecorded found = { 0 };

	for (uint32_t i = each->first; i + 1 < each->first + each->count; i++) {
		double wait = look_between(looking, &instances[i], &instances[i + 1]);

		if (!(wait > 0))
			continue;
		if (found.times++ == 0)
			found.first = i + 1;
		found.sum += wait;
		found.longest = fmax(found.longest, wait);
	}
	return found;
}

static int add_finding(const struct looking *looking, uint32_t communicator,
		       const struct unrecorded *found, struct np_job_findings *findings)
{
	const struct np_align *align = looking->replay->align;
	const struct np_instance *instance = &align->instances.item[found->first];
	const char *step = np_run_text(align->run, instance->step);
	struct np_job_finding *finding;
	int rc = NP_OK;

	finding = findings_add(
		findings, NP_JOB_UNRECORDED, looking->err,
		"%" PRIu32 " ranks leave off far apart and go on together %zu times, the first in"
		" step %s, out of what looks like gaps of their hosts: they waited %s in all,"
		" probably for each other in an operator that was not recorded",
		instance->count, found->times, step ? step : "?", findings_time(found->sum).text);
	if (!finding)
		return NP_E_NOMEM;
	finding->communicator = communicator;
	for (uint32_t i = 0; i < instance->count && rc == NP_OK; i++)
		rc = findings_add_rank(
			finding, align->run->ranks[align->members[instance->first + i].rank]->id,
			looking->err);
	findings->unrecorded += (np_ns)(found->sum / (double)instance->count /
					(double)looking->replay->cluster->steps.count);
	return rc;
}

/* The one communicator with most of it: others see the same waits. */
static int find_most(const struct looking *looking, struct np_job_findings *findings)
{
	const struct np_align *align = looking->replay->align;
	struct unrecorded most = { 0 };
	uint32_t which = UINT32_MAX;

	for (uint32_t i = 0; i < align->communicators.count; i++) {
		struct unrecorded found = look_at(looking, &align->communicators.item[i]);

		if (found.times >= TIMES && found.sum > most.sum) {
			most = found;
			which = i;
		}
	}
	return which == UINT32_MAX ? NP_OK : add_finding(looking, which, &most, findings);
}

int find_unrecorded(const struct np_replay *replay, struct np_job_findings *findings,
		    struct np_err *err)
{
	const struct np_run *run = replay->align->run;
	struct looking looking = { .replay = replay, .err = err };
	int rc = NP_OK;

	looking.ranks = calloc(run->sources.count + 1, sizeof(*looking.ranks));
	if (!looking.ranks)
		return np_fail_nomem(err, "what is strange about a job");
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (run->ranks[i])
			rc = sum_rank(run->ranks[i], &looking.ranks[i], err);
	}
	if (rc == NP_OK)
		rc = find_most(&looking, findings);
	for (size_t i = 0; i < run->sources.count; i++) {
		np_vec_release(&looking.ranks[i].begins);
		np_vec_release(&looking.ranks[i].computed);
		np_vec_release(&looking.ranks[i].other);
	}
	free(looking.ranks);
	return rc;
}
