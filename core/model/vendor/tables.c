/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the rank database: the names, types and needs of their columns. */
#include "tables.h"

#include "values.h"

#include "npuprof/comm_tasks.h"

#include <assert.h>

#define TABLE(table, list) \
	{ \
		.name = table, .columns = list, .count = NP_COUNT(list) \
	}

/* A table of which is known which values can be. */
#define CHECKED(table, list, ...) \
	{ \
		.name = table, .columns = list, .count = NP_COUNT(list), __VA_ARGS__ \
	}

int vendor_scan_open(struct np_db *db, const struct vendor_pick *pick, struct np_scan **ret,
		     struct np_err *err)
{
	const struct vendor_table *table = pick->table;
	struct np_scan_column columns[NP_SCAN_COLUMNS];

	assert(table->count <= NP_SCAN_COLUMNS);
	/* What is required is read. */
	assert(pick->columns == 0 || (pick->required & ~pick->columns) == 0);
	for (size_t i = 0; i < table->count; i++) {
		columns[i] = table->columns[i];
		if (pick->columns && !(pick->columns & VENDOR_BIT(i)))
			columns[i] = (struct np_scan_column){ "", columns[i].type, NP_OPTIONAL };
		else if (pick->required & VENDOR_BIT(i))
			columns[i].need = NP_REQUIRED;
	}
	return np_scan_open(db, table->name, columns, table->count, ret, err);
}

static bool is_picked(const struct vendor_pick *pick, size_t column)
{
	return pick->columns == 0 || (pick->columns & VENDOR_BIT(column));
}

/* The least and the most that a column can hold; what has no limits is not looked at. */
static bool limits_of(const struct vendor_table *table, size_t column, int64_t *most)
{
	uint32_t bit = VENDOR_BIT(column);

	if (table->times & bit)
		*most = NP_NS_MAX;
	else if (table->sizes & bit)
		*most = NP_MOST_BYTES;
	else if (table->ranks & bit)
		*most = NP_MOST_RANKS;
	else if (table->small & bit)
		*most = UINT32_MAX;
	else if (table->ids & bit)
		*most = INT64_MAX - 1;
	else
		return false;
	return true;
}

/* What the vendor writes where nothing was recorded. */
static bool is_no_value(const struct vendor_table *table, size_t column, int64_t value)
{
	return value == NP_UNKNOWN || value == INT64_MAX ||
	       ((table->ranks & VENDOR_BIT(column)) && value == VENDOR_NO_NUMBER);
}

/* Most columns have no such value at all. */
static bool has_outside(const int64_t *value, size_t rows, int64_t most)
{
	uint64_t outside = 0;

	/* The highest bit of one or the other, from 0 to most of neither. */
	for (size_t row = 0; row < rows; row++)
		outside |= (uint64_t)value[row] | ((uint64_t)most - (uint64_t)value[row]);
	return outside >> 63;
}

size_t vendor_impossible(const struct vendor_pick *pick, const struct np_scan *scan,
			 const struct np_batch *batch)
{
	const struct vendor_table *table = pick->table;
	size_t found = 0;

	for (size_t i = 0; i < table->count; i++) {
		const int64_t *value = batch->column[i].integer;
		bool always = table->always & VENDOR_BIT(i);
		int64_t most;

		if (!is_picked(pick, i) || !np_scan_has(scan, i) || !limits_of(table, i, &most) ||
		    !has_outside(value, batch->rows, most))
			continue;
		for (size_t row = 0; row < batch->rows; row++)
			found += (value[row] < 0 || value[row] > most) &&
				 (always || !is_no_value(table, i, value[row]));
	}
	return found;
}

size_t vendor_mistyped(const struct vendor_pick *pick, const struct np_scan *scan)
{
	const struct vendor_table *table = pick->table;
	size_t found = 0;

	for (size_t i = 0; i < table->count; i++) {
		if (is_picked(pick, i) && !(table->always & VENDOR_BIT(i)))
			found += np_scan_wrong(scan, i);
	}
	return found;
}

