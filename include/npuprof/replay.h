/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPLAY_H
#define NP_REPLAY_H

#include "npuprof/clock.h"
#include "npuprof/cluster.h"
#include "npuprof/experts.h"

/*
 * The cluster, run again
 * ======================
 *
 * A run is turned into a program for every rank: it works for a while, starts an
 * operator, works on, stands still until an operator has ended, and so on. An
 * operator ends for all of its members when the last has started and the data
 * has moved. Run untouched, the program gives the times that were recorded; with
 * a duration changed, it gives what the recording would have been.
 *
 * What a rank stands still for is an operator that nothing hides up to its end.
 * An operator that starts right behind another one of its communicator may have
 * been ready before: how far the rank had got when it was, is taken from the
 * members that were not held up so, and else lies evenly between the operators
 * of which it is known.
 *
 * A rank that was not profiled comes to its operators when those that wait for it show it:
 * what they take longer than operators like them of which all members are known. It is
 * taken to work from the end of its last operator on, and nothing repairs it.
 *
 * Work is of four kinds, which a scenario scales for each rank and step: computing,
 * waiting for the host to launch, what keeps the device idle between the step and the
 * next (between/dataloader, between/host and between/unknown), and the rest; of
 * computing, what experts did for more tokens than an even share can be taken off.
 * Transfers are scaled by instance.
 *
 * All ranks that were captured from the same step on begin at one time, that of the
 * first. What one of them is later than the first of its stage is waiting for its host.
 *
 * The step of a scenario is on the basis of the run (iteration.h): the mean, over ranks
 * and steps with an iteration, of the time from the first start in the step to that in
 * the next; else the time of all steps, by their number.
 */

struct np_align;
struct np_clock;
struct np_instance;
struct np_rank;

enum np_work {
	NP_WORK_COMPUTE,
	NP_WORK_HOST,
	NP_WORK_OTHER,
	NP_WORK_SURPLUS, /* computing for tokens that others would have had if all had as many, or
			    beyond what peers compute at one place of the step */
	NP_WORK_BETWEEN, /* nothing to do between the step and the next one */
	NP_WORK_KINDS,
};

/*
 * Ranks that were captured for other steps: what one of them did in a step that others lack
 * cannot be repeated, for nobody knows what it waited for. Such steps are left out where at
 * least two, and half of all, are left; and so are iterations that not all ranks know.
 */
#define NP_STEP_LEFT_OUT     1
#define NP_STEP_NO_ITERATION 2

/* A rank on one device in one step. */
struct np_replay_cell {
	uint32_t rank; /* index in the run */
	np_str step;
	bool timed; /* false: what its work consists of is not known, and all of it is "other" */
	np_ns work[NP_WORK_KINDS]; /* computing with its surplus, which does not stand by itself */
	np_ns beyond; /* of computing: what peers do not have at its place, where it has one */
	np_ns tokens; /* of computing: for tokens beyond the mean of all; below 0 for fewer */
};

/* What a rank did, and would do with as many tokens as others: what it may be blamed for. */
static inline double np_replay_own_work(const struct np_replay_cell *cell, enum np_work kind)
{
	return (double)(cell->work[kind] - (kind == NP_WORK_COMPUTE ? cell->tokens : 0));
}

struct np_replay_mark;
struct np_replay_member;
struct np_replay_rank;
struct np_replay_settled;
struct np_replay_absent;

/* An operator: times on the common clock, and what it queued behind. */
struct np_replay_op {
	np_ns start;
	np_ns end;
	uint32_t behind; /* slot of the operator that held it up; UINT32_MAX for none */
	uint32_t instance;
};

struct np_replay {
	const struct np_cluster *cluster;
	const struct np_align *align;
	NP_VEC(struct np_replay_cell) cells;      /* by rank, then time */
	struct np_replay_rank *ranks;             /* by index in the run */
	struct np_replay_op *ops;                 /* by slot */
	NP_VEC(struct np_replay_settled) settled; /* by slot: replay_program.h */
	NP_VEC(struct np_replay_absent) absent;   /* by instance */
	uint8_t *left_out;  /* by index in np_cluster.steps: NP_STEP_…; NULL where nothing is */
	int32_t *stages;    /* of the pipeline, by rank; -1 for none */
	size_t stage_count; /* 0 without a pipeline */
	size_t steps;
	size_t iterations;   /* of ranks and steps; 0: the basis is the span */
	np_ns observed_step; /* the mean, on the basis of the run */
	size_t timed;        /* ranks with intervals; of the others only operators are known */
	np_ns first;         /* start of all ranks, on the common clock */
	np_ns observed;      /* from there to the last end, over all ranks */
	np_ns uncaptured;    /* of it, between steps that are no neighbours: in no step */

