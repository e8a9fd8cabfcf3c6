/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the operators of all ranks, step by step, as soon as what they need is there. */
#include "balance_model.h"

#include <math.h>

/* Of an operator that has not started, or not ended. */
#define NOT_YET (-1.0)

struct bal_running {
	const struct np_bal *bal;
	const struct bal_scenario *scenario;
	uint32_t *next;         /* mark, by cell */
	double *time;           /* by cell */
	double *done;           /* by cell: work behind it */
	double *ready;          /* by slot: when the rank wants to start it */
	double *start;          /* by slot */
	double *end;            /* by slot */
	uint32_t *follower;     /* by slot: the operator that is behind it */
	uint32_t *missing;      /* by instance: members that have not started */
	NP_VEC(uint32_t) cells; /* that may go on */
	NP_VEC(uint32_t) ends;  /* operators that have ended, of which nobody knows yet */
	size_t forced;
	struct np_err *err;
};

static void running_release(struct bal_running *run)
{
	free(run->next);
	free(run->time);
	free(run->done);
	free(run->ready);
	free(run->start);
	free(run->end);
	free(run->follower);
	free(run->missing);
	np_vec_release(&run->cells);
	np_vec_release(&run->ends);
}

static int begin(struct bal_running *run)
{
	const struct np_bal *bal = run->bal;
	size_t slots = (size_t)bal->align->op_count + 1;
	size_t cells = bal->cells.count + 1;
	size_t instances = bal->align->instances.count;

	run->next = calloc(cells, sizeof(*run->next));
	run->time = calloc(cells, sizeof(*run->time));
	run->done = calloc(cells, sizeof(*run->done));
	run->ready = malloc(slots * sizeof(*run->ready));
	run->start = malloc(slots * sizeof(*run->start));
	run->end = malloc(slots * sizeof(*run->end));
	run->follower = malloc(slots * sizeof(*run->follower));
	run->missing = calloc(instances + 1, sizeof(*run->missing));
	if (!run->next || !run->time || !run->done || !run->ready || !run->start || !run->end ||
	    !run->follower || !run->missing)
		return np_fail_nomem(run->err, "the balance of a run");
	for (size_t i = 0; i < slots; i++) {
		run->ready[i] = run->start[i] = run->end[i] = NOT_YET;
		run->follower[i] = UINT32_MAX;
	}
	for (uint32_t i = 0; i + 1 < slots; i++) {
		if (bal->ops[i].behind != UINT32_MAX)
			run->follower[bal->ops[i].behind] = i;
	}
	for (size_t i = 0; i < instances; i++) {
		const struct np_instance *instance = &bal->align->instances.item[i];

		for (uint32_t j = 0; j < instance->count; j++)
			run->missing[i] += bal->ops[instance->first + j].cell != UINT32_MAX;
	}
	return NP_OK;
}

static int push_end(struct bal_running *run, uint32_t slot, double time)
{
	uint32_t *room = np_vec_add(&run->ends, run->err);

	if (!room)
		return NP_E_NOMEM;
	*room = slot;
	run->end[slot] = time;
	return NP_OK;
}

/* All have come: it ends. */
static int end_instance(struct bal_running *run, const struct np_instance *instance)
{
	double last = 0;
	int rc = NP_OK;

	for (uint32_t i = instance->first; i < instance->first + instance->count; i++)
		last = fmax(last, run->start[i]);
	for (uint32_t i = instance->first; i < instance->first + instance->count && rc == NP_OK;
	     i++) {
		if (run->bal->ops[i].cell != UINT32_MAX && !run->bal->ops[i].self)
			rc = push_end(run, i, last + (double)run->scenario->after[i]);
	}
	return rc;
}

static int start_op(struct bal_running *run, uint32_t slot)
{
	const struct bal_op *op = &run->bal->ops[slot];
	const struct np_instance *instance = np_align_instance(run->bal->align, slot);
	size_t index = (size_t)(instance - run->bal->align->instances.item);
	int rc = NP_OK;

	run->start[slot] = run->ready[slot];
	if (op->behind != UINT32_MAX)
		run->start[slot] = fmax(run->start[slot], run->end[op->behind]);
	if (op->self)
		rc = push_end(run, slot, run->start[slot] + (double)run->scenario->after[slot]);
	if (--run->missing[index] == 0 && rc == NP_OK)
		rc = end_instance(run, instance);
	return rc;
}

static int wake(struct bal_running *run, uint32_t cell)
{
	uint32_t *room = np_vec_add(&run->cells, run->err);

	if (!room)
		return NP_E_NOMEM;
	*room = cell;
	return NP_OK;
}

