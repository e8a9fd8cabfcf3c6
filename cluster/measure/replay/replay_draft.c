/* SPDX-License-Identifier: Apache-2.0 */
/* The program of one rank, from its intervals and operators. */
#include "replay_draft.h"

#include "npuprof/activity.h"
#include "npuprof/align.h"
#include "npuprof/iteration.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"

/* A rank while its program is drafted. */
struct drafting {
	const struct np_replay *replay;
	const struct np_align *align;
	const struct np_rank *rank;
	uint32_t index;
	const struct np_replay_rank *late;
	struct rank_draft *draft;
	np_ns done[NP_WORK_KINDS];
	uint32_t next_op;
	uint32_t *by_end;      /* operators in the order of their ends */
	struct stood *stood;   /* by slot */
	uint8_t *left_out;     /* by step, NP_STEP_…; NULL where nothing is */
	np_ns *computed;       /* by operator: when it started */
	uint32_t last_segment; /* of the cell at hand */
	uint32_t first_piece;
	uint32_t next_piece;
	uint32_t last_piece;
	np_ns cell_end;    /* or the start of the next */
	np_ns stood_still; /* since it did: up to the end of the operator no time is lost */
	NP_VEC(uint32_t)
	pending; /* operators that it stands still for although work hides their ends */
	struct np_err *err;
};

static int add_mark(struct drafting *rank, enum mark_kind kind, uint32_t slot)
{
	drafts *marks = &rank->draft->marks;
	struct draft *draft = np_vec_add(marks, rank->err);

	if (!draft)
		return NP_E_NOMEM;
	*draft = (struct draft){ .slot = slot,
				 .cell = (uint32_t)rank->draft->cells.count - 1,
				 .kind = kind,
				 .order = (uint32_t)marks->count };
	for (int i = 0; i < NP_WORK_OTHER; i++)
		draft->at[i] = rank->done[i];
	for (int i = 0; i < NP_WORK_KINDS; i++)
		draft->place += rank->done[i];
	return NP_OK;
}

static int add_cell(struct drafting *rank, np_str step)
{
	struct np_replay_cell *cell = np_vec_add(&rank->draft->cells, rank->err);

	if (!cell)
		return NP_E_NOMEM;
	*cell = (struct np_replay_cell){ .rank = rank->index,
					 .step = step,
					 .timed = rank->draft->timed };
	return NP_OK;
}

static struct np_replay_cell *last_cell(struct drafting *rank)
{
	return &rank->draft->cells.item[rank->draft->cells.count - 1];
}

static void work(struct drafting *rank, enum np_work kind, np_ns ns)
{
	rank->done[kind] += ns;
	last_cell(rank)->work[kind] += ns;
}

static uint32_t slot_of(const struct drafting *rank, uint32_t op)
{
	return np_align_slot(rank->align, rank->index, op);
}

static bool is_left_out(const struct drafting *rank, uint32_t step, uint8_t what)
{
	return rank->left_out && step != NP_NO_STEP && (rank->left_out[step] & what);
}

/* Steps that are left out have no part in the program, nor what began before it does. */
static bool has_op(const struct drafting *rank, uint32_t op)
{
	const struct np_comm_op *own = &rank->rank->ops.item[op];

	return !rank->left_out || (!is_left_out(rank, own->step, NP_STEP_LEFT_OUT) &&
				   own->start >= rank->draft->begin);
}

/* Text files have one time in several roundings. */
#define ROUNDED_NS 1000

/* By how much a kernel may show to start before what it waits for has ended, at most. */
#define MOST_EARLY_NS 200000

/* The host goes on while the device stands still: what it launches then starts later. */
static int start(struct drafting *rank, uint32_t op)
{
	drafts *marks = &rank->draft->marks;
	int rc = add_mark(rank, MARK_START, slot_of(rank, op));

	if (rc == NP_OK)
		marks->item[marks->count - 1].lag = rank->stood_still;
	return rc;
}

/*
 * Operators that start with the segment from `begin` to `end`, or started before
 * where nothing was recorded.
 */
static int start_ops(struct drafting *rank, int32_t device, np_ns begin, np_ns end)
{
	const struct np_rank *loaded = rank->rank;
	np_ns time = begin + ROUNDED_NS < end ? begin + ROUNDED_NS : end - 1;
	int rc = NP_OK;

	/* Segments are cut where operators start: one that starts within it was rounded. */
	while (rank->next_op < loaded->ops.count && rc == NP_OK &&
	       (loaded->ops.item[rank->next_op].start <= begin ||
		loaded->ops.item[rank->next_op].start <= time)) {
		rank->computed[rank->next_op] = rank->done[NP_WORK_COMPUTE];
		if (loaded->ops.item[rank->next_op].device == device && has_op(rank, rank->next_op))
			rc = start(rank, rank->next_op);
		rank->next_op++;
	}
	return rc;
}

