/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over all instances, backwards in time, that passes charges on to their causes. */
#include "npuprof/root_cause.h"

#include "root_cause_ahead.h"

#include "npuprof/align.h"
#include "npuprof/apportion.h"
#include "npuprof/idmap.h"
#include "npuprof/workers.h"

#include <math.h>

/*
 * What does not depend on charges passed on is found ahead of the walk, for one block
 * of it after the other and on several threads (root_cause_ahead.c): who is charged
 * what by the late arrival itself, and what each did more of than those who waited for
 * it since they were last together (root_cause_explain.c), by sums over its activity
 * (root_cause_progress.c).
 *
 * An operator of the run is named by its "at": the ranks' operators one after
 * the other, as in np_align.slots.
 */

/* Parts of a row: one for each cause, one for what was passed on. */
enum {
	ROW_PASSED = NP_CAUSES,
	ROW_PARTS
};

/* How the charges of a row of np_charges.rows are explained. */
struct row_parts {
	double by[ROW_PARTS];
	double via;      /* the most that one operator took over, … */
	uint32_t via_at; /* … and which */
};

/* Where the row of a rank in a communicator was found last. */
struct row_place {
	np_str step;
	uint32_t row;
};

#define AMOUNT_PAGE 64

/* Amounts of neighbouring operators. */
struct amount_page {
	np_ns by[AMOUNT_PAGE];
	uint32_t used; /* that are not zero; … */
	uint32_t next; /* … of a page without any: the next such one */
};

/*
 * Amounts by operator. The walk leaves few behind it and few are known ahead of
 * it, so pages are used again as soon as nothing is left in them.
 */
struct amounts {
	uint32_t *page; /* of so many operators, + 1; 0 for none */
	NP_VEC(struct amount_page) pages;
	uint32_t free; /* the first page without amounts, + 1 */
};

/* What each rank caused in each step. */
struct step_charges {
	struct np_idmap *index; /* step → row */
	NP_VEC(np_ns *) rows;   /* by rank */
	np_ns *now;             /* row of the instance at hand; NULL for none */
	np_str step;            /* of that row */
};

/* What the walk has come to. */
struct tracer {
	const struct np_align *align;
	const struct np_charges *charges;
	struct np_root_causes *causes;
	struct np_err *err;
	struct progress progress;
	struct common common;
	struct explainer explainer; /* of the walk; found for what charges passed on ask */
	struct ahead ahead;
	struct amounts passed; /* by at: charges elsewhere that waiting here caused */
	np_ns worth;           /* charges below this are not explained */
	waited_list waited;
	NP_VEC(np_ns) received; /* by member: passed on to it by members that waited for it */
	NP_VEC(double) weights;
	NP_VEC(int64_t) parts;
	struct np_idmap *edge_index;  /* rank, victim and communicator → edge */
	struct np_idmap *row_index;   /* row of coverage and step → row of charges */
	struct row_place *row_places; /* by row of coverage */
	struct row_parts *row_parts;  /* by row of charges */
	struct step_charges steps;
};

/* --- steps -------------------------------------------------------------------------------------
 */

/* Costs are of this step from now on. */
static int steps_enter(struct tracer *tracer, np_str step)
{
	struct step_charges *steps = &tracer->steps;
	uint32_t known;
	np_ns **row;

	if (steps->now && steps->step == step)
		return NP_OK;
	known = np_idmap_get(steps->index, step);
	if (known == NP_IDMAP_NONE) {
		known = (uint32_t)steps->rows.count;
		row = np_vec_add(&steps->rows, tracer->err);
		if (!row)
			return NP_E_NOMEM;
		*row = calloc(tracer->causes->rank_count + 1, sizeof(**row));
		if (!*row)
			return np_fail_nomem(tracer->err, "origins of waiting");
		if (np_idmap_set(steps->index, step, known, tracer->err) < 0)
			return NP_E_NOMEM;
	}
	steps->now = steps->rows.item[known];
	steps->step = step;
	return NP_OK;
}

