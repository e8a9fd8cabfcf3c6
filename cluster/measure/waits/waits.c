/* SPDX-License-Identifier: Apache-2.0 */
/* How long operators waited, by the best estimator that the data allow. */
#include "npuprof/waits.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/map.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/workers.h"

const char *np_estimator_name(enum np_estimator estimator)
{
	static const char *const names[] = {
		[NP_WAIT_NONE] = "none",
		[NP_WAIT_ALIGNED] = "aligned",
		[NP_WAIT_CLOCK_FREE] = "clock-free",
		[NP_WAIT_TASKS] = "tasks",
	};

	return names[estimator];
}

void np_waits_release(struct np_waits *waits)
{
	free(waits->wait);
	free(waits->estimator);
	free(waits->came);
	np_vec_release(&waits->sums);
	waits->came = NULL;
	waits->wait = NULL;
	waits->estimator = NULL;
}

np_ns np_waits_transit(const struct np_align *align, const struct np_waits *waits, uint32_t slot)
{
	const struct np_comm_op *op = np_align_op(align, slot);

	if (waits->wait[slot] == NP_UNKNOWN)
		return NP_UNKNOWN;
	return op->end - op->start - waits->wait[slot];
}

/*
 * Clocks are good enough for the waits of a communicator when they are wrong by
 * less than this (50 µs), or by less than half of what a member waits.
 */
#define GOOD_CLOCK_NS 50000

/* Members compared for the agreement of estimators, at most. */
#define MOST_COMPARED ((size_t)1 << 18)

struct wait_pool {
	const struct np_align *align;
	const struct np_clock *clock;
	struct np_waits *waits;
	size_t compare_every; /* instance */
	struct wait_job *jobs;
};

/* A sum while it is built. */
struct wait_row {
	struct np_wait_sum sum;
	np_ns by[NP_WAIT_ESTIMATORS]; /* elapsed time of each */
};

/* The instances of one communicator. */
struct wait_job {
	const struct np_align *align;
	const struct np_clock *clock;
	struct np_waits *waits;
	size_t compare_every;
	bool trusted; /* the clocks are good enough */
	size_t ops[NP_WAIT_ESTIMATORS];
	size_t out_of_order;
	NP_VEC(struct wait_row) rows;
	struct np_numbers row_places; /* by step */
	NP_VEC(np_ns) apart;          /* of estimators */
	np_ns *starts;                /* for the members of any instance */
	struct np_err err;
};

/* What is known of an instance before an estimator is chosen. */
struct wait_view {
	const struct np_instance *instance;
	np_ns *starts; /* of its members on the common clock; may be NULL */
	bool related;
	bool tasks;     /* known for all members */
	np_ns transfer; /* where not all members were profiled, and some of them know: for the rest
			 */
	np_ns last;     /* start and first end, on the common clock */
	np_ns first_end;
	np_ns arrival;
	np_ns shortest;
	np_ns first_other; /* start of a member that is not the root */
	np_ns root;
};

static void see_member(const struct np_align *align, const struct np_clock *clock,
		       struct wait_view *view, uint32_t slot)
{
	const struct np_comm_op *op = np_align_op(align, slot);
	uint32_t rank = align->members[slot].rank;
	np_ns start = np_clock_time(clock, rank, op->start);
	np_ns end = np_clock_time(clock, rank, op->end);

	if (view->starts)
		view->starts[slot - view->instance->first] = start;
	view->related &= np_clock_related(clock, align->members[view->instance->first].rank, rank);
	view->tasks &= op->transfer != NP_LENGTH_UNKNOWN;
	if (start > view->last)
		view->last = start;
	if (end < view->first_end)
		view->first_end = end;
	if (op->end - op->start < view->shortest)
		view->shortest = op->end - op->start;
	if (slot == view->instance->root)
		view->root = start;
	else if (start < view->first_other)
		view->first_other = start;
}

static struct wait_view see(const struct np_align *align, const struct np_clock *clock,
			    const struct np_instance *instance, np_ns *starts)
{
	struct wait_view view = { .instance = instance,
				  .starts = starts,
				  .related = true,
				  .tasks = true,
				  .last = -NP_NS_MAX,
				  .first_end = NP_NS_MAX,
				  .shortest = NP_NS_MAX,
				  .first_other = NP_NS_MAX };

	for (uint32_t i = 0; i < instance->count; i++)
		see_member(align, clock, &view, instance->first + i);
	view.arrival = view.last < view.first_end ? view.last : view.first_end;
	view.transfer = view.tasks || np_instance_complete(instance)
				? NP_UNKNOWN
				: np_align_transfer(align, instance);
	return view;
}

