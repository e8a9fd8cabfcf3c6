/* SPDX-License-Identifier: Apache-2.0 */
/* From a recorded run to what its ranks compute between operators, and to what is even. */
#include "balance_model.h"

#include "npuprof/activity.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/run.h"

#include <math.h>
#include <strings.h>

void bal_release(struct np_bal *bal)
{
	for (size_t i = 0; i < bal->types.count; i++)
		free(bal->types.item[i].stages);
	np_vec_release(&bal->types);
	np_vec_release(&bal->cells);
	np_vec_release(&bal->marks);
	np_vec_release(&bal->rows);
	np_vec_release(&bal->alike);
	np_numbers_release(&bal->row_of);
	np_numbers_release(&bal->pairs);
	np_numbers_release(&bal->type_of);
	free(bal->stage_cells);
	free(bal->ops);
	free(bal->weights);
	free(bal->totals);
	free(bal->even);
	free(bal->passes);
	np_vec_release(&bal->pass_list);
}

static int out_of_memory(struct np_bal *bal)
{
	return np_fail_nomem(bal->err, "the balance of a run");
}

/* --- cells ------------------------------------------------------------------------------------ */

static int add_cells(struct np_bal *bal, uint32_t index)
{
	const struct np_rank *rank = bal->align->run->ranks[index];
	int32_t stage = bal->stage_of[index];

	for (size_t i = 0; i < rank->activity.cells.count; i++) {
		const struct np_activity_cell *activity = &rank->activity.cells.item[i];
		const struct np_step_time *time = &rank->times.item[i];
		size_t step = np_cluster_step(bal->cluster, rank->steps.item[time->step].id);
		struct bal_cell *cell;

		if (time->device != rank->times.item[0].device || step == SIZE_MAX ||
		    activity->end <= activity->begin)
			continue;
		cell = np_vec_add(&bal->cells, bal->err);
		if (!cell)
			return NP_E_NOMEM;
		*cell = (struct bal_cell){ .loaded = rank,
					   .activity = activity,
					   .rank = index,
					   .step = (uint32_t)step,
					   .stage = stage > 0 ? (uint32_t)stage : 0 };
		bal->stages = cell->stage >= bal->stages ? (size_t)cell->stage + 1 : bal->stages;
	}
	return NP_OK;
}

static int see_cells(struct np_bal *bal)
{
	const struct np_run *run = bal->align->run;
	int rc = NP_OK;

	bal->stages = 1;
	for (uint32_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (run->ranks[i])
			rc = add_cells(bal, i);
	}
	if (rc < 0)
		return rc;
	bal->stage_cells = calloc(bal->stages, sizeof(*bal->stage_cells));
	if (!bal->stage_cells)
		return out_of_memory(bal);
	for (size_t i = 0; i < bal->cells.count; i++)
		bal->stage_cells[bal->cells.item[i].stage]++;
	return NP_OK;
}

/* --- types of kernels --------------------------------------------------------------------------
 */

/* Copies are work as well: they have the place behind all types. */
static uint64_t type_key(np_leaf leaf)
{
	return np_leaf_kind(leaf) == NP_LEAF_COMPUTE ? np_leaf_of(leaf) : (uint64_t)1 << 32;
}

static bool is_work(np_leaf leaf)
{
	return np_leaf_kind(leaf) == NP_LEAF_COMPUTE || np_leaf_kind(leaf) == NP_LEAF_MEMCPY;
}

static uint32_t add_type(struct np_bal *bal, np_leaf leaf)
{
	uint32_t found = np_numbers_get(&bal->type_of, type_key(leaf));
	struct bal_type *type;

	if (found != NP_MAP_NONE)
		return found;
	type = np_vec_add(&bal->types, bal->err);
	if (!type)
		return NP_MAP_NONE;
	type->type = np_leaf_kind(leaf) == NP_LEAF_COMPUTE ? np_leaf_of(leaf) : NP_STR_NONE;
	type->stages = calloc(bal->stages, sizeof(*type->stages));
	found = (uint32_t)bal->types.count - 1;
	if (!type->stages) {
		(void)out_of_memory(bal);
		return NP_MAP_NONE;
	}
	return np_numbers_add(&bal->type_of, type_key(leaf), found, bal->err) < 0 ? NP_MAP_NONE
										  : found;
}

/* The shares of a cell. */
static uint32_t first_share(const struct bal_cell *cell, uint32_t *ret_last)
{
	const struct np_segment *segments =
		&cell->loaded->activity.segments.item[cell->activity->first_segment];

	*ret_last = segments[cell->activity->segments].first;
	return segments[0].first;
}

static int sum_types(struct np_bal *bal, struct bal_cell *cell)
{
	uint32_t last;

	for (uint32_t i = first_share(cell, &last); i < last; i++) {
		const struct np_share *share = &cell->loaded->activity.shares.item[i];
		uint32_t type;

		if (!is_work(share->leaf))
			continue;
		type = add_type(bal, share->leaf);
		if (type == NP_MAP_NONE)
			return NP_E_NOMEM;
		bal->types.item[type].stages[cell->stage] += (double)share->ns;
		cell->total += (double)share->ns;
	}
	return NP_OK;
}

/* What the cells of a stage take of a type, on average. */
static double type_mean(const struct np_bal *bal, size_t type, size_t stage)
{
	double cells = bal->stage_cells[stage];

	return cells > 0 ? bal->types.item[type].stages[stage] / cells : 0;
}

