/* SPDX-License-Identifier: Apache-2.0 */
/* The program npuprof-collect: join, agree, check, run, finish. */
#include <limits.h>
#include <unistd.h>

#include "agree.h"
#include "cli/command/cmd.h"
#include "cli/command/output.h"
#include "collect/launch/backend/backend.h"
#include "collect/launch/backend/processes.h"
#include "collect/launch/coord/join.h"
#include "collect/launch/output/finish.h"
#include "collect/launch/plan/find.h"
#include "collect/launch/session/session.h"
#include "npuprof/lang.h"
#include "npuprof/say.h"

extern const struct np_cmd np_cmd_collect;

static bool check(struct np_job *job, const char *inject)
{
	NP_CLEANUP(np_buf_release) struct np_buf doubts = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	int rc = job->plan.enable ? np_check_make_root(job, &err) : NP_OK;
	bool rooted = job->mode == NP_MODE_INAPP ||
		      np_coord_max(job->coord, rc < 0 && job->rank == 0) == 0;
	bool agreed;

	/* Where rank 0 has no directory, the others have nothing to look at. */
	if (!rooted && job->rank != 0)
		rc = NP_OK;
	else if (rc == NP_OK)
		rc = np_check_rank(job, inject, &doubts, &err);
	agreed = job->mode == NP_MODE_INAPP ? np_check_alone(job, rc, &err, &doubts)
					    : np_check_agree(job, rc, &err, &doubts);
	if (!agreed)
		np_check_remove_root(job);
	return agreed;
}

static void show_plan(const struct np_job *job, FILE *stream)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf said = NP_BUF_INIT;

	if (job->rank != 0)
		return;
	np_job_describe(job, &text);
	np_say(&said, "npuprof-collect: the plan\n");
	if (text.text)
		np_lang_put_lines(&said, text.text);
	(void)fputs(said.text, stream);
	(void)fflush(stream);
}

static void conclude(struct np_job *job)
{
	for (size_t i = 0; i < job->records.count; i++)
		np_record_conclude(&job->records.item[i], job->plan.step_start, job->plan.step_end,
				   job->plan.dynamic);
}

/* Launchers that met only while the application ran get to know each other now. */
static int catch_up(struct np_job *job, struct np_err *err)
{
	struct np_job_layout layout;
	char path[PATH_MAX];
	int rc = np_job_layout_make(&layout, job->coord, err);
	bool same = rc == NP_OK && np_job_layout_same_hosts(&layout, &job->layout);

	if (rc < 0)
		return rc;
	np_job_layout_release(&job->layout);
	job->layout = layout;
	rc = np_agree_ranks(job, err);
	/* Clocks that were compared while the application ran are those of these hosts. */
	if (rc == NP_OK && !same) {
		np_timing_release(&job->timing);
		rc = np_timing_init(&job->timing, job->layout.host_count, err);
	}
	(void)snprintf(path, sizeof(path), "%.*s/npuprof_manifest.json", PATH_MAX - 64, job->root);
	job->shared = access(path, F_OK) == 0;
	return rc;
}

static int run_profiled(struct np_job *job, const char *inject)
{
	struct np_job_result result;
	struct np_err err = NP_ERR_INIT;

	if (np_timing_init(&job->timing, job->layout.host_count, &err) < 0) {
		np_job_warn("%s", err.text);
		return NP_EXIT_FAILED;
	}
	if (job->mode != NP_MODE_INAPP)
		np_timing_together(&job->timing, job->coord, &job->layout);
	if (job->rank == 0)
		np_finish_foresee(job);
	/* Others than our own library profile without it, and without it nobody reports steps. */
	if (np_session_run(job, np_backend_has_library(job) ? inject : NULL, &result, &err) < 0)
		np_job_warn("rank %d: %s", job->rank, err.text);
	np_backend_find(job);
	conclude(job);
	if (job->rank != 0 && np_coord_lost(job->coord, 0)) {
		np_job_warn("rank %d: launcher 0 is gone; what was collected here is in '%s'",
			    job->rank, job->root);
		return result.status ? result.status : NP_EXIT_FAILED;
	}
	if (job->mode == NP_MODE_INAPP && catch_up(job, &err) < 0) {
		np_job_warn("rank %d: %s", job->rank, err.text);
		return NP_EXIT_FAILED;
	}
	np_timing_together(&job->timing, job->coord, &job->layout);
	return np_finish(job, &result);
}

