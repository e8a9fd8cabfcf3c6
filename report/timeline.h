/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPORT_TIMELINE_H
#define NP_REPORT_TIMELINE_H

/*
 * All ranks on one clock
 * ======================
 *
 * A process for each rank, with tracks for its steps, for idle time by cause, for the
 * kernels of each stream and for each communicator, whose operators are cut into wait and
 * transfer; arrows lead from who came last to those that waited longest; another process
 * has the critical path of the replay. Ranks are read and written one after the other, so
 * that memory does not follow the number of events.
 */

#include "timeline_out.h"

#include "npuprof/analysis.h"
#include "npuprof/notes.h"

struct timeline_options {
	bool host;         /* also the calls that launch tasks */
	bool anonymous;    /* no names of hosts, and no paths */
	const bool *ranks; /* by index in the run: which are written; NULL: all */
	bool has_only;     /* one step alone, */
	np_str only;       /* this one */
};

/* Ranks whose clocks are not related to those of the most are left out, and noted. */
int timeline_write(struct timeline_out *out, const struct np_analysis *analysis,
		   const struct timeline_options *options, struct np_notes *notes,
		   struct np_err *err) NP_MUST_USE;

/* About how many bytes the file will have as plain JSON. */
int64_t timeline_estimate(const struct np_analysis *analysis,
			  const struct timeline_options *options);

/*
 * The slice that shows the verdict: its rank, the peer that does best, those through whom
 * its delay travelled, those that waited longest, in the step in which most began with it; some
 * ranks where nobody stands out. `ranks`, as many as the run has and all false, is filled and
 * has to last as long as *how, which is told to draw them alone.
 */
int timeline_slice(const struct np_analysis *analysis, bool *ranks, struct timeline_options *how,
		   struct np_err *err) NP_MUST_USE;

/* A timeline as a file: what its writer, an np_file_writer, needs. */
struct timeline_file {
	const struct np_analysis *analysis;
	const struct timeline_options *how;
	enum timeline_form form;
	struct np_notes *notes;
};

int timeline_file_write(const void *context, FILE *stream, struct np_err *err) NP_MUST_USE;

#endif /* NP_REPORT_TIMELINE_H */
