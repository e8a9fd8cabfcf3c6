/* SPDX-License-Identifier: Apache-2.0 */
/* Work that repeats within a step: micro-batches that differ by chance alone are as long as each
 * other. */
#include "balance_model.h"

#include "npuprof/robust.h"

#include <math.h>

/*
 * The mean over peers and steps of what lies between two operators is left with what few
 * of them differ by. Where many such stretches of a stage consist of kernels of one type
 * and differ by no more than chance, each is the mean of all, or as many times the mean as
 * it is near to where chance does not explain that: every operator type at its mean. What a
 * few cells of one stretch differ by says little about chance; all of them say more.
 *
 * A start that is at one end of a stretch here and at the other there bounds none.
 */

/* Types that may make up a stretch, and of how much of it. */
#define TYPES 4
#define PURE  0.95

/* Fewer stretches are not worth it. */
#define FEWEST 3

/* By how many standard errors, and by how much of the mean, a stretch may differ by chance. */
#define CHANCE 4
#define NEAR   0.02

/* How often starts that have no place in common are left out. */
#define ROUNDS 4

/* Starts that are this near to each other are at one place. */
#define ONE_PLACE 200000.0

struct stretch {
	uint32_t from; /* rows */
	uint32_t to;
	double sum;
	double squares;
	double count;
	double least;  /* in any cell */
	double length; /* mean, then what is even */
	double parts[TYPES];
	double times[TYPES]; /* the mean of stretches of a type that the part is */
	size_t type;         /* of the whole; SIZE_MAX: several */
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
			*stretch = (struct stretch){
				.from = from, .to = row, .least = (double)INFINITY, .type = SIZE_MAX
			};
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
		stretch->least = fmin(stretch->least, length);
	}
	np_vec_release(&even.sums);
	return rc;
}

static int see_cells_of(struct pooling *pooling, uint32_t stage)
{
	const struct np_bal *bal = pooling->bal;
	int rc = list_stretches(pooling);

	for (size_t i = 0; i < bal->cells.count && rc == NP_OK; i++) {
		if (bal->cells.item[i].stage == stage)
			rc = see_cell(pooling, &bal->cells.item[i]);
	}
	return rc;
}

/* By how much a stretch differs from cell to cell. */
static double spread_of(const struct stretch *stretch)
{
	double mean = stretch->sum / stretch->count;

	return sqrt(fmax(stretch->squares / stretch->count - mean * mean, 0));
}

/*
 * Starts that some cells have in another order: of the two the one is left out whose
 * other side differs more as well. False if there are none.
 */
static bool leave_out(struct pooling *pooling)
{
	const struct stretch *list = pooling->list.item;
	size_t count = pooling->list.count;
	size_t kept = 0;
	bool some = false;

	for (size_t i = 0; i < count; i++) {
		double before = i > 0 ? spread_of(&list[i - 1]) : 0;
		double after = i + 1 < count ? spread_of(&list[i + 1]) : 0;
		uint32_t out = after > before ? list[i].to : list[i].from;

		if (list[i].least >= -ONE_PLACE)
			continue;
		some = true;
		for (size_t j = 0; j < pooling->rows.count; j++) {
			if (pooling->rows.item[j] == out)
				pooling->rows.item[j] = NO_ROW;
		}
	}
	for (size_t j = 0; j < pooling->rows.count; j++) {
		if (pooling->rows.item[j] != NO_ROW)
			pooling->rows.item[kept++] = pooling->rows.item[j];
	}
	pooling->rows.count = kept;
	return some;
}

/* How much of each stretch is of this type? */
static int see_type(struct pooling *pooling, uint32_t stage, size_t place, size_t type)
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

		stretch->parts[place] = even[stretch->to] - even[stretch->from];
		if (stretch->parts[place] >= PURE * stretch->length)
			stretch->type = place;
	}
	free(even);
	free(weights);
	return rc;
}