static void steps_release(struct step_charges *steps)
{
	for (size_t i = 0; i < steps->rows.count; i++)
		free(steps->rows.item[i]);
	np_vec_release(&steps->rows);
	np_idmap_free(steps->index);
}

/* So many times the mean is much: half of the ranks, such as a stage of two, can have no more than
 * twice. */
#define MUCH (4.0 / 3)

static void count_step(const np_ns *charges, struct np_root_causes *causes)
{
	double total = 0;

	for (size_t i = 0; i < causes->rank_count; i++)
		total += (double)charges[i];
	if (total <= 0)
		return;
	causes->steps++;
	for (size_t i = 0; i < causes->rank_count; i++)
		causes->ranks[i].steps_heavy +=
			(double)charges[i] * (double)causes->ranks_seen > MUCH * total;
}

/* In which steps each rank cost much. */
static void steps_count_heavy(const struct step_charges *steps, struct np_root_causes *causes)
{
	for (size_t i = 0; i < steps->rows.count; i++)
		count_step(steps->rows.item[i], causes);
}

/* --- amounts -----------------------------------------------------------------------------------
 */

static np_ns take_amount(struct amounts *amounts, uint32_t at)
{
	uint32_t number = amounts->page[at / AMOUNT_PAGE];
	struct amount_page *page;
	np_ns amount;

	if (number == 0)
		return 0;
	page = &amounts->pages.item[number - 1];
	amount = page->by[at % AMOUNT_PAGE];
	if (amount == 0)
		return 0;
	page->by[at % AMOUNT_PAGE] = 0;
	page->used--;
	if (page->used == 0) {
		page->next = amounts->free;
		amounts->free = number;
		amounts->page[at / AMOUNT_PAGE] = 0;
	}
	return amount;
}

/* A page without amounts; the number + 1, 0 when out of memory. */
static uint32_t empty_page(struct amounts *amounts, struct np_err *err)
{
	uint32_t number = amounts->free;

	if (number == 0)
		return np_vec_add(&amounts->pages, err) ? (uint32_t)amounts->pages.count : 0;
	amounts->free = amounts->pages.item[number - 1].next;
	return number;
}

static int add_amount(struct amounts *amounts, uint32_t at, np_ns more, struct np_err *err)
{
	uint32_t *number = &amounts->page[at / AMOUNT_PAGE];
	struct amount_page *page;

	if (more == 0)
		return NP_OK;
	if (*number == 0)
		*number = empty_page(amounts, err);
	if (*number == 0)
		return NP_E_NOMEM;
	page = &amounts->pages.item[*number - 1];
	page->used += page->by[at % AMOUNT_PAGE] == 0;
	page->by[at % AMOUNT_PAGE] += more;
	return NP_OK;
}

/* --- rows of the charges ---------------------------------------------------------------------- */

static int64_t row_key(uint32_t coverage, np_str step)
{
	return (int64_t)((uint64_t)step << 32 | coverage);
}

static int tracer_index_rows(struct tracer *tracer)
{
	const struct np_charges *charges = tracer->charges;
	int rc = NP_OK;

	for (size_t i = 0; i < charges->rows.count && rc == NP_OK; i++) {
		const struct np_charge_row *row = &charges->rows.item[i];
		uint32_t coverage = coverage_of(tracer->align, row->communicator, row->rank);

		rc = np_idmap_set(tracer->row_index, row_key(coverage, row->step), (uint32_t)i,
				  tracer->err);
	}
	for (size_t i = 0; i < tracer->align->coverage.count; i++)
		tracer->row_places[i].row = NP_IDMAP_NONE;
	return rc;
}

static uint32_t row_of(struct tracer *tracer, const struct np_instance *instance,
		       const struct late *late)
{
	struct row_place *place = &tracer->row_places[late->row];

	if (place->row == NP_IDMAP_NONE || place->step != instance->step) {
		place->step = instance->step;
		place->row = np_idmap_get(tracer->row_index, row_key(late->row, instance->step));
	}
	return place->row;
}

/* --- one late arrival ------------------------------------------------------------------------- */

/* What is to be explained of a member. */
struct arrived {
	const struct np_instance *instance;
	uint32_t rank;
	uint32_t op;
	uint32_t row;  /* of charges; NP_IDMAP_NONE without a charge of its own */
	double direct; /* its share of all that it is asked for */
};

