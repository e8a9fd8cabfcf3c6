/* SPDX-License-Identifier: Apache-2.0 */
/* What uneven work costs a run, and what of that a rank, a stage or an operator type accounts for.
 */
#include "npuprof/balance.h"

#include "balance_model.h"

#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/workers.h"

#include <math.h>
#include <strings.h>

const char *np_share_kind_name(enum np_share_kind kind)
{
	static const char *const names[] = { "rank", "stage", "optype" };

	return names[kind];
}

void np_balance_release(struct np_balance *balance)
{
	np_vec_release(&balance->shares);
}

/* --- what is tried ------------------------------------------------------------------------------
 */

/* Ranks, and types, that are tried: those that are furthest from what is even. */
#define TRIED_RANKS  16
#define TRIED_TYPES  6
#define TRIED_STAGES 64

/* Kernels of a type need an array of their own: so many at most are tried side by side. */
#define KERNELS_AT_ONCE 2

/* Shares that are tried side by side. */
struct batch {
	size_t shares[BAL_LANES];
	size_t count;
	size_t kernels;
};

/* A rank, first, and those that do the same as it, and as long. */
struct bal_worker {
	uint32_t ranks[TRIED_RANKS];
	size_t count;
};

struct trying {
	struct np_bal *bal;
	const struct bal_program *program;
	struct np_balance *balance;
	NP_VEC(struct np_balance_share) list;
	NP_VEC(struct batch) batches;
	struct bal_worker workers[TRIED_RANKS];
	size_t worker_count;
	double *steps;         /* by the list */
	struct np_err *errors; /* by batch */
};

struct candidate {
	uint32_t index;
	double excess;
};