/* Likewise those of all stages. */
static double type_even(const struct np_bal *bal, size_t type)
{
	double sum = 0;

	for (size_t i = 0; i < bal->stages; i++)
		sum += bal->types.item[type].stages[i];
	return sum / (double)bal->cells.count;
}

static bool in_all_stages(const struct np_bal *bal, size_t type)
{
	for (size_t i = 0; i < bal->stages; i++) {
		if (bal->stage_cells[i] > 0 && !(bal->types.item[type].stages[i] > 0))
			return false;
	}
	return true;
}

/* Less than this share of what is even is no place to put the rest of it. */
#define ROOM 0.25

/*
 * Types that not all stages have, such as those of the loss, are one sum for all of
 * them. A stage without any takes its part of it with what it has.
 */
static void weigh_stage(struct np_bal *bal, size_t stage)
{
	double *weights = &bal->weights[stage * bal->types.count];
	double own = 0;
	double even = 0;
	double all = 0;
	double all_even = 0;

	for (size_t i = 0; i < bal->types.count; i++) {
		all += type_mean(bal, i, stage);
		all_even += type_even(bal, i);
		if (in_all_stages(bal, i))
			continue;
		own += type_mean(bal, i, stage);
		even += type_even(bal, i);
	}
	bal->totals[stage] = all_even;
	for (size_t i = 0; i < bal->types.count; i++) {
		double mean = type_mean(bal, i, stage);

		if (own < ROOM * even)
			weights[i] = all > 0 ? all_even / all : 1;
		else if (!in_all_stages(bal, i))
			weights[i] = own > 0 ? even / own : 1;
		else
			weights[i] = mean > 0 ? type_even(bal, i) / mean : 1;
	}
}

static int see_types(struct np_bal *bal)
{
	int rc = NP_OK;

	for (size_t i = 0; i < bal->cells.count && rc == NP_OK; i++)
		rc = sum_types(bal, &bal->cells.item[i]);
	if (rc < 0)
		return rc;
	bal->weights = calloc(bal->stages * bal->types.count + 1, sizeof(*bal->weights));
	bal->totals = calloc(bal->stages, sizeof(*bal->totals));
	if (!bal->weights || !bal->totals)
		return out_of_memory(bal);
	for (size_t i = 0; i < bal->stages; i++)
		weigh_stage(bal, i);
	return NP_OK;
}

/* --- progress ----------------------------------------------------------------------------------
 */

int bal_see_progress(struct np_bal *bal, const struct bal_cell *cell, const double *weights,
		     struct bal_progress *ret)
{
	const struct np_activity *activity = &cell->loaded->activity;
	const struct np_segment *segments = &activity->segments.item[cell->activity->first_segment];
	np_leaf known = UINT32_MAX; /* of no work */
	double weight = 1;
	double sum = 0;

	ret->sums.count = 0;
	ret->behind = 0;
	if (np_vec_reserve(&ret->sums, (size_t)cell->activity->segments + 1, bal->err) < 0)
		return NP_E_NOMEM;
	for (uint32_t i = 0; i < cell->activity->segments; i++) {
		ret->sums.item[ret->sums.count++] = sum;
		for (uint32_t j = segments[i].first; j < segments[i + 1].first; j++) {
			const struct np_share *share = &activity->shares.item[j];

			if (!is_work(share->leaf))
				continue;
			if (weights && share->leaf != known) {
				known = share->leaf;
				weight = weights[np_numbers_get(&bal->type_of, type_key(known))];
			}
			sum += (double)share->ns * weight;
		}
	}
	ret->sums.item[ret->sums.count++] = sum;
	return NP_OK;
}

/* The first segment that begins after a time: most times are asked for one after the other. */
static size_t segment_behind(const struct np_segment *segments, size_t count, size_t from,
			     np_ns time)
{
	if (from > 0 && segments[from - 1].begin > time)
		return np_lower_bound(i, (size_t)0, from - 1, segments[i].begin > time);
	for (size_t i = from; i < count && i < from + 8; i++) {
		if (segments[i].begin > time)
			return i;
	}
	return np_lower_bound(i, from, count, segments[i].begin > time);
}

double bal_progress_at(struct bal_progress *progress, const struct bal_cell *cell, np_ns time)
{
	const struct np_segment *segments =
		&cell->loaded->activity.segments.item[cell->activity->first_segment];
	size_t count = cell->activity->segments;
	size_t behind = segment_behind(segments, count, progress->behind, time);
	double done;
	np_ns begin;
	np_ns end;

	progress->behind = behind;
	if (behind == 0)
		return 0;
	/* Segments are cut where operators start and end: within one, a time was rounded. */
	done = progress->sums.item[behind] - progress->sums.item[behind - 1];
	begin = segments[behind - 1].begin;
	end = behind < count ? segments[behind].begin : cell->activity->end;
	if (time >= end)
		return progress->sums.item[behind];
	return progress->sums.item[behind - 1] +
	       done * (double)(time - begin) / (double)(end - begin);
}

/* --- classes -----------------------------------------------------------------------------------
 */

/* A number for two numbers. */
static uint32_t pair(struct np_bal *bal, uint32_t a, uint32_t b)
{
	uint64_t key = (uint64_t)a << 32 | b;
	uint32_t found = np_numbers_get(&bal->pairs, key);

	if (found != NP_MAP_NONE)
		return found;
	found = (uint32_t)bal->pairs.list.count;
	return np_numbers_add(&bal->pairs, key, found, bal->err) < 0 ? NP_MAP_NONE : found;
}

