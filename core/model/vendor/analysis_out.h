/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ANALYSIS_OUT_H
#define NP_ANALYSIS_OUT_H

/*
 * What the vendor derives of a rank: how it is written
 * ====================================================
 *
 * analysis.db and step_trace_time.csv as torch_npu derives them, from the rank as npuprof
 * itself loads it: what an analysis computes later it finds here. The file of a cluster,
 * cluster_step_trace_time.csv, has the same figures behind other columns.
 */

#include <stdio.h>

#include "npuprof/rank.h"
#include "npuprof/relation.h"
#include "npuprof/strtab.h"

#define NP_ANALYSIS_FILE           "analysis.db"
#define NP_STEP_TRACE_FILE         "step_trace_time.csv"
#define NP_CLUSTER_STEP_TRACE_FILE "cluster_step_trace_time.csv"

/* The columns of the file of a cluster; those that say where a rank is are the last. */
enum {
	NP_CLUSTER_STEP_COLUMNS = 15,
	NP_CLUSTER_STEP_COORDINATES = 3,
};
extern const struct np_column np_cluster_step_columns[NP_CLUSTER_STEP_COLUMNS];

/* step_trace_time.csv of a rank. */
int np_step_trace_write(const struct np_rank *rank, const struct np_strtab *strings, FILE *stream,
			struct np_err *err) NP_MUST_USE;

/* analysis.db of a rank; without sizes it has the times of steps only. */
int np_analysis_db_write(const struct np_rank *rank, const struct np_strtab *strings,
			 const char *path, struct np_err *err) NP_MUST_USE;

/* Is it known what the operators of a rank moved? It is from level 1 on. */
bool np_analysis_has_communication(const struct np_rank *rank);

#endif /* NP_ANALYSIS_OUT_H */
