/* SPDX-License-Identifier: Apache-2.0 */
/* What every rank had done by any moment: sums over its activity, or over its operators. */
#include "root_cause_progress.h"

#include "npuprof/align.h"
#include "npuprof/late_begin.h"
#include "npuprof/rank.h"
#include "npuprof/workers.h"

/* Ranks of which only operators are known. */

/* Add operators up to `until`, as far as `to`. Where they overlap, the first has the time. */
static void add_ops(struct progress_mark *mark, const struct progress *progress, uint32_t index,
		    uint32_t from, uint32_t until, np_ns to)
{
	const struct np_rank *rank = progress->align->run->ranks[index];

	for (uint32_t i = from; i < until; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct np_exposed piece = { .begin = op->start,
					    .end = op->end < to ? op->end : to,
					    .op = i };
		np_ns wait;
		np_ns waiting;

		if (piece.begin < mark->reached)
			piece.begin = mark->reached;
		if (piece.end <= piece.begin)
			continue;
		mark->reached = piece.end;
		wait = progress_wait(progress, index, i);
		if (wait == NP_UNKNOWN)
			continue;
		waiting = progress_waiting(progress, index, piece, wait);
		mark->wait += waiting;
		mark->transfer += piece.end - piece.begin - waiting;
	}
}

static int progress_mark_ops(const struct progress *progress, uint32_t index, struct np_err *err)
{
	const struct np_rank *rank = progress->align->run->ranks[index];
	struct progress_rank *own = &progress->ranks[index];
	struct progress_mark mark = { 0 };

	own->op_marks = malloc((rank->ops.count / PROGRESS_MARK_EVERY + 1) * sizeof(mark));
	if (!own->op_marks)
		return np_fail_nomem(err, "progress of ranks");
	if (rank->ops.count > 0)
		mark.reached = rank->ops.item[0].start;
	for (uint32_t i = 0; i < rank->ops.count; i++) {
		if (i % PROGRESS_MARK_EVERY == 0)
			own->op_marks[i / PROGRESS_MARK_EVERY] = mark;
		add_ops(&mark, progress, index, i, i + 1, NP_NS_MAX);
		if (mark.reached == rank->ops.item[i].end)
			progress->wait[progress->align->rank_first[index] + i] |= PROGRESS_LAST;
	}
	return NP_OK;
}

static struct progress_mark mark_before_op(const struct progress *progress, uint32_t index,
					   uint32_t until, np_ns to)
{
	struct progress_mark mark = progress->ranks[index].op_marks[until / PROGRESS_MARK_EVERY];

	add_ops(&mark, progress, index, until / PROGRESS_MARK_EVERY * PROGRESS_MARK_EVERY, until,
		to);
	return mark;
}

/*
 * Is it simpler to sum from one operator to the other than up to each of them?
 * Not where one reaches beyond the end of the window: marks have all of it.
 */
static bool is_short(const struct progress *progress, uint32_t index, uint32_t since,
		     uint32_t until)
{
	const struct np_comm_op *ops = progress->align->run->ranks[index]->ops.item;

	if (since >= until || until - since > PROGRESS_MARK_EVERY ||
	    !(progress->wait[progress->align->rank_first[index] + since] & PROGRESS_LAST))
		return false;
	if (progress_is_clear(progress, index, until))
		return true;
	if (ops[since].end > ops[until].start)
		return false;
	for (uint32_t i = since + 1; i < until / PROGRESS_MARK_EVERY * PROGRESS_MARK_EVERY; i++) {
		if (ops[i].end > ops[until].start)
			return false;
	}
	return true;
}

/* As progress_between() and progress_waited(). */
static struct spent_sum progress_sum_of_ops(const struct progress *progress, uint32_t index,
					    uint32_t since, uint32_t until)
{
	const struct np_rank *rank = progress->align->run->ranks[index];
	np_ns to = rank->ops.item[until].start;
	struct progress_mark before = { .reached = rank->ops.item[0].start };
	struct progress_mark mark;

	if (is_short(progress, index, since, until)) {
		before.reached = rank->ops.item[since].end;
		mark = before;
		add_ops(&mark, progress, index, since + 1, until, to);
	} else {
		/* What follows the last operator is compared with nothing. */
		if (since != UINT32_MAX && since + 1 < rank->ops.count)
			before = mark_before_op(progress, index, since + 1, NP_NS_MAX);
		mark = mark_before_op(progress, index, until, to);
	}
	if (to > mark.reached)
		mark.reached = to;
	mark.wait -= before.wait;
	mark.transfer -= before.transfer;
	return (struct spent_sum){ .by = {
					   [SPENT_WAIT] = mark.wait,
					   [SPENT_TRANSFER] = mark.transfer,
					   [SPENT_UNKNOWN] = mark.reached - before.reached -
							     mark.wait - mark.transfer,
				   } };
}