/* Where the other end of a message is: so many stages on, or else before or behind. */
static uint32_t direction(const struct np_bal *bal, const struct np_instance *instance,
			  uint32_t slot)
{
	const struct np_member *members = bal->align->members;
	uint32_t rank = members[slot].rank;

	for (uint32_t i = instance->first; i < instance->first + instance->count; i++) {
		int32_t own = bal->stage_of[rank];
		int32_t other = bal->stage_of[members[i].rank];

		if (members[i].rank == rank)
			continue;
		if (own >= 0 && other >= 0)
			return (uint32_t)(4096 + other - own);
		return members[i].rank > rank ? 2 : 1;
	}
	return 0;
}

/* What the job calls it; those without a name are told apart by their sizes. */
static uint32_t role_of(const struct np_bal *bal, uint32_t communicator)
{
	const struct np_align_communicator *own = &bal->align->communicators.item[communicator];
	const struct np_communicator *each = np_cluster_communicator(bal->cluster, own->hash);

	if (each && each->pg_name != NP_STR_NONE)
		return each->pg_name;
	return 0x80000000 | own->size;
}

/* Operators that do the same on other ranks: by type, role and, of messages, direction. */
static uint32_t class_of(struct np_bal *bal, const struct np_instance *instance, uint32_t slot,
			 uint32_t role)
{
	const struct np_comm_op *op = np_align_op(bal->align, slot);
	bool message = instance->rule == NP_RULE_PAIR && instance->count == 2;
	uint32_t kind = pair(bal, op->type, role);

	if (kind == NP_MAP_NONE)
		return NP_MAP_NONE;
	return pair(bal, kind, message ? direction(bal, instance, slot) : 0);
}

/* Transfers that are compared: of one size, else at one place of the program. */
static int find_alike(struct np_bal *bal, uint32_t class, uint32_t number, uint32_t slot)
{
	const struct np_comm_op *op = np_align_op(bal->align, slot);
	bool known = op->bytes != NP_UNKNOWN && op->bytes > 0;
	uint32_t low = pair(bal, class, known ? (uint32_t)op->bytes : number);
	uint32_t id = low == NP_MAP_NONE
			      ? NP_MAP_NONE
			      : pair(bal, low,
				     known ? (uint32_t)((uint64_t)op->bytes >> 32) : UINT32_MAX);
	struct bal_alike *alike;

	if (id == NP_MAP_NONE)
		return NP_E_NOMEM;
	while (bal->alike.count <= id) {
		alike = np_vec_add(&bal->alike, bal->err);
		if (!alike)
			return NP_E_NOMEM;
		alike->median = (double)NAN;
	}
	bal->alike.item[id].type = op->type;
	bal->ops[slot].alike = id;
	return NP_OK;
}

static uint32_t row_of(struct np_bal *bal, uint32_t stage, uint32_t class, uint32_t number,
		       bool block)
{
	/* Two levels, as four numbers do not fit into 64 bits. */
	uint32_t place = pair(bal, class, 0x40000000 + stage);
	uint64_t key = (uint64_t)place << 32 | (uint64_t)number << 1 | block;
	uint32_t found = place == NP_MAP_NONE ? NP_MAP_NONE : np_numbers_get(&bal->row_of, key);

	if (place == NP_MAP_NONE || found != NP_MAP_NONE)
		return found;
	found = (uint32_t)bal->rows.count;
	if (!np_vec_add(&bal->rows, bal->err) ||
	    np_numbers_add(&bal->row_of, key, found, bal->err) < 0)
		return NP_MAP_NONE;
	bal->rows.item[found].stage = stage;
	bal->rows.item[found].class = class;
	bal->rows.item[found].place = NO_ROW;
	bal->rows.item[found].bound = NO_ROW;
	bal->rows.item[found].guess = NO_ROW;
	return found;
}

/* Both rows of an operator are made together: that of its start, and that of its block. */
static uint32_t start_row(uint32_t block)
{
	return block - 1;
}

/* --- standing still ----------------------------------------------------------------------------
 */

/* A kernel that waited may be seen to start too early, by this share of the wait. */
#define EARLY_PART  64
#define EARLY_LEAST 1000
#define EARLY_MOST  200000

/* How soon behind a send a rank goes on that stood still for it. */
#define GOES_ON_NS 50000

/* Does nothing hide the end of an operator; and is it so thereafter, for another operator? */
static bool shows_at_end(const struct bal_cell *cell, np_ns end, bool *ret_after)
{
	const struct np_exposed *pieces =
		&cell->loaded->activity.exposed.item[cell->activity->first_exposed];
	size_t count = cell->activity->exposed;
	size_t behind = np_lower_bound(i, (size_t)0, count, pieces[i].begin >= end);
	np_ns early;

	*ret_after = false;
	if (behind == 0)
		return false;
	early = (pieces[behind - 1].end - pieces[behind - 1].begin) / EARLY_PART;
	early = early < EARLY_LEAST ? EARLY_LEAST : early > EARLY_MOST ? EARLY_MOST : early;
	if (pieces[behind - 1].end < end - early)
		return false;
	*ret_after = pieces[behind - 1].end > end + EARLY_LEAST ||
		     (behind < count && pieces[behind].begin <= end + EARLY_LEAST);
	return true;
}

