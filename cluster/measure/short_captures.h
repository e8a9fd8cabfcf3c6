/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SHORT_CAPTURES_H
#define NP_SHORT_CAPTURES_H

/* Captures that end before their steps do, by what other ranks of the same communicators have. */

#include "npuprof/align.h"
#include "npuprof/cluster.h"
#include "npuprof/run.h"

/*
 * All files of a rank may be cut alike: then they agree with each other, and the rank seems
 * to do little. But in a communicator all ranks do the same collectives. Where others go on
 * with them before its first or behind its last, in steps that the rank has marked itself,
 * its capture is partial: that is added to np_rank.coverage, against "other ranks", and
 * noted. Steps that it lacks between two that it has count as well.
 *
 * Captures of other steps are no fault; those that some ranks lack are noted.
 */
int short_captures_find(struct np_run *run, const struct np_cluster *cluster,
			const struct np_align *align, struct np_err *err) NP_MUST_USE;

/* Is this what is said of such a capture? */
bool short_captures_is_it(const struct np_run *run, const struct np_file_coverage *coverage);

#endif /* NP_SHORT_CAPTURES_H */
