/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_RANK_DB_H
#define SYN_RANK_DB_H

#include "backend.h"
#include "npuprof/db.h"
#include "sim/synth/account/overlap.h"
#include "sim/synth/out/schema.h"
#include "sim/synth/out/sorter.h"
#include "sim/synth/out/string_ids.h"

/*
 * A rank's database while it is written: rank_db.c opens and closes it,
 * rank_db_tasks.c, rank_db_comm.c and rank_db_tail.c fill it. Its tables come
 * from msprof; torch_npu adds its calls, steps and memory.
 */
enum syn_table {
	SYN_T_TASK,
	SYN_T_COMPUTE,
	SYN_T_OP,
	SYN_T_SUB_TASK,
	SYN_T_CANN,
	SYN_T_TORCH,
	SYN_T_CONNECTION,
	SYN_T_MEMCPY,
	SYN_T_STEP,
	SYN_T_PMU,
	SYN_T_OP_MEMORY,
	SYN_T_MARK,
	SYN_T_CCU,
	SYN_T_DPU,
	SYN_TABLES,
};

/* String ids of a kernel model, looked up once. */
struct syn_model_ids {
	bool known;
	int64_t id[16];
};

/* Device memory in use at one moment. */
struct syn_usage {
	np_ns at_ns;
	int64_t allocated;
	int64_t reserved;
};

struct syn_db {
	struct syn_sink base;
	const struct syn_rank_info *info;
	const struct syn_config *config;
	bool torch; /* with the tables of torch_npu */
	struct np_db_writer *writer;
	struct np_db_insert *insert[SYN_TABLES];
	struct syn_strings *strings;
	struct syn_model_ids *models; /* by index in info->models */
	int64_t torch_connections;
	np_ns first_ns;
	np_ns last_ns;
	struct syn_overlap overlap;
	struct syn_sorter tasks; /* rows of TASK, which is in the order of time */
	NP_VEC(struct syn_usage) usage;
};

/* An integer as a cell; unlike np_cell_integer() any value is meant. */
static inline struct np_cell syn_number(int64_t value)
{
	return (struct np_cell){ .type = NP_CELL_INTEGER, .integer = value };
}

/* Remember how far the capture reaches. */
void syn_db_extend(struct syn_db *db, np_ns start, np_ns end);

/* All tasks have been put: write them. */
void syn_db_begin_tasks(struct syn_db *db);
int syn_db_write_tasks(struct syn_db *db, struct np_err *err) NP_MUST_USE;

/* The functions of the sink that have files of their own. */
int syn_db_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err) NP_MUST_USE;
int syn_db_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
	NP_MUST_USE;
int syn_db_memory(struct syn_sink *sink, const struct syn_memory_event *memory, struct np_err *err)
	NP_MUST_USE;

int syn_db_mark(struct syn_sink *sink, const struct syn_mark *mark, struct np_err *err) NP_MUST_USE;

/* rank_db_engine.c: the tasks of an operator that CCU or DPU carries out. */
int syn_db_engine(struct syn_db *db, const struct syn_comm_event *comm, struct np_err *err)
	NP_MUST_USE;

/* The tables that need the whole run: session, metadata, memory, the overlap lane. */
int syn_db_finish(struct syn_db *db, struct np_err *err) NP_MUST_USE;

#endif /* SYN_RANK_DB_H */