/* A charge ends here. */
static void settle(struct tracer *tracer, const struct arrived *arrived, enum np_cause cause,
		   np_ns charge)
{
	struct np_root_cause_rank *causes = &tracer->causes->ranks[arrived->rank];

	if (charge == 0)
		return;
	causes->charge += charge;
	causes->by_cause[cause] += charge;
	tracer->steps.now[arrived->rank] += charge;
	if (arrived->row != NP_IDMAP_NONE)
		tracer->row_parts[arrived->row].by[cause] += arrived->direct * (double)charge;
}

static int room_for_parts(struct tracer *tracer, size_t count)
{
	while (tracer->weights.count < count) {
		if (!np_vec_add(&tracer->weights, tracer->err))
			return NP_E_NOMEM;
	}
	while (tracer->parts.count < count) {
		if (!np_vec_add(&tracer->parts, tracer->err))
			return NP_E_NOMEM;
	}
	return NP_OK;
}

/* A charge goes on to those for whom the rank waited in its operators of the window. */
static int pass(struct tracer *tracer, const struct arrived *arrived, np_ns charge)
{
	const struct np_align *align = tracer->align;
	size_t count = tracer->waited.count;
	int rc = room_for_parts(tracer, count);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		tracer->weights.item[i] = (double)tracer->waited.item[i].ns;
	np_apportion(charge, tracer->weights.item, count, tracer->parts.item);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		uint32_t at = align->rank_first[arrived->rank] + tracer->waited.item[i].op;
		double part = arrived->direct * (double)tracer->parts.item[i];
		struct row_parts *parts;

		rc = add_amount(&tracer->passed, at, tracer->parts.item[i], tracer->err);
		if (arrived->row == NP_IDMAP_NONE)
			continue;
		parts = &tracer->row_parts[arrived->row];
		parts->by[ROW_PASSED] += part;
		if (part > parts->via) {
			parts->via = part;
			parts->via_at = at;
		}
	}
	tracer->causes->ranks[arrived->rank].passed += charge;
	return rc;
}

/* Divide a charge by what the rank did more of than those who waited for it. */
static int divide(struct tracer *tracer, const struct arrived *arrived, const struct late *late,
		  np_ns charge)
{
	static const enum np_cause causes[SPENT_WAIT] = {
		[SPENT_COMPUTE] = NP_CAUSE_COMPUTE,
		[SPENT_HOST] = NP_CAUSE_HOST,
		[SPENT_TRANSFER] = NP_CAUSE_COMMUNICATION,
		[SPENT_UNKNOWN] = NP_CAUSE_UNKNOWN,
	};
	double weights[SPENT_KINDS];
	int64_t parts[SPENT_KINDS];
	uint32_t since;
	int rc;

	for (int i = 0; i < SPENT_KINDS; i++)
		weights[i] = late->more[i];
	np_apportion(charge, weights, SPENT_KINDS, parts);
	for (int i = 0; i < SPENT_WAIT; i++)
		settle(tracer, arrived, causes[i], parts[i]);
	if (parts[SPENT_WAIT] == 0)
		return NP_OK;
	since = since_of(&tracer->explainer, arrived->instance, late);
	rc = progress_waited(&tracer->progress, arrived->rank, since, arrived->op, &tracer->waited,
			     tracer->err);
	if (rc == NP_OK && tracer->waited.count > 0)
		return pass(tracer, arrived, parts[SPENT_WAIT]);
	settle(tracer, arrived, NP_CAUSE_UNKNOWN, parts[SPENT_WAIT]);
	return rc;
}

