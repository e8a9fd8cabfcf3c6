/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which receive belongs to which send: the n-th message from one rank to
 * another within a communicator has the same id on both sides, and so has the
 * n-th batch between two. They are counted as they were matched, so that one that
 * a profile lost does not shift the others. The incumbent writes the id into the
 * profiles; here it is a table.
 */
#include "registry.h"

#include "cluster/modes/common/members.h"

#include <strings.h>

#define MODE "p2p_pairing"

struct p2p_message {
	uint64_t hash;
	int32_t src; /* local to the communicator; of a batch the lower one */
	int32_t dst;
	bool batch;
	uint32_t rank;
	uint32_t op;
	uint32_t instance;
	size_t number; /* of its instance among those with the same ends */
};

struct p2p_messages {
	NP_VEC(struct p2p_message) list;
	bool *unknown; /* by index of the rank: it has some whose ends are not known */
};

/* The place of a rank in one of its communicators, local to it; -1 if not known. */
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

static bool is_batch(const char *type)
{
	return strcasestr(type, "batch") != NULL;
}

/* The other end of a message: as its tasks say, else the only other member there can be. */
static int32_t peer_of(const struct np_align *align, const struct np_instance *instance,
		       uint32_t slot, int32_t own)
{
	const struct np_align_communicator *communicator =
		&align->communicators.item[instance->communicator];
	const struct np_member *member = &align->members[slot];
	uint16_t peer = np_align_peer(align, member->rank, member->op);
	uint32_t other;

	if (peer != 0 && peer != NP_PEERS)
		return (int32_t)peer - 1;
	if (peer == NP_PEERS)
		return -1;
	if (communicator->size_known && communicator->size == 2)
		return 1 - own;
	if (instance->count != 2)
		return -1;
	other = slot == instance->first ? slot + 1 : instance->first;
	return own_place(align->run->ranks[align->members[other].rank],
			 np_align_op(align, other)->group);
}

static int add_message(const struct np_modes *modes, struct p2p_messages *messages, uint32_t index,
		       uint32_t slot, struct np_err *err)
{
	const struct np_align *align = modes->align;
	const struct np_instance *instance = &align->instances.item[index];
	const struct np_comm_op *op = np_align_op(align, slot);
	uint32_t rank = align->members[slot].rank;
	const char *name = mode_name(modes, op->name);
	int32_t own = own_place(modes->run->ranks[rank], op->group);
	int32_t peer = peer_of(align, instance, slot, own);
	bool first = is_batch(name) ? own < peer : is_send(name);
	struct p2p_message *message;

	if (!is_send(name) && !is_receive(name) && !is_batch(name))
		return NP_OK;
	if (own < 0 || peer < 0) {
		messages->unknown[rank] = true;
		return NP_OK;
	}
	message = np_vec_add(&messages->list, err);
	if (!message)
		return NP_E_NOMEM;
	*message = (struct p2p_message){
		.hash = align->communicators.item[instance->communicator].hash,
		.src = first ? own : peer,
		.dst = first ? peer : own,
		.batch = is_batch(name),
		.rank = rank,
		.op = align->members[slot].op,
		.instance = index
	};
	return NP_OK;
}

static int add_messages(const struct np_modes *modes, struct p2p_messages *messages,
			struct np_err *err)
{
	const struct np_align *align = modes->align;
	int rc = NP_OK;

	for (uint32_t i = 0; i < align->instances.count && rc == NP_OK; i++) {
		const struct np_instance *instance = &align->instances.item[i];

		for (uint32_t j = 0; j < instance->count && rc == NP_OK; j++) {
			if (np_align_op(align, instance->first + j)->p2p)
				rc = add_message(modes, messages, i, instance->first + j, err);
		}
	}
	return rc;
}

static bool same_ends(const struct p2p_message *a, const struct p2p_message *b)
{
	return a->hash == b->hash && a->src == b->src && a->dst == b->dst && a->batch == b->batch;
}

static int by_ends(const void *left, const void *right)
{
	const struct p2p_message *a = left;
	const struct p2p_message *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->src != b->src)
		return np_order(a->src, b->src);
	if (a->dst != b->dst)
		return np_order(a->dst, b->dst);
	if (a->batch != b->batch)
		return a->batch ? 1 : -1;
	return a->instance != b->instance ? np_order(a->instance, b->instance)
					  : np_order(a->rank, b->rank);
}

static int by_rank(const void *left, const void *right)
{
	const struct p2p_message *a = left;
	const struct p2p_message *b = right;

	return a->rank != b->rank ? np_order(a->rank, b->rank) : np_order(a->op, b->op);
}

static void number(struct p2p_messages *messages)
{
	for (size_t i = 1; i < messages->list.count; i++) {
		struct p2p_message *message = &messages->list.item[i];
		const struct p2p_message *before = message - 1;

		if (same_ends(message, before))
			message->number = before->number + (message->instance != before->instance);
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

static int put(struct np_modes *modes, struct np_mode_table *table,
	       const struct p2p_message *message, struct np_err *err)
{
	const struct np_comm_op *op = &modes->run->ranks[message->rank]->ops.item[message->op];
	char hash[24];
	char id[96];

	(void)snprintf(id, sizeof(id), "%03llu_%d_%d_%s%zu",
		       (unsigned long long)(message->hash % 1000), message->src, message->dst,
		       message->batch ? "b" : "", message->number);
	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(columns)]){
				np_cell_integer(mode_rank_id(modes, message->rank)),
				mode_name_cell(modes, op->name),
				mode_group_cell(modes, message->hash, hash, sizeof(hash)),
				np_cell_integer(op->start),
				np_cell_integer(op->end),
				np_cell_text(id),
				message->batch ? np_cell_null()
					       : global_rank(modes, message->hash, message->src),
				message->batch ? np_cell_null()
					       : global_rank(modes, message->hash, message->dst),
			},
			err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "P2PPairing",
			   "sends, receives and batches of them, with an id that both ends share",
			   columns, err);
	struct p2p_messages messages = { 0 };
	int rc = table ? NP_OK : NP_E_NOMEM;

	(void)prepared;
	(void)ranks;
	messages.unknown = calloc(modes->run->sources.count + 1, sizeof(*messages.unknown));
	if (rc == NP_OK && !messages.unknown)
		rc = np_fail_nomem(err, MODE);
	if (rc == NP_OK) {
		table->empty = "no messages of which both ends are known";
		rc = add_messages(modes, &messages, err);
	}
	if (rc == NP_OK)
		mode_note(
			modes, NP_NOTE_SKIPPED, MODE, messages.unknown,
			"messages of which nothing tells both ends are not listed (small tasks do,"
			" profiler_level=Level1, or parallel_group_info in"
			" profiler_metadata.json)");
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
	free(messages.unknown);
	return rc;
}

const struct mode mode_p2p_pairing = {
	.name = MODE,
	.summary = "which receive belongs to which send",
	.needs = NP_DETAIL_OPS,
	.merge = merge,
};
