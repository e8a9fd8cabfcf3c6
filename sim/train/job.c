/* SPDX-License-Identifier: Apache-2.0 */
/* Sets up a training job: devices, streams, communicators. */
#include "train.h"

int train_check(int code, const char *call, struct np_err *err)
{
	if (code == 0)
		return NP_OK;
	return np_fail(err, NP_E_IO, "%.*s: error %d", (int)strcspn(call, "("), call, code);
}

/* The ranks of a group: `count` of them from `first`, `stride` apart. */
static int make_group(struct train_job *job, struct train_group *group, uint64_t id, int64_t first,
		      int64_t count, int64_t stride, const char *name, struct np_err *err)
{
	uint32_t *ranks = calloc((size_t)count, sizeof(*ranks));
	HcclCommConfig config = { .size = sizeof(config), .magic = 0xf0f0f0f0, .version = 10 };
	int rc;

	if (!ranks)
		return np_fail_nomem(err, "a group");
	group->size = (uint32_t)count;
	for (uint32_t i = 0; i < group->size; i++) {
		ranks[i] = (uint32_t)(first + i * stride);
		if (ranks[i] == (uint32_t)job->place.rank)
			group->rank = i;
	}
	(void)snprintf(config.hcclCommName, sizeof(config.hcclCommName), "%s_%lld", name,
		       (long long)first);
	config.hcclWorldRankID = (uint32_t)job->place.rank;
	rc = TRAIN_CALL(HcclCreateSubCommConfig(&job->world.comm, group->size, ranks, id,
						group->rank, &config, &group->comm),
			err);
	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtCreateStream(&group->stream), err);
	free(ranks);
	return rc;
}

/* tp varies fastest, then dp, then pp. Every rank is in one group of each kind. */
static int make_groups(struct train_job *job, struct np_err *err)
{
	int64_t tp = job->options.tp;
	int64_t pp = job->options.pp;
	int64_t rank = job->place.rank;
	int64_t stage_size = job->place.world / pp;
	int rc = NP_OK;

	job->dp = stage_size / tp;
	job->stage = rank / stage_size;
	if (tp > 1)
		rc = make_group(job, &job->tp_group, 1, rank / tp * tp, tp, 1, "tp", err);
	if (rc == NP_OK && job->dp > 1)
		rc = make_group(job, &job->dp_group, 2, job->stage * stage_size + rank % tp,
				job->dp, tp, "dp", err);
	if (rc == NP_OK && pp > 1)
		rc = make_group(job, &job->pp_group, 3, rank % stage_size, pp, stage_size, "pp",
				err);
	return rc;
}

static int make_world(struct train_job *job, struct np_err *err)
{
	HcclRootInfo root;
	int rc = NP_OK;

	memset(&root, 0, sizeof(root));
	if (job->place.rank == 0)
		rc = TRAIN_CALL(HcclGetRootInfo(&root), err);
	if (rc == NP_OK && job->options.mpi)
		rc = TRAIN_CALL(train_mpi_share(&root, sizeof(root)), err);
	else if (rc == NP_OK)
		rc = train_place_share(&job->place, &root, sizeof(root), err);
	job->world.size = (uint32_t)job->place.world;
	job->world.rank = (uint32_t)job->place.rank;
	if (rc == NP_OK)
		rc = TRAIN_CALL(HcclCommInitRootInfo(job->world.size, &root, job->world.rank,
						     &job->world.comm),
				err);
	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtCreateStream(&job->world.stream), err);
	return rc;
}

static int make_memory(struct train_job *job, struct np_err *err)
{
	int64_t width = job->options.hidden / 64 + 1;
	size_t weights = (size_t)(width * width * job->options.layers / job->options.pp) * 65536;
	int rc = TRAIN_CALL(aclrtMalloc(&job->buffer, TRAIN_BUFFER_BYTES, 0), err);

	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtMalloc(&job->weights, weights, 0), err);
	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtMalloc(&job->batch, TRAIN_BATCH_BYTES, 0), err);
	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtMallocHost(&job->batch_host, TRAIN_BATCH_BYTES), err);
	if (rc == NP_OK)
		memset(job->batch_host, 1, TRAIN_BATCH_BYTES);
	return rc;
}

static int make_streams(struct train_job *job, struct np_err *err)
{
	int rc = TRAIN_CALL(aclrtCreateStream(&job->main), err);

	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtCreateStream(&job->sender), err);
	for (size_t i = 0; rc == NP_OK && i < NP_COUNT(job->events); i++)
		rc = TRAIN_CALL(aclrtCreateEvent(&job->events[i]), err);
	return rc;
}

static int check_sizes(const struct train_job *job, struct np_err *err)
{
	const struct train_options *options = &job->options;
	int64_t model = options->tp * options->pp;

	if (job->place.world % model != 0)
		return np_fail(err, NP_E_USAGE,
			       "%lld ranks cannot be divided by tp %lld and pp %lld",
			       (long long)job->place.world, (long long)options->tp,
			       (long long)options->pp);
	if (options->dp > 0 && options->dp != job->place.world / model)
		return np_fail(err, NP_E_USAGE,
			       "%lld ranks with tp %lld and pp %lld make dp %lld, not %lld",
			       (long long)job->place.world, (long long)options->tp,
			       (long long)options->pp, (long long)(job->place.world / model),
			       (long long)options->dp);
	return NP_OK;
}

int train_job_begin(struct train_job *job, char **argv, struct np_err *err)
{
	uint32_t devices = 0;
	int rc = NP_OK;

	train_place_find(&job->place);
	if (job->options.mpi)
		rc = train_mpi_init(&job->place, argv, err);
	if (rc < 0)
		return rc;
	rc = check_sizes(job, err);
	if (rc == NP_OK)
		rc = TRAIN_CALL(aclInit(NULL), err);
	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtGetDeviceCount(&devices), err);
	if (rc == NP_OK && devices == 0)
		rc = np_fail(err, NP_E_NOTFOUND, "there is no device");
	if (rc == NP_OK)
		rc = TRAIN_CALL(aclrtSetDevice((int32_t)(job->place.device % devices)), err);
	if (rc == NP_OK)
		rc = make_streams(job, err);
	if (rc == NP_OK)
		rc = make_world(job, err);
	if (rc == NP_OK)
		rc = make_groups(job, err);
	if (rc == NP_OK)
		rc = make_memory(job, err);
	if (rc == NP_OK)
		rc = train_model_init(job->options.hidden, job->options.tp, err);
	return rc;
}

static void free_group(struct train_group *group)
{
	if (group->comm)
		(void)HcclCommDestroy(group->comm);
	if (group->stream)
		(void)aclrtDestroyStream(group->stream);
}

void train_job_end(struct train_job *job)
{
	int32_t device;

	free_group(&job->tp_group);
	free_group(&job->dp_group);
	free_group(&job->pp_group);
	free_group(&job->world);
	for (size_t i = 0; i < NP_COUNT(job->events); i++) {
		if (job->events[i])
			(void)aclrtDestroyEvent(job->events[i]);
	}
	if (job->buffer)
		(void)aclrtFree(job->buffer);
	if (job->weights)
		(void)aclrtFree(job->weights);
	if (job->batch)
		(void)aclrtFree(job->batch);
	if (job->batch_host)
		(void)aclrtFreeHost(job->batch_host);
	if (aclrtGetDevice(&device) == 0)
		(void)aclrtResetDevice(device);
	(void)aclFinalize();
	if (job->options.mpi)
		train_mpi_finalize();
}
