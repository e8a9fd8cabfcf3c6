/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_EXPORT_STEP_H
#define NP_EXPORT_STEP_H

#include "collect/launch/coord/job.h"

/*
 * The export after the application: runs "npuprof export" on the directory of
 * the job, once for every file system that holds a part of it (rank 0's, and that of
 * each host whose first rank does not see rank 0's files). All ranks call it and wait
 * for each other without using the processor. Returns false on a rank whose
 * export failed, having said so.
 */
bool np_export_step(const struct np_job *job);

/* Is there an exported profile in the directory of this rank? */
bool np_export_done(const char *dir);

#endif /* NP_EXPORT_STEP_H */
