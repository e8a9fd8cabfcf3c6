/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_db.h"

#include "core/model/load/capture/memory_held.h"

/* A component of which the name is given, and not as an id. */
static int hold(struct rank_db *load, const char *component, struct memory_held *held)
{
	int rc = np_strtab_add(load->strings, component, strlen(component), &held->component,
			       load->err);

	return rc < 0 ? rc : memory_hold(load->rank, held, load->err);
}

/* A table that cannot be read costs what it tells. */
static int each(struct rank_db *load, const char *table, const struct np_scan_column *columns,
		size_t count, rank_db_take *take)
{
	struct np_err problem = NP_ERR_INIT;
	struct np_err *err = load->err;
	int rc;

	load->err = &problem;
	rc = rank_db_each(load, table, columns, count, take);
	load->err = err;
	if (rc == NP_E_NOMEM)
		return np_fail(err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), table, "%s", problem.text);
	return NP_OK;
}

/* --- components ------------------------------------------------------------------------------ */

static const struct np_scan_column record_columns[] = {
	{ "component", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "totalAllocated", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "totalReserved", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "timestamp", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int take_record(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct memory_held held = { .at = batch->column[3].integer[row],
				    .allocated = batch->column[1].integer[row],
				    .reserved = batch->column[2].integer[row] };
	int rc = rank_db_intern(load, batch->column[0].integer[row], &held.component);

	return rc < 0 ? rc : memory_hold(load->rank, &held, load->err);
}

static const struct np_scan_column event_columns[] = {
	{ "component", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "totalAllocate", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "totalReserve", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "timestampNs", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static const struct np_scan_column process_columns[] = {
	{ "type", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "hbm", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "timestampNs", NP_SCAN_INTEGER, NP_OPTIONAL },
};

/* Rows of the whole device are not of this process alone. */
static int take_process(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct memory_held held = { .at = batch->column[2].integer[row],
				    .allocated = NP_UNKNOWN,
				    .reserved = batch->column[1].integer[row] };

	if (strcmp(rank_db_text(load, batch->column[0].integer[row]).bytes, "app") != 0)
		return NP_OK;
	return hold(load, MEMORY_PROCESS, &held);
}

/* --- operators ------------------------------------------------------------------------------- */

enum {
	NAME,
	ALLOC_TIME,
	ALLOC_ALLOCATED,
	ALLOC_RESERVED,
	RELEASE_TIME,
	RELEASE_ALLOCATED,
	RELEASE_RESERVED,
	OPERATOR_COLUMNS,
};

static const struct np_scan_column operator_columns[OPERATOR_COLUMNS] = {
	[NAME] = { "name", NP_SCAN_INTEGER, NP_REQUIRED },
	[ALLOC_TIME] = { "allocationTime", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ALLOC_ALLOCATED] = { "allocationTotalAllocated", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ALLOC_RESERVED] = { "allocationTotalReserved", NP_SCAN_INTEGER, NP_OPTIONAL },
	[RELEASE_TIME] = { "releaseTime", NP_SCAN_INTEGER, NP_OPTIONAL },
	[RELEASE_ALLOCATED] = { "releaseTotalAllocated", NP_SCAN_INTEGER, NP_OPTIONAL },
	[RELEASE_RESERVED] = { "releaseTotalReserved", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int take_operator(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct rank_db_text name = rank_db_text(load, batch->column[NAME].integer[row]);
	const char *component = memory_component_of(name.bytes, name.length);
	struct memory_held held = { .at = batch->column[ALLOC_TIME].integer[row],
				    .allocated = batch->column[ALLOC_ALLOCATED].integer[row],
				    .reserved = batch->column[ALLOC_RESERVED].integer[row] };
	int rc = hold(load, component, &held);

	if (rc < 0)
		return rc;
	/* What is not yet released has no numbers here. */
	held.at = batch->column[RELEASE_TIME].integer[row];
	held.allocated = batch->column[RELEASE_ALLOCATED].integer[row];
	held.reserved = batch->column[RELEASE_RESERVED].integer[row];
	return memory_hold(load->rank, &held, load->err);
}

/* --- modules --------------------------------------------------------------------------------- */

static const struct np_scan_column name_columns[] = {
	{ "id", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "name", NP_SCAN_TEXT, NP_REQUIRED },
};

static int take_module_name(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	struct np_scan_text text = batch->column[1].text[row];
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
		      : np_idmap_set(load->modules, batch->column[0].integer[row], id, load->err);
}

static const struct np_scan_column module_columns[] = {
	{ "moduleId", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "totalReserved", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "timestampNs", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int take_module(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	int64_t id = batch->column[0].integer[row];
	struct memory_held held = { .component = np_idmap_get(load->modules, id),
				    .at = batch->column[2].integer[row],
				    .allocated = NP_UNKNOWN,
				    .reserved = batch->column[1].integer[row] };
	char name[40];

	if (held.component != NP_IDMAP_NONE)
		return memory_hold(load->rank, &held, load->err);
	(void)snprintf(name, sizeof(name), MEMORY_MODULE "%lld", (long long)id);
	return hold(load, name, &held);
}

static int read_modules(struct rank_db *load)
{
	int rc;

	if (!np_db_has_rows(load->db, "NPU_MODULE_MEM"))
		return NP_OK;
	load->modules = np_idmap_new();
	rc = load->modules ? each(load, "ENUM_MODULE", name_columns, NP_COUNT(name_columns),
				  take_module_name)
			   : np_fail_nomem(load->err, "modules");
	if (rc == NP_OK)
		rc = each(load, "NPU_MODULE_MEM", module_columns, NP_COUNT(module_columns),
			  take_module);
	np_idmap_free(load->modules);
	load->modules = NULL;
	return rc;
}

/* --- all ------------------------------------------------------------------------------------- */

int rank_db_read_memory(struct rank_db *load)
{
	const struct np_strtab *strings = load->strings;
	int rc = each(load, "MEMORY_RECORD", record_columns, NP_COUNT(record_columns), take_record);

	if (rc == NP_OK && !memory_knows(load->rank, strings, MEMORY_PTA))
		rc = each(load, "OP_MEMORY", operator_columns, OPERATOR_COLUMNS, take_operator);
	if (rc == NP_OK && !memory_knows(load->rank, strings, MEMORY_GE))
		rc = each(load, "NPU_OP_MEM", event_columns, NP_COUNT(event_columns), take_record);
	if (rc == NP_OK && !memory_knows(load->rank, strings, MEMORY_PROCESS))
		rc = each(load, "NPU_MEM", process_columns, NP_COUNT(process_columns),
			  take_process);
	if (rc == NP_OK)
		rc = read_modules(load);
	return rc;
}
