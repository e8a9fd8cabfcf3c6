/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ACTIVITY_PRIVATE_H
#define NP_ACTIVITY_PRIVATE_H

/* A cell while it is built: activity_build.c sweeps over pieces, activity_shares.c keeps the books.
 */

#include "npuprof/activity.h"

/* Tasks of one kind, cut so that none overlaps another. */
struct activity_layer {
	struct np_activity_task *piece; /* sorted, disjoint; the input's, or own */
	size_t count;
	size_t next;   /* the first that does not end before `now` */
	np_ns reached; /* the last end so far */
	struct {
		struct np_activity_task *item;
		size_t count; /* carried over to the next part */
		size_t capacity;
	} own;
};

enum activity_kind {
	COMPUTING,
	COMMUNICATION,
	COPYING,
	LAYERS,
};

/* Leaves are few in a segment and come again and again: where the last of each is. */
#define KNOWN_LEAVES 256

struct np_activity_builder {
	struct np_activity *activity;
	struct np_err *err;
	uint32_t known[KNOWN_LEAVES]; /* share, by the leaf's last bits */
	struct activity_layer layer[LAYERS];
	const struct np_spans *loading;
	size_t next_loading;
	NP_VEC(np_ns) cuts; /* ascending */
	size_t next_cut;
	struct np_activity_cell cell;
	bool begun; /* something computed or communicated */
	np_ns now;  /* given away up to here */
	np_ns end;  /* of the span, as far as it is known */
	np_ns limit;
};

/* --- activity_pieces.c ----------------------------------------------------------------------- */

/* Cut sorted tasks so that each nanosecond is that of the first; returns how many are left. */
size_t activity_own(struct activity_layer *layer, struct np_activity_task *tasks, size_t count);

/*
 * Make the layer's pieces cover these spans and nothing else: what no task has is
 * of `nobody`, but for rounding, which is of the task beside it.
 */
int activity_use_spans(struct activity_layer *layer, const struct np_spans *spans, uint32_t nobody,
		       struct np_err *err) NP_MUST_USE;

/* --- activity_shares.c ----------------------------------------------------------------------- */

/* Operators begin and end here: segments do too. */
int activity_add_cuts(struct np_activity_builder *build, const struct np_activity_task *ops,
		      size_t count) NP_MUST_USE;
void activity_forget_cuts(struct np_activity_builder *build);

int activity_begin_segment(struct np_activity_builder *build, np_ns begin) NP_MUST_USE;
void activity_end_segment(struct np_activity_builder *build);

/* [from, to) belongs to the leaf; calls come in the order of time and leave no gap. */
int activity_give(struct np_activity_builder *build, np_ns from, np_ns to, np_leaf leaf)
	NP_MUST_USE;

/* Nothing hides the operator in [from, to). */
int activity_expose(struct np_activity_builder *build, np_ns from, np_ns to,
		    const struct np_activity_task *owner) NP_MUST_USE;

#endif /* NP_ACTIVITY_PRIVATE_H */
