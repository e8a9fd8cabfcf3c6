/* SPDX-License-Identifier: Apache-2.0 */
#include "origin_private.h"

#include "npuprof/apportion.h"
#include "npuprof/idmap.h"
#include "npuprof/workers.h"

#define NO_COMMUNICATOR UINT32_MAX

struct ordered {
	np_ns arrival; /* on the common clock */
	uint32_t instance;
};

struct work {
	const struct np_align *align;
	const struct np_clock *clock;
	const struct np_waits *waits;
	const struct np_blame *blame;
	struct np_origin *origin;
	struct np_err *err;
	struct progress progress;
	struct common common;
	np_ns *passed; /* by slot: charges elsewhere that waiting here caused */
	NP_VEC(struct ordered) order;
	uint8_t (*more)[SPENT_KINDS]; /* by slot: see explainer_compare() */
	struct explainer explainer;   /* of the instance at hand */
	np_ns worth;                  /* charges below this are not explained */
	waited_list waited;
	NP_VEC(double) weights;
	NP_VEC(int64_t) parts;
	struct np_idmap *edge_index; /* rank, victim and communicator → edge */
	struct np_idmap *row_index;  /* communicator, step, rank → row of blame */
	struct np_idmap *step_index;
	NP_VEC(double) row_parts; /* by row: how much of it each cause, and passing on, explains */
	NP_VEC(double) row_via;   /* by row: the most that one operator took over */
};

/* Parts of a row: one for each cause, one for what was passed on. */
enum {
	ROW_PASSED = NP_CAUSES,
	ROW_PARTS
};

const char *np_cause_name(enum np_cause cause)
{
	static const char *const names[] = {
		[NP_CAUSE_COMPUTE] = "compute",
		[NP_CAUSE_HOST] = "host",
		[NP_CAUSE_COMMUNICATION] = "communication",
		[NP_CAUSE_UNKNOWN] = "unknown",
	};

	return names[cause];
}

/* --- rows of the charges ---------------------------------------------------------------------- */

static int64_t row_key(struct work *work, uint32_t communicator, np_str step, uint32_t rank)
{
	return (int64_t)communicator << 40 |
	       (int64_t)np_idmap_get(work->step_index, (int64_t)step) << 20 | rank;
}

static int index_rows(struct work *work)
{
	const struct np_blame *blame = work->blame;
	uint32_t steps = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < blame->rows.count && rc == NP_OK; i++) {
		const struct np_blame_row *row = &blame->rows.item[i];

		if (np_idmap_get(work->step_index, (int64_t)row->step) == NP_IDMAP_NONE)
			rc = np_idmap_set(work->step_index, (int64_t)row->step, steps++, work->err);
		if (rc == NP_OK)
			rc = np_idmap_set(work->row_index,
					  row_key(work, row->communicator, row->step, row->rank),
					  (uint32_t)i, work->err);
		for (int part = 0; part < ROW_PARTS && rc == NP_OK; part++)
			rc = np_vec_add(&work->row_parts, work->err) ? NP_OK : NP_E_NOMEM;
		if (rc == NP_OK)
			rc = np_vec_add(&work->row_via, work->err) ? NP_OK : NP_E_NOMEM;
	}
	return rc;
}

static uint32_t row_of(struct work *work, const struct np_instance *instance, uint32_t rank)
{
	return np_idmap_get(work->row_index,
			    row_key(work, instance->communicator, instance->step, rank));
}

/* --- one late arrival ------------------------------------------------------------------------- */

/* A charge ends here. */
static void settle(struct work *work, uint32_t rank, uint32_t row, double direct,
		   enum np_cause cause, np_ns cost)
{
	struct np_origin_rank *origin = &work->origin->ranks[rank];

	origin->cost += cost;
	origin->by_cause[cause] += cost;
	if (row != NP_IDMAP_NONE)
		work->row_parts.item[row * ROW_PARTS + cause] += direct * (double)cost;
}

