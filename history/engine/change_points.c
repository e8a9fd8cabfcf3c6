/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the runs at which a series of figures changed for good, or for a while. */
#include "change_points.h"

#include "npuprof/elementary.h"

#include "middle.h"

/* Shufflings: enough to tell a chance of HIST_CHANGE_ERROR. */
#define SHUFFLINGS 3999

/* HIST_CHANGE_ERROR, of the two questions that are asked. */
#define ERROR_CUT       0.004
#define ERROR_EXCURSION 0.001

/* Of the way from before to after; a run that went less is not the first of the change. */
#define CLEARLY 0.7

/* So many deviations from the middle count, and no more. */
#define FAR_OFF 2.5

/* Excursions of longer series begin and end at so many places only. */
#define PLACES 200

/* The median deviation of normal noise is less than its standard deviation by this. */
#define TO_DEVIATION 1.4826

struct search {
	const double *values;
	double *scores;
	double *scratch;
	double *left; /* what levels leave of the values */
	struct hist_changes *found;
	struct np_err *err;
};

/* Values before `begin` and from `end` on are of one level, those between of another. */
struct excursion {
	size_t begin;
	size_t end;
	double difference; /* in units of what chance makes of it */
};

static double middle_of(const struct search *search, size_t begin, size_t end)
{
	memcpy(search->scratch, search->values + begin, (end - begin) * sizeof(double));
	return hist_middle(search->scratch, end - begin);
}

/* Values in deviations from their middle, none of them far off; false: they are all equal. */
static bool pull_in(double *scratch, double *values, size_t count)
{
	double middle;
	double deviation;
	double sum = 0;

	memcpy(scratch, values, count * sizeof(*values));
	middle = hist_middle(scratch, count);
	for (size_t i = 0; i < count; i++) {
		values[i] -= middle;
		scratch[i] = fabs(values[i]);
		sum += scratch[i];
	}
	deviation = TO_DEVIATION * hist_middle(scratch, count);
	/* More than half of them are equal, and yet not all. */
	if (deviation <= 0)
		deviation = sum / (double)count;
	if (deviation <= 0)
		return false;
	for (size_t i = 0; i < count; i++)
		values[i] = fmax(-FAR_OFF, fmin(FAR_OFF, values[i] / deviation));
	return true;
}

/* The scores of a part of the series, their mean taken off; false: there is nothing to see. */
static bool score(const struct search *search, size_t begin, size_t count)
{
	double sum = 0;

	memcpy(search->scores, search->values + begin, count * sizeof(double));
	if (!pull_in(search->scratch, search->scores, count))
		return false;
	for (size_t i = 0; i < count; i++)
		sum += search->scores[i];
	for (size_t i = 0; i < count; i++)
		search->scores[i] -= sum / (double)count;
	return true;
}

static struct excursion largest_cut(const double *scores, size_t count)
{
	struct excursion most = { .end = count };
	double sum = 0;

	for (size_t cut = 1; cut + HIST_CHANGE_LEAST <= count; cut++) {
		double difference;

		sum += scores[cut - 1];
		if (cut < HIST_CHANGE_LEAST)
			continue;
		difference = fabs(sum) / sqrt((double)cut * (double)(count - cut));
		if (difference > most.difference)
			most = (struct excursion){ cut, count, difference };
	}
	return most;
}

static struct excursion largest_excursion(const double *scores, double *sums, size_t count)
{
	struct excursion most = { 0 };
	size_t stride = count / PLACES + 1;

	sums[0] = 0;
	for (size_t i = 0; i < count; i++)
		sums[i + 1] = sums[i] + scores[i];
	for (size_t begin = HIST_CHANGE_LEAST; begin + (size_t)2 * HIST_CHANGE_LEAST <= count;
	     begin += stride) {
		for (size_t end = begin + HIST_CHANGE_LEAST; end + HIST_CHANGE_LEAST <= count;
		     end += stride) {
			double within = (double)(end - begin);
			double difference = fabs(sums[end] - sums[begin]) /
					    sqrt(within * ((double)count - within));

			if (difference > most.difference)
				most = (struct excursion){ begin, end, difference };
		}
	}
	return most;
}

