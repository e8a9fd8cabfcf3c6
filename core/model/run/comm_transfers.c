/* SPDX-License-Identifier: Apache-2.0 */
/* Sums transfers by link, size and how many ran beside them. */
#include "comm_transfers.h"

#include "npuprof/order.h"

/* Who ran beside a transfer is asked early in its life, after this part of what its like take. */
#define CONCURRENCY_ASKED_AT 8

/* Global ranks; local ones, and of which group, where its members are not known. */
struct link {
	uint32_t group; /* UINT32_MAX: any */
	int32_t src;
	int32_t dst;
};

struct transfer {
	np_ns start;
	np_ns end;
	int64_t bytes;
	const char *transport;
	uint32_t op;
	uint32_t plane;
	int32_t src;
	int32_t dst;
	bool reduces;
	uint8_t concurrency;
	/* Set by describe(): */
	struct link link;
	bool p2p;
	bool troubled;
	uint16_t size_class;
	uint32_t group;
	uint32_t step;
};

struct np_transfers {
	NP_VEC(struct transfer) list;
};

struct np_transfers *np_transfers_new(void)
{
	return calloc(1, sizeof(struct np_transfers));
}

void np_transfers_free(struct np_transfers *transfers)
{
	if (!transfers)
		return;
	np_vec_release(&transfers->list);
	free(transfers);
}

int np_transfers_add(struct np_transfers *transfers, uint32_t op, const struct np_comm_task *task,
		     const char *transport, int64_t bytes, np_ns end, struct np_err *err)
{
	struct transfer *transfer;

	if (task->src == NP_NO_PEER || task->dst == NP_NO_PEER || task->src == task->dst ||
	    bytes == NP_UNKNOWN || bytes <= 0 || end <= task->start)
		return NP_OK;
	transfer = np_vec_add(&transfers->list, err);
	if (!transfer)
		return NP_E_NOMEM;
	transfer->start = task->start;
	transfer->end = end;
	transfer->bytes = bytes;
	transfer->transport = transport;
	transfer->op = op;
	transfer->plane = task->plane;
	transfer->src = task->src;
	transfer->dst = task->dst;
	transfer->reduces = task->reduces;
	return NP_OK;
}

static uint16_t log2_of(uint64_t value)
{
	return (uint16_t)(63 - __builtin_clzll(value | 1));
}

uint16_t np_transfer_class(int64_t bytes)
{
	uint64_t value = bytes < 4 ? 4 : (uint64_t)bytes;
	uint16_t octave = log2_of(value);

	/* The two bits below the highest. */
	return (uint16_t)((uint64_t)octave * 4 + (value >> (octave - 2) & 3));
}

/* How many of the sorted times lie at or before `at`. */
static size_t count_until(const np_ns *times, size_t count, np_ns at)
{
	return np_lower_bound(i, (size_t)0, count, times[i] > at);
}

#define SIZE_CLASSES 256 /* four to each of 64 octaves */

/* How long transfers of each size take, by the mean of their magnitudes (log2 of ns). */
struct lives {
	uint64_t magnitudes[SIZE_CLASSES][2]; /* Σ, by size and whether they reduce */
	uint64_t count[SIZE_CLASSES][2];
};

static struct lives measure_lives(const struct np_transfers *transfers)
{
	struct lives lives = { 0 };

	for (size_t i = 0; i < transfers->list.count; i++) {
		const struct transfer *each = &transfers->list.item[i];

		lives.magnitudes[each->size_class][each->reduces] +=
			log2_of((uint64_t)(each->end - each->start));
		lives.count[each->size_class][each->reduces]++;
	}
	return lives;
}

/*
 * A slow transfer outlives those beside it, the more the slower it is: the moment
 * is one at which its like are still running.
 */
static np_ns concurrency_asked_at(const struct lives *lives, const struct transfer *transfer)
{
	uint64_t magnitude = lives->magnitudes[transfer->size_class][transfer->reduces] /
			     lives->count[transfer->size_class][transfer->reduces];
	np_ns common = INT64_C(1) << magnitude;
	np_ns own = transfer->end - transfer->start;

	return transfer->start + (own < common ? own : common) / CONCURRENCY_ASKED_AT;
}

/* 0 for one, 1 for two, 2 for up to 4 … */
static uint8_t contention_class(size_t running, uint8_t most)
{
	uint16_t class = log2_of(running > 1 ? running * 2 - 1 : 1);

	return class > most ? most : (uint8_t) class;
}

