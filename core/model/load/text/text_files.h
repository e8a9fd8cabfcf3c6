/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TEXT_FILES_H
#define NP_TEXT_FILES_H

/*
 * Readers of files that the vendor derived from a profile, or wrote beside it: each takes one
 * kind of file into a rank. What several of them share is in derived.h.
 */

#include "npuprof/idmap.h"
#include "npuprof/json.h"
#include "npuprof/run.h"

struct np_seen;

/* profiler_info_N.json and profiler_metadata.json: level, versions, communicators, sizes. */
int np_load_metadata(struct np_rank *rank, const struct np_source_files *source,
		     struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/* One value of profiler_metadata.json, which META_DATA repeats: `name` says which. */
int np_load_metadata_value(struct np_rank *rank, const char *name, const struct np_json *value,
			   struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/* analysis.db: what the vendor's exporter derived. */
int np_load_analysis_db(struct np_rank *rank, const char *path, struct np_strtab *strings,
			struct np_err *err) NP_MUST_USE;

/* cluster_analysis.db: the same of all ranks, of which those of `rank` are taken. */
int np_load_cluster_db(struct np_rank *rank, const char *path, struct np_strtab *strings,
		       struct np_err *err) NP_MUST_USE;

/* kernel_details.csv or op_summary: kernels and operators with their times. */
int np_load_kernels(struct np_rank *rank, const char *path, const struct np_steps_choice *steps,
		    struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

struct capture;

/* Of the same table only the shapes of kernels: capture_add_shape(). */
int np_load_kernel_shapes(const char *path, struct capture *capture, struct np_err *err)
	NP_MUST_USE;

/*
 * Of the same table only the types of kernels: np_str of the name → np_str of the type; and
 * what it sums up to.
 */
int np_load_kernel_types(const char *path, struct np_strtab *strings, struct np_idmap *types,
			 struct np_seen **ret_seen, struct np_err *err) NP_MUST_USE;

/*
 * step_trace_time.csv: what the vendor's exporter derived; of cluster_step_trace_time.csv the rows
 * of `rank`.
 */
int np_load_step_trace(struct np_rank *rank, const char *path, struct np_strtab *strings,
		       struct np_err *err) NP_MUST_USE;

/*
 * communication.json and communication_matrix.json; either may be NULL. `merged`: those of the
 * result of an earlier analysis, which hold all ranks.
 */
int np_load_communication(struct np_rank *rank, const char *path, const char *matrix_path,
			  bool merged, struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/* What experts computed, from the table of kernels where no reader of tasks found them. */
int np_load_experts(struct np_rank *rank, const struct np_source_files *source,
		    struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/* op_statistic.csv and api_statistic.csv, for what no other file has. */
int np_load_statistics(struct np_rank *rank, const struct np_source_files *source,
		       struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/* The memory files of a rank, for what no other file has. */
int np_load_memory(struct np_rank *rank, const struct np_source_files *source,
		   struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

#endif /* NP_TEXT_FILES_H */
