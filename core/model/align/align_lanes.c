/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the operators of a communicator into lanes: collectives, and the messages of each pair. */
#include "align_job.h"

/* A message of a communicator: the key says between whom. */
struct lane_message {
	uint64_t key;
	uint32_t row;
	uint32_t op;
};

enum {
	KEY_BATCH,
	KEY_FROM_LOW,
	KEY_FROM_HIGH,
	KEY_RING, /* batches with several ranks each, in all of the communicator */
	KEY_ALONE,
};

/* One communicator while it is split into what is matched separately. */
struct split {
	struct align_build *build;
	struct align_job *job;
	struct align_lane *lanes;
	uint32_t *collectives; /* operators, by row */
	NP_VEC(struct lane_message) messages;
	bool ring;
};

static const struct np_rank *rank_of_row(const struct split *split, uint32_t row)
{
	return split->build->run->ranks[split->job->coverage[row].rank];
}

/* Where a rank is among the members, which are sorted; SIZE_MAX where it is not. */
static size_t place_of_member(const struct np_align_communicator *communicator, int32_t id)
{
	size_t low = 0;
	size_t high = communicator->member_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (communicator->members[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < communicator->member_count && communicator->members[low] == id ? low
										    : SIZE_MAX;
}

/* A rank is in a handful of communicators. */
#define FEW_GROUPS 64

/* Where nothing says it: its place among those that were seen, if that is an end of all its links.
 */
static bool is_end_of_links(const struct np_rank *rank, uint32_t group, int32_t local)
{
	bool some = false;

	for (size_t i = 0; i < rank->links.count; i++) {
		const struct np_link *link = &rank->links.item[i];

		if (link->group != group || link->src < 0 || link->dst < 0)
			continue;
		if (link->src != local && link->dst != local)
			return false;
		some = true;
	}
	return some;
}

static uint32_t local_of(const struct split *split, uint32_t row)
{
	const struct np_rank *rank = rank_of_row(split, row);
	const struct np_align_communicator *communicator = split->job->communicator;
	size_t place = place_of_member(communicator, rank->id);
	const uint32_t *first = &split->build->row_ops[communicator->coverage + row];
	uint32_t group = ALIGN_NONE;

	if (place != SIZE_MAX)
		return (uint32_t)place + 1;
	/* All operators of the row are of its communicator; nobody looks through thousands. */
	if (first[0] < first[1])
		group = rank->ops.item[split->build->ops[first[0]]].group;
	for (uint32_t i = 0; i < rank->groups.count && rank->groups.count <= FEW_GROUPS; i++) {
		if (rank->groups.item[i].hash == communicator->hash)
			group = i;
	}
	if (group != ALIGN_NONE && rank->groups.item[group].group_rank >= 0)
		return (uint32_t)rank->groups.item[group].group_rank + 1;
	for (size_t i = 0; i < rank->links.count; i++) {
		const struct np_link *link = &rank->links.item[i];

		if (link->group == group && link->src == link->dst && link->src >= 0)
			return (uint32_t)link->src + 1;
	}
	/* Peers that were found count those that were seen. */
	if (!communicator->size_known)
		return split->job->align->peers ? row + 1 : 0;
	return split->job->coverage_count == communicator->size && group != ALIGN_NONE &&
			       is_end_of_links(rank, group, (int32_t)row)
		       ? row + 1
		       : 0;
}

static uint64_t make_key(unsigned kind, uint64_t low, uint64_t high)
{
	return (uint64_t)kind << 60 | low << 30 | high;
}

static uint64_t message_key(const struct split *split, uint32_t row, uint32_t index)
{
	const struct np_comm_op *op = &rank_of_row(split, row)->ops.item[index];
	const struct align_class *class = align_class(split->job, op->type);
	uint64_t own = split->lanes[row].local;
	uint64_t peer = np_align_peer(split->job->align, split->lanes[row].rank, index);
	uint64_t low;
	uint64_t high;
	unsigned kind = class->sized ? KEY_FROM_LOW : KEY_BATCH;

	/* Of two, the other one is meant, whether the tasks say so or not. */
	if (split->job->communicator->size == 2) {
		own = row + 1;
		peer = 2 - row;
	} else if (peer == NP_PEERS) {
		return split->ring ? make_key(KEY_RING, 0, 0) : make_key(KEY_ALONE, 0, row);
	}
	if (peer == 0 || own == 0 || own == peer)
		return make_key(KEY_ALONE, 0, row);
	low = own < peer ? own : peer;
	high = own < peer ? peer : own;
	if (class->sized && (class->receives ? peer : own) == high)
		kind = KEY_FROM_HIGH;
	return make_key(kind, low, high);
}

/* Sort the operators of a row into collectives and messages. */
static int split_row(struct split *split, uint32_t row)
{
	const struct align_build *build = split->build;
	const struct np_rank *rank = rank_of_row(split, row);
	uint32_t global = split->job->communicator->coverage + row;
	struct align_lane *lane = &split->lanes[row];

	lane->rank = split->job->coverage[row].rank;
	lane->local = local_of(split, row);
	for (uint32_t i = build->row_ops[global]; i < build->row_ops[global + 1]; i++) {
		const struct np_comm_op *op = &rank->ops.item[build->ops[i]];
		struct lane_message *message;

		if (!op->p2p) {
			split->collectives[lane->count++] = build->ops[i];
			continue;
		}
		message = np_vec_add(&split->messages, split->job->err);
		if (!message)
			return NP_E_NOMEM;
		message->row = row;
		message->op = build->ops[i];
		split->ring &= op->peer == NP_PEERS;
	}
	lane->ops = split->collectives;
	split->collectives += lane->count;
	return NP_OK;
}

static int by_key(const void *left, const void *right)
{
	const struct lane_message *a = left;
	const struct lane_message *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

/* Match the messages of one key, which are by row: one lane for each row. */
static int match_key(struct split *split, const struct lane_message *message, size_t count,
		     uint32_t *ops, struct align_lane *lanes)
{
	size_t lane_count = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || message[i].row != message[i - 1].row) {
			const struct align_lane *row = &split->lanes[message[i].row];

			lanes[lane_count++] = (struct align_lane){ .rank = row->rank,
								   .local = row->local,
								   .ops = &ops[i] };
		}
		ops[i] = message[i].op;
		lanes[lane_count - 1].count++;
	}
	return align_match(split->job, lanes, lane_count, true);
}

static int match_messages(struct split *split)
{
	struct lane_message *message = split->messages.item;
	size_t count = split->messages.count;
	uint32_t *ops = malloc((count + 1) * sizeof(*ops));
	struct align_lane *lanes = calloc(split->job->coverage_count, sizeof(*lanes));
	int rc = NP_OK;

	if (!ops || !lanes)
		rc = np_fail_nomem(split->job->err, "matching of messages");
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		message[i].key = message_key(split, message[i].row, message[i].op);
	if (rc == NP_OK && count > 0)
		qsort(message, count, sizeof(*message), by_key);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		while (to < count && message[to].key == message[from].key)
			to++;
		rc = match_key(split, &message[from], to - from, ops, lanes);
	}
	free(ops);
	free(lanes);
	return rc;
}

