/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/modes/common/mstx_marks.h"

#include <math.h>

#define MODE "mstx_sum"

static void release(void *result)
{
	mstx_marks_release(result);
	free(result);
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct mstx_marks *marks = calloc(1, sizeof(*marks));

	(void)prepared;
	if (!marks)
		return np_fail_nomem(rank->err, MODE);
	*ret = marks;
	return mstx_marks_read(rank, marks);
}

/* --- tables ---------------------------------------------------------------------------------- */

static const struct np_column mark_columns[] = {
	{ "index", NP_INTEGER },
	{ "Name", NP_TEXT },
	{ "FrameworkDurationNs", NP_INTEGER },
	{ "FrameworkDurationRatio(%)", NP_REAL },
	{ "CannDurationNs", NP_INTEGER },
	{ "CannDurationRatio(%)", NP_REAL },
	{ "DeviceDurationNs", NP_INTEGER },
	{ "DeviceDurationRatio(%)", NP_REAL },
	{ "Rank", NP_INTEGER },
	{ "StepId", NP_INTEGER },
};

static double percent(np_ns part, np_ns whole)
{
	return part == NP_UNKNOWN || whole <= 0 ? (double)NAN
						: 100.0 * (double)part / (double)whole;
}

static int by_cann(const void *left, const void *right, void *context)
{
	const struct np_strtab *strings = context;
	const struct mstx_mark *a = left;
	const struct mstx_mark *b = right;

	if (a->time[MSTX_CANN] != b->time[MSTX_CANN])
		return np_order(b->time[MSTX_CANN], a->time[MSTX_CANN]);
	if (a->start != b->start)
		return np_order(a->start, b->start);
	return strcmp(np_strtab_text(strings, a->name), np_strtab_text(strings, b->name));
}

static int put_rank(struct np_modes *modes, struct np_mode_table *table, int32_t rank,
		    struct mstx_marks *marks, struct np_err *err)
{
	np_ns total[MSTX_LAYERS] = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < marks->list.count; i++) {
		for (size_t layer = 0; layer < MSTX_LAYERS; layer++) {
			if (marks->list.item[i].time[layer] != NP_UNKNOWN)
				total[layer] += marks->list.item[i].time[layer];
		}
	}
	if (marks->list.count)
		qsort_r(marks->list.item, marks->list.count, sizeof(marks->list.item[0]), by_cann,
			modes->run->strings);
	for (size_t i = 0; i < marks->list.count && rc == NP_OK; i++) {
		const struct mstx_mark *mark = &marks->list.item[i];
		struct np_cell cells[NP_COUNT(mark_columns)] = {
			np_cell_integer((int64_t)table->rows),
			mode_name_cell(modes, mark->name),
		};

		for (size_t layer = 0; layer < MSTX_LAYERS; layer++) {
			cells[2 + 2 * layer] = np_cell_integer(mark->time[layer]);
			cells[3 + 2 * layer] =
				np_cell_real(percent(mark->time[layer], total[layer]));
		}
		cells[8] = np_cell_integer(rank);
		cells[9] = mode_step_cell(modes, mark->step);
		rc = mode_row(modes, table, cells, err);
	}
	return rc;
}

static const struct np_column layer_columns[] = {
	{ "Name", NP_TEXT },          { "Count", NP_INTEGER },   { "MeanNs", NP_REAL },
	{ "StdNs", NP_REAL },         { "MinNs", NP_REAL },      { "MinRank", NP_INTEGER },
	{ "Q1Ns", NP_REAL },          { "MedianNs", NP_REAL },   { "Q3Ns", NP_REAL },
	{ "MaxNs", NP_REAL },         { "MaxRank", NP_INTEGER }, { "SumNs", NP_REAL },
	{ "Dispersion(%)", NP_REAL }, { "StepId", NP_INTEGER },
};

/* How far the longest lies above the bulk, in percent of the sum. */
static double dispersion(const struct summary *summary)
{
	return summary->sum > 0
		       ? 100.0 * ((double)summary->max - summary->q3) / (double)summary->sum
		       : 0;
}

struct scattered {
	double dispersion;
	uint32_t group;
};

static int by_dispersion(const void *left, const void *right, void *context)
{
	const uint32_t *places = context;
	const struct scattered *a = left;
	const struct scattered *b = right;

	if (a->dispersion != b->dispersion)
		return a->dispersion > b->dispersion ? -1 : 1;
	return np_order(places[a->group], places[b->group]);
}

static int put_group(struct np_modes *modes, struct np_mode_table *table, struct group *group,
		     struct np_err *err)
{
	struct summary summary = samples_describe(&group->samples);
	struct np_cell described[DESCRIBE_CELLS];

