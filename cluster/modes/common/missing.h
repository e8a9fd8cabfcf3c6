/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MISSING_H
#define NP_MISSING_H

/*
 * Ranks that a mode cannot use, because their profiles lack a section that it
 * needs: known before they are read where the loaded rank tells, and else found
 * out then.
 */

#include "mode.h"

/*
 * The sections to read of a rank for a mode; where it will not run, only those of
 * which it is not known if they are there.
 */
unsigned missing_wants(const struct mode *mode, const struct np_run *run, size_t index);

/*
 * What a mode needs and a rank lacks. Operators are the rank's own, and of calls
 * the profiler's sums do unless single steps are asked for.
 */
unsigned missing_of(const struct mode *mode, const struct mode_rank *rank);

/*
 * One note for a mode: which ranks it could not use, and what they lack. That is
 * in `missing`, by index; of a mode that does not look at ranks one by one it is
 * found out here.
 */
void missing_note(struct np_modes *modes, const struct mode *mode, unsigned *missing);

#endif /* NP_MISSING_H */
