/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the operators of all ranks, step by step, in the order in which they can: several scenarios
 * side by side. */
#include "balance_model.h"

#include "npuprof/order.h"

#include <math.h>

/* Of an operator that has not started, or not ended. */
#define NOT_YET (-1.0)

/* One value for each scenario. */
typedef double values[BAL_LANES];

#define EACH_LANE(i) for (size_t i = 0; i < BAL_LANES; i++)

/* A scenario in which the kernels of one type take the mean, all others what they took. */
struct kernels {
	size_t lane;
	double *even;   /* by row */
	double *own;    /* by mark: what the type had taken up to there */
	double *total;  /* by cell */
	double *factor; /* by stage */
};

struct bal_running {
	const struct np_bal *bal;
	const struct bal_program *program;
	struct bal_lane *lanes;
	size_t lane_count;
	values *time;           /* by cell */
	values *done;           /* by cell: work behind it */
	values *last;           /* by cell: end of its operators */
	values *start;          /* by room: when the rank wants to start it, and when it does */
	values *end;            /* by room */
	double *even;           /* by row, where all is even */
	uint8_t *even_cells;    /* by cell: the lanes in which it is even */
	uint8_t *even_transfer; /* by index of np_bal.alike: likewise */
	struct kernels kernels[BAL_LANES];
	size_t kernel_count;
	struct np_err *err;
};

static void running_release(struct bal_running *run)
{
	free(run->time);
	free(run->done);
	free(run->last);
	free(run->start);
	free(run->end);
	free(run->even);
	free(run->even_cells);
	free(run->even_transfer);
	for (size_t i = 0; i < run->kernel_count; i++) {
		free(run->kernels[i].even);
		free(run->kernels[i].own);
		free(run->kernels[i].total);
		free(run->kernels[i].factor);
	}
}

/* --- scenarios ---------------------------------------------------------------------------------
 */

static int out_of_memory(struct bal_running *run)
{
	return np_fail_nomem(run->err, "the balance of a run");
}

/* Where the kernels of the type take the mean, and not what they took. */
static double total_with(const struct np_bal *bal, const struct kernels *kernels,
			 const struct bal_cell *cell, size_t type, double taken)
{
	return cell->total +
	       (kernels->factor[cell->stage] * bal->types.item[type].stages[cell->stage] /
			bal->stage_cells[cell->stage] -
		taken);
}

static int see_kernels(struct bal_running *run, size_t lane)
{
	struct np_bal bal = *run->bal; /* for an error of its own */
	size_t type = run->lanes[lane].number;
	struct kernels *kernels = &run->kernels[run->kernel_count++];
	double *weights = calloc(bal.types.count + 1, sizeof(*weights));
	double *even = NULL;
	int rc;

	bal.err = run->err;
	kernels->lane = lane;
	kernels->even = malloc((bal.rows.count + 1) * sizeof(double));
	kernels->own = malloc((bal.marks.count + 1) * sizeof(double));
	kernels->total = malloc((bal.cells.count + 1) * sizeof(double));
	kernels->factor = malloc((bal.stages + 1) * sizeof(double));
	if (!weights || !kernels->even || !kernels->own || !kernels->total || !kernels->factor) {
		free(weights);
		return out_of_memory(run);
	}
	for (size_t i = 0; i < bal.stages; i++)
		kernels->factor[i] = bal.weights[i * bal.types.count + type];
	weights[type] = 1;
	rc = bal_settle_marks(&bal, weights, BAL_ALL_STAGES, kernels->own, kernels->total, &even);
	if (rc == NP_OK)
		bal_pool_type(&bal, type, kernels->factor, even);
	for (uint32_t i = 0; i < bal.rows.count && rc == NP_OK; i++)
		kernels->even[i] = bal_even_at(&bal, even, i);
	for (size_t i = 0; i < bal.cells.count && rc == NP_OK; i++)
		kernels->total[i] =
			total_with(&bal, kernels, &bal.cells.item[i], type, kernels->total[i]);
	free(even);
	free(weights);
	return rc;
}

static bool is_of_ranks(const struct bal_lane *lane, uint32_t rank)
{
	for (size_t i = 0; i < lane->rank_count; i++) {
		if (lane->ranks[i] == rank)
			return true;
	}
	return false;
}

static bool is_even(const struct bal_lane *lane, const struct bal_cell *cell)
{
	switch (lane->what) {
	case BAL_EVEN:
		return true;
	case BAL_EVEN_RANK:
		return is_of_ranks(lane, cell->rank);
	case BAL_EVEN_STAGE:
		return cell->stage == lane->number;
	case BAL_AS_IT_WAS:
	case BAL_EVEN_KERNELS:
	case BAL_EVEN_TRANSFERS:
	default:
		return false;
	}
}

