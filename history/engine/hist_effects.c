/* SPDX-License-Identifier: Apache-2.0 */
/* Tells slow machines from roles that take long, over runs in which ranks were placed differently.
 */
#include "hist_effects.h"

#include "npuprof/elementary.h"

#include <math.h>

#include "middle.h"
#include "two_way.h"

/* Of all that is looked at in a fit, so many are named by chance: together, not each. */
#define NAMED_BY_CHANCE 0.02

/* A host or a stage has something in common only if it has so many. */
#define LEAST_MEMBERS 2

const char *hist_unit_name(enum hist_unit unit)
{
	static const char *const names[HIST_UNITS] = { "host", "device", "stage", "rank" };

	return names[unit];
}

struct machine {
	np_str host;
	int64_t device;
};

struct job_role {
	int64_t rank;
	int64_t stage;
};

struct work {
	const struct hist_store *store;
	NP_VEC(struct machine) machines;
	NP_VEC(struct job_role) roles;
	NP_VEC(struct hist_observation) observations;
	struct hist_two_way fit;
	struct hist_effects *effects;
	struct np_err *err;
};

/* --- observations ---------------------------------------------------------------------------- */

static int by_machine(const void *left, const void *right)
{
	const struct machine *a = left;
	const struct machine *b = right;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return (a->device > b->device) - (a->device < b->device);
}

static int by_rank(const void *left, const void *right)
{
	const struct job_role *a = left;
	const struct job_role *b = right;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool is_usable(const struct hist_rank *rank, const char *figure, np_ns *ret)
{
	return rank->host != NP_STR_NONE && rank->device >= 0 &&
	       hist_rank_figure(rank, figure, ret) && *ret != NP_UNKNOWN && *ret > 0;
}

/* Call `take` for each rank of the runs that has the figure, a host and a device. */
static int each_rank(struct work *work, const struct hist_selection *selection, const char *figure,
		     int (*take)(struct work *work, uint32_t run, const struct hist_rank *rank,
				 np_ns value))
{
	int rc = NP_OK;

	for (size_t i = 0; i < selection->runs.count; i++) {
		const struct hist_run *run = &work->store->runs.item[selection->runs.item[i]];

		for (size_t j = 0; j < run->rank_count && rc == NP_OK; j++) {
			const struct hist_rank *rank =
				&work->store->ranks.item[run->first_rank + j];
			np_ns value;

			if (is_usable(rank, figure, &value))
				rc = take(work, (uint32_t)i, rank, value);
		}
	}
	return rc;
}

static int take_names(struct work *work, uint32_t run, const struct hist_rank *rank, np_ns value)
{
	struct machine *machine = np_vec_add(&work->machines, work->err);
	struct job_role *role = np_vec_add(&work->roles, work->err);

	(void)run;
	(void)value;
	if (!machine || !role)
		return NP_E_NOMEM;
	*machine = (struct machine){ rank->host, rank->device };
	*role = (struct job_role){ rank->rank, rank->stage };
	return NP_OK;
}

/* Sort, and keep one of each; gives how many are left. */
static size_t keep_one(void *items, size_t count, size_t size,
		       int (*compare)(const void *, const void *))
{
	char *bytes = items;
	size_t kept = 0;

	if (count > 0)
		qsort(items, count, size, compare);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare(bytes + (kept - 1) * size, bytes + i * size) != 0)
			memmove(bytes + kept++ * size, bytes + i * size, size);
	}
	return kept;
}

static int take_value(struct work *work, uint32_t run, const struct hist_rank *rank, np_ns value)
{
	struct hist_observation *one = np_vec_add(&work->observations, work->err);
	struct machine machine = { rank->host, rank->device };
	struct job_role role = { .rank = rank->rank };
	const struct machine *at;
	const struct job_role *in;

	if (!one)
		return NP_E_NOMEM;
	at = bsearch(&machine, work->machines.item, work->machines.count, sizeof(machine),
		     by_machine);
	in = bsearch(&role, work->roles.item, work->roles.count, sizeof(role), by_rank);
	*one = (struct hist_observation){ run, (uint32_t)(in - work->roles.item),
					  (uint32_t)(at - work->machines.item),
					  np_log((double)value) };
	return NP_OK;
}

/* --- what units have in common --------------------------------------------------------------- */

