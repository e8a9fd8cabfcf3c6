/* SPDX-License-Identifier: Apache-2.0 */
/* What the vendor derives of a rank: the tables of analysis.db, and step_trace_time.csv. */
#include "analysis_out.h"

#include <inttypes.h>

#include "communication_out.h"
#include "npuprof/db.h"
#include "npuprof/op_times.h"

#define NS_PER_US 1e3
#define NS_PER_MS 1e6
#define B_PER_MB  1e6

/* A rank that is written. */
struct derived_rank {
	const struct np_rank *rank;
	const struct np_strtab *strings;
};

static struct np_cell text_cell(const struct derived_rank *derived, np_str id)
{
	return np_cell_text(id == NP_STR_NONE ? NULL : np_strtab_text(derived->strings, id));
}

static struct np_cell kind_cell(bool p2p)
{
	return np_cell_text(np_communication_kind(p2p));
}

/* What every row about an operator begins and ends with. */
struct op_labels {
	char group[24];
	char step[64];
};

static void label(const struct derived_rank *derived, uint32_t group, uint32_t step,
		  struct op_labels *ret)
{
	np_str id = derived->rank->steps.item[step].id;

	(void)snprintf(ret->group, sizeof(ret->group), "%" PRIu64,
		       derived->rank->groups.item[group].hash);
	np_communication_step(ret->step, sizeof(ret->step),
			      id == NP_STR_NONE ? NULL : np_strtab_text(derived->strings, id));
}

/* --- StepTraceTime --------------------------------------------------------------------------- */

static int produce_steps_as(const struct derived_rank *derived, enum np_form form,
			    struct np_sink *sink, struct np_err *err)
{
	const struct np_rank *rank = derived->rank;
	int rc = NP_OK;

