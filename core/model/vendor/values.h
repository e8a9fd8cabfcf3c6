/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VENDOR_VALUES_H
#define NP_VENDOR_VALUES_H

/*
 * Which values of the vendor's files mean something? Numbers and texts that stand for
 * "no value", times and sizes that cannot be true, and the units that sizes come in.
 * Both readers, load/ and detail/, ask here.
 */

#include "npuprof/spans.h"
#include "npuprof/strtab.h"

/*
 * Nothing that is measured lasts 30 days or moves a petabyte at once. What
 * claims to is damage, and is kept out so that sums of many cannot overflow.
 */
#define NP_LONGEST_NS ((np_ns)30 * 24 * 3600 * 1000000000)
#define NP_MOST_BYTES INT64_C(1000000000000000)

/*
 * What rounding explains: text files derive Stage and Preparing from doubles of
 * absolute µs, whose last place is 0.25 µs; a start, a duration added to it and
 * a difference are off by half of that each.
 */
#define NP_ROUNDING_NS 375

/* 0xFFFFFFFF, which files write for "no value" in unsigned columns. */
#define VENDOR_NO_NUMBER INT64_C(4294967295)

/* From here on numbers of types and small flags say that there is none. */
#define VENDOR_NO_ENUM INT64_C(65534)

/* KB and MB of the memory tables are powers of two; times of text files are in µs. */
#define VENDOR_KB          1024
#define VENDOR_MB          1048576
#define VENDOR_US_DECIMALS 3

/* Is it a time that can be computed with, and does it not run backwards? */
static inline bool vendor_time_ok(np_ns start, np_ns end)
{
	return start >= -NP_NS_MAX && end <= NP_NS_MAX && start <= end &&
	       end - start <= NP_LONGEST_NS;
}

/* Clocks are set while one collects, but not by so much. */
#define VENDOR_SESSION_MARGIN ((np_ns)12 * 3600 * 1000000000)
#define VENDOR_ANY_TIME       ((struct np_span){ -NP_NS_MAX, NP_NS_MAX })

/* Times that a session which was recorded from `start` to `end` can have; as it was if that says
 * nothing. Some versions write when it ended as 0. */
static inline void vendor_session_times(np_ns start, np_ns end, struct np_span *ret)
{
	if (start <= VENDOR_SESSION_MARGIN || start > NP_NS_MAX - NP_LONGEST_NS)
		return;
	ret->begin = start - VENDOR_SESSION_MARGIN;
	ret->end =
		(vendor_time_ok(start, end) ? end : start + NP_LONGEST_NS) + VENDOR_SESSION_MARGIN;
}

/* Nothing moves 100 TB in a second: a size of which its task would have is damage. */
#define NP_MOST_SPEED 100000

/* Is a transfer of so many bytes between these times possible? */
static inline bool vendor_speed_ok(int64_t bytes, np_ns start, np_ns end)
{
	return bytes <= 0 || end <= start || bytes / (end - start) <= NP_MOST_SPEED;
}

/* A number of bytes; NP_UNKNOWN if it is negative or absurd. */
static inline int64_t vendor_bytes(int64_t value)
{
	return value < 0 || value > NP_MOST_BYTES ? NP_UNKNOWN : value;
}

/* NP_UNKNOWN for negative values and the marks of "no value". */
static inline int64_t vendor_known(int64_t value)
{
	return value < 0 || value == VENDOR_NO_NUMBER || value == INT64_MAX ? NP_UNKNOWN : value;
}

/* A device number, -1 for none. */
static inline int32_t vendor_device(int64_t value)
{
	return value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

/* Global thread ids have the process in their upper half; traces have the thread alone. */
static inline int64_t vendor_thread(int64_t global)
{
	return global < 0 ? NP_UNKNOWN : global & UINT32_MAX;
}

/* Words for "no value". Readers have come to know more or fewer of them. */
enum vendor_no_value {
	VENDOR_NO_TYPE, /* of the type of a kernel or operator that is loaded: "", N/A */
	VENDOR_NO_TEXT, /* of any text of a detail: NA and INVALID_TYPE too */
};

bool vendor_is_no_value(const char *text, size_t length, enum vendor_no_value words);

/* Is it the name of a type, or does it say that none was recorded? */
static inline bool vendor_is_type(const char *type, size_t length)
{
	return !vendor_is_no_value(type, length, VENDOR_NO_TYPE);
}

/* Intern a text; NULL and what stands for "no value" (VENDOR_NO_TEXT) become NP_STR_NONE. */
int vendor_intern(struct np_strtab *strings, const char *text, size_t length, np_str *ret,
		  struct np_err *err) NP_MUST_USE;

/* Likewise lists: ";\r\n" becomes `separator`, line ends and quotes vanish. */
int vendor_intern_list(struct np_strtab *strings, const char *text, size_t length, char separator,
		       np_str *ret, struct np_err *err) NP_MUST_USE;

/* Likewise shapes: the quotes that files put around them vanish. */
int vendor_intern_shapes(struct np_strtab *strings, const char *text, size_t length, np_str *ret,
			 struct np_err *err) NP_MUST_USE;

#endif /* NP_VENDOR_VALUES_H */
