/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BALANCE_MODEL_H
#define NP_BALANCE_MODEL_H

/* The operators of a run between the work of its ranks, and the same where all are even. */
#include "npuprof/align.h"
#include "npuprof/balance.h"
#include "npuprof/map.h"

#define NO_ROW         UINT32_MAX
#define BAL_ALL_STAGES UINT32_MAX

/* Marks that are this near to each other are at one place. */
#define BAL_ONE_PLACE 200000.0

/* Where a rank starts an operator, or cannot go on before one has ended. */
struct bal_mark {
	np_ns time;   /* as recorded, local: marks of a cell are in its order */
	double at;    /* what its rank had computed of the step by then, ns */
	uint32_t row; /* the same operator of its peers */
	uint32_t slot;
	uint32_t cell;
	bool block : 1;
	bool message : 1;
	bool receive : 1;
	bool perhaps : 1; /* a receive that was over while the rank waited for another one */
	/* false: a receive that was over, or a start that was held up, when the rank came there. */
	bool seen : 1;
};

/* A rank in one step. */
struct bal_cell {
	const struct np_rank *loaded;
	const struct np_activity_cell *activity;
	uint32_t rank;  /* index in the run */
	uint32_t step;  /* index in np_cluster.steps */
	uint32_t stage; /* 0 where there are none */
	uint32_t first; /* mark */
	uint32_t marks;
	double total; /* computing */
};

/* Operators at the same place of the program of all ranks of a stage. */
struct bal_row {
	uint32_t stage;
	uint32_t class; /* of the operator: what it is, whose, and of messages where to */
	bool sends;
	double starts; /* marks of it that are starts */
	double share;  /* of those that were seen: how much of its step a rank had computed, Σ */
	double count;
	uint32_t place; /* of receives: the start, a row, at which ranks were seen to wait; or
			   NO_ROW */
	uint32_t bound; /* likewise, that ranks were past when it was over, without having waited */
	uint32_t guess; /* … and the next one */
};

/* Transfers that are compared. */
struct bal_alike {
	np_str type;
	float median; /* NaN without any complete one */
};

struct bal_op {
	uint32_t cell;   /* UINT32_MAX: in none */
	uint32_t behind; /* slot of the operator that it starts after, or UINT32_MAX */
	uint32_t alike;  /* index in np_bal.alike */
	float after;     /* from what it waits for to its end */
	bool self;       /* that is its own start */
	bool loose;      /* of an instance of which the members are not all in one step */
};

struct bal_type {
	np_str type;    /* NP_STR_NONE: copies */
	double *stages; /* Σ by stage */
	double excess;  /* what cells are away from what is even, in all */
};

/* Types that may make up a stretch, balance_pool.c. */
#define BAL_TYPES 4

/* A stretch that is one kernel of all ranks of a stage, where all are even. */
struct bal_pass {
	uint32_t stage;
	uint32_t first; /* rows */
	uint32_t last;
	double from;
	double to;
	double parts[BAL_TYPES]; /* share of each of np_bal.pooled */
};

struct np_bal {
	const struct np_align *align;
	const struct np_clock *clock;
	const struct np_cluster *cluster;
	const int32_t *stage_of; /* by rank */
	size_t stages;           /* at least 1 */
	double *stage_cells;     /* by stage */
	NP_VEC(struct bal_cell) cells;
	NP_VEC(struct bal_mark) marks;
	NP_VEC(struct bal_row) rows;
	struct np_numbers row_of; /* stage, class, k, kind → row */
	struct np_numbers pairs;  /* two numbers → one: classes of operators */
	struct bal_op *ops;       /* by slot */
	NP_VEC(struct bal_alike) alike;
	NP_VEC(struct bal_type) types;
	struct np_numbers type_of;         /* np_str → index of types */
	double *weights;                   /* by stage, then type: what is even against what is */
	double *totals;                    /* by stage: computing of a step where all are even */
	double *even;                      /* by row: bal_settle() */
	bool *passes;                      /* by stage: each stretch is one kernel, bal_pool() */
	NP_VEC(struct bal_pass) pass_list; /* of these, by stage and in their order */
	size_t pooled[BAL_TYPES];          /* indexes of types, SIZE_MAX for none */
	struct np_err *err;
};

