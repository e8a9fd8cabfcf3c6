/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MODE_TABLES_H
#define NP_MODE_TABLES_H

#include "npuprof/align.h"
#include "npuprof/cluster.h"
#include "npuprof/relation.h"

/*
 * What modes fill
 * ===============
 *
 * The tables that modes add to those of the merged run, what was asked of them, and the run
 * that they are about. modes.h runs them.
 */
struct np_modes_options {
	uint64_t modes;       /* of np_modes_parse() */
	int64_t top;          /* rows of lists that show the first few; 0: the mode's own */
	int64_t rank;         /* communication_bottleneck: of this rank; NP_UNKNOWN: the first */
	bool exclude_op_name; /* compute_op_sum: leave out the table by name */
	const char *parallel_types; /* computational_op_masking: "dp+edp,tp"; NULL for all known */
	bool steps_chosen;          /* only what belongs to the steps that the run still has */
	/* cluster_time_compare_summary: the table of cluster_time_summary of the base. */
	const struct np_mode_table *base_summary;
	const char *directory; /* where export_summary puts its files; made when needed */
};

/* A table of a mode: np_relation_write(&table->relation, table, sink, err). */
struct np_mode_table {
	struct np_relation relation;
	const char *mode; /* whose it is */
	struct np_cell *cells;
	size_t rows;
	size_t capacity;
	const char *empty; /* why there can be no rows, if so; a constant */
	struct np_mode_table *next;
};

struct np_modes {
	struct np_mode_table *tables; /* in the order of the modes */
	struct np_mode_table *last;
	struct np_arena *arena;
	struct np_run *run;
	const struct np_cluster *cluster;
	const struct np_align *align;
	struct np_modes_options options;
};

#endif /* NP_MODE_TABLES_H */
