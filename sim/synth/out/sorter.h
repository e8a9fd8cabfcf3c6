/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_SORTER_H
#define SYN_SORTER_H

#include "npuprof/vec.h"

/*
 * Putting events into order of time
 * =================================
 *
 * A rank is generated in the order of launching, and files are in the order of
 * time. Events that do not fit into memory are sorted in parts, which wait in a
 * file without a name and are merged at the end, so that memory does not grow
 * with the trace.
 *
 * Items are plain bytes of one size. Pointers in them are fine: they come back
 * to the process they left.
 */
typedef int syn_compare(const void *a, const void *b);

/* A sorted part in the file, and what of it has been read. */
struct syn_run {
	int64_t offset;
	size_t left;
	char *items;
	size_t count;
	size_t next;
};

struct syn_sorter {
	size_t item_size;
	syn_compare *compare; /* no two items are equal */
	const char *dir;
	char *items;
	size_t count;
	size_t capacity;
	size_t total;
	int fd;
	int64_t written;
	NP_VEC(struct syn_run) runs;
	NP_VEC(size_t) heap; /* of runs, the one with the first item on top */
	size_t next;
};

/* `dir` is where items go that do not fit; it must outlive the sorter. */
void syn_sorter_init(struct syn_sorter *sorter, size_t item_size, syn_compare *compare,
		     const char *dir);
void syn_sorter_release(struct syn_sorter *sorter);

int syn_sorter_add(struct syn_sorter *sorter, const void *item, struct np_err *err) NP_MUST_USE;

/* All have been added: begin to take them out. */
int syn_sorter_begin(struct syn_sorter *sorter, struct np_err *err) NP_MUST_USE;

/* The next item, valid until the next call, or NULL behind the last. */
int syn_sorter_next(struct syn_sorter *sorter, const void **ret, struct np_err *err) NP_MUST_USE;

#endif /* SYN_SORTER_H */