static struct excursion largest(const struct search *search, size_t count, bool returns)
{
	return returns ? largest_excursion(search->scores, search->scratch, count)
		       : largest_cut(search->scores, count);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static double error_of(bool returns)
{
	return returns ? ERROR_EXCURSION : ERROR_CUT;
}

/* How often a shuffled series differs as much, or 1 as soon as that is too often. */
static double chance_of(const struct search *search, size_t count, bool returns, double seen)
{
	uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
	double *scores = search->scores;
	size_t as_large = 0;

	for (size_t i = 0; i < SHUFFLINGS; i++) {
		for (size_t j = count - 1; j > 0; j--) {
			size_t other = (size_t)(next_random(&state) % (j + 1));
			double kept = scores[j];

			scores[j] = scores[other];
			scores[other] = kept;
		}
		as_large += largest(search, count, returns).difference >= seen * (1 - 1e-9);
		if ((double)as_large > error_of(returns) * (SHUFFLINGS + 1))
			return 1;
	}
	return (double)(as_large + 1) / (SHUFFLINGS + 1);
}

static double distance(const struct search *search, size_t begin, size_t end)
{
	double middle = middle_of(search, begin, end);
	double sum = 0;

	for (size_t i = begin; i < end; i++)
		sum += fabs(search->values[i] - middle);
	return sum;
}

/* Where two levels describe the series best, and how far the values are from them. */
static size_t split(const struct search *search, size_t begin, size_t end, double *ret_distance)
{
	size_t best = begin + HIST_CHANGE_LEAST;

	*ret_distance = (double)INFINITY;
	for (size_t cut = begin + HIST_CHANGE_LEAST; cut + HIST_CHANGE_LEAST <= end; cut++) {
		double sum = distance(search, begin, cut) + distance(search, cut, end);

		if (sum < *ret_distance) {
			*ret_distance = sum;
			best = cut;
		}
	}
	return best;
}

/* Two levels are taken for two where they leave less than this of what one leaves. */
#define PLAINLY (2 / 3.0)

/* What levels leave of a part of the series; as many levels as are plain. Gives their number. */
static size_t take_levels(const struct search *search, size_t begin, size_t end, double *left)
{
	double middle;

	if (end - begin >= (size_t)2 * HIST_CHANGE_LEAST) {
		double remains;
		size_t cut = split(search, begin, end, &remains);

		if (remains < PLAINLY * distance(search, begin, end))
			return take_levels(search, begin, cut, left) +
			       take_levels(search, cut, end, left + (cut - begin));
	}
	middle = middle_of(search, begin, end);
	for (size_t i = begin; i < end; i++)
		left[i - begin] = search->values[i] - middle;
	return 1;
}

/*
 * How many runs are worth one: 1 where none depends on the run before it. Of what the levels of
 * the excursion leave, the correlation of neighbours; levels take some of it away.
 */
static double dependence(const struct search *search, size_t begin, size_t count,
			 const struct excursion *levels)
{
	const size_t ends[] = { levels->begin, levels->end, count };
	double *left = search->left;
	double square = 0;
	double product = 0;
	double share;
	size_t from = 0;
	size_t parts = 0;

	for (size_t i = 0; i < NP_COUNT(ends); i++) {
		if (ends[i] > from)
			parts += take_levels(search, begin + from, begin + ends[i], left + from);
		from = ends[i];
	}
	if (!pull_in(search->scratch, left, count))
		return 1;
	for (size_t i = 0; i < count; i++) {
		square += left[i] * left[i];
		product += i > 0 ? left[i] * left[i - 1] : 0;
	}
	share = product / square;
	share += (1 + 3 * share) * (double)parts / (double)count;
	/* Chance alone makes that much of independent runs. */
	if (share < 1 / sqrt((double)count))
		return 1;
	share = fmin(share, 0.95);
	return (1 + share) / (1 - share);
}

/* Where two levels describe the series best, and then the first run that is clearly of the second.
 */
static size_t find_cut(const struct search *search, size_t begin, size_t end)
{
	double remains;
	size_t best = split(search, begin, end, &remains);
	double before;
	double step;

	before = middle_of(search, begin, best);
	step = middle_of(search, best, end) - before;
	while (best + HIST_CHANGE_LEAST < end &&
	       (search->values[best] - before) * (step < 0 ? -1 : 1) < CLEARLY * fabs(step))
		best++;
	return best;
}

static int add_change(struct search *search, size_t at, double chance)
{
	struct hist_change *change = np_vec_add(&search->found->list, search->err);

	if (!change)
		return NP_E_NOMEM;
	*change = (struct hist_change){ .at = at, .until = at, .chance = chance };
	return NP_OK;
}

/*
 * What is left of a difference where runs depend on those before them: of the variance it explains
 * nothing changes, what it does not explain is worth fewer runs.
 */
static double discount(const double *scores, size_t count, double difference, double runs_each)
{
	double all = 0;
	double explained;
	double ratio;

	for (size_t i = 0; i < count; i++)
		all += scores[i] * scores[i];
	explained = fmin((double)count * difference * difference / all, 1 - 1e-9);
	ratio = explained / (1 - explained) / runs_each;
	return difference * sqrt(ratio / (1 + ratio) / explained);
}

/* Is there a cut, or an excursion, that chance does not make? Its chance, or 1. */
static double ask(const struct search *search, size_t begin, size_t count, bool returns,
		  struct excursion *ret)
{
	if (!score(search, begin, count))
		return 1;
	*ret = largest(search, count, returns);
	if (ret->difference <= 0)
		return 1;
	return chance_of(search, count, returns,
			 discount(search->scores, count, ret->difference,
				  dependence(search, begin, count, ret)));
}

static int search_part(struct search *search, size_t begin, size_t end)
{
	struct excursion found = { 0 };
	bool returns = false;
	double chance;
	size_t cuts[2];
	size_t from = begin;
	int rc;

	if (end - begin < HIST_CHANGE_RUNS)
		return NP_OK;
	chance = ask(search, begin, end - begin, false, &found);
	if (chance > ERROR_CUT) {
		returns = true;
		chance = ask(search, begin, end - begin, true, &found);
	}
	if (chance > error_of(returns))
		return NP_OK;
	cuts[0] = find_cut(search, begin, returns ? begin + found.end : end);
	cuts[1] = returns && cuts[0] + (size_t)2 * HIST_CHANGE_LEAST <= end
			  ? find_cut(search, cuts[0], end)
			  : end;
	rc = NP_OK;
	for (size_t i = 0; i < NP_COUNT(cuts) && rc == NP_OK && from < end; i++) {
		rc = search_part(search, from, cuts[i]);
		if (rc == NP_OK && cuts[i] < end)
			rc = add_change(search, cuts[i], chance);
		from = cuts[i];
	}
	return rc == NP_OK && from < end ? search_part(search, from, end) : rc;
}

/* --- levels and lines ------------------------------------------------------------------------ */

static size_t begin_of(const struct hist_changes *found, size_t i)
{
	return i > 0 ? found->list.item[i - 1].at : 0;
}

static size_t end_of(const struct hist_changes *found, size_t i, size_t count)
{
	return i + 1 < found->list.count ? found->list.item[i + 1].at : count;
}

static void find_levels(const struct search *search, size_t count)
{
	for (size_t i = 0; i < search->found->list.count; i++) {
		struct hist_change *change = &search->found->list.item[i];

		change->before = middle_of(search, begin_of(search->found, i), change->at);
		change->after = middle_of(search, change->at, end_of(search->found, i, count));
	}
}

/* What lies between the line through the series and its values, and where the line ends. */
static int fit_line(const struct search *search, size_t begin, size_t end, double *ret_distance,
		    struct hist_change *ret)
{
	size_t count = end - begin;
	const double *values = search->values + begin;
	double *slopes = calloc(count * (count - 1) / 2 + 1, sizeof(*slopes));
	size_t pairs = 0;
	double slope;
	double base;

