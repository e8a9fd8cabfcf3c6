/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_MODULE_MEMORY_H
#define SYN_MODULE_MEMORY_H

#include "npuprof/base.h"

/* Modules of CANN that hold memory of the device, the same in tables and in files. */
struct syn_module {
	int64_t id; /* in ENUM_MODULE */
	const char *name;
	int64_t bytes; /* NP_UNKNOWN: follows the allocator */
};

#define SYN_MODULES 4

extern const struct syn_module syn_modules[SYN_MODULES];

/* One of so many moments is a sample of the modules. */
#define SYN_MODULE_EVERY 8

/* What a module holds while the allocator has reserved so much. */
int64_t syn_module_bytes(const struct syn_module *module, int64_t reserved);

#endif /* SYN_MODULE_MEMORY_H */
