/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RANK_DB_H
#define NP_RANK_DB_H

/*
 * Reading the rank database
 * =========================
 *
 * Each table is scanned once: strings and metadata, steps and operators whole,
 * then calls, tasks, kernels and the sub-tasks of operators side by side, so
 * far as they are about the same time: what is complete is measured and let go
 * (capture.h says what that takes). Where the order of the tables does not allow
 * it, and to report what is wrong with a damaged file, each is read to its end
 * before the next. Joins are maps from ids to array indexes.
 */

#include "core/model/load/capture/capture.h"
#include "core/model/load/capture/expert_kernels.h"
#include "core/model/load/capture/kernel_gather.h"
#include "core/model/vendor/tables.h"

#include "npuprof/comm_tasks.h"
#include "npuprof/db.h"
#include "npuprof/json.h"

struct rank_db_text {
	const char *bytes;
	size_t length;
};

/* A table that is being read. */
struct rank_db_table {
	struct vendor_pick pick;
	struct np_scan *scan; /* NULL where there is no such table */
	struct np_batch batch;
	size_t row; /* the next one of the batch */
	bool done;
};

/* What cannot be true of a table: values that are unknown now. */
struct rank_db_doubt {
	const struct vendor_table *table;
	size_t values;
	size_t rows; /* read so far */
};

/* Tables of a rank that are checked, at most. */
#define RANK_DB_DOUBTS 16

/* So many rows of a table may come before that of their task. */
#define RANK_DB_MOST_WAITING 16384

/* Where the sums of a name are. */
struct rank_db_recent {
	int64_t name;
	int64_t kind;
	uint32_t number; /* from 1 on; 0 for none */
};

#define RANK_DB_RECENT 64

/* A row of COMPUTE_TASK_INFO. */
struct rank_db_kernel {
	int64_t task;
	int64_t type;
	int64_t core;
	int64_t shapes;
	bool serves; /* a communication operator */
};

/* A row of COMMUNICATION_TASK_INFO. */
struct rank_db_sub_task_row {
	int64_t key; /* of its task */
	int64_t type;
	bool rdma;
	bool has_plane;
	struct np_comm_task task;
};

/* The sub-tasks of operators. */
struct rank_db_sub_task {
	struct rank_db_table table;
	NP_VEC(struct np_comm_task) list; /* of operators that are not yet measured */
	NP_VEC(struct np_comm_task) done; /* of those that are measured now */
	NP_VEC(struct rank_db_sub_task_row) waiting;
	struct np_idmap *kinds;        /* STRING_IDS.id of taskType → enum sub_task_kind */
	struct np_idmap *link_numbers; /* ENUM_HCCL_LINK_TYPE.id → NP_LINK_*; NULL: no names */
	struct np_idmap *transport_numbers; /* likewise → NP_TRANSPORT_* */
	int64_t rdma_payload;               /* ENUM_HCCL_RDMA_TYPE.id of what sends data */
	struct np_idset *measured;
	bool any_measured;
	struct np_comm_tasks *ops;
	struct np_comm_tasks_form form;
	size_t taken;
	size_t orphans;
	size_t twice;    /* rows of tasks that another row had */
	size_t too_fast; /* for their sizes */
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
	size_t texts_twice;            /* ids with another text than before */
	struct np_idmap *interned;     /* STRING_IDS.id → np_str */
	struct np_idmap *classes;      /* STRING_IDS.id → enum task_class */
	struct np_idmap *types;        /* STRING_IDS.id → np_str of a kernel's type */
	struct np_idmap *task_index;   /* TASK.globalTaskId → capture.tasks */
	struct np_idset *serving;      /* STRING_IDS.id of kernels of operators; NULL for none */
	struct np_idmap *loaders;      /* STRING_IDS.id of names that load data; NULL for none */
	struct np_idmap *ranges;       /* likewise of ranges that are steps */
	struct np_idset *step_marks;   /* likewise "step 12" of the dynamic profiler */
	bool find_steps;               /* there are no marks: iterations are to be found */
	struct np_idmap *op_index;     /* COMMUNICATION_OP.opId → rank->ops */
	struct np_idmap *kernel_index; /* type and core → rank->kernels */
	struct np_idmap *call_index;   /* function and level → rank->calls */
	struct rank_db_recent recent_kernels[RANK_DB_RECENT]; /* of kernel_index */
	struct rank_db_recent recent_calls[RANK_DB_RECENT];   /* of call_index */
	struct np_idmap *modules;    /* NPU_MODULE_MEM.moduleId → np_str, while that is read */
	size_t modules_nameless;     /* rows of those that have none */
	struct rank_db_marks *marks; /* while operators are read from mstx marks */
	bool ops_marked;             /* they are */
	NP_VEC(int64_t) op_ids;      /* until they are sorted */
	size_t kernels_taken;
	np_ns kernel_time;  /* Σ of them */
	np_ns serving_time; /* Σ of those that serve communication, which are not of them */
	size_t kernels_without_task;
	struct np_span session; /* when was collected, and much around it: other times cannot be */
	struct rank_db_doubt doubts[RANK_DB_DOUBTS];
	size_t doubt_count;
	struct np_idset *nameless; /* ids that STRING_IDS does not have; NULL: none so far */
	size_t nameless_count;
	bool has_kernels;
	bool ran_kernels;        /* by the types of tasks */
	bool overlap_alone;      /* no tasks: OVERLAP_ANALYSIS stands in for them */
	bool computing_given;    /* by OVERLAP_ANALYSIS */
	np_ns overlap_computing; /* Σ in OVERLAP_ANALYSIS; 0 without it */
	struct expert_kernels experts;
	np_kernel_framework_op *framework_op; /* NULL: kernels are not summed */
	struct kernel_gather *gather;         /* likewise */
	bool sums_lost;                       /* they cannot be known in one pass */
	struct np_idmap *call_names; /* STRING_IDS.id → np_str of a call's name × 2 + counts */
	struct np_idmap *by_task; /* TASK.globalTaskId → gather->kernels, if there are counters */
	struct rank_db_counters *counters; /* likewise, by kernel */