/* What stretches of one type have in common. */
struct pool_unit {
	double length; /* the middle one; NaN for too few */
	double spread; /* over all cells, about the mean of each stretch */
};

static struct pool_unit see_unit(const struct pooling *pooling, size_t type, double *values)
{
	double squares = 0;
	size_t count = 0;

	for (size_t i = 0; i < pooling->list.count; i++) {
		const struct stretch *stretch = &pooling->list.item[i];

		if (stretch->type != type)
			continue;
		squares += spread_of(stretch) * spread_of(stretch);
		values[count++] = stretch->length;
	}
	if (count < FEWEST)
		return (struct pool_unit){ .length = (double)NAN };
	return (struct pool_unit){ np_median(values, count), sqrt(squares / (double)count) };
}

static bool is_chance(const struct stretch *stretch, double length, double expected,
		      const struct pool_unit *unit)
{
	double error = fmax(spread_of(stretch), unit->spread) / sqrt(stretch->count);

	return fabs(length - expected) <= CHANCE * error + NEAR * unit->length;
}

/* How many times the unit is this? 0: none. */
static double times_of(const struct stretch *stretch, double length, const struct pool_unit *unit)
{
	double near = fmax(round(length / unit->length), 1);

	if (is_chance(stretch, length, unit->length, unit))
		return 1;
	return is_chance(stretch, length, near * unit->length, unit) ? near : 0;
}

/* Is nearly all of it of types that are known? */
static bool is_sum(const struct stretch *stretch)
{
	double sum = 0;

	for (size_t i = 0; i < TYPES; i++)
		sum += stretch->parts[i];
	return sum >= PURE * stretch->length;
}

static void pool_type(struct pooling *pooling, size_t type, double *values)
{
	struct pool_unit unit = see_unit(pooling, type, values);
	double sum = 0;
	double times = 0;

	if (!(unit.length > 0))
		return;
	for (size_t i = 0; i < pooling->list.count; i++) {
		struct stretch *stretch = &pooling->list.item[i];
		double length = stretch->type == type ? stretch->length : stretch->parts[type];

		/* Of several types: parts that are there at all. */
		if (stretch->type != type &&
		    (stretch->type != SIZE_MAX || !is_sum(stretch) || length < unit.length / 2))
			continue;
		stretch->times[type] = times_of(stretch, length, &unit);
		if (stretch->times[type] > 0) {
			sum += length;
			times += stretch->times[type];
		}
	}
	for (size_t i = 0; i < pooling->list.count; i++) {
		struct stretch *stretch = &pooling->list.item[i];
		double length = stretch->type == type ? stretch->length : stretch->parts[type];

		if (stretch->times[type] > 0)
			stretch->length += stretch->times[type] * sum / times - length;
	}
}

/* Starts move with the stretches before them. */
static void move_rows(struct pooling *pooling)
{
	double *even = pooling->bal->even;
	size_t next = 0;
	double shift = 0;
	double end = (double)NAN;

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
		rc = see_cells_of(pooling, stage);
	for (size_t i = 0; i < ROUNDS && rc == NP_OK && leave_out(pooling); i++)
		rc = see_cells_of(pooling, stage);
	if (rc < 0 || pooling->list.count < FEWEST)
		return rc;
	for (size_t i = 0; i < TYPES && rc == NP_OK; i++) {
		if (types[i] != SIZE_MAX)
			rc = see_type(pooling, stage, i, types[i]);
	}
	values = malloc((pooling->list.count + 1) * sizeof(*values));
	if (rc == NP_OK && !values)
		rc = np_fail_nomem(bal->err, "the balance of a run");
	for (size_t i = 0; i < TYPES && rc == NP_OK; i++) {
		if (types[i] != SIZE_MAX)
			pool_type(pooling, i, values);
	}
	/* Those that bound none move as well. */
	if (rc == NP_OK)
		rc = list_rows(pooling, stage);
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
