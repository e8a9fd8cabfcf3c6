/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the components whose memory is written, and how much they hold. */
#include "module_memory.h"

const struct syn_module syn_modules[SYN_MODULES] = {
	{ 0, "SLOG", 0 },
	{ 3, "HCCL", INT64_C(420) << 20 },
	{ 7, "RUNTIME", INT64_C(96) << 20 },
	{ 33, "APP", NP_UNKNOWN },
};

int64_t syn_module_bytes(const struct syn_module *module, int64_t reserved)
{
	return module->bytes == NP_UNKNOWN ? reserved : module->bytes;
}