/* Append to a list; pieces of one operator come one after the other. */
static int progress_add_waited(waited_list *list, uint32_t op, np_ns waiting, struct np_err *err)
{
	struct waited *waited;

	if (waiting <= 0)
		return NP_OK;
	if (list->count > 0 && list->item[list->count - 1].op == op) {
		list->item[list->count - 1].ns += waiting;
		return NP_OK;
	}
	waited = np_vec_add(list, err);
	if (!waited)
		return NP_E_NOMEM;
	*waited = (struct waited){ op, waiting };
	return NP_OK;
}

static int progress_waited_in_ops(const struct progress *progress, uint32_t index, uint32_t since,
				  uint32_t until, waited_list *ret, struct np_err *err)
{
	const struct np_comm_op *ops = progress->align->run->ranks[index]->ops.item;
	bool clear = progress_is_clear(progress, index, until);
	int rc = NP_OK;

	for (uint32_t i = since == UINT32_MAX ? 0 : since + 1; i < until && rc == NP_OK; i++) {
		np_ns wait = progress_wait(progress, index, i);

		if (wait != NP_UNKNOWN && (clear || ops[i].end <= ops[until].start))
			rc = progress_add_waited(ret, i, wait, err);
	}
	return rc;
}

static enum spent spent_of(enum np_leaf_kind kind)
{
	switch (kind) {
	case NP_LEAF_COMPUTE:
		return SPENT_COMPUTE;
	/* Copies to and from the host, and gaps before launches, are the host's. */
	case NP_LEAF_MEMCPY:
	case NP_LEAF_FREE_HOST:
	case NP_LEAF_FREE_DATALOADER:
		return SPENT_HOST;
	case NP_LEAF_COMM:
	case NP_LEAF_FREE_OTHER:
	case NP_LEAF_FREE_UNKNOWN:
	case NP_LEAF_KINDS:
		break;
	}
	return SPENT_UNKNOWN;
}

static void add_sum(struct spent_sum *sum, const struct spent_sum *more, int sign)
{
	for (int i = 0; i < SPENT_KINDS; i++)
		sum->by[i] += sign * more->by[i];
}

/* What a segment holds beside communication, which is in the exposed pieces. */
static void add_segment(struct spent_sum *sum, const struct np_activity *activity, uint32_t index)
{
	const struct np_segment *segment = &activity->segments.item[index];

	for (uint32_t i = segment->first; i < segment[1].first; i++) {
		const struct np_share *share = &activity->shares.item[i];
		enum np_leaf_kind kind = np_leaf_kind(share->leaf);

		if (kind != NP_LEAF_COMM)
			sum->by[spent_of(kind)] += share->ns;
	}
}

static void add_piece(struct spent_sum *sum, const struct progress *progress, uint32_t rank,
		      struct np_exposed piece)
{
	np_ns wait = progress_wait(progress, rank, piece.op);
	np_ns waiting;

	if (wait == NP_UNKNOWN) {
		sum->by[SPENT_UNKNOWN] += piece.end - piece.begin;
		return;
	}
	waiting = progress_waiting(progress, rank, piece, wait);
	sum->by[SPENT_WAIT] += waiting;
	sum->by[SPENT_TRANSFER] += piece.end - piece.begin - waiting;
}

/* --- building ----------------------------------------------------------------------------------
 */

static int mark_segments(const struct progress *progress, uint32_t rank, struct progress_cell *cell,
			 struct spent_sum *ret, struct np_err *err)
{
	const struct np_activity *activity = &progress->align->run->ranks[rank]->activity;
	const struct np_activity_cell *from = &activity->cells.item[cell->cell];
	struct progress_rank *own = &progress->ranks[rank];
	struct spent_sum sum = { 0 };

