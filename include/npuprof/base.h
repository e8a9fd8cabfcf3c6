/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BASE_H
#define NP_BASE_H

/*
 * Words every other header may use. Keep this file free of other project
 * headers: it is the bottom of the include order.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npuprof/banned.h"
#include "npuprof/older.h"

/*
 * A point in time, or a length of time, in nanoseconds. It is signed because
 * clock alignment moves events before the origin.
 */
typedef int64_t np_ns;

/*
 * Times are kept within ±NP_NS_MAX (about 146 years) so that the difference of
 * any two of them cannot overflow. Whoever admits a time checks it; whoever
 * computes with it need not.
 */
#define NP_NS_MAX (INT64_MAX / 2)

/*
 * "Not known", for times, byte counts and ids alike. It is never a zero: a
 * table shows it as empty, JSON as null, a database as NULL.
 */
#define NP_UNKNOWN INT64_MIN

/* A sum is unknown if one of its parts is. */
static inline int64_t np_plus(int64_t sum, int64_t value)
{
	return sum == NP_UNKNOWN || value == NP_UNKNOWN ? NP_UNKNOWN : sum + value;
}

/* A sum of what is known, itself unknown as long as nothing is. */
static inline void np_add_known(int64_t *sum, int64_t value)
{
	if (value != NP_UNKNOWN)
		*sum = *sum == NP_UNKNOWN ? value : *sum + value;
}

/* The order of two numbers, for functions that qsort() calls. */
static inline int np_order(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Must what is asked for be there, such as a column of a file? */
enum np_need {
	NP_REQUIRED,
	NP_OPTIONAL,
};

#define NP_COUNT(array)       (sizeof(array) / sizeof((array)[0]))
#define NP_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define NP_MUST_USE           __attribute__((warn_unused_result))
#define NP_CLEANUP(fn)        __attribute__((cleanup(fn)))

/* Move a pointer out of a variable that NP_CLEANUP would otherwise free. */
#define NP_STEAL(variable) \
	__extension__({ \
		__typeof__(variable) stolen_ = (variable); \
		(variable) = NULL; \
		stolen_; \
	})

#endif /* NP_BASE_H */
