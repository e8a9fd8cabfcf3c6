/* SPDX-License-Identifier: Apache-2.0 */
/* To whom messages went that do not say so, by their order and the times at which they end. */
#include "npuprof/pipeline.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"

#include <strings.h>

/*
 * To whom messages went
 * ---------------------
 *
 * At Level0 a message in a communicator of more than two ranks does not name its
 * other end. Both ends of a message end together, though, none ends before it was
 * sent, and messages between two ranks do not overtake each other. The first stage
 * has a neighbour on one side only: all of its messages are the second's. What the
 * second stage has beyond those is the third's, and so on to the last, which must
 * be left with none. Where that fails the stages may be a ring, as in interleaved
 * schedules, in which each message has one of two neighbours: the nearer one.
 *
 * Of all ways to give the messages of a stage, in their order, to those of the next
 * the one is taken whose ends are nearest to each other in sum: a message that ends
 * by chance with one of the other direction has its place by those around it. Where
 * another way is nearly as near the message is in doubt; where messages find no
 * match, or too many are in doubt, nothing is claimed.
 */

/* Ends of one message differ by about this and so many residuals of the clocks, at most by so
 * many times as much. Where that tells too little, they may differ by so many times more. */
#define TOLERANCE_NS 50000
#define RESIDUALS    5
#define REACH        4
#define WIDER        4
#define WIDEST       64

/* In doubt is who has another place that makes the sum larger by less than so many times the mean
 * distance of two ends. */
#define DOUBT 2

/* So many of the messages of a communicator must be found, and no more than so many in doubt: a
 * wrong one is off by what makes it doubtful. */
#define TOLD_SHARE  0.98
#define DOUBT_SHARE 0.25

enum message_kind {
	KIND_SEND,
	KIND_RECEIVE,
	KIND_BATCH,
};

struct peer_message {
	np_ns start; /* on the common clock */
	np_ns end;
	int64_t bytes;
	uint32_t op;
	enum message_kind kind;
	uint16_t recorded; /* peer; 0: not */
	uint16_t peer;     /* local rank + 1; 0 until it is found */
	uint32_t member;   /* then: where it is, in the lists of members */
	uint32_t with;     /* and which message of it */
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
	np_ns error; /* of clocks: nothing ends so much before it was sent */
	size_t doubts;
	size_t unknown; /* messages that do not name their ends */
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

/* What its tasks say; nobody sends messages to itself. */
static uint16_t recorded_peer(const struct np_comm_op *op, uint16_t local)
{
	return op->peer == NP_PEERS || op->peer == local + 1 ? 0 : op->peer;
}

static int add_messages(struct peer_members *members, uint64_t hash, struct peer_member *member,
			struct np_err *err)
{
	const struct np_run *run = members->cluster->run;
	const struct np_rank *rank = run->ranks[member->rank];

