/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterCommunicationBandwidth: what operators moved, by transport and size of packets. */
#include "tables.h"

#include "npuprof/align.h"
#include "npuprof/op_times.h"

enum {
	STEP,
	RANK,
	OP_NAME,
	GROUP,
	BAND_TYPE,
	SIZE,
	TIME,
	BANDWIDTH,
	LARGE_RATIO,
	PACKAGE_SIZE,
	PACKAGE_COUNT,
	PACKAGE_TIME,
	COLUMNS,
};

static const struct np_column columns[COLUMNS] = {
	[STEP] = { "step", NP_TEXT },
	[RANK] = { "rank_id", NP_INTEGER },
	[OP_NAME] = { "hccl_op_name", NP_TEXT },
	[GROUP] = { "group_name", NP_TEXT },
	[BAND_TYPE] = { "band_type", NP_TEXT },
	[SIZE] = { "transit_size", NP_REAL },
	[TIME] = { "transit_time", NP_REAL },
	[BANDWIDTH] = { "bandwidth", NP_REAL },
	[LARGE_RATIO] = { "large_packet_ratio", NP_REAL },
	[PACKAGE_SIZE] = { "package_size", NP_REAL },
	[PACKAGE_COUNT] = { "count", NP_INTEGER },
	[PACKAGE_TIME] = { "total_duration", NP_REAL },
};

static int produce_row(const struct np_run *run, const struct np_rank *rank, uint32_t step,
		       uint32_t group, const char *op_name, const struct np_band *band,
		       struct np_sink *sink, struct np_err *err)
{
	struct np_cell cells[COLUMNS];
	char step_label[64];
	char group_label[24];

	np_step_label(run, np_vendor_step_id(rank, step), step_label, sizeof(step_label));
	np_group_label(rank->groups.item[group].hash, group_label, sizeof(group_label));
	cells[STEP] = np_cell_text(step_label);
	cells[RANK] = np_cell_integer(rank->id);
	cells[OP_NAME] = np_cell_text(op_name);
	cells[GROUP] = np_cell_text(group_label);
	cells[BAND_TYPE] = np_cell_text(np_band_name(band->type));
	cells[SIZE] = np_cell_scaled(band->bytes, B_PER_MB);
	cells[TIME] = np_cell_scaled(band->time, NS_PER_MS);
	cells[BANDWIDTH] = np_cell_real(np_band_gb_per_s(band->bytes, band->time));
	cells[LARGE_RATIO] = np_cell_real(band->large_packet_ratio);
	cells[PACKAGE_SIZE] = np_cell_scaled(band->package_bytes, B_PER_MB);
	cells[PACKAGE_COUNT] = np_cell_integer(band->package_count);
	cells[PACKAGE_TIME] = np_cell_scaled(band->package_time, NS_PER_MS);
	return np_sink_row(sink, cells, err);
}

static int produce_ops(const struct np_run *run, const struct np_rank *rank,
		       const struct np_rank_bands *bands, struct np_sink *sink, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < bands->count && rc == NP_OK; i++) {
		const struct np_band *band = &bands->item[i];
		const struct np_comm_op *op = &rank->ops.item[band->op];

		if (np_vendor_step(rank, op->step) != NP_NO_STEP)
			rc = produce_row(run, rank, op->step, op->group, np_run_text(run, op->name),
					 band, sink, err);
	}
	return rc;
}

/* A band with its place among the totals. Rows of one operator repeat its sums: one counts. */
struct band_part {
	uint32_t step;
	uint32_t group;
	struct np_band band;
};

static int by_transport(const struct band_part *a, const struct band_part *b)
{
	int order = np_order(a->step, b->step);

	if (!order)
		order = np_order(a->group, b->group);
	return order ? order : np_order(a->band.type, b->band.type);
}

static int by_transport_and_package(const void *left, const void *right)
{
	const struct band_part *a = left;
	const struct band_part *b = right;
	int order = by_transport(a, b);

	return order ? order : np_order(a->band.package_bytes, b->band.package_bytes);
}

static struct band_part *collect_parts(const struct np_rank *rank,
				       const struct np_rank_bands *bands, size_t *ret_count)
{
	struct band_part *parts = malloc((bands->count + 1) * sizeof(*parts));
	size_t count = 0;

	for (size_t i = 0; parts && i < bands->count; i++) {
		const struct np_band *band = &bands->item[i];
		const struct np_comm_op *op = &rank->ops.item[band->op];
		bool repeats = i > 0 && band[-1].op == band->op && band[-1].type == band->type;
		struct band_part *part = &parts[count];

		if (np_vendor_step(rank, op->step) == NP_NO_STEP)
			continue;
		*part = (struct band_part){ .step = np_vendor_step(rank, op->step),
					    .group = op->group,
					    .band = *band };
		if (repeats) {
			part->band.bytes = 0;
			part->band.time = 0;
		}
		count++;
	}
	*ret_count = count;
	return parts;
}

/* Totals of one transport of a communicator in a step: one row for each packet size. */
static int produce_transport(const struct np_run *run, const struct np_rank *rank,
			     const struct band_part *parts, size_t count, struct np_sink *sink,
			     struct np_err *err)
{
	struct np_band total = { .type = parts->band.type };
	int rc = NP_OK;

	for (size_t i = 0; i < count; i++) {
		total.bytes += parts[i].band.bytes;
		total.time += parts[i].band.time;
	}
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		total.package_bytes = parts[from].band.package_bytes;
		total.package_count = 0;
		total.package_time = 0;
		for (; to < count && parts[to].band.package_bytes == total.package_bytes; to++) {
			total.package_count += parts[to].band.package_count;
			total.package_time += parts[to].band.package_time;
		}
		rc = produce_row(run, rank, parts->step, parts->group, "Total Op Info", &total,
				 sink, err);
	}
	return rc;
}

static int produce_totals(const struct np_run *run, const struct np_rank *rank,
			  const struct np_rank_bands *bands, struct np_sink *sink,
			  struct np_err *err)
{
	size_t count = 0;
	struct band_part *parts = collect_parts(rank, bands, &count);
	int rc = NP_OK;

	if (!parts)
		return np_fail_nomem(err, "totals of bandwidth");
	qsort(parts, count, sizeof(parts[0]), by_transport_and_package);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		while (to < count && by_transport(&parts[from], &parts[to]) == 0)
			to++;
		rc = produce_transport(run, rank, &parts[from], to - from, sink, err);
	}
	free(parts);
	return rc;
}

static int produce_rank(const struct np_run *run, const struct np_rank *rank, bool totals,
			struct np_sink *sink, struct np_err *err)
{
	struct np_rank_bands bands;
	int rc = np_rank_bands(rank, &bands, err);

	if (rc == NP_OK)
		rc = totals ? produce_totals(run, rank, &bands, sink, err)
			    : produce_ops(run, rank, &bands, sink, err);
	np_rank_bands_release(&bands);
	return rc;
}

static int produce(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_run *run = ((const struct np_analysis *)model)->run;
	int rc = NP_OK;

	for (size_t i = 0; i < 2 * run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i % run->sources.count];

		if (rank)
			rc = produce_rank(run, rank, i >= run->sources.count, sink, err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_communication_bandwidth, "ClusterCommunicationBandwidth",
		"bandwidth of each operator by transport and packet size, in MB, ms and GB/s",
		columns, produce);
