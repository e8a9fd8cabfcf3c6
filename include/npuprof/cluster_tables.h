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

/* Those that are named elsewhere. */
extern const struct np_relation np_table_step_trace_time;
extern const struct np_relation np_table_step;
extern const struct np_relation np_table_communication_time;
extern const struct np_relation np_table_communication_bandwidth;
extern const struct np_relation np_table_communication_matrix;
extern const struct np_relation np_table_role_step;
extern const struct np_relation np_table_charge;
extern const struct np_relation np_table_link;
extern const struct np_relation np_table_pipeline;
extern const struct np_relation np_table_expert;
extern const struct np_relation np_table_memory;
extern const struct np_relation np_table_memory_rank;
extern const struct np_relation np_table_memory_group;
extern const struct np_relation np_table_memory_component;
extern const struct np_relation np_table_memory_curve;
extern const struct np_relation np_table_memory_leak;
extern const struct np_relation np_table_memory_whatif;
extern const struct np_relation np_table_memory_mark;
extern const struct np_relation np_table_memory_block;
extern const struct np_relation np_table_critical_path;

/* All tables, in the order in which they are listed and written. */
extern const struct np_relation *const np_cluster_relations[];
extern const size_t np_cluster_relation_count;

/*
 * Is this table to be written for this run? All are, but for ClusterBaseInfo of unknown sizes, and
 * those of memory snapshots without any.
 */
bool np_cluster_relation_applies(const struct np_relation *relation,
				 const struct np_analysis *analysis);

/* Has it a row for each matched operator, of which Insight reads nothing? They may be left out. */
bool np_table_is_of_operators(const struct np_relation *relation);

/* How many rows the longer of those tables has. */
size_t np_cluster_operator_rows(const struct np_analysis *analysis);

/* The leaf of a piece of the critical path: "compute", "free/host", "comm/tp/transfer". */
void np_path_leaf(const struct np_analysis *analysis, const struct np_path_piece *piece, char *ret,
		  size_t size);

#endif /* NP_CLUSTER_TABLES_H */
