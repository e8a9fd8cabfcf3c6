/* SPDX-License-Identifier: Apache-2.0 */
/* Work that repeats within a step: micro-batches that differ by chance alone are as long as each
 * other. */
#include "balance_model.h"

#include "npuprof/robust.h"

#include <math.h>

/*
 * The mean over peers and steps of what lies between two operators is left with what few
 * of them differ by. Where many such stretches of a stage consist of kernels of one type
 * and differ by no more than chance, each is as many times the mean of all as it is near
 * to: every operator type at its mean.
 */

/* Types that may make up a stretch, and of how much of it. */
#define TYPES 4
#define PURE  0.95

/* Fewer stretches are not worth it. */
#define FEWEST 3

/* By how many standard errors, and by how much of the mean, a stretch may differ by chance. */
#define CHANCE 4
#define NEAR   0.02

/* Starts that are this near to each other are at one place. */
#define ONE_PLACE 200000.0

struct stretch {
	uint32_t from; /* rows */
	uint32_t to;
	double sum;
	double squares;
	double count;
	double length; /* mean, then what is even */
	double times;  /* the mean of its kind that it has */
	size_t type;   /* SIZE_MAX: several */
};

struct pooling {
	struct np_bal *bal;
	NP_VEC(uint32_t) rows; /* starts of a stage, in their order */
	NP_VEC(struct stretch) list;
	double *at; /* by row: of one cell */
};

struct pool_place {
	uint32_t row;
	double at;
};