/* --- ranks with intervals ----------------------------------------------------------------------
 */

static enum np_work work_of(enum np_leaf_kind kind)
{
	switch (kind) {
	case NP_LEAF_COMPUTE:
		return NP_WORK_COMPUTE;
	case NP_LEAF_FREE_HOST:
	case NP_LEAF_FREE_DATALOADER:
		return NP_WORK_HOST;
	case NP_LEAF_MEMCPY:
	case NP_LEAF_COMM:
	case NP_LEAF_FREE_OTHER:
	case NP_LEAF_FREE_UNKNOWN:
	case NP_LEAF_KINDS:
		break;
	}
	return NP_WORK_OTHER;
}

/* How soon after the end of an operator a rank goes on that stood still for it. */
#define GOES_ON_NS 50000

/* A rank stands still from `begin` to `end`, at which the operator ends, or which work hides. */
struct still {
	np_ns begin;
	np_ns end;
	uint32_t op; /* UINT32_MAX: it does not, and begin is end */
};

/* When the main stream goes on behind a piece. */
static np_ns goes_on(const struct drafting *rank, const struct np_exposed *piece)
{
	np_ns next = piece->end + piece->later;

	return piece->later == NP_EXPOSED_LAST || next > rank->cell_end ? rank->cell_end : next;
}

/* Gaps of the main stream that kernels of others cut into more pieces than this are long anyway. */
#define MOST_BEFORE 16

/*
 * Kernels are seen to start earlier than what they wait for has ended: by the
 * resolution of events, and by more the longer they waited.
 */
static np_ns tolerance(const struct drafting *rank, const struct np_exposed *piece)
{
	const struct np_exposed *first = &rank->rank->activity.exposed.item[rank->first_piece];
	const struct np_exposed *each = piece;
	np_ns until = goes_on(rank, piece);
	np_ns length = 0;

	/* All that the main stream stood still, whatever others did meanwhile. */
	for (int i = 0; i < MOST_BEFORE && goes_on(rank, each) == until; i++) {
		length += each->end - each->begin;
		if (each-- == first)
			break;
	}
	length /= 64;
	return length < ROUNDED_NS ? ROUNDED_NS : length > MOST_EARLY_NS ? MOST_EARLY_NS : length;
}

/* Of the operators in the order of their ends, the first that ends after `time`. */
static size_t ends_after(const struct drafting *rank, np_ns time)
{
	const struct np_comm_op *ops = rank->rank->ops.item;
	const uint32_t *by_end = rank->by_end;

	return np_lower_bound(i, (size_t)0, rank->rank->ops.count, ops[by_end[i]].end > time);
}

/* So many operators are looked at that end while a kernel hides them. */
#define MOST_HIDDEN 32

/*
 * The operator whose end a kernel hides, but not one of the main stream, or one that
 * shows to start a little early: that of the piece itself, else the first.
 */
static uint32_t hidden_end(const struct drafting *rank, const struct np_exposed *piece,
			   size_t behind)
{
	const struct np_comm_op *ops = rank->rank->ops.item;
	np_ns until = goes_on(rank, piece) + tolerance(rank, piece);

	if (ops[piece->op].end > piece->end && ops[piece->op].end <= until)
		return piece->op;
	for (size_t i = behind; i < rank->rank->ops.count && i < behind + MOST_HIDDEN; i++) {
		uint32_t op = rank->by_end[i];

		if (ops[op].end > until)
			break;
		if (ops[op].start < piece->end)
			return op;
	}
	return UINT32_MAX;
}

/*
 * Whoever the time of a piece belongs to: where it is over because an operator
 * has ended, or a little later, the rank stood still for that one; and so it did where the
 * main stream goes on only when one has ended, although a kernel hides that.
 */
static struct still stands_still(const struct drafting *rank, const struct np_exposed *piece)
{
	const struct np_comm_op *ops = rank->rank->ops.item;
	size_t behind = ends_after(rank, piece->end);
	uint32_t last = behind > 0 ? rank->by_end[behind - 1] : UINT32_MAX;
	uint32_t hidden;