	struct rank_db_table calls;
	struct rank_db_table tasks;
	struct rank_db_table kernels;
	struct rank_db_sub_task sub_task;
	NP_VEC(struct rank_db_kernel) waiting;
	struct np_idset *seen; /* globalTaskId of all tasks; in parts only */
	int64_t latest_key;    /* the largest of them */
	np_ns last_call;       /* start of the latest call that was read */
	int64_t last_connection;
	np_ns earliest; /* start of a task of the last part */
	np_ns latest;   /* start of all tasks */
};

typedef int rank_db_take(struct rank_db *load, const struct np_batch *batch, size_t row);

/* Give every row of a table to `take`; a table that is not there has none. */
int rank_db_each(struct rank_db *load, const struct vendor_pick *pick, rank_db_take *take)
	NP_MUST_USE;

/* Likewise of a table that a rank can do without: one that cannot be read costs what it holds. */
int rank_db_try_each(struct rank_db *load, const struct vendor_pick *pick, rank_db_take *take)
	NP_MUST_USE;

/* The table was read with this outcome: note why it could not be; only memory fails the rank. */
int rank_db_try(struct rank_db *load, const struct vendor_table *table, int rc) NP_MUST_USE;

/* rank_db_strings.c: STRING_IDS, META_DATA, HOST_INFO. */
int rank_db_read_strings(struct rank_db *load) NP_MUST_USE;
int rank_db_read_metadata(struct rank_db *load) NP_MUST_USE;

/* The text of a string id; "" for one that is not in the table. */
struct rank_db_text rank_db_text(struct rank_db *load, int64_t id);

/* The interned text of a string id: values are not unique, interned ones are. */
int rank_db_intern(struct rank_db *load, int64_t id, np_str *ret) NP_MUST_USE;

/* Begin a table, which need not be there; rank_db_fill() has a row unless it is done. */
int rank_db_open(struct rank_db *load, const struct vendor_pick *pick, struct rank_db_table *ret)
	NP_MUST_USE;
int rank_db_fill(struct rank_db *load, struct rank_db_table *table) NP_MUST_USE;

/* In parts: is the table about a task that is certainly not yet read? */
/* Count what cannot be in the rows that were just read; with none, in the columns of all of them.
 */
void rank_db_look(struct rank_db *load, const struct vendor_pick *pick, const struct np_scan *scan,
		  const struct np_batch *batch);
/* Can these times be, of what this session has recorded? */
static inline bool rank_db_time_ok(const struct rank_db *load, np_ns start, np_ns end)
{
	return vendor_time_ok(start, end) && start >= load->session.begin &&
	       end <= load->session.end;
}

