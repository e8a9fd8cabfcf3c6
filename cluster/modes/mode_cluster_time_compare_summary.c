/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterTimeSummary of two runs side by side: each rank and step, the base and the difference. */
#include "registry.h"
#include "time_summary.h"

#include "npuprof/text.h"

#define MODE "cluster_time_compare_summary"

enum {
	METRICS = TIME_SUMMARY_COLUMNS - TIME_SUMMARY_FIRST,
	KEYS = 3, /* rank, step, step of the base */
};

#define METRIC(name) \
	{ name, NP_REAL }, { name "Base", NP_REAL }, \
	{ \
		name "Diff", NP_REAL \
	}

/* clang-format off */
static const struct np_column columns[] = {
	{ "rank", NP_INTEGER },
	{ "step", NP_INTEGER },
	{ "stepBase", NP_INTEGER },
	METRIC("stepTime"),
	METRIC("computation"),
	METRIC("communicationNotOverlapComputation"),
	METRIC("communicationOverlapComputation"),
	METRIC("communication"),
	METRIC("free"),
	METRIC("communicationWaitStageTime"),
	METRIC("communicationTransmitStageTime"),
	METRIC("memory"),
	METRIC("memoryNotOverlapComputationCommunication"),
};
/* clang-format on */

_Static_assert(NP_COUNT(columns) == KEYS + 3 * METRICS, "three columns for each time");

static const struct np_cell *row_at(const struct np_mode_table *table, size_t row)
{
	return &table->cells[row * TIME_SUMMARY_COLUMNS];
}

static bool same_cell(const struct np_cell *a, const struct np_cell *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == NP_CELL_INTEGER)
		return a->integer == b->integer;
	return a->type != NP_CELL_TEXT ||
	       (a->text.length == b->text.length &&
		memcmp(a->text.bytes, b->text.bytes, a->text.length) == 0);
}

/* Which row of the same rank this is: 0 for the first. */
static size_t position(const struct np_mode_table *table, size_t row)
{
	size_t count = 0;

	for (size_t i = row; i > 0 && same_cell(&row_at(table, i - 1)[0], &row_at(table, row)[0]);
	     i--)
		count++;
	return count;
}

/* The row of the base for a rank and a step, by its id or by its position; SIZE_MAX for none. */
static size_t partner(const struct np_mode_table *base, const struct np_mode_table *own, size_t row,
		      bool by_position)
{
	const struct np_cell *cells = row_at(own, row);
	size_t at = by_position ? position(own, row) : 0;

	for (size_t i = 0; i < base->rows; i++) {
		const struct np_cell *other = row_at(base, i);

		if (same_cell(&other[0], &cells[0]) &&
		    (by_position ? position(base, i) == at : same_cell(&other[1], &cells[1])))
			return i;
	}
	return SIZE_MAX;
}

static bool has_common_step(const struct np_mode_table *base, const struct np_mode_table *own)
{
	for (size_t i = 0; i < own->rows; i++) {
		if (partner(base, own, i, false) != SIZE_MAX)
			return true;
	}
	return false;
}

static int put_pair(struct np_modes *modes, struct np_mode_table *table, const struct np_cell *own,
		    const struct np_cell *base, struct np_err *err)
{
	struct np_cell cells[NP_COUNT(columns)];

	cells[0] = own[0];
	cells[1] = own[1];
	cells[2] = base[1];
	for (size_t i = 0; i < METRICS; i++) {
		const struct np_cell *new_ = &own[TIME_SUMMARY_FIRST + i];
		const struct np_cell *old = &base[TIME_SUMMARY_FIRST + i];
		struct np_cell *to = &cells[KEYS + 3 * i];
		bool known = new_->type == NP_CELL_REAL && old->type == NP_CELL_REAL;

		to[0] = *new_;
		to[1] = *old;
		to[2] = known ? np_cell_real(new_->real - old->real) : np_cell_null();
	}
	return mode_row(modes, table, cells, err);
}

static int put_all(struct np_modes *modes, struct np_mode_table *table,
		   const struct np_mode_table *own, struct np_err *err)
{
	const struct np_mode_table *base = modes->options.base_summary;
	bool by_position = !has_common_step(base, own);
	size_t alone = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < own->rows && rc == NP_OK; i++) {
		size_t other = partner(base, own, i, by_position);

		if (other == SIZE_MAX)
			alone++;
		else
			rc = put_pair(modes, table, row_at(own, i), row_at(base, other), err);
	}
	if (by_position && table->rows > 0)
		np_note_add(&modes->run->notes, NP_NOTE_WARNING, NP_NO_RANK,
			    modes->run->roots.item[0], MODE,
			    "the runs have no step in common: they are paired in their order");
	if (alone > 0)
		np_note_add(&modes->run->notes, NP_NOTE_SKIPPED, NP_NO_RANK,
			    modes->run->roots.item[0], MODE,
			    "%zu of %zu ranks and steps have no partner in the base", alone,
			    own->rows);
	return rc;
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table own = { .relation = { .name = MODE,
						   .columns = time_summary_columns,
						   .column_count = TIME_SUMMARY_COLUMNS } };
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "ClusterTimeCompareSummary",
			   "each rank and step beside the base, in µs", columns, err);
	int rc = table ? time_summary_fill(modes, MODE, &own, ranks, err) : NP_E_NOMEM;

	(void)prepared;
	if (rc == NP_OK)
		rc = put_all(modes, table, &own, err);
	free(own.cells);
	return rc;
}

const struct mode mode_cluster_time_compare_summary = {
	.name = MODE,
	.summary = "cluster_time_summary beside that of another run (--base)",
	.devices = MODE_DEVICES_FIRST,
	.wants = TIME_SUMMARY_WANTS,
	.knows = time_summary_knows,
	.reduce = time_summary_reduce,
	.merge = merge,
	.release = time_summary_release,
};
