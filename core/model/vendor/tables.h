/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VENDOR_TABLES_H
#define NP_VENDOR_TABLES_H

/*
 * The tables of the vendor's rank database
 * ========================================
 *
 * Which columns does a table have, of what type, and under which names in which version?
 * Each table is described once: an enum of its columns, by which a reader finds them in
 * a batch, and a struct vendor_table with their names. A reader picks the columns that
 * it wants; the others are not read, and their places in the batch hold nothing.
 *
 *	static const struct vendor_pick wanted = {
 *		&vendor_task, VENDOR_BIT(TASK_START) | VENDOR_BIT(TASK_END), 0
 *	};
 *
 *	rc = vendor_scan_open(db, &wanted, &scan, err);
 *	… batch.column[TASK_START].integer[row] …
 *
 * A column is required here if no reader can do without it. Readers differ in what else
 * they need: they say so in `required`. Texts are ids of STRING_IDS unless they are noted
 * as text. Tables come and go with versions, levels and switches.
 */

#include "npuprof/scan.h"

struct vendor_table {
	const char *name;
	const struct np_scan_column *columns;
	size_t count;
	/* Which values can be (bits of columns): others are damage. What is in none of these is not
	 * looked at. */
	uint32_t times;  /* since 1970, in ns */
	uint32_t sizes;  /* bytes and counts: not negative, and no petabyte */
	uint32_t small;  /* ids of texts, devices, streams: 32 bits */
	uint32_t ids;    /* not negative */
	uint32_t ranks;  /* of a communicator */
	uint32_t always; /* never NULL where the column is there */
};

#define VENDOR_BIT(column) (UINT32_C(1) << (column))

struct vendor_pick {
	const struct vendor_table *table;
	uint32_t columns;  /* bits; 0: all */
	uint32_t required; /* bits: beside those that every reader needs */
};

/* Begin to read the columns picked; fails as np_scan_open() does. */
int vendor_scan_open(struct np_db *db, const struct vendor_pick *pick, struct np_scan **ret,
		     struct np_err *err) NP_MUST_USE;

/*
 * How many values of a batch are impossible, by the table's description: the reader takes them for
 * unknown, and says how many there were.
 */
size_t vendor_impossible(const struct vendor_pick *pick, const struct np_scan *scan,
			 const struct np_batch *batch);

/* Likewise those of all rows read, which are there and of another type; NULLs of impossible ones
 * are not among them. */
size_t vendor_mistyped(const struct vendor_pick *pick, const struct np_scan *scan);

/* --- texts and names ------------------------------------------------------------------------- */

/* STRING_IDS; the value is text. */
enum {
	STRING_ID,
	STRING_VALUE,
	STRING_COLUMNS,
};

extern const struct vendor_table vendor_string_ids;

/* ENUM_*: the names, which are text, of numbers in other tables. */
enum {
	ENUM_ID,
	ENUM_NAME,
	ENUM_COLUMNS,
};

extern const struct vendor_table vendor_enum_data_type; /* HCCL_DATA_TYPE */
extern const struct vendor_table vendor_enum_link;      /* HCCL_LINK_TYPE */
extern const struct vendor_table vendor_enum_transport; /* HCCL_TRANSPORT_TYPE */
extern const struct vendor_table vendor_enum_rdma;      /* HCCL_RDMA_TYPE */
extern const struct vendor_table vendor_enum_api;       /* API_TYPE: levels of CANN_API */
extern const struct vendor_table vendor_enum_module;    /* MODULE: of NPU_MODULE_MEM */

/* META_DATA; both are text. */
enum {
	META_NAME,
	META_VALUE,
	META_COLUMNS,
};

extern const struct vendor_table vendor_meta_data;

/* HOST_INFO; both are text. */
enum {
	HOST_UID,
	HOST_NAME,
	HOST_COLUMNS,
};

extern const struct vendor_table vendor_host_info;

/* SESSION_TIME_INFO: when was collected; one row. */
enum {
	SESSION_START,
	SESSION_END,
	SESSION_COLUMNS,
};

extern const struct vendor_table vendor_session;

/* NPU_INFO; the name is text. */
enum {
	NPU_ID,
	NPU_NAME,
	NPU_COLUMNS,
};

extern const struct vendor_table vendor_npu_info;

/* RANK_DEVICE_MAP; the rank is -1 where the exporter did not know it. */
enum {
	MAP_RANK,
	MAP_DEVICE,
	MAP_COLUMNS,
};