/* Operators that have ended let their followers start, and their ranks go on. */
static int pass_on_ends(struct bal_running *run)
{
	int rc = NP_OK;

	while (run->ends.count > 0 && rc == NP_OK) {
		uint32_t slot = run->ends.item[--run->ends.count];
		uint32_t follower = run->follower[slot];

		if (follower != UINT32_MAX && run->ready[follower] >= 0 && run->start[follower] < 0)
			rc = start_op(run, follower);
		if (rc == NP_OK)
			rc = wake(run, run->bal->ops[slot].cell);
	}
	return rc;
}

/* The rank works up to a mark. */
static void work_to(struct bal_running *run, uint32_t cell, double at)
{
	if (at > run->done[cell]) {
		run->time[cell] += at - run->done[cell];
		run->done[cell] = at;
	}
}

/* Go on until something has not ended yet. */
static int go_on(struct bal_running *run, uint32_t cell)
{
	const struct bal_cell *own = &run->bal->cells.item[cell];
	int rc = NP_OK;

	while (run->next[cell] < own->marks && rc == NP_OK) {
		uint32_t index = own->first + run->next[cell];
		const struct bal_mark *mark = &run->bal->marks.item[index];

		if (mark->block && run->end[mark->slot] < 0)
			return NP_OK;
		work_to(run, cell, run->scenario->at[index]);
		run->next[cell]++;
		if (mark->block) {
			run->time[cell] = fmax(run->time[cell], run->end[mark->slot]);
			continue;
		}
		run->ready[mark->slot] = run->time[cell];
		if (run->bal->ops[mark->slot].behind == UINT32_MAX ||
		    run->end[run->bal->ops[mark->slot].behind] >= 0)
			rc = start_op(run, mark->slot);
		if (rc == NP_OK)
			rc = pass_on_ends(run);
	}
	return rc;
}

static int go_on_all(struct bal_running *run)
{
	int rc = NP_OK;

	while (run->cells.count > 0 && rc == NP_OK)
		rc = go_on(run, run->cells.item[--run->cells.count]);
	return rc;
}

/* What never comes is not waited for. */
static int force(struct bal_running *run)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < run->bal->cells.count && rc == NP_OK; i++) {
		const struct bal_cell *cell = &run->bal->cells.item[i];

		while (run->next[i] < cell->marks && rc == NP_OK) {
			uint32_t slot = run->bal->marks.item[cell->first + run->next[i]].slot;

			run->forced++;
			run->end[slot] = run->time[i];
			rc = wake(run, i);
			if (rc == NP_OK)
				rc = go_on_all(run);
		}
	}
	return rc;
}

/* The end of a step is that of its last rank and operator. */
static int sum_steps(const struct bal_running *run, double *ret, size_t *ret_steps)
{
	const struct np_bal *bal = run->bal;
	size_t count = bal->cluster->steps.count;
	double *ends = calloc(count + 1, sizeof(*ends));
	double sum = 0;
	size_t steps = 0;

	if (!ends)
		return np_fail_nomem(run->err, "the balance of a run");
	for (uint32_t i = 0; i < bal->cells.count; i++) {
		const struct bal_cell *cell = &bal->cells.item[i];
		double end = run->time[i] + fmax(run->scenario->total[i] - run->done[i], 0);

		for (uint32_t j = 0; j < cell->marks; j++)
			end = fmax(end, run->end[bal->marks.item[cell->first + j].slot]);
		ends[cell->step] = fmax(ends[cell->step], end);
	}
	for (size_t i = 0; i < count; i++) {
		sum += ends[i];
		steps += ends[i] > 0;
	}
	free(ends);
	*ret = steps > 0 ? sum / (double)steps : 0;
	*ret_steps = steps;
	return NP_OK;
}

int bal_run(const struct np_bal *bal, const struct bal_scenario *scenario, double *ret,
	    size_t *ret_steps, size_t *forced, struct np_err *err)
{
	struct bal_running run = { .bal = bal, .scenario = scenario, .err = err };
	int rc = begin(&run);

	for (uint32_t i = (uint32_t)bal->cells.count; i > 0 && rc == NP_OK; i--)
		rc = wake(&run, i - 1);
	if (rc == NP_OK)
		rc = go_on_all(&run);
	if (rc == NP_OK)
		rc = force(&run);
	if (rc == NP_OK)
		rc = sum_steps(&run, ret, ret_steps);
	*forced += run.forced;
	running_release(&run);
	return rc;
}
