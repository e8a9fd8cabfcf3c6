/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PIPELINE_H
#define NP_PIPELINE_H

#include "npuprof/cluster.h"
#include "npuprof/waits.h"

/*
 * Where the time of a pipeline stage goes
 * =======================================
 *
 * The span of each rank in each step, every nanosecond once, by what was
 * exposed:
 *
 *	useful      computing
 *	other_comm  communication with ranks of the same stage
 *	warmup      waiting for other stages while the pipeline fills and drains
 *	imbalance   waiting for other stages in between
 *	transfer    the rest of messages between stages
 *	host        nothing ran, or copies did
 *	tail        waiting for others after the last message: stages that are done earlier
 *
 * Filling ends with the first gradient that comes back (on the last stage with
 * the first input). Draining begins with the gradients of the micro-batches that
 * the stage had taken in ahead while filling: between them a pipeline of one
 * forward, one backward has nothing to do.
 *
 * A pipeline of p balanced stages and m micro-batches stands still for (p − 1) / m
 * of the work of a stage: `ideal`. `excess` is what warm-up, imbalance, transfer,
 * host and tail are beyond it.
 */

struct np_align;
struct np_clock;
struct np_peers;
struct np_waits;

struct np_pipeline_time {
	uint32_t rank; /* index in the run */
	np_str step;
	int32_t device;
	int32_t stage;
	uint32_t micro_batches; /* that went through; interleaved ones count each time */
	np_ns useful;
	np_ns other_comm;
	np_ns warmup;
	np_ns imbalance;
	np_ns transfer;
	np_ns host;
	np_ns tail;
	np_ns span; /* their sum */
	np_ns work; /* useful and other_comm up to the last message */
	np_ns ideal;
	np_ns excess;
};

struct np_pipeline {
	int32_t stages;                       /* 0 without a pipeline */
	NP_VEC(struct np_pipeline_time) list; /* by step, then rank */
};

/*
 * Where messages do not say to whom they went (Level0, communicators of more than
 * two ranks): find it out from the ends of those of neighbouring stages. Needs all
 * members and their stages; circles of interleaved stages are not found out. *ret,
 * untouched where nothing was found, is for np_align_set_peers().
 */
int np_pipeline_peers(const struct np_cluster *cluster, const struct np_clock *clock,
		      struct np_peers **ret, struct np_err *err) NP_MUST_USE;

/* Ranks without intervals, or whose waiting is not known, have no row. */
int np_pipeline_measure(const struct np_cluster *cluster, const struct np_align *align,
			const struct np_waits *waits, struct np_pipeline *ret, struct np_err *err)
	NP_MUST_USE;
void np_pipeline_release(struct np_pipeline *pipeline);

/*
 * The same of one rank in one step, in the order of time: to be drawn. Where kernels
 * and idle time alternate between two operators, the kernels stand first: their places
 * are not kept.
 */
enum np_strip_kind {
	NP_STRIP_USEFUL,
	NP_STRIP_OTHER_COMM,
	NP_STRIP_WARMUP,
	NP_STRIP_IMBALANCE,
	NP_STRIP_TRANSFER,
	NP_STRIP_HOST,
	NP_STRIP_TAIL,
	NP_STRIP_KINDS,
};

/* "useful", "other_comm" …: as the figures above are called. */
const char *np_strip_kind_name(enum np_strip_kind kind);

struct np_strip_slice {
	np_ns begin; /* on the clock of the rank */
	np_ns end;
	enum np_strip_kind kind;
};

struct np_strip {
	uint32_t rank; /* index in the run */
	int32_t stage;
	np_str step;
	NP_VEC(struct np_strip_slice) slices; /* one after the other, without a gap */
};

/*
 * One strip for each stage in the step of median length: of the pipeline that `rank`, an
 * index in the run, is in, or of the first. Stages whose rank was not profiled have none.
 */
struct np_strips {
	NP_VEC(struct np_strip) list; /* by stage */
};

int np_pipeline_strips(const struct np_cluster *cluster, const struct np_align *align,
		       const struct np_waits *waits, const struct np_pipeline *pipeline,
		       uint32_t rank, struct np_strips *ret, struct np_err *err) NP_MUST_USE;
void np_strips_release(struct np_strips *strips);

#endif /* NP_PIPELINE_H */
