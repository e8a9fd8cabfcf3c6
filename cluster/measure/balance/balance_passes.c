/* SPDX-License-Identifier: Apache-2.0 */
/* Passes of several kernels: stretches that end alike are as long as each other. */
#include "balance_pool.h"

#include "npuprof/robust.h"

#include <math.h>

/*
 * Where a pass is many kernels, of which forward and backward passes may have the same types, what
 * follows says which it is: the message that it sends, or the operator that is asked for. Stretches
 * of one end that are made of the same types, and are as long as each other but for chance,
 * are the mean of all of them.
 */

/* Shares of the types may differ by this. */
#define MADE_ALIKE 0.1

#define NO_CLASS UINT32_MAX

/* Of the starts at the end of a stretch, that of a message which is sent, else the first there is.
 */
static uint32_t end_of(const struct bal_pooling *pooling, const struct bal_stretch *stretch)
{
	const struct np_bal *bal = pooling->bal;
	uint32_t stage = bal->rows.item[stretch->to].stage;
	double at = bal->even[stretch->to];
	uint32_t sent = NO_CLASS;
	uint32_t other = NO_CLASS;

	for (uint32_t i = 0; i < bal->rows.count; i += 2) {
		const struct bal_row *row = &bal->rows.item[i];

		if (row->stage != stage || !(row->starts > 0) ||
		    fabs(bal->even[i] - at) > BAL_ONE_PLACE)
			continue;
		if (row->sends)
			sent = row->class < sent ? row->class : sent;
		else
			other = row->class < other ? row->class : other;
	}
	return sent != NO_CLASS ? sent : other;
}

static bool made_alike(const struct bal_stretch *stretch, const double *made)
{
	for (size_t i = 0; i < POOL_TYPES; i++) {
		if (fabs(stretch->parts[i] / stretch->length - made[i]) > MADE_ALIKE)
			return false;
	}
	return true;
}

/* What the stretches of one end have in common. */
static struct bal_unit unit_of(const struct bal_pooling *pooling, const uint32_t *ends,
			       uint32_t end, double made[POOL_TYPES], double *values)
{
	struct bal_unit unit = { .length = (double)NAN };
	double squares = 0;
	size_t count = 0;

	for (size_t j = 0; j <= POOL_TYPES; j++) {
		count = 0;
		for (size_t i = 0; i < pooling->list.count; i++) {
			const struct bal_stretch *stretch = &pooling->list.item[i];

			if (ends[i] != end)
				continue;
			values[count++] = j < POOL_TYPES ? stretch->parts[j] / stretch->length
							 : stretch->length;
		}
		if (count < POOL_FEWEST)
			return unit;
		if (j < POOL_TYPES)
			made[j] = np_median(values, count);
	}
	unit.length = np_median(values, count);
	for (size_t i = 0; i < pooling->list.count; i++) {
		double spread = bal_spread_of(&pooling->list.item[i]);

		squares += ends[i] == end ? spread * spread : 0;
	}
	unit.spread = sqrt(squares / (double)count);
	return unit;
}

static void pool_end(struct bal_pooling *pooling, uint32_t *ends, uint32_t end, double *values)
{
	double made[POOL_TYPES];
	struct bal_unit unit = unit_of(pooling, ends, end, made, values);
	double sum = 0;
	double count = 0;

	for (size_t i = 0; i < pooling->list.count; i++) {
		struct bal_stretch *stretch = &pooling->list.item[i];

		if (ends[i] != end)
			continue;
		ends[i] = NO_CLASS;
		stretch->alike = unit.length > 0 && made_alike(stretch, made) &&
				 bal_is_chance(stretch, stretch->length, unit.length, &unit);
		sum += stretch->alike ? stretch->length : 0;
		count += stretch->alike;
		if (stretch->alike)
			ends[i] = end;
	}
	for (size_t i = 0; i < pooling->list.count; i++) {
		if (ends[i] != end)
			continue;
		pooling->list.item[i].length = sum / count;
		ends[i] = NO_CLASS;
	}
}

int bal_pool_passes(struct bal_pooling *pooling, double *values)
{
	uint32_t *ends = malloc((pooling->list.count + 1) * sizeof(*ends));

	if (!ends)
		return np_fail_nomem(pooling->bal->err, "the balance of a run");
	for (size_t i = 0; i < pooling->list.count; i++)
		ends[i] = pooling->list.item[i].length > 0 ? end_of(pooling, &pooling->list.item[i])
							   : NO_CLASS;
	for (size_t i = 0; i < pooling->list.count; i++) {
		if (ends[i] != NO_CLASS)
			pool_end(pooling, ends, ends[i], values);
	}
	free(ends);
	return NP_OK;
}