/* --- texts and names ------------------------------------------------------------------------- */

static const struct np_scan_column string_columns[STRING_COLUMNS] = {
	[STRING_ID] = { "id", NP_SCAN_INTEGER, NP_REQUIRED },
	[STRING_VALUE] = { "value", NP_SCAN_TEXT, NP_REQUIRED },
};

const struct vendor_table vendor_string_ids = TABLE("STRING_IDS", string_columns);

static const struct np_scan_column enum_columns[ENUM_COLUMNS] = {
	[ENUM_ID] = { "id", NP_SCAN_INTEGER, NP_REQUIRED },
	[ENUM_NAME] = { "name", NP_SCAN_TEXT, NP_REQUIRED },
};

const struct vendor_table vendor_enum_data_type = TABLE("ENUM_HCCL_DATA_TYPE", enum_columns);
const struct vendor_table vendor_enum_link = TABLE("ENUM_HCCL_LINK_TYPE", enum_columns);
const struct vendor_table vendor_enum_transport = TABLE("ENUM_HCCL_TRANSPORT_TYPE", enum_columns);
const struct vendor_table vendor_enum_rdma = TABLE("ENUM_HCCL_RDMA_TYPE", enum_columns);
const struct vendor_table vendor_enum_api = TABLE("ENUM_API_TYPE", enum_columns);
const struct vendor_table vendor_enum_module = TABLE("ENUM_MODULE", enum_columns);

static const struct np_scan_column meta_columns[META_COLUMNS] = {
	[META_NAME] = { "name", NP_SCAN_TEXT, NP_REQUIRED },
	[META_VALUE] = { "value", NP_SCAN_TEXT, NP_REQUIRED },
};

const struct vendor_table vendor_meta_data = TABLE("META_DATA", meta_columns);

static const struct np_scan_column host_columns[HOST_COLUMNS] = {
	[HOST_UID] = { "hostUid", NP_SCAN_TEXT, NP_OPTIONAL },
	[HOST_NAME] = { "hostName", NP_SCAN_TEXT, NP_OPTIONAL },
};

const struct vendor_table vendor_host_info = TABLE("HOST_INFO", host_columns);

