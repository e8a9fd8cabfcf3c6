/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

#include "npuprof/text.h"

/*
 * Durations of CANN calls by function: per rank, and over all ranks with the
 * quantiles of all calls together.
 */
#define MODE "cann_api_sum"

static void release(void *result)
{
	grouping_release(result);
	free(result);
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct grouping *calls = calloc(1, sizeof(*calls));
	int rc;

	(void)prepared;
	if (!calls)
		return np_fail_nomem(rank->err, MODE);
	*ret = calls;
	rc = grouping_init(calls, 1, rank->err);
	for (size_t i = 0; i < rank->detail->calls.count && rc == NP_OK; i++) {
		const struct np_call *call = &rank->detail->calls.item[i];
		struct group *group;
		np_str name;

		if (!mode_takes(rank, call->step))
			continue;
		rc = mode_text(rank, call->name, &name);
		if (rc < 0)
			break;
		group = grouping_find(calls, &name, rank->err);
		rc = group ? samples_add(&group->samples, call->end - call->start, rank->err)
			   : NP_E_NOMEM;
	}
	return rc;
}

static double total_of(const struct grouping *calls)
{
	double total = 0;

	for (size_t i = 0; i < calls->list.count; i++)
		total += (double)calls->list.item[i].samples.sum;
	return total;
}

static double percent(int64_t part, double whole)
{
	return whole > 0 ? 100.0 * (double)part / whole : 0;
}

static const struct np_column rank_columns[] = {
	{ "name", NP_TEXT },          { "durationRatio", NP_REAL }, { "totalTimeNs", NP_INTEGER },
	{ "totalCount", NP_INTEGER }, { "averageNs", NP_REAL },     { "minNs", NP_REAL },
	{ "Q1Ns", NP_REAL },          { "medNs", NP_REAL },         { "Q3Ns", NP_REAL },
	{ "maxNs", NP_REAL },         { "stdev", NP_REAL },         { "rank", NP_INTEGER },
};

static int put_rank(struct np_modes *modes, struct np_mode_table *table, struct grouping *calls,
		    int32_t rank, struct np_err *err)
{
	uint32_t *order = grouping_by_sum(modes, calls, err);
	double total = total_of(calls);
	int rc = order ? NP_OK : NP_E_NOMEM;

	for (size_t i = 0; i < calls->list.count && rc == NP_OK; i++) {
		struct group *group = &calls->list.item[order[i]];
		struct summary summary = samples_describe(&group->samples);
		const struct np_cell cells[NP_COUNT(rank_columns)] = {
			mode_name_cell(modes, group->key[0]),
			np_cell_real(np_round(percent(summary.sum, total), 2)),
			np_cell_integer(summary.sum),
			np_cell_integer((int64_t)summary.count),
			np_cell_real(np_round(summary.mean, 1)),
			np_cell_scaled(summary.min, 1),
			np_cell_real(np_round(summary.q1, 1)),
			np_cell_real(np_round(summary.median, 1)),
			np_cell_real(np_round(summary.q3, 1)),
			np_cell_scaled(summary.max, 1),
			np_cell_real(np_round(summary.population_std, 1)),
			np_cell_integer(rank),
		};

		rc = mode_row(modes, table, cells, err);
	}
	free(order);
	return rc;
}

/* --- over all ranks -------------------------------------------------------------------------- */

static const struct np_column all_columns[] = {
	{ "name", NP_TEXT },          { "timeRatio", NP_REAL }, { "totalTimeNs", NP_INTEGER },
	{ "totalCount", NP_INTEGER }, { "averageNs", NP_REAL }, { "Q1Ns", NP_REAL },
	{ "medNs", NP_REAL },         { "Q3Ns", NP_REAL },      { "minNs", NP_REAL },
	{ "maxNs", NP_REAL },         { "stdev", NP_REAL },     { "minRank", NP_TEXT },
	{ "maxRank", NP_TEXT },
};

/* The ranks whose shortest, or longest, call of a function is the one of all. */
static void put_ranks(struct np_modes *modes, void *const *ranks, const struct group *group,
		      int64_t value, bool most, struct np_buf *buf)
{
	np_buf_clear(buf);
	for (size_t i = 0; i < modes->run->sources.count; i++) {
		struct grouping *calls = ranks[i];
		struct group *own = calls ? grouping_get(calls, group->key) : NULL;
		struct summary summary;

		if (!own)
			continue;
		summary = samples_describe(&own->samples);
		if ((most ? summary.max : summary.min) == value)
			np_buf_printf(buf, "%s%d", buf->length ? ", " : "", mode_rank_id(modes, i));
	}
}

static int put_function(struct np_modes *modes, struct np_mode_table *table, void *const *ranks,
			const struct group *group, struct samples *calls, double total,
			struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf least = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf most = NP_BUF_INIT;
	struct summary summary = samples_describe(calls);

	put_ranks(modes, ranks, group, summary.min, false, &least);
	put_ranks(modes, ranks, group, summary.max, true, &most);
	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(all_columns)]){
				mode_name_cell(modes, group->key[0]),
				np_cell_real(np_round(percent(summary.sum, total), 1)),
				np_cell_integer(summary.sum),
				np_cell_integer((int64_t)summary.count),
				np_cell_real(np_round(summary.mean, 1)),
				np_cell_real(np_round(summary.q1, 1)),
				np_cell_real(np_round(summary.median, 1)),
				np_cell_real(np_round(summary.q3, 1)),
				np_cell_scaled(summary.min, 1),
				np_cell_scaled(summary.max, 1),
				np_cell_real(np_round(summary.std, 1)),
				np_cell_text(least.text),
				np_cell_text(most.text),
			},
			err);
}

static int put_all(struct np_modes *modes, struct np_mode_table *table, void *const *ranks,
		   struct np_err *err)
{
	struct grouping *const *list = (struct grouping *const *)ranks;
	size_t count = modes->run->sources.count;
	struct grouping all;
	uint32_t *order = NULL;
	int rc = grouping_init(&all, 1, err);

	if (rc == NP_OK)
		rc = grouping_unite(&all, list, count, err);
	if (rc == NP_OK) {
		order = grouping_by_sum(modes, &all, err);
		rc = order ? NP_OK : NP_E_NOMEM;
	}
	for (size_t i = 0; i < all.list.count && rc == NP_OK; i++) {
		const struct group *group = &all.list.item[order[i]];
		struct samples calls = { 0 };

		rc = grouping_pool(list, count, group->key, &calls, err);
		if (rc == NP_OK)
			rc = put_function(modes, table, ranks, group, &calls, total_of(&all), err);
		samples_release(&calls);
	}
	free(order);
	grouping_release(&all);
	return rc;
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *all =
		MODE_TABLE(modes, MODE, "CannApiSum",
			   "durations of CANN calls by function, over all ranks", all_columns, err);
	struct np_mode_table *each =
		MODE_TABLE(modes, MODE, "CannApiSumRank",
			   "durations of CANN calls by rank and function", rank_columns, err);
	int rc = all && each ? put_all(modes, all, ranks, err) : NP_E_NOMEM;

	(void)prepared;
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		if (ranks[i])
			rc = put_rank(modes, each, ranks[i], mode_rank_id(modes, i), err);
	}
	return rc;
}

const struct mode mode_cann_api_sum = {
	.name = MODE,
	.summary = "durations of CANN calls by function and rank",
	.wants = NP_DETAIL_CALLS,
	.needs = NP_DETAIL_CALLS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