/* Was nothing to be launched after the operator? */
static bool goes_on(const struct bal_cell *cell, np_ns end)
{
	const struct np_activity *activity = &cell->loaded->activity;
	const struct np_segment *segments = &activity->segments.item[cell->activity->first_segment];
	size_t count = cell->activity->segments;
	size_t i = np_lower_bound(k, (size_t)0, count, segments[k].begin >= end);
	np_ns idle = 0;

	if (i == count)
		return false;
	for (uint32_t j = segments[i].first; j < segments[i + 1].first; j++) {
		enum np_leaf_kind kind = np_leaf_kind(activity->shares.item[j].leaf);

		if (kind != NP_LEAF_COMPUTE && kind != NP_LEAF_COMM)
			idle += activity->shares.item[j].ns;
	}
	return idle <= GOES_ON_NS;
}

static bool has_word(const struct np_bal *bal, const struct np_comm_op *op, const char *word)
{
	const char *type = np_run_text(bal->align->run, op->type);

	return type && strcasestr(type, word);
}

static bool is_receive(const struct np_bal *bal, const struct np_comm_op *op)
{
	return op->p2p && (has_word(bal, op, "recv") || has_word(bal, op, "receive"));
}

enum blocks {
	BLOCKS_NOT,
	BLOCKS,
	BLOCKS_LATER,
	BLOCKS_PERHAPS, /* it was over while the rank stood still for another */
};

/* What must have ended before the rank goes on? Receives always; else what it was seen to wait for.
 */
static enum blocks blocks_at(const struct np_bal *bal, const struct bal_cell *cell,
			     const struct np_comm_op *op)
{
	bool more = false;
	bool shows = op->end <= cell->activity->begin || shows_at_end(cell, op->end, &more);

	if (is_receive(bal, op) && shows && more)
		return BLOCKS_PERHAPS;
	if (is_receive(bal, op))
		return shows ? BLOCKS : BLOCKS_LATER;
	if (!shows || more)
		return BLOCKS_NOT;
	return !op->p2p || goes_on(cell, op->end) ? BLOCKS : BLOCKS_NOT;
}

/* --- marks -------------------------------------------------------------------------------------
 */

/* What a cell has seen of a number of np_bal.pairs. */
struct last {
	uint32_t cell; /* + 1 */
	uint32_t slot;
	uint32_t count;
};

struct bal_marking {
	struct np_bal *bal;
	struct bal_cell *cell;
	uint32_t index;
	struct bal_progress own;
	NP_VEC(struct last) lasts; /* by number of a pair */
	uint32_t *roles;           /* by communicator */
	uint32_t first_op;
	uint32_t last_op;
};

static struct last *last_of(struct bal_marking *marking, uint32_t number)
{
	while (marking->lasts.count <= number) {
		if (!np_vec_add(&marking->lasts, marking->bal->err))
			return NULL;
	}
	if (marking->lasts.item[number].cell != marking->index + 1)
		marking->lasts.item[number] =
			(struct last){ .cell = marking->index + 1, .slot = UINT32_MAX };
	return &marking->lasts.item[number];
}

static struct bal_mark *add_mark(struct bal_marking *marking, uint32_t slot, uint32_t row,
				 np_ns time)
{
	struct bal_mark *mark = np_vec_add(&marking->bal->marks, marking->bal->err);

	if (mark)
		*mark = (struct bal_mark){ .time = time,
					   .at = bal_progress_at(&marking->own, marking->cell,
								 time),
					   .row = row,
					   .slot = slot,
					   .cell = marking->index,
					   .seen = true };
	return mark;
}

/* Where a mark of this row was seen, for its peers. */
static void count_mark(struct bal_marking *marking, const struct bal_mark *mark)
{
	struct bal_row *row = &marking->bal->rows.item[mark->row];

	if (!mark->seen)
		return;
	row->share += marking->cell->total > 0 ? mark->at / marking->cell->total : 0;
	row->count++;
}

/* How soon behind another an operator starts if that held it up; or by a part of that. */
#define HELD_NS   200000
#define HELD_PART 8

static bool is_held(const struct np_bal *bal, const struct np_comm_op *op, uint32_t slot)
{
	const struct np_comm_op *before;
	np_ns soon;

	if (bal->ops[slot].behind == UINT32_MAX)
		return false;
	before = np_align_op(bal->align, bal->ops[slot].behind);
	soon = (before->end - before->start) / HELD_PART;
	return op->start - before->end <= (soon > HELD_NS ? soon : HELD_NS);
}

static int mark_start(struct bal_marking *marking, const struct np_comm_op *op, uint32_t slot,
		      uint32_t row)
{
	struct bal_mark *mark = add_mark(marking, slot, row, op->start);

	if (!mark)
		return NP_E_NOMEM;
	mark->message = op->p2p;
	mark->seen = !is_held(marking->bal, op, slot);
	marking->bal->rows.item[row].starts++;
	marking->bal->rows.item[row].sends |= op->p2p && !is_receive(marking->bal, op);
	count_mark(marking, mark);
	return NP_OK;
}

static int mark_block(struct bal_marking *marking, const struct np_comm_op *op, uint32_t slot,
		      uint32_t row)
{
	enum blocks how = blocks_at(marking->bal, marking->cell, op);
	struct bal_mark *mark;

	if (how == BLOCKS_NOT)
		return NP_OK;
	mark = add_mark(marking, slot, row, op->end > op->start ? op->end : op->start + 1);
	if (!mark)
		return NP_E_NOMEM;
	mark->block = true;
	mark->message = op->p2p;
	mark->receive = is_receive(marking->bal, op);
	mark->seen = how == BLOCKS;
	mark->perhaps = how == BLOCKS_PERHAPS;
	count_mark(marking, mark);
	return NP_OK;
}

