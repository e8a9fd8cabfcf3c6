/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LOAD_RUN_H
#define NP_LOAD_RUN_H

#include "npuprof/iteration.h"
#include "npuprof/kernel_sums.h"
#include "npuprof/procs.h"
#include "npuprof/run.h"
#include "npuprof/workers.h"

/*
 * Loading the ranks of a run
 * ==========================
 *
 * One job per rank on a pool of threads, here and in other processes. A rank that
 * cannot be read is noted and stays NULL; the others are not touched by it.
 */

/* How far loading is, over all processes. */
struct np_load_progress {
	size_t ranks_done;
	size_t ranks;
	int64_t bytes_done;
	int64_t bytes;
};

/* Called about ten times a second on the calling thread, and once at the end. */
typedef void np_load_watcher(void *context, const struct np_load_progress *progress);

/* How to load; what is zero or NULL does not apply. */
struct np_load_options {
	const struct np_procs *procs;
	struct np_workers workers;
	/*
	 * Keep summaries of the ranks in this directory, and use those there that are
	 * of the same files as found and of the same program, instead of the files.
	 */
	const char *cache;
	const char *program; /* version, for the cache */
	/* Load so many ranks at once that they are not expected to need more memory than this. */
	int64_t max_memory;
	np_load_watcher *watch;
	void *watch_context;
	/* Where steps come from. */
	struct np_steps_choice steps;
	/* np_source_files.part of all ranks. */
	enum np_load_part part;
	/* Sum the kernels of ranks too, where their databases are read. */
	np_kernel_framework_op *kernel_framework_op;
	enum np_load_rows rows; /* np_source_files.rows of all ranks */
};

int np_load_run(struct np_run *run, const struct np_load_options *options, struct np_err *err)
	NP_MUST_USE;

/* --- other processes ----------------------------------------------------------------------------
 */

/*
 * What a process does that does not lead: load ranks for the one that does
 * until it dismisses all, and return the status that it gives. `kernel_framework_op` is
 * that of the leader's options; NULL where it has none.
 */
int np_load_serve(const struct np_procs *procs, np_kernel_framework_op *kernel_framework_op,
		  int *ret_status, struct np_err *err) NP_MUST_USE;

/* The leader has finished: let the others end with its status. */
int np_load_dismiss(const struct np_procs *procs, int status, struct np_err *err) NP_MUST_USE;

#endif /* NP_LOAD_RUN_H */
