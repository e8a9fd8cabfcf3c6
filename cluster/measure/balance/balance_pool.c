/* SPDX-License-Identifier: Apache-2.0 */
/* Work that repeats within a step: micro-batches that differ by chance alone are as long as each
 * other. */
#include "balance_pool.h"

#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/run.h"

#include <math.h>

/*
 * The mean over peers and steps of what lies between two operators is left with what few
 * of them differ by. Where many such stretches of a stage consist of kernels of one type
 * and differ by no more than chance, each is the mean of all, or as many times the mean as
 * it is near to where chance does not explain that: every operator type at its mean. What a
 * few cells of one stretch differ by says little about chance; all of them say more.
 *
 * Where kernels of a type are as many as stretches of nothing else, each stretch is one of
 * them, as in recordings of passes and not of kernels: then the rule holds as it is written,
 * and each is the mean of all by whatever they differ.
 *
 * A start that is at one end of a stretch here and at the other there bounds none.
 */

/* By what part kernels may be more or fewer than stretches where each is one. */
#define AS_MANY 0.002

/* Of so many stretches one may be a piece. */
#define MOST_PIECES 4

/* By how many standard errors, and by how much of the mean, a stretch may differ by chance. */
#define CHANCE 4
#define NEAR   0.02

/* How often starts that have no place in common are left out. */
#define ROUNDS 4

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
static int list_rows(struct bal_pooling *pooling, uint32_t stage)
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

static int list_stretches(struct bal_pooling *pooling)
{
	const struct np_bal *bal = pooling->bal;
	uint32_t from = UINT32_MAX;

	pooling->list.count = 0;
	for (size_t i = 0; i < pooling->rows.count; i++) {
		uint32_t row = pooling->rows.item[i];
		struct bal_stretch *stretch;

		if (from != UINT32_MAX && bal->even[row] - bal->even[from] < BAL_ONE_PLACE)
			continue;
		if (from != UINT32_MAX) {
			stretch = np_vec_add(&pooling->list, bal->err);
			if (!stretch)
				return NP_E_NOMEM;
			*stretch = (struct bal_stretch){
				.from = from, .to = row, .least = (double)INFINITY, .type = SIZE_MAX
			};
			stretch->length = bal->even[row] - bal->even[from];
		}
		from = row;
	}
	return NP_OK;
}

/* How long stretches are in one cell. */
static int see_cell(struct bal_pooling *pooling, const struct bal_cell *cell)
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
		struct bal_stretch *stretch = &pooling->list.item[i];
		double length = pooling->at[stretch->to] - pooling->at[stretch->from];

		stretch->sum += length;
		stretch->squares += length * length;
		stretch->count++;
		stretch->least = fmin(stretch->least, length);
	}
	np_vec_release(&even.sums);
	return rc;
}

static int see_cells_of(struct bal_pooling *pooling, uint32_t stage)
{
	const struct np_bal *bal = pooling->bal;
	int rc = list_stretches(pooling);

	for (size_t i = 0; i < bal->cells.count && rc == NP_OK; i++) {
		if (bal->cells.item[i].stage == stage)
			rc = see_cell(pooling, &bal->cells.item[i]);
	}
	return rc;
}

double bal_spread_of(const struct bal_stretch *stretch)
{
	double mean = stretch->sum / stretch->count;

	return sqrt(fmax(stretch->squares / stretch->count - mean * mean, 0));
}

/*
 * Starts that some cells have in another order: of the two the one is left out whose
 * other side differs more as well. False if there are none.
 */