/* --- balance_model.c: from a run to marks, and where they are if all are even ----------------- */

int bal_build(struct np_bal *bal);
void bal_release(struct np_bal *bal);

/* What a cell had computed by a time of its own: all types, or by weights (by type). */
struct bal_progress {
	NP_VEC(double) sums; /* up to the begin of each segment; one more ends the last */
	size_t behind;       /* the segment after the last time that was asked for */
};

int bal_see_progress(struct np_bal *bal, const struct bal_cell *cell, const double *weights,
		     struct bal_progress *ret);
double bal_progress_at(struct bal_progress *progress, const struct bal_cell *cell, np_ns time);

/*
 * Where a mark is if all are even: from what bal_settle() makes of weights by type (NULL:
 * those of the stages), an array by row that is to be freed, also after a failure. Of the
 * cells of one stage, or (BAL_ALL_STAGES) of all.
 */
int bal_settle(struct np_bal *bal, const double *weights, uint32_t stage, double **ret);
/* And what each mark of these cells is at by these weights, and each cell in all; may be NULL. */
int bal_settle_marks(struct np_bal *bal, const double *weights, uint32_t stage, double *at,
		     double *totals, double **ret);
double bal_even_at(const struct np_bal *bal, const double *even, uint32_t row);

/* --- balance_pool.c: what repeats within a step ---------------------------------------------- */

int bal_pool(struct np_bal *bal);

/*
 * What bal_settle() makes of one type alone, where stretches are one kernel each: kernels
 * of the type are as long as each other, as in bal->even. `factors` is by stage.
 */
void bal_pool_type(const struct np_bal *bal, size_t type, const double *factors, double *even);

/* --- balance_order.c: what comes after what --------------------------------------------------- */

/* What can come next does not depend on how long anything takes: one order for all scenarios. */
enum bal_kind {
	BAL_READY, /* a mark: its rank wants to start an operator, which is held up by another */
	BAL_START, /* likewise, and it starts */
	BAL_BEGIN, /* a slot: it starts, since what held it up has ended */
	BAL_BLOCK, /* a mark: its rank goes on, since the operator has ended */
	BAL_FORCE, /* a mark: its operator never ends, and is not waited for */
	BAL_DONE,  /* an instance: all have come */
};

struct bal_event {
	uint32_t kind : 3; /* enum bal_kind */
	uint32_t index : 29;
};

/* Events count no more than this. */
#define BAL_MOST ((size_t)1 << 29)

/* An operator that is in the steps of a rank more than once: another cell of it. */
struct bal_kept {
	uint32_t slot;
	uint32_t cell;
};

struct bal_program {
	NP_VEC(struct bal_event) events;
	/*
	 * Where the times of an operator are while it is under way, by slot: others have the place
	 * before and after, but for those with BAL_KEPT.
	 */
	uint32_t *rooms;
	uint32_t room_count;
	NP_VEC(struct bal_kept) kept; /* by slot */
	size_t forced;                /* times that somebody had to go on */
};

#define BAL_KEPT    ((uint32_t)1 << 31)
#define BAL_NO_ROOM UINT32_MAX

int bal_order(const struct np_bal *bal, struct bal_program *ret, struct np_err *err) NP_MUST_USE;
void bal_program_release(struct bal_program *program);

/* --- balance_run.c: run it ------------------------------------------------------------------- */

enum bal_what {
	BAL_AS_IT_WAS,
	BAL_EVEN,
	BAL_EVEN_RANK,
	BAL_EVEN_STAGE,
	BAL_EVEN_KERNELS,
	BAL_EVEN_TRANSFERS,
};

/* A scenario, one of several that run side by side. */
struct bal_lane {
	enum bal_what what;
	uint32_t number;       /* stage, or index of the type of kernels */
	const uint32_t *ranks; /* indexes in the run */
	size_t rank_count;
	np_str type;  /* of transfers */
	double step;  /* the mean that comes out … */
	size_t steps; /* … of so many */
};

#define BAL_LANES 8

/* Run up to BAL_LANES scenarios. */
int bal_run(const struct np_bal *bal, const struct bal_program *program, struct bal_lane *lanes,
	    size_t count, struct np_err *err) NP_MUST_USE;

#endif /* NP_BALANCE_MODEL_H */
