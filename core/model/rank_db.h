/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RANK_DB_H
#define NP_RANK_DB_H

/*
 * Reading the rank database
 * =========================
 *
 * Each table is scanned once, in this order: strings and metadata, steps,
 * launches, tasks, kernels, operators, their small tasks. Joins are maps from
 * ids to array indexes.
 */

#include "capture.h"
#include "expert_kernels.h"
#include "kernel_gather.h"

struct rank_db_text {
	const char *bytes;
	size_t length;
};

struct rank_db {
	struct capture capture;
	struct np_rank *rank;      /* capture.rank */
	struct np_strtab *strings; /* capture.strings */
	struct np_err *err;        /* capture.err */
	struct np_db *db;
	struct np_arena *arena;

	struct np_idmap *text_index; /* STRING_IDS.id → texts */
	NP_VEC(struct rank_db_text) texts;
	struct np_idmap *interned;     /* STRING_IDS.id → np_str */
	struct np_idmap *classes;      /* STRING_IDS.id → enum task_class */
	struct np_idmap *types;        /* STRING_IDS.id → np_str of a kernel's type */
	struct np_idmap *task_index;   /* TASK.globalTaskId → capture.tasks */
	struct np_idmap *loaders;      /* STRING_IDS.id of names that load data; NULL for none */
	struct np_idmap *op_index;     /* COMMUNICATION_OP.opId → rank->ops */
	struct np_idmap *kernel_index; /* type and core → rank->kernels */
	struct np_idmap *call_index;   /* function and level → rank->calls */
	size_t kernels_without_task;
	struct expert_kernels experts;
	np_kernel_origin *origin;     /* NULL: kernels are not summed */
	struct kernel_gather *gather; /* likewise */
	struct np_idmap *call_names;  /* STRING_IDS.id → np_str of a call's name × 2 + counts */
	struct np_idmap *by_task; /* TASK.globalTaskId → gather->kernels, if there are counters */
	struct rank_db_counters *counters; /* likewise, by kernel */
};

typedef int rank_db_take(struct rank_db *load, const struct np_batch *batch, size_t row);

/* Give every row of a table to `take`; a table that is not there has none. */
int rank_db_each(struct rank_db *load, const char *table, const struct np_scan_column *columns,
		 size_t count, rank_db_take *take) NP_MUST_USE;

/* rank_db_strings.c: STRING_IDS, META_DATA, HOST_INFO. */
int rank_db_read_strings(struct rank_db *load) NP_MUST_USE;
int rank_db_read_metadata(struct rank_db *load) NP_MUST_USE;

/* The text of a string id; "" for one that is not in the table. */
struct rank_db_text rank_db_text(struct rank_db *load, int64_t id);

/* The interned text of a string id: values are not unique, interned ones are. */
int rank_db_intern(struct rank_db *load, int64_t id, np_str *ret) NP_MUST_USE;

/* rank_db_tasks.c: STEP_TIME, PYTORCH_API, CANN_API, TASK, COMPUTE_TASK_INFO. */
int rank_db_read_tasks(struct rank_db *load) NP_MUST_USE;

/* rank_db_comm.c: COMMUNICATION_OP, COMMUNICATION_TASK_INFO. */
int rank_db_read_comm(struct rank_db *load) NP_MUST_USE;

/*
 * rank_db_sums.c: kernels summed by likeness and step, if that was asked for. The
 * columns of COMPUTE_TASK_INFO begin with those that are always read.
 */
enum {
	KERNEL_COL_TASK,
	KERNEL_COL_TYPE,
	KERNEL_COL_CORE,
	KERNEL_COL_SHAPES,
	KERNEL_COL_PLAIN,
	KERNEL_COL_NAME = KERNEL_COL_PLAIN,
	KERNEL_COL_DTYPES,
	KERNEL_COL_FORMATS,
	KERNEL_COL_COUNT,
};

int rank_db_begin_sums(struct rank_db *load) NP_MUST_USE;
int rank_db_gather_kernel(struct rank_db *load, const struct capture_task *task,
			  const struct np_batch *batch, size_t row) NP_MUST_USE;
int rank_db_sum_kernels(struct rank_db *load) NP_MUST_USE;
void rank_db_end_sums(struct rank_db *load);

/* rank_db_statistics.c: sums by name, and MEMORY_RECORD. Ids are those of STRING_IDS. */
int rank_db_count_kernel(struct rank_db *load, int64_t type, int64_t core, np_ns time) NP_MUST_USE;
int rank_db_count_call(struct rank_db *load, int64_t type, int64_t name, np_ns time) NP_MUST_USE;
int rank_db_read_memory(struct rank_db *load) NP_MUST_USE;

#endif /* NP_RANK_DB_H */
