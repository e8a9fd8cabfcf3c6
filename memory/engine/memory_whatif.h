/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMORY_WHATIF_H
#define NP_MEMORY_WHATIF_H

#include "mem_replay.h"

/* What one device would have reserved under other settings of its allocator. */
struct memory_whatif {
	bool wanted;
	const char *withheld; /* why nothing is foretold, or NULL */
	struct mem_replay found;
	NP_VEC(struct mem_whatif) list; /* --with in order, then those of --sweep */
	size_t with;                    /* how many of them are of --with */
};

/* `with`: what was given with --with, checked before. */
int memory_whatif_run(const struct mem_history *history, const char *const *with, size_t count,
		      bool sweep, struct memory_whatif *ret, struct np_err *err) NP_MUST_USE;
void memory_whatif_release(struct memory_whatif *whatif);

/* 64GB, 60GiB, 512B … */
bool memory_read_size(const char *text, int64_t *ret);

/* reserved>60GB */
int memory_gate_parse(const char *text, uint64_t *ret_bytes, struct np_err *err) NP_MUST_USE;

/* The peak reserved that a gate judges, what it may be more than foretold included. */
uint64_t memory_gate_peak(const struct mem_history *history, const struct memory_whatif *whatif);

#endif /* NP_MEMORY_WHATIF_H */