	if (last != UINT32_MAX &&
	    (ops[last].end <= piece->begin || piece->end - ops[last].end > GOES_ON_NS))
		last = UINT32_MAX;
	if (last != UINT32_MAX && piece->end - ops[last].end <= ROUNDED_NS)
		return (struct still){ piece->begin, ops[last].end, last };
	hidden = hidden_end(rank, piece, behind);
	if (hidden != UINT32_MAX)
		return (struct still){ piece->begin, piece->end, hidden };
	if (last != UINT32_MAX)
		return (struct still){ piece->begin, ops[last].end, last };
	return (struct still){ piece->end, piece->end, UINT32_MAX };
}

static np_ns overlap(const struct still *still, np_ns begin, np_ns end)
{
	np_ns from = still->begin > begin ? still->begin : begin;
	np_ns to = still->end < end ? still->end : end;

	return to > from ? to - from : 0;
}

/* How long the host had still to launch something in a segment. */
static np_ns host_in(const struct np_activity *activity, uint32_t segment)
{
	const struct np_segment *from = &activity->segments.item[segment];
	np_ns host = 0;

	for (uint32_t i = from->first; i < from[1].first; i++) {
		if (work_of(np_leaf_kind(activity->shares.item[i].leaf)) == NP_WORK_HOST)
			host += activity->shares.item[i].ns;
	}
	return host;
}

/* An operator ends in this segment or behind it: had the host still to launch what comes then? */
static bool goes_on_late(const struct drafting *rank, uint32_t segment, np_ns end)
{
	const struct np_activity *activity = &rank->rank->activity;

	while (++segment < rank->last_segment) {
		if (activity->segments.item[segment].begin >= end)
			return host_in(activity, segment) > GOES_ON_NS;
	}
	return false;
}

/*
 * A rank that computed on when it had started an operator, and that stands still
 * for another one, under way, when the first has ended, was not held up by that.
 */
static bool still_stands(const struct drafting *rank, const struct still *still, uint32_t piece)
{
	const struct np_exposed *next = &rank->rank->activity.exposed.item[piece + 1];

	return piece + 1 < rank->last_piece && llabs(next->begin - still->end) <= ROUNDED_NS &&
	       rank->done[NP_WORK_COMPUTE] > rank->computed[still->op] &&
	       rank->rank->ops.item[next->op].start < still->end &&
	       stands_still(rank, next).op != UINT32_MAX;
}

static bool one_interval(const struct np_comm_op *a, const struct np_comm_op *b)
{
	return llabs(a->start - b->start) <= ROUNDED_NS && llabs(a->end - b->end) <= ROUNDED_NS;
}

/*
 * The rank stands still until an operator has ended. Messages that were given to the
 * library together have one interval: it ends with the last of them, whichever that is.
 */
static int block(struct drafting *rank, uint32_t op)
{
	const struct np_comm_op *ops = rank->rank->ops.item;
	size_t count = rank->rank->ops.count;
	int rc = add_mark(rank, MARK_BLOCK, slot_of(rank, op));

	rank->stood_still = 0;
	if (!ops[op].p2p)
		return rc;
	/* Sorted by start. */
	for (uint32_t i = op; i-- > 0 && ops[op].start - ops[i].start <= ROUNDED_NS;) {
		if (rc == NP_OK && ops[i].p2p && one_interval(&ops[i], &ops[op]))
			rc = add_mark(rank, MARK_BLOCK, slot_of(rank, i));
	}
	for (uint32_t i = op + 1; i < count && ops[i].start - ops[op].start <= ROUNDED_NS; i++) {
		if (rc == NP_OK && ops[i].p2p && one_interval(&ops[i], &ops[op]))
			rc = add_mark(rank, MARK_BLOCK, slot_of(rank, i));
	}
	return rc;
}

/* The end of the operator lies behind this segment. */
static int block_later(struct drafting *rank, uint32_t op)
{
	uint32_t *pending;

	for (size_t i = 0; i < rank->pending.count; i++) {
		if (rank->pending.item[i] == op)
			return NP_OK;
	}
	pending = np_vec_add(&rank->pending, rank->err);
	if (!pending)
		return NP_E_NOMEM;
	*pending = op;
	return NP_OK;
}