static bool leave_out(struct bal_pooling *pooling)
{
	const struct bal_stretch *list = pooling->list.item;
	size_t count = pooling->list.count;
	size_t kept = 0;
	bool some = false;

	for (size_t i = 0; i < count; i++) {
		double before = i > 0 ? bal_spread_of(&list[i - 1]) : 0;
		double after = i + 1 < count ? bal_spread_of(&list[i + 1]) : 0;
		uint32_t out = after > before ? list[i].to : list[i].from;

		if (list[i].least >= -BAL_ONE_PLACE)
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
static int see_type(struct bal_pooling *pooling, uint32_t stage, size_t place, size_t type)
{
	struct np_bal *bal = pooling->bal;
	double *weights = calloc(bal->types.count + 1, sizeof(*weights));
	double *even = NULL;
	int rc = weights ? NP_OK : np_fail_nomem(bal->err, "the balance of a run");

	if (rc == NP_OK) {
		weights[type] = bal->weights[stage * bal->types.count + type];
		rc = bal_settle(bal, weights, stage, &even);
	}
	for (size_t i = 0; i < pooling->list.count && rc == NP_OK; i++) {
		struct bal_stretch *stretch = &pooling->list.item[i];

		stretch->parts[place] = even[stretch->to] - even[stretch->from];
		if (stretch->parts[place] >= POOL_PURE * stretch->length)
			stretch->type = place;
	}
	free(even);
	free(weights);
	return rc;
}

/* Kernels of this type that the ranks of a stage ran in all. */
static double count_kernels(const struct np_bal *bal, uint32_t stage, size_t type)
{
	const struct np_run *run = bal->align->run;
	np_str name = bal->types.item[type].type;
	double count = 0;

	for (uint32_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];
		uint32_t own = bal->stage_of[i] > 0 ? (uint32_t)bal->stage_of[i] : 0;

		for (size_t j = 0; rank && own == stage && j < rank->kernels.count; j++) {
			if (rank->kernels.item[j].name == name)
				count += (double)rank->kernels.item[j].count;
		}
	}
	return count;
}

/* Is a stretch of this type, or of several with this one among them? */
static bool has_type(const struct bal_stretch *stretch, size_t type, double length)
{
	return stretch->type == type ||
	       (stretch->type == SIZE_MAX && stretch->parts[type] >= length / 2);
}

static double count_stretches(const struct bal_pooling *pooling, size_t type, double length)
{
	double stretches = 0;

	for (size_t i = 0; i < pooling->list.count; i++) {
		if (has_type(&pooling->list.item[i], type, length))
			stretches += pooling->list.item[i].count;
	}
	return stretches;
}

static struct bal_unit see_unit(const struct bal_pooling *pooling, size_t type, double kernels,
				double *values)
{
	struct bal_unit unit = { .length = (double)NAN };
	double squares = 0;
	size_t count = 0;

	for (size_t i = 0; i < pooling->list.count; i++) {
		const struct bal_stretch *stretch = &pooling->list.item[i];

		if (stretch->type != type)
			continue;
		squares += bal_spread_of(stretch) * bal_spread_of(stretch);
		values[count++] = stretch->length;
	}
	if (count < POOL_FEWEST)
		return unit;
	unit.length = np_median(values, count);
	unit.spread = sqrt(squares / (double)count);
	unit.stretches = count_stretches(pooling, type, unit.length);
	unit.one = fabs(kernels - unit.stretches) <= AS_MANY * kernels;
	return unit;
}

bool bal_is_chance(const struct bal_stretch *stretch, double length, double expected,
		   const struct bal_unit *unit)
{
	double error = fmax(bal_spread_of(stretch), unit->spread) / sqrt(stretch->count);

	return fabs(length - expected) <= CHANCE * error + NEAR * unit->length;
}

/* How many times the unit is this? 0: none. */
static double times_of(const struct bal_stretch *stretch, double length,
		       const struct bal_unit *unit)
{
	double near = fmax(round(length / unit->length), 1);

	if (unit->one || bal_is_chance(stretch, length, unit->length, unit))
		return 1;
	return bal_is_chance(stretch, length, near * unit->length, unit) ? near : 0;
}

/* Is nearly all of it of types that are known? */
static bool is_sum(const struct bal_stretch *stretch)
{
	double sum = 0;

	for (size_t i = 0; i < POOL_TYPES; i++)
		sum += stretch->parts[i];
	return sum >= POOL_PURE * stretch->length;
}

static void pool_type(struct bal_pooling *pooling, size_t type, double kernels, double *values)
{
	struct bal_unit unit = see_unit(pooling, type, kernels, values);
	double sum = 0;
	double times = 0;

	if (!(unit.length > 0))
		return;
	for (size_t i = 0; i < pooling->list.count; i++) {
		struct bal_stretch *stretch = &pooling->list.item[i];
		double length = stretch->type == type ? stretch->length : stretch->parts[type];

		/* Of several types: parts that are there at all. */
		if (stretch->alike ||
		    (stretch->type != type &&
		     (stretch->type != SIZE_MAX || !is_sum(stretch) || length < unit.length / 2)))
			continue;
		stretch->times[type] = times_of(stretch, length, &unit);
		if (stretch->times[type] > 0) {
			sum += length;
			times += stretch->times[type];
		}
	}
	for (size_t i = 0; i < pooling->list.count; i++) {
		struct bal_stretch *stretch = &pooling->list.item[i];
		double length = stretch->type == type ? stretch->length : stretch->parts[type];

		if (stretch->times[type] > 0)
			stretch->length += stretch->times[type] * sum / times - length;
	}
}

/* Starts move with the stretches before them. */
static void move_rows(struct bal_pooling *pooling)
{
	double *even = pooling->bal->even;
	size_t next = 0;
	double shift = 0;
	double end = (double)NAN;

	for (size_t i = 0; i < pooling->rows.count; i++) {
		uint32_t row = pooling->rows.item[i];

		if (next < pooling->list.count && pooling->list.item[next].to == row) {
			const struct bal_stretch *stretch = &pooling->list.item[next++];
			double from = isnan(end) ? even[stretch->from] : end;

			end = from + stretch->length;
			shift = end - even[row];
		}
		even[row] += shift;
	}
}

/* The row between two stretches is out. */
static void drop_row(struct bal_pooling *pooling, uint32_t row)
{
	size_t kept = 0;

	for (size_t i = 0; i < pooling->rows.count; i++) {
		if (pooling->rows.item[i] != row)
			pooling->rows.item[kept++] = pooling->rows.item[i];
	}
	pooling->rows.count = kept;
}

/*
 * More stretches than kernels: starts that are within a kernel, such as those of receives
 * that somebody asks for early. Of the shortest piece the end that another piece of the same
 * kernel is behind. False if there is none.
 */
static bool join_pieces(struct bal_pooling *pooling, size_t type, const struct bal_unit *unit)
{
	const struct bal_stretch *list = pooling->list.item;
	size_t count = pooling->list.count;
	size_t least = SIZE_MAX;
	double before;
	double after;

	for (size_t i = 0; i < count; i++) {
		if (list[i].type == type && list[i].length < unit->length / 2 &&
		    (least == SIZE_MAX || list[i].length < list[least].length))
			least = i;
	}
	if (least == SIZE_MAX)
		return false;
	before = least > 0 ? fabs(list[least - 1].parts[type] + list[least].length - unit->length)
			   : (double)INFINITY;
	after = least + 1 < count
			? fabs(list[least + 1].parts[type] + list[least].length - unit->length)
			: (double)INFINITY;
	if (fmin(before, after) > unit->length / 2)
		return false;
	drop_row(pooling, before < after ? list[least].from : list[least].to);
	return true;
}

static int see_stage(struct bal_pooling *pooling, uint32_t stage, const size_t *types)
{
	int rc = see_cells_of(pooling, stage);

	for (size_t i = 0; i < POOL_TYPES && rc == NP_OK; i++) {
		if (types[i] != SIZE_MAX)
			rc = see_type(pooling, stage, i, types[i]);
	}
	return rc;
}

/* Until there are no more stretches of any type than kernels of it. */
static int join_all(struct bal_pooling *pooling, uint32_t stage, const size_t *types,
		    double *values)
{
	bool joined = true;
	int rc = see_stage(pooling, stage, types);

	for (size_t left = pooling->list.count / MOST_PIECES; left > 0 && joined; left--) {
		joined = false;
		for (size_t i = 0; i < POOL_TYPES && rc == NP_OK && !joined; i++) {
			double kernels;
			struct bal_unit unit;

			if (types[i] == SIZE_MAX)
				continue;
			kernels = count_kernels(pooling->bal, stage, types[i]);
			unit = see_unit(pooling, i, kernels, values);
			/* Where types were not recorded nobody counted them. */
			joined = kernels > 0 && unit.length > 0 &&
				 unit.stretches > (1 + AS_MANY) * kernels &&
				 join_pieces(pooling, i, &unit);
		}
		if (joined && rc == NP_OK)
			rc = see_stage(pooling, stage, types);
	}
	return rc;
}

/* How much of the stage is of types of which each stretch is one kernel? */
static double share_of(const struct bal_pooling *pooling, const bool *ones)
{
	double whole = 0;
	double some = 0;

	for (size_t i = 0; i < pooling->list.count; i++) {
		const struct bal_stretch *stretch = &pooling->list.item[i];

		whole += stretch->length;
		for (size_t j = 0; j < POOL_TYPES; j++)
			some += ones[j] ? stretch->parts[j] : 0;
	}
	return whole > 0 ? some / whole : 0;
}

/*
 * Passes are what starts wait for: one that is within a kernel was held up in some cells, by
 * what it is behind, and belongs to the end of the kernel that it is nearest to.
 */
static void snap_rows(struct bal_pooling *pooling, uint32_t stage, const double *ends)
{
	struct np_bal *bal = pooling->bal;
	size_t count = pooling->list.count;

	for (uint32_t i = 0; i < bal->rows.count; i += 2) {
		double *even = &bal->even[i];
		size_t next;

		if (bal->rows.item[i].stage != stage || *even < ends[0] || *even > ends[count])
			continue;
		next = np_lower_bound(j, (size_t)1, count, ends[j] >= *even);
		if (pooling->list.item[next - 1].type == SIZE_MAX)
			continue;
		*even = *even - ends[next - 1] < ends[next] - *even ? ends[next - 1] : ends[next];
	}
}

/* Where stretches begin, and the last one ends, when they are as long as they are even. */
static void list_ends(const struct bal_pooling *pooling, double *ends)
{
	const struct np_bal *bal = pooling->bal;
	size_t count = pooling->list.count;

	for (size_t i = 0; i < count; i++)
		ends[i] = bal->even[pooling->list.item[i].from];
	ends[count] = bal->even[pooling->list.item[count - 1].to];
}

static int keep_passes(struct bal_pooling *pooling, uint32_t stage, const double *ends)
{
	struct np_bal *bal = pooling->bal;

	for (size_t i = 0; i < pooling->list.count; i++) {
		const struct bal_stretch *stretch = &pooling->list.item[i];
		struct bal_pass *pass = np_vec_add(&bal->pass_list, bal->err);
		double sum = 0;

		if (!pass)
			return NP_E_NOMEM;
		*pass = (struct bal_pass){ .stage = stage,
					   .first = stretch->from,
					   .last = stretch->to,
					   .from = ends[i],
					   .to = ends[i + 1] };
		for (size_t j = 0; j < POOL_TYPES; j++)
			sum += stretch->parts[j];
		for (size_t j = 0; j < POOL_TYPES && sum > 0; j++)
			pass->parts[j] = stretch->type == SIZE_MAX ? stretch->parts[j] / sum
								   : j == stretch->type;
	}
	return NP_OK;
}

/* What the type takes of the passes of a stage, up to a place behind the begin of the first. */
static double type_up_to(const struct bal_pass *passes, size_t count, size_t type, double at)
{
	double sum = 0;

	for (size_t i = 0; i < count && passes[i].from < at; i++)
		sum += passes[i].parts[type] * (fmin(at, passes[i].to) - passes[i].from);
	return sum;
}

static void pool_type_of(const struct np_bal *bal, const struct bal_pass *passes, size_t count,
			 size_t type, double factor, double *even)
{
	double begin = even[passes[0].first];
	double end = even[passes[count - 1].last];
	double last = passes[count - 1].to;

	for (uint32_t i = 0; i < bal->rows.count; i += 2) {
		double at = bal->even[i];

		if (bal->rows.item[i].stage != passes[0].stage || at <= passes[0].from)
			continue;
		even[i] = begin + type_up_to(passes, count, type, at) / factor +
			  (at > last ? fmax(even[i] - end, 0) : 0);
	}
}

void bal_pool_type(const struct np_bal *bal, size_t type, const double *factors, double *even)
{
	size_t place = 0;

	while (place < POOL_TYPES && bal->pooled[place] != type)
		place++;
	if (place == POOL_TYPES)
		return;
	for (size_t i = 0; i < bal->pass_list.count;) {
		const struct bal_pass *passes = &bal->pass_list.item[i];
		size_t count = 1;

		while (i + count < bal->pass_list.count && passes[count].stage == passes[0].stage)
			count++;
		if (factors[passes[0].stage] > 0)
			pool_type_of(bal, passes, count, place, factors[passes[0].stage], even);
		i += count;
	}
}

static int pool_stage(struct bal_pooling *pooling, uint32_t stage, const size_t *types)
{
	struct np_bal *bal = pooling->bal;
	bool ones[POOL_TYPES] = { false };
	double *values;
	int rc = list_rows(pooling, stage);

	if (rc == NP_OK)
		rc = see_cells_of(pooling, stage);
	for (size_t i = 0; i < ROUNDS && rc == NP_OK && leave_out(pooling); i++)
		rc = see_cells_of(pooling, stage);
	if (rc < 0 || pooling->list.count < POOL_FEWEST)
		return rc;
	values = malloc((pooling->list.count + 2) * sizeof(*values));
	if (!values)
		return np_fail_nomem(bal->err, "the balance of a run");
	rc = join_all(pooling, stage, types, values);
	for (size_t i = 0; i < POOL_TYPES && rc == NP_OK; i++) {
		if (types[i] != SIZE_MAX)
			ones[i] = see_unit(pooling, i, count_kernels(bal, stage, types[i]), values)
					  .one;
	}
	if (rc == NP_OK && share_of(pooling, ones) < POOL_PURE)
		rc = bal_pool_passes(pooling, values);
	for (size_t i = 0; i < POOL_TYPES && rc == NP_OK; i++) {
		if (types[i] != SIZE_MAX)
			pool_type(pooling, i, count_kernels(bal, stage, types[i]), values);
	}
	/* Those that bound none move as well. */
	if (rc == NP_OK)
		rc = list_rows(pooling, stage);
	if (rc == NP_OK)
		move_rows(pooling);
	if (rc == NP_OK && share_of(pooling, ones) >= POOL_PURE) {
		bal->passes[stage] = true;
		list_ends(pooling, values);
		rc = keep_passes(pooling, stage, values);
		snap_rows(pooling, stage, values);
	}
	free(values);
	return rc;
}

/* Those that take most, SIZE_MAX for none. */
static void find_types(const struct np_bal *bal, size_t ret[POOL_TYPES])
{
	for (size_t i = 0; i < POOL_TYPES; i++) {
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

/* --- the order of marks ------------------------------------------------------------------------
 */

/* Does a message that was held up start before a mark that it was seen behind? */
static bool comes_first(const struct np_bal *bal, const struct bal_mark *mark,
			const struct bal_mark *other)
{
	double own = bal_even_at(bal, bal->even, mark->row);
	double behind = bal_even_at(bal, bal->even, other->row);

	if (mark->block || !mark->message)
		return false;
	/* What is behind a pass is sent before the next one waits for what it needs. */
	return behind > own + BAL_ONE_PLACE || (bal->passes[bal->cells.item[mark->cell].stage] &&
						other->receive && behind > own - BAL_ONE_PLACE);
}

/* Marks of a rank are in the order in which it came to them: those that came late go back. */
static void sort_marks(const struct np_bal *bal, const struct bal_cell *cell)
{
	struct bal_mark *marks = cell->marks > 0 ? &bal->marks.item[cell->first] : NULL;

	for (uint32_t i = 1; i < cell->marks; i++) {
		struct bal_mark mark = marks[i];
		uint32_t j = i;

		while (j > 0 && comes_first(bal, &mark, &marks[j - 1])) {
			marks[j] = marks[j - 1];
			j--;
		}
		if (j < i && mark.at > marks[j + 1].at)
			mark.at = marks[j + 1].at;
		marks[j] = mark;
	}
}

int bal_pool(struct np_bal *bal)
{
	struct bal_pooling pooling = { .bal = bal,
				       .at = calloc(bal->rows.count + 1, sizeof(double)) };
	int rc;

	bal->passes = calloc(bal->stages, sizeof(*bal->passes));
	rc = pooling.at && bal->passes ? NP_OK : np_fail_nomem(bal->err, "the balance of a run");
	find_types(bal, bal->pooled);
	for (uint32_t i = 0; i < bal->stages && rc == NP_OK; i++)
		rc = pool_stage(&pooling, i, bal->pooled);
	for (size_t i = 0; i < bal->cells.count && rc == NP_OK; i++)
		sort_marks(bal, &bal->cells.item[i]);
	np_vec_release(&pooling.rows);
	np_vec_release(&pooling.list);
	free(pooling.at);
	return rc;
}