static int by_link(const void *left, const void *right, void *context)
{
	const struct link *a = &((const struct transfer *)context)[*(const uint32_t *)left].link;
	const struct link *b = &((const struct transfer *)context)[*(const uint32_t *)right].link;
	int order = np_order(a->group, b->group);

	if (!order)
		order = np_order(a->src, b->src);
	return order ? order : np_order(a->dst, b->dst);
}

/* Work space for finding out what runs at once. */
struct contention {
	struct lives lives;
	uint32_t *order; /* of the transfers, by link */
	np_ns *starts;
	np_ns *ends;
	np_ns *scratch;
};

/* Of these transfers: how many of them run when each of them does. */
static void find_contention(struct np_transfers *transfers, struct contention *contention,
			    const uint32_t *order, size_t count, bool same_link)
{
	for (size_t i = 0; i < count; i++) {
		contention->starts[i] = transfers->list.item[order[i]].start;
		contention->ends[i] = transfers->list.item[order[i]].end;
	}
	np_sort_times(contention->starts, contention->scratch, count);
	np_sort_times(contention->ends, contention->scratch, count);
	for (size_t i = 0; i < count; i++) {
		struct transfer *each = &transfers->list.item[order[i]];
		np_ns at = concurrency_asked_at(&contention->lives, each);
		size_t running = count_until(contention->starts, count, at) -
				 count_until(contention->ends, count, at);
		unsigned class = contention_class(running, same_link ? NP_CONCURRENCY_LINK_MOST
								     : NP_CONCURRENCY_MOST);

		each->concurrency = (uint8_t)(each->concurrency |
					      class << (same_link ? NP_CONCURRENCY_LINK_SHIFT : 0));
	}
}

/*
 * Transfers that run at once share what they run over: only those in like contention
 * compare, that of the rank and, as two communicators may use it, that of the link.
 */
static int find_concurrency(struct np_transfers *transfers, struct np_err *err)
{
	size_t count = transfers->list.count;
	struct contention contention = { .lives = measure_lives(transfers),
					 .order = calloc(count + 1, sizeof(*contention.order)),
					 .starts = malloc((count + 1) * sizeof(*contention.starts)),
					 .ends = malloc((count + 1) * sizeof(*contention.ends)),
					 .scratch = malloc((count + 1) *
							   sizeof(*contention.scratch)) };
	bool whole = contention.order && contention.starts && contention.ends && contention.scratch;

	if (whole) {
		for (size_t i = 0; i < count; i++)
			contention.order[i] = (uint32_t)i;
		find_contention(transfers, &contention, contention.order, count, false);
		qsort_r(contention.order, count, sizeof(*contention.order), by_link,
			transfers->list.item);
	}
	for (size_t from = 0, to = 0; whole && from < count; from = to) {
		while (to < count && by_link(&contention.order[from], &contention.order[to],
					     transfers->list.item) == 0)
			to++;
		find_contention(transfers, &contention, &contention.order[from], to - from, true);
	}
	free(contention.order);
	free(contention.starts);
	free(contention.ends);
	free(contention.scratch);
	return whole ? NP_OK : np_fail_nomem(err, "transfers");
}

static struct link link_of(const struct np_rank *rank, const struct transfer *transfer)
{
	const struct np_group *group = &rank->groups.item[transfer->group];

	if (group->members && (size_t)transfer->src < group->member_count &&
	    (size_t)transfer->dst < group->member_count)
		return (struct link){ UINT32_MAX, group->members[transfer->src],
				      group->members[transfer->dst] };
	return (struct link){ transfer->group, transfer->src, transfer->dst };
}

static void describe(struct np_transfers *transfers, const struct np_rank *rank)
{
	for (size_t i = 0; i < transfers->list.count; i++) {
		struct transfer *each = &transfers->list.item[i];
		const struct np_comm_op *op = &rank->ops.item[each->op];

		each->group = op->group;
		each->step = op->step;
		each->p2p = op->p2p;
		each->troubled = op->retried || op->relayed;
		each->size_class = np_transfer_class(each->bytes);
		each->link = link_of(rank, each);
	}
}

/*
 * The row to which a transfer is joined, as numbers of which each goes before the next: the
 * order of rows is that of step, communicator, source, destination, transport, plane, kind
 * and size. Transports differ in their first three letters.
 */
