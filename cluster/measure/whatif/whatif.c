/* SPDX-License-Identifier: Apache-2.0 */
/* Which repairs are worth trying, what each of them gains, and one after the other. */
#include "npuprof/whatif.h"

#include "whatif_run.h"

#include "npuprof/align.h"
#include "npuprof/rank.h"
#include "npuprof/text.h"
#include "npuprof/workers.h"

#include <inttypes.h>

/* Single ranks and hosts that are tried, at most. */
#define MOST_TRIED 64

static size_t most_tried(const struct np_whatif_input *input)
{
	return input->most > 0 ? input->most : MOST_TRIED;
}

static int add_fix(fix_list *list, enum np_fix_kind kind, const char *what, struct np_err *err)
{
	struct np_fix *fix;

	for (size_t i = 0; i < list->count; i++) {
		if (list->item[i].kind == kind && strcmp(list->item[i].what, what) == 0)
			return NP_OK;
	}
	fix = np_vec_add(list, err);
	if (!fix)
		return NP_E_NOMEM;
	fix->kind = kind;
	(void)snprintf(fix->what, sizeof(fix->what), "%s", what);
	return NP_OK;
}

static int add_number(fix_list *list, enum np_fix_kind kind, int64_t number, struct np_err *err)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRId64, number);
	return add_fix(list, kind, text, err);
}

/* --- what to try ----------------------------------------------------------------------------- */

struct rank_candidate {
	double weight;
	uint32_t rank;
};