/* --- estimators ------------------------------------------------------------------------------- */

static np_ns between(np_ns value, np_ns most)
{
	if (value < 0)
		return 0;
	return value < most ? value : most;
}

/* Until when a member waits, by the rule of the operator. */
static np_ns awaited(const struct wait_view *view, uint32_t slot)
{
	switch ((enum np_rule)view->instance->rule) {
	case NP_RULE_FROM_ROOT:
		return slot == view->instance->root ? -NP_NS_MAX : view->root;
	case NP_RULE_TO_ROOT:
		return slot == view->instance->root ? view->first_other : -NP_NS_MAX;
	case NP_RULE_ALL:
	case NP_RULE_PAIR:
	case NP_RULE_PAIRWISE:
		break;
	}
	return view->arrival;
}

static np_ns aligned_wait(const struct wait_job *job, const struct wait_view *view, uint32_t slot)
{
	const struct np_comm_op *op = np_align_op(job->align, slot);

	return between(awaited(view, slot) - view->starts[slot - view->instance->first],
		       op->end - op->start);
}

static np_ns wait_by(const struct wait_job *job, const struct wait_view *view, uint32_t slot,
		     enum np_estimator estimator)
{
	const struct np_comm_op *op = np_align_op(job->align, slot);
	const struct np_rank *rank = job->align->run->ranks[job->align->members[slot].rank];
	np_ns elapsed = op->end - op->start;

	switch (estimator) {
	case NP_WAIT_ALIGNED:
		return aligned_wait(job, view, slot);
	case NP_WAIT_CLOCK_FREE:
		return elapsed - view->shortest;
	case NP_WAIT_TASKS:
		return between(elapsed - (op->transfer == NP_LENGTH_UNKNOWN
						  ? view->transfer
						  : np_rank_length(rank, op->transfer)),
			       elapsed);
	case NP_WAIT_NONE:
	case NP_WAIT_ESTIMATORS:
		break;
	}
	return NP_UNKNOWN;
}

static bool is_rooted(const struct np_instance *instance)
{
	return instance->rule == NP_RULE_FROM_ROOT || instance->rule == NP_RULE_TO_ROOT;
}

/* Members that end together, so that the shortest gives the transit of all. */
static bool ends_together(const struct np_instance *instance)
{
	return instance->rule == NP_RULE_ALL || instance->rule == NP_RULE_PAIR;
}

static bool can_align(const struct wait_view *view)
{
	return view->related && (view->instance->count > 1 || view->instance->expected == 1) &&
	       (!is_rooted(view->instance) || view->instance->root != NP_NO_ROOT);
}

static enum np_estimator choose(const struct wait_view *view, bool trusted)
{
	const struct np_instance *instance = view->instance;
	bool aligned = trusted && can_align(view);

	/* Only the tasks know of waiting for ranks that were not profiled. */
	if (!np_instance_complete(instance) && (view->tasks || view->transfer != NP_UNKNOWN))
		return NP_WAIT_TASKS;
	/* Whoever is done before the last has come did not wait for it. */
	if (instance->rule == NP_RULE_PAIRWISE && view->tasks && view->last > view->first_end)
		return NP_WAIT_TASKS;
	if (aligned)
		return NP_WAIT_ALIGNED;
	if (view->tasks)
		return NP_WAIT_TASKS;
	if (ends_together(instance) && instance->count > 1)
		return NP_WAIT_CLOCK_FREE;
	return NP_WAIT_NONE;
}

/* --- sums ------------------------------------------------------------------------------------- */

static struct wait_row *row_of(struct wait_job *job, uint32_t communicator, np_str step)
{
	uint32_t place = np_numbers_get(&job->row_places, step);
	struct wait_row *row;

	if (place != NP_MAP_NONE)
		return &job->rows.item[place];
	place = (uint32_t)job->rows.count;
	row = np_vec_add(&job->rows, &job->err);
	if (!row || np_numbers_add(&job->row_places, step, place, &job->err) < 0)
		return NULL;
	row->sum.communicator = communicator;
	row->sum.step = step;
	return row;
}