static int by_place(const void *left, const void *right)
{
	const struct pool_place *a = left;
	const struct pool_place *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* Starts that all cells of the stage have. */
static int list_rows(struct pooling *pooling, uint32_t stage)
{
	const struct np_bal *bal = pooling->bal;
	NP_VEC(struct pool_place) places = { 0 };
	int rc = NP_OK;

	pooling->rows.count = 0;
	for (uint32_t i = 0; i < bal->rows.count && rc == NP_OK; i += 2) {
		struct pool_place *place;

		if (bal->rows.item[i].stage != stage ||
		    bal->rows.item[i].starts < bal->stage_cells[stage])
			continue;
		place = np_vec_add(&places, bal->err);
		if (!place)
			rc = NP_E_NOMEM;
		else
			*place = (struct pool_place){ i, bal->even[i] };
	}
	if (rc == NP_OK && places.count > 1)
		qsort(places.item, places.count, sizeof(*places.item), by_place);
	for (size_t i = 0; i < places.count && rc == NP_OK; i++) {
		uint32_t *row = np_vec_add(&pooling->rows, bal->err);

		if (!row)
			rc = NP_E_NOMEM;
		else
			*row = places.item[i].row;
	}
	np_vec_release(&places);
	return rc;
}

static int list_stretches(struct pooling *pooling)
{
	const struct np_bal *bal = pooling->bal;
	uint32_t from = UINT32_MAX;

	pooling->list.count = 0;
	for (size_t i = 0; i < pooling->rows.count; i++) {
		uint32_t row = pooling->rows.item[i];
		struct stretch *stretch;

		if (from != UINT32_MAX && bal->even[row] - bal->even[from] < ONE_PLACE)
			continue;
		if (from != UINT32_MAX) {
			stretch = np_vec_add(&pooling->list, bal->err);
			if (!stretch)
				return NP_E_NOMEM;
			*stretch = (struct stretch){ .from = from, .to = row, .type = SIZE_MAX };
			stretch->length = bal->even[row] - bal->even[from];
		}
		from = row;
	}
	return NP_OK;
}

/* How long stretches are in one cell. */
static int see_cell(struct pooling *pooling, const struct bal_cell *cell)
{
	struct np_bal *bal = pooling->bal;
	struct bal_progress even = { 0 };
	int rc = bal_see_progress(bal, cell, &bal->weights[cell->stage * bal->types.count], &even);

	for (uint32_t i = cell->first; i < cell->first + cell->marks && rc == NP_OK; i++) {
		const struct bal_mark *mark = &bal->marks.item[i];

		if (!mark->block)
			pooling->at[mark->row] = bal_progress_at(&even, cell, mark->time);
	}
	for (size_t i = 0; i < pooling->list.count && rc == NP_OK; i++) {
		struct stretch *stretch = &pooling->list.item[i];
		double length = pooling->at[stretch->to] - pooling->at[stretch->from];

		stretch->sum += length;
		stretch->squares += length * length;
		stretch->count++;
	}
	np_vec_release(&even.sums);
	return rc;
}

/* Which stretches consist of this type? */
static int see_type(struct pooling *pooling, uint32_t stage, size_t type)
{
	struct np_bal *bal = pooling->bal;
	double *weights = calloc(bal->types.count + 1, sizeof(*weights));
	double *even = NULL;
	int rc = weights ? NP_OK : np_fail_nomem(bal->err, "the balance of a run");

	if (rc == NP_OK) {
		weights[type] = bal->weights[stage * bal->types.count + type];
		rc = bal_settle(bal, weights, &even);
	}
	for (size_t i = 0; i < pooling->list.count && rc == NP_OK; i++) {
		struct stretch *stretch = &pooling->list.item[i];

		if (even[stretch->to] - even[stretch->from] >= PURE * stretch->length)
			stretch->type = type;
	}
	free(even);
	free(weights);
	return rc;
}

/* The middle length of stretches of a type; NaN for too few. */
static double middle_length(const struct pooling *pooling, size_t type, double *values)
{
	size_t count = 0;

	for (size_t i = 0; i < pooling->list.count; i++) {
		if (pooling->list.item[i].type == type)
			values[count++] = pooling->list.item[i].length;
	}
	return count >= FEWEST ? np_median(values, count) : (double)NAN;
}

static bool is_chance(const struct stretch *stretch, double unit)
{
	double mean = stretch->sum / stretch->count;
	double spread = sqrt(fmax(stretch->squares / stretch->count - mean * mean, 0));

	return fabs(stretch->length - stretch->times * unit) <=
	       CHANCE * spread / sqrt(stretch->count) + NEAR * unit;
}

static void pool_type(struct pooling *pooling, size_t type, double *values)
{
	double unit = middle_length(pooling, type, values);
	double sum = 0;
	double times = 0;

	if (!(unit > 0))
		return;
	for (size_t i = 0; i < pooling->list.count; i++) {
		struct stretch *stretch = &pooling->list.item[i];

		if (stretch->type != type)
			continue;
		stretch->times = fmax(round(stretch->length / unit), 1);
		if (!is_chance(stretch, unit)) {
			stretch->times = 0;
			continue;
		}
		sum += stretch->length;
		times += stretch->times;
	}
	for (size_t i = 0; i < pooling->list.count; i++) {
		struct stretch *stretch = &pooling->list.item[i];

		if (stretch->type == type && stretch->times > 0)
			stretch->length = stretch->times * sum / times;
	}
}

/* Starts move with the stretches before them. */
static void move_rows(struct pooling *pooling)
{
	double *even = pooling->bal->even;
	size_t next = 0;
	double shift = 0;
	double end = NAN;

	for (size_t i = 0; i < pooling->rows.count; i++) {
		uint32_t row = pooling->rows.item[i];

		if (next < pooling->list.count && pooling->list.item[next].to == row) {
			const struct stretch *stretch = &pooling->list.item[next++];
			double from = isnan(end) ? even[stretch->from] : end;

			end = from + stretch->length;
			shift = end - even[row];
		}
		even[row] += shift;
	}
}

static int pool_stage(struct pooling *pooling, uint32_t stage, const size_t *types)
{
	struct np_bal *bal = pooling->bal;
	double *values;
	int rc = list_rows(pooling, stage);

	if (rc == NP_OK)
		rc = list_stretches(pooling);
	if (rc < 0 || pooling->list.count < FEWEST)
		return rc;
	for (size_t i = 0; i < bal->cells.count && rc == NP_OK; i++) {
		if (bal->cells.item[i].stage == stage)
			rc = see_cell(pooling, &bal->cells.item[i]);
	}
	for (size_t i = 0; i < TYPES && rc == NP_OK; i++) {
		if (types[i] != SIZE_MAX)
			rc = see_type(pooling, stage, types[i]);
	}
	values = malloc((pooling->list.count + 1) * sizeof(*values));
	if (rc == NP_OK && !values)
		rc = np_fail_nomem(bal->err, "the balance of a run");
	for (size_t i = 0; i < TYPES && rc == NP_OK; i++) {
		if (types[i] != SIZE_MAX)
			pool_type(pooling, types[i], values);
	}
	if (rc == NP_OK)
		move_rows(pooling);
	free(values);
	return rc;
}

/* Those that take most, SIZE_MAX for none. */
static void find_types(const struct np_bal *bal, size_t ret[TYPES])
{
	for (size_t i = 0; i < TYPES; i++) {
		double most = 0;

		ret[i] = SIZE_MAX;
		for (size_t j = 0; j < bal->types.count; j++) {
			double sum = 0;
			bool taken = false;

			for (size_t k = 0; k < i; k++)
				taken |= ret[k] == j;
			for (size_t k = 0; k < bal->stages && !taken; k++)
				sum += bal->types.item[j].stages[k];
			if (sum > most) {
				most = sum;
				ret[i] = j;
			}
		}
	}
}

int bal_pool(struct np_bal *bal)
{
	struct pooling pooling = { .bal = bal, .at = calloc(bal->rows.count + 1, sizeof(double)) };
	size_t types[TYPES];
	int rc = pooling.at ? NP_OK : np_fail_nomem(bal->err, "the balance of a run");

	find_types(bal, types);
	for (uint32_t i = 0; i < bal->stages && rc == NP_OK; i++)
		rc = pool_stage(&pooling, i, types);
	np_vec_release(&pooling.rows);
	np_vec_release(&pooling.list);
	free(pooling.at);
	return rc;
}
