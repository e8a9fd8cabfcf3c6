/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_db.h"

/* --- samples --------------------------------------------------------------------------------- */

static const struct np_scan_column frequency_columns[] = {
	{ "timestampNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "freq", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int take_frequency(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[0].integer[row];
	struct np_frequency *sample;

	if (!detail_time_ok(db->load, time, time))
		return NP_OK;
	sample = np_vec_add(&db->detail->frequency, db->err);
	if (!sample)
		return NP_E_NOMEM;
	*sample = (struct np_frequency){ time, vendor_known(batch->column[1].integer[row]),
					 vendor_device(batch->column[2].integer[row]) };
	return NP_OK;
}

static const struct np_scan_column gc_columns[] = {
	{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "globalTid", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int take_gc(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[0].integer[row];
	np_ns end = batch->column[1].integer[row];
	int64_t tid = batch->column[2].integer[row];
	struct np_gc *gc;

	if (!detail_time_ok(db->load, start, end))
		return NP_OK;
	gc = np_vec_add(&db->detail->gc, db->err);
	if (!gc)
		return NP_E_NOMEM;
	*gc = (struct np_gc){ start, end, vendor_thread(tid) };
	return NP_OK;
}

/* --- memory ---------------------------------------------------------------------------------- */

enum {
	MEMOP_NAME,
	MEMOP_SIZE,
	MEMOP_ALLOC,
	MEMOP_RELEASE,
	MEMOP_ACTIVE_RELEASE,
	MEMOP_ALLOC_ALLOCATED,
	MEMOP_ALLOC_RESERVED,
	MEMOP_ALLOC_ACTIVE,
	MEMOP_RELEASE_ALLOCATED,
	MEMOP_RELEASE_RESERVED,
	MEMOP_RELEASE_ACTIVE,
	MEMOP_DEVICE,
	MEMOP_COLUMNS,
};

static const struct np_scan_column memop_columns[MEMOP_COLUMNS] = {
	[MEMOP_NAME] = { "name", NP_SCAN_INTEGER, NP_REQUIRED },
	[MEMOP_SIZE] = { "size", NP_SCAN_INTEGER, NP_REQUIRED },
	[MEMOP_ALLOC] = { "allocationTime", NP_SCAN_INTEGER, NP_REQUIRED },
	[MEMOP_RELEASE] = { "releaseTime", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMOP_ACTIVE_RELEASE] = { "activeReleaseTime", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMOP_ALLOC_ALLOCATED] = { "allocationTotalAllocated", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMOP_ALLOC_RESERVED] = { "allocationTotalReserved", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMOP_ALLOC_ACTIVE] = { "allocationTotalActive", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMOP_RELEASE_ALLOCATED] = { "releaseTotalAllocated", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMOP_RELEASE_RESERVED] = { "releaseTotalReserved", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMOP_RELEASE_ACTIVE] = { "releaseTotalActive", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMOP_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int take_memory_op(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[MEMOP_ALLOC].integer[row];
	struct np_memory_op *op;

	/* Some rows know only their release. */
	if (time != NP_UNKNOWN && !detail_time_ok(db->load, time, time))
		return NP_OK;
	op = np_vec_add(&db->detail->memory_ops, db->err);
	if (!op)
		return NP_E_NOMEM;
	*op = (struct np_memory_op){
		.alloc = time,
		.release = batch->column[MEMOP_RELEASE].integer[row],
		.active_release = batch->column[MEMOP_ACTIVE_RELEASE].integer[row],
		.bytes = batch->column[MEMOP_SIZE].integer[row],
		.allocated_at_alloc = batch->column[MEMOP_ALLOC_ALLOCATED].integer[row],
		.reserved_at_alloc = batch->column[MEMOP_ALLOC_RESERVED].integer[row],
		.active_at_alloc = batch->column[MEMOP_ALLOC_ACTIVE].integer[row],
		.allocated_at_release = batch->column[MEMOP_RELEASE_ALLOCATED].integer[row],
		.reserved_at_release = batch->column[MEMOP_RELEASE_RESERVED].integer[row],
		.active_at_release = batch->column[MEMOP_RELEASE_ACTIVE].integer[row],
		.device = vendor_device(batch->column[MEMOP_DEVICE].integer[row]),
	};
	return detail_string(db, batch->column[MEMOP_NAME].integer[row], &op->name);
}

static struct np_memory_point *add_point(struct detail_db *db, np_ns time, int64_t device)
{
	struct np_memory_point *point = np_vec_add(&db->detail->memory_curve, db->err);

	if (point)
		*point = (struct np_memory_point){ .time = time,
						   .allocated = NP_UNKNOWN,
						   .reserved = NP_UNKNOWN,
						   .active = NP_UNKNOWN,
						   .device = vendor_device(device) };
	return point;
}

static const struct np_scan_column record_columns[] = {
	{ "timestamp", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "component", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "totalAllocated", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "totalReserved", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "totalActive", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int take_record(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[0].integer[row];
	struct np_memory_point *point;

	if (!detail_time_ok(db->load, time, time))
		return NP_OK;
	point = add_point(db, time, batch->column[5].integer[row]);
	if (!point)
		return NP_E_NOMEM;
	point->allocated = batch->column[2].integer[row];
	point->reserved = batch->column[3].integer[row];
	point->active = batch->column[4].integer[row];
	db->has_process |=
		strcmp(detail_text_of(db, batch->column[1].integer[row]).bytes, "APP") == 0;
	return detail_string(db, batch->column[1].integer[row], &point->component);
}

static const struct np_scan_column process_columns[] = {
	{ "timestampNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "type", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "hbm", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

/* What the process holds: text files, and some databases, list it as the component APP. */
static int take_process(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[0].integer[row];
	struct detail_text type = detail_text_of(db, batch->column[1].integer[row]);
	struct np_memory_point *point;

	if (db->has_process || strcmp(type.bytes, "app") != 0 ||
	    !detail_time_ok(db->load, time, time))
		return NP_OK;
	point = add_point(db, time, batch->column[3].integer[row]);
	if (!point)
		return NP_E_NOMEM;
	point->reserved = batch->column[2].integer[row];
	return detail_intern(db->load, "APP", 3, &point->component);
}

static const struct np_scan_column module_columns[] = {
	{ "timestampNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "moduleId", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "totalReserved", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int take_module(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[0].integer[row];
	struct np_memory_point *point;

	if (!detail_time_ok(db->load, time, time))
		return NP_OK;
	point = add_point(db, time, batch->column[3].integer[row]);
	if (!point)
		return NP_E_NOMEM;
	point->reserved = batch->column[2].integer[row];
	point->module = true;
	return detail_enum(db, DETAIL_MODULES, batch->column[1].integer[row], &point->component);
}

enum {
	EVENT_NAME,
	EVENT_ADDRESS,
	EVENT_TYPE,
	EVENT_SIZE,
	EVENT_TIME,
	EVENT_ALLOCATED,
	EVENT_RESERVED,
	EVENT_COMPONENT,
	EVENT_DEVICE,
	EVENT_COLUMNS,
};

static const struct np_scan_column event_columns[EVENT_COLUMNS] = {
	[EVENT_NAME] = { "operatorName", NP_SCAN_INTEGER, NP_OPTIONAL },
	[EVENT_ADDRESS] = { "addr", NP_SCAN_INTEGER, NP_OPTIONAL },
	[EVENT_TYPE] = { "type", NP_SCAN_INTEGER, NP_OPTIONAL },
	[EVENT_SIZE] = { "size", NP_SCAN_INTEGER, NP_REQUIRED },
	[EVENT_TIME] = { "timestampNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[EVENT_ALLOCATED] = { "totalAllocate", NP_SCAN_INTEGER, NP_OPTIONAL },
	[EVENT_RESERVED] = { "totalReserve", NP_SCAN_INTEGER, NP_OPTIONAL },
	[EVENT_COMPONENT] = { "component", NP_SCAN_INTEGER, NP_OPTIONAL },
	[EVENT_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int take_memory_event(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[EVENT_TIME].integer[row];
	struct np_memory_event *event;
	int rc;

	if (!detail_time_ok(db->load, time, time))
		return NP_OK;
	event = np_vec_add(&db->detail->memory_events, db->err);
	if (!event)
		return NP_E_NOMEM;
	*event = (struct np_memory_event){
		.time = time,
		.address = batch->column[EVENT_ADDRESS].integer[row],
		.bytes = batch->column[EVENT_SIZE].integer[row],
		.allocated = batch->column[EVENT_ALLOCATED].integer[row],
		.reserved = batch->column[EVENT_RESERVED].integer[row],
		.device = vendor_device(batch->column[EVENT_DEVICE].integer[row]),
	};
	rc = detail_string(db, batch->column[EVENT_NAME].integer[row], &event->name);
	if (rc == NP_OK)
		rc = detail_string(db, batch->column[EVENT_TYPE].integer[row], &event->type);
	if (rc == NP_OK)
		rc = detail_string(db, batch->column[EVENT_COMPONENT].integer[row],
				   &event->component);
	return rc;
}

/* --- device and settings --------------------------------------------------------------------- */

static const struct np_scan_column npu_columns[] = {
	{ "id", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "name", NP_SCAN_TEXT, NP_REQUIRED },
};

/* The chip of this rank's device; where its number is not among them, the first. */
static int take_npu(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[1].text[row];

	if (db->detail->device.chip != NP_STR_NONE &&
	    batch->column[0].integer[row] != db->load->rank->device)
		return NP_OK;
	return detail_intern(db->load, name.bytes, name.length, &db->detail->device.chip);
}

static const struct np_scan_column setting_columns[] = {
	{ "name", NP_SCAN_TEXT, NP_REQUIRED },
	{ "value", NP_SCAN_TEXT, NP_REQUIRED },
};

static int take_setting(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	NP_CLEANUP(np_json_freep) struct np_json *json = NULL;
	struct np_scan_text name = batch->column[0].text[row];
	struct np_scan_text value = batch->column[1].text[row];
	struct np_err problem = NP_ERR_INIT;

	if (!name.bytes || !value.bytes)
		return NP_OK;
	if (value.length > 0 && strchr("{\"", value.bytes[0]) &&
	    np_json_parse(value.bytes, value.length, name.bytes, &json, &problem) == NP_OK)
		return detail_add_setting(db->load, "", name.bytes, json);
	return detail_add_setting_text(db->load, name.bytes, value.bytes, value.length);
}

/* --- everything ------------------------------------------------------------------------------ */

static const struct {
	unsigned section;
	const char *table;
	const struct np_scan_column *columns;
	size_t count;
	detail_take *take;
} tables[] = {
	{ NP_DETAIL_FREQUENCY, "AICORE_FREQ", frequency_columns, NP_COUNT(frequency_columns),
	  take_frequency },
	{ NP_DETAIL_GC, "GC_RECORD", gc_columns, NP_COUNT(gc_columns), take_gc },
	{ NP_DETAIL_MEMORY_OPS, "OP_MEMORY", memop_columns, MEMOP_COLUMNS, take_memory_op },
	{ NP_DETAIL_MEMORY_CURVE, "MEMORY_RECORD", record_columns, NP_COUNT(record_columns),
	  take_record },
	{ NP_DETAIL_MEMORY_CURVE, "NPU_MEM", process_columns, NP_COUNT(process_columns),
	  take_process },
	{ NP_DETAIL_MEMORY_CURVE, "NPU_MODULE_MEM", module_columns, NP_COUNT(module_columns),
	  take_module },
	{ NP_DETAIL_MEMORY_EVENTS, "NPU_OP_MEM", event_columns, EVENT_COLUMNS, take_memory_event },
	{ NP_DETAIL_DEVICE, "NPU_INFO", npu_columns, NP_COUNT(npu_columns), take_npu },
	{ NP_DETAIL_ENVIRONMENT, "META_DATA", setting_columns, NP_COUNT(setting_columns),
	  take_setting },
};

/* Files beside the database add to these, so they stay wanted. */
#define SHARED (NP_DETAIL_DEVICE | NP_DETAIL_ENVIRONMENT)

int detail_db_read_rest(struct detail_db *db)
{
	unsigned told = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(tables) && rc == NP_OK; i++) {
		if (!detail_wants(db->load, tables[i].section) ||
		    !np_db_has_rows(db->db, tables[i].table))
			continue;
		rc = detail_each(db, tables[i].table, tables[i].columns, tables[i].count,
				 tables[i].take);
		told |= tables[i].section;
	}
	db->detail->has |= told & SHARED;
	detail_told(db->load, told & ~(unsigned)SHARED);
	return rc;
}