static int add_to_sum(struct wait_job *job, const struct np_instance *instance, uint32_t slot)
{
	const struct np_member *member = &job->align->members[slot];
	const struct np_rank *rank = job->align->run->ranks[member->rank];
	const struct np_comm_op *op = &rank->ops.item[member->op];
	np_ns elapsed = op->end - op->start;
	np_ns wait = job->waits->wait[slot];
	struct wait_row *row;

	if (op->step == NP_NO_STEP)
		return NP_OK;
	row = row_of(job, instance->communicator, rank->steps.item[op->step].id);
	if (!row)
		return NP_E_NOMEM;
	row->sum.ops++;
	row->sum.elapsed += elapsed;
	row->by[job->waits->estimator[slot]] += elapsed;
	if (wait == NP_UNKNOWN) {
		row->sum.unknown += elapsed;
		return NP_OK;
	}
	row->sum.wait += wait;
	row->sum.transit += elapsed - wait;
	return NP_OK;
}

static enum np_estimator of_most(const struct wait_row *row)
{
	enum np_estimator most = NP_WAIT_NONE;

	for (int i = NP_WAIT_NONE + 1; i < NP_WAIT_ESTIMATORS; i++) {
		if (row->by[i] > row->by[most])
			most = (enum np_estimator)i;
	}
	return most;
}

/* --- one communicator ------------------------------------------------------------------------- */

static int compare(struct wait_job *job, const struct wait_view *view)
{
	const struct np_instance *instance = view->instance;

	if (!can_align(view) || !ends_together(instance) || !np_instance_complete(instance) ||
	    instance->count < 2)
		return NP_OK;
	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t slot = instance->first + i;
		np_ns *apart = np_vec_add(&job->apart, &job->err);

		if (!apart)
			return NP_E_NOMEM;
		*apart = wait_by(job, view, slot, NP_WAIT_ALIGNED) -
			 wait_by(job, view, slot, NP_WAIT_CLOCK_FREE);
		if (*apart < 0)
			*apart = -*apart;
	}
	return NP_OK;
}

static int split(struct wait_job *job, const struct wait_view *view)
{
	const struct np_instance *instance = view->instance;
	enum np_estimator estimator = choose(view, job->trusted);
	np_ns came = -NP_NS_MAX;
	int rc = NP_OK;

	job->ops[estimator] += instance->count;
	job->out_of_order +=
		view->related && ends_together(instance) && view->last > view->first_end;
	for (uint32_t i = 0; i < instance->count && rc == NP_OK; i++) {
		uint32_t slot = instance->first + i;
		np_ns wait = wait_by(job, view, slot, estimator);
		np_ns started = view->starts[i] + (wait == NP_UNKNOWN ? 0 : wait);

		job->waits->wait[slot] = wait;
		job->waits->estimator[slot] = (uint8_t)estimator;
		came = started > came ? started : came;
		rc = add_to_sum(job, instance, slot);
	}
	job->waits->came[instance - job->align->instances.item] = came;
	return rc;
}

/* The worst of the usual residuals of a communicator's ranks, or what messages leave open. */
static np_ns residual_of(const struct wait_pool *pool,
			 const struct np_align_communicator *communicator)
{
	const struct np_clock_rank *first = NULL;
	np_ns worst = pool->clock->uncertainty;

	for (uint32_t i = 0; i < communicator->observed; i++) {
		const struct np_clock_rank *rank =
			&pool->clock->ranks[pool->align->coverage.item[communicator->coverage + i]
						    .rank];

		first = first ? first : rank;
		if (rank->residual_p50 != NP_UNKNOWN && rank->residual_p50 > worst)
			worst = rank->residual_p50;
		if (rank->core != first->core && rank->room > worst)
			worst = rank->room;
	}
	return worst;
}

/* Do the members wait, by the clock, for more than the clock may be wrong by? */
static bool waits_exceed(const struct wait_job *job,
			 const struct np_align_communicator *communicator, np_ns residual)
{
	double total = 0;
	size_t count = 0;

	for (uint32_t i = 0; i < communicator->count; i++) {
		const struct np_instance *instance =
			&job->align->instances.item[communicator->first + i];
		struct wait_view view = see(job->align, job->clock, instance, job->starts);

		if (!can_align(&view))
			continue;
		for (uint32_t j = 0; j < instance->count; j++)
			total += (double)aligned_wait(job, &view, instance->first + j);
		count += instance->count;
	}
	return total > 2 * (double)residual * (double)count;
}

static int measure(struct wait_job *job, const struct np_align_communicator *communicator)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < communicator->count && rc == NP_OK; i++) {
		const struct np_instance *instance =
			&job->align->instances.item[communicator->first + i];
		struct wait_view view = see(job->align, job->clock, instance, job->starts);

		rc = split(job, &view);
		if (rc == NP_OK && (communicator->first + i) % job->compare_every == 0)
			rc = compare(job, &view);
	}
	return rc;
}