	describe_cells(&summary, described);
	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(layer_columns)]){
				mode_name_cell(modes, group->key[1]),
				described[0],
				described[1],
				described[2],
				described[3],
				np_cell_integer(group->least_of),
				described[4],
				described[5],
				described[6],
				described[7],
				np_cell_integer(group->most_of),
				described[8],
				np_cell_real(dispersion(&summary)),
				mode_step_cell(modes, group->key[0]),
			},
			err);
}

static int put_scattered(struct np_modes *modes, struct np_mode_table *table,
			 struct grouping *names, struct np_err *err)
{
	uint32_t *order = grouping_by_key(modes, names, err);
	uint32_t *places = malloc((names->list.count + 1) * sizeof(*places));
	struct scattered *list = malloc((names->list.count + 1) * sizeof(*list));
	int rc = order && places && list ? NP_OK : np_fail_nomem(err, MODE);

	for (uint32_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		struct summary summary = samples_describe(&names->list.item[i].samples);

		places[order[i]] = i;
		list[i] = (struct scattered){ dispersion(&summary), i };
	}
	if (rc == NP_OK && names->list.count)
		qsort_r(list, names->list.count, sizeof(*list), by_dispersion, places);
	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++)
		rc = put_group(modes, table, &names->list.item[list[i].group], err);
	free(order);
	free(places);
	free(list);
	return rc;
}

static int put_layer(struct np_modes *modes, struct np_mode_table *table, void *const *ranks,
		     enum mstx_layer layer, struct np_err *err)
{
	struct grouping names = { .parts = 2 }; /* step, name */
	int rc = NP_OK;

	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct mstx_marks *marks = ranks[i];

		for (size_t j = 0; marks && j < marks->list.count && rc == NP_OK; j++) {
			const struct mstx_mark *mark = &marks->list.item[j];
			const np_str key[2] = { mark->step, mark->name };
			struct group *group;

			if (mark->time[layer] == NP_UNKNOWN)
				continue;
			group = grouping_find(&names, key, err);
			rc = group ? group_add(group, mark->time[layer], mode_rank_id(modes, i),
					       err)
				   : NP_E_NOMEM;
		}
	}
	if (rc == NP_OK)
		rc = put_scattered(modes, table, &names, err);
	grouping_release(&names);
	return rc;
}

static int note_unpaired(struct np_modes *modes, void *const *ranks, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;
	size_t count = modes->run->sources.count;
	bool *with = calloc(count + 1, sizeof(*with));
	size_t unpaired = 0;

	if (!with)
		return np_fail_nomem(err, MODE);
	for (size_t i = 0; i < count; i++) {
		const struct mstx_marks *marks = ranks[i];

		with[i] = marks && marks->unpaired;
		unpaired += marks ? marks->unpaired : 0;
	}
	np_buf_printf(&reason, "%zu marks lack the _start or _stop that belongs to them", unpaired);
	mode_note(modes, NP_NOTE_WARNING, MODE, with, reason.text);
	free(with);
	return np_buf_check(&reason, err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	static const struct {
		const char *table;
		const char *summary;
	} layers[MSTX_LAYERS] = {
		[MSTX_FRAMEWORK] = { "MSTXAllFrameworkStats",
				     "times between marks over ranks, in the framework" },
		[MSTX_CANN] = { "MSTXAllCannStats", "times between marks over ranks, in CANN" },
		[MSTX_DEVICE] = { "MSTXAllDeviceStats",
				  "times between marks over ranks, on the device" },
	};
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "MSTXMarkStats", "times between marks on three layers",
			   mark_columns, err);
	int rc = table ? note_unpaired(modes, ranks, err) : NP_E_NOMEM;

	(void)prepared;
	if (rc == NP_OK)
		table->empty = "no marks X_start and X_stop, and no ranges with a device part";
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		if (!ranks[i])
			continue;
		rc = put_rank(modes, table, mode_rank_id(modes, i), ranks[i], err);
	}
	if (rc == NP_OK)
		rc = mode_note_absent(modes, MODE, table, "Rank", ranks, err);
	for (enum mstx_layer layer = 0; layer < MSTX_LAYERS && rc == NP_OK; layer++) {
		table = MODE_TABLE(modes, MODE, layers[layer].table, layers[layer].summary,
				   layer_columns, err);
		rc = table ? put_layer(modes, table, ranks, layer, err) : NP_E_NOMEM;
	}
	return rc;
}

const struct mode mode_mstx_sum = {
	.name = MODE,
	.summary = "times between mstx marks, and of ranges",
	.devices = MODE_DEVICES_APART,
	.wants = NP_DETAIL_MARKS,
	.needs = NP_DETAIL_MARKS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
