/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLUSTER_TABLES_H
#define NP_CLUSTER_TABLES_H

#include "npuprof/charge_sums.h"
#include "npuprof/cluster.h"
#include "npuprof/experts.h"
#include "npuprof/links.h"
#include "npuprof/partition.h"
#include "npuprof/pipeline.h"
#include "npuprof/relation.h"
#include "npuprof/root_cause.h"
#include "npuprof/whatif.h"

/*
 * The tables of a merged run
 * ==========================
 *
 * The vendor's tables have the names, columns, units and conventions that
 * MindStudio Insight reads: µs in step times, ms and MB in communication
 * tables, steps without a prefix in the former and with "step" before the id in
 * the latter. Tables of our own begin with np_ and are in ns and bytes.
 */
struct np_cluster_tables {
	const struct np_cluster *cluster;
	const struct np_comm_sums *sums;
	const struct np_align *align;
	const struct np_clock *clock;
	const struct np_waits *waits;
	const struct np_charges *charges;
	const struct np_root_causes *causes;
	const struct np_charge_sums *charge_sums;
	const struct np_comm_sums *roles;
	const struct np_partition *partition;
	const struct np_links *links;
	const struct np_pipeline *pipeline;
	const struct np_experts *experts;
	const struct np_whatif *whatif;
	const struct np_path *path;
	const struct np_efficiency *efficiency;
	/* What was asked for (-m); the other tables are there, but empty. */
	bool communication_time;
	bool communication_matrix;
	const char *version; /* of the program */
	char fingerprint[17];
};

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
				 const struct np_cluster_tables *tables);

/*
 * A local rank that cannot be mapped to a global one is kept in the matrix as
 * −1 − local: negative numbers are no ranks, and the local one can be read back.
 */
int64_t np_matrix_rank(const struct np_communicator *communicator, int32_t local);

#endif /* NP_CLUSTER_TABLES_H */
