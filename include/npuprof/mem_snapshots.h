/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEM_SNAPSHOTS_H
#define NP_MEM_SNAPSHOTS_H

#include "npuprof/snapshot_rows.h"

/*
 * Memory snapshots beside profiles
 * ================================
 *
 * Finds the snapshots (*.pickle, *.pkl, also .gz) below directories, reads them, tells what fills
 * their peaks and what other settings of the allocator would do, and puts each rank where the run
 * has it.
 */
struct np_cluster;
struct np_names;
struct np_notes;

/* Is it called like a snapshot? */
bool np_mem_snapshots_is(const char *name);

/* Does it begin like one? Programs call theirs as they like. */
bool np_mem_snapshots_looks(const char *path);

/* Add the paths of those below a directory, sorted. */
int np_mem_snapshots_find(const char *dir, struct np_names *ret, struct np_err *err) NP_MUST_USE;

/* *ret is NULL where there is none. What cannot be read is noted. Threads: 0 is one per processor.
 */
int np_mem_snapshots_read(const char *const *dirs, size_t count, const struct np_cluster *cluster,
			  size_t threads, struct np_notes *notes, struct np_memory **ret,
			  struct np_err *err) NP_MUST_USE;

#endif /* NP_MEM_SNAPSHOTS_H */
