/* SPDX-License-Identifier: Apache-2.0 */
/* Describes values by their mean, deviation and quantiles, exactly. */
#include "samples.h"

#include "npuprof/order.h"

#include <math.h>

int64_t samples_plus(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN + 1 : INT64_MAX;
	return sum;
}

int samples_add(struct value_samples *samples, int64_t value, struct np_err *err)
{
	int64_t *slot = np_vec_add(samples, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = value;
	samples->sum = samples_plus(samples->sum, value);
	samples->sorted = false;
	return NP_OK;
}

void samples_release(struct value_samples *samples)
{
	np_vec_release(samples);
	samples->sum = 0;
}

static int64_t value_of(const struct value_samples *samples, size_t index)
{
	return samples->narrow ? (int64_t)samples->narrow[index] : samples->item[index];
}

/* --- sorting --------------------------------------------------------------------------------- */

/* Below this many a comparison sort is as fast. */
#define RADIX_LEAST  512
#define RADIX_BITS   11
#define RADIX        (1U << RADIX_BITS)
#define RADIX_DIGITS 3

/* One digit: from the values to their places, of which the numbers are counts before. */
static void sort_digit(const uint32_t *from, uint32_t *to, size_t count, unsigned shift,
		       uint32_t *places)
{
	uint32_t before = 0;

	for (size_t i = 0; i < RADIX; i++) {
		uint32_t own = places[i];

		places[i] = before;
		before += own;
	}
	for (size_t i = 0; i < count; i++)
		to[places[(from[i] >> shift) % RADIX]++] = from[i];
}

/* Sort by digits of 11 bits, except those in which all are alike. False without memory. */
static bool radix_sort(uint32_t *item, size_t count)
{
	uint32_t places[RADIX_DIGITS][RADIX] = { 0 };
	uint32_t *other = count <= UINT32_MAX ? malloc(count * sizeof(*other)) : NULL;
	uint32_t *from = item;
	uint32_t *to = other;

	if (!other)
		return false;
	for (size_t i = 0; i < count; i++) {
		places[0][item[i] % RADIX]++;
		places[1][(item[i] >> RADIX_BITS) % RADIX]++;
		places[2][item[i] >> 2 * RADIX_BITS]++;
	}
	for (unsigned digit = 0; digit < RADIX_DIGITS; digit++) {
		unsigned shift = digit * RADIX_BITS;
		uint32_t *swap = from;

		if (places[digit][(item[0] >> shift) % RADIX] == count)
			continue;
		sort_digit(from, to, count, shift, places[digit]);
		from = to;
		to = swap;
	}
	if (from != item)
		memcpy(item, from, count * sizeof(*item));
	free(other);
	return true;
}

/* How far values are above the least of them mostly fits, and sorts faster. */
static bool sort_as_narrow(int64_t *item, size_t count)
{
	uint32_t *narrow;
	int64_t least = item[0];
	int64_t most = item[0];
	bool sorted;

	for (size_t i = 1; i < count; i++) {
		least = item[i] < least ? item[i] : least;
		most = item[i] > most ? item[i] : most;
	}
	if ((uint64_t)most - (uint64_t)least > UINT32_MAX)
		return false;
	narrow = malloc(count * sizeof(*narrow));
	for (size_t i = 0; narrow && i < count; i++)
		narrow[i] = (uint32_t)((uint64_t)item[i] - (uint64_t)least);
	sorted = narrow && radix_sort(narrow, count);
	for (size_t i = 0; sorted && i < count; i++)
		item[i] = least + (int64_t)narrow[i];
	free(narrow);
	return sorted;
}

static void sort(struct value_samples *samples)
{
	bool many = samples->count >= RADIX_LEAST;

	if (samples->sorted)
		return;
	samples->sorted = true;
	if (samples->narrow && !(many && radix_sort(samples->narrow, samples->count)))
		qsort(samples->narrow, samples->count, sizeof(*samples->narrow), np_by_uint32);
	if (!samples->narrow && !(many && sort_as_narrow(samples->item, samples->count)))
		qsort(samples->item, samples->count, sizeof(*samples->item), np_by_int64);
}

/* --- describing ------------------------------------------------------------------------------ */

/* Between two neighbours in the order of values. */
static double between(int64_t low, int64_t high, double share)
{
	return (double)low + share * (double)(high - low);
}

static double quantile(const struct value_samples *samples, double q)
{
	double place = (double)(samples->count - 1) * q;
	size_t below = (size_t)place;

	if (below + 1 >= samples->count)
		return (double)value_of(samples, below);
	return between(value_of(samples, below), value_of(samples, below + 1),
		       place - (double)below);
}

/* Σ (x - mean)², the mean taken first so that large values do not cancel. */
static double squares(const struct value_samples *samples, double mean)
{
	double sum = 0;

	for (size_t i = 0; i < samples->count; i++) {
		double difference = (double)value_of(samples, i) - mean;

		sum += difference * difference;
	}
	return sum;
}

static const struct summary nothing = { .mean = (double)NAN,
					.std = (double)NAN,
					.population_std = (double)NAN,
					.min = NP_UNKNOWN,
					.q1 = (double)NAN,
					.median = (double)NAN,
					.q3 = (double)NAN,
					.max = NP_UNKNOWN };

static void set_deviation(struct summary *summary)
{
	summary->std = summary->count > 1 ? sqrt(summary->squares / (double)(summary->count - 1))
					  : (double)NAN;
	summary->population_std = sqrt(summary->squares / (double)summary->count);
}

struct summary samples_known_by_sum(size_t count, int64_t sum, int64_t least, int64_t most)
{
	struct summary ret = nothing;

	ret.count = count;
	ret.sum = sum;
	ret.mean = (double)sum / (double)count;
	ret.squares = (double)NAN;
	ret.min = least;
	ret.max = most;
	return ret;
}

struct summary samples_describe(struct value_samples *samples)
{
	struct summary ret = { .count = samples->count, .sum = samples->sum };

	if (samples->count == 0)
		return nothing;
	sort(samples);
	ret.mean = (double)samples->sum / (double)samples->count;
	ret.squares = squares(samples, ret.mean);
	set_deviation(&ret);
	ret.min = value_of(samples, 0);
	ret.max = value_of(samples, samples->count - 1);
	ret.q1 = quantile(samples, 0.25);
	ret.median = quantile(samples, 0.5);
	ret.q3 = quantile(samples, 0.75);
	return ret;
}

/* --- several together ------------------------------------------------------------------------ */

/* How many values are no greater. */
static size_t count_until(const struct value_samples *samples, int64_t value)
{
	return np_lower_bound(i, (size_t)0, samples->count, value_of(samples, i) > value);
}

/* The value at a place in the order of all: the least that so many are no greater than. */
static int64_t value_at(const struct described *list, size_t count, const struct summary *all,
			size_t place)
{
	int64_t low = all->min;
	int64_t high = all->max;

	while (low < high) {
		int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
		size_t until = 0;

		for (size_t i = 0; i < count && until <= place; i++)
			until += count_until(list[i].samples, middle);
		if (until > place)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static double pooled_quantile(const struct described *list, size_t count, const struct summary *all,
			      double q)
{
	double place = (double)(all->count - 1) * q;
	size_t below = (size_t)place;
	double share = place - (double)below;
	int64_t low = value_at(list, count, all, below);

	return share > 0 ? between(low, value_at(list, count, all, below + 1), share) : (double)low;
}

/* Are the values there that the descriptions are of? */
static bool all_kept(const struct described *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].samples->count != list[i].summary->count)
			return false;
	}
	return true;
}

