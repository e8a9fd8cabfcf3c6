/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps sets of intervals and measures their unions (intervals.h). */
#include "intervals.h"

int syn_intervals_add(struct syn_intervals *set, np_ns start, np_ns end, struct np_err *err)
{
	struct syn_interval *slot = np_vec_add(&set->all, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = (struct syn_interval){ start, end };
	return NP_OK;
}

static int by_start(const void *a, const void *b)
{
	const struct syn_interval *x = a;
	const struct syn_interval *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

void syn_intervals_join(struct syn_intervals *set)
{
	size_t kept = 0;

	if (set->all.count == 0)
		return;
	qsort(set->all.item, set->all.count, sizeof(*set->all.item), by_start);
	for (size_t i = 1; i < set->all.count; i++) {
		const struct syn_interval *next = &set->all.item[i];
		struct syn_interval *last = &set->all.item[kept];

		if (next->start_ns > last->end_ns)
			set->all.item[++kept] = *next;
		else if (next->end_ns > last->end_ns)
			last->end_ns = next->end_ns;
	}
	set->all.count = kept + 1;
}

np_ns syn_intervals_length(const struct syn_intervals *set)
{
	np_ns length = 0;

	for (size_t i = 0; i < set->all.count; i++)
		length += set->all.item[i].end_ns - set->all.item[i].start_ns;
	return length;
}

int syn_intervals_subtract(const struct syn_intervals *a, const struct syn_intervals *b,
			   struct syn_intervals *ret, struct np_err *err)
{
	size_t j = 0;

	ret->all.count = 0;
	for (size_t i = 0; i < a->all.count; i++) {
		np_ns at = a->all.item[i].start_ns;
		np_ns end = a->all.item[i].end_ns;

		while (j < b->all.count && b->all.item[j].end_ns <= at)
			j++;
		for (size_t k = j; k < b->all.count && b->all.item[k].start_ns < end; k++) {
			int rc = NP_OK;

			if (b->all.item[k].start_ns > at)
				rc = syn_intervals_add(ret, at, b->all.item[k].start_ns, err);
			if (rc < 0)
				return rc;
			at = b->all.item[k].end_ns;
		}
		if (at < end && syn_intervals_add(ret, at, end, err) < 0)
			return NP_E_NOMEM;
	}
	return NP_OK;
}

void syn_intervals_release(struct syn_intervals *set)
{
	np_vec_release(&set->all);
}