/* Operators end by `time` that the rank stood still for while work hid that. */
static int block_pending(struct drafting *rank, np_ns time)
{
	size_t kept = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < rank->pending.count && rc == NP_OK; i++) {
		uint32_t op = rank->pending.item[i];

		if (rank->rank->ops.item[op].end - ROUNDED_NS > time)
			rank->pending.item[kept++] = op;
		else
			rc = block(rank, op);
	}
	rank->pending.count = kept;
	return rc;
}

/* The part of standing still that lies in a segment: it is no work. */
static int take_still(struct drafting *rank, const struct still *still, uint32_t piece,
		      uint32_t segment, np_ns end)
{
	np_ns begin = rank->rank->activity.segments.item[segment].begin;
	np_ns ends = rank->rank->ops.item[still->op].end;
	uint32_t slot = slot_of(rank, still->op);
	bool late = goes_on_late(rank, segment, ends);

	work(rank, NP_WORK_OTHER, -overlap(still, begin, end));
	if (late && rank->stood[slot].how == STOOD_FOR_HOST) {
		work(rank, NP_WORK_HOST, overlap(still, begin, end));
		return NP_OK;
	}
	rank->stood_still += overlap(still, begin, end);
	if (still->end <= begin || still->end > end || still_stands(rank, still, piece))
		return NP_OK;
	rank->stood[slot].how = late ? STOOD_LATE : STOOD_FOR_OP;
	return ends > still->end ? block_later(rank, still->op) : block(rank, still->op);
}

/*
 * An operator shows although the rank does not stand still for it: what the host had not yet
 * launched by then is waiting for that, as where no operator is under way.
 */
static void wait_for_host(struct drafting *rank, const struct np_exposed *piece, uint32_t segment,
			  np_ns end)
{
	const struct still host = { piece->begin, piece->begin + piece->host, piece->op };
	np_ns waited = overlap(&host, rank->rank->activity.segments.item[segment].begin, end);

	work(rank, NP_WORK_OTHER, -waited);
	work(rank, NP_WORK_HOST, waited);
}

/* What nothing hides is standing still, or work. */
static int stand_still(struct drafting *rank, uint32_t segment, np_ns end)
{
	const struct np_activity *activity = &rank->rank->activity;
	int rc = NP_OK;

	for (uint32_t i = rank->next_piece; i < rank->last_piece && rc == NP_OK; i++) {
		const struct np_exposed *each = &activity->exposed.item[i];
		struct still still;

		if (each->begin >= end || each->end > rank->cell_end)
			break;
		still = stands_still(rank, each);
		if (still.op != UINT32_MAX && has_op(rank, still.op))
			rc = take_still(rank, &still, i, segment, end);
		else
			wait_for_host(rank, each, segment, end);
		if (each->end <= end)
			rank->next_piece = i + 1;
	}
	return rc;
}

static int draft_segment(struct drafting *rank, uint32_t segment, np_ns end)
{
	const struct np_activity *activity = &rank->rank->activity;
	const struct np_segment *from = &activity->segments.item[segment];
	np_ns left = (end < rank->cell_end ? end : rank->cell_end) - from->begin;
	int rc;

	/* By kind: computing comes first, and what is cut off is what nothing computes in. */
	for (uint32_t i = from->first; i < from[1].first && left > 0; i++) {
		const struct np_share *share = &activity->shares.item[i];
		np_ns ns = share->ns < left ? share->ns : left;

		work(rank, work_of(np_leaf_kind(share->leaf)), ns);
		left -= ns;
	}
	rc = stand_still(rank, segment, end);
	return rc < 0 ? rc : block_pending(rank, end);
}

static int draft_cell(struct drafting *rank, size_t index)
{
	const struct np_activity *activity = &rank->rank->activity;
	const struct np_activity_cell *cell = &activity->cells.item[index];
	uint32_t last = cell->first_segment + cell->segments;
	int rc = NP_OK;

	rank->last_segment = last;
	rank->first_piece = cell->first_exposed;
	rank->next_piece = cell->first_exposed;
	rank->last_piece = cell->first_exposed + cell->exposed;
	for (uint32_t i = cell->first_segment; i < last && rc == NP_OK; i++) {
		np_ns end = i + 1 < last ? activity->segments.item[i + 1].begin : cell->end;

		rc = start_ops(rank, rank->rank->times.item[index].device,
			       activity->segments.item[i].begin, end);
		if (rc == NP_OK)
			rc = draft_segment(rank, i, end);
	}
	if (rc == NP_OK)
		rc = block_pending(rank, NP_NS_MAX);
	return rc < 0 ? rc : add_mark(rank, MARK_STEP, NO_SLOT);
}

