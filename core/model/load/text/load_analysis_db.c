/* SPDX-License-Identifier: Apache-2.0 */
/* Step times, operators and links that the vendor derived, from analysis.db. */
#include "derived.h"
#include "text_files.h"

#include "npuprof/arena.h"
#include "npuprof/comm_tasks.h"
#include "npuprof/db.h"
#include "npuprof/json.h"
#include "npuprof/notes.h"
#include "npuprof/scan.h"
#include "npuprof/text.h"

#include <math.h>

/*
 * analysis.db of torch_npu, communication_analyzer.db of MindSpore and msprof.
 * The latter two know no steps, and list links by operator instead of by class.
 * cluster_analysis.db has the same rows of all ranks under other names of tables;
 * the ends of its links are ranks of the job.
 */
struct analysis {
	struct derived derived;
	struct np_db *db;
	const struct np_scan *scan; /* of the table that is read */
	bool cluster;               /* only the rows of derived.rank count */
};

/* Walk over a table that may be missing, batch by batch. */
typedef int take_row(struct analysis *load, const struct np_batch *batch, size_t row);

/* `whose` is the column of a merged table that says of which rank a row is. */
static int each_row(struct analysis *load, const char *table, const char *whose,
		    const struct np_scan_column *columns, size_t count, take_row *take)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_scan_column all[NP_SCAN_COLUMNS];
	struct np_batch batch;
	int rc;

	memcpy(all, columns, count * sizeof(*columns));
	all[count] = (struct np_scan_column){ load->cluster ? whose : "", NP_SCAN_INTEGER,
					      load->cluster ? NP_REQUIRED : NP_OPTIONAL };
	rc = np_scan_open(load->db, table, all, count + load->cluster, &scan, load->derived.err);

	if (rc == NP_E_NOTFOUND)
		return NP_OK;
	load->scan = scan;
	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, load->derived.err);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < batch.rows && rc == NP_OK; i++) {
			if (!load->cluster ||
			    batch.column[count].integer[i] == load->derived.rank->id)
				rc = take(load, &batch, i);
		}
	}
	return rc;
}

static int intern(struct analysis *load, struct np_scan_text text, np_str *ret)
{
	*ret = NP_STR_NONE;
	if (!text.bytes)
		return NP_OK;
	return np_strtab_add(load->derived.strings, text.bytes, text.length, ret,
			     load->derived.err);
}

static int step_of(struct analysis *load, struct np_scan_text label, uint32_t *ret)
{
	return derived_step(&load->derived, label.bytes, label.length, ret);
}

static int group_of(struct analysis *load, struct np_scan_text text, uint32_t *ret)
{
	return derived_group(&load->derived, text.bytes, text.length, ret);
}

enum {
	STEP_ID,
	STEP_DEVICE,
	STEP_COMPUTING,
	STEP_NOT_OVERLAPPED,
	STEP_OVERLAPPED,
	STEP_COMMUNICATION,
	STEP_FREE,
	STEP_STAGE,
	STEP_BUBBLE,
	STEP_PREPARING,
	STEP_COLUMNS,
};

