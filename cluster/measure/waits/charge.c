/* SPDX-License-Identifier: Apache-2.0 */
/* Who made whom wait: the waiting in each instance, charged to those that came late. */
#include "npuprof/charge.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/workers.h"

#include <math.h>

/* Runs up to this length are sorted by insertion. */
#define SHORT_RUN 16

void np_charging_release(struct np_charging *charging)
{
	free(charging->arrivals);
	free(charging->other);
	*charging = (struct np_charging){ 0 };
}

static int make_room(struct np_charging *charging, size_t count, struct np_err *err)
{
	size_t room = count < 64 ? 64 : count;

	if (count <= charging->room)
		return NP_OK;
	np_charging_release(charging);
	charging->arrivals = malloc(room * sizeof(*charging->arrivals));
	charging->other = malloc(room * sizeof(*charging->other));
	if (!charging->arrivals || !charging->other)
		return np_fail_nomem(err, "charges");
	charging->room = room;
	return NP_OK;
}

/* --- order ------------------------------------------------------------------------------------ */

static void sort_run(struct np_arrival *arrivals, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct np_arrival each = arrivals[i];
		size_t to = i;

		for (; to > 0 && arrivals[to - 1].wait < each.wait; to--)
			arrivals[to] = arrivals[to - 1];
		arrivals[to] = each;
	}
}

/* Of equals the left one comes first. */
static void merge(const struct np_arrival *left, size_t left_count, const struct np_arrival *right,
		  size_t right_count, struct np_arrival *ret)
{
	size_t i = 0;
	size_t j = 0;

	while (i < left_count && j < right_count)
		*ret++ = left[i].wait >= right[j].wait ? left[i++] : right[j++];
	while (i < left_count)
		*ret++ = left[i++];
	while (j < right_count)
		*ret++ = right[j++];
}

/* Who waited longest came first; of those who came together the first member stands first. */
static void sort_arrivals(struct np_charging *charging, size_t count)
{
	for (size_t i = 0; i < count; i += SHORT_RUN)
		sort_run(&charging->arrivals[i], count - i < SHORT_RUN ? count - i : SHORT_RUN);
	for (size_t run = SHORT_RUN; run < count; run *= 2) {
		struct np_arrival *from = charging->arrivals;

		for (size_t i = 0; i < count; i += 2 * run) {
			size_t left = count - i < run ? count - i : run;
			size_t right = count - i - left < run ? count - i - left : run;

			merge(&from[i], left, &from[i + left], right, &charging->other[i]);
		}
		charging->arrivals = charging->other;
		charging->other = from;
	}
}

int np_charging_see(struct np_charging *charging, const np_ns *wait, size_t count, np_ns floor,
		    struct np_err *err)
{
	int rc = make_room(charging, count, err);

	if (rc < 0)
		return rc;
	/* What is unknown is below every floor. */
	for (size_t i = 0; i < count; i++)
		charging->arrivals[i] =
			(struct np_arrival){ wait[i] < floor ? 0 : wait[i], (uint32_t)i };
	sort_arrivals(charging, count);
	return NP_OK;
}

/* --- charges ---------------------------------------------------------------------------------- */

/*
 * While the first m are there and the next is not, m of them wait, and all the
 * others owe that in equal parts; what does not divide goes to the first of
 * these, a nanosecond each. So everybody owes the parts of all gaps before it,
 * and the odd nanoseconds of those gaps whose rest reaches as far as to it.
 */
