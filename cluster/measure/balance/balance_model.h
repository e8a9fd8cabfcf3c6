/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BALANCE_MODEL_H
#define NP_BALANCE_MODEL_H

/* The operators of a run between the work of its ranks, and the same where all are even. */
#include "npuprof/align.h"
#include "npuprof/balance.h"
#include "npuprof/map.h"

#define NO_ROW UINT32_MAX

/* Where a rank starts an operator, or cannot go on before one has ended. */
struct bal_mark {
	np_ns time;   /* as recorded, local: marks of a cell are in its order */
	double at;    /* what its rank had computed of the step by then, ns */
	uint32_t row; /* the same operator of its peers */
	uint32_t slot;
	bool block;
	bool message;
	bool receive;
	/* false: a receive that was over, or a start that was held up, when the rank came there. */
	bool seen;
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
	struct np_numbers type_of; /* np_str → index of types */
	double *weights;           /* by stage, then type: what is even against what is */
	double *totals;            /* by stage: computing of a step where all are even */
	double *even;              /* by row: bal_settle() */
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
 * those of the stages), an array by row that is to be freed, also after a failure.
 */
int bal_settle(struct np_bal *bal, const double *weights, double **ret);
double bal_even_at(const struct np_bal *bal, const double *even, const struct bal_mark *mark);

/* --- balance_pool.c: what repeats within a step ---------------------------------------------- */

int bal_pool(struct np_bal *bal);

/* --- balance_run.c: run it ------------------------------------------------------------------- */

struct bal_scenario {
	double *at;    /* by mark */
	double *total; /* by cell */
	float *after;  /* by slot */
};

/* The mean step; the number of times that somebody had to go on is added to `forced`. */
int bal_run(const struct np_bal *bal, const struct bal_scenario *scenario, double *ret,
	    size_t *ret_steps, size_t *forced, struct np_err *err) NP_MUST_USE;

#endif /* NP_BALANCE_MODEL_H */
