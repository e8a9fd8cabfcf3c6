/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COLLECT_MEMORY_HISTORY_H
#define NP_COLLECT_MEMORY_HISTORY_H

#include "child.h"
#include "collect/launch/coord/job.h"

/*
 * Snapshots of torch_npu's caching allocator
 * ==========================================
 *
 * The launcher puts memory_history.py into the application, as a sitecustomize.py in front of
 * PYTHONPATH. It starts the record and writes it down at the steps of the plan, and says in a log
 * of its own (one line of JSON each) what it did:
 *
 *	<dir>/python/sitecustomize.py
 *	<dir>/memory_rank<R>.log
 *	<root>/memory/snapshot_rank<R>.pickle
 *
 * where <dir> is the one in which the launcher and torch_npu meet (torch.h).
 */
#define NP_MEMORY_HISTORY_ENV "NPUPROF_MEMORY_HISTORY"

/* Before the application starts; does nothing if no snapshots are asked for. */
int np_memory_history_begin(const struct np_job *job, const char *dir, struct np_env *env,
			    struct np_err *err) NP_MUST_USE;

/* When it has ended: what of it is there goes into the records of this launcher. */
void np_memory_history_find(struct np_job *job);

#endif /* NP_COLLECT_MEMORY_HISTORY_H */
