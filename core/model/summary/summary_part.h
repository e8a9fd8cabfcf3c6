/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SUMMARY_PART_H
#define NP_SUMMARY_PART_H

/* What finding summaries needs of parts and of what belongs to no rank. */

#include "summary_bytes.h"

/*
 * What belongs to no rank: roots, notes, manifest. Without a name that was given the roots are
 * where summaries of ranks alone were found: they are not kept.
 */
void summary_put_run(struct np_bytes_writer *writer, const struct np_run *run, const char *given,
		     const char *manifest);

/* Several runs may be merged, of a node each: the first names the input. */
void summary_get_run(struct np_bytes_reader *reader, struct np_run *run);

/* Take the ranks of a part, and what else it says. Nothing is taken of a damaged one. */
int part_discover(struct np_run *run, const char *path, struct np_err *err) NP_MUST_USE;

/* Does a file begin as a part does? */
bool part_is_one(const char *path);

/* Read `size` bytes at an offset of a file, appended; all of it where `size` is 0. */
int summary_slurp(const char *path, int64_t at, int64_t size, struct np_bytes *ret,
		  struct np_err *err) NP_MUST_USE;

#endif /* NP_SUMMARY_PART_H */