/* A charge goes on to those for whom the rank waited in its operators of the window. */
static int pass(struct work *work, uint32_t rank, uint32_t row, double direct, np_ns cost)
{
	work->weights.count = 0;
	work->parts.count = 0;
	for (size_t i = 0; i < work->waited.count; i++) {
		double *weight = np_vec_add(&work->weights, work->err);

		if (!weight || !np_vec_add(&work->parts, work->err))
			return NP_E_NOMEM;
		*weight = (double)work->waited.item[i].ns;
	}
	np_apportion(cost, work->weights.item, work->weights.count, work->parts.item);
	for (size_t i = 0; i < work->waited.count; i++) {
		uint32_t slot = work->waited.item[i].slot;
		double part = direct * (double)work->parts.item[i];

		work->passed[slot] += work->parts.item[i];
		if (row == NP_IDMAP_NONE)
			continue;
		work->row_parts.item[row * ROW_PARTS + ROW_PASSED] += part;
		if (part > work->row_via.item[row]) {
			work->row_via.item[row] = part;
			work->origin->rows[row].via =
				instance_of(&work->common, slot)->communicator;
		}
	}
	work->origin->ranks[rank].passed += cost;
	return NP_OK;
}

/* Divide a charge by what the rank did more of than those who waited for it. */
static int divide(struct work *work, const struct np_instance *instance,
		  const struct np_member *member, uint32_t row, double direct, np_ns cost,
		  const uint8_t *more)
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
		weights[i] = more[i];
	np_apportion(cost, weights, SPENT_KINDS, parts);
	for (int i = 0; i < SPENT_WAIT; i++)
		settle(work, member->rank, row, direct, causes[i], parts[i]);
	if (parts[SPENT_WAIT] == 0)
		return NP_OK;
	since = common_before(&work->common, instance, member);
	rc = progress_waited(&work->progress, member->rank, since, member->op, &work->waited,
			     work->err);
	if (rc == NP_OK && work->waited.count > 0)
		return pass(work, member->rank, row, direct, parts[SPENT_WAIT]);
	settle(work, member->rank, row, direct, NP_CAUSE_UNKNOWN, parts[SPENT_WAIT]);
	return rc;
}

static int explain(struct work *work, const struct np_instance *instance, uint32_t index)
{
	const struct late *late = &work->explainer.members.item[index];
	const struct np_member *member = &work->align->members[instance->first + index];
	np_ns cost = late->charge + late->received;
	double direct = (double)late->charge / (double)cost;
	uint32_t row = late->charge > 0 ? row_of(work, instance, member->rank) : NP_IDMAP_NONE;
	uint8_t *more = work->more[instance->first + index];

	if (cost < work->worth) {
		settle(work, member->rank, row, direct, NP_CAUSE_UNKNOWN, cost);
		return NP_OK;
	}
	if (more[0] == NOT_COMPARED)
		explainer_compare(&work->explainer, instance, index, more);
	if (more[0] == NOTHING_MORE) {
		settle(work, member->rank, row, direct, NP_CAUSE_UNKNOWN, cost);
		return NP_OK;
	}
	return divide(work, instance, member, row, direct, cost, more);
}

/* --- one instance ----------------------------------------------------------------------------- */

/* Charges that nobody can be asked for end with the one who waited. */
static np_ns keep_unwaited(struct work *work, const struct np_instance *instance, bool known)
{
	np_ns all = 0;

	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns *passed = &work->passed[instance->first + i];
		struct np_origin_rank *rank =
			&work->origin->ranks[work->align->members[instance->first + i].rank];

		if (*passed > 0 && (!known || work->explainer.members.item[i].wait == 0)) {
			rank->cost += *passed;
			rank->by_cause[NP_CAUSE_UNKNOWN] += *passed;
			rank->passed -= *passed;
			*passed = 0;
		}
		all += *passed;
	}
	return all;
}

/*
 * Weigh the members by how long those with something to pass on waited for each
 * of them: while the first m are there, the rest owes the gap in equal parts.
 * Returns the weight of members that were not profiled.
 */
static double weigh(struct work *work, const struct np_instance *instance)
{
	const uint32_t *order = work->explainer.by_arrival.item;
	uint32_t count = instance->count;
	double rate = 0; /* of charges per nanosecond of waiting of those that are there */
	double owed = 0; /* so far, by each of those to come */

	for (uint32_t m = 0; m < count; m++) {
		struct late *late = &work->explainer.members.item[order[m]];
		np_ns next = m + 1 < count ? work->explainer.members.item[order[m + 1]].wait : 0;

		late->weight = owed;
		if (late->wait > 0)
			rate += (double)work->passed[instance->first + order[m]] /
				(double)late->wait;
		if (m + 1 < count)
			owed += rate * (double)(late->wait - next) / (double)(count - m - 1);
	}
	/* All waited alike until the last member's wait was over: for somebody else. */
	return rate * (double)work->explainer.members.item[order[count - 1]].wait;
}