/* Room for the members of the largest instance. */
static np_ns *new_starts(const struct np_align *align,
			 const struct np_align_communicator *communicator, struct np_err *err)
{
	uint32_t most = 1;
	np_ns *starts;

	for (uint32_t i = 0; i < communicator->count; i++) {
		uint32_t count = align->instances.item[communicator->first + i].count;

		most = count > most ? count : most;
	}
	starts = malloc(most * sizeof(*starts));
	if (!starts)
		(void)np_fail_nomem(err, "waits");
	return starts;
}

static void measure_one(void *context, size_t index)
{
	struct wait_pool *pool = context;
	const struct np_align_communicator *communicator = &pool->align->communicators.item[index];
	struct wait_job *job = &pool->jobs[index];
	np_ns residual = residual_of(pool, communicator);

	job->align = pool->align;
	job->clock = pool->clock;
	job->waits = pool->waits;
	job->compare_every = pool->compare_every;
	job->starts = new_starts(pool->align, communicator, &job->err);
	if (!job->starts)
		return;
	job->trusted = residual <= GOOD_CLOCK_NS || waits_exceed(job, communicator, residual);
	/* A failure stays in job->err. */
	(void)!measure(job, communicator);
	free(job->starts);
}

/* --- everything ------------------------------------------------------------------------------- */

static int join_agreement(const struct wait_pool *pool, struct np_waits *waits, struct np_err *err)
{
	size_t count = pool->align->communicators.count;
	size_t total = 0;
	np_ns *all;

	for (size_t i = 0; i < count; i++)
		total += pool->jobs[i].apart.count;
	waits->compared = total;
	waits->agreement_p50 = NP_UNKNOWN;
	waits->agreement_p90 = NP_UNKNOWN;
	if (total == 0)
		return NP_OK;
	all = malloc(total * sizeof(*all));
	if (!all)
		return np_fail_nomem(err, "waits");
	total = 0;
	for (size_t i = 0; i < count; i++) {
		if (pool->jobs[i].apart.count > 0)
			memcpy(&all[total], pool->jobs[i].apart.item,
			       pool->jobs[i].apart.count * sizeof(*all));
		total += pool->jobs[i].apart.count;
	}
	qsort(all, total, sizeof(*all), np_by_int64);
	waits->agreement_p50 = all[(total - 1) / 2];
	waits->agreement_p90 = all[(total - 1) * 9 / 10];
	free(all);
	return NP_OK;
}

static int join(const struct wait_pool *pool, struct np_waits *waits, struct np_err *err)
{
	for (size_t i = 0; i < pool->align->communicators.count; i++) {
		struct wait_job *job = &pool->jobs[i];

		if (job->err.code != NP_OK)
			return np_fail(err, job->err.code, "%s", job->err.text);
		waits->out_of_order += job->out_of_order;
		for (int j = 0; j < NP_WAIT_ESTIMATORS; j++)
			waits->ops[j] += job->ops[j];
		for (size_t j = 0; j < job->rows.count; j++) {
			struct np_wait_sum *sum = np_vec_add(&waits->sums, err);

			if (!sum)
				return NP_E_NOMEM;
			*sum = job->rows.item[j].sum;
			sum->estimator = of_most(&job->rows.item[j]);
		}
	}
	return join_agreement(pool, waits, err);
}

int np_waits_measure(const struct np_align *align, const struct np_clock *clock, size_t threads,
		     struct np_waits *ret, struct np_err *err)
{
	size_t count = align->communicators.count;
	struct np_waits waits = { 0 };
	struct np_workers workers = { .threads = threads };
	struct wait_pool pool = { .align = align, .clock = clock, .waits = &waits };
	int rc;

	waits.wait = malloc(((size_t)align->op_count + 1) * sizeof(*waits.wait));
	waits.estimator = malloc((size_t)align->op_count + 1);
	waits.came = malloc((align->instances.count + 1) * sizeof(*waits.came));
	pool.jobs = calloc(count + 1, sizeof(*pool.jobs));
	pool.compare_every = align->op_count / MOST_COMPARED + 1;
	if (waits.wait && waits.estimator && waits.came && pool.jobs) {
		np_workers_run(&workers, count, measure_one, &pool);
		rc = join(&pool, &waits, err);
	} else {
		rc = np_fail_nomem(err, "waits");
	}
	for (size_t i = 0; pool.jobs && i < count; i++) {
		np_vec_release(&pool.jobs[i].rows);
		np_numbers_release(&pool.jobs[i].row_places);
		np_vec_release(&pool.jobs[i].apart);
	}
	free(pool.jobs);
	if (rc < 0) {
		np_waits_release(&waits);
		return rc;
	}
	*ret = waits;
	return NP_OK;
}
