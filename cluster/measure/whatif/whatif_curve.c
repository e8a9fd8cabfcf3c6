/* SPDX-License-Identifier: Apache-2.0 */
#include "whatif_private.h"

#include "npuprof/text.h"

#include <inttypes.h>

/* --- ranks ----------------------------------------------------------------------------------- */

np_ns np_whatif_saved(const struct np_whatif *whatif, int32_t rank)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRId32, rank);
	for (size_t i = 0; i < whatif->rows.count; i++) {
		if (whatif->rows.item[i].fix.kind == NP_FIX_RANK &&
		    strcmp(whatif->rows.item[i].fix.what, text) == 0)
			return whatif->rows.item[i].saved;
	}
	return NP_UNKNOWN;
}

/* Move a rank to the place behind those that were placed before it. */
static bool place_rank(const struct np_run *run, struct np_charge_order *order, size_t placed,
		       int64_t id)
{
	for (size_t i = placed; i < order->count; i++) {
		uint32_t rank = order->ranks[i];

		if (run->ranks[rank]->id != id)
			continue;
		memmove(&order->ranks[placed + 1], &order->ranks[placed],
			(i - placed) * sizeof(rank));
		order->ranks[placed] = rank;
		return true;
	}
	return false;
}

int np_whatif_sort(const struct np_whatif *whatif, const struct np_run *run,
		   const struct np_root_causes *causes, struct np_charge_order *ret,
		   struct np_err *err)
{
	int rc = np_root_cause_sort(causes, ret, err);
	size_t placed = 0;

	/* Rows are by what they save. */
	for (size_t i = 0; i < whatif->rows.count && rc == NP_OK; i++) {
		const struct np_fix *fix = &whatif->rows.item[i].fix;
		int64_t id;

		if (whatif->rows.item[i].saved > 0 && fix->kind == NP_FIX_RANK &&
		    np_text_to_int(fix->what, strlen(fix->what), &id))
			placed += place_rank(run, ret, placed, id);
	}
	return rc;
}

/* --- one after the other --------------------------------------------------------------------- */

/* The candidate that gains most on top of `chosen`; SIZE_MAX if none gains. */
static int best_addition(const struct np_whatif_input *input, const fix_list *chosen,
			 const fix_list *candidates, np_ns *trials, np_ns *step, size_t *ret,
			 struct np_err *err)
{
	int rc = whatif_steps(input, chosen->item, chosen->count, candidates->item,
			      candidates->count, trials, err);

	*ret = SIZE_MAX;
	for (size_t i = 0; i < candidates->count && rc == NP_OK; i++) {
		if (trials[i] != NP_UNKNOWN && trials[i] < *step) {
			*step = trials[i];
			*ret = i;
		}
	}
	return rc;
}

static int choose(const struct np_whatif_input *input, const fix_list *candidates, np_ns *trials,
		  size_t count, struct np_whatif_curve *curve, struct np_err *err)
{
	fix_list chosen = { 0 };
	struct np_replay_result base = { 0 };
	np_ns step;
	int rc = np_replay_run(input->replay, NULL, &base, err);

	step = base.step;
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		struct np_whatif_row *row;
		struct np_fix *fix;
		size_t best;

		rc = best_addition(input, &chosen, candidates, trials, &step, &best, err);
		if (rc < 0 || best == SIZE_MAX)
			break;
		fix = np_vec_add(&chosen, err);
		row = fix ? np_vec_add(&curve->list, err) : NULL;
		if (!row) {
			rc = NP_E_NOMEM;
			break;
		}
		*fix = candidates->item[best];
		*row = (struct np_whatif_row){ .fix = *fix,
					       .step = step,
					       .saved = base.step - step,
					       .alone = NP_UNKNOWN,
					       .lasting = true };
	}
	np_vec_release(&chosen);
	return rc;
}

int np_whatif_greedy(const struct np_whatif_input *input, enum np_fix_kind kind, size_t count,
		     struct np_whatif_curve *ret, struct np_err *err)
{
	fix_list candidates = { 0 };
	np_ns *trials = NULL;
	int rc = kind == NP_FIX_HOST ? whatif_add_hosts(input, &candidates, err)
				     : whatif_add_ranks(input, &candidates, err);

	if (rc == NP_OK) {
		trials = calloc(candidates.count + 1, sizeof(*trials));
		rc = trials ? choose(input, &candidates, trials, count, ret, err)
			    : np_fail_nomem(err, "repairs");
	}
	free(trials);
	np_vec_release(&candidates);
	return rc;
}
