/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations that ranks found by themselves: are they the same, and which is which? */
#include "iterations.h"

#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/strtab.h"

#include <stdio.h>

/* Iterations are tried against those so far before and after. */
#define MOST_SHIFT 16

/* So many of the compared collectives must be of one kind and size. */
#define LEAST_ALIKE 0.9

/* Differences of ends may scatter by this part of an iteration. */
#define MOST_SCATTER 0.1

/* So many must say that two captures did not begin together. */
#define LEAST_PLAIN 8

/* So many collectives of two ranks are compared. */
#define MOST_COMPARED 4096

/* The collectives of a communicator on one rank, iteration by iteration. */
struct shared_ops {
	uint32_t *op;    /* index in np_rank.ops */
	uint32_t *first; /* by iteration, and one more: index in `op` */
	size_t steps;
};

static void shared_ops_release(struct shared_ops *ops)
{
	free(ops->op);
	free(ops->first);
	*ops = (struct shared_ops){ 0 };
}

/* Messages and batches of them are between some members of a communicator. */
static bool is_collective(const struct np_strtab *strings, const struct np_comm_op *op)
{
	return !op->p2p && !strcasestr(np_strtab_text(strings, op->type), "send");
}

/* Operators are by start, and so are their iterations. */
static int list_ops(const struct np_rank *rank, const struct np_strtab *strings, uint64_t hash,
		    struct shared_ops *ret, struct np_err *err)
{
	size_t count = 0;
	size_t step = 0;

	*ret = (struct shared_ops){ .op = malloc((rank->ops.count + 1) * sizeof(*ret->op)),
				    .first = malloc((rank->steps.count + 1) * sizeof(*ret->first)),
				    .steps = rank->steps.count };
	if (!ret->op || !ret->first) {
		shared_ops_release(ret);
		return np_fail_nomem(err, "iterations");
	}
	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		if (op->step == NP_NO_STEP || rank->groups.item[op->group].hash != hash ||
		    !is_collective(strings, op))
			continue;
		while (step <= op->step)
			ret->first[step++] = (uint32_t)count;
		ret->op[count++] = (uint32_t)i;
	}
	while (step <= ret->steps)
		ret->first[step++] = (uint32_t)count;
	return NP_OK;
}

static int by_time(const void *left, const void *right)
{
	return np_order(*(const np_ns *)left, *(const np_ns *)right);
}

/* How the ends of two ranks differ if iteration i of one is i + shift of the other. */
struct match {
	size_t compared;
	size_t alike;
	np_ns median;
	np_ns scatter; /* the median distance from the median */
};

struct rank_pair {
	const struct np_strtab *strings;
	const struct np_rank *rank[2];
	struct shared_ops ops[2];
	np_ns *apart; /* room for MOST_COMPARED */
};

/* Of these each rank has a size of its own: tokens of experts, parts that are not even. */
static bool has_own_size(const char *type)
{
	static const char *const types[] = { "alltoallv", "allgatherv", "reducescatterv" };

	for (size_t i = 0; i < NP_COUNT(types); i++) {
		if (strcasestr(type, types[i]))
			return true;
	}
	return false;
}

static bool are_alike(const struct np_strtab *strings, const struct np_comm_op *a,
		      const struct np_comm_op *b)
{
	return a->type == b->type &&
	       (a->bytes == b->bytes || has_own_size(np_strtab_text(strings, a->type)));
}

/* Only iterations with equally many: where a record was lost the n-th is another. */
static struct match match_ends(const struct rank_pair *pair, int64_t shift, bool equal)
{
	struct match match = { 0 };

	for (size_t i = 0; i < pair->ops[0].steps && match.compared < MOST_COMPARED; i++) {
		int64_t other = (int64_t)i + shift;
		size_t most;

		if (other < 0 || (size_t)other >= pair->ops[1].steps)
			continue;
		most = pair->ops[0].first[i + 1] - pair->ops[0].first[i];
		if (equal && pair->ops[1].first[other + 1] - pair->ops[1].first[other] != most)
			continue;
		if (pair->ops[1].first[other + 1] - pair->ops[1].first[other] < most)
			most = pair->ops[1].first[other + 1] - pair->ops[1].first[other];
		for (size_t n = 0; n < most && match.compared < MOST_COMPARED; n++) {
			const struct np_comm_op *a =
				&pair->rank[0]
					 ->ops.item[pair->ops[0].op[pair->ops[0].first[i] + n]];
			const struct np_comm_op *b =
				&pair->rank[1]
					 ->ops.item[pair->ops[1].op[pair->ops[1].first[other] + n]];

			match.alike += are_alike(pair->strings, a, b);
			pair->apart[match.compared++] = a->end - b->end;
		}
	}
	if (match.compared == 0)
		return match;
	qsort(pair->apart, match.compared, sizeof(*pair->apart), by_time);
	match.median = pair->apart[match.compared / 2];
	for (size_t i = 0; i < match.compared; i++)
		pair->apart[i] = pair->apart[i] > match.median ? pair->apart[i] - match.median
							       : match.median - pair->apart[i];
	qsort(pair->apart, match.compared, sizeof(*pair->apart), by_time);
	match.scatter = pair->apart[match.compared / 2];
	return match;
}

