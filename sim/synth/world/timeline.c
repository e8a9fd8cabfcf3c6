/* SPDX-License-Identifier: Apache-2.0 */
/* Runs all ranks together: who waits for whom, and when each item starts and ends (timeline.h). */
#include "timeline.h"

#include <assert.h>
#include <inttypes.h>

#include "npuprof/workers.h"

/* What is needed while the ranks run together. */
struct timeline_pool {
	struct syn_timeline *timeline;
	struct syn_rank *ranks;
	struct np_err *errs; /* per rank, of building */
	struct syn_comm comm;
	uint32_t *queue; /* ranks that may be able to go on: a ring of `count` */
	bool *queued;
	size_t head;
	size_t waiting;
	size_t complete;
	int64_t step;
	int rc;
	struct np_err *err;
};

static size_t rank_count(const struct syn_timeline *timeline)
{
	return (size_t)timeline->config->ranks;
}

void syn_timeline_release(struct syn_timeline *timeline)
{
	syn_groups_release(&timeline->groups);
	free(timeline->group_first);
	free(timeline->instances);
	free(timeline->slots);
	timeline->group_first = NULL;
	timeline->instances = NULL;
	timeline->slots = NULL;
}

struct syn_instance *syn_timeline_instance(const struct syn_timeline *timeline, int64_t step,
					   const struct syn_item *item)
{
	size_t index = (size_t)step * timeline->per_step + timeline->group_first[item->group] +
		       item->instance;

	return &timeline->instances[index];
}

static int32_t member_of(const struct syn_timeline *timeline, const struct syn_instance *instance,
			 int32_t rank)
{
	const struct syn_group *group = &timeline->groups.all.item[instance->group];
	int32_t local = syn_local_rank(group, rank);

	return syn_op_is_p2p((enum syn_op)instance->op) ? local - instance->low : local;
}

static struct syn_slot *syn_timeline_slot(const struct syn_timeline *timeline,
					  const struct syn_instance *instance, int32_t rank)
{
	return &timeline->slots[instance->first_slot + (size_t)member_of(timeline, instance, rank)];
}

int32_t syn_member_rank(const struct syn_timeline *timeline, const struct syn_instance *instance,
			int32_t index)
{
	const struct syn_group *group = &timeline->groups.all.item[instance->group];

	return group
		->ranks[syn_op_is_p2p((enum syn_op)instance->op) ? index + instance->low : index];
}

bool syn_timeline_end_of(void *context, struct syn_rank *rank, struct syn_item *item)
{
	const struct syn_timeline *timeline = ((const struct syn_timeline_view *)context)->timeline;
	const struct syn_instance *instance =
		syn_timeline_instance(timeline, rank->program.step, item);

	item->end_ns = syn_timeline_slot(timeline, instance, rank->rank)->end_ns;
	return true;
}

static void enqueue(struct timeline_pool *pool, int32_t rank)
{
	size_t count = rank_count(pool->timeline);

	if (pool->queued[rank])
		return;
	pool->queued[rank] = true;
	pool->queue[(pool->head + pool->waiting) % count] = (uint32_t)rank;
	pool->waiting++;
}

/* What an instance is becomes known when its first member arrives. */
static void describe(struct syn_instance *instance, const struct syn_item *item, int64_t step,
		     const struct syn_group *group, int32_t local)
{
	bool message = syn_op_is_p2p((enum syn_op)item->op);

	instance->step = step;
	instance->group = item->group;
	instance->index = item->instance;
	instance->op = item->op;
	instance->combine = item->combine;
	instance->fp32 = item->fp32;
	instance->layer = item->layer;
	instance->micro = item->micro;
	instance->bytes = item->bytes;
	instance->members = message ? 2 : group->size;
	if (!message)
		return;
	instance->low = local < item->peer ? local : item->peer;
	instance->up_bytes = local < item->peer ? item->bytes : item->receive_bytes;
	instance->down_bytes = local < item->peer ? item->receive_bytes : item->bytes;
	instance->bytes = instance->up_bytes + instance->down_bytes;
}

/* The last member has arrived: all of them now know when the operator ends. */
static void finish_instance(struct timeline_pool *pool, struct syn_instance *instance)
{
	struct syn_timeline *timeline = pool->timeline;
	struct syn_slot *slots = &timeline->slots[instance->first_slot];

	instance->arrival_ns = slots[0].start_ns;
	for (int32_t i = 1; i < instance->members; i++) {
		if (slots[i].start_ns > instance->arrival_ns)
			instance->arrival_ns = slots[i].start_ns;
	}
	if (pool->rc == NP_OK)
		pool->rc = syn_comm_transfer(&pool->comm, instance, pool->err);
	for (int32_t i = 0; i < instance->members; i++) {
		int32_t rank = syn_member_rank(timeline, instance, i);

		slots[i].end_ns = instance->arrival_ns + instance->transfer_ns +
				  syn_comm_end_noise(timeline->config, instance, rank);
		enqueue(pool, rank);
	}
}

/* end_of() while the ranks run together: note the arrival, answer when all are there. */
static bool arrive(void *context, struct syn_rank *rank, struct syn_item *item)
{
	struct timeline_pool *pool = context;
	struct syn_timeline *timeline = pool->timeline;
	const struct syn_group *group = &timeline->groups.all.item[item->group];
	struct syn_instance *instance = syn_timeline_instance(timeline, pool->step, item);
	struct syn_slot *slot;

	if (instance->members == 0)
		describe(instance, item, pool->step, group, syn_local_rank(group, rank->rank));
	slot = syn_timeline_slot(timeline, instance, rank->rank);
	if (slot->start_ns == NP_UNKNOWN) {
		slot->start_ns = item->start_ns;
		instance->arrived++;
		if (instance->arrived == instance->members)
			finish_instance(pool, instance);
	}
	if (slot->end_ns == NP_UNKNOWN)
		return false;
	item->end_ns = slot->end_ns;
	return true;
}

