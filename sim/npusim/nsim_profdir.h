/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NSIM_PROFDIR_H
#define NSIM_PROFDIR_H

#include "nsim.h"

/*
 * A PROF_ directory with the files around the data (raw.h). All writing of the
 * simulator goes through here, because NPUSIM_ENOSPC_AFTER counts it.
 */
struct nsim_slice {
	int32_t device; /* physical, or -1: the host */
	int fd;
	int64_t bytes;
	bool lost; /* something could not be written */
};

struct nsim_profdir {
	char path[4096];
	struct nsim_slice slices[ACL_PROF_MAX_DEVICES + 1]; /* the host is the first */
	size_t count;
	np_ns created; /* true time */
};

/* Create it below `root`; false if something could not be written. */
bool nsim_profdir_create(struct nsim_profdir *dir, const char *root, unsigned index,
			 const struct nsim_session_config *config);

/* Append to a slice; a failure is remembered in it. */
void nsim_slice_write(struct nsim_slice *slice, const char *text, size_t length);

/* Write .done and end_info* if nothing was lost, and close. False if something was. */
bool nsim_profdir_close(struct nsim_profdir *dir);

/* The host name and uid that are recorded. */
const char *nsim_host_name(void);
uint64_t nsim_host_uid(void);

#endif /* NSIM_PROFDIR_H */