static struct match try_shift(const struct rank_pair *pair, int64_t shift)
{
	struct match match = match_ends(pair, shift, true);

	return match.compared > 0 ? match : match_ends(pair, shift, false);
}

/* The mean iteration: from the first begin to the last. */
static np_ns iteration_of(const struct np_rank *rank)
{
	size_t count = rank->steps.count;

	/* Of a damaged capture not every step has a begin. */
	if (count < 2 || rank->steps.item[0].begin == NP_UNKNOWN ||
	    rank->steps.item[count - 1].begin == NP_UNKNOWN)
		return 0;
	return (rank->steps.item[count - 1].begin - rank->steps.item[0].begin) / (np_ns)(count - 1);
}

enum verdict_of_pair {
	PAIR_UNKNOWN, /* nothing to compare */
	PAIR_AGREES,
	PAIR_DIFFERS,
};

static bool one_clock(const struct rank_pair *pair)
{
	return pair->rank[0]->host_uid == pair->rank[1]->host_uid;
}

static np_ns distance_of(const struct rank_pair *pair, const struct match *match)
{
	/* On one host a clock is a clock; of two hosts it is unknown how far they are apart. */
	return match->scatter +
	       (one_clock(pair) ? match->median < 0 ? -match->median : match->median : 0);
}

/*
 * Captures mostly begin together: that they did not must be plain, and is plain only by many
 * collectives where two clocks are compared.
 */
static bool is_better(const struct rank_pair *pair, const struct match *match, np_ns apart,
		      bool together, np_ns least)
{
	if (!together)
		return apart < least;
	if (one_clock(pair))
		return apart < least / 2;
	return match->compared >= LEAST_PLAIN && apart < least / 4;
}

/* Iteration i of the first is i + *ret_shift of the second. */
static enum verdict_of_pair compare_pair(const struct rank_pair *pair, int64_t *ret_shift)
{
	np_ns iteration = iteration_of(pair->rank[1]);
	np_ns mine = iteration_of(pair->rank[0]);
	np_ns least = NP_NS_MAX;
	struct match best = { 0 };
	size_t most = 0;
	double ratio;

	for (int64_t n = 0; n <= 2 * MOST_SHIFT; n++) {
		/* 0, 1, -1, 2, -2 …: of equals the smallest. */
		int64_t shift = n % 2 ? n / 2 + 1 : -(n / 2);
		struct match match = try_shift(pair, shift);
		np_ns apart;

		/* An overlap of few iterations says little. */
		if (match.compared > most)
			most = match.compared;
		if (match.compared == 0 || match.compared * 2 < most)
			continue;
		apart = distance_of(pair, &match);
		if (best.compared > 0 && !is_better(pair, &match, apart, *ret_shift == 0, least))
			continue;
		least = apart;
		best = match;
		*ret_shift = shift;
	}
	if (best.compared == 0 || iteration <= 0 || mine <= 0)
		return PAIR_UNKNOWN;
	ratio = (double)mine / (double)iteration;
	if (ratio < 0.75 || ratio > 1.5 ||
	    (double)best.alike < LEAST_ALIKE * (double)best.compared ||
	    (double)best.scatter > MOST_SCATTER * (double)iteration)
		return PAIR_DIFFERS;
	return PAIR_AGREES;
}

/* The communicator with the most collectives that both have. */
static bool shared_group(const struct np_rank *a, const struct np_rank *b,
			 const struct np_strtab *strings, uint64_t *ret)
{
	size_t most = 0;

	for (size_t i = 0; i < a->groups.count; i++) {
		size_t count = 0;
		bool there = false;

		for (size_t j = 0; j < b->groups.count && !there; j++)
			there = b->groups.item[j].hash == a->groups.item[i].hash;
		for (size_t j = 0; there && j < a->ops.count; j++)
			count += a->ops.item[j].group == i &&
				 is_collective(strings, &a->ops.item[j]);
		if (count > most) {
			most = count;
			*ret = a->groups.item[i].hash;
		}
	}
	return most > 0;
}