extern const struct vendor_table vendor_rank_device_map;

/* --- the host -------------------------------------------------------------------------------- */

/* STEP_TIME; the id is text. */
enum {
	STEP_ROW_ID,
	STEP_ROW_START,
	STEP_ROW_END,
	STEP_ROW_COLUMNS,
};

extern const struct vendor_table vendor_step_time;

/* CANN_API: calls of CANN; the type is one of enum vendor_api (task_types.h). */
enum {
	CALL_START,
	CALL_END,
	CALL_TYPE,
	CALL_THREAD,
	CALL_CONNECTION,
	CALL_NAME,
	CALL_COLUMNS,
};

extern const struct vendor_table vendor_cann_api;

/* PYTORCH_API: calls of the framework; its times are stored as text. */
enum {
	TORCH_START,
	TORCH_END,
	TORCH_THREAD,
	TORCH_CONNECTION, /* id of CONNECTION_IDS */
	TORCH_NAME,
	TORCH_SEQUENCE,
	TORCH_FORWARD,
	TORCH_KIND, /* enum vendor_torch (task_types.h) */
	TORCH_TYPES,
	TORCH_SHAPES,
	TORCH_CHAIN, /* id of PYTORCH_CALLCHAINS */
	TORCH_COLUMNS,
};

extern const struct vendor_table vendor_pytorch_api;

/* PYTORCH_CALLCHAINS: frames of a chain stand together, from the innermost outwards. */
enum {
	CHAIN_ID,
	CHAIN_FRAME,
	CHAIN_COLUMNS,
};

extern const struct vendor_table vendor_callchains;

/* CONNECTION_IDS: what a call of the framework launched. */
enum {
	CONNECTION_ID,
	CONNECTION_VALUE,
	CONNECTION_COLUMNS,
};

extern const struct vendor_table vendor_connection_ids;

/* MSTX_EVENTS: marks that the application left. */
enum {
	MARK_START,
	MARK_END,
	MARK_KIND,
	MARK_MESSAGE,
	MARK_THREAD,
	MARK_DOMAIN,
	MARK_CONNECTION,
	MARK_COLUMNS,
};

extern const struct vendor_table vendor_mstx_events;

/* GC_RECORD: when Python collected its garbage. */
enum {
	GC_START,
	GC_END,
	GC_THREAD,
	GC_COLUMNS,
};

extern const struct vendor_table vendor_gc_record;

/* --- the device ------------------------------------------------------------------------------ */

/* TASK */
enum {
	TASK_START,
	TASK_END,
	TASK_DEVICE,
	TASK_CONNECTION,
	TASK_ID, /* by which other tables name it */
	TASK_TYPE,
	TASK_STREAM,
	TASK_NUMBER, /* on its stream */
	TASK_COLUMNS,
};

extern const struct vendor_table vendor_task;

/* COMPUTE_TASK_INFO, and COMMUNICATION_SCHEDULE_TASK_INFO for kernels of communication. */
enum {
	KERNEL_NAME,
	KERNEL_TASK, /* TASK_ID */
	KERNEL_BLOCKS,
	KERNEL_MIX_BLOCKS,
	KERNEL_CORE,
	KERNEL_TYPE,
	KERNEL_IN_FORMATS,
	KERNEL_IN_TYPES,
	KERNEL_IN_SHAPES,
	KERNEL_OUT_FORMATS,
	KERNEL_OUT_TYPES,
	KERNEL_OUT_SHAPES,
	KERNEL_STATE,
	KERNEL_COLUMNS,
};

extern const struct vendor_table vendor_compute_task;
extern const struct vendor_table vendor_schedule_task;

/* TASK_PMU_INFO: counters of kernels. */
enum {
	COUNTER_TASK, /* TASK_ID */
	COUNTER_NAME,
	COUNTER_VALUE,
	COUNTER_COLUMNS,
};

extern const struct vendor_table vendor_task_pmu;

/* AICORE_FREQ */
enum {
	FREQUENCY_TIME,
	FREQUENCY_MHZ,
	FREQUENCY_DEVICE,
	FREQUENCY_COLUMNS,
};

extern const struct vendor_table vendor_aicore_freq;

/* OVERLAP_ANALYSIS: when the device did what, as the exporter found; disjoint by type. */
enum {
	OVERLAP_START,
	OVERLAP_END,
	OVERLAP_TYPE,
	OVERLAP_DEVICE,
	OVERLAP_COLUMNS,
};