/* --- between steps ------------------------------------------------------------------------------
 */

/* Some work, then a step begins, or the next one would. */
static int add_begin(struct drafting *rank, enum begin_counts counts, np_ns between)
{
	drafts *marks = &rank->draft->marks;
	int rc = add_mark(rank, MARK_BEGIN, counts);

	if (rc == NP_OK)
		marks->item[marks->count - 1].between = between;
	return rc;
}

/* What a rank does before it begins, with the first cell at hand. */
static void begin_late(struct drafting *rank)
{
	if (!rank->late)
		return;
	work(rank, rank->draft->timed ? NP_WORK_HOST : NP_WORK_OTHER, rank->late->late_host);
	work(rank, NP_WORK_OTHER, rank->late->late_other);
}

/* The step goes on until the next one begins, wherever that is. */
static int iterate(struct drafting *rank, const struct np_step_time *time, enum begin_counts from)
{
	struct rank_draft *draft = rank->draft;
	np_ns other = time->between[NP_BETWEEN_OTHER];
	np_ns between = np_step_between(time) - other;

	draft->iterations++;
	draft->iterated += np_step_iteration(time);
	draft->end += between + other;
	if (from == BEGIN_FIRST || draft->reached != NP_UNKNOWN)
		draft->reached = draft->end - draft->begin;
	work(rank, NP_WORK_OTHER, other);
	work(rank, NP_WORK_BETWEEN, between);
	return add_begin(rank, BEGIN_TO, between);
}

/* Steps in between were not captured: nobody knows what that time was, and no step has it. */
static int skip(struct drafting *rank, np_ns gap)
{
	rank->done[NP_WORK_OTHER] += gap;
	return add_begin(rank, BEGIN_GAP, 0);
}

/* Between the spans of two steps the host had launched nothing. */
static int draft_activity(struct drafting *rank)
{
	const struct np_rank *loaded = rank->rank;
	struct rank_draft *draft = rank->draft;
	int rc = NP_OK;

	for (size_t i = 0; i < loaded->activity.cells.count && rc == NP_OK; i++) {
		const struct np_activity_cell *cell = &loaded->activity.cells.item[i];
		const struct np_step_time *time = &loaded->times.item[i];
		bool iterates = np_step_iteration(time) != NP_UNKNOWN &&
				!is_left_out(rank, time->step, NP_STEP_NO_ITERATION);
		enum begin_counts from = BEGIN_FROM;

		if (!np_replay_has_cell(rank->replay, loaded, i))
			continue;
		if (draft->begin != NP_UNKNOWN && cell->begin > draft->end)
			rc = skip(rank, cell->begin - draft->end);
		if (rc == NP_OK)
			rc = add_cell(rank, loaded->steps.item[time->step].id);
		if (rc < 0)
			return rc;
		if (draft->begin == NP_UNKNOWN) {
			draft->begin = cell->begin;
			begin_late(rank);
			from = BEGIN_FIRST;
		}
		/* Work that outlives the start of the next step does not hold that up. */
		rank->cell_end = cell->end;
		if (iterates && cell->begin + np_step_iteration(time) < cell->end)
			rank->cell_end = cell->begin + np_step_iteration(time);
		draft->end = rank->cell_end;
		if (iterates)
			rc = add_begin(rank, from, 0);
		if (rc == NP_OK)
			rc = draft_cell(rank, i);
		if (rc == NP_OK && iterates)
			rc = iterate(rank, time, from);
	}
	return rc;
}

/* --- ranks of which only operators are known ----------------------------------------------------
 */

static int order_ends(const void *left, const void *right, void *context)
{
	const struct np_comm_op *ops = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	return ops[a].end != ops[b].end ? np_order(ops[a].end, ops[b].end) : np_order(a, b);
}

/* The operators of the rank in the order of their ends; NULL if memory runs out. */
static uint32_t *sort_ends(const struct drafting *rank)
{
	const struct np_comm_op *ops = rank->rank->ops.item;
	size_t count = rank->rank->ops.count;
	uint32_t *list = malloc((count + 1) * sizeof(*list));
	bool sorted = true;

	if (!list) {
		(void)np_fail_nomem(rank->err, "the replay");
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++) {
		list[i] = i;
		sorted &= i == 0 || ops[i - 1].end <= ops[i].end;
	}
	if (!sorted)
		qsort_r(list, count, sizeof(*list), order_ends, rank->rank->ops.item);
	return list;
}

