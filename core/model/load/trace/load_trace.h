/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LOAD_TRACE_H
#define NP_LOAD_TRACE_H

/*
 * Readers of traces: those of torch_npu and msprof, and those of PyTorch's own profiler.
 */

#include "npuprof/run.h"

/* trace_view.json or the slices of an msprof trace. */
int np_load_trace(struct np_rank *rank, const struct np_source_files *source,
		  struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/* The lines (JSONL) of msMonitor, of which one process writes several files. */
int np_load_monitor(struct np_rank *rank, const struct np_source_files *source,
		    struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/* A trace of Kineto, of a GPU or of an NPU. */
int np_load_kineto(struct np_rank *rank, const struct np_source_files *source,
		   struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

#endif /* NP_LOAD_TRACE_H */
