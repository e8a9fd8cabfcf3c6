/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

/* --- np_charge_sum
 * -------------------------------------------------------------------------------- */

static const struct np_column charge_columns[] = {
	{ "kind", NP_TEXT },     { "name", NP_TEXT },       { "stage", NP_INTEGER },
	{ "ranks", NP_INTEGER }, { "cost_ns", NP_INTEGER }, { "direct_ns", NP_INTEGER },
};

static int produce_charges(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_run *run = analysis->run;
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->charge_sums.list.count && rc == NP_OK; i++) {
		const struct np_charge_sum *charge = &analysis->charge_sums.list.item[i];

		rc = np_sink_row(
			sink,
			(struct np_cell[]){
				np_cell_text(np_charge_kind_name(charge->kind)),
				np_cell_text(np_run_text(run, charge->name)),
				np_cell_integer(charge->stage < 0 ? NP_UNKNOWN : charge->stage),
				np_cell_integer(charge->kind == NP_CHARGE_ROLE ? NP_UNKNOWN
									       : charge->ranks),
				np_cell_integer(charge->charge), np_cell_integer(charge->direct) },
			err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_charge, "np_charge",
		"the waiting charged to hosts, stages and roles of communicators, in ns",
		charge_columns, produce_charges);

/* --- np_coverage ------------------------------------------------------------------------------ */

static const struct np_column coverage_columns[] = {
	{ "group_name", NP_TEXT }, { "rank", NP_INTEGER },    { "ops", NP_INTEGER },
	{ "matched", NP_INTEGER }, { "missing", NP_INTEGER }, { "extra", NP_INTEGER },
	{ "edge", NP_INTEGER },
};

static int produce_coverage(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_align *align = analysis->align;
	int rc = NP_OK;

	for (size_t i = 0; i < align->coverage.count && rc == NP_OK; i++) {
		const struct np_coverage *row = &align->coverage.item[i];
		char hash[24];

		np_group_label(align->communicators.item[row->communicator].hash, hash,
			       sizeof(hash));
		rc = np_sink_row(sink,
				 (struct np_cell[]){
					 np_cell_text(hash),
					 np_cell_integer(align->run->ranks[row->rank]->id),
					 np_cell_integer(row->total), np_cell_integer(row->matched),
					 np_cell_integer(row->missing), np_cell_integer(row->extra),
					 np_cell_integer(row->edge) },
				 err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_coverage, "np_coverage",
		"how many operators of each communicator and rank were matched with others'",
		coverage_columns, produce_coverage);