static int explain(struct tracer *tracer, const struct seen *seen, uint32_t index)
{
	const struct late *late = &seen->members[index];
	np_ns charge = late->charge + tracer->received.item[index];
	struct arrived arrived = { .instance = seen->instance,
				   .rank = late->rank,
				   .op = op_of(tracer->align, late),
				   .row = NP_IDMAP_NONE,
				   .direct = (double)late->charge / (double)charge };

	if (late->charge > 0)
		arrived.row = row_of(tracer, seen->instance, late);
	if (charge >= tracer->worth) {
		if (late->more[0] == NOT_COMPARED)
			explainer_compare(&tracer->explainer, seen, index);
		if (late->more[0] != NOTHING_MORE)
			return divide(tracer, &arrived, late, charge);
	}
	settle(tracer, &arrived, NP_CAUSE_UNKNOWN, charge);
	return NP_OK;
}

/* --- one instance ----------------------------------------------------------------------------- */

/* Charges that nobody can be asked for end with the one who waited. */
static void keep(struct tracer *tracer, uint32_t index, np_ns passed)
{
	struct np_root_cause_rank *rank = &tracer->causes->ranks[index];

	rank->charge += passed;
	rank->by_cause[NP_CAUSE_UNKNOWN] += passed;
	rank->passed -= passed;
	if (tracer->steps.now)
		tracer->steps.now[index] += passed;
}

/* What the members pass on, into `received` for the time being; the sum of it. */
static np_ns collect_passed(struct tracer *tracer, const struct seen *seen)
{
	np_ns all = 0;

	for (uint32_t i = 0; i < seen->instance->count; i++) {
		const struct late *late = &seen->members[i];
		np_ns passed = take_amount(&tracer->passed, late->at);

		__builtin_prefetch(&tracer->passed.page[late[AHEAD_SPARE].at / AMOUNT_PAGE]);
		if (passed > 0 && (!seen->known || late->wait == 0)) {
			keep(tracer, late->rank, passed);
			passed = 0;
		}
		tracer->received.item[i] = passed;
		all += passed;
	}
	return all;
}

/*
 * Weigh the members by how long those with something to pass on waited for each
 * of them: while the first m are there, the rest owes the gap in equal parts.
 * The last weight is that of members that were not profiled.
 */
static void weigh(struct tracer *tracer, const struct seen *seen)
{
	const struct late *members = seen->members;
	uint32_t count = seen->instance->count;
	double rate = 0; /* of charges per nanosecond of waiting of those that are there */
	double owed = 0; /* so far, by each of those to come */

	for (uint32_t m = 0; m < count; m++) {
		uint32_t member = members[m].arrival;
		np_ns wait = members[member].wait;
		np_ns next = m + 1 < count ? members[members[m + 1].arrival].wait : 0;

		tracer->weights.item[member] = owed;
		if (wait > 0)
			rate += (double)tracer->received.item[member] / (double)wait;
		if (m + 1 < count)
			owed += rate * (double)(wait - next) / (double)(count - m - 1);
	}
	/* All waited alike until the last member's wait was over: for somebody else. */
	tracer->weights.item[count] = rate * (double)members[members[count - 1].arrival].wait;
}

static int add_edge(struct tracer *tracer, uint32_t rank, uint32_t victim, uint32_t communicator,
		    np_ns charge)
{
	uint32_t shown = rank == NP_ROOT_CAUSE_UNPROFILED ? (1 << 20) - 1
			 : rank == NP_ROOT_CAUSE_NOBODY   ? (1 << 20) - 2
							  : rank;
	int64_t key = (int64_t)communicator << 40 | (int64_t)victim << 20 | shown;
	uint32_t known;
	struct np_root_cause_edge *edge;

	if (charge < WORTH_EXPLAINING_NS)
		return NP_OK;
	known = np_idmap_get(tracer->edge_index, key);
	if (known != NP_IDMAP_NONE) {
		tracer->causes->edges.item[known].charge += charge;
		return NP_OK;
	}
	edge = np_vec_add(&tracer->causes->edges, tracer->err);
	if (!edge)
		return NP_E_NOMEM;
	*edge = (struct np_root_cause_edge){ rank, victim, communicator, charge };
	return np_idmap_set(tracer->edge_index, key, (uint32_t)(tracer->causes->edges.count - 1),
			    tracer->err);
}

/* The member that passes on most stands for all of them in the chain. */
static uint32_t main_victim(const struct tracer *tracer, const struct seen *seen)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < seen->instance->count; i++) {
		if (tracer->received.item[i] > tracer->received.item[most])
			most = i;
	}
	return seen->members[most].rank;
}

