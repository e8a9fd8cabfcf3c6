/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

#include "npuprof/idmap.h"

#include <math.h>

/* Sums of damaged times may not fit: then they are as large as can be. */
static int64_t plus(int64_t a, int64_t b)
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
	samples->sum = plus(samples->sum, value);
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
	to->sum = plus(to->sum, from->sum);
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

/* --- grouping -------------------------------------------------------------------------------- */

int grouping_init(struct grouping *grouping, size_t parts, struct np_err *err)
{
	*grouping = (struct grouping){ .parts = parts };
	for (size_t i = 0; i < parts; i++) {
		grouping->level[i] = np_idmap_new();
		if (!grouping->level[i])
			return np_fail_nomem(err, "groups");
	}
	return NP_OK;
}

void grouping_release(struct grouping *grouping)
{
	for (size_t i = 0; i < GROUP_PARTS; i++)
		np_idmap_free(grouping->level[i]);
	for (size_t i = 0; i < grouping->list.count; i++)
		samples_release(&grouping->list.item[i].samples);
	np_vec_release(&grouping->list);
}

static struct group *add_group(struct grouping *grouping, const np_str *key, struct np_err *err)
{
	struct group *group = np_vec_add(&grouping->list, err);

	if (group)
		memcpy(group->key, key, grouping->parts * sizeof(*key));
	return group;
}

/* A key is followed part by part, each level mapping (place so far, part) to a place. */
struct group *grouping_find(struct grouping *grouping, const np_str *key, struct np_err *err)
{
	uint32_t place = 0;

	for (size_t i = 0; i < grouping->parts; i++) {
		int64_t id = (int64_t)((uint64_t)place << 32 | key[i]);
		bool last = i + 1 == grouping->parts;

		place = np_idmap_get(grouping->level[i], id);
		if (place != NP_IDMAP_NONE)
			continue;
		if (last && !add_group(grouping, key, err))
			return NULL;
		place = last ? (uint32_t)(grouping->list.count - 1) : ++grouping->inner;
		if (np_idmap_set(grouping->level[i], id, place, err) < 0)
			return NULL;
	}
	return &grouping->list.item[place];
}

struct group *grouping_get(struct grouping *grouping, const np_str *key)
{
	uint32_t place = 0;

	for (size_t i = 0; i < grouping->parts; i++) {
		place = np_idmap_get(grouping->level[i], (int64_t)((uint64_t)place << 32 | key[i]));
		if (place == NP_IDMAP_NONE)
			return NULL;
	}
	return &grouping->list.item[place];
}

int group_add(struct group *group, int64_t value, int32_t rank, struct np_err *err)
{
	if (group->samples.count == 0 || value < group->least) {
		group->least = value;
		group->least_of = rank;
	}
	if (group->samples.count == 0 || value > group->most) {
		group->most = value;
		group->most_of = rank;
	}
	return samples_add(&group->samples, value, err);
}

int grouping_unite(struct grouping *ret, struct grouping *const *list, size_t count,
		   struct np_err *err)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; list[i] && j < list[i]->list.count; j++) {
			const struct group *from = &list[i]->list.item[j];
			struct group *group = grouping_find(ret, from->key, err);

			if (!group)
				return NP_E_NOMEM;
			group->samples.sum = plus(group->samples.sum, from->samples.sum);
		}
	}
	return NP_OK;
}

int grouping_pool(struct grouping *const *list, size_t count, const np_str *key,
		  struct samples *ret, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const struct group *group = list[i] ? grouping_get(list[i], key) : NULL;

		if (group)
			rc = samples_join(ret, &group->samples, err);
	}
	return rc;
}

struct order_context {
	const struct np_modes *modes;
	const struct grouping *grouping;
};

static int by_key(const void *left, const void *right, void *context)
{
	const struct order_context *order = context;
	const struct group *a = &order->grouping->list.item[*(const uint32_t *)left];
	const struct group *b = &order->grouping->list.item[*(const uint32_t *)right];
	int difference = 0;

	for (size_t i = 0; i < order->grouping->parts && difference == 0; i++)
		difference = strcmp(mode_name(order->modes, a->key[i]),
				    mode_name(order->modes, b->key[i]));
	return difference;
}

static int by_sum(const void *left, const void *right, void *context)
{
	const struct order_context *order = context;
	const struct group *a = &order->grouping->list.item[*(const uint32_t *)left];
	const struct group *b = &order->grouping->list.item[*(const uint32_t *)right];

	if (a->samples.sum != b->samples.sum)
		return np_order(b->samples.sum, a->samples.sum);
	return by_key(left, right, context);
}

static uint32_t *sorted(const struct np_modes *modes, const struct grouping *grouping,
			int (*compare)(const void *, const void *, void *), struct np_err *err)
{
	struct order_context context = { modes, grouping };
	uint32_t *order = malloc((grouping->list.count + 1) * sizeof(*order));

	if (!order) {
		(void)np_fail_nomem(err, "groups");
		return NULL;
	}
	for (uint32_t i = 0; i < grouping->list.count; i++)
		order[i] = i;
	if (grouping->list.count)
		qsort_r(order, grouping->list.count, sizeof(*order), compare, &context);
	return order;
}

uint32_t *grouping_by_sum(const struct np_modes *modes, const struct grouping *grouping,
			  struct np_err *err)
{
	return sorted(modes, grouping, by_sum, err);
}

uint32_t *grouping_by_key(const struct np_modes *modes, const struct grouping *grouping,
			  struct np_err *err)
{
	return sorted(modes, grouping, by_key, err);
}