static int match_collectives(struct split *split)
{
	size_t kept = 0;

	/* The lanes by row are needed again: messages ask them for local ranks. */
	struct align_lane *lanes = malloc(split->job->coverage_count * sizeof(*lanes));
	int rc;

	if (!lanes)
		return np_fail_nomem(split->job->err, "matching of operators");
	for (size_t i = 0; i < split->job->coverage_count; i++) {
		if (split->lanes[i].count > 0)
			lanes[kept++] = split->lanes[i];
	}
	rc = align_match(split->job, lanes, kept, false);
	free(lanes);
	return rc;
}

int align_match_communicator(struct align_build *build, struct align_job *job)
{
	struct split split = { .build = build, .job = job, .ring = true };
	uint32_t *collectives = malloc(((size_t)job->communicator->ops + 1) * sizeof(uint32_t));
	int rc = NP_OK;

	split.collectives = collectives;
	split.lanes = calloc(job->coverage_count, sizeof(*split.lanes));
	if (!collectives || !split.lanes)
		rc = np_fail_nomem(job->err, "matching of operators");
	for (uint32_t i = 0; i < job->coverage_count && rc == NP_OK; i++)
		rc = split_row(&split, i);
	if (rc == NP_OK)
		rc = match_collectives(&split);
	if (rc == NP_OK && split.messages.count > 0)
		rc = match_messages(&split);
	free(collectives);
	free(split.lanes);
	np_vec_release(&split.messages);
	return rc;
}