/* The types of what computes and communicates; the others follow from them. */
#define VENDOR_OVERLAP_COMPUTE       0
#define VENDOR_OVERLAP_COMMUNICATION 1

extern const struct vendor_table vendor_overlap;

/* --- communication --------------------------------------------------------------------------- */

/* COMMUNICATION_OP */
enum {
	OP_NAME,
	OP_START,
	OP_END,
	OP_CONNECTION,
	OP_GROUP,
	OP_ID,
	OP_DATA_TYPE, /* hccl_types.h */
	OP_COUNT,     /* of elements */
	OP_RELAY,
	OP_RETRY,
	OP_TYPE, /* not in old databases; N/A at Level0 */
	OP_ALG_TYPE,
	OP_DEVICE, /* of newer ones */
	OP_COLUMNS,
};

extern const struct vendor_table vendor_communication_op;

/* COMMUNICATION_TASK_INFO */
enum {
	SUB_TASK_TASK, /* TASK_ID */
	SUB_TASK_TYPE,
	SUB_TASK_PLANE,
	SUB_TASK_NOTIFY,
	SUB_TASK_RDMA,
	SUB_TASK_SRC,
	SUB_TASK_DST,
	SUB_TASK_TRANSPORT,
	SUB_TASK_SIZE,
	SUB_TASK_DATA_TYPE,
	SUB_TASK_LINK,
	SUB_TASK_OP, /* OP_ID */
	SUB_TASK_MASTER,
	SUB_TASK_BANDWIDTH, /* bytes per second */
	SUB_TASK_COLUMNS,
};

extern const struct vendor_table vendor_communication_task;

/* CCU: what engines of communication did; arguments are JSON in a text of STRING_IDS. */
enum {
	CCU_START,
	CCU_END,
	CCU_NAME,
	CCU_ARGUMENTS,
	CCU_COLUMNS,
};

extern const struct vendor_table vendor_ccu;

/* DPU_TASK: likewise data processing units, for communication and other things. */
enum {
	DPU_START,
	DPU_END,
	DPU_NAME,
	DPU_ARGUMENTS,
	DPU_COLUMNS,
};

extern const struct vendor_table vendor_dpu_task;

/* --- memory ---------------------------------------------------------------------------------- */

/* MEMORY_RECORD: what components hold. */
enum {
	RECORD_TIME,
	RECORD_COMPONENT,
	RECORD_ALLOCATED,
	RECORD_RESERVED,
	RECORD_ACTIVE,
	RECORD_DEVICE,
	RECORD_COLUMNS,
};

extern const struct vendor_table vendor_memory_record;

/* OP_MEMORY: what operators of the framework allocated. */
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

extern const struct vendor_table vendor_op_memory;

/* NPU_OP_MEM: likewise operators of GE, at each allocation and release. */
enum {
	MEMORY_EVENT_NAME,
	MEMORY_EVENT_ADDRESS,
	MEMORY_EVENT_TYPE,
	MEMORY_EVENT_SIZE,
	MEMORY_EVENT_TIME,
	MEMORY_EVENT_ALLOCATED,
	MEMORY_EVENT_RESERVED,
	MEMORY_EVENT_COMPONENT,
	MEMORY_EVENT_DEVICE,
	MEMORY_EVENT_COLUMNS,
};

extern const struct vendor_table vendor_npu_op_mem;

/* NPU_MEM: what the process ("app") and the device hold. */
enum {
	PROCESS_TIME,
	PROCESS_TYPE,
	PROCESS_HBM,
	PROCESS_DEVICE,
	PROCESS_COLUMNS,
};

extern const struct vendor_table vendor_npu_mem;

/* The type of a row of the process in NPU_MEM. */
#define VENDOR_NPU_MEM_PROCESS "app"

/* NPU_MODULE_MEM: what modules of CANN reserve. */
enum {
	MODULE_TIME,
	MODULE_ID,
	MODULE_RESERVED,
	MODULE_DEVICE,
	MODULE_COLUMNS,
};

extern const struct vendor_table vendor_npu_module_mem;

/*
 * Tables that ranks which were profiled alike have all or none of them: bit NP_CONTENTS_TABLES + i
 * of a rank's contents says that the rank has rows of the i-th.
 */
#define VENDOR_COMPARED 16

extern const struct vendor_table *const vendor_compared[VENDOR_COMPARED];

#endif /* NP_VENDOR_TABLES_H */
