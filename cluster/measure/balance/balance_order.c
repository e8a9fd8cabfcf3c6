/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the operators of all ranks into one order in which everything that they need is there. */
#include "balance_model.h"

/* What has become of an operator. */
enum {
	OP_READY = 1,
	OP_STARTED = 2,
	OP_ENDED = 4,
	OP_KEPT = 8, /* its room is its own */
};

struct bal_ordering {
	const struct np_bal *bal;
	struct bal_program *program;
	uint32_t *next;         /* mark, by cell */
	uint8_t *state;         /* by slot */
	uint32_t *follower;     /* by slot: the operator that is behind it */
	uint32_t *missing;      /* by instance: members that have not started */
	NP_VEC(uint32_t) cells; /* that may go on */
	NP_VEC(uint32_t) ends;  /* operators that have ended, of which nobody knows yet */
	struct np_err *err;
};

static void ordering_release(struct bal_ordering *all)
{
	free(all->next);
	free(all->state);
	free(all->follower);
	free(all->missing);
	np_vec_release(&all->cells);
	np_vec_release(&all->ends);
}

void bal_program_release(struct bal_program *program)
{
	np_vec_release(&program->events);
	np_vec_release(&program->kept);
	free(program->rooms);
}

static int begin(struct bal_ordering *all)
{
	const struct np_bal *bal = all->bal;
	size_t slots = (size_t)bal->align->op_count + 1;
	size_t instances = bal->align->instances.count;

	all->next = calloc(bal->cells.count + 1, sizeof(*all->next));
	all->state = calloc(slots, sizeof(*all->state));
	all->follower = malloc(slots * sizeof(*all->follower));
	all->missing = calloc(instances + 1, sizeof(*all->missing));
	if (!all->next || !all->state || !all->follower || !all->missing)
		return np_fail_nomem(all->err, "the balance of a run");
	memset(all->follower, 0xff, slots * sizeof(*all->follower));
	for (uint32_t i = 0; i + 1 < slots; i++) {
		if (bal->ops[i].behind != UINT32_MAX)
			all->follower[bal->ops[i].behind] = i;
	}
	for (size_t i = 0; i < instances; i++) {
		const struct np_instance *instance = &bal->align->instances.item[i];

		for (uint32_t j = 0; j < instance->count; j++)
			all->missing[i] += bal->ops[instance->first + j].cell != UINT32_MAX;
	}
	return NP_OK;
}

static int add_event(struct bal_ordering *all, enum bal_kind kind, uint32_t index)
{
	struct bal_event *event = np_vec_add(&all->program->events, all->err);

	if (!event)
		return NP_E_NOMEM;
	event->kind = kind & 7;
	event->index = index & 0x1fffffff;
	return NP_OK;
}

static int push(void *room, uint32_t number)
{
	if (!room)
		return NP_E_NOMEM;
	*(uint32_t *)room = number;
	return NP_OK;
}

static int push_end(struct bal_ordering *all, uint32_t slot)
{
	all->state[slot] |= OP_ENDED;
	return push(np_vec_add(&all->ends, all->err), slot);
}

/* All have come: it ends. */
static int end_instance(struct bal_ordering *all, uint32_t index)
{
	const struct np_instance *instance = &all->bal->align->instances.item[index];
	int rc = add_event(all, BAL_DONE, index);

	for (uint32_t i = instance->first; i < instance->first + instance->count && rc == NP_OK;
	     i++) {
		if (all->bal->ops[i].cell == UINT32_MAX)
			continue;
		/* One that came twice may have stood for another. */
		if (!(all->state[i] & OP_STARTED))
			all->state[i] |= OP_KEPT;
		if (!all->bal->ops[i].self)
			rc = push_end(all, i);
	}
	return rc;
}

static int start_op(struct bal_ordering *all, uint32_t slot)
{
	const struct np_align *align = all->bal->align;
	uint32_t index = (uint32_t)(np_align_instance(align, slot) - align->instances.item);
	int rc = NP_OK;

	all->state[slot] |= OP_STARTED;
	if (all->bal->ops[slot].self)
		rc = push_end(all, slot);
	if (--all->missing[index] == 0 && rc == NP_OK)
		rc = end_instance(all, index);
	return rc;
}

static int wake(struct bal_ordering *all, uint32_t cell)
{
	return push(np_vec_add(&all->cells, all->err), cell);
}

