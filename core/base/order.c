/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for qsort() and bsearch(), and sorting by digits. */
#include "npuprof/order.h"

int np_by_int32(const void *left, const void *right)
{
	return np_order(*(const int32_t *)left, *(const int32_t *)right);
}

int np_by_uint32(const void *left, const void *right)
{
	return np_order(*(const uint32_t *)left, *(const uint32_t *)right);
}

int np_by_int64(const void *left, const void *right)
{
	return np_order(*(const int64_t *)left, *(const int64_t *)right);
}

int np_by_double(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

int np_by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* --- times ----------------------------------------------------------------------------------- */

/* Up to here it is cheaper to move each to its place. */
#define FEW 48

static void insert_each(np_ns *times, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		np_ns time = times[i];
		size_t at = i;

		for (; at > 0 && times[at - 1] > time; at--)
			times[at] = times[at - 1];
		times[at] = time;
	}
}

#define DIGIT_BITS 8
#define DIGITS     (1U << DIGIT_BITS)

/* By one digit, those with the same one as they were. Times count from `least`: none is negative.
 */
static void sort_by_digit(const np_ns *from, np_ns *to, size_t count, np_ns least, unsigned shift)
{
	size_t place[DIGITS] = { 0 };
	size_t next = 0;

	for (size_t i = 0; i < count; i++)
		place[((uint64_t)from[i] - (uint64_t)least) >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t here = place[i];

		place[i] = next;
		next += here;
	}
	for (size_t i = 0; i < count; i++)
		to[place[((uint64_t)from[i] - (uint64_t)least) >> shift & (DIGITS - 1)]++] =
			from[i];
}

void np_sort_times(np_ns *times, np_ns *scratch, size_t count)
{
	np_ns *from = times;
	np_ns *to = scratch;
	np_ns least = INT64_MAX;
	np_ns most = INT64_MIN;
	bool sorted = true;

	for (size_t i = 0; i < count; i++) {
		sorted &= i == 0 || times[i - 1] <= times[i];
		least = times[i] < least ? times[i] : least;
		most = times[i] > most ? times[i] : most;
	}
	if (sorted)
		return;
	if (count <= FEW) {
		insert_each(times, count);
		return;
	}
	for (unsigned shift = 0; shift < 64 && ((uint64_t)most - (uint64_t)least) >> shift;
	     shift += DIGIT_BITS) {
		np_ns *other = from;

		sort_by_digit(from, to, count, least, shift);
		from = to;
		to = other;
	}
	if (from != times)
		memcpy(times, from, count * sizeof(*times));
}

/* --- keys ------------------------------------------------------------------------------------ */

static void insert_keyed(struct np_keyed *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct np_keyed item = items[i];
		size_t at = i;

		for (; at > 0 && items[at - 1].key > item.key; at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

/* More at a time than of times: keys are of many bits, and there are millions of them. */
#define KEY_BITS   11
#define KEY_DIGITS ((size_t)1 << KEY_BITS)

struct np_keyed *np_sort_keyed(struct np_keyed *items, struct np_keyed *other, size_t count)
{
	uint64_t differ = 0;

	if (count <= FEW) {
		insert_keyed(items, count);
		return items;
	}
	for (size_t i = 1; i < count; i++)
		differ |= items[i].key ^ items[0].key;
	for (unsigned shift = 0; shift < 64 && differ >> shift; shift += KEY_BITS) {
		size_t place[KEY_DIGITS] = { 0 };
		struct np_keyed *sorted = other;
		size_t next = 0;

		if (!(differ >> shift & (KEY_DIGITS - 1)))
			continue;
		for (size_t i = 0; i < count; i++)
			place[items[i].key >> shift & (KEY_DIGITS - 1)]++;
		for (size_t i = 0; i < KEY_DIGITS; i++) {
			size_t here = place[i];

			place[i] = next;
			next += here;
		}
		for (size_t i = 0; i < count; i++)
			sorted[place[items[i].key >> shift & (KEY_DIGITS - 1)]++] = items[i];
		other = items;
		items = sorted;
	}
	return items;
}
