/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LAUNCH_MANIFEST_H
#define NP_LAUNCH_MANIFEST_H

#include "collect/launch/coord/job.h"
#include "collect/launch/plan/record.h"

/*
 * npuprof_manifest.json (schema npuprof.manifest/1): what was asked for, where
 * every rank ran, how far the clocks were apart and what became of each profile.
 * Written by rank 0 under another name, flushed and renamed, so that there is the old one
 * or the new one: once before the application starts, so that a job that is killed has
 * its first clock samples, and again at the end.
 */
#define NP_MANIFEST_NAME   "npuprof_manifest.json"
#define NP_MANIFEST_SCHEMA "npuprof.manifest/1"

/* `exported[rank]` says whose profile has been exported; NULL: nobody's. */
int np_manifest_write(const struct np_job *job, const struct np_record *records,
		      const bool *exported, struct np_err *err) NP_MUST_USE;

/* The text of it, for np_manifest_write() and for tests. */
void np_manifest_format(const struct np_job *job, const struct np_record *records,
			const bool *exported, struct np_jsonout *out);

#endif /* NP_LAUNCH_MANIFEST_H */