	cell->first_mark = (uint32_t)own->marks.count;
	for (uint32_t i = 0; i < from->segments; i++) {
		if (i % PROGRESS_MARK_EVERY == 0) {
			struct spent_sum *mark = np_vec_add(&own->marks, err);

			if (!mark)
				return NP_E_NOMEM;
			*mark = sum;
		}
		add_segment(&sum, activity, from->first_segment + i);
	}
	add_sum(ret, &sum, 1);
	return NP_OK;
}

static int mark_exposed(const struct progress *progress, uint32_t rank, struct progress_cell *cell,
			struct spent_sum *ret, struct np_err *err)
{
	const struct np_activity *activity = &progress->align->run->ranks[rank]->activity;
	const struct np_activity_cell *from = &activity->cells.item[cell->cell];
	struct progress_rank *own = &progress->ranks[rank];
	struct spent_sum sum = { 0 };

	cell->first_exposed_mark = (uint32_t)own->exposed_marks.count;
	for (uint32_t i = 0; i < from->exposed; i++) {
		if (i % PROGRESS_MARK_EVERY == 0) {
			struct spent_sum *mark = np_vec_add(&own->exposed_marks, err);

			if (!mark)
				return NP_E_NOMEM;
			*mark = sum;
		}
		add_piece(&sum, progress, rank, activity->exposed.item[from->first_exposed + i]);
	}
	add_sum(ret, &sum, 1);
	return NP_OK;
}

/* Between the spans of two steps nothing ran: the host had launched nothing. */
static int mark_rank(const struct progress *progress, uint32_t index, struct np_err *err)
{
	const struct np_rank *rank = progress->align->run->ranks[index];
	struct progress_rank *own = &progress->ranks[index];
	struct spent_sum sum = { .by[SPENT_HOST] = progress->late[index].host,
				 .by[SPENT_UNKNOWN] = progress->late[index].unknown };
	int rc = NP_OK;

	for (uint32_t i = 0; i < rank->activity.cells.count && rc == NP_OK; i++) {
		const struct np_activity_cell *from = &rank->activity.cells.item[i];
		bool same = i > 0 && rank->times.item[i].device == rank->times.item[i - 1].device;
		struct progress_cell *cell = np_vec_add(&own->cells, err);

		if (!cell)
			return NP_E_NOMEM;
		if (same && from->begin > cell[-1].end)
			sum.by[SPENT_HOST] += from->begin - cell[-1].end;
		*cell = (struct progress_cell){
			.begin = from->begin, .end = from->end, .cell = i, .before = sum
		};
		rc = mark_segments(progress, index, cell, &sum, err);
		if (rc == NP_OK)
			rc = mark_exposed(progress, index, cell, &sum, err);
	}
	return rc;
}

static uint32_t short_wait(np_ns wait)
{
	if (wait == NP_UNKNOWN)
		return PROGRESS_UNKNOWN;
	return wait >= 0 && wait < PROGRESS_LONG ? (uint32_t)wait : PROGRESS_LONG;
}

/* Waits by rank. */
static void copy_waits(const struct progress *progress, uint32_t index)
{
	const struct np_align *align = progress->align;
	const struct np_comm_op *ops = align->run->ranks[index]->ops.item;
	uint32_t first = align->rank_first[index];
	np_ns reached = -NP_NS_MAX;

	for (uint32_t i = first; i < align->rank_first[index + 1]; i++) {
		const struct np_comm_op *op = &ops[i - first];

		progress->wait[i] = short_wait(progress->waits->wait[align->slots[i]]);
		if (reached <= op->start)
			progress->wait[i] |= PROGRESS_CLEAR;
		reached = op->end > reached ? op->end : reached;
	}
}

struct marking {
	const struct progress *progress;
	struct np_err *errors; /* by rank */
};

static void mark_one(void *context, size_t index)
{
	const struct marking *marking = context;
	const struct progress *progress = marking->progress;
	const struct np_rank *rank = progress->align->run->ranks[index];

	if (!rank)
		return;
	copy_waits(progress, (uint32_t)index);
	/* A failure stays in the rank's error. */
	if (rank->activity.cells.count > 0)
		(void)!mark_rank(progress, (uint32_t)index, &marking->errors[index]);
	else
		(void)!progress_mark_ops(progress, (uint32_t)index, &marking->errors[index]);
}