	for (uint32_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct peer_message *message;

		if (!op->p2p || rank->groups.item[op->group].hash != hash)
			continue;
		message = np_vec_add(&member->list, err);
		if (!message)
			return NP_E_NOMEM;
		*message = (struct peer_message){
			.start = np_clock_time(members->clock, member->rank, op->start),
			.end = np_clock_time(members->clock, member->rank, op->end),
			.bytes = op->bytes,
			.op = i,
			.kind = kind_of(np_strtab_text(run->strings, op->type)),
			.recorded = recorded_peer(op, member->local),
		};
		members->unknown += message->recorded == 0;
	}
	if (member->list.count)
		qsort(member->list.item, member->list.count, sizeof(struct peer_message), by_end);
	return NP_OK;
}

/* Without stages, ranks of a pipeline are in their order. */
static int by_stage(const void *left, const void *right)
{
	const struct peer_member *a = left;
	const struct peer_member *b = right;

	return a->stage != b->stage ? np_order(a->stage, b->stage) : np_order(a->rank, b->rank);
}

/* The members by local rank; NULL if it is not known who they are, or not all were profiled. */
static const int32_t *members_of(const struct np_communicator *communicator)
{
	if (communicator->observed_count != communicator->size)
		return NULL;
	if (communicator->global_count == communicator->size && communicator->members)
		return communicator->global;
	return communicator->members ? NULL : communicator->observed;
}

static int add_member(struct peer_members *members, const struct np_communicator *communicator,
		      size_t local, int32_t id, bool *ret, struct np_err *err)
{
	const struct np_cluster *cluster = members->cluster;
	size_t index = np_run_index(cluster->run, id);
	struct peer_member *member;

	*ret = index != SIZE_MAX && cluster->run->ranks[index];
	if (!*ret)
		return NP_OK;
	member = np_vec_add(&members->list, err);
	if (!member)
		return NP_E_NOMEM;
	member->rank = (uint32_t)index;
	member->local = (uint16_t)local;
	member->stage = np_cluster_stage_at(cluster, index);
	*ret = np_clock_related(members->clock, index, members->list.item[0].rank);
	return add_messages(members, communicator->hash, member, err);
}

/* All members with their messages; false in *ret if that cannot be had or is not needed. */
static int gather(struct peer_members *members, const struct np_communicator *communicator,
		  bool *ret, struct np_err *err)
{
	const int32_t *ids = members_of(communicator);
	size_t staged = 0;
	int rc = NP_OK;

	*ret = communicator->p2p && communicator->size > 2 && communicator->size < NP_PEERS && ids;
	for (size_t i = 0; *ret && i < communicator->size && rc == NP_OK; i++)
		rc = add_member(members, communicator, i, ids[i], ret, err);
	*ret = *ret && members->unknown > 0;
	if (rc < 0 || !*ret)
		return rc;
	qsort(members->list.item, members->list.count, sizeof(struct peer_member), by_stage);
	for (size_t i = 0; i < members->list.count; i++)
		staged += members->list.item[i].stage >= 0;
	*ret = staged == 0 || staged == members->list.count;
	for (size_t i = 1; i < members->list.count && staged > 0; i++)
		*ret = *ret && members->list.item[i - 1].stage != members->list.item[i].stage;
	return NP_OK;
}

/* --- matching -------------------------------------------------------------------------------- */

/* Two messages that may be one. */
struct peer_pair {
	uint32_t low; /* in the lists of the two stages */
	uint32_t high;
	double gain;     /* how much nearer than they must be */
	double before;   /* most that they and pairs before them gain in sum */
	double after;    /* they and pairs after them */
	uint32_t former; /* the pair before in that sum; UINT32_MAX: none */
};

struct peer_pairs {
	NP_VEC(struct peer_pair) list; /* by low, then high */
	double *best;                  /* tree of the largest sums, by place in the list of high */
	uint32_t *whose;
	size_t places;
};

static np_ns apart(const struct peer_message *a, const struct peer_message *b)
{
	return a->end > b->end ? a->end - b->end : b->end - a->end;
}

static bool is_named(const struct peer_message *message, const struct peer_member *other)
{
	return message->recorded == 0 || message->recorded == other->local + 1;
}

/* Sent after the other end had it? */
static bool is_too_late(const struct peer_message *a, const struct peer_message *b, np_ns tolerance)
{
	return (a->kind == KIND_SEND && a->start > b->end + tolerance) ||
	       (b->kind == KIND_SEND && b->start > a->end + tolerance);
}

static int list_pairs(const struct peer_members *members, const struct peer_member *low,
		      enum message_kind kind, const struct peer_member *high,
		      enum message_kind other, struct peer_pairs *pairs, struct np_err *err)
{
	np_ns reach = REACH * members->tolerance;
	size_t from = 0;