static void begin_rank(void *context, size_t index)
{
	struct timeline_pool *pool = context;
	struct np_err *err = &pool->errs[index];

	*err = NP_ERR_INIT;
	/* The code stays in the description; whoever started the jobs looks there. */
	(void)!syn_rank_begin_step(&pool->ranks[index], &pool->timeline->groups, pool->step, err);
}

static int begin_step(struct timeline_pool *pool)
{
	size_t count = rank_count(pool->timeline);
	struct np_workers workers = { .threads = (size_t)pool->timeline->config->threads };

	np_workers_run(&workers, count, begin_rank, pool);
	for (size_t i = 0; i < count; i++) {
		if (pool->errs[i].code != NP_OK)
			return np_fail(pool->err, pool->errs[i].code, "%s", pool->errs[i].text);
	}
	return NP_OK;
}

/* Instances of a group in one step. */
static size_t group_ops(const struct timeline_pool *pool, const struct syn_group *group)
{
	const struct syn_config *config = pool->timeline->config;

	if (group->role == SYN_ROLE_PP)
		return (size_t)((config->pp - 1) * config->micro_batches * 2);
	return pool->ranks[group->ranks[0]].program.ops[group->role];
}

/* Every step has the same operators: the first tells how many there are. */
static int make_room(struct timeline_pool *pool)
{
	struct syn_timeline *timeline = pool->timeline;
	size_t groups = timeline->groups.all.count;
	size_t steps = (size_t)timeline->config->steps;
	size_t slot = 0;

	timeline->group_first = calloc(groups + 1, sizeof(*timeline->group_first));
	if (!timeline->group_first)
		return np_fail_nomem(pool->err, "the timeline");
	for (size_t i = 0; i < groups; i++) {
		size_t ops = group_ops(pool, &timeline->groups.all.item[i]);

		timeline->group_first[i] = timeline->per_step;
		timeline->per_step += ops;
		timeline->slots_per_step += ops * (size_t)timeline->groups.all.item[i].size;
	}
	timeline->group_first[groups] = timeline->per_step;
	timeline->instances = calloc(steps * timeline->per_step + 1, sizeof(struct syn_instance));
	timeline->slots = calloc(steps * timeline->slots_per_step + 1, sizeof(struct syn_slot));
	if (!timeline->instances || !timeline->slots)
		return np_fail_nomem(pool->err, "the timeline");
	for (size_t i = 0; i < steps * timeline->slots_per_step; i++)
		timeline->slots[i] = (struct syn_slot){ NP_UNKNOWN, NP_UNKNOWN };
	for (size_t step = 0; step < steps; step++) {
		for (size_t i = 0; i < groups; i++) {
			size_t first = step * timeline->per_step;

			for (size_t k = timeline->group_first[i]; k < timeline->group_first[i + 1];
			     k++) {
				timeline->instances[first + k].first_slot = slot;
				slot += (size_t)timeline->groups.all.item[i].size;
			}
		}
	}
	return NP_OK;
}

static int run_step(struct timeline_pool *pool)
{
	size_t count = rank_count(pool->timeline);

	assert(count > 0);
	pool->complete = 0;
	for (size_t i = 0; i < count; i++)
		enqueue(pool, (int32_t)i);
	while (pool->waiting > 0 && pool->rc == NP_OK) {
		uint32_t rank = pool->queue[pool->head];

		pool->head = (pool->head + 1) % count;
		pool->waiting--;
		pool->queued[rank] = false;
		if (syn_rank_advance(&pool->ranks[rank], arrive, pool))
			pool->complete++;
	}
	if (pool->rc == NP_OK && pool->complete < count)
		return np_fail(pool->err, NP_E_RANGE, "the schedule deadlocks in step %" PRId64,
			       pool->step);
	return pool->rc;
}

static int run_steps(struct timeline_pool *pool)
{
	const struct syn_config *config = pool->timeline->config;

	for (pool->step = 0; pool->step < config->steps; pool->step++) {
		int rc = begin_step(pool);

		if (rc == NP_OK && pool->step == 0)
			rc = make_room(pool);
		if (rc == NP_OK)
			rc = run_step(pool);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

int syn_timeline_run(struct syn_timeline *timeline, const struct syn_config *config,
		     struct np_err *err)
{
	size_t count = (size_t)config->ranks;
	struct timeline_pool pool = {
		.timeline = timeline,
		.ranks = calloc(count, sizeof(*pool.ranks)),
		.errs = calloc(count, sizeof(*pool.errs)),
		.queue = calloc(count, sizeof(*pool.queue)),
		.queued = calloc(count, sizeof(*pool.queued)),
		.err = err,
	};
	int rc;

	*timeline = (struct syn_timeline){ .config = config };
	rc = syn_groups_init(&timeline->groups, config, err);
	if (rc == NP_OK && (!pool.ranks || !pool.errs || !pool.queue || !pool.queued))
		rc = np_fail_nomem(err, "the ranks");
	if (rc == NP_OK) {
		pool.comm = (struct syn_comm){ .config = config, .groups = &timeline->groups };
		for (size_t i = 0; i < count; i++)
			syn_rank_init(&pool.ranks[i], config, (int32_t)i);
		rc = run_steps(&pool);
		for (size_t i = 0; i < count; i++)
			syn_rank_release(&pool.ranks[i]);
	}
	syn_comm_release(&pool.comm);
	free(pool.ranks);
	free(pool.errs);
	free(pool.queue);
	free(pool.queued);
	return rc;
}
