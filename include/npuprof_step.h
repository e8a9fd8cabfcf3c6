/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPUPROF_STEP_H
#define NPUPROF_STEP_H

/*
 * For applications that npuprof-collect starts: say where a step begins.
 *
 *	for (long step = 0; step < steps; step++) {
 *		npuprof_mark_step(step);
 *		...
 *	}
 *
 * Call it before the step's first launch, in the thread that has the device. It is the
 * best of all step sources. Nothing has to be linked: without npuprof-collect the
 * function npuprof_step is not there, and the mark is a test of a pointer.
 *
 * C and C++, with gcc and clang on Linux.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern void npuprof_step(int64_t step) __attribute__((weak));

static inline void npuprof_mark_step(int64_t step)
{
	if (npuprof_step)
		npuprof_step(step);
}

#ifdef __cplusplus
}
#endif

#endif /* NPUPROF_STEP_H */
