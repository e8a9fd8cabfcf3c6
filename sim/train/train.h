/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRAIN_H
#define TRAIN_H

#include "npuprof/base.h"
#include "npuprof/err.h"
#include "sim/npusim/acl_api.h"

/*
 * npu-train-demo: a training job that does nothing but behave like one
 * ====================================================================
 *
 * Data loading, forward, backward with bucketed all-reduce under it, pipeline
 * stages, experts, optimizer: through the public interface of AscendCL, HCCL and
 * mstx alone. It is for the simulated libraries, which know how long the kernels
 * take; no number is ever computed.
 */

enum train_mark {
	MARK_NPUPROF, /* npuprof_step() */
	MARK_MSTX,    /* a range "step N" */
	MARK_NONE,
};

struct train_options {
	int64_t steps;
	int64_t layers;
	int64_t hidden;
	int64_t tp;
	int64_t pp;
	int64_t dp;            /* 0: what tp and pp leave */
	int64_t micro_batches; /* 0: one, or two for each stage of a pipeline */
	int64_t buckets;
	int64_t data_ms;
	int64_t ranks; /* start so many processes; 0: this is one of them */
	int64_t crash_rank;
	int64_t crash_step;
	const char *self_profile; /* directory, or NULL */
	int64_t self_mask;
	const char *until; /* the file that ends it, or NULL */
	enum train_mark mark;
	bool moe;
	bool mpi;
	bool torch; /* has torch_npu's dynamic_profile (torch/) */
	bool no_finalize;
	bool quiet;
};

/* Returns 0, or the exit status + 1 when the program is to end at once (-h, a wrong option). */
int train_options_parse(struct train_options *options, int argc, char **argv);

/* --- Where this process stands (place.c) -------------------------------------------------- */

struct train_place {
	int64_t rank;
	int64_t world;
	int64_t device;
};

/* From the environment: RANK and so on, or what mpirun sets. */
void train_place_find(struct train_place *place);

/* Start `ranks` processes of this program and wait for them; the exit status of the job. */
int train_place_fork(int64_t ranks, char **argv);

/* Rank 0 tells the others `bytes` of `data`, at MASTER_ADDR:MASTER_PORT. */
int train_place_share(const struct train_place *place, void *data, size_t bytes, struct np_err *err)
	NP_MUST_USE;

/* --- MPI (mpi_yes.c in npu-train-demo-mpi, mpi_no.c otherwise) ----------------------------- */

/* Without MPI this becomes the program that has it, or fails. */
int train_mpi_init(struct train_place *place, char **argv, struct np_err *err) NP_MUST_USE;
int train_mpi_share(void *data, size_t bytes);

/* Sum a number over all ranks with MPI_Allreduce, as MPI programs do with the loss. */
int train_mpi_sum(double *value);
void train_mpi_finalize(void);

/* --- Kernels (model.c) -------------------------------------------------------------------- */

enum train_part {
	PART_FORWARD, /* of a layer */
	PART_BACKWARD,
	PART_FIRST, /* of the first stage: the embedding */
	PART_LAST,  /* of the last stage: head and loss */
	PART_OPTIMIZER,
	PART_NORM,
	PART_EXPERTS,
	PART_COUNT,
};

/* Make handles for kernels of a model of this size. */
int train_model_init(int64_t hidden, int64_t tp, struct np_err *err) NP_MUST_USE;

/* Launch the kernels of a part. */
int train_model_launch(enum train_part part, aclrtStream stream, struct np_err *err) NP_MUST_USE;

/* --- The job (job.c, step.c) -------------------------------------------------------------- */

struct train_group {
	HcclComm comm;
	uint32_t size;
	uint32_t rank;
	aclrtStream stream;
};

struct train_job {
	struct train_options options;
	struct train_place place;
	int64_t dp;
	int64_t stage;
	struct train_group world;
	struct train_group dp_group;
	struct train_group tp_group;
	struct train_group pp_group; /* its stream receives */
	aclrtStream main;
	aclrtStream sender;
	aclrtEvent events[8];
	size_t next_event;
	void *buffer; /* what is communicated */
	void *weights;
	void *batch_host;
	void *batch;
	aclprofConfig *profile;
};

#define TRAIN_BUFFER_BYTES ((size_t)256 << 20)
#define TRAIN_BATCH_BYTES  ((size_t)1 << 20)

int train_job_begin(struct train_job *job, char **argv, struct np_err *err) NP_MUST_USE;
void train_job_end(struct train_job *job);

int train_step(struct train_job *job, int64_t step, struct np_err *err) NP_MUST_USE;

/* NP_OK if an AscendCL or HCCL call gave 0, else a failure that names the call. */
int train_check(int code, const char *call, struct np_err *err) NP_MUST_USE;
#define TRAIN_CALL(call, err) train_check(call, #call, err)

#endif /* TRAIN_H */
