/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/memory_growth.h"

#include "npuprof/robust.h"

#include <math.h>

static const struct np_memory_step *held_in(const struct np_rank *rank, np_str component,
					    np_str step)
{
	for (size_t i = 0; i < rank->memory_steps.count; i++) {
		const struct np_memory_step *held = &rank->memory_steps.item[i];

		if (held->component == component && held->step == step)
			return held;
	}
	return NULL;
}

/* Of two slopes of the same sign the lesser one. */
static int64_t agreed(double most, double least)
{
	if (most > 0 && least > 0)
		return llround(fmin(most, least));
	if (most < 0 && least < 0)
		return llround(fmax(most, least));
	return 0;
}

int np_memory_growth_measure(const struct np_rank *rank, np_str component,
			     struct np_memory_growth *ret, struct np_err *err)
{
	struct np_point *most = malloc((rank->steps.count + 1) * sizeof(*most));
	struct np_point *least = malloc((rank->steps.count + 1) * sizeof(*least));
	struct np_line upper = { 0 };
	struct np_line lower = { 0 };
	size_t count = 0;
	int rc;

	if (!most || !least) {
		free(most);
		free(least);
		return np_fail_nomem(err, "growth of memory");
	}
	for (size_t i = 0; i < rank->steps.count; i++) {
		const struct np_memory_step *held =
			held_in(rank, component, rank->steps.item[i].id);

		if (!held)
			continue;
		most[count] = (struct np_point){ (double)i, (double)held->most };
		least[count++] = (struct np_point){ (double)i, (double)held->least };
	}
	rc = np_line_fit(most, count, &upper, err);
	if (rc == NP_OK)
		rc = np_line_fit(least, count, &lower, err);
	if (rc == NP_OK)
		*ret = (struct np_memory_growth){
			.per_step = count < NP_GROWTH_STEPS ? NP_UNKNOWN
							    : agreed(upper.slope, lower.slope),
			.steps = count,
		};
	free(most);
	free(least);
	return rc;
}