	if (!slopes)
		return np_fail_nomem(search->err, "a series");
	for (size_t i = 0; i < count; i++) {
		for (size_t j = i + 1; j < count; j++)
			slopes[pairs++] = (values[j] - values[i]) / (double)(j - i);
	}
	slope = hist_middle(slopes, pairs);
	free(slopes);
	for (size_t i = 0; i < count; i++)
		search->scratch[i] = values[i] - slope * (double)i;
	base = hist_middle(search->scratch, count);
	*ret_distance = 0;
	for (size_t i = 0; i < count; i++)
		*ret_distance += fabs(values[i] - base - slope * (double)i);
	ret->at = begin;
	ret->until = end - 1;
	ret->before = base;
	ret->after = base + slope * (double)(count - 1);
	ret->gradual = true;
	return NP_OK;
}

/* Longer series are not asked whether they are lines: every pair of their values would be. */
#define LINE_MOST 2000

/* Changes in one direction that a line describes better become one that is gradual. */
static int join_gradual(struct search *search, size_t count)
{
	struct hist_changes *found = search->found;
	size_t kept = 0;
	size_t begin = 0;
	int rc = NP_OK;

	for (size_t first = 0, next; first < found->list.count && rc == NP_OK; first = next) {
		struct hist_change line = found->list.item[first];
		bool rises = line.after > line.before;
		size_t last;
		size_t end;
		double levels = distance(search, begin, line.at);
		double left = (double)INFINITY;

		for (next = first; next < found->list.count; next++) {
			const struct hist_change *one = &found->list.item[next];

			if ((one->after > one->before) != rises)
				break;
			levels += distance(search, one->at, end_of(found, next, count));
			line.chance = fmin(line.chance, one->chance);
		}
		end = end_of(found, next - 1, count);
		last = found->list.item[next - 1].at;
		if (end - begin <= LINE_MOST)
			rc = fit_line(search, begin, end, &left, &line);
		/* Each level, and each place of a cut, describes a part of the chance. */
		if (left <
		    levels * np_exp((2 * (double)(next - first) - 1) / (double)(end - begin)))
			found->list.item[kept++] = line;
		else
			while (first < next)
				found->list.item[kept++] = found->list.item[first++];
		begin = last;
	}
	found->list.count = kept;
	return rc;
}

int hist_changes_find(const double *values, size_t count, struct hist_changes *ret,
		      struct np_err *err)
{
	struct hist_changes found = { 0 };
	struct search search = { .values = values, .found = &found, .err = err };
	int rc;

	search.scores = calloc(count + 1, sizeof(double));
	search.scratch = calloc(count + 1, sizeof(double));
	search.left = calloc(count + 1, sizeof(double));
	rc = search.scores && search.scratch && search.left ? search_part(&search, 0, count)
							    : np_fail_nomem(err, "a series");
	if (rc == NP_OK) {
		find_levels(&search, count);
		rc = join_gradual(&search, count);
	}
	free(search.scores);
	free(search.scratch);
	free(search.left);
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
