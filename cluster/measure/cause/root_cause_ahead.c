/* SPDX-License-Identifier: Apache-2.0 */
/* The instances of a block of the walk, looked at on several threads before it comes there. */
#include "root_cause_ahead.h"

#include "npuprof/align.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/workers.h"

/* Members in a block, about: so many that the instances of a communicator come in long rows. */
#define BLOCK_MEMBERS ((size_t)1 << 16)

/* --- the order of the walk ---------------------------------------------------------------------
 */

static int find_order(struct ahead *ahead, struct np_err *err)
{
	const struct np_align *align = ahead->model.align;
	const np_ns *came = ahead->model.waits->came;
	size_t count = align->instances.count;
	struct np_keyed *items = malloc((2 * count + 1) * sizeof(*items));
	struct np_keyed *sorted;
	np_ns last = -NP_NS_MAX;

	ahead->order = malloc((count + 1) * sizeof(*ahead->order));
	if (!items || !ahead->order) {
		free(items);
		return np_fail_nomem(err, "origins of waiting");
	}
	for (size_t i = 0; i < count; i++)
		last = came[i] > last ? came[i] : last;
	/* How long before the end its last member came. */
	for (size_t i = 0; i < count; i++)
		items[i] = (struct np_keyed){ (uint64_t)last - (uint64_t)came[i], (uint32_t)i };
	sorted = np_sort_keyed(items, items + count, count);
	for (size_t i = 0; i < count; i++)
		ahead->order[i] = sorted[i].index;
	free(items);
	return NP_OK;
}

/* --- blocks ------------------------------------------------------------------------------------
 */

int ahead_init(struct ahead *ahead, const struct explainer *model, size_t threads,
	       struct np_err *err)
{
	size_t count = threads ? threads : np_processors();

	*ahead = (struct ahead){ .model = *model };
	/* More than there are threads, so that the last one is waited for briefly. */
	ahead->buckets = count > 1 ? 2 * count : 1;
	ahead->errors = calloc(ahead->buckets, sizeof(*ahead->errors));
	ahead->found = common_found_new(model->align);
	if (!ahead->errors || !ahead->found)
		return np_fail_nomem(err, "origins of waiting");
	return find_order(ahead, err);
}

void ahead_release(struct ahead *ahead)
{
	for (size_t i = 0; i < NP_COUNT(ahead->blocks); i++) {
		np_vec_release(&ahead->blocks[i].instances);
		free(ahead->blocks[i].members);
		free(ahead->blocks[i].by_communicator);
		free(ahead->blocks[i].first);
	}
	free(ahead->order);
	free(ahead->found);
	free(ahead->errors);
}

static int make_room(struct ahead_block *block, size_t members, size_t communicators,
		     struct np_err *err)
{
	if (members <= block->room && block->first)
		return NP_OK;
	free(block->members);
	free(block->by_communicator);
	free(block->first);
	block->room = members;
	block->members = calloc(members + AHEAD_SPARE, sizeof(*block->members));
	/* Every instance has a member. */
	block->by_communicator = malloc((members + 1) * sizeof(*block->by_communicator));
	block->first = malloc((communicators + 2) * sizeof(*block->first));
	if (!block->members || !block->by_communicator || !block->first)
		return np_fail_nomem(err, "origins of waiting");
	return NP_OK;
}

/* Sort the instances of a block by communicator, and leave them in the order of the walk there. */
static void sort_block(struct ahead_block *block, size_t communicators)
{
	uint32_t *place = block->first + 1;
	uint32_t before = 0;

	memset(block->first, 0, (communicators + 2) * sizeof(*block->first));
	for (size_t i = 0; i < block->instances.count; i++)
		place[block->instances.item[i].instance->communicator]++;
	for (size_t i = 0; i < communicators; i++) {
		uint32_t here = place[i];

		place[i] = before;
		before += here;
	}
	/* Now a place is the first of its communicator; soon it will be the first of the next. */
	for (uint32_t i = 0; i < block->instances.count; i++)
		block->by_communicator[place[block->instances.item[i].instance->communicator]++] =
			i;
}

