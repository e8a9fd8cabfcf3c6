/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one training step: forward, backward, gradients, optimizer. */
#include <unistd.h>

#include "train.h"

/* Make `later` wait for all that was launched on `earlier` so far. */
static int order(struct train_job *job, aclrtStream earlier, aclrtStream later, struct np_err *err)
{
	aclrtEvent event = job->events[job->next_event++ % NP_COUNT(job->events)];
	int rc = TRAIN_CALL(aclrtRecordEvent(event, earlier), err);

	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtStreamWaitEvent(later, event), err);
	return rc;
}

static int load_batch(struct train_job *job, struct np_err *err)
{
	mstxRangeId range = 0;

	if (job->options.mark == MARK_MSTX)
		range = mstxRangeStartA("dataloader", NULL);
	(void)usleep((useconds_t)job->options.data_ms * 1000);
	if (range)
		mstxRangeEnd(range);
	return TRAIN_CALL(aclrtMemcpyAsync(job->batch, TRAIN_BATCH_BYTES, job->batch_host,
					   TRAIN_BATCH_BYTES, ACL_MEMCPY_HOST_TO_DEVICE, job->main),
			  err);
}

/* An all-reduce that what follows on the main stream waits for. */
static int exposed_all_reduce(struct train_job *job, const struct train_group *group,
			      uint64_t count, struct np_err *err)
{
	int rc = order(job, job->main, group->stream, err);

	if (rc == NP_OK)
		rc = TRAIN_CALL(HcclAllReduce(job->buffer, job->buffer, count, HCCL_BFP16, 0,
					      group->comm, group->stream),
				err);
	return rc == NP_OK ? order(job, group->stream, job->main, err) : rc;
}

/* Tokens go to their experts and back. */
static int exchange_tokens(struct train_job *job, struct np_err *err)
{
	struct train_group *group = &job->dp_group;
	uint64_t counts[1024];
	int rc = order(job, job->main, group->stream, err);

	if (group->size > NP_COUNT(counts))
		return np_fail(err, NP_E_RANGE, "too many ranks for --moe");
	for (uint32_t i = 0; i < group->size; i++)
		counts[i] = (uint64_t)(1 << 20) / group->size * (1 + (i + group->rank) % 3);
	if (rc == NP_OK)
		rc = TRAIN_CALL(HcclAlltoAllV(job->buffer, counts, counts, HCCL_BFP16, job->buffer,
					      counts, counts, HCCL_BFP16, group->comm,
					      group->stream),
				err);
	return rc == NP_OK ? order(job, group->stream, job->main, err) : rc;
}

static int layer(struct train_job *job, enum train_part part, struct np_err *err)
{
	uint64_t activations = (uint64_t)job->options.hidden * 4096;
	int rc = train_model_launch(part, job->main, err);

	if (rc == NP_OK && job->options.moe && job->dp > 1) {
		rc = exchange_tokens(job, err);
		if (rc == NP_OK)
			rc = train_model_launch(PART_EXPERTS, job->main, err);
		if (rc == NP_OK)
			rc = exchange_tokens(job, err);
	}
	if (rc == NP_OK && job->options.tp > 1)
		rc = exposed_all_reduce(job, &job->tp_group, activations, err);
	return rc;
}

/* --- Between stages ----------------------------------------------------------------------- */

static int receive(struct train_job *job, int64_t from, struct np_err *err)
{
	struct train_group *group = &job->pp_group;
	uint64_t count = (uint64_t)job->options.hidden * 4096;
	int rc = TRAIN_CALL(HcclRecv(job->buffer, count, HCCL_BFP16, (uint32_t)from, group->comm,
				     group->stream),
			    err);

	return rc == NP_OK ? order(job, group->stream, job->main, err) : rc;
}

static int pass_on(struct train_job *job, int64_t to, struct np_err *err)
{
	uint64_t count = (uint64_t)job->options.hidden * 4096;
	int rc = order(job, job->main, job->sender, err);

	if (rc == NP_OK)
		rc = TRAIN_CALL(HcclSend(job->buffer, count, HCCL_BFP16, (uint32_t)to,
					 job->pp_group.comm, job->sender),
				err);
	return rc;
}