static const struct np_scan_column session_columns[SESSION_COLUMNS] = {
	[SESSION_START] = { "startTimeNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[SESSION_END] = { "endTimeNs", NP_SCAN_INTEGER, NP_REQUIRED },
};

const struct vendor_table vendor_session = TABLE("SESSION_TIME_INFO", session_columns);

static const struct np_scan_column npu_columns[NPU_COLUMNS] = {
	[NPU_ID] = { "id", NP_SCAN_INTEGER, NP_OPTIONAL },
	[NPU_NAME] = { "name", NP_SCAN_TEXT, NP_REQUIRED },
};

const struct vendor_table vendor_npu_info = TABLE("NPU_INFO", npu_columns);

static const struct np_scan_column map_columns[MAP_COLUMNS] = {
	[MAP_RANK] = { "rankId", NP_SCAN_INTEGER, NP_REQUIRED },
	[MAP_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_rank_device_map = TABLE("RANK_DEVICE_MAP", map_columns);

/* --- the host -------------------------------------------------------------------------------- */

static const struct np_scan_column step_columns[STEP_ROW_COLUMNS] = {
	[STEP_ROW_ID] = { "id", NP_SCAN_TEXT, NP_REQUIRED },
	[STEP_ROW_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[STEP_ROW_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
};

const struct vendor_table vendor_step_time = TABLE("STEP_TIME", step_columns);

static const struct np_scan_column call_columns[CALL_COLUMNS] = {
	[CALL_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[CALL_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[CALL_TYPE] = { "type", NP_SCAN_INTEGER, NP_OPTIONAL },
	[CALL_THREAD] = { "globalTid", NP_SCAN_INTEGER, NP_OPTIONAL },
	[CALL_CONNECTION] = { "connectionId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[CALL_NAME] = { "name", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_cann_api = CHECKED(
	"CANN_API", call_columns, .times = VENDOR_BIT(CALL_START) | VENDOR_BIT(CALL_END),
	.small = VENDOR_BIT(CALL_NAME), .ids = VENDOR_BIT(CALL_CONNECTION),
	.always = VENDOR_BIT(CALL_START) | VENDOR_BIT(CALL_END) | VENDOR_BIT(CALL_CONNECTION));

static const struct np_scan_column torch_columns[TORCH_COLUMNS] = {
	[TORCH_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[TORCH_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[TORCH_THREAD] = { "globalTid", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TORCH_CONNECTION] = { "connectionId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TORCH_NAME] = { "name", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TORCH_SEQUENCE] = { "sequenceNumber", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TORCH_FORWARD] = { "fwdThreadId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TORCH_KIND] = { "type", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TORCH_TYPES] = { "inputDtypes", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TORCH_SHAPES] = { "inputShapes", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TORCH_CHAIN] = { "callchainId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_pytorch_api = CHECKED(
	"PYTORCH_API", torch_columns, .times = VENDOR_BIT(TORCH_START) | VENDOR_BIT(TORCH_END),
	.small = VENDOR_BIT(TORCH_NAME), .ids = VENDOR_BIT(TORCH_CONNECTION),
	.always = VENDOR_BIT(TORCH_START) | VENDOR_BIT(TORCH_END));

static const struct np_scan_column chain_columns[CHAIN_COLUMNS] = {
	[CHAIN_ID] = { "id", NP_SCAN_INTEGER, NP_REQUIRED },
	[CHAIN_FRAME] = { "stack", NP_SCAN_INTEGER, NP_REQUIRED },
};

const struct vendor_table vendor_callchains = TABLE("PYTORCH_CALLCHAINS", chain_columns);

static const struct np_scan_column connection_columns[CONNECTION_COLUMNS] = {
	[CONNECTION_ID] = { "id", NP_SCAN_INTEGER, NP_REQUIRED },
	[CONNECTION_VALUE] = { "connectionId", NP_SCAN_INTEGER, NP_REQUIRED },
};

const struct vendor_table vendor_connection_ids = TABLE("CONNECTION_IDS", connection_columns);

static const struct np_scan_column mark_columns[MARK_COLUMNS] = {
	[MARK_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[MARK_END] = { "endNs", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MARK_KIND] = { "eventType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MARK_MESSAGE] = { "message", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MARK_THREAD] = { "globalTid", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MARK_DOMAIN] = { "domainId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MARK_CONNECTION] = { "connectionId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_mstx_events = TABLE("MSTX_EVENTS", mark_columns);

static const struct np_scan_column gc_columns[GC_COLUMNS] = {
	[GC_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[GC_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[GC_THREAD] = { "globalTid", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_gc_record =
	CHECKED("GC_RECORD", gc_columns, .times = VENDOR_BIT(GC_START) | VENDOR_BIT(GC_END),
		.always = VENDOR_BIT(GC_START) | VENDOR_BIT(GC_END));

/* --- the device ------------------------------------------------------------------------------ */

static const struct np_scan_column task_columns[TASK_COLUMNS] = {
	[TASK_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[TASK_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[TASK_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TASK_CONNECTION] = { "connectionId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TASK_ID] = { "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
	[TASK_TYPE] = { "taskType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TASK_STREAM] = { "streamId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TASK_NUMBER] = { "taskId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_task =
	CHECKED("TASK", task_columns,
		.small = VENDOR_BIT(TASK_DEVICE) | VENDOR_BIT(TASK_TYPE) | VENDOR_BIT(TASK_STREAM),
		.ids = VENDOR_BIT(TASK_ID),
		.always = VENDOR_BIT(TASK_ID) | VENDOR_BIT(TASK_DEVICE) | VENDOR_BIT(TASK_TYPE));

static const struct np_scan_column kernel_columns[KERNEL_COLUMNS] = {
	[KERNEL_NAME] = { "name", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_TASK] = { "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
	/* Where both are there, blockDim is something else (threads). */
	[KERNEL_BLOCKS] = { "blockNum|blockDim", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_MIX_BLOCKS] = { "mixBlockNum|mixBlockDim", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_CORE] = { "taskType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_TYPE] = { "opType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_IN_FORMATS] = { "inputFormats", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_IN_TYPES] = { "inputDataTypes", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_IN_SHAPES] = { "inputShapes", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_OUT_FORMATS] = { "outputFormats", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_OUT_TYPES] = { "outputDataTypes", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_OUT_SHAPES] = { "outputShapes", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_STATE] = { "opState", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_compute_task =
	CHECKED("COMPUTE_TASK_INFO", kernel_columns,
		.small = VENDOR_BIT(KERNEL_NAME) | VENDOR_BIT(KERNEL_TYPE) |
			 VENDOR_BIT(KERNEL_CORE) | VENDOR_BIT(KERNEL_IN_FORMATS) |
			 VENDOR_BIT(KERNEL_IN_TYPES) | VENDOR_BIT(KERNEL_IN_SHAPES) |
			 VENDOR_BIT(KERNEL_OUT_FORMATS) | VENDOR_BIT(KERNEL_OUT_TYPES) |
			 VENDOR_BIT(KERNEL_OUT_SHAPES) | VENDOR_BIT(KERNEL_STATE),
		.ids = VENDOR_BIT(KERNEL_TASK), .always = VENDOR_BIT(KERNEL_TASK));
const struct vendor_table vendor_schedule_task =
	TABLE("COMMUNICATION_SCHEDULE_TASK_INFO", kernel_columns);

static const struct np_scan_column counter_columns[COUNTER_COLUMNS] = {
	[COUNTER_TASK] = { "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
	[COUNTER_NAME] = { "name", NP_SCAN_INTEGER, NP_REQUIRED },
	[COUNTER_VALUE] = { "value", NP_SCAN_REAL, NP_REQUIRED },
};

const struct vendor_table vendor_task_pmu = TABLE("TASK_PMU_INFO", counter_columns);

static const struct np_scan_column frequency_columns[FREQUENCY_COLUMNS] = {
	[FREQUENCY_TIME] = { "timestampNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[FREQUENCY_MHZ] = { "freq", NP_SCAN_INTEGER, NP_REQUIRED },
	[FREQUENCY_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_aicore_freq =
	CHECKED("AICORE_FREQ", frequency_columns, .times = VENDOR_BIT(FREQUENCY_TIME),
		.small = VENDOR_BIT(FREQUENCY_MHZ), .always = VENDOR_BIT(FREQUENCY_TIME));

static const struct np_scan_column overlap_columns[OVERLAP_COLUMNS] = {
	[OVERLAP_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[OVERLAP_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[OVERLAP_TYPE] = { "type", NP_SCAN_INTEGER, NP_REQUIRED },
	[OVERLAP_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_overlap = TABLE("OVERLAP_ANALYSIS", overlap_columns);

/* --- communication --------------------------------------------------------------------------- */

static const struct np_scan_column op_columns[OP_COLUMNS] = {
	[OP_NAME] = { "opName", NP_SCAN_INTEGER, NP_REQUIRED },
	[OP_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[OP_END] = { "endNs", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_CONNECTION] = { "connectionId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_GROUP] = { "groupName", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_ID] = { "opId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_DATA_TYPE] = { "dataType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_COUNT] = { "count", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_RELAY] = { "relay", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_RETRY] = { "retry", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_TYPE] = { "opType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_ALG_TYPE] = { "algType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_communication_op =
	CHECKED("COMMUNICATION_OP", op_columns, .sizes = VENDOR_BIT(OP_COUNT),
		.small = VENDOR_BIT(OP_NAME) | VENDOR_BIT(OP_GROUP) | VENDOR_BIT(OP_TYPE) |
			 VENDOR_BIT(OP_DATA_TYPE),
		.ids = VENDOR_BIT(OP_ID),
		.always = VENDOR_BIT(OP_NAME) | VENDOR_BIT(OP_GROUP) | VENDOR_BIT(OP_ID));

static const struct np_scan_column sub_task_columns[SUB_TASK_COLUMNS] = {
	[SUB_TASK_TASK] = { "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
	[SUB_TASK_TYPE] = { "taskType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_PLANE] = { "planeId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_NOTIFY] = { "notifyId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_RDMA] = { "rdmaType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_SRC] = { "srcRank", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_DST] = { "dstRank", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_TRANSPORT] = { "transportType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_SIZE] = { "size", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_DATA_TYPE] = { "dataType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_LINK] = { "linkType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_OP] = { "opId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_MASTER] = { "isMaster", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SUB_TASK_BANDWIDTH] = { "bandwidth", NP_SCAN_REAL, NP_OPTIONAL },
};

const struct vendor_table vendor_communication_task =
	/* Sizes that were not recorded are -1: who reads them counts them. */
	CHECKED("COMMUNICATION_TASK_INFO", sub_task_columns,
		.small = VENDOR_BIT(SUB_TASK_TYPE) | VENDOR_BIT(SUB_TASK_TRANSPORT),
		.ranks = VENDOR_BIT(SUB_TASK_SRC) | VENDOR_BIT(SUB_TASK_DST),
		.ids = VENDOR_BIT(SUB_TASK_TASK) | VENDOR_BIT(SUB_TASK_OP),
		.always = VENDOR_BIT(SUB_TASK_TASK));

static const struct np_scan_column ccu_columns[CCU_COLUMNS] = {
	[CCU_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[CCU_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[CCU_NAME] = { "name", NP_SCAN_INTEGER, NP_OPTIONAL },
	[CCU_ARGUMENTS] = { "args", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_ccu = TABLE("CCU", ccu_columns);

static const struct np_scan_column dpu_columns[DPU_COLUMNS] = {
	[DPU_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[DPU_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[DPU_NAME] = { "opName", NP_SCAN_INTEGER, NP_OPTIONAL },
	[DPU_ARGUMENTS] = { "args", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_dpu_task = TABLE("DPU_TASK", dpu_columns);

/* --- memory ---------------------------------------------------------------------------------- */

static const struct np_scan_column record_columns[RECORD_COLUMNS] = {
	[RECORD_TIME] = { "timestamp", NP_SCAN_INTEGER, NP_OPTIONAL },
	[RECORD_COMPONENT] = { "component", NP_SCAN_INTEGER, NP_REQUIRED },
	[RECORD_ALLOCATED] = { "totalAllocated", NP_SCAN_INTEGER, NP_OPTIONAL },
	[RECORD_RESERVED] = { "totalReserved", NP_SCAN_INTEGER, NP_OPTIONAL },
	[RECORD_ACTIVE] = { "totalActive", NP_SCAN_INTEGER, NP_OPTIONAL },
	[RECORD_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_memory_record =
	CHECKED("MEMORY_RECORD", record_columns, .times = VENDOR_BIT(RECORD_TIME),
		.sizes = VENDOR_BIT(RECORD_ALLOCATED) | VENDOR_BIT(RECORD_RESERVED) |
			 VENDOR_BIT(RECORD_ACTIVE),
		.small = VENDOR_BIT(RECORD_COMPONENT),
		.always = VENDOR_BIT(RECORD_TIME) | VENDOR_BIT(RECORD_COMPONENT));

static const struct np_scan_column memop_columns[MEMOP_COLUMNS] = {
	[MEMOP_NAME] = { "name", NP_SCAN_INTEGER, NP_REQUIRED },
	[MEMOP_SIZE] = { "size", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMOP_ALLOC] = { "allocationTime", NP_SCAN_INTEGER, NP_OPTIONAL },
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

/* Some rows know only their release; sizes of some are negative. */
const struct vendor_table vendor_op_memory =
	CHECKED("OP_MEMORY", memop_columns,
		.times = VENDOR_BIT(MEMOP_ALLOC) | VENDOR_BIT(MEMOP_RELEASE) |
			 VENDOR_BIT(MEMOP_ACTIVE_RELEASE),
		.sizes = VENDOR_BIT(MEMOP_ALLOC_ALLOCATED) | VENDOR_BIT(MEMOP_ALLOC_RESERVED) |
			 VENDOR_BIT(MEMOP_ALLOC_ACTIVE) | VENDOR_BIT(MEMOP_RELEASE_ALLOCATED) |
			 VENDOR_BIT(MEMOP_RELEASE_RESERVED) | VENDOR_BIT(MEMOP_RELEASE_ACTIVE),
		.small = VENDOR_BIT(MEMOP_NAME));

static const struct np_scan_column memory_event_columns[MEMORY_EVENT_COLUMNS] = {
	[MEMORY_EVENT_NAME] = { "operatorName", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMORY_EVENT_ADDRESS] = { "addr", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMORY_EVENT_TYPE] = { "type", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMORY_EVENT_SIZE] = { "size", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMORY_EVENT_TIME] = { "timestampNs", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMORY_EVENT_ALLOCATED] = { "totalAllocate", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMORY_EVENT_RESERVED] = { "totalReserve", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMORY_EVENT_COMPONENT] = { "component", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MEMORY_EVENT_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_npu_op_mem =
	CHECKED("NPU_OP_MEM", memory_event_columns, .times = VENDOR_BIT(MEMORY_EVENT_TIME),
		.sizes = VENDOR_BIT(MEMORY_EVENT_ALLOCATED) | VENDOR_BIT(MEMORY_EVENT_RESERVED),
		.always = VENDOR_BIT(MEMORY_EVENT_TIME));

static const struct np_scan_column process_columns[PROCESS_COLUMNS] = {
	[PROCESS_TIME] = { "timestampNs", NP_SCAN_INTEGER, NP_OPTIONAL },
	[PROCESS_TYPE] = { "type", NP_SCAN_INTEGER, NP_REQUIRED },
	[PROCESS_HBM] = { "hbm", NP_SCAN_INTEGER, NP_OPTIONAL },
	[PROCESS_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_npu_mem =
	CHECKED("NPU_MEM", process_columns, .times = VENDOR_BIT(PROCESS_TIME),
		.sizes = VENDOR_BIT(PROCESS_HBM), .small = VENDOR_BIT(PROCESS_TYPE),
		.always = VENDOR_BIT(PROCESS_TIME));

static const struct np_scan_column module_columns[MODULE_COLUMNS] = {
	[MODULE_TIME] = { "timestampNs", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MODULE_ID] = { "moduleId", NP_SCAN_INTEGER, NP_REQUIRED },
	[MODULE_RESERVED] = { "totalReserved", NP_SCAN_INTEGER, NP_OPTIONAL },
	[MODULE_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

const struct vendor_table vendor_npu_module_mem =
	CHECKED("NPU_MODULE_MEM", module_columns, .times = VENDOR_BIT(MODULE_TIME),
		.sizes = VENDOR_BIT(MODULE_RESERVED), .always = VENDOR_BIT(MODULE_TIME));

/* --- what ranks of a job have in common ------------------------------------------------------- */

const struct vendor_table *const vendor_compared[VENDOR_COMPARED] = {
	&vendor_task,
	&vendor_compute_task,
	&vendor_communication_op,
	&vendor_communication_task,
	&vendor_cann_api,
	&vendor_pytorch_api,
	&vendor_connection_ids,
	&vendor_step_time,
	&vendor_memory_record,
	&vendor_op_memory,
	&vendor_npu_mem,
	&vendor_npu_module_mem,
	&vendor_aicore_freq,
	&vendor_host_info,
	&vendor_meta_data,
	&vendor_task_pmu,
};