static bool was_all_profiled(const struct tracer *tracer, const struct np_instance *instance)
{
	const struct np_align_communicator *each =
		&tracer->align->communicators.item[instance->communicator];

	return !(instance->flags & NP_INSTANCE_OPEN) && each->observed >= each->size;
}

/* Give what waiting here caused elsewhere to those who were waited for. */
static int receive(struct tracer *tracer, const struct seen *seen, np_ns all)
{
	uint32_t victim = main_victim(tracer, seen);
	uint32_t count = seen->instance->count;
	uint32_t communicator = seen->instance->communicator;
	uint32_t rest = NP_ROOT_CAUSE_UNPROFILED;
	const int64_t *parts;
	int rc = room_for_parts(tracer, (size_t)count + 1);

	if (rc < 0)
		return rc;
	weigh(tracer, seen);
	np_apportion(all, tracer->weights.item, (size_t)count + 1, tracer->parts.item);
	parts = tracer->parts.item;
	for (uint32_t i = 0; i < count && rc == NP_OK; i++) {
		uint32_t rank = seen->members[i].rank;

		tracer->received.item[i] = parts[i];
		tracer->causes->ranks[rank].received += parts[i];
		rc = add_edge(tracer, rank, victim, communicator, parts[i]);
	}
	if (was_all_profiled(tracer, seen->instance)) {
		tracer->causes->unattributed += parts[count];
		rest = NP_ROOT_CAUSE_NOBODY;
	} else {
		tracer->causes->unprofiled += parts[count];
	}
	return rc == NP_OK ? add_edge(tracer, rest, victim, communicator, parts[count]) : rc;
}

/* Pass on what this instance received, and explain what its members are charged. */
static int trace_instance(struct tracer *tracer, const struct seen *seen)
{
	uint32_t count = seen->instance->count;
	np_ns all;
	int rc = steps_enter(tracer, seen->instance->step);

	while (tracer->received.count < count && rc == NP_OK) {
		if (!np_vec_add(&tracer->received, tracer->err))
			return NP_E_NOMEM;
	}
	if (rc < 0)
		return rc;
	/* Blocks use the same memory again. */
	tracer->explainer.typical_of = NULL;
	all = collect_passed(tracer, seen);
	if (all > 0)
		rc = receive(tracer, seen, all);
	tracer->worth = worth_explaining(seen, all);
	for (uint32_t i = 0; i < count && rc == NP_OK; i++) {
		if (seen->members[i].charge + tracer->received.item[i] > 0)
			rc = explain(tracer, seen, i);
	}
	return rc;
}

/*
 * Where two clocks disagree, a charge can be passed to an instance that the walk
 * has left behind: it ends with the rank that waited there.
 */
static void trace_left_behind(struct tracer *tracer)
{
	tracer->steps.now = NULL;
	for (uint32_t rank = 0; rank < tracer->causes->rank_count; rank++) {
		np_ns left = 0;

		for (uint32_t i = tracer->align->rank_first[rank];
		     i < tracer->align->rank_first[rank + 1]; i++)
			left += take_amount(&tracer->passed, i);
		keep(tracer, rank, left);
	}
}

#define NO_COMMUNICATOR UINT32_MAX

/* --- the walk ----------------------------------------------------------------------------------
 */

/* One block is walked over while the next one is looked at. */
struct stride {
	struct tracer *tracer;
	const struct ahead_block *now;
	struct ahead_block *next;
	int rc; /* of the walk */
};

static void take_stride(void *context, size_t job)
{
	struct stride *stride = context;
	const struct seen *seen = stride->now->instances.item;
	size_t count = stride->now->instances.count;

	if (job > 0) {
		ahead_look(&stride->tracer->ahead, stride->next, job - 1);
		return;
	}
	for (size_t i = 0; i < count && stride->rc == NP_OK; i++) {
		if (i + 8 < count)
			__builtin_prefetch(seen[i + 8].instance);
		stride->rc = trace_instance(stride->tracer, &seen[i]);
	}
}

