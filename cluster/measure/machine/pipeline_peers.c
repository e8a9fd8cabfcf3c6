/* SPDX-License-Identifier: Apache-2.0 */
/* To whom messages went that do not say so, by the times at which their ends end. */
#include "npuprof/pipeline.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"

#include <strings.h>

/*
 * To whom messages went
 * ---------------------
 *
 * At Level0 a message in a communicator of more than two ranks does not name its
 * other end. Both ends of a message end together, though, and the first stage has
 * a neighbour on one side only: all of its messages are the second's. What the
 * second stage has beyond those is the third's, and so on to the last, which must
 * be left with none. Where messages find no match, or several, nothing is claimed.
 */

/* Ends of one message differ by no more than this and so many residuals of the clocks. */
#define TOLERANCE_NS 50000
#define RESIDUALS    5

/* So many of the messages of a communicator must be found without doubt. */
#define TOLD_SHARE 0.98

enum message_kind {
	KIND_SEND,
	KIND_RECEIVE,
	KIND_BATCH,
};

struct peer_message {
	np_ns end; /* on the common clock */
	int64_t bytes;
	uint32_t op;
	enum message_kind kind;
	uint16_t peer; /* local rank + 1; 0 until it is found */
};

/* The messages of one member of a communicator, by end. */
struct peer_member {
	uint32_t rank; /* index in the run */
	uint16_t local;
	int32_t stage;
	NP_VEC(struct peer_message) list;
};

struct peer_members {
	const struct np_cluster *cluster;
	const struct np_clock *clock;
	NP_VEC(struct peer_member) list; /* by stage */
	np_ns tolerance;
	size_t doubts;
};

static void release(struct peer_members *members)
{
	for (size_t i = 0; i < members->list.count; i++)
		np_vec_release(&members->list.item[i].list);
	np_vec_release(&members->list);
}

/* --- gathering ------------------------------------------------------------------------------- */

static enum message_kind kind_of(const char *type)
{
	if (strcasestr(type, "batch"))
		return KIND_BATCH;
	return strcasestr(type, "rec") ? KIND_RECEIVE : KIND_SEND;
}

static int by_end(const void *left, const void *right)
{
	const struct peer_message *a = left;
	const struct peer_message *b = right;

	return a->end != b->end ? np_order(a->end, b->end) : np_order(a->op, b->op);
}

/* False in *ret if a message names its end already. */
static int add_messages(const struct peer_members *members, uint64_t hash,
			struct peer_member *member, bool *ret, struct np_err *err)
{
	const struct np_run *run = members->cluster->run;
	const struct np_rank *rank = run->ranks[member->rank];

	for (uint32_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct peer_message *message;

		if (!op->p2p || rank->groups.item[op->group].hash != hash)
			continue;
		*ret = *ret && op->peer == 0;
		message = np_vec_add(&member->list, err);
		if (!message)
			return NP_E_NOMEM;
		*message = (struct peer_message){
			.end = np_clock_time(members->clock, member->rank, op->end),
			.bytes = op->bytes,
			.op = i,
			.kind = kind_of(np_strtab_text(run->strings, op->type)),
		};
	}
	if (member->list.count)
		qsort(member->list.item, member->list.count, sizeof(struct peer_message), by_end);
	return NP_OK;
}

static int by_stage(const void *left, const void *right)
{
	return np_order(((const struct peer_member *)left)->stage,
			((const struct peer_member *)right)->stage);
}

/* All members with their messages; false in *ret if that cannot be had or is not needed. */
static int gather(struct peer_members *members, const struct np_communicator *communicator,
		  bool *ret, struct np_err *err)
{
	const struct np_cluster *cluster = members->cluster;

	*ret = communicator->p2p && communicator->size > 2 && communicator->size < NP_PEERS &&
	       communicator->observed_count == communicator->size &&
	       communicator->global_count == communicator->size;
	for (size_t i = 0; i < communicator->global_count && *ret; i++) {
		size_t index = np_run_index(cluster->run, communicator->global[i]);
		struct peer_member *member;

		if (index == SIZE_MAX || !cluster->run->ranks[index] ||
		    np_cluster_stage_at(cluster, index) < 0) {
			*ret = false;
			return NP_OK;
		}
		member = np_vec_add(&members->list, err);
		if (!member)
			return NP_E_NOMEM;
		member->rank = (uint32_t)index;
		member->local = (uint16_t)i;
		member->stage = np_cluster_stage_at(cluster, index);
		*ret = np_clock_related(members->clock, index, members->list.item[0].rank);
		if (add_messages(members, communicator->hash, member, ret, err) < 0)
			return NP_E_NOMEM;
	}
	if (members->list.count)
		qsort(members->list.item, members->list.count, sizeof(struct peer_member),
		      by_stage);
	for (size_t i = 1; i < members->list.count; i++)
		*ret = *ret && members->list.item[i - 1].stage != members->list.item[i].stage;
	return NP_OK;
}