int progress_init(struct progress *progress, const struct np_align *align,
		  const struct np_clock *clock, const struct np_waits *waits, size_t threads,
		  struct np_err *err)
{
	size_t count = align->run->sources.count;
	struct np_workers workers = { .threads = threads };
	struct marking marking = { .progress = progress,
				   .errors = calloc(count + 1, sizeof(*marking.errors)) };
	int rc;

	*progress = (struct progress){ .align = align, .waits = waits };
	progress->ranks = calloc(count + 1, sizeof(*progress->ranks));
	progress->wait = malloc(((size_t)align->op_count + 1) * sizeof(*progress->wait));
	rc = progress->ranks && progress->wait && marking.errors
		     ? np_late_begin_measure(align->run, clock, NULL, &progress->late, err)
		     : np_fail_nomem(err, "progress of ranks");
	if (rc == NP_OK)
		np_workers_run(&workers, count, mark_one, &marking);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		if (marking.errors[i].code != NP_OK)
			rc = np_fail(err, marking.errors[i].code, "%s", marking.errors[i].text);
	}
	free(marking.errors);
	return rc;
}

void progress_release(struct progress *progress)
{
	for (size_t i = 0; progress->ranks && i < progress->align->run->sources.count; i++) {
		np_vec_release(&progress->ranks[i].cells);
		np_vec_release(&progress->ranks[i].marks);
		free(progress->ranks[i].op_marks);
		np_vec_release(&progress->ranks[i].exposed_marks);
	}
	free(progress->ranks);
	free(progress->wait);
	free(progress->late);
	progress->ranks = NULL;
	progress->wait = NULL;
	progress->late = NULL;
}

/* --- looking up --------------------------------------------------------------------------------
 */

/* How many of `count` pieces or segments begin before a time. */
#define COUNT_BEFORE(items, count, time) \
	__extension__({ \
		uint32_t low_ = 0; \
		uint32_t high_ = (count); \
		while (low_ < high_) { \
			uint32_t middle_ = low_ + (high_ - low_) / 2; \
			if ((items)[middle_].begin < (time)) \
				low_ = middle_ + 1; \
			else \
				high_ = middle_; \
		} \
		low_; \
	})

/* Within a cell, up to a time which is a cut: segments and pieces are before it or behind it. */
static struct spent_sum sum_in_cell(const struct progress *progress, uint32_t rank,
				    const struct progress_cell *cell, np_ns time)
{
	const struct np_activity *activity = &progress->align->run->ranks[rank]->activity;
	const struct np_activity_cell *from = &activity->cells.item[cell->cell];
	const struct progress_rank *own = &progress->ranks[rank];
	const struct np_segment *segments = activity->segments.item + from->first_segment;
	const struct np_exposed *exposed = activity->exposed.item + from->first_exposed;
	struct spent_sum sum = cell->before;
	uint32_t whole = COUNT_BEFORE(segments, from->segments, time);
	uint32_t pieces = from->exposed ? COUNT_BEFORE(exposed, from->exposed, time) : 0;

	if (whole > 0) {
		uint32_t mark = (whole - 1) / PROGRESS_MARK_EVERY;

		add_sum(&sum, &own->marks.item[cell->first_mark + mark], 1);
		for (uint32_t i = mark * PROGRESS_MARK_EVERY; i < whole; i++)
			add_segment(&sum, activity, from->first_segment + i);
	}
	if (pieces > 0) {
		uint32_t mark = (pieces - 1) / PROGRESS_MARK_EVERY;

		add_sum(&sum, &own->exposed_marks.item[cell->first_exposed_mark + mark], 1);
		for (uint32_t i = mark * PROGRESS_MARK_EVERY; i < pieces; i++)
			add_piece(&sum, progress, rank, exposed[i]);
	}
	return sum;
}

/* The last cell of a device that begins before a time; NULL for none. */
static const struct progress_cell *find_cell(const struct progress *progress, uint32_t index,
					     int32_t device, np_ns time)
{
	const struct np_rank *rank = progress->align->run->ranks[index];
	const struct progress_rank *own = &progress->ranks[index];
	const struct progress_cell *found = NULL;

	for (size_t i = 0; i < own->cells.count; i++) {
		const struct progress_cell *cell = &own->cells.item[i];

		if (rank->times.item[cell->cell].device == device && cell->begin < time)
			found = cell;
	}
	return found;
}

