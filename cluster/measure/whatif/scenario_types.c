/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a type as the mean of peers, and how stages differ in what kernels take. */
#include "scenario.h"

#include "npuprof/activity.h"
#include "npuprof/align.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"

#include <fnmatch.h>
#include <math.h>

/* Time that each cell spends on kernels of each type that a repair names. */
struct cell_type_times {
	const struct np_replay *replay;
	NP_VEC(np_str) types;
	NP_VEC(double *) times; /* by type, then cell */
	struct np_err *err;
};

static void release(struct cell_type_times *all)
{
	for (size_t i = 0; i < all->times.count; i++)
		free(all->times.item[i]);
	np_vec_release(&all->times);
	np_vec_release(&all->types);
}

static bool is_meant(const struct np_fix *fixes, size_t count, const char *type)
{
	for (size_t i = 0; i < count; i++) {
		if (fixes[i].kind == NP_FIX_OPTYPE && fnmatch(fixes[i].what, type, 0) == 0)
			return true;
	}
	return false;
}

/* The times of a type, or NULL. */
static double *times_of(struct cell_type_times *all, np_str type)
{
	for (size_t i = 0; i < all->types.count; i++) {
		if (all->types.item[i] == type)
			return all->times.item[i];
	}
	return NULL;
}

static double *add_type(struct cell_type_times *all, np_str type)
{
	np_str *name = np_vec_add(&all->types, all->err);
	double **times = name ? np_vec_add(&all->times, all->err) : NULL;

	if (!times)
		return NULL;
	*name = type;
	*times = calloc(all->replay->cells.count + 1, sizeof(**times));
	if (!*times)
		(void)np_fail_nomem(all->err, "a repaired world");
	return *times;
}

/* The kernels of a rank's step: cell `from` of its activity is cell `to` of the replay. */
static int see_cell(struct cell_type_times *all, const struct np_rank *rank,
		    const struct np_activity_cell *from, size_t to, const struct np_fix *fixes,
		    size_t count)
{
	const struct np_segment *segments = &rank->activity.segments.item[from->first_segment];
	np_leaf last = np_leaf_make(NP_LEAF_FREE_UNKNOWN, 0);
	double *times = NULL;

	for (uint32_t i = segments[0].first; i < segments[from->segments].first; i++) {
		const struct np_share *share = &rank->activity.shares.item[i];

		if (share->leaf != last) {
			np_str type = np_leaf_of(share->leaf);
			const char *name = np_leaf_kind(share->leaf) == NP_LEAF_COMPUTE
						   ? np_run_text(all->replay->align->run, type)
						   : NULL;

			last = share->leaf;
			times = name ? times_of(all, type) : NULL;
			if (name && !times && is_meant(fixes, count, name)) {
				times = add_type(all, type);
				if (!times)
					return NP_E_NOMEM;
			}
		}
		if (times)
			times[to] += (double)share->ns;
	}
	return NP_OK;
}

static int see_all(struct cell_type_times *all, const struct np_fix *fixes, size_t count)
{
	const struct np_replay *replay = all->replay;
	const struct np_run *run = replay->align->run;
	size_t to = 0;
	int rc = NP_OK;

	for (uint32_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->activity.cells.count && rc == NP_OK; j++) {
			const struct np_activity_cell *from = &rank->activity.cells.item[j];

			if (!np_replay_has_cell(replay, rank, j))
				continue;
			while (to < replay->cells.count && replay->cells.item[to].rank != i)
				to++;
			rc = see_cell(all, rank, from, to++, fixes, count);
		}
	}
	return rc;
}

/* Every repair must have found a type. */
static int check(const struct cell_type_times *all, const struct np_fix *fixes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool any = fixes[i].kind != NP_FIX_OPTYPE;

		for (size_t j = 0; j < all->types.count && !any; j++)
			any = is_meant(&fixes[i], 1,
				       np_run_text(all->replay->align->run, all->types.item[j]));
		if (!any)
			return np_fail(all->err, NP_E_USAGE, "no kernel has a type like '%s'",
				       fixes[i].what);
	}
	return NP_OK;
}

/* Cells of the same step and stage, one after the other. */
struct type_place {
	np_str step;
	int32_t stage;
	uint32_t cell;
};

static int by_peers(const void *left, const void *right)
{
	const struct type_place *a = left;
	const struct type_place *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	return (a->cell > b->cell) - (a->cell < b->cell);
}

static struct type_place *sort_cells(const struct np_replay *replay, size_t *ret_count,
				     struct np_err *err)
{
	struct type_place *places = malloc((replay->cells.count + 1) * sizeof(*places));

