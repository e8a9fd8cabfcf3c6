/* SPDX-License-Identifier: Apache-2.0 */
/* Messages into a buffer: what a receive takes from the send on, and what from its own start. */
#include "replay_program.h"

#include "npuprof/align.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"

/*
 * A message that its sender puts into a buffer is there a transfer later, whether or not
 * somebody waits for it; who comes later than that takes it out of the buffer. A recording
 * shows one of the two of each message: the other is that of comparable ones. Without it,
 * whoever comes too late in the recording would get its messages at once where it does not.
 */
struct buffered {
	uint32_t src; /* indices in the run */
	uint32_t dst;
	int64_t bytes;
	uint32_t send; /* slots */
	uint32_t receive;
	np_ns sent; /* to the end of the receive, from the start of the send; */
	np_ns own;  /* from its own */
	np_ns sends;
	bool late; /* the sender had gone when the receiver came */
	bool waited;
};

typedef NP_VEC(struct buffered) buffered_list;

/* Longer ones do not fit into a member; nor is that a message. */
#define LONGEST INT32_MAX

/* A send that takes so many times as long as those into a buffer waited. */
#define WAITED_TO_SEND 2

static int list_messages(const struct np_replay *replay, buffered_list *ret, struct np_err *err)
{
	const struct np_align *align = replay->align;

	for (size_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];
		uint32_t receive = replay_receive(replay, instance);
		uint32_t send = receive == instance->first ? receive + 1 : instance->first;
		const struct np_replay_op *from = &replay->ops[send];
		const struct np_replay_op *to = &replay->ops[receive];
		struct buffered *added;

		if (receive == NO_SLOT || to->end <= to->start || to->end <= from->start ||
		    to->end - to->start > LONGEST || to->end - from->start > LONGEST)
			continue;
		added = np_vec_add(ret, err);
		if (!added)
			return NP_E_NOMEM;
		*added = (struct buffered){ .src = align->members[send].rank,
					    .dst = align->members[receive].rank,
					    .bytes = instance->bytes,
					    .send = send,
					    .receive = receive,
					    .sent = to->end - from->start,
					    .own = to->end - to->start,
					    .sends = from->end - from->start,
					    .late = to->start > from->end,
					    .waited = to->start <= from->start };
	}
	return NP_OK;
}

static int by_size(const struct buffered *a, const struct buffered *b)
{
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int by_route(const void *left, const void *right)
{
	const struct buffered *a = left;
	const struct buffered *b = right;

	if (by_size(a, b) != 0)
		return by_size(a, b);
	if (a->src != b->src)
		return a->src < b->src ? -1 : 1;
	if (a->dst != b->dst)
		return a->dst < b->dst ? -1 : 1;
	return (a->receive > b->receive) - (a->receive < b->receive);
}

/* What comparable messages show; NP_UNKNOWN where none of them does. */
struct buffered_times {
	np_ns sent;
	np_ns own;
	np_ns sends;
};

static np_ns median_or_none(double *values, size_t count)
{
	return count > 0 ? (np_ns)np_median(values, count) : NP_UNKNOWN;
}

static struct buffered_times show(const struct buffered *list, size_t count, double *values)
{
	struct buffered_times shown;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (list[i].waited)
			values[used++] = (double)list[i].sent;
	}
	shown.sent = median_or_none(values, used);
	used = 0;
	for (size_t i = 0; i < count; i++) {
		if (list[i].late)
			values[used++] = (double)list[i].own;
	}
	shown.own = median_or_none(values, used);
	used = 0;
	for (size_t i = 0; i < count; i++) {
		if (list[i].late)
			values[used++] = (double)list[i].sends;
	}
	shown.sends = median_or_none(values, used);
	return shown;
}

static int settle(struct np_replay *replay, const struct np_replay_settled *settled,
		  struct np_err *err)
{
	struct np_replay_settled *added = np_vec_add(&replay->settled, err);

	if (!added)
		return NP_E_NOMEM;
	*added = *settled;
	return NP_OK;
}

static np_ns at_most(np_ns value, np_ns most)
{
	return value == NP_UNKNOWN || value > most ? most : value;
}

/* The messages of one route, some of which were seen to be put into a buffer. */
static int settle_route(struct np_replay *replay, const struct buffered *list, size_t count,
			const struct buffered_times *shown, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const struct buffered *each = &list[i];
		np_ns last = replay->ops[each->receive].start > replay->ops[each->send].start
				     ? each->own
				     : each->sent;
		struct np_replay_settled receive = { .after = last,
						     .slot = each->receive,
						     .wait = WAIT_BUFFER,
						     .own = (int32_t)each->own,
						     .sent = (int32_t)each->sent };

		/* One of the two is what ended it: the other was over by then. */
		if (each->late)
			receive.sent = (int32_t)at_most(shown->sent, each->sent);
		else
			receive.own = (int32_t)at_most(shown->own, each->own);
		rc = settle(replay, &receive, err);
		if (rc == NP_OK && each->sends <= WAITED_TO_SEND * shown->sends)
			rc = settle(replay,
				    &(struct np_replay_settled){ .after = each->sends,
								 .slot = each->send,
								 .wait = WAIT_SELF },
				    err);
	}
	return rc;
}

static size_t end_of_route(const buffered_list *list, size_t from)
{
	size_t to = from + 1;

	while (to < list->count && by_size(&list->item[to], &list->item[from]) == 0 &&
	       list->item[to].src == list->item[from].src &&
	       list->item[to].dst == list->item[from].dst)
		to++;
	return to;
}

static int settle_size(struct np_replay *replay, const buffered_list *list, size_t from, size_t to,
		       double *values, struct np_err *err)
{
	struct buffered_times all = show(&list->item[from], to - from, values);
	int rc = NP_OK;

	/* Nobody ever waited, or nobody ever came late: nothing tells the other of the two. */
	if (all.sent == NP_UNKNOWN || all.own == NP_UNKNOWN)
		return NP_OK;
	for (size_t end; from < to && rc == NP_OK; from = end) {
		struct buffered_times shown;

		end = end_of_route(list, from);
		shown = show(&list->item[from], end - from, values);
		if (shown.sent == NP_UNKNOWN)
			shown.sent = all.sent;
		if (shown.own != NP_UNKNOWN)
			rc = settle_route(replay, &list->item[from], end - from, &shown, err);
	}
	return rc;
}

int replay_settle_buffered(struct np_replay *replay, struct np_err *err)
{
	buffered_list list = { 0 };
	double *values = NULL;
	int rc = list_messages(replay, &list, err);

	if (rc == NP_OK) {
		values = malloc((list.count + 1) * sizeof(*values));
		rc = values ? NP_OK : np_fail_nomem(err, "the replay");
	}
	if (rc == NP_OK && list.count > 0)
		qsort(list.item, list.count, sizeof(list.item[0]), by_route);
	for (size_t from = 0, to = 0; from < list.count && rc == NP_OK; from = to) {
		while (to < list.count && by_size(&list.item[to], &list.item[from]) == 0)
			to++;
		rc = settle_size(replay, &list, from, to, values, err);
	}
	free(values);
	np_vec_release(&list);
	return rc;
}
