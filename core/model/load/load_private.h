/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LOAD_PRIVATE_H
#define NP_LOAD_PRIVATE_H

/* The readers behind np_load_rank(), one for each kind of input file. */

#include "core/model/vendor/file_names.h"

#include "npuprof/db.h"
#include "npuprof/idmap.h"
#include "npuprof/json.h"
#include "npuprof/load.h"
#include "npuprof/scan.h"

/*
 * Nothing that is measured lasts 30 days or moves a petabyte at once. What
 * claims to is damage, and is kept out so that sums of many cannot overflow.
 */
#define NP_LONGEST_NS ((np_ns)30 * 24 * 3600 * 1000000000)
#define NP_MOST_BYTES INT64_C(1000000000000000)

/*
 * What rounding explains: text files derive Stage and Preparing from doubles of
 * absolute µs, whose last place is 0.25 µs; a start, a duration added to it and
 * a difference are off by half of that each.
 */
#define NP_ROUNDING_NS 375

/* profiler_info_N.json and profiler_metadata.json: level, versions, communicators, sizes. */
int np_load_metadata(struct np_rank *rank, const struct np_source_files *source,
		     struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/* One value of profiler_metadata.json, which META_DATA repeats: `name` says which. */
int np_load_metadata_value(struct np_rank *rank, const char *name, const struct np_json *value,
			   struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/*
 * The rank database: everything is derived from its tasks and operators. In parts
 * it needs little memory, but fails with NP_E_RANGE where the order of the tables
 * does not allow it. What is wrong with the file is told best without. Kernels
 * are summed if `framework_op` is not NULL, which takes every task with its connection
 * until its kernel is read (rank_db_gather_kernel()): never in parts.
 */
int np_load_rank_db(struct np_rank *rank, const char *path, bool in_parts,
		    np_kernel_framework_op *framework_op, struct np_strtab *strings,
		    struct np_err *err) NP_MUST_USE;

/* analysis.db: what the vendor's exporter derived. */
int np_load_analysis_db(struct np_rank *rank, const char *path, struct np_strtab *strings,
			struct np_err *err) NP_MUST_USE;

/* trace_view.json or the slices of an msprof trace. */
int np_load_trace(struct np_rank *rank, const struct np_source_files *source,
		  struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/* A trace of PyTorch on a GPU. */
int np_load_gpu_trace(struct np_rank *rank, const struct np_source_files *source,
		      struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/* kernel_details.csv or op_summary: kernels and operators with their times. */
int np_load_kernels(struct np_rank *rank, const char *path, struct np_strtab *strings,
		    struct np_err *err) NP_MUST_USE;

/* Of the same table only the types of kernels: np_str of the name → np_str of the type. */
int np_load_kernel_types(const char *path, struct np_strtab *strings, struct np_idmap *types,
			 struct np_err *err) NP_MUST_USE;

/* step_trace_time.csv: what the vendor's exporter derived. */
int np_load_step_trace(struct np_rank *rank, const char *path, struct np_strtab *strings,
		       struct np_err *err) NP_MUST_USE;

/* communication.json and communication_matrix.json; either may be NULL. */
int np_load_communication(struct np_rank *rank, const char *path, const char *matrix_path,
			  struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/*
 * Compare what was derived with what the vendor's file says, and note on `rank`
 * where they disagree. What only one of them has is no disagreement.
 */
void np_load_check(struct np_rank *rank, const struct np_rank *file, const char *path,
		   const struct np_strtab *strings);

/*
 * Take what a further file told, `fresh`, into the rank where it has nothing or
 * less, and compare the rest. `fresh` is what is left over.
 */
int np_load_join(struct np_rank *rank, struct np_rank *fresh, const char *path,
		 const struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/*
 * Before a file is joined to the rank: keep its activity, or that of the rank, if
 * it fits the times and operators that the rank will have then, those of the
 * file where `take_times` or `take_ops`.
 */
int np_load_join_activity(struct np_rank *rank, struct np_rank *fresh, bool take_times,
			  bool take_ops, struct np_err *err) NP_MUST_USE;

/*
 * Sum operators, bands and links by communicator and step: fills
 * rank->comm_steps but for exposed and overlapped, which need the intervals of
 * computing and stay NP_UNKNOWN.
 */
int np_load_comm_steps(struct np_rank *rank, struct np_err *err) NP_MUST_USE;

/* What experts computed, from the table of kernels where no reader of tasks told. */
int np_load_experts(struct np_rank *rank, const struct np_source_files *source,
		    struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/*
 * Sort operators by time and mend the indexes of bands that point to them.
 * `ret_order` (freed by the caller), which may be NULL, gives the places where
 * they were: the operator at `i` was at order[i].
 */
int np_load_sort_ops(struct np_rank *rank, const struct np_strtab *strings, uint32_t **ret_order,
		     struct np_err *err) NP_MUST_USE;

/* By operator, transport and size. */
void np_load_sort_bands(struct np_rank *rank);

#endif /* NP_LOAD_PRIVATE_H */
