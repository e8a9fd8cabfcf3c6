/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TABLES_H
#define NP_TABLES_H

/* What the files that produce tables share. */

#include "npuprof/cluster_tables.h"

/* Tables that nobody names outside. */
extern const struct np_relation np_table_group_mapping;
extern const struct np_relation np_table_base_info;
extern const struct np_relation np_table_host_info;
extern const struct np_relation np_table_rank_device_map;
extern const struct np_relation np_table_comm_step;
extern const struct np_relation np_table_partition;
extern const struct np_relation np_table_coverage;
extern const struct np_relation np_table_instance;
extern const struct np_relation np_table_wait;
extern const struct np_relation np_table_blame;
extern const struct np_relation np_table_clock;
extern const struct np_relation np_table_kernel_type;
extern const struct np_relation np_table_call;
extern const struct np_relation np_table_whatif;
extern const struct np_relation np_table_skipped;
extern const struct np_relation np_table_run_info;

/*
 * Insight takes an empty or incomplete ClusterBaseInfo for a cluster of size 0,
 * so the table must be left out unless every size is known.
 */
bool np_cluster_has_base_info(const struct np_cluster *cluster);

#define NS_PER_US 1e3
#define NS_PER_MS 1e6
#define B_PER_MB  1e6

/* A table with its columns, so that each is written once. */
#define NP_DEFINE_TABLE(symbol, table_name, table_summary, columns_, produce_) \
	const struct np_relation symbol = { \
		.name = (table_name), \
		.summary = (table_summary), \
		.columns = (columns_), \
		.column_count = NP_COUNT(columns_), \
		.produce = (produce_), \
	}

/* "step50", or "step" for the pseudo step: the label of communication tables. */
/* The step under which the vendor's tables have what is in this one; NP_NO_STEP for none. */
uint32_t np_vendor_step(const struct np_rank *rank, uint32_t step);

/* Its id. */
np_str np_vendor_step_id(const struct np_rank *rank, uint32_t step);

void np_step_label(const struct np_run *run, np_str id, char *ret, size_t size);

/* A communicator's hash in decimal, its name in the vendor's tables. */
void np_group_label(uint64_t hash, char *ret, size_t size);

/* "(0,1,2)" */
void np_rank_set(struct np_buf *buf, const int32_t *ranks, size_t count);

#endif /* NP_TABLES_H */
