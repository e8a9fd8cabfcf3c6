/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ORDER_H
#define NP_ORDER_H

#include "npuprof/base.h"

/* For qsort() and bsearch(): arrays of plain numbers and of texts, from small to large. */
int np_by_int32(const void *left, const void *right);
int np_by_uint32(const void *left, const void *right);
int np_by_int64(const void *left, const void *right); /* also np_ns */
int np_by_double(const void *left, const void *right);
int np_by_text(const void *left, const void *right); /* char * */

/*
 * Sort times, from early to late, by their digits where they are many; `scratch` has
 * room for as many and is overwritten.
 */
void np_sort_times(np_ns *times, np_ns *scratch, size_t count);

/* What is sorted by a number made of it, and where it is. */
struct np_keyed {
	uint64_t key;
	uint32_t index;
};

/*
 * Sort by keys, those with the same key as they were, by their digits where they are many;
 * `other` has room for as many and is overwritten. Returns which of the two has the result.
 */
struct np_keyed *np_sort_keyed(struct np_keyed *items, struct np_keyed *other, size_t count);

/*
 * The first number of [begin, end) for which `reached` is true, or `end`: a binary
 * search. `reached` is an expression of the number, which it calls `i` (or what the
 * first argument says), false up to some number and true from there on; it may stand
 * for anything that is in order.
 *
 *	size_t first = np_lower_bound(i, (size_t)0, count, op[i].start >= time);
 *
 * `begin` and `end` are of one type, which is that of `i` and of the result.
 */
#define np_lower_bound(i, begin, end, reached) \
	__extension__({ \
		__typeof__((begin) + 0) low_ = (begin); \
		__typeof__(low_) high_ = (end); \
		while (low_ < high_) { \
			__typeof__(low_) i = low_ + (high_ - low_) / 2; \
			if (reached) \
				high_ = i; \
			else \
				low_ = i + 1; \
		} \
		low_; \
	})

#endif /* NP_ORDER_H */