static int mark_op(struct bal_marking *marking, uint32_t index)
{
	struct np_bal *bal = marking->bal;
	const struct np_comm_op *op = &marking->cell->loaded->ops.item[index];
	uint32_t slot = np_align_slot(bal->align, marking->cell->rank, index);
	const struct np_instance *instance = np_align_instance(bal->align, slot);
	uint32_t class = class_of(bal, instance, slot, marking->roles[instance->communicator]);
	uint32_t lane = class == NP_MAP_NONE
				? class
				: pair(bal, class, 0x80000000 | instance->communicator);
	struct last *seen = lane == NP_MAP_NONE ? NULL : last_of(marking, class);
	uint32_t number = seen ? seen->count++ : 0;
	struct last *before = seen ? last_of(marking, lane) : NULL;
	uint32_t start =
		before ? row_of(bal, marking->cell->stage, class, number, false) : NP_MAP_NONE;
	uint32_t block = start == NP_MAP_NONE
				 ? NP_MAP_NONE
				 : row_of(bal, marking->cell->stage, class, number, true);
	struct bal_op *own = &bal->ops[slot];

	if (block == NP_MAP_NONE || find_alike(bal, class, number, slot) < 0)
		return NP_E_NOMEM;
	own->cell = marking->index;
	if (before->slot != UINT32_MAX && np_align_op(bal->align, before->slot)->end <= op->start)
		own->behind = before->slot;
	before->slot = slot;
	if (mark_start(marking, op, slot, start) < 0)
		return NP_E_NOMEM;
	return mark_block(marking, op, slot, block);
}

/* How long before its step an operator may start that was launched for it. */
#define AHEAD_NS 1000000

/* Operators that were launched a little before the step begins are of no step, and yet for it. */
static np_ns first_start(const struct bal_cell *cell)
{
	const struct np_rank *rank = cell->loaded;
	size_t index = (size_t)(cell->activity - rank->activity.cells.item);
	np_ns host = rank->steps.item[rank->times.item[index].step].host_begin;
	np_ns begin = cell->activity->begin;

	return host != NP_UNKNOWN && host - AHEAD_NS < begin ? host - AHEAD_NS : begin;
}

static int mark_cell(struct bal_marking *marking)
{
	struct np_bal *bal = marking->bal;
	struct bal_cell *cell = marking->cell;
	const struct np_rank *rank = cell->loaded;
	uint32_t count = (uint32_t)rank->ops.count;
	int rc = bal_see_progress(bal, cell, NULL, &marking->own);

	np_ns begin = first_start(cell);

	cell->first = (uint32_t)bal->marks.count;
	marking->first_op = np_lower_bound(i, (uint32_t)0, count, rank->ops.item[i].start >= begin);
	marking->last_op = np_lower_bound(i, marking->first_op, count,
					  rank->ops.item[i].start >= cell->activity->end);
	for (uint32_t i = marking->first_op; i < marking->last_op && rc == NP_OK; i++) {
		if (rank->ops.item[i].device == rank->times.item[0].device &&
		    (rank->ops.item[i].start >= cell->activity->begin ||
		     rank->ops.item[i].step == NP_NO_STEP))
			rc = mark_op(marking, i);
	}
	cell->marks = (uint32_t)bal->marks.count - cell->first;
	return rc;
}

static int mark_cells(struct np_bal *bal)
{
	struct bal_marking marking = { .bal = bal };
	size_t count = bal->align->communicators.count;
	int rc = NP_OK;

	marking.roles = malloc((count + 1) * sizeof(*marking.roles));
	if (!marking.roles)
		return out_of_memory(bal);
	for (uint32_t i = 0; i < count; i++)
		marking.roles[i] = role_of(bal, i);
	for (uint32_t i = 0; i < bal->cells.count && rc == NP_OK; i++) {
		marking.cell = &bal->cells.item[i];
		marking.index = i;
		rc = mark_cell(&marking);
	}
	free(marking.roles);
	np_vec_release(&marking.lasts);
	np_vec_release(&marking.own.sums);
	/* There are many: the room for as many again is worth more elsewhere. */
	if (rc == NP_OK)
		(void)np_vec_fit(&bal->marks);
	return rc;
}

/* --- where marks belong ------------------------------------------------------------------------
 */

/*
 * A rank that goes on when a receive has ended need not be the one that needed it: it
 * may have had other things to do first. It is needed at the latest place at which any
 * rank of the stage, in any step, was seen to wait for it. Places are those of starts,
 * which are in one order on all of these ranks, whatever the times in between.
 */
struct placing {
	struct np_bal *bal;
	NP_VEC(struct bal_mark) seen; /* starts and blocks of a cell, in the order of time */
	NP_VEC(struct bal_mark) starts;
	NP_VEC(uint32_t)
	latest;            /* of the starts up to each: the row that comes last in the order */
	uint32_t *cell_of; /* by row: + 1, and the start of it there */
	uint32_t *start_of;
};

/* What is seen comes first: a block, which lets the rank go on, before a start of the same time. */
static int mark_order(const struct bal_mark *mark)
{
	return (mark->seen ? 0 : 2) + !mark->block;
}

