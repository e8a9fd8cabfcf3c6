/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

#include <strings.h>

/*
 * Which receive belongs to which send: the n-th message from one rank to
 * another within a communicator has the same id on both sides. The incumbent
 * writes the id into the profiles; here it is a table.
 */
#define MODE "p2p_pairing"

struct message {
	uint64_t hash;
	int32_t src; /* local to the communicator */
	int32_t dst;
	bool receives;
	uint32_t rank;
	uint32_t op;
	np_ns start;
	size_t number; /* among those of the same rank, direction and ends */
};

struct messages {
	NP_VEC(struct message) list;
};

/* The place of a rank in one of its communicators, local to it; -1 if nothing tells. */
static int32_t own_place(const struct np_rank *rank, uint32_t group)
{
	if (rank->groups.item[group].members)
		return rank->groups.item[group].group_rank;
	for (size_t i = 0; i < rank->links.count; i++) {
		const struct np_link *link = &rank->links.item[i];

		if (link->group == group && link->src == link->dst)
			return link->src;
	}
	return -1;
}

static bool is_send(const char *type)
{
	return strncasecmp(type, "hcom_send", 9) == 0;
}

static bool is_receive(const char *type)
{
	return strncasecmp(type, "hcom_recv", 9) == 0 || strncasecmp(type, "hcom_receive", 12) == 0;
}

static int add_rank(const struct np_modes *modes, uint32_t index, struct messages *messages,
		    struct np_err *err)
{
	const struct np_rank *rank = modes->run->ranks[index];

	for (uint32_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		const char *name = mode_name(modes, op->name);
		int32_t own = own_place(rank, op->group);
		int32_t peer = (int32_t)op->peer - 1;
		struct message *message;

		if ((!is_send(name) && !is_receive(name)) || op->peer == 0 ||
		    op->peer == NP_PEERS || own < 0)
			continue;
		message = np_vec_add(&messages->list, err);
		if (!message)
			return NP_E_NOMEM;
		*message = (struct message){ .hash = rank->groups.item[op->group].hash,
					     .receives = is_receive(name),
					     .src = is_send(name) ? own : peer,
					     .dst = is_send(name) ? peer : own,
					     .rank = index,
					     .op = i,
					     .start = op->start };
	}
	return NP_OK;
}

static int by_ends(const void *left, const void *right)
{
	const struct message *a = left;
	const struct message *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->src != b->src)
		return np_order(a->src, b->src);
	if (a->dst != b->dst)
		return np_order(a->dst, b->dst);
	if (a->receives != b->receives)
		return a->receives ? 1 : -1;
	if (a->rank != b->rank)
		return np_order(a->rank, b->rank);
	return a->start != b->start ? np_order(a->start, b->start) : np_order(a->op, b->op);
}

static int by_rank(const void *left, const void *right)
{
	const struct message *a = left;
	const struct message *b = right;

	return a->rank != b->rank ? np_order(a->rank, b->rank) : np_order(a->op, b->op);
}

static void number(struct messages *messages)
{
	for (size_t i = 1; i < messages->list.count; i++) {
		struct message *message = &messages->list.item[i];
		const struct message *before = message - 1;

		if (message->hash == before->hash && message->src == before->src &&
		    message->dst == before->dst && message->receives == before->receives &&
		    message->rank == before->rank)
			message->number = before->number + 1;
	}
}

static const struct np_column columns[] = {
	{ "rankId", NP_INTEGER },  { "opName", NP_TEXT },     { "groupName", NP_TEXT },
	{ "startNs", NP_INTEGER }, { "endNs", NP_INTEGER },   { "opConnectionId", NP_TEXT },
	{ "srcRank", NP_INTEGER }, { "dstRank", NP_INTEGER },
};

static struct np_cell global_rank(const struct np_modes *modes, uint64_t hash, int32_t local)
{
	const struct np_communicator *communicator = np_cluster_communicator(modes->cluster, hash);

	if (!communicator || (size_t)local >= communicator->global_count ||
	    communicator->global[local] == NP_NO_RANK)
		return np_cell_null();
	return np_cell_integer(communicator->global[local]);
}

static int put(struct np_modes *modes, struct np_mode_table *table, const struct message *message,
	       struct np_err *err)
{
	const struct np_comm_op *op = &modes->run->ranks[message->rank]->ops.item[message->op];
	char hash[24];
	char id[96];

	(void)snprintf(id, sizeof(id), "%03llu_%d_%d_%zu",
		       (unsigned long long)(message->hash % 1000), message->src, message->dst,
		       message->number);
	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(columns)]){
				np_cell_integer(mode_rank_id(modes, message->rank)),
				mode_name_cell(modes, op->name),
				mode_group_cell(modes, message->hash, hash, sizeof(hash)),
				np_cell_integer(op->start),
				np_cell_integer(op->end),
				np_cell_text(id),
				global_rank(modes, message->hash, message->src),
				global_rank(modes, message->hash, message->dst),
			},
			err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "P2PPairing",
			   "sends and receives, with an id that both ends share", columns, err);
	struct messages messages = { 0 };
	int rc = table ? NP_OK : NP_E_NOMEM;

	(void)prepared;
	(void)ranks;
	for (uint32_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		if (modes->run->ranks[i])
			rc = add_rank(modes, i, &messages, err);
	}
	if (messages.list.count)
		qsort(messages.list.item, messages.list.count, sizeof(messages.list.item[0]),
		      by_ends);
	number(&messages);
	if (messages.list.count)
		qsort(messages.list.item, messages.list.count, sizeof(messages.list.item[0]),
		      by_rank);
	for (size_t i = 0; i < messages.list.count && rc == NP_OK; i++)
		rc = put(modes, table, &messages.list.item[i], err);
	np_vec_release(&messages.list);
	return rc;
}

const struct mode mode_p2p_pairing = {
	.name = MODE,
	.summary = "which receive belongs to which send",
	.merge = merge,
};
