/* SPDX-License-Identifier: Apache-2.0 */
#include "whatif_private.h"

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

struct candidate {
	double weight;
	uint32_t rank;
};

static int heaviest_first(const void *left, const void *right)
{
	const struct candidate *a = left;
	const struct candidate *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The ranks that waiting goes back to, then those that work most. */
int whatif_add_ranks(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
{
	const struct np_run *run = input->replay->align->run;
	size_t count = run->sources.count;
	struct candidate *ranks = calloc(count + 1, sizeof(*ranks));
	int rc = ranks ? NP_OK : np_fail_nomem(err, "repairs");

	for (int pass = 0; pass < 2 && rc == NP_OK; pass++) {
		for (uint32_t i = 0; i < count; i++)
			ranks[i] =
				(struct candidate){ pass == 0 && input->origin
							    ? (double)input->origin->ranks[i].cost
							    : 0,
						    i };
		for (size_t i = 0; pass == 1 && i < input->replay->cells.count; i++)
			ranks[input->replay->cells.item[i].rank].weight +=
				(double)input->replay->cells.item[i].work[NP_WORK_COMPUTE] +
				(double)input->replay->cells.item[i].work[NP_WORK_HOST];
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

int whatif_add_hosts(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
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
	size_t count = input->replay->cluster->stages.count;
	int rc = NP_OK;

	for (size_t i = 0; i < count && count > 1 && rc == NP_OK; i++)
		rc = add_number(list, NP_FIX_STAGE, (int64_t)i, err);
	return rc;
}

static int add_links(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; input->links && i < input->links->list.count && rc == NP_OK; i++) {
		const struct np_link_speed *link = &input->links->list.item[i];
		char text[NP_FIX_TEXT];

		if (link->verdict != NP_LINK_SLOW || link->src < 0 || link->dst < 0)
			continue;
		(void)snprintf(text, sizeof(text), "%" PRId64 "-%" PRId64,
			       link->src < link->dst ? link->src : link->dst,
			       link->src < link->dst ? link->dst : link->src);
		rc = add_fix(list, NP_FIX_LINK, text, err);
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
		rc = whatif_add_ranks(input, list, err);
	if (rc == NP_OK)
		rc = whatif_add_hosts(input, list, err);
	if (rc == NP_OK)
		rc = add_stages(input, list, err);
	if (rc == NP_OK)
		rc = add_links(input, list, err);
	if (rc == NP_OK)
		rc = add_roles(input, list, err);
	if (rc == NP_OK)
		rc = add_fix(list, NP_FIX_HOST_GAPS, "", err);
	if (rc == NP_OK && input->clocks)
		rc = add_fix(list, NP_FIX_FREQUENCY, "", err);
	if (rc == NP_OK && input->experts && input->experts->list.count > 0)
		rc = add_fix(list, NP_FIX_EXPERTS, "", err);
	if (rc == NP_OK)
		rc = add_fix(list, NP_FIX_HIDE_COMM, "", err);
	return rc;
}

/* --- trying ---------------------------------------------------------------------------------- */

int np_whatif_together(const struct np_whatif_input *input, const struct np_fix *fixes,
		       size_t count, np_ns *ret_step, struct np_err *err)
{
	struct world_draft draft = { 0 };
	struct np_replay_result result;
	int rc = world_init(&draft, input->replay, err);

	if (rc == NP_OK)
		rc = world_repair(input, fixes, count, &draft, err);
	if (rc == NP_OK) {
		const struct np_world world = { (const float(*)[NP_WORK_KINDS])draft.work,
						draft.transfer };

		rc = np_replay_run(input->replay, &world, &result, err);
	}
	if (rc == NP_OK)
		*ret_step = result.step;
	world_release(&draft);
	return rc;
}

int whatif_step_alone(const struct np_whatif_input *input, const struct world_draft *all,
		      const struct np_fix *fix, np_ns *ret_step, struct np_err *err)
{
	const struct np_replay *replay = input->replay;
	struct world_draft ideal = { 0 };
	struct world_draft own = { 0 };
	struct np_replay_result result;
	int rc = world_init(&ideal, replay, err);

	if (rc == NP_OK)
		rc = world_init(&own, replay, err);
	if (rc == NP_OK)
		rc = world_repair(input, fix, 1, &own, err);
	if (rc == NP_OK) {
		const struct np_world world = { (const float(*)[NP_WORK_KINDS])ideal.work,
						ideal.transfer };

		world_copy(&ideal, all, replay);
		world_undo(&ideal, &own, replay);
		rc = np_replay_run(replay, &world, &result, err);
	}
	if (rc == NP_OK)
		*ret_step = result.step;
	world_release(&ideal);
	world_release(&own);
	return rc;
}

struct trial {
	const struct np_whatif_input *input;
	const struct np_fix *fixes;
	const struct world_draft *all; /* NULL: what each costs by itself is not asked for */
	np_ns *steps;                  /* NP_UNKNOWN for one that the data do not allow */
	np_ns *alone;                  /* likewise */
	bool *lasting;
	struct np_err *errors;
};

static void try_one(void *context, size_t index)
{
	struct trial *trial = context;

	trial->steps[index] = NP_UNKNOWN;
	/* A failure stays in the list. */
	(void)!np_whatif_together(trial->input, &trial->fixes[index], 1, &trial->steps[index],
				  &trial->errors[index]);
	trial->alone[index] = NP_UNKNOWN;
	trial->lasting[index] = true;
	if (trial->fixes[index].kind == NP_FIX_HOST)
		(void)!world_is_lasting(trial->input, &trial->fixes[index], &trial->lasting[index],
					&trial->errors[index]);
	if (trial->all && trial->steps[index] != NP_UNKNOWN)
		(void)!whatif_step_alone(trial->input, trial->all, &trial->fixes[index],
					 &trial->alone[index], &trial->errors[index]);
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

static int keep_rows(const struct trial *trial, size_t count, struct np_whatif *whatif,
		     struct np_err *err)
{
	for (size_t i = 0; i < count; i++) {
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

static int try_all(const struct np_whatif_input *input, const fix_list *list,
		   struct np_whatif *whatif, struct np_err *err)
{
	static const struct np_fix everything = { .kind = NP_FIX_ALL };
	struct np_workers workers = { .threads = input->threads };
	struct trial trial = { .input = input, .fixes = list->item };
	struct world_draft all = { 0 };
	int rc = NP_OK;

	if (input->both) {
		rc = world_init(&all, input->replay, err);
		if (rc == NP_OK)
			rc = world_repair(input, &everything, 1, &all, err);
		trial.all = &all;
	}
	trial.steps = calloc(list->count + 1, sizeof(*trial.steps));
	trial.alone = calloc(list->count + 1, sizeof(*trial.alone));
	trial.lasting = calloc(list->count + 1, sizeof(*trial.lasting));
	trial.errors = calloc(list->count + 1, sizeof(*trial.errors));
	if (rc == NP_OK && (!trial.steps || !trial.alone || !trial.lasting || !trial.errors))
		rc = np_fail_nomem(err, "repairs");
	if (rc == NP_OK) {
		np_workers_run(&workers, list->count, try_one, &trial);
		rc = keep_rows(&trial, list->count, whatif, err);
	}
	world_release(&all);
	free(trial.steps);
	free(trial.alone);
	free(trial.lasting);
	free(trial.errors);
	return rc;
}

int np_whatif_measure(const struct np_whatif_input *input, struct np_whatif *ret,
		      struct np_err *err)
{
	const struct np_replay *replay = input->replay;
	struct np_whatif whatif = { .ideal = NP_UNKNOWN };
	struct np_replay_result base;
	fix_list list = { 0 };
	int rc = np_replay_run(replay, NULL, &base, err);

	if (rc == NP_OK) {
		np_ns steps = replay->steps > 0 ? (np_ns)replay->steps : 1;

		whatif.observed = replay->observed / steps;
		whatif.step = base.step;
		whatif.forced = base.forced;
		whatif.fidelity = whatif.observed > 0
					  ? (double)llabs(whatif.step - whatif.observed) /
						    (double)whatif.observed
					  : 0;
		rc = add_all(input, &list, err);
	}
	if (rc == NP_OK)
		rc = try_all(input, &list, &whatif, err);
	if (rc == NP_OK)
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
