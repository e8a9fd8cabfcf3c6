/* SPDX-License-Identifier: Apache-2.0 */
/* How the trace of a GPU is known: by the categories of its first events. */
#include "gpu_trace.h"

/* Events that are looked at. */
#define PROBE 50000

int gpu_trace_is(const char *path, bool *ret, struct np_err *err)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event = NULL;
	int rc = np_trace_open(path, &trace, err);

	*ret = false;
	for (int i = 0; i < PROBE && rc == NP_OK && !*ret; i++) {
		rc = np_trace_next(trace, &event, err);
		if (rc < 0 || !event)
			break;
		*ret = np_slice_is(event->cat, "cuda_runtime") ||
		       np_slice_is(event->cat, "gpu_memcpy") ||
		       np_slice_is(event->cat, "cuda_driver") ||
		       (np_slice_is(event->cat, "kernel") && event->phase == 'X');
	}
	return rc;
}
