/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_MERGED_H
#define NP_ADVISOR_MERGED_H

#include "npuprof/cluster.h"
#include "npuprof/run.h"
#include "npuprof/verdict.h"

/*
 * Is the merged database of a run fresh?
 *
 * It is if the same version of the program wrote it from the same input files
 * and all ranks that are there: names, sizes and times of change are compared. A stale
 * one, or one that cannot be read, is never used.
 */
bool adv_merged_is_fresh(const char *path, const struct np_run *discovered, const char *version);

/* Was it made of all steps and with all parts (cluster --steps, -m)? */
bool adv_merged_is_whole(const char *path, const struct np_cluster *cluster);

/* The verdict of the analysis that it was written from. */
int adv_merged_verdict(const char *path, struct np_verdict *ret, struct np_err *err) NP_MUST_USE;

#endif /* NP_ADVISOR_MERGED_H */