	/*
	 * The program of all ranks, in an order in which nothing comes before what it
	 * waits for: replay_program.h.
	 */
	NP_VEC(struct np_replay_mark) marks;
	uint32_t *mark_slots;                    /* by mark: of the operator */
	NP_VEC(struct np_replay_member) members; /* of the instances, as they end */
	NP_VEC(np_ns) alone;  /* what operators took that ranks went on without */
	uint32_t *cell_ranks; /* as in cells */
	uint32_t rooms;       /* operators that are under way at once, at most */
	size_t forced;        /* times that a rank waits for what never comes, and goes on */
};

/*
 * The stage of each rank, to be freed, -1 for none; and how many there are, 0 without a
 * pipeline.
 */
int np_replay_stages(const struct np_cluster *cluster, int32_t **ret, size_t *ret_count,
		     struct np_err *err) NP_MUST_USE;

/* `experts` may be NULL. On so many threads (0: one per processor). */
int np_replay_build(const struct np_cluster *cluster, const struct np_align *align,
		    const struct np_clock *clock, const struct np_experts *experts, size_t threads,
		    struct np_replay **ret, struct np_err *err) NP_MUST_USE;
void np_replay_free(struct np_replay *replay);

/* Is the step replayed? And is this cell of a rank's activity one of np_replay.cells? */
bool np_replay_has_step(const struct np_replay *replay, np_str step);
bool np_replay_has_cell(const struct np_replay *replay, const struct np_rank *rank, size_t cell);

/* The last recorded start of an instance, on the common clock. */
np_ns np_replay_last_start(const struct np_replay *replay, const struct np_instance *instance);

/*
 * What the transfer of an instance takes, on average over its members: without waiting for
 * ranks that were not profiled, and for other messages of a batch. NP_UNKNOWN for one alone.
 */
np_ns np_replay_transfer(const struct np_replay *replay, const struct np_instance *instance);

/* What is different: NULL for as it was. */
struct np_scenario {
	/* Factors by cell; that of computing is for its surplus as well. */
	const float (*work)[NP_WORK_KINDS];
	const float *transfer; /* factors by instance */
};

struct np_replay_result {
	np_ns total;   /* as `observed` */
	np_ns step;    /* the mean, on the basis of the run */
	size_t forced; /* as in the replay */
};

/* Run one scenario. Any number of threads may. */
int np_replay_run(const struct np_replay *replay, const struct np_scenario *scenario,
		  struct np_replay_result *ret, struct np_err *err) NP_MUST_USE;

/* Scenarios that run side by side cost little more than one of them. */
#define NP_REPLAY_LANES 8

/* Run many scenarios, so many side by side. Results are by scenario. */
int np_replay_run_many(const struct np_replay *replay, const struct np_scenario *scenarios,
		       size_t count, struct np_replay_result *ret, struct np_err *err) NP_MUST_USE;

/*
 * One piece of the path that no other could have shortened: what a rank did while
 * everything else had slack. Backwards from the last end.
 */
struct np_path_piece {
	uint32_t rank;
	np_str step;
	enum np_work work;     /* where communicator is UINT32_MAX */
	uint32_t communicator; /* index in np_align.communicators, of a transfer */
	np_ns ns;
};

struct np_path {
	NP_VEC(struct np_path_piece) pieces; /* in the order of time; they sum to the total */
};

/* Run the untouched scenario and walk its critical path. */
int np_replay_path(const struct np_replay *replay, struct np_path *ret, struct np_err *err)
	NP_MUST_USE;
void np_path_release(struct np_path *path);

/* What one kind of work, or transfers of one role, take of the path. */
struct np_path_part {
	struct np_path_piece piece; /* the first: np_path_leaf() names it */
	np_str role;                /* of transfers; NP_STR_NONE: of one communicator */
	np_ns total;
	np_ns step; /* mean over the steps; likewise the median, and 19 of 20 are below */
	np_ns p50;
	np_ns p95;
	/* Of the step: what the path has more of it than ranks have on average; balance removes it.
	 */
	np_ns imbalance; /* NP_UNKNOWN where no rank knows it */
};

struct np_path_summary {
	NP_VEC(struct np_path_part) list; /* the longest first */
};

int np_path_summarise(const struct np_replay *replay, const struct np_path *path,
		      struct np_path_summary *ret, struct np_err *err) NP_MUST_USE;

/*
 * By how much the computing of each cell could have taken longer before the run
 * had; NP_UNKNOWN for cells without any. To be freed.
 */
int np_replay_slack(const struct np_replay *replay, np_ns **ret, struct np_err *err) NP_MUST_USE;

/*
 * What each step of the run (np_cluster.steps) takes in a scenario, from the last end
 * of the one before to its own last end: they sum to the total.
 */
int np_replay_step_times(const struct np_replay *replay, const struct np_scenario *scenario,
			 np_ns *ret, struct np_err *err) NP_MUST_USE;

#endif /* NP_REPLAY_H */
