/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the stretches of a sequence in which a block repeats: layers of an iteration. */
#include "npuprof/period.h"

#include "npuprof/hash.h"
#include "npuprof/order.h"
#include "npuprof/vec.h"

/* A block has so many members, and repeats so often, at least. */
#define LEAST_MEMBERS 3
#define LEAST_REPEATS 3

/* A stretch that is no tenth of the sequence is not worth a word. */
#define LEAST_SHARE 10

/* By so many members in a row a place is recognised; so many lags are tried. */
#define GRAM      4
#define MOST_LAGS 64

struct inner_place {
	uint64_t gram;
	size_t place;
};

struct inner_lag {
	size_t lag;
	size_t votes;
};

static int by_gram(const void *left, const void *right)
{
	const struct inner_place *a = left;
	const struct inner_place *b = right;

	if (a->gram != b->gram)
		return a->gram < b->gram ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

static int by_votes(const void *left, const void *right)
{
	const struct inner_lag *a = left;
	const struct inner_lag *b = right;

	if (a->votes != b->votes)
		return a->votes > b->votes ? -1 : 1;
	return (a->lag > b->lag) - (a->lag < b->lag);
}

/* How far it is from each place to the last one that looked like it: lags, the commonest first. */
static int propose(const uint32_t *signatures, size_t count, struct inner_lag **ret,
		   size_t *ret_count, struct np_err *err)
{
	size_t grams = count - GRAM + 1;
	struct inner_place *places = malloc(grams * sizeof(*places));
	struct inner_lag *lags = calloc(count + 1, sizeof(*lags));

	if (!places || !lags) {
		free(places);
		free(lags);
		return np_fail_nomem(err, "a sequence");
	}
	for (size_t i = 0; i < grams; i++)
		places[i] = (struct inner_place){
			np_hash(NP_HASH_START, &signatures[i], GRAM * sizeof(*signatures)), i
		};
	qsort(places, grams, sizeof(*places), by_gram);
	for (size_t i = 0; i <= count; i++)
		lags[i].lag = i;
	for (size_t i = 1; i < grams; i++) {
		if (places[i].gram == places[i - 1].gram)
			lags[places[i].place - places[i - 1].place].votes++;
	}
	free(places);
	qsort(lags, count + 1, sizeof(*lags), by_votes);
	*ret_count = 0;
	while (*ret_count < MOST_LAGS && *ret_count <= count && lags[*ret_count].votes > 0)
		++*ret_count;
	*ret = lags;
	return NP_OK;
}

/* Of two that cover as much, the shorter block: the longer one is several of it. */
static bool is_better(const struct np_inner *a, const struct np_inner *b)
{
	size_t covered[2] = { a->members * a->repeats, b->members * b->repeats };
	/* A few members of the next repeat, which is not whole, make no difference. */
	size_t slack = a->members > b->members ? a->members : b->members;

	if (covered[0] + slack < covered[1])
		return false;
	return covered[0] > covered[1] + slack || a->members < b->members;
}

/* The best stretch of a lag among places that are free. */
static void look_at(const uint32_t *signatures, const bool *taken, size_t count, size_t lag,
		    struct np_inner *best)
{
	size_t run = 0;

	for (size_t i = lag; i <= count; i++) {
		bool same = i < count && signatures[i] == signatures[i - lag] && !taken[i] &&
			    !taken[i - lag];

		if (same) {
			run++;
			continue;
		}
		if (run + lag >= LEAST_REPEATS * lag) {
			struct np_inner found = { .begin = i - run - lag,
						  .members = lag,
						  .repeats = (run + lag) / lag,
						  .stretches = 1 };

			if (best->members == 0 || is_better(&found, best))
				*best = found;
		}
		run = 0;
	}
}

/* Is it the same block, wherever it begins? Members are compared without their order. */
static bool same_block(const uint32_t *signatures, const struct np_inner *a,
		       const struct np_inner *b)
{
	uint64_t sums[2] = { 0, 0 };

	if (a->members != b->members)
		return false;
	for (size_t i = 0; i < a->members; i++) {
		sums[0] += np_hash(NP_HASH_START, &signatures[a->begin + i], sizeof(*signatures));
		sums[1] += np_hash(NP_HASH_START, &signatures[b->begin + i], sizeof(*signatures));
	}
	return sums[0] == sums[1];
}

static size_t add(const uint32_t *signatures, const struct np_inner *found, struct np_inner *list,
		  size_t count, size_t most)
{
	for (size_t i = 0; i < count; i++) {
		if (same_block(signatures, found, &list[i])) {
			list[i].repeats += found->repeats;
			list[i].stretches++;
			return count;
		}
	}
	if (count == most)
		return count;
	list[count] = *found;
	return count + 1;
}

static int by_begin(const void *left, const void *right)
{
	const struct np_inner *a = left;
	const struct np_inner *b = right;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

int np_period_inner(const uint32_t *signatures, size_t count, struct np_inner *list, size_t most,
		    size_t *ret_count, struct np_err *err)
{
	struct inner_lag *lags = NULL;
	size_t lag_count = 0;
	bool *taken;
	int rc;

	*ret_count = 0;
	if (count < (size_t)LEAST_REPEATS * LEAST_MEMBERS)
		return NP_OK;
	taken = calloc(count, sizeof(*taken));
	rc = taken ? propose(signatures, count, &lags, &lag_count, err)
		   : np_fail_nomem(err, "a sequence");
	while (rc == NP_OK) {
		struct np_inner best = { 0 };

		for (size_t i = 0; i < lag_count; i++) {
			if (lags[i].lag >= LEAST_MEMBERS && lags[i].lag <= count / LEAST_REPEATS)
				look_at(signatures, taken, count, lags[i].lag, &best);
		}
		if (best.members * best.repeats * LEAST_SHARE < count)
			break;
		memset(&taken[best.begin], true, best.members * best.repeats);
		*ret_count = add(signatures, &best, list, *ret_count, most);
	}
	if (*ret_count)
		qsort(list, *ret_count, sizeof(*list), by_begin);
	free(lags);
	free(taken);
	return rc;
}
