/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LOCK_H
#define NP_LOCK_H

#include "npuprof/err.h"

/*
 * Two processes that write the same directory
 * ===========================================
 *
 * Who writes results into a directory holds a lock on a file in it, NP_LOCK_NAME, until the process
 * ends; the file says who that is. The kernel takes the lock from a process that is dead, on this
 * host and, where the file system passes locks on (NFS, Lustre with -o flock), on others. Any
 * thread.
 */
#define NP_LOCK_NAME ".npuprof.lock"

/* How long one waits for another that writes there. */
#define NP_LOCK_WAIT_NS INT64_C(10000000000)

/*
 * Make the directory and those above it, and hold its lock; nothing happens if this process has it
 * already. NP_E_BUSY after `wait_ns` with who has it, on which host and since when. Where a file
 * system knows no locks, or the file cannot be made, there is none: who may not write there hears
 * of it from what is written.
 */
int np_lock_dir(const char *path, np_ns wait_ns, struct np_err *err) NP_MUST_USE;

/*
 * The same for what several hosts write: on a network file system, whose locks may be those of this
 * host alone, and where there are none, one holds a file as well that only one can make. It is
 * taken from a process that is dead; from one of another host after NP_LOCK_STALE_NS.
 */
int np_lock_shared(const char *path, np_ns wait_ns, struct np_err *err) NP_MUST_USE;
#define NP_LOCK_HELD     ".npuprof.held"
#define NP_LOCK_STALE_NS INT64_C(300000000000)

/* np_make_dirs() of a directory for results, with np_lock_shared() on it. */
int np_make_output(const char *path, struct np_err *err) NP_MUST_USE;

/* Give back all that this process holds. Done at its end; a child that was forked holds nothing of
 * its own. */
void np_lock_release_all(void);

#endif /* NP_LOCK_H */
