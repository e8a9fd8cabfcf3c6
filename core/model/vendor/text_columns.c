/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's CSV files: the names of their columns, by version and by tool. */
#include "text_columns.h"
#include "values.h"

#include "npuprof/text.h"

#include <assert.h>

/* More than any list below has. */
#define MOST_COLUMNS 32

int vendor_csv_open(const char *path, const struct np_csv_column *columns, size_t count,
		    uint32_t required, struct np_csv **ret, struct np_err *err)
{
	struct np_csv_column wanted[MOST_COLUMNS];

	assert(count <= MOST_COLUMNS);
	for (size_t i = 0; i < count; i++) {
		wanted[i] = columns[i];
		if (required & VENDOR_COLUMN_BIT(i))
			wanted[i].need = NP_REQUIRED;
	}
	return np_csv_open(path, wanted, count, ret, err);
}

const struct np_csv_column vendor_kernels[KERNELS_COLUMNS] = {
	[KERNELS_STEP] = { "Step Id", NP_OPTIONAL },
	[KERNELS_DEVICE] = { "Device_id", NP_OPTIONAL },
	[KERNELS_NAME] = { "Name|Op Name|kernel_name", NP_REQUIRED },
	[KERNELS_TYPE] = { "Type|OP Type", NP_OPTIONAL },
	[KERNELS_STREAM] = { "Stream ID|stream_id", NP_OPTIONAL },
	[KERNELS_TASK] = { "Task ID|task_id", NP_OPTIONAL },
	[KERNELS_CORE] = { "Accelerator Core|Task Type|kernel_type", NP_OPTIONAL },
	[KERNELS_START] = { "Start Time(us)|Task Start Time(us)|task_start(us)", NP_REQUIRED },
	[KERNELS_DURATION] = { "Duration(us)|Task Duration(us)|task_time(us)", NP_REQUIRED },
	[KERNELS_STATE] = { "OP State", NP_OPTIONAL },
	[KERNELS_WAIT] = { "Wait Time(us)|Task Wait Time(us)", NP_OPTIONAL },
	[KERNELS_BLOCKS] = { "Block Num|Block Dim", NP_OPTIONAL },
	[KERNELS_MIX_BLOCKS] = { "Mix Block Num|Mix Block Dim", NP_OPTIONAL },
	[KERNELS_IN_SHAPES] = { "Input Shapes", NP_OPTIONAL },
	[KERNELS_IN_TYPES] = { "Input Data Types", NP_OPTIONAL },
	[KERNELS_IN_FORMATS] = { "Input Formats", NP_OPTIONAL },
	[KERNELS_OUT_SHAPES] = { "Output Shapes", NP_OPTIONAL },
	[KERNELS_OUT_TYPES] = { "Output Data Types", NP_OPTIONAL },
	[KERNELS_OUT_FORMATS] = { "Output Formats", NP_OPTIONAL },
};

bool vendor_kernels_is_counter(const char *name)
{
	/* Neither used above nor counters. */
	static const char *const others[] = { "Model ID",     "Model Name",    "Infer ID",
					      "Context ID",   "HF32 Eligible", "Grid Dim",
					      "task_stop(us)" };

	for (size_t i = 0; i < NP_COUNT(others); i++) {
		if (strcmp(name, others[i]) == 0)
			return false;
	}
	for (size_t i = 0; i < KERNELS_COLUMNS; i++) {
		const char *names = vendor_kernels[i].names;
		const char *found = strstr(names, name);

		if (found && (found == names || found[-1] == '|'))
			return false;
	}
	/* Names for people are capitalised, those of counters are not. */
	return name[0] >= 'a' && name[0] <= 'z';
}

const struct np_csv_column vendor_memory_components[COMPONENT_COLUMNS] = {
	[COMPONENT_NAME] = { "Component", NP_REQUIRED },
	[COMPONENT_TIME] = { "Timestamp(us)", NP_OPTIONAL },
	[COMPONENT_RESERVED_MB] = { "Total Reserved(MB)", NP_OPTIONAL },
	[COMPONENT_RESERVED_KB] = { "Total Reserved(KB)", NP_OPTIONAL },
	[COMPONENT_ALLOCATED_MB] = { "Total Allocated(MB)", NP_OPTIONAL },
	[COMPONENT_ALLOCATED_KB] = { "Total Allocated(KB)", NP_OPTIONAL },
	[COMPONENT_ACTIVE_MB] = { "Total Active(MB)", NP_OPTIONAL },
	[COMPONENT_ACTIVE_KB] = { "Total Active(KB)", NP_OPTIONAL },
	[COMPONENT_DEVICE] = { "Device Type|Device", NP_OPTIONAL },
};

/* Longer than any number with commas in it. */
#define NUMBER_ROOM 32