static int add_edge(struct work *work, uint32_t rank, uint32_t victim, uint32_t communicator,
		    np_ns cost)
{
	uint32_t shown = rank == NP_ORIGIN_UNPROFILED ? (1 << 20) - 1 : rank;
	int64_t key = (int64_t)communicator << 40 | (int64_t)victim << 20 | shown;
	uint32_t known = np_idmap_get(work->edge_index, key);
	struct np_origin_edge *edge;

	if (known != NP_IDMAP_NONE) {
		work->origin->edges.item[known].cost += cost;
		return NP_OK;
	}
	edge = np_vec_add(&work->origin->edges, work->err);
	if (!edge)
		return NP_E_NOMEM;
	*edge = (struct np_origin_edge){ rank, victim, communicator, cost };
	return np_idmap_set(work->edge_index, key, (uint32_t)(work->origin->edges.count - 1),
			    work->err);
}

/* The member that passes on most stands for all of them in the chain. */
static uint32_t main_victim(const struct work *work, const struct np_instance *instance)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < instance->count; i++) {
		if (work->passed[instance->first + i] > work->passed[instance->first + most])
			most = i;
	}
	return work->align->members[instance->first + most].rank;
}

/* Give what waiting here caused elsewhere to those who were waited for. */
static int receive(struct work *work, const struct np_instance *instance, np_ns all)
{
	uint32_t victim = main_victim(work, instance);
	double unprofiled = weigh(work, instance);
	int rc = NP_OK;

	work->weights.count = 0;
	work->parts.count = 0;
	for (uint32_t i = 0; i <= instance->count; i++) {
		double *weight = np_vec_add(&work->weights, work->err);

		if (!weight || !np_vec_add(&work->parts, work->err))
			return NP_E_NOMEM;
		*weight = i < instance->count ? work->explainer.members.item[i].weight : unprofiled;
	}
	np_apportion(all, work->weights.item, work->weights.count, work->parts.item);
	for (uint32_t i = 0; i < instance->count && rc == NP_OK; i++) {
		uint32_t rank = work->align->members[instance->first + i].rank;

		work->explainer.members.item[i].received = work->parts.item[i];
		work->origin->ranks[rank].received += work->parts.item[i];
		if (work->parts.item[i] >= WORTH_EXPLAINING_NS)
			rc = add_edge(work, rank, victim, instance->communicator,
				      work->parts.item[i]);
	}
	for (uint32_t i = 0; i < instance->count; i++)
		work->passed[instance->first + i] = 0;
	work->origin->unprofiled += work->parts.item[instance->count];
	if (rc == NP_OK && work->parts.item[instance->count] >= WORTH_EXPLAINING_NS)
		rc = add_edge(work, NP_ORIGIN_UNPROFILED, victim, instance->communicator,
			      work->parts.item[instance->count]);
	return rc;
}

static int trace_instance(struct work *work, const struct np_instance *instance)
{
	np_ns all;
	bool known;
	int rc = explainer_see(&work->explainer, instance, &known);

	if (rc < 0)
		return rc;
	all = keep_unwaited(work, instance, known);
	if (all > 0)
		rc = receive(work, instance, all);
	work->worth = worth_explaining(&work->explainer, instance, all);
	for (uint32_t i = 0; i < instance->count && rc == NP_OK; i++) {
		const struct late *late = &work->explainer.members.item[i];

		if (late->charge + late->received > 0)
			rc = explain(work, instance, i);
	}
	return rc;
}

/* --- the walk ----------------------------------------------------------------------------------
 */

static int latest_first(const void *left, const void *right)
{
	const struct ordered *a = left;
	const struct ordered *b = right;

	if (a->arrival != b->arrival)
		return a->arrival > b->arrival ? -1 : 1;
	return (a->instance > b->instance) - (a->instance < b->instance);
}

/* When the last member came, on the common clock as far as there is one. */
static np_ns arrival_of(const struct work *work, const struct np_instance *instance)
{
	np_ns last = -NP_NS_MAX;

	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t slot = instance->first + i;
		np_ns wait = work->waits->wait[slot];
		np_ns came = np_clock_time(work->clock, work->align->members[slot].rank,
					   np_align_op(work->align, slot)->start) +
			     (wait == NP_UNKNOWN ? 0 : wait);

		last = came > last ? came : last;
	}
	return last;
}