static int compare_ranks(const struct np_rank *rank, const struct np_rank *with,
			 const struct np_strtab *strings, np_ns *apart, int64_t *ret_shift,
			 enum verdict_of_pair *ret, struct np_err *err)
{
	struct rank_pair pair = { .strings = strings, .rank = { rank, with }, .apart = apart };
	uint64_t hash;
	int rc = NP_OK;

	*ret = PAIR_UNKNOWN;
	if (!shared_group(rank, with, strings, &hash))
		return NP_OK;
	for (size_t i = 0; i < 2 && rc == NP_OK; i++)
		rc = list_ops(pair.rank[i], strings, hash, &pair.ops[i], err);
	if (rc == NP_OK)
		*ret = compare_pair(&pair, ret_shift);
	shared_ops_release(&pair.ops[0]);
	shared_ops_release(&pair.ops[1]);
	return rc;
}

void agreement_release(struct agreement *agreement)
{
	free(agreement->shift);
	free(agreement->known);
	*agreement = (struct agreement){ 0 };
}

static bool was_found(const struct np_rank *rank)
{
	return rank && rank->steps_from == NP_STEPS_PERIOD;
}

/*
 * Place the ranks that share a communicator with one of those in `placed`; a rank is
 * compared with the first of these that has something to say.
 */
static int place_rank(const struct np_run *run, const struct load_outcome *outcomes,
		      const size_t *placed, size_t count, size_t index, np_ns *apart,
		      struct agreement *agreement, struct np_err *err)
{
	enum verdict_of_pair verdict = PAIR_UNKNOWN;
	int rc = NP_OK;

	for (size_t i = 0; i < count && verdict == PAIR_UNKNOWN && rc == NP_OK; i++) {
		int64_t shift = 0;

		rc = compare_ranks(outcomes[index].rank, outcomes[placed[i]].rank, run->strings,
				   apart, &shift, &verdict, err);
		if (verdict == PAIR_AGREES) {
			agreement->shift[index] = agreement->shift[placed[i]] + shift;
			agreement->known[index] = true;
		} else if (verdict == PAIR_DIFFERS && agreement->differ == SIZE_MAX) {
			agreement->differ = index;
			agreement->with = placed[i];
		}
	}
	return rc;
}

/* Ranks are compared with so many at most: with the first of each communicator, or so. */
#define MOST_PLACED 64

int agree_on_iterations(const struct np_run *run, const struct load_outcome *outcomes,
			struct agreement *ret, struct np_err *err)
{
	size_t count = run->sources.count;
	size_t placed[MOST_PLACED];
	size_t placed_count = 0;
	np_ns *apart = malloc(MOST_COMPARED * sizeof(*apart));
	int rc = NP_OK;

	*ret = (struct agreement){ .shift = calloc(count + 1, sizeof(*ret->shift)),
				   .known = calloc(count + 1, sizeof(*ret->known)),
				   .differ = SIZE_MAX };
	if (!ret->shift || !ret->known || !apart)
		rc = np_fail_nomem(err, "iterations");
	for (size_t i = 0; i < count && rc == NP_OK && ret->differ == SIZE_MAX; i++) {
		if (!was_found(outcomes[i].rank))
			continue;
		rc = place_rank(run, outcomes, placed, placed_count, i, apart, ret, err);
		/* One that shares nothing with those before begins a circle of its own. */
		if (placed_count < MOST_PLACED && (!ret->known[i] || placed_count < 8))
			placed[placed_count++] = i;
	}
	free(apart);
	if (rc < 0)
		agreement_release(ret);
	return rc;
}

int agree_renumber(struct np_run *run, const struct load_outcome *outcomes,
		   const struct agreement *agreement, struct np_err *err)
{
	int64_t least = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count; i++) {
		if (was_found(outcomes[i].rank) && agreement->shift[i] < least)
			least = agreement->shift[i];
	}
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		struct np_rank *rank = outcomes[i].rank;

		if (!was_found(rank) || agreement->shift[i] == least)
			continue;
		for (size_t j = 0; j < rank->steps.count && rc == NP_OK; j++) {
			char id[24];
			int length = snprintf(id, sizeof(id), "%lld",
					      (long long)j + 1 + agreement->shift[i] - least);

			rc = np_strtab_add(run->strings, id, (size_t)length,
					   &rank->steps.item[j].id, err);
		}
	}
	return rc;
}
