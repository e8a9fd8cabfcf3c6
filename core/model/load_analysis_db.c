/* SPDX-License-Identifier: Apache-2.0 */
#include "load_private.h"

#include "npuprof/comm_tasks.h"
#include "npuprof/text.h"

/* Units of the tables: µs for steps and starts, ms for operators, MB for sizes. */
#define US_TO_NS 1e3
#define MS_TO_NS 1e6
#define MB_TO_B  1e6

/*
 * Both kinds of database name an operator with its communicator's hash in
 * decimal; older and newer tables lack the columns marked optional.
 */
struct analysis {
	struct np_rank *rank;
	struct np_strtab *strings;
	struct np_db *db;
	struct np_err *err;
};

/* Walk over a table that may be missing, batch by batch. */
typedef int take_row(struct analysis *load, const struct np_batch *batch, size_t row);

static int each_row(struct analysis *load, const char *table,
		    const struct np_scan_column *columns, size_t count, take_row *take)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	int rc = np_scan_open(load->db, table, columns, count, &scan, load->err);

	if (rc == NP_E_NOTFOUND)
		return NP_OK;
	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, load->err);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < batch.rows && rc == NP_OK; i++)
			rc = take(load, &batch, i);
	}
	return rc;
}

static int intern(struct analysis *load, struct np_scan_text text, np_str *ret)
{
	*ret = NP_STR_NONE;
	if (!text.bytes)
		return NP_OK;
	return np_strtab_add(load->strings, text.bytes, text.length, ret, load->err);
}

/*
 * The step with this label, added if it is new. Step tables say "50",
 * communication tables "step50"; no step is NULL, "" or "step".
 */