static int walk(struct work *work)
{
	const struct np_align *align = work->align;
	int rc = NP_OK;

	for (uint32_t i = 0; i < align->instances.count; i++) {
		struct ordered *each = np_vec_add(&work->order, work->err);

		if (!each)
			return NP_E_NOMEM;
		*each = (struct ordered){ arrival_of(work, &align->instances.item[i]), i };
	}
	if (work->order.count > 0)
		qsort(work->order.item, work->order.count, sizeof(work->order.item[0]),
		      latest_first);
	for (size_t i = 0; i < work->order.count && rc == NP_OK; i++)
		rc = trace_instance(work, &align->instances.item[work->order.item[i].instance]);
	return rc;
}

/*
 * Where two clocks disagree, a charge can be passed to an instance that the walk
 * has left behind: it ends with the rank that waited there.
 */
static void keep_left_behind(struct work *work)
{
	for (uint32_t i = 0; i < work->align->op_count; i++) {
		struct np_origin_rank *rank = &work->origin->ranks[work->align->members[i].rank];

		rank->cost += work->passed[i];
		rank->by_cause[NP_CAUSE_UNKNOWN] += work->passed[i];
		rank->passed -= work->passed[i];
	}
}

static void decide_rows(struct work *work)
{
	for (size_t row = 0; row < work->blame->rows.count; row++) {
		const double *parts = &work->row_parts.item[row * ROW_PARTS];
		int most = 0;

		for (int part = 1; part < ROW_PARTS; part++)
			most = parts[part] > parts[most] ? part : most;
		if (parts[most] <= 0)
			most = NP_CAUSE_UNKNOWN;
		if (most != ROW_PASSED)
			work->origin->rows[row].via = NO_COMMUNICATOR;
		work->origin->rows[row].cause =
			most == ROW_PASSED ? NP_CAUSE_COMMUNICATION : (enum np_cause)most;
	}
}

/* --- comparing, all communicators at once -------------------------------------------------------
 */

struct comparison {
	struct work *work;
	struct np_err *errors; /* by communicator */
};

/* Late instances first, as common_before() wants it. */
static int compare_communicator(struct work *work, struct explainer *explainer,
				const struct np_align_communicator *each)
{
	int rc = NP_OK;

	for (uint32_t i = each->count; i-- > 0 && rc == NP_OK;) {
		const struct np_instance *instance = &work->align->instances.item[each->first + i];
		np_ns worth;
		bool known;

		rc = explainer_see(explainer, instance, &known);
		worth = worth_explaining(explainer, instance, 0);
		for (uint32_t j = 0; j < instance->count && rc == NP_OK; j++) {
			if (explainer->members.item[j].charge >= worth)
				explainer_compare(explainer, instance, j,
						  work->more[instance->first + j]);
		}
	}
	return rc;
}

static void compare_one(void *context, size_t index)
{
	struct comparison *comparison = context;
	struct work *work = comparison->work;
	struct explainer explainer = work->explainer;

	explainer.err = &comparison->errors[index];
	/* A failure stays there. */
	(void)!compare_communicator(work, &explainer, &work->align->communicators.item[index]);
	explainer_release(&explainer);
}

/* What most charges are explained by does not depend on what is passed on: no order is needed. */
static int compare_all(struct work *work, size_t threads)
{
	size_t count = work->align->communicators.count;
	struct np_workers workers = { .threads = threads };
	struct comparison comparison = { .work = work,
					 .errors = calloc(count + 1, sizeof(struct np_err)) };
	int rc = NP_OK;

	if (!comparison.errors)
		return np_fail_nomem(work->err, "origins of waiting");
	memset(work->more, NOT_COMPARED, (size_t)work->align->op_count * sizeof(*work->more));
	np_workers_run(&workers, count, compare_one, &comparison);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		if (comparison.errors[i].code != NP_OK)
			rc = np_fail(work->err, comparison.errors[i].code, "%s",
				     comparison.errors[i].text);
	}
	free(comparison.errors);
	common_restart(&work->common);
	return rc;
}

static int trace(struct work *work, size_t threads)
{
	int rc = progress_init(&work->progress, work->align, work->waits, work->err);

	if (rc == NP_OK)
		rc = common_init(&work->common, work->align, &work->progress, work->err);
	if (rc == NP_OK)
		rc = index_rows(work);
	if (rc == NP_OK) {
		work->explainer.progress = &work->progress;
		work->explainer.common = &work->common;
		rc = compare_all(work, threads);
	}
	if (rc == NP_OK)
		rc = walk(work);
	if (rc == NP_OK) {
		keep_left_behind(work);
		decide_rows(work);
	}
	return rc;
}