	*ret_count = 0;
	if (!places) {
		(void)np_fail_nomem(err, "a repaired world");
		return NULL;
	}
	for (uint32_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];

		if (cell->timed)
			places[(*ret_count)++] =
				(struct type_place){ cell->step, replay->stages[cell->rank], i };
	}
	qsort(places, *ret_count, sizeof(*places), by_peers);
	return places;
}

/* What each cell of these takes longer than the mean of the others, over all types. */
static void see_excess(const struct cell_type_times *all, const struct type_place *peers,
		       size_t count, double *excess)
{
	for (size_t type = 0; type < all->types.count && count > 1; type++) {
		const double *times = all->times.item[type];
		double sum = 0;

		for (size_t i = 0; i < count; i++)
			sum += times[peers[i].cell];
		for (size_t i = 0; i < count; i++) {
			double own = times[peers[i].cell];
			double more = own - (sum - own) / (double)(count - 1);

			excess[peers[i].cell] += more > 0 ? more : 0;
		}
	}
}

static int take_off(const struct cell_type_times *all, struct scenario_draft *scenario)
{
	const struct np_replay *replay = all->replay;
	size_t count;
	struct type_place *places = sort_cells(replay, &count, all->err);
	double *excess = calloc(replay->cells.count + 1, sizeof(*excess));
	int rc = places ? NP_OK : NP_E_NOMEM;

	if (rc == NP_OK && !excess)
		rc = np_fail_nomem(all->err, "a repaired world");
	for (size_t from = 0, to = 0; rc == NP_OK && from < count; from = to) {
		while (to < count && places[to].step == places[from].step &&
		       places[to].stage == places[from].stage)
			to++;
		see_excess(all, &places[from], to - from, excess);
	}
	for (size_t i = 0; rc == NP_OK && i < replay->cells.count; i++)
		scenario_take_off(scenario, replay, i, excess[i]);
	free(excess);
	free(places);
	return rc;
}

int scenario_repair_types(const struct np_replay *replay, const struct np_fix *fixes, size_t count,
			  struct scenario_draft *scenario, struct np_err *err)
{
	struct cell_type_times all = { .replay = replay, .err = err };
	bool any = false;
	int rc;

	for (size_t i = 0; i < count; i++)
		any |= fixes[i].kind == NP_FIX_OPTYPE;
	if (!any)
		return NP_OK;
	rc = see_all(&all, fixes, count);
	if (rc == NP_OK)
		rc = check(&all, fixes, count);
	if (rc == NP_OK)
		rc = take_off(&all, scenario);
	release(&all);
	return rc;
}

/* --- stages ---------------------------------------------------------------------------------- */

/* A type that a stage needs less of its computing for than this says nothing. */
#define COUNTS 0.01

/* What the ranks of a stage, or of all others, compute of a type in a step, on average. */
static double mean_of(const struct np_replay *replay, const double *times, int32_t stage, bool own)
{
	double sum = 0;
	double count = 0;

	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];

		if (!cell->timed || (replay->stages[cell->rank] == stage) != own)
			continue;
		sum += times ? times[i] : (double)cell->work[NP_WORK_COMPUTE];
		count++;
	}
	return count > 0 ? sum / count : 0;
}

int scenario_stage_ratios(const struct np_replay *replay, double *ret, struct np_err *err)
{
	static const struct np_fix all_types = { .kind = NP_FIX_OPTYPE, .what = "*" };
	struct cell_type_times all = { .replay = replay, .err = err };
	double *ratios = NULL;
	int rc = see_all(&all, &all_types, 1);

	if (rc == NP_OK) {
		ratios = malloc((all.types.count + 1) * sizeof(*ratios));
		rc = ratios ? NP_OK : np_fail_nomem(err, "stages");
	}
	for (size_t i = 0; i < replay->stage_count && rc == NP_OK; i++) {
		double whole = mean_of(replay, NULL, (int32_t)i, true);
		size_t count = 0;

		for (size_t j = 0; j < all.types.count; j++) {
			double own = mean_of(replay, all.times.item[j], (int32_t)i, true);
			double others = mean_of(replay, all.times.item[j], (int32_t)i, false);

			if (own > COUNTS * whole && others > 0)
				ratios[count++] = own / others;
		}
		ret[i] = count > 0 ? np_median(ratios, count) : (double)NAN;
	}
	free(ratios);
	release(&all);
	return rc;
}

/* Of what a stage takes longer than others, more than this is by other kernels than they have. */
#define BY_KERNELS 0.5

/* So far counts of kernels may be apart and still be the same. */
#define SAME_COUNT 0.02

/* So many times as long as others a stage takes that is one to be repaired. */
#define LONGER 1.01

/* Kernels of so much of a stage's time say how fast all of them are. */
#define SAYS_SPEED 0.1

