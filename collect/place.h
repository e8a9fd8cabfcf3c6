/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PLACE_H
#define NP_PLACE_H

#include <sys/types.h>

#include "npuprof/err.h"

/*
 * Writing where others may write too
 * ==================================
 *
 * Directories of jobs are made below directories that others may be able to write, /tmp or a
 * scratch file system: somebody can put a directory, a file or a link of his there before we
 * come, or in the place of ours while we work. So every file is made below an open directory that
 * was looked at: it is no link, it belongs to this user, and not everybody may write to it (one of
 * ours that everybody may write is closed to them; where a file system knows no permissions, that
 * stays without effect). Files are made new under another name and renamed: what has the name is
 * neither followed nor truncated.
 *
 * Where the file system gives this user another number (root of a client of NFS), a directory is
 * ours if what we make in it has its owner. Any thread; nothing is kept.
 */

/* A descriptor of the directory, or NP_E_IO: why it is not to be used. */
int np_place_open(const char *dir, struct np_err *err) NP_MUST_USE;

/*
 * Make a directory for what the user is to have, with the permissions of the user's umask but never
 * for everybody to write; one that is there and is ours will do.
 */
int np_place_make(const char *dir, struct np_err *err) NP_MUST_USE;

/* Give the file `name` in `dir` these bytes, all or none. `mode` is what the umask leaves of it. */
struct np_place_bytes {
	const char *bytes;
	size_t length;
	bool durable;    /* on the disk before it has its name */
	bool local_time; /* its time is that of this host's clock, not of a file server */
};
int np_place_write(const char *dir, const char *name, struct np_place_bytes text, mode_t mode,
		   struct np_err *err) NP_MUST_USE;

/* A descriptor for adding to a file of ours, which is made if need be; or NP_E_IO. */
int np_place_append(const char *dir, const char *name, mode_t mode, struct np_err *err) NP_MUST_USE;

/* Permissions, before the umask: of what the user is to have, and of what steers a job. */
enum {
	NP_PLACE_OUTPUT = 0666,
	NP_PLACE_CONTROL = 0600,
};

#endif /* NP_PLACE_H */