struct row_key {
	uint64_t where;
	uint64_t link;
	uint64_t lane;
	uint64_t like; /* and below it which transfer it is */
};

#define INDEX_BITS 32

static uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* In the order of signed numbers. */
static uint32_t raised(int32_t number)
{
	return (uint32_t)number ^ UINT32_C(0x80000000);
}

static uint64_t letters(const char *text)
{
	uint64_t value = 0;

	for (size_t i = 0; i < 3; i++)
		value = value << 8 | (uint8_t) * (*text ? text++ : text);
	return value;
}

static struct row_key key_of(const struct transfer *transfer, size_t index)
{
	return (struct row_key){
		.where = pair(transfer->step, transfer->group),
		.link = pair(raised(transfer->src), raised(transfer->dst)),
		.lane = letters(transfer->transport) << 34 | (uint64_t)transfer->plane << 2 |
			(uint64_t)transfer->p2p << 1 | transfer->reduces,
		.like = ((uint64_t)transfer->concurrency << 16 | transfer->size_class)
				<< INDEX_BITS |
			index,
	};
}

static int by_row(const struct row_key *a, const struct row_key *b)
{
	if (a->where != b->where)
		return a->where < b->where ? -1 : 1;
	if (a->link != b->link)
		return a->link < b->link ? -1 : 1;
	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return np_order((int64_t)(a->like >> INDEX_BITS), (int64_t)(b->like >> INDEX_BITS));
}

static const struct transfer *transfer_of(const struct transfer *list, const struct row_key *key)
{
	return &list[key->like & UINT32_MAX];
}

/* By row, and in it by time per byte, so that the middle one stands in the middle. */
static int by_row_and_speed(const void *left, const void *right, void *list)
{
	const struct transfer *a;
	const struct transfer *b;
	int order = by_row(left, right);
	double slower;

	if (order)
		return order;
	a = transfer_of(list, left);
	b = transfer_of(list, right);
	slower = (double)(a->end - a->start) * (double)b->bytes -
		 (double)(b->end - b->start) * (double)a->bytes;
	if (slower > 0 || slower < 0)
		return slower > 0 ? 1 : -1;
	return np_order(a->bytes, b->bytes);
}

static int add_row(struct np_rank *rank, const struct transfer *list, const struct row_key *keys,
		   size_t count, struct np_strtab *strings, struct np_err *err)
{
	const struct transfer *first = transfer_of(list, keys);
	const struct transfer *middle = transfer_of(list, &keys[(count - 1) / 2]);
	struct np_transfer *row = np_vec_add(&rank->transfers, err);

	if (!row)
		return NP_E_NOMEM;
	*row = (struct np_transfer){ .group = first->group,
				     .step = first->step,
				     .src = first->src,
				     .dst = first->dst,
				     .plane = first->plane,
				     .size_class = first->size_class,
				     .concurrency = first->concurrency,
				     .p2p = first->p2p,
				     .reduces = first->reduces,
				     .count = (uint32_t)count,
				     .middle_bytes = middle->bytes,
				     .middle_time = middle->end - middle->start };
	for (size_t i = 0; i < count; i++) {
		const struct transfer *each = transfer_of(list, &keys[i]);

		row->bytes += each->bytes;
		row->time += each->end - each->start;
		row->troubled += each->troubled;
	}
	return np_strtab_add(strings, first->transport, strlen(first->transport), &row->transport,
			     err);
}

int np_transfers_reduce(struct np_transfers *transfers, struct np_rank *rank,
			struct np_strtab *strings, struct np_err *err)
{
	struct transfer *list = transfers->list.item;
	size_t count = transfers->list.count;
	struct row_key *keys;
	int rc;

	if (count == 0)
		return NP_OK;
	describe(transfers, rank);
	rc = find_concurrency(transfers, err);
	keys = malloc(count * sizeof(*keys));
	if (rc == NP_OK && (!keys || count > UINT32_MAX))
		rc = np_fail_nomem(err, "transfers");
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		keys[i] = key_of(&list[i], i);
	if (rc == NP_OK)
		qsort_r(keys, count, sizeof(*keys), by_row_and_speed, list);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		while (to < count && by_row(&keys[from], &keys[to]) == 0)
			to++;
		rc = add_row(rank, list, &keys[from], to - from, strings, err);
	}
	free(keys);
	return rc;
}