/* Kernels of one type on one rank. */
struct type_time {
	np_str type;
	bool own; /* on a rank of the stage */
	double time;
	double count;
};

typedef NP_VEC(struct type_time) type_times;

static int by_type(const void *left, const void *right)
{
	const struct type_time *a = left;
	const struct type_time *b = right;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return (a->own > b->own) - (a->own < b->own);
}

static int list_types(const struct np_replay *replay, int32_t stage, type_times *ret,
		      struct np_err *err)
{
	const struct np_run *run = replay->align->run;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->kernels.count; j++) {
			const struct np_statistic *kernels = &rank->kernels.item[j];
			struct type_time *each = np_vec_add(ret, err);

			if (!each)
				return NP_E_NOMEM;
			*each = (struct type_time){ kernels->name, replay->stages[i] == stage,
						    (double)kernels->total,
						    (double)kernels->count };
		}
	}
	if (ret->count > 0)
		qsort(ret->item, ret->count, sizeof(ret->item[0]), by_type);
	return NP_OK;
}

/* Medians over ranks of what they spend on a type, and how often. */
struct type_medians {
	double time;
	double count;
};

static struct type_medians medians_of(const struct type_time *list, size_t count, double *values)
{
	struct type_medians medians = { 0 };

	for (size_t i = 0; i < count; i++)
		values[i] = list[i].time;
	medians.time = count > 0 ? np_median(values, count) : 0;
	for (size_t i = 0; i < count; i++)
		values[i] = list[i].count;
	medians.count = count > 0 ? np_median(values, count) : 0;
	return medians;
}

/* What a stage takes, and what others do for the same: where they have as many kernels. */
struct stage_speed {
	double whole; /* all types */
	double same;  /* of that, types that others have as many of */
	double others;
};

static void see_type(const type_times *list, size_t from, size_t to, double *values,
		     struct stage_speed *speed)
{
	size_t own = from;
	struct type_medians mine;
	struct type_medians theirs;

	while (own < to && !list->item[own].own)
		own++;
	theirs = medians_of(&list->item[from], own - from, values);
	mine = medians_of(&list->item[own], to - own, values);
	speed->whole += mine.time;
	if (mine.count > 0 && fabs(mine.count - theirs.count) <= SAME_COUNT * mine.count) {
		speed->same += mine.time;
		speed->others += theirs.time;
	}
}

/* How many times as long its kernels take as the same ones elsewhere; NaN where nothing says. */
static int kernel_ratio(const struct np_replay *replay, int32_t stage, bool *ret_counted,
			double *ret, struct np_err *err)
{
	type_times list = { 0 };
	struct stage_speed speed = { 0 };
	int rc = list_types(replay, stage, &list, err);
	double *values = malloc((list.count + 1) * sizeof(*values));

	if (rc == NP_OK && !values)
		rc = np_fail_nomem(err, "stages");
	for (size_t from = 0, to = 0; rc == NP_OK && from < list.count; from = to) {
		while (to < list.count && list.item[to].type == list.item[from].type)
			to++;
		see_type(&list, from, to, values, &speed);
	}
	*ret_counted = speed.whole > 0;
	*ret = speed.same > SAYS_SPEED * speed.whole && speed.others > 0
		       ? fmax(speed.same / speed.others, 1)
		       : 1;
	free(values);
	np_vec_release(&list);
	return rc;
}

/* What a rank of the stage, or of all others, computes in a step: of a few slow ones it is not. */
static double typical_of(const struct np_replay *replay, int32_t stage, bool own, double *values)
{
	size_t count = 0;

	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];

		if (cell->timed && (replay->stages[cell->rank] == stage) == own)
			values[count++] = (double)cell->work[NP_WORK_COMPUTE];
	}
	return count > 0 ? np_median(values, count) : 0;
}

int scenario_stage_kernels(const struct np_replay *replay, int32_t stage, struct stage_kernels *ret,
			   struct np_err *err)
{
	double *values = malloc((replay->cells.count + 1) * sizeof(*values));
	double own = values ? typical_of(replay, stage, true, values) : 0;
	double others = values ? typical_of(replay, stage, false, values) : 0;
	bool counted;
	int rc;

	free(values);
	if (!values)
		return np_fail_nomem(err, "stages");
	rc = kernel_ratio(replay, stage, &counted, &ret->slower, err);
	ret->longer = own > LONGER * others;
	/* As many kernels as it has, each as fast as those of the others. */
	ret->split = rc == NP_OK && counted && own > others &&
		     own / ret->slower - others > BY_KERNELS * (own - others);
	if (!counted)
		ret->slower = (double)NAN;
	return rc;
}
