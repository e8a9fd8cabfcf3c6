/* SPDX-License-Identifier: Apache-2.0 */
/* Who waited for whom: matched operators, waits, charges, and the clocks they rest on. */
#include "tables.h"

#include "npuprof/align.h"
#include "npuprof/waits.h"

/* --- np_instance ----------------------------------------------------------------------------- */

static const struct np_column instance_columns[] = {
	{ "id", NP_INTEGER },
	{ "group_name", NP_TEXT },
	{ "step", NP_TEXT },
	{ "op_type", NP_TEXT },
	{ "bytes", NP_INTEGER },
	{ "ranks_matched", NP_INTEGER },
	{ "ranks_expected", NP_INTEGER },
	{ "estimator", NP_TEXT },
};

static int produce_instance(const struct np_analysis *analysis, size_t id, struct np_sink *sink,
			    struct np_err *err)
{
	const struct np_run *run = analysis->run;
	const struct np_instance *instance = &analysis->align->instances.item[id];
	enum np_estimator estimator = (enum np_estimator)analysis->waits.estimator[instance->first];
	bool open = (instance->flags & NP_INSTANCE_OPEN) != 0;
	char hash[24];

	np_group_label(analysis->align->communicators.item[instance->communicator].hash, hash,
		       sizeof(hash));
	return np_sink_row(sink,
			   (struct np_cell[]){
				   np_cell_integer((int64_t)id), np_cell_text(hash),
				   np_cell_text(np_run_text(run, instance->step)),
				   np_cell_text(np_run_text(run, instance->type)),
				   np_cell_integer(instance->bytes),
				   np_cell_integer(instance->count),
				   np_cell_integer(open ? NP_UNKNOWN : (int64_t)instance->expected),
				   np_cell_text(np_estimator_name(estimator)) },
			   err);
}

static int produce_instances(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->align->instances.count && rc == NP_OK; i++)
		rc = produce_instance(analysis, i, sink, err);
	return rc;
}

NP_DEFINE_TABLE(np_table_instance, "np_instance",
		"collectives and messages, matched over the ranks", instance_columns,
		produce_instances);

/* --- np_wait --------------------------------------------------------------------------------- */

static const struct np_column wait_columns[] = {
	{ "instance", NP_INTEGER }, { "rank", NP_INTEGER },    { "start_ns", NP_INTEGER },
	{ "end_ns", NP_INTEGER },   { "wait_ns", NP_INTEGER }, { "transit_ns", NP_INTEGER },
};

/* Times are the rank's own: np_clock says how its clock stands to the others'. */
static int produce_waits(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_align *align = analysis->align;
	int rc = NP_OK;

	for (size_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];

		for (uint32_t j = 0; j < instance->count && rc == NP_OK; j++) {
			uint32_t slot = instance->first + j;
			const struct np_comm_op *op = np_align_op(align, slot);
			const struct np_rank *rank = align->run->ranks[align->members[slot].rank];

			rc = np_sink_row(
				sink,
				(struct np_cell[]){
					np_cell_integer((int64_t)i), np_cell_integer(rank->id),
					np_cell_integer(op->start), np_cell_integer(op->end),
					np_cell_integer(analysis->waits.wait[slot]),
					np_cell_integer(
						np_waits_transit(align, &analysis->waits, slot)) },
				err);
		}
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_wait, "np_wait", "how long each rank waited in each instance, in ns",
		wait_columns, produce_waits);

/* --- np_blame -------------------------------------------------------------------------------- */

static const struct np_column blame_columns[] = {
	{ "rank", NP_INTEGER },    { "step", NP_TEXT },  { "group_name", NP_TEXT },
	{ "cost_ns", NP_INTEGER }, { "cause", NP_TEXT }, { "via", NP_TEXT },
};

/* Charges by arrival, why the rank was late, and where it was kept waiting if that is why. */
static int produce_blame(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_align *align = analysis->align;
	const struct np_run *run = analysis->run;
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->charges.rows.count && rc == NP_OK; i++) {
		const struct np_charge_row *row = &analysis->charges.rows.item[i];
		const struct np_root_cause_row *why = &analysis->causes.rows[i];
		char hash[24];
		char via[24];

		np_group_label(align->communicators.item[row->communicator].hash, hash,
			       sizeof(hash));
		if (why->via != UINT32_MAX)
			np_group_label(align->communicators.item[why->via].hash, via, sizeof(via));
		rc = np_sink_row(
			sink,
			(struct np_cell[]){ np_cell_integer(run->ranks[row->rank]->id),
					    np_cell_text(np_run_text(run, row->step)),
					    np_cell_text(hash), np_cell_integer(row->charge),
					    np_cell_text(np_cause_name(why->cause)),
					    np_cell_text(why->via != UINT32_MAX ? via : NULL) },
			err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_blame, "np_blame",
		"the waiting of others that each rank is charged by its arrivals, in ns",
		blame_columns, produce_blame);

/* --- np_clock -------------------------------------------------------------------------------- */

static const struct np_column clock_columns[] = {
	{ "rank", NP_INTEGER },   { "host", NP_TEXT },           { "offset_ns", NP_INTEGER },
	{ "drift_ppm", NP_REAL }, { "residual_ns", NP_INTEGER },
};

/* The offset at the first operator of the rank; NULL for one that is related to no other. */
static int produce_clock(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_run *run = analysis->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];
		const struct np_clock_rank *clock = &analysis->clock->ranks[i];
		bool related;

		if (!rank)
			continue;
		related = clock->component != NP_CLOCK_ALONE && clock->knot_count > 0 &&
			  rank->ops.count > 0;
		rc = np_sink_row(
			sink,
			(struct np_cell[]){
				np_cell_integer(rank->id),
				np_cell_text(np_run_text(run, rank->host_name)),
				np_cell_integer(
					related ? np_clock_offset(clock, rank->ops.item[0].start)
						: NP_UNKNOWN),
				related ? np_cell_real(clock->drift * 1e6) : np_cell_null(),
				np_cell_integer(clock->residual_p90) },
			err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_clock, "np_clock",
		"what each rank's clock is ahead of the common one, and how sure that is",
		clock_columns, produce_clock);

/* --- np_charge ------------------------------------------------------------------------------- */

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