np_ns np_charging_charge(struct np_charging *charging, size_t count, np_ns *charge)
{
	const struct np_arrival *arrivals = charging->arrivals;
	struct np_arrival *ends = charging->other; /* how many rests end before this place */
	np_ns parts = 0;
	np_ns odd = 0;

	if (count == 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		ends[i].member = 0;
	charge[arrivals[0].member] = 0;
	for (size_t m = 1; m < count; m++) {
		np_ns late = (np_ns)(count - m);
		np_ns waited = (np_ns)m * (arrivals[m - 1].wait - arrivals[m].wait);

		odd -= ends[m].member;
		parts += waited / late;
		if (waited % late > 0) {
			odd++;
			ends[m + (size_t)(waited % late)].member++;
		}
		charge[arrivals[m].member] = parts + odd;
	}
	return arrivals[count - 1].wait * (np_ns)count;
}

/* Charges of one communicator. */
struct charge_job {
	NP_VEC(struct np_charge_row) rows;
	np_ns total;
	np_ns unprofiled;
	np_ns unattributed;
	np_ns unsure;
	struct np_err err;
};

/* Which ranks of the job were profiled, as far as is known. */
enum profiled {
	PROFILED_ALL,
	PROFILED_SOME,
	PROFILED_UNKNOWN,
};

struct charge_pool {
	const struct np_align *align;
	const struct np_clock *clock;
	const struct np_waits *waits;
	enum profiled profiled;
	struct charge_job *jobs;
};

/* While the instances of a communicator are charged. */
struct charge_work {
	const struct charge_pool *pool;
	struct charge_job *job;
	const struct np_align_communicator *communicator;
	struct np_charging charging;
	np_ns *charge;              /* by member */
	uint32_t *row;              /* by member of the communicator: where it was charged last */
	struct np_idmap *row_index; /* step and rank → row */
};

/* --- one communicator ------------------------------------------------------------------------- */

static int row_of(struct charge_work *work, np_str step, uint32_t rank, struct np_charge_row **ret)
{
	struct charge_job *job = work->job;
	int64_t key = (int64_t)((uint64_t)step << 32 | rank);
	uint32_t known = np_idmap_get(work->row_index, key);

	if (known != NP_IDMAP_NONE) {
		*ret = &job->rows.item[known];
		return NP_OK;
	}
	*ret = np_vec_add(&job->rows, &job->err);
	if (!*ret)
		return NP_E_NOMEM;
	**ret = (struct np_charge_row){ .rank = rank, .step = step };
	return np_idmap_set(work->row_index, key, (uint32_t)(job->rows.count - 1), &job->err);
}

/* `place` is where the row of the rank was found last: steps come one after the other. */
static int add_charge(struct charge_work *work, uint32_t *place, np_str step, uint32_t rank,
		      np_ns charge)
{
	struct charge_job *job = work->job;
	struct np_charge_row *row = NULL;
	int rc = NP_OK;

	if (*place < job->rows.count && job->rows.item[*place].rank == rank &&
	    job->rows.item[*place].step == step)
		row = &job->rows.item[*place];
	else
		rc = row_of(work, step, rank, &row);
	if (rc < 0)
		return rc;
	row->charge += charge;
	*place = (uint32_t)(row - job->rows.item);
	return NP_OK;
}

/* The sum of an instance's waits; NP_UNKNOWN, and `ret_part` what is known, where not all are. */
static np_ns sum_of(const np_ns *wait, uint32_t count, np_ns *ret_part)
{
	np_ns sum = 0;
	bool known = true;

	for (uint32_t i = 0; i < count; i++) {
		known &= wait[i] != NP_UNKNOWN;
		sum += wait[i] != NP_UNKNOWN ? wait[i] : 0;
	}
	*ret_part = sum;
	return known ? sum : NP_UNKNOWN;
}

/* Members that were not profiled may be what the profiled ones waited for alike. */
static void charge_the_rest(struct charge_work *work, const struct np_instance *instance,
			    np_ns alike)
{
	bool open = (instance->flags & NP_INSTANCE_OPEN) != 0;

	/* Where all were profiled, an operator was not recorded, or matched with no other. */
	if (open ? work->pool->profiled == PROFILED_SOME
		 : instance->count < instance->expected &&
			    work->communicator->observed < work->communicator->size)
		work->job->unprofiled += alike;
	else
		work->job->unattributed += alike;
	if (open && work->pool->profiled == PROFILED_UNKNOWN)
		work->job->unsure += alike;
}

np_ns np_charge_floor(const struct np_clock *clock, const struct np_waits *waits,
		      const struct np_instance *instance)
{
	if (waits->estimator[instance->first] != NP_WAIT_ALIGNED ||
	    clock->residual_p90 == NP_UNKNOWN)
		return 0;
	return clock->residual_p90;
}

static int charge_instance(struct charge_work *work, const struct np_instance *instance)
{
	const struct charge_pool *pool = work->pool;
	const np_ns *wait = &pool->waits->wait[instance->first];
	np_ns part;
	np_ns sum = sum_of(wait, instance->count, &part);
	np_ns alike;
	int rc;

	work->job->total += part;
	/* Where one is not known, nobody can be charged for the others. */
	if (sum == NP_UNKNOWN) {
		work->job->unattributed += part;
		return NP_OK;
	}
	rc = np_charging_see(&work->charging, wait, instance->count,
			     np_charge_floor(pool->clock, pool->waits, instance), &work->job->err);
	if (rc < 0)
		return rc;
	alike = np_charging_charge(&work->charging, instance->count, work->charge);
	charge_the_rest(work, instance, alike);
	sum -= alike;
	for (uint32_t i = 0; i < instance->count && rc == NP_OK; i++) {
		if (work->charge[i] == 0)
			continue;
		sum -= work->charge[i];
		rc = add_charge(work, &work->row[i], instance->step,
				pool->align->members[instance->first + i].rank, work->charge[i]);
	}
	/* What is left is below the floor. */
	work->job->unattributed += sum;
	return rc;
}

static int charge_communicator(struct charge_work *work)
{
	const struct np_align_communicator *each = work->communicator;
	const struct np_instance *instances = work->pool->align->instances.item + each->first;
	size_t most = 1;
	int rc = NP_OK;

	for (uint32_t i = 0; i < each->count; i++)
		most = instances[i].count > most ? instances[i].count : most;
	work->charge = malloc(most * sizeof(*work->charge));
	work->row = calloc(most, sizeof(*work->row));
	work->row_index = np_idmap_new();
	if (!work->charge || !work->row || !work->row_index)
		return np_fail_nomem(&work->job->err, "charges");
	for (uint32_t i = 0; i < each->count && rc == NP_OK; i++)
		rc = charge_instance(work, &instances[i]);
	return rc;
}

static void charge_one(void *context, size_t index)
{
	struct charge_pool *pool = context;
	struct charge_work work = { .pool = pool,
				    .job = &pool->jobs[index],
				    .communicator = &pool->align->communicators.item[index] };

	/* A failure stays in the job. */
	(void)!charge_communicator(&work);
	np_charging_release(&work.charging);
	free(work.charge);
	free(work.row);
	np_idmap_free(work.row_index);
}

/* --- one run --------------------------------------------------------------------------------- */

/* The first member that did not wait was the last to come. */
static void count_arrivals(const struct charge_pool *pool, struct np_charge_rank *ranks,
			   const struct np_instance *instance)
{
	const struct np_member *members = &pool->align->members[instance->first];
	const np_ns *wait = &pool->waits->wait[instance->first];
	uint32_t last = 0;
	bool known = true;

	for (uint32_t i = 0; i < instance->count; i++) {
		known &= wait[i] != NP_UNKNOWN;
		last = wait[i] < wait[last] ? i : last;
	}
	if (!known || instance->count < 2)
		return;
	for (uint32_t i = 0; i < instance->count; i++)
		ranks[members[i].rank].instances++;
	ranks[members[last].rank].last_arrivals++;
}

/* So many ranks there are at least, by what a rank says of its communicators. */
static int32_t least_by_groups(const struct np_rank *rank)
{
	int32_t least = 0;

	for (size_t i = 0; i < rank->groups.count; i++) {
		const struct np_group *group = &rank->groups.item[i];
		int32_t last = group->group_rank;

		for (size_t j = 0; j < group->member_count; j++)
			last = group->members[j] > last ? group->members[j] : last;
		least = last >= least && last < INT32_MAX ? last + 1 : least;
	}
	return least;
}

/* Of the ranks of the job, were all profiled? What nobody says the size of is unknown. */
static enum profiled find_profiled(const struct np_align *align, int32_t world)
{
	const struct np_run *run = align->run;
	size_t used = 0;
	int32_t least = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];
		int32_t known = rank ? least_by_groups(rank) : 0;

		if (run->sources.item[i].rank >= least)
			least = run->sources.item[i].rank + 1;
		least = known > least ? known : least;
		if (rank && rank->parallel.world > world)
			world = rank->parallel.world;
		used += rank != NULL;
	}
	for (size_t i = 0; i < align->communicators.count; i++) {
		if (align->communicators.item[i].size > (uint32_t)least)
			least = (int32_t)align->communicators.item[i].size;
	}
	if ((size_t)least > used || (size_t)world > used)
		return PROFILED_SOME;
	return world > 0 ? PROFILED_ALL : PROFILED_UNKNOWN;
}