	for (uint32_t i = 0; i < low->list.count; i++) {
		const struct peer_message *message = &low->list.item[i];

		if (message->kind != kind || message->peer != 0)
			continue;
		while (from < high->list.count && high->list.item[from].end < message->end - reach)
			from++;
		for (size_t j = from; j < high->list.count; j++) {
			const struct peer_message *each = &high->list.item[j];
			struct peer_pair *pair;

			if (each->end >= message->end + reach)
				break;
			if (each->kind != other || each->peer != 0 ||
			    each->bytes != message->bytes || !is_named(message, high) ||
			    !is_named(each, low) || is_too_late(message, each, members->error))
				continue;
			pair = np_vec_add(&pairs->list, err);
			if (!pair)
				return NP_E_NOMEM;
			*pair = (struct peer_pair){
				.low = i,
				.high = (uint32_t)j,
				.gain = (double)(reach - apart(message, each)),
				.former = UINT32_MAX,
			};
		}
	}
	return NP_OK;
}

/* The largest sum of pairs whose place is below this one; its pair in *ret. */
static double best_below(const struct peer_pairs *pairs, size_t place, uint32_t *ret)
{
	double best = 0;

	*ret = UINT32_MAX;
	for (size_t i = place; i > 0; i -= i & (~i + 1)) {
		if (pairs->best[i] > best) {
			best = pairs->best[i];
			*ret = pairs->whose[i];
		}
	}
	return best;
}

static void put_best(struct peer_pairs *pairs, size_t place, double sum, uint32_t whose)
{
	for (size_t i = place + 1; i <= pairs->places; i += i & (~i + 1)) {
		if (sum > pairs->best[i]) {
			pairs->best[i] = sum;
			pairs->whose[i] = whose;
		}
	}
}

static void sum_before(struct peer_pairs *pairs)
{
	struct peer_pair *list = pairs->list.item;

	for (size_t i = 0, next; i < pairs->list.count; i = next) {
		for (next = i; next < pairs->list.count && list[next].low == list[i].low; next++)
			list[next].before = list[next].gain +
					    best_below(pairs, list[next].high, &list[next].former);
		for (size_t j = i; j < next; j++)
			put_best(pairs, list[j].high, list[j].before, (uint32_t)j);
	}
}

static void sum_after(struct peer_pairs *pairs)
{
	struct peer_pair *list = pairs->list.item;
	uint32_t whose;

	for (size_t i = 0; i <= pairs->places; i++)
		pairs->best[i] = 0;
	for (size_t i = pairs->list.count, next; i > 0; i = next) {
		for (next = i; next > 0 && list[next - 1].low == list[i - 1].low; next--) {
			struct peer_pair *pair = &list[next - 1];

			pair->after = pair->gain +
				      best_below(pairs, pairs->places - 1 - pair->high, &whose);
		}
		for (size_t j = next; j < i; j++)
			put_best(pairs, pairs->places - 1 - list[j].high, list[j].after,
				 (uint32_t)j);
	}
}

/* Messages that might as well have another end, if a way may be worse by `margin`. */
static size_t count_doubts(const struct peer_pairs *pairs, double best, double margin)
{
	const struct peer_pair *list = pairs->list.item;
	size_t doubts = 0;

	for (size_t i = 0, next; i < pairs->list.count; i = next) {
		size_t ways = 0;

		for (next = i; next < pairs->list.count && list[next].low == list[i].low; next++)
			ways += list[next].before + list[next].after - list[next].gain >=
				best - margin;
		doubts += ways > 1;
	}
	return doubts;
}

static void join_messages(struct peer_members *members, uint32_t a, uint32_t in_a, uint32_t b,
			  uint32_t in_b)
{
	struct peer_member *first = &members->list.item[a];
	struct peer_member *second = &members->list.item[b];

	first->list.item[in_a].peer = (uint16_t)(second->local + 1);
	first->list.item[in_a].member = b;
	first->list.item[in_a].with = in_b;
	second->list.item[in_b].peer = (uint16_t)(first->local + 1);
	second->list.item[in_b].member = a;
	second->list.item[in_b].with = in_a;
}

static void take_best(struct peer_members *members, struct peer_member *low,
		      struct peer_member *high, const struct peer_pairs *pairs)
{
	double reach = (double)(REACH * members->tolerance);
	uint32_t last = UINT32_MAX;
	double best = best_below(pairs, pairs->places, &last);
	double distance = 0;
	double count = 0;

	for (uint32_t i = last; i != UINT32_MAX; i = pairs->list.item[i].former) {
		const struct peer_pair *pair = &pairs->list.item[i];

		join_messages(members, (uint32_t)(low - members->list.item), pair->low,
			      (uint32_t)(high - members->list.item), pair->high);
		distance += reach - pair->gain;
		count++;
	}
	if (count > 0)
		members->doubts += count_doubts(pairs, best, DOUBT * distance / count);
}

/* All that a stage has left of one kind went to, or came from, the next. */
static int match(struct peer_members *members, struct peer_member *low, enum message_kind kind,
		 struct peer_member *high, enum message_kind other, struct np_err *err)
{
	struct peer_pairs pairs = { .places = high->list.count };
	int rc = list_pairs(members, low, kind, high, other, &pairs, err);

