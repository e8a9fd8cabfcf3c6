/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations of CANN calls by function: per rank, and over all ranks with the
 * quantiles of all calls together.
 */
#include "registry.h"

#include "cluster/modes/common/grouping.h"

#include "npuprof/text.h"

#define MODE "cann_api_sum"

static void release(void *result)
{
	grouping_release(result);
	free(result);
}

static int take_calls(struct mode_rank *rank, struct grouping *calls, struct grouping_rows *rows,
		      uint32_t *near)
{
	const struct np_detail *detail = rank->detail;

	for (size_t i = 0; i < detail->calls.count; i++) {
		const struct np_call *call = &detail->calls.item[i];
		struct value_group *group;

		if (!mode_takes(rank, call->step))
			continue;
		group = grouping_find_near(calls, &call->name, near, rank->err);
		if (!group)
			return NP_E_NOMEM;
		grouping_rows_add(rows, calls, group, call->end - call->start);
	}
	return grouping_fill(rank, calls, (struct key_parts){ 0, 1 }, rows);
}

static struct summary plus(const struct summary *summary, const struct np_statistic *of)
{
	if (summary->count == 0)
		return samples_known_by_sum((size_t)of->count, of->total, of->least, of->most);
	return samples_known_by_sum(summary->count + (size_t)of->count,
				    samples_plus(summary->sum, of->total),
				    of->least < summary->min ? of->least : summary->min,
				    of->most > summary->max ? of->most : summary->max);
}

/* Without single calls, what the profiler itself has summed up of them (api_statistic.csv). */
static int take_sums(struct mode_rank *rank, struct grouping *calls)
{
	const struct np_rank *from = rank->rank;

	calls->summaries = calloc(from->calls.count + 1, sizeof(*calls->summaries));
	if (!calls->summaries)
		return np_fail_nomem(rank->err, MODE);
	for (size_t i = 0; i < from->calls.count; i++) {
		const struct np_statistic *of = &from->calls.item[i];
		struct value_group *group;
		struct summary *summary;

		if (of->count <= 0)
			continue;
		group = grouping_find(calls, &of->name, rank->err);
		if (!group)
			return NP_E_NOMEM;
		summary = &calls->summaries[group - calls->list.item];
		*summary = plus(summary, of);
		group->samples.sum = summary->sum;
	}
	return NP_OK;
}

static int reduce_calls(struct mode_rank *rank, struct grouping *calls)
{
	struct grouping_rows rows = { 0 };
	uint32_t *near = grouping_near(rank);
	int rc =
		near ? grouping_rows_init(&rows, rank->detail->calls.count, rank->err) : NP_E_NOMEM;

	if (rc == NP_OK)
		rc = take_calls(rank, calls, &rows, near);
	if (rc == NP_OK)
		rc = grouping_describe(calls, rank->err);
	free(near);
	grouping_rows_release(&rows);
	return rc;
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct grouping *calls = calloc(1, sizeof(*calls));

	(void)prepared;
	if (!calls)
		return np_fail_nomem(rank->err, MODE);
	*ret = calls;
	calls->parts = 1;
	return rank->detail->has & NP_DETAIL_CALLS ? reduce_calls(rank, calls)
						   : take_sums(rank, calls);
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

/* Where rows go. */
struct api_sum_put {
	struct np_modes *modes;
	struct np_mode_table *table;
	void *const *ranks;
	double total; /* Σ of all calls */
	int32_t rank; /* whose rows they are, if not those of all */
};

static int put_of_rank(void *context, const np_str *key, const struct summary *summary,
		       struct np_err *err)
{
	const struct api_sum_put *put = context;
	const struct np_cell cells[NP_COUNT(rank_columns)] = {
		mode_name_cell(put->modes, key[0]),
		np_cell_real(np_round(percent(summary->sum, put->total), 2)),
		np_cell_integer(summary->sum),
		np_cell_integer((int64_t)summary->count),
		np_cell_real(np_round(summary->mean, 1)),
		np_cell_scaled(summary->min, 1),
		np_cell_real(np_round(summary->q1, 1)),
		np_cell_real(np_round(summary->median, 1)),
		np_cell_real(np_round(summary->q3, 1)),
		np_cell_scaled(summary->max, 1),
		np_cell_real(np_round(summary->population_std, 1)),
		np_cell_integer(put->rank),
	};

	return mode_row(put->modes, put->table, cells, err);
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
static void list_ranks(const struct api_sum_put *put, const np_str *key, int64_t value, bool most,
		       struct np_buf *buf)
{
	for (size_t i = 0; i < put->modes->run->sources.count; i++) {
		const struct grouping *calls = put->ranks[i];
		const struct value_group *own = calls ? grouping_get(calls, key) : NULL;
		const struct summary *summary;

		if (!own)
			continue;
		summary = &calls->summaries[own - calls->list.item];
		if (value == (most ? summary->max : summary->min))
			np_buf_printf(buf, "%s%d", buf->length ? ", " : "",
				      mode_rank_id(put->modes, i));
	}
}

static int put_of_all(void *context, const np_str *key, const struct summary *summary,
		      struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf least = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf most = NP_BUF_INIT;
	const struct api_sum_put *put = context;

	list_ranks(put, key, summary->min, false, &least);
	list_ranks(put, key, summary->max, true, &most);
	return mode_row(put->modes, put->table,
			(const struct np_cell[NP_COUNT(all_columns)]){
				mode_name_cell(put->modes, key[0]),
				np_cell_real(np_round(percent(summary->sum, put->total), 1)),
				np_cell_integer(summary->sum),
				np_cell_integer((int64_t)summary->count),
				np_cell_real(np_round(summary->mean, 1)),
				np_cell_real(np_round(summary->q1, 1)),
				np_cell_real(np_round(summary->median, 1)),
				np_cell_real(np_round(summary->q3, 1)),
				np_cell_scaled(summary->min, 1),
				np_cell_scaled(summary->max, 1),
				np_cell_real(np_round(summary->std, 1)),
				np_cell_text(least.text),
				np_cell_text(most.text),
			},
			err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "CannApiSum",
			   "durations of CANN calls by function, over all ranks", all_columns, err);
	struct np_mode_table *each =
		MODE_TABLE(modes, MODE, "CannApiSumRank",
			   "durations of CANN calls by rank and function", rank_columns, err);
	size_t count = modes->run->sources.count;
	struct api_sum_put all = { modes, table, ranks, 0, -1 };
	int rc = table && each ? NP_OK : NP_E_NOMEM;

	(void)prepared;
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		struct api_sum_put put = { modes, each, ranks, 0, -1 };

		if (!ranks[i])
			continue;
		put.rank = mode_rank_id(modes, i);
		put.total = total_of(ranks[i]);
		all.total += put.total;
		rc = grouping_each(modes, ranks[i], put_of_rank, &put, err);
	}
	return rc < 0 ? rc
		      : grouping_each_pooled(modes, (struct grouping *const *)ranks, count, 1,
					     put_of_all, &all, err);
}

const struct mode mode_cann_api_sum = {
	.name = MODE,
	.summary = "durations of CANN calls by function and rank",
	.devices = MODE_DEVICES_APART,
	.model = MODE_OF_OPERATORS,
	.wants = NP_DETAIL_CALLS,
	.needs = NP_DETAIL_CALLS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