static int by_excess(const void *left, const void *right)
{
	const struct candidate *a = left;
	const struct candidate *b = right;

	if (a->excess != b->excess)
		return a->excess > b->excess ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static int try(struct trying *trying, enum np_share_kind kind, int32_t number, np_str type)
{
	struct np_balance_share *share = np_vec_add(&trying->list, trying->bal->err);

	if (!share)
		return NP_E_NOMEM;
	*share = (struct np_balance_share){ .kind = kind, .number = number, .type = type };
	return NP_OK;
}

/* --- workers ------------------------------------------------------------------------------------
 */

/* Ranks of a tensor parallel group are this near to each other in what they compute. */
#define AS_LONG 0.1

static bool has_member(const int32_t *members, size_t count, int32_t id)
{
	size_t at = np_lower_bound(i, (size_t)0, count, members[i] >= id);

	return at < count && members[at] == id;
}

/* Do they share the work of a micro-batch, and not the micro-batches? */
static bool is_tensor_parallel(const struct np_bal *bal, const struct np_communicator *each)
{
	const char *name = np_run_text(bal->align->run, each->pg_name);

	return name && strncasecmp(name, "tp", 2) == 0;
}

/*
 * The worker of the rule is all of a tensor parallel group: ranks of one stage that meet in
 * such a group, or, where nothing was recorded of it, in none but those of several stages.
 */
static bool are_one_worker(const struct np_bal *bal, uint32_t a, uint32_t b)
{
	const struct np_run *run = bal->align->run;
	int32_t ids[] = { run->ranks[a]->id, run->ranks[b]->id };
	int32_t stage = bal->stage_of[a];
	bool apart = false;

	if (stage < 0 || bal->stage_of[b] != stage)
		return false;
	for (size_t i = 0; i < bal->cluster->communicators.count; i++) {
		const struct np_communicator *each = &bal->cluster->communicators.item[i];
		size_t first;
		size_t last;

		if (!has_member(each->observed, each->observed_count, ids[0]) ||
		    !has_member(each->observed, each->observed_count, ids[1]))
			continue;
		if (is_tensor_parallel(bal, each))
			return true;
		first = np_run_index(run, each->observed[0]);
		last = np_run_index(run, each->observed[each->observed_count - 1]);
		apart |= bal->stage_of[first] == stage && bal->stage_of[last] == stage;
	}
	return !apart;
}

static void add_worker(struct trying *trying, const struct candidate *ranks, size_t count,
		       size_t index)
{
	struct bal_worker *worker = &trying->workers[trying->worker_count++];
	double own = ranks[index].excess;

	worker->ranks[worker->count++] = ranks[index].index;
	for (size_t i = 0; i < count && own > 0; i++) {
		if (i != index && fabs(ranks[i].excess - own) <= AS_LONG * own &&
		    trying->bal->align->run->ranks[ranks[i].index] &&
		    are_one_worker(trying->bal, ranks[index].index, ranks[i].index))
			worker->ranks[worker->count++] = ranks[i].index;
	}
}

static const struct bal_worker *worker_of(const struct trying *trying, uint32_t rank)
{
	size_t i = 0;

	while (i + 1 < trying->worker_count && trying->workers[i].ranks[0] != rank)
		i++;
	return &trying->workers[i];
}

/* The index of the rank in the run stands for its id until all is done. */
static int try_ranks(struct trying *trying)
{
	const struct np_bal *bal = trying->bal;
	size_t count = bal->align->run->sources.count;
	struct candidate *ranks = calloc(count + 1, sizeof(*ranks));
	int rc = NP_OK;

	if (!ranks)
		return np_fail_nomem(bal->err, "the balance of a run");
	for (uint32_t i = 0; i < count; i++)
		ranks[i].index = i;
	for (size_t i = 0; i < bal->cells.count; i++) {
		const struct bal_cell *cell = &bal->cells.item[i];

		ranks[cell->rank].excess += cell->total - bal->totals[cell->stage];
	}
	qsort(ranks, count, sizeof(*ranks), by_excess);
	for (size_t i = 0; i < count && i < TRIED_RANKS && rc == NP_OK; i++) {
		if (!bal->align->run->ranks[ranks[i].index])
			continue;
		rc = try(trying, NP_SHARE_RANK, (int32_t)ranks[i].index, NP_STR_NONE);
		if (rc == NP_OK)
			add_worker(trying, ranks, count < TRIED_RANKS ? count : TRIED_RANKS, i);
	}
	free(ranks);
	return rc;
}

/* How far the cells are from what is even. */
static int see_type_excess(struct np_bal *bal)
{
	double *times = calloc(bal->types.count + 1, sizeof(*times));

	if (!times)
		return np_fail_nomem(bal->err, "the balance of a run");
	for (size_t i = 0; i < bal->cells.count; i++) {
		const struct bal_cell *cell = &bal->cells.item[i];
		const struct np_activity *activity = &cell->loaded->activity;
		const struct np_segment *segments =
			&activity->segments.item[cell->activity->first_segment];

		memset(times, 0, bal->types.count * sizeof(*times));
		for (uint32_t j = segments[0].first; j < segments[cell->activity->segments].first;
		     j++) {
			const struct np_share *share = &activity->shares.item[j];

			if (np_leaf_kind(share->leaf) == NP_LEAF_COMPUTE)
				times[np_numbers_get(&bal->type_of, np_leaf_of(share->leaf))] +=
					(double)share->ns;
		}
		for (size_t j = 0; j < bal->types.count; j++) {
			double even = bal->weights[cell->stage * bal->types.count + j] *
				      bal->types.item[j].stages[cell->stage] /
				      bal->stage_cells[cell->stage];

			bal->types.item[j].excess += fabs(times[j] - even);
		}
	}
	free(times);
	return NP_OK;
}

static int try_kernels(struct trying *trying)
{
	struct np_bal *bal = trying->bal;
	struct candidate *types = calloc(bal->types.count + 1, sizeof(*types));
	int rc = types ? see_type_excess(bal) : np_fail_nomem(bal->err, "the balance of a run");
	size_t tried = 0;

	for (uint32_t i = 0; i < bal->types.count && rc == NP_OK; i++)
		types[i] = (struct candidate){ i, bal->types.item[i].excess };
	if (rc == NP_OK)
		qsort(types, bal->types.count, sizeof(*types), by_excess);
	for (size_t i = 0; i < bal->types.count && tried < TRIED_TYPES && rc == NP_OK; i++) {
		np_str type = bal->types.item[types[i].index].type;

		if (type == NP_STR_NONE)
			continue;
		rc = try(trying, NP_SHARE_OPTYPE, (int32_t)types[i].index, type);
		tried++;
	}
	free(types);
	return rc;
}

static bool is_tried(const struct trying *trying, np_str type)
{
	for (size_t i = 0; i < trying->list.count; i++) {
		if (trying->list.item[i].kind == NP_SHARE_OPTYPE &&
		    trying->list.item[i].number < 0 && trying->list.item[i].type == type)
			return true;
	}
	return false;
}

static int try_transfers(struct trying *trying)
{
	const struct np_bal *bal = trying->bal;
	size_t tried = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < bal->alike.count && tried < TRIED_TYPES && rc == NP_OK; i++) {
		if (isnan(bal->alike.item[i].median) || is_tried(trying, bal->alike.item[i].type))
			continue;
		rc = try(trying, NP_SHARE_OPTYPE, -1, bal->alike.item[i].type);
		tried++;
	}
	return rc;
}