static int walk(struct tracer *tracer, size_t threads)
{
	struct ahead *ahead = &tracer->ahead;
	struct np_workers workers = { .threads = threads };
	struct stride stride = { .tracer = tracer,
				 .now = &ahead->blocks[0],
				 .next = &ahead->blocks[1] };
	int rc = NP_OK;

	while (rc == NP_OK) {
		rc = ahead_fill(ahead, stride.next, tracer->err);
		if (rc < 0 || stride.now->instances.count + stride.next->instances.count == 0)
			break;
		np_workers_run(&workers, 1 + ahead->buckets, take_stride, &stride);
		rc = stride.rc;
		if (rc == NP_OK)
			rc = ahead_check(ahead, tracer->err);
		stride.now = stride.next;
		stride.next = &ahead->blocks[stride.now == &ahead->blocks[0]];
	}
	return rc;
}

static void decide_rows(struct tracer *tracer)
{
	const struct np_align *align = tracer->align;

	for (size_t row = 0; row < tracer->charges->rows.count; row++) {
		const struct row_parts *parts = &tracer->row_parts[row];
		struct np_root_cause_row *decided = &tracer->causes->rows[row];
		int most = 0;

		for (int part = 1; part < ROW_PARTS; part++)
			most = parts->by[part] > parts->by[most] ? part : most;
		if (parts->by[most] <= 0)
			most = NP_CAUSE_UNKNOWN;
		decided->via = NO_COMMUNICATOR;
		decided->cause = most == ROW_PASSED ? NP_CAUSE_COMMUNICATION : (enum np_cause)most;
		if (most == ROW_PASSED)
			decided->via =
				np_align_instance(align, align->slots[parts->via_at])->communicator;
	}
}

/* --- busy hosts ------------------------------------------------------------------------------ */

/* From so much on, in per cent, a host is busy; those of others are at most so busy. */
#define BUSY_USAGE   90.0
#define OTHERS_SHARE 0.8

/* How busy the processors of a rank's host were on average; NaN where nobody recorded it. */
static double host_usage(const struct np_run *run, const struct np_rank *rank)
{
	for (size_t i = 0; rank && i < rank->counters.count; i++) {
		const struct np_counter *each = &rank->counters.item[i];

		if (each->level && each->samples > 0 &&
		    strcmp(np_strtab_text(run->strings, each->table), "CPU_USAGE") == 0)
			return each->total / (double)each->samples;
	}
	return (double)NAN;
}

/* Is the host of this rank busy, and those of the others are not? */
static bool alone_busy(const double *usages, size_t count, size_t rank)
{
	double others = 0;
	size_t known = 0;

	if (isnan(usages[rank]) || usages[rank] < BUSY_USAGE)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (i == rank || isnan(usages[i]) || usages[i] >= BUSY_USAGE)
			continue;
		others += usages[i];
		known++;
	}
	return known > 0 && others / (double)known <= OTHERS_SHARE * usages[rank];
}

