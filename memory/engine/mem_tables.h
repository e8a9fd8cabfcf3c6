/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEM_TABLES_H
#define NP_MEM_TABLES_H

#include "mem_rank.h"

#include "npuprof/relation.h"

/* The memory of ranks as tables: np_memory_group first. Their model is a const mem_ranks. */
#define MEM_TABLES 6
extern const struct np_relation *const mem_tables[MEM_TABLES];

#endif /* NP_MEM_TABLES_H */
