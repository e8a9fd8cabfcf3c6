/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VENDOR_TEXT_COLUMNS_H
#define NP_VENDOR_TEXT_COLUMNS_H

/*
 * The columns of the vendor's CSV files that both load/ and detail/ read
 * ======================================================================
 *
 * Every version of a profiler has other columns in another order; a file of msprof has
 * some under other names. Each file is described once. The columns that loading a rank
 * takes come first in a list, so that it can leave out the others.
 */

#include "npuprof/csv.h"

#define VENDOR_COLUMN_BIT(column) (UINT32_C(1) << (column))

/*
 * Open a file for the first `count` of these columns; those in `required` (bits) must be
 * there beside those that every reader needs. Fails as np_csv_open() does.
 */
int vendor_csv_open(const char *path, const struct np_csv_column *columns, size_t count,
		    uint32_t required, struct np_csv **ret, struct np_err *err) NP_MUST_USE;

/* kernel_details.csv, and op_summary of msprof; what it has beside these are counters. */
enum {
	KERNELS_STEP,
	KERNELS_DEVICE,
	KERNELS_NAME,
	KERNELS_TYPE,
	KERNELS_STREAM,
	KERNELS_TASK,
	KERNELS_CORE,
	KERNELS_START,
	KERNELS_DURATION,
	KERNELS_IN_SHAPES,
	KERNELS_LOADED, /* the others are for details */
	KERNELS_STATE = KERNELS_LOADED,
	KERNELS_WAIT,
	KERNELS_BLOCKS,
	KERNELS_MIX_BLOCKS,
	KERNELS_IN_TYPES,
	KERNELS_IN_FORMATS,
	KERNELS_OUT_SHAPES,
	KERNELS_OUT_TYPES,
	KERNELS_OUT_FORMATS,
	KERNELS_COLUMNS,
};

extern const struct np_csv_column vendor_kernels[KERNELS_COLUMNS];

/* Is a column of that file a counter of the AI cores? */
bool vendor_kernels_is_counter(const char *name);

/*
 * memory_record.csv and npu_module_mem.csv: in MB as torch_npu writes them, in KB as msprof
 * does (VENDOR_MB, VENDOR_KB).
 */
enum {
	COMPONENT_NAME,
	COMPONENT_TIME,
	COMPONENT_RESERVED_MB,
	COMPONENT_RESERVED_KB,
	COMPONENT_ALLOCATED_MB,
	COMPONENT_ALLOCATED_KB,
	COMPONENT_LOADED, /* the others are for details */
	COMPONENT_ACTIVE_MB = COMPONENT_LOADED,
	COMPONENT_ACTIVE_KB,
	COMPONENT_DEVICE, /* "NPU:4" */
	COMPONENT_COLUMNS,
};

extern const struct np_csv_column vendor_memory_components[COMPONENT_COLUMNS];

/* operator_memory.csv: likewise. */
enum {
	OPERATOR_NAME,
	OPERATOR_SIZE_KB,
	OPERATOR_ALLOC,
	OPERATOR_ALLOC_ALLOCATED_MB,
	OPERATOR_ALLOC_ALLOCATED_KB,
	OPERATOR_ALLOC_RESERVED_MB,
	OPERATOR_ALLOC_RESERVED_KB,
	OPERATOR_RELEASE,
	OPERATOR_RELEASE_ALLOCATED_MB,
	OPERATOR_RELEASE_ALLOCATED_KB,
	OPERATOR_RELEASE_RESERVED_MB,
	OPERATOR_RELEASE_RESERVED_KB,
	OPERATOR_LOADED, /* the others are for details */
	OPERATOR_ACTIVE_RELEASE = OPERATOR_LOADED,
	OPERATOR_ALLOC_ACTIVE_MB,
	OPERATOR_ALLOC_ACTIVE_KB,
	OPERATOR_RELEASE_ACTIVE_MB,
	OPERATOR_RELEASE_ACTIVE_KB,
	OPERATOR_DEVICE,
	OPERATOR_COLUMNS,
};

extern const struct np_csv_column vendor_memory_operators[OPERATOR_COLUMNS];

/*
 * The µs of a cell as ns; false if it is no number. Spreadsheets write thousands apart when they
 * save a table again, as "1,234.567".
 */
bool vendor_time_of(struct np_slice cell, np_ns *ret);

/*
 * Bytes of a size that is in MB or in KB: a file has one of the two columns, and the other cell is
 * empty. NP_UNKNOWN for what is no number; negative sizes are kept.
 */
int64_t vendor_memory_bytes(struct np_slice mb, struct np_slice kb);

/* static_op_mem.csv of torch_npu, MindSpore and msprof: what compiled graphs plan. */
enum {
	STATIC_NAME, /* "TOTAL" in the last row */
	STATIC_MODEL,
	STATIC_GRAPH,
	STATIC_BEGIN,
	STATIC_END,
	STATIC_SIZE_KB,
	STATIC_DEVICE, /* a number */
	STATIC_COLUMNS,
};

extern const struct np_csv_column vendor_static_memory[STATIC_COLUMNS];

#endif /* NP_VENDOR_TEXT_COLUMNS_H */