static int join(const struct charge_pool *pool, struct np_charges *charges, struct np_err *err)
{
	for (uint32_t i = 0; i < pool->align->communicators.count; i++) {
		const struct charge_job *job = &pool->jobs[i];

		if (job->err.code != NP_OK)
			return np_fail(err, job->err.code, "%s", job->err.text);
		charges->total += job->total;
		charges->unprofiled += job->unprofiled;
		charges->unprofiled_in[i] = job->unprofiled;
		charges->unattributed += job->unattributed;
		charges->unsure += job->unsure;
		charges->unsure_in[i] = job->unsure;
		for (size_t j = 0; j < job->rows.count; j++) {
			struct np_charge_row *row = np_vec_add(&charges->rows, err);

			if (!row)
				return NP_E_NOMEM;
			*row = job->rows.item[j];
			row->communicator = i;
			charges->ranks[row->rank].charge += row->charge;
		}
	}
	for (size_t i = 0; i < pool->align->instances.count; i++)
		count_arrivals(pool, charges->ranks, &pool->align->instances.item[i]);
	return NP_OK;
}

static int charge_all(struct charge_pool *pool, size_t threads, struct np_charges *charges,
		      struct np_err *err)
{
	size_t count = pool->align->communicators.count;
	struct np_workers workers = { .threads = threads };
	int rc;

