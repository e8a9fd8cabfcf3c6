/* SPDX-License-Identifier: Apache-2.0 */
/* What components of memory held, from the memory tables of a rank database. */
#include "rank_db.h"

#include "core/model/load/capture/memory_held.h"

/* A component of which the name is given, and not as an id. */
static int hold(struct rank_db *load, const char *component, struct memory_held *held)
{
	int rc = np_strtab_add(load->strings, component, strlen(component), &held->component,
			       load->err);

	return rc < 0 ? rc : memory_hold(load->rank, held, load->err);
}

/* --- components ------------------------------------------------------------------------------ */

static int hold_component(struct rank_db *load, int64_t component, struct memory_held *held)
{
	int rc;

	/* Without a name it is nobody's. */
	if (rank_db_text(load, component).length == 0)
		return NP_OK;
	rc = rank_db_intern(load, component, &held->component);

	return rc < 0 ? rc : memory_hold(load->rank, held, load->err);
}

static int take_record(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct memory_held held = {
		.at = batch->column[RECORD_TIME].integer[row],
		.allocated = vendor_bytes(batch->column[RECORD_ALLOCATED].integer[row]),
		.reserved = vendor_bytes(batch->column[RECORD_RESERVED].integer[row])
	};

	return hold_component(load, batch->column[RECORD_COMPONENT].integer[row], &held);
}

static int take_event(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct memory_held held = {
		.at = batch->column[MEMORY_EVENT_TIME].integer[row],
		.allocated = vendor_bytes(batch->column[MEMORY_EVENT_ALLOCATED].integer[row]),
		.reserved = vendor_bytes(batch->column[MEMORY_EVENT_RESERVED].integer[row]),
	};

	return hold_component(load, batch->column[MEMORY_EVENT_COMPONENT].integer[row], &held);
}

/* Rows of the whole device are not of this process alone. */
static int take_process(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct memory_held held = { .at = batch->column[PROCESS_TIME].integer[row],
				    .allocated = NP_UNKNOWN,
				    .reserved =
					    vendor_bytes(batch->column[PROCESS_HBM].integer[row]) };

	if (strcmp(rank_db_text(load, batch->column[PROCESS_TYPE].integer[row]).bytes,
		   VENDOR_NPU_MEM_PROCESS) != 0)
		return NP_OK;
	return hold(load, MEMORY_PROCESS, &held);
}

/* --- operators ------------------------------------------------------------------------------- */

static int take_operator(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct rank_db_text name = rank_db_text(load, batch->column[MEMOP_NAME].integer[row]);
	const char *component = memory_component_of(name.bytes, name.length);
	struct memory_held held = {
		.at = batch->column[MEMOP_ALLOC].integer[row],
		.allocated = vendor_bytes(batch->column[MEMOP_ALLOC_ALLOCATED].integer[row]),
		.reserved = vendor_bytes(batch->column[MEMOP_ALLOC_RESERVED].integer[row])
	};
	int rc = hold(load, component, &held);

	if (rc < 0)
		return rc;
	/* What is not yet released has no numbers here. */
	held.at = batch->column[MEMOP_RELEASE].integer[row];
	held.allocated = vendor_bytes(batch->column[MEMOP_RELEASE_ALLOCATED].integer[row]);
	held.reserved = vendor_bytes(batch->column[MEMOP_RELEASE_RESERVED].integer[row]);
	return memory_hold(load->rank, &held, load->err);
}

/* --- modules --------------------------------------------------------------------------------- */

static int take_module_name(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	struct np_scan_text text = batch->column[ENUM_NAME].text[row];
	np_str id;
	int rc;

	if (!text.bytes)
		return NP_OK;
	np_buf_add(&name, MEMORY_MODULE);
	np_buf_add_bytes(&name, text.bytes, text.length);
	rc = np_buf_check(&name, load->err);
	if (rc == NP_OK)
		rc = np_strtab_add(load->strings, name.text, name.length, &id, load->err);
	return rc < 0 ? rc
		      : np_idmap_set(load->modules, batch->column[ENUM_ID].integer[row], id,
				     load->err);
}