/* --- matching -------------------------------------------------------------------------------- */

static np_ns apart(const struct peer_message *a, const struct peer_message *b)
{
	return a->end > b->end ? a->end - b->end : b->end - a->end;
}

/* The message of `list` from `from` on that ends with this one, or NULL. */
static struct peer_message *partner(struct peer_members *members, struct peer_member *other,
				    const struct peer_message *message, enum message_kind kind,
				    size_t *from)
{
	struct peer_message *best = NULL;
	size_t found = 0;

	for (size_t i = *from; i < other->list.count; i++) {
		struct peer_message *each = &other->list.item[i];

		if (each->end > message->end + members->tolerance)
			break;
		if (each->end < message->end - members->tolerance) {
			*from = i + 1;
			continue;
		}
		if (each->kind != kind || each->peer != 0 || each->bytes != message->bytes)
			continue;
		found++;
		if (!best || apart(each, message) < apart(best, message))
			best = each;
	}
	members->doubts += found > 1;
	return best;
}

/* All that a stage has left of one kind went to, or came from, the next. */
static void match(struct peer_members *members, struct peer_member *low, enum message_kind kind,
		  struct peer_member *high, enum message_kind other)
{
	size_t from = 0;

	for (size_t i = 0; i < low->list.count; i++) {
		struct peer_message *message = &low->list.item[i];
		struct peer_message *found;

		if (message->kind != kind || message->peer != 0)
			continue;
		found = partner(members, high, message, other, &from);
		if (!found)
			continue;
		message->peer = (uint16_t)(high->local + 1);
		found->peer = (uint16_t)(low->local + 1);
	}
}

static bool match_all(struct peer_members *members)
{
	size_t total = 0;
	size_t found = 0;

	for (size_t i = 0; i + 1 < members->list.count; i++) {
		struct peer_member *low = &members->list.item[i];
		struct peer_member *high = &members->list.item[i + 1];

		match(members, low, KIND_SEND, high, KIND_RECEIVE);
		match(members, low, KIND_RECEIVE, high, KIND_SEND);
		match(members, low, KIND_BATCH, high, KIND_BATCH);
	}
	for (size_t i = 0; i < members->list.count; i++) {
		const struct peer_member *member = &members->list.item[i];

		for (size_t j = 0; j < member->list.count; j++)
			found += member->list.item[j].peer != 0;
		total += member->list.count;
	}
	return total > 0 && (double)(found - members->doubts) >= TOLD_SHARE * (double)total;
}

static int keep(const struct peer_members *members, struct np_peers *peers, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < members->list.count; i++) {
		const struct peer_member *member = &members->list.item[i];

		for (size_t j = 0; j < member->list.count && rc == NP_OK; j++)
			rc = np_peers_set(peers, member->rank, member->list.item[j].op,
					  member->list.item[j].peer, err);
	}
	return rc;
}

static int find_peers(const struct np_cluster *cluster, const struct np_clock *clock,
		      const struct np_communicator *communicator, struct np_peers **peers,
		      struct np_err *err)
{
	np_ns residual = clock->residual_p90 == NP_UNKNOWN ? 0 : clock->residual_p90;
	struct peer_members members = { .cluster = cluster,
					.clock = clock,
					.tolerance = TOLERANCE_NS + RESIDUALS * residual };
	bool usable = false;
	int rc = gather(&members, communicator, &usable, err);

	if (rc == NP_OK && usable && match_all(&members)) {
		if (!*peers)
			*peers = np_peers_new(cluster->run);
		rc = *peers ? keep(&members, *peers, err) : np_fail_nomem(err, "peers of messages");
	}
	release(&members);
	return rc;
}

int np_pipeline_peers(const struct np_cluster *cluster, const struct np_clock *clock,
		      struct np_peers **ret, struct np_err *err)
{
	NP_CLEANUP(np_peers_freep) struct np_peers *peers = NULL;
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->communicators.count && rc == NP_OK; i++)
		rc = find_peers(cluster, clock, &cluster->communicators.item[i], &peers, err);
	if (rc == NP_OK && peers)
		*ret = NP_STEAL(peers);
	return rc;
}