	pool->jobs = calloc(count + 1, sizeof(*pool->jobs));
	if (!pool->jobs)
		return np_fail_nomem(err, "charges");
	np_workers_run(&workers, count, charge_one, pool);
	rc = join(pool, charges, err);
	for (size_t i = 0; i < count; i++)
		np_vec_release(&pool->jobs[i].rows);
	free(pool->jobs);
	return rc;
}

int np_charges_measure(const struct np_align *align, const struct np_clock *clock,
		       const struct np_waits *waits, int32_t world, size_t threads,
		       struct np_charges *ret, struct np_err *err)
{
	struct np_charges charges = { .rank_count = align->run->sources.count };
	struct charge_pool pool = { .align = align,
				    .clock = clock,
				    .waits = waits,
				    .profiled = find_profiled(align, world) };
	int rc;

	charges.ranks = calloc(charges.rank_count + 1, sizeof(*charges.ranks));
	charges.unprofiled_in =
		calloc(align->communicators.count + 1, sizeof(*charges.unprofiled_in));
	charges.unsure_in = calloc(align->communicators.count + 1, sizeof(*charges.unsure_in));
	rc = charges.ranks && charges.unprofiled_in && charges.unsure_in
		     ? charge_all(&pool, threads, &charges, err)
		     : np_fail_nomem(err, "charges");
	if (rc < 0) {
		np_charges_release(&charges);
		return rc;
	}
	*ret = charges;
	return NP_OK;
}

void np_charges_release(struct np_charges *charges)
{
	free(charges->ranks);
	free(charges->unprofiled_in);
	free(charges->unsure_in);
	charges->ranks = NULL;
	charges->unprofiled_in = NULL;
	charges->unsure_in = NULL;
	np_vec_release(&charges->rows);
}

void np_charge_order_release(struct np_charge_order *order)
{
	free(order->ranks);
	order->ranks = NULL;
}