static int by_time(const void *left, const void *right)
{
	const struct bal_mark *a = left;
	const struct bal_mark *b = right;

	if (a->time != b->time)
		return np_order(a->time, b->time);
	if (mark_order(a) != mark_order(b))
		return mark_order(a) - mark_order(b);
	return np_order(a->slot, b->slot);
}

/* Does a row come behind another one in the order of its stage? */
static bool is_later(const struct np_bal *bal, uint32_t row, uint32_t than)
{
	const struct bal_row *a = &bal->rows.item[row];
	const struct bal_row *b;

	if (than == NO_ROW)
		return true;
	b = &bal->rows.item[than];
	if (a->share * b->count != b->share * a->count)
		return a->share * b->count > b->share * a->count;
	return row > than;
}

static int list_seen(struct placing *placing, const struct bal_cell *cell, uint32_t index)
{
	struct np_bal *bal = placing->bal;
	struct bal_mark *marks = cell->marks > 0 ? &bal->marks.item[cell->first] : NULL;
	uint32_t latest = NO_ROW;

	placing->seen.count = placing->starts.count = placing->latest.count = 0;
	if (np_vec_reserve(&placing->seen, (size_t)cell->marks + 1, bal->err) < 0 ||
	    np_vec_reserve(&placing->starts, (size_t)cell->marks + 1, bal->err) < 0 ||
	    np_vec_reserve(&placing->latest, (size_t)cell->marks + 1, bal->err) < 0)
		return NP_E_NOMEM;
	if (cell->marks > 1)
		qsort(marks, cell->marks, sizeof(*marks), by_time);
	for (uint32_t i = 0; i < cell->marks; i++) {
		if (!marks[i].seen)
			continue;
		placing->seen.item[placing->seen.count++] = marks[i];
		if (marks[i].block)
			continue;
		latest = is_later(bal, marks[i].row, latest) ? marks[i].row : latest;
		placing->cell_of[marks[i].row] = index + 1;
		placing->start_of[marks[i].row] = (uint32_t)placing->starts.count;
		placing->starts.item[placing->starts.count++] = marks[i];
		placing->latest.item[placing->latest.count++] = latest;
	}
	return NP_OK;
}

/* Starts that follow a kernel are recorded a little behind it. */
#define FOLLOWS_NS 200000.0

static void take_later(const struct np_bal *bal, uint32_t row, uint32_t *latest)
{
	if (is_later(bal, row, *latest))
		*latest = row;
}

static void see_place(struct placing *placing, const struct bal_mark *mark)
{
	struct np_bal *bal = placing->bal;
	struct bal_row *row = &bal->rows.item[mark->row];
	const struct bal_mark *starts = placing->starts.item;
	size_t count = placing->starts.count;
	size_t next;

	next = mark->seen
		       ? np_lower_bound(i, (size_t)0, count, starts[i].at > mark->at + FOLLOWS_NS)
		       : np_lower_bound(i, (size_t)0, count, starts[i].time >= mark->time);
	/* Ranks that stood still for another are not past it. */
	if (next > 0 && !mark->perhaps)
		take_later(bal, placing->latest.item[next - 1],
			   mark->seen ? &row->place : &row->bound);
	if (next < count && !mark->seen)
		take_later(bal, starts[next].row, &row->guess);
}

/* Where receives of a row are needed: where somebody waited, unless others got further without. */
static uint32_t place_of(const struct np_bal *bal, const struct bal_row *row)
{
	if (row->place != NO_ROW && (row->bound == NO_ROW || is_later(bal, row->place, row->bound)))
		return row->place;
	return row->guess != NO_ROW ? row->guess : row->place;
}

/* Of marks in the order of time, from `first` up to `last` the one nearest to a place. */
static const struct bal_mark *nearest(const struct bal_mark *marks, size_t first, size_t last,
				      double at)
{
	size_t found = np_lower_bound(i, first, last, marks[i].at >= at);

	if (found == last)
		return &marks[last - 1];
	if (found > first && at - marks[found - 1].at < marks[found].at - at)
		found--;
	return &marks[found];
}

/* An operator that was held up could have started where those of its peers did that were not. */
static void move_start(struct placing *placing, const struct bal_cell *cell, struct bal_mark *mark)
{
	const struct np_bal *bal = placing->bal;
	const struct bal_row *row = &bal->rows.item[mark->row];
	const struct bal_mark *marks = placing->seen.item;
	size_t count = placing->seen.count;
	np_ns least = np_align_op(bal->align, bal->ops[mark->slot].behind)->start;
	size_t first = np_lower_bound(i, (size_t)0, count, marks[i].time >= least);
	size_t last = np_lower_bound(i, first, count, marks[i].time > mark->time);
	const struct bal_mark *to;

	if (!(row->count > 0) || first == last)
		return;
	to = nearest(marks, first, last, row->share / row->count * cell->total);
	mark->time = to->time;
	mark->at = to->at;
}

/* The rank does not wait for it: it comes behind all others, and is left out. */
static void leave_out(struct bal_mark *mark)
{
	mark->time = NP_NS_MAX;
}

/* A send that most ranks went on behind does not make anybody wait. */
static void move_send(const struct np_bal *bal, struct bal_mark *mark)
{
	if (2 * bal->rows.item[mark->row].count <= bal->rows.item[start_row(mark->row)].count)
		leave_out(mark);
}