struct summary samples_describe_pooled(const struct described *list, size_t count)
{
	struct summary ret = { .min = INT64_MAX, .max = INT64_MIN };

	for (size_t i = 0; i < count; i++) {
		const struct summary *each = list[i].summary;

		if (each->count == 0)
			continue;
		ret.count += each->count;
		ret.sum = samples_plus(ret.sum, each->sum);
		ret.min = each->min < ret.min ? each->min : ret.min;
		ret.max = each->max > ret.max ? each->max : ret.max;
	}
	if (ret.count == 0)
		return nothing;
	ret.mean = (double)ret.sum / (double)ret.count;
	for (size_t i = 0; i < count; i++) {
		const struct summary *each = list[i].summary;
		double apart = each->mean - ret.mean;

		if (each->count > 0)
			ret.squares += each->squares + (double)each->count * apart * apart;
	}
	set_deviation(&ret);
	ret.q1 = ret.median = ret.q3 = (double)NAN;
	if (!all_kept(list, count))
		return ret;
	ret.q1 = pooled_quantile(list, count, &ret, 0.25);
	ret.median = pooled_quantile(list, count, &ret, 0.5);
	ret.q3 = pooled_quantile(list, count, &ret, 0.75);
	return ret;
}

void describe_cells(const struct summary *summary, struct np_cell *cells)
{
	cells[0] = np_cell_integer((int64_t)summary->count);
	cells[1] = np_cell_real(summary->mean);
	cells[2] = np_cell_real(summary->std);
	cells[3] = np_cell_scaled(summary->min, 1);
	cells[4] = np_cell_real(summary->q1);
	cells[5] = np_cell_real(summary->median);
	cells[6] = np_cell_real(summary->q3);
	cells[7] = np_cell_scaled(summary->max, 1);
	cells[8] = np_cell_scaled(summary->sum, 1);
}
