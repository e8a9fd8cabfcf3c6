/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks began their first step later than others. */
#include "npuprof/late_begin.h"

#include "npuprof/contents.h"
#include "npuprof/rank.h"

/* Ranks that were captured from the same step on, by the same clock, and of one stage. */
struct starters {
	np_str step;
	uint32_t component; /* of the clock */
	int32_t stage;
	np_ns first;
	bool calls; /* of the host are known */
};

typedef NP_VEC(struct starters) starters_list;

/* The first start of a rank and its step; false for one that did nothing. */
static bool find_start(const struct np_rank *rank, struct starters *ret)
{
	for (size_t i = 0; i < rank->activity.cells.count; i++) {
		const struct np_activity_cell *cell = &rank->activity.cells.item[i];
		const struct np_step_time *time = &rank->times.item[i];

		if (time->device != rank->times.item[0].device || cell->end <= cell->begin)
			continue;
		ret->first = cell->begin;
		ret->step = rank->steps.item[time->step].id;
		return true;
	}
	if (rank->activity.cells.count > 0 || rank->ops.count == 0)
		return false;
	ret->first = rank->ops.item[0].start;
	ret->step = rank->ops.item[0].step == NP_NO_STEP
			    ? NP_STR_NONE
			    : rank->steps.item[rank->ops.item[0].step].id;
	return true;
}

static bool find_starters(const struct np_run *run, const struct np_clock *clock,
			  const int32_t *stages, size_t index, struct starters *ret)
{
	if (!run->ranks[index] || !find_start(run->ranks[index], ret))
		return false;
	ret->first = np_clock_time(clock, index, ret->first);
	ret->component = clock->ranks[index].component;
	ret->stage = stages ? stages[index] : -1;
	ret->calls = np_rank_has(run->ranks[index], NP_DATA_LAUNCHES);
	return true;
}

static int add_starters(starters_list *list, const struct starters *starters, struct np_err *err)
{
	struct starters *added;

	for (size_t i = 0; i < list->count; i++) {
		struct starters *each = &list->item[i];

		if (each->step != starters->step || each->component != starters->component ||
		    each->stage != starters->stage)
			continue;
		each->first = starters->first < each->first ? starters->first : each->first;
		return NP_OK;
	}
	added = np_vec_add(list, err);
	if (!added)
		return NP_E_NOMEM;
	*added = *starters;
	return NP_OK;
}

static struct np_late_begin compare(const struct starters *own, const starters_list *list)
{
	struct np_late_begin late = { .begin = own->first };
	np_ns stage = own->first;

	/* A clock of its own has nobody to be later than. */
	for (size_t i = 0; i < list->count && own->component != NP_CLOCK_ALONE; i++) {
		const struct starters *each = &list->item[i];

		if (each->step != own->step || each->component != own->component)
			continue;
		late.begin = each->first < late.begin ? each->first : late.begin;
		if (each->stage == own->stage)
			stage = each->first;
	}
	if (own->step != NP_STR_NONE)
		*(own->calls ? &late.host : &late.unknown) = own->first - stage;
	late.other = own->first - late.begin - late.host - late.unknown;
	return late;
}

int np_late_begin_measure(const struct np_run *run, const struct np_clock *clock,
			  const int32_t *stages, struct np_late_begin **ret, struct np_err *err)
{
	struct np_late_begin *late = calloc(run->sources.count + 1, sizeof(*late));
	starters_list list = { 0 };
	struct starters own;
	int rc = late ? NP_OK : np_fail_nomem(err, "late ranks");

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (find_starters(run, clock, stages, i, &own))
			rc = add_starters(&list, &own, err);
	}
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		late[i].begin = NP_UNKNOWN;
		if (find_starters(run, clock, stages, i, &own))
			late[i] = compare(&own, &list);
	}
	np_vec_release(&list);
	if (rc == NP_OK)
		*ret = NP_STEAL(late);
	free(late);
	return rc;
}
