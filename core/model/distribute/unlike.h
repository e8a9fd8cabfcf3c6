/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_UNLIKE_H
#define NP_UNLIKE_H

/*
 * What does a rank lack that others have, which were profiled alike? A table without rows or a file
 * that is not there may never have been recorded, or have been lost: nobody can know, so it is said
 * where ranks of one run differ, and only there.
 */

struct np_run;

/* Note it for each rank, once all are loaded. */
void unlike_note(struct np_run *run);

#endif /* NP_UNLIKE_H */