/* A role or machine, and the stage or host that it belongs to. */
struct grouped {
	int64_t group;
	size_t index; /* among the roles or machines */
};

struct unit_groups {
	const struct hist_effect *effects;
	struct grouped *list; /* by group */
	size_t count;
	double *scratch;
	bool machines;
};

/* How far from 0 chance alone goes among so many, in standard errors. */
static double certainly(const struct work *work, size_t among)
{
	return hist_student(NAMED_BY_CHANCE / 2 / (double)(among > 0 ? among : 1),
			    work->fit.parts > 1 ? work->fit.parts - 1 : 0);
}

static bool is_certain(const struct work *work, double share, double error, size_t among)
{
	return isfinite(share) && isfinite(error) && fabs(share) > HIST_EFFECT_LEAST &&
	       fabs(share) > certainly(work, among) * error;
}

static struct hist_unit_effect *add_unit(struct work *work, enum hist_unit unit, double share,
					 double error)
{
	struct hist_unit_effect *one = np_vec_add(&work->effects->list, work->err);

	if (!one)
		return NULL;
	one->unit = unit;
	one->share = share;
	one->margin = hist_student(0.025, work->fit.parts > 1 ? work->fit.parts - 1 : 0) * error;
	if (!isfinite(one->margin))
		one->margin = (double)NAN;
	return one;
}

/*
 * What the members of a group have in common: their middle. Groups of which no other is in the same
 * component cannot be compared, and have nothing.
 */
struct group_share {
	double share;
	double error;
	size_t runs;
	bool told;
};

static struct group_share in_common(const struct unit_groups *members, size_t first, size_t end)
{
	struct group_share common = { .share = (double)NAN, .error = (double)NAN };
	double squares = 0;
	size_t count = 0;

	for (size_t i = first; i < end; i++) {
		const struct hist_effect *effect = &members->effects[members->list[i].index];

		common.runs += effect->count;
		for (size_t j = 0; j < members->count && !common.told && effect->told; j++)
			common.told = (j < first || j >= end) &&
				      members->effects[members->list[j].index].component ==
					      effect->component;
		if (!effect->told)
			continue;
		members->scratch[count++] = effect->share;
		squares += effect->error * effect->error;
	}
	if (!common.told || count < LEAST_MEMBERS)
		return common;
	common.share = hist_middle(members->scratch, count);
	/* A median is off by a quarter more than a mean. */
	common.error = 1.25 * sqrt(squares) / (double)count;
	return common;
}

static int take_group(struct work *work, const struct unit_groups *members, size_t first,
		      size_t end)
{
	struct group_share common = in_common(members, first, end);
	size_t among = 2 * members->count;
	/* Ranks in no stage, as those of a job without a pipeline, are no group. */
	bool is_group = end - first >= LEAST_MEMBERS &&
			(members->machines || members->list[first].group >= 0);
	bool named = is_group && is_certain(work, common.share, common.error, among);
	double shared = named ? common.share : 0;
	struct hist_unit_effect *one;

	if (is_group) {
		one = add_unit(work, members->machines ? HIST_HOST : HIST_STAGE, common.share,
			       common.error);
		if (!one)
			return NP_E_NOMEM;
		one->host = members->machines ? (np_str)members->list[first].group : NP_STR_NONE;
		one->number = members->machines ? -1 : members->list[first].group;
		one->runs = common.runs;
		one->named = named;
	}
	for (size_t i = first; i < end; i++) {
		size_t index = members->list[i].index;
		const struct hist_effect *effect = &members->effects[index];
		double own = effect->told ? (1 + effect->share) / (1 + shared) - 1 : (double)NAN;

		one = add_unit(work, members->machines ? HIST_DEVICE : HIST_PLACE, own,
			       effect->error);
		if (!one)
			return NP_E_NOMEM;
		one->host = members->machines ? work->machines.item[index].host : NP_STR_NONE;
		one->number = members->machines ? work->machines.item[index].device
						: work->roles.item[index].rank;
		one->runs = effect->count;
		one->named = is_certain(work, own, effect->error, among);
	}
	return NP_OK;
}

