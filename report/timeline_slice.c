/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the slice of a timeline for another command (npuprof/timeline_slice.h). */
#include "npuprof/timeline_slice.h"

#include "timeline.h"

#include "npuprof/run.h"

int np_timeline_slice_write(const struct np_analysis *analysis, FILE *stream,
			    struct np_notes *notes, struct np_err *err)
{
	struct timeline_options how = { 0 };
	const struct timeline_file file = {
		.analysis = analysis, .how = &how, .form = TIMELINE_JSON, .notes = notes
	};
	bool *ranks = calloc(analysis->run->sources.count + 1, sizeof(*ranks));
	int rc = ranks ? timeline_slice(analysis, ranks, &how, err)
		       : np_fail_nomem(err, "the timeline");

	if (rc == NP_OK)
		rc = timeline_file_write(&file, stream, err);
	free(ranks);
	return rc;
}
