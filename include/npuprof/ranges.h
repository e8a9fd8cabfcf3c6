/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RANGES_H
#define NP_RANGES_H

#include "npuprof/buf.h"
#include "npuprof/err.h"

/*
 * Sets of whole numbers as people write them: "0-7,64,70-71"
 */
struct np_ranges;

void np_ranges_free(struct np_ranges *ranges);
void np_ranges_freep(struct np_ranges **ranges);

/*
 * Read a list of numbers and inclusive ranges separated by commas. Fails with
 * NP_E_USAGE, quoting the part that is wrong, on anything else, on an empty
 * list and on a range that runs backwards.
 */
int np_ranges_parse(const char *text, struct np_ranges **ret, struct np_err *err) NP_MUST_USE;

bool np_ranges_has(const struct np_ranges *ranges, int64_t number);

/*
 * The first number of the set that is not among the sorted `known` numbers;
 * false when all are known. For "no rank 9; there are 0-7".
 */
bool np_ranges_first_unknown(const struct np_ranges *ranges, const int64_t *known, size_t count,
			     int64_t *ret);

/* Append sorted numbers in the folded form: 0,1,2,3,8 becomes "0-3,8". */
void np_ranges_format(struct np_buf *buf, const int64_t *sorted, size_t count);

#endif /* NP_RANGES_H */
