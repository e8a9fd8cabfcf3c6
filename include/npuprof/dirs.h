/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DIRS_H
#define NP_DIRS_H

#include "npuprof/vec.h"

/*
 * Make a directory and those above it, as far as they do not exist. NP_E_IO also for one of another
 * user, or a link of his, in a directory that everybody may write.
 */
int np_make_dirs(const char *path, struct np_err *err) NP_MUST_USE;
/* Likewise, with these permissions. */
int np_make_dirs_as(const char *path, unsigned mode, struct np_err *err) NP_MUST_USE;

/* Remove a file or a directory with all that is in it, as far as that is possible. */
void np_remove_tree(const char *path);

/* "dir/name", or NULL when out of memory. */
char *np_join_path(const char *dir, const char *name) NP_MUST_USE;

/* Links are followed. */
bool np_is_directory(const char *path);

/*
 * Is this a link that leads to a directory above `root`? All of a file system may be below that,
 * and nobody who named `root` asked for it.
 */
bool np_leads_above(const char *root, const char *path);

/* The names in a directory, sorted: what is found must not depend on the file system's order. */
struct np_names {
	NP_VEC(char *) list;
};

/* NP_E_IO, with errno, if the directory cannot be read. */
int np_names_read(const char *dir, struct np_names *ret, struct np_err *err) NP_MUST_USE;
void np_names_release(struct np_names *names);

#endif /* NP_DIRS_H */
