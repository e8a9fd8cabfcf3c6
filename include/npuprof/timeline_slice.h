/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TIMELINE_SLICE_H
#define NP_TIMELINE_SLICE_H

#include "npuprof/analysis.h"
#include "npuprof/notes.h"

#include <stdio.h>

/*
 * The slice of a timeline that shows the verdict, as `timeline --slice` writes it: events of
 * Chrome's trace viewer, an array with one of them on each line. Ranks that cannot be drawn are
 * noted in `notes`.
 */
int np_timeline_slice_write(const struct np_analysis *analysis, FILE *stream,
			    struct np_notes *notes, struct np_err *err) NP_MUST_USE;

#endif /* NP_TIMELINE_SLICE_H */
