/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEM_TABLES_H
#define NP_MEM_TABLES_H

#include "mem_rank.h"

#include "npuprof/snapshot_rows.h"

/* The memory of ranks as the rows that tables are made of. */
int mem_tables_new(const mem_ranks *ranks, struct np_memory **ret, struct np_err *err) NP_MUST_USE;

#endif /* NP_MEM_TABLES_H */