	for (size_t i = 0; i < rank->times.count && rc == NP_OK; i++) {
		const struct np_step_time *time = &rank->times.item[i];
		np_ns trailing = np_step_trailing(time, form);
		const struct np_cell cells[] = {
			np_cell_integer(time->device),
			text_cell(derived, rank->steps.item[time->step].id),
			np_cell_scaled(time->computing, NS_PER_US),
			np_cell_scaled(time->communication_not_overlapped, NS_PER_US),
			np_cell_scaled(time->overlapped, NS_PER_US),
			np_cell_scaled(time->communication, NS_PER_US),
			np_cell_scaled(np_plus(time->free, trailing), NS_PER_US),
			np_cell_scaled(np_plus(time->stage, trailing), NS_PER_US),
			np_cell_scaled(time->bubble, NS_PER_US),
			np_cell_scaled(np_step_without_receive(time), NS_PER_US),
			np_cell_scaled(time->preparing, NS_PER_US),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static int produce_steps(const void *model, struct np_sink *sink, struct np_err *err)
{
	return produce_steps_as(model, NP_FORM_DB, sink, err);
}

static int produce_text_steps(const void *model, struct np_sink *sink, struct np_err *err)
{
	return produce_steps_as(model, NP_FORM_TEXT, sink, err);
}

static const struct np_column step_columns[] = {
	{ "deviceId", NP_INTEGER },
	{ "step", NP_TEXT },
	{ "computing", NP_NUMERIC },
	{ "communication_not_overlapped", NP_NUMERIC },
	{ "overlapped", NP_NUMERIC },
	{ "communication", NP_NUMERIC },
	{ "free", NP_NUMERIC },
	{ "stage", NP_NUMERIC },
	{ "bubble", NP_NUMERIC },
	{ "communication_not_overlapped_and_exclude_receive", NP_NUMERIC },
	{ "preparing", NP_NUMERIC },
};

static const struct np_relation step_table = { .name = "StepTraceTime",
					       .columns = step_columns,
					       .column_count = NP_COUNT(step_columns),
					       .produce = produce_steps };

/* Titles of the figures of a step, in µs; what a file has before and behind them is its own. */
/* clang-format off */
#define STEP_FIGURES \
	{ "Computing", NP_REAL }, \
	{ "Communication(Not Overlapped)", NP_REAL }, \
	{ "Overlapped", NP_REAL }, \
	{ "Communication", NP_REAL }, \
	{ "Free", NP_REAL }, \
	{ "Stage", NP_REAL }, \
	{ "Bubble", NP_REAL }, \
	{ "Communication(Not Overlapped and Exclude Receive)", NP_REAL }, \
	{ "Preparing", NP_REAL }
/* clang-format on */

static const struct np_column step_csv_columns[] = {
	{ "Device_id", NP_INTEGER },
	{ "Step", NP_TEXT },
	STEP_FIGURES,
};

const struct np_column np_cluster_step_columns[NP_CLUSTER_STEP_COLUMNS] = {
	/* clang-format off */
	{ "Step", NP_TEXT },
	{ "Type", NP_TEXT },
	{ "Index", NP_TEXT },
	STEP_FIGURES,
	{ "DP Index", NP_INTEGER },
	{ "PP Index", NP_INTEGER },
	{ "TP Index", NP_INTEGER },
	/* clang-format on */
};

static const struct np_relation step_csv = { .name = "step_trace_time",
					     .columns = step_csv_columns,
					     .column_count = NP_COUNT(step_csv_columns),
					     .produce = produce_text_steps };

int np_step_trace_write(const struct np_rank *rank, const struct np_strtab *strings, FILE *stream,
			struct np_err *err)
{
	return np_csv_write(&step_csv, &(struct derived_rank){ rank, strings }, stream, err);
}

/* --- CommAnalyzer* --------------------------------------------------------------------------- */

static int produce_times(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct derived_rank *derived = model;
	const struct np_rank *rank = derived->rank;
	int rc = NP_OK;

	for (size_t i = 0; i < rank->ops.count && rc == NP_OK; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct np_op_times times = NP_OP_TIMES_INIT;
		struct op_labels labels;

		if (op->step == NP_NO_STEP)
			continue;
		label(derived, op->group, op->step, &labels);
		np_op_times_add(&times, rank, i);
		const struct np_cell cells[] = {
			text_cell(derived, op->name),
			np_cell_text(labels.group),
			np_cell_scaled(op->start, NS_PER_US),
			np_cell_scaled(times.elapsed, NS_PER_MS),
			np_cell_scaled(times.transit, NS_PER_MS),
			np_cell_scaled(times.wait, NS_PER_MS),
			np_cell_scaled(times.sync, NS_PER_MS),
			np_cell_scaled(np_op_times_idle(&times), NS_PER_MS),
			np_cell_text(labels.step),
			kind_cell(op->p2p),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column time_columns[] = {
	{ "hccl_op_name", NP_TEXT },
	{ "group_name", NP_TEXT },
	{ "start_timestamp", NP_NUMERIC },
	{ "elapse_time", NP_NUMERIC },
	{ "transit_time", NP_NUMERIC },
	{ "wait_time", NP_NUMERIC },
	{ "synchronization_time", NP_NUMERIC },
	{ "idle_time", NP_NUMERIC },
	{ "step", NP_TEXT },
	{ "type", NP_TEXT },
};

static const struct np_relation time_table = { .name = "CommAnalyzerTime",
					       .columns = time_columns,
					       .column_count = NP_COUNT(time_columns),
					       .produce = produce_times };

static int produce_bands(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct derived_rank *derived = model;
	const struct np_rank *rank = derived->rank;
	int rc = NP_OK;

	for (size_t i = 0; i < rank->bands.count && rc == NP_OK; i++) {
		const struct np_band *band = &rank->bands.item[i];
		const struct np_comm_op *op = &rank->ops.item[band->op];
		struct op_labels labels;

		if (op->step == NP_NO_STEP)
			continue;
		label(derived, op->group, op->step, &labels);
		const struct np_cell cells[] = {
			text_cell(derived, op->name),
			np_cell_text(labels.group),
			np_cell_text(np_band_name(band->type)),
			np_cell_scaled(band->bytes, B_PER_MB),
			np_cell_scaled(band->time, NS_PER_MS),
			np_cell_real(np_band_gb_per_s(band->bytes, band->time)),
			np_cell_real(band->large_packet_ratio),
			np_cell_scaled(band->package_bytes, B_PER_MB),
			np_cell_integer(band->package_count),
			np_cell_scaled(band->package_time, NS_PER_MS),
			np_cell_text(labels.step),
			kind_cell(op->p2p),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column band_columns[] = {
	{ "hccl_op_name", NP_TEXT },
	{ "group_name", NP_TEXT },
	{ "transport_type", NP_TEXT },
	{ "transit_size", NP_NUMERIC },
	{ "transit_time", NP_NUMERIC },
	{ "bandwidth", NP_NUMERIC },
	{ "large_packet_ratio", NP_NUMERIC },
	{ "package_size", NP_NUMERIC },
	{ "count", NP_NUMERIC },
	{ "total_duration", NP_NUMERIC },
	{ "step", NP_TEXT },
	{ "type", NP_TEXT },
};

static const struct np_relation band_table = { .name = "CommAnalyzerBandwidth",
					       .columns = band_columns,
					       .column_count = NP_COUNT(band_columns),
					       .produce = produce_bands };

static int produce_links(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct derived_rank *derived = model;
	const struct np_rank *rank = derived->rank;
	int rc = NP_OK;

	for (size_t i = 0; i < rank->links.count && rc == NP_OK; i++) {
		const struct np_link *link = &rank->links.item[i];
		struct op_labels labels;
		char name[96];
		char src[16];
		char dst[16];

		if (link->step == NP_NO_STEP)
			continue;
		label(derived, link->group, link->step, &labels);
		(void)snprintf(name, sizeof(name), "%s-%s",
			       np_strtab_text(derived->strings, link->op_class),
			       np_link_pick_name(link->pick));
		(void)snprintf(src, sizeof(src), "%" PRId32, link->src);
		(void)snprintf(dst, sizeof(dst), "%" PRId32, link->dst);
		const struct np_cell cells[] = {
			np_cell_text(name),
			np_cell_text(labels.group),
			np_cell_text(src),
			np_cell_text(dst),
			text_cell(derived, link->transport),
			np_cell_scaled(link->bytes, B_PER_MB),
			np_cell_scaled(link->time, NS_PER_MS),
			np_cell_real(np_band_gb_per_s(link->bytes, link->time)),
			np_cell_text(labels.step),
			kind_cell(link->p2p),
			np_cell_text(link->op_name == NP_STR_NONE
					     ? ""
					     : np_strtab_text(derived->strings, link->op_name)),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column link_columns[] = {
	{ "hccl_op_name", NP_TEXT },
	{ "group_name", NP_TEXT },
	{ "src_rank", NP_TEXT },
	{ "dst_rank", NP_TEXT },
	{ "transport_type", NP_TEXT },
	{ "transit_size", NP_NUMERIC },
	{ "transit_time", NP_NUMERIC },
	{ "bandwidth", NP_NUMERIC },
	{ "step", NP_TEXT },
	{ "type", NP_TEXT },
	{ "op_name", NP_TEXT },
};

static const struct np_relation link_table = { .name = "CommAnalyzerMatrix",
					       .columns = link_columns,
					       .column_count = NP_COUNT(link_columns),
					       .produce = produce_links };

bool np_analysis_has_communication(const struct np_rank *rank)
{
	return rank->ops.count > 0 && rank->sizes_known;
}

int np_analysis_db_write(const struct np_rank *rank, const struct np_strtab *strings,
			 const char *path, struct np_err *err)
{
	static const struct np_relation *const all[] = { &step_table, &time_table, &band_table,
							 &link_table };
	NP_CLEANUP(np_db_writer_abortp) struct np_db_writer *writer = NULL;
	/* Level 0 knows nothing of communication but when it was. */
	size_t count = np_analysis_has_communication(rank) ? NP_COUNT(all) : 1;
	const struct derived_rank derived = { rank, strings };
	int rc = np_db_writer_open(path, &writer, err);

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = np_relation_write(all[i], &derived, np_db_writer_sink(writer), err);
	return rc == NP_OK ? np_db_writer_commit(NP_STEAL(writer), err) : rc;
}