/* A receive is needed where its peers say, but not before it was there. */
static void move_receive(struct placing *placing, struct bal_mark *mark, uint32_t index)
{
	const struct bal_row *row = &placing->bal->rows.item[mark->row];
	uint32_t place = place_of(placing->bal, row);
	const struct bal_mark *to = NULL;

	if (place != NO_ROW && placing->cell_of[place] == index + 1)
		to = &placing->starts.item[placing->start_of[place]];
	if (to && to->time > mark->time) {
		mark->time = to->time;
		mark->at = to->at;
		mark->seen = false;
	} else if (!mark->seen && place == NO_ROW) {
		leave_out(mark);
	}
}

static int place_cell(struct placing *placing, uint32_t index, bool moves)
{
	struct bal_cell *cell = &placing->bal->cells.item[index];
	struct bal_mark *marks = cell->marks > 0 ? &placing->bal->marks.item[cell->first] : NULL;
	int rc = list_seen(placing, cell, index);

	for (uint32_t i = 0; i < cell->marks && rc == NP_OK; i++) {
		if (!moves && marks[i].receive)
			see_place(placing, &marks[i]);
		else if (moves && marks[i].receive)
			move_receive(placing, &marks[i], index);
		else if (moves && marks[i].block && marks[i].message)
			move_send(placing->bal, &marks[i]);
		else if (moves && !marks[i].seen)
			move_start(placing, cell, &marks[i]);
	}
	if (rc == NP_OK && moves && cell->marks > 1)
		qsort(marks, cell->marks, sizeof(*marks), by_time);
	while (cell->marks > 0 && marks[cell->marks - 1].time == NP_NS_MAX)
		cell->marks--;
	return rc;
}

static int place_marks(struct np_bal *bal)
{
	struct placing placing = {
		.bal = bal,
		.cell_of = calloc(bal->rows.count + 1, sizeof(uint32_t)),
		.start_of = calloc(bal->rows.count + 1, sizeof(uint32_t)),
	};
	int rc = placing.cell_of && placing.start_of ? NP_OK : out_of_memory(bal);

	for (uint32_t i = 0; i < bal->cells.count && rc == NP_OK; i++)
		rc = place_cell(&placing, i, false);
	if (rc == NP_OK)
		memset(placing.cell_of, 0, bal->rows.count * sizeof(uint32_t));
	for (uint32_t i = 0; i < bal->cells.count && rc == NP_OK; i++)
		rc = place_cell(&placing, i, true);
	np_vec_release(&placing.seen);
	np_vec_release(&placing.starts);
	np_vec_release(&placing.latest);
	free(placing.cell_of);
	free(placing.start_of);
	return rc;
}

/*
 * What is even follows from where the marks of all ranks belong. What only some stood
 * still for counts from its start, or it would be even for those alone.
 */
struct settling {
	struct np_bal *bal;
	const double *weights; /* of types; NULL: those of the stage */
	double *sums;          /* by row */
	double *counts;
	double *started; /* by slot */
	struct bal_progress even;
};

static int settle_cell(struct settling *settling, size_t index, double *at, double *ret_total)
{
	struct np_bal *bal = settling->bal;
	const struct bal_cell *cell = &bal->cells.item[index];
	int rc = bal_see_progress(bal, cell,
				  settling->weights ? settling->weights
						    : &bal->weights[cell->stage * bal->types.count],
				  &settling->even);

	for (uint32_t i = cell->first; i < cell->first + cell->marks && rc == NP_OK; i++) {
		const struct bal_mark *mark = &bal->marks.item[i];
		double own = bal_progress_at(&settling->even, cell, mark->time);

		if (at)
			at[i] = own;
		if (mark->block)
			own -= settling->started[mark->slot];
		else
			settling->started[mark->slot] = own;
		settling->sums[mark->row] += own;
		settling->counts[mark->row]++;
	}
	if (rc == NP_OK && ret_total)
		ret_total[index] = settling->even.sums.item[settling->even.sums.count - 1];
	return rc;
}

int bal_settle(struct np_bal *bal, const double *weights, uint32_t stage, double **ret)
{
	return bal_settle_marks(bal, weights, stage, NULL, NULL, ret);
}

int bal_settle_marks(struct np_bal *bal, const double *weights, uint32_t stage, double *at,
		     double *totals, double **ret)
{
	struct settling settling = {
		.bal = bal,
		.weights = weights,
		.sums = calloc(bal->rows.count + 1, sizeof(double)),
		.counts = calloc(bal->rows.count + 1, sizeof(double)),
		.started = calloc((size_t)bal->align->op_count + 1, sizeof(double)),
	};
	int rc = settling.sums && settling.counts && settling.started ? NP_OK : out_of_memory(bal);

	for (size_t i = 0; i < bal->cells.count && rc == NP_OK; i++) {
		if (stage == BAL_ALL_STAGES || bal->cells.item[i].stage == stage)
			rc = settle_cell(&settling, i, at, totals);
	}
	for (size_t i = 0; i < bal->rows.count && rc == NP_OK; i++) {
		if (settling.counts[i] > 0)
			settling.sums[i] /= settling.counts[i];
	}
	np_vec_release(&settling.even.sums);
	free(settling.counts);
	free(settling.started);
	*ret = settling.sums;
	return rc;
}

/* Rows of starts and blocks take turns. */
double bal_even_at(const struct np_bal *bal, const double *even, uint32_t row)
{
	uint32_t place = place_of(bal, &bal->rows.item[row]);

	if (place != NO_ROW)
		return even[place];
	return even[row] + (row % 2 == 1 ? even[start_row(row)] : 0);
}

/* --- transfers ---------------------------------------------------------------------------------
 */

