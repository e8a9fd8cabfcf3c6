/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <unistd.h>

#include "agree.h"
#include "check.h"
#include "check_find.h"
#include "cmd.h"
#include "finish.h"
#include "output.h"
#include "session.h"

extern const struct np_cmd np_cmd_collect;

static bool check(struct np_job *job, const char *inject)
{
	NP_CLEANUP(np_buf_release) struct np_buf doubts = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	int rc = job->plan.enable ? np_check_make_root(job, &err) : NP_OK;
	bool rooted = np_coord_max(job->coord, rc < 0 && job->rank == 0) == 0;
	bool agreed;

	/* Where rank 0 has no directory, the others have nothing to look at. */
	if (!rooted && job->rank != 0)
		rc = NP_OK;
	else if (rc == NP_OK)
		rc = np_check_rank(job, inject, &doubts, &err);
	agreed = np_check_agree(job, rc, &err, &doubts);
	if (!agreed)
		np_check_remove_root(job);
	return agreed;
}

static void show_plan(const struct np_job *job, FILE *stream)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	if (job->rank != 0)
		return;
	np_job_describe(job, &text);
	(void)fprintf(stream, "npuprof-collect: the plan\n%s", text.text);
	(void)fflush(stream);
}

static int run_profiled(struct np_job *job, const char *inject)
{
	struct np_session_result result;
	struct np_err err = NP_ERR_INIT;

	if (np_timing_init(&job->timing, job->layout.host_count, &err) < 0) {
		np_job_warn("%s", err.text);
		return NP_EXIT_FAILED;
	}
	np_timing_together(&job->timing, job->coord, &job->layout);
	if (job->rank == 0)
		np_finish_foresee(job);
	if (np_session_run(job, inject, &result, &err) < 0)
		np_job_warn("rank %d: %s", job->rank, err.text);
	np_record_conclude(&job->record, job->plan.step_start, job->plan.step_end);
	np_timing_together(&job->timing, job->coord, &job->layout);
	return np_finish(job, &result);
}

static int run_unprofiled(struct np_job *job)
{
	struct np_session_result result;
	struct np_err err = NP_ERR_INIT;

	if (np_session_run(job, NULL, &result, &err) < 0)
		np_job_warn("rank %d: %s", job->rank, err.text);
	if (result.status == 0)
		result.status = (int)np_coord_max(
			job->coord, job->record.exit == NP_UNKNOWN ? 0 : job->record.exit);
	return result.status;
}

static int run(struct np_job *job, const struct np_collect_options *options)
{
	char path[PATH_MAX];
	const char *inject =
		np_find_beside("libnpuprof_inject.so", path, sizeof(path)) ? path : NULL;
	int status = np_agree_plan(job, options);

	if (status != NP_EXIT_DONE)
		return status;
	np_record_init(&job->record, job->rank, job->plan.enable && job->chosen[job->rank]);
	if (!check(job, inject))
		return NP_EXIT_FAILED;
	if (options->dry_run) {
		show_plan(job, stdout);
		np_check_remove_root(job);
		return NP_EXIT_DONE;
	}
	if (!job->plan.enable)
		return run_unprofiled(job);
	if (!job->quiet)
		show_plan(job, stderr);
	return run_profiled(job, inject);
}

static int collect(const struct np_collect_line *line, char *const *app)
{
	struct np_err err = NP_ERR_INIT;
	struct np_job job = { .app = app, .quiet = line->options.quiet };
	int status = NP_EXIT_FAILED;

	np_session_hold_signals();
	if (np_coord_mpi_open(&job.coord, &err) < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	job.rank = np_coord_rank(job.coord);
	job.world = np_coord_size(job.coord);
	if (np_layout_make(&job.layout, job.coord, &err) == NP_OK)
		status = run(&job, &line->options);
	else
		np_job_warn("rank %d: %s", job.rank, err.text);
	np_coord_close(job.coord);
	np_timing_release(&job.timing);
	np_layout_release(&job.layout);
	free(job.chosen);
	return status;
}

/* The options are the same everywhere: one complaint about them is enough. */
static bool is_spokesman(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK"); /* NOLINT(concurrency-mt-unsafe) */

	return !rank || strcmp(rank, "0") == 0;
}

int main(int argc, char **argv)
{
	struct np_err err = NP_ERR_INIT;
	struct np_collect_line line;
	int status = NP_EXIT_USAGE;
	int rc;

	np_output_begin();
	rc = np_collect_line_read(&line, argc > 0 ? argc - 1 : 0, (const char *const *)argv + 1,
				  &err);
	if (rc == NP_OK)
		status = collect(&line, argv + 1 + line.app);
	else if (rc == NP_OPT_WANTS_HELP)
		status = is_spokesman() ? np_cmd_print_help(&np_cmd_collect) : NP_EXIT_DONE;
	else if (rc == NP_OPT_WANTS_VERSION)
		status = is_spokesman() ? np_cmd_print_version() : NP_EXIT_DONE;
	else if (is_spokesman())
		status = np_cmd_usage(&np_cmd_collect, "%s", err.text);
	np_collect_line_release(&line);
	return np_output_end(status);
}
