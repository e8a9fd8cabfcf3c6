/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts the bubbles of a pipeline by their causes (bubble.h). */
#include "bubble.h"

void syn_bubble_release(struct syn_bubble_account *account)
{
	np_vec_release(&account->ops);
}

/* The micro-batch whose gradient a message brings to the rank, or -1. */
static int64_t gradient_of(const struct syn_config *config, const struct syn_place *place,
			   const struct syn_instance *instance)
{
	int64_t micro = instance->index / 2 % config->micro_batches;
	int64_t ahead = config->pp - 1 - place->pp;

	if (instance->low != place->pp || instance->down_bytes == 0)
		return -1;
	/* An exchange is named after what goes forward in it, if anything does. */
	return instance->up_bytes > 0 ? micro - ahead : micro;
}

static void mark(const struct syn_config *config, const struct syn_place *place,
		 const struct syn_instance *instance, struct syn_bubble_op *op)
{
	int64_t ahead = config->pp - 1 - place->pp;
	int64_t micro;

	if (ahead > config->micro_batches)
		ahead = config->micro_batches;
	if (place->pp == config->pp - 1) {
		/* The last stage is filled when its first input is there. */
		op->fills =
			instance->up_bytes > 0 && instance->index / 2 % config->micro_batches == 0;
		return;
	}
	micro = gradient_of(config, place, instance);
	op->fills = micro == 0;
	op->drains = micro >= 0 && micro == config->micro_batches - ahead;
}

int syn_bubble_comm(struct syn_bubble_account *account, const struct syn_config *config,
		    const struct syn_place *place, const struct syn_comm_event *comm,
		    struct np_err *err)
{
	struct syn_bubble_op *op;
	np_ns length = comm->end_ns - comm->start_ns;

	if (config->pp < 2 || !comm->instance)
		return NP_OK;
	op = np_vec_add(&account->ops, err);
	if (!op)
		return NP_E_NOMEM;
	op->start_ns = comm->start_ns;
	op->end_ns = comm->end_ns;
	op->message = syn_op_is_p2p(comm->op);
	/* It ends a known time after the last member has come, and a little later. */
	op->wait_ns = length - comm->instance->transfer_ns -
		      syn_comm_end_noise(config, comm->instance, place->rank);
	if (op->wait_ns < 0)
		op->wait_ns = 0;
	if (op->message)
		mark(config, place, comm->instance, op);
	return NP_OK;
}

static int by_start(const void *a, const void *b)
{
	const struct syn_bubble_op *x = a;
	const struct syn_bubble_op *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns > y->start_ns ? 1 : -1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* What of [from, to) no kernel covers; `first` is a kernel that ends before no later call. */
static np_ns uncovered(const struct syn_intervals *kernels, size_t *first, np_ns from, np_ns to)
{
	np_ns length = to > from ? to - from : 0;

	while (*first < kernels->all.count && kernels->all.item[*first].end_ns <= from)
		(*first)++;
	for (size_t i = *first; i < kernels->all.count && kernels->all.item[i].start_ns < to; i++) {
		np_ns begin = kernels->all.item[i].start_ns;
		np_ns end = kernels->all.item[i].end_ns;

		begin = begin > from ? begin : from;
		end = end < to ? end : to;
		length -= end > begin ? end - begin : 0;
	}
	return length;
}

/* When the pipeline is full, begins to drain, and sees its last message. */
struct phases {
	np_ns full_ns;
	np_ns draining_ns;
	np_ns last_ns;
};

static struct phases phases_of(const struct syn_bubble_account *account)
{
	struct phases phases = { INT64_MIN, INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < account->ops.count; i++) {
		const struct syn_bubble_op *op = &account->ops.item[i];

		if (op->fills)
			phases.full_ns = op->end_ns;
		if (op->drains)
			phases.draining_ns = op->start_ns;
		if (op->message && op->end_ns > phases.last_ns)
			phases.last_ns = op->end_ns;
	}
	return phases;
}

/* An operator from where earlier ones have ended: its waiting comes first. */
static void add_op(const struct syn_bubble_op *op, const struct phases *phases,
		   const struct syn_intervals *kernels, size_t *first, np_ns from,
		   struct syn_bubble *ret)
{
	np_ns waited = op->start_ns + op->wait_ns;
	np_ns tail = from > phases->last_ns ? from : phases->last_ns;
	np_ns all = uncovered(kernels, first, from, op->end_ns);
	size_t place = *first;
	np_ns waiting;

	if (op->message) {
		np_ns steady_from = from > phases->full_ns ? from : phases->full_ns;
		np_ns steady_to = waited < phases->draining_ns ? waited : phases->draining_ns;
		np_ns steady = uncovered(kernels, &place, steady_from, steady_to);

		place = *first;
		waiting = uncovered(kernels, &place, from, waited);
		ret->imbalance_ns += steady;
		ret->warmup_ns += waiting - steady;
		ret->transfer_ns += all - waiting;
		return;
	}
	waiting = uncovered(kernels, &place, tail, waited);
	ret->tail_ns += waiting;
	ret->other_comm_ns += all - waiting;
}

void syn_bubble_close(struct syn_bubble_account *account, const struct syn_intervals *computing,
		      struct syn_bubble *ret)
{
	struct phases phases = phases_of(account);
	np_ns begin = INT64_MAX;
	np_ns end = INT64_MIN;
	np_ns until = INT64_MIN;
	size_t first = 0;

	*ret = (struct syn_bubble){ .useful_ns = syn_intervals_length(computing) };
	if (computing->all.count > 0) {
		begin = computing->all.item[0].start_ns;
		end = computing->all.item[computing->all.count - 1].end_ns;
	}
	if (account->ops.count > 0)
		qsort(account->ops.item, account->ops.count, sizeof(struct syn_bubble_op),
		      by_start);
	for (size_t i = 0; i < account->ops.count; i++) {
		const struct syn_bubble_op *op = &account->ops.item[i];
		np_ns from = op->start_ns > until ? op->start_ns : until;

		begin = op->start_ns < begin ? op->start_ns : begin;
		end = op->end_ns > end ? op->end_ns : end;
		if (op->end_ns <= from)
			continue;
		add_op(op, &phases, computing, &first, from, ret);
		until = op->end_ns;
	}
	if (end > begin)
		ret->host_ns = end - begin - ret->useful_ns - ret->other_comm_ns - ret->warmup_ns -
			       ret->imbalance_ns - ret->transfer_ns - ret->tail_ns;
	account->ops.count = 0;
}
