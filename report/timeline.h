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
	bool anonymous;    /* no names of hosts */
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
 * its delay travelled, those that waited longest, in the step in which most began with it.
 * `ranks`, as many as the run has, is filled; *ret_step is untouched where nothing stands out.
 */
int timeline_choose(const struct np_analysis *analysis, bool *ranks, np_str *ret_step,
		    struct np_err *err) NP_MUST_USE;

#endif /* NP_REPORT_TIMELINE_H */
