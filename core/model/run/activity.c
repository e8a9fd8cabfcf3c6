/* SPDX-License-Identifier: Apache-2.0 */
/* Looks things up in the activity of a rank, and picks parts of it. */
#include "npuprof/activity.h"

void np_activity_release(struct np_activity *activity)
{
	np_vec_release(&activity->cells);
	np_vec_release(&activity->segments);
	np_vec_release(&activity->shares);
	np_vec_release(&activity->exposed);
}

/* Vectors grow by doubling; what stays for the whole run should fit. */
int np_activity_finish(struct np_activity *activity, struct np_err *err)
{
	if (np_vec_fit(&activity->cells) && np_vec_fit(&activity->segments) &&
	    np_vec_fit(&activity->shares) && np_vec_fit(&activity->exposed))
		return NP_OK;
	return np_fail_nomem(err, "step times");
}

/* Append `count` entries to a vector that has the room. */
#define APPEND(vec, from, number) \
	do { \
		if ((number) > 0) \
			memcpy(&(vec).item[(vec).count], (from), (number) * sizeof(*(vec).item)); \
		(vec).count += (number); \
	} while (0)

static void append_cell(struct np_activity *to, const struct np_activity *from,
			const struct np_activity_cell *cell)
{
	const struct np_segment *segment = &from->segments.item[cell->first_segment];
	size_t first = to->segments.count;
	uint32_t shares = segment[cell->segments].first - segment->first;
	uint32_t first_share = (uint32_t)to->shares.count;

	to->cells.item[to->cells.count] = *cell;
	to->cells.item[to->cells.count].first_segment = (uint32_t)first;
	to->cells.item[to->cells.count].first_exposed = (uint32_t)to->exposed.count;
	to->cells.count++;
	APPEND(to->segments, segment, cell->segments);
	for (uint32_t i = 0; i < cell->segments; i++)
		to->segments.item[first + i].first =
			segment[i].first - segment->first + first_share;
	APPEND(to->shares, &from->shares.item[segment->first], shares);
	APPEND(to->exposed, &from->exposed.item[cell->first_exposed], cell->exposed);
}

/* Room for exactly these cells, and for the segment that ends the last. */
static bool reserve(struct np_activity *to, const struct np_activity *from, const uint32_t *cells,
		    size_t count)
{
	to->cells.capacity = count;
	to->segments.capacity = 1;
	for (size_t i = 0; i < count; i++) {
		const struct np_activity_cell *cell = &from->cells.item[cells[i]];
		const struct np_segment *segment = &from->segments.item[cell->first_segment];

		to->segments.capacity += cell->segments;
		to->shares.capacity += segment[cell->segments].first - segment->first;
		to->exposed.capacity += cell->exposed;
	}
	/* One more, since malloc(0) may be NULL. */
	to->cells.item = malloc((to->cells.capacity + 1) * sizeof(*to->cells.item));
	to->segments.item = malloc(to->segments.capacity * sizeof(*to->segments.item));
	to->shares.item = malloc((to->shares.capacity + 1) * sizeof(*to->shares.item));
	to->exposed.item = malloc((to->exposed.capacity + 1) * sizeof(*to->exposed.item));
	return to->cells.item && to->segments.item && to->shares.item && to->exposed.item;
}

int np_activity_pick(struct np_activity *activity, const uint32_t *cells, size_t count,
		     struct np_err *err)
{
	struct np_activity picked = { 0 };

	if (!reserve(&picked, activity, cells, count)) {
		np_activity_release(&picked);
		return np_fail_nomem(err, "steps");
	}
	for (size_t i = 0; i < count; i++)
		append_cell(&picked, activity, &activity->cells.item[cells[i]]);
	picked.segments.item[picked.segments.count++] =
		(struct np_segment){ .first = (uint32_t)picked.shares.count };
	np_activity_release(activity);
	*activity = picked;
	return NP_OK;
}

void np_activity_move_ops(struct np_activity *activity, const uint32_t *place)
{
	size_t kept = 0;

	for (size_t i = 0; i < activity->shares.count; i++) {
		np_leaf *leaf = &activity->shares.item[i].leaf;

		if (np_leaf_kind(*leaf) == NP_LEAF_COMM && np_leaf_of(*leaf) != NP_LEAF_NOBODY)
			*leaf = np_leaf_make(NP_LEAF_COMM, place[np_leaf_of(*leaf)]);
	}
	for (size_t i = 0; i < activity->cells.count; i++) {
		struct np_activity_cell *cell = &activity->cells.item[i];
		size_t first = kept;

		for (uint32_t j = 0; j < cell->exposed; j++) {
			struct np_exposed piece = activity->exposed.item[cell->first_exposed + j];

			piece.op = place[piece.op];
			if (piece.op < NP_LEAF_NOBODY)
				activity->exposed.item[kept++] = piece;
		}
		cell->first_exposed = (uint32_t)first;
		cell->exposed = (uint32_t)(kept - first);
	}
	activity->exposed.count = kept;
}
