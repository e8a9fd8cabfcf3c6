/* SPDX-License-Identifier: Apache-2.0 */
/* Types of tasks, operators and calls by the names that the vendor's files have for them. */
#include "task_types.h"

#include <ctype.h>
#include <strings.h>

/* --- the device ------------------------------------------------------------------------------ */

/* "SDMA_SQE", "Notify Wait" and "NOTIFY_WAIT" differ by version: only letters and digits count. */
static void vendor_plain_type(const char *type, size_t length, char *ret, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < length && used + 1 < size; i++) {
		unsigned char c = (unsigned char)type[i];

		if (isalnum(c))
			ret[used++] = (char)toupper(c);
	}
	if (used > 3 && strncmp(&ret[used - 3], "SQE", 3) == 0)
		used -= 3;
	ret[used] = '\0';
}

static bool is_one_of(const char *plain, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(plain, list[i]) == 0)
			return true;
	}
	return false;
}

enum task_class vendor_task_class(const char *type, size_t length)
{
	static const char *const outside[] = {
		"KERNELAICORE", "KERNELAIVEC", "FFTSPLUS",        "KERNELMIXAIC",    "KERNELMIXAIV",
		"MIXAIC",       "MIXAIV",      "PROFILINGENABLE", "PROFILINGDISABLE"
	};
	char plain[VENDOR_PLAIN_SIZE];

	vendor_plain_type(type, length, plain, sizeof(plain));
	if (strcmp(plain, "SDMA") == 0)
		return TASK_SDMA;
	if (strcmp(plain, "MEMCPYASYNC") == 0 || strncmp(plain, "PCIE", 4) == 0)
		return TASK_COPY;
	if (strcmp(plain, "NOTIFYWAIT") == 0)
		return TASK_NOTIFY_WAIT;
	return is_one_of(plain, outside, NP_COUNT(outside)) ? TASK_NOT_IN_EXTENT : TASK_OTHER;
}

bool vendor_is_kernel_task(const char *type, size_t length)
{
	static const char *const kernels[] = { "KERNELAICORE", "KERNELAIVEC", "KERNELMIXAIC",
					       "KERNELMIXAIV" };
	char plain[VENDOR_PLAIN_SIZE];

	vendor_plain_type(type, length, plain, sizeof(plain));
	return is_one_of(plain, kernels, NP_COUNT(kernels));
}

/* Vector kernels are AI_CORE in older traces. */
bool vendor_is_kernel_core(const char *type, size_t length)
{
	static const char *const cores[] = { "AICORE",       "AIVECTORCORE", "AIV",
					     "MIXAIC",       "MIXAIV",       "DSA",
					     "AICPU",        "KERNELAICORE", "KERNELAIVEC",
					     "KERNELMIXAIC", "KERNELMIXAIV", "KERNELAICPU" };
	char plain[VENDOR_PLAIN_SIZE];

	vendor_plain_type(type, length, plain, sizeof(plain));
	return is_one_of(plain, cores, NP_COUNT(cores));
}

bool vendor_is_no_kernel(const char *type, size_t length)
{
	/* Parts of names: "EVENT_WAIT", "NOTIFY_RECORD_SQE", "Write Value", "PCIE_DMA_SQE" … */
	static const char *const parts[] = { "EVENT",     "NOTIFY",      "WAIT",    "RECORD",
					     "MEMCPY",    "SDMA",        "DMA",     "WRITE",
					     "PROFILING", "MODEL",       "LABEL",   "STREAM",
					     "SWITCH",    "CMO",         "BARRIER", "MAINTAIN",
					     "ACTIVE",    "PLACEHOLDER", "REMOTE" };
	char plain[VENDOR_PLAIN_SIZE];

	vendor_plain_type(type, length, plain, sizeof(plain));
	for (size_t i = 0; i < NP_COUNT(parts); i++) {
		if (strstr(plain, parts[i]))
			return true;
	}
	return plain[0] == '\0';
}