/* --- Passes ------------------------------------------------------------------------------- */

static int forward(struct train_job *job, struct np_err *err)
{
	int64_t layers = job->options.layers / job->options.pp;
	bool is_first = job->stage == 0;
	bool is_last = job->stage == job->options.pp - 1;
	int rc = is_first ? train_model_launch(PART_FIRST, job->main, err)
			  : receive(job, job->stage - 1, err);

	for (int64_t i = 0; rc == NP_OK && i < layers; i++)
		rc = layer(job, PART_FORWARD, err);
	if (rc == NP_OK)
		rc = is_last ? train_model_launch(PART_LAST, job->main, err)
			     : pass_on(job, job->stage + 1, err);
	return rc;
}

/* The gradients of a bucket are complete: reduce them while the backward pass goes on. */
static int reduce_bucket(struct train_job *job, int64_t layers, struct np_err *err)
{
	uint64_t parameters = (uint64_t)(job->options.hidden * job->options.hidden * 12 * layers) /
			      (uint64_t)job->options.tp;
	int rc = order(job, job->main, job->dp_group.stream, err);

	if (rc == NP_OK)
		rc = TRAIN_CALL(HcclAllReduce(job->buffer, job->buffer, parameters, HCCL_BFP16, 0,
					      job->dp_group.comm, job->dp_group.stream),
				err);
	return rc;
}

static int backward(struct train_job *job, bool reduce, struct np_err *err)
{
	int64_t layers = job->options.layers / job->options.pp;
	int64_t per_bucket = layers / job->options.buckets > 0 ? layers / job->options.buckets : 1;
	int64_t in_bucket = 0;
	int rc = NP_OK;

	if (job->stage < job->options.pp - 1)
		rc = receive(job, job->stage + 1, err);
	for (int64_t i = 0; rc == NP_OK && i < layers; i++) {
		rc = layer(job, PART_BACKWARD, err);
		in_bucket++;
		if (rc == NP_OK && reduce && (in_bucket == per_bucket || i == layers - 1)) {
			rc = reduce_bucket(job, in_bucket, err);
			in_bucket = 0;
		}
	}
	if (rc == NP_OK && job->stage > 0)
		rc = pass_on(job, job->stage - 1, err);
	return rc;
}

/* The gradient norm of all ranks, then the new weights. */
static int optimize(struct train_job *job, struct np_err *err)
{
	int rc = NP_OK;

	if (job->dp > 1)
		rc = order(job, job->dp_group.stream, job->main, err);
	if (rc == NP_OK)
		rc = train_model_launch(PART_NORM, job->main, err);
	if (rc == NP_OK && job->place.world > 1)
		rc = exposed_all_reduce(job, &job->world, 1, err);
	for (int64_t i = 0; rc == NP_OK && i < job->options.layers / job->options.pp; i++)
		rc = train_model_launch(PART_OPTIMIZER, job->main, err);
	return rc;
}

static int passes(struct train_job *job, struct np_err *err)
{
	int64_t count = job->options.micro_batches;
	void *activations = NULL;
	int rc = TRAIN_CALL(aclrtMalloc(&activations, (size_t)job->options.hidden * 4096 * 16, 0),
			    err);

	for (int64_t i = 0; rc == NP_OK && i < count; i++)
		rc = forward(job, err);
	for (int64_t i = 0; rc == NP_OK && i < count; i++)
		rc = backward(job, job->dp > 1 && i == count - 1, err);
	if (activations)
		(void)aclrtFree(activations);
	return rc;
}

int train_step(struct train_job *job, int64_t step, struct np_err *err)
{
	mstxRangeId range = 0;
	char name[32];
	int rc;

	(void)snprintf(name, sizeof(name), "step %lld", (long long)step);
	if (job->options.mark == MARK_MSTX)
		range = mstxRangeStartA(name, job->main);
	rc = load_batch(job, err);
	if (rc == NP_OK)
		rc = passes(job, err);
	if (rc == NP_OK)
		rc = optimize(job, err);
	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtSynchronizeStream(job->main), err);
	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtSynchronizeStream(job->sender), err);
	if (range)
		mstxRangeEnd(range);
	return rc;
}
