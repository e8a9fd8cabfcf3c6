/* SPDX-License-Identifier: Apache-2.0 */
#include "cause.h"

/* Ranks of which only operators are known. */

/* Add operators up to `until`, as far as `to`. Where they overlap, the first has the time. */
static void add_ops(struct progress_mark *mark, const struct progress *progress, uint32_t index,
		    uint32_t from, uint32_t until, np_ns to)
{
	const struct np_rank *rank = progress->align->run->ranks[index];

	for (uint32_t i = from; i < until; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct np_exposed piece = { op->start, op->end < to ? op->end : to, i };
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

int progress_mark_ops(const struct progress *progress, uint32_t index, struct np_err *err)
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

struct spent_sum progress_sum_of_ops(const struct progress *progress, uint32_t index,
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

int progress_add_waited(waited_list *list, uint32_t op, np_ns waiting, struct np_err *err)
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

int progress_waited_in_ops(const struct progress *progress, uint32_t index, uint32_t since,
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