/* --- trying it ----------------------------------------------------------------------------------
 */

static bool is_of_kernels(const struct np_balance_share *share)
{
	return share->kind == NP_SHARE_OPTYPE && share->number >= 0;
}

static int make_batches(struct trying *trying)
{
	for (size_t i = 0; i < trying->list.count; i++) {
		bool kernels = is_of_kernels(&trying->list.item[i]);
		struct batch *batch;
		size_t at = 0;

		while (at < trying->batches.count &&
		       (trying->batches.item[at].count == BAL_LANES ||
			(kernels && trying->batches.item[at].kernels == KERNELS_AT_ONCE)))
			at++;
		batch = at < trying->batches.count ? &trying->batches.item[at]
						   : np_vec_add(&trying->batches, trying->bal->err);
		if (!batch)
			return NP_E_NOMEM;
		batch->shares[batch->count++] = i;
		batch->kernels += kernels;
	}
	return NP_OK;
}

static struct bal_lane lane_of(const struct trying *trying, const struct np_balance_share *share)
{
	static const enum bal_what kinds[] = {
		[NP_SHARE_RANK] = BAL_EVEN_RANK,
		[NP_SHARE_STAGE] = BAL_EVEN_STAGE,
		[NP_SHARE_OPTYPE] = BAL_EVEN_TRANSFERS,
	};

	struct bal_lane lane = { .what = is_of_kernels(share) ? BAL_EVEN_KERNELS
							      : kinds[share->kind],
				 .number = (uint32_t)share->number,
				 .type = share->type };

	if (share->kind == NP_SHARE_RANK) {
		const struct bal_worker *worker = worker_of(trying, (uint32_t)share->number);

		lane.ranks = worker->ranks;
		lane.rank_count = worker->count;
	}
	return lane;
}

static void run_batch(void *context, size_t index)
{
	struct trying *trying = context;
	const struct batch *batch = &trying->batches.item[index];
	struct bal_lane lanes[BAL_LANES];

	for (size_t i = 0; i < batch->count; i++)
		lanes[i] = lane_of(trying, &trying->list.item[batch->shares[i]]);
	/* A failure stays in the list. */
	(void)!bal_run(trying->bal, trying->program, lanes, batch->count, &trying->errors[index]);
	for (size_t i = 0; i < batch->count; i++)
		trying->steps[batch->shares[i]] = lanes[i].step;
}

static int by_recovered(const void *left, const void *right)
{
	const struct np_balance_share *a = left;
	const struct np_balance_share *b = right;

	if (a->recovered != b->recovered)
		return a->recovered > b->recovered ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (a->type > b->type) - (a->type < b->type);
}

/* Less than this share of the loss is not worth a row, unless it is a stage's. */
#define WORTH 0.01

static int keep_shares(struct trying *trying, double now, double ideal)
{
	const struct np_run *run = trying->bal->align->run;

	for (size_t i = 0; i < trying->batches.count; i++) {
		if (trying->errors[i].code < 0)
			return np_fail(trying->bal->err, trying->errors[i].code, "%s",
				       trying->errors[i].text);
	}
	for (size_t i = 0; i < trying->list.count; i++) {
		struct np_balance_share *share = &trying->list.item[i];
		struct np_balance_share *kept;

		share->recovered = (now - trying->steps[i]) / (now - ideal);
		if (share->recovered < WORTH && share->kind != NP_SHARE_STAGE)
			continue;
		kept = np_vec_add(&trying->balance->shares, trying->bal->err);
		if (!kept)
			return NP_E_NOMEM;
		*kept = *share;
		if (kept->kind == NP_SHARE_RANK)
			kept->number = run->ranks[share->number]->id;
	}
	if (trying->balance->shares.count > 1)
		qsort(trying->balance->shares.item, trying->balance->shares.count,
		      sizeof(*trying->balance->shares.item), by_recovered);
	return NP_OK;
}

