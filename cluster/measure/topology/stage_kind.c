/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a stage that takes longer has more to do, or does the same more slowly. */
#include "npuprof/stage_kind.h"

#include "npuprof/rank.h"
#include "npuprof/run.h"

/* So many ranks say what a stage, or what all others, have to do. */
#define OWN_RANKS   16
#define OTHER_RANKS 64

/* Kernels of one type, of the ranks of a stage or of all others. */
struct type_sum {
	double count; /* by rank, on average */
	double time;
};

static struct type_sum sum_type(const struct np_run *run, const int32_t *stages, int32_t stage,
				bool own, np_str type)
{
	struct type_sum sum = { 0 };
	double ranks = 0;

	for (size_t i = 0; i < run->sources.count && ranks < (own ? OWN_RANKS : OTHER_RANKS); i++) {
		const struct np_rank *rank = run->ranks[i];

		if (!rank || stages[i] < 0 || (stages[i] == stage) != own ||
		    rank->kernels.count == 0)
			continue;
		ranks++;
		for (size_t j = 0; j < rank->kernels.count; j++) {
			if (rank->kernels.item[j].name != type)
				continue;
			sum.count += (double)rank->kernels.item[j].count;
			sum.time += (double)rank->kernels.item[j].total;
		}
	}
	if (ranks > 0) {
		sum.count /= ranks;
		sum.time /= ranks;
	}
	return sum;
}

/* Is it the first rank of its stage that has kernels? One says what types the stage has. */
static bool is_first(const struct np_run *run, const int32_t *stages, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (run->ranks[i] && run->ranks[i]->kernels.count > 0 && stages[i] == stages[index])
			return false;
	}
	return run->ranks[index] && stages[index] >= 0;
}

/* Was the type of kernel `at` of rank `index` seen before, on this one or a first one before? */
static bool is_seen(const struct np_run *run, const int32_t *stages, size_t index, size_t at)
{
	np_str type = run->ranks[index]->kernels.item[at].name;

	for (size_t i = 0; i <= index; i++) {
		const struct np_rank *rank = is_first(run, stages, i) ? run->ranks[i] : NULL;

		for (size_t j = 0; rank && j < (i < index ? rank->kernels.count : at); j++) {
			if (rank->kernels.item[j].name == type)
				return true;
		}
	}
	return false;
}

/* What more kernels take, and what kernels take more; of one type. */
static void add_type(const struct np_run *run, const int32_t *stages, int32_t stage, np_str type,
		     double *more, double *longer)
{
	struct type_sum own = sum_type(run, stages, stage, true, type);
	struct type_sum others = sum_type(run, stages, stage, false, type);
	double usual = others.count > 0 ? others.time / others.count
		       : own.count > 0  ? own.time / own.count
					: 0;

	*more += (own.count - others.count) * usual;
	*longer += own.time - own.count * usual;
}

enum np_stage_kind np_stage_kind(const struct np_run *run, const int32_t *stages, int32_t stage)
{
	double more = 0;
	double longer = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = is_first(run, stages, i) ? run->ranks[i] : NULL;

		for (size_t j = 0; rank && j < rank->kernels.count; j++) {
			if (!is_seen(run, stages, i, j))
				add_type(run, stages, stage, rank->kernels.item[j].name, &more,
					 &longer);
		}
	}
	if (more + longer <= 0)
		return NP_STAGE_UNKNOWN;
	return more > longer ? NP_STAGE_UNEVEN : NP_STAGE_SLOW;
}