static int take_module(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	int64_t id = batch->column[MODULE_ID].integer[row];
	struct memory_held held = { .component = np_idmap_get(load->modules, id),
				    .at = batch->column[MODULE_TIME].integer[row],
				    .allocated = NP_UNKNOWN,
				    .reserved = vendor_bytes(
					    batch->column[MODULE_RESERVED].integer[row]) };
	char name[40];

	if (held.component != NP_IDMAP_NONE)
		return memory_hold(load->rank, &held, load->err);
	load->modules_nameless++;
	(void)snprintf(name, sizeof(name), MEMORY_MODULE "%lld", (long long)id);
	return hold(load, name, &held);
}

static int read_modules(struct rank_db *load)
{
	static const struct vendor_pick names = { &vendor_enum_module, 0, 0 };
	static const struct vendor_pick rows = { &vendor_npu_module_mem,
						 VENDOR_BIT(MODULE_TIME) | VENDOR_BIT(MODULE_ID) |
							 VENDOR_BIT(MODULE_RESERVED),
						 0 };
	int rc;

	if (!np_db_has_rows(load->db, vendor_npu_module_mem.name))
		return NP_OK;
	load->modules = np_idmap_new();
	rc = load->modules ? rank_db_try_each(load, &names, take_module_name)
			   : np_fail_nomem(load->err, "modules");
	if (rc == NP_OK)
		rc = rank_db_try_each(load, &rows, take_module);
	np_idmap_free(load->modules);
	load->modules = NULL;
	if (rc == NP_OK && load->modules_nameless > 0)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), vendor_enum_module.name,
			    "%zu names that other tables use are not in it",
			    load->modules_nameless);
	return rc;
}

/* --- garbage --------------------------------------------------------------------------------- */

static int take_collection(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	capture_add_collection(load->rank, batch->column[GC_START].integer[row],
			       batch->column[GC_END].integer[row]);
	return NP_OK;
}

/* --- all ------------------------------------------------------------------------------------- */

int rank_db_read_memory(struct rank_db *load)
{
	static const struct vendor_pick records = {
		&vendor_memory_record,
		VENDOR_BIT(RECORD_TIME) | VENDOR_BIT(RECORD_COMPONENT) |
			VENDOR_BIT(RECORD_ALLOCATED) | VENDOR_BIT(RECORD_RESERVED),
		0,
	};
	static const struct vendor_pick operators = {
		&vendor_op_memory,
		VENDOR_BIT(MEMOP_NAME) | VENDOR_BIT(MEMOP_ALLOC) |
			VENDOR_BIT(MEMOP_ALLOC_ALLOCATED) | VENDOR_BIT(MEMOP_ALLOC_RESERVED) |
			VENDOR_BIT(MEMOP_RELEASE) | VENDOR_BIT(MEMOP_RELEASE_ALLOCATED) |
			VENDOR_BIT(MEMOP_RELEASE_RESERVED),
		0,
	};
	static const struct vendor_pick events = {
		&vendor_npu_op_mem,
		VENDOR_BIT(MEMORY_EVENT_TIME) | VENDOR_BIT(MEMORY_EVENT_ALLOCATED) |
			VENDOR_BIT(MEMORY_EVENT_RESERVED) | VENDOR_BIT(MEMORY_EVENT_COMPONENT),
		VENDOR_BIT(MEMORY_EVENT_COMPONENT),
	};
	static const struct vendor_pick process = {
		&vendor_npu_mem,
		VENDOR_BIT(PROCESS_TIME) | VENDOR_BIT(PROCESS_TYPE) | VENDOR_BIT(PROCESS_HBM), 0
	};
	static const struct vendor_pick garbage = { &vendor_gc_record,
						    VENDOR_BIT(GC_START) | VENDOR_BIT(GC_END), 0 };
	const struct np_strtab *strings = load->strings;
	int rc = rank_db_try_each(load, &records, take_record);

	if (rc == NP_OK && np_db_has_rows(load->db, vendor_gc_record.name))
		rc = rank_db_try_each(load, &garbage, take_collection);

	if (rc == NP_OK && !memory_knows(load->rank, strings, MEMORY_PTA))
		rc = rank_db_try_each(load, &operators, take_operator);
	if (rc == NP_OK && !memory_knows(load->rank, strings, MEMORY_GE))
		rc = rank_db_try_each(load, &events, take_event);
	if (rc == NP_OK && !memory_knows(load->rank, strings, MEMORY_PROCESS))
		rc = rank_db_try_each(load, &process, take_process);
	if (rc == NP_OK)
		rc = read_modules(load);
	return rc;
}
