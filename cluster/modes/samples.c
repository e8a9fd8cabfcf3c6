/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

#include <math.h>

int64_t samples_plus(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN + 1 : INT64_MAX;
	return sum;
}

int samples_add(struct samples *samples, int64_t value, struct np_err *err)
{
	int64_t *slot = np_vec_add(samples, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = value;
	samples->sum = samples_plus(samples->sum, value);
	samples->sorted = false;
	return NP_OK;
}

int samples_join(struct samples *to, const struct samples *from, struct np_err *err)
{
	size_t total = to->count + from->count;

	if (from->count == 0)
		return NP_OK;
	if (total > to->capacity) {
		size_t capacity = total + total / 2;
		int64_t *moved = realloc(to->item, capacity * sizeof(*moved));

		if (!moved)
			return np_fail_nomem(err, "values");
		to->item = moved;
		to->capacity = capacity;
	}
	memcpy(to->item + to->count, from->item, from->count * sizeof(*from->item));
	to->count = total;
	to->sum = samples_plus(to->sum, from->sum);
	to->sorted = false;
	return NP_OK;
}

void samples_release(struct samples *samples)
{
	np_vec_release(samples);
	samples->sum = 0;
}

static int by_value(const void *left, const void *right)
{
	return np_order(*(const int64_t *)left, *(const int64_t *)right);
}

/* Below this many a comparison sort is as fast. */
#define RADIX_LEAST 512
#define RADIX_BITS  11
#define RADIX       (1U << RADIX_BITS)

/* Sort by digits of 11 bits, as many as the range of the values needs. False without memory. */
static bool radix_sort(int64_t *item, size_t count)
{
	int64_t *other = malloc(count * sizeof(*other));
	int64_t *from = item;
	int64_t *to = other;
	int64_t least = item[0];
	uint64_t range = 0;

	if (!other)
		return false;
	for (size_t i = 1; i < count; i++)
		least = item[i] < least ? item[i] : least;
	for (size_t i = 0; i < count; i++)
		range |= (uint64_t)item[i] - (uint64_t)least;
	for (unsigned shift = 0; shift < 64 && range >> shift != 0; shift += RADIX_BITS) {
		size_t place[RADIX + 1] = { 0 };
		int64_t *swap = from;

		for (size_t i = 0; i < count; i++)
			place[(((uint64_t)from[i] - (uint64_t)least) >> shift) % RADIX + 1]++;
		for (size_t i = 1; i < RADIX; i++)
			place[i] += place[i - 1];
		for (size_t i = 0; i < count; i++)
			to[place[(((uint64_t)from[i] - (uint64_t)least) >> shift) % RADIX]++] =
				from[i];
		from = to;
		to = swap;
	}
	if (from != item)
		memcpy(item, from, count * sizeof(*item));
	free(other);
	return true;
}

static void sort(struct samples *samples)
{
	if (!samples->sorted &&
	    (samples->count < RADIX_LEAST || !radix_sort(samples->item, samples->count)))
		qsort(samples->item, samples->count, sizeof(*samples->item), by_value);
	samples->sorted = true;
}

static double quantile(const struct samples *samples, double q)
{
	double place = (double)(samples->count - 1) * q;
	size_t below = (size_t)place;
	double share = place - (double)below;
	double low = (double)samples->item[below];

	if (below + 1 >= samples->count)
		return low;
	return low + share * (double)(samples->item[below + 1] - samples->item[below]);
}

/* Σ (x - mean)², the mean taken first so that large values do not cancel. */
static double squares(const struct samples *samples, double mean)
{
	double sum = 0;

	for (size_t i = 0; i < samples->count; i++) {
		double difference = (double)samples->item[i] - mean;

		sum += difference * difference;
	}
	return sum;
}

int64_t samples_least(struct samples *samples)
{
	sort(samples);
	return samples->count ? samples->item[0] : NP_UNKNOWN;
}

int64_t samples_most(struct samples *samples)
{
	sort(samples);
	return samples->count ? samples->item[samples->count - 1] : NP_UNKNOWN;
}

struct summary samples_describe(struct samples *samples)
{
	struct summary ret = { .count = samples->count, .sum = samples->sum };
	double sum_of_squares;

	if (samples->count == 0)
		return (struct summary){ .mean = (double)NAN,
					 .std = (double)NAN,
					 .population_std = (double)NAN,
					 .min = NP_UNKNOWN,
					 .q1 = (double)NAN,
					 .median = (double)NAN,
					 .q3 = (double)NAN,
					 .max = NP_UNKNOWN };
	sort(samples);
	ret.mean = (double)samples->sum / (double)samples->count;
	sum_of_squares = squares(samples, ret.mean);
	ret.std = samples->count > 1 ? sqrt(sum_of_squares / (double)(samples->count - 1))
				     : (double)NAN;
	ret.population_std = sqrt(sum_of_squares / (double)samples->count);
	ret.min = samples->item[0];
	ret.max = samples->item[samples->count - 1];
	ret.q1 = quantile(samples, 0.25);
	ret.median = quantile(samples, 0.5);
	ret.q3 = quantile(samples, 0.75);
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