static int step_of(struct analysis *load, struct np_scan_text label, uint32_t *ret)
{
	struct np_rank *rank = load->rank;
	struct np_step *step;
	np_str id = NP_STR_NONE;
	int rc = NP_OK;

	if (label.length >= 4 && strncmp(label.bytes, "step", 4) == 0) {
		label.bytes += 4;
		label.length -= 4;
	}
	if (label.length > 0)
		rc = np_strtab_add(load->strings, label.bytes, label.length, &id, load->err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < rank->steps.count; i++) {
		if (rank->steps.item[i].id == id) {
			*ret = (uint32_t)i;
			return NP_OK;
		}
	}
	step = np_vec_add(&rank->steps, load->err);
	if (!step)
		return NP_E_NOMEM;
	*step = (struct np_step){ .id = id,
				  .host_begin = NP_UNKNOWN,
				  .host_end = NP_UNKNOWN,
				  .begin = NP_UNKNOWN,
				  .end = NP_UNKNOWN };
	*ret = (uint32_t)(rank->steps.count - 1);
	return NP_OK;
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

/* computing + not overlapped + free, as far as they are known. */
static np_ns span_of(const struct np_step_time *time)
{
	if (time->computing == NP_UNKNOWN || time->communication_not_overlapped == NP_UNKNOWN ||
	    time->free == NP_UNKNOWN)
		return NP_UNKNOWN;
	return time->computing + time->communication_not_overlapped + time->free;
}

static int take_step(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_rank *rank = load->rank;
	struct np_step_time *time;
	int64_t device = batch->column[STEP_DEVICE].integer[row];
	uint32_t step = 0;
	int rc = step_of(load, batch->column[STEP_ID].text[row], &step);

	if (rc < 0)
		return rc;
	time = np_vec_add(&rank->times, load->err);
	if (!time)
		return NP_E_NOMEM;
	time->step = step;
	time->device = device == NP_UNKNOWN ? -1 : (int32_t)device;
	if (rank->device < 0)
		rank->device = time->device;
	time->computing =
		np_double_to_scaled(batch->column[STEP_COMPUTING].real[row], US_TO_NS);
	time->communication_not_overlapped =
		np_double_to_scaled(batch->column[STEP_NOT_OVERLAPPED].real[row], US_TO_NS);
	time->overlapped =
		np_double_to_scaled(batch->column[STEP_OVERLAPPED].real[row], US_TO_NS);
	time->communication =
		np_double_to_scaled(batch->column[STEP_COMMUNICATION].real[row], US_TO_NS);
	time->free = np_double_to_scaled(batch->column[STEP_FREE].real[row], US_TO_NS);
	time->stage = np_double_to_scaled(batch->column[STEP_STAGE].real[row], US_TO_NS);
	time->bubble = np_double_to_scaled(batch->column[STEP_BUBBLE].real[row], US_TO_NS);
	time->preparing =
		np_double_to_scaled(batch->column[STEP_PREPARING].real[row], US_TO_NS);
	time->span = span_of(time);
	time->e2e = NP_UNKNOWN;
	rank->step_source = NP_FROM_ANALYSIS_DB;
	return NP_OK;
}

/* The communicator named by its hash in decimal. */
static int group_of(struct analysis *load, struct np_scan_text text, uint32_t *ret)
{
	uint64_t hash;
	char *end;

	if (!text.bytes || text.length == 0)
		return np_rank_group(load->rank, 0, ret, load->err);
	hash = strtoull(text.bytes, &end, 10);
	/* Some exporters write the communicator's string itself. */
	if (*end != '\0')
		hash = np_group_hash(text.bytes, text.length);
	return np_rank_group(load->rank, hash, ret, load->err);
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

/* Totals are sums of ours; a table may hold the vendor's beside the operators. */
static bool is_total(struct np_scan_text name)
{
	return !name.bytes || strncasecmp(name.bytes, "total", 5) == 0;
}

static int op_type(struct analysis *load, struct np_scan_text name, np_str *ret)
{
	const char *end = strstr(name.bytes, "__");

	return np_strtab_add(load->strings, name.bytes,
			     end ? (size_t)(end + 1 - name.bytes) : name.length, ret, load->err);
}

static int take_time(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[TIME_NAME].text[row];
	np_ns elapsed = np_double_to_scaled(batch->column[TIME_ELAPSED].real[row], MS_TO_NS);
	struct np_comm_op *op;
	int rc;

	if (is_total(name))
		return NP_OK;
	op = np_vec_add(&load->rank->ops, load->err);
	if (!op)
		return NP_E_NOMEM;
	op->start = np_double_to_scaled(batch->column[TIME_START].real[row], US_TO_NS);
	op->end = op->start == NP_UNKNOWN || elapsed == NP_UNKNOWN ? op->start
								     : op->start + elapsed;
	op->transit = np_double_to_scaled(batch->column[TIME_TRANSIT].real[row], MS_TO_NS);
	op->wait = np_double_to_scaled(batch->column[TIME_WAIT].real[row], MS_TO_NS);
	op->sync = np_double_to_scaled(batch->column[TIME_SYNC].real[row], MS_TO_NS);
	op->transfer = NP_UNKNOWN;
	op->bytes = NP_UNKNOWN;
	op->device = load->rank->device;
	op->p2p = np_op_is_p2p(name.bytes);
	rc = intern(load, name, &op->name);
	if (rc == NP_OK)
		rc = op_type(load, name, &op->type);
	if (rc == NP_OK)
		rc = group_of(load, batch->column[TIME_GROUP].text[row], &op->group);
	if (rc == NP_OK)
		rc = step_of(load, batch->column[TIME_STEP].text[row], &op->step);
	load->rank->comm_source = NP_FROM_ANALYSIS_DB;
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

/* The operator of this name, communicator and step. Rows of one follow each other in the file. */
static bool find_op(const struct np_rank *rank, np_str name, uint32_t group, uint32_t step,
		    uint32_t *ret)
{
	size_t count = rank->ops.count;
	size_t begin = rank->bands.count ? rank->bands.item[rank->bands.count - 1].op : 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = (begin + i) % count;
		const struct np_comm_op *op = &rank->ops.item[at];

		if (op->name == name && op->group == group && op->step == step) {
			*ret = (uint32_t)at;
			return true;
		}
	}
	return false;
}

static bool band_type(struct np_scan_text text, enum np_band_type *ret)
{
	for (int type = 0; text.bytes && type < NP_BAND_COUNT; type++) {
		if (strcasecmp(text.bytes, np_band_name((enum np_band_type)type)) == 0) {
			*ret = (enum np_band_type)type;
			return true;
		}
	}
	return false;
}

static int64_t known_or_zero(int64_t value)
{
	return value == NP_UNKNOWN ? 0 : value;
}

static void fill_band(struct np_band *band, const struct np_batch *batch, size_t row)
{
	double large = batch->column[BAND_LARGE].real[row];

	band->bytes =
		known_or_zero(np_double_to_scaled(batch->column[BAND_SIZE].real[row], MB_TO_B));
	band->time =
		known_or_zero(np_double_to_scaled(batch->column[BAND_TIME].real[row], MS_TO_NS));
	band->large_packet_ratio = large >= 0 ? large : 0;
	band->package_bytes =
		known_or_zero(np_double_to_scaled(batch->column[BAND_PACKAGE].real[row], MB_TO_B));
	band->package_count = known_or_zero(batch->column[BAND_COUNT].integer[row]);
	band->package_time = known_or_zero(
		np_double_to_scaled(batch->column[BAND_DURATION].real[row], MS_TO_NS));
}

static int take_band(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[BAND_NAME].text[row];
	enum np_band_type type = NP_BAND_SDMA;
	struct np_band *band;
	np_str name_id;
	uint32_t group = 0;
	uint32_t step = 0;
	uint32_t op;
	int rc;

	if (is_total(name) || !band_type(batch->column[BAND_TYPE].text[row], &type))
		return NP_OK;
	rc = intern(load, name, &name_id);
	if (rc == NP_OK)
		rc = group_of(load, batch->column[BAND_GROUP].text[row], &group);
	if (rc == NP_OK)
		rc = step_of(load, batch->column[BAND_STEP].text[row], &step);
	if (rc < 0 || !find_op(load->rank, name_id, group, step, &op))
		return rc;
	band = np_vec_add(&load->rank->bands, load->err);
	if (!band)
		return NP_E_NOMEM;
	band->op = op;
	band->type = type;
	fill_band(band, batch, row);
	load->rank->sizes_known = true;
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

/* "allreduce-top1" → the pick and the length of the class before it; false for anything else. */
static bool split_pick(struct np_scan_text name, enum np_link_pick *pick, size_t *class_length)
{
	for (int i = 0; i < NP_LINK_PICKS; i++) {
		const char *suffix = np_link_pick_name((enum np_link_pick)i);
		size_t length = strlen(suffix);

		if (name.length > length + 1 &&
		    strcmp(name.bytes + name.length - length, suffix) == 0 &&
		    name.bytes[name.length - length - 1] == '-') {
			*pick = (enum np_link_pick)i;
			*class_length = name.length - length - 1;
			return true;
		}
	}
	return false;
}

static int32_t peer_of(int64_t rank)
{
	return rank < 0 || rank >= UINT32_MAX ? NP_NO_PEER : (int32_t)rank;
}

static int take_link(struct analysis *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[LINK_NAME].text[row];
	struct np_scan_text type = batch->column[LINK_TYPE].text[row];
	enum np_link_pick pick = NP_LINK_TOTAL;
	struct np_link *link;
	size_t class_length = 0;
	int rc;

	if (!name.bytes || !split_pick(name, &pick, &class_length))
		return NP_OK;
	link = np_vec_add(&load->rank->links, load->err);
	if (!link)
		return NP_E_NOMEM;
	link->pick = pick;
	link->src = peer_of(batch->column[LINK_SRC].integer[row]);
	link->dst = peer_of(batch->column[LINK_DST].integer[row]);
	link->bytes =
		known_or_zero(np_double_to_scaled(batch->column[LINK_SIZE].real[row], MB_TO_B));
	link->time =
		known_or_zero(np_double_to_scaled(batch->column[LINK_TIME].real[row], MS_TO_NS));
	link->p2p = type.bytes && strcmp(type.bytes, "p2p") == 0;
	rc = np_strtab_add(load->strings, name.bytes, class_length, &link->op_class, load->err);
	if (rc == NP_OK)
		rc = intern(load, batch->column[LINK_TRANSPORT].text[row], &link->transport);
	if (rc == NP_OK && batch->column[LINK_OP].text[row].length > 0)
		rc = intern(load, batch->column[LINK_OP].text[row], &link->op_name);
	if (rc == NP_OK)
		rc = group_of(load, batch->column[LINK_GROUP].text[row], &link->group);
	if (rc == NP_OK)
		rc = step_of(load, batch->column[LINK_STEP].text[row], &link->step);
	return rc;
}

/*
 * The exporter files reduceScatter under "reduce" and alltoallv under
 * "alltoall". The picked operators tell the class; the total has none and takes
 * it from a pick of the same link, which stands before or after it.
 */
static int mend_classes(struct analysis *load)
{
	struct np_rank *rank = load->rank;

	for (size_t i = 0; i < rank->links.count; i++) {
		struct np_link *link = &rank->links.item[i];
		np_str op_class;
		char text[64];
		size_t length;
		int rc;

		if (link->op_name == NP_STR_NONE)
			continue;
		length = np_op_class(np_strtab_text(load->strings, link->op_name), text,
				     sizeof(text));
		rc = np_strtab_add(load->strings, text, length, &op_class, load->err);
		if (rc < 0)
			return rc;
		if (op_class == link->op_class)
			continue;
		for (size_t j = 0; j < rank->links.count; j++) {
			struct np_link *total = &rank->links.item[j];

			if (total->pick == NP_LINK_TOTAL && total->op_class == link->op_class &&
			    total->group == link->group && total->step == link->step &&
			    total->src == link->src && total->dst == link->dst)
				total->op_class = op_class;
		}
		link->op_class = op_class;
	}
	return NP_OK;
}

int np_load_analysis_db(struct np_rank *rank, const char *path, struct np_strtab *strings,
			struct np_err *err)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct analysis load = { .rank = rank, .strings = strings, .err = err };
	int rc = np_db_open(path, &db, err);

	if (rc < 0)
		return rc;
	load.db = db;
	rc = each_row(&load, "StepTraceTime", step_columns, STEP_COLUMNS, take_step);
	if (rc == NP_OK)
		rc = each_row(&load, "CommAnalyzerTime", time_columns, TIME_COLUMNS, take_time);
	if (rc == NP_OK)
		rc = each_row(&load, "CommAnalyzerBandwidth", band_columns, BAND_COLUMNS,
			      take_band);
	if (rc == NP_OK)
		rc = each_row(&load, "CommAnalyzerMatrix", link_columns, LINK_COLUMNS, take_link);
	if (rc == NP_OK)
		rc = mend_classes(&load);
	return rc;
}