bool vendor_is_other_task(struct np_slice core, struct np_slice name)
{
	if (core.length == 0 || vendor_is_kernel_core(core.bytes, core.length))
		return false;
	return np_slice_is(name, "N/A") || vendor_is_no_kernel(core.bytes, core.length);
}

const char *vendor_counter_name(const char *name, size_t length)
{
	static const char *const names[][2] = {
		{ "aicore_time", "aic_total_time" },
		{ "aiv_time", "aiv_total_time" },
	};

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		if (strlen(names[i][0]) == length && memcmp(name, names[i][0], length) == 0)
			return names[i][1];
	}
	return name;
}

/* --- communication --------------------------------------------------------------------------- */

bool vendor_is_operator(struct np_slice core, struct np_slice name)
{
	return np_slice_is(core, "HCCL") || np_slice_is(core, "COMMUNICATION") ||
	       (name.length > 5 && strncasecmp(name.bytes, "hcom_", 5) == 0);
}

bool vendor_is_communication_kernel(struct np_slice name)
{
	static const char *const ends[] = { "AicpuKernel", "AivKernel" };

	for (size_t i = 0; i < NP_COUNT(ends); i++) {
		size_t length = strlen(ends[i]);

		if (name.length >= length &&
		    memcmp(name.bytes + name.length - length, ends[i], length) == 0)
			return true;
	}
	return false;
}

/* Without the numbers at its end: "hcom_send_12" up to and with the second "_". */
static size_t without_numbers(const char *name, size_t length)
{
	size_t end = length;

	for (size_t i = length; i > 1; i--) {
		if (name[i - 1] == '_' && i < end)
			end = i;
		else if (name[i - 1] < '0' || name[i - 1] > '9')
			break;
	}
	return end;
}

size_t vendor_operator_type(const char *name, size_t length)
{
	const char *number = memmem(name, length, "__", 2);

	if (number)
		return (size_t)(number + 1 - name);
	return length > 5 && strncasecmp(name, "hcom_", 5) == 0 ? without_numbers(name, length)
								: length;
}

enum sub_task_kind vendor_sub_task_kind(const char *type, size_t length)
{
	char plain[VENDOR_PLAIN_SIZE];

	vendor_plain_type(type, length, plain, sizeof(plain));
	if (strcmp(plain, "NOTIFYWAIT") == 0)
		return SUB_TASK_WAIT;
	if (strcmp(plain, "MEMCPY") == 0)
		return SUB_TASK_PAYLOAD;
	if (strcmp(plain, "REDUCEINLINE") == 0)
		return SUB_TASK_REDUCE;
	return strcmp(plain, "NA") == 0 || plain[0] == '\0' ? SUB_TASK_NOT_RECORDED
							    : SUB_TASK_OTHER;
}

enum sub_task_kind vendor_trace_sub_task_kind(struct np_slice type)
{
	if (np_slice_is(type, "Notify_Wait"))
		return SUB_TASK_WAIT;
	if (np_slice_is(type, "Memcpy"))
		return SUB_TASK_PAYLOAD;
	return np_slice_is(type, "Reduce_Inline") ? SUB_TASK_REDUCE : SUB_TASK_OTHER;
}

/* --- the host -------------------------------------------------------------------------------- */

const char *vendor_api_name(int64_t type)
{
	switch (type) {
	case VENDOR_API_ACL:
		return "acl";
	case VENDOR_API_MODEL:
		return "model";
	case VENDOR_API_NODE:
		return "node";
	case VENDOR_API_COMMUNICATION:
		return "communication";
	case VENDOR_API_RUNTIME:
		return "runtime";
	default:
		return "?";
	}
}

bool vendor_loads_data(const char *name, size_t length)
{
	static const char loader[] = "dataloader";
	const size_t wanted = sizeof(loader) - 1;

	for (size_t i = 0; i + wanted <= length; i++) {
		if ((name[i] | 0x20) == 'd' && strncasecmp(&name[i], loader, wanted) == 0)
			return true;
	}
	return false;
}
