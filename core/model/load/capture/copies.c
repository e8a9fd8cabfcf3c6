/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of memory by step, and what of them neither kernels nor operators hide. */
#include "copies.h"

#include "npuprof/order.h"

#define WHAT "copies of memory"

struct memory_copy {
	struct np_span span;
	uint32_t step;
};

/* When the device was busy in a step. */
struct copies_step {
	struct np_spans *computing;
	struct np_spans *communication;
};

struct capture_copies {
	NP_VEC(struct memory_copy) list;
	NP_VEC(struct copies_step) steps; /* by index, up to the last that was begun */
};

struct capture_copies *capture_copies_new(void)
{
	return calloc(1, sizeof(struct capture_copies));
}

void capture_copies_free(struct capture_copies *copies)
{
	if (!copies)
		return;
	for (size_t i = 0; i < copies->steps.count; i++) {
		np_spans_free(copies->steps.item[i].computing);
		np_spans_free(copies->steps.item[i].communication);
	}
	np_vec_release(&copies->steps);
	np_vec_release(&copies->list);
	free(copies);
}

int capture_copies_add(struct capture_copies *copies, uint32_t step, np_ns start, np_ns end,
		       struct np_err *err)
{
	struct memory_copy *copy = np_vec_add(&copies->list, err);

	if (!copy)
		return NP_E_NOMEM;
	*copy = (struct memory_copy){ { start, end }, step };
	return NP_OK;
}

int capture_copies_busy(struct capture_copies *copies, uint32_t step,
			const struct np_spans *computing, const struct np_spans *communication,
			struct np_err *err)
{
	struct copies_step *slot;
	int rc;

	while (copies->steps.count <= step) {
		slot = np_vec_add(&copies->steps, err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = (struct copies_step){ np_spans_new(), np_spans_new() };
		if (!slot->computing || !slot->communication)
			return np_fail_nomem(err, WHAT);
	}
	slot = &copies->steps.item[step];
	rc = np_spans_join(slot->computing, computing, err);
	return rc < 0 ? rc : np_spans_join(slot->communication, communication, err);
}

/* Before the first kernel of a step, copies are in no window: they are the host's step's. */
static uint32_t step_of(const struct np_rank *rank, const struct memory_copy *copy)
{
	for (uint32_t i = 0; copy->step == NP_NO_STEP && i < rank->steps.count; i++) {
		const struct np_step *step = &rank->steps.item[i];

		if (step->id == NP_STR_NONE ||
		    (step->host_begin != NP_UNKNOWN && copy->span.begin >= step->host_begin &&
		     copy->span.begin < step->host_end))
			return i;
	}
	return copy->step;
}

static int by_step(const void *left, const void *right)
{
	const struct memory_copy *a = left;
	const struct memory_copy *b = right;

	return a->step != b->step ? np_order(a->step, b->step)
				  : np_order(a->span.begin, b->span.begin);
}

/* How much of the copies, within a span, is not in the set. */
static int expose(const struct memory_copy *list, size_t count, struct np_span within,
		  const struct np_spans *busy, np_ns *ret, struct np_err *err)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = np_spans_new();
	int rc = set ? NP_OK : np_fail_nomem(err, WHAT);

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		np_ns begin = list[i].span.begin > within.begin ? list[i].span.begin : within.begin;
		np_ns end = list[i].span.end < within.end ? list[i].span.end : within.end;

		if (begin < end)
			rc = np_spans_add(set, begin, end, err);
	}
	if (rc == NP_OK)
		*ret = np_spans_total(set) - np_spans_overlap(set, busy);
	return rc;
}

static int measure_step(const struct copies_step *step, const struct memory_copy *list,
			size_t count, struct np_step_copies *ret, struct np_err *err)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *busy = np_spans_new();
	struct np_span extent = { 0, 0 };
	int rc = busy ? NP_OK : np_fail_nomem(err, WHAT);

	for (size_t i = 0; i < count; i++)
		ret->time += list[i].span.end - list[i].span.begin;
	if (rc == NP_OK && step)
		rc = np_spans_join(busy, step->computing, err);
	if (rc == NP_OK && step)
		rc = np_spans_join(busy, step->communication, err);
	if (rc == NP_OK)
		rc = expose(list, count, (struct np_span){ -NP_NS_MAX, NP_NS_MAX }, busy,
			    &ret->exposed, err);
	(void)np_spans_extent(busy, NULL, &extent);
	return rc < 0 ? rc : expose(list, count, extent, busy, &ret->inside, err);
}

int capture_copies_measure(struct capture_copies *copies, struct np_rank *rank, struct np_err *err)
{
	struct memory_copy *list = copies->list.item;
	size_t count = copies->list.count;
	size_t from = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < count; i++)
		list[i].step = step_of(rank, &list[i]);
	if (count)
		qsort(list, count, sizeof(*list), by_step);
	for (uint32_t i = 0; i < rank->steps.count && rc == NP_OK; i++) {
		const struct copies_step *step =
			i < copies->steps.count ? &copies->steps.item[i] : NULL;
		struct np_step_copies *ret = np_vec_add(&rank->copies, err);
		size_t to = from;

		if (!ret)
			return NP_E_NOMEM;
		while (to < count && list[to].step == i)
			to++;
		if (to > from)
			rc = measure_step(step, &list[from], to - from, ret, err);
		if (i > 0 && step && rank->steps.item[i - 1].past > 0)
			ret->again = np_spans_within(step->computing, rank->steps.item[i].begin,
						     rank->steps.item[i].begin +
							     rank->steps.item[i - 1].past);
		from = to;
	}
	return rc;
}
