/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_IDMAP_H
#define NP_IDMAP_H

#include "npuprof/err.h"

/*
 * Maps from ids to small numbers
 * ==============================
 *
 * The joins of this project: ids of tasks, connections and strings to array
 * indexes. Ids of real files are mostly dense, but some are large and sparse
 * (string ids of three kinds start 2^28 apart), so the map keeps pages of 64
 * neighbours behind a hash of the page number and remembers the last page:
 * dense ids cost an array access, sparse ones a hash probe.
 *
 * A map is not locked, and reading it moves the remembered page: one thread only.
 */
struct np_idmap;

/* What np_idmap_get() gives for an id that was never set. */
#define NP_IDMAP_NONE UINT32_MAX

struct np_idmap *np_idmap_new(void) NP_MUST_USE;
void np_idmap_free(struct np_idmap *map);
void np_idmap_freep(struct np_idmap **map);

/* Set the value of an id, replacing an earlier one. `value` must not be NP_IDMAP_NONE. */
int np_idmap_set(struct np_idmap *map, int64_t id, uint32_t value, struct np_err *err) NP_MUST_USE;

uint32_t np_idmap_get(struct np_idmap *map, int64_t id);

/* Forget all ids but keep the memory. */
void np_idmap_clear(struct np_idmap *map);

#endif /* NP_IDMAP_H */