static const struct np_scan_column step_columns[STEP_COLUMNS] = {
	[STEP_ID] = { "step", NP_SCAN_TEXT, NP_OPTIONAL },
	[STEP_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[STEP_COMPUTING] = { "computing", NP_SCAN_REAL, NP_REQUIRED },
	[STEP_NOT_OVERLAPPED] = { "communication_not_overlapped", NP_SCAN_REAL, NP_REQUIRED },
	[STEP_OVERLAPPED] = { "overlapped", NP_SCAN_REAL, NP_REQUIRED },
	[STEP_COMMUNICATION] = { "communication", NP_SCAN_REAL, NP_REQUIRED },
	[STEP_FREE] = { "free", NP_SCAN_REAL, NP_REQUIRED },
	[STEP_STAGE] = { "stage", NP_SCAN_REAL, NP_OPTIONAL },
	[STEP_BUBBLE] = { "bubble", NP_SCAN_REAL, NP_OPTIONAL },
	[STEP_PREPARING] = { "preparing", NP_SCAN_REAL, NP_OPTIONAL },
};

static bool has_value(const struct analysis *load, const struct np_batch *batch, size_t row,
		      size_t column)
{
	return np_scan_has(load->scan, column) && !isnan(batch->column[column].real[row]);
}

static np_ns length_of(const struct np_batch *batch, size_t row, size_t column)
{
	return derived_length(batch->column[column].real[row], US_TO_NS);
}

static int take_step(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_rank *rank = load->derived.rank;
	struct np_step_time *time;
	int64_t device = batch->column[STEP_DEVICE].integer[row];
	uint32_t step = 0;
	int rc = step_of(load, batch->column[STEP_ID].text[row], &step);

	if (rc < 0)
		return rc;
	time = np_vec_add(&rank->times, load->derived.err);
	if (!time)
		return NP_E_NOMEM;
	load->derived.rows++;
	time->step = step;
	time->device = np_device_of(device);
	if (rank->device < 0)
		rank->device = time->device;
	time->computing = derived_known_length(&load->derived,
					       batch->column[STEP_COMPUTING].real[row], US_TO_NS);
	time->communication_not_overlapped = derived_known_length(
		&load->derived, batch->column[STEP_NOT_OVERLAPPED].real[row], US_TO_NS);
	time->overlapped = derived_known_length(&load->derived,
						batch->column[STEP_OVERLAPPED].real[row], US_TO_NS);
	time->communication = derived_known_length(
		&load->derived, batch->column[STEP_COMMUNICATION].real[row], US_TO_NS);
	time->free =
		derived_known_length(&load->derived, batch->column[STEP_FREE].real[row], US_TO_NS);
	time->stage = NP_UNKNOWN;
	time->bubble = NP_UNKNOWN;
	time->preparing = NP_UNKNOWN;
	if (has_value(load, batch, row, STEP_BUBBLE))
		time->bubble = derived_possible(&load->derived, length_of(batch, row, STEP_BUBBLE));
	if (has_value(load, batch, row, STEP_STAGE))
		time->stage = derived_stage(&load->derived, length_of(batch, row, STEP_STAGE),
					    time->bubble);
	if (has_value(load, batch, row, STEP_PREPARING))
		time->preparing =
			derived_preparing(&load->derived, length_of(batch, row, STEP_PREPARING));
	time->span = derived_span(time);
	derived_without_intervals(time);
	rank->step_source = NP_FROM_ANALYSIS_DB;
	return NP_OK;
}

enum {
	TIME_NAME,
	TIME_GROUP,
	TIME_START,
	TIME_ELAPSED,
	TIME_TRANSIT,
	TIME_WAIT,
	TIME_SYNC,
	TIME_STEP,
	TIME_COLUMNS,
};

static const struct np_scan_column time_columns[TIME_COLUMNS] = {
	[TIME_NAME] = { "hccl_op_name", NP_SCAN_TEXT, NP_REQUIRED },
	[TIME_GROUP] = { "group_name", NP_SCAN_TEXT, NP_REQUIRED },
	[TIME_START] = { "start_timestamp", NP_SCAN_REAL, NP_REQUIRED },
	[TIME_ELAPSED] = { "elapse_time|elapsed_time", NP_SCAN_REAL, NP_REQUIRED },
	[TIME_TRANSIT] = { "transit_time", NP_SCAN_REAL, NP_REQUIRED },
	[TIME_WAIT] = { "wait_time", NP_SCAN_REAL, NP_REQUIRED },
	[TIME_SYNC] = { "synchronization_time", NP_SCAN_REAL, NP_OPTIONAL },
	[TIME_STEP] = { "step", NP_SCAN_TEXT, NP_OPTIONAL },
};

static int take_time(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[TIME_NAME].text[row];
	struct np_comm_op *op;
	int rc;

	if (!name.bytes || derived_is_total(name.bytes))
		return NP_OK;
	rc = derived_add_op(&load->derived, name.bytes, name.length,
			    derived_time(batch->column[TIME_START].real[row]),
			    derived_length(batch->column[TIME_ELAPSED].real[row], MS_TO_NS), &op);
	if (rc < 0 || !op)
		return rc;
	rc = derived_set_vendor_times(
		&load->derived, derived_length(batch->column[TIME_TRANSIT].real[row], MS_TO_NS),
		derived_length(batch->column[TIME_WAIT].real[row], MS_TO_NS),
		derived_length(batch->column[TIME_SYNC].real[row], MS_TO_NS));
	if (rc == NP_OK)
		rc = group_of(load, batch->column[TIME_GROUP].text[row], &op->group);
	if (rc == NP_OK)
		rc = step_of(load, batch->column[TIME_STEP].text[row], &op->step);
	load->derived.rank->comm_source = NP_FROM_ANALYSIS_DB;
	return rc;
}

enum {
	BAND_NAME,
	BAND_GROUP,
	BAND_TYPE,
	BAND_SIZE,
	BAND_TIME,
	BAND_LARGE,
	BAND_PACKAGE,
	BAND_COUNT,
	BAND_DURATION,
	BAND_STEP,
	BAND_COLUMNS,
};

static const struct np_scan_column band_columns[BAND_COLUMNS] = {
	[BAND_NAME] = { "hccl_op_name", NP_SCAN_TEXT, NP_REQUIRED },
	[BAND_GROUP] = { "group_name", NP_SCAN_TEXT, NP_REQUIRED },
	[BAND_TYPE] = { "transport_type|band_type", NP_SCAN_TEXT, NP_REQUIRED },
	[BAND_SIZE] = { "transit_size", NP_SCAN_REAL, NP_REQUIRED },
	[BAND_TIME] = { "transit_time", NP_SCAN_REAL, NP_REQUIRED },
	[BAND_LARGE] = { "large_packet_ratio", NP_SCAN_REAL, NP_OPTIONAL },
	[BAND_PACKAGE] = { "package_size", NP_SCAN_REAL, NP_OPTIONAL },
	[BAND_COUNT] = { "count", NP_SCAN_INTEGER, NP_OPTIONAL },
	[BAND_DURATION] = { "total_duration", NP_SCAN_REAL, NP_OPTIONAL },
	[BAND_STEP] = { "step", NP_SCAN_TEXT, NP_OPTIONAL },
};

static void fill_band(struct analysis *load, struct np_band *band, const struct np_batch *batch,
		      size_t row)
{
	double large = batch->column[BAND_LARGE].real[row];

	derived_moved(&load->derived, batch->column[BAND_SIZE].real[row],
		      batch->column[BAND_TIME].real[row], &band->bytes, &band->time);
	band->large_packet_ratio = large >= 0 ? large : 0;
	band->package_bytes = derived_or_zero(derived_bytes(batch->column[BAND_PACKAGE].real[row]));
	band->package_count = derived_count(batch->column[BAND_COUNT].integer[row]);
	band->package_time =
		derived_or_zero(derived_length(batch->column[BAND_DURATION].real[row], MS_TO_NS));
}

static int take_band(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[BAND_NAME].text[row];
	enum np_band_type type = NP_BAND_SDMA;
	struct np_band *band;
	np_str name_id;
	uint32_t group = 0;
	uint32_t step = 0;
	uint32_t hint;
	uint32_t op;
	int rc;

	if (!name.bytes || derived_is_total(name.bytes) ||
	    !derived_band_type(batch->column[BAND_TYPE].text[row].bytes, &type))
		return NP_OK;
	rc = intern(load, name, &name_id);
	if (rc == NP_OK)
		rc = group_of(load, batch->column[BAND_GROUP].text[row], &group);
	if (rc == NP_OK)
		rc = step_of(load, batch->column[BAND_STEP].text[row], &step);
	if (rc < 0)
		return rc;
	/* Rows of one operator follow each other in the file. */
	hint = load->derived.rank->bands.count
		       ? load->derived.rank->bands.item[load->derived.rank->bands.count - 1].op
		       : 0;
	if (!derived_find_op(load->derived.rank, name_id, group, step, hint, &op))
		return NP_OK;
	band = np_vec_add(&load->derived.rank->bands, load->derived.err);
	if (!band)
		return NP_E_NOMEM;
	band->op = op;
	band->type = type;
	fill_band(load, band, batch, row);
	load->derived.rank->sizes_known = true;
	return NP_OK;
}

enum {
	LINK_NAME,
	LINK_GROUP,
	LINK_SRC,
	LINK_DST,
	LINK_TRANSPORT,
	LINK_SIZE,
	LINK_TIME,
	LINK_STEP,
	LINK_TYPE,
	LINK_OP,
	LINK_COLUMNS,
};

static const struct np_scan_column link_columns[LINK_COLUMNS] = {
	[LINK_NAME] = { "hccl_op_name", NP_SCAN_TEXT, NP_REQUIRED },
	[LINK_GROUP] = { "group_name", NP_SCAN_TEXT, NP_REQUIRED },
	[LINK_SRC] = { "src_rank", NP_SCAN_INTEGER, NP_REQUIRED },
	[LINK_DST] = { "dst_rank", NP_SCAN_INTEGER, NP_REQUIRED },
	[LINK_TRANSPORT] = { "transport_type", NP_SCAN_TEXT, NP_REQUIRED },
	[LINK_SIZE] = { "transit_size", NP_SCAN_REAL, NP_REQUIRED },
	[LINK_TIME] = { "transit_time", NP_SCAN_REAL, NP_REQUIRED },
	[LINK_STEP] = { "step", NP_SCAN_TEXT, NP_OPTIONAL },
	[LINK_TYPE] = { "type", NP_SCAN_TEXT, NP_OPTIONAL },
	[LINK_OP] = { "op_name", NP_SCAN_TEXT, NP_OPTIONAL },
};

/* A row of one operator: its links are summed by class when all are known. */
static int take_op_link(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[LINK_NAME].text[row];
	struct np_scan_text transport = batch->column[LINK_TRANSPORT].text[row];
	uint32_t group = 0;
	uint32_t step = 0;
	np_str transport_id;
	np_str name_id;
	uint32_t op;
	int rc = intern(load, name, &name_id);

	if (rc == NP_OK)
		rc = intern(load, transport, &transport_id);
	if (rc == NP_OK)
		rc = group_of(load, batch->column[LINK_GROUP].text[row], &group);
	if (rc == NP_OK)
		rc = step_of(load, batch->column[LINK_STEP].text[row], &step);
	if (rc < 0 || derived_is_total(name.bytes) ||
	    !derived_find_op(load->derived.rank, name_id, group, step, 0, &op))
		return rc;
	if (!load->derived.op_links)
		load->derived.op_links = np_op_links_new();
	if (!load->derived.op_links)
		return np_fail_nomem(load->derived.err, "links");
	return np_op_links_add(
		load->derived.op_links, op, np_peer_of(batch->column[LINK_SRC].integer[row]),
		np_peer_of(batch->column[LINK_DST].integer[row]),
		np_strtab_text(load->derived.strings, transport_id),
		derived_bytes(batch->column[LINK_SIZE].real[row]),
		derived_or_zero(derived_length(batch->column[LINK_TIME].real[row], MS_TO_NS)),
		load->derived.err);
}

static int take_link(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[LINK_NAME].text[row];
	struct np_scan_text type = batch->column[LINK_TYPE].text[row];
	enum np_link_pick pick = NP_LINK_TOTAL;
	struct np_link *link;
	size_t class_length = 0;
	int rc;

	if (!name.bytes)
		return NP_OK;
	if (!derived_split_pick(name.bytes, name.length, &pick, &class_length))
		return take_op_link(load, batch, row);
	link = np_vec_add(&load->derived.rank->links, load->derived.err);
	if (!link)
		return NP_E_NOMEM;
	link->pick = pick;
	derived_moved(&load->derived, batch->column[LINK_SIZE].real[row],
		      batch->column[LINK_TIME].real[row], &link->bytes, &link->time);
	link->p2p = type.bytes && strcmp(type.bytes, "p2p") == 0;
	rc = np_strtab_add(load->derived.strings, name.bytes, class_length, &link->op_class,
			   load->derived.err);
	if (rc == NP_OK)
		rc = intern(load, batch->column[LINK_TRANSPORT].text[row], &link->transport);
	if (rc == NP_OK && batch->column[LINK_OP].text[row].length > 0)
		rc = intern(load, batch->column[LINK_OP].text[row], &link->op_name);
	if (rc == NP_OK)
		rc = group_of(load, batch->column[LINK_GROUP].text[row], &link->group);
	if (rc == NP_OK) {
		link->src = derived_end(&load->derived, link->group,
					batch->column[LINK_SRC].integer[row]);
		link->dst = derived_end(&load->derived, link->group,
					batch->column[LINK_DST].integer[row]);
		rc = step_of(load, batch->column[LINK_STEP].text[row], &link->step);
	}
	return rc;
}

/* --- what only a merged database has --------------------------------------------------------- */

enum {
	MAPPING_RANKS,
	MAPPING_GROUP,
	MAPPING_NAME,
	MAPPING_PG_NAME,
	MAPPING_COLUMNS,
};

static const struct np_scan_column mapping_columns[MAPPING_COLUMNS] = {
	[MAPPING_RANKS] = { "rank_set", NP_SCAN_TEXT, NP_REQUIRED },
	[MAPPING_GROUP] = { "group_name", NP_SCAN_TEXT, NP_REQUIRED },
	[MAPPING_NAME] = { "group_id", NP_SCAN_TEXT, NP_OPTIONAL },
	[MAPPING_PG_NAME] = { "pg_name", NP_SCAN_TEXT, NP_OPTIONAL },
};

/* A communicator of the job, if this rank is in it. */
static int take_mapping(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_rank *rank = load->derived.rank;
	struct np_scan_text set = batch->column[MAPPING_RANKS].text[row];
	size_t room = set.length / 2 + 1;
	uint32_t index = 0;
	int32_t *ranks;
	size_t count;
	int rc;

	if (!set.bytes || !batch->column[MAPPING_GROUP].text[row].bytes)
		return NP_OK;
	ranks = np_arena_array(rank->arena, room, sizeof(*ranks));
	if (!ranks)
		return np_fail_nomem(load->derived.err, "members of a communicator");
	count = derived_read_set(set.bytes, ranks, room);
	if (!derived_is_member(rank->id, ranks, count))
		return NP_OK;
	rc = group_of(load, batch->column[MAPPING_GROUP].text[row], &index);
	if (rc < 0)
		return rc;
	rank->groups.item[index].members = ranks;
	rank->groups.item[index].member_count = count;
	if (batch->column[MAPPING_NAME].text[row].length > 0)
		rc = intern(load, batch->column[MAPPING_NAME].text[row],
			    &rank->groups.item[index].name);
	if (rc == NP_OK && batch->column[MAPPING_PG_NAME].text[row].length > 0)
		rc = intern(load, batch->column[MAPPING_PG_NAME].text[row],
			    &rank->groups.item[index].pg_name);
	return rc;
}

static const struct np_scan_column device_columns[] = {
	{ "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "hostUid", NP_SCAN_TEXT, NP_OPTIONAL },
};

static int take_device(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_rank *rank = load->derived.rank;

	rank->device = np_device_of(batch->column[0].integer[row]);
	return batch->column[1].text[row].length > 0
		       ? intern(load, batch->column[1].text[row], &rank->host_uid)
		       : NP_OK;
}

static const struct np_scan_column base_columns[] = {
	{ "key", NP_SCAN_TEXT, NP_REQUIRED },
	{ "value", NP_SCAN_TEXT, NP_REQUIRED },
};

/* distributed_args: the sizes of the job. */
static int take_base(struct analysis *load, const struct np_batch *batch, size_t row)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_scan_text key = batch->column[0].text[row];
	struct np_scan_text value = batch->column[1].text[row];

	if (!key.bytes || strcmp(key.bytes, "distributed_args") != 0 || !value.bytes ||
	    np_json_parse(value.bytes, value.length, key.bytes, &doc, NULL) < 0)
		return NP_OK;
	return np_load_metadata_value(load->derived.rank, key.bytes, doc, load->derived.strings,
				      load->derived.err);
}

static int read_mappings(struct analysis *load)
{
	int rc = each_row(load, "RankDeviceMap", "rankId", device_columns, NP_COUNT(device_columns),
			  take_device);

	/* These are of the job. */
	load->cluster = false;
	if (rc == NP_OK)
		rc = each_row(load, "ClusterBaseInfo", "", base_columns, NP_COUNT(base_columns),
			      take_base);
	if (rc == NP_OK)
		rc = each_row(load, "CommunicationGroupMapping", "", mapping_columns,
			      MAPPING_COLUMNS, take_mapping);
	load->cluster = true;
	return rc;
}

static const struct merged_tables {
	const char *steps;
	const char *times;
	const char *bands;
	const char *links;
} of_rank = { "StepTraceTime", "CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix" },
  of_cluster = { "ClusterStepTraceTime", "ClusterCommunicationTime",
		 "ClusterCommunicationBandwidth", "ClusterCommunicationMatrix" };

static int read_tables(struct analysis *load, const struct merged_tables *tables)
{
	int rc = each_row(load, tables->steps, "index", step_columns, STEP_COLUMNS, take_step);

	if (rc == NP_OK)
		rc = each_row(load, tables->times, "rank_id", time_columns, TIME_COLUMNS,
			      take_time);
	if (rc == NP_OK)
		rc = each_row(load, tables->bands, "rank_id", band_columns, BAND_COLUMNS,
			      take_band);
	if (rc == NP_OK)
		rc = each_row(load, tables->links, "src_rank", link_columns, LINK_COLUMNS,
			      take_link);
	return rc == NP_OK ? derived_finish_links(&load->derived) : rc;
}

static int load_db(struct np_rank *rank, const char *path, bool cluster, struct np_strtab *strings,
		   struct np_err *err)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct analysis load = {
		.derived = { .rank = rank, .strings = strings, .err = err, .merged = cluster },
		.cluster = cluster
	};
	int rc = np_db_open(path, &db, err);

	if (rc < 0)
		return rc;
	load.db = db;
	if (cluster)
		rc = read_mappings(&load);
	if (rc == NP_OK)
		rc = read_tables(&load, cluster ? &of_cluster : &of_rank);
	np_op_links_free(load.derived.op_links);
	derived_note_oddities(&load.derived, path, cluster ? "cluster_analysis.db" : "analysis.db");
	return rc;
}

int np_load_analysis_db(struct np_rank *rank, const char *path, struct np_strtab *strings,
			struct np_err *err)
{
	return load_db(rank, path, false, strings, err);
}

int np_load_cluster_db(struct np_rank *rank, const char *path, struct np_strtab *strings,
		       struct np_err *err)
{
	return load_db(rank, path, true, strings, err);
}
