/* SPDX-License-Identifier: Apache-2.0 */
/* Without step marks: iterations are found in the sequence of kernels and operators of a rank. */
#include "capture.h"

#include "npuprof/hash.h"
#include "npuprof/order.h"
#include "npuprof/period.h"
#include "npuprof/steps.h"

#include <stdio.h>

/* A kernel or an operator, and what it is like. */
struct period_op {
	np_ns start;
	np_ns end;
	uint32_t signature;
	uint32_t plain; /* likewise, without shape and size */
};

struct members {
	struct period_op *item;
	size_t count;
	size_t capacity;
};

static int by_start(const void *left, const void *right)
{
	const struct period_op *a = left;
	const struct period_op *b = right;

	if (a->start != b->start)
		return np_order(a->start, b->start);
	if (a->end != b->end)
		return np_order(a->end, b->end);
	return np_order(a->plain, b->plain);
}

static uint32_t fold(const int64_t *facts, size_t count)
{
	uint64_t hash = np_hash(NP_HASH_START, facts, count * sizeof(*facts));

	return (uint32_t)(hash ^ hash >> 32);
}

static int add_member(struct capture *capture, struct members *members, np_ns start, np_ns end,
		      int64_t type, int64_t group, int64_t size)
{
	const int64_t facts[] = { group, type, size };
	struct period_op *member = np_vec_add(members, capture->err);

	if (!member)
		return NP_E_NOMEM;
	*member = (struct period_op){
		.start = start, .end = end, .plain = fold(facts, 2), .signature = fold(facts, 3)
	};
	return NP_OK;
}

int capture_add_shape(struct capture *capture, np_ns start, np_str type, const char *shapes,
		      size_t length)
{
	uint64_t hash = np_hash(NP_HASH_START, shapes, length);

	if (!capture->shapes)
		capture->shapes = np_idmap_new();
	if (!capture->shapes)
		return np_fail_nomem(capture->err, "shapes");
	return np_idmap_set(capture->shapes, capture_shape_key(start, type),
			    (uint32_t)(hash ^ hash >> 32) >> 1, capture->err);
}

static int gather(struct capture *capture, struct members *members)
{
	const struct np_rank *rank = capture->rank;
	int rc = NP_OK;

	for (size_t i = 0; i < capture->tasks.count && rc == NP_OK; i++) {
		const struct capture_task *task = &capture->tasks.item[i];
		uint32_t shape = 0;

		if (!task->computes)
			continue;
		if (capture->shapes)
			shape = np_idmap_get(capture->shapes,
					     capture_shape_key(task->start, task->type));
		rc = add_member(capture, members, task->start, task->end, task->type, -1, shape);
	}
	for (size_t i = 0; i < rank->ops.count && rc == NP_OK; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		rc = add_member(capture, members, op->start, op->end, op->type, op->group,
				op->bytes);
	}
	if (rc == NP_OK && members->count)
		qsort(members->item, members->count, sizeof(*members->item), by_start);
	return rc;
}

static int look(struct capture *capture, const struct members *members, bool plain,
		struct np_period *ret)
{
	uint32_t *signatures = malloc((members->count + 1) * sizeof(*signatures));
	int rc;

	if (!signatures)
		return np_fail_nomem(capture->err, "a sequence");
	for (size_t i = 0; i < members->count; i++)
		signatures[i] = plain ? members->item[i].plain : members->item[i].signature;
	rc = np_period_find(signatures, members->count, ret, capture->err);
	free(signatures);
	return rc;
}

static int add_steps(struct capture *capture, const struct members *members,
		     const struct np_period *period)
{
	struct np_rank *rank = capture->rank;
	int rc = NP_OK;

	capture->pseudo = rank->steps.item[0];
	rank->steps.count = 0;
	for (size_t i = 0; i < period->count && rc == NP_OK; i++) {
		size_t next = period->begin[i + 1];
		struct np_step *step;
		char id[24];
		np_str text;
		int length = snprintf(id, sizeof(id), "%zu", i + 1);

		rc = np_strtab_add(capture->strings, id, (size_t)length, &text, capture->err);
		if (rc == NP_OK)
			rc = capture_add_step(capture, text, NP_UNKNOWN, NP_UNKNOWN);
		if (rc < 0)
			break;
		step = &rank->steps.item[i];
		step->begin = members->item[period->begin[i]].start;
		step->end = next < members->count ? members->item[next].start : NP_NS_MAX;
	}
	for (size_t i = 0; i < rank->ops.count; i++)
		rank->ops.item[i].step =
			np_steps_find(rank->steps.item, rank->steps.count, rank->ops.item[i].start);
	rank->steps_from = NP_STEPS_PERIOD;
	rank->steps_confidence = (uint32_t)(period->confidence * 1000);
	return rc;
}

/* Two repeats that begin at once are none. */
static bool advances(const struct members *members, const struct np_period *period)
{
	for (size_t i = 1; i < period->count; i++) {
		if (members->item[period->begin[i]].start <=
		    members->item[period->begin[i - 1]].start)
			return false;
	}
	return true;
}

/* The one step that holds everything from the first task on that something launched. */
static struct np_step pseudo_step(struct capture *capture)
{
	struct np_step step = { .id = NP_STR_NONE,
				.host_begin = NP_UNKNOWN,
				.host_end = NP_UNKNOWN,
				.begin = NP_UNKNOWN,
				.end = NP_UNKNOWN };

	for (size_t i = 0; i < capture->tasks.count; i++) {
		const struct capture_task *task = &capture->tasks.item[i];

		if ((step.begin == NP_UNKNOWN || task->start < step.begin) &&
		    capture_launch_of(capture, task->connection))
			step.begin = task->start;
	}
	np_steps_finish(&step, 1);
	return step;
}

int capture_find_steps(struct capture *capture)
{
	struct np_rank *rank = capture->rank;
	struct np_period period = { 0 };
	struct members members = { 0 };
	int rc;

	if (rank->steps.count != 1 || rank->steps.item[0].id != NP_STR_NONE) {
		rank->steps_from = capture->ranges.count > 0 ? NP_STEPS_RANGE : NP_STEPS_MARKS;
		if (rank->steps_from == NP_STEPS_RANGE)
			capture->pseudo = pseudo_step(capture);
		return NP_OK;
	}
	rank->steps_from = NP_STEPS_NONE;
	/* Devices of one process have a rhythm each, and a rank has the steps of all. */
	if (!np_steps_may_find(&capture->choice) || capture->devices.count > 1)
		return NP_OK;
	rc = gather(capture, &members);
	if (rc == NP_OK)
		rc = look(capture, &members, false, &period);
	/* Shapes may grow from one iteration to the next. */
	if (rc == NP_OK && period.count == 0)
		rc = look(capture, &members, true, &period);
	if (rc == NP_OK && period.count > 0 && advances(&members, &period))
		rc = add_steps(capture, &members, &period);
	else
		rank->steps_confidence = (uint32_t)(period.confidence * 1000);
	np_period_release(&period);
	np_vec_release(&members);
	return rc;
}