/* Why a rank was idle is not known without its calls; a host that is busy is a reason. */
static int blame_busy_hosts(struct tracer *tracer)
{
	const struct np_run *run = tracer->align->run;
	struct np_root_causes *causes = tracer->causes;
	double *usages = calloc(causes->rank_count + 1, sizeof(*usages));

	if (!usages)
		return np_fail_nomem(tracer->err, "origins of waiting");
	for (size_t i = 0; i < causes->rank_count; i++)
		usages[i] = host_usage(run, run->ranks[i]);
	for (size_t i = 0; i < causes->rank_count; i++) {
		np_ns *by_cause = causes->ranks[i].by_cause;

		if (by_cause[NP_CAUSE_UNKNOWN] == 0 || !alone_busy(usages, causes->rank_count, i))
			continue;
		by_cause[NP_CAUSE_HOST] += by_cause[NP_CAUSE_UNKNOWN];
		by_cause[NP_CAUSE_UNKNOWN] = 0;
		for (size_t row = 0; row < tracer->charges->rows.count; row++) {
			if (tracer->charges->rows.item[row].rank == i &&
			    causes->rows[row].cause == NP_CAUSE_UNKNOWN)
				causes->rows[row].cause = NP_CAUSE_HOST;
		}
	}
	free(usages);
	return NP_OK;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int trace(struct tracer *tracer, size_t threads)
{
	int rc = ahead_init(&tracer->ahead, &tracer->explainer, threads, tracer->err);

	if (rc == NP_OK)
		rc = progress_init(&tracer->progress, tracer->align, tracer->explainer.clock,
				   tracer->explainer.waits, threads, tracer->err);
	if (rc == NP_OK)
		rc = common_init(&tracer->common, tracer->align, &tracer->progress, tracer->err);
	if (rc == NP_OK)
		rc = tracer_index_rows(tracer);
	if (rc == NP_OK)
		rc = walk(tracer, threads);
	if (rc == NP_OK) {
		trace_left_behind(tracer);
		steps_count_heavy(&tracer->steps, tracer->causes);
		decide_rows(tracer);
		rc = blame_busy_hosts(tracer);
	}
	return rc;
}

static bool allocate(struct tracer *tracer)
{
	const struct np_align *align = tracer->align;
	struct np_root_causes *causes = tracer->causes;

	causes->ranks = calloc(causes->rank_count + 1, sizeof(*causes->ranks));
	causes->rows = calloc(tracer->charges->rows.count + 1, sizeof(*causes->rows));
	tracer->passed.page =
		calloc((size_t)align->op_count / AMOUNT_PAGE + 1, sizeof(*tracer->passed.page));
	tracer->edge_index = np_idmap_new();
	tracer->row_index = np_idmap_new();
	tracer->steps.index = np_idmap_new();
	tracer->row_places = calloc(align->coverage.count + 1, sizeof(*tracer->row_places));
	tracer->row_parts = calloc(tracer->charges->rows.count + 1, sizeof(*tracer->row_parts));
	tracer->explainer.found = common_found_new(align);
	return causes->ranks && causes->rows && tracer->passed.page && tracer->edge_index &&
	       tracer->row_index && tracer->steps.index && tracer->row_places &&
	       tracer->row_parts && tracer->explainer.found;
}

static void release_tracer(struct tracer *tracer)
{
	ahead_release(&tracer->ahead);
	common_release(&tracer->common);
	progress_release(&tracer->progress);
	free(tracer->passed.page);
	np_vec_release(&tracer->passed.pages);
	free(tracer->explainer.found);
	explainer_release(&tracer->explainer);
	np_vec_release(&tracer->received);
	np_vec_release(&tracer->weights);
	np_vec_release(&tracer->parts);
	np_vec_release(&tracer->waited);
	free(tracer->row_parts);
	free(tracer->row_places);
	np_idmap_free(tracer->edge_index);
	np_idmap_free(tracer->row_index);
	steps_release(&tracer->steps);
}

/* So few operators are done before a thread has started. */
#define FEW_OPS 20000

int np_root_cause_measure(const struct np_align *align, const struct np_clock *clock,
			  const struct np_waits *waits, const struct np_charges *charges,
			  size_t threads, struct np_root_causes *ret, struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	struct np_root_causes causes = { .rank_count = charges->rank_count,
					 .unprofiled = charges->unprofiled,
					 .unattributed = charges->unattributed };
	struct tracer tracer = {
		.align = align, .charges = charges, .causes = &causes, .err = err ? err : &own
	};
	int rc;

	tracer.explainer = (struct explainer){ .align = align,
					       .clock = clock,
					       .waits = waits,
					       .progress = &tracer.progress,
					       .common = &tracer.common,
					       .err = tracer.err };
	for (size_t i = 0; i < charges->rank_count; i++)
		causes.ranks_seen += charges->ranks[i].instances > 0;
	if (allocate(&tracer))
		rc = trace(&tracer, align->op_count < FEW_OPS ? 1 : threads);
	else
		rc = np_fail_nomem(err, "origins of waiting");
	release_tracer(&tracer);
	if (rc < 0) {
		np_root_cause_release(&causes);
		return rc;
	}
	*ret = causes;
	return NP_OK;
}