static int by_group(const void *left, const void *right)
{
	const struct grouped *a = left;
	const struct grouped *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static int take_groups(struct work *work, const struct unit_groups *members)
{
	int rc = NP_OK;

	for (size_t first = 0; first < members->count && rc == NP_OK;) {
		size_t end = first + 1;

		while (end < members->count &&
		       members->list[end].group == members->list[first].group)
			end++;
		rc = take_group(work, members, first, end);
		first = end;
	}
	return rc;
}

static int take_members(struct work *work, bool machines)
{
	struct unit_groups members = { .effects = machines ? work->fit.machines : work->fit.roles,
				       .count = machines ? work->machines.count : work->roles.count,
				       .machines = machines };
	int rc;

	members.list = calloc(members.count + 1, sizeof(*members.list));
	members.scratch = calloc(members.count + 1, sizeof(*members.scratch));
	for (size_t i = 0; members.list && i < members.count; i++)
		members.list[i] = (struct grouped){ machines ? (int64_t)work->machines.item[i].host
							     : work->roles.item[i].stage,
						    i };
	if (members.list && members.count > 0)
		qsort(members.list, members.count, sizeof(*members.list), by_group);
	rc = members.list && members.scratch ? take_groups(work, &members)
					     : np_fail_nomem(work->err, "effects");
	free(members.list);
	free(members.scratch);
	return rc;
}

static int by_size(const void *left, const void *right)
{
	const struct hist_unit_effect *a = left;
	const struct hist_unit_effect *b = right;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	if (isfinite(a->share) != isfinite(b->share))
		return isfinite(a->share) ? -1 : 1;
	if (isfinite(a->share) && (a->share > b->share || a->share < b->share))
		return a->share > b->share ? -1 : 1;
	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int measure(struct work *work, const struct hist_selection *selection, const char *figure)
{
	struct hist_two_way_sizes sizes = { .runs = selection->runs.count };
	int rc = each_rank(work, selection, figure, take_names);

	if (rc < 0)
		return rc;
	work->machines.count = keep_one(work->machines.item, work->machines.count,
					sizeof(*work->machines.item), by_machine);
	work->roles.count =
		keep_one(work->roles.item, work->roles.count, sizeof(*work->roles.item), by_rank);
	sizes.roles = work->roles.count;
	sizes.machines = work->machines.count;
	rc = each_rank(work, selection, figure, take_value);
	if (rc == NP_OK)
		rc = hist_two_way_fit(work->observations.item, work->observations.count, &sizes,
				      &work->fit, work->err);
	if (rc == NP_OK)
		rc = take_members(work, true);
	return rc == NP_OK ? take_members(work, false) : rc;
}

int hist_effects_measure(const struct hist_store *store, const struct hist_selection *selection,
			 const char *figure, struct hist_effects *ret, struct np_err *err)
{
	struct hist_effects effects = { .runs = selection->runs.count };
	struct work work = { .store = store, .effects = &effects, .err = err };
	struct hist_rank none = { 0 };
	np_ns value;
	int rc = hist_rank_figure(&none, figure, &value)
			 ? measure(&work, selection, figure)
			 : np_fail(err, NP_E_USAGE,
				   "'%s' is no figure of ranks; these are step, computing, wait, "
				   "transfer, idle, own and charge",
				   figure);

	effects.machines = work.machines.count;
	effects.roles = work.roles.count;
	effects.spread = work.fit.spread;
	for (size_t i = 0; rc == NP_OK && i < work.machines.count; i++)
		effects.told += work.fit.machines[i].told;
	if (effects.list.count > 0)
		qsort(effects.list.item, effects.list.count, sizeof(*effects.list.item), by_size);
	np_vec_release(&work.machines);
	np_vec_release(&work.roles);
	np_vec_release(&work.observations);
	hist_two_way_release(&work.fit);
	if (rc == NP_OK)
		*ret = effects;
	else
		hist_effects_release(&effects);
	return rc;
}

void hist_effects_release(struct hist_effects *effects)
{
	np_vec_release(&effects->list);
}

const struct hist_unit_effect *hist_effect_of(const struct hist_effects *effects,
					      enum hist_unit unit, np_str host, int64_t number)
{
	for (size_t i = 0; i < effects->list.count; i++) {
		const struct hist_unit_effect *one = &effects->list.item[i];

		if (one->unit == unit && one->host == host && one->number == number)
			return one;
	}
	return NULL;
}