int ahead_fill(struct ahead *ahead, struct ahead_block *block, struct np_err *err)
{
	const struct np_align *align = ahead->model.align;
	size_t used = 0;
	int rc;

	block->instances.count = 0;
	while (ahead->next < align->instances.count && used < BLOCK_MEMBERS) {
		struct seen *seen = np_vec_add(&block->instances, err);

		if (!seen)
			return NP_E_NOMEM;
		seen->instance = &align->instances.item[ahead->order[ahead->next++]];
		used += seen->instance->count;
	}
	rc = make_room(block, used, align->communicators.count, err);
	if (rc < 0)
		return rc;
	sort_block(block, align->communicators.count);
	used = 0;
	for (size_t i = 0; i < block->instances.count; i++) {
		block->instances.item[i].members = &block->members[used];
		used += block->instances.item[i].instance->count;
	}
	return NP_OK;
}

/* What is needed to see an instance and, of its members, to compare them, is fetched before. */
static void fetch_instance(const struct explainer *explainer, const struct seen *seen)
{
	__builtin_prefetch(&explainer->waits->wait[seen->instance->first]);
	__builtin_prefetch(&explainer->align->members[seen->instance->first]);
	__builtin_prefetch(seen->members, 1);
}

static void fetch_member(const struct explainer *explainer, const struct late *late)
{
	const struct np_comm_op *ops = explainer->align->run->ranks[late->rank]->ops.item;
	uint32_t op = op_of(explainer->align, late);

	__builtin_prefetch(&ops[op].start);
	__builtin_prefetch(&ops[op - (op > 0)].end);
	__builtin_prefetch(&explainer->found[late->row]);
	__builtin_prefetch(&explainer->progress->wait[late->at]);
}

static void fetch_members(const struct explainer *explainer, const struct seen *seen)
{
	uint32_t count = seen->instance->count;
	np_ns worth = worth_explaining(seen, 0);

	if (seen->charges < worth)
		return;
	for (uint32_t i = 0; i < count; i++) {
		if (seen->members[i].charge >= worth)
			fetch_member(explainer, &seen->members[i]);
	}
	for (uint32_t i = 0; i < count; i += compared_stride(count))
		fetch_member(explainer, &seen->members[seen->members[i].arrival]);
}

static void compare_members(struct explainer *explainer, const struct seen *seen)
{
	np_ns worth = worth_explaining(seen, 0);

	for (uint32_t i = 0; i < seen->instance->count; i++) {
		if (seen->members[i].charge >= worth)
			explainer_compare(explainer, seen, i);
	}
}

/* Instances of one communicator: each is compared when the one behind it has been seen. */
static int look_at(struct explainer *explainer, struct seen *seen, const uint32_t *which,
		   uint32_t count)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < count; i++) {
		if (i + 2 < count)
			__builtin_prefetch(seen[which[i + 2]].instance);
		if (i + 1 < count)
			fetch_instance(explainer, &seen[which[i + 1]]);
		rc = explainer_see(explainer, &seen[which[i]]);
		if (rc < 0)
			break;
		fetch_members(explainer, &seen[which[i]]);
		if (i > 0)
			compare_members(explainer, &seen[which[i - 1]]);
	}
	if (rc == NP_OK && count > 0)
		compare_members(explainer, &seen[which[count - 1]]);
	return rc;
}

/* A communicator is always in the same bucket: what is found last is that of one thread. */
void ahead_look(struct ahead *ahead, struct ahead_block *block, size_t bucket)
{
	struct explainer explainer = ahead->model;
	size_t communicators = explainer.align->communicators.count;
	int rc = NP_OK;

	explainer.found = ahead->found;
	explainer.err = &ahead->errors[bucket];
	for (size_t i = bucket; i < communicators && rc == NP_OK; i += ahead->buckets)
		rc = look_at(&explainer, block->instances.item,
			     &block->by_communicator[block->first[i]],
			     block->first[i + 1] - block->first[i]);
	explainer_release(&explainer);
}

int ahead_check(const struct ahead *ahead, struct np_err *err)
{
	for (size_t i = 0; i < ahead->buckets; i++) {
		if (ahead->errors[i].code != NP_OK)
			return np_fail(err, ahead->errors[i].code, "%s", ahead->errors[i].text);
	}
	return NP_OK;
}