/* Are all members in one step, and their clocks comparable? */
static bool is_together(const struct np_bal *bal, const struct np_instance *instance)
{
	const struct np_member *members = &bal->align->members[instance->first];
	const struct bal_op *ops = &bal->ops[instance->first];

	for (uint32_t i = 0; i < instance->count; i++) {
		if (ops[i].cell == UINT32_MAX ||
		    bal->cells.item[ops[i].cell].step != bal->cells.item[ops[0].cell].step ||
		    !np_clock_related(bal->clock, members[0].rank, members[i].rank))
			return false;
	}
	return true;
}

static np_ns last_start(const struct np_bal *bal, const struct np_instance *instance)
{
	np_ns last = -NP_NS_MAX;

	for (uint32_t i = instance->first; i < instance->first + instance->count; i++) {
		np_ns start = np_clock_time(bal->clock, bal->align->members[i].rank,
					    np_align_op(bal->align, i)->start);

		last = start > last ? start : last;
	}
	return last;
}

static void see_transfer(struct np_bal *bal, const struct np_instance *instance)
{
	bool together = is_together(bal, instance);
	np_ns last = last_start(bal, instance);

	for (uint32_t i = instance->first; i < instance->first + instance->count; i++) {
		const struct np_comm_op *op = np_align_op(bal->align, i);
		np_ns end = np_clock_time(bal->clock, bal->align->members[i].rank, op->end);
		struct bal_op *own = &bal->ops[i];

		own->loose = !together;
		/* Who is done before the last has come did not wait for it, or the clocks are off.
		 */
		own->self = !together ||
			    (end < last && instance->rule != NP_RULE_ALL && !is_receive(bal, op));
		own->after = (float)(own->self ? op->end - op->start : end > last ? end - last : 0);
	}
}

/* Nobody who is known to have been there is missing. */
static bool has_all(const struct np_bal *bal, uint32_t slot)
{
	const struct np_instance *instance = np_align_instance(bal->align, slot);

	return instance->count >= instance->expected && instance->count > 1;
}

static bool is_compared(const struct np_bal *bal, uint32_t slot)
{
	const struct bal_op *op = &bal->ops[slot];

	return op->cell != UINT32_MAX && !op->self && !op->loose && has_all(bal, slot);
}

/* Half of two in the middle, as the rule has it. */
static float half_of_two(double *values, size_t count)
{
	double low = np_median(values, count);
	double high = low;

	for (size_t i = count / 2; i < count && count % 2 == 0; i++)
		high = i == count / 2 || values[i] < high ? values[i] : high;
	return ((float)low + (float)high) / 2;
}

/* Medians of what is alike. */
static int find_medians(struct np_bal *bal)
{
	double *list = malloc(((size_t)bal->align->op_count + 1) * sizeof(*list));
	uint32_t *ends = calloc(bal->alike.count + 1, sizeof(*ends));
	uint32_t first = 0;

	if (!list || !ends) {
		free(list);
		free(ends);
		return out_of_memory(bal);
	}
	for (uint32_t i = 0; i < bal->align->op_count; i++) {
		if (is_compared(bal, i))
			ends[bal->ops[i].alike]++;
	}
	for (size_t i = 0; i < bal->alike.count; i++) {
		uint32_t count = ends[i];

		ends[i] = first;
		first += count;
	}
	for (uint32_t i = 0; i < bal->align->op_count; i++) {
		if (is_compared(bal, i))
			list[ends[bal->ops[i].alike]++] = (double)bal->ops[i].after;
	}
	first = 0;
	for (size_t i = 0; i < bal->alike.count; i++) {
		if (ends[i] > first)
			bal->alike.item[i].median = half_of_two(&list[first], ends[i] - first);
		first = ends[i];
	}
	free(list);
	free(ends);
	return NP_OK;
}

/* What somebody who was not profiled was waited for is not known to be a transfer. */
static void bound_incomplete(struct np_bal *bal)
{
	for (uint32_t i = 0; i < bal->align->op_count; i++) {
		struct bal_op *op = &bal->ops[i];

		if (op->cell != UINT32_MAX && !has_all(bal, i))
			op->after = fminf(op->after, bal->alike.item[op->alike].median);
	}
}

static int see_transfers(struct np_bal *bal)
{
	int rc;

	for (size_t i = 0; i < bal->align->instances.count; i++)
		see_transfer(bal, &bal->align->instances.item[i]);
	rc = find_medians(bal);
	if (rc == NP_OK)
		bound_incomplete(bal);
	return rc;
}

/* --- all of it ---------------------------------------------------------------------------------
 */

int bal_build(struct np_bal *bal)
{
	size_t count = bal->align->op_count;
	int rc;

	bal->ops = malloc((count + 1) * sizeof(*bal->ops));
	if (!bal->ops)
		return out_of_memory(bal);
	for (size_t i = 0; i < count; i++)
		bal->ops[i] = (struct bal_op){ .cell = UINT32_MAX, .behind = UINT32_MAX };
	rc = see_cells(bal);
	if (rc == NP_OK)
		rc = see_types(bal);
	if (rc == NP_OK)
		rc = mark_cells(bal);
	if (rc == NP_OK)
		rc = place_marks(bal);
	if (rc == NP_OK)
		rc = bal_settle(bal, NULL, BAL_ALL_STAGES, &bal->even);
	if (rc == NP_OK)
		rc = bal_pool(bal);
	if (rc == NP_OK)
		rc = see_transfers(bal);
	return rc;
}