static struct spent_sum sum_until(const struct progress *progress, uint32_t rank, int32_t device,
				  np_ns time)
{
	const struct progress_cell *cell = find_cell(progress, rank, device, time);
	struct spent_sum sum = { 0 };

	if (!cell)
		return sum;
	sum = sum_in_cell(progress, rank, cell, time);
	if (time > cell->end)
		sum.by[SPENT_HOST] += time - cell->end;
	return sum;
}

/* --- windows -----------------------------------------------------------------------------------
 */

struct spent_sum progress_between(const struct progress *progress, uint32_t rank, uint32_t since,
				  uint32_t until)
{
	const struct np_rank *loaded = progress->align->run->ranks[rank];
	const struct np_comm_op *op = &loaded->ops.item[until];
	struct spent_sum before = { 0 };
	struct spent_sum sum;

	if (progress->ranks[rank].cells.count == 0) {
		sum = progress_sum_of_ops(progress, rank, since, until);
	} else {
		sum = sum_until(progress, rank, op->device, op->start);
		if (since != UINT32_MAX)
			before = sum_until(progress, rank, op->device, loaded->ops.item[since].end);
		add_sum(&sum, &before, -1);
	}
	/* Spans of steps, and operators, that overlap count a little twice. */
	for (int i = 0; i < SPENT_KINDS; i++)
		sum.by[i] = sum.by[i] < 0 ? 0 : sum.by[i];
	return sum;
}

static int waited_in_cell(const struct progress *progress, uint32_t rank,
			  const struct np_activity_cell *cell, np_ns from, np_ns to,
			  waited_list *ret, struct np_err *err)
{
	const struct np_activity *activity = &progress->align->run->ranks[rank]->activity;
	const struct np_exposed *exposed = activity->exposed.item + cell->first_exposed;
	int rc = NP_OK;

	if (cell->exposed == 0 || cell->end <= from || cell->begin >= to)
		return NP_OK;
	for (uint32_t i = COUNT_BEFORE(exposed, cell->exposed, from);
	     i < cell->exposed && exposed[i].begin < to && rc == NP_OK; i++) {
		np_ns wait = progress_wait(progress, rank, exposed[i].op);

		if (wait != NP_UNKNOWN)
			rc = progress_add_waited(ret, exposed[i].op,
						 progress_waiting(progress, rank, exposed[i], wait),
						 err);
	}
	return rc;
}

int progress_waited(const struct progress *progress, uint32_t rank, uint32_t since, uint32_t until,
		    waited_list *ret, struct np_err *err)
{
	const struct np_rank *loaded = progress->align->run->ranks[rank];
	np_ns from;
	np_ns to;
	int rc = NP_OK;

	ret->count = 0;
	if (progress->ranks[rank].cells.count == 0)
		return progress_waited_in_ops(progress, rank, since, until, ret, err);
	from = since == UINT32_MAX ? -NP_NS_MAX : loaded->ops.item[since].end;
	to = loaded->ops.item[until].start;
	for (size_t i = 0; i < loaded->activity.cells.count && rc == NP_OK; i++) {
		if (loaded->times.item[i].device == loaded->ops.item[until].device)
			rc = waited_in_cell(progress, rank, &loaded->activity.cells.item[i], from,
					    to, ret, err);
	}
	return rc;
}

bool progress_blocked(const struct progress *progress, uint32_t rank, uint32_t op)
{
	const struct np_rank *loaded = progress->align->run->ranks[rank];
	const struct np_comm_op *ended = &loaded->ops.item[op];
	const struct progress_cell *cell;
	const struct np_activity_cell *from;
	const struct np_exposed *exposed;
	uint32_t before;

	if (progress->ranks[rank].cells.count == 0)
		return true;
	cell = find_cell(progress, rank, ended->device, ended->end);
	if (!cell)
		return false;
	from = &loaded->activity.cells.item[cell->cell];
	exposed = loaded->activity.exposed.item + from->first_exposed;
	before = from->exposed ? COUNT_BEFORE(exposed, from->exposed, ended->end) : 0;
	if (before == 0 || exposed[before - 1].end != ended->end)
		return false;
	/*
	 * Of operators that run at once the exposed time is that of the first. If another one goes
	 * on, the rank stands still for that, and is not where the others are that went on.
	 */
	return before == from->exposed || exposed[before].begin > ended->end ||
	       loaded->ops.item[exposed[before].op].start >= ended->end;
}
