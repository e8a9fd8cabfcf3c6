/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LOAD_H
#define NP_LOAD_H

#include "npuprof/err.h"

/*
 * Loading one rank
 * ================
 *
 * The only reader of profiles: a rank is streamed table by table, reduced to a
 * struct np_rank and let go. Fills `ret` or fails with what makes it unusable.
 */

struct np_rank;
struct np_source_files;
struct np_strtab;

int np_load_rank(const struct np_source_files *source, struct np_strtab *strings,
		 struct np_rank **ret, struct np_err *err) NP_MUST_USE;

#endif /* NP_LOAD_H */