static int see_lanes(struct bal_running *run)
{
	const struct np_bal *bal = run->bal;
	int rc = NP_OK;

	for (uint32_t i = 0; i < bal->rows.count; i++)
		run->even[i] = bal_even_at(bal, bal->even, i);
	for (size_t i = 0; i < run->lane_count && rc == NP_OK; i++) {
		const struct bal_lane *lane = &run->lanes[i];

		for (size_t j = 0; j < bal->cells.count; j++)
			run->even_cells[j] |= (uint8_t)(is_even(lane, &bal->cells.item[j]) << i);
		for (size_t j = 0; lane->what == BAL_EVEN_TRANSFERS && j < bal->alike.count; j++)
			run->even_transfer[j] |=
				(uint8_t)((bal->alike.item[j].type == lane->type) << i);
		if (lane->what == BAL_EVEN_KERNELS)
			rc = see_kernels(run, i);
	}
	return rc;
}

static int begin(struct bal_running *run)
{
	const struct np_bal *bal = run->bal;
	size_t cells = bal->cells.count + 1;
	size_t rooms = (size_t)run->program->room_count + 1;

	run->time = calloc(cells, sizeof(*run->time));
	run->done = calloc(cells, sizeof(*run->done));
	run->last = malloc(cells * sizeof(*run->last));
	run->start = malloc(rooms * sizeof(*run->start));
	run->end = malloc(rooms * sizeof(*run->end));
	run->even = calloc(bal->rows.count + 1, sizeof(*run->even));
	run->even_cells = calloc(cells, sizeof(*run->even_cells));
	run->even_transfer = calloc(bal->alike.count + 1, sizeof(*run->even_transfer));
	if (!run->time || !run->done || !run->last || !run->start || !run->end || !run->even ||
	    !run->even_cells || !run->even_transfer)
		return out_of_memory(run);
	for (size_t i = 0; i < cells; i++)
		EACH_LANE(j) run->last[i][j] = NOT_YET;
	for (size_t i = 0; i < rooms; i++)
		EACH_LANE(j) run->start[i][j] = run->end[i][j] = NOT_YET;
	return see_lanes(run);
}

/* --- events ------------------------------------------------------------------------------------
 */

static inline double later(double a, double b)
{
	return a > b ? a : b;
}

/* The rank works up to a mark. */
static void work_to(struct bal_running *run, uint32_t index, const struct bal_mark *mark)
{
	double *time = run->time[mark->cell];
	double *done = run->done[mark->cell];
	uint8_t even = run->even_cells[mark->cell];
	values at;

	EACH_LANE(i) at[i] = mark->at;
	if (even)
		EACH_LANE(i) at[i] = even >> i & 1 ? run->even[mark->row] : mark->at;
	for (size_t i = 0; i < run->kernel_count; i++) {
		const struct kernels *kernels = &run->kernels[i];
		double factor = kernels->factor[run->bal->cells.item[mark->cell].stage];

		at[kernels->lane] += factor * kernels->even[mark->row] - kernels->own[index];
	}
	EACH_LANE(i)
	{
		time[i] += at[i] > done[i] ? at[i] - done[i] : 0;
		done[i] = later(done[i], at[i]);
	}
}

/* The lanes in which the transfer of an operator is as that of its like. */
static unsigned even_lanes(const struct bal_running *run, uint32_t slot)
{
	const struct bal_op *op = &run->bal->ops[slot];
	const struct bal_kept *kept = run->program->kept.item;
	size_t count = run->program->kept.count;
	unsigned lanes = run->even_cells[op->cell];

	if (run->program->rooms[slot] & BAL_KEPT) {
		size_t from = np_lower_bound(i, (size_t)0, count, kept[i].slot >= slot);

		for (size_t i = from; i < count && kept[i].slot == slot; i++)
			lanes |= run->even_cells[kept[i].cell];
	}
	return op->self ? 0 : lanes | run->even_transfer[op->alike];
}

/* The operator ends. */
static void end_op(struct bal_running *run, uint32_t slot, const double *from)
{
	const struct bal_op *op = &run->bal->ops[slot];
	uint32_t room = run->program->rooms[slot];
	double median = (double)run->bal->alike.item[op->alike].median;
	unsigned even = isnan(median) ? 0 : even_lanes(run, slot);
	double *end = run->end[room & ~BAL_KEPT];
	double *last = run->last[op->cell];

	EACH_LANE(i) end[i] = from[i] + (double)op->after;
	if (even)
		EACH_LANE(i) end[i] = from[i] + (even >> i & 1 ? median : (double)op->after);
	if (!(room & BAL_KEPT))
		EACH_LANE(i) last[i] = later(last[i], end[i]);
}

static double *start_of(struct bal_running *run, uint32_t slot)
{
	return run->start[run->program->rooms[slot] & ~BAL_KEPT];
}

static double *end_of(struct bal_running *run, uint32_t slot)
{
	return run->end[run->program->rooms[slot] & ~BAL_KEPT];
}

/* The rank has come to the start of an operator, and to no other before what held it up has ended.
 */
static void start_op(struct bal_running *run, uint32_t slot)
{
	const struct bal_op *op = &run->bal->ops[slot];
	double *start = start_of(run, slot);

	if (op->behind != UINT32_MAX) {
		const double *end = end_of(run, op->behind);

		EACH_LANE(i) start[i] = later(start[i], end[i]);
	}
	if (op->self)
		end_op(run, slot, start);
}

