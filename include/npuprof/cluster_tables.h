/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLUSTER_TABLES_H
#define NP_CLUSTER_TABLES_H

#include "npuprof/analysis.h"
#include "npuprof/relation.h"

/*
 * The tables of a merged run
 * ==========================
 *
 * The vendor's tables have the names, columns, units and conventions that
 * MindStudio Insight reads: µs in step times, ms and MB in communication
 * tables, steps without a prefix in the former and with "step" before the id in
 * the latter. Tables of our own begin with np_ and are in ns and bytes.
 *
 * The model of every relation here is a const struct np_analysis *.
 */
extern const struct np_relation np_table_step_trace_time;
extern const struct np_relation np_table_communication_time;
extern const struct np_relation np_table_communication_bandwidth;
extern const struct np_relation np_table_communication_matrix;
extern const struct np_relation np_table_group_mapping;
extern const struct np_relation np_table_base_info;
extern const struct np_relation np_table_host_info;
extern const struct np_relation np_table_rank_device_map;
extern const struct np_relation np_table_comm_step;
extern const struct np_relation np_table_partition;
extern const struct np_relation np_table_role_step;
extern const struct np_relation np_table_coverage;
extern const struct np_relation np_table_instance;
extern const struct np_relation np_table_wait;
extern const struct np_relation np_table_blame;
extern const struct np_relation np_table_charge;
extern const struct np_relation np_table_clock;
extern const struct np_relation np_table_kernel_type;
extern const struct np_relation np_table_call;
extern const struct np_relation np_table_link;
extern const struct np_relation np_table_pipeline;
extern const struct np_relation np_table_expert;
extern const struct np_relation np_table_memory;
extern const struct np_relation np_table_whatif;
extern const struct np_relation np_table_critical_path;
extern const struct np_relation np_table_skipped;
extern const struct np_relation np_table_run_info;

/* All tables, in the order in which they are listed and written. */
extern const struct np_relation *const np_cluster_relations[];
extern const size_t np_cluster_relation_count;

/*
 * Insight takes an empty or incomplete ClusterBaseInfo for a cluster of size 0,
 * so the table must be left out unless every size is known.
 */
bool np_cluster_has_base_info(const struct np_cluster *cluster);

/* Is this table to be written for this run? All are, but for the one above. */
bool np_cluster_relation_applies(const struct np_relation *relation,
				 const struct np_cluster *cluster);

#endif /* NP_CLUSTER_TABLES_H */
