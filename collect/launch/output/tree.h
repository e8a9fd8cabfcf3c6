/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TREE_H
#define NP_TREE_H

#include "npuprof/base.h"

/* Directories as a whole. Links are not followed. */

/* Bytes of all files below. */
int64_t np_tree_bytes(const char *path);

/* Is there a name in the directory that begins with this? */
bool np_tree_has(const char *path, const char *prefix);

/* A directory of a collection that was ended as it should: some PROF_* in it has host/end_info. */
bool np_tree_is_complete(const char *path);

#endif /* NP_TREE_H */
