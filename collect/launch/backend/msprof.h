/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MSPROF_H
#define NP_MSPROF_H

#include "collect/launch/coord/job.h"

/* How msprof is called: around an application, or attached to a process that runs. */

/* A command line of msprof, ending with NULL. */
struct np_msprof_line {
	char **argv;
	struct np_buf words;
	char dir[NP_RECORD_DIR]; /* the rank directory it writes to, which was made */
};

/* Around the application of this launcher. */
int np_msprof_line(const struct np_job *job, struct np_msprof_line *ret, struct np_err *err)
	NP_MUST_USE;

/* Attached to process `pid` of a rank, for a window below `base` at this level. */
int np_msprof_attach_line(const struct np_job *job, int32_t rank, int pid, const char *base,
			  int level, struct np_msprof_line *ret, struct np_err *err) NP_MUST_USE;
void np_msprof_line_release(struct np_msprof_line *line);

/* Where an application that was started with PROFILING_MODE=dynamic listens for msprof. */
bool np_msprof_socket(int pid, char *path, size_t size);

#endif /* NP_MSPROF_H */
