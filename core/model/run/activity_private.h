/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ACTIVITY_PRIVATE_H
#define NP_ACTIVITY_PRIVATE_H

/* A cell while it is built: activity_build.c sweeps over pieces and keeps the books.
 */

#include "npuprof/activity.h"
#include "npuprof/map.h"

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

/* Streams that compute, each told apart from the others; those of more are as one. */
#define ACTIVITY_STREAMS 8

struct activity_stream {
	uint32_t stream;
	np_ns busy;  /* Σ of its kernels */
	size_t open; /* the first exposed piece that it has no next kernel for */
};

/* An exposed piece while its cell is built. */
struct activity_next {
	np_ns from;                    /* where the last of its gaps begins */
	np_ns asked;                   /* of that, from here on nothing is known of the host */
	np_ns start[ACTIVITY_STREAMS]; /* next kernel of each stream; NP_NS_MAX for none yet */
};

/* A kernel of the part at hand. */
struct activity_start {
	np_ns start;
	uint32_t stream; /* index in np_activity_builder.streams */
};

/* Leaves are few in a segment and come again and again: where the last of each is. */
#define KNOWN_LEAVES 256

struct np_activity_builder {
	struct np_activity *activity;
	struct np_err *err;
	uint32_t known[KNOWN_LEAVES]; /* share, by the leaf's last bits */
	struct np_numbers places; /* leaf → its first share, of the last segment if it has many */
	size_t placed;            /* shares that `places` knows end here; 0: none */
	struct activity_layer layer[LAYERS];
	const struct np_spans *loading;
	size_t next_loading;
	NP_VEC(np_ns) cuts; /* ascending */
	size_t next_cut;
	struct activity_stream streams[ACTIVITY_STREAMS];
	size_t stream_count;
	NP_VEC(struct activity_next) nexts;   /* by exposed piece of the cell */
	size_t asked;                         /* the first whose `asked` is known */
	NP_VEC(struct activity_start) starts; /* of the part at hand, in the order of time */
	struct np_activity_cell cell;
	bool begun; /* something computed or communicated */
	np_ns now;  /* given away up to here */
	np_ns end;  /* of the span, as far as it is known */
	np_ns limit;
};

#endif /* NP_ACTIVITY_PRIVATE_H */
