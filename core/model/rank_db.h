/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RANK_DB_H
#define NP_RANK_DB_H

/*
 * Reading the rank database
 * =========================
 *
 * Each table is scanned once, in this order: strings and metadata, steps,
 * launches (which step launched a connection), tasks (which tell the extent of
 * each step), kernels (which of the tasks compute), operators, their small
 * tasks. Joins are maps from ids to array indexes. Tasks stay in memory until
 * the rank is done; everything else is reduced as it is read.
 */

#include "load_private.h"

#include "npuprof/idmap.h"
#include "npuprof/spans.h"

enum np_task_class {
	NP_CLASS_OTHER,
	NP_CLASS_SDMA,
	NP_CLASS_NOTIFY_WAIT,
	NP_CLASS_NOT_IN_EXTENT, /* markers and host views of kernels: no part of the step's extent */
};

struct rank_db_task {
	np_ns start;
	np_ns end;
	int64_t connection;
	uint16_t device; /* index in rank_db.devices */
	uint8_t class;   /* enum np_task_class */
	bool computes;
};

struct rank_db_spans {
	struct np_span *item;
	size_t count;
	size_t capacity;
};

/* What is gathered for one device in one step. */
struct rank_db_cell {
	struct rank_db_spans computing;
	struct rank_db_spans communication;
	np_ns receive;
	struct np_span tasks;
	struct np_spans *compute_union;
};

struct rank_db_text {
	const char *bytes;
	size_t length;
};

struct rank_db {
	struct np_rank *rank;
	struct np_strtab *strings;
	struct np_db *db;
	struct np_err *err; /* never NULL */
	struct np_arena *arena;

	struct np_idmap *text_index; /* STRING_IDS.id → texts */
	NP_VEC(struct rank_db_text) texts;
	struct np_idmap *interned; /* STRING_IDS.id → np_str */
	struct np_idmap *classes;  /* STRING_IDS.id → enum np_task_class */

	struct np_idmap *launched; /* connection → step */
	struct np_idmap *task_index;
	NP_VEC(struct rank_db_task) tasks;
	NP_VEC(int32_t) devices;
	struct np_idmap *connection_device; /* NULL while there is one device */

	struct np_idmap *op_index;
	struct rank_db_cell *cells; /* devices × steps */

	/* Oddities, told once at the end. */
	size_t impossible_times;
	size_t kernels_without_task;
	size_t ops_outside;
	size_t ops_without_device;
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

/* "SDMA_SQE", "Notify Wait" and "NOTIFY_WAIT" differ by version: letters and digits tell. */
void rank_db_plain_type(struct rank_db_text text, char *ret, size_t size);

/* rank_db_tasks.c: STEP_TIME, CANN_API, TASK, COMPUTE_TASK_INFO. */
int rank_db_read_tasks(struct rank_db *load) NP_MUST_USE;

/* rank_db_comm.c: COMMUNICATION_OP, COMMUNICATION_TASK_INFO. */
int rank_db_read_comm(struct rank_db *load) NP_MUST_USE;

/* rank_db_measure.c: from what was read to step times and communicators. */
int rank_db_prepare(struct rank_db *load) NP_MUST_USE;
int rank_db_measure(struct rank_db *load) NP_MUST_USE;

/* The index of a device; false if no task ran on it. With one device there is no doubt. */
bool rank_db_device(const struct rank_db *load, int32_t device, uint16_t *ret);

struct rank_db_cell *rank_db_cell(struct rank_db *load, uint16_t device, uint32_t step);

/* Is it a time that can be computed with, and does it not run backwards? */
bool rank_db_time_ok(np_ns start, np_ns end);

#endif /* NP_RANK_DB_H */