/* Leave out the commas between groups of three digits; 0 where there are none, or others. */
static size_t drop_commas(struct np_slice cell, char room[NUMBER_ROOM])
{
	size_t length = 0;
	size_t group = 0;
	bool any = false;

	if (cell.length > NUMBER_ROOM)
		return 0;
	for (size_t i = 0; i < cell.length; i++) {
		char c = cell.bytes[i];
		bool digit = c >= '0' && c <= '9';

		if (!digit && any && group != 3) {
			return 0;
		} else if (c == ',') {
			if (group == 0 || group > 3)
				return 0;
			any = true;
			group = 0;
			continue;
		} else if (!digit) {
			memcpy(&room[length], &cell.bytes[i], cell.length - i);
			return any && !memchr(&cell.bytes[i], ',', cell.length - i)
				       ? length + cell.length - i
				       : 0;
		}
		room[length++] = c;
		group++;
	}
	return any && group == 3 ? length : 0;
}

bool vendor_time_of(struct np_slice cell, np_ns *ret)
{
	char room[NUMBER_ROOM];
	size_t length;

	if (np_text_to_scaled(cell.bytes, cell.length, VENDOR_US_DECIMALS, ret))
		return true;
	length = drop_commas(cell, room);
	return length > 0 && np_text_to_scaled(room, length, VENDOR_US_DECIMALS, ret);
}

/* A millionth of a MB is a byte, and rounding to it half of one too much: one more decimal. */
static int64_t scaled(struct np_slice cell, int64_t unit)
{
	int64_t parts;
	int64_t product;

	if (!np_text_to_scaled(cell.bytes, cell.length, 7, &parts) ||
	    __builtin_mul_overflow(parts, unit, &product) ||
	    __builtin_add_overflow(product, product < 0 ? -5000000 : 5000000, &product))
		return NP_UNKNOWN;
	return product / 10000000;
}

int64_t vendor_memory_bytes(struct np_slice mb, struct np_slice kb)
{
	return mb.length > 0 ? scaled(mb, VENDOR_MB) : scaled(kb, VENDOR_KB);
}

const struct np_csv_column vendor_memory_operators[OPERATOR_COLUMNS] = {
	[OPERATOR_NAME] = { "Name", NP_REQUIRED },
	[OPERATOR_SIZE_KB] = { "Size(KB)", NP_OPTIONAL },
	[OPERATOR_ALLOC] = { "Allocation Time(us)", NP_OPTIONAL },
	[OPERATOR_ALLOC_ALLOCATED_MB] = { "Allocation Total Allocated(MB)", NP_OPTIONAL },
	[OPERATOR_ALLOC_ALLOCATED_KB] = { "Allocation Total Allocated(KB)", NP_OPTIONAL },
	[OPERATOR_ALLOC_RESERVED_MB] = { "Allocation Total Reserved(MB)", NP_OPTIONAL },
	[OPERATOR_ALLOC_RESERVED_KB] = { "Allocation Total Reserved(KB)", NP_OPTIONAL },
	[OPERATOR_RELEASE] = { "Release Time(us)", NP_OPTIONAL },
	[OPERATOR_RELEASE_ALLOCATED_MB] = { "Release Total Allocated(MB)", NP_OPTIONAL },
	[OPERATOR_RELEASE_ALLOCATED_KB] = { "Release Total Allocated(KB)", NP_OPTIONAL },
	[OPERATOR_RELEASE_RESERVED_MB] = { "Release Total Reserved(MB)", NP_OPTIONAL },
	[OPERATOR_RELEASE_RESERVED_KB] = { "Release Total Reserved(KB)", NP_OPTIONAL },
	[OPERATOR_ACTIVE_RELEASE] = { "Active Release Time(us)", NP_OPTIONAL },
	[OPERATOR_ALLOC_ACTIVE_MB] = { "Allocation Total Active(MB)", NP_OPTIONAL },
	[OPERATOR_ALLOC_ACTIVE_KB] = { "Allocation Total Active(KB)", NP_OPTIONAL },
	[OPERATOR_RELEASE_ACTIVE_MB] = { "Release Total Active(MB)", NP_OPTIONAL },
	[OPERATOR_RELEASE_ACTIVE_KB] = { "Release Total Active(KB)", NP_OPTIONAL },
	[OPERATOR_DEVICE] = { "Device Type", NP_OPTIONAL },
};

const struct np_csv_column vendor_static_memory[STATIC_COLUMNS] = {
	[STATIC_NAME] = { "Op Name", NP_REQUIRED },
	[STATIC_MODEL] = { "Model Name", NP_OPTIONAL },
	[STATIC_GRAPH] = { "Graph ID", NP_OPTIONAL },
	[STATIC_BEGIN] = { "Node Index Start", NP_REQUIRED },
	[STATIC_END] = { "Node Index End", NP_REQUIRED },
	[STATIC_SIZE_KB] = { "Size(KB)", NP_REQUIRED },
	[STATIC_DEVICE] = { "Device_id", NP_OPTIONAL },
};
