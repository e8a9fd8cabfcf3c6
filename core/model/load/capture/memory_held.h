/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMORY_HELD_H
#define NP_MEMORY_HELD_H

#include "npuprof/rank.h"
#include "npuprof/strtab.h"

/*
 * What components of the memory management held: their peaks (np_rank.memory) and
 * the most and least of each step (np_rank.memory_steps). Several files know
 * them; a component that one has reported is not taken from another:
 *
 *	PTA, GE, PTA+GE …  memory_record.csv, MEMORY_RECORD
 *	PTA, GE            operator_memory.csv, OP_MEMORY; GE alone NPU_OP_MEM: what all
 *	                   had allocated and reserved when an operator allocated or released
 *	APP                memory_record.csv; of databases NPU_MEM: what the process reserves
 *	module/HCCL …      npu_module_mem.csv, NPU_MODULE_MEM: what modules of CANN reserve.
 *	                   Those named APP and GE mean something else than the above.
 */
#define MEMORY_PTA     "PTA"
#define MEMORY_GE      "GE"
#define MEMORY_PROCESS "APP"
#define MEMORY_MODULE  "module/"

/* What a component held at a time; NP_UNKNOWN where not recorded. */
struct memory_held {
	np_str component;
	np_ns at; /* on the host */
	int64_t allocated;
	int64_t reserved;
};

/* Raise the component's peak, and note what it held in its step; the steps must be known. */
int memory_hold(struct np_rank *rank, const struct memory_held *held, struct np_err *err)
	NP_MUST_USE;

/* Is something known of a component, or of any module? */
bool memory_knows(const struct np_rank *rank, const struct np_strtab *strings, const char *name);

/* The component that an operator's allocation belongs to: names of GE begin with "cann::". */
const char *memory_component_of(const char *operator, size_t length);

/* Of the modules only those are kept that ever held something: there are dozens. */
void memory_drop_idle_modules(struct np_rank *rank, const struct np_strtab *strings);

/* Put the components into an order that does not depend on that of the input. */
void memory_sort(struct np_rank *rank, const struct np_strtab *strings);

#endif /* NP_MEMORY_HELD_H */