/* Operators that have ended let their followers start, and their ranks go on. */
static int pass_on_ends(struct bal_ordering *all)
{
	int rc = NP_OK;

	while (all->ends.count > 0 && rc == NP_OK) {
		uint32_t slot = all->ends.item[--all->ends.count];
		uint32_t follower = all->follower[slot];

		if (follower != UINT32_MAX &&
		    (all->state[follower] & (OP_READY | OP_STARTED)) == OP_READY) {
			rc = add_event(all, BAL_BEGIN, follower);
			if (rc == NP_OK)
				rc = start_op(all, follower);
		}
		if (rc == NP_OK)
			rc = wake(all, all->bal->ops[slot].cell);
	}
	return rc;
}

/* It is in another cell as well. */
static int keep(struct bal_ordering *all, const struct bal_mark *mark)
{
	struct bal_kept *kept = np_vec_add(&all->program->kept, all->err);

	if (!kept)
		return NP_E_NOMEM;
	*kept = (struct bal_kept){ mark->slot, mark->cell };
	all->state[mark->slot] |= OP_KEPT;
	return NP_OK;
}

static int come_to_start(struct bal_ordering *all, uint32_t index)
{
	const struct bal_mark *mark = &all->bal->marks.item[index];
	uint32_t behind = all->bal->ops[mark->slot].behind;
	bool held = behind != UINT32_MAX && !(all->state[behind] & OP_ENDED);
	int rc = add_event(all, held ? BAL_READY : BAL_START, index);

	if (rc == NP_OK && all->bal->ops[mark->slot].cell != mark->cell)
		rc = keep(all, mark);
	all->state[mark->slot] |= OP_READY;
	if (rc == NP_OK && !held)
		rc = start_op(all, mark->slot);
	return rc == NP_OK ? pass_on_ends(all) : rc;
}

/* Go on until something has not ended yet. */
static int go_on(struct bal_ordering *all, uint32_t cell)
{
	const struct bal_cell *own = &all->bal->cells.item[cell];
	int rc = NP_OK;

	while (all->next[cell] < own->marks && rc == NP_OK) {
		uint32_t index = own->first + all->next[cell];
		const struct bal_mark *mark = &all->bal->marks.item[index];

		if (mark->block && !(all->state[mark->slot] & OP_ENDED))
			return NP_OK;
		all->next[cell]++;
		rc = mark->block ? add_event(all, BAL_BLOCK, index) : come_to_start(all, index);
	}
	return rc;
}

static int go_on_all(struct bal_ordering *all)
{
	int rc = NP_OK;

	while (all->cells.count > 0 && rc == NP_OK)
		rc = go_on(all, all->cells.item[--all->cells.count]);
	return rc;
}

/* What never comes is not waited for. */
static int force(struct bal_ordering *all)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < all->bal->cells.count && rc == NP_OK; i++) {
		const struct bal_cell *cell = &all->bal->cells.item[i];

		while (all->next[i] < cell->marks && rc == NP_OK) {
			uint32_t index = cell->first + all->next[i];

			all->program->forced++;
			all->state[all->bal->marks.item[index].slot] |= OP_ENDED;
			rc = add_event(all, BAL_FORCE, index);
			if (rc == NP_OK)
				rc = wake(all, i);
			if (rc == NP_OK)
				rc = go_on_all(all);
		}
	}
	return rc;
}

/* --- rooms -------------------------------------------------------------------------------------
 */

/* The operators whose times an event reads or writes: a few that are named, or those of an
 * instance.
 */
struct touched {
	uint32_t first;
	uint32_t count;
	uint32_t behind; /* one more, or UINT32_MAX */
};

static struct touched touched_by(const struct np_bal *bal, struct bal_event event)
{
	struct touched touched = { .first = event.index, .count = 1, .behind = UINT32_MAX };

	if (event.kind == BAL_DONE)
		return (struct touched){ bal->align->instances.item[event.index].first,
					 bal->align->instances.item[event.index].count,
					 UINT32_MAX };
	if (event.kind != BAL_BEGIN)
		touched.first = bal->marks.item[event.index].slot;
	if (event.kind == BAL_BEGIN || event.kind == BAL_START)
		touched.behind = bal->ops[touched.first].behind;
	return touched;
}