/* A value of the table cannot be, for a reason that its description does not know. */
void rank_db_doubt(struct rank_db *load, const struct vendor_table *table);
bool rank_db_is_ahead(const struct rank_db *load, int64_t task);

/* rank_db_steps.c: STEP_TIME, PYTORCH_API. */
int rank_db_read_steps(struct rank_db *load) NP_MUST_USE;
/* Calls that load data, where rank_db_gather_calls() does not come by them. */
int rank_db_read_loading(struct rank_db *load) NP_MUST_USE;
bool rank_db_loads_data(const struct rank_db *load, int64_t name);

/* rank_db_comm.c: COMMUNICATION_OP. Devices and steps of operators are known by the tasks. */
int rank_db_read_ops(struct rank_db *load) NP_MUST_USE;
void rank_db_place_ops(struct rank_db *load);

/* rank_db_marks.c: operators by MSTX_EVENTS and TASK, where there is no COMMUNICATION_OP. */
int rank_db_read_marked_ops(struct rank_db *load) NP_MUST_USE;

/* rank_db_tasks.c: CANN_API, TASK, COMPUTE_TASK_INFO. */
int rank_db_open_tasks(struct rank_db *load) NP_MUST_USE;
/* The calls of a connection, and those before, but none that begins after `start`. */
/* About so many further tasks, and the calls that launched them. */
int rank_db_read_tasks(struct rank_db *load, size_t rows) NP_MUST_USE;
/* Kernels of the tasks that were read. */
int rank_db_read_kernels(struct rank_db *load) NP_MUST_USE;
/* Some tasks are gone, and the others have moved. */
int rank_db_reindex_tasks(struct rank_db *load) NP_MUST_USE;
/* The index of a task or NP_IDMAP_NONE, when it may yet come (*ret_waits) or not. */
uint32_t rank_db_find_task(struct rank_db *load, int64_t key, bool *ret_waits);

/* rank_db_sub_task.c: COMMUNICATION_TASK_INFO. */
int rank_db_begin_sub_task(struct rank_db *load) NP_MUST_USE;
void rank_db_end_sub_task(struct rank_db *load);
int rank_db_read_sub_task(struct rank_db *load) NP_MUST_USE;
/* Measure operators that end before `until`; and all others. */
int rank_db_measure_sub_task_until(struct rank_db *load, np_ns until) NP_MUST_USE;
int rank_db_measure_sub_task(struct rank_db *load) NP_MUST_USE;

/* rank_db_engines.c: CCU, DPU_TASK: sub-tasks of operators that have no others. */
bool rank_db_has_engines(struct np_db *db);
int rank_db_read_engines(struct rank_db *load) NP_MUST_USE;

/* rank_db_sums.c: kernels summed by likeness and step, if that was asked for. */
int rank_db_begin_sums(struct rank_db *load) NP_MUST_USE;
/* Calls of the framework: framework_ops of kernels, and when data was loaded. */
int rank_db_gather_calls(struct rank_db *load) NP_MUST_USE;
int rank_db_gather_kernel(struct rank_db *load, const struct capture_task *task,
			  const struct np_batch *batch, size_t row) NP_MUST_USE;
int rank_db_sum_kernels(struct rank_db *load) NP_MUST_USE;
void rank_db_end_sums(struct rank_db *load);

/* rank_db_memory.c: MEMORY_RECORD, OP_MEMORY, NPU_OP_MEM, NPU_MEM, NPU_MODULE_MEM. */
int rank_db_read_memory(struct rank_db *load) NP_MUST_USE;

/*
 * rank_db_overlap.c: OVERLAP_ANALYSIS. It says how much the device computed, which
 * other tables are compared with; with `give`, also when, where nothing else does.
 */
int rank_db_read_overlap(struct rank_db *load, bool give) NP_MUST_USE;
/* Where there is no task: computing, and without operators communication, in their place. */
int rank_db_read_overlap_alone(struct rank_db *load) NP_MUST_USE;

/* rank_db_samples.c: NETDEV_STATS, NIC, CPU_USAGE …; and tables and columns that nobody knows. */
int rank_db_read_samples(struct rank_db *load) NP_MUST_USE;
int rank_db_list_unknown(struct rank_db *load) NP_MUST_USE;

#endif /* NP_RANK_DB_H */