static int heaviest_first(const void *left, const void *right)
{
	const struct rank_candidate *a = left;
	const struct rank_candidate *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The ranks that waiting goes back to, then those that work most. */
static int add_ranks(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
{
	const struct np_run *run = input->replay->align->run;
	size_t count = run->sources.count;
	struct rank_candidate *ranks = calloc(count + 1, sizeof(*ranks));
	int rc = ranks ? NP_OK : np_fail_nomem(err, "repairs");

	for (int pass = 0; pass < 2 && rc == NP_OK; pass++) {
		for (uint32_t i = 0; i < count; i++)
			ranks[i] = (struct rank_candidate){
				pass == 0 && input->causes ? (double)input->causes->ranks[i].charge
							   : 0,
				i
			};
		for (size_t i = 0; pass == 1 && i < input->replay->cells.count; i++)
			ranks[input->replay->cells.item[i].rank].weight +=
				(double)input->replay->cells.item[i].work[NP_WORK_COMPUTE] +
				(double)input->replay->cells.item[i].work[NP_WORK_HOST] +
				(double)input->replay->cells.item[i].work[NP_WORK_BETWEEN];
		qsort(ranks, count, sizeof(ranks[0]), heaviest_first);
		for (size_t i = 0; i < count && i < (most_tried(input) + 1) / 2 && rc == NP_OK;
		     i++) {
			if (run->ranks[ranks[i].rank])
				rc = add_number(list, NP_FIX_RANK, run->ranks[ranks[i].rank]->id,
						err);
		}
	}
	free(ranks);
	return rc;
}

static int add_hosts(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
{
	const struct np_run *run = input->replay->align->run;
	size_t before = list->count;
	int rc = NP_OK;

	if (np_cluster_hosts(input->replay->cluster) < 2)
		return NP_OK;
	for (size_t i = 0; i < run->sources.count && list->count - before < most_tried(input);
	     i++) {
		const char *host =
			run->ranks[i] ? np_run_text(run, run->ranks[i]->host_name) : NULL;

		if (host && strlen(host) < NP_FIX_TEXT && rc == NP_OK)
			rc = add_fix(list, NP_FIX_HOST, host, err);
	}
	return rc;
}

static int add_stages(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < input->replay->stage_count && rc == NP_OK; i++)
		rc = add_number(list, NP_FIX_STAGE, (int64_t)i, err);
	return rc;
}

static int add_links(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; input->links && i < input->links->list.count && rc == NP_OK; i++) {
		const struct np_link_speed *link = &input->links->list.item[i];
		struct np_fix fix;

		if (link->verdict != NP_LINK_SLOW || link->src < 0 || link->dst < 0)
			continue;
		whatif_name_link(link, &fix);
		rc = add_fix(list, NP_FIX_LINK, fix.what, err);
	}
	return rc;
}

/* Roles of communicators that have siblings to be measured by. */
static int add_roles(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
{
	const struct np_cluster *cluster = input->replay->cluster;
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->communicators.count && rc == NP_OK; i++) {
		const char *role =
			np_run_text(cluster->run, cluster->communicators.item[i].pg_name);

		if (role && strlen(role) < NP_FIX_TEXT)
			rc = add_fix(list, NP_FIX_ROLE, role, err);
	}
	return rc;
}

static int add_all(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
{
	int rc = add_fix(list, NP_FIX_ALL, "", err);

	if (rc == NP_OK)
		rc = add_ranks(input, list, err);
	if (rc == NP_OK)
		rc = add_hosts(input, list, err);
	if (rc == NP_OK)
		rc = add_stages(input, list, err);
	if (rc == NP_OK)
		rc = add_links(input, list, err);
	if (rc == NP_OK)
		rc = add_roles(input, list, err);
	if (rc == NP_OK)
		rc = add_fix(list, NP_FIX_HOST_GAPS, "", err);
	if (rc == NP_OK && input->replay->iterations > 0)
		rc = add_fix(list, NP_FIX_BETWEEN, "", err);
	if (rc == NP_OK && input->frequency)
		rc = add_fix(list, NP_FIX_FREQUENCY, "", err);
	if (rc == NP_OK && input->experts && input->experts->exchanges.count > 0)
		rc = add_fix(list, NP_FIX_EXPERTS, "", err);
	if (rc == NP_OK)
		rc = add_fix(list, NP_FIX_HIDE_COMM, "", err);
	return rc;
}

/* --- trying ---------------------------------------------------------------------------------- */

struct trial {
	const struct np_whatif_input *input;
	const struct np_fix *fixes;
	size_t count;
	np_ns *steps; /* NP_UNKNOWN for one that the data do not allow */
	np_ns *alone; /* likewise, and where it was not asked for */
	bool *lasting;
	bool *tried; /* before */
	struct np_err *errors;
};

/* What was found out about a repair before, or NULL. */
static const struct np_whatif_row *known_row(const struct np_whatif *known,
					     const struct np_fix *fix)
{
	for (size_t i = 0; known && i < known->rows.count; i++) {
		const struct np_whatif_row *row = &known->rows.item[i];

		if (row->fix.kind == fix->kind && strcmp(row->fix.what, fix->what) == 0)
			return row;
	}
	return NULL;
}

static void see_lasting(void *context, size_t index)
{
	struct trial *trial = context;

	if (trial->tried[index])
		return;
	trial->lasting[index] = true;
	/* A failure stays in the list. */
	if (trial->fixes[index].kind == NP_FIX_HOST && trial->steps[index] != NP_UNKNOWN)
		(void)!scenario_is_lasting(trial->input, &trial->fixes[index],
					   &trial->lasting[index], &trial->errors[index]);
}

/* The step with each, of those that were not tried before. */
static int try_each(const struct trial *trial, struct np_err *err)
{
	fix_list fresh = { 0 };
	np_ns *steps = calloc(trial->count + 1, sizeof(*steps));
	int rc = steps ? NP_OK : np_fail_nomem(err, "repairs");

	for (size_t i = 0; i < trial->count && rc == NP_OK; i++) {
		const struct np_whatif_row *row = known_row(trial->input->known, &trial->fixes[i]);
		struct np_fix *fix = row ? NULL : np_vec_add(&fresh, err);

		trial->tried[i] = row != NULL;
		if (row) {
			trial->steps[i] = row->step;
			trial->lasting[i] = row->lasting;
		} else if (fix) {
			*fix = trial->fixes[i];
		} else {
			rc = NP_E_NOMEM;
		}
	}
	if (rc == NP_OK)
		rc = whatif_steps(trial->input, NULL, 0, fresh.item, fresh.count, steps, err);
	for (size_t i = 0, at = 0; i < trial->count && rc == NP_OK; i++) {
		if (!trial->tried[i])
			trial->steps[i] = steps[at++];
	}
	free(steps);
	np_vec_release(&fresh);
	return rc;
}

static int largest_first(const void *left, const void *right)
{
	const struct np_whatif_row *a = left;
	const struct np_whatif_row *b = right;

	if (a->saved != b->saved)
		return a->saved > b->saved ? -1 : 1;
	if (a->fix.kind != b->fix.kind)
		return a->fix.kind < b->fix.kind ? -1 : 1;
	return strcmp(a->fix.what, b->fix.what);
}

static int keep_rows(const struct trial *trial, struct np_whatif *whatif, struct np_err *err)
{
	for (size_t i = 0; i < trial->count; i++) {
		struct np_whatif_row *row;

		if (trial->errors[i].code == NP_E_NOMEM)
			return np_fail(err, NP_E_NOMEM, "%s", trial->errors[i].text);
		if (trial->steps[i] == NP_UNKNOWN)
			continue;
		row = np_vec_add(&whatif->rows, err);
		if (!row)
			return NP_E_NOMEM;
		*row = (struct np_whatif_row){ .fix = trial->fixes[i],
					       .step = trial->steps[i],
					       .saved = whatif->step - trial->steps[i],
					       .alone = trial->alone[i],
					       .lasting = trial->lasting[i] };
		if (row->fix.kind == NP_FIX_ALL)
			whatif->ideal = row->step;
	}
	for (size_t i = 0; i < whatif->rows.count; i++) {
		struct np_whatif_row *row = &whatif->rows.item[i];

		if (row->alone != NP_UNKNOWN)
			row->alone -= whatif->ideal;
	}
	if (whatif->rows.count > 0)
		qsort(whatif->rows.item, whatif->rows.count, sizeof(whatif->rows.item[0]),
		      largest_first);
	return NP_OK;
}

/* What each costs by itself, where all else is ideal. */
static int try_alone(const struct trial *trial, struct np_err *err)
{
	const struct np_whatif_input *input = trial->input;
	int rc = NP_OK;

	if (input->both)
		rc = whatif_steps_alone(input, trial->fixes, trial->count, trial->alone, err);
	for (size_t i = 0; i < trial->count; i++) {
		if (!input->both || trial->steps[i] == NP_UNKNOWN)
			trial->alone[i] = NP_UNKNOWN;
	}
	return rc;
}

static int try_all(const struct np_whatif_input *input, const fix_list *list,
		   struct np_whatif *whatif, struct np_err *err)
{
	struct np_workers workers = { .threads = input->threads };
	struct trial trial = { .input = input, .fixes = list->item, .count = list->count };
	int rc = NP_OK;

	trial.steps = calloc(list->count + 1, sizeof(*trial.steps));
	trial.alone = calloc(list->count + 1, sizeof(*trial.alone));
	trial.lasting = calloc(list->count + 1, sizeof(*trial.lasting));
	trial.tried = calloc(list->count + 1, sizeof(*trial.tried));
	trial.errors = calloc(list->count + 1, sizeof(*trial.errors));
	if (!trial.steps || !trial.alone || !trial.lasting || !trial.tried || !trial.errors)
		rc = np_fail_nomem(err, "repairs");
	if (rc == NP_OK)
		rc = try_each(&trial, err);
	if (rc == NP_OK)
		rc = try_alone(&trial, err);
	if (rc == NP_OK) {
		np_workers_run(&workers, list->count, see_lasting, &trial);
		rc = keep_rows(&trial, whatif, err);
	}
	free(trial.steps);
	free(trial.alone);
	free(trial.lasting);
	free(trial.tried);
	free(trial.errors);
	return rc;
}

/* The replay as it was. */
static int run_base(const struct np_whatif_input *input, struct np_whatif *whatif,
		    struct np_err *err)
{
	const struct np_replay *replay = input->replay;
	struct np_replay_result base;
	int rc;

	if (input->known) {
		whatif->observed = input->known->observed;
		whatif->step = input->known->step;
		whatif->forced = input->known->forced;
		whatif->fidelity = input->known->fidelity;
		return NP_OK;
	}
	rc = np_replay_run(replay, NULL, &base, err);
	if (rc < 0)
		return rc;
	whatif->observed = replay->observed_step;
	whatif->step = base.step;
	whatif->forced = base.forced;
	whatif->fidelity = whatif->observed > 0 ? (double)llabs(whatif->step - whatif->observed) /
							  (double)whatif->observed
						: 0;
	return NP_OK;
}

int np_whatif_measure(const struct np_whatif_input *input, struct np_whatif *ret,
		      struct np_err *err)
{
	struct np_whatif whatif = { .ideal = NP_UNKNOWN };
	fix_list list = { 0 };
	int rc = run_base(input, &whatif, err);

	if (rc == NP_OK)
		rc = add_all(input, &list, err);
	if (rc == NP_OK)
		rc = try_all(input, &list, &whatif, err);
	if (rc == NP_OK)
		rc = whatif_find_evident(input, &whatif, err);
	if (rc == NP_OK && !input->known)
		rc = whatif_find_team(input, &whatif, err);
	np_vec_release(&list);
	if (rc < 0) {
		np_whatif_release(&whatif);
		return rc;
	}
	*ret = whatif;
	return NP_OK;
}

void np_whatif_release(struct np_whatif *whatif)
{
	np_vec_release(&whatif->rows);
}

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
	int rc = kind == NP_FIX_HOST ? add_hosts(input, &candidates, err)
				     : add_ranks(input, &candidates, err);

	if (rc == NP_OK) {
		trials = calloc(candidates.count + 1, sizeof(*trials));
		rc = trials ? choose(input, &candidates, trials, count, ret, err)
			    : np_fail_nomem(err, "repairs");
	}
	free(trials);
	np_vec_release(&candidates);
	return rc;
}
