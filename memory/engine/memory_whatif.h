/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMORY_WHATIF_H
#define NP_MEMORY_WHATIF_H

#include "mem_replay.h"

/* What one device would have reserved under other settings of its allocator. */
struct memory_whatif {
	bool wanted;
	const char *withheld; /* why nothing is foretold, or NULL */
	struct mem_replay found;
	/*
	 * The settings of the recording on a device of the size that is known: what others are
	 * compared with. A smaller device makes every allocator give back.
	 */
	struct mem_replay now;
	bool now_known;
	NP_VEC(struct mem_whatif) list; /* --with in order, then those of --sweep */
	size_t with;                    /* how many of them are of --with */
};

/* The settings of the recording, or why nothing can be found. */
int memory_whatif_find(const struct mem_history *history, struct memory_whatif *ret,
		       struct np_err *err) NP_MUST_USE;

/*
 * After that, other settings. `with`: what was given with --with, checked before. `device`: bytes
 * that the process can have, or NP_UNKNOWN.
 */
int memory_whatif_run(const struct mem_history *history, const char *const *with, size_t count,
		      bool sweep, int64_t device, struct memory_whatif *ret, struct np_err *err)
	NP_MUST_USE;
void memory_whatif_release(struct memory_whatif *whatif);

/* 64GB, 60GiB, 512B … */
bool memory_read_size(const char *text, int64_t *ret);

/* reserved>60GB */
int memory_gate_parse(const char *text, uint64_t *ret_bytes, struct np_err *err) NP_MUST_USE;

/* The peak reserved that a gate judges, what it may be more than foretold included. */
uint64_t memory_gate_peak(const struct mem_history *history, const struct memory_whatif *whatif);

#endif /* NP_MEMORY_WHATIF_H */
