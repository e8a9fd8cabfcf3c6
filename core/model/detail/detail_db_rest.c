/* SPDX-License-Identifier: Apache-2.0 */
/* Samples, memory, the chip and settings from the rank database: one small table after another. */
#include "detail_db.h"

#include "npuprof/rank.h"

/* --- samples --------------------------------------------------------------------------------- */

static int take_frequency(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[FREQUENCY_TIME].integer[row];
	int64_t mhz = batch->column[FREQUENCY_MHZ].integer[row];
	struct np_frequency *sample;

	if (!detail_time_ok(db->load, time, time))
		return NP_OK;
	sample = np_vec_add(&db->detail->frequency, db->err);
	if (!sample)
		return NP_E_NOMEM;
	*sample = (struct np_frequency){ time, mhz > UINT32_MAX ? NP_UNKNOWN : vendor_known(mhz),
					 vendor_device(
						 batch->column[FREQUENCY_DEVICE].integer[row]) };
	return NP_OK;
}

static int take_gc(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[GC_START].integer[row];
	np_ns end = batch->column[GC_END].integer[row];
	int64_t tid = batch->column[GC_THREAD].integer[row];
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

/* When something was given back, of what began then; what cannot be is unknown. */
static np_ns release_of(struct detail_db *db, np_ns alloc, np_ns release)
{
	np_ns begin = alloc == NP_UNKNOWN ? release : alloc;

	return release == NP_UNKNOWN || detail_time_ok(db->load, begin, release) ? release
										 : NP_UNKNOWN;
}

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
		.release = release_of(db, time, batch->column[MEMOP_RELEASE].integer[row]),
		.active_release =
			release_of(db, time, batch->column[MEMOP_ACTIVE_RELEASE].integer[row]),
		.bytes = batch->column[MEMOP_SIZE].integer[row],
		.allocated_at_alloc =
			vendor_bytes(batch->column[MEMOP_ALLOC_ALLOCATED].integer[row]),
		.reserved_at_alloc = vendor_bytes(batch->column[MEMOP_ALLOC_RESERVED].integer[row]),
		.active_at_alloc = vendor_bytes(batch->column[MEMOP_ALLOC_ACTIVE].integer[row]),
		.allocated_at_release =
			vendor_bytes(batch->column[MEMOP_RELEASE_ALLOCATED].integer[row]),
		.reserved_at_release =
			vendor_bytes(batch->column[MEMOP_RELEASE_RESERVED].integer[row]),
		.active_at_release = vendor_bytes(batch->column[MEMOP_RELEASE_ACTIVE].integer[row]),
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

static int take_record(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[RECORD_TIME].integer[row];
	struct np_memory_point *point;

	if (!detail_time_ok(db->load, time, time))
		return NP_OK;
	point = add_point(db, time, batch->column[RECORD_DEVICE].integer[row]);
	if (!point)
		return NP_E_NOMEM;
	point->allocated = vendor_bytes(batch->column[RECORD_ALLOCATED].integer[row]);
	point->reserved = vendor_bytes(batch->column[RECORD_RESERVED].integer[row]);
	point->active = vendor_bytes(batch->column[RECORD_ACTIVE].integer[row]);
	db->has_process |=
		strcmp(detail_text_of(db, batch->column[RECORD_COMPONENT].integer[row]).bytes,
		       "APP") == 0;
	return detail_string(db, batch->column[RECORD_COMPONENT].integer[row], &point->component);
}

/* What the process holds: text files, and some databases, list it as the component APP. */
static int take_process(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[PROCESS_TIME].integer[row];
	struct detail_text type = detail_text_of(db, batch->column[PROCESS_TYPE].integer[row]);
	struct np_memory_point *point;

	if (db->has_process || strcmp(type.bytes, VENDOR_NPU_MEM_PROCESS) != 0 ||
	    !detail_time_ok(db->load, time, time))
		return NP_OK;
	point = add_point(db, time, batch->column[PROCESS_DEVICE].integer[row]);
	if (!point)
		return NP_E_NOMEM;
	point->reserved = vendor_bytes(batch->column[PROCESS_HBM].integer[row]);
	return detail_intern(db->load, "APP", 3, &point->component);
}

static int take_module(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[MODULE_TIME].integer[row];
	int64_t id = batch->column[MODULE_ID].integer[row];
	struct np_memory_point *point;
	char number[24];

	if (!detail_time_ok(db->load, time, time))
		return NP_OK;
	point = add_point(db, time, batch->column[MODULE_DEVICE].integer[row]);
	if (!point)
		return NP_E_NOMEM;
	point->reserved = vendor_bytes(batch->column[MODULE_RESERVED].integer[row]);
	point->module = true;
	if (detail_find_enum(db, DETAIL_MODULES, id))
		return detail_enum(db, DETAIL_MODULES, id, &point->component);
	(void)snprintf(number, sizeof(number), "%lld", (long long)id);
	return detail_intern(db->load, number, strlen(number), &point->component);
}

static int take_memory_event(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[MEMORY_EVENT_TIME].integer[row];
	struct np_memory_event *event;
	int rc;

	if (!detail_time_ok(db->load, time, time))
		return NP_OK;
	event = np_vec_add(&db->detail->memory_events, db->err);
	if (!event)
		return NP_E_NOMEM;
	*event = (struct np_memory_event){
		.time = time,
		.address = batch->column[MEMORY_EVENT_ADDRESS].integer[row],
		.bytes = batch->column[MEMORY_EVENT_SIZE].integer[row],
		.allocated = vendor_bytes(batch->column[MEMORY_EVENT_ALLOCATED].integer[row]),
		.reserved = vendor_bytes(batch->column[MEMORY_EVENT_RESERVED].integer[row]),
		.device = vendor_device(batch->column[MEMORY_EVENT_DEVICE].integer[row]),
	};
	rc = detail_string(db, batch->column[MEMORY_EVENT_NAME].integer[row], &event->name);
	if (rc == NP_OK)
		rc = detail_string(db, batch->column[MEMORY_EVENT_TYPE].integer[row], &event->type);
	if (rc == NP_OK)
		rc = detail_string(db, batch->column[MEMORY_EVENT_COMPONENT].integer[row],
				   &event->component);
	return rc;
}

/* --- device and settings --------------------------------------------------------------------- */

/* The chip of this rank's device; where its number is not among them, the first. */
static int take_npu(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[NPU_NAME].text[row];

	if (db->detail->device.chip != NP_STR_NONE &&
	    batch->column[NPU_ID].integer[row] != db->load->rank->device)
		return NP_OK;
	return detail_intern(db->load, name.bytes, name.length, &db->detail->device.chip);
}

static int take_setting(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	NP_CLEANUP(np_json_freep) struct np_json *json = NULL;
	struct np_scan_text name = batch->column[META_NAME].text[row];
	struct np_scan_text value = batch->column[META_VALUE].text[row];
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
	struct vendor_pick pick;
	detail_take *take;
} tables[] = {
	{ NP_DETAIL_FREQUENCY, { &vendor_aicore_freq, 0, 0 }, take_frequency },
	{ NP_DETAIL_GC, { &vendor_gc_record, 0, 0 }, take_gc },
	{ NP_DETAIL_MEMORY_OPS,
	  { &vendor_op_memory, 0, VENDOR_BIT(MEMOP_SIZE) | VENDOR_BIT(MEMOP_ALLOC) },
	  take_memory_op },
	{ NP_DETAIL_MEMORY_CURVE,
	  { &vendor_memory_record, 0, VENDOR_BIT(RECORD_TIME) },
	  take_record },
	{ NP_DETAIL_MEMORY_CURVE, { &vendor_npu_mem, 0, VENDOR_BIT(PROCESS_TIME) }, take_process },
	{ NP_DETAIL_MEMORY_CURVE,
	  { &vendor_npu_module_mem, 0, VENDOR_BIT(MODULE_TIME) },
	  take_module },
	{ NP_DETAIL_MEMORY_EVENTS,
	  { &vendor_npu_op_mem, 0, VENDOR_BIT(MEMORY_EVENT_SIZE) | VENDOR_BIT(MEMORY_EVENT_TIME) },
	  take_memory_event },
	{ NP_DETAIL_DEVICE, { &vendor_npu_info, 0, 0 }, take_npu },
	{ NP_DETAIL_ENVIRONMENT, { &vendor_meta_data, 0, 0 }, take_setting },
};

/* Files beside the database add to these, so they stay wanted. */
#define SHARED (NP_DETAIL_DEVICE | NP_DETAIL_ENVIRONMENT)

int detail_db_read_rest(struct detail_db *db)
{
	unsigned found = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(tables) && rc == NP_OK; i++) {
		if (!detail_wants(db->load, tables[i].section) ||
		    !np_db_has_rows(db->db, tables[i].pick.table->name))
			continue;
		rc = detail_each(db, &tables[i].pick, tables[i].take);
		found |= tables[i].section;
	}
	db->detail->has |= found & SHARED;
	detail_found(db->load, found & ~(unsigned)SHARED);
	return rc;
}