static int run_unprofiled(struct np_job *job)
{
	struct np_job_result result;
	struct np_err err = NP_ERR_INIT;

	if (np_session_run(job, NULL, &result, &err) < 0)
		np_job_warn("rank %d: %s", job->rank, err.text);
	if (result.status == 0 && job->records.count && job->records.item[0].exit != NP_UNKNOWN)
		result.status = (int)job->records.item[0].exit;
	return (int)np_coord_max(job->coord, result.status);
}

static int run(struct np_job *job, const struct np_collect_options *options)
{
	char path[PATH_MAX];
	const char *inject =
		np_find_beside("libnpuprof_inject.so", path, sizeof(path)) ? path : NULL;
	int status = job->mode == NP_MODE_INAPP ? np_agree_alone(job, options)
						: np_agree_plan(job, options);

	if (status != NP_EXIT_DONE)
		return status;
	if (!job->finds_ranks) {
		struct np_record *record = np_vec_add(&job->records, NULL);

		if (!record)
			return np_report(NP_EXIT_FAILED, "out of memory for a record");
		np_record_init(record, job->rank, job->plan.enable && job->chosen[job->rank]);
	}
	if (!check(job, inject))
		return NP_EXIT_FAILED;
	if (options->dry_run) {
		/* Without profiling there is no plan: what is said of that was said. */
		if (job->plan.enable)
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

static void release(struct np_job *job)
{
	np_coord_close(job->coord);
	np_timing_release(&job->timing);
	np_job_layout_release(&job->layout);
	np_vec_release(&job->records);
	free(job->chosen);
}

static int collect(const struct np_collect_line *line, char *const *app)
{
	struct np_err err = NP_ERR_INIT;
	struct np_job job = { .app = app, .pids = line->options.pid, .quiet = line->options.quiet };
	struct np_mode_choice choice;
	int status = NP_EXIT_FAILED;
	int rc = np_mode_choose(&line->options, app, &choice, &err);

	if (rc < 0)
		return np_cmd_usage(&np_cmd_collect, "%s", err.text);
	np_session_hold_signals();
	rc = np_join(&job, &line->options, &choice, &err);
	if (rc == NP_E_USAGE)
		return np_cmd_usage(&np_cmd_collect, "%s", err.text);
	if (rc < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	np_job_say(&job, "coordination: %s (%s)", np_mode_name(job.mode), choice.reason);
	/* Who cannot talk to the others yet believes them to be on this host. */
	rc = job.mode == NP_MODE_INAPP ? np_job_layout_alone(&job.layout, job.world, &err)
				       : np_job_layout_make(&job.layout, job.coord, &err);
	if (rc == NP_OK)
		status = run(&job, &line->options);
	else
		np_job_warn("rank %d: %s", job.rank, err.text);
	release(&job);
	return status;
}

/* Processes that run already: what is started is somebody who waits for their end. */
static int collect_running(const struct np_collect_line *line)
{
	char program[] = "/proc/self/exe";
	char option[] = NP_AWAIT_OPTION;
	NP_CLEANUP(np_buf_release) struct np_buf pids = NP_BUF_INIT;
	char *app[] = { program, option, NULL, NULL };
	struct np_err err = NP_ERR_INIT;

	np_buf_add(&pids, line->options.pid);
	if (np_buf_check(&pids, &err) < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	app[2] = pids.text;
	return collect(line, app);
}

int main(int argc, char **argv)
{
	struct np_err err = NP_ERR_INIT;
	struct np_collect_line line;
	int status = NP_EXIT_USAGE;
	int rc;

	if (argc == 3 && strcmp(argv[1], NP_STAGE_OPTION) == 0)
		return np_join_stage(argv[2]);
	if (argc == 3 && strcmp(argv[1], NP_AWAIT_OPTION) == 0)
		return np_processes_await(argv[2]);
	np_output_begin();
	(void)np_lang_set(np_lang_of_line(argc, (const char *const *)argv));
	rc = np_collect_line_read(&line, argc > 0 ? argc - 1 : 0, (const char *const *)argv + 1,
				  &err);
	if (rc == NP_OK && line.app < 0)
		status = collect_running(&line);
	else if (rc == NP_OK)
		status = collect(&line, argv + 1 + line.app);
	else if (rc == NP_OPT_WANTS_HELP)
		status = np_cmd_print_help(&np_cmd_collect);
	else if (rc == NP_OPT_WANTS_VERSION)
		status = np_cmd_print_version();
	else
		status = np_cmd_usage(&np_cmd_collect, "%s", err.text);
	np_collect_line_release(&line);
	return np_output_end(status);
}
