/* SPDX-License-Identifier: Apache-2.0 */
/* npu-train-demo: a training job on simulated NPUs. */
#include <signal.h>
#include <unistd.h>

#include "npuprof/text.h"
#include "npuprof_step.h"
#include "sim/torch/dynamic_profile.h"
#include "train.h"

/* --self-profile: the job profiles itself, as one does that was not told about the collector. */
static int start_profile(struct train_job *job, struct np_err *err)
{
	const char *path = job->options.self_profile;
	int32_t device;
	uint32_t devices[1];
	int rc = TRAIN_CALL(aclrtGetDevice(&device), err);

	if (rc == NP_OK)
		rc = TRAIN_CALL(aclprofInit(path, strlen(path)), err);
	if (rc < 0)
		return rc;
	devices[0] = (uint32_t)device;
	job->profile = aclprofCreateConfig(devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
					   (uint64_t)job->options.self_mask);
	if (!job->profile)
		return np_fail(err, NP_E_USAGE, "aclprofCreateConfig refuses the configuration");
	return TRAIN_CALL(aclprofStart(job->profile), err);
}

static int stop_profile(struct train_job *job, struct np_err *err)
{
	int rc = TRAIN_CALL(aclrtSynchronizeDevice(), err);

	if (rc == NP_OK)
		rc = TRAIN_CALL(aclprofStop(job->profile), err);
	(void)aclprofDestroyConfig(job->profile);
	job->profile = NULL;
	if (rc == NP_OK)
		rc = TRAIN_CALL(aclprofFinalize(), err);
	return rc;
}

/* NPUSIM_KILL_AT_STEP=R:S */
static bool is_killed_at(int64_t rank, int64_t step)
{
	const char *text = getenv("NPUSIM_KILL_AT_STEP");
	const char *colon = text ? strchr(text, ':') : NULL;
	int64_t who;
	int64_t when;

	return colon && np_text_to_int(text, (size_t)(colon - text), &who) &&
	       np_text_to_int(colon + 1, strlen(colon + 1), &when) && who == rank && when == step;
}

static void maybe_die(const struct train_job *job, int64_t step)
{
	if (is_killed_at(job->place.rank, step))
		(void)raise(SIGKILL);
	if (job->options.crash_rank == job->place.rank && job->options.crash_step == step) {
		(void)fprintf(stderr, "npu-train-demo: rank %lld crashes at step %lld, as asked\n",
			      (long long)job->place.rank, (long long)step);
		abort();
	}
}

static int64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The loss of all ranks, which an MPI program adds up itself. It is 1 everywhere here. */
static int add_losses(const struct train_job *job, struct np_err *err)
{
	double loss = 1;
	int rc = TRAIN_CALL(train_mpi_sum(&loss), err);

	if (rc == NP_OK && (int64_t)loss != job->place.world)
		return np_fail(err, NP_E_IO, "MPI_Allreduce gave %g for %lld ranks", loss,
			       (long long)job->place.world);
	return rc;
}

/*
 * --until: rank 0 writes down the last step before it begins the last but one. No rank ends a step
 * before rank 0 has taken part in its all-reduce, so all have read it when that step comes.
 */
static int read_end(struct train_job *job, int64_t step, struct np_err *err)
{
	char path[4096];
	char part[4200];
	long long last;
	FILE *file;

	if (!job->options.until)
		return NP_OK;
	(void)snprintf(path, sizeof(path), "%s.last", job->options.until);
	(void)snprintf(part, sizeof(part), "%s.part", path);
	if (job->place.rank == 0 && access(job->options.until, F_OK) == 0 &&
	    access(path, F_OK) != 0) {
		file = fopen(part, "we");
		if (!file || fprintf(file, "%lld\n", (long long)step + 1) < 0 ||
		    fclose(file) != 0 || rename(part, path) != 0)
			return np_fail_errno(err, "write", path);
	}
	file = fopen(path, "re");
	if (!file)
		return NP_OK;
	if (fscanf(file, "%lld", &last) == 1 && last + 1 < job->options.steps)
		job->options.steps = last + 1;
	(void)fclose(file);
	return NP_OK;
}

static int train(struct train_job *job, struct np_err *err)
{
	int rc = NP_OK;

	for (int64_t step = 0; rc == NP_OK; step++) {
		int64_t start = now_us();

		rc = read_end(job, step, err);
		if (rc < 0 || step >= job->options.steps)
			break;
		maybe_die(job, step);
		if (job->options.self_profile && step == 1)
			rc = start_profile(job, err);
		if (job->options.mark == MARK_NPUPROF)
			npuprof_mark_step(step);
		if (job->options.torch)
			sim_dynamic_profile_step(step);
		if (rc == NP_OK)
			rc = train_step(job, step, err);
		if (rc == NP_OK && job->options.mpi)
			rc = add_losses(job, err);
		if (rc == NP_OK && job->place.rank == 0 && !job->options.quiet) {
			(void)printf("step %lld: %.1f ms\n", (long long)step,
				     (double)(now_us() - start) / 1000);
			(void)fflush(stdout);
		}
	}
	/* The step after the last one begins: the collector learns that the last one is over. */
	if (rc == NP_OK && job->options.mark == MARK_NPUPROF)
		npuprof_mark_step(job->options.steps);
	if (rc == NP_OK && job->profile)
		rc = stop_profile(job, err);
	return rc;
}

int main(int argc, char **argv)
{
	static struct train_job job; /* --no-finalize leaves with all of it */
	struct np_err err = NP_ERR_INIT;
	int rc = train_options_parse(&job.options, argc, argv);

	if (rc != 0)
		return rc - 1;
	if (job.options.ranks > 0)
		return train_place_fork(job.options.ranks, argv);
	rc = train_job_begin(&job, argv, &err);
	if (rc == NP_OK && job.options.torch)
		sim_dynamic_profile_init();
	if (rc == NP_OK)
		rc = train(&job, &err);
	sim_dynamic_profile_end();
	if (rc < 0)
		(void)fprintf(stderr, "npu-train-demo: rank %lld: %s\n", (long long)job.place.rank,
			      err.text);
	if (!job.options.no_finalize)
		train_job_end(&job);
	return rc < 0 ? 1 : 0;
}