struct letting {
	struct bal_program *program;
	const uint8_t *state;
	const uint32_t *last; /* event that touches a slot */
	NP_VEC(uint32_t) empty;
	struct np_err *err;
};

static void take_room(struct letting *rooms, uint32_t slot)
{
	struct bal_program *program = rooms->program;

	if (program->rooms[slot] != BAL_NO_ROOM)
		return;
	if (rooms->state[slot] & OP_KEPT)
		program->rooms[slot] = program->room_count++ | BAL_KEPT;
	else if (rooms->empty.count > 0)
		program->rooms[slot] = rooms->empty.item[--rooms->empty.count];
	else
		program->rooms[slot] = program->room_count++;
}

static int leave_room(struct letting *rooms, uint32_t slot, uint32_t event)
{
	if (rooms->last[slot] != event || (rooms->state[slot] & OP_KEPT))
		return NP_OK;
	return push(np_vec_add(&rooms->empty, rooms->err), rooms->program->rooms[slot]);
}

/* An operator has a room from the first event that touches it up to the last one. */
static int let_rooms(struct bal_ordering *all, uint32_t *last)
{
	const struct np_bal *bal = all->bal;
	struct bal_program *program = all->program;
	struct letting rooms = { program, all->state, last, { 0 }, all->err };
	int rc = NP_OK;

	for (uint32_t i = 0; i < program->events.count; i++) {
		struct touched touched = touched_by(bal, program->events.item[i]);

		for (uint32_t j = 0; j < touched.count; j++)
			last[touched.first + j] = i;
		if (touched.behind != UINT32_MAX)
			last[touched.behind] = i;
	}
	for (uint32_t i = 0; i < program->events.count && rc == NP_OK; i++) {
		struct touched touched = touched_by(bal, program->events.item[i]);

		for (uint32_t j = 0; j < touched.count; j++)
			take_room(&rooms, touched.first + j);
		if (touched.behind != UINT32_MAX) {
			take_room(&rooms, touched.behind);
			rc = leave_room(&rooms, touched.behind, i);
		}
		for (uint32_t j = 0; j < touched.count && rc == NP_OK; j++)
			rc = leave_room(&rooms, touched.first + j, i);
	}
	np_vec_release(&rooms.empty);
	return rc;
}

static int by_slot(const void *left, const void *right)
{
	const struct bal_kept *a = left;
	const struct bal_kept *b = right;

	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	return (a->cell > b->cell) - (a->cell < b->cell);
}

/* The operators that keep their rooms, with all of their cells. */
static int list_kept(struct bal_ordering *all)
{
	struct bal_program *program = all->program;

	for (uint32_t i = 0; i < all->bal->align->op_count; i++) {
		struct bal_kept *kept;

		if (!(all->state[i] & OP_KEPT))
			continue;
		kept = np_vec_add(&program->kept, all->err);
		if (!kept)
			return NP_E_NOMEM;
		*kept = (struct bal_kept){ i, all->bal->ops[i].cell };
	}
	if (program->kept.count > 1)
		qsort(program->kept.item, program->kept.count, sizeof(*program->kept.item),
		      by_slot);
	return NP_OK;
}

static int let_all(struct bal_ordering *all)
{
	struct bal_program *program = all->program;
	size_t slots = (size_t)all->bal->align->op_count + 1;
	uint32_t *last = malloc(slots * sizeof(*last));
	int rc;

	program->rooms = malloc(slots * sizeof(*program->rooms));
	if (!last || !program->rooms) {
		free(last);
		return np_fail_nomem(all->err, "the balance of a run");
	}
	memset(program->rooms, 0xff, slots * sizeof(*program->rooms));
	rc = let_rooms(all, last);
	free(last);
	return rc == NP_OK ? list_kept(all) : rc;
}

int bal_order(const struct np_bal *bal, struct bal_program *ret, struct np_err *err)
{
	struct bal_ordering all = { .bal = bal, .program = ret, .err = err };
	int rc = begin(&all);

	for (uint32_t i = (uint32_t)bal->cells.count; i > 0 && rc == NP_OK; i--)
		rc = wake(&all, i - 1);
	if (rc == NP_OK)
		rc = go_on_all(&all);
	if (rc == NP_OK)
		rc = force(&all);
	if (rc == NP_OK)
		rc = let_all(&all);
	ordering_release(&all);
	return rc;
}
