/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_NSYS_H
#define NP_NSYS_H

#include "npuprof/trace.h"

/*
 * Databases of Nsight Systems (nsys export --type sqlite), as events of a trace of Kineto: kernels
 * (CUPTI_ACTIVITY_KIND_KERNEL), calls (…_RUNTIME), copies (…_MEMCPY, …_MEMSET) and ranges of NVTX.
 * Who reads traces of GPUs reads these with the same code.
 *
 * Of ranges, names with "::" are operators of the framework (up to a comma, behind which are their
 * inputs), "ProfilerStep#" are steps; others are annotations or, for who asks, modules: NVTX says
 * of a module its name, whatever that is, and the ranges around it.
 */
struct nsys_events;

/* Is the file a database? Traces are not. */
bool nsys_is(const char *path);

/* NP_E_NOTFOUND, naming what is missing, if it is another database. */
int nsys_open(const char *path, bool modules, struct nsys_events **ret, struct np_err *err)
	NP_MUST_USE;
void nsys_close(struct nsys_events *events);
void nsys_closep(struct nsys_events **events);

/* The next event, valid until the one after; NULL at the end. NP_E_FORMAT where it is damaged. */
int nsys_next(struct nsys_events *events, const struct np_trace_event **ret, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_NSYS_H */
