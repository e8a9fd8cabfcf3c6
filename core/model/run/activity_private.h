/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ACTIVITY_PRIVATE_H
#define NP_ACTIVITY_PRIVATE_H

/* A cell while it is built: activity_build.c sweeps over pieces and keeps the books.
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

#endif /* NP_ACTIVITY_PRIVATE_H */
