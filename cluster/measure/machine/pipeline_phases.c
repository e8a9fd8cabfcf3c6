/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_private.h"

#include <strings.h>

/* The stage of the other side of a message; -1 when nothing tells. */
static int32_t peer_stage(const struct pipeline_stages *stages, uint32_t rank, uint32_t index)
{
	const struct np_align *align = stages->align;
	const struct np_rank *own = align->run->ranks[rank];
	const struct np_comm_op *op = &own->ops.item[index];
	const struct np_instance *instance =
		np_align_instance(align, np_align_slot(align, rank, index));
	const struct np_communicator *communicator;
	uint16_t peer;

	for (uint32_t i = 0; i < instance->count && instance->count == 2; i++) {
		uint32_t other = align->members[instance->first + i].rank;

		if (other != rank)
			return stages->stage[other];
	}
	communicator = np_cluster_communicator(stages->cluster, own->groups.item[op->group].hash);
	peer = np_align_peer(align, rank, index);
	if (!communicator || peer == 0 || peer == NP_PEERS || peer > communicator->global_count)
		return -1;
	return pipeline_stage_of_member(stages->cluster, communicator, peer - 1);
}

static enum pipeline_role role_of(const struct pipeline_stages *stages, uint32_t rank,
				  uint32_t index)
{
	const struct np_comm_op *op = &stages->align->run->ranks[rank]->ops.item[index];
	const char *type = np_strtab_text(stages->align->run->strings, op->type);
	int32_t own = stages->stage[rank];
	int32_t peer = op->p2p ? peer_stage(stages, rank, index) : -1;
	bool next;

	if (peer < 0 || peer == own)
		return ROLE_OTHER;
	/* Interleaved stages close the circle; with two stages it cannot be told. */
	next = stages->count > 2 ? (own + 1) % stages->count == peer : peer > own;
	if (strcasestr(type, "batch"))
		return next ? ROLE_NEXT : ROLE_PREVIOUS;
	if (strcasestr(type, "rec"))
		return next ? ROLE_FROM_NEXT : ROLE_FROM_PREVIOUS;
	return next ? ROLE_TO_NEXT : ROLE_TO_PREVIOUS;
}

int pipeline_find_roles(const struct pipeline_stages *stages, uint32_t rank,
			struct pipeline_rank *ret, struct np_err *err)
{
	const struct np_rank *own = stages->align->run->ranks[rank];
	uint8_t *roles = malloc(own->ops.count + 1);

	if (!roles)
		return np_fail_nomem(err, "the pipeline");
	for (uint32_t i = 0; i < own->ops.count; i++)
		roles[i] = own->ops.item[i].p2p ? (uint8_t)role_of(stages, rank, i) : ROLE_OTHER;
	*ret = (struct pipeline_rank){ stages, own, rank, roles };
	return NP_OK;
}

/* The messages of one rank in one step by role, in the order in which they start. */
struct messages {
	uint32_t count[ROLES];
	uint32_t ahead; /* inputs passed on before the first gradient came back */
	np_ns last;
};

static struct messages count_messages(const struct pipeline_rank *rank, uint32_t step)
{
	struct messages messages = { .last = NP_UNKNOWN };
	np_ns gradient = NP_NS_MAX;

	for (size_t i = 0; i < rank->rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->rank->ops.item[i];
		uint8_t role = rank->roles[i];

		if (role == ROLE_OTHER || op->step != step)
			continue;
		if (role == ROLE_FROM_NEXT && messages.count[role] == 0)
			gradient = op->end;
		messages.count[role]++;
		/* It is awaited from when the last of these is sent, or a moment earlier. */
		if (role == ROLE_TO_NEXT && op->start < gradient)
			messages.ahead++;
		if (op->end > messages.last)
			messages.last = op->end;
	}
	return messages;
}

/* The k-th message of a role; NULL if there are fewer. */
static const struct np_comm_op *message(const struct pipeline_rank *rank, uint32_t step,
					enum pipeline_role role, uint32_t k)
{
	for (size_t i = 0; i < rank->rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->rank->ops.item[i];

		if (rank->roles[i] == role && op->step == step && k-- == 0)
			return op;
	}
	return NULL;
}

/* Which message brings the first gradient, and which one the first of the draining. */
struct marks {
	enum pipeline_role role;
	uint32_t full;
	uint32_t draining; /* UINT32_MAX: none */
	uint32_t micro_batches;
};

static uint32_t less(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Sends and receives say what they are. */
static bool marks_of_messages(const struct messages *messages, struct marks *ret)
{
	uint32_t gradients = messages->count[ROLE_FROM_NEXT];
	uint32_t ahead = messages->ahead > 0 ? messages->ahead - 1 : 0;

	if (gradients > 0)
		*ret = (struct marks){ ROLE_FROM_NEXT, 0, gradients - less(ahead, gradients),
				       gradients };
	else if (messages->count[ROLE_FROM_PREVIOUS] > 0)
		*ret = (struct marks){ ROLE_FROM_PREVIOUS, 0, UINT32_MAX,
				       messages->count[ROLE_FROM_PREVIOUS] };
	else
		return false;
	return true;
}

/*
 * Batches do not: one forward, one backward is taken for granted. A stage with
 * `ahead` stages behind it exchanges that often before the first gradient comes,
 * and as often at the end for gradients alone.
 */
static bool marks_of_batches(const struct messages *messages, uint32_t ahead, struct marks *ret)
{
	uint32_t next = messages->count[ROLE_NEXT];
	uint32_t previous = messages->count[ROLE_PREVIOUS];

	if (next > 0) {
		ahead = less(ahead, next / 2);
		*ret = (struct marks){ ROLE_NEXT, ahead, next - ahead, next - ahead };
		return true;
	}
	/* The last stage takes in, and exchanges until it has given the last gradient back. */
	*ret = (struct marks){ ROLE_PREVIOUS, 0, UINT32_MAX, previous > 1 ? previous - 1 : 1 };
	return previous > 0;
}

bool pipeline_find_phases(const struct pipeline_rank *rank, uint32_t step,
			  struct pipeline_phases *ret)
{
	struct messages messages = count_messages(rank, step);
	uint32_t ahead = (uint32_t)(rank->stages->count - 1 - rank->stages->stage[rank->index]);
	const struct np_comm_op *full;
	const struct np_comm_op *draining;
	struct marks marks;

	if (messages.last == NP_UNKNOWN ||
	    (!marks_of_messages(&messages, &marks) && !marks_of_batches(&messages, ahead, &marks)))
		return false;
	full = message(rank, step, marks.role, marks.full);
	draining = message(rank, step, marks.role, marks.draining);
	*ret = (struct pipeline_phases){ .full = full ? full->end : messages.last,
					 .draining = draining ? draining->start : NP_NS_MAX,
					 .last = messages.last,
					 .micro_batches = marks.micro_batches };
	return true;
}
