/* SPDX-License-Identifier: Apache-2.0 */
#include "agree.h"

#include <unistd.h>

#include "cli/command/cmd.h"
#include "collect/launch/backend/backend.h"
#include "collect/rank_list.h"

extern const struct np_cmd np_cmd_collect;

/*
 * A name nobody else has: jobs that start in the same second have other processes. Launchers
 * that cannot talk to each other yet all find the name that mpirun gave to the job.
 */
static void name_job(const struct np_job *job, struct np_plan *plan)
{
	static const char *const names[] = { "PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID" };
	time_t now = time(NULL);
	struct tm local;
	char stamp[32];

	if (plan->job[0])
		return;
	for (size_t i = 0; job->mode == NP_MODE_INAPP && i < NP_COUNT(names); i++) {
		const char *name = getenv(names[i]); /* NOLINT(concurrency-mt-unsafe) */

		if (!name)
			continue;
		(void)snprintf(plan->job, sizeof(plan->job), "job-%.40s", name);
		for (char *c = plan->job; *c; c++)
			*c = strchr("@/: ", *c) ? '_' : *c;
		return;
	}
	(void)localtime_r(&now, &local);
	(void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
	(void)snprintf(plan->job, sizeof(plan->job), "job-%s-%d", stamp, (int)getpid());
}

int np_agree_ranks(struct np_job *job, struct np_err *err)
{
	bool *leader;
	int rc;

	if (job->finds_ranks)
		return NP_OK;
	leader = calloc((size_t)job->world, sizeof(*leader));
	free(job->chosen);
	job->chosen = calloc((size_t)job->world, sizeof(*job->chosen));
	if (!leader || !job->chosen) {
		free(leader);
		return np_fail_nomem(err, "the ranks");
	}
	for (int i = 0; i < job->layout.host_count; i++)
		leader[job->layout.hosts[i].leader] = true;
	rc = np_rank_list_choose(job->plan.ranks, leader, job->world, job->chosen, err);
	free(leader);
	if (rc == NP_E_USAGE)
		rc = np_fail(err, rc, "--ranks: %.400s", err->text);
	return rc;
}

static int make_plan(struct np_job *job, const struct np_collect_options *options,
		     struct np_buf *text, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf notes = NP_BUF_INIT;
	NP_CLEANUP(np_jsonout_release) struct np_jsonout out;
	int rc = np_collect_plan(options, &job->plan, &notes, err);

	np_jsonout_init(&out, NULL);
	if (rc == NP_OK)
		rc = np_backend_choose(job, &notes, err);
	if (rc < 0)
		return rc;
	for (char *line = notes.text; *line;) {
		size_t length = strcspn(line, "\n");

		np_job_say(job, "%.*s", (int)length, line);
		line += length + (line[length] == '\n' ? 1 : 0);
	}
	name_job(job, &job->plan);
	rc = np_agree_ranks(job, err);
	if (rc < 0)
		return rc;
	np_plan_write(&job->plan, &out, NULL);
	rc = np_jsonout_finish(&out, err);
	np_buf_add_bytes(text, out.buf.text, out.buf.length);
	return rc == NP_OK ? np_buf_check(text, err) : rc;
}

int np_agree_alone(struct np_job *job, const struct np_collect_options *options)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	int rc = make_plan(job, options, &text, &err);

	if (rc == NP_OK)
		return NP_EXIT_DONE;
	if (job->rank == 0)
		return np_cmd_usage(&np_cmd_collect, "%s", err.text);
	return rc == NP_E_NOMEM ? NP_EXIT_FAILED : NP_EXIT_USAGE;
}

/* Rank 0 makes the plan, the others read it; whoever cannot is heard by all. */
int np_agree_plan(struct np_job *job, const struct np_collect_options *options)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	int rc = NP_OK;
	int worst;

	if (job->rank == 0)
		rc = make_plan(job, options, &text, &err);
	worst = (int)np_coord_max(job->coord, rc < 0 ? -rc : 0);
	if (worst != 0) {
		if (job->rank == 0 && rc != NP_E_NOMEM)
			return np_cmd_usage(&np_cmd_collect, "%s", err.text);
		return worst == -NP_E_NOMEM ? NP_EXIT_FAILED : NP_EXIT_USAGE;
	}
	rc = np_coord_bcast(job->coord, &text, &err);
	if (rc == NP_OK && job->rank != 0) {
		rc = np_plan_read(&job->plan, text.text, text.length, &err);
		if (rc == NP_OK)
			rc = np_agree_ranks(job, &err);
	}
	if (rc < 0)
		np_job_warn("rank %d: %s", job->rank, err.text);
	return np_coord_max(job->coord, rc < 0 ? 1 : 0) ? NP_EXIT_FAILED : NP_EXIT_DONE;
}