static void release_work(struct work *work)
{
	common_release(&work->common);
	progress_release(&work->progress);
	free(work->passed);
	np_vec_release(&work->order);
	free(work->more);
	explainer_release(&work->explainer);
	np_vec_release(&work->weights);
	np_vec_release(&work->parts);
	np_vec_release(&work->waited);
	np_vec_release(&work->row_parts);
	np_vec_release(&work->row_via);
	np_idmap_free(work->edge_index);
	np_idmap_free(work->row_index);
	np_idmap_free(work->step_index);
}

int np_origin_measure(const struct np_align *align, const struct np_clock *clock,
		      const struct np_waits *waits, const struct np_blame *blame, size_t threads,
		      struct np_origin *ret, struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	struct np_origin origin = { .rank_count = blame->rank_count,
				    .unprofiled = blame->unprofiled };
	struct work work = { .align = align,
			     .clock = clock,
			     .waits = waits,
			     .blame = blame,
			     .origin = &origin,
			     .err = err ? err : &own };
	int rc;

	origin.ranks = calloc(origin.rank_count + 1, sizeof(*origin.ranks));
	origin.rows = calloc(blame->rows.count + 1, sizeof(*origin.rows));
	work.passed = calloc((size_t)align->op_count + 1, sizeof(*work.passed));
	work.more = malloc(((size_t)align->op_count + 1) * sizeof(*work.more));
	work.explainer = (struct explainer){
		.align = align, .clock = clock, .waits = waits, .err = work.err
	};
	work.edge_index = np_idmap_new();
	work.row_index = np_idmap_new();
	work.step_index = np_idmap_new();
	if (origin.ranks && origin.rows && work.passed && work.more && work.edge_index &&
	    work.row_index && work.step_index)
		rc = trace(&work, threads);
	else
		rc = np_fail_nomem(err, "origins of waiting");
	release_work(&work);
	if (rc < 0) {
		np_origin_release(&origin);
		return rc;
	}
	*ret = origin;
	return NP_OK;
}

void np_origin_release(struct np_origin *origin)
{
	free(origin->ranks);
	free(origin->rows);
	np_vec_release(&origin->edges);
	origin->ranks = NULL;
	origin->rows = NULL;
}

/* --- results -----------------------------------------------------------------------------------
 */

enum np_cause np_origin_cause(const struct np_origin *origin, uint32_t rank)
{
	const np_ns *by_cause = origin->ranks[rank].by_cause;
	enum np_cause most = NP_CAUSE_UNKNOWN;

	for (int i = 0; i < NP_CAUSES; i++) {
		if (by_cause[i] > by_cause[most])
			most = (enum np_cause)i;
	}
	return most;
}

bool np_origin_stands_out(const struct np_origin *origin, const struct np_blame *blame,
			  uint32_t rank, np_ns available)
{
	const char *kind = np_blame_kind(blame, rank);
	double cost = (double)origin->ranks[rank].cost;
	double total = 0;
	size_t used = 0;

	for (size_t i = 0; i < origin->rank_count; i++) {
		total += (double)origin->ranks[i].cost;
		used += blame->ranks[i].instances > 0;
	}
	return (!kind || strcmp(kind, "chronic") == 0) && cost * (double)used >= 2 * total &&
	       available > 0 && cost >= 0.005 * (double)available;
}

const struct np_origin_edge *np_origin_edge_to(const struct np_origin *origin, uint32_t rank)
{
	const struct np_origin_edge *most = NULL;

	for (size_t i = 0; i < origin->edges.count; i++) {
		const struct np_origin_edge *edge = &origin->edges.item[i];

		if (edge->rank == rank && (!most || edge->cost > most->cost))
			most = edge;
	}
	return most;
}

static int by_cost(const void *left, const void *right, void *context)
{
	const struct np_origin *origin = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (origin->ranks[a].cost != origin->ranks[b].cost)
		return origin->ranks[a].cost > origin->ranks[b].cost ? -1 : 1;
	return (a > b) - (a < b);
}

int np_origin_sort(const struct np_origin *origin, struct np_blame_order *ret, struct np_err *err)
{
	uint32_t *ranks = malloc((origin->rank_count + 1) * sizeof(*ranks));
	size_t count = 0;

	if (!ranks)
		return np_fail_nomem(err, "origins of waiting");
	for (uint32_t i = 0; i < origin->rank_count; i++) {
		if (origin->ranks[i].cost > 0)
			ranks[count++] = i;
	}
	qsort_r(ranks, count, sizeof(ranks[0]), by_cost, (void *)(uintptr_t)origin);
	*ret = (struct np_blame_order){ ranks, count };
	return NP_OK;
}
