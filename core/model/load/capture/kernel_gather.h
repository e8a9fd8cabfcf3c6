/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_KERNEL_GATHER_H
#define NP_KERNEL_GATHER_H

/*
 * The kernels of a rank on their way to sums
 * ==========================================
 *
 * A reader of tasks that is asked for sums adds every kernel with its likeness,
 * every operator of the framework and what it launched, and in the end reduces
 * them by the windows of the steps, which are known only then. What is gathered
 * goes when the rank is read.
 */

#include "npuprof/idmap.h"
#include "npuprof/kernel_sums.h"
#include "npuprof/rank.h"

/* What the file says of a kernel, as its own ids of texts. */
struct gather_texts {
	int64_t name;
	int64_t type;
	int64_t core;
	int64_t in_shapes;
	int64_t in_dtypes;
	int64_t in_formats;
};

struct gather_kernel {
	np_ns start;
	np_ns end;
	int64_t connection;
	uint32_t stream;
	uint32_t id;       /* on its stream */
	uint32_t likeness; /* in `likes` */
	uint16_t device;   /* index in the capture's devices */
	uint8_t cube;      /* enum np_cube */
};

/* An operator of the framework. */
struct gather_call {
	np_ns start;
	np_ns end;
	int64_t tid;
	int64_t connections; /* number of what it launched; negative for nothing */
	np_str name;
	bool counts;   /* kernels are distinguished by it */
	bool backward; /* by its threads */
};

/* One that launched something and has an framework_op: name × 2 + backward. */
struct gather_launch {
	np_ns start;
	uint32_t framework_op;
};

/* The texts, or the sort, seen last under a hash. */
#define GATHER_SLOTS 1024

struct gather_texts_slot {
	struct gather_texts texts;
	uint32_t likeness; /* + 1; 0: empty */
};

struct kernel_gather {
	struct np_err *err;
	NP_VEC(struct gather_kernel) kernels;
	np_ns *computing; /* by kernel; NULL without counters */
	struct np_open_calls open;
	NP_VEC(struct gather_launch) launches;
	struct np_idmap *launched;           /* number of what was launched → launches */
	struct np_idmap *framework_ops;      /* connection → launches */
	NP_VEC(struct np_kernel_sort) likes; /* without framework_op and cube */
	struct np_strtab *keys;              /* struct gather_texts as bytes → likes + 1 */
	struct gather_texts_slot slots[GATHER_SLOTS];
	np_str chip;
	int64_t mhz_sum;
	int64_t mhz_count;
};

int kernel_gather_begin(struct kernel_gather *gather) NP_MUST_USE;
void kernel_gather_end(struct kernel_gather *gather);

/*
 * The likeness of a kernel with these texts. A new one is zeroed and to be filled
 * by the caller: `ret_new` points to it, else it is NULL.
 */
int kernel_gather_likeness(struct kernel_gather *gather, const struct gather_texts *texts,
			   uint32_t *ret, struct np_kernel_sort **ret_new) NP_MUST_USE;

/*
 * The next operator of the framework. NP_E_RANGE if those of a thread do not come
 * in the order of their starts, the longest first.
 */
int kernel_gather_call(struct kernel_gather *gather, const struct gather_call *call) NP_MUST_USE;

/*
 * All operators are there: what was launched under a number has this connection.
 * Of several operators the one that started last is meant.
 */
int kernel_gather_link(struct kernel_gather *gather, int64_t connections, int64_t connection)
	NP_MUST_USE;

/*
 * From what was gathered to rank->kernel_sums, by the windows of its steps and
 * these devices. Without windows there are no sums. Texts give the order of kernels that
 * nothing else distinguishes.
 */
int kernel_gather_reduce(struct kernel_gather *gather, const struct np_strtab *strings,
			 const int32_t *devices, struct np_rank *rank) NP_MUST_USE;

#endif /* NP_KERNEL_GATHER_H */