	if (rc == NP_OK && pairs.list.count) {
		pairs.best = calloc(pairs.places + 1, sizeof(*pairs.best));
		pairs.whose = calloc(pairs.places + 1, sizeof(*pairs.whose));
		if (!pairs.best || !pairs.whose)
			rc = np_fail_nomem(err, "peers of messages");
	}
	if (rc == NP_OK && pairs.list.count) {
		sum_after(&pairs);
		for (size_t i = 0; i <= pairs.places; i++)
			pairs.best[i] = 0;
		sum_before(&pairs);
		take_best(members, low, high, &pairs);
	}
	free(pairs.best);
	free(pairs.whose);
	np_vec_release(&pairs.list);
	return rc;
}

/* False if too much is left or in doubt. */
static bool is_told(const struct peer_members *members)
{
	size_t total = 0;
	size_t found = 0;

	for (size_t i = 0; i < members->list.count; i++) {
		const struct peer_member *member = &members->list.item[i];

		for (size_t j = 0; j < member->list.count; j++)
			found += member->list.item[j].peer != 0;
		total += member->list.count;
	}
	/* Doubts are of messages, each of which two members have. */
	return total > 0 && (double)found >= TOLD_SHARE * (double)total &&
	       2 * (double)members->doubts <= DOUBT_SHARE * (double)total;
}

static void forget(struct peer_members *members)
{
	for (size_t i = 0; i < members->list.count; i++) {
		struct peer_member *member = &members->list.item[i];

		for (size_t j = 0; j < member->list.count; j++)
			member->list.item[j].peer = 0;
	}
	members->doubts = 0;
}

static int match_row(struct peer_members *members, struct np_err *err)
{
	int rc = NP_OK;

	forget(members);
	for (size_t i = 0; i + 1 < members->list.count && rc == NP_OK; i++) {
		struct peer_member *low = &members->list.item[i];
		struct peer_member *high = &members->list.item[i + 1];

		rc = match(members, low, KIND_SEND, high, KIND_RECEIVE, err);
		if (rc == NP_OK)
			rc = match(members, low, KIND_RECEIVE, high, KIND_SEND, err);
		if (rc == NP_OK)
			rc = match(members, low, KIND_BATCH, high, KIND_BATCH, err);
	}
	return rc;
}

/* --- rings --------------------------------------------------------------------------------------
 */

/* Two messages of neighbours in a ring that may be one. */
struct ring_pair {
	np_ns apart;
	uint32_t from; /* member that sends */
	uint32_t to;
	uint32_t sent; /* in its list */
	uint32_t got;
};

struct ring {
	struct peer_members *members;
	NP_VEC(struct ring_pair) list;
	struct np_err *err;
};

static int by_apart(const void *left, const void *right)
{
	const struct ring_pair *a = left;
	const struct ring_pair *b = right;

	if (a->apart != b->apart)
		return np_order(a->apart, b->apart);
	if (a->from != b->from)
		return np_order(a->from, b->from);
	if (a->sent != b->sent)
		return np_order(a->sent, b->sent);
	return a->to != b->to ? np_order(a->to, b->to) : np_order(a->got, b->got);
}

static int list_ring_pairs(struct ring *ring, uint32_t from, uint32_t to)
{
	const struct peer_member *sender = &ring->members->list.item[from];
	const struct peer_member *receiver = &ring->members->list.item[to];
	struct peer_pairs pairs = { .places = receiver->list.count };
	int rc = list_pairs(ring->members, sender, KIND_SEND, receiver, KIND_RECEIVE, &pairs,
			    ring->err);

	for (size_t i = 0; i < pairs.list.count && rc == NP_OK; i++) {
		const struct peer_pair *pair = &pairs.list.item[i];
		struct ring_pair *slot = np_vec_add(&ring->list, ring->err);

		if (!slot)
			rc = NP_E_NOMEM;
		else
			*slot = (struct ring_pair){
				.apart = apart(&sender->list.item[pair->low],
					       &receiver->list.item[pair->high]),
				.from = from,
				.to = to,
				.sent = pair->low,
				.got = pair->high,
			};
	}
	np_vec_release(&pairs.list);
	return rc;
}

static struct peer_message *sent_of(const struct ring *ring, const struct ring_pair *pair)
{
	return &ring->members->list.item[pair->from].list.item[pair->sent];
}

static struct peer_message *got_of(const struct ring *ring, const struct ring_pair *pair)
{
	return &ring->members->list.item[pair->to].list.item[pair->got];
}

/* The nearest first; what is left of a message that is taken is in doubt if it is as near. */
static void take_nearest(struct ring *ring)
{
	struct peer_members *members = ring->members;
	double distance = 0;
	double count = 0;

	for (size_t i = 0; i < ring->list.count; i++) {
		const struct ring_pair *pair = &ring->list.item[i];
		struct peer_message *sent = sent_of(ring, pair);
		struct peer_message *got = got_of(ring, pair);

		if (sent->peer == 0 && got->peer == 0) {
			join_messages(members, pair->from, pair->sent, pair->to, pair->got);
			distance += (double)pair->apart;
			count++;
		} else if ((double)pair->apart * count <= DOUBT * distance) {
			members->doubts++;
		}
	}
}

static int match_ring(struct peer_members *members, struct np_err *err)
{
	struct ring ring = { .members = members, .err = err };
	uint32_t count = (uint32_t)members->list.count;
	int rc = NP_OK;

	forget(members);
	for (uint32_t i = 0; i < count && rc == NP_OK; i++) {
		rc = list_ring_pairs(&ring, i, (i + 1) % count);
		if (rc == NP_OK)
			rc = list_ring_pairs(&ring, (i + 1) % count, i);
	}
	if (ring.list.count > 0)
		qsort(ring.list.item, ring.list.count, sizeof(*ring.list.item), by_apart);
	if (rc == NP_OK)
		take_nearest(&ring);
	np_vec_release(&ring.list);
	return rc;
}

/* --- messages that end together ----------------------------------------------------------------
 */

static struct peer_message *other_end(const struct peer_members *members,
				      const struct peer_message *message)
{
	return &members->list.item[message->member].list.item[message->with];
}

/* Would two messages of a member be nearer to their other ends if these were exchanged? */
static bool is_crossed(const struct peer_members *members, const struct peer_member *member,
		       const struct peer_message *a, const struct peer_message *b)
{
	const struct peer_message *with_a;
	const struct peer_message *with_b;

	if (a->peer == 0 || b->peer == 0 || a->peer == b->peer || a->kind != b->kind ||
	    a->bytes != b->bytes)
		return false;
	with_a = other_end(members, a);
	with_b = other_end(members, b);
	if (with_a->kind != with_b->kind || !is_named(a, &members->list.item[b->member]) ||
	    !is_named(b, &members->list.item[a->member]) || !is_named(with_a, member) ||
	    !is_named(with_b, member) || is_too_late(a, with_b, members->error) ||
	    is_too_late(b, with_a, members->error))
		return false;
	return apart(a, with_b) + apart(b, with_a) < apart(a, with_a) + apart(b, with_b);
}

/*
 * One neighbour after the other is matched without those behind it: of messages that
 * two neighbours exchange with a rank at once, each may have the other one's.
 */
static void uncross(struct peer_members *members)
{
	for (uint32_t i = 0; i < members->list.count; i++) {
		struct peer_member *member = &members->list.item[i];
		struct peer_message *list = member->list.item;

		for (uint32_t j = 0; j < member->list.count; j++) {
			for (uint32_t k = j + 1; k < member->list.count &&
						 list[k].end - list[j].end < members->tolerance;
			     k++) {
				struct peer_message a = list[j];
				struct peer_message b = list[k];

				if (!is_crossed(members, member, &a, &b))
					continue;
				join_messages(members, i, j, b.member, b.with);
				join_messages(members, i, k, a.member, a.with);
			}
		}
	}
}

/* --- all communicators ---------------------------------------------------------------------- */

/* False in *ret if nothing can be claimed. */
static int match_all(struct peer_members *members, bool *ret, struct np_err *err)
{
	np_ns tolerance = members->tolerance;
	int rc = NP_OK;

	*ret = false;
	for (np_ns times = 1; times <= WIDEST && rc == NP_OK && !*ret; times *= WIDER) {
		members->tolerance = times * tolerance;
		rc = match_row(members, err);
		if (rc == NP_OK && !is_told(members))
			rc = match_ring(members, err);
		uncross(members);
		*ret = is_told(members);
	}
	return rc;
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
					.tolerance = TOLERANCE_NS + RESIDUALS * residual,
					.error = TOLERANCE_NS + RESIDUALS * residual };
	bool usable = false;
	int rc = gather(&members, communicator, &usable, err);

	if (rc == NP_OK && usable)
		rc = match_all(&members, &usable, err);
	if (rc == NP_OK && usable) {
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
