/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/charge.h"

/* Runs up to this length are sorted by insertion. */
#define SHORT_RUN 16

void np_charging_release(struct np_charging *charging)
{
	free(charging->arrivals);
	free(charging->other);
	*charging = (struct np_charging){ 0 };
}

static int make_room(struct np_charging *charging, size_t count, struct np_err *err)
{
	size_t room = count < 64 ? 64 : count;

	if (count <= charging->room)
		return NP_OK;
	np_charging_release(charging);
	charging->arrivals = malloc(room * sizeof(*charging->arrivals));
	charging->other = malloc(room * sizeof(*charging->other));
	if (!charging->arrivals || !charging->other)
		return np_fail_nomem(err, "charges");
	charging->room = room;
	return NP_OK;
}

/* --- order ------------------------------------------------------------------------------------ */

static void sort_run(struct np_arrival *arrivals, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct np_arrival each = arrivals[i];
		size_t to = i;

		for (; to > 0 && arrivals[to - 1].wait < each.wait; to--)
			arrivals[to] = arrivals[to - 1];
		arrivals[to] = each;
	}
}

/* Of equals the left one comes first. */
static void merge(const struct np_arrival *left, size_t left_count, const struct np_arrival *right,
		  size_t right_count, struct np_arrival *ret)
{
	size_t i = 0;
	size_t j = 0;

	while (i < left_count && j < right_count)
		*ret++ = left[i].wait >= right[j].wait ? left[i++] : right[j++];
	while (i < left_count)
		*ret++ = left[i++];
	while (j < right_count)
		*ret++ = right[j++];
}

/* Who waited longest came first; of those who came together the first member stands first. */
static void sort_arrivals(struct np_charging *charging, size_t count)
{
	for (size_t i = 0; i < count; i += SHORT_RUN)
		sort_run(&charging->arrivals[i], count - i < SHORT_RUN ? count - i : SHORT_RUN);
	for (size_t run = SHORT_RUN; run < count; run *= 2) {
		struct np_arrival *from = charging->arrivals;

		for (size_t i = 0; i < count; i += 2 * run) {
			size_t left = count - i < run ? count - i : run;
			size_t right = count - i - left < run ? count - i - left : run;

			merge(&from[i], left, &from[i + left], right, &charging->other[i]);
		}
		charging->arrivals = charging->other;
		charging->other = from;
	}
}

int np_charging_see(struct np_charging *charging, const np_ns *wait, size_t count, np_ns floor,
		    struct np_err *err)
{
	int rc = make_room(charging, count, err);

	if (rc < 0)
		return rc;
	/* What is unknown is below every floor. */
	for (size_t i = 0; i < count; i++)
		charging->arrivals[i] =
			(struct np_arrival){ wait[i] < floor ? 0 : wait[i], (uint32_t)i };
	sort_arrivals(charging, count);
	return NP_OK;
}

/* --- charges ---------------------------------------------------------------------------------- */

/*
 * While the first m are there and the next is not, m of them wait, and all the
 * others owe that in equal parts; what does not divide goes to the first of
 * these, a nanosecond each. So everybody owes the parts of all gaps before it,
 * and the odd nanoseconds of those gaps whose rest reaches as far as to it.
 */
np_ns np_charging_charge(struct np_charging *charging, size_t count, np_ns *charge)
{
	const struct np_arrival *arrivals = charging->arrivals;
	struct np_arrival *ends = charging->other; /* how many rests end before this place */
	np_ns parts = 0;
	np_ns odd = 0;

	if (count == 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		ends[i].member = 0;
	charge[arrivals[0].member] = 0;
	for (size_t m = 1; m < count; m++) {
		np_ns late = (np_ns)(count - m);
		np_ns waited = (np_ns)m * (arrivals[m - 1].wait - arrivals[m].wait);

		odd -= ends[m].member;
		parts += waited / late;
		if (waited % late > 0) {
			odd++;
			ends[m + (size_t)(waited % late)].member++;
		}
		charge[arrivals[m].member] = parts + odd;
	}
	return arrivals[count - 1].wait * (np_ns)count;
}
