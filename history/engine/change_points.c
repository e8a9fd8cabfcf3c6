/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the runs at which a series of figures changed for good. */
#include "change_points.h"

#include "middle.h"

/* Shufflings: enough to tell a chance of HIST_CHANGE_ERROR. */
#define SHUFFLINGS 3999

/* Of the way from before to after; a run that went less is not the first of the change. */
#define CLEARLY 0.7

struct search {
	const double *values;
	double *ranks;
	double *scratch;
	struct hist_changes *found;
	struct np_err *err;
};

struct placed {
	double value;
	size_t place;
};

static int by_value(const void *left, const void *right)
{
	const struct placed *a = left;
	const struct placed *b = right;

	return (a->value > b->value) - (a->value < b->value);
}

/* Equal values share their ranks; the mean of all is taken off. */
static int rank_values(const double *values, size_t count, double *ranks, struct np_err *err)
{
	struct placed *order = calloc(count, sizeof(*order));

	if (!order)
		return np_fail_nomem(err, "a series");
	for (size_t i = 0; i < count; i++)
		order[i] = (struct placed){ values[i], i };
	qsort(order, count, sizeof(*order), by_value);
	for (size_t i = 0; i < count;) {
		size_t end = i + 1;

		/* Equal as doubles: they came from the same figure. */
		while (end < count && !(order[end].value > order[i].value))
			end++;
		for (size_t j = i; j < end; j++)
			ranks[order[j].place] =
				0.5 * (double)(i + end - 1) - 0.5 * (double)(count - 1);
		i = end;
	}
	free(order);
	return NP_OK;
}

/* The largest difference of ranks before and after any cut, by what chance makes of it. */
static double largest_difference(const double *ranks, size_t count)
{
	double most = 0;
	double sum = 0;

	for (size_t cut = 1; cut < count; cut++) {
		double difference;

		sum += ranks[cut - 1];
		if (cut < HIST_CHANGE_LEAST || count - cut < HIST_CHANGE_LEAST)
			continue;
		difference = fabs(sum) / sqrt((double)cut * (double)(count - cut));
		most = difference > most ? difference : most;
	}
	return most;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* How often a shuffled series differs as much, or 1 as soon as that is too often. */
static double chance_of(double *ranks, size_t count)
{
	uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
	double seen = largest_difference(ranks, count);
	size_t as_large = 0;

	for (size_t i = 0; i < SHUFFLINGS; i++) {
		for (size_t j = count - 1; j > 0; j--) {
			size_t other = (size_t)(next_random(&state) % (j + 1));
			double kept = ranks[j];

			ranks[j] = ranks[other];
			ranks[other] = kept;
		}
		as_large += largest_difference(ranks, count) >= seen * (1 - 1e-12);
		if ((double)as_large > HIST_CHANGE_ERROR * (SHUFFLINGS + 1))
			return 1;
	}
	return (double)(as_large + 1) / (SHUFFLINGS + 1);
}

static double middle_of(const struct search *search, size_t begin, size_t end)
{
	memcpy(search->scratch, search->values + begin, (end - begin) * sizeof(double));
	return hist_middle(search->scratch, end - begin);
}

static double distance(const struct search *search, size_t begin, size_t end)
{
	double middle = middle_of(search, begin, end);
	double sum = 0;

	for (size_t i = begin; i < end; i++)
		sum += fabs(search->values[i] - middle);
	return sum;
}

/* Where two levels describe the series best, and then the first run that is clearly of the second.
 */
static size_t find_cut(const struct search *search, size_t begin, size_t end)
{
	size_t best = begin + HIST_CHANGE_LEAST;
	double least = (double)INFINITY;
	double before;
	double step;

	for (size_t cut = begin + HIST_CHANGE_LEAST; cut + HIST_CHANGE_LEAST <= end; cut++) {
		double sum = distance(search, begin, cut) + distance(search, cut, end);

		if (sum < least) {
			least = sum;
			best = cut;
		}
	}
	before = middle_of(search, begin, best);
	step = middle_of(search, best, end) - before;
	while (best + HIST_CHANGE_LEAST < end &&
	       (search->values[best] - before) * (step < 0 ? -1 : 1) < CLEARLY * fabs(step))
		best++;
	return best;
}

static int search_part(struct search *search, size_t begin, size_t end)
{
	struct hist_change *change;
	double chance;
	size_t cut;
	int rc;

	if (end - begin < (size_t)2 * HIST_CHANGE_LEAST)
		return NP_OK;
	rc = rank_values(search->values + begin, end - begin, search->ranks, search->err);
	if (rc < 0)
		return rc;
	chance = chance_of(search->ranks, end - begin);
	if (chance > HIST_CHANGE_ERROR)
		return NP_OK;
	cut = find_cut(search, begin, end);
	rc = search_part(search, begin, cut);
	if (rc < 0)
		return rc;
	change = np_vec_add(&search->found->list, search->err);
	if (!change)
		return NP_E_NOMEM;
	change->at = cut;
	change->chance = chance;
	return search_part(search, cut, end);
}

int hist_changes_find(const double *values, size_t count, struct hist_changes *ret,
		      struct np_err *err)
{
	struct hist_changes found = { 0 };
	struct search search = { .values = values, .found = &found, .err = err };
	int rc;

	search.ranks = calloc(count + 1, sizeof(double));
	search.scratch = calloc(count + 1, sizeof(double));
	rc = search.ranks && search.scratch ? search_part(&search, 0, count)
					    : np_fail_nomem(err, "a series");
	for (size_t i = 0; i < found.list.count && rc == NP_OK; i++) {
		size_t begin = i > 0 ? found.list.item[i - 1].at : 0;
		size_t end = i + 1 < found.list.count ? found.list.item[i + 1].at : count;

		found.list.item[i].before = middle_of(&search, begin, found.list.item[i].at);
		found.list.item[i].after = middle_of(&search, found.list.item[i].at, end);
	}
	free(search.ranks);
	free(search.scratch);
	if (rc == NP_OK)
		*ret = found;
	else
		hist_changes_release(&found);
	return rc;
}

void hist_changes_release(struct hist_changes *changes)
{
	np_vec_release(&changes->list);
}