static void end_instance(struct bal_running *run, const struct np_instance *instance)
{
	const struct bal_op *ops = run->bal->ops;
	values last = { 0 };

	for (uint32_t i = instance->first; i < instance->first + instance->count; i++) {
		const double *start = start_of(run, i);

		if (ops[i].cell != UINT32_MAX)
			EACH_LANE(j) last[j] = later(last[j], start[j]);
	}
	for (uint32_t i = instance->first; i < instance->first + instance->count; i++) {
		if (ops[i].cell != UINT32_MAX && !ops[i].self)
			end_op(run, i, last);
	}
}

static void run_mark(struct bal_running *run, struct bal_event event)
{
	const struct bal_mark *mark = &run->bal->marks.item[event.index];
	double *time = run->time[mark->cell];
	double *room;

	if (event.kind == BAL_FORCE) {
		memcpy(end_of(run, mark->slot), time, sizeof(values));
		return;
	}
	work_to(run, event.index, mark);
	if (event.kind == BAL_BLOCK) {
		room = end_of(run, mark->slot);
		EACH_LANE(i) time[i] = later(time[i], room[i]);
		return;
	}
	memcpy(start_of(run, mark->slot), time, sizeof(values));
	if (event.kind == BAL_START)
		start_op(run, mark->slot);
}

/* What is all over memory is asked for so many events ahead: first who it is, then its times. */
#define FAR  24
#define NEAR 8

static void prefetch(const struct bal_running *run, struct bal_event far, struct bal_event near)
{
	const struct np_bal *bal = run->bal;
	uint32_t slot = near.index;

	if (far.kind == BAL_DONE)
		__builtin_prefetch(&bal->align->instances.item[far.index]);
	else if (far.kind == BAL_BEGIN)
		__builtin_prefetch(&bal->ops[far.index]);
	else
		__builtin_prefetch(&bal->marks.item[far.index]);
	if (near.kind == BAL_DONE) {
		slot = bal->align->instances.item[near.index].first;
	} else if (near.kind != BAL_BEGIN) {
		slot = bal->marks.item[near.index].slot;
		__builtin_prefetch(run->time[bal->marks.item[near.index].cell], 1);
		__builtin_prefetch(run->done[bal->marks.item[near.index].cell], 1);
	}
	__builtin_prefetch(&bal->ops[slot]);
	__builtin_prefetch(&run->program->rooms[slot]);
}

static void run_events(struct bal_running *run)
{
	const struct bal_event *events = run->program->events.item;
	size_t count = run->program->events.count;

	for (size_t i = 0; i < count; i++) {
		if (i + FAR < count)
			prefetch(run, events[i + FAR], events[i + NEAR]);
		if (events[i].kind == BAL_DONE)
			end_instance(run, &run->bal->align->instances.item[events[i].index]);
		else if (events[i].kind == BAL_BEGIN)
			start_op(run, events[i].index);
		else
			run_mark(run, events[i]);
	}
	for (size_t i = 0; i < run->program->kept.count; i++) {
		const struct bal_kept *kept = &run->program->kept.item[i];
		const double *end = end_of(run, kept->slot);
		double *last = run->last[kept->cell];

		EACH_LANE(j) last[j] = later(last[j], end[j]);
	}
}

/* --- steps -------------------------------------------------------------------------------------
 */

static double total_of(const struct bal_running *run, size_t cell, size_t lane)
{
	const struct bal_cell *own = &run->bal->cells.item[cell];

	for (size_t i = 0; i < run->kernel_count; i++) {
		if (run->kernels[i].lane == lane)
			return run->kernels[i].total[cell];
	}
	return run->even_cells[cell] >> lane & 1 ? run->bal->totals[own->stage] : own->total;
}

/* The end of a step is that of its last rank and operator. */
static int sum_steps(const struct bal_running *run, size_t lane)
{
	const struct np_bal *bal = run->bal;
	size_t count = bal->cluster->steps.count;
	double *ends = calloc(count + 1, sizeof(*ends));
	double sum = 0;
	size_t steps = 0;

	if (!ends)
		return np_fail_nomem(run->err, "the balance of a run");
	for (size_t i = 0; i < bal->cells.count; i++) {
		uint32_t step = bal->cells.item[i].step;
		double rest = total_of(run, i, lane) - run->done[i][lane];
		double end = run->time[i][lane] + later(rest, 0);

		ends[step] = later(ends[step], later(end, run->last[i][lane]));
	}
	for (size_t i = 0; i < count; i++) {
		sum += ends[i];
		steps += ends[i] > 0;
	}
	free(ends);
	run->lanes[lane].step = steps > 0 ? sum / (double)steps : 0;
	run->lanes[lane].steps = steps;
	return NP_OK;
}

int bal_run(const struct np_bal *bal, const struct bal_program *program, struct bal_lane *lanes,
	    size_t count, struct np_err *err)
{
	struct bal_running run = {
		.bal = bal, .program = program, .lanes = lanes, .lane_count = count, .err = err
	};
	int rc = begin(&run);

	if (rc == NP_OK)
		run_events(&run);
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = sum_steps(&run, i);
	running_release(&run);
	return rc;
}