/* An operator starts; where another step begins, the one before has ended. */
static int begin_op(struct drafting *rank, uint32_t index)
{
	const struct np_rank *loaded = rank->rank;
	const struct np_comm_op *op = &loaded->ops.item[index];
	np_str step = op->step == NP_NO_STEP ? NP_STR_NONE : loaded->steps.item[op->step].id;
	int rc = NP_OK;

	bool first = rank->draft->cells.count == 0;

	if (first || last_cell(rank)->step != step) {
		rc = !first ? add_mark(rank, MARK_STEP, NO_SLOT) : NP_OK;
		if (rc == NP_OK)
			rc = add_cell(rank, step);
	}
	return rc;
}

/*
 * The rank is taken to stand still for every operator that ends before another
 * one starts, and to work up to every start.
 */
static int draft_ops(struct drafting *rank)
{
	const struct np_rank *loaded = rank->rank;
	const struct np_comm_op *ops = loaded->ops.item;
	const uint32_t *by_end = rank->by_end;
	np_ns reached;
	uint32_t first = 0;
	uint32_t ended = 0;
	int rc = NP_OK;

	while (first < loaded->ops.count && is_left_out(rank, ops[first].step, NP_STEP_LEFT_OUT))
		first++;
	if (first == loaded->ops.count)
		return NP_OK;
	reached = ops[first].start;
	rank->draft->begin = reached;
	for (uint32_t i = first; i <= loaded->ops.count && rc == NP_OK; i++) {
		while (ended < i && rc == NP_OK &&
		       (i == loaded->ops.count || ops[by_end[ended]].end <= ops[i].start)) {
			uint32_t op = by_end[ended++];

			if (op < first || !has_op(rank, op))
				continue;
			rc = add_mark(rank, MARK_BLOCK, slot_of(rank, op));
			reached = ops[op].end > reached ? ops[op].end : reached;
		}
		if (i == loaded->ops.count || rc < 0)
			break;
		if (!has_op(rank, i))
			continue;
		rc = begin_op(rank, i);
		if (rc == NP_OK && i == first)
			begin_late(rank);
		if (rc == NP_OK && ops[i].start > reached) {
			work(rank, NP_WORK_OTHER, ops[i].start - reached);
			reached = ops[i].start;
		}
		if (rc == NP_OK)
			rc = add_mark(rank, MARK_START, slot_of(rank, i));
	}
	rank->draft->end = reached;
	return rc < 0 ? rc : add_mark(rank, MARK_STEP, NO_SLOT);
}

/* Most operators have two marks, a start and a block: space for them at once. */
static int make_space(struct drafting *rank)
{
	drafts *marks = &rank->draft->marks;
	size_t count = 2 * rank->rank->ops.count + rank->rank->steps.count + 8;

	marks->item = malloc(count * sizeof(*marks->item));
	marks->capacity = marks->item ? count : 0;
	rank->computed = calloc(rank->rank->ops.count + 1, sizeof(*rank->computed));
	if (!marks->item || !rank->computed)
		return np_fail_nomem(rank->err, "the replay");
	return NP_OK;
}

int replay_draft(const struct np_replay *replay, uint32_t index, const struct np_replay_rank *late,
		 struct stood *stood, struct rank_draft *ret, struct np_err *err)
{
	const struct np_rank *rank = replay->align->run->ranks[index];
	struct drafting drafting = { .replay = replay,
				     .align = replay->align,
				     .rank = rank,
				     .index = index,
				     .late = late,
				     .draft = ret,
				     .stood = stood,
				     .err = err };
	int rc;

	ret->begin = NP_UNKNOWN;
	ret->reached = NP_UNKNOWN;
	ret->timed = rank && rank->activity.cells.count > 0;
	if (!rank || (!ret->timed && rank->ops.count == 0))
		return NP_OK;
	drafting.by_end = sort_ends(&drafting);
	rc = drafting.by_end ? make_space(&drafting) : NP_E_NOMEM;
	if (rc == NP_OK)
		rc = replay_left_out(replay, rank, &drafting.left_out, err);
	if (rc == NP_OK)
		rc = ret->timed ? draft_activity(&drafting) : draft_ops(&drafting);
	free(drafting.by_end);
	free(drafting.computed);
	free(drafting.left_out);
	np_vec_release(&drafting.pending);
	return rc;
}

void rank_draft_release(struct rank_draft *draft)
{
	np_vec_release(&draft->marks);
	np_vec_release(&draft->cells);
}