/* A loss below this share of the step is none to be divided. */
#define LOSS 0.001

static int find_shares(struct trying *trying, double now, double ideal, size_t threads)
{
	const struct np_workers workers = { .threads = threads };
	int rc = NP_OK;

	if (now - ideal < LOSS * now)
		return NP_OK;
	for (size_t i = 0;
	     trying->bal->stages > 1 && i < trying->bal->stages && i < TRIED_STAGES && rc == NP_OK;
	     i++)
		rc = try(trying, NP_SHARE_STAGE, (int32_t)i, NP_STR_NONE);
	if (rc == NP_OK)
		rc = try_ranks(trying);
	if (rc == NP_OK)
		rc = try_kernels(trying);
	if (rc == NP_OK)
		rc = try_transfers(trying);
	if (rc == NP_OK)
		rc = make_batches(trying);
	if (rc < 0)
		return rc;
	trying->steps = calloc(trying->list.count + 1, sizeof(*trying->steps));
	trying->errors = calloc(trying->batches.count + 1, sizeof(*trying->errors));
	if (!trying->steps || !trying->errors)
		return np_fail_nomem(trying->bal->err, "the balance of a run");
	np_workers_run(&workers, trying->batches.count, run_batch, trying);
	return keep_shares(trying, now, ideal);
}

/* --- all of it ----------------------------------------------------------------------------------
 */

/* As it was, and where all is even. */
static int run_both(struct np_bal *bal, struct bal_program *program, struct np_balance *ret,
		    double *ret_now, double *ret_ideal)
{
	struct bal_lane lanes[] = { { .what = BAL_AS_IT_WAS }, { .what = BAL_EVEN } };
	int rc = bal_order(bal, program, bal->err);

	if (rc == NP_OK)
		rc = bal_run(bal, program, lanes, NP_COUNT(lanes), bal->err);
	if (rc < 0)
		return rc;
	ret->steps = lanes[1].steps;
	ret->forced = 2 * program->forced;
	*ret_now = lanes[0].step;
	*ret_ideal = lanes[1].step;
	return NP_OK;
}

/* More messages than this share whose other end is not known leave no pipeline to run. */
#define LOST_MESSAGES 0.02

static bool has_messages(const struct np_align *align)
{
	double count = 0;
	double lost = 0;

	for (uint32_t i = 0; i < align->op_count; i++) {
		if (!np_align_op(align, i)->p2p)
			continue;
		count++;
		lost += np_align_instance(align, i)->count < 2;
	}
	return lost <= LOST_MESSAGES * count;
}

/*
 * Even work takes no longer than uneven work: where it would, by more than this, messages were
 * given to others than those that they went to, and nothing is known.
 */
#define NO_SHORTER 0.98

int np_balance_measure(const struct np_align *align, const struct np_clock *clock,
		       const struct np_cluster *cluster, const int32_t *stages, size_t threads,
		       struct np_balance *ret, struct np_err *err)
{
	struct np_bal bal = {
		.align = align, .clock = clock, .cluster = cluster, .stage_of = stages, .err = err
	};
	struct bal_program program = { 0 };
	struct trying trying = { .bal = &bal, .program = &program, .balance = ret };
	double now = 0;
	double ideal = 0;
	int rc = bal_build(&bal);

	if (rc == NP_OK && bal.cells.count > 1 && bal.marks.count < BAL_MOST &&
	    align->op_count < BAL_MOST && has_messages(align))
		rc = run_both(&bal, &program, ret, &now, &ideal);
	ret->known = rc == NP_OK && ideal > 0 && now >= NO_SHORTER * ideal;
	ret->step = (np_ns)llround(now);
	ret->ideal = (np_ns)llround(ideal);
	if (ret->known)
		rc = find_shares(&trying, now, ideal, threads);
	bal_program_release(&program);
	np_vec_release(&trying.list);
	np_vec_release(&trying.batches);
	free(trying.steps);
	free(trying.errors);
	bal_release(&bal);
	return rc;
}
