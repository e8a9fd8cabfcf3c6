/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DETAIL_DB_H
#define NP_DETAIL_DB_H

/* The rank database read into a detail: what its three sources share. */

#include "core/model/vendor/tables.h"
#include "detail_load.h"

#include "npuprof/scan.h"

enum detail_looks {
	DETAIL_LOOKS_UNKNOWN,
	DETAIL_LOOKS_LIKE_SHAPES,
	DETAIL_LOOKS_OTHERWISE,
};

enum detail_names {
	DETAIL_NAMES_UNKNOWN,
	DETAIL_NAMES_STEP, /* a row of PYTORCH_API with this name is a step */
	DETAIL_NAMES_OP,
};

struct detail_text {
	const char *bytes;
	size_t length;
	np_str id;    /* once interned, else NP_STR_NONE */
	np_str plain; /* likewise as shapes, or as a list of the framework */
	enum detail_looks looks;
	enum detail_names names;
	bool level_known;
	enum np_call_level level; /* if it is the type of a call */
};

/* Tables that name numbers. */
enum detail_enums {
	DETAIL_DATA_TYPES,
	DETAIL_LINKS,
	DETAIL_TRANSPORTS,
	DETAIL_RDMA_TYPES,
	DETAIL_API_TYPES,
	DETAIL_MODULES,
	DETAIL_ENUMS,
};

/* A pair of ids, by the first. */
struct detail_row {
	int64_t id;
	int64_t value;
};

/* The texts of kernels that are alike, under the ids that the file has for them. */
#define DETAIL_KERNEL_TEXTS 10
#define DETAIL_KERNEL_SLOTS 512

struct detail_kernel_texts {
	int64_t id[DETAIL_KERNEL_TEXTS];
	np_str text[DETAIL_KERNEL_TEXTS];
	bool known;
};

struct detail_db {
	struct detail_load *load;
	struct np_detail *detail; /* load->detail */
	struct np_err *err;       /* load->err */
	struct np_db *db;
	struct np_arena *arena;
	struct np_idmap *text_index; /* STRING_IDS.id → texts */
	NP_VEC(struct detail_text) texts;
	struct np_idmap *task_index;   /* TASK.globalTaskId → detail->tasks */
	struct np_idmap *kernel_index; /* COMPUTE_TASK_INFO.globalTaskId → detail->kernels */
	struct np_idmap *op_index;     /* COMMUNICATION_OP.opId → detail->ops */
	struct np_idmap *task_of;      /* connection → a task of it */
	struct np_idmap *enums[DETAIL_ENUMS]; /* id → texts */
	struct np_idmap *counter_index;       /* STRING_IDS.id of a counter → pmu */
	struct np_idset *launched;            /* connections of calls, tasks and operators, */
	bool launches_known;                  /* once somebody asked */
	struct np_idmap *stacks;              /* PYTORCH_CALLCHAINS.id → chains */
	struct np_idset *nameless;            /* ids that STRING_IDS does not have */
	size_t nameless_count;
	size_t unnamed[DETAIL_ENUMS]; /* rows with a number that has no name there */
	NP_VEC(np_str) chains;
	struct np_buf frames; /* of the chain being read */
	int64_t chain;
	struct detail_kernel_texts *kernel_texts; /* by hash of the ids */
	bool is_schedule; /* the kernels being read are of COMMUNICATION_SCHEDULE_TASK_INFO */
	struct detail_pmu pmu;
	int64_t counted_task; /* of the last counter, and its kernel */
	uint32_t counted_kernel;
	NP_VEC(struct detail_row) rows; /* of CONNECTION_IDS */
	size_t near;                    /* where those of the last call ended */
	size_t reading_enum;
	size_t launch_column; /* of the table that is being read for launches */
	size_t about;         /* rows of the table that is being read; 0 if nothing says */
	bool has_process;     /* MEMORY_RECORD lists the process as a component */
};

typedef int detail_take(struct detail_db *db, const struct np_batch *batch, size_t row);

/* Give every row of a table to `take`. A table that is not there has none; one that is damaged
 * is noted, and what was read of it stays. */
int detail_each(struct detail_db *db, const struct vendor_pick *pick, detail_take *take)
	NP_MUST_USE;

/* A row uses a name that nobody has written down. */
void detail_miss(struct detail_db *db, int64_t id);

/* What is known of a string id; NULL for one that is not in the table. */
static inline struct detail_text *detail_find_text(struct detail_db *db, int64_t id)
{
	uint32_t at = np_idmap_get(db->text_index, id);

	if (at != NP_IDMAP_NONE)
		return &db->texts.item[at];
	detail_miss(db, id);
	return NULL;
}

/* The text of a string id; "" for one that is not in the table. */
struct detail_text detail_text_of(struct detail_db *db, int64_t id);

/* For the first time: NP_STR_NONE for what stands for no value, or is no text. */
int detail_intern_first(struct detail_db *db, struct detail_text *text, np_str *ret) NP_MUST_USE;
int detail_intern_plain(struct detail_db *db, struct detail_text *text, np_str *ret) NP_MUST_USE;

/* Intern a text that was found, or NULL; NP_STR_NONE for what stands for no value. */
NP_MUST_USE static inline int detail_intern_text(struct detail_db *db, struct detail_text *text,
						 np_str *ret)
{
	if (!text || text->id == NP_STR_NONE)
		return detail_intern_first(db, text, ret);
	*ret = text->id;
	return NP_OK;
}

/* Intern the text of a string id; NP_STR_NONE for what stands for no value. */
NP_MUST_USE static inline int detail_string(struct detail_db *db, int64_t id, np_str *ret)
{
	return detail_intern_text(db, detail_find_text(db, id), ret);
}

/* Likewise without quotes and line ends: shapes, and lists of the framework. */
NP_MUST_USE static inline int detail_plain_string(struct detail_db *db, int64_t id, np_str *ret)
{
	struct detail_text *text = detail_find_text(db, id);

	if (!text || text->plain == NP_STR_NONE)
		return detail_intern_plain(db, text, ret);
	*ret = text->plain;
	return NP_OK;
}

/* What is known of the name of a number; NULL for one without. */
struct detail_text *detail_find_enum(struct detail_db *db, enum detail_enums table, int64_t id);

/* The name of a number; NP_STR_NONE for one without. */
int detail_enum(struct detail_db *db, enum detail_enums table, int64_t id, np_str *ret) NP_MUST_USE;

/* detail_db_device.c: TASK, COMPUTE_TASK_INFO, TASK_PMU_INFO, COMMUNICATION_*. */
int detail_db_read_device(struct detail_db *db) NP_MUST_USE;

/* detail_db_host.c: CANN_API, PYTORCH_API, CONNECTION_IDS, PYTORCH_CALLCHAINS; and marks. */
int detail_db_read_host(struct detail_db *db) NP_MUST_USE;

/* detail_db_rest.c: samples, memory, device, metadata. */
int detail_db_read_rest(struct detail_db *db) NP_MUST_USE;

#endif /* NP_DETAIL_DB_H */
